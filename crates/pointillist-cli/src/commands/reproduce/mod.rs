//! `reproduce`: the paper's tables and figures, and more; one file an experiment, each a [`Section`] of the page.
//!
//! Every experiment has fixed seeds and two sizes. Sizes and settings stand at the head of its file.

mod adams;
mod families;
mod kept;
mod line;
mod link;
mod malaria;
mod report;
mod synthetic;
mod times;

use super::{Context, Failure, Outcome, input, meter};
use crate::args::{Cli, EventOptions, GeographyName, Part, ReproduceArgs, Verb};
use crate::io;
use clap::{Parser, ValueEnum};
use kept::Kept;
use pointillist::internals::parallel;
use pointillist::settings::Inducing;
use pointillist::{Events, InducingPoints, Model, Points, Window};
use pointillist_rivals::EdgeCorrection;
use pointillist_rivals::compare::{Contender, Performance, SAMPLES, paired};
use pointillist_rivals::sgcp;
use report::{Cell, Goal, Picture, Record, Section, Table};
use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A fit, in the parts in which it is told of.
const WHOLE: usize = 1000;
const PAGE: &str = "README.md";

/// Does what was asked for.
pub fn run(args: &ReproduceArgs, context: &Context) -> Result<Outcome, Failure> {
    let folder = &args.output;
    fs::create_dir_all(folder)
        .map_err(|error| format!("{}: {error}; give another folder with -o", folder.display()))?;
    let asked: Vec<Part> = match args.part {
        Part::All => Part::value_variants().iter().copied().filter(|part| *part != Part::All).collect(),
        part => vec![part],
    };
    meter::plan(&vec![1.0; asked.len()]);
    for part in asked {
        let started = Instant::now();
        let bench = Bench::new(args, context)?;
        meter::stage(&part.name());
        context.note(&format!("{}: {}", part.name(), part.what()));
        let section = section(part, &bench)?;
        let record = Record {
            part: part.name(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: context.seed(),
            quick: args.quick,
            machine: report::machine(),
            seconds: started.elapsed().as_secs_f64(),
            section,
        };
        for (name, text) in record.files()? {
            io::write_atomically(&folder.join(name), text.as_bytes())?;
        }
        write_page(folder)?;
    }
    context.note(&format!("wrote {}", folder.join(PAGE).display()));
    Ok(Outcome::Done)
}

fn section(part: Part, bench: &Bench) -> Result<Section, Failure> {
    match part {
        Part::Synthetic => synthetic::run(bench),
        Part::Coal => line::coal(bench),
        Part::Twitter => line::twitter(bench),
        Part::Aftershocks => line::aftershocks(bench),
        Part::Malaria => malaria::run(bench),
        Part::Times => times::run(bench),
        Part::Link => link::run(),
        Part::Adams => adams::run(bench),
        Part::Families => families::run(bench),
        Part::All => Err("all is not one experiment".to_string().into()),
    }
}

/// The page of all records in the folder, also of those from earlier runs.
fn write_page(folder: &std::path::Path) -> Result<(), Failure> {
    let parts = Part::value_variants().iter();
    let records: Vec<Option<Record>> =
        parts.map(|part| report::read(&folder.join(format!("{}.json", part.name())))).collect::<Result<_, _>>()?;
    let records: Vec<Record> = records.into_iter().flatten().collect();
    Ok(io::write_atomically(&folder.join(PAGE), report::page(&records).as_bytes())?)
}

/// What all experiments share: their size, their seed, and a line that says how they go.
struct Bench<'a> {
    quick: bool,
    seed: u64,
    context: &'a Context,
    kept: Kept,
    done: AtomicUsize,
    /// What is done of all fits, in thousandths of one.
    parts: AtomicUsize,
    /// How many are known of.
    foreseen: AtomicUsize,
}

impl<'a> Bench<'a> {
    fn new(args: &ReproduceArgs, context: &'a Context) -> Result<Self, Failure> {
        Ok(Self {
            quick: args.quick,
            seed: context.seed(),
            context,
            kept: Kept::new(args)?,
            done: AtomicUsize::new(0),
            parts: AtomicUsize::new(0),
            foreseen: AtomicUsize::new(0),
        })
    }

    /// The size of something, in the full or in the quick variant.
    fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// So many more fits are to come.
    fn foresee(&self, fits: usize) {
        self.foreseen.fetch_add(fits, Ordering::Relaxed);
    }

    /// Says that another piece is done, of which nothing was said yet.
    fn tick(&self, what: &str) {
        self.advance(WHOLE);
        self.end(what);
    }

    /// A fit has come so much further.
    fn advance(&self, thousandths: usize) {
        let parts = self.parts.fetch_add(thousandths, Ordering::Relaxed) + thousandths;
        let (done, of) = (self.done.load(Ordering::Relaxed), self.foreseen.load(Ordering::Relaxed));
        let of = of.max(parts.div_ceil(WHOLE));
        meter::show(&format!("{done} of {of} fits done"), parts as f64 / (of * WHOLE) as f64);
    }

    fn end(&self, what: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.context.detail(&format!("{done}: {what}"));
    }

    /// The sampler with so many sweeps of each of four chains after a fifth of that as warm-up.
    fn sgcp(&self, sweeps: usize) -> Contender {
        let (chains, sweeps) = self.size((4, sweeps), (2, 10));
        Contender::Sgcp(sgcp::Settings {
            chains,
            warm_up: sweeps / 5,
            most_sweeps: sweeps,
            check_every: sweeps,
            seed: self.seed,
            ..sgcp::Settings::default()
        })
    }

    /// Draws for scores.
    fn samples(&self) -> usize {
        self.size(SAMPLES, 200)
    }

    /// One contender on one split.
    fn perform(&self, method: &Method, train: &Events, test: &Events, at: &Points) -> Result<Performance, Failure> {
        self.perform_with(self.samples(), method, train, test, at)
    }

    /// The same with so many draws for its scores.
    fn perform_with(
        &self,
        samples: usize,
        method: &Method,
        train: &Events,
        test: &Events,
        at: &Points,
    ) -> Result<Performance, Failure> {
        let told = AtomicUsize::new(0);
        let tell = |part: f64| {
            let now = (part.clamp(0.0, 1.0) * WHOLE as f64) as usize;
            self.advance(now.saturating_sub(told.fetch_max(now, Ordering::Relaxed)));
            ControlFlow::Continue(())
        };
        let performance =
            self.kept.answer(method.name, (&method.contender, train, test, at, samples, self.seed), || {
                Ok(method.contender.perform_watched(train, test, at, (samples, self.seed), &tell)?)
            })?;
        let _ = tell(1.0);
        self.end(method.name);
        Ok(performance)
    }
}

/// A contender with its name in the tables.
struct Method {
    name: &'static str,
    contender: Contender,
}

const DEFAULT: &str = "default";
const ML: &str = "VBPP (ML)";
const AVERAGED: &str = "VBPP (averaged)";
const TRUNCATED: &str = "KS+EC";
const PLAIN: &str = "KS−EC";
const HOMOGENEOUS: &str = "homogeneous";
const SGCP: &str = "SGCP";
/// Those that most experiments have.
const METHODS: [&str; 7] = [DEFAULT, ML, AVERAGED, TRUNCATED, PLAIN, HOMOGENEOUS, SGCP];

/// The paper's model: inducing points at the maximum of the bound.
fn paper() -> Model {
    Model { family: InducingPoints::as_in_the_paper().into(), ..Model::of_maximum_likelihood() }
}

/// Inducing points with what is believed of their hyper-parameters, averaged over them.
fn averaged() -> Model {
    Model { family: InducingPoints::default().into(), ..Model::default() }
}

/// Inducing points on an axis in the quick variant, where a grid that is found would be asked for far more.
const QUICK_POINTS: usize = 6;

/// All methods for events on so many axes, with so many sweeps of the sampler.
fn methods(bench: &Bench, sweeps: usize, dims: usize) -> Vec<Method> {
    let points = bench.size(Inducing::Auto, Inducing::Grid(vec![QUICK_POINTS; dims]));
    let averaged = Model { family: InducingPoints { points, ..InducingPoints::default() }.into(), ..averaged() };
    let method = |name, contender| Method { name, contender };
    vec![
        method(DEFAULT, Contender::Variational(Model::default())),
        method(ML, Contender::Variational(paper())),
        method(AVERAGED, Contender::Variational(averaged)),
        method(TRUNCATED, Contender::Smoother(EdgeCorrection::Truncate)),
        method(PLAIN, Contender::Smoother(EdgeCorrection::None)),
        method(HOMOGENEOUS, Contender::Homogeneous),
        method(SGCP, bench.sgcp(sweeps)),
    ]
}

/// The place of a method among others.
fn index(methods: &[Method], name: &str) -> usize {
    methods.iter().position(|method| method.name == name).unwrap_or_default()
}

/// Bundled events, as `fit` with these words reads them; degrees are plain numbers, as the paper has them.
fn bundled(words: &str) -> Result<Events, Failure> {
    let line = ["pointillist", "fit"].into_iter().chain(words.split(' '));
    let Ok(Cli { verb: Some(Verb::Fit(args)), .. }) = Cli::try_parse_from(line) else {
        return Err(format!("`{words}` are no options of fit").into());
    };
    let options = EventOptions { geography: Some(GeographyName::Plane), ..args.options.events };
    Ok(input::events(&args.events[0], &options)?.events)
}

/// One after the other on all cores, in order.
fn each<T: Send>(count: usize, work: impl Fn(usize) -> Result<T, Failure> + Sync + Send) -> Result<Vec<T>, Failure> {
    parallel::try_each(count, work)
}

/// The middles of so many equal parts of an interval.
fn middles(window: &Window, count: usize) -> Result<Points, Failure> {
    let span = window.bounding_box()[0];
    let middle = |i: usize| span.lo + span.length() * (i as f64 + 0.5) / count as f64;
    Ok(Points::line(&(0..count).map(middle).collect::<Vec<_>>())?)
}

/// What a method did over splits or draws, one number each.
fn column(all: &[Vec<Performance>], method: usize, pick: impl Fn(&Performance) -> Option<f64>) -> Vec<Option<f64>> {
    all.iter().map(|row| pick(&row[method])).collect()
}

fn log_likelihood(performance: &Performance) -> Option<f64> {
    Some(performance.scores.log_likelihood)
}

fn predictive(performance: &Performance) -> Option<f64> {
    Some(performance.scores.predictive())
}

/// The mean of `a − b` over splits with its standard error; nothing if one is missing.
fn difference(a: &[Option<f64>], b: &[Option<f64>]) -> Option<(f64, f64)> {
    let [a, b] = [a, b].map(|list| list.iter().copied().collect::<Option<Vec<f64>>>());
    Some(paired(&a?, &b?))
}

fn cells<const N: usize>(cells: [Cell; N]) -> Vec<Cell> {
    cells.to_vec()
}

fn heads<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(String::from).to_vec()
}

/// A signed number for a sentence, with its standard error.
fn signed((mean, se): (f64, f64)) -> String {
    format!("{mean:+.2} ± {se:.2}")
}

/// A goal of a difference that should be above zero, by so many standard errors.
fn above_zero(what: String, difference: Option<(f64, f64)>, errors: f64) -> Goal {
    let (mean, se) = difference.unwrap_or((f64::NAN, f64::NAN));
    Goal { what, measured: signed((mean, se)), reached: mean > errors * se }
}

/// The median over rows of the largest R̂ of a run; nothing for methods that do not sample.
fn largest_r_hat(all: &[Vec<Performance>], method: usize) -> Cell {
    let mut values: Vec<f64> = column(all, method, |p| p.r_hat).into_iter().flatten().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().into()
}
