//! The answer of a fit in a sentence: what the rate is, where, for people who would rather not read a table.

use super::fit_summary::rate_unit;
use super::geography::outward;
use super::window::{place, time_axis};
use pointillist::{Axis, Points, Posterior, Window};

/// The model's limit, for whoever sees clusters that the rate does not explain.
pub const NO_MEMORY: &str = "This model has no memory: in it no event brings about another. If events do here (aftershocks, contagion, bursts), its bands of counts and forecasts are too narrow, and a \
                             self-exciting (Hawkes) model is called for.";

/// Places looked at along each axis, on a line, in a plane and in space.
const PLACES: [usize; 3] = [512, 80, 16];
/// A rate that varies by less than this factor is called the same throughout.
const SAME: f64 = 1.25;
/// One change explains a rate if it takes away this part of its variance.
const EXPLAINED: f64 = 0.7;
/// On maps the lowest and the highest part of this size are left out.
const TAIL: f64 = 0.05;

/// The sentence; none where there is nothing to look at.
pub fn in_words(posterior: &Posterior) -> Option<String> {
    let window = posterior.window();
    let count = *PLACES.get(window.dims() - 1)?;
    let spans = window.bounding_box();
    let centre = |r: usize, i: usize| spans[r].lo + spans[r].length() * (i as f64 + 0.5) / count as f64;
    let row = |n: usize| (0..window.dims()).map(|r| centre(r, n / count.pow(r as u32) % count)).collect::<Vec<f64>>();
    let places: Vec<Vec<f64>> =
        (0..count.pow(window.dims() as u32)).map(row).filter(|place| window.contains(place)).collect();
    let points = Points::new(window.dims(), places.concat()).ok()?;
    let rates = posterior.rate(&points).ok()?.mean;
    let (lowest, highest) = (extreme(&rates, |a, b| a < b)?, extreme(&rates, |a, b| a > b)?);
    let unit = rate_unit(window);
    if rates[highest] < SAME * rates[lowest] {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        return Some(format!("about {} {unit} throughout", digits(mean)));
    }
    if window.dims() == 1 {
        return Some(along(&places, &rates, (lowest, highest), window));
    }
    let mut sorted = rates.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| digits(sorted[((part * sorted.len() as f64) as usize).min(sorted.len() - 1)]);
    let near: Vec<String> = window
        .axes()
        .iter()
        .zip(&places[highest])
        .map(|(axis, value)| format!("{} {}", axis.name, shown(axis, *value, window)))
        .collect();
    Some(format!(
        "from about {} to {} {unit} over nine tenths of the window; highest near {}, {}",
        at(TAIL),
        at(1.0 - TAIL),
        near.join(", "),
        digits(rates[highest])
    ))
}

/// Of a line: one change, or the lowest and the highest place.
fn along(places: &[Vec<f64>], rates: &[f64], (lowest, highest): (usize, usize), window: &Window) -> String {
    let (axis, unit) = (&window.axes()[0], rate_unit(window));
    let where_is = |n: usize| shown(axis, places[n][0], window);
    let (split, before, after, explained) = best_split(rates);
    if explained > EXPLAINED && before.max(after) > SAME * before.min(after) {
        return format!("about {} {unit} until {}, {} after", digits(before), where_is(split), digits(after));
    }
    format!(
        "from about {} {unit} (near {}) to {} (near {})",
        digits(rates[lowest]),
        where_is(lowest),
        digits(rates[highest]),
        where_is(highest)
    )
}

/// The first place after the split of a list that leaves the least variance, the means before and after it, and the part of the variance that it takes away.
fn best_split(values: &[f64]) -> (usize, f64, f64, f64) {
    let count = values.len() as f64;
    let total: f64 = values.iter().sum();
    let mean = total / count;
    let variance: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let (mut best, mut sum) = ((0, mean, mean, 0.0), 0.0);
    for (n, value) in values.iter().enumerate().take(values.len().saturating_sub(1)) {
        sum += value;
        let before = n as f64 + 1.0;
        let (a, b) = (sum / before, (total - sum) / (count - before));
        let between = before * (a - mean) * (a - mean) + (count - before) * (b - mean) * (b - mean);
        if between > best.3 * variance {
            best = (n + 1, a, b, between / variance);
        }
    }
    best
}

fn extreme(values: &[f64], is_further: impl Fn(f64, f64) -> bool) -> Option<usize> {
    (0..values.len()).reduce(|best, n| if is_further(values[n], values[best]) { n } else { best })
}

/// A place to about a hundredth of the window.
fn shown(axis: &Axis, value: f64, window: &Window) -> String {
    let r = window.axes().iter().position(|own| own.name == axis.name).unwrap_or(0);
    let length = window.bounding_box()[r].length();
    if let Some(time) = time_axis(axis) {
        let days = length * time.unit.seconds() / 86_400.0;
        let letters = if days > 30.0 { 10 } else { 16 };
        return place(axis, value).chars().take(letters).collect();
    }
    if axis.globe.is_some() {
        return format!("{:.2}", outward(axis, value)); // degrees, to about a km
    }
    let decimals = (2.0 - length.log10()).ceil().clamp(0.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

/// Two digits.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = 1 - value.abs().log10().floor() as i32;
    match decimals {
        d if d > 6 => format!("{value:.1e}"),
        d if d >= 0 => format!("{value:.*}", d as usize),
        d if d >= -6 => format!("{:.0}", (value / 10f64.powi(-d)).round() * 10f64.powi(-d)),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits() {
        let cases = [
            (3.12, "3.1"),
            (0.9049, "0.90"),
            (27.6, "28"),
            (1234.5, "1200"),
            (0.00031, "0.00031"),
            (3.3e-9, "3.3e-9"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(digits(value), text);
        }
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut values = vec![3.0; 40];
        values.extend(vec![1.0; 60]);
        let (split, before, after, explained) = best_split(&values);
        assert_eq!((split, before, after), (40, 3.0, 1.0));
        assert!(explained > 0.999);
        assert_eq!(best_split(&[2.0; 10]).3, 0.0);
    }
}
