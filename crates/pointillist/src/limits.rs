//! How much may be asked for at a time. Whoever takes a number that memory or time grows with asks here first, so that a slip of the hand
//! is an error and not a process that takes all memory.

use crate::error::{Error, Result};

/// Most draws of one kind: the memory of a few numbers per draw stays below a gigabyte.
pub const MOST_DRAWS: usize = 10_000_000;
/// Most numbers in an answer that is held at once: two gigabytes.
const MOST_NUMBERS: usize = 250_000_000;

/// Refuses a count above `most`.
pub fn at_most(name: &str, count: usize, most: usize, why: &str) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(Error::setting(name, count, format!("must be at most {most}: {why}")))
}

/// Refuses more draws than can be held.
pub fn draws(name: &str, count: usize) -> Result<()> {
    at_most(name, count, MOST_DRAWS, "all of them are held at once")
}

/// Refuses an answer of `count` times `each` numbers that could not be held.
pub(crate) fn numbers(name: &str, count: usize, each: usize) -> Result<()> {
    draws(name, count)?;
    at_most(
        name,
        count,
        MOST_NUMBERS / each.max(1),
        &format!("each of them has {each} numbers, and all are held at once"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_do_not_overflow() {
        assert!(numbers("draws", 1000, 200).is_ok());
        assert!(numbers("draws", 0, usize::MAX).is_ok());
        for (count, each) in [(usize::MAX, 1), (usize::MAX, usize::MAX), (1, usize::MAX), (2_000_000, 200)] {
            assert!(matches!(numbers("draws", count, each), Err(Error::Setting { name, .. }) if name == "draws"));
        }
    }
}
