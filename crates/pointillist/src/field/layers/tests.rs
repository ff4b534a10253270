use super::*;
use crate::covariates::Covariate;
use crate::gaussian::Sites;
use crate::gaussian::step::{Clamp, Until};
use crate::numerics::linalg::{self, Matrix};
use crate::terms::Link;
use std::time::Instant;

fn theta(range: f64, variance: f64, dims: usize) -> Theta {
    Theta { range, variance, mean: 0.0, stretch: vec![1.0; dims], scale: vec![] }
}

fn hats(layers: &Layers, rows: Vec<f64>) -> Hats {
    layers.grid().at(&Points::new(layers.grid().dims(), rows).unwrap()).unwrap()
}

/// Two types on a line with three fields: sets of events and nodes.
fn small() -> (Layers, Vec<Set>, LayersTheta) {
    let window = Window::interval(0.0, 1.0).unwrap();
    let layers = Layers::new(&window, (&[9], &[0.1]), Smoothness::Two, 3, vec![2.0, 1.5]).unwrap();
    let (places, weights) = crate::field::lattice::from_above(layers.grid(), &window).unwrap();
    let events = [vec![0.1, 0.15, 0.2, 0.22, 0.5, 0.9], vec![0.12, 0.3, 0.7, 0.8, 0.85]];
    let mut sets = vec![];
    for (kind, events) in events.into_iter().enumerate() {
        let count = events.len();
        sets.push(Set { kind, hats: hats(&layers, events), weights: vec![1.0; count], is_integral: false });
        let nodes = layers.grid().at(&places).unwrap();
        sets.push(Set { kind, hats: nodes, weights: weights.clone(), is_integral: true });
    }
    let fields = vec![theta(0.5, 0.8, 1), theta(0.3, 0.3, 1), theta(0.3, 0.3, 1)];
    let loads = vec![vec![1.0, 1.0, 0.0], vec![1.0, 0.0, 1.0]];
    (layers, sets, LayersTheta { fields, loads })
}

fn flat(sets: &[Set]) -> Sites {
    let of = |set: &Set| Sites::flat(set.potential(), 1.7, set.weights.len());
    sets.iter().map(of).fold(Sites::none(), Sites::followed_by)
}

fn until() -> Until<'static> {
    Until { tolerance: 1e-12, most: 300, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) }
}

/// All unknowns, dense and slow: the covariance of f at points of types from the kernels' precision matrices.
#[test]
fn the_prior_is_that_of_independent_fields() {
    let (layers, _, theta) = small();
    let precision = layers.precision(&theta);
    let (n, count) = (layers.grid().size(), layers.count());
    for l in 0..count {
        let own = layers.prior.precision(&theta.fields[l]);
        for k in 0..count {
            for i in 0..n {
                for j in 0..n {
                    let want = if k == l { own.entry(i, j) } else { 0.0 };
                    assert_eq!(precision.inner.entry(i * count + l, j * count + k), want);
                }
            }
        }
    }
    let mut root = Matrix::from_fn(n * count, n * count, |i, j| precision.inner.entry(i, j));
    linalg::cholesky(&mut root).unwrap();
    let (got, want) = (layers.log_determinant(&theta), linalg::log_determinant(&root));
    assert!((got - want).abs() < 1e-9 * want.abs(), "{got} {want}");
}

/// Fields that no other type has a share of leave types apart: the bound is the sum of those of one type each.
#[test]
fn types_with_nothing_in_common_are_fits_of_their_own() {
    let (layers, sets, mut theta) = small();
    theta.loads = vec![vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
    let together = layers.optimum((&sets, None), &theta, flat(&sets), until()).unwrap();
    let window = Window::interval(0.0, 1.0).unwrap();
    let mut apart = 0.0;
    let mut sets = sets.into_iter();
    for kind in 0..2 {
        let level = layers.levels[kind];
        let one = Layers::new(&window, (&[9], &[0.1]), Smoothness::Two, 1, vec![level]).unwrap();
        let own: Vec<Set> = sets.by_ref().take(2).map(|set| Set { kind: 0, ..set }).collect();
        let alone = LayersTheta { fields: vec![theta.fields[1].clone()], loads: vec![vec![1.0]] };
        let found = one.optimum((&own, None), &alone, flat(&own), until()).unwrap();
        apart += found.bound;
        // The same as the lattice of one field has it.
        let lattice = crate::field::lattice::Lattice::new(&window, &[9], &[0.1], Smoothness::Two).unwrap();
        let lattice = lattice.with_constant(Some(VAGUE));
        let said: Vec<_> =
            own.iter().map(|set| crate::field::lattice::Weighted { hats: &set.hats, weights: &set.weights }).collect();
        let theta = Theta { mean: level, ..theta.fields[1].clone() };
        let plain = lattice.optimum(Link::Log.formula(), &said, &theta, flat(&own), until()).unwrap();
        assert!((plain.bound - found.bound).abs() < 1e-9, "{} {}", plain.bound, found.bound);
    }
    assert!((together.bound - apart).abs() < 1e-9, "{} {apart}", together.bound);
}

/// The same two types with effects of a number and of a level each.
fn small_with_covariates() -> (Layers, Vec<Set>, LayersTheta) {
    let (layers, sets, theta) = small();
    let window = Window::interval(0.0, 1.0).unwrap();
    let lines: Vec<f64> = (0..=5).map(|i| f64::from(i) / 5.0).collect();
    let slope = Covariate::linear("slope", vec![0], vec![lines], vec![0.3, 2.0, -1.0, 4.0, 3.5]).unwrap();
    let levels = ["a", "b"].map(String::from).to_vec();
    let cover = Covariate::categorical("cover", vec![0], vec![vec![0.0, 0.45, 1.0]], levels, &[Some(0), Some(1)]);
    let regressors = Regressors::over(&window, &[slope, cover.unwrap()]).unwrap();
    let layers = layers.with_regressors(Some(Arc::new(regressors)));
    let events = [vec![0.1, 0.15, 0.2, 0.22, 0.5, 0.9], vec![0.12, 0.3, 0.7, 0.8, 0.85]];
    let own = |set: Set| match set.is_integral {
        true => {
            let IntegralNodes { hats, weights, .. } = layers.integral_nodes(&window).unwrap();
            Set { hats, weights, ..set }
        }
        false => Set { hats: layers.at(&Points::line(&events[set.kind]).unwrap()).unwrap(), ..set },
    };
    let sets = sets.into_iter().map(own).collect();
    (layers, sets, theta)
}

/// With fields of their own types with covariates are fits of one lattice with the same covariates: bound, and mean and variance of f.
#[test]
fn effects_of_each_type_are_those_of_fits_of_their_own() {
    let (layers, sets, mut theta) = small_with_covariates();
    assert_eq!((layers.covariates(), layers.beside(), layers.size()), (2, 6, 27 + 6));
    theta.loads = vec![vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
    let together = layers.optimum((&sets, None), &theta, flat(&sets), until()).unwrap();
    let window = Window::interval(0.0, 1.0).unwrap();
    let places = Points::line(&[0.03, 0.3, 0.44, 0.61, 0.99]).unwrap();
    let (mut apart, mut sets) = (0.0, sets.into_iter());
    for kind in 0..2 {
        let own: Vec<Set> = sets.by_ref().take(2).collect();
        let lattice = crate::field::lattice::Lattice::new(&window, &[9], &[0.1], Smoothness::Two).unwrap();
        let lattice = lattice.with_constant(Some(VAGUE)).with_regressors(layers.regressors().cloned());
        let said: Vec<_> =
            own.iter().map(|set| crate::field::lattice::Weighted { hats: &set.hats, weights: &set.weights }).collect();
        let of_one = Theta { mean: layers.levels[kind], ..theta.fields[1].clone() };
        let plain = lattice.optimum(Link::Log.formula(), &said, &of_one, flat(&own), until()).unwrap();
        apart += plain.bound;
        let rows = layers.taking(&layers.at(&places).unwrap(), &theta, &one_of(kind, 2));
        let (here, there) =
            (layers.moments(&rows, &together.mean, &together.spread), plain.marginals(&lattice.at(&places).unwrap()));
        for n in 0..places.len() {
            assert!((here.mean[n] - there.mean[n]).abs() < 1e-6, "{} {}", here.mean[n], there.mean[n]);
            // Both are ends of iterations: the bound is right to 1e-12 nats, and q to about the root of that.
            assert!((here.variance[n] - there.variance[n]).abs() < 1e-6, "{} {}", here.variance[n], there.variance[n]);
        }
    }
    assert!((together.bound - apart).abs() < 1e-8, "{} {apart}", together.bound);
}

/// Band and dissection are the same matrices in another order.
#[test]
fn a_dissected_lattice_has_the_same_bound_and_slopes() {
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let layers = Layers::new(&window, (&[17, 14], &[0.1, 0.1]), Smoothness::Two, 3, vec![3.0, 3.0]).unwrap();
    assert!(layers.plan.is_none());
    let offsets = offsets(layers.grid(), Smoothness::Two, 3);
    let [_, a, b] = layers.grid().axes().map(|axis| axis.nodes);
    let flat_offsets: Vec<[isize; 3]> = offsets.iter().map(|([_, a, b], l)| [*a, *b, *l]).collect();
    let plan = Plan::new([a, b, 3], &flat_offsets);
    assert_eq!(plan.shifts(), &layers.shifts[..]);
    let dissected = Layers { plan: Some(Arc::new(plan)), ..layers.clone() };
    let (places, weights) = crate::field::lattice::from_above(layers.grid(), &window).unwrap();
    let mut sets = vec![];
    for kind in 0..2 {
        let events: Vec<f64> =
            (0..40).map(|i| (0.5 + 0.49 * (f64::from(i) * (1.3 + f64::from(kind as u8))).sin()).abs()).collect();
        sets.push(Set { kind, hats: hats(&layers, events), weights: vec![1.0; 20], is_integral: false });
        sets.push(Set { kind, hats: layers.grid().at(&places).unwrap(), weights: weights.clone(), is_integral: true });
    }
    let fields = vec![theta(0.5, 0.8, 2), theta(0.3, 0.3, 2), theta(0.3, 0.3, 2)];
    let theta = LayersTheta { fields, loads: vec![vec![1.0, 1.0, 0.0], vec![1.0, 0.0, 1.0]] };
    let [(a, a_slopes), (b, b_slopes)] = [&layers, &dissected].map(|layers| {
        let found = layers.optimum((&sets, None), &theta, flat(&sets), until()).unwrap();
        let slopes = layers.slopes(&theta, (&sets, None), &found, &[]);
        (found, slopes)
    });
    assert!((a.bound - b.bound).abs() < 1e-8, "{} {}", a.bound, b.bound);
    for (a, b) in a_slopes.fields.iter().zip(&b_slopes.fields) {
        assert!((a.log_range - b.log_range).abs() < 1e-6 && (a.log_variance - b.log_variance).abs() < 1e-6);
    }
}

/// Envelope gradients against differences of the bound at its optimum, with and without measured numbers.
#[test]
fn slopes_are_those_of_the_bound() {
    slopes_are_right(small());
}

#[test]
fn slopes_with_covariates_are_those_of_the_bound() {
    slopes_are_right(small_with_covariates());
}

fn slopes_are_right((layers, sets, base): (Layers, Vec<Set>, LayersTheta)) {
    let measured = layers.at(&Points::line(&[0.1, 0.4, 0.77]).unwrap()).unwrap();
    let observed = Observed { kind: 1, hats: measured, values: vec![2.0, 1.1, 1.4] };
    let base = LayersTheta { loads: vec![vec![1.0, 0.7, 0.2], vec![0.6, 0.4, 1.1]], ..base };
    for (observed, noise) in [(None, 1.0), (Some(&observed), 0.3f64)] {
        let at = |theta: &LayersTheta, noise: f64| {
            layers.optimum((&sets, observed.map(|o| (o, noise))), theta, flat(&sets), until()).unwrap()
        };
        let learned: Vec<(usize, usize)> = (0..2).flat_map(|c| (0..3).map(move |l| (c, l))).collect();
        let slopes = layers.slopes(&base, (&sets, observed.map(|o| (o, noise))), &at(&base, noise), &learned);
        let difference = |change: &dyn Fn(&mut LayersTheta, f64)| {
            let value = |by: f64| {
                let mut moved = base.clone();
                change(&mut moved, by);
                at(&moved, noise).bound
            };
            (value(1e-4) - value(-1e-4)) / 2e-4
        };
        let near = |found: f64, want: f64, what: &str| {
            assert!((found - want).abs() < 1e-4 * (1.0 + want.abs()), "{what}: {found} {want}");
        };
        for l in 0..3 {
            near(slopes.fields[l].log_range, difference(&|theta, by| theta.fields[l].range *= by.exp()), "range");
            near(
                slopes.fields[l].log_variance,
                difference(&|theta, by| theta.fields[l].variance *= by.exp()),
                "variance",
            );
            for c in 0..2 {
                near(slopes.loads[c][l], difference(&|theta, by| theta.loads[c][l] += by), "load");
            }
        }
        if observed.is_some() {
            let by_noise = (at(&base, noise * 1e-4f64.exp()).bound - at(&base, noise * (-1e-4f64).exp()).bound) / 2e-4;
            near(slopes.log_noise, by_noise, "noise");
        }
    }
}

/// Measured numbers alone are a Gaussian process regression, which dense matrices know.
#[test]
fn measured_numbers_have_the_evidence_of_a_regression() {
    let (layers, _, theta) = small();
    let at = vec![0.1, 0.4, 0.77];
    let observed = Observed { kind: 1, hats: hats(&layers, at), values: vec![2.0, 1.1, 1.4] };
    // A type without events and with a window of hardly any measure says nothing.
    let nothing = Set { kind: 0, hats: hats(&layers, vec![0.5]), weights: vec![1e-300], is_integral: true };
    let sets = [nothing];
    let found = layers.optimum((&sets, Some((&observed, 0.3))), &theta, flat(&sets), until()).unwrap();
    let precision = layers.precision(&theta);
    let n = layers.coefficients();
    let mut root = Matrix::from_fn(n, n, |i, j| precision.inner.entry(i, j));
    linalg::cholesky(&mut root).unwrap();
    let inverse = linalg::inverse_from_cholesky(&root);
    let rows = layers.taking(&observed.hats, &theta, &[0.0, 1.0]);
    let row = |k: usize| {
        let mut row = vec![0.0; n];
        rows.pairs(k).for_each(|(i, value)| row[i] += value);
        row
    };
    let covariance = |i: usize, j: usize| {
        let noise = if i == j { 0.3 } else { 0.0 };
        linalg::dot(&row(i), &linalg::times(&inverse, &row(j))) + VAGUE * VAGUE + noise
    };
    let mut of_values = Matrix::from_fn(3, 3, covariance);
    linalg::cholesky(&mut of_values).unwrap();
    let mut off: Vec<f64> = observed.values.iter().map(|y| y - layers.levels[1]).collect();
    linalg::solve_lower(&of_values, &mut off);
    let want =
        -0.5 * (linalg::dot(&off, &off) + linalg::log_determinant(&of_values) + 3.0 * std::f64::consts::TAU.ln());
    assert!((found.bound - want).abs() < 1e-8, "{} {want}", found.bound);
}

/// `cargo test --release -p pointillist layers::tests::cost_of_types -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement: it prints seconds"]
fn cost_of_types_per_natural_step() {
    let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let mut of_one = f64::NAN;
    for types in 1..=5 {
        // One type has one field; several have one that they share, and one each.
        let count = if types == 1 { 1 } else { types + 1 };
        let levels = vec![(5000.0 / types as f64).ln(); types];
        let layers = Layers::new(&window, (&[60, 60], &[0.1, 0.1]), Smoothness::Two, count, levels).unwrap();
        let IntegralNodes { hats: nodes, weights, .. } = layers.integral_nodes(&window).unwrap();
        let mut sets = vec![];
        for kind in 0..types {
            let place = |i: usize, by: f64| (0.37 + by * (i + 1000 * kind) as f64).fract();
            let rows = (0..5000 / types).flat_map(|i| [place(i, 0.754_877_666), place(i, 0.569_840_291)]).collect();
            let events = hats(&layers, rows);
            sets.push(Set { kind, weights: vec![1.0; events.len()], hats: events, is_integral: false });
            sets.push(Set { kind, hats: nodes.clone(), weights: weights.clone(), is_integral: true });
        }
        let load =
            |c: usize| (0..count).map(|l| f64::from(u8::from(types == 1 || l == 0 || l == c + 1))).collect::<Vec<_>>();
        let fields = vec![theta(0.3, 0.5, 2); count];
        let theta = LayersTheta { fields, loads: (0..types).map(load).collect() };
        let level = (5000.0 / types as f64).ln();
        let flat = |sets: &[Set]| {
            let of = |set: &Set| Sites::flat(set.potential(), level, set.weights.len());
            sets.iter().map(of).fold(Sites::none(), Sites::followed_by)
        };
        // From two and from six steps: what a fit costs beside them is in both.
        let seconds = |most: usize| {
            let started = Instant::now();
            let until = Until { tolerance: 0.0, most, clamp: Clamp::UntilSettled, foresees: false, pulse: &|| Ok(()) };
            let _ = layers.optimum((&sets, None), &theta, flat(&sets), until);
            started.elapsed().as_secs_f64()
        };
        let step = (0..3).map(|_| (seconds(6) - seconds(2)) / 4.0).fold(f64::INFINITY, f64::min);
        of_one = if types == 1 { step } else { of_one };
        let ratio = step / of_one;
        println!(
            "{types} types, {count} fields: {step:.3} s per natural step, {ratio:.1} times one type (C²: {})",
            types * types
        );
    }
}
