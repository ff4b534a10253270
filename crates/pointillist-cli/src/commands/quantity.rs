//! What of a rate a figure shows: its mean, how uncertain it is, a quantile, or the probability that it is high.

use super::Failure;
use super::figure::blocks;
use pointillist::measurements::MeasuredPosterior;
use pointillist::watch::PartWatch;
use pointillist::{Points, Posterior};

/// What of a rate is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Quantity {
    /// The posterior mean.
    #[default]
    Mean,
    /// The posterior standard deviation.
    Sd,
    /// The quantile of this probability.
    Quantile(f64),
    /// The probability of a rate higher than this.
    Exceed(f64),
}

impl Quantity {
    /// As `--show` has it.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.trim())));
        let number = value.and_then(|value| value.parse::<f64>().ok()).filter(|value| value.is_finite());
        match (name.trim(), value, number) {
            ("mean", None, _) => Ok(Self::Mean),
            ("sd", None, _) => Ok(Self::Sd),
            ("quantile", _, Some(p)) if p > 0.0 && p < 1.0 => Ok(Self::Quantile(p)),
            ("quantile", ..) => Err(format!(
                "--show {text}: a quantile has a probability between 0 and 1; write it as in --show quantile=0.9"
            )
            .into()),
            ("exceed", _, Some(rate)) if rate >= 0.0 => Ok(Self::Exceed(rate)),
            ("exceed", ..) => {
                Err(format!("--show {text}: give a rate that is not negative, as in --show exceed=5").into())
            }
            _ => Err(format!("--show {text}: there are mean, sd, quantile=P and exceed=RATE").into()),
        }
    }

    /// What the legend of a curve calls it.
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".into(),
            Self::Sd => "standard deviation".into(),
            Self::Quantile(p) => format!("{p} quantile"),
            Self::Exceed(rate) => format!("probability of more than {}", short(rate)),
        }
    }

    /// What an axis or a scale of colours says, where this is the unit of a rate, as in `events per year`.
    pub fn label(self, unit: &str) -> String {
        match self {
            Self::Mean => unit.into(),
            Self::Sd | Self::Quantile(_) => format!("{} of the rate, {unit}", self.name()),
            Self::Exceed(rate) => {
                let per = unit.strip_prefix("events ").unwrap_or(unit);
                format!("probability that the rate exceeds {} {per}", short(rate))
            }
        }
    }

    /// The same of values that were measured, which are called so.
    pub fn label_of_values(self, name: &str) -> String {
        if self == Self::Mean { name.into() } else { format!("{} of {name}", self.name()) }
    }

    /// Whether it lies in a band of quantiles.
    pub fn has_band(self) -> bool {
        matches!(self, Self::Mean | Self::Quantile(_))
    }

    /// Whether it is a probability.
    pub fn is_probability(self) -> bool {
        matches!(self, Self::Exceed(_))
    }

    /// What it is of values that were measured, at points.
    pub fn measured(
        self,
        posterior: &MeasuredPosterior,
        points: &Points,
        watch: &PartWatch<'_>,
    ) -> Result<Vec<f64>, Failure> {
        let mut all = Vec::with_capacity(points.len());
        for (block, watch) in blocks(points, watch) {
            let block = block?;
            let with = |probabilities: &[f64]| posterior.values_watched(&block, probabilities, &watch);
            all.extend(match self {
                Self::Mean => with(&[])?.mean,
                Self::Sd => with(&[])?.sd,
                Self::Quantile(p) => with(&[p])?.quantiles.pop().unwrap_or_default(),
                Self::Exceed(_) => {
                    let name = posterior.name();
                    return Err(format!(
                        "--show exceed is of rates, and {name} is no rate; give a quantile, or leave --of out"
                    )
                    .into());
                }
            });
        }
        Ok(all)
    }

    /// Its values at points.
    pub fn values(self, posterior: &Posterior, points: &Points, watch: &PartWatch<'_>) -> Result<Vec<f64>, Failure> {
        let mut all = Vec::with_capacity(points.len());
        for (block, watch) in blocks(points, watch) {
            let block = block?;
            let with = |probabilities: &[f64]| posterior.rate_and_quantiles_watched(&block, probabilities, &watch);
            all.extend(match self {
                Self::Mean => with(&[])?.0.mean,
                Self::Sd => with(&[])?.0.sd,
                Self::Quantile(p) => with(&[p])?.1.pop().unwrap_or_default(),
                Self::Exceed(rate) => posterior.exceedance_watched(&block, rate, &watch)?,
            });
        }
        Ok(all)
    }
}

/// A rate as it was written, but for those with very many digits.
fn short(rate: f64) -> String {
    if rate == 0.0 || (1e-6..1e12).contains(&rate) { rate.to_string() } else { format!("{rate:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_named() {
        let read = |text: &str| Quantity::parse(text).ok();
        assert_eq!(read("mean"), Some(Quantity::Mean));
        assert_eq!(read("quantile=0.9"), Some(Quantity::Quantile(0.9)));
        assert_eq!(read("exceed=5"), Some(Quantity::Exceed(5.0)));
        for text in ["", "means", "mean=1", "sd=2", "quantile", "quantile=1", "quantile=nan", "exceed", "exceed=-1"] {
            assert_eq!(read(text), None, "{text}");
        }
        let label = Quantity::Exceed(5.0).label("events per year");
        assert_eq!(label, "probability that the rate exceeds 5 per year");
        assert_eq!((short(0.25), short(1e300)), ("0.25".into(), "1e300".into()));
        assert_eq!(Quantity::Quantile(0.9).label("events per day"), "0.9 quantile of the rate, events per day");
    }
}
