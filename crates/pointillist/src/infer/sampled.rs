//! The posterior of Θ by adaptive importance sampling: weighted points, of which intervals of single hyper-parameters are read
//! (docs/derivation.md, section 19).
//!
//! The bound at its optimum over q, with log p(Θ), is a log density of Θ that costs a few natural steps. Points are drawn from a mixture of Student's t about
//! the best Θ, wide and narrow, and weighed by how much denser the posterior is there than where they came from. Further rounds draw from a t about each of the
//! points that weigh much (West 1993), so that what is skew, curved or has several tops is followed, and all rounds are weighed against the mixture of all
//! (Cornuet et al. 2012). It ends when the points are worth enough independent draws, or have cost enough.

use super::FitStage;
use super::search::{Kind, Look, Run, Search};
use crate::error::{Error, Result};
use crate::gaussian::Sites;
use crate::numerics::linalg::{self, Matrix};
use crate::sample::{self, gaussian};
use rand::Rng;
use rand_distr::{ChiSquared, Distribution};
use std::f64::consts::PI;

/// Points of a round, and most rounds.
const EACH: usize = 100;
const MOST_ROUNDS: usize = 5;
/// So many independent draws are enough, …
const ENOUGH: f64 = 120.0;
/// … and no further round begins that may cost more than all before the first one, and so many seconds.
const LITTLE_WORK: f64 = 0.1;
/// About so many natural steps are made for a point.
const STEPS_PER_POINT: f64 = 2.5;
/// Draws from the same seed are made for everybody.
const SEED: u64 = 19;
/// How near (nats) q is brought to its optimum.
const NEAR: f64 = 1e-2;
/// Coordinates are moved by this for the curvature, where q is brought this near.
const APART: f64 = 0.05;
const NEAR_FOR_CURVATURE: f64 = 1e-5;
/// What is added to the curvature: no direction is taken for wider than a standard deviation of 2.6.
const LEAST_CURVATURE: f64 = 0.15;
/// Degrees of freedom of what is drawn from.
const FREEDOM: f64 = 5.0;
/// The weight of the wide part of the first round, by how much its scale is that of the narrow one, and what it has more.
const WIDE_PART: f64 = 0.3;
const WIDER: f64 = 2.0;
const WIDER_BY: f64 = 0.5;
/// Of later rounds: how many points they are about, and the weight and the scale of the part that is about the mean of all.
const ABOUT: usize = 60;
const WHOLE_PART: f64 = 0.2;
const WHOLE_SCALE: f64 = 1.5;
/// The part of the first covariance (of its wide part) that stands in for what few points leave open.
const STAND_IN: f64 = 0.25;
/// Sites of points are kept to begin with at others, if there are at most so many.
const MOST_SITES: usize = 2_000_000;

/// Weighted points of Θ.
pub(crate) struct Sampled<T> {
    /// With weights that add up to 1.
    points: Vec<(T, f64)>,
    /// So many independent draws they are worth.
    pub(crate) effective: f64,
}

/// Values with weights that add up to 1, rising.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighted(Vec<(f64, f64)>);

impl<T> Sampled<T> {
    /// What is known of a number that Θ says.
    pub(crate) fn of(&self, value: impl Fn(&T) -> f64) -> Weighted {
        Weighted::new(self.points.iter().map(|(theta, weight)| (value(theta), *weight)).collect())
    }
}

impl Weighted {
    fn new(mut values: Vec<(f64, f64)>) -> Self {
        values.retain(|(_, weight)| *weight > 0.0);
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(values)
    }

    /// Where so much of it lies below: between values in proportion, half of each on either side of it.
    pub(crate) fn quantile(&self, probability: f64) -> f64 {
        let (mut below, mut last) = (0.0, None);
        for (value, weight) in &self.0 {
            let middle = below + 0.5 * weight;
            if middle >= probability {
                let Some((from, at)) = last else { return *value };
                return from + (value - from) * (probability - at) / (middle - at);
            }
            below += weight;
            last = Some((*value, middle));
        }
        last.map_or(f64::NAN, |(value, _)| value)
    }
}

/// A covariance by its Cholesky factor.
struct Scale {
    root: Matrix,
    log_constant: f64,
}

impl Scale {
    fn new(mut covariance: Matrix) -> Option<Self> {
        linalg::cholesky(&mut covariance).ok()?;
        let d = covariance.rows() as f64;
        let log_constant = libm::lgamma(0.5 * (FREEDOM + d))
            - libm::lgamma(0.5 * FREEDOM)
            - 0.5 * (d * (FREEDOM * PI).ln() + linalg::log_determinant(&covariance));
        Some(Self { root: covariance, log_constant })
    }

    /// (x − y)ᵀ Σ⁻¹ (x − y).
    fn distance(&self, x: &[f64], y: &[f64]) -> f64 {
        let mut off: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
        linalg::solve_lower(&self.root, &mut off);
        linalg::dot(&off, &off)
    }

    /// The log density of Student's t about y.
    fn log_density(&self, x: &[f64], y: &[f64]) -> f64 {
        let d = x.len() as f64;
        self.log_constant - 0.5 * (FREEDOM + d) * (self.distance(x, y) / FREEDOM).ln_1p()
    }
}

/// A mixture of Student's t: middles with their weights, about each of which there is one of two scales.
struct Proposal {
    scales: [Scale; 2],
    /// Weight, scale, middle.
    parts: Vec<(f64, usize, Vec<f64>)>,
}

impl Proposal {
    /// A narrow and a wide one about the best Θ.
    fn first(middle: &[f64], curvature: &Matrix) -> Option<Self> {
        let mut least = LEAST_CURVATURE;
        let root = loop {
            let mut own = curvature.clone();
            own.add_to_diagonal(least);
            if linalg::cholesky(&mut own).is_ok() {
                break own;
            }
            least *= 2.0;
            if !least.is_finite() {
                return None;
            }
        };
        let narrow = linalg::inverse_from_cholesky(&root);
        let entry = |i: usize, j: usize| WIDER * WIDER * narrow[(i, j)] + if i == j { WIDER_BY.powi(2) } else { 0.0 };
        let wide = Matrix::from_fn(narrow.rows(), narrow.rows(), entry);
        let parts = vec![(1.0 - WIDE_PART, 0, middle.to_vec()), (WIDE_PART, 1, middle.to_vec())];
        Some(Self { scales: [Scale::new(narrow)?, Scale::new(wide)?], parts })
    }

    /// About points that were drawn again by their weights, drawn to the mean of all by as much as these are wide: so the covariance stays. None where it is not
    /// known.
    fn about(points: &[Vec<f64>], weights: &[f64], first: &Self) -> Option<Self> {
        let weights = clipped(weights);
        let (d, effective) = (points[0].len(), effective(&weights));
        let sum = |of: &dyn Fn(&Vec<f64>) -> f64| points.iter().zip(&weights).map(|(x, w)| w * of(x)).sum::<f64>();
        let mean: Vec<f64> = (0..d).map(|i| sum(&|x| x[i])).collect();
        let (stand_in, open) = (linalg::lower_square(&first.scales[1].root), d as f64 / (d as f64 + effective));
        let covariance = |i: usize, j: usize| {
            let own = sum(&|x| (x[i] - mean[i]) * (x[j] - mean[j]));
            (1.0 - open) * own + open * STAND_IN * stand_in[(i, j)]
        };
        let covariance = Matrix::from_fn(d, d, covariance);
        // The width of a kernel estimate of a bell (Silverman), over that of the bell.
        let square = (4.0 / (effective * (d as f64 + 2.0))).powf(2.0 / (d as f64 + 4.0)).min(1.0);
        let times = |by: f64| Scale::new(Matrix::from_fn(d, d, |i, j| by * covariance[(i, j)]));
        let drawn_in = (1.0 - square).sqrt();
        let place = |n: usize| mean.iter().zip(&points[n]).map(|(m, x)| m + drawn_in * (x - m)).collect();
        let each = (1.0 - WHOLE_PART) / ABOUT as f64;
        let again = drawn_again(&weights, ABOUT);
        let parts = again.into_iter().map(|(n, times)| (times as f64 * each, 0, place(n)));
        let parts = std::iter::once((WHOLE_PART, 1, mean.clone())).chain(parts).collect();
        Some(Self { scales: [times(square)?, times(WHOLE_SCALE)?], parts })
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        let part =
            |(weight, scale, middle): &(f64, usize, Vec<f64>)| weight.ln() + self.scales[*scale].log_density(x, middle);
        log_sum(&self.parts.iter().map(part).collect::<Vec<_>>())
    }

    /// So many points: of each part as many as it weighs.
    fn draw(&self, count: usize, rng: &mut impl Rng) -> Result<Vec<Vec<f64>>> {
        let squares = ChiSquared::new(FREEDOM).map_err(|_| Error::NotANumber { parameters: vec![] })?;
        let weights: Vec<f64> = self.parts.iter().map(|(weight, ..)| *weight).collect();
        let mut points = Vec::with_capacity(count);
        for (n, times) in drawn_again(&weights, count) {
            let (_, scale, middle) = &self.parts[n];
            for _ in 0..times {
                let mut x =
                    linalg::lower_times(&self.scales[*scale].root, &gaussian::standard_normal(rng, middle.len()));
                let by = (FREEDOM / squares.sample(rng)).sqrt();
                x.iter_mut().zip(middle).for_each(|(x, m)| *x = m + by * *x);
                points.push(x);
            }
        }
        Ok(points)
    }
}

/// What was seen so far.
struct Cloud {
    points: Vec<Vec<f64>>,
    /// Bound and log p(Θ); −∞ beyond bounds, or where q cannot be found.
    values: Vec<f64>,
    /// Where the natural steps of others begin; none where they are too many.
    sites: Vec<Option<Sites>>,
    /// The density of all rounds together, each as much as the others, not divided by their number.
    log_drawn: Vec<f64>,
    rounds: Vec<Proposal>,
}

impl Cloud {
    fn log_weights(&self) -> Vec<f64> {
        let log_rounds = (self.rounds.len() as f64).ln();
        self.values.iter().zip(&self.log_drawn).map(|(value, drawn)| value - drawn + log_rounds).collect()
    }

    /// The sites of the nearest point that has some.
    fn nearest(&self, x: &[f64]) -> Option<&Sites> {
        let scale = &self.rounds.first()?.scales[1];
        let known = self.points.iter().zip(&self.sites).filter_map(|(y, sites)| Some((y, sites.as_ref()?)));
        known.map(|(y, sites)| (scale.distance(x, y), sites)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, sites)| sites)
    }

    /// Takes in a round.
    fn add(&mut self, proposal: Proposal, points: Vec<Vec<f64>>, found: Vec<(f64, Option<Sites>)>) {
        for (x, sum) in self.points.iter().zip(&mut self.log_drawn) {
            *sum = log_sum(&[*sum, proposal.log_density(x)]);
        }
        self.rounds.push(proposal);
        for (x, (value, sites)) in points.into_iter().zip(found) {
            let each: Vec<f64> = self.rounds.iter().map(|round| round.log_density(&x)).collect();
            self.log_drawn.push(log_sum(&each));
            self.points.push(x);
            self.values.push(value);
            self.sites.push(sites);
        }
    }
}

impl<K: Kind> Search<'_, '_, K> {
    /// Weighted points of Θ, about the best.
    pub(super) fn sampled(&self, run: &Run<K>) -> Result<Sampled<K::Theta>> {
        let (x, bounds) = self.kind.pack(&run.level, &run.theta);
        let inside = |(x, (low, high)): (&f64, &(f64, f64))| x.clamp(low + 2.0 * APART, high - 2.0 * APART);
        let middle: Vec<f64> = x.iter().zip(&bounds).map(inside).collect();
        let searched = self.work.get();
        let of_round = EACH as f64 * STEPS_PER_POINT * self.kind.cost(&run.level);
        self.tally.foresee(FitStage::Average, 3.0 * of_round);
        let lost = || Error::NotANumber { parameters: vec![] };
        let mut proposal = Proposal::first(&middle, &self.curvature_near(run, &middle)?).ok_or_else(lost)?;
        let mut rng = sample::stream(SEED, 0);
        let mut cloud = Cloud { points: vec![], values: vec![], sites: vec![], log_drawn: vec![], rounds: vec![] };
        let weights = loop {
            let points = proposal.draw(EACH, &mut rng)?;
            let found = self.look_at(run, &cloud, &points, &bounds)?;
            cloud.add(proposal, points, found);
            let weights = normalised(&cloud.log_weights()).ok_or_else(lost)?;
            let is_dear = self.work.get() + of_round > 2.0 * searched + LITTLE_WORK;
            if effective(&weights) >= ENOUGH || cloud.rounds.len() == MOST_ROUNDS || is_dear {
                break weights;
            }
            match Proposal::about(&cloud.points, &weights, &cloud.rounds[0]) {
                Some(next) => proposal = next,
                None => break weights,
            }
        };
        let theta = |x: &Vec<f64>| self.kind.unpack(&run.level, x, &run.theta);
        let effective = effective(&weights);
        let points = cloud.points.iter().map(theta).zip(weights).collect();
        Ok(Sampled { points, effective })
    }

    /// The objective at points, and sites there.
    fn look_at(
        &self,
        run: &Run<K>,
        cloud: &Cloud,
        points: &[Vec<f64>],
        bounds: &[(f64, f64)],
    ) -> Result<Vec<(f64, Option<Sites>)>> {
        let is_inside = |x: &&Vec<f64>| x.iter().zip(bounds).all(|(x, (low, high))| low <= x && x <= high);
        let look = |x: &Vec<f64>| Look {
            theta: self.kind.unpack(&run.level, x, &run.theta),
            sites: cloud.nearest(x).unwrap_or(&run.sites).clone(),
            by: None,
        };
        let looks: Vec<_> = points.iter().filter(is_inside).map(look).collect();
        let mut seen = self.evaluate_each(&run.level, &looks, (NEAR, self.kind.tuning().most_steps))?.into_iter();
        let keeps = run.sites.len() * EACH * MOST_ROUNDS <= MOST_SITES;
        let found = points.iter().map(|x| match if is_inside(&x) { seen.next() } else { None } {
            Some(Ok((found, _))) if found.value.is_finite() => (found.value, keeps.then_some(found.sites)),
            _ => (f64::NEG_INFINITY, None),
        });
        Ok(found.collect())
    }

    /// The curvature of the objective at a place inside of bounds; 0 where it is not known.
    fn curvature_near(&self, run: &Run<K>, x: &[f64]) -> Result<Matrix> {
        let look = |(i, by): (usize, f64)| {
            let mut x = x.to_vec();
            x[i] += by;
            Look { theta: self.kind.unpack(&run.level, &x, &run.theta), sites: run.sites.clone(), by: Some(x) }
        };
        let looks: Vec<_> = (0..x.len()).flat_map(|i| [(i, APART), (i, -APART)]).map(look).collect();
        let steps = (NEAR_FOR_CURVATURE, self.kind.tuning().most_steps);
        let seen = self.evaluate_each(&run.level, &looks, steps)?;
        let slopes: Vec<Option<Vec<f64>>> = seen.into_iter().map(|seen| Some(seen.ok()?.1)).collect();
        let mut matrix = Matrix::from_fn(x.len(), x.len(), |i, j| match (&slopes[2 * j], &slopes[2 * j + 1]) {
            (Some(above), Some(below)) => (below[i] - above[i]) / (2.0 * APART),
            _ => 0.0,
        });
        matrix.symmetrise();
        Ok(matrix)
    }
}

/// log Σ exp.
fn log_sum(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + logs.iter().map(|log| (log - top).exp()).sum::<f64>().ln()
}

/// Weights that add up to 1; none if nothing has any.
fn normalised(logs: &[f64]) -> Option<Vec<f64>> {
    let total = log_sum(logs);
    total.is_finite().then(|| logs.iter().map(|log| (log - total).exp()).collect())
}

/// So many independent draws weights are worth (Kish).
fn effective(weights: &[f64]) -> f64 {
    1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>()
}

/// No weight above 1/√n, so that one lucky point does not lead the next round (Ionides).
fn clipped(weights: &[f64]) -> Vec<f64> {
    let most = (weights.len() as f64).powf(-0.5);
    let total: f64 = weights.iter().map(|weight| weight.min(most)).sum();
    weights.iter().map(|weight| weight.min(most) / total).collect()
}

/// Which are drawn if so many are, evenly by their weights, and how often.
fn drawn_again(weights: &[f64], count: usize) -> Vec<(usize, usize)> {
    let total: f64 = weights.iter().sum();
    let (mut sum, mut drawn, mut found) = (0.0, 0, vec![]);
    for (n, weight) in weights.iter().enumerate() {
        sum += weight / total;
        let up_to = if n + 1 == weights.len() { count } else { ((sum * count as f64 + 0.5) as usize).min(count) };
        if up_to > drawn {
            found.push((n, up_to - drawn));
            drawn = up_to;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds about one of the two tops of a density with a bend find the other, and are then worth many more independent draws than the first round was.
    #[test]
    fn rounds_follow_a_density_that_is_no_bell() {
        // x is N(±1.5, 0.6²), y about x²/2 with a standard deviation of ½, z is N(0, 2²).
        let log_density = |p: &[f64]| {
            let tops = [-1.5, 1.5].map(|m: f64| -0.5 * ((p[0] - m) / 0.6).powi(2) - 0.6f64.ln() - 2f64.ln());
            let bell = |x: f64, sd: f64| -0.5 * (x / sd).powi(2) - sd.ln();
            log_sum(&tops) + bell(p[1] - 0.5 * p[0] * p[0], 0.5) + bell(p[2], 2.0)
        };
        let curvature = Matrix::from_fn(3, 3, |i, j| if i == j { [2.8, 4.0, 0.25][i] } else { 0.0 });
        let mut rng = sample::stream(3, 0);
        let mut cloud = Cloud { points: vec![], values: vec![], sites: vec![], log_drawn: vec![], rounds: vec![] };
        let mut proposal = Proposal::first(&[1.5, 1.125, 0.0], &curvature).unwrap();
        let mut worth = vec![];
        for _ in 0..6 {
            let points = proposal.draw(400, &mut rng).unwrap();
            assert_eq!(points.len(), 400);
            let found = points.iter().map(|x| (log_density(x), None)).collect();
            cloud.add(proposal, points, found);
            let weights = normalised(&cloud.log_weights()).unwrap();
            worth.push(effective(&weights));
            proposal = Proposal::about(&cloud.points, &weights, &cloud.rounds[0]).unwrap();
        }
        assert!(worth[5] > 300.0 && worth[5] > 5.0 * worth[0], "{worth:?}");
    }

    #[test]
    fn weighted_values_have_their_moments_and_quantiles() {
        let even = Weighted::new((0..1000).rev().map(|n| ((f64::from(n) + 0.5) / 1000.0, 1e-3)).collect());
        for p in [0.05, 0.31, 0.5, 0.95] {
            assert!((even.quantile(p) - p).abs() < 1e-9, "{p} {}", even.quantile(p));
        }
        let one = Weighted::new(vec![(-2.0, 0.25), (-1.0, 0.75), (7.0, 0.0)]);
        assert_eq!((one.quantile(0.0), one.quantile(1.0)), (-2.0, -1.0));
    }

    #[test]
    fn what_is_drawn_again_is_drawn_by_its_weight() {
        let drawn = drawn_again(&[0.1, 0.0, 0.65, 0.25], 20);
        assert_eq!(drawn, vec![(0, 2), (2, 13), (3, 5)]);
        assert_eq!(drawn_again(&[1.0; 7], 60).iter().map(|(_, times)| times).sum::<usize>(), 60);
        let clipped = clipped(&[0.97, 0.01, 0.01, 0.01]);
        assert!((clipped[0] - 0.5 / 0.53).abs() < 1e-12);
    }
}
