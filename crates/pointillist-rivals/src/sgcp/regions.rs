//! The boxes of adaptive thinning: how much of the ceiling each thins up to, and who watches that f stays below.
//!
//! The window's bounding box is cut into boxes. Box r thins up to λ* B_r with B_r ∈ {1, ½, ¼, ⅛}, its level k being −log₂ B_r. Watchers
//! of a box are the events in it and the sentinels, a regular grid of points at which f is held too. With t the largest f at its watchers
//! plus a margin, a box takes the tightest level, ⅛, with probability q(logit ⅛ − t), else the next with q(logit ¼ − t), and so on;
//!
//! q(s) = 0.8 s²/(s² + ¼) for s > 0, else 0.
//!
//! Because these are probabilities whatever f is, they tilt the prior of f nowhere (a flat prior over levels with the mere demand that f
//! stay below them would: it favours whatever admits more levels). That q rises from zero keeps f and a bound from standing so close
//! that f cannot move. The margin covers what f may rise between neighbouring sentinels, h apart: a parabola rises |f″| h²/8, f″ has
//! standard deviation √3 √variance/ℓ², and the margin is more than four of these.

use super::settings::{Settings, Thinning};
use pointillist::Points;
use pointillist::Result;
use pointillist::Window;
use pointillist::internals::{self, sample};
use pointillist::window::Span;
use rand::{Rng, RngExt};

/// Levels 0..=TIGHTEST, each half the one before.
pub(super) const TIGHTEST: u8 = 3;
/// Events per box, and most boxes per axis by the number of axes.
const EVENTS_A_BOX: f64 = 8.0;
const MOST_A_SIDE: [usize; 3] = [20, 6, 3];
/// However much room there is below a bound, a box may take a looser one.
const MOST_CHANCE: f64 = 0.8;
/// The margin is at most so many standard deviations of f.
const MOST_MARGIN: f64 = 3.0;

/// The share of the ceiling that a level thins up to.
pub(super) fn bound(level: u8) -> f64 {
    0.5f64.powi(i32::from(level))
}

/// The f at which a level's bound lies.
fn logit(level: u8) -> f64 {
    -(2f64.powi(i32::from(level)) - 1.0).ln()
}

/// q(s), the chance that a box takes a level if it has not taken a tighter one, and its slope.
fn chance(slack: f64) -> (f64, f64) {
    if slack <= 0.0 {
        return (0.0, 0.0);
    }
    let square = slack * slack;
    (MOST_CHANCE * square / (square + 0.25), MOST_CHANCE * 0.5 * slack / (square + 0.25).powi(2))
}

/// log p(level | t), and its slope by t.
fn log_probability(level: u8, top: f64) -> (f64, f64) {
    let (mut log, mut slope) = (0.0, 0.0);
    for other in (level.max(1)..=TIGHTEST).rev() {
        let (q, q_slope) = chance(logit(other) - top);
        if other == level {
            log += q.ln();
            slope -= q_slope / q;
        } else {
            log += (-q).ln_1p();
            slope += q_slope / (1.0 - q);
        }
    }
    (log, slope)
}

/// The boxes over a window.
#[derive(Debug, Clone)]
pub(super) struct Regions {
    spans: Vec<Span>,
    counts: Vec<usize>,
    /// The measure of the window's part in each box.
    pub(super) measures: Vec<f64>,
    /// Points at which f is held so that it can be watched.
    pub(super) sentinels: Points,
    /// The boxes each of them stands in or on the border of.
    boxes_of_sentinel: Vec<Vec<usize>>,
    /// Steps between sentinels on each axis.
    steps: Vec<f64>,
    adaptive: bool,
}

impl Regions {
    pub(super) fn new(window: &Window, events: usize, settings: &Settings) -> Result<Self> {
        let (spans, dims) = (window.bounding_box(), window.dims());
        let (adaptive, counts) = match &settings.thinning {
            Thinning::Uniform => (false, vec![1; dims]),
            Thinning::Adaptive { regions: Some(counts) } => (true, counts.clone()),
            Thinning::Adaptive { regions: None } => (true, vec![default_side(events, dims); dims]),
        };
        let mut regions = Self {
            steps: spans.iter().zip(&counts).map(|(s, &c)| s.length() / (c * refinement(dims)) as f64).collect(),
            sentinels: Points::of_rows(dims, vec![]),
            measures: vec![window.measure()],
            boxes_of_sentinel: vec![],
            spans,
            counts,
            adaptive,
        };
        if adaptive {
            regions.measures = (0..regions.len()).map(|r| regions.measure_of(r, window)).collect::<Result<_>>()?;
            regions.place_sentinels(window);
        }
        Ok(regions)
    }

    pub(super) fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// The box of a point.
    pub(super) fn index_of(&self, point: &[f64]) -> usize {
        let place = |r: usize| {
            let share = (point[r] - self.spans[r].lo) / self.spans[r].length();
            ((share * self.counts[r] as f64) as usize).min(self.counts[r] - 1)
        };
        (0..point.len()).fold(0, |index, r| index * self.counts[r] + place(r))
    }

    /// The place of box `index` on every axis.
    fn places(&self, mut index: usize) -> Vec<usize> {
        let mut places = vec![0; self.counts.len()];
        for r in (0..places.len()).rev() {
            places[r] = index % self.counts[r];
            index /= self.counts[r];
        }
        places
    }

    /// The ends of box `index`.
    fn ends(&self, index: usize) -> Vec<(f64, f64)> {
        let end = |r: usize, i: usize| match i {
            i if i == self.counts[r] => self.spans[r].hi,
            i => self.spans[r].lo + self.spans[r].length() * i as f64 / self.counts[r] as f64,
        };
        self.places(index).iter().enumerate().map(|(r, &i)| (end(r, i), end(r, i + 1))).collect()
    }

    fn measure_of(&self, index: usize, window: &Window) -> Result<f64> {
        let cell = Window::new(&self.ends(index))?;
        Ok(cell.intersection(window).map_or(0.0, |part| part.measure()))
    }

    /// Sentinels on the corners of the boxes, and half way between where there are few axes; none around boxes outside the window.
    fn place_sentinels(&mut self, window: &Window) {
        let fine = refinement(self.counts.len());
        let per_axis: Vec<usize> = self.counts.iter().map(|c| c * fine + 1).collect();
        let mut rows = Vec::new();
        for (n, row) in window.grid(&per_axis).rows().enumerate() {
            let boxes: Vec<usize> = self.boxes_around(n, &per_axis, fine);
            if boxes.iter().any(|&index| self.measures[index] > 0.0) {
                rows.extend_from_slice(row);
                self.boxes_of_sentinel.push(boxes);
            }
        }
        self.sentinels = Points::of_rows(self.counts.len(), rows);
    }

    /// The boxes that grid point `n` stands in or on the border of.
    fn boxes_around(&self, mut n: usize, per_axis: &[usize], fine: usize) -> Vec<usize> {
        let mut step = vec![0; per_axis.len()];
        for r in (0..step.len()).rev() {
            step[r] = n % per_axis[r];
            n /= per_axis[r];
        }
        let touches = |places: &[usize]| {
            places.iter().zip(&step).all(|(&place, &at)| place * fine <= at && at <= (place + 1) * fine)
        };
        (0..self.len()).filter(|&index| touches(&self.places(index))).collect()
    }

    /// For each box, the indices of its watchers among the events followed by the sentinels.
    pub(super) fn watchers(&self, events: &Points) -> Vec<Vec<usize>> {
        let mut watchers = vec![Vec::new(); self.len()];
        if !self.adaptive {
            return watchers; // level 0 needs none
        }
        events.rows().enumerate().for_each(|(n, row)| watchers[self.index_of(row)].push(n));
        for (s, boxes) in self.boxes_of_sentinel.iter().enumerate() {
            boxes.iter().for_each(|&index| watchers[index].push(events.len() + s));
        }
        watchers
    }

    /// How far above f at its watchers a bound must lie.
    pub(super) fn margin(&self, lengthscales: &[f64], variance: f64) -> f64 {
        let square: f64 = self.steps.iter().zip(lengthscales).map(|(h, l)| (h / l) * (h / l)).sum();
        square.min(MOST_MARGIN) * variance.sqrt()
    }

    /// The watcher of a box with the largest f.
    fn highest(watchers: &[usize], f: &[f64]) -> Option<usize> {
        watchers.iter().copied().max_by(|&i, &j| f[i].total_cmp(&f[j]))
    }

    /// The largest f at the watchers of a box plus the margin.
    fn top(watchers: &[usize], f: &[f64], margin: f64) -> f64 {
        Self::highest(watchers, f).map_or(f64::NEG_INFINITY, |n| f[n]) + margin
    }

    /// Σ_r log p(k_r | t_r).
    pub(super) fn log_prior(&self, levels: &[u8], watchers: &[Vec<usize>], f: &[f64], margin: f64) -> f64 {
        if !self.adaptive {
            return 0.0;
        }
        levels.iter().zip(watchers).map(|(&level, w)| log_probability(level, Self::top(w, f, margin)).0).sum()
    }

    /// Adds the slope of [`Regions::log_prior`] by f.
    pub(super) fn add_slope(&self, levels: &[u8], watchers: &[Vec<usize>], f: &[f64], margin: f64, slope: &mut [f64]) {
        for (&level, watchers) in levels.iter().zip(watchers) {
            if let Some(n) = Self::highest(watchers, f) {
                slope[n] += log_probability(level, f[n] + margin).1;
            }
        }
    }

    /// Levels drawn from their probabilities.
    pub(super) fn draw_levels(&self, rng: &mut impl Rng, watchers: &[Vec<usize>], f: &[f64], margin: f64) -> Vec<u8> {
        if !self.adaptive {
            return vec![0; self.len()];
        }
        let draw = |watchers: &Vec<usize>| {
            let top = Self::top(watchers, f, margin);
            (1..=TIGHTEST).rev().find(|&level| rng.random::<f64>() < chance(logit(level) - top).0).unwrap_or(0)
        };
        watchers.iter().map(draw).collect()
    }

    /// Σ_r B_r |T_r|: what λ* multiplies in the expected number of events, thinned ones included.
    pub(super) fn filled_measure(&self, levels: &[u8]) -> f64 {
        self.measures.iter().zip(levels).map(|(measure, &level)| measure * bound(level)).sum()
    }

    /// A Poisson process over the window with `ceiling` times the bound of each box as its rate, and the box of each point.
    pub(super) fn candidates(
        &self,
        rng: &mut impl Rng,
        window: &Window,
        ceiling: f64,
        levels: &[u8],
    ) -> (Points, Vec<usize>) {
        let most = internals::most_coverage(window);
        let (mut rows, mut boxes) = (Vec::new(), Vec::new());
        for (index, &level) in levels.iter().enumerate().filter(|(index, _)| self.measures[*index] > 0.0) {
            let (lo, hi): (Vec<f64>, Vec<f64>) = self.ends(index).into_iter().unzip();
            let everywhere = sample::candidates(rng, &lo, &hi, ceiling * bound(level) * most);
            for row in everywhere.chunks_exact(lo.len()) {
                if rng.random::<f64>() * most < window.coverage(row) {
                    rows.extend_from_slice(row);
                    boxes.push(index);
                }
            }
        }
        (Points::of_rows(self.counts.len(), rows), boxes)
    }

    /// The expected number of points that [`Regions::candidates`] looks at.
    pub(super) fn expected_candidates(&self, window: &Window, ceiling: f64, levels: &[u8]) -> f64 {
        let volume = |r: usize| self.ends(r).iter().map(|(lo, hi)| hi - lo).product::<f64>();
        let filled = |(r, &level): (usize, &u8)| if self.measures[r] > 0.0 { volume(r) * bound(level) } else { 0.0 };
        ceiling * internals::most_coverage(window) * levels.iter().enumerate().map(filled).sum::<f64>()
    }
}

/// Steps between sentinels a box and axis.
fn refinement(dims: usize) -> usize {
    if dims <= 2 { 2 } else { 1 }
}

/// Boxes a side for so many events.
fn default_side(events: usize, dims: usize) -> usize {
    let most = MOST_A_SIDE[dims.clamp(1, 3) - 1];
    ((events as f64 / EVENTS_A_BOX).powf(1.0 / dims as f64) as usize).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::internals::sample::stream;

    fn adaptive(regions: &[usize]) -> Settings {
        Settings { thinning: Thinning::Adaptive { regions: Some(regions.to_vec()) }, ..Settings::default() }
    }

    #[test]
    fn levels_have_the_probabilities_they_are_drawn_with() {
        for top in [-6.0, -2.2, -1.5, -0.6, 0.4] {
            let total: f64 = (0..=TIGHTEST).map(|k| log_probability(k, top).0.exp()).sum();
            assert!((total - 1.0).abs() < 1e-14);
            for level in (0..=TIGHTEST).filter(|&k| k == 0 || logit(k) > top) {
                let (up, down) = (log_probability(level, top + 1e-6).0, log_probability(level, top - 1e-6).0);
                let slope = log_probability(level, top).1;
                assert!(((up - down) / 2e-6 - slope).abs() < 1e-5 * slope.abs().max(1.0), "{level} {top}");
            }
        }
        assert_eq!(log_probability(2, -1.0).0, f64::NEG_INFINITY);
        let window = Window::interval(0.0, 1.0).unwrap();
        let regions = Regions::new(&window, 0, &adaptive(&[1])).unwrap();
        let watchers = regions.watchers(&Points::of_rows(1, vec![]));
        let mut rng = stream(2, 0);
        let mut seen = [0.0; 4];
        for _ in 0..40_000 {
            seen[regions.draw_levels(&mut rng, &watchers, &[-2.5; 3], 0.1)[0] as usize] += 1.0 / 40_000.0;
        }
        for k in 0..4 {
            assert!((seen[k] - log_probability(k as u8, -2.4).0.exp()).abs() < 0.01, "{seen:?}");
        }
    }

    #[test]
    fn boxes_share_the_window_and_every_border_is_watched() {
        let left = Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap();
        let right = Window::new(&[(3.0, 4.0), (0.0, 2.0)]).unwrap().with_repeats(3).unwrap();
        let window = Window::union(&[left, right]).unwrap();
        let regions = Regions::new(&window, 0, &adaptive(&[4, 2])).unwrap();
        assert!((regions.measures.iter().sum::<f64>() - window.measure()).abs() < 1e-12);
        assert_eq!(regions.measures[regions.index_of(&[3.5, 0.5])], 3.0);
        assert_eq!(regions.measures[regions.index_of(&[2.5, 0.5])], 0.0);
        let event = Points::from_rows(&[[0.1, 0.1]]).unwrap();
        let watchers = regions.watchers(&event);
        assert_eq!(watchers[regions.index_of(&[0.1, 0.1])].len(), 10); // the event and 3 × 3 sentinels
        // Candidates fall where the window is, as often as it was looked at.
        let mut rng = stream(1, 0);
        let (points, boxes) = regions.candidates(&mut rng, &window, 2000.0, &[0, 0, 0, 0, 0, 0, 1, 0]);
        assert!(points.rows().zip(&boxes).all(|(row, &b)| window.contains(row) && regions.index_of(row) == b));
        let count = |b: usize| boxes.iter().filter(|&&x| x == b).count() as f64;
        for (index, want) in [(0, 2000.0), (2, 2000.0), (6, 3000.0), (7, 6000.0)] {
            assert!((count(index) - want).abs() < 4.0 * f64::sqrt(want), "{index} {}", count(index));
        }
    }
}
