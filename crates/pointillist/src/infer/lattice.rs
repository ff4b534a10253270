//! The fit on a lattice: from the model's words to `on_lattice/learn.rs`, and back to the user's units.

use super::at_bound;
use super::beliefs::Isotropy;
use super::members::log_evidence;
use super::on_lattice::Member;
use super::on_lattice::learn::{Before, Learned, Rival, Source, Wanted, bytes_of_family, learn, quick_before};
use super::tally::Tally;
use super::{Asked, Fit, FitWatch, Progress, Report, Summarised};
use crate::bound::Bound;
use crate::data::points::Points;
use crate::data::seen::Data;
use crate::error::Result;
use crate::field::lattice::{LatticeMean, Optimum, Smoothness, Theta};
use crate::gaussian::{Bordered, Diagonals};
use crate::posterior::{Field, LatticeField, Posterior, PosteriorBasis};
use crate::terms::{Link, Marginals};
use crate::window::{Scaling, Window};
use std::sync::Arc;

/// One family on a lattice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LatticeFamily {
    pub(super) smoothness: Smoothness,
    pub(super) link: Link,
    /// Whether the scale of f varies over the window.
    pub(super) varies: bool,
}

/// Where a step takes so many seconds or more, Θ is learned on coarser lattices.
pub(super) const DEAR: f64 = 2.0;
/// Above this a rule that never falls short of an integral is too far above it.
pub(super) const TOO_HIGH: f64 = 0.01;

impl std::fmt::Display for LatticeFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { smoothness, link, varies } = self;
        write!(f, "{link} link, smoothness {}{}", smoothness.alpha(), if *varies { " with a local scale" } else { "" })
    }
}

impl Asked {
    /// The fit with one smoothness and one link, and what it is as a rival of others; `rival` is another family.
    pub(super) fn fit_lattice(
        &self,
        LatticeFamily { smoothness, link, varies }: LatticeFamily,
        data: Data<'_>,
        before: Option<&Posterior>,
        rival: Option<Rival>,
        watch: &mut FitWatch<'_>,
    ) -> Result<(Fit, Rival)> {
        let scaling = Scaling::of(data.window());
        let (window, log_units) = (data.window().scaled(&scaling), data.log_units(&scaling));
        let mut wanted = Wanted {
            nodes: self.lattice.nodes.clone(),
            smoothness,
            link,
            varies,
            integrates_constant: self.lattice.mean == LatticeMean::Integrated && !self.says_of("mean"),
            regressors: self.regressors.clone(),
            priors: self.priors.clone(),
            fixed: self.fixed.clone(),
            errors: self.errors,
            penalise: self.penalise,
            isotropy: self.isotropy(),
            average: self.average,
            most_bytes: self.most_bytes,
            budget: self.budget,
            dear: self.dear,
            gain: self.gain,
            sign: self.sign(),
            exact: self.exact,
            rival,
        };
        let mut tell = |progress: &Progress| watch(progress);
        let tally = Tally::new(&mut tell, self.most_evaluations, log_units);
        let before = before.and_then(|before| continued(before, (smoothness, link), data, &window));
        let has_ratio = |before: &Before<'_>| {
            let ranges = before.theta.ranges().into_iter().enumerate().map(|(r, range)| range * scaling.scale(r));
            let (least, most) =
                ranges.fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), range| (l.min(range), m.max(range)));
            most > (1.0 + 1e-6) * least
        };
        if wanted.isotropy == Isotropy::Tied && before.as_ref().is_some_and(has_ratio) {
            wanted.isotropy = Isotropy::Ratios; // what the evidence was for before
        }
        let learned = match data {
            Data::Events(events) => {
                let points = scaling.points_inward(events.points());
                learn(Source::Points(&points), (&window, &scaling), &wanted, before.as_ref(), &tally)?
            }
            Data::Summary(summary) => {
                let cells = summary.unit_cells(&scaling);
                learn(Source::Cells(&cells), (&window, &scaling), &wanted, before.as_ref(), &tally)?
            }
        };
        let mut report = report(&learned, &tally);
        let Learned { lattice, theta, optimum, said, members, as_rival, .. } = learned;
        let lattice = Arc::new(lattice.for_answers()); // one for all members
        let posterior = |theta: Theta, optimum: Optimum, said: Bordered<Diagonals>| {
            let field = LatticeField::new(lattice.clone(), theta, link, optimum, said);
            Posterior::new(data.window().clone(), scaling.clone(), link, PosteriorBasis::Lattice(field))
        };
        let minus_integral = optimum.minus_integral;
        if let Some(said) = said {
            let single = posterior(theta, optimum, said);
            report.tell_above(minus_integral, &single)?;
            return Ok((Fit { posterior: single, report }, as_rival));
        }
        report.log_evidence = Some(log_evidence(&members.list) - log_units);
        let part = |(weight, Member { theta, optimum, said }): (f64, Member)| (weight, posterior(theta, optimum, said));
        let parts: Vec<(f64, Posterior)> = members.list.into_iter().map(part).collect();
        if let Some((_, best)) = parts.first() {
            report.tell_above(minus_integral, best)?;
        }
        Ok((Fit { posterior: Posterior::average(parts)?, report }, as_rival))
    }
}

impl Asked {
    /// A coarser lattice by which families are put in order, if the one that is asked for takes long.
    pub(super) fn quick_lattice(&self, dims: usize) -> Option<Vec<usize>> {
        let nodes = self.lattice.nodes.as_ref().filter(|nodes| nodes.len() == dims)?;
        quick_before(nodes, self.lattice.smoothness.unwrap_or(Smoothness::Two), self.dear)
    }

    /// Whether there is memory enough for the lattice that is asked for.
    pub(super) fn fits(&self, smoothness: Smoothness, link: Link) -> bool {
        let bytes = |nodes: &Vec<usize>| bytes_of_family(nodes, smoothness, link);
        self.lattice.nodes.as_ref().is_none_or(|nodes| bytes(nodes) <= self.most_bytes as f64)
    }

    /// Axes that share a unit share a range, unless something is said of one of them, all are held, or nothing is believed.
    pub(super) fn isotropy(&self) -> Isotropy {
        let is_of_axis = |name: &str| name.contains('[');
        // What is held is held on every axis: no ratio may move it.
        let is_held = self.fixed.iter().any(|(name, _)| name == "lengthscale");
        if self.penalise && !is_held && !self.named().any(is_of_axis) { Isotropy::Tied } else { Isotropy::PerAxis }
    }
}

impl Report {
    /// Takes note of how far the integral of the bound, if that is a sum over nodes, lies above what it should be at the best Θ.
    fn tell_above(&mut self, minus_integral: Option<f64>, best: &Posterior) -> Result<()> {
        let Some(minus_integral) = minus_integral else { return Ok(()) };
        let above = -minus_integral / best.expected(best.window())? - 1.0;
        self.integral_error = Some(above);
        if above > TOO_HIGH {
            self.warnings.push(too_coarse(above));
        }
        Ok(())
    }
}

/// What to say where the integral of the bound is too high by this part.
pub(super) fn too_coarse(above: f64) -> String {
    format!(
        "the rate changes so fast between nodes that its integral counts {:.1} % too high, and rates come out as much too low: more nodes would help",
        100.0 * above
    )
}

/// What was learned before as a start, if the lattice is of the same smoothness. f grows with the number of events, as the link says.
fn continued<'a>(
    before: &'a Posterior,
    (smoothness, link): (Smoothness, Link),
    data: Data<'_>,
    window: &Window,
) -> Option<Before<'a>> {
    let field = before.components().iter().find_map(|component| match &component.basis {
        PosteriorBasis::Lattice(field)
            if field.smoothness() == smoothness && component.link == link && !component.is_constant() =>
        {
            Some(field)
        }
        _ => None,
    })?;
    let (rise, link) = (data.len() as f64 / field.expected(window).ok()?, link.formula());
    let own = &field.theta;
    // f of a rate so many times as high, and how much more it varies about that.
    let [mean, more] = [own.mean, own.mean + own.variance.sqrt()].map(|f| link.times(f, rise));
    let theta = Theta { variance: (more - mean).powi(2), mean, ..own.clone() };
    let f = move |points: &Points| {
        let f = field.marginals(points)?;
        Ok(Marginals { mean: f.mean.iter().map(|f| link.times(*f, rise)).collect(), variance: f.variance })
    };
    Some(Before { nodes: field.nodes(), margin: field.margin(), theta, f: Box::new(f) })
}

/// What to say where the lattice hardly sees inside the parts of the window.
fn blindness(learned: &Learned) -> Option<String> {
    learned.is_blind.then(|| {
        "the parts of the window are so short beside what lies between them that the nodes of the lattice hardly see inside: what varies there is \
         missing; fit the parts one by one, or ask for more nodes"
            .into()
    })
}

fn report(learned: &Learned, tally: &Tally<'_>) -> Report {
    Report {
        bound: parts(learned, tally.log_units()),
        log_prior: learned.log_prior,
        log_evidence: None,
        standard_errors: learned.members.standard_errors.clone(),
        stop: learned.stop,
        iterations: learned.iterations,
        evaluations: tally.steps(),
        work: learned.work,
        seconds: 0.0,
        tried: vec![],
        alone: learned.members.alone,
        priors: learned.priors.clone(),
        inducing: vec![],
        choice: learned.choice.clone(),
        ended_early: learned.is_left_behind.then(|| learned.choice.clone()),
        summarised: learned.summary.as_ref().map(|summary| Summarised {
            nodes: summary.nodes,
            error: summary.error.abs(),
            cells: summary.cells.clone(),
        }),
        unexplained: 0.0,
        integral_error: None,
        jitter: 0.0,
        starts: learned.starts.clone(),
        coverage: None,
        goodness: None,
        gains: vec![],
        warnings: at_bound::sentences(&learned.at_bounds).into_iter().chain(blindness(learned)).collect(),
        at_bounds: learned.at_bounds.clone(),
    }
}

/// The bound in its parts.
fn parts(learned: &Learned, log_units: f64) -> Bound {
    let (optimum, region) = (&learned.optimum, learned.lattice.region());
    let mut parts = match optimum.minus_integral {
        Some(minus_integral) => Bound::of_step(optimum.bound, learned.log_rate, -minus_integral, 0.0),
        None => {
            let mean_square = region.of_square(optimum.offset, &optimum.mean);
            let variance = optimum.expected(region) - mean_square;
            Bound::of_step(optimum.bound, learned.log_rate, mean_square, variance)
        }
    };
    parts.log_rate -= log_units;
    parts
}
