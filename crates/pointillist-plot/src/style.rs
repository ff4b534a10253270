//! How a figure is drawn, whatever it shows: colours, scale of the rates, events, and size on paper.

use super::palette::Palette;
use super::scale::{Range, Spread, count, event_count, usable};

/// Inches of a unit of the picture in print: tick labels of twelve units are then 7.2 points high.
const PRINT_UNIT: f64 = 1.0 / 120.0;
/// Inches of a unit on a screen, as browsers have it.
const SCREEN_UNIT: f64 = 1.0 / 96.0;
const MILLIMETRES_PER_INCH: f64 = 25.4;
/// Thinned events are no more than these.
const MOST_THINNED: usize = 2_000;

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The colours of maps.
    pub palette: Palette,
    /// Whether values stand on a scale of their logarithms.
    pub log: bool,
    /// The ends of the scale of values (default: what there is to see).
    pub limits: Option<(f64, f64)>,
    /// Which events are drawn.
    pub events: EventsShown,
    /// How large the figure is.
    pub size: Size,
}

/// Which of its events a figure shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventsShown {
    /// As many as can be told apart.
    #[default]
    Usual,
    /// None of them.
    Hidden,
    /// Some two thousand at the most.
    Thinned,
    /// All, however many there are.
    All,
}

/// How large a figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Size {
    /// As fits a screen.
    #[default]
    Screen,
    /// So many millimetres wide, and as high as it needs to be.
    Wide(f64),
    /// Millimetres from left to right and from top to bottom.
    Paper(f64, f64),
}

impl Size {
    /// Inches of a unit of the picture.
    pub(super) fn inches_per_unit(self) -> f64 {
        if self == Self::Screen { SCREEN_UNIT } else { PRINT_UNIT }
    }

    /// The size with these lengths in units of the picture.
    pub(super) fn of_units(width: f64, height: f64) -> Self {
        let millimetres = |units: f64| units * PRINT_UNIT * MILLIMETRES_PER_INCH;
        Self::Paper(millimetres(width), millimetres(height))
    }

    /// Width and height in units of the picture, as far as they are given.
    pub(super) fn units(self) -> (Option<f64>, Option<f64>) {
        let units = |millimetres: f64| millimetres / MILLIMETRES_PER_INCH / PRINT_UNIT;
        match self {
            Self::Screen => (None, None),
            Self::Wide(width) => (Some(units(width)), None),
            Self::Paper(width, height) => (Some(units(width)), Some(units(height))),
        }
    }
}

impl Style {
    /// The range of the values shown, if it is said and makes sense.
    pub(super) fn given_range(&self) -> Option<Range> {
        self.limits.filter(|&(lo, hi)| lo < hi && usable(Some((lo, hi))) == (lo, hi) && (!self.log || lo > 0.0))
    }

    /// How heights are spread.
    pub(super) fn spread(&self) -> Spread {
        if self.log { Spread::Log } else { Spread::Even }
    }
}

impl EventsShown {
    /// How many of so many are drawn, where `usual` is the most that can be told apart.
    pub(super) fn most(self, all: usize, usual: usize) -> usize {
        match self {
            Self::Usual => all.min(usual),
            Self::Hidden => 0,
            Self::Thinned => all.min(MOST_THINNED),
            Self::All => all,
        }
    }

    /// The same for a part of all, which shares what may be drawn with the other parts.
    pub(super) fn most_of_part(self, part: usize, all: usize, usual: usize) -> usize {
        match self {
            Self::Thinned if all > 0 => part.min((MOST_THINNED as f64 * part as f64 / all as f64).ceil() as usize),
            _ => self.most(part, usual),
        }
    }
}

/// An even selection of so many.
pub(super) fn selection<T: Copy>(all: &[T], shown: usize) -> Vec<T> {
    let shown = shown.min(all.len());
    (0..shown).map(|i| all[i * all.len() / shown]).collect()
}

/// "191 events", or how many of them are shown.
pub(super) fn caption(shown: usize, all: usize) -> String {
    if shown < all { format!("showing {} of {}", count(shown), event_count(all)) } else { event_count(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_sizes_are_in_millimetres() {
        let (width, height) = Size::Paper(85.0, 25.4).units();
        assert!((width.unwrap() - 401.57).abs() < 0.01 && (height.unwrap() - 120.0).abs() < 1e-9);
        assert_eq!(Size::Wide(25.4).units().1, None);
        assert_eq!(Size::Screen.units(), (None, None));
    }

    #[test]
    fn selections_are_even_and_said() {
        assert_eq!(selection(&[0, 1, 2, 3, 4, 5], 3), [0, 2, 4]);
        assert_eq!(selection(&[7], 9), [7]);
        assert_eq!(selection::<u8>(&[], 9), []);
        assert_eq!(EventsShown::Thinned.most(5_000, 20), 2_000);
        assert_eq!(EventsShown::Thinned.most_of_part(1_000, 4_000, 20), 500);
        assert_eq!(EventsShown::Thinned.most_of_part(10, 40, 20), 10);
        assert_eq!(caption(2_000, 5_000), "showing 2,000 of 5,000 events");
        assert_eq!(caption(1, 1), "1 event");
    }

    #[test]
    fn senseless_limits_are_not_taken() {
        let range = |log, limits| Style { log, limits: Some(limits), ..Style::default() }.given_range();
        assert_eq!(range(false, (-1.0, 2.0)), Some((-1.0, 2.0)));
        assert_eq!(range(true, (0.0, 2.0)), None);
        assert_eq!(range(false, (2.0, 2.0)), None);
        assert_eq!(range(false, (f64::NAN, 2.0)), None);
        assert_eq!(range(false, (0.0, 1e-320)), None);
        assert_eq!(range(false, (1.0, 1.0 + 1e-15)), None);
    }
}
