//! No verb at all: the main job, on the coal-mining disasters.

use super::{Context, Failure, Outcome, colour, figure, fit, input, json_line, terminal};
use crate::args::{Cli, Verb};
use crate::io;
use crate::spelling::Options;
use clap::Parser;
use std::path::Path;

/// The set, and the figure that is written.
const SET: &str = "coal";
const FIGURE: &str = "coal.svg";

const NEXT: &str = "\
Next, try:
  pointillist fit coal -o model.json              keep the model
  pointillist predict model.json > rate.csv       its rate, with quantiles
  pointillist plot kenya -o kenya.svg             a map
Your own events: pointillist fit events.csv --window LO,HI -o model.json (pointillist --help)
";

/// Does the main job.
pub fn run(context: &Context) -> Result<Outcome, Failure> {
    // The options of a fit at their defaults, as the parser knows them.
    let Ok(Cli { verb: Some(Verb::Fit(args)), .. }) = Cli::try_parse_from(["pointillist", "fit", SET]) else {
        return Err("the demonstration has no options".to_string().into());
    };
    let fitted = fit::fit(input::events(SET, &args.options.events)?, &args.options, context)?;
    let title = Some("Explosions in British coal mines with ten deaths or more".to_string());
    let figure = figure::of_model(&fitted.model, &figure::Look { title, ..Default::default() })?;
    io::write_atomically(Path::new(FIGURE), figure.svg().as_bytes())?;
    if context.json() {
        io::stdout_text(&json_line(&fitted.summary)?)?;
    } else {
        let picture = figure.terminal(terminal().0, 18, colour());
        io::stdout_text(&format!("{}\n{picture}\n", fitted.summary.text(SET, &Options)))?;
    }
    context.note(&format!("wrote {FIGURE} in this directory\n"));
    context.note(NEXT.trim_end());
    Ok(fit::outcome(&fitted))
}
