//! Events drawn from an intensity.

use super::call::{self, Manner};
use super::window::Window;
use super::{arrays, errors};
use numpy::PyArray2;
use pointillist::{Intensity, Points, Simulation};
use pyo3::prelude::*;

/// Most numbers of all draws together.
const MOST_VALUES: f64 = 2e8;

/// Sets of events with an intensity that is a text over the axes of a window.
#[pyfunction]
pub fn simulate<'py>(
    py: Python<'py>,
    intensity: &str,
    window: PyRef<'_, Window>,
    draws: usize,
    seed: u64,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let window = &window.0;
    let names: Vec<&str> = window.axes().iter().map(|axis| axis.name.as_str()).collect();
    let parsed = Intensity::parse(intensity, &names).map_err(|error| {
        let pointing = error.pointing(intensity);
        errors::setting(format!("intensity=: {error}\n{pointing}"))
    })?;
    let sets = call::long(py, &Manner::default(), |watch| {
        let simulation = Simulation::new(window, |point| parsed.at(point)).map_err(errors::of_library)?;
        let expected = simulation.expected().unwrap_or(simulation.candidates());
        if expected.max(1.0) * draws as f64 * window.dims() as f64 > MOST_VALUES {
            let most = MOST_VALUES;
            return Err(errors::setting(format!(
                "intensity=: about {expected:.3e} events are expected a draw, and {draws} draws would be more than {most:e} numbers; \
                 take a lower intensity or fewer draws"
            )));
        }
        let one = |draw: usize| {
            let _ = watch.part(draw as f64 / draws as f64);
            watch.check().and_then(|()| simulation.draw(seed, draw as u64)).map_err(errors::of_library)
        };
        (0..draws).map(one).collect::<PyResult<Vec<Points>>>()
    })?;
    sets.iter().map(|points| arrays::rows(py, points)).collect()
}
