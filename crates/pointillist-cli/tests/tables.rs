//! Tables as people have them, as a real process: dates of every kind, rows that are left out, units, and what this program writes itself.

use crate::common::Folder;

/// A log of requests, four a day.
fn log() -> String {
    let row = |n: usize| format!("2024-01-{:02}T{:02}:00:00Z,{},/a,{}.5\n", 1 + n / 4, 6 * (n % 4), 200 + n % 2, n % 7);
    "timestamp,status,path,latency\n".to_string() + &(0..80).map(row).collect::<String>()
}

/// The names of the axes of what `fit --json` says.
fn axes(fit: &serde_json::Value) -> Vec<&str> {
    let axes = fit["window"]["axes"].as_array().unwrap();
    axes.iter().map(|axis| axis["name"].as_str().unwrap()).collect()
}

#[test]
fn a_log_is_read_by_its_dates() {
    let folder = Folder::new();
    folder.write("log.csv", log());
    let run = folder.run("fit log.csv --window 2024-01-01,2024-01-21 --inducing 6 --json").good();
    assert_eq!((axes(&run.json()), &run.json()["events"]), (vec!["timestamp"], &80.into()));
    assert!(run.err.contains("`timestamp`") && run.err.contains("--columns"), "{}", run.err);
    let run = folder.run("summarize log.csv --window 2024-01-01,2024-01-21 --json -o s.summary").good();
    assert_eq!((axes(&run.json()), &run.json()["events"]), (vec!["timestamp"], &80.into()));
    assert!(run.err.contains("`timestamp`"), "{}", run.err);
    folder.write("two.csv", "from,to,n\n2024-01-01,2024-01-02,5\n2024-01-03,2024-01-04,6\n");
    folder.run("fit two.csv").refused(&["from, to", "--columns from"]);
    folder.write("place.csv", "when,lon,lat\n2024-01-01,1,2\n2024-01-03,2,3\n");
    folder.run("fit place.csv").refused(&["--columns lon,lat or --columns lon,lat,when"]);
}

#[test]
fn dates_are_read_as_they_are_written() {
    let folder = Folder::new();
    let bound = |words: &str| {
        let fit = folder.run(&format!("fit {words} --window 2025-12-30,2026-01-03 --inducing 4 --json")).good().json();
        assert_eq!(fit["events"], 3);
        fit["elbo"].as_f64().unwrap()
    };
    folder.write("iso.csv", "when,n\n2025-12-31T23:00Z,1\n2026-01-01T12:00Z,2\n2026-01-01T13:00Z,3\n");
    let expected = bound("iso.csv");
    folder.write("day.csv", "when;n\n31/12/2025 23:00;1,5\n01/01/2026 12:00;2\n01/01/2026 13:00;3\n");
    folder.write("month.csv", "when\n12/31/2025 11 PM\n01/01/2026 12 PM\n01/01/2026 1 PM\n");
    let line = |date: &str| format!("::1 - - [{date}] \"GET /a, b HTTP/1.0\" 200 2326\n");
    let dates = ["31/Dec/2025:23:00:00 +0000", "01/Jan/2026:05:00:00 -0700", "01/Jan/2026:13:00:00 +0000"];
    folder.write("access.log", dates.map(line).concat());
    folder.write("s.csv", "time,n\n1767222000,1\n1767268800,2\n1767272400,3\n");
    folder.write("ms.csv", "time,n\n1767222000000,1\n1767268800000,2\n1767272400000,3\n");
    folder.write("long.csv", "when\n31 December 2025 23h00\n1 January 2026 12h00\n1 January 2026 13h00\n");
    let ways = [
        "day.csv",
        "month.csv",
        "access.log",
        "s.csv --epoch s",
        "ms.csv --epoch ms",
        "long.csv --date-format '%d %B %Y %Hh%M'",
    ];
    for words in ways {
        assert_eq!(bound(words), expected, "{words}");
    }
    folder.write("doubt.csv", "when\n01/02/2026\n03/02/2026\n");
    folder.run("fit doubt.csv").refused(&["doubt.csv", "`when`", "--date-format '%d/%m/%Y' or '%m/%d/%Y'"]);
    let fit = folder.run("fit doubt.csv --date-format %d/%m/%Y --inducing 4 --json").good().json();
    assert!((fit["window"]["measure"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    folder.run("fit doubt.csv --date-format %d-%m-%Y").refused(&["%d-%m-%Y", "`01/02/2026`"]);
    folder.run("fit doubt.csv --date-format %Q").refused(&["--date-format", "%Q"]);
    folder.run("fit s.csv --epoch ms").refused(&["s.csv", "milliseconds since 1970", "--epoch"]);
    let noted = folder.run("fit s.csv --inducing 3x3").err;
    assert!(noted.contains("--epoch s"), "{noted}");
    folder.write("words.csv", "when\nyesterday\ntoday\n");
    folder.run("fit words.csv").refused(&["words.csv", "`yesterday`", "--date-format"]);
    folder.run("fit iso.csv --window 2025-12-30,2026-01-03 --inducing 4 -o m.json").good();
    folder.run("score m.json ms.csv --epoch ms --columns time --draws 10").good();
}

#[test]
fn what_simulate_writes_is_fitted() {
    let folder = Folder::new();
    let window = "--window 2024-01-01T06:00Z,2024-02-01";
    folder.run(&format!("simulate --intensity 3 {window} -o e.csv --truth truth.csv --grid 50")).good();
    let count = folder.read("e.csv").iter().filter(|byte| **byte == b'\n').count() - 1;
    let fit = folder.run(&format!("fit e.csv {window} --inducing 6 -o m.json --json")).good().json();
    assert_eq!((axes(&fit), fit["events"].as_u64()), (vec!["x"], Some(count as u64)));
    // The dates say where the numbers of the file count from.
    let twice = folder.run("score m.json e.csv --draws 10 --json").good().json();
    assert_eq!(twice["events"].as_u64(), Some(count as u64));
    folder.run(&format!("compare e.csv {window} --truth truth.csv --inducing 6 --draws 10")).good();
    folder.run(&format!("simulate --intensity 3 {window} --draws 4 -o four.csv")).good();
    let run = folder.run(&format!("fit four.csv {window} --inducing 6 --repeats 4 --json")).good();
    assert_eq!(axes(&run.json()), ["x"]);
    let added = folder.run(&format!("fit four.csv {window} --inducing 6")).good();
    assert!(added.err.contains("4 trials"), "{}", added.err);
    folder.run("sample m.json --events --draws 2 -o drawn.csv").good();
    let run = folder.run(&format!("fit drawn.csv {window} --inducing 6 --repeats 2 --json")).good();
    assert_eq!(axes(&run.json()), ["x"]);
    let space = "--window 0,2,0,2,2024-01-01,2024-02-01";
    folder.run(&format!("simulate --intensity 1 {space} -o space.csv")).good();
    let fit = folder.run(&format!("fit space.csv {space} --inducing 2x2x2 --json")).good().json();
    assert_eq!(axes(&fit), ["x", "y", "t"]);
}

#[test]
fn a_prediction_is_an_exposure() {
    let folder = Folder::new();
    let window = "--window 2024-01-01,2024-02-01";
    folder.run(&format!("simulate --intensity 3 {window} -o e.csv")).good();
    folder.run(&format!("fit e.csv {window} --inducing 6 -o m.json")).good();
    folder.run("predict m.json --grid 40 -o rate.csv").good();
    let fit = folder.run(&format!("fit e.csv {window} --inducing 6 --exposure rate.csv --json")).good().json();
    assert!((fit["elbo_parts"]["integral"].as_f64().unwrap() - fit["events"].as_f64().unwrap()).abs() < 5.0);
    folder.write("several.csv", "x,people,hours\n0,1,2\n31,1,2\n").write("n.csv", "x\n1\n2\n");
    folder.run("fit n.csv --window 0,31 --exposure several.csv").refused(&["several.csv", "people, hours", "predict"]);
}

#[test]
fn names_that_promise_another_format_are_refused() {
    let folder = Folder::new().with_model();
    for verb in [
        "predict model.json -o",
        "sample model.json -o",
        "simulate --intensity 1 --window 0,5 -o",
        "simulate --intensity 1 --window 0,5 --truth",
        "smooth coal --grid 5 -o",
        "sgcp coal --grid 5 -o",
        "compare coal --csv",
        "data coal -o",
    ] {
        for name in ["x.tif", "x.geojson", "x.parquet", "x.json", "x.csv.gz", "x.tsv"] {
            folder.run(&format!("{verb} {name}")).refused(&[name, "CSV", ".csv"]);
        }
    }
    folder.run("predict model.json --json -o x.csv").refused(&["x.csv", "JSON", ".json"]);
    folder.run("fit coal -o x.csv").refused(&["x.csv", "a model", ".json"]);
    folder.run("summarize coal -o x.json").refused(&["x.json", "a summary", ".summary"]);
    assert_eq!(folder.names(), ["model.json"]);
    for good in ["rate", "rate.csv", "rate.TXT", "rate.2", "/dev/null"] {
        folder.run(&format!("predict model.json --grid 3 -o {good}")).good();
    }
    folder.run("predict model.json --grid 3 --json -o rate.json").good();
    folder.run("data kenya --border -o kenya.geojson").good();
    folder.run("fit coal --inducing 8 -o coal.model").good();
}

#[test]
fn rows_are_taken_by_a_condition() {
    let folder = Folder::new();
    let row = |n: usize| {
        let (x, y) = (((n as f64 + 0.5) * 0.618_034).fract(), ((n as f64 + 0.5) * 0.754_878).fract());
        format!("{},{},{x},{y},2024-01-{:02}\n", ["oak", "elm", "\"red oak\""][n % 3], n % 10, 1 + n % 28)
    };
    folder.write("trees.csv", "species,height,x,y,seen\n".to_string() + &(0..300).map(row).collect::<String>());
    let options = "--columns x,y --window 0,1,0,1";
    let events = |condition: &str| {
        let fit = folder.run(&format!("fit trees.csv {options} --inducing 3x3 --json --where '{condition}'")).good();
        let of = format!("kept {} of 300 rows", fit.json()["events"]);
        assert!(fit.err.contains(&of) && fit.json()["warnings"].to_string().contains(&of), "{}", fit.err);
        let condition = format!("summarize trees.csv {options} --cells 9x9 -o s.summary --json --where '{condition}'");
        let summary = folder.run(&condition).good();
        assert!(summary.err.contains(&of), "{}", summary.err);
        assert_eq!(summary.json()["events"], fit.json()["events"]);
        fit.json()["events"].as_u64().unwrap()
    };
    assert_eq!(events("species == \"oak\""), 100);
    assert_eq!(events("species in (oak, \"red oak\") and height >= 5"), 100);
    assert_eq!(events("species != oak and height == 3"), 20);
    assert_eq!(events("seen < 2024-01-08"), 77);
    let nothing = ["--where", "none of the 300 lines", "oak, elm, red oak"];
    for verb in
        ["fit trees.csv", "summarize trees.csv -o x.summary", "smooth trees.csv", "compare trees.csv", "plot trees.csv"]
    {
        folder.run(&format!("{verb} {options} --where 'species == \"ash\"'")).refused(&nothing);
        folder
            .run(&format!("{verb} {options} --where 'kind == 3'"))
            .refused(&["`kind`", "species, height, x, y, seen"]);
        folder.run(&format!("{verb} {options} --where 'height > tall'")).refused(&["--where", "number or a date"]);
    }
    folder.run("summarize trees.csv --columns x,y -o x.summary --where 'species == 3'").refused(&nothing);
    folder.run(&format!("fit trees.csv {options} --inducing 3x3 -o m.json")).good();
    let score = folder.run("score m.json trees.csv --draws 10 --json --where 'species == oak'").good();
    assert_eq!(score.json()["events"], 100);
    assert!(score.err.contains("kept 100 of 300"), "{}", score.err);
    folder.run("check m.json trees.csv --draws 100 --where 'species == oak'").good();
    folder.run("fit s.summary --where 'species == oak'").refused(&["--where", "summarize"]);
}

#[test]
fn units_stand_wherever_numbers_do() {
    let folder = Folder::new();
    folder.write("t.csv", "t\n1\n2\n4\n7\n").write("p.csv", "x,y\n1,2\n3,1\n2,2\n");
    let fit = folder.run("fit t.csv --window 0,10 --inducing 4 --unit t=s -o m.json").good().out;
    assert!(fit.contains("events per s") && fit.contains(" s, where the correlation"), "{fit}");
    folder.run("plot m.json -o m.svg").good();
    let figure = String::from_utf8(folder.read("m.svg")).unwrap();
    assert!(figure.contains("events per s") && figure.contains("t (s)"), "no unit in the figure");
    for unit in ["--unit m", "--unit area=m²", "--unit x=m --unit y=m", "--unit area=m^2"] {
        let fit = folder.run(&format!("fit p.csv --window 0,5,0,5 --inducing 2x2 {unit}")).good().out;
        assert!(fit.contains("events per m²"), "{unit}: {fit}");
    }
    folder.run("summarize p.csv --window 0,5,0,5 --cells 4x4 --unit x=km --unit y=km -o p.summary").good();
    let fit = folder.run("fit p.summary --inducing 2x2").good().out;
    assert!(fit.contains("events per km²"), "{fit}");
    folder.run("fit p.csv --window 0,5,0,5 --unit z=m").refused(&["--unit z=m", "x, y"]);
    folder.run("fit p.csv --window 0,5,0,5 --unit area=acre").refused(&["area=acre", "km²"]);
    folder.run("fit p.csv --window 0,5,0,5 --unit x=").refused(&["--unit x=", "empty"]);
    folder.write("d.csv", "when\n2024-01-01\n2024-01-03\n");
    folder.run("fit d.csv --unit when=s").refused(&["--unit", "--time-unit"]);
}

#[test]
fn rows_that_stand_for_several_events_are_refused() {
    let folder = Folder::new();
    folder.write("days.csv", "day,count\n2023-03-01,5\n2023-03-02,0\n2023-03-03,7\n");
    folder.write("places.csv", "x,Cases\n1,5\n2,3\n");
    for words in ["fit days.csv", "fit places.csv", "summarize days.csv --window 2023-03-01,2023-03-04 -o s.summary"] {
        folder.run(words).refused(&["a row is one event", "repeat each row", "--columns"]);
    }
    let fit = folder.run("fit days.csv --columns day --window 2023-03-01,2023-03-04 --nodes 8 --json").good().json();
    assert_eq!(fit["events"], 3);
}

#[test]
fn dates_count_from_the_window_that_is_given() {
    let folder = Folder::new();
    folder.write("a.csv", "when\n2024-01-07\n2024-01-12\n2024-02-20\n");
    folder.write("b.csv", "when\n2024-01-03\n2024-01-30\n2024-02-21\n");
    for name in ["a", "b"] {
        folder.run(&format!("fit {name}.csv --window 2024-01-01,2024-03-01 --nodes 16 -o {name}.json")).good();
    }
    let contrast = folder.run("contrast a.json b.json").good();
    assert!(contrast.out.contains("with probability"), "{}", contrast.out);
    let start = folder.run("predict a.json --grid 3").good().out;
    assert!(start.lines().nth(1).is_some_and(|row| row.starts_with("0,2024-01-01")), "{start}");
}

#[test]
fn axes_that_are_called_as_answers_keep_their_names() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{}\n", 0.25 * f64::from(i))).collect();
    for (axis, options, wanted) in [
        ("mean", "", "mean,rate_mean,rate_sd,rate_q0.05,rate_q0.5,rate_q0.95"),
        ("q0.05", "", "q0.05,rate_mean,rate_sd,rate_q0.05,rate_q0.5,rate_q0.95"),
        ("rate_sd", "", "rate_sd,mean,sd,q0.05,q0.5,q0.95"),
    ] {
        folder.write("e.csv", format!("{axis}\n{rows}"));
        folder.run("fit e.csv --window 0,10 --nodes 20 --average off -q -o m.json").good();
        let run = folder.run(&format!("predict m.json --grid 5 {options}")).good();
        assert_eq!(run.out.lines().next().unwrap(), wanted);
        assert_eq!(run.err.contains("is an axis of the model"), axis != "rate_sd", "{}", run.err);
        // What comes out goes in again.
        folder.write("at.csv", &run.out);
        assert_eq!(folder.run("predict m.json --at at.csv").good().out, run.out);
    }
    folder.write("f.csv", format!("f\n{rows}"));
    folder.run("fit f.csv --window 0,10 --kernel se(f)+periodic(f,period=2!) --inducing 12 -q -o f.json").good();
    let header = folder.run("predict f.json --components --grid 5").good().csv().0;
    assert_eq!(&header[..2], ["f", "rate_f"]);
    folder.write("draw.csv", format!("draw1\n{rows}"));
    folder.run("fit draw.csv --window 0,10 --nodes 20 --average off -q -o d.json").good();
    let header = folder.run("sample d.json --draws 2 --grid 5").good().csv().0;
    assert_eq!(header, ["draw1", "rate_draw1", "rate_draw2"]);
}
