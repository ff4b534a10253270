//! Kernels as a real process: expressions in, parameters out, mistakes shown where they stand.

use crate::common::{Folder, Run};

/// It must have refused, with a sentence and a caret under `at` in `expression`.
#[track_caller]
fn points_at(run: Run, words: &[&str], expression: &str, at: &str) {
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    let lines: Vec<&str> = run.err.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("error: --kernel: "), "{}", run.err);
    assert!(words.iter().all(|word| lines[0].contains(word)), "{words:?}: {}", run.err);
    assert_eq!(lines[1], format!("  {expression}"));
    assert_eq!(lines[2].find('^'), lines[1].find(at), "{}", run.err);
}

#[test]
fn mistakes_are_shown_where_they_stand() {
    let folder = Folder::new();
    for (expression, words, at) in [
        ("se(time)", &["`time`", "year"][..], "time"),
        ("se(year) + sse(year)", &["sse", "se"], "sse"),
        ("periodic(year, period=0)", &["period", "0"], "0)"),
        ("polynomial(degree=40)", &["degree", "40"], "40"),
        ("se(year", &["("], "(year"),
        ("se(year, width=3)", &["width"], "width"),
    ] {
        points_at(folder.run(&format!("fit coal --kernel '{expression}'")), words, expression, at);
    }
    folder.run("fit coal --fix period=3").refused(&["--fix 'period=3'", "`period`", "lengthscale"]);
    folder.run("fit coal --prior 'width ~ gamma(1, 1)'").refused(&[
        "--prior 'width ~ gamma(1, 1)'",
        "`width`",
        "variance",
    ]);
}

#[test]
fn kernels_are_listed() {
    let folder = Folder::new();
    let list = folder.run("kernels").good().out;
    for name in ["se", "matern12", "matern32", "matern52", "periodic", "--kernel"] {
        assert!(list.contains(name), "{name}");
    }
    let all = folder.run("kernels --json").good().json();
    assert!(all.as_array().unwrap().iter().any(|kernel| kernel["name"] == "periodic"));
    assert!(folder.run("kernels matern32").good().out.starts_with("matern32\n"));
}

#[test]
fn expressions_are_fitted_and_their_parameters_told() {
    let folder = Folder::new();
    let fit = |kernel: &str, more: &str| {
        folder.run(&format!("fit coal --inducing 12 --json --kernel '{kernel}' {more}")).good().json()
    };
    let plain = folder.run("fit coal --inducing 12 --json").good().json();
    assert_eq!(fit("se", "")["elbo"], plain["elbo"]);
    assert_eq!(fit("se(year)", "")["elbo"], plain["elbo"]);
    let matern = fit("matern32(year)", "-o m.json");
    assert_eq!(matern["kernel"], "matern32");
    assert_eq!(matern["hyperparameters"]["lengthscale"].as_array().unwrap().len(), 1);
    folder.run("predict m.json --grid 3").good();
    let held = fit("se(year, lengthscale=20!, variance=1)", "");
    assert!((held["hyperparameters"]["lengthscale"][0].as_f64().unwrap() - 20.0).abs() < 1e-9);
    let named = fit("se(year)", "--fix 'lengthscale[year]=20'");
    let difference = held["elbo"].as_f64().unwrap() - named["elbo"].as_f64().unwrap();
    assert!(difference.abs() < 1e-4, "{difference}");
    let sum = fit("se(year) + matern12(year)", "--fix se.lengthscale=30");
    assert_eq!(sum["kernel"], "se(year) + matern12(year)");
    let names: Vec<&str> = sum["parameters"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["variance[0]", "se.lengthscale[year]", "variance[1]", "matern12.lengthscale[year]", "mean"]);
    assert_eq!(sum["hyperparameters"]["variance"].as_array().unwrap().len(), 2);
    assert_eq!(sum["parameters"][1]["unit"], "years");
    let text = folder.run("fit coal --inducing 12 --kernel 'se(year) + matern12(year)'").good().out;
    assert!(text.contains("se(year) + matern12(year)") && text.contains("matern12.lengthscale"), "{text}");
}

#[test]
fn a_period_is_held_or_told() {
    let folder = Folder::new();
    let fit =
        folder.run("fit tweets --inducing 60 --json --kernel 'se(t_days)*periodic(t_days, period=1!)'").good().json();
    assert_eq!(fit["hyperparameters"]["period"][0], 1.0);
    assert_eq!(fit["kernel"], "se(t_days)*periodic(t_days)");
}

#[test]
fn cycles_write_the_kernel() {
    let folder = Folder::new();
    let run = folder.run("fit tweets --cycle day --inducing 40 --average off --json").good().json();
    assert_eq!(run["kernel"], "se(t_days) + se(t_days)*periodic(t_days)");
    let is_period = |one: &&serde_json::Value| one["name"].as_str().unwrap().contains("period") && one["value"] == 1.0;
    assert!(run["parameters"].as_array().unwrap().iter().any(|one| is_period(&one)), "{run}");
    folder.run("fit tweets --cycle dai").refused(&["dai", "hour, day, week or year"]);
    folder.run("fit coal --cycle day").refused(&["--cycle day", "at most 100"]);
    folder.run("fit kenya --cycle day").refused(&["no axis is known to be time"]);
    assert_eq!(folder.run("fit tweets --cycle day --kernel se").code, 2);
    folder.run("fit tweets --cycle day --nodes 40").refused(&["--cycle"]);
}
