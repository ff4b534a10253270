//! Fits, and everything that is asked of their posterior.

use super::Reduced;
use super::arrays::{self, Given};
use super::call::{self, Manner, Watch};
use super::errors::{self, Arguments};
use super::events::Events;
use super::settings::Settings;
use super::summary::Summary;
use super::window::{Window, Words, ends};
use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use pointillist::exact::Sampling;
use pointillist::measurements::MeasuredPosterior;
use pointillist::parts::PartAtPlaces;
use pointillist::{Covariate, Fit, JointCounts, Model, Points};
use pointillist_io::components::{Component, components};
use pointillist_io::covariates::{CovariateSettings, CovariateSource, read_covariates, set};
use pointillist_io::fit_summary::{EffectSummary, Fitted, GoodnessSummary, Subject, Summary as FitSummary};
use pointillist_io::joint_summary::SaysJointly;
use pointillist_io::measured::{MeasuredSummary, measured};
use pointillist_io::regions::{Region, RegionGroup, counted, regions, seen_in_each};
use pointillist_io::sampling::LineSampling;
use pointillist_io::update::{Names, added, as_before};
use pointillist_io::{FitSettings, Message, ModelFile, Reference, SummaryFile, show_window, write_atomically};
use pointillist_rivals::check::check;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A posterior, with what belongs to it in a file.
#[pyclass(frozen, module = "pointillist._core")]
pub struct Posterior {
    file: ModelFile,
    summary: FitSummary,
    /// What was measured beside the events, with what the fit of both says of itself.
    measured: Option<(MeasuredPosterior, MeasuredSummary)>,
}

/// Covariates as Python gives them, by the attributes of `pointillist._covariates.Covariates`.
#[derive(FromPyObject)]
pub struct Covariates {
    /// Paths, and tables by name and text.
    paths: Vec<String>,
    tables: Vec<(String, Vec<u8>)>,
    categorical: Vec<String>,
    spline: Vec<String>,
    epsg: Option<u16>,
}

impl Covariates {
    pub fn read(self, events: &pointillist::Events) -> PyResult<Vec<Covariate>> {
        let paths = self.paths.into_iter().map(CovariateSource::Path);
        let tables = self.tables.into_iter().map(|(name, bytes)| CovariateSource::Text { name, bytes });
        let sources = paths.chain(tables).collect();
        let (categorical, spline, epsg) = (self.categorical, self.spline, self.epsg);
        let settings = CovariateSettings { sources, categorical, spline, epsg };
        read_covariates(&settings, events).map_err(errors::of_input)
    }
}

/// Rows of quantiles, and of exceedances.
type Ratios<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// Mean, standard deviation, and quantiles without and with noise.
type Values<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);
/// Events, and what is measured at each.
type Marked<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Several numbers for each of several points.
type Bands<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// The model that settings mean, and its fit.
fn fitted<'a>(
    settings: &FitSettings,
    covariates: Vec<Covariate>,
    window: &pointillist::Window,
    watch: &Watch,
    fit: impl FnOnce(&Model, &mut pointillist::watch::FitWatch<'_>) -> Result<Fit, pointillist::Error>,
    subject: impl FnOnce(&Fit) -> Subject<'a>,
) -> PyResult<Fitted> {
    settings.check_cycles(window).map_err(errors::setting)?;
    let model = Model { covariates, ..settings.model(window.axes()).map_err(errors::of_setting)? };
    let done = fit(&model, &mut |progress| watch.fit(progress));
    let done = done.map_err(|error| errors::of_setting(settings.fault(error)))?;
    let subject = subject(&done);
    Ok(Fitted::new(&model, done, subject))
}

/// Says what there is to say of a fit.
fn said(py: Python<'_>, fitted: Fitted, made_with: Option<String>) -> PyResult<Posterior> {
    let Fitted { mut model, summary } = fitted;
    model.command = made_with;
    errors::warn(py, "PointillistWarning", summary.warnings.iter().cloned())?;
    errors::warn(py, "NotConvergedWarning", summary.not_converged().iter().map(errors::spelled))?;
    Ok(Posterior { file: model, summary, measured: None })
}

/// Fits events.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    events: PyRef<'_, Events>,
    settings: Settings<'_>,
    covariates: Covariates,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Posterior> {
    let (made_with, loaded, settings) = (settings.made_with.clone(), &events.0, settings.meant()?);
    let covariates = covariates.read(&loaded.events)?;
    let mut warnings: Vec<String> = loaded.warnings.iter().map(errors::spelled).collect();
    let fitted = call::long(py, &Manner { progress, threads }, |watch| {
        let window = loaded.events.window();
        let fit =
            |model: &Model, watch: &mut pointillist::watch::FitWatch<'_>| model.fit_watched(&loaded.events, watch);
        let subject = |fit: &Fit| {
            let paused = pointillist_io::outage(&fit.posterior, loaded.events.points());
            warnings.extend(paused.as_ref().map(errors::spelled));
            Subject::of_events(&loaded.events, loaded.trials.clone(), loaded.source.clone(), warnings)
        };
        fitted(&settings, covariates, window, watch, fit, subject)
    })?;
    said(py, fitted, made_with)
}

/// Fits a summary.
#[pyfunction]
pub fn fit_summary(
    py: Python<'_>,
    summary: PyRef<'_, Summary>,
    settings: Settings<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Posterior> {
    let made_with = settings.made_with.clone();
    let (file, settings): (&SummaryFile, _) = (&summary.0, settings.meant()?);
    let source = pointillist_io::summarise::names(&file.sources);
    let fitted = call::long(py, &Manner { progress, threads }, |watch| {
        let window = file.summary.window();
        let fit = |model: &Model, watch: &mut pointillist::watch::FitWatch<'_>| {
            model.fit_summary_watched(&file.summary, watch)
        };
        let subject = |fit: &Fit| Subject::of_summary(file, fit, source, Vec::new());
        fitted(&settings, Vec::new(), window, watch, fit, subject)
    })?;
    said(py, fitted, made_with)
}

/// Adds the events of a summary to those of a model, and goes on from it.
#[pyfunction]
pub fn update(
    py: Python<'_>,
    before: PyRef<'_, Posterior>,
    new: PyRef<'_, Summary>,
    settings: Settings<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Posterior> {
    let made_with = settings.made_with.clone();
    let (before, settings) = (&before.file, settings.meant()?);
    let names = Names { model: "the model", summary: "the summary" };
    let file = added(before, new.0.clone(), names).map_err(errors::of_summary_file)?;
    let source = format!("{} and {}", before.source, pointillist_io::summarise::names(&new.0.sources));
    let fitted = call::long(py, &Manner { progress, threads }, |watch| {
        let model = settings.model(file.summary.window().axes()).map_err(errors::of_setting)?;
        let model = as_before(model, before, &settings);
        let done = model.update_watched(&before.posterior, &file.summary, &mut |progress| watch.fit(progress));
        let done = done.map_err(|error| errors::of_setting(settings.fault(error)))?;
        let subject = Subject::of_summary(&file, &done, source, Vec::new());
        Ok(Fitted::new(&model, done, subject))
    })?;
    said(py, fitted, made_with)
}

/// A text into a file, whole or not at all.
#[pyfunction]
pub fn write_whole(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    call::short(py, || write_atomically(&path, text.as_bytes()).map_err(errors::of_output))
}

/// A region of a count as Python gives it: words, or a text as the command takes it.
#[derive(FromPyObject)]
#[allow(clippy::large_enum_variant)] // one for each region, for a moment
enum Asked<'py> {
    Text(String),
    Named(String, Words<'py>),
}

impl Posterior {
    fn posterior(&self) -> &pointillist::Posterior {
        &self.file.posterior
    }

    fn place(&self, given: &Given<'_>) -> PyResult<Points> {
        given.places(self.posterior().window().axes(), "the points")
    }

    /// Events that are given, or else those of the fit, as they are to the last bit.
    fn own_or(&self, given: Option<&Given<'_>>) -> PyResult<Points> {
        match (given, &self.file.events) {
            (Some(given), _) => self.place(given),
            (None, Some(events)) => Ok(events.points.clone()),
            (None, None) => {
                Err(errors::input("the model has not kept its events; give them, as in post.check(events)"))
            }
        }
    }

    /// The regions that are meant, each as it is counted.
    fn regions(
        &self,
        asked: Vec<Asked<'_>>,
        every: Option<&str>,
        warnings: &mut Vec<Message>,
    ) -> PyResult<Vec<Region>> {
        let window = self.posterior().window();
        let mut groups = Vec::new();
        let mut named = Vec::new();
        for one in asked {
            match one {
                Asked::Text(text) => groups.extend(regions(&[text], every, window).map_err(errors::of_input)?),
                Asked::Named(name, words) => {
                    let meant = words.meant()?.region_on(window.axes(), warnings).map_err(errors::of_window)?;
                    let shown = if name.is_empty() { show_window(&meant) } else { name.clone() };
                    named.push(Region { is_named: !name.is_empty(), ..Region::plain(shown, meant) });
                }
            }
        }
        if !named.is_empty() {
            groups.push(RegionGroup { asked_by: "regions=".into(), regions: named });
        }
        if groups.is_empty() {
            groups = regions(&[], every, window).map_err(errors::of_input)?;
        }
        let mut all = Vec::new();
        for group in groups {
            let (counted, said) = counted(group, self.posterior()).map_err(errors::input)?;
            warnings.extend(said);
            all.extend(counted);
        }
        Ok(all)
    }
}

#[pymethods]
impl Posterior {
    /// From the bytes of a model file, which is called so in messages.
    #[staticmethod]
    fn from_bytes(bytes: &[u8], name: &str) -> PyResult<Self> {
        Self::of(ModelFile::from_bytes(name, bytes).map_err(errors::of_model_file)?)
    }

    /// From a model file.
    #[staticmethod]
    fn read(path: &str) -> PyResult<Self> {
        Self::of(ModelFile::read(path).map_err(errors::of_model_file)?)
    }

    /// The text of the model file, with how coordinates are meant.
    fn to_json(&self, crs: Option<String>, time_zone: Option<String>) -> String {
        self.file.to_json_referred(&Reference { crs, time_zone })
    }

    fn write(&self, py: Python<'_>, path: PathBuf, crs: Option<String>, time_zone: Option<String>) -> PyResult<()> {
        let reference = Reference { crs, time_zone };
        call::short(py, || {
            write_atomically(&path, self.file.to_json_referred(&reference).as_bytes()).map_err(errors::of_output)
        })
    }

    /// The page to share.
    fn to_html(
        &self,
        py: Python<'_>,
        title: Option<String>,
        cells: usize,
        crs: Option<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let model = ModelFile { reference: Reference { crs, time_zone: None }, ..self.file.clone() };
        call::long(py, &Manner { progress, threads: None }, |watch| {
            let told = |part| watch.part(part);
            let settings = pointillist_report::Settings { title, cells, ..Default::default() };
            pointillist_report::page(&model, &settings, &Arguments, &told).map_err(errors::of_library)
        })
    }

    /// The call or the command that made it, if it is known.
    #[getter]
    fn made_with(&self) -> Option<String> {
        self.file.command.clone()
    }

    #[getter]
    fn crs(&self) -> Option<String> {
        self.file.reference.crs.clone()
    }

    #[getter]
    fn time_zone(&self) -> Option<String> {
        self.file.reference.time_zone.clone()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let bytes = PyBytes::new(py, self.file.to_json().as_bytes());
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (bytes, "the pickled model").into_pyobject(py)?))
    }

    /// The names of the covariates.
    #[getter]
    fn covariates(&self) -> Vec<String> {
        self.posterior().covariates()
    }

    /// The same with covariates held at values, as in `elevation=200`.
    fn with_set(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Self> {
        let held = call::short(py, || set(self.posterior(), &texts).map_err(errors::of_input))?;
        let measured = self.measured.as_ref().map(|(of, summary)| {
            let of = MeasuredPosterior::new(held.clone(), of.state().clone()).map_err(errors::of_library)?;
            Ok::<_, PyErr>((of, summary.clone()))
        });
        let file = ModelFile { posterior: held, ..self.file.clone() };
        Ok(Self { file, summary: self.summary.clone(), measured: measured.transpose()? })
    }

    /// The effects of covariates, as the JSON of `fit` has them.
    fn effects_json(&self) -> PyResult<String> {
        let effects = EffectSummary::of_effects(self.posterior().effects(), &[]);
        serde_json::to_string(&effects).map_err(|error| errors::input(error.to_string()))
    }

    /// The JSON of `fit`.
    fn summary_json(&self) -> PyResult<String> {
        let said = match &self.measured {
            Some((_, summary)) => serde_json::to_string(summary),
            None => serde_json::to_string(&self.summary),
        };
        said.map_err(|error| errors::input(error.to_string()))
    }

    /// For people.
    fn text(&self) -> String {
        match &self.measured {
            Some((_, summary)) => summary.text(&self.file.source),
            None => self.summary.text(&self.file.source, &Arguments),
        }
    }

    /// What was measured beside the events, if anything was.
    #[getter]
    fn value_name(&self) -> Option<&str> {
        self.measured.as_ref().map(|(posterior, _)| posterior.name())
    }

    /// What would be measured at points: mean, standard deviation, and quantiles without and with noise.
    fn values<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        probabilities: Vec<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Values<'py>> {
        let (points, posterior) = (self.place(&given)?, self.measured()?);
        let found = call::long(py, &Manner { progress, threads: None }, |watch| {
            let told = |part| watch.part(part);
            posterior.values_watched(&points, &probabilities, &told).map_err(errors::of_library)
        })?;
        let table = |rows: &[Vec<f64>]| arrays::table(py, rows, points.len());
        let quantiles = (table(&found.quantiles)?, table(&found.new_quantiles)?);
        Ok((found.mean.to_pyarray(py), found.sd.to_pyarray(py), quantiles.0, quantiles.1))
    }

    /// Sets of events, one for each draw, with what is measured at each event.
    fn sample_values<'py>(&self, py: Python<'py>, draws: usize, seed: u64) -> PyResult<Vec<Marked<'py>>> {
        let posterior = self.measured()?;
        let sets = call::long(py, &Manner::default(), |watch| {
            let one = |draw: usize| {
                let _ = watch.part(draw as f64 / draws as f64);
                let drawn = watch.check().and_then(|()| posterior.sample_events(seed, draw as u64));
                drawn.map_err(errors::of_library)
            };
            (0..draws).map(one).collect::<PyResult<Vec<_>>>()
        })?;
        let axes = self.posterior().window().axes();
        let told = |(points, values): (Points, Vec<f64>)| -> PyResult<Marked<'py>> {
            Ok((arrays::rows_on(py, &points, axes)?, values.to_pyarray(py)))
        };
        sets.into_iter().map(told).collect()
    }

    #[getter]
    fn window(&self) -> Window {
        Window(self.posterior().window().clone())
    }

    /// The cells by which the events are known, if they are.
    #[getter]
    fn cells(&self) -> Option<Vec<usize>> {
        self.file.cells.as_ref().map(|file| file.summary.cells())
    }

    #[getter]
    fn source(&self) -> &str {
        &self.file.source
    }

    #[getter]
    fn event_count(&self) -> usize {
        self.file.event_count
    }

    /// How many places along a line show all that the model can carry, and no waves that are not there.
    #[getter]
    fn curve_points(&self) -> usize {
        LineSampling::of(self.posterior()).points
    }

    #[getter]
    fn weights(&self) -> Vec<f64> {
        self.posterior().weights()
    }

    /// The events that were kept; on the globe in degrees.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let axes = self.posterior().window().axes();
        self.file.events.as_ref().map(|events| arrays::rows_on(py, &events.points, axes)).transpose()
    }

    /// The trials of those that were kept.
    #[getter]
    fn trials<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let trials = self.file.events.as_ref()?.trials.as_ref()?;
        Some(PyArray1::from_iter(py, trials.iter().map(|&trial| trial as i64)))
    }

    #[pyo3(signature = (given, probabilities, progress=None))]
    fn rate<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        probabilities: Vec<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bands<'py>> {
        let points = self.place(&given)?;
        let manner = Manner { progress, threads: None };
        let (rate, quantiles) = call::long(py, &manner, |watch| {
            let told = |part| watch.part(part);
            let answer = self.posterior().rate_and_quantiles_watched(&points, &probabilities, &told);
            answer.map_err(errors::of_library)
        })?;
        let quantiles = arrays::table(py, &quantiles, points.len())?;
        Ok((rate.mean.to_pyarray(py), rate.sd.to_pyarray(py), quantiles))
    }

    /// The components of f at points: each with its name, mean, standard deviation and quantiles, and the rate with all others at their average.
    fn components<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        probabilities: Vec<f64>,
    ) -> PyResult<Vec<(String, Bands<'py>, Bands<'py>)>> {
        let points = self.place(&given)?;
        let sentence = "this model has no components: its rate is one part; fit with a sum as kernel=";
        let found = components(self.posterior()).map_err(|_| errors::setting(sentence))?;
        let answers = call::short(py, || {
            let place = |row: &[f64]| Points::new(points.dims(), row.to_vec());
            let places = points.rows().map(place).collect::<Result<Vec<_>, _>>().map_err(errors::of_library)?;
            let of = |component: &Component| self.posterior().part(&component.part, &places, &probabilities);
            found.iter().map(of).collect::<Result<Vec<_>, _>>().map_err(errors::of_library)
        })?;
        let told = |(component, at): (Component, PartAtPlaces)| -> PyResult<(String, Bands<'py>, Bands<'py>)> {
            let own = arrays::table(py, &at.quantiles, points.len())?;
            let rates = arrays::table(py, &at.rate_quantiles, points.len())?;
            let rate = (at.rate.mean.to_pyarray(py), at.rate.sd.to_pyarray(py), rates);
            Ok((component.name, (at.mean.to_pyarray(py), at.sd.to_pyarray(py), own), rate))
        };
        found.into_iter().zip(answers).map(told).collect()
    }

    fn exceedance<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        threshold: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = self.place(&given)?;
        let above = call::long(py, &Manner::default(), |watch| {
            let told = |part| watch.part(part);
            self.posterior().exceedance_watched(&points, threshold, &told).map_err(errors::of_library)
        })?;
        Ok(above.to_pyarray(py))
    }

    /// The rate over that of another posterior: a row for each quantile, and one for each threshold.
    fn rate_ratio<'py>(
        &self,
        py: Python<'py>,
        other: PyRef<'_, Posterior>,
        given: Given<'py>,
        probabilities: Vec<f64>,
        thresholds: Vec<f64>,
    ) -> PyResult<Ratios<'py>> {
        let (points, below) = (self.place(&given)?, other.posterior());
        let ratio = call::long(py, &Manner::default(), |watch| {
            let told = |part| watch.part(part);
            let asked = (&probabilities[..], &thresholds[..]);
            self.posterior().rate_ratio_watched(below, &points, asked, &told).map_err(errors::of_library)
        })?;
        let table = |rows: &[Vec<f64>]| arrays::table(py, rows, points.len());
        Ok((table(&ratio.quantiles)?, table(&ratio.exceedances)?))
    }

    fn expected_log_rate<'py>(&self, py: Python<'py>, given: Given<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = self.place(&given)?;
        let answer = call::short(py, || self.posterior().expected_log_rate(&points).map_err(errors::of_library))?;
        Ok(answer.to_pyarray(py))
    }

    fn sample<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = self.place(&given)?;
        let drawn = call::long(py, &Manner::default(), |watch| {
            let told = |part| watch.part(part);
            self.posterior().sample_watched(&points, draws, seed, &told).map_err(errors::of_library)
        })?;
        arrays::table(py, &drawn, points.len())
    }

    /// Sets of events, one for each draw.
    fn sample_events<'py>(&self, py: Python<'py>, draws: usize, seed: u64) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let sets = call::long(py, &Manner::default(), |watch| {
            let one = |draw: usize| {
                let _ = watch.part(draw as f64 / draws as f64);
                watch
                    .check()
                    .and_then(|()| self.posterior().sample_events(seed, draw as u64))
                    .map_err(errors::of_library)
            };
            (0..draws).map(one).collect::<PyResult<Vec<Points>>>()
        })?;
        sets.iter().map(|points| arrays::rows_on(py, points, self.posterior().window().axes())).collect()
    }

    /// Joint draws of the numbers of events in regions.
    #[allow(clippy::too_many_arguments)] // those of the command
    fn count(
        &self,
        py: Python<'_>,
        asked: Vec<Asked<'_>>,
        every: Option<String>,
        draws: usize,
        seed: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Counts> {
        let mut warnings = Vec::new();
        let regions = self.regions(asked, every.as_deref(), &mut warnings)?;
        let windows: Vec<pointillist::Window> = regions.iter().map(|region| region.window.clone()).collect();
        let counts = call::long(py, &Manner { progress, threads: None }, |watch| {
            let mut told = |progress: pointillist::watch::CountProgress| watch.part(progress.done);
            self.posterior().joint_counts_watched(&windows, draws, seed, &mut told).map_err(errors::of_library)
        })?;
        errors::warn_of(py, &warnings)?;
        let spans = |region: &Region| ends(&region.counted.bounding_box(), region.counted.axes());
        let boxes = regions.iter().map(spans).collect();
        let seen = seen_in_each(&regions, &self.file);
        Ok(Counts {
            names: regions.into_iter().map(|region| region.name).collect(),
            boxes,
            seen,
            counts,
            of: self.posterior().fingerprint(),
        })
    }

    /// L_p, L_0, M_p, M_0 of held-out events.
    fn score<'py>(
        &self,
        py: Python<'py>,
        held_out: PyRef<'_, Events>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let events = &held_out.0.events;
        let score = call::long(py, &Manner::default(), |watch| {
            let told = |part| watch.part(part);
            self.posterior().score_watched(events, draws, seed, &told).map_err(errors::of_library)
        })?;
        let known = PyDict::new(py);
        known.set_item("events", score.events)?;
        known.set_item("l_p", score.l_p)?;
        known.set_item("l_0", score.l_0)?;
        for (name, mean) in [("m_p", score.m_p), ("m_0", score.m_0)] {
            known.set_item(name, mean.value)?;
            known.set_item(format!("{name}_se"), mean.se)?;
            known.set_item(format!("{name}_pareto_k"), Some(mean.k).filter(|k| k.is_finite()))?;
        }
        Ok(known)
    }

    /// The log-likelihood of held-out events at the posterior mean of the rate.
    fn log_likelihood(&self, py: Python<'_>, held_out: PyRef<'_, Events>) -> PyResult<f64> {
        let events = &held_out.0.events;
        call::short(py, || self.posterior().log_likelihood(events).map_err(errors::of_library))
    }

    /// The expected number of events, looked for as these were.
    fn expected(&self, py: Python<'_>, held_out: PyRef<'_, Events>) -> PyResult<f64> {
        let window = held_out.0.events.window();
        call::short(py, || self.posterior().expected(window).map_err(errors::of_library))
    }

    /// The answer beside exact draws; JSON.
    fn check(
        &self,
        py: Python<'_>,
        given: Option<Given<'_>>,
        draws: usize,
        seed: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let events = self.own_or(given.as_ref())?;
        let sampling = Sampling { draws: draws.div_ceil(Sampling::default().chains), seed, ..Sampling::default() };
        let checked = call::long(py, &Manner { progress, threads: None }, |watch| {
            let told = |part| watch.part(part);
            check(self.posterior(), &events, sampling, &told).map_err(errors::of_library)
        })?;
        serde_json::to_string(&checked).map_err(|error| errors::input(error.to_string()))
    }

    /// Whether events look like events drawn from it; JSON, if that can be told.
    fn goodness_of_fit(&self, py: Python<'_>, given: Option<Given<'_>>) -> PyResult<Option<String>> {
        let events = self.own_or(given.as_ref())?;
        let found = call::short(py, || self.posterior().goodness_of_fit(&events).map_err(errors::of_library))?;
        Ok(found.map(|found| serde_json::to_string(&GoodnessSummary::new(&found)).unwrap_or_default()))
    }
}

impl Posterior {
    /// Of one type, or of a ratio of two: what the fit said is said of all types together.
    pub fn view(file: ModelFile) -> Self {
        let summary = FitSummary { events: file.event_count, ..FitSummary::default() };
        Self { file, summary, measured: None }
    }

    /// Of events and measurements, with what the fit says of both.
    pub fn of_measured(file: ModelFile, summary: MeasuredSummary) -> PyResult<Self> {
        let measured = measured(&file).transpose().map_err(errors::of_library)?;
        Ok(Self { measured: measured.map(|posterior| (posterior, summary)), ..Self::view(file) })
    }

    fn measured(&self) -> PyResult<&MeasuredPosterior> {
        match &self.measured {
            Some((posterior, _)) => Ok(posterior),
            None => Err(errors::input(format!("the model of {} has no measurements", self.file.source))),
        }
    }

    fn of(file: ModelFile) -> PyResult<Self> {
        if file.measured.is_some() {
            let summary = MeasuredSummary::of_model(&file.source, &file).map_err(errors::setting)?;
            return Self::of_measured(file, summary);
        }
        let mut summary = FitSummary::deserialize(&file.summary).map_err(|error| {
            errors::input(format!("the summary of {} makes no sense ({error}); fit again", file.source))
        })?;
        // A file that was made of several others may be more than its summary says.
        summary.weights = FitSummary::weights_of(&file.posterior);
        Ok(Self { file, summary, measured: None })
    }
}

/// Joint draws of the numbers of events in regions.
#[pyclass(frozen, module = "pointillist._core")]
#[derive(Serialize, Deserialize)]
pub struct Counts {
    /// What each region is called.
    #[pyo3(get)]
    names: Vec<String>,
    /// The box around what is counted of each.
    #[pyo3(get)]
    boxes: Vec<Vec<(f64, f64)>>,
    /// How many events of the fit lie in each, where that is known.
    #[pyo3(get)]
    seen: Vec<Option<u64>>,
    counts: JointCounts,
    /// The fingerprint of the posterior whose counts they are.
    #[pyo3(get)]
    of: u64,
}

#[pymethods]
impl Counts {
    /// From what was pickled.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let read: Self = serde_json::from_slice(bytes)
            .map_err(|error| errors::input(format!("these bytes are no counts ({error}); pickle them again")))?;
        let counts = &read.counts;
        let is_whole = read.names.len() == counts.moments().len()
            && read.boxes.len() == read.names.len()
            && read.seen.len() == read.names.len()
            && counts.values().len() == counts.draws() * read.names.len();
        is_whole
            .then_some(read)
            .ok_or_else(|| errors::input("these bytes are counts that are not whole; pickle them again"))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let bytes = serde_json::to_vec(self).map_err(|error| errors::input(error.to_string()))?;
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (PyBytes::new(py, &bytes),).into_pyobject(py)?))
    }

    fn __len__(&self) -> usize {
        self.names.len()
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.counts.moments().iter().map(|count| count.mean))
    }

    #[getter]
    fn sd<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.counts.moments().iter().map(|count| count.sd))
    }

    /// A row for each region, a column for each draw.
    #[getter]
    fn draws<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.counts.values().to_pyarray(py).reshape([self.names.len(), self.counts.draws()])
    }

    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.counts.covariance().to_pyarray(py).reshape([self.names.len(); 2])
    }

    /// Quantiles of what is expected: a row for each probability.
    fn quantiles<'py>(&self, py: Python<'py>, probabilities: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_probability(py, &probabilities, |region| self.counts.quantiles(region, &probabilities))
    }

    /// Quantiles of a new count.
    fn new_count_quantiles<'py>(
        &self,
        py: Python<'py>,
        probabilities: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_probability(py, &probabilities, |region| self.counts.new_count_quantiles(region, &probabilities))
    }

    /// How region `a` compares with region `b` of these counts, or of others from another posterior.
    fn contrast<'py>(
        &self,
        py: Python<'py>,
        a: usize,
        other: Option<PyRef<'_, Counts>>,
        b: usize,
        probabilities: Vec<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let contrast = match &other {
            None => self.counts.contrast(a, b, &probabilities),
            Some(other) => self.counts.contrast_with(a, &other.counts, b, &probabilities),
        };
        let contrast = contrast.map_err(errors::of_library)?;
        let mean_of =
            |counts: &Counts, region: usize| counts.counts.moments().get(region).map_or(f64::NAN, |count| count.mean);
        let known = PyDict::new(py);
        // The draws have these means, up to rounding.
        let difference = mean_of(self, a) - mean_of(other.as_deref().unwrap_or(self), b);
        known.set_item("difference", (difference, contrast.difference.sd, contrast.difference.quantiles))?;
        known.set_item("ratio", contrast.ratio.quantiles)?;
        known.set_item("probability", contrast.probability)?;
        Ok(known)
    }
}

impl Counts {
    fn by_probability<'py>(
        &self,
        py: Python<'py>,
        probabilities: &[f64],
        of: impl Fn(usize) -> Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if let Some(p) = probabilities.iter().find(|p| !(**p > 0.0 && **p < 1.0)) {
            return Err(errors::setting(format!(
                "quantiles=: {p} must be a number between 0 and 1, as in [0.05, 0.5, 0.95]"
            )));
        }
        let regions: Vec<Vec<f64>> = (0..self.names.len()).map(of).collect();
        let of_probability = |p: usize| regions.iter().map(|values| values[p]).collect();
        let rows: Vec<Vec<f64>> = (0..probabilities.len()).map(of_probability).collect();
        arrays::table(py, &rows, self.names.len())
    }
}
