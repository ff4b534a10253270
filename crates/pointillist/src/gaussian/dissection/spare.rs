//! Memory that was done with, for what comes next: most of it is needed for a moment, and new memory costs more than what is done in it.

use std::sync::Mutex;

/// Most numbers that are kept from one factor to the next: where there are more, what is done with them takes much longer than to get them.
const MOST_KEPT: usize = 4_000_000;

/// Lists of numbers to write over.
#[derive(Default)]
pub(super) struct Spare(Vec<Vec<f64>>);

impl Spare {
    /// A list of at least so many numbers, with anything in it.
    pub(super) fn take(&mut self, count: usize) -> Vec<f64> {
        let (lists, fits) = (&self.0, |i: &usize| self.0[*i].len() >= count);
        let best = (0..lists.len()).filter(fits).min_by_key(|i| lists[*i].len());
        match best.or_else(|| (0..lists.len()).max_by_key(|i| lists[*i].len())) {
            Some(i) if best.is_some() => self.0.swap_remove(i),
            // None is large enough: one that is no more of use makes room.
            Some(i) => {
                self.0.swap_remove(i);
                vec![0.0; count]
            }
            None => vec![0.0; count],
        }
    }

    pub(super) fn give(&mut self, list: Vec<f64>) {
        self.0.push(list);
    }

    fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

/// What is kept with a plan.
#[derive(Default)]
pub(super) struct Kept {
    spare: Mutex<Vec<Spare>>,
    panels: Mutex<Option<Vec<Vec<f64>>>>,
}

impl Kept {
    /// Something to work in, for one thread.
    pub(super) fn spare(&self) -> Spare {
        self.spare.lock().ok().and_then(|mut list| list.pop()).unwrap_or_default()
    }

    pub(super) fn give_back(&self, spare: Spare) {
        let Ok(mut list) = self.spare.lock() else { return };
        if list.iter().map(Spare::len).sum::<usize>() + spare.len() <= MOST_KEPT {
            list.push(spare);
        }
    }

    /// The panels of a factor that is no more; empty ones if there are none.
    pub(super) fn panels(&self, fronts: usize) -> Vec<Vec<f64>> {
        self.panels.lock().ok().and_then(|mut kept| kept.take()).unwrap_or_else(|| vec![vec![]; fronts])
    }

    pub(super) fn give_back_panels(&self, panels: Vec<Vec<f64>>) {
        if panels.iter().map(Vec::len).sum::<usize>() <= MOST_KEPT
            && let Ok(mut kept) = self.panels.lock()
        {
            *kept = Some(panels);
        }
    }
}
