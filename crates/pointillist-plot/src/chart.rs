//! Several lines over one axis: bands, levels to compare with, error bars, a rug of events, a legend that wraps.
//!
//! Draws what it is given, each line in a colour of its own; it computes no mean and no interval.

use super::curve::bin_counts;
use super::drawing::{Attribute, Drawing, FRAME, INK, Point, QUIET_INK, Rgb, Step, Text, polyline};
use super::frame::{Frame, y_axis_room};
use super::legend::{LEGEND_MIDDLE, LEGEND_ROW, SWATCH_GAP, places};
use super::palette::series_colour as colour;
use super::scale::{Range, Spread, event_count, finite_range, fitted_axis, is_drawable, usable};
use super::text::{TICK_SIZE, fit_text, text_width};
use super::{ChartFigure, Level, Series, Stroke};

const WIDTH: f64 = 900.0;
const RIGHT_MARGIN: f64 = 28.0;
/// Height of the frame.
const HEIGHT: f64 = 284.0;
/// Where the frame begins without a legend.
const TOP: f64 = 46.0;
/// Below the tick labels' upper edge: tick labels and axis label.
const BOTTOM_MARGIN: f64 = 49.0;
/// The tick labels lie this far under the frame, or under the rug.
const TICK_GAP: f64 = 7.0;
/// The rug lies this far under the axis and is this high.
const RUG_GAP: f64 = 4.0;
const RUG_HEIGHT: f64 = 11.0;
/// Of the length of an axis, what stays free beyond the outermost points.
const X_PADDING: f64 = 0.025;
const Y_PADDING: f64 = 0.06;
/// Half the width of the ends of an error bar.
const CAP: f64 = 3.5;
/// A swatch of the legend, as long as three dashes.
const SWATCH: f64 = 29.0;

/// The figure as shapes.
pub(super) fn draw(figure: &ChartFigure) -> Drawing {
    let heights = shown_heights(figure);
    let (x, y) = (x_range(figure), y_range(heights, figure.from_zero));
    let y_axis = fitted_axis(y, None, HEIGHT, 6, |_| 26.0);
    let left = y_axis_room(&y_axis);
    let width = WIDTH - left - RIGHT_MARGIN;
    let x_axis = fitted_axis(x, None, width, 9, |label| text_width(label, TICK_SIZE) + 18.0);
    let legend = legend(figure, x, width);
    let rows = legend.last().map_or(0, |entry| entry.row + 1);
    let frame = Frame { left, top: TOP + LEGEND_ROW * rows as f64, width, height: HEIGHT, x, y, spread: Spread::Even };
    let rug = if figure.events.is_empty() { 0.0 } else { RUG_GAP + RUG_HEIGHT };

    let mut drawing = Drawing::new(WIDTH, frame.bottom() + rug + TICK_GAP + BOTTOM_MARGIN);
    drawing.title(left, &figure.title);
    frame.grid(&mut drawing, &x_axis, &y_axis);
    draw_lines(&mut drawing, &frame, figure);
    if heights.is_none() {
        frame.nothing_to_draw(&mut drawing);
    }
    let axis_line = [Attribute::Line(FRAME), Attribute::LineWidth(1.2)];
    drawing.line((frame.left, frame.bottom()), (frame.right(), frame.bottom()), &axis_line);
    draw_rug(&mut drawing, &frame, &figure.events);
    frame.x_axis(&mut drawing, &x_axis, &figure.x_label, rug + TICK_GAP);
    frame.y_axis(&mut drawing, &y_axis, &figure.y_label);
    for entry in &legend {
        entry.draw(&mut drawing, left);
    }
    drawing
}

/// The x range of a chart: of its positions, or of its events when it has none.
fn x_range(figure: &ChartFigure) -> Range {
    let positions = finite_range(figure.series.iter().flat_map(|series| series.x.iter().copied()));
    let (lo, hi) = usable(positions.or_else(|| finite_range(figure.events.iter().copied())));
    // A line may end at the edge; a dot or a bar there would be cut by half.
    let outermost = figure.series.iter().any(|series| series.marks || !series.error.is_empty());
    let padding = if outermost { X_PADDING * (hi - lo) } else { 0.0 };
    (lo - padding, hi + padding)
}

/// The y range for the heights shown: a little more than these, but no end beyond a zero that nothing crosses.
fn y_range(heights: Option<Range>, from_zero: bool) -> Range {
    let (lowest, highest) = heights.unwrap_or((0.0, 1.0));
    let (lowest, highest) = if from_zero { (lowest.min(0.0), highest.max(0.0)) } else { (lowest, highest) };
    let (lo, hi) = usable(Some((lowest, highest)));
    let padding = Y_PADDING * (hi - lo);
    let start = if lowest >= 0.0 { (lo - padding).max(0.0) } else { lo - padding };
    let end = if highest <= 0.0 && lowest < 0.0 { (hi + padding).min(0.0) } else { hi + padding };
    (start, end)
}

/// Lowest and highest of everything the frame is to hold; none when there is nothing to draw.
fn shown_heights(figure: &ChartFigure) -> Option<Range> {
    let levels = figure.levels.iter().map(|level| level.y);
    finite_range(figure.series.iter().flat_map(heights).chain(levels))
}

/// The heights of a series: of its points, its error bars and its band.
fn heights(series: &Series) -> impl Iterator<Item = f64> {
    let places = series.x.iter().enumerate().filter(|(_, x)| is_drawable(**x));
    places.flat_map(|(i, _)| {
        let at = |values: &[f64]| values.get(i).copied().unwrap_or(f64::NAN);
        let (y, error) = (at(&series.y), at(&series.error));
        let (lower, upper) = series.band.as_ref().map_or((y, y), |(lower, upper)| (at(lower), at(upper)));
        [y, y - error, y + error, lower, upper]
    })
}

/// The style of a line.
fn line_style(colour: Rgb, stroke: Stroke) -> Vec<Attribute> {
    let dashes: &[Attribute] = match stroke {
        Stroke::Solid => &[Attribute::RoundCap],
        Stroke::Dashed => &[Attribute::Dashes(7.0, 4.0)],
        // Dashes without length are round dots.
        Stroke::Dotted => &[Attribute::RoundCap, Attribute::Dashes(0.1, 5.0)],
    };
    let line = [Attribute::NoFill, Attribute::Line(colour), Attribute::LineWidth(2.2), Attribute::RoundJoin];
    [&line, dashes].concat()
}

/// The same look, and what kind of thing it is.
fn classed(class: &'static str, style: &[Attribute]) -> Vec<Attribute> {
    [&[Attribute::Class(class)], style].concat()
}

/// All that lies in the frame, what matters least first.
fn draw_lines(drawing: &mut Drawing, frame: &Frame, figure: &ChartFigure) {
    let coloured = || figure.series.iter().enumerate().map(|(i, series)| (series, colour(i)));
    for (series, colour) in coloured() {
        draw_band(drawing, frame, series, colour);
    }
    for (i, level) in figure.levels.iter().enumerate().filter(|(_, level)| is_drawable(level.y)) {
        let at = frame.py(level.y);
        let style = classed("level", &line_style(colour(figure.series.len() + i), level.stroke));
        drawing.line((frame.left, at), (frame.right(), at), &style);
    }
    for (series, colour) in coloured() {
        draw_error_bars(drawing, frame, series, colour);
        draw_series(drawing, frame, series, colour);
    }
}

fn draw_band(drawing: &mut Drawing, frame: &Frame, series: &Series, colour: Rgb) {
    let Some((lower, upper)) = &series.band else { return };
    for piece in frame.band_pieces(&series.x, lower, upper) {
        drawing.path(piece, &band_style(colour));
    }
}

/// The thin outline keeps a band of a single position visible.
fn band_style(colour: Rgb) -> [Attribute; 6] {
    [
        Attribute::Class("band"),
        Attribute::Fill(colour),
        Attribute::FillOpacity(0.15),
        Attribute::Line(colour),
        Attribute::LineOpacity(0.25),
        Attribute::LineWidth(0.8),
    ]
}

fn draw_error_bars(drawing: &mut Drawing, frame: &Frame, series: &Series, colour: Rgb) {
    let points = series.x.iter().zip(&series.y).zip(&series.error);
    for ((&x, &y), &error) in points.filter(|((x, y), error)| is_drawable(**x) && is_drawable(**y) && !error.is_nan()) {
        let (x, top, bottom) = (frame.px(x), frame.py_inside(y + error.abs()), frame.py_inside(y - error.abs()));
        draw_error_bar(drawing, x, (top, bottom), colour);
    }
}

fn draw_error_bar(drawing: &mut Drawing, x: f64, (top, bottom): (f64, f64), colour: Rgb) {
    let cap = |y: f64| [Step::Move((x - CAP, y)), Step::Across(x + CAP)];
    let bar = [Step::Move((x, top)), Step::Upright(bottom)];
    let style = [Attribute::NoFill, Attribute::Line(colour), Attribute::LineWidth(1.3)];
    drawing.path([cap(top), bar, cap(bottom)].concat(), &classed("error", &style));
}

fn draw_series(drawing: &mut Drawing, frame: &Frame, series: &Series, colour: Rgb) {
    let style = classed("series", &line_style(colour, series.stroke));
    for piece in frame.line_pieces(&series.x, &series.y) {
        if piece.len() > 1 {
            drawing.path(polyline(piece.iter().copied()), &style);
        }
        // A piece of one point has no line.
        if series.marks || piece.len() == 1 {
            piece.iter().for_each(|&point| draw_mark(drawing, point, colour));
        }
    }
}

fn draw_mark(drawing: &mut Drawing, point: Point, colour: Rgb) {
    drawing.circle(point, 3.6, &[Attribute::Fill(colour)]);
}

/// The events under the axis, to half a unit of the picture: where more fall together, the mark is darker.
fn draw_rug(drawing: &mut Drawing, frame: &Frame, events: &[f64]) {
    let counts = bin_counts(events, frame.x, (2.0 * frame.width) as usize);
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let top = frame.bottom() + RUG_GAP;
    for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let x = frame.left + frame.width * (bin as f64 + 0.5) / counts.len() as f64;
        let opacity = 0.2 + 0.6 * count as f64 / most;
        let style = [Attribute::Class("event"), Attribute::Line(QUIET_INK), Attribute::LineOpacity(opacity)];
        drawing.path(vec![Step::Move((x, top)), Step::Down(RUG_HEIGHT)], &style);
    }
}

/// What an entry of the legend stands for.
enum Sign<'a> {
    Series(&'a Series),
    Level(&'a Level),
    Events,
}

/// An entry of the legend and its place: the distance from the left end, and the row.
struct Entry<'a> {
    sign: Sign<'a>,
    colour: Rgb,
    label: String,
    size: f64,
    x: f64,
    row: usize,
}

/// The entries of the legend, as many in a row as fit.
fn legend<'a>(figure: &'a ChartFigure, x: Range, room: f64) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    let mut add = |sign: Sign<'a>, number: usize, label: &str| {
        let (label, size) = fit_text(label, TICK_SIZE, room - SWATCH - SWATCH_GAP);
        entries.push(Entry { sign, colour: colour(number), label, size, x: 0.0, row: 0 });
    };
    for (i, series) in figure.series.iter().enumerate().filter(|(_, series)| !series.label.is_empty()) {
        add(Sign::Series(series), i, &series.label);
    }
    let levels = figure.levels.iter().enumerate();
    for (i, level) in levels.filter(|(_, level)| !level.label.is_empty() && is_drawable(level.y)) {
        add(Sign::Level(level), figure.series.len() + i, &level.label);
    }
    if !figure.events.is_empty() {
        let shown = figure.events.iter().filter(|event| (x.0..=x.1).contains(*event)).count();
        add(Sign::Events, 0, &event_count(shown));
    }
    let places = places(entries.iter().map(Entry::width), room);
    for (entry, place) in entries.iter_mut().zip(places) {
        (entry.x, entry.row) = place;
    }
    entries
}

impl Entry<'_> {
    fn width(&self) -> f64 {
        SWATCH + SWATCH_GAP + text_width(&self.label, self.size)
    }

    fn draw(&self, drawing: &mut Drawing, left: f64) {
        let (x, middle) = (left + self.x, LEGEND_MIDDLE + LEGEND_ROW * self.row as f64);
        match self.sign {
            Sign::Series(series) => self.draw_series(drawing, series, (x, middle)),
            Sign::Level(level) => self.draw_line(drawing, level.stroke, (x, middle)),
            Sign::Events => draw_event_marks(drawing, (x, middle)),
        }
        let at = (x + SWATCH + SWATCH_GAP, middle + 0.35 * TICK_SIZE);
        drawing.text(Text::new(at, self.size, INK, &self.label));
    }

    fn draw_line(&self, drawing: &mut Drawing, stroke: Stroke, (x, middle): Point) {
        drawing.line((x, middle), (x + SWATCH, middle), &line_style(self.colour, stroke));
    }

    fn draw_series(&self, drawing: &mut Drawing, series: &Series, (x, middle): Point) {
        if series.band.is_some() {
            let style = [Attribute::Fill(self.colour), Attribute::FillOpacity(0.17)];
            drawing.rect([x, middle - 6.0, SWATCH, 12.0], &style);
        }
        self.draw_line(drawing, series.stroke, (x, middle));
        let centre = x + SWATCH / 2.0;
        if !series.error.is_empty() {
            let style = [Attribute::Line(self.colour), Attribute::LineWidth(1.3)];
            drawing.line((centre, middle - 7.0), (centre, middle + 7.0), &style);
        }
        if series.marks {
            draw_mark(drawing, (centre, middle), self.colour);
        }
    }
}

fn draw_event_marks(drawing: &mut Drawing, (x, middle): Point) {
    for offset in [5.0, 8.0, 14.0, 16.0, 23.0] {
        let style = [Attribute::Line(QUIET_INK), Attribute::LineOpacity(0.8)];
        drawing.line((x + offset, middle - 5.5), (x + offset, middle + 5.5), &style);
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::svg::{attributes, write};
    use super::*;

    fn level(label: &str, y: f64) -> Level {
        Level { label: label.into(), y, stroke: Stroke::Dashed }
    }

    #[test]
    fn odd_data_still_give_a_picture() {
        let odd = samples::odd_numbers();
        assert!(write(&draw(&samples::chart(vec![], vec![]))).contains("nothing to draw"));
        for x in &odd {
            for y in &odd {
                for (stroke, marks) in [(Stroke::Solid, true), (Stroke::Dotted, false)] {
                    let band = Some((x.clone(), y.clone()));
                    let (label, error) = ("<odd> & even".into(), x.clone());
                    let series = Series { label, x: x.clone(), y: y.clone(), error, band, stroke, marks };
                    let levels = y.iter().map(|&y| level("a level", y)).collect();
                    let mut figure = samples::chart(vec![series.clone(), series], levels);
                    (figure.events, figure.from_zero) = (y.clone(), marks);
                    let drawing = draw(&figure);
                    assert!(samples::is_sound(&drawing), "{}", write(&drawing));
                }
            }
        }
    }

    #[test]
    fn the_legend_wraps_inside_the_picture() {
        for count in [1, 3, 8, 40] {
            for length in [1, 9, 40, 500] {
                let line =
                    |i: usize| samples::series(&"W".repeat(length - i % 2 * length / 2), vec![0.0, 1.0], vec![1.0; 2]);
                let figure = samples::chart((0..count).map(line).collect(), vec![level("a level", 2.0)]);
                let room = 800.0;
                let entries = legend(&figure, (0.0, 1.0), room);
                assert_eq!(entries.len(), count + 1);
                assert!(entries.iter().all(|entry| entry.x >= 0.0 && entry.x + entry.width() <= room + 1e-6));
                for pair in entries.windows(2) {
                    let beside = pair[1].row == pair[0].row && pair[1].x >= pair[0].x + pair[0].width() + 10.0;
                    let below = pair[1].row == pair[0].row + 1 && pair[1].x == 0.0;
                    assert!(beside || below);
                }
            }
        }
    }

    #[test]
    fn the_frame_makes_way_for_the_legend() {
        let heights = |count: usize| {
            let series = vec![samples::series("a rather long name", vec![0.0, 1.0], vec![1.0, 2.0]); count];
            let svg = write(&draw(&samples::chart(series, vec![])));
            let height = svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            height.parse::<f64>().unwrap()
        };
        assert_eq!(heights(2) - heights(0), LEGEND_ROW);
        assert!(heights(12) >= heights(2) + LEGEND_ROW);
    }

    #[test]
    fn gaps_interrupt_the_line() {
        let y = vec![1.0, 1.0, f64::NAN, 2.0, 2.0, f64::INFINITY, 3.0];
        let series = samples::series("a", (0..7).map(f64::from).collect(), y);
        let svg = write(&draw(&samples::chart(vec![series], vec![])));
        assert_eq!(svg.matches("class=\"series\"").count(), 2, "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1, "the point that stands alone");
    }

    #[test]
    fn error_bars_levels_bands_and_events_are_drawn() {
        let mut series = samples::series("a", vec![1.0, 2.0, 3.0], vec![1.0, 2.0, 3.0]);
        series.error = vec![0.5, f64::NAN, 4.0];
        series.marks = true;
        let mut other = samples::series("b", vec![1.0, 3.0], vec![1.0, 1.0]);
        other.band = Some((vec![0.0, -2.5], vec![2.0, 2.0]));
        let mut figure = samples::chart(vec![series, other], vec![level("best", 8.0), level("none", f64::NAN)]);
        figure.events = vec![1.5, 2.0, 2.0, 99.0, f64::NAN];
        let svg = write(&draw(&figure));
        let count = |text: &str| svg.matches(text).count();
        assert_eq!((count("class=\"error\""), count("class=\"level\"")), (2, 1), "{svg}");
        assert_eq!((count("class=\"band\""), count("class=\"event\"")), (1, 2), "two events fall together");
        assert_eq!(count("<circle"), 4, "three dots and the legend");
        assert!(svg.contains(">best<") && !svg.contains(">none<") && svg.contains(">3 events<"));
        assert_eq!(shown_heights(&figure), Some((-2.5, 8.0)), "of the band and the level");
        figure.levels.clear();
        assert_eq!(shown_heights(&figure), Some((-2.5, 7.0)), "of the band and the error bar");
    }

    #[test]
    fn each_line_has_its_colour_and_stroke() {
        let series = ["a", "b", ""].map(|label| samples::series(label, vec![0.0, 1.0], vec![1.0, 2.0]));
        let mut figure = samples::chart(series.to_vec(), vec![level("c", 1.5)]);
        figure.series[1].stroke = Stroke::Dotted;
        let svg = write(&draw(&figure));
        let count = |number: usize| svg.matches(&attributes(&[Attribute::Line(colour(number))])).count();
        assert_eq!([count(0), count(1), count(2), count(3)], [2, 2, 1, 2], "no label, no entry: {svg}");
        assert_eq!(svg.matches("dasharray=\"0.1 5\"").count(), 2);
        assert_eq!(svg.matches("dasharray=\"7 4\"").count(), 2);
        assert_eq!(colour(8), colour(0));
    }

    #[test]
    fn the_y_axis_holds_everything_and_respects_zero() {
        let (lo, hi) = y_range(Some((10.0, 11.0)), false);
        assert!(lo > 9.8 && lo < 10.0 && hi > 11.0 && hi < 11.2);
        assert_eq!(y_range(Some((10.0, 11.0)), true).0, 0.0);
        assert_eq!(y_range(Some((0.1, 11.0)), false).0, 0.0, "nothing is below zero");
        let (lo, hi) = y_range(Some((-11.0, -1.0)), true);
        assert!(lo < -11.0 && hi == 0.0);
        assert!(y_range(Some((-1.0, 1.0)), true).0 < -1.0);
        let (lo, hi) = y_range(Some((0.0, 0.0)), true);
        assert!(lo == 0.0 && hi > 0.0);
    }

    #[test]
    fn dots_keep_clear_of_the_edge() {
        let mut figure = samples::chart(vec![samples::series("a", vec![0.0, 10.0], vec![1.0, 2.0])], vec![]);
        assert_eq!(x_range(&figure), (0.0, 10.0));
        figure.series[0].marks = true;
        assert_eq!(x_range(&figure), (-0.25, 10.25));
        figure.series.clear();
        figure.events = vec![3.0, 5.0];
        assert_eq!(x_range(&figure), (3.0, 5.0));
    }
}
