//! Events: arrays or tables in their window.

use super::Reduced;
use super::arrays::{self, Column, Given};
use super::call;
use super::errors;
use super::window::{Window, Words, geography, numbered, time_unit};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pointillist::{Axis, Points};
use pointillist_io::arrays::{ArrayEvents, points_of_columns};
use pointillist_io::datasets::{DATASETS, find};
use pointillist_io::geography::{is_on_globe, onto, points_inward, points_outward};
use pointillist_io::{
    Epoch, EventSettings, InputError, Loaded, RowSettings, TimeAxis, TimeUnit, Zone, message, time_axis,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const HELD_OUT: &str = "the held-out events";

/// Events in their window.
#[pyclass(frozen, module = "pointillist._core")]
pub struct Events(pub Loaded);

/// Arrays, and what is said of them.
struct Arrays<'a, 'py> {
    given: &'a Given<'py>,
    trials: Option<Vec<usize>>,
    source: &'a str,
}

impl Arrays<'_, '_> {
    /// On axes of their own, or on those of a window that has some.
    fn placed(self, words: &Words<'_>) -> PyResult<ArrayEvents> {
        let Self { given, trials, source } = self;
        let (points, axes, dates) = match words.ready_axes() {
            Some(axes) => {
                let points = given.on_axes(&axes, source)?;
                let dates = vec![false; axes.len()];
                (points, axes, dates)
            }
            None => {
                let (points, times) = on_own_axes(given, words.time_unit()?, words.time_zone()?)?;
                let names = words.names.clone().unwrap_or_else(|| numbered(points.dims()));
                if names.len() != points.dims() {
                    let (names, dims) = (names.join(", "), points.dims());
                    return Err(errors::setting(format!(
                        "names= are {names}, but events have {dims} coordinates; name each"
                    )));
                }
                let axes = pointillist_io::events::axes(&names, &times, None, &words.units).map_err(errors::setting)?;
                (points, axes, times.iter().map(Option::is_some).collect())
            }
        };
        Ok(ArrayEvents { points, trials, axes, dates, source: source.into() })
    }
}

fn on_own_axes(given: &Given<'_>, unit: TimeUnit, zone: Option<Zone>) -> PyResult<(Points, Vec<Option<TimeAxis>>)> {
    match given {
        Given::Rows(rows) => Ok((arrays::points(rows)?, vec![None; given.dims()])),
        Given::Columns(columns) => {
            let columns = columns.iter().map(Column::coordinates).collect::<PyResult<Vec<_>>>()?;
            points_of_columns(&columns, unit, zone).map_err(errors::of_input)
        }
    }
}

/// The trial of each event.
fn numbers(trials: Option<PyReadonlyArray1<'_, i64>>) -> PyResult<Option<Vec<usize>>> {
    let number = |trial: &i64| {
        usize::try_from(*trial).map_err(|_| errors::input(format!("trial {trial} is below 0; number trials from 0")))
    };
    trials.map(|trials| trials.as_array().iter().map(number).collect()).transpose()
}

#[pymethods]
impl Events {
    /// Of arrays, in the window that is meant or in their bounding box.
    #[staticmethod]
    fn of(
        py: Python<'_>,
        given: Given<'_>,
        trials: Option<PyReadonlyArray1<'_, i64>>,
        words: Words<'_>,
        clip: bool,
        source: &str,
    ) -> PyResult<Self> {
        let placed = Arrays { given: &given, trials: numbers(trials)?, source }.placed(&words)?;
        let meant = words.meant()?;
        call::short(py, || placed.looked_for(&meant, clip).map(Self).map_err(errors::of_input))
    }

    /// Of arrays that were held out from what was fitted over a window.
    #[staticmethod]
    fn held_out(
        py: Python<'_>,
        given: Given<'_>,
        trials: Option<PyReadonlyArray1<'_, i64>>,
        window: PyRef<'_, Window>,
        repeats: Option<usize>,
        clip: bool,
    ) -> PyResult<Self> {
        let (axes, source) = (window.0.axes().to_vec(), HELD_OUT);
        let points = given.on_axes(&axes, source)?;
        let dates = vec![false; axes.len()];
        let held_out = ArrayEvents { points, trials: numbers(trials)?, axes, dates, source: source.into() };
        let loaded = held_out.held_out(&window.0, repeats, clip).map_err(errors::of_input)?;
        errors::warn_of(py, &loaded.warnings)?;
        Ok(Self(loaded))
    }

    /// The same on the map of the globe that another window is on, or as they are if that is theirs.
    fn on_the_map_of(&self, window: PyRef<'_, Window>) -> PyResult<Self> {
        let (own, axes) = (self.0.events.window(), window.0.axes());
        let maps = |axes: &[Axis]| axes.iter().map(|axis| axis.globe).collect::<Vec<_>>();
        if maps(own.axes()) == maps(axes) {
            return Ok(Self(self.0.clone()));
        }
        let moved = onto(own, axes).map_err(|error| match error {
            InputError::Said(why) => errors::input(message!["{HELD_OUT}: ", why]),
            error => errors::of_input(error),
        })?;
        let degrees = points_outward(self.0.events.points(), own.axes()).map_err(errors::of_library)?;
        let points = points_inward(degrees, axes).map_err(errors::of_library)?;
        let events = pointillist::Events::new(points, moved).map_err(errors::of_library)?;
        Ok(Self(Loaded { events, ..self.0.clone() }))
    }

    /// As they were when they were pickled.
    #[staticmethod]
    fn restored(
        given: PyReadonlyArray2<'_, f64>,
        trials: Option<PyReadonlyArray1<'_, i64>>,
        window: PyRef<'_, Window>,
        source: String,
        warnings: Vec<String>,
    ) -> PyResult<Self> {
        let events = pointillist::Events::new(arrays::points(&given)?, window.0.clone()).map_err(errors::of_library)?;
        let has_dates = window.0.axes().iter().any(|axis| time_axis(axis).is_some());
        let warnings = warnings.into_iter().map(Into::into).collect();
        let has_degrees = is_on_globe(window.0.axes());
        Ok(Self(Loaded { events, trials: numbers(trials)?, types: None, has_dates, has_degrees, source, warnings }))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        // On the globe km, which are what they are to the last bit.
        let points = arrays::rows(py, self.0.events.points())?;
        let state = (points, self.trials(py), self.window(), self.source(), self.warnings());
        Ok((py.get_type::<Self>().getattr("restored")?, state.into_pyobject(py)?))
    }

    fn __len__(&self) -> usize {
        self.0.events.len()
    }

    /// On the globe in degrees.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::rows_on(py, self.0.events.points(), self.0.events.window().axes())
    }

    #[getter]
    fn window(&self) -> Window {
        Window(self.0.events.window().clone())
    }

    /// For each event the number of its trial, from 0.
    #[getter]
    fn trials<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let trials = self.0.trials.as_ref()?;
        Some(PyArray1::from_iter(py, trials.iter().map(|&trial| trial as i64)))
    }

    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.iter().map(errors::spelled).collect()
    }
}

/// Where points stand on the axes of a window: dates become numbers, degrees stay.
#[pyfunction]
pub fn points_on<'py>(
    py: Python<'py>,
    given: Given<'py>,
    window: PyRef<'_, Window>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    arrays::rows(py, &given.as_given(window.0.axes(), "the points")?)
}

/// How a table of events is read, by the arguments of `pointillist.read_events`.
#[derive(FromPyObject)]
pub struct Reading {
    columns: Option<Vec<String>>,
    r#where: Option<String>,
    date_format: Option<String>,
    epoch: Option<String>,
    window: Vec<String>,
    repeats: Option<usize>,
    trials: Option<String>,
    trial_column: Option<String>,
    exposure: Option<String>,
    clip: bool,
    time_unit: String,
    time_zone: Option<String>,
    units: Vec<String>,
    skip_bad: u64,
    geography: Option<String>,
    crs: Option<String>,
}

impl Reading {
    fn meant(self) -> PyResult<EventSettings> {
        let epochs = [("s", Epoch::Seconds), ("ms", Epoch::Millis), ("us", Epoch::Micros), ("ns", Epoch::Nanos)];
        let epoch = |name: String| {
            let found = epochs.iter().find(|(known, _)| *known == name).map(|(_, epoch)| *epoch);
            found.ok_or_else(|| errors::setting(format!("epoch='{name}' is not known; take one of s, ms, us, ns")))
        };
        let epoch = self.epoch.map(epoch).transpose()?;
        Ok(EventSettings {
            columns: self.columns,
            rows: RowSettings { filter: self.r#where, date_format: self.date_format, epoch },
            window: self.window,
            repeats: self.repeats,
            trials: self.trials,
            trial_column: self.trial_column,
            type_column: None,
            exposure: self.exposure,
            clip: self.clip,
            crs: self.crs,
            time_unit: time_unit(&self.time_unit)?,
            time_zone: self.time_zone,
            unit: self.units,
            skip_bad: self.skip_bad,
            geography: geography(self.geography.as_deref())?,
        })
    }
}

/// The events of a table, or of a bundled set, as the command reads them.
#[pyfunction]
pub fn read_events(py: Python<'_>, path: String, reading: Reading) -> PyResult<Events> {
    let settings = reading.meant()?;
    call::short(py, move || pointillist_io::read_events(&path, &settings).map(Events).map_err(errors::of_input))
}

/// What is known of each bundled set.
#[pyfunction]
pub fn datasets(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let describe = |name: &str| {
        let known = PyDict::new(py);
        if let Some(set) = find(name) {
            known.set_item("name", set.name)?;
            known.set_item("what", set.what)?;
            known.set_item("events", set.events)?;
            known.set_item("repeats", set.repeats)?;
            known.set_item("columns", set.columns.iter().map(|column| column.name).collect::<Vec<_>>())?;
            known.set_item("default_columns", set.default_columns.to_vec())?;
            known.set_item("source", set.source)?;
            known.set_item("licence", set.licence)?;
            known.set_item("border", set.border.map(|border| border.geojson.to_pyarray(py)))?;
            known.set_item("csv", pyo3::types::PyBytes::new(py, set.csv))?;
        }
        Ok(known)
    };
    DATASETS.iter().map(|set| describe(set.name)).collect()
}

/// Whether a column of this name says how many events a row stands for.
#[pyfunction]
pub fn says_how_many(name: &str) -> bool {
    pointillist_io::events::says_how_many(name)
}
