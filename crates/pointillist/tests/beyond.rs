//! Beyond the window: rates, draws and counts there are those of the prior given what is known inside.

use pointillist::kernel::Expression;
use pointillist::settings::{Inducing, Smoothness};
use pointillist::{Events, Family, InducingPoints, LatticeChoice, Model, Points, Posterior, Window, simulate};

fn lattice(nodes: &[usize]) -> Model {
    let (nodes, smoothness) = (Some(nodes.to_vec()), Some(Smoothness::Two));
    let lattice = LatticeChoice { nodes, smoothness, ..LatticeChoice::as_in_the_paper() };
    Model { family: lattice.into(), ..Model::of_maximum_likelihood() }
}

fn on_a_line() -> Posterior {
    let window = Window::interval(0.0, 10.0).unwrap();
    let points = simulate(&window, |x| 20.0 + 15.0 * x[0].sin(), 4, 0).unwrap();
    lattice(&[200]).fit(&Events::new(points, window).unwrap()).unwrap().posterior
}

fn on_a_plane() -> Posterior {
    let window = Window::new(&[(0.0, 2.0), (0.0, 1.0)]).unwrap();
    let points = simulate(&window, |x| 300.0 * (1.0 + (9.0 * x[0]).sin() * (9.0 * x[1]).cos()), 4, 0).unwrap();
    lattice(&[80, 50]).fit(&Events::new(points, window).unwrap()).unwrap().posterior
}

/// The rate of the prior.
fn prior(posterior: &Posterior) -> (f64, f64) {
    let (mean, variance) = (posterior.mean(), posterior.lattice().unwrap().variance);
    (mean * mean + variance, (2.0 * variance * variance + 4.0 * mean * mean * variance).sqrt())
}

#[test]
fn far_from_the_window_a_lattice_is_its_prior() {
    for posterior in [on_a_line(), on_a_plane()] {
        let range: Vec<f64> = posterior.lattice().unwrap().lengthscales.iter().map(|length| 2.0 * length).collect();
        let spans = posterior.window().bounding_box();
        // From just inside the border outwards, up to places of which nothing is known.
        let at = |ranges: f64| -> Vec<f64> {
            (0..spans.len())
                .map(|r| if r == 0 { spans[0].hi + ranges * range[0] } else { 0.5 * (spans[r].lo + spans[r].hi) })
                .collect()
        };
        let steps = [-0.01, 0.01, 0.2, 0.5, 1.0, 2.0, 3.0, 50.0];
        let points = Points::new(spans.len(), steps.iter().flat_map(|&step| at(step)).collect()).unwrap();
        let rate = posterior.rate(&points).unwrap();
        let (mean, sd) = prior(&posterior);
        for n in [6, 7] {
            assert!((rate.mean[n] / mean - 1.0).abs() < 0.02, "{} {mean}", rate.mean[n]);
            assert!((rate.sd[n] / sd - 1.0).abs() < 0.03, "{} {sd}", rate.sd[n]);
        }
        // Across the border nothing jumps, and what is known fades.
        assert!((rate.mean[1] / rate.mean[0] - 1.0).abs() < 0.1, "{:?}", rate.mean);
        let f = posterior.marginals(&points).unwrap();
        assert!(f.variance.windows(2).all(|two| two[0] < 1.02 * two[1]), "{:?}", f.variance);
        assert!(f.variance[1] < 0.5 * f.variance[6], "{:?}", f.variance);
        // Inside, the answers do not depend on what else is asked for.
        let inside = points.filter(|row| posterior.window().contains(row));
        assert_eq!(posterior.rate(&inside).unwrap().mean[0], rate.mean[0]);
        // Draws have these moments too.
        let near = Points::new(spans.len(), [0.2, 1.0].into_iter().flat_map(at).collect()).unwrap();
        let (draws, rate) = (posterior.sample(&near, 4000, 1).unwrap(), posterior.rate(&near).unwrap());
        for n in 0..2 {
            let mean = draws.iter().map(|draw| draw[n]).sum::<f64>() / 4000.0;
            assert!((mean - rate.mean[n]).abs() < 5.0 * rate.sd[n] / 4000f64.sqrt(), "{mean} {rate:?}");
        }
    }
}

#[test]
fn counts_beyond_a_lattice_are_integrals_of_its_rate() {
    let posterior = on_a_line();
    let window = posterior.window();
    let range = 2.0 * posterior.lattice().unwrap().lengthscales[0];
    let counts = |lo: f64, hi: f64| posterior.count(&Window::interval(lo, hi).unwrap()).unwrap();
    let hi = window.bounding_box()[0].hi;
    // A count is the integral of the rate.
    let places: Vec<f64> = (0..2000).map(|i| hi + range * (f64::from(i) + 0.5) / 2000.0).collect();
    let rates = posterior.rate(&Points::line(&places).unwrap()).unwrap().mean;
    let integral = rates.iter().sum::<f64>() * range / 2000.0;
    let beyond = counts(hi, hi + range);
    assert!((beyond.mean / integral - 1.0).abs() < 1e-3, "{beyond:?} {integral}");
    // Part inside and part outside are the whole.
    let whole = counts(hi - range, hi + range);
    assert!((whole.mean - counts(hi - range, hi).mean - beyond.mean).abs() < 1e-3 * whole.mean, "{whole:?} {beyond:?}");
    let joint = posterior
        .joint_counts(
            &[Window::interval(hi, hi + range).unwrap(), Window::interval(hi, hi + 5.0 * range).unwrap()],
            4000,
            1,
        )
        .unwrap();
    assert!((joint.moments()[0].mean / beyond.mean - 1.0).abs() < 1e-3);
    assert!((joint.moments()[0].sd / beyond.sd - 1.0).abs() < 0.02, "{:?} {beyond:?}", joint.moments());
    // Over many ranges the prior's own count takes over.
    let far = counts(hi + 5.0 * range, hi + 15.0 * range);
    assert!((far.mean / (10.0 * range * prior(&posterior).0) - 1.0).abs() < 0.01, "{far:?}");
}

#[test]
fn what_reaches_too_far_is_refused_with_a_remedy() {
    let posterior = on_a_plane();
    let error = posterior.count(&Window::new(&[(0.0, 1e6), (0.0, 1e6)]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("beyond the window") && error.contains("inducing"), "{error}");
    // A rate is known anywhere.
    let rate = posterior.rate(&Points::from_rows(&[[1e6, -1e6]]).unwrap()).unwrap();
    assert!((rate.mean[0] / prior(&posterior).0 - 1.0).abs() < 0.05);
}

/// Ten days of events that come and go with the hour.
fn days() -> Events {
    let window = Window::interval(0.0, 10.0).unwrap();
    let points = simulate(&window, hourly, 7, 0).unwrap();
    Events::new(points, window).unwrap()
}

fn hourly(x: &[f64]) -> f64 {
    40.0 * (1.0 + 0.9 * (std::f64::consts::TAU * x[0]).sin())
}

#[test]
fn a_period_forecasts_tomorrow() {
    // 0.9·40/π more in the first half of a day than the 20 of a half day, and as many less in the second.
    let truth = [20.0 + 0.9 * 40.0 / std::f64::consts::PI, 20.0 - 0.9 * 40.0 / std::f64::consts::PI];
    for kernel in ["periodic(t, period=1!)", "se(t, lengthscale=20!)*periodic(t, period=1!)"] {
        let kernel = Expression::parse(kernel, &["t"]).unwrap();
        let model = Model {
            family: Family::Inducing(InducingPoints {
                kernel: Some(kernel),
                points: Inducing::Grid(vec![60]),
                ..InducingPoints::default()
            }),
            ..Model::of_maximum_likelihood()
        };
        let posterior = model.fit(&days()).unwrap().posterior;
        let halves = [(10.0, 10.5), (10.5, 11.0), (10.0, 11.0)].map(|(lo, hi)| Window::interval(lo, hi).unwrap());
        let counts = posterior.joint_counts(&halves, 1000, 1).unwrap();
        for (count, truth) in counts.moments().iter().zip(truth) {
            assert!((count.mean - truth).abs() < 3.0 * count.sd && count.sd < 0.25 * truth, "{count:?} {truth}");
        }
        let day = counts.moments()[2];
        assert!((day.mean - 40.0).abs() < 8.0, "{day:?}");
    }
}

#[test]
fn beyond_inducing_points_a_count_is_as_unsure_as_the_prior() {
    let posterior = Model { family: Family::Inducing(InducingPoints::default()), ..Model::of_maximum_likelihood() }
        .fit(&days())
        .unwrap()
        .posterior;
    let kernel = posterior.kernel().unwrap();
    let length = kernel.lengthscales()[0];
    let region = Window::interval(10.0 + 8.0 * length, 10.0 + 14.0 * length).unwrap();
    let count = posterior.count(&region).unwrap();
    // Slow and obvious: intensities from the prior, drawn at middles of cells.
    let cells = 300;
    let at: Vec<f64> = (0..cells).map(|i| length * (8.0 + 6.0 * (f64::from(i) + 0.5) / f64::from(cells))).collect();
    let points = Points::line(&at.iter().map(|x| 10.0 + x).collect::<Vec<_>>()).unwrap();
    let drawn = posterior.sample(&points, 4000, 3).unwrap();
    let sums: Vec<f64> = drawn.iter().map(|draw| draw.iter().sum::<f64>() * 6.0 * length / f64::from(cells)).collect();
    let mean = sums.iter().sum::<f64>() / 4000.0;
    let sd = (sums.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / 4000.0).sqrt();
    assert!((count.mean - mean).abs() < 4.0 * sd / 4000f64.sqrt(), "{count:?} {mean}");
    assert!((count.sd / sd - 1.0).abs() < 0.06, "{count:?} {sd}");
}

#[test]
fn gaps_of_a_line_are_counted_and_pieces_of_a_plane_are_not_left() {
    let window = Window::union(&[Window::interval(0.0, 4.0).unwrap(), Window::interval(5.0, 10.0).unwrap()]).unwrap();
    let points = days().points().filter(|row| window.contains(row));
    let posterior =
        Model::of_maximum_likelihood().fit(&Events::new(points, window.clone()).unwrap()).unwrap().posterior;
    let asked = Window::interval(3.0, 12.0).unwrap();
    // From 3 to 4, what the model expects in the gap, from 5 to 10, and two more as a forecast.
    assert_eq!(posterior.counted(&asked).unwrap().volume(), 9.0);
    assert_eq!(posterior.counted(&window).unwrap().volume(), 9.0, "the window itself is what was looked at");
    assert!(posterior.count(&Window::interval(4.2, 4.8).unwrap()).is_ok());
    assert!(posterior.count(&Window::interval(11.0, 12.0).unwrap()).is_ok());
    let plane = |lo: f64| Window::new(&[(lo, lo + 1.0), (0.0, 1.0)]).unwrap();
    let points = Points::new(2, vec![0.5, 0.5, 0.2, 0.7, 3.1, 0.4, 3.9, 0.2]).unwrap();
    let events = Events::new(points, Window::union(&[plane(0.0), plane(3.0)]).unwrap()).unwrap();
    let posterior = Model::of_maximum_likelihood().fit(&events).unwrap().posterior;
    assert!(!posterior.counts_beyond_the_window());
    assert!(posterior.count(&plane(6.0)).is_err());
}

#[test]
fn what_is_expected_inside_does_not_depend_on_what_is_asked_beside_it() {
    let place = |i: usize| [(0.5 + 0.754878 * i as f64).fract().powi(2), (0.5 + 0.569840 * i as f64).fract()];
    let points = Points::from_rows(&(0..150).map(place).collect::<Vec<_>>()).unwrap();
    let events = Events::new(points, Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap()).unwrap();
    let lattice = LatticeChoice { nodes: Some(vec![14, 14]), ..LatticeChoice::as_in_the_paper() };
    let posterior = Model { family: lattice.into(), ..Model::of_maximum_likelihood() }.fit(&events).unwrap().posterior;
    let [inside, outside] =
        [[(0.0, 0.4), (0.2, 0.9)], [(0.9, 1.2), (0.2, 0.9)]].map(|spans| Window::new(&spans).unwrap());
    let alone = posterior.joint_counts(std::slice::from_ref(&inside), 400, 1).unwrap().moments()[0].mean;
    let beside = posterior.joint_counts(&[inside, outside], 400, 1).unwrap().moments()[0].mean;
    assert!((alone / beside - 1.0).abs() < 1e-12, "{alone} {beside}");
}
