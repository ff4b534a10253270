//! The numbers of a page: the rate along a line, or on the cells of a map, with its uncertainty; events; rescaled times.

use super::{Settings, looked_at, pack};
use pointillist::watch::PartWatch;
use pointillist::window::Span;
use pointillist::{Axis, Error, Points, Posterior, Rate, Result, Window};
use pointillist_io::fit_summary::rate_unit;
use pointillist_io::geography::outward;
use pointillist_io::sampling::{LineSampling, along, shortest_period, too_far_apart};
use pointillist_io::{KeptEvents, ModelFile, time_axis};
use serde_json::{Map, Value, json};

/// Slices of time of a map over time, where what repeats itself asks for more the most of them and how many of them show it, and cells in all.
const SLICES: usize = 16;
const MOST_SLICES: usize = 48;
const SLICES_PER_PERIOD: f64 = 8.0;
const CELLS_IN_TIME: f64 = 50_000.0;
/// Thresholds that a reader can choose from, and how far down they go.
const THRESHOLDS: usize = 15;
const LOWEST_THRESHOLD: f64 = 1e-4;
/// Steps of a probability in the page.
const SHARES: f64 = 200.0;
/// How long the layers take, beside the bins and pairs.
const LAYERS: f64 = 0.4;
/// Most events that a page shows.
const MOST_EVENTS: usize = 5000;

/// All of them.
pub fn of(model: &ModelFile, settings: &Settings, watch: &PartWatch<'_>) -> Result<Value> {
    let window = model.posterior.window();
    let mut data = Map::new();
    let unit = settings.ratio.clone().unwrap_or_else(|| rate_unit(window));
    data.insert("rate_unit".into(), unit.into());
    data.insert("quantity".into(), if settings.ratio.is_some() { "ratio" } else { "rate" }.into());
    let spans = window.bounding_box();
    data.insert("axes".into(), window.axes().iter().zip(&spans).map(|(one, span)| axis(one, span)).collect());
    let first = |done: f64| watch(LAYERS * done);
    match window.dims() {
        1 => line(model, settings, &mut data, &first)?,
        2 | 3 => map(model, settings, &mut data, &first)?,
        _ => {
            data.insert("kind".into(), "none".into());
        }
    }
    if let Some(events) = &model.events {
        let rest = |done: f64| watch(LAYERS + (1.0 - LAYERS) * done);
        looked_at::add(&model.posterior, &events.points, &mut data, &rest)?;
    }
    Ok(data.into())
}

/// Places at which degrees are told along an axis of the globe; between them they are as good as straight.
const DEGREES: usize = 129;

fn axis(axis: &Axis, span: &Span) -> Value {
    let time = time_axis(axis).map(|time| json!({ "origin": time.origin_unix_seconds, "unit": time.unit.seconds() }));
    let even = |i: usize| span.lo + span.length() * i as f64 / (DEGREES - 1) as f64;
    let degrees = || json!({ "lo": span.lo, "hi": span.hi, "values": (0..DEGREES).map(|i| outward(axis, even(i))).collect::<Vec<f64>>() });
    let globe = axis.globe.map(|_| degrees());
    let label = match (&time, &axis.unit) {
        _ if globe.is_some() => format!("{} (degrees)", axis.name),
        (Some(_), _) => format!("date ({})", axis.zone.as_deref().unwrap_or("UTC")),
        (None, Some(unit)) if unit.trim_end_matches('s') != axis.name => format!("{} ({unit})", axis.name),
        _ => axis.name.clone(),
    };
    let unit = if globe.is_some() { Some("degrees") } else { axis.unit.as_deref() };
    json!({ "name": axis.name, "unit": unit, "label": label, "time": time, "degrees": globe })
}

/// Mean, standard deviation and quantiles by name.
fn rates(
    posterior: &Posterior,
    points: &Points,
    quantiles: &[(&str, f64)],
    watch: &PartWatch<'_>,
) -> Result<Vec<(String, Vec<f64>)>> {
    let probabilities: Vec<f64> = quantiles.iter().map(|(_, probability)| *probability).collect();
    let (Rate { mean, sd }, values) = posterior.rate_and_quantiles_watched(points, &probabilities, watch)?;
    // A page has numbers of single precision.
    if let Some(bad) = mean.iter().chain(values.iter().flatten()).find(|rate| !(**rate as f32).is_finite()) {
        let requirement = "is too high to be shown: what is asked lies too far outside of what was seen; hold covariates at values nearer to those of the window";
        return Err(Error::setting("rate", format!("{bad:.0e}"), requirement));
    }
    let named = quantiles.iter().map(|(name, _)| name.to_string()).zip(values);
    Ok([("mean".to_string(), mean), ("sd".to_string(), sd)].into_iter().chain(named).collect())
}

fn packed(layers: &[(String, Vec<f64>)]) -> Value {
    layers.iter().map(|(name, values)| (name.clone(), Value::from(pack::floats(values)))).collect::<Map<_, _>>().into()
}

// ---- A line

fn line(model: &ModelFile, settings: &Settings, data: &mut Map<String, Value>, watch: &PartWatch<'_>) -> Result<()> {
    let posterior = &model.posterior;
    let stretches = posterior.window().stretches();
    let places = along(&stretches, LineSampling::of(posterior).points);
    let quantiles = [("q05", 0.05), ("q25", 0.25), ("q75", 0.75), ("q95", 0.95)];
    let layers = rates(posterior, &Points::line(&places.concat())?, &quantiles, watch)?;
    data.insert("kind".into(), "line".into());
    let told = stretches.iter().zip(&places).map(|(one, places)| json!([one.0, one.1, places.len()]));
    data.insert("stretches".into(), told.collect());
    data.insert("gaps".into(), stretches.windows(2).map(|pair| json!([pair[0].1, pair[1].0])).collect());
    data.insert("layers".into(), packed(&layers));
    let ends = (stretches[0].0, stretches[stretches.len() - 1].1);
    if let Some(events) = shown_events(model, settings, data) {
        let mut shown = json!({ "at": pack::between(&events.points.axis(0), ends.0, ends.1) });
        if let Some(trials) = &events.trials {
            shown["trials"] = pack::whole(trials).into();
        }
        data.insert("events".into(), shown);
    }
    if let Some(events) = &model.events
        && let Some(residuals) = posterior.residuals(&events.points)?
    {
        let (expected, seen): (Vec<f64>, Vec<f64>) = residuals.rescaled().into_iter().unzip();
        let (_, band) = residuals.distance_and_band();
        let rescaled = json!({ "expected": pack::floats(&expected), "seen": pack::floats(&seen), "band": band });
        data.insert("rescaled".into(), rescaled);
    }
    Ok(())
}

/// The events to show, and a word where these are not all.
fn shown_events(model: &ModelFile, settings: &Settings, data: &mut Map<String, Value>) -> Option<KeptEvents> {
    if settings.ratio.is_some() {
        return None;
    }
    let Some(events) = &model.events else {
        data.insert("events_note".into(), "There are too many events to show them.".into());
        return None;
    };
    let count = events.points.len();
    if count <= MOST_EVENTS {
        return Some(events.clone());
    }
    let every = count.div_ceil(MOST_EVENTS);
    let note = format!("One in {every} of the {count} events is shown.");
    data.insert("events_note".into(), note.into());
    let kept = |n: &usize| n.is_multiple_of(every);
    let rows: Vec<f64> = (0..count).filter(kept).flat_map(|n| events.points.row(n).to_vec()).collect();
    let trials = events.trials.as_ref().map(|trials| (0..count).filter(kept).map(|n| trials[n]).collect());
    Points::new(events.points.dims(), rows).ok().map(|points| KeptEvents { points, trials })
}

// ---- A map, perhaps over time

fn map(model: &ModelFile, settings: &Settings, data: &mut Map<String, Value>, watch: &PartWatch<'_>) -> Result<()> {
    let (posterior, window) = (&model.posterior, model.posterior.window());
    let spans = window.bounding_box();
    let stretch = stretch(window);
    let aspect = spans[1].length() * stretch / spans[0].length();
    let times = times(posterior, settings);
    let cells = cells(settings.cells, aspect, times.as_ref().map(Vec::len));
    // Centres of cells: x fastest, then y, then time.
    let centre = |r: usize, i: usize| match &times {
        Some(times) if r == 2 => times[i],
        _ => spans[r].lo + spans[r].length() * (i as f64 + 0.5) / cells[r] as f64,
    };
    let total: usize = cells.iter().product();
    let place = |mut cell: usize| {
        let mut row = Vec::with_capacity(cells.len());
        for (r, count) in cells.iter().enumerate() {
            row.push(centre(r, cell % count));
            cell /= count;
        }
        row
    };
    let rows: Vec<Vec<f64>> = (0..total).map(place).collect();
    let inside: Vec<usize> = (0..total).filter(|cell| window.contains(&rows[*cell])).collect();
    let points = Points::new(cells.len(), inside.iter().flat_map(|cell| rows[*cell].clone()).collect())?;
    let quantiles = [("q05", 0.05), ("q50", 0.5), ("q95", 0.95)];
    let half = |done: f64| watch(0.5 * done);
    let layers = rates(posterior, &points, &quantiles, &half)?;
    let spread = |values: &[f64]| {
        let mut all = vec![f64::NAN; total];
        inside.iter().zip(values).for_each(|(cell, value)| all[*cell] = *value);
        all
    };
    let thresholds = thresholds(&layers);
    let mut shares = vec![0u8; thresholds.len() * total];
    let rest = |done: f64| watch(0.5 + 0.5 * done);
    for (k, higher) in posterior.exceedances_watched(&points, &thresholds, &rest)?.into_iter().enumerate() {
        inside.iter().zip(higher).for_each(|(cell, p)| shares[k * total + cell] = (SHARES * p).round() as u8);
    }
    let layers: Vec<_> = layers.into_iter().map(|(name, values)| (name, spread(&values))).collect();
    data.insert("kind".into(), "map".into());
    data.insert("cells".into(), cells.clone().into());
    data.insert("times".into(), times.clone().into());
    data.insert("box".into(), spans.iter().map(|span| json!([span.lo, span.hi])).collect());
    data.insert("aspect".into(), aspect.clamp(0.3, 1.5).into());
    data.insert("stretch".into(), stretch.into());
    data.insert("border".into(), json!(window.rings()));
    data.insert("layers".into(), packed(&layers));
    data.insert("exceed".into(), json!({ "thresholds": thresholds, "shares": pack::bytes(&shares) }));
    if let Some(events) = shown_events(model, settings, data) {
        let along = |r: usize| pack::between(&events.points.axis(r), spans[r].lo, spans[r].hi);
        let at: Vec<String> = (0..cells.len()).map(along).collect();
        data.insert("events".into(), json!({ "at": at }));
    }
    Ok(())
}

/// Where the third axis is cut, if there is one: as it was asked for, else in the middle of even parts.
fn times(posterior: &Posterior, settings: &Settings) -> Option<Vec<f64>> {
    let (count, span) = (slices(posterior)?, posterior.window().bounding_box()[2]);
    let even = || (0..count).map(|i| span.lo + span.length() * (i as f64 + 0.5) / count as f64).collect();
    Some(settings.times.clone().unwrap_or_else(even))
}

/// How many slices the third axis has, if there is one and nobody says: so many that a cycle is seen as one.
fn slices(posterior: &Posterior) -> Option<usize> {
    let span = *posterior.window().bounding_box().get(2)?;
    let needed =
        shortest_period(posterior, 2).map_or(0.0, |period| (SLICES_PER_PERIOD * span.length() / period).ceil());
    Some(SLICES.max(needed.min(MOST_SLICES as f64) as usize))
}

/// What to know of a page because its model repeats itself more often than the page can show.
pub fn warning(posterior: &Posterior, settings: &Settings) -> Option<String> {
    match times(posterior, settings) {
        Some(times) => {
            let steps = times.windows(2).map(|pair| pair[1] - pair[0]);
            too_far_apart(posterior, 2, steps.reduce(f64::max)?)
        }
        None => LineSampling::warning(posterior),
    }
}

/// Cells on each axis, about as wide as high.
fn cells(wanted: usize, aspect: f64, slices: Option<usize>) -> Vec<usize> {
    let in_plane = match slices {
        None => (wanted * wanted) as f64,
        Some(slices) => ((wanted * wanted) as f64).min(CELLS_IN_TIME / slices as f64),
    };
    let wide = (in_plane / aspect).sqrt().clamp(4.0, in_plane / 4.0);
    let mut cells = vec![wide.round() as usize, ((in_plane / wide).round() as usize).max(4)];
    cells.extend(slices);
    cells
}

/// How long a unit of y is drawn beside one of x: the same where they are the same; else so that the box is a square.
fn stretch(window: &Window) -> f64 {
    let (axes, spans) = (window.axes(), window.bounding_box());
    let is_one = axes[0].unit == axes[1].unit && time_axis(&axes[0]).is_none() && time_axis(&axes[1]).is_none();
    let ratio = spans[1].length() / spans[0].length();
    // A strip could not be seen.
    if is_one && (0.1..10.0).contains(&ratio) { 1.0 } else { 1.0 / ratio }
}

/// Round rates between the lowest and the highest that a reader may ask about.
fn thresholds(layers: &[(String, Vec<f64>)]) -> Vec<f64> {
    let of = |name: &str| layers.iter().find(|(own, _)| own == name).map_or(&[][..], |(_, values)| values);
    let highest = of("q95").iter().copied().fold(0.0, f64::max);
    let lowest = of("q05").iter().copied().fold(f64::INFINITY, f64::min).max(LOWEST_THRESHOLD * highest);
    if !(highest > lowest && lowest > 0.0) {
        return vec![];
    }
    let step = (highest / lowest).ln() / (THRESHOLDS + 1) as f64;
    let mut all: Vec<f64> = (1..=THRESHOLDS).map(|k| rounded(lowest * (k as f64 * step).exp())).collect();
    all.dedup();
    all
}

/// To two digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_about_square() {
        assert_eq!(cells(200, 1.0, None), [200, 200]);
        assert_eq!(cells(100, 4.0, None), [50, 200]);
        for slices in [SLICES, MOST_SLICES] {
            let in_time = cells(200, 1.0, Some(slices));
            assert!(in_time.iter().product::<usize>() <= 51_000 && in_time[2] == slices, "{in_time:?}");
        }
    }

    #[test]
    fn thresholds_rise_and_are_round() {
        let layers = [("q05".to_string(), vec![0.0, 0.3]), ("q95".to_string(), vec![2.0, 30.0])];
        let found = thresholds(&layers);
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]) && found.len() > 10, "{found:?}");
        assert!(found[0] > 0.003 && found[found.len() - 1] < 30.0, "{found:?}");
        assert!(found.iter().all(|v| rounded(*v) == *v));
        assert!(thresholds(&[]).is_empty());
    }
}
