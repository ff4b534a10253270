//! Counts of events in bins beside what the posterior says of a new count there: which bins are outside of their bands.
//!
//! This is the one home of that question: `check --fit`, figures and pages show the bins that are found here. A band is that of a new count (Poisson, with a draw
//! of the rate as its mean) and not that of the rate. Bins have about as many events each as tell a band from nothing. The fit has seen the events, so that fewer
//! bins are outside than the band says. Where the window was looked at several times, all times are counted.

use super::Posterior;
use super::counts::CountWatch;
use crate::data::points::Points;
use crate::error::Result;
use crate::window::Window;

/// Bins have about so many events, …
const EVENTS_PER_BIN: f64 = 8.0;
/// … and there are at most so many of them along an axis, on a line and elsewhere.
const MOST_BINS: [usize; 2] = [64, 8];
/// Draws of the intensity for the bands.
const DRAWS: usize = 1000;
/// What lies outside of a part by less than this of its length may be on its edge.
const NEARLY: f64 = 1e-6;

/// A part of the window, with what was seen there beside a band of 95 % of a new count.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Bin {
    /// What is counted.
    pub region: Window,
    /// Events in it.
    pub seen: u64,
    /// Events expected there.
    pub expected: f64,
    /// The least new count of the band, …
    pub lower: f64,
    /// … and the largest.
    pub upper: f64,
    /// How often a new count is as far out on its side, twice.
    pub p: f64,
}

impl Bin {
    /// A bin with a lower p is outside of its band.
    pub const OUTSIDE: f64 = 0.05;

    /// Whether the count lies outside of its band.
    pub fn is_outside(&self) -> bool {
        self.p < Self::OUTSIDE
    }

    /// Whether more events were seen than are expected.
    pub fn has_more(&self) -> bool {
        self.seen as f64 > self.expected
    }
}

impl Posterior {
    /// Even bins over the window, each cut to it, as many as so many events are worth: up to 64 on a line, 8 on each side elsewhere.
    pub fn even_bins(&self, events: usize) -> Result<Vec<Window>> {
        let (window, spans) = (self.window(), self.window().bounding_box());
        let dims = spans.len();
        let most = MOST_BINS[usize::from(dims > 1)];
        let each = ((events as f64 / EVENTS_PER_BIN).powf(1.0 / dims as f64) as usize).clamp(2, most);
        let mut bins = Vec::new();
        for number in 0..each.pow(dims as u32) {
            let end = |r: usize, by: usize| {
                let place = number / each.pow(r as u32) % each + by;
                if place == each { spans[r].hi } else { spans[r].lo + spans[r].length() * place as f64 / each as f64 }
            };
            let ends: Vec<(f64, f64)> = (0..dims).map(|r| (end(r, 0), end(r, 1))).collect();
            bins.extend(window.looked_at(&Window::new(&ends)?));
        }
        Ok(bins)
    }

    /// `events` in parts of the window beside what is expected of them there; see [`Posterior::even_bins`].
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// use std::ops::ControlFlow;
    ///
    /// let times: Vec<f64> = (0..80).map(|i| 0.1 * f64::from(i)).collect();
    /// let events = Events::new(Points::line(&times)?, Window::interval(0.0, 8.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let regions = posterior.even_bins(events.len())?;
    /// let bins = posterior.bins(&regions, events.points(), 0, &mut |_| ControlFlow::Continue(()))?;
    /// assert_eq!(bins.iter().map(|bin| bin.seen).sum::<u64>(), 80);
    /// assert!(bins.iter().all(|bin| bin.lower <= bin.expected && bin.expected <= bin.upper && !bin.is_outside()));
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn bins(&self, regions: &[Window], events: &Points, seed: u64, watch: &mut CountWatch<'_>) -> Result<Vec<Bin>> {
        if regions.is_empty() {
            return Ok(vec![]);
        }
        let counts = self.joint_counts_watched(regions, DRAWS, seed, watch)?;
        let all_seen = self.seen_in_each(regions.iter(), events);
        let bin = |(number, region): (usize, &Window)| {
            let seen = all_seen[number];
            let (lower, upper) = counts.new_count_band(number, Bin::OUTSIDE);
            let (expected, p) = (counts.moments()[number].mean, counts.surprise(number, seen));
            Bin { region: region.clone(), seen, expected, lower, upper, p }
        };
        Ok(regions.iter().enumerate().map(bin).collect())
    }

    /// How many of `events` lie in a part of the window. What lies on an edge between two parts belongs to the upper one, so that parts add up to the whole.
    pub fn seen(&self, region: &Window, events: &Points) -> u64 {
        self.seen_in_each(std::iter::once(region), events)[0]
    }

    /// The same of several parts. Events are put in order along the first axis, so that each part looks only at those near it.
    pub fn seen_in_each<'a>(&self, regions: impl Iterator<Item = &'a Window>, events: &Points) -> Vec<u64> {
        let whole = self.window().bounding_box();
        let mut rows: Vec<&[f64]> = events.rows().collect();
        rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let count = |region: &Window| {
            let part = region.bounding_box();
            let is_below = |row: &[f64]| (0..row.len()).all(|r| row[r] < part[r].hi || part[r].hi >= whole[r].hi);
            let slack = NEARLY * part[0].length();
            let first = rows.partition_point(|row| row[0] < part[0].lo - slack);
            let near = rows[first..].iter().take_while(|row| row[0] <= part[0].hi + slack);
            near.filter(|row| region.contains(row) && is_below(row)).count() as u64
        };
        regions.map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Events, Model};
    use std::ops::ControlFlow;

    /// The posterior of even events in [0, 10), seen so many times.
    fn fitted(times: usize) -> (Posterior, Points) {
        let events: Vec<f64> = (0..100 * times).map(|i| 10.0 * i as f64 / (100 * times) as f64).collect();
        let window = Window::interval(0.0, 10.0).unwrap().with_repeats(times).unwrap();
        let events = Events::new(Points::line(&events).unwrap(), window).unwrap();
        let model = Model { average: false, checked: false, ..Model::default() };
        (model.fit(&events).unwrap().posterior, events.points().clone())
    }

    fn bins(posterior: &Posterior, events: &Points) -> Vec<Bin> {
        let regions = posterior.even_bins(events.len()).unwrap();
        posterior.bins(&regions, events, 1, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// Parts add up to the whole: events on an edge are counted once, and those of several trials together.
    #[test]
    fn bins_add_up_to_the_window() {
        for times in [1, 3] {
            let (posterior, events) = fitted(times);
            let found = bins(&posterior, &events);
            assert_eq!(found.iter().map(|bin| bin.seen).sum::<u64>(), events.len() as u64, "{times}");
            let expected: f64 = found.iter().map(|bin| bin.expected).sum();
            let whole = posterior.expected(posterior.window()).unwrap();
            assert!((expected / whole - 1.0).abs() < 1e-9, "{times}: {expected} {whole}");
            assert!((whole / events.len() as f64 - 1.0).abs() < 0.05, "{times}: {whole}");
        }
    }

    /// Against looking at every event for each part.
    #[test]
    fn events_in_order_are_counted_where_they_are() {
        let (posterior, events) = fitted(1);
        let ends = [(0.0, 10.0), (0.5, 0.7), (9.9, 10.0), (3.0, 3.1), (2.0, 8.0), (0.0, 0.05)];
        let regions: Vec<Window> = ends.iter().map(|(lo, hi)| Window::interval(*lo, *hi).unwrap()).collect();
        let slowly = |(lo, hi): &(f64, f64)| {
            events.rows().filter(|row| *lo <= row[0] && (row[0] < *hi || *hi == 10.0 && row[0] == 10.0)).count() as u64
        };
        let want: Vec<u64> = ends.iter().map(slowly).collect();
        assert_eq!(posterior.seen_in_each(regions.iter(), &events), want);
        assert_eq!(posterior.seen(&regions[1], &events), want[1]);
    }

    /// A count is outside of its band where its p is below the part outside, and nowhere else.
    #[test]
    fn bands_and_surprises_agree() {
        let (posterior, events) = fitted(1);
        let regions = posterior.even_bins(events.len()).unwrap();
        let counts = posterior.joint_counts(&regions[..2], DRAWS, 1).unwrap();
        for region in 0..2 {
            let (lower, upper) = counts.new_count_band(region, Bin::OUTSIDE);
            for seen in 0..40u64 {
                let is_inside = (lower..=upper).contains(&(seen as f64));
                assert_eq!(is_inside, counts.surprise(region, seen) >= Bin::OUTSIDE, "{seen} in {lower} to {upper}");
            }
        }
    }
}
