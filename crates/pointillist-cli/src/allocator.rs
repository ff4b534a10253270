//! Memory that the system does not give: a sentence and the exit code of a refusal, in place of a signal.

use std::alloc::{GlobalAlloc, Layout, System};

const SENTENCE: &str = "error: the system gives no more memory: fewer nodes, fewer draws or a smaller --max-memory need less; \
    a limit may be in force (`ulimit -v` prints it in kB)\n";

/// The allocator of the system, which ends the program where it has nothing left.
pub struct OrEnd;

// SAFETY: every call is handed to the system's allocator as it came, and what that returns is returned; a null pointer is not returned.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that is asked for.
        there(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[inline]
fn there(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

/// Says it without memory of its own, and ends at once: other threads may stand anywhere.
#[cold]
fn end() -> ! {
    #[cfg(unix)]
    {
        // SAFETY: the bytes are there as long as the program, and their number is said.
        unsafe { libc::write(libc::STDERR_FILENO, SENTENCE.as_ptr().cast(), SENTENCE.len()) };
        // SAFETY: ends the process, and touches nothing.
        unsafe { libc::_exit(2) }
    }
    #[cfg(not(unix))]
    {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), SENTENCE.as_bytes());
        std::process::exit(2)
    }
}
