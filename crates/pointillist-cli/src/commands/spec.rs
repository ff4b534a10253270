//! Small languages of the options: thresholds, sigmoidal processes; and the model that options make.

pub use crate::io::spec::{plural, quantiles, repeated};

use super::{Context, Failure};
use crate::args::{BasisName, FitOptions, MeanName, MethodName, SmoothnessName, Switch, VaryName};
use crate::io::{Basis, Degrees, FitSettings, InducingSetting, Mean, Shape};
use crate::options::Mode;
use crate::spelling::spelled;
use pointillist::settings::{Method, Smoothness, Vary};
use pointillist::{Axis, Error, Model};
use pointillist_rivals::sgcp;

impl FitOptions {
    /// For the crate that makes models of them.
    pub fn settings(&self) -> FitSettings {
        FitSettings {
            basis: match self.basis {
                BasisName::Auto => Basis::Auto,
                BasisName::Inducing => Basis::Inducing,
                BasisName::Lattice => Basis::Lattice,
            },
            nodes: self.nodes.clone(),
            budget: self.budget.clone(),
            link: self.link.clone(),
            smoothness: self.smoothness.map(|name| match name {
                SmoothnessName::Auto => Degrees::All,
                SmoothnessName::One => Degrees::One(Smoothness::One),
                SmoothnessName::Two => Degrees::One(Smoothness::Two),
                SmoothnessName::Four => Degrees::One(Smoothness::Four),
            }),
            vary: self.vary.map(|name| match name {
                VaryName::Auto => Vary::Auto,
                VaryName::On => Vary::On,
                VaryName::Off => Vary::Off,
            }),
            kernel: self.kernel.clone(),
            cycle: self.cycle.clone(),
            inducing: self.inducing.clone().map(InducingSetting::Text),
            optimise_inducing: self.optimise_inducing,
            mean: self.mean.map(|mean| match mean {
                MeanName::Constant => Mean::Constant,
                MeanName::Paper => Mean::Paper,
                MeanName::Integrated => Mean::Integrated,
            }),
            prior: self.prior.clone(),
            fix: self.fix.clone(),
            method: Some(match self.method {
                MethodName::Collapsed => Method::Collapsed,
                MethodName::Joint => Method::Joint,
            }),
            jitter: Some(self.jitter),
            tolerance: Some(self.tolerance),
            average: self.average.map(|switch| switch == Switch::On),
            errors: self.errors,
            max_evaluations: Some(self.max_evaluations),
            exact: self.exact,
        }
    }
}

/// The model that the options describe, for events on these axes. Options that do nothing beside the others are refused.
pub fn model(options: &FitOptions, axes: &[Axis], context: &Context) -> Result<Model, Failure> {
    if options.exact {
        context.refuse_idle(Mode::EveryEvent)?;
    }
    let settings = options.settings();
    settings.refuse_link()?;
    match settings.shape() {
        Shape::Inducing => context.refuse_idle(Mode::OnInducing("--basis inducing"))?,
        Shape::Lattice(by) => context.refuse_idle(Mode::OnLattice(&spelled(&by)))?,
        Shape::Open => {}
    }
    Ok(settings.model(axes)?)
}

/// Thresholds of a rate, one from each text.
pub fn thresholds(texts: &[String], least: f64) -> Result<Vec<f64>, Failure> {
    let one = |text: &String| match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= least => Ok(value),
        _ => Err(format!("--exceed {text}: write a rate, a number that is not negative, as in --exceed 2")),
    };
    let all = texts.iter().map(one).collect::<Result<Vec<f64>, _>>()?;
    match repeated(&all) {
        Some(value) => Err(format!("--exceed: {value} is given twice; give it once").into()),
        None => Ok(all),
    }
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
    options.settings().fault(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(names: &[&str]) -> Vec<Axis> {
        names.iter().map(|name| Axis { name: name.to_string(), ..Axis::default() }).collect()
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
