//! Results out: a file appears whole or not at all, and a reader that goes away is no failure.
//!
//! A file is written under a hidden temporary name next to its place, brought to the disk and then renamed, so that no
//! crash, full disk or signal leaves half a result or harms the old one. Devices and pipes cannot be replaced and are
//! written directly. A ledger says what is being written and what has been, so that a program that is told to end can tidy up and
//! tell the truth. This module does not format anything, and standard output is the caller's to write to.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why a result could not be written; its text is one sentence with the remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the fields are the words of the sentences
pub enum OutputError {
    /// No space (or quota) is left where the result should go.
    #[error("cannot write {path}: the disk is full; make room or write to another place")]
    DiskFull { path: String },
    /// The directory of the file does not exist.
    #[error("cannot write {path}: its directory does not exist; create it first")]
    NoDirectory { path: String },
    /// The file or its directory may not be written.
    #[error("cannot write {path}: no permission to write there; choose another place or change the permissions")]
    NoPermission { path: String },
    /// The path names a directory.
    #[error("cannot write {path}: it is a directory; give the name of a file")]
    IsDirectory { path: String },
    /// A number that is infinite or none must not leave.
    #[error(
        "`{name}` is infinite or not a number, so nothing was written; the numbers that led there (in the model, the window or the options) \
         are too large or too small to compute with"
    )]
    NotFinite { name: String },
    /// A name that promises another format.
    #[error(
        "cannot write {path}: it would hold {holds}, and a name in .{ending} promises something else; write to a name in {instead}"
    )]
    WrongName { path: String, ending: String, holds: &'static str, instead: &'static str },
    /// Files may not be so large here.
    #[error(
        "cannot write {path}: it would be larger than files may be here; raise that limit (ulimit -f), or ask for less"
    )]
    TooLarge { path: String },
    /// Anything else the system reports.
    #[error("cannot write {path}: {error}")]
    Other { path: String, error: io::Error },
}

impl OutputError {
    /// What the system said when the file, or whatever else is called `path`, was written.
    pub fn new(path: impl Into<String>, error: io::Error) -> Self {
        let path = path.into();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull { path },
            ErrorKind::FileTooLarge => Self::TooLarge { path },
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NoDirectory { path },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::NoPermission { path },
            ErrorKind::IsADirectory => Self::IsDirectory { path },
            _ => Self::Other { path, error },
        }
    }
}

/// What is being written at this moment, and what has been.
#[derive(Default)]
struct Ledger {
    /// The temporary files there are.
    unfinished: Vec<PathBuf>,
    /// The names of what has got something of this run in it.
    written: Vec<String>,
    /// Whether the program is about to end, and nothing more may be written.
    closed: bool,
}

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger { unfinished: Vec::new(), written: Vec::new(), closed: false });

/// Makes `bytes` the content of the file at `path`, or leaves what was there untouched.
///
/// A link is followed and stays a link, and the permissions of an old file are kept. What exists and is not a regular
/// file (a device, a named pipe) is written directly.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    write_through(path, |file| file.write_all(bytes))
}

/// The same for a content that is written piece by piece.
pub fn write_through(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
    write_file(path, write).map_err(|error| OutputError::new(path.display().to_string(), error))
}

/// What a file is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A table.
    Csv,
    /// Rates: a table, or a layer of a map.
    Rates,
    /// Counts: a table, or a layer of a map.
    Counts,
    /// One object.
    Json,
    /// A border.
    GeoJson,
    /// A model.
    Model,
    /// A summary of events.
    Summary,
    /// A page.
    Markdown,
}

/// Formats that models and summaries are not, by the ends of their names.
const FOREIGN: [&str; 18] = [
    "csv", "tsv", "txt", "svg", "png", "pdf", "html", "parquet", "geojson", "tif", "tiff", "nc", "xlsx", "gz", "zip",
    "shp", "gpkg", "feather",
];

/// The end of a name by which formats are told apart, in small letters.
pub fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}

/// Refuses a name that says that the file holds something else than is written. Devices have any name.
pub fn check_name(path: &Path, written: Written) -> Result<(), OutputError> {
    let is_device = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let Some(ending) = ending(path) else { return Ok(()) };
    let is_number = ending.bytes().all(|byte| byte.is_ascii_digit());
    let is_right = match written {
        _ if is_device || is_number => true,
        Written::Csv | Written::Rates | Written::Counts => ["csv", "txt", "dat"].contains(&ending.as_str()),
        Written::Json => ["json", "txt"].contains(&ending.as_str()),
        Written::GeoJson => ["geojson", "json"].contains(&ending.as_str()),
        Written::Model => !FOREIGN.contains(&ending.as_str()) && ending != "summary",
        Written::Summary => !FOREIGN.contains(&ending.as_str()) && ending != "json",
        Written::Markdown => ["md", "markdown", "txt"].contains(&ending.as_str()),
    };
    let (holds, instead) = match written {
        _ if is_right => return Ok(()),
        Written::Csv => ("a table as CSV", ".csv"),
        Written::Rates => ("a table as CSV, a GeoTIFF or GeoJSON", ".csv, .tif or .geojson"),
        Written::Counts => ("a table as CSV, or GeoJSON", ".csv or .geojson"),
        Written::Json => ("one object in JSON", ".json"),
        Written::GeoJson => ("a border in GeoJSON", ".geojson"),
        Written::Model => ("a model in JSON", ".json"),
        Written::Summary => ("a summary of events", ".summary"),
        Written::Markdown => ("a page in Markdown", ".md"),
    };
    Err(OutputError::WrongName { path: path.display().to_string(), ending, holds, instead })
}

/// Refuses what could never be written: for a result that takes long to make.
pub fn check_target(path: &Path) -> Result<(), OutputError> {
    let refuse = |kind: ErrorKind| Err(OutputError::new(path.display().to_string(), kind.into()));
    match path.parent() {
        _ if path.is_dir() => refuse(ErrorKind::IsADirectory),
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => refuse(ErrorKind::NotFound),
        _ => Ok(()),
    }
}

/// For a program about to end before its time: removes every temporary file, and gives the names of what has been written. From now on
/// nothing else is, so that the list stays true; who wants to write waits for the end.
///
/// It takes a lock: call it from a thread that waits for the signal, not from inside a raw signal handler.
pub fn give_up() -> Vec<String> {
    close(&LEDGER)
}

fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let write = |file: &mut File| write(file);
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // A rename would go past the protection of the file itself; its owner meant it.
        Ok(old) if old.is_file() && old.permissions().readonly() => Err(ErrorKind::PermissionDenied.into()),
        Ok(old) if old.is_file() => replace(&fs::canonicalize(path)?, Some(old.permissions()), &LEDGER, write),
        Ok(_) => {
            let mut device = OpenOptions::new().write(true).open(path)?;
            begin(&LEDGER, &path.display().to_string());
            write(&mut device)?;
            device.flush()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // `results/` names a directory even where there is none yet.
            if path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| std::path::is_separator(byte.into())) {
                return Err(ErrorKind::IsADirectory.into());
            }
            replace(path, None, &LEDGER, write)
        }
        Err(error) => Err(error),
    }
}

/// Writes a temporary file next to `path` and renames it to `path`.
fn replace(
    path: &Path,
    permissions: Option<Permissions>,
    ledger: &Mutex<Ledger>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (mut file, temporary) = Temporary::create(directory, ledger)?;
    write(&mut file)?;
    file.flush()?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()?;
    // Some systems do not rename a file that is open.
    drop(file);
    temporary.finish(path)
}

/// A temporary file that goes away when dropped, also by a panic, unless it has been renamed.
struct Temporary<'a> {
    path: PathBuf,
    ledger: &'a Mutex<Ledger>,
    renamed: bool,
}

impl<'a> Temporary<'a> {
    fn create(directory: &Path, ledger: &'a Mutex<Ledger>) -> io::Result<(File, Self)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!(".pointillist-{}-{number}.tmp", std::process::id()));
            // Locked over both steps: only files that are ours are listed, and none of ours is missing.
            let mut listed = lock(ledger);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    listed.unfinished.push(path.clone());
                    return Ok((file, Self { path, ledger, renamed: false }));
                }
                // Left behind by a process of the same number, long ago or in another container.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the file its name.
    fn finish(mut self, path: &Path) -> io::Result<()> {
        let mut ledger = lock(self.ledger);
        fs::rename(&self.path, path)?;
        ledger.written.push(path.file_name().unwrap_or(path.as_os_str()).display().to_string());
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // The failure that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
        lock(self.ledger).unfinished.retain(|path| *path != self.path);
    }
}

fn close(ledger: &Mutex<Ledger>) -> Vec<String> {
    let mut ledger = lock(ledger);
    ledger.closed = true;
    for path in ledger.unfinished.drain(..) {
        let _ = fs::remove_file(path);
    }
    ledger.written.clone()
}

/// Notes that what is called `name`, and is no file, is about to be written to: it will be among what [`give_up`] lists.
pub fn begin_writing(name: &str) {
    begin(&LEDGER, name);
}

/// Notes that what is called `name` is about to be written to, in place.
fn begin(ledger: &Mutex<Ledger>, name: &str) {
    let mut ledger = lock(ledger);
    if !ledger.written.iter().any(|known| known == name) {
        ledger.written.push(name.into());
    }
}

/// A list of paths is whole after any panic, so a poisoned lock is as good as another.
fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    loop {
        let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if !ledger.closed {
            return ledger;
        }
        drop(ledger);
        // Another thread is ending the program.
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory that is removed at the end of the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("pointillist-output-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_written_and_replaced_and_nothing_else_stays() {
        let scratch = Scratch::new("replace");
        let path = scratch.0.join("model.json");
        write_atomically(&path, b"first, the longer one").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(scratch.names(), ["model.json"]);
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_no_temporary_one() {
        let scratch = Scratch::new("failure");
        let path = scratch.0.join("model.json");
        fs::write(&path, "old").unwrap();
        let ledger = Mutex::default();
        let full = |file: &mut File| file.write_all(b"half").and(Err(ErrorKind::StorageFull.into()));
        let error = replace(&path, None, &ledger, full).unwrap_err();
        assert!(matches!(OutputError::new("model.json", error), OutputError::DiskFull { .. }));
        let panicked = std::panic::catch_unwind(|| replace(&path, None, &LEDGER, |_| panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(scratch.names(), ["model.json"]);
        assert!(lock(&ledger).unfinished.is_empty() && lock(&ledger).written.is_empty());
    }

    #[test]
    fn unfinished_files_are_removed_on_request_and_only_those() {
        let scratch = Scratch::new("unfinished");
        let path = scratch.0.join("model.json");
        fs::write(&path, "old").unwrap();
        let ledger = Mutex::<Ledger>::default();
        replace(&path, None, &ledger, |file| file.write_all(b"new")).unwrap();
        // Named under its own name, and left alone from then on.
        let (_file, temporary) = Temporary::create(&scratch.0, &ledger).unwrap();
        let names = scratch.names();
        assert!(names.len() == 2 && names[0].starts_with(".pointillist-"), "{names:?}");
        assert_eq!(close(&ledger), ["model.json"]);
        assert_eq!(scratch.names(), ["model.json"]);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        // Who wants to write now waits for the end, as would the file when dropped.
        std::mem::forget(temporary);
    }

    #[test]
    fn directories_are_told_apart() {
        let scratch = Scratch::new("directories");
        fs::write(scratch.0.join("file"), "").unwrap();
        let error = |name: &str| write_atomically(&scratch.0.join(name), b"x").unwrap_err();
        assert!(matches!(error(""), OutputError::IsDirectory { .. }));
        assert!(matches!(error("results/"), OutputError::IsDirectory { .. }));
        assert!(matches!(error("missing/model.json"), OutputError::NoDirectory { .. }));
        assert!(matches!(error("file/model.json"), OutputError::NoDirectory { .. }));
        let sentence = error("missing/model.json").to_string();
        assert!(sentence.contains("missing/model.json") && sentence.contains("create it"), "{sentence}");
        assert_eq!(scratch.names(), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let scratch = Scratch::new("links");
        let (file, link) = (scratch.0.join("file"), scratch.0.join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn no_permission_is_said() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("permission");
        let file = scratch.0.join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        assert!(matches!(write_atomically(&file, b"new"), Err(OutputError::NoPermission { .. })));
        assert_eq!(fs::read(&file).unwrap(), b"old");

        fs::set_permissions(&scratch.0, Permissions::from_mode(0o555)).unwrap();
        let is_superuser = File::create(scratch.0.join("probe")).is_ok();
        let result = write_atomically(&scratch.0.join("new"), b"x");
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o755)).unwrap();
        assert!(is_superuser || matches!(result, Err(OutputError::NoPermission { .. })));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_directly_and_stay_devices() {
        let error = write_atomically(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(matches!(error, OutputError::DiskFull { .. }), "{error}");
        assert_eq!(error.to_string(), "cannot write /dev/full: the disk is full; make room or write to another place");
        write_atomically(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
