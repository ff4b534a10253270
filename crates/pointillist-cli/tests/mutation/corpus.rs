//! What is valid: a few small files of every kind the command reads, and values that fit its options.

use crate::common::Folder;
use crate::mutate;
use std::collections::BTreeMap;

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

const BORDER: &str = r#"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"a"},"geometry":{"type":"Polygon",
"coordinates":[[[0,0],[5,0],[5,5],[0,5],[0,0]],[[1,1],[1,2],[2,2],[2,1],[1,1]]]}},{"type":"Feature","properties":{"name":"b"},
"geometry":{"type":"MultiPolygon","coordinates":[[[[6,0],[8,0],[8,2],[6,0]]]]}}]}"#;

/// One of each.
pub fn files() -> Files {
    let folder = Folder::new();
    let golden = |i: usize, scale: f64| scale * (i as f64 * 0.618_033_988_75).fract();
    let lines = |head: &str, row: &dyn Fn(usize) -> String, count: usize| {
        (0..count).fold(format!("{head}\n"), |text, i| text + &row(i) + "\n")
    };
    let t = lines("t", &|i| format!("{:.3}", golden(i, 10.0)), 20);
    let p = lines("x,y", &|i| format!("{:.3},{:.3}", golden(i, 5.0), golden(7 * i + 3, 5.0)), 24);
    let dates =
        lines("time,kind", &|i| format!("2016-{:02}-{:02}T0{}:30:00Z,k{}", 1 + i % 12, 1 + i, i % 10, i % 3), 20);
    let trials = lines("t,trial", &|i| format!("{:.3},{}", golden(i, 10.0), ["a", "b"][i % 2]), 16);
    let three = lines("x,y,t", &|i| format!("{:.2},{:.2},{i}", golden(i, 5.0), golden(5 * i, 5.0)), 12);
    folder.write("t.csv.gz", mutate::gzip(t.as_bytes())).write("t.csv", t).write("p.csv", p).write("dates.csv", dates);
    folder.write("trials.csv", trials).write("three.csv", three).write("border.geojson", BORDER);
    folder.write("exposure.csv", "t,exposure\n0,1\n5,2\n10,1\n").write("weights.csv", "t,weight\n1,1\n4,2\n9,1\n");
    folder.write("intervals.csv", "trial,start,end\na,0,10\nb,0,8\n").write("at.csv", "t\n1\n2\n11\n");
    folder.write("truth.csv", "t,rate\n0,1\n5,3\n10,2\n");
    #[cfg(feature = "parquet")]
    folder.write("t.parquet", parquet());
    for line in [
        "fit t.csv --window 0,10 --inducing 6 -o line.json",
        "fit t.csv --window 0,10 --nodes 12 --smoothness 2 -o lattice.json",
        "fit p.csv --window 0,5,0,5 --inducing 3x3 -o plane.json",
        "fit dates.csv --columns time --inducing 5 -o dates.json",
        "summarize p.csv --window 0,5,0,5 --cells 8x8 -o p.summary",
        "summarize t.csv --window 0,10 --cells 60 -o t.summary",
    ] {
        folder.run(&format!("{line} -q")).good();
    }
    folder.run("sgcp t.csv --window 0,10 --chains 2 --warm-up 10 --max-sweeps 10 --checkpoint c.sgcp -q");
    folder.names().into_iter().map(|name| (name.clone(), folder.read(&name))).collect()
}

#[cfg(feature = "parquet")]
fn parquet() -> Vec<u8> {
    use parquet::data_type::DoubleType;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;
    let schema = Arc::new(parse_message_type("message events { required double t; }").unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0, 2.5, 3.0, 7.5, 9.0], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.into_inner().unwrap()
}

/// What belongs together: most lines are about one of these, so that they get past the first question.
#[derive(Clone, Copy)]
pub enum Theme {
    Line,
    Plane,
    Dates,
    /// Everything with everything.
    Any,
}

/// Names of files for what is called so in an argument.
pub fn for_argument(id: &str, theme: Theme) -> &'static [&'static str] {
    match (id, theme) {
        ("model" | "models", Theme::Line) => &["line.json", "lattice.json"],
        ("model" | "models", Theme::Plane) => &["plane.json"],
        ("model" | "models", Theme::Dates) => &["dates.json"],
        ("model" | "models", Theme::Any) => &["line.json", "lattice.json", "plane.json", "dates.json"],
        ("events" | "train" | "test" | "table", theme) => match theme {
            Theme::Line => &["t.csv", "t.csv", "t.csv.gz", "t.parquet", "trials.csv", "t.summary", "coal"],
            Theme::Plane => &["p.csv", "p.csv", "p.summary"],
            Theme::Dates => &["dates.csv"],
            Theme::Any => &["t.csv", "p.csv", "three.csv", "dates.csv", "line.json", "border.geojson"],
        },
        ("name" | "names", _) => &["coal", "se", "kenya", "matern32"],
        _ => &["t.csv", "line.json", "lattice.json", "p.summary", "border.geojson"],
    }
}

/// Values that fit an option, as far as they are known; what is not known gets something of everything.
pub fn for_option(name: &str, theme: Theme) -> &'static [&'static str] {
    match (name, theme) {
        ("window", Theme::Line) => &["0,10", "-1,11"],
        ("window", Theme::Plane) => &["0,5,0,5", "border.geojson", "-1,9,-1,9"],
        ("window", Theme::Dates) => &["2016-01-01,2017-01-01", "2015-06-01T12:00:00Z,2017-01-01"],
        ("in", Theme::Line) => &["2,3", "0,10", "8,12", "9.5,10"],
        ("in", Theme::Plane) => &["1,2,1,2", "border.geojson"],
        ("in", Theme::Dates) => &["2016-02-01,2016-03-01"],
        ("window" | "in" | "region", _) => &[
            "0,10",
            "0,5,0,5",
            "-1,11",
            "2,3",
            "border.geojson",
            "border.geojson,0,12",
            "0,5,0,5,0,12",
            "2016-01-01,2017-01-01",
            "1,2,1,2",
        ],
        ("kernel", Theme::Plane) => &["se(x)*se(y)", "se", "matern32", "se(x) + matern52(y)", "rq(x)*se(y)"],
        ("kernel", _) => &[
            "se(t)",
            "se",
            "matern32(t)",
            "2*se(t) + linear(t)",
            "periodic(t, period=1!)*se(t)",
            "rq(x)*se(y)",
            "cosine(t, period=2)",
            "polynomial(t, degree=2)",
            "constant",
            "se(x0)",
        ],
        ("prior", _) => {
            &["lengthscale ~ lognormal(0, 1)", "variance ~ gamma(2, 1)", "lengthscale[t] ~ lognormal(1,0.5)"]
        }
        ("fix", _) => &["lengthscale=1", "variance=2", "mean=0.5", "lengthscale[x]=1"],
        ("intensity", Theme::Plane) => &["2", "x*y", "exp(-x)+1"],
        ("intensity", _) => {
            &["2", "3*exp(-t/5)", "1+sin(t)", "interp(t, 0,2, 5,3, 10,1)", "step(t-5)*2", "x*y", "max(0, 1-t)"]
        }
        ("sgcp", _) => &["ceiling=3, lengthscale=2", "ceiling=2, lengthscale=1, variance=2, mean=-1"],
        ("where", _) => &["kind == \"k1\"", "t < 5", "x != 1", "kind in (\"k1\", \"k2\")", "t > 2"],
        ("unit", _) => &["t=s", "area=m²", "x=km"],
        ("columns", Theme::Line) => &["t", "0"],
        ("columns", Theme::Plane) => &["x,y", "y,x"],
        ("columns", Theme::Dates) => &["time"],
        ("columns", _) => &["t", "x,y", "0", "y,x", "x,y,t", "time", "kind"],
        ("grid" | "nodes" | "inducing" | "cells", Theme::Line | Theme::Dates) => &["3", "12", "1", "5"],
        ("grid" | "nodes" | "inducing" | "cells", Theme::Plane) => &["4x4", "2x3", "3x3"],
        ("grid" | "nodes" | "inducing" | "cells", _) => &["3", "5", "4x4", "3x3x3", "12", "1", "2x3"],
        ("quantiles", _) => &["0.05,0.95", "0.5", "0.1,0.5,0.9"],
        ("show", _) => &["mean", "sd", "quantile=0.9", "exceed=1"],
        ("with", _) => &["line.json", "lattice.json", "plane.json"],
        ("mark", _) => &["5", "2=here", "2016-02-23=then"],
        ("limits", _) => &["0,10", "0.1,5"],
        ("size", _) => &["one-column", "two-column", "120,80"],
        ("palette", _) => &["grey", "magma"],
        ("points", _) => &["hide", "thin", "all"],
        ("times", _) => &["1", "3"],
        ("at-times", _) => &["1,2", "5"],
        ("exposure", _) => &["exposure.csv", "weights.csv"],
        ("trials", _) => &["intervals.csv"],
        ("trial-column", _) => &["trial", "kind"],
        ("at" | "test", Theme::Line) => &["at.csv", "t.csv"],
        ("at" | "test", Theme::Plane) => &["p.csv"],
        ("at" | "test", _) => &["at.csv", "dates.csv", "p.csv"],
        ("truth", _) => &["truth.csv", "out.csv"],
        ("update" | "model", _) => &["line.json", "lattice.json", "plane.json"],
        ("checkpoint", _) => &["c.sgcp", "new.sgcp"],
        ("output" | "csv" | "figure", _) => {
            &["out.csv", "out.json", "out.svg", "out.pdf", "out.png", "out.summary", "-"]
        }
        ("max-memory", _) => &["1GB", "100MB", "2gb"],
        ("time-unit", _) => &["days", "s", "hours"],
        ("date-format", _) => &["%d/%m/%Y", "iso"],
        ("epoch", _) => &["s", "ms"],
        ("methods", _) => &["vbpp", "ks+ec,homogeneous", "sgcp"],
        ("bandwidth", Theme::Plane) => &["0.5,0.5"],
        ("bandwidth", _) => &["1", "0.5,0.5"],
        ("smoothness", _) => &["2", "4", "auto"],
        ("seed" | "threads" | "repeats" | "skip-bad" | "chains" | "splits", _) => &["1", "2", "10"],
        ("samples" | "draws" | "max-sweeps" | "warm-up" | "max-evaluations", _) => &["1", "10", "100"],
        _ => &["1", "0.5", "10", "t", "t.csv", "0,10", "auto"],
    }
}
