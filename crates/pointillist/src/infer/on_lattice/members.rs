//! Averaging over Θ on a lattice: the posterior at many Θ about the best, each with its weight (docs/derivation.md (63)).
//!
//! Coordinates are the logarithms that the search moves. They are turned and scaled by the curvature at the best Θ, so that a grid with steps
//! of one is about one standard deviation wide each way. From its middle the grid is followed in all directions as long as a point counts
//! for more than e^−5 of the best: so the average also holds what is skew. A point costs a few natural steps.

use super::OnLattice;
use crate::error::{Error, Result};
use crate::field::lattice::{Optimum, Theta};
use crate::gaussian::{Diagonals, Sites};
use crate::infer::search::{Kind, Run, Search};
use crate::numerics::linalg::{self, Matrix};
use std::collections::{HashSet, VecDeque};

/// A point counts if it is at most so many nats below the best.
const COUNTS: f64 = 5.0;
/// From one point to the next in standard deviations, with one or two coordinates, and with more.
const STEPS: [f64; 2] = [1.0, 1.5];
/// Most points, and the number of events beyond which the best alone is enough.
const MOST: usize = 60;
const MANY_EVENTS: usize = 10_000;
/// No direction is taken for wider than this standard deviation (of a logarithm).
const WIDEST: f64 = 1.5;
/// How near (nats) q is brought to its optimum.
const NEAR: f64 = 1e-3;

/// The posterior at one Θ.
pub(crate) struct Member {
    pub(crate) theta: Theta,
    pub(crate) optimum: Optimum,
    /// What the sites add to the precision of the coefficients.
    pub(crate) said: Diagonals,
    /// log of bound, prior and the volume that it stands for.
    pub(crate) log_weight: f64,
}

impl<'a> Search<'_, '_, OnLattice<'a>> {
    /// The members about the best Θ, in the order in which they are reached.
    pub(super) fn members(&self, run: &Run<OnLattice<'a>>) -> Result<Vec<Member>> {
        let (middle, bounds) = self.kind.pack(&run.level, &run.theta);
        let count = middle.len();
        let root = self.root_of_curvature(run, count)?;
        let step = STEPS[usize::from(count > 2)];
        let log_volume = count as f64 * step.ln() - 0.5 * linalg::log_determinant(&root);
        // So many events determine Θ.
        let most = if self.kind.events > MANY_EVENTS { 1 } else { MOST };
        let mut members = vec![];
        let mut best = f64::NEG_INFINITY;
        let mut seen: HashSet<Vec<i32>> = HashSet::from([vec![0; count]]);
        let mut waiting: VecDeque<(Vec<i32>, Sites)> = VecDeque::from([(vec![0; count], run.sites.clone())]);
        while let Some((place, sites)) = waiting.pop_front() {
            let mut x: Vec<f64> = place.iter().map(|k| step * f64::from(*k)).collect();
            linalg::solve_lower_transposed(&root, &mut x);
            linalg::add_scaled(&mut x, 1.0, &middle);
            let is_inside = x.iter().zip(&bounds).all(|(x, (low, high))| low <= x && x <= high);
            if !is_inside || members.len() == most {
                continue;
            }
            let theta = self.kind.unpack(&run.level, &x, &run.theta);
            let found = match self.evaluate(&run.level, &theta, sites, (NEAR, self.kind.tuning().most_steps), None) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(_) => continue,
                Ok(found) => found,
            };
            best = best.max(found.value);
            if found.value < best - COUNTS {
                continue;
            }
            for next in neighbours(&place) {
                if seen.insert(next.clone()) {
                    waiting.push_back((next, found.sites.clone()));
                }
            }
            let (said, log_weight) = (run.level.precision_of(&found.sites), found.value + log_volume);
            members.push(Member { theta, optimum: found.kept, said, log_weight });
        }
        Ok(members)
    }

    /// The Cholesky factor of the curvature; where that is no maximum in all coordinates, of its diagonal.
    fn root_of_curvature(&self, run: &Run<OnLattice<'a>>, count: usize) -> Result<Matrix> {
        let least = 1.0 / (WIDEST * WIDEST);
        let mut curvature = self.curvature(run, count)?.unwrap_or_else(|| Matrix::scaled_identity(count, least));
        (0..count).for_each(|i| curvature[(i, i)] = curvature[(i, i)].max(least));
        let diagonal = Matrix::from_fn(count, count, |i, j| if i == j { curvature[(i, i)].sqrt() } else { 0.0 });
        Ok(match linalg::cholesky(&mut curvature) {
            Ok(()) => curvature,
            Err(_) => diagonal,
        })
    }
}

/// One step each way along each coordinate.
fn neighbours(place: &[i32]) -> Vec<Vec<i32>> {
    let moved = |i: usize, by: i32| {
        let mut place = place.to_vec();
        place[i] += by;
        place
    };
    (0..place.len()).flat_map(|i| [moved(i, 1), moved(i, -1)]).collect()
}
