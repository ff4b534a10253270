//! Numbers only: special functions, quadrature, dense matrices, dual numbers. Nothing here knows of events or kernels.

pub mod bessel;
pub mod dual;
pub mod gauss;
pub mod linalg;
pub(crate) mod newton;
pub mod special;
pub mod vector;
