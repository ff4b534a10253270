//! Progress: one line on stderr that is written over and over, on a terminal only.

use super::Context;
use pointillist::Result;
use pointillist::watch::PartWatch;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work that takes longer than this says how it goes, this often.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

/// Work that shows on a terminal how far it is.
pub fn shown<T>(what: &str, context: &Context, work: impl FnOnce(&PartWatch<'_>) -> Result<T>) -> Result<T> {
    let meter = Mutex::new(Meter::new(context));
    let found = work(&|done| {
        // Whoever does not get hold of the line need not wait for it.
        if let Ok(mut meter) = meter.try_lock() {
            meter.show_part(what, done);
        }
        ControlFlow::Continue(())
    });
    meter.lock().unwrap_or_else(PoisonError::into_inner).clear();
    found
}

/// The line.
pub struct Meter {
    wanted: bool,
    started: Instant,
    shown: Option<Instant>,
    /// How much was done when last asked.
    done: f64,
}

impl Meter {
    /// Silent where nobody looks, or nobody wants to.
    pub fn new(context: &Context) -> Self {
        let wanted = !context.quiet() && std::io::stderr().is_terminal();
        Self { wanted, started: Instant::now(), shown: None, done: 0.0 }
    }

    /// Shows what `line` says and the time so far, unless it is too early.
    pub fn show(&mut self, line: impl FnOnce() -> String) {
        if !self.wanted || self.started.elapsed() < PATIENCE || self.shown.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64();
        // Nobody listening is no reason to stop.
        let _ = write!(std::io::stderr(), "\r{}, {seconds:.1} s\x1b[K", line());
        self.shown = Some(Instant::now());
    }

    /// The same for work of which a part is done: how much, and about how long the rest will take. It never seems to go back.
    pub fn show_part(&mut self, what: &str, done: f64) {
        let so_far = self.started.elapsed().as_secs_f64();
        self.done = done.max(self.done);
        let done = self.done;
        self.show(|| {
            let left =
                if done > 0.0 { format!(", about {:.0} s left", so_far * (1.0 - done) / done) } else { String::new() };
            format!("{what}: {:.0} %{left}", 100.0 * done)
        });
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
