//! Averaging over Θ: the posterior at many Θ about the best, each with its weight (docs/derivation.md (63)).
//!
//! Coordinates are the logarithms that the search moves. They are turned and scaled by the curvature at the best Θ, so that steps of one are
//! about one standard deviation each way. From its middle a grid is followed in all directions, ring by ring, as long as a point counts for
//! more than e^−7 of the best: so the average also holds what is skew. It ends when a ring moves no band by 1 % of its width (0.3 % where rings
//! are cheap); if the first ring does not, the best Θ alone is the answer. A point costs a few natural steps: where q has one optimum, the first ring begins with sites that were moved as
//! the curvature's looks say.

use super::search::{Curved, Found, Kind, Look, Run, Search, Sides};
use super::{FitStage, StandardError};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::gaussian::Sites;
use crate::numerics::linalg::{self, Matrix};
use crate::terms::Marginals;
use crate::window::Window;
use std::collections::HashSet;
use std::f64::consts::TAU;

/// A point counts if it is at most so many nats below the best.
const COUNTS: f64 = 7.0;
/// Its neighbours are looked at if it is at most so many below.
const LEADS_ON: f64 = 5.0;
/// From one point to the next, in standard deviations: a sum over a bell with such steps is right to 1e-4.
const STEP: f64 = 1.5;
/// Most points, and the number of events beyond which the best alone is enough.
const MOST: usize = 60;
pub(super) const MANY_EVENTS: usize = 10_000;
/// No direction is taken for wider than this standard deviation (of a logarithm).
const WIDEST: f64 = 1.5;
/// The standard deviation that is assumed where the best Θ lies at a bound of its search.
const UNKNOWN: f64 = 0.6;
/// How near (nats) q is brought to its optimum.
const NEAR: f64 = 1e-3;
/// Ends of a 90 % band in standard deviations, and the share of its width by which it may move unseen.
const ENDS: f64 = 1.645;
const UNSEEN: f64 = 0.01;
/// The same where a further ring costs little (calibration has 1 to 2 points more of λ with it).
const HARDLY_SEEN: f64 = 0.003;
/// Places per axis at which bands are compared, on a line, in a plane and in space; about so many in all with more axes.
const PLACES: [usize; 3] = [120, 16, 7];
const MANY_PLACES: f64 = 1000.0;
/// Rings after the first are added as long as all members together cost at most so many times what the search did, or so many seconds.
const MOST_WORK: f64 = 1.5;
const LITTLE_WORK: f64 = 0.1;
/// About so many natural steps are made for each of them.
const STEPS_PER_POINT: f64 = 4.0;
/// A family this far (nats) below another has no say: its best Θ is enough.
const NO_SAY: f64 = 12.0;

/// Members, and what is known of Θ.
pub(crate) struct Members<M> {
    /// Each with the logarithm of bound, prior and the volume that it stands for, in the order in which they were reached: the best Θ first.
    pub(crate) list: Vec<(f64, M)>,
    pub(crate) standard_errors: Option<Vec<StandardError>>,
    /// Why it is one alone, if it is.
    pub(crate) alone: Option<Alone>,
    /// The logarithm of what all places of the grid weigh over what those weigh that were looked at, as a bell has it: more hyper-parameters leave more
    /// of it out, which counts where families with different numbers of them are compared.
    pub(crate) left_out: f64,
}

impl<M> Members<M> {
    /// None but the best.
    pub(crate) fn none(standard_errors: Option<Vec<StandardError>>) -> Self {
        Self { list: vec![], standard_errors, alone: None, left_out: 0.0 }
    }
}

/// About so many natural steps are made for members with so many hyper-parameters and events: some for each of the looks to either side, and for the points of
/// two rings.
pub(super) fn steps(free: usize, events: usize) -> f64 {
    let free = if events > MANY_EVENTS { 0.0 } else { free as f64 };
    STEPS_PER_POINT * (1.0 + 2.0 * free + 2.0 * free * (1.0 + free))
}

/// log Σ exp of the weights: about log p(events), in the coordinates of the unit box.
pub(crate) fn log_evidence<M>(members: &[(f64, M)]) -> f64 {
    let top = members.iter().map(|(log_weight, _)| *log_weight).fold(f64::NEG_INFINITY, f64::max);
    top + members.iter().map(|(log_weight, _)| (log_weight - top).exp()).sum::<f64>().ln()
}

/// Why an average has one component per family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alone {
    /// There are so many events that Θ is known.
    ManyEvents,
    /// The others would not have moved any band.
    NoDifference,
    /// Another family is far ahead.
    NoSay,
}

impl Alone {
    /// One word for files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Alone::ManyEvents => "many_events",
            Alone::NoDifference => "no_difference",
            Alone::NoSay => "no_say",
        }
    }
}

/// Points of the grid, what a bell weighs at all places that were looked at, and why there is one point alone, if there is.
type Followed<M> = (Vec<Point<M>>, f64, Option<Alone>);

/// A point of the grid, with what was found there.
struct Point<M> {
    place: Vec<i32>,
    value: f64,
    sites: Sites,
    member: M,
    f: Marginals,
}

impl<K: Kind> Search<'_, '_, K> {
    /// The members about the best Θ.
    pub(super) fn members(&self, run: &Run<K>) -> Result<Members<K::Member>> {
        let alone = match () {
            _ if self.events > MANY_EVENTS => Some(Alone::ManyEvents),
            _ if self.kind.free() == 0 => Some(Alone::NoDifference), // all is held
            _ if has_no_say(self, run) => Some(Alone::NoSay),
            _ => None,
        };
        let searched = self.work.get();
        let steps = if alone.is_some() { STEPS_PER_POINT } else { steps(self.kind.free(), self.events) };
        self.tally.foresee(FitStage::Average, steps * self.kind.cost(&run.level));
        let grid = Grid::new(self, run)?;
        // Where steps are dear, and the middle is all there is, q stays as it was found.
        let kept = if alone.is_some() && self.is_dear(&run.level) { self.kind.copied(&run.kept) } else { None };
        let middle = match kept {
            Some(kept) => Some(self.point(run, &grid, kept)?),
            None => self.points(run, &grid, vec![(vec![0; grid.root.rows()], run.sites.clone())])?.pop(),
        };
        let Some(middle) = middle else { return Err(Error::NotANumber { parameters: vec![] }) };
        let (points, weighed, alone) = match alone {
            Some(why) => (vec![middle], 1.0, Some(why)),
            None => self.rings(run, &grid, (middle, searched))?,
        };
        // One point stands for the whole bell.
        let (log_volume, left_out) = match points.len() {
            1 => (grid.log_volume(TAU.sqrt()), 0.0),
            _ => (grid.log_volume(STEP), grid.root.rows() as f64 * (TAU.sqrt() / STEP).ln() - weighed.ln()),
        };
        let member = |point: Point<K::Member>| (point.value + log_volume, point.member);
        let covariance = grid.covariance();
        let standard_errors = covariance.as_ref().and_then(|covariance| self.errors_from(&run.theta, covariance));
        let list = points.into_iter().map(member).collect();
        Ok(Members { list, standard_errors, alone, left_out })
    }

    /// Rings about the middle, until one changes nothing.
    fn rings(
        &self,
        run: &Run<K>,
        grid: &Grid,
        (middle, searched): (Point<K::Member>, f64),
    ) -> Result<Followed<K::Member>> {
        let mut seen: HashSet<Vec<i32>> = HashSet::from([middle.place.clone()]);
        let (mut points, mut weighed) = (vec![middle], 1.0);
        let (mut ring, mut last) = (0..1, 0.0);
        let most = (1.0 + MOST_WORK) * searched + LITTLE_WORK;
        // The next ring costs twice as much as the last one. The first is made in any case.
        while !ring.is_empty() && points.len() < MOST && (last == 0.0 || self.work.get() + 2.0 * last < most) {
            let before = self.work.get();
            let bands = Bands::of(&points);
            let ended = points.len();
            let least = best_of(&points) - LEADS_ON;
            let mut next = vec![];
            for at in ring.clone().filter(|at| points[*at].value >= least) {
                let new = neighbours(&points[at].place).into_iter().filter(|place| seen.insert(place.clone()));
                next.extend(new.map(|place| (place.clone(), grid.sites_at(&place, &points[at]))));
            }
            // Places that turn out to weigh nothing were looked at as well; those for which there is no room were not.
            weighed += next.iter().map(|(place, _)| bell(place)).sum::<f64>();
            for point in self.points(run, grid, next)? {
                if points.len() >= MOST {
                    weighed -= bell(&point.place);
                } else if point.value > best_of(&points) - COUNTS {
                    points.push(point);
                }
            }
            let is_first = ended == 1;
            let is_cheap = self.work.get() < searched + LITTLE_WORK;
            if Bands::of(&points).moved_from(&bands) < if is_cheap { HARDLY_SEEN } else { UNSEEN } {
                if is_first {
                    points.truncate(1);
                }
                return Ok((points, weighed, is_first.then_some(Alone::NoDifference)));
            }
            (ring, last) = (ended..points.len(), self.work.get() - before);
        }
        Ok((points, weighed, None))
    }

    /// The middle of the grid, with the q of the run.
    fn point(&self, run: &Run<K>, grid: &Grid, kept: K::Kept) -> Result<Point<K::Member>> {
        let member = self.kind.member(&run.level, &run.theta, &run.sites, kept)?;
        let f = self.kind.marginals(&run.level, &member, &grid.places)?;
        Ok(Point { place: vec![0; grid.root.rows()], value: run.value, sites: run.sites.clone(), member, f })
    }

    /// These points of the grid, each from its sites, in their order; none beyond the bounds of the search, or where q cannot be found.
    fn points(&self, run: &Run<K>, grid: &Grid, wanted: Vec<(Vec<i32>, Sites)>) -> Result<Vec<Point<K::Member>>> {
        let look = |(place, sites): (Vec<i32>, Sites)| {
            let x = grid.at(&place)?;
            Some((place, Look { theta: self.kind.unpack(&run.level, &x, &run.theta), sites, by: None }))
        };
        let (places, looks): (Vec<Vec<i32>>, Vec<Look<K::Theta>>) = wanted.into_iter().filter_map(look).unzip();
        let seen = self.evaluate_each(&run.level, &looks, (NEAR, self.kind.tuning().most_steps))?;
        let mut points = Vec::with_capacity(seen.len());
        for ((place, look), seen) in places.into_iter().zip(&looks).zip(seen) {
            let Ok((Found { value, sites, kept }, _)) = seen else { continue };
            let Ok(member) = self.kind.member(&run.level, &look.theta, &sites, kept) else { continue };
            let Ok(f) = self.kind.marginals(&run.level, &member, &grid.places) else { continue };
            points.push(Point { place, value, sites, member, f });
        }
        Ok(points)
    }
}

/// The grid of Θ, and the places at which bands are compared.
struct Grid {
    middle: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    /// The Cholesky factor of the curvature.
    root: Matrix,
    /// Whether that is the curvature of a maximum.
    is_proper: bool,
    /// How sites change along each coordinate, where q has one optimum.
    sides: Vec<Sides>,
    places: Points,
}

impl Grid {
    fn new<K: Kind>(search: &Search<'_, '_, K>, run: &Run<K>) -> Result<Self> {
        let (middle, bounds) = search.kind.pack(&run.level, &run.theta);
        let places = places(search.kind.window())?;
        let count = search.kind.free();
        let least = 1.0 / (WIDEST * WIDEST);
        // So many events determine Θ: what is left is not worth its cost.
        let is_dear = search.events > MANY_EVENTS || count == 0 || has_no_say(search, run);
        let found = if is_dear { None } else { search.curvature(run, count)? };
        let is_maximum = found.is_some();
        let unknown = || Curved { matrix: Matrix::scaled_identity(count, UNKNOWN.powi(-2)), sides: vec![] };
        let Curved { matrix: mut curvature, sides } = found.unwrap_or_else(unknown);
        let sides = if search.kind.has_one_optimum() { sides } else { vec![] };
        (0..count).for_each(|i| curvature[(i, i)] = curvature[(i, i)].max(least));
        let diagonal = Matrix::from_fn(count, count, |i, j| if i == j { curvature[(i, i)].sqrt() } else { 0.0 });
        let is_proper = count > 0 && linalg::cholesky(&mut curvature).is_ok();
        let root = if is_proper { curvature } else { diagonal };
        Ok(Self { middle, bounds, root, is_proper: is_proper && is_maximum, sides, places })
    }

    /// How far apart two places of the grid are.
    fn between(&self, from: &[i32], to: &[i32]) -> Vec<f64> {
        let mut x: Vec<f64> = from.iter().zip(to).map(|(from, to)| STEP * f64::from(to - from)).collect();
        if !x.is_empty() {
            linalg::solve_lower_transposed(&self.root, &mut x);
        }
        x
    }

    /// The sites with which to begin at a place next to a point. About the best Θ it is known how they change.
    fn sites_at<M>(&self, place: &[i32], point: &Point<M>) -> Sites {
        if point.place.iter().any(|k| *k != 0) {
            return point.sites.clone();
        }
        let moved = self.between(&point.place, place);
        let along = self.sides.iter().zip(moved);
        let along: Vec<_> = along.map(|(side, by)| (by / side.apart, &side.above, &side.below)).collect();
        point.sites.moved(&along)
    }

    /// The coordinates at a place of the grid, if they are within bounds.
    fn at(&self, place: &[i32]) -> Option<Vec<f64>> {
        let mut x = self.between(&vec![0; place.len()], place);
        x.resize(self.middle.len(), 0.0); // what is not averaged over stays
        linalg::add_scaled(&mut x, 1.0, &self.middle);
        let is_inside = x.iter().zip(&self.bounds).all(|(x, (low, high))| low <= x && x <= high);
        is_inside.then_some(x)
    }

    /// The logarithm of the volume of a cell with these sides, in standard deviations.
    fn log_volume(&self, side: f64) -> f64 {
        self.root.rows() as f64 * side.ln() - 0.5 * linalg::log_determinant(&self.root)
    }

    /// The covariance of the coordinates, where there is a maximum in all of them.
    fn covariance(&self) -> Option<Matrix> {
        self.is_proper.then(|| linalg::inverse_from_cholesky(&self.root))
    }
}

/// Whether another family is far ahead.
fn has_no_say<K: Kind>(search: &Search<'_, '_, K>, run: &Run<K>) -> bool {
    run.value < search.kind.rival() - NO_SAY
}

/// The value of the best point.
fn best_of<M>(points: &[Point<M>]) -> f64 {
    points.iter().map(|point| point.value).fold(f64::NEG_INFINITY, f64::max)
}

/// Means and standard deviations of f under a mixture.
struct Bands(Vec<(f64, f64)>);

impl Bands {
    fn of<M>(points: &[Point<M>]) -> Self {
        let best = best_of(points);
        let weights: Vec<f64> = points.iter().map(|point| (point.value - best).exp()).collect();
        let total: f64 = weights.iter().sum();
        let at = |n: usize| {
            let of = |value: &dyn Fn(&Marginals) -> f64| {
                points.iter().zip(&weights).map(|(point, weight)| weight * value(&point.f)).sum::<f64>() / total
            };
            let mean = of(&|f| f.mean[n]);
            (mean, of(&|f| f.variance[n] + (f.mean[n] - mean).powi(2)).sqrt())
        };
        Self((0..points[0].f.mean.len()).map(at).collect())
    }

    /// By how much of its width the end of any band has moved, at most.
    fn moved_from(&self, other: &Self) -> f64 {
        let moved = |((m, s), (mean, sd)): (&(f64, f64), &(f64, f64))| {
            ((m - mean).abs() + ENDS * (s - sd).abs()) / (2.0 * ENDS * s)
        };
        self.0.iter().zip(&other.0).map(moved).fold(0.0, f64::max)
    }
}

/// Places all over the window, whose bounding box is the unit box.
fn places(window: &Window) -> Result<Points> {
    let dims = window.dims();
    let many = || (MANY_PLACES.powf(1.0 / dims as f64) as usize).max(1);
    let count = PLACES.get(dims - 1).copied().unwrap_or_else(many);
    let coordinate = |n: usize, r: usize| ((n / count.pow(r as u32)) % count) as f64 + 0.5;
    let at = |n: usize| -> Vec<f64> { (0..dims).map(|r| coordinate(n, r) / count as f64).collect() };
    let all: Vec<Vec<f64>> = (0..count.pow(dims as u32)).map(at).collect();
    let inside: Vec<Vec<f64>> = all.iter().filter(|x| window.contains(x)).cloned().collect();
    let inside = if inside.is_empty() { all } else { inside }; // a window of slivers
    Points::new(dims, inside.concat())
}

/// What a bell weighs at a place of the grid, beside its middle.
fn bell(place: &[i32]) -> f64 {
    let square: f64 = place.iter().map(|k| (STEP * f64::from(*k)).powi(2)).sum();
    (-0.5 * square).exp()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A bell summed over all places of the grid, times the volume of a cell, is the whole bell; what a few places leave out is the rest.
    #[test]
    fn places_of_the_grid_weigh_what_a_bell_does() {
        let sum: f64 = (-6..=6).flat_map(|a| (-6..=6).map(move |b| bell(&[a, b]))).sum();
        assert!((STEP * STEP * sum / TAU - 1.0).abs() < 1e-3);
    }
}
