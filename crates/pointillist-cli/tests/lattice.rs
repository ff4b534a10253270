//! The lattice on the command line: what it is asked for, what it says, every verb on its models, and wrong input.

use crate::common::{Folder, sealed};
use serde_json::json;

#[test]
fn every_verb_takes_a_model_on_a_lattice() {
    let folder = Folder::new();
    let fit = folder.run("fit coal --basis lattice --smoothness 2 -o coal.json --json").good().json();
    assert_eq!(
        (fit["basis"].as_str(), fit["smoothness"].as_u64(), fit["inducing"].as_u64()),
        (Some("lattice"), Some(2), Some(0))
    );
    assert!(fit["nodes"][0].as_u64().unwrap() > 50 && fit["hyperparameters"]["lengthscale"][0].as_f64().unwrap() > 5.0);
    let (names, rows) = folder.run("predict coal.json --grid 20").good().csv();
    assert!(names.contains(&"q0.05".to_string()) && rows.len() == 20);
    let count = folder.run("count coal.json --in 1851.3,1900 --json").good().json();
    assert!((100.0..160.0).contains(&count["mean"].as_f64().unwrap()), "{count}");
    let score = folder.run("score coal.json coal --json").good().json();
    assert!(score["m_p"].as_f64().unwrap() > score["l_p"].as_f64().unwrap());
    folder.run("sample coal.json --draws 2 --grid 5").good();
    folder.run("sample coal.json --draws 2 --events").good();
    folder.run("simulate --model coal.json -o new.csv").good();
    folder.run("plot coal.json -o coal.svg").good();
    let check = folder.run("check coal.json coal --json").good().json();
    assert!(check["mean"]["median"].as_f64().unwrap() < 0.02, "{check}");
}

#[test]
fn without_options_families_are_averaged_and_that_is_said() {
    let folder = Folder::new();
    let fit = folder.run("fit aftershocks --json -o a.json").good().json();
    let tried: Vec<&str> = fit["tried"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(tried.len(), 8, "{tried:?}");
    assert!(tried[7].ends_with("with a local scale"), "{tried:?}");
    assert!(tried.contains(&"constant rate") && tried.contains(&"log link, smoothness 2"), "{tried:?}");
    let weights: f64 = fit["components"].as_array().unwrap().iter().map(|c| c["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-9 && fit["averaged"] == true, "{fit}");
    let text = folder.run("show a.json").good().out;
    assert!(text.contains("an average of") && text.contains("log evidence") && text.contains("range "), "{text}");
    let best = folder.run("fit aftershocks --average off --json").good().json();
    assert_eq!(best["components"].as_array().unwrap().len(), 1);
    let paper = folder.run("fit aftershocks --inducing auto --json").good().json();
    assert_eq!((paper["basis"].as_str(), paper["tried"].as_array().unwrap().len()), (Some("inducing"), 1));
}

#[test]
fn of_few_events_without_structure_little_is_said_and_it_is_true() {
    let folder = Folder::new();
    folder.write("one.csv", "t\n3\n").write("even.csv", "t\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    for (file, events) in [("one.csv", 1.0), ("even.csv", 9.0)] {
        folder.run(&format!("fit {file} --window 0,10 -o m.json")).good();
        let count = folder.run("count m.json --json").good().json();
        let [mean, sd] = ["mean", "sd"].map(|name| count[name].as_f64().unwrap());
        assert!((mean - events).abs() < 1.2 && sd > 0.8 * f64::sqrt(events), "{count}");
    }
    let fit = folder.run("fit even.csv --window 0,10 --json").good().json();
    let constant = fit["components"].as_array().unwrap().iter().filter(|c| c["constant"] == true);
    assert!(constant.map(|c| c["weight"].as_f64().unwrap()).sum::<f64>() > 0.1, "{fit}");
}

#[test]
fn a_map_and_a_border() {
    let folder = Folder::new();
    let fit = folder.run("fit kenya --window kenya --clip --nodes 30x40 --smoothness 2 -o k.json --json").good().json();
    assert_eq!(fit["nodes"], json!([30, 40]));
    folder.run("plot k.json -o k.svg").good();
    let (_, rows) = folder.run("predict k.json --grid 4x4").good().csv();
    assert_eq!(rows.len(), 16);
}

#[test]
fn lattices_that_are_none() {
    let folder = Folder::new();
    folder.write("p.csv", "x,y\n0,0\n1,1\n0.5,0.2\n0.3,0.8\n0.6,0.6\n");
    folder.write("q.csv", "a,b,c,d\n0,0,0,0\n1,1,1,1\n0.5,0.2,0.3,0.1\n");
    folder.run("fit p.csv --nodes 1x5").refused(&["--nodes 1x5", "at least 2"]);
    folder.run("fit p.csv --nodes 5").refused(&["--nodes", "20x20"]);
    folder.run("fit p.csv --nodes many").refused(&["--nodes", "not a grid"]);
    folder.run("fit p.csv --nodes 100000x100000").refused(&["100000", "GB", "fit"]);
    folder.run("fit p.csv --nodes 200x200 --max-memory 10MB").refused(&["MB", "--max-memory"]);
    folder.run("fit p.csv --smoothness 3").refused(&["--smoothness", "`3`", "2, 4, auto"]);
    folder.run("fit p.csv --nodes 9x9 --kernel se").refused(&["--nodes", "--kernel", "leave one"]);
    folder.run("fit p.csv --basis lattice --inducing 9x9").refused(&["--basis lattice", "--inducing"]);
    folder.run("fit p.csv --basis inducing --smoothness 2").refused(&["--smoothness", "--basis inducing"]);
    folder.write("space.csv", "x,y,z\n0,0,0\n1,1,1\n0.2,0.7,0.4\n0.6,0.1,0.9\n0.5,0.4,0.3\n");
    folder.run("fit space.csv --vary on").refused(&["--vary on", "line or in a plane", "leave it out"]);
    folder.run("fit coal --vary on --average off").refused(&["--vary on", "--average off"]);
    folder.run("fit coal --vary on --smoothness 1").refused(&["--vary on", "--smoothness 1"]);
    folder.run("fit coal --vary on --basis inducing").refused(&["--vary", "--basis inducing"]);
    folder.run("fit coal --vary often").refused(&["--vary", "`often`", "auto, on, off"]);
    folder.run("fit p.csv --smoothness auto --mean paper").refused(&["--smoothness", "--mean paper", "leave one"]);
    folder.run("fit p.csv --basis inducing --mean integrated").good();
    folder.run("fit p.csv --inducing 9x9 --method joint --average on").refused(&[
        "--method joint",
        "--average on",
        "leave out",
    ]);
    folder.run("fit p.csv --nodes 9x9 --fix period=1").refused(&[
        "--fix 'period=1'",
        "`period`",
        "lengthscale, variance",
    ]);
    folder.run("fit p.csv --nodes 9x9 --prior 'alpha ~ gamma(1,1)'").refused(&["--prior", "`alpha`", "variance, mean"]);
    folder.run("fit p.csv --nodes 9x9 --fix lengthscale=-1").refused(&["--fix", "positive"]);
    folder.run("fit p.csv --mean constant").refused(&["--mean constant", "--average off"]);
    folder.run("fit p.csv --average maybe").refused(&["--average", "on"]);
    folder.run("fit p.csv --basis inducing --average on").good();
    for (budget, words) in [("0s", "nothing to do"), ("5", "not a time"), ("-5s", "not a time"), ("soon", "not a time")]
    {
        folder.run(&format!("fit p.csv --budget={budget}")).refused(&["--budget", budget, words, "5min"]);
    }
    folder.run("fit p.csv --nodes 9x9 --budget 5s").refused(&["--nodes", "--budget", "leave one"]);
    folder.run("fit p.csv --basis inducing --budget 5s").refused(&["--budget", "--basis inducing"]);
    folder.run("fit p.csv --budget none").good();
    folder.run("fit p.csv --max-memory lots").refused(&["--max-memory", "8GB"]);
    folder.run("fit q.csv --columns a,b,c,d --basis lattice").refused(&["axes", "inducing"]);
}

#[test]
fn a_lattice_takes_fixed_values_and_priors() {
    let folder = Folder::new();
    let fit = |options: &str| {
        folder.run(&format!("fit coal --smoothness 2 --link square --average off {options} --json")).good().json()
    };
    let lengthscale = |fit: &serde_json::Value| fit["hyperparameters"]["lengthscale"][0].as_f64().unwrap();
    let free = fit("--prior none --mean constant");
    assert_eq!(free["log_prior"], 0.0);
    let held = fit("--prior none --fix lengthscale=20 --fix mean=1.25");
    assert!((lengthscale(&held) - 20.0).abs() < 1e-9, "{}", held["hyperparameters"]);
    assert!((held["hyperparameters"]["mean"].as_f64().unwrap() - 1.25).abs() < 1e-9, "{}", held["hyperparameters"]);
    assert!(held["elbo"].as_f64() < free["elbo"].as_f64());
    // A firm belief in another length moves it most of the way there.
    let moved = fit("--prior none --prior 'lengthscale ~ lognormal(4, 0.1)'");
    let (from, to) = (lengthscale(&free), 4f64.exp());
    assert!(lengthscale(&moved) > from + 0.5 * (to - from) && lengthscale(&moved) < 1.1 * to, "{moved}");
    assert!(moved["log_prior"].as_f64().unwrap() != 0.0);
    let text = folder
        .run("fit coal --nodes 60 --smoothness 2 --average off --prior 'lengthscale ~ lognormal(4, 0.1)'")
        .good()
        .out;
    assert!(text.contains("log prior") && text.contains("lattice"), "{text}");
}

/// The only family that is asked for can be a rate that does not vary: that is an answer too.
#[test]
fn a_variance_held_at_nearly_nothing_gives_one_rate_everywhere() {
    let folder = Folder::new();
    for average in ["on", "off"] {
        let line = "fit coal --link log --smoothness 2 --fix variance=1e-8 -o m.json --json";
        let fit = folder.run(&format!("{line} --average {average}")).good().json();
        assert_eq!(fit["tried"].as_array().unwrap().len(), 1, "{fit}");
        let count = |part: &str| folder.run(&format!("count m.json --in {part} --json")).good().json();
        let mean = |part: &str| count(part)["mean"].as_f64().unwrap();
        let (whole, first) = (mean("1851.2,1962.22"), mean("1851.2,1906.71"));
        assert!((whole - 191.0).abs() < 1.0 && (first / whole - 0.5).abs() < 1e-3, "{whole} {first}");
    }
}

#[test]
fn an_unknown_constant_is_part_of_the_answer() {
    let folder = Folder::new();
    let line = "fit coal --basis lattice --link square --smoothness 2 --average off";
    let integrated = folder.run(&format!("{line} --mean integrated -o m.json --json")).good().json();
    let learned = folder.run(&format!("{line} --mean constant --json")).good().json();
    assert_eq!(
        (integrated["prior_mean"].as_str(), learned["prior_mean"].as_str()),
        (Some("integrated"), Some("constant"))
    );
    assert!(integrated["elbo"] != learned["elbo"]);
    let text = folder.run("show m.json").good().out;
    assert!(text.contains("constant ") && text.contains("integrated over"), "{text}");
    let count = folder.run("count m.json --json").good().json();
    assert!((170.0..212.0).contains(&count["mean"].as_f64().unwrap()), "{count}");
    let file: serde_json::Value = serde_json::from_slice(&folder.read("m.json")).unwrap();
    assert!(file["posterior"]["components"][0]["basis"]["lattice"]["constant"]["sd"].as_f64().unwrap() > 0.0);
    // It asks for a lattice itself.
    let alone = folder.run("fit coal --mean integrated --json").good().json();
    assert_eq!(alone["basis"], "lattice");
}

#[test]
fn models_on_lattices_that_are_none() {
    let folder = Folder::new();
    folder.run("fit coal --nodes 40 --smoothness 2 -o model.json").good();
    let whole: serde_json::Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    let numbers = [
        ("nodes", json!([39])),
        ("nodes", json!([100000000000u64, 100000000000u64])),
        ("margin", json!([])),
        ("smoothness", json!(5)),
        ("range", json!(-1.0)),
        ("stretch", json!([1.0, 1.0])),
        ("q_mean", json!([1.0])),
        ("q_events/0", json!("x")),
        ("q_covariance", json!([])),
    ];
    for (place, value) in numbers {
        let mut model = whole.clone();
        *model.pointer_mut(&format!("/posterior/components/0/basis/lattice/{place}")).unwrap() = value;
        folder.write("bad.json", sealed(&model));
        folder.run("predict bad.json").refused(&["bad.json", "damaged"]);
    }
    let bytes = folder.read("model.json");
    folder.write("cut.json", &bytes[..bytes.len() / 2]);
    folder.run("predict cut.json").refused(&["cut.json", "cut short"]);
}
