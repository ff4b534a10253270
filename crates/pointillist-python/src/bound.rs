//! The bound at a q(u) that the caller brings, with its gradient.

use super::arrays;
use super::events::Events;
use super::{call, errors};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use pointillist::Kernel;
use pointillist::internals::numerics::Matrix;
use pointillist::internals::{Given, bound_at};
use pointillist::settings::PriorMean;
use pointillist_io::geography::points_inward;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Value, parts and gradient.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // they are the arguments of the bound
pub fn bound<'py>(
    py: Python<'py>,
    events: PyRef<'_, Events>,
    variance: f64,
    lengthscales: Vec<f64>,
    mean: f64,
    inducing: PyReadonlyArray2<'py, f64>,
    m: PyReadonlyArray1<'py, f64>,
    root: PyReadonlyArray2<'py, f64>,
    prior_mean: &str,
    jitter: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let prior_mean = match prior_mean {
        "paper" => PriorMean::Paper,
        "constant" => PriorMean::Constant,
        other => {
            return Err(errors::setting(format!("prior_mean='{other}' is not known; take one of constant, paper")));
        }
    };
    let kernel = Kernel::squared_exponential(variance, &lengthscales).map_err(errors::of_library)?;
    let axes = events.0.events.window().axes();
    let places = points_inward(arrays::points(&inducing)?, axes).map_err(errors::of_library)?;
    let [rows, columns] = [root.shape()[0], root.shape()[1]];
    let values = root.as_array();
    let q_root = Matrix::from_fn(rows, columns, |i, j| values[[i, j]]);
    let q_mean = m.as_array().to_vec();
    let events = &events.0.events;
    let given =
        Given { kernel: &kernel, mean, prior_mean, inducing: &places, q_mean: &q_mean, q_root: &q_root, jitter };
    let (bound, gradient) = call::short(py, || bound_at(events, &given).map_err(errors::of_library))?;
    let known = PyDict::new(py);
    known.set_item("value", bound.total())?;
    known.set_item("log_rate", bound.log_rate)?;
    known.set_item("integral", bound.integral())?;
    known.set_item("kl", bound.kl)?;
    known.set_item("variance", gradient.parameters[0])?;
    known.set_item("lengthscale", gradient.parameters[1..].to_pyarray(py))?;
    known.set_item("mean", gradient.mean)?;
    known.set_item("m", gradient.q_mean.to_pyarray(py))?;
    let by_root = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| gradient.q_root[(i, j)]);
    known.set_item("L", PyArray1::from_iter(py, by_root).reshape([rows, columns])?)?;
    known.set_item("inducing", gradient.inducing.to_pyarray(py).reshape([places.len(), places.dims()])?)?;
    Ok(known)
}
