//! The lattice: f on a regular grid of hat functions with a Matérn prior whose precision is sparse
//! (docs/derivation.md, section 11).
//!
//! f(x) = ū + Σ_j w_j ψ_j(x), w ~ N(0, Q⁻¹). Nothing of the likelihood is discretised: ∫ f² over the window is a
//! quadratic form of w with an exact mass matrix. Every matrix here is a few of its diagonals (`gaussian/diagonals.rs`); one
//! natural step is a Cholesky factor and the part of an inverse that lies on those diagonals. Cost: n_long · n_short³
//! on a plane, M^1.5 on a large one, linear in the nodes on a line. `hats.rs` (where the nodes are, and hats as rows), `prior.rs` (Q), `mass.rs`
//! (the window), `at.rs` (q at fixed Θ), `between.rs` (variances between nodes). It scales no coordinates: that is its caller's.

mod at;
pub(crate) mod between;
mod hats;
mod mass;
mod next_order;
mod prior;
mod rule;
pub(crate) mod size;

pub(crate) use at::{Beside, Rows, Weighted, marginal, of_variance};
pub use at::{Optimum, Slopes};
pub(crate) use hats::GridAxis;
pub(crate) use hats::HatRows;
pub use hats::{Grid, Hats};
pub use mass::Mass;
use mass::between_lines_and;
pub(crate) use prior::Innovation;
pub use prior::{Prior, PriorSlopes, Smoothness, Theta};
#[cfg(test)]
pub(crate) use rule::above;
pub(crate) use rule::from_above;
pub(crate) use rule::{PANELS, excess, is_large};
use rule::{WithRegressors, from_above_by, from_above_with};
pub use size::Elimination;

use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::gaussian::step::{Clamp, Until};
use crate::gaussian::{Bordered, Diagonals, Region, Sites, bordered};
use crate::terms::{LOG_SQUARE, Link, Marginals, Part};
use crate::window::{PieceNodes, Span, Window};
use std::sync::Arc;

/// The constant about which f varies on a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LatticeMean {
    /// A hyper-parameter, learned like the others.
    Learned,
    /// An unknown of q with a vague prior about the level of the mean rate: its uncertainty is part of every answer.
    #[default]
    Integrated,
}

/// Most nodes of a lattice that goes on beyond the window, and most memory.
const MOST_WIDENED: f64 = 1e6;
/// Most nodes on a line as far as is asked for: a thousand draws of so many take a second or two.
const MOST_ASKED: f64 = 32_768.0;
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
    /// The window's integrals, of all unknowns.
    region: Region<Bordered<Diagonals>>,
    /// The unknowns beside the hats' coefficients.
    beside: Beside,
    /// What covariates add to f, if there are any.
    regressors: Option<Arc<Regressors>>,
}

/// Nodes of the integral over a window, on a lattice.
#[derive(Clone)]
pub(crate) struct IntegralNodes {
    pub(crate) hats: Hats,
    pub(crate) weights: Vec<f64>,
    pub(crate) points: Points,
}

/// Nodes and weights with Σ w λ ≥ ∫λ over a region, with the regressors beside their hats. `panels` in a cell along each axis, where there are no
/// covariates, unless the usual number is meant.
pub(crate) fn nodes_over(
    (grid, regressors): (&Grid, Option<&Regressors>),
    region: &Window,
    panels: Option<usize>,
) -> Result<IntegralNodes> {
    let Some(regressors) = regressors else {
        let (points, weights) = from_above_by(grid, region, panels.unwrap_or_else(|| rule::panels(grid)))?;
        return Ok(IntegralNodes { hats: grid.at(&points)?, weights, points });
    };
    regressors.check_covers(&region.bounding_box())?;
    let WithRegressors { points, dense, weights } = from_above_with(grid, region, regressors)?;
    Ok(IntegralNodes { hats: grid.at(&points)?.beside(dense), weights, points })
}

/// Quadrature over a region between the lines of a lattice, and those at which covariates jump.
pub(crate) fn pieces_between((grid, regressors): (&Grid, Option<&Regressors>), region: &Window) -> Vec<PieceNodes> {
    between_lines_and(grid, region, |r| regressors.map_or_else(Vec::new, |regressors| regressors.lines(r)))
}

impl Lattice {
    /// `nodes[r]` nodes on axis r, from `margin[r]` below the window to as much above it.
    pub fn new(window: &Window, nodes: &[usize], margin: &[f64], smoothness: Smoothness) -> Result<Self> {
        let grid = Grid::around(window, nodes, margin)?;
        if smoothness == Smoothness::One && grid.dims() > 1 {
            return Err(Error::setting("smoothness", 1, "is for a line alone; take 2 or 4"));
        }
        let prior = Prior::new(&grid, smoothness);
        let region = bordered::with_constant(Mass::over(&grid, window)?, None);
        Ok(Self { grid, prior, region, beside: Beside::default(), regressors: None })
    }

    /// The same with a constant among the unknowns, of this prior standard deviation about ū; or without.
    pub(crate) fn with_constant(self, sd: Option<f64>) -> Self {
        let Region { square, mut linear, residual, measure } = self.region;
        linear.truncate(self.grid.size());
        let region = bordered::with_constant(Region { square: square.inner, linear, residual, measure }, sd);
        Self { region, beside: Beside { constant: sd, ..self.beside }, ..self }
    }

    /// The same with covariates among the unknowns; or without.
    pub(crate) fn with_regressors(self, regressors: Option<Arc<Regressors>>) -> Self {
        let covariates = regressors.as_ref().map_or(0, |regressors| regressors.len());
        Self { beside: Beside { covariates, ..self.beside }, regressors, ..self }
    }

    /// What covariates add to f, if there are any.
    pub(crate) fn regressors(&self) -> Option<&Arc<Regressors>> {
        self.regressors.as_ref()
    }

    /// The unknowns beside the hats' coefficients.
    pub(crate) fn beside(&self) -> Beside {
        self.beside
    }

    /// Hats at points, with the regressors there.
    pub(crate) fn at(&self, points: &Points) -> Result<Hats> {
        let hats = self.grid.at(points)?;
        match &self.regressors {
            Some(regressors) => Ok(hats.beside(regressors.at(points)?)),
            None => Ok(hats),
        }
    }

    /// Nodes and weights with Σ w λ ≥ ∫λ over a region.
    pub(crate) fn integral_nodes(&self, region: &Window) -> Result<IntegralNodes> {
        nodes_over((&self.grid, self.regressors.as_deref()), region, None)
    }

    /// The same with so many panels in a cell along each axis, where there are no covariates: with fewer of them the sum is higher.
    pub(crate) fn integral_nodes_by(&self, region: &Window, panels: usize) -> Result<IntegralNodes> {
        nodes_over((&self.grid, self.regressors.as_deref()), region, Some(panels))
    }

    /// Quadrature over a region between the lines at which λ has kinks or jumps.
    pub(crate) fn between_lines(&self, region: &Window) -> Vec<PieceNodes> {
        pieces_between((&self.grid, self.regressors.as_deref()), region)
    }

    /// The same with a precision that is factored in this way. By itself a lattice takes the one that should take less time, but for small ones.
    pub fn with_elimination(self, elimination: Elimination) -> Self {
        Self { prior: self.prior.with_elimination(elimination), ..self }
    }

    /// How its precision is factored.
    pub(crate) fn elimination(&self) -> Elimination {
        self.prior.elimination()
    }

    /// The same for many natural steps.
    pub(crate) fn for_steps(self) -> Self {
        let elimination = size::fastest(&self.grid.nodes(), self.prior.smoothness());
        self.with_elimination(elimination)
    }

    /// The same for a posterior.
    pub(crate) fn for_answers(self) -> Self {
        let elimination = size::elimination(&self.grid.nodes(), self.prior.smoothness());
        self.with_elimination(elimination)
    }

    /// Number of unknowns.
    pub(crate) fn size(&self) -> usize {
        self.grid.size() + self.beside.len()
    }

    /// The prior standard deviation of the constant, if that is among the unknowns.
    pub(crate) fn constant(&self) -> Option<f64> {
        self.beside.constant
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
        let asked: f64 = self.grid.missing(spans, &vec![0.0; spans.len()]).iter().flatten().sum();
        let is_near = spans.len() > 1 || asked <= MOST_ASKED;
        if !(is_near && total <= MOST_WIDENED && size::bytes(&whole, self.prior.smoothness()) <= MOST_BYTES) {
            let requirement = "to go on so far beyond the window a lattice would need too many; ask for less of it, or fit with inducing \
                points";
            return Err(Error::setting("nodes", format!("{total:.0}"), requirement));
        }
        let more: Vec<[usize; 2]> = missing.iter().map(|counts| counts.map(|count| count as usize)).collect();
        let (grid, places) = self.grid.widened(&more)?;
        let prior = Prior::new(&grid, self.prior.smoothness());
        let region = Region { linear: vec![], ..self.region.clone() };
        let mut wide =
            Widened { lattice: Self { grid, prior, region, beside: Beside::default(), regressors: None }, places };
        let Region { square, linear, residual, measure } = &self.region;
        let (square, linear) = (wide.matrix(&square.inner), wide.vector(&linear[..self.grid.size()]));
        let mass = Region { square, linear, residual: *residual, measure: *measure };
        wide.lattice.region = bordered::with_constant(mass, None);
        wide.lattice = wide.lattice.with_constant(self.beside.constant).with_regressors(self.regressors.clone());
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

    /// What the rows of hats (and the constant) integrate to over the window.
    pub fn region(&self) -> &Region<Bordered<Diagonals>> {
        &self.region
    }

    /// What they integrate to over another region.
    pub(crate) fn over(&self, window: &Window) -> Result<Region<Bordered<Diagonals>>> {
        Ok(bordered::with_constant(Mass::over(&self.grid, window)?, self.beside.constant))
    }

    /// q at its optimum for fixed Θ and λ = f²: natural steps from a flat intensity of this height, or from sites, until one gains less
    /// than `tolerance` nats, at most `most` of them. `weights` are those of the points: 1 for raw events.
    pub fn maximise(
        &self,
        points: &Points,
        weights: &[f64],
        theta: &Theta,
        start: Start,
        steps: (f64, usize),
    ) -> Result<Optimum> {
        let sites = match start {
            Start::Flat(level) => Sites::flat(&LOG_SQUARE, level, points.len()),
            Start::Known(f) => Sites::of(&LOG_SQUARE, &f),
            Start::Sites(sites) => sites,
        };
        if weights.len() != points.len() || sites.len() != points.len() {
            let found = weights.len().min(sites.len());
            return Err(Error::Dimension { what: "weights and sites of the points", expected: points.len(), found });
        }
        theta.check(self.grid.dims())?;
        let hats = self.grid.at(points)?;
        self.optimum(Link::Square.formula(), &[Weighted { hats: &hats, weights }], theta, sites, until(steps))
    }

    /// The same for raw events and any link, from a flat f of the height of Θ's mean. The window is the one that the lattice was made for.
    pub fn maximise_linked(
        &self,
        link: Link,
        window: &Window,
        events: &Points,
        theta: &Theta,
        steps: (f64, usize),
    ) -> Result<Optimum> {
        theta.check(self.grid.dims())?;
        let level = theta.mean;
        let (link, hats, weights) = (link.formula(), self.grid.at(events)?, vec![1.0; events.len()]);
        let sites = Sites::flat(link.events(), level, events.len());
        let events = Weighted { hats: &hats, weights: &weights };
        let Part::Sites(integral) = link.integral() else {
            return self.optimum(link, &[events], theta, sites, until(steps));
        };
        let (places, of_nodes) = from_above(&self.grid, window)?;
        let nodes = self.grid.at(&places)?;
        let sites = sites.followed_by(Sites::flat(integral, level, of_nodes.len()));
        let said = [events, Weighted { hats: &nodes, weights: &of_nodes }];
        self.optimum(link, &said, theta, sites, until(steps))
    }

    /// Products and sums of a natural step by nested dissection: of the factor, and of its inverse between neighbours.
    pub fn dissection_work(&self) -> f64 {
        size::by_dissection(&self.grid.nodes(), self.prior.smoothness()).work
    }
}

/// Natural steps until one gains less than so many nats, at most so many of them.
fn until((tolerance, most): (f64, usize)) -> Until<'static> {
    Until { tolerance, most, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) }
}

/// Where natural steps start.
pub enum Start {
    /// A flat f of this height.
    Flat(f64),
    /// f as it is known at each of the points.
    Known(Marginals),
    /// What they said of f before.
    Sites(Sites),
}
