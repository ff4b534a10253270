//! Rasters: an SVG document drawn as PNG, and pixels encoded as PNG.
//!
//! The only file that knows the rendering library. Text is drawn with the command's own font (`outline.rs`), so that it
//! shows on machines without fonts; fonts of the machine are not consulted, so pictures are reproducible.

use super::outline::outline_text;
use resvg::tiny_skia::{IntSize, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Neither side of a picture may have more pixels than this.
const LARGEST_SIDE: f32 = 20_000.0;

/// Draws an SVG document, `scale` pixels for each of its units.
pub(super) fn render(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(format!("the picture scale must be a positive number, not {scale}"));
    }
    let tree =
        Tree::from_str(&outline_text(svg), &Options::default()).map_err(|e| format!("cannot draw the figure: {e}"))?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    if width.max(height) > LARGEST_SIDE {
        return Err(format!("a picture of {width:.0} by {height:.0} pixels is too large"));
    }
    let mut pixmap =
        Pixmap::new(width.ceil() as u32, height.ceil() as u32).ok_or("the picture would have no pixels")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|e| format!("cannot encode the picture: {e}"))
}

/// Pixels, four bytes each from the top left, as a PNG file; each is opaque or all zero.
///
/// None when there are no pixels or their number does not match the size.
pub(super) fn encode_rgba(width: usize, height: usize, pixels: Vec<u8>) -> Option<Vec<u8>> {
    let size = IntSize::from_wh(u32::try_from(width).ok()?, u32::try_from(height).ok()?)?;
    Pixmap::from_vec(pixels, size)?.encode_png().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, png, samples, svg};
    use super::*;

    fn decode(png: &[u8]) -> Pixmap {
        Pixmap::decode_png(png).expect("a readable PNG")
    }

    /// How many pixels of a box (left, top, right, bottom) are darker than mid-grey.
    fn dark_pixels(picture: &Pixmap, [left, top, right, bottom]: [u32; 4]) -> usize {
        let dark = |x: u32, y: u32| picture.pixel(x, y).is_some_and(|p| p.red() < 128 && p.alpha() > 0);
        (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y))).filter(|&(x, y)| dark(x, y)).count()
    }

    #[test]
    fn a_curve_has_its_size_and_its_text() {
        let figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![0.5]);
        let picture = decode(&png(&Figure::Curve(figure.clone()), 1.0).expect("a picture"));
        assert_eq!((picture.width(), picture.height()), (900, 420));
        assert!(dark_pixels(&picture, [0, 10, 900, 34]) > 200, "title");
        assert!(dark_pixels(&picture, [300, 390, 700, 420]) > 50, "x label");
        assert!(dark_pixels(&picture, [0, 60, 40, 360]) > 50, "y label");
        let mut untitled = figure;
        untitled.title.clear();
        let picture = decode(&png(&Figure::Curve(untitled), 2.0).expect("a picture"));
        assert_eq!((picture.width(), picture.height()), (1800, 840));
        assert_eq!(dark_pixels(&picture, [0, 20, 1800, 68]), 0, "no title");
    }

    #[test]
    fn a_map_shows_its_cells() {
        let mut figure = samples::map(2, 2, |i, j| (i + 2 * j) as f64);
        figure.events.clear();
        let picture = decode(&png(&Figure::Map(figure), 1.0).expect("a picture"));
        // Low values are dark and at the bottom left, high ones yellow and at the top right.
        let (low, high) = (picture.pixel(110, 520), picture.pixel(500, 80));
        assert!(low.is_some_and(|p| p.red() < 90 && p.green() < 40), "{low:?}");
        assert!(high.is_some_and(|p| p.red() > 220 && p.green() > 200), "{high:?}");
    }

    #[test]
    fn odd_data_still_give_a_picture() {
        for figure in samples::odd_figures() {
            let text = svg(&figure);
            // The encoded image may hold any letters.
            let readable: String = text.lines().filter(|line| !line.starts_with("<image")).collect();
            assert!(!readable.contains("NaN") && !readable.contains("inf"), "{readable}");
            assert!(Tree::from_str(&text, &Options::default()).is_ok(), "{text}");
            assert!(png(&figure, 0.2).is_ok());
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![]);
        figure.title = "<&>\"'\u{0}\u{1b}]]>".repeat(40);
        figure.x_label = "</text>".into();
        figure.y_label = "y".repeat(500);
        assert!(Tree::from_str(&svg(&Figure::Curve(figure)), &Options::default()).is_ok());
    }

    #[test]
    fn senseless_scales_are_refused() {
        let figure = Figure::Curve(samples::curve(vec![], vec![], vec![]));
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e6] {
            assert!(png(&figure, scale).is_err(), "{scale}");
        }
    }
}
