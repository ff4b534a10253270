//! Where the entries of a legend stand: side by side under the title, in a new row where there is no more room.

/// Height of the first row's middle, and how much lower each further row stands.
pub(super) const LEGEND_MIDDLE: f64 = 48.0;
pub(super) const LEGEND_ROW: f64 = 20.0;
/// What lies between a swatch and its label, and between entries.
pub(super) const SWATCH_GAP: f64 = 7.0;
const ENTRY_GAP: f64 = 20.0;

/// The distance of each entry from the left end, and its row, for entries of these widths.
pub(super) fn places(widths: impl IntoIterator<Item = f64>, room: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (0.0, 0);
    let place = |width: f64| {
        if x > 0.0 && x + width > room {
            (x, row) = (0.0, row + 1);
        }
        let place = (x, row);
        x += width + ENTRY_GAP;
        place
    };
    widths.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_do_not_fit_begin_a_row() {
        assert_eq!(places([50.0, 50.0, 50.0], 120.0), [(0.0, 0), (70.0, 0), (0.0, 1)]);
        assert_eq!(places([500.0, 50.0], 120.0), [(0.0, 0), (0.0, 1)]);
    }
}
