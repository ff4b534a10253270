//! The checkpoint of a sampler (`SgcpState` of the sister crate for rivals): all numbers of a run, as one JSON document with its checksum.

use super::checksum::{Header, check_seal, sealed};
use super::output::{OutputError, write_atomically};
use super::source::read_file;
use super::table::InputError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What every checkpoint says of itself.
const FORMAT: &str = "pointillist-sgcp";
/// The version this program writes, and the only one it reads.
const VERSION: u64 = 1;

/// Why a checkpoint could not be read; its text is one sentence with the remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the fields are the words of the sentences
pub enum CheckpointError {
    /// The file itself cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Something else, or a part of one.
    #[error(
        "{file} is not a checkpoint of sgcp, or is cut short; remove it to start anew, or give another --checkpoint"
    )]
    Foreign { file: String },
    /// From another time.
    #[error(
        "{file} was made by another version of pointillist (checkpoint format {found}, this one reads {VERSION}); remove it to start anew"
    )]
    Version { file: String, found: u64 },
    /// It is not what was written, or makes no sense.
    #[error("{file} is damaged ({why}); remove it to start anew")]
    Damaged { file: String, why: String },
}

/// The whole document.
#[derive(Serialize, Deserialize)]
struct Document<State> {
    format: String,
    version: u64,
    state: State,
}

/// The text of a checkpoint of this run.
pub fn checkpoint_text(state: impl Serialize) -> String {
    let document = Document { format: FORMAT.into(), version: VERSION, state };
    // Names and finite numbers always serialise.
    sealed(serde_json::to_string(&document).unwrap_or_default())
}

/// Writes a checkpoint of this run to `path`, whole or not at all.
pub fn write_checkpoint(path: &Path, state: impl Serialize) -> Result<(), OutputError> {
    write_atomically(path, checkpoint_text(state).as_bytes())
}

/// The run that the checkpoint at `path` holds. Whether its parts fit together is for the run to say.
pub fn read_checkpoint<State: DeserializeOwned>(path: &Path) -> Result<State, CheckpointError> {
    checkpoint_from(&path.display().to_string(), &read_file(&path.to_string_lossy())?)
}

/// The run that a checkpoint in `bytes` holds; `file` stands for it in messages.
pub fn checkpoint_from<State: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<State, CheckpointError> {
    let file = || file.to_string();
    let damaged = |why: String| CheckpointError::Damaged { file: file(), why };
    let header: Header = serde_json::from_slice(bytes).map_err(|_| CheckpointError::Foreign { file: file() })?;
    if header.format != FORMAT {
        return Err(CheckpointError::Foreign { file: file() });
    }
    if header.version != VERSION {
        return Err(CheckpointError::Version { file: file(), found: header.version });
    }
    check_seal(bytes).map_err(|unsealed| damaged(unsealed.to_string()))?;
    let document: Document<State> =
        serde_json::from_slice(bytes).map_err(|error| damaged(super::model_file::one_line(&error)))?;
    Ok(document.state)
}
