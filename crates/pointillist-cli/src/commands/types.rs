//! Types of events: their fit, and which of them an answer is about.

use super::fit::{say, watched, write};
use super::meter::shown;
use super::{Context, Failure, Outcome, input, json_line, predict, spec};
use crate::args::FitArgs;
use crate::io::types::{FittedTypes, Of, TypesModel, TypesSummary};
use crate::io::{self, Column, ModelFile, Setting, Spelling};
use crate::options::Mode;
use crate::spelling::Options;
use pointillist::types::{ShareOfType, by_type};
use pointillist::{Error, Points};
use serde::Deserialize;

/// What an answer is about.
pub enum Chosen {
    /// One rate.
    One(ModelFile),
    /// A ratio of two, in place of a rate.
    Ratio(ModelFile),
    /// All types.
    All(Box<TypesModel>),
}

impl Chosen {
    /// Of a model, and what was said of its types.
    pub fn new(path: &str, model: ModelFile, of: Option<&str>) -> Result<Self, Failure> {
        let Some(types) = TypesModel::of(&model) else {
            return match of {
                Some(of) => {
                    Err(format!("--of {of}: {path} has no types; leave it out, or fit with --type COLUMN").into())
                }
                None => Ok(Self::One(model)),
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

    /// The model of one type, for who knows no more.
    pub fn one(self, path: &str) -> Result<ModelFile, Failure> {
        match self {
            Self::One(ModelFile { measured: Some(measured), .. }) => {
                Err(io::ModelFileError::Measured { file: path.into(), name: measured.name }.into())
            }
            Self::One(model) => Ok(model),
            Self::Ratio(model) => {
                Err(format!("{path}: of {} nothing is known but its values; ask `predict` or `plot`", model.source)
                    .into())
            }
            Self::All(types) => Err(which(path, &types)),
        }
    }
}

/// What is missing.
pub fn which(path: &str, types: &TypesModel) -> Failure {
    let (names, of) = (types.types.names(), Options.setting(Setting::Of));
    format!("{path} has the types {}; say with {of} of which, as in {of} {}", names.join(", "), names[0]).into()
}

/// `fit --type COLUMN`.
pub fn fit(column: &str, args: &FitArgs, context: &Context) -> Result<Outcome, Failure> {
    let [path] = &args.events[..] else {
        return Err(format!("--type {column} needs one table of events; join the tables").into());
    };
    let opened = input::open(path)?;
    if opened.is_summary() {
        return Err(
            format!("--type {column}: {path} is a summary, which knows no types; give the table of events").into()
        );
    }
    let settings = io::EventSettings { type_column: Some(column.into()), ..args.options.events.settings() };
    let loaded = input::events_with(path, &opened.table()?, &settings)?;
    loaded.refuse_idle(context)?;
    context.refuse_idle(Mode::OnLattice("--type"))?;
    let (events, source, warnings) = (loaded.events, loaded.source, loaded.warnings);
    let Some(labels) = loaded.types else {
        return Err(format!("--type {column}: {path} has no such column").into());
    };
    let model = spec::model(&args.options, events.window().axes(), context)?;
    let types = by_type(&events, &labels.kinds, &labels.names)?;
    let latent = args.latent.as_deref().map(io::types::latent).transpose()?;
    let found = watched(|watch| match latent {
        Some(latent) => model.fit_outputs_watched(&types, latent, watch),
        None => model.fit_types_watched(&types, watch),
    });
    let found = found.map_err(|error| refusal(error, column, args))?;
    let mut fitted = FittedTypes::new(found, &events, labels, source, warnings);
    fitted.model.command = Some(context.typed.command().into());
    fitted.summary.warnings.iter().for_each(|warning| context.warn(warning));
    json_line(&fitted.summary)?;
    if let Some(path) = &args.output {
        write(&fitted.model, path)?;
    }
    say(args, context, || match context.json() {
        true => json_line(&fitted.summary),
        false => Ok(fitted.summary.text(&fitted.model.source)),
    })?;
    Ok(if fitted.summary.converged { Outcome::Done } else { Outcome::NotConverged })
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

/// What a fit of types said, from its file.
pub fn show(path: &str, model: &ModelFile, context: &Context) -> Result<Outcome, Failure> {
    let summary = TypesSummary::deserialize(&model.summary)
        .map_err(|error| format!("{path}: its summary makes no sense ({error}); fit again"))?;
    summary.warnings.iter().for_each(|warning| context.warn(warning));
    let text = if context.json() { json_line(&summary)? } else { summary.text(&model.source) };
    io::stdout_text(&text)?;
    Ok(Outcome::Done)
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
    let (mut numbers, mut labels, mut coordinates) = (vec![], vec![], vec![]);
    shown("sets of events", |watch| {
        for draw in 0..draws as u64 {
            let (points, kinds) = types.types.sample_events(context.seed(), draw)?;
            numbers.extend(std::iter::repeat_n(draw + 1, points.len()));
            labels.extend(kinds.iter().map(|kind| names[*kind].clone()));
            coordinates.extend_from_slice(points.coordinates());
            if watch((draw + 1) as f64 / draws as f64).is_break() {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    })?;
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
