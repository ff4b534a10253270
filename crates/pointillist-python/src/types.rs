//! Several types of events: their fit, and views of one type or of a ratio of two, which are posteriors.

use super::Reduced;
use super::arrays::{self, Given};
use super::call::{self, Manner};
use super::errors;
use super::events::Events;
use super::posterior::{Covariates, Posterior};
use super::settings::Settings;
use super::window::Window;
use numpy::{PyArray1, PyArray2, ToPyArray};
use pointillist::types::{ShareOfType, by_type};
use pointillist::{Error, Model};
use pointillist_io::covariates::set;
use pointillist_io::joint_summary::{JointSummary, SaysJointly};
use pointillist_io::types::{FittedTypes, Of, TypesModel, TypesSummary, latent};
use pointillist_io::{FitSettings, ModelFile, Reference, TypeLabels, write_atomically};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Mean, standard deviation and quantiles at points.
type Share<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);
/// Events of all types, and the number of the type of each.
type Labelled<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>);

/// What is known of several types, with what belongs to it in a file.
#[pyclass(frozen, module = "pointillist._core")]
pub struct TypesPosterior {
    types: TypesModel,
    summary: TypesSummary,
}

/// Fits events whose trials are the numbers of their types.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // those of `fit`, and what is said of types
pub fn fit_types(
    py: Python<'_>,
    events: PyRef<'_, Events>,
    names: Vec<String>,
    settings: Settings<'_>,
    covariates: Covariates,
    of_latent: Option<String>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<TypesPosterior> {
    let made_with = settings.made_with.clone();
    let (loaded, settings): (_, FitSettings) = (&events.0, settings.meant()?);
    let labels = TypeLabels { names, kinds: loaded.trials.clone().unwrap_or_default() };
    let covariates = covariates.read(&loaded.events)?;
    let fields = of_latent.as_deref().map(latent).transpose().map_err(errors::setting)?;
    let warnings: Vec<String> = loaded.warnings.iter().map(errors::spelled).collect();
    let fitted = call::long(py, &Manner { progress, threads }, |watch| {
        let window = loaded.events.window();
        settings.check_cycles(window).map_err(errors::setting)?;
        let model = Model { covariates, ..settings.model(window.axes()).map_err(errors::of_setting)? };
        let types = by_type(&loaded.events, &labels.kinds, &labels.names).map_err(errors::of_library)?;
        let mut told = |progress: &pointillist::Progress| watch.fit(progress);
        let found = match fields {
            Some(fields) => model.fit_outputs_watched(&types, fields, &mut told),
            None => model.fit_types_watched(&types, &mut told),
        };
        let found = found.map_err(|error| refusal(error, &settings))?;
        Ok(FittedTypes::new(found, &loaded.events, labels, loaded.source.clone(), warnings))
    })?;
    let FittedTypes { mut model, summary } = fitted;
    model.command = made_with;
    say(py, &summary.joint)?;
    TypesPosterior::with(model, summary)
}

/// Says what there is to say of a fit of several things.
pub fn say(py: Python<'_>, joint: &JointSummary) -> PyResult<()> {
    errors::warn(py, "PointillistWarning", joint.warnings.iter().cloned())?;
    let doubt = "the fit has not converged; allow it more with max_evaluations=".to_string();
    errors::warn(py, "NotConvergedWarning", (!joint.converged).then_some(doubt))
}

/// A refusal of the library in words of the package: what it says of types is a sentence.
fn refusal(error: Error, settings: &FitSettings) -> PyErr {
    match error {
        Error::Setting { name, value, requirement } if name == "type" => {
            errors::setting(format!("types=: {value} {requirement}"))
        }
        Error::Setting { name, value, requirement } if name == "latent" => {
            errors::setting(format!("latent={value}: {value} {requirement}"))
        }
        other => errors::of_setting(settings.fault(other)),
    }
}

impl TypesPosterior {
    fn with(model: ModelFile, summary: TypesSummary) -> PyResult<Self> {
        match TypesModel::of(&model) {
            Some(types) => Ok(Self { types: types.map_err(errors::of_library)?, summary }),
            None => {
                Err(errors::input(format!("the model of {} has no types; read it with Posterior.load", model.source)))
            }
        }
    }

    fn of_file(model: ModelFile) -> PyResult<Self> {
        let summary = TypesSummary::of_model(&model.source, &model).map_err(errors::setting)?;
        Self::with(model, summary)
    }

    fn file(&self) -> &ModelFile {
        &self.types.model
    }
}

#[pymethods]
impl TypesPosterior {
    /// From the bytes of a model file, which is called so in messages.
    #[staticmethod]
    fn from_bytes(bytes: &[u8], name: &str) -> PyResult<Self> {
        Self::of_file(ModelFile::any_from_bytes(name, bytes).map_err(errors::of_model_file)?)
    }

    /// From a model file.
    #[staticmethod]
    fn read(path: &str) -> PyResult<Self> {
        Self::of_file(ModelFile::read_any(path).map_err(errors::of_model_file)?)
    }

    fn to_json(&self, crs: Option<String>, time_zone: Option<String>) -> String {
        self.file().to_json_referred(&Reference { crs, time_zone })
    }

    fn write(&self, py: Python<'_>, path: PathBuf, crs: Option<String>, time_zone: Option<String>) -> PyResult<()> {
        let reference = Reference { crs, time_zone };
        call::short(py, || {
            write_atomically(&path, self.file().to_json_referred(&reference).as_bytes()).map_err(errors::of_output)
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let bytes = PyBytes::new(py, self.file().to_json().as_bytes());
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (bytes, "the pickled model").into_pyobject(py)?))
    }

    #[getter]
    fn crs(&self) -> Option<String> {
        self.file().reference.crs.clone()
    }

    #[getter]
    fn time_zone(&self) -> Option<String> {
        self.file().reference.time_zone.clone()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.types.types.names().to_vec()
    }

    #[getter]
    fn window(&self) -> Window {
        Window(self.file().posterior.window().clone())
    }

    #[getter]
    fn source(&self) -> &str {
        &self.file().source
    }

    #[getter]
    fn event_count(&self) -> usize {
        self.file().event_count
    }

    /// The names of the covariates.
    #[getter]
    fn covariates(&self) -> Vec<String> {
        self.file().posterior.covariates()
    }

    /// The same with covariates held at values, as in `elevation=200`.
    fn with_set(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Self> {
        let posterior = call::short(py, || set(&self.file().posterior, &texts).map_err(errors::of_input))?;
        Self::with(ModelFile { posterior, ..self.file().clone() }, self.summary.clone())
    }

    /// The JSON of `fit --type`.
    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(|error| errors::input(error.to_string()))
    }

    /// For people.
    fn text(&self) -> String {
        self.summary.text(&self.file().source)
    }

    /// Which type is meant by a text, or which two as in `cases/controls`.
    fn asked(&self, text: &str) -> PyResult<(usize, Option<usize>)> {
        match self.types.asked(text).map_err(errors::setting)? {
            Of::Type(kind) => Ok((kind, None)),
            Of::Ratio(above, below) => Ok((above, Some(below))),
        }
    }

    /// The posterior of one type, or of the rate of the first over that of the second.
    fn view(&self, above: usize, below: Option<usize>) -> PyResult<Posterior> {
        let file = match below {
            None => self.types.one(above),
            Some(below) => self.types.ratio(above, below),
        };
        Ok(Posterior::view(file.map_err(errors::of_library)?))
    }

    /// The probability of each type at points: mean, standard deviation and quantiles.
    fn shares<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        probabilities: Vec<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Share<'py>>> {
        let points = given.places(self.file().posterior.window().axes(), "the points")?;
        let shares = call::long(py, &Manner { progress, threads: None }, |watch| {
            let told = |part| watch.part(part);
            self.types.types.shares_watched(&points, &probabilities, &told).map_err(errors::of_library)
        })?;
        let told = |share: ShareOfType| -> PyResult<Share<'py>> {
            let quantiles = arrays::table(py, &share.quantiles, points.len())?;
            Ok((share.mean.to_pyarray(py), share.sd.to_pyarray(py), quantiles))
        };
        shares.into_iter().map(told).collect()
    }

    /// Sets of events of all types, one for each draw, with the number of the type of each event.
    fn sample_events<'py>(&self, py: Python<'py>, draws: usize, seed: u64) -> PyResult<Vec<Labelled<'py>>> {
        let sets = call::long(py, &Manner::default(), |watch| {
            let one = |draw: usize| {
                let _ = watch.part(draw as f64 / draws as f64);
                let drawn = watch.check().and_then(|()| self.types.types.sample_events(seed, draw as u64));
                drawn.map_err(errors::of_library)
            };
            (0..draws).map(one).collect::<PyResult<Vec<_>>>()
        })?;
        let axes = self.file().posterior.window().axes();
        let told = |(points, kinds): (pointillist::Points, Vec<usize>)| -> PyResult<Labelled<'py>> {
            let kinds = PyArray1::from_iter(py, kinds.into_iter().map(|kind| kind as i64));
            Ok((arrays::rows_on(py, &points, axes)?, kinds))
        };
        sets.into_iter().map(told).collect()
    }
}
