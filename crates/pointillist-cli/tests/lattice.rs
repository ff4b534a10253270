//! The lattice on the command line: what it is asked for, what it says, every verb on its models, and wrong input.

mod common;

use common::{Folder, sealed};
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
fn without_options_the_bound_chooses_and_says_so() {
    let folder = Folder::new();
    let fit = folder.run("fit aftershocks --json").good().json();
    let elbos: Vec<f64> = fit["tried"].as_array().unwrap().iter().map(|t| t["elbo"].as_f64().unwrap()).collect();
    assert_eq!(elbos.len(), 3);
    assert_eq!(fit["elbo"].as_f64().unwrap(), elbos.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let text = folder.run("fit aftershocks").good().out;
    assert!(text.contains("tried") && text.contains("se on inducing points"), "{text}");
    let paper = folder.run("fit aftershocks --inducing auto --json").good().json();
    assert_eq!((paper["basis"].as_str(), paper["tried"].as_array().unwrap().len()), (Some("inducing"), 1));
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
    folder.run("fit p.csv --smoothness auto --mean paper").refused(&["--smoothness", "--mean paper", "leave one"]);
    folder.run("fit p.csv --basis inducing --mean integrated").refused(&["--mean integrated", "--basis lattice"]);
    folder.run("fit p.csv --inducing 9x9 --mean integrated").refused(&["--mean integrated", "--inducing", "leave one"]);
    folder.run("fit p.csv --nodes 9x9 --fix period=1").refused(&["--fix 'period=1'", "`period`", "lengthscale[x]"]);
    folder.run("fit p.csv --nodes 9x9 --prior 'alpha ~ gamma(1,1)'").refused(&["--prior", "`alpha`", "variance, mean"]);
    folder.run("fit p.csv --nodes 9x9 --fix lengthscale=-1").refused(&["--fix", "positive"]);
    folder.run("fit p.csv --max-memory lots").refused(&["--max-memory", "8GB"]);
    folder.run("fit q.csv --columns a,b,c,d --basis lattice").refused(&["axes", "inducing"]);
}

#[test]
fn a_lattice_takes_fixed_values_and_priors() {
    let folder = Folder::new();
    let fit =
        |options: &str| folder.run(&format!("fit coal --basis lattice --smoothness 2 {options} --json")).good().json();
    let lengthscale = |fit: &serde_json::Value| fit["hyperparameters"]["lengthscale"][0].as_f64().unwrap();
    let free = fit("");
    assert_eq!(free["log_prior"], 0.0);
    let held = fit("--fix lengthscale=20 --fix mean=1.25");
    assert!((lengthscale(&held) - 20.0).abs() < 1e-9, "{}", held["hyperparameters"]);
    assert!((held["hyperparameters"]["mean"].as_f64().unwrap() - 1.25).abs() < 1e-9, "{}", held["hyperparameters"]);
    assert!(held["elbo"].as_f64() < free["elbo"].as_f64());
    // A firm belief in another length moves it most of the way there.
    let moved = fit("--prior 'lengthscale ~ lognormal(4, 0.1)'");
    let (from, to) = (lengthscale(&free), 4f64.exp());
    assert!(lengthscale(&moved) > from + 0.5 * (to - from) && lengthscale(&moved) < 1.1 * to, "{moved}");
    assert!(moved["log_prior"].as_f64().unwrap() != 0.0);
    let text = folder.run("fit coal --nodes 60 --smoothness 2 --prior 'lengthscale ~ lognormal(4, 0.1)'").good().out;
    assert!(text.contains("log prior") && text.contains("lattice"), "{text}");
}

#[test]
fn an_unknown_constant_is_part_of_the_answer() {
    let folder = Folder::new();
    let line = "fit coal --basis lattice --smoothness 2";
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
