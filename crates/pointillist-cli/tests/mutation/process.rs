//! One run of the real binary under limits: time of the processor, memory, size of files.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds on the wall after which one that does nothing is.
const LIMIT_WALL: Duration = Duration::from_secs(120);
/// How long it may take to end after Ctrl-C.
const LIMIT_END: Duration = Duration::from_secs(20);
/// Most bytes of a file.
const LIMIT_FILE: u64 = 300_000_000;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Code(i32),
    Signal(i32),
    /// It took longer than the limit; whether Ctrl-C ended it.
    Long(bool),
}

pub struct Ran {
    pub end: End,
    pub out: Vec<u8>,
    pub err: String,
    /// Bytes at its peak.
    pub memory: u64,
}

/// Half of what the machine has, which is also what the command allows itself.
pub fn memory_limit() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.map_or(8 << 30, |kilobytes| kilobytes * 512)
}

/// Runs the command in a folder; Ctrl-C after so many seconds of the processor. (Time on the wall depends on what else the machine does.)
#[allow(clippy::zombie_processes)] // `wait` does, and asks for more than the standard library gives
pub fn run(folder: &Path, streams: &Path, arguments: &[String], seconds: f64) -> Ran {
    use std::os::unix::process::CommandExt;
    let (out, err) = (streams.join("stdout"), streams.join("stderr"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointillist"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("RAYON_NUM_THREADS", "1")
        .env("RUST_BACKTRACE", "0");
    command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
    let limits = [(libc::RLIMIT_AS, memory_limit()), (libc::RLIMIT_FSIZE, LIMIT_FILE), (libc::RLIMIT_CORE, 0)];
    let limit = move || {
        for (what, most) in limits {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: the pointer is to a value that outlives the call, which may be made between fork and exec.
            if unsafe { libc::setrlimit(what, &limit) } != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: `limit` does nothing but that.
    unsafe { command.pre_exec(limit) };
    let child = command.spawn().unwrap();
    let (end, memory) = wait(child.id() as i32, seconds);
    Ran {
        end,
        out: std::fs::read(out).unwrap(),
        err: String::from_utf8_lossy(&std::fs::read(err).unwrap()).into(),
        memory,
    }
}

fn wait(pid: i32, seconds: f64) -> (End, u64) {
    let start = Instant::now();
    let mut asked: Option<Instant> = None;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some((status, memory)) = poll(pid) {
            let end = match (asked, libc::WIFEXITED(status)) {
                (Some(_), exited) => End::Long(exited && libc::WEXITSTATUS(status) == 130),
                (None, true) => End::Code(libc::WEXITSTATUS(status)),
                (None, false) => End::Signal(libc::WTERMSIG(status)),
            };
            return (end, memory);
        }
        let signal = match asked {
            None if processor_time(pid) > seconds || start.elapsed() > LIMIT_WALL => Some(libc::SIGINT),
            Some(at) if at.elapsed() > LIMIT_END => Some(libc::SIGKILL),
            _ => None,
        };
        if let Some(signal) = signal {
            asked = Some(Instant::now());
            // SAFETY: `pid` is a child that has not been waited for, so the number is still its own.
            unsafe { libc::kill(pid, signal) };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Its status and the memory it took at most, once it has ended.
fn poll(pid: i32) -> Option<(i32, u64)> {
    let mut status = 0;
    // SAFETY: plain numbers, of which zero is a value; and both pointers are to values that outlive the call.
    let (found, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage), usage)
    };
    // Linux counts kilobytes, others bytes.
    let unit = if cfg!(target_os = "linux") { 1024 } else { 1 };
    (found == pid).then_some((status, usage.ru_maxrss as u64 * unit))
}

/// Seconds of the processor that it has used; 0 where that cannot be seen.
fn processor_time(pid: i32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}
