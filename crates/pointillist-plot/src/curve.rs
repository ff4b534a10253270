//! The one-dimensional figure: curves with their bands, gaps, marks, events as a rug or in a row for each trial, legend.
//!
//! Draws what it is given; it computes no intensity and no interval.

use super::drawing::{Anchor, Attribute, Drawing, FRAME, INK, Point, QUIET_INK, Rgb, Step, Text, polyline};
use super::frame::{Frame, LINE_HEIGHT, y_axis_room};
use super::legend::{LEGEND_MIDDLE, LEGEND_ROW, SWATCH_GAP, places};
use super::palette::curve_colour;
use super::scale::{Axis, Range, count, finite_range, fitted_axis, labelled_axis, log_range, usable, value_axis};
use super::style::{EventsShown, Style, caption, selection};
use super::text::{LABEL_SIZE, TICK_SIZE, fit_text, in_two_lines, text_width};
use super::{Band, Curve, CurveFigure, Mark, anomaly};

const WIDTH: f64 = 900.0;
/// The height of a picture: so much, and this part of its width.
const LEAST_HEIGHT: f64 = 150.0;
const HEIGHT_SHARE: f64 = 0.3;
/// Above the frame with one row of the legend, and below it with a rug.
const TOP: f64 = 66.0;
const BELOW: f64 = 70.0;
/// A frame is no lower than this, even where nothing fits.
const LOWEST_FRAME: f64 = 20.0;
const RIGHT_MARGIN: f64 = 28.0;
/// The rug lies this far under the axis and is this high.
const RUG_GAP: f64 = 4.0;
const RUG_HEIGHT: f64 = 11.0;
/// A row of a trial is this high, and all of them together no more and no less than this.
const ROW_HEIGHT: f64 = 3.2;
const ROWS_HEIGHT: (f64, f64) = (22.0, 160.0);
/// With more trials than this the events are drawn as a rug.
const MOST_ROWS: usize = 2_000;
/// With more events than this the rug is drawn by pixel columns.
const MOST_RUG_LINES: usize = 5_000;
const SWATCH: f64 = 24.0;

const RUG_COLOUR: Rgb = [0xc2, 0x50, 0x2e];
const GAP_STYLE: [Attribute; 2] = [Attribute::Class("gap"), Attribute::Fill([0xf0, 0xf1, 0xf3])];
const MARK_STYLE: [Attribute; 4] =
    [Attribute::Class("mark"), Attribute::Line(INK), Attribute::LineWidth(1.0), Attribute::Dashes(4.0, 3.0)];
/// The ground on which the events of trials are drawn.
const TRIALS_STYLE: [Attribute; 2] = [Attribute::Class("trials"), Attribute::Fill([0xfa, 0xf7, 0xf5])];
/// What an entry of the legend for the bands of several curves is filled with.
const BANDS_STYLE: [Attribute; 2] = [Attribute::Fill(QUIET_INK), Attribute::FillOpacity(0.25)];

/// The line of a curve by its number: dashes tell curves apart where colours do not.
fn line_style(number: usize) -> Vec<Attribute> {
    let line = [Attribute::NoFill, Attribute::Line(curve_colour(number)), Attribute::LineWidth(2.2)];
    let pattern: &[Attribute] = match number % 5 {
        0 => &[Attribute::RoundJoin, Attribute::RoundCap],
        1 => &[Attribute::RoundJoin, Attribute::Dashes(8.0, 3.0)],
        2 => &[Attribute::RoundJoin, Attribute::Dashes(2.5, 2.5)],
        3 => &[Attribute::RoundJoin, Attribute::Dashes(14.0, 4.0)],
        _ => &[Attribute::RoundJoin, Attribute::Dashes(5.0, 5.0)],
    };
    [&line, pattern].concat()
}

fn band_style(number: usize) -> [Attribute; 2] {
    [Attribute::Fill(curve_colour(number)), Attribute::FillOpacity(0.17)]
}

/// The thin outline keeps a band of a single position visible.
fn band_outline(number: usize) -> [Attribute; 3] {
    [Attribute::Line(curve_colour(number)), Attribute::LineOpacity(0.25), Attribute::LineWidth(0.8)]
}

/// The x range of a figure: of its positions, or of its events when it has none.
pub(super) fn x_range(figure: &CurveFigure) -> Range {
    let positions = finite_range(figure.curves.iter().flat_map(|curve| curve.x.iter().copied()));
    usable(positions.or_else(|| finite_range(figure.events.iter().copied())))
}

/// The x axis: with labels of its own, or with numbers or dates, about `most` of them.
pub(super) fn x_axis(figure: &CurveFigure, x: Range, length: f64, most: usize, extent: impl Fn(&str) -> f64) -> Axis {
    match figure.labels.is_empty() {
        true => fitted_axis(x, figure.calendar.as_ref(), length, most, extent),
        false => labelled_axis(&figure.labels, x, length, extent),
    }
}

/// The y range: as asked for, or from zero, lower only if a curve is, to a little above everything.
pub(super) fn y_range(figure: &CurveFigure, style: &Style) -> Range {
    if let Some(range) = style.given_range() {
        return range;
    }
    let heights = || figure.curves.iter().flat_map(|curve| curve.y.iter().copied());
    let bands = figure.curves.iter().filter_map(|curve| curve.band.as_ref());
    let ends = bands.flat_map(|band| band.lower.iter().chain(&band.upper).copied());
    if style.log {
        let lowest = finite_range(heights().filter(|&y| y > 0.0)).map_or(f64::NAN, |(lowest, _)| lowest);
        return log_range(heights().chain(ends), lowest);
    }
    let (lowest, highest) = finite_range(heights().chain(ends)).unwrap_or((0.0, 1.0));
    let (lo, hi) = (lowest.min(0.0), highest.max(0.0));
    if hi - lo < 1e-280 {
        return (0.0, 1.0);
    }
    (1.06 * lo, 1.06 * hi)
}

/// The events that fall on the axis, each with its trial if there are trials.
pub(super) fn visible_events(figure: &CurveFigure, (lo, hi): Range) -> Vec<(f64, Option<usize>)> {
    let trials = figure.trials.iter().copied().map(Some).chain(std::iter::repeat(None));
    figure.events.iter().copied().zip(trials).filter(|(event, _)| (lo..=hi).contains(event)).collect()
}

/// The figure as shapes.
pub(super) fn draw(figure: &CurveFigure, style: &Style) -> Drawing {
    let (x, y) = (x_range(figure), y_range(figure, style));
    let events = Events::of(figure, x, style.events);
    let (width, height) = picture_size(style, events.height - RUG_HEIGHT);
    let layout = |legend_rows: usize| {
        let top = TOP + LEGEND_ROW * legend_rows.saturating_sub(1) as f64;
        let below = BELOW + events.height - RUG_HEIGHT;
        Layout::of(figure, style, (x, y), (width, height), (top, below))
    };
    // The legend needs the width of the frame, and the frame the height that the legend leaves.
    let legend = legend(figure, events.label.as_deref(), layout(1).frame.width);
    let Layout { frame, y_axis, y_title } = layout(legend.last().map_or(1, |entry| entry.row + 1));
    let x_axis = x_axis(figure, x, frame.width, 9, |label| text_width(label, TICK_SIZE) + 18.0);

    let mut drawing = Drawing::new(width, height).sized(style.size);
    drawing.title(frame.left, &figure.title);
    draw_gaps(&mut drawing, &frame, &figure.gaps);
    frame.grid(&mut drawing, &x_axis, &y_axis);
    draw_anomalies(&mut drawing, &frame, figure);
    draw_inside(&mut drawing, &frame, figure, style);
    draw_marks(&mut drawing, &frame, &figure.marks);
    let axis_line = [Attribute::Line(FRAME), Attribute::LineWidth(1.2)];
    drawing.line((frame.left, frame.bottom()), (frame.right(), frame.bottom()), &axis_line);
    events.draw(&mut drawing, &frame, rug_colour(figure), style.events);
    frame.x_axis(&mut drawing, &x_axis, &figure.x_label, RUG_GAP + events.height + 6.0);
    frame.y_axis_in_lines(&mut drawing, &y_axis, &y_title);
    legend.iter().for_each(|entry| entry.draw(&mut drawing, frame.left, rug_colour(figure)));
    drawing
}

/// The curves; where the scale is not made for all of them, what leaves the frame is cut off.
fn draw_inside(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure, style: &Style) {
    if style.log || style.given_range().is_some() {
        let place = [frame.left, frame.top, frame.width, frame.height];
        drawing.clip(place, |drawing| draw_curves(drawing, frame, figure));
    } else {
        draw_curves(drawing, frame, figure);
    }
}

/// The events that are drawn under the axis.
struct Events {
    /// Each with its trial, if there are trials.
    shown: Vec<(f64, Option<usize>)>,
    /// The number of trials, if each has a row.
    rows: Option<usize>,
    /// How much of the picture they take.
    height: f64,
    /// What the legend says of them; nothing if there are none, or if they are hidden.
    label: Option<String>,
}

impl Events {
    fn of(figure: &CurveFigure, x: Range, which: EventsShown) -> Self {
        let rows = trial_rows(figure).filter(|_| which != EventsShown::Hidden);
        let height = rows.map_or(RUG_HEIGHT, |rows| (ROW_HEIGHT * rows as f64).clamp(ROWS_HEIGHT.0, ROWS_HEIGHT.1));
        let visible = visible_events(figure, x);
        let shown = selection(&visible, which.most(visible.len(), usize::MAX));
        let trials = rows.map(|rows| format!(" in {} trials", count(rows))).unwrap_or_default();
        let is_there = !figure.events.is_empty() && which != EventsShown::Hidden;
        let label = is_there.then(|| caption(shown.len(), visible.len()) + &trials);
        Self { shown, rows, height, label }
    }

    fn draw(&self, drawing: &mut Drawing, frame: &Frame, rug: Rgb, which: EventsShown) {
        match self.rows {
            Some(rows) => draw_trials(drawing, frame, &self.shown, rows, self.height),
            None => draw_rug(drawing, frame, &self.shown, rug, which),
        }
    }
}

/// Where the frame stands, and what is left of it.
struct Layout {
    frame: Frame,
    y_axis: Axis,
    /// The label of the y axis, in one line or two.
    y_title: Vec<String>,
}

impl Layout {
    /// In a picture of this size, with so much above and below the frame.
    fn of(
        figure: &CurveFigure,
        style: &Style,
        (x, y): (Range, Range),
        (width, height): (f64, f64),
        (top, below): (f64, f64),
    ) -> Self {
        let frame_height = (height - below - top).max(LOWEST_FRAME);
        let y_axis = value_axis(y, style.spread(), frame_height, 6, |_| 26.0);
        let mut frame = Frame { left: 0.0, top, width, height: frame_height, x, y, spread: style.spread() };
        let y_title = in_two_lines(&y_axis.title(&figure.y_label), LABEL_SIZE, frame.upright_room_of(height));
        frame.left = y_axis_room(&y_axis) + LINE_HEIGHT * LABEL_SIZE * (y_title.len() - 1) as f64;
        frame.width = (width - frame.left - RIGHT_MARGIN).max(LOWEST_FRAME);
        Self { frame, y_axis, y_title }
    }
}

/// Width and height of the picture; rows of trials make it higher by `more` where nobody says how high it is.
fn picture_size(style: &Style, more: f64) -> (f64, f64) {
    let (width, height) = style.size.units();
    let width = width.unwrap_or(WIDTH);
    (width, height.unwrap_or(LEAST_HEIGHT + HEIGHT_SHARE * width + more))
}

/// Several curves have colours of their own, with which the events should not be confused.
fn rug_colour(figure: &CurveFigure) -> Rgb {
    if figure.curves.len() > 1 { QUIET_INK } else { RUG_COLOUR }
}

/// Number of rows for trials, if the events are to be drawn so.
fn trial_rows(figure: &CurveFigure) -> Option<usize> {
    let rows = figure.trials.iter().max()?.saturating_add(1);
    (figure.trials.len() == figure.events.len() && (2..=MOST_ROWS).contains(&rows)).then_some(rows)
}

fn draw_gaps(drawing: &mut Drawing, frame: &Frame, gaps: &[Range]) {
    for &(lo, hi) in gaps {
        let (lo, hi) = (lo.max(frame.x.0), hi.min(frame.x.1));
        if lo < hi {
            let left = frame.px(lo);
            drawing.rect([left, frame.top, frame.px(hi) - left, frame.height], &GAP_STYLE);
        }
    }
}

/// All bands, and over them all lines.
fn draw_curves(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure) {
    for (number, curve) in figure.curves.iter().enumerate() {
        draw_band(drawing, frame, curve, number);
    }
    let drawn: Vec<bool> =
        figure.curves.iter().enumerate().map(|(number, curve)| draw_line(drawing, frame, curve, number)).collect();
    if !drawn.contains(&true) {
        frame.nothing_to_draw(drawing);
    }
}

fn draw_band(drawing: &mut Drawing, frame: &Frame, curve: &Curve, number: usize) {
    let Some(band) = &curve.band else { return };
    let style = [&band_style(number)[..], &band_outline(number)].concat();
    for piece in frame.band_pieces(&curve.x, &band.lower, &band.upper) {
        drawing.path(piece, &style);
    }
}

/// Draws a curve, and says whether there was anything to draw.
fn draw_line(drawing: &mut Drawing, frame: &Frame, curve: &Curve, number: usize) -> bool {
    let pieces = frame.line_pieces(&curve.x, &curve.y);
    let is_there = !pieces.is_empty();
    for piece in pieces {
        match piece[..] {
            [point] => drawing.circle(point, 3.0, &[Attribute::Fill(curve_colour(number))]),
            _ => drawing.path(polyline(piece), &line_style(number)),
        }
    }
    is_there
}

/// Upright lines with their labels at the top, each label in a row of its own where the last is in its way.
fn draw_anomalies(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure) {
    for one in figure.anomalies.iter().filter(|one| one.is_in(frame.x, frame.y)) {
        let (left, right) = (frame.px(one.x.0.max(frame.x.0)), frame.px(one.x.1.min(frame.x.1)));
        anomaly::column(drawing, [left, frame.top, right - left, frame.height], one.more);
    }
}

fn draw_marks(drawing: &mut Drawing, frame: &Frame, marks: &[Mark]) {
    let mut ends: Vec<f64> = Vec::new();
    let mut sorted: Vec<&Mark> = marks.iter().filter(|mark| (frame.x.0..=frame.x.1).contains(&mark.x)).collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    for mark in sorted {
        let x = frame.px(mark.x);
        drawing.line((x, frame.top), (x, frame.bottom()), &MARK_STYLE);
        if mark.label.is_empty() {
            continue;
        }
        let (label, size) = fit_text(&mark.label, TICK_SIZE, frame.width - 8.0);
        let width = text_width(&label, size);
        // To the right of its line, or to the left where the frame ends.
        let left = if x + 4.0 + width <= frame.right() { x + 4.0 } else { (x - 4.0 - width).max(frame.left) };
        let row = ends.iter().position(|&end| end < left).unwrap_or(ends.len());
        ends.resize(ends.len().max(row + 1), 0.0);
        ends[row] = left + width + 6.0;
        let baseline = frame.top + TICK_SIZE * (1.0 + 1.25 * row as f64);
        drawing.text(Text::new((left, baseline), size, INK, label));
    }
}

fn draw_rug(drawing: &mut Drawing, frame: &Frame, events: &[(f64, Option<usize>)], colour: Rgb, shown: EventsShown) {
    let mark = |x: f64| vec![Step::Move((x, frame.bottom() + RUG_GAP)), Step::Down(RUG_HEIGHT)];
    if events.len() <= MOST_RUG_LINES || shown == EventsShown::All {
        // Marks overlap more the more there are; fainter ones keep the density readable.
        let opacity = (0.75 * (300.0 / events.len().max(1) as f64).sqrt()).clamp(0.15, 0.75);
        let style = [Attribute::Line(colour), Attribute::LineWidth(1.0), Attribute::LineOpacity(opacity)];
        drawing.group(&style, |drawing| events.iter().for_each(|&(event, _)| drawing.path(mark(frame.px(event)), &[])));
    } else {
        let places: Vec<f64> = events.iter().map(|(event, _)| *event).collect();
        let counts = bin_counts(&places, frame.x, frame.width.ceil() as usize);
        let most = counts.iter().copied().max().unwrap_or(1) as f64;
        drawing.group(&[Attribute::Line(colour), Attribute::LineWidth(1.05)], |drawing| {
            for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let opacity = 0.1 + 0.9 * count as f64 / most;
                drawing.path(mark(frame.left + column as f64 + 0.5), &[Attribute::LineOpacity(opacity)]);
            }
        });
    }
}

/// The events in a row for each trial, the first on top.
fn draw_trials(drawing: &mut Drawing, frame: &Frame, events: &[(f64, Option<usize>)], rows: usize, height: f64) {
    let (top, row) = (frame.bottom() + RUG_GAP, height / rows as f64);
    drawing.rect([frame.left, top, frame.width, height], &TRIALS_STYLE);
    let mark = (0.85 * row).max(0.7);
    let mut marks = Vec::new();
    for &(event, trial) in events {
        let y = top + row * (trial.unwrap_or(0) as f64 + 0.5) - 0.5 * mark;
        marks.extend([Step::Move((frame.px(event), y)), Step::Down(mark)]);
    }
    let line = [Attribute::Line(RUG_COLOUR), Attribute::LineWidth(1.0), Attribute::LineOpacity(0.85)];
    drawing.path(marks, &[&[Attribute::NoFill][..], &line].concat());
    let label = format!("{} trials", count(rows));
    if height > text_width(&label, TICK_SIZE) {
        let at = (frame.left - 10.0, top + 0.5 * height);
        drawing.text(Text::new(at, TICK_SIZE, QUIET_INK, label).anchored(Anchor::Middle).upright());
    }
}

/// How many events fall into each of `bins` equal parts of the range.
pub(super) fn bin_counts(events: &[f64], (lo, hi): Range, bins: usize) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for event in events.iter().filter(|e| (lo..=hi).contains(*e)) {
        let bin = ((event - lo) / (hi - lo) * bins as f64) as usize;
        if let Some(count) = counts.get_mut(bin.min(bins.saturating_sub(1))) {
            *count += 1;
        }
    }
    counts
}

/// What an entry of the legend stands for; curves go by their numbers.
enum Sign {
    Line(usize),
    Band(usize),
    LineAndBand(usize),
    AllBands,
    Events,
    Anomalies,
}

/// An entry of the legend and its place.
struct Entry {
    sign: Sign,
    label: String,
    size: f64,
    x: f64,
    row: usize,
}

/// The entries of the legend, as many in a row as fit.
fn legend(figure: &CurveFigure, events: Option<&str>, room: f64) -> Vec<Entry> {
    let mut signs: Vec<(Sign, String)> = Vec::new();
    match &figure.curves[..] {
        [only] => {
            signs.push((Sign::Line(0), only.label.clone()));
            signs.extend(only.band.iter().map(|band| (Sign::Band(0), band.label.clone())));
        }
        several => {
            let sign = |(number, curve): (usize, &Curve)| match curve.band {
                Some(_) => Sign::LineAndBand(number),
                None => Sign::Line(number),
            };
            signs.extend(several.iter().enumerate().map(|(i, curve)| (sign((i, curve)), curve.label.clone())));
            let band: Option<&Band> = several.iter().find_map(|curve| curve.band.as_ref());
            signs.extend(band.map(|band| (Sign::AllBands, format!("{}s", band.label))));
        }
    }
    signs.extend(events.map(|events| (Sign::Events, events.to_string())));
    signs.extend((!figure.anomalies.is_empty()).then(|| (Sign::Anomalies, anomaly::LABEL.into())));
    let mut entries: Vec<Entry> = Vec::new();
    for (sign, label) in signs {
        let (label, size) = fit_text(&label, TICK_SIZE, room - SWATCH - SWATCH_GAP);
        entries.push(Entry { sign, label, size, x: 0.0, row: 0 });
    }
    let places = places(entries.iter().map(Entry::width), room);
    for (entry, place) in entries.iter_mut().zip(places) {
        (entry.x, entry.row) = place;
    }
    entries
}

impl Entry {
    fn width(&self) -> f64 {
        SWATCH + SWATCH_GAP + text_width(&self.label, self.size)
    }

    fn draw(&self, drawing: &mut Drawing, left: f64, rug: Rgb) {
        let (x, middle) = (left + self.x, LEGEND_MIDDLE + LEGEND_ROW * self.row as f64);
        let line = |drawing: &mut Drawing, number: usize| {
            drawing.line((x, middle), (x + SWATCH, middle), &line_style(number));
        };
        let area = |drawing: &mut Drawing, style: &[Attribute]| {
            drawing.rect([x, middle - 6.0, SWATCH, 12.0], style);
        };
        match self.sign {
            Sign::Line(number) => line(drawing, number),
            Sign::Band(number) => area(drawing, &band_style(number)),
            Sign::LineAndBand(number) => {
                area(drawing, &band_style(number));
                line(drawing, number);
            }
            Sign::AllBands => area(drawing, &BANDS_STYLE),
            Sign::Events => draw_event_marks(drawing, (x, middle), rug),
            Sign::Anomalies => anomaly::swatch(drawing, (x, middle)),
        }
        let at = (x + SWATCH + SWATCH_GAP, middle + 0.35 * TICK_SIZE);
        drawing.text(Text::new(at, self.size, INK, &self.label));
    }
}

fn draw_event_marks(drawing: &mut Drawing, (x, middle): Point, colour: Rgb) {
    for offset in [4.0, 7.0, 12.0, 14.0, 20.0] {
        let style = [Attribute::Line(colour), Attribute::LineWidth(1.0), Attribute::LineOpacity(0.8)];
        drawing.line((x + offset, middle - 5.5), (x + offset, middle + 5.5), &style);
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::svg::{attributes, write};
    use super::*;

    #[test]
    fn a_crowded_rug_is_thinned() {
        let events: Vec<f64> = (0..100_000).map(|i| i as f64 * 1e-5).collect();
        let figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], events);
        let svg = write(&draw(&figure, &Style::default()));
        assert!(svg.len() < 100_000, "{}", svg.len());
        assert!(svg.contains("100,000 events"));
        let counts = bin_counts(&[0.0, 0.5, 1.0, 1.5, f64::NAN], (0.0, 1.0), 2);
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn each_event_gets_its_mark() {
        let marks = |events| {
            let figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], events);
            write(&draw(&figure, &Style::default())).matches("v11\"").count()
        };
        assert_eq!(marks(vec![0.1, 0.2, 0.2, 7.0, f64::NAN]), 3);
        assert_eq!(marks(vec![]), 0);
    }

    #[test]
    fn the_y_axis_begins_at_zero() {
        let figure = samples::curve(vec![0.0, 1.0], vec![10.0, 11.0], vec![]);
        let (lo, hi) = y_range(&figure, &Style::default());
        assert_eq!(lo, 0.0);
        assert!(hi > 15.4 && hi < 17.0);
    }

    #[test]
    fn trials_get_rows_and_gaps_get_a_ground() {
        let mut figure = samples::curve(vec![0.0, 4.0], vec![1.0, 2.0], vec![0.5, 1.0, 9.0, 3.0]);
        figure.trials = vec![0, 0, 1, 39];
        figure.gaps = vec![(1.0, 2.0), (3.5, 9.0)];
        let svg = write(&draw(&figure, &Style::default()));
        assert!(svg.contains("3 events in 40 trials") && svg.contains("class=\"trials\""), "{svg}");
        assert_eq!(svg.matches(&attributes(&GAP_STYLE)).count(), 2);
        let marks = svg.lines().find(|line| line.contains("stroke-opacity=\"0.85\"")).unwrap();
        assert_eq!(marks.matches('v').count(), 3, "one lies beyond the axis");
        figure.trials = vec![0, 0, 1];
        assert!(!write(&draw(&figure, &Style::default())).contains("trials"), "not one for each event");
        figure.trials = vec![0, 0, 1, usize::MAX];
        assert!(!write(&draw(&figure, &Style::default())).contains("trials"));
    }

    #[test]
    fn gaps_interrupt_the_line() {
        let x = vec![0.0, 1.0, 2.0, 3.0, 4.0];
        let figure = samples::curve(x, vec![1.0, 1.0, f64::NAN, 2.0, 2.0], vec![]);
        let strokes = write(&draw(&figure, &Style::default())).matches(&attributes(&line_style(0))).count();
        assert_eq!(strokes, 3, "two pieces and the legend");
    }

    #[test]
    fn several_curves_differ_in_colour_and_in_dashes() {
        let mut figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![0.5]);
        let plain = write(&draw(&figure, &Style::default()));
        assert!(plain.contains(">mean<") && plain.contains(">90 % credible band<"));
        let other = Curve { label: "other".into(), x: vec![0.5, 3.0], y: vec![5.0, 5.0], band: None };
        figure.curves.push(other);
        assert_eq!(x_range(&figure), (0.0, 3.0));
        assert!(y_range(&figure, &Style::default()).1 > 5.0);
        let svg = write(&draw(&figure, &Style::default()));
        assert!(svg.contains(">other<") && svg.contains(">90 % credible bands<"), "{svg}");
        assert_eq!(svg.matches(&attributes(&line_style(1))).count(), 2, "the line and the legend");
        for number in 1..5 {
            assert_ne!(line_style(number)[4..], line_style(number - 1)[4..], "dashes");
            assert_ne!(curve_colour(number), curve_colour(number - 1));
        }
    }

    #[test]
    fn a_curve_beyond_its_limits_is_cut_off() {
        let figure = samples::curve(vec![0.0, 1.0], vec![1.0, 200.0], vec![]);
        let limited = Style { limits: Some((0.0, 10.0)), ..Style::default() };
        assert_eq!(y_range(&figure, &limited), (0.0, 10.0));
        assert_eq!(write(&draw(&figure, &limited)).matches("<svg").count(), 2, "the picture, and what is cut");
        assert_eq!(write(&draw(&figure, &Style::default())).matches("<svg").count(), 1);
        let log = Style { log: true, ..Style::default() };
        let (lo, hi) = y_range(&figure, &log);
        assert!((lo - 0.7 / 1.1).abs() < 1e-9 && (hi - 280.0 * 1.1).abs() < 1e-9, "{lo} {hi}");
    }

    #[test]
    fn labels_of_marks_keep_clear_of_each_other() {
        let mut figure = samples::curve(vec![0.0, 10.0], vec![1.0, 2.0], vec![]);
        let mark = |x: f64, label: &str| Mark { x, label: label.into() };
        figure.marks =
            vec![mark(5.0, "first"), mark(5.1, "second"), mark(10.0, "last"), mark(11.0, "out"), mark(2.0, "")];
        let svg = write(&draw(&figure, &Style::default()));
        let place = |label: &str| {
            let line = svg.lines().find(|line| line.contains(&format!(">{label}<"))).unwrap();
            let number =
                |name: &str| line.split(name).nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
            (number(" x=\""), number(" y=\""))
        };
        assert!(place("second").1 > place("first").1, "in the way");
        assert_eq!(place("last").1, place("first").1, "far away");
        assert!(place("last").0 < 872.0 - 20.0, "to the left of the end");
        assert_eq!(svg.matches(&attributes(&MARK_STYLE)).count(), 4);
        assert!(!svg.contains(">out<"));
    }

    #[test]
    fn a_figure_on_paper_has_its_size_whatever_it_shows() {
        use super::super::style::Size;
        let mut figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![0.1; 40]);
        figure.y_label = "a label that is far too long for one line of a figure as small as this".into();
        figure.trials = (0..40).collect();
        for (width, height) in [(85.0, 60.0), (40.0, 40.0), (174.0, 200.0)] {
            let style = Style { size: Size::Paper(width, height), ..Style::default() };
            let drawing = draw(&figure, &style);
            assert!((drawing.width - width / 25.4 * 120.0).abs() < 1e-9);
            assert!((drawing.height - height / 25.4 * 120.0).abs() < 1e-9);
            assert!(write(&drawing).contains(&format!("width=\"{width}mm\" height=\"{height}mm\"")));
        }
        figure.y_label = "probability that the rate exceeds 2 per year".into();
        let svg = write(&draw(&figure, &Style { size: Size::Wide(85.0), ..Style::default() }));
        assert!(svg.contains(">rate exceeds 2 per year<") && !svg.contains('…'), "{svg}");
    }
}
