//! Whether chains have found the same thing, and how many independent draws they are worth.
//!
//! R̂: split, rank-normalised, the larger of that of the draws and that of their distances from the median (Vehtari, Gelman, Simpson,
//! Carpenter and Bürkner 2021). Effective number: split chains, autocorrelations summed over Geyer's initial monotone sequence.
//! A run is watched by both for every parameter that is sampled, the integral of the rate and the log-likelihood.

use pointillist::internals::numerics::normal_quantile;

/// What is known of one watched quantity.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Watched {
    /// Its name: `ceiling`, `lengthscale[r]`, `variance`, `mean`, `integral`, `log_likelihood`.
    pub name: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// R̂.
    pub r_hat: f64,
    /// Effective number of draws, of the ranks.
    pub effective: f64,
}

impl Watched {
    pub(super) fn new(name: String, chains: &[Vec<f64>]) -> Self {
        let count = chains.iter().map(Vec::len).sum::<usize>() as f64;
        let mean = chains.iter().flatten().sum::<f64>() / count;
        let square = chains.iter().flatten().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let sd = (square / (count - 1.0)).sqrt();
        Self { name, mean, sd, r_hat: r_hat(chains), effective: effective(&normalised(chains)) }
    }
}

/// R̂ of chains of equal length; NaN for fewer than four draws per chain.
pub fn r_hat(chains: &[Vec<f64>]) -> f64 {
    let mut all: Vec<f64> = chains.concat();
    if all.is_empty() {
        return f64::NAN;
    }
    all.sort_by(f64::total_cmp);
    let median = 0.5 * (all[(all.len() - 1) / 2] + all[all.len() / 2]);
    let folded: Vec<Vec<f64>> = chains.iter().map(|c| c.iter().map(|x| (x - median).abs()).collect()).collect();
    let (centre, tails) = (plain_r_hat(&normalised(chains)), plain_r_hat(&normalised(&folded)));
    if centre.is_nan() || tails.is_nan() { f64::NAN } else { centre.max(tails) }
}

/// √(var⁺ / W) of the halves of chains.
fn plain_r_hat(chains: &[Vec<f64>]) -> f64 {
    let halves = split(chains);
    if halves.first().is_none_or(|half| half.len() < 2) {
        return f64::NAN;
    }
    let (within, pooled) = variances(&halves);
    if pooled == 0.0 { 1.0 } else { (pooled / within).sqrt() }
}

/// The effective number of draws in chains of equal length; NaN for fewer than eight draws per chain.
pub fn effective(chains: &[Vec<f64>]) -> f64 {
    let halves = split(chains);
    if halves.first().is_none_or(|half| half.len() < 4) {
        return f64::NAN;
    }
    let (length, total) = (halves[0].len(), (halves.len() * halves[0].len()) as f64);
    let (within, pooled) = variances(&halves);
    if pooled == 0.0 {
        return total;
    }
    let centred: Vec<Vec<f64>> = halves.iter().map(|half| without_mean(half)).collect();
    let correlation = |lag: usize| {
        let products = centred.iter().map(|c| c[lag..].iter().zip(c).map(|(a, b)| a * b).sum::<f64>());
        1.0 - (within - products.sum::<f64>() / total) / pooled
    };
    let (mut sum, mut before) = (0.0, f64::INFINITY);
    for lag in (0..length - 1).step_by(2) {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        before = pair.min(before);
        sum += before;
    }
    // The first pair holds the 1 of lag 0, which must be counted once. Draws better than independent are believed up to a limit.
    total / (2.0 * sum - 1.0).max(1.0 / total.log10())
}

/// Means over the chains of the variance within, and the pooled variance var⁺.
fn variances(chains: &[Vec<f64>]) -> (f64, f64) {
    let (count, length) = (chains.len() as f64, chains[0].len() as f64);
    let means: Vec<f64> = chains.iter().map(|c| c.iter().sum::<f64>() / length).collect();
    let square = |c: &Vec<f64>| without_mean(c).iter().map(|x| x * x).sum::<f64>();
    let within = chains.iter().map(square).sum::<f64>() / (count * (length - 1.0));
    let centre = means.iter().sum::<f64>() / count;
    let between = means.iter().map(|m| (m - centre) * (m - centre)).sum::<f64>() / (count - 1.0);
    (within, within * (length - 1.0) / length + between)
}

fn without_mean(chain: &[f64]) -> Vec<f64> {
    let mean = chain.iter().sum::<f64>() / chain.len() as f64;
    chain.iter().map(|x| x - mean).collect()
}

/// The first and the second half of every chain.
fn split(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let half = chains.iter().map(Vec::len).min().unwrap_or(0) / 2;
    chains.iter().flat_map(|c| [c[..half].to_vec(), c[c.len() - half..].to_vec()]).collect()
}

/// Draws replaced by the normal scores of their ranks among all; those alike share their mean rank.
fn normalised(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all: Vec<f64> = chains.concat();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&i, &j| all[i].total_cmp(&all[j]));
    let mut scores = vec![0.0; all.len()];
    let mut first = 0;
    while first < order.len() {
        let alike = order[first..].iter().take_while(|&&i| all[i] == all[order[first]]).count().max(1);
        let rank = first as f64 + 0.5 * (alike as f64 + 1.0);
        let score = normal_quantile((rank - 0.375) / (all.len() as f64 + 0.25));
        order[first..first + alike].iter().for_each(|&i| scores[i] = score);
        first += alike;
    }
    let mut rest = &scores[..];
    chains
        .iter()
        .map(|c| {
            let (own, others) = rest.split_at(c.len());
            rest = others;
            own.to_vec()
        })
        .collect()
}

/// How a run went.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Diagnostics {
    /// What was watched.
    pub watched: Vec<Watched>,
    /// Whether R̂ and effective numbers are as asked for.
    pub converged: bool,
    /// Sweeps of each chain, warm-up included.
    pub sweeps: usize,
    /// Draws recorded of each chain.
    pub draws: usize,
    /// Wall time.
    pub seconds: f64,
    /// Mean acceptance probability of the Hamiltonian trajectories after warm-up.
    pub acceptance: f64,
    /// Mean acceptance probabilities of the walks over λ*, variance and mean and over length-scales and variance; 0 where all are fixed.
    pub walked: [f64; 2],
    /// Step sizes of the trajectories, by chain, in units of each chain's own scales.
    pub steps: Vec<f64>,
    /// Angles an elliptical slice step tried, on average.
    pub angles: f64,
    /// Mean number of thinned events.
    pub thinned: f64,
    /// What it would have been with uniform thinning: the mean of λ*|T| − ∫λ.
    pub thinned_uniform: f64,
    /// The share of the candidates for thinning at which f stood above the bound of its box: how far adaptive thinning is from exact.
    pub breaches: f64,
}

impl Diagnostics {
    /// The largest R̂; NaN if one is.
    pub fn worst_r_hat(&self) -> f64 {
        self.watched.iter().fold(1.0, |worst, w| if w.r_hat.is_nan() { f64::NAN } else { w.r_hat.max(worst) })
    }

    /// The smallest effective number; NaN if one is.
    pub fn least_effective(&self) -> f64 {
        let least = |least: f64, w: &Watched| if w.effective.is_nan() { f64::NAN } else { w.effective.min(least) };
        self.watched.iter().fold(f64::INFINITY, least)
    }
}
