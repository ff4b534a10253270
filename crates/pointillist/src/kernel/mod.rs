//! Kernels: prior covariance of f. A kernel is a sum of terms; a term is a variance times a product of 1-D factors on its axes.
//!
//! A kernel author writes 1-D formulas in one file ([`Formula`]): `k`, and if a closed form is known `phi` (∫k) and `psi`
//! (∫k·k). The rest comes free: [`Formula`]'s default integrals, derivatives through dual numbers, tables over many points.
//! [`Factor`] is the list of them by name; [`Kernel`] combines them: several on one axis multiply, an axis without any is constant.
//! [`Expression`] is a kernel as it is asked for, before its parameters are known.
//!
//! What it does not do: know windows that are not boxes, inducing points or events. Cost: a table of U×N values is U·N
//! formula evaluations per factor.

mod expression;
mod factor;
mod folded;
mod formula;
mod integrals;
mod parse;
mod poly_exp;

pub use crate::text::ExpressionError;
pub use expression::{Expression, PartExpression, Said, TermExpression};
pub use factor::*;
pub(crate) use formula::SLOTS;
pub use formula::{Bars, Formula, Parameter, Unit};
pub use integrals::cross_psi;
pub(crate) use integrals::{PartAt, Sum, gram, gram_adjoint, phi_list, phi_list_adjoint, psi_table, psi_table_adjoint};

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::numerics::linalg::Matrix;
use crate::window::Scaling;

/// One factor with its parameters, on one axis.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Part {
    /// Which axis.
    pub axis: usize,
    /// Which factor.
    pub factor: Factor,
    /// Its parameters, in the order of [`Factor::parameters`].
    pub parameters: Vec<f64>,
}

/// A variance times a product of factors.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term {
    /// In units of the rate.
    pub variance: f64,
    /// The factors; where an axis has several they multiply, where it has none the term does not depend on it.
    pub parts: Vec<Part>,
}

/// The prior covariance of f: a sum of terms.
///
/// ```
/// use pointillist::Kernel;
///
/// let kernel = Kernel::squared_exponential(2.0, &[10.0])?;
/// assert_eq!((kernel.variance(), kernel.lengthscales()), (2.0, vec![10.0]));
/// assert!((kernel.k(&[0.0], &[10.0]) - 2.0 * f64::exp(-0.5)).abs() < 1e-12);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct Kernel {
    /// Number of axes.
    pub dims: usize,
    /// The terms.
    pub terms: Vec<Term>,
}

crate::reading::checked_when_read!(Kernel);

impl Term {
    /// k(x, y), the plain formula.
    fn k(&self, x: &[f64], y: &[f64]) -> f64 {
        let factor = |part: &Part| part.factor.k(&part.parameters, x[part.axis], y[part.axis]);
        self.parts.iter().fold(self.variance, |k, part| k * factor(part))
    }

    /// Number of parameters: the variance, and those of the parts.
    fn parameter_count(&self) -> usize {
        1 + self.parts.iter().map(|part| part.parameters.len()).sum::<usize>()
    }
}

/// How a parameter's number outside follows from that in the unit box: `shift + scale · inner`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Affine {
    pub(crate) scale: f64,
    pub(crate) shift: f64,
}

impl Affine {
    pub(crate) fn outward(self, inner: f64) -> f64 {
        self.shift + self.scale * inner
    }

    pub(crate) fn inward(self, outer: f64) -> f64 {
        (outer - self.shift) / self.scale
    }
}

impl Kernel {
    /// The squared-exponential kernel with one length-scale per axis.
    pub fn squared_exponential(variance: f64, lengthscales: &[f64]) -> Result<Self> {
        let part = |(axis, &l)| Part { axis, factor: Factor::SquaredExponential, parameters: vec![l] };
        let parts = lengthscales.iter().enumerate().map(part).collect();
        Self::new(lengthscales.len(), vec![Term { variance, parts }])
    }

    /// A sum of terms over this many axes, once its parameters are found to make sense.
    pub fn new(dims: usize, terms: Vec<Term>) -> Result<Self> {
        let kernel = Self { dims, terms };
        kernel.check()?;
        Ok(kernel)
    }

    #[cfg(feature = "serde")]
    fn checked(self) -> Result<Self> {
        Self::new(self.dims, self.terms)
    }

    /// Every part must have its parameters, and these must make sense.
    pub(crate) fn check(&self) -> Result<()> {
        if self.dims == 0 || self.terms.is_empty() {
            return Err(Error::setting("kernel", "nothing", "needs an axis and a term"));
        }
        for part in self.terms.iter().flat_map(|term| &term.parts) {
            if part.axis >= self.dims {
                return Err(Error::Dimension { what: "kernel", expected: self.dims, found: part.axis + 1 });
            }
            let (name, parameters) = (part.factor.name(), part.factor.parameters());
            if part.parameters.len() != parameters.len() {
                return Err(Error::setting("kernel", name, "has the wrong number of parameters"));
            }
            for (value, parameter) in part.parameters.iter().zip(parameters) {
                check_value(parameter.name, *value, parameter.unit)?;
            }
            if let Some(objection) = part.factor.objection(&part.parameters) {
                return Err(Error::setting(name, format!("{:?}", part.parameters), objection));
            }
        }
        self.terms.iter().try_for_each(|term| check_value("variance", term.variance, Unit::Number))
    }

    /// The length-scales and what else is called so, in the order of [`Kernel::parameters`].
    pub fn lengthscales(&self) -> Vec<f64> {
        let named = |part: &Part| {
            let pairs = part.factor.parameters().iter().zip(part.parameters.clone());
            pairs.filter(|(p, _)| p.name == "lengthscale").map(|(_, value)| value).collect::<Vec<_>>()
        };
        self.terms.iter().flat_map(|term| &term.parts).flat_map(named).collect()
    }

    /// The sum of the variances: the prior variance of f, where every factor is 1 on its diagonal.
    pub fn variance(&self) -> f64 {
        self.terms.iter().map(|term| term.variance).sum()
    }

    /// All parameters: term by term, the variance first, then part by part.
    pub fn parameters(&self) -> Vec<f64> {
        let of_term = |term: &Term| {
            let parts = term.parts.iter().flat_map(|part| part.parameters.clone());
            std::iter::once(term.variance).chain(parts).collect::<Vec<_>>()
        };
        self.terms.iter().flat_map(of_term).collect()
    }

    /// The same kernel with other parameters, in the order of [`Kernel::parameters`].
    pub fn with_parameters(&self, parameters: &[f64]) -> Self {
        let mut kernel = self.clone();
        let mut rest = parameters.iter();
        for term in &mut kernel.terms {
            let places = term.parts.iter_mut().flat_map(|part| &mut part.parameters);
            for (place, value) in std::iter::once(&mut term.variance).chain(places).zip(&mut rest) {
                *place = *value;
            }
        }
        kernel
    }

    /// What each parameter is worth outside the unit box.
    pub(crate) fn units(&self, scaling: &Scaling) -> Vec<Affine> {
        let of_part = |part: &Part| {
            let (scale, shift) = (scaling.scale(part.axis), scaling.outward(part.axis, 0.0));
            let unit = move |parameter: &Parameter| match parameter.unit {
                Unit::Length => Affine { scale, shift: 0.0 },
                Unit::Area => Affine { scale: scale * scale, shift: 0.0 },
                Unit::Place => Affine { scale, shift },
                Unit::Number => Affine { scale: 1.0, shift: 0.0 },
            };
            part.factor.parameters().iter().map(unit).collect::<Vec<_>>()
        };
        let of_term = |term: &Term| {
            let stretch = |part: &Part| scaling.scale(part.axis).powf(part.factor.homogeneity(&part.parameters));
            let scale = term.parts.iter().fold(1.0 / scaling.volume(), |scale, part| scale / stretch(part));
            let parts = term.parts.iter().flat_map(of_part);
            std::iter::once(Affine { scale, shift: 0.0 }).chain(parts).collect::<Vec<_>>()
        };
        self.terms.iter().flat_map(of_term).collect()
    }

    /// This kernel, of the unit box, in the user's units.
    pub(crate) fn outward(&self, scaling: &Scaling) -> Self {
        let units = self.units(scaling);
        self.with_parameters(&self.parameters().iter().zip(units).map(|(v, u)| u.outward(*v)).collect::<Vec<_>>())
    }

    /// All of it on its only axis; nothing if there are more.
    pub(crate) fn sum_on_the_line(&self) -> Option<Sum<'_>> {
        let term = |(t, term): (usize, &Term)| (term.variance, self.parts(t, 0));
        (self.dims == 1).then(|| Sum { terms: self.terms.iter().enumerate().map(term).collect() })
    }

    /// The parts of term `t` on an axis, each with the place of its first parameter among [`Kernel::parameters`]; constant ones are
    /// left out.
    pub(crate) fn parts(&self, t: usize, axis: usize) -> Vec<PartAt<'_>> {
        let mut at = 1 + self.terms[..t].iter().map(Term::parameter_count).sum::<usize>();
        let mut found = Vec::new();
        for part in &self.terms[t].parts {
            if part.axis == axis && part.factor != Factor::Constant {
                found.push(PartAt { part, at });
            }
            at += part.parameters.len();
        }
        found
    }

    /// The places of the variances among [`Kernel::parameters`].
    pub(crate) fn variance_places(&self) -> Vec<usize> {
        let mut next = 0;
        let mut place = |term: &Term| {
            next += term.parameter_count();
            next - term.parameter_count()
        };
        self.terms.iter().map(&mut place).collect()
    }

    /// The shortest length over which the kernel varies on an axis; infinite if it does not.
    pub(crate) fn length(&self, axis: usize) -> f64 {
        (0..self.terms.len()).map(|t| integrals::length(&self.parts(t, axis))).fold(f64::INFINITY, f64::min)
    }

    /// About how many points on an axis of length 1 tell all that the kernel can do there, one per length; infinite if it has no end.
    ///
    /// What repeats itself after a short period is told by the points of one period, wherever these stand: for each length of the slow
    /// factors as many as there are lengths in a period.
    pub(crate) fn points_needed(&self, axis: usize) -> f64 {
        let of_term = |t: usize| {
            let parts = self.parts(t, axis);
            let direct = 1.0 / integrals::length(&parts);
            let (folded, slow): (Vec<PartAt<'_>>, Vec<PartAt<'_>>) = parts.into_iter().partition(is_short_wave);
            let phases = |p: &PartAt<'_>| {
                let part = p.part;
                let period = part.factor.period(&part.parameters).unwrap_or(1.0);
                1.0 + period / part.factor.length(&part.parameters)
            };
            let by_phase = folded.iter().fold(1.0 + 1.0 / integrals::length(&slow), |n, p| n * phases(p));
            (1.0 + direct).min(by_phase)
        };
        (0..self.terms.len()).map(of_term).fold(1.0, f64::max)
    }

    /// About how many points on a part of an axis tell all that the kernel can do there if each stands at another part of its shortest cycle, and how long
    /// that is; nothing if it has no cycle there.
    pub(crate) fn phases_needed(&self, axis: usize, length: f64) -> Option<(f64, f64)> {
        let period = |p: &PartAt<'_>| p.part.factor.period(&p.part.parameters);
        let of_term = |t: usize| {
            let (folded, slow): (Vec<PartAt<'_>>, Vec<PartAt<'_>>) =
                self.parts(t, axis).into_iter().partition(|p| period(p).is_some());
            let phases = |p: &PartAt<'_>| 1.0 + period(p).unwrap_or(1.0) / p.part.factor.length(&p.part.parameters);
            folded.iter().fold(1.0 + length / integrals::length(&slow), |n, p| n * phases(p))
        };
        let shortest = (0..self.terms.len()).flat_map(|t| self.parts(t, axis)).filter_map(|p| period(&p));
        let shortest = shortest.min_by(f64::total_cmp)?;
        Some(((0..self.terms.len()).map(of_term).fold(1.0, f64::max), shortest))
    }

    /// Whether the kernel repeats itself on an axis of length 1 so often that points stand for places a period apart.
    pub(crate) fn has_short_waves(&self, axis: usize) -> bool {
        (0..self.terms.len()).any(|t| self.parts(t, axis).iter().any(is_short_wave))
    }

    /// k(0, d) on one axis, relative to k(0, 0): how much alike places this far apart are.
    pub(crate) fn likeness(&self, axis: usize, d: f64) -> f64 {
        let of_term = |(t, term): (usize, &Term)| {
            let factor = |p: &PartAt<'_>| p.part.factor.k(&p.part.parameters, 0.0, d);
            term.variance * self.parts(t, axis).iter().map(factor).product::<f64>()
        };
        self.terms.iter().enumerate().map(of_term).sum::<f64>() / self.variance()
    }

    /// Whether it has kinks on an axis.
    pub(crate) fn has_kinks(&self, axis: usize) -> bool {
        self.terms.iter().flat_map(|term| &term.parts).any(|part| part.axis == axis && part.factor.has_kink())
    }

    /// k(x, y), the plain formula.
    pub fn k(&self, x: &[f64], y: &[f64]) -> f64 {
        self.terms.iter().map(|term| term.k(x, y)).sum()
    }

    /// The same with every variance so many times as large.
    pub(crate) fn times(mut self, factor: f64) -> Self {
        self.terms.iter_mut().for_each(|term| term.variance *= factor);
        self
    }

    /// k(x_i, x_j) for all pairs of points.
    pub(crate) fn gram(&self, points: &Points) -> Matrix {
        let mut out = Matrix::zeros(points.len(), points.len());
        for (t, term) in self.terms.iter().enumerate() {
            let mut product = vec![term.variance; points.len() * points.len()];
            for r in 0..self.dims {
                let x = points.axis(r);
                let table = gram(&self.parts(t, r), &x, &x);
                product.iter_mut().zip(&table).for_each(|(out, k)| *out *= k);
            }
            crate::numerics::linalg::add_scaled(out.data_mut(), 1.0, &product);
        }
        out
    }

    /// k(x, x).
    pub fn diagonal(&self, x: &[f64]) -> f64 {
        if self.has_unit_diagonal() { self.variance() } else { self.k(x, x) }
    }

    /// Whether k(x, x) is the same everywhere.
    pub(crate) fn has_unit_diagonal(&self) -> bool {
        self.terms.iter().flat_map(|term| &term.parts).all(|part| part.factor.has_unit_diagonal())
    }

    /// Adjoint of [`Kernel::diagonal`] by the parameters.
    pub(crate) fn diagonal_adjoint(&self, x: &[f64], bar: f64, parameters_bar: &mut [f64]) {
        let unit = self.has_unit_diagonal();
        let value = |part: &Part| part.factor.k(&part.parameters, x[part.axis], x[part.axis]);
        for (term, at) in self.terms.iter().zip(self.variance_places()) {
            if unit {
                parameters_bar[at] += bar;
                continue;
            }
            parameters_bar[at] += bar * term.parts.iter().map(value).product::<f64>();
            let mut place = at + 1;
            for (p, part) in term.parts.iter().enumerate() {
                let others = term.parts.iter().enumerate().filter(|(other, _)| *other != p);
                let bar = bar * others.fold(term.variance, |product, (_, part)| product * value(part));
                let end = place + part.parameters.len();
                part.diagonal_adjoint(x[part.axis], bar, &mut parameters_bar[place..end]);
                place = end;
            }
        }
    }
}

/// Whether a part repeats itself at least a few times over a length of 1.
fn is_short_wave(p: &PartAt<'_>) -> bool {
    const LONG: f64 = 0.1;
    p.part.factor.period(&p.part.parameters).is_some_and(|period| period < LONG)
}

/// Refuses what a parameter cannot be.
fn check_value(name: &str, value: f64, unit: Unit) -> Result<()> {
    match unit {
        Unit::Place if value.is_finite() => Ok(()),
        Unit::Place => Err(Error::setting(name, value, "must be finite")),
        _ if value.is_finite() && value > 0.0 => Ok(()),
        _ => Err(Error::setting(name, value, "must be positive and finite")),
    }
}
