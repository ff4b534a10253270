//! What the hats integrate to over a window, exactly: ∫ψψᵀ, ∫ψ and ∫1.
//!
//! Quadrature panels that end at the lines of the lattice see a polynomial of degree 2 on each axis (3 under an
//! exposure, which is linear or even between lines of its own), so that the window's nodes (`window/nodes.rs`) are exact. A box
//! is a product of three lines, an outline or an exposure on two axes a table over them times a line, an exposure
//! on all three a sum over points. Cost: a few dozen operations per node of the lattice.

use super::Grid;
use super::hats::GridAxis;
use crate::error::{Error, Result};
use crate::gaussian::{Diagonals, Region};
use crate::numerics::linalg::Matrix;
use crate::window::{AxisRule, Nodes, Panels, PieceNodes, Weights, Window};
use std::ops::Range;

/// The hats' integrals over a window, repeats and exposure included; they leave nothing open.
pub type Mass = Region<Diagonals>;

impl Mass {
    /// The integrals over a window.
    pub fn over(grid: &Grid, window: &Window) -> Result<Self> {
        if window.dims() != grid.dims() {
            return Err(Error::Dimension { what: "window", expected: grid.dims(), found: window.dims() });
        }
        let square = Diagonals::zeros(grid.size(), grid.neighbour_shifts());
        let mut mass = Self { square, linear: vec![0.0; grid.size()], residual: 0.0, measure: 0.0 };
        for piece in between_lines(grid, window) {
            mass.measure += piece.total();
            mass.add_piece(grid, &piece)?;
        }
        Ok(mass)
    }

    fn add_piece(&mut self, grid: &Grid, piece: &PieceNodes) -> Result<()> {
        if let Weights::Single(nodes) = &piece.weights {
            return self.add_points(grid, nodes, piece.repeats);
        }
        let line = |r: usize| piece.axes.get(r).map_or_else(Line::absent, |panels| Line::new(&grid.axis(r), panels));
        match &piece.weights {
            Weights::Pair(joint) => {
                let joint = Joint::new(&grid.axis(0), &grid.axis(1), &piece.axes, joint);
                self.add_plane(grid, &joint, &line(2), piece.repeats);
            }
            _ => self.add_plane(grid, &[line(0), line(1)], &line(2), piece.repeats),
        }
        Ok(())
    }

    /// Adds the product of what a plane (the window's first two axes) and a line (the third) integrate to.
    fn add_plane(&mut self, grid: &Grid, plane: &impl Plane, line: &Line, repeats: f64) {
        let strides = grid.outer_strides();
        let [rows, columns] = plane.ranges();
        let place_at = |values: &mut [f64], offset: [isize; 2], along: &[f64]| {
            for i in rows.clone() {
                for j in columns.clone() {
                    let level = repeats * plane.value(offset, i, j);
                    let start = i * strides[0] + j * strides[1];
                    if level != 0.0 {
                        line.range.clone().for_each(|l| values[start + l * strides[2]] += level * along[l]);
                    }
                }
            }
        };
        for offset in neighbours() {
            let Some(place) = grid.outer_shift(offset).and_then(|shift| self.square.place(shift)) else { continue };
            let along = &line.products[(offset[2] + 1) as usize];
            place_at(self.square.diagonal_mut(place), [offset[0], offset[1]], along);
        }
        for i in rows.clone() {
            for j in columns.clone() {
                let level = repeats * plane.hat(i, j);
                let start = i * strides[0] + j * strides[1];
                line.range.clone().for_each(|l| self.linear[start + l * strides[2]] += level * line.hats[l]);
            }
        }
    }

    /// Adds weighted points.
    fn add_points(&mut self, grid: &Grid, nodes: &Nodes, repeats: f64) -> Result<()> {
        let hats = grid.at(&nodes.points)?;
        hats.add_squares(&mut self.square, |n| repeats * nodes.weights[n]);
        hats.add_sums(&mut self.linear, |n| repeats * nodes.weights[n]);
        Ok(())
    }
}

/// Quadrature over a window whose panels end at the lines of the lattice. With no length over which it varies, the integrand is a polynomial
/// between them: fewest nodes, exact to degree 3.
pub(crate) fn between_lines(grid: &Grid, window: &Window) -> Vec<PieceNodes> {
    between_lines_and(grid, window, |_| vec![])
}

/// The same with panels that end at further lines across each axis too.
pub(crate) fn between_lines_and(grid: &Grid, window: &Window, more: impl Fn(usize) -> Vec<f64>) -> Vec<PieceNodes> {
    let spans = window.bounding_box();
    let lines: Vec<Vec<f64>> =
        (0..grid.dims()).map(|r| [grid.axis(r).places_about(spans[r]), more(r)].concat()).collect();
    let rules: Vec<_> = lines.iter().map(|kinks| AxisRule { length: f64::INFINITY, kinks }).collect();
    window.nodes(&rules)
}

/// The offsets to all neighbours, and to the node itself.
fn neighbours() -> impl Iterator<Item = [isize; 3]> {
    (0..27).map(|n| [n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1])
}

/// Integrals over the window's first two axes.
trait Plane {
    /// The nodes on each of them that are touched.
    fn ranges(&self) -> [Range<usize>; 2];

    /// ∫∫ of the hat of a node times that of its neighbour.
    fn value(&self, offset: [isize; 2], i: usize, j: usize) -> f64;

    /// ∫∫ of the hat of a node.
    fn hat(&self, i: usize, j: usize) -> f64;
}

/// Integrals along one axis.
struct Line {
    /// The nodes whose hats are touched.
    range: Range<usize>,
    /// ∫ψ_i ψ_{i+offset} at i, for offsets −1, 0, 1.
    products: [Vec<f64>; 3],
    /// ∫ψ.
    hats: Vec<f64>,
}

impl Line {
    /// An axis that is not there.
    fn absent() -> Self {
        Self { range: 0..1, products: [vec![0.0], vec![1.0], vec![0.0]], hats: vec![1.0] }
    }

    fn new(axis: &GridAxis, panels: &Panels) -> Self {
        let (nodes, none) = (axis.nodes, || vec![0.0; axis.nodes]);
        let mut line = Self { range: nodes..0, products: [none(), none(), none()], hats: none() };
        for (x, weight) in panels.x.iter().zip(&panels.weights) {
            let (cell, share) = axis.locate(*x);
            line.range = line.range.start.min(cell)..line.range.end.max(cell + 2);
            let hats = [1.0 - share, share];
            for a in 0..2 {
                line.hats[cell + a] += weight * hats[a];
                (0..2).for_each(|b| line.products[b + 1 - a][cell + a] += weight * hats[a] * hats[b]);
            }
        }
        line
    }
}

impl Plane for [Line; 2] {
    fn ranges(&self) -> [Range<usize>; 2] {
        [self[0].range.clone(), self[1].range.clone()]
    }

    fn value(&self, offset: [isize; 2], i: usize, j: usize) -> f64 {
        let [a, b] = offset.map(|o| (o + 1) as usize);
        self[0].products[a][i] * self[1].products[b][j]
    }

    fn hat(&self, i: usize, j: usize) -> f64 {
        self[0].hats[i] * self[1].hats[j]
    }
}

/// Integrals over two axes that are weighed jointly.
struct Joint {
    /// For each pair of offsets −1, 0, 1. // (nodes, nodes)
    products: Vec<Matrix>,
    hats: Matrix,
}

impl Joint {
    fn new(x: &GridAxis, y: &GridAxis, panels: &[Panels], weights: &Matrix) -> Self {
        let none = || Matrix::zeros(x.nodes, y.nodes);
        let mut joint = Self { products: (0..9).map(|_| none()).collect(), hats: none() };
        let places: Vec<(usize, f64)> = panels[0].x.iter().map(|at| x.locate(*at)).collect();
        for (q, at) in panels[1].x.iter().enumerate() {
            let (row, up) = y.locate(*at);
            for (p, &(column, right)) in places.iter().enumerate() {
                if weights[(p, q)] != 0.0 {
                    joint.add_node([column, row], [right, up], weights[(p, q)]);
                }
            }
        }
        joint
    }

    /// Adds a node that stands at `share` of a cell.
    fn add_node(&mut self, cell: [usize; 2], share: [f64; 2], weight: f64) {
        let hats = share.map(|s| [1.0 - s, s]);
        for (a, b) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let at = (cell[0] + a, cell[1] + b);
            let level = weight * hats[0][a] * hats[1][b];
            self.hats[at] += level;
            for (c, d) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                self.products[(c + 1 - a) * 3 + d + 1 - b][at] += level * hats[0][c] * hats[1][d];
            }
        }
    }
}

impl Plane for Joint {
    fn ranges(&self) -> [Range<usize>; 2] {
        [0..self.hats.rows(), 0..self.hats.cols()]
    }

    fn value(&self, offset: [isize; 2], i: usize, j: usize) -> f64 {
        let [a, b] = offset.map(|o| (o + 1) as usize);
        self.products[3 * a + b][(i, j)]
    }

    fn hat(&self, i: usize, j: usize) -> f64 {
        self.hats[(i, j)]
    }
}
