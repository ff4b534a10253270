//! Models of several types of events: what is asked of which type, and what a fit of them has to say.

use super::TypeLabels;
use super::fit_summary::{EffectSummary, GoodnessSummary, brief, with_places};
use super::joint_summary::{self, FieldSummary, JointSummary, Row, SaysJointly};
use super::message::{Message, Setting};
use super::model_file::{KeptEvents, KeptTypes, ModelFile};
use super::spec::plural;
use crate::message;
use pointillist::types::{Latent, Loading, TypesFit, TypesPosterior, TypesReport};
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
    /// The loads of latent fields, if types are outputs of those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loadings: Vec<LoadingSummary>,
    /// How they belong together, and how the fit went.
    #[serde(flatten)]
    pub joint: JointSummary,
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
    /// Whether its events look like events of its rate, if that could be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodness: Option<GoodnessSummary>,
    /// The effects of covariates on it, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectSummary>,
    /// … and of a further type how they differ from those on the first one: on the rate of the first over its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects_on_ratio: Vec<EffectSummary>,
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
    /// Its median; its most probable value, where there is no interval.
    pub value: f64,
    /// The ends of the 90 % interval, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl SaysJointly for TypesSummary {
    fn joint(&self) -> &JointSummary {
        &self.joint
    }

    fn text(&self, source: &str) -> String {
        let (count, events) = (self.types.len(), plural(self.joint.events, "event", "events"));
        joint_summary::text(&format!("{source}: {events} of {count} types, {}", self.joint.window), self.rows())
    }
}

impl TypesSummary {
    fn new(
        (fit, posterior): (&TypesReport, &TypesPosterior),
        counts: &[usize],
        window: &Window,
        warnings: Vec<String>,
    ) -> Self {
        let (measure, names) = (window.measure(), posterior.names());
        let effects =
            |view: Result<Posterior, Error>| EffectSummary::of_effects(view.map_or(vec![], |view| view.effects()), &[]);
        let one = |(k, name): (usize, &String)| TypeSummary {
            name: name.clone(),
            events: counts[k],
            expected: fit.expected[k],
            mean_rate: fit.expected[k] / measure,
            goodness: fit.goodness.get(k).and_then(|found| found.as_ref().map(GoodnessSummary::new)),
            effects: effects(posterior.of(k)),
            effects_on_ratio: if k > 0 { effects(posterior.ratio(0, k)) } else { vec![] },
        };
        let loading = |Loading { kind, field, value, interval, .. }: &Loading| LoadingSummary {
            kind: names[*kind].clone(),
            field: field + 1,
            value: *value,
            interval: *interval,
        };
        let of_fit = fit.warnings.iter().map(|warning| with_places(warning, fit.goodness.iter().flatten(), window));
        let warnings = warnings.into_iter().chain(of_fit).collect();
        Self {
            types: names.iter().enumerate().map(one).collect(),
            loadings: fit.loadings.iter().map(loading).collect(),
            joint: JointSummary::new(&fit.joint, counts.iter().sum(), window, warnings),
        }
    }

    /// Its lines: what each is about, and what there is to say.
    pub fn rows(&self) -> Vec<Row> {
        let of_type = |one: &TypeSummary| {
            let (rate, unit) = (brief(one.mean_rate), &self.joint.unit);
            (one.name.clone(), format!("{}, {rate} {unit} on average", plural(one.events, "event", "events")))
        };
        let of_field = |field: &FieldSummary| match self.loadings.is_empty() {
            true => (format!("{} field", field.name), self.joint.field(field, "the logarithm of a rate")),
            false => (field.name.clone(), format!("{}; {}", self.loads_of(&field.name), self.joint.ranges_of(field))),
        };
        let types = self.types.iter().map(of_type).chain(self.effects()).chain([self.joint.together()]);
        let fit = |one: &TypeSummary| Some((format!("fit, {}", one.name), one.goodness.as_ref()?.text()));
        let fits = self.types.iter().filter_map(fit);
        types.chain(self.joint.fields.iter().map(of_field)).chain(fits).chain(self.joint.ending()).collect()
    }

    /// What covariates do to each type, and to the ratio of two.
    fn effects(&self) -> Vec<Row> {
        let mut things: Vec<(&str, &[EffectSummary])> =
            self.types.iter().map(|one| (one.name.as_str(), &one.effects[..])).collect();
        let ratio = match &self.types[..] {
            [first, second] => format!("{}{OVER}{}", first.name, second.name),
            _ => String::new(),
        };
        if let [_, second] = &self.types[..] {
            things.push((&ratio, &second.effects_on_ratio));
        }
        let said = |thing: &str, effect: &EffectSummary| effect.text_of(if thing == ratio { "ratio" } else { "rate" });
        self.joint.effects(&things, said)
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
        let summary = TypesSummary::new((&fit.report, &fit.posterior), &counts, events.window(), warnings);
        let said = TypesSummary { joint: JointSummary { seconds: None, ..summary.joint.clone() }, ..summary.clone() };
        let model = joint_summary::model_file(source, &said, fit.posterior.joint(), events);
        let kinds = if model.events.is_some() { kinds } else { vec![] };
        let model = ModelFile { types: Some(KeptTypes { names, counts, kinds }), ..model };
        Self { model, summary }
    }
}
