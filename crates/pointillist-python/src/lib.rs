//! The Python package: NumPy arrays in, NumPy arrays out. What is convenient stands in `python/pointillist`; this is the part that must be Rust.

mod arrays;
mod bound;
mod call;
mod errors;
mod events;
mod measured;
mod posterior;
mod rivals;
mod settings;
mod simulate;
mod summary;
mod types;
mod window;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What pickle asks for: a function, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// What `pointillist` is made of. Use that.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::bound::bound;
    #[pymodule_export]
    use super::events::{Events, datasets, points_on, read_events, says_how_many};
    #[pymodule_export]
    use super::measured::fit_measured;
    #[pymodule_export]
    use super::posterior::{Counts, Posterior, fit, fit_summary, update, write_whole};
    #[pymodule_export]
    use super::rivals::{Sgcp, Smoother, calibrate, compare};
    #[pymodule_export]
    use super::settings::set_max_memory;
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::summary::{Summary, summarise};
    #[pymodule_export]
    use super::types::{TypesPosterior, fit_types};
    #[pymodule_export]
    use super::window::{Window, instants, resolve_window, synonyms};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        pointillist_io::fault::remember();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
