//! What the model is compared with.

use super::Reduced;
use super::arrays::{self, Given};
use super::call::{self, Manner};
use super::errors;
use super::events::Events;
use super::settings::Settings;
use super::window::{Window, Words};
use numpy::{PyArray1, PyArray2, ToPyArray};
use pointillist::Link;
use pointillist_rivals::calibrate::{BINS, Families, Settings as Sets, calibrate as calibrated};
use pointillist_rivals::compare::{Contender, Performance, as_in_the_paper, halves, on_inducing};
use pointillist_rivals::sgcp::{self, SgcpPosterior, Thinning};
use pointillist_rivals::{EdgeCorrection, KernelSmoother};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Kernel smoothing, with what it was made of.
#[pyclass(frozen, module = "pointillist._core")]
pub struct Smoother(KernelSmoother, Py<Events>);

fn edges(name: &str) -> PyResult<EdgeCorrection> {
    match name {
        "truncate" => Ok(EdgeCorrection::Truncate),
        "none" => Ok(EdgeCorrection::None),
        other => Err(errors::setting(format!("edge_correction='{other}' is not known; take one of truncate, none"))),
    }
}

#[pymethods]
impl Smoother {
    #[staticmethod]
    fn fit(py: Python<'_>, given: Py<Events>, edge_correction: &str, bandwidth: Option<Vec<f64>>) -> PyResult<Self> {
        let (edges, loaded) = (edges(edge_correction)?, &given.get().0);
        errors::warn_of(py, &loaded.warnings)?;
        let events = &loaded.events;
        let smoother = call::long(py, &Manner::default(), |_| {
            let fit = match &bandwidth {
                Some(bandwidth) => KernelSmoother::with_bandwidth(events, edges, bandwidth),
                None => KernelSmoother::fit(events, edges),
            };
            fit.map_err(errors::of_library)
        })?;
        errors::warn(py, "PointillistWarning", smoother.warnings.iter().cloned())?;
        Ok(Self(smoother, given))
    }

    /// Made again of its events, at the bandwidth that was found.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let edges = match self.0.edge_correction() {
            EdgeCorrection::Truncate => "truncate",
            EdgeCorrection::None => "none",
        };
        let state = (self.1.clone_ref(py), edges, self.0.bandwidth().to_vec());
        Ok((py.get_type::<Self>().getattr("fit")?, state.into_pyobject(py)?))
    }

    #[getter]
    fn bandwidth<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.bandwidth().to_pyarray(py)
    }

    #[getter]
    fn loo(&self) -> f64 {
        self.0.loo()
    }

    #[getter]
    fn window(&self) -> Window {
        Window(self.0.window().clone())
    }

    fn rate<'py>(&self, py: Python<'py>, given: Given<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = given.places(self.0.window().axes(), "the points")?;
        Ok(call::short(py, || self.0.rate(&points).map_err(errors::of_library))?.to_pyarray(py))
    }

    /// The expected number of events in a region, whose dates count from where those of the events do; or in the window.
    fn expected(&self, py: Python<'_>, region: Option<Words<'_>>) -> PyResult<f64> {
        let (own, mut warnings) = (self.0.window(), Vec::new());
        let region = match region {
            Some(words) => words.meant()?.region_on(own.axes(), &mut warnings).map_err(errors::of_window)?,
            None => own.clone(),
        };
        errors::warn_of(py, &warnings)?;
        call::short(py, || self.0.expected(&region).map_err(errors::of_library))
    }

    fn log_likelihood(&self, py: Python<'_>, held_out: PyRef<'_, Events>) -> PyResult<f64> {
        let events = &held_out.0.events;
        call::short(py, || self.0.log_likelihood(events).map_err(errors::of_library))
    }

    /// The expected number of events, looked for as these were.
    fn expected_of(&self, py: Python<'_>, held_out: PyRef<'_, Events>) -> PyResult<f64> {
        let window = held_out.0.events.window();
        call::short(py, || self.0.expected(window).map_err(errors::of_library))
    }

    #[getter]
    fn event_count(&self) -> usize {
        self.1.get().0.events.len()
    }
}

/// The sigmoidal Gaussian Cox process, sampled: the run, and what it found.
#[pyclass(frozen, module = "pointillist._core")]
pub struct Sgcp {
    run: sgcp::Sgcp,
    posterior: SgcpPosterior,
}

/// Most chains, sets and splits: more would not end.
const MOST_CHAINS: usize = 1_000;
const MOST_SETS: usize = 1_000_000;
const MOST_SPLITS: u64 = 100_000;

/// Refuses what would not end.
fn at_most(name: &str, asked: u64, most: u64) -> PyResult<()> {
    if asked <= most {
        return Ok(());
    }
    Err(errors::setting(format!("{name}={asked} would not end; give at most {most}")))
}

/// By the attributes of `pointillist.SGCP`.
#[derive(FromPyObject)]
pub struct Sampling {
    chains: usize,
    warm_up: usize,
    max_sweeps: usize,
    r_hat: f64,
    effective: f64,
    thinning: String,
    seed: u64,
}

#[pymethods]
impl Sgcp {
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        events: PyRef<'_, Events>,
        sampling: Sampling,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let loaded = &events.0;
        errors::warn_of(py, &loaded.warnings)?;
        at_most("chains", sampling.chains as u64, MOST_CHAINS as u64)?;
        let settings = sgcp::Settings {
            chains: sampling.chains,
            warm_up: sampling.warm_up,
            most_sweeps: sampling.max_sweeps,
            r_hat: sampling.r_hat,
            effective: sampling.effective,
            thinning: match sampling.thinning.as_str() {
                "adaptive" => Thinning::Adaptive { regions: None },
                "uniform" => Thinning::Uniform,
                other => {
                    let sentence = format!("thinning='{other}' is not known; take one of adaptive, uniform");
                    return Err(errors::setting(sentence));
                }
            },
            seed: sampling.seed,
            ..sgcp::Settings::default()
        };
        let most = settings.most_sweeps.max(1) as f64;
        let run = call::long(py, &Manner { progress, threads }, |watch| {
            let mut told =
                |_: &sgcp::Sgcp, progress: &sgcp::SgcpProgress| watch.part((progress.sweeps as f64 / most).min(1.0));
            let mut run = sgcp::Sgcp::new(&loaded.events, &settings).map_err(errors::of_library)?;
            run.run(&mut told).map_err(errors::of_library)?;
            Ok(run)
        })?;
        let posterior = run.posterior();
        if posterior.diagnostics().draws == 0 {
            return Err(errors::setting("no draw was kept, so there is nothing to say; allow more with max_sweeps="));
        }
        if !posterior.diagnostics().converged {
            let sentence =
                "the chains did not reach the R-hat and the effective draws asked for; allow more with max_sweeps=";
            errors::warn(py, "NotConvergedWarning", [sentence.to_string()])?;
        }
        Ok(Self { run, posterior })
    }

    /// From the bytes of a run.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let damaged = |why: String| errors::input(format!("these bytes are no run of SGCP ({why}); pickle it again"));
        let state = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        let run = sgcp::Sgcp::from_state(state).map_err(|error| damaged(error.to_string()))?;
        let posterior = run.posterior();
        Ok(Self { run, posterior })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let bytes = serde_json::to_vec(&self.run.state()).map_err(|error| errors::input(error.to_string()))?;
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (PyBytes::new(py, &bytes),).into_pyobject(py)?))
    }

    #[getter]
    fn event_count(&self) -> usize {
        self.run.chains()[0].events().len()
    }

    /// JSON.
    fn diagnostics(&self) -> PyResult<String> {
        serde_json::to_string(self.posterior.diagnostics()).map_err(|error| errors::input(error.to_string()))
    }

    #[getter]
    fn window(&self) -> Window {
        Window(self.posterior.window().clone())
    }

    #[allow(clippy::type_complexity)]
    fn rate<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        probabilities: Vec<f64>,
        draws: usize,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        let points = given.places(self.posterior.window().axes(), "the points")?;
        let (rate, quantiles) = call::long(py, &Manner::default(), |_| {
            self.posterior.rate_and_quantiles(&points, &probabilities, draws, seed).map_err(errors::of_library)
        })?;
        Ok((rate.mean.to_pyarray(py), rate.sd.to_pyarray(py), arrays::table(py, &quantiles, points.len())?))
    }

    fn sample<'py>(
        &self,
        py: Python<'py>,
        given: Given<'py>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = given.places(self.posterior.window().axes(), "the points")?;
        let drawn = call::long(py, &Manner::default(), |_| {
            self.posterior.rate_draws(&points, draws, seed).map_err(errors::of_library)
        })?;
        arrays::table(py, &drawn, points.len())
    }

    fn score<'py>(
        &self,
        py: Python<'py>,
        held_out: PyRef<'_, Events>,
        draws: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let events = &held_out.0.events;
        let score = call::long(py, &Manner::default(), |_| {
            self.posterior.score(events, draws, seed).map_err(errors::of_library)
        })?;
        let known = PyDict::new(py);
        known.set_item("events", score.events)?;
        known.set_item("log_likelihood", score.plug_in)?;
        known.set_item("expected", score.expected)?;
        known.set_item("expected_log", score.expected_log)?;
        known.set_item("m_p", score.log_predictive.value)?;
        known.set_item("m_p_se", score.log_predictive.se)?;
        Ok(known)
    }
}

/// The contender of this name.
fn contender(name: &str, model: &pointillist::Model) -> PyResult<Contender> {
    Ok(match name {
        "vbpp" => Contender::Variational(model.clone()),
        "paper" => Contender::Variational(as_in_the_paper(on_inducing(model.clone()))),
        "inducing" => Contender::Variational(on_inducing(model.clone())),
        "ks+ec" => Contender::Smoother(EdgeCorrection::Truncate),
        "ks-ec" => Contender::Smoother(EdgeCorrection::None),
        "homogeneous" => Contender::Homogeneous,
        "sgcp" => Contender::Sgcp(sgcp::Settings::default()),
        other => {
            return Err(errors::setting(format!(
                "methods=: '{other}' is not known; take some of vbpp, paper, inducing, ks+ec, ks-ec, homogeneous, sgcp"
            )));
        }
    })
}

/// Every method on every split: for each method a list with what it did on each.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // those of the command
pub fn compare<'py>(
    py: Python<'py>,
    events: PyRef<'_, Events>,
    held_out: Option<PyRef<'_, Events>>,
    methods: Vec<String>,
    settings: Settings<'_>,
    splits: u64,
    draws: usize,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Vec<Bound<'py, PyDict>>>> {
    let (events, held_out) = (&events.0.events, held_out.as_ref().map(|held_out| &held_out.0.events));
    let model = settings.meant()?.model(events.window().axes()).map_err(errors::of_setting)?;
    let contenders = methods.iter().map(|name| contender(name, &model)).collect::<PyResult<Vec<_>>>()?;
    let nowhere = pointillist::Points::new(events.window().dims(), vec![]).map_err(errors::of_library)?;
    if contenders.is_empty() {
        return Err(errors::setting("methods= names none; give at least one, as in methods=['vbpp', 'ks+ec']"));
    }
    at_most("splits", splits, MOST_SPLITS)?;
    let splits = if held_out.is_some() { 1 } else { splits };
    let all = (splits as f64 * contenders.len() as f64).max(1.0);
    let performances = call::long(py, &Manner { progress, threads: None }, |watch| {
        let mut performances: Vec<Vec<Performance>> = contenders.iter().map(|_| Vec::new()).collect();
        for number in 0..splits {
            let (train, test) = match held_out {
                Some(held_out) => (events.clone(), held_out.clone()),
                None => halves(events, seed, number).map_err(errors::of_library)?,
            };
            for (place, contender) in contenders.iter().enumerate() {
                watch.check().map_err(errors::of_library)?;
                let before = number as f64 * contenders.len() as f64 + place as f64;
                let go_on = |part: f64| watch.part((before + part) / all);
                let performed = contender.perform_watched(&train, &test, &nowhere, (draws, seed), &go_on);
                performances[place].push(performed.map_err(errors::of_library)?);
            }
        }
        Ok(performances)
    })?;
    let describe = |performance: &Performance| {
        let known = PyDict::new(py);
        let scores = &performance.scores;
        known.set_item("log_likelihood", scores.log_likelihood)?;
        known.set_item("l_p", scores.l_p)?;
        known.set_item("m_p", scores.m_p.map(|mean| mean.value))?;
        known.set_item("seconds", performance.seconds)?;
        known.set_item("converged", performance.converged)?;
        Ok(known)
    };
    performances.iter().map(|list| list.iter().map(describe).collect()).collect()
}

/// Simulation-based calibration of one kind of sets; JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // those of the command
pub fn calibrate(
    py: Python<'_>,
    dims: usize,
    link: &str,
    events: usize,
    sets: usize,
    families: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let families = match families {
        "own" => Families::Own,
        "all" => Families::All,
        other => return Err(errors::setting(format!("families='{other}' is not known; take one of own, all"))),
    };
    if !(1..=2).contains(&dims) || events == 0 || sets < BINS {
        let (least, words) = (BINS, "dims= is 1 or 2, events= at least 1");
        return Err(errors::setting(format!("{words}, and sets= at least {least}, one for each bin; correct them")));
    }
    at_most("sets", sets as u64, MOST_SETS as u64)?;
    let link: Link = link.parse().map_err(errors::of_library)?;
    let settings = Sets { dims, link, events, sets, families, seed };
    let found = call::long(py, &Manner { progress, threads: None }, |watch| {
        calibrated(&settings, &|part| watch.part(part)).map_err(errors::of_library)
    })?;
    serde_json::to_string(&found).map_err(|error| errors::input(error.to_string()))
}
