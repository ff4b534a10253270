//! Held-out events as a real process: they were looked for as often as they themselves say, whatever was fitted.

use crate::common::Folder;
use serde_json::Value;

const DRAWS: &str = "--draws 500";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The bundled spikes: trials 1 to 15 in `train.csv`, 16 to 20 in `held.csv`, and these without their trials in `bare.csv`.
fn spikes() -> Folder {
    let folder = Folder::new();
    let text = folder.run("data spikes").good().out;
    let of = |trials: std::ops::RangeInclusive<u32>| -> Vec<&str> {
        let is_one = |line: &&str| trials.contains(&line.split(',').next().unwrap().parse().unwrap());
        text.lines().skip(1).filter(is_one).collect()
    };
    folder.write("train.csv", format!("trial,t\n{}\n", of(1..=15).join("\n")));
    folder.write("held.csv", format!("trial,t\n{}\n", of(16..=20).join("\n")));
    let bare: Vec<&str> = of(16..=20).iter().map(|line| line.split(',').nth(1).unwrap()).collect();
    folder.write("bare.csv", format!("t\n{}\n", bare.join("\n")));
    for trial in 16..=20 {
        folder.write(&format!("one{trial}.csv"), format!("trial,t\n{}\n", of(trial..=trial).join("\n")));
    }
    folder.run("fit train.csv --window 0,2 --repeats 15 --inducing 14 -o m15.json").good();
    folder
}

/// The model with the same numbers over a window looked at so often.
fn with_repeats(folder: &Folder, repeats: f64) {
    let model = String::from_utf8(folder.read("m15.json")).unwrap();
    assert!(model.contains("\"repeats\":15.0"));
    let changed = model.replace("\"repeats\":15.0", &format!("\"repeats\":{repeats:?}"));
    folder.write("other.json", pointillist_cli::hostile::resealed(changed.as_bytes()));
}

#[test]
fn five_trials_are_scored_as_five() {
    let folder = spikes();
    let score = |options: &str| folder.run(&format!("score m15.json {options} --json {DRAWS}")).good().json();
    let (by_column, said) = (score("held.csv"), score("bare.csv --repeats 5"));
    assert_eq!((&by_column["trials"], &by_column), (&5.into(), &said));
    assert!(folder.run("score m15.json held.csv --draws 10").good().out.starts_with("116 held-out events of 5 trials"));
    // A look more costs what the model expects of a look.
    let (five, six) = (number(&said["l_p"]), number(&score("bare.csv --repeats 6")["l_p"]));
    let expected = number(&folder.run("count m15.json --json --draws 4000").good().json()["mean"]);
    assert!((five - six - expected).abs() < 1e-8 * expected, "{five} {six} {expected}");
    // E[log p] of all trials is the sum of those of each.
    let each: f64 = (16..=20).map(|trial| number(&score(&format!("one{trial}.csv"))["l_p"])).sum();
    assert!((each - five).abs() < 1e-8 * five.abs(), "{each} {five}");
}

#[test]
fn the_score_is_that_of_the_same_model_over_five_looks() {
    let folder = spikes();
    let ours = folder.run(&format!("score m15.json held.csv --json {DRAWS}")).good().json();
    with_repeats(&folder, 5.0);
    let theirs = folder.run(&format!("score other.json held.csv --json --repeats 5 {DRAWS}")).good().json();
    assert_eq!(ours, theirs);
    assert!(number(&ours["m_p"]) > 150.0, "{ours}");
}

#[test]
fn what_cannot_be_told_is_refused() {
    let folder = spikes();
    let refused = |line: &str, words: &[&str]| folder.run(line).refused(words);
    refused("score m15.json bare.csv", &["15 trials", "bare.csv", "--repeats", "--trial-column"]);
    refused("score m15.json held.csv --repeats 3", &["5 trials", "3 of --repeats"]);
    refused("score m15.json held.csv --repeats 0", &["--repeats 0"]);
    refused("score m15.json held.csv --trial-column run", &["held.csv", "`run`"]);
    refused(
        "compare train.csv bare.csv --window 0,2 --repeats 15 --methods homogeneous",
        &["15 trials", "--heldout-repeats"],
    );
    refused("smooth train.csv --heldout bare.csv --window 0,2 --repeats 15", &["bare.csv", "--heldout-repeats"]);
    refused("sgcp train.csv --heldout bare.csv --window 0,2 --repeats 15", &["bare.csv", "--heldout-repeats"]);
    // One look fitted, five held out: the rate may be that of one trial, or of all together.
    folder.run("fit one16.csv --window 0,2 --inducing 8 -o one.json").good();
    refused("score one.json held.csv", &["5 trials", "--repeats 5", "--repeats 1"]);
    folder.run(&format!("score one.json held.csv --repeats 1 {DRAWS}")).good();
    folder.run(&format!("score one.json one17.csv {DRAWS}")).good();
    refused("compare coal --heldout-repeats 5", &["no table of held-out events", "--heldout-repeats has no effect"]);
}

#[test]
fn rivals_score_as_many_trials() {
    let folder = spikes();
    let compare = |held: &str| {
        let line = format!("compare train.csv {held} --window 0,2 --repeats 15 --inducing 14 --json {DRAWS}");
        folder.run(&line).good().json()["methods"].clone()
    };
    let (by_column, said) = (compare("held.csv"), compare("bare.csv --heldout-repeats 5"));
    let score = |methods: &Value, i: usize| number(&methods[i]["log_likelihood"]);
    for i in 0..4 {
        assert_eq!(score(&by_column, i), score(&said, i));
    }
    // One rate everywhere: 399 events and Jeffreys' half in 15 looks of 2, then 116 events in 5 looks.
    let rate = 399.5 / 30.0f64;
    assert!((score(&said, 3) - (116.0 * rate.ln() - 10.0 * rate)).abs() < 1e-9, "{said}");
    // Each of the others is better, but not by more than a structure in time can be.
    for i in 0..3 {
        assert!((0.0..60.0).contains(&(score(&said, i) - score(&said, 3))), "{said}");
    }
    let smooth = "smooth train.csv --window 0,2 --repeats 15 --json --heldout";
    let smoothed = folder.run(&format!("{smooth} held.csv")).good().json();
    assert!((number(&smoothed["log_likelihood"]) - score(&said, 1)).abs() < 1e-9, "{smoothed} {said}");
    let all = folder.run(&format!("{smooth} spikes")).good().json();
    let bundled = folder.run(&format!("{smooth} spikes --heldout-repeats 40")).good().json();
    assert_eq!(all, bundled, "a bundled set knows its own number");
}

#[test]
fn held_out_trials_have_their_own_times() {
    let folder = Folder::new();
    folder.write("trials.csv", "trial,start,end\na,0,4\nb,0,2\nc,1,4\n");
    folder.write("spikes.csv", "trial,t\na,0.5\na,1\na,2.5\na,3.5\nb,0.25\nb,1.5\nc,1.75\nc,2.25\nc,3.75\n");
    folder.write("later.csv", "trial,t\nd,0.75\nd,1.5\ne,3\n").write("times.csv", "trial,start,end\nd,0,2\ne,2,4\n");
    folder.write("wide.csv", "trial,start,end\nd,0,2\ne,2,5\n");
    folder.run("fit spikes.csv --trials trials.csv --inducing 6 -o m.json").good();
    let l_p = |options: &str| {
        number(&folder.run(&format!("score m.json later.csv {options} --json {DRAWS}")).good().json()["l_p"])
    };
    // Both trials together cover the window once.
    let once = l_p("--repeats 1");
    assert!((l_p("--trials times.csv") - once).abs() < 1e-9);
    let expected = number(&folder.run("count m.json --json --draws 4000").good().json()["mean"]);
    assert!((once - l_p("--repeats 2") - expected).abs() < 1e-8 * expected);
    assert!((l_p("--trials wide.csv --clip") - once).abs() < 1e-9);
    let refused =
        |options: &str, words: &[&str]| folder.run(&format!("score m.json later.csv {options}")).refused(words);
    refused("", &["differ in their times", "--trials", "--repeats"]);
    refused("--trials wide.csv", &["wide.csv", "beyond the window", "--clip"]);
    refused("--trials trials.csv", &["`d`", "trials.csv"]);
    folder.write("far.csv", "trial,start,end\nd,7,8\ne,8,9\n");
    refused("--trials far.csv", &["far.csv", "no trial"]);
    let compare = "compare spikes.csv later.csv --trials trials.csv --inducing 6 --methods vbpp,homogeneous --json";
    folder.run(compare).refused(&["--heldout-trials"]);
    let methods = folder.run(&format!("{compare} --heldout-trials times.csv {DRAWS}")).good().json()["methods"].clone();
    assert!((number(&methods[0]["l_p"]) - once).abs() < 1e-6, "{methods} {once}");
    // 9 events and a half in 9 units, then 3 events in 4 units.
    let rate = 9.5 / 9.0f64;
    assert!((number(&methods[1]["log_likelihood"]) - (3.0 * rate.ln() - 4.0 * rate)).abs() < 1e-12);
}

#[test]
fn an_exposure_counts_for_every_method() {
    let folder = Folder::new();
    let events: String = (0..40).map(|i| format!("{}\n", (f64::from(i) + 0.5) / 4.0)).collect();
    folder.write("train.csv", format!("t\n{events}")).write("held.csv", "t\n2\n5\n9\n");
    folder.write("effort.csv", "t,effort\n0,2\n10,6\n");
    let line = "compare train.csv held.csv --window 0,10 --exposure effort.csv --methods homogeneous,vbpp --json";
    let methods = folder.run(&format!("{line} --inducing 1 {DRAWS}")).good().json()["methods"].clone();
    // The exposure is 2 + 0.4 t, its integral 40.
    let rate = 40.5 / 40.0f64;
    let want: f64 = [2.0, 5.0, 9.0].iter().map(|t| ((2.0 + 0.4 * t) * rate).ln()).sum::<f64>() - 40.0 * rate;
    assert!((number(&methods[0]["log_likelihood"]) - want).abs() < 1e-9, "{methods} {want}");
    let apart = number(&methods[1]["log_likelihood"]) - want;
    assert!(apart.abs() < 3.0, "the same events, seen alike: {methods}");
}
