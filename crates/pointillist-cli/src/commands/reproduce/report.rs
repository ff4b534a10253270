//! What an experiment leaves: a section with tables, pictures and goals, as JSON (all numbers), CSV (each table) and a page.

use crate::commands::Failure;
use crate::io::{self, number};
use serde::{Deserialize, Serialize};

/// One experiment's part of the page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What was done, in paragraphs.
    pub text: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The pictures.
    pub pictures: Vec<Picture>,
    /// What was to be reached, and whether it was.
    pub goals: Vec<Goal>,
}

/// A table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    /// Its file is called so, after the part.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// What stands in a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A mean and its standard error.
    Estimate {
        /// The mean.
        #[serde(deserialize_with = "finite_or_nan")]
        mean: f64,
        /// Its standard error.
        #[serde(deserialize_with = "finite_or_nan")]
        se: f64,
    },
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
    /// Nothing: the method has no such number.
    Missing(()),
}

/// A picture in a file of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Picture {
    /// The file, in the folder of the page.
    pub file: String,
    /// What it shows.
    pub caption: String,
    /// The SVG; not repeated in the JSON.
    #[serde(skip)]
    pub svg: String,
}

/// A figure that the project set itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Goal {
    /// What is measured, and what it should be.
    pub what: String,
    /// What it is.
    pub measured: String,
    /// Whether that is as it should be.
    pub reached: bool,
}

/// A section with what is needed to repeat it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// The experiment.
    pub part: String,
    /// Of the program.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// Whether it is the small variant, whose numbers mean nothing.
    pub quick: bool,
    /// What it ran on.
    pub machine: String,
    /// How long it took.
    pub seconds: f64,
    /// What came out.
    pub section: Section,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        if value.is_finite() { Cell::Number(value) } else { Cell::Missing(()) }
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Cell::Number(value as f64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Missing(()), Cell::from)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

/// JSON has no infinite numbers: they are written as null.
fn finite_or_nan<'de, D: serde::Deserializer<'de>>(number: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(number)?.unwrap_or(f64::NAN))
}

impl Cell {
    /// The mean of values, with its standard error; nothing if one is missing.
    pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let values: Option<Vec<f64>> = values.into_iter().collect();
        values.filter(|values| !values.is_empty()).map_or(Cell::Missing(()), |values| {
            let (mean, se) = mean_and_error(&values);
            Cell::Estimate { mean, se }
        })
    }

    /// The number of a cell that has one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Cell::Estimate { mean: value, .. } | Cell::Number(value) => Some(*value),
            Cell::Text(_) | Cell::Missing(()) => None,
        }
    }

    fn shown(&self) -> String {
        match self {
            Cell::Estimate { mean, .. } if !mean.is_finite() => "not finite".into(),
            Cell::Estimate { mean, se } => format!("{} ± {}", short(*mean), short(*se)),
            Cell::Number(value) => short(*value),
            Cell::Text(text) => text.clone(),
            Cell::Missing(()) => "–".into(),
        }
    }
}

/// The mean of values and its standard error.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    pointillist_rivals::compare::paired(values, &vec![0.0; values.len()])
}

/// A number for readers: three digits or so.
pub fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 || size >= 1000.0 || (value.fract() == 0.0 && size < 1000.0) => format!("{value:.0}"),
        _ if size >= 100.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

impl Table {
    /// As CSV, an estimate in two columns.
    pub fn csv(&self) -> String {
        let doubled: Vec<bool> = (0..self.columns.len())
            .map(|c| self.rows.iter().any(|row| matches!(row.get(c), Some(Cell::Estimate { .. }))))
            .collect();
        let mut text = String::new();
        let heads = self.columns.iter().zip(&doubled);
        text += &line(heads.flat_map(|(name, double)| {
            [Some(quoted(name)), double.then(|| quoted(&format!("{name} se")))].into_iter().flatten()
        }));
        for row in &self.rows {
            text += &line(row.iter().zip(&doubled).flat_map(|(cell, double)| {
                let (first, second) = match cell {
                    Cell::Estimate { mean, se } => (number(*mean), number(*se)),
                    Cell::Number(value) => (number(*value), String::new()),
                    Cell::Text(text) => (quoted(text), String::new()),
                    Cell::Missing(()) => (String::new(), String::new()),
                };
                [Some(first), double.then_some(second)].into_iter().flatten()
            }));
        }
        text
    }

    fn markdown(&self) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = row(self.columns.clone());
        text +=
            &row(self.columns.iter().enumerate().map(|(c, _)| if c == 0 { "---" } else { "---:" }.into()).collect());
        text.extend(self.rows.iter().map(|cells| row(cells.iter().map(Cell::shown).collect())));
        format!("{}\n\n{text}", self.caption)
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

impl Record {
    /// The files of the record: its JSON, tables and pictures.
    pub fn files(&self) -> Result<Vec<(String, String)>, String> {
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let mut files = vec![(format!("{}.json", self.part), json + "\n")];
        files.extend(self.section.tables.iter().map(|t| (format!("{}-{}.csv", self.part, t.name), t.csv())));
        files.extend(self.section.pictures.iter().map(|picture| (picture.file.clone(), picture.svg.clone())));
        Ok(files)
    }

    fn markdown(&self) -> String {
        let Section { title, text, tables, pictures, goals } = &self.section;
        let mut page = format!("## {title}\n\n");
        page.extend(text.iter().map(|paragraph| format!("{paragraph}\n\n")));
        if !goals.is_empty() {
            page += "| to be reached | measured | |\n|---|---|---|\n";
            for Goal { what, measured, reached } in goals {
                page += &format!("| {what} | {measured} | {} |\n", if *reached { "yes" } else { "**no**" });
            }
            page += "\n";
        }
        page.extend(tables.iter().map(|table| format!("{}\n", table.markdown())));
        page.extend(pictures.iter().map(|p| format!("![{}]({})\n\n{}\n\n", p.caption, p.file, p.caption)));
        let Record { part, version, seed, machine, seconds, quick, .. } = self;
        let option = if *quick { " --quick" } else { "" };
        page + &format!(
            "<sub>`pointillist reproduce {part}{option} --seed {seed}`, version {version}, {seconds:.0} s on {machine}.</sub>\n"
        )
    }
}

/// The page of all records.
pub fn page(records: &[Record]) -> String {
    let mut text = String::from(
        "# The experiments of the paper, repeated\n\n\
        *Variational Inference for Gaussian Process Modulated Poisson Processes* (Lloyd, Gunter, Osborne and Roberts, ICML 2015): its tables and \
        figures, and the three standard intensities of Adams, Murray and MacKay (2009). Written by `pointillist reproduce`; the numbers of each \
        table are in the CSV file of its name, all of them with seed and machine in the JSON files.\n\n\
        Scores are of held-out events, higher is better. `LL` is their log-likelihood at the mean rate, for all methods alike. Where a method has a \
        posterior, `M_p` is the logarithm of their expected likelihood (sampled) and `L_p` the expectation of their log-likelihood; `M_0` and `L_0` \
        are the same with q(u) collapsed to its mean, as in the paper. ± is one standard error. *Default* is `pointillist fit` without options: an average over lattices. VBPP is the paper's model in this library, by maximum likelihood (ML) or \
        averaged over its hyper-parameters, with the constant in q and penalised-complexity priors; KS is kernel smoothing with (+EC) and without (−EC) end correction; SGCP the sampler.\n\n",
    );
    if records.iter().any(|record| record.quick) {
        text +=
            "**Some of this is the quick variant: it shows that everything runs, and its numbers mean nothing.**\n\n";
    }
    text + &records.iter().map(Record::markdown).collect::<Vec<_>>().join("\n")
}

/// What the program runs on, in a few words.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split(':').nth(1)?.trim().to_string())
    });
    let cpu = cpu.unwrap_or_else(|| std::env::consts::ARCH.into());
    format!("{cpu}, {cores} cores, {}", std::env::consts::OS)
}

/// The record in a file, if there is one.
pub fn read(path: &std::path::Path) -> Result<Option<Record>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = io::read_file(&path.to_string_lossy())?;
    let damaged = |error| format!("{} is damaged ({error}); remove it, or run its part again", path.display());
    Ok(Some(serde_json::from_slice(&bytes).map_err(damaged)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let cells = vec!["a, b".into(), Cell::mean([Some(1.0), Some(3.0)]), Cell::Missing(()), 0.25.into()];
        let infinite = Cell::mean([Some(f64::NEG_INFINITY)]);
        let others = vec!["c".into(), infinite, Cell::Missing(()), Cell::Missing(())];
        let table = Table {
            name: "scores".into(),
            caption: "Scores.".into(),
            columns: ["method", "LL", "M_p", "s"].map(String::from).to_vec(),
            rows: vec![cells, others],
        };
        let goal = Goal { what: "one".into(), measured: "two".into(), reached: false };
        let section = Section {
            title: "Coal".into(),
            text: vec!["Some text.".into()],
            tables: vec![table],
            pictures: vec![Picture { file: "a.svg".into(), caption: "A.".into(), svg: "<svg/>".into() }],
            goals: vec![goal],
        };
        let part = "coal".to_string();
        Record { part, version: "1".into(), seed: 7, quick: false, machine: "m".into(), seconds: 1.0, section }
    }

    #[test]
    fn a_table_is_csv_and_markdown() {
        let table = &record().section.tables[0];
        assert_eq!(table.csv(), "method,LL,LL se,M_p,s\n\"a, b\",2,1,,0.25\nc,-inf,NaN,,\n");
        assert!(table.markdown().contains("| a, b | 2 ± 1 | – | 0.250 |"), "{}", table.markdown());
    }

    #[test]
    fn a_record_comes_back_from_its_file() {
        let files = record().files().unwrap();
        let names: Vec<&str> = files.iter().map(|file| file.0.as_str()).collect();
        assert_eq!(names, ["coal.json", "coal-scores.csv", "a.svg"]);
        let back: Record = serde_json::from_str(&files[0].1).unwrap();
        assert_eq!(back.section.tables[0].rows[0], record().section.tables[0].rows[0]);
        let page = page(&[back]);
        assert!(page.contains("| not finite |"), "{page}");
        assert!(
            page.contains("--seed 7") && page.contains("| one | two | **no** |") && !page.contains("quick variant")
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 12.0, 1234.5, 123.45, 1.234, 0.1234, 0.001234, -2.5].map(short);
        assert_eq!(shown, ["0", "12", "1234", "123.5", "1.23", "0.123", "1.23e-3", "-2.50"]);
    }
}
