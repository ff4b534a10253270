//! The generative process itself: an intensity, and sets of events from it.

use super::field;
use super::regions::Regions;
use super::settings::{Parameters, Settings, Thinning};
use super::state::{refuse_exposure, sigmoid};
use pointillist::Events;
use pointillist::Points;
use pointillist::Window;
use pointillist::internals::limits;
use pointillist::internals::sample;
use pointillist::{Error, Result};
use rand::Rng;

/// Most points f is drawn at together.
const MOST_POINTS: f64 = 50_000.0;
/// Most multiplications of a draw: about a minute.
const MOST_WORK: f64 = 1e11;
/// What makes a draw smaller.
const REMEDY: &str = "a lower ceiling, a smaller window or grid, or fewer sets of events";

/// An intensity on a grid, and sets of events that it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The rate at the points asked for.
    pub rate: Vec<f64>,
    /// The sets of events, independent given the intensity. On one axis they rise; on several they come in no order.
    pub sets: Vec<Events>,
}

/// Draws one intensity λ* σ(f), and `sets` independent sets of events from it: f is drawn jointly at the candidates of all
/// sets and at `grid`, so both see the same function. The smooth part of f is drawn to its numerical rank (`field.rs`). A
/// set is the same however many follow it, and whatever the grid is.
pub fn draw(window: &Window, parameters: &Parameters, grid: &Points, sets: usize, seed: u64) -> Result<Simulated> {
    parameters.check(window.dims())?;
    refuse_exposure(window)?;
    if grid.dims() != window.dims() {
        return Err(Error::Dimension { what: "grid", expected: window.dims(), found: grid.dims() });
    }
    limits::draws("draws", sets)?;
    let settings = Settings { thinning: Thinning::Uniform, ..Settings::default() };
    let regions = Regions::new(window, 0, &settings)?;
    let expected =
        grid.len() as f64 + sets as f64 * regions.expected_candidates(window, parameters.ceiling, &[0]).max(1.0);
    check_size(expected, window, parameters, settings.jitter)?;
    // A stream for f, and one of its own for each set.
    let mut streams: Vec<_> = (1..=sets as u64).map(|set| sample::stream(seed, set)).collect();
    let candidates: Vec<Points> =
        streams.iter_mut().map(|rng| candidates(rng, &regions, window, parameters.ceiling)).collect();
    let groups: Vec<&Points> = candidates.iter().chain([grid]).collect();
    let mut rng = sample::stream(seed, 0);
    let white = field::prior_draw_in_turn(&mut rng, &groups, &parameters.lengthscales, settings.jitter);
    let rates = |white: &Vec<f64>| -> Vec<f64> {
        let f = white.iter().map(|w| parameters.mean + parameters.variance.sqrt() * w);
        f.map(|f| parameters.ceiling * sigmoid(f)).collect()
    };
    let kept = |((set, white), rng)| events(set, &sample::keep(rng, &rates(white), parameters.ceiling), window);
    let sets = candidates.iter().zip(&white).zip(&mut streams).map(kept).collect::<Result<_>>()?;
    Ok(Simulated { rate: white.last().map(rates).unwrap_or_default(), sets })
}

/// Refuses what would take too long.
fn check_size(points: f64, window: &Window, parameters: &Parameters, jitter: f64) -> Result<()> {
    if points > MOST_POINTS {
        let why = format!("at most {MOST_POINTS} can be drawn at together; take {REMEDY}");
        return Err(Error::setting("points", points.round(), why));
    }
    let sides: Vec<f64> = window.bounding_box().iter().map(|span| span.length()).collect();
    let rank = field::rank(&sides, &parameters.lengthscales, jitter).min(points);
    if points * rank * rank <= MOST_WORK {
        return Ok(());
    }
    let points = points.round();
    let why = format!("too short for a draw at {points} points; take a longer one, {REMEDY}");
    let shown: Vec<String> = parameters.lengthscales.iter().map(f64::to_string).collect();
    Err(Error::setting("lengthscale", shown.join(", "), why))
}

/// Where the events of a set may be.
fn candidates(rng: &mut impl Rng, regions: &Regions, window: &Window, ceiling: f64) -> Points {
    let points = regions.candidates(rng, window, ceiling, &[0]).0;
    if points.dims() > 1 {
        return points;
    }
    let mut places = points.coordinates().to_vec();
    places.sort_by(f64::total_cmp);
    Points::of_rows(1, places)
}

/// Those that are kept.
fn events(candidates: &Points, keep: &[bool], window: &Window) -> Result<Events> {
    let kept = candidates.rows().zip(keep).filter(|(_, keep)| **keep);
    Events::new(Points::of_rows(candidates.dims(), kept.flat_map(|(row, _)| row.to_vec()).collect()), window.clone())
}
