//! Points: rows of coordinates. No window, no weights, no meaning.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Numbers that somebody else holds, such as the array of another language.
pub type SharedNumbers = Arc<dyn AsRef<[f64]> + Send + Sync>;

/// Where coordinates are kept.
#[derive(Clone)]
enum Kept {
    Own(Vec<f64>),
    Shared(SharedNumbers),
}

impl Kept {
    fn all(&self) -> &[f64] {
        match self {
            Kept::Own(numbers) => numbers,
            Kept::Shared(numbers) => (**numbers).as_ref(),
        }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().fmt(f)
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Kept {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.all().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Kept {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Kept::Own)
    }
}

/// A list of points in R dimensions, one row per point.
///
/// ```
/// use pointillist::Points;
///
/// let places = Points::from_rows(&[[0.5, 2.0], [1.5, 3.0]])?;
/// assert_eq!((places.len(), places.dims()), (2, 2));
/// assert_eq!(places.axis(1), [2.0, 3.0]);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct Points {
    dims: usize,
    coordinates: Kept,
}

crate::reading::checked_when_read!(Points);

impl Points {
    /// No points.
    pub(crate) const NONE: Self = Self { dims: 1, coordinates: Kept::Own(Vec::new()) };

    /// Points from coordinates in row order; every coordinate must be finite.
    pub fn new(dims: usize, coordinates: Vec<f64>) -> Result<Self> {
        Self { dims, coordinates: Kept::Own(coordinates) }.checked()
    }

    /// The same of coordinates that somebody else holds, without a copy. They must not change as long as there are such points.
    ///
    /// ```
    /// use pointillist::Points;
    /// use std::sync::Arc;
    ///
    /// let places = Points::shared(2, Arc::new(vec![0.5, 2.0, 1.5, 3.0]))?;
    /// assert_eq!(places, Points::from_rows(&[[0.5, 2.0], [1.5, 3.0]])?);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn shared(dims: usize, coordinates: SharedNumbers) -> Result<Self> {
        Self { dims, coordinates: Kept::Shared(coordinates) }.checked()
    }

    fn checked(self) -> Result<Self> {
        let (dims, coordinates) = (self.dims, self.coordinates());
        if dims == 0 || !coordinates.len().is_multiple_of(dims) {
            return Err(Error::Dimension { what: "points", expected: dims, found: coordinates.len() % dims.max(1) });
        }
        if let Some(at) = coordinates.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { index: at / dims, axis: at % dims, value: coordinates[at] });
        }
        Ok(self)
    }

    /// Points from coordinates in row order that are known to be finite and whole rows.
    #[doc(hidden)]
    pub fn of_rows(dims: usize, coordinates: Vec<f64>) -> Self {
        debug_assert!(coordinates.len().is_multiple_of(dims));
        Self { dims, coordinates: Kept::Own(coordinates) }
    }

    /// Points on a line.
    pub fn line(coordinates: &[f64]) -> Result<Self> {
        Self::new(1, coordinates.to_vec())
    }

    /// Points from rows.
    pub fn from_rows<const R: usize>(rows: &[[f64; R]]) -> Result<Self> {
        Self::new(R, rows.iter().flatten().copied().collect())
    }

    /// The regular grid over the box `lo`..`hi` with `counts[r]` points on axis r, ends included;
    /// the first axis varies slowest. One point on an axis stands in its middle.
    pub fn grid(lo: &[f64], hi: &[f64], counts: &[usize]) -> Self {
        let axes: Vec<Vec<f64>> = (0..lo.len()).map(|r| even(lo[r], hi[r], counts[r])).collect();
        let mut coordinates = Vec::with_capacity(counts.iter().product::<usize>() * lo.len());
        let mut index = vec![0; lo.len()];
        for _ in 0..counts.iter().product::<usize>() {
            coordinates.extend(index.iter().zip(&axes).map(|(&i, axis)| axis[i]));
            for r in (0..lo.len()).rev() {
                index[r] += 1;
                if index[r] < counts[r] {
                    break;
                }
                index[r] = 0;
            }
        }
        Self { dims: lo.len(), coordinates: Kept::Own(coordinates) }
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.coordinates().len() / self.dims
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.coordinates().is_empty()
    }

    /// Point `n`.
    pub fn row(&self, n: usize) -> &[f64] {
        &self.coordinates()[n * self.dims..(n + 1) * self.dims]
    }

    /// All points in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.coordinates().chunks_exact(self.dims)
    }

    /// All coordinates, row after row.
    pub fn coordinates(&self) -> &[f64] {
        self.coordinates.all()
    }

    /// The coordinates on one axis.
    pub fn axis(&self, r: usize) -> Vec<f64> {
        self.rows().map(|row| row[r]).collect()
    }

    /// The points for which `keep` holds.
    pub fn filter(&self, keep: impl Fn(&[f64]) -> bool) -> Self {
        let coordinates = self.rows().filter(|row| keep(row)).flatten().copied().collect();
        Self { dims: self.dims, coordinates: Kept::Own(coordinates) }
    }

    /// These points, then those.
    #[doc(hidden)]
    pub fn followed_by(&self, others: &Points) -> Self {
        Self::of_rows(self.dims, [self.coordinates(), others.coordinates()].concat())
    }

    /// Every point sent through `map`, in place (R coordinates in, R out).
    pub(crate) fn map(&self, mut map: impl FnMut(usize, f64) -> f64) -> Self {
        let coordinates = self.coordinates().iter().enumerate().map(|(i, &v)| map(i % self.dims, v)).collect();
        Self { dims: self.dims, coordinates: Kept::Own(coordinates) }
    }
}

/// `count` even steps from `lo` to `hi`, both included; a single one stands in the middle.
fn even(lo: f64, hi: f64, count: usize) -> Vec<f64> {
    if count == 1 {
        return vec![0.5 * (lo + hi)];
    }
    (0..count).map(|i| if i + 1 == count { hi } else { lo + (hi - lo) * i as f64 / (count - 1) as f64 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_holds_its_corners_in_order() {
        let grid = Points::grid(&[0.0, 10.0], &[1.0, 30.0], &[2, 3]);
        assert_eq!(grid.coordinates(), [0.0, 10.0, 0.0, 20.0, 0.0, 30.0, 1.0, 10.0, 1.0, 20.0, 1.0, 30.0]);
        assert_eq!(Points::grid(&[2.0], &[4.0], &[1]).coordinates(), [3.0]);
    }

    #[test]
    fn a_ragged_or_infinite_list_is_refused() {
        assert!(matches!(Points::new(2, vec![1.0, 2.0, 3.0]), Err(Error::Dimension { .. })));
        let error = Points::new(2, vec![1.0, 2.0, 3.0, f64::NAN]).unwrap_err();
        assert!(matches!(error, Error::NotFinite { index: 1, axis: 1, .. }));
    }
}
