//! Sentences belong to every front end: none of them spells a setting as the command does.

use std::fs;

/// Whether an option stands in a line: two hyphens before a letter.
fn has_option(line: &str) -> bool {
    line.match_indices("--").any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()))
}

#[test]
fn no_sentence_has_an_option_in_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in lines {
            assert!(!has_option(line), "{}, line {}: {line}", path.display(), number + 1);
        }
        files += 1;
    }
    assert!(files > 20 && has_option("give --window") && !has_option("a -- b"));
}
