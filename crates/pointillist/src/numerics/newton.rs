//! Newton's method with halved steps, for functions that are concave where it starts.

use crate::error::Result;
use crate::numerics::linalg;

/// A step shorter than this part of Newton's leads nowhere.
const SHORTEST: f64 = 1e-8;
/// Part of the expected gain that a step must make.
const INCREASE: f64 = 1e-4;

/// A function with its Newton steps.
pub(crate) trait Concave {
    /// Its value.
    fn value(&self, x: &[f64]) -> f64;

    /// The Newton step at x, and its product with the gradient.
    fn step(&self, x: &[f64]) -> Result<(Vec<f64>, f64)>;
}

/// The maximum near `x`: until a step promises less than `gain`, at most `most` of them. `pulse` is called at each, and may end it.
pub(crate) fn climb(
    function: &impl Concave,
    mut x: Vec<f64>,
    gain: f64,
    most: usize,
    pulse: &dyn Fn() -> Result<()>,
) -> Result<Vec<f64>> {
    let mut value = function.value(&x);
    for _ in 0..most {
        pulse()?;
        let (step, expected) = function.step(&x)?;
        let mut length = 1.0;
        loop {
            let mut trial = x.clone();
            linalg::add_scaled(&mut trial, length, &step);
            let trial_value = function.value(&trial);
            if trial_value >= value + INCREASE * length * expected || length < SHORTEST {
                (x, value) = (trial, trial_value);
                break;
            }
            length *= 0.5;
        }
        if expected < gain || length < SHORTEST {
            break;
        }
    }
    Ok(x)
}
