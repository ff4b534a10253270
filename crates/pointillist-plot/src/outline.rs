//! Text as shapes: every `<text>` of a figure becomes a `<path>` of glyph outlines from the font that the command carries.
//!
//! So a raster needs no font of the machine and no text engine, which would be a third of the time to build the command. It knows only the one
//! form in which `svg.rs` writes text: left to right, no kerning.

use std::fmt::Write as _;
use ttf_parser::{Face, OutlineBuilder};

/// The document with its text drawn. Where the font cannot be read the text is left out.
pub(super) fn outline_text(svg: &str) -> String {
    let font = dejavu::sans::regular();
    let face = Face::parse(font, 0).ok();
    let mut out = String::with_capacity(2 * svg.len());
    let mut pieces = svg.split("<text ");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let Some((text, rest)) = piece.split_once("</text>") else { continue };
        if let (Some(face), Some((attributes, content))) = (&face, text.split_once('>')) {
            out.push_str(&path(face, attributes, &unescape(content)));
        }
        out.push_str(rest);
    }
    out
}

/// One line of text as a path.
fn path(face: &Face<'_>, attributes: &str, content: &str) -> String {
    let number = |name: &str| attribute(attributes, name).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    let scale = number("font-size") / f64::from(face.units_per_em());
    let glyphs: Vec<_> = content.chars().filter_map(|c| face.glyph_index(c)).collect();
    let advance = |glyph| scale * f64::from(face.glyph_hor_advance(glyph).unwrap_or(0));
    let width: f64 = glyphs.iter().map(|g| advance(*g)).sum();
    let before = match attribute(attributes, "text-anchor") {
        Some("middle") => 0.5 * width,
        Some("end") => width,
        _ => 0.0,
    };
    let mut pen = Pen { data: String::new(), x: number("x") - before, y: number("y"), scale };
    for glyph in glyphs {
        face.outline_glyph(glyph, &mut pen);
        pen.x += advance(glyph);
    }
    let fill = attribute(attributes, "fill").unwrap_or("black");
    let transform = attribute(attributes, "transform").map(|t| format!(r#" transform="{t}""#)).unwrap_or_default();
    format!(r#"<path d="{}" fill="{fill}"{transform}/>"#, pen.data)
}

/// The value of `name="…"`.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes;
    while let Some((before, after)) = rest.split_once("=\"") {
        let (value, next) = after.split_once('"')?;
        if before.trim() == name {
            return Some(value);
        }
        rest = next;
    }
    None
}

/// What `svg::escape` escaped.
fn unescape(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_string(), |text, (entity, plain)| text.replace(entity, plain))
}

/// Writes outlines at a place on the page, y downwards.
struct Pen {
    data: String,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen {
    fn write(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        for (x, y) in points {
            let (x, y) = (self.x + self.scale * f64::from(*x), self.y - self.scale * f64::from(*y));
            let _ = write!(self.data, "{x:.2} {y:.2} "); // writing to a string cannot fail
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.write('M', &[(x, y)]);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.write('L', &[(x, y)]);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.write('Q', &[(x1, y1), (x, y)]);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.write('C', &[(x1, y1), (x2, y2), (x, y)]);
    }
    fn close(&mut self) {
        self.data.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_shapes_at_its_place() {
        let out = outline_text(
            r#"<svg><text x="100" y="50" font-size="10" fill="red" text-anchor="end">a&lt;b</text><g/></svg>"#,
        );
        assert!(out.starts_with("<svg><path d=\"M") && out.ends_with("fill=\"red\"/><g/></svg>"), "{out}");
        let numbers: Vec<f64> = out.split(['M', 'L', 'Q', ' ', 'Z', '"']).filter_map(|n| n.parse().ok()).collect();
        let xs: Vec<f64> = numbers.iter().step_by(2).copied().collect();
        assert!(xs.iter().all(|x| (75.0..=100.0).contains(x)), "three letters of ten units end at 100: {xs:?}");
    }
}
