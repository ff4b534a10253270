//! For the mutation run (`tests/mutation.rs`): the readers of the command, called in its own process, and the options as clap has them.
//!
//! Nothing is fitted here. What comes out does not matter, only that something does: an answer or a sentence.

use super::{Context, arguments, input, run, spec, window};
use crate::args::{Cli, Verb};
use crate::io::{self, ModelFile, SummaryFile};
use clap::CommandFactory;
use pointillist::kernel::Expression;
use pointillist::{Axis, Intensity, Points};
use pointillist_rivals::sgcp::Sgcp;

/// The command as clap has it: its verbs and their options.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Reads what a line of arguments names and says, as its verb would before it begins to compute; a sentence if it is refused.
pub fn read(line: &[String]) -> Result<(), String> {
    let (cli, typed) = arguments(line).map_err(|error| error.to_string())?;
    let context = Context { global: cli.global.clone(), typed: typed.clone() };
    let told = |failure| format!("{failure:?}");
    match &cli.verb {
        Some(Verb::Fit(args)) => {
            let loaded = input::events(&args.events[0], &args.options.events).map_err(told)?;
            spec::model(&args.options, loaded.events.window().axes(), &context).map_err(told)?;
        }
        Some(Verb::Count(args)) => {
            let model = ModelFile::read(&args.model).map_err(|error| error.to_string())?;
            let axes = model.posterior.window().axes();
            for text in &args.regions {
                window::region("--in", text, axes, &vec![false; axes.len()]).map_err(told)?;
            }
        }
        Some(Verb::Predict(args)) => {
            let model = ModelFile::read(&args.model).map_err(|error| error.to_string())?;
            spec::quantiles(&args.quantiles)?;
            if let Some(path) = &args.place.places.at {
                let columns = args.place.columns.as_deref();
                input::points(path, columns, model.posterior.window().axes(), &Default::default()).map_err(told)?;
            }
        }
        Some(Verb::Summarize(_)) => drop(run(cli, typed).map_err(told)?),
        _ => {}
    }
    Ok(())
}

/// Reads a model, and asks it for a rate.
pub fn model(bytes: &[u8]) -> Result<(), String> {
    let model = ModelFile::from_bytes("a model", bytes).map_err(|error| error.to_string())?;
    let spans = model.posterior.window().bounding_box();
    let middle = spans.iter().map(|span| 0.5 * (span.lo + span.hi)).collect();
    let points = Points::new(spans.len(), middle).map_err(|error| error.to_string())?;
    model.posterior.rate(&points).map(drop).map_err(|error| error.to_string())
}

/// Reads a summary of events.
pub fn summary(bytes: &[u8]) -> Result<(), String> {
    let file = SummaryFile::from_bytes("a summary", bytes).map_err(|error| error.to_string())?;
    drop(file.to_bytes());
    Ok(())
}

/// Reads a checkpoint of the sampler, and revives the run.
pub fn checkpoint(bytes: &[u8]) -> Result<(), String> {
    let state = io::checkpoint_from("a checkpoint", bytes).map_err(|error| error.to_string())?;
    Sgcp::from_state(state).map(drop).map_err(|error| error.to_string())
}

/// Reads the small languages, one after the other.
pub fn expression(text: &str) {
    let axes = ["t", "x"];
    drop(Expression::parse(text, &axes));
    if let Ok(intensity) = Intensity::parse(text, &axes) {
        intensity.at(&[0.5, 0.5]);
    }
    let described = axes.map(|name| Axis { name: name.into(), ..Axis::default() });
    drop(spec::sgcp(text, &described));
    drop(spec::quantiles(text));
    drop(spec::counts("--grid", text, &described));
    drop(text.parse::<io::TimeUnit>());
}

/// A document that ends with a checksum, changed, with the checksum that now belongs to it; other bytes as they are.
pub fn resealed(bytes: &[u8]) -> Vec<u8> {
    io::resealed(bytes)
}
