//! The one-dimensional figure: band, mean line, gaps, events as a rug or in a row for each trial, legend.
//!
//! Draws what it is given; it computes no intensity and no interval.

use super::CurveFigure;
use super::drawing::{Anchor, Attribute, Drawing, FRAME, INK, QUIET_INK, Rgb, Step, Text, polyline};
use super::frame::{Frame, LEGEND_MIDDLE, y_axis_room};
use super::scale::{Range, count, event_count, finite_range, fitted_axis, usable};
use super::text::{TICK_SIZE, fit_text, text_width};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 350.0;
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

const CURVE_COLOUR: Rgb = [0x1b, 0x5e, 0x9e];
const MEAN_STYLE: [Attribute; 5] = [
    Attribute::NoFill,
    Attribute::Line(CURVE_COLOUR),
    Attribute::LineWidth(2.2),
    Attribute::RoundJoin,
    Attribute::RoundCap,
];
const BAND_STYLE: [Attribute; 2] = [Attribute::Fill(CURVE_COLOUR), Attribute::FillOpacity(0.17)];
/// The thin outline keeps a band of a single position visible.
const BAND_OUTLINE: [Attribute; 3] =
    [Attribute::Line(CURVE_COLOUR), Attribute::LineOpacity(0.25), Attribute::LineWidth(0.8)];
const RUG_COLOUR: Rgb = [0xc2, 0x50, 0x2e];
const GAP_STYLE: [Attribute; 2] = [Attribute::Class("gap"), Attribute::Fill([0xf0, 0xf1, 0xf3])];
/// The ground on which the events of trials are drawn.
const TRIALS_STYLE: [Attribute; 2] = [Attribute::Class("trials"), Attribute::Fill([0xfa, 0xf7, 0xf5])];

/// The x range of a curve: of its positions, or of its events when it has none.
pub(super) fn x_range(figure: &CurveFigure) -> Range {
    let positions = finite_range(figure.x.iter().copied());
    usable(positions.or_else(|| finite_range(figure.events.iter().copied())))
}

/// The y range of a curve: from zero, lower only if the curve is, to a little above everything.
pub(super) fn y_range(figure: &CurveFigure) -> Range {
    let band = figure.band.iter().flat_map(|band| band.lower.iter().chain(&band.upper));
    let (lowest, highest) = finite_range(figure.mean.iter().chain(band).copied()).unwrap_or((0.0, 1.0));
    let (lo, hi) = (lowest.min(0.0), highest.max(0.0));
    if hi - lo < 1e-280 {
        return (0.0, 1.0);
    }
    (1.06 * lo, 1.06 * hi)
}

/// The events that fall on the axis.
pub(super) fn visible_events(figure: &CurveFigure, (lo, hi): Range) -> Vec<f64> {
    figure.events.iter().copied().filter(|e| (lo..=hi).contains(e)).collect()
}

/// The figure as shapes.
pub(super) fn draw(figure: &CurveFigure) -> Drawing {
    let (x, y) = (x_range(figure), y_range(figure));
    let y_axis = fitted_axis(y, None, BOTTOM - TOP, 6, |_| 26.0);
    let left = y_axis_room(&y_axis);
    let width = WIDTH - left - RIGHT_MARGIN;
    let frame = Frame { left, top: TOP, width, height: BOTTOM - TOP, x, y };
    let rows = trial_rows(figure);
    let marks = rows.map_or(RUG_HEIGHT, |rows| (ROW_HEIGHT * rows as f64).clamp(ROWS_HEIGHT.0, ROWS_HEIGHT.1));
    let x_axis = fitted_axis(x, figure.calendar.as_ref(), width, 9, |label| text_width(label, TICK_SIZE) + 18.0);
    let events = visible_events(figure, x);

    let mut drawing = Drawing::new(WIDTH, HEIGHT - RUG_HEIGHT + marks);
    drawing.title(left, &figure.title);
    draw_gaps(&mut drawing, &frame, &figure.gaps);
    frame.grid(&mut drawing, &x_axis, &y_axis);
    draw_band(&mut drawing, &frame, figure);
    draw_mean(&mut drawing, &frame, figure);
    let axis_line = [Attribute::Line(FRAME), Attribute::LineWidth(1.2)];
    drawing.line((frame.left, frame.bottom()), (frame.right(), frame.bottom()), &axis_line);
    match rows {
        Some(rows) => draw_trials(&mut drawing, &frame, figure, rows, marks),
        None => draw_rug(&mut drawing, &frame, &events),
    }
    frame.x_axis(&mut drawing, &x_axis, &figure.x_label, RUG_GAP + marks + 6.0);
    frame.y_axis(&mut drawing, &y_axis, &figure.y_label);
    let trials = rows.map(|rows| format!(" in {} trials", count(rows))).unwrap_or_default();
    draw_legend(&mut drawing, &frame, figure, &(event_count(events.len()) + &trials));
    drawing
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

fn draw_band(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure) {
    let Some(band) = &figure.band else { return };
    let style = [&BAND_STYLE[..], &BAND_OUTLINE].concat();
    for piece in frame.band_pieces(&figure.x, &band.lower, &band.upper) {
        drawing.path(piece, &style);
    }
}

fn draw_mean(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure) {
    let pieces = frame.line_pieces(&figure.x, &figure.mean);
    if pieces.is_empty() {
        frame.nothing_to_draw(drawing);
    }
    for piece in pieces {
        match piece[..] {
            [point] => drawing.circle(point, 3.0, &[Attribute::Fill(CURVE_COLOUR)]),
            _ => drawing.path(polyline(piece), &MEAN_STYLE),
        }
    }
}

fn draw_rug(drawing: &mut Drawing, frame: &Frame, events: &[f64]) {
    let mark = |x: f64| vec![Step::Move((x, frame.bottom() + RUG_GAP)), Step::Down(RUG_HEIGHT)];
    if events.len() <= MOST_RUG_LINES {
        // Marks overlap more the more there are; fainter ones keep the density readable.
        let opacity = (0.75 * (300.0 / events.len().max(1) as f64).sqrt()).clamp(0.15, 0.75);
        let style = [Attribute::Line(RUG_COLOUR), Attribute::LineWidth(1.0), Attribute::LineOpacity(opacity)];
        drawing.group(&style, |drawing| events.iter().for_each(|&event| drawing.path(mark(frame.px(event)), &[])));
    } else {
        let counts = bin_counts(events, frame.x, frame.width.ceil() as usize);
        let most = counts.iter().copied().max().unwrap_or(1) as f64;
        drawing.group(&[Attribute::Line(RUG_COLOUR), Attribute::LineWidth(1.05)], |drawing| {
            for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let opacity = 0.1 + 0.9 * count as f64 / most;
                drawing.path(mark(frame.left + column as f64 + 0.5), &[Attribute::LineOpacity(opacity)]);
            }
        });
    }
}

/// The events in a row for each trial, the first on top.
fn draw_trials(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure, rows: usize, height: f64) {
    let (top, row) = (frame.bottom() + RUG_GAP, height / rows as f64);
    drawing.rect([frame.left, top, frame.width, height], &TRIALS_STYLE);
    let mark = (0.85 * row).max(0.7);
    let mut marks = Vec::new();
    let events = figure.events.iter().zip(&figure.trials);
    for (&event, &trial) in events.filter(|(event, _)| (frame.x.0..=frame.x.1).contains(*event)) {
        let y = top + row * (trial as f64 + 0.5) - 0.5 * mark;
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

fn draw_legend(drawing: &mut Drawing, frame: &Frame, figure: &CurveFigure, events: &str) {
    const SWATCH: f64 = 24.0;
    let middle = LEGEND_MIDDLE;
    let mut x = frame.left;
    let mut entry = |drawing: &mut Drawing, label: &str, swatch: &dyn Fn(&mut Drawing, f64)| {
        let (label, size) = fit_text(label, TICK_SIZE, frame.right() - x - SWATCH - 7.0);
        swatch(drawing, x);
        let width = text_width(&label, size);
        drawing.text(Text::new((x + SWATCH + 7.0, middle + 0.35 * TICK_SIZE), size, INK, label));
        x += SWATCH + 7.0 + width + 20.0;
    };
    entry(drawing, "mean", &|drawing, x| drawing.line((x, middle), (x + SWATCH, middle), &MEAN_STYLE));
    if let Some(band) = &figure.band {
        entry(drawing, &band.label, &|drawing, x| drawing.rect([x, middle - 6.0, SWATCH, 12.0], &BAND_STYLE));
    }
    if figure.events.is_empty() {
        return;
    }
    let marks = |drawing: &mut Drawing, x: f64| {
        for offset in [4.0, 7.0, 12.0, 14.0, 20.0] {
            let style = [Attribute::Line(RUG_COLOUR), Attribute::LineWidth(1.0), Attribute::LineOpacity(0.8)];
            drawing.line((x + offset, middle - 5.5), (x + offset, middle + 5.5), &style);
        }
    };
    entry(drawing, events, &marks);
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
        let svg = write(&draw(&figure));
        assert!(svg.len() < 100_000, "{}", svg.len());
        assert!(svg.contains("100,000 events"));
        let counts = bin_counts(&[0.0, 0.5, 1.0, 1.5, f64::NAN], (0.0, 1.0), 2);
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn each_event_gets_its_mark() {
        let marks = |events| {
            let figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], events);
            write(&draw(&figure)).matches("v11\"").count()
        };
        assert_eq!(marks(vec![0.1, 0.2, 0.2, 7.0, f64::NAN]), 3);
        assert_eq!(marks(vec![]), 0);
    }

    #[test]
    fn the_y_axis_begins_at_zero() {
        let figure = samples::curve(vec![0.0, 1.0], vec![10.0, 11.0], vec![]);
        let (lo, hi) = y_range(&figure);
        assert_eq!(lo, 0.0);
        assert!(hi > 15.4 && hi < 17.0);
    }

    #[test]
    fn trials_get_rows_and_gaps_get_a_ground() {
        let mut figure = samples::curve(vec![0.0, 4.0], vec![1.0, 2.0], vec![0.5, 1.0, 9.0, 3.0]);
        figure.trials = vec![0, 0, 1, 39];
        figure.gaps = vec![(1.0, 2.0), (3.5, 9.0)];
        let svg = write(&draw(&figure));
        assert!(svg.contains("3 events in 40 trials") && svg.contains("class=\"trials\""), "{svg}");
        assert_eq!(svg.matches(&attributes(&GAP_STYLE)).count(), 2);
        let marks = svg.lines().find(|line| line.contains("stroke-opacity=\"0.85\"")).unwrap();
        assert_eq!(marks.matches('v').count(), 3, "one lies beyond the axis");
        figure.trials = vec![0, 0, 1];
        assert!(!write(&draw(&figure)).contains("trials"), "not one for each event");
        figure.trials = vec![0, 0, 1, usize::MAX];
        assert!(!write(&draw(&figure)).contains("trials"));
    }

    #[test]
    fn gaps_interrupt_the_line() {
        let x = vec![0.0, 1.0, 2.0, 3.0, 4.0];
        let figure = samples::curve(x, vec![1.0, 1.0, f64::NAN, 2.0, 2.0], vec![]);
        let strokes = write(&draw(&figure)).matches(&attributes(&MEAN_STYLE)).count();
        assert_eq!(strokes, 3, "two pieces and the legend");
    }
}
