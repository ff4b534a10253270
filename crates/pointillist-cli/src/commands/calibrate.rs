//! `calibrate`: whether intervals hold the truth as often as they say, as a page.

use super::meter::{plan, shown};
use super::{Context, Failure, Outcome, json_line, spec};
use crate::args::{CalibrateArgs, FamiliesName};
use crate::io::{self, Written};
use pointillist::{Link, Model};
use pointillist_rivals::calibrate::{
    BINS, Calibration, Covered, Families, LEVELS, Mean, Quantity, Settings, TRUTHS, Truth, calibrate, cover,
};
use serde::Serialize;
use std::path::Path;

/// Most sets, and most events in one: what is more takes days.
const MOST_SETS: usize = 1_000_000;
const MOST_EVENTS: usize = 100_000;
/// The heights of a histogram's bins; half of the highest is what is expected.
const HEIGHTS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Sets of one kind, and how they did.
#[derive(Serialize)]
struct Kind {
    dims: usize,
    link: &'static str,
    about: usize,
    families: Families,
    #[serde(flatten)]
    calibration: Calibration,
}

/// The JSON of `calibrate`; scripts rely on the names.
#[derive(Serialize)]
struct Page {
    version: &'static str,
    seed: u64,
    levels: [f64; LEVELS.len()],
    kinds: Vec<Kind>,
    truths: Vec<Covered>,
}

/// About what a fit in the plane costs beside one on a line, and all families beside one.
const PLANE_COSTS: f64 = 20.0;
const ALL_COST: f64 = 4.0;

/// Does what was asked for.
pub fn run(args: &CalibrateArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) {
        io::check_name(path, if context.json() { Written::Json } else { Written::Markdown })?;
        io::check_target(path)?;
    }
    let wanted = wanted(args, context)?;
    let count = wanted.len();
    let known = asked(args);
    plan(&[lengths(&wanted), vec![args.truths as f64; known.len()]].concat());
    let mut kinds = Vec::with_capacity(count);
    for (number, settings) in wanted.iter().enumerate() {
        let stage = format!("{} ({} of {count})", name(settings), number + 1);
        let calibration = shown(&stage, |watch| calibrate(settings, watch))?;
        context.detail(&format!("{stage}: {}", in_short(&calibration)));
        if let Some(failure) = &calibration.failure {
            context.warn(&format!(
                "{}: {} of {} fits failed, the first because {failure}",
                name(settings),
                calibration.failed,
                calibration.sets
            ));
        }
        let Settings { dims, link, events: about, families, .. } = *settings;
        kinds.push(Kind { dims, link: link.name(), about, families, calibration });
    }
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        seed: context.seed(),
        levels: LEVELS,
        kinds,
        truths: truths(&known, args, context)?,
    };
    let json = json_line(&page)?;
    context
        .emit(args.output.as_deref(), &if context.json() { json } else { page.markdown(&command(args, context)) })?;
    Ok(Outcome::Done)
}

/// What is to be run, one after the other.
fn wanted(args: &CalibrateArgs, context: &Context) -> Result<Vec<Settings>, Failure> {
    if args.sets.len() != 1 && args.sets.len() != args.dims.len() {
        let (sets, dims) = (args.sets.len(), args.dims.len());
        return Err(format!(
            "--sets has {sets} numbers and --dims {dims}; give one for all, or one for each of --dims"
        )
        .into());
    }
    if let Some(dims) = args.dims.iter().find(|dims| !(1..=2).contains(*dims)) {
        return Err(format!("--dims {dims}: sets have 1 or 2 axes").into());
    }
    if let Some(sets) = args.sets.iter().find(|sets| !(BINS..=MOST_SETS).contains(*sets)) {
        return Err(format!("--sets {sets}: give from {BINS} (one for each bin) to {MOST_SETS}").into());
    }
    if let Some(events) = args.events.iter().find(|events| !(1..=MOST_EVENTS).contains(*events)) {
        return Err(format!("--events {events}: give from 1 to {MOST_EVENTS}").into());
    }
    if args.truths > MOST_SETS {
        return Err(format!("--truths {}: give at most {MOST_SETS}", args.truths).into());
    }
    let mut wanted = Vec::new();
    for (number, &dims) in args.dims.iter().enumerate() {
        let sets = args.sets[number.min(args.sets.len() - 1)];
        for &link in Link::ALL.iter().filter(|link| ["both", link.name()].contains(&args.link.as_str())) {
            for &events in &args.events {
                let kind = |families| Settings { dims, link, events, sets, families, seed: context.seed() };
                wanted.extend(args.families.iter().map(|families| kind(families.meant())));
            }
        }
    }
    Ok(wanted)
}

impl FamiliesName {
    fn meant(self) -> Families {
        match self {
            Self::Own => Families::Own,
            Self::All => Families::All,
        }
    }
}

/// About how long each of some calibrations takes, beside the others.
fn lengths(wanted: &[Settings]) -> Vec<f64> {
    let families = |settings: &Settings| if settings.families == Families::All { ALL_COST } else { 1.0 };
    let plane = |settings: &Settings| if settings.dims > 1 { PLANE_COSTS } else { 1.0 };
    wanted.iter().map(|settings| settings.sets as f64 * families(settings) * plane(settings)).collect()
}

/// The known intensities that are asked for.
fn asked(args: &CalibrateArgs) -> Vec<&'static Truth> {
    TRUTHS.iter().filter(|truth| args.truths > 0 && args.dims.contains(&truth.window.len())).collect()
}

fn truths(asked: &[&Truth], args: &CalibrateArgs, context: &Context) -> Result<Vec<Covered>, Failure> {
    let model = Model { average: true, ..Model::default() };
    let mut covered = Vec::with_capacity(asked.len());
    for (number, truth) in asked.iter().enumerate() {
        let stage = format!("{} ({} of {})", truth.name, number + 1, asked.len());
        covered.push(shown(&stage, |watch| cover(truth, &model, args.truths, context.seed(), watch))?);
        context.detail(&stage);
    }
    Ok(covered)
}

fn name(settings: &Settings) -> String {
    let Settings { dims, link, events, .. } = settings;
    let fitted = if settings.families == Families::Own { "own family" } else { "all families" };
    format!("{}, {} link, about {events} events, {fitted}", spec::plural(*dims, "axis", "axes"), link.name())
}

fn in_short(calibration: &Calibration) -> String {
    let of = |quantity: &Quantity| {
        let shares: Vec<String> = quantity.coverage.iter().map(|mean| percent(*mean)).collect();
        format!("{} p {:.3}, {}", quantity.name, quantity.p_value, shares.join(", "))
    };
    calibration.quantities.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The command that makes the page.
fn command(args: &CalibrateArgs, context: &Context) -> String {
    let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let families: Vec<&str> =
        args.families.iter().map(|name| if *name == FamiliesName::Own { "own" } else { "all" }).collect();
    let mut line = format!(
        "pointillist calibrate --dims {} --events {} --sets {} --link {} --families {} --truths {}",
        list(&args.dims),
        list(&args.events),
        list(&args.sets),
        args.link,
        families.join(","),
        args.truths
    );
    if context.seed() != 0 {
        line += &format!(" --seed {}", context.seed());
    }
    if let Some(file) = args.output.as_ref().and_then(|path| path.file_name()) {
        line += &format!(" -o {}", file.to_string_lossy());
    }
    line
}

const INTRODUCTION: &str = "\
Whether intervals hold the truth as often as they say, on simulated events.";

const FROM_THE_PRIOR: &str = "\
## Sets from the prior

Range and standard deviation of a Matérn field of smoothness 2 are drawn from the penalised-complexity priors of an averaged fit (P(range < a fiftieth of the side) = \
0.05 on a line, a tenth in a plane; P(sd > 3) = 0.05 for the log link, P(sd > √n) = 0.05 for the square; no range above 4 sides, the longest of a lattice), f exactly on a grid far finer than \
any lattice of a fit, its constant from N(log n, 1), or N(√n, n/9) for the square, and events from λ = exp(f) or f² in the unit interval or square. Then the events are \
fitted: *own* with the family that they come from, averaged over its hyper-parameters, *all* with every family that `fit` has without options. The fit's own prior of the constant is wider, \
and centred on the number of events.

The *rank* of a truth is the posterior probability below it: of λ at five random places and of the expected number of events in five random intervals or boxes in each set, and with *own* of \
range and sd (roughly: their posterior is a few weighted points). If the answers are right, ranks are uniform. A histogram has one rank of each set in 20 bins, drawn so that half of the \
height is what is expected; *outside* is how many bins lie outside of the 99 % band of a binomial number, *p* is that of χ². Coverage is that of central intervals, in per cent, with its standard \
error over sets. Sets without events, or with more than 20 times those asked for, are drawn anew (in brackets how many): that is a condition on the data alone, under which ranks of right answers stay uniform.
";

const KNOWN: &str = "\
## Known intensities

All families, as `fit` has them without options. Intervals of 90 %: of λ over places (where it is not 0), of the expected number of events in the window and in the first half of it. *sd/√N* is \
the median of the standard deviation of the total, *ISE* the integral of the squared error of the mean rate. Here coverage near 90 % is not promised, only hoped for: these intensities come from no prior.
";

impl Page {
    fn markdown(&self, command: &str) -> String {
        let mut text = format!(
            "# Calibration\n\n{INTRODUCTION} This page was written by pointillist {}, with\n\n```sh elsewhere\n{command}\n```\n",
            self.version
        );
        text += &format!(
            "\n{FROM_THE_PRIOR}\n| axes | link | events | median | fitted | sets | of | ranks | outside | p |"
        );
        LEVELS.iter().for_each(|level| text += &format!(" {:.0} % |", 100.0 * level));
        text += &format!("\n|{}\n", "---|".repeat(10 + LEVELS.len()));
        for kind in &self.kinds {
            kind.calibration.quantities.iter().for_each(|quantity| text += &kind.row(quantity));
        }
        for kind in self.kinds.iter().filter(|kind| kind.calibration.failed + kind.calibration.not_converged > 0) {
            text += &format!("\n{}", kind.troubles());
        }
        if !self.truths.is_empty() {
            text += &format!(
                "\n{KNOWN}\n| intensity | sets | events | λ | total | first half | sd/√N | second half: truth | mean | ISE |\n"
            );
            text += &format!("|{}\n", "---|".repeat(10));
            self.truths.iter().for_each(|truth| text += &row(truth));
            text += "\n";
            for truth in &self.truths {
                text += &format!("- {}: `{}`\n", truth.name, truth.formula);
            }
        }
        text
    }
}

impl Kind {
    fn row(&self, quantity: &Quantity) -> String {
        let Calibration { sets, events, redrawn, .. } = &self.calibration;
        let fitted = if self.families == Families::Own { "own" } else { "all" };
        let expected = quantity.histogram.iter().sum::<usize>() as f64 / BINS as f64;
        let height = |bin: &usize| HEIGHTS[((4.0 * *bin as f64 / expected).round() as usize).min(HEIGHTS.len() - 1)];
        let outside =
            quantity.histogram.iter().filter(|bin| !(quantity.band.0..=quantity.band.1).contains(bin)).count();
        let mut row = format!(
            "| {} | {} | {} | {events:.0} | {fitted} | {sets} ({}) | {} | `{}` | {outside} | {:.3} |",
            self.dims,
            self.link,
            self.about,
            redrawn.empty + redrawn.absurd,
            quantity.name,
            quantity.histogram.iter().map(height).collect::<String>(),
            quantity.p_value
        );
        quantity.coverage.iter().for_each(|mean| row += &format!(" {} |", percent(*mean)));
        row + "\n"
    }

    /// What did not go as it should.
    fn troubles(&self) -> String {
        let Calibration { sets, failed, not_converged, .. } = self.calibration;
        let (dims, link, about) = (spec::plural(self.dims, "axis", "axes"), self.link, self.about);
        format!(
            "{dims}, {link} link, about {about} events: of {sets} fits {failed} failed and are left out, {not_converged} did not converge.\n"
        )
    }
}

fn row(truth: &Covered) -> String {
    let Covered { name, sets, events, band, total, half, second_half, deviation, squared_error, .. } = truth;
    format!(
        "| {name} | {sets} | {events:.0} | {} | {} | {} | {deviation:.2} | {:.1} | {:.1} | {} ± {} |\n",
        percent(*band),
        percent(*total),
        percent(*half),
        second_half.0,
        second_half.1,
        rounded(squared_error.value),
        rounded(squared_error.se)
    )
}

/// A share of sets in per cent, with its standard error.
fn percent(mean: Mean) -> String {
    format!("{:.1} ± {:.1}", 100.0 * mean.value, 100.0 * mean.se)
}

/// Three digits, for a table.
fn rounded(value: f64) -> String {
    let digits = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6);
    format!("{value:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intensities_are_a_table_with_their_formulas() {
        let mean = |value: f64| Mean { value, se: 0.0123 };
        let cluster = Covered {
            name: "cluster".into(),
            formula: "200*step(x)".into(),
            sets: 20,
            events: 199.6,
            band: mean(0.8771),
            total: mean(0.9),
            half: mean(0.95),
            second_half: (0.0, 1.26),
            deviation: 1.081,
            squared_error: mean(2133.4),
        };
        let page = Page { version: "1", seed: 0, levels: LEVELS, kinds: vec![], truths: vec![cluster] };
        let text = page.markdown("pointillist calibrate");
        let row = "| cluster | 20 | 200 | 87.7 ± 1.2 | 90.0 ± 1.2 | 95.0 ± 1.2 | 1.08 | 0.0 | 1.3 | 2133 ± 0.0123 |";
        for words in ["## Known intensities", row, "- cluster: `200*step(x)`"] {
            assert!(text.contains(words), "no {words} in {text}");
        }
        let without = Page { truths: vec![], ..page }.markdown("pointillist calibrate");
        assert!(!without.contains("Known intensities"));
    }
}
