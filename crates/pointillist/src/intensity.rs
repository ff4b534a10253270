//! An intensity written as a formula of the axes, as in `5*sin(t^2) + 6`: read from text, evaluated at points.
//!
//! ```text
//! sum      = product { ( "+" | "-" ) product }
//! product  = signed { ( "*" | "/" ) signed }
//! signed   = ( "-" | "+" ) signed | power
//! power    = value [ "^" signed ]
//! value    = number | name | "(" sum ")" | function "(" sum { "," sum } ")"
//! ```
//!
//! So a power binds more than the sign before it, and powers group from the right: `-2^2` is −4, `2^3^2` is 512. Reading leaves a list of
//! steps for a stack machine: no tree, so no text is too long for the stack, and nesting is limited where the reader calls itself.
//!
//! What comes out may be negative or no number: whoever draws events from it ([`crate::Simulation`]) refuses that, with the point.

use crate::text::{Result, Text, begins_name, error, is_word, shown};

/// Most brackets, powers and signs inside each other; the reader calls itself for each.
const DEEPEST: usize = 64;

/// A function of one number.
type OfOne = fn(f64) -> f64;
/// A function of two numbers.
type OfTwo = fn(f64, f64) -> f64;

/// The functions of one number.
const OF_ONE: [(&str, OfOne); 10] = [
    ("exp", f64::exp),
    ("log", f64::ln),
    ("sqrt", f64::sqrt),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
    ("abs", f64::abs),
    ("step", step),
    ("sigmoid", sigmoid),
];
/// The functions of two numbers or more.
const OF_MANY: [(&str, OfTwo); 2] = [("min", smaller), ("max", larger)];
/// The function of an expression and pairs of numbers.
const INTERP: &str = "interp";
/// The numbers with a name.
const NUMBERS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];
/// What others call some of these.
const OTHER_NAMES: [(&str, &str); 4] =
    [("ln", "log"), ("heaviside", "step"), ("logistic", "sigmoid"), ("interpolate", INTERP)];

/// A formula of the axes.
///
/// ```
/// use pointillist::Intensity;
///
/// let intensity = Intensity::parse("2*exp(-s/15) + exp(-((s - 25)/10)^2)", &["s"]).unwrap();
/// assert!((intensity.at(&[0.0]) - 2.0).abs() < 0.01);
///
/// let error = Intensity::parse("2*exp(-t/15)", &["s"]).unwrap_err();
/// assert_eq!(error.pointing("2*exp(-t/15)"), "2*exp(-t/15)\n       ^");
/// ```
#[derive(Debug, Clone)]
pub struct Intensity {
    steps: Vec<Step>,
}

/// One step of a stack machine.
#[derive(Debug, Clone)]
enum Step {
    /// Puts a number on the stack.
    Number(f64),
    /// Puts a coordinate on the stack.
    Axis(usize),
    /// Replaces the number on top.
    One(OfOne),
    /// Replaces the two numbers on top.
    Two(OfTwo),
    /// Replaces the number on top by the height there of the line through these points.
    Line(Vec<(f64, f64)>),
}

impl Intensity {
    /// The formula that `text` is, over axes of these names; the first axis is also `x0`, the next `x1`, and so on.
    ///
    /// Numbers, axes, `pi` and `e` with `+ - * / ^` and brackets, and the functions `exp log sqrt sin cos tan tanh abs min max`, `step`
    /// (0 below 0, else 1), `sigmoid` (1/(1 + exp(−x))) and `interp(x, 0,2, 25,3, 50,1)`: the line through the points (0, 2), (25, 3) and
    /// (50, 1), level beyond its ends. Names that are not letters, digits, `_` and `.` are quoted: `"day of year"`.
    pub fn parse(text: &str, axes: &[&str]) -> Result<Self> {
        let mut reader = Reader { text: Text::new(text), depth: 0, axes, steps: Vec::new() };
        reader.whole()?;
        Ok(Self { steps: reader.steps })
    }

    /// Its value at a point: whatever the formula gives, be it negative or no number.
    pub fn at(&self, point: &[f64]) -> f64 {
        value(&self.steps, point)
    }
}

/// What the steps leave on the stack; not a number if the point has too few coordinates.
fn value(steps: &[Step], point: &[f64]) -> f64 {
    let mut stack = Vec::with_capacity(8);
    for step in steps {
        match step {
            Step::Number(number) => stack.push(*number),
            Step::Axis(axis) => stack.push(point.get(*axis).copied().unwrap_or(f64::NAN)),
            Step::One(function) => on_top(&mut stack, function),
            Step::Line(line) => on_top(&mut stack, |x| height(line, x)),
            Step::Two(function) => {
                let right = stack.pop().unwrap_or(f64::NAN);
                on_top(&mut stack, |left| function(left, right));
            }
        }
    }
    stack.pop().unwrap_or(f64::NAN)
}

fn on_top(stack: &mut [f64], function: impl Fn(f64) -> f64) {
    if let Some(top) = stack.last_mut() {
        *top = function(*top);
    }
}

fn step(x: f64) -> f64 {
    if x.is_nan() { x } else { f64::from(x >= 0.0) }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// What is no number stays so, where `f64::min` would drop it.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// See [`smaller`].
fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The height at `x` of the line through points that rise in x; level beyond its ends.
fn height(line: &[(f64, f64)], x: f64) -> f64 {
    let after = line.partition_point(|point| point.0 <= x);
    match (after.checked_sub(1).map(|before| line[before]), line.get(after)) {
        _ if x.is_nan() => x,
        (Some((lo, from)), Some((hi, to))) => from + (to - from) * ((x - lo) / (hi - lo)),
        (Some((_, level)), None) | (None, Some(&(_, level))) => level,
        (None, None) => f64::NAN,
    }
}

/// The text and the steps so far.
struct Reader<'a> {
    text: Text,
    depth: usize,
    axes: &'a [&'a str],
    steps: Vec<Step>,
}

/// Numbers.
impl Reader<'_> {
    /// Reads a number: an `e` belongs to it only if digits follow.
    fn number(&mut self) -> Result<f64> {
        let start = self.text.here();
        let mut text = self.text.run(|c| c.is_ascii_digit() || c == '.');
        if let ['e' | 'E', after @ ..] = &self.text.chars[self.text.at..] {
            let sign = usize::from(matches!(after.first(), Some('+' | '-')));
            if after.get(sign).is_some_and(char::is_ascii_digit) {
                text.extend(&self.text.chars[self.text.at..=self.text.at + sign]);
                self.text.at += 1 + sign;
                text += &self.text.run(|c| c.is_ascii_digit());
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => error(start, format!("{} is too large for a number; write a smaller one", shown(&text))),
            Err(_) => error(start, format!("{} is not a number; write one as in 1.5", shown(&text))),
        }
    }
}

/// Sums, products and powers.
impl Reader<'_> {
    fn whole(&mut self) -> Result<()> {
        if self.text.peek().is_none() {
            return error(0, "there is no formula in this text; write one, as in 2 + sin(x)");
        }
        self.sum()?;
        let at = self.text.here();
        match self.text.peek() {
            None => Ok(()),
            Some(')') => error(at, "this `)` closes nothing; remove it, or add a `(` before"),
            Some(c) => self.unexpected(at, c, "`+`, `-`, `*`, `/` or `^`"),
        }
    }

    fn sum(&mut self) -> Result<()> {
        self.product()?;
        while let Some(sign) = self.text.take_one_of(&['+', '-']) {
            self.product()?;
            self.steps.push(Step::Two(if sign == '+' { |a, b| a + b } else { |a, b| a - b }));
        }
        Ok(())
    }

    fn product(&mut self) -> Result<()> {
        self.signed()?;
        while let Some(sign) = self.text.take_one_of(&['*', '/']) {
            self.signed()?;
            self.steps.push(Step::Two(if sign == '*' { |a, b| a * b } else { |a, b| a / b }));
        }
        Ok(())
    }

    /// Every way in which the reader calls itself leads through here.
    fn signed(&mut self) -> Result<()> {
        let at = self.text.here();
        if self.depth == DEEPEST {
            return error(
                at,
                format!("this stands more than {DEEPEST} deep in brackets, powers or signs; simplify it"),
            );
        }
        self.depth += 1;
        match self.text.take_one_of(&['+', '-']) {
            None => self.power()?,
            Some('+') => self.signed()?,
            Some(_) => {
                self.signed()?;
                self.steps.push(Step::One(|x| -x));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn power(&mut self) -> Result<()> {
        self.value()?;
        if self.text.take('^') {
            self.signed()?;
            self.steps.push(Step::Two(f64::powf));
        }
        Ok(())
    }

    fn value(&mut self) -> Result<()> {
        let at = self.text.here();
        match self.text.peek() {
            Some('(') => {
                self.text.at += 1;
                self.sum()?;
                self.close(at, "an operator or `)`")
            }
            Some('"') => {
                let name = self.text.quoted()?;
                let axis = self.axes.iter().position(|axis| *axis == name);
                self.push_axis(axis, &name, at)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => {
                let number = self.number()?;
                self.steps.push(Step::Number(number));
                Ok(())
            }
            Some(c) if begins_name(c) => self.named(),
            Some('*') if self.text.chars[..at].ends_with(&['*']) => {
                error(at, "a value is missing before `*`; a power is written with `^`")
            }
            Some(c) => error(at, format!("a value is missing before {}; write one, as in 2*x", shown(&c.to_string()))),
            None => error(at, "a value is missing at the end; write one, as in 2*x"),
        }
    }

    /// Reads the `)` of the bracket at `open`.
    fn close(&mut self, open: usize, expected: &str) -> Result<()> {
        let at = self.text.here();
        match self.text.peek() {
            _ if self.text.take(')') => Ok(()),
            None => error(open, "this `(` is not closed; add a `)`"),
            Some(c) => self.unexpected(at, c, expected),
        }
    }

    /// Says what may stand where `c` does; a value there most likely wants a `*` before it.
    fn unexpected<T>(&self, at: usize, c: char, expected: &str) -> Result<T> {
        let c_shown = shown(&c.to_string());
        match c {
            _ if begins_name(c) || c.is_ascii_digit() || matches!(c, '(' | '"' | '.') => {
                error(at, format!("{c_shown} follows a value; to multiply, write a `*` between them"))
            }
            _ => error(at, format!("{c_shown} is not expected here; go on with {expected}")),
        }
    }
}

/// Names: axes, numbers, functions.
impl Reader<'_> {
    fn named(&mut self) -> Result<()> {
        let at = self.text.here();
        let name = self.text.run(is_word);
        if self.text.peek() == Some('(') {
            return self.function(&name, at);
        }
        let axis = self.axis(&name);
        match NUMBERS.iter().find(|number| number.0 == name) {
            Some(&(_, number)) if axis.is_none() => self.steps.push(Step::Number(number)),
            _ => self.push_axis(axis, &name, at)?,
        }
        Ok(())
    }

    /// The axis of this name, else the one of this number, as in `x0`.
    fn axis(&self, name: &str) -> Option<usize> {
        let number = || name.strip_prefix('x')?.parse().ok().filter(|&axis: &usize| axis < self.axes.len());
        self.axes.iter().position(|axis| *axis == name).or_else(number)
    }

    fn push_axis(&mut self, axis: Option<usize>, name: &str, at: usize) -> Result<()> {
        let Some(axis) = axis else { return error(at, self.unknown(name)) };
        self.steps.push(Step::Axis(axis));
        Ok(())
    }

    fn unknown(&self, name: &str) -> String {
        if is_function(name) {
            return format!("{name} is a function; write what it is of in brackets, as in {name}(1)");
        }
        let axes: Vec<String> = self.axes.iter().map(|axis| shown(axis)).collect();
        let (what, axes) = (if axes.len() == 1 { "axis is" } else { "axes are" }, axes.join(", "));
        format!("there is nothing called {}; the {what} {axes}, and there are pi and e", shown(name))
    }

    fn function(&mut self, name: &str, at: usize) -> Result<()> {
        let open = self.text.here();
        if let Some(&(_, function)) = OF_ONE.iter().find(|known| known.0 == name) {
            return self.of_one(name, function, open);
        }
        if let Some(&(_, function)) = OF_MANY.iter().find(|known| known.0 == name) {
            return self.of_many(name, function, open);
        }
        if name == INTERP {
            return self.interp(open);
        }
        if self.axis(name).is_some() || NUMBERS.iter().any(|number| number.0 == name) {
            return error(open, format!("{} is no function; to multiply, write a `*` before the `(`", shown(name)));
        }
        if let Some((_, known)) = OTHER_NAMES.iter().find(|other| other.0 == name.to_lowercase()) {
            return error(at, format!("there is no function {}; it is called {known} here", shown(name)));
        }
        error(at, format!("there is no function {}; there are {}", shown(name), function_names().join(", ")))
    }

    fn of_one(&mut self, name: &str, function: OfOne, open: usize) -> Result<()> {
        self.text.at += 1;
        self.sum()?;
        let comma = self.text.here();
        if self.text.peek() == Some(',') {
            return error(comma, format!("{name} is of one number; remove what follows, or close the bracket before"));
        }
        self.close(open, "an operator or `)`")?;
        self.steps.push(Step::One(function));
        Ok(())
    }

    fn of_many(&mut self, name: &str, function: OfTwo, open: usize) -> Result<()> {
        self.text.at += 1;
        self.sum()?;
        if self.text.peek() == Some(')') {
            return error(open, format!("{name} is of two numbers or more; write it as in {name}(x, 1)"));
        }
        while self.text.take(',') {
            self.sum()?;
            self.steps.push(Step::Two(function));
        }
        self.close(open, "an operator, `,` or `)`")
    }

    /// `interp(x, place, height, ...)`: the first may be any formula, the others are numbers.
    fn interp(&mut self, open: usize) -> Result<()> {
        self.text.at += 1;
        self.sum()?;
        let mut line: Vec<(f64, f64)> = Vec::new();
        while self.text.take(',') {
            let at = self.text.here();
            let place = self.constant()?;
            if line.last().is_some_and(|last| last.0 >= place) {
                return error(at, "the places of interp must rise; write it as in interp(x, 0,2, 25,3, 50,1)");
            }
            if !self.text.take(',') {
                return error(at, "this place of interp has no height; write it as in interp(x, 0,2, 25,3, 50,1)");
            }
            line.push((place, self.constant()?));
        }
        self.close(open, "an operator, `,` or `)`")?;
        if line.is_empty() {
            return error(open, "interp has no points; write it as in interp(x, 0,2, 25,3, 50,1)");
        }
        self.steps.push(Step::Line(line));
        Ok(())
    }

    /// Reads a formula that is a number wherever it is evaluated.
    fn constant(&mut self) -> Result<f64> {
        let (at, start) = (self.text.here(), self.steps.len());
        self.sum()?;
        let steps = self.steps.split_off(start);
        if steps.iter().any(|step| matches!(step, Step::Axis(_))) {
            return error(at, "the points of interp must be numbers; only what stands first in it may use the axes");
        }
        let number = value(&steps, &[]);
        if number.is_finite() { Ok(number) } else { error(at, format!("this is {number}; write a finite number")) }
    }
}

fn function_names() -> Vec<&'static str> {
    OF_ONE.iter().map(|known| known.0).chain(OF_MANY.iter().map(|known| known.0)).chain([INTERP]).collect()
}

fn is_function(name: &str) -> bool {
    function_names().contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{E, PI};

    const AXES: [&str; 3] = ["lon", "lat", "t"];

    /// The value of `text` at lon 2, lat 3, t 5.
    #[track_caller]
    fn at(text: &str) -> f64 {
        match Intensity::parse(text, &AXES) {
            Ok(intensity) => intensity.at(&[2.0, 3.0, 5.0]),
            Err(error) => panic!("{error}\n{}", error.pointing(text)),
        }
    }

    #[test]
    fn operators_bind_as_on_paper() {
        for (text, expected) in [
            ("1 + 2*3", 7.0),
            ("(1 + 2)*3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("12/3/2", 2.0),
            ("12/3*2", 8.0),
            ("2^3^2", 512.0),
            ("(2^3)^2", 64.0),
            ("-2^2", -4.0),
            ("(-2)^2", 4.0),
            ("2^-1", 0.5),
            ("2^-1^2", 0.5),
            ("2*-3", -6.0),
            ("1 - -1", 2.0),
            ("--+3", 3.0),
            ("2*3^2", 18.0),
            ("-t^2/lat*lon", -50.0 / 3.0),
            (" \t1\n+\u{a0}1 ", 2.0),
        ] {
            assert!((at(text) - expected).abs() < 1e-14, "{text} is {}", at(text));
        }
    }

    #[test]
    fn numbers_and_names_are_read() {
        for (text, expected) in [
            ("1.5", 1.5),
            (".5", 0.5),
            ("2.", 2.0),
            ("2e3", 2000.0),
            ("2.5E-1", 0.25),
            ("1e+2", 100.0),
            ("pi", PI),
            ("e", E),
            ("e^2", E.powf(2.0)),
            ("lon", 2.0),
            ("x0 + x1 + x2", 10.0),
            ("\"lat\"", 3.0),
        ] {
            assert_eq!(at(text), expected, "{text}");
        }
        let over = |text: &str, axes: &[&str], point: &[f64]| Intensity::parse(text, axes).unwrap().at(point);
        assert_eq!(over("e*pi*exp", &["e", "pi", "exp"], &[2.0, 3.0, 5.0]), 30.0, "an axis has its name");
        assert_eq!(over("x1", &["x1", "x0"], &[7.0, 8.0]), 7.0, "names before numbers");
        assert_eq!(over("\"day of \"\"year\"\"\" + Länge.1", &["day of \"year\"", "Länge.1"], &[1.0, 2.0]), 3.0);
        assert!(over("lat", &AXES, &[1.0]).is_nan(), "a point without this coordinate");
    }

    #[test]
    fn every_function_is_itself() {
        for (text, expected) in [
            ("exp(lon)", 2f64.exp()),
            ("log(t)", 5f64.ln()),
            ("sqrt(lat)", 3f64.sqrt()),
            ("sin(t)", 5f64.sin()),
            ("cos(t)", 5f64.cos()),
            ("tan(t)", 5f64.tan()),
            ("tanh(lon)", 2f64.tanh()),
            ("abs(-t)", 5.0),
            ("min(t, lon, lat)", 2.0),
            ("max(lon, t, lat)", 5.0),
            ("step(-1) + 2*step(0) + 4*step(1)", 6.0),
            ("sigmoid(0)", 0.5),
            ("sigmoid(-800) + sigmoid(800)", 1.0),
            ("exp (sin (0) )", 1.0),
        ] {
            assert_eq!(at(text), expected, "{text}");
        }
        assert_eq!(function_names().len(), 13);
        for text in ["log(-1)", "sqrt(-1)", "min(sqrt(-1), 1)", "max(1, sqrt(-1))", "step(0/0)", "interp(0/0, 1,1)"] {
            assert!(at(text).is_nan(), "{text}");
        }
        assert_eq!(at("1/0"), f64::INFINITY);
    }

    #[test]
    fn interp_is_a_line_that_ends_level() {
        let line = |x: f64| at(&format!("interp({x}, 0,2, 25,3, 50,1)"));
        for (x, expected) in [(-9.0, 2.0), (0.0, 2.0), (12.5, 2.5), (25.0, 3.0), (37.5, 2.0), (50.0, 1.0), (99.0, 1.0)]
        {
            assert_eq!(line(x), expected, "{x}");
        }
        assert_eq!(at("interp(t, 7, 4)"), 4.0);
        assert_eq!(at("2*interp(lon*lat, -2/2, 1, 2*5 - 3, 2^3 + 1)"), 16.0);
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, at, what) in [
            ("", 0, "no formula"),
            (" \n ", 0, "no formula"),
            ("2 +", 3, "missing at the end"),
            ("2 + * t", 4, "missing before `*`"),
            ("t**2", 2, "written with `^`"),
            ("()", 1, "missing before `)`"),
            ("(t", 0, "not closed"),
            ("sin(t", 3, "not closed"),
            ("min(t, 1", 3, "not closed"),
            ("t)", 1, "closes nothing"),
            ("2t", 1, "write a `*`"),
            ("2e", 1, "write a `*`"),
            ("2 (t)", 2, "write a `*`"),
            ("(t)(t)", 3, "write a `*`"),
            ("t(2)", 1, "no function"),
            ("pi(2)", 2, "no function"),
            ("t, 2", 1, "not expected here"),
            ("(t, 2)", 2, "not expected here"),
            ("t < 2", 2, "not expected here"),
            ("x", 0, "the axes are `lon`, `lat`, `t`"),
            ("2*x3", 2, "nothing called `x3`"),
            ("2*\"x0\"", 2, "nothing called `x0`"),
            ("sin", 0, "in brackets"),
            ("sin t", 0, "in brackets"),
            ("\"t", 0, "quote is not closed"),
            ("1.2.3", 0, "not a number"),
            (".", 0, "not a number"),
            ("1e999", 0, "too large"),
            ("1 + sinh(t)", 4, "there are exp, log"),
            ("ln(t)", 0, "it is called log here"),
            ("exp(t, 2)", 5, "of one number"),
            ("exp()", 4, "missing before `)`"),
            ("min(t)", 3, "two numbers or more"),
            ("max()", 4, "missing before `)`"),
            ("interp(t)", 6, "no points"),
            ("interp(t, 1)", 10, "no height"),
            ("interp(t, 1, 2, 1, 3)", 16, "must rise"),
            ("interp(t, 1, t)", 13, "must be numbers"),
            ("interp(t, 1/0, 2)", 10, "finite"),
            ("interp(t, 1, 2", 6, "not closed"),
            ("漢", 0, "nothing called `漢`"),
            ("t + ²", 4, "missing before `²`"),
        ] {
            let error = Intensity::parse(text, &AXES).expect_err(text);
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.message.contains(what) && !error.message.contains('\n'), "{text}: {error}");
        }
        assert!(Intensity::parse("y", &["x"]).unwrap_err().message.contains("the axis is `x`"));
    }

    #[test]
    fn depth_is_limited_and_length_is_not() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(at(&nested(DEEPEST - 1)), 1.0);
        assert_eq!(at(&vec!["1"; 100_000].join("+")), 100_000.0);
        assert_eq!(at(&vec!["-1"; 100_000].join("*")), 1.0);
        let deep = [
            nested(100_000),
            "(".repeat(100_000),
            "-".repeat(100_000),
            "2^".repeat(100_000),
            "sin(".repeat(100_000),
            "min(1,".repeat(100_000),
            "interp(1,".repeat(100_000),
            "1+(".repeat(100_000),
        ];
        for text in deep {
            let error = Intensity::parse(&text, &AXES).unwrap_err();
            assert!(error.message.contains("64 deep"), "{error}");
            assert!(error.pointing(&text).chars().count() < 300);
        }
        assert!(Intensity::parse(&"a".repeat(100_000), &AXES).unwrap_err().message.len() < 300);
    }

    #[test]
    fn no_text_is_too_odd() {
        let tokens = "lon lat t x0 x9 pi e 1 2.5 .5 1e3 2e- . ( ( ) ) , + - * / ^ ^ ! = \" é \u{0} 漢 exp( log( sqrt( sin( \
            tan( min( max( step( sigmoid( interp( interp(t,0,1, abs ln(";
        let good = crate::text::read_odd_texts(tokens, |text| {
            let intensity = Intensity::parse(text, &AXES)?;
            intensity.at(&[0.0, -1.5, 1e300]);
            Ok(true)
        });
        assert!(good > 500, "only {good} were formulas");
    }
}
