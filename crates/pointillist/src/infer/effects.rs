//! What a model with covariates asks for beyond others, and what each covariate adds to its evidence.

use super::{Asked, AskedKind, Fit, FitStage, FitWatch, Progress};
use crate::covariates::Regressors;
use crate::data::seen::Data;
use crate::error::{Error, Result};
use crate::terms::Link;
use std::sync::Arc;

impl Asked {
    /// This model with its covariates looked at over the window of the events.
    pub(super) fn with_covariates(&self, data: Data<'_>) -> Result<Self> {
        let refused = |requirement: &str| Err(Error::setting("covariate", self.covariates[0].name(), requirement));
        if matches!(data, Data::Summary(_)) {
            return refused(
                "needs the events themselves, and a summary does not say where they are; give the table of events",
            );
        }
        if self.kind == AskedKind::Inducing || data.window().dims() > 3 {
            return refused(
                "needs a lattice, which has one to three axes, and not inducing points; leave out what asks for these",
            );
        }
        if !self.lattice.links.contains(&Link::Log) {
            return refused(
                "needs the log link: there an effect multiplies the rate, while one on the root of a rate has no such reading; leave out the square link",
            );
        }
        let mut asked = self.clone();
        asked.lattice.links = vec![Link::Log];
        asked.regressors = Some(Arc::new(Regressors::over(data.window(), &self.covariates)?));
        Ok(asked)
    }

    /// What each covariate adds to the log evidence of the best family, Θ learned anew without it.
    pub(super) fn gains(&self, data: Data<'_>, fit: &Fit, watch: &mut FitWatch<'_>) -> Result<Vec<(String, f64)>> {
        let evidence = |fit: &Fit| fit.report.log_evidence.unwrap_or(fit.report.bound.total() + fit.report.log_prior);
        let best = fit.posterior.components().iter().filter(|one| !one.is_constant()).find_map(|one| one.family());
        let mut gains = Vec::with_capacity(self.covariates.len());
        for (i, covariate) in self.covariates.iter().enumerate() {
            let mut without = Asked { checked: false, errors: false, ..self.clone() };
            without.covariates.remove(i);
            without.regressors = match without.covariates.is_empty() {
                true => None,
                false => Some(Arc::new(Regressors::over(data.window(), &without.covariates)?)),
            };
            without.lattice.smoothness = best.map(|(smoothness, _)| smoothness).or(self.lattice.smoothness);
            let mut told = |progress: &Progress| watch(&Progress { stage: FitStage::Check, part: 1.0, ..*progress });
            let other = without.fit_families(data, None, &mut told)?;
            gains.push((covariate.name().to_string(), evidence(fit) - evidence(&other)));
        }
        Ok(gains)
    }
}
