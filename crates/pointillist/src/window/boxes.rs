//! One axis of a box.

use crate::error::{Error, Result};

/// The interval from `lo` to `hi` on one axis, `lo < hi`, both finite.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct Span {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

crate::reading::checked_when_read!(Span);

impl Span {
    pub(crate) fn new(axis: usize, lo: f64, hi: f64) -> Result<Self> {
        let length = hi - lo;
        if !(length > 0.0 && length.is_finite()) {
            return Err(Error::EmptyWindow { axis, lo, hi });
        }
        Ok(Self { lo, hi })
    }

    #[cfg(feature = "serde")]
    fn checked(self) -> Result<Self> {
        Self::new(0, self.lo, self.hi)
    }

    /// `hi − lo`.
    pub fn length(&self) -> f64 {
        self.hi - self.lo
    }

    /// Whether `x` lies in it, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// The common part, if it has a length.
    pub(crate) fn intersection(&self, other: &Span) -> Option<Span> {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        (lo < hi).then_some(Span { lo, hi })
    }
}
