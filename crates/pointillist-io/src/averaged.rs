//! What an average over hyper-parameters and families has to say of them.

use super::fit_summary::{ErrorSummary, Summary};
use pointillist::kernel::{Parameter, Part, Unit};
use pointillist::{Axis, Link, Posterior, Prior};
use serde::{Deserialize, Serialize};

/// A range that its prior thinks short.
fn short_range(prior: Prior) -> Option<f64> {
    match prior {
        Prior::Length { least, .. } => Some(2.0 * least),
        _ => None,
    }
}

/// One component of an average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComponentSummary {
    /// Its weight.
    pub weight: f64,
    /// How the intensity is made from f.
    pub link: String,
    /// What f is made of.
    pub basis: String,
    /// How smooth f is, on a lattice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<usize>,
    /// The kernel, with inducing points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The range along each axis, twice the length-scale; none of a kernel without one length-scale per axis.
    pub range: Vec<f64>,
    /// The prior standard deviation of f.
    pub sd: f64,
    /// How much more than elsewhere f varies about each of a grid of knots over the window, if that is not the same everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale: Vec<f64>,
    /// Whether it stands for a rate that does not vary.
    #[serde(default)]
    pub constant: bool,
    /// Whether f has covariates too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub covariates: bool,
}

/// A family that counts for less is not named in an average.
const SHOWN: f64 = 0.005;
/// The components that the library drops, in words.
const LIGHT: &str = "components below 1 % of the heaviest";

/// What becomes of clusters that the rate follows.
const BURSTS: &str = "their clusters are taken for changes of the rate";

impl ComponentSummary {
    /// Those of a posterior.
    pub fn of(posterior: &Posterior) -> Vec<Self> {
        let one = |(number, weight): (usize, &f64)| Self::of_one(*weight, &posterior.component(number)?);
        posterior.weights().iter().enumerate().map(one).collect::<Option<_>>().unwrap_or_default()
    }

    /// Whether a warning of a fit is that of [`ComponentSummary::of_bursts`].
    pub fn is_of_bursts(warning: &str) -> bool {
        warning.contains(BURSTS)
    }

    /// A sentence where the rate along a line changes faster than the prior thinks likely: events that bring about others look like that.
    pub fn of_bursts(components: &[Self], priors: &[(String, Prior)], axes: &[Axis]) -> Option<String> {
        let ([axis], Some(least)) = (axes, priors.iter().find_map(|(_, prior)| short_range(*prior))) else {
            return None;
        };
        let varying = || components.iter().filter(|one| !one.constant);
        let weight: f64 = varying().map(|one| one.weight).sum();
        let log_range: f64 = varying().map(|one| one.weight * one.range.first().map_or(f64::NAN, |r| r.ln())).sum();
        let range = (log_range / weight).exp();
        let unit = axis.unit.as_deref().map_or(String::new(), |unit| format!(" {unit}"));
        let what = format!(
            "if events bring about others (aftershocks, bursts, replies), {BURSTS}, and the bands are not for a next time"
        );
        if range < least {
            let range = short(range);
            return Some(format!(
                "the rate changes within about {range}{unit}, faster than 19 in 20 rates on such a window: {what}"
            ));
        }
        // A long range does not keep a rough and wide field from jumping.
        let folds: Vec<(f64, f64)> = varying().filter_map(|one| Some((one.weight, one.fold()?.ln()))).collect();
        let rough: f64 = folds.iter().map(|(part, _)| part).sum();
        let fold = (folds.iter().map(|(part, log)| part * log).sum::<f64>() / rough).exp();
        let near = short(fold);
        (rough > 0.5 * weight && fold < least)
            .then(|| format!("the rate jumps, up or down by a factor of about 3 within {near}{unit}: {what}"))
    }

    /// The distance within which a rough rate usually changes by a factor of e: where the increments of the logarithm, 2σ²(1 − exp(−d/ℓ)) under the least smooth prior, have
    /// a variance of 1. None of a smooth one, or of one that varies by less.
    fn fold(&self) -> Option<f64> {
        let twice = 2.0 * self.sd * self.sd;
        let is_rough = self.smoothness == Some(1) && self.link == Link::Log.to_string() && twice > 1.0;
        is_rough.then(|| -0.5 * self.range[0] * (1.0 - 1.0 / twice).ln())
    }

    fn of_one(weight: f64, component: &Posterior) -> Option<Self> {
        if let Some(lattice) = component.lattice() {
            return Some(Self {
                weight,
                link: lattice.link.to_string(),
                basis: "lattice".into(),
                smoothness: Some(lattice.smoothness.alpha()),
                kernel: None,
                range: lattice.lengthscales.iter().map(|length| 2.0 * length).collect(),
                sd: lattice.variance.sqrt(),
                constant: lattice.is_constant(),
                scale: lattice.scale,
                covariates: !component.covariates().is_empty(),
            });
        }
        let kernel = component.kernel()?;
        let axes: Vec<&str> = component.window().axes().iter().map(|axis| axis.name.as_str()).collect();
        let lengths = kernel.lengthscales();
        let is_length = |part: &Part| {
            part.factor.parameters().iter().all(|one| one.unit == Unit::Length && one.name != Parameter::PERIOD.name)
        };
        let is_plain = kernel.terms.len() == 1 && kernel.terms[0].parts.iter().all(is_length);
        let has_one_each = is_plain && lengths.len() == axes.len();
        Some(Self {
            weight,
            link: Link::Square.to_string(),
            basis: "inducing".into(),
            smoothness: None,
            kernel: Some(kernel.expression(&axes)),
            range: if has_one_each { lengths.iter().map(|length| 2.0 * length).collect() } else { vec![] },
            sd: kernel.variance().sqrt(),
            scale: vec![],
            constant: false,
            covariates: false,
        })
    }

    /// The family that it belongs to, in words.
    fn family(&self) -> String {
        match (&self.kernel, self.smoothness) {
            _ if self.constant && self.covariates => "covariates alone".into(),
            _ if self.constant => "constant rate".into(),
            (Some(kernel), _) => format!("{kernel} on inducing points"),
            (None, smoothness) => {
                let local = if self.scale.is_empty() { "" } else { " with a local scale" };
                format!("{} link, smoothness {}{local}", self.link, smoothness.unwrap_or_default())
            }
        }
    }
}

/// An average, for people.
pub struct Told<'a> {
    summary: &'a Summary,
}

impl<'a> Told<'a> {
    /// Of a summary, if it is of an average.
    pub fn of(summary: &'a Summary) -> Option<Self> {
        (summary.averaged && !summary.components.is_empty()).then_some(Self { summary })
    }

    /// Its rows: names and what they say.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mean = &self.summary.mean_rate;
        let rate = format!("{} {} on average", short(mean.value), mean.unit.as_deref().unwrap_or("events"));
        let mut rows = vec![("rate", rate), ("model", self.families())];
        if self.varying().next().is_some() {
            if self.varying().all(|component| !component.range.is_empty()) {
                rows.push(("range", self.ranges()));
            }
            rows.push(("sd of f", self.deviations()));
            rows.extend(self.local_scale().map(|words| ("local scale", words)));
        }
        rows.extend(self.prior().map(|words| ("prior", words)));
        rows
    }

    /// The components of a rate that varies.
    fn varying(&self) -> impl Iterator<Item = &'a ComponentSummary> + Clone {
        self.summary.components.iter().filter(|component| !component.constant)
    }

    /// What has no place in the average, or none in what is said of it.
    pub fn left_out(&self) -> Option<String> {
        let families = self.weights();
        let is_shown = |name: &str| families.iter().any(|(known, weight)| known.ends_with(name) && *weight > SHOWN);
        let tried = self.summary.tried.iter().filter(|tried| tried.elbo.is_some() && !is_shown(&tried.name));
        let unseen: Vec<&str> = tried.map(|tried| tried.name.as_str()).collect();
        let light = (self.summary.components.len() > 1).then(|| LIGHT.to_string());
        let families = (!unseen.is_empty()).then(|| format!("{}, below {} %", unseen.join(", "), 100.0 * SHOWN));
        let both: Vec<String> = families.into_iter().chain(light).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// Which families there are, and how much they count; the heaviest first.
    fn weights(&self) -> Vec<(String, f64)> {
        let mut families: Vec<(String, f64)> = Vec::new();
        for component in &self.summary.components {
            let name = component.family();
            match families.iter_mut().find(|(known, _)| *known == name) {
                Some((_, weight)) => *weight += component.weight,
                None => families.push((name, component.weight)),
            }
        }
        families.sort_by(|a, b| b.1.total_cmp(&a.1));
        families
    }

    /// The families, in words.
    fn families(&self) -> String {
        let words: Vec<String> = self
            .weights()
            .iter()
            .filter(|(_, weight)| *weight > SHOWN)
            .map(|(name, weight)| format!("{name} {:.0} %", 100.0 * weight))
            .collect();
        let count = match self.summary.components.len() {
            1 => String::new(),
            count => format!("an average of {count}: "),
        };
        let alone = match self.summary.alone.as_deref() {
            Some("many_events") => "; with so many events hyper-parameters stay at their best",
            Some("no_difference") => {
                "; hyper-parameters stay at their best, others would move no band by 1 % of its width"
            }
            _ => "",
        };
        format!("{count}{}{alone}", words.join(", "))
    }

    /// The range of f: mean and standard deviation over the components, or the value with its standard error.
    fn ranges(&self) -> String {
        let summary = self.summary;
        let dims = summary.components[0].range.len();
        let of_axis = |r: usize| {
            let (mean, spread) = moments(self.varying().map(|c| (c.weight, c.range[r])));
            (mean, spread.max(mean * self.relative_error_of(summary, r).unwrap_or(0.0)))
        };
        let is_one = self.varying().all(|c| c.range.iter().all(|range| (range / c.range[0] - 1.0).abs() < 1e-6));
        let axes = &summary.window.axes;
        let unit = |r: usize| {
            axes.get(r).and_then(|axis| axis.unit.as_ref()).map(|unit| format!(" {unit}")).unwrap_or_default()
        };
        let said = |r: usize| {
            let (mean, error) = of_axis(r);
            let error = give_or_take(mean, error);
            format!("{}{error}{}", short(mean), unit(r))
        };
        let ranges = match is_one && dims > 1 {
            true => format!("{} in every direction", said(0)),
            false if dims == 1 => said(0),
            false => (0..dims).map(|r| format!("{} {}", axes[r].name, said(r))).collect::<Vec<_>>().join(", "),
        };
        format!("{ranges}, where the correlation of f has fallen to 0.13")
    }

    /// The standard error of a length-scale at the best Θ, as a part of it. Components are found until bands stay as they are, which may be before all that is likely of
    /// Θ is among them: then their spread says too little.
    fn relative_error_of(&self, summary: &Summary, r: usize) -> Option<f64> {
        let name = &summary.window.axes.get(r)?.name;
        let is_meant = |error: &&ErrorSummary| {
            error.name == "lengthscale"
                || error.name == format!("lengthscale[{name}]")
                || error.name == format!("lengthscale[{r}]")
        };
        summary.standard_errors.iter().find(is_meant).map(|error| error.se / error.value)
    }

    /// The standard error of the standard deviation of f at the best Θ, if that has this link.
    fn error_of_deviation(&self, link: &str) -> Option<f64> {
        let heaviest = self.varying().next().filter(|component| component.link == link)?;
        let of_variance = self.summary.standard_errors.iter().find(|error| error.name == "variance")?;
        Some(0.5 * of_variance.se / heaviest.sd)
    }

    /// The prior standard deviation of f, for each link.
    fn deviations(&self) -> String {
        let components = self.varying();
        let mut links: Vec<&str> = components.clone().map(|component| component.link.as_str()).collect();
        links.sort_unstable();
        links.dedup();
        let said = |link: &&str| {
            let own = components.clone().filter(|component| component.link == **link);
            let (mean, spread) = moments(own.map(|component| (component.weight, component.sd)));
            let error = give_or_take(mean, spread.max(self.error_of_deviation(link).unwrap_or(0.0)));
            match *link {
                "log" => format!("{}{error} of the logarithm of the rate", short(mean)),
                "square" => format!("{}{error} of the root of the rate", short(mean)),
                other => format!("{}{error} ({other} link)", short(mean)),
            }
        };
        links.iter().map(said).collect::<Vec<_>>().join(", ")
    }

    /// Where f varies more than elsewhere, on a line, in the heaviest component with a scale of its own in each part of the window.
    fn local_scale(&self) -> Option<String> {
        let component = self.varying().find(|component| !component.scale.is_empty() && !component.range.is_empty())?;
        let (scale, dims) = (&component.scale, component.range.len());
        let highest = (0..scale.len()).max_by(|a, b| scale[*a].total_cmp(&scale[*b]))?;
        let (least, most) = (scale.iter().copied().fold(f64::INFINITY, f64::min), scale[highest]);
        // As many knots on each axis, the last going fastest.
        let per_axis = (scale.len() as f64).powf(1.0 / dims as f64).round() as usize;
        let into = |axis: usize| {
            let knot = highest / per_axis.pow((dims - 1 - axis) as u32) % per_axis;
            format!("{:.0} %", 100.0 * knot as f64 / (per_axis - 1) as f64)
        };
        let into = (0..dims).map(into).collect::<Vec<_>>().join(" and ");
        let along = if dims > 1 { " along its axes" } else { "" };
        Some(format!("f varies by {} to {} times that, most {into} into the window{along}", short(least), short(most)))
    }

    /// What was believed of the heaviest component before.
    fn prior(&self) -> Option<String> {
        let priors = &self.summary.priors;
        (!priors.is_empty()).then(|| priors.iter().map(|prior| prior.words.as_str()).collect::<Vec<_>>().join(", "))
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    let exponent = value.abs().log10().floor();
    match (-4.0..6.0).contains(&exponent) {
        true => format!("{value:.*}", (2.0 - exponent).max(0.0) as usize),
        false => format!("{value:.2e}"),
    }
}

/// The error of a number, unless it is one of rounding: components that share a value have none.
fn give_or_take(value: f64, error: f64) -> String {
    if error > 1e-9 * value.abs() { format!(" ± {}", short(error)) } else { String::new() }
}

/// Weighted mean and standard deviation.
fn moments(values: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = values.clone().map(|(weight, _)| weight).sum();
    let mean = values.clone().map(|(weight, value)| weight * value).sum::<f64>() / total;
    let variance = values.map(|(weight, value)| weight * (value - mean).powi(2)).sum::<f64>() / total;
    (mean, variance.max(0.0).sqrt())
}

/// A prior that was in force.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PriorSummary {
    /// The hyper-parameter, as `--prior` takes it.
    pub name: String,
    /// What was believed of it, in words.
    pub words: String,
}

impl PriorSummary {
    /// Of a prior on a hyper-parameter.
    pub fn new((name, prior): &(String, Prior)) -> Self {
        let percent = |share: f64| format!("{} %", short(100.0 * (1.0 - share)).trim_end_matches(".0"));
        let words = match *prior {
            Prior::Length { least, share, .. } => format!("a range above {} by {}", short(2.0 * least), percent(share)),
            Prior::Deviation { most, share } => format!("an sd below {} by {}", short(most), percent(share)),
            Prior::LogNormal { .. } if name.starts_with("ratio") => "a ratio of ranges about 1".into(),
            _ => format!("{name} as given"),
        };
        Self { name: name.clone(), words }
    }
}
