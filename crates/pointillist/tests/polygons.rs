//! Windows that polygons cut out: what is refused, what lies inside, and integrals over them against golden values and Green's theorem.

use crate::common;
use crate::common::{number, numbers};
use pointillist::kernel::{Formula, SquaredExponential};
use pointillist::numerics::gauss::GaussLegendre;
use pointillist::testing::{window_phi, window_psi};
use pointillist::window::{Polygons, Ring, Span};
use pointillist::{Error, Events, Kernel, Model, Points, Window};
use serde_json::Value;

fn square(x: f64, y: f64, side: f64) -> Ring {
    vec![[x, y], [x + side, y], [x + side, y + side], [x, y + side]]
}

fn golden_file() -> Value {
    let path = format!("{}/tests/golden/psi_polygon.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A shape of the golden file.
fn shape(file: &Value, name: &str) -> Polygons {
    let ring = |ring: &Value| -> Ring { common::rows(ring).iter().map(|p| [p[0], p[1]]).collect() };
    Polygons::new(vec![file["shapes"][name].as_array().unwrap().iter().map(ring).collect()]).unwrap()
}

/// What is wrong with rings, of which polygon and ring, and where.
fn fault(polygons: Vec<Vec<Ring>>) -> (usize, usize, String, [f64; 2]) {
    match Polygons::new(polygons) {
        Err(Error::Polygon { polygon, ring, why, place }) => (polygon, ring, why, place),
        other => panic!("{other:?}"),
    }
}

/// ∫∫ f(x) g(y) over polygons by Green's theorem, edge by edge; `integral_of_f` from the left end of the box to x.
fn by_green(polygons: &Polygons, integral_of_f: impl Fn(f64) -> f64, g: impl Fn(f64) -> f64) -> f64 {
    let rule = GaussLegendre::new(60);
    let mut total = 0.0;
    for ring in polygons.rings().iter().flatten() {
        for (from, to) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            let at = |t: f64, r: usize| from[r] + t * (to[r] - from[r]);
            let along: f64 = rule.on(0.0, 1.0).map(|(t, w)| w * integral_of_f(at(t, 0)) * g(at(t, 1))).sum();
            total += (to[1] - from[1]) * along;
        }
    }
    total
}

#[test]
fn psi_and_phi_are_the_golden_ones_and_those_of_greens_theorem() {
    let file = golden_file();
    for case in file["cases"].as_array().unwrap() {
        let polygons = shape(&file, case["shape"].as_str().unwrap());
        let window = Window::inside(polygons.clone());
        let (variance, z, w) = (number(&case["gamma"]), numbers(&case["z"]), numbers(&case["w"]));
        let lengths: Vec<f64> = numbers(&case["alpha"]).iter().map(|a| a.sqrt()).collect();
        let kernel = Kernel::squared_exponential(variance, &lengths).unwrap();

        let lo = polygons.bounding_box()[0].lo;
        let k = |r: usize, at: f64, y: f64| SquaredExponential::k(&lengths[r..=r], at, y);
        let psi_x = |x: f64| SquaredExponential::psi(&lengths[..1], z[0], w[0], Span { lo, hi: x });
        let phi_x = |x: f64| SquaredExponential::phi(&lengths[..1], z[0], Span { lo, hi: x });
        let green_psi = variance * variance * by_green(&polygons, psi_x, |y| k(1, z[1], y) * k(1, w[1], y));
        let green_phi = variance * by_green(&polygons, phi_x, |y| k(1, z[1], y));

        let (psi, phi) = (window_psi(&window, &kernel, &z, &w), window_phi(&window, &kernel, &z));
        for (what, got, golden, green) in
            [("psi", psi, number(&case["psi"]), green_psi), ("phi", phi, number(&case["phi"]), green_phi)]
        {
            assert!((got - golden).abs() < 1e-10 * golden, "{what} {got} {golden}: {case}");
            assert!((got - green).abs() < 1e-10 * green, "{what} {got} {green}: {case}");
        }
    }
}

#[test]
fn a_box_is_the_same_window_as_its_outline() {
    let plain = Window::new(&[(0.3, 2.1), (-1.0, 0.4)]).unwrap();
    let ring = vec![[0.3, -1.0], [0.3, 0.4], [2.1, 0.4], [2.1, -1.0], [0.3, -1.0]];
    let outlined = Window::inside(Polygons::new(vec![vec![ring]]).unwrap());
    let kernel = Kernel::squared_exponential(1.3, &[0.4, 0.9]).unwrap();
    let (z, w) = ([0.5, 0.1], [1.1, -0.3]);
    let (want, got) = (window_psi(&plain, &kernel, &z, &w), window_psi(&outlined, &kernel, &z, &w));
    assert!((got - want).abs() < 1e-12 * want, "{got} {want}");
    assert!((plain.measure() - outlined.measure()).abs() < 1e-15);
    assert_eq!(plain.bounding_box(), outlined.bounding_box());
}

#[test]
fn areas_are_the_golden_ones() {
    let file = golden_file();
    for (name, area) in file["area"].as_object().unwrap() {
        let window = Window::inside(shape(&file, name));
        assert!((window.measure() - number(area)).abs() < 1e-14, "{name}");
    }
}

#[test]
fn rings_may_be_closed_or_not_and_run_either_way() {
    let mut closed = square(0.0, 0.0, 2.0);
    closed.extend([[0.0, 0.0], [0.0, 0.0]]);
    let mut backward = square(0.0, 0.0, 2.0);
    backward.reverse();
    backward.insert(2, backward[1]);
    let plain = Polygons::new(vec![vec![square(0.0, 0.0, 2.0), square(0.5, 0.5, 1.0)]]).unwrap();
    assert_eq!(plain, Polygons::new(vec![vec![closed, square(0.5, 0.5, 1.0)]]).unwrap());
    assert_eq!(plain.area(), 3.0);
    let other = Polygons::new(vec![vec![backward, square(0.5, 0.5, 1.0)]]).unwrap();
    assert_eq!(other.area(), 3.0);
    assert_eq!(other.rings()[0][0].len(), 4);
}

#[test]
fn rings_that_bound_nothing_are_refused() {
    let nan = vec![[0.0, 0.0], [3.0, 0.0], [f64::NAN, 2.0], [0.0, 3.0]];
    for (polygons, ring, why, place) in [
        (vec![], 0, "there are no polygons", [0.0, 0.0]),
        (vec![vec![]], 0, "there are no rings", [0.0, 0.0]),
        (vec![vec![vec![]]], 0, "has fewer than 3 distinct points", [0.0, 0.0]),
        (vec![vec![vec![[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]]], 0, "has fewer than 3 distinct points", [1.0, 2.0]),
        (vec![vec![vec![[f64::INFINITY, 2.0]]]], 0, "has a coordinate that is not a finite number", [0.0, 0.0]),
        (vec![vec![square(-1.0, -1.0, 9.0), nan]], 1, "has a coordinate that is not a finite number", [3.0, 0.0]),
        (vec![vec![vec![[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]]], 0, "has no area", [1.0, 1.0]),
        (vec![vec![vec![[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [3.0, 3.0]]]], 0, "has no area", [1.0, 1.0]),
    ] {
        assert_eq!(fault(polygons), (0, ring, why.into(), place));
    }
    assert!(Polygons::new(vec![vec![vec![[0.0, 0.0], [1e300, 0.0], [0.0, 1e300]]]]).is_err());
}

#[test]
fn rings_that_cross_themselves_are_refused_with_the_place() {
    let bow = vec![[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0]];
    assert_eq!(fault(vec![vec![bow]]), (0, 0, "crosses itself".into(), [1.0, 1.0]));
    let uneven = vec![[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [3.0, -1.0], [0.0, 4.0]];
    assert_eq!(fault(vec![vec![square(9.0, 9.0, 1.0)], vec![uneven]]).0, 1);
    // through a corner of its own
    let eight = vec![[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [2.0, 0.0], [1.0, 1.0], [0.0, 2.0]];
    assert_eq!(fault(vec![vec![eight]]), (0, 0, "crosses itself".into(), [1.0, 1.0]));
    let spike = vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [2.0, 5.0], [2.0, 2.0], [0.0, 2.0]];
    assert!(fault(vec![vec![spike]]).2.contains("itself"));
    let spur = vec![[0.0, 0.0], [2.0, 0.0], [2.0, 3.0], [2.0, 2.0], [0.0, 2.0]];
    assert_eq!(fault(vec![vec![spur]]), (0, 0, "turns back on itself".into(), [2.0, 3.0]));
    let seam = vec![
        [0.0, 0.0],
        [4.0, 0.0],
        [4.0, 1.0],
        [2.0, 1.0],
        [2.0, 2.0],
        [3.0, 2.0],
        [3.0, 1.0],
        [1.0, 1.0],
        [0.0, 4.0],
    ];
    assert!(fault(vec![vec![seam]]).2.contains("itself"));
}

#[test]
fn holes_stay_inside() {
    let outside = square(0.0, 0.0, 4.0);
    for (hole, why) in [
        (square(3.0, 1.0, 2.0), "crosses the outside"),
        (square(6.0, 1.0, 2.0), "lies outside its polygon"),
        (square(-1.0, -1.0, 7.0), "lies outside its polygon"),
        (square(4.0, 4.0, 1.0), "crosses the outside"), // touches it in a corner, from the wrong side
        (square(0.0, 1.0, 1.0), "touches the outside along a segment"),
    ] {
        let (polygon, ring, found, _) = fault(vec![vec![outside.clone(), hole]]);
        assert_eq!((polygon, ring, found.as_str()), (0, 1, why));
    }
    let crossing = fault(vec![vec![outside.clone(), vec![[1.0, 1.0], [3.0, 1.0], [5.0, 3.0]]]]);
    assert_eq!((crossing.2.as_str(), crossing.3[0]), ("crosses the outside", 4.0));
    for (holes, why) in [
        ([square(1.0, 1.0, 1.0), square(1.5, 1.2, 1.0)], "crosses ring 1"),
        ([square(0.5, 0.5, 3.0), square(1.5, 1.5, 1.0)], "overlaps ring 1"),
        ([square(1.0, 1.0, 1.0), square(2.0, 1.0, 1.0)], "touches ring 1 along a segment"),
    ] {
        let rings = [vec![outside.clone()], holes.to_vec()].concat();
        assert_eq!(fault(vec![rings]).2, why);
    }
}

#[test]
fn polygons_do_not_overlap() {
    let base = vec![square(0.0, 0.0, 2.0)];
    for (other, why) in [
        (square(1.0, 1.0, 2.0), "crosses ring 0 of polygon 0"),
        (square(0.5, 0.5, 1.0), "overlaps polygon 0"),
        (square(1.0, 0.0, 2.0), "overlaps polygon 0"), // top and bottom on the same lines
        (square(0.0, 0.0, 2.0), "overlaps polygon 0"),
    ] {
        let (polygon, ring, found, _) = fault(vec![base.clone(), vec![other]]);
        assert_eq!((polygon, ring, found.as_str()), (1, 0, why));
    }
    let around = fault(vec![base.clone(), vec![square(-1.0, -1.0, 4.0)]]);
    assert_eq!((around.0, around.2.as_str()), (1, "overlaps polygon 0"));
}

#[test]
fn touching_is_allowed() {
    // a hole that touches its outside in a point; holes that touch; polygons that share a corner, a side, or lie in a hole
    let diamond = |x: f64, y: f64| vec![[x - 1.0, y], [x, y - 1.0], [x + 1.0, y], [x, y + 1.0]];
    let outside = square(0.0, 0.0, 4.0);
    for (polygons, area) in [
        (vec![vec![outside.clone(), diamond(1.0, 2.0)]], 14.0),
        (vec![vec![outside.clone(), diamond(1.0, 2.0), diamond(3.0, 2.0)]], 12.0),
        (vec![vec![outside.clone()], vec![square(4.0, 4.0, 1.0)]], 17.0),
        (vec![vec![outside.clone()], vec![square(4.0, 0.0, 4.0)]], 32.0),
        (vec![vec![outside.clone()], vec![square(4.0, 1.0, 2.0)]], 20.0),
        (vec![vec![outside.clone(), square(1.0, 1.0, 2.0)], vec![square(1.0, 1.0, 2.0)]], 16.0),
        // a ring that comes back to one of its points, without and with a hole made by it
        (vec![vec![vec![[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 2.0]]]], 2.0),
        (vec![vec![vec![[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]]], 14.5),
    ] {
        let found = Polygons::new(polygons.clone()).unwrap_or_else(|error| panic!("{error}: {polygons:?}"));
        assert!((found.area() - area).abs() < 1e-14, "{} {area}", found.area());
    }
    // a side in thirds: the corner between is off the line by a rounding error
    let corner = |t: f64| [1.0 + t * 0.7, 2.0 + t * 0.1];
    let upper = vec![corner(0.0), corner(1.0), [1.2, 4.0]];
    for t in [1.0 / 3.0, 0.1, 0.7, 0.9] {
        let lower = [vec![corner(0.0), [1.2, 0.0], corner(t)], vec![corner(t), [1.2, 0.0], corner(1.0)]];
        let polygons = vec![vec![upper.clone()], vec![lower[0].clone()], vec![lower[1].clone()]];
        assert!(Polygons::new(polygons).is_ok(), "{t}");
    }
}

#[test]
fn the_border_belongs_to_the_area() {
    let polygons = Polygons::new(vec![
        vec![vec![[0.0, 0.0], [4.0, 1.0], [3.0, 5.0], [1.0, 3.0]], vec![[1.5, 1.5], [2.5, 1.5], [2.0, 2.5]]],
        vec![square(5.0, 0.0, 1.0)],
    ]);
    let window = Window::inside(polygons.unwrap());
    for ring in window.outlines().flat_map(|outline| outline.rings()).flatten() {
        for (from, to) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            for part in [0.0, 0.1, 1.0 / 3.0, 0.77] {
                assert!(window.contains(&[0, 1].map(|r| from[r] + part * (to[r] - from[r]))));
            }
        }
    }
    for (point, inside) in [
        ([2.0, 0.6], true),
        ([2.0, 1.6], false), // in the hole
        ([2.0, 1.4999], true),
        ([0.1, 1.0], false),
        ([5.5, 0.5], true),
        ([4.5, 0.5], false),
        ([5.5, 1.0001], false),
        ([-1.0, 1.0], false), // level with corners, left and right of all
        ([9.0, 1.0], false),
        ([0.0, 7.0], false),
        ([f64::NAN, 0.5], false),
    ] {
        assert_eq!(window.contains(&point), inside, "{point:?}");
    }
}

#[test]
fn the_share_of_points_inside_is_that_of_the_area() {
    let file = golden_file();
    for name in ["l_shape_with_hole", "slanted"] {
        let window = Window::inside(shape(&file, name));
        let spans = window.bounding_box();
        let (count, mut inside) = (100_000, 0);
        for i in 0..count {
            let place = |r: usize, step: f64| spans[r].lo + spans[r].length() * (i as f64 * step).fract();
            inside += usize::from(window.contains(&[place(0, 0.754_877_666_2), place(1, 0.569_840_291_0)]));
        }
        let share = window.measure() / spans.iter().map(Span::length).product::<f64>();
        assert!((inside as f64 / count as f64 - share).abs() < 1e-3, "{name}");
    }
}

#[test]
fn common_parts() {
    let file = golden_file();
    let shape = Window::inside(shape(&file, "l_shape_with_hole"));
    let clip = |x: (f64, f64), y: (f64, f64)| shape.intersection(&Window::new(&[x, y]).unwrap());
    // around the hole; across the notch; in the hole; outside; along the border
    for (x, y, area) in [
        ((0.0, 1.3), (0.0, 1.1), Some(1.3 * 1.1 - 0.3)),
        ((1.0, 2.0), (1.0, 2.0), Some(0.52)),
        ((-9.0, 9.0), (-9.0, 9.0), Some(5.12)),
        ((0.5, 0.9), (0.5, 0.8), None),
        ((2.0, 3.0), (1.3, 2.0), None),
        ((3.0, 4.0), (0.0, 1.0), None),
    ] {
        let found = clip(x, y).map(|window| window.measure());
        let as_wanted = found.is_some() == area.is_some() && (found.unwrap_or(0.0) - area.unwrap_or(0.0)).abs() < 1e-13;
        assert!(as_wanted, "{x:?} {y:?}: {found:?} {area:?}");
    }
    let corner = clip((1.0, 2.0), (1.0, 2.0)).unwrap();
    assert_eq!(corner.bounding_box(), [Span { lo: 1.0, hi: 2.0 }; 2]);
    // two slanted triangles whose common part is known: a diamond
    let triangle = |y: f64, tip: f64| Polygons::new(vec![vec![vec![[-0.3, y], [0.7, y], [0.2, tip]]]]).unwrap();
    let both = triangle(0.0, 1.0).intersection(&triangle(1.0, 0.0)).unwrap();
    assert!((both.area() - 0.25).abs() < 1e-15, "{}", both.area());
    assert_eq!(both.rings()[0][0].len(), 4);
    assert!(triangle(0.0, 1.0).intersection(&triangle(5.0, 4.0)).is_none());
    // neighbours whose common side is cut in thirds share nothing but rounding errors
    let corner = |t: f64| [1.0 + t * 0.7, 2.0 + t * 0.1];
    let upper = Polygons::new(vec![vec![vec![corner(0.0), corner(1.0), [1.2, 4.0]]]]).unwrap();
    let lower = Polygons::new(vec![vec![vec![corner(-0.2), [1.2, 0.0], corner(1.0 / 3.0)]]]).unwrap();
    assert!(upper.intersection(&lower).is_none());
}

#[test]
fn a_grid_nearby_leaves_out_what_is_far() {
    let triangle = Window::inside(Polygons::new(vec![vec![vec![[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]]]]).unwrap());
    let near = triangle.grid_nearby(&[11, 11]);
    // Points up to one step from the triangle: i + j ≤ 12, a step along both axes from the slanted side.
    let wanted = (0..11).flat_map(|i| (0..11).map(move |j| i + j)).filter(|sum| *sum <= 12).count();
    assert_eq!(near.len(), wanted);
    // A box in the middle of the area, which no edge meets, and one in a hole.
    let ring = Window::inside(Polygons::new(vec![vec![square(0.0, 0.0, 10.0), square(2.0, 2.0, 6.0)]]).unwrap());
    let near = ring.grid_nearby(&[21, 21]);
    assert_eq!(near.len(), 21 * 21 - 9 * 9);
}

/// A border so thin that no node of any lattice lies inside: its integrals are those of the outline, and the rate is found all the same.
#[test]
fn a_border_without_a_node_inside_is_fitted() {
    let corners = vec![[0.0, 0.0], [10.0, 5.0], [10.0, 5.000_001], [0.0, 0.000_001]];
    let outline = Polygons::new(vec![vec![corners]]).unwrap();
    let window = Window::inside(outline);
    let row = |i: i32| [0.1 + 0.2 * f64::from(i), 0.05 + 0.1 * f64::from(i) + 5e-7];
    let events = Points::new(2, (0..49).flat_map(row).collect()).unwrap();
    let model = Model { average: false, checked: false, ..Model::default() };
    let fit = model.fit(&Events::new(events, window.clone()).unwrap()).unwrap();
    let expected = fit.posterior.expected(&window).unwrap();
    assert!((expected / 49.0 - 1.0).abs() < 0.05, "{expected}");
}
