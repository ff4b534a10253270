//! What is looked at once a fit has its answer: how near q is to the exact posterior, and whether the events look like events drawn from it.

use super::Report;
use crate::data::points::Points;
use crate::data::seen::Data;
use crate::error::{Error, Result};
use crate::exact::{Coverage, Weighed};
use crate::posterior::{Goodness, Posterior};
use crate::watch::unwatched;

/// The heaviest components that are looked at, and the draws of q in all.
const COMPONENTS: usize = 4;
const DRAWS: usize = 300;
/// Unknowns, and events or what stands for them, beyond which the weights of draws take too long and say too little.
const MOST_UNKNOWNS: usize = 4_000;
const MOST_POINTS: usize = 100_000;
const SEED: u64 = 0;

impl Report {
    /// Looks at the answer. What cannot be looked at stays unsaid.
    pub(super) fn check(&mut self, posterior: &Posterior, data: Data<'_>) -> Result<()> {
        self.coverage = said(coverage(posterior, data))?.flatten();
        self.goodness = said(posterior.goodness_for(data))?.flatten();
        let far = self.coverage.filter(|coverage| coverage.is_far());
        self.warnings.extend(far.map(|coverage| {
            format!(
                "q is {:.0} nats from the exact posterior, whose bands may be others: compare them, or fit with the other link",
                coverage.gap
            )
        }));
        let poor = self.goodness.as_ref().filter(|goodness| goodness.p < Goodness::POOR);
        self.warnings.extend(poor.map(|goodness| goodness.warning(posterior.window().axes())));
        Ok(())
    }
}

/// A check that fails is no reason for a fit to fail.
pub(super) fn said<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        other => Ok(other.ok()),
    }
}

fn coverage(posterior: &Posterior, data: Data<'_>) -> Result<Option<Coverage>> {
    let heaviest = posterior.heaviest(COMPONENTS).apart();
    let unknowns = heaviest.components().iter().map(|component| component.field().size()).max();
    if unknowns.is_none_or(|unknowns| unknowns > MOST_UNKNOWNS) {
        return Ok(None);
    }
    let (points, weights): (Points, Vec<f64>) = match data {
        Data::Events(events) => (events.points().clone(), vec![1.0; events.len()]),
        Data::Summary(summary) if summary.len() > MOST_POINTS => return Ok(None),
        Data::Summary(summary) => summary.nodes(),
    };
    if points.len() > MOST_POINTS {
        return Ok(None);
    }
    let scaling = posterior.scaling();
    let seen = Weighed { points: scaling.points_inward(&points), weights, log_units: data.log_units(scaling) };
    Ok(Some(heaviest.coverage(&seen, DRAWS, SEED, &unwatched)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::events::Events;
    use crate::infer::Model;
    use crate::window::Window;

    /// Events of a rate that changes about so fast, shifted.
    fn events(shift: f64) -> Events {
        let times: Vec<f64> = (0..200).map(|i| ((f64::from(i) / 200.0).powi(3) + shift).fract()).collect();
        Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap()
    }

    #[test]
    fn an_answer_that_is_not_the_posterior_of_the_events_is_said_to_be_far() {
        let (own, other) = (events(0.0), events(0.5));
        let fit = Model { checked: false, ..Model::default() }.fit(&own).unwrap();
        let said = |events: &Events| {
            let mut report = fit.report.clone();
            report.check(&fit.posterior, Data::Events(events)).unwrap();
            (report.coverage.unwrap(), report.warnings.iter().any(|line| line.contains("from the exact posterior")))
        };
        let (close, warned) = said(&own);
        assert!(!close.is_far() && !warned && close.gap < 2.0, "{close:?}");
        // The bands of this answer hold next to nothing of the posterior given the other events.
        let (far, warned) = said(&other);
        assert!(far.is_far() && warned && far.gap > 20.0, "{far:?}");
    }
}
