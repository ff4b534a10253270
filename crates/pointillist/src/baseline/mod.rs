//! What an intensity is compared with: the simplest answers to the same question, and the smoothers of the paper.
//!
//! [`Homogeneous`] knows one rate. [`KernelSmoother`] puts a Gaussian on every event; its bandwidth is that which predicts each event
//! best from the others. Both score held-out events in the units in which [`Posterior::score`](crate::Posterior::score) does.

mod gamma;
mod gauss_cells;
mod gauss_grid;
mod gauss_sum;
mod homogeneous;
mod kernel_smoother;
mod mass;
pub mod sgcp;

pub use homogeneous::Homogeneous;
pub use kernel_smoother::{EdgeCorrection, KernelSmoother};
