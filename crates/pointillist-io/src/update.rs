//! Events that come in later: added to those of a model, and fitted as that was.

use super::fit_summary::{Summary, grid};
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::model_file::ModelFile;
use super::model_settings::FitSettings;
use super::summary_file::{SummaryFile, SummaryFileError};
use crate::message;
use pointillist::Model;

/// What a message calls the model and the new events.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The model.
    pub model: &'a str,
    /// The summary of new events.
    pub summary: &'a str,
}

/// Whether to average, what is held and what is believed: as for the model that is updated, unless it is said anew.
pub fn as_before(model: Model, before: &ModelFile, said_anew: &FitSettings) -> Model {
    let Ok(said) = serde_json::from_value::<Summary>(before.summary.clone()) else { return model };
    let average = if said_anew.average.is_none() { said.averaged } else { model.average };
    let fixed = if said_anew.fix.is_empty() { said.asked.fixed } else { model.fixed };
    let (penalise, priors) = match said_anew.prior.is_empty() {
        true => (said.asked.penalise, said.asked.priors),
        false => (model.penalise, model.priors),
    };
    Model { average, penalise, fixed, priors, ..model }
}

/// The events of a model and of a summary together, in the cells of the model.
pub fn added(before: &ModelFile, new: SummaryFile, names: Names<'_>) -> Result<SummaryFile, SummaryFileError> {
    let Names { model, summary } = names;
    let Some(mut all) = before.cells.clone() else {
        let sentence: Message = format!(
            "{model} does not know its events by cell, so nothing can be added to it; fit a summary of all events instead"
        )
        .into();
        return Err(InputError::Said(sentence).into());
    };
    let cells = all.summary.cells();
    let joined = new.summary.coarsened(&cells).map_err(|_| {
        let (own, wanted) = (grid(&new.summary.cells()), grid(&cells));
        let remedy = Setting::Cells.given(&wanted);
        InputError::Said(message![
            "{summary} has {own} cells, which cannot be joined to the {wanted} of {model}; summarise it with ",
            remedy
        ])
    })?;
    all.add(SummaryFile { summary: joined, ..new }, model, summary)?;
    Ok(all)
}
