//! Long calls: Python is let go meanwhile, Ctrl-C is heard, progress is told, and a panic becomes an exception.
//!
//! Only the main thread of Python hears of signals, and the library tells of its progress from any of its threads. So the work is done in
//! a thread of its own, and the one that called waits, looking up now and then.

use super::errors;
use pointillist::{Error, Progress};
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often the waiting thread looks up.
const TICK: Duration = Duration::from_millis(50);
/// The stack of the thread that works, as large as that of a main thread.
const STACK: usize = 8 << 20;

/// What the work was last heard of.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// A part of it is done, from 0 to 1.
    Part(f64),
    /// A fit.
    Fit(Progress),
}

/// Between the work and the thread that waits for it.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    told: Mutex<Option<Told>>,
}

impl Watch {
    fn tell(&self, told: Told) -> ControlFlow<()> {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// So much is done.
    pub fn part(&self, done: f64) -> ControlFlow<()> {
        self.tell(Told::Part(done))
    }

    /// So far is the fit.
    pub fn fit(&self, progress: &Progress) -> ControlFlow<()> {
        self.tell(Told::Fit(*progress))
    }

    /// Refuses to go on once that is asked for.
    pub fn check(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Tells a function of Python what there is to tell.
    fn pass_on(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(function) = progress else { return Ok(()) };
        let told = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match told {
            None => {}
            Some(Told::Part(done)) => drop(function.call1(py, (done,))?),
            Some(Told::Fit(Progress { part, evaluations, bound, size, .. })) => {
                drop(function.call1(py, (part, evaluations, bound, size))?);
            }
        }
        Ok(())
    }
}

/// What a long call is asked beside its work.
#[derive(Default)]
pub struct Manner {
    /// A function that is told of progress.
    pub progress: Option<Py<PyAny>>,
    /// How many threads it may take; all if nothing is said.
    pub threads: Option<usize>,
}

/// The process whose threads rayon's own pool has.
static FIRST: OnceLock<u32> = OnceLock::new();
/// A pool of a process that was forked from it, which inherits none of these threads: work given to them would never end.
static OF_FORK: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The pool to work in: one of so many threads, a new one after a fork, else none, which means rayon's own.
fn pool_for(threads: Option<usize>) -> PyResult<Option<Arc<ThreadPool>>> {
    if let Some(threads) = threads {
        return pool(threads).map(|pool| Some(Arc::new(pool)));
    }
    let process = std::process::id();
    if *FIRST.get_or_init(|| process) == process {
        return Ok(None);
    }
    let mut kept = OF_FORK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, pool)) = kept.as_ref()
        && *of == process
    {
        return Ok(Some(pool.clone()));
    }
    // As many threads as rayon would take.
    let own = Arc::new(pool(0)?);
    // That of a process further up has no threads here either, and must not be waited for.
    std::mem::forget(kept.replace((process, own.clone())));
    Ok(Some(own))
}

/// Does the work without Python, and gives its answer back.
pub fn long<T: Send>(
    py: Python<'_>,
    manner: &Manner,
    work: impl FnOnce(&Watch) -> Result<T, PyErr> + Send,
) -> PyResult<T> {
    let pool = pool_for(manner.threads)?;
    let (watch, progress) = (Watch::default(), manner.progress.as_ref());
    let on_pool = || match pool {
        Some(pool) => pool.install(|| work(&watch)),
        None => work(&watch),
    };
    py.detach(|| waited_for(&watch, progress, on_pool))
}

/// The same for work that is short, in the thread that asks.
pub fn short<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, PyErr> + Send) -> PyResult<T> {
    let pool = pool_for(None)?;
    let on_pool = || match pool {
        Some(pool) => pool.install(work),
        None => work(),
    };
    py.detach(|| catch_unwind(AssertUnwindSafe(on_pool)).unwrap_or_else(|_| Err(errors::internal())))
}

fn pool(threads: usize) -> PyResult<ThreadPool> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|error| errors::setting(format!("threads={threads}: {error}; take fewer")))
}

fn waited_for<T: Send>(
    watch: &Watch,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, PyErr> + Send,
) -> PyResult<T> {
    let (done, is_done) = channel();
    let guarded = move || {
        let answer = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(errors::internal()));
        // Who no longer waits does not hear it.
        let _ = done.send(());
        answer
    };
    std::thread::scope(|scope| {
        let spawned = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, guarded);
        let worker = spawned.map_err(|error| errors::setting(format!("no thread could be started: {error}")))?;
        let mut interruption = None;
        while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(TICK) {
            if interruption.is_some() {
                continue;
            }
            let look_up = |py: Python<'_>| py.check_signals().and_then(|()| watch.pass_on(py, progress));
            interruption = Python::attach(look_up).err();
            watch.stop.store(interruption.is_some(), Ordering::Relaxed);
        }
        let answer = worker.join().unwrap_or_else(|_| Err(errors::internal()));
        match interruption {
            Some(error) => Err(error),
            None => answer,
        }
    })
}
