//! A kernel as it is asked for: which factors on which axes, and what is said of each parameter. And a kernel as it is
//! written and talked about: its text, and the names of its parameters.
//!
//! Reading the text is the work of [`parse`](super::parse). What a kernel's text does not tell: the values that are
//! learned.

use super::parse::parse;
use super::{Factor, Kernel, Parameter, Part, Term, Unit};
use crate::text::{ExpressionError, is_word};
use std::collections::HashMap;

/// What is said of one parameter, in the user's units.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Said {
    /// Where it starts, or stays.
    pub value: Option<f64>,
    /// Whether it stays there.
    pub held: bool,
    /// Parameters with the same label are one parameter.
    pub label: Option<String>,
}

/// A factor on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct PartExpression {
    /// Which axis.
    pub axis: usize,
    /// Which factor.
    pub factor: Factor,
    /// One for each of [`Factor::parameters`].
    pub parameters: Vec<Said>,
}

/// A product of factors with a variance.
#[derive(Debug, Clone, PartialEq)]
pub struct TermExpression {
    /// Of its variance.
    pub variance: Said,
    /// Its factors.
    pub parts: Vec<PartExpression>,
}

/// A sum of products.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// The terms of the sum.
    pub terms: Vec<TermExpression>,
}

impl Expression {
    /// One factor on every axis, nothing said of its parameters.
    pub fn on_all_axes(factor: Factor, dims: usize) -> Self {
        let part = |axis| PartExpression { axis, factor, parameters: vec![Said::default(); factor.parameters().len()] };
        Self { terms: vec![TermExpression { variance: Said::default(), parts: (0..dims).map(part).collect() }] }
    }

    /// What is said of each parameter, in the order of [`Kernel::parameters`]; a variance is none of a factor's.
    pub(crate) fn parameters(&self) -> Vec<(&Said, Option<&'static Parameter>)> {
        let mut all = Vec::new();
        for term in &self.terms {
            all.push((&term.variance, None));
            for part in &term.parts {
                all.extend(part.parameters.iter().zip(part.factor.parameters().iter().map(Some)));
            }
        }
        all
    }

    /// The kernel that `text` asks for, over axes of these names (their numbers from 0 work too).
    ///
    /// Factors add and multiply, brackets group. A factor stands on the axes it is given, one factor per axis, or on all. A
    /// parameter is given a start (`period=1`), held (`period=1!`), or tied to all with the same label (`lengthscale=near`,
    /// `near:2`, `near:2!`); `variance` is that of the product. Names that are not letters, digits, `_` and `.` are quoted.
    ///
    /// Brackets are multiplied out: what is thereby copied gets common labels that nobody can type, and variances multiply.
    /// All parameters with a common label come with the same value.
    ///
    /// ```
    /// use pointillist::kernel::Expression;
    ///
    /// let kernel = Expression::parse("se(t)*periodic(t, period=1!) + matern32(lon, lat)", &["lon", "lat", "t"]).unwrap();
    /// assert_eq!(kernel.terms.len(), 2);
    /// assert!(kernel.terms[0].parts[1].parameters.iter().any(|said| said.held && said.value == Some(1.0)));
    ///
    /// let error = Expression::parse("se(t) + se(x)", &["t"]).unwrap_err();
    /// assert_eq!(error.pointing("se(t) + se(x)"), "se(t) + se(x)\n           ^");
    /// ```
    pub fn parse(text: &str, axes: &[&str]) -> Result<Self, ExpressionError> {
        parse(text, axes)
    }
}

/// The axis of this name, else of this number, which may be too large.
pub(super) fn axis_called(name: &str, axes: &[&str]) -> Option<usize> {
    axes.iter().position(|axis| *axis == name).or_else(|| name.parse().ok())
}

/// The name of an axis as it can be read again.
fn axis_written(axis: usize, axes: &[&str]) -> String {
    match axes.get(axis) {
        Some(name) if axis_called(name, axes) != Some(axis) => axis.to_string(), // another one has this name too
        Some(name) if !name.is_empty() && name.chars().all(is_word) => name.to_string(),
        Some(name) => format!("\"{}\"", name.replace('"', "\"\"")),
        None => axis.to_string(),
    }
}

impl Kernel {
    /// The kernel written as an expression over axes of these names, without the values of its parameters but for those
    /// numbers that are never learned, such as a degree.
    pub fn expression(&self, axes: &[&str]) -> String {
        if let Some(factor) = self.single_factor() {
            return factor.name().into();
        }
        self.terms.iter().map(|term| term.expression(axes)).collect::<Vec<_>>().join(" + ")
    }

    /// The factor that stands once on every axis, in order, if that is all there is to say.
    fn single_factor(&self) -> Option<Factor> {
        let [term] = &self.terms[..] else { return None };
        let factor = term.parts.first()?.factor;
        let is_plain =
            |part: &Part| part.factor == factor && part.settings().iter().all(|(_, value, start)| value == start);
        let in_order = term.parts.iter().map(|part| part.axis).eq(0..self.dims);
        (in_order && term.parts.iter().all(is_plain)).then_some(factor)
    }

    /// The names of its parameters: of each term its variance, then those of its parts. All differ, and none is longer
    /// than needed: `lengthscale[0]`, `periodic.lengthscale[0]` or `term1.periodic.lengthscale[0]`, where the number in
    /// brackets is the axis; `variance`, or with several terms `variance[0]`, by term.
    pub fn parameter_names(&self) -> Vec<String> {
        let forms: Vec<Vec<String>> = self.places().iter().map(|place| place.forms(self.terms.len())).collect();
        let mut times = HashMap::new();
        forms.iter().flatten().for_each(|form| *times.entry(form.as_str()).or_insert(0) += 1);
        let mut taken = HashMap::new();
        let mut name = |forms: &Vec<String>| {
            let form = forms.iter().find(|form| times[form.as_str()] == 1).or(forms.last())?.clone();
            let count = taken.entry(form.clone()).or_insert(0);
            *count += 1;
            Some(if *count == 1 { form } else { format!("{form}#{count}") })
        };
        forms.iter().filter_map(&mut name).collect()
    }

    /// Which parameters, by their position in [`Kernel::parameter_names`], a user means by `name`: such a name, or a
    /// shorter one that may mean several (`lengthscale`, `periodic.lengthscale`, `term1.variance`); the axis may go by
    /// its name.
    pub fn parameters_called(&self, name: &str, axes: &[&str]) -> Vec<usize> {
        let name = name.trim();
        if let Some(exact) = self.parameter_names().iter().position(|known| known == name) {
            return vec![exact];
        }
        let Some(asked) = Asked::read(name, axes) else { return Vec::new() };
        let places = self.places().into_iter().enumerate();
        places.filter(|(_, place)| asked.means(place)).map(|(index, _)| index).collect()
    }

    /// Where its parameters stand, in their order.
    fn places(&self) -> Vec<Place> {
        self.terms.iter().enumerate().flat_map(|(term, it)| it.places(term)).collect()
    }
}

impl Term {
    fn expression(&self, axes: &[&str]) -> String {
        let mut groups: Vec<Vec<&Part>> = Vec::new();
        for part in &self.parts {
            match groups.last_mut() {
                Some(group) if part.can_join(group) => group.push(part),
                _ => groups.push(vec![part]),
            }
        }
        if groups.is_empty() {
            return "constant".into(); // a product of nothing
        }
        groups.iter().map(|group| group_written(group, axes)).collect::<Vec<_>>().join("*")
    }

    fn places(&self, term: usize) -> Vec<Place> {
        let variance = Place { term, parameter: "variance", part: None };
        let of_part = |part: &Part| {
            let place = Some((part.factor.name(), part.axis));
            let known = part.factor.parameters();
            // a kernel from a file may have too many: they have no name, but a place
            let parameter = move |index: usize| known.get(index).map_or("unknown", |parameter| parameter.name);
            (0..part.parameters.len()).map(move |index| Place { term, parameter: parameter(index), part: place })
        };
        [variance].into_iter().chain(self.parts.iter().flat_map(of_part)).collect()
    }
}

/// Equal factors on different axes: `se(lon,lat)`, `polynomial(t, degree=3)`.
fn group_written(group: &[&Part], axes: &[&str]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let names: Vec<String> = group.iter().map(|part| axis_written(part.axis, axes)).collect();
    let settings: String = first.settings().iter().map(|(name, value, _)| format!(", {name}={value}")).collect();
    format!("{}({}{settings})", first.factor.name(), names.join(","))
}

impl Part {
    /// The numbers that are never learned: name, value, and what it is if nothing is said.
    fn settings(&self) -> Vec<(&'static str, f64, f64)> {
        let all = self.factor.parameters().iter().zip(&self.parameters);
        let settings = all.filter(|(parameter, _)| !parameter.learned && parameter.unit == Unit::Number);
        settings.map(|(parameter, &value)| (parameter.name, value, parameter.start)).collect()
    }

    /// Whether one factor with several axes can stand for the group and this one.
    fn can_join(&self, group: &[&Part]) -> bool {
        let is_alike =
            |part: &&Part| part.factor == self.factor && part.axis != self.axis && part.settings() == self.settings();
        group.iter().all(is_alike)
    }
}

/// Where a parameter stands in a kernel.
struct Place {
    term: usize,
    parameter: &'static str,
    /// The name of the factor and the axis; none for a variance.
    part: Option<(&'static str, usize)>,
}

impl Place {
    /// Its names, from short to long.
    fn forms(&self, terms: usize) -> Vec<String> {
        let Self { term, parameter, part } = self;
        match part {
            None if terms == 1 => vec![parameter.to_string()],
            None => vec![format!("{parameter}[{term}]")],
            Some((factor, axis)) => {
                let short = format!("{parameter}[{axis}]");
                vec![short.clone(), format!("{factor}.{short}"), format!("term{term}.{factor}.{short}")]
            }
        }
    }
}

/// A name typed by a user: `term0.periodic.period[t]`, all but the parameter optional.
struct Asked<'a> {
    term: Option<usize>,
    factor: Option<&'a str>,
    parameter: &'a str,
    /// What stands in brackets as an axis, and as a number.
    index: Option<(Option<usize>, Option<usize>)>,
}

impl<'a> Asked<'a> {
    fn read(name: &'a str, axes: &[&str]) -> Option<Self> {
        let (path, index) = match name.split_once('[') {
            Some((path, rest)) => (path.trim(), Some(rest.strip_suffix(']')?.trim())),
            None => (name, None),
        };
        let index = index.map(|text| (axis_called(text, axes), text.parse().ok()));
        let mut words = path.split('.').map(str::trim).rev();
        let parameter = words.next()?;
        let (mut factor, mut term) = (words.next(), words.next());
        if term.is_none() && factor.and_then(term_number).is_some() {
            (factor, term) = (None, factor);
        }
        let is_whole = words.next().is_none();
        let term = term.map(term_number);
        (is_whole && term != Some(None)).then_some(Self { term: term.flatten(), factor, parameter, index })
    }

    fn means(&self, place: &Place) -> bool {
        let right_index = |(axis, number)| match place.part {
            Some((_, on)) => axis == Some(on),
            None => number == Some(place.term),
        };
        self.parameter == place.parameter
            && self.term.is_none_or(|term| term == place.term)
            && self.factor.is_none_or(|factor| place.part.is_some_and(|part| part.0 == factor))
            && self.index.is_none_or(right_index)
    }
}

/// The 1 of `term1`.
fn term_number(word: &str) -> Option<usize> {
    word.strip_prefix("term")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel that the text describes, with its values or their starts.
    fn kernel(text: &str, axes: &[&str]) -> Kernel {
        let part = |part: &PartExpression| {
            let values = part.factor.parameters().iter().zip(&part.parameters);
            let parameters = values.map(|(known, said)| said.value.unwrap_or(known.start)).collect();
            Part { axis: part.axis, factor: part.factor, parameters }
        };
        let term = |term: &TermExpression| Term { variance: 1.0, parts: term.parts.iter().map(part).collect() };
        let read = Expression::parse(text, axes).unwrap();
        Kernel { dims: axes.len(), terms: read.terms.iter().map(term).collect() }
    }

    const SPACE_TIME: [&str; 3] = ["lon", "lat", "t"];

    /// All of a kernel but the values of what is learned.
    fn structure(kernel: &Kernel) -> String {
        let part = |part: &Part| format!("{}{}{:?}", part.factor.name(), part.axis, part.settings());
        let term = |term: &Term| term.parts.iter().map(part).collect::<Vec<_>>().join("*");
        kernel.terms.iter().map(term).collect::<Vec<_>>().join(" + ")
    }

    #[test]
    fn kernels_are_written_as_they_are_read() {
        for (text, written) in [
            ("se", "se"),
            ("se(0,1,2)", "se"),
            ("se(lon)*se(lat)*se(t)", "se"),
            ("se(lat,lon,t)", "se(lat,lon,t)"),
            ("se(lon,lat)", "se(lon,lat)"),
            ("se + se", "se(lon,lat,t) + se(lon,lat,t)"),
            ("se*se(t)", "se(lon,lat,t)*se(t)"),
            ("se(t)*periodic(t, period=1!) + matern32(lon,lat)", "se(t)*periodic(t) + matern32(lon,lat)"),
            ("(se(t)+periodic(t))*se(lat)", "se(t,lat) + periodic(t)*se(lat)"),
            ("polynomial(t, degree=3)", "polynomial(t, degree=3)"),
            (
                "polynomial(lon,lat, degree=3)*polynomial(t, degree=1)",
                "polynomial(lon,lat, degree=3)*polynomial(t, degree=1)",
            ),
            ("constant", "constant"),
        ] {
            let (first, again) = (kernel(text, &SPACE_TIME), kernel(written, &SPACE_TIME));
            assert_eq!(first.expression(&SPACE_TIME), written);
            assert_eq!(structure(&first), structure(&again), "{text}");
        }
    }

    #[test]
    fn a_setting_that_is_not_the_usual_one_is_written() {
        let usual = kernel("polynomial", &["x", "y"]);
        assert_eq!(usual.expression(&["x", "y"]), "polynomial");
        let mut other = usual.clone();
        let degree = usual.terms[0].parts[1].settings()[0].2 + 1.0;
        let index =
            Factor::by_name("polynomial").unwrap().parameters().iter().position(|p| p.name == "degree").unwrap();
        other.terms[0].parts[1].parameters[index] = degree;
        let text = other.expression(&["x", "y"]);
        assert!(text.ends_with(&format!("polynomial(y, degree={degree})")), "{text}");
        assert_eq!(kernel(&text, &["x", "y"]), other);
    }

    #[test]
    fn odd_names_are_quoted_and_ambiguous_ones_numbered() {
        for (axes, written) in [
            (["day of year", "y"], "se(\"day of year\")"),
            (["a\"b", "y"], "se(\"a\"\"b\")"),
            (["", "y"], "se(\"\")"),
            (["1", "0"], "se(1)"),
            (["Länge", "y"], "se(Länge)"),
        ] {
            let first = kernel("se(x)", &["x", "y"]);
            assert_eq!(first.expression(&axes), written);
            assert_eq!(kernel(written, &axes), first);
        }
        let second = kernel("se(y)", &["x", "y"]);
        assert_eq!(second.expression(&["same", "same"]), "se(1)");
        assert_eq!(second.expression(&[]), "se(1)");
    }

    #[test]
    fn kernels_of_nothing_can_be_written() {
        let empty = Kernel { dims: 1, terms: vec![Term { variance: 1.0, parts: vec![] }] };
        assert_eq!(empty.expression(&["t"]), "constant");
        assert_eq!(empty.parameter_names(), ["variance"]);
        let none = Kernel { dims: 1, terms: vec![] };
        assert_eq!((none.expression(&["t"]), none.parameter_names()), (String::new(), vec![]));
    }

    #[test]
    fn names_are_short_and_unique() {
        let names = |text: &str| kernel(text, &SPACE_TIME).parameter_names();
        let sorted = |text: &str| {
            let mut names = names(text);
            names.sort();
            names
        };
        assert_eq!(names("se"), ["variance", "lengthscale[0]", "lengthscale[1]", "lengthscale[2]"]);
        assert_eq!(names("se(lon) + matern32(t)"), ["variance[0]", "lengthscale[0]", "variance[1]", "lengthscale[2]"]);
        let shared = ["period[2]", "periodic.lengthscale[2]", "se.lengthscale[2]", "variance"];
        assert_eq!(sorted("se(t)*periodic(t)"), shared);
        let terms = ["variance[0]", "term0.se.lengthscale[2]", "variance[1]", "term1.se.lengthscale[2]"];
        assert_eq!(names("se(t) + se(t)"), terms);
        let twice = ["variance", "term0.se.lengthscale[2]", "term0.se.lengthscale[2]#2", "lengthscale[0]"];
        assert_eq!(names("se(t)*se(t)*se(lon)"), twice);
    }

    #[test]
    fn parameters_are_found_by_what_users_call_them() {
        // variance[0], se lengthscale, periodic's two, variance[1], se lengthscales on lon, lat and t
        let kernel = kernel("se(t)*periodic(t) + se", &SPACE_TIME);
        let names = kernel.parameter_names();
        let period = names.iter().position(|name| name == "period[2]").unwrap();
        let other = 5 - period; // the lengthscale of the periodic one, in whichever order they are
        let sorted = |mut list: Vec<usize>| {
            list.sort();
            list
        };
        for (name, found) in [
            ("variance", vec![0, 4]),
            ("variance[1]", vec![4]),
            ("variance[lat]", vec![]),
            ("term1.variance", vec![4]),
            ("term2.variance", vec![]),
            ("se.variance", vec![]),
            ("lengthscale", sorted(vec![1, other, 5, 6, 7])),
            ("lengthscale[1]", vec![6]),
            (" lengthscale [ lat ] ", vec![6]),
            ("lengthscale[t]", sorted(vec![1, other, 7])),
            ("se.lengthscale[t]", vec![1, 7]),
            ("term1.lengthscale", vec![5, 6, 7]),
            ("periodic.lengthscale", vec![other]),
            ("periodic.period[t]", vec![period]),
            ("period", vec![period]),
            ("term0.se.lengthscale[t]", vec![1]),
            ("term0.se.lengthscale[lon]", vec![]),
            ("lengthscale[height]", vec![]),
            ("lengthscale[t", vec![]),
            ("lengthscale]", vec![]),
            ("a.term0.se.lengthscale", vec![]),
            ("x.se.lengthscale", vec![]),
            ("mean", vec![]),
            ("", vec![]),
            (".", vec![]),
            ("[]", vec![]),
        ] {
            assert_eq!(kernel.parameters_called(name, &SPACE_TIME), found, "{name}");
        }
        for (index, name) in names.iter().enumerate() {
            assert_eq!(kernel.parameters_called(name, &SPACE_TIME), [index], "{name}");
        }
    }
}
