//! The two-dimensional figure: heat map, colour bar, events.
//!
//! Also holds the colour scale, which the terminal map shares, and the map in its frame and the colour bar, which
//! `panels.rs` shares. It does no interpolation of its own: one cell is one pixel of an image, smoothed where it is
//! shown.

use super::MapFigure;
use super::drawing::{Attribute, Drawing, FRAME, INK, Image, Place, QUIET_INK, Rgb, Step, Text, WHITE, polygon};
use super::frame::{Frame, LEGEND_MIDDLE, widest_label, y_axis_room};
use super::scale::{Axis, Range, count, event_count, fitted_axis, fraction, is_drawable, usable};
use super::text::{LABEL_SIZE, TICK_SIZE, text_width};

const TOP: f64 = 66.0;
const LARGEST_WIDTH: f64 = 640.0;
const LARGEST_HEIGHT: f64 = 520.0;
const BAR_GAP: f64 = 22.0;
const BAR_WIDTH: f64 = 16.0;
/// Below the frame: tick labels and axis label.
const BOTTOM_MARGIN: f64 = 58.0;
/// The tick labels of the x axis lie this far under the frame.
pub(super) const TICK_GAP: f64 = 7.0;
/// No picture is narrower, so that its title has room.
pub(super) const SMALLEST_WIDTH: f64 = 420.0;
const MOST_EVENTS: usize = 20_000;
/// With more events than this on a map of the largest size their points become smaller and fainter.
const CROWDED: f64 = 400.0;
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

/// Nine stops of viridis, dark to bright; linear steps between them follow it closely.
const VIRIDIS: [Rgb; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2d, 0x7b],
    [0x3b, 0x52, 0x8b],
    [0x2c, 0x72, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x28, 0xae, 0x80],
    [0x5e, 0xc9, 0x62],
    [0xad, 0xdc, 0x30],
    [0xfd, 0xe7, 0x25],
];

/// The colour of a fraction of the scale.
pub(super) fn viridis(fraction: f64) -> Rgb {
    // Not `clamp`, which would let a NaN through.
    let inside = if fraction > 0.0 { fraction.min(1.0) } else { 0.0 };
    let position = inside * (VIRIDIS.len() - 1) as f64;
    let below = (position as usize).min(VIRIDIS.len() - 2);
    let share = position - below as f64;
    let mix = |i: usize| {
        let (a, b) = (f64::from(VIRIDIS[below][i]), f64::from(VIRIDIS[below + 1][i]));
        (a + share * (b - a)).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// How values become colours.
pub(super) struct Colours {
    /// The values they span: from zero unless that would waste much of the scale.
    pub range: Range,
    /// Whether colours go by the root of a value: where a few high ones would leave all others alike.
    root: bool,
}

impl Colours {
    pub fn of(figure: &MapFigure) -> Self {
        Self::common(std::slice::from_ref(figure))
    }

    /// The colours that several figures share, so that the same colour means the same value in all of them.
    pub fn common(figures: &[MapFigure]) -> Self {
        let mut shown: Vec<f64> = figures.iter().flat_map(shown_values).filter(|&value| is_drawable(value)).collect();
        shown.sort_by(f64::total_cmp);
        let ends = shown.first().zip(shown.last()).map(|(&lo, &hi)| (lo, hi));
        let range = usable(ends.map(|(lo, hi)| if lo > 0.0 && lo < 0.35 * hi { (0.0, hi) } else { (lo, hi) }));
        let middle = shown.get(shown.len() / 2).copied().unwrap_or(range.1);
        Self { range, root: range.0 == 0.0 && middle < SKEWED * range.1 }
    }

    /// The place of a value on the scale, 0 to 1 for those it spans.
    pub fn share(&self, value: f64) -> f64 {
        let share = fraction(value, self.range);
        if self.root { share.max(0.0).sqrt() } else { share }
    }

    /// The label of the scale.
    pub fn label(&self, label: &str) -> String {
        if self.root { format!("{label}, colours by the root") } else { label.into() }
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
pub(super) fn draw(figure: &MapFigure) -> Drawing {
    let (x, y) = (usable(Some(figure.x_range)), usable(Some(figure.y_range)));
    let colours = Colours::of(figure);
    let (width, height) = map_size(x, y, (LARGEST_WIDTH, LARGEST_HEIGHT));
    let (x_axis, y_axis) = map_axes(x, y, (width, height));
    let left = y_axis_room(&y_axis);
    let frame = Frame { left, top: TOP, width, height, x, y };
    let bar = Bar::beside(&frame, &colours);

    let mut drawing = Drawing::new(bar.right().max(SMALLEST_WIDTH), TOP + height + BOTTOM_MARGIN);
    drawing.title(left, &figure.title);
    let caption = draw_map(&mut drawing, &frame, figure, &colours, CROWDED);
    draw_ticks(&mut drawing, &frame, &x_axis, &y_axis);
    frame.x_axis(&mut drawing, &x_axis, &figure.x_label, TICK_GAP);
    frame.y_axis(&mut drawing, &y_axis, &figure.y_label);
    bar.draw(&mut drawing, &colours, &figure.value_label);
    if !figure.events.is_empty() {
        let style = [Attribute::Fill(WHITE), Attribute::Line(EVENT_LINE), Attribute::LineWidth(0.9)];
        drawing.circle((left + 3.5, LEGEND_MIDDLE), 3.0, &style);
        let at = (left + 13.0, LEGEND_MIDDLE + 0.35 * TICK_SIZE);
        drawing.text(Text::new(at, TICK_SIZE, INK, caption));
    }
    drawing
}

/// What lies inside the frame and the frame itself; says how many events are shown. `crowded` is as for the events.
pub(super) fn draw_map(
    drawing: &mut Drawing,
    frame: &Frame,
    figure: &MapFigure,
    colours: &Colours,
    crowded: f64,
) -> String {
    drawing.rect(place(frame), &[Attribute::Fill(GROUND)]);
    let caption = drawing.clip(place(frame), |drawing| {
        draw_cells(drawing, frame, figure, colours);
        draw_border(drawing, frame, figure);
        draw_events(drawing, frame, &visible_events(figure, frame.x, frame.y), crowded)
    });
    draw_outline(drawing, frame);
    caption
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
                let [r, g, b] = viridis(colours.share(value));
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
fn draw_events(drawing: &mut Drawing, frame: &Frame, events: &[[f64; 2]], crowded: f64) -> String {
    let shown = events.len().min(MOST_EVENTS);
    let crowding = crowded / shown.max(1) as f64;
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
        for i in 0..shown {
            let [x, y] = events[i * events.len() / shown];
            drawing.circle((frame.px(x), frame.py(y)), radius, &[]);
        }
    });
    if shown < events.len() {
        format!("showing {} of {}", count(shown), event_count(events.len()))
    } else {
        event_count(shown)
    }
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
}

impl Bar {
    /// A bar to the right of a frame and as high.
    pub fn beside(frame: &Frame, colours: &Colours) -> Self {
        let extent = if colours.root { 40.0 } else { 24.0 };
        let axis = fitted_axis(colours.range, None, frame.height, 7, |_| extent);
        let left = frame.right() + BAR_GAP;
        Self { frame: Frame { left, width: BAR_WIDTH, x: (0.0, 1.0), y: colours.range, ..*frame }, axis }
    }

    /// Where the label stands.
    fn label_at(&self) -> f64 {
        self.frame.right() + 8.0 + widest_label(&self.axis) + 10.0 + LABEL_SIZE
    }

    /// Where the picture may end.
    pub fn right(&self) -> f64 {
        self.label_at() + 14.0
    }

    /// Draws the bar as a gradient through the stops.
    pub fn draw(&self, drawing: &mut Drawing, colours: &Colours, label: &str) {
        let bar = &self.frame;
        drawing.ramp(place(bar), &VIRIDIS);
        draw_outline(drawing, bar);
        for tick in &self.axis.ticks {
            let at = bar.bottom() - bar.height * colours.share(tick.value);
            let mark = [Attribute::Line(FRAME), Attribute::LineWidth(1.0)];
            drawing.line((bar.right(), at), (bar.right() + 4.0, at), &mark);
            let label_at = (bar.right() + 8.0, at + 0.35 * TICK_SIZE);
            drawing.text(Text::new(label_at, TICK_SIZE, QUIET_INK, &tick.label));
        }
        let title = self.axis.title(&colours.label(label));
        bar.upright_text(drawing, self.label_at(), &title, bar.upright_room(drawing));
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::svg::write;
    use super::*;

    #[test]
    fn the_colour_scale_brightens_steadily() {
        let light = |f: f64| {
            let [r, g, b] = viridis(f).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        assert!((1..=100).all(|i| light(f64::from(i) / 100.0) > light(f64::from(i - 1) / 100.0)));
        assert_eq!(viridis(0.0), VIRIDIS[0]);
        assert_eq!(viridis(f64::INFINITY), VIRIDIS[8]);
        assert_eq!(viridis(f64::NAN), VIRIDIS[0]);
    }

    #[test]
    fn too_many_events_are_thinned_and_said_so() {
        let mut figure = samples::map(3, 3, |i, j| (i + j) as f64);
        figure.events = (0..50_000).map(|i| [1.5, f64::from(i) * 6e-5]).collect();
        let svg = write(&draw(&figure));
        assert!(svg.contains("showing 20,000 of 50,000 events"));
        assert_eq!(svg.matches("<circle").count(), 20_001, "the events and the legend");
    }

    #[test]
    fn a_border_covers_the_rest_and_is_drawn() {
        let mut figure = samples::map(4, 4, |i, _| if i == 3 { 100.0 } else { 1.0 + i as f64 });
        assert!(!write(&draw(&figure)).contains("evenodd"));
        let square = |lo: f64, hi: f64| vec![[lo, lo], [hi, lo], [hi, hi], [lo, hi]];
        figure.border = vec![square(0.0, 3.0), square(1.0, 2.0)];
        figure.inside = (0..16).map(|cell| cell % 4 < 3 && cell / 4 < 3 && cell != 5).collect();
        assert_eq!(Colours::of(&figure).range, (0.0, 3.0), "what is outside takes no colours");
        let svg = write(&draw(&figure));
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
        assert_eq!(Colours::of(&samples::map(2, 1, |i, _| 1.0 + 9.0 * i as f64)).range, (0.0, 10.0));
        assert_eq!(Colours::of(&samples::map(2, 1, |i, _| 9.0 + i as f64)).range, (9.0, 10.0));
    }

    #[test]
    fn figures_can_share_their_colours() {
        let low = samples::map(2, 1, |i, _| 1.0 + i as f64);
        let high = samples::map(2, 1, |i, _| 10.0 * i as f64);
        assert_eq!(Colours::common(&[low.clone(), high]).range, (0.0, 10.0));
        assert_eq!(Colours::common(&[low.clone(), low.clone()]).range, Colours::of(&low).range);
        assert_eq!(Colours::common(&[]).range, (0.0, 1.0));
    }

    #[test]
    fn a_lonely_peak_does_not_take_all_colours() {
        let even = Colours::of(&samples::map(5, 1, |i, _| 1.0 + i as f64));
        assert_eq!((even.share(2.5), even.label("rate").as_str()), (0.5, "rate"));
        let skewed = Colours::of(&samples::map(5, 1, |i, _| if i == 4 { 100.0 } else { 1.0 }));
        assert_eq!((skewed.share(25.0), skewed.share(-1.0), skewed.share(100.0)), (0.5, 0.0, 1.0));
        assert!(skewed.label("rate").contains("root"));
    }

    #[test]
    fn cells_reach_half_a_step_beyond_their_centres() {
        assert_eq!(cell_ends(&[0.5, 1.5, 2.5], (0.0, 9.0)), (0.0, 3.0));
        assert_eq!(cell_ends(&[0.5], (0.0, 1.0)), (0.0, 1.0));
        assert_eq!(cell_ends(&[], (0.0, 1.0)), (0.0, 1.0));
    }
}
