//! Sites: one Gaussian per weighted point that stands for what the point says of f there.
//!
//! They speak of f at the points, not of a field's unknowns. So they stay a good start when Θ or the field change, and a
//! damped natural step is a blend of them.

use crate::terms::{self, Expected, Marginals, Potential};

/// What is left of a precision, at least, when sites are moved.
const LEAST_LEFT: f64 = 0.2;

/// One Gaussian site per point: exp(η1 f − ½ η2 f²).
#[derive(Debug, Clone, PartialEq)]
pub struct Sites {
    pub(crate) linear: Vec<f64>,
    pub(crate) precision: Vec<f64>,
}

impl Sites {
    /// No sites.
    pub(crate) fn none() -> Self {
        Self { linear: vec![], precision: vec![] }
    }

    /// The sites at `count` points where f is known to be `level`.
    pub(crate) fn flat(potential: &dyn Potential, level: f64, count: usize) -> Self {
        let [_, slope, precision] = potential.at(level);
        Self { linear: vec![slope + precision * level; count], precision: vec![precision; count] }
    }

    /// The sites that f at the points asks for: what a natural step from q makes them.
    pub(crate) fn of(potential: &dyn Potential, f: &Marginals) -> Self {
        let Expected { by_mean, by_variance, .. } = terms::expected(potential, f);
        let precision: Vec<f64> = by_variance.iter().map(|g| -2.0 * g.min(0.0)).collect();
        let linear = (0..precision.len()).map(|n| by_mean[n] + precision[n] * f.mean[n]).collect();
        Self { linear, precision }
    }

    /// These, and more of them.
    pub(crate) fn followed_by(mut self, others: Self) -> Self {
        self.linear.extend(others.linear);
        self.precision.extend(others.precision);
        self
    }

    /// The precision of each.
    pub fn precision(&self) -> &[f64] {
        &self.precision
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// The sites of −f.
    pub(crate) fn negated(mut self) -> Self {
        self.linear.iter_mut().for_each(|l| *l = -*l);
        self
    }

    /// Whether some precision is negative, as at the optimum it may be where f could have either sign.
    pub(super) fn any_negative(&self) -> bool {
        self.precision.iter().any(|p| *p < 0.0)
    }

    /// The same sites without the negative ones: the precision of q is then positive definite whatever Θ is.
    pub(super) fn without_negative(&self) -> Self {
        let keep =
            |values: &[f64]| values.iter().zip(&self.precision).map(|(v, p)| if *p < 0.0 { 0.0 } else { *v }).collect();
        Self { linear: keep(&self.linear), precision: keep(&self.precision) }
    }

    /// These, moved as far as others lie apart, each pair so many times; a precision falls to no less than a part of itself.
    pub(crate) fn moved(&self, along: &[(f64, &Sites, &Sites)]) -> Self {
        let change = |of: fn(&Sites) -> &[f64], n: usize| -> f64 {
            along.iter().map(|(times, above, below)| times * (of(above)[n] - of(below)[n])).sum()
        };
        let (mut linear, mut precision) = (self.linear.clone(), self.precision.clone());
        for n in 0..self.len() {
            let (by, was) = (change(|sites| &sites.precision, n), self.precision[n]);
            let most = if by < 0.0 { ((LEAST_LEFT - 1.0) * was / by).clamp(0.0, 1.0) } else { 1.0 };
            linear[n] += most * change(|sites| &sites.linear, n);
            precision[n] += most * by;
        }
        Self { linear, precision }
    }

    /// ρ self + (1−ρ) other.
    pub(super) fn blended(mut self, other: &Sites, rho: f64) -> Self {
        let mix = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(b, a)| *b = a + rho * (*b - a));
        mix(&mut self.linear, &other.linear);
        mix(&mut self.precision, &other.precision);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_move_along_a_line_and_keep_a_part_of_their_precision() {
        let sites =
            |linear: [f64; 2], precision: [f64; 2]| Sites { linear: linear.into(), precision: precision.into() };
        let (below, above) = (sites([1.0, 2.0], [1.0, 4.0]), sites([2.0, 2.5], [1.5, 3.0]));
        let here = sites([1.5, 2.2], [1.2, 3.5]);
        assert_eq!(here.moved(&[]), here);
        // Half as far as the two lie apart, once along each of two such lines.
        assert_eq!(here.moved(&[(0.25, &above, &below), (0.25, &above, &below)]), sites([2.0, 2.45], [1.45, 3.0]));
        // So far that the second would lose all: it stops where a fifth is left, and its other number with it.
        let far = here.moved(&[(10.0, &above, &below)]);
        assert!(
            (far.precision[1] - 0.7).abs() < 1e-12 && (far.linear[1] - (2.2 + 0.28 * 5.0)).abs() < 1e-12,
            "{far:?}"
        );
        assert!((far.precision[0] - 6.2).abs() < 1e-12 && (far.linear[0] - 11.5).abs() < 1e-12, "{far:?}");
    }
}
