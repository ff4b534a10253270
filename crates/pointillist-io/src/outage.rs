//! A pause that other cycles do not have: a day without events in a month of busy days is more often an outage than a rate.
//!
//! A rate with a cycle follows such a pause, because the part that repeats itself may change slowly: so the fit shows no misfit, and the cycle is poorer for it.
//! Events are therefore compared with events. The same stretch of the cycles before and after has as many in the mean, whatever the cycle looks like. If n are seen
//! in k such stretches, none in one more of the same mean has the probability (k/(k+1))ⁿ, whatever that mean is; there are as many chances as pauses.

use super::components::{NamedCycle, components};
use super::message::{Message, Setting};
use super::time::MICROS_PER_SECOND;
use super::window::{place, show_box, time_axis};
use super::zone::looks;
use crate::message;
use pointillist::{Points, Posterior};

/// A pause is worth a word below this probability, for all pauses of a window together.
const IMPROBABLE: f64 = 1e-3;
/// Cycles before a pause that it is compared with, and as many after it; none is further away than this.
const CYCLES: usize = 2;
const FURTHEST: i32 = 4;
/// Fewest of them, and the fewest events in each: one busy stretch says nothing of the others.
const FEWEST_CYCLES: usize = 2;
const FEWEST_EVENTS: usize = 5;
/// Windows of more stretches are not written out.
const MOST_STRETCHES: usize = 6;
/// Most pauses that are looked for.
const MOST_PAUSES: usize = 24;
/// A week, in cycles of a day; so many weeks before and after a pause, with at most this part of the events of other days, make it one of each week.
const WEEK: f64 = 7.0;
const MOST_WEEKS: i32 = 8;
const QUIET: f64 = 0.1;
/// A day of each week that is not silent but quieter: the middle half of it has at most this part of what is usual in all of it, and so few that none at all is
/// not improbable.
const QUIETER: f64 = 0.25;
/// What a warning of a week that is missing says, for who has to tell it from others.
const WEEK_IS_MISSING: &str = "a cycle of a day has no week";

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
    let cycle = cycles.reduce(|one, other| if other.period > one.period { other } else { one })?;
    let spans = window.stretches();
    let mut times = events.axis(0);
    times.sort_by(f64::total_cmp);
    let time = time_axis(axis).filter(|_| cycle.named == Some(NamedCycle::Day));
    let is_weekend = |at: f64| time.is_some_and(|time| is_weekend(time.reading_at(at)));
    let Pauses { outages, weekly } = pauses(&times, &spans, cycle.period, &is_weekend);
    let ends = |pause: &Pause| [pause.from, pause.to].map(|at| place(axis, at));
    let of_week = weekly.first().filter(|_| cycle.named == Some(NamedCycle::Day)).map(|pause| {
        let [from, to] = ends(pause);
        let why = match is_weekly(pause, &times, &spans, cycle.period) {
            Some(_) => "and other weeks have few or none at that time",
            None => "which is a weekend",
        };
        message![
            "there is no event from {from} to {to}, {why}: {WEEK_IS_MISSING}; try ",
            Setting::Cycle.given("day,week")
        ]
    });
    if outages.is_empty() {
        return of_week.map(|mut week| {
            week.add(", and leave nothing out".to_string());
            week
        });
    }
    let named = outages.iter().map(|pause| {
        let [from, to] = ends(pause);
        let seen: Vec<String> = pause.others.iter().map(usize::to_string).collect();
        format!("from {from} to {to} (the same stretch of the cycles before and after has {})", seen.join(", "))
    });
    let named = named.collect::<Vec<_>>().join(", nor ");
    let (then, them) = if outages.len() > 1 { ("at those times", "them") } else { ("then", "it") };
    let also = if of_week.is_some() { "Nor is there one" } else { "there is no event" };
    let mut said = of_week.map_or_else(Message::default, |mut week| {
        week.add(". ".to_string());
        week
    });
    said.add(message![
        "{also} {named}: if nothing could be recorded {then} (an outage), leave {them} out, because the cycle is learned from {them} too: "
    ]);
    let left = outages.iter().fold(spans, |spans, pause| cut(&spans, pause));
    if left.len() > MOST_STRETCHES {
        said.add(message!["repeat ", Setting::Window, " for what lies before and after {them}"]);
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

/// Whether a warning is that of a week which a cycle of a day does not have.
pub(super) fn misses_week(warning: &str) -> bool {
    warning.contains(WEEK_IS_MISSING)
}

/// Whether clocks that show this (microseconds since 1970, a Thursday) are on a Saturday or Sunday.
fn is_weekend(reading: i64) -> bool {
    (reading.div_euclid(86_400 * MICROS_PER_SECOND) + 3).rem_euclid(7) >= 5
}

/// Stretches without a pause.
fn cut(spans: &[(f64, f64)], pause: &Pause) -> Vec<(f64, f64)> {
    spans.iter().flat_map(|span| without(*span, (pause.from, pause.to))).collect()
}

/// What is left of a stretch without another.
fn without((lo, hi): (f64, f64), (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    [(lo, hi.min(from)), (lo.max(to), hi)].into_iter().filter(|(lo, hi)| lo < hi).collect()
}

/// Improbable pauses.
#[derive(Debug, Default, PartialEq)]
struct Pauses {
    /// Those that come once, in order of time.
    outages: Vec<Pause>,
    /// Those that every seventh cycle has: weekends, to a cycle of a day.
    weekly: Vec<Pause>,
}

/// All improbable pauses between times in order, over stretches that were looked at: one after the other, so that none is compared with another.
/// Where there is no other week to compare with, the calendar says what is a weekend.
fn pauses(times: &[f64], spans: &[(f64, f64)], period: f64, is_weekend: &dyn Fn(f64) -> bool) -> Pauses {
    let (mut found, mut left) = (Pauses::default(), spans.to_vec());
    while found.outages.len() + found.weekly.len() < MOST_PAUSES {
        let Some(pause) = least_probable(times, &left, period) else { break };
        left = cut(&left, &pause);
        let weekly = is_weekly(&pause, times, spans, period);
        match weekly.unwrap_or_else(|| is_weekend(0.5 * (pause.from + pause.to))) {
            true => found.weekly.push(pause),
            false => found.outages.push(pause),
        }
    }
    found.outages.sort_by(|a, b| a.from.total_cmp(&b.from));
    found
}

/// Events in a stretch.
fn count(times: &[f64], (from, to): (f64, f64)) -> usize {
    times.partition_point(|t| *t <= to) - times.partition_point(|t| *t < from)
}

/// Whether a stretch lies in one that was looked at.
fn was_looked_at(spans: &[(f64, f64)], (from, to): (f64, f64)) -> bool {
    spans.iter().any(|(lo, hi)| *lo <= from && to <= *hi)
}

/// Whether other weeks, of seven cycles, have next to no events where a pause is, or so few that one without any is no wonder; nobody knows if no other week was
/// looked at.
fn is_weekly(pause: &Pause, times: &[f64], spans: &[(f64, f64)], period: f64) -> Option<bool> {
    // The middle of it: weekends do not begin with the same minute.
    let margin = 0.25 * (pause.to - pause.from);
    let usual = pause.others.iter().sum::<usize>() as f64 / pause.others.len() as f64;
    let weeks = (-MOST_WEEKS..=MOST_WEEKS).filter(|by| *by != 0).map(|by| f64::from(by) * WEEK * period);
    let weeks = weeks.map(|by| (pause.from + margin + by, pause.to - margin + by));
    let seen: Vec<usize> = weeks.filter(|week| was_looked_at(spans, *week)).map(|week| count(times, week)).collect();
    let is_quiet = |seen: &usize| (*seen as f64) <= QUIET * usual;
    let (weeks, events) = (seen.len() as f64, seen.iter().sum::<usize>() as f64);
    let chances = (times.len() + spans.len()) as f64;
    let is_quieter = || {
        let log_p = events * (weeks / (weeks + 1.0)).ln() + chances.ln();
        events <= QUIETER * usual * weeks && log_p >= IMPROBABLE.ln()
    };
    (!seen.is_empty()).then(|| seen.iter().all(is_quiet) || is_quieter())
}

/// The least probable pause between times in order, over stretches that were looked at, if it is improbable.
fn least_probable(times: &[f64], spans: &[(f64, f64)], period: f64) -> Option<Pause> {
    let chances = (times.len() + spans.len()) as f64;
    let pauses = spans.iter().flat_map(|(lo, hi)| {
        let inside = times.iter().copied().filter(move |t| lo < t && t < hi);
        let ends: Vec<f64> = std::iter::once(*lo).chain(inside).chain([*hi]).collect();
        ends.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    });
    let compared = |(from, to): (f64, f64)| {
        let step = period * ((to - from) / period).ceil().max(1.0);
        let moved = |by: i32| (from + f64::from(by) * step, to + f64::from(by) * step);
        // The nearest on either side that were looked at.
        let side = |sign: i32| {
            let near = (1..=FURTHEST).map(move |by| moved(sign * by)).filter(|moved| was_looked_at(spans, *moved));
            near.take(CYCLES).map(|moved| count(times, moved)).collect::<Vec<_>>()
        };
        let mut others: Vec<usize> = side(-1).into_iter().rev().chain(side(1)).collect();
        let mut choices = chances;
        // One of them may be another outage. To leave out the emptiest is one more choice for each.
        let emptiest = (0..others.len()).min_by_key(|other| others[*other]);
        if let Some(other) = emptiest.filter(|other| others[*other] < FEWEST_EVENTS && others.len() > FEWEST_CYCLES) {
            choices *= 1.0 + others.len() as f64;
            others.remove(other);
        }
        let k = others.len() as f64;
        let log_p = others.iter().sum::<usize>() as f64 * (k / (k + 1.0)).ln() + choices.ln();
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
            let found = pauses(&times, &[(0.0, 30.0)], 1.0, &|_| false);
            let [pause] = &found.outages[..] else { panic!("{found:?}") };
            assert!(pause.from < 12.35 && pause.to > 13.25 && pause.to - pause.from < 2.0, "{pause:?}");
            assert!(found.weekly.is_empty());
        }
    }

    #[test]
    fn two_outages_are_both_found_also_a_cycle_apart() {
        for (seed, second) in (0..40).zip([20.3, 14.3].into_iter().cycle()) {
            let mut times = Random(300 + seed).times(30.0, 120.0, |t| busy(120.0, t));
            times.retain(|t| !(12.3..13.3).contains(t) && !(second..second + 1.0).contains(t));
            let found = pauses(&times, &[(0.0, 30.0)], 1.0, &|_| false).outages;
            let is_one = |at: f64| move |pause: &Pause| pause.from < at + 0.05 && pause.to > at + 0.95;
            assert!(found.len() == 2 && is_one(12.3)(&found[0]) && is_one(second)(&found[1]), "{second}: {found:?}");
        }
    }

    #[test]
    fn weekends_are_no_outage_and_a_day_beside_them_is() {
        for seed in 0..20 {
            let mut times = Random(500 + seed).times(28.0, 120.0, |t| if t % 7.0 < 5.0 { busy(120.0, t) } else { 0.0 });
            let found = pauses(&times, &[(0.0, 28.0)], 1.0, &|_| false);
            assert!(found.outages.is_empty() && !found.weekly.is_empty(), "{found:?}");
            times.retain(|t| !(15.2..16.2).contains(t));
            let found = pauses(&times, &[(0.0, 28.0)], 1.0, &|_| false).outages;
            assert!(found.len() == 1 && found[0].from < 15.25 && found[0].to > 16.15, "{found:?}");
        }
        // Weekends may be quiet without being silent. A day without events is then seen unless several of the days that it is compared with are such.
        let mut seen = 0;
        for (seed, quiet) in (0..60).zip([0.03, 0.1, 0.2].into_iter().cycle()) {
            let part = |t: f64| if t % 7.0 < 5.0 { 1.0 } else { quiet };
            let mut times = Random(700 + seed).times(28.0, 120.0, |t| part(t) * busy(120.0, t));
            let found = pauses(&times, &[(0.0, 28.0)], 1.0, &|_| false);
            assert!(found.outages.is_empty(), "{quiet}: {found:?}");
            times.retain(|t| !(15.2..16.2).contains(t));
            let found = pauses(&times, &[(0.0, 28.0)], 1.0, &|_| false).outages;
            assert!(found.iter().all(|pause| pause.from < 15.25 && pause.to > 16.15), "{quiet}: {found:?}");
            seen += found.len();
        }
        assert!((45..=60).contains(&seen), "{seen}");
        // With one weekend alone, the calendar knows.
        let times = Random(7).times(11.0, 120.0, |t| if t % 7.0 < 5.0 { busy(120.0, t) } else { 0.0 });
        assert_eq!(pauses(&times, &[(0.0, 11.0)], 1.0, &|at| at % 7.0 > 5.0).outages, []);
        assert_eq!(pauses(&times, &[(0.0, 11.0)], 1.0, &|_| false).outages.len(), 1);
        // 18 and 20 November 2024, a Monday and a Wednesday; the 23rd and 24th are the weekend; before 1970.
        let days = [20_045_i64, 20_047, 20_050, 20_051, 20_052, -4, -5].map(|day| day * 86_400 * MICROS_PER_SECOND + 1);
        assert_eq!(days.map(is_weekend), [false, false, true, true, false, true, true]);
    }

    #[test]
    fn nights_and_bad_days_are_none() {
        // 500 sets at 1 in 1000: more than three have a probability of 0.002.
        let sets = (0..500).map(|seed| {
            let most = [20.0, 60.0, 200.0][seed as usize % 3];
            Random(900 + seed).times(30.0, most, |t| busy(most, t))
        });
        let found = sets.filter(|times| least_probable(times, &[(0.0, 30.0)], 1.0).is_some()).count();
        assert!(found <= 3, "{found}");
    }

    #[test]
    fn what_was_not_looked_at_is_no_pause() {
        let mut times = Random(3).times(30.0, 120.0, |t| busy(120.0, t));
        times.retain(|t| !(12.3..13.3).contains(t));
        assert_eq!(least_probable(&times, &[(0.0, 12.3), (13.3, 30.0)], 1.0), None);
        assert_eq!(without((0.0, 30.0), (12.3, 13.3)), [(0.0, 12.3), (13.3, 30.0)]);
        assert_eq!(without((0.0, 30.0), (0.0, 1.0)), [(1.0, 30.0)]);
    }
}
