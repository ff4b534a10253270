//! What would be published: every crate has its licences, its README, all files that it includes, and what crates.io asks for; its dependencies have
//! licences that are allowed here and need no newer compiler than is promised.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Licences under which code may be compiled in. Those that ask for a notice stand in NOTICE.
const ALLOWED: [&str; 11] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "CC0-1.0",
    "Unlicense",
    "Zlib",
    "Unicode-3.0",
];
/// Those whose users NOTICE need not name.
const PLAIN: [&str; 6] = ["MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "0BSD", "Unlicense"];
/// The categories of crates.io that fit.
const CATEGORIES: [&str; 6] =
    ["science", "mathematics", "command-line-utilities", "visualization", "encoding", "parser-implementations"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What cargo knows of the packages: the workspace's own, or all that it depends on, on any system.
fn packages(arguments: &[&str]) -> Vec<Value> {
    let text = cargo(&[&["metadata", "--format-version", "1", "--locked"], arguments].concat());
    let metadata: Value = serde_json::from_str(&text).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Those of the workspace that go to crates.io; the Python package goes elsewhere.
fn own_packages() -> Vec<Value> {
    let is_published = |package: &Value| package["publish"].as_array().is_none_or(|places| !places.is_empty());
    packages(&["--no-deps"]).into_iter().filter(is_published).collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

/// The folder of a package.
fn folder(package: &Value) -> PathBuf {
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().canonicalize().unwrap()
}

/// The files that would be in a package.
fn packaged_files(package: &Value) -> BTreeSet<String> {
    let list = cargo(&["package", "--list", "--allow-dirty", "--offline", "-p", name(package)]);
    list.lines().map(|line| line.replace('\\', "/")).collect()
}

#[test]
fn every_package_has_its_licences_and_a_readme() {
    for package in own_packages() {
        let files = packaged_files(&package);
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
            assert!(files.contains(file), "{}: {file} is not in the package", name(&package));
            // Links to the texts at the root; a checkout without links has their addresses there.
            if cfg!(unix) && file != "README.md" {
                let text = |folder: PathBuf| std::fs::read_to_string(folder.join(file)).unwrap();
                assert_eq!(text(folder(&package)), text(root()), "{}: {file} is another text", name(&package));
            }
        }
    }
}

#[test]
fn every_package_has_what_it_includes() {
    let mut wrong = Vec::new();
    for package in own_packages() {
        let files = packaged_files(&package);
        for source in files.iter().filter(|file| file.ends_with(".rs")) {
            let text = std::fs::read_to_string(folder(&package).join(source)).unwrap();
            for included in included_files(&text) {
                let path = plain(&Path::new(source).parent().unwrap().join(&included));
                if path.is_none_or(|path| !files.contains(&path)) {
                    wrong
                        .push(format!("{}: {source} includes {included}, which is not in the package", name(&package)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files that a source includes, as it writes them.
fn included_files(source: &str) -> Vec<String> {
    let macros = ["include_str", "include_bytes", "include"].map(|name| format!("{name}!("));
    let calls = macros.iter().flat_map(|call| source.split(call.as_str()).skip(1));
    let texts = calls.filter_map(|after| after.trim_start().strip_prefix('"')?.split_once('"'));
    texts.map(|(file, _)| file.to_string()).collect()
}

/// A path without `..`; nothing if it leads out of where it began.
fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

#[test]
fn every_package_says_what_crates_io_asks_for() {
    for package in own_packages() {
        let name = name(&package);
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_string();
        let list =
            |field: &str| package[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_string());
        assert!(text("description").len() > 20, "{name} has no description");
        assert_eq!(text("license"), "MIT OR Apache-2.0", "{name}");
        assert_eq!(text("rust_version"), env!("CARGO_PKG_RUST_VERSION"), "{name}");
        assert!(text("readme").ends_with("README.md"), "{name} has no readme");
        let keywords: Vec<String> = list("keywords").collect();
        assert!((1..=5).contains(&keywords.len()), "{name} has {} keywords; crates.io takes five", keywords.len());
        let is_keyword = |word: &String| {
            word.len() <= 20 && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        };
        assert!(keywords.iter().all(is_keyword), "{name}: {keywords:?}");
        let categories: Vec<String> = list("categories").collect();
        assert!((1..=5).contains(&categories.len()), "{name} has no categories");
        let unknown = categories.iter().find(|category| !CATEGORIES.contains(&category.as_str()));
        assert_eq!(unknown, None, "{name}");
        for dependency in package["dependencies"].as_array().unwrap() {
            let is_own = !dependency["path"].is_null() && dependency["kind"].is_null();
            let is_versioned = dependency["req"].as_str() != Some("*");
            assert!(!is_own || is_versioned, "{name}: {} needs a version to be published", dependency["name"]);
        }
    }
}

#[test]
fn dependencies_need_no_newer_compiler() {
    let number = |text: &str| {
        let parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
        (parts[0], parts[1])
    };
    let promised = number(env!("CARGO_PKG_RUST_VERSION"));
    let newer: Vec<String> = packages(&[])
        .iter()
        .filter(|package| package["rust_version"].as_str().is_some_and(|version| number(version) > promised))
        .map(|package| format!("{} {} needs Rust {}", name(package), package["version"], package["rust_version"]))
        .collect();
    assert!(newer.is_empty(), "{newer:?}; Rust {promised:?} is promised");
}

#[test]
fn licences_are_allowed_and_noticed() {
    let mut wrong = Vec::new();
    for package in packages(&[]) {
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_satisfied(licence, &ALLOWED) {
            wrong.push(format!("{}: {licence:?} is not allowed", name(&package)));
        }
    }
    let notice = std::fs::read_to_string(root().join("NOTICE")).unwrap();
    let words: BTreeSet<&str> =
        notice.split(|letter: char| !(letter.is_alphanumeric() || "-_".contains(letter))).collect();
    // What the command is compiled from, on any system.
    let compiled = ["tree", "-p", "pointillist-cli", "-e", "normal", "--target", "all", "--prefix", "none", "--locked"];
    let tree = cargo(&[&compiled[..], &["--format", "{p}|{l}"]].concat());
    for (package, licence) in tree.lines().filter_map(|line| line.split_once('|')) {
        let name = package.split(' ').next().unwrap_or_default();
        let licence = licence.trim_end_matches("(*)").trim_end();
        if !is_satisfied(licence, &PLAIN) && !words.contains(name) {
            wrong.push(format!("{name}: NOTICE does not name it ({licence})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether an SPDX expression can be satisfied with these licences: one side of each OR, both of each AND.
fn is_satisfied(expression: &str, by: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ");
    let trimmed = expression.trim();
    for (word, all) in [(" AND ", true), (" OR ", false)] {
        let parts = split_outside_brackets(trimmed, word);
        if parts.len() > 1 {
            let holds = |part: &&str| is_satisfied(part, by);
            return if all { parts.iter().all(holds) } else { parts.iter().any(holds) };
        }
    }
    match trimmed.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inside) => is_satisfied(inside, by),
        None => by.contains(&trimmed),
    }
}

/// The parts of a text between `word`, where no bracket is open.
fn split_outside_brackets<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(word) {
        if text[..at].matches('(').count() == text[..at].matches(')').count() {
            parts.push(&text[from..at]);
            from = at + word.len();
        }
    }
    parts.push(&text[from..]);
    parts
}

#[test]
fn expressions_of_licences_are_understood() {
    let allowed =
        |expression: &str| is_satisfied(expression, &["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]);
    assert!(allowed("MIT") && allowed("GPL-3.0 OR MIT") && allowed("MIT/Apache-2.0"));
    assert!(allowed("(MIT OR GPL-3.0) AND Unicode-3.0") && allowed("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
    assert!(
        !allowed("GPL-3.0") && !allowed("MIT AND GPL-3.0") && !allowed("(MIT OR GPL-3.0) AND MPL-2.0") && !allowed("")
    );
}

#[test]
fn included_files_are_found() {
    let source = "const A: &str = MACRO_str!(\"../data/a.csv\");\nlet b = MACRO_bytes!(\n    \"b.bin\"\n);";
    assert_eq!(included_files(&source.replace("MACRO", "include")), ["../data/a.csv", "b.bin"]);
    assert_eq!(plain(Path::new("src/../data/a.csv")).as_deref(), Some("data/a.csv"));
    assert_eq!(plain(Path::new("src/../../data/a.csv")), None);
}
