//! Bad input as a real process: exit code 2, one sentence that names the place and the remedy, and never a panic.

use crate::common;
use crate::common::{Folder, sealed};
use serde_json::json;

#[test]
fn tables_that_are_none() {
    let folder = Folder::new();
    folder.write("empty.csv", "").write("header.csv", "t\n").write("comments.csv", "# nothing\n\n");
    folder.run("fit empty.csv").refused(&["empty.csv", "empty"]);
    folder.run("fit comments.csv").refused(&["comments.csv", "empty"]);
    folder.run("fit header.csv").refused(&["header.csv", "no events"]);
    folder.run("fit missing.csv").refused(&["missing.csv", "does not exist"]);
    folder.run("fit cola").refused(&["cola", "bundled", "coal"]);
    folder.run("fit .").refused(&["directory"]);
    folder.run("predict .").refused(&["directory"]);
    folder.write("points.geojson", "{\"type\": \"FeatureCollection\", \"features\": []}");
    folder.run("fit points.geojson").refused(&["points.geojson", "JSON", "CSV"]);
    folder.write("events.parquet", b"PAR1\x00\x01\x02\xffPAR1");
    folder.run("fit events.parquet").refused(&["events.parquet", "Parquet", "CSV"]);
    folder.run_with("fit -", "").refused(&["standard input"]);
}

#[test]
fn values_that_are_none() {
    let folder = Folder::new();
    folder
        .write("nan.csv", "t\n1\nNaN\n3\n")
        .write("text.csv", "t,x\n1,2\n2,three\n3,4\n")
        .write("inf.csv", "t\n1\ninf\n");
    folder.run("fit nan.csv").refused(&["nan.csv", "line 3", "`t`", "NaN"]);
    folder.run("fit inf.csv").refused(&["line 3", "inf"]);
    folder.run("fit text.csv").refused(&["text.csv", "line 3", "`x`", "three"]);
    folder.write("ragged.csv", "t,x\n1,2\n3\n");
    folder.run("fit ragged.csv").refused(&["line 3"]);
}

#[test]
fn columns_that_are_not_there() {
    let folder = Folder::new();
    folder.write("five.csv", "a,b,c,d,e\n1,2,3,4,5\n2,3,4,5,6\n");
    folder.run("fit five.csv").refused(&["5 columns", "--columns"]);
    folder.run("fit five.csv --columns a,z").refused(&["`z`", "a, b, c, d, e"]);
    folder.run("fit five.csv --columns a,a").refused(&["twice"]);
    folder.run("fit five.csv --columns a,0").refused(&["twice"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("t.csv", "t\n1\n2\n");
    std::fs::set_permissions(folder.path("t.csv"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything.
    if std::fs::read(folder.path("t.csv")).is_err() {
        folder.run("fit t.csv").refused(&["t.csv", "permission"]);
        folder.run("predict t.csv").refused(&["t.csv", "permission"]);
    }
}

#[test]
fn windows_that_do_not_fit() {
    let folder = Folder::new();
    folder.write("t.csv", "# two\nt\n1\n\n7.5\n3\n9\n");
    folder.run("fit t.csv --window 0,5").refused(&["t.csv", "2 of 4", "line 5", "7.5", "--clip", "--window"]);
    folder.run("fit t.csv --window 20,30").refused(&["no event", "20,30", "1,9"]);
    folder.run("fit t.csv --window 20,30 --clip").refused(&["no event", "20,30", "1,9"]);
    folder.run("fit t.csv --window 5,5").refused(&["`t`", "not below"]);
    folder.run("fit t.csv --window 6,5").refused(&["not below"]);
    folder.run("fit t.csv --window 0,10,0,10").refused(&["one axis"]);
    folder.run("fit t.csv --window 0").refused(&["lo,hi"]);
    folder.run("fit t.csv --window 0,ten").refused(&["`ten`"]);
    folder.run("fit t.csv --window nan,5").refused(&["finite"]);
    folder.run("fit t.csv --window 2016-01-01,2017-01-01").refused(&["date", "numbers"]);
    folder.run("fit t.csv --window 0,5 --window 4,10").refused(&["0,5", "4,10", "overlap", "t 4 to 5"]);
    folder.run("fit t.csv --window ''").refused(&["--window", "empty"]);
    folder.run("fit t.csv --window tomorrow,5").refused(&["`tomorrow`", "neither a number", "kenya"]);
    folder.run("fit t.csv --repeats 0 --window 0,10").refused(&["--repeats 0"]);
}

#[test]
fn options_that_are_not_understood() {
    let folder = Folder::new().with_model();
    for prior in [
        "lengthscale",
        "lengthscale ~ cauchy(1, 2)",
        "lengthscale ~ gamma(1)",
        "width ~ gamma(1, 1)",
        "mean ~ gamma(1, 1)",
    ] {
        folder.run(&format!("fit coal --prior '{prior}'")).refused(&["--prior", prior]);
    }
    for fix in ["lengthscale", "lengthscale=-1", "width=3", "mean=x"] {
        folder.run(&format!("fit coal --fix {fix}")).refused(&["--fix", fix]);
    }
    for inducing in ["0", "3x3", "many", "1e3", "100000", "-5", "3.5"] {
        folder.run(&format!("fit coal --inducing={inducing}")).refused(&["--inducing", inducing]);
    }
    folder.run("fit coal --link auto --fix variance=1").refused(&["--link auto", "variance", "--link log"]);
    folder.run("fit coal --jitter 2").refused(&["--jitter"]);
    folder.run("fit coal --jitter=-1").refused(&["--jitter"]);
    folder.run("fit coal --max-evaluations 0").refused(&["--max-evaluations"]);
    folder.run("fit coal --time-unit fortnights").refused(&["fortnights"]);
    for quantiles in ["1.5", "0", "-0.5", "x", "0.5,"] {
        folder.run(&format!("predict model.json --quantiles {quantiles}")).refused(&["--quantiles", "between 0 and 1"]);
    }
    for grid in ["0", "3x3", "x", "99999999999"] {
        folder.run(&format!("predict model.json --grid {grid}")).refused(&["--grid", grid]);
    }
    folder.run("predict model.json --at missing.csv").refused(&["missing.csv"]);
    for every in ["0", "-1", "x", "1h", "1e-9", "nan"] {
        folder.run(&format!("count model.json --every={every}")).refused(&["--every", every]);
    }
    folder.write("bins.csv", "from,to\n1860,1870\n").write("back.csv", "start,end\n1860,1870\n1880,1870\n");
    folder.run("count model.json --in bins.csv").refused(&["bins.csv", "year_lo", "start and end", "from, to"]);
    folder.run("count model.json --in back.csv").refused(&["back.csv, line 3", "1880", "1870"]);
    folder.run("count model.json --in missing.csv").refused(&["missing.csv"]);
    folder.run("count model.json --in 1860,1e9").refused(&["beyond the window", "ask for a smaller part"]);
    folder.run("count model.json --every 1 --draws 10000000").refused(&["fewer regions or fewer draws"]);
    folder.run("count model.json --in kenya").refused(&["--in", "one (year)"]);
    folder.run("count model.json --in 1900").refused(&["--in", "lo,hi"]);
    folder.run("sample model.json --draws 0").refused(&["--draws"]);
    folder.run("score model.json coal --draws 1").refused(&["--draws"]);
    folder.run("score model.json tweets --columns t_days").refused(&["no event lies inside the window"]);
    folder.run("plot model.json -o x.html").refused(&[".html", ".svg"]);
    folder.run("plot model.json -o x.eps").refused(&[".svg, .pdf or .png"]);
    folder.run("plot model.json --window 0,5 -o x.svg").refused(&["--window", "fitted already"]);
    folder.run("plot model.json --quantiles 0.9,0.1 -o x.svg").refused(&["--quantiles"]);
    folder.run("plot model.json --repeats 3 -o x.svg").refused(&["--repeats", "fitted already"]);
    folder.run("data cola").refused(&["cola", "coal"]);
    folder.run("data coal --border").refused(&["no border", "kenya"]);
    folder.run("kernels sse").refused(&["sse", "matern32"]);
}

#[test]
fn usage_that_is_wrong_or_not_there_yet() {
    let folder = Folder::new();
    for wrong in [
        "frob",
        "fit",
        "fit coal --frob",
        "fit coal --seed x",
        "fit coal --threads 0",
        "fit coal --mean zero",
        "fit coal --repeats many",
        "fit coal --trials t.csv --repeats 2",
        "fit coal --trials t.csv --window 0,5",
        "predict",
        "summarize",
        "summarize coal",
        "summarize -o coal.summary",
    ] {
        let run = folder.run(wrong);
        assert_eq!(run.code, 2, "{wrong}");
        assert!(run.err.starts_with("error: ") && run.out.is_empty(), "{}", run.err);
    }
}

#[test]
fn a_model_cut_anywhere_is_refused() {
    let folder = Folder::new();
    folder.write("t.csv", "t\n1\n2\n4\n");
    folder.run("fit t.csv --window 0,5 --inducing 4 -o model.json").good();
    let whole = folder.read("model.json");
    for length in (0..whole.len()).step_by(10).chain([whole.len() - 1]) {
        folder.write("cut.json", &whole[..length]);
        let run = folder.run("predict cut.json --grid 3").refused(&["cut.json"]);
        assert!(run.out.is_empty());
    }
}

#[test]
fn models_that_are_none() {
    let folder = Folder::new();
    folder.write("t.csv", "t\n1\n2\n4\n");
    folder.run("fit t.csv --window 0,5 --inducing 4 -o model.json").good();
    let whole: serde_json::Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    let refuse = |change: &dyn Fn(&mut serde_json::Value), words: &[&str]| {
        let mut model = whole.clone();
        change(&mut model);
        folder.write("bad.json", sealed(&model));
        for verb in ["predict", "count", "sample", "plot"] {
            folder.run(&format!("{verb} bad.json")).refused(&[&["bad.json"], words].concat());
        }
    };
    folder.write("again.json", sealed(&whole)).run("predict again.json").good();
    assert_eq!(whole["version"], 1);
    refuse(&|model| model["version"] = 2.into(), &["another version", "model format 2", "fit again"]);
    refuse(&|model| model["version"] = 0.into(), &["another version", "model format 0", "fit again"]);
    refuse(&|model| model["format"] = "other".into(), &["not a model"]);
    let numbers = [
        ("q_mean", json!([1.0])),
        ("jitter", json!(-1.0)),
        ("prior_mean", json!("zero")),
        ("kernel/terms/0/variance", json!(-1.0)),
        ("kernel/terms/0/parts/0/parameters", json!([])),
        ("kernel/terms/0/parts/0/axis", json!(1)),
        ("kernel/terms/0/parts/0/factor", json!("sse")),
        ("kernel/terms", json!([])),
        ("kernel/dims", json!(2)),
        ("inducing/dims", json!(0)),
        ("inducing/dims", json!(3)),
    ];
    for (place, value) in numbers {
        let place = format!("/posterior/components/0/basis/inducing/{place}");
        refuse(&|model| *model.pointer_mut(&place).unwrap() = value.clone(), &["damaged"]);
    }
    refuse(&|model| model["posterior"]["components"][0]["basis"] = json!({ "splines": {} }), &["damaged"]);
    refuse(&|model| model["posterior"]["components"][0]["weight"] = json!(0.5), &["damaged", "add up to 1"]);
    refuse(&|model| model["posterior"]["components"][0]["weight"] = json!(-1.0), &["damaged", "add up to 1"]);
    refuse(&|model| model["posterior"]["components"][0]["link"] = json!("cube"), &["damaged"]);
    refuse(&|model| model["posterior"]["components"] = json!([]), &["damaged"]);
    refuse(&|model| model["posterior"]["window"]["pieces"][0]["spans"][0]["lo"] = 9.into(), &["damaged"]);
    refuse(&|model| model["posterior"]["window"]["pieces"][0]["repeats"] = (-1).into(), &["damaged"]);
    refuse(&|model| model["posterior"]["window"]["pieces"][0]["repeats"] = 0.into(), &["damaged"]);
    refuse(&|model| model["posterior"]["window"]["pieces"][0]["spans"] = [0; 0].into(), &["damaged"]);
    refuse(&|model| model["posterior"]["window"]["pieces"] = [0; 0].into(), &["damaged"]);
    refuse(
        &|model| {
            model["posterior"]["window"]["exposure"] =
                json!({ "grid": { "axes": [1], "lines": [[0.0, 9.0]], "values": [1.0, 1.0] } })
        },
        &["damaged"],
    );
    refuse(&|model| model["events"]["trials"] = [0; 2].into(), &["damaged"]);
    refuse(&|model| model["posterior"]["window"]["axes"] = json!([]), &["damaged"]);
    refuse(&|model| model["events"]["points"][0] = json!([1.0, 2.0]), &["damaged"]);
    refuse(&|model| model["event_count"] = 7.into(), &["damaged"]);
    // `plot` takes events as well: points of GeoJSON.
    folder.write("shape.json", json!({ "type": "Polygon", "coordinates": [] }).to_string());
    folder.run("predict shape.json").refused(&["shape.json", "not a model"]);
    folder.run("plot shape.json").refused(&["shape.json", "an event is a Point"]);
    folder.write("notes.txt", "hello\n").write("list.json", "[1, 2]").write("nothing.json", "");
    folder.run("predict notes.txt").refused(&["notes.txt", "not a model", "fit"]);
    folder.run("predict list.json").refused(&["not a model"]);
    folder.run("predict nothing.json").refused(&["empty"]);
    folder.run("predict t.csv").refused(&["t.csv", "not a model"]);
    folder.run("fit model.json").refused(&["model.json"]);
    let twice = [folder.read("model.json"), folder.read("model.json")].concat();
    folder.write("twice.json", twice);
    folder.run("predict twice.json").refused(&["damaged"]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::new().with_model();
    folder.run("fit coal -o missing/model.json").refused(&["missing/model.json", "directory"]);
    folder.run("fit coal -o .").refused(&["directory"]);
    folder.run("predict model.json -o missing/rate.csv").refused(&["directory"]);
    folder.run("plot model.json -o missing/rate.svg").refused(&["directory"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = Folder::new().with_model();
    let verbs = [
        "fit coal",
        "fit coal --json",
        "predict model.json",
        "score model.json coal --draws 10",
        "count model.json",
        "sample model.json",
        "plot model.json",
        "data",
        "data coal",
        "",
    ];
    for verb in verbs {
        folder.run_into("/dev/full", &format!("{verb} -q")).refused_or_silent(verb);
    }
    folder.run("fit coal -o /dev/full").refused(&["/dev/full", "full"]);
    folder.run("predict model.json -o /dev/full").refused(&["/dev/full", "full"]);
    assert_eq!(folder.run_into("/dev/full", "--help").code, 2);
}

impl common::Run {
    /// `fit -q` has nothing to write; all others must say that they could not.
    #[track_caller]
    fn refused_or_silent(self, verb: &str) {
        if verb == "fit coal" {
            self.good();
        } else {
            self.refused(&["standard output", "full"]);
        }
    }
}

/// What would be dropped in silence, or answered with a number that nobody can know.
#[test]
fn what_is_said_twice_or_cannot_be_known_is_refused() {
    let folder = Folder::new();
    folder.run("fit coal --inducing 8 -o model.json --quiet").good();
    folder.write("dup.csv", "x,x\n1,7\n2,8\n3,9\n");
    folder.write("dates.csv", "t\n31/12/2020\n01/06/2021\n");
    folder.write("plane.csv", "x,y\n0.1,0.2\n0.6,0.3\n0.4,0.9\n0.8,0.7\n");
    folder.run("fit plane.csv --window 0,1,0,1 --inducing 3x3 -o plane.json --quiet").good();
    let square = r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#;
    let feature = |geometry: &str| format!(r#"{{"type":"Feature","properties":{{}},"geometry":{geometry}}}"#);
    let features = [feature(square), feature("null")].join(",");
    folder.write("parts.geojson", format!(r#"{{"type":"FeatureCollection","features":[{features}]}}"#));
    for (line, words) in [
        ("predict model.json --grid 1 --quantiles 0.5,0.5", ["0.5", "given twice"]),
        ("count plane.json --in parts.geojson", ["parts.geojson, feature 2", "no polygon"]),
        ("count model.json --in 20/Oct/1900,21/Oct/1900", ["neither a box nor a file", "2016-02-23"]),
        ("fit coal --fix lengthscale=3 --fix lengthscale=4", ["lengthscale", "two values"]),
        ("fit coal --unit m --unit s", ["--unit m --unit s", "two units"]),
        ("fit dup.csv", ["several columns `x`", "--columns"]),
        ("fit plane.csv --where 'z == 1'", ["--where", "x, y"]),
        ("fit dates.csv --date-format '%d/%d/%Y'", ["--date-format", "no month"]),
        ("fit dates.csv --date-format '%d/%m/%Y %m'", ["--date-format", "twice"]),
        ("simulate --sgcp 'ceiling=10, lengthscale=1e-308' --window 0,10", ["lengthscale", "too short"]),
        ("sgcp coal --max-sweeps 1 --warm-up 0 --chains 1", ["no draw was kept", "--max-sweeps"]),
    ] {
        folder.run(line).refused(&words);
    }
    // Beyond the last draw a quantile is only that draw.
    let far = folder.run("count model.json --quantiles 0.9999999").good();
    assert!(far.err.contains("10000000 --draws"), "{}", far.err);
}

#[test]
fn what_cannot_be_meant_together_is_refused_with_its_reason() {
    let folder = Folder::new();
    folder.run("fit coal --fix lengthscale=10 --prior 'lengthscale ~ lognormal(1, 1)'").refused(&[
        "lengthscale",
        "held at this value",
        "a prior on it has no say",
        "leave one of them out",
    ]);
    for asked in ["--basis inducing", "--inducing 9", "--kernel 'se(year)'", "--optimise-inducing", "--method joint"] {
        for link in ["log", "auto"] {
            folder.run(&format!("fit coal {asked} --link {link}")).refused(&[
                &format!("--link {link} is for a lattice alone"),
                asked.split(' ').next().unwrap(),
                "its integral has no closed form",
                "--link square",
            ]);
        }
    }
    folder.run("fit coal --basis lattice --inducing 9 --link log").refused(&["--inducing has no effect"]);
}
