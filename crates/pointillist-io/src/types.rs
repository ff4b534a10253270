//! Models of several types of events: what is asked of which type, and what a fit of them has to say.

use super::TypeLabels;
use super::fit_summary::{brief, rate_unit};
use super::message::{Message, Setting};
use super::model_file::{KeptEvents, KeptTypes, MOST_EVENTS, ModelFile};
use super::spec::plural;
use super::window::show_window;
use crate::message;
use pointillist::types::{FieldReport, Latent, Loading, TypesFit, TypesPosterior, TypesReport};
use pointillist::{Error, Events, Points, Posterior, Window};
use serde::{Deserialize, Serialize};

/// Between the two types of a ratio.
const OVER: char = '/';

/// What is asked of a model of several types.
#[derive(Clone, Debug, PartialEq)]
pub enum Of {
    /// The rate of this type.
    Type(usize),
    /// The rate of the first over that of the second.
    Ratio(usize, usize),
}

/// A model of several types.
#[derive(Clone, Debug)]
pub struct TypesModel {
    /// The model, as it is in its file.
    pub model: ModelFile,
    /// Its types.
    pub types: TypesPosterior,
    counts: Vec<usize>,
    kinds: Vec<usize>,
}

impl TypesModel {
    /// Of a model that has types.
    pub fn of(model: &ModelFile) -> Option<Result<Self, Error>> {
        let KeptTypes { names, counts, kinds } = model.types.clone()?;
        let types = TypesPosterior::new(names, model.posterior.clone());
        Some(types.map(|types| Self { model: model.clone(), types, counts, kinds }))
    }

    /// Which type, or ratio of two, is meant by `cases` or `cases/controls`.
    pub fn asked(&self, text: &str) -> Result<Of, Message> {
        let names = self.types.names();
        let find = |name: &str| names.iter().position(|own| own == name.trim());
        let ratios = text.match_indices(OVER).filter_map(|(at, _)| Some((find(&text[..at])?, find(&text[at + 1..])?)));
        match (find(text), &ratios.collect::<Vec<_>>()[..]) {
            (Some(kind), []) => Ok(Of::Type(kind)),
            (None, [(above, below)]) if above != below => Ok(Of::Ratio(*above, *below)),
            (Some(_), _) => Err(message![
                Setting::Of.given(text),
                " is a type, and a ratio of two; name the types otherwise in the table, and fit again"
            ]),
            _ => {
                let (all, [one, other]) = (names.join(", "), [&names[0], &names[1]]);
                Err(message![
                    Setting::Of.given(text),
                    ": the types are {all}; give one of them, or two for a ratio, as in {one}{OVER}{other}"
                ])
            }
        }
    }

    /// The model of one type alone, with its own events.
    pub fn one(&self, kind: usize) -> Result<ModelFile, Error> {
        let name = &self.types.names()[kind];
        let events = self.model.events.as_ref().map(|all| {
            let rows = all.points.rows().zip(&self.kinds).filter(|(_, own)| **own == kind);
            let rows: Vec<f64> = rows.flat_map(|(row, _)| row.to_vec()).collect();
            Points::new(all.points.dims(), rows).map(|points| KeptEvents { points, trials: None })
        });
        Ok(ModelFile {
            source: format!("{name} of {}", self.model.source),
            posterior: self.types.of(kind)?,
            event_count: self.counts[kind],
            events: events.transpose()?,
            types: None,
            ..self.model.clone()
        })
    }

    /// The model of a ratio, which has no events; what it calls a rate is the ratio.
    pub fn ratio(&self, above: usize, below: usize) -> Result<ModelFile, Error> {
        let names = self.types.names();
        Ok(ModelFile {
            source: format!("{} over {}", names[above], names[below]),
            posterior: self.types.ratio(above, below)?,
            event_count: self.counts[above],
            events: None,
            types: None,
            ..self.model.clone()
        })
    }
}

/// How many latent fields are meant by `2` or `auto`.
pub fn latent(text: &str) -> Result<Latent, Message> {
    match (text.trim(), text.trim().parse()) {
        ("auto", _) => Ok(Latent::Auto),
        (_, Ok(count)) => Ok(Latent::Fields(count)),
        _ => Err(message![Setting::Latent.given(text), " is not understood; give a number of fields, or auto"]),
    }
}

/// The JSON of a fit of several types; scripts rely on the names.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TypesSummary {
    /// The types.
    pub types: Vec<TypeSummary>,
    /// Ways in which they may belong together.
    pub families: Vec<FamilySummary>,
    /// What is known of the fields.
    pub fields: Vec<FieldSummary>,
    /// The loads of latent fields, if types are outputs of those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loadings: Vec<LoadingSummary>,
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
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// One type.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TypeSummary {
    /// Its name.
    pub name: String,
    /// How many events there are of it.
    pub events: usize,
    /// The expected number over the window.
    pub expected: f64,
    /// The mean rate.
    pub mean_rate: f64,
}

/// A way in which types may belong together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FamilySummary {
    /// `shared and own`, `shared alone` or `own alone`.
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

/// The load of a type on a latent field.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadingSummary {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The field, from 1.
    pub field: usize,
    /// The most probable value.
    pub value: f64,
    /// The ends of the 90 % interval, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// A kind of field: posterior means and standard deviations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldSummary {
    /// `shared` or `own`.
    pub name: String,
    /// The range along each axis.
    pub ranges: Vec<(f64, f64)>,
    /// Its standard deviation, of the logarithm of a rate.
    pub sd: (f64, f64),
}

impl TypesSummary {
    fn new(fit: &TypesReport, names: &[String], counts: &[usize], window: &Window, warnings: Vec<String>) -> Self {
        let measure = window.measure();
        let one = |(k, name): (usize, &String)| TypeSummary {
            name: name.clone(),
            events: counts[k],
            expected: fit.expected[k],
            mean_rate: fit.expected[k] / measure,
        };
        let family = |(tried, weight): (&pointillist::report::Tried, &f64)| FamilySummary {
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
        let loading = |Loading { kind, field, value, interval, .. }: &Loading| LoadingSummary {
            kind: names[*kind].clone(),
            field: field + 1,
            value: *value,
            interval: *interval,
        };
        let axes = window.axes();
        let range_unit = axes[0].unit.clone().filter(|unit| axes.iter().all(|axis| axis.unit.as_ref() == Some(unit)));
        Self {
            types: names.iter().enumerate().map(one).collect(),
            families: fit.tried.iter().zip(&fit.weights).map(family).collect(),
            fields: fit.fields.iter().map(field).collect(),
            loadings: fit.loadings.iter().map(loading).collect(),
            events: counts.iter().sum(),
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
            warnings: warnings.into_iter().chain(fit.warnings.clone()).collect(),
        }
    }

    /// For people.
    pub fn text(&self, source: &str) -> String {
        let head = format!(
            "{source}: {} of {} types, {}\n",
            plural(self.events, "event", "events"),
            self.types.len(),
            self.window
        );
        let width = self.types.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).max(12);
        let line = |(name, text): (String, String)| format!("  {name:<width$} {text}\n");
        head + &self.rows().into_iter().map(line).collect::<String>()
    }

    /// Its lines: what each is about, and what there is to say.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut lines = vec![];
        let mut line = |name: &str, text: String| lines.push((name.to_string(), text));
        for one in &self.types {
            let (rate, unit) = (brief(one.mean_rate), &self.unit);
            line(&one.name, format!("{}, {rate} {unit} on average", plural(one.events, "event", "events")));
        }
        let families = self.families.iter().map(|family| {
            let evidence = family.log_evidence.map_or("not found".into(), |evidence| format!("{evidence:.4}"));
            format!("{} {:.0} % (log evidence {evidence})", family.name, 100.0 * family.weight)
        });
        line("together", families.collect::<Vec<_>>().join(", "));
        for field in &self.fields {
            let unit = self.range_unit.as_deref().map_or(String::new(), |unit| format!(" {unit}"));
            let mut ranges: Vec<String> =
                field.ranges.iter().map(|(mean, sd)| format!("{} ± {}{unit}", three(*mean), three(*sd))).collect();
            ranges.dedup();
            let (mean, sd) = field.sd;
            let ranges = ranges.join(" by ");
            match self.loadings.is_empty() {
                true => line(
                    &format!("{} field", field.name),
                    format!("sd {} ± {} of the logarithm of a rate, range {ranges}", three(mean), three(sd)),
                ),
                false => line(&field.name, format!("{}; range {ranges}", self.loads_of(&field.name))),
            }
        }
        let nodes = self.nodes.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
        let (smoothness, components) = (self.smoothness, self.components);
        line("model", format!("an average of {components}: log link, smoothness {smoothness}, {nodes} nodes"));
        let seconds = self.seconds.map_or(String::new(), |seconds| match seconds {
            few if few < 1.0 => format!(", {:.0} ms", 1000.0 * few),
            many => format!(", {many:.1} s"),
        });
        let stop = if self.converged { "converged" } else { "NOT CONVERGED" };
        line("stop", format!("{stop}; {} evaluations{seconds}", self.evaluations));
        lines
    }

    /// The loads on a latent field, each with its interval.
    fn loads_of(&self, field: &str) -> String {
        let own = self.loadings.iter().filter(|load| format!("field {}", load.field) == field);
        let told = own.map(|load| {
            let interval = load.interval.map_or(String::new(), |(low, high)| format!(" ({low:.2} to {high:.2})"));
            format!("{} {:.2}{interval}", load.kind, load.value)
        });
        told.collect::<Vec<_>>().join(", ")
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

/// A model of types just fitted, and what there is to say.
#[derive(Clone, Debug)]
pub struct FittedTypes {
    /// As it goes into a file.
    pub model: ModelFile,
    /// What it has to say.
    pub summary: TypesSummary,
}

impl FittedTypes {
    /// What is to be kept and said of a fit of these events.
    pub fn new(fit: TypesFit, events: &Events, labels: TypeLabels, source: String, warnings: Vec<String>) -> Self {
        let TypeLabels { names, kinds } = labels;
        let counts: Vec<usize> =
            (0..names.len()).map(|kind| kinds.iter().filter(|own| **own == kind).count()).collect();
        let summary = TypesSummary::new(&fit.report, &names, &counts, events.window(), warnings);
        let is_kept = events.len() <= MOST_EVENTS;
        let kept = is_kept.then(|| KeptEvents { points: events.points().clone(), trials: None });
        let kinds = if is_kept { kinds } else { vec![] };
        // A file must not depend on how long a fit took.
        let said = TypesSummary { seconds: None, ..summary.clone() };
        let posterior: Posterior = fit.posterior.joint().clone();
        let model = ModelFile {
            source,
            summary: serde_json::to_value(said).unwrap_or_default(),
            posterior,
            event_count: events.len(),
            events: kept,
            cells: None,
            types: Some(KeptTypes { names, counts, kinds }),
            measured: None,
            reference: Default::default(),
            command: None,
        };
        Self { model, summary }
    }
}
