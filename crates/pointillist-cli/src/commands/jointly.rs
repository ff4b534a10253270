//! What `fit --type` and `fit --value` share: one table of events, and the way in which a fit is said and shown again.

use super::fit::{say, write};
use super::{Context, Failure, Outcome, input, json_line};
use crate::args::FitArgs;
use crate::io::joint_summary::SaysJointly;
use crate::io::{self, ModelFile};

/// The one table that an option needs; a summary has lost what it asks for.
pub fn one_table(option: &str, lost: &str, args: &FitArgs) -> Result<(String, Vec<u8>), Failure> {
    let [path] = &args.events[..] else {
        return Err(format!("{option} needs one table of events; join the tables").into());
    };
    let opened = input::open(path)?;
    if opened.is_summary() {
        return Err(format!("{option}: {path} is a summary, which {lost}; give the table of events").into());
    }
    Ok((path.clone(), opened.table()?))
}

/// Writes a fit, and says what there is to say.
pub fn tell(
    mut model: ModelFile,
    summary: &impl SaysJointly,
    args: &FitArgs,
    context: &Context,
) -> Result<Outcome, Failure> {
    model.command = Some(context.typed.command().into());
    summary.joint().warnings.iter().for_each(|warning| context.warn(warning));
    json_line(summary)?;
    if let Some(path) = &args.output {
        write(&model, path)?;
    }
    say(args, context, || text(summary, &model, context))?;
    Ok(if summary.joint().converged { Outcome::Done } else { Outcome::NotConverged })
}

/// What a fit said, from its file.
pub fn show<S: SaysJointly>(path: &str, model: &ModelFile, context: &Context) -> Result<Outcome, Failure> {
    let summary = S::of_model(path, model)?;
    summary.joint().warnings.iter().for_each(|warning| context.warn(warning));
    io::stdout_text(&text(&summary, model, context)?)?;
    Ok(Outcome::Done)
}

fn text(summary: &impl SaysJointly, model: &ModelFile, context: &Context) -> Result<String, Failure> {
    if context.json() { json_line(summary) } else { Ok(summary.text(&model.source)) }
}
