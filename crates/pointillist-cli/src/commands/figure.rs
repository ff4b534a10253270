//! From a posterior to the numbers of a figure.

use super::Failure;
use super::summary::rate_unit;
use crate::io::{self, ModelFile};
use crate::plot::{Band, Calendar, CurveFigure, Figure, MapFigure};
use pointillist::{Axis, Points, Posterior};

/// Positions along a curve.
const CURVE_POINTS: usize = 601;
/// Cells along each side of a map.
const MAP_CELLS: usize = 100;
/// Points predicted at a time: bounds the memory, which grows with points times inducing points.
pub const BLOCK: usize = 4096;

/// What to show beside the mean.
pub struct Look {
    /// Lower and upper quantile of the band.
    pub band: (f64, f64),
    /// The heading.
    pub title: Option<String>,
}

impl Default for Look {
    fn default() -> Self {
        Self { band: (0.05, 0.95), title: None }
    }
}

/// The figure of a model with the events it keeps.
pub fn of_model(model: &ModelFile, look: &Look) -> Result<Figure, Failure> {
    let title = look.title.clone().unwrap_or_else(|| format!("Intensity of {}", model.source));
    let events = model.events.as_ref();
    match model.posterior.window().dims() {
        1 => curve(&model.posterior, events, look.band, title),
        2 => map(&model.posterior, events, title),
        dims => {
            Err(format!("a figure shows one or two axes, and this model has {dims}; use predict --at or --grid").into())
        }
    }
}

fn curve(posterior: &Posterior, events: Option<&Points>, band: (f64, f64), title: String) -> Result<Figure, Failure> {
    let axis = &posterior.window().axes()[0];
    // Fine enough for the shortest wave that the inducing points can carry.
    let points = posterior.window().grid(&[CURVE_POINTS.max(4 * posterior.inducing().len())]);
    let rate = posterior.rate(&points)?;
    let mut quantiles = posterior.quantiles(&points, &[band.0, band.1])?;
    let upper = quantiles.pop().unwrap_or_default();
    let lower = quantiles.pop().unwrap_or_default();
    let percent = 100.0 * (band.1 - band.0);
    let calendar = io::time_axis(axis).map(|time| Calendar {
        origin_unix_days: time.origin_unix_seconds / 86_400.0,
        unit_days: time.unit.seconds() / 86_400.0,
    });
    Ok(Figure::Curve(CurveFigure {
        title,
        x_label: if calendar.is_some() { "date (UTC)".into() } else { label(axis) },
        y_label: rate_unit(std::slice::from_ref(axis)),
        x: points.coordinates().to_vec(),
        mean: rate.mean,
        band: Some(Band { lower, upper, label: format!("{} % credible band", (10.0 * percent).round() / 10.0) }),
        events: events.map(|events| events.coordinates().to_vec()).unwrap_or_default(),
        calendar,
    }))
}

fn map(posterior: &Posterior, events: Option<&Points>, title: String) -> Result<Figure, Failure> {
    let window = posterior.window();
    let (spans, axes) = (window.bounding_box(), window.axes());
    let centres = |r: usize| -> Vec<f64> {
        (0..MAP_CELLS).map(|i| spans[r].lo + spans[r].length() * (i as f64 + 0.5) / MAP_CELLS as f64).collect()
    };
    let (x, y) = (centres(0), centres(1));
    let points = Points::new(2, y.iter().flat_map(|&y| x.iter().flat_map(move |&x| [x, y])).collect())?;
    let values = in_blocks(&points, |block| Ok(posterior.rate(block)?.mean))?;
    Ok(Figure::Map(MapFigure {
        title,
        x_label: label(&axes[0]),
        y_label: label(&axes[1]),
        value_label: rate_unit(axes),
        x,
        y,
        x_range: (spans[0].lo, spans[0].hi),
        y_range: (spans[1].lo, spans[1].hi),
        values,
        events: events.map(|events| events.rows().map(|row| [row[0], row[1]]).collect()).unwrap_or_default(),
    }))
}

/// `work` on one block of points after another.
pub fn in_blocks(points: &Points, work: impl Fn(&Points) -> Result<Vec<f64>, Failure>) -> Result<Vec<f64>, Failure> {
    let mut all = Vec::with_capacity(points.len());
    for block in points.coordinates().chunks(BLOCK * points.dims()) {
        all.extend(work(&Points::new(points.dims(), block.to_vec())?)?);
    }
    Ok(all)
}

/// An axis with its unit, unless its name says it.
fn label(axis: &Axis) -> String {
    let Axis { name, unit, .. } = axis;
    let since = io::time_axis(axis).map(|time| format!(" since {}", time.to_iso(0.0).trim_end_matches("T00:00:00Z")));
    match unit {
        Some(unit) if unit.trim_end_matches('s') != name => format!("{name} ({unit}{})", since.unwrap_or_default()),
        _ => name.clone(),
    }
}
