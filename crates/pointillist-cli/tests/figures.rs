//! `plot` for papers, as a real process: what is shown, maps over time, models over each other, scales, sizes, formats, and wrong input.

use crate::common::Folder;
use std::sync::LazyLock;

impl Folder {
    /// The figure that `plot` draws of this, as SVG.
    fn svg(&self, arguments: &str) -> String {
        self.run(&format!("plot {arguments} -o figure.svg")).good();
        String::from_utf8(self.read("figure.svg")).unwrap()
    }
}

/// Models on a line (`model.json`, `lattice.json`), of a plane (`map.json`) and of three axes (`cube.json`), fitted once for all tests.
fn folder() -> Folder {
    static FITTED: LazyLock<Folder> = LazyLock::new(fitted);
    let folder = Folder::new();
    for name in FITTED.names() {
        folder.write(&name, FITTED.read(&name));
    }
    folder
}

fn fitted() -> Folder {
    let folder = Folder::new().with_model();
    let rows = |third: &dyn Fn(usize) -> String| -> String {
        (0..60).map(|i| format!("{},{}{}\n", i % 7, i * 3 % 11, third(i))).collect()
    };
    folder.write("xyz.csv", format!("x,y,z\n{}", rows(&|i| format!(",{}", i * 5 % 13))));
    folder.write("xy.csv", format!("x,y\n{}", rows(&|_| String::new())));
    folder.run("fit coal --nodes 40 --smoothness 2 -o lattice.json").good();
    folder.run("fit xy.csv --window 0,7,0,11 --inducing 4x4 -o map.json").good();
    folder.run("fit xyz.csv --window 0,7,0,11,0,13 --inducing 3x3x3 -o cube.json").good();
    folder
}

/// The points of the longest line that is drawn in a colour.
fn line(svg: &str, colour: &str) -> Vec<(f64, f64)> {
    let is_line = |text: &&str| text.contains(&format!("stroke=\"{colour}\" stroke-width=\"2.2\""));
    let points = |text: &str| -> Vec<(f64, f64)> {
        let path = text.split("d=\"M").nth(1).unwrap().split('"').next().unwrap();
        let point = |text: &str| text.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap();
        path.split('L').map(point).collect()
    };
    svg.lines().filter(is_line).map(points).max_by_key(Vec::len).unwrap_or_default()
}

const FIRST: &str = "#1b5e9e";
const SECOND: &str = "#e69f00";

/// Where a text stands from top to bottom.
fn height_of(svg: &str, text: &str) -> f64 {
    let element = svg.lines().find(|line| line.contains(&format!(">{text}<"))).unwrap_or_else(|| panic!("no {text}"));
    element.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

#[test]
fn a_line_shows_what_is_asked_for() {
    let folder = folder();
    let predicted = folder.run("predict model.json --grid 2 --quantiles 0.9 --exceed 2").good().csv();
    let value = |name: &str| -> f64 {
        let column = predicted.0.iter().position(|column| column == name).unwrap();
        predicted.1[0][column].parse().unwrap()
    };
    // A probability takes the whole height of the frame, from 350 up to 66.
    let exceed = folder.svg("model.json --show exceed=2");
    let (_, y) = line(&exceed, FIRST)[0];
    assert!(((350.0 - y) / 284.0 - value("p>2")).abs() < 1e-3, "{y} {}", value("p>2"));
    assert!(exceed.contains("probability that the rate exceeds 2 per year") && exceed.contains(">1.0<"));
    assert!(!exceed.contains("fill-opacity=\"0.17\""), "no band");
    for (show, column, label) in [
        ("sd", "sd", "standard deviation of the rate, events per year"),
        ("quantile=0.9", "q0.9", "0.9 quantile of the rate, events per year"),
        ("mean", "mean", "events per year"),
    ] {
        let svg = folder.svg(&format!("model.json --show {show} --limits 0,10"));
        let (_, y) = line(&svg, FIRST)[0];
        assert!((10.0 * (350.0 - y) / 284.0 - value(column)).abs() < 1e-3, "{show} {y}");
        assert!(svg.contains(&format!(">{label}<")), "{show}");
        assert_eq!(svg.contains("fill-opacity=\"0.17\""), show != "sd", "{show}");
    }
}

#[test]
fn a_map_shows_what_is_asked_for() {
    let folder = folder();
    let image = |svg: &str| svg.lines().find(|line| line.starts_with("<image")).unwrap().to_string();
    let mean = folder.svg("map.json");
    let exceed = folder.svg("map.json --show exceed=0.7");
    assert!(exceed.contains("probability that the rate exceeds 0.7 per unit area"), "{exceed}");
    assert!(exceed.contains(">1.0<") && exceed.contains(">0<"));
    assert_ne!(image(&mean), image(&exceed));
    assert_ne!(image(&mean), image(&folder.svg("map.json --show sd")));
    assert_ne!(image(&mean), image(&folder.svg("map.json --show quantile=0.1")));
    let certain = folder.svg("map.json --show exceed=0");
    assert_ne!(image(&certain), image(&exceed), "everywhere above nothing");
}

#[test]
fn three_axes_become_maps_with_one_scale() {
    let folder = folder();
    let svg = folder.svg("cube.json");
    assert_eq!((svg.matches("<image").count(), svg.matches("url(#bar)").count()), (6, 1));
    // Thirteen units in six parts: the first map stands in the middle of the first.
    assert!(svg.contains(">z = 1.0833<") && svg.contains(">z = 11.917<"), "{svg}");
    assert_eq!(folder.svg("cube.json --times 4").matches("<image").count(), 4);
    let chosen = folder.svg("cube.json --at-times 12,0.5");
    assert!(chosen.find(">z = 12<").unwrap() < chosen.find(">z = 0.5<").unwrap());
    // Each event stands in one map: the points of all, and none twice.
    assert_eq!(svg.matches("<circle").count(), 60);
    assert_eq!(chosen.matches("<circle").count(), 60);
    let drawn = folder.run("plot cube.json --times 2").good().out;
    assert!(drawn.contains("z = 3.25") && drawn.contains("z = 9.75"), "{drawn}");
    folder.run("plot xyz.csv --window 0,7,0,11,0,13 --inducing 2x2x2 --times 1 -o one.svg").good();
}

#[test]
fn models_stand_over_each_other() {
    let folder = folder();
    let svg = folder.svg("model.json --with lattice.json");
    let alone = folder.svg("lattice.json");
    assert!(line(&svg, SECOND).len() > 500, "a line of its own");
    assert_eq!(line(&svg, FIRST).len(), line(&folder.svg("model.json"), FIRST).len());
    assert_eq!(line(&alone, SECOND).len(), 0);
    assert!(svg.contains(">model<") && svg.contains(">lattice<") && svg.contains(">90 % credible bands<"));
    assert_eq!(svg.matches("fill-opacity=\"0.17\"").count(), 4, "two bands, and twice in the legend");
    assert!(folder.run("plot model.json --with lattice.json").good().out.contains("2 lattice"));
    let four = "--with lattice.json --with model.json --with lattice.json --with model.json";
    assert!(folder.svg(&format!("model.json {four}")).contains("lattice"));
    folder.run(&format!("plot model.json {four} --with model.json")).refused(&["--with", "at most 4"]);
    folder.run("plot model.json --with map.json").refused(&["--with map.json", "on x, y", "not on year", "by itself"]);
    folder.run("plot model.json --with missing.json").refused(&["missing.json"]);
    folder.run("fit coal --columns date --inducing 9 -o dates.json").good();
    folder.run("plot model.json --with dates.json").refused(&["--with dates.json", "by itself"]);
}

#[test]
fn dates_are_counted_from_where_the_first_model_counts() {
    let folder = Folder::new();
    let dates = |year: u32| -> String { (1..29).map(|day| format!("{year}-02-{day:02}\n")).collect() };
    folder.write("a.csv", format!("date\n{}", dates(2019))).write("b.csv", format!("date\n{}", dates(2020)));
    folder.run("fit a.csv --inducing 5 -o a.json").good();
    folder.run("fit b.csv --inducing 5 -o b.json").good();
    let svg = folder.svg("a.json --with b.json --mark 2020-01-01=between --points hide");
    assert!(svg.contains(">between<"), "{svg}");
    let (first, second) = (line(&svg, FIRST), line(&svg, SECOND));
    let year = second[0].0 - first[0].0;
    let month = first[first.len() - 1].0 - first[0].0;
    assert!((year / month - 365.0 / 27.0).abs() < 0.05, "{year} {month}");
}

#[test]
fn marks_stand_at_their_places() {
    let folder = folder();
    let svg = folder.svg("model.json --mark 1900=reform --mark 1860.5 --mark '1901=the next'");
    assert_eq!(svg.matches("class=\"mark\"").count(), 3);
    let x = |year: f64| {
        let ends = (line(&svg, FIRST)[0].0, line(&svg, FIRST).last().unwrap().0);
        ends.0 + (ends.1 - ends.0) * (year - 1851.2026) / (1962.2197 - 1851.2026)
    };
    let first = svg.lines().find(|line| line.contains("class=\"mark\"")).unwrap();
    let at: f64 = first.split("d=\"M").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((at - x(1860.5)).abs() < 0.1, "{at} {}", x(1860.5));
    assert_ne!(height_of(&svg, "reform"), height_of(&svg, "the next"), "they would cover each other");
    folder.run("fit coal --columns date --inducing 9 -o dates.json").good();
    assert!(folder.svg("dates.json --mark '1900-01-01=new century'").contains(">new century<"));
    folder.run("plot model.json --mark 1800").refused(&["--mark 1800", "outside", "1851"]);
    folder.run("plot model.json --mark soon=x").refused(&["--mark soon=x", "year", "a number"]);
    folder.run("plot dates.json --mark soon").refused(&["--mark soon", "2016-02-23"]);
}

#[test]
fn logarithms_and_limits_set_the_scale() {
    let folder = folder();
    let svg = folder.svg("model.json --log --limits 0.1,10");
    let [low, middle, high] = ["0.1", "1", "10"].map(|tick| height_of(&svg, tick));
    assert!((low - middle - (middle - high)).abs() < 0.02 && low > high, "{low} {middle} {high}");
    let free = folder.svg("model.json --log");
    assert!(free.contains(">1<") && free.contains(">0.5<"));
    let map = folder.svg("map.json --log --limits 0.01,1");
    assert!(map.contains(">0.01<") && map.contains(">0.1<") && map.contains(">1<"));
    for (limits, log, words) in [
        ("5", "", ["--limits 5", "as in 0,10"]),
        ("5,1", "", ["--limits 5,1", "as in 0,10"]),
        ("nan,1", "", ["--limits nan,1", "as in 0,10"]),
        ("0,1e-320", "", ["--limits 0,1e-320", "as in 0,10"]),
        ("0,1", "--log", ["--limits 0,1", "above 0"]),
    ] {
        folder.run(&format!("plot model.json --limits {limits} {log} -o x.svg")).refused(&words);
    }
}

#[test]
fn events_are_hidden_thinned_or_all_there() {
    let folder = Folder::new();
    let rows: String = (0..3000).map(|i| format!("{},{}\n", i % 61, i * 7 % 53)).collect();
    folder.write("many.csv", format!("x,y\n{rows}"));
    folder.run("fit many.csv --window 0,61,0,53 --nodes 6x6 -o many.json").good();
    let thin = folder.svg("many.json --points thin");
    assert!(thin.contains("showing 2,000 of 3,000 events"));
    assert_eq!(thin.matches("<circle").count(), 2_001, "and one in the legend");
    assert_eq!(folder.svg("many.json --points all").matches("<circle").count(), 3_001);
    let none = folder.svg("many.json --points hide");
    assert!(!none.contains("<circle") && !none.contains("3,000 events"));
    folder.run("fit many.csv --columns x --window 0,61 --nodes 20 -o line.json").good();
    let thin = folder.svg("line.json --points thin");
    assert!(thin.contains("showing 2,000 of 3,000 events"));
    assert_eq!(thin.matches("v11\"").count(), 2_000);
    assert_eq!(folder.svg("line.json --points hide").matches("v11\"").count(), 0);
}

#[test]
fn palettes_and_labels_are_taken() {
    let folder = folder();
    for (palette, lowest) in [("viridis", "#440154"), ("magma", "#000004"), ("cividis", "#00224e"), ("grey", "#1c1c1c")]
    {
        let svg = folder.svg(&format!("map.json --palette {palette}"));
        assert!(svg.contains(&format!("offset=\"0\" stop-color=\"{lowest}\"")), "{palette}");
    }
    let svg = folder.svg("map.json --title Trees --xlabel 'east (m)' --ylabel 'north (m)'");
    assert!([">Trees<", ">east (m)<", ">north (m)<"].iter().all(|label| svg.contains(label)));
    let svg = folder.svg("model.json --xlabel Year --ylabel 'disasters a year'");
    assert!([">Year<", ">disasters a year<"].iter().all(|label| svg.contains(label)));
    folder.run("plot map.json --palette jet").refused(&["--palette", "jet", "viridis, magma, cividis, grey"]);
}

/// Where the pages of a PDF say they end, after a look at its table of objects.
fn page_size(bytes: &[u8]) -> (f64, f64) {
    assert!(bytes.starts_with(b"%PDF-1.") && bytes.ends_with(b"%%EOF\n"));
    let text = String::from_utf8_lossy(bytes);
    let start: usize = text.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
    let table = String::from_utf8(bytes[start..].to_vec()).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("xref"));
    let count: usize = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    for (number, line) in lines.take(count).enumerate().skip(1) {
        let at: usize = line[..10].parse().unwrap();
        assert!(bytes[at..].starts_with(format!("{number} 0 obj\n").as_bytes()), "{line}");
    }
    let sides = text.split("/MediaBox [0 0 ").nth(1).unwrap().split(']').next().unwrap();
    let (width, height) = sides.split_once(' ').unwrap();
    (width.parse().unwrap(), height.parse().unwrap())
}

#[test]
fn figures_have_the_size_that_is_asked_for() {
    let folder = folder();
    let millimetres = |points: f64| points / 72.0 * 25.4;
    for subject in ["model.json", "map.json", "cube.json"] {
        for (size, width, height) in
            [("one-column", 85.0, None), ("two-column", 174.0, None), ("100,70", 100.0, Some(70.0))]
        {
            folder.run(&format!("plot {subject} --size {size} -o x.pdf")).good();
            let page = page_size(&folder.read("x.pdf"));
            assert!((millimetres(page.0) - width).abs() < 0.01, "{subject} {size} {page:?}");
            assert!(height.is_none_or(|height: f64| (millimetres(page.1) - height).abs() < 0.01), "{subject} {page:?}");
            let svg = folder.svg(&format!("{subject} --size {size}"));
            assert!(svg.starts_with("<svg") && svg.contains(&format!("width=\"{width}mm\"")), "{subject} {size}");
            // Twelve units of a 120th of an inch are letters of 7.2 points.
            assert!(svg.contains("font-size=\"12\""));
        }
    }
    folder.run("plot model.json --size one-column -o x.png").good();
    let width = folder.read("x.png")[16..20].try_into().map(u32::from_be_bytes).unwrap();
    assert_eq!(width, 2008, "600 dots an inch");
    folder.run("plot model.json -o x.pdf").good();
    assert_eq!(page_size(&folder.read("x.pdf")), (675.0, 315.0));
    for size in ["wide", "85", "10,80", "85,1000", "nan,80", "85,60,40"] {
        folder.run(&format!("plot model.json --size {size} -o x.svg")).refused(&["--size", size, "mm"]);
    }
}

#[test]
fn a_curve_with_a_period_has_points_for_each_turn() {
    let folder = Folder::new();
    let rows: String = (0..300).map(|i| format!("{}\n", i as f64 + 0.3 * ((i * 7 % 10) as f64 / 10.0))).collect();
    folder.write("turns.csv", format!("t\n{rows}"));
    let kernel = "--kernel 'se(t, lengthscale=50!)*periodic(t, period=1!)' --inducing 12 --average off";
    folder.run(&format!("fit turns.csv --window 0,300 {kernel} -o short.json")).good();
    assert_eq!(line(&folder.svg("short.json"), FIRST).len(), 16 * 300);
    folder.run(&format!("fit turns.csv --window 0,3000 {kernel} -o long.json")).good();
    let run = folder.run("plot long.json -o x.svg").good();
    assert!(run.err.contains("warning: the curve has 20000 points") && run.err.contains("needs 48000"), "{}", run.err);
    assert!(!folder.run("plot short.json -o x.svg").good().err.contains("warning"));
}

#[test]
fn wrong_values_are_refused_with_a_remedy() {
    let folder = folder();
    for (line, words) in [
        ("model.json --show median", ["--show median", "quantile=P"]),
        ("model.json --show quantile=2", ["--show quantile=2", "between 0 and 1"]),
        ("model.json --show exceed=-1", ["--show exceed=-1", "as in --show exceed=5"]),
        ("model.json --points some", ["--points", "hide, thin, all"]),
        ("cube.json --times 0", ["--times 0", "from 1 to 24"]),
        ("cube.json --times many", ["--times many", "from 1 to 24"]),
        ("cube.json --at-times 1,99", ["--at-times 1,99", "from 0 to 13"]),
        ("cube.json --at-times 1,1", ["--at-times 1,1", "twice"]),
        ("cube.json --at-times 1,x", ["--at-times 1,x", "a number"]),
        ("model.json -o x.gif", ["x.gif", ".svg, .pdf or .png"]),
    ] {
        folder.run(&format!("plot {line}")).refused(&words);
    }
}
