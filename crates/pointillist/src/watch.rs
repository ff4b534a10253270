//! Functions that are told how far a call is, and may end it with [`Error::Cancelled`]. A call that can take long has a variant that
//! takes one (`…_watched`), with the same answer to the last bit.

pub use crate::infer::{FitStage, FitWatch};
pub use crate::posterior::{CountProgress, CountStage, CountWatch};

use crate::error::{Error, Result};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Told which part of the work is done, from 0 to 1, and asked whether to go on. It may be called from any thread.
pub type PartWatch<'a> = dyn Fn(f64) -> ControlFlow<()> + Sync + 'a;

/// Watches nothing.
pub(crate) fn unwatched(_: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Work that is told to a watch, in units that all have about the same cost.
pub(crate) struct Work<'a> {
    done: AtomicUsize,
    of: usize,
    watch: &'a PartWatch<'a>,
    cancelled: AtomicBool,
}

impl<'a> Work<'a> {
    /// None of so many units is done.
    pub(crate) fn new(of: usize, watch: &'a PartWatch<'a>) -> Self {
        Self { done: AtomicUsize::new(0), of, watch, cancelled: AtomicBool::new(false) }
    }

    /// So many more are done. Once it was cancelled, it stays cancelled: other threads hear of it too.
    pub(crate) fn advance(&self, units: usize) -> Result<()> {
        self.check()?;
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        let part = (done as f64 / self.of.max(1) as f64).min(1.0);
        self.cancelled.fetch_or((self.watch)(part).is_break(), Ordering::Relaxed);
        self.check()
    }

    /// Asks whether to go on in the middle of something long.
    pub(crate) fn pulse(&self) -> Result<()> {
        self.advance(0)
    }

    /// Refuses to go on with what was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}
