//! `summarize` as a real process: the same summary from every format, in parts and on any number of threads; and what it refuses.

use crate::common::Folder;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::process::Stdio;

const WINDOW: &str = "--window 0,10,0,5";

/// Events in the plane that are no pattern, denser in one corner.
fn rows(count: usize) -> Vec<[f64; 2]> {
    let place = |i: usize, step: f64| ((i as f64 + 0.5) * step).fract().powf(1.4);
    (0..count).map(|i| [10.0 * place(i, 0.618_034), 5.0 * place(i, 0.754_878)]).collect()
}

/// Events of which every second one lies in a bump.
fn bump(count: usize) -> Vec<[f64; 2]> {
    let place = |i: usize, step: f64| ((i as f64 + 0.5) * step).fract();
    let at = |i: usize| {
        let [u, v, w, z] = [0.618_034, 0.754_878, 0.569_840, 0.819_173].map(|step| place(i, step));
        if i.is_multiple_of(2) { [10.0 * u, 5.0 * v] } else { [3.0 + 2.0 * (u + w - 1.0), 2.0 + (v + z - 1.0)] }
    };
    (0..count).map(at).collect()
}

fn csv(rows: &[[f64; 2]]) -> String {
    rows.iter().fold("lon,lat\n".to_string(), |text, [x, y]| text + &format!("{x},{y}\n"))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The cells of a summary, without its header and checksum.
fn cells(summary: &[u8]) -> &[u8] {
    let header = u32::from_le_bytes(summary[12..16].try_into().unwrap()) as usize;
    &summary[16 + header..summary.len() - 8]
}

/// A folder with a file in a folder of its own, so that files of many formats can have one name.
fn put(folder: &Folder, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
    folder.write(name, bytes);
}

#[test]
fn it_says_what_it_did() {
    let folder = Folder::new();
    folder.write("events.csv", csv(&rows(20_000)));
    let run = folder.run(&format!("summarize events.csv {WINDOW} --cells 20x10 -o events.summary --json")).good();
    let json = run.json();
    assert_eq!(
        (json["events"].as_u64(), json["skipped"].as_u64(), json["dropped"].as_u64()),
        (Some(20_000), Some(0), Some(0))
    );
    assert_eq!(json["cells"], serde_json::json!([20, 10]));
    assert!(json["nodes"].as_u64().unwrap() <= 20 * 10 * 16);
    assert!(json["seconds"].as_f64().unwrap() > 0.0 && json["events_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(json["window"]["box"], serde_json::json!([[0.0, 10.0], [0.0, 5.0]]));
    assert_eq!(json["warnings"], serde_json::json!([]));
    let text = folder.run(&format!("summarize events.csv {WINDOW} --cells 20x10 -o events.summary")).good().out;
    for word in ["events.csv: 20000 events, lon from 0 to 10, lat from 0 to 5", "20×10", "nodes", "bytes", "a second"]
    {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

#[test]
fn a_summary_can_go_to_standard_output() {
    let folder = Folder::new();
    folder.write("events.csv", csv(&rows(1000)));
    folder.run(&format!("summarize events.csv {WINDOW} --cells 20x10 -o file.summary")).good();
    let output = folder.command(&format!("summarize events.csv {WINDOW} --cells 20x10 -o -")).output().unwrap();
    assert!(output.status.success() && output.stdout == folder.read("file.summary"));
}

#[test]
fn parts_together_are_the_whole() {
    let (folder, all) = (Folder::new(), rows(30_000));
    folder.write("all.csv", csv(&all)).write("a.csv", csv(&all[..7_001])).write("b.csv", csv(&all[7_001..]));
    let summarize = |files: &str, to: &str| {
        folder.run(&format!("summarize {files} {WINDOW} --cells 30x20 -o {to} --json")).good().json()["events"].as_u64()
    };
    assert_eq!(summarize("all.csv", "all.summary"), Some(30_000));
    assert_eq!(summarize("a.csv b.csv", "both.summary"), Some(30_000));
    assert_eq!((summarize("a.csv", "a.summary"), summarize("b.csv", "b.summary")), (Some(7_001), Some(22_999)));
    assert_eq!(
        cells(&folder.read("all.summary")),
        cells(&folder.read("both.summary")),
        "the order of events is the same"
    );
    assert_ne!(cells(&folder.read("all.summary")), cells(&folder.read("a.summary")));
}

#[test]
fn parts_fitted_together_are_the_whole_fitted() {
    let (folder, all) = (Folder::new(), rows(30_000));
    folder.write("all.csv", csv(&all)).write("a.csv", csv(&all[..7_001])).write("b.csv", csv(&all[7_001..]));
    for name in ["all", "a", "b"] {
        folder.run(&format!("summarize {name}.csv {WINDOW} -o {name}.summary")).good();
    }
    let fit = |words: &str| folder.run(&format!("fit {words} --json")).json();
    let elbo = |words: &str| fit(words)["elbo"].as_f64().unwrap();
    let whole = elbo("all.summary");
    assert!((elbo("a.summary b.summary") - whole).abs() < 1e-4 * whole.abs());
    assert!((elbo(&format!("a.csv b.csv {WINDOW}")) - whole).abs() < 1e-4 * whole.abs());
    assert!((elbo(&format!("all.csv --exact {WINDOW}")) - whole).abs() < 1e-3 * whole.abs());
    assert_eq!(fit("a.summary b.summary")["events"].as_u64(), Some(30_000));
    folder.run("fit a.summary b.summary -o model.json").good();
    folder.run("plot model.json -o figure.svg").good();
}

#[test]
fn a_source_that_is_given_twice_is_said() {
    let folder = Folder::new();
    folder.run("summarize coal -o coal.summary").good();
    folder.write("copy.summary", folder.read("coal.summary"));
    let twice = folder.run("fit coal.summary copy.summary --nodes 40 --average off --json").good();
    assert!(twice.err.contains("two of the sources are called coal"), "{}", twice.err);
    assert_eq!(twice.json()["events"], 382);
    assert!(!folder.run("fit coal.summary --nodes 40 --average off").good().err.contains("two of the sources"));
}

#[test]
fn a_model_is_updated_by_a_summary() {
    let (folder, all) = (Folder::new(), bump(30_000));
    folder.write("all.csv", csv(&all)).write("a.csv", csv(&all[..20_000])).write("b.csv", csv(&all[20_000..]));
    for name in ["all", "a", "b"] {
        folder.run(&format!("summarize {name}.csv {WINDOW} -o {name}.summary")).good();
    }
    for basis in
        // Of several families an update follows those that counted, so that another may be the one with a local scale.
        [
            "--inducing 9x9 --average off",
            "--nodes 24x24 --link log --smoothness 2",
            "--nodes 24x24 --smoothness 2 --average off",
        ]
    {
        folder.run(&format!("fit a.summary {basis} -o a.json")).good();
        let average = if basis.ends_with("off") { "--average off" } else { "" };
        let updated = folder.run(&format!("fit --update a.json b.summary {average} -o ab.json --json")).json();
        let fresh = folder.run(&format!("fit all.summary {basis} --json")).json();
        let number = |fit: &serde_json::Value, name: &str| fit[name].as_f64().unwrap();
        assert_eq!(number(&updated, "events"), 30_000.0);
        let difference = number(&updated, "elbo") - number(&fresh, "elbo");
        assert!(difference.abs() < 0.1, "{basis}: {difference}");
        // An average is found anew: other events may change what is likely.
        if !basis.ends_with("2") {
            assert!(number(&updated, "evaluations") < 0.6 * number(&fresh, "evaluations"), "{basis}");
        }
        // The model that was updated can be updated again.
        folder.run(&format!("fit --update ab.json b.summary {average}")).good();
    }
    folder.run("fit coal -o coal.json").good();
    folder.run("fit --update coal.json b.summary").refused(&["does not know its events by cell"]);
    folder.run("fit --update a.json b.csv").refused(&["pointillist summarize"]);
    folder.run(&format!("summarize b.csv {WINDOW} --cells 50x50 -o c.summary")).good();
    folder.run("fit --update a.json c.summary").refused(&["cannot be joined"]);
    folder.run("summarize b.csv --window 0,11,0,6 -o d.summary").good();
    folder.run("fit --update a.json d.summary").refused(&["window"]);
}

#[test]
fn an_update_goes_on_with_what_was_asked_of_hyperparameters() {
    let (folder, all) = (Folder::new(), bump(3_000));
    folder.write("a.csv", csv(&all[..2_000])).write("b.csv", csv(&all[2_000..]));
    for name in ["a", "b"] {
        folder.run(&format!("summarize {name}.csv {WINDOW} --geography plane -o {name}.summary")).good();
    }
    let asked = "--nodes 16x16 --smoothness 2 --link log --average off --fix lengthscale=2 --prior variance~gamma(2,1)";
    folder.run(&format!("fit a.summary {asked} -o a.json")).good();
    let updated = folder.run("fit --update a.json b.summary -o ab.json --json").json();
    let lengths = updated["hyperparameters"]["lengthscale"].as_array().unwrap();
    let is = |length: &serde_json::Value, held: f64| length.as_f64().is_some_and(|length| (length - held).abs() < 1e-9);
    assert!(lengths.iter().all(|length| is(length, 2.0)), "{lengths:?}");
    assert_eq!(updated["asked"]["priors"][0][0], "variance");
    assert_ne!(updated["log_prior"].as_f64(), Some(0.0));
    // What is said anew counts.
    let other = folder.run("fit --update ab.json b.summary --fix lengthscale=3 --json").json();
    assert!(is(&other["hyperparameters"]["lengthscale"][0], 3.0), "{other}");
}

#[test]
fn every_format_and_number_of_threads_gives_the_same_bytes() {
    let (folder, text) = (Folder::new(), csv(&rows(300_000)));
    assert!(text.len() > 9 << 20, "several blocks of text");
    put(&folder, "csv/events", &text);
    put(&folder, "gz/events", gzip(&text));
    put(&folder, "crlf/events", text.replace('\n', "\r\n"));
    put(&folder, "tsv/events", format!("# events\n\n{}", text.replace(',', "\t").trim_end()));
    let note = |n: usize| if n % 30 == 29 { "\"two\nlines\"" } else { "one" };
    let quoted: String = text.lines().enumerate().map(|(n, line)| format!("{},{line}\n", note(n))).collect();
    put(&folder, "quoted/events", quoted);
    let summary = |source: &str, threads: usize| {
        folder.run(&format!("summarize {source}/events {WINDOW} -o events.summary --threads {threads} -q")).good();
        folder.read("events.summary")
    };
    let expected = summary("csv", 1);
    assert!(summary("csv", 2) == expected && summary("csv", 4) == expected);
    for source in ["gz", "crlf", "tsv", "quoted"] {
        assert!(summary(source, 2) == expected, "{source}");
    }
    folder.run_with(&format!("summarize - {WINDOW} -o events.summary"), &text).good();
    assert!(cells(&folder.read("events.summary")) == cells(&expected));
}

#[test]
fn the_window_is_found_or_given() {
    let folder = Folder::new();
    folder.write("a.csv", "t,x\n1,5\n2,7\n").write("b.csv", "t,x\n-3,6\n0,6.5\n");
    let run = folder.run("summarize a.csv b.csv -o ab.summary --json").good();
    assert_eq!(run.json()["window"]["box"], serde_json::json!([[-3.0, 2.0], [5.0, 7.0]]));
    assert!(run.err.contains("warning: no --window was given") && run.err.contains("-3,2,5,7"), "{}", run.err);
    folder.run_with("summarize - -o x.summary", "t\n1\n").refused(&["standard input", "--window"]);
    let run = folder.run("summarize coal -o coal.summary --json").good().json();
    assert_eq!((run["events"].as_u64(), run["cells"].clone()), (Some(191), serde_json::json!([110_880])));
    assert_eq!(run["window"]["box"][0][0].as_f64(), Some(1851.2026009582));
    folder.write("x.csv", "t,y\n1,2\n");
    folder.run("summarize a.csv x.csv -o x.summary").refused(&["x.csv", "t, y", "a.csv", "t, x", "--columns"]);
    folder.run("summarize a.csv --trials t.csv -o x.summary").refused(&["trials", "--repeats"]);
    folder.run("summarize a.csv --cells 3 -o x.summary").refused(&["--cells 3"]);
    folder.run("summarize cola -o x.summary").refused(&["cola", "bundled"]);
    folder.run("summarize coal -o missing/x.summary").refused(&["directory"]);
    assert!(!folder.names().contains(&"x.summary".to_string()));
}

#[test]
fn dates_begin_where_the_window_does() {
    let folder = Folder::new();
    folder.write("a.csv", "when\n2016-03-02T12:00Z\n2016-03-05\n").write("b.csv", "when\n2016-02-23T06:00:00Z\n");
    let window = "--window 2016-02-22T18:00Z,2016-04-01";
    let summarize = |files: &str, options: &str| {
        folder.run(&format!("summarize {files} {options} -o {}.summary --json", &files[..1])).good().json()
    };
    for files in ["a.csv", "b.csv"] {
        let found = summarize(files, window);
        assert_eq!(found["window"]["box"], serde_json::json!([[0.75, 39.0]]));
        assert_eq!(found["window"]["axes"][0]["origin"].as_f64(), Some(1_456_099_200.0), "2016-02-22");
    }
    let found = summarize("a.csv b.csv", "--time-unit hours");
    assert_eq!(found["window"]["box"], serde_json::json!([[6.0, 264.0]]));
    folder.run(&format!("summarize a.csv {window} --time-unit hours -o b.summary")).good();
    folder.run(&format!("summarize a.csv {window} -o a.summary")).good();
    folder.run("fit a.summary b.summary").refused(&["a.summary and b.summary", "days since 2016-02-22", "hours since"]);
    folder.run("summarize a.csv --window 0,50 -o c.summary").refused(&["dates"]);
}

#[test]
fn events_outside_are_refused_or_dropped() {
    let folder = Folder::new();
    let mut text = csv(&rows(200_000));
    let first = text.lines().count() + 1;
    text += "11,3\n4,4\n3,-1\n";
    folder.write("events.csv", &text);
    let refused = folder.run(&format!("summarize events.csv {WINDOW} -o x.summary"));
    refused.refused(&["events.csv", "2 of 200003", &format!("line {first}"), "lon 11, lat 3", "--clip", "--window"]);
    assert_eq!(folder.names(), ["events.csv"]);
    let run = folder.run(&format!("summarize events.csv {WINDOW} --clip -o x.summary --json")).good();
    assert_eq!((run.json()["events"].as_u64(), run.json()["dropped"].as_u64()), (Some(200_001), Some(2)));
    assert!(run.err.contains("2 of 200003 events lie outside"), "{}", run.err);
    folder.run("summarize events.csv --window 20,30,0,5 --clip -o y.summary").refused(&["no event lies inside"]);
    folder.write("t.csv", "t\n1\n2\n3\n").write("e.csv", "t,e\n0,0\n2.5,0\n5,1\n");
    folder.run("summarize t.csv --window 0,5 --exposure e.csv -o y.summary").refused(&[
        "2 of 3",
        "exposure is zero",
        "line 2",
    ]);
    let run = folder.run("summarize t.csv --window 0,5 --exposure e.csv --clip -o y.summary --json").good();
    assert_eq!((run.json()["events"].as_u64(), run.json()["dropped"].as_u64()), (Some(1), Some(2)));
}

#[test]
fn a_bad_line_is_named_however_far_down_it_is() {
    let folder = Folder::new();
    let mut text = "t,x\n".to_string();
    for line in 2..=1_000_050 {
        text += match line {
            1_000_000 => "oops,1\n",
            1_000_010 => "3\n",
            _ => "2.5,1\n",
        };
    }
    folder.write("log.csv", &text);
    let run = |options: &str| folder.run(&format!("summarize log.csv --window 0,5,0,5 -o log.summary {options}"));
    run("").refused(&["log.csv, line 1000000:", "`t`", "`oops`"]);
    run("--skip-bad 1").refused(&["log.csv, line 1000010:", "1 bad line", "--skip-bad"]);
    assert_eq!(folder.names(), ["log.csv"]);
    let passed = run("--skip-bad 2 --json").good();
    assert_eq!((passed.json()["events"].as_u64(), passed.json()["skipped"].as_u64()), (Some(1_000_047), Some(2)));
    assert!(passed.err.contains("warning: 2 bad lines were skipped"), "{}", passed.err);
    // Without a window the first of two passes meets them.
    folder.run("summarize log.csv -o log.summary").refused(&["log.csv, line 1000000:"]);
    folder.write("short.csv", "t,x\n1,2\nx,1\n2,3\n");
    folder
        .run("summarize short.csv log.csv --skip-bad 2 -o log.summary")
        .refused(&["log.csv, line 1000010:", "2 bad lines"]);
    let warned = folder.run("fit short.csv --skip-bad 1 --inducing 4x4 --json");
    assert!(warned.err.contains("1 bad line was skipped"), "{}", warned.err);
    assert_eq!(warned.json()["events"].as_u64(), Some(2));
}

#[test]
fn summaries_that_are_damaged_or_do_not_belong_together() {
    let folder = Folder::new();
    folder.write("events.csv", csv(&rows(3000)));
    let summarize = |options: &str, to: &str| {
        folder.run(&format!("summarize events.csv {options} --geography plane -o {to}.summary -q")).good();
        folder.read(&format!("{to}.summary"))
    };
    let whole = summarize(&format!("{WINDOW} --cells 12x12"), "a");
    summarize("--window 0,20,0,5 --cells 12x12", "wide");
    summarize(&format!("{WINDOW} --cells 12x10"), "coarse");
    summarize(&format!("{WINDOW} --cells 12x12 --columns lat,lon --clip"), "turned");
    folder.run("fit a.summary wide.summary").refused(&[
        "a.summary and wide.summary",
        "0,10,0,5 and 0,20,0,5",
        "--window",
    ]);
    folder.run("fit a.summary coarse.summary").refused(&["12x12 and 12x10", "--cells"]);
    folder.run("fit a.summary turned.summary").refused(&["lon, lat and lat, lon", "--columns"]);
    folder.run("fit a.summary events.csv").refused(&["a.summary is a summary", "events.csv", "summarize"]);
    folder.run("fit a.summary --exact").refused(&["--exact", "a.summary"]);
    folder.run("fit a.summary --window 0,5,0,5").refused(&["--window", "summarize"]);
    for length in [9, 14, 40, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.summary", &whole[..length]);
        folder.run("fit cut.summary").refused(&["cut.summary", "cut short"]);
    }
    let changed = |place: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[place] ^= value;
        folder.write("changed.summary", bytes);
        folder.run("fit a.summary changed.summary")
    };
    changed(whole.len() / 2, 1).refused(&["changed.summary", "checksum"]);
    changed(whole.len() - 1, 1).refused(&["checksum"]);
    changed(16, 1).refused(&["changed.summary", "checksum"]);
    changed(9, 1).refused(&["newer version", "update"]);
}

#[test]
fn other_commands_say_what_a_summary_is() {
    let folder = Folder::new().with_model();
    folder.run("summarize coal -o coal.summary").good();
    for verb in ["plot", "smooth", "compare", "score model.json", "check model.json", "summarize -o x.summary"] {
        folder
            .run(&format!("{verb} coal.summary"))
            .refused(&["coal.summary is a summary", "pointillist fit coal.summary"]);
    }
    for verb in ["predict", "count", "sample"] {
        folder
            .run(&format!("{verb} coal.summary"))
            .refused(&["coal.summary is a summary", "pointillist fit coal.summary"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let folder = Folder::new();
    folder.run("summarize coal -o /dev/full").refused(&["/dev/full", "full"]);
}

#[cfg(unix)]
#[test]
fn a_pass_that_is_ended_leaves_nothing() {
    for (signal, code) in [("-KILL", None), ("-INT", Some(130))] {
        let folder = Folder::new();
        let mut command = folder.stoppable(&format!("summarize - {WINDOW} -o part.summary"));
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // More than one batch, so that the pass is under way when the last byte has gone in; and it waits for more.
        let mut input = child.stdin.take().unwrap();
        input.write_all(csv(&rows(700_000)).as_bytes()).unwrap();
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success(), "it was still running");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code);
        assert!(folder.names().is_empty(), "{:?}", folder.names());
        drop(input);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let folder = Folder::new();
    folder.write("events.parquet", b"PAR1\x15\x00\x15PAR1");
    folder.run("fit events.parquet").refused(&["events.parquet", "does not read", "feature `parquet`"]);
    folder.run("summarize events.parquet -o x.summary").refused(&[
        "events.parquet",
        "does not read",
        "feature `parquet`",
    ]);
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use super::*;
    use parquet::basic::Compression as Codec;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
    use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// A column to be written.
    enum Column {
        Double(Vec<f64>),
        Nulls(Vec<Option<f64>>),
        Float(Vec<f32>),
        Int32(Vec<i32>),
        Int64(Vec<i64>),
        Text(Vec<&'static str>),
        /// A list of one value a row.
        List(Vec<f64>),
    }

    /// A file with these row groups.
    fn written(schema: &str, codec: Codec, groups: &[Vec<Column>]) -> Vec<u8> {
        let schema = Arc::new(parse_message_type(&format!("message events {{ {schema} }}")).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        for columns in groups {
            let mut group = file.next_row_group().unwrap();
            for column in columns {
                let mut writer = group.next_column().unwrap().unwrap();
                match column {
                    Column::Double(values) => writer.typed::<DoubleType>().write_batch(values, None, None),
                    Column::Nulls(values) => {
                        let levels: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
                        let there: Vec<f64> = values.iter().flatten().copied().collect();
                        writer.typed::<DoubleType>().write_batch(&there, Some(&levels), None)
                    }
                    Column::Float(values) => writer.typed::<FloatType>().write_batch(values, None, None),
                    Column::Int32(values) => writer.typed::<Int32Type>().write_batch(values, None, None),
                    Column::Int64(values) => writer.typed::<Int64Type>().write_batch(values, None, None),
                    Column::Text(values) => {
                        let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
                        writer.typed::<ByteArrayType>().write_batch(&values, None, None)
                    }
                    Column::List(values) => {
                        let (there, first) = (vec![1; values.len()], vec![0; values.len()]);
                        writer.typed::<DoubleType>().write_batch(values, Some(&there), Some(&first))
                    }
                }
                .unwrap();
                writer.close().unwrap();
            }
            group.close().unwrap();
        }
        file.into_inner().unwrap()
    }

    fn plane(rows: &[[f64; 2]], codec: Codec, group: usize) -> Vec<u8> {
        let axis = |rows: &[[f64; 2]], r: usize| Column::Double(rows.iter().map(|row| row[r]).collect());
        let groups: Vec<_> = rows
            .chunks(group)
            .map(|rows| vec![axis(rows, 0), Column::Text(vec!["somewhere"; rows.len()]), axis(rows, 1)])
            .collect();
        written("required double lon; required binary note (UTF8); required double lat;", codec, &groups)
    }

    #[track_caller]
    fn fails(folder: &Folder, words: &[&str]) {
        folder.run("fit events.parquet --window 0,10").refused(words);
        folder.run("summarize events.parquet --window 0,10 -o x.summary").refused(words);
    }

    #[cfg(unix)]
    #[test]
    fn parquet_comes_through_a_pipe() {
        let folder = Folder::new();
        let file = plane(&rows(5000), Codec::UNCOMPRESSED, 2000);
        assert!(file.len() > 1 << 16);
        for verb in ["fit /dev/stdin --inducing 3x3", "summarize /dev/stdin --cells 9x9 -o s.summary"] {
            let run = folder.run_with_bytes(&format!("{verb} {WINDOW} --json"), &file).good();
            assert_eq!(run.json()["events"], 5000);
        }
        let run = folder.run_with_bytes(&format!("fit /dev/stdin {WINDOW} --max-memory 20kB"), &file);
        run.refused(&["standard input", "20 kB"]);
    }

    #[test]
    fn rows_are_taken_by_a_condition_and_epochs_are_dates() {
        let folder = Folder::new();
        let names = ["oak", "elm", "oak", "ash"];
        let columns = vec![
            Column::Text((0..200).map(|n| names[n % 4]).collect()),
            Column::Int64((0..200).map(|n| 1_700_000_000_000 + 3_600_000 * n).collect()),
            Column::Nulls((0..200).map(|n| (n % 4 != 1).then_some(0.05 * n as f64)).collect()),
        ];
        let schema = "required binary species (UTF8); required int64 time; optional double x;";
        folder.write("events.parquet", written(schema, Codec::SNAPPY, &[columns]));
        let fit = |words: &str| folder.run(&format!("fit events.parquet --inducing 4 --json {words}")).good();
        // What is null among the elms does not matter.
        let run = fit("--columns x --window 0,10 --where 'species in (oak, ash) and x < 5'");
        assert_eq!(run.json()["events"], 75);
        assert!(run.err.contains("kept 75 of 200 rows"), "{}", run.err);
        let words = "--columns x --window 0,10 --where 'species == \"oak\"' --json";
        let summary = folder.run(&format!("summarize events.parquet {words} -o s.summary")).good().json();
        assert_eq!(summary["events"], 100);
        for verb in ["fit events.parquet", "summarize events.parquet -o s.summary"] {
            let run = folder.run(&format!("{verb} --columns x --window 0,10 --where 'species == \"fir\"'"));
            run.refused(&["none of the 200 rows", "oak, elm, ash"]);
        }
        let window = "--window 2023-11-14,2023-11-24";
        let run = fit(&format!("--epoch ms {window} --where 'time < 2023-11-15T00:00Z'"));
        assert_eq!(run.json()["window"]["axes"][0]["name"], "time");
        assert_eq!(run.json()["events"], 2);
        folder.run("fit events.parquet --date-format %Y").refused(&["Parquet", "--date-format"]);
    }

    #[test]
    fn parquet_gives_the_bytes_that_text_gives() {
        let (folder, events) = (Folder::new(), rows(150_000));
        put(&folder, "csv/events", csv(&events));
        let summary = |source: &str, options: &str| {
            folder.run(&format!("summarize {source}/events {options} --cells 50x40 -o events.summary -q")).good();
            folder.read("events.summary")
        };
        let (given, found) = (summary("csv", WINDOW), summary("csv", ""));
        for codec in
            [Codec::UNCOMPRESSED, Codec::SNAPPY, Codec::GZIP(Default::default()), Codec::ZSTD(Default::default())]
        {
            put(&folder, "parquet/events", plane(&events, codec, 40_000));
            assert!(summary("parquet", &format!("{WINDOW} --threads 1")) == given, "{codec}");
            assert!(summary("parquet", &format!("{WINDOW} --threads 4")) == given, "{codec}");
            assert!(summary("parquet", "") == found, "{codec}: the box from its statistics");
        }
        // A table in memory is the same table.
        let folder = Folder::new();
        folder.write("a.csv", csv(&events[..300])).write("a.parquet", plane(&events[..300], Codec::SNAPPY, 100));
        let fit = |name: &str| folder.run(&format!("fit {name} {WINDOW} --inducing 4x4 --json")).json()["elbo"].clone();
        assert_eq!(fit("a.csv"), fit("a.parquet"));
        let bytes = folder.read("a.parquet");
        let mut child = folder.command(&format!("summarize - {WINDOW} -o in.summary"));
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(child.wait().unwrap().success());
        folder.run(&format!("summarize a.csv {WINDOW} -o a.summary")).good();
        assert_eq!(cells(&folder.read("in.summary")), cells(&folder.read("a.summary")));
    }

    #[test]
    fn numbers_of_every_type_and_dates_are_read() {
        let folder = Folder::new();
        let types = "required float f; required int32 i; required int64 l; required int64 u (INTEGER(64,false));";
        let columns = vec![
            Column::Float(vec![0.5, 2.0]),
            Column::Int32(vec![-3, 4]),
            Column::Int64(vec![5, 6]),
            Column::Int64(vec![7, 8]),
        ];
        folder.write("events.parquet", written(types, Codec::UNCOMPRESSED, &[columns]));
        for (name, ends) in [("f", [0.5, 2.0]), ("i", [-3.0, 4.0]), ("l", [5.0, 6.0]), ("u", [7.0, 8.0])] {
            let run = folder.run(&format!("summarize events.parquet --columns {name} -o x.summary --json")).good();
            assert_eq!(run.json()["window"]["box"], serde_json::json!([ends]), "{name}");
        }
        folder.run("summarize events.parquet -o x.summary").refused(&["4 columns of numbers", "f, i, l, u"]);
        let types = "required int32 day (DATE); required int64 ms (TIMESTAMP(MILLIS,true)); \
            required int64 us (TIMESTAMP(MICROS,true)); required int64 ns (TIMESTAMP(NANOS,true));";
        let noon = 16_854 * 86_400 + 43_200; // 2016-02-23T12:00Z
        let stamp = |scale: i64| Column::Int64(vec![noon * scale, (noon + 86_400) * scale]);
        let columns = vec![Column::Int32(vec![16_854, 16_855]), stamp(1000), stamp(1_000_000), stamp(1_000_000_000)];
        folder.write("events.parquet", written(types, Codec::UNCOMPRESSED, &[columns]));
        folder.write("events.csv", "t\n2016-02-23T12:00Z\n2016-02-24T12:00Z\n");
        let window = "--window 2016-02-22,2016-03-01";
        folder.run(&format!("summarize events.csv {window} -o csv.summary -q")).good();
        for name in ["ms", "us", "ns"] {
            let run =
                folder.run(&format!("summarize events.parquet --columns {name} {window} -o x.summary --json")).good();
            assert_eq!(run.json()["window"]["axes"][0]["unit"], "days");
            assert_eq!(cells(&folder.read("x.summary")), cells(&folder.read("csv.summary")), "{name}");
            let run = folder.run(&format!("summarize events.parquet --columns {name} -o x.summary --json")).good();
            assert_eq!(run.json()["window"]["box"], serde_json::json!([[0.5, 1.5]]), "{name}");
        }
        let run = folder.run("summarize events.parquet --columns day -o x.summary --json").good();
        assert_eq!(run.json()["window"]["box"], serde_json::json!([[0.0, 1.0]]));
    }

    #[test]
    fn nulls_and_infinities_are_named_and_can_be_skipped() {
        let folder = Folder::new();
        let mut values: Vec<Option<f64>> = (0..100_000).map(|n| Some(f64::from(n % 10))).collect();
        (values[70_001], values[80_002]) = (None, Some(f64::NAN));
        let groups: Vec<_> = values.chunks(30_000).map(|values| vec![Column::Nulls(values.to_vec())]).collect();
        folder.write("events.parquet", written("optional double t;", Codec::SNAPPY, &groups));
        fails(&folder, &["events.parquet, row 70002", "`t`", "null"]);
        let run = |options: &str| folder.run(&format!("summarize events.parquet {options} -o x.summary --json"));
        run("--window 0,10 --skip-bad 1").refused(&["row 80003", "NaN", "1 bad row"]);
        for window in ["--window 0,9", ""] {
            let run = run(&format!("{window} --skip-bad 2")).good();
            assert_eq!((run.json()["events"].as_u64(), run.json()["skipped"].as_u64()), (Some(99_998), Some(2)));
            assert!(run.err.contains("2 bad rows were skipped"), "{}", run.err);
            assert_eq!(run.json()["window"]["box"], serde_json::json!([[0.0, 9.0]]));
        }
        run("--window 0,5 --skip-bad 2").refused(&["outside the window", "row 7 ("]);
    }

    #[test]
    fn what_is_not_a_plain_column_of_numbers_is_refused() {
        let folder = Folder::new();
        let write = |types: &str, column: Column| {
            folder.write("events.parquet", written(types, Codec::UNCOMPRESSED, &[vec![column]]));
        };
        write("required binary t (UTF8);", Column::Text(vec!["1", "2"]));
        fails(&folder, &["events.parquet", "no column of numbers", "t"]);
        folder.run("fit events.parquet --columns t").refused(&["events.parquet", "`t`", "text", "--columns"]);
        write("required int32 t (DECIMAL(9,2));", Column::Int32(vec![100, 200]));
        folder.run("fit events.parquet --columns t").refused(&["`t`", "decimals"]);
        write("repeated double t;", Column::List(vec![1.0, 2.0]));
        folder.run("fit events.parquet --columns t").refused(&["`t`", "nested"]);
        write("required group place { required double x; }", Column::Double(vec![1.0, 2.0]));
        folder.run("summarize events.parquet --columns place.x -o x.summary").refused(&["`place.x`", "nested"]);
        write("required double t;", Column::Double(vec![]));
        fails(&folder, &["events.parquet", "without rows"]);
    }

    #[test]
    fn a_file_cut_or_changed_anywhere_is_refused_or_read() {
        let folder = Folder::new();
        let whole = plane(&rows(200), Codec::SNAPPY, 100);
        for length in [11, 60, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
            folder.write("events.parquet", &whole[..length]);
            fails(&folder, &["events.parquet", "Parquet"]);
        }
        for place in (4..whole.len() - 4).step_by(whole.len() / 40) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x55;
            folder.write("events.parquet", bytes);
            let run = folder.run(&format!("summarize events.parquet {WINDOW} --clip --cells 9x9 -o x.summary"));
            assert!(run.code == 0 || run.code == 2, "{place}: {}", run.err);
            assert!(!run.err.contains("fault in pointillist"), "{place}: {}", run.err);
        }
    }
}
