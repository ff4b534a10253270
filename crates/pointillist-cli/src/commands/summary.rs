//! What a fit has to say: as JSON for scripts (the contract), and as a few lines for people.

use crate::io;
use pointillist::{Axis, Events, Fit, Method, Model, PriorMean};
use serde::Serialize;
use std::fmt::Write;

/// The JSON of `fit`; scripts rely on the names.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The bound.
    pub elbo: f64,
    /// Its parts: elbo = log_rate − integral − kl.
    pub elbo_parts: Parts,
    /// Whether the answer can be relied on.
    pub converged: bool,
    /// Why the fit stopped.
    pub stop: &'static str,
    /// Steps of the optimiser.
    pub iterations: usize,
    /// Evaluations of the bound.
    pub evaluations: usize,
    /// Wall time of the fit; absent in model files, which must not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Number of events.
    pub events: usize,
    /// Number of inducing points.
    pub inducing: usize,
    /// The same by axis, where they form a grid.
    pub inducing_grid: Vec<usize>,
    /// How they were chosen.
    pub inducing_choice: String,
    /// Part of the prior variance that they leave unexplained.
    pub unexplained: f64,
    /// The kernel.
    pub kernel: String,
    /// Where f returns to away from events.
    pub prior_mean: PriorMean,
    /// How the bound was maximised.
    pub method: &'static str,
    /// Θ, in the units of the data.
    pub hyperparameters: Hyperparameters,
    /// log p(Θ) under the priors, 0 without.
    pub log_prior: f64,
    /// Where events were looked for.
    pub window: WindowSummary,
    /// Relative jitter on K.
    pub jitter: f64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The parts of the bound.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    /// Expected log-intensity at the events.
    pub log_rate: f64,
    /// Expected number of events.
    pub integral: f64,
    /// Divergence of the posterior from the prior.
    pub kl: f64,
}

/// Θ.
#[derive(Clone, Debug, Serialize)]
pub struct Hyperparameters {
    /// γ.
    pub variance: f64,
    /// √α, one an axis.
    pub lengthscale: Vec<f64>,
    /// ū.
    pub mean: f64,
}

/// The window.
#[derive(Clone, Debug, Serialize)]
pub struct WindowSummary {
    /// Length, area or volume.
    pub measure: f64,
    /// `[lo, hi]` for each axis.
    #[serde(rename = "box")]
    pub spans: Vec<[f64; 2]>,
    /// What the axes are.
    pub axes: Vec<Axis>,
}

impl Summary {
    /// Of a fit of `model` to `events`; `warnings` of the reading come before those of the fit.
    pub fn new(model: &Model, events: &Events, fit: &Fit, mut warnings: Vec<String>) -> Self {
        let (report, posterior, window) = (&fit.report, &fit.posterior, events.window());
        let kernel = posterior.kernel();
        warnings.extend(report.warnings.iter().cloned());
        Self {
            elbo: report.bound.total(),
            elbo_parts: Parts {
                log_rate: report.bound.log_rate,
                integral: report.bound.integral(),
                kl: report.bound.kl,
            },
            converged: report.stop.converged(),
            stop: report.stop.as_str(),
            iterations: report.iterations,
            evaluations: report.evaluations,
            seconds: Some(report.seconds),
            events: events.len(),
            inducing: posterior.inducing().len(),
            inducing_grid: report.inducing.clone(),
            inducing_choice: report.inducing_choice.clone(),
            unexplained: report.unexplained,
            kernel: kernel.expression(),
            prior_mean: posterior.prior_mean(),
            method: match model.method {
                Method::Collapsed => "collapsed",
                Method::Joint => "joint",
            },
            hyperparameters: Hyperparameters {
                variance: kernel.variance,
                lengthscale: kernel.lengthscales(),
                mean: posterior.mean(),
            },
            log_prior: report.log_prior,
            window: WindowSummary {
                measure: window.measure(),
                spans: window.bounding_box().iter().map(|span| [span.lo, span.hi]).collect(),
                axes: window.axes().to_vec(),
            },
            jitter: report.jitter,
            warnings,
        }
    }

    /// The part that belongs into a model file: all but the time it took.
    pub fn for_file(&self) -> serde_json::Value {
        // Names and finite numbers always serialise.
        serde_json::to_value(Self { seconds: None, ..self.clone() }).unwrap_or_default()
    }

    /// For people.
    pub fn text(&self, source: &str) -> String {
        let axes = &self.window.axes;
        let rate = rate_unit(axes);
        let (theta, parts) = (&self.hyperparameters, &self.elbo_parts);
        let scale = |(l, axis): (&f64, &Axis)| {
            let name = if axes.len() > 1 { format!("{} ", axis.name) } else { String::new() };
            format!("{name}{}{}", brief(*l), axis.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default())
        };
        let scales: Vec<String> = theta.lengthscale.iter().zip(axes).map(scale).collect();
        let span = |(span, axis): (&[f64; 2], &Axis)| {
            let end = |v: f64| if io::time_axis(axis).is_some() { io::place(axis, v) } else { brief(v) };
            format!("{} from {} to {}", axis.name, end(span[0]), end(span[1]))
        };
        let spans: Vec<String> = self.window.spans.iter().zip(axes).map(span).collect();
        let grid: Vec<String> = self.inducing_grid.iter().map(usize::to_string).collect();
        let seconds = self.seconds.map(|s| format!(", {}", duration(s))).unwrap_or_default();
        let stop = match self.stop {
            "converged" => "converged",
            "max_evaluations" => "NOT CONVERGED, the evaluations allowed were used up",
            _ => "NOT CONVERGED, no better point was found",
        };
        let mut text =
            format!("{source}: {}, {}\n", super::spec::plural(self.events, "event", "events"), spans.join(", "));
        let mut row = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<12} {value}");
        };
        row(
            "bound",
            format!(
                "{:.4} = {:.4} log rate - {:.4} integral - {:.4} KL",
                self.elbo, parts.log_rate, parts.integral, parts.kl
            ),
        );
        if self.log_prior != 0.0 {
            row("log prior", format!("{:.4}", self.log_prior));
        }
        row("variance", format!("{} {rate}", brief(theta.variance)));
        row("lengthscale", scales.join(", "));
        row("mean", format!("{} √({rate})", brief(theta.mean)));
        row("inducing", format!("{} points; {}", grid.join("×"), self.inducing_choice));
        let (steps, evaluations) = (self.iterations, self.evaluations);
        row("stop", format!("{stop}; {steps} steps, {evaluations} evaluations{seconds}"));
        text
    }
}

/// The unit of a rate on these axes: `events per year`, `events per degree²`.
pub fn rate_unit(axes: &[Axis]) -> String {
    let units: Option<Vec<&str>> = axes.iter().map(|axis| axis.unit.as_deref().map(singular)).collect();
    let Some(units) = units else {
        return match axes {
            [axis] => format!("events per unit of {}", axis.name),
            [_, _] => "events per unit area".into(),
            _ => "events per unit volume".into(),
        };
    };
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for unit in units {
        match counted.iter_mut().find(|(seen, _)| *seen == unit) {
            Some((_, power)) => *power += 1,
            None => counted.push((unit, 1)),
        }
    }
    let power = |(unit, power): &(&str, usize)| match power {
        1 => unit.to_string(),
        2 => format!("{unit}²"),
        3 => format!("{unit}³"),
        _ => format!("{unit}^{power}"),
    };
    let factors: Vec<String> = counted.iter().map(power).collect();
    let joined = factors.join(" · ");
    if factors.len() > 1 { format!("events per ({joined})") } else { format!("events per {joined}") }
}

/// `years` → `year`.
fn singular(unit: &str) -> &str {
    unit.strip_suffix('s').filter(|short| short.len() > 2).unwrap_or(unit)
}

/// Six significant digits.
pub fn brief(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor() as i32;
    if (-4..9).contains(&exponent) {
        let text = format!("{value:.*}", (5 - exponent).max(0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
    } else {
        format!("{value:.5e}")
    }
}

fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", 1e3 * seconds) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, unit: Option<&str>) -> Axis {
        Axis { name: name.into(), unit: unit.map(String::from), origin: None }
    }

    #[test]
    fn units_and_numbers_read_well() {
        assert_eq!(rate_unit(&[axis("t", Some("days"))]), "events per day");
        assert_eq!(rate_unit(&[axis("lon", Some("degrees")), axis("lat", Some("degrees"))]), "events per degree²");
        let mixed = [axis("lon", Some("degrees")), axis("t", Some("days")), axis("lat", Some("degrees"))];
        assert_eq!(rate_unit(&mixed), "events per (degree² · day)");
        assert_eq!(rate_unit(&[axis("t", None)]), "events per unit of t");
        assert_eq!(brief(0.00123456789), "0.00123457");
        assert_eq!(brief(1851.2026), "1851.2");
        assert_eq!(brief(1e-9), "1.00000e-9");
        assert_eq!(brief(100.0), "100");
    }
}
