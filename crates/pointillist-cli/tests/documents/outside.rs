//! Commands that are not run by these tests: whether what they name is there.
//!
//! Lines for `pointillist` are parsed by its own definition. Of other commands what belongs to this repository is looked up: scripts, packages, benches,
//! tests, examples, Python files, files that are copied.

use super::page::root;
use pointillist_cli::hostile;
use std::path::Path;

/// Commands of the system that a block may use, and those of GDAL, which a page on it names.
const SYSTEM: [&str; 11] =
    ["awk", "cat", "gdalinfo", "gdalwarp", "gh", "grep", "mkdir", "ogr2ogr", "rustup", "tar", "test"];

/// Looks at every line of a script; the first thing that is wrong.
pub fn check_script(script: &str) -> Result<(), String> {
    let joined = script.replace("\\\n", " ");
    joined.lines().filter(|line| !line.trim_start().starts_with('#')).try_for_each(check_line)
}

fn check_line(line: &str) -> Result<(), String> {
    let words = words(line);
    for command in words.split(|word| ["&&", "|", "||", ";"].contains(&word.as_str())) {
        // What comes after a redirection is a name of a file that is made.
        let command: Vec<String> = command.iter().take_while(|word| !word.starts_with('>')).cloned().collect();
        let assignments = command.iter().take_while(|word| is_assignment(word)).count();
        if let [name, arguments @ ..] = &command[assignments..] {
            check_command(name, arguments).map_err(|what| format!("`{}`: {what}", line.trim()))?;
        }
    }
    Ok(())
}

fn check_command(name: &str, arguments: &[String]) -> Result<(), String> {
    let base = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match base {
        "pointillist" => parses(arguments),
        "cargo" => check_cargo(arguments),
        "python" | "python3" => match arguments.iter().find(|word| word.ends_with(".py")) {
            Some(script) => exists(script),
            None => Ok(()),
        },
        "cp" => {
            // Names with a variable in them, and what is built, are not there yet; the last one is where to.
            let sources = arguments.split_last().map_or(arguments, |(_, sources)| sources);
            let there = sources.iter().filter(|word| !word.starts_with('-') && !word.contains('$'));
            there.filter(|word| !word.starts_with("target/")).try_for_each(|word| exists(word))
        }
        _ if name.starts_with("./") => is_script(name),
        _ if SYSTEM.contains(&name) => Ok(()),
        _ => Err(format!("`{name}` is nothing that this repository or every machine has")),
    }
}

/// Whether the command's own definition takes these arguments.
pub fn parses(arguments: &[String]) -> Result<(), String> {
    let line = std::iter::once("pointillist".to_string()).chain(arguments.iter().cloned());
    match hostile::command().try_get_matches_from(line) {
        Err(error) if error.use_stderr() => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn check_cargo(arguments: &[String]) -> Result<(), String> {
    const SUBCOMMANDS: [&str; 7] = ["run", "build", "test", "bench", "check", "install", "package"];
    let mut words = arguments.iter().take_while(|word| *word != "--").skip_while(|word| word.starts_with('+'));
    let subcommand = words.next().ok_or("no subcommand")?;
    if !SUBCOMMANDS.contains(&subcommand.as_str()) {
        return Err(format!("cargo {subcommand} is not one of {}", SUBCOMMANDS.join(", ")));
    }
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "-p" | "--package" => exists(&format!("crates/{}/Cargo.toml", value()?))?,
            "--path" => exists(&format!("{}/Cargo.toml", value()?))?,
            "--bin" => exists_in_a_crate(&["src/main.rs"], (value()? == "pointillist").then_some("main"))?,
            "--bench" => exists_in_a_crate(&["benches/NAME.rs"], Some(value()?))?,
            "--test" => exists_in_a_crate(&["tests/NAME.rs", "tests/NAME/main.rs"], Some(value()?))?,
            "--example" => exists_in_a_crate(&["examples/NAME.rs"], Some(value()?))?,
            "--workspace" | "--all-targets" | "--release" | "--locked" | "--quiet" | "--no-deps" => {}
            word if word.starts_with('-') => {
                return Err(format!("cargo {subcommand} {word}: is there such an option?"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a crate has one of these files, with `NAME` replaced.
fn exists_in_a_crate(files: &[&str], name: Option<&str>) -> Result<(), String> {
    let name = name.ok_or("there is no such binary")?;
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let is_there = |folder: &Path| files.iter().any(|file| folder.join(file.replace("NAME", name)).is_file());
    crates.into_iter().any(|folder| is_there(&folder)).then_some(()).ok_or(format!("no crate has {name}"))
}

fn exists(name: &str) -> Result<(), String> {
    root().join(name).exists().then_some(()).ok_or(format!("there is no {name}"))
}

fn is_script(name: &str) -> Result<(), String> {
    exists(name)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(root().join(name)).unwrap().permissions().mode();
        if mode & 0o111 == 0 {
            return Err(format!("{name} is not executable"));
        }
    }
    Ok(())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|character| character.is_ascii_uppercase() || character == '_')
    })
}

/// The words of a line, as a shell sees them: 'quotes' and "quotes" hold together, a comment ends it.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[test]
fn what_is_not_there_is_found() {
    let wrong = |script: &str| check_script(script).is_err();
    assert!(wrong("./no-such-script") && wrong("./Cargo.toml") && !wrong("./test"));
    assert!(wrong("cargo run --bench no_such_bench") && !wrong("cargo bench -p pointillist --bench table"));
    assert!(wrong("cargo install --path crates/nothing") && wrong("cargo frobnicate") && wrong("frobnicate"));
    assert!(wrong("python3 experiments/nothing.py") && wrong("cp NOTHING dist/") && !wrong("cp NOTICE dist/"));
    assert!(wrong("pointillist fot coal") && wrong("pointillist fit coal --wndow 0,1"));
    assert!(!wrong("UPDATE_DOCS=1 cargo test --release --test documents # a comment"));
    assert!(!wrong("pointillist data coal | awk '{print}' > coal.csv && pointillist fit coal.csv \\\n  --window 0,1"));
    assert!(wrong("pointillist data coal | pointillist fit - --wndow 0,1"));
    assert_eq!(words("a 'b c' \"d\" # e"), ["a", "b c", "d"]);
}
