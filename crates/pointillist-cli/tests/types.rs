//! Types through the command: what `fit` says, model files, rates, ratios, shares and counts, and every refusal.

use crate::common::Folder;

/// A folder with two types on a line: `a` early, `b` late, one event of `rare` in another table.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut table = "t,kind\n".to_string();
    for i in 0..60 {
        let u = (f64::from(i) + 0.5) / 60.0;
        table += &format!("{},a\n{},b\n", 10.0 * u * u, 10.0 * u.sqrt());
    }
    folder.write("rare.csv", format!("{table}5,rare\n")).write("one.csv", "t,kind\n1,a\n2,a\n3,a\n");
    folder.write("events.csv", table).write("at.csv", "t\n1\n9\n");
    folder
}

fn fitted() -> Folder {
    let folder = folder();
    folder.run("fit events.csv --type kind --window 0,10 --nodes 32 -o model.json -q").good();
    folder
}

#[test]
fn a_fit_of_types_says_what_they_share_and_is_shown_again() {
    let folder = folder();
    let said = folder.run("fit events.csv --type kind --window 0,10 --nodes 32 -o model.json --json").good().json();
    assert_eq!(said["events"], 120);
    for one in said["types"].as_array().unwrap() {
        assert!((one["expected"].as_f64().unwrap() - 60.0).abs() < 1.5, "{one}");
    }
    let weights: f64 = said["families"].as_array().unwrap().iter().map(|one| one["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-9);
    let shown = folder.run("show model.json --json").good().json();
    assert_eq!((&shown["types"], &shown["families"]), (&said["types"], &said["families"]));
    // The same events give the same bytes, on any number of threads.
    folder.run("fit events.csv --type kind --window 0,10 --nodes 32 -o again.json -q --threads 1").good();
    let without_command = |name: &str| {
        let mut model: serde_json::Value = serde_json::from_slice(&folder.read(name)).unwrap();
        ["command", "checksum"].iter().for_each(|key| drop(model.as_object_mut().unwrap().remove(*key)));
        model
    };
    assert_eq!(without_command("model.json"), without_command("again.json"));
}

#[test]
fn rates_ratios_shares_and_counts_agree() {
    let folder = fitted();
    let numbers = |arguments: &str, column: &str| -> Vec<f64> {
        let (head, rows) = folder.run(arguments).good().csv();
        let place = head.iter().position(|name| name == column).unwrap_or_else(|| panic!("{head:?}"));
        rows.iter().map(|row| row[place].parse().unwrap()).collect()
    };
    let all = numbers("predict model.json --at at.csv", "mean");
    let own = ["a", "b"].map(|of| numbers(&format!("predict model.json --of {of} --at at.csv"), "mean"));
    assert_eq!(all, own.concat());
    assert!(own[0][0] > own[1][0] && own[0][1] < own[1][1]);
    let ratio = numbers("predict model.json --of a/b --at at.csv", "ratio_q0.5");
    let inverse = numbers("predict model.json --of b/a --at at.csv", "ratio_q0.5");
    let shares = numbers("predict model.json --shares --at at.csv", "share_mean");
    for n in 0..2 {
        assert!((ratio[n] * inverse[n] - 1.0).abs() < 1e-9 && (shares[n] + shares[2 + n] - 1.0).abs() < 1e-9);
        assert!((ratio[n] > 1.0) == (shares[n] > 0.5));
    }
    folder.run("count model.json --in 0,5 -o counts.csv").good();
    let counts = String::from_utf8(folder.read("counts.csv")).unwrap();
    assert!(counts.starts_with("type,region,") && counts.lines().count() == 3, "{counts}");
    let half = folder.run("count model.json --of a --in 0,5 --json").good().json();
    assert_eq!(half["seen"], 42);
    folder.run("plot model.json --of a/b -o ratio.svg").good();
    folder.run("fit events.csv --columns t --window 0,10 --nodes 16 --average off -q -o plain.json").good();
    folder
        .run("plot model.json --of a/b --with plain.json -o x.svg")
        .refused(&["--with plain.json", "which is a ratio"]);
    folder.run("sample model.json --of b --draws 2 --at at.csv").good();
}

#[test]
fn other_verbs_know_one_type_or_all() {
    let folder = fitted();
    let score = folder.run("score model.json events.csv --columns t --where kind=a --of a --json").good().json();
    assert_eq!(score["events"], 60);
    assert!(score["l_p"].as_f64().unwrap().is_finite() && score["m_p"].as_f64().unwrap().is_finite());
    let checked = folder.run("check model.json --fit --of b --json").good().json();
    assert_eq!(checked["events"], 60);
    folder.run("report model.json --of a -o page.html --title A").good();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("shared and own") && page.contains("<h1>A</h1>"));
    // A ratio has values and no events of its own.
    folder.run("report model.json --of a/b -o ratio.html").good();
    let page = String::from_utf8(folder.read("ratio.html")).unwrap();
    for words in ["<h1>Rate of a over b</h1>", "\"rate_unit\":\"a over b\"", "\"quantity\":\"ratio\""] {
        assert!(page.contains(words), "no {words}");
    }
    for words in ["\"events\":", "\"events_note\":", "\"bins\":", "<th scope=\"row\">events</th>"] {
        assert!(!page.contains(words), "{words}");
    }
    // Two regions of a type, and two types in a region: the draws of these belong together.
    let regions = folder.run("contrast model.json --of a --in 0,5 --in 5,10 --json").good().json();
    assert!(regions["probability"].as_f64().unwrap() > 0.9);
    let types = folder.run("contrast model.json --of a/b --in 0,5 --json").good().json();
    let counted = folder.run("count model.json --of b --in 0,5 --json").good().json();
    let (mean, same) = (&types["b"]["mean"], &counted["mean"]);
    assert!(
        (mean.as_f64().unwrap() / same.as_f64().unwrap() - 1.0).abs() < 1e-9
            && types["probability"].as_f64().unwrap() > 0.9
    );
    for verb in ["sample model.json --events --draws 200 --seed 1", "simulate --model model.json --draws 200 --seed 1"]
    {
        let (head, rows) = folder.run(verb).good().csv();
        assert_eq!(head, ["draw", "type", "t"]);
        for kind in ["a", "b"] {
            let of_kind = rows.iter().filter(|row| row[1] == kind).count() as f64 / 200.0;
            assert!((of_kind - 60.0).abs() < 3.0, "{of_kind}");
        }
        // Types of a set have chance of their own: no time twice.
        let mut times: Vec<&String> = rows.iter().filter(|row| row[0] == "1").map(|row| &row[2]).collect();
        let all = times.len();
        times.sort();
        times.dedup();
        assert_eq!(times.len(), all);
    }
}

#[test]
fn latent_fields_have_loads_with_intervals() {
    let folder = folder();
    let said =
        folder.run("fit events.csv --type kind --window 0,10 --nodes 32 --latent 1 -o m.json --json").good().json();
    let loads = said["loadings"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    // `a` is early and `b` late: one has what the other lacks.
    let value = |k: usize| loads[k]["value"].as_f64().unwrap();
    assert!(value(0) * value(1) < 0.0, "{loads:?}");
    for load in loads {
        let end = |k: usize| load["interval"][k].as_f64().unwrap();
        assert!(end(0) < load["value"].as_f64().unwrap() && load["value"].as_f64().unwrap() < end(1));
    }
    let text = folder.run("show m.json").good();
    assert!(text.out.contains("1 latent field 100 %") && text.out.contains("field 1"), "{}", text.out);
    folder.run("predict m.json --of a/b --at at.csv").good();
}

#[test]
fn what_makes_no_sense_of_types_is_refused() {
    let folder = fitted();
    folder
        .run("fit one.csv --type kind --window 0,10")
        .refused(&["--type kind: 1 type of events is too few: at least two"]);
    folder.run("fit events.csv --type kind --window 0,10 --vary on").refused(&["--type kind: a scale that varies"]);
    folder.write("trial.csv", "t,kind,trial\n1,a,1\n2,b,1\n3,a,2\n4,b,2\n");
    folder.run("fit trial.csv --type kind --window 0,10").refused(&["column trial too", "--columns"]);
    // Two readings of one text.
    let both: String =
        (0..60).map(|i| format!("{},{}\n", 0.16 * f64::from(i), ["a", "b", "a/b"][i as usize % 3])).collect();
    folder.write("both.csv", format!("t,kind\n{both}"));
    folder.run("fit both.csv --type kind --window 0,10 -o both.json").good();
    folder.run("predict both.json --of a/b").refused(&["--of a/b is a type, and a ratio of two"]);
    folder.run("fit rare.csv --type kind --window 0,10").refused(&["rare", "1 event"]);
    folder.run("fit events.csv --type sort --window 0,10").refused(&["--type sort", "t, kind"]);
    folder.run("fit events.csv --type kind --window 0,10 --link square").refused(&["square link"]);
    folder.run("predict model.json --of c").refused(&["--of c", "a, b"]);
    folder.run("predict model.json --of a/a").refused(&["--of a/a"]);
    folder.run("sample model.json").refused(&["--of", "a, b"]);
    folder.run("plot model.json -o all.svg").refused(&["--of", "a, b"]);
    for verb in ["report model.json -o page.html", "score model.json at.csv", "check model.json --fit"] {
        folder.run(verb).refused(&["model.json has the types a, b; say with --of of which, as in --of a"]);
    }
    folder.run("check model.json events.csv --columns t").refused(&["several types", "fit one type by itself"]);
    folder.run("check model.json events.csv --of a").refused(&["--of", "--fit"]);
    folder.run("contrast model.json --in 0,5 --in 5,10").refused(&["--of", "a, b"]);
    folder
        .run("contrast model.json --of a/b --in 0,5 --in 5,10")
        .refused(&["2 regions", "two types are compared in one"]);
    folder.run("score model.json at.csv --of a/b").refused(&["a over b"]);
    folder.run("fit events.csv --window 0,10 --columns t --latent 1").refused(&["--type"]);
    folder.run("fit events.csv --type kind --window 0,10 --latent 3").refused(&["--latent 3", "give 1 to 2"]);
    folder.run("fit events.csv --type kind --window 0,10 --latent many").refused(&["--latent many", "auto"]);
    let many: String = (0..100).map(|i| format!("{},{}\n", 0.1 * f64::from(i), i % 50)).collect();
    folder.write("many.csv", format!("t,kind\n{many}"));
    folder
        .run("fit many.csv --type kind --columns t --window 0,10")
        .refused(&["50 types", "join those that are rare or alike"]);
    folder.run("fit events.csv --columns t --window 0,10 --smoothness 2 --link log -o plain.json -q").good();
    folder.run("predict plain.json --of a").refused(&["--of a", "no types"]);
    folder.run("predict plain.json --shares").refused(&["--shares", "no types"]);
}
