//! Text that is read one character after the other, and the error of a text that cannot be read: what the readers of
//! kernels (`kernel/parse.rs`) and of intensities (`intensity.rs`) share. It knows no grammar; places are counted in
//! characters from 0.

/// Characters of the user's own words that a message repeats.
const LONGEST_QUOTE: usize = 40;
/// Most characters of a text that an error points into; of a longer one it shows a piece.
const LONGEST_LINE: usize = 100;
/// Characters before the one in question in such a piece.
const BEFORE: usize = 40;

/// A text that is no kernel or no intensity: what is wrong, and at which character of it (from 0).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// What is wrong, and what would be right.
    pub message: String,
    /// Where, in characters from the start.
    pub at: usize,
}

pub(crate) type Result<T> = std::result::Result<T, ExpressionError>;

pub(crate) fn error<T>(at: usize, message: impl Into<String>) -> Result<T> {
    Err(ExpressionError { message: message.into(), at })
}

impl ExpressionError {
    /// The text on a line, and below it a `^` under the character in question. Of a long text, the piece around it.
    pub fn pointing(&self, text: &str) -> String {
        let length = text.chars().count();
        let first = if length > LONGEST_LINE { self.at.min(length).saturating_sub(BEFORE) } else { 0 };
        let piece = || text.chars().skip(first).take(LONGEST_LINE);
        // one line whatever was typed
        let line: String = piece().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let blank = |c| if is_wide(c) { '\u{3000}' } else { ' ' };
        let margin: String = piece().chain([' ']).take(self.at.saturating_sub(first)).map(blank).collect();
        format!("{line}\n{margin}^")
    }
}

/// Whether a character takes two columns of a terminal.
fn is_wide(c: char) -> bool {
    matches!(c as u32, 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 | 0x1f300..=0x1faff | 0x20000..=0x3fffd)
}

/// Whether names may have this character without quotes.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

/// Whether a name that is no number may begin with it.
pub(crate) fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The user's word, fit for a message.
pub(crate) fn shown(word: &str) -> String {
    let mut start: String = word.chars().take(LONGEST_QUOTE).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if word.chars().nth(LONGEST_QUOTE).is_some() {
        start.push('…');
    }
    format!("`{start}`")
}

/// A text and how far it is read. What reads skips white space first, but for [`Text::run`].
pub(crate) struct Text {
    pub(crate) chars: Vec<char>,
    pub(crate) at: usize,
}

impl Text {
    pub(crate) fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0 }
    }

    /// Where the next character that is no white space stands.
    pub(crate) fn here(&mut self) -> usize {
        self.run(char::is_whitespace);
        self.at
    }

    pub(crate) fn peek(&mut self) -> Option<char> {
        let here = self.here();
        self.chars.get(here).copied()
    }

    /// Reads this character, if it is the next.
    pub(crate) fn take(&mut self, wanted: char) -> bool {
        self.take_one_of(&[wanted]).is_some()
    }

    /// Reads the next character, if it is one of these.
    pub(crate) fn take_one_of(&mut self, wanted: &[char]) -> Option<char> {
        let found = self.peek().filter(|c| wanted.contains(c));
        self.at += usize::from(found.is_some());
        found
    }

    /// Reads as long as `wanted` holds.
    pub(crate) fn run(&mut self, mut wanted: impl FnMut(char) -> bool) -> String {
        let run: String = self.chars[self.at..].iter().copied().take_while(|&c| wanted(c)).collect();
        self.at += run.chars().count();
        run
    }

    /// Reads a name in quotes; a quote in it is doubled.
    pub(crate) fn quoted(&mut self) -> Result<String> {
        let open = self.here();
        let mut name = String::new();
        self.at += 1;
        while let Some(&c) = self.chars.get(self.at) {
            self.at += 1;
            if c != '"' {
                name.push(c);
            } else if self.chars.get(self.at) == Some(&'"') {
                name.push('"');
                self.at += 1;
            } else {
                return Ok(name);
            }
        }
        error(open, "this quote is not closed; add a `\"` after the name")
    }
}

/// Has 50,000 texts read that are put together from tokens (those between blanks, and a blank): an error must say something, about a place
/// in the text. How many of them were read as something.
#[cfg(test)]
pub(crate) fn read_odd_texts(tokens: &str, read: impl Fn(&str) -> Result<bool>) -> usize {
    let tokens: Vec<&str> = tokens.split(' ').chain([" "]).collect();
    let (mut state, mut good) = (1u64, 0);
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for _ in 0..50_000 {
        let text: String = (0..random(14)).map(|_| tokens[random(tokens.len())]).collect();
        match read(&text) {
            Ok(is_something) => good += usize::from(is_something),
            Err(error) => {
                assert!(error.at <= text.chars().count() && !error.message.is_empty(), "{text}");
                assert_eq!(error.pointing(&text).lines().count(), 2, "{text}");
            }
        }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_points_at_its_character() {
        let pointing = |at, text: &str| ExpressionError { message: String::new(), at }.pointing(text);
        assert_eq!(pointing(0, "se"), "se\n^");
        assert_eq!(pointing(2, "sé(x)"), "sé(x)\n  ^");
        assert_eq!(pointing(4, "se +"), "se +\n    ^");
        assert_eq!(pointing(3, "a\n\tb"), "a  b\n   ^");
        assert_eq!(pointing(1, "漢x"), "漢x\n\u{3000}^");
        let long = pointing(500, &format!("{}!{}", "a".repeat(500), "b".repeat(500)));
        let (line, mark) = long.split_once('\n').unwrap();
        assert_eq!(line.chars().nth(mark.chars().count() - 1), Some('!'));
        assert!(pointing(9999, "se").chars().count() < 10);
    }
}
