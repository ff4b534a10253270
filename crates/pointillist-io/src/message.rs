//! Sentences for the user: text, and between it what each front end spells in its own way.
//!
//! A sentence names the settings that would help. The command calls them `--columns`, a Python package `columns=`; so a [`Message`] holds
//! the [`Setting`], and a [`Spelling`] turns it into words at the very end. Code never looks into a sentence: what it must know of an error
//! stands in the error's own fields.

use std::fmt;

/// What a user can say of how files are read, windows are meant and models are fitted, whatever a front end calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Setting {
    /// Whether to average.
    Average,
    /// The covariates that are categories though their values are numbers.
    Categorical,
    /// The tables of covariates.
    Covariate,
    /// The value that a covariate is held at.
    Set,
    /// The covariates whose effect is a curve.
    Spline,
    /// What f is made of.
    Basis,
    /// Cells of a summary.
    Cells,
    /// Where a sampler saves itself.
    Checkpoint,
    /// Drop events outside the window.
    Clip,
    /// The columns that place the events.
    Columns,
    /// The coordinate reference system of the events.
    Crs,
    /// How closely what lies beyond an exposure is looked at.
    ExposureBeyond,
    /// The time zone whose clocks are followed.
    TimeZone,
    /// Cycles of the clock in the rate.
    Cycle,
    /// How dates are written.
    DateFormat,
    /// What numbers that are dates count.
    Epoch,
    /// The length of bins.
    Every,
    /// Never replace events by weighted nodes.
    Exact,
    /// The table of exposures.
    Exposure,
    /// Which rows are taken.
    Filter,
    /// Hyper-parameters held at a value.
    Fix,
    /// Whether coordinates are degrees on the globe.
    Geography,
    /// A grid of places.
    Grid,
    /// How often the window was looked at for held-out events.
    HeldOutRepeats,
    /// The table of trials of held-out events.
    HeldOutTrials,
    /// Inducing points.
    Inducing,
    /// What is added to the diagonal of a kernel matrix.
    Jitter,
    /// The kernel.
    Kernel,
    /// How the intensity is made from f.
    Link,
    /// How many evaluations are allowed.
    MaxEvaluations,
    /// How much memory may be taken.
    MaxMemory,
    /// The prior mean of f.
    Mean,
    /// How the bound is maximised.
    Method,
    /// How much work a lattice may take.
    Budget,
    /// Nodes of a lattice.
    Nodes,
    /// Whether inducing points are moved.
    OptimiseInducing,
    /// Priors of hyper-parameters.
    Prior,
    /// Which quantiles are given.
    Quantiles,
    /// The regions that are counted.
    Regions,
    /// How often the window was looked at.
    Repeats,
    /// How many bad rows are passed over.
    SkipBad,
    /// How smooth f is on a lattice.
    Smoothness,
    /// The unit in which dates are counted.
    TimeUnit,
    /// What weighted nodes may leave out.
    Tolerance,
    /// The column that names the trial of an event.
    TrialColumn,
    /// The column that names the types of events.
    Type,
    /// Of which type, or ratio of types, something is asked.
    Of,
    /// How many latent fields types are outputs of.
    Latent,
    /// The table of trials.
    Trials,
    /// The unit of an axis.
    Unit,
    /// Whether f may vary more in some parts of the window than in others.
    Vary,
    /// Where events were looked for.
    Window,
}

impl Setting {
    /// All of them.
    pub const ALL: [Self; 52] = [
        Self::Average,
        Self::Categorical,
        Self::Covariate,
        Self::Set,
        Self::Spline,
        Self::Basis,
        Self::Cells,
        Self::Checkpoint,
        Self::Clip,
        Self::Columns,
        Self::Crs,
        Self::ExposureBeyond,
        Self::TimeZone,
        Self::Cycle,
        Self::DateFormat,
        Self::Epoch,
        Self::Every,
        Self::Exact,
        Self::Exposure,
        Self::Filter,
        Self::Fix,
        Self::Geography,
        Self::Grid,
        Self::HeldOutRepeats,
        Self::HeldOutTrials,
        Self::Inducing,
        Self::Jitter,
        Self::Kernel,
        Self::Link,
        Self::MaxEvaluations,
        Self::MaxMemory,
        Self::Mean,
        Self::Method,
        Self::Budget,
        Self::Nodes,
        Self::OptimiseInducing,
        Self::Prior,
        Self::Quantiles,
        Self::Regions,
        Self::Repeats,
        Self::SkipBad,
        Self::Smoothness,
        Self::TimeUnit,
        Self::Tolerance,
        Self::TrialColumn,
        Self::Type,
        Self::Of,
        Self::Latent,
        Self::Trials,
        Self::Unit,
        Self::Vary,
        Self::Window,
    ];

    /// Its name in words joined by underscores.
    pub fn name(self) -> &'static str {
        match self {
            Self::Average => "average",
            Self::Categorical => "categorical",
            Self::Covariate => "covariate",
            Self::Set => "set",
            Self::Spline => "spline",
            Self::Basis => "basis",
            Self::Cells => "cells",
            Self::Checkpoint => "checkpoint",
            Self::Clip => "clip",
            Self::Columns => "columns",
            Self::Crs => "crs",
            Self::DateFormat => "date_format",
            Self::Epoch => "epoch",
            Self::Every => "every",
            Self::Exact => "exact",
            Self::Exposure => "exposure",
            Self::Filter => "filter",
            Self::Fix => "fix",
            Self::Geography => "geography",
            Self::Grid => "grid",
            Self::HeldOutRepeats => "heldout_repeats",
            Self::HeldOutTrials => "heldout_trials",
            Self::Inducing => "inducing",
            Self::Jitter => "jitter",
            Self::ExposureBeyond => "exposure_beyond",
            Self::TimeZone => "time_zone",
            Self::Cycle => "cycle",
            Self::Kernel => "kernel",
            Self::Link => "link",
            Self::MaxEvaluations => "max_evaluations",
            Self::MaxMemory => "max_memory",
            Self::Mean => "mean",
            Self::Method => "method",
            Self::Budget => "budget",
            Self::Nodes => "nodes",
            Self::OptimiseInducing => "optimise_inducing",
            Self::Prior => "prior",
            Self::Quantiles => "quantiles",
            Self::Regions => "regions",
            Self::Repeats => "repeats",
            Self::SkipBad => "skip_bad",
            Self::Smoothness => "smoothness",
            Self::TimeUnit => "time_unit",
            Self::Tolerance => "tolerance",
            Self::TrialColumn => "trial_column",
            Self::Type => "type",
            Self::Of => "of",
            Self::Latent => "latent",
            Self::Trials => "trials",
            Self::Unit => "unit",
            Self::Vary => "vary",
            Self::Window => "window",
        }
    }

    /// The setting with a value: given, or to be given.
    pub fn given(self, value: impl fmt::Display) -> Message {
        Message(vec![Piece::Given(self, value.to_string())])
    }
}

/// What a user can do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Fit it, and write the model to a file.
    Fit,
    /// Make a summary of it.
    Summarize,
}

impl Action {
    /// The action, done to a file.
    pub fn of(self, file: impl fmt::Display) -> Message {
        Message(vec![Piece::Action(self, file.to_string())])
    }
}

/// How a front end spells settings and actions.
pub trait Spelling {
    /// The setting by itself: `--columns`.
    fn setting(&self, setting: Setting) -> String;
    /// The setting with a value: `--columns lon,lat`.
    fn given(&self, setting: Setting, value: &str) -> String;
    /// What to do with a file: `pointillist fit FILE -o MODEL`.
    fn action(&self, action: Action, file: &str) -> String;
}

/// The spelling of no front end, which [`Display`](fmt::Display) has: settings go by their names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Spelling for Plain {
    fn setting(&self, setting: Setting) -> String {
        format!("`{}`", setting.name())
    }

    fn given(&self, setting: Setting, value: &str) -> String {
        format!("`{} = {value}`", setting.name())
    }

    fn action(&self, action: Action, file: &str) -> String {
        match action {
            Action::Fit => format!("`fit({file})`"),
            Action::Summarize => format!("`summarize({file})`"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Setting(Setting),
    Given(Setting, String),
    Action(Action, String),
}

/// A sentence, or a part of one.
///
/// ```
/// use pointillist_io::{Message, Setting, Spelling, message};
///
/// let file = "events.csv";
/// let sentence = message!["{file} has no column `x`; choose with ", Setting::Columns.given("lon,lat")];
/// assert_eq!(sentence.to_string(), "events.csv has no column `x`; choose with `columns = lon,lat`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message(Vec<Piece>);

impl Message {
    /// Puts another part at its end.
    pub fn add(&mut self, part: impl Into<Message>) {
        self.0.extend(part.into().0);
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts with something between them.
    pub fn joined(parts: impl IntoIterator<Item = impl Into<Message>>, between: &str) -> Self {
        let mut all = Self::default();
        for part in parts {
            if !all.is_empty() {
                all.add(between);
            }
            all.add(part);
        }
        all
    }

    /// The sentence as a front end spells it.
    pub fn spelled(&self, spelling: &impl Spelling) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Setting(setting) => spelling.setting(*setting),
            Piece::Given(setting, value) => spelling.given(*setting, value),
            Piece::Action(action, file) => spelling.action(*action, file),
        };
        self.0.iter().map(piece).collect()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(&Plain))
    }
}

impl std::error::Error for Message {}

impl From<String> for Message {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![Piece::Text(text)]) }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<Setting> for Message {
    fn from(setting: Setting) -> Self {
        Self(vec![Piece::Setting(setting)])
    }
}

/// A [`Message`] from its parts: texts, in which `{name}` stands for a value as in `format!`, settings, and other messages.
#[macro_export]
macro_rules! message {
    (@add $message:ident;) => {};
    (@add $message:ident; $text:literal $(, $($rest:tt)*)?) => {
        $message.add(format!($text));
        $($crate::message!(@add $message; $($rest)*);)?
    };
    (@add $message:ident; $part:expr $(, $($rest:tt)*)?) => {
        $message.add($part);
        $($crate::message!(@add $message; $($rest)*);)?
    };
    ($($parts:tt)+) => {{
        let mut message = $crate::Message::default();
        $crate::message!(@add message; $($parts)+);
        message
    }};
}

/// Gives errors that have a `message` the traits of errors; their text is the message in the [`Plain`] spelling.
macro_rules! impl_error {
    ($($error:ty),+) => {$(
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.message().fmt(f)
            }
        }

        impl std::error::Error for $error {}
    )+};
}
pub(crate) use impl_error;

#[cfg(test)]
mod tests {
    use super::*;

    /// As the command does.
    struct Options;

    impl Spelling for Options {
        fn setting(&self, setting: Setting) -> String {
            format!("--{}", setting.name().replace('_', "-"))
        }

        fn given(&self, setting: Setting, value: &str) -> String {
            format!("{} {value}", self.setting(setting))
        }

        fn action(&self, _: Action, file: &str) -> String {
            format!("`fit {file}`")
        }
    }

    #[test]
    fn each_front_end_spells_in_its_own_way() {
        let (file, count) = ("a{b}.csv", 2);
        let settings = Message::joined([Setting::DateFormat, Setting::Epoch], " or ");
        let sentence = message!["{file}: {count} columns; try ", Setting::Columns.given("{x},y"), ", ", settings, "."];
        assert_eq!(sentence.spelled(&Options), "a{b}.csv: 2 columns; try --columns {x},y, --date-format or --epoch.");
        assert_eq!(sentence.to_string(), "a{b}.csv: 2 columns; try `columns = {x},y`, `date_format` or `epoch`.");
        assert_eq!(message![Action::Fit.of("x")].spelled(&Options), "`fit x`");
        assert!(Message::joined(Vec::<Message>::new(), ", ").is_empty());
    }
}
