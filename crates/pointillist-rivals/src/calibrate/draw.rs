//! Intensities from the priors of an averaged fit: Θ, the constant, f in the unit box, λ = link(f).
//!
//! f is a Matérn field by its cosine series on a box with a margin, exact but for what lies beyond its last term (under 0.3 % of the variance)
//! and for reflections at the far end of the margin. It is computed at the corners of fine cells and linear between them along each axis. That f is what λ is
//! made of, in the events as in the truths; the lattice of the fit has no part in it.

use pointillist::Link;
use pointillist::internals::numerics::{GaussLegendre, Matrix, linalg};
use pointillist::internals::sample::standard_normal;
use rand::{Rng, RngExt};
use std::f64::consts::PI;

/// Where nothing is said of it, a range is shorter than this part of the window's side (on a line, in a plane), and a standard deviation larger
/// than what is vague, with this probability.
const SHORT: [f64; 2] = [0.02, 0.1];
const UNLIKELY: f64 = 0.05;
/// The standard deviation of f that is vague for the log link; for the square it is the root of the mean rate.
const VAGUE: f64 = 3.0;
/// The longest range of a lattice, in sides of the window: as the fit does, draws leave longer ones out.
const LONGEST: f64 = 4.0;
/// A range is this many length-scales.
pub(super) const RANGE: f64 = 2.0;
/// The standard deviation of the constant for the log link, and its part of the root of the rate for the square: a third of the fit's.
const CONSTANT: f64 = 1.0;
const PART: f64 = 1.0 / 3.0;
/// Cells on each axis, by dimensions.
const CELLS: [usize; 2] = [2048, 192];
/// The margin in ranges, and the highest frequency in those of the range; most terms along each axis.
const MARGIN: f64 = 1.5;
const HIGHEST: f64 = 20.0;
const TERMS: [usize; 2] = [4096, 512];

/// What is drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Source {
    /// Axes of the unit box, 1 or 2.
    pub(super) dims: usize,
    pub(super) link: Link,
    /// About how many events.
    pub(super) events: f64,
}

/// An intensity in the unit box, with the Θ it comes from.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) range: f64,
    pub(super) sd: f64,
    link: Link,
    dims: usize,
    /// Cells along each axis.
    cells: usize,
    /// f at their corners; the last axis varies fastest.
    values: Vec<f64>,
}

impl Source {
    fn is_log(&self) -> bool {
        self.link == Link::Log
    }

    pub(super) fn draw(&self, rng: &mut impl Rng) -> Drawn {
        // P(range < r) = exp(−rate r^{−d/2})
        let (half, rate) = (0.5 * self.dims as f64, -UNLIKELY.ln() * SHORT[self.dims - 1].powf(0.5 * self.dims as f64));
        let shorter = rng.random::<f64>() * (-rate * LONGEST.powf(-half)).exp();
        let range = (rate / -shorter.ln()).powf(1.0 / half);
        let vague = if self.is_log() { VAGUE } else { self.events.sqrt() };
        let sd = vague * (1.0 - rng.random::<f64>()).ln() / UNLIKELY.ln();
        let normal = standard_normal(rng, 1)[0];
        let level = match self.is_log() {
            true => self.events.ln() + CONSTANT * normal,
            false => self.events.sqrt() * (1.0 + PART * normal),
        };
        let mut values = matern(self.dims, range, CELLS[self.dims - 1], rng);
        values.iter_mut().for_each(|value| *value = level + sd * *value);
        Drawn { range, sd, link: self.link, dims: self.dims, cells: CELLS[self.dims - 1], values }
    }
}

/// A Matérn field with variance 1 and α = 2 at the corners of cells of the unit box: Σ_j √S(ω_j) φ_j z_j, with φ_j the cosines that are level at the
/// ends of the box with its margin, and S the spectral density.
fn matern(dims: usize, range: f64, cells: usize, rng: &mut impl Rng) -> Vec<f64> {
    let nu = 2.0 - 0.5 * dims as f64;
    let kappa = (8.0 * nu).sqrt() / range;
    let (margin, length) = (MARGIN * range, 1.0 + 2.0 * MARGIN * range);
    let terms = ((HIGHEST * kappa * length / PI).ceil() as usize).clamp(64, TERMS[dims - 1]);
    let frequency = |j: usize| PI * j as f64 / length;
    let cosine = |i: usize, j: usize| {
        let norm = if j == 0 { 1.0 / length } else { 2.0 / length };
        norm.sqrt() * (frequency(j) * (i as f64 / cells as f64 + margin)).cos()
    };
    let root = |square: f64| {
        let scale = if dims == 1 { 4.0 * kappa.powi(3) } else { 4.0 * PI * kappa * kappa };
        scale.sqrt() / (kappa * kappa + square)
    };
    let along = Matrix::from_fn(cells + 1, terms, cosine); // (corners, terms)
    let mut z = standard_normal(rng, terms.pow(dims as u32));
    if dims == 1 {
        z.iter_mut().enumerate().for_each(|(j, z)| *z *= root(frequency(j).powi(2)));
        return linalg::times(&along, &z);
    }
    for (number, z) in z.iter_mut().enumerate() {
        *z *= root(frequency(number % terms).powi(2) + frequency(number / terms).powi(2));
    }
    let half_way = linalg::product(&along, &Matrix::from_columns(terms, z));
    linalg::product_transposed(&half_way, &along).data().to_vec()
}

impl Drawn {
    /// λ at a place of the unit box.
    pub(super) fn rate(&self, place: &[f64]) -> f64 {
        let side = self.cells + 1;
        let split = |x: f64| {
            let at = (x * self.cells as f64).clamp(0.0, self.cells as f64);
            let cell = (at as usize).min(self.cells - 1);
            (cell, at - cell as f64)
        };
        let (i, u) = split(place[0]);
        let f = match self.dims {
            1 => between(self.values[i], self.values[i + 1], u),
            _ => {
                let (j, v) = split(place[1]);
                let row = |i: usize| between(self.values[i * side + j], self.values[i * side + j + 1], v);
                between(row(i), row(i + 1), u)
            }
        };
        if self.link == Link::Log { f.exp() } else { f * f }
    }

    /// ∫λ over a box, by two nodes in each part of a cell along each axis.
    pub(super) fn integral(&self, sides: &[(f64, f64)]) -> f64 {
        let axes: Vec<Vec<(f64, f64)>> = sides.iter().map(|side| self.nodes(*side)).collect();
        match &axes[..] {
            [one] => one.iter().map(|(x, w)| w * self.rate(&[*x])).sum(),
            [one, other, ..] => {
                one.iter().map(|(x, w)| w * other.iter().map(|(y, v)| v * self.rate(&[*x, *y])).sum::<f64>()).sum()
            }
            [] => 0.0,
        }
    }

    /// Nodes and weights of Gauss and Legendre in what lies between of each cell of an axis.
    fn nodes(&self, (lo, hi): (f64, f64)) -> Vec<(f64, f64)> {
        let rule = GaussLegendre::new(2);
        let cells = self.cells as f64;
        let (first, last) = ((lo * cells) as usize, ((hi * cells) as usize).min(self.cells - 1));
        let of_cell = |cell: usize| {
            let (from, to) = (lo.max(cell as f64 / cells), hi.min((cell + 1) as f64 / cells));
            rule.on(from, to).collect::<Vec<_>>()
        };
        (first..=last).flat_map(of_cell).collect()
    }
}

fn between(a: f64, b: f64, part: f64) -> f64 {
    a + part * (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::internals::sample::stream;
    use pointillist::settings::Smoothness;
    use pointillist::{Events, LatticeChoice, Model, Points, Prior, Window};

    const LINE: Source = Source { dims: 1, link: Link::Log, events: 50.0 };

    /// The draws' priors are those of a fit: its report has their density at the best Θ.
    #[test]
    fn the_priors_are_those_of_a_fit() {
        let window = Window::interval(0.0, 1.0).unwrap();
        let events = Events::new(Points::line(&[0.1, 0.15, 0.2, 0.22, 0.3, 0.5, 0.9]).unwrap(), window).unwrap();
        for (link, most) in [(Link::Log, VAGUE), (Link::Square, 7f64.sqrt())] {
            let lattice =
                LatticeChoice { links: vec![link], smoothness: Some(Smoothness::Two), ..LatticeChoice::default() };
            let fit = Model { family: lattice.into(), average: true, ..Model::default() }.fit(&events).unwrap();
            let best = fit.posterior.component(0).unwrap().lattice().unwrap();
            let length = Prior::Length { dims: 1, least: SHORT[0] / RANGE, share: UNLIKELY };
            let deviation = Prior::Deviation { most, share: UNLIKELY };
            let on_logs = (best.lengthscales[0] * best.variance).ln();
            let want = length.log_density(best.lengthscales[0]).0 + deviation.log_density(best.variance).0;
            let got = fit.report.log_prior;
            let is_same = |want: f64| (got - want).abs() < 1e-9;
            assert!(is_same(want) || is_same(want + on_logs), "{link:?}: {got} {want} {on_logs}");
        }
    }

    #[test]
    fn ranges_and_deviations_have_their_priors() {
        let (mut short, mut large, count) = (0.0, 0.0, 400);
        for number in 0..count {
            let drawn = LINE.draw(&mut stream(3, number));
            assert!(drawn.range <= LONGEST);
            short += f64::from(drawn.range < 0.3);
            large += f64::from(drawn.sd > 1.0);
        }
        let below = |range: f64| (UNLIKELY.ln() * (SHORT[0] / range).sqrt()).exp();
        for (found, share) in [(short, below(0.3) / below(LONGEST)), (large, UNLIKELY.powf(1.0 / VAGUE))] {
            let (want, sd) = (share * count as f64, (share * (1.0 - share) * count as f64).sqrt());
            assert!((found - want).abs() < 3.5 * sd, "{found} {want}");
        }
    }

    /// Variance 1 everywhere, and a correlation of Matérn's form.
    #[test]
    fn fields_have_the_correlation_of_matern() {
        let count = 4000;
        for (range, cells) in [(0.3, 10), (3.0, 10)] {
            let (mut squares, mut products) = (vec![0.0; cells + 1], 0.0);
            for number in 0..count {
                let f = matern(1, range, cells, &mut stream(5, number));
                squares.iter_mut().zip(&f).for_each(|(sum, f)| *sum += f * f / count as f64);
                products += f[2] * f[4] / count as f64;
            }
            let margin = 4.0 * (2.0 / count as f64).sqrt();
            assert!(squares.iter().all(|square| (square - 1.0).abs() < margin), "{squares:?}");
            let distance = 12f64.sqrt() * 0.2 / range;
            assert!((products - (1.0 + distance) * (-distance).exp()).abs() < margin, "{products}");
        }
    }

    /// At one range the correlation for ν = 1 is √8 K₁(√8) = 0.1396…; with a step of it along one axis and along the diagonal.
    #[test]
    fn fields_in_the_plane_are_isotropic() {
        let (count, range, cells) = (4000, 0.5, 20);
        let (mut square, mut along, mut across, mut diagonal) = (0.0, 0.0, 0.0, 0.0);
        for number in 0..count {
            let f = matern(2, range, cells, &mut stream(6, number));
            let at = |i: usize, j: usize| f[j * (cells + 1) + i] / (count as f64).sqrt();
            square += at(5, 5) * at(5, 5);
            along += at(5, 5) * at(15, 5);
            across += at(5, 5) * at(5, 15);
            diagonal += at(5, 5) * at(12, 12); // 0.495 apart
        }
        let margin = 4.0 * (2.0 / count as f64).sqrt();
        assert!((square - 1.0).abs() < margin, "{square}");
        for found in [along, across, diagonal] {
            assert!((found - 0.14).abs() < margin, "{found}");
        }
    }

    #[test]
    fn integrals_add_up_and_are_those_of_many_places() {
        for (dims, link) in [(1, Link::Log), (2, Link::Square)] {
            let drawn = Source { dims, link, events: 50.0 }.draw(&mut stream(8, 1));
            let whole = vec![(0.0, 1.0); dims];
            let [mut left, mut right] = [whole.clone(), whole.clone()];
            (left[0].1, right[0].0) = (0.377, 0.377);
            let [all, left, right] = [whole, left, right].map(|sides| drawn.integral(&sides));
            assert!((left + right - all).abs() < 1e-6 * all, "{left} {right} {all}");
            let side: usize = if dims == 1 { 40_000 } else { 400 };
            let middle = |i: usize| (i as f64 + 0.5) / side as f64;
            let places = (0..side.pow(dims as u32)).map(|n| [middle(n % side), middle(n / side % side)]);
            let sum: f64 = places.map(|place| drawn.rate(&place[..dims])).sum();
            assert!((sum / side.pow(dims as u32) as f64 - all).abs() < 1e-3 * all, "{sum} {all}");
        }
    }
}
