//! Bytes as text, for what is binary in a JSON file: base64 with the usual alphabet and padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Three bytes become four characters.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().enumerate().fold(0u32, |bits, (i, byte)| bits | u32::from(*byte) << (16 - 8 * i));
        for i in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize] as char;
            text.push(if i <= group.len() { letter } else { '=' });
        }
    }
    text
}

/// The bytes again, if the text is whole.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut values = [None; 256];
    ALPHABET.iter().zip(0u32..).for_each(|(letter, value)| values[*letter as usize] = Some(value));
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.len() / 4;
    for (g, group) in text.as_bytes().chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|letter| **letter == b'=').count();
        if padding > 2 || padding > 0 && g + 1 < groups {
            return None;
        }
        let kept = &group[..4 - padding];
        let bits = kept.iter().try_fold(0u32, |bits, letter| Some(bits << 6 | values[*letter as usize]?))?;
        let bits = bits << (6 * padding);
        bytes.extend((0..3 - padding).map(|i| (bits >> (16 - 8 * i)) as u8));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_and_back() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        assert!(["Zg=", "Z===", "Zg==Zg==", "Zm9*"].iter().all(|text| decode(text).is_none()));
    }
}
