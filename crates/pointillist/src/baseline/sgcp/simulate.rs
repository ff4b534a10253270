//! The generative process itself: an intensity, and sets of events from it.

use super::field;
use super::regions::Regions;
use super::settings::{Parameters, Settings, Thinning};
use super::state::sigmoid;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::points::Points;
use crate::sample;
use crate::window::Window;
use rand::RngExt;

/// Most points f is drawn at together.
const MOST_POINTS: f64 = 50_000.0;

/// An intensity on a grid, and sets of events that it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The rate at the points asked for.
    pub rate: Vec<f64>,
    /// The sets of events, independent given the intensity.
    pub sets: Vec<Events>,
}

/// Draws one intensity λ* σ(f), and `sets` independent sets of events from it: f is drawn jointly at `grid` and at the candidates of all
/// sets, so both see the same function. The smooth part of f is drawn to its numerical rank (`field.rs`).
pub fn draw(window: &Window, parameters: &Parameters, grid: &Points, sets: usize, seed: u64) -> Result<Simulated> {
    parameters.check(window.dims())?;
    if grid.dims() != window.dims() {
        return Err(Error::Dimension { what: "grid", expected: window.dims(), found: grid.dims() });
    }
    let settings = Settings { thinning: Thinning::Uniform, ..Settings::default() };
    let regions = Regions::new(window, 0, &settings)?;
    let expected = grid.len() as f64 + sets as f64 * regions.expected_candidates(window, parameters.ceiling, &[0]);
    if expected > MOST_POINTS {
        return Err(Error::setting(
            "points",
            expected.round(),
            format!("at most {MOST_POINTS} can be drawn at together"),
        ));
    }
    let mut rng = sample::stream(seed, 0);
    let candidates: Vec<Points> =
        (0..sets).map(|_| regions.candidates(&mut rng, window, parameters.ceiling, &[0]).0).collect();
    let all = candidates.iter().fold(grid.clone(), |all, set| all.followed_by(set));
    let white = field::prior_draw(&mut rng, &all, &parameters.lengthscales, settings.jitter);
    let share: Vec<f64> = white.iter().map(|w| sigmoid(parameters.mean + parameters.variance.sqrt() * w)).collect();
    let (on_grid, mut rest) = share.split_at(grid.len());
    let mut kept = |set: &Points| {
        let (own, others) = rest.split_at(set.len());
        rest = others;
        let seen = set.rows().zip(own).filter(|(_, share)| rng.random::<f64>() < **share);
        Events::new(Points::new(set.dims(), seen.flat_map(|(row, _)| row.to_vec()).collect())?, window.clone())
    };
    let sets = candidates.iter().map(&mut kept).collect::<Result<_>>()?;
    Ok(Simulated { rate: on_grid.iter().map(|share| parameters.ceiling * share).collect(), sets })
}
