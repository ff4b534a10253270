//! How a fit on a lattice follows the counts that it is made from, to first order (docs/derivation.md (68)).
//!
//! With g = ∂E[log λ]/∂μ, and a the mean over a cell of g times a point's row, weighed by the rate, counts n* instead of the n that were seen pull
//! at the unknowns by Aᵀ(n* − n). q moves by P⁻¹Aᵀ(n* − n), and what is expected in cell j by a factor exp(a_jᵀP⁻¹Aᵀ(n* − n)). Cost of a set of
//! counts: that of a solve.

use super::Field;
use super::lattice::LatticeField;
use crate::error::Result;
use crate::parallel;
use crate::sample::{self, gaussian};
use crate::terms;
use crate::window::Nodes;

/// So many entries of a row are looked through for an unknown that is there already.
const NEAR: usize = 4;
/// The logarithm of the rate of a cell moves by no more than this: beyond, first order says nothing.
const MOST: f64 = 1.5;

/// Draws that are made together: one pass over the factor serves all.
const TOGETHER: usize = 20;

/// Rows of cells, and the fit that follows.
pub(super) struct Following {
    /// That draws are made of, and the same for solves.
    field: LatticeField,
    solver: LatticeField,
    /// The unknowns that each cell sees, and how much. // (cells) of (unknown, value)
    rows: Vec<Vec<(usize, f64)>>,
}

impl Following {
    /// From quadrature nodes, the cell of each, and the number of cells.
    pub(super) fn new(field: &LatticeField, nodes: &Nodes, (places, cells): (&[usize], usize)) -> Result<Self> {
        let field = field.apart();
        let solver = field.for_solves()?;
        let (f, link) = (field.marginals(&nodes.points)?, field.link().formula());
        let slopes = terms::expected(link.events(), &f).by_mean;
        let rates = f.mean.iter().zip(&f.variance).map(|(mean, variance)| link.moments(*mean, *variance).0);
        let rates: Vec<f64> = rates.zip(&nodes.weights).map(|(rate, weight)| rate * weight).collect();
        let mut totals = vec![0.0; cells];
        places.iter().zip(&rates).for_each(|(place, rate)| totals[*place] += rate);
        let mut rows: Vec<Vec<(usize, f64)>> = vec![vec![]; cells];
        field.for_each_entry(&nodes.points, |n, unknown, value| {
            let (place, row) = (places[n], &mut rows[places[n]]);
            let value = if totals[place] > 0.0 { value * slopes[n] * rates[n] / totals[place] } else { 0.0 };
            // Neighbouring nodes see the same unknowns.
            match row.iter_mut().rev().take(NEAR).find(|(own, _)| *own == unknown) {
                Some((_, sum)) => *sum += value,
                None => row.push((unknown, value)),
            }
        })?;
        rows.iter_mut().for_each(merge);
        Ok(Self { field, solver, rows })
    }

    /// Unknowns up to which sets of counts are followed in the plane, where a solve costs far more than on a line.
    const MOST_IN_A_PLANE: usize = 12_000;

    /// Whether a field on so many axes can be followed at a cost that is a part of that of its fit.
    pub(super) fn is_cheap(field: &LatticeField, dims: usize) -> bool {
        dims == 1 || (dims == 2 && field.size() <= Self::MOST_IN_A_PLANE)
    }

    /// What would be expected in each cell after fits to other counts than those that were seen.
    pub(super) fn fitted(&self, expected: &[f64], seen: &[f64], sets: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let size = self.field.size();
        let mut moved = vec![0.0; size * sets.len()];
        for (counts, moved) in sets.iter().zip(moved.chunks_exact_mut(size)) {
            for (row, (count, seen)) in self.rows.iter().zip(counts.iter().zip(seen)) {
                row.iter().for_each(|(unknown, value)| moved[*unknown] += (count - seen) * value);
            }
        }
        self.solver.solve(&mut moved);
        let rise = |(rise, mean): (f64, &f64)| rise.clamp(-MOST, MOST).exp() * mean;
        moved.chunks_exact(size).map(|moved| self.rises(moved).zip(expected).map(rise).collect()).collect()
    }

    /// What is expected in each cell under each of some draws of q, whose mean over them is what is expected.
    pub(super) fn drawn(&self, expected: &[f64], draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        let size = self.field.size();
        let noise = |draw: usize| gaussian::standard_normal(&mut sample::stream(seed, draw as u64), size);
        let some = |group: usize| {
            let own = group * TOGETHER..draws.min((group + 1) * TOGETHER);
            let moved = self.field.deviations(own.flat_map(noise).collect())?;
            let times = |moved: &[f64]| self.rises(moved).map(|rise| rise.clamp(-MOST, MOST).exp()).collect();
            Ok(moved.chunks_exact(size).map(times).collect::<Vec<Vec<f64>>>())
        };
        let mut all: Vec<Vec<f64>> = parallel::try_each(draws.div_ceil(TOGETHER), some)?.concat();
        for (cell, mean) in expected.iter().enumerate() {
            let total: f64 = all.iter().map(|times| times[cell]).sum();
            all.iter_mut().for_each(|times| times[cell] *= mean * draws as f64 / total);
        }
        Ok(all)
    }

    /// By how much the logarithm of the rate rises in each cell where the unknowns move.
    fn rises<'a>(&'a self, moved: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.rows.iter().map(|row| row.iter().map(|(unknown, value)| value * moved[*unknown]).sum())
    }
}

/// One entry for each unknown, in their order.
fn merge(row: &mut Vec<(usize, f64)>) {
    row.sort_by_key(|(unknown, _)| *unknown);
    row.dedup_by(|next, last| {
        let is_same = next.0 == last.0;
        last.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Smoothness;
    use crate::window::AxisRule;
    use crate::{Events, LatticeChoice, Link, Model, Points, Posterior, Window};

    const CELLS: usize = 16;

    /// The posterior of these events at a fixed Θ.
    fn fitted(times: &[f64], link: Link) -> Posterior {
        let events = Events::new(Points::line(times).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
        let lattice = LatticeChoice {
            nodes: Some(vec![60]),
            smoothness: Some(Smoothness::Two),
            links: vec![link],
            ..LatticeChoice::default()
        };
        let variance = if link == Link::Log { 0.5 } else { 60.0 };
        let fixed = vec![("variance".into(), variance), ("lengthscale".into(), 0.1)];
        Model { family: lattice.into(), fixed, checked: false, average: false, ..Model::default() }
            .fit(&events)
            .unwrap()
            .posterior
    }

    /// What is expected in each cell, the quadrature, and the cell of each node.
    fn expected(posterior: &Posterior) -> (Vec<f64>, Nodes, Vec<usize>) {
        let lines: Vec<f64> = (1..64).map(|i| f64::from(i) / 64.0).collect();
        let rule = AxisRule { length: f64::INFINITY, kinks: &lines };
        let nodes = Nodes::of_pieces(&posterior.window().nodes(&[rule]));
        let places: Vec<usize> = nodes.points.rows().map(|row| (row[0] * CELLS as f64) as usize).collect();
        let rates = posterior.rate(&nodes.points).unwrap().mean;
        let mut expected = vec![0.0; CELLS];
        (0..rates.len()).for_each(|n| expected[places[n]] += rates[n] * nodes.weights[n]);
        (expected, nodes, places)
    }

    /// One event more in a cell moves the fit as it is said to, beside a fit to that event as well.
    #[test]
    fn a_fit_to_one_more_event_is_foreseen() {
        let times: Vec<f64> = (0..200).map(|i| (f64::from(i) / 200.0).powf(1.3)).collect();
        for link in [Link::Log, Link::Square] {
            let before = fitted(&times, link);
            let (old, nodes, places) = expected(&before);
            let following =
                Following::new(before.components()[0].lattice().unwrap(), &nodes, (&places, CELLS)).unwrap();
            let cell = 9;
            let mut counts = old.clone();
            counts[cell] += 1.0;
            let foreseen = following.fitted(&old, &old, &[counts]).remove(0);
            let more: Vec<f64> = times.iter().copied().chain([(cell as f64 + 0.5) / CELLS as f64]).collect();
            let new = expected(&fitted(&more, link)).0;
            assert!(new[cell] - old[cell] > 0.1, "{link}: an event is followed");
            for near in cell - 3..=cell + 3 {
                let (said, true_rise) = (foreseen[near] - old[near], new[near] - old[near]);
                assert!((said - true_rise).abs() < 0.1 * (new[cell] - old[cell]), "{link} {near}: {said} {true_rise}");
            }
        }
    }

    /// Draws of what is expected in cells have the deviation that counts over them have.
    #[test]
    fn draws_vary_as_counts_do() {
        let times: Vec<f64> = (0..200).map(|i| (f64::from(i) / 200.0).powf(1.3)).collect();
        let posterior = fitted(&times, Link::Log);
        let (mean, nodes, places) = expected(&posterior);
        let following = Following::new(posterior.components()[0].lattice().unwrap(), &nodes, (&places, CELLS)).unwrap();
        let draws = following.drawn(&mean, 4000, 1).unwrap();
        for cell in [2, 9, 14] {
            let region = Window::interval(cell as f64 / CELLS as f64, (cell + 1) as f64 / CELLS as f64).unwrap();
            let count = posterior.count(&region).unwrap();
            let square: f64 = draws.iter().map(|draw| (draw[cell] - mean[cell]).powi(2)).sum();
            let sd = (square / draws.len() as f64).sqrt();
            assert!((sd / count.sd - 1.0).abs() < 0.1, "{cell}: {sd} {}", count.sd);
        }
    }
}
