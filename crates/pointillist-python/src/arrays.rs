//! NumPy arrays as points and back. Coordinates of many events are not copied.

use super::errors;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray,
};
use pointillist::{Axis, Points};
use pointillist_io::MOST_EVENTS;
use pointillist_io::arrays::{Coordinates, points_on_axes};
use pointillist_io::geography::{is_on_globe, points_inward, points_outward, refuse_no_degrees};
use pyo3::prelude::*;
use std::sync::Arc;

/// Coordinates as Python gives them: rows of numbers, or columns of which some may be dates.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// Rows of numbers.
    Rows(PyReadonlyArray2<'py, f64>),
    /// Column by column.
    Columns(Vec<Column<'py>>),
}

/// Coordinates on one axis.
#[derive(FromPyObject)]
pub enum Column<'py> {
    /// Numbers.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Dates in microseconds since 1970.
    Instants(PyReadonlyArray1<'py, i64>),
}

impl Column<'_> {
    /// As the crate for files takes them.
    pub fn coordinates(&self) -> PyResult<Coordinates<'_>> {
        Ok(match self {
            Self::Numbers(array) => Coordinates::Numbers(whole(array.as_slice())?),
            Self::Instants(array) => Coordinates::Instants(whole(array.as_slice())?),
        })
    }
}

impl Given<'_> {
    /// How many axes there are.
    pub fn dims(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.shape()[1],
            Self::Columns(columns) => columns.len(),
        }
    }

    /// Points on axes that are known; on the globe degrees become km.
    pub fn on_axes(&self, axes: &[Axis], source: &str) -> PyResult<Points> {
        points_inward(self.as_given(axes, source)?, axes).map_err(errors::of_library)
    }

    /// The same for places that are asked for. What cannot be degrees is refused on the globe, where events of that kind lie outside the window.
    pub fn places(&self, axes: &[Axis], source: &str) -> PyResult<Points> {
        let given = self.as_given(axes, source)?;
        refuse_no_degrees(&given, axes, source).map_err(errors::input)?;
        points_inward(given, axes).map_err(errors::of_library)
    }

    /// Numbers as they are; dates are counted from the origin of their axis.
    pub fn as_given(&self, axes: &[Axis], source: &str) -> PyResult<Points> {
        match self {
            Self::Rows(rows) if rows.shape()[1] == axes.len() => points(rows),
            Self::Rows(rows) => Err(errors::input(format!(
                "{source}: {} coordinates a point, but there {}; give an array of shape (n, {})",
                rows.shape()[1],
                if axes.len() == 1 { "is one axis".into() } else { format!("are {} axes", axes.len()) },
                axes.len()
            ))),
            Self::Columns(columns) => {
                let columns = columns.iter().map(Column::coordinates).collect::<PyResult<Vec<_>>>()?;
                points_on_axes(&columns, axes, source).map_err(errors::of_input)
            }
        }
    }
}

fn whole<T>(slice: Result<&[T], impl Sized>) -> PyResult<&[T]> {
    slice.map_err(|_| errors::input("an array is not contiguous; give numpy.ascontiguousarray of it"))
}

/// The numbers of an array that Python keeps alive as long as they are in use.
struct Held {
    /// Holds on to the memory.
    _array: Py<PyArray2<f64>>,
    start: *const f64,
    length: usize,
}

// SAFETY: the pointer is only read through, and the memory is neither freed nor moved while the array lives: NumPy refuses to resize an
// array to which somebody else holds a reference.
unsafe impl Send for Held {}
// SAFETY: as above; nothing here writes.
unsafe impl Sync for Held {}

impl AsRef<[f64]> for Held {
    fn as_ref(&self) -> &[f64] {
        // SAFETY: `points` took start and length from the contiguous array that is held. That a caller leaves the numbers alone meanwhile is
        // what every library asks that computes on an array without holding the interpreter's lock, NumPy itself included. Copying 10⁷ points
        // in place of this takes 80 MB and some 40 ms.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Points of an array: a copy of few, the array itself of many. What a model keeps of its events is never the caller's memory.
pub fn points(rows: &PyReadonlyArray2<'_, f64>) -> PyResult<Points> {
    let (dims, numbers) = (rows.shape()[1], whole(rows.as_slice())?);
    let points = if rows.shape()[0] <= MOST_EVENTS {
        Points::new(dims, numbers.to_vec())
    } else {
        let array: &Bound<'_, PyArray2<f64>> = rows;
        let held = Held { _array: array.clone().unbind(), start: numbers.as_ptr(), length: numbers.len() };
        Points::shared(dims, Arc::new(held))
    };
    points.map_err(errors::of_library)
}

/// Rows of points on axes: on the globe in degrees.
pub fn rows_on<'py>(py: Python<'py>, points: &Points, axes: &[Axis]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    match is_on_globe(axes) {
        true => rows(py, &points_outward(points, axes).map_err(errors::of_library)?),
        false => rows(py, points),
    }
}

/// Rows of points.
pub fn rows<'py>(py: Python<'py>, points: &Points) -> PyResult<Bound<'py, PyArray2<f64>>> {
    points.coordinates().to_pyarray(py).reshape([points.len(), points.dims()])
}

/// Rows of the same length.
pub fn table<'py, T: Element + Copy>(
    py: Python<'py>,
    rows: &[Vec<T>],
    width: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    PyArray1::from_vec(py, rows.concat()).reshape([rows.len(), width])
}
