//! `check`: the variational answer against the exact posterior of the same model, sampled.

use super::meter::shown;
use super::summary::{GoodnessSummary, quantile};
use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::CheckArgs;
use crate::io::{self, ModelFile};
use pointillist::exact::{Coverage, Sampling};
use pointillist::limits::MOST_DRAWS;
use pointillist::{Points, Posterior};
use serde::Serialize;

/// Places at which both are compared, by the number of axes.
const PLACES: [usize; 3] = [200, 24, 8];
/// Draws of q for its Pareto k̂.
const WEIGHTS: usize = 4000;
/// Components of an average that are checked at most, the heaviest.
const MOST_COMPONENTS: usize = 8;

/// How far apart two lists are, relative to the exact one.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Difference {
    pub median: f64,
    pub largest: f64,
}

/// How much of the exact posterior a band holds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Inside {
    pub mean: f64,
    pub lowest: f64,
}

/// The JSON of `check`; scripts rely on the names.
#[derive(Serialize)]
pub struct Checked {
    events: usize,
    /// Components that were checked, the heaviest, and their part of the weight.
    components: usize,
    weight: f64,
    places: usize,
    draws: usize,
    pub mean: Difference,
    #[serde(rename = "q0.05")]
    pub lower: Difference,
    #[serde(rename = "q0.95")]
    pub upper: Difference,
    /// Part of the exact posterior that lies in the printed 90 % band: on the mean over all places, and where it is lowest.
    pub inside: Inside,
    log_evidence: f64,
    log_evidence_se: f64,
    /// By how many nats the bound lies below that.
    gap: f64,
    /// None if the weights are beyond all comparison.
    pareto_k: Option<f64>,
    /// Whether the events look like events drawn from the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    goodness: Option<GoodnessSummary>,
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
    if checked.pareto_k.is_none_or(|k| k > Coverage::CLOSE) {
        context.warn(&format!(
            "Pareto k {} is above {}: the variational answer misses a part of the posterior",
            checked.shown_k(),
            Coverage::CLOSE
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
    let goodness = posterior.goodness_of_fit(events)?;
    let weight = posterior.weights().iter().take(MOST_COMPONENTS).sum::<f64>();
    let posterior = &posterior.heaviest(MOST_COMPONENTS);
    let places = &places(posterior);
    let exact = shown("exact draws", context, |watch| posterior.sample_exact_watched(events, places, sampling, watch))?;
    let weights = shown("draws for Pareto k", context, |watch| {
        posterior.coverage_of_q_watched(events, WEIGHTS, sampling.seed, watch)
    })?;
    let (rate, band) = posterior.rate_and_quantiles(places, &[0.05, 0.95])?;
    let mut apart = [vec![], vec![], vec![]];
    let (mut draws, mut held) = (0, vec![]);
    for i in 0..places.len() {
        let mut values = exact.at(i);
        values.sort_by(f64::total_cmp);
        draws = values.len();
        held.push(
            values.iter().filter(|value| (band[0][i]..=band[1][i]).contains(value)).count() as f64 / draws as f64,
        );
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
        components: posterior.weights().len(),
        weight,
        places: places.len(),
        draws,
        mean,
        lower,
        upper,
        inside: Inside {
            mean: held.iter().sum::<f64>() / held.len() as f64,
            lowest: held.iter().copied().fold(1.0, f64::min),
        },
        log_evidence: weights.log_evidence.value,
        log_evidence_se: weights.log_evidence.se,
        gap: weights.gap,
        pareto_k: Some(weights.k).filter(|k| k.is_finite()),
        goodness: goodness.as_ref().map(GoodnessSummary::new),
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

    /// Which part of an average was looked at.
    fn part(&self) -> String {
        match self.components {
            1 if self.weight > 0.999 => String::new(),
            count => format!("the heaviest {count} components, {:.0} % of the weight; ", 100.0 * self.weight),
        }
    }

    fn table(&self) -> String {
        let row = |name: &str, d: Difference| {
            format!("  {name:<16}{:>9.2} %{:>9.2} %\n", 100.0 * d.median, 100.0 * d.largest)
        };
        format!(
            "{}; {}{} exact draws at {} places\n  relative to exact   median    largest\n{}{}{}  90 % band holds {:>9.1} % of the exact posterior on the mean, {:.1} % at least\n  log evidence    {:.3} ± {:.3}, {:.3} above the bound\n  Pareto k        {}\n{}",
            spec::plural(self.events, "event", "events"),
            self.part(),
            self.draws,
            self.places,
            row("mean", self.mean),
            row("5 % quantile", self.lower),
            row("95 % quantile", self.upper),
            100.0 * self.inside.mean,
            100.0 * self.inside.lowest,
            self.log_evidence,
            self.log_evidence_se,
            self.gap,
            self.shown_k(),
            self.goodness.as_ref().map_or(String::new(), |goodness| format!("  fit             {}\n", goodness.text()))
        )
    }
}
