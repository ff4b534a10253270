//! Small languages: grids, quantiles, sizes.

use super::message::{Message, Setting};
use super::window::Given;
use crate::message;
use pointillist::Axis;

/// `200` or `100x100`: one count for each axis.
pub fn counts(given: Given<'_>, axes: &[Axis]) -> Result<Vec<usize>, Message> {
    // As many as are allowed in all, on any number of axes.
    let side = (5000f64.powf(1.0 / axes.len().max(1) as f64) as usize).clamp(2, 20).to_string();
    let example = vec![side.as_str(); axes.len()].join("x");
    let counts: Option<Vec<usize>> = given.text.split(['x', '×']).map(|part| part.trim().parse().ok()).collect();
    match counts {
        Some(counts) if counts.contains(&0) => {
            Err(message![given.message(), " needs at least one point an axis, as in {example}"])
        }
        Some(counts) if counts.len() == axes.len() => match counts.iter().try_fold(1usize, |n, &c| n.checked_mul(c)) {
            Some(_) => Ok(counts),
            None => Err(message![given.message(), " is far too many points"]),
        },
        Some(counts) => {
            let (found, needed) = (plural(counts.len(), "axis", "axes"), plural(axes.len(), "axis", "axes"));
            let are = if axes.len() == 1 { "is" } else { "are" };
            Err(message![given.message(), " is for {found}, but there {are} {needed}; write it as in {example}"])
        }
        None => Err(message![given.message(), " is not a grid; write it as in {example}"]),
    }
}

/// `500MB`, `8GB`: bytes.
pub fn bytes(text: &str) -> Result<u64, Message> {
    let units = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    let read = |(unit, size): (&str, f64)| -> Option<f64> {
        let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        (number > 0.0 && number.is_finite()).then_some(number * size)
    };
    let size = units.into_iter().find_map(read);
    size.map(|size| size as u64)
        .ok_or_else(|| message![Setting::MaxMemory.given(text), " is no size; write it as in 500MB or 8GB"])
}

/// `0.05,0.5,0.95`: probabilities strictly between 0 and 1.
pub fn quantiles(text: &str) -> Result<Vec<f64>, Message> {
    let given = || Setting::Quantiles.given(text);
    let one = |part: &str| {
        let (part, value): (&str, Option<f64>) = (part.trim(), part.trim().parse().ok());
        value
            .filter(|p| *p > 0.0 && *p < 1.0)
            .ok_or_else(|| message![given(), ": `{part}` must be a number between 0 and 1, as in 0.05,0.5,0.95"])
    };
    let all = text.split(',').map(one).collect::<Result<Vec<f64>, Message>>()?;
    match repeated(&all) {
        Some(p) => Err(message![given(), ": {p} is given twice; give it once"]),
        None => Ok(all),
    }
}

/// What a window of so many axes is measured by.
pub fn measure_name(dims: usize) -> &'static str {
    match dims {
        1 => "length",
        2 => "area",
        _ => "volume",
    }
}

/// `1 event`, `2 events`.
pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The first that was given before.
pub fn repeated<T: PartialEq>(all: &[T]) -> Option<&T> {
    (1..all.len()).find(|&i| all[..i].contains(&all[i])).map(|i| &all[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(names: &[&str]) -> Vec<Axis> {
        names.iter().map(|name| Axis { name: name.to_string(), ..Axis::default() }).collect()
    }

    #[test]
    fn grids_have_one_count_an_axis() {
        let grid = |text: &str, names: &[&str]| counts(Given { setting: Setting::Grid, text }, &axes(names));
        assert_eq!(grid("31", &["t"]), Ok(vec![31]));
        assert_eq!(grid("20x30", &["x", "y"]), Ok(vec![20, 30]));
        for (text, names, what) in [
            ("31", vec!["x", "y"], "20x20"),
            ("31x", vec!["x", "y"], "not a grid"),
            ("3x0", vec!["x", "y"], "at least one"),
            ("-3", vec!["t"], "not a grid"),
            ("9999999999x9999999999999", vec!["x", "y"], "too many"),
        ] {
            let error = grid(text, &names).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn quantiles_lie_inside_the_unit_interval() {
        assert_eq!(quantiles("0.05, .5"), Ok(vec![0.05, 0.5]));
        for text in ["1.5", "0", "1", "-0.1", "half", "", "0.5,", "nan", "0.5,0.5"] {
            assert!(quantiles(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!((bytes("500MB"), bytes(" 1.5 GB ")), (Ok(500_000_000), Ok(1_500_000_000)));
        for text in ["500", "MB", "-1MB", "infGB", "1mb"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
