//! Measurements beside events: reading them, and what a fit of both has to say.

use super::TypeLabels;
use super::events::{RowSettings, labelled_points};
use super::fit_summary::{brief, rate_unit};
use super::input_error::InputError;
use super::model_file::{KeptEvents, MOST_EVENTS, ModelFile};
use super::spec::plural;
use super::table::source_name;
use super::types::{FamilySummary, FieldSummary, three};
use super::window::show_window;
use crate::message;
use pointillist::measurements::{MeasuredFit, MeasuredPosterior, MeasuredReport, Measurements};
use pointillist::{Axis, Error, Events, Window};
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// The values of labels that are numbers.
pub fn values_of(source: &str, column: &str, labels: &TypeLabels) -> Result<Vec<f64>, InputError> {
    labels.kinds.iter().map(|kind| value_of(source, column, &labels.names[*kind])).collect()
}

fn value_of(source: &str, column: &str, text: &str) -> Result<f64, InputError> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let shown: String = text.chars().take(30).collect::<String>().escape_default().to_string();
            Err(message!["{source}: `{column}` is \"{shown}\" in a row, which is no number; leave such rows out with a filter, or mend them"]
                .into())
        }
    }
}

/// Measurements in a table of their own, with columns called as the axes of the events.
pub fn read_measurements(
    path: &str,
    column: &str,
    axes: &[Axis],
    settings: &RowSettings,
) -> Result<Measurements, InputError> {
    let source = source_name(path);
    let (points, labels) = labelled_points(path, column, axes, settings)?;
    let values = labels.iter().map(|label| value_of(source, column, label)).collect::<Result<_, _>>()?;
    Ok(Measurements::new(column, points, values)?)
}

/// The posterior of a model that has measurements.
pub fn measured(model: &ModelFile) -> Option<Result<MeasuredPosterior, Error>> {
    let state = model.measured.clone()?;
    Some(MeasuredPosterior::new(model.posterior.clone(), state))
}

/// The JSON of a fit of events and measurements; scripts rely on the names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasuredSummary {
    /// What was measured.
    pub value: String,
    /// How many values there are, and whether they were measured at the events.
    pub values: usize,
    /// See `values`.
    pub at_events: bool,
    /// What a value is higher by where the rate is e times as high.
    pub slope: SlopeSummary,
    /// By how much the log evidence is higher with a link between values and rate than without.
    pub link: f64,
    /// Ways in which the two may belong together.
    pub families: Vec<FamilySummary>,
    /// Posterior mean and standard deviation of the standard deviation of noise.
    pub noise: (f64, f64),
    /// What is known of the fields.
    pub fields: Vec<FieldSummary>,
    /// Number of events, …
    pub events: usize,
    /// … how many are expected, …
    pub expected: f64,
    /// … and the mean rate.
    pub mean_rate: f64,
    /// The unit of rates.
    pub unit: String,
    /// The unit of ranges, where all axes share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_unit: Option<String>,
    /// Where events were looked for.
    pub window: String,
    /// Nodes of the lattice on each axis.
    pub nodes: Vec<usize>,
    /// Smoothness of the fields.
    pub smoothness: usize,
    /// Components of the average.
    pub components: usize,
    /// Whether the answer can be relied on.
    pub converged: bool,
    /// Why the fit stopped.
    pub stop: String,
    /// Evaluations of bounds.
    pub evaluations: usize,
    /// Wall time of the fit; absent in model files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What is known of the slope.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SlopeSummary {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// The 5 % quantile.
    #[serde(rename = "q0.05")]
    pub low: f64,
    /// The 50 % quantile.
    #[serde(rename = "q0.5")]
    pub median: f64,
    /// The 95 % quantile.
    #[serde(rename = "q0.95")]
    pub high: f64,
    /// The probability that it is above 0.
    pub positive: f64,
}

impl MeasuredSummary {
    fn new(
        fit: &MeasuredReport,
        (measurements, at_events): (&Measurements, bool),
        (events, window): (usize, &Window),
        warnings: Vec<String>,
    ) -> Self {
        let family = |(tried, weight): (&pointillist::report::Tried, &f64)| FamilySummary {
            name: tried.name.clone(),
            log_evidence: tried.outcome.as_ref().ok().copied(),
            failed: tried.outcome.as_ref().err().cloned(),
            weight: *weight,
        };
        let field = |field: &pointillist::types::FieldReport| FieldSummary {
            name: field.name.clone(),
            ranges: field.ranges.clone(),
            sd: field.sd,
        };
        let axes = window.axes();
        let range_unit = axes[0].unit.clone().filter(|unit| axes.iter().all(|axis| axis.unit.as_ref() == Some(unit)));
        let [low, median, high] = fit.slope.quantiles;
        Self {
            value: measurements.name().into(),
            values: measurements.values().len(),
            at_events,
            slope: SlopeSummary {
                mean: fit.slope.mean,
                sd: fit.slope.sd,
                low,
                median,
                high,
                positive: fit.slope.positive,
            },
            link: fit.link,
            families: fit.tried.iter().zip(&fit.weights).map(family).collect(),
            noise: fit.noise,
            fields: fit.fields.iter().map(field).collect(),
            events,
            expected: fit.expected,
            mean_rate: fit.expected / window.measure(),
            unit: rate_unit(window),
            range_unit,
            window: show_window(window),
            nodes: fit.nodes.clone(),
            smoothness: fit.smoothness.alpha(),
            components: fit.components,
            converged: fit.stop.converged(),
            stop: fit.stop.as_str().into(),
            evaluations: fit.evaluations,
            seconds: Some(fit.seconds),
            warnings,
        }
    }

    /// What the slope means, in words.
    fn in_words(&self) -> String {
        let (value, SlopeSummary { low, median, high, .. }) = (&self.value, &self.slope);
        let doubled = |slope: &f64| signed(LN_2 * slope);
        let numbers =
            format!("{} [{}, {}] where the rate is twice as high", doubled(median), doubled(low), doubled(high));
        let said = match (self.at_events, *low > 0.0, *high < 0.0) {
            (true, true, _) => format!("places are chosen where {value} is high"),
            (true, _, true) => format!("places are chosen where {value} is low"),
            (true, ..) => format!("no sign that places are chosen by {value}"),
            (false, true, _) => format!("{value} is higher where events are denser"),
            (false, _, true) => format!("{value} is lower where events are denser"),
            (false, ..) => format!("no sign that {value} has to do with the rate"),
        };
        format!("{said}: {numbers}; log evidence {:+.1} with the link", self.link)
    }

    /// For people.
    pub fn text(&self, source: &str) -> String {
        let at = if self.at_events { "at the events" } else { "at places of their own" };
        let mut lines = vec![format!(
            "{source}: {} and {} of {} {at}, {}",
            plural(self.events, "event", "events"),
            plural(self.values, "value", "values"),
            self.value,
            self.window
        )];
        let mut line = |name: &str, text: String| lines.push(format!("  {name:<12} {text}"));
        line("link", self.in_words());
        let families = self.families.iter().map(|family| {
            let evidence = family.log_evidence.map_or("not found".into(), |evidence| format!("{evidence:.4}"));
            format!("{} {:.0} % (log evidence {evidence})", family.name, 100.0 * family.weight)
        });
        line("together", families.collect::<Vec<_>>().join(", "));
        line("rate", format!("{} {} on average", brief(self.mean_rate), self.unit));
        let unit = self.range_unit.as_deref().map_or(String::new(), |unit| format!(" {unit}"));
        for FieldSummary { name, ranges, sd } in &self.fields {
            let mut ranges: Vec<String> =
                ranges.iter().map(|(mean, sd)| format!("{} ± {}{unit}", three(*mean), three(*sd))).collect();
            ranges.dedup();
            let (of, called) = match name.as_str() {
                "own" => (self.value.clone(), "own field"),
                _ => ("the logarithm of the rate".into(), "rate's field"),
            };
            line(called, format!("sd {} ± {} of {of}, range {}", three(sd.0), three(sd.1), ranges.join(" by ")));
        }
        line("noise", format!("sd {} ± {} of {}", three(self.noise.0), three(self.noise.1), self.value));
        let nodes = self.nodes.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
        let (smoothness, components) = (self.smoothness, self.components);
        line("model", format!("an average of {components}: log link, smoothness {smoothness}, {nodes} nodes"));
        let seconds = self.seconds.map_or(String::new(), |seconds| match seconds {
            few if few < 1.0 => format!(", {:.0} ms", 1000.0 * few),
            many => format!(", {many:.1} s"),
        });
        let stop = if self.converged { "converged" } else { "NOT CONVERGED" };
        line("stop", format!("{stop}; {} evaluations{seconds}", self.evaluations));
        lines.join("\n") + "\n"
    }
}

/// Three digits and a sign.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", three(value.abs()))
}

/// A model of events and measurements just fitted, and what there is to say.
#[derive(Clone, Debug)]
pub struct FittedMeasured {
    /// As it goes into a file.
    pub model: ModelFile,
    /// What it has to say.
    pub summary: MeasuredSummary,
}

impl FittedMeasured {
    /// What is to be kept and said of a fit of these events and measurements.
    pub fn new(
        fit: MeasuredFit,
        events: &Events,
        (measurements, at_events): (&Measurements, bool),
        source: String,
        warnings: Vec<String>,
    ) -> Self {
        let (report, posterior) = (&fit.report, &fit.posterior);
        let seen = (events.len(), events.window());
        let summary = MeasuredSummary::new(report, (measurements, at_events), seen, warnings);
        let is_kept = events.len() <= MOST_EVENTS;
        // A file must not depend on how long a fit took.
        let said = MeasuredSummary { seconds: None, ..summary.clone() };
        let model = ModelFile {
            source,
            summary: serde_json::to_value(said).unwrap_or_default(),
            posterior: posterior.rate().clone(),
            event_count: events.len(),
            events: is_kept.then(|| KeptEvents { points: events.points().clone(), trials: None }),
            cells: None,
            types: None,
            measured: Some(posterior.state().clone()),
            reference: Default::default(),
            command: None,
        };
        Self { model, summary }
    }
}
