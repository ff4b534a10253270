//! The components of a rate, each apart: as columns of `predict`, and as the panels of `plot`.

use super::across;
use super::figure;
use super::meter::shown;
use super::summary::rate_unit;
use super::{Failure, spec};
use crate::io::components::{Component, Cycle, components, profile};
use crate::io::sampling::along;
use crate::io::{Column, ModelFile};
use pointillist::parts::{PartAtPlaces, PartOfF};
use pointillist::watch::PartWatch;
use pointillist::{Points, Posterior};
use pointillist_plot::{Band, Curve, CurveFigure, Figure, StackFigure};

/// Places of a cycle in a picture, and of a trend, which changes slowly.
pub(super) const CYCLE_PLACES: usize = 168;
const TREND_PLACES: usize = 300;
/// Names of parts that are longer together do not fit into a heading.
const LONGEST: usize = 24;

/// f at points, and each component of it.
pub fn columns(posterior: &Posterior, points: &Points, quantiles: &str) -> Result<Vec<Column>, Failure> {
    shown("the components", |watch| columns_watched(posterior, points, quantiles, watch))
}

fn columns_watched(
    posterior: &Posterior,
    points: &Points,
    quantiles: &str,
    watch: &PartWatch<'_>,
) -> Result<Vec<Column>, Failure> {
    let probabilities = spec::quantiles(quantiles)?;
    let components = components(posterior)?;
    let places = points.rows().map(|row| Points::new(points.dims(), row.to_vec())).collect::<Result<Vec<_>, _>>()?;
    let whole = PartOfF { terms: (0..posterior.term_count()).collect(), constant: true };
    let mut columns = vec![Column::Numbers("f".into(), posterior.part(&whole, &places, &[])?.mean)];
    let count = components.len() as f64;
    for (number, Component { name, part, .. }) in components.into_iter().enumerate() {
        let told = |done: f64| watch((number as f64 + done) / count);
        let at = posterior.part_watched(&part, &places, &probabilities, &told)?;
        columns.push(Column::Numbers(name.clone(), at.mean));
        columns.push(Column::Numbers(format!("{name}_sd"), at.sd));
        let named = probabilities.iter().zip(at.quantiles);
        columns.extend(named.map(|(p, values)| Column::Numbers(format!("{name}_q{p}"), values)));
    }
    Ok(columns)
}

/// A panel for each component of a model on a line; on more axes one for each axis along which it changes, or a map for two of them.
pub fn picture(model: &ModelFile, band: (f64, f64), title: Option<String>) -> Result<Figure, Failure> {
    let posterior = &model.posterior;
    let components = components(posterior)?;
    if posterior.window().dims() != 1 {
        let title = title.unwrap_or_else(|| format!("Components of {}", model.source));
        return shown(figure::DRAWING, |watch| across::picture(posterior, &components, band, title, watch));
    }
    let panel = |(number, component): (usize, &Component), watch: &PartWatch<'_>| {
        let told = |done: f64| watch((number as f64 + done) / components.len() as f64);
        match &component.cycle {
            Some(cycle) => of_cycle(posterior, component, cycle, band, &told),
            None => of_trend(posterior, component, band, &told),
        }
    };
    let named = |one: (usize, &Component), watch: &PartWatch<'_>| {
        Ok(CurveFigure { title: heading(one.0, &components), ..panel(one, watch)? })
    };
    let panels = shown(figure::DRAWING, |watch| {
        components.iter().enumerate().map(|one| named(one, watch)).collect::<Result<_, Failure>>()
    })?;
    let title = title.unwrap_or_else(|| format!("Components of {}", model.source));
    Ok(Figure::Stack(StackFigure { title, maps: Vec::new(), panels }))
}

/// What a panel shows. It is no rate that ever was: parts add up in f, and the rate at the average of the others is not the average rate over them.
fn heading(number: usize, components: &[Component]) -> String {
    let others = components.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, one)| one.name.as_str());
    let (name, others) = (&components[number].name, others.collect::<Vec<_>>());
    if others.is_empty() {
        return name.clone();
    }
    let told = others.join(" and ");
    let (all, average) = match others.len() {
        1 if told.len() <= LONGEST => (told, "its"),
        _ if told.len() <= LONGEST => (told, "their"),
        _ => ("all others".into(), "their"),
    };
    let them = if average == "its" { "it" } else { "them" };
    format!("{name}: the rate if {all} stood at {average} average, not the average over {them}")
}

/// What does not repeat itself, over the window.
fn of_trend(
    posterior: &Posterior,
    component: &Component,
    band: (f64, f64),
    watch: &PartWatch<'_>,
) -> Result<CurveFigure, Failure> {
    let stretches = posterior.window().stretches();
    let places = along(&stretches, TREND_PLACES);
    let points = places.concat().iter().map(|x| Points::line(&[*x])).collect::<Result<Vec<_>, _>>()?;
    let at = posterior.part_watched(&component.part, &points, &[band.0, band.1], watch)?;
    let (x_label, calendar) = figure::line_axis(&posterior.window().axes()[0]);
    let x = figure::with_gaps(&stretches, &places);
    let gaps = stretches.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect();
    let curve = curve(x, &at, band, |values| figure::interrupted(values, &places));
    Ok(CurveFigure { gaps, calendar, ..panel(posterior, x_label, curve) })
}

/// One cycle, averaged over those in the window.
fn of_cycle(
    posterior: &Posterior,
    component: &Component,
    cycle: &Cycle,
    band: (f64, f64),
    watch: &PartWatch<'_>,
) -> Result<CurveFigure, Failure> {
    let found = profile(posterior, (&component.part, cycle), CYCLE_PLACES, &[band.0, band.1], watch)?;
    Ok(cycle_panel(posterior, cycle, band, &found))
}

/// One cycle: parts of it, and the component there.
pub(super) fn cycle_panel(
    posterior: &Posterior,
    cycle: &Cycle,
    band: (f64, f64),
    (parts, at): &(Vec<f64>, PartAtPlaces),
) -> CurveFigure {
    let axis = &posterior.window().axes()[cycle.axis];
    let (labels, x_label) = match cycle.named {
        Some(named) => {
            let place = |(part, label): (f64, String)| (part * cycle.period, label);
            (
                named.labels().into_iter().map(place).collect(),
                format!("time of the {}{}", named.name(), figure::clock(axis)),
            )
        }
        None => (Vec::new(), figure::label(axis)),
    };
    let x = parts.iter().map(|part| part * cycle.period).collect();
    let curve = curve(x, at, band, <[f64]>::to_vec);
    CurveFigure { labels, ..panel(posterior, x_label, curve) }
}

pub(super) fn panel(posterior: &Posterior, x_label: String, curve: Curve) -> CurveFigure {
    CurveFigure {
        title: String::new(),
        x_label,
        y_label: rate_unit(posterior.window()),
        curves: vec![curve],
        marks: Vec::new(),
        anomalies: Vec::new(),
        events: Vec::new(),
        trials: Vec::new(),
        gaps: Vec::new(),
        calendar: None,
        labels: Vec::new(),
    }
}

/// The rate with the other components at their average, and its band.
pub(super) fn curve(x: Vec<f64>, at: &PartAtPlaces, band: (f64, f64), shown: impl Fn(&[f64]) -> Vec<f64>) -> Curve {
    let [lower, upper] = [0, 1].map(|end| shown(&at.rate_quantiles[end]));
    let label = figure::band_name(band);
    Curve {
        label: "mean, the others at their average".into(),
        x,
        y: shown(&at.rate.mean),
        band: Some(Band { lower, upper, label }),
    }
}
