//! What f is made of: inducing points anywhere or on a grid (`inducing/`), a lattice of hats (`lattice/`), or several
//! fields on one lattice (`layers/`).
//!
//! Each kind of field has a prior at Θ, rows at points, what these integrate to over a window, and the way of a gradient back to
//! Θ. Families differ in nothing else.

pub mod inducing;
pub mod lattice;
pub(crate) mod layers;
