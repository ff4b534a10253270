//! The verbs. Each takes its arguments, calls the library, and writes data to stdout or a file and talk to stderr.

mod across;
mod calibrate;
mod check;
mod check_fit;
mod compare;
mod completions;
mod components;
mod contrast;
mod count;
mod data;
mod demo;
mod figure;
mod fit;
pub mod hostile;
mod input;
mod jointly;
mod kernels;
mod layers;
mod man;
mod meter;
mod plot;
mod plot_options;
mod predict;
mod report;
mod quantity;
mod reproduce;
mod sample;
mod score;
mod show;
mod simulate;
mod sgcp;
mod smooth;
mod spec;
mod summarize;
mod measured;
mod types;

use crate::args::{Cli, Global, Verb, command, none_of, not_yet};
use crate::options::{Mode, Typed};
use crate::spelling::spelled;
use crate::{interrupt, io};
use clap::FromArgMatches;
use pointillist_io::{fault, fit_summary as summary};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

pub use meter::{hide as hide_progress, say};

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
    /// A signal, after which the run has saved itself.
    Interrupted,
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self::Sentence(sentence)
    }
}

impl From<io::Message> for Failure {
    fn from(message: io::Message) -> Self {
        Self::Sentence(spelled(&message))
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

impl From<pointillist_plot::PngError> for Failure {
    fn from(error: pointillist_plot::PngError) -> Self {
        Self::Sentence(error.to_string())
    }
}

impl From<io::InputError> for Failure {
    fn from(error: io::InputError) -> Self {
        match error {
            io::InputError::Library(error) => error.into(),
            error => error.message().into(),
        }
    }
}

impl From<io::StdoutError> for Failure {
    fn from(error: io::StdoutError) -> Self {
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
        error.message().into()
    }
}

impl From<io::CheckpointError> for Failure {
    fn from(error: io::CheckpointError) -> Self {
        error.message().into()
    }
}

impl From<io::SummaryFileError> for Failure {
    fn from(error: io::SummaryFileError) -> Self {
        error.message().into()
    }
}

/// The options of all verbs, and the way to talk.
pub struct Context {
    global: Global,
    typed: Typed,
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

    /// Refuses options that were typed and do nothing now that this is known.
    fn refuse_idle(&self, mode: Mode) -> Result<(), Failure> {
        self.typed.idle(mode).map_or(Ok(()), |sentence| Err(sentence.into()))
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

    /// The same for bytes that belong into a file.
    fn emit_file(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        io::write_atomically(path, bytes)?;
        self.note(&format!("wrote {}", path.display()));
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
        let text = if self.json() { io::json_text(columns)? } else { io::csv_text(columns)? };
        self.emit(output, &text)
    }
}

/// One JSON object on a line of its own, in which every number is one. Who prints the same as a table asks for it too, for the check.
fn json_line(value: &impl serde::Serialize) -> Result<String, Failure> {
    match io::not_finite(value) {
        Some(name) => Err(io::OutputError::NotFinite { name }.into()),
        None => unchecked_json_line(value),
    }
}

/// The same where a number that is none, which becomes `null`, belongs to the answer: that of a run that did not converge.
fn unchecked_json_line(value: &impl serde::Serialize) -> Result<String, Failure> {
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
    let (cli, typed) = match arguments(std::env::args_os()) {
        Ok(both) => both,
        Err(error) => return refuse_arguments(&error),
    };
    interrupt::listen();
    ExitCode::from(guarded(|| run(cli, typed)))
}

/// What to say where the system gives no thread.
const NO_THREADS: &str = "the system gives no more threads, or no memory for their stacks: --threads 1 needs fewer; a limit may be in force (`ulimit -a` prints them)";

/// Does the work, says how it went, and gives the exit code.
fn guarded(work: impl FnOnce() -> Result<Outcome, Failure>) -> u8 {
    fault::remember();
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(Outcome::Done)) => 0,
        Ok(Ok(Outcome::NotConverged)) => 1,
        Ok(Err(Failure::Sentence(sentence))) => fail(&sentence),
        Ok(Err(Failure::Interrupted)) => interrupt::end(),
        Err(_) if fault::is_want_of_threads() => fail(NO_THREADS),
        Err(_) => {
            io::give_up();
            say(&format!("error: {}", fault::report("command")));
            fault::EXIT_CODE
        }
    }
}

/// What was asked for, and which options were typed to ask for it.
fn arguments(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<(Cli, Typed), clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(line)?;
    let typed = Typed::of(&command, &matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, typed))
}

fn run(cli: Cli, typed: Typed) -> Result<Outcome, Failure> {
    if let Some(threads) = cli.global.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().map_err(|error| format!("--threads {threads}: {error}"))?;
    }
    if let Some(size) = &cli.global.max_memory {
        io::set_limit(io::spec::bytes(size)?);
    }
    let context = Context { global: cli.global, typed };
    meter::listen(&context);
    match &cli.verb {
        None => demo::run(&context),
        Some(Verb::Fit(args)) => fit::run(args, &context),
        Some(Verb::Summarize(args)) => summarize::run(args, &context),
        Some(Verb::Predict(args)) => predict::run(args, &context),
        Some(Verb::Score(args)) => score::run(args, &context),
        Some(Verb::Count(args)) => count::run(args, &context),
        Some(Verb::Contrast(args)) => contrast::run(args, &context),
        Some(Verb::Sample(args)) => sample::run(args, &context),
        Some(Verb::Simulate(args)) => simulate::run(args, &context),
        Some(Verb::Plot(args)) => plot::run(args, &context),
        Some(Verb::Report(args)) => report::run(args, &context),
        Some(Verb::Kernels(args)) => kernels::run(args, &context),
        Some(Verb::Check(args)) => check::run(args, &context),
        Some(Verb::Sgcp(args)) => sgcp::run(args, &context),
        Some(Verb::Smooth(args)) => smooth::run(args, &context),
        Some(Verb::Compare(args)) => compare::run(args, &context),
        Some(Verb::Calibrate(args)) => calibrate::run(args, &context),
        Some(Verb::Reproduce(args)) => reproduce::run(args, &context),
        Some(Verb::Data(args)) => data::run(args, &context),
        Some(Verb::Show(args)) => show::run(args, &context),
        Some(Verb::Completions(args)) => completions::run(args),
        Some(Verb::Man(args)) => man::run(args, &context),
    }
}

/// Help and version are no failure; the rest is.
fn refuse_arguments(error: &clap::Error) -> ExitCode {
    if let Some(sentence) = not_yet(error).or_else(|| none_of(error)) {
        return ExitCode::from(fail(&sentence));
    }
    ExitCode::from(match error.print() {
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(&format!("cannot write the help: {failure}"))
        }
        _ if !error.use_stderr() && io::stdout_is_closed() => fail("cannot write the help: standard output is closed"),
        _ => u8::try_from(error.exit_code()).unwrap_or(BAD_INPUT),
    })
}

fn fail(sentence: &str) -> u8 {
    say(&format!("error: {sentence}"));
    BAD_INPUT
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    /// What tells the test below that it is the process that is watched.
    const CHILD: &str = "POINTILLIST_TEST_PANICS";

    /// This test runs itself in a process of its own, where the work panics, in the main thread or in another.
    #[test]
    fn a_panic_gives_its_place_and_the_version_and_exits_101() {
        if let Ok(kind) = std::env::var(CHILD) {
            let code = guarded(|| {
                let numbers: Vec<usize> = (0..1000).collect();
                match kind.as_str() {
                    "thread" => drop(numbers.par_iter().map(|i| numbers[i + 1]).sum::<usize>()),
                    _ => panic!("on purpose\nin two lines"),
                }
                Ok(Outcome::Done)
            });
            std::process::exit(code.into());
        }
        let name = "commands::tests::a_panic_gives_its_place_and_the_version_and_exits_101";
        for (kind, message) in [("main", "on purpose in two lines"), ("thread", "index out of bounds")] {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            let output = command.args(["--exact", name, "--nocapture"]).env(CHILD, kind).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(101), "{said}");
            let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
            let [line] = lines[..] else { panic!("{said}") };
            let here = format!("{}:", file!());
            for word in [message, &here, env!("CARGO_PKG_VERSION"), "please report this with the command"] {
                assert!(line.contains(word), "no {word} in {line}");
            }
            assert!(!said.contains("panicked at"), "{said}");
        }
    }
}
