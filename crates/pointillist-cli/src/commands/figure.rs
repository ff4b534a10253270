//! From a posterior to the numbers of a figure.

use super::Failure;
use super::summary::rate_unit;
use crate::io::{self, KeptEvents, ModelFile};
use pointillist::window::Piece;
use pointillist::{Axis, Points, Posterior, Window};
use pointillist_plot::{Band, Calendar, CurveFigure, Figure, MapFigure};

/// Positions along a curve.
const CURVE_POINTS: usize = 601;
/// More than that nobody can see.
const MOST_CURVE_POINTS: usize = 4000;
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

fn curve(
    posterior: &Posterior,
    events: Option<&KeptEvents>,
    band: (f64, f64),
    title: String,
) -> Result<Figure, Failure> {
    let window = posterior.window();
    let (axis, stretches) = (&window.axes()[0], stretches(window));
    // Fine enough for the shortest wave that the inducing points or the lattice can carry.
    let unknowns = posterior.inducing().map_or_else(|| posterior.lattice().map_or(0, |l| l.nodes[0]), |z| z.len());
    let places = along(&stretches, CURVE_POINTS.max(8 * unknowns).min(MOST_CURVE_POINTS));
    let points = Points::line(&places.concat())?;
    let (rate, mut quantiles) = posterior.rate_and_quantiles(&points, &[band.0, band.1])?;
    let upper = quantiles.pop().unwrap_or_default();
    let lower = quantiles.pop().unwrap_or_default();
    [&rate.mean, &lower, &upper].into_iter().try_for_each(|values| refuse_non_numbers(values))?;
    let percent = 100.0 * (band.1 - band.0);
    let calendar = io::time_axis(axis).map(|time| Calendar {
        origin_unix_days: time.origin_unix_seconds / 86_400.0,
        unit_days: time.unit.seconds() / 86_400.0,
    });
    let interrupted = |values: &[f64]| interrupted(values, &places);
    let label = format!("{} % credible band", (10.0 * percent).round() / 10.0);
    Ok(Figure::Curve(CurveFigure {
        title,
        x_label: if calendar.is_some() { "date (UTC)".into() } else { self::label(axis) },
        y_label: rate_unit(window),
        x: with_gaps(&stretches, &places),
        mean: interrupted(&rate.mean),
        band: Some(Band { lower: interrupted(&lower), upper: interrupted(&upper), label }),
        events: events.map(|events| events.points.coordinates().to_vec()).unwrap_or_default(),
        trials: events.and_then(|events| events.trials.clone()).unwrap_or_default(),
        gaps: stretches.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect(),
        calendar,
    }))
}

/// A rate that is infinite or none cannot be drawn.
fn refuse_non_numbers(rates: &[f64]) -> Result<(), Failure> {
    match rates.iter().all(|rate| rate.is_finite()) {
        true => Ok(()),
        false => Err(io::OutputError::NotFinite { name: "rate".into() }.into()),
    }
}

/// The parts of a line that the window covers, rising; parts that touch are one.
fn stretches(window: &Window) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> =
        window.pieces().iter().map(|piece| (piece.spans[0].lo, piece.spans[0].hi)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    for (lo, hi) in spans {
        match stretches.last_mut() {
            Some(last) if lo <= last.1 => last.1 = last.1.max(hi),
            _ => stretches.push((lo, hi)),
        }
    }
    stretches
}

/// About `count` places along the stretches, by their lengths, both ends of each among them.
fn along(stretches: &[(f64, f64)], count: usize) -> Vec<Vec<f64>> {
    let total: f64 = stretches.iter().map(|(lo, hi)| hi - lo).sum();
    let places = |&(lo, hi): &(f64, f64)| {
        let count = ((count as f64 * (hi - lo) / total).round() as usize).max(2);
        Points::grid(&[lo], &[hi], &[count]).coordinates().to_vec()
    };
    stretches.iter().map(places).collect()
}

/// The places, and one in the middle of each gap.
fn with_gaps(stretches: &[(f64, f64)], places: &[Vec<f64>]) -> Vec<f64> {
    let middle = |i: usize| 0.5 * (stretches[i].1 + stretches[i + 1].0);
    let gaps = (0..places.len()).map(|i| (i + 1 < places.len()).then(|| middle(i)));
    places.iter().zip(gaps).flat_map(|(places, gap)| places.iter().copied().chain(gap)).collect()
}

/// Values at all places, and none in the gaps.
fn interrupted(values: &[f64], places: &[Vec<f64>]) -> Vec<f64> {
    let mut rest = values;
    let mut all = Vec::with_capacity(values.len() + places.len());
    for places in places {
        let (here, others) = rest.split_at(places.len());
        all.extend_from_slice(here);
        if !others.is_empty() {
            all.push(f64::NAN);
        }
        rest = others;
    }
    all
}

/// A map of the rate.
pub fn map(posterior: &Posterior, events: Option<&KeptEvents>, title: String) -> Result<Figure, Failure> {
    let window = posterior.window();
    let (spans, axes) = (window.bounding_box(), window.axes());
    let centres = |r: usize| -> Vec<f64> {
        (0..MAP_CELLS).map(|i| spans[r].lo + spans[r].length() * (i as f64 + 0.5) / MAP_CELLS as f64).collect()
    };
    let (x, y) = (centres(0), centres(1));
    let points = Points::new(2, y.iter().flat_map(|&y| x.iter().flat_map(move |&x| [x, y])).collect())?;
    let values = in_blocks(&points, |block| Ok(posterior.rate(block)?.mean))?;
    refuse_non_numbers(&values)?;
    Ok(Figure::Map(MapFigure {
        title,
        x_label: label(&axes[0]),
        y_label: label(&axes[1]),
        value_label: rate_unit(window),
        x,
        y,
        x_range: (spans[0].lo, spans[0].hi),
        y_range: (spans[1].lo, spans[1].hi),
        values,
        inside: points.rows().map(|point| window.contains(point)).collect(),
        border: border(window),
        events: events.map(|events| events.points.rows().map(|row| [row[0], row[1]]).collect()).unwrap_or_default(),
    }))
}

/// The closed lines around a window of the plane; none for a plain box, which the frame shows.
fn border(window: &Window) -> Vec<Vec<[f64; 2]>> {
    let pieces = window.pieces();
    if let [only] = pieces
        && only.outline.is_none()
    {
        return Vec::new();
    }
    let rings = |piece: &Piece| match &piece.outline {
        Some(outline) => outline.rings().concat(),
        None => {
            let (x, y) = (piece.spans[0], piece.spans[1]);
            vec![vec![[x.lo, y.lo], [x.hi, y.lo], [x.hi, y.hi], [x.lo, y.hi]]]
        }
    };
    pieces.iter().flat_map(rings).collect()
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
pub fn label(axis: &Axis) -> String {
    if let Some(label) = io::geography::label(axis) {
        return label;
    }
    let Axis { name, unit, .. } = axis;
    let since = io::time_axis(axis).map(|time| format!(" since {}", time.to_iso(0.0).trim_end_matches("T00:00:00Z")));
    match unit {
        Some(unit) if unit.trim_end_matches('s') != name => format!("{name} ({unit}{})", since.unwrap_or_default()),
        _ => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_stop_at_gaps() {
        let part = |lo, hi| Window::interval(lo, hi).unwrap();
        let window = Window::union(&[part(6.0, 10.0), part(0.0, 1.0), part(1.0, 2.0)]).unwrap();
        let stretches = stretches(&window);
        assert_eq!(stretches, [(0.0, 2.0), (6.0, 10.0)]);
        let places = along(&stretches, 9);
        assert_eq!(places, [vec![0.0, 1.0, 2.0], vec![6.0, 6.8, 7.6, 8.4, 9.2, 10.0]]);
        assert_eq!(with_gaps(&stretches, &places)[2..5], [2.0, 4.0, 6.0]);
        let values = interrupted(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &places);
        assert!(values[2] == 3.0 && values[3].is_nan() && values[4] == 4.0 && values.len() == 10);
        let whole = along(&[(0.0, 1.0)], 3);
        assert_eq!(interrupted(&[1.0, 2.0, 3.0], &whole), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_plain_box_has_no_border() {
        let part = |lo: f64| Window::new(&[(lo, lo + 1.0), (0.0, 1.0)]).unwrap();
        assert!(border(&part(0.0)).is_empty());
        let two = border(&Window::union(&[part(0.0), part(5.0)]).unwrap());
        assert_eq!((two.len(), two[1][2]), (2, [6.0, 1.0]));
    }
}
