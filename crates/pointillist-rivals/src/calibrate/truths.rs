//! Coverage on intensities that come from no prior.

use super::{Mean, Progress, median};
use pointillist::internals::parallel;
use pointillist::watch::PartWatch;
use pointillist::{Error, Events, Intensity, Model, Points, Posterior, Result, Simulation, Window};

/// Places at which λ is looked at along each axis, by dimensions, and parts of each side over which a truth is integrated.
const PLACES: [usize; 2] = [100, 15];
const PARTS: [usize; 2] = [20_000, 400];
/// Draws of counts.
const DRAWS: usize = 1000;
/// The interval whose coverage is told.
const INTERVAL: [f64; 2] = [0.05, 0.95];

/// A known intensity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truth {
    /// What it is called.
    pub name: &'static str,
    /// λ, of x and y.
    pub formula: &'static str,
    /// The window.
    pub window: &'static [(f64, f64)],
    /// Where λ is looked at; elsewhere it may be 0, which no interval holds.
    pub looked_at: &'static [(f64, f64)],
}

const UNIT: (f64, f64) = (0.0, 1.0);

/// The known intensities: flat ones, those of Adams, Murray and MacKay (2009), bumps, and a cluster in a wide window.
pub const TRUTHS: [Truth; 8] = [
    Truth { name: "flat, line", formula: "50", window: &[UNIT], looked_at: &[UNIT] },
    Truth { name: "flat, plane", formula: "100", window: &[UNIT, UNIT], looked_at: &[UNIT, UNIT] },
    Truth {
        name: "Adams 1",
        formula: "2*exp(-x/15) + exp(-((x - 25)/10)^2)",
        window: &[(0.0, 50.0)],
        looked_at: &[(0.0, 50.0)],
    },
    Truth { name: "Adams 2", formula: "5*sin(x^2) + 6", window: &[(0.0, 5.0)], looked_at: &[(0.0, 5.0)] },
    Truth {
        name: "Adams 3",
        formula: "interp(x, 0,2, 25,3, 50,1, 75,2.5, 100,3)",
        window: &[(0.0, 100.0)],
        looked_at: &[(0.0, 100.0)],
    },
    Truth {
        name: "three bumps, line",
        formula: "30 + 400*exp(-0.5*((x - 0.2)/0.05)^2) + 250*exp(-0.5*((x - 0.5)/0.1)^2) + 500*exp(-0.5*((x - 0.85)/0.03)^2)",
        window: &[UNIT],
        looked_at: &[UNIT],
    },
    Truth {
        name: "three bumps, plane",
        formula: "40 + 600*exp(-0.5*((x - 0.3)^2 + (y - 0.3)^2)/0.01) + 400*exp(-0.5*((x - 0.7)^2 + (y - 0.6)^2)/0.0225) \
                  + 800*exp(-0.5*((x - 0.25)^2 + (y - 0.8)^2)/0.0049)",
        window: &[UNIT, UNIT],
        looked_at: &[UNIT, UNIT],
    },
    Truth {
        name: "cluster",
        formula: "200*step(x - 250)*step(251 - x)",
        window: &[(0.0, 1000.0)],
        looked_at: &[(250.0, 251.0)],
    },
];

/// How the answers to sets of a known intensity did. All intervals have 90 %.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Covered {
    /// What the intensity is called.
    pub name: String,
    /// λ.
    pub formula: String,
    /// Sets that were fitted.
    pub sets: usize,
    /// Events in a set.
    pub events: f64,
    /// The part of the places at which the interval of λ holds it.
    pub band: Mean,
    /// How often the interval of the expected number of events holds it: in the window, …
    pub total: Mean,
    /// … and in the first half of it.
    pub half: Mean,
    /// The true number in the second half, and the mean of its posterior means.
    pub second_half: (f64, f64),
    /// The median of the standard deviation of the total over √N.
    pub deviation: f64,
    /// ∫(mean − λ)² over where it is looked at.
    pub squared_error: Mean,
}

/// What came of one set.
struct Answer {
    events: f64,
    band: f64,
    total: f64,
    half: f64,
    second_half: f64,
    deviation: f64,
    squared_error: f64,
}

/// A truth with what is asked of it.
struct Asked {
    places: Points,
    rates: Vec<f64>,
    /// What one place stands for.
    volume: f64,
    /// The window and both halves.
    regions: [Window; 3],
    expected: [f64; 3],
}

/// Fits sets of a known intensity, and looks how often intervals hold it. The same on any number of threads.
pub fn cover(truth: &Truth, model: &Model, sets: usize, seed: u64, watch: &PartWatch<'_>) -> Result<Covered> {
    if sets == 0 {
        return Err(Error::setting("sets", sets, "must be at least 1"));
    }
    let intensity = Intensity::parse(truth.formula, &["x", "y"][..truth.window.len()])
        .map_err(|error| Error::setting("formula", truth.formula, error.to_string()))?;
    let window = Window::new(truth.window)?;
    let simulation = Simulation::new(&window, |place| intensity.at(place))?;
    let asked = Asked::new(truth, &intensity, &window)?;
    let progress = Progress::new(sets, watch);
    let answers = parallel::try_each(sets, |number| {
        let events = Events::new(simulation.draw(seed, number as u64)?, window.clone())?;
        let answer = asked.of(&model.fit(&events)?.posterior, events.len(), seed)?;
        progress.advance()?;
        Ok::<_, Error>(answer)
    })?;
    let over = |pick: fn(&Answer) -> f64| answers.iter().map(pick).collect::<Vec<_>>();
    let mean = |pick: fn(&Answer) -> f64| Mean::of(&over(pick));
    Ok(Covered {
        name: truth.name.into(),
        formula: truth.formula.into(),
        sets,
        events: mean(|answer| answer.events).value,
        band: mean(|answer| answer.band),
        total: mean(|answer| answer.total),
        half: mean(|answer| answer.half),
        second_half: (asked.expected[2], mean(|answer| answer.second_half).value),
        deviation: median(&mut over(|answer| answer.deviation)),
        squared_error: mean(|answer| answer.squared_error),
    })
}

impl Asked {
    fn new(truth: &Truth, intensity: &Intensity, window: &Window) -> Result<Self> {
        let dims = truth.window.len();
        let places = middles(truth.looked_at, PLACES[dims - 1])?;
        let (lo, hi) = truth.window[0];
        let with_first = |first: (f64, f64)| {
            let mut sides = truth.window.to_vec();
            sides[0] = first;
            sides
        };
        let halves = [with_first((lo, 0.5 * (lo + hi))), with_first((0.5 * (lo + hi), hi))];
        let integral = |sides: &[(f64, f64)]| {
            let points = middles(sides, PARTS[dims - 1])?;
            Ok::<f64, Error>(
                measure(sides) * points.rows().map(|row| intensity.at(row)).sum::<f64>() / points.len() as f64,
            )
        };
        let (first, second) = (integral(&halves[0])?, integral(&halves[1])?);
        Ok(Self {
            rates: places.rows().map(|row| intensity.at(row)).collect(),
            volume: measure(truth.looked_at) / places.len() as f64,
            places,
            regions: [window.clone(), Window::new(&halves[0])?, Window::new(&halves[1])?],
            expected: [first + second, first, second],
        })
    }

    fn of(&self, posterior: &Posterior, events: usize, seed: u64) -> Result<Answer> {
        let (mean, band) = posterior.rate_and_quantiles(&self.places, &INTERVAL)?;
        let truths = self.rates.iter().enumerate();
        let held = truths.clone().filter(|(i, rate)| band[0][*i] <= **rate && **rate <= band[1][*i]).count();
        let counts = posterior.joint_counts(&self.regions, DRAWS, seed)?;
        let holds = |region: usize| {
            let interval = counts.quantiles(region, &INTERVAL);
            f64::from(interval[0] <= self.expected[region] && self.expected[region] <= interval[1])
        };
        Ok(Answer {
            events: events as f64,
            band: held as f64 / self.rates.len() as f64,
            total: holds(0),
            half: holds(1),
            second_half: counts.moments()[2].mean,
            deviation: counts.moments()[0].sd / (events as f64).sqrt(),
            squared_error: self.volume * truths.map(|(i, rate)| (mean.mean[i] - rate).powi(2)).sum::<f64>(),
        })
    }
}

/// The middles of so many equal parts of each side.
fn middles(sides: &[(f64, f64)], parts: usize) -> Result<Points> {
    let middle = |(lo, hi): (f64, f64), i: usize| lo + (hi - lo) * (i as f64 + 0.5) / parts as f64;
    let rows: Vec<f64> = match sides {
        [one] => (0..parts).map(|i| middle(*one, i)).collect(),
        [one, other, ..] => {
            (0..parts).flat_map(|i| (0..parts).flat_map(move |j| [middle(*one, i), middle(*other, j)])).collect()
        }
        [] => vec![],
    };
    Points::new(sides.len(), rows)
}

fn measure(sides: &[(f64, f64)]) -> f64 {
    sides.iter().map(|(lo, hi)| hi - lo).product()
}
