//! `smooth`: kernel smoothing, scored and predicted as the model is.

use super::summary::{brief, rate_unit};
use super::{Context, Failure, Outcome, input, json_line, meter, predict, spec};
use crate::args::{EdgeName, SmoothArgs};
use crate::io::{self, Column};
use crate::options::Mode;
use pointillist::Events;
use pointillist_rivals::{EdgeCorrection, KernelSmoother};
use serde::Serialize;

/// Most points of a grid.
const MOST_POINTS: usize = 10_000_000;

/// The JSON of `smooth`; scripts rely on the names.
#[derive(Serialize)]
struct Smoothed {
    events: usize,
    bandwidth: Vec<f64>,
    /// None if an event is out of reach of all others.
    loo: Option<f64>,
    edge_correction: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_likelihood: Option<f64>,
    warnings: Vec<String>,
}

/// Does what was asked for.
pub fn run(args: &SmoothArgs, context: &Context) -> Result<Outcome, Failure> {
    let rival = &args.rival;
    if rival.heldout.is_none() {
        context.refuse_idle(Mode::NothingHeldOut)?;
    }
    context.check_table(rival.output.as_deref())?;
    let loaded = input::events(&rival.events, &rival.options)?;
    loaded.refuse_idle(context)?;
    loaded.warnings.iter().for_each(|warning| context.warn(warning));
    let events = &loaded.events;
    let (edges, name) = match args.edge_correction {
        EdgeName::Truncate => (EdgeCorrection::Truncate, "truncate"),
        EdgeName::None => (EdgeCorrection::None, "none"),
    };
    let smoother = match &args.bandwidth {
        Some(bandwidth) => {
            meter::stage("sums over the events");
            KernelSmoother::with_bandwidth(events, edges, bandwidth)?
        }
        None => meter::shown("bandwidths", |watch| KernelSmoother::fit_watched(events, edges, watch))?,
    };
    smoother.warnings.iter().for_each(|warning| context.warn(warning));
    let held_out = input::held_out_of_rival(rival, events.window(), context)?;
    let smoothed = Smoothed {
        events: events.len(),
        bandwidth: smoother.bandwidth().to_vec(),
        loo: Some(smoother.loo()).filter(|loo| loo.is_finite()),
        edge_correction: name,
        log_likelihood: held_out.map(|events| smoother.log_likelihood(&events)).transpose()?,
        warnings: smoother.warnings.clone(),
    };
    if smoothed.loo.is_none() {
        context
            .warn("an event is so far from all others that without it none is expected there: the bandwidth is narrow");
    }
    if rival.asks_for_rates() {
        let points = predict::place(&rival.place, None, (events.window(), 0), MOST_POINTS, context)?;
        let mut columns = predict::coordinates(&points, events.window());
        meter::stage("the smoothed rate");
        let mean = Column::Numbers("mean".into(), smoother.rate(&points)?);
        let answers = std::iter::once(mean).chain(predict::inside(&points, &[events.window()])).collect();
        columns.extend(predict::apart(answers, events.window(), context));
        context.emit_columns(rival.output.as_deref(), &columns)?;
    }
    if !rival.asks_for_rates() || rival.output.is_some() {
        let json = json_line(&smoothed)?;
        io::stdout_text(&if context.json() { json } else { smoothed.text(&loaded.source, events) })?;
    }
    Ok(Outcome::Done)
}

impl Smoothed {
    fn text(&self, source: &str, events: &Events) -> String {
        let axes = events.window().axes();
        let unit = |unit: &Option<String>| unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
        let widths: Vec<String> = (self.bandwidth.iter().zip(axes))
            .map(|(h, axis)| format!("{} {}{}", axis.name, brief(*h), unit(&axis.unit)))
            .collect();
        let score = self.log_likelihood.map(|score| format!("  log likelihood  {score:.4}\n")).unwrap_or_default();
        format!(
            "{source}: {}, {}\n  bandwidth       {}\n  leave-one-out   {}\n  edges           {}\n{score}",
            spec::plural(self.events, "event", "events"),
            rate_unit(events.window()),
            widths.join(", "),
            self.loo.map_or("–".into(), |loo| format!("{loo:.4}")),
            self.edge_correction
        )
    }
}
