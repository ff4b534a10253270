//! The page to share: an intensity with its uncertainty as one HTML file that opens offline.
//!
//! [`page`] asks the posterior for its numbers on a line or on cells of a map (`layers.rs`), puts them as compressed text into the page (`pack.rs`), beside a card of what
//! the fit said of itself (`card.rs`). Where the model keeps its events, counts in bins and pairs stand beside what is expected of them (`looked_at.rs`). What is drawn is drawn by the page's own script (`page/script.js`): nothing is loaded from elsewhere.

mod card;
mod layers;
mod looked_at;
mod pack;

use pointillist::Result;
use pointillist::watch::PartWatch;
use pointillist_io::fit_summary::Summary;
use pointillist_io::{ModelFile, Spelling};
use serde::Deserialize;

const PAGE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/style.css");
const SCRIPT: &str = include_str!("../page/script.js");

/// What to put into a page.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The heading; the name of the events' file without.
    pub title: Option<String>,
    /// About how many cells a map has on each side.
    pub cells: usize,
    /// Places of a third axis at which a map is shown, rising; even ones without.
    pub times: Option<Vec<f64>>,
    /// What the numbers are, where they are no rate but a ratio of two.
    pub ratio: Option<String>,
}

impl Settings {
    /// Cells of a map on each side, unless said otherwise, …
    pub const CELLS: usize = 200;
    /// … and at most.
    pub const MOST_CELLS: usize = 400;
    /// Maps over time, at most.
    pub const MOST_TIMES: usize = 200;
}

impl Default for Settings {
    fn default() -> Self {
        Self { title: None, cells: Self::CELLS, times: None, ratio: None }
    }
}

/// The page of a model. Settings in its advice are spelled so; `watch` hears which part is done.
pub fn page(model: &ModelFile, settings: &Settings, spelling: &impl Spelling, watch: &PartWatch<'_>) -> Result<String> {
    let what = settings.ratio.as_ref().map_or("Intensity of", |_| "Rate of");
    let title = settings.title.clone().unwrap_or_else(|| format!("{what} {}", model.source));
    let summary = Summary::deserialize(&model.summary).ok();
    let data = layers::of(model, settings, watch)?;
    // Nothing in the data may end its script.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("title", escaped(&title)),
        ("lead", escaped(&card::lead(model, summary.as_ref(), settings))),
        ("card", card::card(model, summary.as_ref(), (settings, warning(model, settings)), spelling)),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("style", STYLE.into()),
        ("data", data),
        ("script", SCRIPT.into()),
    ];
    Ok(filled(&parts))
}

/// What to know of the page of a model beside what its fit said.
pub fn warning(model: &ModelFile, settings: &Settings) -> Option<String> {
    layers::warning(&model.posterior, settings)
}

/// The page with its parts. Each place is filled once, so that nothing in a part is taken for a place.
fn filled(parts: &[(&str, String)]) -> String {
    let mut page = String::with_capacity(PAGE.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        page += before;
        page += parts.iter().find(|(own, _)| *own == name).map_or("", |(_, text)| text);
        rest = after;
    }
    page + rest
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
