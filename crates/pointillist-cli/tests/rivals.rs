//! The rivals as a real process: smoothing, the sigmoidal sampler, comparison, and the check against the exact posterior.

use crate::common::Folder;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn smoothing_has_a_bandwidth_a_score_and_a_rate() {
    let folder = Folder::new();
    let smooth = |options: &str| folder.run(&format!("smooth coal --json {options}")).good();
    let (with, without) = (smooth("").json(), smooth("--edge-correction none").json());
    assert_eq!((&with["edge_correction"], &without["edge_correction"]), (&"truncate".into(), &"none".into()));
    assert!((2.0..12.0).contains(&number(&with["bandwidth"][0])), "{with}");
    assert!(number(&with["loo"]) > number(&without["loo"]), "the ends are full of events");
    let given = smooth("--bandwidth 5 --heldout coal").json();
    assert_eq!(number(&given["bandwidth"][0]), 5.0);
    assert!(number(&given["log_likelihood"]) > number(&given["loo"]), "seen events score better than unseen ones");
    let (header, rows) = folder.run("smooth coal --grid 50").good().csv();
    assert_eq!((header.join(","), rows.len()), ("year,mean".into(), 50));
    assert!(folder.run("smooth coal").good().out.contains("leave-one-out"));
    folder.write("one.csv", "t\n1\n");
    folder.run("smooth one.csv --window 0,2").refused(&["event"]);
    folder.run("smooth coal --bandwidth 0").refused(&["bandwidth"]);
    folder.run("smooth coal --bandwidth 1,2").refused(&["bandwidth"]);
}

#[test]
fn methods_are_compared_on_the_same_halves() {
    let folder = Folder::new();
    let run = folder.run("compare coal --splits 3 --json --csv all.csv --inducing 12").good().json();
    let names: Vec<&str> = run["methods"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["vbpp", "ks+ec", "ks-ec", "homogeneous"]);
    let score = |i: usize| number(&run["methods"][i]["log_likelihood"]);
    assert!(score(0) > score(3) && score(1) > score(3), "{run}");
    assert!(number(&run["methods"][0]["m_p"]) > number(&run["methods"][0]["l_p"]));
    let text = String::from_utf8(folder.read("all.csv")).unwrap();
    assert_eq!(text.lines().count(), 1 + 3 * 4, "{text}");
    // the same seed gives the same halves, another one others
    let only = |seed: u8| folder.run(&format!("compare coal --methods homogeneous --json --seed {seed}")).good().json();
    assert_eq!(only(1)["methods"][0]["log_likelihood"], only(1)["methods"][0]["log_likelihood"]);
    assert_ne!(only(1)["methods"][0]["log_likelihood"], only(2)["methods"][0]["log_likelihood"]);
    folder.run("compare coal --methods vbpp,magic").refused(&["magic", "ks+ec"]);
    folder.run("compare coal --splits 0").refused(&["--splits 0"]);
}

#[test]
fn a_truth_gives_errors() {
    let folder = Folder::new();
    let events: String = (0..60).map(|i| format!("{}\n", (f64::from(i) + 0.5) / 6.0)).collect();
    folder.write("train.csv", format!("t\n{events}")).write("test.csv", format!("t\n{events}"));
    folder.write("truth.csv", "t,rate\n1,6\n5,6\n9,6\n").write("bad.csv", "t,a,b\n1,2,3\n");
    let compare = |options: &str| folder.run(&format!("compare train.csv test.csv --window 0,10 --json {options}"));
    let run = compare("--truth truth.csv --inducing 6").good().json();
    for method in run["methods"].as_array().unwrap() {
        assert!(number(&method["rms"]) < 1.0, "{method}");
        let ise = number(&method["rms"]).powi(2) * 10.0;
        assert!((number(&method["ise"]) - ise).abs() < 1e-9, "{method}");
    }
    compare("--truth bad.csv").refused(&["bad.csv", "rate"]);
    compare("--truth missing.csv").refused(&["missing.csv"]);
}

#[test]
fn a_model_is_checked_against_the_exact_posterior() {
    let folder = Folder::new();
    folder.run("fit coal --inducing 12 -o model.json").good();
    let run = folder.run("check model.json coal --draws 2000 --json").good().json();
    assert!(number(&run["mean"]["median"]) < 0.03 && number(&run["pareto_k"]) < 0.7, "{run}");
    assert!(number(&run["mean"]["median"]) <= number(&run["mean"]["largest"]));
    assert!(folder.run("check model.json coal --draws 400").good().out.contains("Pareto k"));
    folder.run("check model.json coal --draws 1").refused(&["--draws 1"]);
    folder.run("check model.json tweets").refused(&["tweets", "--columns"]);
    folder.run("check model.json tweets --columns t_days").refused(&["inside the window"]);
}

#[test]
fn the_sampler_saves_itself_and_goes_on() {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2\n2.5\n6\n9\n");
    let line = "sgcp few.csv --window 0,10 --json --warm-up 40 --effective 2 --r-hat 100";
    let run = folder.run(&format!("{line} --max-sweeps 200")).good().json();
    assert!(run["converged"].as_bool().unwrap() && run["watched"].as_array().unwrap().len() >= 4, "{run}");
    let again = folder.run(&format!("{line} --max-sweeps 200")).good().json();
    assert_eq!(run["watched"], again["watched"], "the same seed gives the same draws");
    // too few sweeps: there is an answer, and exit code 1
    let short = folder.run("sgcp few.csv --window 0,10 --warm-up 20 --max-sweeps 20 --json");
    assert_eq!(short.code, 1, "{}", short.err);
    folder.write("broken.sgcp", "{\"events\":");
    folder.run(&format!("{line} --checkpoint broken.sgcp")).refused(&["broken.sgcp", "checkpoint"]);
}
