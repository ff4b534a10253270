//! What `fit` and `check` say of an answer, and sentences that must not mislead.

use crate::common::Folder;

#[test]
fn fit_says_how_good_it_is() {
    let folder = Folder::new();
    let run = folder.run("fit coal").good();
    assert!(run.out.contains("  fit          no misfit seen, p = 0."), "{}", run.out);
    assert!(run.out.contains("  posterior    q is close to it, Pareto k "), "{}", run.out);
    let json = folder.run("fit coal --json").good().json();
    assert!(json["goodness"]["p"].as_f64().unwrap() > 0.05 && json["coverage"]["gap"].is_number(), "{json}");
    // Half of the events in a hundredth of the window, under a length-scale that cannot follow.
    let spread = (0..200).map(|i| format!("{}\n", 0.5 * f64::from(i)));
    let peak = (0..200).map(|i| format!("{}\n", 50.0 + 0.005 * f64::from(i)));
    folder.write("peak.csv", "t\n".to_string() + &spread.chain(peak).collect::<String>());
    let run = folder
        .run("fit peak.csv --window 0,100 --link square --smoothness 2 --average off --fix lengthscale=40")
        .good();
    assert!(run.out.contains("  fit          poor, p = 0.00"), "{}", run.out);
    assert!(run.out.contains("try --smoothness 1, --link log"), "{}", run.out);
    assert!(run.err.contains("do not look like events of this rate") && run.err.contains("t from "), "{}", run.err);
    // With dates the place is a date.
    let dated = |minute: f64| format!("2024-05-01T{:02}:{:02}:00Z\n", 8 + (minute as u64) / 60, (minute as u64) % 60);
    let (spread, peak) =
        ((0..200).map(|i| dated(2.0 * f64::from(i))), (0..200).map(|i| dated(200.0 + 0.05 * f64::from(i))));
    folder.write("dates.csv", "when\n".to_string() + &spread.chain(peak).collect::<String>());
    let run = folder
        .run("fit dates.csv --window 2024-05-01,2024-05-02 --link square --smoothness 2 --average off --fix lengthscale=0.4")
        .good();
    assert!(run.err.contains("when from 2024-05-01T1"), "{}", run.err);
}

#[test]
fn bursts_are_not_passed_over() {
    let folder = Folder::new();
    // Every event of a flat rate brings about three others.
    let at = |i: u32| 100.0 * (f64::from(i) * 0.618_033_988_75).fract();
    let burst = |i: u32| (0..4).map(move |k| format!("{:.4}\n", (at(i) + 0.07 * f64::from(k)).min(100.0)));
    folder.write("bursts.csv", "t\n".to_string() + &(0..60).flat_map(burst).collect::<String>());
    let err = folder.run("fit bursts.csv --window 0,100").good().err;
    assert!(err.contains("if events bring about others"), "{err}");
    folder.write("flat.csv", "t\n".to_string() + &(0..240).map(|i| format!("{:.4}\n", at(i))).collect::<String>());
    for quiet in ["flat.csv --window 0,100", "coal"] {
        let err = folder.run(&format!("fit {quiet}")).good().err;
        assert!(!err.contains("bring about"), "{err}");
    }
}

#[test]
fn check_looks_at_the_heaviest_components_of_an_average() {
    let folder = Folder::new();
    folder.run("fit coal --average -q -o m.json").good();
    let text = folder.run("check m.json coal --draws 400").good().out;
    assert!(text.contains("the heaviest 8 components, ") && text.contains("90 % band holds"), "{text}");
    let checked = folder.run("check m.json coal --draws 400 --json").good().json();
    let inside = checked["inside"]["mean"].as_f64().unwrap();
    assert!((0.85..0.95).contains(&inside) && checked["goodness"]["p"].is_number(), "{checked}");
    assert_eq!(checked["components"], 8);
}

#[test]
fn warnings_do_not_contradict_each_other() {
    let folder = Folder::new();
    let even: String = (0..100).map(|i| format!("{}\n", f64::from(i) + 0.5)).collect();
    folder.write("even.csv", format!("t\n{even}"));
    for options in ["", "--basis inducing", "--basis lattice"] {
        let err = folder.run(&format!("fit even.csv --window 0,100 {options}")).good().err;
        assert!(!(err.contains("no variation") && err.contains("single events")), "{err}");
    }
    folder.write("one.csv", "t\n".to_string() + &"5\n".repeat(10_000));
    let err = folder.run("fit one.csv --window 0,10 --nodes 30").err;
    assert!(err.contains("all 10000 events are at the same place: how wide their peak is"), "{err}");
    folder.run("fit coal --fix mean=nan").refused(&["mean must be a finite number"]);
    folder.write("odd.csv", "t\n".to_string() + &(0..59).map(|i| format!("{}\n", (i * 37) % 59)).collect::<String>());
    let text = folder.run("compare odd.csv --window 0,60 --splits 3").good().out;
    let first = text.lines().next().unwrap();
    assert!(first.split(' ').all(|word| word.len() < 9), "{first}");
}

#[test]
fn what_an_average_leaves_out_is_said() {
    let folder = Folder::new();
    let (text, json) = (folder.run("fit coal").good().out, folder.run("fit coal --json").good().json());
    assert!(text.contains("left out     constant rate, below 0.5 %; components below 1 % of the heaviest"), "{text}");
    let weights: Vec<f64> =
        json["components"].as_array().unwrap().iter().map(|one| one["weight"].as_f64().unwrap()).collect();
    let (least, most) = weights.iter().fold((1.0f64, 0.0f64), |(low, high), w| (low.min(*w), high.max(*w)));
    // As light as that, and not lighter.
    assert!(weights.len() > 20 && (0.01..0.05).contains(&(least / most)), "{least} {most}");
    let alone = folder.run("fit coal --average off").good().out;
    assert!(!alone.contains("left out"), "{alone}");
}

/// With many events on few nodes hyper-parameters are known well enough, and the summary says that no average over them was made.
#[test]
fn an_average_that_makes_no_difference_is_not_made_and_that_is_said() {
    let folder = Folder::new();
    let sentence = "hyper-parameters stay at their best, others would move no band by 1 % of its width";
    for (rate, is_alone) in [("900*(1 + 0.9*sin(3*x))", true), ("9*(1 + 0.9*sin(3*x))", false)] {
        let drawn = format!("simulate --intensity '{rate}' --columns x --window 0,10 --seed 1 -o wave.csv");
        folder.run(&drawn).good();
        let fit = "fit wave.csv --window 0,10 --link log --smoothness 2 --nodes 12 --vary off";
        let (text, json) = (folder.run(fit).good().out, folder.run(&format!("{fit} --json")).good().json());
        assert_eq!(text.contains(sentence), is_alone, "{text}");
        assert_eq!(json["alone"] == "no_difference", is_alone);
        assert_eq!(json["components"].as_array().unwrap().len() == 1, is_alone);
    }
}
