//! Progress: one line on stderr that is written over and over, on a terminal only.
//!
//! A command has one such line. A thread of its own writes it ten times a second, so that it never stands still, whatever the work does meanwhile. What is done is
//! a part of the whole command, which has stages of different lengths ([`plan`]); it never falls. Whatever else is written takes the line away first ([`say`], [`hide`]).

use super::Context;
use pointillist::watch::PartWatch;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Commands that take longer than this say how they go, this often.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);
/// With less of the work done nobody knows how long it will take.
const TOO_EARLY: f64 = 0.005;
/// What is said before the first stage.
const READING: &str = "reading what is given";

/// There is one terminal.
static LINE: Mutex<Line> = Mutex::new(Line::new());

/// What the line says.
struct Line {
    /// Whether it is to be seen; nothing else happens while it is not.
    is_at_work: bool,
    is_drawn: bool,
    what: String,
    /// How long each stage is beside the others, and how many of them have begun.
    plan: Vec<f64>,
    begun: usize,
    /// The part of all stages that is done, and when the first of them began.
    done: f64,
    since: Option<Instant>,
}

impl Line {
    const fn new() -> Self {
        Self {
            is_at_work: false,
            is_drawn: false,
            what: String::new(),
            plan: Vec::new(),
            begun: 0,
            done: 0.0,
            since: None,
        }
    }

    /// Stages of these lengths are to come, and nothing of them is done.
    fn plan(&mut self, lengths: &[f64]) {
        (self.plan, self.begun, self.done, self.since) = (lengths.to_vec(), 0, 0.0, None);
    }

    /// The next stage. One more than was planned is all that is left.
    fn begin(&mut self, what: &str) {
        if self.begun == self.plan.len() {
            self.plan(&[1.0]);
        }
        self.begun += 1;
        self.since.get_or_insert_with(Instant::now);
        self.show(what, 0.0);
    }

    /// So much of the stage is done. What was once done stays done.
    fn show(&mut self, what: &str, part: f64) {
        self.is_at_work = true;
        self.what.clear();
        self.what.push_str(what);
        let (before, own) = self.plan.split_at(self.begun.saturating_sub(1));
        let length = |stages: &[f64]| stages.iter().sum::<f64>();
        let done = (length(before) + own.first().unwrap_or(&0.0) * part.clamp(0.0, 1.0)) / length(&self.plan);
        self.done = done.max(self.done);
    }

    /// The line, so long after its command began, and after the first stage did.
    fn text(&self, so_far: Duration, at_work: Duration) -> String {
        let seconds = so_far.as_secs_f64();
        if self.begun == 0 {
            return format!("{}, {seconds:.1} s", self.what);
        }
        let left = match self.done {
            done if done < TOO_EARLY => String::new(),
            done => format!(", about {:.0} s left", at_work.as_secs_f64() * (1.0 - done) / done),
        };
        // 100 % is what is over.
        let percent = (100.0 * self.done).floor().min(99.0);
        format!("{}: {percent:.0} %{left}, {seconds:.1} s", self.what)
    }

    fn draw(&mut self, so_far: Duration) {
        let at_work = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        // A line that is broken in two cannot be written over.
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let text: String = self.text(so_far, at_work).chars().take(width.saturating_sub(1)).collect();
        // Nobody listening is no reason to stop.
        let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        self.is_drawn = true;
    }

    fn erase(&mut self) {
        if self.is_drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.is_drawn = false;
        }
    }
}

fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command begins. Its line is silent where nobody looks, or nobody wants to.
pub fn listen(context: &Context) {
    if context.quiet() || !std::io::stderr().is_terminal() {
        return;
    }
    line().show(READING, 0.0);
    let began = Instant::now();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(INTERVAL);
            let mut line = line();
            if line.is_at_work && began.elapsed() >= PATIENCE {
                line.draw(began.elapsed());
            }
        }
    });
}

/// Stages of these lengths, beside each other, are to come.
pub fn plan(lengths: &[f64]) {
    line().plan(lengths);
}

/// The next stage, which cannot say how far it is.
pub fn stage(what: &str) {
    line().begin(what);
}

/// How far a stage is that has begun. Who does not get hold of the line need not wait for it.
pub fn show(what: &str, part: f64) {
    if let Ok(mut line) = LINE.try_lock() {
        line.show(what, part);
    }
}

/// The next stage: work that says how far it is.
pub fn shown<T, E>(what: &str, work: impl FnOnce(&PartWatch<'_>) -> Result<T, E>) -> Result<T, E> {
    stage(what);
    let found = work(&|part| {
        show(what, part);
        ControlFlow::Continue(())
    });
    line().show(what, 1.0);
    found
}

/// One line of talk, in place of the line of progress, which comes back below it. Stderr may be closed or full: then nobody listens.
pub fn say(talk: &str) {
    let mut line = line();
    line.erase();
    let _ = writeln!(std::io::stderr(), "{talk}");
}

/// Takes the line away, until something new begins: the answer is written.
pub fn hide() {
    let mut line = line();
    line.erase();
    line.is_at_work = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(line: &Line) -> f64 {
        let text = line.text(Duration::from_secs(20), Duration::from_secs(10));
        let number = text.split(" %").next().and_then(|text| text.rsplit(' ').next()).unwrap();
        number.parse().unwrap_or_else(|_| panic!("{text}"))
    }

    #[test]
    fn stages_add_up_to_the_whole_and_never_go_back() {
        let mut line = Line::new();
        line.plan(&[1.0, 3.0]);
        line.begin("one");
        line.show("one", 0.5);
        assert_eq!(line.text(Duration::from_secs(20), Duration::from_secs(10)), "one: 12 %, about 70 s left, 20.0 s");
        let mut last = 0.0_f64;
        for (part, expected) in [(0.8, 20.0), (0.2, 20.0), (1.0, 25.0)] {
            line.show("one", part);
            assert_eq!(percent(&line), expected);
        }
        line.begin("two");
        for part in [0.0, 0.1, 0.05, 0.7, 0.6, 1.0] {
            line.show("two", part);
            assert!(percent(&line) >= last.max(25.0), "{part}");
            last = percent(&line);
        }
        // It is at its end when it is gone.
        assert_eq!((last, line.done), (99.0, 1.0));
    }

    #[test]
    fn what_was_not_planned_is_one_stage() {
        let mut line = Line::new();
        line.show(READING, 0.0);
        assert_eq!(line.text(Duration::from_secs(2), Duration::ZERO), "reading what is given, 2.0 s");
        line.begin("one");
        line.show("one", 0.5);
        assert_eq!(percent(&line), 50.0);
        line.begin("another");
        assert_eq!(line.text(Duration::from_secs(2), Duration::ZERO), "another: 0 %, 2.0 s");
    }
}
