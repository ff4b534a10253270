//! Measurements beside events through the command: what `fit` says, model files, values, and every refusal.

use crate::common::Folder;

/// A folder with events on a line that are denser early, and values that are high there; and a table of values at places of their own.
fn folder() -> Folder {
    let folder = Folder::new();
    let (mut table, mut apart) = ("t,ph,site\n".to_string(), "t,ph\n".to_string());
    for i in 0..80 {
        let u = (f64::from(i) + 0.5) / 80.0;
        let t = 10.0 * u * u * u;
        let wobble = 0.1 * (f64::from(i) * 2.4).sin();
        table += &format!("{t},{},s{i}\n", 7.0 - 0.5 * t.ln() + wobble);
        apart += &format!("{},{}\n", 10.0 * u, 7.0 - 0.5 * (10.0 * u).ln() + wobble);
    }
    folder.write("far.csv", apart.clone() + "11,5\n").write("places.csv", "t\n0.5\n9\n");
    folder.write("events.csv", table).write("apart.csv", apart).write("bad.csv", "t,ph\n1,2\n2,x\n3,4\n4,5\n5,6\n");
    folder
}

const FIT: &str = "fit events.csv --columns t --value ph --window 0,10 --nodes 24";

#[test]
fn a_fit_with_values_says_how_they_follow_the_rate_and_is_shown_again() {
    let folder = folder();
    let said = folder.run(&format!("{FIT} -o model.json --json")).good().json();
    assert_eq!((&said["events"], &said["values"], &said["at_events"]), (&80.into(), &80.into(), &true.into()));
    let slope = |key: &str| said["slope"][key].as_f64().unwrap();
    assert!(slope("q0.05") > 0.0 && slope("q0.05") < slope("mean") && slope("mean") < slope("q0.95"), "{said}");
    let text = folder.run("show model.json").good().out;
    assert!(text.contains("places are chosen where ph is high: +"), "{text}");
    // What is there, with and without noise; and the rate.
    let (head, rows) = folder.run("predict model.json --of ph --at places.csv").good().csv();
    assert_eq!(head.join(","), "t,mean,sd,q0.05,q0.5,q0.95,new_q0.05,new_q0.5,new_q0.95");
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    assert!((number(0, 1) - 7.35).abs() < 0.3 && (number(1, 1) - 5.9).abs() < 0.4, "{rows:?}");
    assert!((0..2).all(|row| number(row, 6) < number(row, 3) && number(row, 5) < number(row, 8)));
    let (head, rates) = folder.run("predict model.json --at places.csv").good().csv();
    assert_eq!(head.len(), 6);
    assert!(rates[0][1].parse::<f64>().unwrap() > rates[1][1].parse::<f64>().unwrap());
    let counted = folder.run("count model.json --json").good().json();
    assert!((counted["mean"].as_f64().unwrap() - 80.0).abs() < 2.0, "{counted}");
    let text =
        folder.run("fit events.csv --columns t --measured apart.csv --value ph --window 0,10 --nodes 24").good().out;
    assert!(
        text.contains("ph is higher where events are denser: +") && text.contains("at places of their own"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_done_with_values_is_refused() {
    let folder = folder();
    folder.run(&format!("{FIT} -o model.json -q")).good();
    let refused = |arguments: &str, why: &str| drop(folder.run(arguments).refused(&[why]));
    refused("fit events.csv --columns t --value depth --window 0,10", "has no such column, only t, ph, site");
    refused("fit events.csv --columns t --value t --window 0,10", "is a coordinate too");
    refused("fit events.csv --columns t --value site --window 0,10", "which is no number");
    refused("fit bad.csv --columns t --value ph --window 0,10", "\"x\" in a row, which is no number");
    refused("fit events.csv --columns t --measured far.csv --value ph --window 0,10", "1 lie outside");
    refused("fit events.csv --columns t --measured places.csv --value ph --window 0,10", "has no column ph");
    refused("fit events.csv --columns t --value ph --window 0,10 --link square", "logarithm of the rate");
    refused("fit events.csv --columns t --measured apart.csv --window 0,10", "--value");
    refused("predict model.json --of depth", "and ph");
    refused("plot model.json --of ph --show exceed=3 -o line.svg", "--show exceed is of rates, and ph is no rate");
    refused("plot model.json --of ph --mark-anomalies -o line.svg", "--mark-anomalies is of rates, and ph is no rate");
    refused("plot model.json --of ph --with model.json -o line.svg", "--with is of rates, and ph is no rate");
    refused("check model.json events.csv --columns t", "the exact posterior of both cannot be sampled; add --fit");
    for verb in [
        "count model.json --of ph",
        "sample model.json --of ph",
        "report model.json --of ph -o page.html",
        "score model.json events.csv --columns t --of ph",
        "check --fit model.json --of ph",
        "contrast model.json --of ph --in 0,5 --in 5,10",
    ] {
        refused(verb, "of ph its values are known, to `predict` and `plot`; leave --of out for the rate of the events");
    }
}

#[test]
fn without_of_every_verb_answers_for_the_rate_of_the_events() {
    let folder = folder();
    folder.run(&format!("{FIT} -o model.json -q")).good();
    folder.run("fit events.csv --columns t --window 0,10 --nodes 24 --link log -o rate.json -q").good();
    let score = folder.run("score model.json events.csv --columns t --json").good().json();
    let alone = folder.run("score rate.json events.csv --columns t --json").good().json();
    let of = |score: &serde_json::Value| score["l_p"].as_f64().unwrap();
    assert!((of(&score) - of(&alone)).abs() < 0.05 * of(&alone).abs(), "{score} {alone}");
    assert_eq!(folder.run("check model.json --fit --json").good().json()["events"], 80);
    let halves = folder.run("contrast model.json --in 0,5 --in 5,10 --json").good().json();
    assert!(halves["probability"].as_f64().unwrap() > 0.95, "{halves}");
    let (_, rows) = folder.run("predict model.json --over rate.json --grid 20").good().csv();
    // The same events: the ratio is near 1.
    assert!(rows.iter().all(|row| (row[2].parse::<f64>().unwrap().ln()).abs() < 0.7), "{rows:?}");
    folder.run("contrast model.json rate.json --in 0,5").good();
    folder.run("plot model.json --with rate.json -o both.svg").good();
    folder.run("report model.json -o page.html").good();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    for part in ["80 from events.csv", "places are chosen where ph is high", "with the link", " of ph</td>", "noise"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (head, _) = folder.run("sample model.json --draws 2 --at places.csv").good().csv();
    assert_eq!(head, ["t", "draw1", "draw2"]);
    for verb in ["sample model.json --events --draws 100 --seed 1", "simulate --model model.json --draws 100 --seed 1"]
    {
        let rows = folder.run(verb).good().csv().1.len() as f64 / 100.0;
        assert!((rows - 80.0).abs() < 4.0, "{verb}: {rows}");
    }
}

/// Draws of events with their values: as many as are expected, the same events as of the rate alone, and values that a new fit takes for what they are.
#[test]
fn drawn_events_have_values_that_follow_the_rate_as_the_model_says() {
    let folder = folder();
    let said = folder.run(&format!("{FIT} -o model.json --json")).good().json();
    let (head, rows) = folder.run("sample model.json --events --draws 3 --seed 2").good().csv();
    assert_eq!(head, ["draw", "t", "ph"]);
    assert_eq!(rows, folder.run("simulate --model model.json --draws 3 --seed 2").good().csv().1);
    folder.run("simulate --model model.json --seed 5 -o again.csv").good();
    let again = String::from_utf8(folder.read("again.csv")).unwrap();
    assert!(again.starts_with("t,ph\n"), "{again}");
    let refitted = folder.run("fit again.csv --value ph --window 0,10 --nodes 24 --json").good().json();
    let of = |said: &serde_json::Value, key: &str| said["slope"][key].as_f64().unwrap();
    assert!(of(&refitted, "q0.95") > of(&said, "q0.05") && of(&refitted, "q0.05") < of(&said, "q0.95"), "{refitted}");
}

#[test]
fn values_are_drawn_as_a_line_with_its_band_and_as_a_map() {
    let folder = folder();
    folder.run(&format!("{FIT} -o model.json -q")).good();
    folder.run("plot model.json --of ph -o line.svg").good();
    let line = String::from_utf8(folder.read("line.svg")).unwrap();
    assert!(line.contains("ph of events.csv") && line.contains("90 % credible band"), "{line}");
    // The axis reaches from band to band, of which all are above 5.
    assert!(line.contains(">6<") && !line.contains(">0.0<") && !line.contains(">1<"), "{line}");
    let mut table = "x,y,level\n".to_string();
    for i in 0..60 {
        let (x, y) = (f64::from(i * 7 % 60) / 60.0, (f64::from(i) / 60.0).powi(2));
        table += &format!("{x},{y},{}\n", -3.0 - x);
    }
    folder.write("plane.csv", table);
    folder.run("fit plane.csv --value level --window 0,1,0,1 --nodes 8x8 -o plane.json -q").good();
    folder.run("plot plane.json --of level -o map.svg").good();
    let map = String::from_utf8(folder.read("map.svg")).unwrap();
    assert!(map.contains("level of plane.csv") && map.contains("−3"), "{map}");
    folder.run("plot plane.json --of level --show sd -o sd.svg").good();
    assert!(String::from_utf8(folder.read("sd.svg")).unwrap().contains("standard deviation of level"));
}

/// In a table of events a column called `weight` may say how many a row stands for; not if it is what was measured.
#[test]
fn a_value_may_be_called_as_a_number_of_events_is() {
    let folder = folder();
    let table = String::from_utf8(folder.read("events.csv")).unwrap();
    folder.write("weights.csv", table.replace("t,ph,site", "t,weight,site"));
    let said = folder.run("fit weights.csv --value weight --window 0,10 --nodes 16 --json").good().json();
    assert_eq!((&said["value"], &said["events"]), (&"weight".into(), &80.into()));
    folder.run("fit weights.csv --window 0,10").refused(&["`weight`", "one event"]);
}
