//! What fits of several fields on one lattice share (types.rs, measured.rs): what is asked of them and refused, how often each way in which things may belong
//! together counts, and what is told of the fields.

use super::checked::said;
use super::lattice::{TOO_HIGH, too_coarse};
use super::on_lattice::learn::{bytes_of_fields, check_nodes};
use super::on_lattice::types::TypesWanted;
use super::{Asked, AskedKind, Stop, Tried};
use crate::covariates::Regressors;
use crate::data::events::Events;
use crate::error::{Error, Result};
use crate::field::lattice::Smoothness;
use crate::posterior::{Goodness, Posterior, PosteriorBasis};
use crate::settings::Vary;
use crate::terms::Link;
use crate::window::{Scaling, Window};
use std::sync::Arc;
use std::time::Instant;

/// A component of an average that counts for less than this part of the heaviest is left out.
pub(super) const UNHEARD: f64 = 1e-2;
/// A lattice has up to so many axes.
const MOST_AXES: usize = 3;
/// The smoothness unless another is asked for.
pub(super) const USUAL: Smoothness = Smoothness::Two;

/// How a fit of several fields on one lattice came about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JointReport {
    /// Each way in which things may belong together, with about its log evidence.
    pub tried: Vec<Tried>,
    /// The probability of each of them, in the same order.
    pub weights: Vec<f64>,
    /// What is known of each kind of field that counted.
    pub fields: Vec<FieldReport>,
    /// How smooth the fields are.
    pub smoothness: Smoothness,
    /// Nodes of the lattice of the heaviest component.
    pub nodes: Vec<usize>,
    /// Components of the average.
    pub components: usize,
    /// Why it stopped.
    pub stop: Stop,
    /// Evaluations of bounds.
    pub evaluations: usize,
    /// Wall time.
    pub seconds: f64,
    /// What each covariate adds to the log evidence of the most probable way, hyper-parameters learned anew without it.
    pub gains: Vec<(String, f64)>,
}

impl JointReport {
    pub(super) fn new(smoothness: Smoothness, evaluations: usize) -> Self {
        Self {
            tried: vec![],
            weights: vec![],
            fields: vec![],
            smoothness,
            nodes: vec![],
            components: 0,
            stop: Stop::Converged,
            evaluations,
            seconds: 0.0,
            gains: vec![],
        }
    }

    /// Takes note of the posterior that came of it, and of the time.
    pub(super) fn ended(&mut self, joint: &Posterior, started: Instant) {
        self.components = joint.components().len();
        if let PosteriorBasis::Layers(field) = &joint.components()[0].basis {
            self.nodes = field.nodes();
        }
        self.seconds = started.elapsed().as_secs_f64();
    }
}

/// A kind of field, averaged over the components that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldReport {
    /// `shared` or `own`, `field 1`, or `rate`.
    pub name: String,
    /// Posterior mean and standard deviation of the range along each axis, in the user's units.
    pub ranges: Vec<(f64, f64)>,
    /// The same of its standard deviation, of the logarithm of a rate, or of what was measured.
    pub sd: (f64, f64),
}

/// Whether events look like events of the rate that was learned from them, as fits of one kind of events say it; and what to know of it, in sentences.
pub(super) fn looked_at(rate: &Posterior, events: &Events, warnings: &mut Vec<String>) -> Result<Option<Goodness>> {
    let goodness = said(rate.goodness_of_fit(events.points()))?.flatten();
    let poor = goodness.as_ref().filter(|goodness| goodness.p < Goodness::POOR);
    warnings.extend(poor.map(|goodness| goodness.warning(rate.window().axes())));
    let above = said(rate.integral_error_of_layers())?.flatten();
    warnings.extend(above.filter(|above| *above > TOO_HIGH).map(too_coarse));
    Ok(goodness)
}

/// The weight of a member, with the ranges and the standard deviation of one of its groups of fields.
pub(super) type MemberOfGroup = (f64, Vec<f64>, f64);

impl FieldReport {
    /// Of members, each with its weight, ranges in the unit box and standard deviation in this unit.
    pub(super) fn of(name: String, members: &[MemberOfGroup], (scaling, unit): (&Scaling, f64)) -> Self {
        let dims = members.first().map_or(0, |(_, ranges, _)| ranges.len());
        let of_axis =
            |r: usize| moments(members.iter().map(|(weight, ranges, _)| (*weight, ranges[r] * scaling.scale(r))));
        let sd = moments(members.iter().map(|(weight, _, sd)| (*weight, unit * sd)));
        Self { name, ranges: (0..dims).map(of_axis).collect(), sd }
    }
}

/// Weighted mean and standard deviation.
pub(super) fn moments(values: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let all: Vec<(f64, f64)> = values.collect();
    let total: f64 = all.iter().map(|(weight, _)| weight).sum();
    let mean = all.iter().map(|(weight, value)| weight * value).sum::<f64>() / total;
    let square = all.iter().map(|(weight, value)| weight * (value - mean).powi(2)).sum::<f64>() / total;
    (mean, square.sqrt())
}

/// What is fitted together, in words.
pub(super) struct Things {
    /// The setting that asks for them.
    pub(super) setting: &'static str,
    /// What they are called.
    pub(super) name: &'static str,
    /// Why they need the log link.
    pub(super) of_link: &'static str,
    /// What priors tell apart.
    pub(super) told_apart: &'static str,
}

impl Asked {
    /// What is wanted of the lattice.
    pub(super) fn wanted_of_layers(&self) -> TypesWanted {
        TypesWanted {
            nodes: self.lattice.nodes.clone(),
            smoothness: self.lattice.smoothness.unwrap_or(USUAL),
            average: self.average,
            is_answer: true,
            gain: self.gain,
            regressors: None,
        }
    }

    /// What covariates add to f over a window, if there are any.
    pub(super) fn regressors_over(&self, window: &Window) -> Result<Option<Arc<Regressors>>> {
        match self.covariates.is_empty() {
            true => Ok(None),
            false => Ok(Some(Arc::new(Regressors::over(window, &self.covariates)?))),
        }
    }

    /// What each covariate adds to this log evidence, which `fit` finds without it.
    pub(super) fn gains_of_layers(
        &self,
        (window, wanted): (&Window, &TypesWanted),
        log_evidence: f64,
        mut fit: impl FnMut(&TypesWanted) -> Result<f64>,
    ) -> Result<Vec<(String, f64)>> {
        let mut gains = vec![];
        for (i, covariate) in self.covariates.iter().enumerate().filter(|_| self.checked) {
            let mut without = self.clone();
            without.covariates.remove(i);
            let regressors = without.regressors_over(window)?;
            let wanted = TypesWanted { regressors, is_answer: false, ..wanted.clone() };
            gains.push((covariate.name().to_string(), log_evidence - fit(&wanted)?));
        }
        Ok(gains)
    }

    /// Refuses what is not known of these things, and a lattice on which so many fields cannot be.
    pub(super) fn check_layers(&self, things: &Things, (dims, fields): (usize, usize)) -> Result<()> {
        let Things { setting, name, of_link, told_apart } = things;
        if dims > MOST_AXES {
            let requirement = format!("are too many for {name}, which are known on up to {MOST_AXES}; choose some");
            return Err(Error::setting("axes", dims, requirement));
        }
        let refused = [
            (
                self.kind == AskedKind::Inducing,
                "inducing points",
                format!("are not for {name}, which are on a lattice; leave them out"),
            ),
            (
                !self.lattice.links.contains(&Link::Log),
                "the square link",
                format!("is not for {name}, {of_link}; leave it out"),
            ),
            (
                self.lattice.vary == Vary::On,
                "a scale that varies over the window",
                format!("cannot be had with {name} yet; leave it out"),
            ),
            (
                self.named().next().is_some(),
                "a prior or value of a hyper-parameter",
                format!("cannot be given with {name} yet; leave it out"),
            ),
            (
                !self.penalise,
                "no priors",
                format!("cannot be had with {name}: {told_apart} told apart by them; leave it out"),
            ),
            (
                self.errors,
                "standard errors",
                format!(
                    "cannot be had with {name}: what is not known of hyper-parameters is in every interval; leave it out"
                ),
            ),
        ];
        if let Some((_, what, requirement)) = refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            return Err(Error::setting(setting, what, requirement));
        }
        let wanted = self.wanted_of_layers();
        wanted.nodes.map_or(Ok(()), |nodes| {
            check_nodes(&nodes, dims, |nodes| bytes_of_fields(fields, nodes, wanted.smoothness), self.most_bytes)
        })
    }
}
