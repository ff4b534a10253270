//! Several independent fields on one lattice, of which each type of events has a share.
//!
//! f_c(x) = β_c + Σ_l a_cl g_l(x), g_l(x) = Σ_j w_jl ψ_j(x) with w_l ~ N(0, Q_l⁻¹), independent. A node carries L numbers, which stand next to each
//! other: the graph of the lattice stays, and so do its band and its dissection, with blocks of L×L in place of numbers. The constants β_c are dense
//! unknowns beside it. A field shared by all types and one for each of them is L = C + 1 with loads (1, e_c): their ranges may differ, which f_c
//! themselves as unknowns would not allow (their covariance is then no product). With covariates each type has effects of its own, f_c + φᵀζ_c, which are
//! dense unknowns too, after the constants, type by type. The log link alone. Cost of a natural step: L³ times that of one field.
//! `at.rs` (q at fixed Θ), `next_order.rs` (its width). It scales no coordinates: that is its caller's.

mod at;
mod next_order;

pub(crate) use at::{LayersOptimum, Observed, Set};

use crate::covariates::Regressors;
use crate::data::points::Points;
use crate::error::Result;
use crate::field::lattice::size::Elimination;
use crate::field::lattice::{Grid, Hats, IntegralNodes, Prior, Smoothness, Theta, nodes_over, pieces_between};
use crate::gaussian::dissection::Plan;
use crate::gaussian::{Bordered, Diagonals};
use crate::window::{PieceNodes, Window};
use std::sync::Arc;

/// Standard deviation of a constant about the level of the mean rate of its type.
pub(crate) const VAGUE: f64 = 3.0;
/// From so many products and sums of a band factor on, the lattice is dissected.
const WIDE: f64 = 2e8;

/// What does not change with Θ.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    grid: Grid,
    prior: Prior,
    /// L.
    count: usize,
    /// The prior means of the constants, one for each type.
    levels: Vec<f64>,
    /// The diagonals of its matrices.
    shifts: Vec<usize>,
    /// How they are factored, if by nested dissection.
    plan: Option<Arc<Plan>>,
    /// What covariates add to f, if there are any.
    regressors: Option<Arc<Regressors>>,
}

/// Θ of each field, and the share that each type has of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LayersTheta {
    /// By field.
    pub(crate) fields: Vec<Theta>,
    /// a. By type, then by field.
    pub(crate) loads: Vec<Vec<f64>>,
}

impl Layers {
    /// `nodes[r]` nodes on axis r, from `margin[r]` below the window to as much above it; so many fields; and the levels about which the constants of
    /// the types are.
    pub(crate) fn new(
        window: &Window,
        (nodes, margin): (&[usize], &[f64]),
        smoothness: Smoothness,
        count: usize,
        levels: Vec<f64>,
    ) -> Result<Self> {
        let grid = Grid::around(window, nodes, margin)?;
        let prior = Prior::new(&grid, smoothness).with_elimination(Elimination::Band);
        let offsets = offsets(&grid, smoothness, count);
        let strides =
            [grid.axes()[1].nodes * grid.axes()[2].nodes, grid.axes()[2].nodes, 1].map(|s| (s * count) as isize);
        let shift = |([a, b, c], l): &([isize; 3], isize)| a * strides[0] + b * strides[1] + c * strides[2] + l;
        let mut shifts: Vec<usize> = offsets.iter().filter_map(|offset| usize::try_from(shift(offset)).ok()).collect();
        shifts.sort_unstable();
        shifts.dedup();
        let width = shifts.last().copied().unwrap_or(0) as f64;
        let is_wide = (grid.size() * count) as f64 * width * width > WIDE && grid.dims() == 2;
        let plan = is_wide.then(|| {
            let [_, a, b] = grid.axes().map(|axis| axis.nodes);
            let flat: Vec<[isize; 3]> = offsets.iter().map(|([_, a, b], l)| [*a, *b, *l]).collect();
            Arc::new(Plan::new([a, b, count], &flat))
        });
        Ok(Self { grid, prior, count, levels, shifts, plan, regressors: None })
    }

    /// The same with covariates, of which each type has effects of its own; or without.
    pub(crate) fn with_regressors(self, regressors: Option<Arc<Regressors>>) -> Self {
        Self { regressors, ..self }
    }

    /// What covariates add to f, if there are any.
    pub(crate) fn regressors(&self) -> Option<&Arc<Regressors>> {
        self.regressors.as_ref()
    }

    /// K.
    pub(crate) fn covariates(&self) -> usize {
        self.regressors.as_ref().map_or(0, |regressors| regressors.len())
    }

    /// The dense unknowns: the constants, and the effects of covariates on each type.
    pub(crate) fn beside(&self) -> usize {
        self.types() * (1 + self.covariates())
    }

    /// Hats at points, with the regressors there.
    pub(crate) fn at(&self, points: &Points) -> Result<Hats> {
        let hats = self.grid.at(points)?;
        match &self.regressors {
            Some(regressors) => Ok(hats.beside(regressors.at(points)?)),
            None => Ok(hats),
        }
    }

    /// Nodes and weights with Σ w λ ≥ ∫λ over a region, the regressors beside their hats.
    pub(crate) fn integral_nodes(&self, region: &Window) -> Result<IntegralNodes> {
        nodes_over((&self.grid, self.regressors.as_deref()), region, None)
    }

    /// Quadrature over a region between the lines at which λ has kinks or jumps.
    pub(crate) fn between_lines(&self, region: &Window) -> Vec<PieceNodes> {
        pieces_between((&self.grid, self.regressors.as_deref()), region)
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    pub(crate) fn smoothness(&self) -> Smoothness {
        self.prior.smoothness()
    }

    /// L.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The levels about which the constants are, one for each type.
    pub(crate) fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// C.
    pub(crate) fn types(&self) -> usize {
        self.levels.len()
    }

    /// Number of coefficients, those of all fields.
    pub(crate) fn coefficients(&self) -> usize {
        self.grid.size() * self.count
    }

    /// Number of unknowns.
    pub(crate) fn size(&self) -> usize {
        self.coefficients() + self.beside()
    }

    /// About so many products and sums are made in a natural step.
    pub(crate) fn work(&self) -> f64 {
        let width = self.shifts.last().copied().unwrap_or(0) as f64;
        match (&self.plan, self.grid.dims()) {
            (Some(plan), _) => plan.work(),
            (None, _) => 3.0 * self.coefficients() as f64 * width * width,
        }
    }

    /// The diagonals on which neighbours are, of all pairs of fields.
    pub(crate) fn neighbour_shifts(&self) -> Vec<usize> {
        let (count, all) = (self.count as isize, self.grid.neighbour_shifts());
        let pairs = |shift: &usize| {
            let shift = *shift as isize * count;
            (1 - count..count).filter_map(move |l| usize::try_from(shift + l).ok())
        };
        let mut shifts: Vec<usize> = all.iter().flat_map(pairs).collect();
        shifts.sort_unstable();
        shifts.dedup();
        shifts
    }

    /// No entries yet, and room for those of Q and of neighbours.
    fn zeros(&self) -> Diagonals {
        match &self.plan {
            Some(plan) => Diagonals::planned(plan.clone()),
            None => Diagonals::zeros(self.coefficients(), self.shifts.clone()),
        }
    }

    /// Q of all fields, with the unit prior of the constants beside it (each in units of [`VAGUE`]).
    pub(crate) fn precision(&self, theta: &LayersTheta) -> Bordered<Diagonals> {
        let mut all = self.zeros();
        let mut last: Option<(&Theta, Diagonals)> = None;
        for (l, own) in theta.fields.iter().enumerate() {
            let of_field = match last.take() {
                Some((same, precision)) if same == own => precision,
                _ => self.prior.precision(own),
            };
            self.add_field(&mut all, l, &of_field);
            last = Some((own, of_field));
        }
        Bordered::beside(all, self.beside())
    }

    /// Adds the matrix of one field.
    fn add_field(&self, all: &mut Diagonals, l: usize, own: &Diagonals) {
        for (place, &shift) in own.shifts().iter().enumerate() {
            let Some(target) = all.place(shift * self.count) else { continue };
            let values = all.diagonal_mut(target)[l..].iter_mut().step_by(self.count);
            values.zip(own.diagonal(place)).for_each(|(value, own)| *value += own);
        }
    }

    /// The part of a matrix that is of one field alone.
    fn of_field(&self, all: &Diagonals, l: usize) -> Diagonals {
        let of_prior = self.shifts.iter().filter(|shift| shift.is_multiple_of(self.count));
        let mut own = Diagonals::zeros(self.grid.size(), of_prior.map(|shift| shift / self.count).collect());
        for place in 0..own.shifts().len() {
            let Some(from) = all.place(own.shifts()[place] * self.count) else { continue };
            let values = all.diagonal(from)[l..].iter().step_by(self.count);
            own.diagonal_mut(place).iter_mut().zip(values).for_each(|(own, value)| *own = *value);
        }
        own
    }

    /// log|Q|.
    pub(crate) fn log_determinant(&self, theta: &LayersTheta) -> f64 {
        let mut known: Vec<(&Theta, f64)> = vec![];
        let mut sum = 0.0;
        for own in &theta.fields {
            let found = known.iter().find(|(same, _)| *same == own).map(|(_, log)| *log);
            let log = found.unwrap_or_else(|| self.prior.log_determinant(own));
            known.push((own, log));
            sum += log;
        }
        sum
    }

    /// The prior mean of the unknowns.
    pub(crate) fn prior_mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.coefficients()];
        mean.extend(self.levels.iter().map(|level| level / VAGUE));
        mean.resize(self.size(), 0.0);
        mean
    }

    /// Hats of the lattice, with the regressors if any are not 0, as rows over the unknowns, for Σ_c share_c f_c.
    pub(crate) fn taking(&self, hats: &Hats, theta: &LayersTheta, shares: &[f64]) -> Hats {
        let load = |l: usize| -> f64 { shares.iter().zip(&theta.loads).map(|(share, loads)| share * loads[l]).sum() };
        let loads: Vec<f64> = (0..self.count).map(load).collect();
        let constants = shares.iter().map(|share| vec![VAGUE * share; hats.len()]);
        let of_column = |share: f64, k: usize| match hats.dense.get(k) {
            Some(z) if share != 0.0 => z.iter().map(|z| share * z).collect(),
            _ => vec![0.0; hats.len()],
        };
        let of_type = |share: &f64| (0..self.covariates()).map(|k| of_column(*share, k)).collect::<Vec<_>>();
        let dense = constants.chain(shares.iter().flat_map(of_type)).collect();
        self.loaded(hats, &loads).beside(dense)
    }

    /// The same for Σ_l load_l g_l.
    pub(crate) fn loaded(&self, hats: &Hats, loads: &[f64]) -> Hats {
        let used: Vec<(usize, f64)> = loads.iter().copied().enumerate().filter(|(_, load)| *load != 0.0).collect();
        // A combination in which nothing is left still needs rows.
        let used = if used.is_empty() { vec![(0, 0.0)] } else { used };
        let shifts = hats.shifts.iter().flat_map(|shift| used.iter().map(move |(l, _)| shift * self.count + l));
        let values = hats.values.iter().flat_map(|value| used.iter().map(move |(_, load)| value * load));
        Hats {
            first: hats.first.iter().map(|first| first * self.count).collect(),
            shifts: shifts.collect(),
            values: values.collect(),
            dense: vec![vec![0.0; hats.len()]; self.beside()],
        }
    }
}

/// 1 for one of so many, 0 for the others.
pub(crate) fn one_of(kind: usize, types: usize) -> Vec<f64> {
    (0..types).map(|c| f64::from(u8::from(c == kind))).collect()
}

/// Half of the pairs (offset of nodes, difference of fields) at which matrices are not zero: Q for one field, neighbours for all pairs of fields.
fn offsets(grid: &Grid, smoothness: Smoothness, count: usize) -> Vec<([isize; 3], isize)> {
    let (alpha, count) = (smoothness.alpha() as isize, count as isize);
    let axes = grid.axes().map(|axis| axis.nodes as isize);
    let mut all = vec![];
    for a in -alpha..=alpha {
        for b in -alpha..=alpha {
            for c in -alpha..=alpha {
                let offset = [a, b, c];
                let fits = (0..3).all(|place| offset[place].abs() < axes[place]);
                let is_near = offset.iter().all(|o| o.abs() <= 1);
                let is_later = offset.iter().find(|o| **o != 0).is_none_or(|o| *o > 0);
                if !fits || !is_later || !(is_near || offset.iter().map(|o| o.abs()).sum::<isize>() <= alpha) {
                    continue;
                }
                let fields = match is_near {
                    true if offset == [0; 3] => 0..count,
                    true => 1 - count..count,
                    false => 0..1,
                };
                all.extend(fields.map(|l| (offset, l)));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
