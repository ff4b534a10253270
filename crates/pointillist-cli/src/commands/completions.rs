//! `completions`: what a shell must know to complete the words of a command.

use super::{Failure, Outcome};
use crate::args::{Cli, CompletionsArgs};
use crate::io;
use clap::CommandFactory;

/// Does what was asked for.
pub fn run(args: &CompletionsArgs) -> Result<Outcome, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pointillist", &mut text);
    io::stdout_text(&String::from_utf8_lossy(&text))?;
    Ok(Outcome::Done)
}
