//! A small SVG writer, and the axes the SVG figures share.
//!
//! Writes shapes and escaped text; what to draw, and where, is decided elsewhere.

use super::scale::{Axis, Range, fraction, is_drawable};
use std::fmt::Write;

/// Colours shared by the figures.
pub(super) const INK: &str = "#1f2430";
pub(super) const QUIET_INK: &str = "#5b6270";
pub(super) const GRID: &str = "#e6e8ec";
pub(super) const FRAME: &str = "#9aa1ad";

/// Font sizes.
pub(super) const TITLE_SIZE: f64 = 17.0;
pub(super) const LABEL_SIZE: f64 = 13.0;
pub(super) const TICK_SIZE: f64 = 12.0;

/// Height of the legend line, under the title.
pub(super) const LEGEND_MIDDLE: f64 = 48.0;

/// The last-but-one is the font the PNG renderer carries.
const FONTS: &str = "Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// An SVG document under construction.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// An empty document on a white ground.
    pub fn new(width: f64, height: f64) -> Self {
        let mut svg = Svg { width, height, body: String::new() };
        svg.rect([0.0, 0.0, width, height], r##"fill="#ffffff""##);
        svg
    }

    /// A rectangle, given as left, top, width, height.
    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], style: &str) {
        self.raw(&format!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" {style}/>"#,
            px(x),
            px(y),
            px(w.max(0.0)),
            px(h.max(0.0))
        ));
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        self.path(&format!("M{} {}L{} {}", px(from.0), px(from.1), px(to.0), px(to.1)), style);
    }

    /// A path in SVG path notation.
    pub fn path(&mut self, d: &str, style: &str) {
        self.raw(&format!(r#"<path d="{d}" {style}/>"#));
    }

    /// A disc.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, style: &str) {
        self.raw(&format!(r#"<circle cx="{}" cy="{}" r="{}" {style}/>"#, px(x), px(y), px(radius)));
    }

    /// A line of text; it is escaped here.
    pub fn text(&mut self, (x, y): (f64, f64), size: f64, style: &str, content: &str) {
        self.raw(&format!(
            r#"<text x="{}" y="{}" font-size="{}" {style}>{}</text>"#,
            px(x),
            px(y),
            px(size),
            escape(content)
        ));
    }

    /// Ready-made markup.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
        self.body.push('\n');
    }

    /// The heading, made smaller or cut when it would not fit.
    pub fn title(&mut self, left: f64, title: &str) {
        let (title, size) = fit_text(title, TITLE_SIZE, self.width - left - 12.0);
        self.text((left, 28.0), size, &format!(r#"fill="{INK}" font-weight="600""#), &title);
    }

    /// The whole document.
    pub fn finish(self) -> String {
        let (w, h) = (px(self.width), px(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" font-family=\"{FONTS}\">\n{}</svg>\n",
            self.body
        )
    }
}

/// The plotting rectangle and the data it shows.
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Range,
    pub y: Range,
}

impl Frame {
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Horizontal position of a value.
    pub fn px(&self, x: f64) -> f64 {
        self.left + self.width * fraction(x, self.x)
    }

    /// Vertical position of a value.
    pub fn py(&self, y: f64) -> f64 {
        self.bottom() - self.height * fraction(y, self.y)
    }

    /// The pieces of a line, in points of the picture; it is interrupted where a value cannot be drawn.
    pub fn line_pieces(&self, x: &[f64], y: &[f64]) -> Vec<Vec<(f64, f64)>> {
        runs(x.iter().zip(y).map(|(&x, &y)| {
            let there = is_drawable(x) && is_drawable(y);
            there.then(|| (self.px(x), self.py(y)))
        }))
    }

    /// The pieces of a band, in path notation; it is interrupted where an end is missing.
    pub fn band_pieces(&self, x: &[f64], lower: &[f64], upper: &[f64]) -> Vec<String> {
        let edges = x.iter().zip(lower.iter().zip(upper)).map(|(&x, (&lower, &upper))| {
            let there = is_drawable(x) && !lower.is_nan() && !upper.is_nan();
            there.then(|| (self.px(x), self.py_inside(lower), self.py_inside(upper)))
        });
        let outline = |run: &Vec<(f64, f64, f64)>| {
            let there = run.iter().map(|&(x, _, upper)| (x, upper));
            let back = run.iter().rev().map(|&(x, lower, _)| (x, lower));
            polyline(there.chain(back)) + "Z"
        };
        runs(edges).iter().map(outline).collect()
    }

    /// Vertical position of an end, which reaches the edge of the frame when it is unbounded.
    pub fn py_inside(&self, y: f64) -> f64 {
        self.py(y.clamp(self.y.0, self.y.1))
    }

    /// A faint line across the frame at each tick.
    pub fn grid(&self, svg: &mut Svg, x_axis: &Axis, y_axis: &Axis) {
        let style = format!(r#"stroke="{GRID}" stroke-width="1""#);
        for tick in &y_axis.ticks {
            let at = self.py(tick.value);
            svg.line((self.left, at), (self.right(), at), &style);
        }
        for tick in &x_axis.ticks {
            let at = self.px(tick.value);
            svg.line((at, self.top), (at, self.bottom()), &style);
        }
    }

    /// Says in the middle of the frame that it is empty.
    pub fn nothing_to_draw(&self, svg: &mut Svg) {
        let centre = (self.left + self.width / 2.0, self.top + self.height / 2.0);
        let style = format!(r#"fill="{FRAME}" text-anchor="middle""#);
        svg.text(centre, TICK_SIZE, &style, "nothing to draw");
    }

    /// Tick labels and axis label below the frame, the tick labels `gap` under it.
    pub fn x_axis(&self, svg: &mut Svg, axis: &Axis, label: &str, gap: f64) {
        let centre = self.left + self.width / 2.0;
        let room = 2.0 * centre.min(svg.width - centre) - 8.0;
        self.x_axis_within(svg, axis, &axis.title(label), gap, room);
    }

    /// The same with the axis label as it is and at most `room` wide, where other frames stand beside this one.
    pub fn x_axis_within(&self, svg: &mut Svg, axis: &Axis, title: &str, gap: f64, room: f64) {
        let baseline = self.bottom() + gap + TICK_SIZE;
        for tick in &axis.ticks {
            // A label at the very end must not leave the picture.
            let half = text_width(&tick.label, TICK_SIZE) / 2.0 + 4.0;
            let x = self.px(tick.value).min(svg.width - half).max(half);
            let style = format!(r#"fill="{QUIET_INK}" text-anchor="middle""#);
            svg.text((x, baseline), TICK_SIZE, &style, &tick.label);
        }
        let (title, size) = fit_text(title, LABEL_SIZE, room);
        let style = format!(r#"fill="{INK}" text-anchor="middle""#);
        svg.text((self.left + self.width / 2.0, baseline + 24.0), size, &style, &title);
    }

    /// Tick labels and axis label left of the frame.
    pub fn y_axis(&self, svg: &mut Svg, axis: &Axis, label: &str) {
        self.y_axis_within(svg, axis, &axis.title(label), self.upright_room(svg));
    }

    /// The same with the axis label as it is and at most `room` long, where other frames stand above or below this one.
    pub fn y_axis_within(&self, svg: &mut Svg, axis: &Axis, title: &str, room: f64) {
        for tick in &axis.ticks {
            let style = format!(r#"fill="{QUIET_INK}" text-anchor="end""#);
            let y = self.py(tick.value) + 0.35 * TICK_SIZE;
            svg.text((self.left - 8.0, y), TICK_SIZE, &style, &tick.label);
        }
        let x = self.left - 8.0 - widest_label(axis) - 12.0;
        self.upright_text(svg, x, title, room);
    }

    /// How long a label reading upwards can be before it leaves the picture.
    pub fn upright_room(&self, svg: &Svg) -> f64 {
        let y = self.top + self.height / 2.0;
        2.0 * y.min(svg.height - y) - 16.0
    }

    /// A label reading upwards, centred on the frame, at most `room` long.
    pub fn upright_text(&self, svg: &mut Svg, x: f64, label: &str, room: f64) {
        let y = self.top + self.height / 2.0;
        let (label, size) = fit_text(label, LABEL_SIZE, room);
        let turn = format!("rotate(-90 {} {})", px(x), px(y));
        let style = format!(r#"fill="{INK}" text-anchor="middle" transform="{turn}""#);
        svg.text((x, y), size, &style, &label);
    }
}

/// Room to leave left of a frame for its tick labels and axis label.
pub(super) fn y_axis_room(axis: &Axis) -> f64 {
    widest_label(axis) + 8.0 + 12.0 + LABEL_SIZE + 8.0
}

/// Width of the widest tick label.
pub(super) fn widest_label(axis: &Axis) -> f64 {
    axis.ticks.iter().map(|t| text_width(&t.label, TICK_SIZE)).fold(0.0, f64::max)
}

/// A coordinate to a hundredth of a pixel, as short as possible.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        short => short.into(),
    }
}

/// Text made safe for element content and attributes; characters XML forbids are dropped.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => safe.push(c),
        }
    }
    safe
}

/// Estimated width of a text, on the generous side: the viewer's font is not known.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        'f' | 't' | 'r' | 'I' | '(' | ')' | '-' | '/' | '·' | '⁰'..='⁹' | '¹' | '²' | '³' => 0.43,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '—' => 0.98,
        c if c.is_uppercase() || "×−+=<>".contains(c) => 0.8,
        c if (c as u32) < 0x2e80 => 0.64,
        _ => 1.0,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The text and font size that fit a width: first smaller, at last cut short.
pub(super) fn fit_text(text: &str, size: f64, room: f64) -> (String, f64) {
    let full = text_width(text, size);
    if full <= room {
        return (text.to_string(), size);
    }
    let smaller = (size * room / full).max(0.75 * size);
    let mut kept: Vec<char> = text.chars().collect();
    let mut cut = text.to_string();
    while !kept.is_empty() && text_width(&cut, smaller) > room + 1e-9 {
        kept.pop();
        cut = kept.iter().collect::<String>().trim_end().to_string() + "…";
    }
    (cut, smaller)
}

/// Consecutive drawable items, split where one is missing.
pub(super) fn runs<T>(items: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for item in items {
        match (item, runs.last_mut()) {
            (Some(item), Some(run)) => run.push(item),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Path notation of a polyline through the points.
pub(super) fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (x, y) in points {
        let command = if d.is_empty() { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(d, "{command}{} {}", px(x), px(y));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\" > 'd'\u{1b}\u{0}\n"), "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39; ");
        let mut svg = Svg::new(10.0, 10.0);
        svg.text((0.0, 0.0), 12.0, "", "</text><script>");
        assert!(!svg.finish().contains("<script>"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(px(1.0), "1");
        assert_eq!(px(100.0), "100");
        assert_eq!(px(-0.001), "0");
        assert_eq!(px(12.346), "12.35");
    }

    #[test]
    fn long_text_is_made_to_fit() {
        let long = "An exceedingly long title ".repeat(10);
        let (cut, size) = fit_text(&long, 17.0, 300.0);
        assert!(text_width(&cut, size) <= 300.0 + 1e-6 && cut.ends_with('…'));
        assert_eq!(fit_text("short", 17.0, 300.0), ("short".to_string(), 17.0));
        assert!(fit_text("x", 17.0, -1.0).0.len() < 4);
    }

    #[test]
    fn bands_end_at_the_frame_and_break_where_an_end_is_missing() {
        let frame = Frame { left: 0.0, top: 0.0, width: 4.0, height: 10.0, x: (0.0, 4.0), y: (0.0, 10.0) };
        let lower = [1.0, f64::NEG_INFINITY, f64::NAN, 1.0, 9.0];
        let pieces = frame.band_pieces(&[0.0, 1.0, 2.0, 3.0], &lower, &[2.0, f64::INFINITY, 3.0, 4.0]);
        assert_eq!(pieces, ["M0 8L1 0L1 10L0 9Z", "M3 6L3 9Z"]);
        let pieces = frame.line_pieces(&[0.0, 1.0, 2.0, f64::NAN], &[1.0, f64::INFINITY, 3.0, 4.0]);
        assert_eq!(pieces, [[(0.0, 9.0)], [(2.0, 7.0)]]);
    }

    #[test]
    fn runs_split_at_gaps() {
        let items = [None, Some(1), Some(2), None, None, Some(3)];
        assert_eq!(runs(items.into_iter()), [vec![1, 2], vec![3]]);
    }
}
