//! Whether intervals of contrasts and of forecasts hold the truth as often as they say: intensities from the prior, events in a part of their span,
//! and what lies in and beyond that part.

use pointillist::internals::sample::{standard_normal, stream};
use pointillist::settings::Smoothness;
use pointillist::{Events, LatticeChoice, Link, Model, Points, Posterior, Window, simulate};
use rand::RngExt;

/// Events are seen from 0 to 1; intensities reach to 1.25.
const END: f64 = 1.25;
const CELLS: usize = 250;
const SETS: u64 = 80;

/// log λ at the ends of cells, linear between them.
struct Truth(Vec<f64>);

impl Truth {
    /// From the priors of a fit: P(range < 0.02) = P(sd > 3) = 0.05, a Matérn field of smoothness 2, a constant about the logarithm of 150.
    fn draw(number: u64) -> Self {
        let mut rng = stream(21, number);
        let mut exponential = || -(1.0 - rng.random::<f64>()).ln();
        let range = (-0.05f64.ln() * 0.02f64.sqrt() / exponential()).powi(2).min(4.0);
        let sd = exponential() * 3.0 / -0.05f64.ln();
        let correlation = |i: usize, j: usize| {
            let x = 3f64.sqrt() * (i.abs_diff(j) as f64 * END / CELLS as f64) / (0.5 * range);
            (1.0 + x) * (-x).exp()
        };
        let root = cholesky(CELLS + 1, |i, j| correlation(i, j) + if i == j { 1e-9 } else { 0.0 });
        let noise = standard_normal(&mut rng, CELLS + 2);
        let f = |i: usize| root[i].iter().zip(&noise).map(|(l, e)| l * e).sum::<f64>();
        Self((0..=CELLS).map(|i| 150f64.ln() + noise[CELLS + 1] + sd * f(i)).collect())
    }

    fn rate(&self, x: f64) -> f64 {
        let place = (x / END * CELLS as f64).clamp(0.0, CELLS as f64);
        let cell = (place as usize).min(CELLS - 1);
        let part = place - cell as f64;
        ((1.0 - part) * self.0[cell] + part * self.0[cell + 1]).exp()
    }

    /// Expected events between two ends.
    fn count(&self, a: f64, b: f64) -> f64 {
        let steps = 2000;
        let middle = |i: usize| a + (b - a) * (i as f64 + 0.5) / steps as f64;
        (0..steps).map(|i| self.rate(middle(i))).sum::<f64>() * (b - a) / steps as f64
    }
}

fn cholesky(size: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    let mut root: Vec<Vec<f64>> = vec![];
    for i in 0..size {
        let mut row: Vec<f64> = vec![];
        for j in 0..i {
            let sum: f64 = row.iter().zip(&root[j]).map(|(a, b)| a * b).sum();
            row.push((entry(i, j) - sum) / root[j][j]);
        }
        let sum: f64 = row.iter().map(|a| a * a).sum();
        row.push((entry(i, i) - sum).max(1e-12).sqrt());
        root.push(row);
    }
    root
}

fn interval(a: f64, b: f64) -> Window {
    Window::interval(a, b).unwrap()
}

fn fitted(truth: &Truth, number: u64) -> Option<Posterior> {
    let window = interval(0.0, 1.0);
    let points = simulate(&window, |x| truth.rate(x[0]), 22, number).unwrap();
    if !(5..=3000).contains(&points.len()) {
        return None; // a condition on the data alone leaves right answers right
    }
    let family =
        LatticeChoice { smoothness: Some(Smoothness::Two), links: vec![Link::Log], ..LatticeChoice::default() };
    let model = Model { family: family.into(), checked: false, ..Model::default() };
    Some(model.fit(&Events::new(points, window).unwrap()).unwrap().posterior)
}

#[test]
fn contrasts_and_forecasts_hold_the_truth_as_often_as_they_say() {
    let names = ["difference", "ratio", "rate ahead", "count ahead"];
    let (mut held, mut narrow, mut sets) = ([0.0; 4], [0.0; 4], 0.0);
    for number in 0..SETS {
        let truth = Truth::draw(number);
        let Some(posterior) = fitted(&truth, number) else { continue };
        sets += 1.0;
        let probabilities = [0.05, 0.25, 0.75, 0.95];
        let regions = [interval(0.1, 0.35), interval(0.6, 0.9), interval(1.0, 1.2)];
        let counts = posterior.joint_counts(&regions, 2000, number).unwrap();
        let contrast = counts.contrast(0, 1, &probabilities).unwrap();
        let ahead = posterior.quantiles(&Points::line(&[1.1]).unwrap(), &probabilities).unwrap().concat();
        let (a, b) = (truth.count(0.1, 0.35), truth.count(0.6, 0.9));
        let truths = [a - b, a / b, truth.rate(1.1), truth.count(1.0, 1.2)];
        let bands =
            [contrast.difference.quantiles, contrast.ratio.quantiles, ahead, counts.quantiles(2, &probabilities)];
        for (i, (band, truth)) in bands.iter().zip(truths).enumerate() {
            held[i] += f64::from(band[0] <= truth && truth <= band[3]);
            narrow[i] += f64::from(band[1] <= truth && truth <= band[2]);
        }
    }
    assert!(sets > 60.0, "{sets}");
    for (i, name) in names.iter().enumerate() {
        let (held, narrow) = (held[i] / sets, narrow[i] / sets);
        println!("{name}: {:.1} % in 90 %, {:.1} % in 50 %, of {sets} sets", 100.0 * held, 100.0 * narrow);
        // Three standard errors of a share of so many sets.
        assert!((held - 0.9).abs() < 3.0 * (0.09 / sets).sqrt(), "{name}: {held}");
        assert!((narrow - 0.5).abs() < 3.0 * (0.25 / sets).sqrt(), "{name}: {narrow}");
    }
}
