//! Covariates through the command: what `fit` says of them, model files, changed values, totals, and every refusal.

use crate::common::Folder;
use serde_json::Value;
use std::fmt::Write;

/// Numbers from 0 to 1 without structure, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Elevation in the middle of a cell of the raster, 1 wide, of a square of side 10.
fn elevation(x: f64, y: f64) -> f64 {
    let (x, y) = (x.floor() + 0.5, y.floor() + 0.5);
    (100.0 + 20.0 * x + 60.0 * (1.3 * y).sin() + 15.0 * (5.0 * x * y).cos()).round()
}

fn cover(x: f64, y: f64) -> &'static str {
    ["wood", "field", "wood", "town", "wood"][(3 * x as usize + 7 * y as usize) % 5]
}

/// A folder with events whose rate grows with elevation and is higher in towns, and rasters of both.
fn folder() -> Folder {
    let (mut random, mut events) = (Random(7), "x,y\n".to_string());
    let mut kept = 0;
    while kept < 220 {
        let (x, y) = (10.0 * random.next(), 10.0 * random.next());
        let town = if cover(x, y) == "town" { 1.0 } else { 0.0 };
        if random.next() < (0.008 * (elevation(x, y) - 380.0) + town + 0.3 * (0.5 * x).sin() - 1.3).exp() {
            writeln!(events, "{x},{y}").unwrap();
            kept += 1;
        }
    }
    let mut ground = "x,y,elevation,cover\n".to_string();
    for i in 0..10 {
        for j in 0..10 {
            let (x, y) = (f64::from(i) + 0.5, f64::from(j) + 0.5);
            writeln!(ground, "{x},{y},{},{}", elevation(x, y), cover(x, y)).unwrap();
        }
    }
    let folder = Folder::new();
    folder.write("trees.csv", events).write("ground.csv", ground);
    folder
}

const FIT: &str = "fit trees.csv --window 0,10,0,10 --nodes 12x12 --smoothness 2";

#[test]
fn effects_are_told_and_kept_and_everything_else_follows() {
    let folder = folder();
    let text = folder.run(&format!("{FIT} --covariate ground.csv -o model.json")).good().out;
    for words in ["elevation ", "cover town", "cover field", "beside wood", "rate × ", "log evidence +"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let fitted = folder.run(&format!("{FIT} --covariate ground.csv --json")).good().json();
    let effects = fitted["effects"].as_array().unwrap();
    let names: Vec<&str> = effects.iter().map(|effect| effect["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["elevation", "cover", "cover"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let quantile = |effect: &Value, i: usize| number(&effect["quantiles"][i]);
    assert!(quantile(&effects[0], 0) < 0.008 && 0.008 < quantile(&effects[0], 2) && quantile(&effects[0], 0) > 0.0);
    let town = effects.iter().find(|effect| effect["level"] == "town").unwrap();
    assert!(quantile(town, 0) < 1.0 && 1.0 < quantile(town, 2) && quantile(town, 0) > 0.0, "{town}");
    assert!(number(&effects[0]["log_evidence_gain"]) > 5.0, "{effects:?}");
    let (per, ratio) = (number(&effects[0]["per"]), number(&effects[0]["ratio"][0]));
    assert!((ratio - (per * quantile(&effects[0], 1)).exp()).abs() < 1e-9 * ratio);
    // As many events as there were, and the parts add up.
    assert!((number(&fitted["elbo_parts"]["integral"]) / 220.0 - 1.0).abs() < 0.03, "{}", fitted["elbo_parts"]);
    let count = |region: &str, more: &str| {
        number(&folder.run(&format!("count model.json {region} {more} --json")).good().json()["mean"])
    };
    let whole = count("", "");
    assert!((whole / 220.0 - 1.0).abs() < 0.03, "{whole}");
    assert!((count("--in 0,4.3,0,10", "") + count("--in 4.3,10,0,10", "") - whole).abs() < 1e-6 * whole);
    // Two hundred metres more are the ratio of the effect, as the components weigh it.
    let (low, high) = (count("", "--set elevation=150"), count("", "--set elevation=250 --set cover=wood"));
    assert!(high > low && low < whole, "{low} {high} {whole}");
    let show = folder.run("show model.json").good().out;
    assert!(show.contains("cover town"), "{show}");
    let (header, rows) = folder.run("predict model.json --grid 3x3").good().csv();
    assert!(header.contains(&"mean".to_string()) && rows.len() == 9);
    let (_, set) = folder.run("predict model.json --grid 3x3 --set elevation=150").good().csv();
    assert!(rows != set);
    for verb in [
        "sample model.json --draws 2 --grid 3x3",
        "sample model.json --events --set cover=town",
        "plot model.json -o map.svg",
        "score model.json trees.csv",
        "simulate --model model.json",
        "report model.json -o page.html",
        "check model.json --fit",
    ] {
        folder.run(verb).good();
    }
}

#[test]
fn the_same_bytes_again_and_one_thread_or_two() {
    let folder = folder();
    for (threads, name) in [(1, "a.json"), (2, "b.json")] {
        folder.run(&format!("{FIT} --average off --covariate ground.csv --threads {threads} -o {name}")).good();
    }
    let text = |name: &str| String::from_utf8(folder.read(name)).unwrap();
    let posterior = |name: &str| serde_json::from_str::<Value>(&text(name)).unwrap()["posterior"].clone();
    assert_eq!(posterior("a.json"), posterior("b.json"));
}

#[test]
fn numbers_can_be_levels_and_rasters_may_have_one_axis() {
    let folder = folder();
    let zones: String = (0..10).map(|i| format!("{}.5,{}\n", i, i % 3)).collect();
    folder.write("zones.csv", format!("x,zone\n{zones}"));
    let fitted =
        folder.run(&format!("{FIT} --average off --covariate zones.csv --categorical zone --json")).good().json();
    let effects = fitted["effects"].as_array().unwrap();
    assert_eq!(
        effects.iter().map(|effect| (&effect["level"], &effect["against"])).collect::<Vec<_>>(),
        [(&Value::from("1"), &Value::from("0")), (&Value::from("2"), &Value::from("0"))]
    );
}

#[test]
fn a_curve_is_told_at_values_beside_its_mean() {
    let folder = folder();
    let fitted = folder
        .run(&format!("{FIT} --average off --covariate ground.csv --spline elevation -o curve.json --json"))
        .good()
        .json();
    let effects = fitted["effects"].as_array().unwrap();
    let own: Vec<&Value> = effects.iter().filter(|effect| effect["name"] == "elevation").collect();
    assert_eq!(own.len(), 5);
    assert!(own.iter().all(|effect| effect["against"].as_str().unwrap().ends_with("its mean")), "{own:?}");
    // The truth is a line that rises.
    let middle = |i: usize| own[i]["effect"].as_f64().unwrap();
    assert!(middle(0) < middle(4) && middle(0) < 0.0 && middle(4) > 0.0, "{own:?}");
    folder.run("predict curve.json --grid 3x3 --set elevation=200").good();
    folder.run("count curve.json").good();
}

/// The raster alone says what a covariate is: a column beside the events changes nothing, and that is said.
#[test]
fn a_column_of_a_covariate_beside_the_events_is_not_used_and_that_is_said() {
    let folder = folder();
    let trees = String::from_utf8(folder.read("trees.csv")).unwrap();
    // As the raster has it but for a little; with one missing; and something else.
    let own = |(i, row): (usize, &str)| {
        let (x, y) = row.split_once(',').unwrap();
        let [x, y] = [x, y].map(|text| text.parse::<f64>().unwrap());
        let height = elevation(x, y) + 2.0 * (i % 7) as f64;
        format!("{row},{height}\n")
    };
    let rows: String = trees.lines().skip(1).enumerate().map(own).collect();
    folder.write("more.csv", format!("x,y,elevation\n{rows}"));
    folder.write("missing.csv", format!("x,y,elevation\n{rows}1,1,\n"));
    let rows: String = trees.lines().skip(1).enumerate().map(|(i, row)| format!("{row},{}\n", i % 5)).collect();
    folder.write("other.csv", format!("x,y,elevation\n{rows}"));
    let fit = |events: &str, covariate: &str| {
        let asked = "--columns x,y --window 0,10,0,10 --nodes 12x12 --smoothness 2 --average off --json";
        folder.run(&format!("fit {events} {asked} {covariate}")).good()
    };
    let (plain, more) = (fit("trees.csv", "--covariate ground.csv"), fit("more.csv", "--covariate ground.csv"));
    assert_eq!(plain.json()["effects"], more.json()["effects"]);
    let sentence = "more.csv has a column `elevation` too, which is not used: an event has the value of its cell";
    assert!(more.err.contains(sentence) && !plain.err.contains("not used"), "{}", more.err);
    let agree = "at the events the two correlate by 1.00, and the column is higher by 5.9";
    assert!(more.err.contains(agree), "{}", more.err);
    assert!(fit("missing.csv", "--covariate ground.csv").err.contains("values of it are missing"));
    assert!(!more.err.contains("in another unit"), "{}", more.err);
    assert!(fit("other.csv", "--covariate ground.csv").err.contains("in another unit"));
    assert!(!fit("more.csv", "").err.contains("not used"));
}

/// Trees of two species, the second one more often in the west, with what was measured at each.
fn of_species(folder: &Folder) {
    let trees = String::from_utf8(folder.read("trees.csv")).unwrap();
    let mut table = "x,y,species,ph\n".to_string();
    for (i, row) in trees.lines().skip(1).enumerate() {
        let (x, y) = row.split_once(',').unwrap();
        let [x, y] = [x, y].map(|text| text.parse::<f64>().unwrap());
        let noise = (0.618 * i as f64).fract();
        let species = if noise < 0.3 + 0.04 * x { "oak" } else { "ash" };
        writeln!(table, "{row},{species},{}", 7.0 - 0.01 * elevation(x, y) + noise).unwrap();
    }
    folder.write("species.csv", table);
}

const OF_TYPES: &str = "fit species.csv --columns x,y --window 0,10,0,10 --nodes 8x8 --covariate ground.csv";

#[test]
fn each_type_has_effects_of_its_own_and_all_verbs_follow() {
    let folder = folder();
    of_species(&folder);
    let text = folder.run(&format!("{OF_TYPES} --type species -o model.json")).good().out;
    let words = ["elevation, oak ", "elevation, oak/ash ", "cover town, ash ", "ratio × ", "fit, oak ", "with it"];
    words.iter().for_each(|words| assert!(text.contains(words), "{words}: {text}"));
    let said = folder.run("show model.json --json").good().json();
    let number = |value: &Value| value.as_f64().unwrap();
    let of = |k: usize, what: &str| said["types"][k][what].as_array().unwrap().clone();
    let (first, second) = (of(0, "effects"), of(1, "effects"));
    let difference = number(&first[0]["effect"]) - number(&second[0]["effect"]);
    assert!((number(&of(1, "effects_on_ratio")[0]["effect"]) - difference).abs() < 1e-12);
    assert!(said["log_evidence_gains"].as_array().unwrap().len() == 2 && said["types"][0]["goodness"]["p"].is_number());
    // Totals are those of the events; held covariates change what every verb says, types together or alone.
    let names: Vec<&str> = said["types"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let count = |more: &str| number(&folder.run(&format!("count model.json {more} --json")).good().json()["mean"]);
    for (k, name) in names.iter().enumerate() {
        let (whole, seen) = (count(&format!("--of {name}")), number(&said["types"][k]["events"]));
        assert!((whole / seen - 1.0).abs() < 0.04, "{name}: {whole} for {seen}");
        let parts = ["0,3.7,0,10", "3.7,10,0,10"].map(|part| count(&format!("--of {name} --in {part}")));
        assert!((parts[0] + parts[1] - whole).abs() < 1e-6 * whole, "{parts:?} {whole}");
    }
    let of_all = folder.run("count model.json --set cover=town --json").good().json();
    let own = count(&format!("--of {} --set cover=town", names[0]));
    assert!((number(&of_all["types"][0]["regions"][0]["mean"]) - own).abs() < 1e-9 * own);
    let ratio = |more: &str| {
        let (head, rows) =
            folder.run(&format!("predict model.json --of {}/{} --grid 1x1 {more}", names[0], names[1])).good().csv();
        rows[0][head.iter().position(|name| name == "ratio_q0.5").unwrap()].parse::<f64>().unwrap()
    };
    let (low, high) = (ratio("--set elevation=100 --set cover=wood"), ratio("--set elevation=300 --set cover=wood"));
    let median = 200.0 * number(&of(1, "effects_on_ratio")[0]["quantiles"][1]);
    assert!(((high / low).ln() - median).abs() < 0.15, "{low} {high} {median}");
    folder.run("predict model.json --shares --grid 2x2 --set elevation=200").good();
    folder.run("sample model.json --events --set cover=town").good();
    folder.run("simulate --model model.json --set cover=town -o new.csv").good();
    folder.run(&format!("plot model.json --of {} --set cover=town -o map.svg", names[0])).good();
    folder.run(&format!("report model.json --of {} --set cover=town -o page.html", names[0])).good();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("with cover=town"));
    folder.run("plot trees.csv --window 0,10,0,10 --set cover=town").refused(&["--set cover=town", "are events"]);
    folder.run("simulate --intensity 3 --window 0,1 --set cover=town").refused(&["--set"]);
}

#[test]
fn covariates_beside_values_have_effects_on_rate_and_value() {
    let folder = folder();
    of_species(&folder);
    let text = folder.run(&format!("{OF_TYPES} --value ph -o model.json")).good().out;
    ["elevation, rate ", "elevation, ph ", "cover town, ph ", "fit "]
        .iter()
        .for_each(|words| assert!(text.contains(words), "{words}: {text}"));
    let said = folder.run("show model.json --json").good().json();
    let of_value = |i: usize| said["effects_on_value"][0]["quantiles"][i].as_f64().unwrap();
    assert!(of_value(0) < -0.01 && -0.01 < of_value(2) && of_value(2) < 0.0, "{}", said["effects_on_value"]);
    let values = |more: &str| {
        let (head, rows) = folder.run(&format!("predict model.json --of ph --grid 1x1 {more}")).good().csv();
        let place = |name: &str| head.iter().position(|own| own == name).unwrap_or_else(|| panic!("{head:?}"));
        ["mean", "p>5", "new_p>5"].map(|name| rows[0][place(name)].parse::<f64>().unwrap())
    };
    // What is measured may be below 0.
    folder.run("predict model.json --of ph --grid 1x1 --exceed -3").good();
    folder.run("predict model.json --grid 1x1 --exceed -3").refused(&["a number that is not negative"]);
    let [low, high] = ["100", "300"].map(|z| values(&format!("--exceed 5 --set elevation={z}")));
    let mean = 200.0 * said["effects_on_value"][0]["effect"].as_f64().unwrap();
    assert!((high[0] - low[0] - mean).abs() < 1e-6 && high[1] < low[1] && high[2] < low[2], "{low:?} {high:?} {mean}");
}

/// What lies far outside of all that was seen ends at once.
#[test]
fn values_far_outside_are_told_of_and_numbers_without_end_are_refused() {
    let folder = folder();
    folder.run(&format!("{FIT} --average off --covariate ground.csv -o model.json -q")).good();
    let far = folder.run("predict model.json --grid 1x1 --set elevation=400").good();
    assert!(far.err.contains("elevation=400 lies beyond"), "{}", far.err);
    assert!(!folder.run("predict model.json --grid 1x1 --set elevation=200").good().err.contains("beyond"));
    folder.run("count model.json --set elevation=1e6").refused(&["expected number of events", "covariates"]);
}

#[test]
fn bad_covariates_are_refused_in_a_sentence() {
    let folder = folder();
    let ground = String::from_utf8(folder.read("ground.csv")).unwrap();
    let with = |change: &dyn Fn(f64, f64) -> Option<String>| {
        let mut text = "x,y,z\n".to_string();
        for i in 0..10 {
            for j in 0..10 {
                let (x, y) = (f64::from(i) + 0.5, f64::from(j) + 0.5);
                change(x, y).into_iter().for_each(|value| writeln!(text, "{x},{y},{value}").unwrap());
            }
        }
        text
    };
    folder.write("flat.csv", with(&|_, _| Some("3".into())));
    folder.write("twice.csv", with(&|x, y| Some(format!("{}", 2.0 * elevation(x, y) + 1.0))));
    folder.write("holes.csv", with(&|x, y| (x > 2.0 || y > 3.0).then(|| format!("{}", x * y))));
    folder.write("short.csv", with(&|x, y| (x < 6.0).then(|| format!("{}", x * y))));
    let far = |line: &str| line.split_once(',').map(|(x, rest)| format!("60000{x},{rest}\n"));
    let metres: String = ground.lines().skip(1).filter_map(far).collect();
    folder.write("metres.csv", format!("x,y,elevation,cover\n{metres}"));
    folder.write("again.csv", format!("{ground}0.5,0.5,3,wood\n"));
    folder.write("names.csv", ground.replace("x,y,", "a,b,"));
    folder.write("places.csv", "x,y\n1,1\n2,2\n");
    folder.write("scattered.csv", "x,y,z\n1,1,1\n2,2,2\n3,3.5,3\n4,4,4\n5,6,6\n7,8,9\n");
    for (file, words) in [
        ("flat.csv", &["--covariate: z is 3 all over the window", "leave it out"][..]),
        (
            "ground.csv --covariate twice.csv",
            &["z is the same over the window as a combination of", "elevation", "leave one out"],
        ),
        ("holes.csv", &["z is missing in 6 of the 100 cells", "fill them"]),
        (
            "short.csv",
            &["short.csv covers `x` from 0 to 6", "needs 0 to 10", "events lie outside", "extend the raster"],
        ),
        ("metres.csv", &["metres.csv covers `x`", "220 of 220 events lie outside", "same coordinates"]),
        ("again.csv", &["again.csv, line 102: x 0.5, y 0.5 was given on line 2 already"]),
        ("names.csv", &["names.csv has no column called as an axis of the events (x, y)"]),
        ("places.csv", &["places.csv has no column of values beside x, y"]),
        ("scattered.csv", &["scattered.csv is not a grid: 6 rows"]),
        ("ground.csv --link square", &["elevation needs the log link", "leave out the square link"]),
        ("ground.csv --basis inducing", &["elevation needs a lattice"]),
        ("ground.csv --categorical rain", &["--categorical rain: there is no such covariate, only elevation, cover"]),
        ("ground.csv --spline cover", &["--spline cover: its values are levels"]),
        ("ground.csv --spline rain", &["--spline rain: there is no such covariate, only elevation, cover"]),
        ("none.csv", &["none.csv"]),
    ] {
        let nodes = if file.contains("inducing") { "" } else { "--nodes 12x12" };
        folder.run(&format!("fit trees.csv --window 0,10,0,10 {nodes} --covariate {file}")).refused(words);
    }
    folder.run("fit trees.csv --window 0,10,0,10 --categorical z").refused(&["there is none; add --covariate"]);
    folder.run("summarize trees.csv --window 0,10,0,10 -o trees.summary").good();
    folder.run("fit trees.summary --covariate ground.csv").refused(&["--covariate needs to know where each event is"]);
    folder.run("fit trees.csv trees.csv --covariate ground.csv").refused(&["give one table of events"]);
    folder.run(&format!("{FIT} --average off --covariate ground.csv -o model.json")).good();
    for (set, words) in [
        ("elevation", "write NAME=VALUE"),
        ("elevation=high", "high is not a number"),
        ("rain=3", "no covariate `rain` in the model, only elevation, cover"),
        ("cover=sea", "no level `sea` in the window; there are wood, field, town"),
    ] {
        folder.run(&format!("predict model.json --set {set}")).refused(&[words]);
    }
    folder.run("count model.json --in 5,15,0,10").refused(&["elevation", "beyond its raster"]);
    folder.run("fit trees.csv --window 0,10,0,10 --nodes 12x12 --average off -o plain.json").good();
    folder.run("predict plain.json --set elevation=3").refused(&["the model has no covariates"]);
    folder.run("predict model.json --set elevation=200 --over plain.json").refused(&["--set", "--over", "leave"]);
    folder.run("fit --update model.json trees.summary").refused(&["does not know its events by cell"]);
}
