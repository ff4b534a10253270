//! What is done to inputs: bytes, lines, numbers and the structure of JSON, all drawn from a seeded generator.

use pointillist_cli::hostile;
use serde_json::Value;

/// SplitMix64: the same cases from the same seed, on every machine.
pub struct Random(u64);

impl Random {
    /// The generator of case `number` of a run.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `count`; 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.next() % count as u64) as usize }
    }

    /// In so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Numbers that are none, or that nobody expects.
pub const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "1e308",
    "-1e308",
    "1e309",
    "1.7976931348623157e308",
    "1e200",
    "1e-200",
    "1e-300",
    "1e-320",
    "5e-324",
    "1e16",
    "9007199254740993",
    "4294967295",
    "4294967296",
    "1000000000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e-5",
    "0.5",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "Infinity",
    "",
    " ",
    "1e",
    ".",
    "+",
    "0x10",
    "1_000",
    "1,5",
    "١٢",
    "½",
    "１",
];

/// Texts that nobody expects.
pub const TEXTS: &[&str] = &[
    "",
    " ",
    "-",
    "--",
    "=",
    ",",
    ",,",
    "\"",
    "'",
    "`",
    "\\",
    "\0",
    "\n",
    "\t",
    "\u{feff}",
    "é",
    "日本",
    "🦀",
    "\u{202e}x",
    "null",
    "true",
    "NaN,NaN",
    "0,0",
    "1,0",
    "-1e308,1e308",
    "1e300,1e308",
    "0,1e-300",
    "0,5,0",
    "0,10,0,10,0,10,0,10",
    "nope.csv",
    ".",
    "/",
    "/dev/null",
    "missing/x",
    "2016-02-30",
    "9999-12-31T23:59:60Z",
    "-9999-01-01",
    "0000-00-00,0001-01-01",
    "2016-01-01T00:00:00+99:99",
    "((((((((((((((((((((((((((((((((",
    "1x",
    "x1",
    "0x0",
    "1x1x1x1x1",
    "99999999999999999999x2",
    "a=b=c",
    "~",
    "t ~ t",
    "%s%n",
    "$(x)",
];

/// Bytes changed in a few places.
pub fn bytes(random: &mut Random, whole: &[u8]) -> Vec<u8> {
    let mut changed = whole.to_vec();
    for _ in 0..1 + random.below(3) {
        let place = random.below(changed.len());
        let end = (place + 1 + random.below(40)).min(changed.len());
        match random.below(9) {
            0 if !changed.is_empty() => changed[place] ^= 1 << random.below(8),
            1 if !changed.is_empty() => changed[place] = random.next() as u8,
            2 => changed.insert(place, random.next() as u8),
            3 => drop(changed.drain(place..end)),
            4 => changed.truncate(place),
            5 => {
                let part = changed[place.min(end)..end].to_vec();
                changed.splice(place..place, part);
            }
            6 => {
                let text = random.of(TEXTS).as_bytes().to_vec();
                changed.splice(place..place, text);
            }
            _ => number(random, &mut changed),
        }
    }
    changed
}

/// A number somewhere replaced by another.
fn number(random: &mut Random, text: &mut Vec<u8>) {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
    let start = random.below(text.len());
    let Some(first) = text[start..].iter().position(|&byte| is_part(byte)).map(|i| start + i) else { return };
    let length = text[first..].iter().take_while(|&&byte| is_part(byte)).count();
    text.splice(first..first + length, random.of(NUMBERS).bytes());
}

/// Lines left out, said twice, or joined; or bytes changed.
pub fn text(random: &mut Random, whole: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(8) {
        _ if lines.is_empty() => {}
        0 => drop(lines.remove(one)),
        1 => lines.insert(one, lines[other]),
        2 => lines.swap(one, other),
        3 => {
            return whole
                .iter()
                .copied()
                .filter(|byte| *byte != b'\r')
                .flat_map(|b| if b == b'\n' { vec![b'\r', b] } else { vec![b] })
                .collect();
        }
        4 => {
            return whole
                .iter()
                .map(|byte| if *byte == b',' { random.of(&[";", "\t", " ", "|"]).as_bytes()[0] } else { *byte })
                .collect();
        }
        _ => return bytes(random, whole),
    }
    lines.concat()
}

/// The structure of a JSON document changed in one place, or in a few.
pub fn json(random: &mut Random, whole: &[u8]) -> Vec<u8> {
    let Ok(mut document) = serde_json::from_slice::<Value>(whole) else { return bytes(random, whole) };
    let is_sealed = document.get("checksum").is_some();
    if let Some(fields) = document.as_object_mut() {
        fields.remove("checksum");
    }
    for _ in 0..1 + random.below(2) {
        let mut places = Vec::new();
        list_places(&document, String::new(), &mut places);
        let place = places[random.below(places.len())].clone();
        if let Some(value) = document.pointer_mut(&place) {
            change(random, value);
        }
    }
    let text = document.to_string();
    match text.strip_suffix('}') {
        // A checksum of the right form, for `resealed` to fill in.
        Some(body) if is_sealed => format!("{body},\"checksum\":\"0123456789abcdef\"}}").into_bytes(),
        _ => text.into_bytes(),
    }
}

/// The places of a document; of a long list the first, the last and one more stand for all.
fn list_places(value: &Value, at: String, places: &mut Vec<String>) {
    places.push(at.clone());
    match value {
        Value::Array(list) => {
            let shown = std::collections::BTreeSet::from([0, list.len() / 2, list.len().saturating_sub(1)]);
            for i in shown.range(..list.len()) {
                list_places(&list[*i], format!("{at}/{i}"), places);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                list_places(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), places);
            }
        }
        _ => {}
    }
}

fn change(random: &mut Random, value: &mut Value) {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 1e308, -1e308, 1e-320, 1e-300, 1e200, 1e9, 3.0];
    match (random.below(10), &mut *value) {
        (0..=2, Value::Array(list)) if !list.is_empty() => {
            let (one, other) = (random.below(list.len()), random.below(list.len()));
            match random.below(4) {
                0 => drop(list.remove(one)),
                1 => list.insert(one, list[other].clone()),
                2 => list.truncate(one),
                _ => list.swap(one, other),
            }
        }
        (0..=2, Value::Object(fields)) if !fields.is_empty() => {
            let name = fields.keys().nth(random.below(fields.len())).cloned().unwrap_or_default();
            fields.remove(&name);
        }
        (0..=6, Value::Number(_)) => *value = numbers[random.below(numbers.len())].into(),
        (0, _) => *value = Value::Null,
        (1, _) => *value = Value::Array(vec![]),
        (2, _) => *value = Value::Object(Default::default()),
        (3, _) => *value = random.of(TEXTS).into(),
        (4, _) => *value = u64::MAX.into(),
        (5, _) => *value = (random.below(5) as i64 - 2).into(),
        (6, _) => *value = Value::Array(vec![value.clone(), value.clone()]),
        (7, _) => (0..200).for_each(|_| *value = Value::Array(vec![value.take()])),
        _ => *value = numbers[random.below(numbers.len())].into(),
    }
}

/// A file changed in the way of its kind; half of those with a checksum get the one that then belongs to them.
pub fn file(random: &mut Random, name: &str, whole: &[u8]) -> Vec<u8> {
    let changed = match name.rsplit('.').next() {
        Some("json" | "geojson" | "sgcp") if random.chance(70) => json(random, whole),
        Some("csv") => text(random, whole),
        Some("gz") if random.chance(50) => gzip(&text(random, &gunzip(whole))),
        _ => bytes(random, whole),
    };
    if random.chance(50) { hostile::resealed(&changed) } else { changed }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}
