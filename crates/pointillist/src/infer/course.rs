//! How far a fit is, from 0 to 1: the work that is done, of all that is foreseen. Work is counted in what natural steps cost (`Kind::cost`), which is
//! about linear in time. Nothing here changes an answer.

use super::Progress;
use std::cell::Cell;
use std::sync::Mutex;

/// What is left never seems less than this part of what was foreseen: work that takes longer slows down, and does not seem to be at its end.
const NEVER_LESS: f64 = 0.15;

/// The way through one family.
#[derive(Debug, Default)]
pub(super) struct Course {
    done: Cell<f64>,
    /// What was left when that was last foreseen, and what was done then.
    left: Cell<f64>,
    then: Cell<f64>,
    part: Cell<f64>,
}

impl Course {
    /// So much work is left from here on, as far as is known now.
    pub(super) fn foresee(&self, left: f64) {
        self.left.set(left);
        self.then.set(self.done.get());
    }

    pub(super) fn advance(&self, work: f64) {
        self.done.set(self.done.get() + work);
    }

    /// The part that is done. It never falls, even where more turns out to be left.
    pub(super) fn part(&self) -> f64 {
        let (done, foreseen) = (self.done.get(), self.left.get());
        let left = (foreseen - (done - self.then.get())).max(NEVER_LESS * foreseen);
        let part = if done > 0.0 && foreseen > 0.0 { done / (done + left) } else { 0.0 };
        self.part.set(part.max(self.part.get()));
        self.part.get()
    }
}

/// The ways through several families, one after the other or side by side, and what comes after them.
pub(super) struct Courses {
    /// What each of them is expected to cost.
    weights: Vec<f64>,
    /// What comes after them.
    after: f64,
    heard: Mutex<Heard>,
}

/// What was last heard of each family.
struct Heard {
    parts: Vec<f64>,
    evaluations: Vec<usize>,
}

impl Courses {
    pub(super) fn new(weights: Vec<f64>, after: f64) -> Self {
        let heard = Mutex::new(Heard { parts: vec![0.0; weights.len()], evaluations: vec![0; weights.len()] });
        Self { weights, after, heard }
    }

    /// The progress of all, from that of one of them.
    pub(super) fn whole(&self, family: usize, progress: &Progress) -> Progress {
        let mut heard = self.heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Events in shorter cells are a search of their own, with counts from 0.
        heard.parts[family] = progress.part.max(heard.parts[family]);
        heard.evaluations[family] = progress.evaluations.max(heard.evaluations[family]);
        let done: f64 = self.weights.iter().zip(&heard.parts).map(|(weight, part)| weight * part).sum();
        Progress { part: done / self.all(), evaluations: heard.evaluations.iter().sum(), ..*progress }
    }

    fn all(&self) -> f64 {
        self.weights.iter().sum::<f64>() + self.after
    }

    /// The part that is done when all families are through.
    pub(super) fn all_ended(&self) -> f64 {
        1.0 - self.after / self.all()
    }

    /// A family is through.
    pub(super) fn ended(&self, family: usize) {
        self.heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner).parts[family] = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_goes_evenly_where_it_was_foreseen_and_never_back() {
        let course = Course::default();
        assert_eq!(course.part(), 0.0);
        course.foresee(10.0);
        let parts: Vec<f64> = (0..8)
            .map(|_| {
                course.advance(1.0);
                course.part()
            })
            .collect();
        parts.iter().enumerate().for_each(|(i, part)| assert!((part - 0.1 * (i + 1) as f64).abs() < 1e-12));
        // Far more than was foreseen: it waits, and goes on from there.
        course.foresee(100.0);
        assert_eq!(course.part(), parts[7]);
        (0..90).for_each(|_| course.advance(1.0));
        let late = course.part();
        assert!(late > parts[7] && late < 1.0, "{late}");
        // Work that takes longer than it should comes ever nearer to its end, and not there.
        (0..1000).for_each(|_| course.advance(1.0));
        assert!(course.part() > late && course.part() < 1.0);
    }

    #[test]
    fn families_count_by_their_weights() {
        let courses = Courses::new(vec![3.0, 1.0], 1.0);
        let at = |part: f64, evaluations: usize| Progress { part, evaluations, ..Progress::BEGUN };
        assert_eq!(courses.whole(0, &at(0.5, 7)).part, 0.3);
        courses.ended(0);
        let second = courses.whole(1, &at(0.5, 5));
        assert_eq!((second.part, second.evaluations), (0.7, 12));
        assert_eq!(courses.whole(1, &at(0.2, 1)).part, 0.7); // it begins again
    }
}
