//! The parts of an f whose kernel is a sum: each term has a posterior of its own (docs/derivation.md (71), (72)).
//!
//! f = β + ζs + Σ f_j with independent f_j, one for each term of the kernel, and q speaks of their sum at the inducing points. Given that sum, f_j is what the
//! prior says of it: its features are a_j = L⁻¹ k_j(Z, x) with the L of the whole kernel, so that Σ a_j is the feature of f.
//!
//! The events do not tell to which f_j a constant belongs. So a part is told less its average over the window, and these averages belong to the part that has
//! the constant: then the parts add up to f, and no band holds what nobody can know. What is asked for may be an average over several places, as of the same
//! hour of all days. Cost: M² per average and M³ once, for each component of the posterior.

use super::predict::{Known, check_probabilities, crossing};
use super::{Component, InducingField, Posterior, Rate};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::field::inducing::Scattered;
use crate::kernel::{self, Kernel, Term};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special::{normal_cdf, normal_quantile};
use crate::terms::Marginals;
use crate::watch::{PartWatch, Work, unwatched};

/// Places per axis over which averages over the window are taken, on a line, in a plane and in space, and with more axes.
const PLACES: [usize; 4] = [200, 15, 6, 4];

/// A part of f: some of the terms of the kernel less their average over the window; with the constant, these terms, the constant, and the averages of all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOfF {
    /// The numbers of the terms, from 0.
    pub terms: Vec<usize>,
    /// Whether the constant belongs to it.
    pub constant: bool,
}

/// The posterior of a part of f at places, or averaged over several.
#[derive(Debug, Clone, PartialEq)]
pub struct PartAtPlaces {
    /// Means of the part of f, in the units of f (those of the root of a rate for λ = f²).
    pub mean: Vec<f64>,
    /// Standard deviations.
    pub sd: Vec<f64>,
    /// For each probability one quantile per place.
    pub quantiles: Vec<Vec<f64>>,
    /// The rate if all other terms stood at their average over the window, which is as uncertain as it is.
    pub rate: Rate,
    /// Its quantiles.
    pub rate_quantiles: Vec<Vec<f64>>,
}

impl Posterior {
    /// The number of terms of the kernel, whose parts of f [`Posterior::part`] tells apart; 1 for a lattice.
    pub fn term_count(&self) -> usize {
        let count = |component: &Component| component.inducing().map_or(1, |field| field.hyper.kernel.terms.len());
        self.components.iter().map(count).min().unwrap_or(1)
    }

    /// A part of f at places; each is a set of points over which the part is averaged, or one point.
    ///
    /// ```
    /// # use pointillist::kernel::Expression;
    /// # use pointillist::{Events, Family, InducingPoints, Model, Points, Window};
    /// use pointillist::parts::PartOfF;
    /// # let times: Vec<f64> = (0..40).map(|i| (i / 4) as f64 + 0.5 + 0.03 * (i % 4) as f64).collect();
    /// # let events = Events::new(Points::line(&times)?, Window::interval(0.0, 10.0)?)?;
    ///
    /// let kernel = Expression::parse("se(t) + se(t)*periodic(t, period=1!)", &["t"])?;
    /// let family = Family::Inducing(InducingPoints { kernel: Some(kernel), ..InducingPoints::default() });
    /// let model = Model { family, ..Model::of_maximum_likelihood() };
    /// let posterior = model.fit(&events)?.posterior;
    /// let (cycle, trend) = (PartOfF { terms: vec![1], constant: false }, PartOfF { terms: vec![0], constant: true });
    /// let at = [Points::line(&[4.5])?, Points::line(&[4.0])?];
    /// let day = posterior.part(&cycle, &at, &[0.05, 0.95])?;
    /// assert!(day.rate.mean[0] > day.rate.mean[1]);
    /// let sum = day.mean[0] + posterior.part(&trend, &at, &[])?.mean[0];
    /// assert!((sum - posterior.marginals(&at[0])?.mean[0]).abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn part(&self, part: &PartOfF, places: &[Points], probabilities: &[f64]) -> Result<PartAtPlaces> {
        self.part_watched(part, places, probabilities, &unwatched)
    }

    /// [`Posterior::part`], telling `watch` which part of the work is done.
    pub fn part_watched(
        &self,
        part: &PartOfF,
        places: &[Points],
        probabilities: &[f64],
        watch: &PartWatch<'_>,
    ) -> Result<PartAtPlaces> {
        check_probabilities(probabilities)?;
        places.iter().try_for_each(|points| self.check_dims(points))?;
        let count = self.term_count();
        if let Some(term) = part.terms.iter().find(|term| **term >= count) {
            return Err(Error::setting("term", term, format!("must be one of the {count} of the kernel, from 0")));
        }
        if places.iter().any(Points::is_empty) {
            return Err(Error::setting("places", 0, "must each have a point"));
        }
        let inner: Vec<Points> = places.iter().map(|points| self.scaling.points_inward(points)).collect();
        let all = self.scaling.points_inward(&self.all_over());
        let (mut own, mut with_rest) = (Vec::new(), Vec::new());
        let passes = self.components.len() * if part.constant { 1 } else { 2 };
        let work = Work::new(places.len() * (passes + probabilities.len()), watch);
        for component in &self.components {
            let Some(field) = component.inducing() else { return Err(no_terms()) };
            let apart = Apart::new(field, part, &all)?;
            let with_others = apart.at(Reference::OthersAveraged, &inner, &work)?;
            let marginals =
                if part.constant { with_others.clone() } else { apart.at(Reference::OwnAverage, &inner, &work)? };
            with_rest.push((component.weight, component.formula(), with_others));
            let (scale, shift) = component.formula().outward(self.scaling.volume());
            let shift = if part.constant { shift } else { 0.0 };
            let mean = marginals.mean.iter().map(|m| scale * m + shift).collect();
            let sd = marginals.variance.iter().map(|v| scale * v.sqrt()).collect();
            own.push((component.weight, mean, sd));
        }
        let known = Known { parts: with_rest, volume: self.scaling.volume(), count: places.len() };
        let (rate, rate_quantiles) = (known.rate(), known.quantiles(probabilities, &work)?);
        let (mean, sd) = (0..places.len()).map(|n| mixed(&own, n)).unzip();
        let of = |p: &f64| (0..places.len()).map(|n| mixed_quantile(&own, n, *p)).collect();
        Ok(PartAtPlaces { mean, sd, quantiles: probabilities.iter().map(of).collect(), rate, rate_quantiles })
    }

    /// Places all over the window.
    fn all_over(&self) -> Points {
        let dims = self.window.dims();
        let count = PLACES[(dims - 1).min(PLACES.len() - 1)];
        let inside = self.window.grid(&vec![count; dims]);
        if inside.is_empty() { self.window.grid_nearby(&vec![count; dims]) } else { inside }
    }
}

fn no_terms() -> Error {
    Error::setting("kernel", "a lattice", "has no terms; fit with inducing points and a kernel that is a sum")
}

/// A normal mixture at each of several places: weights, means and standard deviations.
type NormalMixture = [(f64, Vec<f64>, Vec<f64>)];

fn mixed(parts: &NormalMixture, n: usize) -> (f64, f64) {
    let mean: f64 = parts.iter().map(|(weight, mean, _)| weight * mean[n]).sum();
    let variance = parts.iter().map(|(weight, own, sd)| weight * (sd[n].powi(2) + (own[n] - mean).powi(2)));
    (mean, variance.sum::<f64>().sqrt())
}

fn mixed_quantile(parts: &NormalMixture, n: usize, p: f64) -> f64 {
    let each = || parts.iter().map(|(_, mean, sd)| mean[n] + sd[n] * normal_quantile(p));
    let (mut low, mut high) = (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max));
    if low == high {
        return low;
    }
    let below = |f: f64| parts.iter().map(|(weight, mean, sd)| weight * normal_cdf((f - mean[n]) / sd[n])).sum::<f64>();
    crossing(|f| below(f) - p, &mut low, &mut high)
}

/// What a part is told beside.
#[derive(Clone, Copy, PartialEq)]
enum Reference {
    /// Less its own average over the window.
    OwnAverage,
    /// With the constant, and all other terms at their average over the window.
    OthersAveraged,
}

/// The terms of a part and all others, with the root of the whole kernel matrix.
struct Apart<'a> {
    field: &'a InducingField,
    root: Matrix,
    own: Kernel,
    others: Kernel,
    /// Places all over the window.
    all: &'a Points,
}

impl<'a> Apart<'a> {
    fn new(field: &'a InducingField, part: &PartOfF, all: &'a Points) -> Result<Self> {
        let set = Scattered::new(field.locations.clone());
        let root = set.basis(&field.hyper, field.prior_mean, field.jitter)?.whitening().clone();
        let kernel = &field.hyper.kernel;
        let others: Vec<usize> = (0..kernel.terms.len()).filter(|term| !part.terms.contains(term)).collect();
        Ok(Self { field, root, own: of_terms(kernel, &part.terms), others: of_terms(kernel, &others), all })
    }

    /// Mean and variance, averaged over the points of each place.
    fn at(&self, beside: Reference, places: &[Points], work: &Work<'_>) -> Result<Marginals> {
        let (field, all) = (self.field, self.all);
        let size = field.locations.len();
        let (averaged, sign, constant, offset) = match beside {
            Reference::OwnAverage => (&self.own, -1.0, 0.0, 0.0),
            Reference::OthersAveraged => (&self.others, 1.0, field.constant.unwrap_or(0.0), field.offset()),
        };
        let base = average(averaged, &field.locations, all);
        let base_variance = mean_of(&average(averaged, all, all));
        let mut a = Matrix::zeros(size, places.len());
        for (n, points) in places.iter().enumerate() {
            let column = a.col_mut(n);
            column.copy_from_slice(&average(&self.own, &field.locations, points));
            linalg::add_scaled(column, sign, &base);
        }
        linalg::solve_lower(&self.root, a.data_mut());
        let of_place = |(n, points): (usize, &Points)| {
            let mut features = a.col(n).to_vec();
            // Terms are independent; a part is not independent of its own average.
            let common = match beside {
                Reference::OwnAverage => mean_of(&average(&self.own, points, all)),
                Reference::OthersAveraged => 0.0,
            };
            let prior = mean_of(&average(&self.own, points, points)) - 2.0 * common + base_variance;
            let residual = (prior - linalg::dot(&features, &features)).max(0.0);
            features.extend(field.constant.map(|_| constant));
            let turned = linalg::lower_transposed_times(&field.q.root, &features);
            work.advance(1)?;
            Ok((offset + linalg::dot(&features, &field.q.mean), linalg::dot(&turned, &turned) + residual))
        };
        let found = places.iter().enumerate().map(of_place).collect::<Result<Vec<_>>>()?;
        let (mean, variance) = found.into_iter().unzip();
        Ok(Marginals { mean, variance })
    }
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of some of the terms of a kernel.
fn of_terms(kernel: &Kernel, terms: &[usize]) -> Kernel {
    Kernel { dims: kernel.dims, terms: terms.iter().map(|&t| kernel.terms[t].clone()).collect::<Vec<Term>>() }
}

/// k(z, x) for each z, averaged over the points x.
fn average(kernel: &Kernel, z: &Points, x: &Points) -> Vec<f64> {
    let mut sum = vec![0.0; z.len()];
    for (t, term) in kernel.terms.iter().enumerate() {
        let mut product = vec![term.variance / x.len() as f64; z.len() * x.len()];
        for r in 0..kernel.dims {
            let table = kernel::gram(&kernel.parts(t, r), &z.axis(r), &x.axis(r));
            product.iter_mut().zip(&table).for_each(|(product, k)| *product *= k);
        }
        product.chunks_exact(z.len()).for_each(|column| linalg::add_scaled(&mut sum, 1.0, column));
    }
    sum
}
