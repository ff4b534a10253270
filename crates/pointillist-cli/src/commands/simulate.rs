//! `simulate`: events from an intensity that is known, by a formula or by a model.

use super::summary::brief;
use super::{Context, Failure, Outcome, predict, spec, window};
use crate::args::SimulateArgs;
use crate::io::{self, Column, ModelFile, TimeAxis, TimeUnit};
use pointillist::{Axis, Error, Intensity, Points, Simulation, Window};

/// Most numbers in an answer.
const MOST_VALUES: f64 = 50_000_000.0;
/// The names of the axes unless --columns gives others.
const NAMES: [&str; 3] = ["x", "y", "t"];
/// The column that tells the draws apart.
const DRAW: &str = "draw";
const SECONDS_PER_DAY: f64 = 86_400.0;

/// What the events are drawn from.
enum Source<'a> {
    /// A formula on a window.
    Formula(&'a str),
    /// An intensity from the posterior of a model, another one each draw.
    Posterior(&'a str),
    /// The posterior mean of a model, the same each draw.
    Mean(&'a str),
    // A draw from the sigmoidal Gaussian Cox process (--sgcp) will stand here: one more arm in `source` and in `run`.
}

/// Does what was asked for.
pub fn run(args: &SimulateArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.draws == 0 {
        return Err("--draws 0 asks for nothing; take at least 1".to_string().into());
    }
    let source = source(args)?;
    if let Some(path) = &args.output {
        io::check_target(path)?;
    }
    let columns = match source {
        Source::Formula(formula) => from_formula(formula, args, context)?,
        Source::Posterior(model) => from_posterior(model, args, context)?,
        Source::Mean(model) => from_mean(model, args, context)?,
    };
    context.emit_columns(args.output.as_deref(), &columns)?;
    Ok(Outcome::Done)
}

/// What is asked for, once it is found to make sense.
fn source(args: &SimulateArgs) -> Result<Source<'_>, Failure> {
    let one = "give --intensity with a formula, as in --intensity '5*sin(x^2) + 6' --window 0,5, or --model with a model file";
    match (&args.intensity, &args.model) {
        (Some(_), Some(_)) => Err("--intensity and --model exclude each other; give one of them".to_string().into()),
        (None, None) => Err(format!("there is nothing to draw from; {one}").into()),
        (Some(_), None) if args.mean => {
            Err("--mean is for a model; a formula is its own mean, so leave it out".to_string().into())
        }
        (Some(formula), None) => Ok(Source::Formula(formula)),
        (None, Some(model)) => match own_to_formulas(args) {
            Some(option) => {
                Err(format!("{option} is for --intensity; a model has its own window, so leave it out").into())
            }
            None if args.mean => Ok(Source::Mean(model)),
            None => Ok(Source::Posterior(model)),
        },
    }
}

/// An option that was given and says nothing of a model.
fn own_to_formulas(args: &SimulateArgs) -> Option<&'static str> {
    let given = [
        ("--window", !args.window.is_empty()),
        ("--columns", args.columns.is_some()),
        ("--repeats", args.repeats.is_some()),
        ("--exposure", args.exposure.is_some()),
        ("--time-unit", args.time_unit.is_some()),
    ];
    given.into_iter().find(|option| option.1).map(|option| option.0)
}

fn from_formula(formula: &str, args: &SimulateArgs, context: &Context) -> Result<Vec<Column>, Failure> {
    let window = place(args)?;
    let names: Vec<&str> = window.axes().iter().map(|axis| axis.name.as_str()).collect();
    let intensity = Intensity::parse(formula, &names).map_err(|error| {
        let pointing = error.pointing(formula).replace('\n', "\n  ");
        format!("--intensity: {error}\n  {pointing}")
    })?;
    let simulation =
        Simulation::new(&window, |point| intensity.at(point)).map_err(|error| fault(error, window.axes()))?;
    // Where the quadrature has no answer, what the draws will cost has one.
    let expected = simulation.expected();
    check_size(expected.unwrap_or(simulation.candidates()), args.draws, &window)?;
    drawn(&window, expected, args.draws, context, |draw| {
        simulation.draw(context.seed(), draw).map_err(|error| fault(error, window.axes()))
    })
}

fn from_posterior(model: &str, args: &SimulateArgs, context: &Context) -> Result<Vec<Column>, Failure> {
    let posterior = ModelFile::read(model)?.posterior;
    let expected = posterior.count(posterior.window())?.mean;
    check_size(expected, args.draws, posterior.window())?;
    drawn(posterior.window(), Some(expected), args.draws, context, |draw| {
        Ok(posterior.sample_events(context.seed(), draw)?)
    })
}

fn from_mean(model: &str, args: &SimulateArgs, context: &Context) -> Result<Vec<Column>, Failure> {
    let posterior = ModelFile::read(model)?.posterior;
    let expected = posterior.count(posterior.window())?.mean;
    check_size(expected, args.draws, posterior.window())?;
    let simulation = Simulation::of_batches(posterior.window(), |points| Ok(posterior.rate(points)?.mean))?;
    drawn(posterior.window(), Some(expected), args.draws, context, |draw| Ok(simulation.draw(context.seed(), draw)?))
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
    for number in 0..draws as u64 {
        let points = draw(number)?;
        numbers.extend(std::iter::repeat_n(number + 1, points.len()));
        coordinates.extend_from_slice(points.coordinates());
    }
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
    let values = expected * draws as f64 * columns as f64;
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

/// The window that the options describe.
fn place(args: &SimulateArgs) -> Result<Window, Failure> {
    let Some(first) = args.window.first() else {
        return Err("--intensity needs --window, as in --window 0,50; or give a GeoJSON border".to_string().into());
    };
    let unit: TimeUnit = match &args.time_unit {
        Some(text) => text.parse().map_err(|error| format!("--time-unit: {error}"))?,
        None => TimeUnit::default(),
    };
    let names = match &args.columns {
        Some(names) => checked(names, args.draws)?,
        None => usual_names(first)?,
    };
    let axes: Vec<Axis> = names.iter().enumerate().map(|(r, name)| axis(name, r, &args.window, unit)).collect();
    let dates_only: Vec<bool> = axes.iter().map(|axis| axis.origin.is_some()).collect();
    let plain = window::union("--window", &args.window, &axes, &dates_only)?;
    window::looked_at(plain, args.repeats.unwrap_or(1), args.exposure.as_deref(), &dates_only)
}

/// The names asked for, each of which must mean one column.
fn checked(names: &[String], draws: usize) -> Result<Vec<String>, Failure> {
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err("--columns has an empty name; write it as in --columns lon,lat".to_string().into());
        }
        if names[..place].contains(name) || (name == DRAW && draws > 1) {
            let why = if name == DRAW && draws > 1 { "is taken by the number of the draw" } else { "stands twice" };
            return Err(format!("--columns: `{name}` {why}; give each axis a name of its own").into());
        }
    }
    Ok(names.to_vec())
}

/// As many of the usual names as a window has axes.
fn usual_names(window: &str) -> Result<Vec<String>, Failure> {
    let (flat, ends) = parts(window);
    // An odd end belongs to an axis too: the sentence that complains of it should know how many there are.
    let dims = (flat + ends.len().div_ceil(2)).max(1);
    match NAMES.get(..dims) {
        Some(names) => Ok(names.iter().map(ToString::to_string).collect()),
        None => {
            Err(format!("--window {window} has {dims} axes; name them with --columns, as in --columns a,b,c,d").into())
        }
    }
}

/// How many axes of a window are those of a border, and the ends on the others.
fn parts(window: &str) -> (usize, Vec<&str>) {
    if std::path::Path::new(window).is_file() {
        return (2, Vec::new());
    }
    let parts: Vec<&str> = window.split(',').map(str::trim).collect();
    match &parts[..] {
        [first, rest @ ..] if !first.is_empty() && !io::is_end(first) => (2, rest.to_vec()),
        ends => (0, ends.to_vec()),
    }
}

/// Axis number r: one of time, counted from the first midnight, if a window's end on it is a date.
fn axis(name: &str, r: usize, windows: &[String], unit: TimeUnit) -> Axis {
    let ends = |text: &String| {
        let (flat, ends) = parts(text);
        let first = 2 * r.saturating_sub(flat);
        let own = if r < flat { None } else { ends.get(first..(first + 2).min(ends.len())) };
        own.unwrap_or_default().iter().filter_map(|end| seconds(end)).collect::<Vec<f64>>()
    };
    let earliest = windows.iter().flat_map(ends).reduce(f64::min);
    let origin = earliest.map(|seconds| (seconds / SECONDS_PER_DAY).floor() * SECONDS_PER_DAY);
    Axis { name: name.into(), unit: origin.map(|_| unit.to_string()), origin }
}

/// A date in seconds since 1970; nothing if it is a number or no date.
fn seconds(text: &str) -> Option<f64> {
    let since_1970 = TimeAxis { origin_unix_seconds: 0.0, unit: TimeUnit::Seconds };
    if text.parse::<f64>().is_ok() { None } else { since_1970.from_iso(text) }
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
