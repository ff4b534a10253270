//! The Matérn factor of smoothness 5/2, (1 + r + r²/3) exp(−r) with r = √5 |x−y|/ℓ: twice differentiable.
//!
//! Its integrals are closed: polynomials times exponentials between the kinks (`poly_exp.rs`).

crate::kernel::poly_exp::polynomial_decay! {
    /// (1 + r + r²/3) exp(−r), r = √5 |x−y|/ℓ.
    Matern52, "matern52", "(1 + r + r²/3)·exp(-r), r = √5·|d|/lengthscale", [1.0, 1.0, 1.0 / 3.0], 2.236_067_977_499_79
}
