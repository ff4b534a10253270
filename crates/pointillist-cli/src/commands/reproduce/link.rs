//! The function G̃ of the paper's E[log f²] (its figure), and what the expectation is made of.

use super::Failure;
use super::report::{Picture, Section};
use pointillist::numerics::special::{expected_log_square, g_tilde};
use pointillist_plot::{ChartFigure, Series, Stroke};

const LARGEST: f64 = 30.0;
const POINTS: usize = 301;

pub fn run() -> Result<Section, Failure> {
    let z: Vec<f64> = (0..POINTS).map(|i| LARGEST * i as f64 / (POINTS - 1) as f64).collect();
    let both: Vec<(f64, f64)> = z.iter().map(|&z| g_tilde(-z)).collect();
    // With mean m and variance 1, z = m²/2; the naive log of the mean square, beside the expectation itself.
    let expectation = z.iter().map(|&z| expected_log_square((2.0 * z).sqrt(), 1.0).value).collect();
    let naive = z.iter().map(|&z| (2.0 * z + 1.0).ln()).collect();
    let series = |label: &str, y: Vec<f64>, stroke: Stroke| Series::line(label, &z, y, stroke);
    let figure = ChartFigure {
        title: "The link: G̃ and the expectation it gives".into(),
        x_label: "z = m²/(2σ²)".into(),
        y_label: "value".into(),
        series: vec![
            series("G̃(−z)", both.iter().map(|g| g.0).collect(), Stroke::Solid),
            series("its slope", both.iter().map(|g| g.1).collect(), Stroke::Dotted),
            series("E[log f²], σ² = 1", expectation, Stroke::Solid),
            series("log E[f²], σ² = 1", naive, Stroke::Dashed),
        ],
        levels: vec![],
        events: vec![],
        from_zero: false,
    };
    Ok(Section {
        title: "The look of G̃".into(),
        text: vec![
            "The paper's E[log f²] for f ~ N(m, σ²) is −G̃(−m²/(2σ²)) + log(σ²/2) − 0.577…; it takes G̃ from a table, here it is computed to \
            machine precision."
                .into(),
        ],
        tables: vec![],
        pictures: vec![Picture {
            file: "link.svg".into(),
            caption: "G̃, its slope, and the expectation that stands in the bound.".into(),
            svg: figure.svg(),
        }],
        goals: vec![],
    })
}
