//! Trials in: a table that says when each trial was looked at, and the check that every event lies in its own.

use super::input_error::InputError;
use super::message::{Message, Setting};
use super::table::{ReadOptions, Table, read_bytes, read_header};
use super::window::{onto_axis, place as show, time_axis};
use crate::message;
use pointillist::Axis;
use std::collections::HashMap;

/// The columns of a file of trials.
const COLUMNS: [&str; 3] = ["trial", "start", "end"];

/// When each trial was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// The name of the file, for messages.
    pub source: String,
    /// The trials, as they come in the file.
    trials: Vec<Trial>,
}

/// A trial, looked at in one stretch or several.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    name: String,
    stretches: Vec<Stretch>,
}

/// From where to where, and the line that says so.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    lo: f64,
    hi: f64,
    line: u64,
}

impl Trials {
    /// Reads a file of trials for events on `axis`, which with `dates_only` must hold dates as the events do.
    pub fn read(source: &str, bytes: &[u8], axis: &Axis, dates_only: bool) -> Result<Self, InputError> {
        let header = read_header(source, bytes, &Default::default())?;
        let is_there = |name: &&str| header.iter().any(|(found, _)| found.eq_ignore_ascii_case(name));
        if let Some(missing) = COLUMNS.iter().find(|name| !is_there(name)) {
            let found: Vec<&str> = header.iter().map(|(name, _)| name.as_str()).collect();
            let (found, columns) = (found.join(", "), COLUMNS.join(","));
            let said = message![
                "{source} has no column `{missing}`, only {found}; trials are a table with the header {columns}"
            ];
            return Err(said.into());
        }
        let [label, start, end] = COLUMNS.map(String::from);
        let time_unit = time_axis(axis).map(|time| time.unit).unwrap_or_default();
        let options =
            ReadOptions { columns: Some(vec![start, end]), label: Some(label), time_unit, ..Default::default() };
        let mut table = read_bytes(source, bytes, &options)?;
        for column in 0..2 {
            onto_axis(&mut table, column, axis, dates_only)?;
        }
        Ok(Self::of_table(table, axis)?)
    }

    fn of_table(table: Table, axis: &Axis) -> Result<Self, Message> {
        let mut trials = Self { source: table.source, trials: Vec::new() };
        let mut places = HashMap::new();
        for ((ends, name), line) in table.rows.chunks_exact(2).zip(table.labels).zip(table.lines) {
            let place = *places.entry(name.clone()).or_insert(trials.trials.len());
            if place == trials.trials.len() {
                trials.trials.push(Trial { name, stretches: Vec::new() });
            }
            trials.add(place, Stretch { lo: ends[0], hi: ends[1], line }, axis)?;
        }
        Ok(trials)
    }

    fn add(&mut self, place: usize, new: Stretch, axis: &Axis) -> Result<(), Message> {
        let (source, trial) = (&self.source, &mut self.trials[place]);
        let (name, line) = (&trial.name, new.line);
        if new.lo >= new.hi {
            let (lo, hi) = (show(axis, new.lo), show(axis, new.hi));
            return Err(message![
                "{source}, line {line}: trial `{name}` starts at {lo} and ends at {hi}; its end must come after its start"
            ]);
        }
        // A trial may be looked at in several stretches, but not twice at the same time.
        if let Some(other) = trial.stretches.iter().find(|old| old.lo < new.hi && new.lo < old.hi) {
            let first = other.line;
            return Err(message![
                "{source}, line {line}: trial `{name}` overlaps itself on line {first}; correct one of them"
            ]);
        }
        trial.stretches.push(new);
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// The stretches of all trials.
    pub fn intervals(&self) -> Vec<(f64, f64)> {
        self.trials.iter().flat_map(|trial| &trial.stretches).map(|stretch| (stretch.lo, stretch.hi)).collect()
    }

    /// The trial of each label, by its place in the file.
    pub fn places(&self, source: &str, labels: &[String], lines: &[u64]) -> Result<Vec<usize>, Message> {
        let places: HashMap<&str, usize> =
            self.trials.iter().enumerate().map(|(place, trial)| (trial.name.as_str(), place)).collect();
        let find = |(label, line): (&String, &u64)| {
            places.get(label.as_str()).copied().ok_or_else(|| {
                let file = &self.source;
                message![
                    "{source}, line {line}: trial `{label}` is not in {file}; add it there, or check ",
                    Setting::TrialColumn
                ]
            })
        };
        labels.iter().zip(lines).map(find).collect()
    }

    /// Whether the trial at `place` was looked at then.
    pub fn covers(&self, place: usize, at: f64) -> bool {
        self.trials[place].stretches.iter().any(|stretch| stretch.lo <= at && at <= stretch.hi)
    }

    /// A trial for a message: `trial a, 0 to 2`.
    pub fn show(&self, place: usize, axis: &Axis) -> String {
        let trial = &self.trials[place];
        let stretch = |s: &Stretch| format!("{} to {}", show(axis, s.lo), show(axis, s.hi));
        format!("trial {}, {}", trial.name, trial.stretches.iter().map(stretch).collect::<Vec<_>>().join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> Axis {
        Axis { name: "t".into(), ..Axis::default() }
    }

    fn refused(text: &str, words: &[&str]) {
        let sentence = Trials::read("trials.csv", text.as_bytes(), &axis(), false).unwrap_err().to_string();
        assert!(sentence.contains("trials.csv") && !sentence.contains('\n'), "{sentence}");
        assert!(words.iter().all(|word| sentence.contains(word)), "{words:?}: {sentence}");
    }

    #[test]
    fn trials_overlap_and_have_names() {
        let text = "end,trial,start\n2,a,0\n3,b,-1\n5,a,2\n";
        let trials = Trials::read("trials.csv", text.as_bytes(), &axis(), false).unwrap();
        assert_eq!(trials.intervals(), [(0.0, 2.0), (2.0, 5.0), (-1.0, 3.0)]);
        assert!(trials.covers(0, 5.0) && !trials.covers(1, 5.0) && trials.covers(1, -1.0));
        assert_eq!(trials.show(0, &axis()), "trial a, 0 to 2 and 2 to 5");
        let labels = ["b", "a"].map(String::from);
        assert_eq!(trials.places("e.csv", &labels, &[2, 3]), Ok(vec![1, 0]));
        let unknown = trials.places("e.csv", &["b".into(), "z".into()], &[2, 7]).unwrap_err().to_string();
        assert!(
            unknown.contains("e.csv, line 7") && unknown.contains("`z`") && unknown.contains("trials.csv"),
            "{unknown}"
        );
    }

    #[test]
    fn dates_are_counted_from_the_origin_of_the_events() {
        let dated = Axis { name: "t".into(), unit: Some("hours".into()), origin: Some(86_400.0), ..Axis::default() };
        let text = "trial,start,end\n1,1970-01-02,1970-01-03\n2,1970-01-02T12:00Z,1970-01-04\n";
        let trials = Trials::read("trials.csv", text.as_bytes(), &dated, true).unwrap();
        assert_eq!(trials.intervals(), [(0.0, 24.0), (12.0, 48.0)]);
        let error = Trials::read("trials.csv", b"trial,start,end\n1,0,24\n", &dated, true).unwrap_err().to_string();
        assert!(error.contains("dates"), "{error}");
        assert!(
            Trials::read("trials.csv", text.as_bytes(), &axis(), false)
                .unwrap_err()
                .to_string()
                .contains("holds numbers")
        );
    }

    #[test]
    fn faults_are_named_with_their_place() {
        refused("trial,from,to\n1,0,2\n", &["no column `start`", "trial, from, to", "trial,start,end"]);
        refused("trial,start,end\n1,0,2\n2,3,3\n", &["line 3", "trial `2`", "3"]);
        refused("trial,start,end\n1,0,2\n2,0,2\n1,1,3\n", &["line 4", "trial `1`", "line 2"]);
        refused("trial,start,end\n1,0,x\n2,0,2\n3,0,2\n", &["line 2", "`end`"]);
    }
}
