//! The line of progress, on a terminal that is none: it names a stage, it never goes back, and Ctrl-C takes it away.

#![cfg(unix)]

use crate::common::Folder;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Both ends of a terminal: what reads what is shown, and what a process writes to.
fn terminal() -> (File, OwnedFd) {
    let (mut screen, mut line) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: the two numbers live until the call is over, and name, settings and size may be absent.
    let made = unsafe { libc::openpty(&mut screen, &mut line, none, none.cast(), none.cast()) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both were just opened, and nobody else has them.
    unsafe { (File::from_raw_fd(screen), OwnedFd::from_raw_fd(line)) }
}

/// The number before the sign of percent.
fn percent(text: &str) -> Option<u32> {
    text.split(" %").next().filter(|first| *first != text)?.rsplit(' ').next()?.parse().ok()
}

/// What a command shows on a terminal, where it writes its progress; Ctrl-C once `is_enough` of it. With its exit code.
fn shown(mut command: Command, is_enough: impl Fn(&str) -> bool) -> (String, Option<i32>) {
    let (mut screen, line) = terminal();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::from(line)).spawn().unwrap();
    // Only the child holds the end that is written to, so that reading ends with it.
    drop(command);
    let (mut shown, mut piece, mut is_told) = (String::new(), [0; 4096], false);
    // What is left unread when a terminal closes is an error on some systems.
    while let Ok(count @ 1..) = screen.read(&mut piece) {
        shown += &String::from_utf8_lossy(&piece[..count]);
        if !is_told && is_enough(&shown) {
            is_told = true;
            // SAFETY: a signal to a child that nobody has waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        }
    }
    (shown, child.wait().unwrap().code())
}

/// Commands that can take long say what they are at, and how far they are.
#[test]
fn every_long_command_names_its_stages_and_how_far_they_are() {
    let folder = Folder::new();
    let part = |i: usize, step: f64| (i as f64 * step).fract();
    let place = |i: usize| format!("{},{},{}\n", part(i, 0.618_034), part(i, 0.414_214), part(i, 0.732_051));
    folder.write("many.csv", "x,y,t\n".to_string() + &(0..4000).map(place).collect::<String>());
    let skewed = |i: usize| format!("{},{}\n", part(i, 0.618_034).powi(3), part(i, 0.414_214).powi(3));
    folder.write("skewed.csv", "x,y\n".to_string() + &(0..60_000).map(skewed).collect::<String>());
    let fit = "fit many.csv --columns x,y,t --window 0,1,0,1,0,1 --average off --max-evaluations 2 -q";
    let sum = "--kernel 'se(x,y,t,lengthscale=0.3!) + se(x,y,t,lengthscale=0.9!)' --inducing 9x9x9";
    assert_ne!(folder.run(&format!("{fit} {sum} -o sum.json")).code, 2);
    for (command, stage) in [
        ("plot sum.json --times 24 -o map.svg", "the figure: "),
        ("predict sum.json --components --grid 50x50x50 -o parts.csv", "the components: "),
        ("simulate --model sum.json --draws 2000 --seed 1 -o sets.csv", "sets of events: "),
        ("smooth skewed.csv --window 0,1,0,1 -o smooth.csv", "bandwidths: "),
    ] {
        let (text, code) = shown(folder.stoppable(command), |shown| shown.matches(stage).count() >= 3);
        assert!(text.matches(stage).count() >= 3, "{command}: {text:?}");
        let parts: Vec<u32> = text.split('\r').filter(|line| line.contains(stage)).filter_map(percent).collect();
        assert!(parts.len() >= 3 && parts.is_sorted(), "{command}: {text:?}");
        assert_eq!(code, Some(130), "{command}: {text:?}");
    }
}

/// Colours on a terminal, and none where NO_COLOR says so.
#[test]
fn no_color_is_obeyed() {
    let folder = Folder::new();
    folder.run("fit coal --average off -q -o m.json").good();
    let picture = |no_color: Option<&str>| {
        let (mut screen, line) = terminal();
        let mut command = folder.command("plot m.json --terminal -q");
        command.env_remove("NO_COLOR").envs(no_color.map(|value| ("NO_COLOR", value)));
        let mut child = command.stdout(Stdio::from(line)).stderr(Stdio::null()).spawn().unwrap();
        drop(command);
        let (mut shown, mut piece) = (String::new(), [0; 4096]);
        while let Ok(count @ 1..) = screen.read(&mut piece) {
            shown += &String::from_utf8_lossy(&piece[..count]);
        }
        assert!(child.wait().unwrap().success());
        shown
    };
    assert!(picture(None).contains("\x1b["));
    assert!(picture(Some("")).contains("\x1b["), "an empty value says nothing");
    let plain = picture(Some("1"));
    assert!(!plain.contains('\x1b') && plain.contains("Intensity"), "{plain:?}");
}

#[test]
fn progress_names_stages_never_goes_back_and_ends_with_ctrl_c() {
    let folder = Folder::new();
    let place = |i: usize| format!("{},{}\n", (i as f64 * 0.618_034).fract(), (i as f64 * 0.414_214).fract());
    folder.write("many.csv", "x,y\n".to_string() + &(0..20_000).map(place).collect::<String>());
    let (mut screen, line) = terminal();
    let mut command = folder.stoppable("fit many.csv --window 0,1,0,1 --nodes 90x90 -o m.json");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::from(line)).spawn().unwrap();
    // Only the child holds the end that is written to, so that reading ends with it.
    drop(command);
    let (mut shown, mut piece) = (String::new(), [0; 4096]);
    let mut is_told = false;
    // What is left unread when a terminal closes is an error on some systems.
    while let Ok(count @ 1..) = screen.read(&mut piece) {
        shown += &String::from_utf8_lossy(&piece[..count]);
        if !is_told && shown.matches(" %").count() >= 8 {
            is_told = true;
            // SAFETY: a signal to a child that nobody has waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        }
    }
    assert!(is_told, "{shown:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{shown:?}");
    let lines: Vec<&str> = shown.split('\r').filter(|line| line.contains(" %")).collect();
    assert!(lines.iter().all(|line| line.contains("unknowns: ") && line.ends_with("\x1b[K")), "{shown:?}");
    let parts: Vec<u32> = lines.iter().map(|line| percent(line).unwrap()).collect();
    assert!(parts.is_sorted(), "{parts:?}");
    // The last words stand on a line of their own.
    assert!(shown.trim_end().ends_with("\r\x1b[Kinterrupted; nothing was written"), "{shown:?}");
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(out.is_empty() && folder.names() == ["many.csv"], "{out:?}");
}
