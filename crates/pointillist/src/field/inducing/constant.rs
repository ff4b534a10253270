//! A constant beside the inducing values, as one more feature that is the same everywhere (docs/derivation.md (58)).
//!
//! f = β + ζ s + a(x)ᵀv, ζ ~ N(0, 1): the features are (a, s), those of a region follow, and the prior of (v, ζ) is still N((b, 0), I). So whatever
//! takes features takes a constant, and the way back to Θ goes through the features without it.

use super::{Basis, Features, PointFeatures, RegionFeatures};
use crate::data::points::Points;
use crate::numerics::linalg::{self, Matrix};
use crate::window::Window;

/// A basis with a constant of prior standard deviation `sd` beside it, or with none.
pub(crate) struct WithConstant<B> {
    pub(crate) inner: B,
    pub(crate) sd: Option<f64>,
}

impl<B: Basis> Basis for WithConstant<B> {
    fn size(&self) -> usize {
        self.inner.size() + usize::from(self.sd.is_some())
    }

    fn at(&self, points: &Points) -> PointFeatures {
        self.inner.at(points).with_constant(self.sd)
    }

    fn over(&self, window: &Window) -> RegionFeatures {
        region_with_constant(self.inner.over(window), self.sd)
    }

    fn over_more_nodes(&self, window: &Window) -> RegionFeatures {
        region_with_constant(self.inner.over_more_nodes(window), self.sd)
    }

    fn prior(&self) -> (Vec<f64>, f64) {
        let (mut mean, offset) = self.inner.prior();
        mean.extend(self.sd.map(|_| 0.0));
        (mean, offset)
    }
}

impl PointFeatures {
    /// With the feature of a constant.
    pub(crate) fn with_constant(self, sd: Option<f64>) -> Self {
        let Some(sd) = sd else { return self };
        let size = self.a.rows();
        let mut a = Matrix::zeros(size + 1, self.a.cols());
        for n in 0..a.cols() {
            let (own, last) = a.col_mut(n).split_at_mut(size);
            own.copy_from_slice(self.a.col(n));
            last[0] = sd;
        }
        Self { a, residual: self.residual }
    }

    /// Without the feature of a constant, which is the last.
    fn without_last(&self) -> Self {
        let mut a = Matrix::zeros(self.a.rows() - 1, self.a.cols());
        (0..a.cols()).for_each(|n| {
            let size = a.rows();
            a.col_mut(n).copy_from_slice(&self.a.col(n)[..size]);
        });
        Self { a, residual: self.residual.clone() }
    }
}

impl Features {
    /// With the feature of a constant.
    pub(crate) fn with_constant(self, sd: Option<f64>) -> Self {
        let Self { points, region, mut prior_mean, offset } = self;
        prior_mean.extend(sd.map(|_| 0.0));
        Self { points: points.with_constant(sd), region: region_with_constant(region, sd), prior_mean, offset }
    }

    /// What [`Features::with_constant`] was made of.
    pub(crate) fn without_constant(&self, sd: Option<f64>) -> std::borrow::Cow<'_, Self> {
        if sd.is_none() {
            return std::borrow::Cow::Borrowed(self);
        }
        let size = self.size() - 1;
        let RegionFeatures { square, linear, residual, measure } = &self.region;
        std::borrow::Cow::Owned(Self {
            points: self.points.without_last(),
            region: RegionFeatures {
                square: leading(square, size),
                linear: linear[..size].to_vec(),
                residual: *residual,
                measure: *measure,
            },
            prior_mean: self.prior_mean[..size].to_vec(),
            offset: self.offset,
        })
    }

    /// Adjoint of [`Features::with_constant`]: `self` are cotangents of features with a constant.
    pub(crate) fn with_constant_adjoint(self, sd: Option<f64>) -> Self {
        let Some(sd) = sd else { return self };
        let size = self.size() - 1;
        let mut linear = self.region.linear[..size].to_vec();
        // ∫aaᵀ has s∫a beside it, above and below.
        linalg::add_scaled(&mut linear, 2.0 * sd, &self.region.square.col(size)[..size]);
        let region = RegionFeatures { square: leading(&self.region.square, size), linear, ..self.region };
        Self {
            points: self.points.without_last(),
            region,
            prior_mean: self.prior_mean[..size].to_vec(),
            offset: self.offset,
        }
    }
}

/// ∫aaᵀ and ∫a with the feature of a constant.
pub(crate) fn region_with_constant(region: RegionFeatures, sd: Option<f64>) -> RegionFeatures {
    let Some(sd) = sd else { return region };
    let RegionFeatures { square, mut linear, residual, measure } = region;
    let size = linear.len();
    let wide = Matrix::from_fn(size + 1, size + 1, |i, j| match (i.min(j), i.max(j)) {
        (_, last) if last < size => square[(i, j)],
        (first, _) if first < size => sd * linear[first],
        _ => sd * sd * measure,
    });
    linear.push(sd * measure);
    RegionFeatures { square: wide, linear, residual, measure }
}

/// The first rows and columns.
fn leading(matrix: &Matrix, size: usize) -> Matrix {
    Matrix::from_fn(size, size, |i, j| matrix[(i, j)])
}
