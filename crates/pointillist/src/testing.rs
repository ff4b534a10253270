//! Batteries that any kernel, basis or gradient can be put through, and events whose rate is known. Public: an extension tests itself with the same ones.
//!
//! Each returns the largest disagreement it found; the caller says how much is too much.

use crate::data::points::Points;
use crate::error::Result;
use crate::field::lattice::{Elimination, Grid, Prior, Smoothness, Theta};
use crate::gaussian::{BandedFactor, Factor};
use crate::kernel::{Bars, Formula, Kernel, SLOTS};
use crate::numerics::dual::Dual;
use crate::window::{AxisRule, Nodes, Span, Window};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};

/// Largest difference between `gradient` and central differences of `function` at `x`, relative to the largest component.
pub fn check_gradient(function: impl Fn(&[f64]) -> f64, x: &[f64], gradient: &[f64]) -> f64 {
    let scale = gradient.iter().fold(1e-300, |m: f64, g| m.max(g.abs()));
    let mut worst = 0.0f64;
    for i in 0..x.len() {
        let at = |step: f64| {
            let mut moved = x.to_vec();
            moved[i] += step;
            function(&moved)
        };
        let h = 1e-3 * x[i].abs().max(0.1);
        // The central difference of sixth order: with this step its own error is below 1e-10.
        let slope =
            (45.0 * (at(h) - at(-h)) - 9.0 * (at(2.0 * h) - at(-2.0 * h)) + (at(3.0 * h) - at(-3.0 * h))) / (60.0 * h);
        worst = worst.max((slope - gradient[i]).abs() / scale);
    }
    worst
}

/// ∫ k(z, x) k(x, w) dx over a window, summed over its quadrature nodes: the plain version of what a basis does by tables.
pub fn window_psi(window: &Window, kernel: &Kernel, z: &[f64], w: &[f64]) -> f64 {
    window_integral(window, kernel, &[z, w], |x| kernel.k(z, x) * kernel.k(x, w))
}

/// ∫ k(z, x) dx over a window, in the same way.
pub fn window_phi(window: &Window, kernel: &Kernel, z: &[f64]) -> f64 {
    window_integral(window, kernel, &[z], |x| kernel.k(z, x))
}

fn window_integral(window: &Window, kernel: &Kernel, kinks: &[&[f64]], h: impl Fn(&[f64]) -> f64) -> f64 {
    let kinks: Vec<Vec<f64>> = (0..window.dims()).map(|r| kinks.iter().map(|z| z[r]).collect()).collect();
    let rules: Vec<AxisRule<'_>> =
        kinks.iter().enumerate().map(|(r, kinks)| AxisRule { length: kernel.length(r), kinks }).collect();
    let nodes = Nodes::of_pieces(&window.nodes(&rules));
    nodes.points.rows().zip(&nodes.weights).map(|(x, weight)| weight * h(x)).sum()
}

/// What [`check_kernel`] found: the largest relative disagreement of each kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelCheck {
    /// k(z, x) against k(x, z).
    pub symmetry: f64,
    /// `phi` against quadrature.
    pub phi: f64,
    /// `psi` against quadrature.
    pub psi: f64,
    /// `gram` against `k`, `psi_table` against `psi`.
    pub tables: f64,
    /// The tables' adjoints against dual numbers through the plain formulas.
    pub adjoints: f64,
}

/// Puts a factor with parameters `theta` through its paces on points of general position in and around `span`.
pub fn check_kernel<F: Formula>(theta: &[f64], span: Span) -> KernelCheck {
    let spread = |count: usize, shift: f64| -> Vec<f64> {
        let place = |i: usize| (i as f64 * 0.618_034 + shift).fract() * 1.2 - 0.1;
        (0..count).map(|i| span.lo + span.length() * place(i)).collect()
    };
    let even: Vec<f64> = (0..7).map(|i| span.lo + span.length() * i as f64 / 6.0).collect();
    let (scattered, x) = (spread(6, 0.13), spread(5, 0.71));
    let mut check = KernelCheck { symmetry: 0.0, phi: 0.0, psi: 0.0, tables: 0.0, adjoints: 0.0 };
    check_formulas::<F>(theta, span, &scattered, &x, &mut check);
    for z in [&scattered, &even] {
        check_tables::<F>(theta, span, z, &x, &mut check);
        for moving in [false, true] {
            check_adjoints::<F>(theta, span, z, &x, moving, &mut check);
        }
    }
    check
}

fn note(slot: &mut f64, got: f64, want: f64, scale: f64) {
    *slot = slot.max((got - want).abs() / scale);
}

/// Symmetry, and closed forms against quadrature.
fn check_formulas<F: Formula>(theta: &[f64], span: Span, z: &[f64], x: &[f64], check: &mut KernelCheck) {
    for &z in z {
        for &x in x {
            note(&mut check.symmetry, F::k(theta, z, x), F::k(theta, x, z), 1.0);
            let want = F::psi_by_quadrature(theta, z, x, span);
            note(&mut check.psi, F::psi(theta, z, x, span), want, want.abs());
        }
        let want = F::phi_by_quadrature(theta, z, span);
        note(&mut check.phi, F::phi(theta, z, span), want, want.abs());
    }
}

/// Tables against the plain formulas.
fn check_tables<F: Formula>(theta: &[f64], span: Span, z: &[f64], x: &[f64], check: &mut KernelCheck) {
    let size = z.len();
    let (mut gram, mut psi) = (vec![0.0; size * x.len()], vec![0.0; size * size]);
    F::gram(theta, z, x, &mut gram);
    F::psi_table(theta, z, span, &mut psi);
    for i in 0..size {
        for (j, &x) in x.iter().enumerate() {
            note(&mut check.tables, gram[j * size + i], F::k(theta, z[i], x), 1.0);
        }
        for j in 0..size {
            let want = F::psi(theta, z[i], z[j], span);
            note(&mut check.tables, psi[j * size + i], want, want.abs().max(1e-3 * span.length()));
        }
    }
}

/// Adjoints of the tables against dual numbers through the plain formulas.
fn check_adjoints<F: Formula>(theta: &[f64], span: Span, z: &[f64], x: &[f64], moving: bool, check: &mut KernelCheck) {
    let size = z.len();
    // A cotangent of no special structure, symmetric where it must be.
    let bar = |i: usize, j: usize| ((i * 3 + j * 5) as f64 + 0.7).sin();
    let gram_bar: Vec<f64> = (0..size * x.len()).map(|n| bar(n % size, n / size)).collect();
    let psi_bar: Vec<f64> = (0..size * size).map(|n| bar(n % size, n / size) + bar(n / size, n % size)).collect();
    let phi_bar: Vec<f64> = (0..size).map(|i| bar(i, 2)).collect();

    let (mut theta_bar, mut z_bar) = (vec![0.0; theta.len()], vec![0.0; size]);
    let mut gram = vec![0.0; size * x.len()];
    F::gram(theta, z, x, &mut gram);
    let mut bars = Bars { theta: &mut theta_bar, z: moving.then_some(&mut z_bar) };
    F::gram_adjoint(theta, z, x, &gram, &gram_bar, bars.lend());
    F::psi_table_adjoint(theta, z, span, &psi_bar, bars.lend());
    F::phi_list_adjoint(theta, z, span, &phi_bar, bars);

    let parameters: Vec<Dual<SLOTS>> = theta.iter().enumerate().map(|(i, &t)| Dual::variable(t, i)).collect();
    let (mut want_theta, mut want_z) = (vec![0.0; theta.len()], vec![0.0; size]);
    let mut add = |value: Dual<SLOTS>, weight: f64, i: usize, j: Option<usize>| {
        for (want, d) in want_theta.iter_mut().zip(value.derivatives()) {
            *want += weight * d;
        }
        want_z[i] += weight * value.derivatives()[SLOTS - 2];
        if let Some(j) = j {
            want_z[j] += weight * value.derivatives()[SLOTS - 1];
        }
    };
    for i in 0..size {
        let zi = Dual::variable(z[i], SLOTS - 2);
        for (j, &x) in x.iter().enumerate() {
            add(F::k(&parameters, zi, Dual::from(x)), gram_bar[j * size + i], i, None);
        }
        for j in 0..size {
            add(F::psi(&parameters, zi, Dual::variable(z[j], SLOTS - 1), span), psi_bar[j * size + i], i, Some(j));
        }
        add(F::phi(&parameters, zi, span), phi_bar[i], i, None);
    }
    if !moving {
        want_z.fill(0.0);
    }
    let scale = want_theta.iter().chain(&want_z).fold(1.0, |m: f64, v| m.max(v.abs()));
    for (got, want) in theta_bar.iter().zip(&want_theta).chain(z_bar.iter().zip(&want_z)) {
        note(&mut check.adjoints, *got, *want, scale);
    }
}

/// A rate f², f drawn from the prior on a fine lattice of its own: about `events` events in the unit box, and f.
#[derive(Debug, Clone)]
pub struct Drawn {
    grid: Grid,
    f: Vec<f64>,
    /// The events.
    pub events: Points,
}

impl Drawn {
    /// On a lattice with these nodes; `spread` is the part of the mean rate that is the variance of f.
    pub fn new(
        nodes: &[usize],
        ranges: &[f64],
        spread: f64,
        events: f64,
        smoothness: Smoothness,
        seed: u64,
    ) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let spans: Vec<Span> = ranges.iter().map(|r| Span { lo: -0.5 * r, hi: 1.0 + 0.5 * r }).collect();
        let grid = Grid::new(&spans, nodes)?;
        let theta = Theta::of_ranges(ranges, spread * events, ((1.0 - spread) * events).sqrt());
        // In one order of nodes whatever their number: a seed stands for the same draw for ever.
        let prior = Prior::new(&grid, smoothness).with_elimination(Elimination::Band);
        let factor = BandedFactor::new(&prior.precision(&theta))?;
        let mut f: Vec<f64> = (0..grid.size()).map(|_| StandardNormal.sample(&mut rng)).collect();
        factor.solve_lower_transposed(&mut f);
        f.iter_mut().for_each(|f| *f += theta.mean);
        let mut drawn = Self { grid, f, events: Points::new(nodes.len(), vec![])? };
        drawn.events = drawn.thinned(&mut rng)?;
        Ok(drawn)
    }

    /// The rate f² at points.
    pub fn rate(&self, at: &Points) -> Result<Vec<f64>> {
        let hats = self.grid.at(at)?;
        Ok((0..at.len()).map(|n| hats.sum(n, &self.f).powi(2)).collect())
    }

    /// Events of an inhomogeneous process: f² is largest at a node.
    fn thinned(&self, rng: &mut ChaCha8Rng) -> Result<Points> {
        let dims = self.grid.dims();
        let most = self.f.iter().fold(0.0, |most: f64, f| most.max(f * f));
        let count = Poisson::new(most).map_or(0.0, |count| count.sample(rng)) as usize;
        let candidates = Points::new(dims, (0..dims * count).map(|_| rng.random()).collect())?;
        let hats = self.grid.at(&candidates)?;
        let keep: Vec<bool> = (0..count).map(|n| rng.random::<f64>() * most < hats.sum(n, &self.f).powi(2)).collect();
        let kept = candidates.rows().zip(keep).filter(|(_, keep)| *keep);
        Points::new(dims, kept.flat_map(|(row, _)| row.to_vec()).collect())
    }
}
