//! The line of progress, on a terminal that is none: it names a stage, it never goes back, and Ctrl-C takes it away.

#![cfg(unix)]

use crate::common::Folder;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;

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
