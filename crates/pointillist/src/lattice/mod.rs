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
use crate::window::Window;

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
