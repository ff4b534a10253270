//! Lists of numbers in a file: as numbers, and where they are many as bytes, which are a fraction of the size and read in a fraction of the time.

use crate::base64;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserializer, Serialize, Serializer};

/// From so many numbers on they are bytes.
const MANY: usize = 100_000;
/// Bytes of a number.
const WIDTH: usize = 8;

/// A list, or where it is long its numbers of 8 bytes each, the least significant first, in base64.
pub(super) fn serialize<S: Serializer>(list: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    if list.len() < MANY {
        return list.serialize(serializer);
    }
    let bytes: Vec<u8> = list.iter().flat_map(|value| value.to_le_bytes()).collect();
    serializer.serialize_str(&base64::encode(&bytes))
}

/// Either, whatever its length.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    deserializer.deserialize_any(Numbers)
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Vec<f64>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of numbers, or their bytes in base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<f64>, E> {
        let bytes = base64::decode(text).filter(|bytes| bytes.len().is_multiple_of(WIDTH));
        let bytes = bytes.ok_or_else(|| E::custom("numbers are not base64"))?;
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or([0xff; WIDTH])); // chunks are whole
        Ok(bytes.chunks_exact(WIDTH).map(number).collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<f64>, A::Error> {
        // What a file says of its length is not relied on.
        let mut list = Vec::with_capacity(sequence.size_hint().unwrap_or(0).min(MANY));
        while let Some(value) = sequence.next_element()? {
            list.push(value);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Held {
        #[serde(with = "super")]
        list: Vec<f64>,
    }

    #[test]
    fn numbers_come_back_to_the_last_bit_however_many() {
        for count in [0, 3, MANY - 1, MANY, MANY + 1] {
            let held = Held { list: (0..count).map(|i| (i as f64).sin() * 1e-300).collect() };
            let text = serde_json::to_string(&held).unwrap();
            assert_eq!(text.contains('['), count < MANY);
            assert!(count < MANY || text.len() < 11 * count, "{} bytes for {count} numbers", text.len());
            let read: Held = serde_json::from_str(&text).unwrap();
            assert_eq!(read, held, "{count}");
        }
    }

    #[test]
    fn what_is_no_list_of_numbers_is_refused() {
        for text in [r#"{"list":"AAAA"}"#, r#"{"list":"*"}"#, r#"{"list":["a"]}"#, r#"{"list":3}"#, r#"{"list":null}"#]
        {
            assert!(serde_json::from_str::<Held>(text).is_err(), "{text}");
        }
    }
}
