//! What fits of several fields on one lattice say alike, of types (types.rs) or of events and measurements (measured.rs): how things may belong together,
//! what is known of the fields, and how the fit went.

use super::fit_summary::{EffectSummary, rate_unit};
use super::message::Message;
use super::model_file::{KeptEvents, MOST_EVENTS, ModelFile, Reference};
use super::window::show_window;
use crate::message;
use pointillist::report::Tried;
use pointillist::types::{FieldReport, JointReport};
use pointillist::{Events, Posterior, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A line: what it is about, and what there is to say.
pub type Row = (String, String);

/// The part of the JSON that such fits share; scripts rely on the names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JointSummary {
    /// Ways in which things may belong together.
    pub families: Vec<FamilySummary>,
    /// What is known of the fields.
    pub fields: Vec<FieldSummary>,
    /// Events of all types.
    pub events: usize,
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
    /// What each covariate adds to the log evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log_evidence_gains: Vec<(String, f64)>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// A way in which things may belong together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FamilySummary {
    /// As in `shared and own`, or `linked`.
    pub name: String,
    /// About its log evidence, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_evidence: Option<f64>,
    /// … or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Its probability.
    pub weight: f64,
}

/// A kind of field: posterior means and standard deviations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldSummary {
    /// `shared` or `own`, `field 1`, or `rate`.
    pub name: String,
    /// The range along each axis.
    pub ranges: Vec<(f64, f64)>,
    /// Its standard deviation, of the logarithm of a rate or of what was measured.
    pub sd: (f64, f64),
}

/// The JSON of such a fit.
pub trait SaysJointly: Serialize + DeserializeOwned {
    /// Its common part.
    fn joint(&self) -> &JointSummary;

    /// All of it for people, below the name of where the events came from.
    fn text(&self, source: &str) -> String;

    /// From a model file, which is called so.
    fn of_model(name: &str, model: &ModelFile) -> Result<Self, Message> {
        let summary = Self::deserialize(&model.summary);
        summary.map_err(|error| message!["{name}: its summary makes no sense ({error}); fit again"])
    }
}

impl JointSummary {
    /// Of a fit of so many events in a window.
    pub fn new(fit: &JointReport, events: usize, window: &Window, warnings: Vec<String>) -> Self {
        let family = |(tried, weight): (&Tried, &f64)| FamilySummary {
            name: tried.name.clone(),
            log_evidence: tried.outcome.as_ref().ok().copied(),
            failed: tried.outcome.as_ref().err().cloned(),
            weight: *weight,
        };
        let field = |FieldReport { name, ranges, sd }: &FieldReport| FieldSummary {
            name: name.clone(),
            ranges: ranges.clone(),
            sd: *sd,
        };
        let axes = window.axes();
        let range_unit = axes[0].unit.clone().filter(|unit| axes.iter().all(|axis| axis.unit.as_ref() == Some(unit)));
        Self {
            families: fit.tried.iter().zip(&fit.weights).map(family).collect(),
            fields: fit.fields.iter().map(field).collect(),
            events,
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
            log_evidence_gains: fit.gains.clone(),
            warnings,
        }
    }

    /// The lines of effects of covariates on several things, those of one covariate together: each thing with its effects, in words.
    pub(super) fn effects(
        &self,
        things: &[(&str, &[EffectSummary])],
        said: impl Fn(&str, &EffectSummary) -> String,
    ) -> Vec<Row> {
        let mut rows = vec![];
        for (i, effect) in things.first().map_or(&[][..], |(_, effects)| effects).iter().enumerate() {
            let own = |(thing, effects): &(&str, &[EffectSummary])| {
                let effect = effects.get(i)?;
                Some((format!("{}, {thing}", effect.title()), said(thing, effect)))
            };
            rows.extend(things.iter().filter_map(own));
            let is_last = things[0].1.get(i + 1).is_none_or(|next| next.name != effect.name);
            let gain = self.log_evidence_gains.iter().find(|(name, _)| is_last && *name == effect.name);
            rows.extend(gain.map(|(name, gain)| (name.clone(), format!("log evidence {gain:+.1} with it"))));
        }
        rows
    }

    /// How probable each way is.
    pub(super) fn together(&self) -> Row {
        let families = self.families.iter().map(|family| {
            let evidence = family.log_evidence.map_or("not found".into(), |evidence| format!("{evidence:.4}"));
            format!("{} {:.0} % (log evidence {evidence})", family.name, 100.0 * family.weight)
        });
        ("together".into(), families.collect::<Vec<_>>().join(", "))
    }

    /// The ranges of a field, as in `range 3 ± 1 by 4 ± 2`.
    pub(super) fn ranges_of(&self, field: &FieldSummary) -> String {
        let unit = self.range_unit.as_deref().map_or(String::new(), |unit| format!(" {unit}"));
        let mut ranges: Vec<String> =
            field.ranges.iter().map(|(mean, sd)| format!("{} ± {}{unit}", three(*mean), three(*sd))).collect();
        ranges.dedup();
        format!("range {}", ranges.join(" by "))
    }

    /// The standard deviation and the ranges of a field of this.
    pub(super) fn field(&self, field: &FieldSummary, of: &str) -> String {
        let (mean, sd) = field.sd;
        format!("sd {} ± {} of {of}, {}", three(mean), three(sd), self.ranges_of(field))
    }

    /// The last lines: the model, and how the fit ended.
    pub(super) fn ending(&self) -> [Row; 2] {
        let nodes = self.nodes.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
        let (smoothness, components) = (self.smoothness, self.components);
        let seconds = self.seconds.map_or(String::new(), |seconds| match seconds {
            few if few < 1.0 => format!(", {:.0} ms", 1000.0 * few),
            many => format!(", {many:.1} s"),
        });
        let stop = if self.converged { "converged" } else { "NOT CONVERGED" };
        [
            ("model".into(), format!("an average of {components}: log link, smoothness {smoothness}, {nodes} nodes")),
            ("stop".into(), format!("{stop}; {} evaluations{seconds}", self.evaluations)),
        ]
    }
}

/// Lines below a first one.
pub(super) fn text(head: &str, rows: Vec<Row>) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(12);
    let line = |(name, text): Row| format!("  {name:<width$} {text}\n");
    format!("{head}\n{}", rows.into_iter().map(line).collect::<String>())
}

/// The model file of such a fit, without what it is several of; what it says of itself is without its duration, on which a file must not depend.
pub(super) fn model_file<S: Serialize>(source: String, said: &S, posterior: &Posterior, events: &Events) -> ModelFile {
    let is_kept = events.len() <= MOST_EVENTS;
    ModelFile {
        source,
        summary: serde_json::to_value(said).unwrap_or_default(),
        posterior: posterior.clone(),
        event_count: events.len(),
        events: is_kept.then(|| KeptEvents { points: events.points().clone(), trials: None }),
        cells: None,
        types: None,
        measured: None,
        reference: Reference::of(posterior.window().axes()),
        command: None,
    }
}

/// Three digits.
pub(super) fn three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    format!("{value:.digits$}")
}
