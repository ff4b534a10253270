//! `simulate` as a real process: events from formulas and models, and what is refused.

use crate::common::{Folder, Run};

/// A square of side 10 with a hole of side 2.
const BORDER: &str = r#"{"type":"Polygon",
    "coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[4,4],[4,6],[6,6],[6,4],[4,4]]]}"#;

/// A column of numbers.
fn column(run: &Run, name: &str) -> Vec<f64> {
    let (header, rows) = run.csv();
    let place = header.iter().position(|found| found == name).unwrap_or_else(|| panic!("no {name} in {header:?}"));
    rows.iter().map(|row| row[place].parse().unwrap()).collect()
}

/// A file, as if a run had printed it.
fn file(folder: &Folder, name: &str) -> Run {
    Run { code: 0, out: String::from_utf8(folder.read(name)).unwrap(), err: String::new() }
}

/// So many events within four standard deviations of a Poisson count.
#[track_caller]
fn about(found: usize, expected: f64) {
    assert!((found as f64 - expected).abs() < 4.0 * expected.sqrt() + 1.0, "{found} are not about {expected}");
}

#[test]
fn formulas_give_their_events() {
    let folder = Folder::new();
    let run =
        folder.run("simulate --intensity '2*exp(-s/15) + exp(-((s - 25)/10)^2)' --window 0,50 --columns s").good();
    let times = column(&run, "s");
    assert_eq!(run.csv().0, ["s"]);
    about(times.len(), 46.65);
    assert!(times.is_sorted() && times.iter().all(|s| (0.0..50.0).contains(s)));
    assert!(run.err.contains("events; expected: 46.6471 a draw"), "{}", run.err);
    let run = folder.run("simulate --intensity '5*sin(x^2) + 6' --window 0,5 --draws 200 --seed 3").good();
    assert_eq!(run.csv().0, ["draw", "x"]);
    about(run.csv().1.len(), 200.0 * 32.64);
    let draws = column(&run, "draw");
    assert_eq!((draws[0], *draws.last().unwrap()), (1.0, 200.0));
    let again =
        folder.run("simulate --intensity '5*sin(x^2) + 6' --window 0,5 --draws 200 --seed 3 --threads 1").good();
    assert_eq!(run.out, again.out);
    assert_ne!(
        run.out,
        folder.run("simulate --intensity '5*sin(x^2) + 6' --window 0,5 --draws 200 --seed 4").good().out
    );
    let first = folder.run("simulate --intensity '5*sin(x^2) + 6' --window 0,5 --seed 3").good();
    let of_first: Vec<f64> =
        column(&run, "x").into_iter().zip(&draws).filter(|(_, d)| **d == 1.0).map(|(x, _)| x).collect();
    assert_eq!(column(&first, "x"), of_first, "the first draw is the same however many follow");
    let run = folder.run("simulate --intensity 0 --window 0,5").good();
    assert_eq!((run.out.as_str(), run.err.as_str()), ("x\n", "0 events; expected: 0 a draw\n"));
}

#[test]
fn files_json_and_silence() {
    let folder = Folder::new();
    let run = folder.run("simulate --intensity 20 --window 0,5 -o e.csv").good();
    assert!(run.out.is_empty() && run.err.contains("wrote e.csv"), "{}", run.err);
    assert!(folder.run("simulate --intensity 20 --window 0,5 -q").good().err.is_empty());
    let columns = folder.run("simulate --intensity 20 --window 0,5 --json").good().json();
    assert_eq!(
        columns["x"].as_array().unwrap().len(),
        folder.read("e.csv").iter().filter(|c| **c == b'\n').count() - 1
    );
    folder.run("fit e.csv --window 0,5 --inducing 6").good();
}

#[test]
fn windows_of_every_kind() {
    let folder = Folder::new();
    folder.write("border.geojson", BORDER);
    let run = folder.run("simulate --intensity '0.2*lon + 1' --window border.geojson --columns lon,lat").good();
    let (lon, lat) = (column(&run, "lon"), column(&run, "lat"));
    about(lon.len(), 192.0);
    let in_hole = |x: &f64| (4.0..6.0).contains(x);
    assert!(!lon.iter().zip(&lat).any(|(x, y)| in_hole(x) && in_hole(y)));
    let run =
        folder.run("simulate --intensity 't*x/(1 + y)' --window border.geojson,1,3 --window 20,21,1,2,0,3").good();
    assert_eq!(run.csv().0, ["x", "y", "t"]);
    assert!(column(&run, "x").iter().any(|x| *x > 20.0) && column(&run, "t").iter().all(|t| (0.0..3.0).contains(t)));
    let run = folder.run("simulate --intensity 10 --window 0,2 --window 5,8 --repeats 4").good();
    about(run.csv().1.len(), 200.0);
    assert!(column(&run, "x").iter().all(|x| !(2.0..5.0).contains(x)));
    folder.write("effort.csv", "x,effort\n0,0\n10,20\n");
    let run = folder.run("simulate --intensity 1 --window 0,10 --exposure effort.csv").good();
    about(run.csv().1.len(), 100.0);
    about(column(&run, "x").iter().filter(|x| **x < 5.0).count(), 25.0);
    let run = folder
        .run("simulate --intensity 'x0*x3' --columns a,b,c,d --window 0,2,0,2,0,2,0,2 --window -2,-1,0,1,0,1,-2,-1");
    assert_eq!(run.good().csv().0, ["a", "b", "c", "d"]);
    folder.run("simulate --intensity 0.1 --window kenya").good();
    let needle = "'1e7*exp(-((x - 3.3333)^2 + (y - 1.2345)^2)/1e-6)'";
    let run = folder.run(&format!("simulate --intensity {needle} --window 0,5,0,5")).good();
    about(run.csv().1.len(), 31.4);
    assert!(!run.err.contains("expected"), "what the quadrature cannot see it does not tell: {}", run.err);
}

#[test]
fn dates_are_counted_from_the_first_midnight() {
    let folder = Folder::new();
    let options = "--window 2016-02-23T12:00Z,2016-03-01 --columns when --time-unit hours";
    let run = folder.run(&format!("simulate --intensity '1 + cos(2*pi*when/24)' {options}")).good();
    assert_eq!(run.csv().0, ["when", "when_iso"]);
    let hours = column(&run, "when");
    about(hours.len(), 156.0);
    assert!(hours.iter().all(|h| (12.0..168.0).contains(h)));
    assert!(run.csv().1.iter().all(|row| row[1].starts_with("2016-02-2") && row[1].ends_with('Z')));
    folder.write("log.csv", &run.out);
    folder.run("fit log.csv --columns when_iso --window 2016-02-23T12:00Z,2016-03-01 --inducing 8").good();
    folder.run("simulate --intensity 1 --window 0,2016-03-01").refused(&["--window 0,2016-03-01", "dates"]);
}

#[test]
fn models_give_theirs() {
    let folder = Folder::new().with_model();
    let run = folder.run("simulate --model model.json --draws 3 --seed 2").good();
    assert_eq!(run.out, folder.run("sample model.json --events --draws 3 --seed 2").good().out);
    let one = folder.run("simulate --model model.json").good();
    assert_eq!(one.csv().0, ["year"]);
    let mean = folder.run("simulate --model model.json --mean --draws 20").good();
    about(mean.csv().1.len(), 20.0 * 191.0);
    assert_eq!(mean.out, folder.run("simulate --model model.json --mean --draws 20 --threads 1").good().out);
    let early = column(&mean, "year").iter().filter(|year| **year < 1890.0).count() as f64;
    let count = folder.run("count model.json --in 1851.2026009582,1890 --json").good().json();
    let expected = 20.0 * count["mean"].as_f64().unwrap();
    assert!((early - expected).abs() < 4.0 * expected.sqrt(), "{early} {expected}");
}

#[test]
fn sigmoidal_processes_give_sets_of_events_from_one_intensity() {
    let folder = Folder::new();
    let line = "simulate --sgcp 'ceiling=50, lengthscale=0.2, variance=2, mean=-0.5' --window 0,1";
    let run = folder.run(&format!("{line} --draws 200 --truth truth.csv --grid 201")).good();
    assert_eq!(run.csv().0, ["draw", "x"]);
    // Events are as many as the integral of the rate in the file (trapezoidal rule), within five standard errors.
    let truth = file(&folder, "truth.csv");
    assert_eq!(truth.csv().0, ["x", "rate"]);
    let rate = column(&truth, "rate");
    assert!(rate.len() == 201 && rate.iter().all(|rate| (0.0..50.0).contains(rate)), "{rate:?}");
    let integral = |rate: &[f64]| rate.windows(2).map(|ends| 0.5 * (ends[0] + ends[1]) / 200.0).sum::<f64>();
    let (places, draws) = (column(&run, "x"), column(&run, "draw"));
    for (part, lo, hi) in [(&rate[..], 0.0, 1.0), (&rate[..=40], 0.0, 0.2), (&rate[120..], 0.6, 1.0)] {
        let (found, expected) = (places.iter().filter(|x| (lo..hi).contains(*x)).count(), 200.0 * integral(part));
        assert!((found as f64 - expected).abs() < 5.0 * expected.sqrt(), "{found} are not about {expected}");
    }
    // The same seed gives the same bytes; what is asked for besides changes no event.
    let again = folder.run(&format!("{line} --draws 200 --threads 1")).good();
    assert_eq!(run.out, again.out);
    assert_ne!(run.out, folder.run(&format!("{line} --draws 200 --seed 1")).good().out);
    let first = folder.run(line).good();
    let of_first: Vec<f64> = places.iter().zip(&draws).filter(|(_, draw)| **draw == 1.0).map(|(x, _)| *x).collect();
    assert_eq!((first.csv().0, column(&first, "x")), (vec!["x".to_string()], of_first.clone()));
    assert!(of_first.is_sorted());
}

#[test]
fn sigmoidal_processes_on_windows_of_every_kind() {
    let folder = Folder::new();
    folder.write("border.geojson", BORDER);
    // f hardly varies, so the rate is half the ceiling.
    let even = "simulate --sgcp 'ceiling=4, lengthscale=3, lengthscale[lat]=5, variance=1e-9'";
    let run = folder
        .run(&format!("{even} --window border.geojson --columns lon,lat --repeats 3 --truth truth.csv --grid 21x21"))
        .good();
    let in_hole = |run: &Run| {
        let at = column(run, "lon").into_iter().zip(column(run, "lat"));
        at.filter(|(x, y)| (4.01..5.99).contains(x) && (4.01..5.99).contains(y)).count()
    };
    about(run.csv().1.len(), 3.0 * 2.0 * 96.0);
    assert_eq!(in_hole(&run), 0);
    let truth = file(&folder, "truth.csv");
    assert_eq!((truth.csv().0.join(","), in_hole(&truth)), ("lon,lat,rate".into(), 0));
    assert_eq!(truth.csv().1.len(), 21 * 21 - 9, "all but those in the hole");
    assert!(column(&truth, "rate").iter().all(|rate| (rate - 2.0).abs() < 1e-2), "that of one repeat");
    let union = "simulate --sgcp 'ceiling=40, lengthscale=1' --window 0,2 --window 5,8";
    assert!(column(&folder.run(union).good(), "x").iter().all(|x| !(2.0..5.0).contains(x)));
}

#[test]
fn a_truth_can_be_compared_with() {
    let folder = Folder::new().with_model();
    let options = "--window 0,1,0,1 --draws 2 --json --truth truth.csv";
    let drawn = folder.run(&format!("simulate --sgcp 'ceiling=300, lengthscale=0.3, variance=4' {options}")).good();
    let (drawn, folder) = (drawn.json(), &folder);
    for (number, name) in [(1, "train.csv"), (2, "test.csv")] {
        let at = |axis: &str| drawn[axis].as_array().unwrap().iter().map(|x| x.to_string()).collect::<Vec<_>>();
        let rows = at("draw").into_iter().zip(at("x")).zip(at("y"));
        let own = rows.filter(|((draw, _), _)| *draw == number.to_string());
        folder.write(name, own.fold("x,y\n".to_string(), |text, ((_, x), y)| format!("{text}{x},{y}\n")));
    }
    let compare =
        "compare train.csv test.csv --window 0,1,0,1 --truth truth.csv --inducing 6x6 --methods vbpp,homogeneous";
    let run = folder.run(&format!("{compare} --json")).good().json();
    let rms = |i: usize| run["methods"][i]["rms"].as_f64().unwrap();
    assert!(rms(0) < rms(1), "{run}");
    // Formulas and the mean of a model are one intensity too.
    folder.run("simulate --intensity '3 + x' --window 0,1 --truth t.csv --grid 3").good();
    assert_eq!(file(folder, "t.csv").out, "x,rate\n0,3\n0.5,3.5\n1,4\n");
    folder.run("simulate --model model.json --mean --truth t.csv --grid 3").good();
    let mean = folder.run("predict model.json --grid 3").good().csv().1;
    let expected: String = mean.iter().map(|row| format!("{},{}\n", row[0], row[1])).collect();
    assert_eq!(file(folder, "t.csv").out, format!("year,rate\n{expected}"));
    // Dates stay out of it.
    folder.run("simulate --intensity 1 --window 2016-03-01,2016-03-03 --columns when --truth t.csv --grid 2").good();
    assert_eq!(file(folder, "t.csv").out, "when,rate\n0,1\n2,1\n");
}

#[test]
fn what_is_refused_of_sigmoidal_processes_and_truths() {
    let folder = Folder::new().with_model();
    folder.write("border.geojson", BORDER).write("effort.csv", "x,effort\n0,1\n1,2\n");
    let sgcp = |parameters: &str, options: &str| folder.run(&format!("simulate --sgcp '{parameters}' {options}"));
    sgcp("", "--window 0,1").refused(&["--sgcp", "ceiling=10, lengthscale=0.2"]);
    sgcp("lengthscale=1", "--window 0,1").refused(&["no ceiling", "ceiling=10"]);
    sgcp("ceiling=1", "--window 0,1").refused(&["no lengthscale", "along x", "lengthscale=0.2"]);
    sgcp("ceiling=1, lengthscale[x]=1", "--window 0,1,0,1").refused(&["no lengthscale", "along y"]);
    sgcp("ceiling=many, lengthscale=1", "--window 0,1").refused(&["ceiling=many", "not a number"]);
    sgcp("ceiling=1, lengthscale=1, height=3", "--window 0,1").refused(&["`height`", "variance and mean"]);
    sgcp("ceiling=1, lengthscale=1, mean=1, mean=2", "--window 0,1").refused(&["mean is given twice"]);
    sgcp("ceiling=1, lengthscale=0", "--window 0,1").refused(&["--sgcp: lengthscale = 0", "positive"]);
    sgcp("ceiling=1, lengthscale=1, variance=-1", "--window 0,1").refused(&["--sgcp: variance = -1", "positive"]);
    sgcp("ceiling=1e6, lengthscale=1", "--window 0,1").refused(&["1000000", "50000", "lower ceiling"]);
    sgcp("ceiling=1e4, lengthscale=1", "--window 0,1 --draws 9").refused(&["90000", "fewer sets"]);
    sgcp("ceiling=2e4, lengthscale=1e-5", "--window 0,1").refused(&["lengthscale = 0.00001", "too short", "longer"]);
    let good = "ceiling=1, lengthscale=1";
    sgcp(good, "").refused(&["--sgcp needs --window"]);
    sgcp(good, "--window 0,1 --mean").refused(&["--mean has no effect", "--model"]);
    sgcp(good, "--window 0,1 --intensity 1").refused(&["--intensity and --sgcp"]);
    sgcp(good, "--window 0,1 --exposure effort.csv").refused(&["--exposure", "varies", "leave it out"]);
    sgcp(good, "--window 0,1 --grid 20").refused(&["--grid has no effect", "--truth"]);
    sgcp(good, "--window 0,1 --truth t.csv --grid 20x20").refused(&["--grid 20x20", "1 axis"]);
    sgcp(good, "--window 0,1 --truth t.csv --columns rate").refused(&["`rate`", "--truth"]);
    sgcp(good, "--window 0,1 --truth missing/t.csv").refused(&["directory"]);
    sgcp(good, "--window 0,1 --truth t.csv -o t.csv").refused(&["--truth t.csv", "another file"]);
    sgcp(good, "--window 0,1 --truth -").refused(&["--truth -", "--output"]);
    sgcp(good, "--window border.geojson --truth t.csv --grid 1x1").refused(&["no point of the grid", "--grid"]);
    folder.run("simulate --model model.json --truth t.csv").refused(&["--truth", "--mean"]);
    assert!(!folder.path("t.csv").exists());
}

#[test]
fn what_is_refused() {
    let folder = Folder::new().with_model();
    folder.write("effort.csv", "x,effort\n0,1\n3,1\n");
    folder.run("simulate").refused(&["--intensity", "--model"]);
    folder.run("simulate --intensity 1 --model model.json --window 0,5").refused(&["--intensity and --model"]);
    folder.run("simulate --intensity 1").refused(&["--window", "0,50"]);
    folder.run("simulate --intensity 1 --window 0,5 --mean").refused(&["--mean has no effect", "--model"]);
    for option in ["--window 0,5", "--columns t", "--repeats 2", "--exposure effort.csv", "--time-unit days"] {
        let name = option.split(' ').next().unwrap();
        folder.run(&format!("simulate --model model.json {option}")).refused(&[name, "leave it out"]);
    }
    folder.run("simulate --model missing.json").refused(&["missing.json"]);
    folder.run("simulate --intensity 1 --window 0,5 --draws 0").refused(&["--draws 0"]);
    folder.run("simulate --intensity 1 --window 0,5 --repeats 0").refused(&["--repeats 0"]);
    folder.run("simulate --intensity 1 --window 0,5 --exposure effort.csv").refused(&["effort.csv", "0 to 5"]);
    folder.run("simulate --intensity 1 --window 5,0").refused(&["--window 5,0", "`x`", "not below"]);
    folder.run("simulate --intensity 1 --window 0,5,1").refused(&["--window 0,5,1", "2 axes (x, y)"]);
    folder.run("simulate --intensity 1 --window ''").refused(&["--window is empty"]);
    folder.run("simulate --intensity 1 --window nowhere").refused(&["`nowhere`", "kenya"]);
    folder.run("simulate --intensity 1 --window 0,5 --window 4,6").refused(&["overlap"]);
    folder.run("simulate --intensity 1 --window 0,1,0,1,0,1,0,1").refused(&["4 axes", "--columns"]);
    folder.run("simulate --intensity 1 --window 0,5 --columns a,b").refused(&["2 axes (a, b)"]);
    folder.run("simulate --intensity 1 --window 0,5,0,5 --columns a,a").refused(&["`a` stands twice"]);
    folder.run("simulate --intensity 1 --window 0,5,0,5 --columns a,").refused(&["empty name"]);
    folder.run("simulate --intensity 1 --window 0,5 --columns draw --draws 2").refused(&["`draw`"]);
    folder.run("simulate --intensity 1 --window 0,5 --time-unit fortnights").refused(&["fortnights"]);
    folder.run("simulate --intensity 1 --window 0,5 -o missing/e.csv").refused(&["directory"]);
    folder.run("simulate --intensity 'x - 1' --window 0,5").refused(&["negative at x 0", "-1", "max(0, ...)"]);
    folder.run("simulate --intensity 'sqrt(x - 1)' --window 0,5").refused(&["not finite at x 0", "NaN"]);
    folder.run("simulate --intensity '1/y' --window 0,5,0,5").refused(&["not finite at x 0, y 0", "inf"]);
    folder.run("simulate --intensity 1e8 --window 0,1").refused(&["1.000e8 events", "50000000"]);
    folder.run("simulate --intensity 1e3 --window 0,1 --draws 100000").refused(&["100000 draws", "fewer draws"]);
    folder.run("simulate --intensity 1e300 --window 0,1").refused(&["--intensity", "candidates"]);
    folder.run("simulate --model model.json --draws 1000000").refused(&["1000000 draws"]);
}

#[test]
fn a_mistake_in_a_formula_is_pointed_at() {
    let folder = Folder::new();
    let run = folder.run("simulate --intensity '2*sin(t)' --window 0,5");
    assert_eq!(run.code, 2);
    let lines: Vec<&str> = run.err.lines().collect();
    assert!(lines[0].starts_with("error: --intensity: there is nothing called `t`; the axis is `x`"), "{}", run.err);
    assert_eq!(&lines[1..], ["  2*sin(t)", "        ^"]);
    let run = folder.run("simulate --intensity '2*sin(t' --window 0,5,0,5 --columns t,u");
    assert!(run.code == 2 && run.err.contains("not closed"), "{}", run.err);
}

#[test]
fn the_help_has_examples_that_work() {
    let folder = Folder::new().with_model();
    folder.write("border.geojson", BORDER).write("effort.csv", "x,y,effort\n0,0,1\n0,10,1\n10,0,2\n10,10,2\n");
    let help = folder.run("simulate --help").good().out;
    let examples: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pointillist "))
        .filter(|line| line.starts_with("simulate"))
        .collect();
    assert!(examples.len() >= 5, "{help}");
    for example in examples {
        folder.run(example.split(" > ").next().unwrap()).good();
    }
}

#[test]
fn places_that_are_called_degrees_are_degrees() {
    let folder = Folder::new();
    let run =
        |window: &str, names: &str| folder.run(&format!("simulate --intensity 1 --window {window} --columns {names}"));
    run("0,1,89,91", "lon,lat").refused(&["--window", "91", "latitude", "--columns"]);
    run("0,400,0,1", "lon,lat").refused(&["--window", "400", "longitude"]);
    run("0,1,89,91", "x,y").good();
    run("0,1,88,90", "lon,lat").good();
}
