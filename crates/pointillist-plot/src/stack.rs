//! Curves one below the other: the figures of `curve.rs` in one picture, which they share evenly.

use super::StackFigure;
use super::curve;
use super::drawing::Drawing;
use super::style::{Size, Style};

/// The room of the heading, and the height of a curve as a part of its width, where nobody says how high the picture is.
const HEADING: f64 = 44.0;
const WIDTH: f64 = 900.0;
const HEIGHT_SHARE: f64 = 0.3;
/// From the left end to the heading.
const LEFT: f64 = 12.0;

/// The figure as shapes.
pub(super) fn draw(figure: &StackFigure, style: &Style) -> Drawing {
    let count = figure.panels.len().max(1) as f64;
    let (width, height) = style.size.units();
    let width = width.unwrap_or(WIDTH);
    let heading = if figure.title.is_empty() { 0.0 } else { HEADING };
    let height = height.unwrap_or(heading + count * HEIGHT_SHARE * width);
    let each = (height - heading) / count;
    let mut drawing = Drawing::new(width, height).sized(style.size);
    drawing.title(LEFT, &figure.title);
    let own = Style { size: Size::of_units(width, each), ..*style };
    for (number, panel) in figure.panels.iter().enumerate() {
        drawing.place_below(heading + each * number as f64, curve::draw(panel, &own));
    }
    drawing
}

#[cfg(test)]
mod tests {
    use super::super::samples::{curve, is_sound, styles};
    use super::super::svg;
    use super::*;

    #[test]
    fn panels_stand_below_each_other_with_labels_of_their_own() {
        let mut week = curve(vec![0.0, 3.5, 7.0], vec![1.0, 2.0, 1.5], vec![]);
        week.labels = vec![(0.0, "Mon".into()), (3.0, "Thu".into()), (9.0, "never".into())];
        let panels = vec![curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![0.5]), week];
        let figure = StackFigure { title: "Components".into(), panels };
        let text = svg::write(&draw(&figure, &Style::default()));
        assert!(["Components", "Mon", "Thu"].iter().all(|word| text.contains(word)) && !text.contains("never"));
        assert!(styles().iter().all(|style| is_sound(&draw(&figure, style))));
        assert!(is_sound(&draw(&StackFigure { title: String::new(), panels: vec![] }, &Style::default())));
    }
}
