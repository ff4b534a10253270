//! `man`: the help as pages of the manual, in roff.

use super::{Context, Failure, Outcome};
use crate::args::{Cli, ManArgs};
use crate::io;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::Path;

/// Does what was asked for.
pub fn run(args: &ManArgs, context: &Context) -> Result<Outcome, Failure> {
    let mut all = Cli::command().disable_help_subcommand(true);
    // Gives the pages their names: `pointillist-fit`.
    all.build();
    match (&args.output, &args.command) {
        (Some(folder), _) => write_all(&all, folder, context)?,
        (None, None) => io::stdout_text(&page(&all)?)?,
        (None, Some(name)) => {
            let known: Vec<&str> = all.get_subcommands().map(Command::get_name).collect();
            let verb = all
                .find_subcommand(name)
                .ok_or_else(|| format!("there is no command {name}; there are: {}", known.join(", ")))?;
            io::stdout_text(&page(verb)?)?;
        }
    }
    Ok(Outcome::Done)
}

fn write_all(all: &Command, folder: &Path, context: &Context) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    let verbs: Vec<&Command> = all.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    for command in [all].into_iter().chain(verbs.iter().copied()) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        io::write_atomically(&folder.join(format!("{name}.1")), page(command)?.as_bytes())?;
    }
    context.note(&format!("wrote {} pages into {}", 1 + verbs.len(), folder.display()));
    Ok(())
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text).map_err(|error| format!("cannot write the page: {error}"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
