//! `contrast` as a real process: two regions of a model, two models, what it agrees with, and wrong input.

use crate::common;
use crate::common::Folder;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} and {b} differ by more than {tolerance}");
}

/// Models of the years before and after 1900, and of all.
fn folder() -> Folder {
    let folder = Folder::new().with_model();
    folder.run("data coal -o years.csv").good();
    folder.run("fit years.csv --columns year --window 1851,1900 --clip --inducing 9 -o early.json").good();
    folder.run("fit years.csv --columns year --window 1900,1963 --clip --inducing 9 -o late.json").good();
    folder
}

#[test]
fn two_regions_have_the_numbers_of_count() {
    let folder = folder();
    folder.run("fit coal --nodes 60 --smoothness 2 -o lattice.json").good();
    for model in ["model.json", "lattice.json"] {
        let regions = "--in 1860,1880 --in 1920,1940 --draws 1000";
        let both = folder.run(&format!("contrast {model} {regions} --json")).good().json();
        let counts = folder.run(&format!("count {model} {regions} --json")).good().json();
        for (side, number) in [("a", 0), ("b", 1)] {
            let mut own = both[side].clone();
            assert_eq!(own["model"], model);
            own.as_object_mut().unwrap().remove("model");
            let mut counted = counts["regions"][number].clone();
            assert!(counted.as_object_mut().unwrap().remove("seen").is_some());
            assert_eq!(own, counted);
        }
        let (a, b, difference) = (&both["a"], &both["b"], &both["difference"]);
        close(number(&difference["mean"]), number(&a["mean"]) - number(&b["mean"]), 1e-9);
        // Far from each other the two hardly know of each other.
        let apart = number(&a["sd"]).hypot(number(&b["sd"]));
        close(number(&difference["sd"]), apart, 0.1 * apart);
        assert!(number(&both["probability"]) > 0.99 && both["draws"] == 1000);
        assert!(number(&both["ratio"]["quantiles"]["0.05"]) > 1.0);
        assert!(both["ratio"].get("mean").is_none());
    }
}

#[test]
fn regions_that_share_years_are_compared_jointly() {
    let folder = folder();
    let line = "contrast model.json --in 1860,1880 --in 1860,1879 --json";
    let both = folder.run(line).good().json();
    // The one holds the other: it has more events in every draw, however uncertain both are.
    assert_eq!(number(&both["probability"]), 1.0);
    assert!(number(&both["difference"]["sd"]) < 0.2 * number(&both["a"]["sd"]), "{both}");
    let text = folder.run(line.trim_end_matches(" --json")).good().out;
    assert!(text.contains("probability above 0.99975"), "{text}");
    let same = folder.run("contrast model.json --in 1860,1880 --in 1860,1880 --json").good().json();
    assert_eq!((number(&same["probability"]), number(&same["difference"]["sd"])), (0.5, 0.0));
}

#[test]
fn swapped_arguments_mirror() {
    let folder = folder();
    let mirrored = |one: &str, other: &str, tolerance: f64| {
        let [one, other] = [one, other].map(|line| {
            folder.run(&format!("contrast {line} --quantiles 0.25,0.75 --draws 20000 --json")).good().json()
        });
        let sd = number(&one["difference"]["sd"]);
        close(number(&one["probability"]) + number(&other["probability"]), 1.0, tolerance);
        close(number(&one["difference"]["mean"]), -number(&other["difference"]["mean"]), 1e-9);
        close(sd, number(&other["difference"]["sd"]), tolerance * sd);
        for [low, high] in [["0.25", "0.75"], ["0.75", "0.25"]] {
            let [ours, theirs] =
                [(&one, low), (&other, high)].map(|(run, p)| number(&run["difference"]["quantiles"][p]));
            close(ours, -theirs, (tolerance + 0.01) * sd);
            let [ours, theirs] = [(&one, low), (&other, high)].map(|(run, p)| number(&run["ratio"]["quantiles"][p]));
            close(ours * theirs, 1.0, tolerance + 0.01);
        }
    };
    mirrored("model.json --in 1860,1880 --in 1872,1890", "model.json --in 1872,1890 --in 1860,1880", 1e-12);
    // Two models are drawn with other seeds when they change places.
    mirrored("early.json late.json --in 1899,1901", "late.json early.json --in 1899,1901", 0.05);
}

#[test]
fn two_models_are_independent() {
    let folder = folder();
    let both = folder.run("contrast early.json late.json --in 1890,1900 --json").good().json();
    for (side, model) in [("a", "early.json"), ("b", "late.json")] {
        let count = folder.run(&format!("count {model} --in 1890,1900 --json")).good().json();
        close(number(&both[side]["mean"]), number(&count["mean"]), 1e-9);
        close(number(&both[side]["sd"]), number(&count["sd"]), 1e-9);
    }
    let apart = number(&both["a"]["sd"]).hypot(number(&both["b"]["sd"]));
    close(number(&both["difference"]["sd"]), apart, 0.05 * apart);
    folder.run("contrast model.json model.json").refused(&["the same model", "two regions with --in"]);
    // Two of a kind: as uncertain as that, not the same draws.
    let model: Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    write_twin(&folder, model);
    let twin = folder.run("contrast model.json twin.json --json").good().json();
    assert!(number(&twin["difference"]["mean"]).abs() < 1e-6);
    close(number(&twin["probability"]), 0.5, 0.05);
    let apart = number(&twin["a"]["sd"]) * 2f64.sqrt();
    close(number(&twin["difference"]["sd"]), apart, 0.05 * apart);
}

/// A model that differs from another by next to nothing.
fn write_twin(folder: &Folder, mut model: Value) {
    let value = &mut model["posterior"]["components"][0]["basis"]["inducing"]["q_mean"][0];
    *value = (number(value) + 1e-10).into();
    folder.write("twin.json", common::sealed(&model));
}

/// Draws come one component after another: without care the light component of one model would always meet that of the other.
#[test]
fn two_averages_are_independent() {
    let folder = folder();
    let mut model: Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    let mut parts = vec![model["posterior"]["components"][0].clone(); 2];
    let doubled = |value: &mut Value| *value = (2.0 * number(value)).into();
    let field = &mut parts[1]["basis"]["inducing"];
    doubled(&mut field["mean"]);
    field["q_mean"].as_array_mut().unwrap().iter_mut().for_each(doubled);
    parts.iter_mut().for_each(|part| part["weight"] = 0.5.into());
    model["posterior"]["components"] = parts.into();
    folder.write("average.json", common::sealed(&model));
    write_twin(&folder, model);
    let twin = folder.run("contrast average.json twin.json --json").good().json();
    // f is doubled in one half: nearly four times the events there.
    assert!(number(&twin["a"]["sd"]) > 0.5 * number(&twin["a"]["mean"]), "{twin}");
    let apart = number(&twin["a"]["sd"]) * 2f64.sqrt();
    close(number(&twin["difference"]["sd"]), apart, 0.05 * apart);
    close(number(&twin["probability"]), 0.5, 0.05);
}

#[test]
fn people_get_a_table_and_a_sentence() {
    let folder = folder();
    let text = folder.run("contrast model.json --in 1860,1880 --in 1870,1890").good().out;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["A: 1860,1880", "B: 1870,1890"]);
    for (line, word) in lines[2..7].iter().zip(["q0.05", "A ", "B ", "A - B", "A / B"]) {
        assert!(line.contains(word), "{text}");
    }
    assert!(lines[7].starts_with("More events are expected in A than in B with probability 0."), "{text}");
    assert!(lines[7].matches("90 % between").count() == 2 && lines.len() == 8, "{text}");
    let other = folder.run("contrast early.json late.json --in 1895,1900 --quantiles 0.025,0.975").good().out;
    assert!(other.starts_with("A: early.json, 1895,1900\nB: late.json, 1895,1900\n"), "{other}");
    assert!(other.contains("95 % between"), "{other}");
    let one = folder.run("contrast model.json --in 1860,1880 --in 1870,1890 --quantiles 0.5").good().out;
    assert!(!one.contains("between"), "{one}");
    assert_eq!(one, folder.run("contrast model.json --in 1860,1880 --in 1870,1890 --quantiles 0.5").good().out);
    assert_ne!(
        one,
        folder.run("contrast model.json --in 1860,1880 --in 1870,1890 --quantiles 0.5 --seed 1").good().out
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    folder.write("p.csv", "x,y\n0,0\n1,1\n0.5,0.2\n0.3,0.8\n0.6,0.6\n");
    folder.run("fit p.csv --window 0,1,0,1 --inducing 3x3 -o map.json").good();
    folder.write("three.csv", "start,end\n1860,1870\n1870,1880\n1880,1890\n");
    folder.run("contrast model.json").refused(&["model.json", "two regions", "--in twice", "another model"]);
    folder.run("contrast model.json --in 1860,1870").refused(&["1 region", "model.json", "two"]);
    folder.run("contrast model.json --in three.csv").refused(&["3 regions", "two"]);
    folder.run("contrast early.json late.json --in three.csv").refused(&["3 regions", "two models", "one"]);
    folder.run("contrast early.json late.json").refused(&["windows", "1851,1900", "1900,1963", "--in"]);
    folder.run("contrast model.json map.json").refused(&["1 axis", "2 axes"]);
    folder.run("contrast model.json --in 1860 --in 1870,1880").refused(&["--in 1860"]);
    folder.run("contrast model.json missing.json").refused(&["missing.json"]);
    folder.run("contrast model.json years.csv").refused(&["years.csv", "not a model"]);
    folder.run("contrast model.json model.json --draws 1").refused(&["--draws 1"]);
    folder.run("contrast model.json model.json --quantiles 2").refused(&["--quantiles 2"]);
    assert_eq!(folder.run("contrast").code, 2);
    assert_eq!(folder.run("contrast model.json model.json model.json").code, 2);
}

#[test]
fn models_whose_numbers_mean_different_places_are_refused() {
    let folder = Folder::new();
    folder.write("a.csv", "t\n1\n2\n3\n4.5\n").write("b.csv", "s\n1\n2\n3\n4.5\n");
    folder.run("fit a.csv --window 0,5 --inducing 6 -o a.json -q").good();
    folder.run("fit b.csv --window 0,5 --inducing 6 -o b.json -q").good();
    folder.run("fit a.csv --window 0,5 --inducing 6 --unit t=s -o c.json -q").good();
    for other in ["b.json", "c.json"] {
        let run = folder.run(&format!("contrast a.json {other} --in 1,2"));
        assert!(run.code == 2 && run.err.contains("axes"), "{} {}", run.code, run.err);
    }
}

/// Cases over controls: quantiles without a unit, the same on the way to a map, and 1 on average where it is asked for.
#[test]
fn the_rate_of_one_model_over_that_of_another() {
    let folder = Folder::new();
    let of = |rate: &str, seed: u64, name: &str| {
        let drawn = format!("simulate --intensity {rate} --window 0,4,0,4 --seed {seed} -o {name}.csv");
        folder.run(&drawn).good();
        let fit = format!("fit {name}.csv --window 0,4,0,4 --nodes 12x12 --link log --smoothness 2 -q -o {name}.json");
        folder.run(&fit).good();
    };
    of("10+4*x", 1, "cases");
    of("40", 2, "controls");
    let (header, rows) = folder.run("predict cases.json --over controls.json --grid 5x5 --exceed 0.4").good().csv();
    assert_eq!(header, ["x", "y", "ratio_q0.05", "ratio_q0.5", "ratio_q0.95", "p>0.4"]);
    let number = |row: &[String], k: usize| row[k].parse::<f64>().unwrap();
    assert!(rows.iter().all(|row| number(row, 2) < number(row, 3) && number(row, 3) < number(row, 4)));
    let holds = |row: &Vec<String>| {
        let truth = (10.0 + 4.0 * number(row, 0)) / 40.0;
        number(row, 2) < truth && truth < number(row, 4)
    };
    let held = rows.iter().filter(|row| holds(row)).count();
    assert!(held >= 20, "{held} of 25");
    assert!(number(&rows[12], 5) > 0.5 && rows.iter().all(|row| (0.0..=1.0).contains(&number(row, 5))));
    // Relative to the average: all is divided by one number, and some places are above 1.
    let (_, relative) = folder.run("predict cases.json --over controls.json --grid 5x5 --relative").good().csv();
    let by: Vec<f64> = rows.iter().zip(&relative).map(|(a, b)| number(a, 3) / number(b, 3)).collect();
    assert!(by.iter().all(|ratio| (ratio / by[0] - 1.0).abs() < 1e-9), "{by:?}");
    assert!((0.4..0.52).contains(&by[0]), "{}", by[0]);
    folder.run("predict cases.json --over controls.json --grid 5x5 -o risk.tif").good();
}

#[test]
fn what_cannot_be_held_over_another_model_is_refused() {
    let folder = Folder::new();
    folder.run("fit coal --average off -q -o coal.json").good();
    folder.run("fit coal --average off --window 1851,1963 -q -o wide.json").good();
    folder.run("fit kenya --nodes 8x8 --link log --smoothness 2 -q -o kenya.json").good();
    folder.run("predict coal.json --over coal.json").refused(&["same model", "--over"]);
    folder.run("predict coal.json --over kenya.json").refused(&["1 axis", "2 axes"]);
    folder.run("predict coal.json --over wide.json --relative").refused(&["--relative", "--window"]);
    folder.run("predict coal.json --over nowhere.json").refused(&["nowhere.json"]);
    folder.run("fit kenya --nodes 8x8 --link log --smoothness 2 --window 33,42,-5,6 -q -o kenya2.json").good();
    folder.run("predict kenya.json --over kenya2.json --grid 3x3").refused(&["maps of the globe", "--window"]);
    let said = folder.run("predict coal.json --over wide.json --grid 3").good().err;
    assert!(said.contains("191 events"), "{said}");
    // Looked at differently there is no one average; elsewhere than the other model little is known.
    folder.write("ex.csv", "t,w\n0,0.1\n50,4\n");
    folder.run("simulate --intensity 5 --window 0,50 --columns t -q -o t.csv").good();
    folder.run("simulate --intensity 5 --window 0,50 --columns t --seed 2 -q -o u.csv").good();
    folder.run("simulate --intensity 5 --window 90,99 --columns t --seed 3 -q -o far.csv").good();
    folder.run("fit t.csv --window 0,50 --exposure ex.csv --average off -q -o exposed.json").good();
    folder.run("fit u.csv --window 0,50 --average off -q -o plain.json").good();
    folder.run("fit far.csv --window 90,99 --average off -q -o far.json").good();
    folder.run("predict exposed.json --over plain.json --relative").refused(&[
        "--relative",
        "exposures",
        "leave it out",
    ]);
    let far = folder.run("predict plain.json --over far.json --grid 2").good();
    assert!(far.err.contains("2 of 2 points lie outside the window of far.json"), "{}", far.err);
    assert_eq!(far.csv().0.last().unwrap(), "inside");
    for wrong in ["--components", "--quantiles 0.001"] {
        assert_eq!(folder.run(&format!("predict coal.json --over wide.json {wrong}")).code, 2, "{wrong}");
    }
    assert_eq!(folder.run("predict coal.json --relative").code, 2);
}
