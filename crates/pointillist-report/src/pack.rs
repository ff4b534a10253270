//! Numbers as text in a page: three bytes each, compressed, in base64. The script of the page has the other half.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pointillist_io::base64;
use std::io::Write;

/// The largest number of three bytes.
const MOST: f64 = 0xff_ffff as f64;

/// Bytes, compressed.
pub fn bytes(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    base64::encode(&encoder.finish().unwrap_or_default())
}

/// Numbers of three bytes, as planes: all highest bytes first. Neighbours are alike in these, which compresses well.
fn planes(words: &[u32]) -> String {
    let plane = |shift: u32| words.iter().map(move |word| (word >> shift) as u8);
    bytes(&plane(16).chain(plane(8)).chain(plane(0)).collect::<Vec<u8>>())
}

/// The upper three bytes of single-precision numbers: rounded to five digits or so.
pub fn floats(values: &[f64]) -> String {
    let word = |value: &f64| {
        let bits = (*value as f32).to_bits();
        if value.is_finite() { (bits.saturating_add(0x80)) >> 8 } else { f32::NAN.to_bits() >> 8 }
    };
    planes(&values.iter().map(word).collect::<Vec<u32>>())
}

/// Whole numbers up to 16 million.
pub fn whole(values: &[usize]) -> String {
    planes(&values.iter().map(|value| (*value).min(MOST as usize) as u32).collect::<Vec<u32>>())
}

/// Places between two ends.
pub fn between(values: &[f64], lo: f64, hi: f64) -> String {
    let word = |value: &f64| (MOST * ((value - lo) / (hi - lo)).clamp(0.0, 1.0)).round() as u32;
    planes(&values.iter().map(word).collect::<Vec<u32>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    fn unpacked(text: &str) -> Vec<u32> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(&base64::decode(text).unwrap()[..]).read_to_end(&mut bytes).unwrap();
        let count = bytes.len() / 3;
        (0..count).map(|i| (0..3).fold(0, |word, plane| word << 8 | u32::from(bytes[plane * count + i]))).collect()
    }

    #[test]
    fn numbers_come_back() {
        let values = [0.0, 1.0, -2.5, 3.1234567, 1e-20, 6.02e23, 123_456.7];
        for (value, word) in values.iter().zip(unpacked(&floats(&values))) {
            let back = f64::from(f32::from_bits(word << 8));
            assert!((back - value).abs() <= 8e-6 * value.abs(), "{value} {back}");
        }
        assert!(f32::from_bits(unpacked(&floats(&[f64::NAN]))[0] << 8).is_nan());
        assert_eq!(unpacked(&whole(&[0, 7, 70_000])), [0, 7, 70_000]);
        assert_eq!(unpacked(&between(&[-1.0, 0.0, 1.0, 9.0], -1.0, 1.0)), [0, 0x80_0000, 0xff_ffff, 0xff_ffff]);
    }
}
