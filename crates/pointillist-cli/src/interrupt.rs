//! Ctrl-C: a running fit is asked to stop, anything else stops at once, and nothing half-written stays.

use crate::io;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a program ended by Ctrl-C.
pub const EXIT_CODE: u8 = 130;

/// What is said then.
pub const SENTENCE: &str = "interrupted; nothing was written";

static ASKED: AtomicBool = AtomicBool::new(false);
static FITTING: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C from now on.
pub fn listen() {
    // Without a handler Ctrl-C still ends the program: nothing to report.
    let _ = ctrlc::set_handler(|| {
        // A fit ends by itself after its next evaluation; who asks twice does not want to wait for it.
        if ASKED.swap(true, Ordering::SeqCst) || !FITTING.load(Ordering::SeqCst) {
            io::remove_unfinished();
            // Stderr may be closed.
            let _ = writeln!(std::io::stderr(), "{SENTENCE}");
            std::process::exit(EXIT_CODE.into());
        }
    });
}

/// Whether Ctrl-C was pressed.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Marks the time of a fit: while it lives, Ctrl-C waits for the fit to notice.
pub struct Fitting;

impl Fitting {
    /// From now on.
    pub fn begin() -> Self {
        FITTING.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for Fitting {
    fn drop(&mut self) {
        FITTING.store(false, Ordering::SeqCst);
    }
}
