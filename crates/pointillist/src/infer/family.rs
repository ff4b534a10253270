//! Which bases are tried, and which of them is taken: the one with the higher bound, inducing points where a lattice is not higher by more
//! than its own error.
//!
//! The bound of every family is a lower bound on the same log p(events), so that bounds can be compared. Where a kernel, inducing points or
//! a value or a prior of a hyper-parameter is asked for, they are the only family.

use super::{Asked, AskedKind, Fit, FitWatch};
use crate::data::seen::Data;
use crate::error::{Error, Result};
use crate::field::lattice::Smoothness;
use crate::posterior::Posterior;
use crate::terms::Link;

/// Beyond so many events inducing points cost more than a lattice and give less.
const MOST_EVENTS_FOR_INDUCING: usize = 20_000;
/// Inducing points are not tried where the range found on a lattice asks for more of them than this, one a length-scale: their
/// `auto` stops at a quarter of that.
const MOST_INDUCING: f64 = 2_400.0;
/// A component of an average that counts for less than this part of the heaviest is left out.
const UNHEARD: f64 = 1e-2;
/// A lattice is tried unasked up to so many axes.
const MOST_AXES: usize = 2;

/// One family that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// Its bound, or why it has none.
    pub outcome: std::result::Result<f64, String>,
}

/// Why one of several families was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// It has the highest bound.
    HighestBound,
    /// A lattice has a bound that is higher, but by no more than [`Decision::TIE`]: then inducing points are taken.
    Tie {
        /// By how many nats.
        lower_by: f64,
    },
}

impl Decision {
    /// A lattice must be better than inducing points by so many nats: less is its own error.
    pub const TIE: f64 = 0.1;

    /// Of the bound that was taken, among those that were found; nothing where there was no choice.
    fn of(taken: f64, tried: &[Tried]) -> Option<Self> {
        let bounds: Vec<f64> = tried.iter().filter_map(|tried| tried.outcome.as_ref().ok().copied()).collect();
        let highest = bounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match bounds.len() {
            0 | 1 => None,
            _ if taken < highest => Some(Decision::Tie { lower_by: highest - taken }),
            _ => Some(Decision::HighestBound),
        }
    }

    /// One word for files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::HighestBound => "highest_bound",
            Decision::Tie { .. } => "tie",
        }
    }
}

/// What can be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trial {
    Inducing,
    Lattice(Smoothness, Link),
}

impl Trial {
    fn name(self, model: &Asked) -> String {
        match self {
            Trial::Inducing if model.kernel.is_none() => "se on inducing points".into(),
            Trial::Inducing => "inducing points".into(),
            Trial::Lattice(smoothness, Link::Square) => format!("lattice, smoothness {}", smoothness.alpha()),
            Trial::Lattice(smoothness, link) => format!("{link} link on a lattice, smoothness {}", smoothness.alpha()),
        }
    }
}

impl Asked {
    /// Fits every family that is to be tried, and keeps the best.
    pub(super) fn fit_families(
        &self,
        data: Data<'_>,
        before: Option<&Posterior>,
        watch: &mut FitWatch<'_>,
    ) -> Result<Fit> {
        let mut tried = Vec::new();
        let mut best: Option<Fit> = None;
        let (mut parts, mut heaviest) = (Vec::new(), f64::NEG_INFINITY);
        let mut first_error = None;
        for trial in self.trials(data) {
            let name = trial.name(self);
            if let Some(why) = self.in_vain(trial, data, best.as_ref()) {
                tried.push(Tried { name, outcome: Err(why) });
                continue;
            }
            let fit = match trial {
                Trial::Inducing => self.fit_inducing(data, before, watch),
                Trial::Lattice(smoothness, link) => {
                    // Another link may gain far more by refinement.
                    let is_rival = |best: &&Fit| !self.average && best.posterior.link() == link;
                    let rival = best.as_ref().filter(is_rival).map(|best| best.report.bound.total());
                    self.fit_lattice((smoothness, link), data, before, rival, watch)
                }
            };
            match fit {
                Ok(fit) if self.average => {
                    let evidence = fit.report.log_evidence.unwrap_or(f64::NEG_INFINITY);
                    tried.push(Tried { name, outcome: Ok(evidence) });
                    // What is said of one Θ is that of the heaviest component of all.
                    let weight = evidence + fit.posterior.weights()[0].ln();
                    parts.push((evidence, fit.posterior.clone()));
                    if weight > heaviest {
                        (best, heaviest) = (Some(fit), weight);
                    }
                }
                Ok(fit) => {
                    let bound = fit.report.bound.total();
                    tried.push(Tried { name, outcome: Ok(bound) });
                    let ahead = if trial == Trial::Inducing { Decision::TIE } else { 0.0 };
                    if best.as_ref().is_none_or(|best| bound + ahead > best.report.bound.total()) {
                        best = Some(fit);
                    }
                }
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => {
                    tried.push(Tried { name, outcome: Err(error.to_string()) });
                    first_error.get_or_insert(error);
                }
            }
        }
        let mut best = best.ok_or(first_error.unwrap_or(Error::NoEvents))?;
        best.report.decision = Decision::of(best.report.bound.total(), &tried);
        if self.average {
            best.report.decision = None;
            best.posterior = Posterior::average(parts)?.without_lighter_than(UNHEARD);
        }
        best.report.tried = tried;
        if self.errors && best.report.standard_errors.is_none() {
            let why = "there are no standard errors: the bound has no maximum in all hyper-parameters, as at the end of a range, or the scheme is the joint one";
            best.report.warnings.push(why.into());
        }
        Ok(best)
    }

    /// Why a trial cannot win against the best so far, if it cannot.
    fn in_vain(&self, trial: Trial, data: Data<'_>, best: Option<&Fit>) -> Option<String> {
        let lattice = best?.posterior.lattice()?;
        if trial != Trial::Inducing {
            return None;
        }
        // Without a tensor grid every step looks at every node, of which there are few on a line alone.
        let dims = data.window().dims();
        let is_cheap = dims == 1 || self.goes_by_axis(&self.expression(dims), data.window());
        if data.len() > MOST_EVENTS_FOR_INDUCING && !is_cheap {
            return Some(format!("not tried, there are more than {MOST_EVENTS_FOR_INDUCING} events"));
        }
        let sides = data.window().bounding_box().into_iter().map(|span| span.length());
        let needed: f64 =
            sides.zip(&lattice.lengthscales).map(|(side, lengthscale)| 1.0 + side / lengthscale).product();
        (needed > MOST_INDUCING).then(|| format!("not tried, so short a range needs some {needed:.0} of them"))
    }

    fn trials(&self, data: Data<'_>) -> Vec<Trial> {
        let smoothness = match self.lattice.smoothness {
            Some(one) => vec![one],
            None if self.average && data.window().dims() == 1 => {
                vec![Smoothness::One, Smoothness::Two, Smoothness::Four]
            }
            None => vec![Smoothness::Two, Smoothness::Four],
        };
        let of_link = |link: &Link| smoothness.iter().map(|smoothness| Trial::Lattice(*smoothness, *link)).collect();
        let mut lattices: Vec<Trial> = self.lattice.links.iter().flat_map::<Vec<_>, _>(of_link).collect();
        // Names of hyper-parameters are those of kernels; a lattice that is to have them is asked for.
        let is_plain = self.priors.is_empty() && self.fixed.is_empty();
        match self.kind {
            AskedKind::Lattice => lattices,
            AskedKind::Auto if is_plain && data.window().dims() <= MOST_AXES => {
                lattices.push(Trial::Inducing);
                lattices
            }
            _ => vec![Trial::Inducing],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_that_decided_is_known() {
        let tried = |bounds: &[f64]| -> Vec<Tried> {
            bounds.iter().map(|bound| Tried { name: String::new(), outcome: Ok(*bound) }).collect()
        };
        assert_eq!(Decision::of(-5.0, &tried(&[-5.0])), None);
        assert_eq!(Decision::of(-5.0, &tried(&[-7.0, -6.0, -5.0])), Some(Decision::HighestBound));
        assert_eq!(Decision::of(-5.0, &tried(&[-7.0, -4.9375, -5.0])), Some(Decision::Tie { lower_by: 0.0625 }));
        let failed = Tried { name: String::new(), outcome: Err("no".into()) };
        assert_eq!(Decision::of(-5.0, &[tried(&[-5.0]), vec![failed]].concat()), None);
    }
}
