//! The README and the pages in `docs/` are true: their commands run and print what stands there, their pictures are what the commands draw,
//! their links lead somewhere, and the reference is what `--help` prints.
//!
//! What is done with a fenced block depends on the words after its fence:
//! - `console`: a session. Lines after `$ ` are run by `sh` with the built command on the path; the lines below are what it prints to stdout (to
//!   stderr, if the exit code is not 0), compared by the rules in `same.rs`.
//! - `sh`: plain commands, run as one script; every one must succeed.
//! - `exit=2` after either: the exit code, instead of 0.
//! - `long` after either: takes more than a few seconds. It is checked by parsing, and run by `cargo test --test documents -- --ignored`.
//! - `elsewhere` after either: needs the repository, or tools that not everyone has. What it names must exist.
//! - `rust`: compiled and run as an example of the library's documentation (the README only).
//! - `text`, `python`, or no word: shown only. They must not hold commands for `pointillist`.
//!
//! Each page has a folder of its own, in which its blocks run in order. With `UPDATE_DOCS=1` outputs without a line of dots, pictures and the
//! reference are written anew instead of being compared.

#![cfg(unix)] // the blocks are written for `sh`

#[path = "../common/mod.rs"]
mod common;
mod outside;
mod page;
mod same;

use common::Folder;
use page::{Block, Page, Step, pages, root};
use pointillist_cli::hostile;
use std::path::Path;
use std::process::{Command, Stdio};

/// The page that is made from `--help`.
const REFERENCE: &str = "docs/reference.md";

/// Whether pages are to be written anew.
fn updates() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some_and(|value| !value.is_empty())
}

#[test]
fn every_command_does_what_its_page_says() {
    run_pages(false);
}

#[test]
#[ignore = "the long blocks take a minute and more"]
fn every_long_command_does_what_its_page_says() {
    run_pages(true);
}

fn run_pages(also_long: bool) {
    let mut wrong = Vec::new();
    let mut count = 0;
    // The reference has a test of its own, which also looks for what is missing.
    for page in pages().into_iter().filter(|page| page.name != REFERENCE) {
        let (steps, faults) = run_page(page, also_long);
        count += steps;
        wrong.extend(faults);
    }
    assert!(wrong.is_empty(), "{} of {count} commands:\n\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(count > 20, "only {count} commands were found: are the blocks marked?");
}

/// Runs the blocks of a page in a folder of their own; the number of commands, and what went wrong.
fn run_page(mut page: Page, also_long: bool) -> (usize, Vec<String>) {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut news = Vec::new();
    for block in page.blocks().iter().filter(|block| is_run(block, also_long)) {
        for step in page.steps(block) {
            count += 1;
            match run_step(&page, block, &step, &folder) {
                Ok(()) => {}
                Err(Fault::Shows(lines)) if updates() => news.push((step.shown.unwrap_or_default(), lines)),
                Err(Fault::Shows(lines)) => {
                    let printed = lines.join("\n");
                    wrong.push(format!("{}: {}\nprinted this instead:\n{printed}", page.place(step.line), step.command))
                }
                Err(Fault::Failed(what)) => wrong.push(format!("{}: {}\n{what}", page.place(step.line), step.command)),
            }
        }
    }
    wrong.extend(pictures(&page, &folder, also_long));
    if !news.is_empty() {
        // From the end, so that the places of those before stay what they are.
        for (range, lines) in news.into_iter().rev() {
            page.lines.splice(range, lines);
        }
        page.write();
    }
    (count, wrong)
}

fn is_run(block: &Block, also_long: bool) -> bool {
    is_command(block) && !block.has("elsewhere") && (also_long || !block.has("long"))
}

fn is_command(block: &Block) -> bool {
    ["console", "sh"].contains(&block.language.as_str())
}

/// What can be wrong with a command.
enum Fault {
    /// It printed these lines, not those of the page.
    Shows(Vec<String>),
    /// It had another exit code, or left out what stands below it.
    Failed(String),
}

fn run_step(page: &Page, block: &Block, step: &Step, folder: &Folder) -> Result<(), Fault> {
    let binary = Path::new(env!("CARGO_BIN_EXE_pointillist"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-ec", &step.command]).current_dir(folder.path("")).env("PATH", path).stdin(Stdio::null());
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    if output.status.code() != Some(block.code()) {
        return Err(Fault::Failed(format!("exit code {:?}: {err}", output.status.code())));
    }
    let Some(range) = step.shown.clone() else { return Ok(()) };
    let printed: Vec<&str> = if block.code() == 0 { &out } else { &err }.lines().map(str::trim_end).collect();
    let shown: Vec<&str> = page.lines[range].iter().map(|line| line.trim_end()).collect();
    if same::is_same(&shown, &printed) {
        return Ok(());
    }
    match shown.contains(&"...") {
        true => Err(Fault::Failed(format!("printed this instead:\n{}", printed.join("\n")))),
        false => Err(Fault::Shows(printed.into_iter().map(String::from).collect())),
    }
}

/// Every picture of `docs/images` on a page is written by a command of that page, and is what that command draws.
fn pictures(page: &Page, folder: &Folder, also_long: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (line, is_picture, address) in page.links() {
        let (true, Some((_, name))) = (is_picture, address.split_once("images/")) else { continue };
        let draws = |block: &&Block| {
            let steps = page.steps(block);
            is_command(block) && steps.iter().any(|step| step.command.contains(&format!("-o {name}")))
        };
        let blocks = page.blocks();
        let Some(block) = blocks.iter().find(draws) else {
            wrong.push(format!("{}: no command of this page writes {name}", page.place(line)));
            continue;
        };
        if !is_run(block, also_long) {
            continue;
        }
        let stored = root().join("docs/images").join(name);
        let Ok(drawn) = std::fs::read_to_string(folder.path(name)) else {
            wrong.push(format!("{}: {name} was not drawn", page.place(line)));
            continue;
        };
        let kept = std::fs::read_to_string(&stored).unwrap_or_default();
        let is_same = same::is_same(&kept.lines().collect::<Vec<_>>(), &drawn.lines().collect::<Vec<_>>());
        match (is_same, updates()) {
            (true, _) => {}
            (false, true) => std::fs::write(&stored, drawn).unwrap(),
            (false, false) => wrong.push(format!("{}: {name} is not what its command draws", page.place(line))),
        }
    }
    wrong
}

#[test]
fn every_block_says_what_it_is() {
    for page in pages() {
        for block in page.blocks() {
            let place = page.place(block.lines.start - 1);
            let marks = |mark: &String| ["long", "elsewhere"].contains(&mark.as_str()) || mark.starts_with("exit=");
            match block.language.as_str() {
                "console" | "sh" => assert!(block.marks.iter().all(marks), "{place}: {:?}", block.marks),
                "rust" => assert_eq!(page.name, "README.md", "{place}: only the README's Rust is compiled"),
                "text" | "python" | "" => {
                    let lines = &page.lines[block.lines.clone()];
                    let command = lines.iter().find(|line| line.trim_start_matches("$ ").starts_with("pointillist "));
                    assert_eq!(command, None, "{place}: a command in a block that is not run");
                }
                other => panic!("{place}: nothing is done with blocks of kind {other:?}"),
            }
        }
        for (line, text) in page.prose() {
            let is_indented = text.starts_with("    ") && !text.trim_start().starts_with(['-', '|']);
            let is_command =
                ["pointillist ", "$ ", "cargo ", "./"].iter().any(|word| text.trim_start().starts_with(word));
            assert!(!(is_indented && is_command), "{}: put commands into a fenced block", page.place(line));
        }
    }
}

/// The pages that the commands of these tests stand on, and those for people who change the code.
fn all_pages() -> Vec<Page> {
    let others = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "NOTATION.md",
        "experiments/results/README.md",
        "experiments/rivals/README.md",
        "experiments/scale/README.md",
    ];
    pages().into_iter().chain(others.map(Page::read)).collect()
}

#[test]
fn what_is_not_run_names_what_exists() {
    let mut wrong = Vec::new();
    for page in pages().into_iter().chain([Page::read("CONTRIBUTING.md")]) {
        let skipped = |block: &&Block| is_command(block) && !is_run(block, false);
        for block in page.blocks().iter().filter(skipped) {
            for step in page.steps(block) {
                let fault = outside::check_script(&step.command).err();
                wrong.extend(fault.map(|what| format!("{}: {what}", page.place(step.line))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Code between backticks that begins with `pointillist` is a command, too: it must be one that could be typed, or the name of a verb.
#[test]
fn commands_within_sentences_are_commands() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (line, text) in page.prose() {
            let code = text.split('`').skip(1).step_by(2);
            for command in code.filter(|code| code.starts_with("pointillist ") && !code.contains('…')) {
                let is_verb = |word: &str| hostile::command().find_subcommand(word).is_some();
                if command.strip_prefix("pointillist ").is_some_and(is_verb) {
                    continue;
                }
                let fault = outside::check_script(command).err();
                wrong.extend(fault.map(|what| format!("{}: {what}", page.place(line))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in all_pages() {
        let folder = page.path.parent().unwrap();
        for (line, _, address) in page.links() {
            if address.contains("://") {
                continue;
            }
            let (file, heading) = address.split_once('#').unwrap_or((address, ""));
            let target = if file.is_empty() { page.path.clone() } else { folder.join(file) };
            let headings = || anchors(&std::fs::read_to_string(&target).unwrap_or_default());
            if !target.exists() || !heading.is_empty() && !headings().iter().any(|anchor| anchor == heading) {
                wrong.push(format!("{}: {address}", page.place(line)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sources that a page names between backticks, such as `kernel/mod.rs`, are the ends of paths of this repository.
#[test]
fn sources_that_are_named_exist() {
    let files = files_under(&root());
    let mut wrong = Vec::new();
    for page in all_pages() {
        for (line, text) in page.prose() {
            let words = text.split('`').skip(1).step_by(2).flat_map(|code| code.split([' ', ',']));
            let is_source = |word: &&str| [".rs", ".py", ".R", ".toml", ".yml"].iter().any(|end| word.ends_with(end));
            for word in words.filter(is_source).filter(|word| !word.contains("NAME")) {
                let end = format!("/{}", word.trim_start_matches("./"));
                if !files.iter().any(|file| file.ends_with(&end)) {
                    wrong.push(format!("{}: there is no {word}", page.place(line)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files of the repository, with `/` before each, without what is built.
fn files_under(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git"].contains(&name.as_str()) {
                files.extend(files_under(&entry.path()).into_iter().map(|file| format!("/{name}{file}")));
            }
        } else {
            files.push(format!("/{name}"));
        }
    }
    files
}

/// What the headings of a page are called in links.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let kept = |character: &char| character.is_alphanumeric() || [' ', '-', '_'].contains(character);
    titles.map(|title| title.chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn the_reference_is_what_help_prints() {
    let path = root().join(REFERENCE);
    let text = reference();
    if updates() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let line = kept.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(
        kept == text,
        "{REFERENCE} is not what --help prints, from line {:?} on: UPDATE_DOCS=1 cargo test --release --test documents",
        line.map(|line| line + 1)
    );
}

/// The page with the help of every verb.
fn reference() -> String {
    let mut text = "# Reference\n\n\
        Every page of `--help`, as the command prints it. This page is written by a command, and a test fails when it is out of date:\n\n\
        ```sh elsewhere\n\
        UPDATE_DOCS=1 cargo test --workspace --release --test documents\n\
        ```\n\n"
        .to_string();
    let command = hostile::command();
    let verbs: Vec<&clap::Command> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    let links = verbs.iter().map(|verb| format!("[{0}](#pointillist-{0})", verb.get_name()));
    text += &format!("{}\n", links.collect::<Vec<_>>().join(" · "));
    let folder = Folder::new();
    for verb in std::iter::once("").chain(verbs.iter().map(|verb| verb.get_name())) {
        let help = folder.run(&format!("{verb} --help")).good().out;
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let line = format!("pointillist {verb}");
        text +=
            &format!("\n## {0}\n\n```console\n$ {0} --help\n{1}\n```\n", line.trim_end(), help.join("\n").trim_end());
    }
    text
}

/// The lines that a workflow runs.
fn workflow_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut block: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if block.is_some_and(|start| !line.trim().is_empty() && indent <= start) {
            block = None;
        }
        match (block, line.trim_start().trim_start_matches("- ").strip_prefix("run:").map(str::trim)) {
            (Some(_), _) => lines.push(line.trim().to_string()),
            (None, Some("|")) => block = Some(indent),
            (None, Some(command)) => lines.push(command.to_string()),
            (None, None) => {}
        }
    }
    lines
}

#[test]
fn the_release_workflow_runs_what_exists() {
    let text = std::fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let lines = workflow_lines(&text);
    // Variables are one word to a shell, whatever stands between their brackets.
    let script = lines.join("\n").replace("${{ ", "${{").replace(" }}", "}}");
    outside::check_script(&script).unwrap();
    for needed in [
        "cargo test --workspace",
        "cargo build --workspace",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "NOTICE",
        "completions",
        "man -o",
    ] {
        assert!(script.contains(needed), "the workflow has no {needed:?}:\n{script}");
    }
    let oldest = format!("cargo +{} check", env!("CARGO_PKG_RUST_VERSION"));
    assert!(script.contains(&oldest), "the workflow does not try {oldest:?}");
    assert!(
        Page::read("README.md").lines.join("\n").contains(&format!("Rust {} or later", env!("CARGO_PKG_RUST_VERSION")))
    );
    for machine in ["ubuntu", "macos", "windows"] {
        assert!(text.contains(&format!("os: {machine}-")), "the workflow has no {machine}");
    }
}
