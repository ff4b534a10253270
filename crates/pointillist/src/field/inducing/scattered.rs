//! Inducing points anywhere, with a dense Cholesky factor of K.
//!
//! Equations: docs/derivation.md (4) to (8), (22), (23); the adjoint of K = L Lᵀ is K̄ = sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), Φ the lower triangle with half the diagonal,
//! and every term of L̄ here has the form L⁻ᵀ W, so only W is summed. Cost: N·M² for features and the same again, twice, for the
//! adjoint; M³ for K. Kernel values are products of one table per axis over the distinct coordinates on that axis: a grid of
//! M_x·M_y points needs only M_x + M_y exponentials per event.
//! What the features integrate to over a window is in `region.rs`.

use super::{Basis, Features, Hyper, HyperBar, PointFeatures, PriorMean, RegionFeatures};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::kernel::{self, Bars, Kernel};
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;
use crate::window::Window;

/// How many times as many nodes each axis has when quadrature checks itself.
pub(super) const FINER: f64 = 1.4;

/// The coordinates of a set of points on one axis: distinct values, and which of them each point has.
#[derive(Debug, Clone)]
pub(super) struct AxisCoordinates {
    pub(super) values: Vec<f64>,
    pub(super) index: Vec<u32>,
    /// Whether point m has value m: then no table need be looked up.
    pub(super) in_order: bool,
}

impl AxisCoordinates {
    fn new(values: Vec<f64>, index: Vec<u32>) -> Self {
        let in_order = index.iter().enumerate().all(|(m, &i)| m == i as usize);
        Self { values, index, in_order }
    }
}

/// Inducing points at given locations.
#[derive(Debug, Clone)]
pub struct Scattered {
    locations: Points,
    pub(super) axes: Vec<AxisCoordinates>,
    pub(super) moving: bool,
}

impl Scattered {
    /// Inducing points that stay where they are.
    pub fn new(locations: Points) -> Self {
        let axes = (0..locations.dims()).map(|r| shared_coordinates(&locations.axis(r))).collect();
        Self { locations, axes, moving: false }
    }

    /// Inducing points whose locations are optimised: the adjoint then returns their cotangents too.
    pub fn moving(locations: Points) -> Self {
        let index: Vec<u32> = (0..locations.len() as u32).collect();
        let axes = (0..locations.dims()).map(|r| AxisCoordinates::new(locations.axis(r), index.clone())).collect();
        Self { locations, axes, moving: true }
    }

    /// The prior factored at Θ.
    pub fn basis(&self, hyper: &Hyper, prior_mean: PriorMean, jitter: f64) -> Result<ScatteredBasis> {
        ScatteredBasis::new(self.clone(), hyper, prior_mean, jitter)
    }

    /// Number of points.
    pub fn size(&self) -> usize {
        self.locations.len()
    }
}

/// The distinct values of a list in rising order, and the place of each entry among them.
fn shared_coordinates(list: &[f64]) -> AxisCoordinates {
    let mut values = list.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let index = list.iter().map(|x| values.partition_point(|v| v < x) as u32).collect();
    AxisCoordinates::new(values, index)
}

/// [`Scattered`] at one Θ.
pub struct ScatteredBasis {
    pub(super) set: Scattered,
    pub(super) kernel: Kernel,
    prior: PriorMean,
    mean: f64,
    pub(super) jitter: f64,
    /// What its features are multiplied by where it is one axis of many: errors are.
    pub(super) times: f64,
    pub(super) l: Matrix,
}

impl ScatteredBasis {
    pub(super) fn new(set: Scattered, hyper: &Hyper, prior: PriorMean, jitter: f64) -> Result<Self> {
        let mut basis = Self {
            set,
            kernel: hyper.kernel.clone(),
            prior,
            mean: hyper.mean,
            jitter,
            times: 1.0,
            l: Matrix::default(),
        };
        let size = basis.set.size();
        let mut l = Matrix::zeros(size, size);
        for (t, term) in basis.kernel.terms.iter().enumerate() {
            basis.add_square(term.variance, 0, &basis.kernel_tables(t), &mut l);
        }
        // Relative to each diagonal entry, and on K alone: then the bound stays a bound.
        for i in 0..size {
            l[(i, i)] *= 1.0 + jitter;
        }
        linalg::cholesky(&mut l).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter })?;
        basis.l = l;
        Ok(basis)
    }

    pub(super) fn dims(&self) -> usize {
        self.set.axes.len()
    }

    /// The distinct coordinates of the inducing points on an axis.
    pub(super) fn values(&self, r: usize) -> &[f64] {
        &self.set.axes[r].values
    }

    /// Term t over the distinct coordinates of each axis, with itself. // (U_r, U_r)
    fn kernel_tables(&self, t: usize) -> Vec<Vec<f64>> {
        (0..self.dims()).map(|r| kernel::gram(&self.kernel.parts(t, r), self.values(r), self.values(r))).collect()
    }

    /// Term t over the distinct coordinates of each axis and a block of points, given axis by axis. // (U_r, B)
    fn point_tables(&self, t: usize, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        (0..self.dims()).map(|r| kernel::gram(&self.kernel.parts(t, r), self.values(r), &x[r])).collect()
    }

    /// Adds `scale` times the product of square tables, one for each axis from `first` on. // (M, M)
    pub(super) fn add_square(&self, scale: f64, first: usize, tables: &[Vec<f64>], out: &mut Matrix) {
        let mut product = vec![0.0; self.set.size()];
        for j in 0..self.set.size() {
            let columns = self.columns(first, tables, |r| self.set.axes[r].index[j] as usize);
            self.column_product(scale, first, &columns, &mut product);
            linalg::add_scaled(out.col_mut(j), 1.0, &product);
        }
    }

    /// Column `pick(r)` of each table.
    fn columns<'a>(&self, first: usize, tables: &'a [Vec<f64>], pick: impl Fn(usize) -> usize) -> Vec<&'a [f64]> {
        tables.iter().enumerate().map(|(i, t)| &t[self.column_range(first + i, pick(first + i))]).collect()
    }

    /// Where column `n` of a table of axis r stands.
    fn column_range(&self, r: usize, n: usize) -> std::ops::Range<usize> {
        let length = self.set.axes[r].values.len();
        n * length..(n + 1) * length
    }

    /// out_m = scale · Π_r column_r[index_r(m)], r from `first` on.
    pub(super) fn column_product(&self, scale: f64, first: usize, columns: &[&[f64]], out: &mut [f64]) {
        out.fill(scale);
        for (axis, column) in self.set.axes[first..].iter().zip(columns) {
            if axis.in_order {
                out.iter_mut().zip(*column).for_each(|(out, k)| *out *= k);
            } else {
                out.iter_mut().zip(&axis.index).for_each(|(out, &i)| *out *= column[i as usize]);
            }
        }
    }

    /// Adjoint of [`Self::column_product`] by the columns; returns the cotangent of `scale`.
    pub(super) fn column_product_adjoint(
        &self,
        scale: f64,
        first: usize,
        columns: &[&[f64]],
        bar: &[f64],
        columns_bar: &mut [&mut [f64]],
    ) -> f64 {
        let axes = &self.set.axes[first..];
        let mut scale_bar = 0.0;
        for (m, &bar) in bar.iter().enumerate() {
            let value = |r: usize| columns[r][axes[r].index[m] as usize];
            match axes.len() {
                1 => {
                    scale_bar += bar * value(0);
                    columns_bar[0][axes[0].index[m] as usize] += bar * scale;
                }
                2 => {
                    let (x, y) = (value(0), value(1));
                    scale_bar += bar * x * y;
                    columns_bar[0][axes[0].index[m] as usize] += bar * scale * y;
                    columns_bar[1][axes[1].index[m] as usize] += bar * scale * x;
                }
                dims => {
                    let product = |skip: usize| (0..dims).filter(|&s| s != skip).map(value).product::<f64>();
                    scale_bar += bar * product(dims);
                    for r in 0..dims {
                        columns_bar[r][axes[r].index[m] as usize] += bar * scale * product(r);
                    }
                }
            }
        }
        scale_bar
    }

    /// Adjoint of [`Self::add_square`]: cotangents of the tables, and of `scale`.
    pub(super) fn square_adjoint(
        &self,
        scale: f64,
        first: usize,
        tables: &[Vec<f64>],
        bar: &Matrix,
    ) -> (Vec<Vec<f64>>, f64) {
        let mut tables_bar: Vec<Vec<f64>> = tables.iter().map(|t| vec![0.0; t.len()]).collect();
        let mut scale_bar = 0.0;
        for j in 0..self.set.size() {
            let pick = |r: usize| self.set.axes[r].index[j] as usize;
            let columns = self.columns(first, tables, pick);
            let mut columns_bar: Vec<&mut [f64]> = tables_bar
                .iter_mut()
                .enumerate()
                .map(|(i, t)| &mut t[self.column_range(first + i, pick(first + i))])
                .collect();
            scale_bar += self.column_product_adjoint(scale, first, &columns, bar.col(j), &mut columns_bar);
        }
        (tables_bar, scale_bar)
    }

    /// Features of a block of points, and their residual variances.
    fn block(&self, rows: &[f64], a: &mut [f64], residual: &mut [f64]) {
        let size = self.set.size();
        let x = by_axis(rows, self.dims());
        let mut product = vec![0.0; size];
        for (t, term) in self.kernel.terms.iter().enumerate() {
            let tables = self.point_tables(t, &x);
            for (n, column) in a.chunks_exact_mut(size).enumerate() {
                let columns = self.columns(0, &tables, |_| n);
                match t {
                    0 => self.column_product(term.variance, 0, &columns, column),
                    _ => {
                        self.column_product(term.variance, 0, &columns, &mut product);
                        linalg::add_scaled(column, 1.0, &product);
                    }
                }
            }
        }
        linalg::solve_lower(&self.l, a);
        for ((c, a), x) in residual.iter_mut().zip(a.chunks_exact(size)).zip(rows.chunks_exact(self.dims())) {
            // The residual is a variance: rounding must not make it negative.
            *c = (self.kernel.diagonal(x) - linalg::dot(a, a)).max(0.0);
        }
    }

    /// Adjoint of [`Self::block`], given ā and c̄ of the block; ā is overwritten. Adds to W's lower triangle.
    fn block_adjoint(&self, rows: &[f64], a: &[f64], a_bar: &mut [f64], residual_bar: &[f64]) -> BlockBar {
        let size = self.set.size();
        let mut bar = BlockBar::new(self);
        let points = a_bar.chunks_exact_mut(size).zip(a.chunks_exact(size)).zip(rows.chunks_exact(self.dims()));
        for (((a_bar, a), x), &c_bar) in points.zip(residual_bar) {
            linalg::add_scaled(a_bar, -2.0 * c_bar, a);
            self.kernel.diagonal_adjoint(x, c_bar, &mut bar.parameters);
        }
        linalg::add_outer_lower(&mut bar.w, -1.0, a_bar, a);
        linalg::solve_lower_transposed(&self.l, a_bar);
        let x = by_axis(rows, self.dims());
        for (t, (term, at)) in self.kernel.terms.iter().zip(self.kernel.variance_places()).enumerate() {
            let tables = self.point_tables(t, &x);
            let mut tables_bar: Vec<Vec<f64>> = tables.iter().map(|t| vec![0.0; t.len()]).collect();
            for (n, k_bar) in a_bar.chunks_exact(size).enumerate() {
                let columns = self.columns(0, &tables, |_| n);
                let mut columns_bar: Vec<&mut [f64]> =
                    tables_bar.iter_mut().enumerate().map(|(r, t)| &mut t[self.column_range(r, n)]).collect();
                bar.parameters[at] += self.column_product_adjoint(term.variance, 0, &columns, k_bar, &mut columns_bar);
            }
            for (r, (table, table_bar)) in tables.iter().zip(&tables_bar).enumerate() {
                kernel::gram_adjoint(&self.kernel.parts(t, r), self.values(r), &x[r], table, table_bar, bar.axis(r));
            }
        }
        bar
    }

    /// Adjoint of [`Basis::at`]; ā is overwritten.
    pub(super) fn points_adjoint(
        &self,
        points: &Points,
        a: &Matrix,
        a_bar: &mut Matrix,
        residual_bar: &[f64],
    ) -> BlockBar {
        let (size, dims) = (self.set.size(), self.dims());
        let block = parallel::block_length(points.len());
        let blocks = a
            .data()
            .chunks(block * size)
            .zip(a_bar.data_mut().chunks_mut(block * size))
            .zip(residual_bar.chunks(block))
            .zip(points.coordinates().chunks(block * dims));
        let parts = parallel::map(blocks, points.len() * size, |(((a, a_bar), c_bar), rows)| {
            self.block_adjoint(rows, a, a_bar, c_bar)
        });
        let mut sum = BlockBar::new(self);
        parts.iter().for_each(|part| sum.add(part));
        sum
    }

    /// From W to K̄ to the parameters.
    pub(super) fn cholesky_adjoint(&self, bar: &mut BlockBar) {
        let mut k_bar = std::mem::take(&mut bar.w);
        let size = k_bar.rows();
        for i in 0..size {
            k_bar[(i, i)] *= 0.5;
            k_bar.col_mut(i)[..i].fill(0.0);
        }
        linalg::whiten_adjoint(&mut k_bar, &self.l);
        k_bar.symmetrise();
        for i in 0..size {
            k_bar[(i, i)] *= 1.0 + self.jitter;
        }
        for (t, (term, at)) in self.kernel.terms.iter().zip(self.kernel.variance_places()).enumerate() {
            let tables = self.kernel_tables(t);
            let (tables_bar, scale_bar) = self.square_adjoint(term.variance, 0, &tables, &k_bar);
            bar.parameters[at] += scale_bar;
            for r in 0..self.dims() {
                let (parts, values) = (self.kernel.parts(t, r), self.values(r));
                let Bars { theta, z: z_bar } = bar.axis(r);
                let mut once = z_bar.as_ref().map(|z| vec![0.0; z.len()]);
                let (table, table_bar) = (&tables[r], &tables_bar[r]);
                let bars = Bars { theta, z: once.as_deref_mut() };
                kernel::gram_adjoint(&parts, values, values, table, table_bar, bars);
                if let (Some(z_bar), Some(once)) = (z_bar, once) {
                    linalg::add_scaled(z_bar, 2.0, &once); // both points of k(z_i, z_j) move, and K̄ is symmetric
                }
            }
        }
    }
}

/// Rows of coordinates as one list per axis.
fn by_axis(rows: &[f64], dims: usize) -> Vec<Vec<f64>> {
    (0..dims).map(|r| rows.iter().skip(r).step_by(dims).copied().collect()).collect()
}

/// Cotangents that blocks of events add up to: of the parameters, of the coordinates on each axis, and W.
pub(super) struct BlockBar {
    pub(super) parameters: Vec<f64>,
    pub(super) coordinates: Vec<Vec<f64>>,
    moving: bool,
    pub(super) w: Matrix,
}

impl BlockBar {
    pub(super) fn new(basis: &ScatteredBasis) -> Self {
        let moving = basis.set.moving;
        let coordinates =
            basis.set.axes.iter().map(|axis| vec![0.0; if moving { axis.values.len() } else { 0 }]).collect();
        let parameters = vec![0.0; basis.kernel.parameters().len()];
        Self { parameters, coordinates, moving, w: Matrix::zeros(basis.set.size(), basis.set.size()) }
    }

    /// The parameters, and the coordinates on axis r if they move.
    pub(super) fn axis(&mut self, r: usize) -> Bars<'_> {
        Bars { theta: &mut self.parameters, z: self.moving.then_some(self.coordinates[r].as_mut_slice()) }
    }

    pub(super) fn add(&mut self, other: &BlockBar) {
        linalg::add_scaled(&mut self.parameters, 1.0, &other.parameters);
        self.coordinates.iter_mut().zip(&other.coordinates).for_each(|(a, b)| linalg::add_scaled(a, 1.0, b));
        linalg::add_scaled(self.w.data_mut(), 1.0, other.w.data());
    }
}

impl Basis for ScatteredBasis {
    fn size(&self) -> usize {
        self.set.size()
    }

    fn at(&self, points: &Points) -> PointFeatures {
        let (size, dims) = (self.set.size(), self.dims());
        let mut a = Matrix::zeros(size, points.len());
        let mut residual = vec![0.0; points.len()];
        let block = parallel::block_length(points.len());
        parallel::for_each(
            a.data_mut()
                .chunks_mut(block * size)
                .zip(residual.chunks_mut(block))
                .zip(points.coordinates().chunks(block * dims)),
            points.len() * size,
            |((a, residual), rows)| self.block(rows, a, residual),
        );
        PointFeatures { a, residual }
    }

    fn over(&self, window: &Window) -> RegionFeatures {
        self.region(window, 1.0)
    }

    fn over_more_nodes(&self, window: &Window) -> RegionFeatures {
        self.region(window, FINER)
    }

    fn prior(&self) -> (Vec<f64>, f64) {
        let (offset, inducing) = self.prior.split(self.mean);
        let mut prior_mean = vec![inducing; self.set.size()];
        linalg::solve_lower(&self.l, &mut prior_mean);
        (prior_mean, offset)
    }
}

impl ScatteredBasis {
    /// The map back from v to u − β: L.
    pub fn whitening(&self) -> &Matrix {
        &self.l
    }

    /// All features together.
    pub fn features(&self, points: &Points, window: &Window) -> Features {
        let (prior_mean, offset) = self.prior();
        Features { points: self.at(points), region: self.over(window), prior_mean, offset }
    }

    /// Adjoint of [`ScatteredBasis::features`]. Takes the cotangents by value: their storage is reused. `also` lists further columns
    /// that the caller whitened itself (x = L⁻¹y), each with its cotangent: (x̄, x).
    pub fn features_adjoint(
        &self,
        points: &Points,
        window: &Window,
        features: &Features,
        mut bar: Features,
        also: &[(&[f64], &[f64])],
    ) -> HyperBar {
        let (size, dims) = (self.set.size(), self.dims());
        let PointFeatures { a: a_bar, residual: residual_bar } = &mut bar.points;
        let mut sum = self.points_adjoint(points, &features.points.a, a_bar, residual_bar);
        self.region_adjoint(window, &features.region, &mut bar.region, &mut sum);
        for (x_bar, x) in also.iter().chain(&[(&bar.prior_mean[..], &features.prior_mean[..])]) {
            linalg::add_outer_lower(&mut sum.w, -1.0, x_bar, x);
        }
        linalg::solve_lower_transposed(&self.l, &mut bar.prior_mean);
        let mean = self.prior.split_adjoint(bar.offset, bar.prior_mean.iter().sum());
        self.cholesky_adjoint(&mut sum);
        let locations = if self.set.moving {
            (0..size * dims).map(|i| sum.coordinates[i % dims][i / dims]).collect()
        } else {
            Vec::new()
        };
        HyperBar { parameters: sum.parameters, mean, locations }
    }
}
