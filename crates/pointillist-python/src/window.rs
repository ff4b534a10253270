//! Windows: words of Python become pieces on axes.

use super::{Reduced, arrays, errors};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pointillist::window::{Direction, Piece, Span};
use pointillist::{Axis, Points};
use pointillist_io::arrays::{ArrayExposure, Looked, WindowPart, WindowWords};
use pointillist_io::geography::{inward, outward, rings_outward};
use pointillist_io::observed::ExposureTable;
use pointillist_io::{Geography, TimeUnit, Zone, show_window};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The unit of numbers on the globe.
const DEGREES: &str = "degrees";

/// Ends on axes: on the globe in degrees.
pub fn ends(spans: &[Span], axes: &[Axis]) -> Vec<(f64, f64)> {
    spans.iter().zip(axes).map(|(span, axis)| (outward(axis, span.lo), outward(axis, span.hi))).collect()
}

/// A window on its axes.
#[pyclass(frozen, module = "pointillist._core")]
pub struct Window(pub pointillist::Window);

/// A part of a window as Python gives it.
#[derive(FromPyObject)]
enum Part<'py> {
    Ready(PyRef<'py, Window>),
    Text(String),
    Border(String, Vec<u8>, Vec<String>),
}

/// An exposure as Python gives it, by the attributes of `pointillist.Exposure`.
#[derive(FromPyObject)]
struct Exposure<'py> {
    along: Option<Vec<usize>>,
    lines: Option<Vec<PyReadonlyArray1<'py, f64>>>,
    places: Option<PyReadonlyArray2<'py, f64>>,
    values: PyReadonlyArrayDyn<'py, f64>,
}

/// A window as Python gives it, by the attributes of `pointillist.Window`.
#[derive(FromPyObject)]
pub struct Words<'py> {
    parts: Vec<Part<'py>>,
    repeats: Option<usize>,
    trials: Option<Vec<[String; 2]>>,
    exposure: Option<Exposure<'py>>,
    /// Names of axes.
    pub names: Option<Vec<String>>,
    /// Units of axes, as in `t=s`, and of the exposure.
    pub units: Vec<String>,
    time_unit: String,
    time_zone: Option<String>,
    /// Whether coordinates are degrees on the globe, if it is known.
    meant_geography: Option<String>,
}

impl Words<'_> {
    /// The unit in which dates are counted.
    pub fn time_unit(&self) -> PyResult<TimeUnit> {
        time_unit(&self.time_unit)
    }

    /// The zone whose clocks dates follow.
    pub fn time_zone(&self) -> PyResult<Option<Zone>> {
        self.time_zone.as_deref().map(Zone::named).transpose().map_err(errors::setting)
    }

    /// As the crate for files takes them.
    pub fn meant(&self) -> PyResult<WindowWords> {
        let part = |part: &Part<'_>| match part {
            Part::Ready(window) => WindowPart::Ready(window.0.clone()),
            Part::Text(text) => WindowPart::Text(text.clone()),
            Part::Border(name, document, ends) => {
                WindowPart::Border { name: name.clone(), document: document.clone(), ends: ends.clone() }
            }
        };
        let looked = match (&self.trials, self.repeats) {
            (Some(trials), _) => Looked::Trials(trials.clone()),
            (None, Some(times)) => Looked::Times(times),
            (None, None) => Looked::Once,
        };
        let exposure = self.exposure.as_ref().map(Exposure::meant).transpose()?;
        let geography = geography(self.meant_geography.as_deref())?;
        let time_zone = self.time_zone()?;
        let (parts, units) = (self.parts.iter().map(part).collect(), self.units.clone());
        Ok(WindowWords { parts, looked, exposure, units, geography, time_zone })
    }

    /// The axes that a window has which was on axes before.
    pub fn ready_axes(&self) -> Option<Vec<Axis>> {
        match &self.parts[..] {
            [Part::Ready(window)] => Some(window.0.axes().to_vec()),
            _ => None,
        }
    }
}

impl Exposure<'_> {
    fn meant(&self) -> PyResult<ArrayExposure> {
        let numbers = |array: &PyReadonlyArray1<'_, f64>| array.as_array().to_vec();
        let values: Vec<f64> = self.values.as_array().iter().copied().collect();
        let table = match (&self.lines, &self.places) {
            (Some(lines), _) => ExposureTable::Grid { lines: lines.iter().map(numbers).collect(), values },
            (None, Some(places)) => {
                ExposureTable::Weights { rows: places.as_array().iter().copied().collect(), weights: values }
            }
            (None, None) => {
                return Err(errors::input(
                    "exposure= has neither grid lines nor places; make one with Exposure.grid or Exposure.weights",
                ));
            }
        };
        Ok(ArrayExposure { along: self.along.clone(), table })
    }
}

/// A unit of time by its name.
pub fn time_unit(name: &str) -> PyResult<TimeUnit> {
    name.parse().map_err(|error| errors::setting(format!("time_unit=: {error}")))
}

/// Whether coordinates are degrees on the globe, by its name.
pub fn geography(name: Option<&str>) -> PyResult<Geography> {
    match name {
        None => Ok(Geography::Recognised),
        Some("sphere") => Ok(Geography::Sphere),
        Some("plane") => Ok(Geography::Plane),
        Some(other) => Err(errors::setting(format!("geography='{other}' is not known; take one of sphere, plane"))),
    }
}

/// What a column may be called as well, if this is what a longitude or a latitude may be called.
#[pyfunction]
pub fn synonyms(name: &str) -> Vec<&'static str> {
    pointillist_io::geography::synonyms(&name.trim().to_lowercase()).to_vec()
}

/// The instants at which the clocks of a zone show these times (the first where they do so twice); both in microseconds since 1970.
#[pyfunction]
pub fn instants<'py>(
    py: Python<'py>,
    zone: &str,
    shown: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let zone = Zone::named(zone).map_err(errors::setting)?;
    Ok(PyArray1::from_iter(py, shown.as_array().iter().map(|shown| zone.instant(*shown))))
}

/// A window by itself: on its own axes, of which there are so many.
#[pyfunction]
pub fn resolve_window(py: Python<'_>, words: Words<'_>, dims: usize) -> PyResult<Window> {
    let meant = words.meant()?;
    let names = words.names.clone().unwrap_or_else(|| numbered(dims));
    let (axes, dates) = meant.own_axes(&names, words.time_unit()?).map_err(errors::setting)?;
    let mut warnings = Vec::new();
    let window = meant.of_events(&axes, &dates, None, &mut warnings).map_err(errors::of_window)?;
    errors::warn_of(py, &warnings)?;
    Ok(Window(window))
}

/// Names of axes that have none, as the command has them.
pub fn numbered(dims: usize) -> Vec<String> {
    (0..dims).map(|r| r.to_string()).collect()
}

#[pymethods]
impl Window {
    /// From what `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let read = serde_json::from_slice(bytes);
        read.map(Self).map_err(|error| errors::input(format!("these bytes are no window ({error}); pickle it again")))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &serde_json::to_vec(&self.0).unwrap_or_default())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py),).into_pyobject(py)?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    #[getter]
    fn measure(&self) -> f64 {
        self.0.measure()
    }

    #[getter]
    fn volume(&self) -> f64 {
        self.0.volume()
    }

    #[getter]
    fn dims(&self) -> usize {
        self.0.dims()
    }

    #[getter]
    fn is_repeated(&self) -> bool {
        pointillist_io::regions::is_repeated(&self.0)
    }

    #[getter]
    fn has_exposure(&self) -> bool {
        self.0.exposure().is_some()
    }

    /// On the globe in degrees.
    #[getter]
    fn bounding_box(&self) -> Vec<(f64, f64)> {
        ends(&self.0.bounding_box(), self.0.axes())
    }

    /// Name, unit, origin (seconds since 1970) and time zone of each axis, as numbers are given and taken there: on the globe in degrees, with a zone by its clocks.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn axes(&self) -> Vec<(String, Option<String>, Option<f64>, Option<String>)> {
        let unit = |axis: &Axis| if axis.globe.is_some() { Some(DEGREES.into()) } else { axis.unit.clone() };
        self.0.axes().iter().map(|axis| (axis.name.clone(), unit(axis), axis.origin, axis.zone.clone())).collect()
    }

    /// The numbers of the axes of longitude and latitude, on the globe.
    #[getter]
    fn globe(&self) -> Option<(usize, usize)> {
        let along = |direction: Direction| {
            self.0.axes().iter().position(|axis| axis.globe.is_some_and(|globe| globe.direction == direction))
        };
        Some((along(Direction::East)?, along(Direction::North)?))
    }

    /// The reference system of the map that its axes are on, if it is known to them.
    #[getter]
    fn crs(&self) -> Option<String> {
        self.0.axes().iter().find_map(|axis| axis.crs.clone())
    }

    /// Boxes around its pieces, each with how often it was looked at.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn pieces(&self) -> Vec<(Vec<(f64, f64)>, f64)> {
        let spans = |piece: &Piece| ends(&piece.spans, self.0.axes());
        self.0.pieces().iter().map(|piece| (spans(piece), piece.repeats)).collect()
    }

    /// The rings of each polygon of its borders.
    #[getter]
    fn outlines(&self) -> Vec<Vec<Vec<[f64; 2]>>> {
        self.0.outlines().flat_map(|outline| rings_outward(outline.rings(), self.0.axes())).collect()
    }

    fn show(&self) -> String {
        show_window(&self.0)
    }

    /// The unit of a rate over it.
    fn rate_unit(&self) -> String {
        pointillist_io::fit_summary::rate_unit(&self.0)
    }

    fn contains<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let points = arrays::points(&points)?;
        if points.dims() != self.0.dims() {
            return Err(errors::input(format!(
                "there are {} axes and {} coordinates a point",
                self.0.dims(),
                points.dims()
            )));
        }
        let ends: Vec<_> = self.bounding_box().into_iter().zip(self.0.bounding_box()).collect();
        let place = |row: &[f64]| -> Vec<f64> { (0..row.len()).map(|r| self.placed(r, row[r], ends[r])).collect() };
        Ok(PyArray1::from_iter(py, points.rows().map(|row| self.0.contains(&place(row)))))
    }

    fn grid<'py>(&self, py: Python<'py>, counts: Vec<usize>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        const MOST: usize = 50_000_000;
        let total = counts.iter().fold(1usize, |n, &c| n.saturating_mul(c));
        if counts.len() != self.0.dims() || counts.contains(&0) || total > MOST {
            let dims = self.0.dims();
            return Err(errors::setting(format!(
                "grid={counts:?} needs {dims} numbers above 0, and at most {MOST} points"
            )));
        }
        let (lo, hi): (Vec<f64>, Vec<f64>) = self.bounding_box().into_iter().unzip();
        arrays::rows(py, &Points::grid(&lo, &hi, &counts))
    }
}

impl Window {
    /// A number on an axis as it is counted there. One end of the window in degrees, which are rounded, is its end in km.
    fn placed(&self, axis: usize, value: f64, (rounded, exact): ((f64, f64), Span)) -> f64 {
        match value {
            lo if lo == rounded.0 => exact.lo,
            hi if hi == rounded.1 => exact.hi,
            value => inward(&self.0.axes()[axis], value),
        }
    }
}
