//! How much memory reading may take: what [`set_limit`] says, else half of what the machine has, or of what the process may have.
//!
//! It bounds what is held of any one file; a pass in blocks
//! (`stream.rs`) needs some tens of megabytes whatever it says.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the machine does not say what it has.
const UNKNOWN: u64 = 4_000_000_000;

/// 0 if none was set.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// Sets the limit for what is read from now on.
pub fn set_limit(bytes: u64) {
    GIVEN.store(bytes.max(1), Ordering::Relaxed);
}

/// The limit that was set.
pub fn given_limit() -> Option<u64> {
    Some(GIVEN.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
}

/// The limit.
pub fn limit() -> u64 {
    static USUAL: OnceLock<u64> = OnceLock::new();
    given_limit().unwrap_or_else(|| *USUAL.get_or_init(|| machine().map_or(UNKNOWN, |bytes| bytes / 2)))
}

/// What the machine has, or the container or the process if that has less.
fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = total(&text)?;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some([container, of_process()].into_iter().flatten().fold(total, u64::min))
}

/// The addresses that the process may have, if they are limited (`ulimit -v`).
fn of_process() -> Option<u64> {
    addresses(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

/// `Max address space         20480000             20480000             bytes`, in bytes.
fn addresses(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()
}

/// The most that a fit on a lattice may take, which is `usual` if nothing is said and no limit is lower: half of that of the process, whose threads and program
/// take addresses too.
pub(crate) fn of_lattice(usual: usize) -> usize {
    match (given_limit(), of_process()) {
        (Some(given), _) => given as usize,
        (None, Some(most)) => usual.min((most / 2) as usize),
        (None, None) => usual,
    }
}

/// `MemTotal:       24601912 kB`, in bytes.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// A size for a sentence: `20 MB`.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let (unit, size) = units.into_iter().find(|(_, size)| bytes as f64 >= *size).unwrap_or(("bytes", 1.0));
    let number = bytes as f64 / size;
    let shown = if number < 100.0 { format!("{number:.1}") } else { format!("{number:.0}") };
    format!("{} {unit}", shown.trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       24601912 kB\n"), Some(24_601_912 * 1024));
        assert_eq!(total("MemTotal: many\n"), None);
        assert!(limit() > 1 << 20);
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max address space         20480000             unlimited            bytes\n";
        assert_eq!(addresses(limits), Some(20_480_000));
        assert_eq!(addresses(&limits.replace("20480000", "unlimited")), None);
    }

    #[test]
    fn sizes_read_well() {
        for (bytes, shown) in [(20_000_000, "20 MB"), (11_500_000_000, "11.5 GB"), (999, "999 bytes"), (1500, "1.5 kB")]
        {
            assert_eq!(show_bytes(bytes), shown);
        }
    }
}
