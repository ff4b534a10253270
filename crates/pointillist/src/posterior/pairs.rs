//! Pairs of events beside pairs of events drawn at the posterior mean rate: whether events stand closer together, or further apart, than the rate explains.
//!
//! A K-function for a rate that varies, K(r) = Σ_{i≠j} 1{|x_i − x_j| < r} / √(λ(x_i) λ(x_j)), with the posterior mean in the middle of small cells for λ: how many
//! neighbours an event has, over the rate there, summed over events. (With 1/(λ(x_i) λ(x_j)) all would hang on the few pairs where the rate is low.) It stands beside those of sets of
//! a Poisson process at the posterior mean rate. Sets at random rates of the posterior would have more pairs, by the covariance of the rate, than independent events have at any one rate.
//! Pairs across the border are missing from both, so that no correction is needed.
//!
//! The fit has followed the events, and the drawn sets have not been fitted: a rate that leans towards each event expects pairs of an event with itself, which are not there. So fewer pairs
//! are seen than expected even where events are independent, *more* errs on the safe side, and *fewer* is said only where half of the pairs are missing beside those at the mean rate and beside
//! those of as many events that are spread evenly too. A rate that goes up and down only adds pairs, so that clusters, however closely the rate follows them, never keep a distance.
//! What is much closer together than the first distance drowns in K: such pairs are counted by themselves, at distances that are halved again and again (duplicates, twins).
//! Cost of a set: that of its draw, and of the pairs that are near on the first axis. On a line, a rate that takes long at every place (many inducing points in many components) is
//! computed on a fine grid once, and looked up there.

use super::{Posterior, PosteriorBasis};
use crate::data::points::Points;
use crate::error::Result;
use crate::parallel;
use crate::sample::simulate::Simulation;
use crate::watch::{PartWatch, Work};
use crate::window::Span;

/// Distances, up to this part of the shortest side of the box around the window.
const DISTANCES: usize = 12;
const FURTHEST: f64 = 0.2;
/// How often the first of them is halved for pairs that are very close, …
const HALVINGS: usize = 24;
/// … which they are where a set has fewer of them than this part of its events.
const RARE: f64 = 0.1;
/// Sets that are drawn, at the mean rate …
const SETS: usize = 99;
/// … and evenly.
const EVEN_SETS: usize = 20;
/// Fewer events have too few pairs, and more too many.
const EVENTS: std::ops::RangeInclusive<usize> = 20..=5000;
/// Rates lower than this part of the mean rate count as that: one event there must not outweigh all others.
const LOWEST: f64 = 0.02;
/// Cells in which the rate is looked up, on each axis of one, two and three, and in all of more.
const CELLS: [usize; 3] = [2048, 80, 20];
const CELLS_OF_MANY: f64 = 8000.0;
/// A rate on a line that takes more products than this at a place is looked up, between so many places of the window and at most so many, …
const DEAR: usize = 1_000_000;
const LOOKED_UP: [usize; 2] = [4096, 16_384];
/// … of which a length-scale has about so many.
const PER_LENGTH: f64 = 12.0;
/// The part of the sets on either side of the envelope.
const TAIL: f64 = 0.025;
/// What is rarer than this among drawn sets is not taken for chance.
const CHANCE: f64 = 0.05;
/// Events keep a distance where less than this part of the pairs is there: a rate that follows the events takes away less.
const MISSING: f64 = 0.5;

/// Pairs of events within distances, each over the root of the rates at its two places.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The distances.
    pub distances: Vec<f64>,
    /// K of the events.
    pub seen: Vec<f64>,
    /// The mean of K over sets drawn at the posterior mean rate, …
    pub expected: Vec<f64>,
    /// … and the envelope of 95 % of them, at each distance by itself.
    pub envelope: Vec<(f64, f64)>,
    /// How often a drawn set has so many more pairs than expected at any distance. The fit has followed the events, so that it errs upwards.
    pub p: f64,
    /// The distance within which there are most too many.
    pub most_within: f64,
    /// How often a drawn set lacks half of its pairs, and so many, at any distance; 1 where half of them are nowhere missing.
    pub p_fewer: f64,
    /// The distance within which most are missing.
    pub fewest_within: f64,
    /// Pairs that are much closer together than the first distance.
    pub closest: Closest,
}

/// What pairs say of the events.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Nearness {
    /// Nothing that chance does not explain.
    Usual,
    /// More pairs within this distance than the rate explains.
    Closer(f64),
    /// Events keep a distance: less than half of the pairs within it are there.
    Apart(f64),
    /// Fewer pairs than expected, because the rate follows the events closely: pairs tell little.
    Followed,
}

impl Nearness {
    /// One word for it, in files and pages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Closer(_) => "closer",
            Self::Apart(_) => "apart",
            Self::Followed => "followed",
        }
    }
}

impl Pairs {
    /// What the pairs say.
    pub fn nearness(&self) -> Nearness {
        let is_below = || self.seen.iter().zip(&self.envelope).any(|(seen, ends)| *seen < ends.0);
        if self.p < CHANCE {
            Nearness::Closer(self.most_within)
        } else if self.p_fewer < CHANCE {
            Nearness::Apart(self.fewest_within)
        } else if is_below() {
            Nearness::Followed
        } else {
            Nearness::Usual
        }
    }
}

/// Pairs of events that are very close together: duplicates, twins, places that were rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Closest {
    /// The distance below which there are most too many of them, …
    pub distance: f64,
    /// … how many there are, …
    pub seen: usize,
    /// … and how many there are in a set drawn at the posterior mean rate, on the mean.
    pub expected: f64,
    /// How often a drawn set has so many too many at any distance.
    pub p: f64,
}

impl Closest {
    /// Fewer pairs are no pattern: one tie of rounded dates is none.
    const FEWEST: usize = 3;

    /// Whether there are so many that duplicates may be among the events.
    pub fn is_amiss(&self) -> bool {
        self.p < CHANCE && self.seen >= Self::FEWEST
    }
}

/// What is looked at in a set of events.
struct Counted {
    /// K at each distance, up to a factor.
    k: Vec<f64>,
    /// Pairs within each distance.
    pairs: Vec<usize>,
    /// Pairs nearer than half of the first distance, a quarter of it, ...
    close: Vec<usize>,
}

impl Posterior {
    /// Pairs of `events` beside those of sets drawn at the posterior mean rate; nothing where the events are too few or too many, or where axes have different units.
    pub fn pairs(&self, events: &Points, seed: u64, watch: &PartWatch<'_>) -> Result<Option<Pairs>> {
        self.window().check_inside(events)?;
        let axes = self.window().axes();
        if !EVENTS.contains(&events.len()) || axes.iter().any(|axis| axis.unit != axes[0].unit) {
            return Ok(None);
        }
        let shortest = self.window().bounding_box().iter().map(|span| span.length()).fold(f64::INFINITY, f64::min);
        let distances: Vec<f64> = (1..=DISTANCES).map(|k| FURTHEST * shortest * k as f64 / DISTANCES as f64).collect();
        let line = if self.is_dear() { Some(Line::of(self)?) } else { None };
        let rates = |points: &Points| match &line {
            Some(line) => Ok(line.at(points)),
            None => Ok(self.rate(points)?.mean),
        };
        let weights = Weights::new(self, rates)?;
        let of = |points: &Points| counted(points, &weights.at(points), &distances);
        let process = Simulation::of_batches(self.window(), rates)?;
        let mean_rate = self.expected(self.window())? / self.window().measure();
        let evenly = Simulation::new(self.window(), |_| mean_rate)?;
        let work = Work::new(SETS + EVEN_SETS, watch);
        let mut drawn = parallel::try_each(SETS + EVEN_SETS, |set| {
            work.check()?;
            let process = if set < SETS { &process } else { &evenly };
            let counted = of(&process.draw(seed, set as u64)?);
            work.advance(1)?;
            Ok::<_, crate::Error>(counted)
        })?;
        let (even, own) = (drawn.split_off(SETS), of(events));
        Ok(Some(compared(distances, own, (&drawn, &even), RARE * events.len() as f64)))
    }
}

impl Posterior {
    /// Whether its rate takes so long at every place of a line that it is better looked up.
    fn is_dear(&self) -> bool {
        let products = |basis: &PosteriorBasis| match basis {
            PosteriorBasis::Inducing(field) => field.q.mean.len().pow(2),
            _ => 0,
        };
        self.window().dims() == 1 && self.components.iter().map(|one| products(&one.basis)).sum::<usize>() > DEAR
    }

    /// The shortest length-scale on a line, as a part of its window.
    fn shortest_length(&self) -> f64 {
        let length = |basis: &PosteriorBasis| match basis {
            PosteriorBasis::Inducing(field) => field.hyper.kernel.length(0),
            _ => f64::INFINITY,
        };
        self.components.iter().map(|one| length(&one.basis)).fold(f64::INFINITY, f64::min)
    }
}

/// The mean rate on a line, at even places: cubic between four of them.
struct Line {
    span: Span,
    values: Vec<f64>,
}

impl Line {
    fn of(posterior: &Posterior) -> Result<Self> {
        let span = posterior.window().bounding_box()[0];
        let wanted = (PER_LENGTH / posterior.shortest_length()).min(LOOKED_UP[1] as f64) as usize;
        // Powers of two: the middles of the cells of weights are among the places.
        let count = wanted.next_power_of_two().clamp(LOOKED_UP[0], LOOKED_UP[1]);
        let places = Points::grid(&[span.lo], &[span.hi], &[count + 1]);
        Ok(Self { span, values: posterior.rate(&places)?.mean })
    }

    fn at(&self, points: &Points) -> Vec<f64> {
        let steps = (self.values.len() - 1) as f64;
        let value = |row: &[f64]| {
            let at = (row[0] - self.span.lo) / self.span.length() * steps;
            let first = (at.max(0.0) as usize).clamp(1, self.values.len() - 3) - 1;
            let (t, four) = (at - first as f64, &self.values[first..first + 4]);
            // Lagrange's weights at 0, 1, 2 and 3.
            let [a, b, c, d] = [t, t - 1.0, t - 2.0, t - 3.0];
            let sum = -b * c * d / 6.0 * four[0] + a * c * d / 2.0 * four[1] - a * b * d / 2.0 * four[2]
                + a * b * c / 6.0 * four[3];
            sum.max(0.0)
        };
        points.rows().map(value).collect()
    }
}

/// One over the root of the rate, by cells of the box around the window.
struct Weights {
    spans: Vec<Span>,
    cells: usize,
    values: Vec<f64>,
}

impl Weights {
    fn new(posterior: &Posterior, rates: impl Fn(&Points) -> Result<Vec<f64>>) -> Result<Self> {
        let (window, spans) = (posterior.window(), posterior.window().bounding_box());
        let of_many = || CELLS_OF_MANY.powf(1.0 / spans.len() as f64) as usize;
        let cells = CELLS.get(spans.len() - 1).copied().unwrap_or_else(of_many).max(1);
        let ends = |part: f64| spans.iter().map(|span| span.lo + part * span.length()).collect::<Vec<f64>>();
        let half = 0.5 / cells as f64;
        let middles = Points::grid(&ends(half), &ends(1.0 - half), &vec![cells; spans.len()]);
        let least = LOWEST * posterior.expected(window)? / window.measure();
        let values = rates(&middles)?.iter().map(|rate| rate.max(least).powf(-0.5)).collect();
        Ok(Self { spans, cells, values })
    }

    fn at(&self, points: &Points) -> Vec<f64> {
        let along = |x: f64, span: &Span| {
            (((x - span.lo) / span.length() * self.cells as f64).max(0.0) as usize).min(self.cells - 1)
        };
        // As a grid has them: the last axis is the fastest.
        let place =
            |row: &[f64]| row.iter().zip(&self.spans).fold(0, |at, (x, span)| at * self.cells + along(*x, span));
        points.rows().map(|row| self.values[place(row)]).collect()
    }
}

/// Σ over pairs nearer than each distance of the product of their weights, and the number of those that are very close.
fn counted(points: &Points, weights: &[f64], distances: &[f64]) -> Counted {
    let (step, furthest) = (distances[0], distances[distances.len() - 1]);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points.row(*a)[0].total_cmp(&points.row(*b)[0]));
    let (mut k, mut pairs, mut close) = (vec![0.0; distances.len()], vec![0; distances.len()], vec![0; HALVINGS]);
    for (n, &i) in order.iter().enumerate() {
        let row = points.row(i);
        // Those that are further off on the first axis are further off.
        for &j in order[n + 1..].iter().take_while(|j| points.row(**j)[0] - row[0] < furthest) {
            let apart = row.iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            if apart >= furthest * furthest {
                continue;
            }
            let apart = apart.sqrt() / step;
            // Distances are even steps.
            let place = (apart as usize).min(k.len() - 1);
            k[place] += 2.0 * weights[i] * weights[j];
            pairs[place] += 1;
            if apart < 0.5 {
                // Nearer than the first distance halved so many times.
                let times = (-apart.log2()).ceil() - 1.0;
                close[(times.min(HALVINGS as f64) as usize).max(1) - 1] += 1;
            }
        }
    }
    (1..k.len()).for_each(|n| k[n] += k[n - 1]);
    (1..k.len()).for_each(|n| pairs[n] += pairs[n - 1]);
    (1..HALVINGS).rev().for_each(|n| close[n - 1] += close[n]);
    Counted { k, pairs, close }
}

/// The events beside sets drawn at the mean rate and evenly; fewer than `rare` pairs are few.
fn compared(distances: Vec<f64>, own: Counted, (drawn, even): (&[Counted], &[Counted]), rare: f64) -> Pairs {
    let count = drawn.len() as f64;
    let (mut expected, mut envelope, mut spreads) = (vec![], vec![], vec![]);
    for k in 0..distances.len() {
        let mut values: Vec<f64> = drawn.iter().map(|set| set.k[k]).collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / count;
        let spread = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt();
        expected.push(mean);
        spreads.push(spread);
        envelope.push((order_statistic(&values, TAIL), order_statistic(&values, 1.0 - TAIL)));
    }
    let off = |set: &Counted, k: usize| if spreads[k] > 0.0 { (set.k[k] - expected[k]) / spreads[k] } else { 0.0 };
    let most = |set: &Counted| {
        let all = (0..set.k.len()).map(|k| (off(set, k), distances[k]));
        all.reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or((0.0, 0.0))
    };
    let (largest, most_within) = most(&own);
    let as_many = drawn.iter().filter(|set| most(set).0 >= largest).count() as f64;
    let (p_fewer, fewest_within) = missing(&distances, &own, drawn, even);
    let closest = closest(distances[0], &own, drawn, rare);
    let p = (1.0 + as_many) / (1.0 + count);
    Pairs { seen: own.k, distances, expected, envelope, p, most_within, p_fewer, fewest_within, closest }
}

/// How often a drawn set misses as many pairs, in standard deviations, within a distance at which half of them are missing, and that distance. Distances are those of K and its first halved.
/// Pairs are counted without weights here: a rate that leans towards the events makes all of their weights too small.
fn missing(distances: &[f64], own: &Counted, drawn: &[Counted], even: &[Counted]) -> (f64, f64) {
    let numbers = |set: &Counted| -> Vec<f64> { set.pairs.iter().chain(&set.close).map(|n| *n as f64).collect() };
    let halves = (0..HALVINGS).map(|n| halved(distances[0], n));
    let within: Vec<f64> = distances.iter().copied().chain(halves).collect();
    let sets: Vec<Vec<f64>> = drawn.iter().map(numbers).collect();
    let even: Vec<Vec<f64>> = even.iter().map(numbers).collect();
    let mean = |sets: &[Vec<f64>], n: usize| sets.iter().map(|set| set[n]).sum::<f64>() / sets.len() as f64;
    let usual = |n: usize| {
        let expected = mean(&sets, n);
        let square = sets.iter().map(|set| (set[n] - expected).powi(2)).sum::<f64>() / sets.len() as f64;
        (expected, square.sqrt(), MISSING * expected.min(mean(&even, n)))
    };
    let usual: Vec<(f64, f64, f64)> = (0..within.len()).map(usual).collect();
    let fewest = |set: &[f64]| {
        let lack = |(n, (expected, spread, half)): (usize, &(f64, f64, f64))| {
            (if set[n] < *half && *spread > 0.0 { (expected - set[n]) / spread } else { 0.0 }, within[n])
        };
        usual.iter().enumerate().map(lack).reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or((0.0, 0.0))
    };
    let (largest, within) = fewest(&numbers(own));
    let as_few = sets.iter().filter(|set| fewest(set).0 >= largest).count() as f64;
    ((1.0 + as_few) / (1.0 + sets.len() as f64), within)
}

/// The distance below which pairs are counted in this place of those that are very close.
fn halved(step: f64, place: usize) -> f64 {
    step * 0.5f64.powi(place as i32 + 1)
}

/// The value that one more number, drawn as these sorted ones were, lies below with probability `p`.
fn order_statistic(sorted: &[f64], p: f64) -> f64 {
    let rank = (p * (sorted.len() + 1) as f64 - 1.0).clamp(0.0, (sorted.len() - 1) as f64);
    let below = rank as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (rank - below as f64) * (sorted[above] - sorted[below])
}

/// How far too many pairs are very close, by the deviance of a Poisson number, whose mean is that of all sets, at distances at which there are few.
fn closest(step: f64, own: &Counted, drawn: &[Counted], rare: f64) -> Closest {
    let all = (drawn.len() + 1) as f64;
    let sum = |n: usize| drawn.iter().map(|set| set.close[n]).sum::<usize>();
    let means: Vec<f64> = (0..HALVINGS).map(|n| (sum(n) + own.close[n]) as f64 / all).collect();
    let most = |set: &Counted| {
        let deviance = |n: usize| {
            let (seen, mean) = (set.close[n] as f64, means[n]);
            (if seen > mean && mean < rare { seen * (seen / mean).ln() - (seen - mean) } else { 0.0 }, n)
        };
        (0..HALVINGS).map(deviance).reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or((0.0, 0))
    };
    let (largest, at) = most(own);
    let as_many = drawn.iter().filter(|set| most(set).0 >= largest).count() as f64;
    Closest {
        distance: halved(step, at),
        seen: own.close[at],
        expected: sum(at) as f64 / drawn.len() as f64,
        p: (1.0 + as_many) / all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Expression;
    use crate::settings::Inducing;
    use crate::{Events, Family, InducingPoints, Model, Window};

    /// A rate that is looked up is the rate, also at the ends of the window.
    #[test]
    fn a_line_is_looked_up_to_many_digits() {
        let window = Window::interval(2.0, 12.0).unwrap();
        let times: Vec<f64> = (0..60).map(|i| 2.0 + 10.0 * (f64::from(i) * 0.618_034).fract().powi(2)).collect();
        let events = Events::new(Points::line(&times).unwrap(), window).unwrap();
        let kernel = Some(Expression::parse("se(t) + se(t)*periodic(t, period=2!)", &["t"]).unwrap());
        let points = Inducing::Grid(vec![30]);
        let family = Family::Inducing(InducingPoints { kernel, points, ..InducingPoints::default() });
        let posterior = Model { family, ..Model::default() }.fit(&events).unwrap().posterior;
        assert!(!posterior.is_dear(), "few points are asked");
        let line = Line::of(&posterior).unwrap();
        let places: Vec<f64> = (0..=997).map(|i| 2.0 + 10.0 * f64::from(i) / 997.0).collect();
        let points = Points::line(&places).unwrap();
        let (exact, looked_up) = (posterior.rate(&points).unwrap().mean, line.at(&points));
        for ((at, exact), looked_up) in places.iter().zip(&exact).zip(&looked_up) {
            assert!((looked_up - exact).abs() < 1e-5 * (1.0 + exact), "{at}: {exact} {looked_up}");
        }
    }

    #[test]
    fn pairs_are_counted_once_each_way() {
        let points = Points::line(&[9.0, 0.5, 1.4, 0.0]).unwrap();
        let found = counted(&points, &[1.0, 2.0, 3.0, 1.0], &[1.0, 2.0]);
        assert_eq!(found.k, [2.0 * (2.0 + 6.0), 2.0 * (2.0 + 6.0 + 3.0)]);
        assert_eq!(found.close[0], 0); // 0.5 is not below 0.5
    }

    /// Against all pairs, one after the other.
    #[test]
    fn pairs_are_those_of_the_slow_way() {
        let coordinate = |i: usize| (i as f64 * 0.754_877_666).fract();
        let mut rows: Vec<f64> = (0..400).map(coordinate).collect();
        rows.extend([0.5, 0.5, 0.5, 0.5, 0.5, 0.5 + 1e-3]); // two at one place, and a third near
        let points = Points::new(2, rows).unwrap();
        let weights: Vec<f64> = (0..points.len()).map(|i| 1.0 + (i % 5) as f64).collect();
        let distances: Vec<f64> = (1..=12).map(|k| 0.2 * f64::from(k) / 12.0).collect();
        let found = counted(&points, &weights, &distances);
        let (mut k, mut pairs, mut close) = (vec![0.0; 12], vec![0; 12], vec![0; HALVINGS]);
        for i in 0..points.len() {
            for j in 0..i {
                let (a, b) = (points.row(i), points.row(j));
                let apart = ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt();
                (0..12).filter(|n| apart < distances[*n]).for_each(|n| k[n] += 2.0 * weights[i] * weights[j]);
                (0..12).filter(|n| apart < distances[*n]).for_each(|n| pairs[n] += 1);
                let half = |n: usize| distances[0] * 0.5f64.powi(n as i32 + 1);
                (0..HALVINGS).filter(|n| apart < half(*n)).for_each(|n| close[n] += 1);
            }
        }
        assert!(found.k.iter().zip(&k).all(|(a, b)| (a - b).abs() < 1e-9 * b), "{:?} {k:?}", found.k);
        assert_eq!((found.pairs, &found.close), (pairs, &close));
        assert!(close[0] > 3 && close[4] == 1, "{close:?}");
    }

    fn set(k: [f64; 2], close: usize) -> Counted {
        let mut counts = vec![0; HALVINGS];
        counts[3] = close;
        Counted { k: k.to_vec(), pairs: k.map(|k| k as usize).to_vec(), close: counts }
    }

    #[test]
    fn what_is_unlike_all_others_has_a_small_p() {
        let drawn: Vec<Counted> =
            (0..99).map(|i| set([f64::from(i % 10), 2.0 * f64::from(i % 7)], (i % 2) as usize)).collect();
        let alike = compared(vec![1.0, 2.0], set([4.0, 6.0], 1), (&drawn, &drawn), 9.0);
        assert!(alike.p > 0.5 && alike.closest.p > 0.3, "{alike:?}");
        let unlike = compared(vec![1.0, 2.0], set([4.0, 60.0], 0), (&drawn, &drawn), 9.0);
        assert!(unlike.p == 0.01 && unlike.nearness() == Nearness::Closer(2.0), "{unlike:?}");
        assert_eq!(unlike.envelope[0], (0.0, 9.0));
        assert_eq!(alike.nearness(), Nearness::Usual);
        let twins = compared(vec![1.0, 2.0], set([4.0, 6.0], 12), (&drawn, &drawn), 9.0).closest;
        assert!(twins.p == 0.01 && twins.distance == 0.0625 && twins.seen == 12, "{twins:?}");
    }

    /// Half of the pairs must be missing before events are said to keep a distance; less than that is a rate that follows them.
    #[test]
    fn a_few_pairs_too_few_are_no_distance() {
        let drawn: Vec<Counted> = (0..99).map(|i| set([f64::from(100 + i % 10), 200.0], 0)).collect();
        let of = |k: f64| compared(vec![1.0, 2.0], set([k, 200.0], 0), (&drawn, &drawn), 9.0).nearness();
        assert_eq!([of(104.0), of(99.0), of(53.0)], [Nearness::Usual, Nearness::Followed, Nearness::Followed]);
        assert_eq!([of(51.0), of(0.0)], [Nearness::Apart(1.0); 2]);
        // Clusters that the rate has followed: events that are spread evenly have fewer pairs than that.
        let even: Vec<Counted> = (0..20).map(|_| set([40.0, 200.0], 0)).collect();
        let of = |k: f64| compared(vec![1.0, 2.0], set([k, 200.0], 0), (&drawn, &even), 9.0).nearness();
        assert_eq!([of(30.0), of(10.0)], [Nearness::Followed, Nearness::Apart(1.0)]);
    }

    /// The envelope holds 95 % of other sets: over thirty envelopes and sixty sets for each.
    #[test]
    fn the_envelope_holds_what_it_says() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let distances: Vec<f64> = (1..=12).map(|k| 0.2 * f64::from(k) / 12.0).collect();
        let mut set = || {
            let points = Points::line(&(0..60).map(|_| next()).collect::<Vec<f64>>()).unwrap();
            counted(&points, &[1.0; 60], &distances)
        };
        let (mut inside, mut total) = (0, 0);
        for _ in 0..30 {
            let drawn: Vec<Counted> = (0..SETS).map(|_| set()).collect();
            let envelope = compared(distances.clone(), set(), (&drawn, &drawn), 6.0).envelope;
            for _ in 0..60 {
                let new = set();
                inside += (0..12).filter(|k| (envelope[*k].0..=envelope[*k].1).contains(&new.k[*k])).count();
                total += 12;
            }
        }
        let held = f64::from(inside as u32) / f64::from(total);
        println!("the envelope of 95 % holds {held:.4}");
        // K is a sum of whole numbers here, which adds a little. The standard error is 0.7 %: 1800 sets, and 30 envelopes that are 2 % off each.
        assert!((0.95 - 0.028..0.95 + 0.033).contains(&held), "{held}");
    }

    /// One more of 99 numbers lies between the ends with the probability that is said, on the mean over all ranks.
    #[test]
    fn ends_are_between_order_statistics() {
        let sorted: Vec<f64> = (1..=99).map(f64::from).collect();
        assert_eq!((order_statistic(&sorted, 0.025), order_statistic(&sorted, 0.975)), (2.5, 97.5));
        assert_eq!(order_statistic(&[3.0], 0.025), 3.0);
    }
}
