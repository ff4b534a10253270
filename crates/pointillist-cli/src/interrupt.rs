//! Ctrl-C and other signals that ask the program to end: it ends at once, nothing half-written stays, and it says what was written.
//!
//! A run that saves itself has a moment to do so. A thread waits for the signals, so nothing has to be done inside of a handler. A
//! signal that was ignored when the program began (SIGHUP under `nohup`) stays ignored.

use crate::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How long a run that saves itself may take to notice. Saving itself then takes as long as it takes.
const PATIENCE: Duration = Duration::from_secs(1);
/// The number of Ctrl-C.
const INTERRUPT: i32 = 2;
/// Most names in the last sentence.
const MOST_NAMES: usize = 3;

/// The signal that came; 0 while none did.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether what runs saves itself when asked to end.
static SAVES: AtomicBool = AtomicBool::new(false);
/// Whether it has noticed.
static NOTICED: AtomicBool = AtomicBool::new(false);

/// Listens from now on. To be called before there are other threads.
pub fn listen() {
    system::listen(|signal| {
        if SIGNAL.swap(signal, Ordering::SeqCst) != 0 {
            // Who asks twice does not want to wait.
            end();
        }
        std::thread::spawn(|| {
            let asked = Instant::now();
            while SAVES.load(Ordering::SeqCst) && (NOTICED.load(Ordering::SeqCst) || asked.elapsed() < PATIENCE) {
                std::thread::sleep(Duration::from_millis(10));
            }
            end();
        });
    });
}

/// Whether a signal came. Who asks is taken to save its work then, and to end.
pub fn is_asked() -> bool {
    let asked = SIGNAL.load(Ordering::SeqCst) != 0;
    if asked {
        NOTICED.store(true, Ordering::SeqCst);
    }
    asked
}

/// Ends the program as the signal asked, once the temporary files are gone.
pub fn end() -> ! {
    let written = io::give_up();
    crate::commands::hide_progress();
    crate::commands::say(&sentence(&written));
    let signal = SIGNAL.load(Ordering::SeqCst);
    std::process::exit(128 + if signal == 0 { INTERRUPT } else { signal });
}

/// What is said at the end.
fn sentence(written: &[String]) -> String {
    let shown = written[..written.len().min(MOST_NAMES)].join(", ");
    match written.len() {
        0 => "interrupted; nothing was written".into(),
        count if count <= MOST_NAMES => format!("interrupted; already written: {shown}"),
        count => format!("interrupted; already written: {shown} and {} more", count - MOST_NAMES),
    }
}

/// Marks the time of a run that saves itself: while it lives, a signal waits for the run to notice.
pub struct Saving;

impl Saving {
    /// From now on.
    pub fn begin() -> Self {
        SAVES.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        // A run that has noticed ends the program itself, after it has said how to go on.
        if !NOTICED.load(Ordering::SeqCst) {
            SAVES.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(unix)]
mod system {
    use std::{mem, ptr};

    /// What asks a program to end.
    const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

    /// Calls `then` with the number of each signal, in a thread of its own.
    pub fn listen(mut then: impl FnMut(i32) + Send + 'static) {
        // SAFETY: a set is plain memory, which sigemptyset fills in before anything reads it; the rest are calls with pointers to
        // values that live here, and null where the manual allows it.
        let set = unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in SIGNALS {
                let mut before: libc::sigaction = mem::zeroed();
                let known = libc::sigaction(signal, ptr::null(), &mut before) == 0;
                if known && before.sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(&mut set, signal);
                }
            }
            // A file that grows larger than is allowed is an error like any other, after which nothing half-written stays.
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            // Threads made later inherit this: only the one below gets to see these signals.
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut());
            set
        };
        std::thread::spawn(move || {
            loop {
                let mut signal = 0;
                // SAFETY: both pointers are to values that outlive the call.
                if unsafe { libc::sigwait(&set, &mut signal) } != 0 {
                    return;
                }
                then(signal);
            }
        });
    }
}

#[cfg(not(unix))]
mod system {
    /// Calls `then` at Ctrl-C.
    pub fn listen(mut then: impl FnMut(i32) + Send + 'static) {
        // Without a handler Ctrl-C still ends the program: nothing to report.
        let _ = ctrlc::set_handler(move || then(super::INTERRUPT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_that_nothing_was_written_where_nothing_was() {
        let names = ["a.csv", "b.csv", "c.csv", "d.csv"].map(String::from);
        assert_eq!(sentence(&[]), "interrupted; nothing was written");
        assert_eq!(sentence(&names[..1]), "interrupted; already written: a.csv");
        assert_eq!(sentence(&names), "interrupted; already written: a.csv, b.csv, c.csv and 1 more");
    }
}
