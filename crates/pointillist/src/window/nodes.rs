//! Quadrature over a window: tensor Gauss-Legendre nodes on each of its boxes.

use super::Window;
use crate::numerics::gauss::GaussLegendre;
use crate::points::Points;

/// Points with weights: Σ w h(x) ≈ ∫ h over the window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Nodes {
    pub(crate) points: Points,
    pub(crate) weights: Vec<f64>,
}

impl Window {
    /// Nodes that integrate products of two Gaussians of these widths to about 1e-13; `None` if that takes more than `most`.
    pub(crate) fn nodes(&self, widths: &[f64], most: usize) -> Option<Nodes> {
        let mut coordinates = Vec::new();
        let mut weights = Vec::new();
        for spans in self.boxes() {
            // Found by experiment: an integrand as narrow as a product of two Gaussians needs three nodes a width, and a dozen more.
            let orders: Vec<usize> =
                spans.iter().zip(widths).map(|(s, l)| (3.0 * s.length() / l).min(1e6) as usize + 14).collect();
            let count = orders.iter().fold(1usize, |n, &order| n.saturating_mul(order));
            if weights.len().saturating_add(count) > most {
                return None;
            }
            let rules: Vec<Vec<(f64, f64)>> = spans
                .iter()
                .zip(&orders)
                .map(|(s, &order)| GaussLegendre::new(order).on(s.lo, s.hi).collect())
                .collect();
            let mut nodes: Vec<(Vec<f64>, f64)> = vec![(vec![], 1.0)];
            for rule in &rules {
                let extended = |(x, w): &(Vec<f64>, f64)| -> Vec<(Vec<f64>, f64)> {
                    rule.iter().map(|(y, v)| ([x.as_slice(), &[*y]].concat(), w * v)).collect()
                };
                nodes = nodes.iter().flat_map(extended).collect();
            }
            for (x, w) in nodes {
                coordinates.extend(x);
                weights.push(w);
            }
        }
        let points = Points::new(self.dims(), coordinates).ok()?;
        Some(Nodes { points, weights })
    }
}
