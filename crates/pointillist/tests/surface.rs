//! The names at the root of the library are few, and each is shown in use where it is defined.

use std::fs;
use std::path::{Path, PathBuf};

/// Most names at the root: what a reader of its page takes in.
const MOST_NAMES: usize = 30;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// What `lib.rs` re-exports at the root, each with the module that it comes from.
fn root_names() -> Vec<(String, String)> {
    let text = fs::read_to_string(sources().join("lib.rs")).unwrap();
    let mut names = Vec::new();
    // The modules in the file are indented, and so are their re-exports.
    for item in text.split("\npub use ").skip(1) {
        let (path, _) = item.split_once(';').unwrap();
        let module = path.split("::").next().unwrap();
        let (_, last) = path.rsplit_once("::").unwrap();
        let each = last.trim_matches(['{', '}']).split(',').map(str::trim).filter(|name| !name.is_empty());
        names.extend(each.map(|name| (module.to_string(), name.to_string())));
    }
    names
}

/// The texts of a module: its file, or the files of its folder.
fn texts(module: &str) -> Vec<String> {
    let file = sources().join(format!("{module}.rs"));
    if file.exists() {
        return vec![fs::read_to_string(file).unwrap()];
    }
    let mut folders = vec![sources().join(module)];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => texts.push(fs::read_to_string(path).unwrap()),
            }
        }
    }
    texts
}

/// The comment over the definition of a name.
fn documentation(module: &str, name: &str) -> Vec<String> {
    let defines = |line: &&str| {
        ["struct", "enum", "fn", "type"].iter().any(|kind| {
            let rest = line.trim_start().strip_prefix("pub ").and_then(|line| line.strip_prefix(kind));
            let rest = rest.and_then(|line| line.trim_start().strip_prefix(name));
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        })
    };
    let mut found = Vec::new();
    for text in texts(module) {
        let lines: Vec<&str> = text.lines().collect();
        for place in (0..lines.len()).filter(|&i| defines(&lines[i])) {
            let above = lines[..place].iter().rev().map(|line| line.trim());
            let own = above.take_while(|line| line.starts_with("///") || line.starts_with("#["));
            found.push(own.filter(|line| line.starts_with("///")).map(String::from).collect::<Vec<_>>());
        }
    }
    assert_eq!(found.len(), 1, "definitions of {name} in {module}");
    found.remove(0)
}

#[test]
fn the_root_has_few_names() {
    let names = root_names();
    assert!((20..=MOST_NAMES).contains(&names.len()), "{}: {names:?}", names.len());
    assert!(names.iter().any(|(module, name)| (module.as_str(), name.as_str()) == ("infer", "Model")), "{names:?}");
}

/// That the examples run is seen to by `cargo test`, which runs them.
#[test]
fn each_name_at_the_root_is_shown_in_use() {
    for (module, name) in root_names() {
        let documentation = documentation(&module, &name);
        // An opening and a closing line, without a word that keeps the example from being run.
        let fences = documentation.iter().filter(|line| line.as_str() == "/// ```").count();
        assert!(fences >= 2 && fences % 2 == 0, "{name} has no example that runs: {documentation:?}");
    }
}
