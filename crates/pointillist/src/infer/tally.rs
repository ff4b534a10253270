//! What is counted while a fit runs, and who is told of it. All stages of a fit share one tally, which tells at every natural
//! step.

use super::course::Course;
use super::{FitStage, FitWatch, Progress};
use crate::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

/// Counts, and the watcher.
pub(super) struct Tally<'a> {
    watch: RefCell<&'a mut FitWatch<'a>>,
    /// Natural steps.
    steps: Cell<usize>,
    /// Evaluations by Θ, and how many are allowed.
    thetas: Cell<usize>,
    most_thetas: usize,
    /// Bound outside = bound inside − this.
    log_units: f64,
    /// Of the field in use, and the last bound found on it.
    size: Cell<usize>,
    bound: Cell<f64>,
    /// What a natural step on it costs, what they all are for, and how far they lead.
    cost: Cell<f64>,
    stage: Cell<FitStage>,
    course: Course,
}

impl<'a> Tally<'a> {
    pub(super) fn new(watch: &'a mut FitWatch<'a>, most_thetas: usize, log_units: f64) -> Self {
        Self {
            watch: RefCell::new(watch),
            steps: Cell::new(0),
            thetas: Cell::new(0),
            most_thetas,
            log_units,
            size: Cell::new(0),
            bound: Cell::new(f64::NAN),
            cost: Cell::new(0.0),
            stage: Cell::new(FitStage::Search),
            course: Course::default(),
        }
    }

    /// Work goes on with a field of this size, a step on which costs so much.
    pub(super) fn resize(&self, size: usize, cost: f64) {
        self.size.set(size);
        self.cost.set(cost);
    }

    /// So much work is left of this family, as far as is known, and this comes now.
    pub(super) fn foresee(&self, stage: FitStage, left: f64) {
        self.stage.set(stage);
        self.course.foresee(left);
    }

    /// A natural step begins.
    pub(super) fn pulse(&self) -> Result<()> {
        self.count(1);
        self.tell()
    }

    /// Natural steps are so many by now, some of which were made where nobody could be told.
    pub(super) fn catch_up(&self, steps: usize) {
        self.count(steps.saturating_sub(self.steps.get()));
    }

    fn count(&self, steps: usize) {
        self.steps.set(self.steps.get() + steps);
        self.course.advance(steps as f64 * self.cost.get());
    }

    /// A Θ was evaluated. The first of its natural steps had no pulse.
    pub(super) fn theta(&self, value: f64) -> Result<()> {
        self.thetas.set(self.thetas.get() + 1);
        self.count(1);
        self.bound.set(value - self.log_units);
        self.tell()
    }

    pub(super) fn tell(&self) -> Result<()> {
        let progress = Progress {
            evaluations: self.steps.get(),
            bound: self.bound.get(),
            size: self.size.get(),
            stage: self.stage.get(),
            part: self.course.part(),
        };
        match (self.watch.borrow_mut())(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    /// Natural steps so far.
    pub(super) fn steps(&self) -> usize {
        self.steps.get()
    }

    /// Evaluations by Θ that are left.
    pub(super) fn thetas_left(&self) -> usize {
        self.most_thetas.saturating_sub(self.thetas.get())
    }

    pub(super) fn log_units(&self) -> f64 {
        self.log_units
    }
}
