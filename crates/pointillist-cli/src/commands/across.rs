//! The components of a rate on several axes: a map of what changes from place to place, curves along the other axes, and one cycle of what repeats itself.
//!
//! Each is averaged over the axes that it does not show.

use super::Failure;
use super::components::{CYCLE_PLACES, curve, cycle_panel, panel};
use super::figure;
use super::summary::rate_unit;
use crate::io::components::{Component, View, all_over, profile_all_over, views};
use pointillist::watch::PartWatch;
use pointillist::{Points, Posterior};
use pointillist_plot::{CurveFigure, Figure, MapFigure, StackFigure};

/// Cells on each side of a map, and places along an axis.
const CELLS: usize = 30;
const PLACES: usize = 100;

/// The maps, and below them the curves.
pub fn picture(
    posterior: &Posterior,
    components: &[Component],
    band: (f64, f64),
    title: String,
    watch: &PartWatch<'_>,
) -> Result<Figure, Failure> {
    let all: Vec<(&Component, View)> = components
        .iter()
        .flat_map(|component| views(component, posterior).into_iter().map(move |view| (component, view)))
        .collect();
    let (mut maps, mut panels) = (Vec::new(), Vec::new());
    for (number, (component, view)) in all.iter().enumerate() {
        let told = |done: f64| watch((number as f64 + done) / all.len() as f64);
        match view {
            View::Over(axes) => maps.push(over(posterior, component, *axes, &told)?),
            View::Along(axis) => panels.push(along(posterior, component, *axis, band, &told)?),
            View::Cycle(cycle) => {
                let found =
                    profile_all_over(posterior, (&component.part, cycle), CYCLE_PLACES / 2, &[band.0, band.1], &told)?;
                let title = format!("{}, the others at their average", component.name);
                panels.push(CurveFigure { title, ..cycle_panel(posterior, cycle, band, &found) });
            }
        }
    }
    Ok(Figure::Stack(StackFigure { title, maps, panels }))
}

/// A component along an axis.
fn along(
    posterior: &Posterior,
    component: &Component,
    axis: usize,
    band: (f64, f64),
    watch: &PartWatch<'_>,
) -> Result<CurveFigure, Failure> {
    let window = posterior.window();
    let span = window.bounding_box()[axis];
    let x: Vec<f64> = (0..PLACES).map(|i| span.lo + span.length() * i as f64 / (PLACES - 1) as f64).collect();
    let places = x.iter().map(|x| all_over(window, &[(axis, *x)])).collect::<Result<Vec<Points>, _>>()?;
    let at = posterior.part_watched(&component.part, &places, &[band.0, band.1], watch)?;
    let (x_label, calendar) = figure::line_axis(&window.axes()[axis]);
    let title = format!("{} along {}", component.name, window.axes()[axis].name);
    let curve = curve(x, &at, band, <[f64]>::to_vec);
    Ok(CurveFigure { title, calendar, ..panel(posterior, x_label, curve) })
}

/// A map of a component.
fn over(
    posterior: &Posterior,
    component: &Component,
    axes: [usize; 2],
    watch: &PartWatch<'_>,
) -> Result<MapFigure, Failure> {
    let window = posterior.window();
    let spans = axes.map(|r| window.bounding_box()[r]);
    let [x, y] = spans.map(|span| -> Vec<f64> {
        (0..CELLS).map(|i| span.lo + span.length() * (i as f64 + 0.5) / CELLS as f64).collect()
    });
    let cells: Vec<[f64; 2]> = y.iter().flat_map(|&y| x.iter().map(move |&x| [x, y])).collect();
    let at = |cell: &[f64; 2]| all_over(window, &[(axes[0], cell[0]), (axes[1], cell[1])]);
    let places = cells.iter().map(at).collect::<Result<Vec<Points>, _>>()?;
    let inside = places.iter().map(|points| points.rows().any(|row| window.contains(row))).collect();
    let values = posterior.part_watched(&component.part, &places, &[], watch)?.rate.mean;
    let [x_label, y_label] = axes.map(|r| figure::label(&window.axes()[r]));
    Ok(MapFigure {
        title: format!("{}, the others at their average", component.name),
        x_label,
        y_label,
        value_label: rate_unit(window),
        x,
        y,
        x_range: (spans[0].lo, spans[0].hi),
        y_range: (spans[1].lo, spans[1].hi),
        values,
        inside,
        border: Vec::new(),
        events: Vec::new(),
        anomalies: Vec::new(),
    })
}
