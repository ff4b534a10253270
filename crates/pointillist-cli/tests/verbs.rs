//! Every verb as a real process: what comes out, where, and with which exit code.

use crate::common;
use crate::common::Folder;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// A few events between 0 and 10.
const EVENTS: &str = "t\n0.5\n1.5\n2.25\n2.5\n2.75\n3\n5.5\n9\n";

#[test]
fn fit_prints_a_summary_and_writes_nothing_unless_told() {
    let folder = Folder::new();
    let run = folder.run("fit coal").good();
    assert!(
        run.out.contains("bound")
            && run.out.contains("range ")
            && run.out.contains("events per year")
            && run.out.contains("converged"),
        "{}",
        run.out
    );
    assert!(run.err.contains("-o"), "{}", run.err);
    assert!(!run.out.contains('\x1b') && !run.err.contains('\x1b'));
    assert!(folder.names().is_empty());
    let run = folder.run("fit coal -q -o model.json").good();
    assert!(run.out.is_empty() && run.err.is_empty(), "{}{}", run.out, run.err);
    assert_eq!(folder.names(), ["model.json"]);
}

#[test]
fn fit_gives_the_json_of_the_contract() {
    let fit = Folder::new().run("fit coal --json --mean paper --inducing 15").good().json();
    assert!(fit["elbo"].as_f64().unwrap() > -58.2, "{fit}");
    let parts = |name: &str| fit["elbo_parts"][name].as_f64().unwrap();
    let sum = parts("log_rate") - parts("integral") - parts("kl");
    assert!((sum - fit["elbo"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(fit["converged"], true);
    assert_eq!(fit["stop"], "converged");
    assert_eq!((&fit["events"], &fit["inducing"], &fit["kernel"]), (&191.into(), &15.into(), &"se".into()));
    for field in ["iterations", "evaluations", "seconds", "jitter"] {
        assert!(fit[field].is_number(), "{field}");
    }
    let theta = &fit["hyperparameters"];
    assert!(theta["variance"].is_f64() && theta["mean"].is_f64());
    assert_eq!(theta["lengthscale"].as_array().unwrap().len(), 1);
    assert!((fit["window"]["measure"].as_f64().unwrap() - 111.0171).abs() < 1e-3);
    assert!(fit["warnings"].is_array());
}

#[test]
fn fit_obeys_its_options() {
    let folder = Folder::new();
    folder.write("t.csv", EVENTS);
    folder.write("z.csv", "t\n0\n2\n4\n7\n10\n");
    let fit = |options: &str| folder.run(&format!("fit t.csv --window 0,10 --json {options}")).good().json();
    assert_eq!(fit("--fix lengthscale=2.5")["hyperparameters"]["lengthscale"][0], 2.5);
    assert_eq!(fit("--fix 'lengthscale[t]=2.5' --fix mean=0")["hyperparameters"]["mean"], 0.0);
    assert_eq!(fit("--inducing z.csv")["inducing"], 5);
    assert_eq!(fit("--inducing 7 --optimise-inducing")["inducing"], 7);
    let prior = fit("--inducing 7 --prior 'lengthscale ~ lognormal(0, 0.01)'");
    assert!((prior["hyperparameters"]["lengthscale"][0].as_f64().unwrap() - 1.0).abs() < 0.05, "{prior}");
    assert!(prior["log_prior"].as_f64().unwrap() != 0.0);
    let (joint, collapsed) = (fit("--inducing 6 --method joint"), fit("--inducing 6"));
    assert!((joint["elbo"].as_f64().unwrap() - collapsed["elbo"].as_f64().unwrap()).abs() < 1e-3);
    assert_eq!(fit("--jitter 1e-6")["jitter"], 1e-6);
}

#[test]
fn a_fit_that_does_not_converge_exits_1_and_still_writes() {
    let folder = Folder::new();
    let run = folder.run("fit coal -o model.json --json --max-evaluations 3");
    assert_eq!(run.code, 1);
    assert_eq!((&run.json()["converged"], &run.json()["stop"]), (&false.into(), &"max_evaluations".into()));
    assert!(run.err.contains("did not converge"), "{}", run.err);
    folder.run("predict model.json").good();
}

#[test]
fn predict_gives_the_columns_of_the_contract() {
    let folder = Folder::new().with_model();
    let run = folder.run("predict model.json").good();
    let (header, rows) = run.csv();
    assert_eq!(header, ["year", "mean", "sd", "q0.05", "q0.5", "q0.95"]);
    assert_eq!(rows.len(), 200);
    assert_eq!((rows[0][0].as_str(), rows[199][0].as_str()), ("1851.2026009582", "1962.2197125257"));
    for row in &rows {
        let row: Vec<f64> = row.iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(row[3] < row[4] && row[4] < row[5] && row[2] > 0.0, "{row:?}");
    }
    let (header, rows) = folder.run("predict model.json --grid 3 --quantiles 0.9").good().csv();
    assert_eq!((header.len(), header[3].as_str(), rows.len()), (4, "q0.9", 3));
    folder.run("predict model.json --grid 3 -o rate.csv").good();
    assert!(String::from_utf8(folder.read("rate.csv")).unwrap().starts_with("year,mean,sd,q0.05"));
    let columns = folder.run("predict model.json --grid 3 --json").good().json();
    assert_eq!(columns["q0.5"].as_array().unwrap().len(), 3);
}

#[test]
fn predict_at_points_says_how_many_lie_outside() {
    let folder = Folder::new().with_model();
    folder.write("at.csv", "place,year\na,1900\nb,2050\n");
    let run = folder.run("predict model.json --at at.csv").good();
    assert!(run.err.contains("1 of 2 points lie outside"), "{}", run.err);
    assert_eq!(run.csv().1.len(), 2);
    let grid = folder.run("predict model.json --grid 5").good();
    let again = folder.run_with("predict model.json --at -", &grid.out).good();
    assert_eq!(again.out, grid.out, "its own output is a file of points");
    let bare = folder.run_with("predict model.json --at -", "1900\n2050\n").good();
    assert_eq!(bare.out, run.out, "without a header columns go by their place");
}

#[test]
fn answers_from_a_file_are_the_same_to_the_last_bit_on_any_number_of_threads() {
    let folder = Folder::new();
    let events: String =
        (0..600).map(|i| format!("{},{}\n", (i * 37 % 101) as f64 / 10.0, (i * 61 % 103) as f64 / 7.0)).collect();
    folder.write("xy.csv", format!("x,y\n{events}"));
    for (threads, name) in [("1", "a.json"), ("2", "b.json"), ("2", "c.json")] {
        folder.run(&format!("fit xy.csv --inducing 6x6 -q --threads {threads} -o {name}")).good();
    }
    assert_eq!(folder.read("a.json"), folder.read("b.json"));
    assert_eq!(folder.read("b.json"), folder.read("c.json"));
    for verb in
        ["predict a.json", "sample a.json --draws 2 --grid 5x5", "sample a.json --events", "count a.json --json"]
    {
        let (one, two) =
            (folder.run(&format!("{verb} --threads 1")).good(), folder.run(&format!("{verb} --threads 2")).good());
        assert_eq!(one.out, two.out, "{verb}");
    }
}

#[test]
fn score_gives_the_json_of_the_contract() {
    let folder = Folder::new().with_model();
    folder.write("held.csv", "year\n1860.5\n1871\n1875.25\n1930\n");
    let score = folder.run("score model.json held.csv --json --draws 2000").good().json();
    assert_eq!(score["events"], 4);
    let number = |name: &str| score[name].as_f64().unwrap();
    // Jensen: the logarithm of the expectation is the larger one.
    assert!(number("m_p") > number("l_p") - 4.0 * number("m_p_se"));
    assert!(number("m_0").is_finite() && number("l_0").is_finite() && number("m_0_se") >= 0.0);
    let text = folder.run("score model.json held.csv --draws 2000").good().out;
    assert!(text.contains("l_p") && text.contains('±'), "{text}");
    let seeds = ["0", "0", "1"]
        .map(|s| folder.run(&format!("score model.json held.csv --json --draws 100 --seed {s}")).good().out);
    assert!(seeds[0] == seeds[1] && seeds[1] != seeds[2]);
}

#[test]
fn count_gives_the_json_of_the_contract() {
    let folder = Folder::new().with_model();
    let count = folder.run("count model.json --in 1860,1880 --json").good().json();
    let (mean, sd) = (count["mean"].as_f64().unwrap(), count["sd"].as_f64().unwrap());
    assert!(mean > 40.0 && mean < 90.0 && sd > 0.0 && sd < mean);
    assert!(count["quantiles"]["0.05"].as_f64() < count["quantiles"]["0.95"].as_f64());
    assert!(count["new_count"]["sd"].as_f64().unwrap() > sd);
    let whole = folder.run("count model.json --json").good().json();
    assert!((whole["mean"].as_f64().unwrap() - 191.0).abs() < 2.0);
    let several = folder.run("count model.json --in 1860,1880 --in 1900,1910 --json").good().json();
    assert_eq!(several["regions"][0], count);
    let text = folder.run("count model.json --in 1860,1880").good().out;
    assert!(text.contains("expected") && text.contains("new count"), "{text}");
}

#[test]
fn sample_draws_intensities_and_events() {
    let folder = Folder::new().with_model();
    let (header, rows) = folder.run("sample model.json --draws 3 --grid 4").good().csv();
    assert_eq!(header, ["year", "draw1", "draw2", "draw3"]);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().flatten().all(|cell| cell.parse::<f64>().unwrap() > 0.0));
    let run = folder.run("sample model.json --events --draws 2 --seed 7").good();
    let (header, rows) = run.csv();
    assert_eq!(header, ["draw", "year"]);
    assert!(rows.len() > 250 && rows.len() < 550, "{}", rows.len());
    assert!(rows.iter().any(|row| row[0] == "1") && rows.iter().any(|row| row[0] == "2"));
    assert_eq!(run.out, folder.run("sample model.json --events --draws 2 --seed 7").good().out);
    assert_ne!(run.out, folder.run("sample model.json --events --draws 2 --seed 8").good().out);
    folder.write("new.csv", &run.out);
    folder.run("fit new.csv --columns year --inducing 8").good();
}

#[test]
fn plot_draws_models_and_events() {
    let folder = Folder::new().with_model();
    folder.run("plot model.json -o a.svg").good();
    assert!(folder.read("a.svg").starts_with(b"<svg") || folder.read("a.svg").starts_with(b"<?xml"));
    folder.run("plot model.json -o a.png --quantiles 0.1,0.9 --title Coal").good();
    assert!(folder.read("a.png").starts_with(b"\x89PNG"));
    folder.run("plot coal --inducing 8 -o b.svg").good();
    folder.write("xy.csv", "x,y\n1,1\n2,3\n4,2\n3,3\n2,2\n5,5\n");
    folder.run("plot xy.csv --window 0,6,0,6 --inducing 4x4 -o map.svg").good();
    let run = folder.run("plot model.json --terminal").good();
    assert!(run.out.contains("191 events") && !run.out.contains('\x1b'), "{}", run.out);
    folder.write("other.csv", "year\n1900\n1910\n");
    assert!(folder.run("plot model.json --events other.csv").good().out.contains("2 events"));
}

#[test]
fn data_lists_and_prints_the_sets() {
    let folder = Folder::new();
    let list = folder.run("data").good().out;
    for name in ["coal", "tweets", "aftershocks", "kenya", "quakes", "spikes"] {
        assert!(list.contains(name));
        let csv = folder.run(&format!("data {name}")).good().out;
        let sets = folder.run("data --json").good().json();
        let set = sets["sets"].as_array().unwrap().iter().find(|set| set["name"] == name).unwrap().clone();
        assert_eq!(csv.lines().count() - 1, set["events"].as_u64().unwrap() as usize);
    }
    // A set and the same set as a file are the same events.
    folder.write("coal.csv", folder.run("data coal").good().out);
    let own = folder.run("fit coal --json --inducing 8").good().json();
    let file = folder
        .run("fit coal.csv --columns year --window 1851.2026009582,1962.2197125257 --json --inducing 8")
        .good()
        .json();
    assert_eq!(own["elbo"], file["elbo"]);
}

#[test]
fn a_local_file_needs_more_than_a_bare_name_to_win_over_a_set() {
    let folder = Folder::new();
    folder.write("coal", EVENTS);
    assert_eq!(folder.run("fit coal --json --inducing 5").good().json()["events"], 191);
    assert_eq!(folder.run("fit ./coal --json --inducing 5 --window 0,10").good().json()["events"], 8);
}

#[test]
fn no_verb_does_the_main_job() {
    let folder = Folder::new();
    let run = folder.run("").good();
    assert!(run.out.contains("bound") && run.out.contains("191 events") && !run.out.contains('\x1b'), "{}", run.out);
    assert!(run.err.contains("coal.svg") && run.err.matches("  pointillist ").count() == 3, "{}", run.err);
    assert_eq!(folder.names(), ["coal.svg"]);
    assert!(folder.run("--json").good().json()["elbo"].is_f64());
}

#[test]
fn tables_come_in_many_shapes() {
    let folder = Folder::new();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(EVENTS.as_bytes()).unwrap();
    folder.write("t.csv", EVENTS).write("t.csv.gz", packed.finish().unwrap());
    folder.write("t.tsv", "# made by hand\nname\tt\na\t0.5\nb\t1.5\nc\t2.25\nd\t2.5\ne\t2.75\nf\t3\ng\t5.5\nh\t9\n");
    folder.write("bare.txt", EVENTS.trim_start_matches("t\n"));
    let bound =
        |file: &str| folder.run(&format!("fit {file} --window 0,10 --json --inducing 6")).good().json()["elbo"].clone();
    let expected = bound("t.csv");
    for file in ["t.csv.gz", "t.tsv", "bare.txt"] {
        assert_eq!(bound(file), expected, "{file}");
    }
    let piped = folder.run_with("fit - --window 0,10 --json --inducing 6", EVENTS).good().json();
    assert_eq!(piped["elbo"], expected);
}

#[test]
fn dates_go_in_and_come_out() {
    let folder = Folder::new();
    folder.write("log.csv", "when,what\n2016-02-23T17:11:30Z,a\n2016-02-25,b\n2016-02-25T12:00+02:00,c\n2016-03-01T08:00Z,d\n2016-03-02,e\n");
    let fit = "fit log.csv --window 2016-02-23,2016-03-05 --inducing 8 --json";
    let days = folder.run(&format!("{fit} -o m.json")).good().json();
    assert_eq!(days["window"]["measure"], 11.0);
    assert_eq!(folder.run(&format!("{fit} --time-unit hours")).good().json()["window"]["measure"], 264.0);
    let (header, rows) = folder.run("predict m.json --grid 12").good().csv();
    assert_eq!(header[..3], ["when", "when_iso", "mean"]);
    assert_eq!((rows[0][1].as_str(), rows[11][1].as_str()), ("2016-02-23T00:00:00Z", "2016-03-05T00:00:00Z"));
    // Another file of dates starts elsewhere and still means the same days.
    let (_, at) = folder.run_with("predict m.json --at -", "when\n2016-02-29\n").good().csv();
    assert_eq!(at[0][..2], rows[6][..2]);
    // Quantiles are found to 1e-13 of themselves.
    for (one, other) in at[0].iter().zip(&rows[6]).skip(2) {
        let [one, other]: [f64; 2] = [one, other].map(|text| text.parse().unwrap());
        assert!((one / other - 1.0).abs() < 1e-12, "{one} {other}");
    }
    let by_date = folder.run("count m.json --in 2016-02-24,2016-02-26 --json").good().json();
    let by_number = folder.run("count m.json --in 1,3 --json").good().json();
    assert_eq!(by_date, by_number);
    assert!(folder.run("plot m.json").good().out.contains("Feb"));
    let run = folder.run("sample m.json --events").good();
    assert!(run.out.starts_with("draw,when,when_iso\n"), "{}", run.out);
    // A bundled set of dates, and its own window.
    let coal = folder.run("fit coal --columns date --time-unit years --json --inducing 8").good().json();
    assert!((coal["window"]["measure"].as_f64().unwrap() - 111.0171).abs() < 1e-3);
}

#[test]
fn clip_drops_and_says_how_many() {
    let folder = Folder::new();
    folder.write("t.csv", EVENTS);
    let run = folder.run("fit t.csv --window 1,6 --clip --json --inducing 5").good();
    assert_eq!(run.json()["events"], 6);
    assert!(run.err.contains("2 of 8 events"), "{}", run.err);
    assert!(run.json()["warnings"][0].as_str().unwrap().contains("2 of 8"));
}

#[test]
fn without_a_window_the_bounding_box_is_taken_and_said() {
    let folder = Folder::new();
    folder.write("t.csv", EVENTS);
    let run = folder.run("fit t.csv --json --inducing 5").good();
    assert_eq!(run.json()["window"]["box"][0], serde_json::json!([0.5, 9.0]));
    assert!(run.err.contains("bounding box") && run.err.contains("--window"), "{}", run.err);
}

#[test]
fn one_event_and_two_equal_ones_fit_with_a_warning() {
    let folder = Folder::new();
    for (text, box_) in [("t\n5\n", [4.5, 5.5]), ("t\n5\n5\n", [4.5, 5.5])] {
        folder.write("t.csv", text);
        let run = folder.run("fit t.csv --json -o m.json").good();
        assert_eq!(run.json()["window"]["box"][0], serde_json::json!(box_));
        assert!(run.err.matches("warning: ").count() >= 2 && run.err.contains("widened"), "{}", run.err);
        folder.run("predict m.json --grid 3").good();
        folder.run("plot m.json").good();
    }
    folder.write("xy.csv", "x,y\n3,4\n3,4\n");
    let run = folder.run("fit xy.csv --window 0,10,0,10").good();
    assert!(run.err.contains("warning: "), "{}", run.err);
}

#[test]
fn three_axes_fit_and_predict_and_four_are_not_drawn() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{},{},{}\n", i % 7, i * 3 % 11, i * 5 % 13)).collect();
    folder.write("xyz.csv", format!("x,y,z\n{rows}"));
    folder.run("fit xyz.csv --window 0,7,0,11,0,13 --inducing 3x3x3 -o m.json").good();
    assert_eq!(folder.run("predict m.json --grid 2x3x4").good().csv().1.len(), 24);
    assert_eq!(folder.run("predict m.json").good().csv().1.len(), 8000);
    folder.write("more.csv", "x,y,z,t\n1,2,3,4\n2,3,1,1\n0,1,0,2\n");
    let four = "--columns x,y,z,t --window 0,3,0,4,0,4,0,5 --inducing 2x2x2x2";
    folder.run(&format!("plot more.csv {four} -o x.svg")).refused(&["up to three axes", "--columns"]);
    folder.run(&format!("fit more.csv {four} -o four.json")).good();
    folder.run("plot four.json -o x.svg").refused(&["up to three axes", "predict"]);
}

/// Columns of `predict`, by name.
fn column(table: &(Vec<String>, Vec<Vec<String>>), name: &str) -> Vec<f64> {
    let place = table.0.iter().position(|own| own == name).unwrap_or_else(|| panic!("{name}: {:?}", table.0));
    table.1.iter().map(|row| row[place].parse().unwrap()).collect()
}

#[test]
fn a_rate_exceeds_its_quantile_with_the_probability_left() {
    let folder = Folder::new().with_model();
    folder.run("fit coal --nodes 60 --smoothness 2 -o lattice.json").good();
    for model in ["model.json", "lattice.json"] {
        folder.write("at.csv", "year\n1900\n");
        let rates = folder.run(&format!("predict {model} --at at.csv --quantiles 0.1,0.9")).good().csv();
        let [low, high] = ["q0.1", "q0.9"].map(|name| column(&rates, name)[0]);
        let line = format!("predict {model} --at at.csv --quantiles 0.5 --exceed {low} --exceed {high} --exceed 0");
        let higher = folder.run(&line).good().csv();
        assert_eq!(higher.0[..4].join(","), "year,mean,sd,q0.5");
        for (threshold, expected) in [(low, 0.9), (high, 0.1), (0.0, 1.0)] {
            let found = column(&higher, &format!("p>{threshold}"))[0];
            assert!((found - expected).abs() < 1e-8, "{model}: {found} for {expected}");
        }
        // The column comes before the one that says where the window ends.
        let outside = folder.run_with(&format!("predict {model} --at - --exceed 1"), "year\n1900\n1970\n").good().csv();
        assert_eq!(outside.0[outside.0.len() - 2..].join(","), "p>1,inside");
    }
    for (text, word) in [("-1", "not negative"), ("much", "not negative"), ("inf", "not negative"), ("nan", "rate")] {
        folder.run(&format!("predict model.json --exceed {text}")).refused(&["--exceed", word]);
    }
    folder.run("predict model.json --exceed 1 --exceed 1.0").refused(&["--exceed", "twice"]);
}

#[test]
fn a_model_of_several_components_says_so() {
    let folder = Folder::new();
    folder.run("fit coal --inducing 12 --average off -o model.json").good();
    assert!(!folder.run("show model.json").good().out.contains("components"));
    folder.run("fit coal --inducing 14 --fix lengthscale=4 --average off -o other.json").good();
    let [mut whole, other] = ["model.json", "other.json"]
        .map(|name| serde_json::from_slice::<serde_json::Value>(&folder.read(name)).unwrap());
    let mut parts = [&whole, &other].map(|model| model["posterior"]["components"][0].clone());
    (parts[0]["weight"], parts[1]["weight"]) = (0.75.into(), 0.25.into());
    whole["posterior"]["components"] = parts.to_vec().into();
    folder.write("both.json", common::sealed(&whole));
    let text = folder.run("show both.json").good().out;
    assert!(text.contains("components") && text.contains("average of 2") && text.contains("0.750, 0.250"), "{text}");
    assert_eq!(folder.run("show both.json --json").good().json()["weights"], serde_json::json!([0.75, 0.25]));
    let mean = |model: &str| folder.run(&format!("count {model} --json")).good().json()["mean"].as_f64().unwrap();
    let expected = 0.75 * mean("model.json") + 0.25 * mean("other.json");
    assert!((mean("both.json") - expected).abs() < 1e-9 * expected);
}

#[test]
fn help_and_version_are_there() {
    let folder = Folder::new();
    assert!(folder.run("--version").good().out.starts_with("pointillist 0."));
    assert!(folder.run("--help").good().out.contains("Exit codes"));
    for verb in [
        "fit",
        "predict",
        "score",
        "count",
        "contrast",
        "sample",
        "plot",
        "kernels",
        "data",
        "show",
        "man",
        "completions",
    ] {
        let help = folder.run(&format!("{verb} --help")).good().out;
        assert!(help.contains("Example") && help.contains(&format!("pointillist {verb}")), "{verb}");
    }
}

#[test]
fn a_saved_model_says_what_the_fit_said() {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2\n2.5\n6\n9\n");
    let without_time = |text: &str| {
        let cut =
            |line: &str| line.trim_start().strip_prefix("stop").map(|_| line.rsplit_once(", ").unwrap().0.to_string());
        text.lines().map(|line| cut(line).unwrap_or(line.to_string())).collect::<Vec<_>>()
    };
    for options in ["coal", "few.csv --inducing 4", "kenya --window kenya --clip --nodes 20x20", "spikes --exact"] {
        let said = folder.run(&format!("fit {options} -o model.json")).good();
        let shown = folder.run("show model.json").good();
        assert_eq!(without_time(&said.out), shown.out.lines().collect::<Vec<_>>(), "{options}");
        let warnings =
            |text: &str| text.lines().filter(|l| l.starts_with("warning")).map(String::from).collect::<Vec<_>>();
        assert_eq!(warnings(&said.err), warnings(&shown.err), "{options}");
        let mut said = folder.run(&format!("fit {options} --json -q")).good().json();
        said.as_object_mut().unwrap().remove("seconds");
        assert_eq!(said, folder.run("show model.json --json").good().json(), "{options}");
    }
    assert!(folder.run("show model.json -q").good().err.is_empty());
    folder.run("show missing.json").refused(&["missing.json"]);
    folder.run("show few.csv").refused(&["few.csv", "not a model"]);
    let mut model: serde_json::Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    model["summary"]["elbo"] = "high".into();
    folder.write("model.json", model.to_string());
    folder.run("show model.json").refused(&["model.json", "fit again"]);
}

#[test]
fn shells_and_the_manual_know_every_verb_and_option() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = folder.run(&format!("completions {shell}")).good().out;
        assert!(text.contains("summarize") && text.contains("heldout-repeats"), "{shell}");
    }
    folder.run("completions tcsh").refused(&["tcsh", "bash"]);
    let page = folder.run("man").good().out;
    assert!(page.starts_with(".ie") && page.contains(".TH pointillist 1") && page.contains("summarize"), "{page}");
    assert!(folder.run("man fit").good().out.contains("optimise\\-inducing"));
    folder.run("man fti").refused(&["fti", "summarize"]);
    folder.run("man -o pages/man1").good();
    let pages = std::fs::read_dir(folder.path("pages/man1")).unwrap().count();
    assert!(folder.path("pages/man1/pointillist-fit.1").exists() && pages > 15, "{pages}");
}

#[test]
fn held_out_tables_and_draws_have_one_spelling() {
    let folder = Folder::new();
    for verb in ["score", "compare", "count", "contrast", "check", "sample", "simulate"] {
        let help = folder.run(&format!("{verb} --help")).good().out;
        assert!(help.contains("--draws") && !help.contains("--samples"), "{verb}: {help}");
    }
    for verb in ["score", "compare", "smooth", "sgcp"] {
        let help = folder.run(&format!("{verb} --help")).good().out;
        assert!(
            (help.contains("HELDOUT") || help.contains("--heldout ")) && !help.contains("--test"),
            "{verb}: {help}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let folder = Folder::new().with_model();
    let mut child = folder
        .command("predict model.json --grid 100000")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_fit_and_leaves_nothing() {
    let folder = Folder::new();
    let mut child = folder
        .stoppable("fit quakes --inducing 25x25 -o model.json")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the fit is over already");
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn standard_errors_are_said_when_they_are_asked_for() {
    let fit = |options: &str| {
        Folder::new()
            .run(&format!("fit coal --json --inducing 12 --average off --mean constant {options}"))
            .good()
            .json()
    };
    assert!(fit("")["standard_errors"].is_null());
    let errors = fit("--errors")["standard_errors"].as_array().cloned().unwrap();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().all(|error| error["se"].as_f64().unwrap() > 0.0), "{errors:?}");
    let text = Folder::new().run("fit coal --inducing 12 --average off --errors").good().out;
    assert!(text.contains("lengthscale") && text.contains('±'), "{text}");
}
