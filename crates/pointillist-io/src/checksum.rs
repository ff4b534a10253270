//! The checksum of everything the program writes to read again: a file that was changed anywhere is refused, not believed.
//!
//! 64-bit FNV-1a. It finds every change of one byte and all but one in 2⁶⁴ of the others. It is no protection against who means
//! harm: what a file with a right checksum says is checked all the same.

use serde::Deserialize;
use std::io::{self, Write};

/// What stands before the sum in a JSON object, …
const BEFORE: &str = ",\"checksum\":\"";
/// … and after it.
const AFTER: &str = "\"}";
/// Hexadecimal digits of a sum.
const DIGITS: usize = 16;

/// The sum of the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(pub u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::default().with(bytes)
    }

    fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }
}

/// A writer that sums what goes through it.
pub struct Summed<W> {
    /// Where it goes.
    pub inner: W,
    /// The sum so far.
    pub sum: Checksum,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.sum = self.sum.with(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// What is read first of a JSON object that ends with its checksum: enough to know what the rest should be.
#[derive(Deserialize)]
pub(super) struct Header {
    /// What it says it is.
    pub(super) format: String,
    /// Of that format.
    pub(super) version: u64,
}

/// Why the checksum of a JSON object is not to be believed; its text says it in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsealed {
    /// The object does not end with one.
    #[error("its checksum is missing")]
    Missing,
    /// It is that of other bytes.
    #[error("its checksum is wrong")]
    Wrong,
}

/// A JSON object, as text, with a last field more: the checksum of all that stands before it, in hexadecimal digits.
pub fn sealed(mut object: String) -> String {
    object.truncate(object.trim_end().strip_suffix('}').map_or(0, str::len));
    let Checksum(sum) = Checksum::of(object.as_bytes());
    object + BEFORE + &format!("{sum:016x}") + AFTER
}

/// Whether a JSON object ends with the checksum of the rest; blanks after it do not matter.
pub fn check_seal(object: &[u8]) -> Result<(), Unsealed> {
    let object = object.trim_ascii_end();
    let rest = object.strip_suffix(AFTER.as_bytes()).ok_or(Unsealed::Missing)?;
    let (rest, digits) = rest.split_at_checked(rest.len().saturating_sub(DIGITS)).ok_or(Unsealed::Missing)?;
    let body = rest.strip_suffix(BEFORE.as_bytes()).ok_or(Unsealed::Missing)?;
    let sum = Checksum::of(body).0;
    if format!("{sum:016x}").as_bytes() == digits { Ok(()) } else { Err(Unsealed::Wrong) }
}

/// Bytes that end with a checksum, in a JSON object or after a summary, with the one that belongs to them in its place: for tests of what
/// is behind the checksum.
pub fn resealed(bytes: &[u8]) -> Vec<u8> {
    if super::summary_file::is_summary(bytes) {
        let body = &bytes[..bytes.len().saturating_sub(size_of::<u64>())];
        return [body, &Checksum::of(body).0.to_le_bytes()].concat();
    }
    let place = bytes.windows(BEFORE.len()).rposition(|part| part == BEFORE.as_bytes());
    let Some(Ok(body)) = place.map(|place| std::str::from_utf8(&bytes[..place])) else { return bytes.to_vec() };
    sealed(format!("{body}}}")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_fnv_1a() {
        assert_eq!(Checksum::of(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Checksum::of(b"foobar").0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn every_change_of_a_sealed_object_is_found() {
        let object = sealed("{\"a\":1.25,\"b\":[1,2]}".into());
        assert!(object.starts_with("{\"a\":1.25,\"b\":[1,2],\"checksum\":\""), "{object}");
        assert_eq!(check_seal(object.as_bytes()), Ok(()));
        assert_eq!(check_seal(format!("{object}\n").as_bytes()), Ok(()));
        assert!(serde_json::from_str::<serde_json::Value>(&object).is_ok());
        for place in 0..object.len() {
            for new in [b'0', b'7', b' ', b'x'] {
                let mut changed = object.clone().into_bytes();
                changed.insert(place, new);
                assert!(check_seal(&changed).is_err(), "{new} in at {place}");
                changed.remove(place + 1);
                assert!(changed == object.as_bytes() || check_seal(&changed).is_err(), "{new} at {place}");
            }
            let mut shorter = object.clone().into_bytes();
            shorter.remove(place);
            assert!(check_seal(&shorter).is_err(), "without {place}");
        }
        let changed = object.replace("1.25", "9.25");
        assert_eq!(check_seal(&resealed(changed.as_bytes())), Ok(()));
        assert_eq!(check_seal(b"{\"a\":1.25}"), Err(Unsealed::Missing));
        assert_eq!(check_seal(b""), Err(Unsealed::Missing));
        assert_eq!(check_seal(object.replace("1.25", "9.25").as_bytes()), Err(Unsealed::Wrong));
    }
}
