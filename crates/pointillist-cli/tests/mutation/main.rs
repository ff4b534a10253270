//! The mutation run: valid inputs and arguments, changed, to every reader and to every option of every verb.
//!
//! Whatever comes in, the command answers or refuses with a sentence. It does not panic, abort, hang, take all memory, leave temporary
//! files or give numbers that are none. Two parts: readings in this process, for their number, and runs of the real binary under limits.
//! The verbs and options are those that clap knows, so new ones are taken up by themselves; values that fit them are in `corpus.rs`.
//!
//! A short run is part of the tests; `./fuzz` is the long one. A seed gives the same cases on every machine.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod mutate;
mod process;

use corpus::{Files, Theme};
use mutate::{NUMBERS, Random, TEXTS};
use pointillist_cli::hostile;
use process::End;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What was asked for took its time: these options say how much work to do. One Ctrl-C must end it, and it is counted.
const AMOUNTS: &[&str] = &[
    "draws",
    "splits",
    "max-sweeps",
    "warm-up",
    "effective",
    "r-hat",
    "chains",
    "max-evaluations",
    "grid",
    "nodes",
    "inducing",
    "cells",
    "methods",
    "intensity",
    "sgcp",
    "tolerance",
    "optimise-inducing",
    "method",
];
/// Seconds of the processor after which a run hangs, …
const LONGEST: f64 = 10.0;
/// … and after which one that was asked for much gets its Ctrl-C.
const PATIENCE: f64 = 3.0;
/// A reading in this process may take as long as a run.
const LONGEST_READING: Duration = Duration::from_secs(LONGEST as u64);

/// What went wrong, and with what.
struct Fault {
    /// The kind, for the count.
    kind: &'static str,
    /// What tells it from others: the place of a panic, or the verb.
    what: String,
    /// What to do to see it again.
    case: String,
}

/// All that was found.
#[derive(Default)]
struct Findings {
    faults: Mutex<Vec<Fault>>,
    readings: AtomicU64,
    runs: AtomicU64,
    refused: AtomicU64,
    /// Runs that were asked for much.
    long: AtomicU64,
    largest: AtomicU64,
}

const KINDS: [&str; 7] = ["panic", "abort", "hang", "memory", "not finite", "file left", "odd exit"];

impl Findings {
    fn note(&self, kind: &'static str, what: String, case: String) {
        self.faults.lock().unwrap().push(Fault { kind, what, case });
    }

    /// The last line, and before it every sort of fault with one example.
    fn report(&self) -> String {
        let faults = self.faults.lock().unwrap();
        let mut sorts: BTreeMap<(&str, &str), (usize, &str)> = BTreeMap::new();
        for fault in faults.iter() {
            let sort = sorts.entry((fault.kind, &fault.what)).or_insert((0, &fault.case));
            sort.0 += 1;
            if fault.case.len() < sort.1.len() {
                sort.1 = &fault.case;
            }
        }
        let mut text = String::new();
        for ((kind, what), (count, case)) in &sorts {
            text += &format!("{kind} ({count} times): {what}\n    {case}\n");
        }
        let counts = KINDS.map(|kind| format!("{} {kind}", faults.iter().filter(|fault| fault.kind == kind).count()));
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        text + &format!(
            "mutation run: {} readings and {} runs ({} refused, {} asked for much work and ended by one Ctrl-C, \
             {} MB at most): {}",
            of(&self.readings),
            of(&self.runs),
            of(&self.refused),
            of(&self.long),
            of(&self.largest) / 1_000_000,
            counts.join(", ")
        )
    }
}

/// A folder with the files in it, and another for streams.
struct Place {
    folder: tempfile::TempDir,
    streams: tempfile::TempDir,
}

impl Place {
    fn new(files: &Files) -> Self {
        let place = Self { folder: folder_in_memory(), streams: folder_in_memory() };
        place.restore(files);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// As it was at first.
    fn restore(&self, files: &Files) {
        for entry in std::fs::read_dir(self.folder.path()).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap();
            } else if !files.contains_key(&*entry.file_name().to_string_lossy()) {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        for (name, bytes) in files {
            if std::fs::read(self.path(name)).ok().as_ref() != Some(bytes) {
                std::fs::write(self.path(name), bytes).unwrap();
            }
        }
    }
}

/// Results are brought to the disk before they get their names, which takes its time a hundred thousand times; in memory it does not.
fn folder_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Keeps a failing case for later: the files that were changed, and the line.
fn keep(place: &Place, files: &Files, number: u64, line: &[String]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutation/{number}"));
    let _ = std::fs::create_dir_all(&folder);
    let mut changed = Vec::new();
    for (name, bytes) in files {
        let found = std::fs::read(place.path(name)).unwrap_or_default();
        let _ = std::fs::write(folder.join(name), &found);
        if found != *bytes {
            changed.push(name.as_str());
        }
    }
    let line: Vec<String> = line.iter().map(|word| format!("{word:?}")).collect();
    let changed = if changed.is_empty() { String::new() } else { format!(", with {} changed", changed.join(" ")) };
    format!("in {}{changed}: pointillist {}", folder.display(), line.join(" "))
}

/// How a line is drawn: about what, and whether all its values are such as fit.
#[derive(Clone, Copy)]
struct Tone {
    theme: Theme,
    is_calm: bool,
}

impl Tone {
    fn draw(random: &mut Random) -> Self {
        let theme = [Theme::Line, Theme::Line, Theme::Plane, Theme::Dates, Theme::Any][random.below(5)];
        Self { theme, is_calm: random.chance(40) }
    }
}

/// A value for an option: one that fits, one that fits no more, or one that never did.
fn value(random: &mut Random, argument: &clap::Arg, tone: Tone) -> String {
    let name = argument.get_long().unwrap_or(argument.get_id().as_str());
    let closed: Vec<String> = argument.get_possible_values().iter().map(|value| value.get_name().to_string()).collect();
    if !closed.is_empty() && (tone.is_calm || random.chance(80)) {
        return closed[random.below(closed.len())].clone();
    }
    let fitting = corpus::for_option(name, tone.theme);
    match random.below(10) {
        _ if tone.is_calm => random.of(fitting).to_string(),
        0..=4 => random.of(fitting).to_string(),
        5..=6 => {
            let valid = random.of(fitting);
            let changed = mutate::bytes(random, valid.as_bytes());
            String::from_utf8_lossy(&changed).replace('\0', "")
        }
        7..=8 => random.of(NUMBERS).to_string(),
        _ => random.of(TEXTS).replace('\0', ""),
    }
}

/// The arguments of a verb, without those that only ask for help.
fn arguments(verb: &clap::Command) -> Vec<&clap::Arg> {
    let is_taken = |argument: &&clap::Arg| !matches!(argument.get_id().as_str(), "help" | "version");
    verb.get_arguments().filter(is_taken).collect()
}

/// A line for a verb: what it cannot do without, and some of its options.
fn line(random: &mut Random, verb: &clap::Command, tone: Tone, most_options: usize) -> Vec<String> {
    let mut line = vec![verb.get_name().to_string()];
    let arguments = arguments(verb);
    for argument in arguments.iter().filter(|argument| argument.is_positional()) {
        if argument.is_required_set() || random.chance(50) {
            let closed = argument.get_possible_values();
            line.push(match closed.is_empty() {
                false => closed[random.below(closed.len())].get_name().to_string(),
                true if tone.is_calm || random.chance(95) => {
                    random.of(corpus::for_argument(argument.get_id().as_str(), tone.theme)).to_string()
                }
                true => value(random, argument, tone),
            });
        }
    }
    let options: Vec<&&clap::Arg> = arguments.iter().filter(|argument| !argument.is_positional()).collect();
    let mut chosen: Vec<&clap::Arg> =
        options.iter().filter(|option| option.is_required_set()).map(|option| **option).collect();
    if random.chance(60)
        && let Some(window) = options.iter().find(|option| option.get_long() == Some("window"))
    {
        chosen.push(window);
    }
    for _ in 0..random.below(most_options + 1) {
        chosen.push(options[random.below(options.len())]);
    }
    for option in chosen {
        let name = format!("--{}", option.get_long().unwrap_or(option.get_id().as_str()));
        if !option.get_action().takes_values() {
            line.push(name);
        } else if random.chance(50) {
            line.push(format!("{name}={}", value(random, option, tone)));
        } else {
            line.extend([name, value(random, option, tone)]);
        }
    }
    line
}

/// Every option that takes a value, with every number: one after the other in an order of its own, in lines that are in order otherwise.
fn pointed_line(random: &mut Random, verbs: &[&clap::Command], number: u64) -> Vec<String> {
    let takes_value = |argument: &&clap::Arg| !argument.is_positional() && argument.get_action().takes_values();
    let options: Vec<(&clap::Command, &clap::Arg)> = verbs
        .iter()
        .flat_map(|verb| arguments(verb).into_iter().filter(takes_value).map(move |option| (*verb, option)))
        .filter(|(verb, option)| verb.get_name() != "reproduce" || option.is_global_set())
        .collect();
    // A prime, so that all of them come in turn.
    let place = (number * 7919) as usize % (options.len() * NUMBERS.len());
    let ((verb, option), value) = (options[place / NUMBERS.len()], NUMBERS[place % NUMBERS.len()]);
    let tone = Tone { theme: [Theme::Line, Theme::Plane, Theme::Dates][random.below(3)], is_calm: true };
    let mut line = line(random, verb, tone, 0);
    let name = option.get_long().unwrap_or(option.get_id().as_str());
    let start = format!("--{name}");
    // Where a value should name what it is of, it does.
    let value = match name {
        "fix" => format!("{}={value}", random.of(&["lengthscale", "variance", "mean"])),
        "window" | "in" => {
            [format!("0,{value}"), format!("{value},10"), format!("-{value},{value}")][random.below(3)].clone()
        }
        "kernel" => format!(
            "{}={value}{})",
            random.of(&["se(t, lengthscale", "periodic(t, period", "cosine(t, period"]),
            random.of(&["", "!"])
        ),
        "intensity" => [value.to_string(), format!("exp({value}*t)"), format!("t/{value}")][random.below(3)].clone(),
        "sgcp" => format!("ceiling=2, lengthscale=1, {}={value}", random.of(&["variance", "mean"])),
        _ => value.to_string(),
    };
    if let Some(at) = line.iter().position(|word| *word == start) {
        line.drain(at..at + 2);
    }
    line.retain(|word| !word.starts_with(&format!("{start}=")));
    line.push(format!("{start}={value}"));
    line
}

/// Whether a line asks for much work: one of [`AMOUNTS`] with a large number, or a very small one, or without any, or a verb that takes its time.
fn asks_for_much(line: &[String]) -> bool {
    let is_large = |text: &str| text.parse::<f64>().is_ok_and(|x| x.abs() >= 1000.0 || x != 0.0 && x.abs() < 1e-3);
    let asks = |i: usize| {
        let (name, value) = line[i].split_once('=').unwrap_or((&line[i], line.get(i + 1).map_or("", String::as_str)));
        let mut numbers = value.split(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
        name.strip_prefix("--").is_some_and(|name| AMOUNTS.contains(&name))
            && (!value.contains(|c: char| c.is_ascii_digit()) || numbers.any(|text| text.split('x').any(is_large)))
    };
    ["reproduce", "calibrate", "sgcp"].contains(&line[0].as_str()) || (1..line.len()).any(asks)
}

/// So little work that a run is short, unless an option said otherwise.
fn keep_short(line: &mut Vec<String>) {
    let little: &[(&str, &str)] = match line[0].as_str() {
        "sgcp" => &[("--warm-up", "10"), ("--max-sweeps", "10"), ("--chains", "2")],
        "score" | "count" | "contrast" | "check" | "compare" => &[("--draws", "100")],
        "calibrate" => &[("--sets", "20"), ("--events", "5"), ("--link", "square")],
        "reproduce" => &[("--quick", "")],
        _ => &[],
    };
    for (option, value) in little {
        if !line.iter().any(|word| word.starts_with(option)) {
            line.push(option.to_string());
            line.extend((!value.is_empty()).then(|| value.to_string()));
        }
    }
}

thread_local! {
    /// Where this thread panicked last.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What is read in this process.
enum Reading {
    Model(Vec<u8>),
    Summary(Vec<u8>),
    Checkpoint(Vec<u8>),
    Expression(String),
    Line(Vec<String>),
}

impl Reading {
    /// Draws one; what it reads is then in the folder too.
    fn draw(random: &mut Random, place: &Place, files: &Files, command: &clap::Command) -> Self {
        let file = |names: &[&str], random: &mut Random| {
            let name = random.of(names);
            let bytes = mutate::file(random, name, &files[name]);
            std::fs::write(place.path(name), &bytes).unwrap();
            bytes
        };
        match random.below(10) {
            0..=1 => Self::Model(file(&["line.json", "lattice.json", "plane.json", "dates.json"], random)),
            2 => Self::Summary(file(&["p.summary", "t.summary"], random)),
            3 => Self::Checkpoint(file(&["c.sgcp"], random)),
            4..=5 => {
                let language =
                    random.of(&["kernel", "intensity", "sgcp", "prior", "fix", "where", "quantiles", "grid", "window"]);
                let valid = random.of(corpus::for_option(language, Theme::Any));
                Self::Expression(String::from_utf8_lossy(&mutate::bytes(random, valid.as_bytes())).into_owned())
            }
            _ => {
                let verb = random.of(&["fit", "fit", "fit", "summarize", "count", "predict"]);
                let tone = Tone::draw(random);
                let mut words = line(random, command.find_subcommand(verb).unwrap(), tone, 3);
                change_a_file(random, place, files, &words, 80);
                words.iter_mut().for_each(|word| *word = absolute(word, place, files));
                if verb == "summarize" {
                    words.extend(["-q".into(), "-o".into(), place.path("out.summary").display().to_string()]);
                }
                Self::Line(words)
            }
        }
    }

    fn describe(&self) -> Vec<String> {
        match self {
            Self::Model(_) => vec!["a model".into()],
            Self::Summary(_) => vec!["a summary".into()],
            Self::Checkpoint(_) => vec!["a checkpoint".into()],
            Self::Expression(text) => vec!["an expression".into(), text.clone()],
            Self::Line(words) => words.clone(),
        }
    }

    /// Reads it; whether it was refused.
    fn read(self) -> bool {
        match self {
            Self::Model(bytes) => hostile::model(&bytes).is_err(),
            Self::Summary(bytes) => hostile::summary(&bytes).is_err(),
            Self::Checkpoint(bytes) => hostile::checkpoint(&bytes).is_err(),
            Self::Expression(text) => {
                hostile::expression(&text);
                false
            }
            Self::Line(mut words) => {
                words.insert(0, "pointillist".into());
                hostile::read(&words).is_err()
            }
        }
    }
}

/// In so many of a hundred cases, changes one of the files that a line names.
fn change_a_file(random: &mut Random, place: &Place, files: &Files, words: &[String], percent: usize) {
    let used: Vec<&String> =
        files.keys().filter(|name| words.iter().any(|word| word.contains(name.as_str()))).collect();
    if !used.is_empty() && random.chance(percent) {
        let name = used[random.below(used.len())];
        std::fs::write(place.path(name), mutate::file(random, name, &files[name])).unwrap();
    }
}

/// A word that ends with the name of a file, with its folder: this process is at home in another.
fn absolute(word: &str, place: &Place, files: &Files) -> String {
    let named = files.keys().find_map(|name| word.strip_suffix(name.as_str()).map(|start| (start, name)));
    named.map_or(word.into(), |(start, name)| format!("{start}{}", place.path(name).display()))
}

/// Run `number`, of the real binary.
fn one_run(
    random: &mut Random,
    place: &Place,
    files: &Files,
    command: &clap::Command,
    findings: &Findings,
    number: u64,
) {
    let verbs: Vec<&clap::Command> = command.get_subcommands().filter(|verb| verb.get_name() != "help").collect();
    let mut words = if number.is_multiple_of(2) {
        pointed_line(random, &verbs, number / 2)
    } else {
        let verb = verbs[random.below(verbs.len())];
        let tone = Tone::draw(random);
        let words = line(random, verb, tone, 4);
        change_a_file(random, place, files, &words, 40);
        words
    };
    if words[0] == "reproduce" && !random.chance(5) {
        // It takes seconds, and reads nothing.
        words.push("--no-such-option".into());
    }
    let is_much = asks_for_much(&words);
    keep_short(&mut words);
    let before: BTreeMap<String, Option<Vec<u8>>> =
        place.names().into_iter().map(|name| (name.clone(), std::fs::read(place.path(&name)).ok())).collect();
    let case = || keep(place, files, number, &words);
    let seconds = if is_much { PATIENCE } else { LONGEST };
    let ran = process::run(place.folder.path(), place.streams.path(), &words, seconds);
    findings.largest.fetch_max(ran.memory, Ordering::Relaxed);
    let verb = words[0].clone();
    let said = ran.err.lines().last().unwrap_or_default().to_string();
    match ran.end {
        End::Code(101) => findings.note("panic", place_of_panic(&ran.err), case()),
        // What did not converge may have no R-hat yet.
        End::Code(1) => {}
        End::Code(0) => {
            let is_new =
                |name: &String| before.get(name).is_none_or(|old| *old != std::fs::read(place.path(name)).ok());
            let written: Vec<String> = place.names().into_iter().filter(is_new).collect();
            let results = written.iter().filter_map(|name| std::fs::read(place.path(name)).ok()).chain([ran.out]);
            let told: Vec<u8> =
                before.values().flatten().flatten().copied().chain(words.join(" ").into_bytes()).collect();
            for result in results {
                if let Some(word) = not_finite(&result)
                    && !words_of(&told).any(|known| known == word.as_bytes())
                {
                    findings.note("not finite", format!("{verb}: {word}"), case());
                    break;
                }
            }
        }
        End::Code(2) => {
            findings.refused.fetch_add(1, Ordering::Relaxed);
            if !ran.err.contains("error: ") {
                findings.note("odd exit", format!("{verb}: 2 without a sentence"), case());
            }
        }
        End::Code(code) => findings.note("odd exit", format!("{verb}: {code}, {said}"), case()),
        // A file larger than the limit was asked for.
        End::Signal(libc::SIGXFSZ) => drop(findings.long.fetch_add(1, Ordering::Relaxed)),
        End::Signal(signal) => findings.note("abort", format!("{verb}: signal {signal}, {said}"), case()),
        End::Long(ended) => {
            if ended && is_much {
                findings.long.fetch_add(1, Ordering::Relaxed);
            } else {
                let how = if ended { "" } else { ", and Ctrl-C did not end it" };
                findings.note("hang", format!("{verb}{how}"), case());
            }
        }
    }
    if ran.memory > process::memory_limit() {
        findings.note("memory", format!("{verb}: {} MB", ran.memory / 1_000_000), case());
    }
    if place.names().iter().any(|name| name.ends_with(".tmp")) && ran.end != End::Signal(libc::SIGXFSZ) {
        findings.note("file left", verb, case());
    }
}

/// What stands between "(at " and the bracket that closes.
fn place_of_panic(err: &str) -> String {
    let at = err.rsplit("(at ").next().and_then(|rest| rest.split(')').next());
    at.unwrap_or(err).to_string()
}

fn words_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').filter(|word| !word.is_empty())
}

/// A number that is none, as Rust writes it. Pictures in PNG are not looked at.
fn not_finite(result: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(result).ok()?;
    let is = |word: &[u8]| ["NaN", "inf"].into_iter().find(|none| none.as_bytes() == word);
    words_of(text.as_bytes()).find_map(is)
}

/// So many cases over the cores, each with a generator of its own.
fn over_cores(count: u64, files: &Files, work: impl Fn(u64, &Place) + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(4)) as u64;
    std::thread::scope(|scope| {
        for first in 0..cores {
            let work = &work;
            scope.spawn(move || {
                let place = Place::new(files);
                for number in (first..count).step_by(cores as usize) {
                    work(number, &place);
                    place.restore(files);
                }
            });
        }
    });
}

/// Ends everything if a reading takes too long, after saying which.
fn watchdog(now: &Mutex<BTreeMap<u64, (Instant, String)>>, is_over: &dyn Fn() -> bool) {
    while !is_over() {
        std::thread::sleep(Duration::from_millis(200));
        if let Some((number, (_, case))) =
            now.lock().unwrap().iter().find(|(_, (at, _))| at.elapsed() > LONGEST_READING)
        {
            println!("hang: reading {number} takes more than {LONGEST_READING:?}: {case}");
            std::process::abort();
        }
    }
}

/// Readings in this process.
fn read_all(seed: u64, count: u64, files: &Files, command: &clap::Command, findings: &Findings) {
    // A verb that reads standard input finds nothing there.
    let nothing = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: both numbers are open files, and nothing in this process reads the one that is replaced.
    unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), 0) };
    let default = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        PANIC.with_borrow_mut(|last| *last = place);
    }));
    let (now, over) = (Mutex::new(BTreeMap::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| watchdog(&now, &|| over.load(Ordering::Relaxed)));
        over_cores(count, files, |number, place| {
            let mut random = Random::new(seed, number);
            let reading = Reading::draw(&mut random, place, files, command);
            let case = reading.describe();
            now.lock().unwrap().insert(number, (Instant::now(), format!("{case:?}")));
            let result = panic::catch_unwind(AssertUnwindSafe(|| reading.read()));
            now.lock().unwrap().remove(&number);
            findings.readings.fetch_add(1, Ordering::Relaxed);
            match result {
                Ok(refused) => drop(findings.refused.fetch_add(refused.into(), Ordering::Relaxed)),
                Err(_) => findings.note("panic", PANIC.with_borrow(String::clone), keep(place, files, number, &case)),
            }
        });
        over.store(true, Ordering::Relaxed);
    });
    panic::set_hook(default);
}

/// Both parts; fails with a list if anything was found.
fn mutation_run(seed: u64, readings: u64, runs: u64) {
    let (files, command, findings) = (corpus::files(), built(), Findings::default());
    read_all(seed, readings, &files, &command, &findings);
    over_cores(runs, &files, |number, place| {
        let mut random = Random::new(!seed, number);
        one_run(&mut random, place, &files, &command, &findings, number);
        findings.runs.fetch_add(1, Ordering::Relaxed);
    });
    let report = findings.report();
    println!("{report}");
    assert!(findings.faults.lock().unwrap().is_empty(), "{report}");
}

/// The command with the options of all verbs handed down to each.
fn built() -> clap::Command {
    let mut command = hostile::command();
    command.build();
    command
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn faults_are_recognised() {
    assert_eq!(not_finite(b"t,mean\n1,inf\n"), Some("inf"));
    assert_eq!(not_finite(b"{\"mean\":NaN}"), Some("NaN"));
    assert_eq!(not_finite(b"info,nan_count\n1,2\n"), None);
    let said = "warning: x\nerror: a fault in pointillist 0.1.0 itself: no (at src/a.rs:1:2); please report this\n";
    assert_eq!(place_of_panic(said), "src/a.rs:1:2");
    let much = |line: &str| asks_for_much(&line.split(' ').map(String::from).collect::<Vec<_>>());
    assert!(much("score m t --draws 4294967296") && much("fit t --nodes=9x9000") && much("compare t --methods sgcp"));
    assert!(!much("score m t --draws 100 --seed 4294967296") && !much("fit t --window 0,1e300 --nodes=4x4"));
}

#[test]
fn a_short_mutation_run_finds_nothing() {
    mutation_run(1, 6_000, 150);
}

/// `./fuzz [SEED [READINGS [RUNS]]]`
#[test]
#[ignore = "takes many minutes: ./fuzz"]
fn a_long_mutation_run_finds_nothing() {
    mutation_run(setting("FUZZ_SEED", 1), setting("FUZZ_READINGS", 150_000), setting("FUZZ_RUNS", 20_000));
}
