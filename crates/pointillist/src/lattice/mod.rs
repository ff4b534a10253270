//! The lattice: f on a regular grid of hat functions with a Matérn prior whose precision is sparse (math: the lattice).
//!
//! f(x) = ū + Σ_j w_j ψ_j(x), w ~ N(0, Q⁻¹). Nothing of the likelihood is discretised: ∫ f² over the window is a
//! quadratic form of w with an exact mass matrix. Every matrix here is a few of its diagonals (`diagonals.rs`); one
//! natural step is a Cholesky factor and the part of an inverse that lies on those diagonals. Cost: n_long · n_short³
//! on a plane, linear in the nodes on a line. In flow order: `grid.rs` (where the nodes are), `prior.rs` (Q), `mass.rs`
//! (the window), `factor.rs` (`band.rs` or `blocks.rs`), `natural.rs` (q at fixed Θ), `source.rs` (what stands for the
//! events), `level.rs` (one lattice with them on it), `size.rs` (what a lattice costs), `search.rs` (Θ, the nodes and the margin), `learn.rs` (all of it). It scales no coordinates: that
//! is its caller's.

mod band;
mod blocks;
mod diagonals;
mod factor;
mod grid;
pub(crate) mod learn;
mod level;
mod mass;
mod natural;
mod prior;
mod search;
mod size;
mod source;

pub use diagonals::Diagonals;
pub use factor::Factor;
pub use grid::{Grid, Hats};
pub use mass::Mass;
pub use natural::{Optimum, Slopes};
pub use prior::{Prior, PriorSlopes, Smoothness, Theta};

pub use crate::infer::sites::Sites;

use crate::error::{Error, Result};
use crate::infer::sites::Clamp;
use crate::points::Points;
use crate::window::{Span, Window};

/// Most nodes of a lattice that goes on beyond the window, and most memory.
const MOST_WIDENED: f64 = 1e6;
const MOST_BYTES: f64 = 2e9;

/// A lattice with more nodes around another.
pub(crate) struct Widened {
    pub(crate) lattice: Lattice,
    /// Where the nodes of the other are.
    places: Vec<usize>,
}

impl Widened {
    /// A matrix of neighbours on the other lattice, on this one.
    pub(crate) fn matrix(&self, matrix: &Diagonals) -> Diagonals {
        matrix.moved(self.lattice.grid.size(), self.lattice.grid.neighbour_shifts(), &self.places)
    }

    /// A vector, with zeros at the new nodes.
    pub(crate) fn vector(&self, vector: &[f64]) -> Vec<f64> {
        let mut wide = vec![0.0; self.lattice.grid.size()];
        self.places.iter().zip(vector).for_each(|(&place, value)| wide[place] = *value);
        wide
    }
}

/// What does not change with Θ: the nodes, the prior's tables, the window's integrals.
#[derive(Debug, Clone)]
pub struct Lattice {
    grid: Grid,
    prior: Prior,
    mass: Mass,
}

impl Lattice {
    /// `nodes[r]` nodes on axis r, from `margin[r]` below the window to as much above it.
    pub fn new(window: &Window, nodes: &[usize], margin: &[f64], smoothness: Smoothness) -> Result<Self> {
        let grid = Grid::around(window, nodes, margin)?;
        let prior = Prior::new(&grid, smoothness);
        let mass = Mass::over(&grid, window)?;
        Ok(Self { grid, prior, mass })
    }

    /// The same lattice with more nodes around it, so that it reaches `reach[r]` beyond a box on the sides on which that lies outside
    /// the window (which is the unit box); none if it does already. The window's integrals stay as they are.
    pub(crate) fn widened(&self, spans: &[Span], reach: &[f64]) -> Result<Option<Widened>> {
        let missing = self.grid.missing(spans, reach);
        if missing.iter().flatten().all(|count| *count == 0.0) {
            return Ok(None);
        }
        let nodes: Vec<f64> =
            self.grid.nodes().iter().zip(&missing).map(|(n, [below, above])| *n as f64 + below + above).collect();
        let total: f64 = nodes.iter().product();
        let whole: Vec<usize> = nodes.iter().map(|n| n.min(1e9) as usize).collect();
        if !(total <= MOST_WIDENED && size::bytes(&whole, self.prior.smoothness()) <= MOST_BYTES) {
            let requirement = "to go on so far beyond the window a lattice would need too many; ask for less of it, or fit with inducing \
                points (--basis inducing)";
            return Err(Error::setting("nodes", format!("{total:.0}"), requirement));
        }
        let more: Vec<[usize; 2]> = missing.iter().map(|counts| counts.map(|count| count as usize)).collect();
        let (grid, places) = self.grid.widened(&more)?;
        let prior = Prior::new(&grid, self.prior.smoothness());
        let mut wide = Widened { lattice: Self { grid, prior, mass: self.mass.clone() }, places };
        let (square, linear) = (wide.matrix(&self.mass.square), wide.vector(&self.mass.linear));
        wide.lattice.mass = Mass { square, linear, measure: self.mass.measure };
        Ok(Some(wide))
    }

    /// The nodes.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The prior of the coefficients.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// What the hats integrate to over the window.
    pub fn mass(&self) -> &Mass {
        &self.mass
    }

    /// q at its optimum for fixed Θ: natural steps from `sites` until one gains less than `tolerance` nats, at most
    /// `most` of them. `weights` are those of the points: 1 for raw events.
    pub fn maximise(
        &self,
        points: &Points,
        weights: &[f64],
        theta: &Theta,
        sites: Sites,
        tolerance: f64,
        most: usize,
    ) -> Result<Optimum> {
        if weights.len() != points.len() || sites.len() != points.len() {
            let found = weights.len().min(sites.len());
            return Err(Error::Dimension { what: "weights and sites of the points", expected: points.len(), found });
        }
        theta.check(self.grid.dims())?;
        let hats = self.grid.at(points)?;
        natural::Problem::new(self, &hats, weights, theta).maximise(sites, tolerance, most, Clamp::UntilSettled)
    }
}
