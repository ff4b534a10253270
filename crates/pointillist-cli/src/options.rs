//! Which options mean something where: an option that was typed and does nothing is refused, by this one table.
//!
//! [`TABLE`] says for every option of every verb what it is about (its kinds); a [`Mode`], of which a verb learns as it goes, says which
//! kinds then mean nothing, and why. To add an option, add its id (as clap has it, with `_`) to a line of the table; a test says so if it is
//! forgotten. Not here: options of all verbs, and pairs that contradict each other (`conflicts_with` in `args.rs`).

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// What an option is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It means something whatever else is asked for.
    Always,
    /// How a table of events is read, and where they were looked for.
    Reading,
    /// Dates.
    Dates,
    /// Degrees on the globe.
    Globe,
    /// Which trial an event belongs to.
    Trials,
    /// How a fit is made.
    Fitting,
    /// Which inducing points, or which lattice.
    Shape,
    /// Inducing points alone.
    Inducing,
    /// Lattices alone.
    Lattice,
    /// Weighted nodes in place of events.
    Nodes,
    /// The events themselves.
    Events,
    /// Held-out events.
    HeldOut,
    /// Sampled scores.
    Sampled,
    /// A picture, ...
    Picture,
    /// ... its band, ...
    Band,
    /// ... what is drawn on a line alone, ...
    Line,
    /// ... or where there is one curve of the rate alone, ...
    OneCurve,
    /// ... its scale of colours, ...
    Colours,
    /// ... the maps of which it is made, ...
    Panels,
    /// ... its scale of rates, ...
    RateScale,
    /// ... its size on paper, ...
    Paper,
    /// ... and where it is shown.
    Terminal,
    /// A window, which models have themselves.
    Window,
    /// The posterior mean of a model.
    PosteriorMean,
    /// One intensity of all draws, ...
    Truth,
    /// ... and where it is computed.
    TruthPlaces,
    /// Where a rate is asked for, ...
    Places,
    /// ... if it is in a file.
    PlacesFile,
    /// The exact posterior.
    Exact,
    /// Counts in bins.
    Bins,
    /// Covariates of a model.
    Covariates,
}

/// Options of some verbs that are about the same.
struct Line {
    verbs: &'static [&'static str],
    options: &'static [&'static str],
    kinds: &'static [Kind],
}

const fn line(verbs: &'static [&'static str], options: &'static [&'static str], kinds: &'static [Kind]) -> Line {
    Line { verbs, options, kinds }
}

/// The verbs that fit a model, and those that read tables of events with all options for it.
const FITS: &[&str] = &["fit", "plot", "compare"];
const READS: &[&str] = &["fit", "plot", "compare", "summarize", "smooth", "sgcp"];
const RIVALS: &[&str] = &["smooth", "sgcp"];

/// Every option of every verb, once.
const TABLE: &[Line] = &[
    line(
        READS,
        &["columns", "window", "repeats", "exposure", "clip", "skip_bad", "filter", "unit", "date_format", "epoch"],
        &[Kind::Reading],
    ),
    line(READS, &["trials", "trial_column"], &[Kind::Reading, Kind::Trials]),
    line(READS, &["time_unit", "time_zone"], &[Kind::Reading, Kind::Dates]),
    line(READS, &["geography"], &[Kind::Reading, Kind::Globe]),
    line(READS, &["crs"], &[Kind::Reading]),
    line(FITS, &["basis", "link"], &[Kind::Fitting, Kind::Shape]),
    line(FITS, &["nodes", "smoothness", "vary", "budget"], &[Kind::Fitting, Kind::Shape, Kind::Lattice]),
    line(FITS, &["inducing"], &[Kind::Fitting, Kind::Shape, Kind::Inducing]),
    line(FITS, &["kernel", "cycle"], &[Kind::Fitting, Kind::Shape, Kind::Inducing]),
    line(FITS, &["optimise_inducing", "method", "jitter"], &[Kind::Fitting, Kind::Inducing]),
    line(FITS, &["tolerance"], &[Kind::Fitting, Kind::Inducing, Kind::Nodes]),
    line(FITS, &["exact"], &[Kind::Fitting, Kind::Events]),
    line(FITS, &["mean"], &[Kind::Fitting, Kind::Shape]),
    line(FITS, &["average"], &[Kind::Fitting]),
    line(FITS, &["prior", "fix", "errors", "max_evaluations"], &[Kind::Fitting]),
    line(&["compare", "smooth", "sgcp"], &["heldout_repeats", "heldout_trials"], &[Kind::HeldOut]),
    line(&["compare"], &["draws"], &[Kind::Sampled]),
    line(&["plot"], &["title", "points"], &[Kind::Picture]),
    line(&["plot"], &["mark_anomalies", "overlay", "show", "xlabel", "ylabel"], &[Kind::Picture, Kind::OneCurve]),
    line(&["plot"], &["mark", "with", "until"], &[Kind::Picture, Kind::Line, Kind::OneCurve]),
    line(&["plot"], &["components"], &[Kind::Picture]),
    line(&["plot"], &["palette"], &[Kind::Picture, Kind::Colours]),
    line(&["plot"], &["times", "at_times"], &[Kind::Picture, Kind::Panels]),
    line(&["plot"], &["log", "limits"], &[Kind::Picture, Kind::RateScale]),
    line(&["plot"], &["size"], &[Kind::Picture, Kind::Paper]),
    line(&["plot"], &["quantiles"], &[Kind::Picture, Kind::Band]),
    line(&["plot"], &["terminal"], &[Kind::Picture, Kind::Terminal]),
    line(&["simulate"], &["window", "columns", "repeats", "exposure"], &[Kind::Window]),
    line(&["simulate"], &["time_unit"], &[Kind::Window, Kind::Dates]),
    line(&["simulate"], &["mean"], &[Kind::PosteriorMean]),
    line(&["simulate"], &["truth"], &[Kind::Truth]),
    line(&["simulate"], &["grid"], &[Kind::TruthPlaces]),
    line(&["predict", "sample"], &["at", "grid"], &[Kind::Places]),
    line(&["predict", "sample"], &["columns"], &[Kind::Places, Kind::PlacesFile]),
    line(
        &["fit"],
        &["output", "update", "types", "latent", "value", "measured", "covariate", "categorical", "spline"],
        &[Kind::Always],
    ),
    line(&["predict", "count", "sample", "plot", "report"], &["set"], &[Kind::Always]),
    line(&["simulate"], &["set"], &[Kind::Covariates]),
    line(&["predict", "count", "sample", "plot", "score", "contrast", "report"], &["of"], &[Kind::Always]),
    line(&["summarize"], &["output", "cells"], &[Kind::Always]),
    line(&["predict"], &["quantiles", "exceed", "components", "over", "relative", "shares", "output"], &[Kind::Always]),
    line(
        &["score"],
        &["repeats", "trials", "trial_column", "draws", "columns", "clip", "filter", "date_format", "epoch"],
        &[Kind::Always],
    ),
    line(&["count"], &["regions", "exposure_beyond", "every", "quantiles", "draws", "output"], &[Kind::Always]),
    line(&["contrast"], &["regions", "quantiles", "draws"], &[Kind::Always]),
    line(&["sample"], &["draws", "events", "output"], &[Kind::Always]),
    line(&["simulate"], &["intensity", "sgcp", "model", "draws", "output"], &[Kind::Always]),
    line(&["plot"], &["output"], &[Kind::Always]),
    line(&["report"], &["output", "title", "cells", "times", "at_times"], &[Kind::Always]),
    line(RIVALS, &["heldout", "at", "grid", "output"], &[Kind::Always]),
    line(&["smooth"], &["edge_correction", "bandwidth"], &[Kind::Always]),
    line(
        &["sgcp"],
        &["checkpoint", "chains", "warm_up", "max_sweeps", "r_hat", "effective", "thinning"],
        &[Kind::Always],
    ),
    line(&["compare"], &["methods", "splits", "truth", "csv"], &[Kind::Always]),
    line(&["check"], &["fit", "columns", "clip", "filter", "date_format", "epoch"], &[Kind::Always]),
    line(&["check"], &["draws"], &[Kind::Exact]),
    line(&["check"], &["regions", "every", "output", "of"], &[Kind::Bins]),
    line(&["calibrate"], &["dims", "events", "sets", "link", "families", "truths", "output"], &[Kind::Always]),
    line(&["reproduce"], &["output", "quick", "keep", "again"], &[Kind::Always]),
    line(&["data"], &["border", "output"], &[Kind::Always]),
    line(&["man"], &["output"], &[Kind::Always]),
];

/// What turned out to be asked for, where that leaves some options without a meaning.
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    /// The picture of a model, which is this file.
    ModelPlotted(&'a str),
    /// A fit of a summary, which is this file.
    SummaryFitted(&'a str),
    /// A fit that goes on from the model in this file.
    ModelUpdated(&'a str),
    /// Events become a summary.
    Summarised,
    /// A lattice, because of this option.
    OnLattice(&'a str),
    /// Inducing points, because of this option.
    OnInducing(&'a str),
    /// Every event stays as it is.
    EveryEvent,
    /// A comparison without a model of ours.
    OnlyRivals,
    /// A comparison in which nothing is sampled.
    NothingSampled,
    /// Nothing is held out.
    NothingHeldOut,
    /// Coordinates are numbers alone.
    NoDates,
    /// No two coordinates are called longitude and latitude.
    NoDegrees,
    /// A picture of two axes, which has no band ...
    Map,
    /// ... and is no line.
    NotALine,
    /// A picture of one axis.
    NoColours,
    /// A picture of one map, or of a line.
    NoPanels,
    /// A picture of something else than rates with a band, which is this.
    NoBand(&'a str),
    /// A picture of probabilities.
    Probabilities,
    /// A picture of components.
    Components,
    /// A picture in the terminal alone.
    OnlyTerminal,
    /// JSON about a picture.
    PictureAsJson,
    /// JSON without any picture.
    NoPicture,
    /// Events are simulated from a model.
    FromModel,
    /// Each draw of a model has an intensity of its own.
    ManyIntensities,
    /// Events are simulated from something else than a model.
    FromFormula,
    /// The intensity is not written.
    NoTruth,
    /// Events are drawn, not rates at points.
    EventsDrawn,
    /// Points are on a grid, not in a file.
    NoFileOfPoints,
    /// The fit alone is looked at.
    FitChecked,
    /// The exact posterior is sampled.
    PosteriorChecked,
}

impl Mode<'_> {
    /// What means nothing, why, and what to do about it.
    fn words(&self) -> (&'static [Kind], String, &'static str) {
        let leave = "leave it out";
        match self {
            Self::ModelPlotted(path) => {
                (&[Kind::Reading, Kind::Fitting], format!("{path} is fitted already"), "give it to `fit`")
            }
            Self::SummaryFitted(path) => (
                &[Kind::Reading, Kind::Events],
                format!("{path} is a summary"),
                "give it to `summarize`, or fit the table",
            ),
            Self::ModelUpdated(path) => (
                &[Kind::Shape],
                format!("the inducing points or the lattice of {path} stay, and so does its mean"),
                leave,
            ),
            Self::Summarised => (
                &[Kind::Trials],
                "events of trials cannot be summarised".into(),
                "give --repeats if all trials have the same window, or fit them as they are",
            ),
            Self::OnLattice(option) => (
                &[Kind::Inducing],
                format!("{option} asks for a lattice"),
                "it is for inducing points: leave one of them out",
            ),
            Self::OnInducing(option) => (
                &[Kind::Lattice],
                format!("{option} asks for inducing points"),
                "it is for a lattice: leave one of them out",
            ),
            Self::EveryEvent => (&[Kind::Nodes], "--exact keeps every event as it is".into(), leave),
            Self::OnlyRivals => (
                &[Kind::Fitting],
                "--methods has none of vbpp, paper and inducing".into(),
                "add one of them, or leave it out",
            ),
            Self::NothingSampled => (&[Kind::Sampled], "no score of these --methods is sampled".into(), leave),
            Self::NothingHeldOut => {
                (&[Kind::HeldOut], "no table of held-out events is given".into(), "give one, or leave it out")
            }
            Self::NoDates => (&[Kind::Dates], "no coordinate is a date".into(), leave),
            Self::NoDegrees => (&[Kind::Globe], "no columns are called lon and lat".into(), leave),
            Self::Map => (&[Kind::Band], "a map has no band".into(), leave),
            Self::NotALine => (&[Kind::Line], "the figure is a map, not a line".into(), leave),
            Self::NoColours => (&[Kind::Colours], "a line has no scale of colours".into(), leave),
            Self::NoPanels => (&[Kind::Panels], "there are fewer than three axes".into(), leave),
            Self::NoBand(shown) => (&[Kind::Band], format!("--show {shown} has no band"), leave),
            Self::Probabilities => (&[Kind::RateScale], "a probability is drawn from 0 to 1".into(), leave),
            Self::Components => (&[Kind::OneCurve, Kind::Panels], "--components draws several curves".into(), leave),
            Self::OnlyTerminal => {
                (&[Kind::Paper], "a terminal has a size of its own".into(), "name a figure with --output")
            }
            Self::PictureAsJson => (&[Kind::Terminal], "--json leaves no room for a picture on stdout".into(), leave),
            Self::NoPicture => {
                (&[Kind::Picture], "--json without --output draws nothing".into(), "name a figure with --output")
            }
            Self::FromModel => (&[Kind::Window], "a model has its own window".into(), leave),
            Self::ManyIntensities => (
                &[Kind::Truth, Kind::TruthPlaces],
                "a model gives each draw another intensity".into(),
                "take its mean with --mean",
            ),
            Self::FromFormula => (
                &[Kind::PosteriorMean, Kind::Covariates],
                "only a --model has a posterior mean, or covariates".into(),
                leave,
            ),
            Self::NoTruth => {
                (&[Kind::TruthPlaces], "the intensity is not written".into(), "say with --truth where to write it")
            }
            Self::EventsDrawn => (&[Kind::Places], "--events draws events wherever they fall".into(), leave),
            Self::FitChecked => (&[Kind::Exact], "--fit looks at the fit alone, without exact draws".into(), leave),
            Self::PosteriorChecked => {
                (&[Kind::Bins], "bins are for a look at the fit".into(), "add --fit, or leave it out")
            }
            Self::NoFileOfPoints => (&[Kind::PlacesFile], "no file of points is read".into(), "give it with --at"),
        }
    }
}

/// The options that were typed, beside those of all verbs.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    verb: String,
    /// Their ids, and as they are written.
    options: Vec<(String, String)>,
    /// The whole command, without options of all verbs and without where its result goes.
    command: String,
}

impl Typed {
    /// By a user of this command.
    pub fn of(command: &Command, matches: &ArgMatches) -> Self {
        let Some((verb, matches)) = matches.subcommand() else { return Self::default() };
        let options = command.find_subcommand(verb).into_iter().flat_map(options_of);
        let is_typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let options: Vec<(String, String)> = options.filter(|(id, _)| is_typed(id)).collect();
        let given = command.find_subcommand(verb).into_iter().flat_map(Command::get_positionals);
        let written = command.find_subcommand(verb).into_iter().flat_map(Command::get_arguments);
        let separators: Vec<(&str, char)> =
            written.filter_map(|one| Some((one.get_id().as_str(), one.get_value_delimiter()?))).collect();
        let separator = |id: &str| separators.iter().find(|(name, _)| *name == id).map(|(_, letter)| *letter);
        let mut words = vec!["pointillist".to_string(), verb.into()];
        words.extend(given.flat_map(|one| typed_values(matches, one.get_id().as_str(), None).concat()));
        for (id, option) in options.iter().filter(|(id, _)| id != "output") {
            let occurrences = typed_values(matches, id, separator(id));
            let one = |values: Vec<String>| std::iter::once(option.clone()).chain(values);
            words.extend(occurrences.into_iter().flat_map(one));
        }
        Self { verb: verb.into(), options, command: words.join(" ") }
    }

    /// What a user would type again to get the same.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// A sentence on the first that means nothing in this mode, if there is one.
    pub fn idle(&self, mode: Mode) -> Option<String> {
        let (idle, because, remedy) = mode.words();
        let is_idle = |id: &str| kinds(&self.verb, id).any(|kind| idle.contains(&kind));
        let (_, option) = self.options.iter().find(|(id, _)| is_idle(id))?;
        Some(format!("{because}, so {option} has no effect; {remedy}"))
    }
}

/// The options of a verb, without those of all verbs: their ids, and as they are written.
fn options_of(verb: &Command) -> impl Iterator<Item = (String, String)> {
    let own = verb.get_arguments().filter(|option| !option.is_positional() && !option.is_global_set());
    own.map(|option| (option.get_id().to_string(), format!("--{}", option.get_long().unwrap_or_default())))
}

/// What was typed for an argument, each time that it was given, as a shell takes it; values that were parted at a separator are put together again.
fn typed_values(matches: &ArgMatches, id: &str, separator: Option<char>) -> Vec<Vec<String>> {
    let quoted = |text: String| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=+@%^".contains(letter);
        match !text.is_empty() && text.chars().all(is_plain) {
            true => text,
            false => format!("'{}'", text.replace('\'', "'\\''")),
        }
    };
    let together = |values: Vec<String>| match separator {
        Some(letter) => vec![quoted(values.join(&letter.to_string()))],
        None => values.into_iter().map(quoted).collect(),
    };
    let occurrences = matches.get_raw_occurrences(id).into_iter().flatten();
    // A flag has no value to type.
    let is_flag = matches.try_get_one::<bool>(id).is_ok_and(|value| value.is_some());
    let values = occurrences.map(|values| values.map(|value| value.to_string_lossy().into_owned()).collect());
    values.map(|values| if is_flag { vec![] } else { together(values) }).collect()
}

fn kinds(verb: &str, option: &str) -> impl Iterator<Item = Kind> {
    let is_there = move |line: &&Line| line.verbs.contains(&verb) && line.options.contains(&option);
    TABLE.iter().filter(is_there).flat_map(|line| line.kinds.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    /// Every option stands in the table once, and nothing else does: what is forgotten here would be ignored in silence.
    #[test]
    fn every_option_of_every_verb_stands_in_the_table_once() {
        let command = Cli::command();
        let mut wrong = Vec::new();
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            for (id, shown) in options_of(verb) {
                match TABLE.iter().filter(|line| line.verbs.contains(&name) && line.options.contains(&&*id)).count() {
                    1 => {}
                    0 => wrong.push(format!(
                        "`{shown}` of `{name}` is missing: add \"{id}\" to the line of TABLE (src/options.rs) for options of its kind, \
                         or to that of `{name}` with Kind::Always if it means something whatever else is asked for"
                    )),
                    _ => wrong.push(format!("`{shown}` of `{name}` stands in several lines of TABLE: keep one")),
                }
            }
        }
        for line in TABLE {
            for (verb, option) in
                line.verbs.iter().flat_map(|verb| line.options.iter().map(move |option| (verb, option)))
            {
                let known =
                    command.find_subcommand(verb).is_some_and(|verb| options_of(verb).any(|(id, _)| id == *option));
                if !known {
                    wrong.push(format!(
                        "`{verb}` has no option with the id \"{option}\" of its own: take it out of TABLE"
                    ));
                }
            }
        }
        assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    }

    #[test]
    fn what_was_typed_is_told_from_defaults() {
        let typed = |line: &str| {
            let command = Cli::command();
            let matches = command.clone().try_get_matches_from(line.split(' ')).unwrap();
            Typed::of(&command, &matches)
        };
        let plain = typed("pointillist plot m.json --json -o x.svg");
        assert_eq!((plain.options.len(), plain.idle(Mode::ModelPlotted("m.json"))), (1, None));
        let given = typed("pointillist plot m.json --method collapsed --exact");
        let sentence = given.idle(Mode::ModelPlotted("m.json")).unwrap();
        assert_eq!(sentence, "m.json is fitted already, so --method has no effect; give it to `fit`");
        assert_eq!(given.idle(Mode::Map), None);
        assert_eq!(typed("pointillist").options.len(), 0);
    }

    /// What is printed gives the same when it is pasted.
    #[test]
    fn a_command_can_be_typed_again() {
        let typed = |words: &[&str]| {
            let command = Cli::command();
            let matches = command.clone().try_get_matches_from(words).unwrap();
            Typed::of(&command, &matches).command
        };
        let words =
            ["pointillist", "fit", "my events.csv", "--columns", "lon,lat of it", "--clip", "--where", "is_main == 1"];
        assert_eq!(
            typed(&words),
            "pointillist fit 'my events.csv' --columns 'lon,lat of it' --where 'is_main == 1' --clip"
        );
        let plain = typed(&["pointillist", "fit", "a.csv", "--columns", "lon,lat", "--window", "0,1,0,1"]);
        assert_eq!(plain, "pointillist fit a.csv --columns lon,lat --window 0,1,0,1");
    }
}
