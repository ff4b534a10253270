//! No option, file or window makes the process abort, hang or hand out numbers that are none.

use crate::common::Folder;

/// Nine events on a window of ten.
fn nine() -> Folder {
    let folder = Folder::new();
    folder.write("nine.csv", "x\n1\n2\n3\n4\n5.5\n6\n7\n8\n9\n");
    folder
}

#[test]
fn sizes_that_no_memory_has_are_refused() {
    let folder = nine().with_model();
    let most = u64::MAX.to_string();
    for (command, words) in [
        ("fit nine.csv --window 0,10 --fix lengthscale=1e-5", vec!["lengthscale", "too short"]),
        ("fit nine.csv --window 0,10 --fix lengthscale=2e-3", vec!["length-scale that is held", "nodes"]),
        ("fit nine.csv --window 0,10 --fix lengthscale=2e-3 --basis inducing", vec!["inducing", "5001", "longer"]),
        ("fit nine.csv --window 0,10 --fix lengthscale=1e-300", vec!["lengthscale", "too short"]),
        ("fit nine.csv --window 0,10 --kernel 'cosine(x, period=1e-9!)'", vec!["period", "too short"]),
        (
            "fit nine.csv --window 0,10 --kernel 'rational_quadratic(x, lengthscale=1e-5!)' --inducing 5",
            vec!["too short"],
        ),
        ("fit nine.csv --window 0,10 --inducing MOST", vec!["--inducing", "5000"]),
        ("fit nine.csv --window 0,10 --nodes MOST", vec!["--nodes", "memory"]),
        ("fit nine.csv --window 0,10 --jitter 1e308", vec!["--jitter"]),
        ("fit nine.csv --window 0,10 --tolerance nan", vec!["tolerance"]),
        ("fit nine.csv --window 0,10 --fix mean=1e308", vec!["mean", "finite"]),
        ("score model.json coal --draws 4294967296", vec!["--draws", "10000000"]),
        ("score model.json coal --draws MOST", vec!["--draws", "10000000"]),
        ("count model.json --draws MOST", vec!["--draws", "10000000"]),
        ("check model.json coal --draws 1000000000", vec!["--draws", "10000000"]),
        ("check model.json coal --draws 10000000", vec!["draws", "at most"]),
        ("check model.json coal --draws MOST", vec!["--draws"]),
        ("compare coal --splits 1000000000", vec!["--splits", "100000"]),
        ("compare coal --draws 4294967296", vec!["--draws"]),
        ("sample model.json --draws MOST", vec!["--draws"]),
        ("sample model.json --draws MOST --events", vec!["--draws"]),
        ("predict model.json --grid MOST", vec!["--grid"]),
        ("simulate --intensity 1 --window 1e300,1e308", vec!["--window", "other units"]),
        ("simulate --intensity 0 --window 0,1 --draws MOST", vec!["draws"]),
        ("simulate --sgcp 'ceiling=1e300, lengthscale=1' --window 0,1", vec!["points = 1e300"]),
        ("simulate --sgcp 'ceiling=1e-300, lengthscale=1' --window 0,1 --draws 10000000", vec!["points"]),
        ("simulate --sgcp 'ceiling=1, lengthscale=1' --window 0,1 --draws MOST", vec!["draws"]),
        ("summarize nine.csv --window 0,10 -o s --cells MOST", vec!["cells"]),
        ("sgcp nine.csv --window 0,10 --warm-up MOST", vec!["warm_up"]),
        ("sgcp nine.csv --window 0,10 --max-sweeps MOST", vec!["most_sweeps"]),
        ("sgcp nine.csv --window 0,10 --effective nan", vec!["effective"]),
        ("smooth nine.csv --window 0,10 --bandwidth 1e-300", vec!["bandwidth"]),
    ] {
        folder.run(&command.replace("MOST", &most)).refused(&words);
    }
}

#[test]
fn bumps_that_are_none_are_refused() {
    let run = nine().run("fit nine.csv --window 0,10 --kernel 'periodic(x, lengthscale=1e-300!)' --inducing 5");
    assert!(run.code == 2 && run.err.contains("at least 0.001"), "{}", run.err);
}

#[test]
fn short_lengths_inside_a_border_are_refused() {
    let folder = Folder::new();
    folder.run("fit kenya --window kenya --clip --fix lengthscale=1e-5 --inducing 5x5").refused(&["too short"]);
}

#[test]
fn windows_beyond_all_sizes_are_refused() {
    let folder = Folder::new();
    folder.write("tiny.csv", "x\n1e-201\n2e-201\n4e-201\n").write("huge.csv", "x\n1e199\n2e199\n7e199\n");
    for set in ["tiny.csv", "huge.csv"] {
        for verb in ["fit", "smooth", "plot", "compare", "sgcp"] {
            folder.run(&format!("{verb} {set}")).refused(&["window", "other units"]);
        }
    }
    let border = r#"{"type":"Polygon","coordinates":[[[0,0],[1e-90,0],[1e-90,1e-90],[0,1e-90],[0,0]]]}"#;
    folder.write("border.geojson", border);
    folder.run("simulate --intensity 1 --window border.geojson").refused(&["window", "other units"]);
    folder.run("simulate --intensity 1 --window 0,1e60,0,1e60").refused(&["window", "other units"]);
}

#[test]
fn numbers_that_are_none_do_not_leave() {
    let folder = nine();
    // A model whose mean is beyond what its square can be.
    folder.run("fit nine.csv --window 0,10 --inducing 5 --fix mean=3 -o model.json").good();
    let mut model: serde_json::Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    assert!(set_all(&mut model, "mean", 1e200) > 0);
    folder.write("large.json", model.to_string());
    for verb in ["predict large.json", "predict large.json --json", "count large.json", "count large.json --json"] {
        folder.run(verb).refused(&[]);
    }
    folder.run("score large.json nine.csv").refused(&[]);
    folder.run("plot large.json -o x.svg").refused(&[]);
    assert!(!folder.names().contains(&"x.svg".to_string()));
    // A bandwidth at which an event has no chance without itself.
    let run = folder.run("smooth nine.csv --window 0,10 --bandwidth 0.001 --json").good();
    assert!(run.json()["loo"].is_null() && run.err.contains("narrow"), "{}", run.err);
}

/// Gives every number called `name` this value; how many there were.
fn set_all(value: &mut serde_json::Value, name: &str, number: f64) -> usize {
    match value {
        serde_json::Value::Object(members) => {
            let inside: usize = members.values_mut().map(|value| set_all(value, name, number)).sum();
            match members.get_mut(name) {
                Some(found) if found.is_number() => {
                    *found = number.into();
                    inside + 1
                }
                _ => inside,
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().map(|item| set_all(item, name, number)).sum(),
        _ => 0,
    }
}

#[test]
fn missing_scores_are_empty_and_none_is_infinite() {
    let folder = Folder::new();
    folder.run("compare coal --methods homogeneous,ks-ec --csv scores.csv").good();
    let table = String::from_utf8(folder.read("scores.csv")).unwrap();
    let row = table.lines().find(|line| line.contains("ks-ec")).unwrap();
    assert!(row.contains(",,") && !table.contains("NaN") && !table.contains("inf"), "{table}");
}

/// A thousand periods in a window took minutes; the day in three years is one of them.
#[test]
fn many_periods_in_a_window_are_fitted() {
    let folder = Folder::new();
    // By the inverse of the cumulative rate of 1 + 0.8 sin(2πx), a thousand periods long; golden-ratio steps are as even as can be.
    // Twenty points a period are enough, and to look for their number takes minutes.
    let places: Vec<f64> =
        (1..=500).map(|i| f64::from(i) * 0.618_033_988_749_894_9 % 1.0 * 1000.0).map(warped).collect();
    let rows: Vec<String> = places.iter().map(|x| (0.01 * x).to_string()).collect();
    folder.write("waves.csv", format!("x\n{}\n", rows.join("\n")));
    let run = folder
        .run(
            "fit waves.csv --window 0,10 --kernel 'periodic(x, period=0.01!)*se(x)' --inducing 20 --json -o waves.json",
        )
        .good();
    let fit = run.json();
    assert_eq!(fit["converged"], true);
    let flat = folder.run("fit waves.csv --window 0,10 --kernel se --json").good().json();
    let gain = fit["elbo"].as_f64().unwrap() - flat["elbo"].as_f64().unwrap();
    // Σ log(1 + 0.8 sin) over the events is 0.2 each on the mean
    assert!(gain > 60.0, "{gain}");
    assert!((fit["elbo_parts"]["integral"].as_f64().unwrap() - 500.0).abs() < 1.0);
    folder.write("at.csv", "x\n5.0025\n5.0075\n");
    let (_, rows) = folder.run("predict waves.json --at at.csv").good().csv();
    let rate = |row: &[String]| row[1].parse::<f64>().unwrap();
    assert!(rate(&rows[0]) > 75.0 && rate(&rows[1]) < 25.0, "{rows:?}");
}

/// The place up to which ∫ 1 + 0.8 sin(2πx) is `y`.
fn warped(y: f64) -> f64 {
    let turn = std::f64::consts::TAU;
    let (mut lo, mut hi) = (y - 1.0, y + 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (lo + hi);
        if middle + 0.8 * (1.0 - (turn * middle).cos()) / turn < y { lo = middle } else { hi = middle }
    }
    0.5 * (lo + hi)
}

#[test]
fn length_scales_at_the_edge_of_the_search_are_said() {
    let folder = Folder::new();
    // Structured along x, even along y.
    let spread = |i: u32| (f64::from(i) * 0.618_033_988_749_894_9 % 1.0, f64::from(i) * 0.754_877_666_246_692_8 % 1.0);
    let rows: Vec<String> = (0..600).map(spread).map(|(a, b)| format!("{},{b}", a * a * a)).collect();
    folder.write("even.csv", format!("x,y\n{}\n", rows.join("\n")));
    for basis in ["lattice --link square --mean constant --average off", "inducing"] {
        let run = folder.run(&format!("fit even.csv --window 0,1,0,1 --basis {basis} --prior none --json")).good();
        let fit = run.json();
        let bound = &fit["at_bounds"][0];
        assert_eq!(
            (&bound["name"], &bound["end"]),
            (&"lengthscale[y]".into(), &"highest".into()),
            "{basis}: {}",
            run.err
        );
        let said = fit["warnings"].as_array().unwrap().iter().any(|w| {
            let sentence = w.as_str().unwrap();
            sentence.contains("along y") && sentence.contains("no structure")
        });
        assert!(said, "{basis}: {}", run.err);
        assert!(!run.err.contains("would help"), "{basis}: {}", run.err);
    }
    let text =
        folder.run("fit even.csv --window 0,1,0,1 --link square --mean constant --prior none --average off").good();
    assert!(text.out.contains("converged at the end of the range of lengthscale[y]"), "{}", text.out);
    assert!(text.err.contains("warning: the length-scale along y"), "{}", text.err);
}

#[test]
fn more_nodes_are_not_advised_where_events_have_no_structure() {
    let folder = Folder::new();
    // Forty rounded places with ten events each: the shorter the length-scale the better.
    let place = |i: u32| (f64::from(i) * 61.803_398_874_989).round() % 100.0 / 100.0;
    let rows: Vec<String> = (1..=400).map(|i| place(i % 40).to_string()).collect();
    folder.write("ties.csv", format!("x\n{}\n", rows.join("\n")));
    let run =
        folder.run("fit ties.csv --window 0,1 --basis lattice --link square --prior none --average off --json").good();
    let bound = &run.json()["at_bounds"][0];
    assert_eq!((&bound["name"], &bound["end"]), (&"lengthscale[x]".into(), &"lowest".into()), "{}", run.err);
    assert!(run.err.contains("no structure longer than that") && !run.err.contains("would help"), "{}", run.err);
    let run = folder.run("fit ties.csv --window 0,1 --basis inducing").good();
    assert!(run.err.contains("events show no structure") && !run.err.contains("would help"), "{}", run.err);
}

/// Where the system gives less memory than a fit needs: a sentence and the code of a refusal, and never a signal. Less than the program itself takes is not its to
/// answer.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_not_given_is_a_refusal() {
    let folder = Folder::new();
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_pointillist")).unwrap().len() / 1024;
    let fit =
        "fit kenya --nodes 120x120 --average off --link log --smoothness 2 --threads 1 --max-memory 4GB -o m.json";
    let mut refused = 0;
    for more in [15_000, 25_000, 35_000, 45_000] {
        let run = folder.run_within(program + more, fit);
        assert!(run.code == 0 || run.code == 2, "{more}: {} {}", run.code, run.err);
        if run.code == 2 {
            assert!(run.err.contains("error: the system gives no more"), "{more}: {}", run.err);
            refused += 1;
        }
    }
    assert!(refused > 0);
    // What is known beforehand is said beforehand, with what would fit.
    let run =
        folder.run_within(400_000, "fit kenya --nodes 900x900 -o m.json").refused(&["--nodes", "memory", "would fit"]);
    assert!(!run.err.contains("the system"), "{}", run.err);
    folder.run_within(400_000, "fit coal -o m.json").good();
}
