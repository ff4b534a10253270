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
use crate::sample::{self, gaussian};
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
/// Up to so many quantiles a list is not sorted.
const FEW_RANKS: usize = 6;
/// A Poisson number is not this many standard deviations above its mean.
const FAR_ABOVE: f64 = 40.0;

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

    /// Quantiles of a new number of events in a region: Poisson, with the expected number as its mean. Given the draws they are exact.
    pub fn new_count_quantiles(&self, region: usize, probabilities: &[f64]) -> Vec<f64> {
        quantiles_of_poisson(&self.matched(region), probabilities)
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
        let at_most = mean(&|mean| poisson_at_most(seen as f64, mean));
        let fewer = if seen == 0 { 0.0 } else { mean(&|mean| poisson_at_most(seen as f64 - 1.0, mean)) };
        (2.0 * at_most.min(1.0 - fewer)).min(1.0)
    }

    /// The band that a new number of events in a region leaves with probability `outside` at most, half of it on each side: just the numbers whose
    /// [`JointCounts::surprise`] is not below `outside`.
    pub fn new_count_band(&self, region: usize, outside: f64) -> (f64, f64) {
        let ends = self.new_count_quantiles(region, &[0.5 * outside, 1.0 - 0.5 * outside]);
        (ends[0], ends[1])
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
    let rank = |p: &f64| ((p * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
    let ranks: Vec<usize> = probabilities.iter().map(rank).collect();
    // Few of them are found sooner than all values are sorted.
    if ranks.len() > FEW_RANKS {
        values.sort_unstable_by(f64::total_cmp);
        return ranks.into_iter().map(|rank| values[rank]).collect();
    }
    ranks.into_iter().map(|rank| *values.select_nth_unstable_by(rank, f64::total_cmp).1).collect()
}

/// Quantiles of a Poisson number whose mean is any of these, each as likely as the others: the smallest number that it does not exceed with at least
/// this probability.
fn quantiles_of_poisson(means: &[f64], probabilities: &[f64]) -> Vec<f64> {
    let highest = means.iter().copied().fold(0.0, f64::max);
    if highest <= LARGE_MEAN {
        return quantiles_from_zero(means, probabilities);
    }
    let at_most = |count: f64| means.iter().map(|mean| poisson_at_most(count, *mean)).sum::<f64>();
    let quantile = |p: &f64| {
        // No count at the lower end, or none is likely; at the upper end it is almost sure.
        let (mut below, mut above) = (-1.0, highest + FAR_ABOVE * highest.sqrt());
        while above - below > 1.0 {
            let middle = (0.5 * (below + above)).floor();
            // So large that there are no numbers between.
            if middle <= below || middle >= above {
                break;
            }
            if at_most(middle) < p * means.len() as f64 { below = middle } else { above = middle }
        }
        above.ceil()
    };
    probabilities.iter().map(quantile).collect()
}

/// The same where means are not large: the mass function from 0 on, for all of them at once.
fn quantiles_from_zero(means: &[f64], probabilities: &[f64]) -> Vec<f64> {
    let highest = means.iter().copied().fold(0.0, f64::max);
    let most = highest + FAR_ABOVE * (1.0 + highest.sqrt());
    let mut masses: Vec<f64> = means.iter().map(|mean| (-mean.max(0.0)).exp()).collect();
    let (mut count, mut at_most) = (0.0, masses.iter().sum::<f64>());
    let mut rising: Vec<usize> = (0..probabilities.len()).collect();
    rising.sort_unstable_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut found = vec![0.0; probabilities.len()];
    for which in rising {
        while at_most < probabilities[which] * means.len() as f64 && count < most {
            count += 1.0;
            masses.iter_mut().zip(means).for_each(|(mass, mean)| *mass *= mean.max(0.0) / count);
            at_most += masses.iter().sum::<f64>();
        }
        found[which] = count;
    }
    found
}

/// Numbers of events above this are refused.
const MOST_EVENTS: f64 = 1e15;
/// Means above this are taken for those of a normal number's cube root (Wilson and Hilferty): right to 1e-4.
const LARGE_MEAN: f64 = 500.0;

/// P(N ≤ count) of a Poisson number.
fn poisson_at_most(count: f64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    if mean > LARGE_MEAN {
        // N ≤ n where a gamma number of shape n + 1 exceeds the mean.
        let shape = count + 1.0;
        let spread = 1.0 / (9.0 * shape);
        return 1.0 - special::normal_cdf(((mean / shape).cbrt() - (1.0 - spread)) / spread.sqrt());
    }
    let mut term = (-mean).exp();
    let mut sum = term;
    let mut n = 1.0;
    while n <= count && !(n > mean && term < 1e-18) {
        term *= mean / n;
        sum += term;
        n += 1.0;
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
        JointCounts::mixed(parts, regions.len()).countable()
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

    /// Refuses numbers that are so large that they are none any more.
    fn countable(self) -> Result<Self> {
        let all = self.moments.iter().map(|count| count.mean).chain(self.values.iter().copied());
        let largest =
            all.fold(0.0, |largest: f64, number| if number.is_nan() { f64::INFINITY } else { largest.max(number) });
        match largest <= MOST_EVENTS {
            true => Ok(self),
            false => {
                let requirement = format!(
                    "is more than {MOST_EVENTS:e}, which are not counted: what is asked lies too far outside of what was seen; hold covariates at values nearer to \
                     those of the window, or ask nearer to it"
                );
                Err(Error::setting("expected number of events", format!("{largest:.0e}"), requirement))
            }
        }
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
    use crate::sample::thinning;

    #[test]
    fn few_quantiles_are_those_of_a_sorted_list() {
        let values: Vec<f64> = (0..997).map(|i| f64::from(i * i % 231 + i % 2)).collect();
        let probabilities = [1e-9, 0.001, 0.05, 0.3, 0.5, 0.77, 0.95, 0.999, 1.0];
        let all = quantiles(values.clone(), &probabilities);
        for (p, want) in probabilities.iter().zip(&all) {
            assert_eq!(quantiles(values.clone(), &[*p]), [*want]);
        }
        assert_eq!(quantiles(values, &[0.95, 0.05]), [all[6], all[2]]);
    }

    /// Against the distribution function, one number after another; and the two ways where means are large and where they are not.
    #[test]
    fn quantiles_of_poisson_numbers_are_where_their_distribution_says() {
        let probabilities = [0.95, 0.001, 0.5, 0.05];
        for scale in [0.003, 0.4, 7.0, 90.0, 400.0, 900.0, 30_000.0] {
            let means: Vec<f64> = (0..50).map(|i| scale * (1.0 + 0.2 * f64::from(i).sin())).collect();
            let at_most = |n: f64| means.iter().map(|mean| poisson_at_most(n, *mean)).sum::<f64>() / 50.0;
            for (p, found) in probabilities.iter().zip(quantiles_of_poisson(&means, &probabilities)) {
                assert!(at_most(found) >= *p && (found == 0.0 || at_most(found - 1.0) < *p), "{scale} {p}: {found}");
            }
        }
        assert_eq!(quantiles_of_poisson(&[0.0, 0.0], &[0.05, 1.0]), [0.0, 0.0]);
    }

    /// Against drawn numbers.
    #[test]
    fn drawn_numbers_have_these_quantiles() {
        let means = [2.0, 30.0, 31.0, 40.0];
        let mut rng = sample::stream(3, 0);
        let mut drawn: Vec<f64> = (0..40_000).map(|i| thinning::poisson(&mut rng, means[i % 4]) as f64).collect();
        drawn.sort_by(f64::total_cmp);
        for (p, found) in [0.1, 0.5, 0.9].iter().zip(quantiles_of_poisson(&means, &[0.1, 0.5, 0.9])) {
            let part = |n: f64| drawn.partition_point(|x| *x <= n) as f64 / drawn.len() as f64;
            assert!(part(found) > p - 0.01 && part(found - 1.0) < p + 0.01, "{p}: {found}");
        }
    }

    /// Numbers so large that neighbours are no numbers any more end too.
    #[test]
    fn quantiles_of_numbers_beyond_all_counting_are_found() {
        for mean in [1e17, 1e200] {
            for quantile in quantiles_of_poisson(&[3.0, mean], &[0.05, 0.9]).iter().zip([false, true]) {
                let (found, is_large) = quantile;
                assert!(if is_large { (found / mean - 1.0).abs() < 1e-6 } else { *found < 10.0 }, "{mean}: {found}");
            }
        }
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
            let (fast, slow) = (poisson_at_most(count as f64, mean), slow(count, mean));
            assert!((fast - slow).abs() < error, "{count} {mean} {fast} {slow}");
        }
        assert_eq!(poisson_at_most(5.0, 0.0), 1.0);
    }
}
