//! `check`: the variational answer against the exact posterior of the same model, sampled.

use super::meter::shown;
use super::summary::quantile;
use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::CheckArgs;
use crate::io::{self, ModelFile};
use pointillist::exact::Sampling;
use pointillist::limits::MOST_DRAWS;
use pointillist::{Points, Posterior};
use serde::Serialize;

/// Places at which both are compared, by the number of axes.
const PLACES: [usize; 3] = [200, 24, 8];
/// Draws of q for its Pareto k̂.
const WEIGHTS: usize = 4000;
/// k̂ above which q misses a part of the posterior.
const UNTRUSTED: f64 = 0.7;

/// How far apart two lists are, relative to the exact one.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Difference {
    pub median: f64,
    pub largest: f64,
}

/// The JSON of `check`; scripts rely on the names.
#[derive(Serialize)]
pub struct Checked {
    events: usize,
    places: usize,
    draws: usize,
    pub mean: Difference,
    #[serde(rename = "q0.05")]
    pub lower: Difference,
    #[serde(rename = "q0.95")]
    pub upper: Difference,
    log_evidence: f64,
    log_evidence_se: f64,
    /// None if the weights are beyond all comparison.
    pareto_k: Option<f64>,
}

/// Does what was asked for.
pub fn run(args: &CheckArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.draws < 100 {
        return Err(format!("--draws {} is too few for quantiles; take at least 100", args.draws).into());
    }
    if args.draws > MOST_DRAWS {
        return Err(
            format!("--draws {} is more than can be held at once; take at most {MOST_DRAWS}", args.draws).into()
        );
    }
    let model = ModelFile::read(&args.model)?;
    let posterior = &model.posterior;
    let events =
        input::events_in(&args.events, args.columns.as_deref(), posterior.window(), args.clip, &args.rows, context)?;
    if events.len() != model.event_count {
        let (found, fitted) = (events.len(), model.event_count);
        context.warn(&format!(
            "the model was fitted to {fitted} events and there are {found}: give the events of the fit"
        ));
    }
    let chains = Sampling::default().chains;
    let sampling = Sampling { draws: args.draws.div_ceil(chains), seed: context.seed(), ..Sampling::default() };
    let checked = check(posterior, &events, sampling, context)?;
    if checked.pareto_k.is_none_or(|k| k > UNTRUSTED) {
        context.warn(&format!(
            "Pareto k {} is above {UNTRUSTED}: the variational answer misses a part of the posterior",
            checked.shown_k()
        ));
    }
    let json = json_line(&checked)?;
    io::stdout_text(&if context.json() { json } else { checked.table() })?;
    Ok(Outcome::Done)
}

/// A grid over the window, without what lies outside.
fn places(posterior: &Posterior) -> Points {
    let window = posterior.window();
    let count = PLACES.get(window.dims() - 1).copied().unwrap_or(4);
    window.grid(&vec![count; window.dims()]).filter(|row| window.contains(row))
}

/// The posterior beside exact draws, over the window.
pub fn check(
    posterior: &Posterior,
    events: &Points,
    sampling: Sampling,
    context: &Context,
) -> Result<Checked, Failure> {
    let places = &places(posterior);
    let exact = shown("exact draws", context, |watch| posterior.sample_exact_watched(events, places, sampling, watch))?;
    let weights = shown("draws for Pareto k", context, |watch| {
        posterior.coverage_of_q_watched(events, WEIGHTS, sampling.seed, watch)
    })?;
    let (rate, band) = posterior.rate_and_quantiles(places, &[0.05, 0.95])?;
    let mut apart = [vec![], vec![], vec![]];
    let mut draws = 0;
    for i in 0..places.len() {
        let mut values = exact.at(i);
        values.sort_by(f64::total_cmp);
        draws = values.len();
        let mean = values.iter().sum::<f64>() / draws as f64;
        let pairs =
            [(rate.mean[i], mean), (band[0][i], quantile(&values, 0.05)), (band[1][i], quantile(&values, 0.95))];
        for (list, (ours, exact)) in apart.iter_mut().zip(pairs) {
            list.push((ours / exact - 1.0).abs());
        }
    }
    let [mean, lower, upper] = apart.map(difference);
    Ok(Checked {
        events: events.len(),
        places: places.len(),
        draws,
        mean,
        lower,
        upper,
        log_evidence: weights.value,
        log_evidence_se: weights.se,
        pareto_k: Some(weights.k).filter(|k| k.is_finite()),
    })
}

fn difference(mut apart: Vec<f64>) -> Difference {
    apart.sort_by(f64::total_cmp);
    Difference { median: quantile(&apart, 0.5), largest: quantile(&apart, 1.0) }
}

impl Checked {
    fn shown_k(&self) -> String {
        self.pareto_k.map_or("–".into(), |k| format!("{k:.2}"))
    }

    fn table(&self) -> String {
        let row = |name: &str, d: Difference| {
            format!("  {name:<16}{:>9.2} %{:>9.2} %\n", 100.0 * d.median, 100.0 * d.largest)
        };
        format!(
            "{}; {} exact draws at {} places\n  relative to exact   median    largest\n{}{}{}  log evidence    {:.3} ± {:.3}\n  Pareto k        {}\n",
            spec::plural(self.events, "event", "events"),
            self.draws,
            self.places,
            row("mean", self.mean),
            row("5 % quantile", self.lower),
            row("95 % quantile", self.upper),
            self.log_evidence,
            self.log_evidence_se,
            self.shown_k()
        )
    }
}
