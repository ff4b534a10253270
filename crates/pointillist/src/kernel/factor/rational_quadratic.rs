//! The rational-quadratic factor, (1 + (x−y)²/(2αℓ²))^(−α): squared exponentials of many length-scales at once.
//!
//! A large α gives the squared exponential of ℓ; a small one a sharp peak with long tails. Its integrals have no closed
//! form worth the name and are left to quadrature, which has to mind the poles at x − y = ±iℓ√(2α). There is no kink, so
//! all entries of Ψ share their nodes: a table is K W Kᵀ with K the values at Q nodes, U·Q evaluations in place of U²·Q.

use crate::kernel::{Bars, Formula, Parameter, Unit};
use crate::numerics::dual::Real;

/// (1 + (x−y)²/(2αℓ²))^(−α).
pub struct RationalQuadratic;

const ALPHA: Parameter = Parameter { name: "alpha", unit: Unit::Number, start: 1.0, range: (1e-2, 1e2), learned: true };

impl Formula for RationalQuadratic {
    fn name() -> &'static str {
        "rational_quadratic"
    }

    fn formula() -> &'static str {
        "(1 + d²/(2·alpha·lengthscale²))^(-alpha)"
    }

    fn parameters() -> &'static [Parameter] {
        &[Parameter::LENGTHSCALE, ALPHA]
    }

    fn k<R: Real>(theta: &[R], z: R, x: R) -> R {
        let (distance, alpha) = ((z - x) / theta[0], theta[1]);
        (-(alpha * (distance * distance / alpha * 0.5).ln_1p())).exp()
    }

    fn pair_by_pair_up_to() -> usize {
        0 // no closed form: nodes for all pairs at once
    }

    fn length(theta: &[f64]) -> f64 {
        // 0.4 of the distance of the poles while that is small, and never more than for the squared exponential
        theta[0] * (theta[1] / (theta[1] + 3.0)).sqrt()
    }

    fn gram_adjoint(theta: &[f64], z: &[f64], x: &[f64], k: &[f64], k_bar: &[f64], bars: Bars<'_>) {
        let Bars { theta: theta_bar, z: mut z_bar } = bars;
        let (l, alpha) = (theta[0], theta[1]);
        for (j, (k, k_bar)) in k.chunks_exact(z.len()).zip(k_bar.chunks_exact(z.len())).enumerate() {
            for i in 0..z.len() {
                let distance = (z[i] - x[j]) / l;
                let excess = 0.5 * distance * distance / alpha;
                let (bar, pull) = (k_bar[i] * k[i], distance / (1.0 + excess));
                theta_bar[0] += bar * pull * distance / l;
                theta_bar[1] += bar * (excess / (1.0 + excess) - excess.ln_1p());
                if let Some(z_bar) = &mut z_bar {
                    z_bar[i] -= bar * pull / l;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::SquaredExponential;
    use crate::numerics::gauss::GaussLegendre;
    use crate::window::Span;

    const SPAN: Span = Span { lo: -0.3, hi: 1.4 };

    fn assert_close(got: f64, want: f64, what: &str) {
        assert!((got / want - 1.0).abs() < 1e-12, "{what}: {got} {want}");
    }

    #[test]
    fn quadrature_has_nodes_enough() {
        let rule = GaussLegendre::new(60);
        for alpha in [0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0] {
            for l in [0.05, 0.4, 3.0] {
                let (theta, z, w) = ([l, alpha], 0.31, 0.52);
                let count = (SPAN.length() / RationalQuadratic::length(&theta)).ceil();
                let step = SPAN.length() / count;
                let starts = (0..count as usize).map(|panel| SPAN.lo + step * panel as f64);
                let k = |x: f64| RationalQuadratic::k(&theta, z, x) * RationalQuadratic::k(&theta, x, w);
                let want: f64 = starts.flat_map(|lo| rule.on(lo, lo + step)).map(|(x, weight)| weight * k(x)).sum();
                assert_close(RationalQuadratic::psi(&theta, z, w, SPAN), want, &format!("{theta:?}"));
            }
        }
    }

    #[test]
    fn cases_with_a_closed_form() {
        for l in [0.05, 0.4, 3.0] {
            // α = 1: an arc tangent
            let (z, width) = (0.31, l * 2f64.sqrt());
            let want = width * (((SPAN.hi - z) / width).atan() - ((SPAN.lo - z) / width).atan());
            assert_close(RationalQuadratic::phi(&[l, 1.0], z, SPAN), want, "1");
            // α → ∞: the squared exponential
            let want = SquaredExponential::psi(&[l], z, 0.5, SPAN);
            assert_close(RationalQuadratic::psi(&[l, 1e15], z, 0.5, SPAN), want, "many");
        }
    }
}
