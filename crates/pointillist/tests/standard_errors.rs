//! Standard errors of hyper-parameters, and an unknown constant.

use pointillist::settings::{Inducing, LatticeMean, Smoothness};
use pointillist::{Events, InducingPoints, LatticeChoice, Model, Points, Prior, Window, simulate};

fn events(seed: u64) -> Events {
    let window = Window::interval(0.0, 10.0).unwrap();
    let points = simulate(&window, |x| 20.0 + 15.0 * (1.3 * x[0]).sin(), seed, 0).unwrap();
    Events::new(points, window).unwrap()
}

fn lattice(mean: LatticeMean) -> Model {
    let (nodes, smoothness) = (Some(vec![80]), Some(Smoothness::Two));
    Model {
        family: LatticeChoice { nodes, smoothness, mean, ..LatticeChoice::as_in_the_paper() }.into(),
        ..Model::of_maximum_likelihood()
    }
}

/// The bound as a function of one hyper-parameter, the others learned anew, is a parabola about its maximum with the standard error as its width:
/// it falls by half a nat at one standard error in the logarithm. (Not on a lattice, whose nodes move with the range that is held.)
#[test]
fn the_profile_of_the_bound_falls_by_half_a_nat() {
    let points = InducingPoints { points: Inducing::Grid(vec![24]), ..InducingPoints::as_in_the_paper() };
    let model = Model { family: points.into(), ..Model::of_maximum_likelihood() };
    let fit = Model { errors: true, ..model.clone() }.fit(&events(4)).unwrap();
    let errors = fit.report.standard_errors.clone().expect("a maximum in all of them");
    assert_eq!(errors.len(), 3);
    for error in &errors {
        assert!(error.se > 0.0 && error.se.is_finite(), "{error:?}");
        let at = |value: f64| {
            let fixed = vec![(error.name.clone(), value)];
            fit.report.bound.total() - Model { fixed, ..model.clone() }.fit(&events(4)).unwrap().report.bound.total()
        };
        // A quarter of it: the profile is a parabola only near the maximum.
        let relative = 0.25 * error.se / error.value.abs();
        let fall = 0.5 * (at(error.value * relative.exp()) + at(error.value * (-relative).exp()));
        assert!((fall / (0.5 * 0.25 * 0.25) - 1.0).abs() < 0.35, "{error:?} {fall}");
    }
    assert!(model.fit(&events(4)).unwrap().report.standard_errors.is_none());
}

/// A tight prior makes a hyper-parameter known.
#[test]
fn a_prior_narrows_them() {
    let narrow = vec![("lengthscale".to_string(), Prior::LogNormal { location: 0.0, scale: 0.01 })];
    let fit = Model { errors: true, priors: narrow, ..lattice(LatticeMean::Learned) }.fit(&events(4)).unwrap();
    let errors = fit.report.standard_errors.expect("a maximum");
    let length = errors.iter().find(|error| error.name.starts_with("lengthscale")).unwrap();
    assert!((length.se / length.value - 0.01).abs() < 0.001, "{length:?}");
}

/// On flat data the uncertainty of the total is that of a Poisson count, which a learned constant hides.
#[test]
fn an_unknown_constant_makes_the_total_uncertain() {
    let window = Window::interval(0.0, 10.0).unwrap();
    let [mut learned, mut integrated, mut covered] = [0.0; 3];
    let sets = 40;
    for seed in 0..sets {
        let events = Events::new(simulate(&window, |_| 10.0, seed, 1).unwrap(), window.clone()).unwrap();
        let root = (events.len() as f64).sqrt();
        let count = |mean: LatticeMean| lattice(mean).fit(&events).unwrap().posterior.count(&window).unwrap();
        learned += count(LatticeMean::Learned).sd / root / sets as f64;
        let own = count(LatticeMean::Integrated);
        integrated += own.sd / root / sets as f64;
        covered += f64::from((own.mean - 100.0).abs() < 1.645 * own.sd) / sets as f64;
    }
    assert!(integrated > 0.85 && integrated < 1.2 && learned < integrated, "{learned} {integrated}");
    // 90 % of 40: all but four, give or take two.
    assert!(covered > 0.8, "{covered}");
}

#[test]
fn a_posterior_with_an_unknown_constant_comes_back_from_its_numbers() {
    let posterior = lattice(LatticeMean::Integrated).fit(&events(2)).unwrap().posterior;
    let again = pointillist::Posterior::from_state(posterior.state()).unwrap();
    let at = Points::line(&[0.1, 5.0, 9.9, 11.0]).unwrap();
    let [ours, theirs] = [&again, &posterior].map(|p| p.rate_and_quantiles(&at, &[0.1, 0.9]).unwrap());
    ours.0.mean.iter().zip(&theirs.0.mean).for_each(|(a, b)| assert!((a - b).abs() < 1e-12 * b, "{a} {b}"));
    ours.0.sd.iter().zip(&theirs.0.sd).for_each(|(a, b)| assert!((a - b).abs() < 1e-9 * b, "{a} {b}"));
    assert_eq!(posterior.lattice().unwrap().mean, LatticeMean::Integrated);
    // Draws have the moments that the closed form says, at a point and over a region.
    let (draws, region) = (posterior.sample(&at, 20_000, 1).unwrap(), Window::interval(2.0, 7.0).unwrap());
    for (n, mean) in theirs.0.mean.iter().enumerate().take(3) {
        let drawn = draws.iter().map(|draw| draw[n]).sum::<f64>() / draws.len() as f64;
        assert!((drawn / mean - 1.0).abs() < 0.02, "{drawn} {mean}");
    }
    let (count, drawn) = (posterior.count(&region).unwrap(), posterior.count_draws(&region, 20_000, 1).unwrap());
    let mean = drawn.iter().map(|(x, _)| x).sum::<f64>() / drawn.len() as f64;
    let sd = (drawn.iter().map(|(x, _)| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64).sqrt();
    assert!((mean / count.mean - 1.0).abs() < 0.01 && (sd / count.sd - 1.0).abs() < 0.03, "{mean} {sd} {count:?}");
    let joint = posterior.joint_counts(std::slice::from_ref(&region), 20_000, 2).unwrap();
    assert!((joint.moments()[0].sd / count.sd - 1.0).abs() < 0.02, "{:?} {count:?}", joint.moments());
    // And a score in closed form agrees with that of draws.
    let held_out = Events::new(Points::line(&[1.0, 1.4, 6.0]).unwrap(), Window::interval(0.0, 10.0).unwrap()).unwrap();
    let score = posterior.score(&held_out, 4000, 1).unwrap();
    assert!(score.l_p < score.m_p.value && score.m_p.k < 0.7, "{score:?}");
}
