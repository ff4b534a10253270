//! A precision with a few dense unknowns beside it, such as a constant (docs/derivation.md (53) to (57)).
//!
//! The list of unknowns is v, and after it the k dense ones, ζ. With V = L_P⁻¹B, U = P⁻¹B and T = C − BᵀU = L_T L_Tᵀ,
//!
//!   [[P, B], [Bᵀ, C]] = L Lᵀ,   L = [[L_P, 0], [Vᵀ, L_T]],
//!   cov(ζ) = T⁻¹,   cov(v) = P⁻¹ + U T⁻¹ Uᵀ,   cov(v, ζ) = −U T⁻¹.
//!
//! The variance at x is that of the inner design plus |L_T⁻¹(z − Uᵀa)|². With k = 0 all is P itself, at no cost.

use super::{Design, Factor, Precision, Region};
use crate::error::Result;
use crate::numerics::linalg::{self, Matrix};

/// [[P, B], [Bᵀ, C]].
#[derive(Debug, Clone, PartialEq)]
pub struct Bordered<P> {
    /// P. // (M, M)
    pub inner: P,
    /// B. // (M, k)
    pub(crate) border: Vec<f64>,
    /// C. // (k, k)
    pub(crate) corner: Matrix,
}

/// The factor of [`Bordered`].
pub struct BorderedFactor<F> {
    pub(crate) inner: F,
    size: usize,
    /// V. // (M, k)
    turned: Vec<f64>,
    /// L_T. // (k, k)
    corner: Matrix,
}

impl<P: Precision> Bordered<P> {
    /// A matrix with so many unknowns beside it that are independent of it, each of precision 1.
    pub(crate) fn beside(inner: P, unknowns: usize) -> Self {
        let border = vec![0.0; inner.size() * unknowns];
        Self { inner, border, corner: Matrix::scaled_identity(unknowns, 1.0) }
    }

    /// k.
    pub(crate) fn unknowns(&self) -> usize {
        self.corner.rows()
    }

    fn columns(&self) -> impl Iterator<Item = &[f64]> {
        self.border.chunks_exact(self.inner.size().max(1))
    }
}

impl<P: Precision> Precision for Bordered<P> {
    type Factor = BorderedFactor<P::Factor>;

    fn size(&self) -> usize {
        self.inner.size() + self.unknowns()
    }

    fn add_scaled(&mut self, factor: f64, other: &Self) {
        self.inner.add_scaled(factor, &other.inner);
        linalg::add_scaled(&mut self.border, factor, &other.border);
        linalg::add_scaled(self.corner.data_mut(), factor, other.corner.data());
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        let (v, beta) = v.split_at(self.inner.size());
        let mut out = self.inner.times(v);
        for (column, beta) in self.columns().zip(beta) {
            linalg::add_scaled(&mut out, *beta, column);
        }
        let below = self.columns().enumerate().map(|(k, column)| {
            linalg::dot(column, v) + (0..beta.len()).map(|l| self.corner[(k, l)] * beta[l]).sum::<f64>()
        });
        let below: Vec<f64> = below.collect();
        out.extend(below);
        out
    }

    fn trace_of_product(&self, other: &Self) -> f64 {
        self.inner.trace_of_product(&other.inner)
            + 2.0 * linalg::dot(&self.border, &other.border)
            + linalg::dot(self.corner.data(), other.corner.data())
    }

    fn factor(self) -> Result<Self::Factor> {
        let (size, mut turned, mut corner) = (self.inner.size(), self.border, self.corner);
        let inner = self.inner.factor()?;
        let count = corner.rows();
        turned.chunks_exact_mut(size.max(1)).for_each(|column| inner.solve_lower(column));
        for k in 0..count {
            for l in 0..count {
                let column = |k: usize| &turned[k * size..][..size];
                corner[(k, l)] -= linalg::dot(column(k), column(l));
            }
        }
        let corner = corner.factor()?.0;
        Ok(BorderedFactor { inner, size, turned, corner })
    }
}

impl<F: Factor> BorderedFactor<F> {
    fn unknowns(&self) -> usize {
        self.corner.rows()
    }

    fn column(&self, k: usize) -> &[f64] {
        &self.turned[k * self.size..][..self.size]
    }

    /// Lets the inner factor work on all columns at once, which costs less than one after another.
    fn on_inner(&self, x: &mut [f64], work: impl FnOnce(&mut [f64])) {
        let length = self.size + self.unknowns();
        if x.len() <= length {
            return work(&mut x[..self.size]);
        }
        let mut inner: Vec<f64> = x.chunks_exact(length).flat_map(|x| &x[..self.size]).copied().collect();
        work(&mut inner);
        for (x, inner) in x.chunks_exact_mut(length).zip(inner.chunks_exact(self.size)) {
            x[..self.size].copy_from_slice(inner);
        }
    }
}

impl<F: Factor> BorderedFactor<F> {
    /// What variances are read from, given what those of the inner factor are.
    pub(crate) fn spread<S>(&self, inner: S) -> BorderedSpread<S> {
        let mut border = self.turned.clone();
        border.chunks_exact_mut(self.size.max(1)).for_each(|column| self.inner.solve_lower_transposed(column));
        BorderedSpread { inner, border, corner: self.corner.clone() }
    }
}

impl<F: Factor> Factor for BorderedFactor<F> {
    fn log_determinant(&self) -> f64 {
        self.inner.log_determinant() + linalg::log_determinant(&self.corner)
    }

    fn solve_lower(&self, x: &mut [f64]) {
        if self.unknowns() == 0 {
            return self.inner.solve_lower(x);
        }
        self.on_inner(x, |x| self.inner.solve_lower(x));
        for x in x.chunks_exact_mut(self.size + self.unknowns()) {
            let (x, y) = x.split_at_mut(self.size);
            y.iter_mut().enumerate().for_each(|(k, y)| *y -= linalg::dot(self.column(k), x));
            linalg::solve_lower(&self.corner, y);
        }
    }

    fn solve_lower_transposed(&self, x: &mut [f64]) {
        if self.unknowns() == 0 {
            return self.inner.solve_lower_transposed(x);
        }
        for x in x.chunks_exact_mut(self.size + self.unknowns()) {
            let (x, y) = x.split_at_mut(self.size);
            linalg::solve_lower_transposed(&self.corner, y);
            y.iter().enumerate().for_each(|(k, y)| linalg::add_scaled(x, -y, self.column(k)));
        }
        self.on_inner(x, |x| self.inner.solve_lower_transposed(x));
    }
}

/// Rows (a, z) at points: those of another design, and the values of the dense unknowns' regressors.
pub struct BorderedDesign<D> {
    pub(crate) inner: D,
    /// z of each unknown at the points. // (k) of (N)
    pub(crate) dense: Vec<Vec<f64>>,
}

/// What [`BorderedDesign`] reads variances from.
#[derive(Clone)]
pub struct BorderedSpread<S> {
    pub(crate) inner: S,
    /// U. // (M, k)
    pub(crate) border: Vec<f64>,
    /// L_T.
    pub(crate) corner: Matrix,
}

impl<S> BorderedSpread<S> {
    /// T⁻¹, the covariance of the dense unknowns.
    pub(crate) fn corner_covariance(&self) -> Matrix {
        linalg::inverse_from_cholesky(&self.corner)
    }
}

impl<D: Design> BorderedDesign<D> {
    /// With one unknown that is the same everywhere, or with none.
    pub(crate) fn with_constant(inner: D, value: Option<f64>) -> Self {
        let dense = value.map(|value| vec![value; inner.len()]).into_iter().collect();
        Self { inner, dense }
    }
}

impl<D: Design> Design for BorderedDesign<D> {
    type Precision = Bordered<D::Precision>;
    type Spread = BorderedSpread<D::Spread>;

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn residual(&self) -> Option<&[f64]> {
        self.inner.residual()
    }

    fn copied(&self, matrix: &Self::Precision) -> Self::Precision {
        let inner = self.inner.copied(&matrix.inner);
        Bordered { inner, border: matrix.border.clone(), corner: matrix.corner.clone() }
    }

    fn add_sites(&self, precision: &[f64], linear: &[f64], matrix: &mut Self::Precision, vector: &mut [f64]) {
        let size = matrix.inner.size();
        let (of_inner, of_dense) = vector.split_at_mut(size);
        self.inner.add_sites(precision, linear, &mut matrix.inner, of_inner);
        for (k, z) in self.dense.iter().enumerate() {
            let scaled: Vec<f64> = precision.iter().zip(z).map(|(p, z)| p * z).collect();
            self.inner.add_sum(&scaled, &mut matrix.border[k * size..][..size]);
            of_dense[k] += linalg::dot(linear, z);
            self.dense.iter().enumerate().for_each(|(l, other)| matrix.corner[(k, l)] += linalg::dot(&scaled, other));
        }
    }

    fn add_sum(&self, weights: &[f64], vector: &mut [f64]) {
        let (of_inner, of_dense) = vector.split_at_mut(vector.len() - self.dense.len());
        self.inner.add_sum(weights, of_inner);
        of_dense.iter_mut().zip(&self.dense).for_each(|(sum, z)| *sum += linalg::dot(weights, z));
    }

    fn spread(&self, factor: <Self::Precision as Precision>::Factor) -> Self::Spread {
        let BorderedSpread { border, corner, .. } = factor.spread(());
        BorderedSpread { inner: self.inner.spread(factor.inner), border, corner }
    }

    fn levels(&self, v: &[f64]) -> Vec<f64> {
        let (v, beta) = v.split_at(v.len() - self.dense.len());
        let mut levels = self.inner.levels(v);
        self.dense.iter().zip(beta).for_each(|(z, beta)| linalg::add_scaled(&mut levels, *beta, z));
        levels
    }

    fn moments(&self, mean: &[f64], spread: &Self::Spread) -> (Vec<f64>, Vec<f64>) {
        let (v, beta) = mean.split_at(mean.len() - self.dense.len());
        let (mut level, mut variance) = self.inner.moments(v, &spread.inner);
        if self.dense.is_empty() {
            return (level, variance);
        }
        self.dense.iter().zip(beta).for_each(|(z, beta)| linalg::add_scaled(&mut level, *beta, z));
        let size = v.len();
        let explained = (0..self.dense.len()).map(|k| self.inner.levels(&spread.border[k * size..][..size]));
        let explained: Vec<Vec<f64>> = explained.collect();
        let mut left = vec![0.0; self.dense.len()];
        for (n, variance) in variance.iter_mut().enumerate() {
            // By hand: there are few unknowns and many points, and a call of the library for each would cost more than all else here.
            for k in 0..left.len() {
                let known: f64 = (0..k).map(|l| spread.corner[(k, l)] * left[l]).sum();
                left[k] = (self.dense[k][n] - explained[k][n] - known) / spread.corner[(k, k)];
                *variance += left[k] * left[k];
            }
        }
        (level, variance)
    }
}

/// A region with one more unknown, whose regressor is `value` everywhere; or with none.
pub(crate) fn with_constant<P: Precision>(region: Region<P>, value: Option<f64>) -> Region<Bordered<P>> {
    let Region { square, mut linear, residual, measure } = region;
    let square = match value {
        None => Bordered::beside(square, 0),
        Some(z) => {
            let border = linear.iter().map(|p| z * p).collect();
            linear.push(z * measure);
            Bordered { inner: square, border, corner: Matrix::scaled_identity(1, z * z * measure) }
        }
    };
    Region { square, linear, residual, measure }
}

#[cfg(test)]
mod tests {
    use super::super::{DenseFactor, Diagonals};
    use super::*;
    use crate::field::inducing::PointFeatures;

    fn number(i: usize) -> f64 {
        (1.3 * i as f64 + 0.4).sin()
    }

    /// A tridiagonal matrix with two unknowns beside it, and the same as a dense matrix.
    fn sample(size: usize) -> (Bordered<Diagonals>, Matrix) {
        let mut inner = Diagonals::zeros(size, vec![0, 1]);
        inner.set_diagonal(0, &vec![4.0; size]);
        inner.set_diagonal(1, &(0..size).map(|i| if i + 1 < size { number(i) } else { 0.0 }).collect::<Vec<_>>());
        let border: Vec<f64> = (0..2 * size).map(|i| 0.3 * number(i + 7)).collect();
        let corner = Matrix::from_fn(2, 2, |i, j| if i == j { 5.0 } else { 0.7 });
        let dense = Matrix::from_fn(size + 2, size + 2, |i, j| match (i.min(j), i.max(j)) {
            (i, j) if j < size => inner.entry(i, j),
            (i, j) if i < size => border[(j - size) * size + i],
            (i, j) => corner[(i - size, j - size)],
        });
        (Bordered { inner, border, corner }, dense)
    }

    #[test]
    fn it_is_the_dense_matrix_that_it_stands_for() {
        let (matrix, dense) = sample(9);
        let v: Vec<f64> = (0..11).map(number).collect();
        let close = |got: &[f64], want: &[f64]| {
            assert_eq!(got.len(), want.len());
            got.iter().zip(want).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
        };
        close(&matrix.times(&v), &linalg::times(&dense, &v));
        let twice = {
            let mut twice = matrix.clone();
            twice.add_scaled(1.0, &matrix);
            twice
        };
        close(&twice.times(&v), &linalg::times(&dense, &v).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        close(&[matrix.trace_of_product(&matrix)], &[linalg::dot(dense.data(), dense.data())]);
        let (factor, plain) = (matrix.clone().factor().unwrap(), dense.clone().factor().unwrap());
        close(&[factor.log_determinant()], &[plain.log_determinant()]);
        // the same order of unknowns: the same triangular factor
        let both = |bordered: fn(&BorderedFactor<_>, &mut [f64]), dense: fn(&DenseFactor, &mut [f64])| {
            let (mut got, mut want) = (v.clone(), v.clone());
            bordered(&factor, &mut got);
            dense(&plain, &mut want);
            close(&got, &want);
        };
        both(Factor::solve_lower, Factor::solve_lower);
        both(Factor::solve_lower_transposed, Factor::solve_lower_transposed);
        both(Factor::solve, Factor::solve);
    }

    #[test]
    fn a_design_with_a_border_is_one_with_more_columns() {
        let (size, count) = (4, 300);
        let a = Matrix::from_fn(size, count, |i, n| number(3 * i + 5 * n));
        let wide = Matrix::from_fn(size + 1, count, |i, n| if i < size { a[(i, n)] } else { 1.5 });
        let residual: Vec<f64> = (0..count).map(|n| 0.1 + 0.01 * (n % 7) as f64).collect();
        let (narrow, wide) = (PointFeatures { a, residual: residual.clone() }, PointFeatures { a: wide, residual });
        let bordered = BorderedDesign::with_constant(narrow.rows(), Some(1.5));
        let plain = wide.rows();
        let (precision, linear): (Vec<f64>, Vec<f64>) = (0..count).map(|n| (2.0 + number(n), number(n + 1))).unzip();
        let mut one = Bordered::beside(Matrix::scaled_identity(size, 1.0), 1);
        let mut other = Matrix::scaled_identity(size + 1, 1.0);
        let (mut pull, mut other_pull) = (vec![0.0; size + 1], vec![0.0; size + 1]);
        bordered.add_sites(&precision, &linear, &mut one, &mut pull);
        plain.add_sites(&precision, &linear, &mut other, &mut other_pull);
        let (factor, other_factor) = (one.factor().unwrap(), other.factor().unwrap());
        factor.solve(&mut pull);
        other_factor.solve(&mut other_pull);
        let (got, want) = (
            bordered.moments(&pull, &bordered.spread(factor)),
            plain.moments(&other_pull, &plain.spread(other_factor)),
        );
        got.0.iter().zip(&want.0).for_each(|(a, b)| assert!((a - b).abs() < 1e-11, "{a} {b}"));
        got.1.iter().zip(&want.1).for_each(|(a, b)| assert!((a - b).abs() < 1e-11, "{a} {b}"));
    }
}
