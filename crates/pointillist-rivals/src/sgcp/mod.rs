//! The paper's rival: the sigmoidal Gaussian Cox process, sampled (Adams, Murray and MacKay 2009).
//!
//! λ(x) = λ* σ(f(x)), f ~ GP, σ the logistic function. The integral of λ is never computed: events that were thinned away are latent
//! variables, and with them the data are a homogeneous process (`state.rs` has the joint density). As in the paper, f is sampled by
//! elliptical slices and the hyper-parameters by Hamiltonian Monte Carlo. Unlike there, all thinned events are drawn anew in one exact step
//! a sweep (`moves.rs`), the hyper-parameters move in whitened coordinates (`hyper.rs`) and, with λ*, by steps that do not see the thinned
//! events (`walk.rs`); and thinning is adaptive after Gunter et al. (2014) (`regions.rs`), or on request uniform. Several chains run side
//! by side until R̂ and effective numbers of draws are as asked for.
//!
//! ```
//! use pointillist_rivals::sgcp::{Settings, Sgcp};
//! use pointillist::{Events, Points, Window};
//! use std::ops::ControlFlow;
//!
//! let times = Points::line(&[0.3, 1.1, 1.4, 1.9, 2.2, 2.4, 4.0, 5.5, 7.9])?;
//! let events = Events::new(times, Window::interval(0.0, 10.0)?)?;
//! let brief = Settings { chains: 2, warm_up: 50, most_sweeps: 100, check_every: 50, ..Settings::default() };
//! let posterior = Sgcp::fit(&events, &brief, &mut |_, _| ControlFlow::Continue(()))?;
//! let rate = posterior.rate(&Points::line(&[2.0, 9.0])?, 100, 1)?;
//! assert!(rate.mean[0] > rate.mean[1]);
//! # Ok::<(), pointillist::Error>(())
//! ```
//!
//! What it does not do: exposure that varies from place to place; kernels but the squared exponential. Cost: a sweep is about fifteen
//! roots of the correlation at all points at which f is held (events, sentinels, thinned events) and a few with the candidates too: their
//! number times the square of its numerical rank (`field.rs`), a few milliseconds for hundreds of points on a line, tens to hundreds in the
//! plane. f is held to √`jitter` of its standard deviation, and λ* ends where `most_points` would not suffice.

mod chain;
mod diagnostics;
mod field;
mod hmc;
mod hyper;
mod moves;
mod posterior;
mod regions;
mod settings;
mod simulate;
mod state;
mod walk;

pub use chain::{Chain, ChainState};
pub use diagnostics::{Diagnostics, Watched, effective, r_hat};
pub use posterior::{SgcpPosterior, SgcpScore};
pub use settings::{Fixed, Gamma, LogNormal, Normal, Parameters, Settings, Thinning};
pub use simulate::{Simulated, draw};
pub use state::Latent;

use pointillist::Events;
use pointillist::Points;
use pointillist::Window;
use pointillist::internals::parallel;
use pointillist::{Error, Result};
use state::Problem;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who watches a run is called about this often.
const BREATH: Duration = Duration::from_millis(100);

/// A run of several chains over the same events.
#[derive(Debug, Clone)]
pub struct Sgcp {
    problem: Arc<Problem>,
    chains: Vec<Chain>,
    seconds: f64,
}

/// All numbers of a run: what a file must hold to go on, to the last bit, as if it had not been interrupted.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SgcpState {
    /// The events.
    pub events: Points,
    /// The window they were looked for in.
    pub window: Window,
    /// The settings.
    pub settings: Settings,
    /// The chains.
    pub chains: Vec<ChainState>,
    /// Wall time so far.
    pub seconds: f64,
}

/// What a run tells while it lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SgcpProgress {
    /// Sweeps of each chain, warm-up included.
    pub sweeps: usize,
    /// Whether these are still warm-up.
    pub warming: bool,
    /// The largest R̂; NaN while there is none.
    pub r_hat: f64,
    /// The smallest effective number of draws; NaN while there is none.
    pub effective: f64,
    /// Wall time so far.
    pub seconds: f64,
}

/// Called every few sweeps, with what was known when their round began; it may save the run's state. `Break` cancels.
pub type SgcpWatch<'a> = dyn FnMut(&Sgcp, &SgcpProgress) -> ControlFlow<()> + 'a;

impl Sgcp {
    /// Samples until the chains agree and have enough draws, or until the sweeps are used up (see [`Diagnostics::converged`]).
    pub fn fit(events: &Events, settings: &Settings, watch: &mut SgcpWatch<'_>) -> Result<SgcpPosterior> {
        let mut run = Self::new(events, settings)?;
        run.run(watch)?;
        Ok(run.posterior())
    }

    /// Chains at their starting points.
    pub fn new(events: &Events, settings: &Settings) -> Result<Self> {
        if events.is_empty() {
            return Err(Error::NoEvents);
        }
        let problem = Arc::new(Problem::new(events, settings)?);
        let start = |number: usize| Chain::start(problem.clone(), number as u64);
        let chains = (0..settings.chains).map(start).collect::<Result<_>>()?;
        Ok(Self { problem, chains, seconds: 0.0 })
    }

    /// All numbers of the run.
    pub fn state(&self) -> SgcpState {
        SgcpState {
            events: self.problem.events.clone(),
            window: self.problem.window.clone(),
            settings: self.problem.settings.clone(),
            chains: self.chains.iter().map(Chain::state).collect(),
            seconds: self.seconds,
        }
    }

    /// The run with these numbers, once they are found to make sense.
    pub fn from_state(state: SgcpState) -> Result<Self> {
        let events = Events::new(state.events, state.window)?;
        let problem = Arc::new(Problem::new(&events, &state.settings)?);
        let revive = |chain: ChainState| Chain::from_state(problem.clone(), chain);
        let chains = state.chains.into_iter().map(revive).collect::<Result<Vec<_>>>()?;
        if chains.is_empty() || chains.iter().any(|chain| chain.sweeps() != chains[0].sweeps()) {
            return Err(Error::setting("state", "chains", "must all have made the same number of sweeps"));
        }
        if chains.iter().any(|chain| chain.record().draws() != chains[0].record().draws()) {
            return Err(Error::setting("state", "chains", "must all have the same number of draws"));
        }
        if chains.len() != state.settings.chains || !(state.seconds.is_finite() && state.seconds >= 0.0) {
            return Err(Error::setting("state", "run", "does not fit its settings"));
        }
        Ok(Self { problem, chains, seconds: state.seconds })
    }

    /// So many more sweeps of every chain, side by side.
    pub fn advance(&mut self, sweeps: usize) -> Result<()> {
        let start = Instant::now();
        let outcomes: Vec<Result<()>> =
            parallel::map(self.chains.iter_mut(), usize::MAX, |chain| (0..sweeps).try_for_each(|_| chain.sweep()));
        self.seconds += start.elapsed().as_secs_f64();
        outcomes.into_iter().collect()
    }

    /// Sweeps of each chain so far, warm-up included.
    pub fn sweeps(&self) -> usize {
        self.chains[0].sweeps()
    }

    /// The chains.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// On to the end, from wherever the run stands; a run that stands there already is left as it is.
    pub fn run(&mut self, watch: &mut SgcpWatch<'_>) -> Result<()> {
        let last = self.problem.settings.last_sweep();
        let mut breath = 1;
        loop {
            let (round, diagnostics) = (self.problem.settings.round(self.sweeps()), self.diagnostics());
            // Chains are judged between rounds alone, and rounds end at the same sweeps whether or not the run was interrupted.
            if self.sweeps() >= last || round.start == self.sweeps() && diagnostics.converged {
                return Ok(());
            }
            while self.sweeps() < round.end.min(last) {
                self.breathe(&mut breath, round.end.min(last))?;
                let progress = SgcpProgress {
                    sweeps: self.sweeps(),
                    warming: round.start < self.problem.settings.warm_up,
                    r_hat: diagnostics.worst_r_hat(),
                    effective: diagnostics.least_effective(),
                    seconds: self.seconds,
                };
                if watch(self, &progress).is_break() {
                    return Err(Error::Cancelled);
                }
            }
        }
    }

    /// So many sweeps, none beyond `end`; their number is then changed towards what takes no longer than [`BREATH`]. How sweeps are
    /// grouped is of no consequence to them.
    fn breathe(&mut self, sweeps: &mut usize, end: usize) -> Result<()> {
        let start = Instant::now();
        self.advance((*sweeps).min(end - self.sweeps()))?;
        *sweeps = if start.elapsed() < BREATH / 2 { sweeps.saturating_mul(2) } else { (*sweeps / 2).max(1) };
        Ok(())
    }

    /// How the run goes.
    pub fn diagnostics(&self) -> Diagnostics {
        let settings = &self.problem.settings;
        let records: Vec<_> = self.chains.iter().map(Chain::record).collect();
        let lists = |i: usize| -> Vec<Vec<f64>> {
            records.iter().map(|record| record.watched.get(i).cloned().unwrap_or_default()).collect()
        };
        let names = chain::watched_names(&self.problem);
        let watched: Vec<Watched> =
            names.into_iter().enumerate().map(|(i, name)| Watched::new(name, &lists(i))).collect();
        let enough = |w: &Watched| w.r_hat < settings.r_hat && w.effective >= settings.effective;
        let total = |of: fn(&chain::Record) -> f64| records.iter().map(|record| of(record)).sum::<f64>();
        let sweeps = total(|record| record.sweeps as f64);
        let draws = total(|record| record.draws() as f64);
        Diagnostics {
            converged: watched.iter().all(enough),
            watched,
            sweeps: self.sweeps(),
            draws: draws as usize / self.chains.len(),
            seconds: self.seconds,
            acceptance: total(|record| record.acceptance) / sweeps,
            walked: [total(|record| record.walked[0]) / sweeps, total(|record| record.walked[1]) / sweeps],
            steps: self.chains.iter().map(Chain::step).collect(),
            angles: total(|record| record.angles) / sweeps,
            thinned: total(|record| record.thinned) / sweeps,
            thinned_uniform: total(|record| record.thinned_uniform) / draws,
            breaches: total(|record| record.breaches) / total(|record| record.candidates).max(1.0),
        }
    }

    /// What has been found so far.
    pub fn posterior(&self) -> SgcpPosterior {
        let states = self.chains.iter().map(|chain| chain.record().states.clone()).collect();
        let Problem { window, head, settings, .. } = &*self.problem;
        SgcpPosterior::new(window.clone(), head.clone(), settings.jitter, states, self.diagnostics())
    }
}
