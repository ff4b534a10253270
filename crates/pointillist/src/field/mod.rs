//! What f is made of: inducing points anywhere or on a grid (`inducing/`), or a lattice of hats (`lattice/`). Each has its prior at Θ, rows
//! at points, what these integrate to over a window, and the way of a gradient back to Θ; only this differs between families.

pub mod inducing;
pub mod lattice;
