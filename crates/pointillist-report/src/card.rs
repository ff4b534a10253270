//! What the fit said of itself, as HTML: a table, warnings, and the command.

use super::{Settings, escaped};
use pointillist_io::fit_summary::{Summary, WindowSummary};
use pointillist_io::joint_summary::Row;
use pointillist_io::measured::MeasuredSummary;
use pointillist_io::types::TypesSummary;
use pointillist_io::{ModelFile, Spelling};
use serde::Deserialize;

/// One sentence under the heading.
pub fn lead(model: &ModelFile, summary: Option<&Summary>, settings: &Settings) -> String {
    let own = || WindowSummary::new(model.posterior.window(), None).reach();
    let reach = summary.map_or_else(own, |summary| summary.window.reach());
    if settings.ratio.is_some() {
        return format!("{}, {reach}", model.source);
    }
    let events = match model.event_count {
        1 => "1 event".to_string(),
        count => format!("{count} events"),
    };
    format!("{events}, {reach}")
}

/// The warnings and the lines of a fit of whatever kind.
fn said(model: &ModelFile, summary: Option<&Summary>, spelling: &impl Spelling) -> Option<(Vec<String>, Vec<Row>)> {
    if let Some(summary) = summary {
        return Some((summary.warnings.clone(), summary.rows(spelling)));
    }
    // All fields of these summaries may be missing: the model says which of them it is.
    match model.measured {
        Some(_) => MeasuredSummary::deserialize(&model.summary).ok().map(|of| (of.joint.warnings.clone(), of.rows())),
        None => TypesSummary::deserialize(&model.summary).ok().map(|of| (of.joint.warnings.clone(), of.rows())),
    }
}

/// All of it, with a warning about the page itself.
pub fn card(
    model: &ModelFile,
    summary: Option<&Summary>,
    (settings, of_page): (&Settings, Option<String>),
    spelling: &impl Spelling,
) -> String {
    let Some((mut warnings, rows)) = said(model, summary, spelling) else { return String::new() };
    warnings.extend(of_page);
    let mut html = String::new();
    if !warnings.is_empty() {
        html += "<section aria-label=\"Warnings\">\n<h2>What to know before trusting it</h2>\n";
        for warning in &warnings {
            html += &format!("<p class=\"warning\">{}</p>\n", escaped(warning));
        }
        html += "</section>\n";
    }
    html += "<section aria-label=\"The fit\">\n<h2>The fit</h2>\n<table id=\"card\">\n";
    let row = |name: &str, value: &str| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value))
    };
    if settings.ratio.is_none() {
        html += &row("events", &format!("{} from {}", model.event_count, model.source));
    }
    rows.iter().for_each(|(name, value)| html += &row(name, value));
    if let Some(crs) = &model.reference.crs {
        html += &row("coordinates", crs);
    }
    html += "</table>\n</section>\n";
    if let Some(command) = &model.command {
        html += &format!(
            "<section aria-label=\"The command\">\n<h2>Made with</h2>\n<pre><code>{}</code></pre>\n</section>\n",
            escaped(command)
        );
    }
    html
}
