//! What the sister crates of this library need of its insides. It promises nothing: it is no part of the public interface, has no
//! documentation of its own on purpose, and may change with any release. Nobody else should use it.
//!
//! Everything here is a name for something that lives elsewhere in the library, or a call of it with usual settings.

use crate::error::Result;
use crate::infer::lbfgs::Curvature;
use crate::window::{AxisRule, Window, node_count};

pub use crate::infer::lbfgs::Settings as Climb;
pub use crate::infer::{Given, Gradient, bound_at};
pub use crate::window::{Nodes, Scaling};

/// Bytes as text.
pub mod base64 {
    pub use crate::base64::{decode, encode};
}

/// Refusals of amounts that memory or time would not suffice for.
pub mod limits {
    pub use crate::limits::{at_most, draws};
}

/// Special functions, vectors, matrices and quadrature.
pub mod numerics {
    pub use crate::numerics::gauss::GaussLegendre;
    pub use crate::numerics::linalg::{self, Matrix, dot};
    pub use crate::numerics::special::{erf_difference, normal_quantile};
    pub use crate::numerics::vector::exp_in_place;
}

/// Threads over blocks of events.
pub mod parallel {
    pub use crate::parallel::{block_length, each, for_each, map, try_each};
}

/// Random draws.
pub mod sample {
    pub use crate::sample::elliptical_slice::step as elliptical_slice;
    pub use crate::sample::gaussian::standard_normal;
    pub use crate::sample::importance::log_mean;
    pub use crate::sample::stream;
    pub use crate::sample::thinning::{candidates, keep};
}

/// How much longer lengths are made at a time where there would be too many nodes, and how long at most.
const STRETCH: f64 = 1.25;
const LONGEST: f64 = 1e3;

/// Quadrature nodes over a window for a product of two things that vary over these lengths; for longer ones if there would be more than `most`.
pub fn nodes(window: &Window, lengths: &[f64], most: usize) -> Nodes {
    let mut stretch = 1.0;
    loop {
        let rules: Vec<AxisRule<'_>> = lengths.iter().map(|l| AxisRule::smooth(l * stretch)).collect();
        let pieces = window.nodes(&rules);
        if node_count(&pieces) <= most || stretch > LONGEST {
            return Nodes::of_pieces(&pieces);
        }
        stretch *= STRETCH;
    }
}

/// The window in the coordinates of the scaling.
pub fn scaled(window: &Window, scaling: &Scaling) -> Window {
    window.scaled(scaling)
}

/// Refuses a window that does not lie inside another.
pub fn check_covers(window: &Window, other: &Window) -> Result<()> {
    window.check_covers(other)
}

/// The most often that any place of the window was looked at.
pub fn most_coverage(window: &Window) -> f64 {
    window.most_coverage()
}

/// The highest value that L-BFGS finds between bounds, and where; `None` if the function cannot be evaluated at the start.
pub fn maximise(
    start: Vec<f64>,
    bounds: &[(f64, f64)],
    climb: Climb,
    function: impl FnMut(&[f64], &mut [f64]) -> Result<Option<f64>>,
) -> Result<Option<(f64, Vec<f64>)>> {
    let top = crate::infer::lbfgs::maximise(start, Curvature::default(), bounds, climb, function)?;
    Ok(top.map(|top| (top.value, top.x)))
}
