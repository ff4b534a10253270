//! Files, which are the sister crate's, and standard output, which is the command's alone.

pub use pointillist_io::*;

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::Ordering;

/// What standard output is called.
const STDOUT: &str = "standard output";

/// Why nothing could be written to standard output; its text is one sentence with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StdoutError {
    /// It is no place at all.
    #[error("cannot write {STDOUT}: it is closed; send it somewhere, for example with `> FILE`, or use -o FILE")]
    Closed,
    /// As for a file.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Whether there was no standard output when the program began.
pub fn stdout_is_closed() -> bool {
    at_start::STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// What can only be seen before `main`: Rust puts /dev/null where a standard stream is closed, and all that is written is lost.
mod at_start {
    use std::sync::atomic::AtomicBool;

    pub(super) static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    extern "C" fn look() {
        // SAFETY: asks the system about a number; nothing is read or written through it.
        let found = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        STDOUT_CLOSED.store(found == -1, std::sync::atomic::Ordering::Relaxed);
    }

    // SAFETY: the loader calls the functions of this section once before `main`, as `extern "C"` functions; this one needs nothing of
    // Rust's runtime, which does not exist yet.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;
}

/// Writes `text` to standard output; a reader that has closed the pipe has had enough, and that is success.
pub fn stdout_text(text: &str) -> Result<(), StdoutError> {
    stdout_through(|stream| stream.write_all(text.as_bytes()))
}

/// The same for a content that is written piece by piece.
pub fn stdout_through(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), StdoutError> {
    if stdout_is_closed() {
        return Err(StdoutError::Closed);
    }
    crate::commands::hide_progress();
    begin_writing(STDOUT);
    write_stream(&mut io::stdout().lock(), write).map_err(|error| OutputError::new(STDOUT, error).into())
}

fn write_stream(stream: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match write(stream).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_left_is_success_and_a_failed_write_is_not() {
        struct Refuses(ErrorKind);
        impl Write for Refuses {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let put = |stream: &mut dyn Write| stream.write_all(b"x");
        assert!(write_stream(&mut Refuses(ErrorKind::BrokenPipe), put).is_ok());
        assert!(write_stream(&mut Refuses(ErrorKind::StorageFull), put).is_err());
        // A buffered stream fails only when it is flushed.
        #[cfg(target_os = "linux")]
        {
            let device = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            assert!(write_stream(&mut io::BufWriter::new(device), put).is_err());
        }
    }
}
