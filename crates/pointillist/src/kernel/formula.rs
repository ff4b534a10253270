//! What a kernel author writes, and what comes free.
//!
//! Required: the name, the parameters, `k`. Provided: its integrals by Gauss-Legendre (split at the kinks), and tables and
//! their adjoints over many points through dual numbers. A closed form or a fast table is an override, and the shared battery
//! ([`crate::testing::check_kernel`]) compares it with the default.

use crate::numerics::dual::{Dual, Real};
use crate::numerics::gauss::GaussLegendre;
use crate::window::Span;
use std::ops::Range;
use std::sync::OnceLock;

/// Parameters of the factor, then the two points: enough slots for every derivative of a factor with three parameters.
pub(crate) const SLOTS: usize = 5;

/// Nodes per panel of the default integrals: with panels no wider than twice the kernel's own length they reach 1e-14.
const PANEL_NODES: usize = 24;

/// What a parameter measures: how its number changes with the unit and the zero of its axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A length on the axis.
    Length,
    /// The square of one.
    Area,
    /// A place on the axis; the one kind that may be negative or zero.
    Place,
    /// A plain number.
    Number,
}

/// A parameter of a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub unit: Unit,
    /// Where learning starts when nothing else is known, and the range it is looked for in; both in units of the window's side.
    pub start: f64,
    /// See `start`.
    pub range: (f64, f64),
    /// Whether it is learned; if not, it keeps the value it is given.
    pub learned: bool,
}

impl Parameter {
    /// The length-scale of a factor that falls off.
    pub const LENGTHSCALE: Self =
        Self { name: "lengthscale", unit: Unit::Length, start: 0.2, range: (1e-4, 1e2), learned: true };
    /// The period of a factor that repeats itself.
    pub const PERIOD: Self =
        Self { name: "period", unit: Unit::Length, start: 0.25, range: (1e-4, 1e2), learned: true };
}

/// What adjoints add to: the cotangents of the parameters θ, and of the points z unless these stay where they are.
#[derive(Debug)]
pub struct Bars<'a> {
    /// Of θ.
    pub theta: &'a mut [f64],
    /// Of z.
    pub z: Option<&'a mut [f64]>,
}

impl Bars<'_> {
    /// The same, to be lent once more.
    pub(crate) fn lend(&mut self) -> Bars<'_> {
        Bars { theta: self.theta, z: self.z.as_deref_mut() }
    }

    /// Those of some of the parameters.
    pub(crate) fn of(&mut self, parameters: Range<usize>) -> Bars<'_> {
        Bars { theta: &mut self.theta[parameters], z: self.z.as_deref_mut() }
    }
}

/// The formulas of a 1-D factor of a kernel, in natural parameters θ.
pub trait Formula {
    /// Its name in expressions.
    fn name() -> &'static str;

    /// The formula as people write it, in d = x − y (or x and y) and the names of the parameters.
    fn formula() -> &'static str;

    /// Its parameters (at most three).
    fn parameters() -> &'static [Parameter];

    /// What is wrong with parameters that are finite and, but for places, positive; nothing for most factors.
    fn objection(_theta: &[f64]) -> Option<String> {
        None
    }

    /// The power p with k(sz, sx) = sᵖ k(z, x) when lengths in θ are multiplied by s as well: 0 for all that depend on ratios alone.
    fn homogeneity(_theta: &[f64]) -> f64 {
        0.0
    }

    /// Whether k(x, x) = 1 everywhere.
    fn has_unit_diagonal() -> bool {
        true
    }

    /// k(z, x).
    fn k<R: Real>(theta: &[R], z: R, x: R) -> R;

    /// The length over which k varies: the default integrals take panels of about this width.
    fn length(theta: &[f64]) -> f64;

    /// Whether k(z, x) has a kink at x = z, where the default integrals must split.
    fn has_kink() -> bool {
        false
    }

    /// The period after which k repeats itself, in either point; nothing for most factors.
    fn period(_theta: &[f64]) -> Option<f64> {
        None
    }

    /// Up to how many points Ψ of all pairs is best found pair by pair; beyond, by nodes that all pairs share.
    fn pair_by_pair_up_to() -> usize {
        usize::MAX
    }

    /// ∫ k(z, x) dx over the span.
    fn phi<R: Real>(theta: &[R], z: R, span: Span) -> R {
        Self::phi_by_quadrature(theta, z, span)
    }

    /// ∫ k(z, x) k(x, w) dx over the span.
    fn psi<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        Self::psi_by_quadrature(theta, z, w, span)
    }

    /// The default of [`Formula::phi`].
    fn phi_by_quadrature<R: Real>(theta: &[R], z: R, span: Span) -> R {
        panels::<Self, R>(theta, &[z.value()], span)
            .map(|(x, weight)| Self::k(theta, z, R::from(x)) * weight)
            .fold(R::from(0.0), |sum, term| sum + term)
    }

    /// The default of [`Formula::psi`].
    fn psi_by_quadrature<R: Real>(theta: &[R], z: R, w: R, span: Span) -> R {
        panels::<Self, R>(theta, &[z.value(), w.value()], span)
            .map(|(x, weight)| Self::k(theta, z, R::from(x)) * Self::k(theta, R::from(x), w) * weight)
            .fold(R::from(0.0), |sum, term| sum + term)
    }

    /// k(z_i, x_j) for all pairs; `out` is (Z, X).
    fn gram(theta: &[f64], z: &[f64], x: &[f64], out: &mut [f64]) {
        for (column, &x) in out.chunks_exact_mut(z.len()).zip(x) {
            column.iter_mut().zip(z).for_each(|(out, &z)| *out = Self::k(theta, z, x));
        }
    }

    /// Adjoint of [`Formula::gram`] by θ and z; `k` is its output, which a formula may use to save work.
    fn gram_adjoint(theta: &[f64], z: &[f64], x: &[f64], _k: &[f64], k_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let theta = variables(theta);
        for (column, &x) in k_bar.chunks_exact(z.len()).zip(x) {
            for (i, &bar) in column.iter().enumerate() {
                let k = Self::k(&theta, Dual::variable(z[i], SLOTS - 2), Dual::from(x));
                add_derivatives(&k, bar, theta_bar, z_bar.as_deref_mut().map(|z_bar| (&mut z_bar[i], 1.0)));
            }
        }
    }

    /// Adjoint of x ↦ k(x, x) by θ.
    fn diagonal_adjoint(theta: &[f64], x: f64, bar: f64, theta_bar: &mut [f64]) {
        if !Self::has_unit_diagonal() {
            let k = Self::k(&variables(theta), Dual::from(x), Dual::from(x));
            add_derivatives(&k, bar, theta_bar, None);
        }
    }

    /// φ(z_i) for all i.
    fn phi_list(theta: &[f64], z: &[f64], span: Span, out: &mut [f64]) {
        out.iter_mut().zip(z).for_each(|(out, &z)| *out = Self::phi(theta, z, span));
    }

    /// Adjoint of [`Formula::phi_list`].
    fn phi_list_adjoint(theta: &[f64], z: &[f64], span: Span, phi_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let theta = variables(theta);
        for (i, &bar) in phi_bar.iter().enumerate() {
            let phi = Self::phi(&theta, Dual::variable(z[i], SLOTS - 2), span);
            add_derivatives(&phi, bar, theta_bar, z_bar.as_deref_mut().map(|z_bar| (&mut z_bar[i], 1.0)));
        }
    }

    /// Ψ(z_i, z_j) for all pairs; symmetric.
    fn psi_table(theta: &[f64], z: &[f64], span: Span, out: &mut [f64]) {
        Self::psi_pair_by_pair(theta, z, span, out);
    }

    /// The default of [`Formula::psi_table`].
    fn psi_pair_by_pair(theta: &[f64], z: &[f64], span: Span, out: &mut [f64]) {
        for j in 0..z.len() {
            for i in j..z.len() {
                let psi = Self::psi(theta, z[i], z[j], span);
                out[j * z.len() + i] = psi;
                out[i * z.len() + j] = psi;
            }
        }
    }

    /// Adjoint of [`Formula::psi_table`] for a symmetric `psi_bar`.
    fn psi_table_adjoint(theta: &[f64], z: &[f64], span: Span, psi_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let (size, theta) = (z.len(), variables(theta));
        for j in 0..size {
            for i in 0..size {
                let psi = Self::psi(&theta, Dual::variable(z[i], SLOTS - 2), Dual::from(z[j]), span);
                // psi_bar and psi are symmetric: the derivative by the second point is that of the mirrored entry
                let z_bar = z_bar.as_deref_mut().map(|z_bar| (&mut z_bar[i], 2.0));
                add_derivatives(&psi, psi_bar[j * size + i], theta_bar, z_bar);
            }
        }
    }
}

/// The parameters as dual variables.
fn variables(theta: &[f64]) -> Vec<Dual<SLOTS>> {
    theta.iter().enumerate().map(|(i, &value)| Dual::variable(value, i)).collect()
}

/// Adds `bar` times the derivatives of `value` to the cotangents.
fn add_derivatives(value: &Dual<SLOTS>, bar: f64, theta_bar: &mut [f64], z_bar: Option<(&mut f64, f64)>) {
    for (sum, derivative) in theta_bar.iter_mut().zip(value.derivatives()) {
        *sum += bar * derivative;
    }
    if let Some((z_bar, times)) = z_bar {
        *z_bar += times * bar * value.derivatives()[SLOTS - 2];
    }
}

/// Quadrature nodes over the span, in panels no wider than the kernel's length, split at the given kinks.
fn panels<F: Formula + ?Sized, R: Real>(theta: &[R], kinks: &[f64], span: Span) -> impl Iterator<Item = (f64, f64)> {
    static RULE: OnceLock<GaussLegendre> = OnceLock::new();
    let rule = RULE.get_or_init(|| GaussLegendre::new(PANEL_NODES));
    let values: Vec<f64> = theta.iter().map(|t| t.value()).collect();
    let mut cuts = vec![span.lo, span.hi];
    if F::has_kink() {
        cuts.extend(kinks.iter().filter(|x| span.lo < **x && **x < span.hi));
    }
    cuts.sort_by(f64::total_cmp);
    let width = 2.0 * F::length(&values);
    let pieces: Vec<(f64, f64)> = cuts
        .windows(2)
        .flat_map(|ends| {
            let (lo, hi) = (ends[0], ends[1]);
            let count = ((hi - lo) / width).ceil().clamp(1.0, 1e5) as usize;
            let step = (hi - lo) / count as f64;
            (0..count).map(move |i| (lo + step * i as f64, lo + step * (i + 1) as f64))
        })
        .collect();
    pieces.into_iter().flat_map(|(lo, hi)| rule.on(lo, hi))
}
