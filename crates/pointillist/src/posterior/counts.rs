//! Numbers of events in many regions at once, from one set of joint draws of the intensity.
//!
//! With coefficients m + z, z ~ N(0, S), a region integrates to level + 2hᵀz + zᵀAz: one draw of z serves all regions, and m − z is a draw as
//! good as m + z (antithetic pairs), which costs nothing more. Where there are enough draws for it, the noise is made to have exactly
//! the moments of a standard normal, so that the draws have the closed-form mean. Cost: one triangular solve per pair of draws, and
//! per pair and region as many products as its A has entries.

use super::component::is_inside;
use super::field::{Field, RegionForm};
use super::{Count, Posterior};
use crate::error::{Error, Result};
use crate::numerics::linalg::{self, Matrix};
use crate::numerics::special;
use crate::parallel;
use crate::sample::{self, gaussian, thinning};
use crate::window::Window;
use std::ops::ControlFlow;

/// Most numbers of an answer, draws times regions.
const MOST_VALUES: usize = 200_000_000;
/// Bytes of draws, and of regions, that are held at a time.
const DRAWS_HELD: usize = 1 << 28;
const REGIONS_HELD: usize = 1 << 28;
/// Regions, or draws, between two looks at the watch.
const STEP: usize = 16;
/// From the seed of one component's draws to that of the next.
const OWN_DRAWS: u64 = 0x2545_f491_4f6c_dd1d;
/// Draws whose mean is further from the exact one than by this factor are left as they are.
const MATCHED: f64 = 1.2;
/// Numbers of events drawn for each draw of what is expected.
const NEW_COUNTS: usize = 10;

/// What is being done, and how much of it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountProgress {
    /// What is being done.
    pub stage: CountStage,
    /// How much of everything is done, from 0 to 1.
    pub done: f64,
}

/// What is being done for counts of many regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountStage {
    /// The intensity is drawn.
    Draws,
    /// What f integrates to over each region.
    Regions,
    /// The draws are summed over each region.
    Sums,
}

/// Told how far counts are, and asked whether to go on.
pub type CountWatch<'a> = dyn FnMut(CountProgress) -> ControlFlow<()> + 'a;

/// The expected numbers of events in several regions, with joint draws of them: sums, differences and ratios of regions are those of the
/// draws.
///
/// ```
/// # use pointillist::{Events, Model, Points, Window};
/// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
/// # let posterior = Model::default().fit(&events)?.posterior;
/// let halves = [Window::interval(0.0, 2.5)?, Window::interval(2.5, 5.0)?];
/// let counts = posterior.joint_counts(&halves, 2000, 0)?;
/// let both = counts.of(0).iter().zip(counts.of(1)).filter(|(a, b)| *a > b).count();
/// assert!(2 * both > counts.draws()); // most of the draws have more events in the first half
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JointCounts {
    moments: Vec<Count>,
    draws: usize,
    /// One region after another. // (regions, draws)
    values: Vec<f64>,
}

impl JointCounts {
    /// Mean and standard deviation for each region. The mean is exact; so is the standard deviation with inducing points, while on a
    /// lattice the lesser part of the variance comes from the draws.
    pub fn moments(&self) -> &[Count] {
        &self.moments
    }

    /// Number of draws.
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// The regions of both, whose draws with one number belong to one intensity, or to those of two types of one model.
    pub(super) fn beside(mut self, other: Self) -> Self {
        self.moments.extend(other.moments);
        self.values.extend(other.values);
        self
    }

    /// All draws, those of one region after those of another; draw `i` of all regions belongs to one intensity.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The draws of one region.
    pub fn of(&self, region: usize) -> &[f64] {
        &self.values[region * self.draws..][..self.draws]
    }

    /// Quantiles of the expected number in a region.
    pub fn quantiles(&self, region: usize, probabilities: &[f64]) -> Vec<f64> {
        quantiles(self.matched(region), probabilities)
    }

    /// Quantiles of a new number of events in a region: Poisson, with the expected number as its mean.
    pub fn new_count_quantiles(&self, region: usize, probabilities: &[f64], seed: u64) -> Vec<f64> {
        // The same stream for every region: what is said of one does not depend on which others are asked for.
        let mut rng = sample::stream(seed, 0);
        let mut numbers = Vec::with_capacity(NEW_COUNTS * self.draws);
        for expected in self.matched(region) {
            numbers.extend((0..NEW_COUNTS).map(|_| thinning::poisson(&mut rng, expected)));
        }
        quantiles_of_counts(&numbers, probabilities)
    }

    /// How often a new number of events in a region is as far out as `seen` on its side, twice: small where that many are a surprise.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// let times: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// let events = Events::new(Points::line(&times)?, Window::interval(0.0, 5.0)?)?;
    /// let counts = Model::default().fit(&events)?.posterior.joint_counts(&[Window::interval(1.0, 2.0)?], 1000, 0)?;
    /// assert!(counts.surprise(0, 10) > 0.5 && counts.surprise(0, 40) < 1e-4);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn surprise(&self, region: usize, seen: u64) -> f64 {
        let draws = self.matched(region);
        let mean = |of: &dyn Fn(f64) -> f64| draws.iter().map(|mean| of(*mean)).sum::<f64>() / draws.len() as f64;
        let at_most = mean(&|mean| poisson_at_most(seen, mean));
        let fewer = if seen == 0 { 0.0 } else { mean(&|mean| poisson_at_most(seen - 1, mean)) };
        (2.0 * at_most.min(1.0 - fewer)).min(1.0)
    }

    /// The band that a new number of events in a region leaves with probability `outside` at most, half of it on each side: just the numbers whose
    /// [`JointCounts::surprise`] is not below `outside`.
    pub fn new_count_band(&self, region: usize, outside: f64, seed: u64) -> (f64, f64) {
        let draws = self.matched(region);
        let at_most = |count: f64| {
            draws.iter().map(|mean| poisson_at_most(count as u64, *mean)).sum::<f64>() / draws.len() as f64
        };
        let tails = [0.5 * outside, 1.0 - 0.5 * outside];
        let near = self.new_count_quantiles(region, &tails, seed);
        // Drawn numbers say about where the ends are, and the distribution says where.
        let end = |p: f64, mut count: f64| {
            while at_most(count) < p {
                count += 1.0;
            }
            while count > 0.0 && at_most(count - 1.0) >= p {
                count -= 1.0;
            }
            count
        };
        let upper = end(tails[1], near[1]);
        (end(tails[0], near[0]), upper)
    }

    /// The draws of a region, scaled so that their mean is the exact one; not where that is all in a tail which draws hardly reach.
    pub(super) fn matched(&self, region: usize) -> Vec<f64> {
        let draws = self.of(region);
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let factor = if mean > 0.0 { self.moments[region].mean / mean } else { 1.0 };
        let factor = if (1.0 / MATCHED..MATCHED).contains(&factor) { factor } else { 1.0 };
        draws.iter().map(|draw| factor * draw).collect()
    }
}

/// Quantiles of a list: the smallest of its values that at least a part `p` of them do not exceed. So a quantile of counts is a
/// count.
pub(super) fn quantiles(mut values: Vec<f64>, probabilities: &[f64]) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    let rank = |p: &f64| ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
    probabilities.iter().map(|p| values[rank(p) - 1]).collect()
}

/// The same of whole numbers. As long as there are fewer of them than of entries they are tallied, which takes less time than sorting.
fn quantiles_of_counts(numbers: &[u64], probabilities: &[f64]) -> Vec<f64> {
    let most = numbers.iter().copied().max().unwrap_or(0);
    if most >= numbers.len() as u64 {
        return quantiles(numbers.iter().map(|number| *number as f64).collect(), probabilities);
    }
    let mut at_most = vec![0usize; most as usize + 1];
    numbers.iter().for_each(|number| at_most[*number as usize] += 1);
    for n in 1..at_most.len() {
        at_most[n] += at_most[n - 1];
    }
    let rank = |p: &f64| ((p * numbers.len() as f64).ceil() as usize).clamp(1, numbers.len());
    probabilities.iter().map(|p| at_most.partition_point(|count| *count < rank(p)) as f64).collect()
}

/// Means above this are taken for those of a normal number's cube root (Wilson and Hilferty): right to 1e-4.
const LARGE_MEAN: f64 = 500.0;

/// P(N ≤ count) of a Poisson number.
fn poisson_at_most(count: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    if mean > LARGE_MEAN {
        // N ≤ n where a gamma number of shape n + 1 exceeds the mean.
        let shape = count as f64 + 1.0;
        let spread = 1.0 / (9.0 * shape);
        return 1.0 - special::normal_cdf(((mean / shape).cbrt() - (1.0 - spread)) / spread.sqrt());
    }
    let mut term = (-mean).exp();
    let mut sum = term;
    for n in 1..=count {
        term *= mean / n as f64;
        sum += term;
        if (n as f64) > mean && term < 1e-18 {
            break;
        }
    }
    sum.min(1.0)
}

impl Posterior {
    /// The expected numbers of events in several regions, as [`Posterior::count`] has them, with about `draws` joint draws (an even
    /// number): draw `2i + 1` mirrors draw `2i`.
    pub fn joint_counts(&self, regions: &[Window], draws: usize, seed: u64) -> Result<JointCounts> {
        self.joint_counts_watched(regions, draws, seed, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, telling `watch` how it goes.
    pub fn joint_counts_watched(
        &self,
        regions: &[Window],
        draws: usize,
        seed: u64,
        watch: &mut CountWatch<'_>,
    ) -> Result<JointCounts> {
        let pairs = draws.div_ceil(2).max(1);
        let values = regions.len().saturating_mul(pairs.saturating_mul(2));
        if values > MOST_VALUES {
            let requirement = format!("must be at most {MOST_VALUES}; ask for fewer regions or fewer draws");
            return Err(Error::setting("number of regions times draws", values, requirement));
        }
        let regions = regions.iter().map(|region| self.region(region)).collect::<Result<Vec<_>>>()?;
        let (shares, seed) = (self.shares(pairs), self.own_seed(seed));
        let mut parts: Vec<(f64, JointCounts)> = vec![];
        let heard = shares.iter().filter(|share| **share > 0).count();
        for (component, own) in self.components().iter().zip(shares).filter(|(_, own)| *own > 0) {
            let beyond = component.reaching_regions(&regions, self.window().dims())?;
            let field = beyond.as_deref().unwrap_or(component.field());
            let done = parts.len() as f64;
            let mut tell = |progress: CountProgress| {
                watch(CountProgress { done: (done + progress.done) / heard as f64, ..progress })
            };
            let seed = seed.wrapping_add((parts.len() as u64).wrapping_mul(OWN_DRAWS)); // each component has its own
            let mut counts =
                Work { field, regions: &regions, pairs: own, seed, watch: &mut tell, units: 0 }.counts()?;
            if beyond.is_some() {
                counts.keep_inside(component, &regions)?;
            }
            parts.push((component.weight, counts));
        }
        Ok(JointCounts::mixed(parts, regions.len()))
    }

    /// How many of so many pairs of draws belong to each component.
    pub(crate) fn shares(&self, pairs: usize) -> Vec<usize> {
        let mut before = 0.0;
        let mut given = 0;
        let share = |component: &super::Component| {
            before += component.weight;
            let until = (before * pairs as f64).round() as usize;
            (until.saturating_sub(given), given = given.max(until)).0
        };
        let mut shares: Vec<usize> = self.components().iter().map(share).collect();
        shares[0] += pairs - shares.iter().sum::<usize>().min(pairs);
        shares
    }
}

impl JointCounts {
    /// What is expected in regions inside the window is the same whatever other regions are asked for with them.
    fn keep_inside(&mut self, component: &super::Component, regions: &[Window]) -> Result<()> {
        for (count, region) in self.moments.iter_mut().zip(regions).filter(|(_, region)| is_inside(region)) {
            count.mean = component.field().expected(region)?;
        }
        Ok(())
    }

    /// Of a mixture: the draws of all components, one region after another.
    fn mixed(mut parts: Vec<(f64, Self)>, regions: usize) -> Self {
        if parts.len() < 2 {
            return parts.pop().map(|(_, only)| only).unwrap_or_default();
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let draws = parts.iter().map(|(_, counts)| counts.draws).sum();
        let (mut moments, mut values) = (Vec::with_capacity(regions), Vec::with_capacity(draws * regions));
        for r in 0..regions {
            let of_region = |(weight, counts): &(f64, Self)| (weight / total, counts.moments[r]);
            moments.push(Count::mixed(&parts.iter().map(of_region).collect::<Vec<_>>()));
            parts.iter().for_each(|(_, counts)| values.extend_from_slice(counts.of(r)));
        }
        Self { moments, draws, values }
    }
}

/// Counts in progress.
struct Work<'a, 'w> {
    field: &'a dyn Field,
    regions: &'a [Window],
    pairs: usize,
    seed: u64,
    watch: &'a mut CountWatch<'w>,
    /// Units of work that are done.
    units: usize,
}

impl Work<'_, '_> {
    fn counts(mut self) -> Result<JointCounts> {
        let draws = 2 * self.pairs;
        let mut found = JointCounts { moments: Vec::new(), draws, values: Vec::new() };
        // All draws at once if they fit; else they are made anew for each group of regions, which are then few and large.
        let block = (DRAWS_HELD / (8 * self.field.size())).clamp(1, self.pairs);
        let whole = (block == self.pairs).then(|| self.deviations(0, self.pairs)).transpose()?;
        let mut first = 0;
        while first < self.regions.len() {
            let forms = self.forms(first)?;
            let mut parts = vec![Vec::with_capacity(self.pairs); forms.len()];
            for start in (0..self.pairs).step_by(block) {
                let made =
                    if whole.is_none() { Some(self.deviations(start, block.min(self.pairs - start))?) } else { None };
                let Some(z) = whole.as_ref().or(made.as_ref()) else { continue };
                for (some, parts) in forms.chunks(STEP).zip(parts.chunks_mut(STEP)) {
                    let sums: Vec<_> = parallel::each(some.len(), |i| some[i].parts.at(z));
                    parts.iter_mut().zip(sums).for_each(|(all, some)| all.extend(some));
                    self.tell(CountStage::Sums, some.len())?;
                }
            }
            for (form, parts) in forms.iter().zip(&parts) {
                found.moments.push(form.moments(parts));
                found.values.extend(parts.iter().flat_map(|&[linear, square]| {
                    // A square integrates to no less than 0, whatever rounding says.
                    [linear, -linear].map(|linear| (form.level + linear + square).max(0.0))
                }));
            }
            first += forms.len();
        }
        Ok(found)
    }

    /// The regions from `first` on, as many as may be held.
    fn forms(&mut self, first: usize) -> Result<Vec<RegionForm>> {
        let mut forms: Vec<RegionForm> = Vec::new();
        let mut bytes = 0;
        for some in self.regions[first..].chunks(STEP) {
            let field = self.field;
            for form in parallel::try_each(some.len(), |i| field.form(&some[i]))? {
                bytes += form.parts.bytes();
                forms.push(form);
            }
            self.tell(CountStage::Regions, some.len())?;
            if bytes > REGIONS_HELD {
                break;
            }
        }
        Ok(forms)
    }

    /// `count` draws of z from number `first` on, one column for each. // (size, count)
    fn deviations(&mut self, first: usize, count: usize) -> Result<Vec<f64>> {
        let (field, seed, size) = (self.field, self.seed, self.field.size());
        let noise = |draw: usize| gaussian::standard_normal(&mut sample::stream(seed, draw as u64), size);
        let end = first + count;
        if count == self.pairs && 2 * size <= count {
            let mut columns: Vec<f64> = (first..end).flat_map(noise).collect();
            standardise(&mut columns, size)?;
            self.tell(CountStage::Draws, count)?;
            return field.deviations(columns);
        }
        let mut all = Vec::with_capacity(size * count);
        // Groups of a fixed length: what a draw is must not depend on the number of threads.
        let group = |start: usize| field.deviations((start..end.min(start + STEP)).flat_map(noise).collect());
        let starts: Vec<usize> = (first..end).step_by(STEP).collect();
        for some in starts.chunks(rayon::current_num_threads()) {
            let made = parallel::try_each(some.len(), |i| group(some[i]))?;
            let before = all.len();
            for z in made {
                all.extend(z);
            }
            self.tell(CountStage::Draws, (all.len() - before) / size)?;
        }
        Ok(all)
    }

    fn tell(&mut self, stage: CountStage, units: usize) -> Result<()> {
        self.units += units;
        let all = self.pairs + 2 * self.regions.len();
        let done = (self.units as f64 / all as f64).min(1.0);
        match (self.watch)(CountProgress { stage, done }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }
}

/// Turns columns of noise so that their mean square is the identity, as it is on average. (Their mean is 0: each comes with its mirror.)
fn standardise(columns: &mut [f64], size: usize) -> Result<()> {
    let count = columns.len() / size;
    let mut root = Matrix::zeros(size, size);
    linalg::add_outer_lower(&mut root, 1.0 / count as f64, columns, columns);
    linalg::cholesky(&mut root).map_err(|pivot| Error::NotPositiveDefinite { pivot, size, jitter: 0.0 })?;
    linalg::solve_lower(&root, columns);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallied_quantiles_are_those_of_a_sorted_list() {
        let numbers: Vec<u64> = (0..997).map(|i: u64| i * i % 23 + i % 2).collect();
        let probabilities = [1e-9, 0.001, 0.05, 0.3, 0.5, 0.77, 0.95, 0.999, 1.0];
        let sorted = |numbers: &[u64]| quantiles(numbers.iter().map(|n| *n as f64).collect(), &probabilities);
        assert_eq!(quantiles_of_counts(&numbers, &probabilities), sorted(&numbers));
        let few = [7, 3, 900, 3];
        assert_eq!(quantiles_of_counts(&few, &probabilities), sorted(&few), "larger than there are numbers");
    }

    /// Against sums of the mass function, in logarithms.
    #[test]
    fn tails_of_poisson_numbers_are_right() {
        let slow = |count: u64, mean: f64| -> f64 {
            let mut log_factorial = 0.0;
            (0..=count)
                .map(|n| {
                    log_factorial += if n > 0 { (n as f64).ln() } else { 0.0 };
                    (n as f64 * mean.ln() - mean - log_factorial).exp()
                })
                .sum()
        };
        for (count, mean, error) in [
            (0, 0.3, 1e-14),
            (3, 2.5, 1e-14),
            (40, 20.0, 1e-13),
            (480, 499.0, 1e-11),
            (1000, 980.0, 1e-4),
            (700, 800.0, 1e-4),
        ] {
            let (fast, slow) = (poisson_at_most(count, mean), slow(count, mean));
            assert!((fast - slow).abs() < error, "{count} {mean} {fast} {slow}");
        }
        assert_eq!(poisson_at_most(5, 0.0), 1.0);
    }
}
