//! Every choice of colours for data: the scales of maps, and the colours of lines that stand together.
//!
//! All are told apart by colour-blind eyes, and the scales keep their order in a grey print: bright is high.

use super::drawing::{INK, Rgb};

/// The colours of a map, from low values to high ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// Violet, green, yellow.
    #[default]
    Viridis,
    /// Black, magenta, cream.
    Magma,
    /// Blue, grey, yellow: made for colour-blind eyes.
    Cividis,
    /// Nearly black to nearly white.
    Grey,
}

/// Stops of each scale at even steps; linear steps between them follow it closely.
const VIRIDIS: [Rgb; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2d, 0x7b],
    [0x3b, 0x52, 0x8b],
    [0x2c, 0x72, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x28, 0xae, 0x80],
    [0x5e, 0xc9, 0x62],
    [0xad, 0xdc, 0x30],
    [0xfd, 0xe7, 0x25],
];
const MAGMA: [Rgb; 9] = [
    [0x00, 0x00, 0x04],
    [0x1d, 0x11, 0x47],
    [0x51, 0x12, 0x7c],
    [0x82, 0x26, 0x81],
    [0xb6, 0x36, 0x79],
    [0xe6, 0x51, 0x64],
    [0xfb, 0x88, 0x61],
    [0xfe, 0xc2, 0x87],
    [0xfc, 0xfd, 0xbf],
];
const CIVIDIS: [Rgb; 10] = [
    [0x00, 0x22, 0x4e],
    [0x12, 0x35, 0x70],
    [0x3b, 0x49, 0x6c],
    [0x57, 0x5d, 0x6d],
    [0x70, 0x71, 0x73],
    [0x8a, 0x86, 0x78],
    [0xa5, 0x9c, 0x74],
    [0xc3, 0xb3, 0x69],
    [0xe1, 0xcc, 0x55],
    [0xfe, 0xe8, 0x38],
];
const GREY: [Rgb; 2] = [[0x1c; 3], [0xf4; 3]];

impl Palette {
    /// Evenly spaced colours of the scale, low to high.
    pub(super) fn stops(self) -> &'static [Rgb] {
        match self {
            Self::Viridis => &VIRIDIS,
            Self::Magma => &MAGMA,
            Self::Cividis => &CIVIDIS,
            Self::Grey => &GREY,
        }
    }

    /// The colour of a fraction of the scale.
    pub(super) fn colour(self, fraction: f64) -> Rgb {
        let stops = self.stops();
        // Not `clamp`, which would let a NaN through.
        let inside = if fraction > 0.0 { fraction.min(1.0) } else { 0.0 };
        let position = inside * (stops.len() - 1) as f64;
        let below = (position as usize).min(stops.len() - 2);
        let share = position - below as f64;
        let mix = |i: usize| {
            let (a, b) = (f64::from(stops[below][i]), f64::from(stops[below + 1][i]));
            (a + share * (b - a)).round() as u8
        };
        [mix(0), mix(1), mix(2)]
    }
}

/// The colours of Okabe and Ito, with brown for a yellow that is too pale on white: for the series of a chart.
const SERIES: [Rgb; 8] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    INK,
    [0xe6, 0x9f, 0x00],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0x8b, 0x5a, 0x2b],
];

/// The colour of a series by its number; after eight they repeat.
pub(super) fn series_colour(number: usize) -> Rgb {
    SERIES[number % SERIES.len()]
}

/// The blue of a single curve, and those of curves over it: far from it, and from the red of the events.
const CURVES: [Rgb; 5] = [[0x1b, 0x5e, 0x9e], [0xe6, 0x9f, 0x00], [0x00, 0x9e, 0x73], [0xcc, 0x79, 0xa7], INK];

/// The colour of a curve by its number; after five they repeat.
pub(super) fn curve_colour(number: usize) -> Rgb {
    CURVES[number % CURVES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scale_brightens_steadily() {
        for palette in [Palette::Viridis, Palette::Magma, Palette::Cividis, Palette::Grey] {
            let light = |f: f64| {
                let [r, g, b] = palette.colour(f).map(f64::from);
                0.2126 * r + 0.7152 * g + 0.0722 * b
            };
            assert!((1..=50).all(|i| light(f64::from(i) / 50.0) > light(f64::from(i - 1) / 50.0)), "{palette:?}");
            let stops = palette.stops();
            assert_eq!(palette.colour(0.0), stops[0]);
            assert_eq!(palette.colour(f64::INFINITY), stops[stops.len() - 1]);
            assert_eq!(palette.colour(f64::NAN), stops[0]);
        }
    }
}
