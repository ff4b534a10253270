//! Measurements beside events: reading them, and what a fit of both has to say.

use super::TypeLabels;
use super::events::{RowSettings, labelled_points};
use super::fit_summary::{EffectSummary, GoodnessSummary, brief, with_places};
use super::input_error::InputError;
use super::joint_summary::{self, FieldSummary, JointSummary, Row, SaysJointly, three};
use super::model_file::ModelFile;
use super::spec::plural;
use super::table::source_name;
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
    /// Posterior mean and standard deviation of the standard deviation of noise.
    pub noise: (f64, f64),
    /// How many events are expected, …
    pub expected: f64,
    /// … and the mean rate.
    pub mean_rate: f64,
    /// Whether the events look like events of the rate, if that could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodness: Option<GoodnessSummary>,
    /// The effects of covariates on the rate, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectSummary>,
    /// … and on the values, of which `effect`, `sd` and `quantiles` count: they add, and multiply nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects_on_value: Vec<EffectSummary>,
    /// How they belong together, and how the fit went.
    #[serde(flatten)]
    pub joint: JointSummary,
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

impl SaysJointly for MeasuredSummary {
    fn joint(&self) -> &JointSummary {
        &self.joint
    }

    fn text(&self, source: &str) -> String {
        let at = if self.at_events { "at the events" } else { "at places of their own" };
        let events = plural(self.joint.events, "event", "events");
        let values = plural(self.values, "value", "values");
        let head = format!("{source}: {events} and {values} of {} {at}, {}", self.value, self.joint.window);
        joint_summary::text(&head, self.rows())
    }
}

impl MeasuredSummary {
    fn new(
        (fit, posterior): (&MeasuredReport, &MeasuredPosterior),
        (measurements, at_events): (&Measurements, bool),
        (events, window): (usize, &Window),
        warnings: Vec<String>,
    ) -> Self {
        let [low, median, high] = fit.slope.quantiles;
        let of_fit = fit.warnings.iter().map(|warning| with_places(warning, &fit.goodness, window));
        let warnings = warnings.into_iter().chain(of_fit).collect();
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
            noise: fit.noise,
            expected: fit.expected,
            mean_rate: fit.expected / window.measure(),
            goodness: fit.goodness.as_ref().map(GoodnessSummary::new),
            effects: EffectSummary::of_effects(posterior.rate().effects(), &[]),
            effects_on_value: EffectSummary::of_effects(posterior.effects(), &[]),
            joint: JointSummary::new(&fit.joint, events, window, warnings),
        }
    }

    /// What the slope means, in words.
    fn in_words(&self) -> String {
        let (value, SlopeSummary { low, median, high, .. }) = (&self.value, &self.slope);
        let doubled = |slope: &f64| signed(LN_2 * slope);
        let numbers =
            format!("{} [{}, {}] where the rate is twice as high", doubled(median), doubled(low), doubled(high));
        // The interval is what b is if there is a link: whether there is one, the evidence says.
        let is_linked = self.link > 0.0;
        let said = match (self.at_events, is_linked && *low > 0.0, is_linked && *high < 0.0) {
            (true, true, _) => format!("places are chosen where {value} is high"),
            (true, _, true) => format!("places are chosen where {value} is low"),
            (true, ..) => format!("no sign that places are chosen by {value}"),
            (false, true, _) => format!("{value} is higher where events are denser"),
            (false, _, true) => format!("{value} is lower where events are denser"),
            (false, ..) => format!("no sign that {value} has to do with the rate"),
        };
        format!("{said}: {numbers}; log evidence {:+.1} with the link", self.link)
    }

    /// What covariates do to the rate, and to the values.
    fn effects(&self) -> Vec<Row> {
        let said = |thing: &str, effect: &EffectSummary| match thing == self.value {
            false => effect.text_of("rate"),
            true => {
                let [low, _, high] = effect.quantiles.map(|value| signed(effect.per * value));
                format!("{} [{low}, {high}] {}", signed(effect.per * effect.effect), effect.beside())
            }
        };
        self.joint.effects(&[("rate", &self.effects), (&self.value, &self.effects_on_value)], said)
    }

    /// Its lines: what each is about, and what there is to say.
    pub fn rows(&self) -> Vec<Row> {
        let of_field = |field: &FieldSummary| match field.name.as_str() {
            "own" => ("own field".to_string(), self.joint.field(field, &self.value)),
            _ => ("rate's field".to_string(), self.joint.field(field, "the logarithm of the rate")),
        };
        let rate = format!("{} {} on average", brief(self.mean_rate), self.joint.unit);
        let noise = format!("sd {} ± {} of {}", three(self.noise.0), three(self.noise.1), self.value);
        let first = [("link".to_string(), self.in_words()), self.joint.together(), ("rate".into(), rate)];
        let fields = self.joint.fields.iter().map(of_field);
        let fit = self.goodness.as_ref().map(|goodness| ("fit".to_string(), goodness.text()));
        first
            .into_iter()
            .chain(self.effects())
            .chain(fields)
            .chain([("noise".into(), noise)])
            .chain(fit)
            .chain(self.joint.ending())
            .collect()
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
        let seen = (events.len(), events.window());
        let summary = MeasuredSummary::new((&fit.report, &fit.posterior), (measurements, at_events), seen, warnings);
        let said =
            MeasuredSummary { joint: JointSummary { seconds: None, ..summary.joint.clone() }, ..summary.clone() };
        let model = joint_summary::model_file(source, &said, fit.posterior.rate(), events);
        let model = ModelFile { measured: Some(fit.posterior.state().clone()), ..model };
        Self { model, summary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the interval says is said of a link; whether there is one, the evidence says.
    #[test]
    fn a_link_is_claimed_where_the_evidence_is_for_it() {
        let slope = SlopeSummary { low: 0.1, median: 0.2, high: 0.3, ..SlopeSummary::default() };
        let of = |link, slope| {
            let summary =
                MeasuredSummary { value: "x".into(), at_events: true, slope, link, ..MeasuredSummary::default() };
            summary.in_words()
        };
        assert!(of(1.5, slope.clone()).starts_with("places are chosen where x is high: +0.139 "));
        assert!(of(-1.5, slope).starts_with("no sign that places are chosen by x: +0.139 "));
        let falling = SlopeSummary { low: -0.3, median: -0.2, high: -0.1, ..SlopeSummary::default() };
        assert!(of(1.5, falling).starts_with("places are chosen where x is low: "));
    }
}
