//! A drawing as a PDF document of one page, with vectors: paths, text as outlines of glyphs, images of cells.
//!
//! Only what the drawings need of PDF 1.4 is here. Text as outlines needs no font in the document, which journals ask for, and
//! looks the same everywhere; it cannot be searched.

use super::drawing::{Canvas, Drawing, Image, Look, Place, Point, Rgb, Step, Text};
use super::font::Font;
use super::png::{near, path, rect};
use super::style::Size;
use miniz_oxide::deflate::compress_to_vec_zlib;
use std::fmt::Write;
use tiny_skia::{Path, PathBuilder, PathSegment};

const POINTS_PER_INCH: f64 = 72.0;
/// How hard streams are compressed, of 10.
const EFFORT: u8 = 7;
/// The objects that every document begins with: catalogue, list of pages, the page, what is on it.
const CATALOGUE: usize = 1;
const PAGES: usize = 2;
const PAGE: usize = 3;
const CONTENT: usize = 4;
const FIRST_FREE: usize = 5;

/// The whole document.
pub(super) fn write(drawing: &Drawing) -> Vec<u8> {
    let page = Page::of(drawing);
    let (width, height) = page_size(drawing);
    let mut document = Document::new();
    document.object(CATALOGUE, format!("<< /Type /Catalog /Pages {PAGES} 0 R >>").as_bytes());
    document.object(PAGES, format!("<< /Type /Pages /Kids [{PAGE} 0 R] /Count 1 >>").as_bytes());
    let description = format!(
        "<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 {} {}] /Contents {CONTENT} 0 R /Resources {} >>",
        number(width),
        number(height),
        page.resources()
    );
    document.object(PAGE, description.as_bytes());
    document.stream(CONTENT, "", page.content.as_bytes());
    for (i, object) in page.objects.iter().enumerate() {
        match object {
            Object::Plain(text) => document.object(FIRST_FREE + i, text.as_bytes()),
            Object::Stream(entries, bytes) => document.stream(FIRST_FREE + i, entries, bytes),
        }
    }
    document.finish()
}

/// What is drawn, before it is compressed.
#[cfg(test)]
pub(super) fn content(drawing: &Drawing) -> String {
    Page::of(drawing).content
}

fn points_per_unit(drawing: &Drawing) -> f64 {
    POINTS_PER_INCH * drawing.inches_per_unit.unwrap_or(Size::Screen.inches_per_unit())
}

/// Width and height of the page, in points.
fn page_size(drawing: &Drawing) -> (f64, f64) {
    let scale = points_per_unit(drawing);
    (scale * drawing.width, scale * drawing.height)
}

/// The bytes of a file, and where each of its objects begins.
struct Document {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Document {
    fn new() -> Self {
        // The bytes above 127 say that the file is not text.
        Self { bytes: b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec(), starts: Vec::new() }
    }

    /// Objects are written in the order of their numbers, from 1.
    fn object(&mut self, id: usize, body: &[u8]) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(format!("{id} 0 obj\n").as_bytes());
        self.bytes.extend_from_slice(body);
        self.bytes.extend_from_slice(b"\nendobj\n");
    }

    /// Bytes, made small, with further entries of their dictionary.
    fn stream(&mut self, id: usize, entries: &str, bytes: &[u8]) {
        let small = compress_to_vec_zlib(bytes, EFFORT);
        let head = format!("<< {entries} /Filter /FlateDecode /Length {} >>\nstream\n", small.len());
        self.object(id, &[head.as_bytes(), &small, b"\nendstream"].concat());
    }

    /// The table of the objects, and where it is.
    fn finish(mut self) -> Vec<u8> {
        let (table, count) = (self.bytes.len(), self.starts.len() + 1);
        let mut end = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for start in &self.starts {
            // Writing to a string cannot fail.
            let _ = writeln!(end, "{start:010} 00000 n ");
        }
        let _ = write!(end, "trailer\n<< /Size {count} /Root {CATALOGUE} 0 R >>\nstartxref\n{table}\n%%EOF\n");
        self.bytes.extend_from_slice(end.as_bytes());
        self.bytes
    }
}

/// An object that the page refers to.
enum Object {
    Plain(String),
    /// Entries of the dictionary, and the bytes.
    Stream(String, Vec<u8>),
}

/// What is on the page, and what it refers to.
struct Page {
    content: String,
    objects: Vec<Object>,
    /// Names and numbers of the objects, of each kind.
    images: Vec<usize>,
    shadings: Vec<usize>,
    /// Opacities of areas and of lines that were asked for, in hundredths.
    opacities: Vec<(u32, u32)>,
    font: Option<Font>,
}

impl Page {
    fn of(drawing: &Drawing) -> Self {
        let (content, font) = (String::new(), Font::new());
        let mut page = Self { content, objects: vec![], images: vec![], shadings: vec![], opacities: vec![], font };
        let scale = points_per_unit(drawing);
        // From units with y downwards to points with y upwards.
        let height = number(scale * drawing.height);
        page.say(&format!("{} 0 0 {} 0 {height} cm", number(scale), number(-scale)));
        page.shapes(&drawing.shapes, &Look::default());
        page
    }

    fn say(&mut self, operators: &str) {
        self.content.push_str(operators);
        self.content.push('\n');
    }

    fn add(&mut self, object: Object) -> usize {
        self.objects.push(object);
        FIRST_FREE + self.objects.len() - 1
    }

    /// The dictionary of what the page refers to by name.
    fn resources(&self) -> String {
        let named = |letter: char, ids: &[usize]| -> String {
            ids.iter().enumerate().map(|(i, id)| format!(" /{letter}{i} {id} 0 R")).collect()
        };
        let opacity = |(i, (fill, line)): (usize, &(u32, u32))| {
            format!(" /O{i} << /ca {} /CA {} >>", number(f64::from(*fill) / 100.0), number(f64::from(*line) / 100.0))
        };
        let opacities: String = self.opacities.iter().enumerate().map(opacity).collect();
        format!(
            "<< /XObject <<{} >> /Shading <<{} >> /ExtGState <<{opacities} >> >>",
            named('I', &self.images),
            named('S', &self.shadings)
        )
    }

    /// A shape, filled and its line drawn.
    fn outline(&mut self, path: Option<Path>, look: &Look) {
        let Some(path) = path else { return };
        // A line has nothing to fill; viewers would paint it as thin as they can.
        let has_area = path.points().len() > 2 && path.bounds().width() > 0.0 && path.bounds().height() > 0.0;
        let (fill, line) = (look.fill.filter(|_| has_area), look.line);
        let paint = match (fill, line, look.is_even_odd) {
            (None, None, _) => return,
            (Some(_), None, false) => "f",
            (Some(_), None, true) => "f*",
            (None, Some(_), _) => "S",
            (Some(_), Some(_), false) => "B",
            (Some(_), Some(_), true) => "B*",
        };
        let opacity = self.opacity(look);
        let mut operators = format!("q{opacity}");
        operators += &fill.map(|colour| format!(" {} rg", channels(colour))).unwrap_or_default();
        operators += &line.map(|colour| format!(" {} RG{}", channels(colour), pen(look))).unwrap_or_default();
        self.say(&operators);
        self.say(&format!("{} {paint} Q", notation(&path)));
    }

    /// The operator that sets the opacity, if any is needed.
    fn opacity(&mut self, look: &Look) -> String {
        let hundredths = |opacity: f64| (100.0 * opacity.clamp(0.0, 1.0)).round() as u32;
        let pair = (hundredths(look.fill_opacity), hundredths(look.line_opacity));
        if pair == (100, 100) {
            return String::new();
        }
        let known = self.opacities.iter().position(|known| *known == pair);
        let i = known.unwrap_or_else(|| {
            self.opacities.push(pair);
            self.opacities.len() - 1
        });
        format!(" /O{i} gs")
    }
}

impl Canvas for Page {
    fn rect(&mut self, place: Place, look: &Look) {
        self.outline(rect(place).map(PathBuilder::from_rect), look);
    }

    fn path(&mut self, steps: &[Step], look: &Look) {
        self.outline(path(steps), look);
    }

    fn circle(&mut self, (x, y): Point, radius: f64, look: &Look) {
        self.outline(circle((near(x), near(y)), near(radius)), look);
    }

    fn clipped(&mut self, place: Place, draw: impl FnOnce(&mut Self)) {
        let Some(window) = rect(place) else { return };
        let (left, top) = (number(window.x().into()), number(window.y().into()));
        let (width, height) = (number(window.width().into()), number(window.height().into()));
        self.say(&format!("q {left} {top} {width} {height} re W n"));
        draw(self);
        self.say("Q");
    }

    fn text(&mut self, text: &Text) {
        let Some(outline) = self.font.as_ref().and_then(|font| font.outline(text)) else { return };
        // Upright text is turned about its place: to the left becomes down.
        let (x, y) = (f64::from(near(text.at.0)), f64::from(near(text.at.1)));
        let turn = match text.is_upright {
            true => format!(" 0 -1 1 0 {} {} cm", number(x - y), number(x + y)),
            false => String::new(),
        };
        self.say(&format!("q{turn} {} rg {} f Q", channels(text.colour), notation(&outline)));
    }

    fn image(&mut self, place: Place, image: &Image) {
        let Some(target) = rect(place) else { return };
        let cells = image.columns.saturating_mul(image.rows);
        if cells == 0 || image.pixels.len() != 4 * cells {
            return;
        }
        let size = format!("/Width {} /Height {}", image.columns, image.rows);
        let mut entries = format!("/Type /XObject /Subtype /Image {size} /ColorSpace /DeviceRGB /BitsPerComponent 8");
        entries += " /Interpolate true";
        if image.pixels.chunks_exact(4).any(|pixel| pixel[3] < 255) {
            let opacity = image.pixels.chunks_exact(4).map(|pixel| pixel[3]).collect();
            let mask = format!("/Type /XObject /Subtype /Image {size} /ColorSpace /DeviceGray /BitsPerComponent 8");
            let mask = self.add(Object::Stream(mask, opacity));
            entries += &format!(" /SMask {mask} 0 R");
        }
        let colours = image.pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        let id = self.add(Object::Stream(entries, colours));
        self.images.push(id);
        let (width, height) = (number(target.width().into()), number(target.height().into()));
        let (left, bottom) = (number(target.x().into()), number(target.bottom().into()));
        // An image stands in the unit square with its top row at y = 1.
        self.say(&format!("q {width} 0 0 -{height} {left} {bottom} cm /I{} Do Q", self.images.len() - 1));
    }

    /// Colours that change evenly: functions from one to the next, stitched together.
    fn ramp(&mut self, place: Place, colours: &[Rgb]) {
        let Some(target) = rect(place) else { return };
        if colours.len() < 2 {
            return;
        }
        let piece = |pair: &[Rgb]| {
            format!("<< /FunctionType 2 /Domain [0 1] /C0 [{}] /C1 [{}] /N 1 >>", channels(pair[0]), channels(pair[1]))
        };
        let pieces: Vec<String> = colours.windows(2).map(piece).collect();
        let ends: Vec<String> = (1..pieces.len()).map(|i| format!("{:.4}", i as f64 / pieces.len() as f64)).collect();
        let function = format!(
            "<< /FunctionType 3 /Domain [0 1] /Functions [{}] /Bounds [{}] /Encode [{}] >>",
            pieces.join(" "),
            ends.join(" "),
            vec!["0 1"; pieces.len()].join(" ")
        );
        let (left, top) = (number(target.x().into()), number(target.y().into()));
        let (width, height) = (number(target.width().into()), number(target.height().into()));
        let bottom = number(target.bottom().into());
        let shading = format!(
            "<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [{left} {bottom} {left} {top}] /Function {function} \
             /Extend [true true] >>"
        );
        let id = self.add(Object::Plain(shading));
        self.shadings.push(id);
        self.say(&format!("q {left} {top} {width} {height} re W n /S{} sh Q", self.shadings.len() - 1));
    }
}

/// A circle as four curves, as close to it as any eye can see: far fewer than the painting library takes.
fn circle((x, y): (f32, f32), radius: f32) -> Option<Path> {
    /// From a corner of the circle to the point that bends its quarter.
    const BEND: f32 = 0.552_284_8;
    let (near, far) = (BEND * radius, radius);
    let mut path = PathBuilder::new();
    path.move_to(x + far, y);
    path.cubic_to(x + far, y + near, x + near, y + far, x, y + far);
    path.cubic_to(x - near, y + far, x - far, y + near, x - far, y);
    path.cubic_to(x - far, y - near, x - near, y - far, x, y - far);
    path.cubic_to(x + near, y - far, x + far, y - near, x + far, y);
    path.close();
    path.finish().filter(|_| radius > 0.0)
}

/// A colour as three numbers from 0 to 1.
fn channels(colour: Rgb) -> String {
    colour.map(|channel| format!("{:.3}", f64::from(channel) / 255.0)).join(" ")
}

/// The operators that choose the pen of a line.
fn pen(look: &Look) -> String {
    let mut pen = format!(" {} w", number(near(look.line_width).max(0.0).into()));
    if look.has_round_joins {
        pen += " 1 j";
    }
    if look.has_round_caps {
        pen += " 1 J";
    }
    let dashes = look.dashes.filter(|(dash, gap)| *dash > 0.0 && *gap > 0.0);
    if let Some((dash, gap)) = dashes {
        pen += &format!(" [{} {}] 0 d", number(near(dash).into()), number(near(gap).into()));
    }
    pen
}

/// A path as operators. PDF knows cubic curves only: a quadratic one is raised to them.
fn notation(path: &Path) -> String {
    let mut text = String::new();
    let mut at = (0.0, 0.0);
    let say = |text: &mut String, numbers: &[f64], operator: char| {
        for value in numbers {
            text.push_str(&number(*value));
            text.push(' ');
        }
        text.push(operator);
        text.push(' ');
    };
    let place = |point: tiny_skia::Point| (f64::from(point.x), f64::from(point.y));
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                at = place(to);
                say(&mut text, &[at.0, at.1], 'm');
            }
            PathSegment::LineTo(to) => {
                at = place(to);
                say(&mut text, &[at.0, at.1], 'l');
            }
            PathSegment::QuadTo(bend, to) => {
                let (bend, to) = (place(bend), place(to));
                let towards =
                    |from: (f64, f64)| (from.0 + 2.0 / 3.0 * (bend.0 - from.0), from.1 + 2.0 / 3.0 * (bend.1 - from.1));
                let (first, second) = (towards(at), towards(to));
                at = to;
                say(&mut text, &[first.0, first.1, second.0, second.1, to.0, to.1], 'c');
            }
            PathSegment::CubicTo(first, second, to) => {
                let (first, second) = (place(first), place(second));
                at = place(to);
                say(&mut text, &[first.0, first.1, second.0, second.1, at.0, at.1], 'c');
            }
            PathSegment::Close => text.push_str("h "),
        }
    }
    text.trim_end().to_string()
}

/// A number to a hundred-thousandth, as short as possible; PDF knows no exponents.
fn number(value: f64) -> String {
    let text = format!("{value:.5}");
    let digits = if value.abs() < 2.0 { text } else { format!("{value:.2}") };
    match digits.trim_end_matches('0').trim_end_matches('.') {
        "-0" | "" => "0".into(),
        short => short.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawing::Attribute;
    use super::super::{Figure, Style, samples};
    use super::*;

    /// The object that the table of a document says is at a number.
    fn object(bytes: &[u8], id: usize) -> String {
        let text = String::from_utf8_lossy(bytes);
        let table: usize = text.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
        assert!(bytes[table..].starts_with(b"xref\n0 "));
        let line = String::from_utf8_lossy(&bytes[table..]).lines().nth(2 + id).unwrap().to_string();
        let start: usize = line[..10].parse().unwrap();
        String::from_utf8_lossy(&bytes[start..]).split("endobj").next().unwrap().to_string()
    }

    fn map() -> Figure {
        let mut map = samples::map(3, 2, |i, j| (i + j) as f64);
        map.values[0] = f64::NAN;
        Figure::Map(map)
    }

    #[test]
    fn the_table_leads_to_every_object() {
        let curve = Figure::Curve(samples::curve(vec![0.0, 1.0], vec![1.0, 2.0], vec![0.5]));
        for figure in [curve, map()] {
            let bytes = figure.picture(&Style::default()).pdf();
            assert!(bytes.starts_with(b"%PDF-1.4\n") && bytes.ends_with(b"%%EOF\n"));
            let text = String::from_utf8_lossy(&bytes);
            let count = text.matches(" 0 obj\n").count();
            assert!(text.contains(&format!("/Size {} ", count + 1)));
            (1..=count).for_each(|id| assert!(object(&bytes, id).starts_with(&format!("{id} 0 obj\n")), "{id}"));
        }
    }

    #[test]
    fn the_page_has_its_size_and_its_content_unpacks() {
        let style = Style { size: Size::Paper(85.0, 25.4), ..Style::default() };
        let bytes = map().picture(&style).pdf();
        assert!(object(&bytes, PAGE).contains("/MediaBox [0 0 240.94 72]"), "{}", object(&bytes, PAGE));
        let screen = map().picture(&Style::default());
        let width = format!("/MediaBox [0 0 {} ", number(0.75 * screen.drawing.width));
        let bytes = screen.pdf();
        assert!(object(&bytes, PAGE).contains(&width));
        let at = bytes.windows(8).position(|window| window == b"\nstream\n").unwrap() + 8;
        let unpacked = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes[at..]).unwrap();
        assert_eq!(String::from_utf8(unpacked).unwrap(), content(&screen.drawing));
    }

    #[test]
    fn shapes_become_operators() {
        let mut drawing = Drawing::new(90.0, 42.0);
        drawing.line((1.0, 2.0), (3.0, 4.0), &[Attribute::Line([0, 51, 255]), Attribute::LineWidth(0.8)]);
        let half = [Attribute::Fill([255; 3]), Attribute::FillOpacity(0.5), Attribute::EvenOdd];
        drawing.clip([1.0, 2.0, 3.0, 4.0], |drawing| drawing.rect([5.0, 6.0, 7.0, 8.0], &half));
        let page = Page::of(&drawing);
        let expected = "0.75 0 0 -0.75 0 31.5 cm\n\
            q 1.000 1.000 1.000 rg\n0 0 m 90 0 l 90 42 l 0 42 l h f Q\n\
            q 0.000 0.200 1.000 RG 0.8 w\n1 2 m 3 4 l S Q\n\
            q 1 2 3 4 re W n\nq /O0 gs 1.000 1.000 1.000 rg\n5 6 m 12 6 l 12 14 l 5 14 l h f* Q\nQ\n";
        assert_eq!(page.content, expected);
        assert!(page.resources().contains("/O0 << /ca 0.5 /CA 1 >>"));
    }

    #[test]
    fn cells_that_are_blank_are_masked() {
        let page = Page::of(&map().picture(&Style::default()).drawing);
        let mask = page.objects.iter().find_map(|object| match object {
            Object::Stream(entries, bytes) if entries.contains("DeviceGray") => Some(bytes.clone()),
            _ => None,
        });
        // The lowest row is the last.
        assert_eq!(mask, Some(vec![255, 255, 255, 0, 255, 255]));
        assert_eq!((page.images.len(), page.shadings.len()), (1, 1));
    }

    #[test]
    fn numbers_have_no_exponents() {
        assert_eq!(number(1e-9), "0");
        assert_eq!(number(-0.000_012), "-0.00001");
        assert_eq!(number(100_000.0), "100000");
        assert_eq!(number(12.346), "12.35");
    }
}
