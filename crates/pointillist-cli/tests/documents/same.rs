//! Whether what was printed is what a page shows.
//!
//! Words must be the same, blanks in a row count as one. The rules for numbers:
//! - a number with a decimal point or an exponent may differ by one unit of the last digit shown, and by 1e-6 of itself: processors differ in
//!   their last bits;
//! - numbers below 1e-12 are rounding, and stand for each other;
//! - a whole number must be the same;
//! - a length of time (a number before `ms`, `s`, `min` or `h`) is anything, and so is the last number of a row in a table whose heading ends
//!   with `seconds`, and so are the numbers on a line that begins with `stop` or `seconds`: the effort that was made;
//! - the points of a picture that is embedded in a figure (base64) are anything: their last bits differ, too;
//! - a line `...` stands for any number of lines.

#[derive(Debug, PartialEq)]
enum Token {
    Text(String),
    Number { value: f64, within: f64 },
    Anything,
}

/// Whether `printed` is `shown`.
pub fn is_same(shown: &[&str], printed: &[&str]) -> bool {
    let (shown, printed) = (tokens_of(shown), tokens_of(printed));
    follows(&shown, &printed)
}

fn follows(shown: &[Option<Vec<Token>>], printed: &[Option<Vec<Token>>]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([None, rest @ ..], _) => (0..=printed.len()).any(|left_out| follows(rest, &printed[left_out..])),
        ([Some(line), rest @ ..], [Some(other), others @ ..]) => {
            line.len() == other.len()
                && line.iter().zip(other).all(|(a, b)| is_same_token(a, b))
                && follows(rest, others)
        }
        _ => false,
    }
}

fn is_same_token(shown: &Token, printed: &Token) -> bool {
    match (shown, printed) {
        (Token::Number { value, within }, Token::Number { value: other, .. }) => {
            let is_near = (value - other).abs() <= within.max(1e-6 * value.abs()) * (1.0 + 1e-9);
            value == other || *within > 0.0 && (is_near || value.max(*other) < 1e-12)
        }
        _ => shown == printed,
    }
}

/// The tokens of each line; nothing for a line of dots.
fn tokens_of(lines: &[&str]) -> Vec<Option<Vec<Token>>> {
    let mut ends_with_seconds = false;
    let mut all = Vec::new();
    for line in lines {
        if line.trim() == "..." {
            all.push(None);
            continue;
        }
        let mut tokens = tokens(line);
        let is_number = |token: &Token| matches!(token, Token::Number { .. });
        if ends_with_seconds && tokens.last().is_some_and(is_number) {
            tokens.pop();
            tokens.push(Token::Anything);
        }
        if ["stop ", "seconds "].iter().any(|word| line.trim_start().starts_with(word)) {
            tokens.iter_mut().filter(|token| is_number(token)).for_each(|token| *token = Token::Anything);
        }
        ends_with_seconds |= line.trim_end().ends_with("seconds");
        all.push(Some(tokens));
    }
    all
}

fn tokens(line: &str) -> Vec<Token> {
    if let Some((before, embedded)) = line.split_once("base64,") {
        let after = embedded.split_once('"').map_or("", |(_, after)| after);
        return tokens(before).into_iter().chain([Token::Anything]).chain(tokens(after)).collect();
    }
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut rest = line.as_str();
    while let Some(character) = rest.chars().next() {
        let length = number_length(rest);
        if length == 0 {
            text.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        }
        if !text.is_empty() {
            tokens.push(Token::Text(std::mem::take(&mut text)));
        }
        let (number, after) = rest.split_at(length);
        rest = after;
        match unit_of_time(after) {
            Some(unit) => {
                tokens.push(Token::Anything);
                rest = &after[unit..];
            }
            None => tokens.push(Token::Number { value: number.parse().unwrap(), within: last_digit(number) }),
        }
    }
    if !text.is_empty() {
        tokens.push(Token::Text(text));
    }
    tokens
}

/// How long the number is with which a text begins; 0 if it begins with none.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if length == 0 {
        return 0;
    }
    if let Some(fraction) = text[length..].strip_prefix('.') {
        let more = digits(fraction);
        length += if more > 0 { 1 + more } else { 0 };
    }
    if let Some(exponent) = text[length..].strip_prefix('e') {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let more = digits(&exponent[sign..]);
        length += if more > 0 { 1 + sign + more } else { 0 };
    }
    length
}

/// How long a blank and a unit of time at the beginning of a text are.
fn unit_of_time(text: &str) -> Option<usize> {
    let word = text.strip_prefix(' ')?;
    let length = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    ["ms", "s", "min", "h"].contains(&&word[..length]).then_some(1 + length)
}

/// One unit of the last digit of a number; 0 for a whole one.
fn last_digit(number: &str) -> f64 {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    match (decimals, exponent) {
        (0, "0") => 0.0,
        _ => 10f64.powi(exponent.parse::<i32>().unwrap() - decimals as i32),
    }
}

#[test]
fn words_and_whole_numbers_are_the_same_and_others_nearly() {
    let same = |a: &str, b: &str| is_same(&a.lines().collect::<Vec<_>>(), &b.lines().collect::<Vec<_>>());
    assert!(same("mean  1.26932 years", "mean 1.26933 years") && !same("mean 1.26932", "mean 1.26934"));
    assert!(same("2.935391935058171", "2.935392") && !same("2.935391935058171", "2.935395"));
    assert!(same("1.3e-6 of it", "1.4e-6 of it") && !same("1.3e-6 of it", "1.5e-6 of it"));
    assert!(same("error 6e-16", "error 2.1e-15") && !same("error 6e-16", "error 6e-10"));
    assert!(!same("191 events", "190 events") && !same("191 events", "191 Events") && !same("-1.5", "1.5"));
    assert!(same("took 24.3 ms", "took 1.2 s") && !same("at 24.3 m", "at 1.2 m"));
    assert!(same("  stop  converged; 10 steps", "  stop  converged; 12 steps") && !same("10 steps", "12 steps"));
    assert!(!same("  stop  converged; 10 steps", "  stop  cancelled; 10 steps"));
    assert!(same("name seconds\nvbpp 1.5 0.1", "name seconds\nvbpp 1.5 0.9"));
    assert!(!same("name seconds\nvbpp 1.5 0.1", "name seconds\nvbpp 1.8 0.1"));
    assert!(same("<i x=\"1\" base64,Ab1\" y=\"2\"", "<i x=\"1\" base64,Cd\" y=\"2\""));
    assert!(!same("<i x=\"1\" base64,Ab1\" y=\"2\"", "<i x=\"1\" base64,Ab1\" y=\"3\""));
    assert!(same("a\n...\nd", "a\nb\nc\nd") && same("a\n...", "a") && !same("a\n...\nd", "a\nb") && !same("a", "a\nb"));
}
