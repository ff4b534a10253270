//! Nodes and weights for ∫λ over a window that never fall short of it, for a λ whose expectation along an axis is the exponential of a
//! convex quadratic inside each cell of the lattice, as that of exp f is (docs/derivation.md, section 15).
//!
//! All even derivatives of such a function are positive, so that Simpson's rule lies above its integral, with an error of the fourth
//! power of the step. Where a border or an exposure runs through a cell, λ ≤ Σ_j ψ_j(x) λ_j over the corners of that cell, or of any
//! part of it: the weights are the integrals of hats on a finer lattice, whatever the window is. None of them is negative.

use super::hats::{Grid, GridAxis};
use super::mass::{Mass, between_lines_and};
use super::prior::{Smoothness, Theta};
use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::Result;
use crate::window::{Span, Window};
use std::collections::HashMap;

/// How many times as fine the hats are, where Simpson's rule follows, …
const HALVES: usize = 2;
/// … and on a line where an exposure leaves only the hats; elsewhere that would be too many.
const QUARTERS: usize = 4;
/// A cell is whole if its integrals are those of a whole one, this closely.
const WHOLE: f64 = 1e-9;

/// Panels of Simpson's rule in a cell along each axis, in one, two and three dimensions. One is enough where f hardly changes in a cell; with a rate
/// that is a hundred times as high at the next node it would be 9 % too high.
pub(crate) const PANELS: [usize; 3] = [4, 2, 1];
/// From so many cells in a plane on, one panel unless f changes too much in a cell.
const MANY_CELLS: f64 = 1e5;

/// Places and weights with Σ w λ ≥ ∫λ.
pub(crate) fn from_above(grid: &Grid, window: &Window) -> Result<(Points, Vec<f64>)> {
    from_above_by(grid, window, panels(grid))
}

/// Panels in a cell along each axis where nothing is known of f: on a lattice in a plane with very many cells one, or there would be more places than
/// memory is for.
pub(super) fn panels(grid: &Grid) -> usize {
    if is_large(&grid.nodes()) { 1 } else { PANELS[grid.dims() - 1] }
}

/// Whether a lattice has so many cells that places need much memory.
pub(crate) fn is_large(nodes: &[usize]) -> bool {
    nodes.len() == 2 && nodes.iter().map(|n| *n as f64).product::<f64>() > MANY_CELLS
}

/// About the part of ∫exp f by which one panel in each cell is too much, for an f from the prior at Θ on a lattice with these steps: 3s⁴/2880 for each axis,
/// s² being the variance of the difference between neighbours.
pub(crate) fn excess(theta: &Theta, smoothness: Smoothness, steps: &[f64]) -> f64 {
    let nu = smoothness.nu(steps.len());
    let of_axis = |(step, range): (&f64, f64)| {
        let x = (8.0 * nu).sqrt() * step / range;
        // 1 − the correlation of neighbours, to the first order.
        let apart = if nu > 1.0 { x * x / (4.0 * (nu - 1.0)) } else { 0.5 * x * x * (2.0 / x).ln().max(0.5) };
        3.0 * (2.0 * theta.variance * apart.min(1.0)).powi(2) / 2880.0
    };
    steps.iter().zip(theta.ranges()).map(of_axis).sum()
}

/// The same with so many panels in a cell along each axis.
pub(crate) fn from_above_by(grid: &Grid, window: &Window, panels: usize) -> Result<(Points, Vec<f64>)> {
    match panels {
        1 => above(grid, window),
        _ => above(&grid.finer(panels)?, window),
    }
}

/// Places with values of regressors beside them, and weights.
pub(crate) struct WithRegressors {
    pub(crate) points: Points,
    /// By regressor, then by place.
    pub(crate) dense: Vec<Vec<f64>>,
    pub(crate) weights: Vec<f64>,
}

/// The same for a λ that jumps at the lines of covariates. In each of their cells f is as it is without them but for a constant, and λ ≤ Σ_j ψ_j(x) λ_j
/// over the corners of a cell of a finer lattice, or of any part of it: the weights are the integrals of its hats over each part of the window in
/// which the covariates have the same values.
pub(crate) fn from_above_with(grid: &Grid, window: &Window, regressors: &Regressors) -> Result<WithRegressors> {
    let times = panels(grid) * if grid.dims() == 1 { QUARTERS } else { HALVES };
    let fine = grid.finer(times)?;
    let shifts = fine.corner_shifts();
    let mut levels: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut sums: HashMap<(usize, usize), f64> = HashMap::new();
    for piece in between_lines_and(&fine, window, |r| regressors.lines(r)) {
        piece.for_each(&mut |point: &[f64], weight: f64| {
            let values = regressors.values(point);
            let level = *levels.entry(values.iter().map(|v| v.to_bits()).collect()).or_insert_with(|| {
                rows.push(regressors.row(&values));
                rows.len() - 1
            });
            let (first, hats) = fine.hats_at(point);
            for (shift, hat) in shifts.iter().zip(hats) {
                *sums.entry((first + shift, level)).or_insert(0.0) += weight * hat;
            }
        });
    }
    let mut sums: Vec<((usize, usize), f64)> = sums.into_iter().filter(|(_, weight)| *weight > 0.0).collect(); // rounding
    sums.sort_unstable_by_key(|(key, _)| *key);
    let places = fine.node_places();
    let points =
        Points::of_rows(grid.dims(), sums.iter().flat_map(|((node, _), _)| places.row(*node).to_vec()).collect());
    let dense = (0..regressors.len()).map(|k| sums.iter().map(|((_, level), _)| rows[*level][k]).collect()).collect();
    Ok(WithRegressors { points, dense, weights: sums.into_iter().map(|(_, weight)| weight).collect() })
}

/// The same with one panel of Simpson's rule in each cell.
pub(crate) fn above(grid: &Grid, window: &Window) -> Result<(Points, Vec<f64>)> {
    let simple = window.exposure().is_none();
    if simple && window.is_boxes() {
        return Ok(over_boxes(grid, window));
    }
    let times = if simple || grid.dims() > 1 { HALVES } else { QUARTERS };
    let fine = grid.finer(times)?;
    let mut mass = Mass::over(&fine, window)?;
    if simple {
        let repeats: Vec<f64> = window.pieces().iter().map(|piece| piece.repeats).collect();
        add_simpson(grid, &fine, &mut mass, &repeats);
    }
    mass.linear.iter_mut().for_each(|weight| *weight = weight.max(0.0)); // rounding
    Ok(fine.weighed(&mass.linear))
}

/// Simpson's rule along each axis, between the lines of the lattice and the ends of each box.
fn over_boxes(grid: &Grid, window: &Window) -> (Points, Vec<f64>) {
    let (mut coordinates, mut all) = (vec![], vec![]);
    for piece in window.pieces() {
        let axes: Vec<_> = piece.spans.iter().enumerate().map(|(r, span)| simpson(&grid.axis(r), *span)).collect();
        let count: usize = axes.iter().map(Vec::len).product();
        coordinates.reserve(count * grid.dims());
        all.reserve(count);
        // One place after the other, the last axis fastest: there can be millions of them.
        let mut at = [0; 3];
        for _ in 0..count {
            let own = || axes.iter().zip(at).map(|(axis, i)| axis[i]);
            coordinates.extend(own().map(|(x, _)| x));
            all.push(own().fold(piece.repeats, |weight, (_, w)| weight * w));
            for r in (0..axes.len()).rev() {
                at[r] += 1;
                if at[r] < axes[r].len() {
                    break;
                }
                at[r] = 0;
            }
        }
    }
    (Points::of_rows(grid.dims(), coordinates), all)
}

/// Simpson's rule on each panel of a span that is cut at the nodes of an axis: places with weights.
fn simpson(axis: &GridAxis, span: Span) -> Vec<(f64, f64)> {
    let least = 1e-12 * span.length();
    let mut cuts = axis.places_about(span);
    cuts.retain(|x| span.lo + least < *x && *x < span.hi - least);
    cuts.insert(0, span.lo);
    cuts.push(span.hi);
    let mut nodes = vec![(span.lo, 0.0)];
    for ends in cuts.windows(2) {
        let sixth = (ends[1] - ends[0]) / 6.0;
        nodes.last_mut().into_iter().for_each(|(_, weight)| *weight += sixth);
        nodes.extend([(0.5 * (ends[0] + ends[1]), 4.0 * sixth), (ends[1], sixth)]);
    }
    nodes
}

/// In each cell of the lattice that lies in the window as a whole, Simpson's weights for those of the hats on half the step.
fn add_simpson(grid: &Grid, fine: &Grid, mass: &mut Mass, repeats: &[f64]) {
    let [rows, columns, layers] = grid.axes().map(|axis| (axis.nodes - 1).max(1));
    let volume: f64 = grid.axes().iter().filter(|axis| axis.nodes > 1).map(|axis| axis.step).product();
    let cell = Cell::new(fine);
    for i in 0..rows {
        for j in 0..columns {
            for k in 0..layers {
                let first = cell.first([i, j, k]);
                if let Some(times) = cell.looked_at(first, mass, volume, repeats) {
                    cell.corrections.iter().for_each(|(at, part)| mass.linear[first + at] += times * volume * part);
                }
            }
        }
    }
}

/// A cell of a lattice, on one with half its step.
struct Cell {
    /// How much further the next node of the finer lattice is on each axis; 0 on those that are not there.
    strides: [usize; 3],
    /// Its halves on all axes: how much further their first corners are.
    parts: Vec<usize>,
    /// From the first corner of a part to the opposite one.
    across: usize,
    /// How much further its nodes are, and what Simpson's weights have more than those of hats, for a volume of 1.
    corrections: Vec<(usize, f64)>,
}

impl Cell {
    fn new(fine: &Grid) -> Self {
        let all = fine.strides();
        let strides: [usize; 3] =
            std::array::from_fn(|place| if fine.axes()[place].nodes > 1 { all[place] } else { 0 });
        let (mut parts, mut nodes) = (vec![0], vec![(0, 1.0, 1.0)]);
        for stride in strides.into_iter().filter(|stride| *stride > 0) {
            parts = parts.iter().flat_map(|at| [*at, at + stride]).collect();
            let along = [(0, 1.0 / 6.0, 0.25), (1, 4.0 / 6.0, 0.5), (2, 1.0 / 6.0, 0.25)];
            let next = |(at, simpson, hats): &(usize, f64, f64)| {
                along.map(|(step, s, h)| (at + step * stride, simpson * s, hats * h))
            };
            nodes = nodes.iter().flat_map(next).collect();
        }
        let corrections = nodes.into_iter().map(|(at, simpson, hats)| (at, simpson - hats)).collect();
        Self { strides, parts, across: strides.iter().sum(), corrections }
    }

    /// The first node of a cell.
    fn first(&self, cell: [usize; 3]) -> usize {
        cell.iter().zip(self.strides).map(|(i, stride)| HALVES * i * stride).sum()
    }

    /// How often it was looked at, if that is the same all over it. The hats of opposite corners of a part share that part alone, and their
    /// product is positive all over it: it has the integral of a whole part only if nothing of it is missing.
    fn looked_at(&self, first: usize, mass: &Mass, volume: f64, repeats: &[f64]) -> Option<f64> {
        let dims = self.strides.iter().filter(|stride| **stride > 0).count() as i32;
        let whole = volume / 12f64.powi(dims);
        let products = mass.square.diagonal(mass.square.place(self.across)?);
        let times = |part: &usize| products[first + part] / whole;
        let found = repeats.iter().copied().find(|r| (times(&self.parts[0]) / r - 1.0).abs() < WHOLE)?;
        self.parts.iter().all(|part| (times(part) / found - 1.0).abs() < WHOLE).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::lattice::{Elimination, Prior};
    use crate::gaussian::{Factor, Precision};
    use crate::numerics::gauss::GaussLegendre;
    use crate::sample::gaussian::standard_normal;
    use crate::sample::stream;
    use crate::window::{Exposure, Polygons};

    /// ∫ of exp of a function that is linear inside the cells of a lattice along each axis: by the nodes, and by Gauss-Legendre inside cells
    /// cut very finely.
    fn both(window: &Window, nodes: &[usize], slope: &[f64]) -> (f64, f64) {
        let margin = vec![0.13; nodes.len()];
        let grid = Grid::around(window, nodes, &margin).unwrap();
        let f = |row: &[f64]| row.iter().zip(slope).map(|(x, s)| s * x).sum::<f64>();
        let (places, weights) = from_above(&grid, window).unwrap();
        let above = places.rows().zip(&weights).map(|(row, w)| w * f(row).exp()).sum::<f64>();
        (above, brute(window, f))
    }

    fn brute(window: &Window, f: impl Fn(&[f64]) -> f64) -> f64 {
        let rule = GaussLegendre::new(3);
        let side: Vec<(f64, f64)> = (0..400)
            .flat_map(|i| rule.on(f64::from(i) / 400.0, f64::from(i + 1) / 400.0).collect::<Vec<_>>())
            .collect();
        let value = |row: &[f64]| window.coverage(row) * f(row).exp();
        match window.dims() {
            1 => side.iter().map(|(x, w)| w * value(&[*x])).sum(),
            _ => side.iter().map(|(x, w)| w * side.iter().map(|(y, v)| v * value(&[*x, *y])).sum::<f64>()).sum(),
        }
    }

    #[test]
    fn the_rule_lies_above_the_integral_and_near_it() {
        let line = Window::interval(0.0, 1.0).unwrap();
        let square = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
        let ring = vec![[0.0, 0.0], [1.0, 0.1], [0.3, 1.0]];
        let triangle = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
        let exposure = Exposure::grid(vec![0], vec![vec![0.0, 0.3, 1.0]], vec![1.0, 4.0, 0.5]).unwrap();
        let exposed = line.clone().with_exposure(exposure).unwrap();
        for (window, nodes, slope, rounding, error) in [
            (&line, vec![9], vec![3.0], 1e-9, 2e-5),
            (&exposed, vec![9], vec![3.0], 1e-6, 3e-3),
            (&square, vec![9, 12], vec![2.0, -3.0], 1e-9, 2e-5),
            (&triangle, vec![20, 24], vec![2.0, -3.0], 1e-4, 3e-3), // the brute force is no better at a border
        ] {
            let (above, exact) = both(window, &nodes, &slope);
            assert!(above > exact * (1.0 - rounding) && above < exact * (1.0 + error), "{above} {exact}");
        }
    }

    /// f from the prior, drawn by the band.
    fn drawn(grid: &Grid, theta: &Theta, smoothness: Smoothness, seed: u64) -> Vec<f64> {
        let prior = Prior::new(grid, smoothness).with_elimination(Elimination::Band);
        let mut f = standard_normal(&mut stream(seed, 0), grid.size());
        prior.precision(theta).factor().unwrap().solve_lower_transposed(&mut f);
        f
    }

    /// With one panel the sum is higher than with two, which is higher than the integral; by about as much as is foreseen, on average over draws.
    #[test]
    fn one_panel_is_too_high_by_what_is_foreseen() {
        let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
        let grid = Grid::around(&window, &[61, 61], &[0.0, 0.0]).unwrap();
        let step = grid.axis(0).step;
        for (smoothness, steps, variance) in
            [(Smoothness::Two, 8.0, 1.0), (Smoothness::Two, 30.0, 2.0), (Smoothness::Four, 12.0, 1.0)]
        {
            let theta = Theta::of_ranges(&[steps * step, steps * step], variance, 0.0);
            let mut excesses = 0.0;
            for seed in 0..12 {
                let f = drawn(&grid, &theta, smoothness, seed);
                let integral = |panels: usize| -> f64 {
                    let (places, weights) = from_above_by(&grid, &window, panels).unwrap();
                    let hats = grid.at(&places).unwrap();
                    (0..hats.len()).map(|n| weights[n] * hats.sum(n, &f).exp()).sum()
                };
                let [one, two, many] = [1, 2, 8].map(integral);
                assert!(one >= two && two >= many * (1.0 - 1e-13), "{one} {two} {many}");
                // Two panels are a sixteenth as far off.
                assert!((one / many - 1.0) > 12.0 * (two / many - 1.0) - 1e-13, "{one} {two} {many}");
                excesses += (one / many - 1.0) / 12.0;
            }
            let foreseen = excess(&theta, smoothness, &[step, step]);
            assert!(excesses < 1.5 * foreseen && excesses > 0.2 * foreseen, "{excesses:e} {foreseen:e}");
        }
    }

    #[test]
    fn what_does_not_vary_has_its_exact_integral() {
        let exposure = Exposure::cells(vec![0], vec![vec![0.0, 0.4, 1.0]], vec![2.0, 0.5]).unwrap();
        let windows = [
            Window::interval(0.0, 1.0).unwrap().with_repeats(3).unwrap(),
            Window::interval(0.0, 1.0).unwrap().with_exposure(exposure).unwrap(),
            Window::new(&[(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]).unwrap(),
        ];
        for window in windows {
            let grid = Grid::around(&window, &vec![7; window.dims()], &vec![0.1; window.dims()]).unwrap();
            let (_, weights) = from_above(&grid, &window).unwrap();
            let total: f64 = weights.iter().sum();
            assert!((total / window.measure() - 1.0).abs() < 1e-12 && weights.iter().all(|w| *w > 0.0), "{total}");
        }
    }
}
