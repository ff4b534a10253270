//! Small languages of the options: priors, held values, inducing points, sigmoidal processes; and the model they make.

pub use crate::io::spec::{plural, quantiles};

use super::{Context, Failure, input};
use crate::args::{BasisName, FitOptions, MeanName, MethodName, SmoothnessName, Switch};
use crate::io::spec::{counts, repeated};
use crate::io::{self, Given, Setting};
use crate::options::Mode;
use pointillist::kernel::{Expression, Factor, Unit};
use pointillist::settings::{Inducing, LatticeMean, Method, PriorMean, Smoothness};
use pointillist::{Axis, Error, Family, InducingPoints, LatticeChoice, Link, Model, Prior};
use pointillist_rivals::sgcp;

/// What `--prior` says for none at all.
const NO_PRIOR: &str = "none";

/// The model that the options describe, for events on these axes.
pub fn model(options: &FitOptions, axes: &[Axis], context: &Context) -> Result<Model, Failure> {
    if options.exact {
        context.refuse_idle(Mode::EveryEvent)?;
    }
    let default = Model::default();
    let is_none = |text: &&String| text.trim() == NO_PRIOR;
    let penalise = !options.prior.iter().any(|text| is_none(&text));
    let priors: Vec<(String, Prior)> =
        options.prior.iter().filter(|text| !is_none(text)).map(|text| prior(text)).collect::<Result<_, _>>()?;
    let fixed = options.fix.iter().map(|text| fixed(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(name) = repeated(&fixed.iter().map(|(name, _)| name).collect::<Vec<_>>()) {
        return Err(format!("--fix: {name} is held at two values; give it once").into());
    }
    if !(0.0..1.0).contains(&options.jitter) {
        return Err(format!("--jitter {} must lie between 0 and 1", options.jitter).into());
    }
    if options.max_evaluations == 0 {
        return Err("--max-evaluations 0 leaves nothing to do; allow at least one".to_string().into());
    }
    let average = options.average != Some(Switch::Off);
    let is_held = fixed.iter().any(|(name, _)| name == "mean");
    let is_learned = options.mean == Some(MeanName::Constant) && !is_held;
    if average && is_learned && !asks_for_inducing(options) && options.basis != BasisName::Inducing {
        let sentence = "--mean constant is learned as one value, and an average integrates over it; add --average off, or leave it out";
        return Err(sentence.to_string().into());
    }
    let is_believed = priors.iter().any(|(name, _)| name == "mean");
    if options.mean == Some(MeanName::Integrated) && (is_held || is_believed) {
        let sentence = "--mean integrated integrates over the mean, and --fix or --prior says something of it; leave one of them out";
        return Err(sentence.to_string().into());
    }
    if options.average == Some(Switch::On) && options.method == MethodName::Joint {
        let sentence =
            "--method joint finds one answer and has no average; leave out one of --average on and --method joint";
        return Err(sentence.to_string().into());
    }
    Ok(Model {
        family: family(options, axes, context)?,
        priors,
        fixed,
        most_evaluations: options.max_evaluations,
        // What nobody set is the same on every machine.
        most_bytes: io::given_limit().map_or(default.most_bytes, |most| most as usize),
        exact: options.exact,
        tolerance: options.tolerance,
        errors: options.errors,
        average,
        penalise,
        ..default
    })
}

/// What f is made of.
fn family(options: &FitOptions, axes: &[Axis], context: &Context) -> Result<Family, Failure> {
    let asked_by = |given: bool, name: &'static str| given.then_some(name);
    let on_lattice = asked_by(options.basis == BasisName::Lattice, "--basis lattice")
        .or(asked_by(options.nodes.is_some(), "--nodes"))
        .or(asked_by(options.smoothness.is_some(), "--smoothness"))
        .or(asked_by(asks_for_link(options), "--link"));
    match (options.basis, on_lattice) {
        (BasisName::Inducing, _) => {
            context.refuse_idle(Mode::OnInducing("--basis inducing"))?;
            if let Some(link) = options.link.as_ref().filter(|_| is_other_link(options)) {
                return Err(format!(
                    "--link {link} is for a lattice alone: with inducing points its integral has no closed form; \
                     take --basis lattice, or --link square"
                )
                .into());
            }
            Ok(inducing_points(options, axes)?.into())
        }
        (_, Some(option)) => {
            context.refuse_idle(Mode::OnLattice(option))?;
            if options.mean == Some(MeanName::Paper) {
                return Err(format!(
                    "{option} asks for a lattice, and --mean paper is for inducing points; leave one of them out"
                )
                .into());
            }
            Ok(lattice(options, axes)?.into())
        }
        // The words of a lattice where inducing points are not asked for.
        _ if options.mean == Some(MeanName::Constant) && !asks_for_inducing(options) => {
            Ok(lattice(options, axes)?.into())
        }
        _ => {
            // What only inducing points have asks for them.
            let points = inducing_points(options, axes)?;
            let is_asked = options.inducing.is_some() || points != InducingPoints::default();
            Ok(if is_asked { points.into() } else { Family::Auto })
        }
    }
}

/// Whether something is asked for that only inducing points have.
fn asks_for_inducing(options: &FitOptions) -> bool {
    options.inducing.is_some()
        || options.kernel.is_some()
        || options.optimise_inducing
        || options.method == MethodName::Joint
}

/// Whether a link means a lattice: the square does, unless inducing points are asked for.
fn asks_for_link(options: &FitOptions) -> bool {
    options.link.is_some() && (is_other_link(options) || !asks_for_inducing(options))
}

/// Whether a link is asked for that inducing points do not have, or a choice among links.
fn is_other_link(options: &FitOptions) -> bool {
    options.link.as_deref().is_some_and(|name| name != Link::Square.name())
}

/// The inducing points asked for.
fn inducing_points(options: &FitOptions, axes: &[Axis]) -> Result<InducingPoints, Failure> {
    Ok(InducingPoints {
        kernel: options.kernel.as_deref().map(|text| kernel(text, axes)).transpose()?,
        points: options.inducing.as_deref().map_or(Ok(Inducing::Auto), |text| inducing(text, axes))?,
        optimise: options.optimise_inducing,
        method: match options.method {
            MethodName::Collapsed => Method::Collapsed,
            MethodName::Joint => Method::Joint,
        },
        prior_mean: match options.mean {
            Some(MeanName::Paper) => PriorMean::Paper,
            Some(MeanName::Constant) => PriorMean::Constant,
            Some(MeanName::Integrated) | None => PriorMean::Integrated,
        },
        jitter: options.jitter,
    })
}

/// The lattice asked for.
fn lattice(options: &FitOptions, axes: &[Axis]) -> Result<LatticeChoice, Failure> {
    let smoothness = match options.smoothness {
        None | Some(SmoothnessName::Auto) => None,
        Some(SmoothnessName::One) => Some(Smoothness::One),
        Some(SmoothnessName::Two) => Some(Smoothness::Two),
        Some(SmoothnessName::Four) => Some(Smoothness::Four),
    };
    Ok(LatticeChoice {
        nodes: options
            .nodes
            .as_deref()
            .map(|text| counts(Given { setting: Setting::Nodes, text }, axes))
            .transpose()?,
        smoothness,
        mean: match options.mean {
            Some(MeanName::Constant) => LatticeMean::Learned,
            _ => LatticeMean::Integrated,
        },
        links: match options.link.as_deref() {
            None | Some("auto") => Link::ALL.to_vec(),
            Some(name) => vec![name.parse::<Link>()?],
        },
    })
}

/// The kernel asked for; a mistake is shown where it stands.
fn kernel(text: &str, axes: &[Axis]) -> Result<Expression, Failure> {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    Expression::parse(text, &names).map_err(|error| {
        let pointing = error.pointing(text).replace('\n', "\n  ");
        format!("--kernel: {error}\n  {pointing}").into()
    })
}

fn inducing(text: &str, axes: &[Axis]) -> Result<Inducing, Failure> {
    if text == "auto" {
        return Ok(Inducing::Auto);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) && !std::path::Path::new(text).is_file() {
        let counts = counts(Given { setting: Setting::Inducing, text }, axes)?;
        limit_inducing(text, counts.iter().product())?;
        return Ok(Inducing::Grid(counts));
    }
    if !std::path::Path::new(text).exists() {
        return Err(
            format!("--inducing {text}: write a number (31), a grid (20x20), auto, or a file of locations").into()
        );
    }
    let locations = input::points(text, None, axes, &Default::default())?.points;
    limit_inducing(text, locations.len())?;
    Ok(Inducing::At(locations))
}

fn limit_inducing(text: &str, count: usize) -> Result<(), Failure> {
    let most = Inducing::MOST;
    if count <= most {
        return Ok(());
    }
    Err(format!("--inducing {text} makes {count} points; {most} are the most that can be used").into())
}

/// Thresholds of a rate, one from each text.
pub fn thresholds(texts: &[String]) -> Result<Vec<f64>, Failure> {
    let one = |text: &String| match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(format!("--exceed {text}: write a rate, a number that is not negative, as in --exceed 2")),
    };
    let all = texts.iter().map(one).collect::<Result<Vec<f64>, _>>()?;
    match repeated(&all) {
        Some(value) => Err(format!("--exceed: {value} is given twice; give it once").into()),
        None => Ok(all),
    }
}

/// What a window of so many axes is measured by.
pub fn measure_name(dims: usize) -> &'static str {
    match dims {
        1 => "length",
        2 => "area",
        _ => "volume",
    }
}

/// `lengthscale ~ lognormal(0, 1)`.
fn prior(text: &str) -> Result<(String, Prior), Failure> {
    let help = "write it as in 'lengthscale ~ lognormal(0, 1)'";
    let bad = || format!("--prior '{text}' is not understood; {help}");
    let (name, density) = text.split_once('~').ok_or_else(bad)?;
    let (family, rest) = density.trim().split_once('(').ok_or_else(bad)?;
    let inside = rest.trim().strip_suffix(')').ok_or_else(bad)?;
    let numbers: Option<Vec<f64>> = inside.split(',').map(|part| part.trim().parse().ok()).collect();
    let numbers = numbers.ok_or_else(bad)?;
    let family = family.trim().to_ascii_lowercase();
    let prior =
        Prior::by_name(&family, &numbers).map_err(|error| format!("--prior '{text}': {}", requirement(error)))?;
    let name = name.trim();
    if name == "mean" && !matches!(prior, Prior::Normal { .. }) {
        return Err(format!("--prior '{text}': the mean may be negative; use normal(mean, sd)").into());
    }
    if name.is_empty() { Err(bad().into()) } else { Ok((name.to_string(), prior)) }
}

/// `lengthscale=10`.
fn fixed(text: &str) -> Result<(String, f64), Failure> {
    let bad = || format!("--fix '{text}' is not understood; write it as in lengthscale=10");
    let (name, value) = text.rsplit_once('=').ok_or_else(bad)?;
    let (name, value) = (name.trim(), value.trim().parse::<f64>().map_err(|_| bad())?);
    let kind = if must_be_positive(name) { "positive" } else { "finite" };
    if !value.is_finite() || value <= 0.0 && kind == "positive" {
        return Err(format!("--fix '{text}': {name} must be a {kind} number").into());
    }
    if name.is_empty() { Err(bad().into()) } else { Ok((name.to_string(), value)) }
}

/// Whether all that is called so, as in `periodic.period[t]`, is positive; the library knows which of them there are.
fn must_be_positive(name: &str) -> bool {
    let whole = name.split('[').next().unwrap_or(name);
    let last = whole.rsplit('.').next().unwrap_or(whole).trim();
    let mut called = Factor::ALL.iter().flat_map(|factor| factor.parameters()).filter(|p| p.name == last).peekable();
    last == "variance" || called.peek().is_some() && called.all(|parameter| parameter.unit != Unit::Place)
}

/// `ceiling=10, lengthscale=0.2, variance=1, mean=0`: a sigmoidal process on these axes.
pub fn sgcp(text: &str, axes: &[Axis]) -> Result<sgcp::Parameters, String> {
    let of_axis = |r: usize| [format!("lengthscale[{}]", axes[r].name), format!("lengthscale[{r}]")];
    let mut names: Vec<String> = ["ceiling", "lengthscale", "variance", "mean"].map(String::from).to_vec();
    names.extend((0..axes.len()).flat_map(of_axis));
    let mut said: Vec<(&str, f64)> = Vec::new();
    for part in text.split(',') {
        let (name, value) = sgcp_parameter(part.trim(), &names, &axes[0].name)?;
        if said.iter().any(|(known, _)| *known == name) {
            return Err(format!("--sgcp: {name} is given twice; keep one of them"));
        }
        said.push((name, value));
    }
    let find = |name: &str| said.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let missing = |name: &str, what: &str, example: &str| {
        format!("--sgcp '{text}' has no {name}, {what}; add it, as in {name}={example}")
    };
    let lengthscale = |r: usize| {
        let own = of_axis(r).iter().find_map(|name| find(name)).or(find("lengthscale"));
        own.ok_or_else(|| missing("lengthscale", &format!("over which the rate changes along {}", axes[r].name), "0.2"))
    };
    Ok(sgcp::Parameters {
        ceiling: find("ceiling").ok_or_else(|| missing("ceiling", "above which no rate lies", "10"))?,
        lengthscales: (0..axes.len()).map(lengthscale).collect::<Result<_, _>>()?,
        variance: find("variance").unwrap_or(1.0),
        mean: find("mean").unwrap_or(0.0),
    })
}

/// `ceiling=10`: one of these names, and its value.
fn sgcp_parameter<'a>(text: &'a str, names: &[String], axis: &str) -> Result<(&'a str, f64), String> {
    let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
        return Err(format!("--sgcp: `{text}` is not understood; write it as in 'ceiling=10, lengthscale=0.2'"));
    };
    if !names.iter().any(|known| known == name) {
        let there = format!("ceiling, lengthscale (lengthscale[{axis}] for one axis), variance and mean");
        return Err(format!("--sgcp: there is no parameter `{name}`; there are {there}"));
    }
    match value.parse() {
        Ok(number) => Ok((name, number)),
        Err(_) => Err(format!("--sgcp: {name}={value} is not a number; write it as in {name}=1")),
    }
}

/// An error of a fit, in the words of the options that led to it.
pub fn fault(error: Error, options: &FitOptions) -> Failure {
    let Error::Setting { name: setting, value: asked, requirement } = &error else { return error.into() };
    if let ("nodes", Some(text)) = (setting.as_str(), &options.nodes) {
        let remedy = if requirement.contains("memory") { "; or allow more with --max-memory" } else { "" };
        return format!("--nodes {text} {requirement}{remedy}").into();
    }
    if setting == "basis" {
        return format!("--basis {asked} {requirement}").into();
    }
    let named = |text: &&String, sign| text.rsplit_once(sign).is_some_and(|(name, _)| name.trim() == *asked);
    let prior = options.prior.iter().find(|text| named(text, '~')).map(|text| format!("--prior '{text}'"));
    let fixed = || options.fix.iter().find(|text| named(text, '=')).map(|text| format!("--fix '{text}'"));
    match prior.or_else(fixed).filter(|_| setting == "parameter") {
        Some(option) => format!("{option}: there is no parameter `{asked}`; {requirement}").into(),
        None => error.into(),
    }
}

/// What the library asks for, without the name of the setting, which the option already gives.
pub fn requirement(error: Error) -> String {
    match error {
        Error::Setting { requirement, .. } => requirement,
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(names: &[&str]) -> Vec<Axis> {
        names.iter().map(|name| Axis { name: name.to_string(), ..Axis::default() }).collect()
    }

    #[test]
    fn priors_and_held_values_are_read() {
        let read = prior(" lengthscale[lat]~ Gamma( 2 ,3e-1) ").unwrap();
        assert_eq!(read, ("lengthscale[lat]".into(), Prior::Gamma { shape: 2.0, rate: 0.3 }));
        assert_eq!(fixed("mean = -2").unwrap(), ("mean".into(), -2.0));
        assert!(matches!(fixed("mean=nan"), Err(Failure::Sentence(s)) if s.contains("mean must be a finite number")));
        assert!(matches!(fixed("variance=nan"), Err(Failure::Sentence(s)) if s.contains("must be a positive number")));
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
            assert!(matches!(prior(text), Err(Failure::Sentence(s)) if s.starts_with("--prior")), "{text}");
        }
        for text in
            ["lengthscale", "lengthscale=", "lengthscale=-1", "variance=0", "se.lengthscale[t]=-1", "=1", "mean=nan"]
        {
            assert!(matches!(fixed(text), Err(Failure::Sentence(s)) if s.starts_with("--fix")), "{text}");
        }
    }

    #[test]
    fn sigmoidal_processes_are_read() {
        let read = |text: &str| sgcp(text, &axes(&["lon", "lat"]));
        let parameters = |ceiling, lengthscales: [f64; 2], variance, mean| {
            Ok(sgcp::Parameters { ceiling, lengthscales: lengthscales.to_vec(), variance, mean })
        };
        assert_eq!(read("ceiling=10,lengthscale=0.2"), parameters(10.0, [0.2; 2], 1.0, 0.0));
        let all = " mean = -1, variance=2e-1 ,lengthscale=3, lengthscale[lat]=4, ceiling=5";
        assert_eq!(read(all), parameters(5.0, [3.0, 4.0], 0.2, -1.0));
        assert_eq!(read("ceiling=1, lengthscale[1]=2, lengthscale[lon]=3"), parameters(1.0, [3.0, 2.0], 1.0, 0.0));
        for (text, what) in [
            ("", "`` is not understood"),
            ("10", "ceiling=10, lengthscale=0.2"),
            ("ceiling=10, lengthscale=0.2,", "`` is not understood"),
            ("lengthscale=1", "no ceiling"),
            ("ceiling=1, lengthscale[lon]=1", "along lat"),
            ("ceiling=ten, lengthscale=1", "ceiling=ten is not a number"),
            ("ceiling=1, lengthscale=0.1:0.3", "lengthscale=0.1:0.3 is not a number"),
            ("ceiling=1, ceiling=2", "ceiling is given twice"),
            ("ceiling=1, lengthscale[x]=2", "lengthscale[lon] for one axis"),
            ("rate=1", "no parameter `rate`"),
        ] {
            assert!(read(text).is_err_and(|error| error.starts_with("--sgcp") && error.contains(what)), "{text}");
        }
    }
}
