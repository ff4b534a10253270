//! `summarize`: tables of any size to a summary file. Also the pass that `fit` makes over large tables.

use super::summary::{WindowSummary, duration, grid};
use super::{Context, Failure, Outcome, json_line, meter};
use crate::args::{EventOptions, SummarizeArgs};
use crate::io::events::Peeked;
use crate::io::summarise::{SummaryProgress, SummaryStage, Tables};
use crate::io::{self, SummaryFile, Written};
use crate::options::Mode;
use crate::spelling::spelled;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

pub use crate::io::summarise::names;

/// A summary just made, and what there is to say.
pub struct Summarised {
    /// As it goes into a file.
    pub file: SummaryFile,
    /// What the user should know of how the events were read.
    pub warnings: Vec<String>,
}

/// Does what was asked for.
pub fn run(args: &SummarizeArgs, context: &Context) -> Result<Outcome, Failure> {
    // Better now than after a long pass.
    io::check_name(&args.output, Written::Summary)?;
    io::check_target(&args.output)?;
    let started = Instant::now();
    let Summarised { file, warnings } =
        events(Peeked::look_at(&args.events)?, &args.options, args.cells.as_deref(), context)?;
    for warning in &warnings {
        context.warn(warning);
    }
    match args.output == Path::new("-") {
        true => io::stdout_through(|out| file.write_to(out))?,
        false => file.write(&args.output)?,
    }
    let report = Report::new(&file, warnings, started.elapsed().as_secs_f64());
    // With the summary itself on stdout there is no room for anything else.
    if args.output == Path::new("-") {
        return Ok(Outcome::Done);
    }
    if context.json() {
        io::stdout_text(&json_line(&report)?)?;
    } else if !context.quiet() {
        let bytes = std::fs::metadata(&args.output).map_or(0, |metadata| metadata.len());
        io::stdout_text(&report.text(&names(&args.events), bytes))?;
    }
    context.note(&format!("wrote {}", args.output.display()));
    Ok(Outcome::Done)
}

/// The JSON of `summarize`; scripts rely on the names.
#[derive(Serialize)]
struct Report {
    events: u64,
    skipped: u64,
    dropped: u64,
    cells: Vec<usize>,
    nodes: usize,
    seconds: f64,
    events_per_second: f64,
    window: WindowSummary,
    warnings: Vec<String>,
}

impl Report {
    fn new(file: &SummaryFile, warnings: Vec<String>, seconds: f64) -> Self {
        let SummaryFile { summary, skipped, dropped, .. } = file;
        Self {
            events: summary.events(),
            skipped: *skipped,
            dropped: *dropped,
            cells: summary.cells(),
            nodes: summary.len(),
            seconds,
            events_per_second: summary.events() as f64 / seconds.max(1e-9),
            window: WindowSummary::new(summary.window(), None),
            warnings,
        }
    }

    /// For people.
    fn text(&self, source: &str, bytes: u64) -> String {
        let rows = [
            ("window", self.window.text().unwrap_or_default()),
            ("cells", grid(&self.cells)),
            ("nodes", format!("{} weighted points and single events stand for them", self.nodes)),
            ("bytes", bytes.to_string()),
            ("seconds", format!("{}, {} events a second", duration(self.seconds), rounded(self.events_per_second))),
        ];
        let shown = rows.iter().filter(|(_, value)| !value.is_empty());
        let rows: String = shown.map(|(name, value)| format!("  {name:<8} {value}\n")).collect();
        format!("{source}: {} events, {}\n{rows}", self.events, self.window.reach())
    }
}

/// A rate to three digits: `1.23 million`.
fn rounded(rate: f64) -> String {
    if rate >= 1e6 { format!("{:.3} million", rate / 1e6) } else { format!("{rate:.0}") }
}

/// Reads the events in these tables, all of them in one window, into a summary with so many cells.
pub fn events(
    given: Vec<Peeked>,
    options: &EventOptions,
    cells: Option<&str>,
    context: &Context,
) -> Result<Summarised, Failure> {
    context.refuse_idle(Mode::Summarised)?;
    let settings = options.settings();
    let tables = Tables::new(given, &settings)?;
    if !tables.has_dates() {
        context.refuse_idle(Mode::NoDates)?;
    }
    if !tables.has_degrees(&settings)? {
        context.refuse_idle(Mode::NoDegrees)?;
    }
    meter::stage(SUMMARISING);
    let mut has_looked = false;
    let summarised = tables.summarised(&settings, cells, &mut |progress| {
        has_looked |= matches!(progress.stage, SummaryStage::Extent);
        meter::show(&words(progress), part(progress, has_looked));
    });
    let io::summarise::Summarised { file, warnings } = summarised?;
    Ok(Summarised { file, warnings: warnings.iter().map(spelled).collect() })
}

/// Said of the second reading.
const SUMMARISING: &str = "summarising";

/// Words for the line of progress.
fn words(progress: &SummaryProgress) -> String {
    let SummaryProgress { stage, events, seconds, .. } = *progress;
    let doing = match stage {
        SummaryStage::Extent => "looking for the box around the events",
        SummaryStage::Summary => SUMMARISING,
    };
    let million = |count: f64| format!("{:.1} million", count / 1e6);
    let rate = seconds.map(|s| format!(", {} a second", million(events as f64 / s.max(1e-9)))).unwrap_or_default();
    format!("{doing}, {} events{rate}", million(events as f64))
}

/// The part of all that is done: where the window is not given, the tables are read twice. How much there is in a pipe nobody knows.
fn part(progress: &SummaryProgress, has_looked: bool) -> f64 {
    let share = progress.share.unwrap_or(0.0);
    match progress.stage {
        SummaryStage::Extent => 0.5 * share,
        SummaryStage::Summary if has_looked => 0.5 + 0.5 * share,
        SummaryStage::Summary => share,
    }
}
