//! `sgcp`: the sigmoidal Gaussian Cox process, sampled; with a checkpoint to go on from.

use super::{Context, Failure, Outcome, input, json_line, meter, predict, spec, unchecked_json_line};
use crate::args::{RivalOptions, SgcpArgs, ThinningName};
use crate::interrupt;
use crate::io::{self, Column};
use crate::options::Mode;
use pointillist::{Error, Events, Window};
use pointillist_rivals::sgcp::{
    Diagnostics, Settings, Sgcp, SgcpPosterior, SgcpProgress, SgcpScore, SgcpState, Thinning,
};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// Most points of a grid.
const MOST_POINTS: usize = 100_000;
/// Draws for predictions and scores.
const DRAWS: usize = 1000;
/// No number of effective draws is said to be the end before it is.
const NEARLY: f64 = 0.95;
/// A checkpoint is written this often.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// The JSON of `sgcp`; scripts rely on the names.
#[derive(Serialize)]
struct Sampled<'a> {
    events: usize,
    #[serde(flatten)]
    diagnostics: &'a Diagnostics,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_likelihood: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    m_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    m_p_se: Option<f64>,
}

/// Does what was asked for.
pub fn run(args: &SgcpArgs, context: &Context) -> Result<Outcome, Failure> {
    let rival = &args.rival;
    if rival.heldout.is_none() {
        context.refuse_idle(Mode::NothingHeldOut)?;
    }
    context.check_table(rival.output.as_deref())?;
    if let Some(path) = &args.checkpoint {
        io::check_target(path)?;
    }
    let loaded = input::events(&rival.events, &rival.options)?;
    loaded.refuse_idle(context)?;
    loaded.warnings.iter().for_each(|warning| context.warn(warning));
    let events = &loaded.events;
    // Better now than after minutes.
    let held_out = input::held_out_of_rival(rival, events.window(), context)?;
    // There is nothing to go on from in a device, and no end to some.
    let mut run = match args.checkpoint.as_deref().filter(|path| path.is_file()) {
        Some(path) => resumed(path, events, settings(args, context), context)?,
        None => Sgcp::new(events, &settings(args, context))?,
    };
    sample(&mut run, args.checkpoint.as_deref(), context)?;
    let posterior = run.posterior();
    if posterior.diagnostics().draws == 0 {
        return Err("no draw was kept, so there is nothing to say; allow more with --max-sweeps".to_string().into());
    }
    let score = held_out.map(|events| posterior.score(&events, DRAWS, context.seed())).transpose()?;
    if rival.asks_for_rates() {
        rates(rival, &posterior, events.window(), context)?;
    }
    if !posterior.diagnostics().converged {
        context
            .warn("the chains did not reach the R-hat and the effective draws asked for; allow more with --max-sweeps");
    }
    if !rival.asks_for_rates() || rival.output.is_some() {
        let sampled = sampled(events.len(), posterior.diagnostics(), score.as_ref());
        // After a few sweeps an R-hat may be none yet; the exit code says what that is worth.
        let json =
            if posterior.diagnostics().converged { json_line(&sampled)? } else { unchecked_json_line(&sampled)? };
        let text = match context.json() {
            true => json,
            false => table(&loaded.source, events.len(), posterior.diagnostics(), score.as_ref()),
        };
        io::stdout_text(&text)?;
    }
    Ok(if posterior.diagnostics().converged { Outcome::Done } else { Outcome::NotConverged })
}

fn settings(args: &SgcpArgs, context: &Context) -> Settings {
    Settings {
        chains: args.chains,
        warm_up: args.warm_up,
        most_sweeps: args.max_sweeps,
        r_hat: args.r_hat,
        effective: args.effective,
        thinning: match args.thinning {
            ThinningName::Adaptive => Thinning::Adaptive { regions: None },
            ThinningName::Uniform => Thinning::Uniform,
        },
        seed: context.seed(),
        ..Settings::default()
    }
}

/// The run that a checkpoint holds, to be ended as the settings say. In all else it must be the run that was asked for.
fn resumed(path: &Path, events: &Events, settings: Settings, context: &Context) -> Result<Sgcp, Failure> {
    let name = path.display();
    let mut state = io::read_checkpoint(path)?;
    if let Some(difference) = difference(&state, events, &settings) {
        return Err(format!(
            "{name} is a checkpoint of another run: {difference}; repeat that command, or give another --checkpoint"
        )
        .into());
    }
    state.settings = settings;
    let run =
        Sgcp::from_state(state).map_err(|error| format!("{name} is damaged ({error}); remove it to start anew"))?;
    context.note(&format!("going on from {name}, after {} sweeps", run.sweeps()));
    Ok(run)
}

/// How a run that was saved differs from one that is asked for, but for when it ends.
fn difference(saved: &SgcpState, events: &Events, settings: &Settings) -> Option<String> {
    let (before, now) = (&saved.window, events.window());
    if saved.events != *events.points() {
        return Some(format!("its {} are not the {} of now", count(saved.events.len()), count(events.len())));
    }
    if before != now {
        let shown = [before, now].map(|window| (io::show_window(window), window.measure()));
        return Some(match shown {
            [before, now] if before != now => {
                format!("its window is {} with a measure of {}, not {} with {}", before.0, before.1, now.0, now.1)
            }
            _ => "its window has other axes or other pieces".into(),
        });
    }
    let told = |settings: &Settings| {
        let Settings { chains, warm_up, thinning, seed, .. } = settings;
        let thinning = if *thinning == Thinning::Uniform { "uniform" } else { "adaptive" };
        format!("--chains {chains} --warm-up {warm_up} --thinning {thinning} --seed {seed}")
    };
    let Settings { most_sweeps, r_hat, effective, .. } = *settings;
    let same = Settings { most_sweeps, r_hat, effective, ..saved.settings.clone() } == *settings;
    (!same).then(|| format!("it has {}, not {}", told(&saved.settings), told(settings)))
}

fn count(events: usize) -> String {
    spec::plural(events, "event", "events")
}

/// Samples to the end, showing progress and saving checkpoints.
fn sample(run: &mut Sgcp, checkpoint: Option<&Path>, context: &Context) -> Result<(), Failure> {
    meter::stage("warming up");
    let Settings { most_sweeps, effective: enough, .. } = run.state().settings;
    let mut saved = Instant::now();
    let mut trouble = None;
    // Without a place to save itself to, a run that is told to end just ends.
    let _saving = checkpoint.map(|_| interrupt::Saving::begin());
    let outcome = run.run(&mut |run: &Sgcp, progress: &SgcpProgress| {
        let SgcpProgress { sweeps, warming, r_hat, effective, .. } = progress;
        let stage = if *warming { "warming up" } else { "sampling" };
        // It ends with enough effective draws, whose number grows with that of the sweeps, or with the last sweep.
        let part = (*sweeps as f64 / most_sweeps as f64).max((effective / enough).min(NEARLY));
        meter::show(&format!("{stage}, {sweeps} sweeps, R-hat {r_hat:.3}, {effective:.0} effective draws"), part);
        let stop = interrupt::is_asked();
        if let Some(path) = checkpoint.filter(|_| stop || saved.elapsed() > CHECKPOINT) {
            trouble = io::write_checkpoint(path, run.state()).err();
            saved = Instant::now();
        }
        if stop || trouble.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(error) = trouble {
        return Err(error.into());
    }
    if let (Err(Error::Cancelled), Some(path)) = (&outcome, checkpoint) {
        context.note(&format!("stopped; the same command goes on from {}", path.display()));
    }
    outcome?;
    // So that it can be gone on with by a larger --max-sweeps.
    Ok(checkpoint.map_or(Ok(()), |path| io::write_checkpoint(path, run.state()))?)
}

fn rates(rival: &RivalOptions, posterior: &SgcpPosterior, window: &Window, context: &Context) -> Result<(), Failure> {
    let points = predict::place(&rival.place, None, (window, 0), MOST_POINTS, context)?;
    let probabilities = [0.05, 0.5, 0.95];
    let rate = posterior.rate(&points, DRAWS, context.seed())?;
    let quantiles = posterior.quantiles(&points, &probabilities, DRAWS, context.seed())?;
    let mut columns = predict::coordinates(&points, window);
    let mut answers = vec![Column::Numbers("mean".into(), rate.mean), Column::Numbers("sd".into(), rate.sd)];
    answers.extend(probabilities.iter().zip(quantiles).map(|(p, values)| Column::Numbers(format!("q{p}"), values)));
    answers.extend(predict::inside(&points, &[window]));
    columns.extend(predict::apart(answers, window, context));
    context.emit_columns(rival.output.as_deref(), &columns)
}

fn sampled<'a>(events: usize, diagnostics: &'a Diagnostics, score: Option<&SgcpScore>) -> Sampled<'a> {
    Sampled {
        events,
        diagnostics,
        log_likelihood: score.map(|score| score.plug_in),
        m_p: score.map(|score| score.log_predictive.value),
        m_p_se: score.map(|score| score.log_predictive.se),
    }
}

fn table(source: &str, events: usize, diagnostics: &Diagnostics, score: Option<&SgcpScore>) -> String {
    let Diagnostics { sweeps, draws, seconds, thinned, thinned_uniform, .. } = diagnostics;
    let mut text = format!(
        "{source}: {}; {sweeps} sweeps of each chain, {draws} draws kept, {seconds:.1} s\n  {:<16}{:>12}{:>12}{:>9}{:>11}\n",
        spec::plural(events, "event", "events"),
        "",
        "mean",
        "sd",
        "R-hat",
        "effective"
    );
    for watched in &diagnostics.watched {
        text += &format!(
            "  {:<16}{:>12.5}{:>12.5}{:>9.3}{:>11.0}\n",
            watched.name, watched.mean, watched.sd, watched.r_hat, watched.effective
        );
    }
    text += &format!("  thinned events   {thinned:.0}, where uniform thinning would have {thinned_uniform:.0}\n");
    if let Some(score) = score {
        let m_p = score.log_predictive;
        text +=
            &format!("  log likelihood   {:.4}\n  m_p              {:.4} ± {:.4}\n", score.plug_in, m_p.value, m_p.se);
    }
    text
}
