//! Figures of intensities: curves with credible bands, a map, or maps side by side, as SVG, PDF, PNG or text for a terminal;
//! charts of many lines as SVG or PNG.
//!
//! Plain numbers in, a picture out. The crate knows nothing of how the numbers were inferred,
//! reads and writes no files, and never fails on data: empty, constant or non-finite input gives
//! a (possibly empty) picture rather than an error. It carries its own font, so that a PNG is the same on every
//! machine.
//!
//! ```
//! use pointillist_plot::{Curve, CurveFigure, Figure, Style};
//!
//! let x: Vec<f64> = (0..=100).map(|i| f64::from(i) / 10.0).collect();
//! let figure = Figure::Curve(CurveFigure {
//!     title: "A wave".into(),
//!     x_label: "time (s)".into(),
//!     y_label: "events per second".into(),
//!     curves: vec![Curve { label: "mean".into(), y: x.iter().map(|x| 2.0 + x.sin()).collect(), x, band: None }],
//!     marks: vec![],
//!     anomalies: vec![],
//!     events: vec![1.0, 1.5, 2.0, 7.7],
//!     trials: vec![],
//!     gaps: vec![],
//!     calendar: None,
//!     labels: vec![],
//! });
//! assert!(figure.svg().starts_with("<svg"));
//! assert!(figure.png(2.0)?.starts_with(b"\x89PNG"));
//! assert!(figure.picture(&Style::default()).pdf().starts_with(b"%PDF"));
//! assert!(figure.terminal(80, 20, false).contains("4 events"));
//! # Ok::<(), pointillist_plot::PngError>(())
//! ```

mod anomaly;
mod chart;
mod curve;
mod drawing;
mod font;
mod frame;
mod legend;
mod map;
mod palette;
mod panels;
mod pdf;
mod png;
mod scale;
mod stack;
mod style;
mod svg;
mod terminal;
mod text;

pub use anomaly::Anomaly;
use drawing::Drawing;
pub use palette::Palette;
pub use style::{EventsShown, Size, Style};

/// A pointwise interval around a curve.
#[derive(Clone, Debug)]
pub struct Band {
    /// Lower ends, one for each `x` of the curve.
    pub lower: Vec<f64>,
    /// Upper ends, one for each `x` of the curve.
    pub upper: Vec<f64>,
    /// What the legend calls it, for example "90 % credible band".
    pub label: String,
}

/// Says that the x axis is time, so that its ticks become dates.
///
/// The axis counts `unit_days` days from `origin_unix_days`.
#[derive(Clone, Copy, Debug)]
pub struct Calendar {
    /// The date of x = 0, in days since 1970-01-01.
    pub origin_unix_days: f64,
    /// How many days one unit of x lasts.
    pub unit_days: f64,
}

/// A line over an axis, with an optional band.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it.
    pub label: String,
    /// Positions, ascending.
    pub x: Vec<f64>,
    /// Height at each `x`; a NaN interrupts the line.
    pub y: Vec<f64>,
    /// The interval around it, if there is one.
    pub band: Option<Band>,
}

/// A place of the x axis to point at.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where it is.
    pub x: f64,
    /// What is there; it may be empty.
    pub label: String,
}

/// Curves over one axis, and the events that the first was inferred from.
#[derive(Clone, Debug)]
pub struct CurveFigure {
    /// Heading of the figure.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// The curves. Where there are several, their bands share an entry of the legend.
    pub curves: Vec<Curve>,
    /// Places to point at.
    pub marks: Vec<Mark>,
    /// Parts whose counts are outside of their bands.
    pub anomalies: Vec<Anomaly>,
    /// Event positions, drawn as a rug under the axis.
    pub events: Vec<f64>,
    /// For each event the number of its trial from 0: then they are drawn in a row for each trial. Empty without trials.
    pub trials: Vec<usize>,
    /// Parts of the x axis at which nobody looked, drawn grey.
    pub gaps: Vec<(f64, f64)>,
    /// Present when x is time and the ticks should be dates.
    pub calendar: Option<Calendar>,
    /// Places of the x axis with labels of their own, in place of numbers or dates; empty for the usual ones.
    pub labels: Vec<(f64, String)>,
}

/// Values on a regular grid of the plane, with the events they were inferred from.
#[derive(Clone, Debug)]
pub struct MapFigure {
    /// Heading of the figure.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Label of the colour bar, with its unit.
    pub value_label: String,
    /// Cell centres along x, ascending and evenly spaced.
    pub x: Vec<f64>,
    /// Cell centres along y, ascending and evenly spaced.
    pub y: Vec<f64>,
    /// The part of the x axis to show.
    pub x_range: (f64, f64),
    /// The part of the y axis to show.
    pub y_range: (f64, f64),
    /// One value per cell, `values[iy * x.len() + ix]`; a NaN leaves its cell blank.
    pub values: Vec<f64>,
    /// Which cells lie inside the border, by their centres; the colours are for these. Empty if all do.
    pub inside: Vec<bool>,
    /// Closed lines, by the rule of even and odd around what is to be seen; none shows all.
    pub border: Vec<Vec<[f64; 2]>>,
    /// Event positions, drawn as points.
    pub events: Vec<[f64; 2]>,
    /// Parts whose counts are outside of their bands.
    pub anomalies: Vec<Anomaly>,
}

/// A figure of one intensity.
#[derive(Clone, Debug)]
pub enum Figure {
    /// A curve over one axis.
    Curve(CurveFigure),
    /// A heat map of the plane.
    Map(MapFigure),
    /// Several heat maps with one scale.
    Panels(PanelsFigure),
    /// Several maps and curves, each with its own axes.
    Stack(StackFigure),
}

/// A figure as it is drawn: ready to be written in one format or another.
pub struct Picture {
    drawing: Drawing,
}

impl Picture {
    /// As a stand-alone SVG document.
    pub fn svg(&self) -> String {
        svg::write(&self.drawing)
    }

    /// As a PDF document of one page. Text stands in it as outlines, so that it needs no font.
    pub fn pdf(&self) -> Vec<u8> {
        pdf::write(&self.drawing)
    }

    /// As a PNG file, `scale` pixels for each unit of the SVG.
    ///
    /// # Errors
    /// When the scale is not a positive number or asks for an unreasonably large picture.
    pub fn png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        png::encode(&self.drawing, scale)
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Stroke {
    /// Without a break.
    Solid,
    /// In dashes.
    Dashed,
    /// In dots.
    Dotted,
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the legend calls it; with an empty label it has no entry there.
    pub label: String,
    /// Positions, in the order in which the line goes through them.
    pub x: Vec<f64>,
    /// Height at each `x`; a NaN interrupts the line.
    pub y: Vec<f64>,
    /// Half the height of the error bar at each `x`, a NaN for no bar there. Empty if there are none.
    pub error: Vec<f64>,
    /// Lower and upper ends of an interval, one of each for each `x`, if there is one.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
    /// How the line is drawn.
    pub stroke: Stroke,
    /// Whether there is a dot at each point.
    pub marks: bool,
}

impl Series {
    /// A plain line.
    pub fn line(label: impl Into<String>, x: &[f64], y: Vec<f64>, stroke: Stroke) -> Self {
        Self { label: label.into(), x: x.to_vec(), y, error: vec![], band: None, stroke, marks: false }
    }
}

/// A height to compare with: a horizontal line across a chart.
#[derive(Clone, Debug)]
pub struct Level {
    /// What the legend calls it; with an empty label it has no entry there.
    pub label: String,
    /// Its height.
    pub y: f64,
    /// How the line is drawn.
    pub stroke: Stroke,
}

/// Several lines over one axis.
///
/// The series and then the levels take the colours of a palette in order; after eight they repeat.
#[derive(Clone, Debug)]
pub struct ChartFigure {
    /// Heading of the figure.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// The lines, the last on top.
    pub series: Vec<Series>,
    /// Heights to compare them with, drawn under the lines.
    pub levels: Vec<Level>,
    /// Event positions, drawn as a rug under the axis.
    pub events: Vec<f64>,
    /// Whether the y axis begins at zero even where everything lies far above it.
    pub from_zero: bool,
}

/// Maps side by side, with one colour scale for all of them.
#[derive(Clone, Debug)]
pub struct PanelsFigure {
    /// Heading of the figure.
    pub title: String,
    /// How many maps stand in a row.
    pub columns: usize,
    /// The maps, row by row from the top left. The colour bar takes its label from the first that has one.
    pub panels: Vec<MapFigure>,
}

/// Maps and below them curves, one below the other, each with its own axes and heading.
#[derive(Clone, Debug)]
pub struct StackFigure {
    /// Heading of the figure.
    pub title: String,
    /// The maps from the top.
    pub maps: Vec<MapFigure>,
    /// The curves below them.
    pub panels: Vec<CurveFigure>,
}

/// Why there is no PNG of a figure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The scale is zero, negative or no finite number.
    #[error("the picture scale must be a positive number, not {0}")]
    Scale(f64),
    /// The picture would have more pixels than can be held.
    #[error("a picture of {width:.0} by {height:.0} pixels is too large; take a smaller scale")]
    TooLarge {
        /// Pixels from left to right.
        width: f64,
        /// Pixels from top to bottom.
        height: f64,
    },
    /// The picture would have no pixels.
    #[error("the picture would have no pixels; take a larger scale")]
    Empty,
    /// The pixels could not be written as a PNG file.
    #[error("the picture cannot be written as PNG")]
    Encoding,
}

impl Figure {
    /// The figure, drawn in a style.
    pub fn picture(&self, style: &Style) -> Picture {
        let drawing = match self {
            Figure::Curve(curve) => curve::draw(curve, style),
            Figure::Map(map) => map::draw(map, style),
            Figure::Panels(panels) => panels::draw(panels, style),
            Figure::Stack(stack) => stack::draw(stack, style),
        };
        Picture { drawing }
    }

    /// The figure in the usual style as a stand-alone SVG document.
    pub fn svg(&self) -> String {
        self.picture(&Style::default()).svg()
    }

    /// The figure in the usual style as a PNG file, `scale` pixels for each unit of the SVG.
    ///
    /// # Errors
    /// As for [`Picture::png`].
    pub fn png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        self.picture(&Style::default()).png(scale)
    }

    /// The figure in the usual style as text of at most `width` columns and about `height` lines (for each of several maps).
    ///
    /// Without `colour` the text has no escape sequences, so it can go to a file or a pipe.
    pub fn terminal(&self, width: usize, height: usize, colour: bool) -> String {
        self.terminal_in(&Style::default(), width, height, colour)
    }

    /// The same in a style.
    pub fn terminal_in(&self, style: &Style, width: usize, height: usize, colour: bool) -> String {
        match self {
            Figure::Curve(curve) => terminal::curve(curve, style, width, height, colour),
            Figure::Map(map) => terminal::map(map, style, width, height, colour),
            Figure::Panels(panels) => terminal::panels(panels, style, width, height, colour),
            Figure::Stack(stack) => terminal::stack(stack, style, width, height, colour),
        }
    }
}

impl ChartFigure {
    /// The chart as a stand-alone SVG document.
    pub fn svg(&self) -> String {
        svg::write(&chart::draw(self))
    }

    /// The chart as a PNG file, `scale` pixels for each unit of the SVG.
    ///
    /// # Errors
    /// As for [`Picture::png`].
    pub fn png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        png::encode(&chart::draw(self), scale)
    }
}

impl PanelsFigure {
    /// The maps as one stand-alone SVG document.
    pub fn svg(&self) -> String {
        svg::write(&panels::draw(self, &Style::default()))
    }

    /// The maps as one PNG file, `scale` pixels for each unit of the SVG.
    ///
    /// # Errors
    /// As for [`Picture::png`].
    pub fn png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        png::encode(&panels::draw(self, &Style::default()), scale)
    }
}

#[cfg(test)]
pub(crate) mod samples {
    //! Figures the tests of this module share.
    use super::*;

    pub fn curve(x: Vec<f64>, mean: Vec<f64>, events: Vec<f64>) -> CurveFigure {
        let band = Band {
            lower: mean.iter().map(|m| m * 0.7).collect(),
            upper: mean.iter().map(|m| m * 1.4).collect(),
            label: "90 % credible band".into(),
        };
        CurveFigure {
            title: "Accidents & <incidents>".into(),
            x_label: "time (s)".into(),
            y_label: "events per second".into(),
            curves: vec![Curve { label: "mean".into(), x, y: mean, band: Some(band) }],
            marks: vec![],
            anomalies: vec![],
            events,
            trials: vec![],
            gaps: vec![],
            calendar: None,
            labels: vec![],
        }
    }

    pub fn map(nx: usize, ny: usize, value: impl Fn(usize, usize) -> f64) -> MapFigure {
        MapFigure {
            title: "A map".into(),
            x_label: "longitude (°)".into(),
            y_label: "latitude (°)".into(),
            value_label: "events per deg²".into(),
            x: (0..nx).map(|i| i as f64 + 0.5).collect(),
            y: (0..ny).map(|i| i as f64 + 0.5).collect(),
            x_range: (0.0, nx as f64),
            y_range: (0.0, ny as f64),
            values: (0..nx * ny).map(|k| value(k % nx.max(1), k / nx.max(1))).collect(),
            inside: vec![],
            border: vec![],
            events: vec![[0.5, 0.5], [f64::NAN, 1.0]],
            anomalies: vec![],
        }
    }

    pub fn series(label: &str, x: Vec<f64>, y: Vec<f64>) -> Series {
        Series { label: label.into(), x, y, error: vec![], band: None, stroke: Stroke::Solid, marks: false }
    }

    pub fn chart(series: Vec<Series>, levels: Vec<Level>) -> ChartFigure {
        ChartFigure {
            title: "Error & <effort>".into(),
            x_label: "number of events".into(),
            y_label: "root mean square error".into(),
            series,
            levels,
            events: vec![],
            from_zero: false,
        }
    }

    /// Whether a picture can be drawn and no coordinate of it is senseless.
    pub fn is_sound(drawing: &Drawing) -> bool {
        let svg = svg::write(drawing);
        // The encoded image may hold any letters.
        let readable: String = svg.lines().filter(|line| !line.starts_with("<image")).collect();
        let pdf = pdf::content(drawing);
        let is_number = |text: &str| !text.contains("NaN") && !text.contains("inf");
        is_number(&readable) && is_number(&pdf) && png::encode(drawing, 0.2).is_ok()
    }

    /// The usual style, and one of every other kind.
    pub fn styles() -> Vec<Style> {
        let print = |size| Style { palette: Palette::Grey, size, ..Style::default() };
        vec![
            Style::default(),
            Style { log: true, events: EventsShown::Thinned, ..print(Size::Wide(85.0)) },
            Style { limits: Some((0.5, 2.0)), events: EventsShown::Hidden, ..print(Size::Paper(40.0, 30.0)) },
            Style { limits: Some((0.0, 1e-250)), ..Style::default() },
            Style { limits: Some((1e-3, 2.0)), log: true, events: EventsShown::All, ..print(Size::Wide(1.0)) },
        ]
    }

    /// Awkward numbers of every kind.
    pub fn odd_numbers() -> Vec<Vec<f64>> {
        vec![
            vec![],
            vec![3.0],
            vec![f64::NAN; 4],
            vec![f64::INFINITY, f64::NEG_INFINITY, 1.0, f64::NAN],
            vec![7.0; 5],
            vec![0.0; 5],
            vec![-1e308, 1e308],
            vec![5e-324, 1e-323],
            vec![-3.0, -2.0, -1.0],
        ]
    }

    /// Every kind of awkward data a figure may be handed.
    pub fn odd_figures() -> Vec<Figure> {
        let odd = odd_numbers();
        let mut figures = Vec::new();
        for x in &odd {
            for mean in &odd {
                let mut figure = curve(x.clone(), mean.clone(), mean.clone());
                figures.push(Figure::Curve(figure.clone()));
                figure.calendar = Some(Calendar { origin_unix_days: 1e4, unit_days: 365.25 });
                figures.push(Figure::Curve(figure.clone()));
                figure.trials = (0..mean.len()).collect();
                figure.gaps = x.windows(2).map(|pair| (pair[0], pair[1])).collect();
                figure.curves.push(Curve { label: "<b>".into(), x: mean.clone(), y: x.clone(), band: None });
                figure.marks = x.iter().map(|&x| Mark { x, label: "a mark".into() }).collect();
                figures.push(Figure::Curve(figure));
            }
            let mut figure = map(x.len(), 2, |i, _| x[i]);
            figures.push(Figure::Map(figure.clone()));
            figure.border = vec![x.iter().map(|&x| [x, 1.0]).collect(), vec![]];
            figure.inside = vec![true; x.len()];
            figures.push(Figure::Map(figure.clone()));
            figure.values.truncate(1);
            figure.x_range = (f64::NAN, f64::INFINITY);
            figure.y_range = (2.0, 2.0);
            figures.push(Figure::Map(figure.clone()));
            figure.x = x.clone();
            figures.push(Figure::Map(figure.clone()));
            let panels = vec![figure; x.len().min(3)];
            figures.push(Figure::Panels(PanelsFigure { title: "Maps".into(), columns: 2, panels }));
        }
        figures
    }
}
