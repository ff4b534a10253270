//! The Matérn factor of smoothness 3/2, (1 + r) exp(−r) with r = √3 |x−y|/ℓ: once differentiable.
//!
//! Its integrals are closed: polynomials times exponentials between the kinks (`poly_exp.rs`).

crate::kernel::poly_exp::polynomial_decay! {
    /// (1 + r) exp(−r), r = √3 |x−y|/ℓ.
    Matern32, "matern32", "(1 + r)·exp(-r), r = √3·|d|/lengthscale", [1.0, 1.0], 1.732_050_807_568_877_2
}
