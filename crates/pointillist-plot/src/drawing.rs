//! A picture as a list of shapes, which `svg.rs` and `pdf.rs` write as text and `png.rs` paints as pixels.
//!
//! Lengths are in units of the picture, y downwards. What to draw, and where, is decided elsewhere.

use super::style::Size;
use super::text::{TITLE_SIZE, fit_text};

/// An opaque colour.
pub(super) type Rgb = [u8; 3];

/// A place in the picture.
pub(super) type Point = (f64, f64);

/// Left, top, width and height of a rectangle.
pub(super) type Place = [f64; 4];

/// Colours shared by the figures.
pub(super) const INK: Rgb = [0x1f, 0x24, 0x30];
pub(super) const QUIET_INK: Rgb = [0x5b, 0x62, 0x70];
pub(super) const GRID: Rgb = [0xe6, 0xe8, 0xec];
pub(super) const FRAME: Rgb = [0x9a, 0xa1, 0xad];
pub(super) const WHITE: Rgb = [0xff; 3];

/// One thing that is said about how a shape looks. What is not said is as in SVG: filled black, no line, all opaque.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Attribute {
    /// What kind of thing the shape is, for whoever reads the SVG; it changes nothing.
    Class(&'static str),
    Fill(Rgb),
    NoFill,
    FillOpacity(f64),
    /// What lies within an even number of outlines is not filled.
    EvenOdd,
    Line(Rgb),
    LineWidth(f64),
    LineOpacity(f64),
    RoundJoin,
    RoundCap,
    /// Lengths of the dashes and of the gaps between them.
    Dashes(f64, f64),
}

/// How a shape looks, all things taken together.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub fill: Option<Rgb>,
    pub fill_opacity: f64,
    pub is_even_odd: bool,
    pub line: Option<Rgb>,
    pub line_opacity: f64,
    pub line_width: f64,
    pub has_round_joins: bool,
    pub has_round_caps: bool,
    pub dashes: Option<(f64, f64)>,
}

impl Default for Look {
    /// That of SVG.
    fn default() -> Self {
        Self {
            fill: Some([0; 3]),
            fill_opacity: 1.0,
            is_even_odd: false,
            line: None,
            line_opacity: 1.0,
            line_width: 1.0,
            has_round_joins: false,
            has_round_caps: false,
            dashes: None,
        }
    }
}

impl Look {
    /// This look with what a style says of its own.
    pub fn with(&self, style: &[Attribute]) -> Self {
        let mut look = self.clone();
        for attribute in style {
            match *attribute {
                Attribute::Class(_) => {}
                Attribute::Fill(colour) => look.fill = Some(colour),
                Attribute::NoFill => look.fill = None,
                Attribute::FillOpacity(opacity) => look.fill_opacity = opacity,
                Attribute::EvenOdd => look.is_even_odd = true,
                Attribute::Line(colour) => look.line = Some(colour),
                Attribute::LineWidth(width) => look.line_width = width,
                Attribute::LineOpacity(opacity) => look.line_opacity = opacity,
                Attribute::RoundJoin => look.has_round_joins = true,
                Attribute::RoundCap => look.has_round_caps = true,
                Attribute::Dashes(dash, gap) => look.dashes = Some((dash, gap)),
            }
        }
        look
    }
}

/// One step of the pen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Move(Point),
    Line(Point),
    /// To this x, at the same height.
    Across(f64),
    /// To this y, straight up or down.
    Upright(f64),
    /// Down by so much.
    Down(f64),
    /// Back to where the pen was last moved to.
    Close,
}

/// Which point of a line of text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub content: String,
    pub at: Point,
    pub size: f64,
    pub colour: Rgb,
    pub anchor: Anchor,
    pub is_bold: bool,
    /// Whether it reads upwards.
    pub is_upright: bool,
}

impl Text {
    /// Plain text that begins at a place.
    pub fn new(at: Point, size: f64, colour: Rgb, content: impl Into<String>) -> Self {
        let content = content.into();
        Self { content, at, size, colour, anchor: Anchor::Start, is_bold: false, is_upright: false }
    }

    /// The same text, with another point of it at its place.
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same text, bold where the font is.
    pub fn bold(self) -> Self {
        Self { is_bold: true, ..self }
    }

    /// The same text, reading upwards.
    pub fn upright(self) -> Self {
        Self { is_upright: true, ..self }
    }
}

/// Cells of colour, smoothed when they are drawn larger: four bytes for each from the top left, opaque or all zero.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub columns: usize,
    pub rows: usize,
    pub pixels: Vec<u8>,
}

/// What a picture is made of.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Rect {
        place: Place,
        style: Vec<Attribute>,
    },
    Path {
        steps: Vec<Step>,
        style: Vec<Attribute>,
    },
    Circle {
        centre: Point,
        radius: f64,
        style: Vec<Attribute>,
    },
    Text(Text),
    Image {
        place: Place,
        image: Image,
    },
    /// A rectangle of colours that change evenly from the first at the bottom to the last at the top.
    Ramp {
        place: Place,
        colours: Vec<Rgb>,
    },
    /// Shapes that look alike, but for what each says itself.
    Group {
        style: Vec<Attribute>,
        shapes: Vec<Shape>,
    },
    /// Shapes of which only what lies in a rectangle shows.
    Clip {
        place: Place,
        shapes: Vec<Shape>,
    },
}

impl Shape {
    /// The same shape, so much lower.
    fn lowered(self, by: f64) -> Self {
        let place = |[x, y, width, height]: Place| [x, y + by, width, height];
        let all = |shapes: Vec<Shape>| shapes.into_iter().map(|shape| shape.lowered(by)).collect();
        match self {
            Self::Rect { place: at, style } => Self::Rect { place: place(at), style },
            Self::Path { steps, style } => {
                Self::Path { steps: steps.into_iter().map(|step| step.lowered(by)).collect(), style }
            }
            Self::Circle { centre, radius, style } => Self::Circle { centre: (centre.0, centre.1 + by), radius, style },
            Self::Text(text) => Self::Text(Text { at: (text.at.0, text.at.1 + by), ..text }),
            Self::Image { place: at, image } => Self::Image { place: place(at), image },
            Self::Ramp { place: at, colours } => Self::Ramp { place: place(at), colours },
            Self::Group { style, shapes } => Self::Group { style, shapes: all(shapes) },
            Self::Clip { place: at, shapes } => Self::Clip { place: place(at), shapes: all(shapes) },
        }
    }
}

impl Step {
    fn lowered(self, by: f64) -> Self {
        match self {
            Self::Move((x, y)) => Self::Move((x, y + by)),
            Self::Line((x, y)) => Self::Line((x, y + by)),
            Self::Upright(y) => Self::Upright(y + by),
            Self::Across(_) | Self::Down(_) | Self::Close => self,
        }
    }
}

/// What a picture can be painted on. Places and styles are as in SVG; what makes no sense is left out.
pub(super) trait Canvas {
    fn rect(&mut self, place: Place, look: &Look);
    fn path(&mut self, steps: &[Step], look: &Look);
    fn circle(&mut self, centre: Point, radius: f64, look: &Look);
    fn text(&mut self, text: &Text);
    fn image(&mut self, place: Place, image: &Image);
    fn ramp(&mut self, place: Place, colours: &[Rgb]);

    /// Only what lies in a rectangle shows of what `draw` draws, and in all rectangles around that.
    fn clipped(&mut self, place: Place, draw: impl FnOnce(&mut Self));

    /// Shapes with this look, but for what each says itself.
    fn shapes(&mut self, shapes: &[Shape], look: &Look) {
        for shape in shapes {
            match shape {
                Shape::Rect { place, style } => self.rect(*place, &look.with(style)),
                Shape::Path { steps, style } => self.path(steps, &look.with(style)),
                Shape::Circle { centre, radius, style } => self.circle(*centre, *radius, &look.with(style)),
                Shape::Text(text) => self.text(text),
                Shape::Image { place, image } => self.image(*place, image),
                Shape::Ramp { place, colours } => self.ramp(*place, colours),
                Shape::Group { style, shapes } => self.shapes(shapes, &look.with(style)),
                Shape::Clip { place, shapes } => self.clipped(*place, |canvas| canvas.shapes(shapes, look)),
            }
        }
    }
}

/// A picture under construction: its size, and its shapes, the last on top.
pub(super) struct Drawing {
    pub width: f64,
    pub height: f64,
    /// How long a unit is, if the picture is meant for paper.
    pub inches_per_unit: Option<f64>,
    pub shapes: Vec<Shape>,
}

impl Drawing {
    /// An empty picture on a white ground.
    pub fn new(width: f64, height: f64) -> Self {
        let mut drawing = Drawing { width, height, inches_per_unit: None, shapes: Vec::new() };
        drawing.rect([0.0, 0.0, width, height], &[Attribute::Fill(WHITE)]);
        drawing
    }

    /// The same picture, as large as a figure of this size is.
    pub fn sized(self, size: Size) -> Self {
        let inches_per_unit = (size != Size::Screen).then(|| size.inches_per_unit());
        Self { inches_per_unit, ..self }
    }

    pub fn rect(&mut self, [x, y, width, height]: Place, style: &[Attribute]) {
        let place = [x, y, width.max(0.0), height.max(0.0)];
        self.shapes.push(Shape::Rect { place, style: style.to_vec() });
    }

    pub fn line(&mut self, from: Point, to: Point, style: &[Attribute]) {
        self.path(vec![Step::Move(from), Step::Line(to)], style);
    }

    pub fn path(&mut self, steps: Vec<Step>, style: &[Attribute]) {
        self.shapes.push(Shape::Path { steps, style: style.to_vec() });
    }

    pub fn circle(&mut self, centre: Point, radius: f64, style: &[Attribute]) {
        self.shapes.push(Shape::Circle { centre, radius, style: style.to_vec() });
    }

    pub fn text(&mut self, text: Text) {
        self.shapes.push(Shape::Text(text));
    }

    /// An image, if it has any cells.
    pub fn image(&mut self, place: Place, image: Image) {
        if image.pixels.is_empty() {
            return;
        }
        self.shapes.push(Shape::Image { place, image });
    }

    pub fn ramp(&mut self, place: Place, colours: &[Rgb]) {
        self.shapes.push(Shape::Ramp { place, colours: colours.to_vec() });
    }

    /// What `draw` draws looks so, unless it says otherwise.
    pub fn group(&mut self, style: &[Attribute], draw: impl FnOnce(&mut Self)) {
        let ((), shapes) = self.apart(draw);
        self.shapes.push(Shape::Group { style: style.to_vec(), shapes });
    }

    /// What `draw` draws shows only in a rectangle.
    pub fn clip<T>(&mut self, place: Place, draw: impl FnOnce(&mut Self) -> T) -> T {
        let (outcome, shapes) = self.apart(draw);
        self.shapes.push(Shape::Clip { place, shapes });
        outcome
    }

    /// What `draw` draws, in a list of its own.
    fn apart<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> (T, Vec<Shape>) {
        let before = std::mem::take(&mut self.shapes);
        let outcome = draw(self);
        (outcome, std::mem::replace(&mut self.shapes, before))
    }

    /// Another picture, so far below the top of this one.
    pub fn place_below(&mut self, top: f64, other: Drawing) {
        self.shapes.extend(other.shapes.into_iter().map(|shape| shape.lowered(top)));
    }

    /// The heading, made smaller or cut when it would not fit.
    pub fn title(&mut self, left: f64, title: &str) {
        let (title, size) = fit_text(title, TITLE_SIZE, self.width - left - 12.0);
        self.text(Text::new((left, 28.0), size, INK, title).bold());
    }
}

/// The steps of a line through the points.
pub(super) fn polyline(points: impl IntoIterator<Item = Point>) -> Vec<Step> {
    let mut steps: Vec<Step> = points.into_iter().map(Step::Line).collect();
    if let Some(first) = steps.first_mut()
        && let Step::Line(start) = *first
    {
        *first = Step::Move(start);
    }
    steps
}

/// The steps of a closed line through the points.
pub(super) fn polygon(points: impl IntoIterator<Item = Point>) -> Vec<Step> {
    let mut steps = polyline(points);
    steps.push(Step::Close);
    steps
}
