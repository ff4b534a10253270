//! Random draws. The generator is always an argument, or a seed that makes one stream per draw: the same seed gives the same bits on
//! any number of threads.

pub(crate) mod annealing;
pub(crate) mod elliptical_slice;
pub(crate) mod gaussian;
pub(crate) mod importance;
pub(crate) mod simulate;
pub(crate) mod thinning;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The generator of draw number `stream`.
pub fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}
