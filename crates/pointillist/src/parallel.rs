//! Threads over blocks of events, with the same bits on any number of them.
//!
//! The partition depends on the number of events alone, each block is worked on by one thread, and sums over blocks are taken in
//! the order of the blocks. Small work stays on the calling thread: starting a pool costs more than a small fit.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Most blocks there are: each may hold a matrix of its own, so their number bounds the memory.
const MOST_BLOCKS: usize = 8;
/// Fewest events per block: below this a matrix product does not reach its speed.
const LEAST_BLOCK: usize = 256;
/// Work (entries touched) below which one thread is faster than two.
const SMALL: usize = 200_000;

/// Events per block, for this many events.
pub fn block_length(events: usize) -> usize {
    events.div_ceil(MOST_BLOCKS).max(LEAST_BLOCK)
}

/// The results of `work` on each block, in order.
pub fn map<T: Send, R: Send>(blocks: impl Iterator<Item = T>, size: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    if size < SMALL || rayon::current_num_threads() == 1 {
        return blocks.map(work).collect();
    }
    blocks.collect::<Vec<_>>().into_par_iter().map(&work).collect()
}

/// Does `work` on each block.
pub fn for_each<T: Send>(blocks: impl Iterator<Item = T>, size: usize, work: impl Fn(T) + Sync) {
    map(blocks, size, work);
}
