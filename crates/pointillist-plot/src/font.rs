//! Text as outlines of glyphs, from the font that the crate carries: left to right, no kerning.
//!
//! So a raster needs no font of the machine, and is the same on all of them.

use super::drawing::{Anchor, Text};
use super::png::near;
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, OutlineBuilder};

/// A font to draw with.
pub(super) struct Font {
    face: Face<'static>,
}

impl Font {
    /// The font that the crate carries; none if it cannot be read.
    pub fn new() -> Option<Self> {
        Face::parse(dejavu::sans::regular(), 0).ok().map(|face| Self { face })
    }

    /// The outlines of a line of text at its place, before it is turned. None if it leaves no mark; characters that the font lacks are left out.
    pub fn outline(&self, text: &Text) -> Option<Path> {
        let scale = text.size / f64::from(self.face.units_per_em());
        let glyphs: Vec<_> = text.content.chars().filter_map(|c| self.face.glyph_index(c)).collect();
        let advance = |glyph| scale * f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0));
        let width: f64 = glyphs.iter().map(|&glyph| advance(glyph)).sum();
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5 * width,
            Anchor::End => width,
        };
        let mut pen = Pen { path: PathBuilder::new(), x: text.at.0 - before, y: text.at.1, scale };
        for glyph in glyphs {
            self.face.outline_glyph(glyph, &mut pen);
            pen.x += advance(glyph);
        }
        pen.path.finish()
    }
}

/// Draws outlines at a place in the picture, y downwards.
struct Pen {
    path: PathBuilder,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (near(self.x + self.scale * f64::from(x)), near(self.y - self.scale * f64::from(y)))
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_shapes_at_its_place() {
        let font = Font::new().unwrap();
        let text = Text::new((100.0, 50.0), 10.0, [0; 3], "a<b");
        let end = font.outline(&text.clone().anchored(Anchor::End)).unwrap().bounds();
        assert!(end.left() >= 75.0 && end.right() <= 100.0, "three letters of ten units end at 100: {end:?}");
        assert!(end.top() >= 40.0 && end.top() < 45.0 && end.bottom() <= 50.5, "they stand on the line: {end:?}");
        let start = font.outline(&text.clone()).unwrap().bounds();
        let middle = font.outline(&text.anchored(Anchor::Middle)).unwrap().bounds();
        assert!(start.left() >= 100.0);
        assert!((2.0 * middle.left() - start.left() - end.left()).abs() < 0.03, "each to a hundredth");
        assert!(font.outline(&Text::new((0.0, 0.0), 10.0, [0; 3], " ")).is_none(), "a blank leaves no mark");
    }
}
