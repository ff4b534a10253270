//! `count`: the number of events in a part of the window.

use super::score::check_draws;
use super::summary::{brief, is_repeated, quantile};
use super::{Context, Failure, Outcome, json_line, spec, window};
use crate::args::CountArgs;
use crate::io::{self, ModelFile};
use pointillist::{Posterior, Window};
use serde::Serialize;
use std::collections::BTreeMap;

/// A part outside the window so small may be the rounding of a border.
const NOT_WORTH_A_WORD: f64 = 1e-6;

/// The JSON of one region; scripts rely on the names.
#[derive(Serialize)]
struct Answer {
    /// The box around the region, `[lo, hi]` for each axis.
    region: Vec<[f64; 2]>,
    #[serde(flatten)]
    expected: Moments,
    new_count: Moments,
}

/// A random number, told by a few.
#[derive(Serialize)]
struct Moments {
    mean: f64,
    sd: f64,
    quantiles: BTreeMap<String, f64>,
}

/// Does what was asked for.
pub fn run(args: &CountArgs, context: &Context) -> Result<Outcome, Failure> {
    let probabilities = spec::quantiles(&args.quantiles)?;
    check_draws(args.draws)?;
    let model = ModelFile::read(&args.model)?;
    let window = model.posterior.window();
    let parse = |text: &String| region(text, window, context);
    let mut regions = args.regions.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    if regions.is_empty() {
        // A box around a window that was looked at several times counts it once.
        let asked = if is_repeated(window) { box_around(window)? } else { window.clone() };
        regions.push(Region { name: io::show_window(window), inside: asked.clone(), asked });
    }
    let answer = |region: &Region| count(&model.posterior, region, &probabilities, args.draws, context.seed());
    let answers = regions.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
    let trial = if is_repeated(window) { ", one trial" } else { "" };
    let json = match &answers[..] {
        [answer] => json_line(answer)?,
        answers => json_line(&BTreeMap::from([("regions", answers)]))?,
    };
    let text = match (context.json(), &answers[..]) {
        (true, _) => json,
        (false, answers) => {
            let name = |region: &Region| format!("{}{trial}", region.name);
            regions.iter().zip(answers).map(|(region, answer)| table(&name(region), answer, &probabilities)).collect()
        }
    };
    io::stdout_text(&text)?;
    Ok(Outcome::Done)
}

/// A part of the window, and what to call it.
struct Region {
    name: String,
    asked: Window,
    inside: Window,
}

fn box_around(window: &Window) -> Result<Window, Failure> {
    let spans: Vec<(f64, f64)> = window.bounding_box().iter().map(|span| (span.lo, span.hi)).collect();
    Ok(Window::new(&spans)?)
}

/// The part of what `text` describes that lies in the window; what is left out is said.
fn region(text: &str, window: &Window, context: &Context) -> Result<Region, Failure> {
    let axes = window.axes();
    let asked = window::region("--in", text, axes, &vec![false; axes.len()])?;
    let Some(inside) = window.intersection(&asked) else {
        let shown = io::show_window(window);
        return Err(format!("--in {text} lies outside the window {shown}; give a part of it").into());
    };
    let outside = 1.0 - inside.volume() / asked.volume();
    if outside > NOT_WORTH_A_WORD {
        let (percent, what) = (brief(100.0 * outside), spec::measure_name(axes.len()));
        let shown = io::show_window(window);
        context
            .warn(&format!("{percent} % of the {what} of --in {text} is outside the window {shown}, and not counted"));
    }
    Ok(Region { name: text.into(), asked, inside })
}

fn count(
    posterior: &Posterior,
    region: &Region,
    probabilities: &[f64],
    samples: usize,
    seed: u64,
) -> Result<Answer, Failure> {
    let exact = posterior.count(&region.asked)?;
    let draws = posterior.count_draws(&region.asked, samples, seed)?;
    let quantiles = |mut values: Vec<f64>| -> BTreeMap<String, f64> {
        values.sort_by(f64::total_cmp);
        probabilities.iter().map(|&p| (p.to_string(), quantile(&values, p))).collect()
    };
    Ok(Answer {
        region: region.inside.bounding_box().iter().map(|span| [span.lo, span.hi]).collect(),
        expected: Moments {
            mean: exact.mean,
            sd: exact.sd,
            quantiles: quantiles(draws.iter().map(|draw| draw.0).collect()),
        },
        new_count: Moments {
            mean: exact.mean,
            // A Poisson number with a random mean: its own variance, and the mean's.
            sd: (exact.mean + exact.sd * exact.sd).sqrt(),
            quantiles: quantiles(draws.iter().map(|draw| draw.1 as f64).collect()),
        },
    })
}

fn table(name: &str, answer: &Answer, probabilities: &[f64]) -> String {
    let row = |name: &str, moments: &Moments| {
        let quantiles: String =
            probabilities.iter().map(|p| format!(" {:>11}", brief(moments.quantiles[&p.to_string()]))).collect();
        format!("  {name:<10} {:>11} {:>11}{quantiles}\n", brief(moments.mean), brief(moments.sd))
    };
    let names: String = probabilities.iter().map(|p| format!(" {:>11}", format!("q{p}"))).collect();
    let head = format!("in {name}\n  {:<10} {:>11} {:>11}{names}\n", "", "mean", "sd");
    head + &row("expected", &answer.expected) + &row("new count", &answer.new_count)
}
