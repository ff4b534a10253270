//! Kernel smoothing, the paper's baseline: a Gaussian on every event, of the bandwidth that predicts each event best from the others.
//!
//! ```text
//! λ(x) = Σ_n K_h(x − x_n) / c_n,   K_h a Gaussian with standard deviations h on the axes
//! ```
//!
//! With edge correction c_n is the mass of the n-th Gaussian inside the window T, each part counted as often as it was looked at: then
//! ∫_T λ (so counted) is the number N of events. Without, c_n is how often the place of the n-th event was looked at, and ∫_T λ < N.
//!
//! The bandwidth maximises the leave-one-out log-likelihood, in the scale of the rate (the paper's criterion plus a constant):
//!
//! ```text
//! loo(h) = Σ_n log[ N/(N−1) Σ_{m≠n} K_h(x_n − x_m) / c_m ] − N
//! ```
//!
//! The factor N/(N−1) makes up for the event left out, so that all rates have the integral N: it is the density estimate from the others
//! times N. It does not depend on h, nor does the N at the end: with edge correction that is ∫_T λ, without it is the integral over all
//! space, because a smoother without edge correction knows of no window when its bandwidth is chosen. (In [`KernelSmoother::log_likelihood`]
//! it is the integral over the window of the held-out events in both cases.)
//!
//! Not: exposures, adaptive or correlated bandwidths, uncertainty. Cost: about 50 evaluations of loo, each two sums of `gauss_sum.rs`
//! (relative error 1e-9; all pairs up to 2000 events) and the masses of `mass.rs`.

use super::gauss_sum::{Cloud, Job, sums};
use super::mass::Masses;
use pointillist::Events;
use pointillist::Points;
use pointillist::Window;
use pointillist::internals::{self, Climb, Scaling};
use pointillist::watch::PartWatch;
use pointillist::{Error, Result};
use std::f64::consts::{LN_2, PI};
use std::ops::ControlFlow;

/// Bounds of a fitted bandwidth, in sides of the window.
const BOUNDS: (f64, f64) = (1e-4, 10.0);
/// Bounds of a given one: beyond, coordinates in bandwidths have no digits left.
const GIVEN: (f64, f64) = (1e-9, 1e9);
/// Powers of two of the common bandwidths that are tried first, the widest to the narrowest.
const SCAN: std::ops::RangeInclusive<i32> = -3..=13;
/// Most of them from which the climb starts.
const STARTS: usize = 3;
/// The climb ends when a step gains less (in nats), or after this many evaluations.
const GAIN: f64 = 1e-8;
const EVALUATIONS: usize = 100;
/// Which part of the work the scan is, about, and how many evaluations a climb usually has.
const SCANNED: f64 = 0.3;
const USUAL_CLIMB: f64 = 10.0;
/// Sums below this have no inverse to make a gradient of.
const LEAST_SUM: f64 = 1e-280;

/// Whether the part of an event's Gaussian that falls outside of the window is made up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum EdgeCorrection {
    /// Each Gaussian is cut off at the border and scaled to have mass one inside (KS+EC of the paper).
    #[default]
    Truncate,
    /// Gaussians as they are (KS−EC).
    None,
}

/// A smoothed set of events.
#[derive(Debug, Clone)]
pub struct KernelSmoother {
    /// What to know about the bandwidth: where it came to lie at a bound, and why.
    pub warnings: Vec<String>,
    user_window: Window,
    scaling: Scaling,
    events: Inner,
    bandwidth: Vec<f64>,
    /// In the coordinates of the unit box.
    inner_bandwidth: Vec<f64>,
    /// 1/c_n.
    weights: Vec<f64>,
    loo: f64,
}

impl KernelSmoother {
    /// Smooths events with the bandwidths of the largest leave-one-out log-likelihood, between 1e-4 and 10 sides of the window's box.
    pub fn fit(events: &Events, edges: EdgeCorrection) -> Result<Self> {
        Self::fit_watched(events, edges, &|_| ControlFlow::Continue(()))
    }

    /// [`KernelSmoother::fit`], telling `watch` about which part of the work is done.
    pub fn fit_watched(events: &Events, edges: EdgeCorrection, watch: &PartWatch<'_>) -> Result<Self> {
        let (scaling, inner) = Inner::new(events, edges)?;
        if events.len() < 2 {
            return Err(Error::setting(
                "events",
                1,
                "a bandwidth is chosen by leaving one event out: needs two or more",
            ));
        }
        let bandwidth = inner.best_bandwidth(watch)?;
        let mut smoother = Self::assembled(events, scaling, inner, bandwidth);
        smoother.warnings = smoother.bounds_met();
        Ok(smoother)
    }

    /// Smooths events with given bandwidths, one per axis, in the units of the window.
    pub fn with_bandwidth(events: &Events, edges: EdgeCorrection, bandwidth: &[f64]) -> Result<Self> {
        let (scaling, inner) = Inner::new(events, edges)?;
        let bandwidth = inner_bandwidth(&scaling, events.window().dims(), bandwidth)?;
        Ok(Self::assembled(events, scaling, inner, bandwidth))
    }

    fn assembled(events: &Events, scaling: Scaling, inner: Inner, bandwidth: Vec<f64>) -> Self {
        let loo = inner.loo(&bandwidth, None).unwrap_or(f64::NEG_INFINITY) - inner.log_units(&scaling);
        Self {
            warnings: vec![],
            user_window: events.window().clone(),
            bandwidth: bandwidth.iter().enumerate().map(|(r, h)| h * scaling.scale(r)).collect(),
            weights: inner.weights(&bandwidth).0,
            inner_bandwidth: bandwidth,
            events: inner,
            scaling,
            loo,
        }
    }

    /// The standard deviations of the Gaussians, one per axis, in the units of the window.
    pub fn bandwidth(&self) -> &[f64] {
        &self.bandwidth
    }

    /// The leave-one-out log-likelihood at the bandwidth (the module says which); −∞ if an event lies beyond all others' Gaussians.
    pub fn loo(&self) -> f64 {
        self.loo
    }

    /// The leave-one-out log-likelihood at other bandwidths, and its gradient by their logarithms. Where a sum is so small that its
    /// inverse overflows, the gradient is NaN.
    pub fn loo_at(&self, bandwidth: &[f64]) -> Result<(f64, Vec<f64>)> {
        let inner = inner_bandwidth(&self.scaling, self.user_window.dims(), bandwidth)?;
        let mut gradient = vec![0.0; inner.len()];
        let value = match self.events.loo(&inner, Some(&mut gradient)) {
            Some(value) => value,
            None => {
                gradient.fill(f64::NAN);
                self.events.loo(&inner, None).unwrap_or(f64::NEG_INFINITY)
            }
        };
        Ok((value - self.events.log_units(&self.scaling), gradient))
    }

    /// What is done at the border.
    pub fn edge_correction(&self) -> EdgeCorrection {
        self.events.edges
    }

    /// The window of the events.
    pub fn window(&self) -> &Window {
        &self.user_window
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Never: there is no smoothing nothing.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The rate at points, of one repeat. Outside of the window it is 0 with edge correction.
    pub fn rate(&self, points: &Points) -> Result<Vec<f64>> {
        self.check_dims("points", points.dims())?;
        let targets = Cloud::new(&self.scaling.points_inward(points), &self.inner_bandwidth);
        let sources = Cloud::new(&self.events.points, &self.inner_bandwidth);
        let job =
            Job { targets: &targets, sources: &sources, weights: &self.weights, leave_out: false, squares: false };
        let scale = (-log_normaliser(&self.inner_bandwidth)).exp() / self.scaling.volume();
        let seen = |row: &[f64]| self.events.edges == EdgeCorrection::None || self.user_window.contains(row);
        let rate = |(sum, row): (f64, &[f64])| if seen(row) { scale * sum } else { 0.0 };
        Ok(sums(job).values().into_iter().zip(points.rows()).map(rate).collect())
    }

    /// The expected number of events in that part of a region that lies inside the window: of one repeat, unless the region says
    /// otherwise.
    pub fn expected(&self, region: &Window) -> Result<f64> {
        self.check_dims("region", region.dims())?;
        let Some(inside) = self.user_window.intersection(region) else {
            let ends = |window: &Window| {
                window.bounding_box().iter().map(|s| format!("{},{}", s.lo, s.hi)).collect::<Vec<_>>().join(",")
            };
            let requirement = format!("lies outside the window {}", ends(&self.user_window));
            return Err(Error::setting("region", ends(region), requirement));
        };
        let masses =
            Masses::new(&internals::scaled(&inside, &self.scaling), &self.events.points, &self.inner_bandwidth);
        Ok(masses.rows().zip(&self.weights).map(|(row, w)| w * row[0]).sum())
    }

    /// log p(H|λ) = Σ log λ(x_k) − ∫_H λ of held-out events, whose window lies inside that of the fit and says how often they were looked
    /// for; −∞ if one of them lies so far from all events that λ is 0 in double precision.
    pub fn log_likelihood(&self, held_out: &Events) -> Result<f64> {
        internals::check_covers(&self.user_window, held_out.window())?;
        refuse_exposure(held_out.window())?;
        let logs: f64 = self.rate(held_out.points())?.iter().map(|rate| rate.ln()).sum();
        Ok(logs - self.expected(held_out.window())?)
    }

    fn check_dims(&self, what: &'static str, found: usize) -> Result<()> {
        let expected = self.user_window.dims();
        if found == expected { Ok(()) } else { Err(Error::Dimension { what, expected, found }) }
    }

    /// A sentence for every axis on which the bandwidth stands at a bound.
    fn bounds_met(&self) -> Vec<String> {
        let axes = self.user_window.axes();
        let twins = self.events.has_only_twins();
        let sentence = |r: usize| {
            let name = if axes[r].name.is_empty() { format!("axis {r}") } else { axes[r].name.clone() };
            let (h, shown) = (self.inner_bandwidth[r], self.bandwidth[r]);
            let reason = if h <= BOUNDS.0 * 1.000_001 {
                let why = if twins { "every event has a twin at the same place" } else { "events share coordinates" };
                format!("the narrower the better, because {why}")
            } else if h >= BOUNDS.1 * 0.999_999 {
                "the wider the better: the events show no structure".into()
            } else {
                return None;
            };
            Some(format!("bandwidth of {name}: {reason}; it stands at its bound, {shown}"))
        };
        (0..axes.len()).filter_map(sentence).collect()
    }
}

/// Bandwidths in the unit box, once they are found to make sense.
fn inner_bandwidth(scaling: &Scaling, dims: usize, bandwidth: &[f64]) -> Result<Vec<f64>> {
    if bandwidth.len() != dims {
        return Err(Error::Dimension { what: "bandwidth", expected: dims, found: bandwidth.len() });
    }
    let inner: Vec<f64> = bandwidth.iter().enumerate().map(|(r, h)| h / scaling.scale(r)).collect();
    match inner.iter().position(|h| !(GIVEN.0..=GIVEN.1).contains(h)) {
        Some(r) => {
            let requirement = format!("must lie between {:e} and {:e} of the window's side", GIVEN.0, GIVEN.1);
            Err(Error::setting("bandwidth", bandwidth[r], requirement))
        }
        None => Ok(inner),
    }
}

/// log of (2π)^{d/2} Π h.
fn log_normaliser(bandwidth: &[f64]) -> f64 {
    bandwidth.iter().map(|h| h.ln() + 0.5 * (2.0 * PI).ln()).sum()
}

fn refuse_exposure(window: &Window) -> Result<()> {
    match window.exposure() {
        Some(_) => Err(Error::setting("exposure", "given", "kernel smoothing knows no exposure")),
        None => Ok(()),
    }
}

/// The events in the coordinates of the unit box.
#[derive(Debug, Clone)]
struct Inner {
    window: Window,
    /// Sorted along the first axis: neighbours in the list are neighbours in memory and nearly so in space.
    points: Points,
    /// How often the place of each event was looked at.
    repeats: Vec<f64>,
    edges: EdgeCorrection,
}

impl Inner {
    fn new(events: &Events, edges: EdgeCorrection) -> Result<(Scaling, Self)> {
        let window = events.window();
        refuse_exposure(window)?;
        if events.is_empty() {
            return Err(Error::NoEvents);
        }
        let scaling = Scaling::of(window);
        let mut rows: Vec<&[f64]> = events.points().rows().collect();
        rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let sorted = Points::of_rows(window.dims(), rows.concat());
        let repeats = sorted.rows().map(|row| window.coverage(row)).collect();
        let points = scaling.points_inward(&sorted);
        Ok((scaling.clone(), Self { window: internals::scaled(window, &scaling), points, repeats, edges }))
    }

    /// What a change of units adds to a log-likelihood of all events, to be taken away.
    fn log_units(&self, scaling: &Scaling) -> f64 {
        self.points.len() as f64 * scaling.volume().ln()
    }

    /// 1/c_n, and with edge correction the derivatives of log c_n by the log-bandwidths. // (N), (N, R)
    fn weights(&self, bandwidth: &[f64]) -> (Vec<f64>, Option<Vec<f64>>) {
        match self.edges {
            EdgeCorrection::None => (self.repeats.iter().map(|r| 1.0 / r).collect(), None),
            EdgeCorrection::Truncate => {
                let masses = Masses::new(&self.window, &self.points, bandwidth);
                let slopes = masses.rows().flat_map(|row| row[1..].iter().map(|slope| slope / row[0])).collect();
                (masses.rows().map(|row| 1.0 / row[0]).collect(), Some(slopes))
            }
        }
    }

    /// The leave-one-out log-likelihood, and its gradient by the log-bandwidths; `None` if there is no such gradient.
    fn loo(&self, bandwidth: &[f64], gradient: Option<&mut [f64]>) -> Option<f64> {
        let count = self.points.len() as f64;
        if count < 2.0 {
            return None;
        }
        let (weights, slopes) = self.weights(bandwidth);
        let cloud = Cloud::new(&self.points, bandwidth);
        let leave_out =
            |weights, squares| sums(Job { targets: &cloud, sources: &cloud, weights, leave_out: true, squares });
        let found = leave_out(&weights, gradient.is_some());
        let logs: f64 = found.rows().map(|row| row[0].ln()).sum();
        let value = logs + count * ((count / (count - 1.0)).ln() - log_normaliser(bandwidth) - 1.0);
        let Some(gradient) = gradient else { return Some(value) };
        if found.rows().any(|row| row[0] < LEAST_SUM) {
            return None;
        }
        for (r, g) in gradient.iter_mut().enumerate() {
            *g = found.rows().map(|row| row[1 + r] / row[0]).sum::<f64>() - count;
        }
        if let Some(slopes) = slopes.filter(|slopes| slopes.iter().any(|s| *s != 0.0)) {
            let inverse: Vec<f64> = found.rows().map(|row| 1.0 / row[0]).collect();
            let shares = leave_out(&inverse, false);
            let terms = slopes.chunks_exact(gradient.len()).zip(shares.rows()).zip(&weights);
            for ((slopes, share), weight) in terms {
                gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g -= weight * share[0] * slope);
            }
        }
        Some(value)
    }

    /// Scans common bandwidths, then climbs from the best of them.
    fn best_bandwidth(&self, watch: &PartWatch<'_>) -> Result<Vec<f64>> {
        let dims = self.points.dims();
        let mut best: Option<(f64, Vec<f64>)> = None;
        let starts = self.starts(&|done| watch(SCANNED * done))?;
        for (number, start) in starts.iter().copied().enumerate() {
            let mut evaluations = 0.0;
            let bounds = vec![(BOUNDS.0.ln(), BOUNDS.1.ln()); dims];
            let climb = Climb { gain: GAIN, most_evaluations: EVALUATIONS, first_step: 0.3 };
            let evaluate = |x: &[f64], gradient: &mut [f64]| {
                // How many there will be nobody knows, but it gets nearer to the end.
                let climbed = (number as f64 + evaluations / (evaluations + USUAL_CLIMB)) / starts.len() as f64;
                evaluations += 1.0;
                go_on(watch(SCANNED + (1.0 - SCANNED) * climbed))?;
                Ok(self.loo(&exp(x), Some(gradient)))
            };
            let Some((top, x)) = internals::maximise(vec![start; dims], &bounds, climb, evaluate)? else { continue };
            if best.as_ref().is_none_or(|(value, _)| top > *value) {
                best = Some((top, exp(&x)));
            }
        }
        // Without any start that has a gradient: two events further apart than the widest Gaussian reaches.
        Ok(best.map_or(vec![BOUNDS.1; dims], |(_, bandwidth)| bandwidth))
    }

    /// The logarithms of common bandwidths that are better than those before and after, the best first.
    fn starts(&self, watch: &PartWatch<'_>) -> Result<Vec<f64>> {
        let mut scan: Vec<(f64, f64)> = vec![];
        for power in SCAN {
            go_on(watch(f64::from(power - SCAN.start()) / f64::from(SCAN.end() - SCAN.start() + 1)))?;
            let log_bandwidth = -f64::from(power) * LN_2;
            let value = self.loo(&vec![log_bandwidth.exp(); self.points.dims()], None).unwrap_or(f64::NEG_INFINITY);
            if value == f64::NEG_INFINITY {
                break; // and so it is for all that are narrower
            }
            scan.push((value, log_bandwidth));
        }
        let at = |i: Option<usize>| i.and_then(|i| scan.get(i)).map_or(f64::NEG_INFINITY, |s: &(f64, f64)| s.0);
        let is_peak = |i: &usize| at(Some(*i)) > at(i.checked_sub(1)) && at(Some(*i)) >= at(Some(i + 1));
        let mut peaks: Vec<(f64, f64)> = (0..scan.len()).filter(is_peak).map(|i| scan[i]).collect();
        peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
        peaks.truncate(STARTS);
        Ok(peaks.into_iter().map(|(_, start)| start).collect())
    }

    /// Whether there is no event without another one at the same place.
    fn has_only_twins(&self) -> bool {
        let mut rows: Vec<&[f64]> = self.points.rows().collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        rows.chunk_by(|a, b| a == b).all(|same| same.len() > 1)
    }
}

fn go_on(said: ControlFlow<()>) -> Result<()> {
    if said.is_break() { Err(Error::Cancelled) } else { Ok(()) }
}

fn exp(logs: &[f64]) -> Vec<f64> {
    logs.iter().map(|x| x.exp()).collect()
}
