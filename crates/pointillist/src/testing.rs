//! Batteries that any kernel, basis or gradient can be put through. Public: an extension tests itself with the same ones.
//!
//! Each returns the largest disagreement it found; the caller says how much is too much.

use crate::kernel::Formula;
use crate::numerics::dual::Dual;
use crate::window::Window;

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

/// Puts a factor with parameters `theta` through its paces on points of general position around the interval [lo, hi].
pub fn check_kernel<F: Formula>(theta: &[f64], lo: f64, hi: f64) -> KernelCheck {
    let spread = |count: usize, shift: f64| -> Vec<f64> {
        (0..count).map(|i| lo + (hi - lo) * ((i as f64 * 0.618_034 + shift).fract() * 1.2 - 0.1)).collect()
    };
    let even: Vec<f64> = (0..7).map(|i| lo + (hi - lo) * i as f64 / 6.0).collect();
    let (z, x) = (spread(6, 0.13), spread(5, 0.71));
    // A window of one axis always has one span.
    let span = match Window::interval(lo, hi) {
        Ok(window) => window.bounding_box()[0],
        Err(_) => {
            return KernelCheck {
                symmetry: f64::NAN,
                phi: f64::NAN,
                psi: f64::NAN,
                tables: f64::NAN,
                adjoints: f64::NAN,
            };
        }
    };
    let mut check = KernelCheck { symmetry: 0.0, phi: 0.0, psi: 0.0, tables: 0.0, adjoints: 0.0 };
    let note = |slot: &mut f64, got: f64, want: f64, scale: f64| *slot = slot.max((got - want).abs() / scale);

    for &z in &z {
        for &x in &x {
            note(&mut check.symmetry, F::k(theta, z, x), F::k(theta, x, z), 1.0);
            let want = F::psi_by_quadrature(theta, z, x, span);
            note(&mut check.psi, F::psi(theta, z, x, span), want, want.abs());
        }
        let want = F::phi_by_quadrature(theta, z, span);
        note(&mut check.phi, F::phi(theta, z, span), want, want.abs());
    }

    let slots = |count: usize| vec![0.0; count];
    for z in [&z, &even] {
        let size = z.len();
        let (mut gram, mut psi) = (slots(size * x.len()), slots(size * size));
        F::gram(theta, z, &x, &mut gram);
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
        // A cotangent of no special structure, symmetric where it must be.
        let bar = |i: usize, j: usize| ((i * 3 + j * 5) as f64 + 0.7).sin();
        let gram_bar: Vec<f64> = (0..size * x.len()).map(|n| bar(n % size, n / size)).collect();
        let psi_bar: Vec<f64> = (0..size * size).map(|n| bar(n % size, n / size) + bar(n / size, n % size)).collect();
        let phi_bar: Vec<f64> = (0..size).map(|i| bar(i, 2)).collect();
        let parameters: Vec<Dual<4>> = theta.iter().enumerate().map(|(i, &t)| Dual::variable(t, i)).collect();
        for moving in [false, true] {
            let (mut theta_bar, mut z_bar) = (slots(theta.len()), slots(size));
            let mut both = |f: &mut dyn FnMut(&mut [f64], Option<&mut [f64]>)| {
                f(&mut theta_bar, if moving { Some(&mut z_bar) } else { None });
            };
            both(&mut |t, zb| F::gram_adjoint(theta, z, &x, &gram, &gram_bar, t, zb));
            both(&mut |t, zb| F::psi_table_adjoint(theta, z, span, &psi_bar, t, zb));
            both(&mut |t, zb| F::phi_list_adjoint(theta, z, span, &phi_bar, t, zb));
            let (mut want_theta, mut want_z) = (slots(theta.len()), slots(size));
            let mut add = |value: Dual<4>, weight: f64, i: usize, j: Option<usize>| {
                for (want, d) in want_theta.iter_mut().zip(value.derivatives()) {
                    *want += weight * d;
                }
                want_z[i] += weight * value.derivatives()[2];
                if let Some(j) = j {
                    want_z[j] += weight * value.derivatives()[3];
                }
            };
            for i in 0..size {
                let zi = Dual::variable(z[i], 2);
                for (j, &x) in x.iter().enumerate() {
                    add(F::k(&parameters, zi, Dual::from(x)), gram_bar[j * size + i], i, None);
                }
                for j in 0..size {
                    add(F::psi(&parameters, zi, Dual::variable(z[j], 3), span), psi_bar[j * size + i], i, Some(j));
                }
                add(F::phi(&parameters, zi, span), phi_bar[i], i, None);
            }
            let scale = want_theta.iter().chain(&want_z).fold(1.0, |m: f64, v| m.max(v.abs()));
            for (got, want) in theta_bar.iter().zip(&want_theta) {
                note(&mut check.adjoints, *got, *want, scale);
            }
            if moving {
                for (got, want) in z_bar.iter().zip(&want_z) {
                    note(&mut check.adjoints, *got, *want, scale);
                }
            }
        }
    }
    check
}
