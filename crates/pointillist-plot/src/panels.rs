//! Maps side by side: a grid of them with one colour scale and one colour bar.
//!
//! Decides only where each map stands and what its neighbours make superfluous; the maps themselves are those of
//! `map.rs`.

use super::drawing::{Anchor, Drawing, INK, QUIET_INK, Text};
use super::frame::{Frame, widest_label, y_axis_room};
use super::legend::{LEGEND_MIDDLE, LEGEND_ROW};
use super::map::{
    Bar, Colours, MOST_EVENTS, SMALLEST_WIDTH, TICK_GAP, crowded, draw_anomaly_legend, draw_map, draw_ticks, map_axes,
    map_size,
};
use super::scale::{Axis, Range, Spread, usable};
use super::style::Style;
use super::text::{LABEL_SIZE, TICK_SIZE, fit_text, text_width};
use super::{MapFigure, PanelsFigure};

/// The maps of a row share this width; each is no wider and no narrower than these.
const ROW_WIDTH: f64 = 720.0;
const PANEL_WIDTHS: Range = (170.0, 460.0);
/// The largest height of a map, as part of its largest width.
const HEIGHT_SHARE: f64 = 0.82;
/// Narrower maps still get this much room, for their titles.
const NARROWEST_COLUMN: f64 = 140.0;
const COLUMN_GAP: f64 = 12.0;
/// On paper a map whose height nobody gives is no higher than this part of its width, and none is smaller than this.
const TALLEST: f64 = 1.2;
const LEAST_PANEL: f64 = 20.0;
/// Where the first row begins, the height of a panel's heading, and what lies below its labels.
const TOP: f64 = 44.0;
const HEADING: f64 = 22.0;
const ROW_GAP: f64 = 15.0;
/// From the tick labels of an x axis to its label.
const X_LABEL: f64 = 24.0;

/// One map with its axes.
struct Panel<'a> {
    figure: &'a MapFigure,
    x: Range,
    y: Range,
    size: (f64, f64),
    x_axis: Axis,
    y_axis: Axis,
    /// Labels of the axes, empty where a neighbour's says the same.
    x_title: String,
    y_title: String,
}

impl<'a> Panel<'a> {
    fn new(figure: &'a MapFigure, largest: (f64, f64)) -> Self {
        let (x, y) = (usable(Some(figure.x_range)), usable(Some(figure.y_range)));
        let size = map_size(x, y, largest);
        let (x_axis, y_axis) = map_axes(x, y, size);
        let (x_title, y_title) = (x_axis.title(&figure.x_label), y_axis.title(&figure.y_label));
        Self { figure, x, y, size, x_axis, y_axis, x_title, y_title }
    }

    /// How far the labels reach to the left of the frame.
    fn room_left(&self) -> f64 {
        let labels =
            if self.y_title.is_empty() { widest_label(&self.y_axis) + 12.0 } else { y_axis_room(&self.y_axis) };
        labels.max(self.room_right())
    }

    /// How far they reach to the right: half of the last tick label.
    fn room_right(&self) -> f64 {
        widest_label(&self.x_axis) / 2.0 + 2.0
    }

    /// How far they reach below.
    fn room_below(&self) -> f64 {
        TICK_GAP + TICK_SIZE + if self.x_title.is_empty() { 0.0 } else { X_LABEL }
    }

    /// Draws the panel; its heading and the label of its x axis may be as wide as `room`.
    fn draw(&self, drawing: &mut Drawing, (left, top): (f64, f64), room: f64, colours: &Colours, most_events: usize) {
        let frame =
            Frame { left, top, width: self.size.0, height: self.size.1, x: self.x, y: self.y, spread: Spread::Even };
        let events = draw_map(drawing, &frame, self.figure, colours, crowded(&frame), most_events);
        draw_ticks(drawing, &frame, &self.x_axis, &self.y_axis);
        // It is centred on the map, so what is free to the left limits it too.
        let x_room = room.min(frame.width + 2.0 * self.room_left());
        frame.x_axis_within(drawing, &self.x_axis, &self.x_title, TICK_GAP, x_room);
        frame.y_axis_within(drawing, &self.y_axis, &self.y_title, frame.height);
        let events = if most_events == 0 { String::new() } else { events };
        draw_heading(drawing, &frame, room, &self.figure.title, &events);
    }
}

/// The title of a panel, and at the other end how many events it shows.
fn draw_heading(drawing: &mut Drawing, frame: &Frame, room: f64, title: &str, events: &str) {
    let baseline = frame.top - 8.0;
    let needed = text_width(events, TICK_SIZE) + 10.0;
    // The title matters more: the number stands only where the title can stay whole.
    let fits = fit_text(title, LABEL_SIZE, room - needed).0 == title;
    let taken = if fits && !events.is_empty() { needed } else { 0.0 };
    if taken > 0.0 {
        let text = Text::new((frame.left + room, baseline), TICK_SIZE, QUIET_INK, events);
        drawing.text(text.anchored(Anchor::End));
    }
    let (title, size) = fit_text(title, LABEL_SIZE, room - taken);
    drawing.text(Text::new((frame.left, baseline), size, INK, title).bold());
}

/// Where the panels stand.
struct Grid {
    /// Left ends and widths of the columns.
    columns: Vec<(f64, f64)>,
    /// Upper ends of the maps of each row.
    tops: Vec<f64>,
    /// Lower end of the lowest map.
    bottom: f64,
    /// Lower end of everything.
    height: f64,
}

impl Grid {
    /// Columns are no narrower than the last.
    fn of<'a>(panels: &'a [Panel<'a>], columns: usize, narrowest: f64) -> Self {
        let top = if is_marked(panels.iter().map(|panel| panel.figure)) { TOP + LEGEND_ROW } else { TOP };
        let mut grid = Self { columns: Vec::new(), tops: Vec::new(), bottom: top, height: top };
        let mut x = 0.0;
        for first in 0..columns {
            let column = || panels.iter().skip(first).step_by(columns);
            let left = x + most(column(), Panel::room_left);
            let width = most(column(), |panel| panel.size.0).max(narrowest);
            grid.columns.push((left, width));
            x = left + width + most(column(), Panel::room_right) + COLUMN_GAP;
        }
        for row in panels.chunks(columns) {
            let top = grid.height + HEADING;
            grid.tops.push(top);
            grid.bottom = top + most(row, |panel| panel.size.1);
            grid.height = top + most(row, |panel| panel.size.1 + panel.room_below()) + ROW_GAP;
        }
        grid
    }

    /// From the first map to the last; none without a map.
    fn frame(&self) -> Option<Frame> {
        let (&(left, _), &(last, width), &top) = (self.columns.first()?, self.columns.last()?, self.tops.first()?);
        let (width, height) = (last + width - left, self.bottom - top);
        Some(Frame { left, top, width, height, x: (0.0, 1.0), y: (0.0, 1.0), spread: Spread::Even })
    }
}

/// The most of a length that any of the panels has.
fn most<'a>(panels: impl IntoIterator<Item = &'a Panel<'a>>, length: impl Fn(&'a Panel<'a>) -> f64) -> f64 {
    panels.into_iter().map(length).fold(0.0, f64::max)
}

/// Whether any map has parts whose counts are outside of their bands.
fn is_marked<'a>(maps: impl IntoIterator<Item = &'a MapFigure>) -> bool {
    maps.into_iter().any(|map| !map.anomalies.is_empty())
}

/// The figure as shapes.
pub(super) fn draw(figure: &PanelsFigure, style: &Style) -> Drawing {
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let colours = Colours::common(&figure.panels, style);
    let Some(Layout { panels, grid, frame, bar }) = Layout::to_fit(figure, columns, &colours, style) else {
        return draw_empty(figure).sized(style.size);
    };
    let (width, height) = style.size.units();
    let width = width.unwrap_or(bar.right().max(SMALLEST_WIDTH));
    let mut drawing = Drawing::new(width, height.unwrap_or(grid.height)).sized(style.size);
    drawing.title(frame.left, &figure.title);
    if is_marked(&figure.panels) {
        draw_anomaly_legend(&mut drawing, (frame.left, LEGEND_MIDDLE), width - frame.left);
    }
    let events = figure.panels.iter().map(|panel| panel.events.len()).sum();
    for (i, panel) in panels.iter().enumerate() {
        let (left, room) = grid.columns[i % columns];
        let most = style.events.most_of_part(panel.figure.events.len(), events, MOST_EVENTS);
        panel.draw(&mut drawing, (left, grid.tops[i / columns]), room, &colours, most);
    }
    bar.draw(&mut drawing, &colours);
    drawing
}

/// The panels, where they stand, and the colour bar beside them.
struct Layout<'a> {
    panels: Vec<Panel<'a>>,
    grid: Grid,
    /// From the first map to the last.
    frame: Frame,
    bar: Bar,
}

impl<'a> Layout<'a> {
    /// The layout for maps no larger than these; none without a map.
    fn of(
        figure: &'a PanelsFigure,
        columns: usize,
        largest: (f64, f64),
        narrowest: f64,
        colours: &Colours,
    ) -> Option<Self> {
        let panels = panels_of(figure, columns, largest);
        let grid = Grid::of(&panels, columns, narrowest);
        let frame = grid.frame()?;
        let label = figure.panels.iter().map(|panel| panel.value_label.as_str()).find(|label| !label.is_empty());
        let bar = Bar::beside(&frame, colours, label.unwrap_or_default());
        Some(Self { panels, grid, frame, bar })
    }

    /// The layout that fills a picture of a size that is given, or the usual one.
    fn to_fit(figure: &'a PanelsFigure, columns: usize, colours: &Colours, style: &Style) -> Option<Self> {
        let (width, height) = style.size.units();
        let Some(width) = width else {
            let panel = (ROW_WIDTH / columns as f64).clamp(PANEL_WIDTHS.0, PANEL_WIDTHS.1);
            return Self::of(figure, columns, (panel, HEIGHT_SHARE * panel), NARROWEST_COLUMN, colours);
        };
        let rows = figure.panels.len().div_ceil(columns).max(1) as f64;
        let mut largest = (width / columns as f64, height.map_or(TALLEST * width / columns as f64, |h| h / rows));
        let mut layout = Self::of(figure, columns, largest, 0.0, colours)?;
        // What labels take changes a little with the maps, so that the room for these is found in steps.
        for _ in 0..4 {
            let map_width = most(&layout.panels, |panel| panel.size.0);
            largest.0 = (map_width + (width - layout.bar.right()) / columns as f64).max(LEAST_PANEL);
            if let Some(height) = height {
                let map_height = most(&layout.panels, |panel| panel.size.1);
                largest.1 = (map_height + (height - layout.grid.height) / rows).max(LEAST_PANEL);
            }
            layout = Self::of(figure, columns, largest, 0.0, colours)?;
        }
        let free = (width - layout.bar.right()).max(0.0);
        layout.move_right(0.5 * free);
        Some(layout)
    }

    fn move_right(&mut self, by: f64) {
        self.grid.columns.iter_mut().for_each(|(left, _)| *left += by);
        self.frame.left += by;
        self.bar.move_right(by);
    }
}

/// The panels, without labels of axes that the panel to the left or below repeats.
fn panels_of(figure: &PanelsFigure, columns: usize, largest: (f64, f64)) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel> = figure.panels.iter().map(|map| Panel::new(map, largest)).collect();
    // Each is compared with one whose labels are still there: to the left going back, below going forth.
    for i in (0..panels.len()).rev().filter(|i| i % columns > 0) {
        if panels[i].y_title == panels[i - 1].y_title {
            panels[i].y_title.clear();
        }
    }
    for i in 0..panels.len().saturating_sub(columns) {
        if panels[i].x_title == panels[i + columns].x_title {
            panels[i].x_title.clear();
        }
    }
    panels
}

fn draw_empty(figure: &PanelsFigure) -> Drawing {
    let mut drawing = Drawing::new(SMALLEST_WIDTH, 2.0 * TOP);
    let (x, y, spread) = ((0.0, 1.0), (0.0, 1.0), Spread::Even);
    let frame = Frame { left: 12.0, top: TOP, width: SMALLEST_WIDTH - 24.0, height: TOP, x, y, spread };
    drawing.title(frame.left, &figure.title);
    frame.nothing_to_draw(&mut drawing);
    drawing
}

#[cfg(test)]
mod tests {
    use super::super::svg::write;
    use super::super::{Figure, samples};
    use super::*;

    fn figure(columns: usize, panels: Vec<MapFigure>) -> PanelsFigure {
        PanelsFigure { title: "Truth & <estimates>".into(), columns, panels }
    }

    #[test]
    fn odd_data_still_give_a_picture() {
        let odd: Vec<MapFigure> = samples::odd_figures()
            .into_iter()
            .filter_map(|figure| if let Figure::Map(map) = figure { Some(map) } else { None })
            .collect();
        for map in &odd {
            let maps = vec![map.clone(), samples::map(3, 2, |i, j| (i + j) as f64), map.clone()];
            let drawing = draw(&figure(2, maps), &Style::default());
            assert!(samples::is_sound(&drawing), "{}", write(&drawing));
        }
        for columns in [0, 1, 5, usize::MAX] {
            assert!(samples::is_sound(&draw(&figure(columns, odd.clone()), &Style::default())));
            let empty = draw(&figure(columns, vec![]), &Style::default());
            assert!(samples::is_sound(&empty) && write(&empty).contains("nothing to draw"));
        }
    }

    /// The colours of a figure's images, in order.
    fn images(svg: &str) -> Vec<&str> {
        svg.lines().filter_map(|line| line.split_once("base64,").map(|(_, image)| image)).collect()
    }

    #[test]
    fn the_panels_share_colours_and_a_bar() {
        let low = samples::map(2, 2, |i, j| 1.0 + (i + j) as f64);
        let high = samples::map(2, 2, |i, j| 10.0 * (1 + i + j) as f64);
        let together = write(&draw(&figure(2, vec![low.clone(), high.clone()]), &Style::default()));
        let (alone, other) = (
            write(&draw(&figure(1, vec![low]), &Style::default())),
            write(&draw(&figure(1, vec![high]), &Style::default())),
        );
        assert_eq!(images(&alone), images(&other), "each fills a scale of its own");
        assert_eq!(images(&together)[1], images(&other)[0], "the higher one fills the common scale");
        assert_ne!(images(&together)[0], images(&alone)[0], "the lower one does not");
        assert_eq!(together.matches("url(#bar)").count(), 1);
        assert_eq!(together.matches("events per deg²").count(), 1);
    }

    #[test]
    fn axis_labels_are_not_repeated() {
        let map = samples::map(3, 2, |i, j| (i + j) as f64);
        let count = |panels: Vec<MapFigure>, label: &str| {
            write(&draw(&figure(2, panels), &Style::default())).matches(label).count()
        };
        assert_eq!(count(vec![map.clone(); 4], "longitude"), 2, "under the lower ones");
        assert_eq!(count(vec![map.clone(); 4], "latitude"), 2, "beside the left ones");
        assert_eq!(count(vec![map.clone(); 3], "longitude"), 2, "nothing is below the second");
        let mut other = map.clone();
        other.x_label = "km".into();
        assert_eq!(count(vec![map.clone(), map.clone(), other, map.clone()], "longitude"), 2);
        assert_eq!(count(vec![map.clone(); 4], ">A map<"), 4);
        let mut silent = map.clone();
        silent.events.clear();
        assert_eq!(count(vec![map.clone(), silent], "1 event<"), 1, "only where there are some");
        let mut long = map.clone();
        long.title = "a title ".repeat(9);
        assert_eq!(count(vec![map, long], "1 event<"), 1, "only where the title leaves room");
    }

    #[test]
    fn panels_keep_clear_of_each_other() {
        let wide = samples::map(40, 10, |i, j| (i * j) as f64);
        let mut tall = samples::map(2, 9, |i, j| (i * j) as f64);
        tall.y_range = (0.0, 1e6);
        for columns in 1..5 {
            let figure = figure(columns, vec![wide.clone(), tall.clone(), tall.clone(), wide.clone(), tall.clone()]);
            let Layout { panels, grid, .. } =
                Layout::to_fit(&figure, columns, &Colours::common(&[], &Style::default()), &Style::default()).unwrap();
            for (i, panel) in panels.iter().enumerate() {
                let (left, width) = grid.columns[i % columns];
                assert!(panel.size.0 <= width && panel.room_left() <= left);
                if let Some(next) = grid.columns.get(i % columns + 1) {
                    assert!(left + width <= next.0 - panel.room_right());
                }
                let end = grid.tops[i / columns] + panel.size.1 + panel.room_below();
                assert!(end + HEADING <= grid.tops.get(i / columns + 1).map_or(f64::INFINITY, |top| *top));
                assert!(end <= grid.height);
            }
        }
    }

    #[test]
    fn panels_on_paper_fill_their_picture() {
        use super::super::style::Size;
        let map = samples::map(30, 20, |i, j| (i * j) as f64);
        for (columns, panels) in [(1, 1), (2, 4), (3, 6), (3, 5)] {
            let figure = figure(columns, vec![map.clone(); panels]);
            for size in [Size::Wide(85.0), Size::Wide(174.0), Size::Paper(120.0, 120.0)] {
                let style = Style { size, ..Style::default() };
                let layout =
                    Layout::to_fit(&figure, columns, &Colours::common(&figure.panels, &style), &style).unwrap();
                let (width, height) = size.units();
                assert!(layout.bar.right() <= width.unwrap() + 0.5, "{size:?} {columns} {}", layout.bar.right());
                assert!(height.is_some() || layout.bar.right() > width.unwrap() - 8.0, "{}", layout.bar.right());
                assert!(height.is_none_or(|height| layout.grid.height <= height + 0.5), "{}", layout.grid.height);
                assert!(layout.panels[0].size.0 > 30.0);
            }
        }
    }

    #[test]
    fn thinned_events_are_shared_between_the_panels() {
        let mut map = samples::map(3, 3, |i, j| (i + j) as f64);
        map.events = (0..3_000).map(|i| [1.5, f64::from(i) * 1e-3]).collect();
        let style = Style { events: super::super::EventsShown::Thinned, ..Style::default() };
        let svg = write(&draw(&figure(2, vec![map.clone(), map]), &style));
        assert_eq!(svg.matches("<circle").count(), 2_000);
    }
}
