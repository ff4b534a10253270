//! What [`pointillist`] is compared with: the simplest answers to the same question, and the methods of the paper.
//!
//! [`Homogeneous`] knows one rate. [`KernelSmoother`] puts a Gaussian on every event; its bandwidth is that which predicts each event
//! best from the others. [`sgcp`] samples the sigmoidal Gaussian Cox process. All score held-out events in the units in which
//! [`Posterior::score`](pointillist::Posterior::score) does, and [`compare`] runs them side by side.
//! [`check`](mod@check) lays a posterior beside exact draws of it, and [`calibrate`] asks how often intervals of a fit hold the truth, on simulated events.
//!
//! ```
//! use pointillist::{Events, Points, Window};
//! use pointillist_rivals::{EdgeCorrection, Homogeneous, KernelSmoother};
//!
//! let times = Points::line(&[0.3, 1.1, 1.4, 1.9, 2.2, 2.4, 4.0, 5.5, 7.9])?;
//! let events = Events::new(times, Window::interval(0.0, 10.0)?)?;
//! let smooth = KernelSmoother::fit(&events, EdgeCorrection::Truncate)?;
//! let rate = smooth.rate(&Points::line(&[2.0, 9.0])?)?;
//! assert!(rate[0] > rate[1]);
//! assert!(smooth.log_likelihood(&events)? > Homogeneous::fit(&events)?.log_likelihood(&events));
//! # Ok::<(), pointillist::Error>(())
//! ```

pub mod calibrate;
pub mod check;
pub mod compare;
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
