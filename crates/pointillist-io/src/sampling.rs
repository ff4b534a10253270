//! How finely a rate is sampled along an axis: so that nothing that the fit can carry is missed, and what repeats itself is not taken for something slower.

use super::fit_summary::brief;
use pointillist::kernel::Part;
use pointillist::{Points, Posterior, Window};

/// Places along a line, at least, ...
const USUAL: usize = 601;
/// ... and for each unknown, ...
const PER_UNKNOWN: usize = 8;
/// ... of which more than that nobody can see, ...
const MOST: usize = 4000;
/// ... unless the rate goes up and down many times: fewer would show waves that are not there.
const MOST_PERIODIC: usize = 20_000;
const PER_PERIOD: f64 = 16.0;
/// With fewer places in a period another wave is seen.
const FEWEST_PER_PERIOD: f64 = 4.0;

/// How many places a line is given, and how many it would need not to show waves that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSampling {
    /// Places it is given.
    pub points: usize,
    /// Places that its shortest period asks for; 0 without one.
    pub needed: usize,
}

impl LineSampling {
    /// Of a posterior on a line.
    pub fn of(posterior: &Posterior) -> Self {
        // Fine enough for the shortest wave that the inducing points or the lattice can carry, ...
        let unknowns = posterior.inducing().map_or_else(|| posterior.lattice().map_or(0, |l| l.nodes[0]), |z| z.len());
        let usual = USUAL.max(PER_UNKNOWN * unknowns).min(MOST);
        // ... and for what repeats itself.
        let length: f64 = posterior.window().stretches().iter().map(|(lo, hi)| hi - lo).sum();
        let needed = shortest_period(posterior, 0).map_or(0.0, |period| (PER_PERIOD * length / period).ceil());
        let needed = needed.min(1e15) as usize;
        Self { points: usual.max(needed.min(MOST_PERIODIC)), needed }
    }

    /// A warning if the line of a posterior cannot be sampled as finely as its period asks for.
    pub fn warning(posterior: &Posterior) -> Option<String> {
        if posterior.window().dims() != 1 {
            return None;
        }
        let Self { points, needed } = Self::of(posterior);
        (needed > points).then(|| {
            format!(
                "the curve has {points} points, too few for its period (it needs {needed}): what looks like slow waves may be none; fit a shorter window, or \
                 ask predict for a part"
            )
        })
    }
}

/// The shortest period of the kernels of a posterior on an axis.
pub fn shortest_period(posterior: &Posterior, axis: usize) -> Option<f64> {
    let components = (0..posterior.weights().len()).filter_map(|number| posterior.component(number));
    let kernels = components.filter_map(|component| component.kernel());
    let parts = kernels.flat_map(|kernel| kernel.terms.into_iter().flat_map(|term| term.parts));
    let period = |part: Part| {
        let number = part.factor.parameters().iter().position(|parameter| parameter.name == "period")?;
        part.parameters.get(number).copied().filter(|period| part.axis == axis && *period > 0.0)
    };
    parts.filter_map(period).min_by(f64::total_cmp)
}

/// A warning if places so far apart on an axis make what repeats itself look slower than it is.
pub fn too_far_apart(posterior: &Posterior, axis: usize, step: f64) -> Option<String> {
    let period = shortest_period(posterior, axis)?;
    let own = &posterior.window().axes()[axis];
    let unit = own.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    // A whole number of places in a period may be a rounding short of it.
    (step * FEWEST_PER_PERIOD > period * (1.0 + 1e-9)).then(|| {
        format!(
            "on `{}` what is shown lies {}{unit} apart, and the rate repeats itself after {}{unit}: what looks like a slow change may be none",
            own.name,
            brief(step),
            brief(period)
        )
    })
}

/// How far apart so many places lie that are spread evenly over an axis, each in the middle of its part.
pub fn step(window: &Window, axis: usize, count: usize) -> f64 {
    window.bounding_box()[axis].length() / count.max(1) as f64
}

/// About `count` places along the stretches, by their lengths, both ends of each among them.
pub fn along(stretches: &[(f64, f64)], count: usize) -> Vec<Vec<f64>> {
    let total: f64 = stretches.iter().map(|(lo, hi)| hi - lo).sum();
    let places = |&(lo, hi): &(f64, f64)| {
        let count = ((count as f64 * (hi - lo) / total).round() as usize).max(2);
        Points::grid(&[lo], &[hi], &[count]).coordinates().to_vec()
    };
    stretches.iter().map(places).collect()
}
