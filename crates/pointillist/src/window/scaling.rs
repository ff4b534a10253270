//! Coordinates inside: every axis of the window's bounding box becomes [0, 1].
//!
//! So time stamps of 1.6e9 seconds and distances of 1e-6 are fitted with the same steps, and to the same digits, as the
//! unit interval. A rate per unit of measure inside is `volume` times the rate per unit of measure outside.

use crate::points::Points;
use crate::window::Window;

/// The map between the user's coordinates and those of the unit box.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    shift: Vec<f64>,
    scale: Vec<f64>,
}

impl Scaling {
    /// From the bounding box of a window to the unit box.
    pub fn of(window: &Window) -> Self {
        let spans = window.bounding_box();
        Self { shift: spans.iter().map(|s| s.lo).collect(), scale: spans.iter().map(|s| s.length()).collect() }
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.scale.len()
    }

    /// User's coordinate to unit coordinate.
    pub fn inward(&self, axis: usize, x: f64) -> f64 {
        (x - self.shift[axis]) / self.scale[axis]
    }

    /// Unit coordinate to user's coordinate.
    pub fn outward(&self, axis: usize, x: f64) -> f64 {
        self.shift[axis] + self.scale[axis] * x
    }

    /// Length of one unit of axis `axis` in the user's units.
    pub fn scale(&self, axis: usize) -> f64 {
        self.scale[axis]
    }

    /// Measure of the unit box in the user's units.
    pub fn volume(&self) -> f64 {
        self.scale.iter().product()
    }

    /// What the log-likelihood of points in the window is higher by in unit coordinates and without its exposure.
    pub fn log_units(&self, window: &Window, points: &Points) -> f64 {
        let exposure: f64 = points.rows().map(|row| window.exposure_at(row).ln()).sum();
        points.len() as f64 * self.volume().ln() - exposure
    }

    /// Points in unit coordinates.
    pub fn points_inward(&self, points: &Points) -> Points {
        points.map(|r, x| self.inward(r, x))
    }

    /// Points in the user's coordinates.
    pub fn points_outward(&self, points: &Points) -> Points {
        points.map(|r, x| self.outward(r, x))
    }
}
