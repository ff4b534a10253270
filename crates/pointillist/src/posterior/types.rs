//! Several types of events: the rate of each, ratios between them, and which type is how probable at a place.
//!
//! Types share unknowns (`field/layers/`), so that what is said of several of them at once is said of their joint posterior. A ratio of two rates is exp of a
//! Gaussian f_a − f_b under each component, and so a [`Posterior`] of its own. Shares of more than two types have no closed form: C numbers per place are
//! drawn, the same standard normal ones everywhere, so that maps are smooth.

use super::component::BLOCK;
use super::predict::check_probabilities;
use super::{Component, CountWatch, JointCounts, Posterior, PosteriorBasis};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::layers::one_of;
use crate::numerics::linalg::Matrix;
use crate::parallel;
use crate::sample::{self, gaussian};
use crate::terms::Marginals;
use crate::watch::{PartWatch, Work, unwatched};
use crate::window::Window;

/// Draws for the shares at a place, over all components, and their seed.
const DRAWS: usize = 4000;
const SEED: u64 = 0;

/// What is known of several types of events in one window.
///
/// ```
/// use pointillist::{Events, LatticeChoice, Model, Points, Window};
///
/// let window = Window::interval(0.0, 10.0)?;
/// let events = |times: &[f64]| Events::new(Points::line(times)?, window.clone());
/// let oak = events(&[0.4, 1.0, 1.1, 1.9, 2.2, 2.3, 3.1, 7.4])?;
/// let ash = events(&[2.9, 5.2, 6.1, 6.6, 7.1, 7.2, 8.8, 9.3])?;
/// let coarse = LatticeChoice { nodes: Some(vec![24]), ..LatticeChoice::default() };
/// let model = Model { family: coarse.into(), ..Model::default() };
/// let types = model.fit_types(&[("oak".into(), oak), ("ash".into(), ash)])?.posterior;
/// let places = Points::line(&[1.0, 8.0])?;
/// let oaks_per_ash = types.ratio(0, 1)?.rate_and_quantiles(&places, &[0.5])?.1;
/// assert!(oaks_per_ash[0][0] > oaks_per_ash[0][1]);
/// let shares = types.shares(&places, &[0.05, 0.95])?;
/// assert!((shares[0].mean[0] + shares[1].mean[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TypesPosterior {
    names: Vec<String>,
    /// Each component sees the first type.
    joint: Posterior,
}

/// The probability that an event at a place is of a type, which is itself uncertain.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareOfType {
    /// Its posterior mean at each point: the probability that an event there is of this type.
    pub mean: Vec<f64>,
    /// Its posterior standard deviation.
    pub sd: Vec<f64>,
    /// For each probability that was asked for, one value per point.
    pub quantiles: Vec<Vec<f64>>,
}

impl TypesPosterior {
    /// Of a posterior whose components know as many types as there are names.
    pub fn new(names: Vec<String>, joint: Posterior) -> Result<Self> {
        let knows_all = |component: &Component| match &component.basis {
            PosteriorBasis::Layers(field) => field.types() == names.len(),
            _ => false,
        };
        if names.len() < 2 || !joint.components().iter().all(knows_all) {
            return Err(Error::setting("types", names.len(), "is not the number of types that the posterior knows"));
        }
        Ok(Self { names, joint })
    }

    /// The names of the types.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The posterior that all are views of, for a file.
    pub fn joint(&self) -> &Posterior {
        &self.joint
    }

    /// The posterior of the rate of one type.
    pub fn of(&self, kind: usize) -> Result<Posterior> {
        self.check(kind)?;
        Ok(self.taking(&one_of(kind, self.names.len()), 0.0))
    }

    /// The posterior of a ratio of rates, λ_a / λ_b: what it calls a rate is the ratio. Counts of it mean nothing.
    pub fn ratio(&self, above: usize, below: usize) -> Result<Posterior> {
        self.check(above)?;
        self.check(below)?;
        if above == below {
            return Err(Error::setting("type", &self.names[above], "cannot be compared with itself"));
        }
        let mut shares = one_of(above, self.names.len());
        shares[below] = -1.0;
        // A posterior divides by the volume of the window's box, which a ratio does not know.
        Ok(self.taking(&shares, self.joint.scaling().volume().ln()))
    }

    /// The probability of each type at points, given that there is an event.
    pub fn shares(&self, points: &Points, probabilities: &[f64]) -> Result<Vec<ShareOfType>> {
        self.shares_watched(points, probabilities, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn shares_watched(
        &self,
        points: &Points,
        probabilities: &[f64],
        watch: &PartWatch<'_>,
    ) -> Result<Vec<ShareOfType>> {
        check_probabilities(probabilities)?;
        self.joint.check_dims(points)?;
        let (types, work) = (self.names.len(), Work::new(points.len(), watch));
        let inner = self.joint.scaling().points_inward(points);
        let noise = self.noise();
        let mut all =
            vec![ShareOfType { mean: vec![], sd: vec![], quantiles: vec![vec![]; probabilities.len()] }; types];
        let rows: Vec<&[f64]> = inner.rows().collect();
        for block in rows.chunks(BLOCK) {
            let block = Points::new(inner.dims(), block.concat())?;
            let parts = self.joint.components().iter().map(|component| jointly(component, &block));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let of_place = |n: usize| {
                let draws = drawn(&parts, n, (types, &noise));
                Ok((0..types).map(|c| summed_up(draws.iter().map(|share| share[c]).collect(), probabilities)).collect())
            };
            let found: Vec<Vec<(f64, f64, Vec<f64>)>> = parallel::try_each(block.len(), of_place)?;
            for place in found {
                for (share, (mean, sd, quantiles)) in all.iter_mut().zip(place) {
                    share.mean.push(mean);
                    share.sd.push(sd);
                    share.quantiles.iter_mut().zip(quantiles).for_each(|(all, q)| all.push(q));
                }
            }
            work.advance(block.len())?;
        }
        Ok(all)
    }

    /// A whole new set of events of all types, with the number of the type of each: draw number `draw` of `seed`. The rates of a draw belong together.
    pub fn sample_events(&self, seed: u64, draw: u64) -> Result<(Points, Vec<usize>)> {
        let (mut rows, mut kinds) = (vec![], vec![]);
        for kind in 0..self.names.len() {
            let points = self.of(kind)?.sample_events_apart((seed, draw), kind as u64)?;
            kinds.extend(std::iter::repeat_n(kind, points.len()));
            rows.extend_from_slice(points.coordinates());
        }
        Ok((Points::new(self.joint.window().dims(), rows)?, kinds))
    }

    /// The expected numbers of events of these types in one region, with joint draws of them: what they share is in both.
    pub fn joint_counts_watched(
        &self,
        kinds: &[usize],
        region: &Window,
        (draws, seed): (usize, u64),
        watch: &mut CountWatch<'_>,
    ) -> Result<JointCounts> {
        let mut all = JointCounts::default();
        for (place, kind) in kinds.iter().enumerate() {
            let own = self.of(*kind)?.joint_counts_watched(std::slice::from_ref(region), draws, seed, watch)?;
            all = if place == 0 { own } else { all.beside(own) };
        }
        Ok(all)
    }

    /// Standard normal numbers for each component, as many draws as its weight has a right to.
    fn noise(&self) -> Vec<Vec<Vec<f64>>> {
        let (mut done, mut taken) = (0.0, 0);
        let own = |component: &Component| {
            done += component.weight;
            let count = (done * DRAWS as f64).round() as usize - taken;
            let draws = taken..taken + count;
            taken += count;
            // Each with its mirror image: means are then those of the moments to the first order.
            let draw = |k: usize| {
                let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
                let noise = gaussian::standard_normal(&mut sample::stream(SEED, k as u64 / 2), self.names.len());
                noise.into_iter().map(|z| sign * z).collect()
            };
            draws.map(draw).collect()
        };
        self.joint.components().iter().map(own).collect()
    }

    fn check(&self, kind: usize) -> Result<()> {
        if kind < self.names.len() {
            return Ok(());
        }
        Err(Error::setting("type", kind, format!("must be below {}, the number of types", self.names.len())))
    }

    fn taking(&self, shares: &[f64], offset: f64) -> Posterior {
        let mut view = self.joint.clone();
        for component in &mut view.components {
            if let PosteriorBasis::Layers(field) = &component.basis {
                component.basis = PosteriorBasis::Layers(field.taking(shares, offset));
            }
        }
        view
    }
}

/// Means of all f_c, and a root of their covariance, at places.
struct Jointly {
    mean: Vec<Vec<f64>>,
    root: Vec<Matrix>,
}

/// cov(f_a, f_b) = ¼ [var(f_a + f_b) − var(f_a − f_b)].
fn jointly(component: &Component, places: &Points) -> Result<Jointly> {
    let PosteriorBasis::Layers(field) = &component.basis else {
        return Err(Error::setting("types", 1, "are not known to this posterior"));
    };
    let types = field.types();
    let seen = |shares: &[f64]| -> Result<Marginals> { super::Field::shown(&field.taking(shares, 0.0), places) };
    let own = (0..types).map(|c| seen(&one_of(c, types))).collect::<Result<Vec<_>>>()?;
    let mut covariance: Vec<Matrix> = (0..places.len()).map(|_| Matrix::zeros(types, types)).collect();
    for a in 0..types {
        for (n, matrix) in covariance.iter_mut().enumerate() {
            matrix[(a, a)] = own[a].variance[n];
        }
        for b in 0..a {
            let both = |sign: f64| {
                let mut shares = one_of(a, types);
                shares[b] = sign;
                seen(&shares)
            };
            let (sum, difference) = (both(1.0)?.variance, both(-1.0)?.variance);
            for (n, matrix) in covariance.iter_mut().enumerate() {
                matrix[(a, b)] = 0.25 * (sum[n] - difference[n]);
            }
        }
    }
    covariance.iter_mut().for_each(to_root);
    Ok(Jointly { mean: own.into_iter().map(|f| f.mean).collect(), root: covariance })
}

/// The lower Cholesky factor of a covariance that may have no full rank: of types with one field there is one number.
fn to_root(matrix: &mut Matrix) {
    let size = matrix.rows();
    for j in 0..size {
        let pivot = matrix[(j, j)] - (0..j).map(|k| matrix[(j, k)].powi(2)).sum::<f64>();
        let least = 1e-9 * matrix[(j, j)];
        let root = if pivot > least { pivot.sqrt() } else { 0.0 };
        for i in j + 1..size {
            let left = matrix[(i, j)] - (0..j).map(|k| matrix[(i, k)] * matrix[(j, k)]).sum::<f64>();
            matrix[(i, j)] = if root > 0.0 { left / root } else { 0.0 };
        }
        matrix[(j, j)] = root;
        (0..j).for_each(|i| matrix[(i, j)] = 0.0);
    }
}

/// Draws of the shares at a place.
fn drawn(parts: &[Jointly], n: usize, (types, noise): (usize, &[Vec<Vec<f64>>])) -> Vec<Vec<f64>> {
    let draw = |part: &Jointly, z: &Vec<f64>| {
        let f = (0..types).map(|a| part.mean[a][n] + (0..=a).map(|b| part.root[n][(a, b)] * z[b]).sum::<f64>());
        let f: Vec<f64> = f.collect();
        let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rates: Vec<f64> = f.iter().map(|f| (f - top).exp()).collect();
        let total: f64 = rates.iter().sum();
        rates.into_iter().map(|rate| rate / total).collect()
    };
    parts.iter().zip(noise).flat_map(|(part, noise)| noise.iter().map(move |z| draw(part, z))).collect()
}

/// Mean, standard deviation and quantiles of some numbers.
fn summed_up(mut values: Vec<f64>, probabilities: &[f64]) -> (f64, f64, Vec<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    values.sort_by(f64::total_cmp);
    let quantile = |p: &f64| {
        let place = (p * count - 0.5).clamp(0.0, count - 1.0);
        let (low, part) = (place.floor() as usize, place.fract());
        values[low] + part * (values[(low + 1).min(values.len() - 1)] - values[low])
    };
    (mean, variance.sqrt(), probabilities.iter().map(quantile).collect())
}
