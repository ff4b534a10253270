//! Maps and curves one below the other: the figures of `map.rs` and `curve.rs` in one picture, in which all maps are as high, and all curves.

use super::StackFigure;
use super::drawing::Drawing;
use super::style::{Size, Style};
use super::{curve, map};

/// The room of the heading, and the height of a curve as a part of its width, where nobody says how high the picture is.
const HEADING: f64 = 44.0;
const WIDTH: f64 = 900.0;
const HEIGHT_SHARE: f64 = 0.3;
/// The same for a map.
const MAP_SHARE: f64 = 0.6;
/// From the left end to the heading.
const LEFT: f64 = 12.0;

/// The figure as shapes.
pub(super) fn draw(figure: &StackFigure, style: &Style) -> Drawing {
    let (maps, curves) = (figure.maps.len() as f64, figure.panels.len() as f64);
    let shares = (MAP_SHARE * maps + HEIGHT_SHARE * curves).max(HEIGHT_SHARE);
    let (width, height) = style.size.units();
    let width = width.unwrap_or(WIDTH);
    let heading = if figure.title.is_empty() { 0.0 } else { HEADING };
    let height = height.unwrap_or(heading + shares * width);
    let each = |share: f64| share / shares * (height - heading);
    let mut drawing = Drawing::new(width, height).sized(style.size);
    drawing.title(LEFT, &figure.title);
    let mut top = heading;
    let mut place = |share: f64, draw: &dyn Fn(&Style) -> Drawing| {
        drawing.place_below(top, draw(&Style { size: Size::of_units(width, each(share)), ..*style }));
        top += each(share);
    };
    figure.maps.iter().for_each(|panel| place(MAP_SHARE, &|own| map::draw(panel, own)));
    figure.panels.iter().for_each(|panel| place(HEIGHT_SHARE, &|own| curve::draw(panel, own)));
    drawing
}

#[cfg(test)]
mod tests {
    use super::super::samples::{curve, is_sound, map, styles};
    use super::super::svg;
    use super::*;

    #[test]
    fn panels_stand_below_each_other_with_labels_of_their_own() {
        let mut week = curve(vec![0.0, 3.5, 7.0], vec![1.0, 2.0, 1.5], vec![]);
        week.labels = vec![(0.0, "Mon".into()), (3.0, "Thu".into()), (9.0, "never".into())];
        let panels = vec![curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![0.5]), week];
        let mut figure = StackFigure { title: "Components".into(), maps: vec![], panels };
        let text = svg::write(&draw(&figure, &Style::default()));
        assert!(["Components", "Mon", "Thu"].iter().all(|word| text.contains(word)) && !text.contains("never"));
        assert!(styles().iter().all(|style| is_sound(&draw(&figure, style))));
        let without = draw(&figure, &Style::default()).height;
        figure.maps = vec![map(3, 2, |i, j| (i + j) as f64)];
        let picture = draw(&figure, &Style::default());
        assert!(svg::write(&picture).contains("A map") && picture.height > without);
        assert!(styles().iter().all(|style| is_sound(&draw(&figure, style))));
        let empty = StackFigure { title: String::new(), maps: vec![], panels: vec![] };
        assert!(is_sound(&draw(&empty, &Style::default())));
    }
}
