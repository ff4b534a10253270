//! The intensity of events in time, space and space-time, with honest uncertainty.
//!
//! Events scattered over a window come from a Poisson process with intensity λ = f², f a Gaussian process. Given the events, the
//! posterior of λ is found by variational inference with a closed-form bound (Lloyd, Gunter, Osborne and Roberts, ICML 2015).
//!
//! ```
//! use pointillist::{Events, Model, Points, Window};
//!
//! let times = Points::line(&[0.3, 1.1, 1.4, 1.9, 2.2, 2.4, 4.0, 5.5, 7.9])?;
//! let events = Events::new(times, Window::interval(0.0, 10.0)?)?;
//! let fit = Model::default().fit(&events)?;
//! assert!(fit.report.stop.converged());
//!
//! let at = Points::line(&[2.0, 9.0])?;
//! let rate = fit.posterior.rate(&at)?;
//! assert!(rate.mean[0] > rate.mean[1]);
//! let band = fit.posterior.quantiles(&at, &[0.05, 0.95])?;
//! assert!(band[0][0] < rate.mean[0] && rate.mean[0] < band[1][0]);
//!
//! let early = fit.posterior.count(&Window::interval(0.0, 5.0)?)?;
//! assert!(early.mean > 5.0 && early.sd > 0.0);
//! # Ok::<(), pointillist::Error>(())
//! ```
//!
//! Data walks through `data` → `window` → `kernel` → `field` → `terms` → `gaussian` → `infer` → `posterior`.

mod base64;
mod covariates;
mod data;
mod error;
mod infer;
mod intensity;
mod parallel;
mod posterior;
mod reading;
mod sample;
mod score;
mod text;

// The engine's rooms: for its own tests and measurements and, through `internals`, for the sister crates. They promise nothing.
#[doc(hidden)]
pub mod bound;
#[doc(hidden)]
pub mod field;
#[doc(hidden)]
pub mod gaussian;
#[doc(hidden)]
pub mod internals;
#[doc(hidden)]
pub mod numerics;
#[doc(hidden)]
pub mod terms;

pub mod exact;
pub mod kernel;
pub mod limits;
pub mod testing;
pub mod watch;
pub mod window;

// What most programs name. What they rarely do stands in the modules below.
pub use covariates::Covariate;
pub use data::events::Events;
pub use data::points::Points;
pub use data::summary::{Record, Summary};
pub use error::{Error, Result};
pub use infer::{Family, Fit, InducingPoints, LatticeChoice, Model, Prior, Progress, Report};
pub use intensity::Intensity;
pub use kernel::Kernel;
pub use posterior::{Contrast, Count, JointCounts, Posterior, Rate};
pub use sample::simulate::{Simulation, simulate};
pub use score::Score;
pub use terms::Link;
pub use window::{Axis, Window};

/// Values of the fields of [`InducingPoints`] and [`LatticeChoice`].
pub mod settings {
    pub use crate::covariates::CovariateKind;
    pub use crate::field::inducing::PriorMean;
    pub use crate::field::lattice::{LatticeMean, Smoothness};
    pub use crate::infer::{Budget, Inducing, Method, Vary};
}

/// The parts of an f whose kernel is a sum, for [`Posterior::part`].
pub mod parts {
    pub use crate::posterior::{PartAtPlaces, PartOfF};
}

/// What a [`Report`] is made of, and what a [`Posterior`] says of its lattice.
pub mod report {
    pub use crate::bound::Bound;
    pub use crate::covariates::Effect;
    pub use crate::exact::Coverage;
    pub use crate::infer::{Alone, AtBound, Bounded, RangeEnd, StandardError, Stop, Summarised, Tried};
    pub use crate::posterior::{Bin, Closest, Goodness, LatticeSummary, Misfit, Nearness, Pairs, Residuals};
}

/// Numbers that are known by draws, with their errors: what a [`Contrast`] and a [`Score`] are made of; and ratios of rates.
pub mod estimates {
    pub use crate::posterior::{Estimate, RateRatio};
    pub use crate::sample::importance::LogMean;
}

/// Events of several types in one window: see [`Model::fit_types`].
pub mod types {
    pub use crate::infer::{FieldReport, JointReport, Latent, Loading, TypesFit, TypesReport, by_type};
    pub use crate::posterior::{ShareOfType, TypesPosterior};
}

/// Events and real numbers that were measured beside them: see [`Model::fit_measured`].
pub mod measurements {
    pub use crate::infer::{MeasuredFit, MeasuredReport, Measurements, Slope};
    pub use crate::posterior::{MeasuredPosterior, ValuesAt};
}

/// All numbers of a [`Posterior`], for whoever writes it to a file and reads it back.
pub mod state {
    pub use crate::covariates::{CurveState, EffectState};
    pub use crate::posterior::{
        BasisState, BesideState, ComponentState, ConstantState, InducingState, LatticeState, LayersState,
        MeasuredState, PosteriorState,
    };
}

/// The Rust of the README, which is compiled and run with the examples of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
