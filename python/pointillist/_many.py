"""Many fits at once: neurons, regions, species."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

from ._errors import SettingError
from ._model import IntensityModel
from ._posterior import Posterior

Key = TypeVar("Key", bound=Hashable)


def fit_one(model: IntensityModel, data: Any, how: Mapping[str, Any]) -> Posterior:
    """The posterior of one data set. A function of its own, so that it can be sent to another process."""
    fitted: Posterior = type(model)(**{**model.get_params(), "threads": 1, "progress": None}).fit(data, **how).posterior_
    return fitted


def fit_many(
    data: Mapping[Key, Any],
    model: IntensityModel | None = None,
    *,
    executor: Executor | Any = None,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    errors: str = "raise",
    **how: Any,
) -> dict[Key, Any]:
    """Fits each data set of a mapping, and gives the posteriors by the same names.

    Fits run side by side on threads, each on one core. `executor` is anything with `submit(function, *arguments)` that gives futures with
    `result()`: a pool of `concurrent.futures`, or a Dask client. `how` goes to each `fit`: `window=`, `exposure=`, ... With `errors="return"` a fit
    that fails leaves its exception in its place. `progress(done, total)` is called after each.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> neurons = {name: [rng.uniform(0, 2, 10) for _ in range(5)] for name in "ab"}
    >>> sorted(fit_many(neurons, window=(0, 2)))
    ['a', 'b']
    """
    if not isinstance(data, Mapping):
        raise SettingError(f"fit_many takes a mapping from names to events, not a {type(data).__name__}; give a dict")
    if errors not in ("raise", "return"):
        raise SettingError(f"errors={errors!r} is not known; take one of raise, return")
    template = IntensityModel() if model is None else model
    own = ThreadPoolExecutor(workers or os.cpu_count() or 1) if executor is None else None
    pool = own if own is not None else executor
    try:
        futures = {key: pool.submit(fit_one, template, events, how) for key, events in data.items()}
        return dict(_gathered(futures, errors, progress))
    finally:
        if own is not None:
            own.shutdown(wait=True, cancel_futures=True)


def _gathered(futures: Mapping[Key, Any], errors: str, progress: Callable[[int, int], Any] | None) -> Iterable[tuple[Key, Any]]:
    for done, (key, future) in enumerate(futures.items(), 1):
        try:
            yield key, future.result()
        except Exception as error:
            if errors == "raise":
                error.add_note(f"in fit_many, for {key!r}") if hasattr(error, "add_note") else None
                raise
            yield key, error
        if progress is not None:
            progress(done, len(futures))
