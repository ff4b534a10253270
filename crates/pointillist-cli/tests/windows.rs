//! Windows of every kind as a real process: unions, borders, trials, exposure; and what comes out of them.

use crate::common::Folder;
use serde_json::Value;

/// A few events between 0 and 10, none between 4 and 5.
const EVENTS: &str = "t\n0.5\n1.5\n2.25\n2.5\n2.75\n3\n5.5\n9\n";

/// A square of side 10 with a hole of side 2, as a feature.
const BORDER: &str = r#"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":{"type":"Polygon",
    "coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[4,4],[4,6],[6,6],[6,4],[4,4]]]}}]}"#;

/// Events in the square and not in the hole, the first on line 2.
fn sites() -> String {
    let all = (0..80).map(|i| ((i * 37 % 100) as f64 / 10.0, (i * 61 % 97) as f64 / 9.7));
    let inside = all.filter(|(x, y)| !((3.9..6.1).contains(x) && (3.9..6.1).contains(y)));
    inside.fold("x,y\n".to_string(), |text, (x, y)| text + &format!("{x},{y}\n"))
}

/// A folder with all of these.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", EVENTS).write("sites.csv", sites()).write("border.geojson", BORDER);
    folder
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

#[test]
fn several_boxes_make_one_window() {
    let folder = folder();
    let fit = |options: &str| folder.run(&format!("fit t.csv --json --inducing 8 {options}")).good().json();
    let (whole, cut) = (fit("--window 0,10"), fit("--window 0,4 --window 4,10"));
    close(number(&whole["elbo"]), number(&cut["elbo"]), 1e-6);
    assert_eq!((&cut["window"]["pieces"], &cut["window"]["box"]), (&2.into(), &serde_json::json!([[0.0, 10.0]])));
    let gap = fit("--window 5,10 --window 0,4 -o gap.json");
    assert_eq!((number(&gap["window"]["measure"]), number(&gap["window"]["volume"])), (9.0, 9.0));
    assert!(number(&gap["elbo"]) > number(&whole["elbo"]), "nothing was there to be missed");
    // What lies in the gap is counted where it is asked for, and is said to be outside.
    let count = |options: &str| folder.run(&format!("count gap.json --json {options}")).good();
    close(number(&count("").json()["mean"]), 8.0, 1.0);
    let run = count("--in 3,6");
    assert!(run.err.contains("33.3333 % of the length of --in 3,6"), "{}", run.err);
    assert!(run.err.contains("no events were observed there"), "{}", run.err);
    let parts: f64 =
        ["3,4", "4,5", "5,6"].iter().map(|ends| number(&count(&format!("--in {ends}")).json()["mean"])).sum();
    close(number(&run.json()["mean"]), parts, 1e-7);
    let (header, rows) = folder.run("predict gap.json --grid 21").good().csv();
    assert_eq!(header.last().unwrap(), "inside");
    let outside: Vec<&str> = rows.iter().filter(|row| row.last().unwrap() == "0").map(|row| row[0].as_str()).collect();
    assert_eq!(outside, ["4.5"]);
    assert!(folder.run("sample gap.json --draws 2 --grid 21").good().out.starts_with("t,draw1,draw2,inside\n"));
    let (_, events) = folder.run("sample gap.json --events --draws 30").good().csv();
    assert!(events.len() > 100 && events.iter().all(|row| !(4.0..5.0).contains(&row[1].parse::<f64>().unwrap())));
    folder.run("fit t.csv --window 0,2 --window 3,10").refused(&["3 of 8", "0,2 and 3,10", "--clip"]);
}

#[test]
fn curves_stop_at_gaps() {
    let folder = folder();
    folder.run("fit t.csv --window 0,4 --window 5,10 --inducing 8 -o gap.json").good();
    folder.run("plot gap.json -o gap.svg").good();
    let svg = String::from_utf8(folder.read("gap.svg")).unwrap();
    assert_eq!(svg.matches("class=\"gap\"").count(), 1);
    assert_eq!(svg.matches("stroke-width=\"2.2\"").count(), 3, "two pieces and the legend");
    folder.run("plot gap.json -o gap.png").good();
    let text = folder.run("plot gap.json").good().out;
    assert!(text.contains("8 events"), "{text}");
}

#[test]
fn windows_that_overlap_are_named_with_the_place() {
    let folder = folder();
    folder
        .run("fit t.csv --window 0,4 --window 6,10 --window 3,7")
        .refused(&["--window 0,4 and --window 3,7 overlap in t 3 to 4"]);
    folder
        .run("fit sites.csv --window 0,5,0,5 --window 4,8,2,3")
        .refused(&["--window 0,5,0,5 and --window 4,8,2,3", "x 4 to 5, y 2 to 3"]);
    folder.run("fit sites.csv --window border.geojson --window 9,12,9,12").refused(&[
        "border.geojson",
        "9,12,9,12",
        "overlap",
    ]);
    folder.write("log.csv", "when\n2016-02-23\n2016-02-25\n");
    folder
        .run("fit log.csv --window 2016-02-20,2016-03-01 --window 2016-02-28,2016-03-05")
        .refused(&["when 2016-02-28T00:00:00Z to 2016-03-01T00:00:00Z"]);
}

#[test]
fn a_border_with_a_hole_is_a_window() {
    let folder = folder();
    let run = folder.run("fit sites.csv --window border.geojson --inducing 5x5 --json -o m.json").good();
    let window = &run.json()["window"];
    close(number(&window["measure"]), 96.0, 1e-9);
    assert_eq!((&window["outline"], &window["exposure"], &window["pieces"]), (&8.into(), &false.into(), &1.into()));
    assert!(number(&window["quadrature_error"]) < 1e-6, "{window}");
    // The same square made of four boxes around the hole.
    let boxes = "--window 0,4,0,10 --window 6,10,0,10 --window 4,6,0,4 --window 4,6,6,10";
    let same = folder.run(&format!("fit sites.csv {boxes} --inducing 5x5 --json")).good().json();
    close(number(&run.json()["elbo"]), number(&same["elbo"]), 1e-4);
    let text = folder.run("fit sites.csv --window border.geojson --inducing 5x5").good().out;
    assert!(text.contains("8 corners") && text.contains("quadrature"), "{text}");
    let (header, rows) = folder.run("predict m.json --grid 11x11").good().csv();
    assert_eq!((header.last().unwrap().as_str(), rows.len()), ("inside", 121));
    assert_eq!(rows.iter().filter(|row| row.last().unwrap() == "0").count(), 1, "the middle of the hole");
    let at = folder.run_with("predict m.json --at -", "x,y\n1,1\n5,5\n20,1\n").good();
    assert!(
        at.err.contains("2 of 3 points lie outside") && at.out.lines().nth(2).unwrap().ends_with(",0"),
        "{}",
        at.err
    );
    assert!(
        folder.run_with("predict m.json --at -", "x,y\n1,1\n").good().out.starts_with("x,y,mean,sd,q0.05,q0.5,q0.95\n")
    );
}

#[test]
fn counts_are_taken_in_borders() {
    let folder = folder();
    folder.run("fit sites.csv --window border.geojson --inducing 5x5 -q -o m.json").good();
    folder.write("west.geojson", r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,10],[0,10],[0,0]]]}"#);
    folder.write("wide.geojson", r#"{"type":"Polygon","coordinates":[[[-4,0],[4,0],[4,10],[-4,10],[-4,0]]]}"#);
    folder.write("away.geojson", r#"{"type":"Polygon","coordinates":[[[20,0],[24,0],[24,10],[20,0]]]}"#);
    let count = |region: &str| folder.run(&format!("count m.json --json --in {region}")).good();
    let (by_box, by_border) = (count("0,4,0,10").json(), count("west.geojson").json());
    close(number(&by_box["mean"]), number(&by_border["mean"]), 1e-6);
    assert!(folder.run("count m.json --in west.geojson").good().out.contains("in west.geojson\n"));
    let wide = count("wide.geojson");
    assert!(wide.err.contains("50 % of the area") && wide.err.contains("not counted"), "{}", wide.err);
    close(number(&wide.json()["mean"]), number(&by_box["mean"]), 1e-6);
    folder.run("count m.json --in away.geojson").refused(&["away.geojson", "outside the window"]);
    folder.run("count m.json --in 4.5,5.5,4.5,5.5").refused(&["outside the window"]);
    let whole = folder.run("count m.json --json").good().json();
    let events = sites().lines().count() - 1;
    close(number(&whole["mean"]), events as f64, 0.02 * events as f64);
}

#[test]
fn maps_show_the_border_and_nothing_beyond() {
    let folder = folder();
    folder.run("fit sites.csv --window border.geojson --inducing 5x5 -q -o m.json").good();
    folder.run("plot m.json -o m.svg").good();
    let svg = String::from_utf8(folder.read("m.svg")).unwrap();
    let line = svg.lines().find(|line| line.contains("class=\"border\"")).unwrap();
    assert_eq!(line.matches('Z').count(), 2, "the square and its hole");
    assert!(svg.contains("fill-rule=\"evenodd\""));
    folder.run("plot m.json -o m.png").good();
    let text = folder.run("plot m.json").good().out;
    let middle: Vec<char> = text.lines().nth(8).unwrap().chars().collect();
    assert!(middle.windows(3).any(|three| three.iter().all(|c| *c == ' ')), "{text}");
    folder.run("plot sites.csv --window 0,3,0,10 --window 7,10,0,10 --clip --inducing 4x4 -o two.svg").good();
    assert!(String::from_utf8(folder.read("two.svg")).unwrap().contains("class=\"border\""));
}

#[test]
fn a_border_goes_on_in_time() {
    let folder = folder();
    let dated: String =
        sites().lines().skip(1).enumerate().map(|(i, row)| format!("{row},2016-03-{:02}\n", 1 + i % 9)).collect();
    folder.write("dated.csv", format!("x,y,day\n{dated}"));
    let fit = |window: &str| {
        folder.run(&format!("fit dated.csv --columns x,y,day --window {window} --inducing 4x4x3 --json"))
    };
    let window = fit("border.geojson,2016-03-01,2016-03-11").good().json()["window"].clone();
    close(number(&window["measure"]), 960.0, 1e-9);
    fit("border.geojson").refused(&["border.geojson", "day", "border.geojson,lo,hi"]);
    fit("border.geojson,0,10").refused(&["dates"]);
    fit("border.geojson,2016-03-01,2016-03-05").refused(&["outside the window", "--clip"]);
    folder.run("fit sites.csv --window border.geojson,0,5").refused(&["two axes"]);
    folder.run("fit t.csv --window border.geojson").refused(&["two axes", "one (t)", "--columns"]);
}

#[test]
fn borders_that_are_none() {
    let folder = folder();
    let refuse = |text: &str, words: &[&str]| {
        folder.write("b.geojson", text);
        folder.run("fit sites.csv --window b.geojson").refused(&[&["b.geojson"], words].concat());
    };
    refuse("", &["empty"]);
    refuse("lon,lat\n", &["not JSON", "line 1"]);
    refuse(r#"{"type":"Point","coordinates":[1,2]}"#, &["no polygon", "Point"]);
    refuse(r#"{"type":"FeatureCollection","features":[]}"#, &["no polygon"]);
    // A ring that crosses itself at (5, 5).
    let bow = r#"{"type":"MultiPolygon","coordinates":[[[[20,20],[21,20],[21,21],[20,20]]],[[[0,0],[10,10],[10,0],[0,10],[0,0]]]]}"#;
    refuse(bow, &["polygon 2", "its outer ring", "crosses itself", "(5, 5)"]);
    refuse(r#"{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]}"#, &["polygon 1"]);
    folder.run("fit sites.csv --window missing.geojson").refused(&["missing.geojson", "does not exist"]);
    folder.run("fit sites.csv --window borderr").refused(&["borderr", "neither", "kenya"]);
    folder.run("fit kenya --window coal").refused(&["coal", "no bundled border", "kenya"]);
}

#[test]
fn windows_that_events_miss_raise_suspicions() {
    let folder = folder();
    let shifted = |dx: f64, dy: f64, scale: f64, swap: bool| {
        let rows = sites();
        let point = |row: &str| -> (f64, f64) {
            let (x, y) = row.split_once(',').unwrap();
            (scale * x.parse::<f64>().unwrap() + dx, scale * y.parse::<f64>().unwrap() + dy)
        };
        let row = |(x, y): (f64, f64)| if swap { format!("{y},{x}\n") } else { format!("{x},{y}\n") };
        "lon,lat\n".to_string() + &rows.lines().skip(1).map(point).map(row).collect::<String>()
    };
    folder.write("far.csv", shifted(50.0, 40.0, 1.0, false));
    folder.run("fit far.csv --window border.geojson").refused(&["no event", "0,10,0,10", "50,59.9", "another window"]);
    folder.run("fit far.csv --window border.geojson --clip").refused(&["no event", "0,10,0,10", "50,59.9"]);
    folder.write("metres.csv", shifted(300_000.0, 5_000_000.0, 1e5, false));
    folder.run("fit metres.csv --window border.geojson").refused(&["degrees", "metres", "projection"]);
    folder.write(
        "utm.geojson",
        r#"{"type":"Polygon","coordinates":[[[3e5,5e6],[1.3e6,5e6],[1.3e6,6e6],[3e5,6e6],[3e5,5e6]]]}"#,
    );
    folder.run("fit sites.csv --window utm.geojson").refused(&["metres", "degrees", "projection"]);
    folder.write("tall.geojson", r#"{"type":"Polygon","coordinates":[[[100,0],[110,0],[110,10],[100,10],[100,0]]]}"#);
    folder.write("swapped.csv", shifted(100.0, 0.0, 1.0, true));
    folder.run("fit swapped.csv --window tall.geojson").refused(&["`lon` and `lat` seem to be swapped", "names"]);
    let plane = "fit swapped.csv --window tall.geojson --geography plane";
    folder.run(plane).refused(&["swapped", "--columns lat,lon"]);
    folder.run(&format!("{plane} --columns lat,lon --inducing 3x3")).good();
}

#[test]
fn a_border_travels_with_its_set() {
    let folder = folder();
    assert!(folder.run("data").good().out.contains("--window kenya"));
    let border = folder.run("data kenya --border").good().out;
    folder.write("own.geojson", &border);
    folder.run("fit kenya --window kenya").refused(&["8 of 1230 events", "--clip"]);
    let fit = |window: &str| folder.run(&format!("fit kenya --window {window} --clip --inducing 6x6 --json")).good();
    let run = fit("kenya");
    assert_eq!(run.json()["events"], 1222);
    assert!(run.err.contains("8 of 1230 events"), "{}", run.err);
    assert!(number(&run.json()["window"]["outline"]) > 800.0);
    assert_eq!(run.json()["elbo"], fit("own.geojson").json()["elbo"]);
}

#[test]
fn repeats_share_their_events() {
    let folder = folder();
    let fit =
        |options: &str| folder.run(&format!("fit t.csv --window 0,10 --inducing 8 --json {options}")).good().json();
    let (once, four) = (fit("-o one.json"), fit("--repeats 4 -o four.json"));
    assert_eq!((number(&four["window"]["measure"]), number(&four["window"]["volume"])), (40.0, 10.0));
    assert_eq!(number(&four["window"]["repeats"]), 4.0);
    assert!((number(&once["elbo"]) - number(&four["elbo"])).abs() > 1.0);
    let count = |model: &str| folder.run(&format!("count {model}")).good().out;
    assert!(!count("one.json").contains("trial") && count("four.json").contains("in 0,10, one trial"));
    let mean = |model: &str, region: &str| {
        number(&folder.run(&format!("count {model} --json {region}")).good().json()["mean"])
    };
    close(mean("four.json", ""), 2.0, 0.2);
    close(mean("four.json", ""), mean("four.json", "--in 0,10"), 1e-9);
    let text = folder.run("fit t.csv --window 0,10 --repeats 4").good().out;
    assert!(text.contains("looked at 4 times") && text.contains("and trial"), "{text}");
    let (_, all) = folder.run("sample four.json --events --draws 20").good().csv();
    assert!(all.len() > 100 && all.len() < 230, "the events of all repeats: {}", all.len());
    folder.run("plot four.json -o four.svg").good();
    assert!(String::from_utf8(folder.read("four.svg")).unwrap().contains("events per unit of t and trial"));
}

/// Four trials relative to a stimulus; the third has no events.
const TRIALS: &str = "trial,start,end\na,-1,3\nb,0,2\nc,0,3\nd,0.5,3\n";
const SPIKES: &str = "trial,t\na,-0.5\na,1\na,2.5\nb,0.25\nb,1.5\nd,0.75\nd,1.25\nd,2.75\n";

#[test]
fn trials_have_their_own_times() {
    let folder = folder();
    folder.write("trials.csv", TRIALS).write("spikes.csv", SPIKES);
    let run = folder.run("fit spikes.csv --trials trials.csv --inducing 8 --json -o m.json").good();
    let window = &run.json()["window"];
    assert_eq!((number(&window["measure"]), number(&window["volume"])), (11.5, 4.0));
    assert_eq!(window["box"], serde_json::json!([[-1.0, 3.0]]));
    assert_eq!((&run.json()["events"], &window["pieces"]), (&8.into(), &4.into()));
    folder.run("plot m.json -o m.svg").good();
    let svg = String::from_utf8(folder.read("m.svg")).unwrap();
    assert!(svg.contains("8 events in 4 trials") && !svg.contains("class=\"gap\""), "a row for each");
    folder.write("runs.csv", SPIKES.replace("trial", "run").replace("t\n", "t\n# by run\n"));
    let renamed = folder.run("fit runs.csv --trials trials.csv --trial-column run --inducing 8 --json").good().json();
    assert_eq!(renamed["elbo"], run.json()["elbo"]);
    folder.run("fit runs.csv --trials trials.csv").refused(&[
        "runs.csv",
        "no column `trial`",
        "--trial-column",
        "run, t",
    ]);

    folder.write("late.csv", format!("{SPIKES}b,2.5\n"));
    folder.run("fit late.csv --trials trials.csv").refused(&[
        "late.csv",
        "1 of 9",
        "line 10",
        "t 2.5",
        "trial b, 0 to 2",
        "trials.csv",
        "--clip",
    ]);
    let clipped = folder.run("fit late.csv --trials trials.csv --clip --inducing 8 --json").good();
    assert_eq!(clipped.json()["elbo"], run.json()["elbo"]);
    assert!(clipped.err.contains("1 of 9 events lies outside their trial"), "{}", clipped.err);
    folder.write("stray.csv", format!("{SPIKES}e,1\n"));
    folder.run("fit stray.csv --trials trials.csv").refused(&["stray.csv, line 10", "`e`", "trials.csv"]);
    folder.run("fit sites.csv --trials trials.csv --trial-column x").refused(&["column"]);
    folder.run("fit spikes.csv --trials none.csv").refused(&["none.csv", "does not exist"]);
    folder.write("upside.csv", "trial,start,end\na,3,-1\n");
    folder.run("fit spikes.csv --trials upside.csv").refused(&["upside.csv, line 2", "trial `a`"]);
}

#[test]
fn a_column_of_trials_is_no_coordinate() {
    let folder = folder();
    folder
        .write("numbered.csv", SPIKES.replace('a', "1").replace('b', "2").replace('d', "4").replace("tri1l", "trial"));
    let run = folder.run("fit numbered.csv --window -1,3 --inducing 5 --json").good();
    assert_eq!(run.json()["window"]["box"], serde_json::json!([[-1.0, 3.0]]));
    assert!(run.err.contains("3 trials") && run.err.contains("--repeats"), "{}", run.err);
    let run = folder.run("fit numbered.csv --window -1,3 --repeats 4 --inducing 5 --json").good();
    assert!(!run.err.contains("--repeats"), "{}", run.err);
    folder.run("fit numbered.csv --window -1,3 --repeats 2").refused(&["3 trials", "--repeats"]);
    let plane = folder.run("fit numbered.csv --columns trial,t --inducing 3x3 --json").good().json();
    assert_eq!(plane["window"]["axes"].as_array().unwrap().len(), 2, "unless asked for");
    let set = folder.run("fit spikes --inducing 12 --json").good().json();
    assert_eq!((number(&set["window"]["repeats"]), &set["events"]), (40.0, &1052.into()));
    assert_eq!(
        set["elbo"],
        folder.run("fit spikes --window 0,2 --repeats 40 --inducing 12 --json").good().json()["elbo"]
    );
}

#[test]
fn an_even_exposure_changes_nothing() {
    let folder = folder();
    folder.write("ones.csv", "t,e\n10,1\n0,1\n3,1\n");
    let fit =
        |options: &str| folder.run(&format!("fit t.csv --window 0,10 --inducing 8 --json {options}")).good().json();
    let (plain, even) = (fit(""), fit("--exposure ones.csv -o m.json"));
    close(number(&plain["elbo"]), number(&even["elbo"]), 1e-6);
    assert_eq!((&even["window"]["exposure"], &plain["window"]["exposure"]), (&true.into(), &false.into()));
    folder.run("plot m.json -o m.svg").good();
    assert!(String::from_utf8(folder.read("m.svg")).unwrap().contains("and unit of exposure"));
    // Ten times the exposure is a tenth of the rate.
    folder.write("tens.csv", "t,e\n0,10\n10,10\n");
    fit("--exposure tens.csv -o tens.json");
    let rate =
        |model: &str| folder.run(&format!("predict {model} --grid 3")).good().csv().1[1][1].parse::<f64>().unwrap();
    close(rate("m.json"), 10.0 * rate("tens.json"), 0.02 * rate("m.json"));
    let grid: String = (0..4).flat_map(|i| (0..3).map(move |j| format!("{},{},1\n", j * 5, i * 4))).collect();
    folder.write("plane.csv", format!("y,x,people\n{grid}")).write("x.csv", "x,people\n0,1\n10,1\n");
    let plane = |options: &str| {
        folder.run(&format!("fit sites.csv --window 0,10,0,10 --inducing 4x4 --json {options}")).good().json()
    };
    let plain = number(&plane("")["elbo"]);
    close(plain, number(&plane("--exposure plane.csv")["elbo"]), 1e-6);
    close(plain, number(&plane("--exposure x.csv")["elbo"]), 1e-6);
    // Weighted points in place of the integral: the midpoints of a fine grid.
    let cells: String = (0..2000).map(|i| format!("{},0.005\n", 0.0025 + i as f64 * 0.005)).collect();
    folder.write("nodes.csv", format!("t,weight\n{cells}"));
    close(number(&fit("")["elbo"]), number(&fit("--exposure nodes.csv")["elbo"]), 1e-3);
}

#[test]
fn exposures_that_are_none() {
    let folder = folder();
    let refuse = |text: &str, words: &[&str]| {
        folder.write("e.csv", text);
        folder.run("fit t.csv --window 0,10 --exposure e.csv").refused(words);
    };
    refuse("t,e\n0,1\n5,-2\n10,1\n", &["e.csv, line 3", "-2", "negative"]);
    refuse("t,e\n0,1\n9,1\n", &["e.csv", "`t`", "0 to 9", "0 to 10"]);
    refuse("t,e\n0,1\n5,1\n5,2\n10,1\n", &["e.csv, line 4", "line 3"]);
    refuse("t,e\n0,0\n10,0\n", &["e.csv", "zero"]);
    refuse("x,e\n0,1\n10,1\n", &["e.csv", "no column", "t"]);
    refuse("t,e\n0,1\n2,0\n5,0\n10,1\n", &["t.csv", "4 of 8", "line 4", "t 2.25", "exposure is zero", "--clip"]);
    refuse("t,e\n0,1\nx,1\n5,1\n", &["e.csv", "line 3", "`x`"]);
    folder.write("gap.csv", "x,y,e\n0,0,1\n0,10,1\n10,0,1\n");
    folder.run("fit sites.csv --window 0,10,0,10 --exposure gap.csv").refused(&["gap.csv", "missing", "x 10, y 10"]);
    folder.run("fit t.csv --window 0,10 --exposure none.csv").refused(&["none.csv", "does not exist"]);
    folder.write("zero.csv", "t,e\n0,1\n2,0\n5,0\n10,1\n");
    let run = folder.run("fit t.csv --window 0,10 --exposure zero.csv --clip --inducing 6 --json").good();
    assert!(run.err.contains("4 of 8 events") && run.json()["events"] == 4, "{}", run.err);
}

/// A name for the unit of an exposure goes wherever the unit of a rate does, and changes nothing else.
#[test]
fn the_unit_of_an_exposure_has_a_name_if_it_is_given_one() {
    let folder = folder();
    folder.write("e.csv", "t,effort\n0,1\n5,3\n10,2\n").write("w.csv", "t,weight\n1,10\n4,30\n8,20\n");
    let fit = |options: &str| folder.run(&format!("fit t.csv --window 0,10 {options} --inducing 6 -o m.json")).good();
    let rate = |run: &crate::common::Run| run.out.lines().find(|line| line.starts_with("  rate")).unwrap().to_string();
    let plain = fit("--exposure e.csv");
    assert!(rate(&plain).contains("events per unit of t and unit of exposure"), "{}", plain.out);
    let number_of = |line: String| line.split_whitespace().nth(1).unwrap().to_string();

    let named = fit("--exposure e.csv --unit t=days --unit exposure=hours");
    assert!(rate(&named).contains("events per day and hour on average"), "{}", named.out);
    assert!(named.out.contains("exposure 22.5 hours · day in all"), "{}", named.out);
    assert_eq!(number_of(rate(&plain)), number_of(rate(&named)));
    let model: Value = serde_json::from_slice(&folder.read("m.json")).unwrap();
    assert_eq!(
        (&model["posterior"]["window"]["exposure_unit"], &model["summary"]["window"]["exposure_unit"]),
        (&"hours".into(), &"hours".into())
    );
    assert!(folder.run("show m.json").good().out.contains("events per day and hour"));
    folder.run("plot m.json -o m.svg").good();
    folder.run("report m.json -o m.html").good();
    for name in ["m.svg", "m.html"] {
        assert!(String::from_utf8(folder.read(name)).unwrap().contains("events per day and hour"), "{name}");
    }

    // Amounts at places carry the unit of the space, and a summary keeps the name.
    folder.run("summarize t.csv --window 0,10 --exposure w.csv --unit exposure=person-years -o t.summary").good();
    let summary = folder.run("fit t.summary --inducing 6").good();
    assert!(rate(&summary).contains("events per person-year on average"), "{}", summary.out);
    assert!(summary.out.contains("exposure 60 person-years in all"), "{}", summary.out);
    folder.run("summarize t.csv --window 0,10 --exposure w.csv -o plain.summary").good();
    folder.run("fit t.summary plain.summary").refused(&["exposures differ", "--exposure"]);

    let refuse = |options: &str, words: &[&str]| {
        folder.run(&format!("fit t.csv --window 0,10 {options}")).refused(words);
    };
    refuse("--unit exposure=hours", &["--unit exposure=hours", "no exposure", "--exposure"]);
    refuse("--exposure e.csv --unit exposure=", &["--unit exposure=", "empty"]);
    refuse("--exposure e.csv --unit exposure=h --unit exposure=d", &["two units"]);
    // An axis of that name has it for itself.
    folder.write("own.csv", "exposure\n1\n2\n5\n");
    let own = folder.run("fit own.csv --window 0,10 --unit exposure=mSv --inducing 6").good();
    assert!(own.out.contains("events per mSv"), "{}", own.out);
}

/// Pieces that touch, as where clocks were set back, are one stretch: however short one is, nothing lies between them.
#[test]
fn a_short_piece_between_two_others_that_it_touches_needs_no_finer_lattice() {
    let folder = Folder::new();
    folder.run("simulate --intensity 3+sin(t) --window 0,50 --columns t -q -o e.csv").good();
    let whole = folder.run("fit e.csv --window 0,50 --average off --json").good().json();
    let parts = "--window 0,30 --window 30,30.1 --window 30.1,50";
    let fitted = folder.run(&format!("fit e.csv {parts} --average off --json")).good();
    assert!(!fitted.err.contains("parts of the window"), "{}", fitted.err);
    let [whole, parts] = [&whole, &fitted.json()].map(|fit| fit["elbo"].as_f64().unwrap());
    assert!((whole - parts).abs() < 1e-6 * whole.abs(), "{whole} {parts}");
}
