//! What single fits gave, kept in a folder: a run that was stopped goes on where it was, and one method can be run again without the others.

use super::*;
use pointillist_io::Checksum;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::path::PathBuf;

/// A folder of answers, and the methods whose answers in it are not believed.
pub struct Kept {
    folder: Option<PathBuf>,
    again: Vec<String>,
}

impl Kept {
    /// As the options have it.
    pub fn new(args: &ReproduceArgs) -> Result<Self, Failure> {
        if let Some(folder) = &args.keep {
            fs::create_dir_all(folder)
                .map_err(|error| format!("{}: {error}; give another folder with --keep", folder.display()))?;
        }
        if args.keep.is_none() && !args.again.is_empty() {
            return Err("--again METHOD fits anew what --keep DIR has kept of a method; give --keep DIR too"
                .to_string()
                .into());
        }
        let unknown = args.again.iter().find(|again| !METHODS.contains(&again.as_str()));
        if let Some(unknown) = unknown {
            return Err(format!("--again {unknown}: there is no such method; these are: {}", METHODS.join(", ")).into());
        }
        Ok(Self { folder: args.keep.clone(), again: args.again.clone() })
    }

    /// What `work` gives, or what it gave when the same method was asked the same. `question` is everything that the answer depends on but
    /// the program itself.
    pub fn answer<T: Serialize + DeserializeOwned>(
        &self,
        method: &str,
        question: impl Debug,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(folder) = &self.folder else { return work() };
        let sum = Checksum::of(format!("{method} {question:?}").as_bytes()).0;
        let path = folder.join(format!("{sum:016x}.json"));
        if !self.again.iter().any(|again| again == method) {
            // What cannot be read is found anew: a file of another version, or one with a number that JSON has not.
            let kept = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if let Some(answer) = kept {
                return Ok(answer);
            }
        }
        let answer = work()?;
        let text = serde_json::to_vec(&answer).map_err(|error| error.to_string())?;
        io::write_atomically(&path, &text)?;
        Ok(answer)
    }
}
