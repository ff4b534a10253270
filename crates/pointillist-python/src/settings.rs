//! The settings of a model as Python gives them.

use super::{arrays, errors};
use numpy::PyReadonlyArray2;
use pointillist::settings::{Method, Smoothness, Vary};
use pointillist_io::{Basis, Degrees, FitSettings, InducingSetting, Mean, Message, Setting, message};
use pyo3::prelude::*;

/// By the attributes of `pointillist._settings.Settings`.
#[derive(FromPyObject)]
pub struct Settings<'py> {
    basis: String,
    nodes: Option<String>,
    link: Option<String>,
    budget: Option<String>,
    smoothness: Option<String>,
    vary: Option<String>,
    kernel: Option<String>,
    cycle: Option<String>,
    inducing: Option<Inducing<'py>>,
    optimise_inducing: bool,
    mean: Option<String>,
    prior: Vec<String>,
    fix: Vec<String>,
    method: Option<String>,
    jitter: Option<f64>,
    tolerance: Option<f64>,
    average: Option<bool>,
    errors: bool,
    max_evaluations: Option<usize>,
    exact: bool,
    /// The call that asks for the fit.
    pub made_with: Option<String>,
}

#[derive(FromPyObject)]
enum Inducing<'py> {
    Text(String),
    At(PyReadonlyArray2<'py, f64>),
}

/// One of a few words.
fn one_of<T: Copy>(setting: Setting, word: &str, known: &[(&str, T)]) -> Result<T, Message> {
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        message![setting.given(word), " is not known; take one of {names}"]
    })
}

impl Settings<'_> {
    /// As the crate that makes models of them takes them; what has no effect is refused.
    pub fn meant(&self) -> PyResult<FitSettings> {
        let settings = FitSettings {
            inducing: self.inducing.as_ref().map(Inducing::meant).transpose()?,
            ..self.words().map_err(errors::setting)?
        };
        settings.refuse_idle().map_err(errors::setting)?;
        Ok(settings)
    }

    fn words(&self) -> Result<FitSettings, Message> {
        let bases = [("auto", Basis::Auto), ("inducing", Basis::Inducing), ("lattice", Basis::Lattice)];
        let degrees = [
            ("auto", Degrees::All),
            ("1", Degrees::One(Smoothness::One)),
            ("2", Degrees::One(Smoothness::Two)),
            ("4", Degrees::One(Smoothness::Four)),
        ];
        let means = [("constant", Mean::Constant), ("paper", Mean::Paper), ("integrated", Mean::Integrated)];
        let methods = [("collapsed", Method::Collapsed), ("joint", Method::Joint)];
        let varying = [("auto", Vary::Auto), ("on", Vary::On), ("off", Vary::Off)];
        let links = [("auto", ()), ("square", ()), ("log", ())];
        if let Some(link) = &self.link {
            one_of(Setting::Link, link, &links)?;
        }
        let smoothness = self.smoothness.as_ref().map(|word| one_of(Setting::Smoothness, word, &degrees));
        Ok(FitSettings {
            basis: one_of(Setting::Basis, &self.basis, &bases)?,
            nodes: self.nodes.clone(),
            budget: self.budget.clone(),
            link: self.link.clone(),
            smoothness: smoothness.transpose()?,
            vary: self.vary.as_ref().map(|word| one_of(Setting::Vary, word, &varying)).transpose()?,
            kernel: self.kernel.clone(),
            cycle: self.cycle.clone(),
            inducing: None,
            optimise_inducing: self.optimise_inducing,
            mean: self.mean.as_ref().map(|word| one_of(Setting::Mean, word, &means)).transpose()?,
            prior: self.prior.clone(),
            fix: self.fix.clone(),
            method: self.method.as_ref().map(|word| one_of(Setting::Method, word, &methods)).transpose()?,
            jitter: self.jitter,
            tolerance: self.tolerance,
            average: self.average,
            errors: self.errors,
            max_evaluations: self.max_evaluations,
            exact: self.exact,
        })
    }
}

impl Inducing<'_> {
    fn meant(&self) -> PyResult<InducingSetting> {
        Ok(match self {
            Self::Text(text) => InducingSetting::Text(text.clone()),
            Self::At(places) => InducingSetting::At(arrays::points(places)?),
        })
    }
}

/// Allows so much memory to reading and to lattices, as in `8GB`.
#[pyfunction]
pub fn set_max_memory(size: &str) -> PyResult<()> {
    pointillist_io::set_limit(pointillist_io::spec::bytes(size).map_err(errors::setting)?);
    Ok(())
}
