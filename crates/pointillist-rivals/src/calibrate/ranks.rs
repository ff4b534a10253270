//! Where truths lie in posteriors that should hold them: histograms, χ², coverage.
//!
//! The rank of a truth is the posterior probability below it. If truth and data come from the model that is fitted, ranks are uniform, whatever
//! the data (Talts et al. 2018). Ranks of one set of data depend on each other, so that only the first of each set is in the histogram
//! and its χ², and errors of coverage are taken over sets.

use crate::gamma;
use rand::{Rng, RngExt};

/// Bins of a histogram of ranks.
pub const BINS: usize = 20;
/// Probabilities of the central intervals whose coverage is told.
pub const LEVELS: [f64; 4] = [0.5, 0.8, 0.9, 0.95];
/// What the band of a histogram holds of the numbers in one bin.
const BAND: f64 = 0.99;

/// A mean over sets, and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

impl Mean {
    /// Of one number per set.
    pub fn of(numbers: &[f64]) -> Self {
        let count = numbers.len() as f64;
        let value = numbers.iter().sum::<f64>() / count;
        let variance = numbers.iter().map(|number| (number - value).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        Self { value, se: (variance / count).sqrt() }
    }
}

/// The ranks of one quantity in many sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranks {
    /// By set; those of one set depend on each other.
    sets: Vec<Vec<f64>>,
}

impl Ranks {
    /// With the ranks of each set, at least one.
    pub fn new(sets: Vec<Vec<f64>>) -> Self {
        Self { sets }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// How many sets have their first rank in each of [`BINS`] equal bins.
    pub fn histogram(&self) -> Vec<usize> {
        let mut bins = vec![0; BINS];
        for rank in self.sets.iter().filter_map(|set| set.first()) {
            bins[((rank * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        bins
    }

    /// The probability of a χ² of the histogram at least as large, if ranks are uniform.
    pub fn p_value(&self) -> f64 {
        let expected = self.sets.len() as f64 / BINS as f64;
        let square = |found: usize| (found as f64 - expected).powi(2) / expected;
        let chi_square: f64 = self.histogram().into_iter().map(square).sum();
        gamma::tails(0.5 * (BINS - 1) as f64, 0.5 * chi_square).1
    }

    /// How often the central interval of this probability holds the truth.
    pub fn coverage(&self, level: f64) -> Mean {
        let holds = |rank: &&f64| (**rank - 0.5).abs() <= 0.5 * level;
        let share = |set: &Vec<f64>| set.iter().filter(holds).count() as f64 / set.len() as f64;
        Mean::of(&self.sets.iter().map(share).collect::<Vec<_>>())
    }

    /// Between which numbers one bin of the histogram lies with a probability of 99 %.
    pub fn band(&self) -> (usize, usize) {
        let tail = 0.5 * (1.0 - BAND);
        let (count, share) = (self.sets.len(), 1.0 / BINS as f64);
        (binomial_quantile(count, share, tail), binomial_quantile(count, share, 1.0 - tail))
    }
}

/// The smallest number that a binomial one exceeds with a probability of at most 1 − p.
fn binomial_quantile(count: usize, share: f64, p: f64) -> usize {
    let mut below = 0.0;
    for k in 0..count {
        let [n, chosen] = [count, k].map(|number| number as f64);
        let ways = libm::lgamma(n + 1.0) - libm::lgamma(chosen + 1.0) - libm::lgamma(n - chosen + 1.0);
        below += (ways + chosen * share.ln() + (n - chosen) * (-share).ln_1p()).exp();
        if below >= p {
            return k;
        }
    }
    count
}

/// The rank of a truth among draws: uniform, with a random place between the draws beside it, if it is a draw like them.
pub fn among_draws(draws: &[f64], truth: f64, rng: &mut impl Rng) -> f64 {
    let (below, same) = draws
        .iter()
        .fold((0.0, 0.0), |(below, same), draw| (below + f64::from(*draw < truth), same + f64::from(*draw == truth)));
    (below + (same + 1.0) * rng.random::<f64>()) / (draws.len() + 1) as f64
}

/// The rank of a truth among weighted points, each of which stands for its surroundings: its weight is spread evenly as far as half-way to its
/// neighbours, and as far on its other side where it has but one. Of a single point, nothing is known but its side.
pub fn among_points(points: &[(f64, f64)], truth: f64) -> Option<f64> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|next, kept| {
        let is_same = next.0 - kept.0 <= 1e-9 * (1.0 + kept.0.abs());
        kept.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    let total: f64 = points.iter().map(|point| point.1).sum();
    let last = points.len().checked_sub(1).filter(|last| *last > 0)?;
    let half = |i: usize| 0.5 * (points[i + 1].0 - points[i].0);
    let mut below = 0.0;
    for (i, (place, weight)) in points.iter().enumerate() {
        let before = half(if i > 0 { i - 1 } else { 0 });
        let after = half(if i < last { i } else { last - 1 });
        below += weight * ((truth - place + before) / (before + after)).clamp(0.0, 1.0);
    }
    Some(below / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::internals::sample::stream;
    use rand_distr::{Distribution, Gamma, Poisson};

    /// Ranks of a rate with a Gamma prior given Poisson counts, whose posterior is Gamma; its draws are moved to the mean by a factor.
    fn conjugate(sets: u64, narrower: f64) -> Ranks {
        let ranks = (0..sets).map(|number| {
            let mut rng = stream(1, number);
            let (shape, looks) = (3.0, 4.0);
            let rate = Gamma::new(shape, 1.0).unwrap().sample(&mut rng);
            let count: f64 = Poisson::new(rate * looks).unwrap().sample(&mut rng);
            let posterior = Gamma::new(shape + count, 1.0 / (1.0 + looks)).unwrap();
            let mean = (shape + count) / (1.0 + looks);
            let draws: Vec<f64> = (0..199).map(|_| mean + narrower * (posterior.sample(&mut rng) - mean)).collect();
            vec![among_draws(&draws, rate, &mut rng)]
        });
        Ranks::new(ranks.collect())
    }

    #[test]
    fn exact_posteriors_have_uniform_ranks() {
        let ranks = conjugate(2000, 1.0);
        assert!(ranks.p_value() > 0.001, "{}", ranks.p_value());
        for level in LEVELS {
            let Mean { value, se } = ranks.coverage(level);
            assert!((value - level).abs() < 3.5 * se, "{level}: {value} ± {se}");
        }
        let (low, high) = ranks.band();
        let outside = ranks.histogram().into_iter().filter(|bin| !(low..=high).contains(bin)).count();
        assert!(outside <= 2, "{:?}", ranks.histogram());
    }

    #[test]
    fn bands_that_are_too_narrow_or_too_wide_are_seen() {
        let narrow = conjugate(400, 0.5);
        assert!(narrow.p_value() < 1e-6 && narrow.coverage(0.9).value < 0.7, "{}", narrow.p_value());
        let wide = conjugate(400, 2.0);
        assert!(wide.p_value() < 1e-6 && wide.coverage(0.8).value > 0.95, "{}", wide.p_value());
    }

    #[test]
    fn a_histogram_counts_one_rank_of_each_set() {
        let ranks = Ranks::new(vec![vec![0.0, 0.9], vec![0.04, 0.9], vec![1.0, 0.9], vec![0.5, 0.1]]);
        let mut bins = vec![0; BINS];
        (bins[0], bins[10], bins[19]) = (2, 1, 1);
        assert_eq!(ranks.histogram(), bins);
        // 2, 0, ..: Σ (o − 0.2)²/0.2 = 3.24/0.2 + 2·0.64/0.2 + 17·0.2
        let chi_square: f64 = 16.2 + 6.4 + 3.4;
        assert!((ranks.p_value() - gamma::tails(9.5, 0.5 * chi_square).1).abs() < 1e-14);
        let covered = ranks.coverage(0.5);
        assert!((covered.value - 0.125).abs() < 1e-15 && (covered.se - 0.125).abs() < 1e-15, "{covered:?}");
    }

    #[test]
    fn quantiles_of_binomial_numbers_are_those_of_their_sums() {
        // P(X = 0, 1, 2, 3) = 1/8, 3/8, 3/8, 1/8
        let quantiles = [0.1, 0.126, 0.5, 0.51, 0.8751, 1.0].map(|p| binomial_quantile(3, 0.5, p));
        assert_eq!(quantiles, [0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn points_stand_for_their_surroundings() {
        let points = [(2.0, 0.25), (0.0, 0.25), (1.0, 0.5)];
        let at = [-0.5, 0.0, 0.5, 1.0, 1.75, 2.5, 9.0].map(|truth| among_points(&points, truth).unwrap());
        let want = [0.0, 0.125, 0.25, 0.5, 0.8125, 1.0, 1.0];
        assert!(at.iter().zip(want).all(|(at, want)| (at - want).abs() < 1e-15), "{at:?}");
        assert_eq!(among_points(&[(1.0, 0.5), (1.0, 0.5)], 2.0), None);
    }
}
