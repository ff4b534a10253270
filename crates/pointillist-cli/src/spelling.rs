//! How the command spells what the sister crate for files leaves to it: settings as options, actions as commands.

use crate::io::{Action, Message, Setting, Spelling};

/// Settings as options.
pub struct Options;

impl Spelling for Options {
    fn setting(&self, setting: Setting) -> String {
        match setting {
            Setting::Filter => "--where".into(),
            Setting::Regions => "--in".into(),
            setting => format!("--{}", setting.name().replace('_', "-")),
        }
    }

    fn given(&self, setting: Setting, value: &str) -> String {
        let option = self.setting(setting);
        match setting {
            // They have blanks in them more often than not.
            Setting::Filter | Setting::DateFormat | Setting::Fix | Setting::Prior => format!("{option} '{value}'"),
            _ => format!("{option} {value}"),
        }
    }

    fn action(&self, action: Action, file: &str) -> String {
        match action {
            Action::Fit => format!("`pointillist fit {file} -o MODEL`"),
            Action::Summarize => format!("`pointillist summarize {file} -o SUMMARY`"),
            _ => file.into(),
        }
    }
}

/// A sentence as the user of the command reads it.
pub fn spelled(message: &Message) -> String {
    message.spelled(&Options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_setting_is_an_option() {
        let command = Cli::command();
        let options: Vec<String> = command
            .get_subcommands()
            .flat_map(|verb| verb.get_arguments().chain(command.get_arguments()))
            .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
            .collect();
        for setting in Setting::ALL {
            let option = Options.setting(setting);
            assert!(options.contains(&option), "{option}");
        }
    }
}
