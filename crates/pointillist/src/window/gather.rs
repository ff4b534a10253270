//! An exposure gathered into few nodes.
//!
//! Panels that end at every line of an exposure have nodes in proportion to its lines, however smooth the rest of the integrand h is. Where
//! panels without those cuts have far fewer, they take their place: with ℓ_p the Lagrange polynomials on their nodes, ∫ e h = Σ_p W_p h(x_p)
//! for W_p = ∫ e ℓ_p, as h is what it is interpolated by. The W are found by the many nodes, one axis after another, since e is a sum of
//! products over the axes. Cost: for each of the many nodes the order of a panel, times the values of the other axes.

use super::nodes::Panels;
use crate::numerics::gauss::GaussLegendre;

/// How many times fewer nodes must be before they are worth gathering into.
const WORTH: usize = 2;

/// The nodes of an axis: those that see every line of the exposure, and fewer that stand for them, if that is worth it.
pub(super) struct Axis {
    fine: Panels,
    coarse: Option<Coarse>,
}

struct Coarse {
    panels: Panels,
    /// The index of the first node of each panel.
    starts: Vec<usize>,
    /// For each node what its Lagrange polynomial is proportional to, the distance of x from the node apart.
    factors: Vec<f64>,
}

impl Axis {
    pub(super) fn new(fine: Panels, coarse: Panels) -> Self {
        let worth = WORTH * coarse.x.len() < fine.x.len();
        Self { fine, coarse: worth.then(|| Coarse::new(coarse)) }
    }

    /// The nodes that see every line.
    pub(super) fn fine(&self) -> &Panels {
        &self.fine
    }

    /// The nodes in which all of them are gathered.
    pub(super) fn into_panels(self) -> Panels {
        self.coarse.map_or(self.fine, |coarse| coarse.panels)
    }

    /// Gathers a tensor along its first axis, which becomes the last: fine node n sees the sum of the rows `terms(n)` names, each times a
    /// factor. // (rows, rest) to (rest, nodes)
    pub(super) fn gathered<const N: usize>(
        &self,
        tensor: &[f64],
        rows: usize,
        terms: impl Fn(usize) -> [(usize, f64); N],
    ) -> Vec<f64> {
        let rest = tensor.len() / rows;
        let count = self.coarse.as_ref().map_or(self.fine.x.len(), |coarse| coarse.panels.x.len());
        let mut sums = vec![0.0; count * rest];
        let (mut row, mut shares) = (vec![0.0; rest], Vec::new());
        for (n, &x) in self.fine.x.iter().enumerate() {
            row.fill(0.0);
            for (at, factor) in terms(n).into_iter().filter(|(_, factor)| *factor != 0.0) {
                row.iter_mut().zip(&tensor[at * rest..]).for_each(|(sum, value)| *sum += factor * value);
            }
            let first = match &self.coarse {
                Some(coarse) => coarse.polynomials(x, &mut shares),
                None => {
                    shares.clear();
                    shares.push(1.0);
                    n
                }
            };
            for (sums, share) in sums[first * rest..].chunks_exact_mut(rest).zip(&shares) {
                sums.iter_mut().zip(&row).for_each(|(sum, value)| *sum += share * value);
            }
        }
        (0..rest).flat_map(|i| sums.iter().skip(i).step_by(rest)).copied().collect()
    }
}

impl Coarse {
    fn new(panels: Panels) -> Self {
        let first = |total: &mut usize, order: usize| Some(std::mem::replace(total, *total + order));
        let starts = panels.panels.iter().map(|panel| panel.order).scan(0, first).collect();
        let factors = panels.panels.iter().flat_map(|panel| {
            let rule = GaussLegendre::shared(panel.order);
            let factor =
                |(k, (x, w)): (usize, (&f64, &f64))| (1 - 2 * (k as i32 % 2)) as f64 * ((1.0 - x * x) * w).sqrt();
            rule.nodes().iter().zip(rule.weights()).enumerate().map(factor).collect::<Vec<f64>>()
        });
        let factors = factors.collect();
        Self { panels, starts, factors }
    }

    /// The Lagrange polynomials at a place of the nodes of the panel it lies in, and the first of these nodes (barycentric formula).
    fn polynomials(&self, x: f64, values: &mut Vec<f64>) -> usize {
        let panels = &self.panels.panels;
        let panel = panels.partition_point(|panel| panel.span.hi < x).min(panels.len() - 1);
        let start = self.starts[panel];
        let own = start..start + panels[panel].order;
        let nodes = &self.panels.x[own.clone()];
        values.clear();
        if nodes.contains(&x) {
            values.extend(nodes.iter().map(|node| f64::from(u8::from(*node == x))));
            return start;
        }
        values.extend(nodes.iter().zip(&self.factors[own]).map(|(node, factor)| factor / (x - node)));
        let sum: f64 = values.iter().sum();
        values.iter_mut().for_each(|value| *value /= sum);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;

    fn panels(cuts: &[f64], order: usize) -> Panels {
        Panels::new(Span { lo: -1.0, hi: 3.0 }, cuts.to_vec(), f64::INFINITY, |_| order)
    }

    #[test]
    fn what_is_gathered_integrates_polynomials_as_before() {
        let cuts: Vec<f64> = (0..40).map(|i| -1.0 + 0.097 * i as f64).collect();
        let axis = Axis::new(panels(&cuts, 4), panels(&[0.5], 6));
        // A jump at each cut, and two columns: the second is the first upside down.
        let height = |x: f64| (x * 10.0).floor().rem_euclid(3.0);
        let heights: Vec<f64> = axis.fine().x.iter().flat_map(|&x| [height(x), 2.0 - height(x)]).collect();
        let gathered = axis.gathered(&heights, axis.fine().x.len(), |n| [(n, axis.fine().weights[n])]);
        let nodes = axis.coarse.as_ref().unwrap().panels.x.clone();
        assert_eq!((nodes.len(), gathered.len()), (12, 24));
        for degree in 0..6 {
            for column in 0..2 {
                let few: f64 = nodes.iter().zip(&gathered[12 * column..]).map(|(x, w)| w * x.powi(degree)).sum();
                let all = axis.fine().x.iter().zip(&axis.fine().weights).enumerate();
                let many: f64 = all.map(|(n, (x, w))| heights[2 * n + column] * w * x.powi(degree)).sum();
                assert!((few - many).abs() < 1e-12 * many.abs().max(1.0), "{degree} {column}: {few} {many}");
            }
        }
    }

    #[test]
    fn few_nodes_stay_as_they_are() {
        let axis = Axis::new(panels(&[0.0, 1.0], 3), panels(&[], 6));
        let values: Vec<f64> = (0..9).map(|i| i as f64).collect();
        assert_eq!(axis.gathered(&values, 9, |n| [(n, 2.0)]), values.iter().map(|v| 2.0 * v).collect::<Vec<_>>());
        assert_eq!(axis.into_panels().x.len(), 9);
    }
}
