//! Where the events of a lattice come from: themselves, or a summary in cells with which the lattice must line up.
//!
//! Where the cells of the lattice hold many events each, a few nodes stand for them (`data/summary/`): f is smooth inside a cell of
//! the lattice and has its kinks between them. A summary is joined to cells as large as the lattice's, so the lattice has nodes
//! on the border of the window and a whole number of the summary's cells between two nodes.

use super::level::Level;
use crate::data::points::Points;
use crate::data::summary::{CellAxis, Cells, MANY, is_worth};
use crate::error::Result;
use crate::field::lattice::{GridAxis, Lattice, Optimum};

/// Where so many events share a coordinate on average, coordinates are rounded, and `auto` puts nodes no nearer than that.
const SHARED: usize = 4;
/// Where fewer share one, coordinates of at least so many places are rounded if all distances are multiples of the least, but for this part of it.
const FEW_PLACES: usize = 8;
const OFF_UNIT: f64 = 1e-3;
/// Cells of a summary between two nodes, at least: half as many show what they leave out.
const LEAST_CELLS: f64 = 2.0;
/// Nodes per axis in a cell, where events are many and where they are not so many.
const ORDERS: [usize; 2] = [4, 3];
/// Bins per axis in a cell.
const BINS: usize = 4;
/// Error of E[log f²] between nodes, in nats per event, above which a cell keeps its events.
const ROUGH: f64 = 1e-3;
/// Where more than this part of the events lies in such cells, all events are counted in bins instead.
const MOST_ROUGH: f64 = 0.25;
/// The events, in the coordinates of the unit box.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// One by one.
    Points(&'a Points),
    /// By cell.
    Cells(&'a Cells),
}

/// How closely the events are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// One by one.
    Events,
    /// As a few nodes per cell, exact for what varies like a polynomial there.
    Nodes,
    /// Counted in bins. The weights are not negative: it works where f is too rough for the lattice, and shows about
    /// where Θ is.
    Bins,
}

/// What it takes a while to find out of the places of many events.
#[derive(Debug, Clone)]
pub(super) struct Spacing {
    /// Number of distinct places.
    pub(super) distinct: usize,
    /// How far apart nodes must be on each axis.
    pub(super) finest: Vec<f64>,
}

/// No points.
static NOWHERE: Points = Points::NONE;

impl<'a> Source<'a> {
    /// Number of events.
    pub(super) fn events(self) -> usize {
        match self {
            Source::Points(points) => points.len(),
            Source::Cells(cells) => cells.events() as usize,
        }
    }

    /// What is to be known of the places before a lattice is chosen.
    pub(super) fn spacing(self) -> Spacing {
        Spacing { distinct: self.distinct(), finest: self.finest() }
    }

    /// Number of distinct places of the events; of a summary nobody knows any more.
    fn distinct(self) -> usize {
        match self {
            Source::Points(points) => {
                let row = |row: &[f64]| [0, 1, 2].map(|r| row.get(r).map_or(0, |x| x.to_bits()));
                let mut rows: Vec<[u64; 3]> = points.rows().map(row).collect();
                rows.sort_unstable();
                rows.dedup();
                rows.len()
            }
            Source::Cells(cells) => cells.events() as usize,
        }
    }

    /// The events one by one; none of a summary.
    pub(super) fn points(self) -> &'a Points {
        match self {
            Source::Points(points) => points,
            Source::Cells(_) => &NOWHERE,
        }
    }

    /// How far apart nodes must be on each axis.
    fn finest(self) -> Vec<f64> {
        match self {
            Source::Points(points) => (0..points.dims()).map(|r| rounding(&points.axis(r))).collect(),
            Source::Cells(cells) => cells.axes().iter().map(|axis| LEAST_CELLS / axis.cells as f64).collect(),
        }
    }

    /// Why nodes cannot be nearer than that.
    pub(super) fn why_no_finer(self) -> &'static str {
        match self {
            Source::Points(_) => "more would only show how the coordinates are rounded",
            Source::Cells(_) => "more would be finer than the cells of the summary",
        }
    }

    /// A lattice with about so many nodes and such a margin that lines up with the cells, if there are any: no fewer nodes, and those
    /// of the margin as near to what is wanted as the divisors of the number of cells allow.
    pub(super) fn placed(self, nodes: &[usize], margin: Vec<f64>) -> (Vec<usize>, Vec<f64>) {
        let Source::Cells(cells) = self else { return (nodes.to_vec(), margin) };
        let of_axis = |((axis, nodes), margin): ((&CellAxis, &usize), f64)| {
            let wanted = (nodes - 1) as f64 / (1.0 + 2.0 * margin);
            let most = (nodes - 1).max(1);
            let divisors = (1..=most.min(axis.cells)).filter(|n| axis.cells.is_multiple_of(*n));
            let off = |n: &usize| (*n as f64 / wanted).ln().abs();
            let inside = divisors.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(1);
            let beside = (most - inside).div_ceil(2);
            (inside + 2 * beside + 1, beside as f64 / inside as f64)
        };
        cells.axes().iter().zip(nodes).zip(margin).map(of_axis).unzip()
    }

    /// Cells on each axis in which a summary must be known for this lattice.
    pub(super) fn cells_for(self, lattice: &Lattice) -> Vec<usize> {
        match self {
            Source::Points(_) => vec![],
            Source::Cells(cells) => {
                let times = finer_times(cells, lattice);
                cells.axes().iter().zip(times).map(|(axis, times)| axis.cells / times).collect()
            }
        }
    }

    /// What stands for the events on a lattice; nothing for all there is.
    pub(super) fn looked_at(
        self,
        lattice: &Lattice,
        detail: Detail,
        before: Option<(&Level, &Optimum)>,
    ) -> Result<Looked> {
        match (self, detail) {
            (_, Detail::Events) => Ok((detail, None)),
            _ if self.events() < MANY => Ok((Detail::Events, None)),
            (Source::Points(points), Detail::Nodes) => by_nodes(lattice, points, before),
            (Source::Points(points), Detail::Bins) => by_bins(lattice, points),
            (Source::Cells(cells), Detail::Nodes) => joined(lattice, cells, before),
            (Source::Cells(cells), Detail::Bins) => Ok(centres(lattice, cells)),
        }
    }
}

impl Source<'_> {
    /// What stands for the events where only their sums of hats matter: these, at the nodes of the lattice. Nothing is left out.
    pub(super) fn by_hats(self, lattice: &Lattice, detail: Detail) -> Result<Looked> {
        let grid = lattice.grid();
        let (hats, weights) = match self {
            Source::Points(points) if detail == Detail::Events || points.len() < MANY => {
                return Ok((Detail::Events, None));
            }
            Source::Points(points) => (grid.at(points)?, None),
            Source::Cells(cells) => {
                let (at, weights) = cells.nodes();
                (grid.at(&at)?, Some(weights))
            }
        };
        let mut sums = vec![0.0; grid.size()];
        hats.add_sums(&mut sums, |n| weights.as_ref().map_or(1.0, |weights| weights[n]));
        Ok((Detail::Nodes, Some(grid.weighed(&sums))))
    }
}

/// How the events are looked at, and what stands for them if they are not looked at one by one.
type Looked = (Detail, Option<(Points, Vec<f64>)>);

/// Bins, if they are fewer than the events.
fn by_bins(lattice: &Lattice, points: &Points) -> Result<Looked> {
    let counts = by_cell(lattice, points, BINS, 1)?;
    let worth = is_worth(counts.len(), points.len());
    Ok(if worth { (Detail::Bins, Some(counts.nodes())) } else { (Detail::Events, None) })
}

/// Nodes in cells where f is smooth and the events where it is not, if both are fewer than the events; bins if f is smooth
/// nearly nowhere.
fn by_nodes(lattice: &Lattice, points: &Points, before: Option<(&Level, &Optimum)>) -> Result<Looked> {
    let many = lattice.grid().size().saturating_mul(ORDERS[0].pow(points.dims() as u32));
    let order = ORDERS[usize::from(!is_worth(many, points.len()))];
    let rough = match before {
        Some((level, found)) => rough_cells(lattice, level, found, order)?,
        None => vec![false; lattice.grid().size()],
    };
    let is_rough = |row: &[f64]| rough[lattice.grid().hats_at(row).0];
    let kept = points.filter(is_rough);
    if kept.len() as f64 > MOST_ROUGH * points.len() as f64 {
        return by_bins(lattice, points);
    }
    let summary = by_cell(lattice, &points.filter(|row| !is_rough(row)), 1, order)?;
    if !is_worth(summary.len() + kept.len(), points.len()) {
        return Ok((Detail::Events, None));
    }
    let (nodes, mut weights) = summary.nodes();
    weights.resize(nodes.len() + kept.len(), 1.0);
    Ok((Detail::Nodes, Some((nodes.followed_by(&kept), weights))))
}

/// Cells as large as the lattice's where f is smooth there, the summary's own where it is not; the centres of cells if that is
/// nearly everywhere.
fn joined(lattice: &Lattice, cells: &Cells, before: Option<(&Level, &Optimum)>) -> Result<Looked> {
    let rough = match before {
        Some((level, found)) => rough_cells(lattice, level, found, cells.order())?,
        None => vec![false; lattice.grid().size()],
    };
    let is_rough = |place: &[f64]| rough[lattice.grid().hats_at(place).0];
    let large = cells.coarsened(&cells_a_step(cells, lattice));
    if large.events_where(is_rough) as f64 > MOST_ROUGH * cells.events() as f64 {
        return Ok(centres(lattice, cells));
    }
    let (nodes, mut weights) = large.nodes_where(|place| !is_rough(place));
    let (kept, of_kept) = cells.nodes_where(is_rough);
    weights.extend(of_kept);
    Ok((Detail::Nodes, Some((nodes.followed_by(&kept), weights))))
}

/// The number of events in parts of the lattice's cells, each at the centre of them.
fn centres(lattice: &Lattice, cells: &Cells) -> Looked {
    let smaller = |times: usize| (1..=times).find(|n| times.is_multiple_of(*n) && times / n <= BINS).unwrap_or(times);
    let times: Vec<usize> = cells_a_step(cells, lattice).into_iter().map(smaller).collect();
    (Detail::Bins, Some(cells.coarsened(&times).centres()))
}

/// Cells of a summary between two nodes on each axis.
fn cells_a_step(cells: &Cells, lattice: &Lattice) -> Vec<usize> {
    let of_axis = |(r, axis): (usize, &CellAxis)| {
        let times = (lattice.grid().axis(r).step * axis.cells as f64).round() as usize;
        if times > 0 && axis.cells % times == 0 { times } else { 1 }
    };
    cells.axes().iter().enumerate().map(of_axis).collect()
}

/// Smaller cells than the lattice's, to see what those leave out.
pub(super) fn finer(cells: &Cells, lattice: &Lattice) -> Cells {
    cells.coarsened(&finer_times(cells, lattice))
}

fn finer_times(cells: &Cells, lattice: &Lattice) -> Vec<usize> {
    let smaller = |times: usize| times / (2..=times).find(|n| times.is_multiple_of(*n)).unwrap_or(1);
    cells_a_step(cells, lattice).into_iter().map(smaller).collect()
}

/// The events in the cells of a lattice, each cut into `bins` per axis.
fn by_cell(lattice: &Lattice, points: &Points, bins: usize, order: usize) -> Result<Cells> {
    let of_axis = |axis: GridAxis| {
        let cells = axis.nodes - 1;
        CellAxis { lo: axis.lo, hi: axis.lo + axis.step * cells as f64, cells: cells * bins }
    };
    let mut cells = Cells::new((0..points.dims()).map(|r| of_axis(lattice.grid().axis(r))).collect(), order)?;
    cells.add(points)?;
    Ok(cells)
}

/// Whether log f² varies too much for `order` nodes per axis in the cell that begins at each node.
///
/// If f runs from a to b it is 2 log(1 + δt) and a constant, δ = (b − a)/(b + a), |t| ≤ 1, and its Chebyshev
/// coefficients fall like the powers of δ/(1 + √(1 − δ²)).
fn rough_cells(lattice: &Lattice, level: &Level, found: &Optimum, order: usize) -> Result<Vec<bool>> {
    let grid = lattice.grid();
    let f = found.marginals(&level.lattice.grid().at(&grid.node_places())?).mean;
    let shifts = grid.corner_shifts();
    let is_rough = |first: usize| {
        let corners = shifts.iter().filter_map(|shift| f.get(first + shift)).map(|f| f.abs());
        let signs = shifts.iter().filter_map(|shift| f.get(first + shift)).any(|g| g * f[first] <= 0.0);
        let (low, high) = corners.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), f| (low.min(f), high.max(f)));
        let delta = (high - low) / (high + low);
        let falls = delta / (1.0 + (1.0 - delta * delta).sqrt());
        signs || falls.powi(order as i32) > ROUGH
    };
    Ok((0..grid.size()).map(is_rough).collect())
}

/// The unit to which coordinates are rounded; 0 if they are not. Where most events share theirs with others it is the median distance of those that differ,
/// otherwise the distance of which all others are multiples, if there is one.
fn rounding(coordinates: &[f64]) -> f64 {
    let mut distinct = coordinates.to_vec();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() < 2 {
        return 0.0;
    }
    let mut gaps: Vec<f64> = distinct.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    if distinct.len() <= coordinates.len() / SHARED {
        return gaps[gaps.len() / 2];
    }
    let is_multiple = |gap: &f64| (gap / gaps[0] - (gap / gaps[0]).round()).abs() < OFF_UNIT;
    if distinct.len() >= FEW_PLACES && gaps.iter().all(is_multiple) { gaps[0] } else { 0.0 }
}
