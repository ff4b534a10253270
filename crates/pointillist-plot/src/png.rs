//! A drawing as pixels, and pixels as a PNG file.
//!
//! With `font.rs` and `pdf.rs` the only file that knows the painting library. The fonts of the machine are not consulted, so
//! pictures are the same everywhere.

use super::PngError;
use super::drawing::{Canvas, Drawing, Image, Look, Place, Point, Rgb, Step, Text};
use super::font::Font;
use tiny_skia::{
    Color, FillRule, FilterQuality, GradientStop, IntSize, LineCap, LineJoin, LinearGradient, Mask, Paint, Path,
    PathBuilder, Pattern, Pixmap, Rect, SpreadMode, Stroke, StrokeDash, Transform,
};

/// Neither side of a picture may have more pixels than this, ...
const LARGEST_SIDE: f64 = 20_000.0;
/// ... nor the whole of it; each takes four bytes.
const MOST_PIXELS: f64 = 1e8;

/// What lies farther out, in units of the drawing, is drawn at this distance: the library cannot count so far.
const FARTHEST: f64 = 1e5;

/// The drawing as a PNG file, `scale` pixels for each of its units.
///
/// Of a picture for paper the file says how large its pixels are, so that programs place it in its size.
pub(super) fn encode(drawing: &Drawing, scale: f64) -> Result<Vec<u8>, PngError> {
    let mut png = paint(drawing, scale)?.encode_png().map_err(|_| PngError::Encoding)?;
    if let Some(inches) = drawing.inches_per_unit
        && png.len() > AFTER_HEADER
    {
        png.splice(AFTER_HEADER..AFTER_HEADER, resolution(scale / inches));
    }
    Ok(png)
}

/// Where the first chunk after the header of a PNG file begins.
const AFTER_HEADER: usize = 33;

/// The chunk that says how many pixels there are to an inch.
fn resolution(pixels_per_inch: f64) -> Vec<u8> {
    let per_metre = (pixels_per_inch / 0.0254).round() as u32;
    let body = [b"pHYs", &per_metre.to_be_bytes()[..], &per_metre.to_be_bytes(), &[1]].concat();
    [&9u32.to_be_bytes()[..], &body, &checksum(&body).to_be_bytes()].concat()
}

/// The CRC of PNG chunks, bit by bit: there are few.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// The drawing as pixels.
fn paint(drawing: &Drawing, scale: f64) -> Result<Pixmap, PngError> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(PngError::Scale(scale));
    }
    let (width, height) = ((drawing.width * scale).ceil(), (drawing.height * scale).ceil());
    // The other way round a size that is no number would pass.
    if !(width.max(height) <= LARGEST_SIDE && width * height <= MOST_PIXELS) {
        return Err(PngError::TooLarge { width, height });
    }
    let pixels = Pixmap::new(width as u32, height as u32).ok_or(PngError::Empty)?;
    let font = Font::new();
    let mut painter =
        Painter { pixels, transform: Transform::from_scale(scale as f32, scale as f32), font, clip: None };
    painter.shapes(&drawing.shapes, &Look::default());
    Ok(painter.pixels)
}

/// An image as a PNG file. None when it has no pixels or their number does not match its size.
pub(super) fn encode_rgba(image: &Image) -> Option<Vec<u8>> {
    pixmap(image)?.encode_png().ok()
}

fn pixmap(image: &Image) -> Option<Pixmap> {
    let size = IntSize::from_wh(u32::try_from(image.columns).ok()?, u32::try_from(image.rows).ok()?)?;
    Pixmap::from_vec(image.pixels.clone(), size)
}

/// The pen of a line.
fn stroke(look: &Look) -> Stroke {
    Stroke {
        width: near(look.line_width),
        line_join: if look.has_round_joins { LineJoin::Round } else { LineJoin::Miter },
        line_cap: if look.has_round_caps { LineCap::Round } else { LineCap::Butt },
        dash: look.dashes.and_then(|(dash, gap)| StrokeDash::new(vec![near(dash), near(gap)], 0.0)),
        ..Stroke::default()
    }
}

/// Puts shapes onto pixels. A shape that the library cannot draw is left out.
struct Painter {
    pixels: Pixmap,
    /// From units of the drawing to pixels.
    transform: Transform,
    font: Option<Font>,
    /// What shows; none if everything does.
    clip: Option<Mask>,
}

impl Painter {
    /// A shape, filled and then its line drawn.
    fn outline(&mut self, path: Option<Path>, look: &Look) {
        let Some(path) = path else { return };
        // A line has nothing to fill.
        let has_area = path.bounds().width() > 0.0 && path.bounds().height() > 0.0;
        if let Some(colour) = look.fill.filter(|_| has_area) {
            let paint = plain(colour, look.fill_opacity);
            let rule = if look.is_even_odd { FillRule::EvenOdd } else { FillRule::Winding };
            self.pixels.fill_path(&path, &paint, rule, self.transform, self.clip.as_ref());
        }
        if let Some(colour) = look.line {
            let paint = plain(colour, look.line_opacity);
            self.pixels.stroke_path(&path, &paint, &stroke(look), self.transform, self.clip.as_ref());
        }
    }

    fn cells(&mut self, place: Place, image: &Image) -> Option<()> {
        let (cells, target) = (pixmap(image)?, rect(place)?);
        let whole = Rect::from_xywh(0.0, 0.0, cells.width() as f32, cells.height() as f32)?;
        let (sx, sy) = (target.width() / whole.width(), target.height() / whole.height());
        let place = Transform::from_row(sx, 0.0, 0.0, sy, target.x(), target.y());
        let shader = Pattern::new(cells.as_ref(), SpreadMode::Pad, FilterQuality::Bilinear, 1.0, Transform::identity());
        let paint = Paint { shader, ..Paint::default() };
        self.pixels.fill_rect(whole, &paint, self.transform.pre_concat(place), self.clip.as_ref());
        Some(())
    }

    fn gradient(&mut self, place: Place, colours: &[Rgb]) -> Option<()> {
        let target = rect(place)?;
        let last = colours.len().saturating_sub(1).max(1) as f32;
        let stop = |(i, colour): (usize, &Rgb)| GradientStop::new(i as f32 / last, opaque(*colour));
        let stops = colours.iter().enumerate().map(stop).collect();
        let (bottom, top) = ((target.x(), target.bottom()), (target.x(), target.y()));
        let shader = LinearGradient::new(bottom.into(), top.into(), stops, SpreadMode::Pad, Transform::identity())?;
        let paint = Paint { shader, ..Paint::default() };
        let path = PathBuilder::from_rect(target);
        self.pixels.fill_path(&path, &paint, FillRule::Winding, self.transform, self.clip.as_ref());
        Some(())
    }
}

impl Canvas for Painter {
    fn rect(&mut self, place: Place, look: &Look) {
        self.outline(rect(place).map(PathBuilder::from_rect), look);
    }

    fn path(&mut self, steps: &[Step], look: &Look) {
        self.outline(path(steps), look);
    }

    fn circle(&mut self, (x, y): Point, radius: f64, look: &Look) {
        self.outline(PathBuilder::from_circle(near(x), near(y), near(radius)), look);
    }

    fn image(&mut self, place: Place, image: &Image) {
        self.cells(place, image);
    }

    fn ramp(&mut self, place: Place, colours: &[Rgb]) {
        self.gradient(place, colours);
    }

    fn text(&mut self, text: &Text) {
        let Some(path) = self.font.as_ref().and_then(|font| font.outline(text)) else { return };
        let (x, y) = (text.at.0 as f32, text.at.1 as f32);
        let turn = if text.is_upright { Transform::from_rotate_at(-90.0, x, y) } else { Transform::identity() };
        let (paint, transform) = (plain(text.colour, 1.0), self.transform.pre_concat(turn));
        self.pixels.fill_path(&path, &paint, FillRule::Winding, transform, self.clip.as_ref());
    }

    fn clipped(&mut self, place: Place, draw: impl FnOnce(&mut Self)) {
        let Some(window) = rect(place).map(PathBuilder::from_rect) else { return };
        let mut mask = self.clip.clone();
        match &mut mask {
            Some(mask) => mask.intersect_path(&window, FillRule::Winding, true, self.transform),
            None => {
                mask = Mask::new(self.pixels.width(), self.pixels.height());
                mask.iter_mut().for_each(|m| m.fill_path(&window, FillRule::Winding, true, self.transform));
            }
        }
        let before = std::mem::replace(&mut self.clip, mask);
        draw(self);
        self.clip = before;
    }
}

/// One colour for all of a shape.
fn plain([red, green, blue]: Rgb, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (255.0 * near(opacity)).round() as u8);
    paint
}

fn opaque([red, green, blue]: Rgb) -> Color {
    Color::from_rgba8(red, green, blue, 255)
}

/// A length or coordinate as the library takes it, to a hundredth as in the SVG.
pub(super) fn near(length: f64) -> f32 {
    ((100.0 * length.clamp(-FARTHEST, FARTHEST)).round() / 100.0) as f32
}

pub(super) fn rect([x, y, width, height]: Place) -> Option<Rect> {
    Rect::from_ltrb(near(x), near(y), near(x + width), near(y + height))
}

/// The steps as a path; none if there are none, or if they lead nowhere.
pub(super) fn path(steps: &[Step]) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut at: Point = (0.0, 0.0);
    let mut start = at;
    for step in steps {
        at = match *step {
            Step::Move(to) | Step::Line(to) => to,
            Step::Across(x) => (x, at.1),
            Step::Upright(y) => (at.0, y),
            Step::Down(length) => (at.0, at.1 + length),
            Step::Close => start,
        };
        match step {
            Step::Move(_) => {
                start = at;
                path.move_to(near(at.0), near(at.1));
            }
            Step::Close => path.close(),
            _ => path.line_to(near(at.0), near(at.1)),
        }
    }
    path.finish()
}

#[cfg(test)]
mod tests {
    use super::super::drawing::{Attribute, polygon};
    use super::super::{Figure, samples, svg};
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
        let picture = decode(&Figure::Curve(figure.clone()).png(1.0).expect("a picture"));
        assert_eq!((picture.width(), picture.height()), (900, 420));
        assert!(dark_pixels(&picture, [0, 10, 900, 34]) > 200, "title");
        assert!(dark_pixels(&picture, [300, 390, 700, 420]) > 50, "x label");
        assert!(dark_pixels(&picture, [0, 60, 40, 360]) > 50, "y label");
        let mut untitled = figure;
        untitled.title.clear();
        let picture = decode(&Figure::Curve(untitled).png(2.0).expect("a picture"));
        assert_eq!((picture.width(), picture.height()), (1800, 840));
        assert_eq!(dark_pixels(&picture, [0, 20, 1800, 68]), 0, "no title");
    }

    #[test]
    fn a_picture_for_paper_knows_its_resolution() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926, "the customary example");
        let figure = Figure::Curve(samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![]));
        let style = super::super::Style { size: super::super::Size::Wide(85.0), ..Default::default() };
        let png = figure.picture(&style).png(5.0).unwrap();
        assert_eq!(
            png[AFTER_HEADER + 4..AFTER_HEADER + 12],
            *b"pHYs\x00\x00\x5c\x46",
            "23,622 to a metre are 600 to an inch"
        );
        assert_eq!(decode(&png).width(), 2008);
        assert!(!figure.png(1.0).unwrap().windows(4).any(|window| window == b"pHYs"));
    }

    #[test]
    fn a_map_shows_its_cells() {
        let mut figure = samples::map(2, 2, |i, j| (i + 2 * j) as f64);
        figure.events.clear();
        let picture = decode(&Figure::Map(figure).png(1.0).expect("a picture"));
        // Low values are dark and at the bottom left, high ones yellow and at the top right.
        let (low, high) = (picture.pixel(110, 520), picture.pixel(500, 80));
        assert!(low.is_some_and(|p| p.red() < 90 && p.green() < 40), "{low:?}");
        assert!(high.is_some_and(|p| p.red() > 220 && p.green() > 200), "{high:?}");
    }

    #[test]
    fn odd_data_still_give_a_picture() {
        for figure in samples::odd_figures() {
            for style in samples::styles() {
                let picture = figure.picture(&style);
                assert!(samples::is_sound(&picture.drawing), "{style:?} {}", picture.svg());
            }
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut figure = samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![]);
        figure.title = "<&>\"'\u{0}\u{1b}]]>".repeat(40);
        figure.x_label = "</text>".into();
        figure.y_label = "y".repeat(500);
        let drawing = Figure::Curve(figure).picture(&Default::default()).drawing;
        assert!(samples::is_sound(&drawing));
        let text = svg::write(&drawing);
        assert!(text.matches("<text").count() == text.matches("</text>").count() && !text.contains("]]>"), "{text}");
    }

    #[test]
    fn senseless_sizes_are_refused_with_a_sentence() {
        let figure = Figure::Curve(samples::curve(vec![], vec![], vec![]));
        for scale in [0.0, -1.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refusal = figure.png(scale).unwrap_err();
            assert!(refusal.to_string().starts_with("the picture scale must be a positive number"), "{refusal}");
        }
        for scale in [23.0, 1e6, f64::MAX] {
            let refusal = figure.png(scale).unwrap_err();
            assert!(
                matches!(refusal, PngError::TooLarge { .. }) && refusal.to_string().contains("pixels"),
                "{refusal}"
            );
        }
        assert!(figure.png(f64::MIN_POSITIVE).is_ok(), "of one pixel");
        for size in [f64::NAN, f64::INFINITY, -5.0, 0.0, 1e300] {
            for drawing in [Drawing::new(size, 10.0), Drawing::new(10.0, size)] {
                let refusal = encode(&drawing, 1.0).unwrap_err().to_string();
                assert!(refusal.contains("pixels"), "{size}: {refusal}");
            }
        }
    }

    #[test]
    fn shapes_without_sense_are_left_out() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e30, -3.0, 0.0, 5e-324];
        let ink = [Attribute::Fill([0; 3]), Attribute::Line([0; 3]), Attribute::LineWidth(2.0)];
        for a in odd {
            for b in odd {
                let mut drawing = Drawing::new(20.0, 20.0);
                drawing.rect([a, b, b, a], &ink);
                drawing.line((a, b), (b, 7.0), &[ink[1], Attribute::LineWidth(a), Attribute::Dashes(a, b)]);
                drawing.circle((a, 5.0), b, &[ink[0], ink[1], Attribute::LineOpacity(a), Attribute::FillOpacity(b)]);
                drawing.path(vec![Step::Close, Step::Down(a), Step::Across(b), Step::Upright(a), Step::Close], &ink);
                drawing.text(Text::new((a, 5.0), b, [0; 3], "odd").upright());
                drawing.ramp([0.0, a, 5.0, b], &[]);
                drawing.ramp([0.0, a, 5.0, b], &[[9; 3]]);
                let image = Image { columns: 2, rows: 2, pixels: vec![255; 16] };
                drawing.image([a, b, 3.0, a], image.clone());
                drawing.image([1.0, 1.0, 3.0, 3.0], Image { rows: 7, ..image });
                drawing.clip([a, b, b, a], |drawing| drawing.clip([b; 4], |drawing| drawing.rect([a; 4], &ink)));
                for scale in [0.2, 2.0, 30.0] {
                    assert!(paint(&drawing, scale).is_ok(), "{a} {b}");
                }
            }
        }
    }

    /// The colour of a place in a picture, in units of its drawing.
    fn colour_at(picture: &Pixmap, scale: f64, (x, y): Point) -> Rgb {
        let pixel = picture.pixel((x * scale) as u32, (y * scale) as u32).expect("a place in the picture");
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    #[test]
    fn every_kind_of_shape_stands_where_the_svg_says() {
        let (red, blue, green) = ([255, 0, 0], [0, 0, 255], [0, 128, 0]);
        let mut drawing = Drawing::new(100.0, 60.0);
        drawing.rect([10.0, 10.0, 20.0, 10.0], &[Attribute::Fill(red)]);
        drawing.group(&[Attribute::Fill(blue), Attribute::Line(green), Attribute::LineWidth(4.0)], |drawing| {
            drawing.circle((50.0, 20.0), 8.0, &[]);
            drawing.circle((70.0, 20.0), 8.0, &[Attribute::Fill(red)]);
        });
        drawing.line((10.0, 30.0), (30.0, 30.0), &[Attribute::Line(blue), Attribute::LineWidth(4.0)]);
        let ring = |at: f64, size: f64| polygon([(at, at), (at + size, at), (at + size, at + size), (at, at + size)]);
        drawing.path([ring(35.0, 20.0), ring(40.0, 10.0)].concat(), &[Attribute::Fill(green), Attribute::EvenOdd]);
        drawing.clip([60.0, 40.0, 10.0, 10.0], |drawing| drawing.rect([0.0, 0.0, 99.0, 59.0], &[Attribute::Fill(red)]));
        drawing.image([75.0, 40.0, 10.0, 10.0], Image { columns: 1, rows: 1, pixels: vec![0, 128, 0, 255] });
        drawing.ramp([90.0, 10.0, 5.0, 40.0], &[blue, red]);
        drawing.rect([12.0, 40.0, 10.0, 10.0], &[Attribute::Fill([0; 3]), Attribute::FillOpacity(0.2)]);
        let text = svg::write(&drawing);
        assert!(text.contains(r##"<rect x="10" y="10" width="20" height="10" fill="#ff0000"/>"##), "{text}");
        assert!(text.contains(r##"<circle cx="70" cy="20" r="8" fill="#ff0000"/>"##), "{text}");
        for scale in [1.0, 2.0, 3.7] {
            let picture = paint(&drawing, scale).unwrap();
            let at = |x: f64, y: f64| colour_at(&picture, scale, (x, y));
            assert_eq!([at(5.0, 5.0), at(20.0, 15.0), at(32.0, 15.0)], [[255; 3], red, [255; 3]], "rectangle");
            assert_eq!([at(50.0, 20.0), at(70.0, 20.0), at(50.0, 12.0), at(78.0, 20.0)], [blue, red, green, green]);
            assert_eq!([at(20.0, 30.0), at(20.0, 33.5)], [blue, [255; 3]], "line");
            assert_eq!([at(37.0, 45.0), at(45.0, 45.0)], [green, [255; 3]], "even and odd");
            assert_eq!([at(65.0, 45.0), at(58.0, 45.0), at(72.0, 45.0)], [red, [255; 3], [255; 3]], "clip");
            assert_eq!([at(80.0, 45.0), at(87.0, 45.0)], [green, [255; 3]], "image");
            let (low, high) = (at(92.0, 48.5), at(92.0, 11.5));
            assert!(low[2] > 230 && low[0] < 25 && high[0] > 230 && high[2] < 25, "from the bottom: {low:?} {high:?}");
            assert_eq!(at(17.0, 45.0), [204; 3], "a fifth of black on white");
        }
    }

    #[test]
    fn text_is_drawn_at_its_place_and_upright_text_above_it() {
        let word = |text: Text| {
            let mut drawing = Drawing::new(100.0, 100.0);
            drawing.text(text);
            paint(&drawing, 2.0).unwrap()
        };
        let text = Text::new((50.0, 50.0), 12.0, [0; 3], "Text");
        let flat = word(text.clone());
        assert!(dark_pixels(&flat, [100, 70, 170, 104]) > 100);
        assert_eq!(dark_pixels(&flat, [0, 0, 200, 200]), dark_pixels(&flat, [100, 70, 170, 104]), "nowhere else");
        let upright = word(text.upright());
        assert!(dark_pixels(&upright, [70, 30, 104, 101]) > 100);
        assert_eq!(dark_pixels(&upright, [0, 0, 200, 200]), dark_pixels(&upright, [70, 30, 104, 101]), "nowhere else");
    }
}
