//! The Matérn factor of smoothness 1/2, exp(−|x−y|/ℓ): the roughest of the family, continuous but nowhere smooth.
//!
//! Its integrals are closed: exponentials between the kinks (`poly_exp.rs`).

crate::kernel::poly_exp::polynomial_decay! {
    /// exp(−|x−y|/ℓ).
    Matern12, "matern12", "exp(-|d|/lengthscale)", [1.0], 1.0
}
