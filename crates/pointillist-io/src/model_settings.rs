//! What a user says of a model, in words; and the [`Model`] that is meant. Small languages: priors, held values, inducing points.

use super::components::NamedCycle;
use super::events::{RowSettings, read_points};
use super::geography::points_inward;
use super::input_error::InputError;
use super::memory;
use super::message::{Message, Setting};
use super::spec::{counts, repeated};
use super::time::TimeUnit;
use super::window::{Given, time_axis};
use crate::message;
use pointillist::kernel::{Expression, Factor, Unit};
use pointillist::settings::{Budget, Inducing, LatticeMean, Method, PriorMean, Smoothness, Vary};
use pointillist::{Axis, Error, Family, InducingPoints, LatticeChoice, Link, Model, Points, Prior, Window};
use std::path::Path;

/// What the setting of priors says for none at all.
const NO_PRIOR: &str = "none";
/// What a setting says to leave a choice to the fit.
const AUTO: &str = "auto";

/// What f may be made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// A lattice; inducing points with more than three axes.
    #[default]
    Auto,
    /// Inducing points.
    Inducing,
    /// A lattice of hats.
    Lattice,
}

/// The prior means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mean {
    /// f has one prior mean everywhere.
    Constant,
    /// The inducing values have it, f away from them has 0.
    Paper,
    /// An unknown constant, integrated over.
    Integrated,
}

/// Degrees of smoothness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degrees {
    /// All of them, by their evidence.
    All,
    /// This one.
    One(Smoothness),
}

/// Where inducing points stand.
#[derive(Clone, Debug, PartialEq)]
pub enum InducingSetting {
    /// A number (31), a grid (20x20), `auto`, or a file of locations.
    Text(String),
    /// At these places, on the globe in degrees.
    At(Points),
}

/// What is said of a model and its fit. What is `None` is left to the fit.
///
/// ```
/// use pointillist::{Axis, Family};
/// use pointillist_io::FitSettings;
///
/// let axes = [Axis { name: "t".into(), ..Axis::default() }];
/// assert_eq!(FitSettings::default().model(&axes)?.family, Family::Auto);
/// let wrong = FitSettings { fix: vec!["lengthscale=-1".into()], ..FitSettings::default() };
/// let sentence = wrong.model(&axes).unwrap_err().to_string();
/// assert_eq!(sentence, "`fix = lengthscale=-1`: lengthscale must be a positive number");
/// # Ok::<(), pointillist_io::InputError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitSettings {
    /// What f is made of.
    pub basis: Basis,
    /// Nodes of a lattice, as in `200x100`.
    pub nodes: Option<String>,
    /// How much work a lattice may take, as in `30s`, `5min` or `none`.
    pub budget: Option<String>,
    /// The name of a link, or `auto`.
    pub link: Option<String>,
    /// Smoothness of a lattice; all degrees if nothing is said.
    pub smoothness: Option<Degrees>,
    /// Whether f may vary more in some parts of the window than in others.
    pub vary: Option<Vary>,
    /// The kernel, as in `se(t)*periodic(t, period=1!)`.
    pub kernel: Option<String>,
    /// Cycles of the clock, as in `day,week`: they write the kernel.
    pub cycle: Option<String>,
    /// Inducing points.
    pub inducing: Option<InducingSetting>,
    /// Whether they are moved to where they serve best.
    pub optimise_inducing: bool,
    /// The prior mean of f.
    pub mean: Option<Mean>,
    /// Priors, as in `lengthscale ~ lognormal(0, 1)`, or `none`.
    pub prior: Vec<String>,
    /// Values held, as in `lengthscale=10`.
    pub fix: Vec<String>,
    /// How the bound is maximised.
    pub method: Option<Method>,
    /// Relative jitter on the diagonal of the kernel matrix.
    pub jitter: Option<f64>,
    /// What weighted nodes in place of many events may leave out of the data term, relative to it.
    pub tolerance: Option<f64>,
    /// Whether to average.
    pub average: Option<bool>,
    /// Whether standard errors of hyper-parameters are found too.
    pub errors: bool,
    /// Most evaluations of the bound.
    pub max_evaluations: Option<usize>,
    /// Never replace events by weighted nodes.
    pub exact: bool,
}

/// What f is made of by what is said, and what says so.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Inducing points, as asked for.
    Inducing,
    /// A lattice, because of this.
    Lattice(Message),
    /// What only inducing points have asks for them; otherwise the fit chooses.
    Open,
}

impl FitSettings {
    /// The model that is meant, for events on these axes.
    pub fn model(&self, axes: &[Axis]) -> Result<Model, InputError> {
        let default = Model::default();
        let is_none = |text: &&String| text.trim() == NO_PRIOR;
        let penalise = !self.prior.iter().any(|text| is_none(&text));
        let priors: Vec<(String, Prior)> =
            self.prior.iter().filter(|text| !is_none(text)).map(|text| prior(text)).collect::<Result<_, _>>()?;
        let fixed = self.fix.iter().map(|text| fixed(text)).collect::<Result<Vec<_>, _>>()?;
        if let Some(name) = repeated(&fixed.iter().map(|(name, _)| name).collect::<Vec<_>>()) {
            return Err(message![Setting::Fix, ": {name} is held at two values; give it once"].into());
        }
        if let Some(jitter) = self.jitter.filter(|jitter| !(0.0..1.0).contains(jitter)) {
            return Err(message![Setting::Jitter.given(jitter), " must lie between 0 and 1"].into());
        }
        if self.max_evaluations == Some(0) {
            return Err(message![Setting::MaxEvaluations.given(0), " leaves nothing to do; allow at least one"].into());
        }
        self.refuse_link()?;
        self.refuse_contradictions(&fixed, &priors)?;
        let budget = self.budget.as_deref().map(budget).transpose()?;
        Ok(Model {
            family: self.family(axes)?,
            priors,
            fixed,
            most_evaluations: self.max_evaluations.unwrap_or(default.most_evaluations),
            // What nobody set is the same on every machine.
            most_bytes: memory::of_lattice(default.most_bytes),
            budget: budget.unwrap_or_default(),
            exact: self.exact,
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            errors: self.errors,
            average: self.average != Some(false),
            penalise,
            ..default
        })
    }

    /// Refuses what cannot be meant together.
    fn refuse_contradictions(&self, fixed: &[(String, f64)], priors: &[(String, Prior)]) -> Result<(), Message> {
        let average = self.average != Some(false);
        let is_held = fixed.iter().any(|(name, _)| name == "mean");
        let is_learned = self.mean == Some(Mean::Constant) && !is_held;
        if average && is_learned && !self.asks_for_inducing() {
            return Err(message![
                Setting::Mean.given("constant"),
                " is learned as one value, and an average integrates over it; add ",
                off(),
                ", or leave it out"
            ]);
        }
        let is_believed = priors.iter().any(|(name, _)| name == "mean");
        if self.mean == Some(Mean::Integrated) && (is_held || is_believed) {
            return Err(message![
                Setting::Mean.given("integrated"),
                " integrates over the mean, and ",
                Setting::Fix,
                " or ",
                Setting::Prior,
                " says something of it; leave one of them out"
            ]);
        }
        if self.nodes.is_some() && self.budget.is_some() {
            return Err(message![
                Setting::Nodes,
                " says which lattice is taken, so ",
                Setting::Budget,
                " has no effect; leave one of them out"
            ]);
        }
        let of_link = |name: &&String| ["variance", "mean"].contains(&name.as_str());
        let mut named = fixed.iter().map(|(name, _)| name).chain(priors.iter().map(|(name, _)| name));
        if let (Some("auto"), Some(name)) = (self.link.as_deref(), named.find(of_link)) {
            return Err(message![
                Setting::Link.given("auto"),
                ": `{name}` is another thing under each link; name the link that it is meant for, as in ",
                Setting::Link.given("log")
            ]);
        }
        self.refuse_to_vary()?;
        if self.average == Some(true) && self.method == Some(Method::Joint) {
            let joint = Setting::Method.given("joint");
            return Err(message![
                joint.clone(),
                " finds one answer and has no average; leave out one of ",
                Setting::Average.given("on"),
                " and ",
                joint
            ]);
        }
        Ok(())
    }

    /// Refuses a scale that is to vary where it cannot.
    fn refuse_to_vary(&self) -> Result<(), Message> {
        let on = Setting::Vary.given("on");
        match self.vary {
            Some(Vary::On) if self.average == Some(false) => Err(message![
                on,
                " has its say in an average, by its evidence; leave out one of it and ",
                Setting::Average.given("off")
            ]),
            Some(Vary::On) if self.smoothness == Some(Degrees::One(Smoothness::One)) => Err(message![
                on,
                " is for smoothness 2 and 4; leave out one of it and ",
                Setting::Smoothness.given("1")
            ]),
            _ => Ok(()),
        }
    }

    /// What f is made of by what is said.
    pub fn shape(&self) -> Shape {
        let asked_by = |given: bool, by: Message| given.then_some(by);
        let on_lattice = asked_by(self.basis == Basis::Lattice, Setting::Basis.given("lattice"))
            .or(asked_by(self.nodes.is_some(), Setting::Nodes.into()))
            .or(asked_by(self.smoothness.is_some(), Setting::Smoothness.into()))
            .or(asked_by(self.budget.is_some(), Setting::Budget.into()))
            .or(asked_by(self.vary.is_some(), Setting::Vary.into()))
            .or(asked_by(self.asks_for_link(), Setting::Link.into()));
        match (self.basis, on_lattice) {
            (Basis::Inducing, _) => Shape::Inducing,
            (_, Some(by)) => Shape::Lattice(by),
            _ => Shape::Open,
        }
    }

    /// What asks for inducing points, if something does.
    fn inducing_asked_by(&self) -> Option<Message> {
        let given = |is_given: bool, setting: Setting| is_given.then(|| Message::from(setting));
        (self.basis == Basis::Inducing)
            .then(|| Setting::Basis.given("inducing"))
            .or(given(self.inducing.is_some(), Setting::Inducing))
            .or(given(self.kernel.is_some(), Setting::Kernel))
            .or(given(self.cycle.is_some(), Setting::Cycle))
            .or(given(self.optimise_inducing, Setting::OptimiseInducing))
            .or((self.method == Some(Method::Joint)).then(|| Setting::Method.given("joint")))
    }

    /// Refuses a link that inducing points do not have, and says why.
    pub fn refuse_link(&self) -> Result<(), Message> {
        let other = self.link.as_ref().filter(|_| self.is_other_link() && self.basis != Basis::Lattice);
        let (Some(link), Some(by)) = (other, self.inducing_asked_by()) else { return Ok(()) };
        Err(message![
            Setting::Link.given(link),
            " is for a lattice alone: with inducing points, for which ",
            by,
            " asks, its integral has no closed form; leave that out, or take ",
            Setting::Link.given("square")
        ])
    }

    /// Refuses what is said and has no effect beside the rest. A front end that knows what was typed has its own way.
    pub fn refuse_idle(&self) -> Result<(), Message> {
        self.refuse_link()?;
        let given = |is_given: bool, setting: Setting| is_given.then_some(setting);
        let for_nodes = given(self.tolerance.is_some(), Setting::Tolerance);
        let for_lattices = given(self.nodes.is_some(), Setting::Nodes)
            .or(given(self.smoothness.is_some(), Setting::Smoothness))
            .or(given(self.vary.is_some(), Setting::Vary))
            .or(given(self.budget.is_some(), Setting::Budget));
        let for_inducing = given(self.inducing.is_some(), Setting::Inducing)
            .or(given(self.kernel.is_some(), Setting::Kernel))
            .or(given(self.cycle.is_some(), Setting::Cycle))
            .or(given(self.optimise_inducing, Setting::OptimiseInducing))
            .or(given(self.method.is_some(), Setting::Method))
            .or(given(self.jitter.is_some(), Setting::Jitter))
            .or(for_nodes);
        match (self.shape(), for_lattices, for_inducing) {
            (Shape::Inducing, Some(idle), _) => {
                let by = Setting::Basis.given("inducing");
                let remedy = "has no effect; it is for a lattice: leave one of them out";
                Err(message![by, " asks for inducing points, so ", idle, " {remedy}"])
            }
            (Shape::Lattice(by), _, Some(idle)) => {
                let remedy = "has no effect; it is for inducing points: leave one of them out";
                Err(message![by, " asks for a lattice, so ", idle, " {remedy}"])
            }
            _ if self.exact && for_nodes.is_some() => Err(message![
                Setting::Exact,
                " keeps every event as it is, so ",
                Setting::Tolerance,
                " has no effect; leave it out"
            ]),
            _ => Ok(()),
        }
    }

    /// What f is made of.
    fn family(&self, axes: &[Axis]) -> Result<Family, InputError> {
        match self.shape() {
            Shape::Inducing => Ok(self.inducing_points(axes)?.into()),
            Shape::Lattice(by) => {
                if self.mean == Some(Mean::Paper) {
                    let paper = Setting::Mean.given("paper");
                    let words = "is for inducing points; leave one of them out";
                    return Err(message![by, " asks for a lattice, and ", paper, " {words}"].into());
                }
                Ok(self.lattice(axes)?.into())
            }
            // The words of a lattice where inducing points are not asked for.
            Shape::Open if self.mean == Some(Mean::Constant) && !self.asks_for_inducing() => {
                Ok(self.lattice(axes)?.into())
            }
            Shape::Open => {
                // What only inducing points have asks for them.
                let points = self.inducing_points(axes)?;
                let is_asked = self.inducing.is_some() || points != InducingPoints::default();
                Ok(if is_asked { points.into() } else { Family::Auto })
            }
        }
    }

    /// The kernel as it is written, or as its cycles write it.
    fn kernel_text(&self, axes: &[Axis]) -> Result<Option<String>, Message> {
        match (&self.kernel, &self.cycle) {
            (Some(_), Some(_)) => Err(message![
                Setting::Cycle,
                " writes the kernel itself; leave ",
                Setting::Kernel,
                " out, or write the periods into it"
            ]),
            (kernel, None) => Ok(kernel.clone()),
            (None, Some(cycles)) => cycle_kernel(cycles, axes).map(Some),
        }
    }

    /// Whether something is asked for that only inducing points have.
    fn asks_for_inducing(&self) -> bool {
        self.inducing_asked_by().is_some()
    }

    /// Whether a link means a lattice: the square does, unless inducing points are asked for.
    fn asks_for_link(&self) -> bool {
        self.link.is_some() && (self.is_other_link() || !self.asks_for_inducing())
    }

    /// Whether a link is asked for that inducing points do not have, or a choice among links.
    fn is_other_link(&self) -> bool {
        self.link.as_deref().is_some_and(|name| name != Link::Square.name())
    }

    /// The inducing points asked for.
    fn inducing_points(&self, axes: &[Axis]) -> Result<InducingPoints, InputError> {
        let default = InducingPoints::default();
        Ok(InducingPoints {
            kernel: self.kernel_text(axes)?.map(|text| kernel(&text, axes)).transpose()?,
            points: self.inducing.as_ref().map_or(Ok(Inducing::Auto), |setting| inducing(setting, axes))?,
            optimise: self.optimise_inducing,
            method: self.method.unwrap_or_default(),
            prior_mean: match self.mean {
                Some(Mean::Paper) => PriorMean::Paper,
                Some(Mean::Constant) => PriorMean::Constant,
                Some(Mean::Integrated) | None => PriorMean::Integrated,
            },
            jitter: self.jitter.unwrap_or(default.jitter),
        })
    }

    /// The lattice asked for.
    fn lattice(&self, axes: &[Axis]) -> Result<LatticeChoice, InputError> {
        let nodes = |text: &str| counts(Given { setting: Setting::Nodes, text }, axes);
        Ok(LatticeChoice {
            nodes: self.nodes.as_deref().map(nodes).transpose()?,
            smoothness: match self.smoothness {
                None | Some(Degrees::All) => None,
                Some(Degrees::One(degree)) => Some(degree),
            },
            mean: match self.mean {
                Some(Mean::Constant) => LatticeMean::Learned,
                _ => LatticeMean::Integrated,
            },
            links: match self.link.as_deref() {
                None | Some(AUTO) => Link::ALL.to_vec(),
                Some(name) => vec![name.parse::<Link>()?],
            },
            vary: self.vary.unwrap_or_default(),
        })
    }

    /// An error of a fit, in the words of the settings that led to it.
    pub fn fault(&self, error: Error) -> InputError {
        if let Some(sentence) = super::covariates::fault(&error) {
            return sentence.into();
        }
        let Error::Setting { name: setting, value: asked, requirement } = &error else { return error.into() };
        if let ("nodes", Some(text)) = (setting.as_str(), &self.nodes) {
            let remedy = match requirement.contains("memory") {
                true => message!["; or allow more with ", Setting::MaxMemory],
                false => Message::default(),
            };
            return message![Setting::Nodes.given(text), " {requirement}", remedy].into();
        }
        if let ("inducing points", AUTO, Some(text)) = (setting.as_str(), asked.as_str(), &self.cycle) {
            return message![Setting::Cycle.given(text), " {requirement}", " (", Setting::Inducing, ")"].into();
        }
        if setting == "basis" {
            return message![Setting::Basis.given(asked), " {requirement}"].into();
        }
        if setting == "vary" {
            return message![Setting::Vary.given(asked), " {requirement}; leave it out"].into();
        }
        let named = |text: &&String, sign| text.rsplit_once(sign).is_some_and(|(name, _)| name.trim() == *asked);
        let prior = self.prior.iter().find(|text| named(text, '~')).map(|text| Setting::Prior.given(text));
        let fixed = || self.fix.iter().find(|text| named(text, '=')).map(|text| Setting::Fix.given(text));
        match prior.or_else(fixed).filter(|_| setting == "parameter") {
            Some(given) => message![given, ": there is no parameter `{asked}`; {requirement}"].into(),
            None => error.into(),
        }
    }
}

/// Endings of a budget, and how many seconds they are.
const UNITS: [(&str, f64); 3] = [("min", 60.0), ("h", 3600.0), ("s", 1.0)];

/// How much work is meant by `30s`, `5min`, `2h` or `none`.
fn budget(text: &str) -> Result<Budget, Message> {
    let given = text.trim();
    if given == "none" {
        return Ok(Budget::Unlimited);
    }
    let of_unit = |(ending, seconds): &(&str, f64)| {
        let number: f64 = given.strip_suffix(ending)?.trim().parse().ok()?;
        Some(number * seconds)
    };
    match UNITS.iter().find_map(of_unit) {
        Some(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(Budget::Seconds(seconds)),
        Some(0.0) => Err(message![
            Setting::Budget.given(text),
            " leaves nothing to do; give a time, as in 30s or 5min, or `none`"
        ]),
        _ => Err(message![Setting::Budget.given(text), " is not a time; write it as in 30s, 5min or 1h, or `none`"]),
    }
}

/// No average.
fn off() -> Message {
    Setting::Average.given("off")
}

/// More cycles in a window would need more inducing points than answer while one waits.
const MOST_CYCLES: f64 = 100.0;

/// The axis that is time, with its unit.
fn clock(axes: &[Axis]) -> Option<(&Axis, TimeUnit)> {
    let unit = |axis: &Axis| time_axis(axis).map(|time| time.unit).or(axis.unit.as_ref()?.parse::<TimeUnit>().ok());
    axes.iter().find_map(|axis| Some((axis, unit(axis)?)))
}

/// The length of a cycle in seconds.
fn cycle_seconds(cycle: &str) -> Option<f64> {
    let name = cycle.trim().trim_end_matches('s');
    NamedCycle::ALL.into_iter().find(|named| named.name() == name).map(NamedCycle::seconds)
}

impl FitSettings {
    /// Refuses cycles of which a window has too many.
    pub fn check_cycles(&self, window: &Window) -> Result<(), Message> {
        let (Some(text), Some((axis, unit))) = (&self.cycle, clock(window.axes())) else { return Ok(()) };
        let place = window.axes().iter().position(|own| own.name == axis.name).unwrap_or(0);
        let seconds = window.bounding_box()[place].length() * unit.seconds();
        let lengths = || text.split(',').filter_map(cycle_seconds);
        if lengths().any(|length| length > seconds) {
            return Err(message![
                Setting::Cycle.given(text),
                " is longer than the window, in which nothing can repeat itself; give a longer window, or a shorter cycle"
            ]);
        }
        let shortest = lengths().fold(f64::INFINITY, f64::min);
        if seconds / shortest <= MOST_CYCLES {
            return Ok(());
        }
        let (found, most) = ((seconds / shortest).round(), MOST_CYCLES);
        Err(message![
            Setting::Cycle.given(text),
            ": the window has {found} of them, and at most {most} can be fitted; give a shorter window, a longer cycle, or leave it out"
        ])
    }
}

/// A cycle is thought to stay as it is for about so many of its periods. It is only where the search begins: from a shorter length a week, say, is taken for
/// what changes from day to day, and a much worse optimum is found.
const PERIODS_ALIKE: f64 = 5.0;

/// A trend, and for each cycle one that repeats itself and slowly changes, on the axis of time. On a map each of them may differ from place to place.
fn cycle_kernel(text: &str, axes: &[Axis]) -> Result<String, Message> {
    let Some((axis, unit)) = clock(axes) else {
        return Err(message![
            Setting::Cycle.given(text),
            ": no axis is known to be time; give a column of dates, or its unit (",
            Setting::Unit,
            " t=hours)"
        ]);
    };
    let name = quoted(&axis.name);
    // Of a product over all axes the factor of time begins with a length, if one is given.
    let changing = |length: Option<f64>| -> String {
        let begins = |own: &Axis| match length {
            Some(length) if own.name == axis.name => format!("se({name}, lengthscale={length})"),
            _ => format!("se({})", quoted(&own.name)),
        };
        axes.iter().map(begins).collect::<Vec<_>>().join("*")
    };
    let mut terms = vec![changing(None)];
    let mut lengths = Vec::new();
    for cycle in text.split(',').map(str::trim) {
        let Some(length) = cycle_seconds(cycle) else {
            return Err(message![
                Setting::Cycle.given(text),
                ": `{cycle}` is no cycle; take hour, day, week or year, with commas between"
            ]);
        };
        if lengths.contains(&length) {
            return Err(message![Setting::Cycle.given(text), ": `{cycle}` is there twice; name each cycle once"]);
        }
        lengths.push(length);
        let period = length / unit.seconds();
        terms.push(format!("{}*periodic({name}, period={period}!)", changing(Some(PERIODS_ALIKE * period))));
    }
    Ok(terms.join(" + "))
}

/// The name of an axis as a kernel takes it, whatever letters are in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The kernel asked for; a mistake is shown where it stands.
fn kernel(text: &str, axes: &[Axis]) -> Result<Expression, Message> {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    Expression::parse(text, &names).map_err(|error| {
        let pointing = error.pointing(text).replace('\n', "\n  ");
        message![Setting::Kernel, ": {error}\n  {pointing}"]
    })
}

fn inducing(setting: &InducingSetting, axes: &[Axis]) -> Result<Inducing, InputError> {
    let text = match setting {
        InducingSetting::Text(text) => text.as_str(),
        InducingSetting::At(points) => {
            limit_inducing("places", points.len())?;
            return Ok(Inducing::At(points_inward(points.clone(), axes)?));
        }
    };
    if text == AUTO {
        return Ok(Inducing::Auto);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) && !Path::new(text).is_file() {
        let counts = counts(Given { setting: Setting::Inducing, text }, axes)?;
        limit_inducing(text, counts.iter().product())?;
        return Ok(Inducing::Grid(counts));
    }
    if !Path::new(text).exists() {
        let given = Setting::Inducing.given(text);
        return Err(message![given, ": write a number (31), a grid (20x20), auto, or a file of locations"].into());
    }
    let locations = read_points(text, None, axes, &RowSettings::default())?.points;
    limit_inducing(text, locations.len())?;
    Ok(Inducing::At(locations))
}

fn limit_inducing(text: &str, count: usize) -> Result<(), Message> {
    let most = Inducing::MOST;
    if count <= most {
        return Ok(());
    }
    Err(message![Setting::Inducing.given(text), " makes {count} points; {most} are the most that can be used"])
}

/// `lengthscale ~ lognormal(0, 1)`.
fn prior(text: &str) -> Result<(String, Prior), Message> {
    let given = || Setting::Prior.given(text);
    let bad = || message![given(), " is not understood; write it as in 'lengthscale ~ lognormal(0, 1)'"];
    let (name, density) = text.split_once('~').ok_or_else(bad)?;
    let (family, rest) = density.trim().split_once('(').ok_or_else(bad)?;
    let inside = rest.trim().strip_suffix(')').ok_or_else(bad)?;
    let numbers: Option<Vec<f64>> = inside.split(',').map(|part| part.trim().parse().ok()).collect();
    let numbers = numbers.ok_or_else(bad)?;
    let family = family.trim().to_ascii_lowercase();
    let prior = Prior::by_name(&family, &numbers).map_err(|error| {
        let why = requirement(error);
        message![given(), ": {why}"]
    })?;
    let name = name.trim();
    if name == "mean" && !matches!(prior, Prior::Normal { .. }) {
        return Err(message![given(), ": the mean may be negative; use normal(mean, sd)"]);
    }
    if name.is_empty() { Err(bad()) } else { Ok((name.to_string(), prior)) }
}

/// `lengthscale=10`.
fn fixed(text: &str) -> Result<(String, f64), Message> {
    let given = || Setting::Fix.given(text);
    let bad = || message![given(), " is not understood; write it as in lengthscale=10"];
    let (name, value) = text.rsplit_once('=').ok_or_else(bad)?;
    let (name, value) = (name.trim(), value.trim().parse::<f64>().map_err(|_| bad())?);
    let kind = if must_be_positive(name) { "positive" } else { "finite" };
    if !value.is_finite() || value <= 0.0 && kind == "positive" {
        return Err(message![given(), ": {name} must be a {kind} number"]);
    }
    if name.is_empty() { Err(bad()) } else { Ok((name.to_string(), value)) }
}

/// Whether all that is called so, as in `periodic.period[t]`, is positive; the library knows which of them there are.
fn must_be_positive(name: &str) -> bool {
    let whole = name.split('[').next().unwrap_or(name);
    let last = whole.rsplit('.').next().unwrap_or(whole).trim();
    let mut called = Factor::ALL.iter().flat_map(|factor| factor.parameters()).filter(|p| p.name == last).peekable();
    last == "variance" || called.peek().is_some() && called.all(|parameter| parameter.unit != Unit::Place)
}

/// What the library asks for, without the name of the setting, which the sentence already gives.
fn requirement(error: Error) -> String {
    match error {
        Error::Setting { requirement, .. } => requirement,
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_and_held_values_are_read() {
        let read = prior(" lengthscale[lat]~ Gamma( 2 ,3e-1) ").unwrap();
        assert_eq!(read, ("lengthscale[lat]".into(), Prior::Gamma { shape: 2.0, rate: 0.3 }));
        assert_eq!(fixed("mean = -2").unwrap(), ("mean".into(), -2.0));
        assert!(fixed("mean=nan").unwrap_err().to_string().contains("mean must be a finite number"));
        assert!(fixed("variance=nan").unwrap_err().to_string().contains("must be a positive number"));
        assert_eq!(fixed("se.lengthscale[t]= 2").unwrap(), ("se.lengthscale[t]".into(), 2.0));
        for text in [
            "lengthscale",
            "lengthscale ~ gamma",
            "lengthscale ~ gamma(1)",
            "lengthscale ~ cauchy(1, 2)",
            "lengthscale ~ gamma(1, -2)",
            "variance ~ gamma(a, 2)",
            "mean ~ gamma(1, 2)",
            " ~ gamma(1, 2)",
            "",
        ] {
            assert!(prior(text).is_err_and(|said| said.to_string().starts_with("`prior = ")), "{text}");
        }
        for text in
            ["lengthscale", "lengthscale=", "lengthscale=-1", "variance=0", "se.lengthscale[t]=-1", "=1", "mean=nan"]
        {
            assert!(fixed(text).is_err_and(|said| said.to_string().starts_with("`fix = ")), "{text}");
        }
    }

    #[test]
    fn every_term_of_a_kernel_with_cycles_changes_over_all_axes() {
        let axis = |name: &str, unit: Option<&str>| Axis {
            name: name.into(),
            unit: unit.map(String::from),
            ..Axis::default()
        };
        let axes = [axis("x", None), axis("y", None), axis("time of day", Some("hours"))];
        let settings = FitSettings { cycle: Some("day,week".into()), ..Default::default() };
        let text = settings.kernel_text(&axes).unwrap().unwrap();
        let kernel = kernel(&text, &axes).unwrap();
        let with = |factor: Factor| -> Vec<Vec<usize>> {
            let axes_of = |term: &pointillist::kernel::TermExpression| {
                term.parts.iter().filter(|part| part.factor == factor).map(|part| part.axis).collect()
            };
            kernel.terms.iter().map(axes_of).collect()
        };
        assert_eq!(with(Factor::SquaredExponential), vec![vec![0, 1, 2]; 3]);
        assert_eq!(with(Factor::Periodic), [vec![], vec![2], vec![2]]);
        // A cycle begins as one that stays what it is for some of its periods.
        let text = settings.kernel_text(&axes[2..]).unwrap().unwrap();
        let name = "\"time of day\"";
        let day = format!("se({name}) + se({name}, lengthscale=120)*periodic({name}, period=24!) + ");
        assert!(text.starts_with(&day) && text.contains("lengthscale=840)"), "{text}");
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        let refused = |settings: FitSettings, words: &str| {
            let said = settings.refuse_idle().unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        };
        let nodes = Some("20".to_string());
        refused(
            FitSettings { nodes: nodes.clone(), kernel: Some("se".into()), ..Default::default() },
            "`kernel` has no",
        );
        refused(FitSettings { nodes, basis: Basis::Inducing, ..Default::default() }, "`nodes` has no effect");
        refused(FitSettings { exact: true, tolerance: Some(0.1), ..Default::default() }, "`tolerance` has no effect");
        assert_eq!(
            FitSettings { kernel: Some("se".into()), jitter: Some(0.1), ..Default::default() }.refuse_idle(),
            Ok(())
        );
    }
}
