//! The two-dimensional figure: heat map, colour bar, events.
//!
//! Also holds how values become colours, which the terminal map shares, and the map in its frame and the colour bar, which
//! `panels.rs` shares. It does no interpolation of its own: one cell is one pixel of an image, smoothed where it is
//! shown.

use super::MapFigure;
use super::anomaly;
use super::drawing::{Attribute, Drawing, FRAME, INK, Image, Place, Point, QUIET_INK, Rgb, Step, Text, WHITE, polygon};
use super::frame::{Frame, LINE_HEIGHT, widest_label, y_axis_room};
use super::legend::LEGEND_MIDDLE;
use super::palette::Palette;
use super::scale::{Axis, Range, Spread, fitted_axis, is_drawable, log_range, usable, value_axis};
use super::style::{EventsShown, Size, Style, caption, selection};
use super::text::{LABEL_SIZE, TICK_SIZE, fit_text, in_two_lines, text_width};

const TOP: f64 = 66.0;
const LARGEST_WIDTH: f64 = 640.0;
const LARGEST_HEIGHT: f64 = 520.0;
/// On paper a map whose height nobody gives is no higher than this part of the picture's width, ...
const TALLEST: f64 = 1.2;
/// ... and none is smaller than this.
const LEAST_ROOM: f64 = 40.0;
/// The label of a colour bar may be longer than the bar by this much.
const LABEL_BEYOND: f64 = 90.0;
const BAR_GAP: f64 = 22.0;
const BAR_WIDTH: f64 = 16.0;
/// Below the frame: tick labels and axis label.
const BOTTOM_MARGIN: f64 = 58.0;
/// The tick labels of the x axis lie this far under the frame.
pub(super) const TICK_GAP: f64 = 7.0;
/// No picture is narrower, so that its title has room.
pub(super) const SMALLEST_WIDTH: f64 = 420.0;
/// Most points that a map usually shows.
pub(super) const MOST_EVENTS: usize = 20_000;
/// With more events than this on a map of the largest size their points become smaller and fainter.
const CROWDED: f64 = 400.0;
/// The room of two triangles in the legend.
const ANOMALY_SWATCH: f64 = 30.0;
/// What lies outside the border.
const GROUND: Rgb = [0xee, 0xf0, 0xf3];
/// The line around the point of an event.
const EVENT_LINE: Rgb = [0x16, 0x18, 0x1d];
/// Corners of a border closer than this, in units of the picture, are one.
const FINEST_STEP: f64 = 0.15;
/// Colours go by the root where half of the values lie below this part of the largest.
const SKEWED: f64 = 0.08;
/// Ranges closer than this share one scale.
const EQUAL_SCALE_FACTOR: f64 = 5.0;

/// How values become colours.
pub(super) struct Colours {
    /// The values they span: from zero unless that would waste much of the scale.
    pub range: Range,
    spread: Spread,
    palette: Palette,
}

impl Colours {
    pub fn of(figure: &MapFigure, style: &Style) -> Self {
        Self::common(std::slice::from_ref(figure), style)
    }

    /// The colours that several figures share, so that the same colour means the same value in all of them.
    pub fn common(figures: &[MapFigure], style: &Style) -> Self {
        let palette = style.palette;
        if let Some(range) = style.given_range() {
            return Self { range, spread: style.spread(), palette };
        }
        let mut shown: Vec<f64> = figures.iter().flat_map(shown_values).filter(|&value| is_drawable(value)).collect();
        shown.sort_by(f64::total_cmp);
        if style.log {
            // Over a whole map rates may vanish; below this part of the largest it says little.
            let typical = shown.last().map_or(f64::NAN, |highest| 0.1 * highest);
            return Self { range: log_range(shown, typical), spread: Spread::Log, palette };
        }
        let ends = shown.first().zip(shown.last()).map(|(&lo, &hi)| (lo, hi));
        let range = usable(ends.map(|(lo, hi)| if lo > 0.0 && lo < 0.35 * hi { (0.0, hi) } else { (lo, hi) }));
        let middle = shown.get(shown.len() / 2).copied().unwrap_or(range.1);
        let is_skewed = range.0 == 0.0 && middle < SKEWED * range.1;
        Self { range, spread: if is_skewed { Spread::Root } else { Spread::Even }, palette }
    }

    /// The place of a value on the scale, 0 to 1 for those it spans.
    pub fn share(&self, value: f64) -> f64 {
        self.spread.share(value, self.range)
    }

    /// The colour of a value.
    pub fn colour(&self, value: f64) -> Rgb {
        self.palette.colour(self.share(value))
    }

    /// The colour of a fraction of the scale.
    pub fn colour_at(&self, fraction: f64) -> Rgb {
        self.palette.colour(fraction)
    }

    /// The label of the scale.
    pub fn label(&self, label: &str) -> String {
        if self.spread == Spread::Root { format!("{label}, colours by the root") } else { label.into() }
    }
}

/// The values of the cells inside the border.
fn shown_values(figure: &MapFigure) -> impl Iterator<Item = f64> {
    figure.values.iter().enumerate().filter(|(cell, _)| is_inside(figure, *cell)).map(|(_, value)| *value)
}

/// Whether a cell lies inside the border.
pub(super) fn is_inside(figure: &MapFigure, cell: usize) -> bool {
    figure.inside.get(cell).copied().unwrap_or(true)
}

/// Whether one unit of x should be drawn as long as one unit of y.
pub(super) fn equal_scale(x: Range, y: Range) -> bool {
    let ratio = (x.1 - x.0) / (y.1 - y.0);
    (1.0 / EQUAL_SCALE_FACTOR..=EQUAL_SCALE_FACTOR).contains(&ratio)
}

/// The events that lie on the map.
pub(super) fn visible_events(figure: &MapFigure, x: Range, y: Range) -> Vec<[f64; 2]> {
    let inside = |e: &&[f64; 2]| (x.0..=x.1).contains(&e[0]) && (y.0..=y.1).contains(&e[1]);
    figure.events.iter().filter(inside).copied().collect()
}

/// Width and height of a map no larger than `largest`, true to scale where its ranges allow it.
pub(super) fn map_size(x: Range, y: Range, largest: (f64, f64)) -> (f64, f64) {
    if !equal_scale(x, y) {
        return largest;
    }
    let scale = (largest.0 / (x.1 - x.0)).min(largest.1 / (y.1 - y.0));
    ((x.1 - x.0) * scale, (y.1 - y.0) * scale)
}

/// The axes of a map: as many ticks as keep clear of each other, none beyond eight.
pub(super) fn map_axes(x: Range, y: Range, (width, height): (f64, f64)) -> (Axis, Axis) {
    let x_axis = fitted_axis(x, None, width, 8, |label| text_width(label, TICK_SIZE) + 16.0);
    (x_axis, fitted_axis(y, None, height, 8, |_| 26.0))
}

/// The figure as shapes.
pub(super) fn draw(figure: &MapFigure, style: &Style) -> Drawing {
    let (x, y) = (usable(Some(figure.x_range)), usable(Some(figure.y_range)));
    let colours = Colours::of(figure, style);
    let (width, height) = style.size.units();
    let room_below = |height: f64| (height - TOP - BOTTOM_MARGIN).max(LEAST_ROOM);
    let mut largest = match width {
        Some(width) => (width, height.map_or(TALLEST * width, room_below)),
        None => (LARGEST_WIDTH, LARGEST_HEIGHT),
    };
    // What labels take depends on the map, and the room for the map on its labels: the second look settles it.
    let mut layout = Layout::of(figure, (x, y), largest, &colours);
    if let Some(width) = width {
        for _ in 0..2 {
            largest.0 = (width - layout.beside()).max(LEAST_ROOM);
            layout = Layout::of(figure, (x, y), largest, &colours);
        }
        let free = (width - layout.bar.right()).max(0.0);
        layout.frame.left += 0.5 * free;
        layout.bar.move_right(0.5 * free);
    }
    let Layout { frame, x_axis, y_axis, bar } = layout;
    let width = width.unwrap_or(bar.right().max(SMALLEST_WIDTH));
    let mut drawing = Drawing::new(width, height.unwrap_or(TOP + frame.height + BOTTOM_MARGIN)).sized(style.size);
    drawing.title(frame.left, &figure.title);
    let crowded = if style.size == Size::Screen { CROWDED } else { crowded(&frame) };
    let most = style.events.most(figure.events.len(), MOST_EVENTS);
    let caption = draw_map(&mut drawing, &frame, figure, &colours, crowded, most);
    draw_ticks(&mut drawing, &frame, &x_axis, &y_axis);
    frame.x_axis(&mut drawing, &x_axis, &figure.x_label, TICK_GAP);
    frame.y_axis(&mut drawing, &y_axis, &figure.y_label);
    bar.draw(&mut drawing, &colours);
    let mut left = frame.left;
    if !figure.events.is_empty() && style.events != EventsShown::Hidden {
        left += 13.0 + text_width(&caption, TICK_SIZE) + 20.0;
        let style = [Attribute::Fill(WHITE), Attribute::Line(EVENT_LINE), Attribute::LineWidth(0.9)];
        drawing.circle((frame.left + 3.5, LEGEND_MIDDLE), 3.0, &style);
        let at = (frame.left + 13.0, LEGEND_MIDDLE + 0.35 * TICK_SIZE);
        drawing.text(Text::new(at, TICK_SIZE, INK, caption));
    }
    if !figure.anomalies.is_empty() {
        draw_anomaly_legend(&mut drawing, (left, LEGEND_MIDDLE), width - left);
    }
    drawing
}

/// What boxes with triangles mean, in so much room.
pub(super) fn draw_anomaly_legend(drawing: &mut Drawing, (left, middle): Point, room: f64) {
    anomaly::swatch(drawing, (left, middle));
    let (label, size) = fit_text(anomaly::LABEL, TICK_SIZE, room - ANOMALY_SWATCH);
    drawing.text(Text::new((left + ANOMALY_SWATCH, middle + 0.35 * TICK_SIZE), size, INK, label));
}

/// Where the parts of a single map stand.
struct Layout {
    frame: Frame,
    x_axis: Axis,
    y_axis: Axis,
    bar: Bar,
}

impl Layout {
    fn of(figure: &MapFigure, (x, y): (Range, Range), largest: (f64, f64), colours: &Colours) -> Self {
        let (width, height) = map_size(x, y, largest);
        let (x_axis, y_axis) = map_axes(x, y, (width, height));
        let left = y_axis_room(&y_axis);
        let frame = Frame { left, top: TOP, width, height, x, y, spread: Spread::Even };
        let bar = Bar::beside(&frame, colours, &figure.value_label);
        Self { frame, x_axis, y_axis, bar }
    }

    /// What lies beside the map, left and right of it.
    fn beside(&self) -> f64 {
        self.bar.right() - self.frame.width
    }
}

/// What lies inside the frame and the frame itself; says how many events are shown, which are no more than `most_events`.
/// `crowded` is as for the events.
pub(super) fn draw_map(
    drawing: &mut Drawing,
    frame: &Frame,
    figure: &MapFigure,
    colours: &Colours,
    crowded: f64,
    most_events: usize,
) -> String {
    drawing.rect(place(frame), &[Attribute::Fill(GROUND)]);
    let caption = drawing.clip(place(frame), |drawing| {
        draw_cells(drawing, frame, figure, colours);
        draw_border(drawing, frame, figure);
        let visible = visible_events(figure, frame.x, frame.y);
        let caption = draw_events(drawing, frame, &visible, crowded, most_events);
        draw_anomalies(drawing, frame, figure);
        caption
    });
    draw_outline(drawing, frame);
    caption
}

fn draw_anomalies(drawing: &mut Drawing, frame: &Frame, figure: &MapFigure) {
    for one in figure.anomalies.iter().filter(|one| one.is_in(frame.x, frame.y)) {
        let y = one.y.unwrap_or(frame.y);
        let (left, top) = (frame.px(one.x.0), frame.py(y.1));
        anomaly::cell(drawing, [left, top, frame.px(one.x.1) - left, frame.py(y.0) - top], one.more);
    }
}

fn place(frame: &Frame) -> Place {
    [frame.left, frame.top, frame.width, frame.height]
}

/// The ends of the cells along one axis, from their centres.
fn cell_ends(centres: &[f64], range: Range) -> Range {
    match (centres.first(), centres.last()) {
        (Some(&first), Some(&last)) if last > first => {
            let half = (last - first) / (centres.len() - 1) as f64 / 2.0;
            Some((first - half, last + half)).filter(|e| (e.1 - e.0).is_finite()).unwrap_or(range)
        }
        _ => range,
    }
}

fn draw_cells(drawing: &mut Drawing, frame: &Frame, figure: &MapFigure, colours: &Colours) {
    let (nx, ny) = (figure.x.len(), figure.y.len());
    let mut pixels = Vec::with_capacity(4 * nx * ny);
    // The top row of an image is its first, the top of a map has the largest y.
    for iy in (0..ny).rev() {
        for ix in 0..nx {
            let value = figure.values.get(iy * nx + ix).copied().unwrap_or(f64::NAN);
            if value.is_nan() {
                pixels.extend([0; 4]);
            } else {
                let [r, g, b] = colours.colour(value);
                pixels.extend([r, g, b, 255]);
            }
        }
    }
    let (x, y) = (cell_ends(&figure.x, frame.x), cell_ends(&figure.y, frame.y));
    let (left, top) = (frame.px(x.0), frame.py(y.1));
    let place = [left, top, frame.px(x.1) - left, frame.py(y.0) - top];
    drawing.image(place, Image { columns: nx, rows: ny, pixels });
}

/// Covers what lies outside the border, and draws the border.
fn draw_border(drawing: &mut Drawing, frame: &Frame, figure: &MapFigure) {
    let rings: Vec<Step> = figure.border.iter().flat_map(|ring| ring_path(frame, ring)).collect();
    if rings.is_empty() {
        return;
    }
    // A cover with the shape cut out of it, where a clip path would need an id; a little larger than the frame, so that no edge shows.
    let (left, top, right, bottom) = (frame.left - 2.0, frame.top - 2.0, frame.right() + 2.0, frame.bottom() + 2.0);
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
    let cover = [&polygon(corners)[..], &rings].concat();
    drawing.path(cover, &[Attribute::Fill(GROUND), Attribute::EvenOdd]);
    let line = [Attribute::Line(INK), Attribute::LineWidth(1.1), Attribute::RoundJoin];
    drawing.path(rings, &[&[Attribute::Class("border"), Attribute::NoFill][..], &line].concat());
}

/// A closed line; corners that would fall onto one another are left out.
fn ring_path(frame: &Frame, ring: &[[f64; 2]]) -> Vec<Step> {
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(ring.len());
    for &[x, y] in ring.iter().filter(|corner| corner.iter().all(|&x| is_drawable(x))) {
        let corner = (frame.px(x), frame.py(y));
        let is_near = |last: &(f64, f64)| (last.0 - corner.0).hypot(last.1 - corner.1) < FINEST_STEP;
        if !corners.last().is_some_and(is_near) {
            corners.push(corner);
        }
    }
    if corners.len() < 3 { Vec::new() } else { polygon(corners) }
}

/// How many events crowd a map: as many on the same area, whatever its size.
pub(super) fn crowded(frame: &Frame) -> f64 {
    CROWDED * frame.width * frame.height / (LARGEST_WIDTH * LARGEST_HEIGHT)
}

/// Draws the events, or an even selection of them, and says how many are shown.
///
/// With more than `crowded` of them the points are smaller and fainter.
fn draw_events(drawing: &mut Drawing, frame: &Frame, events: &[[f64; 2]], crowded: f64, most: usize) -> String {
    let selected = selection(events, most);
    let crowding = crowded / selected.len().max(1) as f64;
    let radius = (2.6 * crowding.cbrt()).clamp(0.9, 2.6);
    let opacity = (0.8 * crowding.powf(0.25)).clamp(0.3, 0.8);
    let style = [
        Attribute::Fill(WHITE),
        Attribute::Line(EVENT_LINE),
        Attribute::FillOpacity(opacity),
        Attribute::LineOpacity(opacity),
        Attribute::LineWidth(0.3 * radius),
    ];
    drawing.group(&style, |drawing| {
        for &[x, y] in &selected {
            drawing.circle((frame.px(x), frame.py(y)), radius, &[]);
        }
    });
    caption(selected.len(), events.len())
}

fn draw_outline(drawing: &mut Drawing, frame: &Frame) {
    drawing.rect(place(frame), &[Attribute::NoFill, Attribute::Line(FRAME), Attribute::LineWidth(1.0)]);
}

pub(super) fn draw_ticks(drawing: &mut Drawing, frame: &Frame, x_axis: &Axis, y_axis: &Axis) {
    let style = [Attribute::Line(FRAME), Attribute::LineWidth(1.0)];
    for tick in &x_axis.ticks {
        let at = frame.px(tick.value);
        drawing.line((at, frame.bottom()), (at, frame.bottom() + 4.0), &style);
    }
    for tick in &y_axis.ticks {
        let at = frame.py(tick.value);
        drawing.line((frame.left - 4.0, at), (frame.left, at), &style);
    }
}

/// The colour bar, with tick labels and its label to its right.
pub(super) struct Bar {
    frame: Frame,
    axis: Axis,
    /// The label, in one line or two.
    label: Vec<String>,
}

impl Bar {
    /// A bar to the right of a frame and as high.
    pub fn beside(frame: &Frame, colours: &Colours, label: &str) -> Self {
        let extent = if colours.spread == Spread::Root { 40.0 } else { 24.0 };
        let axis = value_axis(colours.range, colours.spread, frame.height, 7, |_| extent);
        let left = frame.right() + BAR_GAP;
        let title = axis.title(&colours.label(label));
        let label = in_two_lines(&title, LABEL_SIZE, frame.height + LABEL_BEYOND);
        let (y, spread) = (colours.range, colours.spread);
        Self { frame: Frame { left, width: BAR_WIDTH, x: (0.0, 1.0), y, spread, ..*frame }, axis, label }
    }

    pub fn move_right(&mut self, by: f64) {
        self.frame.left += by;
    }

    /// Where a line of the label stands.
    fn label_at(&self, line: usize) -> f64 {
        self.frame.right() + 8.0 + widest_label(&self.axis) + 10.0 + LABEL_SIZE * (1.0 + LINE_HEIGHT * line as f64)
    }

    /// Where the picture may end.
    pub fn right(&self) -> f64 {
        self.label_at(self.label.len().saturating_sub(1)) + 14.0
    }

    /// Draws the bar as a gradient through the stops.
    pub fn draw(&self, drawing: &mut Drawing, colours: &Colours) {
        let bar = &self.frame;
        drawing.ramp(place(bar), colours.palette.stops());
        draw_outline(drawing, bar);
        for tick in &self.axis.ticks {
            let at = bar.py(tick.value);
            let mark = [Attribute::Line(FRAME), Attribute::LineWidth(1.0)];
            drawing.line((bar.right(), at), (bar.right() + 4.0, at), &mark);
            let label_at = (bar.right() + 8.0, at + 0.35 * TICK_SIZE);
            drawing.text(Text::new(label_at, TICK_SIZE, QUIET_INK, &tick.label));
        }
        for (line, label) in self.label.iter().enumerate() {
            bar.upright_text(drawing, self.label_at(line), label, bar.upright_room(drawing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::svg::write;
    use super::*;

    const PLAIN: Style =
        Style { palette: Palette::Viridis, log: false, limits: None, events: EventsShown::Usual, size: Size::Screen };

    #[test]
    fn too_many_events_are_thinned_and_said_so() {
        let mut figure = samples::map(3, 3, |i, j| (i + j) as f64);
        figure.events = (0..50_000).map(|i| [1.5, f64::from(i) * 6e-5]).collect();
        let svg = write(&draw(&figure, &PLAIN));
        assert!(svg.contains("showing 20,000 of 50,000 events"));
        assert_eq!(svg.matches("<circle").count(), 20_001, "the events and the legend");
    }

    #[test]
    fn a_border_covers_the_rest_and_is_drawn() {
        let mut figure = samples::map(4, 4, |i, _| if i == 3 { 100.0 } else { 1.0 + i as f64 });
        assert!(!write(&draw(&figure, &PLAIN)).contains("evenodd"));
        let square = |lo: f64, hi: f64| vec![[lo, lo], [hi, lo], [hi, hi], [lo, hi]];
        figure.border = vec![square(0.0, 3.0), square(1.0, 2.0)];
        figure.inside = (0..16).map(|cell| cell % 4 < 3 && cell / 4 < 3 && cell != 5).collect();
        assert_eq!(Colours::of(&figure, &PLAIN).range, (0.0, 3.0), "what is outside takes no colours");
        let svg = write(&draw(&figure, &PLAIN));
        let cover = svg.lines().find(|line| line.contains("evenodd")).unwrap();
        let line = svg.lines().find(|line| line.contains("class=\"border\"")).unwrap();
        assert_eq!((cover.matches('Z').count(), line.matches('Z').count()), (3, 2), "{svg}");
    }

    #[test]
    fn comparable_ranges_share_a_scale() {
        assert!(equal_scale((34.0, 42.0), (-5.0, 5.0)));
        assert!(!equal_scale((0.0, 100.0), (0.0, 1.0)));
    }

    #[test]
    fn the_colours_begin_at_zero_when_that_costs_little() {
        assert_eq!(Colours::of(&samples::map(2, 1, |i, _| 1.0 + 9.0 * i as f64), &PLAIN).range, (0.0, 10.0));
        assert_eq!(Colours::of(&samples::map(2, 1, |i, _| 9.0 + i as f64), &PLAIN).range, (9.0, 10.0));
    }

    #[test]
    fn figures_can_share_their_colours() {
        let low = samples::map(2, 1, |i, _| 1.0 + i as f64);
        let high = samples::map(2, 1, |i, _| 10.0 * i as f64);
        assert_eq!(Colours::common(&[low.clone(), high], &PLAIN).range, (0.0, 10.0));
        assert_eq!(Colours::common(&[low.clone(), low.clone()], &PLAIN).range, Colours::of(&low, &PLAIN).range);
        assert_eq!(Colours::common(&[], &PLAIN).range, (0.0, 1.0));
    }

    #[test]
    fn a_lonely_peak_does_not_take_all_colours() {
        let even = Colours::of(&samples::map(5, 1, |i, _| 1.0 + i as f64), &PLAIN);
        assert_eq!((even.share(2.5), even.label("rate").as_str()), (0.5, "rate"));
        let skewed = Colours::of(&samples::map(5, 1, |i, _| if i == 4 { 100.0 } else { 1.0 }), &PLAIN);
        assert_eq!((skewed.share(25.0), skewed.share(-1.0), skewed.share(100.0)), (0.5, 0.0, 1.0));
        assert!(skewed.label("rate").contains("root"));
    }

    #[test]
    fn cells_reach_half_a_step_beyond_their_centres() {
        assert_eq!(cell_ends(&[0.5, 1.5, 2.5], (0.0, 9.0)), (0.0, 3.0));
        assert_eq!(cell_ends(&[0.5], (0.0, 1.0)), (0.0, 1.0));
        assert_eq!(cell_ends(&[], (0.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn limits_and_logarithms_set_the_colours() {
        let map = samples::map(3, 1, |i, _| 10f64.powi(i as i32));
        let log = Colours::of(&map, &Style { log: true, ..PLAIN });
        assert!((log.share(10.0) - 0.5).abs() < 1e-9 && log.share(0.0) == 0.0);
        let given = Colours::of(&map, &Style { limits: Some((0.0, 50.0)), ..PLAIN });
        assert_eq!((given.range, given.share(25.0)), ((0.0, 50.0), 0.5));
        let grey = Colours::of(&map, &Style { limits: Some((0.0, 50.0)), palette: Palette::Grey, ..PLAIN });
        assert_eq!(grey.colour(1e9), [0xf4; 3]);
    }

    #[test]
    fn a_map_on_paper_stays_inside_its_picture() {
        let mut figure = samples::map(30, 10, |i, j| (i * j) as f64);
        figure.value_label = "probability that the rate exceeds 5 events per square kilometre and day".into();
        for size in [Size::Wide(85.0), Size::Wide(174.0), Size::Paper(100.0, 60.0), Size::Paper(60.0, 100.0)] {
            let style = Style { size, ..PLAIN };
            let drawing = draw(&figure, &style);
            let (width, height) = size.units();
            assert_eq!(drawing.width, width.unwrap());
            assert!(height.is_none_or(|height| drawing.height == height));
            let svg = write(&drawing);
            let bar = svg.lines().find(|line| line.contains("url(#bar)")).unwrap();
            let number =
                |name: &str| bar.split(name).nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
            assert!(number("x=\"") + 60.0 < drawing.width, "{size:?} {bar}");
            assert!(number(" y=\"") + number(" height=\"") + 20.0 < drawing.height, "{size:?} {bar}");
        }
    }
}
