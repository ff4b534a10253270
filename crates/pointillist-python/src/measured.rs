//! Events and real numbers measured beside them: their fit. What comes of it is a posterior of the rate that knows the values too.

use super::arrays::Given;
use super::call::{self, Manner};
use super::errors;
use super::events::Events;
use super::posterior::{Covariates, Posterior};
use super::settings::Settings;
use super::types::say;
use numpy::PyReadonlyArray1;
use pointillist::measurements::Measurements;
use pointillist::{Error, Model};
use pointillist_io::FitSettings;
use pointillist_io::measured::FittedMeasured;
use pyo3::prelude::*;

/// Fits events and values. Without places these were measured at the events, whose trials are then their rows: of an event that was left out so is its value.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // those of `fit`, and what is said of values
pub fn fit_measured(
    py: Python<'_>,
    events: PyRef<'_, Events>,
    name: String,
    values: PyReadonlyArray1<'_, f64>,
    places: Option<Given<'_>>,
    settings: Settings<'_>,
    covariates: Covariates,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Posterior> {
    let made_with = settings.made_with.clone();
    let (loaded, settings): (_, FitSettings) = (&events.0, settings.meant()?);
    let window = loaded.events.window();
    let covariates = covariates.read(&loaded.events)?;
    let values = values.as_array();
    let at_events = places.is_none();
    let (points, own) = match places {
        Some(given) => (given.places(window.axes(), "the measurements")?, values.to_vec()),
        None => {
            let rows = loaded.trials.iter().flatten();
            let own = rows.map(|row| values.get(*row).copied().unwrap_or(f64::NAN)).collect();
            (loaded.events.points().clone(), own)
        }
    };
    let measurements = Measurements::new(name, points, own).map_err(|error| refusal(error, &settings))?;
    let warnings: Vec<String> = loaded.warnings.iter().map(errors::spelled).collect();
    let FittedMeasured { mut model, summary } = call::long(py, &Manner { progress, threads }, |watch| {
        settings.check_cycles(window).map_err(errors::setting)?;
        let model = Model { covariates, ..settings.model(window.axes()).map_err(errors::of_setting)? };
        let mut told = |progress: &pointillist::Progress| watch.fit(progress);
        let found = model.fit_measured_watched(&loaded.events, &measurements, &mut told);
        let found = found.map_err(|error| refusal(error, &settings))?;
        Ok(FittedMeasured::new(found, &loaded.events, (&measurements, at_events), loaded.source.clone(), warnings))
    })?;
    model.command = made_with;
    say(py, &summary.joint)?;
    Posterior::of_measured(model, summary)
}

/// A refusal of the library in words of the package.
fn refusal(error: Error, settings: &FitSettings) -> PyErr {
    match error {
        Error::Setting { name, value, requirement } if name == "value" => {
            errors::setting(format!("values=: {value} {requirement}"))
        }
        other => errors::of_setting(settings.fault(other)),
    }
}
