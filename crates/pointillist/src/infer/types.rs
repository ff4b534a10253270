//! The fit of several types of events in one window: λ_c = exp(β_c + shared field + own field of c) (docs/types.md).
//!
//! Three ways in which types may belong together are fitted and compared by their evidence: a shared field and one for each type, the shared field
//! alone (the types then have one pattern), and own fields alone (then they have nothing to do with each other). The first is the answer: the others are
//! its limits, towards which its priors lean already, and averaged in, they make intervals of ratios too narrow (docs/types.md). Or types are outputs of
//! latent fields, λ_c = exp(β_c + Σ_l a_cl g_l), whose loads a are learned: then the answer is an average over the numbers of latent fields.

use super::course::Courses;
use super::layered::{FieldReport, JointReport, MemberOfGroup, Things, UNHEARD, looked_at};
use super::on_lattice::types::{
    FoundTypes, LearnedLoad, OnLayers, Seen, Structure, TypesMember, TypesWanted, families, learn_types, outputs,
    starting_loads,
};
use super::tally::Tally;
use super::{Asked, FitStage, FitWatch, Model, Prior, Progress, Stop, Tried};
use crate::data::events::Events;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::posterior::{Goodness, LayersField, Posterior, PosteriorBasis, TypesPosterior};
use crate::terms::Link;
use crate::window::Scaling;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// Fewest and most types.
const TYPES: (usize, usize) = (2, 10);
/// A type needs so many events.
const FEWEST_EVENTS: usize = 2;
/// Fewer than this are told of.
const FEW_EVENTS: usize = 10;
/// Intervals that fewer independent draws stand for are told of.
const FEW_DRAWS: f64 = 40.0;
/// What is said of types that are refused.
const TYPES_IN_WORDS: Things = Things {
    setting: "type",
    name: "types",
    of_link: "whose fields add up on the logarithm of a rate",
    told_apart: "what is shared and what is own is",
};
/// Most latent fields, and how many nats of evidence one more may lose before no further one is tried.
const MOST_LATENT: usize = 4;
const LOST: f64 = 1.0;

/// How many latent fields types are outputs of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latent {
    /// So many.
    Fields(usize),
    /// From one on, as long as evidence asks for more; the answer is an average over their number.
    Auto,
}

/// The share that a type has of a latent field, whose standard deviation is 1: it is in units of the logarithm of a rate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Loading {
    /// Which type.
    pub kind: usize,
    /// Which latent field, from 0.
    pub field: usize,
    /// Its median; its most probable value, if the most probable Θ alone was looked at. The sign of a field is free: its first type has a positive load.
    pub value: f64,
    /// The ends of its 90 % interval, unless the most probable Θ alone was looked at.
    pub interval: Option<(f64, f64)>,
}

/// A posterior of several types with the story of its making.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TypesFit {
    /// The posterior.
    pub posterior: TypesPosterior,
    /// How it came about.
    pub report: TypesReport,
}

/// What a fit of several types did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TypesReport {
    /// Each way in which types may belong together; before the events are seen they are alike. Their fields, and how the fit went.
    pub joint: JointReport,
    /// The expected number of events of each type over the window.
    pub expected: Vec<f64>,
    /// The loads of latent fields, of their most probable number; none where types have shared and own fields.
    pub loadings: Vec<Loading>,
    /// Whether the events of each type look like events of its rate, where that could be looked at.
    pub goodness: Vec<Option<Goodness>>,
    /// The priors in force, by the names of hyper-parameters.
    pub priors: Vec<(String, Prior)>,
    /// Whatever the user should know, in sentences.
    pub warnings: Vec<String>,
}

impl Model {
    /// Fits events of several types in one window, each with its name: λ_c = exp(β_c + shared field + own field). On a lattice with the log link; smoothness
    /// 2 unless another is asked for. With covariates each type has effects of its own, λ_c = exp(β_c + zᵀβ_c + …), which are those of [`TypesPosterior::of`]; of
    /// [`TypesPosterior::ratio`] they are how effects differ.
    ///
    /// ```
    /// use pointillist::{Events, LatticeChoice, Model, Points, Window};
    ///
    /// let window = Window::interval(0.0, 10.0)?;
    /// let events = |times: &[f64]| Events::new(Points::line(times)?, window.clone());
    /// let cases = events(&[1.0, 1.2, 1.3, 1.9, 2.4, 6.0])?;
    /// let controls = events(&[0.5, 1.5, 3.0, 4.5, 5.0, 6.2, 7.7, 9.0])?;
    /// let coarse = LatticeChoice { nodes: Some(vec![24]), ..LatticeChoice::default() };
    /// let model = Model { family: coarse.into(), ..Model::default() };
    /// let fit = model.fit_types(&[("cases".into(), cases), ("controls".into(), controls)])?;
    /// assert!((fit.report.expected[1] - 8.0).abs() < 0.5);
    /// let risk = fit.posterior.ratio(0, 1)?;
    /// let [low, high] = [0.05, 0.95].map(|p| risk.quantiles(&Points::line(&[1.2]).unwrap(), &[p]).unwrap()[0][0]);
    /// assert!(low < high);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn fit_types(&self, types: &[(String, Events)]) -> Result<TypesFit> {
        self.fit_types_watched(types, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, calling `watch` as [`Model::fit_watched`] does.
    pub fn fit_types_watched<'a>(&self, types: &[(String, Events)], watch: &'a mut FitWatch<'a>) -> Result<TypesFit> {
        Asked::from(self).fit_types(types, None, watch)
    }

    /// Fits types as outputs of latent fields that they have learned shares of: λ_c = exp(β_c + Σ_l a_cl g_l). A load below 0 is that of a type that avoids what
    /// others seek. Neurons that share a response, each with a gain of its own, are outputs of one field.
    ///
    /// Fields have a standard deviation of 1 and each a range of its own. Of the types, those with most events come first: the first has a share of the first
    /// field alone, the second of the first two, and so on; without that, loads could be turned into each other.
    ///
    /// ```
    /// use pointillist::types::Latent;
    /// use pointillist::{Events, LatticeChoice, Model, Points, Window};
    ///
    /// let window = Window::interval(0.0, 10.0)?;
    /// let events = |times: &[f64]| Events::new(Points::line(times)?, window.clone());
    /// let early = events(&[0.4, 0.8, 1.0, 1.1, 1.5, 1.9, 2.2, 2.3, 2.9, 3.1, 7.4])?;
    /// let late = events(&[2.9, 5.2, 6.1, 6.6, 7.1, 7.2, 7.9, 8.8, 9.3])?;
    /// let coarse = LatticeChoice { nodes: Some(vec![24]), ..LatticeChoice::default() };
    /// let model = Model { family: coarse.into(), ..Model::default() };
    /// let fit = model.fit_outputs(&[("early".into(), early), ("late".into(), late)], Latent::Fields(1))?;
    /// let [early, late] = &fit.report.loadings[..] else { panic!("one load for each") };
    /// assert!(early.value > 0.0 && late.value < 0.0);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn fit_outputs(&self, types: &[(String, Events)], latent: Latent) -> Result<TypesFit> {
        self.fit_outputs_watched(types, latent, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, calling `watch` as [`Model::fit_watched`] does.
    pub fn fit_outputs_watched<'a>(
        &self,
        types: &[(String, Events)],
        latent: Latent,
        watch: &'a mut FitWatch<'a>,
    ) -> Result<TypesFit> {
        Asked::from(self).fit_types(types, Some(latent), watch)
    }
}

/// The ways in which types may belong together that are tried, each with its name.
struct Structures {
    list: Vec<(String, Structure)>,
    /// The one of which the others are limits, if there is one: it is the answer.
    general: Option<usize>,
    /// Whether they are tried in order, until one more loses evidence.
    until_lost: bool,
}

impl Structures {
    fn of(seen: &[Seen], latent: Option<Latent>) -> Result<Self> {
        let types = seen.len();
        let mut order: Vec<usize> = (0..types).collect();
        order.sort_by_key(|kind| std::cmp::Reverse(seen[*kind].events.len()));
        let numbers = match latent {
            None => {
                let list = families(types).into_iter().map(|(name, structure)| (name.to_string(), structure)).collect();
                return Ok(Self { list, general: Some(0), until_lost: false });
            }
            Some(Latent::Auto) => 1..=types.min(MOST_LATENT),
            Some(Latent::Fields(count)) => {
                let most = types.min(MOST_LATENT);
                if !(1..=most).contains(&count) {
                    let requirement = format!("latent fields cannot be told apart by {types} types; give 1 to {most}");
                    return Err(Error::setting("latent", count, requirement));
                }
                count..=count
            }
        };
        let one = |count: usize| {
            let name = if count == 1 { "1 latent field".into() } else { format!("{count} latent fields") };
            Ok((name, outputs(count, &order, &starting_loads(seen, &order, count)?)))
        };
        let list = numbers.map(one).collect::<Result<_>>()?;
        Ok(Self { list, general: None, until_lost: true })
    }
}

impl Asked {
    fn fit_types(
        &self,
        types: &[(String, Events)],
        latent: Option<Latent>,
        watch: &mut FitWatch<'_>,
    ) -> Result<TypesFit> {
        let started = Instant::now();
        self.check_types(types)?;
        let window = types[0].1.window();
        let scaling = Scaling::of(window);
        let inner = window.scaled(&scaling);
        let seen = |(_, events): &(String, Events)| Seen {
            window: events.window().scaled(&scaling),
            events: scaling.points_inward(events.points()),
        };
        let seen: Vec<Seen> = types.iter().map(seen).collect();
        let log_units = types.iter().map(|(_, events)| scaling.log_units(events.window(), events.points())).sum();
        let wanted = TypesWanted { regressors: self.regressors_over(window)?, ..self.wanted_of_layers() };
        let structures = Structures::of(&seen, latent)?;
        let costs = structures.list.iter().map(|(_, structure)| (structure.count() as f64).powi(2));
        let courses = Courses::new(costs.collect(), 0.0);
        let (mut found, mut evaluations): (Vec<FoundStructure>, usize) = (vec![], 0);
        for (place, (name, structure)) in structures.list.into_iter().enumerate() {
            let mut tell = |progress: &Progress| watch(&courses.whole(place, progress));
            let tally = Tally::new(&mut tell, self.most_evaluations, log_units);
            let is_answer = !self.average || structures.general.is_none_or(|general| general == place);
            let wanted = TypesWanted { is_answer, ..wanted.clone() };
            let kind = OnLayers::new((&seen, None), structure, &wanted, &scaling, &inner);
            found.push((name, learn_types(kind, &wanted, &tally)));
            evaluations += tally.steps();
            courses.ended(place);
            if matches!(found.last(), Some((_, Err(Error::Cancelled)))) {
                return Err(Error::Cancelled);
            }
            if structures.until_lost && has_lost(&found) {
                break;
            }
        }
        let mut report = TypesReport {
            joint: JointReport::new(wanted.smoothness, evaluations),
            expected: vec![],
            loadings: vec![],
            goodness: vec![],
            priors: vec![],
            warnings: few(types),
        };
        if let Some(best) = most_probable(&found) {
            let mut tell = |progress: &Progress| watch(&Progress { stage: FitStage::Check, part: 1.0, ..*progress });
            let tally = Tally::new(&mut tell, self.most_evaluations, log_units);
            report.joint.gains = self.gains_of_layers((window, &wanted), best.log_evidence, |wanted| {
                let kind = OnLayers::new((&seen, None), best.structure.clone(), wanted, &scaling, &inner);
                Ok(learn_types(kind, wanted, &tally)?.log_evidence)
            })?;
        }
        if let Some(found) = most_probable(&found) {
            report.loadings = loadings(&found.loads);
            report.warnings.extend(found.effective.and_then(unsure));
        }
        let counts = self.counting(&found, structures.general);
        let joint = report.tell(found, &counts, (log_units, &scaling), |layers, member: TypesMember| {
            let field = LayersField::new(layers, member.layers, member.mean, member.said, member.spread);
            Posterior::new(window.clone(), scaling.clone(), Link::Log, PosteriorBasis::Layers(field))
        })?;
        let names = types.iter().map(|(name, _)| name.clone()).collect();
        let posterior = TypesPosterior::new(names, joint)?;
        let expected =
            |(place, (_, events)): (usize, &(String, Events))| posterior.of(place)?.expected(events.window());
        report.expected = types.iter().enumerate().map(expected).collect::<Result<_>>()?;
        for (place, (name, events)) in types.iter().enumerate().filter(|_| self.checked) {
            let mut warnings = vec![];
            report.goodness.push(looked_at(&posterior.of(place)?, events, &mut warnings)?);
            report.warnings.extend(warnings.into_iter().map(|warning| format!("`{name}`: {warning}")));
        }
        report.joint.ended(posterior.joint(), started);
        Ok(TypesFit { posterior, report })
    }

    /// Which of them are in the answer: the general one, all where there is none, the best where no average is asked for.
    fn counting(&self, found: &[FoundStructure], general: Option<usize>) -> Vec<bool> {
        let best = found.iter().map(evidence).fold(f64::NEG_INFINITY, f64::max);
        let general = general.filter(|general| self.average && found[*general].1.is_ok());
        let counts = |(place, found): (usize, &FoundStructure)| match general {
            Some(general) => place == general,
            None => self.average || evidence(found) >= best,
        };
        found.iter().enumerate().map(counts).collect()
    }

    /// Refuses what is not known of types.
    fn check_types(&self, types: &[(String, Events)]) -> Result<()> {
        let (least, most) = TYPES;
        if types.len() < least {
            let requirement = "of events is too few: at least two are compared; fit it without types";
            return Err(Error::setting("type", format!("{} type", types.len()), requirement));
        }
        if types.len() > most {
            let requirement = format!(
                "are more than the {most} that can be fitted together; join those that are rare or alike, or fit some at a time"
            );
            return Err(Error::setting("type", format!("{} types", types.len()), requirement));
        }
        let window = types[0].1.window();
        for (place, (name, events)) in types.iter().enumerate() {
            if types[..place].iter().any(|(other, _)| other == name) {
                return Err(Error::setting("type", name, "is there twice; give each type a name of its own"));
            }
            if events.len() < FEWEST_EVENTS {
                let (count, plural) = (events.len(), if events.len() == 1 { "" } else { "s" });
                let requirement = format!(
                    "has {count} event{plural}, of which no pattern can be learned; leave it out or join it with another type"
                );
                return Err(Error::setting("type", name, requirement));
            }
            if events.window() != window {
                return Err(Error::setting("type", name, "has another window than the first type; give all the same"));
            }
        }
        self.check_layers(&TYPES_IN_WORDS, (window.dims(), types.len() + 1))
    }
}

/// A way in which types may belong together, and what it came to.
type FoundStructure = (String, Result<FoundTypes>);

/// About the log evidence of what was found.
fn evidence(found: &FoundStructure) -> f64 {
    found.1.as_ref().map_or(f64::NEG_INFINITY, |found| found.log_evidence)
}

fn most_probable(found: &[FoundStructure]) -> Option<&FoundTypes> {
    found.iter().max_by(|a, b| evidence(a).total_cmp(&evidence(b))).and_then(|(_, found)| found.as_ref().ok())
}

/// Whether the last one has less evidence than another, by more than chance in its search.
fn has_lost(found: &[FoundStructure]) -> bool {
    let best = found.iter().map(evidence).fold(f64::NEG_INFINITY, f64::max);
    found.last().is_some_and(|last| evidence(last) < best - LOST)
}

/// Loads with their intervals, by field and type.
fn loadings(loads: &[LearnedLoad]) -> Vec<Loading> {
    let one = |load: &LearnedLoad| {
        let LearnedLoad { kind, field, value, interval } = *load;
        Loading { kind, field, value, interval }
    };
    let mut all: Vec<Loading> = loads.iter().map(one).collect();
    all.sort_by_key(|load| (load.field, load.kind));
    all
}

impl TypesReport {
    /// Takes note of what was found, and makes one posterior of it.
    fn tell(
        &mut self,
        found: Vec<FoundStructure>,
        counts: &[bool],
        (log_units, scaling): (f64, &Scaling),
        posterior: impl Fn(Arc<crate::field::layers::Layers>, TypesMember) -> Posterior,
    ) -> Result<Posterior> {
        let top = found.iter().map(evidence).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = found.iter().map(|one| (evidence(one) - top).exp()).sum();
        self.joint.weights = found.iter().map(|one| (evidence(one) - top).exp() / total).collect();
        let (mut parts, mut first_error) = (vec![], None);
        let mut groups: Vec<(String, Vec<MemberOfGroup>)> = vec![];
        for (place, (name, outcome)) in found.into_iter().enumerate() {
            let found = match outcome {
                Ok(found) => found,
                Err(error) => {
                    self.joint.tried.push(Tried { name, outcome: Err(error.to_string()), ended_early: None });
                    first_error.get_or_insert(error);
                    continue;
                }
            };
            let log_evidence = found.log_evidence;
            self.joint.tried.push(Tried { name, outcome: Ok(log_evidence - log_units), ended_early: None });
            if !counts[place] {
                continue;
            }
            let is_alone = counts.iter().filter(|counts| **counts).count() == 1;
            if !found.converged && (is_alone || self.joint.weights[place] > UNHEARD) {
                self.joint.stop = Stop::Evaluations;
            }
            for (name, prior) in found.priors {
                if !self.priors.iter().any(|(known, _)| *known == name) {
                    self.priors.push((name, prior));
                }
            }
            let layers = Arc::new(found.layers);
            let all: f64 = found.members.iter().map(|(log, _)| log).copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = found.members.iter().map(|(log, _)| (log - all).exp()).sum();
            let mut members = vec![];
            for (log, member) in found.members {
                let weight = self.joint.weights[place] * (log - all).exp() / sum;
                // The first field of one number of latent fields is not that of another.
                let is_told = !found.structure.unit || log_evidence >= top;
                for (name, ranges, variance) in member.groups(&found.structure).filter(|_| is_told) {
                    let own = groups.iter().position(|(known, _)| known == name);
                    let own = own.unwrap_or_else(|| {
                        groups.push((name.into(), vec![]));
                        groups.len() - 1
                    });
                    groups[own].1.push((weight, ranges.to_vec(), variance.sqrt()));
                }
                members.push((log - all, posterior(layers.clone(), member)));
            }
            parts.push((log_evidence, Posterior::average(members)?));
        }
        self.joint.fields =
            groups.into_iter().map(|(name, members)| FieldReport::of(name, &members, (scaling, 1.0))).collect();
        if parts.is_empty() {
            return Err(first_error.unwrap_or(Error::NoEvents));
        }
        Ok(Posterior::average(parts)?.without_lighter_than(UNHEARD))
    }
}

/// What there is to say of intervals that so many independent draws of Θ stand for.
fn unsure(effective: f64) -> Option<String> {
    (effective < FEW_DRAWS).then(|| {
        format!("intervals of loads rest on about {effective:.0} independent draws of the hyper-parameters: take them for rough")
    })
}

/// What there is to say of types with few events.
fn few(types: &[(String, Events)]) -> Vec<String> {
    let few = types.iter().filter(|(_, events)| events.len() < FEW_EVENTS);
    few.map(|(name, events)| {
        let count = events.len();
        format!("`{name}` has only {count} events: what is its own leans on the prior")
    })
    .collect()
}

/// Events by type, in the order of the names as they first appear.
pub fn by_type(events: &Events, kinds: &[usize], names: &[String]) -> Result<Vec<(String, Events)>> {
    let dims = events.window().dims();
    let own = |(kind, name): (usize, &String)| {
        let rows = events.points().rows().zip(kinds).filter(|(_, own)| **own == kind);
        let rows: Vec<f64> = rows.flat_map(|(row, _)| row.to_vec()).collect();
        Ok((name.clone(), Events::new(Points::new(dims, rows)?, events.window().clone())?))
    };
    names.iter().enumerate().map(own).collect()
}
