//! Hyper-parameters that ended at an end of their search. The fit converged there, but such a value says only that the search
//! went no further.

use std::fmt;

/// A hyper-parameter at an end of its range.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AtBound {
    /// Its name, as in [`crate::Model::fixed`].
    pub name: String,
    /// What it is.
    pub what: Bounded,
    /// Which end it is at.
    pub end: RangeEnd,
}

/// What ended at a bound.
#[derive(Debug, Clone, PartialEq)]
pub enum Bounded {
    /// A length along an axis.
    Length {
        /// The name of the axis; empty if it has none.
        axis: String,
        /// The length, in sides of the window.
        sides: f64,
        /// Whether another lattice might show more: finer ones something shorter, coarser ones something longer. Not where a finer lattice gained nothing, where coordinates are rounded, or
        /// where nodes outnumber events by far: then the events have no structure at that scale.
        unresolved: bool,
    },
    /// The variance of f, or of one of its terms if there are several.
    Variance {
        /// Whether f has other terms.
        of_term: bool,
    },
    /// Anything else.
    Other,
}

/// An end of the range of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// The lower one.
    Lowest,
    /// The upper one.
    Highest,
}

impl RangeEnd {
    /// Which end of `bounds` a value is at, if it is within 1 % of one (of the value, if these are logarithms).
    pub(crate) fn of(x: f64, bounds: (f64, f64)) -> Option<Self> {
        const NEAR: f64 = 0.01;
        match x {
            x if x <= bounds.0 + NEAR => Some(RangeEnd::Lowest),
            x if x >= bounds.1 - NEAR => Some(RangeEnd::Highest),
            _ => None,
        }
    }

    /// One word for files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            RangeEnd::Lowest => "lowest",
            RangeEnd::Highest => "highest",
        }
    }
}

impl AtBound {
    /// Whether it says that the events have no structure which more inducing points or nodes could show.
    pub fn is_without_structure(&self) -> bool {
        match self.what {
            Bounded::Length { unresolved, .. } => self.end == RangeEnd::Lowest && !unresolved,
            Bounded::Variance { of_term } => self.end == RangeEnd::Lowest && !of_term,
            Bounded::Other => false,
        }
    }
}

/// What hyper-parameters at their ends mean, in sentences. Where f does not vary, nothing is to be said of how fast it does.
pub(super) fn sentences(at_bounds: &[AtBound]) -> Vec<String> {
    let is_flat =
        |bound: &&AtBound| matches!(bound.what, Bounded::Variance { of_term: false }) && bound.end == RangeEnd::Lowest;
    match at_bounds.iter().find(is_flat) {
        Some(flat) => vec![flat.to_string()],
        None => at_bounds.iter().map(AtBound::to_string).collect(),
    }
}

/// What it means, in a sentence.
impl fmt::Display for AtBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match (&self.what, self.end) {
            (Bounded::Length { axis, sides, unresolved }, end) => {
                let along = if axis.is_empty() { String::new() } else { format!(" along {axis}") };
                let size = if *sides >= 1.0 { format!("{sides:.3} times") } else { format!("{sides:.2e} of") };
                match (end, unresolved) {
                    (RangeEnd::Lowest, true) => write!(
                        f,
                        "the length-scale{along} is as short as so few nodes can show, {size} the window's side: more nodes would help"
                    ),
                    (RangeEnd::Lowest, false) => write!(
                        f,
                        "the length-scale{along} is at the lower end of what was searched, {size} the window's side: the events show no \
                         structure longer than that (repeated or rounded places look so), and the rate follows single events"
                    ),
                    (RangeEnd::Highest, true) => write!(
                        f,
                        "the length-scale{along} is as long as so fine a lattice has digits for, {size} the window's side: fewer nodes would help"
                    ),
                    (RangeEnd::Highest, false) => {
                        let flat = if *sides < 1.0 { "" } else { ", and the rate hardly changes along it" };
                        let where_ = if axis.is_empty() { "" } else { &along };
                        write!(
                            f,
                            "the length-scale{along} is at the upper end of what was searched, {size} the window's side: the events show \
                             no structure shorter than that{where_}{flat}"
                        )
                    }
                }
            }
            (Bounded::Variance { of_term: false }, RangeEnd::Lowest) => {
                f.write_str("the variance stands at its floor: under this prior the events show no variation")
            }
            (Bounded::Variance { of_term: true }, RangeEnd::Lowest) => {
                write!(f, "{name} stands at its floor: the events show no need of that term")
            }
            _ => write!(f, "{name} ran to the end of its range: the events do not determine it (a prior would)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flat_rate_no_length_is_said() {
        let length = AtBound {
            name: "lengthscale".into(),
            what: Bounded::Length { axis: String::new(), sides: 1e-3, unresolved: false },
            end: RangeEnd::Lowest,
        };
        let variance =
            AtBound { name: "variance".into(), what: Bounded::Variance { of_term: false }, end: RangeEnd::Lowest };
        assert_eq!(sentences(&[length.clone(), variance.clone()]), [variance.to_string()]);
        assert_eq!(sentences(std::slice::from_ref(&length)), [length.to_string()]);
        let high = AtBound { end: RangeEnd::Highest, ..variance };
        assert_eq!(sentences(&[length, high]).len(), 2);
    }
}
