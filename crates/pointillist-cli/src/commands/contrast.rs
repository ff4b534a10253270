//! `contrast`: two regions of a model, or two models, beside each other.

use super::count::{self, Answer, Moments};
use super::figure::zones_apart;
use super::score::check_draws;
use super::summary::{brief, is_repeated};
use super::types::{Chosen, which};
use super::{Context, Failure, Outcome, json_line, spec};
use crate::args::ContrastArgs;
use crate::io::types::{Of, TypesModel};
use crate::io::{self, ModelFile, Region};
use pointillist::{Contrast, JointCounts, Posterior, Window};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// The probability of the quantile that stands for a ratio in words.
const MIDDLE: f64 = 0.5;

/// The JSON; scripts rely on the names.
#[derive(Serialize)]
struct Report {
    a: Side,
    b: Side,
    /// A − B.
    difference: Moments,
    /// A / B, by its quantiles alone.
    ratio: Quantiles,
    /// P(A > B).
    probability: f64,
    draws: usize,
}

/// One of the two.
#[derive(Serialize)]
struct Side {
    model: String,
    #[serde(flatten)]
    counted: Answer,
    /// In words.
    #[serde(skip)]
    shown: String,
}

#[derive(Serialize)]
struct Quantiles {
    quantiles: BTreeMap<String, f64>,
}

/// How it is asked for, and what all sides share.
struct Asked<'a> {
    args: &'a ContrastArgs,
    probabilities: Vec<f64>,
    context: &'a Context,
}

/// Does what was asked for.
pub fn run(args: &ContrastArgs, context: &Context) -> Result<Outcome, Failure> {
    let probabilities = spec::quantiles(&args.quantiles)?;
    check_draws(args.draws)?;
    count::warn_of_few_draws(&probabilities, args.draws, context);
    let asked = Asked { args, probabilities, context };
    let (report, middle) = match &args.models[..] {
        [first, second] => asked.two_models(first, second)?,
        models => asked.one_model(&models[0])?,
    };
    let json = json_line(&report)?;
    let text = if context.json() { json } else { report.text(&asked.probabilities, middle) };
    io::stdout_text(&text)?;
    Ok(Outcome::Done)
}

impl Asked<'_> {
    /// Two regions of one model, or two of its types.
    fn one_model(&self, path: &str) -> Result<(Report, f64), Failure> {
        let (model, of) = (ModelFile::read_any(path)?, self.args.of.as_deref());
        if let (Some(types), Some(of)) = (TypesModel::of(&model).transpose()?, of)
            && let Of::Ratio(above, below) = types.asked(of)?
        {
            return self.two_types(path, &types, [above, below]);
        }
        let model = match Chosen::new(path, model, of)? {
            Chosen::All(types) => return Err(which(path, &types)),
            chosen => chosen.one(path)?,
        };
        self.two_regions(path, &model.posterior)
    }

    /// Two types in one region; and the median of their ratio.
    fn two_types(&self, path: &str, types: &TypesModel, kinds: [usize; 2]) -> Result<(Report, f64), Failure> {
        let posterior = types.types.of(kinds[0])?;
        let regions = count::regions((&self.args.regions, None, None), &posterior, self.context)?;
        let [region] = &regions[..] else {
            let found = spec::plural(regions.len(), "region", "regions");
            return Err(format!("--in gives {found} of {path}; two types are compared in one").into());
        };
        let (seed, draws) = (self.context.seed(), self.args.draws);
        let counts =
            count::counting(|watch| types.types.joint_counts_watched(&kinds, &region.window, (draws, seed), watch))?;
        let contrast = counts.contrast(0, 1, &self.with_middle())?;
        let side = |number: usize| Side {
            model: path.into(),
            counted: count::answer(region, &counts, number, &self.probabilities),
            shown: format!("{}, {}", types.types.names()[kinds[number]], shown(region, &posterior)),
        };
        Ok(self.report([side(0), side(1)], contrast, counts.draws()))
    }

    /// Two regions of one model; and the median of their ratio.
    fn two_regions(&self, path: &str, posterior: &Posterior) -> Result<(Report, f64), Failure> {
        if self.args.regions.is_empty() {
            return Err(format!("{path} alone needs two regions; give --in twice, or another model").into());
        }
        let regions = count::regions((&self.args.regions, None, None), posterior, self.context)?;
        let [a, b] = &regions[..] else {
            let found = spec::plural(regions.len(), "region", "regions");
            return Err(format!("--in gives {found} of {path}; with one model there must be two in all").into());
        };
        let seed = self.context.seed();
        let counts = count::joint_counts(posterior, &regions, self.args.draws, seed)?;
        let contrast = counts.contrast(0, 1, &self.with_middle())?;
        let side = |region: &Region, number: usize| Side {
            model: path.into(),
            counted: count::answer(region, &counts, number, &self.probabilities),
            shown: shown(region, posterior),
        };
        Ok(self.report([side(a, 0), side(b, 1)], contrast, counts.draws()))
    }

    /// Two models in one region; and the median of their ratio.
    fn two_models(&self, first: &str, second: &str) -> Result<(Report, f64), Failure> {
        let of = self.args.of.as_deref();
        let read = |path: &str| -> Result<ModelFile, Failure> {
            let model = ModelFile::read_any(path)?;
            // Of two models one may have types.
            let knows_more = model.types.is_some() || model.measured.is_some();
            Chosen::new(path, model, of.filter(|_| knows_more))?.one(path)
        };
        let files = [read(first)?, read(second)?];
        let [one, other] = files.each_ref().map(|file| &file.posterior);
        self.check_comparable([(first, one.window()), (second, other.window())])?;
        check_independent([(first, one), (second, other)], "give one, and two regions with --in")?;
        warn_of_shared_events([first, second], files.each_ref(), self.context);
        let (a, of_a) = self.one_of_two(first, one)?;
        let (b, of_b) = self.one_of_two(second, other)?;
        let contrast = of_a.contrast_with(0, &of_b, 0, &self.with_middle())?;
        Ok(self.report([a, b], contrast, of_a.draws()))
    }

    fn one_of_two(&self, path: &str, posterior: &Posterior) -> Result<(Side, JointCounts), Failure> {
        let seed = self.context.seed();
        let regions = count::regions((&self.args.regions, None, None), posterior, self.context)?;
        let [region] = &regions[..] else {
            let found = spec::plural(regions.len(), "region", "regions");
            return Err(format!("--in gives {found} of {path}; two models are compared in one").into());
        };
        let counts = count::joint_counts(posterior, &regions, self.args.draws, seed)?;
        let counted = count::answer(region, &counts, 0, &self.probabilities);
        let shown = format!("{path}, {}", shown(region, posterior));
        Ok((Side { model: path.into(), counted, shown }, counts))
    }

    /// Refuses models that have nothing to do with each other.
    fn check_comparable(&self, [(first, one), (second, other)]: [(&str, &Window); 2]) -> Result<(), Failure> {
        // A date means the same whatever a model counts from; a number does not.
        let by_dates = !self.args.regions.is_empty() && self.args.regions.iter().all(|text| has_date(text));
        let remedy = (!by_dates).then_some("give --in as dates");
        check_same_axes([(first, one), (second, other)], remedy)?;
        if self.args.regions.is_empty() && !is_same_window(one, other) {
            let [one, other] = [one, other].map(io::show_window);
            return Err(format!(
                "the windows of {first}, {one}, and {second}, {other}, differ; say with --in where to compare them"
            )
            .into());
        }
        Ok(())
    }

    /// The quantiles asked for, and the median.
    fn with_middle(&self) -> Vec<f64> {
        self.probabilities.iter().copied().chain([MIDDLE]).collect()
    }

    fn report(&self, [a, b]: [Side; 2], contrast: Contrast, draws: usize) -> (Report, f64) {
        let named =
            |values: &[f64]| self.probabilities.iter().map(f64::to_string).zip(values.iter().copied()).collect();
        let Contrast { difference, ratio, probability } = contrast;
        let middle = ratio.quantiles.last().copied().unwrap_or(f64::NAN);
        // The draws have these means, up to rounding.
        let mean = a.counted.expected.mean - b.counted.expected.mean;
        let difference = Moments { mean, sd: difference.sd, quantiles: named(&difference.quantiles) };
        let ratio = Quantiles { quantiles: named(&ratio.quantiles) };
        (Report { a, b, difference, ratio, probability, draws }, middle)
    }
}

/// Refuses models of different axes. Those that count from different origins are refused with this remedy, if there is one.
pub fn check_same_axes(
    [(first, one), (second, other)]: [(&str, &Window); 2],
    of_origins: Option<&str>,
) -> Result<(), Failure> {
    if one.dims() != other.dims() {
        let [one, other] = [one, other].map(|window| spec::plural(window.dims(), "axis", "axes"));
        return Err(format!("{first} has {one} and {second} {other}; compare models of the same axes").into());
    }
    if let Some(why) = zones_apart(one, other) {
        return Err(format!("{second} cannot be held beside {first}: {why}; fit both with the same --time-zone").into());
    }
    let units = |window: &Window| {
        window
            .axes()
            .iter()
            .map(|a| (a.name.clone(), a.unit.clone(), a.globe.is_some(), a.crs.clone()))
            .collect::<Vec<_>>()
    };
    let origins = |window: &Window| window.axes().iter().map(|axis| axis.origin).collect::<Vec<_>>();
    let remedy = match of_origins {
        _ if units(one) != units(other) => Some("compare models of the same axes"),
        remedy => remedy.filter(|_| origins(one) != origins(other)),
    };
    let Some(remedy) = remedy else { return Ok(()) };
    let [left, right] = [one, other].map(io::show_axes);
    Err(format!("the axes of {first} are {left} and those of {second} are {right}; {remedy}").into())
}

/// Refuses a model and itself.
pub fn check_independent(
    [(first, one), (second, other)]: [(&str, &Posterior); 2],
    remedy: &str,
) -> Result<(), Failure> {
    match one.fingerprint() == other.fingerprint() {
        true => Err(format!("{first} and {second} are the same model, and not independent; {remedy}").into()),
        false => Ok(()),
    }
}

/// Says so if two models were learned from the same events.
pub fn warn_of_shared_events([first, second]: [&str; 2], files: [&ModelFile; 2], context: &Context) {
    if let Some(share) = shared(files) {
        context.warn(&format!(
            "{first} and {second} were learned from {share}, and are compared as if each had its own: what is said of their difference does not hold; \
             `compare` and `score` judge models of the same events"
        ));
    }
}

/// Whether two windows have the same pieces.
pub fn is_same_window(one: &Window, other: &Window) -> bool {
    boxes(one) == boxes(other) && one.outlines().eq(other.outlines())
}

/// The events that two models share, in words, if they share more than a few by chance.
fn shared([one, other]: [&ModelFile; 2]) -> Option<String> {
    let (Some(left), Some(right)) = (&one.events, &other.events) else {
        // They are too many to be kept.
        let is_same = one.source == other.source && one.event_count == other.event_count;
        return is_same.then(|| {
            format!("{} each, from a file of the same name", spec::plural(one.event_count, "event", "events"))
        });
    };
    let origins = |file: &ModelFile| file.posterior.window().axes().iter().map(|axis| axis.origin).collect::<Vec<_>>();
    if left.points.dims() != right.points.dims() || origins(one) != origins(other) {
        return None;
    }
    let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    let known: HashSet<Vec<u64>> = left.points.rows().map(bits).collect();
    let common = right.points.rows().filter(|row| known.contains(&bits(row))).count();
    let fewer = left.points.len().min(right.points.len());
    match common {
        common if 2 * common <= fewer => None,
        common if common == fewer && left.points.len() == right.points.len() => {
            Some(format!("the same {}", spec::plural(common, "event", "events")))
        }
        common => Some(format!("{common} events that are the same")),
    }
}

/// Where a window is, in words that do not depend on the zero of its dates.
fn boxes(window: &Window) -> Vec<String> {
    let boxed =
        |spans: &[pointillist::window::Span]| io::show_box(spans.iter().map(|span| (span.lo, span.hi)), window.axes());
    // Trials cut time where their number changes; what matters here is where they reach.
    let looks = io::looks(window);
    match looks.iter().any(|often| *often != looks[0]) {
        true => vec![boxed(&window.bounding_box())],
        false => window.pieces().iter().map(|piece| boxed(&piece.spans)).collect(),
    }
}

fn shown(region: &Region, posterior: &Posterior) -> String {
    let trial = if is_repeated(posterior.window()) { ", one trial" } else { "" };
    format!("{}{trial}", region.name)
}

impl Report {
    /// For people; `middle` is the median of the ratio.
    fn text(&self, probabilities: &[f64], middle: f64) -> String {
        let of = |quantiles: &BTreeMap<String, f64>| -> Vec<String> {
            probabilities.iter().map(|p| brief(quantiles[&p.to_string()])).collect()
        };
        let row = |name: &str, values: Vec<String>| {
            let values: String = values.iter().map(|value| format!(" {value:>11}")).collect();
            format!("  {name:<10}{values}\n")
        };
        let moments = |name: &str, moments: &Moments| {
            row(name, [vec![brief(moments.mean), brief(moments.sd)], of(&moments.quantiles)].concat())
        };
        let names = probabilities.iter().map(|p| format!("q{p}"));
        let head = ["mean", "sd"].into_iter().map(String::from).chain(names).collect();
        let nothing = || vec!["–".to_string(); 2];
        [
            format!("A: {}\nB: {}\n", self.a.shown, self.b.shown),
            row("", head),
            moments("A", &self.a.counted.expected),
            moments("B", &self.b.counted.expected),
            moments("A - B", &self.difference),
            row("A / B", [nothing(), of(&self.ratio.quantiles)].concat()),
            self.sentence(probabilities, middle),
        ]
        .concat()
    }

    fn sentence(&self, probabilities: &[f64], middle: f64) -> String {
        let interval = |quantiles: &BTreeMap<String, f64>| {
            let lo = probabilities.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = probabilities.iter().copied().fold(0.0, f64::max);
            if lo == hi {
                return String::new();
            }
            let [from, to] = [lo, hi].map(|p| short(quantiles[&p.to_string()]));
            format!(" ({} % between {from} and {to})", short(100.0 * (hi - lo)))
        };
        format!(
            "More events are expected in A than in B with probability {}: A - B is {}{}, A / B is {}{}.\n",
            self.chance(),
            short(self.difference.mean),
            interval(&self.difference.quantiles),
            short(middle),
            interval(&self.ratio.quantiles)
        )
    }

    /// P(A > B), of which draws that all say the same know only a bound.
    fn chance(&self) -> String {
        let least = 1.0 / self.draws as f64;
        match self.probability {
            p if p < least => format!("below {}", brief(least)),
            p if p > 1.0 - least => format!("above {}", brief(1.0 - least)),
            p => format!("{p:.3}"),
        }
    }
}

/// Three digits, for a sentence.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let unit = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    brief((value / unit).round() * unit)
}

/// Whether a region is given by dates, as in 2016-01-01,2016-02-01.
fn has_date(text: &str) -> bool {
    let is_date = |part: &str| {
        part.len() >= 8 && part.as_bytes()[..4].iter().all(u8::is_ascii_digit) && part.as_bytes()[4] == b'-'
    };
    text.split(',').all(|part| is_date(part.trim()))
}
