//! The verbs. Each takes its arguments, calls the library, and writes data to stdout or a file and talk to stderr.

mod check;
mod compare;
mod count;
mod data;
mod demo;
mod figure;
mod fit;
mod input;
mod kernels;
mod meter;
mod plot;
mod predict;
mod reproduce;
mod sample;
mod score;
mod simulate;
mod sgcp;
mod smooth;
mod spec;
mod summarize;
mod summary;
mod window;

use crate::args::{Cli, Global, Verb, not_yet};
use crate::{interrupt, io};
use clap::Parser;
use std::io::{IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

/// Bad input or usage.
const BAD_INPUT: u8 = 2;

/// How a verb that did its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Done,
    /// There is an answer, but the fit did not converge.
    NotConverged,
}

/// Why a verb did not do its work.
#[derive(Debug)]
pub enum Failure {
    /// In one sentence.
    Sentence(String),
    /// Ctrl-C.
    Interrupted,
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self::Sentence(sentence)
    }
}

impl From<pointillist::Error> for Failure {
    fn from(error: pointillist::Error) -> Self {
        match error {
            pointillist::Error::Cancelled => Self::Interrupted,
            error => Self::Sentence(error.to_string()),
        }
    }
}

impl From<io::InputError> for Failure {
    fn from(error: io::InputError) -> Self {
        Self::Sentence(error.to_string())
    }
}

impl From<io::OutputError> for Failure {
    fn from(error: io::OutputError) -> Self {
        Self::Sentence(error.to_string())
    }
}

impl From<io::ModelFileError> for Failure {
    fn from(error: io::ModelFileError) -> Self {
        Self::Sentence(error.to_string())
    }
}

impl From<io::SummaryFileError> for Failure {
    fn from(error: io::SummaryFileError) -> Self {
        Self::Sentence(error.to_string())
    }
}

/// The options of all verbs, and the way to talk.
pub struct Context {
    global: Global,
}

impl Context {
    fn json(&self) -> bool {
        self.global.json
    }

    fn seed(&self) -> u64 {
        self.global.seed
    }

    fn quiet(&self) -> bool {
        self.global.quiet
    }

    /// Something the user should know before trusting the answer.
    fn warn(&self, sentence: &str) {
        self.note(&format!("warning: {sentence}"));
    }

    /// Talk.
    fn note(&self, sentence: &str) {
        if !self.quiet() {
            say(sentence);
        }
    }

    /// Talk for those who asked for more.
    fn detail(&self, sentence: &str) {
        if self.global.verbose {
            say(sentence);
        }
    }

    /// Data: to the file, or to stdout.
    fn emit(&self, output: Option<&Path>, text: &str) -> Result<(), Failure> {
        match output {
            Some(path) if path != Path::new("-") => {
                io::write_atomically(path, text.as_bytes())?;
                self.note(&format!("wrote {}", path.display()));
            }
            _ => io::stdout_text(text)?,
        }
        Ok(())
    }

    /// Refuses a place where a table cannot be written, or a name that promises what it will not be: better before than after the work.
    fn check_table(&self, output: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = output.filter(|path| *path != Path::new("-")) {
            io::check_name(path, if self.json() { io::Written::Json } else { io::Written::Csv })?;
            io::check_target(path)?;
        }
        Ok(())
    }

    /// Columns: as CSV, or with `--json` as one object.
    fn emit_columns(&self, output: Option<&Path>, columns: &[io::Column]) -> Result<(), Failure> {
        self.check_table(output)?;
        let text = if self.json() { io::json_text(columns) } else { io::csv_text(columns) };
        self.emit(output, &text)
    }
}

/// One line to stderr. It may be closed or full: then nobody listens.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// One JSON object on a line of its own.
fn json_line(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Sentence(error.to_string()))?;
    Ok(text + "\n")
}

/// Columns of the terminal, and whether stdout is one.
fn terminal() -> (usize, bool) {
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
    (width.clamp(40, 120), std::io::stdout().is_terminal())
}

/// Whether pictures on stdout may have colours: on a terminal, unless the user's NO_COLOR says no.
fn colour() -> bool {
    terminal().1 && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Reads the arguments, does the work, and says how it went.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse_arguments(&error),
    };
    interrupt::listen();
    // A panic is a fault of the program: one line, not a page.
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(cli)));
    match result {
        Ok(Ok(Outcome::Done)) => ExitCode::SUCCESS,
        Ok(Ok(Outcome::NotConverged)) => ExitCode::from(1),
        Ok(Err(Failure::Sentence(sentence))) => fail(&sentence),
        Ok(Err(Failure::Interrupted)) => {
            io::remove_unfinished();
            say(interrupt::SENTENCE);
            ExitCode::from(interrupt::EXIT_CODE)
        }
        Err(_) => {
            io::remove_unfinished();
            fail("a fault in pointillist itself; please report it with the command and the file that led to it")
        }
    }
}

fn run(cli: Cli) -> Result<Outcome, Failure> {
    if let Some(threads) = cli.global.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().map_err(|error| format!("--threads {threads}: {error}"))?;
    }
    if let Some(size) = &cli.global.max_memory {
        io::set_limit(spec::bytes(size)?);
    }
    let context = Context { global: cli.global };
    match &cli.verb {
        None => demo::run(&context),
        Some(Verb::Fit(args)) => fit::run(args, &context),
        Some(Verb::Summarize(args)) => summarize::run(args, &context),
        Some(Verb::Predict(args)) => predict::run(args, &context),
        Some(Verb::Score(args)) => score::run(args, &context),
        Some(Verb::Count(args)) => count::run(args, &context),
        Some(Verb::Sample(args)) => sample::run(args, &context),
        Some(Verb::Simulate(args)) => simulate::run(args, &context),
        Some(Verb::Plot(args)) => plot::run(args, &context),
        Some(Verb::Kernels(args)) => kernels::run(args, &context),
        Some(Verb::Check(args)) => check::run(args, &context),
        Some(Verb::Sgcp(args)) => sgcp::run(args, &context),
        Some(Verb::Smooth(args)) => smooth::run(args, &context),
        Some(Verb::Compare(args)) => compare::run(args, &context),
        Some(Verb::Reproduce(args)) => reproduce::run(args, &context),
        Some(Verb::Data(args)) => data::run(args, &context),
    }
}

/// Help and version are no failure; the rest is.
fn refuse_arguments(error: &clap::Error) -> ExitCode {
    if let Some(sentence) = not_yet(error) {
        return fail(&sentence);
    }
    match error.print() {
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(&format!("cannot write the help: {failure}"))
        }
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(BAD_INPUT)),
    }
}

fn fail(sentence: &str) -> ExitCode {
    say(&format!("error: {sentence}"));
    ExitCode::from(BAD_INPUT)
}
