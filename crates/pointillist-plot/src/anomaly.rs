//! Parts of a figure whose counts are outside of their bands: a box or a column, with a triangle that points up where there are more events than
//! expected and down where there are fewer. Shape and colour say the same, for eyes that cannot tell colours apart and for grey prints.

use super::drawing::{Attribute, Drawing, INK, Place, Point, Rgb, WHITE, polygon};
use super::scale::Range;

/// What the legend says of them.
pub(super) const LABEL: &str = "outside of its 95 % band: more events, or fewer";
/// Of Okabe and Ito: vermilion for more, blue for fewer.
const MORE: Rgb = [0xd5, 0x5e, 0x00];
const FEWER: Rgb = [0x00, 0x72, 0xb2];
/// Half the width of a triangle, usually and at least.
const HALF: f64 = 5.5;
const LEAST_HALF: f64 = 2.5;

/// A part of a figure with more events than expected, or with fewer, beyond the band of a new count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anomaly {
    /// From where to where along x.
    pub x: (f64, f64),
    /// From where to where along y; not on a line.
    pub y: Option<(f64, f64)>,
    /// Whether more events were seen than are expected.
    pub more: bool,
}

impl Anomaly {
    /// Whether any of it can be seen in a figure of these ranges.
    pub(super) fn is_in(&self, x: Range, y: Range) -> bool {
        let meets = |part: Range, whole: Range| part.0 < whole.1 && part.1 > whole.0;
        meets(self.x, x) && self.y.is_none_or(|own| meets(own, y))
    }

    /// The sign of a terminal.
    pub(super) fn sign(&self) -> char {
        if self.more { '▲' } else { '▼' }
    }
}

/// A triangle about a point.
fn triangle(drawing: &mut Drawing, (x, y): Point, half: f64, more: bool) {
    let up = if more { -0.9 * half } else { 0.9 * half };
    let corners = [(x - half, y - up), (x + half, y - up), (x, y + up)];
    let colour = if more { MORE } else { FEWER };
    drawing.path(polygon(corners), &[Attribute::Fill(colour), Attribute::Line(WHITE), Attribute::LineWidth(1.0)]);
}

/// Both triangles, as the legend shows them in a swatch from `left`.
pub(super) fn swatch(drawing: &mut Drawing, (left, middle): Point) {
    triangle(drawing, (left + HALF, middle), HALF, true);
    triangle(drawing, (left + 3.2 * HALF, middle), HALF, false);
}

/// A column of a curve.
pub(super) fn column(drawing: &mut Drawing, place: Place, more: bool) {
    let colour = if more { MORE } else { FEWER };
    drawing.rect(place, &[Attribute::Class("anomaly"), Attribute::Fill(colour), Attribute::FillOpacity(0.13)]);
    let [x, y, width, _] = place;
    triangle(drawing, (x + 0.5 * width, y + HALF + 2.0), HALF, more);
}

/// A box of a map; its lines can be seen on any colour.
pub(super) fn cell(drawing: &mut Drawing, place: Place, more: bool) {
    let [x, y, width, height] = place;
    drawing.rect(place, &[Attribute::NoFill, Attribute::Line(WHITE), Attribute::LineWidth(3.2)]);
    let line = [Attribute::Class("anomaly"), Attribute::NoFill, Attribute::Line(INK), Attribute::LineWidth(1.4)];
    let dashes: &[Attribute] = if more { &[] } else { &[Attribute::Dashes(4.0, 2.5)] };
    drawing.rect(place, &[&line[..], dashes].concat());
    let half = HALF.min(0.3 * width.min(height)).max(LEAST_HALF);
    triangle(drawing, (x + half + 3.0, y + half + 3.0), half, more);
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Style, samples};
    use super::*;

    #[test]
    fn both_kinds_are_marked_on_lines_and_maps_and_explained() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let mut curve = samples::curve(x.clone(), x, vec![1.0]);
        curve.anomalies = [(4.0, true), (20.0, false), (900.0, true)]
            .map(|(x, more)| Anomaly { x: (x, x + 2.0), y: None, more })
            .into();
        let mut map = samples::map(8, 8, |i, j| (i + j) as f64);
        map.anomalies = vec![
            Anomaly { x: (1.0, 2.0), y: Some((3.0, 4.0)), more: true },
            Anomaly { x: (5.0, 6.0), y: Some((3.0, 4.0)), more: false },
        ];
        for figure in [Figure::Curve(curve), Figure::Map(map)] {
            let svg = figure.picture(&Style::default()).svg();
            // What lies outside the figure is not drawn.
            assert_eq!(svg.matches("class=\"anomaly\"").count(), 2);
            assert!(svg.contains("#d55e00") && svg.contains("#0072b2") && svg.contains("outside of its 95 % band"));
            let text = figure.terminal_in(&Style::default(), 100, 20, false);
            let count = |sign: char| text.chars().filter(|c| *c == sign).count();
            assert_eq!((count('▲'), count('▼')), (2, 2), "{text}"); // one of each in the legend
        }
    }
}
