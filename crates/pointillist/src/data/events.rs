//! Events: points together with the window they were looked for in. Checked once, here; nothing later asks again.

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::window::Window;

/// The events seen in a window.
///
/// ```
/// use pointillist::{Events, Points, Window};
///
/// let (times, year) = (Points::line(&[0.1, 0.4, 1.3])?, Window::interval(0.0, 1.0)?);
/// // What lies outside the window is refused, or left out where that is asked for.
/// assert!(Events::new(times.clone(), year.clone()).is_err());
/// let (events, left_out) = Events::clipped(times, year)?;
/// assert_eq!((events.len(), left_out), (2, 1));
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Events {
    points: Points,
    window: Window,
}

impl Events {
    /// Events in a window; every one must lie inside it.
    pub fn new(points: Points, window: Window) -> Result<Self> {
        window.check_inside(&points)?;
        Self { points, window }.exposed()
    }

    /// Those of the points that lie in the window, and how many did not.
    pub fn clipped(points: Points, window: Window) -> Result<(Self, usize)> {
        if points.dims() != window.dims() {
            return Err(Error::Dimension { what: "events", expected: window.dims(), found: points.dims() });
        }
        let inside = points.filter(|row| window.contains(row));
        let dropped = points.len() - inside.len();
        Ok((Self { points: inside, window }.exposed()?, dropped))
    }

    /// Refuses events where none could have been seen.
    fn exposed(self) -> Result<Self> {
        let unseen = self.points.rows().position(|row| self.window.exposure_at(row) <= 0.0);
        match unseen {
            Some(index) => Err(Error::Unexposed { index, point: self.points.row(index).to_vec() }),
            None => Ok(self),
        }
    }

    /// The points.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Number of distinct places.
    pub fn distinct(&self) -> usize {
        let mut rows: Vec<&[f64]> = self.points.rows().collect();
        rows.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        rows.dedup();
        rows.len()
    }
}
