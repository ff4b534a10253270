"""Summaries on a Dask cluster: one for each partition, made where the partition is, and added up in a tree.

Only this module needs Dask: `pip install 'pointillist[dask]'`. Nothing of it is imported by `import pointillist`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._errors import InputError, PointillistError, PointillistWarning, SettingError, located
from ._optional import needed
from ._summary import Summary
from ._window import Exposure, Window, as_window

_WHAT = "pointillist.dask"
_bags = needed("dask.bag", _WHAT)
_delayed = needed("dask.delayed", _WHAT)
_sizes = needed("dask.sizeof", _WHAT)

#: Nodes per axis in a cell of a summary.
_NODES = 4

__all__ = ["summarize"]


def summarize(
    data: Any,
    window: Any,
    *,
    columns: str | Sequence[str] | None = None,
    cells: int | Sequence[int] | None = None,
    exposure: Exposure | None = None,
    repeats: int | None = None,
    names: Any = None,
    units: Any = None,
    time_unit: str | None = None,
    clip: bool = False,
    source: str | None = None,
    split_every: int = 8,
    client: Any = None,
    compute: bool = True,
) -> Any:
    """The `Summary` of events that lie on a cluster; `IntensityModel().fit` takes it.

    `data`: a Dask DataFrame or Series (`columns` names the coordinates), an Array of shape (n,) or (n, d), a Bag of points (numbers, tuples or arrays of d
    coordinates), or a list of `delayed`, each anything that `Summary.of` takes. The other settings are those of `Summary.of`.

    Each partition becomes a summary in the very task that makes or reads it, so events stay where they are and only summaries travel. They are added in
    a tree, `split_every` neighbours at a time. The shape of the tree depends on the number of partitions alone: within a partition events are added
    in their order, and partitions in theirs. So the answer has the same bits on any number of workers, in whatever order they finish, and if some die.
    Another partition or tree rounds otherwise: numbers then differ by less than 1e-12 of the events in a cell.

    It runs on `client`, else on Dask's current client or scheduler. With `compute=False` it is a delayed summary, for a graph of your own.

    >>> import dask.array
    >>> from pointillist import IntensityModel
    >>> from pointillist.dask import summarize
    >>> times = dask.array.random.default_rng(0).uniform(0, 10, size=1000, chunks=100)
    >>> summary = summarize(times, (0, 10))
    >>> summary.events
    1000
    >>> post = IntensityModel().fit(summary)
    """
    if window is None:
        raise SettingError("summarize needs window=, which all partitions share; give it, as in window=(0, 50)")
    if isinstance(split_every, bool) or not isinstance(split_every, int) or split_every < 2:
        raise SettingError(f"split_every={split_every!r} must be a whole number, 2 or more")
    how = {
        "window": as_window(window),
        "cells": cells,
        "exposure": exposure,
        "repeats": repeats,
        "names": names,
        "units": units,
        "time_unit": time_unit,
        "clip": clip,
        **({} if source is None else {"source": source}),
    }
    parts, probe = _partitions(data, columns)
    _try_settings(probe, how)
    made = [_delayed.delayed(_summary_of_part)(part, number, how, _is_bag(data)) for number, part in enumerate(parts)]
    # A Bag joins the task that makes a partition with the one that summarises it, and has the tree.
    total = _bags.from_delayed(made).reduction(_joined, _joined, split_every=split_every).to_delayed()
    if not compute:
        return total
    summary: Summary = total.compute() if client is None else client.compute(total).result()
    _warn_of_dropped(summary)
    return summary


def _partitions(data: Any, columns: str | Sequence[str] | None) -> tuple[list[Any], Any]:
    """The partitions of a collection, and an example without events if its kind says what they are like."""
    # First of all, because a delayed object says that it has every attribute.
    is_delayed = isinstance(data, _delayed.Delayed)
    if columns is not None and (is_delayed or not _is_frame(data)):
        raise SettingError(f"columns= is for a frame, and this is a {type(data).__name__}; leave it out")
    if is_delayed:
        return [data], None
    if _is_frame(data):
        frame = data if columns is None else _chosen(data, [columns] if isinstance(columns, str) else list(columns))
        return frame.to_delayed(), frame._meta
    if _is_array(data):
        return _blocks(data), np.empty((0, *data.shape[1:]), dtype=data.dtype)
    if _is_bag(data):
        return data.to_delayed(), None
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, np.ndarray)):
        listed = list(data)
        if listed and all(isinstance(part, _delayed.Delayed) for part in listed):
            return listed, None
    raise InputError(
        f"summarize takes a Dask DataFrame, Array or Bag, or a list of delayed, not a {type(data).__name__}; for events in memory take Summary.of"
    )


def _chosen(frame: Any, columns: list[str]) -> Any:
    if not hasattr(frame, "columns"):
        raise SettingError("columns= is for a frame, and this is a series; leave it out")
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns))
        raise SettingError(f"columns=: there is no column {missing[0]!r}; there are {there}")
    return frame[columns]


def _is_frame(data: Any) -> bool:
    return hasattr(data, "_meta") and hasattr(data, "map_partitions") and hasattr(data, "divisions")


def _is_array(data: Any) -> bool:
    return hasattr(data, "to_delayed") and hasattr(data, "numblocks") and hasattr(data, "dtype")


def _is_bag(data: Any) -> bool:
    return isinstance(data, _bags.Bag)


def _blocks(array: Any) -> list[Any]:
    if array.ndim not in (1, 2):
        raise InputError(f"the array has {array.ndim} dimensions; give one of shape (n,) or (n, d)")
    if array.ndim == 2 and array.numblocks[1] > 1:
        raise InputError("the coordinates of an event lie in several chunks; join them with array.rechunk({1: -1})")
    return list(array.to_delayed().ravel())


def _try_settings(probe: Any, how: dict[str, Any]) -> None:
    """Refuses what no partition could take, before anything is sent."""
    words: Window = how["window"]
    if probe is None:
        # Of such events only the window is known.
        _ = words.core
    else:
        Summary.of(probe, **how)


def _summary_of_part(part: Any, number: int, how: dict[str, Any], is_bag: bool) -> list[Summary]:
    """On a worker: the summary of one partition, alone in a list as a partition of a Bag is."""
    try:
        events = _points(part, how["window"].dims) if is_bag else part
        return [Summary.of(events, **how)]
    except PointillistError as error:
        raise located(error, f"partition {number}")


def _points(part: Iterable[Any], dims: int) -> Any:
    """The points of a partition of a Bag, as rows."""
    listed = list(part)
    if not listed:
        return np.empty((0, dims))
    if isinstance(listed[0], np.ndarray) and listed[0].ndim == 2:
        return np.concatenate(listed)
    if dims > 1 or not isinstance(listed[0], (tuple, list, np.ndarray)):
        return np.asarray(listed)
    return np.concatenate([np.atleast_1d(np.asarray(point)) for point in listed])


def _joined(parts: Iterable[Any]) -> Summary:
    """The sum of a group of neighbours in the tree, in their order."""
    return Summary.total(parts)


def _warn_of_dropped(summary: Summary) -> None:
    """Says once of the whole what workers say of partitions in their own logs."""
    if summary.dropped:
        sentence = f"{summary.dropped} events of all partitions are outside the window and were dropped, because of clip=True"
        warnings.warn(sentence, PointillistWarning, stacklevel=3)


def _size(summary: Summary) -> int:
    """At most so many bytes, by which Dask reckons what to hold and what to move: single events or the nodes of each cell."""
    nodes: int = _NODES ** len(summary.cells)
    filled = min(summary.events, math.prod(summary.cells))
    return 16 * filled + 8 * min(summary.events * len(summary.cells), filled * nodes)


_sizes.sizeof.register(Summary, _size)
