//! `score`: how well a model foretells events it has not seen.

use super::{Context, Failure, Outcome, input, json_line, spec};
use crate::args::ScoreArgs;
use crate::io::{self, ModelFile};
use pointillist::{LogMean, Score};
use serde::Serialize;

/// Pareto k̂ above which a sampled mean cannot be trusted.
const UNTRUSTED: f64 = 0.7;

/// The JSON of `score`; scripts rely on the names.
#[derive(Serialize)]
struct Scores {
    events: usize,
    l_p: f64,
    l_0: f64,
    m_p: f64,
    m_p_se: f64,
    m_0: f64,
    m_0_se: f64,
    m_p_pareto_k: f64,
    m_0_pareto_k: f64,
    samples: usize,
}

/// Does what was asked for.
pub fn run(args: &ScoreArgs, context: &Context) -> Result<Outcome, Failure> {
    check_samples(args.samples)?;
    let model = ModelFile::read(&args.model)?;
    let window = model.posterior.window();
    let events = input::events_in(&args.heldout, args.columns.as_deref(), window, args.clip, &args.rows, context)?;
    let score = model.posterior.score(&events, args.samples, context.seed())?;
    for (name, mean) in [("m_p", score.m_p), ("m_0", score.m_0)] {
        if mean.k > UNTRUSTED {
            let k = mean.k;
            context.warn(&format!("{name} is unsure (Pareto k {k:.2} above {UNTRUSTED}): its error may be larger than it says; use more --samples"));
        }
    }
    let text = if context.json() { json_line(&scores(&score, args.samples))? } else { table(&score) };
    io::stdout_text(&text)?;
    Ok(Outcome::Done)
}

/// Whether so many draws make a score.
pub fn check_samples(samples: usize) -> Result<(), String> {
    if samples < 2 { Err(format!("--samples {samples} is too few; take at least 2")) } else { Ok(()) }
}

fn scores(score: &Score, samples: usize) -> Scores {
    Scores {
        events: score.events,
        l_p: score.l_p,
        l_0: score.l_0,
        m_p: score.m_p.value,
        m_p_se: score.m_p.se,
        m_0: score.m_0.value,
        m_0_se: score.m_0.se,
        m_p_pareto_k: score.m_p.k,
        m_0_pareto_k: score.m_0.k,
        samples,
    }
}

fn table(score: &Score) -> String {
    let sampled = |mean: LogMean| format!("{:.4} ± {:.4}", mean.value, mean.se);
    format!(
        "{}\n  l_p  {:.4}\n  l_0  {:.4}\n  m_p  {}\n  m_0  {}\n",
        spec::plural(score.events, "held-out event", "held-out events"),
        score.l_p,
        score.l_0,
        sampled(score.m_p),
        sampled(score.m_0)
    )
}
