//! `report`: the page to share.

use super::meter::shown;
use super::plot_options::cut;
use super::spec::plural;
use super::types::Chosen;
use super::{Context, Failure, Outcome, json_line};
use crate::args::ReportArgs;
use crate::io;
use crate::spelling::Options;
use pointillist::Window;
use pointillist_report::{Settings, page};
use std::path::Path;

/// Does what was asked for.
pub fn run(args: &ReportArgs, context: &Context) -> Result<Outcome, Failure> {
    check_name(&args.output)?;
    io::check_target(&args.output)?;
    let (mut model, ratio) = match Chosen::read_with(&args.model, args.of.as_deref(), &args.set, context)? {
        Chosen::Ratio(model) => {
            let unit = model.source.clone();
            (model, Some(unit))
        }
        chosen => (chosen.one(&args.model)?, None),
    };
    if !args.set.is_empty() {
        // The events were seen as the ground is: beside another one they would look amiss.
        model.events = None;
        model.source = format!("{} with {}", model.source, args.set.join(", "));
    }
    let times = times(args, model.posterior.window())?;
    let settings = Settings { title: args.title.clone(), cells: args.cells.into(), times, ratio };
    if let Some(warning) = pointillist_report::warning(&model, &settings) {
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

/// Where the last of three axes is cut, if it is said.
fn times(args: &ReportArgs, window: &Window) -> Result<Option<Vec<f64>>, Failure> {
    let (times, at_times) = (args.times.as_deref(), args.at_times.as_deref());
    let given = match (times, at_times) {
        (None, None) => return Ok(None),
        (Some(text), _) => format!("--times {text}"),
        (None, Some(text)) => format!("--at-times {text}"),
    };
    if window.dims() != 3 {
        let axes = plural(window.dims(), "axis", "axes");
        return Err(format!(
            "{given} is for a slider over the last of three axes, and this model has {axes}; leave it out"
        )
        .into());
    }
    let span = window.bounding_box()[2];
    let mut places = cut(times, at_times, window, 2..=Settings::MOST_TIMES)?.places(span.lo, span.hi);
    places.sort_by(f64::total_cmp);
    Ok(Some(places))
}

/// Browsers go by the end of the name.
fn check_name(path: &Path) -> Result<(), Failure> {
    match io::ending(path).as_deref() {
        Some("html" | "htm") => Ok(()),
        _ => Err(format!("{}: the name of a page must end in .html", path.display()).into()),
    }
}
