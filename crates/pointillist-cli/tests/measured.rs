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
    refused("predict model.json --of ph --exceed 3 --at places.csv", "--exceed is of rates");
    for verb in ["check --fit model.json", "score model.json events.csv --columns t", "report model.json -o page.html"]
    {
        refused(verb, "is a model of events and of ph beside them");
    }
}
