//! Simulate, fit, and look whether the truth lies where the posterior says. Seeds are fixed: the outcome is the same every time.

use pointillist::kernel::Expression;
use pointillist::settings::Inducing;
use pointillist::{Events, Family, InducingPoints, Model, Points, Window};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Events of the intensity on [0, hi] by thinning.
fn simulate(rate: impl Fn(f64) -> f64, ceiling: f64, hi: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut times = Vec::new();
    let mut t = 0.0;
    loop {
        t -= (1.0 - rng.random::<f64>()).ln() / ceiling;
        if t > hi {
            return times;
        }
        if rng.random::<f64>() * ceiling < rate(t) {
            times.push(t);
        }
    }
}

fn fit(times: &[f64], hi: f64) -> pointillist::Fit {
    let events = Events::new(Points::line(times).unwrap(), Window::interval(0.0, hi).unwrap()).unwrap();
    Model { family: Inducing::Grid(vec![24]).into(), ..Model::of_maximum_likelihood() }.fit(&events).unwrap()
}

#[test]
fn the_band_covers_a_known_intensity_about_as_often_as_it_says() {
    let truth = |t: f64| (2.5 + 1.5 * (t / 1.6).sin()).powi(2);
    let at: Vec<f64> = (0..40).map(|i| 0.25 * i as f64 + 0.1).collect();
    let grid = Points::line(&at).unwrap();
    let (mut inside, mut total, mut squared_error, mut flat_error) = (0, 0, 0.0, 0.0);
    let mut halves = Vec::new();
    for seed in 0..20 {
        let times = simulate(truth, 16.5, 10.0, seed);
        let fit = fit(&times, 10.0);
        let band = fit.posterior.quantiles(&grid, &[0.05, 0.95, 0.25, 0.75]).unwrap();
        let in_half = |i: &usize| band[2][*i] <= truth(at[*i]) && truth(at[*i]) <= band[3][*i];
        halves.push((0..at.len()).filter(in_half).count() as f64 / at.len() as f64);
        let rate = fit.posterior.rate(&grid).unwrap();
        let mean_rate = times.len() as f64 / 10.0;
        for (i, &t) in at.iter().enumerate() {
            inside += usize::from(band[0][i] <= truth(t) && truth(t) <= band[1][i]);
            total += 1;
            squared_error += (rate.mean[i] - truth(t)).powi(2);
            flat_error += (mean_rate - truth(t)).powi(2);
        }
    }
    let coverage = inside as f64 / total as f64;
    assert!((0.80..=0.97).contains(&coverage), "a 90 % band that covers {coverage}");
    // The band of 50 %, as pages show it: sets are independent, places of a set are not. Point estimates make it a little narrow.
    let mean = halves.iter().sum::<f64>() / 20.0;
    let error = (halves.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / 19.0 / 20.0).sqrt();
    println!("50 % band: {mean:.3} ± {error:.3}");
    assert!(error < 0.06 && (mean - 0.5).abs() < 3.5 * error, "a 50 % band that covers {mean} ± {error}");
    assert!(squared_error < 0.2 * flat_error, "{squared_error} {flat_error}");
}

#[test]
fn a_flat_intensity_is_found_flat() {
    let times = simulate(|_| 8.0, 8.0, 20.0, 5);
    let fit = fit(&times, 20.0);
    let at = Points::line(&(0..20).map(|i| i as f64 + 0.5).collect::<Vec<_>>()).unwrap();
    let rate = fit.posterior.rate(&at).unwrap();
    let mean = times.len() as f64 / 20.0;
    assert!(rate.mean.iter().all(|r| (r / mean - 1.0).abs() < 0.25), "{:?}", rate.mean);
}

#[test]
fn the_band_of_a_flat_intensity_is_as_wide_as_the_count_is_uncertain() {
    let at = Points::line(&[3.0, 10.0, 17.0]).unwrap();
    let (mut inside, mut total) = (0, 0);
    for seed in 0..40 {
        let times = simulate(|_| 5.0, 5.0, 20.0, 100 + seed);
        let fit = fit(&times, 20.0);
        let (rate, band) = (fit.posterior.rate(&at).unwrap(), fit.posterior.quantiles(&at, &[0.05, 0.95]).unwrap());
        // no narrower than the band of a constant rate would be, whose sd is √N / |T|
        let least = (times.len() as f64).sqrt() / 20.0;
        assert!(rate.sd.iter().all(|sd| *sd > 0.9 * least), "{seed}: {:?} {least}", rate.sd);
        for i in 0..3 {
            inside += usize::from(band[0][i] <= 5.0 && 5.0 <= band[1][i]);
            total += 1;
        }
    }
    let coverage = f64::from(inside as u32) / f64::from(total as u32);
    assert!(coverage > 0.80, "a 90 % band that covers {coverage}");
}

#[test]
fn events_drawn_from_the_posterior_look_like_the_events() {
    let truth = |t: f64| 20.0 * (-(t - 3.0).powi(2) / 2.0).exp() + 1.0;
    let times = simulate(truth, 21.0, 10.0, 11);
    let fit = fit(&times, 10.0);
    let early = Window::interval(0.0, 5.0).unwrap();
    let expected = fit.posterior.count(&early).unwrap();
    let counts: Vec<f64> = (0..400)
        .map(|draw| {
            let points = fit.posterior.sample_events(1, draw).unwrap();
            assert!(points.rows().all(|row| (0.0..=10.0).contains(&row[0])));
            points.rows().filter(|row| row[0] < 5.0).count() as f64
        })
        .collect();
    let mean = counts.iter().sum::<f64>() / 400.0;
    // a count given the intensity is Poisson, so its variance is that of the intensity's integral plus its mean
    let sd = (expected.sd.powi(2) + expected.mean).sqrt();
    assert!((mean - expected.mean).abs() < 4.0 * sd / 20.0, "{mean} {expected:?}");
    let draws = fit.posterior.sample(&Points::line(&[3.0, 8.0]).unwrap(), 2000, 4).unwrap();
    let rate = fit.posterior.rate(&Points::line(&[3.0, 8.0]).unwrap()).unwrap();
    for k in 0..2 {
        let mean = draws.iter().map(|d| d[k]).sum::<f64>() / 2000.0;
        assert!((mean - rate.mean[k]).abs() < 4.0 * rate.sd[k] / 2000f64.sqrt(), "{mean} {}", rate.mean[k]);
    }
}

#[test]
fn held_out_scores_prefer_the_better_fit_and_keep_their_order() {
    // The coal data split in two: the scores' own errors are small, and the bounds lie below what they bound.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../pointillist-io/data/coal/coal.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let years: Vec<f64> = text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut train, mut test) = (vec![], vec![]);
    for year in years {
        if rng.random::<bool>() { train.push(year) } else { test.push(year) }
    }
    let window = Window::interval(1851.2026009582, 1962.2197125257).unwrap();
    let score = |counts: usize| {
        let events = Events::new(Points::line(&train).unwrap(), window.clone()).unwrap();
        let fit = Model { family: Inducing::Grid(vec![counts]).into(), ..Model::of_maximum_likelihood() }
            .fit(&events)
            .unwrap();
        let held_out = Events::new(Points::line(&test).unwrap(), window.clone()).unwrap();
        fit.posterior.score(&held_out, 10_000, 0).unwrap()
    };
    for counts in [1, 10, 31] {
        let s = score(counts);
        assert!(s.m_p.se < 0.05 && s.m_0.se < 0.05, "{counts}: {s:?}");
        assert!(s.l_p <= s.m_p.value + 3.0 * s.m_p.se && s.l_0 <= s.m_0.value + 3.0 * s.m_0.se, "{counts}: {s:?}");
    }
    let (one, many) = (score(1), score(10));
    assert!(many.m_p.value > one.m_p.value + 3.0, "{one:?} {many:?}");
}

/// A daily cycle times a slow trend, over two weeks; λ at time t.
fn daily(t: f64) -> f64 {
    let trend = 30.0 + 15.0 * (t / 3.0).sin();
    trend * (0.1 + 1.4 * (0.5 + 0.5 * (std::f64::consts::TAU * (t - 0.6)).cos()).powi(2))
}
const DAILY_CEILING: f64 = 45.0 * 1.5;
const DAYS: f64 = 14.0;

fn fit_with(kernel: &str, times: &[f64], window: &Window) -> pointillist::Fit {
    let kernel = Some(Expression::parse(kernel, &["t"]).unwrap());
    let events = Events::new(Points::line(times).unwrap(), window.clone()).unwrap();
    Model {
        family: Family::Inducing(InducingPoints { kernel, ..InducingPoints::default() }),
        ..Model::of_maximum_likelihood()
    }
    .fit(&events)
    .unwrap()
}

/// Mean of paired differences in units of its standard error.
fn paired_t(differences: &[f64]) -> f64 {
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    mean / (variance / count).sqrt()
}

#[test]
fn a_kernel_that_knows_of_days_does_better_where_there_are_days() {
    let window = Window::interval(0.0, DAYS).unwrap();
    let grid = Points::line(&(0..700).map(|i| 0.02 * i as f64 + 0.01).collect::<Vec<_>>()).unwrap();
    let (mut scores, mut errors) = (vec![], vec![]);
    for seed in 0..20 {
        let times = simulate(daily, DAILY_CEILING, DAYS, 500 + seed);
        let held_out = Points::line(&simulate(daily, DAILY_CEILING, DAYS, 900 + seed)).unwrap();
        let held_out = Events::new(held_out, window.clone()).unwrap();
        let measure = |kernel: &str| {
            let posterior = fit_with(kernel, &times, &window).posterior;
            let rate = posterior.rate(&grid).unwrap().mean;
            let squares = rate.iter().zip(grid.axis(0)).map(|(r, t)| (r - daily(t)).powi(2));
            (posterior.score(&held_out, 2, 0).unwrap().l_p, (squares.sum::<f64>() / grid.len() as f64).sqrt())
        };
        let (plain, cyclic) = (measure("se"), measure("se*periodic(t, period=1!)"));
        scores.push(cyclic.0 - plain.0);
        errors.push(plain.1 - cyclic.1);
    }
    println!("l_p gains {:.2} (t = {:.1})", scores.iter().sum::<f64>() / 20.0, paired_t(&scores));
    println!("RMS falls by {:.2} (t = {:.1})", errors.iter().sum::<f64>() / 20.0, paired_t(&errors));
    assert!(paired_t(&scores) > 4.0, "{scores:?}");
    assert!(paired_t(&errors) > 4.0, "{errors:?}");
}

#[test]
fn gaps_in_a_recording_do_not_change_what_is_said_between_them() {
    let watched = [(0.0, 2.7), (3.5, 8.2), (8.9, 11.0), (12.6, DAYS)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
    let (whole, cut) = (Window::interval(0.0, DAYS).unwrap(), Window::union(&watched).unwrap());
    let at =
        Points::line(&(0..280).map(|i| 0.05 * i as f64 + 0.02).filter(|t| cut.contains(&[*t])).collect::<Vec<_>>());
    let at = at.unwrap();
    for seed in 0..3 {
        let times = simulate(daily, DAILY_CEILING, DAYS, 700 + seed);
        let seen: Vec<f64> = times.iter().copied().filter(|t| cut.contains(&[*t])).collect();
        for kernel in ["se*periodic(t, period=1!)", "se"] {
            let (full, gappy) = (fit_with(kernel, &times, &whole), fit_with(kernel, &seen, &cut));
            // what the whole recording says lies in the band of what the cut one says
            let band = gappy.posterior.quantiles(&at, &[0.05, 0.95]).unwrap();
            let rate = full.posterior.rate(&at).unwrap();
            let outside = (0..at.len()).filter(|&i| rate.mean[i] < band[0][i] || rate.mean[i] > band[1][i]).count();
            assert!(outside == 0, "{kernel}, {seed}: {outside} of {} outside the band", at.len());
            // in a gap the answer is less certain than beside it
            let sd = gappy.posterior.rate(&Points::line(&[2.1, 3.1, 4.1, 11.8]).unwrap()).unwrap().sd;
            assert!(kernel != "se" || sd[1] > sd[0] && sd[1] > sd[2], "{sd:?}");
        }
    }
}

#[test]
fn a_period_that_nobody_told_is_found() {
    let times = simulate(daily, DAILY_CEILING, DAYS, 3);
    let fit = fit_with("se*periodic", &times, &Window::interval(0.0, DAYS).unwrap());
    let kernel = fit.posterior.kernel().unwrap();
    let period = kernel.parameters_called("period", &["t"])[0];
    assert!((kernel.parameters()[period] - 1.0).abs() < 0.02, "{:?}", kernel.parameters());
}
