//! Reads a kernel from text.
//!
//! ```text
//! sum      = product { "+" product }
//! product  = primary { "*" primary }
//! primary  = "(" sum ")" | factor [ "(" [ argument { "," argument } ] ")" ]
//! argument = axis | parameter "=" said
//! said     = number [ "!" ] | label [ ":" number [ "!" ] ]
//! ```
//!
//! The factors as written ([`Atom`]) are kept in a list and a sum of products holds their numbers, so that brackets are
//! multiplied out while reading, and a factor that stands in several products afterwards is known to be one factor.
//! Labels are made to agree, and the values are checked, when all of the text has been read.
//!
//! It does not know windows: a value is what was typed. Sizes and depth are limited, so any text is read in little time
//! and stack.

use super::expression::{Expression, PartExpression, Said, TermExpression, axis_called};
use super::{Factor, Unit};
use crate::text::{Result, Text, begins_name, error, is_word, shown};
use std::collections::HashMap;

/// Most terms of a sum after its brackets are multiplied out: each costs as much as a kernel of its own.
const MOST_TERMS: usize = 64;
/// Most factors in a product.
const MOST_FACTORS: usize = 64;
/// Most brackets inside each other; the reader calls itself for each.
const DEEPEST: usize = 64;
/// What others call the squared exponential.
const NAMES_FOR_SE: [&str; 5] = ["rbf", "eq", "gaussian", "squared_exponential", "exponentiated_quadratic"];

/// Numbers of atoms that multiply.
type Product = Vec<usize>;
/// Products that add up.
type Sum = Vec<Product>;

/// What is said of a parameter, and where.
struct Mention {
    said: Said,
    at: usize,
}

/// A factor as it is written, on all its axes.
struct Atom {
    factor: Factor,
    at: usize,
    axes: Vec<usize>,
    /// One for each of the factor's.
    parameters: Vec<Option<Mention>>,
    variance: Option<Mention>,
}

/// What a parameter is a number of; only equal kinds can be tied.
#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Variance,
    Of(Unit),
}

/// What is known of a label.
struct Tie {
    kind: Kind,
    value: Option<f64>,
    held: bool,
}

/// The expression that `text` is, over axes of these names.
pub(super) fn parse(text: &str, axes: &[&str]) -> Result<Expression> {
    let mut reader = Reader { text: Text::new(text), depth: 0, axes, atoms: Vec::new() };
    let sum = reader.whole()?;
    let mut atoms = reader.atoms;
    agree_on_labels(&mut atoms)?;
    atoms.iter().try_for_each(Atom::check)?;
    assemble(&sum, &atoms)
}

/// The text and the factors so far. Each method that reads skips white space first.
struct Reader<'a> {
    text: Text,
    depth: usize,
    axes: &'a [&'a str],
    atoms: Vec<Atom>,
}

/// Words and numbers.
impl Reader<'_> {
    /// Reads a run of letters, digits, `_` and `.`; nothing if there is none.
    fn word(&mut self) -> String {
        self.text.here();
        self.text.run(is_word)
    }

    /// Reads a finite number. A sign may stand first, and after the `e` of an exponent.
    fn number(&mut self, parameter: &str) -> Result<f64> {
        let (start, mut before) = (self.text.here(), 'e');
        let text = self.text.run(|c| {
            let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            before = c;
            is_sign || is_word(c)
        });
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => error(start, format!("{} is not a finite number; give {parameter} one", shown(&text))),
            Err(_) if text.is_empty() => error(start, format!("a number is missing here, as in {parameter}=1")),
            Err(_) => error(start, format!("{} is not a number; write it as in {parameter}=1", shown(&text))),
        }
    }
}

/// Sums and products.
impl Reader<'_> {
    fn whole(&mut self) -> Result<Sum> {
        if self.text.peek().is_none() {
            return error(0, "there is no kernel in this text; write one, as in se");
        }
        let sum = self.sum()?;
        let at = self.text.here();
        match self.text.peek() {
            None => Ok(sum),
            Some(')') => error(at, "this `)` closes nothing; remove it, or add a `(` before"),
            Some(c) => error(at, format!("{} is not expected here; go on with `*` or `+`", shown(&c.to_string()))),
        }
    }

    fn sum(&mut self) -> Result<Sum> {
        let mut sum = self.product()?;
        while self.text.take('+') {
            let at = self.text.here();
            sum.extend(self.product()?);
            at_most(sum.len(), MOST_TERMS, "terms after its brackets are multiplied out", at)?;
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<Sum> {
        let mut product = self.primary()?;
        while self.text.take('*') {
            let at = self.text.here();
            product = multiplied(&product, &self.primary()?, at)?;
        }
        Ok(product)
    }

    fn primary(&mut self) -> Result<Sum> {
        let open = self.text.here();
        if !self.text.take('(') {
            return self.atom();
        }
        if self.depth == DEEPEST {
            return error(open, format!("brackets stand more than {DEEPEST} deep here; multiply some of them out"));
        }
        self.depth += 1;
        let sum = self.sum()?;
        self.depth -= 1;
        if self.text.take(')') { Ok(sum) } else { self.not_closed(open, "`*`, `+` or `)`") }
    }

    /// The text ended before the bracket did, or something else stands where it may not.
    fn not_closed<T>(&mut self, open: usize, expected: &str) -> Result<T> {
        let at = self.text.here();
        match self.text.peek() {
            None => error(open, "this `(` is not closed; add a `)`"),
            Some('-') => error(at, format!("`-` is not expected here but {expected}; quote a name that has one")),
            Some(c) => error(at, format!("{} is not expected here but {expected}", shown(&c.to_string()))),
        }
    }
}

fn at_most(count: usize, most: usize, what: &str, at: usize) -> Result<()> {
    if count <= most {
        Ok(())
    } else {
        error(at, format!("this makes more than {most} {what}; ask for a simpler kernel"))
    }
}

/// Every product of the one with every product of the other.
fn multiplied(left: &Sum, right: &Sum, at: usize) -> Result<Sum> {
    let longest = |sum: &Sum| sum.iter().map(Vec::len).max().unwrap_or(0);
    at_most(left.len() * right.len(), MOST_TERMS, "terms after its brackets are multiplied out", at)?;
    at_most(longest(left) + longest(right), MOST_FACTORS, "factors in a product", at)?;
    Ok(left.iter().flat_map(|left| right.iter().map(|right| [&left[..], right].concat())).collect())
}

/// Factors and their arguments.
impl Reader<'_> {
    fn atom(&mut self) -> Result<Sum> {
        let at = self.text.here();
        let name = self.word();
        if name.is_empty() {
            return self.no_factor();
        }
        let Some(factor) = Factor::by_name(&name) else { return error(at, self.unknown_factor(&name)) };
        let parameters = factor.parameters().iter().map(|_| None).collect();
        let mut atom = Atom { factor, at, axes: Vec::new(), parameters, variance: None };
        if self.text.peek() == Some('(') {
            self.arguments(&mut atom)?;
        }
        if atom.axes.is_empty() {
            atom.axes = (0..self.axes.len()).collect();
        }
        self.atoms.push(atom);
        Ok(vec![vec![self.atoms.len() - 1]])
    }

    fn no_factor<T>(&mut self) -> Result<T> {
        let at = self.text.here();
        match self.text.peek() {
            None => error(at, "a kernel is missing at the end; write one, as in se"),
            Some(c) => error(at, format!("a kernel is missing before {}; write one, as in se", shown(&c.to_string()))),
        }
    }

    fn unknown_factor(&self, name: &str) -> String {
        let (name_shown, all) = (shown(name), listed(Factor::ALL.iter().map(|factor| factor.name())));
        if self.axes.contains(&name) {
            return format!("{name_shown} is a column and not a kernel; write one on it, as in se({name})");
        }
        if name.parse::<f64>().is_ok() {
            return "a number does not multiply a kernel; say its variance, as in se(variance=2)".into();
        }
        match nearest(name) {
            Some(near) => format!("there is no kernel called {name_shown}; the nearest is {near}, and there are {all}"),
            None => format!("there is no kernel called {name_shown}; there are {all}"),
        }
    }

    fn arguments(&mut self, atom: &mut Atom) -> Result<()> {
        let open = self.text.here();
        self.text.at += 1;
        if self.text.take(')') {
            return Ok(());
        }
        loop {
            self.argument(atom, open)?;
            if self.text.take(')') {
                return Ok(());
            }
            if !self.text.take(',') {
                return self.not_closed(open, "`,` or `)`");
            }
        }
    }

    fn argument(&mut self, atom: &mut Atom, open: usize) -> Result<()> {
        let at = self.text.here();
        match self.text.peek() {
            Some('"') => {
                let name = self.text.quoted()?;
                let axis = self.axes.iter().position(|axis| *axis == name);
                self.add_axis(atom, axis, &name, at)
            }
            Some(c) if is_word(c) => {
                let word = self.word();
                if self.text.take('=') {
                    return self.parameter(atom, &word, at);
                }
                let axis = axis_called(&word, self.axes).filter(|&axis| axis < self.axes.len());
                self.add_axis(atom, axis, &word, at)
            }
            _ => self.not_closed(open, "an axis or a parameter"),
        }
    }

    fn add_axis(&self, atom: &mut Atom, axis: Option<usize>, name: &str, at: usize) -> Result<()> {
        let name = shown(name);
        let Some(axis) = axis else {
            let (factor, there) = (atom.factor.name(), listed(self.axes.iter().map(|axis| shown(axis))));
            return error(at, format!("{name} is a column that is not there; {factor} can stand on {there}"));
        };
        if atom.axes.contains(&axis) {
            let factor = atom.factor.name();
            return error(at, format!("{name} stands twice in one {factor}; remove it, or multiply two of them"));
        }
        atom.axes.push(axis);
        Ok(())
    }

    fn parameter(&mut self, atom: &mut Atom, name: &str, at: usize) -> Result<()> {
        let known = atom.factor.parameters();
        let index = known.iter().position(|parameter| parameter.name == name);
        if index.is_none() && name != "variance" {
            let (factor, name) = (atom.factor.name(), shown(name));
            let there = listed(known.iter().map(|parameter| parameter.name).chain(["variance"]));
            return error(at, format!("{factor} has no parameter {name}; it has {there}"));
        }
        let unit = index.map(|index| known[index].unit);
        let place = index.map_or(&mut atom.variance, |index| &mut atom.parameters[index]);
        if place.is_some() {
            return error(at, format!("{name} is given twice; keep one of them"));
        }
        *place = Some(self.said(name, unit)?);
        Ok(())
    }

    /// What stands after `parameter=`.
    fn said(&mut self, parameter: &str, unit: Option<Unit>) -> Result<Mention> {
        let at = self.text.here();
        let label = self.label(parameter)?;
        if label.is_some() && !self.text.take(':') {
            let hold = self.text.here();
            return match self.text.take('!') {
                true => error(hold, "a label is held at a value; write it as in label:1!"),
                false => Ok(Mention { said: Said { label, ..Said::default() }, at }),
            };
        }
        let at = self.text.here();
        let value = self.number(parameter)?;
        if value <= 0.0 && unit != Some(Unit::Place) {
            return error(at, format!("{parameter} must be greater than 0; write it as in {parameter}=1"));
        }
        Ok(Mention { said: Said { value: Some(value), held: self.text.take('!'), label }, at })
    }

    /// Reads a word that is no number.
    fn label(&mut self, parameter: &str) -> Result<Option<String>> {
        let at = self.text.here();
        match self.text.peek() {
            Some(c) if begins_name(c) => {}
            Some(c) if is_word(c) || matches!(c, '+' | '-') => return Ok(None),
            _ => return error(at, format!("a value or a label is missing here, as in {parameter}=1")),
        }
        let word = self.word();
        if word.parse::<f64>().is_ok() {
            return error(at, format!("{} is not a finite number; give {parameter} one", shown(&word)));
        }
        Ok(Some(word))
    }
}

/// `a, b and c`.
fn listed(names: impl Iterator<Item = impl Into<String>>) -> String {
    let mut names: Vec<String> = names.map(Into::into).collect();
    match names.pop() {
        None => "nothing".into(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}

/// The factor whose name looks like this one, if one does.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    if NAMES_FOR_SE.contains(&name.as_str()) {
        return Some("se");
    }
    let close = |known: &&str| edits(&name, known) <= 1 + known.len() / 3 || known.starts_with(&name);
    let names = Factor::ALL.iter().map(|factor| factor.name());
    names.filter(close).min_by_key(|known| edits(&name, known))
}

/// Letters to insert, remove or change to turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, c) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &d) in to.iter().enumerate() {
            let change = diagonal + usize::from(c != d);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

impl Atom {
    /// All that is said in it.
    fn mentions(&self) -> impl Iterator<Item = (Kind, &Mention)> {
        let kinds = self.factor.parameters().iter().map(|parameter| Kind::Of(parameter.unit));
        let parameters = kinds.zip(&self.parameters).filter_map(|(kind, said)| Some((kind, said.as_ref()?)));
        parameters.chain(self.variance.iter().map(|said| (Kind::Variance, said)))
    }

    /// Asks the factor whether it can have these values; what is not said is at its start.
    fn check(&self) -> Result<()> {
        let starts: Vec<f64> = self.factor.parameters().iter().map(|parameter| parameter.start).collect();
        let said: Vec<(usize, f64, usize)> = (self.parameters.iter().enumerate())
            .filter_map(|(i, mention)| mention.as_ref().and_then(|m| Some((i, m.said.value?, m.at))))
            .collect();
        let objection = |said: &[(usize, f64, usize)]| {
            let mut values = starts.clone();
            said.iter().for_each(|&(i, value, _)| values[i] = value);
            self.factor.objection(&values)
        };
        if said.is_empty() {
            return Ok(());
        }
        let Some(message) = objection(&said) else { return Ok(()) };
        let culprit = said.iter().find(|one| objection(std::slice::from_ref(one)).is_some());
        error(culprit.map_or(self.at, |one| one.2), format!("{}: {message}", self.factor.name()))
    }

    /// Its parts; what has no label gets the next of these, if there are any.
    fn parts(&self, mut labels: Option<&mut std::ops::RangeFrom<usize>>) -> Vec<PartExpression> {
        let mut said = |mention: &Option<Mention>| {
            let mut said = mention.as_ref().map_or_else(Said::default, |mention| mention.said.clone());
            let new = if said.label.is_none() { labels.as_mut().and_then(|labels| labels.next()) } else { None };
            // nobody can type such a label
            said.label = new.map(|number| format!("={number}")).or(said.label);
            said
        };
        let mut part = |&axis: &usize| {
            let parameters = self.parameters.iter().map(&mut said).collect();
            PartExpression { axis, factor: self.factor, parameters }
        };
        self.axes.iter().map(&mut part).collect()
    }
}

/// Gives all that have the same label the same value; they are held if one of them is.
fn agree_on_labels(atoms: &mut [Atom]) -> Result<()> {
    let mut ties = HashMap::new();
    let mut mentions: Vec<(Kind, &Mention)> = atoms.iter().flat_map(Atom::mentions).collect();
    mentions.sort_by_key(|(_, mention)| mention.at);
    for (kind, mention) in mentions {
        if let Some(label) = &mention.said.label {
            join(ties.entry(label.clone()), kind, mention)?;
        }
    }
    for mention in atoms.iter_mut().flat_map(|atom| atom.parameters.iter_mut().chain([&mut atom.variance])).flatten() {
        if let Some(tie) = mention.said.label.as_ref().and_then(|label| ties.get(label)) {
            (mention.said.value, mention.said.held) = (tie.value, tie.held);
        }
    }
    Ok(())
}

/// Adds a mention to what is known of its label.
fn join(entry: std::collections::hash_map::Entry<String, Tie>, kind: Kind, mention: &Mention) -> Result<()> {
    let (label, value, held) = (shown(entry.key()), mention.said.value, mention.said.held);
    let tie = entry.or_insert(Tie { kind, value, held });
    if tie.kind != kind {
        let (one, other) = (tie.kind.name(), kind.name());
        return error(mention.at, format!("label {label} ties {one} to {other}; give them labels of their own"));
    }
    if let (Some(one), Some(other)) = (tie.value, value)
        && one != other
    {
        return error(mention.at, format!("label {label} has two values, {one} and {other}; give it one of them"));
    }
    tie.value = tie.value.or(value);
    tie.held |= held;
    Ok(())
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Variance => "a variance",
            Kind::Of(Unit::Length) => "a length",
            Kind::Of(Unit::Area) => "an area",
            Kind::Of(Unit::Place) => "a place",
            Kind::Of(Unit::Number) => "a plain number",
        }
    }
}

/// The sum with its atoms in their places. Those in several products are one factor: their parameters get common labels.
fn assemble(sum: &Sum, atoms: &[Atom]) -> Result<Expression> {
    let mut labels = 1..;
    let is_copied = |atom| sum.iter().filter(|product| product.contains(&atom)).count() > 1;
    let parts: Vec<Vec<PartExpression>> =
        (atoms.iter().enumerate()).map(|(i, atom)| atom.parts(is_copied(i).then_some(&mut labels))).collect();
    let term = |product: &Product| {
        let parts = product.iter().flat_map(|&atom| parts[atom].iter().cloned()).collect();
        Ok(TermExpression { variance: variance(product, atoms)?, parts })
    };
    Ok(Expression { terms: sum.iter().map(term).collect::<Result<_>>()? })
}

/// The variance of a product: the product of those that are said in it.
fn variance(product: &Product, atoms: &[Atom]) -> Result<Said> {
    let said: Vec<&Mention> = product.iter().filter_map(|&atom| atoms[atom].variance.as_ref()).collect();
    if let [one] = said[..] {
        return Ok(one.said.clone());
    }
    let Some(last) = said.last() else { return Ok(Said::default()) };
    if said.iter().any(|mention| mention.said.label.is_some()) {
        return error(last.at, "a variance with a label multiplies another one here; say one variance a product");
    }
    let value: f64 = said.iter().filter_map(|mention| mention.said.value).product();
    if !value.is_finite() || value <= 0.0 {
        return error(
            last.at,
            format!("the variances of this product multiply to {value}; say one variance a product"),
        );
    }
    Ok(Said { value: Some(value), held: said.iter().all(|mention| mention.said.held), label: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [&str; 3] = ["lon", "lat", "t"];

    fn read(text: &str) -> Expression {
        parse(text, &AXES).unwrap_or_else(|error| panic!("{}\n{}", error, error.pointing(text)))
    }

    /// The factors and axes of the terms, in short.
    fn outline(text: &str) -> String {
        let part = |part: &PartExpression| format!("{}{}", part.factor.name(), part.axis);
        let term = |term: &TermExpression| term.parts.iter().map(part).collect::<Vec<_>>().join("*");
        read(text).terms.iter().map(term).collect::<Vec<_>>().join(" + ")
    }

    /// What is said of the parameter of a part.
    fn said<'a>(expression: &'a Expression, term: usize, part: usize, parameter: &str) -> &'a Said {
        let part = &expression.terms[term].parts[part];
        let index = part.factor.parameters().iter().position(|known| known.name == parameter).unwrap();
        &part.parameters[index]
    }

    fn start(value: f64) -> Said {
        Said { value: Some(value), ..Said::default() }
    }

    fn held(value: f64) -> Said {
        Said { held: true, ..start(value) }
    }

    fn tied(label: &str, value: Option<f64>, held: bool) -> Said {
        Said { value, held, label: Some(label.into()) }
    }

    #[test]
    fn a_name_alone_means_all_axes() {
        let se = Factor::by_name("se").unwrap();
        for text in ["se", " se ( ) ", "(se)", "((se))", "se(lon,lat,t)", "se(0, 1, 2)", "se(\"lon\", 1, t)"] {
            assert_eq!(read(text), Expression::on_all_axes(se, 3), "{text}");
        }
    }

    #[test]
    fn the_examples_of_the_manual_are_read() {
        assert_eq!(outline("se(t)*periodic(t, period=1)"), "se2*periodic2");
        assert_eq!(outline("matern32(lon,lat) + se(t)"), "matern320*matern321 + se2");
        assert_eq!(outline("se(t)*periodic(t, period=1!) + matern32(lon,lat)"), "se2*periodic2 + matern320*matern321");
        let kernel = read("se(t)*periodic(t, period=1!)");
        assert_eq!(*said(&kernel, 0, 1, "period"), held(1.0));
        assert_eq!(*said(&kernel, 0, 1, "lengthscale"), Said::default());
        assert_eq!(kernel.terms[0].variance, Said::default());
    }

    #[test]
    fn products_bind_more_than_sums_and_keep_their_order() {
        assert_eq!(outline("se(t)+se(lon)*se(lat)"), "se2 + se0*se1");
        assert_eq!(outline("se(lat)*se(lon)+se(t)"), "se1*se0 + se2");
        assert_eq!(outline("se(t,lon)*constant(lat)"), "se2*se0*constant1");
        assert_eq!(outline("\tse (\n t )*\u{a0}se( lon )  "), "se2*se0");
    }

    #[test]
    fn brackets_are_multiplied_out() {
        assert_eq!(outline("(se(t)+periodic(t))*se(lon)"), "se2*se0 + periodic2*se0");
        assert_eq!(outline("se(lon)*(se(t)+(periodic(t)+se(lat)))"), "se0*se2 + se0*periodic2 + se0*se1");
        let four = "(se(0)+se(1))*(se(2)+periodic(2))";
        assert_eq!(outline(four), "se0*se2 + se0*periodic2 + se1*se2 + se1*periodic2");
        assert_eq!(outline("((se(0)))*(se(1)*se(2))"), "se0*se1*se2");
    }

    #[test]
    fn copies_stay_one_parameter() {
        let kernel = read("(se(t)+periodic(t))*se(lon,lat,lengthscale=3!) + se(t)");
        for (part, label) in [(1, "=1"), (2, "=2")] {
            assert_eq!(*said(&kernel, 0, part, "lengthscale"), tied(label, Some(3.0), true));
            assert_eq!(*said(&kernel, 1, part, "lengthscale"), tied(label, Some(3.0), true));
        }
        assert_eq!(*said(&kernel, 0, 0, "lengthscale"), Said::default());
        assert_eq!(*said(&kernel, 1, 0, "period"), Said::default());
        assert_eq!(*said(&kernel, 2, 0, "lengthscale"), Said::default());
        let own = read("(se(t)+periodic(t))*se(lon,lengthscale=mine)");
        assert_eq!(*said(&own, 0, 1, "lengthscale"), tied("mine", None, false));
        let both = read("(se(0)+se(1))*(periodic(2)+se(2))");
        let labels: Vec<_> = both.terms.iter().map(|term| term.parts[0].parameters[0].label.clone().unwrap()).collect();
        assert_eq!(labels, ["=1", "=1", "=2", "=2"]);
    }

    #[test]
    fn values_start_hold_and_tie() {
        let kernel = read(
            "periodic(t, period = 1e-1 , lengthscale=+.5 !) + se(lon,lat,lengthscale=a:2.5E+1!)*se(t,lengthscale=a)",
        );
        assert_eq!(*said(&kernel, 0, 0, "period"), start(0.1));
        assert_eq!(*said(&kernel, 0, 0, "lengthscale"), held(0.5));
        for part in 0..3 {
            assert_eq!(*said(&kernel, 1, part, "lengthscale"), tied("a", Some(25.0), true));
        }
        let each = read("se(lon,lat,lengthscale=2)");
        assert_eq!((said(&each, 0, 0, "lengthscale"), said(&each, 0, 1, "lengthscale")), (&start(2.0), &start(2.0)));
        let backwards = read("se(t,lengthscale=_b)+se(t,lengthscale=_b : 3)");
        assert_eq!(*said(&backwards, 0, 0, "lengthscale"), tied("_b", Some(3.0), false));
    }

    #[test]
    fn places_may_be_anywhere() {
        let place = |factor: &&Factor| factor.parameters().iter().any(|parameter| parameter.unit == Unit::Place);
        let Some(factor) = Factor::ALL.iter().find(place) else { return };
        let name = factor.parameters().iter().find(|parameter| parameter.unit == Unit::Place).unwrap().name;
        let kernel = read(&format!("{}(t, {name}=-2.5)", factor.name()));
        assert_eq!(*said(&kernel, 0, 0, name), start(-2.5));
    }

    #[test]
    fn variances_multiply() {
        let variance = |text: &str| read(text).terms.into_iter().map(|term| term.variance).collect::<Vec<_>>();
        assert_eq!(variance("se(lon,lat,variance=2)"), [start(2.0)]);
        assert_eq!(variance("se(t,variance=2!)*se(lon)"), [held(2.0)]);
        assert_eq!(variance("se(t,variance=2!)*se(lon,variance=3!)"), [held(6.0)]);
        assert_eq!(variance("se(t,variance=2!)*se(lon,variance=3)"), [start(6.0)]);
        assert_eq!(variance("(se(t,variance=2!)+se(lon))*se(lat,variance=3!)"), [held(6.0), held(3.0)]);
        assert_eq!(
            variance("se(t,variance=v)+se(lon,variance=v:4)"),
            [tied("v", Some(4.0), false), tied("v", Some(4.0), false)]
        );
    }

    #[test]
    fn axes_go_by_name_then_by_number() {
        let axes = |text: &str, axes: &[&str]| {
            let kernel = parse(text, axes).unwrap();
            kernel.terms[0].parts.iter().map(|part| part.axis).collect::<Vec<_>>()
        };
        assert_eq!(axes("se(1)", &["1", "0"]), [0]);
        assert_eq!(axes("se(\"day of \"\"year\"\"\", 0)", &["x", "day of \"year\""]), [1, 0]);
        assert_eq!(axes("se(Länge.1, время)", &["Länge.1", "время"]), [0, 1]);
        assert_eq!(axes("se(\"\")", &[""]), [0]);
        assert!(axes("se", &[]).is_empty());
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, at, what) in [
            ("", 0, "no kernel in this text"),
            ("  \n", 0, "no kernel in this text"),
            ("see", 0, "the nearest is se"),
            ("se(t) + Matern33(t)", 8, "the nearest is matern32"),
            ("RBF", 0, "the nearest is se"),
            ("qqqqqqqqqqqqqqqqqq", 0, "there are se"),
            ("2*se", 0, "variance=2"),
            ("lat*se", 0, "se(lat)"),
            ("se(t, height)", 6, "`lon`, `lat` and `t`"),
            ("se(3)", 3, "a column that is not there"),
            ("se(\"0\")", 3, "a column that is not there"),
            ("se(t, 2)", 6, "twice"),
            ("se(t)*se(lon, lon)", 14, "twice"),
            ("se(t, period=1)", 6, "it has lengthscale and variance"),
            ("constant(t, x=1)", 12, "it has variance"),
            ("se(t, lengthscale=1, lengthscale=2)", 21, "given twice"),
            ("se(t, variance=1, variance=2)", 18, "given twice"),
            ("se(lengthscale=1x)", 15, "not a number"),
            ("se(lengthscale=1e999)", 15, "finite"),
            ("se(lengthscale=nan)", 15, "finite"),
            ("se(lengthscale=-inf)", 15, "finite"),
            ("se(lengthscale=a:b)", 17, "not a number"),
            ("se(lengthscale=a:)", 17, "a number is missing"),
            ("se(lengthscale=--1)", 15, "not a number"),
            ("se(lengthscale=)", 15, "missing"),
            ("se(lengthscale=!)", 15, "missing"),
            ("se(lengthscale=a !)", 17, "label:1!"),
            ("periodic(t, period=0)", 19, "greater than 0"),
            ("periodic(t, period=a:-1)", 21, "greater than 0"),
            ("se(variance=0)", 12, "greater than 0"),
            ("polynomial(t, degree=40)", 21, "polynomial: "),
            ("polynomial(t, degree=d)*polynomial(lon, degree=d:40)", 21, "polynomial: "),
            ("(se(t)", 0, "not closed"),
            ("se(t", 2, "not closed"),
            ("se(t,", 2, "not closed"),
            ("se(", 2, "not closed"),
            ("se(\"t)", 3, "quote is not closed"),
            ("se(t,)", 5, "an axis or a parameter"),
            ("se(t lon)", 5, "`,` or `)`"),
            ("se(lon-deg)", 6, "quote"),
            ("(se(t), se)", 6, "`*`, `+` or `)`"),
            ("se(t))", 5, "closes nothing"),
            ("se(t) se(lon)", 6, "`*` or `+`"),
            ("se(t) = 1", 6, "`*` or `+`"),
            ("se(t) +", 7, "missing at the end"),
            ("se(t) + * se", 8, "missing before `*`"),
            ("()", 1, "missing before `)`"),
            ("\"é\"", 0, "missing before `\"`"),
            ("se(t, lengthscale=a:1) + se(lon, lengthscale=a:2)", 47, "two values, 1 and 2"),
            ("periodic(t, variance=a, period=a)", 31, "a variance to a length"),
            ("se(t, variance=a)*se(lon, variance=2)", 35, "one variance a product"),
            ("se(t, variance=1e200)*se(lon, variance=1e200)", 39, "one variance a product"),
        ] {
            let error = parse(text, &AXES).expect_err(text);
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.message.contains(what) && !error.message.contains('\n'), "{text}: {error}");
        }
        assert_eq!(parse("se(é, ü)", &["é"]).unwrap_err().at, 6);
        assert!(parse("se(x)", &[]).unwrap_err().message.contains("nothing"));
    }

    #[test]
    fn sizes_are_limited() {
        let most = vec!["se"; MOST_TERMS].join("+");
        assert_eq!(read(&most).terms.len(), MOST_TERMS);
        let pairs = |count| vec!["(se(t)+se(lon))"; count].join("*");
        assert_eq!(read(&pairs(6)).terms.len(), 64);
        let nested = |depth: usize| format!("{}se{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(read(&nested(DEEPEST)).terms.len(), 1);
        for (text, what) in [
            (most + "+se", "64 terms"),
            (pairs(7), "64 terms"),
            (vec!["se"; MOST_FACTORS + 1].join("*"), "64 factors"),
            (nested(100_000), "64 deep"),
            ("(".repeat(100_000), "64 deep"),
            ("se(".repeat(100_000), "a column that is not there"),
            ("x".repeat(100_000), "no kernel called"),
            (format!("se({})", "t,".repeat(100_000)), "twice"),
        ] {
            let error = parse(&text, &AXES).unwrap_err();
            assert!(error.message.contains(what) && error.message.len() < 300, "{error}");
            assert!(error.pointing(&text).chars().count() < 300);
        }
    }

    #[test]
    fn no_text_is_too_odd() {
        let tokens = "se periodic polynomial constant t lon 0 7 ( ( ) ) , = ! : + * - . \" 1 2e5 -1 1e a a b é \u{0} \
            lengthscale= period= variance= degree= se(t) se(lon)* (se(t)+ 漢";
        let good = crate::text::read_odd_texts(tokens, |text| Ok(!parse(text, &AXES)?.terms.is_empty()));
        assert!(good > 100, "only {good} were kernels");
    }
}
