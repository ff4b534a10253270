//! Whether the events look like events of the model, as numbers of a page: counts in bins beside their bands, and pairs beside those of drawn sets.

use pointillist::report::{Bin, Nearness, Pairs};
use pointillist::watch::PartWatch;
use pointillist::{Points, Posterior, Result};
use pointillist_io::NO_MEMORY;
use serde_json::{Map, Value, json};

/// The seed of draws: the page of a model is the same every time, and its bins are those that the command lists.
const SEED: u64 = 0;
/// How long bins take, beside pairs.
const BINS: f64 = 0.4;

/// Adds what there is to say.
pub fn add(posterior: &Posterior, events: &Points, data: &mut Map<String, Value>, watch: &PartWatch<'_>) -> Result<()> {
    let regions = posterior.even_bins(events.len())?;
    let bins = posterior.bins(&regions, events, SEED, &mut |progress| watch(BINS * progress.done))?;
    if !bins.is_empty() {
        data.insert("bins".into(), bins.iter().map(bin).collect());
    }
    if let Some(pairs) = posterior.pairs(events, SEED, &|done| watch(BINS + (1.0 - BINS) * done))? {
        data.insert("pairs".into(), told(&pairs));
    }
    Ok(())
}

fn bin(bin: &Bin) -> Value {
    let ends: Vec<[f64; 2]> = bin.region.bounding_box().iter().map(|span| [span.lo, span.hi]).collect();
    json!({
        "at": ends, "seen": bin.seen, "expected": rounded(bin.expected), "lower": bin.lower, "upper": bin.upper, "p": rounded(bin.p),
        "outside": bin.is_outside(), "more": bin.has_more()
    })
}

/// K of the events and the envelope, as parts of what is expected: alike at all distances.
fn told(pairs: &Pairs) -> Value {
    let part = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        values
            .zip(&pairs.expected)
            .map(|(k, expected)| if *expected > 0.0 { rounded(k / expected) } else { 1.0 })
            .collect()
    };
    json!({
        "distances": pairs.distances.iter().map(|distance| rounded(*distance)).collect::<Vec<f64>>(),
        "seen": part(&mut pairs.seen.iter().copied()),
        "lower": part(&mut pairs.envelope.iter().map(|ends| ends.0)),
        "upper": part(&mut pairs.envelope.iter().map(|ends| ends.1)),
        "memory": matches!(pairs.nearness(), Nearness::Closer(_)).then_some(NO_MEMORY),
        "p": pairs.p, "p_fewer": pairs.p_fewer, "nearness": pairs.nearness().name(),
        "most_within": rounded(pairs.most_within), "fewest_within": rounded(pairs.fewest_within),
        "closest": { "distance": rounded(pairs.closest.distance), "seen": pairs.closest.seen, "expected": rounded(pairs.closest.expected), "amiss": pairs.closest.is_amiss() }
    })
}

/// To five digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
