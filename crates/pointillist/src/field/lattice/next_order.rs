//! q of the log link as wide as the posterior is (docs/derivation.md (69), (70)).
//!
//! A Gaussian that maximises the bound is a little too narrow: exp(f) is skew, and what is beyond its second order shows first in the
//! variance. To the next order the posterior's covariance is S + S A S, with A_jl = W_j W_l S_jl²/2 between the sites of the integral: as if
//! site j had lost W_j ½ Σ_l W_l S_jl² of its precision W_j. The sum is how much the variance there falls when all sites get stronger
//! together, so that it costs one more factor. With n events in a correlation length it adds 1/(2n) of the variance. The mean rate is right to
//! that order, and stays.

use super::at::{Optimum, Weighted};
use super::{Lattice, Theta};
use crate::error::Result;
use crate::gaussian::bordered::BorderedSpread;
use crate::gaussian::{Design, Diagonals, Precision, Sites};

/// By how much of themselves all sites are made stronger to see what that takes from the variances.
const STRONGER: f64 = 1e-3;

impl Lattice {
    /// What it says with weaker sites, and these. `integral` are the nodes of the integral, whose sites are the last of them; those of events have
    /// no precision.
    pub(crate) fn to_next_order(
        &self,
        integral: Weighted<'_>,
        theta: &Theta,
        mut optimum: Optimum,
        mut sites: Sites,
    ) -> Result<(Optimum, Sites)> {
        let from = sites.len() - integral.weights.len();
        let own = &mut sites.precision[from..];
        let before = optimum.marginals(integral.hats).variance;
        let stronger: Vec<f64> = own.iter().map(|p| (1.0 + STRONGER) * p).collect();
        let less = std::mem::replace(&mut optimum.spread, self.spread(integral, theta, &stronger)?);
        let after = optimum.marginals(integral.hats).variance;
        for (precision, (before, after)) in own.iter_mut().zip(before.iter().zip(&after)) {
            let taken = ((before - after) / STRONGER).clamp(0.0, *before);
            *precision /= 1.0 + 0.5 * taken;
        }
        let was = self.variances(&less);
        optimum.spread = self.spread(integral, theta, own)?;
        let is = self.variances(&optimum.spread);
        // The mean of exp(f) at the nodes of the lattice stays.
        for (mean, (was, is)) in optimum.mean.iter_mut().zip(was.iter().zip(is)) {
            *mean -= 0.5 * (is - was);
        }
        Ok((optimum, sites))
    }

    /// What variances are read from, for sites of these precisions at the nodes of the integral.
    fn spread(&self, integral: Weighted<'_>, theta: &Theta, sites: &[f64]) -> Result<BorderedSpread<Diagonals>> {
        let mut precision = self.precision(theta);
        let shifts = precision.inner.shifts().to_vec();
        let rows = self.rows(integral.hats, &shifts);
        let weighed: Vec<f64> = integral.weights.iter().zip(sites).map(|(w, p)| w * p).collect();
        rows.add_sites(&weighed, &vec![0.0; weighed.len()], &mut precision, &mut vec![0.0; self.size()]);
        Ok(rows.spread(precision.factor()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::points::Points;
    use crate::field::lattice::{Hats, Smoothness, from_above};
    use crate::gaussian::step::{Clamp, Until};
    use crate::numerics::linalg::{self, Matrix};
    use crate::sample::{gaussian, stream};
    use crate::terms::Link;
    use crate::window::Window;

    /// A lattice on the unit interval with events, and q at its optimum under the log link.
    struct Fitted {
        lattice: Lattice,
        theta: Theta,
        events: Hats,
        hats: Hats,
        weights: Vec<f64>,
        optimum: Optimum,
        sites: Sites,
    }

    fn fitted(times: Vec<f64>, nodes: usize, theta: Theta, constant: Option<f64>) -> Fitted {
        let window = Window::interval(0.0, 1.0).unwrap();
        let lattice = Lattice::new(&window, &[nodes], &[0.0], Smoothness::Two).unwrap().with_constant(constant);
        let (places, weights) = from_above(lattice.grid(), &window).unwrap();
        let [hats, events] = [places, Points::new(1, times).unwrap()].map(|at| lattice.grid().at(&at).unwrap());
        let link = Link::Log.formula();
        let crate::terms::Part::Sites(integral) = link.integral() else { unreachable!() };
        let ones = vec![1.0; events.len()];
        let flat = (ones.len() as f64).ln();
        let sites =
            Sites::flat(link.events(), flat, ones.len()).followed_by(Sites::flat(integral, flat, weights.len()));
        let until =
            Until { tolerance: 1e-10, most: 200, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
        let said = [Weighted { hats: &events, weights: &ones }, Weighted { hats: &hats, weights: &weights }];
        let optimum = lattice.optimum(link, &said, &theta, sites, until).unwrap();
        let sites = optimum.sites.clone();
        Fitted { lattice, theta, events, hats, weights, optimum, sites }
    }

    impl Fitted {
        fn wide(self) -> Optimum {
            let integral = Weighted { hats: &self.hats, weights: &self.weights };
            self.lattice.to_next_order(integral, &self.theta, self.optimum, self.sites).unwrap().0
        }
    }

    fn theta(range: f64, variance: f64, mean: f64) -> Theta {
        Theta { range, variance, mean, stretch: vec![1.0], scale: vec![] }
    }

    /// With a constant alone the posterior of the rate is a gamma distribution, and the variance of its logarithm ψ′(n).
    #[test]
    fn of_a_constant_the_variance_is_that_of_a_gamma_distribution() {
        for (n, trigamma) in [(3, 0.394_934_066_848), (10, 0.105_166_335_681)] {
            let times = (0..n).map(|i| (f64::from(i) + 0.5) / f64::from(n)).collect();
            // So vague a constant has hardly a prior.
            let fitted = fitted(times, 5, theta(1.0, 1e-9, 0.0), Some(1000.0));
            let at = fitted.lattice.grid().at(&Points::new(1, vec![0.4]).unwrap()).unwrap();
            let before = fitted.optimum.marginals(&at);
            let after = fitted.wide().marginals(&at);
            let n = f64::from(n);
            assert!((before.variance[0] - 1.0 / n).abs() < 1e-4 / n, "{before:?}");
            assert!((after.variance[0] - (1.0 / n + 0.5 / (n * n))).abs() < 1e-3 / n, "{after:?}");
            assert!((after.variance[0] - trigamma).abs() < 0.2 * (before.variance[0] - trigamma).abs(), "{after:?}");
            let mean = after.mean[0] + 0.5 * after.variance[0];
            assert!((mean - n.ln()).abs() < 1e-4, "{mean}");
        }
    }

    /// Of a field, against the exact posterior: draws from q, weighed.
    #[test]
    fn of_a_field_the_variance_comes_near_that_of_the_exact_posterior() {
        let times = [0.02, 0.05, 0.11, 0.13, 0.18, 0.2, 0.24, 0.35, 0.52, 0.71, 0.93, 0.95].to_vec();
        let fitted = fitted(times, 9, theta(0.5, 1.0, 2.0), None);
        let exact = exact_variances(&fitted);
        let before = fitted.lattice.variances(&fitted.optimum.spread);
        let (lattice, rates) = (fitted.lattice.clone(), |m: &[f64], v: &[f64]| -> Vec<f64> {
            m.iter().zip(v).map(|(m, v)| m + 0.5 * v).collect()
        });
        let mean = rates(&fitted.optimum.mean, &before);
        let wide = fitted.wide();
        let after = lattice.variances(&wide.spread);
        let off = |list: &[f64]| list.iter().zip(&exact).map(|(v, e)| (v / e).ln()).sum::<f64>() / exact.len() as f64;
        assert!(off(&before) < -0.03, "q was not narrow: {}", off(&before));
        assert!(off(&after).abs() < 0.3 * off(&before).abs(), "{} {}", off(&before), off(&after));
        let kept = rates(&wide.mean, &after);
        assert!(mean.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1e-12), "{mean:?} {kept:?}");
    }

    /// The variance of f at each node under the exact posterior.
    fn exact_variances(fitted: &Fitted) -> Vec<f64> {
        const DRAWS: u64 = 100_000;
        let Fitted { lattice, theta, events, hats, weights, optimum, sites } = fitted;
        let size = lattice.size();
        let prior = lattice.precision(theta);
        let mut precision = Matrix::from_fn(size, size, |i, j| prior.inner.entry(i, j));
        for n in 0..hats.len() {
            for (i, a) in hats.pairs(n) {
                hats.pairs(n)
                    .for_each(|(j, b)| precision[(i, j)] += weights[n] * sites.precision[events.len() + n] * a * b);
            }
        }
        let mut factor = precision.clone();
        linalg::cholesky(&mut factor).unwrap();
        let log_posterior = |w: &[f64]| {
            let f = |hats: &Hats, n: usize| theta.mean + hats.sum(n, w);
            let data: f64 = (0..events.len()).map(|n| f(events, n)).sum();
            let integral: f64 = (0..hats.len()).map(|n| weights[n] * f(hats, n).exp()).sum();
            data - integral - 0.5 * linalg::dot(w, &prior.inner.times(w))
        };
        let (mut total, mut first, mut second) = (0.0, vec![0.0; size], vec![0.0; size]);
        let highest = log_posterior(&optimum.mean);
        for draw in 0..DRAWS {
            let z = gaussian::standard_normal(&mut stream(5, draw), size);
            let log_q = -0.5 * linalg::dot(&z, &z);
            let mut w = z;
            linalg::solve_lower_transposed(&factor, &mut w);
            linalg::add_scaled(&mut w, 1.0, &optimum.mean);
            let weight = (log_posterior(&w) - highest - log_q).exp();
            total += weight;
            for i in 0..size {
                first[i] += weight * w[i];
                second[i] += weight * w[i] * w[i];
            }
        }
        (0..size).map(|i| second[i] / total - (first[i] / total).powi(2)).collect()
    }
}
