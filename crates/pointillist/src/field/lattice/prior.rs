//! The Matérn prior of the coefficients: the sparse precision of a stochastic differential equation on the lattice
//! (docs/derivation.md (38), (39)).
//!
//! Q = τ² C^½ (κ² + Σ_r s_r A_r)^α C^½ with C = ⊗C_r the lumped mass and A_r = C_r^−½ G_r C_r^−½, G_r the stiffness.
//! The A_r commute, so
//!
//!   Q = Σ_k c_k ⊗_r B_r,k_r,   B_r,k = C_r^½ A_r^k C_r^½,
//!   c_k = τ² α!/(k_0! Π k_r!) κ^2k_0 Π s_r^k_r,   k_0 = α − Σ k_r:
//!
//! small band matrices that do not know Θ, and coefficients whose derivatives by log κ², log s_r are themselves times
//! k_0 − ν, k_r. The eigenvalues of A_r are (4/h²) sin²(πj/(2(n − 1))), which makes log|Q| a sum over nodes. Cost: a
//! few dozen numbers per node. The variance is that of f far from the lattice's border for s = 1; a stretch divides it by
//! Π √s_r.

mod local;

pub(crate) use local::Innovation;

use super::Grid;
use super::size::{self, Elimination};
use crate::error::{Error, Result};
use crate::gaussian::Diagonals;
use crate::gaussian::dissection::Plan;
use crate::numerics::linalg;
use std::f64::consts::PI;
use std::sync::{Arc, OnceLock};

/// The largest α.
const LONGEST: isize = 4;

/// How smooth f is: the power α of the differential operator. The Matérn ν is α − d/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Smoothness {
    /// α = 1, on a line alone: f is as rough as a random walk.
    One,
    /// α = 2.
    Two,
    /// α = 4.
    Four,
}

impl Smoothness {
    /// α.
    pub fn alpha(self) -> usize {
        match self {
            Smoothness::One => 1,
            Smoothness::Two => 2,
            Smoothness::Four => 4,
        }
    }

    /// From α.
    pub fn of(alpha: usize) -> Result<Self> {
        match alpha {
            1 => Ok(Smoothness::One),
            2 => Ok(Smoothness::Two),
            4 => Ok(Smoothness::Four),
            _ => Err(Error::setting("smoothness", alpha, "must be 1, 2 or 4")),
        }
    }

    /// ν of the Matérn kernel in this many dimensions.
    pub fn nu(self, dims: usize) -> f64 {
        self.alpha() as f64 - 0.5 * dims as f64
    }
}

/// Hyper-parameters of the lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Theta {
    /// √(8ν)/κ: the distance at which correlation has fallen to between 0.1 and 0.15.
    pub range: f64,
    /// The variance of f.
    pub variance: f64,
    /// ū.
    pub mean: f64,
    /// The squared ratio s_r of each axis' length-scale to the range; 1 for all is isotropic.
    pub stretch: Vec<f64>,
    /// How much more than elsewhere f varies about each of a grid of knots over the unit box, the last axis going fastest; empty if that is the
    /// same everywhere. For even α.
    pub scale: Vec<f64>,
}

impl Theta {
    /// Θ with these ranges along the axes. The product of the stretches is 1, so that the variance is that of f.
    pub fn of_ranges(ranges: &[f64], variance: f64, mean: f64) -> Self {
        let logs: Vec<f64> = ranges.iter().map(|range| range.ln()).collect();
        let middle = logs.iter().sum::<f64>() / logs.len() as f64;
        let stretch = logs.iter().map(|log| (2.0 * (log - middle)).exp()).collect();
        Self { range: middle.exp(), variance, mean, stretch, scale: vec![] }
    }

    /// The range along each axis.
    pub fn ranges(&self) -> Vec<f64> {
        self.stretch.iter().map(|s| self.range * s.sqrt()).collect()
    }

    pub(crate) fn check(&self, dims: usize) -> Result<()> {
        if self.stretch.len() != dims {
            return Err(Error::Dimension { what: "stretch", expected: dims, found: self.stretch.len() });
        }
        if !self.scale.is_empty() && local::knots_per_axis(self.scale.len(), dims).is_none() {
            return Err(Error::setting(
                "scale",
                self.scale.len(),
                "must have as many knots on each axis, and at least two",
            ));
        }
        let positive = [("range", self.range), ("variance", self.variance)];
        let stretch = self.stretch.iter().map(|s| ("stretch", *s));
        let scale = self.scale.iter().map(|s| ("scale", *s));
        match positive.into_iter().chain(stretch).chain(scale).find(|(_, v)| !(v.is_finite() && *v > 0.0)) {
            Some((name, value)) => Err(Error::setting(name, value, "must be positive")),
            None if !self.mean.is_finite() => Err(Error::setting("mean", self.mean, "must be a finite number")),
            None => Ok(()),
        }
    }
}

/// Derivatives of something by the parameters of the prior.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorSlopes {
    /// By log range.
    pub log_range: f64,
    /// By log variance.
    pub log_variance: f64,
    /// By each log s_r.
    pub log_stretch: Vec<f64>,
    /// By the logarithm of the scale at each knot.
    pub log_scale: Vec<f64>,
}

/// B_k of one axis for all powers k: entry (i, i + offset) at i. // (power, offset, nodes)
#[derive(Debug, Clone)]
struct Powers {
    reach: isize,
    tables: Vec<Vec<Vec<f64>>>,
}

impl Powers {
    /// Powers up to `reach` on an axis of nodes `step` apart.
    fn new(nodes: usize, step: f64, reach: usize) -> Self {
        let reach = reach as isize;
        let mut powers = Self { reach, tables: vec![vec![vec![0.0; nodes]; 2 * reach as usize + 1]] };
        powers.tables[0][reach as usize].fill(1.0);
        let operator = operator(nodes, step);
        for k in 1..=reach {
            let next = powers.times(&operator, k - 1, nodes);
            powers.tables.push(next);
        }
        let root: Vec<f64> = lumped_mass(nodes, step).iter().map(|c| c.sqrt()).collect();
        powers.scale(&root);
        powers
    }

    /// A^{k+1} = A^k A.
    fn times(&self, operator: &[[f64; 3]], k: isize, nodes: usize) -> Vec<Vec<f64>> {
        let entry = |i: usize, offset: isize| -> f64 {
            let Some(j) = i.checked_add_signed(offset).filter(|j| *j < nodes) else { return 0.0 };
            (-1..=1)
                .filter(|side| (offset + side).abs() <= k)
                .filter_map(|side| Some((side, j.checked_add_signed(side).filter(|middle| *middle < nodes)?)))
                .map(|(side, middle)| self.at(k as usize, offset + side)[i] * operator[middle][(1 - side) as usize])
                .sum()
        };
        (-self.reach..=self.reach).map(|offset| (0..nodes).map(|i| entry(i, offset)).collect()).collect()
    }

    /// From A^k to C^½ A^k C^½.
    fn scale(&mut self, root: &[f64]) {
        for (offset, table) in self.tables.iter_mut().flat_map(|power| (-self.reach..).zip(power)) {
            for (i, value) in table.iter_mut().enumerate() {
                let j = i.checked_add_signed(offset).filter(|j| *j < root.len());
                *value *= root[i] * j.map_or(0.0, |j| root[j]);
            }
        }
    }

    fn at(&self, power: usize, offset: isize) -> &[f64] {
        &self.tables[power][(offset + self.reach) as usize]
    }
}

/// ∫ψ over the axis: what a node stands for. An axis that is not there stands for nothing but 1.
fn lumped_mass(nodes: usize, step: f64) -> Vec<f64> {
    if nodes == 1 {
        return vec![1.0];
    }
    (0..nodes).map(|i| if i == 0 || i + 1 == nodes { 0.5 * step } else { step }).collect()
}

/// A = C^−½ G C^−½: entries (i, i − 1), (i, i), (i, i + 1).
fn operator(nodes: usize, step: f64) -> Vec<[f64; 3]> {
    if nodes == 1 {
        return vec![[0.0; 3]];
    }
    let mass = lumped_mass(nodes, step);
    let row = |i: usize| {
        let side = |j: usize| -1.0 / (step * (mass[i] * mass[j]).sqrt());
        let ends = if i == 0 || i + 1 == nodes { 1.0 } else { 2.0 };
        [if i > 0 { side(i - 1) } else { 0.0 }, ends / (step * mass[i]), if i + 1 < nodes { side(i + 1) } else { 0.0 }]
    };
    (0..nodes).map(row).collect()
}

/// The eigenvalues of A.
fn eigenvalues(nodes: usize, step: f64) -> Vec<f64> {
    let root = |j: usize| 2.0 / step * (0.5 * PI * j as f64 / (nodes.max(2) - 1) as f64).sin();
    (0..nodes).map(|j| root(j) * root(j)).collect()
}

/// One term of Q: the power of each A_r, inside order, and the number of ways to get it.
#[derive(Debug, Clone, Copy)]
struct Term {
    powers: [usize; 3],
    /// The power of κ².
    rest: usize,
    ways: f64,
}

fn terms(alpha: usize, present: [bool; 3]) -> Vec<Term> {
    let factorial = |n: usize| (1..=n).product::<usize>() as f64;
    let most = present.map(|p| if p { alpha } else { 0 });
    let mut all = vec![];
    for a in 0..=most[0] {
        for b in 0..=most[1].min(alpha - a) {
            for c in 0..=most[2].min(alpha - a - b) {
                let rest = alpha - a - b - c;
                let ways = factorial(alpha) / [a, b, c, rest].map(factorial).iter().product::<f64>();
                all.push(Term { powers: [a, b, c], rest, ways });
            }
        }
    }
    all
}

/// What of the prior does not change with Θ.
#[derive(Debug, Clone)]
pub struct Prior {
    smoothness: Smoothness,
    grid: Grid,
    powers: [Powers; 3],
    terms: Vec<Term>,
    /// Every offset of Q with its shift: the half that is not before.
    offsets: Vec<([isize; 3], usize)>,
    /// Of A_r, inside order.
    eigenvalues: [Vec<f64>; 3],
    /// Σ log C.
    log_mass: f64,
    /// How the precision is factored.
    elimination: Elimination,
    /// The plan of that, once it was asked for.
    plan: Arc<OnceLock<Arc<Plan>>>,
}

impl Prior {
    /// The prior on a lattice.
    pub fn new(grid: &Grid, smoothness: Smoothness) -> Self {
        let (alpha, axes) = (smoothness.alpha(), grid.axes());
        let size = grid.size() as f64;
        let log_mass = |axis: &super::hats::GridAxis| {
            lumped_mass(axis.nodes, axis.step).iter().map(|c| c.ln()).sum::<f64>() * size / axis.nodes as f64
        };
        Self {
            smoothness,
            grid: grid.clone(),
            powers: axes.map(|axis| Powers::new(axis.nodes, axis.step, if axis.nodes == 1 { 0 } else { alpha })),
            terms: terms(alpha, axes.map(|axis| axis.nodes > 1)),
            offsets: offsets(grid, |offset| sum_of_lengths(offset) <= alpha),
            eigenvalues: axes.map(|axis| eigenvalues(axis.nodes, axis.step)),
            log_mass: axes.iter().map(log_mass).sum(),
            elimination: size::elimination(&grid.nodes(), smoothness),
            plan: Arc::default(),
        }
    }

    /// The same with a precision that is factored in this way.
    pub(crate) fn with_elimination(self, elimination: Elimination) -> Self {
        Self { elimination, ..self }
    }

    pub(crate) fn elimination(&self) -> Elimination {
        self.elimination
    }

    /// α.
    pub fn smoothness(&self) -> Smoothness {
        self.smoothness
    }

    /// Q. Its diagonals include all neighbours of a node, so that a mass matrix or an event can be added to it.
    pub fn precision(&self, theta: &Theta) -> Diagonals {
        if !theta.scale.is_empty() {
            return self.scaled_precision(theta);
        }
        let mut precision = self.zeros();
        let coefficients = self.coefficients(theta);
        for &(offset, shift) in &self.offsets {
            let Some(place) = precision.place(shift) else { continue };
            let values = precision.diagonal_mut(place);
            for (term, coefficient) in self.terms_at(offset, &coefficients) {
                self.for_each_row(offset, term, |factor, row, last| {
                    linalg::add_scaled(&mut values[row], coefficient * factor, last);
                });
            }
        }
        precision
    }

    /// No entries yet, and room for those of Q and of neighbours.
    fn zeros(&self) -> Diagonals {
        match self.elimination {
            Elimination::Band => {
                let shifts = self.offsets.iter().map(|(_, shift)| *shift).chain(self.grid.neighbour_shifts());
                Diagonals::zeros(self.grid.size(), shifts.collect())
            }
            Elimination::Dissection => Diagonals::planned(self.plan.get_or_init(|| Arc::new(self.make_plan())).clone()),
        }
    }

    fn make_plan(&self) -> Plan {
        let all = offsets(&self.grid, |offset| {
            let alpha = self.smoothness.alpha();
            sum_of_lengths(offset) <= alpha || offset.iter().all(|o| o.abs() <= 1)
        });
        let all: Vec<[isize; 3]> = all.into_iter().map(|(offset, _)| offset).collect();
        Plan::new(self.grid.axes().map(|axis| axis.nodes), &all)
    }

    /// log|Q|.
    pub fn log_determinant(&self, theta: &Theta) -> f64 {
        let (kappa, tau) = self.scales(theta);
        let mut sum = 0.0;
        self.for_each_eigenvalue(theta, kappa, |total, _| sum += total.ln());
        let log_scales: f64 = if theta.scale.is_empty() { 0.0 } else { self.log_scales(theta).iter().sum() };
        self.grid.size() as f64 * tau.ln() + self.log_mass + self.smoothness.alpha() as f64 * sum - 2.0 * log_scales
    }

    /// Derivatives of log|Q|.
    pub fn log_determinant_slopes(&self, theta: &Theta) -> PriorSlopes {
        let (kappa, _) = self.scales(theta);
        let (alpha, size) = (self.smoothness.alpha() as f64, self.grid.size() as f64);
        let (mut level, mut axes) = (0.0, [0.0; 3]);
        self.for_each_eigenvalue(theta, kappa, |total, parts| {
            level += kappa / total;
            (0..3).for_each(|place| axes[place] += parts[place] / total);
        });
        PriorSlopes {
            log_range: -2.0 * (alpha * level - self.smoothness.nu(self.grid.dims()) * size),
            log_variance: -size,
            log_stretch: self.grid.places().iter().map(|&place| alpha * axes[place]).collect(),
            log_scale: self.by_knot(theta.scale.len(), |_| -2.0),
        }
    }

    /// Derivatives of tr((S + m mᵀ) Q); S on the diagonals of Q.
    pub fn precision_slopes(&self, theta: &Theta, covariance: &Diagonals, mean: &[f64]) -> PriorSlopes {
        if !theta.scale.is_empty() {
            return self.scaled_slopes(theta, covariance, mean);
        }
        let coefficients = self.coefficients(theta);
        let traces = self.traces(covariance, mean);
        let nu = self.smoothness.nu(self.grid.dims());
        let weighed = |power: &dyn Fn(&Term) -> f64| -> f64 {
            (0..traces.len()).map(|t| coefficients[t] * traces[t] * power(&self.terms[t])).sum()
        };
        PriorSlopes {
            log_range: -2.0 * weighed(&|term| term.rest as f64 - nu),
            log_variance: -weighed(&|_| 1.0),
            log_stretch: (self.grid.places().iter()).map(|&place| weighed(&|term| term.powers[place] as f64)).collect(),
            log_scale: vec![],
        }
    }

    /// tr((S + m mᵀ) ⊗B) for every term.
    fn traces(&self, covariance: &Diagonals, mean: &[f64]) -> Vec<f64> {
        let mut traces = vec![0.0; self.terms.len()];
        for &(offset, shift) in &self.offsets {
            let Some(place) = covariance.place(shift) else { continue };
            let mut second = covariance.diagonal(place).to_vec();
            second.iter_mut().zip(mean.iter().zip(&mean[shift..])).for_each(|(s, (a, b))| *s += a * b);
            let twice = if shift == 0 { 1.0 } else { 2.0 };
            for (t, term) in self.terms.iter().enumerate().filter(|(_, term)| term.reaches(offset)) {
                self.for_each_row(offset, term, |factor, row, last| {
                    traces[t] += twice * factor * linalg::dot(&second[row], last);
                });
            }
        }
        traces
    }

    /// κ² and τ².
    fn scales(&self, theta: &Theta) -> (f64, f64) {
        let (dims, alpha) = (self.grid.dims(), self.smoothness.alpha() as f64);
        let nu = self.smoothness.nu(dims);
        let kappa = 8.0 * nu / (theta.range * theta.range);
        let volume = libm::tgamma(alpha) * (4.0 * PI).powf(0.5 * dims as f64) * kappa.powf(nu);
        (kappa, libm::tgamma(nu) / (volume * theta.variance))
    }

    /// s_r in the order inside; of no matter for an axis that is not there.
    fn stretch(&self, theta: &Theta) -> [f64; 3] {
        let mut stretch = [1.0; 3];
        self.grid.places().iter().zip(&theta.stretch).for_each(|(&place, s)| stretch[place] = *s);
        stretch
    }

    /// c_k.
    fn coefficients(&self, theta: &Theta) -> Vec<f64> {
        let ((kappa, tau), stretch) = (self.scales(theta), self.stretch(theta));
        let power = |term: &Term| (0..3).map(|place| stretch[place].powi(term.powers[place] as i32)).product::<f64>();
        self.terms.iter().map(|term| tau * term.ways * kappa.powi(term.rest as i32) * power(term)).collect()
    }

    /// The terms that are not zero at an offset, with their coefficients.
    fn terms_at<'a>(&'a self, offset: [isize; 3], c: &'a [f64]) -> impl Iterator<Item = (&'a Term, f64)> {
        self.terms.iter().zip(c).filter(move |(term, _)| term.reaches(offset)).map(|(term, c)| (term, *c))
    }

    /// The entries of a term at an offset, one row of the last axis at a time: a factor, the indices, and B of the last
    /// axis.
    fn for_each_row(
        &self,
        offset: [isize; 3],
        term: &Term,
        mut visit: impl FnMut(f64, std::ops::Range<usize>, &[f64]),
    ) {
        let [first, second, last] = [0, 1, 2].map(|place| self.powers[place].at(term.powers[place], offset[place]));
        let strides = self.grid.strides();
        for i in self.grid.range(0, offset[0]) {
            for j in self.grid.range(1, offset[1]) {
                let start = i * strides[0] + j * strides[1];
                visit(first[i] * second[j], start..start + last.len(), last);
            }
        }
    }

    /// Visits κ² + Σ s_r a_r of every eigenvector, with its summands s_r a_r.
    fn for_each_eigenvalue(&self, theta: &Theta, kappa: f64, mut visit: impl FnMut(f64, [f64; 3])) {
        let stretch = self.stretch(theta);
        let [first, second, last] = &self.eigenvalues;
        for a in first {
            for b in second {
                for c in last {
                    let parts = [stretch[0] * a, stretch[1] * b, stretch[2] * c];
                    visit(kappa + parts[0] + parts[1] + parts[2], parts);
                }
            }
        }
    }
}

impl Term {
    fn reaches(&self, offset: [isize; 3]) -> bool {
        (0..3).all(|place| offset[place].unsigned_abs() <= self.powers[place])
    }
}

fn sum_of_lengths(offset: &[isize; 3]) -> usize {
    offset.iter().map(|o| o.unsigned_abs()).sum()
}

/// The offsets up to the longest of Q that are asked for, fit and are not before, with their shifts.
fn offsets(grid: &Grid, wanted: impl Fn(&[isize; 3]) -> bool) -> Vec<([isize; 3], usize)> {
    let all = || -LONGEST..=LONGEST;
    let cube = all().flat_map(move |a| all().flat_map(move |b| all().map(move |c| [a, b, c])));
    cube.filter(wanted).filter_map(|offset| grid.shift(offset).map(|shift| (offset, shift))).collect()
}
