//! Which families are tried, and which of them is taken: the one with the highest bound. Inducing points are taken where a
//! lattice is not higher by more than its own error.
//!
//! The bound of every family is a lower bound on the same log p(events), so that bounds can be compared. Whoever asks for what
//! only inducing points have, such as a kernel, gets no other family.

use super::{Fit, Inducing, Method, Model, Watch};
use crate::data::seen::Data;
use crate::error::{Error, Result};
use crate::field::inducing::PriorMean;
use crate::field::lattice::Smoothness;
use crate::posterior::Posterior;

/// Beyond so many events inducing points cost more than a lattice and give less.
const MOST_EVENTS_FOR_INDUCING: usize = 20_000;
/// Inducing points are not tried where the range found on a lattice asks for more of them than this, one per length-scale: their
/// `auto` stops at a quarter of that.
const MOST_INDUCING: f64 = 2_400.0;
/// A lattice is tried unasked up to so many axes.
const MOST_AXES: usize = 2;

/// What f is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Whatever has the higher bound; inducing points unless a lattice is higher by more than [`Decision::TIE`].
    #[default]
    Auto,
    /// Inducing points, as in the paper.
    Inducing,
    /// A lattice of hats.
    Lattice,
}

/// The lattice asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct LatticeChoice {
    /// Nodes on each axis, margin included; refined until nothing is gained if none are asked for.
    pub nodes: Option<Vec<usize>>,
    /// How smooth f is; what has the higher bound if nothing is asked for.
    pub smoothness: Option<Smoothness>,
    /// Most memory, in bytes.
    pub most_bytes: usize,
}

impl Default for LatticeChoice {
    fn default() -> Self {
        Self { nodes: None, smoothness: None, most_bytes: 4_000_000_000 }
    }
}

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
    Lattice(Smoothness),
}

impl Trial {
    fn name(self, model: &Model) -> String {
        match self {
            Trial::Inducing if model.kernel.is_none() => "se on inducing points".into(),
            Trial::Inducing => "inducing points".into(),
            Trial::Lattice(smoothness) => format!("lattice, smoothness {}", smoothness.alpha()),
        }
    }
}

impl Model {
    /// Fits every family that is to be tried, and keeps the best.
    pub(super) fn fit_families(
        &self,
        data: Data<'_>,
        before: Option<&Posterior>,
        watch: &mut Watch<'_>,
    ) -> Result<Fit> {
        let mut tried = Vec::new();
        let mut best: Option<Fit> = None;
        let mut first_error = None;
        for trial in self.trials(data)? {
            let name = trial.name(self);
            if let Some(why) = self.in_vain(trial, data, best.as_ref()) {
                tried.push(Tried { name, outcome: Err(why) });
                continue;
            }
            let fit = match trial {
                Trial::Inducing => self.fit_inducing(data, before, watch),
                Trial::Lattice(smoothness) => {
                    let rival = best.as_ref().map(|best| best.report.bound.total());
                    self.fit_lattice(smoothness, data, before, rival, watch)
                }
            };
            match fit {
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
        best.report.tried = tried;
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

    /// Whether nothing is asked for that only one family has.
    fn is_open(&self) -> bool {
        let is_plain = self.priors.is_empty() && self.fixed.is_empty();
        self.family == Family::Auto && is_plain && !self.asks_for_inducing() && !self.asks_for_lattice()
    }

    fn asks_for_inducing(&self) -> bool {
        self.kernel.is_some()
            || self.inducing != Inducing::Auto
            || self.optimise_inducing
            || self.method != Method::default()
            || self.prior_mean == PriorMean::Paper
    }

    fn asks_for_lattice(&self) -> bool {
        self.lattice.nodes.is_some()
            || self.lattice.smoothness.is_some()
            || self.prior_mean == PriorMean::Integrated
    }

    fn trials(&self, data: Data<'_>) -> Result<Vec<Trial>> {
        let smoothness = match self.lattice.smoothness {
            Some(one) => vec![one],
            None => vec![Smoothness::Two, Smoothness::Four],
        };
        let lattices = smoothness.into_iter().map(Trial::Lattice);
        let wants_lattice = self.family == Family::Lattice || (self.family == Family::Auto && self.asks_for_lattice());
        if wants_lattice && self.asks_for_inducing() {
            let requirement = "has no kernel, inducing points, joint method or the paper's prior mean; leave these out, or take inducing points";
            return Err(Error::setting("basis", "lattice", requirement));
        }
        if self.family == Family::Inducing && self.asks_for_lattice() {
            return Err(Error::setting(
                "basis",
                "inducing",
                "has no nodes, no smoothness and no integrated constant; take a lattice for these",
            ));
        }
        if wants_lattice {
            return Ok(lattices.collect());
        }
        if !self.is_open() || data.window().dims() > MOST_AXES {
            return Ok(vec![Trial::Inducing]);
        }
        Ok(lattices.chain([Trial::Inducing]).collect())
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
