//! What a picture of a window shows: the parts of a line that it covers, the lines around it in the plane.

use super::{Piece, Ring, Window};

impl Window {
    /// The parts of the first axis that the window covers, rising; parts that touch are one.
    ///
    /// ```
    /// use pointillist::Window;
    ///
    /// let part = |lo, hi| Window::interval(lo, hi);
    /// let window = Window::union(&[part(6.0, 10.0)?, part(0.0, 1.0)?, part(1.0, 2.0)?])?;
    /// assert_eq!(window.stretches(), [(0.0, 2.0), (6.0, 10.0)]);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn stretches(&self) -> Vec<(f64, f64)> {
        let mut spans: Vec<(f64, f64)> =
            self.pieces().iter().map(|piece| (piece.spans[0].lo, piece.spans[0].hi)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut stretches: Vec<(f64, f64)> = Vec::new();
        for (lo, hi) in spans {
            match stretches.last_mut() {
                Some(last) if lo <= last.1 => last.1 = last.1.max(hi),
                _ => stretches.push((lo, hi)),
            }
        }
        stretches
    }

    /// The closed lines around it on its first two axes, holes among them.
    ///
    /// ```
    /// use pointillist::Window;
    ///
    /// let window = Window::new(&[(0.0, 2.0), (0.0, 1.0)])?;
    /// assert_eq!(window.rings(), [[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]]);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn rings(&self) -> Vec<Vec<[f64; 2]>> {
        self.pieces().iter().flat_map(|piece| piece.polygons().concat()).collect()
    }
}

impl Piece {
    /// Its polygons on the first two axes: for each the ring around it, and those around its holes.
    pub fn polygons(&self) -> Vec<Vec<Ring>> {
        match (&self.outline, &self.spans[..]) {
            (Some(outline), _) => outline.rings().to_vec(),
            (None, [x, y, ..]) => vec![vec![vec![[x.lo, y.lo], [x.hi, y.lo], [x.hi, y.hi], [x.lo, y.hi]]]],
            (None, _) => vec![],
        }
    }
}
