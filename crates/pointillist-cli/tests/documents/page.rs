//! A page as lines, and what stands in its fenced blocks.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub struct Page {
    /// Its place under the root of the repository.
    pub name: String,
    pub path: PathBuf,
    pub lines: Vec<String>,
}

/// A fenced block.
pub struct Block {
    /// What its lines are written in: the first word after the fence.
    pub language: String,
    /// The words after that.
    pub marks: Vec<String>,
    /// Its lines without the fences, as indices into the lines of the page.
    pub lines: Range<usize>,
}

/// Something to type, and what the page says that it prints.
pub struct Step {
    pub command: String,
    /// Where the command begins: index into the lines of the page.
    pub line: usize,
    /// What it prints, as indices into the lines of the page; nothing is said in a block of plain commands.
    pub shown: Option<Range<usize>>,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The README and everything in `docs/` and `docs/tutorials/`, by name.
pub fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_string()];
    for folder in ["docs", "docs/tutorials"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.extend(files.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    names.sort();
    names.iter().map(|name| Page::read(name)).collect()
}

impl Page {
    pub fn read(name: &str) -> Self {
        let path = root().join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_string(), path, lines: text.lines().map(String::from).collect() }
    }

    pub fn write(&self) {
        std::fs::write(&self.path, self.lines.join("\n") + "\n").unwrap();
    }

    /// Where a line stands, for a person.
    pub fn place(&self, line: usize) -> String {
        format!("{}:{}", self.name, line + 1)
    }

    /// Its fenced blocks, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < self.lines.len() {
            if let Some(info) = self.lines[at].strip_prefix("```") {
                let length = self.lines[at + 1..].iter().position(|line| line == "```");
                let end = at + 1 + length.unwrap_or_else(|| panic!("{}: this block does not end", self.place(at)));
                let mut words = info.split_whitespace().map(String::from);
                let language = words.next().unwrap_or_default();
                blocks.push(Block { language, marks: words.collect(), lines: at + 1..end });
                at = end;
            }
            at += 1;
        }
        blocks
    }

    /// What is to be typed in a block: the lines of a session (`console`) that begin with `$`, or a block of plain commands as a whole.
    pub fn steps(&self, block: &Block) -> Vec<Step> {
        if block.language == "sh" {
            let command = self.lines[block.lines.clone()].join("\n");
            return vec![Step { command, line: block.lines.start, shown: None }];
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut goes_on = false;
        for line in block.lines.clone() {
            let text = self.lines[line].as_str();
            match (text.strip_prefix("$ "), steps.last_mut()) {
                (None, Some(step)) if goes_on => {
                    step.command = format!("{}\n{text}", step.command);
                    step.shown = Some(line + 1..line + 1);
                }
                (Some(command), _) => {
                    steps.push(Step { command: command.to_string(), line, shown: Some(line + 1..line + 1) })
                }
                (None, Some(step)) => {
                    step.shown = step.shown.clone().map(|shown| shown.start..line + 1);
                    continue;
                }
                (None, None) => panic!("{}: a session begins with a command after `$ `", self.place(line)),
            }
            goes_on = text.ends_with('\\');
        }
        steps
    }

    /// The lines that stand outside of fenced blocks.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let fenced: Vec<Range<usize>> =
            self.blocks().iter().map(|block| block.lines.start - 1..block.lines.end + 1).collect();
        let lines = self.lines.iter().map(String::as_str).enumerate();
        lines.filter(|(line, _)| !fenced.iter().any(|range| range.contains(line))).collect()
    }

    /// What its links and pictures lead to: the line, whether it is a picture, and the address.
    pub fn links(&self) -> Vec<(usize, bool, &str)> {
        let mut links = Vec::new();
        for (line, text) in self.prose() {
            for (at, _) in text.match_indices("](") {
                let Some(end) = text[at..].find(')') else { continue };
                let opening = text[..at].rfind('[').unwrap_or(0);
                let is_picture = text[..opening].ends_with('!');
                links.push((line, is_picture, &text[at + 2..at + end]));
            }
        }
        links
    }
}

impl Block {
    pub fn has(&self, mark: &str) -> bool {
        self.marks.iter().any(|word| word == mark)
    }

    /// The exit code that its commands must have: `exit=2`, else 0.
    pub fn code(&self) -> i32 {
        let mut codes = self.marks.iter().filter_map(|mark| mark.strip_prefix("exit=")?.parse().ok());
        codes.next_back().unwrap_or(0)
    }
}
