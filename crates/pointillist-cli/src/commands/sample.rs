//! `sample`: intensities, or whole sets of events, drawn from the posterior.

use super::meter::shown;
use super::types::Chosen;
use super::{Context, Failure, Outcome, figure, measured, predict, types};
use crate::args::SampleArgs;
use crate::io::{self, Column};
use crate::options::Mode;
use pointillist::{Error, Points, Posterior};

/// Most points of a draw, which is made at all of them at once.
const MOST_POINTS: usize = 200_000;
/// Most numbers in an answer.
const MOST_VALUES: usize = 50_000_000;

/// Does what was asked for.
pub fn run(args: &SampleArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.draws == 0 {
        return Err("--draws 0 asks for nothing; take at least 1".to_string().into());
    }
    limit(args.draws)?;
    if args.events {
        context.refuse_idle(Mode::EventsDrawn)?;
    } else if args.place.places.at.is_none() {
        context.refuse_idle(Mode::NoFileOfPoints)?;
    }
    context.check_table(args.output.as_deref())?;
    let chosen = Chosen::read_with(&args.model, args.of.as_deref(), &args.set, context)?;
    if let (Chosen::All(types), true) = (&chosen, args.events) {
        let columns = types::event_sets(types, args.draws, limit, context)?;
        context.emit_columns(args.output.as_deref(), &columns)?;
        return Ok(Outcome::Done);
    }
    let model = chosen.one(&args.model)?;
    if let (Some(values), true) = (io::measured::measured(&model).transpose()?, args.events) {
        let columns = measured::event_sets(&values, args.draws, limit, context)?;
        context.emit_columns(args.output.as_deref(), &columns)?;
        return Ok(Outcome::Done);
    }
    let posterior = model.posterior;
    let columns = if args.events {
        event_sets(&posterior, args.draws, context)?
    } else {
        let points = predict::place(
            &args.place.places,
            args.place.columns.as_deref(),
            (posterior.window(), figure::points_needed(&posterior)),
            MOST_POINTS,
            context,
        )?;
        intensities(&posterior, &points, args.draws, context)?
    };
    context.emit_columns(args.output.as_deref(), &columns)?;
    Ok(Outcome::Done)
}

fn intensities(
    posterior: &Posterior,
    points: &Points,
    draws: usize,
    context: &Context,
) -> Result<Vec<Column>, Failure> {
    limit(points.len().saturating_mul(draws))?;
    let mut columns = predict::coordinates(points, posterior.window());
    let draws =
        shown("draws of the intensity", |watch| posterior.sample_watched(points, draws, context.seed(), watch))?;
    let named = |(k, values)| Column::Numbers(format!("draw{}", k + 1), values);
    let draws =
        draws.into_iter().enumerate().map(named).chain(predict::inside(points, &[posterior.window()])).collect();
    columns.extend(predict::apart(draws, posterior.window(), context));
    Ok(columns)
}

fn event_sets(posterior: &Posterior, draws: usize, context: &Context) -> Result<Vec<Column>, Failure> {
    let expected = posterior.expected(posterior.window())?;
    // A draw without events takes its time too.
    limit((expected.max(1.0) * draws as f64) as usize)?;
    let Sets { numbers, coordinates, .. } =
        Sets::of(draws, |draw| posterior.sample_events(context.seed(), draw).map(|points| (points, Vec::<()>::new())))?;
    let points = Points::new(posterior.window().dims(), coordinates)?;
    let mut columns =
        predict::apart_as("set_", vec![Column::Whole("draw".into(), numbers)], posterior.window(), context);
    columns.extend(predict::coordinates(&points, posterior.window()));
    Ok(columns)
}

/// Sets of events one after the other: the number of the draw of each event from 1, where it is, and what else is drawn of it.
pub struct Sets<T> {
    pub numbers: Vec<u64>,
    pub coordinates: Vec<f64>,
    pub marks: Vec<T>,
}

impl<T> Sets<T> {
    /// So many draws, each with a mark for each event, or without any.
    pub fn of(draws: usize, draw: impl Fn(u64) -> Result<(Points, Vec<T>), Error>) -> Result<Self, Failure> {
        let mut sets = Self { numbers: vec![], coordinates: vec![], marks: vec![] };
        shown("sets of events", |watch| {
            for number in 0..draws as u64 {
                let (points, marks) = draw(number)?;
                sets.numbers.extend(std::iter::repeat_n(number + 1, points.len()));
                sets.marks.extend(marks);
                sets.coordinates.extend_from_slice(points.coordinates());
                if watch((number + 1) as f64 / draws as f64).is_break() {
                    return Err(Error::Cancelled);
                }
            }
            Ok(())
        })?;
        Ok(sets)
    }
}

fn limit(values: usize) -> Result<(), Failure> {
    if values <= MOST_VALUES {
        return Ok(());
    }
    Err(format!("--draws asks for about {values} numbers; ask for at most {MOST_VALUES} at a time").into())
}
