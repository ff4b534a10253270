//! Inducing points anywhere, with a dense Cholesky factor of K.
//!
//! Equations: docs/derivation.md (4) to (8), (22), (23); the adjoint of K = L Lᵀ is K̄ = sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), Φ the lower triangle with half the diagonal,
//! and every term of L̄ here has the form L⁻ᵀ W, so only W is summed. Cost: N·M² for features and the same again, twice, for the
//! adjoint; M³ for K. Kernel values are products of one table an axis over the distinct coordinates on that axis: a grid of
//! M_x·M_y points needs only M_x + M_y exponentials an event.
//!
//! Rounding: A = L⁻¹ΨL⁻ᵀ from the closed form of Ψ carries an error of about γ·ε/jitter, which grows with the number of events. Where it
//! would matter, A is summed from features at quadrature nodes instead, Σ w a aᵀ: the same integral, with an error of γ·ε/√jitter.

use super::{Basis, Features, Hyper, HyperBar, InducingSet, PointFeatures, PriorMean, RegionFeatures};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::numerics::linalg::{self, Matrix};
use crate::parallel;
use crate::points::Points;
use crate::window::{Nodes, Span, Window};

/// Error of A by the closed form above which quadrature takes its place.
const CLOSED_FORM_ERROR: f64 = 2e-5;
/// Most quadrature nodes: beyond, the closed form must do.
const MOST_NODES: usize = 20_000;

/// The coordinates of a set of points on one axis: distinct values, and which of them each point has.
#[derive(Debug, Clone)]
struct AxisCoordinates {
    values: Vec<f64>,
    index: Vec<u32>,
    /// Whether point m has value m: then no table need be looked up.
    in_order: bool,
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
    axes: Vec<AxisCoordinates>,
    moving: bool,
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

    fn size(&self) -> usize {
        self.locations.len()
    }
}

impl InducingSet for Scattered {
    fn basis(&self, hyper: &Hyper, prior_mean: PriorMean, jitter: f64) -> Result<Box<dyn Basis>> {
        Ok(Box::new(ScatteredBasis::new(self.clone(), hyper, prior_mean, jitter)?))
    }

    fn locations(&self) -> &Points {
        &self.locations
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
struct ScatteredBasis {
    set: Scattered,
    kernel: Kernel,
    prior: PriorMean,
    mean: f64,
    jitter: f64,
    l: Matrix,
}

impl ScatteredBasis {
    fn new(set: Scattered, hyper: &Hyper, prior: PriorMean, jitter: f64) -> Result<Self> {
        let mut basis =
            Self { set, kernel: hyper.kernel.clone(), prior, mean: hyper.mean, jitter, l: Matrix::default() };
        let size = basis.set.size();
        let mut l = basis.square(hyper.kernel.variance, &basis.kernel_tables());
        // Relative to each diagonal entry, and on K alone: then the bound stays a bound.
        for i in 0..size {
            l[(i, i)] *= 1.0 + jitter;
        }
        linalg::cholesky(&mut l).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter })?;
        basis.l = l;
        Ok(basis)
    }

    fn factor(&self, r: usize) -> (crate::kernel::Factor, &[f64]) {
        (self.kernel.axes[r].factor, &self.kernel.axes[r].parameters)
    }

    fn dims(&self) -> usize {
        self.set.axes.len()
    }

    /// k over the distinct coordinates of each axis, with itself. // (U_r, U_r)
    fn kernel_tables(&self) -> Vec<Vec<f64>> {
        self.tables(|r, values| {
            let (factor, theta) = self.factor(r);
            let mut table = vec![0.0; values.len() * values.len()];
            factor.gram(theta, values, values, &mut table);
            table
        })
    }

    /// Ψ over the distinct coordinates of each axis. // (U_r, U_r)
    fn psi_tables(&self, spans: &[Span]) -> Vec<Vec<f64>> {
        self.tables(|r, values| {
            let (factor, theta) = self.factor(r);
            let mut table = vec![0.0; values.len() * values.len()];
            factor.psi(theta, values, spans[r], &mut table);
            table
        })
    }

    /// φ over the distinct coordinates of each axis. // (U_r)
    fn phi_tables(&self, spans: &[Span]) -> Vec<Vec<f64>> {
        self.tables(|r, values| {
            let (factor, theta) = self.factor(r);
            let mut table = vec![0.0; values.len()];
            factor.phi(theta, values, spans[r], &mut table);
            table
        })
    }

    fn tables(&self, make: impl Fn(usize, &[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
        self.set.axes.iter().enumerate().map(|(r, axis)| make(r, &axis.values)).collect()
    }

    /// k over the distinct coordinates of each axis and a block of points. // (U_r, B)
    fn point_tables(&self, rows: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let dims = self.dims();
        (0..dims)
            .map(|r| {
                let (factor, theta) = self.factor(r);
                let x: Vec<f64> = rows.iter().skip(r).step_by(dims).copied().collect();
                let values = &self.set.axes[r].values;
                let mut table = vec![0.0; values.len() * x.len()];
                factor.gram(theta, values, &x, &mut table);
                (x, table)
            })
            .collect()
    }

    /// `scale` times the product over axes of square tables. // (M, M)
    fn square(&self, scale: f64, tables: &[Vec<f64>]) -> Matrix {
        let size = self.set.size();
        let mut out = Matrix::zeros(size, size);
        for j in 0..size {
            let columns = self.columns(tables, |r| self.set.axes[r].index[j] as usize);
            self.column_product(scale, &columns, out.col_mut(j));
        }
        out
    }

    /// Column `pick(r)` of each table.
    fn columns<'a>(&self, tables: &'a [Vec<f64>], pick: impl Fn(usize) -> usize) -> Vec<&'a [f64]> {
        (0..self.dims()).map(|r| &tables[r][self.column_range(r, pick(r))]).collect()
    }

    /// Where column `n` of a table of axis r stands.
    fn column_range(&self, r: usize, n: usize) -> std::ops::Range<usize> {
        let length = self.set.axes[r].values.len();
        n * length..(n + 1) * length
    }

    /// out_m = scale · Π_r column_r[index_r(m)].
    fn column_product(&self, scale: f64, columns: &[&[f64]], out: &mut [f64]) {
        out.fill(scale);
        for (axis, column) in self.set.axes.iter().zip(columns) {
            if axis.in_order {
                out.iter_mut().zip(*column).for_each(|(out, k)| *out *= k);
            } else {
                out.iter_mut().zip(&axis.index).for_each(|(out, &i)| *out *= column[i as usize]);
            }
        }
    }

    /// Adjoint of [`Self::column_product`] by the columns; returns the cotangent of `scale`.
    fn column_product_adjoint(
        &self,
        scale: f64,
        columns: &[&[f64]],
        bar: &[f64],
        columns_bar: &mut [&mut [f64]],
    ) -> f64 {
        let axes = &self.set.axes;
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

    /// Adjoint of [`Self::square`]: cotangents of the tables, and of `scale`.
    fn square_adjoint(&self, scale: f64, tables: &[Vec<f64>], bar: &Matrix) -> (Vec<Vec<f64>>, f64) {
        let mut tables_bar: Vec<Vec<f64>> = tables.iter().map(|t| vec![0.0; t.len()]).collect();
        let mut scale_bar = 0.0;
        for j in 0..self.set.size() {
            let pick = |r: usize| self.set.axes[r].index[j] as usize;
            let columns = self.columns(tables, pick);
            let mut columns_bar: Vec<&mut [f64]> =
                tables_bar.iter_mut().enumerate().map(|(r, t)| &mut t[self.column_range(r, pick(r))]).collect();
            scale_bar += self.column_product_adjoint(scale, &columns, bar.col(j), &mut columns_bar);
        }
        (tables_bar, scale_bar)
    }

    /// Features of a block of points, and their residual variances.
    fn block(&self, rows: &[f64], a: &mut [f64], residual: &mut [f64]) {
        let size = self.set.size();
        let tables = self.point_tables(rows);
        for (n, column) in a.chunks_exact_mut(size).enumerate() {
            let columns: Vec<&[f64]> =
                tables.iter().enumerate().map(|(r, (_, t))| &t[self.column_range(r, n)]).collect();
            self.column_product(self.kernel.variance, &columns, column);
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
        for ((a_bar, a), &c_bar) in a_bar.chunks_exact_mut(size).zip(a.chunks_exact(size)).zip(residual_bar) {
            linalg::add_scaled(a_bar, -2.0 * c_bar, a);
            bar.parameters[0] += c_bar; // γ, as every factor is 1 on its diagonal
        }
        linalg::add_outer_lower(&mut bar.w, -1.0, a_bar, a);
        linalg::solve_lower_transposed(&self.l, a_bar);
        let tables = self.point_tables(rows);
        let mut tables_bar: Vec<Vec<f64>> = tables.iter().map(|(_, t)| vec![0.0; t.len()]).collect();
        for (n, k_bar) in a_bar.chunks_exact(size).enumerate() {
            let columns: Vec<&[f64]> =
                tables.iter().enumerate().map(|(r, (_, t))| &t[self.column_range(r, n)]).collect();
            let mut columns_bar: Vec<&mut [f64]> =
                tables_bar.iter_mut().enumerate().map(|(r, t)| &mut t[self.column_range(r, n)]).collect();
            bar.parameters[0] += self.column_product_adjoint(self.kernel.variance, &columns, k_bar, &mut columns_bar);
        }
        for (r, ((x, table), table_bar)) in tables.iter().zip(&tables_bar).enumerate() {
            let (factor, theta) = self.factor(r);
            let (theta_bar, z_bar) = bar.axis(self, r);
            factor.gram_adjoint(theta, &self.set.axes[r].values, x, table, table_bar, theta_bar, z_bar);
        }
        bar
    }

    /// Adjoint of [`Basis::at`]; ā is overwritten.
    fn points_adjoint(&self, points: &Points, a: &Matrix, a_bar: &mut Matrix, residual_bar: &[f64]) -> BlockBar {
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

    /// Quadrature nodes over the window, where rounding makes them better than the closed form.
    fn nodes(&self, window: &Window) -> Option<Nodes> {
        let error = self.kernel.variance * window.measure() * f64::EPSILON / self.jitter.max(f64::EPSILON);
        let widths = || self.kernel.lengthscales();
        if error > CLOSED_FORM_ERROR { window.nodes(&widths(), MOST_NODES) } else { None }
    }

    /// ∫ a aᵀ and ∫ a by quadrature.
    fn region_by_nodes(&self, nodes: &Nodes) -> (Matrix, Vec<f64>) {
        let size = self.set.size();
        let a = self.at(&nodes.points).a;
        let mut scaled = a.clone();
        for (column, w) in scaled.data_mut().chunks_exact_mut(size).zip(&nodes.weights) {
            column.iter_mut().for_each(|v| *v *= w);
        }
        let mut square = Matrix::zeros(size, size);
        linalg::add_outer_lower(&mut square, 1.0, scaled.data(), a.data());
        square.mirror_lower();
        (square, linalg::columns_times(a.data(), size, &nodes.weights))
    }

    /// Adjoint of [`Self::region_by_nodes`].
    fn region_by_nodes_adjoint(&self, nodes: &Nodes, square_bar: &Matrix, linear_bar: &[f64]) -> BlockBar {
        let size = self.set.size();
        let a = self.at(&nodes.points).a;
        let mut a_bar = linalg::product(square_bar, &a);
        for (column, w) in a_bar.data_mut().chunks_exact_mut(size).zip(&nodes.weights) {
            column.iter_mut().zip(linear_bar).for_each(|(v, p)| *v = w * (2.0 * *v + p));
        }
        self.points_adjoint(&nodes.points, &a, &mut a_bar, &vec![0.0; nodes.weights.len()])
    }

    /// ∫ a aᵀ and ∫ a by the closed forms of Ψ and φ.
    fn region_by_closed_form(&self, window: &Window) -> (Matrix, Vec<f64>) {
        let (size, gamma) = (self.set.size(), self.kernel.variance);
        let mut square = Matrix::zeros(size, size);
        let mut linear = vec![0.0; size];
        let mut column = vec![0.0; size];
        for spans in window.boxes() {
            let psi = self.square(gamma * gamma, &self.psi_tables(spans));
            linalg::add_scaled(square.data_mut(), 1.0, psi.data());
            let lists = self.phi_tables(spans);
            self.column_product(gamma, &lists.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut column);
            linalg::add_scaled(&mut linear, 1.0, &column);
        }
        linalg::whiten(&mut square, &self.l);
        square.symmetrise();
        linalg::solve_lower(&self.l, &mut linear);
        (square, linear)
    }

    /// Adjoint of the region's features; Ā (symmetric) is overwritten.
    fn region_adjoint(
        &self,
        window: &Window,
        region: &RegionFeatures,
        region_bar: &mut RegionFeatures,
        bar: &mut BlockBar,
    ) {
        let gamma = self.kernel.variance;
        let RegionFeatures { square: a_bar, linear: p_bar, residual: c_bar, .. } = region_bar;
        a_bar.add_to_diagonal(-*c_bar); // ∫c = γ|T| − tr A
        bar.parameters[0] += *c_bar * window.measure();
        if let Some(nodes) = self.nodes(window) {
            bar.add(&self.region_by_nodes_adjoint(&nodes, a_bar, p_bar));
            return;
        }
        let product = linalg::product(a_bar, &region.square);
        for j in 0..product.cols() {
            linalg::add_scaled(&mut bar.w.col_mut(j)[j..], -2.0, &product.col(j)[j..]);
        }
        linalg::add_outer_lower(&mut bar.w, -1.0, p_bar, &region.linear);
        linalg::whiten_adjoint(a_bar, &self.l);
        a_bar.symmetrise();
        linalg::solve_lower_transposed(&self.l, p_bar);
        for spans in window.boxes() {
            let tables = self.psi_tables(spans);
            let (tables_bar, scale_bar) = self.square_adjoint(gamma * gamma, &tables, a_bar);
            bar.parameters[0] += 2.0 * gamma * scale_bar;
            for r in 0..self.dims() {
                let (factor, theta) = self.factor(r);
                let (theta_bar, z_bar) = bar.axis(self, r);
                factor.psi_adjoint(theta, &self.set.axes[r].values, spans[r], &tables_bar[r], theta_bar, z_bar);
            }
            let lists = self.phi_tables(spans);
            let columns: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
            let mut lists_bar: Vec<Vec<f64>> = lists.iter().map(|l| vec![0.0; l.len()]).collect();
            let mut columns_bar: Vec<&mut [f64]> = lists_bar.iter_mut().map(Vec::as_mut_slice).collect();
            bar.parameters[0] += self.column_product_adjoint(gamma, &columns, p_bar, &mut columns_bar);
            for r in 0..self.dims() {
                let (factor, theta) = self.factor(r);
                let (theta_bar, z_bar) = bar.axis(self, r);
                factor.phi_adjoint(theta, &self.set.axes[r].values, spans[r], &lists_bar[r], theta_bar, z_bar);
            }
        }
    }

    /// From W to K̄ to the parameters.
    fn cholesky_adjoint(&self, bar: &mut BlockBar) {
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
        let tables = self.kernel_tables();
        let (tables_bar, scale_bar) = self.square_adjoint(self.kernel.variance, &tables, &k_bar);
        bar.parameters[0] += scale_bar;
        for r in 0..self.dims() {
            let (factor, theta) = self.factor(r);
            let values = &self.set.axes[r].values;
            let (theta_bar, z_bar) = bar.axis(self, r);
            let mut once = z_bar.as_ref().map(|z| vec![0.0; z.len()]);
            factor.gram_adjoint(theta, values, values, &tables[r], &tables_bar[r], theta_bar, once.as_deref_mut());
            if let (Some(z_bar), Some(once)) = (z_bar, once) {
                linalg::add_scaled(z_bar, 2.0, &once); // both points of k(z_i, z_j) move, and K̄ is symmetric
            }
        }
    }
}

/// Cotangents that blocks of events add up to: of the parameters, of the coordinates on each axis, and W.
struct BlockBar {
    parameters: Vec<f64>,
    coordinates: Vec<Vec<f64>>,
    w: Matrix,
}

impl BlockBar {
    fn new(basis: &ScatteredBasis) -> Self {
        let moving = basis.set.moving;
        Self {
            parameters: vec![0.0; basis.kernel.parameters().len()],
            coordinates: basis
                .set
                .axes
                .iter()
                .map(|axis| vec![0.0; if moving { axis.values.len() } else { 0 }])
                .collect(),
            w: Matrix::zeros(basis.set.size(), basis.set.size()),
        }
    }

    /// The slots of axis r: its parameters, and its coordinates if they move.
    fn axis(&mut self, basis: &ScatteredBasis, r: usize) -> (&mut [f64], Option<&mut [f64]>) {
        let start = 1 + basis.kernel.axes[..r].iter().map(|axis| axis.parameters.len()).sum::<usize>();
        let count = basis.kernel.axes[r].parameters.len();
        let coordinates = basis.set.moving.then_some(self.coordinates[r].as_mut_slice());
        (&mut self.parameters[start..start + count], coordinates)
    }

    fn add(&mut self, other: &BlockBar) {
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
        let (square, linear) = match self.nodes(window) {
            Some(nodes) => self.region_by_nodes(&nodes),
            None => self.region_by_closed_form(window),
        };
        let residual = (self.kernel.variance * window.measure() - square.trace()).max(0.0);
        RegionFeatures { square, linear, residual, measure: window.measure() }
    }

    fn prior(&self) -> (Vec<f64>, f64) {
        let (offset, inducing) = self.prior.split(self.mean);
        let mut prior_mean = vec![inducing; self.set.size()];
        linalg::solve_lower(&self.l, &mut prior_mean);
        (prior_mean, offset)
    }

    fn whitening(&self) -> &Matrix {
        &self.l
    }

    fn features_adjoint(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_by_quadrature_is_the_closed_form() {
        let window = Window::new(&[(0.0, 1.0), (-0.5, 1.5)]).unwrap();
        let hyper = Hyper { kernel: Kernel::squared_exponential(1.3, &[0.3, 0.45]).unwrap(), mean: 0.7 };
        let set = Scattered::moving(Points::from_rows(&[[0.1, 0.2], [0.6, 1.1], [0.9, -0.3], [0.3, 0.9]]).unwrap());
        let basis = ScatteredBasis::new(set, &hyper, PriorMean::Constant, 1e-8).unwrap();
        assert!(basis.nodes(&window).is_none());
        let nodes = window.nodes(&hyper.kernel.lengthscales(), MOST_NODES).unwrap();
        let (closed, by_nodes) = (basis.region_by_closed_form(&window), basis.region_by_nodes(&nodes));
        for (a, b) in closed.0.data().iter().chain(&closed.1).zip(by_nodes.0.data().iter().chain(&by_nodes.1)) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }

        let square_bar = Matrix::from_fn(4, 4, |i, j| ((i + j) as f64 + 0.3).sin());
        let linear_bar = [0.3, -0.8, 0.2, 0.5];
        let region = RegionFeatures { square: closed.0, linear: closed.1, residual: 0.0, measure: 2.0 };
        let mut bar =
            RegionFeatures { square: square_bar.clone(), linear: linear_bar.to_vec(), residual: 0.0, measure: 0.0 };
        let mut sum = BlockBar::new(&basis);
        basis.region_adjoint(&window, &region, &mut bar, &mut sum);
        let mut other = basis.region_by_nodes_adjoint(&nodes, &square_bar, &linear_bar);
        basis.cholesky_adjoint(&mut sum);
        basis.cholesky_adjoint(&mut other);
        let all = |bar: &BlockBar| [bar.parameters.clone(), bar.coordinates.concat()].concat();
        for (a, b) in all(&sum).iter().zip(all(&other)) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
}
