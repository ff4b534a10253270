//! The plotting rectangle of a figure: where values lie in it, and the axes around it.

use super::drawing::{Anchor, Attribute, Drawing, FRAME, GRID, INK, Point, QUIET_INK, Step, Text, polygon};
use super::scale::{Axis, Range, Spread, fraction, is_drawable};
use super::text::{LABEL_SIZE, TICK_SIZE, fit_text, text_width};

/// From one line of a label to the next, in heights of its letters.
pub(super) const LINE_HEIGHT: f64 = 1.25;

/// The plotting rectangle and the data it shows.
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Range,
    pub y: Range,
    /// How heights are spread.
    pub spread: Spread,
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

    /// Vertical position of a value. What lies far beyond limits is drawn as far away as still makes sense.
    pub fn py(&self, y: f64) -> f64 {
        const FARTHEST: f64 = 1e3;
        self.bottom() - self.height * self.spread.share(y, self.y).clamp(-FARTHEST, FARTHEST)
    }

    /// The pieces of a line, in points of the picture; it is interrupted where a value cannot be drawn.
    pub fn line_pieces(&self, x: &[f64], y: &[f64]) -> Vec<Vec<Point>> {
        runs(x.iter().zip(y).map(|(&x, &y)| {
            let there = is_drawable(x) && is_drawable(y);
            there.then(|| (self.px(x), self.py(y)))
        }))
    }

    /// The pieces of a band; it is interrupted where an end is missing.
    pub fn band_pieces(&self, x: &[f64], lower: &[f64], upper: &[f64]) -> Vec<Vec<Step>> {
        let edges = x.iter().zip(lower.iter().zip(upper)).map(|(&x, (&lower, &upper))| {
            let there = is_drawable(x) && !lower.is_nan() && !upper.is_nan();
            there.then(|| (self.px(x), self.py_inside(lower), self.py_inside(upper)))
        });
        let outline = |run: &Vec<(f64, f64, f64)>| {
            let there = run.iter().map(|&(x, _, upper)| (x, upper));
            let back = run.iter().rev().map(|&(x, lower, _)| (x, lower));
            polygon(there.chain(back))
        };
        runs(edges).iter().map(outline).collect()
    }

    /// Vertical position of an end, which reaches the edge of the frame when it is unbounded.
    pub fn py_inside(&self, y: f64) -> f64 {
        self.py(y.clamp(self.y.0, self.y.1))
    }

    /// A faint line across the frame at each tick.
    pub fn grid(&self, drawing: &mut Drawing, x_axis: &Axis, y_axis: &Axis) {
        let style = [Attribute::Line(GRID), Attribute::LineWidth(1.0)];
        for tick in &y_axis.ticks {
            let at = self.py(tick.value);
            drawing.line((self.left, at), (self.right(), at), &style);
        }
        for tick in &x_axis.ticks {
            let at = self.px(tick.value);
            drawing.line((at, self.top), (at, self.bottom()), &style);
        }
    }

    /// Says in the middle of the frame that it is empty.
    pub fn nothing_to_draw(&self, drawing: &mut Drawing) {
        let centre = (self.left + self.width / 2.0, self.top + self.height / 2.0);
        drawing.text(Text::new(centre, TICK_SIZE, FRAME, "nothing to draw").anchored(Anchor::Middle));
    }

    /// Tick labels and axis label below the frame, the tick labels `gap` under it.
    pub fn x_axis(&self, drawing: &mut Drawing, axis: &Axis, label: &str, gap: f64) {
        let centre = self.left + self.width / 2.0;
        let room = 2.0 * centre.min(drawing.width - centre) - 8.0;
        self.x_axis_within(drawing, axis, &axis.title(label), gap, room);
    }

    /// The same with the axis label as it is and at most `room` wide, where other frames stand beside this one.
    pub fn x_axis_within(&self, drawing: &mut Drawing, axis: &Axis, title: &str, gap: f64, room: f64) {
        let baseline = self.bottom() + gap + TICK_SIZE;
        for tick in &axis.ticks {
            // A label at the very end must not leave the picture.
            let half = text_width(&tick.label, TICK_SIZE) / 2.0 + 4.0;
            let x = self.px(tick.value).min(drawing.width - half).max(half);
            let label = Text::new((x, baseline), TICK_SIZE, QUIET_INK, &tick.label);
            drawing.text(label.anchored(Anchor::Middle));
        }
        let (title, size) = fit_text(title, LABEL_SIZE, room);
        let at = (self.left + self.width / 2.0, baseline + 24.0);
        drawing.text(Text::new(at, size, INK, title).anchored(Anchor::Middle));
    }

    /// Tick labels and axis label left of the frame.
    pub fn y_axis(&self, drawing: &mut Drawing, axis: &Axis, label: &str) {
        self.y_axis_within(drawing, axis, &axis.title(label), self.upright_room(drawing));
    }

    /// The same with the axis label in these lines, for which `y_axis_room` was left.
    pub fn y_axis_in_lines(&self, drawing: &mut Drawing, axis: &Axis, lines: &[String]) {
        let room = self.upright_room(drawing);
        let (last, above) = lines.split_last().map_or(("", lines), |(last, above)| (last, above));
        self.y_axis_within(drawing, axis, last, room);
        for (i, line) in above.iter().rev().enumerate() {
            let x = self.left - 8.0 - widest_label(axis) - 12.0 - LINE_HEIGHT * LABEL_SIZE * (i + 1) as f64;
            self.upright_text(drawing, x, line, room);
        }
    }

    /// The same with the axis label as it is and at most `room` long, where other frames stand above or below this one.
    pub fn y_axis_within(&self, drawing: &mut Drawing, axis: &Axis, title: &str, room: f64) {
        for tick in &axis.ticks {
            let at = (self.left - 8.0, self.py(tick.value) + 0.35 * TICK_SIZE);
            drawing.text(Text::new(at, TICK_SIZE, QUIET_INK, &tick.label).anchored(Anchor::End));
        }
        let x = self.left - 8.0 - widest_label(axis) - 12.0;
        self.upright_text(drawing, x, title, room);
    }

    /// How long a label reading upwards can be before it leaves the picture.
    pub fn upright_room(&self, drawing: &Drawing) -> f64 {
        self.upright_room_of(drawing.height)
    }

    /// The same for a picture of this height.
    pub fn upright_room_of(&self, height: f64) -> f64 {
        let y = self.top + self.height / 2.0;
        2.0 * y.min(height - y) - 16.0
    }

    /// A label reading upwards, centred on the frame, at most `room` long.
    pub fn upright_text(&self, drawing: &mut Drawing, x: f64, label: &str, room: f64) {
        let y = self.top + self.height / 2.0;
        let (label, size) = fit_text(label, LABEL_SIZE, room);
        drawing.text(Text::new((x, y), size, INK, label).anchored(Anchor::Middle).upright());
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

#[cfg(test)]
mod tests {
    use super::super::svg::notation;
    use super::*;

    #[test]
    fn bands_end_at_the_frame_and_break_where_an_end_is_missing() {
        let frame = Frame {
            left: 0.0,
            top: 0.0,
            width: 4.0,
            height: 10.0,
            x: (0.0, 4.0),
            y: (0.0, 10.0),
            spread: Spread::Even,
        };
        let lower = [1.0, f64::NEG_INFINITY, f64::NAN, 1.0, 9.0];
        let pieces = frame.band_pieces(&[0.0, 1.0, 2.0, 3.0], &lower, &[2.0, f64::INFINITY, 3.0, 4.0]);
        let pieces: Vec<String> = pieces.iter().map(|piece| notation(piece)).collect();
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
