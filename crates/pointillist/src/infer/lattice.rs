//! The fit on a lattice: from the model's words to `lattice/learn.rs`, and back to the user's units.

use super::{Fit, Model, Progress, Report, Watch, warnings};
use crate::bound::Bound;
use crate::error::Result;
use crate::events::Events;
use crate::lattice::Smoothness;
use crate::lattice::learn::{Learned, Wanted, learn};
use crate::points::Points;
use crate::posterior::{LatticeField, Posterior, PosteriorBasis};
use crate::window::Scaling;

impl Model {
    /// The fit with one smoothness; `rival` is the bound of another basis.
    pub(super) fn fit_lattice(
        &self,
        smoothness: Smoothness,
        events: &Events,
        rival: Option<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<Fit> {
        let scaling = Scaling::of(events.window());
        let (points, window) = (scaling.points_inward(events.points()), events.window().scaled(&scaling));
        let log_units = scaling.log_units(events.window(), events.points());
        let wanted = Wanted {
            nodes: self.lattice.nodes.clone(),
            smoothness,
            most_bytes: self.lattice.most_bytes,
            gain: self.gain,
            most_evaluations: self.most_evaluations,
            sign: self.sign(),
            exact: self.lattice.exact,
            rival: rival.map(|bound| bound + log_units),
        };
        let mut tell = |evaluations: usize, bound: f64, size: usize| {
            watch(&Progress { evaluations, bound: bound - log_units, size })
        };
        let learned = learn(&points, &window, &wanted, &mut tell)?;
        let report = report(&learned, &points, events, log_units)?;
        let field = LatticeField::new(learned.lattice, learned.theta, learned.optimum);
        let posterior = Posterior::new(events.window().clone(), scaling, PosteriorBasis::Lattice(field));
        Ok(Fit { posterior, report })
    }
}

fn report(learned: &Learned, points: &Points, events: &Events, log_units: f64) -> Result<Report> {
    let mut all = warnings(events, &[], 0.0);
    all.extend(learned.warnings.iter().cloned());
    Ok(Report {
        bound: parts(learned, points, log_units)?,
        log_prior: 0.0,
        stop: learned.stop,
        iterations: learned.iterations,
        evaluations: learned.evaluations,
        seconds: 0.0,
        tried: vec![],
        inducing: vec![],
        choice: learned.choice.clone(),
        summarised: learned.summary.map(|summary| (summary.nodes, summary.error)),
        unexplained: 0.0,
        integral_error: None,
        jitter: 0.0,
        starts: learned.starts.clone(),
        warnings: all,
    })
}

/// The bound in its parts.
fn parts(learned: &Learned, points: &Points, log_units: f64) -> Result<Bound> {
    let (optimum, mass) = (&learned.optimum, learned.lattice.mass());
    let log_rate: f64 = optimum.expected_logs(&learned.lattice.grid().at(points)?).iter().sum();
    let integral_of_mean_square = mass.integral_of_square(optimum.offset, &optimum.mean);
    let integral_of_variance = optimum.integral(mass) - integral_of_mean_square;
    let kl = log_rate - integral_of_mean_square - integral_of_variance - optimum.bound;
    Ok(Bound { log_rate: log_rate - log_units, integral_of_mean_square, integral_of_variance, kl })
}
