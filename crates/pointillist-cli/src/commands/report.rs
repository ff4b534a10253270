//! `report`: the page to share.

use super::meter::shown;
use super::types::Chosen;
use super::{Context, Failure, Outcome, json_line};
use crate::args::ReportArgs;
use crate::io;
use crate::spelling::Options;
use pointillist_report::{Settings, page};
use std::path::Path;

/// Does what was asked for.
pub fn run(args: &ReportArgs, context: &Context) -> Result<Outcome, Failure> {
    check_name(&args.output)?;
    io::check_target(&args.output)?;
    let mut model = Chosen::read_with(&args.model, args.of.as_deref(), &args.set, context)?.one(&args.model)?;
    if !args.set.is_empty() {
        // The events were seen as the ground is: beside another one they would look amiss.
        model.events = None;
        model.source = format!("{} with {}", model.source, args.set.join(", "));
    }
    let settings = Settings { title: args.title.clone(), cells: args.cells.into() };
    if let Some(warning) = pointillist_report::warning(&model) {
        context.warn(&warning);
    }
    let html = shown("the page", |watch| page(&model, &settings, &Options, watch))?;
    io::write_atomically(&args.output, html.as_bytes())?;
    if context.json() {
        io::stdout_text(&json_line(&serde_json::json!({ "page": args.output, "bytes": html.len() }))?)?;
    }
    context.note(&format!("wrote {}; open it in any browser", args.output.display()));
    Ok(Outcome::Done)
}

/// Browsers go by the end of the name.
fn check_name(path: &Path) -> Result<(), Failure> {
    match io::ending(path).as_deref() {
        Some("html" | "htm") => Ok(()),
        _ => Err(format!("{}: the name of a page must end in .html", path.display()).into()),
    }
}
