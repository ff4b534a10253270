//! Summaries: events by cell, which add up.

use super::arrays::Given;
use super::window::{Window, Words, numbered};
use super::{Reduced, call, errors};
use pointillist_io::arrays::ArrayEvents;
use pointillist_io::{Opened, SummaryFile};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// The events of a window by cell.
#[pyclass(frozen, module = "pointillist._core")]
pub struct Summary(pub SummaryFile);

/// One pass over events in a window, which must be known: its dates say what time counts from.
#[pyfunction]
pub fn summarise(
    py: Python<'_>,
    given: Given<'_>,
    words: Words<'_>,
    cells: Option<Vec<usize>>,
    clip: bool,
    source: &str,
) -> PyResult<Summary> {
    let meant = words.meant()?;
    let (axes, dates) = match words.ready_axes() {
        Some(axes) => (axes.clone(), vec![false; axes.len()]),
        None => {
            let names = words.names.clone().unwrap_or_else(|| numbered(given.dims()));
            meant.own_axes(&names, words.time_unit()?).map_err(errors::setting)?
        }
    };
    let mut warnings = Vec::new();
    let window = meant.of_events(&axes, &dates, None, &mut warnings).map_err(errors::of_window)?;
    let axes = window.axes().to_vec();
    let points = given.on_axes(&axes, source)?;
    let cells = cells.unwrap_or_else(|| pointillist::Summary::usual_cells(window.dims()));
    let count = points.len();
    let given = ArrayEvents { points, trials: None, axes, dates, source: source.into() };
    let (file, warnings) = call::short(py, || {
        let mut summary = pointillist::Summary::new(&window, &cells).map_err(errors::of_library)?;
        let mut said = warnings;
        let mut kept = 0;
        let is_none_inside = || given.points.rows().all(|row| !window.contains(row));
        if count > 0 && clip && is_none_inside() {
            said.push(pointillist_io::message!["{count} of {count} events lie outside the window, dropped"]);
        } else if count > 0 {
            let loaded =
                given.within(window, clip, Some(pointillist_io::Setting::Window), said).map_err(errors::of_input)?;
            summary.add(loaded.events.points()).map_err(errors::of_library)?;
            (said, kept) = (loaded.warnings, loaded.events.len());
        }
        let dropped = (count - kept) as u64;
        Ok((SummaryFile { summary, sources: vec![source.to_string()], skipped: 0, dropped }, said))
    })?;
    errors::warn_of(py, &warnings)?;
    Ok(Summary(file))
}

#[pymethods]
impl Summary {
    #[staticmethod]
    fn from_bytes(bytes: &[u8], name: &str) -> PyResult<Self> {
        SummaryFile::from_bytes(name, bytes).map(Self).map_err(errors::of_summary_file)
    }

    #[staticmethod]
    fn read(path: &str) -> PyResult<Self> {
        let opened = Opened::open(path).map_err(errors::of_input)?;
        SummaryFile::read(opened).map(Self).map_err(errors::of_summary_file)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        call::short(py, || self.0.write(&path).map_err(errors::of_output))
    }

    /// Both together.
    fn plus(&self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<Self> {
        let (own, other) = (&self.0, &other.0);
        call::short(py, || {
            let mut sum = own.clone();
            sum.add(other.clone(), "this summary", "the other").map_err(errors::of_summary_file)?;
            // Partitions of one source are one source.
            sum.sources.dedup();
            Ok(Self(sum))
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let state = (self.to_bytes(py), "the pickled summary");
        Ok((py.get_type::<Self>().getattr("from_bytes")?, state.into_pyobject(py)?))
    }

    #[getter]
    fn events(&self) -> u64 {
        self.0.summary.events()
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.0.dropped
    }

    #[getter]
    fn cells(&self) -> Vec<usize> {
        self.0.summary.cells()
    }

    #[getter]
    fn window(&self) -> Window {
        Window(self.0.summary.window().clone())
    }

    #[getter]
    fn sources(&self) -> Vec<String> {
        self.0.sources.clone()
    }
}
