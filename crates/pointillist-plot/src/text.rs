//! How much room text takes, and how it is made to fit.

/// Font sizes.
pub(super) const TITLE_SIZE: f64 = 17.0;
pub(super) const LABEL_SIZE: f64 = 13.0;
pub(super) const TICK_SIZE: f64 = 12.0;

/// Estimated width of a text, on the generous side: the viewer's font is not known.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        'f' | 't' | 'r' | 'I' | '(' | ')' | '-' | '/' | '·' | '⁰'..='⁹' | '¹' | '²' | '³' => 0.43,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '—' => 0.98,
        c if c.is_uppercase() || "×−+=<>".contains(c) => 0.8,
        c if (c as u32) < 0x2e80 => 0.64,
        _ => 1.0,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The text and font size that fit a width: first smaller, at last cut short.
pub(super) fn fit_text(text: &str, size: f64, room: f64) -> (String, f64) {
    let full = text_width(text, size);
    if full <= room {
        return (text.to_string(), size);
    }
    let smaller = (size * room / full).max(0.75 * size);
    let mut kept: Vec<char> = text.chars().collect();
    let mut cut = text.to_string();
    while !kept.is_empty() && text_width(&cut, smaller) > room + 1e-9 {
        kept.pop();
        cut = kept.iter().collect::<String>().trim_end().to_string() + "…";
    }
    (cut, smaller)
}

/// The text in one line if it fits, else in two of about the same width.
pub(super) fn in_two_lines(text: &str, size: f64, room: f64) -> Vec<String> {
    if text_width(text, size) <= room {
        return vec![text.to_string()];
    }
    let halves = text.match_indices(' ').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let longer = |(a, b): &(&str, &str)| text_width(a, size).max(text_width(b, size));
    match halves.min_by(|a, b| longer(a).total_cmp(&longer(b))) {
        Some((first, second)) => vec![first.to_string(), second.to_string()],
        None => vec![text.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_made_to_fit() {
        let long = "An exceedingly long title ".repeat(10);
        let (cut, size) = fit_text(&long, 17.0, 300.0);
        assert!(text_width(&cut, size) <= 300.0 + 1e-6 && cut.ends_with('…'));
        assert_eq!(fit_text("short", 17.0, 300.0), ("short".to_string(), 17.0));
        assert!(fit_text("x", 17.0, -1.0).0.len() < 4);
    }

    #[test]
    fn what_does_not_fit_one_line_gets_two() {
        assert_eq!(in_two_lines("events per year", 13.0, 300.0), ["events per year"]);
        assert_eq!(in_two_lines("probability that the rate exceeds 5", 13.0, 200.0).len(), 2);
        assert_eq!(in_two_lines("é à", 13.0, 1.0), ["é", "à"]);
        assert_eq!(in_two_lines("unbreakable", 13.0, 1.0), ["unbreakable"]);
    }
}
