//! `plot`: a figure of a model, or of events, which are fitted first.

use super::check_fit::even_bins;
use super::figure::{self, Look};
use super::quantity::Quantity;
use super::summary::brief;
use super::types::{Chosen, held};
use super::{
    Context, Failure, Outcome, colour, components, fit, input, json_line, measured, plot_options, spec, terminal,
};
use crate::args::PlotArgs;
use crate::io::{self, KeptEvents, ModelFile};
use crate::options::Mode;
use pointillist::Window;
use pointillist::measurements::MeasuredPosterior;
use pointillist::report::Bin;
use pointillist_plot::{Curve, CurveFigure, Figure, MapFigure, Picture, Size, Style};
use std::path::Path;

/// Pixels of a PNG for each unit of the SVG: on a screen, and for 600 dots an inch on paper.
const SCREEN_SCALE: f64 = 2.0;
const PAPER_SCALE: f64 = 5.0;
/// Lines of a terminal picture.
const LINES: usize = 20;
/// Most models over another.
const MOST_OTHERS: usize = 4;

/// The formats of figures.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Pdf,
    Png,
}

/// Does what was asked for.
pub fn run(args: &PlotArgs, context: &Context) -> Result<Outcome, Failure> {
    let show = refuse_early(args, context)?;
    let format = args.output.as_deref().map(format).transpose()?;
    if let Some(path) = &args.output {
        io::check_target(path)?;
    }
    let mut style = plot_options::style(&args.figure)?;
    if show.is_probability() {
        style.limits = Some((0.0, 1.0));
    }
    let band = band(&args.quantiles)?;
    let others = others(args)?;
    let Subject { mut model, is_ratio, values, outcome } = subject(args, context)?;
    if let Some(path) = &args.overlay {
        let points = input::points(path, None, model.posterior.window().axes(), &args.options.events.rows)?.points;
        model.events = Some(KeptEvents { points, trials: None });
    }
    let mut look = look(args, show, band, &style, model.posterior.window())?;
    if model.posterior.window().dims() == 1 {
        look.until = plot_options::until(&args.figure, model.posterior.window())?;
    }
    if is_ratio {
        if let Some(with) = args.figure.with.first() {
            return Err(format!(
                "--with {with} would draw a rate over {}, which is a ratio; leave one of them out",
                model.source
            )
            .into());
        }
        look.title.get_or_insert_with(|| format!("Rate of {}", model.source));
        look.unit = Some(model.source.clone());
    }
    let times = look.times.as_ref().filter(|_| !args.components);
    if let Some(warning) = times.and_then(|times| figure::aliasing(&model.posterior, Some(times))) {
        context.warn(&warning);
    }
    if let Some(values) = values {
        let given = [
            ("--components", args.components),
            ("--with", !args.figure.with.is_empty()),
            ("--mark-anomalies", args.figure.mark_anomalies),
        ];
        measured::refuse_rates(values.name(), &given)?;
        look.values = Some(values);
    }
    // How uncertain a value is has its zero, as a rate has.
    let (has_values, is_of_values) = (look.values.is_some(), look.values.is_some() && look.show != Quantity::Sd);
    if args.figure.mark_anomalies {
        look.anomalies = anomalies(args, &model, context)?;
    }
    let figure = match model.posterior.window().dims() {
        _ if args.components => components::picture(&model, band, args.title.clone())?,
        1 => Figure::Curve(overlaid(args, &model, others, look, context)?),
        _ => figure::of_model(&model, &look)?,
    };
    if has_values && style.log && lowest(&figure) <= 0.0 {
        return Err("--log: values of 0 or less have no logarithm; leave it out".to_string().into());
    }
    if let (true, false, Figure::Curve(curve)) = (is_of_values, style.log, &figure) {
        style.limits = style.limits.or_else(|| reach(curve));
    }
    if context.json() {
        io::stdout_text(&json_line(&serde_json::json!({ "figure": args.output, "events": model.event_count }))?)?;
    } else if args.terminal || args.output.is_none() {
        io::stdout_text(&figure.terminal_in(&style, terminal().0, LINES, colour()))?;
    }
    if let (Some(path), Some(format)) = (&args.output, format) {
        io::write_atomically(path, &written(&figure.picture(&style), format, &style)?)?;
        context.note(&format!("wrote {}", path.display()));
    }
    Ok(outcome)
}

/// Refuses options that do nothing beside others; gives what is shown.
fn refuse_early(args: &PlotArgs, context: &Context) -> Result<Quantity, Failure> {
    if context.json() {
        context.refuse_idle(if args.output.is_some() { Mode::PictureAsJson } else { Mode::NoPicture })?;
    }
    if args.output.is_none() {
        context.refuse_idle(Mode::OnlyTerminal)?;
    }
    let show = Quantity::parse(&args.figure.show)?;
    if !show.has_band() {
        context.refuse_idle(Mode::NoBand(&args.figure.show))?;
    }
    if show.is_probability() {
        context.refuse_idle(Mode::Probabilities)?;
    }
    if args.components {
        context.refuse_idle(Mode::Components)?;
    }
    Ok(show)
}

/// The bytes of a file.
fn written(picture: &Picture, format: Format, style: &Style) -> Result<Vec<u8>, Failure> {
    Ok(match format {
        Format::Svg => picture.svg().into_bytes(),
        Format::Pdf => picture.pdf(),
        Format::Png => picture.png(if style.size == Size::Screen { SCREEN_SCALE } else { PAPER_SCALE })?,
    })
}

/// What is shown of the subject, and in which words.
fn look(args: &PlotArgs, show: Quantity, band: (f64, f64), style: &Style, window: &Window) -> Result<Look, Failure> {
    let times = if window.dims() == 3 { Some(plot_options::times(&args.figure, window)?) } else { None };
    // A narrow figure has two maps in a row, and four maps make a square.
    let is_narrow = matches!(style.size, Size::Wide(width) | Size::Paper(width, _) if width < 120.0);
    let columns = if is_narrow || times.as_ref().is_some_and(|times| times.count() == 4) { 2 } else { 3 };
    Ok(Look {
        show,
        band,
        title: args.title.clone(),
        x_label: args.figure.xlabel.clone(),
        y_label: args.figure.ylabel.clone(),
        marks: Vec::new(),
        anomalies: Vec::new(),
        times,
        columns,
        unit: None,
        values: None,
        until: None,
    })
}

/// The bins that are outside of their bands.
fn anomalies(args: &PlotArgs, model: &ModelFile, context: &Context) -> Result<Vec<Bin>, Failure> {
    let Some(kept) = &model.events else {
        return Err(format!(
            "--mark-anomalies needs the events, which {} has not kept; give them with --events",
            args.subject
        )
        .into());
    };
    let mut bins = even_bins(&model.posterior, &kept.points, context)?;
    let all = bins.len();
    bins.retain(Bin::is_outside);
    let by_chance = Bin::OUTSIDE * all as f64;
    context.note(&format!(
        "{} of {all} bins outside of their bands of 95 %, where about {} are by chance",
        bins.len(),
        brief(by_chance)
    ));
    Ok(bins)
}

/// The models to draw over the subject, with their names.
fn others(args: &PlotArgs) -> Result<Vec<(String, ModelFile)>, Failure> {
    let paths = &args.figure.with;
    if paths.len() > MOST_OTHERS {
        return Err(format!("--with: {} models are too many; give at most {MOST_OTHERS}", paths.len()).into());
    }
    paths.iter().map(|path| Ok((curve_name(path), ModelFile::read(path)?))).collect()
}

/// What the legend calls a model: its file without folder and ending.
fn curve_name(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| path.into(), |name| name.to_string_lossy().into_owned())
}

/// The curve of a model, with others over it.
fn overlaid(
    args: &PlotArgs,
    model: &ModelFile,
    others: Vec<(String, ModelFile)>,
    mut look: Look,
    context: &Context,
) -> Result<CurveFigure, Failure> {
    for (path, (_, other)) in args.figure.with.iter().zip(&others) {
        if let Some(why) = figure::mismatch(model.posterior.window(), other.posterior.window()) {
            return Err(format!(
                "--with {path} cannot be drawn over {}: {why}; plot it by itself, or fit both alike",
                args.subject
            )
            .into());
        }
    }
    let posteriors = others.iter().map(|(_, other)| &other.posterior).chain([&model.posterior]);
    if let Some(warning) = posteriors.into_iter().find_map(|posterior| figure::aliasing(posterior, None)) {
        context.warn(&warning);
    }
    let axis = &model.posterior.window().axes()[0];
    let (first, last) = figure::ends(model, &others);
    look.marks = plot_options::marks(&args.figure, axis, (first, last.max(look.until.unwrap_or(last))))?;
    let mut figure = figure::overlaid(model, &others, &look)?;
    if !others.is_empty()
        && let Some(first) = figure.curves.first_mut()
    {
        first.label = curve_name(&args.subject);
    }
    Ok(figure)
}

/// Values of curves and ends of their bands.
fn ends(figure: &CurveFigure) -> Vec<f64> {
    let of_curve = |curve: &Curve| {
        let band = curve.band.iter().flat_map(|band| band.lower.iter().chain(&band.upper)).copied();
        curve.y.iter().copied().chain(band).collect::<Vec<f64>>()
    };
    figure.curves.iter().flat_map(of_curve).filter(|value| value.is_finite()).collect()
}

/// The lowest value that a figure of values shows.
fn lowest(figure: &Figure) -> f64 {
    let of_map = |map: &MapFigure| -> Vec<f64> {
        let is_inside = |cell: usize| map.inside.get(cell).copied().unwrap_or(true);
        map.values.iter().enumerate().filter(|(cell, _)| is_inside(*cell)).map(|(_, value)| *value).collect()
    };
    let values = match figure {
        Figure::Curve(curve) => ends(curve),
        Figure::Map(map) => of_map(map),
        Figure::Panels(panels) => panels.panels.iter().flat_map(of_map).collect(),
        Figure::Stack(_) => vec![],
    };
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// From a little below the lowest to a little above the highest end of a band: for values 0 is no place to begin.
fn reach(figure: &CurveFigure) -> Option<(f64, f64)> {
    let ends = ends(figure).into_iter();
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    let room = 0.05 * (high - low);
    (low < high).then_some((low - room, high + room))
}

/// By the end of the name.
fn format(path: &Path) -> Result<Format, Failure> {
    match io::ending(path).as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("pdf") => Ok(Format::Pdf),
        Some("png") => Ok(Format::Png),
        Some("html" | "htm") => Err(format!(
            "{}: a page is written by `report`, from a model; a figure is .svg, .pdf or .png",
            path.display()
        )
        .into()),
        _ => Err(format!("{}: the name of a figure must end in .svg, .pdf or .png", path.display()).into()),
    }
}

fn band(text: &str) -> Result<(f64, f64), Failure> {
    match spec::quantiles(text)?[..] {
        [lower, upper] if lower < upper => Ok((lower, upper)),
        _ => Err(format!("--quantiles {text}: a band has a lower and an upper quantile, as in 0.05,0.95").into()),
    }
}

/// What is plotted.
struct Subject {
    model: ModelFile,
    /// Whether it is a ratio of two rates.
    is_ratio: bool,
    /// What was measured, if that is meant.
    values: Option<MeasuredPosterior>,
    outcome: Outcome,
}

/// The model given, or one fitted to the events given.
fn subject(args: &PlotArgs, context: &Context) -> Result<Subject, Failure> {
    let path = &args.subject;
    let opened = input::open(path)?;
    let is_json = opened.is_json();
    let bytes = if is_json { opened.document(io::MODEL_GROWTH)? } else { opened.table()? };
    if is_json && !io::is_geojson(&bytes) {
        let model = held(ModelFile::any_from_bytes(io::source_name(path), &bytes)?, &args.set, context)?;
        if let (true, Some(text)) = (args.figure.mark_anomalies, args.set.first()) {
            let why = "the events were seen as the ground is, and would look amiss beside another one";
            return Err(format!("--mark-anomalies with --set {text}: {why}; leave one of them out").into());
        }
        context.refuse_idle(Mode::ModelPlotted(path))?;
        refuse_for_axes(model.posterior.window().dims(), args.components, context)?;
        let (model, is_ratio, values) = match Chosen::new(path, model, args.of.as_deref())? {
            Chosen::Ratio(model) => (model, true, None),
            Chosen::Values(model, values) => (model, false, Some(*values)),
            chosen => (chosen.one(path)?, false, None),
        };
        return Ok(Subject { model, is_ratio, values, outcome: Outcome::Done });
    }
    if let Some(text) = args.set.first() {
        return Err(
            format!("--set {text}: {path} are events; fit them with --covariate FILE, and plot the model").into()
        );
    }
    if let Some(of) = &args.of {
        return Err(format!("--of {of}: {path} are events; fit them with --type COLUMN, and plot the model").into());
    }
    let loaded = input::events_from(path, &bytes, &args.options.events)?;
    if loaded.events.window().dims() > 3 {
        let dims = loaded.events.window().dims();
        return Err(format!("a figure shows up to three axes, and there are {dims}; choose some with --columns").into());
    }
    refuse_for_axes(loaded.events.window().dims(), args.components, context)?;
    let fitted = fit::fit(loaded, &args.options, context)?;
    let outcome = fit::outcome(&fitted);
    Ok(Subject { model: fitted.model, is_ratio: false, values: None, outcome })
}

fn refuse_for_axes(dims: usize, components: bool, context: &Context) -> Result<(), Failure> {
    let modes: &[Mode] = match dims {
        1 => &[Mode::NoColours, Mode::NoPanels],
        // Components of a map have curves with bands beside the map.
        _ if components => &[],
        2 => &[Mode::Map, Mode::NotALine, Mode::NoPanels],
        _ => &[Mode::Map, Mode::NotALine],
    };
    modes.iter().try_for_each(|mode| context.refuse_idle(*mode))
}
