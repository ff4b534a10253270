//! `--where`: which rows of a table are taken, as in `species == "oak" and height > 3`.
//!
//! Comparisons of one column with numbers, texts or ISO dates, joined by `and`. A number compares with what a field is as a number, a date with
//! what it is as a date, a text with the field as it stands. A field that is not what it is compared with is different from it, and
//! neither below nor above.

use super::time::parse_iso;

/// How a column and a value are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// What a column is compared with.
#[derive(Clone, Debug, PartialEq)]
enum Literal {
    Number(f64),
    /// A date, and the text that it is as well.
    Date(i64, String),
    Text(String),
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The column.
    pub column: String,
    comparison: Comparison,
    /// Several mean any of them.
    literals: Vec<Literal>,
}

/// What a row must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// As it was given.
    pub text: String,
    /// All of these.
    pub clauses: Vec<Clause>,
}

/// A field of a row, in the ways in which it can be looked at.
pub(super) trait Cell {
    fn text(&self) -> Option<&str>;
    fn number(&self) -> Option<f64>;
    fn instant(&self) -> Option<i64>;
}

impl Filter {
    /// Reads the condition.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = Words { all: words(text).map_err(|why| refuse(text, why))?, at: 0 };
        let mut clauses = Vec::new();
        loop {
            clauses.push(clause(&mut words).map_err(|why| refuse(text, why))?);
            match words.next() {
                None => return Ok(Self { text: text.to_string(), clauses }),
                Some(Word::Bare(and)) if and.eq_ignore_ascii_case("and") => {}
                Some(Word::Sign("&&")) => {}
                Some(Word::Bare(or)) if or.eq_ignore_ascii_case("or") => {
                    return Err(refuse(text, "there is no `or`; for several values write column in (a, b)".into()));
                }
                Some(word) => {
                    return Err(refuse(text, format!("`{}` stands where `and` or the end should", word.show())));
                }
            }
        }
    }
}

fn refuse(text: &str, why: String) -> String {
    format!("--where '{text}': {why}; write it as in 'species == \"oak\" and height > 3'")
}

impl Clause {
    /// Whether it holds of a field.
    pub(super) fn holds(&self, cell: &impl Cell) -> bool {
        let order = |literal: &Literal| match literal {
            Literal::Number(number) => cell.number()?.partial_cmp(number),
            Literal::Date(instant, _) if cell.instant().is_some() => Some(cell.instant()?.cmp(instant)),
            Literal::Date(_, text) | Literal::Text(text) => Some(cell.text()?.cmp(text.as_str())),
        };
        let any = |wanted: fn(std::cmp::Ordering) -> bool| {
            self.literals.iter().any(|literal| order(literal).is_some_and(wanted))
        };
        match self.comparison {
            Comparison::Equal => any(std::cmp::Ordering::is_eq),
            Comparison::Different => !any(std::cmp::Ordering::is_eq),
            Comparison::Less => any(std::cmp::Ordering::is_lt),
            Comparison::AtMost => any(std::cmp::Ordering::is_le),
            Comparison::More => any(std::cmp::Ordering::is_gt),
            Comparison::AtLeast => any(std::cmp::Ordering::is_ge),
        }
    }
}

/// A part of the condition.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// A name, a number or a date.
    Bare(String),
    /// What stood in quotes.
    Quoted(String),
    Sign(&'static str),
}

impl Word {
    fn show(&self) -> &str {
        match self {
            Self::Bare(text) | Self::Quoted(text) => text,
            Self::Sign(sign) => sign,
        }
    }
}

struct Words {
    all: Vec<Word>,
    at: usize,
}

impl Words {
    fn next(&mut self) -> Option<Word> {
        self.at += 1;
        self.all.get(self.at - 1).cloned()
    }
}

/// Takes the condition apart.
fn words(text: &str) -> Result<Vec<Word>, String> {
    const SIGNS: [&str; 12] = ["==", "!=", "<=", ">=", "&&", "<>", "=", "<", ">", "(", ")", ","];
    let (mut words, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            words.push(Word::Sign(sign));
            rest = rest[sign.len()..].trim_start();
        } else if matches!(first, '"' | '\'' | '`') {
            let inside = &rest[1..];
            let end = inside.find(first).ok_or("a quotation mark is opened and never closed")?;
            // Backticks hold the name of a column together.
            let word = inside[..end].to_string();
            words.push(if first == '`' { Word::Bare(word) } else { Word::Quoted(word) });
            rest = inside[end + 1..].trim_start();
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "=!<>&(),\"'`".contains(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("`{first}` is not understood"));
            }
            words.push(Word::Bare(rest[..end].to_string()));
            rest = rest[end..].trim_start();
        }
    }
    Ok(words)
}

fn clause(words: &mut Words) -> Result<Clause, String> {
    let column = match words.next() {
        Some(Word::Bare(name) | Word::Quoted(name)) => name,
        Some(Word::Sign(sign)) => return Err(format!("`{sign}` stands where a column should")),
        None => return Err("a column is missing".into()),
    };
    let comparison = match words.next() {
        Some(Word::Sign("==" | "=")) => Comparison::Equal,
        Some(Word::Sign("!=" | "<>")) => Comparison::Different,
        Some(Word::Sign("<")) => Comparison::Less,
        Some(Word::Sign("<=")) => Comparison::AtMost,
        Some(Word::Sign(">")) => Comparison::More,
        Some(Word::Sign(">=")) => Comparison::AtLeast,
        Some(Word::Bare(word)) if word.eq_ignore_ascii_case("in") => {
            return Ok(Clause { column, comparison: Comparison::Equal, literals: list(words)? });
        }
        other => {
            let found = other.map_or("the end".to_string(), |word| format!("`{}`", word.show()));
            return Err(format!("{found} follows `{column}`, where one of == != < <= > >= in should stand"));
        }
    };
    let literal = literal(words.next(), &column)?;
    let has_order = !matches!(comparison, Comparison::Equal | Comparison::Different);
    if has_order && matches!(literal, Literal::Text(_)) {
        return Err(format!("`{column}` can be below or above a number or a date like 2016-02-23 only"));
    }
    Ok(Clause { column, comparison, literals: vec![literal] })
}

/// `(a, b)`.
fn list(words: &mut Words) -> Result<Vec<Literal>, String> {
    let unlike = || "`in` is followed by values in brackets, as in (a, b)".to_string();
    if words.next() != Some(Word::Sign("(")) {
        return Err(unlike());
    }
    let mut literals = Vec::new();
    loop {
        literals.push(literal(words.next(), "in")?);
        match words.next() {
            Some(Word::Sign(",")) => {}
            Some(Word::Sign(")")) => return Ok(literals),
            _ => return Err(unlike()),
        }
    }
}

fn literal(word: Option<Word>, after: &str) -> Result<Literal, String> {
    let dated = |text: String| match parse_iso(&text) {
        Some(instant) => Literal::Date(instant, text),
        None => Literal::Text(text),
    };
    match word {
        Some(Word::Quoted(text)) => Ok(dated(text)),
        Some(Word::Bare(text)) => Ok(match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Literal::Number(number),
            _ => dated(text),
        }),
        Some(Word::Sign(sign)) => Err(format!("`{sign}` follows `{after}`, where a value should stand")),
        None => Err(format!("a value is missing after `{after}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Field(&'static str);

    impl Cell for Field {
        fn text(&self) -> Option<&str> {
            Some(self.0)
        }

        fn number(&self) -> Option<f64> {
            self.0.parse().ok()
        }

        fn instant(&self) -> Option<i64> {
            parse_iso(self.0)
        }
    }

    fn holds(condition: &str, field: &'static str) -> bool {
        Filter::parse(condition).unwrap().clauses.iter().all(|clause| clause.holds(&Field(field)))
    }

    #[test]
    fn fields_are_compared_as_what_they_are() {
        assert!(holds("a == \"oak\"", "oak") && holds("a=='oak'", "oak") && holds("a = oak", "oak"));
        assert!(!holds("a == \"oak\"", "Oak") && holds("a != \"oak\"", "") && holds("a <> oak", "elm"));
        assert!(holds("a == 3", "3.0") && !holds("a == \"3\"", "3.0") && holds("a >= 3", "3") && !holds("a > 3", "3"));
        assert!(!holds("a < 3", "") && !holds("a < 3", "few") && holds("a != 3", "few"));
        assert!(holds("a in (1, 2,'x y')", "2.0") && holds("a IN (1,'x y')", "x y") && !holds("a in (1)", "x"));
        assert!(holds("a >= 2024-01-01 and a < 2024-02-01", "2024-01-31T23:00Z"));
        assert!(!holds("a > '2024-01-31' && a<2024-02-01T00:00Z", "2024-01-31"));
    }

    #[test]
    fn mistakes_are_named() {
        for (condition, what) in [
            ("", "a column is missing"),
            ("a", "the end follows `a`"),
            ("a ==", "a value is missing"),
            ("a == 1 or b == 2", "no `or`"),
            ("a == 1 b == 2", "`b` stands where `and`"),
            ("a in 1", "in brackets"),
            ("a in (1", "in brackets"),
            ("a < oak", "a number or a date"),
            ("a == \"oak", "never closed"),
            ("a ! 3", "`!` is not understood"),
            ("== 3", "`==` stands where a column should"),
        ] {
            let sentence = Filter::parse(condition).unwrap_err();
            assert!(sentence.contains(what) && sentence.starts_with("--where"), "{condition}: {sentence}");
        }
        assert_eq!(Filter::parse("`my column` == 1").unwrap().clauses[0].column, "my column");
    }
}
