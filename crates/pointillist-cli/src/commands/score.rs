//! `score`: how well a model foretells events it has not seen.

use super::input;
use super::meter::shown;
use super::types::Chosen;
use super::{Context, Failure, Outcome, json_line, spec};
use crate::args::ScoreArgs;
use crate::io::{self, HeldOut, LooksSaidBy};
use pointillist::Score;
use pointillist::estimates::LogMean;
use pointillist::limits::MOST_DRAWS;
use serde::Serialize;

/// Pareto k̂ above which a sampled mean cannot be trusted.
const UNTRUSTED: f64 = 0.7;

/// The JSON of `score`; scripts rely on the names.
#[derive(Serialize)]
struct Scores {
    events: usize,
    /// How many looks at the window they come from.
    trials: usize,
    l_p: f64,
    l_0: f64,
    m_p: f64,
    m_p_se: f64,
    m_0: f64,
    m_0_se: f64,
    /// None where nothing was sampled.
    m_p_pareto_k: Option<f64>,
    m_0_pareto_k: Option<f64>,
    draws: usize,
}

/// Does what was asked for.
pub fn run(args: &ScoreArgs, context: &Context) -> Result<Outcome, Failure> {
    check_draws(args.draws)?;
    let model = Chosen::read(&args.model, args.of.as_deref())?.one(&args.model)?;
    let window = model.posterior.window();
    let asked = HeldOut {
        path: &args.heldout,
        columns: args.columns.as_deref(),
        repeats: args.repeats,
        trials: args.trials.as_deref(),
        trial_column: args.trial_column.as_deref(),
        rows: args.rows.settings(),
        clip: args.clip,
        said_by: LooksSaidBy::Own,
    };
    let held_out = input::held_out(&asked, window, context)?;
    let score = shown("draws for m_p and m_0", |watch| {
        model.posterior.score_watched(&held_out.events, args.draws, context.seed(), watch)
    })?;
    for (name, mean) in [("m_p", score.m_p), ("m_0", score.m_0)] {
        if mean.k > UNTRUSTED {
            let k = mean.k;
            context.warn(&format!("{name} is unsure (Pareto k {k:.2} above {UNTRUSTED}): its error may be larger than it says; use more --draws"));
        }
    }
    let json = json_line(&scores(&score, held_out.trials, args.draws))?;
    io::stdout_text(&if context.json() { json } else { table(&score, held_out.trials) })?;
    Ok(Outcome::Done)
}

/// Whether so many draws make a score.
pub fn check_draws(draws: usize) -> Result<(), String> {
    match draws {
        0 | 1 => Err(format!("--draws {draws} is too few; take at least 2")),
        2..=MOST_DRAWS => Ok(()),
        _ => Err(format!("--draws {draws} is more than can be held at once; take at most {MOST_DRAWS}")),
    }
}

fn scores(score: &Score, trials: usize, draws: usize) -> Scores {
    Scores {
        events: score.events,
        trials,
        l_p: score.l_p,
        l_0: score.l_0,
        m_p: score.m_p.value,
        m_p_se: score.m_p.se,
        m_0: score.m_0.value,
        m_0_se: score.m_0.se,
        m_p_pareto_k: Some(score.m_p.k).filter(|k| k.is_finite()),
        m_0_pareto_k: Some(score.m_0.k).filter(|k| k.is_finite()),
        draws,
    }
}

fn table(score: &Score, trials: usize) -> String {
    let of_trials = if trials == 1 { String::new() } else { format!(" of {trials} trials") };
    let sampled = |mean: LogMean| format!("{:.4} ± {:.4}", mean.value, mean.se);
    format!(
        "{}{of_trials}\n  l_p  {:.4}\n  l_0  {:.4}\n  m_p  {}\n  m_0  {}\n",
        spec::plural(score.events, "held-out event", "held-out events"),
        score.l_p,
        score.l_0,
        sampled(score.m_p),
        sampled(score.m_0)
    )
}
