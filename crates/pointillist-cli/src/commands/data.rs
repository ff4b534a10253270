//! `data`: the bundled sets.

use super::{Context, Failure, Outcome, json_line};
use crate::args::DataArgs;
use crate::datasets::{self, DATASETS, Dataset};
use crate::io::{self, Written};
use crate::spelling::spelled;

/// Does what was asked for.
pub fn run(args: &DataArgs, context: &Context) -> Result<Outcome, Failure> {
    let Some(name) = &args.name else {
        let text =
            if context.json() { listed_as_json()? } else { DATASETS.iter().map(entry).collect::<Vec<_>>().join("\n") };
        context.emit(args.output.as_deref(), &text)?;
        return Ok(Outcome::Done);
    };
    let set = datasets::find(name)
        .ok_or_else(|| format!("there is no bundled set called {name}; there are: {}", datasets::names()))?;
    let text = match (args.border, context.json()) {
        (true, _) => {
            let there = datasets::border_names();
            let border = set.border.ok_or_else(|| format!("{name} has no border; those that have one: {there}"))?;
            String::from_utf8_lossy(border.geojson).into_owned()
        }
        (false, true) => json_line(&described(set))?,
        (false, false) => String::from_utf8_lossy(set.csv).into_owned(),
    };
    if let Some(path) = &args.output {
        let written = match (args.border, context.json()) {
            (true, _) => Written::GeoJson,
            (false, true) => Written::Json,
            (false, false) => Written::Csv,
        };
        io::check_name(path, written)?;
    }
    context.emit(args.output.as_deref(), &text)?;
    Ok(Outcome::Done)
}

fn entry(set: &Dataset) -> String {
    let Dataset { name, what, events, source, licence, .. } = set;
    let options = spelled(&set.default_settings());
    let border =
        set.border.map(|border| format!("  border: --window {name} ({})\n", border.source)).unwrap_or_default();
    format!("{name}\n  {what}\n  {events} events, {options}\n{border}  source: {source}\n  licence: {licence}\n")
}

fn described(set: &Dataset) -> serde_json::Value {
    serde_json::json!({
        "name": set.name,
        "what": set.what,
        "events": set.events,
        "columns": set.default_columns,
        "window": set.default_window(),
        "repeats": set.repeats,
        "border": set.border.map(|border| border.source),
        "source": set.source,
        "licence": set.licence,
    })
}

fn listed_as_json() -> Result<String, Failure> {
    json_line(&serde_json::json!({ "sets": DATASETS.iter().map(described).collect::<Vec<_>>() }))
}
