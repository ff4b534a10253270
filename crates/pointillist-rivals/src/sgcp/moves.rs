//! The moves of a sweep that need no gradient. Each leaves the joint density of `state.rs` invariant.
//!
//! - Thinned events (and levels) are drawn anew from their conditional distribution given f as a function and λ*, as Rao and Teh (2011)
//!   do: f is drawn, jointly and from the GP given all that is held, at a Poisson process of candidates with rate λ* B; each stays
//!   with probability 1 − σ(f)/B; the old ones are forgotten. It does in one go, and is never rejected, what births, deaths and moves of
//!   single events (Adams, Murray and MacKay) approach in many.
//! - f at all points: elliptical slice sampling.
//! - λ*: Gamma(shape + N + M̃, rate + Σ_r B_r |T_r|).
//! - The mean of f given f: Gaussian. (Its other update, in `hyper.rs`, moves f along: the two mix better together than either alone.)
//!
//! Just before thinned events are drawn anew, parameters take a step that does not see them (`walk.rs`); both happen twice a sweep.
//!
//! Cost, for n points held and rank r: n r² for each of these, and n r for a slice step.

use super::field::{self, Keep, Noise, Root};
use super::regions;
use super::settings::Parameters;
use super::state::{Latent, Likelihood, Problem, sigmoid};
use super::walk::{self, Side, Walk};
use pointillist::Points;
use pointillist::internals::numerics::linalg;
use pointillist::internals::sample;
use pointillist::{Error, Result};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, StandardNormal};

/// What came of drawing thinned events.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Looked {
    /// Candidates looked at.
    pub(super) candidates: usize,
    /// How many of them stood above the bound of their box.
    pub(super) breaches: usize,
    /// Acceptance probability of the walk.
    pub(super) walked: f64,
}

/// A Poisson process at whose points f is looked at.
struct Candidates {
    points: Points,
    boxes: Vec<usize>,
    levels: Vec<u8>,
}

/// A step of a walk, then levels and thinned events anew; `root` is replaced by that of the points then held.
///
/// All f that is looked at on the way is drawn in one go, because what one part has seen the next must not contradict: at candidates for
/// the events that decide on the step, and at those for thinned events whichever way it is decided.
pub(super) fn thinned(
    rng: &mut impl Rng,
    problem: &Problem,
    latent: &mut Latent,
    root: &mut Root,
    walk: &Walk,
) -> Result<Looked> {
    let here = latent.parameters.clone();
    let function = Function::new(rng, problem, latent, root);
    let Some((there, h_there)) = proposal(rng, problem, &function, walk, &here) else {
        let stay = candidates(rng, problem, &here, &function.h)?;
        let seen = function.look(rng, &stay.points, &here.lengthscales)?.0;
        return thin(rng, problem, latent, root, stay, &seen);
    };
    let test = uniform(rng, problem, &there)?;
    let stay = candidates(rng, problem, &here, &function.h)?;
    let go = candidates(rng, problem, &there, &h_there)?;
    let new = test.points.followed_by(&stay.points).followed_by(&go.points);
    let (from, white) = function.look(rng, &new, &here.lengthscales)?;
    let to = function.look_again(&new, &white, &here, &there, &from)?;
    let drawn: Vec<usize> =
        (0..test.points.len()).filter(|&n| rng.random::<f64>() < sigmoid(f_of(&there, to[n]))).collect();
    let pick = |h: &[f64]| drawn.iter().map(|&n| h[n]).collect::<Vec<_>>();
    let side = |parameters, at_events, at_drawn| Side { parameters, at_events, at_drawn };
    let events = problem.events.len();
    let walked = walk::acceptance(
        problem,
        &side(&here, &function.h[..events], &pick(&from)),
        &side(&there, &h_there[..events], &pick(&to)),
    );
    let (first, second) = (test.points.len(), test.points.len() + stay.points.len());
    let looked = if rng.random::<f64>() < walked {
        latent.f = h_there.iter().map(|&h| f_of(&there, h)).collect();
        latent.parameters = there;
        thin(rng, problem, latent, root, go, &to[second..])?
    } else {
        thin(rng, problem, latent, root, stay, &from[first..second])?
    };
    Ok(Looked { walked, ..looked })
}

/// The standardised function: its values where it is held, and the white noise they stand for.
struct Function<'a> {
    root: &'a Root,
    points: Points,
    h: Vec<f64>,
    white: Vec<f64>,
    jitter: f64,
}

impl<'a> Function<'a> {
    fn new(rng: &mut impl Rng, problem: &Problem, latent: &Latent, root: &'a Root) -> Self {
        let h = latent.standardised();
        let white = root.whiten(&h, rng);
        Self { root, points: latent.points(problem), white, h, jitter: problem.settings.jitter }
    }

    /// Its values where it is held once the length-scales have changed.
    fn moved(&self, lengthscales: &[f64]) -> Option<Vec<f64>> {
        let root = Root::new(&self.points, self.root.order().to_vec(), lengthscales, Keep::Above(self.jitter))?;
        Some(root.colour(&self.white))
    }

    /// Its values at new points, and their white noise.
    fn look(&self, rng: &mut impl Rng, new: &Points, lengthscales: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let white = sample::standard_normal(rng, new.len());
        Ok((self.values(new, &white, lengthscales)?, white))
    }

    /// The same once the parameters have changed.
    fn look_again(
        &self,
        new: &Points,
        white: &[f64],
        from: &Parameters,
        to: &Parameters,
        before: &[f64],
    ) -> Result<Vec<f64>> {
        if from.lengthscales == to.lengthscales {
            return Ok(before.to_vec());
        }
        self.values(new, white, &to.lengthscales)
    }

    fn values(&self, new: &Points, white: &[f64], lengthscales: &[f64]) -> Result<Vec<f64>> {
        let failed = Error::NotPositiveDefinite { pivot: 0, size: self.h.len() + new.len(), jitter: self.jitter };
        let (known, new) = (Noise { points: &self.points, white: &self.white }, Noise { points: new, white });
        field::continued(self.root, known, new, lengthscales, self.jitter).ok_or(failed)
    }
}

/// Where the walk would go, and the standardised function there.
fn proposal(
    rng: &mut impl Rng,
    problem: &Problem,
    function: &Function<'_>,
    walk: &Walk,
    here: &Parameters,
) -> Option<(Parameters, Vec<f64>)> {
    let there = walk.propose(rng, problem, here).filter(|there| there.ceiling <= problem.most_ceiling)?;
    if there.lengthscales == here.lengthscales {
        return Some((there, function.h.clone()));
    }
    let h = function.moved(&there.lengthscales)?;
    Some((there, h))
}

/// f where the standardised function is h.
fn f_of(parameters: &Parameters, h: f64) -> f64 {
    parameters.mean + parameters.variance.sqrt() * h
}

/// Keeps, of the candidates with these h, those that are thinned events; the old ones are forgotten.
fn thin(
    rng: &mut impl Rng,
    problem: &Problem,
    latent: &mut Latent,
    root: &mut Root,
    candidates: Candidates,
    h: &[f64],
) -> Result<Looked> {
    let Candidates { points, boxes, levels } = candidates;
    let f: Vec<f64> = h.iter().map(|&h| f_of(&latent.parameters, h)).collect();
    let share: Vec<f64> = f.iter().zip(&boxes).map(|(&f, &index)| sigmoid(f) / regions::bound(levels[index])).collect();
    let stays: Vec<bool> = share.iter().map(|share| rng.random::<f64>() > *share).collect();
    let kept = points.rows().zip(&stays).filter(|(_, stays)| **stays);
    latent.thinned = Points::of_rows(points.dims(), kept.flat_map(|(row, _)| row.to_vec()).collect());
    latent.f.truncate(problem.head.len());
    latent.f.extend(f.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(f, _)| f));
    latent.levels = levels;
    problem.check_size(latent.f.len() as f64)?;
    *root = problem.root(&latent.points(problem), &latent.parameters.lengthscales)?;
    let breaches = share.iter().filter(|share| **share > 1.0).count();
    Ok(Looked { candidates: boxes.len(), breaches, walked: 0.0 })
}

impl Candidates {
    fn new(rng: &mut impl Rng, problem: &Problem, ceiling: f64, levels: Vec<u8>) -> Result<Self> {
        let expected = problem.regions.expected_candidates(&problem.window, ceiling, &levels);
        // The process may have to look at more places than it keeps; what matters is that there is an end to it.
        problem.check_size(1e-3 * expected)?;
        let (points, boxes) = problem.regions.candidates(rng, &problem.window, ceiling, &levels);
        problem.check_size(points.len() as f64)?;
        Ok(Self { points, boxes, levels })
    }
}

/// Candidates for thinned events: rate λ* B, levels drawn given f at the watchers.
fn candidates(rng: &mut impl Rng, problem: &Problem, at: &Parameters, h: &[f64]) -> Result<Candidates> {
    let f: Vec<f64> = h[..problem.head.len()].iter().map(|&h| f_of(at, h)).collect();
    let margin = problem.regions.margin(&at.lengthscales, at.variance);
    let levels = problem.regions.draw_levels(rng, &problem.watchers, &f, margin);
    Candidates::new(rng, problem, at.ceiling, levels)
}

/// Candidates for events: rate λ*.
fn uniform(rng: &mut impl Rng, problem: &Problem, at: &Parameters) -> Result<Candidates> {
    Candidates::new(rng, problem, at.ceiling, vec![0; problem.regions.len()])
}

/// Events drawn anew given f as a function and λ*, as the joint-distribution test wants them. What was thinned in drawing them carries f
/// on, under level 0.
pub(super) fn resimulate(
    rng: &mut impl Rng,
    problem: &Problem,
    latent: &mut Latent,
    root: &mut Root,
) -> Result<Problem> {
    let Candidates { points, levels, .. } = uniform(rng, problem, &latent.parameters)?;
    let function = Function::new(rng, problem, latent, root);
    let h = function.look(rng, &points, &latent.parameters.lengthscales)?.0;
    let f: Vec<f64> = h.iter().map(|&h| f_of(&latent.parameters, h)).collect();
    let seen: Vec<bool> = f.iter().map(|&f| rng.random::<f64>() < sigmoid(f)).collect();
    let rows = |wanted: bool| {
        let chosen = points.rows().zip(&seen).filter(|(_, seen)| **seen == wanted);
        Points::of_rows(points.dims(), chosen.flat_map(|(row, _)| row.to_vec()).collect())
    };
    let values = |wanted: bool| f.iter().zip(&seen).filter(move |(_, seen)| **seen == wanted).map(|(f, _)| *f);
    let sentinels = latent.f[problem.events.len()..problem.head.len()].to_vec();
    latent.f = values(true).chain(sentinels).chain(values(false)).collect();
    (latent.levels, latent.thinned) = (levels, rows(false));
    let problem = problem.with_events(rows(true));
    *root = problem.root(&latent.points(&problem), &latent.parameters.lengthscales)?;
    Ok(problem)
}

/// λ* given the numbers of events.
pub(super) fn ceiling(rng: &mut impl Rng, problem: &Problem, latent: &mut Latent) {
    if problem.settings.fixed.ceiling.is_some() {
        return;
    }
    let prior = problem.ceiling_prior;
    let shape = prior.shape + (problem.events.len() + latent.thinned.len()) as f64;
    let rate = prior.rate() + problem.regions.filled_measure(&latent.levels);
    let drawn = Gamma::new(shape, 1.0 / rate).map_or(latent.parameters.ceiling, |gamma| gamma.sample(rng));
    if drawn <= problem.most_ceiling {
        latent.parameters.ceiling = drawn;
    }
}

/// Slice steps of f at all points; returns how many angles they tried.
pub(super) fn slices(rng: &mut impl Rng, problem: &Problem, latent: &mut Latent, root: &Root) -> usize {
    let Parameters { mean, variance, .. } = latent.parameters;
    let margin = latent.margin(problem);
    let likelihood = Likelihood::new(problem, &latent.levels, &latent.thinned);
    let mut centred: Vec<f64> = latent.f.iter().map(|f| f - mean).collect();
    let mut f = latent.f.clone();
    let mut of = |centred: &[f64]| {
        f.iter_mut().zip(centred).for_each(|(f, c)| *f = c + mean);
        likelihood.log(&f, margin)
    };
    let mut height = of(&centred);
    let mut tried = 0;
    for mut draw in root.draws(rng, problem.settings.slices) {
        draw.iter_mut().for_each(|d| *d *= variance.sqrt());
        tried += sample::elliptical_slice(rng, &mut centred, &draw, &mut height, &mut of);
    }
    latent.f = centred.iter().map(|c| c + mean).collect();
    tried
}

/// The mean of f given f.
pub(super) fn mean_given_f(rng: &mut impl Rng, problem: &Problem, latent: &mut Latent, root: &Root) {
    if problem.settings.fixed.mean.is_some() {
        return;
    }
    let weights = root.solve(&vec![1.0; latent.f.len()]);
    let prior = problem.settings.mean;
    let variance = latent.parameters.variance;
    let precision = 1.0 / (prior.sd * prior.sd) + weights.iter().sum::<f64>() / variance;
    let pull = prior.mean / (prior.sd * prior.sd) + linalg::dot(&weights, &latent.f) / variance;
    let noise: f64 = StandardNormal.sample(rng);
    latent.parameters.mean = pull / precision + noise / precision.sqrt();
}

#[cfg(test)]
mod tests {
    use super::super::diagnostics::effective;
    use super::super::settings::{self, LogNormal, Normal, Settings, Thinning};
    use super::super::walk::Over;
    use super::*;
    use pointillist::Events;
    use pointillist::Window;
    use pointillist::internals::sample::stream;

    /// Nothing but walks, thinned events and fresh data: the parameters must keep to their priors. In a whole sweep the other moves
    /// would cover up for a walk that is slightly wrong.
    #[test]
    fn walks_alone_leave_the_joint_distribution_invariant() {
        for thinning in [Thinning::Uniform, Thinning::Adaptive { regions: Some(vec![4]) }] {
            let settings = Settings {
                lengthscale: LogNormal { median: 0.3, log_sd: 0.4 },
                variance: LogNormal { median: 1.0, log_sd: 0.5 },
                mean: Normal { mean: -0.5, sd: 0.7 },
                ceiling: Some(settings::Gamma { shape: 4.0, mean: 12.0 }),
                thinning,
                warm_up: 500,
                ..Settings::default()
            };
            let events = Events::new(Points::line(&[0.2, 0.7]).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
            let mut problem = Problem::new(&events, &settings).unwrap();
            let mut rng = stream(8, 0);
            let mut latent = Latent::start(&problem, &mut rng);
            let mut root = problem.root(&latent.points(&problem), &latent.parameters.lengthscales).unwrap();
            let mut walks = [Over::Levels, Over::Lengths].map(|over| Walk::new(&problem, over));
            let mut lists = vec![Vec::new(); 8];
            for sweep in 0..20_000 {
                for walk in &mut walks {
                    let looked = thinned(&mut rng, &problem, &mut latent, &mut root, walk).unwrap();
                    if sweep < settings.warm_up {
                        walk.learn(looked.walked, sweep, &problem, &latent.parameters);
                    }
                }
                problem = resimulate(&mut rng, &problem, &mut latent, &mut root).unwrap();
                if sweep >= settings.warm_up {
                    let Parameters { ceiling, lengthscales, variance, mean } = &latent.parameters;
                    let z = [(lengthscales[0] / 0.3).ln() / 0.4, variance.ln() / 0.5, (mean + 0.5) / 0.7];
                    let all = [
                        *ceiling,
                        (ceiling - 12.0).powi(2),
                        z[0],
                        z[1],
                        z[2],
                        z[0].powi(2),
                        z[1].powi(2),
                        z[2].powi(2),
                    ];
                    lists.iter_mut().zip(all).for_each(|(list, value)| list.push(value));
                }
            }
            // Gamma with shape 4 and mean 12 has variance 36.
            for (list, want) in lists.iter().zip([12.0, 36.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]) {
                let mean = list.iter().sum::<f64>() / list.len() as f64;
                let variance = list.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / list.len() as f64;
                let se = (variance / effective(std::slice::from_ref(list))).sqrt();
                assert!((mean - want).abs() < 4.0 * se, "{:?}: {mean} {want} {se}", settings.thinning);
            }
        }
    }
}
