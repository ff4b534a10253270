//! Gauss-Legendre quadrature: nodes and weights of any order, by Newton on the Legendre polynomial.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::{Arc, Mutex, OnceLock};

/// Nodes and weights on [−1, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct GaussLegendre {
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl GaussLegendre {
    /// The rule with `order` nodes: exact for polynomials of degree below `2·order`.
    pub fn new(order: usize) -> Self {
        let mut nodes = vec![0.0; order];
        let mut weights = vec![0.0; order];
        for i in 0..order.div_ceil(2) {
            let mut x = (PI * (i as f64 + 0.75) / (order as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (value, derivative) = legendre(order, x);
                slope = derivative;
                x -= value / derivative;
            }
            let weight = 2.0 / ((1.0 - x * x) * slope * slope);
            (nodes[i], weights[i]) = (-x, weight);
            (nodes[order - 1 - i], weights[order - 1 - i]) = (x, weight);
        }
        if order % 2 == 1 {
            nodes[order / 2] = 0.0;
        }
        Self { nodes, weights }
    }

    /// The rule with `order` nodes, made once and kept: the rules of one fit are asked for again and again.
    pub fn shared(order: usize) -> Arc<Self> {
        static RULES: OnceLock<Mutex<HashMap<usize, Arc<GaussLegendre>>>> = OnceLock::new();
        let rules = RULES.get_or_init(Mutex::default);
        // A poisoned lock means that another thread stopped between two rules; those that are there are whole.
        let mut rules = rules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        rules.entry(order).or_insert_with(|| Arc::new(Self::new(order))).clone()
    }

    /// The nodes on [−1, 1].
    pub fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// The weights on [−1, 1].
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The nodes and weights moved to [lo, hi].
    pub fn on(&self, lo: f64, hi: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo));
        self.nodes.iter().zip(&self.weights).map(move |(x, w)| (middle + half * x, half * w))
    }
}

/// The Legendre polynomial of degree n and its derivative.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut now) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
    }
    if n == 0 {
        return (1.0, 0.0);
    }
    (now, n as f64 * (x * now - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_for_every_polynomial_it_should_be_exact_for() {
        for order in [1, 2, 3, 8, 21, 64] {
            let rule = GaussLegendre::new(order);
            for degree in 0..2 * order {
                let got: f64 = rule.on(-0.5, 2.0).map(|(x, w)| w * x.powi(degree as i32)).sum();
                let power = degree as i32 + 1;
                let want = (2f64.powi(power) - (-0.5f64).powi(power)) / power as f64;
                assert!((got - want).abs() < 1e-13 * want.abs().max(1.0), "{order} {degree} {got} {want}");
            }
            // and not for the next one, so that the test can see a rule that is too good to be true
            let square: f64 = rule.on(-1.0, 1.0).map(|(x, w)| w * legendre(order, x).0.powi(2)).sum();
            assert!(square < 1e-20, "{order}: {square}");
        }
    }
}
