//! Types of events: their fit, and which of them an answer is about.

use super::fit::{covariates, watched};
use super::meter::shown;
use super::sample::Sets;
use super::{Context, Failure, Outcome, input, jointly, measured, predict, spec};
use crate::args::FitArgs;
use crate::io::types::{FittedTypes, Of, TypesModel};
use crate::io::{self, Column, ModelFile, Setting, Spelling};
use crate::options::Mode;
use crate::spelling::Options;
use pointillist::measurements::MeasuredPosterior;
use pointillist::types::{ShareOfType, by_type};
use pointillist::{Error, Model, Points};

/// What an answer is about.
pub enum Chosen {
    /// One rate.
    One(ModelFile),
    /// A ratio of two, in place of a rate.
    Ratio(ModelFile),
    /// What was measured beside the events, in place of their rate.
    Values(ModelFile, Box<MeasuredPosterior>),
    /// All types.
    All(Box<TypesModel>),
}

impl Chosen {
    /// Of a model, and what was said of its types.
    pub fn new(path: &str, model: ModelFile, of: Option<&str>) -> Result<Self, Failure> {
        let Some(types) = TypesModel::of(&model) else {
            let Some(of) = of else { return Ok(Self::One(model)) };
            return match measured::asked(path, &model, of)? {
                Some(values) => Ok(Self::Values(model, Box::new(values))),
                None => Err(format!("--of {of}: {path} has no types; leave it out, or fit with --type COLUMN").into()),
            };
        };
        let types = types?;
        Ok(match of.map(|of| types.asked(of)).transpose()? {
            None => Self::All(Box::new(types)),
            Some(Of::Type(kind)) => Self::One(types.one(kind)?),
            Some(Of::Ratio(above, below)) => Self::Ratio(types.ratio(above, below)?),
        })
    }

    /// Reads a model.
    pub fn read(path: &str, of: Option<&str>) -> Result<Self, Failure> {
        Self::new(path, ModelFile::read_any(path)?, of)
    }

    /// The same with covariates held at values.
    pub fn read_with(path: &str, of: Option<&str>, set: &[String], context: &Context) -> Result<Self, Failure> {
        Self::new(path, held(ModelFile::read_any(path)?, set, context)?, of)
    }

    /// The model of one type, for who knows no more.
    pub fn one(self, path: &str) -> Result<ModelFile, Failure> {
        match self {
            Self::One(model) => Ok(model),
            Self::Ratio(model) => {
                Err(format!("{path}: of {} nothing is known but its values; ask `predict` or `plot`", model.source)
                    .into())
            }
            Self::Values(_, values) => {
                Err(format!("{path}: of {} its values are known, to `predict` and `plot`; leave --of out for the rate of the events", values.name())
                    .into())
            }
            Self::All(types) => Err(which(path, &types)),
        }
    }
}

/// A model with covariates held at values.
pub fn held(mut model: ModelFile, set: &[String], context: &Context) -> Result<ModelFile, Failure> {
    if !set.is_empty() {
        model.posterior = io::covariates::set(&model.posterior, set)?;
        io::covariates::beyond(&model.posterior).iter().for_each(|warning| context.warn(warning));
    }
    Ok(model)
}

/// What is missing.
pub fn which(path: &str, types: &TypesModel) -> Failure {
    let (names, of) = (types.types.names(), Options.setting(Setting::Of));
    format!("{path} has the types {}; say with {of} of which, as in {of} {}", names.join(", "), names[0]).into()
}

/// `fit --type COLUMN`.
pub fn fit(column: &str, args: &FitArgs, context: &Context) -> Result<Outcome, Failure> {
    let (path, bytes) = jointly::one_table(&format!("--type {column}"), "knows no types", args)?;
    let settings = io::EventSettings { type_column: Some(column.into()), ..args.options.events.settings() };
    let loaded = input::events_with(&path, &bytes, &settings)?;
    loaded.refuse_idle(context)?;
    context.refuse_idle(Mode::OnLattice("--type"))?;
    let (events, source, mut warnings) = (loaded.events, loaded.source, loaded.warnings);
    let Some(labels) = loaded.types else {
        return Err(format!("--type {column}: {path} has no such column").into());
    };
    let covariates = covariates(args, &bytes, &events, &mut warnings)?;
    let model = Model { covariates, ..spec::model(&args.options, events.window().axes(), context)? };
    let types = by_type(&events, &labels.kinds, &labels.names)?;
    let latent = args.latent.as_deref().map(io::types::latent).transpose()?;
    let found = watched(|watch| match latent {
        Some(latent) => model.fit_outputs_watched(&types, latent, watch),
        None => model.fit_types_watched(&types, watch),
    });
    let found = found.map_err(|error| refusal(error, column, args))?;
    let FittedTypes { model, summary } = FittedTypes::new(found, &events, labels, source, warnings);
    jointly::tell(model, &summary, args, context)
}

/// A refusal of the library in words of the command: what it says of types is a sentence.
fn refusal(error: Error, column: &str, args: &FitArgs) -> Failure {
    match error {
        Error::Setting { name, value, requirement } if name == "type" => {
            format!("--type {column}: {value} {requirement}").into()
        }
        Error::Setting { name, value, requirement } if name == "latent" => {
            format!("--latent {value}: {value} {requirement}").into()
        }
        other => spec::fault(other, &args.options),
    }
}

/// The probabilities of types at points, `rows` after `rows` of each type that is asked for.
pub fn shares(types: &TypesModel, kinds: &[usize], points: &Points, quantiles: &[f64]) -> Result<Vec<Column>, Failure> {
    let all = shown("probabilities of types", |watch| types.types.shares_watched(points, quantiles, watch))?;
    let own: Vec<&ShareOfType> = kinds.iter().map(|kind| &all[*kind]).collect();
    let joined = |of: &dyn Fn(&ShareOfType) -> Vec<f64>| own.iter().flat_map(|share| of(share)).collect();
    let mut columns = vec![
        Column::Numbers("share_mean".into(), joined(&|share| share.mean.clone())),
        Column::Numbers("share_sd".into(), joined(&|share| share.sd.clone())),
    ];
    columns.extend(
        quantiles
            .iter()
            .enumerate()
            .map(|(k, p)| Column::Numbers(format!("share_q{p}"), joined(&|share| share.quantiles[k].clone()))),
    );
    Ok(columns)
}

/// Sets of events of all types, with a column that names the type of each. `limit` refuses too many.
pub fn event_sets(
    types: &TypesModel,
    draws: usize,
    limit: impl Fn(usize) -> Result<(), Failure>,
    context: &Context,
) -> Result<Vec<Column>, Failure> {
    let (names, window) = (types.types.names(), types.model.posterior.window());
    let mut expected = 0.0;
    for kind in 0..names.len() {
        expected += types.types.of(kind)?.expected(window)?;
    }
    limit((expected.max(1.0) * draws as f64) as usize)?;
    let Sets { numbers, coordinates, marks } = Sets::of(draws, |draw| types.types.sample_events(context.seed(), draw))?;
    let labels = marks.into_iter().map(|kind| names[kind].clone()).collect();
    let points = Points::new(window.dims(), coordinates)?;
    let own = vec![Column::Whole("draw".into(), numbers), Column::Texts("type".into(), labels)];
    let mut columns = predict::apart_as("set_", own, window, context);
    columns.extend(predict::coordinates(&points, window));
    Ok(columns)
}

/// Tables of the same columns, one below the other, after a column that names the type of each row.
pub fn stacked(names: &[&str], tables: Vec<Vec<Column>>) -> Vec<Column> {
    let rows: Vec<usize> = tables.iter().map(|table| table.first().map_or(0, Column::len)).collect();
    let labels = names.iter().zip(&rows).flat_map(|(name, count)| std::iter::repeat_n((*name).to_string(), *count));
    let mut tables = tables.into_iter();
    let mut all = tables.next().unwrap_or_default();
    for table in tables {
        all.iter_mut().zip(table).for_each(|(column, more)| column.extend(more));
    }
    std::iter::once(Column::Texts("type".into(), labels.collect())).chain(all).collect()
}
