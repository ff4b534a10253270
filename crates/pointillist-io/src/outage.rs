//! A pause that other cycles do not have: a day without events in a month of busy days is more often an outage than a rate.
//!
//! A rate with a cycle follows such a pause, because the part that repeats itself may change slowly: so the fit shows no misfit, and the cycle is poorer for it.
//! Events are therefore compared with events. The same stretch of the cycles before and after has as many in the mean, whatever the cycle looks like. If n are seen
//! in k such stretches, none in one more of the same mean has the probability (k/(k+1))ⁿ, whatever that mean is; there are as many chances as pauses.

use super::components::components;
use super::message::{Message, Setting};
use super::window::{place, show_box};
use super::zone::looks;
use crate::message;
use pointillist::{Points, Posterior};

/// A pause is worth a word below this probability, for all pauses of a window together.
const IMPROBABLE: f64 = 1e-3;
/// Cycles before a pause that it is compared with, and as many after it.
const CYCLES: i32 = 2;
/// Fewest of them, and the fewest events in each: one busy stretch says nothing of the others.
const FEWEST_CYCLES: usize = 2;
const FEWEST_EVENTS: usize = 5;
/// Windows of more stretches are not written out.
const MOST_STRETCHES: usize = 4;

/// A stretch without events, and what others like it have.
#[derive(Debug, Clone, PartialEq)]
struct Pause {
    from: f64,
    to: f64,
    /// Events in the same stretch of other cycles.
    others: Vec<usize>,
    /// The logarithm of its probability.
    log_p: f64,
}

/// A warning if events on a line, to which a rate with cycles was fitted, stop for longer than other cycles make probable.
pub fn outage(posterior: &Posterior, events: &Points) -> Option<Message> {
    let window = posterior.window();
    let [axis] = window.axes() else { return None };
    let often = looks(window);
    let is_even = window.exposure().is_none() && often.iter().all(|looks| *looks == often[0]);
    let cycles = components(posterior).ok().filter(|_| is_even)?.into_iter().filter_map(|component| component.cycle);
    let period = cycles.map(|cycle| cycle.period).reduce(f64::max)?;
    let spans = window.stretches();
    let mut times = events.axis(0);
    times.sort_by(f64::total_cmp);
    let pause = longest(&times, &spans, period)?;
    let [from, to] = [pause.from, pause.to].map(|at| place(axis, at));
    let seen: Vec<String> = pause.others.iter().map(usize::to_string).collect();
    let seen = seen.join(", ");
    let mut said = message![
        "there is no event from {from} to {to}, where the same stretch of the cycles before and after has {seen}: if nothing could be \
         recorded then (an outage), leave it out, because the cycle is learned from it too: "
    ];
    let left: Vec<(f64, f64)> = spans.iter().flat_map(|span| without(*span, (pause.from, pause.to))).collect();
    if left.len() > MOST_STRETCHES {
        said.add(message!["repeat ", Setting::Window, " for what lies before and after it"]);
        return Some(said);
    }
    for (number, span) in left.into_iter().enumerate() {
        if number > 0 {
            said.add(" ".to_string());
        }
        said.add(Setting::Window.given(show_box([span], window.axes())));
    }
    Some(said)
}

/// What is left of a stretch without another.
fn without((lo, hi): (f64, f64), (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    [(lo, hi.min(from)), (lo.max(to), hi)].into_iter().filter(|(lo, hi)| lo < hi).collect()
}

/// The least probable pause between times in order, over stretches that were looked at, if it is improbable.
fn longest(times: &[f64], spans: &[(f64, f64)], period: f64) -> Option<Pause> {
    let chances = (times.len() + spans.len()) as f64;
    let count = |(from, to): (f64, f64)| times.partition_point(|t| *t <= to) - times.partition_point(|t| *t < from);
    let pauses = spans.iter().flat_map(|(lo, hi)| {
        let inside = times.iter().copied().filter(move |t| lo < t && t < hi);
        let ends: Vec<f64> = std::iter::once(*lo).chain(inside).chain([*hi]).collect();
        ends.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    });
    let compared = |(from, to): (f64, f64)| {
        let step = period * ((to - from) / period).ceil().max(1.0);
        let moved = (-CYCLES..=CYCLES).filter(|by| *by != 0).map(|by| f64::from(by) * step);
        let moved = moved.map(|by| (from + by, to + by));
        let was_looked_at = |(from, to): &(f64, f64)| spans.iter().any(|(lo, hi)| lo <= from && to <= hi);
        let others: Vec<usize> = moved.filter(was_looked_at).map(count).collect();
        let k = others.len() as f64;
        let log_p = others.iter().sum::<usize>() as f64 * (k / (k + 1.0)).ln() + chances.ln();
        let is_told = others.len() >= FEWEST_CYCLES && others.iter().all(|seen| *seen >= FEWEST_EVENTS);
        (is_told && log_p < IMPROBABLE.ln()).then_some(Pause { from, to, others, log_p })
    };
    pauses.filter_map(compared).min_by(|a, b| a.log_p.total_cmp(&b.log_p))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 to 1 without structure, the same each time.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        fn times(&mut self, end: f64, most: f64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
            let (mut t, mut times) = (0.0, vec![]);
            loop {
                t -= (1.0 - self.next()).ln() / most;
                if t >= end {
                    return times;
                }
                if self.next() * most < rate(t) {
                    times.push(t);
                }
            }
        }
    }

    /// Busy days and quiet nights, with a trend and good and bad days.
    fn busy(most: f64, t: f64) -> f64 {
        let day = (std::f64::consts::TAU * (t - 0.1)).cos();
        let trend = 0.6 + 0.01 * t;
        most * trend * (0.5 - 0.5 * day).powi(2) * (0.85 + 0.15 * (1.7 * t.floor()).sin())
    }

    #[test]
    fn a_day_without_events_among_busy_ones_is_found() {
        for seed in 0..50 {
            let mut times = Random(100 + seed).times(30.0, 120.0, |t| busy(120.0, t));
            times.retain(|t| !(12.3..13.3).contains(t));
            let pause = longest(&times, &[(0.0, 30.0)], 1.0).unwrap();
            assert!(pause.from < 12.35 && pause.to > 13.25 && pause.to - pause.from < 2.0, "{pause:?}");
        }
    }

    #[test]
    fn nights_and_bad_days_are_none() {
        // 500 sets at 1 in 1000: more than three have a probability of 0.002.
        let sets = (0..500).map(|seed| {
            let most = [20.0, 60.0, 200.0][seed as usize % 3];
            Random(900 + seed).times(30.0, most, |t| busy(most, t))
        });
        let found = sets.filter(|times| longest(times, &[(0.0, 30.0)], 1.0).is_some()).count();
        assert!(found <= 3, "{found}");
    }

    #[test]
    fn what_was_not_looked_at_is_no_pause() {
        let mut times = Random(3).times(30.0, 120.0, |t| busy(120.0, t));
        times.retain(|t| !(12.3..13.3).contains(t));
        assert_eq!(longest(&times, &[(0.0, 12.3), (13.3, 30.0)], 1.0), None);
        assert_eq!(without((0.0, 30.0), (12.3, 13.3)), [(0.0, 12.3), (13.3, 30.0)]);
        assert_eq!(without((0.0, 30.0), (0.0, 1.0)), [(1.0, 30.0)]);
    }
}
