//! What can go wrong, with the data that says where. The library never panics on data and never prints.

use thiserror::Error as ThisError;

/// Every way in which a call into the library can fail.
///
/// ```
/// use pointillist::{Error, Events, Points, Window};
///
/// let refused = Events::new(Points::line(&[0.5, 7.0])?, Window::interval(0.0, 5.0)?).unwrap_err();
/// assert!(matches!(refused, Error::OutsideWindow { index: 1, .. }));
/// assert_eq!(refused.to_string(), "1 of 2 events lie outside the window, the first is event 1 at [7.0]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An event lies outside the window.
    #[error("{count} of {total} events lie outside the window, the first is event {index} at {point:?}")]
    OutsideWindow {
        /// Index of the first such event, from 0.
        index: usize,
        /// Its coordinates.
        point: Vec<f64>,
        /// How many there are.
        count: usize,
        /// How many events there are in all.
        total: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("point {index} has a coordinate on axis {axis} that is not a finite number: {value}")]
    NotFinite {
        /// Index of the point, from 0.
        index: usize,
        /// Axis, from 0.
        axis: usize,
        /// The value found.
        value: f64,
    },
    /// Two things that must have the same number of axes do not.
    #[error("{what}: expected {expected} coordinates a point, found {found}")]
    Dimension {
        /// What was being read.
        what: &'static str,
        /// How many axes it should have.
        expected: usize,
        /// How many it has.
        found: usize,
    },
    /// A window whose lower end is not below its upper end.
    #[error("window: on axis {axis} the lower end {lo} is not below the upper end {hi}")]
    EmptyWindow {
        /// Axis, from 0.
        axis: usize,
        /// Its lower end.
        lo: f64,
        /// Its upper end.
        hi: f64,
    },
    /// Two pieces of a window that must not overlap do.
    #[error("pieces {first} and {second} of the window overlap in {at:?}")]
    Overlap {
        /// Index of one, from 0.
        first: usize,
        /// Index of the other.
        second: usize,
        /// The box around what they have in common, (lo, hi) for each axis.
        at: Vec<(f64, f64)>,
    },
    /// A polygon that is none.
    #[error("polygon {polygon}, ring {ring}: {why} near ({}, {})", place[0], place[1])]
    Polygon {
        /// Which polygon, from 0.
        polygon: usize,
        /// Which of its rings, from 0; the first is its outside.
        ring: usize,
        /// What is wrong.
        why: String,
        /// Where.
        place: [f64; 2],
    },
    /// An event stands where none could have been seen.
    #[error("event {index} at {point:?} lies where the exposure is zero")]
    Unexposed {
        /// Index of the event, from 0.
        index: usize,
        /// Its coordinates.
        point: Vec<f64>,
    },
    /// A rate that is none: negative, infinite, or no number.
    #[error("the rate at {point:?} is {value}: it must be a finite number and not negative")]
    BadRate {
        /// Where.
        point: Vec<f64>,
        /// What it is there.
        value: f64,
    },
    /// There is nothing to fit.
    #[error("there are no events: an intensity cannot be inferred from none")]
    NoEvents,
    /// A matrix that must be positive definite is not.
    #[error(
        "a {size}×{size} matrix is not positive definite (pivot {pivot}, relative jitter {jitter:e}): use fewer inducing points or a larger jitter"
    )]
    NotPositiveDefinite {
        /// The pivot at which the factorisation stopped.
        pivot: usize,
        /// Size of the matrix.
        size: usize,
        /// The relative jitter that was on the diagonal.
        jitter: f64,
    },
    /// A setting out of its range.
    #[error("{name} = {value}: {requirement}")]
    Setting {
        /// Name of the setting.
        name: String,
        /// The value given.
        value: String,
        /// What it must be.
        requirement: String,
    },
    /// The bound became NaN, which no valid input explains.
    #[error(
        "the bound is not a number{}: a value that is held, or a prior, may be far from anything the events allow",
        place(.parameters)
    )]
    NotANumber {
        /// The hyper-parameters at which it happened.
        parameters: Vec<f64>,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// A setting out of its range: its name, the value given, and what it must be.
    pub fn setting(name: &str, value: impl std::fmt::Display, requirement: impl Into<String>) -> Self {
        Error::Setting { name: name.into(), value: shown(value.to_string()), requirement: requirement.into() }
    }
}

/// A value as people write it: 1e300, not a one with three hundred zeros.
fn shown(value: String) -> String {
    const LONG: usize = 24;
    match value.parse::<f64>() {
        Ok(number) if value.len() > LONG => format!("{number:e}"),
        _ => value,
    }
}

/// The library's results.
///
/// ```
/// use pointillist::{Events, Model, Points, Result, Window};
///
/// fn busiest_hour(times: &[f64]) -> Result<usize> {
///     let events = Events::new(Points::line(times)?, Window::interval(0.0, 24.0)?)?;
///     let middles: Vec<f64> = (0..24).map(|hour| hour as f64 + 0.5).collect();
///     let rate = Model::default().fit(&events)?.posterior.rate(&Points::line(&middles)?)?.mean;
///     Ok((0..24).max_by(|a, b| rate[*a].total_cmp(&rate[*b])).unwrap_or(0))
/// }
/// assert!((8..18).contains(&busiest_hour(&[6.5, 11.0, 11.6, 12.1, 12.2, 12.9, 14.3, 20.0])?));
/// # Ok::<(), pointillist::Error>(())
/// ```
pub type Result<T> = std::result::Result<T, Error>;
/// Where in Θ, if that is known.
fn place(parameters: &[f64]) -> String {
    if parameters.is_empty() { String::new() } else { format!(" at {parameters:?} (in units of the window)") }
}
