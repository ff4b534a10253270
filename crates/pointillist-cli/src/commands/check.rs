//! `check`: the variational answer against the exact posterior of the same model, sampled.

use super::meter::shown;
use super::summary::GoodnessSummary;
use super::{Context, Failure, Outcome, check_fit, input, json_line, spec};
use crate::args::CheckArgs;
use crate::io::{self, ModelFile};
use crate::options::Mode;
use pointillist::exact::{Coverage, Sampling};
use pointillist::limits::MOST_DRAWS;
use pointillist::{Points, Posterior};
use pointillist_rivals::check::{self, Checked, Difference};
use serde::Serialize;

/// The JSON of `check`; scripts rely on the names.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    checked: &'a Checked,
    /// Whether the events look like events drawn from the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    goodness: Option<GoodnessSummary>,
}

/// Does what was asked for.
pub fn run(args: &CheckArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.fit {
        context.refuse_idle(Mode::FitChecked)?;
        return check_fit::run(args, context);
    }
    context.refuse_idle(Mode::PosteriorChecked)?;
    let Some(path) = &args.events else {
        let model = &args.model;
        return Err(format!(
            "the exact posterior needs the events: give them after {model}, or add --fit to look at the fit alone"
        )
        .into());
    };
    if args.draws < 100 {
        return Err(format!("--draws {} is too few for quantiles; take at least 100", args.draws).into());
    }
    if args.draws > MOST_DRAWS {
        return Err(
            format!("--draws {} is more than can be held at once; take at most {MOST_DRAWS}", args.draws).into()
        );
    }
    let model = ModelFile::read(&args.model)?;
    if let Some(measured) = &model.measured {
        let (path, name) = (&args.model, &measured.name);
        return Err(format!("{path} was learned from events and {name}, and the exact posterior of both cannot be sampled; add --fit to look at the fit alone").into());
    }
    let posterior = &model.posterior;
    let events = input::events_in(path, args.columns.as_deref(), posterior.window(), args.clip, &args.rows, context)?;
    if events.len() != model.event_count {
        let (found, fitted) = (events.len(), model.event_count);
        context.warn(&format!(
            "the model was fitted to {fitted} events and there are {found}: give the events of the fit"
        ));
    }
    let chains = Sampling::default().chains;
    let sampling = Sampling { draws: args.draws.div_ceil(chains), seed: context.seed(), ..Sampling::default() };
    let checked = check(posterior, &events, sampling)?;
    if checked.pareto_k.is_none_or(|k| k > Coverage::CLOSE) {
        context.warn(&format!(
            "Pareto k {} is above {}: the variational answer misses a part of the posterior",
            shown_k(&checked),
            Coverage::CLOSE
        ));
    }
    let told = Told { checked: &checked, goodness: checked.goodness.as_ref().map(GoodnessSummary::new) };
    let json = json_line(&told)?;
    io::stdout_text(&if context.json() { json } else { told.table() })?;
    Ok(Outcome::Done)
}

/// The posterior beside exact draws, over the window.
pub fn check(posterior: &Posterior, events: &Points, sampling: Sampling) -> Result<Checked, Failure> {
    Ok(shown("exact draws", |watch| check::check(posterior, events, sampling, watch))?)
}

fn shown_k(checked: &Checked) -> String {
    checked.pareto_k.map_or("–".into(), |k| format!("{k:.2}"))
}

impl Told<'_> {
    /// Which part of an average was looked at.
    fn part(&self) -> String {
        match self.checked.components {
            1 if self.checked.weight > 0.999 => String::new(),
            count => format!("the heaviest {count} components, {:.0} % of the weight; ", 100.0 * self.checked.weight),
        }
    }

    fn table(&self) -> String {
        let row = |name: &str, d: Difference| {
            format!("  {name:<16}{:>9.2} %{:>9.2} %\n", 100.0 * d.median, 100.0 * d.largest)
        };
        format!(
            "{}; {}{} exact draws at {} places\n  relative to exact   median    largest\n{}{}{}  90 % band holds {:>9.1} % of the exact posterior on the mean, {:.1} % at least\n  log evidence    {:.3} ± {:.3}, {:.3} above the bound\n  Pareto k        {}\n{}",
            spec::plural(self.checked.events, "event", "events"),
            self.part(),
            self.checked.draws,
            self.checked.places,
            row("mean", self.checked.mean),
            row("5 % quantile", self.checked.lower),
            row("95 % quantile", self.checked.upper),
            100.0 * self.checked.inside.mean,
            100.0 * self.checked.inside.lowest,
            self.checked.log_evidence,
            self.checked.log_evidence_se,
            self.checked.gap,
            shown_k(self.checked),
            self.goodness.as_ref().map_or(String::new(), |goodness| format!("  fit             {}\n", goodness.text()))
        )
    }
}
