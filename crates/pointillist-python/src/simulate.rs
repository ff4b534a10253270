//! Events drawn from an intensity.

use super::call::{self, Manner, Watch};
use super::window::Window;
use super::{arrays, errors};
use numpy::{PyArray2, ToPyArray};
use pointillist::{Axis, Error, Intensity, Points, Simulation};
use pointillist_io::geography::{outward, row_outward};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, PoisonError};

/// Most numbers of all draws together.
const MOST_VALUES: f64 = 2e8;

/// What the intensity is: a text over the axes, or a function of one array for each axis.
#[derive(FromPyObject)]
pub enum Rate {
    Text(String),
    Function(Py<PyAny>),
}

/// Sets of events with an intensity on a window.
#[pyfunction]
pub fn simulate<'py>(
    py: Python<'py>,
    intensity: Rate,
    window: PyRef<'_, Window>,
    draws: usize,
    seed: u64,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let window = &window.0;
    let sets = match intensity {
        Rate::Text(text) => {
            let names: Vec<&str> = window.axes().iter().map(|axis| axis.name.as_str()).collect();
            let parsed = Intensity::parse(&text, &names).map_err(|error| {
                let pointing = error.pointing(&text);
                errors::setting(format!("intensity=: {error}\n{pointing}"))
            })?;
            call::long(py, &Manner::default(), |watch| {
                let simulation = Simulation::new(window, |point| parsed.at(&row_outward(point, window.axes())))
                    .map_err(errors::of_library)?;
                drawn(&simulation, window.dims(), draws, seed, watch)
            })?
        }
        Rate::Function(function) => {
            // What the function raises is kept here while the library unwinds.
            let raised = Mutex::new(None);
            let rates = |points: &Points| {
                Python::attach(|py| rates_of(py, &function, points, window.axes())).map_err(|error| {
                    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    Error::Cancelled
                })
            };
            // In a thread of its own: the function may call what needs the others.
            let manner = Manner { threads: Some(1), ..Manner::default() };
            let sets = call::long(py, &manner, |watch| {
                let simulation = Simulation::of_batches(window, rates).map_err(errors::of_library)?;
                drawn(&simulation, window.dims(), draws, seed, watch)
            });
            match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(error) => return Err(error),
                None => sets?,
            }
        }
    };
    sets.iter().map(|points| arrays::rows_on(py, points, window.axes())).collect()
}

/// The rates that a function of Python gives for one array for each axis; on the globe of degrees.
fn rates_of(py: Python<'_>, function: &Py<PyAny>, points: &Points, axes: &[Axis]) -> PyResult<Vec<f64>> {
    let column = |r: usize| points.rows().map(|row| outward(&axes[r], row[r])).collect::<Vec<f64>>().to_pyarray(py);
    let columns = PyTuple::new(py, (0..points.dims()).map(column))?;
    let found = function.bind(py).call1(columns)?;
    let shape = (points.len(),);
    let numpy = py.import("numpy")?;
    let numbers = numpy.call_method1("asarray", (&found, "float64"));
    let rates = numbers.and_then(|numbers| numpy.call_method1("broadcast_to", (numbers, shape)));
    let rates = rates.and_then(|rates| rates.extract::<Vec<f64>>());
    rates.map_err(|_| {
        let (dims, count) = (points.dims(), points.len());
        let arrays = if dims == 1 { "an array".into() } else { format!("{dims} arrays") };
        let given = found.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
        errors::setting(format!(
            "intensity=: the function was given {arrays} of {count} numbers and gave a {given} back that is not {count} rates; let it work on whole \
             arrays, as in lambda {}: ...",
            ["t", "x, y", "x, y, t"].get(dims - 1).unwrap_or(&"*x")
        ))
    })
}

/// So many sets, unless they are too large.
fn drawn(simulation: &Simulation<'_>, dims: usize, draws: usize, seed: u64, watch: &Watch) -> PyResult<Vec<Points>> {
    let expected = simulation.expected().unwrap_or(simulation.candidates());
    if expected.max(1.0) * draws as f64 * dims as f64 > MOST_VALUES {
        let most = MOST_VALUES;
        return Err(errors::setting(format!(
            "intensity=: about {expected:.3e} events are expected per draw, and {draws} draws would be more than {most:e} numbers; take a lower \
             intensity or fewer draws"
        )));
    }
    let one = |draw: usize| {
        let _ = watch.part(draw as f64 / draws as f64);
        watch.check().and_then(|()| simulation.draw(seed, draw as u64)).map_err(errors::of_library)
    };
    (0..draws).map(one).collect()
}
