//! `simulate`: events from an intensity that is a formula, that of a model, or drawn itself.

use super::meter::{self, shown};
use super::summary::brief;
use super::types::{self, Chosen, held};
use super::{Context, Failure, Outcome, measured, predict, spec};
use crate::args::{Places, SimulateArgs};
use crate::io::observed::{self, Looks};
use crate::io::{self, Column, ModelFile, On, Setting, TimeUnit, Written};
use crate::options::Mode;
use crate::spelling::spelled;
use pointillist::{Axis, Error, Intensity, Points, Simulation, Window};
use pointillist_rivals::sgcp;
use std::path::Path;

/// Most numbers in an answer.
const MOST_VALUES: f64 = 50_000_000.0;
/// Most points of the grid of --truth: the intensity is computed at all of them at once.
const MOST_POINTS: usize = 200_000;
/// The names of the axes unless --columns gives others.
const NAMES: [&str; 3] = ["x", "y", "t"];
/// The column that tells the draws apart.
const DRAW: &str = "draw";
/// The column of the intensity in the file of --truth.
const RATE: &str = "rate";
/// What is said while the intensity is looked at, before events are drawn from it.
const LOOKING: &str = "looking at the intensity";
/// What to say if no intensity is given.
const NOTHING: &str = "there is nothing to draw from; give --intensity with a formula, as in \
    --intensity '5*sin(x^2) + 6' --window 0,5, --sgcp with parameters, or --model with a model file";

/// What the events are drawn from.
enum Source<'a> {
    /// A formula on a window.
    Formula(&'a str),
    /// An intensity from the posterior of a model, another one each draw.
    Posterior(&'a str),
    /// The posterior mean of a model, the same each draw.
    Mean(&'a str),
    /// An intensity from a sigmoidal Gaussian Cox process, the same each draw.
    Sgcp(&'a str),
}

/// What comes out.
struct Simulated {
    events: Vec<Column>,
    /// The intensity on a grid, if it is asked for.
    truth: Option<Vec<Column>>,
}

/// Does what was asked for.
pub fn run(args: &SimulateArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.draws == 0 {
        return Err("--draws 0 asks for nothing; take at least 1".to_string().into());
    }
    let source = source(args, context)?;
    context.check_table(args.output.as_deref())?;
    if let Some(path) = &args.truth {
        io::check_name(path, Written::Csv)?;
        io::check_target(path)?;
    }
    let simulated = match source {
        Source::Formula(formula) => from_formula(formula, args, context)?,
        Source::Posterior(model) => from_posterior(model, args, context)?,
        Source::Mean(model) => from_mean(model, args, context)?,
        Source::Sgcp(parameters) => from_sgcp(parameters, args, context)?,
    };
    if let Some(truth) = &simulated.truth {
        // CSV whatever --json says of the events: `compare` reads no other.
        context.emit(args.truth.as_deref(), &io::csv_text(truth)?)?;
    }
    context.emit_columns(args.output.as_deref(), &simulated.events)?;
    Ok(Outcome::Done)
}

/// What is asked for, once it is found to make sense.
fn source<'a>(args: &'a SimulateArgs, context: &Context) -> Result<Source<'a>, Failure> {
    let source = match (&args.intensity, &args.sgcp, &args.model) {
        (Some(formula), None, None) => Source::Formula(formula),
        (None, Some(parameters), None) => Source::Sgcp(parameters),
        (None, None, Some(model)) if args.mean => Source::Mean(model),
        (None, None, Some(model)) => Source::Posterior(model),
        (None, None, None) => return Err(NOTHING.to_string().into()),
        (formula, parameters, model) => {
            let given = [("--intensity", formula), ("--sgcp", parameters), ("--model", model)];
            let given: Vec<&str> = given.iter().filter(|option| option.1.is_some()).map(|option| option.0).collect();
            return Err(format!("{} exclude each other; give one of them", given.join(" and ")).into());
        }
    };
    refuse_idle(&source, args, context)?;
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    if args.truth.as_deref() == Some(output) {
        let path = output.display();
        return Err(format!("--truth {path} is where the events go; write them to another file with --output").into());
    }
    Ok(source)
}

/// Refuses options that mean nothing beside the source.
fn refuse_idle(source: &Source, args: &SimulateArgs, context: &Context) -> Result<(), Failure> {
    match source {
        Source::Formula(_) | Source::Sgcp(_) => context.refuse_idle(Mode::FromFormula)?,
        Source::Posterior(_) | Source::Mean(_) => context.refuse_idle(Mode::FromModel)?,
    }
    if matches!(source, Source::Posterior(_)) {
        context.refuse_idle(Mode::ManyIntensities)?;
    }
    if args.truth.is_none() { context.refuse_idle(Mode::NoTruth) } else { Ok(()) }
}

fn from_formula(formula: &str, args: &SimulateArgs, context: &Context) -> Result<Simulated, Failure> {
    let window = place("--intensity", args, context)?;
    let grid = grid(args, &window, context)?;
    let names: Vec<&str> = window.axes().iter().map(|axis| axis.name.as_str()).collect();
    let intensity = Intensity::parse(formula, &names).map_err(|error| {
        let pointing = error.pointing(formula).replace('\n', "\n  ");
        format!("--intensity: {error}\n  {pointing}")
    })?;
    meter::stage(LOOKING);
    let simulation =
        Simulation::new(&window, |point| intensity.at(point)).map_err(|error| fault(error, window.axes()))?;
    // Where the quadrature has no answer, what the draws will cost has one.
    let expected = simulation.expected();
    check_size(expected.unwrap_or(simulation.candidates()), args.draws, &window)?;
    let events = drawn(&window, expected, args.draws, context, |draw| {
        simulation.draw(context.seed(), draw).map_err(|error| fault(error, window.axes()))
    })?;
    Ok(Simulated {
        events,
        truth: grid.map(|grid| truth(&grid, &window, grid.rows().map(|row| intensity.at(row)).collect())),
    })
}

fn from_posterior(model: &str, args: &SimulateArgs, context: &Context) -> Result<Simulated, Failure> {
    let file = match Chosen::read_with(model, None, &args.set, context)? {
        Chosen::All(types) => {
            let window = types.model.posterior.window();
            let limit = |events: usize| check_size(events as f64 / args.draws as f64, args.draws, window);
            let events = types::event_sets(&types, args.draws, limit, context)?;
            return Ok(Simulated { events, truth: None });
        }
        chosen => chosen.one(model)?,
    };
    meter::stage(LOOKING);
    let values = io::measured::measured(&file).transpose()?;
    let posterior = file.posterior;
    if let Some(values) = values {
        let window = posterior.window();
        let limit = |events: usize| check_size(events as f64 / args.draws as f64, args.draws, window);
        let mut events = measured::event_sets(&values, args.draws, limit, context)?;
        // One set of events is a table that `fit` takes as it is.
        if args.draws == 1 {
            events.remove(0);
        }
        return Ok(Simulated { events, truth: None });
    }
    let expected = posterior.expected(posterior.window())?;
    check_size(expected, args.draws, posterior.window())?;
    let events = drawn(posterior.window(), Some(expected), args.draws, context, |draw| {
        Ok(posterior.sample_events(context.seed(), draw)?)
    })?;
    Ok(Simulated { events, truth: None })
}

fn from_mean(model: &str, args: &SimulateArgs, context: &Context) -> Result<Simulated, Failure> {
    let posterior = held(ModelFile::read(model)?, &args.set, context)?.posterior;
    meter::stage(LOOKING);
    let window = posterior.window();
    let expected = posterior.expected(window)?;
    check_size(expected, args.draws, window)?;
    let simulation = Simulation::of_batches(window, |points| Ok(posterior.rate(points)?.mean))?;
    let events = drawn(window, Some(expected), args.draws, context, |draw| Ok(simulation.draw(context.seed(), draw)?))?;
    let on_grid = |grid: Points| Ok::<_, Failure>(truth(&grid, window, posterior.rate(&grid)?.mean));
    Ok(Simulated { events, truth: grid(args, window, context)?.map(on_grid).transpose()? })
}

fn from_sgcp(parameters: &str, args: &SimulateArgs, context: &Context) -> Result<Simulated, Failure> {
    let window = place("--sgcp", args, context)?;
    let parameters = spec::sgcp(parameters, window.axes())?;
    let (grid, nowhere) = (grid(args, &window, context)?, Points::new(window.dims(), vec![])?);
    meter::stage("an intensity and its events");
    let sgcp::Simulated { rate, sets } =
        sgcp::draw(&window, &parameters, grid.as_ref().unwrap_or(&nowhere), args.draws, context.seed())
            .map_err(sgcp_fault)?;
    let set = |draw: u64| Ok(sets[draw as usize].points().clone());
    let events = drawn(&window, None, args.draws, context, set)?;
    Ok(Simulated { events, truth: grid.map(|grid| truth(&grid, &window, rate)) })
}

/// The points at which the intensity is asked for.
fn grid(args: &SimulateArgs, window: &Window, context: &Context) -> Result<Option<Points>, Failure> {
    if args.truth.is_none() {
        return Ok(None);
    }
    let places = Places { at: None, grid: args.grid.clone() };
    let grid = predict::place(&places, None, (window, 0), MOST_POINTS, context)?;
    let inside = grid.filter(|row| window.contains(row));
    if inside.is_empty() {
        return Err("no point of the grid lies inside the window; ask for more with --grid".to_string().into());
    }
    Ok(Some(inside))
}

/// The intensity on a grid; without dates, so that `compare` finds the axes' columns and one more.
fn truth(grid: &Points, window: &Window, rate: Vec<f64>) -> Vec<Column> {
    let axes = predict::coordinates(grid, window).into_iter().take(window.dims());
    axes.chain([Column::Numbers(RATE.into(), rate)]).collect()
}

/// All draws as columns; their number first if there are several.
fn drawn(
    window: &Window,
    expected: Option<f64>,
    draws: usize,
    context: &Context,
    draw: impl Fn(u64) -> Result<Points, Failure>,
) -> Result<Vec<Column>, Failure> {
    let (mut numbers, mut coordinates) = (Vec::new(), Vec::new());
    shown("sets of events", |watch| {
        for number in 0..draws as u64 {
            let points = draw(number)?;
            numbers.extend(std::iter::repeat_n(number + 1, points.len()));
            coordinates.extend_from_slice(points.coordinates());
            let _ = watch((number + 1) as f64 / draws as f64);
        }
        Ok::<_, Failure>(())
    })?;
    let several = if draws == 1 { String::new() } else { format!(" in {draws} draws") };
    let of = expected.map_or(String::new(), |mean| format!("; expected: {} a draw", brief(mean)));
    context.note(&format!("{}{several}{of}", spec::plural(numbers.len(), "event", "events")));
    let mut columns = if draws == 1 { vec![] } else { vec![Column::Whole(DRAW.into(), numbers)] };
    columns.extend(predict::coordinates(&Points::new(window.dims(), coordinates)?, window));
    Ok(columns)
}

/// Refuses what would be gigabytes of text.
fn check_size(expected: f64, draws: usize, window: &Window) -> Result<(), Failure> {
    let columns = window.dims() + usize::from(draws > 1);
    // A draw without events takes its time too.
    let each = if expected < 1.0 { 1.0 } else { expected };
    let values = each * draws as f64 * columns as f64;
    if values <= MOST_VALUES {
        return Ok(());
    }
    let (most, draws) = (MOST_VALUES, spec::plural(draws, "draw", "draws"));
    Err(format!(
        "about {expected:.3e} events are expected a draw: {draws} would be {values:.3e} numbers, more than {most}; take a lower intensity, \
         a smaller window or fewer draws"
    )
    .into())
}

/// An error of the simulation, with the point in the words of the axes.
fn fault(error: Error, axes: &[Axis]) -> Failure {
    match error {
        Error::BadRate { point, value } => {
            let (at, what) = (io::show_point(&point, axes), if value < 0.0 { "negative" } else { "not finite" });
            let remedy = if value < 0.0 { "cut it off with max(0, ...)" } else { "change it" };
            format!("--intensity is {what} at {at}: {value}; {remedy}, or leave this place out of --window").into()
        }
        Error::Setting { name, value, requirement } => format!("--intensity: {name} = {value}: {requirement}").into(),
        error => error.into(),
    }
}

/// An error of the sigmoidal process, in the words of the options.
fn sgcp_fault(error: Error) -> Failure {
    match error {
        Error::Setting { name, requirement, .. } if name == "exposure" => {
            format!("--exposure with --sgcp: {requirement}; leave it out").into()
        }
        Error::Setting { name, value, requirement } => format!("--sgcp: {name} = {value}: {requirement}").into(),
        error => error.into(),
    }
}

/// The window that the options describe, of which `option` has need.
fn place(option: &str, args: &SimulateArgs, context: &Context) -> Result<Window, Failure> {
    let Some(first) = args.window.first() else {
        return Err(format!("{option} needs --window, as in --window 0,50; or give a GeoJSON border").into());
    };
    let names = match &args.columns {
        Some(names) => checked(names, args)?,
        None => usual_names(first)?,
    };
    let axes: Vec<Axis> =
        names.iter().enumerate().map(|(r, name)| axis(name, r, &args.window, args.time_unit)).collect();
    let dates_only: Vec<bool> = axes.iter().map(|axis| axis.origin.is_some()).collect();
    if !dates_only.contains(&true) {
        context.refuse_idle(Mode::NoDates)?;
    }
    let plain =
        observed::union(Setting::Window, &args.window, On { axes: &axes, dates_only: &dates_only, north_first: None })?;
    refuse_no_degrees(&plain)?;
    let looks = Looks { repeats: args.repeats.unwrap_or(1), exposure: args.exposure.as_deref(), units: &[] };
    let mut warnings = Vec::new();
    let window = observed::looked_at(plain, looks, &dates_only, &mut warnings)?;
    warnings.iter().for_each(|warning| context.warn(&spelled(warning)));
    Ok(window)
}

/// Refuses places that are called longitude and latitude and are none: no verb would take them as events.
fn refuse_no_degrees(window: &Window) -> Result<(), Failure> {
    let Some(pair) = io::geography::called(window.axes()) else { return Ok(()) };
    let spans = window.bounding_box();
    for (r, most, what) in [(pair.north, 90.0, "latitude"), (pair.east, 360.0, "longitude")] {
        let (name, span) = (&window.axes()[r].name, &spans[r]);
        if let Some(end) = [span.lo, span.hi].into_iter().find(|end| end.abs() > most) {
            return Err(format!(
                "--window reaches {end} on `{name}`, which is no {what}; correct it, or name the axes otherwise with --columns"
            )
            .into());
        }
    }
    Ok(())
}

/// The names asked for, each of which must mean one column.
fn checked(names: &[String], args: &SimulateArgs) -> Result<Vec<String>, Failure> {
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err("--columns has an empty name; write it as in --columns lon,lat".to_string().into());
        }
        let why = match name.as_str() {
            DRAW if args.draws > 1 => "is taken by the number of the draw",
            RATE if args.truth.is_some() => "is taken by the intensity of --truth",
            _ if names[..place].contains(name) => "stands twice",
            _ => continue,
        };
        return Err(format!("--columns: `{name}` {why}; give each axis a name of its own").into());
    }
    Ok(names.to_vec())
}

/// As many of the usual names as a window has axes.
fn usual_names(window: &str) -> Result<Vec<String>, Failure> {
    let (flat, ends) = observed::parts(window);
    // An odd end belongs to an axis too: the sentence that complains of it should know how many there are.
    let dims = (flat + ends.len().div_ceil(2)).max(1);
    match NAMES.get(..dims) {
        Some(names) => Ok(names.iter().map(ToString::to_string).collect()),
        None => {
            Err(format!("--window {window} has {dims} axes; name them with --columns, as in --columns a,b,c,d").into())
        }
    }
}

/// Axis number r: one of time, counted from the first midnight, if a window's end on it is a date.
fn axis(name: &str, r: usize, windows: &[String], unit: TimeUnit) -> Axis {
    let origin = observed::first_midnight(r, windows);
    Axis { name: name.into(), unit: origin.map(|_| unit.to_string()), origin, ..Axis::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_counted_and_named() {
        let names = |window: &str| usual_names(window).unwrap().join(",");
        assert_eq!(names("0,5"), "x");
        assert_eq!(names("0,5,-1,1"), "x,y");
        assert_eq!(names("0,5,-1"), "x,y");
        assert_eq!(names("kenya"), "x,y");
        assert_eq!(names("kenya, 2016-01-01 ,2017-01-01"), "x,y,t");
        assert_eq!(names(""), "x");
        assert!(matches!(usual_names("0,1,0,1,0,1,0,1"), Err(Failure::Sentence(s)) if s.contains("--columns")));
    }

    #[test]
    fn dates_make_an_axis_of_time() {
        let windows = ["1970-01-03T06:00Z,1970-01-05,0,1".to_string(), "1970-01-02T06:00Z,1970-01-03,0,1".to_string()];
        let (time, number) = (axis("when", 0, &windows, TimeUnit::Hours), axis("x", 1, &windows, TimeUnit::Hours));
        assert_eq!((time.unit.as_deref(), time.origin), (Some("hours"), Some(86_400.0)));
        assert_eq!((number.unit, number.origin), (None, None));
        let behind = axis("t", 2, &["kenya,1970-01-02,1970-01-04".to_string()], TimeUnit::Days);
        assert_eq!(behind.origin, Some(86_400.0));
        assert_eq!(axis("y", 1, &["kenya,1970-01-02,1970-01-04".to_string()], TimeUnit::Days).origin, None);
        assert_eq!(axis("t", 3, &windows, TimeUnit::Days).origin, None);
    }
}
