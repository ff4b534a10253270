"""Many fits at once: neurons, regions, species."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from ._errors import NotConvergedWarning, SettingError, located
from ._model import IntensityModel
from ._optional import loaded, needed
from ._posterior import Posterior
from ._settings import whole

Key = TypeVar("Key", bound=Hashable)
#: Which of the fits it was, and its posterior, or what went wrong.
Outcome = tuple[int, "Posterior | Exception"]
#: They come as fits end; who closes it wants no more of them.
Outcomes = Generator[Outcome, None, None]
#: What each fit is called with.
Calls = list[tuple[int, IntensityModel, Any, Mapping[str, Any]]]


def fit_one(model: IntensityModel, data: Any, how: Mapping[str, Any]) -> Posterior:
    """The posterior of one data set. A function of its own, so that it can be sent to another process."""
    fitted: Posterior = _alone(model).fit(data, **how).posterior_
    return fitted


def _alone(model: IntensityModel) -> IntensityModel:
    """A model of the same settings for one core, without what it was fitted to and whom it tells."""
    return type(model)(**{**model.get_params(), "threads": 1, "progress": None})


def fit_many(
    data: Mapping[Key, Any],
    model: IntensityModel | None = None,
    *,
    backend: Any = "threads",
    client: Any = None,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | bool | None = None,
    errors: str = "raise",
    **how: Any,
) -> dict[Key, Any]:
    """Fits each data set of a mapping, and gives the posteriors by the same names, in the same order.

    An entry is anything that `fit` takes: an array, a list of arrays (trials), a frame, `Events` with a window of their own, a `Summary`. `how` goes to
    each `fit`: `window=`, `exposure=`, ...

    Fits run side by side, each on one core: on `workers` threads, as many as there are cores if None; on processes of joblib with `backend="joblib"`; on a
    `joblib.Parallel` or a pool of `concurrent.futures` given as `backend`; on a Dask cluster with `client=`, where entries may be futures of that
    client. A fit has no chance in it, and the posteriors are the same to the last bit in each case.

    With `errors="raise"` the first fit that fails ends it with its exception, which names the entry. With `errors="return"` the exception stands in the
    place of that posterior, and all others are there. Fits that did not converge are named in one warning. `progress(done, total)` is called after each fit; with `True` a line says it.

    >>> import numpy as np
    >>> from pointillist import fit_many
    >>> rng = np.random.default_rng(0)
    >>> neurons = {name: [rng.uniform(0, 2, 10) for _ in range(5)] for name in "ab"}
    >>> sorted(fit_many(neurons, window=(0, 2)))
    ['a', 'b']
    >>> neurons["silent"] = [np.empty(0)] * 5
    >>> found = fit_many(neurons, window=(0, 2), errors="return")
    >>> [name for name, post in found.items() if isinstance(post, Exception)]
    ['silent']
    """
    if not isinstance(data, Mapping):
        raise SettingError(f"fit_many takes a mapping from names to events, not a {type(data).__name__}; give a dict")
    if model is not None and not isinstance(model, IntensityModel):
        raise SettingError(f"model= is a {type(model).__name__}; give an IntensityModel, or leave it out")
    if errors not in ("raise", "return"):
        raise SettingError(f"errors={errors!r} is not known; take one of raise, return")
    template = _alone(IntensityModel() if model is None else model)
    tell = _teller(progress)
    keys = list(data)
    found: dict[int, Any] = {}
    calls: Calls = [(number, template, events, how) for number, events in enumerate(data.values())]
    with closing(_outcomes(calls, backend, client, whole("workers", workers, 1))) as outcomes:
        for number, outcome in outcomes:
            if isinstance(outcome, Exception) and errors == "raise":
                raise located(outcome, f"entry {keys[number]!r}")
            found[number] = outcome
            tell(len(found), len(keys))
    posteriors = {key: found[number] for number, key in enumerate(keys)}
    _warn_of_stopped(posteriors)
    return posteriors


def _tried(number: int, model: IntensityModel, data: Any, how: Mapping[str, Any]) -> Outcome:
    """One fit, whose failure is an answer too, so that no way to run it loses the others."""
    try:
        return number, fit_one(model, data, how)
    except Exception as error:
        return number, error


def _outcomes(calls: Calls, backend: Any, client: Any, workers: int | None) -> Outcomes:
    """The fits, where they are to run."""
    if client is not None:
        if backend != "threads" or workers is not None:
            raise SettingError("client= says where fits run, so backend= and workers= have no effect; leave them out")
        return _on_dask(calls, client)
    if isinstance(backend, Executor):
        return _on_executor(calls, backend)
    if backend == "threads":
        return _on_threads(calls, workers or _cores())
    if backend == "joblib":
        joblib = needed("joblib", 'backend="joblib"')
        return _on_joblib(calls, joblib.Parallel(n_jobs=workers or -1, return_as="generator_unordered"))
    joblib = loaded("joblib")
    if joblib is not None and isinstance(backend, joblib.Parallel):
        return _on_joblib(calls, backend)
    raise SettingError(f"backend={backend!r} is not known; take threads, joblib, a joblib.Parallel or a pool of concurrent.futures, or give client=")


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_threads(calls: Calls, workers: int) -> Outcomes:
    pool = ThreadPoolExecutor(workers)
    try:
        yield from _on_executor(calls, pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _on_executor(calls: Calls, pool: Executor) -> Outcomes:
    futures = {pool.submit(_tried, *call): call[0] for call in calls}
    with _cancelling(lambda: [future.cancel() for future in futures]):
        for future in as_completed(futures):
            yield _result(future, futures[future])


def _on_joblib(calls: Calls, parallel: Any) -> Outcomes:
    delayed = needed("joblib", "a joblib.Parallel").delayed
    yield from parallel(delayed(_tried)(*call) for call in calls)


def _on_dask(calls: Calls, client: Any) -> Outcomes:
    distributed = needed("distributed", "client=")
    # Events go with their task: what is only scattered is lost with its worker.
    futures = {client.submit(_tried, *call, pure=False): call[0] for call in calls}
    with _cancelling(lambda: client.cancel(list(futures))):
        for future in distributed.as_completed(list(futures)):
            yield _result(future, futures.pop(future))


@contextmanager
def _cancelling(cancel: Callable[[], Any]) -> Iterator[None]:
    """Cancels what is left if nobody waits for it any more."""
    try:
        yield
    except BaseException:
        cancel()
        raise


def _result(future: Any, number: int) -> Outcome:
    try:
        outcome: Outcome = future.result()
        return outcome
    except Exception as error:
        # Not of the fit, which has its own: of a process that died, or of a message that could not be sent.
        return number, error


def _teller(progress: Any) -> Callable[[int, int], Any]:
    if progress is None or progress is False:
        return lambda done, total: None
    if progress is True:
        return _printed
    if callable(progress):
        told: Callable[[int, int], Any] = progress
        return told
    raise SettingError(f"progress={progress!r} is not understood; give True, or a function that takes how many are done and how many there are")


def _printed(done: int, total: int) -> None:
    print(f"\rpointillist: {done} of {total} fits\x1b[K", end="\n" if done == total else "\r", file=sys.stderr, flush=True)


def _warn_of_stopped(posteriors: Mapping[Any, Any]) -> None:
    """Warnings of other processes are not heard here, and a thousand would be too many."""
    stopped = [key for key, post in posteriors.items() if isinstance(post, Posterior) and not post.converged]
    if stopped:
        some = ", ".join(repr(key) for key in stopped[:5]) + (", ..." if len(stopped) > 5 else "")
        sentence = f"{len(stopped)} of {len(posteriors)} fits did not converge: {some}; allow more with max_evaluations="
        warnings.warn(sentence, NotConvergedWarning, stacklevel=3)
