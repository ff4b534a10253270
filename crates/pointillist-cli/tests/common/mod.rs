//! The real binary as a process, in a folder of its own.

#![allow(dead_code)] // each file of tests uses a part

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// What a run of the command gave.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It must have done its work.
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// It must have refused, with one sentence that says all of `words`.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> Self {
        assert_eq!(self.code, 2, "{}{}", self.out, self.err);
        let errors: Vec<&str> = self.err.lines().filter(|line| !line.starts_with("warning: ")).collect();
        assert!(errors.len() == 1 && errors[0].starts_with("error: "), "{}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in: {}", self.err);
        }
        self
    }

    /// Its output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.out.lines().count(), 1, "{}", self.out);
        serde_json::from_str(&self.out).unwrap()
    }

    /// Its output as CSV: the header and the rows.
    pub fn csv(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut lines = self.out.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
        (lines.next().unwrap_or_default(), lines.collect())
    }
}

/// A folder in which commands run.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pointillist"));
        command.args(split(arguments)).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// The same for a process that is to be sent signals: who runs the tests may ignore them (`nohup`, a shell's `&`), and a child would inherit that.
    #[cfg(unix)]
    pub fn stoppable(&self, arguments: &str) -> Command {
        use std::os::unix::process::CommandExt;
        let heed = || {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // SAFETY: `signal` may be called between fork and exec.
                if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        };
        let mut command = self.command(arguments);
        // SAFETY: the closure calls nothing but `signal`.
        unsafe { command.pre_exec(heed) };
        command
    }

    /// Runs the command with these arguments, separated by blanks; 'quotes' hold together.
    pub fn run(&self, arguments: &str) -> Run {
        Run::new(self.command(arguments).output().unwrap())
    }

    /// The same under a limit of its addresses, in kB.
    pub fn run_within(&self, kilobytes: u64, arguments: &str) -> Run {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v $0; exec \"$@\"", &kilobytes.to_string(), env!("CARGO_BIN_EXE_pointillist")]);
        shell.args(split(arguments)).current_dir(self.0.path()).stdin(Stdio::null());
        Run::new(shell.output().unwrap())
    }

    /// The same with something on standard input.
    pub fn run_with(&self, arguments: &str, input: &str) -> Run {
        self.run_with_bytes(arguments, input.as_bytes())
    }

    /// The same with bytes that need not be text.
    pub fn run_with_bytes(&self, arguments: &str, input: &[u8]) -> Run {
        use std::io::Write;
        let mut command = self.command(arguments);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that refuses its arguments does not wait for its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        Run::new(child.wait_with_output().unwrap())
    }

    /// The same with standard output going to a device.
    pub fn run_into(&self, device: &str, arguments: &str) -> Run {
        let file = std::fs::OpenOptions::new().write(true).open(device).unwrap();
        Run::new(self.command(arguments).stdout(file).stderr(Stdio::piped()).output().unwrap())
    }

    /// A model of the coal set as `model.json`.
    pub fn with_model(self) -> Self {
        self.run("fit coal -o model.json --inducing 12").good();
        self
    }

    /// What a program of GDAL says, if it is there.
    #[track_caller]
    pub fn gdal(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let Ok(output) = Command::new(program).args(arguments).current_dir(self.path("")).output() else {
            println!("skipped: {program} is not installed");
            return None;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("ERROR"), "{said}");
        Some(said)
    }
}

/// 64-bit FNV-1a, as docs/model-file.md and docs/summary-file.md describe it.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A model or a checkpoint as text, with the checksum that belongs to it.
pub fn sealed(document: &serde_json::Value) -> String {
    let mut document = document.clone();
    if let Some(fields) = document.as_object_mut() {
        fields.remove("checksum");
    }
    let text = document.to_string();
    let body = text.strip_suffix('}').unwrap();
    format!("{body},\"checksum\":\"{:016x}\"}}", checksum(body.as_bytes()))
}

fn split(arguments: &str) -> Vec<String> {
    let parts = arguments.split('\'').enumerate();
    let words = parts.flat_map(|(i, part)| match i % 2 {
        0 => part.split_whitespace().map(String::from).collect(),
        _ => vec![part.to_string()],
    });
    words.collect()
}
