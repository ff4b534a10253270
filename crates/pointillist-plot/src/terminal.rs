//! Figures of one intensity as text for a terminal: braille dots and shades, or half blocks in colour.
//!
//! Lines are built cell by cell and cut to the width before any escape sequence is written, so
//! no line is ever wider than asked for. It does not ask the terminal for anything.

use super::curve::{bin_counts, visible_events, x_axis, x_range, y_range};
use super::drawing::Rgb;
use super::map::{self, Colours};
use super::scale::{Axis, Spread, event_count, fitted_axis, fraction, is_drawable, short, usable, value_axis};
use super::style::{EventsShown, Style as FigureStyle};
use super::{Curve, CurveFigure, MapFigure, PanelsFigure, StackFigure};
use std::fmt::Write;

/// How a cell looks when colours are on.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Strong,
    Quiet,
    Mean,
    MeanOnBand,
    Band,
    Events,
    /// Foreground, and the background if it has one.
    Pixel(Rgb, Option<Rgb>),
}

impl Style {
    /// The escape sequence that switches the style on.
    fn sequence(self) -> String {
        let code = match self {
            Style::Plain => "0".into(),
            Style::Strong => "1".into(),
            Style::Quiet => "2".into(),
            // The line keeps the terminal's own ink and the band a middling blue, so that both
            // stand out on dark and on light grounds.
            Style::Mean => "1".into(),
            Style::MeanOnBand => "1;48;5;67".into(),
            Style::Band => "38;5;67".into(),
            Style::Events => "38;5;173".into(),
            Style::Pixel([r, g, b], None) => format!("38;2;{r};{g};{b}"),
            Style::Pixel([r, g, b], Some([r2, g2, b2])) => {
                format!("38;2;{r};{g};{b};48;2;{r2};{g2};{b2}")
            }
        };
        format!("\x1b[{code}m")
    }
}

/// Columns a character takes; East Asian characters and pictographs take two.
fn columns(c: char) -> usize {
    match c as u32 {
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff00..=0xff60 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Columns a text takes.
fn text_columns(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// One line of styled characters.
#[derive(Default)]
struct Line(Vec<(char, Style)>);

impl Line {
    fn new(style: Style, text: &str) -> Self {
        let mut line = Line::default();
        line.push(style, text);
        line
    }

    /// Appends text; control characters, which could move the cursor, become spaces.
    fn push(&mut self, style: Style, text: &str) {
        self.0.extend(text.chars().map(|c| (if c.is_control() { ' ' } else { c }, style)));
    }

    fn width(&self) -> usize {
        self.0.iter().map(|cell| columns(cell.0)).sum()
    }

    fn pad_to(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        self.push(Style::Plain, &" ".repeat(missing));
    }

    /// Appends text centred on a column, moved inside `width`.
    fn push_centred(&mut self, style: Style, text: &str, centre: usize, width: usize) {
        let length = text_columns(text);
        let start = centre.saturating_sub(length / 2).min(width.saturating_sub(length));
        self.pad_to(start);
        self.push(style, text);
    }

    /// Cut to the width, an ellipsis showing that something is missing.
    fn cut(mut self, width: usize) -> Self {
        if self.width() > width {
            while self.width() + 1 > width && self.0.pop().is_some() {}
            if width > 0 {
                self.push(Style::Quiet, "…");
            }
        }
        self
    }

    fn render(self, colour: bool) -> String {
        let mut text = String::new();
        let mut current = Style::Plain;
        for (c, style) in self.0 {
            if colour && style != current {
                text.push_str(&Style::Plain.sequence());
                if style != Style::Plain {
                    text.push_str(&style.sequence());
                }
                current = style;
            }
            text.push(c);
        }
        if current != Style::Plain {
            text.push_str(&Style::Plain.sequence());
            return text;
        }
        text.trim_end().to_string()
    }
}

fn render(lines: Vec<Line>, width: usize, colour: bool) -> String {
    lines.into_iter().fold(String::new(), |mut text, line| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.cut(width).render(colour));
        text
    })
}

/// The values that a height of the picture stands for.
#[derive(Clone, Copy)]
struct Heights {
    range: (f64, f64),
    spread: Spread,
}

impl Heights {
    fn even(range: (f64, f64)) -> Self {
        Self { range, spread: Spread::Even }
    }

    /// Where a value lies: 0 at the bottom, 1 at the top.
    fn share(self, value: f64) -> f64 {
        self.spread.share(value, self.range)
    }
}

/// What stands left of each row: the tick labels of the y axis, right-aligned.
fn row_labels(axis: &Axis, heights: Heights, rows: usize) -> (Vec<Option<&str>>, usize) {
    let mut labels = vec![None; rows];
    for tick in &axis.ticks {
        let row = ((1.0 - heights.share(tick.value)) * rows as f64) as usize;
        labels[row.min(rows - 1)] = Some(tick.label.as_str());
    }
    (labels, axis.ticks.iter().map(|t| text_columns(&t.label)).max().unwrap_or(0))
}

fn row_start(label: Option<&str>, margin: usize) -> Line {
    let text = label.unwrap_or("");
    let mut line = Line::new(Style::Plain, &" ".repeat(margin.saturating_sub(text_columns(text))));
    line.push(Style::Quiet, text);
    line.push(Style::Quiet, if label.is_some() { " ┤" } else { " │" });
    line
}

/// The axis line with its tick marks, and the line of tick labels.
fn x_axis_lines(axis: &Axis, range: (f64, f64), start: usize, across: usize, width: usize) -> [Line; 2] {
    let column = |value: f64| ((fraction(value, range) * across as f64) as usize).min(across - 1);
    let mut marks = vec!['─'; across];
    let mut labels = Line::default();
    for tick in &axis.ticks {
        marks[column(tick.value)] = '┬';
        labels.push_centred(Style::Quiet, &tick.label, start + column(tick.value), width);
    }
    let mut rule = Line::default();
    rule.pad_to(start - 1);
    rule.push(Style::Quiet, "└");
    rule.push(Style::Quiet, &marks.into_iter().collect::<String>());
    [rule, labels]
}

/// Label and legend on one line if both fit, else on two.
fn closing_lines(label: &str, legend: Line, start: usize, width: usize) -> Vec<Line> {
    let mut line = Line::default();
    line.pad_to(start);
    line.push(Style::Plain, label);
    let legend_start = width.saturating_sub(legend.width());
    if label.is_empty() || line.width() + 3 <= legend_start {
        line.pad_to(if label.is_empty() { start.min(legend_start) } else { legend_start });
        line.0.extend(legend.0);
        return vec![line];
    }
    let mut second = Line::default();
    second.pad_to(start.min(legend_start));
    second.0.extend(legend.0);
    vec![line, second]
}

/// Maps and curves one below the other as text.
pub(super) fn stack(figure: &StackFigure, style: &FigureStyle, width: usize, height: usize, colour: bool) -> String {
    let title = Line::new(Style::Strong, &figure.title).cut(width).render(colour);
    let panels = figure.panels.iter().map(|panel| curve(panel, style, width, height, colour));
    let maps = figure.maps.iter().map(|panel| map(panel, style, width, height, colour));
    std::iter::once(title + "\n").chain(maps).chain(panels).collect::<Vec<_>>().join("\n")
}

/// A figure of curves as text: the first in dots with its band, the others as rows of their numbers.
pub(super) fn curve(figure: &CurveFigure, style: &FigureStyle, width: usize, height: usize, colour: bool) -> String {
    let (x, y) = (x_range(figure), Heights { range: y_range(figure, style), spread: style.spread() });
    // Title, y label, axis, rug, tick labels, and two lines of x label and legend.
    let rows = height.saturating_sub(7).max(3);
    let y_axis = value_axis(y.range, y.spread, rows as f64, 6, |_| 2.0);
    let (labels, margin) = row_labels(&y_axis, y, rows);
    let start = margin + 2;
    let across = width.saturating_sub(start + 1).max(2);
    let extent = |label: &str| text_columns(label) as f64 + 2.0;
    let x_axis = x_axis(figure, x, across as f64, 8, extent);
    let events: Vec<f64> = visible_events(figure, x).iter().map(|(event, _)| *event).collect();

    let mut lines = vec![Line::new(Style::Strong, &figure.title)];
    lines.push(Line::new(Style::Plain, &y_axis.title(&figure.y_label)));
    let first = figure.curves.first();
    let dots = braille(first, x, y, across, rows);
    let band = band_halves(first, x, y, across, rows);
    let over = numbers_and_marks(figure, x, y, across, rows);
    for row in 0..rows {
        let mut line = row_start(labels[row], margin);
        for column in 0..across {
            let mean = char::from_u32(0x2800 + dots[row][column]).filter(|_| dots[row][column] > 0);
            let covered = (band[2 * row][column], band[2 * row + 1][column]);
            line.0.push(match (mean, covered) {
                _ if over[row][column].is_some_and(|c| c != MARK) => (over[row][column].unwrap_or(' '), Style::Strong),
                (None, _) if over[row][column].is_some() => (MARK, Style::Quiet),
                (None, (false, false)) => (' ', Style::Plain),
                (None, _) if !colour => ('░', Style::Band),
                (None, (true, true)) => ('█', Style::Band),
                (None, (true, false)) => ('▀', Style::Band),
                (None, (false, true)) => ('▄', Style::Band),
                (Some(dots), (false, false)) => (dots, Style::Mean),
                (Some(dots), _) => (dots, Style::MeanOnBand),
            });
        }
        lines.push(line);
    }
    let [rule, tick_labels] = x_axis_lines(&x_axis, x, start, across, width);
    let mut rug = Line::default();
    rug.pad_to(start);
    let are_hidden = style.events == EventsShown::Hidden;
    let shown: &[f64] = if are_hidden { &[] } else { &events };
    rug.push(Style::Events, &density(&bin_counts(shown, x, across)));
    lines.extend([rule, rug, tick_labels]);

    let shown = (!figure.events.is_empty() && !are_hidden).then_some(events.len());
    let legend = curve_legend(figure, shown, colour);
    lines.extend(closing_lines(&x_axis.title(&figure.x_label), legend, start, width));
    render(lines, width, colour)
}

/// What the signs of a figure of curves mean, with so many events.
fn curve_legend(figure: &CurveFigure, events: Option<usize>, colour: bool) -> Line {
    let first = figure.curves.first();
    let mut legend = Line::default();
    if let Some(first) = first {
        legend.push(Style::Mean, "⠤⠤");
        legend.push(Style::Plain, &format!(" {}", first.label));
    }
    for (number, other) in figure.curves.iter().enumerate().skip(1) {
        legend.push(Style::Strong, &format!("   {}", digit(number)));
        legend.push(Style::Plain, &format!(" {}", other.label));
    }
    if let Some(band) = first.and_then(|curve| curve.band.as_ref()) {
        legend.push(Style::Plain, "   ");
        legend.push(Style::Band, if colour { "██" } else { "░░" });
        legend.push(Style::Plain, &format!(" {}", band.label));
    }
    if let Some(events) = events {
        legend.push(Style::Events, "   ▂▅█");
        legend.push(Style::Plain, &format!(" {}", event_count(events)));
    }
    if !figure.anomalies.is_empty() {
        legend.push(Style::Strong, ANOMALIES);
    }
    legend
}

/// What the signs of counts outside of their bands mean.
const ANOMALIES: &str = "   ▲▼ outside of its 95 % band";
/// A marked place of the x axis.
const MARK: char = '┊';

/// The sign of a curve other than the first.
fn digit(number: usize) -> char {
    char::from_digit(number as u32 + 1, 36).unwrap_or('+')
}

/// What is drawn over the first curve: the other ones, each as its number, and marked places.
fn numbers_and_marks(
    figure: &CurveFigure,
    x: (f64, f64),
    y: Heights,
    across: usize,
    rows: usize,
) -> Vec<Vec<Option<char>>> {
    let mut cells = vec![vec![None; across]; rows];
    for mark in figure.marks.iter().filter(|mark| (x.0..=x.1).contains(&mark.x)) {
        let column = ((fraction(mark.x, x) * across as f64) as usize).min(across - 1);
        cells.iter_mut().for_each(|row| row[column] = Some(MARK));
    }
    for one in figure.anomalies.iter().filter(|one| one.is_in(x, y.range)) {
        let middle = 0.5 * (one.x.0 + one.x.1);
        let column = ((fraction(middle, x).max(0.0) * across as f64) as usize).min(across - 1);
        cells[0][column] = Some(one.sign());
    }
    for (number, curve) in figure.curves.iter().enumerate().skip(1) {
        for column in 0..across {
            let at = x.0 + (column as f64 + 0.5) / across as f64 * (x.1 - x.0);
            let share = interpolate(&curve.x, &curve.y, at).map(|value| y.share(value));
            if let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) {
                cells[(((1.0 - share) * rows as f64) as usize).min(rows - 1)][column] = Some(digit(number));
            }
        }
    }
    cells
}

/// Counts as blocks of growing height; any event at all shows.
fn density(counts: &[usize]) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    counts.iter().map(|&n| BLOCKS[(8 * n).div_ceil(most).min(8)]).collect()
}

/// Braille patterns, two by four dots a cell, of the mean line.
fn braille(curve: Option<&Curve>, x: (f64, f64), y: Heights, across: usize, rows: usize) -> Vec<Vec<u32>> {
    const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let (wide, high) = (2 * across, 4 * rows);
    let mut cells = vec![vec![0; across]; rows];
    let mut set = |dot_x: f64, dot_y: f64| {
        let (column, row) = (dot_x.round().max(0.0) as usize, dot_y.round().max(0.0) as usize);
        let (column, row) = (column.min(wide - 1), row.min(high - 1));
        cells[row / 4][column / 2] |= BITS[column % 2][row % 4];
    };
    let mut previous = None;
    for (&at, &mean) in curve.into_iter().flat_map(|curve| curve.x.iter().zip(&curve.y)) {
        if !(is_drawable(at) && is_drawable(mean)) {
            previous = None;
            continue;
        }
        let dot_x = fraction(at, x) * (wide - 1) as f64;
        // What lies beyond limits runs along the edge.
        let dot_y = (1.0 - y.share(mean).clamp(0.0, 1.0)) * (high - 1) as f64;
        let (from_x, from_y) = previous.unwrap_or((dot_x, dot_y));
        let steps = (dot_x - from_x).abs().max((dot_y - from_y).abs()).ceil().max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            set(from_x + share * (dot_x - from_x), from_y + share * (dot_y - from_y));
        }
        previous = Some((dot_x, dot_y));
    }
    cells
}

/// Which half cells, top row first, the band covers; at least one wherever there is a band.
fn band_halves(curve: Option<&Curve>, x: (f64, f64), y: Heights, across: usize, rows: usize) -> Vec<Vec<bool>> {
    let mut halves = vec![vec![false; across]; 2 * rows];
    let Some((curve, band)) = curve.and_then(|curve| Some((curve, curve.band.as_ref()?))) else { return halves };
    for column in 0..across {
        let at = x.0 + (column as f64 + 0.5) / across as f64 * (x.1 - x.0);
        let ends = (interpolate(&curve.x, &band.lower, at), interpolate(&curve.x, &band.upper, at));
        let (Some(lower), Some(upper)) = ends else { continue };
        let edge =
            |value: f64| ((1.0 - y.share(value.clamp(y.range.0, y.range.1))) * 2.0 * rows as f64).round() as usize;
        let top = edge(upper).min(2 * rows - 1);
        for half in halves.iter_mut().take(edge(lower).max(top + 1)).skip(top) {
            half[column] = true;
        }
    }
    halves
}

/// The value between the two nearest positions; none outside them or in a gap.
fn interpolate(x: &[f64], values: &[f64], at: f64) -> Option<f64> {
    let right = x.partition_point(|&p| p < at).max(1);
    let (a, b) = (*x.get(right - 1)?, *x.get(right)?);
    let (va, vb) = (*values.get(right - 1)?, *values.get(right)?);
    let share = if b > a { (at - a) / (b - a) } else { 0.0 };
    let value = if share == 0.0 || va == vb { va } else { va + share * (vb - va) };
    (at >= a && !value.is_nan()).then_some(value)
}

/// Maps as text, one under the other, with one scale for all of them.
pub(super) fn panels(figure: &PanelsFigure, style: &FigureStyle, width: usize, height: usize, colour: bool) -> String {
    let colours = Colours::common(&figure.panels, style);
    let title = render(vec![Line::new(Style::Strong, &figure.title)], width, colour);
    let maps = figure.panels.iter().map(|map| map_in(map, &colours, style, width, height, colour));
    std::iter::once(title).chain(maps).collect::<Vec<_>>().join("\n")
}

/// A map as text.
pub(super) fn map(figure: &MapFigure, style: &FigureStyle, width: usize, height: usize, colour: bool) -> String {
    map_in(figure, &Colours::of(figure, style), style, width, height, colour)
}

/// A map in these colours as text.
fn map_in(
    figure: &MapFigure,
    colours: &Colours,
    style: &FigureStyle,
    width: usize,
    height: usize,
    colour: bool,
) -> String {
    const SHADES: &[u8; 10] = b" .:-=+*#%@";
    let (x, y) = (usable(Some(figure.x_range)), usable(Some(figure.y_range)));
    // Where some cells are outside, a blank must mean that.
    let shades = if figure.inside.contains(&false) { &SHADES[1..] } else { &SHADES[..] };
    // Title, y label, axis, tick labels, and two lines of x label and legend.
    let rows = height.saturating_sub(6).max(3);
    let y_axis = fitted_axis(y, None, rows as f64, 6, |_| 2.0);
    let (labels, margin) = row_labels(&y_axis, Heights::even(y), rows);
    let start = margin + 2;
    let across = map_columns(x, y, rows, width.saturating_sub(start + 1).max(2));
    let extent = |label: &str| text_columns(label) as f64 + 2.0;
    let x_axis = fitted_axis(x, None, across as f64, 8, extent);

    let mut lines = vec![Line::new(Style::Strong, &figure.title)];
    lines.push(Line::new(Style::Plain, &y_axis.title(&figure.y_label)));
    let halves = shrink(figure, across, 2 * rows);
    let share = |value: f64| colours.share(value).clamp(0.0, 1.0);
    let signs = anomaly_signs(figure, (x, y), (across, rows));
    for row in 0..rows {
        let mut line = row_start(labels[row], margin);
        for column in 0..across {
            if let Some(sign) = signs[row][column] {
                line.0.push((sign, Style::Strong));
                continue;
            }
            let (upper, lower) = (halves[2 * row][column], halves[2 * row + 1][column]);
            line.0.push(if colour {
                let ink = |value: f64| colours.colour(value);
                match (upper, lower) {
                    (Some(upper), lower) => ('▀', Style::Pixel(ink(upper), lower.map(ink))),
                    (None, Some(lower)) => ('▄', Style::Pixel(ink(lower), None)),
                    (None, None) => (' ', Style::Plain),
                }
            } else {
                let here: Vec<f64> = upper.into_iter().chain(lower).collect();
                let mean = here.iter().sum::<f64>() / here.len() as f64;
                let shade = shades[((share(mean) * shades.len() as f64) as usize).min(shades.len() - 1)];
                (if here.is_empty() { ' ' } else { char::from(shade) }, Style::Plain)
            });
        }
        lines.push(line);
    }
    lines.extend(x_axis_lines(&x_axis, x, start, across, width));

    let mut legend = Line::new(Style::Plain, &format!("{} ", short(colours.range.0)));
    if colour {
        for i in 0..16 {
            legend.push(Style::Pixel(colours.colour_at(f64::from(i) / 15.0), None), "█");
        }
    } else {
        legend.push(Style::Plain, &String::from_utf8_lossy(shades));
    }
    let events = map::visible_events(figure, x, y).len();
    let events = if style.events == EventsShown::Hidden { String::new() } else { event_count(events) };
    let closing = format!(" {} {}   {events}", short(colours.range.1), colours.label(&figure.value_label));
    legend.push(Style::Plain, closing.trim_end());
    if !figure.anomalies.is_empty() {
        legend.push(Style::Strong, ANOMALIES);
    }
    lines.extend(closing_lines(&x_axis.title(&figure.x_label), legend, start, width));
    render(lines, width, colour)
}

/// The signs of counts outside of their bands, each in the middle of its box.
fn anomaly_signs(
    figure: &MapFigure,
    (x, y): ((f64, f64), (f64, f64)),
    (across, rows): (usize, usize),
) -> Vec<Vec<Option<char>>> {
    let mut signs = vec![vec![None; across]; rows];
    for one in figure.anomalies.iter().filter(|one| one.is_in(x, y)) {
        let place = |part: (f64, f64), whole: (f64, f64), count: usize| {
            ((fraction(0.5 * (part.0 + part.1), whole).max(0.0) * count as f64) as usize).min(count - 1)
        };
        signs[rows - 1 - place(one.y.unwrap_or(y), y, rows)][place(one.x, x, across)] = Some(one.sign());
    }
    signs
}

/// Columns of a map of so many rows.
///
/// A cell is about twice as high as wide. Terminals have few rows, so a map may be drawn up to
/// half as wide again as it is: that shows more of it and keeps its shape recognisable.
fn map_columns(x: (f64, f64), y: (f64, f64), rows: usize, most: usize) -> usize {
    if !map::equal_scale(x, y) {
        return most;
    }
    let true_columns = 2.0 * rows as f64 * (x.1 - x.0) / (y.1 - y.0);
    ((1.5 * true_columns).round() as usize).clamp(2, most)
}

/// The map on a grid of `across` by `down`, top row first: means of the cells falling on each.
fn shrink(figure: &MapFigure, across: usize, down: usize) -> Vec<Vec<Option<f64>>> {
    let (nx, ny) = (figure.x.len(), figure.y.len());
    let span = |i: usize, parts: usize, n: usize| {
        let first = i * n / parts;
        first..((i + 1) * n / parts).max(first + 1).min(n)
    };
    let mean = |columns: std::ops::Range<usize>, rows: std::ops::Range<usize>| {
        let cells = rows.flat_map(|iy| columns.clone().map(move |ix| iy * nx + ix));
        let values: Vec<f64> = cells
            .filter(|&cell| map::is_inside(figure, cell))
            .filter_map(|cell| figure.values.get(cell).copied())
            .filter(|value| is_drawable(*value))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let row = |down_index: usize| {
        let rows = span(down - 1 - down_index, down, ny);
        (0..across).map(|column| mean(span(column, across, nx), rows.clone())).collect()
    };
    (0..down).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Calendar, Figure, samples};
    use super::*;

    /// The text without its escape sequences.
    fn visible(text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\x1b' {
                chars.by_ref().find(|&c| c == 'm');
            } else {
                out.push(c);
            }
        }
        out
    }

    fn hill() -> CurveFigure {
        let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.5).collect();
        let mean = x.iter().map(|x| 5.0 + 4.0 * (x / 15.0).sin()).collect();
        samples::curve(x, mean, (0..90).map(f64::from).collect())
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        let mut dated = hill();
        dated.title = "人口 ".repeat(60);
        dated.calendar = Some(Calendar { origin_unix_days: 18_000.0, unit_days: 1.0 });
        let map = samples::map(30, 20, |i, j| (i * j) as f64);
        let mut figures = vec![Figure::Curve(hill()), Figure::Curve(dated), Figure::Map(map)];
        figures.extend(samples::odd_figures());
        for figure in &figures {
            for (width, height) in [(0, 0), (1, 1), (10, 5), (40, 12), (80, 20), (200, 60)] {
                for (colour, style) in [(false, 0), (true, 0), (false, 1), (true, 2)] {
                    let text = figure.terminal_in(&samples::styles()[style], width, height, colour);
                    assert!(colour || !text.contains('\x1b'));
                    let widest = visible(&text).lines().map(text_columns).max().unwrap_or(0);
                    assert!(widest <= width, "{widest} > {width}\n{text}");
                    let is_one = !matches!(figure, Figure::Panels(_));
                    assert!(height < 12 || !is_one || text.lines().count() <= height, "{text}");
                }
            }
        }
    }

    #[test]
    fn a_curve_shows_line_band_rug_and_labels() {
        let text = Figure::Curve(hill()).terminal(80, 20, false);
        assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
        assert!(text.matches('░').count() > 60);
        assert!(text.contains('█') && text.contains("events per second"));
        assert!(text.contains("90 events") && text.contains(" 80"), "{text}");
    }

    #[test]
    fn other_curves_are_numbers_and_marks_are_lines() {
        let mut figure = hill();
        let other = Curve { label: "other".into(), x: vec![0.0, 100.0], y: vec![1.0, 1.0], band: None };
        figure.curves.push(other);
        figure.marks = vec![super::super::Mark { x: 50.0, label: "here".into() }];
        let text = Figure::Curve(figure.clone()).terminal(80, 20, false);
        assert!(text.matches('2').count() > 60 && text.contains("2 other"), "{text}");
        assert!(text.matches(MARK).count() > 5, "{text}");
        let hidden = FigureStyle { events: EventsShown::Hidden, ..FigureStyle::default() };
        assert!(!Figure::Curve(figure).terminal_in(&hidden, 80, 20, false).contains("90 events"));
    }

    #[test]
    fn the_band_covers_what_lies_between_its_ends() {
        let mut figure = samples::curve(vec![0.0, 1.0], vec![1.0, 1.0], vec![]);
        let covered = |figure: &CurveFigure| -> Vec<bool> {
            band_halves(figure.curves.first(), (0.0, 1.0), Heights::even((0.0, 2.0)), 3, 4)
                .iter()
                .map(|half| half[1])
                .collect()
        };
        // From 0.7 to 1.4 of 2, in halves of a quarter: the third to the fifth from the top.
        assert_eq!(covered(&figure), [false, false, true, true, true, false, false, false]);
        let band = figure.curves[0].band.take();
        figure.curves[0].band = band.map(|band| super::super::Band { upper: vec![f64::INFINITY; 2], ..band });
        assert_eq!(covered(&figure), [true, true, true, true, true, false, false, false]);
        figure.curves[0].band = None;
        assert_eq!(covered(&figure), [false; 8]);
    }

    #[test]
    fn a_rising_line_rises() {
        let figure = samples::curve(vec![0.0, 1.0], vec![0.0, 1.0], vec![]);
        let cells = braille(figure.curves.first(), (0.0, 1.0), Heights::even((0.0, 1.0)), 10, 5);
        assert!(cells[4][0] != 0 && cells[0][9] != 0);
        assert!(cells[0][0] == 0 && cells[4][9] == 0);
    }

    #[test]
    fn a_map_is_darkest_where_it_is_largest() {
        let map = samples::map(20, 20, |i, j| if i > 14 && j > 14 { 9.0 } else { 0.0 });
        let text = Figure::Map(map.clone()).terminal(80, 20, false);
        let rows: Vec<&str> = text.lines().skip(2).take(14).collect();
        assert!(rows[0].ends_with("@@@") && !rows[13].contains('@'), "{text}");
        let coloured = Figure::Map(map).terminal(80, 20, true);
        assert!(coloured.contains('▀') && coloured.contains("38;2;253;231;37"));
    }

    #[test]
    fn what_lies_outside_a_border_is_blank() {
        let mut map = samples::map(20, 20, |_, _| 1.0);
        map.inside = (0..400).map(|cell| cell % 20 >= 10).collect();
        let text = Figure::Map(map).terminal(80, 20, false);
        let rows: Vec<&str> = text.lines().skip(2).take(14).collect();
        let after_axis = |row: &&str| row.chars().skip_while(|c| !"│┤".contains(*c)).skip(1).collect::<String>();
        assert!(
            rows.iter().map(after_axis).all(|row| row.starts_with("      ") && row.contains(|c| c != ' ')),
            "{text}"
        );
    }

    #[test]
    fn interpolation_stays_between_neighbours() {
        let (x, v) = ([0.0, 1.0, 3.0], [1.0, 2.0, 6.0]);
        assert_eq!(interpolate(&x, &v, 2.0), Some(4.0));
        assert_eq!(interpolate(&x, &v, 0.0), Some(1.0));
        assert_eq!(interpolate(&x, &v, 3.5), None);
        assert_eq!(interpolate(&x, &v, -0.5), None);
        assert_eq!(interpolate(&[], &[], 0.0), None);
    }

    #[test]
    fn density_blocks_grow_with_the_count() {
        assert_eq!(density(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(density(&[0, 0]), "  ");
    }
}
