//! Shared by the tests: golden records, and the bundled coal-mining data.
#![allow(dead_code)] // each test file uses its part

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
