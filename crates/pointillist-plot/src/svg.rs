//! A drawing as an SVG document: shapes and escaped text.

use super::drawing::{Anchor, Attribute, Drawing, Image, Place, Rgb, Shape, Step, Text};
use super::png::encode_rgba;
use std::fmt::Write;

/// The last-but-one is the font that `font.rs` carries.
const FONTS: &str = "Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// The whole document.
pub(super) fn write(drawing: &Drawing) -> String {
    let (width, height) = (px(drawing.width), px(drawing.height));
    let shown = |length: f64| match drawing.inches_per_unit {
        Some(inches) => format!("{}mm", px(25.4 * inches * length)),
        None => px(length),
    };
    let (shown_width, shown_height) = (shown(drawing.width), shown(drawing.height));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{shown_width}\" height=\"{shown_height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\">\n"
    );
    write_shapes(&mut svg, &drawing.shapes);
    svg + "</svg>\n"
}

/// The shapes, each in a line of its own.
fn write_shapes(svg: &mut String, shapes: &[Shape]) {
    for shape in shapes {
        write_shape(svg, shape);
        svg.push('\n');
    }
}

fn write_shape(svg: &mut String, shape: &Shape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Rect { place, style } => write!(svg, "<rect {} {}/>", corner_and_size(*place), attributes(style)),
        Shape::Path { steps, style } if style.is_empty() => write!(svg, r#"<path d="{}"/>"#, notation(steps)),
        Shape::Path { steps, style } => write!(svg, r#"<path d="{}" {}/>"#, notation(steps), attributes(style)),
        Shape::Circle { centre: (x, y), radius, style } => {
            write!(svg, r#"<circle cx="{}" cy="{}" r="{}" {}/>"#, px(*x), px(*y), px(*radius), attributes(style))
        }
        Shape::Text(text) => write!(svg, "{}", text_element(text)),
        Shape::Image { place, image } => write!(svg, "{}", image_element(*place, image)),
        Shape::Ramp { place, colours } => write!(svg, "{}", ramp_elements(*place, colours)),
        Shape::Group { style, shapes } => {
            let _ = writeln!(svg, "<g {}>", attributes(style));
            write_shapes(svg, shapes);
            write!(svg, "</g>")
        }
        Shape::Clip { place, shapes } => {
            // A nested document clips without an id, which could clash where figures share a page.
            let [x, y, width, height] = place.map(px);
            let _ = writeln!(svg, r#"<svg {} viewBox="{x} {y} {width} {height}">"#, corner_and_size(*place));
            write_shapes(svg, shapes);
            write!(svg, "</svg>")
        }
    };
}

fn corner_and_size(place: Place) -> String {
    let [x, y, width, height] = place.map(px);
    format!(r#"x="{x}" y="{y}" width="{width}" height="{height}""#)
}

/// How a shape looks, as attributes of its element.
pub(super) fn attributes(style: &[Attribute]) -> String {
    style.iter().map(attribute).collect::<Vec<_>>().join(" ")
}

fn attribute(attribute: &Attribute) -> String {
    match *attribute {
        Attribute::Class(name) => format!(r#"class="{name}""#),
        Attribute::Fill(colour) => format!(r#"fill="{}""#, hex(colour)),
        Attribute::NoFill => r#"fill="none""#.into(),
        Attribute::FillOpacity(opacity) => format!(r#"fill-opacity="{}""#, px(opacity)),
        Attribute::EvenOdd => r#"fill-rule="evenodd""#.into(),
        Attribute::Line(colour) => format!(r#"stroke="{}""#, hex(colour)),
        Attribute::LineWidth(width) => format!(r#"stroke-width="{}""#, px(width)),
        Attribute::LineOpacity(opacity) => format!(r#"stroke-opacity="{}""#, px(opacity)),
        Attribute::RoundJoin => r#"stroke-linejoin="round""#.into(),
        Attribute::RoundCap => r#"stroke-linecap="round""#.into(),
        Attribute::Dashes(dash, gap) => format!(r#"stroke-dasharray="{} {}""#, px(dash), px(gap)),
    }
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A path in SVG path notation.
pub(super) fn notation(steps: &[Step]) -> String {
    let mut d = String::new();
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match *step {
            Step::Move((x, y)) => write!(d, "M{} {}", px(x), px(y)),
            Step::Line((x, y)) => write!(d, "L{} {}", px(x), px(y)),
            Step::Across(x) => write!(d, "H{}", px(x)),
            Step::Upright(y) => write!(d, "V{}", px(y)),
            Step::Down(length) => write!(d, "v{}", px(length)),
            Step::Close => write!(d, "Z"),
        };
    }
    d
}

fn text_element(text: &Text) -> String {
    let (x, y) = (px(text.at.0), px(text.at.1));
    let mut style = format!(r#"fill="{}""#, hex(text.colour));
    if text.is_bold {
        style += r#" font-weight="600""#;
    }
    style += match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => r#" text-anchor="middle""#,
        Anchor::End => r#" text-anchor="end""#,
    };
    if text.is_upright {
        style += &format!(r#" transform="rotate(-90 {x} {y})""#);
    }
    format!(r#"<text x="{x}" y="{y}" font-size="{}" {style}>{}</text>"#, px(text.size), escape(&text.content))
}

/// The image as a PNG inside the document.
fn image_element(place: Place, image: &Image) -> String {
    let href = encode_rgba(image).map(|png| base64(&png)).unwrap_or_default();
    format!(
        r#"<image {} preserveAspectRatio="none" style="image-rendering:smooth" href="data:image/png;base64,{href}"/>"#,
        corner_and_size(place)
    )
}

/// The rectangle, and before it the gradient that fills it.
fn ramp_elements(place: Place, colours: &[Rgb]) -> String {
    let last = colours.len().saturating_sub(1).max(1) as f64;
    let stop =
        |(i, colour): (usize, &Rgb)| format!(r#"<stop offset="{}" stop-color="{}"/>"#, i as f64 / last, hex(*colour));
    let stops: String = colours.iter().enumerate().map(stop).collect();
    format!(
        "<linearGradient id=\"bar\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">{stops}</linearGradient>\n\
         <rect {} fill=\"url(#bar)\"/>",
        corner_and_size(place)
    )
}

/// A number to a hundredth, as short as possible.
fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        short => short.into(),
    }
}

/// Text made safe for element content and attributes; characters XML forbids are dropped.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => safe.push(c),
        }
    }
    safe
}

/// Standard base 64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_standard_examples() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\" > 'd'\u{1b}\u{0}\n"), "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39; ");
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text(Text::new((0.0, 0.0), 12.0, [0; 3], "</text><script>"));
        assert!(!write(&drawing).contains("<script>"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(px(1.0), "1");
        assert_eq!(px(100.0), "100");
        assert_eq!(px(-0.001), "0");
        assert_eq!(px(12.346), "12.35");
    }

    #[test]
    fn each_shape_is_an_element() {
        let mut drawing = Drawing::new(90.0, 42.5);
        drawing.line((1.0, 2.0), (3.0, 4.126), &[Attribute::Line([0, 16, 255]), Attribute::LineWidth(0.8)]);
        let style = [Attribute::Class("gap"), Attribute::NoFill, Attribute::LineOpacity(0.5), Attribute::RoundJoin];
        drawing.group(&style, |drawing| {
            drawing.path(vec![Step::Move((1.0, 2.0)), Step::Down(11.0), Step::Across(5.0), Step::Upright(6.0)], &[]);
            drawing.circle((1.5, 2.5), 3.0, &[Attribute::FillOpacity(0.25), Attribute::RoundCap, Attribute::EvenOdd]);
        });
        drawing.clip([1.0, 2.0, 3.0, 4.0], |drawing| {
            drawing.path(vec![Step::Move((0.0, 0.0)), Step::Close], &[Attribute::Dashes(7.0, 4.0)]);
        });
        drawing.text(Text::new((4.0, 5.0), 12.0, [0; 3], "a & b").bold().anchored(Anchor::End).upright());
        drawing.ramp([1.0, 2.0, 3.0, 4.0], &[[0; 3], [255; 3], [1; 3]]);
        let expected = r##"<svg xmlns="http://www.w3.org/2000/svg" width="90" height="42.5" viewBox="0 0 90 42.5" font-family="FONTS">
<rect x="0" y="0" width="90" height="42.5" fill="#ffffff"/>
<path d="M1 2L3 4.13" stroke="#0010ff" stroke-width="0.8"/>
<g class="gap" fill="none" stroke-opacity="0.5" stroke-linejoin="round">
<path d="M1 2v11H5V6"/>
<circle cx="1.5" cy="2.5" r="3" fill-opacity="0.25" stroke-linecap="round" fill-rule="evenodd"/>
</g>
<svg x="1" y="2" width="3" height="4" viewBox="1 2 3 4">
<path d="M0 0Z" stroke-dasharray="7 4"/>
</svg>
<text x="4" y="5" font-size="12" fill="#000000" font-weight="600" text-anchor="end" transform="rotate(-90 4 5)">a &amp; b</text>
<linearGradient id="bar" x1="0" y1="1" x2="0" y2="0"><stop offset="0" stop-color="#000000"/><stop offset="0.5" stop-color="#ffffff"/><stop offset="1" stop-color="#010101"/></linearGradient>
<rect x="1" y="2" width="3" height="4" fill="url(#bar)"/>
</svg>
"##;
        assert_eq!(write(&drawing), expected.replace("FONTS", FONTS));
    }
}
