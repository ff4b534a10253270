//! Shared by the tests: golden records, and the bundled coal-mining data.
#![allow(dead_code)] // each test file uses its part

use pointillist::bound::Bound;
use pointillist::internals::numerics::Matrix;
use pointillist::internals::{Given, bound_at};
use pointillist::settings::PriorMean;
use pointillist::{Events, Kernel, Points, Window};
use serde_json::Value;

/// The records of a golden file.
pub fn golden(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let file: Value = serde_json::from_str(&text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// The coal-mining disasters, in years.
pub fn coal() -> Vec<f64> {
    let path = format!("{}/../pointillist-io/data/coal/coal.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

pub const COAL_WINDOW: (f64, f64) = (1851.2026009582, 1962.2197125257);

/// Numbers between 0 and 1 without a pattern.
pub fn scatter(count: usize, step: f64) -> Vec<f64> {
    (0..count).map(|i| (0.37 + step * i as f64).fract()).collect()
}

/// The bound at a fixed q with three inducing points per axis, the parts of it apart.
pub fn bound_on(window: &Window, kernel: &Kernel, points: &Points) -> Bound {
    let events = Events::new(points.clone(), window.clone()).unwrap();
    let z = window.grid(&vec![3; window.dims()]);
    let (q_mean, q_root) = (scatter(z.len(), 0.4142), Matrix::scaled_identity(z.len(), 0.5));
    let given = Given {
        kernel,
        mean: 0.9,
        prior_mean: PriorMean::Constant,
        inducing: &z,
        q_mean: &q_mean,
        q_root: &q_root,
        jitter: 1e-3,
    };
    bound_at(&events, &given).unwrap().0
}
