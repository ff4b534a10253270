//! Threads over blocks of events, with the same bits on any number of them.
//!
//! The partition depends on the number of events alone, each block is worked on by one thread, and sums over blocks are taken in
//! the order of the blocks. Small work stays on the calling thread: starting a pool costs more than a small fit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    let blocks: Vec<Mutex<Option<T>>> = blocks.map(|block| Mutex::new(Some(block))).collect();
    each(blocks.len(), |i| blocks[i].lock().ok().and_then(|mut block| block.take()).map(&work))
        .into_iter()
        .flatten()
        .collect()
}

/// Does `work` on each block.
pub fn for_each<T: Send>(blocks: impl Iterator<Item = T>, size: usize, work: impl Fn(T) + Sync) {
    map(blocks, size, work);
}

/// The results of `work` on each number below `count`, in order. Always on the pool: for work that is large.
pub fn each<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
    on_pool(count, &|i| {
        let result = work(i);
        if let Ok(mut slot) = results[i].lock() {
            *slot = Some(result);
        }
    });
    results.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect()
}

/// The same for work that may fail: after a failure what has not begun is left undone.
pub fn try_each<R: Send, E: Send>(count: usize, work: impl Fn(usize) -> Result<R, E> + Sync) -> Result<Vec<R>, E> {
    let failed = AtomicBool::new(false);
    let results = each(count, |i| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(i);
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        Some(result)
    });
    results.into_iter().flatten().collect()
}

/// The results of `own` or `others` on each number below `count`, in order: `own` on this thread, which may hold what no other thread may see, and
/// `others` on one more, if there is one to have. The two must give the same result.
pub fn beside<R: Send>(count: usize, mut own: impl FnMut(usize) -> R, others: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let is_alone = rayon::current_num_threads() == 1 || rayon::current_thread_index().is_some();
    if is_alone || count < 2 {
        return (0..count).map(own).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < count);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let helper = scope.spawn(|| std::iter::from_fn(take).map(|i| (i, others(i))).collect::<Vec<_>>());
        let mut results: Vec<(usize, R)> = std::iter::from_fn(take).map(|i| (i, own(i))).collect();
        results.extend(helper.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)));
        results
    });
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The one place that knows the thread pool. What is called is behind a pointer, so that the machinery is compiled once and not for
/// every caller: it was an eighth of the library's code.
fn on_pool(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}
