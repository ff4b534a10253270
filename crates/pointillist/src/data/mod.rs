//! Events: where they are (`points.rs`), that they lie in a window (`events.rs`), their summary by cell (`summary/`), and what a fit sees of
//! them (`seen.rs`).

pub mod events;
pub mod points;
pub(crate) mod seen;
pub mod summary;
