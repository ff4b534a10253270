//! Simulation-based calibration: whether what a fit is sure of is as often right as it says.
//!
//! [`calibrate`] draws hyper-parameters, f and events from the priors that an averaged fit has, fits them, and looks where the truths lie in
//! the posterior: if both come from the same model, their ranks are uniform (`ranks.rs`; Talts et al. 2018). [`cover`] asks the same of intensities that
//! are what they are (`truths.rs`): there only coverage means something.

mod draw;
mod ranks;
mod truths;

pub use ranks::{BINS, LEVELS, Mean, Ranks};
pub use truths::{Covered, TRUTHS, Truth, cover};

use draw::{Drawn, Source};
use pointillist::internals::{parallel, sample};
use pointillist::settings::Smoothness;
use pointillist::watch::PartWatch;
use pointillist::{Error, Events, LatticeChoice, Link, Model, Points, Posterior, Result, Window, simulate};
use rand::{Rng, RngExt};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Places and regions that are asked about in each set.
const ASKED: usize = 5;
/// Draws among which a count has its rank.
const DRAWS: usize = 400;
/// Sets with more than so many times the events asked for are drawn anew.
const ABSURD: f64 = 20.0;
/// Most times a set is drawn anew.
const MOST_REDRAWN: usize = 10_000;
/// Generators of one set: one for what is asked, and one for each time it is drawn.
const STREAMS: u64 = 1 << 20;

/// What is fitted to sets from a prior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Families {
    /// The family the sets are from, averaged over hyper-parameters: ranks should be uniform.
    Own,
    /// All that a fit without options has.
    All,
}

/// Which sets, and what is fitted to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Axes of the unit box, 1 or 2.
    pub dims: usize,
    /// Of the sets.
    pub link: Link,
    /// About how many events a set has.
    pub events: usize,
    /// How many sets.
    pub sets: usize,
    /// What is fitted.
    pub families: Families,
    /// Seed of everything.
    pub seed: u64,
}

/// How often a set was drawn anew. Both are events of the data alone, given which ranks are as uniform as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Redrawn {
    /// Because it had no events.
    pub empty: usize,
    /// Because it had more than 20 times those asked for.
    pub absurd: usize,
}

/// The ranks of one quantity in numbers.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Quantity {
    /// What it is.
    pub name: String,
    /// Sets by the rank of their first truth, in 20 bins.
    pub histogram: Vec<usize>,
    /// 99 % of such numbers lie between these if ranks are uniform.
    pub band: (usize, usize),
    /// Of χ².
    pub p_value: f64,
    /// Of central intervals of 50, 80, 90 and 95 %.
    pub coverage: Vec<Mean>,
}

/// How the answers of many sets did.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Calibration {
    /// Sets that were fitted.
    pub sets: usize,
    /// The median of their numbers of events.
    pub events: f64,
    /// Sets that were drawn anew.
    pub redrawn: Redrawn,
    /// Sets whose fit failed: they are in no histogram.
    pub failed: usize,
    /// Why the first of them did.
    pub failure: Option<String>,
    /// Fits that did not converge; they count like others.
    pub not_converged: usize,
    /// λ at places, counts in regions, and with [`Families::Own`] range and standard deviation.
    pub quantities: Vec<Quantity>,
}

impl Settings {
    /// The model that is fitted.
    pub fn model(&self) -> Model {
        let usual = Model { average: true, checked: false, ..Model::default() };
        match self.families {
            Families::All => usual,
            Families::Own => {
                let own = LatticeChoice {
                    links: vec![self.link],
                    smoothness: Some(Smoothness::Two),
                    ..LatticeChoice::default()
                };
                Model { family: own.into(), ..usual }
            }
        }
    }

    fn check(&self) -> Result<()> {
        if !(1..=2).contains(&self.dims) {
            return Err(Error::setting("dims", self.dims, "must be 1 or 2"));
        }
        if self.events == 0 {
            return Err(Error::setting("events", 0, "must be at least 1"));
        }
        if self.sets < BINS {
            return Err(Error::setting("sets", self.sets, "must be at least 20: there are as many bins"));
        }
        Ok(())
    }

    fn source(&self) -> Source {
        Source { dims: self.dims, link: self.link, events: self.events as f64 }
    }
}

/// What came of one set.
struct Outcome {
    events: usize,
    redrawn: Redrawn,
    fitted: std::result::Result<Fitted, String>,
}

struct Fitted {
    converged: bool,
    /// By quantity.
    ranks: Vec<Vec<f64>>,
}

/// Draws sets, fits them, and ranks the truths. The same on any number of threads.
pub fn calibrate(settings: &Settings, watch: &PartWatch<'_>) -> Result<Calibration> {
    settings.check()?;
    let progress = Progress::new(settings.sets, watch);
    let outcomes = parallel::try_each(settings.sets, |number| {
        let outcome = one_set(settings, number as u64)?;
        progress.advance()?;
        Ok(outcome)
    })?;
    Ok(summed(outcomes))
}

fn summed(outcomes: Vec<Outcome>) -> Calibration {
    let mut counts: Vec<f64> = outcomes.iter().map(|outcome| outcome.events as f64).collect();
    let redrawn = outcomes.iter().fold(Redrawn::default(), |sum, outcome| Redrawn {
        empty: sum.empty + outcome.redrawn.empty,
        absurd: sum.absurd + outcome.redrawn.absurd,
    });
    let failure = outcomes.iter().find_map(|outcome| outcome.fitted.as_ref().err().cloned());
    let sets = outcomes.len();
    let fitted: Vec<Fitted> = outcomes.into_iter().filter_map(|outcome| outcome.fitted.ok()).collect();
    let names = ["λ at places", "counts", "range", "sd"].iter().enumerate();
    let quantity = |(number, name): (usize, &&str)| {
        // A posterior at a single Θ has no rank of it.
        let sets = fitted.iter().filter_map(|fitted| fitted.ranks.get(number));
        let ranks = Ranks::new(sets.filter(|set| !set.is_empty()).cloned().collect());
        (!ranks.is_empty()).then(|| Quantity {
            name: name.to_string(),
            histogram: ranks.histogram(),
            band: ranks.band(),
            p_value: ranks.p_value(),
            coverage: LEVELS.iter().map(|level| ranks.coverage(*level)).collect(),
        })
    };
    Calibration {
        sets,
        events: median(&mut counts),
        redrawn,
        failed: sets - fitted.len(),
        failure,
        not_converged: fitted.iter().filter(|fitted| !fitted.converged).count(),
        quantities: names.filter_map(quantity).collect(),
    }
}

fn one_set(settings: &Settings, number: u64) -> Result<Outcome> {
    let window = unit_box(settings.dims)?;
    let (drawn, points, redrawn) = draw_set(settings, &window, number)?;
    let events = points.len();
    let fitted = match Events::new(points, window).and_then(|events| settings.model().fit(&events)) {
        Err(Error::Cancelled) => return Err(Error::Cancelled),
        Err(error) => Err(error.to_string()),
        Ok(fit) => {
            let mut rng = sample::stream(settings.seed, number * STREAMS);
            let mut ranks = asked(&fit.posterior, &drawn, settings.dims, &mut rng)?;
            if settings.families == Families::Own {
                ranks.extend(of_hyper_parameters(&fit.posterior, &drawn));
            }
            Ok(Fitted { converged: fit.report.stop.converged(), ranks })
        }
    };
    Ok(Outcome { events, redrawn, fitted })
}

/// Θ, f and events, until these are neither none nor absurdly many.
fn draw_set(settings: &Settings, window: &Window, number: u64) -> Result<(Drawn, Points, Redrawn)> {
    let (source, most) = (settings.source(), ABSURD * settings.events as f64);
    let whole = vec![(0.0, 1.0); settings.dims];
    let mut redrawn = Redrawn::default();
    for time in 1..=MOST_REDRAWN as u64 {
        let mut rng = sample::stream(settings.seed, number * STREAMS + time);
        let drawn = source.draw(&mut rng);
        // Of such a mean no Poisson number is below: the events need not be drawn.
        if drawn.integral(&whole) > most + 10.0 * most.sqrt() + 50.0 {
            redrawn.absurd += 1;
            continue;
        }
        let points = simulate(window, |place| drawn.rate(place), rng.random(), 0)?;
        match points.len() {
            0 => redrawn.empty += 1,
            count if count as f64 > most => redrawn.absurd += 1,
            _ => return Ok((drawn, points, redrawn)),
        }
    }
    Err(Error::setting(
        "events",
        settings.events,
        "hardly any set drawn from the prior has about so many; ask for more",
    ))
}

/// The ranks of λ at random places, and of counts in random boxes.
fn asked(posterior: &Posterior, drawn: &Drawn, dims: usize, rng: &mut impl Rng) -> Result<Vec<Vec<f64>>> {
    let mut of_rates = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let place: Vec<f64> = (0..dims).map(|_| rng.random()).collect();
        let rate = drawn.rate(&place);
        of_rates.push(1.0 - posterior.exceedance(&Points::new(dims, place)?, rate)?[0]);
    }
    let side = |rng: &mut _| random_side(rng);
    let boxes: Vec<Vec<(f64, f64)>> = (0..ASKED).map(|_| (0..dims).map(|_| side(rng)).collect()).collect();
    let regions = boxes.iter().map(|sides| Window::new(sides)).collect::<Result<Vec<_>>>()?;
    let counts = posterior.joint_counts(&regions, DRAWS, rng.random())?;
    // All quantiles there are: the draws, as intervals are made of them.
    let each: Vec<f64> = (1..=counts.draws()).map(|k| k as f64 / counts.draws() as f64).collect();
    let of_box = |(number, sides): (usize, &Vec<(f64, f64)>)| {
        ranks::among_draws(&counts.quantiles(number, &each), drawn.integral(sides), rng)
    };
    let of_counts = boxes.iter().enumerate().map(of_box).collect();
    Ok(vec![of_rates, of_counts])
}

/// A random part of the side of the unit box.
fn random_side(rng: &mut impl Rng) -> (f64, f64) {
    let (a, b) = (rng.random::<f64>(), rng.random::<f64>());
    if a == b { (0.0, 1.0) } else { (a.min(b), a.max(b)) }
}

/// The ranks of range and standard deviation among those of the components.
fn of_hyper_parameters(posterior: &Posterior, drawn: &Drawn) -> Vec<Vec<f64>> {
    let weights = posterior.weights().into_iter().enumerate();
    let of_component = |(number, weight): (usize, f64)| {
        let lattice = posterior.component(number)?.lattice()?;
        let logs = lattice.lengthscales.iter().map(|length| (draw::RANGE * length).ln());
        let range = logs.sum::<f64>() / lattice.lengthscales.len() as f64;
        Some((weight, range, 0.5 * lattice.variance.ln()))
    };
    let components: Vec<(f64, f64, f64)> = weights.filter_map(of_component).collect();
    let ranges: Vec<(f64, f64)> = components.iter().map(|(weight, range, _)| (*range, *weight)).collect();
    let deviations: Vec<(f64, f64)> = components.iter().map(|(weight, _, sd)| (*sd, *weight)).collect();
    let rank = |points: &[(f64, f64)], truth: f64| ranks::among_points(points, truth.ln()).into_iter().collect();
    vec![rank(&ranges, drawn.range), rank(&deviations, drawn.sd)]
}

fn unit_box(dims: usize) -> Result<Window> {
    Window::new(&vec![(0.0, 1.0); dims])
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Sets that are done, for who watches.
struct Progress<'a> {
    done: AtomicUsize,
    of: usize,
    watch: &'a PartWatch<'a>,
}

impl<'a> Progress<'a> {
    fn new(of: usize, watch: &'a PartWatch<'a>) -> Self {
        Self { done: AtomicUsize::new(0), of, watch }
    }

    fn advance(&self) -> Result<()> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match (self.watch)(done as f64 / self.of as f64).is_break() {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }
}
