//! `show`: what a fit said of a model, from its file.

use super::summary::Summary;
use super::{Context, Failure, Outcome, fit, jointly};
use crate::args::ShowArgs;
use crate::io::ModelFile;
use crate::io::measured::MeasuredSummary;
use crate::io::types::TypesSummary;
use serde::Deserialize;

/// Does what was asked for.
pub fn run(args: &ShowArgs, context: &Context) -> Result<Outcome, Failure> {
    let model = ModelFile::read_any(&args.model)?;
    if model.types.is_some() {
        return jointly::show::<TypesSummary>(&args.model, &model, context);
    }
    if model.measured.is_some() {
        return jointly::show::<MeasuredSummary>(&args.model, &model, context);
    }
    let mut summary = Summary::deserialize(&model.summary)
        .map_err(|error| format!("{}: its summary makes no sense ({error}); fit again", args.model))?;
    // A file that was made of several others may be more than its summary says.
    summary.weights = Summary::weights_of(&model.posterior);
    for warning in &summary.warnings {
        context.warn(warning);
    }
    fit::print(&summary, &model, context)?;
    Ok(Outcome::Done)
}
