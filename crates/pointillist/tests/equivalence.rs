//! Every clever path against the plain one.

use crate::common;
use pointillist::field::inducing::{Hyper, Scattered};
use pointillist::report::Stop;
use pointillist::settings::{Inducing, Method, PriorMean};
use pointillist::state::{BasisState, InducingState};
use pointillist::{
    Error, Events, Family, Fit, InducingPoints, Kernel, Model, Points, Posterior, Prior, Progress, Window,
};
use std::ops::ControlFlow;

fn coal() -> Events {
    let (lo, hi) = common::COAL_WINDOW;
    Events::new(Points::line(&common::coal()).unwrap(), Window::interval(lo, hi).unwrap()).unwrap()
}

fn coal_fit(points: usize, prior_mean: PriorMean, method: Method) -> Fit {
    Model {
        family: InducingPoints {
            points: Inducing::Grid(vec![points]),
            method,
            prior_mean,
            ..InducingPoints::default()
        }
        .into(),
        ..Model::of_maximum_likelihood()
    }
    .fit(&coal())
    .unwrap()
}

#[test]
fn collapsed_and_joint_reach_the_same_bound_and_the_known_one() {
    // An independent optimiser's values, to two decimals.
    let known = [
        (10, PriorMean::Paper, -58.72),
        (15, PriorMean::Paper, -58.19),
        (31, PriorMean::Paper, -58.19),
        (10, PriorMean::Constant, -58.43),
        (15, PriorMean::Constant, -58.17),
        (31, PriorMean::Constant, -58.17),
    ];
    for (points, prior, at_least) in known {
        let collapsed = coal_fit(points, prior, Method::Collapsed);
        let joint = coal_fit(points, prior, Method::Joint);
        assert_eq!((collapsed.report.stop, joint.report.stop), (Stop::Converged, Stop::Converged));
        let (a, b) = (collapsed.report.bound.total(), joint.report.bound.total());
        assert!((a - b).abs() < 1e-4, "{points} {prior:?}: {a} {b}");
        assert!(a >= at_least, "{points} {prior:?}: {a} < {at_least}");
        assert!(collapsed.report.evaluations <= 150, "{}", collapsed.report.evaluations);
    }
}

#[test]
fn a_grid_given_as_locations_is_the_same_grid() {
    let (lo, hi) = common::COAL_WINDOW;
    let given = Inducing::At(Points::grid(&[lo], &[hi], &[15]));
    let grid = coal_fit(15, PriorMean::Constant, Method::Collapsed);
    let given = InducingPoints { points: given, ..InducingPoints::as_in_the_paper() };
    let given = Model { family: given.into(), ..Model::of_maximum_likelihood() }.fit(&coal()).unwrap();
    assert!((grid.report.bound.total() - given.report.bound.total()).abs() < 1e-4);
}

#[test]
fn shared_coordinates_and_separate_ones_give_the_same_features() {
    let window = Window::new(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
    let z = window.grid(&[4, 3]);
    let points = Points::from_rows(&[[0.2, 0.3], [0.9, 1.7], [0.5, 0.5]]).unwrap();
    let hyper = Hyper { kernel: Kernel::squared_exponential(2.0, &[0.4, 0.6]).unwrap(), mean: 1.0 };
    let features = |set: Scattered| set.basis(&hyper, PriorMean::Paper, 1e-8).unwrap().features(&points, &window);
    let (shared, separate) = (features(Scattered::new(z.clone())), features(Scattered::moving(z)));
    for (a, b) in shared.points.a.data().iter().zip(separate.points.a.data()) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    for (a, b) in shared.region.square.data().iter().zip(separate.region.square.data()) {
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
    // the plain definition of the residual: k(x,x) − kᵀK⁻¹k, K without its jitter to rounding
    assert!(shared.points.residual.iter().all(|c| (0.0..2.0).contains(c)));
}

#[test]
fn moving_the_inducing_points_can_only_help() {
    let still = coal_fit(6, PriorMean::Constant, Method::Collapsed);
    let moved = Model {
        family: InducingPoints { points: Inducing::Grid(vec![6]), optimise: true, ..InducingPoints::as_in_the_paper() }
            .into(),
        ..Model::of_maximum_likelihood()
    }
    .fit(&coal())
    .unwrap();
    assert!(moved.report.bound.total() > still.report.bound.total() + 0.1);
    let (lo, hi) = common::COAL_WINDOW;
    assert!(moved.posterior.inducing().unwrap().axis(0).iter().all(|z| (lo..=hi).contains(z)));
}

#[test]
fn auto_finds_a_grid_that_more_points_do_not_improve() {
    let auto = Model { family: InducingPoints::as_in_the_paper().into(), ..Model::of_maximum_likelihood() }
        .fit(&coal())
        .unwrap();
    let fine = coal_fit(60, PriorMean::Constant, Method::Collapsed);
    assert!(fine.report.bound.total() - auto.report.bound.total() < 0.01);
    assert!(auto.report.inducing[0] < 40, "{:?}", auto.report.inducing);
    assert!(auto.report.choice.contains("unexplained"), "{}", auto.report.choice);
    assert!(auto.report.starts.len() > 2);
}

#[test]
fn a_posterior_read_back_is_the_same_to_the_last_bit() {
    let fit = coal_fit(12, PriorMean::Paper, Method::Collapsed);
    let again = Posterior::from_state(fit.posterior.state()).unwrap();
    let at = Points::line(&[1851.3, 1900.0, 1962.0]).unwrap();
    assert_eq!(fit.posterior.rate(&at).unwrap(), again.rate(&at).unwrap());
    assert_eq!(fit.posterior.sample(&at, 3, 9).unwrap(), again.sample(&at, 3, 9).unwrap());
    let breaks: [fn(&mut InducingState); 3] = [
        |state| state.q_root.truncate(1),
        |state| state.q_mean[0] = f64::NAN,
        |state| state.kernel.terms[0].variance = -1.0,
    ];
    for spoil in breaks {
        let mut broken = fit.posterior.state();
        let BasisState::Inducing(state) = &mut broken.components[0].basis else { panic!() };
        spoil(state);
        assert!(Posterior::from_state(broken).is_err());
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    // 3,000 events in two dimensions: enough for several blocks
    let u = |i: usize, step: f64| (0.5 + step * i as f64).fract();
    let rows: Vec<[f64; 2]> = (0..3000).map(|i| [u(i, 0.754878).powi(2), u(i, 0.56984)]).collect();
    let events =
        Events::new(Points::from_rows(&rows).unwrap(), Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()).unwrap();
    let model = Model { family: Inducing::Grid(vec![9, 9]).into(), ..Model::of_maximum_likelihood() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| model.fit(&events).unwrap().posterior.state())
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(4));
}

#[test]
fn a_watcher_sees_progress_and_can_cancel() {
    let mut seen: Vec<Progress> = Vec::new();
    let result = Model::default().fit_watched(&coal(), &mut |progress| {
        seen.push(*progress);
        if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(result.unwrap_err(), Error::Cancelled);
    assert_eq!(seen.len(), 3);
    assert!(seen.windows(2).all(|pair| pair[0].evaluations < pair[1].evaluations));
}

#[test]
fn a_budget_that_is_too_small_is_said() {
    let model =
        Model { family: Inducing::Grid(vec![15]).into(), most_evaluations: 6, ..Model::of_maximum_likelihood() };
    let fit = model.fit(&coal()).unwrap();
    assert_eq!(fit.report.stop, Stop::Evaluations);
    assert!(!fit.report.stop.converged());
}

#[test]
fn priors_pull_and_fixed_parameters_stay() {
    let free = coal_fit(15, PriorMean::Constant, Method::Collapsed);
    let l = free.posterior.kernel().unwrap().lengthscales()[0];
    let with = |name: &str, prior: Prior| {
        let model = Model {
            family: Inducing::Grid(vec![15]).into(),
            priors: vec![(name.into(), prior)],
            ..Model::of_maximum_likelihood()
        };
        model.fit(&coal()).unwrap()
    };
    // in the user's units: years
    let tight = with("lengthscale", Prior::LogNormal { location: 20f64.ln(), scale: 0.02 });
    let pulled = tight.posterior.kernel().unwrap().lengthscales()[0];
    assert!(l < 12.0 && (pulled - 20.0).abs() < 1.5, "{l} {pulled}");
    assert!(tight.report.log_prior != 0.0 && tight.report.bound.total() < free.report.bound.total());
    let prior = with("mean", Prior::Normal { mean: 0.5, sd: 0.01 });
    assert!((prior.posterior.mean() - 0.5).abs() < 0.05, "{}", prior.posterior.mean());
    let fixed = Model {
        family: Inducing::Grid(vec![15]).into(),
        fixed: vec![("lengthscale[0]".into(), 25.0), ("mean".into(), 0.7)],
        ..Model::of_maximum_likelihood()
    };
    let held = fixed.fit(&coal()).unwrap().posterior;
    assert!((held.kernel().unwrap().lengthscales()[0] - 25.0).abs() < 1e-12 && (held.mean() - 0.7).abs() < 1e-12);
}

#[test]
fn the_sign_of_f_does_not_matter() {
    let fit = |mean: f64| {
        let model = Model {
            family: Inducing::Grid(vec![12]).into(),
            fixed: vec![("mean".into(), mean)],
            ..Model::of_maximum_likelihood()
        };
        model.fit(&coal()).unwrap()
    };
    let (plus, minus) = (fit(1.2), fit(-1.2));
    assert!((plus.report.bound.total() - minus.report.bound.total()).abs() < 1e-4);
    assert!((minus.posterior.mean() + 1.2).abs() < 1e-12);
}

#[test]
fn unknown_names_and_bad_settings_are_refused() {
    let fit = |model: Model| model.fit(&coal()).unwrap_err().to_string();
    let prior = Prior::HalfNormal { scale: 1.0 };
    assert!(fit(Model { priors: vec![("wavelength".into(), prior)], ..Model::default() }).contains("lengthscale[0]"));
    assert!(fit(Model { fixed: vec![("lengthscale".into(), -1.0)], ..Model::default() }).contains("positive"));
    assert!(
        fit(Model { family: Inducing::Grid(vec![3, 3]).into(), ..Model::of_maximum_likelihood() })
            .contains("expected 1")
    );
    assert!(
        fit(Model { family: Inducing::Grid(vec![0]).into(), ..Model::of_maximum_likelihood() })
            .contains("at least one")
    );
    assert!(
        fit(Model {
            family: Family::Inducing(InducingPoints { jitter: -1.0, ..InducingPoints::default() }),
            ..Model::of_maximum_likelihood()
        })
        .contains("jitter")
    );
    let empty = Events::new(Points::line(&[]).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
    assert_eq!(Model::default().fit(&empty).unwrap_err(), Error::NoEvents);
    assert!(matches!(Window::interval(2.0, 1.0), Err(Error::EmptyWindow { .. })));
    assert!(matches!(Window::interval(0.0, f64::NAN), Err(Error::EmptyWindow { .. })));
    let outside = Events::new(Points::line(&[0.5, 3.0, 4.0]).unwrap(), Window::interval(0.0, 1.0).unwrap());
    assert!(matches!(outside, Err(Error::OutsideWindow { index: 1, count: 2, total: 3, .. })));
}

#[test]
fn one_event_or_two_equal_ones_fit_with_a_warning() {
    for times in [vec![0.4], vec![0.4, 0.4], vec![0.0], vec![0.1, 0.9]] {
        let events = Events::new(Points::line(&times).unwrap(), Window::interval(0.0, 1.0).unwrap()).unwrap();
        let fit = Model::default().fit(&events).unwrap();
        assert!(!fit.report.warnings.is_empty(), "{times:?}");
        let rate = fit.posterior.rate(&Points::line(&[0.2, 0.7]).unwrap()).unwrap();
        assert!(rate.mean.iter().chain(&rate.sd).all(|v| v.is_finite() && *v >= 0.0), "{times:?} {rate:?}");
        let count = fit.posterior.count(&Window::interval(0.0, 1.0).unwrap()).unwrap();
        assert!((count.mean - times.len() as f64).abs() < 1.5, "{times:?} {count:?}");
    }
}
