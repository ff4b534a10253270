//! Signals, closed streams and full disks, to real processes: nothing half-written stays, and what is said is true.

#![cfg(unix)]

use crate::common::Folder;
use std::fs::DirEntry;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// Events enough that a fit or a sampler is busy for a long time.
fn many(count: usize) -> String {
    let place = |i: usize| format!("{},{}\n", (i as f64 * 0.618_034).fract(), (i as f64 * 0.414_214).fract());
    "x,y\n".to_string() + &(0..count).map(place).collect::<String>()
}

fn start(folder: &Folder, arguments: &str) -> Child {
    folder.stoppable(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(child: &Child, signal: &str) {
    let killed = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success(), "it was still running");
}

/// Waits until something holds, as it will if the program works.
fn wait_for(child: &mut Child, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        assert!(start.elapsed() < Duration::from_secs(120), "nothing happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const SIGNALS: [(&str, i32); 3] = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];

/// Whether it takes its time does not matter here, only that one signal is enough: the second would end it at once.
#[test]
fn one_signal_ends_every_long_stage_and_nothing_stays() {
    let folder = Folder::new();
    folder.write("many.csv", many(1500));
    assert_eq!(folder.run("fit many.csv --window 0,1,0,1 --inducing 10x10 -o model.json").code, 0);
    let names = folder.names();
    let stages = [
        "fit many.csv --window 0,1,0,1 --inducing 30x30 -o out.json",
        "fit many.csv --window 0,1,0,1 --nodes 400x400 -o out.json",
        "sgcp many.csv --window 0,1,0,1 --max-sweeps 1000000",
        "compare many.csv --window 0,1,0,1 --splits 50 --csv out.csv",
        "predict model.json --grid 1800x1800 --exceed 1500 -o out.csv",
        "sample model.json --grid 400x400 --draws 300 -o out.csv",
        "score model.json many.csv --draws 10000000",
    ];
    for (i, stage) in stages.iter().enumerate() {
        let (signal, code) = SIGNALS[i % SIGNALS.len()];
        let mut child = start(&folder, stage);
        std::thread::sleep(Duration::from_millis(400));
        assert!(child.try_wait().unwrap().is_none(), "{stage}: over already");
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{stage}: {}", said(&output));
        assert!(said(&output).ends_with("interrupted; nothing was written\n"), "{stage}: {}", said(&output));
        assert_eq!(folder.names(), names, "{stage}");
    }
}

/// So large a file that the signal finds it half-written.
#[test]
fn a_signal_in_the_middle_of_writing_removes_the_temporary_file() {
    for (signal, code) in SIGNALS {
        let folder = Folder::new();
        folder.write("old.csv", "old\n");
        let mut child = start(&folder, "simulate --intensity 3e6 --window 0,1 -o old.csv");
        wait_for(&mut child, || folder.names().iter().any(|name| name.ends_with(".tmp")));
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        // The file may just have been finished: then it is whole, and that is said.
        let expected =
            if folder.read("old.csv") == b"old\n" { "nothing was written" } else { "already written: old.csv" };
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert_eq!(folder.names(), ["old.csv"]);
    }
}

#[test]
fn what_was_written_is_said() {
    let folder = Folder::new();
    let mut child = start(&folder, "reproduce --quick -o results");
    let is_result = |entry: std::io::Result<DirEntry>| !entry.unwrap().file_name().to_string_lossy().ends_with(".tmp");
    let begun = || std::fs::read_dir(folder.path("results")).is_ok_and(|mut entries| entries.any(is_result));
    wait_for(&mut child, begun);
    send(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", said(&output));
    assert!(said(&output).contains("interrupted; already written: "), "{}", said(&output));
    let entries = std::fs::read_dir(folder.path("results")).unwrap();
    let names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{names:?}");
}

/// Under `nohup` a program goes on when its terminal is gone.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let folder = Folder::new();
    let mut command = folder.command("summarize - --window 0,1 -o t.summary");
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: `signal` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            if libc::signal(libc::SIGHUP, libc::SIG_IGN) == libc::SIG_ERR {
                Err(std::io::Error::last_os_error())
            } else {
                Ok(())
            }
        })
    };
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"t\n0.25\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    send(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(200));
    input.write_all(b"0.5\n").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(folder.names(), ["t.summary"]);
}

#[test]
fn a_sampler_that_is_stopped_goes_on_to_the_same_answer() {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2\n2.5\n6\n9\n");
    let line = "sgcp few.csv --window 0,10 --warm-up 600 --effective 1e9 --max-sweeps 3000 --json";
    let whole = folder.run(line);
    let saved = format!("{line} --checkpoint c.sgcp");
    let mut child = start(&folder, &saved);
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "over already");
    send(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", said(&output));
    assert!(said(&output).contains("goes on from c.sgcp"), "{}", said(&output));
    assert!(said(&output).ends_with("interrupted; already written: c.sgcp\n"), "{}", said(&output));
    assert_eq!(folder.names(), ["c.sgcp", "few.csv"]);
    let rest = folder.run(&saved);
    assert_eq!((whole.code, rest.code), (1, 1), "{}", rest.err);
    assert_eq!(whole.json()["watched"], rest.json()["watched"]);
    // At its end it has nothing left to do, whatever was asked for.
    let again = folder.run(&saved);
    assert_eq!(rest.json()["watched"], again.json()["watched"]);
}

#[test]
fn a_checkpoint_is_gone_on_with_by_the_same_run_alone() {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2\n2.5\n6\n9\n").write("other.csv", "t\n1\n2\n2.5\n6\n8\n");
    let run = |events: &str, window: &str, rest: &str| {
        folder.run(&format!("sgcp {events} --window {window} --warm-up 20 --checkpoint c.sgcp --json {rest}"))
    };
    let sweeps = |rest: &str| run("few.csv", "0,10", &format!("--r-hat {rest}")).json()["sweeps"].as_u64().unwrap();
    assert_eq!(sweeps("1.01 --max-sweeps 40"), 60);
    // No more than asked for, nor one less than were made; and more if more are allowed.
    assert_eq!(sweeps("1.01 --max-sweeps 40"), 60);
    assert_eq!(sweeps("1.01 --max-sweeps 10"), 60);
    assert_eq!(sweeps("1.01 --max-sweeps 50"), 70);
    assert_eq!(sweeps("100 --max-sweeps 300 --effective 8"), 220, "judged as asked for now");
    run("few.csv", "0,20", "").refused(&["c.sgcp", "window", "0,10", "0,20", "--checkpoint"]);
    run("few.csv", "0,10", "--repeats 2").refused(&["c.sgcp", "window", "--checkpoint"]);
    run("other.csv", "0,10", "").refused(&["c.sgcp", "5 events", "--checkpoint"]);
    run("few.csv", "0,10", "--seed 1").refused(&["c.sgcp", "--seed 0", "--seed 1"]);
    run("few.csv", "0,10", "--chains 2").refused(&["c.sgcp", "--chains 4", "--chains 2"]);
    run("few.csv", "0,10", "--thinning uniform").refused(&["c.sgcp", "--thinning adaptive", "--thinning uniform"]);
    let other = "sgcp few.csv --window 0,10 --warm-up 30 --checkpoint c.sgcp";
    folder.run(other).refused(&["c.sgcp", "--warm-up 20", "--warm-up 30"]);
}

/// One line for every verb that writes to standard output, and where it can write a file, that too.
fn verbs() -> [(&'static str, bool); 21] {
    [
        ("fit coal --inducing 5", true),
        ("fit coal --inducing 5 --json", true),
        ("fit coal --inducing 5 -o -", false),
        ("summarize coal --cells 8", true),
        ("summarize coal --cells 8 -o -", false),
        ("predict model.json --grid 3", true),
        ("score model.json coal --draws 10", false),
        ("count model.json --draws 10", false),
        ("sample model.json --grid 3", true),
        ("simulate --intensity 2 --window 0,9", true),
        ("plot model.json", false),
        ("smooth coal", false),
        ("smooth coal --grid 3", true),
        ("sgcp few.csv --window 0,10 --warm-up 20 --max-sweeps 20", false),
        ("compare few.csv --window 0,10 --methods ks+ec --splits 2", false),
        ("check model.json coal --draws 100", false),
        ("kernels", false),
        ("data", false),
        ("data coal", true),
        ("--help", false),
        ("--version", false),
    ]
}

fn with_files() -> Folder {
    let folder = Folder::new().with_model();
    folder.write("few.csv", "t\n1\n2\n2.5\n6\n9\n");
    folder
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_by_every_verb() {
    let folder = with_files();
    for (verb, has_output) in verbs() {
        let summary = verb.starts_with("summarize") && has_output;
        if !summary {
            let run = folder.run_into("/dev/full", verb);
            assert_eq!(run.code, 2, "{verb}: {}", run.err);
            assert!(run.err.contains("full") || run.err.contains("space"), "{verb}: {}", run.err);
        }
        if has_output {
            let run = folder.run(&format!("{verb} -o /dev/full"));
            assert_eq!(run.code, 2, "{verb}: {}", run.err);
            assert!(run.err.contains("/dev/full: the disk is full"), "{verb}: {}", run.err);
        }
    }
    folder
        .run("sgcp few.csv --window 0,10 --warm-up 20 --max-sweeps 20 --checkpoint /dev/full")
        .refused(&["/dev/full"]);
    assert_eq!(folder.names(), ["few.csv", "model.json"]);
}

/// `pointillist … >&-`: what would be printed has nowhere to go, and is not thrown away in silence.
#[test]
fn a_file_that_may_not_be_so_large_leaves_nothing() {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2\n3\n5\n8\n");
    let mut command = folder.command("fit few.csv --window 0,10 --nodes 16 -o model.json");
    let limit = libc::rlimit { rlim_cur: 1000, rlim_max: 1000 };
    // SAFETY: between fork and exec it makes one call that is allowed there, with a pointer to a value that it owns.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("model.json") && said(&output).contains("ulimit -f"), "{}", said(&output));
    assert_eq!(folder.names(), ["few.csv"]);
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let folder = with_files();
    for (verb, has_output) in verbs() {
        if verb.starts_with("summarize") && has_output {
            continue;
        }
        let mut command = folder.command(verb);
        // SAFETY: `close` may be called between fork and exec.
        unsafe { command.pre_exec(|| if libc::close(1) == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }) };
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{verb}: {}", said(&output));
        assert!(said(&output).contains("closed"), "{verb}: {}", said(&output));
    }
    // With nothing to print there is nothing to miss; and /dev/null is a place like any other.
    let mut command = folder.command("fit coal --inducing 5 -o quiet.json -q");
    // SAFETY: as above.
    unsafe { command.pre_exec(|| if libc::close(1) == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }) };
    assert!(command.status().unwrap().success());
    assert!(folder.command("predict model.json").stdout(Stdio::null()).status().unwrap().success());
}
