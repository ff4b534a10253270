//! Weights at places as an exposure: each weight is spread evenly over the part of the window that is nearest to its place.
//!
//! The box around the window is cut into cells, whose lines run half-way between neighbours where the places stand on a line or on a
//! grid (of which places may be missing, as beyond a border), and else into those of an even grid as fine as the places allow. A cell
//! with places in it keeps their weights, one without belongs to the nearest that keeps some. What a cell keeps is spread over all that
//! belongs to it and lies in the window. So every weight inside has its whole effect, and those outside have none. To see which cell is
//! near, each axis is measured in parts of the box. Cost: linear in the number of cells.

use super::nodes::{Panels, PieceNodes, Weights};
use super::{Exposure, Piece, Span, Window};
use crate::data::points::Points;
use crate::error::{Error, Result};

/// A grid may have this many times the cells that keep weights before the places are taken for scattered.
const HARDLY_A_GRID: usize = 4;
/// Cells of an even grid for each of the scattered places, ...
const CELLS_FOR_A_PLACE: f64 = 64.0;
/// ... and the most of them.
const MOST_CELLS: f64 = 65_536.0;
/// Coordinates closer than this part of the box are the same: numbers lose as much in the writing.
const SAME: f64 = 1e-9;

/// An exposure made of weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The exposure.
    pub exposure: Exposure,
    /// How many weights lie outside the window, and do not count.
    pub left_out: usize,
}

/// The exposure that weights at places stand for; see [`Exposure::spread`].
pub(super) fn spread(window: &Window, places: &Points, weights: &[f64]) -> Result<Spread> {
    if places.dims() != window.dims() {
        return Err(Error::Dimension { what: "exposure", expected: window.dims(), found: places.dims() });
    }
    if places.len() != weights.len() {
        let (expected, found) = (places.len(), weights.len());
        return Err(Error::Dimension { what: "weights of the exposure", expected, found });
    }
    if let Some(bad) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        return Err(Error::setting("exposure", bad, "must be a finite number and not negative"));
    }
    let given = || places.rows().zip(weights.iter().copied());
    let inside: Vec<(&[f64], f64)> = given().filter(|(place, _)| window.contains(place)).collect();
    let total: f64 = inside.iter().map(|(_, weight)| weight).sum();
    if inside.is_empty() {
        return Err(Error::setting("exposure", 0, "has no weight inside the window: no event could have been seen"));
    }
    if !(total > 0.0 && total.is_finite()) {
        let requirement = "must have weights inside the window that add up to a positive number";
        return Err(Error::setting("exposure", total, requirement));
    }
    let raster = Raster::of_places(&window.bounding_box(), &inside);
    let exposure = raster.exposure(window, &inside, total)?;
    Ok(Spread { exposure, left_out: places.len() - inside.len() })
}

/// The cells along an axis: where each stands, and the lines between them with both ends.
struct CellAxis {
    places: Vec<f64>,
    lines: Vec<f64>,
}

impl CellAxis {
    /// Lines half-way between places that rise.
    fn between(span: Span, places: Vec<f64>) -> Self {
        let middles = places.windows(2).map(|two| two[0] + 0.5 * (two[1] - two[0]));
        let lines = std::iter::once(span.lo).chain(middles).chain([span.hi]).collect();
        Self { places, lines }
    }

    fn even(span: Span, count: usize) -> Self {
        let at = |part: f64| span.lo + span.length() * part / count as f64;
        let mut lines: Vec<f64> = (0..=count).map(|i| at(i as f64)).collect();
        lines[count] = span.hi;
        Self { places: (0..count).map(|i| at(i as f64 + 0.5)).collect(), lines }
    }

    fn count(&self) -> usize {
        self.places.len()
    }

    fn cell(&self, x: f64) -> usize {
        self.lines.partition_point(|line| *line <= x).clamp(1, self.count()) - 1
    }
}

/// Cells over a box, the last axis varying fastest.
struct Raster {
    axes: Vec<CellAxis>,
}

impl Raster {
    fn of_places(spans: &[Span], inside: &[(&[f64], f64)]) -> Self {
        let between = |(r, span): (usize, &Span)| CellAxis::between(*span, distinct(inside, r, SAME * span.length()));
        let own = Self { axes: spans.iter().enumerate().map(between).collect() };
        let cells = own.axes.iter().fold(1usize, |cells, axis| cells.saturating_mul(axis.count()));
        if spans.len() == 1 || cells / HARDLY_A_GRID <= inside.len() {
            return own;
        }
        let cells = (CELLS_FOR_A_PLACE * inside.len() as f64).min(MOST_CELLS);
        let side = cells.powf(1.0 / spans.len() as f64).ceil() as usize;
        Self { axes: spans.iter().map(|span| CellAxis::even(*span, side)).collect() }
    }

    fn count(&self) -> usize {
        self.axes.iter().map(CellAxis::count).product()
    }

    fn cell(&self, point: &[f64]) -> usize {
        self.axes.iter().zip(point).fold(0, |cell, (axis, &x)| cell * axis.count() + axis.cell(x))
    }

    fn exposure(self, window: &Window, inside: &[(&[f64], f64)], total: f64) -> Result<Exposure> {
        let (mut kept, mut keeps) = (vec![0.0; self.count()], vec![false; self.count()]);
        for (place, weight) in inside {
            let cell = self.cell(place);
            kept[cell] += weight;
            keeps[cell] = true;
        }
        let owners = self.nearest(&window.bounding_box(), &keeps);
        let mut volumes = vec![0.0; self.count()];
        for piece in window.pieces() {
            let nodes = self.cells_of(piece).flatten();
            nodes.points.rows().zip(nodes.weights).for_each(|(at, volume)| volumes[owners[self.cell(at)]] += volume);
        }
        let density = |cell: usize| if volumes[cell] > 0.0 { kept[cell] / volumes[cell] } else { 0.0 };
        // A cell that keeps a weight and has no volume to rounding leaves it to all others.
        let placed: f64 = (0..self.count()).map(|cell| density(cell) * volumes[cell]).sum();
        let values = owners.iter().map(|&owner| density(owner) * (total / placed)).collect();
        let lines = self.axes.into_iter().map(|axis| axis.lines).collect();
        Exposure::cells((0..window.dims()).collect(), lines, values)
    }

    /// What of each cell lies in a piece of a window: one node for it, weighed by the volume.
    fn cells_of(&self, piece: &Piece) -> PieceNodes {
        let panels = |(axis, span): (&CellAxis, &Span)| Panels::new(*span, axis.lines.clone(), f64::INFINITY, |_| 1);
        let axes: Vec<Panels> = self.axes.iter().zip(&piece.spans).map(panels).collect();
        let joint = piece.outline.as_ref().map(|outline| outline.weights(&axes[0], &axes[1]));
        PieceNodes { axes, weights: joint.map_or(Weights::Product, Weights::Pair), repeats: 1.0 }
    }

    /// For each cell the nearest of those in `sites`: axis after axis, each line of cells seeing the nearest sites of all lines before.
    fn nearest(&self, spans: &[Span], sites: &[bool]) -> Vec<usize> {
        let mut squares: Vec<f64> = sites.iter().map(|&site| if site { 0.0 } else { f64::INFINITY }).collect();
        let mut owners: Vec<usize> = (0..sites.len()).collect();
        if sites.iter().all(|&site| site) {
            return owners;
        }
        let mut stride = sites.len();
        for (axis, span) in self.axes.iter().zip(spans) {
            let (length, before) = (axis.count(), stride);
            stride /= length;
            let places: Vec<f64> = axis.places.iter().map(|x| (x - span.lo) / span.length()).collect();
            for start in (0..sites.len()).step_by(before).flat_map(|block| block..block + stride) {
                let along = |i: usize| start + i * stride;
                let line: Vec<(f64, usize)> = (0..length).map(|i| (squares[along(i)], owners[along(i)])).collect();
                for (i, &site) in lowest(&places, &line).iter().enumerate() {
                    let (square, owner) = line[site];
                    squares[along(i)] = square + (places[i] - places[site]).powi(2);
                    owners[along(i)] = owner;
                }
            }
        }
        owners
    }
}

/// For each place x the place y, by index, at which square(y) + (x − y)² is lowest: the lower envelope of parabolas, which is a stack of
/// those that are lowest somewhere.
fn lowest(places: &[f64], squares: &[(f64, usize)]) -> Vec<usize> {
    // Each with the place from which on it is the lowest.
    let mut stack: Vec<(usize, f64)> = Vec::new();
    for site in (0..places.len()).filter(|&i| squares[i].0.is_finite()) {
        let height = |i: usize| squares[i].0 + places[i] * places[i];
        let crossing = |i: usize| (height(site) - height(i)) / (2.0 * (places[site] - places[i]));
        while stack.last().is_some_and(|&(last, from)| crossing(last) <= from) {
            stack.pop();
        }
        let from = stack.last().map_or(f64::NEG_INFINITY, |&(last, _)| crossing(last));
        stack.push((site, from));
    }
    let mut at = 0;
    let owner = |(i, &x): (usize, &f64)| {
        while stack.get(at + 1).is_some_and(|&(_, from)| from <= x) {
            at += 1;
        }
        stack.get(at).map_or(i, |&(site, _)| site)
    };
    places.iter().enumerate().map(owner).collect()
}

/// The places that occur on an axis, rising; those closer than `same` are one.
fn distinct(inside: &[(&[f64], f64)], axis: usize, same: f64) -> Vec<f64> {
    let mut places: Vec<f64> = inside.iter().map(|(place, _)| place[axis]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|next, kept| *next - *kept <= same);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Polygons;

    fn cells(spread: &Spread) -> (&[Vec<f64>], &[f64]) {
        let Exposure::Cells { lines, values, .. } = &spread.exposure else { panic!("{spread:?}") };
        (lines, values)
    }

    #[test]
    fn on_a_line_the_lines_run_half_way() {
        let window = Window::interval(0.0, 10.0).unwrap();
        let places = Points::line(&[7.0, 1.0, 2.0, 1.0, -0.5, 12.0]).unwrap();
        let spread = Exposure::spread(&window, &places, &[8.5, 1.0, 6.0, 2.0, 100.0, 100.0]).unwrap();
        assert_eq!(spread.left_out, 2);
        assert_eq!(cells(&spread), (&[vec![0.0, 1.5, 4.5, 10.0]][..], &[2.0, 2.0, 8.5 / 5.5][..]));
        // A gap takes nothing away.
        let gap = Window::union(&[Window::interval(0.0, 4.0).unwrap(), Window::interval(6.0, 10.0).unwrap()]).unwrap();
        let places = Points::line(&[3.0, 5.0, 8.0]).unwrap();
        let spread = Exposure::spread(&gap, &places, &[4.0, 9.0, 8.0]).unwrap();
        assert_eq!(spread.left_out, 1);
        assert_eq!(cells(&spread), (&[vec![0.0, 5.5, 10.0]][..], &[1.0, 2.0][..]));
    }

    #[test]
    fn a_grid_with_missing_places_leaves_them_to_their_neighbours() {
        let window = Window::new(&[(0.0, 3.0), (0.0, 2.0)]).unwrap();
        let rows = [[0.5, 0.5], [1.6, 0.5], [2.5, 0.5], [0.5, 1.5], [0.1 + 2.4, 1.5]];
        let places = Points::from_rows(&rows).unwrap();
        let spread = Exposure::spread(&window, &places, &[1.0, 4.0, 3.0, 2.0, 5.0]).unwrap();
        let (lines, values) = cells(&spread);
        assert_eq!(lines, [vec![0.0, 1.05, 2.05, 3.0], vec![0.0, 1.0, 2.0]]);
        // 0.9 of 3 to the right is nearer than 1.1 of 3 to the left, and than 1 of 2 down.
        let widths = [1.05, 1.05, 1.0, 1.95, 0.95, 1.95];
        for (i, weight) in [1.0, 2.0, 4.0, 5.0, 3.0, 5.0].iter().enumerate() {
            assert!((values[i] - weight / widths[i]).abs() < 1e-12, "{values:?}");
        }
    }

    #[test]
    fn the_nearest_cell_is_the_one_that_a_plain_search_finds() {
        let spans = [Span { lo: 0.0, hi: 2.0 }, Span { lo: -1.0, hi: 0.0 }, Span { lo: 0.0, hi: 7.0 }];
        let counts = [5, 6, 4];
        let raster = Raster { axes: spans.iter().zip(counts).map(|(s, n)| CellAxis::even(*s, n)).collect() };
        let sites: Vec<bool> = (0..raster.count()).map(|i| i * i % 23 == 2).collect();
        let place = |cell: usize| -> Vec<f64> {
            let index = [cell / 24, cell / 4 % 6, cell % 4];
            (0..3).map(|r| (raster.axes[r].places[index[r]] - spans[r].lo) / spans[r].length()).collect()
        };
        let square = |a: usize, b: usize| place(a).iter().zip(place(b)).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        for (cell, &owner) in raster.nearest(&spans, &sites).iter().enumerate() {
            assert!(sites[owner]);
            let least = (0..sites.len()).filter(|&i| sites[i]).map(|i| square(cell, i)).fold(f64::INFINITY, f64::min);
            assert!((square(cell, owner) - least).abs() < 1e-12, "{cell} {owner}");
        }
    }

    #[test]
    fn the_total_is_that_of_the_weights_inside() {
        let corners = vec![[0.0, 0.0], [4.0, 0.0], [5.0, 3.0], [1.0, 4.0]];
        let border = Window::inside(Polygons::new(vec![vec![corners]]).unwrap());
        let prism = border.times(&Window::interval(0.0, 2.0).unwrap()).unwrap();
        let square = |x: f64| Window::new(&[(x, x + 1.0), (0.0, 1.0)]).unwrap();
        let boxes = Window::union(&[square(0.0), square(3.0)]).unwrap();
        for window in [border, prism, boxes] {
            for scattered in [false, true] {
                let dims = window.dims();
                let places = match scattered {
                    false => Points::grid(&vec![0.05; dims], &vec![5.0; dims], &[9, 11, 5][..dims]),
                    true => {
                        let steps = [0.8191725134, 0.6710436067, 0.5497004779];
                        let row = |i: usize| steps[..dims].iter().map(move |step| (step * i as f64).fract() * 5.0);
                        Points::new(dims, (0..200).flat_map(row).collect()).unwrap()
                    }
                };
                let weights: Vec<f64> = (0..places.len()).map(|i| 0.1 + (0.37 * i as f64).fract()).collect();
                let spread = Exposure::spread(&window, &places, &weights).unwrap();
                let inside = places.rows().zip(&weights).filter(|(place, _)| window.contains(place));
                let (count, total) = inside.fold((0, 0.0), |(n, sum), (_, w)| (n + 1, sum + w));
                assert_eq!(spread.left_out, places.len() - count);
                let measure = window.clone().with_exposure(spread.exposure).unwrap().measure();
                assert!(count > 5 && (measure - total).abs() < 1e-12 * total, "{measure} {total}");
            }
        }
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        let window = Window::interval(0.0, 1.0).unwrap();
        let spread = |places: &[f64], weights: &[f64]| {
            Exposure::spread(&window, &Points::line(places).unwrap(), weights).unwrap_err().to_string()
        };
        assert!(spread(&[0.5], &[-1.0]).contains("not negative"));
        assert!(spread(&[0.5], &[f64::NAN]).contains("finite"));
        assert!(spread(&[0.5, 2.0], &[0.0, 1.0]).contains("positive"));
        assert!(spread(&[2.0], &[1.0]).contains("inside the window"));
        assert!(spread(&[0.5], &[1.0, 2.0]).contains("weights"));
    }
}
