//! One chain: a latent state, its generator, what it has learned and what it has recorded.
//!
//! A sweep: twice a step of a walk, then levels and thinned events; λ*, slices of f, mean of f, Hamiltonian trajectory. Which numbers come
//! out depends on the seed and the number of the chain alone, not on how sweeps are grouped into calls, on threads or on interruptions.

use super::field::{self, Noise, Root};
use super::hyper::Tuner;
use super::moves::{self, Looked};
use super::settings::Parameters;
use super::state::{Latent, Problem, log_sigmoid, sigmoid};
use super::walk::{Over, Walk};
use pointillist::Events;
use pointillist::Points;
use pointillist::internals::sample;
use pointillist::{Error, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::sync::Arc;

/// The walks that take turns.
const WALKS: [Over; 2] = [Over::Levels, Over::Lengths];

/// A Markov chain over the latent state of the model.
#[derive(Debug, Clone)]
pub struct Chain {
    problem: Arc<Problem>,
    latent: Latent,
    /// The root of the correlation of all points held.
    root: Root,
    rng: ChaCha8Rng,
    tuner: Tuner,
    walks: [Walk; 2],
    sweeps: usize,
    record: Record,
}

/// Where a generator stands.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Generator {
    seed: [u8; 32],
    stream: u64,
    words: u64,
}

/// What is kept of a chain's past after its warm-up.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Record {
    /// The watched quantities, one list each.
    pub(super) watched: Vec<Vec<f64>>,
    /// States for prediction, `state_every` records apart.
    pub(super) states: Vec<Latent>,
    state_every: usize,
    /// Sums over the sweeps after warm-up.
    pub(super) sweeps: usize,
    pub(super) acceptance: f64,
    pub(super) walked: [f64; 2],
    pub(super) angles: f64,
    pub(super) thinned: f64,
    pub(super) thinned_uniform: f64,
    pub(super) candidates: f64,
    pub(super) breaches: f64,
}

impl Record {
    /// Draws recorded.
    pub(super) fn draws(&self) -> usize {
        self.watched.first().map_or(0, Vec::len)
    }

    /// Whether it is one of this problem: what it lists it lists as often, and every number is one.
    fn fits(&self, problem: &Problem) -> bool {
        let sums = [self.acceptance, self.angles, self.thinned, self.thinned_uniform, self.candidates, self.breaches];
        let mut numbers = self.watched.iter().flatten().chain(&sums).chain(&self.walked);
        let whole = self.watched.is_empty() || self.watched.len() == watched_names(problem).len();
        whole
            && self.watched.iter().all(|list| list.len() == self.draws())
            && numbers.all(|number| number.is_finite())
            && self.state_every > 0
            && self.states.len() <= problem.settings.most_states
    }
}

/// All numbers of a chain: what a file must hold to go on to the last bit.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChainState {
    latent: Latent,
    generator: Generator,
    tuner: Tuner,
    walks: [Walk; 2],
    sweeps: usize,
    record: Record,
}

impl Chain {
    /// Chain number `number` over these events.
    pub fn new(events: &Events, settings: &super::Settings, number: u64) -> Result<Self> {
        Self::start(Arc::new(Problem::new(events, settings)?), number)
    }

    pub(super) fn start(problem: Arc<Problem>, number: u64) -> Result<Self> {
        let mut rng = sample::stream(problem.settings.seed, number);
        let latent = Latent::start(&problem, &mut rng);
        let root = problem.root(&latent.points(&problem), &latent.parameters.lengthscales)?;
        let tuner = Tuner::new(&problem);
        let walks = WALKS.map(|over| Walk::new(&problem, over));
        let record = Record { state_every: 1, ..Record::default() };
        Ok(Self { problem, latent, root, rng, tuner, walks, sweeps: 0, record })
    }

    /// Its numbers.
    pub(super) fn state(&self) -> ChainState {
        let generator = Generator {
            seed: self.rng.get_seed(),
            stream: self.rng.get_stream(),
            words: self.rng.get_word_pos() as u64, // 2⁶⁴ words would take centuries
        };
        ChainState {
            latent: self.latent.clone(),
            generator,
            tuner: self.tuner.clone(),
            walks: self.walks.clone(),
            sweeps: self.sweeps,
            record: self.record.clone(),
        }
    }

    pub(super) fn from_state(problem: Arc<Problem>, state: ChainState) -> Result<Self> {
        let ChainState { latent, generator, tuner, walks, sweeps, record } = state;
        latent.check(&problem)?;
        record.states.iter().try_for_each(|latent| latent.check(&problem))?;
        let walks_fit = walks.iter().zip(WALKS).all(|(walk, over)| walk.fits(&problem, over));
        if !tuner.fits(&problem) || !walks_fit || !record.fits(&problem) || record.sweeps > sweeps {
            return Err(Error::setting("state", "chain", "does not fit its events and settings"));
        }
        let mut rng = ChaCha8Rng::from_seed(generator.seed);
        rng.set_stream(generator.stream);
        rng.set_word_pos(u128::from(generator.words));
        let root = problem.root(&latent.points(&problem), &latent.parameters.lengthscales)?;
        Ok(Self { problem, latent, root, rng, tuner, walks, sweeps, record })
    }

    /// One sweep over everything.
    pub fn sweep(&mut self) -> Result<()> {
        let Self { problem, latent, root, rng, tuner, walks, .. } = self;
        let warming = (self.sweeps < problem.settings.warm_up).then_some(self.sweeps);
        let mut looked = [Looked::default(); 2];
        for (looked, walk) in looked.iter_mut().zip(walks) {
            *looked = moves::thinned(rng, problem, latent, root, walk)?;
            if let Some(sweep) = warming {
                walk.learn(looked.walked, sweep, problem, &latent.parameters);
            }
        }
        moves::ceiling(rng, problem, latent);
        let angles = moves::slices(rng, problem, latent, root);
        moves::mean_given_f(rng, problem, latent, root);
        let acceptance = tuner.sweep(rng, problem, latent, root, warming);
        self.sweeps += 1;
        if warming.is_none() {
            self.note(&looked, angles, acceptance);
        }
        Ok(())
    }

    /// Draws the events anew, given f as a function and λ*: a sweep followed by this leaves the joint distribution of parameters and
    /// data invariant, which is how Geweke (2004) tests a sampler.
    pub fn resimulate_events(&mut self) -> Result<()> {
        let Self { problem, latent, root, rng, .. } = self;
        *problem = Arc::new(moves::resimulate(rng, problem, latent, root)?);
        Ok(())
    }

    /// The latent state.
    pub fn latent(&self) -> &Latent {
        &self.latent
    }

    /// λ* and the hyper-parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.latent.parameters
    }

    /// The events.
    pub fn events(&self) -> &Points {
        &self.problem.events
    }

    /// The rate at points, drawn from the GP given the state; the chain itself stays as it is.
    pub fn draw_rate(&self, points: &Points, seed: u64) -> Result<Vec<f64>> {
        let mut rng = sample::stream(seed, self.sweeps as u64);
        rate_given(&mut rng, &self.latent, &self.problem.head, points, &self.root, self.problem.settings.jitter)
    }

    /// Sweeps made.
    pub fn sweeps(&self) -> usize {
        self.sweeps
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    pub(super) fn step(&self) -> f64 {
        self.tuner.step()
    }

    /// Adds the last sweep to the record.
    fn note(&mut self, looked: &[Looked; 2], angles: usize, acceptance: f64) {
        let settings = &self.problem.settings;
        let record = &mut self.record;
        record.sweeps += 1;
        record.acceptance += acceptance;
        for (looked, walked) in looked.iter().zip(&mut record.walked) {
            *walked += looked.walked;
            record.candidates += looked.candidates as f64;
            record.breaches += looked.breaches as f64;
        }
        record.angles += angles as f64 / settings.slices as f64;
        record.thinned += self.latent.thinned.len() as f64;
        if !record.sweeps.is_multiple_of(settings.keep_every) {
            return;
        }
        let watched = watched(&self.problem, &self.latent, &self.root);
        let (whole, integral) = (self.problem.window.measure(), watched[watched.len() - 2]);
        let record = &mut self.record;
        record.thinned_uniform += self.latent.parameters.ceiling * whole - integral;
        record.watched.resize(watched.len(), Vec::new());
        record.watched.iter_mut().zip(watched).for_each(|(list, value)| list.push(value));
        let draws = record.watched[0].len();
        if draws.is_multiple_of(record.state_every) {
            record.states.push(self.latent.clone());
        }
        if record.states.len() > self.problem.settings.most_states {
            // Those that stay are the ones a record twice as sparse would hold.
            let mut number = 0;
            record.states.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            record.state_every *= 2;
        }
    }
}

/// Names of what [`watched`] gives.
pub(super) fn watched_names(problem: &Problem) -> Vec<String> {
    let fixed = &problem.settings.fixed;
    let mut names = Vec::new();
    if fixed.ceiling.is_none() {
        names.push("ceiling".to_string());
    }
    if fixed.lengthscales.is_none() {
        names.extend((0..problem.window.dims()).map(|r| format!("lengthscale[{r}]")));
    }
    if fixed.variance.is_none() {
        names.push("variance".to_string());
    }
    if fixed.mean.is_none() {
        names.push("mean".to_string());
    }
    names.extend(["integral".to_string(), "log_likelihood".to_string()]);
    names
}

/// The sampled parameters, ∫λ and the log-likelihood, the integral taken over the conditional mean of f: good enough to watch.
fn watched(problem: &Problem, latent: &Latent, root: &Root) -> Vec<f64> {
    let Parameters { ceiling, ref lengthscales, variance, mean } = latent.parameters;
    let fixed = &problem.settings.fixed;
    let mut values = Vec::new();
    if fixed.ceiling.is_none() {
        values.push(ceiling);
    }
    if fixed.lengthscales.is_none() {
        values.extend(lengthscales);
    }
    if fixed.variance.is_none() {
        values.push(variance);
    }
    if fixed.mean.is_none() {
        values.push(mean);
    }
    let weights = root.solve(&latent.standardised());
    let smooth = field::cross_times(&problem.nodes.points, &latent.points(problem), lengthscales, &weights);
    let rate = |u: &f64| ceiling * sigmoid(mean + variance.sqrt() * u);
    let integral: f64 = smooth.iter().zip(&problem.nodes.weights).map(|(u, w)| w * rate(u)).sum();
    let log_rates: f64 = latent.f[..problem.events.len()].iter().map(|&f| ceiling.ln() + log_sigmoid(f)).sum();
    values.extend([integral, log_rates - integral]);
    values
}

/// The rate at points, drawn from the GP given a state.
pub(super) fn rate_given(
    rng: &mut impl rand::Rng,
    latent: &Latent,
    head: &Points,
    points: &Points,
    root: &Root,
    jitter: f64,
) -> Result<Vec<f64>> {
    if points.dims() != head.dims() {
        return Err(Error::Dimension { what: "points", expected: head.dims(), found: points.dims() });
    }
    let Parameters { ceiling, ref lengthscales, variance, mean } = latent.parameters;
    let known = head.followed_by(&latent.thinned);
    let failed = Error::NotPositiveDefinite { pivot: 0, size: known.len() + points.len(), jitter };
    let (white, fresh) = (root.whiten(&latent.standardised(), rng), sample::standard_normal(rng, points.len()));
    let (known, new) = (Noise { points: &known, white: &white }, Noise { points, white: &fresh });
    let h = field::continued(root, known, new, lengthscales, jitter).ok_or(failed)?;
    Ok(h.iter().map(|h| ceiling * sigmoid(mean + variance.sqrt() * h)).collect())
}
