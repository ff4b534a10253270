//! The ratio of two rates, both uncertain: how often its band holds a ratio that is known.

use pointillist::{Events, Model, Points, Posterior, Window, simulate};

/// The rate of controls, and that of cases over it.
fn controls(x: f64) -> f64 {
    8.0 + 6.0 * (0.6 * x).sin()
}

fn risk(x: f64) -> f64 {
    0.4 + 1.2 * (-0.5 * (x - 6.0).powi(2)).exp()
}

fn fitted(rate: impl Fn(f64) -> f64 + Sync, draw: u64) -> Posterior {
    let window = Window::interval(0.0, 10.0).unwrap();
    let drawn = simulate(&window, |x| rate(x[0]), 11, draw).unwrap();
    Model::default().fit(&Events::new(drawn, window).unwrap()).unwrap().posterior
}

/// The band of 90 % with both uncertain, and the plug-in's: the rate of cases over the mean rate of controls, as if that were known.
#[test]
fn the_band_of_a_ratio_holds_it_and_the_plug_in_one_does_not() {
    let places: Vec<f64> = (0..20).map(|i| 0.25 + 0.5 * f64::from(i)).collect();
    let points = Points::line(&places).unwrap();
    let (mut both, mut plugged_in, mut all) = (0, 0, 0);
    for set in 0..40 {
        let (cases, controls) = (fitted(|x| controls(x) * risk(x), 2 * set), fitted(controls, 2 * set + 1));
        let ratio = cases.rate_ratio(&controls, &points, &[0.05, 0.95], &[]).unwrap().quantiles;
        let (band, mean) = (cases.quantiles(&points, &[0.05, 0.95]).unwrap(), controls.rate(&points).unwrap().mean);
        for (n, x) in places.iter().enumerate() {
            let holds = |low: f64, high: f64| usize::from((low..=high).contains(&risk(*x)));
            both += holds(ratio[0][n], ratio[1][n]);
            plugged_in += holds(band[0][n] / mean[n], band[1][n] / mean[n]);
            all += 1;
        }
    }
    let [both, plugged_in] = [both, plugged_in].map(|held| held as f64 / f64::from(all));
    assert!((0.86..=0.96).contains(&both), "{both}");
    assert!(plugged_in < both - 0.03, "{plugged_in} {both}");
}
