//! What may be typed: the verbs, their options and their help.
//!
//! Only shapes are checked here. What depends on the data (the number of axes, dates, names of columns) is left to the
//! commands. Options and verbs that are planned but not there yet are recognised in [`not_yet`], so that asking for one gives a sentence.

use crate::io::TimeUnit;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use pointillist::Link;
use std::path::PathBuf;

/// Verbs and options of later versions.
const LATER: [&str; 0] = [];
/// The verbs of this version, for a sentence.
const VERBS: &str = "fit, summarize, predict, score, count, contrast, sample, simulate, plot, report, smooth, sgcp, compare, check, calibrate, \
    reproduce, show, kernels, data, completions, man";

/// The intensity of events in time and space, with honest uncertainty.
#[derive(Debug, Parser)]
#[command(name = "pointillist", version, max_term_width = 100, disable_help_subcommand = false)]
#[command(long_about = "The intensity of events in time and space, with honest uncertainty.\n\n\
    Events in a window are taken for a Poisson process whose intensity is the exponential or the square of a Gaussian process; the posterior of \
    the intensity is found by variational inference. Without a command it fits the coal-mining disasters, shows them and writes \
    coal.svg.")]
#[command(after_help = "Examples:\n  \
    pointillist                                   see what it does, on bundled data\n  \
    pointillist fit events.csv --window 0,50 -o model.json\n  \
    pointillist predict model.json --grid 200 > rate.csv\n  \
    pointillist plot model.json -o rate.svg\n\n\
    Exit codes: 0 done, 1 ran but did not converge, 2 bad input or usage, 101 a fault of pointillist itself.")]
pub struct Cli {
    /// What to do; nothing at all shows the coal-mining disasters.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// Options of all verbs.
    #[command(flatten)]
    pub global: Global,
}

/// The verbs by what they are for, as the help lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Fit and look", &["fit", "show", "plot", "report"]),
    ("Ask a model", &["predict", "count", "contrast", "sample", "score"]),
    ("Trust it", &["check", "compare", "calibrate"]),
    ("Data and large data", &["data", "simulate", "summarize"]),
    ("Others", &["smooth", "sgcp", "reproduce", "kernels", "completions", "man", "help"]),
];
/// Columns of the help.
const WIDTH: usize = 100;

/// The command, with its verbs in groups.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let about = |name: &str| command.find_subcommand(name).and_then(|verb| verb.get_about()).map(ToString::to_string);
    let mut list = String::new();
    for (group, verbs) in GROUPS {
        list += &format!("{group}:\n");
        for verb in verbs {
            list += &format!("  {verb:<12} {}\n", indented(&about(verb).unwrap_or_default(), 15));
        }
        list.push('\n');
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    );
    Cli::command().help_template(template)
}

/// Text in lines that begin so far from the left.
fn indented(text: &str, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if indent + line.chars().count() + 1 + word.chars().count() > WIDTH && !line.is_empty() {
            lines += &format!("{line}\n{:indent$}", "");
            line.clear();
        }
        line += &if line.is_empty() { word.to_string() } else { format!(" {word}") };
    }
    lines + &line
}

/// Options that every verb takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of all commands")]
pub struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of everything random
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Number of threads (default: all cores; results do not depend on it)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Most memory for any file that is read, and for a lattice, as in 500MB or 8GB (default: half of the machine's, and 4GB)
    #[arg(long, global = true, value_name = "SIZE")]
    pub max_memory: Option<String>,
    /// No summary, warnings or progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = false)]
pub enum Verb {
    /// Fit an intensity to events, and save it as a model
    Fit(FitArgs),
    /// Many events by cell in one pass, for `fit`: parts can be summarised apart and fitted together
    Summarize(SummarizeArgs),
    /// The rate at points: mean, standard deviation and quantiles, as CSV
    Predict(PredictArgs),
    /// Score a model on held-out events
    Score(ScoreArgs),
    /// The expected number of events in a part of the window
    Count(CountArgs),
    /// How two regions of a model, or two models, compare: difference, ratio, and which has more events
    Contrast(ContrastArgs),
    /// Draws of the intensity, or of whole new sets of events, as CSV
    Sample(SampleArgs),
    /// Draw events from an intensity: a formula, that of a model, or one drawn at random
    Simulate(SimulateArgs),
    /// A picture of a model, or of events (which are fitted first)
    Plot(PlotArgs),
    /// The page to share: an HTML file with the rate, its uncertainty and what the fit said, that opens offline
    Report(ReportArgs),
    /// Kernel smoothing with a cross-validated bandwidth: a fast rival without uncertainty
    Smooth(SmoothArgs),
    /// The sigmoidal Gaussian Cox process, by sampling: an exact rival that takes minutes
    Sgcp(SgcpArgs),
    /// Every method on the same split, scored in the same way
    Compare(CompareArgs),
    /// The variational answer against the exact posterior, sampled
    Check(CheckArgs),
    /// Whether intervals hold the truth as often as they say, on simulated events
    Calibrate(CalibrateArgs),
    /// The paper's tables and figures, and more, from the bundled data
    Reproduce(ReproduceArgs),
    /// List the kernels, with their formulas and parameters
    Kernels(KernelsArgs),
    /// List the bundled data sets, or print one as CSV
    Data(DataArgs),
    /// Print what a fit said of a model, from its file
    Show(ShowArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print a page of the manual, or write all of them
    Man(ManArgs),
}

/// Which events, and where, how often and how closely they were looked for.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Events")]
pub struct EventOptions {
    /// Columns that place the events, by name or by number from 0 (default: a column of dates, else 1 to 3 of numbers)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Which rows, and how they are written.
    #[command(flatten)]
    pub rows: RowOptions,
    /// Where events were looked for: lo,hi for each axis, or a GeoJSON border (default: the bounding box of the events); repeatable
    #[arg(
        long,
        value_name = "LO,HI,...|BORDER",
        allow_hyphen_values = true,
        long_help = "Where events were looked for (default: the bounding box of the events).\n\
        A box is lo,hi for each axis, with dates for an axis of dates. A border is a GeoJSON file with polygons for the first two axes, \
        or the name of a bundled one (kenya); further axes follow it: border.geojson,2016-01-01,2017-01-01. Several boxes or borders, \
        given by repeating the option, make one window; they must not overlap."
    )]
    pub window: Vec<String>,
    /// The events come from J looks (trials, days, repeats) at the same window: the rate is that of one
    #[arg(long, value_name = "J", conflicts_with = "trials")]
    pub repeats: Option<usize>,
    /// Table with the columns trial,start,end: each trial was looked at from its start to its end (events on one axis)
    #[arg(long, value_name = "FILE", conflicts_with = "window")]
    pub trials: Option<String>,
    /// Column that says to which trial an event belongs (default: trial, if there is one)
    #[arg(long, value_name = "NAME")]
    pub trial_column: Option<String>,
    /// Table of how closely the window was looked at: columns named after the axes, or some of them, and one of values
    #[arg(
        long,
        value_name = "FILE",
        long_help = "Table of how closely the window was looked at: people at risk, hours of watching, chance of detection.\n\
        It has columns named after the axes, or some of them, and one column of values that are not negative, on a full grid that \
        covers the window (rows in any order); between the places of the grid it is linear. Of what `predict` wrote the mean is taken. The \
        rate is then per unit of exposure. \
        If the column of values is called `weight`, the rows are amounts (the people of a cell of a raster, the hours of a day) at places \
        on all axes, a grid or scattered: each is spread over the part of the window that is nearest to its place. Those outside the window do \
        not count; with several looks at a window they are those of one look."
    )]
    pub exposure: Option<String>,
    /// Whether longitudes and latitudes are degrees on the globe, with areas in km², or numbers in a plane (default: sphere if columns are called lon,lat)
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        long_help = "Whether two coordinates are degrees on the globe or numbers in a plane.\n\
        With columns called lon (long, lng, longitude) and lat (latitude), and for GeoJSON points, `sphere` is taken if nothing is said: windows, regions, \
        points and results are in degrees, but areas are those of the WGS84 ellipsoid, rates are per km² and lengths are in km, on a map of equal \
        area about the middle of the window. With other names `sphere` takes the first two columns. A window that reaches a pole has no such map, and one of more \
        than 180 degrees of longitude must be given with --window. `plane` takes degrees as plain numbers, and rates per square degree."
    )]
    pub geography: Option<GeographyName>,
    /// Coordinate reference system of a map that the coordinates are in, as in EPSG:27700 (default: what GeoJSON names)
    #[arg(
        long,
        value_name = "EPSG:N",
        conflicts_with = "geography",
        long_help = "Coordinate reference system of a map that the coordinates are in, by its number in the register of EPSG, as in EPSG:27700.\n\
        Points in GeoJSON that name a system are in that. The model keeps it: GeoTIFF and GeoJSON that come of it say where they lie, and a border, a \
        raster or points in another system are refused. It changes no number: distances and areas are those of the map, in its unit, which --unit may name."
    )]
    pub crs: Option<String>,
    /// Drop events outside the window (or their trial, or where the exposure is zero) instead of stopping
    #[arg(long)]
    pub clip: bool,
    /// Unit in which dates are counted
    #[arg(long, value_name = "UNIT", value_parser = time_units(), ignore_case = true, default_value_t = TimeUnit::Days)]
    pub time_unit: TimeUnit,
    /// Time zone whose clocks cycles and dates go by, as in Europe/Lisbon (default: UTC)
    #[arg(
        long,
        value_name = "ZONE",
        long_help = "Time zone whose clocks cycles and dates go by, as in Europe/Lisbon or America/New_York; without it UTC.\n\
        The axis of time counts what these clocks show, so that a daily cycle keeps its hour when summer time begins or ends. Dates without an offset are those of \
        the zone, also in --window and wherever the model is asked about dates, and dates come out with their offset. The hour that clocks leave out in \
        spring is no part of the window; the one that they show twice in autumn counts twice, so that rates stay those of real time."
    )]
    pub time_zone: Option<String>,
    /// Unit of the numbers of an axis, as in t=s, of the area, as in area=km², of all axes, as in m, or of the exposure, as in exposure=hours; repeatable
    #[arg(
        long,
        value_name = "AXIS=UNIT",
        long_help = "Unit of the numbers of an axis, as in t=s, of the area, as in area=km², or of all axes, as in m; repeatable.\n\
        exposure=person-years names the unit of the values of --exposure: rates are then per person-year, instead of per unit of exposure. An s at the \
        end is taken for a plural."
    )]
    pub unit: Vec<String>,
    /// Skip up to N bad lines (or rows of a Parquet file) instead of stopping at the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip_bad: u64,
}

/// Which rows of a table are taken, and how its dates are written.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Events")]
pub struct RowOptions {
    /// Take only the rows of which this is true, as in 'species == "oak" and height > 3'
    #[arg(
        long = "where",
        value_name = "CONDITION",
        long_help = "Take only the rows of which this is true, as in 'species == \"oak\" and height > 3'.\n\
        Columns are compared with numbers, texts or dates like 2016-02-23 by == != < <= > >=, or with several by in (a, b), and \
        comparisons are joined by `and`. A name with blanks in it stands in backticks."
    )]
    pub filter: Option<String>,
    /// How dates are written, as in '%d/%m/%Y %H:%M' (default: ISO, or what is beyond doubt)
    #[arg(
        long,
        value_name = "FORMAT",
        long_help = "How dates are written, as in '%d/%m/%Y %H:%M'. Without it ISO dates are read, and others such as 31/12/2025, \
        12/31/2025 11 PM or [10/Oct/2000:13:55:36 -0700] where all rows together leave no doubt.\n\
        %Y year, %y its last two digits, %m month, %b its English name, %d day, %H hour, %I hour with %p AM or PM, %M minute, %S second \
        with its fraction, %z offset from UTC; %F is %Y-%m-%d, %T is %H:%M:%S, %R is %H:%M."
    )]
    pub date_format: Option<String>,
    /// Dates are numbers that count from 1970, in this unit
    #[arg(long, value_enum, value_name = "UNIT", conflicts_with = "date_format")]
    pub epoch: Option<EpochName>,
}

/// Units of time by all their names.
fn time_units() -> impl TypedValueParser<Value = TimeUnit> {
    let help = |unit: TimeUnit| match unit {
        TimeUnit::Seconds => "Seconds",
        TimeUnit::Minutes => "Of 60 seconds",
        TimeUnit::Hours => "Of 3600 seconds",
        TimeUnit::Days => "Of 86 400 seconds",
        TimeUnit::Weeks => "Of seven days",
        TimeUnit::Years => "Julian ones, of 365.25 days",
    };
    let named = |unit: TimeUnit| PossibleValue::new(unit.names()[0]).aliases(&unit.names()[1..]).help(help(unit));
    // The names are those that it reads.
    PossibleValuesParser::new(TimeUnit::ALL.map(named)).map(|name| name.parse().unwrap_or_default())
}

/// What two coordinates are, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GeographyName {
    /// Degrees on the globe.
    Sphere,
    /// Numbers.
    Plane,
}

/// What numbers that are dates count, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EpochName {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

/// How a fit is made.
#[derive(Debug, Clone, Args)]
pub struct FitOptions {
    /// The events.
    #[command(flatten)]
    pub events: EventOptions,
    /// What the intensity is made of: a `lattice`, the paper's `inducing` points, or `auto` (a lattice up to three axes)
    #[arg(
        long,
        value_enum,
        default_value_t = BasisName::Auto,
        help_heading = "Model",
        long_help = "What the intensity is made of: a `lattice` of small hats with a Matern prior, the paper's `inducing` points with a kernel, \
        or `auto`: a lattice, and inducing points with more than three axes. \
        --kernel, --inducing, --optimise-inducing, --method joint and --mean paper mean inducing points.\n\
        The paper's model is --basis inducing --prior none --average off, with --mean constant or --mean paper for its prior mean: one fit at the \
        maximum of the bound, the square link."
    )]
    pub basis: BasisName,
    /// Nodes of the lattice, as in 200x100; as many as pay if not given
    #[arg(long, value_name = "GRID", help_heading = "Model")]
    pub nodes: Option<String>,
    /// How much work the choice of the lattice may take, as in 30s or 5min, or `none`: finer lattices until they gain nothing or it is used up
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Model",
        long_help = "How much work the choice of the lattice may take: 30s, 5min, 1h, or `none` for as long as more nodes gain something and there is memory for them.\n\
        It is counted in what steps take on a machine of two cores, from numbers of nodes and events alone, so that the answer depends neither on the machine nor on the number of threads; \
        yours may take more or less. Not given: a few seconds, up to a minute with many events. The summary says which lattice was the next, what it would take, and about what it might gain.\n\
        Example: pointillist fit quakes --budget 2min -o quakes.json"
    )]
    pub budget: Option<String>,
    /// How the intensity is made from the Gaussian process f: its `square`, or exp f (`log`: its logarithm is f), on a lattice
    #[arg(
        long,
        value_parser = link_names(),
        value_name = "LINK",
        help_heading = "Model",
        long_help = "How the intensity is made from the Gaussian process f.\n\
        `square`: the paper's, rate = f^2. `log`: rate = exp(f), a log-Gaussian Cox process, on a lattice: it says rates that span orders of \
        magnitude, and places that are truly empty, with far less. `auto`: both, by their evidence. Not given: `auto` on a lattice, \
        where a value or a prior of variance or mean means `square`."
    )]
    pub link: Option<String>,
    /// Smoothness of the lattice's prior: 1 (roughest, on a line), 2, 4, or `auto`: all of them by their evidence
    #[arg(long, value_enum, value_name = "S", help_heading = "Model")]
    pub smoothness: Option<SmoothnessName>,
    /// Whether f may vary more in some parts of the window than in others, on a lattice of smoothness 2 or 4
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        num_args = 0..=1,
        default_missing_value = "on",
        help_heading = "Model",
        long_help = "Whether f may vary more in some parts of the window than in others: a further family, on a lattice of smoothness 2 or 4, which counts in the average by its evidence.\n\
        `auto`, what happens if nothing is said: on a line or in a plane, where the events promise that it counts. `on`: whatever they promise. `off`: never."
    )]
    pub vary: Option<VaryName>,
    /// Kernel of the Gaussian process, as in 'se(t)*periodic(t, period=1!)'; `pointillist kernels` lists them
    #[arg(
        long,
        value_name = "EXPR",
        help_heading = "Model",
        long_help = "Kernel of the Gaussian process: sums and products of the kernels that `pointillist kernels` lists.\n\
        The axes go by the names of their columns; without them a kernel stands on all axes. A parameter may be given a value to start \
        from (period=1) or to stay at (period=1!).\n\
        Examples: se, matern32, 'matern52(lon,lat)*se(t)', 'se(t)*periodic(t, period=1!)', 'se(t) + se(t)'."
    )]
    pub kernel: Option<String>,
    /// Cycles of the clock (UTC, or --time-zone) in the rate: hour, day, week, year, with commas between; they write the kernel
    #[arg(
        long,
        value_name = "CYCLES",
        conflicts_with = "kernel",
        help_heading = "Model",
        long_help = "Cycles of the clock (of UTC, or of --time-zone) in the rate: hour, day, week, year, with commas between, as in day,week.\n\
        They write the kernel: a trend, and for each cycle a part that repeats itself and slowly changes, on the axis of time. On a map each of them may differ from place to place. A forecast beyond the window goes on with them, and `--components` of plot and predict shows each apart."
    )]
    pub cycle: Option<String>,
    /// Inducing points: a number (31), a grid (20x20), `auto`, or a CSV file of locations
    #[arg(long, value_name = "SPEC", help_heading = "Model")]
    pub inducing: Option<String>,
    /// Move the inducing points to where they serve best
    #[arg(long, help_heading = "Model")]
    pub optimise_inducing: bool,
    /// Prior mean of the Gaussian process: `integrated` over if nothing is said, a learned `constant`, or `paper`
    #[arg(
        long,
        value_enum,
        help_heading = "Model",
        long_help = "Prior mean of the Gaussian process.\n\
        `integrated`: a constant that is unknown like the rest of f, with a vague prior, so that its uncertainty counts; what happens if nothing is said. \
        `constant`: the same everywhere, a hyper-parameter that is learned; lattices have it with --average off alone, and then what is not known of it is in no band. \
        `paper`: as in the paper it holds only at the inducing points, and away from them the mean is 0."
    )]
    pub mean: Option<MeanName>,
    /// Prior on a hyper-parameter, as in 'lengthscale ~ lognormal(0, 1)', or `none`: maximum likelihood; repeatable
    #[arg(
        long,
        value_name = "PRIOR",
        help_heading = "Model",
        long_help = "Prior on a hyper-parameter, as in 'lengthscale ~ lognormal(0, 1)'; repeatable.\n\
        Where nothing is said, there are penalised-complexity priors: a range (twice the length-scale) shorter than a tenth of the window's \
        shortest side, or than a fiftieth of the side of an axis by itself, has a probability of 5 %, and so has a standard deviation of f above 3 (log link) or above the root of the mean rate (square \
        link); axes that share a unit share a length-scale unless the events speak against it. `none` leaves these out: hyper-parameters then count by the bound alone, and with --average off the bound is maximised.\n\
        Parameters: variance, lengthscale (of all axes), lengthscale[1] or lengthscale[lat] (of one), mean; with inducing points also \
        those of other kernels (period, or periodic.period of one of them).\n\
        Families: lognormal(location, scale), gamma(shape, rate), inverse_gamma(shape, scale), half_normal(scale), normal(mean, sd)."
    )]
    pub prior: Vec<String>,
    /// Hold a hyper-parameter at a value, as in lengthscale=10; repeatable
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub fix: Vec<String>,
    /// How the bound is maximised: `collapsed` (fast), or `joint` as in the paper
    #[arg(long, value_enum, default_value_t = MethodName::Collapsed, help_heading = "Inference")]
    pub method: MethodName,
    /// Relative jitter on the diagonal of the kernel matrix
    #[arg(long, value_name = "X", default_value = "1e-8", help_heading = "Inference", allow_hyphen_values = true)]
    pub jitter: f64,
    /// What weighted nodes in place of many events may leave out of the data term, relative to it
    #[arg(long, value_name = "X", default_value = "1e-6", help_heading = "Inference", allow_hyphen_values = true)]
    pub tolerance: f64,
    /// Whether to average over hyper-parameters, links and degrees of smoothness on lattices (`on`), or to take the best (`off`)
    #[arg(
        long,
        value_enum,
        value_name = "on|off",
        num_args = 0..=1,
        default_missing_value = "on",
        hide_possible_values = true,
        help_heading = "Model",
        long_help = "Whether to average over hyper-parameters, links and degrees of smoothness on lattices, each by its evidence, so that what is not \
        known of them is in every band (`on`, what is done where nothing is said), or to take the best (`off`).\n\
        With more than 10,000 events, and wherever that moves no band by 1 % of its width, hyper-parameters stay at their best; the summary says so. \
        With inducing points there is one kernel, whose hyper-parameters are averaged over."
    )]
    pub average: Option<Switch>,
    /// Find standard errors of the hyper-parameters too: from the curvature of the bound, some ten evaluations more
    #[arg(long, help_heading = "Inference")]
    pub errors: bool,
    /// Most evaluations of the bound
    #[arg(long, value_name = "N", default_value_t = 2000, help_heading = "Inference")]
    pub max_evaluations: usize,
    /// Never replace events by weighted nodes, however many they are
    #[arg(long, help_heading = "Inference")]
    pub exact: bool,
}

/// What an intensity can be made of, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BasisName {
    /// A lattice; inducing points with more than three axes.
    Auto,
    /// Inducing points.
    Inducing,
    /// A lattice of hats.
    Lattice,
}

/// The links there are, and `auto`.
fn link_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Link::ALL.iter().map(|link| link.name()).chain(["auto"]))
}

/// How smooth a lattice's prior is, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SmoothnessName {
    /// Roughest, on a line alone.
    #[value(name = "1")]
    One,
    /// Rougher.
    #[value(name = "2")]
    Two,
    /// Smoother.
    #[value(name = "4")]
    Four,
    /// All of them, by their evidence.
    Auto,
}

/// Whether a scale varies over the window, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VaryName {
    /// Where the events promise that it counts.
    Auto,
    /// Whatever they promise.
    On,
    /// Never.
    Off,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// The prior means, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeanName {
    /// f has one prior mean everywhere.
    Constant,
    /// The inducing values have it, f away from them has 0.
    Paper,
    /// An unknown constant, integrated over.
    Integrated,
}

/// The methods, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Natural steps for q(u), L-BFGS for the hyper-parameters.
    Collapsed,
    /// L-BFGS over everything.
    Joint,
}

/// `fit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist fit coal -o coal.json\n  \
    pointillist fit events.csv --window 0,50 --inducing 31 -o model.json\n  \
    pointillist fit log.csv.gz --columns time --window 2016-02-23,2016-03-08\n  \
    pointillist fit trees.csv --columns x,y --where 'species == \"oak\"' --unit m\n  \
    pointillist fit shifts.csv --window 8,12 --window 13,17\n  \
    pointillist fit sites.tsv --columns lon,lat --window border.geojson --clip\n  \
    pointillist fit spikes.csv --window 0,2 --repeats 40\n  \
    pointillist fit spikes.csv --trials trials.csv --trial-column run\n  \
    pointillist fit cases.csv --window border.geojson --exposure population.csv\n  \
    pointillist fit trees.csv --columns x,y --covariate elevation.csv\n  \
    pointillist fit trees.csv --columns x,y --type species --covariate elevation.csv\n  \
    pointillist fit tweets --kernel 'se(t_days)*periodic(t_days, period=1!)'\n  \
    grep -v test events.csv | pointillist fit - --json\n  \
    pointillist fit monday.summary tuesday.summary -o model.json\n  \
    pointillist fit --update model.json wednesday.summary -o model.json\n  \
    pointillist fit coal --prior 'lengthscale ~ lognormal(2, 0.5)'\n  \
    pointillist fit coal --basis inducing --mean paper --prior none --average off\n\n\
    Several tables, or one of more than 200 MB (Parquet: 5 million rows), are summarised first, as `summarize` does it; \
    the report says what that changed.")]
pub struct FitArgs {
    /// CSV, TSV (gzip too) or Parquet files, or summaries; or `-` for stdin, or the name of a bundled set
    #[arg(required = true, value_name = "EVENTS")]
    pub events: Vec<String>,
    /// Write the model here
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Add a summary to the events of this model, and start from it; its inducing points or lattice stay
    #[arg(long, value_name = "MODEL")]
    pub update: Option<String>,
    /// Column that names the type of each event, as species or case: two to ten types, fitted together
    #[arg(
        long = "type",
        value_name = "COLUMN",
        conflicts_with_all = ["update"],
        long_help = "Column that names the type of each event: species, cases and controls. Two to ten types, fitted together on a lattice with the log link: the logarithm \
        of the rate of each is a constant, a field that all share, and a field of its own. `predict` then has the rate of each, ratios between them and the \
        probability of a type at a place, with intervals that know that types were learned from events too. With --covariate each type has effects of its own."
    )]
    pub types: Option<String>,
    /// With --type: fit types as outputs of so many latent fields, 1 to 4 or auto, with a share of each that is learned
    #[arg(
        long,
        value_name = "L|auto",
        long_help = "With --type: fit types as outputs of so many latent fields, 1 to 4 or auto. The logarithm of the rate of each type is a constant and a share of each field, \
        which is learned and may be below 0: neurons that share a response with gains of their own, types that avoid what others seek. With auto numbers \
        from 1 on are tried, as long as evidence asks for more, and the answer is an average over them."
    )]
    pub latent: Option<String>,
    /// Column of numbers that were measured at the events, or in the table of --measured: fitted together with the rate
    #[arg(
        long,
        value_name = "COLUMN",
        conflicts_with_all = ["update", "types"],
        long_help = "Column of numbers that were measured at the events, as prevalence at survey sites, or in the table of --measured at places of their own. They are fitted together with the rate, \
        on a lattice with the log link: a value is a constant, a slope times the logarithm of the rate, a field of its own, and noise. The slope says whether places are chosen where values are high; \
        `predict --of COLUMN` then has a map that knows how they were chosen. With --covariate covariates have effects on the rate, and others on the values."
    )]
    pub value: Option<String>,
    /// Table of measurements at places of their own, with columns named after the axes; their column is --value
    #[arg(long, value_name = "FILE")]
    pub measured: Option<String>,
    /// Table of covariates on a grid, with columns named after the axes, or some of them, and one column per covariate; or a GeoTIFF; repeatable
    #[arg(
        long,
        value_name = "FILE",
        long_help = "Table of covariates, or GeoTIFF with one per band, which may raise or lower the rate: elevation, rain, land cover; repeatable.\n\
        It has columns named after the axes, or some of them, with the middles of the cells of a raster that covers the window (rows in any order); each \
        further column is a covariate of that name. One of numbers has an effect on the logarithm of the rate in proportion to it, one of texts has an effect \
        for each level beside the most common one. In a cell a covariate is the same everywhere. Cells may be missing outside the window. With covariates \
        the link is the log link."
    )]
    pub covariate: Vec<String>,
    /// Take the numbers of this covariate as the names of levels; repeatable
    #[arg(long, value_name = "NAME")]
    pub categorical: Vec<String>,
    /// Let the effect of this covariate be a smooth curve; repeatable
    #[arg(
        long,
        value_name = "NAME",
        long_help = "Let the effect of this covariate be a smooth curve in place of a line; repeatable.\n\
        It is told at five values of the covariate, each beside its mean over the window."
    )]
    pub spline: Vec<String>,
    /// How to fit.
    #[command(flatten)]
    pub options: FitOptions,
}

/// `summarize`.
#[derive(Debug, Args)]
#[command(mut_arg("trials", |arg| arg.hide(true)), mut_arg("trial_column", |arg| arg.hide(true)))]
#[command(after_help = "Examples:\n  \
    pointillist summarize events.parquet --window 0,10,0,5 -o events.summary\n  \
    pointillist summarize 2016-*.csv.gz --columns lon,lat --window border.geojson --clip -o 2016.summary\n  \
    zcat log.csv.gz | pointillist summarize - --window 0,86400 --skip-bad 100 -o log.summary\n  \
    pointillist fit monday.summary tuesday.summary -o model.json\n\n\
    One pass in little memory, however many events there are. Summaries of parts, made apart or on several machines with the same \
    --window and --cells, add up in `fit`. A cell with few events keeps them as they are, one with many has a few weighted points; cells \
    should be smaller than what the intensity is to show.")]
pub struct SummarizeArgs {
    /// CSV, TSV (gzip too) or Parquet files; `-` for stdin
    #[arg(required = true, value_name = "EVENTS")]
    pub events: Vec<String>,
    /// Write the summary here
    #[arg(short, long, value_name = "SUMMARY")]
    pub output: PathBuf,
    /// Cells on each axis (default: 110880, or 720x720, or 60x60x60)
    #[arg(long, value_name = "GRID")]
    pub cells: Option<String>,
    /// The events.
    #[command(flatten)]
    pub options: EventOptions,
}

/// Where a rate is asked for.
#[derive(Debug, Clone, Args)]
pub struct Places {
    /// File with points, one per line, in columns named after the axes (else by number)
    #[arg(long, value_name = "POINTS", conflicts_with = "grid")]
    pub at: Option<String>,
    /// Regular grid over the window, as in 200 or 100x100
    #[arg(long, value_name = "COUNTS")]
    pub grid: Option<String>,
}

/// Where the rate of a model is asked for.
#[derive(Debug, Clone, Args)]
#[command(mut_arg(
    "at",
    |at| at.help("File with points, one per line, in columns named after the model's axes (else by number)")
))]
pub struct Where {
    /// The points.
    #[command(flatten)]
    pub places: Places,
    /// Columns of the file with points, in the order of the model's axes
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
}

/// `predict`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist predict model.json > rate.csv\n  \
    pointillist predict model.json --grid 100x100 --quantiles 0.025,0.975 -o map.csv\n  \
    pointillist predict model.json --at places.csv\n  \
    pointillist predict trees.json --set elevation=200                   the rate if it were so high everywhere\n  \
    pointillist predict model.json --exceed 2 --exceed 5\n  \
    pointillist predict hits.json --components                          trend, day and week apart\n  \
    pointillist predict model.json --grid 200x200 -o rate.tif            a raster for a map\n  \
    pointillist predict cases.json --over controls.json --relative --exceed 2 -o risk.csv\n\n\
    CSV: the coordinates (and dates, if an axis is time), mean, sd, then one column per quantile and one per --exceed (with --over ratio_q0.05 and so on, without mean and sd); if some points lie \
    outside the window, a last column `inside` with 1 or 0. The rate is that of one trial at an exposure of 1.\n\n\
    With a name in .tif a GeoTIFF, for two axes: the cells of the grid tile the box around the window, and the rate at their middle is in bands, NaN where \
    that is outside. With a name in .geojson the cells inside the window, or the points of --at, as features.")]
pub struct PredictArgs {
    /// Model file, written by `fit`; `-` for stdin
    pub model: String,
    /// Hold a covariate of the model at a value all over the window, as in elevation=200 or cover=wood; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Of a model with types: the one that is meant, or two for the ratio of their rates, as in cases/controls; with measurements: what was measured
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Quantiles of the rate, between 0 and 1
    #[arg(long, value_name = "P,...", default_value = "0.05,0.5,0.95", allow_hyphen_values = true)]
    pub quantiles: String,
    /// Add a column `p>C`, the probability that the rate, or with --of what was measured, is higher than C; repeatable
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    pub exceed: Vec<String>,
    /// Components apart, for a model with --cycle or a sum as its kernel: f, and its trend, day, week
    #[arg(
        long,
        conflicts_with = "exceed",
        long_help = "The components of a model that was fitted with --cycle, or with a sum as its --kernel, each apart: trend, day, week. They are parts of f, \
        whose square is the rate, and their means add up to that of f, which is the first column. For each a mean, a standard deviation and quantiles, in \
        the root of the unit of the rate. What is not in the data is in the bands: a constant may belong to one component or to another."
    )]
    pub components: bool,
    /// The ratio of the rate to that of this model, both uncertain: cases over controls, after over before
    #[arg(
        long,
        value_name = "MODEL",
        conflicts_with_all = ["components", "of"],
        long_help = "The ratio of the rate to that of another model, learned from other events over the same place: cases over controls, after over before. Both \
        are uncertain, and independent. It has quantiles, and with --exceed C the probability that it is higher than C; where the other rate may be near 0 it \
        has no mean. At places that are outside of the other model's window it says little."
    )]
    pub over: Option<String>,
    /// Divide the ratio of --over by that of the expected numbers of events, so that 1 is the average: for controls that are a sample
    #[arg(long, requires = "over")]
    pub relative: bool,
    /// Of a model with types: the probability that an event is of each type, in place of rates
    #[arg(long, conflicts_with_all = ["over", "components"])]
    pub shares: bool,
    /// Write the CSV here instead of to stdout; a name in .tif or .geojson makes it a GeoTIFF or GeoJSON
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `score`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist score model.json heldout.csv --json\n  \
    pointillist score spikes.json later.csv --repeats 5\n\n\
    l_p is the expected log-likelihood of the held-out events, m_p the logarithm of their expected likelihood (by sampling, with \
    its standard error); l_0 and m_0 are the same with the inducing values at their posterior mean. Log-intensities are in the \
    units of the data.\n\n\
    Held-out events come from the model's window under the model's exposure. How often they were looked for is their own: --repeats or --trials \
    says it, else the bundled set's own number or the trials in their trial column; a model of one look is scored on one look.")]
pub struct ScoreArgs {
    /// Model file, written by `fit`
    pub model: String,
    /// Events that were not used in the fit, from the same window
    pub heldout: String,
    /// Of a model with types: the one that the held-out events are of, as in --of oak --where species=oak
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// The held-out events come from J looks at the window
    #[arg(long, value_name = "J", conflicts_with = "trials")]
    pub repeats: Option<usize>,
    /// Table with the columns trial,start,end of the held-out trials
    #[arg(long, value_name = "FILE")]
    pub trials: Option<String>,
    /// Column that says to which trial a held-out event belongs (default: trial, if there is one)
    #[arg(long, value_name = "NAME")]
    pub trial_column: Option<String>,
    /// Draws for m_p and m_0
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub draws: usize,
    /// Columns of the held-out file, in the order of the model's axes
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Drop held-out events outside the window instead of stopping
    #[arg(long)]
    pub clip: bool,
    /// Which rows, and how they are written.
    #[command(flatten)]
    pub rows: RowOptions,
}

/// `count`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist count model.json --in 1860,1880\n  \
    pointillist count model.json --in 2016-03-01,2016-03-02 --json\n  \
    pointillist count model.json --in 34,36,-1,1 --in 38,40,-1,1\n  \
    pointillist count model.json --in districts.geojson -o counts.csv     one row for each feature\n  \
    pointillist count model.json --in districts.geojson -o counts.geojson the features, for a map\n  \
    pointillist count model.json --every 1h -o hours.csv\n  \
    pointillist count model.json --in shifts.csv -o counts.csv            a table with the columns start,end\n\n\
    `expected` is the integral of the intensity, uncertain as the intensity is; `new count` is a number of events drawn from it.")]
pub struct CountArgs {
    /// Model file, written by `fit`
    pub model: String,
    /// Hold a covariate of the model at a value all over the window, as in elevation=200 or cover=wood; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Of a model with types: the one that is meant (default: each of them)
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// Region: lo,hi for each axis, a GeoJSON file, or a table of boxes (default: the whole window); repeatable
    #[arg(
        long = "in",
        value_name = "LO,HI,...|FILE",
        allow_hyphen_values = true,
        long_help = "Where to count (default: in the whole window); repeatable.\n\
        A box is lo,hi for each axis, with dates for an axis of dates. A GeoJSON file gives one region for each of its features, with \
        their properties; axes after the second follow it: districts.geojson,0,5. A table (.csv, .tsv, .parquet) gives one region for each of its \
        rows, from the columns AXIS_lo and AXIS_hi of every axis (on one axis also start,end or lo,hi) and a column `name` if there is one.\n\
        Where the window of the model is one box without an exposure, or several stretches of a line, a region may reach beyond it: there the count is a \
        forecast, and a warning says so. In gaps between stretches, where nobody looked, it is what the model expects there, with \
        a warning; without --in, and in the bins of --every, gaps are left out. Beyond an exposure --exposure-beyond must say how closely is looked. Any \
        other window (a border, several boxes of a plane) says itself where events can be seen, and only what lies inside it is counted."
    )]
    pub regions: Vec<String>,
    /// With an exposure on a line: how closely regions that lie beyond the window are looked at, as in 1
    #[arg(long, value_name = "E")]
    pub exposure_beyond: Option<f64>,
    /// Cut what lies on one axis into bins of this length: 0.5, or with dates 1h, 30min, 7d, 1month
    #[arg(long, value_name = "LENGTH")]
    pub every: Option<String>,
    /// Quantiles, between 0 and 1
    #[arg(long, value_name = "P,...", default_value = "0.05,0.5,0.95", allow_hyphen_values = true)]
    pub quantiles: String,
    /// Joint draws for the quantiles, the same for all regions
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,
    /// Write a table here, one row for each region: CSV, or with --json JSON; a name in .geojson makes it a layer of a map
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `contrast`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist contrast model.json --in 1860,1880 --in 1920,1940\n  \
    pointillist contrast model.json --in districts.geojson --json         a file with two features\n  \
    pointillist contrast before.json after.json                           two models of one window\n  \
    pointillist contrast before.json after.json --in 34,36,-1,1\n\n\
    A and B are expected numbers of events, as `count` has them, in the order given. Two regions of one model are compared in joint draws of \
    its intensity; two models are independent. A / B has quantiles alone: where B may be near 0 its mean does not exist.")]
pub struct ContrastArgs {
    /// One model file, for two regions; or two
    #[arg(required = true, value_name = "MODEL", num_args = 1..=2)]
    pub models: Vec<String>,
    /// Region, as `count` takes it: lo,hi for each axis, a GeoJSON file, or a table of boxes; repeatable
    #[arg(
        long = "in",
        value_name = "LO,HI,...|FILE",
        allow_hyphen_values = true,
        long_help = "Region, as `count` takes it: lo,hi for each axis, a GeoJSON file, or a table of boxes; repeatable.\n\
        With one model there must be two regions in all, A and B. With two models there may be one, in which both are counted (default: the whole \
        window, which must then be the same)."
    )]
    pub regions: Vec<String>,
    /// Of a model with types: the one that is meant in two regions, or two that are compared in one, as in cases/controls
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// Quantiles, between 0 and 1
    #[arg(long, value_name = "P,...", default_value = "0.05,0.5,0.95", allow_hyphen_values = true)]
    pub quantiles: String,
    /// Draws of the intensity
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub draws: usize,
}

/// `sample`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist sample model.json --draws 20 > draws.csv       columns draw1, ...\n  \
    pointillist sample model.json --events --draws 5           five sets of events")]
pub struct SampleArgs {
    /// Model file, written by `fit`
    pub model: String,
    /// Hold a covariate of the model at a value all over the window, as in elevation=200 or cover=wood; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Of a model with types: the one that is meant (default with --events: all of them, in a column `type`)
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// Number of draws
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub draws: usize,
    /// Draw sets of events instead of intensities
    #[arg(long)]
    pub events: bool,
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Write the CSV here instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist simulate --intensity '5*sin(x^2) + 6' --window 0,5 > events.csv\n  \
    pointillist simulate --intensity 'interp(s, 0,2, 25,3, 50,1)' --window 0,50 --columns s --draws 9\n  \
    pointillist simulate --intensity '1 + cos(2*pi*t)' --window 2016-03-01,2016-03-15 --columns t\n  \
    pointillist simulate --intensity 'x + y' --window border.geojson --exposure effort.csv\n  \
    pointillist simulate --model model.json --draws 5\n  \
    pointillist simulate --model model.json --mean -o events.csv\n  \
    pointillist simulate --sgcp 'ceiling=10, lengthscale=9' --window 0,50 --draws 2 --truth truth.csv\n\n\
    CSV: a column `draw` if there are several draws (which `fit` takes as trials), then the coordinates (and dates, if an axis is time). On one axis the events \
    rise; on several they come in no order. A spike of the intensity that is far narrower than the 4000th part of the window (two axes: \
    the 50th part of each side) may be missed.")]
pub struct SimulateArgs {
    /// Intensity, as a formula of the axes
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Intensity",
        long_help = "Intensity, as a formula of the axes: events per unit of length, area or volume (and of exposure, in one repeat).\n\
        The axes go by the names of --columns, else x, y and t; an axis of dates is counted in --time-unit from the midnight before \
        the window begins. There are numbers, pi and e; + - * / ^ and brackets; exp, log, sqrt, sin, cos, tan, tanh, abs, min and max; \
        step(x), which is 0 below 0 and else 1; sigmoid(x); and interp(x, 0,2, 25,3, 50,1), the line through the points (0, 2), (25, 3) \
        and (50, 1), level beyond its ends."
    )]
    pub intensity: Option<String>,
    /// Draw the intensity too, from a sigmoidal Gaussian Cox process, as in 'ceiling=10, lengthscale=0.2'
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        help_heading = "Intensity",
        long_help = "Draw the intensity too, from a sigmoidal Gaussian Cox process, as in \
        'ceiling=10, lengthscale=0.2, variance=1, mean=0': it is ceiling·sigmoid(f), f a Gaussian process with a squared \
        exponential kernel. All draws of events are from this one intensity, so that of two draws one can be fitted and \
        the other held out.\n\
        No rate lies above the ceiling, in events per unit of length, area or volume. The lengthscale is in the units \
        of the axes; lengthscale[y]=0.5 is that of one axis, by name or by number from 0. Variance and mean are those \
        of f; they are 1 and 0 as long as nothing is said."
    )]
    pub sgcp: Option<String>,
    /// Model file, written by `fit`: each draw takes an intensity from its posterior, then events from that
    #[arg(long, value_name = "MODEL", help_heading = "Intensity")]
    pub model: Option<String>,
    /// With --model: hold a covariate of the model at a value all over the window, as in elevation=200 or cover=wood; repeatable
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Intensity")]
    pub set: Vec<String>,
    /// Take the posterior mean of the model as the intensity of all draws
    #[arg(long, help_heading = "Intensity")]
    pub mean: bool,
    /// Where events fall: lo,hi for each axis, or a GeoJSON border (or the name of a bundled one); repeatable
    #[arg(long, value_name = "LO,HI,...|BORDER", allow_hyphen_values = true)]
    pub window: Vec<String>,
    /// Names of the axes (default: x, or x,y, or x,y,t)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// The window is looked at J times: the events of all looks together
    #[arg(long, value_name = "J")]
    pub repeats: Option<usize>,
    /// Table of how closely the window is looked at, as for `fit`
    #[arg(long, value_name = "FILE")]
    pub exposure: Option<String>,
    /// Unit in which dates are counted
    #[arg(long, value_name = "UNIT", value_parser = time_units(), ignore_case = true, default_value_t = TimeUnit::Days)]
    pub time_unit: TimeUnit,
    /// Number of draws: independent sets of events (with --sgcp all from one intensity)
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub draws: usize,
    /// Write the intensity on a grid here, as CSV: the axes' columns and `rate`, as `compare --truth` reads it
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Regular grid of --truth over the window, as in 200 or 100x100; what lies outside the window is left out
    #[arg(long, value_name = "COUNTS")]
    pub grid: Option<String>,
    /// Write the CSV here instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `plot`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist plot model.json -o rate.svg\n  \
    pointillist plot kenya -o kenya.png\n  \
    pointillist plot model.json --terminal\n  \
    pointillist plot model.json --size one-column --log --mark 1900=reform -o rate.pdf\n  \
    pointillist plot model.json --until 1980 -o forecast.svg\n  \
    pointillist plot map.json --mark-anomalies -o map.png")]
pub struct PlotArgs {
    /// Model file, or events (a file, `-` or a bundled set), which are fitted first
    pub subject: String,
    /// Of a model with types: the one that is meant, or two for the ratio of their rates, as in cases/controls; with measurements: what was measured
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// Hold a covariate of the model at a value all over the window, as in elevation=200 or cover=wood; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Write the figure here, as .svg, .pdf or .png
    #[arg(short, long, value_name = "FIGURE")]
    pub output: Option<PathBuf>,
    /// Draw in the terminal
    #[arg(long)]
    pub terminal: bool,
    /// File of events to show with a model (default: those that it keeps)
    #[arg(long = "events", value_name = "FILE")]
    pub overlay: Option<String>,
    /// Lower and upper quantile of the band
    #[arg(long, value_name = "LO,HI", default_value = "0.05,0.95", allow_hyphen_values = true)]
    pub quantiles: String,
    /// Draw the components apart, for a model with --cycle or a sum as its kernel: trend, day, week
    #[arg(
        long,
        long_help = "Draw the components of a model that was fitted with --cycle, or with a sum as its --kernel, one below the other: the trend over the window, the \
        day from midnight to midnight, the week from Monday. Each curve is the rate if all other components stood at their average over the window, with \
        its band; that of a cycle is the average over all cycles in the window. On a map the trend is a map and a curve over time, and each is the average over the \
        axes that it does not show."
    )]
    pub components: bool,
    /// Heading of the figure
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// What is drawn, and how.
    #[command(flatten)]
    pub figure: FigureOptions,
    /// How to fit events.
    #[command(flatten)]
    pub options: FitOptions,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist report model.json -o report.html\n  \
    pointillist report map.json -o map.html --title 'Cases in 2024' --cells 200\n  \
    pointillist report outbreak.json -o outbreak.html --times 60\n\n\
    The page has everything in it and opens without a network: on a line the rate with bands of 50 and 90 %, the events, and rescaled times; on a map layers of \
    mean, standard deviation, quantiles, and the probability that the rate exceeds a threshold that the reader chooses; over time a slider.")]
pub struct ReportArgs {
    /// Model file, written by `fit`; `-` for stdin
    pub model: String,
    /// Write the page here, as .html
    #[arg(short, long, value_name = "PAGE")]
    pub output: PathBuf,
    /// Of a model with types: the one that is meant, or a ratio of two, as in a/b
    #[arg(long, value_name = "TYPE[/TYPE]")]
    pub of: Option<String>,
    /// Hold a covariate of the model at a value all over the window, as in elevation=200 or cover=wood; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Heading of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// With three axes: the slider goes over so many even places of the last, 2 to 200 (default: 16, more where the rate repeats itself)
    #[arg(long, value_name = "N", conflicts_with = "at_times")]
    pub times: Option<String>,
    /// With three axes: the slider goes over these places of the last axis, numbers or dates
    #[arg(long, value_name = "T1,T2,...", allow_hyphen_values = true)]
    pub at_times: Option<String>,
    /// About how many cells a map has on each side, 10 to 400
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(10..=400))]
    pub cells: u16,
}

/// What a figure shows, and how it looks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Figure")]
pub struct FigureOptions {
    /// What is drawn: mean, sd, quantile=P, or exceed=RATE, the probability that the rate is higher
    #[arg(long, value_name = "WHAT", default_value = "mean")]
    pub show: String,
    /// Draw the rate of another model over it, on the same axis; repeatable
    #[arg(long = "with", value_name = "MODEL")]
    pub with: Vec<String>,
    /// Point at a place of the axis, a number or a date; repeatable
    #[arg(long, value_name = "PLACE[=LABEL]", allow_hyphen_values = true)]
    pub mark: Vec<String>,
    /// Go on beyond the window as far as this place of the axis, a number or a date: a forecast with its band on a grey ground
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, conflicts_with = "with")]
    pub until: Option<String>,
    /// Mark the parts whose number of events is outside of the 95 % band of a new count, as `check --fit` lists them
    #[arg(long)]
    pub mark_anomalies: bool,
    /// With three axes: so many maps at even steps of the last, each with the events nearest to it (default: 6)
    #[arg(long, value_name = "N", conflicts_with = "at_times")]
    pub times: Option<String>,
    /// With three axes: maps at these places of the last axis, numbers or dates
    #[arg(long, value_name = "T1,T2,...", allow_hyphen_values = true)]
    pub at_times: Option<String>,
    /// Draw rates on a scale of logarithms
    #[arg(long)]
    pub log: bool,
    /// Lowest and highest rate of the axis or of the colours (default: all there is to see)
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
    pub limits: Option<String>,
    /// The colours of a map (default: viridis); bright is high in all of them
    #[arg(long, value_name = "NAME", value_enum)]
    pub palette: Option<PaletteName>,
    /// Which events are drawn (default: as many as can be told apart)
    #[arg(long, value_name = "WHICH", value_enum)]
    pub points: Option<PointsName>,
    /// Label of the x axis
    #[arg(long, value_name = "TEXT")]
    pub xlabel: Option<String>,
    /// Label of the y axis
    #[arg(long, value_name = "TEXT")]
    pub ylabel: Option<String>,
    /// Size on paper: one-column (85 mm wide), two-column (174 mm), or width and height in mm
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
}

/// The colours of maps, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaletteName {
    /// Violet, green, yellow.
    Viridis,
    /// Black, magenta, cream.
    Magma,
    /// Blue, grey, yellow.
    Cividis,
    /// Nearly black to nearly white.
    Grey,
}

/// Which events a figure shows, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PointsName {
    /// None.
    Hide,
    /// Some 2000 at the most.
    Thin,
    /// All of them.
    All,
}

/// How often held-out events were looked for, beside those that were fitted.
#[derive(Debug, Clone, Args)]
pub struct HeldOutOptions {
    /// The held-out events come from J looks at the window (default: the trials in their trial column; one if the others do)
    #[arg(long, value_name = "J", conflicts_with = "heldout_trials", help_heading = "Events")]
    pub heldout_repeats: Option<usize>,
    /// Table with the columns trial,start,end of the held-out trials
    #[arg(long, value_name = "FILE", help_heading = "Events")]
    pub heldout_trials: Option<String>,
}

/// What every rival is fitted to, and asked for.
#[derive(Debug, Args)]
pub struct RivalOptions {
    /// Events: a CSV, TSV (gzip too) or Parquet file, `-` for stdin, or the name of a bundled set
    pub events: String,
    /// Held-out events from the same window, to be scored
    #[arg(long, value_name = "FILE")]
    pub heldout: Option<String>,
    /// How often they were looked for.
    #[command(flatten)]
    pub looks: HeldOutOptions,
    /// Where the rate is asked for.
    #[command(flatten)]
    pub place: Places,
    /// Write the rate here, as CSV
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The events.
    #[command(flatten)]
    pub options: EventOptions,
}

impl RivalOptions {
    /// Whether the rate at points is asked for.
    pub fn asks_for_rates(&self) -> bool {
        self.place.at.is_some() || self.place.grid.is_some() || self.output.is_some()
    }
}

/// `smooth`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist smooth coal\n  \
    pointillist smooth kenya --window kenya --clip --grid 50x50 -o smooth.csv\n  \
    pointillist smooth train.csv --window 0,50 --heldout heldout.csv --json\n\n\
    The rate is a sum of Gaussians, one per event; its bandwidth, one per axis, maximises the leave-one-out likelihood. `truncate` divides each \
    Gaussian by its share inside the window.")]
pub struct SmoothArgs {
    /// What to do about the part of a Gaussian outside the window
    #[arg(long, value_enum, default_value_t = EdgeName::Truncate)]
    pub edge_correction: EdgeName,
    /// Bandwidth, one number per axis (default: by leave-one-out likelihood)
    #[arg(long, value_name = "H,...", value_delimiter = ',')]
    pub bandwidth: Option<Vec<f64>>,
    /// What to do with the rival.
    #[command(flatten)]
    pub rival: RivalOptions,
}

/// Edge corrections, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EdgeName {
    /// Divide each Gaussian by its share inside the window.
    Truncate,
    /// Nothing.
    None,
}

/// `sgcp`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist sgcp coal --checkpoint coal.sgcp --grid 200 -o rate.csv\n  \
    pointillist sgcp train.csv --window 0,50 --heldout heldout.csv --json\n\n\
    The rate is a ceiling times a sigmoid of a Gaussian process (Adams, Murray and MacKay 2009); hyper-parameters are sampled too. With \
    --checkpoint the run is saved every few seconds and at its end, and the same command goes on from there; --max-sweeps, --r-hat and \
    --effective may then be others, nothing else.")]
pub struct SgcpArgs {
    /// Save the run here, and go on from it if it is there
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Independent chains
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64).map(usize::from))]
    pub chains: usize,
    /// Sweeps to learn step sizes in, which are not used
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub warm_up: usize,
    /// Most sweeps after them
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub max_sweeps: usize,
    /// Stop once every R-hat is below this, ...
    #[arg(long, value_name = "X", default_value_t = 1.01)]
    pub r_hat: f64,
    /// ... and every effective number of draws at least this
    #[arg(long, value_name = "N", default_value_t = 400.0)]
    pub effective: f64,
    /// Thin to a bound of its own in each part of the window, or to one bound everywhere (more thinned events: slower)
    #[arg(long, value_enum, default_value_t = ThinningName::Adaptive)]
    pub thinning: ThinningName,
    /// What to do with the rival.
    #[command(flatten)]
    pub rival: RivalOptions,
}

/// Ways of thinning, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThinningName {
    /// A bound of its own in each part: the same answers in every test, from fewer thinned events.
    Adaptive,
    /// One bound everywhere.
    Uniform,
}

/// `compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist compare coal --splits 20\n  \
    pointillist compare train.csv heldout.csv --window 0,50 --truth truth.csv\n  \
    pointillist compare train.csv heldout.csv --window 0,2 --repeats 15 --heldout-repeats 5\n  \
    pointillist compare kenya --window kenya --clip --inducing 20x20 --methods vbpp,ks+ec --csv scores.csv\n\n\
    Scores of held-out events, higher is better: `log_likelihood` at the mean rate, for all; `m_p`, the logarithm of their expected \
    likelihood, where a method has a posterior. Held-out events come from the window of the \
    others and under their exposure. With several splits the table has means, and differences from vbpp with standard errors over \
    splits.")]
pub struct CompareArgs {
    /// Events, as in `fit`
    pub train: String,
    /// Held-out events from the same window (default: a random half of the events)
    pub heldout: Option<String>,
    /// How often they were looked for.
    #[command(flatten)]
    pub looks: HeldOutOptions,
    /// Which methods
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_enum,
        default_value = "vbpp,ks+ec,ks-ec,homogeneous"
    )]
    pub methods: Vec<ContenderName>,
    /// Draws for m_p
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub draws: usize,
    /// Number of random halves
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "heldout")]
    pub splits: u64,
    /// Table with the axes' columns and one of the true rate of the training events: adds `rms` and the integrated squared error `ise`
    #[arg(long, value_name = "GRID")]
    pub truth: Option<String>,
    /// Write one row per split and method here
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// How to fit.
    #[command(flatten)]
    pub options: FitOptions,
}

/// The methods that are compared, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContenderName {
    /// What `fit` does with these options
    Vbpp,
    /// The paper's model: inducing points at the maximum of the bound
    Paper,
    /// What `fit --basis inducing` does: inducing points, averaged over their hyper-parameters
    Inducing,
    /// Kernel smoothing with edge correction
    #[value(name = "ks+ec")]
    SmoothedWithin,
    /// Kernel smoothing without
    #[value(name = "ks-ec")]
    Smoothed,
    /// One rate everywhere
    Homogeneous,
    /// The sigmoidal Gaussian Cox process, which takes minutes
    Sgcp,
}

impl ContenderName {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
}

/// `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist fit coal -o model.json && pointillist check model.json coal\n  \
    pointillist check model.json events.csv --draws 20000 --json\n  \
    pointillist check model.json --fit\n  \
    pointillist check model.json --fit --every 7d -o weeks.csv\n\n\
    With --fit: whether the events look like events of the model. Counts at several scales, rescaled times on a line, pairs of events beside those of 99 sets drawn \
    at its mean rate, and counts in bins beside the bands of 95 % of new counts; the bins that are outside are listed, with what to try.\n\n\
    Without it: over the window, the largest and the median difference of the rate's mean and 5 % and 95 % quantiles from those of the exact posterior \
    of the same model with the same hyper-parameters; and the Pareto k of the variational approximation (below 0.5 it is close, above 0.7 it \
    misses something).")]
pub struct CheckArgs {
    /// Model file, written by `fit`
    pub model: String,
    /// The events it was fitted to; with --fit those that it keeps, if none are given
    pub events: Option<String>,
    /// Look at the fit alone: whether the events look like events of the model, and where they do not
    #[arg(long)]
    pub fit: bool,
    /// With --fit, of a model with types: the one that is meant
    #[arg(long, value_name = "TYPE")]
    pub of: Option<String>,
    /// With --fit: where to count, as `count --in` (default: even bins)
    #[arg(long = "in", value_name = "LO,HI,...|FILE", allow_hyphen_values = true)]
    pub regions: Vec<String>,
    /// With --fit: bins of this length, as `count --every`
    #[arg(long, value_name = "LENGTH")]
    pub every: Option<String>,
    /// With --fit: write a table of the bins here, CSV, or with --json JSON
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exact draws
    #[arg(long, value_name = "N", default_value_t = 8000)]
    pub draws: usize,
    /// Columns of the file of events, in the order of the model's axes
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Drop events outside the window instead of stopping
    #[arg(long)]
    pub clip: bool,
    /// Which rows, and how they are written.
    #[command(flatten)]
    pub rows: RowOptions,
}

/// `calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist calibrate --sets 100 --events 50 --link log\n  \
    pointillist calibrate --families own,all --truths 100 -o calibration.md\n  \
    pointillist calibrate --dims 1,2 --sets 1000,200 --json > calibration.json\n\n\
    Simulation-based calibration: hyper-parameters, f and events are drawn from the priors that an averaged fit has, and fitted. If \
    the answers are right, the posterior probability below a truth (its rank) is uniform: of the rate at random places, of expected counts in random regions, of range \
    and standard deviation. The page has 20 bins of each with a chi-squared p-value, and how often central intervals of 50, 80, 90 and 95 % hold the \
    truth, with standard errors over sets. With --truths the same for the 90 % intervals of known intensities. Without options about 2 minutes.")]
pub struct CalibrateArgs {
    /// Axes of the sets: 1, 2 or both
    #[arg(long, value_name = "D", value_delimiter = ',', default_value = "1")]
    pub dims: Vec<usize>,
    /// About how many events a set has; several make several tables
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "50,200,1000")]
    pub events: Vec<usize>,
    /// Number of sets: one for all, or one for each of --dims
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "200")]
    pub sets: Vec<usize>,
    /// How the intensity of the sets is made from f
    #[arg(long, value_name = "LINK", default_value = "both", value_parser = PossibleValuesParser::new(Link::ALL.iter().map(|link| link.name()).chain(["both"])))]
    pub link: String,
    /// What is fitted to them
    #[arg(long, value_name = "WHICH", value_delimiter = ',', value_enum, default_value = "all")]
    pub families: Vec<FamiliesName>,
    /// Also so many sets of each of some known intensities with these axes: flat, those of Adams, bumps, a cluster in a wide window
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub truths: usize,
    /// Write the page (Markdown; with --json the numbers) here instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What is fitted to simulated sets, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FamiliesName {
    /// The family that the sets come from, averaged over its hyper-parameters: ranks should be uniform
    Own,
    /// All families, as `fit` without options has them
    All,
}

/// `reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist reproduce coal -o results\n  \
    pointillist reproduce --quick -o results\n  \
    pointillist reproduce coal -o results --keep fits --again default\n\n\
    Writes a page (README.md), figures (SVG), tables (CSV) and all numbers (JSON) into the folder; parts that were run before stay on the page. \
    All parts take about two hours on two cores, most of them for the sampler; --quick takes seconds and shows that everything runs.")]
pub struct ReproduceArgs {
    /// Which part
    #[arg(value_enum, default_value_t = Part::All)]
    pub part: Part,
    /// Folder for the results
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    pub output: PathBuf,
    /// Tiny sizes: the numbers mean nothing
    #[arg(long)]
    pub quick: bool,
    /// Folder for what single fits gave: a run that was stopped goes on where it was
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Fit this method anew, whatever was kept of it, as in --again default (repeat for several)
    #[arg(long, value_name = "METHOD")]
    pub again: Vec<String>,
}

/// The experiments, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Five functions in the plane, and four maps (Table 1)
    Synthetic,
    /// Coal mining disasters
    Coal,
    /// Tweets
    Twitter,
    /// Aftershocks
    Aftershocks,
    /// Malaria in Kenya
    Malaria,
    /// Run times (Table 2)
    Times,
    /// The function G̃
    Link,
    /// The intensities of Adams, Murray and MacKay
    Adams,
    /// Inducing points and lattices on smooth maps and real events
    Families,
    /// All of them
    All,
}

impl Part {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }

    /// What it is, in a few words.
    pub fn what(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }
}

/// `kernels`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist kernels\n  \
    pointillist kernels periodic\n\n\
    They are used in --kernel, alone or combined: pointillist fit events.csv --kernel 'matern32(x) + se(x)*periodic(x, period=24!)'.")]
pub struct KernelsArgs {
    /// The kernel to show (default: all, and how they combine)
    pub name: Option<String>,
}

/// `data`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist data\n  \
    pointillist data coal > coal.csv\n  \
    pointillist data kenya --border > kenya.geojson\n\n\
    The names also stand for the sets wherever events are read: pointillist fit coal.")]
pub struct DataArgs {
    /// The set to print
    pub name: Option<String>,
    /// Print its border, as GeoJSON, instead
    #[arg(long, requires = "name")]
    pub border: bool,
    /// Write the CSV here instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist show model.json\n  \
    pointillist show model.json --json\n\n\
    The text, the JSON and the warnings are those of `fit`, without the time that it took.")]
pub struct ShowArgs {
    /// Model file, written by `fit`; `-` for stdin
    pub model: String,
}

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist completions bash > ~/.local/share/bash-completion/completions/pointillist\n  \
    pointillist completions zsh > ~/.zfunc/_pointillist\n  \
    pointillist completions fish > ~/.config/fish/completions/pointillist.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pointillist man | man -l -\n  \
    pointillist man fit | man -l -\n  \
    pointillist man -o ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The command whose page to print (default: the page of all of them)
    #[arg(conflicts_with = "output")]
    pub command: Option<String>,
    /// Write every page into this folder instead
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A sentence for a value that is none of those there are, if `error` complains of one.
pub fn none_of(error: &clap::Error) -> Option<String> {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    let (ErrorKind::InvalidValue, Some(ContextValue::Strings(there))) =
        (error.kind(), error.get(ContextKind::ValidValue))
    else {
        return None;
    };
    let option = text(ContextKind::InvalidArg)?.split(' ').next()?;
    let given = text(ContextKind::InvalidValue)?;
    Some(format!("{option}: `{given}` is none of {}", there.join(", ")))
}

/// A sentence for a verb or an option that is planned but not there, if `error` complains of one.
pub fn not_yet(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => return None,
    };
    let Some(ContextValue::String(asked)) = error.get(kind) else { return None };
    let name = asked.split([' ', '=']).next().unwrap_or_default();
    LATER.contains(&name).then(|| not_in_this_version(name))
}

fn not_in_this_version(name: &str) -> String {
    let there =
        if name.starts_with('-') { "see --help for what there is".into() } else { format!("there are: {VERBS}") };
    format!("{name} is not in this version; {there}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_an_example() {
        for verb in Cli::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("pointillist {}", verb.get_name());
            assert!(help.starts_with("Examples:") && help.contains(&example), "{}: {help}", verb.get_name());
            assert!(VERBS.contains(verb.get_name()), "{} is not in VERBS", verb.get_name());
        }
    }

    #[test]
    fn what_is_planned_gets_a_sentence() {
        let sentence = not_in_this_version("forecast");
        assert!(sentence.contains("not in this version") && sentence.contains("summarize, predict"), "{sentence}");
        assert!(!sentence.contains('\n') && !sentence.contains("  "), "{sentence}");
        assert!(not_in_this_version("--frob").contains("--help"));
        assert!(not_yet(&Cli::try_parse_from(["pointillist", "forecast", "coal"]).unwrap_err()).is_none());
        assert!(not_yet(&Cli::try_parse_from(["pointillist", "fit", "coal", "--wndow", "1"]).unwrap_err()).is_none());
    }
}
