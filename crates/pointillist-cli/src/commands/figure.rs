//! From a posterior to the numbers of a figure.

use super::Failure;
use super::meter::shown;
use super::quantity::Quantity;
use super::summary::rate_unit;
use crate::io::sampling::{LineSampling, along, step, too_far_apart};
use crate::io::{self, KeptEvents, ModelFile, TimeAxis};
use pointillist::measurements::MeasuredPosterior;
use pointillist::report::Bin;
use pointillist::watch::PartWatch;
use pointillist::window::{Piece, Span};
use pointillist::{Axis, Error, Points, Posterior, Window};
use pointillist_plot::{Anomaly, Band, Calendar, Curve, CurveFigure, Figure, MapFigure, Mark, PanelsFigure};
use std::ops::ControlFlow;

/// Cells along each side of a map, and of one among several.
const MAP_CELLS: usize = 100;
const PANEL_CELLS: usize = 60;
/// Places of a curve that goes on beyond the window, at most.
const MOST_ON_A_LINE: f64 = 40_000.0;
/// What is said while a figure is made.
pub const DRAWING: &str = "the figure";
/// Points predicted at a time: bounds the memory, which grows with points times inducing points.
pub const BLOCK: usize = 4096;

/// What to show, and in which words.
pub struct Look {
    /// What of the rate.
    pub show: Quantity,
    /// Lower and upper quantile of the band.
    pub band: (f64, f64),
    /// The heading.
    pub title: Option<String>,
    /// The label of the x axis.
    pub x_label: Option<String>,
    /// The label of the y axis.
    pub y_label: Option<String>,
    /// Places of a line to point at.
    pub marks: Vec<Mark>,
    /// Parts whose counts are outside of their bands.
    pub anomalies: Vec<Bin>,
    /// Where the last of three axes is cut; without this a figure shows at most two.
    pub times: Option<Times>,
    /// How many maps stand in a row.
    pub columns: usize,
    /// What is shown, where it is no rate of the model's unit.
    pub unit: Option<String>,
    /// What was measured, if that is shown in place of a rate.
    pub values: Option<MeasuredPosterior>,
    /// How far a curve goes on beyond the window, if it does.
    pub until: Option<f64>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            show: Quantity::Mean,
            band: (0.05, 0.95),
            title: None,
            x_label: None,
            y_label: None,
            marks: Vec::new(),
            anomalies: Vec::new(),
            times: None,
            columns: 3,
            unit: None,
            values: None,
            until: None,
        }
    }
}

impl Look {
    /// What the numbers are.
    fn label(&self, window: &Window) -> String {
        match &self.values {
            Some(values) => self.show.label_of_values(values.name()),
            None => self.show.label(&self.unit.clone().unwrap_or_else(|| rate_unit(window))),
        }
    }

    /// The heading, of which the file is a part.
    fn heading(&self, source: &str) -> String {
        let what = self.values.as_ref().map_or("Intensity", |values| values.name());
        self.title.clone().unwrap_or_else(|| format!("{what} of {source}"))
    }

    /// The numbers at points.
    fn numbers(&self, posterior: &Posterior, points: &Points, watch: &PartWatch<'_>) -> Result<Vec<f64>, Failure> {
        match &self.values {
            Some(values) => self.show.measured(values, points, watch),
            None => self.show.values(posterior, points, watch),
        }
    }

    /// Means and quantiles at points.
    fn mean_and_quantiles(
        &self,
        posterior: &Posterior,
        points: &Points,
        probabilities: &[f64],
        watch: &PartWatch<'_>,
    ) -> Result<(Vec<f64>, Vec<Vec<f64>>), Failure> {
        if let Some(values) = &self.values {
            let found = values.values_watched(points, probabilities, watch)?;
            return Ok((found.mean, found.quantiles));
        }
        let (rate, quantiles) = posterior.rate_and_quantiles_watched(points, probabilities, watch)?;
        Ok((rate.mean, quantiles))
    }
}

/// Where an axis is cut into maps.
#[derive(Clone, Debug)]
pub enum Times {
    /// In the middle of so many equal parts.
    Even(usize),
    /// At these places.
    At(Vec<f64>),
}

impl Default for Times {
    fn default() -> Self {
        Self::Even(6)
    }
}

impl Times {
    /// How many maps there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Even(count) => *count,
            Self::At(places) => places.len(),
        }
    }

    /// The places on an axis from `lo` to `hi`.
    pub fn places(&self, lo: f64, hi: f64) -> Vec<f64> {
        match self {
            Self::Even(count) => (0..*count).map(|i| lo + (hi - lo) * (i as f64 + 0.5) / *count as f64).collect(),
            Self::At(places) => places.clone(),
        }
    }
}

/// The figure of a model with the events it keeps.
pub fn of_model(model: &ModelFile, look: &Look) -> Result<Figure, Failure> {
    shown(DRAWING, |watch| of_model_watched(model, look, watch))
}

fn of_model_watched(model: &ModelFile, look: &Look, watch: &PartWatch<'_>) -> Result<Figure, Failure> {
    let events = model.events.as_ref();
    let title = look.heading(&model.source);
    match (model.posterior.window().dims(), &look.times) {
        (1, _) => Ok(Figure::Curve(curves(model, &[], look, watch)?)),
        (2, _) => Ok(Figure::Map(plane(&model.posterior, None, MAP_CELLS, look, (title, events), watch)?)),
        (3, Some(times)) => panels(&model.posterior, events, times, look, title, watch),
        (dims, _) => {
            Err(format!("a figure shows up to three axes, and this model has {dims}; use predict --at or --grid")
                .into())
        }
    }
}

/// The curve of a model on a line, and over it those of others with their names.
pub fn overlaid(model: &ModelFile, others: &[(String, ModelFile)], look: &Look) -> Result<CurveFigure, Failure> {
    shown(DRAWING, |watch| curves(model, others, look, watch))
}

fn curves(
    model: &ModelFile,
    others: &[(String, ModelFile)],
    look: &Look,
    watch: &PartWatch<'_>,
) -> Result<CurveFigure, Failure> {
    let part = |number: usize| move |done: f64| watch((number as f64 + done) / (1 + others.len()) as f64);
    let posterior = &model.posterior;
    let (window, axis) = (posterior.window(), &posterior.window().axes()[0]);
    let time = io::time_axis(axis);
    let (x_label, calendar) = line_axis(axis);
    let stretches = window.stretches();
    let mut curves = vec![curve(posterior, look, &part(0))?];
    for (number, (name, other)) in others.iter().enumerate() {
        let mut over = curve(&other.posterior, look, &part(number + 1))?;
        let shift = shift_onto(time, io::time_axis(&other.posterior.window().axes()[0]));
        over.x.iter_mut().for_each(|x| *x += shift);
        over.label = name.clone();
        curves.push(over);
    }
    // What one of several models has not seen, another may have.
    let gaps = if others.is_empty() { &stretches[..] } else { &[] };
    let seen = gaps.windows(2).map(|pair| (pair[0].1, pair[1].0));
    // What lies beyond the window was not seen either.
    let beyond = look.until.zip(stretches.last()).map(|(until, last)| (last.1, until));
    let end = beyond.map(|(end, _)| Mark { x: end, label: "forecast".into() });
    let events = model.events.as_ref();
    Ok(CurveFigure {
        title: look.heading(&model.source),
        x_label: look.x_label.clone().unwrap_or(x_label),
        y_label: look.y_label.clone().unwrap_or_else(|| look.label(window)),
        curves,
        marks: look.marks.iter().cloned().chain(end).collect(),
        anomalies: anomalies(look, None),
        events: events.map(|events| events.points.coordinates().to_vec()).unwrap_or_default(),
        trials: events.and_then(|events| events.trials.clone()).unwrap_or_default(),
        gaps: seen.chain(beyond).collect(),
        calendar,
        labels: Vec::new(),
    })
}

/// The label of an axis under a curve, and the dates on it if it is time.
pub fn line_axis(axis: &Axis) -> (String, Option<Calendar>) {
    let calendar = io::time_axis(axis).map(|time| Calendar {
        origin_unix_days: time.origin_unix_seconds / 86_400.0,
        unit_days: time.unit.seconds() / 86_400.0,
    });
    (if calendar.is_some() { format!("date{}", clock(axis)) } else { label(axis) }, calendar)
}

/// Whose clock an axis of dates goes by, in parentheses.
pub fn clock(axis: &Axis) -> String {
    match (&axis.zone, axis.origin) {
        (Some(zone), _) => format!(" ({zone})"),
        (None, Some(_)) => " (UTC)".into(),
        (None, None) => String::new(),
    }
}

/// What the legend calls a band.
pub fn band_name((lower, upper): (f64, f64)) -> String {
    format!("{} % credible band", (1000.0 * (upper - lower)).round() / 10.0)
}

/// The ends of the axis on which a model and others are drawn.
pub fn ends(model: &ModelFile, others: &[(String, ModelFile)]) -> (f64, f64) {
    let span = |model: &ModelFile| model.posterior.window().bounding_box()[0];
    let time = |model: &ModelFile| io::time_axis(&model.posterior.window().axes()[0]);
    others.iter().fold((span(model).lo, span(model).hi), |(lo, hi), (_, other)| {
        let shift = shift_onto(time(model), time(other));
        (lo.min(span(other).lo + shift), hi.max(span(other).hi + shift))
    })
}

/// Why the curve of another model cannot stand over that of this one, if it cannot.
pub fn mismatch(window: &Window, other: &Window) -> Option<String> {
    let axes = |window: &Window| window.axes().iter().map(label).collect::<Vec<_>>().join(", ");
    let is_same = |a: &Axis, b: &Axis| {
        a.name == b.name && a.unit == b.unit && io::time_axis(a).is_some() == io::time_axis(b).is_some()
    };
    if other.dims() != 1 || !is_same(&window.axes()[0], &other.axes()[0]) {
        return Some(format!("it is on {}, not on {}", axes(other), axes(window)));
    }
    if let Some(zones) = zones_apart(window, other) {
        return Some(zones);
    }
    let (unit, other_unit) = (rate_unit(window), rate_unit(other));
    (unit != other_unit).then(|| format!("its rate is in {other_unit}, not in {unit}"))
}

/// That two models go by the clocks of different time zones, if they do: the same place on their axes is then another time.
pub fn zones_apart(window: &Window, other: &Window) -> Option<String> {
    let zone = |window: &Window| {
        let time = window.axes().iter().find(|axis| io::time_axis(axis).is_some())?;
        Some(time.zone.clone().unwrap_or_else(|| "UTC".into()))
    };
    let (own, others) = (zone(window)?, zone(other)?);
    (own != others).then(|| format!("it goes by the clocks of {others}, not by those of {own}"))
}

/// What to add to places on an axis of dates to count them as the first axis does; both have the same unit.
fn shift_onto(axis: Option<TimeAxis>, other: Option<TimeAxis>) -> f64 {
    match (axis, other) {
        (Some(axis), Some(other)) => (other.origin_unix_seconds - axis.origin_unix_seconds) / axis.unit.seconds(),
        _ => 0.0,
    }
}

/// The curve of a posterior on a line.
fn curve(posterior: &Posterior, look: &Look, watch: &PartWatch<'_>) -> Result<Curve, Failure> {
    let stretches = reaching(posterior.window().stretches(), look.until);
    let length = |stretches: &[(f64, f64)]| stretches.iter().map(|(lo, hi)| hi - lo).sum::<f64>();
    let more = length(&stretches) / length(&posterior.window().stretches());
    let count = (LineSampling::of(posterior).points as f64 * more).min(MOST_ON_A_LINE) as usize;
    let places = along(&stretches, count);
    let points = Points::line(&places.concat())?;
    let [values, lower, upper] = values_and_band(posterior, &points, look, watch)?;
    [&values, &lower, &upper].into_iter().try_for_each(|values| refuse_non_numbers(values))?;
    let interrupted = |values: &[f64]| interrupted(values, &places);
    let band = Band { lower: interrupted(&lower), upper: interrupted(&upper), label: band_name(look.band) };
    Ok(Curve {
        label: look.show.name(),
        x: with_gaps(&stretches, &places),
        y: interrupted(&values),
        band: look.show.has_band().then_some(band),
    })
}

/// Stretches of which the last goes on until this place.
fn reaching(mut stretches: Vec<(f64, f64)>, until: Option<f64>) -> Vec<(f64, f64)> {
    if let (Some(last), Some(until)) = (stretches.last_mut(), until) {
        last.1 = until;
    }
    stretches
}

/// What is shown at points, and the ends of the band, in one pass where it can be one; without a band its ends are those of the curve.
fn values_and_band(
    posterior: &Posterior,
    points: &Points,
    look: &Look,
    watch: &PartWatch<'_>,
) -> Result<[Vec<f64>; 3], Failure> {
    if !look.show.has_band() {
        let values = look.numbers(posterior, points, watch)?;
        return Ok([values.clone(), values.clone(), values]);
    }
    let middle = if let Quantity::Quantile(p) = look.show { Some(p) } else { None };
    let probabilities: Vec<f64> = [look.band.0, look.band.1].into_iter().chain(middle).collect();
    let mut all = [vec![], vec![], vec![]];
    for (block, watch) in blocks(points, watch) {
        let (mean, quantiles) = look.mean_and_quantiles(posterior, &block?, &probabilities, &watch)?;
        let mut quantiles = quantiles.into_iter();
        let (lower, upper) = (quantiles.next().unwrap_or_default(), quantiles.next().unwrap_or_default());
        for (all, here) in all.iter_mut().zip([quantiles.next().unwrap_or(mean), lower, upper]) {
            all.extend(here);
        }
    }
    Ok(all)
}

/// How many points a line needs not to show waves that are not there; none with more axes.
pub fn points_needed(posterior: &Posterior) -> usize {
    if posterior.window().dims() == 1 { LineSampling::of(posterior).needed } else { 0 }
}

/// A warning if a figure cannot show what a model repeats as it is: a curve of too few points, or maps at times too far apart.
pub fn aliasing(posterior: &Posterior, times: Option<&Times>) -> Option<String> {
    match times {
        Some(Times::Even(count)) if posterior.window().dims() == 3 => {
            let said = too_far_apart(posterior, 2, step(posterior.window(), 2, *count))?;
            Some(format!(
                "{said}; choose times within one period with --at-times, or ask for more of them with --times"
            ))
        }
        _ => LineSampling::warning(posterior),
    }
}

/// A rate that is infinite or none cannot be drawn.
fn refuse_non_numbers(rates: &[f64]) -> Result<(), Failure> {
    match rates.iter().all(|rate| rate.is_finite()) {
        true => Ok(()),
        false => Err(io::OutputError::NotFinite { name: "rate".into() }.into()),
    }
}

/// The places, and one in the middle of each gap.
pub fn with_gaps(stretches: &[(f64, f64)], places: &[Vec<f64>]) -> Vec<f64> {
    let middle = |i: usize| 0.5 * (stretches[i].1 + stretches[i + 1].0);
    let gaps = (0..places.len()).map(|i| (i + 1 < places.len()).then(|| middle(i)));
    places.iter().zip(gaps).flat_map(|(places, gap)| places.iter().copied().chain(gap)).collect()
}

/// Values at all places, and none in the gaps.
pub fn interrupted(values: &[f64], places: &[Vec<f64>]) -> Vec<f64> {
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

/// A map of the rate of a posterior on a plane.
pub fn map(posterior: &Posterior, events: Option<&KeptEvents>, title: String) -> Result<Figure, Failure> {
    let look = Look::default();
    shown(DRAWING, |watch| Ok(Figure::Map(plane(posterior, None, MAP_CELLS, &look, (title, events), watch)?)))
}

/// A map over the first two axes, at a place of the third if there is one.
fn plane(
    posterior: &Posterior,
    third: Option<f64>,
    cells: usize,
    look: &Look,
    (title, events): (String, Option<&KeptEvents>),
    watch: &PartWatch<'_>,
) -> Result<MapFigure, Failure> {
    let window = posterior.window();
    let (spans, axes) = (window.bounding_box(), window.axes());
    let centres = |r: usize| -> Vec<f64> {
        (0..cells).map(|i| spans[r].lo + spans[r].length() * (i as f64 + 0.5) / cells as f64).collect()
    };
    let (x, y) = (centres(0), centres(1));
    let coordinates = y.iter().flat_map(|&y| x.iter().flat_map(move |&x| [x, y].into_iter().chain(third)));
    let points = Points::new(window.dims(), coordinates.collect())?;
    let values = look.numbers(posterior, &points, watch)?;
    refuse_non_numbers(&values)?;
    Ok(MapFigure {
        title,
        x_label: look.x_label.clone().unwrap_or_else(|| label(&axes[0])),
        y_label: look.y_label.clone().unwrap_or_else(|| label(&axes[1])),
        value_label: look.label(window),
        x,
        y,
        x_range: (spans[0].lo, spans[0].hi),
        y_range: (spans[1].lo, spans[1].hi),
        values,
        inside: points.rows().map(|point| window.contains(point)).collect(),
        border: border(window, third),
        events: events.map(|events| events.points.rows().map(|row| [row[0], row[1]]).collect()).unwrap_or_default(),
        anomalies: anomalies(look, third),
    })
}

/// The marked parts, or those at a place of the third axis.
fn anomalies(look: &Look, third: Option<f64>) -> Vec<Anomaly> {
    let anomaly = |bin: &Bin| {
        let spans = bin.region.bounding_box();
        let ends = |span: &Span| (span.lo, span.hi);
        let is_there = third.zip(spans.get(2)).is_none_or(|(at, span)| (span.lo..span.hi).contains(&at));
        is_there.then(|| Anomaly { x: ends(&spans[0]), y: spans.get(1).map(ends), more: bin.has_more() })
    };
    look.anomalies.iter().filter_map(anomaly).collect()
}

/// Maps at places of the last axis. Each shows the events that are nearest to its place.
fn panels(
    posterior: &Posterior,
    events: Option<&KeptEvents>,
    times: &Times,
    look: &Look,
    title: String,
    watch: &PartWatch<'_>,
) -> Result<Figure, Failure> {
    let window = posterior.window();
    let (span, axis) = (window.bounding_box()[2], &window.axes()[2]);
    let places = times.places(span.lo, span.hi);
    let names = place_names(axis, &places);
    let panel = |(number, (&place, name)): (usize, (&f64, String))| {
        let near = events.map(|events| nearest(events, place, &places)).transpose()?;
        let part = |done: f64| watch((number as f64 + done) / places.len() as f64);
        plane(posterior, Some(place), PANEL_CELLS, look, (name, near.as_ref()), &part)
    };
    let panels = places.iter().zip(names).enumerate().map(panel).collect::<Result<_, Failure>>()?;
    Ok(Figure::Panels(PanelsFigure { title, columns: look.columns, panels }))
}

/// The events that are nearer to this place of the last axis than to any other.
fn nearest(events: &KeptEvents, place: f64, places: &[f64]) -> Result<KeptEvents, Failure> {
    let belongs = |at: f64| places.iter().all(|other| (at - place).abs() <= (at - other).abs());
    let dims = events.points.dims();
    let rows = events.points.rows().filter(|row| belongs(row[dims - 1]));
    let points = Points::new(dims, rows.flatten().copied().collect())?;
    Ok(KeptEvents { points, trials: None })
}

/// What the maps at these places are called: dates as short as tells them apart, or numbers with the axis.
fn place_names(axis: &Axis, places: &[f64]) -> Vec<String> {
    if let Some(time) = io::time_axis(axis) {
        let dates: Vec<String> = places.iter().map(|&place| time.to_iso(place)).collect();
        let cut = |length: usize| -> Vec<String> {
            let short = |date: &String| date.get(..length).unwrap_or(date).replace('T', " ");
            dates.iter().map(short).collect()
        };
        let (days, minutes) = (cut("2016-02-23".len()), cut("2016-02-23T17:00".len()));
        let shortest = [days, minutes].into_iter().find(|names| io::spec::repeated(names).is_none());
        return shortest.unwrap_or(dates);
    }
    let unit = axis.unit.as_deref().filter(|unit| unit.trim_end_matches('s') != axis.name);
    let unit = unit.map(|unit| format!(" {unit}")).unwrap_or_default();
    let digits = |place: f64| format!("{place:.4e}").parse().unwrap_or(place);
    places.iter().map(|&place| format!("{} = {}{unit}", axis.name, digits(place))).collect()
}

/// The closed lines around a window of the plane, or around its part at a place of the third axis; none for a plain box, which the frame shows.
fn border(window: &Window, third: Option<f64>) -> Vec<Vec<[f64; 2]>> {
    if let [only] = window.pieces()
        && only.outline.is_none()
    {
        return Vec::new();
    }
    let is_there = |piece: &&Piece| third.is_none_or(|at| (piece.spans[2].lo..=piece.spans[2].hi).contains(&at));
    window.pieces().iter().filter(is_there).flat_map(|piece| piece.polygons().concat()).collect()
}

/// Points in blocks, each with what is told of the part of all of them that is done.
pub fn blocks<'a>(
    points: &'a Points,
    watch: &'a PartWatch<'_>,
) -> impl Iterator<Item = (Result<Points, Error>, impl Fn(f64) -> ControlFlow<()> + Sync + 'a)> {
    let (dims, count) = (points.dims(), points.len().div_ceil(BLOCK) as f64);
    let chunks = points.coordinates().chunks(BLOCK * dims).enumerate();
    chunks.map(move |(number, block)| {
        (Points::new(dims, block.to_vec()), move |done: f64| watch((number as f64 + done) / count))
    })
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
        let stretches = window.stretches();
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
    fn events_go_to_the_nearest_map() {
        let points = Points::new(3, vec![0.0, 0.0, 1.0, 0.0, 0.0, 2.4, 0.0, 0.0, 9.0]).unwrap();
        let events = KeptEvents { points, trials: None };
        let places = Times::Even(2).places(0.0, 8.0);
        assert_eq!(places, [2.0, 6.0]);
        let near = |place| nearest(&events, place, &places).unwrap().points.len();
        assert_eq!((near(2.0), near(6.0)), (2, 1));
        let axis = Axis { name: "depth".into(), unit: Some("km".into()), ..Axis::default() };
        assert_eq!(place_names(&axis, &[2.0, 10.0 / 3.0]), ["depth = 2 km", "depth = 3.3333 km"]);
    }

    #[test]
    fn dates_are_as_short_as_tells_them_apart() {
        let (unit, origin) = (Some("days".into()), Some(1_456_185_600.0));
        let axis = Axis { name: "t".into(), unit, origin, ..Axis::default() };
        assert_eq!(place_names(&axis, &[0.0, 1.5]), ["2016-02-23", "2016-02-24"]);
        assert_eq!(place_names(&axis, &[0.25, 0.5]), ["2016-02-23 06:00", "2016-02-23 12:00"]);
    }

    #[test]
    fn a_plain_box_has_no_border() {
        let part = |lo: f64| Window::new(&[(lo, lo + 1.0), (0.0, 1.0)]).unwrap();
        assert!(border(&part(0.0), None).is_empty());
        let two = border(&Window::union(&[part(0.0), part(5.0)]).unwrap(), None);
        assert_eq!((two.len(), two[1][2]), (2, [6.0, 1.0]));
    }
}
