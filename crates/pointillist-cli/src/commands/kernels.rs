//! `kernels`: the factors that a kernel is made of, and how to put them together.
//!
//! The pictures are of the window's side, where each parameter has the value from which learning starts.

use super::{Context, Failure, Outcome, json_line};
use crate::args::KernelsArgs;
use pointillist::kernel::{Factor, Parameter, Unit};

/// Columns and rows of a picture.
const COLUMNS: usize = 40;
/// See [`COLUMNS`].
const ROWS: usize = 3;
/// A cell filled from below, in eighths.
const FILLINGS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The other point in the picture of a factor that depends on more than the distance.
const OTHER_POINT: f64 = 0.7;

/// How to put them together.
const COMBINING: &str = "\
Combining them

  A factor stands on the axes it is given, one factor with its own parameters for each; without
  axes, on all of them. Axes are columns of the data, by name or by number from 0. `*` multiplies,
  `+` adds, brackets group. Each product has a variance, which any of its factors may say.

    --kernel se                                     all axes, a length-scale each
    --kernel 'matern32(lon,lat) + se(t)'            space and time add up
    --kernel '(se(t) + periodic(t))*se(lon,lat)'    brackets are multiplied out
    --kernel 'se(\"day of year\")'                    quotes round an odd name

  A value says where learning starts. `!` after it holds the parameter there.

    --kernel 'se(t)*periodic(t, period=1!) + matern32(lon,lat)'
    --kernel 'se(t, lengthscale=10, variance=4!)'

  Parameters with the same word for a value are one parameter; the word may come with a value.

    --kernel 'se(lon,lat, lengthscale=near)'        one length-scale for both
    --kernel 'se(t, lengthscale=near:10) + matern32(t, lengthscale=near)'
    --kernel 'se(lon,lat, lengthscale=near:10!)'
";

/// Does what was asked for.
pub fn run(args: &KernelsArgs, context: &Context) -> Result<Outcome, Failure> {
    let factors = asked(args.name.as_deref())?;
    let text = match context.json() {
        true => json_line(&factors.iter().map(described).collect::<Vec<_>>())?,
        false if args.name.is_some() => factors.iter().map(entry).collect(),
        false => manual(),
    };
    context.emit(None, &text)?;
    Ok(Outcome::Done)
}

/// The one of this name, or all.
fn asked(name: Option<&str>) -> Result<Vec<Factor>, Failure> {
    let Some(name) = name else { return Ok(Factor::ALL.to_vec()) };
    let names: Vec<&str> = Factor::ALL.iter().map(|factor| factor.name()).collect();
    let unknown = || format!("there is no kernel called {name}; there are: {}", names.join(", "));
    Ok(vec![Factor::by_name(name).ok_or_else(unknown)?])
}

/// All of them, and how they combine.
fn manual() -> String {
    let mut text: Vec<String> = Factor::ALL.iter().map(entry).collect();
    text.push(COMBINING.into());
    text.join("\n")
}

fn entry(factor: &Factor) -> String {
    let head = format!("{}\n  {}\n", factor.name(), factor.formula());
    let parameters: String = factor.parameters().iter().map(parameter_line).collect();
    let picture: String = picture(*factor).iter().map(|row| format!("  {}\n", row.trim_end())).collect();
    format!("{head}{parameters}{picture}  {}\n", caption(*factor))
}

fn parameter_line(parameter: &Parameter) -> String {
    let Parameter { name, start, learned, .. } = parameter;
    let (unit, side) = match parameter.unit {
        Unit::Length => ("a length on the axis", " of the window's side"),
        Unit::Area => ("the square of a length on the axis", " of that of the window's side"),
        Unit::Place => ("a place on the axis", " of the window's side from its lower end"),
        Unit::Number => ("a plain number", ""),
    };
    let learned = if *learned { "learned from" } else { "not learned, usually" };
    format!("  {name}: {unit}; {learned} {start}{side}\n")
}

fn caption(factor: Factor) -> String {
    if depends_on_distance(factor) {
        return "k(d), d from 0 to the window's side".into();
    }
    format!("k(x, {OTHER_POINT}), x from one end of the window to the other")
}

fn starts(factor: Factor) -> Vec<f64> {
    factor.parameters().iter().map(|parameter| parameter.start).collect()
}

/// Whether moving both points together changes nothing, at a few places.
fn depends_on_distance(factor: Factor) -> bool {
    let theta = starts(factor);
    let k = |x: f64, distance: f64| factor.k(&theta, x + distance, x);
    let is_same = |distance: f64| (k(0.1, distance) - k(0.6, distance)).abs() <= 1e-9 * k(0.1, distance).abs() + 1e-12;
    [0.0, 0.07, 0.31].into_iter().all(is_same)
}

/// The factor from one side of the window to the other, from 0 (or its lowest value, if that is lower) to its highest.
fn picture(factor: Factor) -> Vec<String> {
    let (theta, other) = (starts(factor), if depends_on_distance(factor) { 0.0 } else { OTHER_POINT });
    let at = |column: usize| factor.k(&theta, column as f64 / (COLUMNS - 1) as f64, other);
    let values: Vec<f64> = (0..COLUMNS).map(at).collect();
    let (low, high) = values.iter().fold((0.0, 0.0), |(low, high): (f64, f64), &k| (low.min(k), high.max(k)));
    // a value that is no number becomes 0
    let eighths: Vec<usize> =
        values.iter().map(|k| ((k - low) / (high - low) * (8 * ROWS) as f64).round() as usize).collect();
    (0..ROWS)
        .rev()
        .map(|row| eighths.iter().map(|&height| FILLINGS[height.saturating_sub(8 * row).min(8)]).collect())
        .collect()
}

fn described(factor: &Factor) -> serde_json::Value {
    let parameter = |parameter: &Parameter| {
        let Parameter { name, start, learned, .. } = parameter;
        serde_json::json!({ "name": name, "unit": unit_name(parameter.unit), "start": start, "learned": learned })
    };
    let parameters: Vec<_> = factor.parameters().iter().map(parameter).collect();
    serde_json::json!({ "name": factor.name(), "formula": factor.formula(), "parameters": parameters })
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Length => "length",
        Unit::Area => "area",
        Unit::Place => "place",
        Unit::Number => "number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::kernel::Expression;

    #[test]
    fn every_factor_has_its_entry() {
        let text = manual();
        for factor in Factor::ALL {
            assert!(text.contains(&format!("{}\n  {}\n", factor.name(), factor.formula())), "{text}");
            assert!(picture(*factor).iter().all(|row| row.chars().count() == COLUMNS));
            assert!(picture(*factor).concat().contains('█'), "{}", factor.name());
        }
        assert!(text.ends_with(COMBINING));
        assert!(COMBINING.lines().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn the_examples_are_kernels() {
        let examples: Vec<&str> = COMBINING.lines().filter_map(|line| line.trim().strip_prefix("--kernel ")).collect();
        assert!(examples.len() > 5);
        for example in examples {
            let text = match example.strip_prefix('\'') {
                Some(rest) => rest.split('\'').next().unwrap(),
                None => example.split(' ').next().unwrap(),
            };
            let read = Expression::parse(text, &["lon", "lat", "t", "day of year"]);
            assert!(read.is_ok(), "{text}: {read:?}");
        }
    }

    #[test]
    fn pictures_of_se_fall_and_its_description_is_whole() {
        let se = Factor::by_name("se").unwrap();
        let rows = picture(se);
        assert!(
            rows[ROWS - 1].starts_with('█') && rows[0].starts_with('█') && rows[ROWS - 1].ends_with(' '),
            "{rows:?}"
        );
        assert!(depends_on_distance(se));
        let parameter = &described(&se)["parameters"][0];
        assert_eq!((&parameter["name"], &parameter["unit"]), (&"lengthscale".into(), &"length".into()));
    }

    #[test]
    fn an_unknown_name_gets_the_list() {
        assert_eq!(asked(None).unwrap(), Factor::ALL);
        assert!(matches!(asked(Some("sse")), Err(Failure::Sentence(s)) if s.contains("there are: se")));
    }
}
