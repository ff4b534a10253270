//! The fit on a lattice: from the model's words to `lattice/learn.rs`, and back to the user's units.

use super::observed::Data;
use super::{AtBound, Fit, Model, Progress, Report, Summarised, Watch};
use crate::bound::{Bound, Marginals};
use crate::error::Result;
use crate::lattice::learn::{Before, Learned, Source, Wanted, learn};
use crate::lattice::{Smoothness, Theta};
use crate::points::Points;
use crate::posterior::{Field, LatticeField, Posterior, PosteriorBasis};
use crate::window::{Scaling, Window};

impl Model {
    /// The fit with one smoothness; `rival` is the bound of another basis.
    pub(super) fn fit_lattice(
        &self,
        smoothness: Smoothness,
        data: Data<'_>,
        before: Option<&Posterior>,
        rival: Option<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<Fit> {
        let scaling = Scaling::of(data.window());
        let (window, log_units) = (data.window().scaled(&scaling), data.log_units(&scaling));
        let wanted = Wanted {
            nodes: self.lattice.nodes.clone(),
            smoothness,
            most_bytes: self.lattice.most_bytes,
            gain: self.gain,
            most_evaluations: self.most_evaluations,
            sign: self.sign(),
            exact: self.exact,
            rival: rival.map(|bound| bound + log_units),
        };
        let mut tell = |evaluations: usize, bound: f64, size: usize| {
            watch(&Progress { evaluations, bound: bound - log_units, size })
        };
        let before = before.and_then(|before| continued(before, smoothness, data, &window));
        let learned = match data {
            Data::Events(events) => {
                let points = scaling.points_inward(events.points());
                learn(Source::Points(&points), &window, &wanted, before.as_ref(), &mut tell)?
            }
            Data::Summary(summary) => {
                let cells = summary.unit_cells(&scaling);
                learn(Source::Cells(&cells), &window, &wanted, before.as_ref(), &mut tell)?
            }
        };
        let report = report(&learned, log_units);
        let field = LatticeField::new(learned.lattice, learned.theta, learned.optimum);
        let posterior = Posterior::new(data.window().clone(), scaling, PosteriorBasis::Lattice(field));
        Ok(Fit { posterior, report })
    }
}

/// What was learned before as a start, if the lattice is of the same smoothness. f grows with the root of the number of events.
fn continued<'a>(before: &'a Posterior, smoothness: Smoothness, data: Data<'_>, window: &Window) -> Option<Before<'a>> {
    let PosteriorBasis::Lattice(field) = before.basis() else { return None };
    if field.smoothness() != smoothness {
        return None;
    }
    let times = (data.len() as f64 / field.expected(window).ok()?).sqrt();
    let own = &field.theta;
    let theta = Theta { variance: times * times * own.variance, mean: times * own.mean, ..own.clone() };
    let f = move |points: &Points| {
        let f = field.marginals(points)?;
        Ok(Marginals { mean: f.mean.iter().map(|f| times * f).collect(), variance: f.variance })
    };
    Some(Before { nodes: field.nodes(), margin: field.margin(), theta, f: Box::new(f) })
}

fn report(learned: &Learned, log_units: f64) -> Report {
    Report {
        bound: parts(learned, log_units),
        log_prior: 0.0,
        stop: learned.stop,
        iterations: learned.iterations,
        evaluations: learned.evaluations,
        seconds: 0.0,
        tried: vec![],
        decision: None,
        inducing: vec![],
        choice: learned.choice.clone(),
        summarised: learned.summary.as_ref().map(|summary| Summarised {
            nodes: summary.nodes,
            error: summary.error.abs(),
            cells: summary.cells.clone(),
        }),
        unexplained: 0.0,
        integral_error: None,
        jitter: 0.0,
        starts: learned.starts.clone(),
        warnings: learned.at_bounds.iter().map(AtBound::to_string).collect(),
        at_bounds: learned.at_bounds.clone(),
    }
}

/// The bound in its parts.
fn parts(learned: &Learned, log_units: f64) -> Bound {
    let (optimum, mass, log_rate) = (&learned.optimum, learned.lattice.mass(), learned.log_rate);
    let integral_of_mean_square = mass.integral_of_square(optimum.offset, &optimum.mean);
    let integral_of_variance = optimum.integral(mass) - integral_of_mean_square;
    let kl = log_rate - integral_of_mean_square - integral_of_variance - optimum.bound;
    Bound { log_rate: log_rate - log_units, integral_of_mean_square, integral_of_variance, kl }
}
