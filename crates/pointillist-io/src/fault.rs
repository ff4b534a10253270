//! A panic is a fault of the program. What is said of it is what its author needs: the message, the place and the version.

use std::panic;
use std::sync::{Mutex, PoisonError};

/// What the program then exits with, as Rust programs do.
pub const EXIT_CODE: u8 = 101;

/// The last panic: its message and its place.
static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Remembers panics from now on in place of printing them: some are caught, as those of the reader of Parquet files are.
pub fn remember() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}:{}", short(at.file()), at.line(), at.column()));
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let last = (one_line(message), place.unwrap_or_else(|| "an unknown place".into()));
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }));
}

/// What to say of the last panic; what was asked for is called so: `command`, `call`.
pub fn report(asked: &str) -> String {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (message, place) = last.unwrap_or_else(|| ("no message".into(), "an unknown place".into()));
    format!(
        "a fault in pointillist {} itself: {message} (at {place}); please report this with the {asked} and, if you can, the input",
        env!("CARGO_PKG_VERSION")
    )
}

/// Whether the last panic came of a thread that the system did not give, which is no fault of the program.
pub fn is_want_of_threads() -> bool {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().is_some_and(|(message, _)| tells_of_threads(message))
}

/// Whether a message is that of the standard library, or of the thread pool, where the system gives no thread.
fn tells_of_threads(message: &str) -> bool {
    message.contains("WouldBlock") && (message.contains("ThreadPool") || message.contains("spawn thread"))
}

/// A file of source code without what only the machine that built the program knows: folders, and where packages came from.
fn short(file: &str) -> &str {
    let after = |mark: &str| file.split_once(mark).and_then(|(_, rest)| rest.split_once('/')).map(|(_, rest)| rest);
    after("/registry/src/").or_else(|| after("/rustc/")).unwrap_or(file)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_not_given_is_no_fault() {
        let no_thread = std::io::Error::from(std::io::ErrorKind::WouldBlock);
        assert!(tells_of_threads(&format!("failed to spawn thread: {no_thread:?} WouldBlock")));
        assert!(!tells_of_threads("index out of bounds"));
    }

    #[test]
    fn places_do_not_tell_of_the_machine() {
        assert_eq!(short("crates/pointillist/src/points.rs"), "crates/pointillist/src/points.rs");
        assert_eq!(
            short("/home/ann/.cargo/registry/src/mirror.example-1f/faer-0.24.4/src/lib.rs"),
            "faer-0.24.4/src/lib.rs"
        );
        assert_eq!(short("/rustc/ab12/library/core/src/slice/index.rs"), "library/core/src/slice/index.rs");
    }
}
