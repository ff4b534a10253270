//! `count` as a real process: many regions, tables of them, features with properties, bins, forecasts; and `check` on many events.

use crate::common::Folder;
use serde_json::Value;

/// Two districts of a square of side 10, and one that is nowhere near it.
const DISTRICTS: &str = r#"{"type":"FeatureCollection","features":[
    {"type":"Feature","id":7,"properties":{"name":"West","people":120},"geometry":{"type":"Polygon",
        "coordinates":[[[0,0],[4,0],[4,10],[0,10],[0,0]]]}},
    {"type":"Feature","properties":{"name":"East, the","mean":"x"},"geometry":{"type":"MultiPolygon",
        "coordinates":[[[[4,0],[7,0],[7,10],[4,10],[4,0]]],[[[7,0],[10,0],[10,10],[7,10],[7,0]]]]}}]}"#;

fn sites() -> String {
    let all = (0..80).map(|i| ((i * 37 % 100) as f64 / 10.0, (i * 61 % 97) as f64 / 9.7));
    all.fold("x,y\n".to_string(), |text, (x, y)| text + &format!("{x},{y}\n"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn column(table: &(Vec<String>, Vec<Vec<String>>), name: &str) -> Vec<f64> {
    texts(table, name).iter().map(|text| text.parse().unwrap()).collect()
}

fn texts(table: &(Vec<String>, Vec<Vec<String>>), name: &str) -> Vec<String> {
    let place = table.0.iter().position(|own| own == name).unwrap_or_else(|| panic!("{name}: {:?}", table.0));
    table.1.iter().map(|row| row[place].clone()).collect()
}

/// A table of which the first column, the region, may hold commas.
fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let row = |line: &str| -> Vec<String> {
        let (first, rest) = match line.strip_prefix('"').and_then(|line| line.split_once("\",")) {
            Some(both) => both,
            None => line.split_once(',').unwrap(),
        };
        std::iter::once(first).chain(rest.split(',')).map(String::from).collect()
    };
    let mut rows = text.lines().map(row);
    (rows.next().unwrap(), rows.collect())
}

#[test]
fn every_feature_is_a_row_with_its_properties() {
    let folder = Folder::new();
    folder.write("sites.csv", sites()).write("districts.geojson", DISTRICTS);
    // The square of f has closed integrals; those of exp f are found by quadrature, to digits.
    for (options, digits) in [("--inducing 5x5", 1e-8), ("--link square --nodes 20x20", 1e-8), ("--nodes 20x20", 1e-6)]
    {
        folder.run(&format!("fit sites.csv --window 0,10,0,10 {options} -q -o m.json")).good();
        let several = folder.run("count m.json --in districts.geojson --json").good().json();
        let [west, east] = &several["regions"].as_array().unwrap()[..] else { panic!("{several}") };
        assert_eq!((&west["name"], &west["properties"]["people"]), (&"West".into(), &120.into()));
        assert_eq!((&west["properties"]["id"], &east["name"]), (&7.into(), &"East, the".into()));
        let by_box = folder.run("count m.json --in 0,4,0,10 --json").good().json();
        assert!((number(&west["mean"]) - number(&by_box["mean"])).abs() < 80.0 * digits);
        let whole = folder.run("count m.json --json").good().json();
        assert!((number(&west["mean"]) + number(&east["mean"]) - number(&whole["mean"])).abs() < 80.0 * digits);
        folder.run("count m.json --in districts.geojson -o counts.csv").good();
        let run = folder.run("count m.json --in districts.geojson -o -").good();
        assert_eq!(folder.read("counts.csv"), run.out.as_bytes());
        assert!(
            run.out.starts_with("region,id,name,people,property_mean,x_lo,x_hi,y_lo,y_hi,mean,sd,q0.05,"),
            "{}",
            run.out
        );
        let rows: Vec<&str> = run.out.lines().collect();
        assert!(rows.len() == 3 && rows[1].starts_with("West,7,West,120,,0,4,0,10,"), "{rows:?}");
        assert!(rows[2].starts_with("\"East, the\",,\"East, the\",,x,4,10,0,10,"), "{rows:?}");
    }
}

#[test]
fn bins_and_tables_of_boxes_are_counted_at_once() {
    let folder = Folder::new().with_model();
    let whole = number(&folder.run("count model.json --json").good().json()["mean"]);
    let bins = table(&folder.run("count model.json --every 0.1 -o -").good().out);
    assert_eq!(bins.1.len(), 1111, "111.017 years, the last bin is short");
    // The average has length-scales so long that K is nearly singular: each integral has some ten digits.
    assert!((column(&bins, "mean").iter().sum::<f64>() - whole).abs() < 1e-7 * whole);
    let ends = (column(&bins, "year_lo"), column(&bins, "year_hi"));
    assert!(ends.0[1..].iter().zip(&ends.1).all(|(lo, hi)| lo == hi));
    folder.write("rows.csv", "name,start,end\nearly,1860,1880\nlate,1900,1910\n");
    folder.write("plain.csv", "year_hi,year_lo\n1880,1860\n1910,1900\n");
    let by_name = table(&folder.run("count model.json --in rows.csv -o -").good().out);
    assert_eq!(texts(&by_name, "region"), ["early", "late"]);
    let plain = table(&folder.run("count model.json --in plain.csv -o -").good().out);
    assert_eq!(texts(&plain, "region"), ["1860 to 1880", "1900 to 1910"]);
    let boxes = table(&folder.run("count model.json --in 1860,1880 --in 1900,1910 -o -").good().out);
    for name in ["mean", "sd", "q0.05", "q0.95", "new_mean", "new_sd", "new_q0.05", "new_q0.95"] {
        assert_eq!(texts(&by_name, name), texts(&boxes, name));
        assert_eq!(texts(&plain, name), texts(&boxes, name));
    }
    // Cut by --in, and the same whatever else is asked for.
    let part = table(&folder.run("count model.json --in 1860,1862 --every 1 -o -").good().out);
    let one = folder.run("count model.json --in 1861,1862 --json").good().json();
    assert_eq!((part.1.len(), column(&part, "q0.95")[1]), (2, number(&one["quantiles"]["0.95"])));
}

#[test]
fn dates_stand_beside_numbers() {
    let folder = Folder::new();
    folder.write(
        "log.csv",
        "when\n2016-02-23T17:11:30Z\n2016-02-25\n2016-02-25T12:00+02:00\n2016-03-01T08:00Z\n2016-03-02\n",
    );
    folder.run("fit log.csv --window 2016-02-23,2016-03-05 --inducing 8 -q -o m.json").good();
    let count = folder.run("count m.json --in 2016-02-24,2016-02-26 --json").good().json();
    assert_eq!(count["dates"]["when"], serde_json::json!(["2016-02-24T00:00:00Z", "2016-02-26T00:00:00Z"]));
    let hours = table(&folder.run("count m.json --every 1h -o -").good().out);
    assert_eq!(hours.1.len(), 11 * 24);
    assert_eq!(texts(&hours, "when_lo_iso")[1], "2016-02-23T01:00:00Z");
    assert_eq!(texts(&hours, "when_hi_iso")[263], "2016-03-05T00:00:00Z");
    folder.write("shifts.csv", "name,start,end\nnight,2016-02-24T22:00Z,2016-02-25T06:00Z\n");
    let shift = folder.run("count m.json --in shifts.csv --json").good().json();
    assert_eq!((&shift["name"], &shift["dates"]["when"][0]), (&"night".into(), &"2016-02-24T22:00:00Z".into()));
    folder.write(
        "year.csv",
        format!(
            "when\n{}",
            (0..60).map(|i| format!("2023-{:02}-{:02}\n", 2 + i / 6, 1 + 4 * (i % 6))).collect::<String>()
        ),
    );
    folder.run("fit year.csv --window 2023-01-20,2024-01-01 --nodes 30 --average off -o year.json").good();
    let months = table(&folder.run("count year.json --every month -o -").good().out);
    let starts = texts(&months, "when_lo_iso");
    assert_eq!((starts.len(), &starts[0][..10], &starts[1][..10]), (12, "2023-01-20", "2023-02-01"));
    assert_eq!(&texts(&months, "when_hi_iso")[10][..10], "2023-12-01");
    let quarters = table(&folder.run("count year.json --every 3months -o -").good().out);
    assert_eq!(texts(&quarters, "when_hi_iso")[0], "2023-04-01T00:00:00Z");
    let total = |table: &_| texts(table, "mean").iter().map(|mean| mean.parse::<f64>().unwrap()).sum::<f64>();
    assert!(quarters.1.len() == 4 && (total(&months) - total(&quarters)).abs() < 1e-6);
    folder.run("count year.json --every 1.5months").refused(&["--every 1.5months", "1month"]);
    folder.run("count m.json --every 1fortnight").refused(&["--every 1fortnight", "30min"]);
}

#[test]
fn beyond_a_box_a_count_is_a_forecast() {
    let folder = Folder::new().with_model();
    let run = folder.run("count model.json --in 1960,1970 --json").good();
    assert!(run.err.contains("77.8") && run.err.contains("a forecast"), "{}", run.err);
    assert_eq!(run.json()["region"], serde_json::json!([[1960.0, 1970.0]]));
    let far = folder.run("count model.json --in 1800,1810 --json").good().json();
    assert!(number(&far["sd"]) > 0.3 * number(&far["mean"]), "little is known there: {far}");
    // On a lattice too, where the rate was once that of the border.
    folder.run("fit coal --basis lattice --nodes 300 -q -o lattice.json").good();
    let rates = folder.run_with("predict lattice.json --at -", "year\n1962\n1970\n2000\n2200\n").good();
    let mean = column(&rates.csv(), "mean");
    assert!(mean[0] < mean[1] && mean[1] < mean[2] && mean[2] > 1.2 * mean[0], "{mean:?}");
    folder.run("count lattice.json --in 1962,1972").good();
    // Of the window what was looked at is cut into bins; a stretch that is asked for is counted with its gaps.
    folder.write("t.csv", "t\n0.5\n1.5\n2.25\n2.5\n2.75\n3\n5.5\n9\n");
    folder.run("fit t.csv --window 0,4 --window 5,10 --inducing 8 -q -o gap.json").good();
    let bins = column(&folder.run("count gap.json --every 0.5 -o -").good().csv(), "mean");
    assert_eq!(bins.len(), 18, "none in the gap");
    let whole = folder.run("count gap.json --json").good().json()["mean"].as_f64().unwrap();
    assert!((bins.iter().sum::<f64>() / whole - 1.0).abs() < 1e-6, "{bins:?} {whole}");
    let asked = folder.run("count gap.json --in 0,10 --every 0.5 -o -").good();
    assert_eq!(column(&asked.csv(), "mean").len(), 20);
    assert!(asked.err.contains("in a gap: no events were observed there"), "{}", asked.err);
    let (header, rows) = asked.csv();
    assert!(!header.contains(&"seen".into()), "what was not looked at is not known: {rows:?}");
    let after = folder.run("count gap.json --in 11,12").good();
    assert!(after.err.contains("a forecast"), "{}", after.err);
    let gap = folder.run("count gap.json --in 4.2,4.8").good();
    assert!(gap.err.contains("100 % of the length of --in 4.2,4.8") && gap.err.contains("no events"), "{}", gap.err);
    assert!(!gap.out.contains("seen"), "{}", gap.out);
}

#[test]
fn forecasts_that_go_on_for_ever_are_refused() {
    let folder = Folder::new();
    folder.run("fit coal -q -o coal.json").good();
    folder.run("count coal.json --in 1960,3000 --draws 20").good();
    folder.run("count coal.json --in 1960,1e6").refused(&["so far beyond the window", "ask for less of it"]);
}

#[test]
fn many_events_are_checked_on_both_bases() {
    let folder = Folder::new();
    folder.run("simulate --intensity '3000*(1+x)' --window 0,1 -o many.csv").good();
    for options in ["--basis lattice --nodes 60 --smoothness 2", "--basis inducing --inducing 8"] {
        folder.run(&format!("fit many.csv --window 0,1 {options} -q -o m.json")).good();
        let checked = folder.run("check m.json many.csv --draws 400 --json").good().json();
        assert!(number(&checked["events"]) > 4000.0, "{checked}");
        assert!(number(&checked["mean"]["median"]) < 0.02, "{checked}");
    }
}
