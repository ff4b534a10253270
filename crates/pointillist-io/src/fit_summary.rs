//! What a fit has to say: as JSON for scripts (the contract), and as a few lines for people.

use super::averaged::Told;
pub use super::averaged::{ComponentSummary, PriorSummary};
use super::geography::{is_on_globe, outward};
use super::in_words::in_words;
use super::message::{Message, Setting, Spelling};
use super::model_file::{KeptEvents, MOST_EVENTS, ModelFile, Reference};
use super::outage::misses_week;
pub use super::regions::is_repeated;
use super::spec::{measure_name, plural};
use super::summary_file::SummaryFile;
use super::window::{place, time_axis};
use super::zone::looks;
use crate::message;
use pointillist::kernel::{Parameter, Part, Term, Unit};
use pointillist::report::{AtBound, Bounded, Coverage, Effect, Goodness, LatticeSummary, StandardError, Tried};
use pointillist::settings::{LatticeMean, Method, PriorMean};
use pointillist::window::{Exposure, Piece, Span};
use pointillist::{Axis, Events, Family, Fit, InducingPoints, Kernel, Link, Model, Posterior, Prior, Window};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A hyper-parameter with its standard error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

impl ErrorSummary {
    fn new(error: &StandardError) -> Self {
        Self { name: error.name.clone(), value: error.value, se: error.se }
    }
}

/// Where f returns to away from events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeanKind {
    /// A constant that was learned.
    #[default]
    Constant,
    /// 0, as in the paper.
    Paper,
    /// A constant that is integrated over.
    Integrated,
}

impl MeanKind {
    fn of(posterior: &Posterior) -> Self {
        match (posterior.lattice(), posterior.prior_mean()) {
            (Some(LatticeSummary { mean: LatticeMean::Integrated, .. }), _) => MeanKind::Integrated,
            (_, PriorMean::Paper) => MeanKind::Paper,
            (_, PriorMean::Constant) => MeanKind::Constant,
            (_, PriorMean::Integrated) => MeanKind::Integrated,
        }
    }
}

/// The JSON of `fit`; scripts rely on the names. Model files hold it, those of earlier versions perhaps less of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// The bound.
    pub elbo: f64,
    /// Its parts: elbo = log_rate − integral − kl.
    pub elbo_parts: Parts,
    /// Whether the answer can be relied on.
    pub converged: bool,
    /// Why the fit stopped.
    pub stop: String,
    /// Steps of the optimiser.
    pub iterations: usize,
    /// Evaluations of the bound.
    pub evaluations: usize,
    /// Wall time of the fit; absent in model files, which must not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Number of events.
    pub events: usize,
    /// What f is made of: `inducing` or `lattice`.
    pub basis: String,
    /// The bases that were tried.
    pub tried: Vec<TriedSummary>,
    /// Number of inducing points; 0 on a lattice.
    pub inducing: usize,
    /// The same by axis, where they form a grid.
    pub inducing_grid: Vec<usize>,
    /// Nodes of the lattice on each axis, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<usize>,
    /// Smoothness of the lattice, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<usize>,
    /// How inducing points or nodes were chosen.
    pub choice: String,
    /// Weighted points that stood for the events, where these were many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_nodes: Option<EventNodes>,
    /// Part of the prior variance that inducing points leave unexplained.
    pub unexplained: f64,
    /// The kernel.
    pub kernel: String,
    /// The components of the posterior, if there are several, the heaviest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentSummary>,
    /// Events per unit of the window's measure, with its unit.
    pub mean_rate: NamedValue,
    /// The rate in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_words: Option<String>,
    /// Whether hyper-parameters and families were averaged over.
    pub averaged: bool,
    /// Why only families were, and not hyper-parameters: `many_events`, `no_difference` or `no_say`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// The weights of the components of the posterior, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// Where f returns to away from events.
    pub prior_mean: MeanKind,
    /// How the bound was maximised.
    pub method: String,
    /// Θ, in the units of the data: `variance` (one, or a list for several terms), lists of `lengthscale`, `period` and so on, `mean`.
    pub hyperparameters: serde_json::Value,
    /// The same one by one.
    pub parameters: Vec<NamedValue>,
    /// log p(Θ) under the priors, 0 without.
    pub log_prior: f64,
    /// The priors in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<PriorSummary>,
    /// What was asked of Θ: an update goes on with it.
    #[serde(default)]
    pub asked: AskedSummary,
    /// Where events were looked for.
    pub window: WindowSummary,
    /// Relative jitter on K.
    pub jitter: f64,
    /// The hyper-parameters that ended where the search for them does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_bounds: Vec<BoundSummary>,
    /// Standard errors of what was learned, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standard_errors: Vec<ErrorSummary>,
    /// The effects of covariates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectSummary>,
    /// Whether the events look like events drawn from the answer, if that could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodness: Option<GoodnessSummary>,
    /// How near the answer is to the exact posterior of the same model, if that could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<CoverageSummary>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The effect of a covariate on the logarithm of the rate, and what that does to the rate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EffectSummary {
    /// The covariate.
    pub name: String,
    /// The level, of a category, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// … and the one that it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The effect of one unit of the covariate, or of the level: posterior mean, standard deviation and quantiles.
    pub effect: f64,
    /// See `effect`.
    pub sd: f64,
    /// At 5, 50 and 95 %.
    pub quantiles: [f64; 3],
    /// The round number of units that `ratio` is for, about a standard deviation over the window; 1 of a level.
    pub per: f64,
    /// What the rate is multiplied by: median and the ends of a 90 % interval.
    pub ratio: [f64; 3],
    /// What the covariate adds to the log evidence, if that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_evidence_gain: Option<f64>,
}

impl EffectSummary {
    /// Of a posterior, with what each covariate adds to the evidence.
    fn of(posterior: &Posterior, gains: &[(String, f64)]) -> Vec<Self> {
        Self::of_effects(posterior.effects(), gains)
    }

    /// Of effects, with what each covariate adds to the evidence.
    pub fn of_effects(effects: Vec<Effect>, gains: &[(String, f64)]) -> Vec<Self> {
        let one = |effect: Effect| {
            let (level, against) = effect.level.clone().unzip();
            let per = if level.is_some() { 1.0 } else { round_number(effect.over_window.1) };
            let [low, middle, high] = effect.quantiles.map(|value| (per * value).exp());
            let gain = gains.iter().find(|(name, _)| *name == effect.name).map(|(_, gain)| *gain);
            let Effect { name, mean, sd, quantiles, .. } = effect;
            Self {
                name,
                level,
                against,
                effect: mean,
                sd,
                quantiles,
                per,
                ratio: [middle, low, high],
                log_evidence_gain: gain,
            }
        };
        effects.into_iter().map(one).collect()
    }

    /// The name of its line.
    pub(super) fn title(&self) -> String {
        self.level.as_ref().map_or_else(|| self.name.clone(), |level| format!("{} {level}", self.name))
    }

    /// For people.
    fn text(&self) -> String {
        self.text_of("rate")
    }

    /// The same of what is multiplied.
    pub(super) fn text_of(&self, what: &str) -> String {
        let [low, _, high] = self.quantiles.map(|value| self.per * value);
        let [ratio, least, most] = self.ratio;
        let (per, effect) = (self.beside(), self.per * self.effect);
        format!("{what} × {ratio:.2} ({least:.2} to {most:.2}) {per}; effect {effect:+.3} [{low:+.3}, {high:+.3}]")
    }

    /// What it is the effect of.
    pub(super) fn beside(&self) -> String {
        match &self.against {
            Some(against) => format!("beside {against}"),
            None => format!("for {} more", brief(self.per)),
        }
    }

    fn evidence(&self) -> Option<String> {
        Some(format!("; log evidence {:+.1} with it", self.log_evidence_gain?))
    }
}

/// The 1, 2 or 5 times a power of ten that is nearest.
fn round_number(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let off = |round: &f64| (round * power / value).ln().abs();
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(1.0);
    let rounded = round * power;
    if rounded.is_finite() && rounded > 0.0 { rounded } else { value }
}

/// What was asked of Θ.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AskedSummary {
    /// Whether what nothing is said of has penalised-complexity priors.
    pub penalise: bool,
    /// What is held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<(String, f64)>,
    /// Priors that were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<(String, Prior)>,
}

impl AskedSummary {
    fn new(model: &Model) -> Self {
        Self { penalise: model.penalise, fixed: model.fixed.clone(), priors: model.priors.clone() }
    }
}

/// Whether events look like events drawn from the answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GoodnessSummary {
    /// How often events drawn from the answer are as far from what is expected.
    pub p: f64,
    /// What is furthest from it: `count`, `peak` or `times`.
    pub misfit: String,
    /// Where the difference is largest: `[lo, hi]` on each axis.
    pub place: Vec<[f64; 2]>,
    /// Events there.
    pub seen: f64,
    /// Events expected there.
    pub expected: f64,
}

impl GoodnessSummary {
    /// Of what the library found.
    pub fn new(found: &Goodness) -> Self {
        let place = found.place.iter().map(|span| [span.lo, span.hi]).collect();
        let misfit = found.misfit.as_str().into();
        Self { p: found.p, misfit, place, seen: found.seen, expected: found.expected }
    }

    /// For people.
    pub fn text(&self) -> String {
        let word = match self.p {
            p if p < Goodness::POOR => "poor",
            p if p < DOUBTFUL => "doubtful",
            _ => "no misfit seen",
        };
        let digits = if self.p < 0.1 { 3 } else { 2 };
        format!("{word}, p = {:.digits$}, by counts at several scales", self.p)
    }
}

/// Below this p there is a doubt.
const DOUBTFUL: f64 = 0.05;

/// How near the answer is to the exact posterior.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoverageSummary {
    /// Pareto k of the importance weights; none if they are beyond all comparison.
    pub pareto_k: Option<f64>,
    /// By how many nats the bound lies below the log-evidence.
    pub gap: f64,
}

impl CoverageSummary {
    fn new(found: &Coverage) -> Self {
        Self { pareto_k: Some(found.k).filter(|k| k.is_finite()), gap: found.gap }
    }

    /// For people.
    fn text(&self) -> String {
        let k = self.pareto_k.map_or("–".into(), |k| format!("{k:.1}"));
        match self.pareto_k {
            Some(value) if value <= Coverage::CLOSE => format!("q is close to it, Pareto k {k}"),
            _ => format!("q misses a part of it, Pareto k {k}; `check` says what that does to the bands"),
        }
    }
}

/// A hyper-parameter at an end of its range.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BoundSummary {
    /// As `--fix` and `--prior` take it.
    pub name: String,
    /// `lowest` or `highest`.
    pub end: String,
    /// A length in sides of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<f64>,
}

impl BoundSummary {
    fn new(bound: &AtBound) -> Self {
        let sides = match bound.what {
            Bounded::Length { sides, .. } => Some(sides),
            _ => None,
        };
        Self { name: bound.name.clone(), end: bound.end.as_str().into(), sides }
    }
}

/// A basis that was tried.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TriedSummary {
    /// Its name.
    pub name: String,
    /// Its bound.
    pub elbo: Option<f64>,
    /// Why it has none, or is not that of the lattice that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TriedSummary {
    fn new(tried: &Tried) -> Self {
        let note = tried.outcome.as_ref().err().or(tried.ended_early.as_ref()).cloned();
        Self { name: tried.name.clone(), elbo: tried.outcome.as_ref().ok().copied(), note }
    }

    fn text(&self) -> String {
        match (self.elbo, &self.note) {
            (Some(elbo), None) => format!("{} {elbo:.4}", self.name),
            (Some(elbo), Some(note)) => format!("{} {elbo:.4} ({note})", self.name),
            (None, note) => format!("{} ({})", self.name, note.as_deref().unwrap_or("failed")),
        }
    }
}

/// Weighted points that stood for events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EventNodes {
    /// How many.
    pub count: usize,
    /// What they leave out of the bound, in nats, estimated.
    pub error: f64,
}

/// A hyper-parameter.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedValue {
    /// As `--fix` and `--prior` take it.
    pub name: String,
    /// In the units of the data.
    pub value: f64,
    /// The unit, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// The parts of the bound.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parts {
    /// Expected log-intensity at the events.
    pub log_rate: f64,
    /// Expected number of events.
    pub integral: f64,
    /// Divergence of the posterior from the prior.
    pub kl: f64,
}

/// The window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowSummary {
    /// Length, area or volume, as often and as closely as it was looked at: a rate times this is a number of events.
    pub measure: f64,
    /// Length, area or volume as such.
    pub volume: f64,
    /// `[lo, hi]` for each axis, of the box around it; on the globe in degrees.
    #[serde(rename = "box")]
    pub spans: Vec<[f64; 2]>,
    /// Number of pieces.
    pub pieces: usize,
    /// How many times it was looked at; the mean where that differs.
    pub repeats: f64,
    /// Number of corners of its border, 0 for boxes.
    pub outline: usize,
    /// Whether it was looked at more closely in some places than in others.
    pub exposure: bool,
    /// The unit of the exposure, if it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_unit: Option<String>,
    /// What the measure is counted in where it is an exposure whose unit has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_unit: Option<String>,
    /// Relative error of the integral over it, where that is found by quadrature.
    pub quadrature_error: Option<f64>,
    /// What the axes are.
    pub axes: Vec<Axis>,
}

impl WindowSummary {
    /// Of a window, with the relative error of the integral over it if that is found by quadrature.
    pub fn new(window: &Window, quadrature_error: Option<f64>) -> Self {
        let repeats: f64 =
            looks(window).iter().zip(window.pieces()).map(|(looks, piece)| looks * piece_volume(piece)).sum();
        Self {
            measure: window.measure(),
            volume: window.volume(),
            spans: window.bounding_box().iter().zip(window.axes()).map(ends).collect(),
            pieces: window.pieces().len(),
            repeats: if is_repeated(window) { repeats / window.volume() } else { 1.0 },
            outline: window.outlines().flat_map(|outline| outline.rings()).flatten().map(Vec::len).sum(),
            exposure: window.exposure().is_some(),
            exposure_unit: window.exposure_unit().map(String::from),
            measure_unit: window.exposure_unit().map(|unit| measure_unit(unit, window)),
            quadrature_error,
            axes: window.axes().to_vec(),
        }
    }

    /// How far it reaches on each axis, in words.
    pub fn reach(&self) -> String {
        let span = |(span, axis): (&[f64; 2], &Axis)| {
            // These are degrees already, if they are any.
            let end = |v: f64| if time_axis(axis).is_some() { place(axis, v) } else { brief(v) };
            format!("{} from {} to {}", axis.name, end(span[0]), end(span[1]))
        };
        self.spans.iter().zip(&self.axes).map(span).collect::<Vec<_>>().join(", ")
    }

    /// The window in words, where there is more to say than its box.
    pub fn text(&self) -> Option<String> {
        let mut words = Vec::new();
        let is_flat = self.axes.len() == 2 && is_on_globe(&self.axes);
        let unit = if is_flat { " km²" } else { "" };
        if self.outline > 0 {
            let what = measure_name(self.axes.len());
            words.push(format!("a border with {} corners, {what} {}{unit}", self.outline, brief(self.volume)));
        } else if self.pieces > 1 {
            words.push(format!("{} pieces", self.pieces));
        }
        if is_flat && self.outline == 0 {
            words.push(format!("area {}{unit}", brief(self.volume)));
        }
        if self.repeats != 1.0 {
            let mean = if self.repeats.fract() == 0.0 { "" } else { " on the mean" };
            words.push(format!("looked at {} times{mean}", brief(self.repeats)));
        }
        if self.exposure {
            let unit = self.measure_unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
            words.push(format!("exposure {}{unit} in all", brief(self.measure)));
        }
        if let Some(error) = self.quadrature_error {
            words.push(format!("integral by quadrature, relative error about {:.0e}", error.max(f64::EPSILON)));
        }
        (!words.is_empty()).then(|| words.join("; "))
    }
}

impl Summary {
    /// Of a fit of `model` to so many events in a window; `warnings` of the reading come before those of the fit.
    pub fn new(model: &Model, events: usize, window: &Window, fit: &Fit, mut warnings: Vec<String>) -> Self {
        let (report, all) = (&fit.report, &fit.posterior);
        let posterior = &varying(all);
        let lattice = posterior.lattice();
        let axes: Vec<&str> = window.axes().iter().map(|axis| axis.name.as_str()).collect();
        let (kernel, hyperparameters, parameters) = match (posterior.kernel(), &lattice) {
            (Some(kernel), _) => (
                kernel.expression(&axes),
                hyperparameters(&kernel, posterior.mean()),
                parameters(&kernel, posterior.mean(), window),
            ),
            (None, Some(lattice)) => (
                match lattice.link {
                    Link::Square => format!("matern on a lattice, smoothness {}", lattice.smoothness.alpha()),
                    link => format!("{link} link, matern on a lattice, smoothness {}", lattice.smoothness.alpha()),
                },
                serde_json::json!({ "variance": lattice.variance, "lengthscale": lattice.lengthscales, "mean": posterior.mean() }),
                lattice_parameters(lattice, posterior.mean(), window),
            ),
            (None, None) => Default::default(),
        };
        let misses_week = warnings.iter().any(|warning| misses_week(warning));
        let said = report.warnings.iter().map(|warning| with_places(warning, &report.goodness, window));
        // What comes every week is no outage, and has been said.
        let said = said.map(|warning| if misses_week { warning.replace(Goodness::OUTAGE, "") } else { warning });
        warnings.extend(said);
        let components = ComponentSummary::of(all);
        warnings.extend(ComponentSummary::of_bursts(&components, &report.priors, window.axes()));
        warnings.extend(posterior.kernel().and_then(|kernel| left_out(&kernel, &axes)));
        Self {
            elbo: report.bound.total(),
            elbo_parts: Parts {
                log_rate: report.bound.log_rate,
                integral: report.bound.integral(),
                kl: report.bound.kl,
            },
            converged: report.stop.converged(),
            stop: report.stop.as_str().into(),
            iterations: report.iterations,
            evaluations: report.evaluations,
            seconds: Some(report.seconds),
            events,
            basis: if lattice.is_some() { "lattice" } else { "inducing" }.into(),
            tried: report.tried.iter().map(TriedSummary::new).collect(),
            inducing: posterior.inducing().map_or(0, |locations| locations.len()),
            inducing_grid: report.inducing.clone(),
            smoothness: lattice.as_ref().map(|lattice| lattice.smoothness.alpha()),
            nodes: lattice.map(|lattice| lattice.nodes).unwrap_or_default(),
            choice: report.choice.clone(),
            event_nodes: report.summarised.as_ref().map(|nodes| EventNodes { count: nodes.nodes, error: nodes.error }),
            unexplained: report.unexplained,
            kernel,
            components,
            mean_rate: NamedValue {
                name: "mean_rate".into(),
                value: events as f64 / window.measure(),
                unit: Some(rate_unit(window)),
            },
            in_words: in_words(all),
            averaged: model.average && report.log_evidence.is_some(),
            alone: report.alone.map(|alone| alone.as_str().into()),
            weights: Self::weights_of(all),
            prior_mean: MeanKind::of(posterior),
            method: match &model.family {
                Family::Inducing(InducingPoints { method: Method::Joint, .. }) => "joint",
                _ => "collapsed",
            }
            .into(),
            hyperparameters,
            parameters,
            log_prior: report.log_prior,
            priors: report.priors.iter().map(PriorSummary::new).collect(),
            asked: AskedSummary::new(model),
            window: WindowSummary::new(window, report.integral_error),
            jitter: report.jitter,
            at_bounds: report.at_bounds.iter().map(BoundSummary::new).collect(),
            standard_errors: report.standard_errors.iter().flatten().map(ErrorSummary::new).collect(),
            effects: EffectSummary::of(all, &report.gains),
            goodness: report.goodness.as_ref().map(GoodnessSummary::new),
            coverage: report.coverage.as_ref().map(CoverageSummary::new),
            warnings,
        }
    }

    /// The weights of the components of a posterior; none where there is one component.
    pub fn weights_of(posterior: &Posterior) -> Vec<f64> {
        let weights = posterior.weights();
        if weights.len() > 1 { weights } else { Vec::new() }
    }

    /// The part that belongs into a model file: all but the time it took.
    pub fn for_file(&self) -> serde_json::Value {
        // Names and finite numbers always serialise.
        serde_json::to_value(Self { seconds: None, ..self.clone() }).unwrap_or_default()
    }

    /// For people, who spell settings so.
    pub fn text(&self, source: &str, spelling: &impl Spelling) -> String {
        let rows = self.rows(spelling);
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(12);
        let head = format!("{source}: {}, {}\n", plural(self.events, "event", "events"), self.window.reach());
        rows.iter().fold(head, |text, (name, value)| text + &format!("  {name:<width$} {value}\n"))
    }

    /// What it has to say, line by line: names and values.
    pub fn rows(&self, spelling: &impl Spelling) -> Vec<(String, String)> {
        let parts = &self.elbo_parts;
        let seconds = self.seconds.map(|s| format!(", {}", duration(s))).unwrap_or_default();
        let stop = match self.stop.as_str() {
            "converged" => "converged",
            "max_evaluations" => "NOT CONVERGED, the evaluations allowed were used up",
            _ => "NOT CONVERGED, no better point was found",
        };
        let parameters = grouped(&self.parameters);
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_string(), value));
        if let Some(words) = &self.in_words {
            row("in words", words.clone());
        }
        if let Some(words) = self.window.text() {
            row("window", words);
        }
        for (i, effect) in self.effects.iter().enumerate() {
            // The evidence is that of the covariate as a whole.
            let is_first = i == 0 || self.effects[i - 1].name != effect.name;
            row(&effect.title(), effect.text() + &effect.evidence().filter(|_| is_first).unwrap_or_default());
        }
        let bound = format!(
            "{:.4} = {:.4} log rate - {:.4} integral - {:.4} KL",
            self.elbo, parts.log_rate, parts.integral, parts.kl
        );
        match Told::of(self) {
            Some(told) => {
                told.rows().into_iter().for_each(|(name, value)| row(name, value));
                let whose = if self.components.len() > 1 { "; of the best component" } else { "" };
                // A kernel with more than a length-scale for each axis has more to say.
                if self.components[0].range.is_empty() {
                    parameters.into_iter().for_each(|(name, values)| row(&name, format!("{values}{whose}")));
                }
                row("bound", format!("{bound}{whose}"));
            }
            None => {
                if self.kernel != "se" {
                    row("kernel", self.kernel.clone());
                }
                row("bound", bound);
                if self.log_prior != 0.0 {
                    row("log prior", format!("{:.4}", self.log_prior));
                }
                for (name, values) in parameters {
                    row(&name, values);
                }
                for ErrorSummary { name, value, se } in &self.standard_errors {
                    row("error", format!("{name} {value:.4} ± {se:.4}"));
                }
                if self.prior_mean == MeanKind::Integrated {
                    row("constant", "unknown, about the mean; integrated over".into());
                }
                if !self.weights.is_empty() {
                    row("components", weights(&self.weights));
                }
            }
        }
        match self.basis.as_str() {
            "lattice" => row("lattice", format!("{} nodes; {}", grid(&self.nodes), self.choice)),
            _ => row("inducing", format!("{} points; {}", grid(&self.inducing_grid), self.choice)),
        }
        if let Some(EventNodes { count, error }) = self.event_nodes {
            row(
                "events",
                format!("{count} weighted points stood for them, which changed the bound by about {error:.1e}"),
            );
        }
        if self.tried.len() > 1 {
            let tried = self.tried.iter().map(TriedSummary::text).collect::<Vec<_>>().join(", ");
            let what = if self.averaged { "log evidence: " } else { "bound: " };
            row("tried", format!("{what}{tried}"));
            if let Some(words) = Told::of(self).and_then(|told| told.left_out()) {
                row("left out", words);
            }
        }
        if let Some(coverage) = &self.coverage {
            row("posterior", coverage.text());
        }
        if let Some(goodness) = &self.goodness {
            row("fit", goodness.text() + &self.advice(goodness).spelled(spelling));
        }
        let (steps, evaluations) = (self.iterations, self.evaluations);
        let edges: Vec<&str> = self.at_bounds.iter().map(|bound| bound.name.as_str()).collect();
        let edges =
            if edges.is_empty() { String::new() } else { format!(" at the end of the range of {}", edges.join(", ")) };
        row("stop", format!("{stop}{edges}; {steps} steps, {evaluations} evaluations{seconds}"));
        rows
    }

    /// What to try where a fit is poor: what it did not have.
    fn advice(&self, goodness: &GoodnessSummary) -> Message {
        if goodness.p >= Goodness::POOR {
            return Message::default();
        }
        if self.warnings.iter().any(|warning| misses_week(warning)) {
            return message!["; try ", Setting::Cycle.given("day,week")];
        }
        // What could not be recorded is mended by no model, and the warning says so first.
        if Goodness::is_a_gap(goodness.seen, goodness.expected) {
            return message![
                "; leave out what could not be recorded (the warning says where), else try ",
                self.tries()
            ];
        }
        message!["; try ", self.tries()]
    }

    /// What a fit did not have.
    fn tries(&self) -> Message {
        if self.basis == "inducing" {
            let (inducing, lattice) = (Setting::Inducing, Setting::Basis.given("lattice"));
            return message![
                "more inducing points (",
                inducing,
                "), a kernel with a shorter length-scale, or a lattice (",
                lattice,
                ")"
            ];
        }
        let mut tries = vec![];
        if self.weights.is_empty() {
            let is_line = self.window.axes.len() == 1;
            if is_line && self.smoothness != Some(1) {
                tries.push(Setting::Smoothness.given(1));
            }
            if !self.kernel.starts_with("log link") {
                tries.push(Setting::Link.given("log"));
            }
        }
        tries.extend([message!["a finer lattice (", Setting::Nodes, ")"], "a shorter window".into()]);
        Message::joined(tries, ", ")
    }

    /// What to say of a fit that did not converge.
    pub fn not_converged(&self) -> Option<Message> {
        match self.stop.as_str() {
            _ if self.converged => None,
            "max_evaluations" => Some(message![
                "the fit did not converge: the evaluations allowed were used up; allow more with ",
                Setting::MaxEvaluations
            ]),
            _ => Some(message![
                "the fit did not converge: no better point was found; try fewer inducing points or nodes, or a larger ",
                Setting::Jitter
            ]),
        }
    }
}

/// A model just fitted, and what there is to say.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// As it goes into a file.
    pub model: ModelFile,
    /// What it has to say.
    pub summary: Summary,
}

/// What was fitted.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Where events were looked for.
    pub window: &'a Window,
    /// How many there are.
    pub event_count: usize,
    /// The events to keep.
    pub events: Option<KeptEvents>,
    /// The events by cell, if they came so.
    pub cells: Option<SummaryFile>,
    /// Where they came from.
    pub source: String,
    /// What the user should know of how they were read.
    pub warnings: Vec<String>,
}

impl<'a> Subject<'a> {
    /// Events, of which so many are kept as pictures need.
    pub fn of_events(events: &'a Events, trials: Option<Vec<usize>>, source: String, warnings: Vec<String>) -> Self {
        let is_kept = events.len() <= MOST_EVENTS;
        let kept = is_kept.then(|| KeptEvents { points: events.points().clone(), trials });
        let (window, event_count) = (events.window(), events.len());
        Self { window, event_count, events: kept, cells: None, source, warnings }
    }

    /// A summary, of which so much is kept as this fit needs.
    pub fn of_summary(file: &'a SummaryFile, fit: &Fit, source: String, warnings: Vec<String>) -> Self {
        let window = file.summary.window();
        let event_count = usize::try_from(file.summary.events()).unwrap_or(usize::MAX);
        let needed = fit.report.summarised.as_ref().map_or_else(|| file.summary.cells(), |nodes| nodes.cells.clone());
        let SummaryFile { sources, skipped, dropped, .. } = file;
        let kept = |summary| SummaryFile { summary, sources: sources.clone(), skipped: *skipped, dropped: *dropped };
        let cells = file.summary.coarsened(&needed).ok().map(kept);
        Self { window, event_count, events: None, cells, source, warnings }
    }
}

impl Fitted {
    /// What is to be kept and said of a fit of `model`.
    pub fn new(model: &Model, fit: Fit, subject: Subject<'_>) -> Self {
        let Subject { window, event_count, events, cells, source, warnings } = subject;
        let summary = Summary::new(model, event_count, window, &fit, warnings);
        let model = ModelFile {
            source,
            summary: summary.for_file(),
            posterior: fit.posterior,
            event_count,
            events,
            cells,
            types: None,
            measured: None,
            reference: Reference::of(window.axes()),
            command: None,
        };
        Self { model, summary }
    }
}

/// The heaviest component of a rate that varies, if there is one: its hyper-parameters are those that mean something.
fn varying(posterior: &Posterior) -> Posterior {
    let mut components = (0..posterior.weights().len()).filter_map(|number| posterior.component(number));
    let found = components.find(|one| one.lattice().is_none_or(|lattice| !lattice.is_constant()));
    found.unwrap_or_else(|| posterior.clone())
}

/// A warning where no term of a kernel names an axis: along it the answer is flat whatever the events say.
fn left_out(kernel: &Kernel, axes: &[&str]) -> Option<String> {
    let is_named = |axis: usize| kernel.terms.iter().flat_map(|term| &term.parts).any(|part| part.axis == axis);
    let out: Vec<usize> = (0..axes.len()).filter(|&axis| !is_named(axis)).collect();
    let names = out.iter().map(|&axis| format!("`{}`", axes[axis])).collect::<Vec<_>>().join(" and ");
    let remedy = out.iter().map(|&axis| format!("se({})", axes[axis])).collect::<Vec<_>>().join("*");
    (!out.is_empty()).then(|| {
        format!(
            "the kernel leaves {names} out, so the rate is the same all along {}; multiply its terms by {remedy}, unless that is meant",
            if out.len() == 1 { "it" } else { "them" }
        )
    })
}

/// So many weights are said one by one.
const FEW_WEIGHTS: usize = 5;

/// How many components a posterior has; the heaviest comes first.
fn weights(weights: &[f64]) -> String {
    let shown: Vec<String> = weights.iter().take(FEW_WEIGHTS).map(|weight| format!("{weight:.3}")).collect();
    let rest = if weights.len() > FEW_WEIGHTS { ", ..." } else { "" };
    format!("an average of {}, weights {}{rest}; what stands here is of the first", weights.len(), shown.join(", "))
}

/// Counts on each axis, as `20×30`.
pub fn grid(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

/// A warning of a fit; if it names a place where one of these misfits is, with dates and degrees.
pub(super) fn with_places<'a>(warning: &str, found: impl IntoIterator<Item = &'a Goodness>, window: &Window) -> String {
    let axes = window.axes();
    let own = found.into_iter().find(|goodness| warning.ends_with(&goodness.warning(axes)));
    let in_words =
        |goodness: &Goodness| warning.replace(&goodness.warning(axes), &goodness.sentence(axes, place_in_words));
    own.map_or_else(|| warning.into(), in_words)
}

/// A value on an axis: a date, or a number that is not longer than people read.
fn place_in_words(axis: &Axis, value: f64) -> String {
    if axis.origin.is_some() { place(axis, value) } else { brief(outward(axis, value)) }
}

/// The ends of a span as people know them.
fn ends((span, axis): (&Span, &Axis)) -> [f64; 2] {
    [span.lo, span.hi].map(|end| outward(axis, end))
}

fn piece_volume(piece: &Piece) -> f64 {
    match &piece.outline {
        Some(outline) => piece.spans[2..].iter().fold(outline.area(), |volume, span| volume * span.length()),
        None => piece.spans.iter().map(|span| span.length()).product(),
    }
}

/// The parameters of a kernel, gathered by their names.
fn hyperparameters(kernel: &Kernel, mean: f64) -> serde_json::Value {
    let mut lists: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for part in kernel.terms.iter().flat_map(|term| &term.parts) {
        for (parameter, value) in part.factor.parameters().iter().zip(&part.parameters) {
            lists.entry(parameter.name).or_default().push(*value);
        }
    }
    let variances: Vec<f64> = kernel.terms.iter().map(|term| term.variance).collect();
    let mut all = serde_json::json!({ "variance": variances, "lengthscale": [], "mean": mean });
    if let [variance] = variances[..] {
        all["variance"] = variance.into();
    }
    for (name, values) in lists {
        all[name] = values.into();
    }
    all
}

/// The parameters of a kernel and the mean, each with its name and unit.
fn parameters(kernel: &Kernel, mean: f64, window: &Window) -> Vec<NamedValue> {
    let (axes, rate) = (window.axes(), rate_unit(window));
    let of_term = |term: &Term| {
        // A kernel that grows with x has a variance in units of its own.
        let is_rate = term.parts.iter().all(|part| part.factor.parameters().iter().all(|p| p.unit != Unit::Area));
        let variance = (None, is_rate.then(|| rate.clone()));
        let of_part = |part: &Part| {
            let unit = |parameter: &Parameter| (Some(part.axis), parameter_unit(parameter.unit, &axes[part.axis]));
            part.factor.parameters().iter().map(unit).collect::<Vec<_>>()
        };
        [variance].into_iter().chain(term.parts.iter().flat_map(of_part)).collect::<Vec<_>>()
    };
    let units = kernel.terms.iter().flat_map(of_term);
    let mut all: Vec<NamedValue> = (kernel.parameter_names().iter().zip(kernel.parameters()).zip(units))
        .map(|((name, value), (axis, unit))| NamedValue { name: with_axis_name(name, axis, axes), value, unit })
        .collect();
    all.push(NamedValue { name: "mean".into(), value: mean, unit: Some(format!("√({rate})")) });
    all
}

/// The same for a lattice.
fn lattice_parameters(lattice: &LatticeSummary, mean: f64, window: &Window) -> Vec<NamedValue> {
    let (axes, rate) = (window.axes(), rate_unit(window));
    let lengthscale = |(axis, value): (&Axis, &f64)| {
        let name = if axes.len() == 1 { "lengthscale".into() } else { format!("lengthscale[{}]", axis.name) };
        NamedValue { name, value: *value, unit: axis.unit.clone() }
    };
    let (of_variance, of_mean) = match lattice.link {
        Link::Square => (Some(rate.clone()), Some(format!("√({rate})"))),
        Link::Log => (None, Some(format!("log({rate})"))),
        // The unit of f is not known of others.
        _ => (None, None),
    };
    let variance = NamedValue { name: "variance".into(), value: lattice.variance, unit: of_variance };
    let mean = NamedValue { name: "mean".into(), value: mean, unit: of_mean };
    let lengthscales = axes.iter().zip(&lattice.lengthscales).map(lengthscale);
    [variance].into_iter().chain(lengthscales).chain([mean]).collect()
}

/// `lengthscale[1]` as `lengthscale[lat]`: the number in brackets is that of the axis.
fn with_axis_name(name: &str, axis: Option<usize>, axes: &[Axis]) -> String {
    let Some(axis) = axis else { return name.into() };
    match name.strip_suffix(&format!("[{axis}]")) {
        Some(rest) => format!("{rest}[{}]", axes[axis].name),
        None => name.into(),
    }
}

fn parameter_unit(unit: Unit, axis: &Axis) -> Option<String> {
    let of_axis = axis.unit.clone();
    match unit {
        Unit::Length | Unit::Place => of_axis,
        Unit::Area => of_axis.map(|unit| format!("{unit}²")),
        Unit::Number => None,
    }
}

/// Parameters for people: those that differ only in their axis share a row.
fn grouped(parameters: &[NamedValue]) -> Vec<(String, String)> {
    let mut rows: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for NamedValue { name, value, unit } in parameters {
        let shown = format!("{}{}", brief(*value), unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default());
        let (name, place) = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            // The number of a variance is that of its term.
            Some((base, place)) if base != "variance" => (base.to_string(), place.to_string()),
            _ => (name.clone(), String::new()),
        };
        match rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => row.1.push((place, shown)),
            None => rows.push((name, vec![(place, shown)])),
        }
    }
    let joined = |values: Vec<(String, String)>| match &values[..] {
        [(_, only)] => only.clone(),
        values => values.iter().map(|(place, shown)| format!("{place} {shown}")).collect::<Vec<_>>().join(", "),
    };
    rows.into_iter().map(|(name, values)| (name, joined(values))).collect()
}

/// What the measure of a window is counted in whose exposure has this unit: amounts at places in that, a grid of values in that times a length.
fn measure_unit(unit: &str, window: &Window) -> String {
    match (window.exposure(), joined_units(window.axes())) {
        (Some(Exposure::Cells { .. }), _) => unit.into(),
        (_, Some(joined)) => format!("{unit} · {joined}"),
        (_, None) => format!("{unit} · unit of {}", measure_name(window.dims())),
    }
}

/// The unit of a rate over a window: `events per year`, `events per second and trial`, `events per km² and person-year`.
pub fn rate_unit(window: &Window) -> String {
    let trial = if is_repeated(window) { " and trial" } else { "" };
    let exposure = window.exposure_unit().map_or("unit of exposure", singular);
    match window.exposure() {
        // Amounts at places: their density carries the unit of the space.
        Some(Exposure::Cells { .. }) => format!("events per {exposure}{trial}"),
        Some(_) => format!("{}{trial} and {exposure}", unit_of_measure(window.axes())),
        None => format!("{}{trial}", unit_of_measure(window.axes())),
    }
}

/// The unit of a rate on these axes: `events per year`, `events per degree²`.
fn unit_of_measure(axes: &[Axis]) -> String {
    match (joined_units(axes), axes) {
        (Some(joined), _) => format!("events per {joined}"),
        (None, [axis]) => format!("events per unit of {}", axis.name),
        (None, [_, _]) => "events per unit area".into(),
        (None, _) => "events per unit volume".into(),
    }
}

/// The product of the units of axes, if all have one: `year`, `(degree² · day)`.
fn joined_units(axes: &[Axis]) -> Option<String> {
    let units: Vec<&str> = axes.iter().map(|axis| axis.unit.as_deref().map(singular)).collect::<Option<_>>()?;
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for unit in units {
        match counted.iter_mut().find(|(seen, _)| *seen == unit) {
            Some((_, power)) => *power += 1,
            None => counted.push((unit, 1)),
        }
    }
    let power = |(unit, power): &(&str, usize)| match power {
        1 => unit.to_string(),
        2 => format!("{unit}²"),
        3 => format!("{unit}³"),
        _ => format!("{unit}^{power}"),
    };
    let factors: Vec<String> = counted.iter().map(power).collect();
    let joined = factors.join(" · ");
    Some(if factors.len() > 1 { format!("({joined})") } else { joined })
}

/// `years` → `year`.
fn singular(unit: &str) -> &str {
    unit.strip_suffix('s').filter(|short| short.len() > 2).unwrap_or(unit)
}

/// Six significant digits.
pub fn brief(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor() as i32;
    if (-4..9).contains(&exponent) {
        let text = format!("{value:.*}", (5 - exponent).max(0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
    } else {
        format!("{value:.5e}")
    }
}

/// A time for people.
pub fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", 1e3 * seconds) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, unit: Option<&str>) -> Axis {
        Axis { name: name.into(), unit: unit.map(String::from), ..Axis::default() }
    }

    #[test]
    fn parameters_share_rows_by_name() {
        let value = |name: &str, value| NamedValue { name: name.into(), value, unit: Some("m".into()) };
        let rows = grouped(&[value("variance", 1.0), value("lengthscale[x]", 2.0), value("lengthscale[y]", 3.0)]);
        let row = |name: &str, text: &str| (name.to_string(), text.to_string());
        assert_eq!(rows, [row("variance", "1 m"), row("lengthscale", "x 2 m, y 3 m")]);
        assert_eq!(with_axis_name("lengthscale[1]", Some(1), &[axis("x", None), axis("y", None)]), "lengthscale[y]");
    }

    #[test]
    fn units_and_numbers_read_well() {
        assert_eq!(unit_of_measure(&[axis("t", Some("days"))]), "events per day");
        assert_eq!(
            unit_of_measure(&[axis("lon", Some("degrees")), axis("lat", Some("degrees"))]),
            "events per degree²"
        );
        let mixed = [axis("lon", Some("degrees")), axis("t", Some("days")), axis("lat", Some("degrees"))];
        assert_eq!(unit_of_measure(&mixed), "events per (degree² · day)");
        assert_eq!(unit_of_measure(&[axis("t", None)]), "events per unit of t");
        let trials = Window::interval(0.0, 2.0).unwrap().with_axes(vec![axis("t", Some("seconds"))]).unwrap();
        assert_eq!(rate_unit(&trials), "events per second");
        assert_eq!(rate_unit(&trials.clone().with_repeats(3).unwrap()), "events per second and trial");
        let watched = |exposure, unit: &str| {
            let window = trials.clone().with_exposure(exposure).unwrap().with_exposure_unit(Some(unit.into()));
            (rate_unit(&window), measure_unit(unit, &window))
        };
        let (lines, words) = (vec![vec![0.0, 2.0]], |a: &str, b: &str| (a.to_string(), b.to_string()));
        let grid = Exposure::grid(vec![0], lines.clone(), vec![1.0, 2.0]).unwrap();
        assert_eq!(watched(grid, "hours"), words("events per second and hour", "hours · second"));
        let cells = Exposure::cells(vec![0], lines, vec![2.0]).unwrap();
        assert_eq!(watched(cells, "person-years"), words("events per person-year", "person-years"));
        assert_eq!(trials.clone().with_exposure_unit(Some("hours".into())).exposure_unit(), None);
        assert_eq!(brief(0.00123456789), "0.00123457");
        assert_eq!(brief(1851.2026), "1851.2");
        assert_eq!(brief(1e-9), "1.00000e-9");
        assert_eq!(brief(100.0), "100");
    }
}
