//! Whatever form events, window and exposure come in: a fit expects as many events as there were, and the counts of parts add up to that
//! of the whole. As a real process, with both bases.

use crate::common::{Folder, Run};
use serde_json::Value;

/// A fit may expect this part of the events more or fewer than there were. To scale f is open to any fit, and where the bound is highest
/// that gains nothing: the integral is N less half of what the KL changes by, a few events at most. It is 1 or 2 % of some hundreds.
const NEAR: f64 = 0.03;

/// Numbers from 0 to 1 without structure (a linear congruential generator), the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// So many points in a box of side 10 with this density, which is 1 at most, kept where `keep` says.
    fn points(
        &mut self,
        count: usize,
        density: impl Fn(f64, f64) -> f64,
        keep: impl Fn(f64, f64) -> bool,
    ) -> Vec<[f64; 2]> {
        let mut points = Vec::new();
        while points.len() < count {
            let (x, y) = (10.0 * self.next(), 10.0 * self.next());
            if self.next() < density(x, y) && keep(x, y) {
                points.push([x, y]);
            }
        }
        points
    }

    /// So many numbers from 0 to 10 with this density.
    fn line(&mut self, count: usize, density: impl Fn(f64) -> f64) -> Vec<f64> {
        self.points(count, |x, _| density(x), |_, _| true).iter().map(|[x, _]| *x).collect()
    }
}

fn wave(x: f64) -> f64 {
    0.6 + 0.4 * x.sin()
}

fn column(name: &str, values: &[f64]) -> String {
    values.iter().fold(format!("{name}\n"), |text, x| text + &format!("{x}\n"))
}

fn rows(header: &str, rows: impl IntoIterator<Item = Vec<f64>>) -> String {
    let line = |row: Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    rows.into_iter().fold(format!("{header}\n"), |text, row| text + &line(row))
}

fn plane(points: &[[f64; 2]]) -> String {
    rows("x,y", points.iter().map(|point| point.to_vec()))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A fit, and a partition of its window: regions, and how often each was looked at.
struct Case<'a> {
    fit: &'a str,
    events: usize,
    parts: &'a [(&'a str, f64)],
    input: Option<&'a str>,
}

impl<'a> Case<'a> {
    fn new(fit: &'a str, events: usize, parts: &'a [(&'a str, f64)]) -> Self {
        Self { fit, events, parts, input: None }
    }

    /// Fits with both bases; on two axes with that many unknowns on each.
    #[track_caller]
    fn check(&self, folder: &Folder) {
        let is_line = self.parts[0].0.split(',').count() == 2;
        let bases = match is_line {
            true => [
                "--basis inducing --inducing 10",
                "--basis inducing --inducing 10 --average off",
                "--link square --smoothness 2 --average off --nodes 60",
                "--nodes 60",
            ],
            false => [
                "--basis inducing --inducing 5x5",
                "--basis inducing --inducing 5x5 --average off",
                "--link square --smoothness 2 --average off --nodes 16x16",
                "--nodes 16x16",
            ],
        };
        bases.iter().for_each(|basis| self.check_with(folder, basis));
    }

    #[track_caller]
    fn check_with(&self, folder: &Folder, basis: &str) {
        let said = format!("{} {basis}", self.fit);
        let arguments = format!("{said} --json -o m.json");
        let run = self.input.map_or_else(|| folder.run(&arguments), |input| folder.run_with(&arguments, input));
        let summary = run.good().json();
        assert_eq!(summary["events"], self.events, "{said}");
        let (integral, events) = (number(&summary["elbo_parts"]["integral"]), self.events as f64);
        assert!((integral - events).abs() < NEAR * events, "{said}: {integral} of {events}");
        let regions: String = self.parts.iter().map(|(region, _)| format!(" --in {region}")).collect();
        let counted = folder.run(&format!("count m.json --draws 20 --json{regions}")).good().json();
        let means: Vec<f64> = counted["regions"].as_array().unwrap().iter().map(|part| number(&part["mean"])).collect();
        let seen: f64 = means.iter().zip(self.parts).map(|(mean, (_, looks))| mean * looks).sum();
        // The integral of an average is that of its best component, which differs a little.
        let near = if basis.contains("--average off") { 1e-6 } else { 0.005 };
        assert!((seen - integral).abs() < near * integral, "{said}: parts {means:?} of {integral}");
        let whole = number(&folder.run("count m.json --draws 20 --json").good().json()["mean"]);
        let sum: f64 = means.iter().sum();
        // Integrals of the square are closed; those of exp f under an exposure with jumps are found by quadrature.
        let digits = if near < 1e-3 || basis.contains("inducing") { 1e-6 } else { 2e-5 };
        assert!((sum - whole).abs() < digits * whole, "{said}: parts {means:?} of {whole}");
        // A part must not have all of it.
        assert!(means.iter().all(|mean| *mean > 0.0 && *mean < 0.9 * whole), "{said}: {means:?}");
    }
}

/// A partition of 0,10 looked at once.
const LINE: [(&str, f64); 3] = [("0,2", 1.0), ("2,3.3", 1.0), ("3.3,10", 1.0)];
/// A partition of 0,10,0,10 looked at once.
const PLANE: [(&str, f64); 3] = [("0,4,0,10", 1.0), ("4,10,0,5.5", 1.0), ("4,10,5.5,10", 1.0)];

#[test]
fn events_on_a_line() {
    let folder = Folder::new();
    let times = Random(1).line(300, wave);
    let table = column("t", &times);
    folder.write("t.csv", &table);
    Case::new("fit t.csv --window 0,10", 300, &LINE).check(&folder);
    Case { input: Some(&table), ..Case::new("fit - --window 0,10", 300, &LINE) }.check(&folder);
    let gap: Vec<f64> = times.iter().copied().filter(|t| !(4.0..5.5).contains(t)).collect();
    folder.write("gap.csv", column("t", &gap));
    let parts = [("0,1", 1.0), ("1,4", 1.0), ("5.5,8", 1.0), ("8,10", 1.0)];
    Case::new("fit gap.csv --window 0,4 --window 5.5,10", gap.len(), &parts).check(&folder);
    folder.run("summarize t.csv --window 0,10 -o t.summary").good();
    Case::new("fit t.summary", 300, &LINE).check(&folder);
}

#[test]
fn several_looks_at_a_line() {
    let folder = Folder::new();
    let times = Random(2).line(400, wave);
    folder.write("t.csv", column("t", &times));
    let eight = LINE.map(|(region, _)| (region, 8.0));
    Case::new("fit t.csv --window 0,10 --repeats 8", 400, &eight).check(&folder);
    // An event in the first half is of trial a or b, in the middle of any, in the second half of b or c.
    let trial = |(i, t): (usize, &f64)| match (*t, i % 3) {
        (t, 2) if t > 4.0 => format!("c,{t}\n"),
        (t, 1) if t < 6.0 => format!("a,{t}\n"),
        (t, _) => format!("b,{t}\n"),
    };
    let spikes: String = times.iter().enumerate().map(trial).collect();
    folder.write("spikes.csv", format!("trial,t\n{spikes}"));
    folder.write("trials.csv", "trial,start,end\na,0,6\nb,0,10\nc,4,10\n");
    let parts = [("0,4", 2.0), ("4,6", 3.0), ("6,10", 2.0)];
    Case::new("fit spikes.csv --trials trials.csv", 400, &parts).check(&folder);
    // Weights are those of one look.
    folder.write("w.csv", rows("t,weight", (0..50).map(|i| vec![0.1 + 0.2 * i as f64, 0.2 + 0.01 * i as f64])));
    Case::new("fit t.csv --window 0,10 --repeats 8 --exposure w.csv", 400, &eight).check(&folder);
}

#[test]
fn events_by_date() {
    let folder = Folder::new();
    let times = Random(3).line(300, wave);
    let date = |t: &f64| {
        let hours = 24.0 * t;
        format!("2016-03-{:02}T{:02}:{:02}:00Z", 1 + *t as usize, hours as usize % 24, (60.0 * hours) as usize % 60)
    };
    let dates: String = times.iter().map(|t| date(t) + "\n").collect();
    folder.write("log.csv", format!("when\n{dates}"));
    let days: String = (1..=10).map(|day| format!("2016-03-{day:02}T12:00:00Z,{}\n", 5 + day)).collect();
    folder.write("days.csv", format!("when,weight\n{days}"));
    let parts = [
        ("2016-03-01,2016-03-03", 1.0),
        ("2016-03-03,2016-03-04T08:00:00Z", 1.0),
        ("2016-03-04T08:00:00Z,2016-03-11", 1.0),
    ];
    for exposure in ["", "--exposure days.csv"] {
        Case::new(&format!("fit log.csv --window 2016-03-01,2016-03-11 {exposure}"), 300, &parts).check(&folder);
    }
}

#[test]
fn exposures_on_a_line() {
    let folder = Folder::new();
    let mut random = Random(4);
    folder.write("t.csv", column("t", &random.line(300, |t| wave(t) * t / 10.0)));
    folder.write("grid.csv", "t,hours\n0,0\n4,4\n10,10\n");
    folder.write(
        "even.csv",
        rows("t,weight", (0..100).map(|i| vec![0.05 + 0.1 * i as f64, 0.1 * (0.05 + 0.1 * i as f64)])),
    );
    let places = random.line(60, |_| 1.0);
    folder.write("scattered.csv", rows("t,weight", places.iter().map(|t| vec![*t, 0.1 * t])));
    folder.run("summarize t.csv --window 0,10 --exposure even.csv -o t.summary").good();
    for fit in ["t.csv --exposure grid.csv", "t.csv --exposure even.csv", "t.csv --exposure scattered.csv"] {
        Case::new(&format!("fit {fit} --window 0,10"), 300, &LINE).check(&folder);
    }
    Case::new("fit t.summary", 300, &LINE).check(&folder);
}

/// A square of side 10 without a corner and with a hole.
const BORDER: &str =
    r#"{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,6],[6,10],[0,10],[0,0]],[[2,2],[2,4],[4,4],[4,2],[2,2]]]}"#;

fn is_in_border(x: f64, y: f64) -> bool {
    x + y < 16.0 && !((2.0..4.0).contains(&x) && (2.0..4.0).contains(&y))
}

#[test]
fn events_on_a_plane() {
    let folder = Folder::new();
    let mut random = Random(5);
    folder.write("p.csv", plane(&random.points(300, |x, _| wave(x), |_, _| true)));
    folder.write("b.csv", plane(&random.points(300, |x, _| wave(x), is_in_border))).write("border.geojson", BORDER);
    folder.write("u.csv", plane(&random.points(300, |x, _| wave(x), |x, y| x < 4.0 || y > 5.5)));
    Case::new("fit p.csv --window 0,10,0,10", 300, &PLANE).check(&folder);
    Case::new("fit b.csv --window border.geojson", 300, &PLANE).check(&folder);
    let parts = [("0,2,0,10", 1.0), ("2,4,0,10", 1.0), ("4,10,5.5,10", 1.0)];
    Case::new("fit u.csv --window 0,4,0,10 --window 4,10,5.5,10", 300, &parts).check(&folder);
    folder.run("summarize p.csv --window 0,10,0,10 --cells 64x64 -o p.summary").good();
    Case::new("fit p.summary", 300, &PLANE).check(&folder);
}

#[test]
fn exposures_on_a_plane() {
    let folder = Folder::new();
    let mut random = Random(6);
    let people = |x: f64, y: f64| 0.1 + 0.9 * (-((x - 6.0).powi(2) + (y - 4.0).powi(2)) / 8.0).exp();
    folder.write("p.csv", plane(&random.points(300, |x, y| wave(x) * people(x, y), |_, _| true)));
    folder.write("b.csv", plane(&random.points(300, |x, y| wave(x) * people(x, y), is_in_border)));
    folder.write("border.geojson", BORDER);
    let at = |count: usize, shift: f64, step: f64| {
        (0..count * count).map(move |i| [shift + step * (i / count) as f64, shift + step * (i % count) as f64])
    };
    folder.write("grid.csv", rows("x,y,people", at(11, 0.0, 1.0).map(|[x, y]| vec![x, y, people(x, y)])));
    folder.write("even.csv", rows("x,y,weight", at(40, 0.125, 0.25).map(|[x, y]| vec![x, y, people(x, y) / 16.0])));
    let places = random.points(400, |_, _| 1.0, |_, _| true);
    folder.write("scattered.csv", rows("x,y,weight", places.iter().map(|[x, y]| vec![*x, *y, people(*x, *y) / 4.0])));
    for exposure in ["grid.csv", "even.csv", "scattered.csv"] {
        Case::new(&format!("fit p.csv --window 0,10,0,10 --exposure {exposure}"), 300, &PLANE).check(&folder);
        Case::new(&format!("fit b.csv --window border.geojson --exposure {exposure}"), 300, &PLANE).check(&folder);
    }
}

#[test]
fn a_rate_cannot_hide_between_weights() {
    let folder = Folder::new();
    let times = Random(7).line(300, |_| 1.0);
    folder.write("t.csv", column("t", &times));
    folder.write("w.csv", rows("t,weight", (0..100).map(|i| vec![0.05 + 0.1 * i as f64, 0.1])));
    let fit = |options: &str| folder.run(&format!("fit t.csv --window 0,10 --json {options}")).good().json();
    let (plain, weighed) = (fit(""), fit("--exposure w.csv -o m.json"));
    // Even weights say nothing: the fit is that without them, though found by quadrature.
    assert!((number(&weighed["elbo"]) - number(&plain["elbo"])).abs() < 1e-3, "{weighed}");
    assert!((number(&weighed["elbo_parts"]["integral"]) - 300.0).abs() < 3.0, "{weighed}");
    let mean = number(&folder.run("count m.json --in 2,3 --json").good().json()["mean"]);
    assert!((mean - 30.0).abs() < 6.0, "{mean} of about 30");
    // Everything that can be asked of a grid can be asked of weights.
    let drawn: Run = folder.run("sample m.json --events --draws 20").good();
    assert!((drawn.csv().1.len() as f64 / 20.0 - 300.0).abs() < 30.0);
    folder.run("simulate --model m.json --mean -o drawn.csv").good();
    folder.run("simulate --intensity 30 --columns t --window 0,10 --exposure w.csv").good();
    folder.run("score m.json drawn.csv").good();
    folder.run("predict m.json --grid 5").good();
    folder.run("plot m.json -o m.svg").good();
}

#[test]
fn weights_outside_the_window_do_not_count() {
    let folder = Folder::new();
    folder.write("t.csv", column("t", &Random(8).line(200, wave)));
    let table = |to: usize| rows("t,weight", (0..to).map(|i| vec![0.25 + 0.5 * i as f64, 1.0 + (i % 3) as f64]));
    folder.write("long.csv", table(43)).write("short.csv", table(20));
    let run = |options: &str| folder.run(&format!("fit t.csv --window 0,10 --inducing 8 {options}")).good();
    let (long, short) = (run("--exposure long.csv --json").json(), run("--exposure short.csv --json").json());
    assert_eq!((&long["elbo"], &long["window"]["measure"]), (&short["elbo"], &short["window"]["measure"]));
    let said = |summary: &Value| summary["warnings"].to_string().contains("weights");
    assert!(said(&long) && !said(&short), "{long}");
    // The table repeats 1, 2, 3: 85 in all, of which 39 lie before 10.
    let sentence = "23 of 43 weights in long.csv lie outside the window and do not count: 54.1 % of their sum";
    assert!(long["warnings"].to_string().contains(sentence), "{long}");
    assert!(run("--exposure long.csv").err.contains(sentence));
    folder.write("one.csv", format!("{}10.5,7\n", table(20)));
    assert!(
        run("--exposure one.csv").err.contains("1 of 21 weights in one.csv lies outside the window and does not count")
    );
    assert!(folder.run("summarize t.csv --window 0,10 --exposure long.csv -o s").good().err.contains(sentence));
    folder.run("fit t.csv --window 0,10 --exposure w.csv").refused(&["w.csv"]);
    folder.write("away.csv", "t,weight\n11,1\n12,1\n");
    folder.run("fit t.csv --window 0,10 --exposure away.csv").refused(&["away.csv", "no weight inside the window"]);
    folder.write("zero.csv", "t,weight\n2,1\n5,0\n8,1\n");
    folder.run("fit t.csv --window 0,10 --exposure zero.csv").refused(&[
        "t.csv",
        "of 200",
        "exposure is zero",
        "--clip",
    ]);
}

/// What lies beyond a window with an exposure, at the exposure that is said: parts add up, and a constant rate goes on at its own height.
#[test]
fn what_lies_beyond_an_exposure_adds_up() {
    let folder = Folder::new();
    let times = Random(11).line(400, |_| 1.0);
    folder.write("t.csv", column("t", &times));
    folder.write("e.csv", "t,e\n0,2\n10,2\n");
    for basis in ["--basis inducing --inducing 10", "--nodes 60", "--link log --smoothness 2 --average off --nodes 60"]
    {
        folder.run(&format!("fit t.csv --window 0,10 --exposure e.csv {basis} -q -o m.json")).good();
        let count = |options: &str| {
            number(&folder.run(&format!("count m.json --draws 20 --json {options}")).good().json()["mean"])
        };
        let beyond = |ends: &str, exposure: f64| count(&format!("--in {ends} --exposure-beyond {exposure}"));
        // Of one question: how far a lattice is widened depends on what is asked for.
        let asked = "count m.json --draws 20 --json --in 10,12 --in 10,10.5 --in 10.5,12 --exposure-beyond 2";
        let told = folder.run(asked).good().json()["regions"].clone();
        let [both, first, second] = [0, 1, 2].map(|r| number(&told[r]["mean"]));
        assert!((both / (first + second) - 1.0).abs() < 2e-5, "{basis}: {both} {first} {second}");
        let whole = beyond("10,12", 2.0);
        assert!((beyond("10,12", 6.0) / whole - 3.0).abs() < 1e-5, "{basis}: counts go with the exposure");
        // Forty events per unit at this exposure; what is not known of the rate there makes the mean a little higher.
        let next = beyond("10,10.5", 2.0);
        assert!((14.0..30.0).contains(&next), "{basis}: {next} where 20 are usual");
        assert!((count("") / 400.0 - 1.0).abs() < NEAR, "{basis}");
    }
}

/// 200 events per unit in one unit of 1,000, and none elsewhere.
#[test]
fn a_cluster_in_a_wide_window_leaves_the_rest_of_it_empty() {
    let (folder, mut held) = (Folder::new(), 0);
    for seed in 0..3 {
        let rate = "--intensity '200*step(x - 250)*step(251 - x)' --columns x --window 0,1000";
        folder.run(&format!("simulate {rate} --seed {seed} -o cluster.csv")).good();
        folder.run("fit cluster.csv --window 0,1000 -o cluster.json").good();
        let told = folder.run("count cluster.json --in 0,1000 --in 500,1000 --json").good().json();
        let [whole, empty] = [0, 1].map(|region| &told["regions"][region]);
        let end = |of: &Value, quantile: &str| of["quantiles"][quantile].as_f64().unwrap();
        assert!(empty["mean"].as_f64().unwrap() < 2.0, "{seed}: {empty}");
        assert!(end(empty, "0.05") < 0.2 && end(&empty["new_count"], "0.05") == 0.0, "{seed}: {empty}");
        held += usize::from(end(whole, "0.05") <= 200.0 && 200.0 <= end(whole, "0.95"));
        let new = &whole["new_count"];
        assert!(end(new, "0.05") <= 200.0 && 200.0 <= end(new, "0.95"), "{seed}: {whole}");
    }
    // A band of 90 % of the total may miss the truth in one of three sets.
    assert!(held >= 2, "{held} of 3");
}

/// A border so thin that no node of the lattice is inside, along a diagonal of its box: every lattice has hats on it.
#[test]
fn a_border_thinner_than_the_lattice_is_fitted() {
    let folder = Folder::new();
    let mut random = Random(7);
    let along: Vec<[f64; 2]> = (0..300).map(|_| [10.0 * random.next(), random.next()]).collect();
    // 2e-4 wide, where cells are 0.4 wide and more.
    let points: Vec<[f64; 2]> = along.iter().map(|[t, u]| [*t, t + 2e-4 * (0.01 + 0.98 * u)]).collect();
    folder.write("p.csv", plane(&points));
    let strip = r#"{"type":"Polygon","coordinates":[[[0,0],[10,10],[10,10.0002],[0,0.0002],[0,0]]]}"#;
    folder.write("strip.geojson", strip);
    folder.run("fit p.csv --window strip.geojson --nodes 24x24 -q -o m.json").good();
    let count = folder.run("count m.json --json").good().json();
    let expected = number(&count["mean"]);
    assert!((expected / 300.0 - 1.0).abs() < NEAR, "{expected}");
    folder.run("fit p.csv --window strip.geojson -q -o m.json").good();
}
