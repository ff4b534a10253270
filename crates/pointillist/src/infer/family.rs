//! Which families are tried, and what becomes of them: an average by their evidence, or the best of them.
//!
//! The bound of every family is a lower bound on the same log p(events), so that bounds can be compared.

use super::course::Courses;
use super::lattice::LatticeFamily;
use super::on_lattice::learn::Rival;
use super::{Asked, AskedKind, Budget, Fit, FitWatch, LatticeChoice, Progress, Report, Vary};
use crate::data::seen::Data;
use crate::error::{Error, Result};
use crate::field::lattice::Smoothness;
use crate::parallel;
use crate::posterior::{LatticeSummary, Posterior};
use crate::terms::Link;
use crate::window::Window;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// A component of an average that counts for less than this part of the heaviest is left out.
const UNHEARD: f64 = 1e-2;
/// So many events on a line are fitted in milliseconds.
const FEW_EVENTS: usize = 10_000;
/// A rate that hardly varies, as a field on a lattice: its smoothness and link, its nodes per axis, and the logarithm of its prior odds.
const CONSTANT: LatticeFamily = LatticeFamily { smoothness: Smoothness::Two, link: Link::Log, varies: false };
const CONSTANT_NODES: usize = 8;
const CONSTANT_LOG_ODDS: f64 = -1.0;
/// A lattice is tried unasked up to so many axes.
const MOST_AXES: usize = 3;

/// Of what is left of a budget a family may take so much, the last one all.
const SHARE: f64 = 0.7;

/// For what is foreseen: what other families cost beside the first, and the checks of the answer.
const OTHER_SMOOTHNESS_COSTS: f64 = 0.7;
const OTHER_LINK_COSTS: f64 = 0.25;
const CONSTANT_COSTS: f64 = 0.02;
const VARYING_COSTS: f64 = 0.3;
const CHECKS_COST: f64 = 0.1;

/// A scale that varies over the window is worth a trial if it promises so many nats, and can then come as near to the best family as this.
const PROMISES: f64 = 1.0;
const NEAR_THE_BEST: f64 = 5.0;

/// One family that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// Its bound, or about its evidence where that is averaged over; or why it has none.
    pub outcome: std::result::Result<f64, String>,
    /// Why it was not carried on to the lattice that was asked for, if it was not.
    pub ended_early: Option<String>,
}

/// What a fit sees: the events, and an earlier fit from which it goes on.
type Given<'a> = (Data<'a>, Option<&'a Posterior>);

/// How far each family is, and who is told of it.
type Watched<'a, 'w> = (&'a Courses, &'a mut FitWatch<'w>);

/// What can be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trial {
    Inducing,
    Lattice(Smoothness, Link),
    Constant,
}

impl Trial {
    fn name(self, model: &Asked) -> String {
        match self {
            Trial::Inducing if model.kernel.is_none() => "se on inducing points".into(),
            Trial::Inducing => "inducing points".into(),
            Trial::Lattice(smoothness, link) => LatticeFamily { smoothness, link, varies: false }.to_string(),
            Trial::Constant if model.regressors.is_some() => "covariates alone".into(),
            Trial::Constant => "constant rate".into(),
        }
    }

    /// About what it costs beside the first, where all are compared with that one.
    fn cost(self, first: Trial) -> f64 {
        match (self, first) {
            (Trial::Constant, _) => CONSTANT_COSTS,
            (Trial::Lattice(_, link), Trial::Lattice(_, of_first)) if link != of_first => OTHER_LINK_COSTS,
            (own, first) if own != first => OTHER_SMOOTHNESS_COSTS,
            _ => 1.0,
        }
    }

    /// The logarithm of its prior odds: that a rate does not vary at all is believed less than any way to vary.
    fn log_odds(self) -> f64 {
        if self == Trial::Constant { CONSTANT_LOG_ODDS } else { 0.0 }
    }
}

/// Families that were fitted so far.
#[derive(Default)]
struct Fitted {
    tried: Vec<Tried>,
    /// The evidence, the place in `parts` and the report of the one whose story is told: the best.
    best: Option<(f64, usize, Report)>,
    /// The same of a rate that does not vary. Its story is told where there is no other, as where a variance of nearly 0 is held.
    constant: Option<(f64, usize, Report)>,
    /// Each with the logarithm of its weight.
    parts: Vec<(f64, Posterior)>,
    /// What all of them cost.
    work: f64,
    first_error: Option<Error>,
    /// Families whose scale could vary.
    even: Vec<Even>,
}

/// A family of one scale everywhere.
struct Even {
    family: LatticeFamily,
    evidence: f64,
    /// What a scale that varies promises to add to that.
    promise: f64,
    /// Where it is in the list of posteriors.
    place: usize,
}

/// A fit, and what it is as a rival of others.
type Found = (Fit, Option<Rival>);

impl Fitted {
    fn add_trial(&mut self, trial: Trial, model: &Asked, (fit, rival): Found) {
        if let (Trial::Lattice(smoothness, link), Some(promise)) = (trial, rival.and_then(|rival| rival.promise)) {
            let family = LatticeFamily { smoothness, link, varies: false };
            self.even.push(Even { family, evidence: fit.evidence(), promise, place: self.parts.len() });
        }
        self.add(trial.name(model), trial.log_odds(), fit);
    }

    fn add(&mut self, name: String, log_odds: f64, fit: Fit) {
        let evidence = fit.evidence();
        let Fit { posterior, report } = fit;
        self.work += report.work;
        let outcome = Ok(report.log_evidence.unwrap_or(report.bound.total()));
        self.tried.push(Tried { name, outcome, ended_early: report.ended_early.clone() });
        let is_constant = posterior.lattice().is_some_and(|lattice| lattice.is_constant());
        let best = if is_constant { &mut self.constant } else { &mut self.best };
        if best.as_ref().is_none_or(|(best, ..)| evidence > *best) {
            *best = Some((evidence, self.parts.len(), report));
        }
        self.parts.push((evidence + log_odds, posterior));
    }

    /// The family to try with a scale that varies, if one promises enough, and where its posterior is.
    fn worth_varying(&self, vary: Vary) -> Option<(LatticeFamily, usize)> {
        let after = |even: &Even| even.evidence + even.promise;
        let best = self.even.iter().max_by(|a, b| after(a).total_cmp(&after(b)))?;
        let highest = self.best.as_ref().map_or(f64::NEG_INFINITY, |(evidence, ..)| *evidence);
        let promises = best.promise > PROMISES && after(best) > highest - NEAR_THE_BEST;
        let is_tried = match vary {
            Vary::Auto => promises,
            Vary::On => true,
            Vary::Off => false,
        };
        is_tried.then_some((LatticeFamily { varies: true, ..best.family }, best.place))
    }

    fn add_error(&mut self, name: String, error: Error) {
        self.tried.push(Tried { name, outcome: Err(error.to_string()), ended_early: None });
        self.first_error.get_or_insert(error);
    }
}

impl Fit {
    /// About the logarithm of its evidence, or what stands for it where nothing is averaged over.
    fn evidence(&self) -> f64 {
        self.report.log_evidence.unwrap_or(self.report.bound.total() + self.report.log_prior)
    }
}

impl Asked {
    /// Fits every family that is to be tried, and averages over them or keeps the best.
    pub(super) fn fit_families(
        &self,
        data: Data<'_>,
        before: Option<&Posterior>,
        watch: &mut FitWatch<'_>,
    ) -> Result<Fit> {
        self.refuse_to_vary(data.window().dims())?;
        let (trials, spent) = self.in_order(self.trials(data), data, watch)?;
        let courses = Courses::new(
            trials.iter().map(|trial| trial.cost(trials[0])).chain(std::iter::once(VARYING_COSTS)).collect(),
            CHECKS_COST,
        );
        let last = trials.len();
        let outcomes = match data.window().dims() == 1 && data.len() <= FEW_EVENTS {
            true => self.side_by_side(&trials, (data, before), (&courses, watch)),
            false => self.one_by_one(&trials, spent, (data, before), (&courses, watch)),
        };
        let mut fitted = Fitted { work: spent, ..Fitted::default() };
        for (trial, fit) in trials.into_iter().zip(outcomes) {
            match fit {
                Ok(found) => fitted.add_trial(trial, self, found),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => fitted.add_error(trial.name(self), error),
            }
        }
        if let Some((family, place)) = self.average.then(|| fitted.worth_varying(self.lattice.vary)).flatten() {
            let mut tell = |progress: &Progress| watch(&courses.whole(last, progress));
            let found = self.fit_lattice(family, data, Some(&fitted.parts[place].1), None, &mut tell);
            match found {
                Ok((fit, _)) => fitted.add(family.to_string(), 0.0, fit),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => fitted.add_error(family.to_string(), error),
            }
        }
        courses.ended(last);
        let Fitted { tried, best, constant, mut parts, work, first_error, .. } = fitted;
        // A rate that does not vary is no answer to families that failed.
        let constant = constant.filter(|_| first_error.is_none());
        let (_, place, mut report) = best.or(constant).ok_or(first_error.unwrap_or(Error::NoEvents))?;
        let posterior = match self.average && parts.len() > 1 {
            true => Posterior::average(parts)?,
            false => parts.swap_remove(place).1,
        };
        (report.tried, report.work) = (tried, work);
        if self.errors && report.standard_errors.is_none() {
            let why = "there are no standard errors: the bound has no maximum in all hyper-parameters, as at the end of a range, or the scheme is the joint one";
            report.warnings.push(why.into());
        }
        let fit = Fit { posterior: posterior.without_lighter_than(UNHEARD), report };
        fit.tell(courses.all_ended(), watch)?;
        Ok(fit)
    }

    /// Refuses a scale that is to vary where it cannot.
    fn refuse_to_vary(&self, dims: usize) -> Result<()> {
        let why = match self.lattice.smoothness {
            _ if self.lattice.vary != Vary::On || self.kind == AskedKind::Inducing => return Ok(()),
            _ if dims > 2 => "is for events on a line or in a plane",
            _ if !self.average => "has its say in an average, by its evidence; average, or leave it out",
            Some(Smoothness::One) => "is for smoothness 2 and 4",
            _ => return Ok(()),
        };
        Err(Error::setting("vary", "on", why))
    }

    /// Families in the order of their evidence on a coarser lattice, if the one that is asked for takes long: where the best of them goes first, others need not go
    /// all the way. With the seconds of natural steps that this took.
    fn in_order(&self, mut trials: Vec<Trial>, data: Data<'_>, watch: &mut FitWatch<'_>) -> Result<(Vec<Trial>, f64)> {
        let of_lattice = trials.iter().filter(|trial| matches!(trial, Trial::Lattice(..))).count();
        let Some(nodes) = self.quick_lattice(data.window().dims()).filter(|_| of_lattice > 1) else {
            return Ok((trials, 0.0));
        };
        let lattice = LatticeChoice { nodes: Some(nodes), ..self.lattice.clone() };
        let quick = Self { lattice, average: false, errors: false, ..self.clone() };
        let (mut found, mut work) = (Vec::with_capacity(of_lattice), 0.0);
        for trial in &trials[..of_lattice] {
            let mut tell = |progress: &Progress| watch(&Progress { part: 0.0, ..*progress });
            let fits = matches!(trial, Trial::Lattice(smoothness, link) if self.fits(*smoothness, *link));
            found.push(match fits.then(|| quick.fit_trial(*trial, (data, None), None, &mut tell)) {
                Some(Ok((fit, _))) => {
                    work += fit.report.work;
                    (*trial, fit.evidence())
                }
                Some(Err(Error::Cancelled)) => return Err(Error::Cancelled),
                _ => (*trial, f64::NEG_INFINITY),
            });
        }
        found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        trials.splice(..of_lattice, found.into_iter().map(|(trial, _)| trial));
        Ok((trials, work))
    }

    /// Each family after the others, which it need not follow where they are far ahead; `spent` of the budget so far.
    fn one_by_one(
        &self,
        trials: &[Trial],
        mut spent: f64,
        given: Given<'_>,
        (courses, watch): Watched<'_, '_>,
    ) -> Vec<Result<Found>> {
        let mut rival: Option<Rival> = None;
        let mut outcomes = Vec::with_capacity(trials.len());
        for (i, trial) in trials.iter().enumerate() {
            let mut tell = |progress: &Progress| watch(&courses.whole(i, progress));
            let share = if i + 1 < trials.len() { SHARE } else { 1.0 };
            let asked = self.with_budget(|seconds| share * (seconds - spent).max(0.0));
            let found = asked.fit_trial(*trial, given, rival.clone(), &mut tell);
            spent += found.as_ref().map_or(0.0, |(fit, _)| fit.report.work);
            courses.ended(i);
            let is_cancelled = matches!(found, Err(Error::Cancelled));
            outcomes.push(found.map(|(fit, found)| {
                let best = rival.as_ref().map_or(f64::NEG_INFINITY, |rival| rival.best);
                rival = found.clone().filter(|found| found.best > best).or(rival.take());
                (fit, found)
            }));
            if is_cancelled {
                break;
            }
        }
        outcomes
    }

    /// Families that are quickly fitted, two at a time. The watcher sees those on its own thread, and can cancel all.
    fn side_by_side(
        &self,
        trials: &[Trial],
        given: Given<'_>,
        (courses, watch): Watched<'_, '_>,
    ) -> Vec<Result<Found>> {
        let cancelled = AtomicBool::new(false);
        let go_on = || match cancelled.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let fitted = |i: usize, watch: &mut FitWatch<'_>| {
            let asked = self.with_budget(|seconds| seconds / trials.len() as f64);
            let fit = asked.fit_trial(trials[i], given, None, watch);
            courses.ended(i);
            fit
        };
        parallel::beside(
            trials.len(),
            |i| {
                let mut own = |progress: &Progress| {
                    let answer = if go_on().is_break() { go_on() } else { watch(&courses.whole(i, progress)) };
                    cancelled.fetch_or(answer.is_break(), Ordering::Relaxed);
                    answer
                };
                fitted(i, &mut own)
            },
            |i| {
                let mut other = |progress: &Progress| {
                    courses.whole(i, progress);
                    go_on()
                };
                fitted(i, &mut other)
            },
        )
    }

    /// This model with another part of its budget, if that is a number of seconds.
    fn with_budget(&self, part: impl Fn(f64) -> f64) -> Cow<'_, Self> {
        match self.budget {
            Budget::Seconds(seconds) => Cow::Owned(Self { budget: Budget::Seconds(part(seconds)), ..self.clone() }),
            _ => Cow::Borrowed(self),
        }
    }

    /// The fit of one family, and what it is as a rival of others.
    fn fit_trial(
        &self,
        trial: Trial,
        (data, before): Given<'_>,
        rival: Option<Rival>,
        watch: &mut FitWatch<'_>,
    ) -> Result<Found> {
        match trial {
            Trial::Inducing => self.fit_inducing(data, before, watch).map(|fit| (fit, None)),
            Trial::Lattice(smoothness, link) => {
                let family = LatticeFamily { smoothness, link, varies: false };
                let (fit, found) = self.fit_lattice(family, data, before, rival, watch)?;
                Ok((fit, Some(found)))
            }
            Trial::Constant => {
                let (fit, _) = self.of_constant(data.window()).fit_lattice(CONSTANT, data, None, None, watch)?;
                Ok((fit, None))
            }
        }
    }

    fn trials(&self, data: Data<'_>) -> Vec<Trial> {
        let smoothness = match self.lattice.smoothness {
            Some(one) => vec![one],
            None if data.window().dims() == 1 => {
                vec![Smoothness::One, Smoothness::Two, Smoothness::Four]
            }
            None => vec![Smoothness::Two, Smoothness::Four],
        };
        let of_link = |link: &Link| smoothness.iter().map(|smoothness| Trial::Lattice(*smoothness, *link)).collect();
        // The log link first: where events are many it is ahead, and the others need not go far.
        let is_of_one = self.says_of("variance") || self.says_of("mean");
        let links = &self.lattice.links[..if is_of_one { 1 } else { self.lattice.links.len() }];
        let mut lattices: Vec<Trial> = links.iter().rev().flat_map::<Vec<_>, _>(of_link).collect();
        let is_open = lattices.len() > smoothness.len() || self.regressors.is_some();
        if self.average && is_open && smoothness.len() > 1 && self.named().next().is_none() {
            lattices.push(Trial::Constant);
        }
        match self.kind {
            AskedKind::Auto if data.window().dims() > MOST_AXES => vec![Trial::Inducing],
            AskedKind::Inducing => vec![Trial::Inducing],
            AskedKind::Auto | AskedKind::Lattice => lattices,
        }
    }

    /// This model, of a rate that does not vary. What little it may is not seen.
    fn of_constant(&self, window: &Window) -> Self {
        let sides = window.bounding_box().into_iter().map(|span| span.length());
        let lengths = sides.enumerate().map(|(r, side)| (format!("lengthscale[{r}]"), 0.5 * side));
        let variance = ("variance".to_string(), LatticeSummary::CONSTANT);
        let lattice = LatticeChoice { nodes: Some(vec![CONSTANT_NODES; window.dims()]), ..self.lattice.clone() };
        let fixed = std::iter::once(variance).chain(lengths).collect();
        Self { lattice, fixed, penalise: false, ..self.clone() }
    }

    /// The hyper-parameters of which a value or a prior is given.
    pub(super) fn named(&self) -> impl Iterator<Item = &str> {
        let fixed = self.fixed.iter().map(|fixed| fixed.0.as_str());
        self.priors.iter().map(|prior| prior.0.as_str()).chain(fixed)
    }

    /// Whether a value or a prior of this hyper-parameter is given.
    pub(super) fn says_of(&self, name: &str) -> bool {
        self.named().any(|given| given == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::events::Events;
    use crate::data::points::Points;
    use crate::infer::Model;
    use crate::infer::on_lattice::learn::quick_before;
    use crate::sample::stream;
    use crate::testing::Drawn;
    use rand::RngExt;

    /// On lattices that hardly resolve its range the other link is ahead of the one that the events are from; on the lattice that is asked for it is not. Where steps
    /// there are dear, the best family goes first, and the others stay behind.
    #[test]
    fn the_family_that_is_best_in_the_end_is_found_and_goes_first() {
        let drawn = Drawn::new(&[130, 130], &[0.065, 0.065], 0.3, 12_000.0, Smoothness::Two, 3).unwrap();
        let events = Events::new(drawn.events, Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()).unwrap();
        let nodes = vec![120, 120];
        let lattice = LatticeChoice { nodes: Some(nodes.clone()), ..LatticeChoice::default() };
        let model = Model { family: lattice.into(), average: false, checked: false, ..Model::default() };
        let asked = Asked::from(&model);
        let dear = Asked { dear: 0.9 * crate::field::lattice::size::seconds(&nodes, Smoothness::Two), ..asked.clone() };
        assert_eq!(quick_before(&nodes, Smoothness::Two, dear.dear), Some(vec![60, 60]));
        assert_eq!(quick_before(&nodes, Smoothness::Two, asked.dear), None);
        let name = |fit: &Fit| fit.report.tried.iter().map(|tried| tried.name.clone()).collect::<Vec<_>>();
        let best = |fit: &Fit| -> (String, f64) {
            let value = |tried: &Tried| tried.outcome.clone().unwrap_or(f64::NEG_INFINITY);
            let best = fit.report.tried.iter().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
            assert!(best.ended_early.is_none());
            (best.name.clone(), value(best))
        };
        let fits = [&asked, &dear]
            .map(|asked| asked.fit_families(Data::Events(&events), None, &mut |_| ControlFlow::Continue(())).unwrap());
        let [(usual, value), (first, again)] = [best(&fits[0]), best(&fits[1])];
        assert_eq!(usual, first);
        assert!((value - again).abs() < 2.0, "{value} {again}");
        assert_eq!(
            (name(&fits[0])[0].as_str(), name(&fits[1])[0].as_str()),
            ("log link, smoothness 2", first.as_str())
        );
        assert!(fits[1].report.tried.iter().any(|tried| tried.ended_early.is_some()));
        // What put them in order is part of the work.
        let (data, mut go_on) = (Data::Events(&events), |_: &Progress| ControlFlow::Continue(()));
        let (trials, spent) = dear.in_order(dear.trials(data), data, &mut go_on).unwrap();
        let after: f64 = {
            let courses = Courses::new(vec![1.0; trials.len()], CHECKS_COST);
            let outcomes = dear.one_by_one(&trials, spent, (data, None), (&courses, &mut go_on));
            outcomes.into_iter().map(|found| found.unwrap().0.report.work).sum()
        };
        assert!(spent > 0.0 && (fits[1].report.work - spent - after).abs() < 1e-9 * after, "{spent} {after}");
    }

    fn square() -> Window {
        Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()
    }

    /// Every family on the lattice that is asked for.
    fn on_nodes(points: &Points, family: LatticeChoice) -> Fit {
        let family = LatticeChoice { nodes: Some(vec![72, 72]), ..family };
        let events = Events::new(points.clone(), square()).unwrap();
        Model { family: family.into(), checked: false, ..Model::default() }.fit(&events).unwrap()
    }

    #[test]
    fn a_family_that_is_far_behind_is_not_carried_to_the_lattice_that_was_asked_for() {
        // A road that is far narrower than the window is wide.
        let mut rng = stream(3, 0);
        let coordinates = (0..400).flat_map(|_| {
            let (along, across): (f64, f64) = (rng.random(), rng.random());
            [along, 0.3 + 0.4 * along + 0.004 * across]
        });
        let road = Points::new(2, coordinates.collect()).unwrap();
        let fit = on_nodes(&road, LatticeChoice::default());
        let tried = |name: &str| fit.report.tried.iter().find(|tried| tried.name == name).unwrap();
        let best = tried("log link, smoothness 2");
        assert!(
            best.ended_early.is_none() && fit.report.choice == "72×72 nodes, as asked for",
            "{}",
            fit.report.choice
        );
        let behind = tried("square link, smoothness 4");
        let (why, own) = (behind.ended_early.as_ref().unwrap(), behind.outcome.as_ref().unwrap());
        assert!(why.contains("too far below another family to go on to 72×72"), "{why}");
        assert!(*own < best.outcome.as_ref().unwrap() - 12.0, "{own}");
        // It would not have caught up, and has no part in the answer.
        let smoothness = Some(Smoothness::Four);
        let alone =
            on_nodes(&road, LatticeChoice { smoothness, links: vec![Link::Square], ..LatticeChoice::default() });
        let alone = alone.report.log_evidence.unwrap();
        assert!(alone < best.outcome.as_ref().unwrap() - 12.0, "{alone}");
        assert_eq!(fit.posterior.lattice().unwrap().nodes, [72, 72]);
    }

    #[test]
    fn families_that_are_close_are_all_carried_on_as_if_each_were_alone() {
        let mut rng = stream(8, 0);
        let points = Points::new(2, (0..160).map(|_| rng.random::<f64>()).collect()).unwrap();
        let fit = on_nodes(&points, LatticeChoice::default());
        for link in [Link::Log, Link::Square] {
            for smoothness in [Smoothness::Two, Smoothness::Four] {
                let name = LatticeFamily { smoothness, link, varies: false }.to_string();
                let tried = fit.report.tried.iter().find(|tried| tried.name == name).unwrap();
                let family =
                    LatticeChoice { smoothness: Some(smoothness), links: vec![link], ..LatticeChoice::default() };
                let alone = on_nodes(&points, family).report;
                assert_eq!((tried.outcome.clone().ok(), &tried.ended_early), (alone.log_evidence, &None), "{name}");
            }
        }
    }
}
