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
    folder.run("sample model.json --of b --draws 2 --at at.csv").good();
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
    folder.run("report model.json -o page.html").refused(&["several types"]);
    folder.run("fit events.csv --columns t --window 0,10 --smoothness 2 --link log -o plain.json -q").good();
    folder.run("predict plain.json --of a").refused(&["--of a", "no types"]);
    folder.run("predict plain.json --shares").refused(&["--shares", "no types"]);
}
