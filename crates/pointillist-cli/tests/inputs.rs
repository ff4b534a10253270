//! Where input comes from, as a real process: pipes that give every byte once, compressed bombs, endless devices.

#![cfg(unix)]

use crate::common::Folder;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// Events in the plane, in more bytes than a pipe holds.
fn plane(count: usize) -> String {
    let place = |i: usize, step: f64| ((i as f64 + 0.5) * step).fract();
    let row = |i: usize| format!("{},{}\n", 10.0 * place(i, 0.618_034), 5.0 * place(i, 0.754_878));
    "x,y\n".to_string() + &(0..count).map(row).collect::<String>()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const WINDOW: &str = "--window 0,10,0,5";

#[test]
fn a_pipe_loses_no_event() {
    let folder = Folder::new();
    let text = plane(5000);
    assert!(text.len() > 1 << 16);
    let events = |bytes: &[u8], words: &str| {
        let run = folder.run_with_bytes(&format!("{words} --json"), bytes).good();
        run.json()["events"].as_u64().unwrap()
    };
    // Devices of this name are opened anew each time, and go on where the last reader stopped.
    for bytes in [text.as_bytes(), &gzip(text.as_bytes())] {
        assert_eq!(events(bytes, &format!("fit /dev/stdin {WINDOW} --inducing 4x4")), 5000);
        assert_eq!(events(bytes, &format!("summarize /dev/stdin {WINDOW} --cells 20x20 -o s.summary")), 5000);
        assert_eq!(events(bytes, &format!("smooth /dev/stdin {WINDOW} --bandwidth 1,1")), 5000);
    }
    folder.write("rest.csv", "x,y\n1,2\n3,4\n");
    let both = events(text.as_bytes(), &format!("fit rest.csv /dev/stdin {WINDOW} --inducing 4x4"));
    assert_eq!(both, 5002);
    assert_eq!(events(&folder.read("s.summary"), "fit /dev/stdin --inducing 4x4"), 5000);
    folder.run_with("summarize /dev/stdin -o s.summary", &text).refused(&["standard input", "only once", "--window"]);
}

#[test]
fn a_named_pipe_is_read_once() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    let (path, text) = (folder.path("pipe"), plane(5000));
    let writer = std::thread::spawn(move || std::fs::write(path, text));
    let fit = folder.run(&format!("fit pipe {WINDOW} --inducing 4x4 --json")).good().json();
    writer.join().unwrap().unwrap();
    assert_eq!(fit["events"], 5000);
}

#[test]
fn models_and_borders_come_through_pipes() {
    let folder = Folder::new().with_model();
    let model = folder.read("model.json");
    let (file, pipe) =
        (folder.run("predict model.json --grid 3"), folder.run_with_bytes("predict /dev/stdin --grid 3", &model));
    assert_eq!(file.good().out, pipe.good().out);
    folder.run_with_bytes("plot /dev/stdin -o rate.svg", &model).good();
    let border = r#"{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,5],[0,5],[0,0]]]}"#;
    folder.write("e.csv", plane(500)).write("z.csv", "x,y\n1,1\n5,2\n9,4\n");
    for words in ["fit e.csv --inducing 4x4", "summarize e.csv --cells 20x20 -o s.summary"] {
        let run = folder.run_with(&format!("{words} --window /dev/stdin --json"), border).good();
        assert_eq!(run.json()["events"], 500);
    }
    let words = format!("compare e.csv {WINDOW} --inducing /dev/stdin --methods vbpp,inducing --draws 2");
    folder.run_with_bytes(&words, &folder.read("z.csv")).good();
    folder.run_with_bytes("predict model.json --at /dev/stdin", b"year\n1900\n").good();
}

/// What unpacks to `count` rows that say little.
fn bomb(count: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"year\n").unwrap();
    let block = "1900\n".repeat(1 << 14);
    (0..count >> 14).for_each(|_| encoder.write_all(block.as_bytes()).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn a_bomb_is_refused_before_it_takes_all_memory() {
    let folder = Folder::new().with_model();
    // 84 MB in some 100 kB.
    folder.write("bomb.csv.gz", bomb(1 << 24)).write("e.csv", "year\n1860\n1900\n").write("runs.csv", "run,t\n1,2\n");
    let words = ["bomb.csv.gz", "--max-memory", "20 MB", "summarize"];
    for verb in [
        "fit bomb.csv.gz --window 1850,1950",
        "score model.json bomb.csv.gz",
        "check model.json bomb.csv.gz",
        "predict model.json --at bomb.csv.gz",
        "plot bomb.csv.gz -o x.svg",
        "plot model.json --events bomb.csv.gz -o x.svg",
        "smooth bomb.csv.gz",
        "compare e.csv bomb.csv.gz",
        "compare e.csv --truth bomb.csv.gz",
        "fit e.csv --window 1850,1950 --exposure bomb.csv.gz",
        "fit runs.csv --trials bomb.csv.gz --trial-column run",
        "fit e.csv --window 1850,1950 --inducing bomb.csv.gz",
    ] {
        folder.run(&format!("{verb} --max-memory 20MB")).refused(&words);
    }
    // Where every row is an event they need memory of their own.
    folder.write("short.csv", "t\n".to_string() + &"1\n".repeat(2_000_000));
    folder.run("fit short.csv --window 0,2 --max-memory 20MB").refused(&["short.csv", "20 MB"]);
    // A pass in blocks takes as little memory as ever.
    let run = folder.run("summarize bomb.csv.gz --window 1850,1950 -o s.summary --max-memory 20MB --json").good();
    assert_eq!(run.json()["events"], 1 << 24);
}

#[test]
fn a_document_that_is_a_bomb_is_refused() {
    let folder = Folder::new().with_model();
    folder.write("e.csv", plane(50));
    let long = |head: &str| gzip(&[head.as_bytes(), " ".repeat(40_000_000).as_bytes()].concat());
    folder.write("model.json.gz", long("{\"format\":")).write("border.gz", long("{\"type\":"));
    folder.run("predict model.json.gz --max-memory 20MB").refused(&["model.json.gz", "20 MB"]);
    folder.run("fit e.csv --window border.gz --max-memory 20MB").refused(&["border.gz", "20 MB"]);
    let summary = [&b"\x89PTSUM\r\n"[..], &vec![0; 40_000_000]].concat();
    folder.write("s.summary", summary);
    folder.run("fit s.summary --max-memory 20MB").refused(&["s.summary", "20 MB"]);
    folder.run("predict model.json --max-memory 1kB").refused(&["model.json", "1 kB", "--max-memory"]);
}

#[test]
fn what_has_no_end_is_refused_at_its_beginning() {
    let folder = Folder::new().with_model();
    folder.write("e.csv", "year\n1860\n1900\n").write("runs.csv", "run,t\n1,2\n");
    for verb in [
        "fit /dev/zero",
        "fit /dev/zero --window 0,1",
        "summarize e.csv /dev/zero --window 1850,1950 -o x.summary",
        "summarize /dev/zero --window 0,1 -o x.summary",
        "score model.json /dev/zero",
        "predict model.json --at /dev/zero",
        "fit e.csv --window 1850,1950 --exposure /dev/zero",
        "fit runs.csv --trials /dev/zero --trial-column run",
    ] {
        folder.run(verb).refused(&["/dev/zero", "binary"]);
    }
    folder.run("predict /dev/zero").refused(&["/dev/zero", "not a model"]);
    folder.run("plot /dev/zero").refused(&["/dev/zero", "binary"]);
    folder.run("count model.json --in /dev/zero").refused(&["/dev/zero"]);
    folder.run("fit kenya --window /dev/zero").refused(&["/dev/zero", "not JSON"]);
    folder.write("line.csv", "7".repeat(3_000_000)).write("line.csv.gz", gzip("7".repeat(3_000_000).as_bytes()));
    for file in ["line.csv", "line.csv.gz"] {
        folder.run(&format!("fit {file}")).refused(&[file, "line 1", "longer than 1 MB"]);
        folder.run(&format!("summarize {file} --window 0,1 -o x.summary")).refused(&[file, "longer than 1 MB"]);
    }
}
