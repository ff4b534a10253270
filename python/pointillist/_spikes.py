"""Spike trains of Neo and pynapple as trials, in seconds, with when each was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._optional import loaded

if TYPE_CHECKING:
    from ._window import Window

Floats = npt.NDArray[np.float64]


@dataclass
class Trains:
    """Spikes in seconds, one array for each trial, and the intervals in which each was recorded, where that is known."""

    arrays: list[Floats]
    spans: list[list[tuple[float, float]]] | None

    @property
    def data(self) -> Any:
        """As `fit` takes them."""
        return self.arrays[0] if len(self.arrays) == 1 else self.arrays

    @property
    def window(self) -> Window | None:
        """The window that the recording itself knows of."""
        from ._window import Window

        if self.spans is None:
            return None
        if all(span == self.spans[0] for span in self.spans):
            pieces = Window.union([Window(lo, hi) for lo, hi in self.spans[0]], names="time", units="seconds")
            pieces.repeats = len(self.spans) if len(self.spans) > 1 else None
            return pieces
        if any(len(span) != 1 for span in self.spans):
            return None
        return Window(trials=[span[0] for span in self.spans], names="time", units="seconds")


def own_window(data: Any) -> Window | None:
    """When spikes were recorded, if their object says so."""
    trains = trains_of(data)
    return None if trains is None else trains.window


def trains_of(data: Any) -> Trains | None:
    """The spike trains in an object of Neo or pynapple, or in a list of such; None if it is something else."""
    neo, pynapple = loaded("neo"), loaded("pynapple")
    if neo is None and pynapple is None:
        return None
    if pynapple is not None and isinstance(data, pynapple.TsGroup):
        support = _support(data)
        return Trains([np.asarray(data[key].index, dtype=np.float64) for key in data.keys()], [support] * len(data) if len(data) else None)
    listed = list(data) if _is_list(data, neo) else [data]
    if neo is not None and listed and all(isinstance(one, neo.SpikeTrain) for one in listed):
        return Trains([_seconds(one.times) for one in listed], [[(float(_seconds(one.t_start)), float(_seconds(one.t_stop)))] for one in listed])
    if pynapple is not None and listed and all(isinstance(one, (pynapple.Ts, pynapple.Tsd)) for one in listed):
        return _pynapple(listed)
    return None


def _is_list(data: Any, neo: Any) -> bool:
    return isinstance(data, (list, tuple)) or type(data).__name__ == "SpikeTrainList" and neo is not None


def _seconds(quantity: Any) -> Any:
    return np.asarray(quantity.rescale("s").magnitude, dtype=np.float64)


def _pynapple(listed: list[Any]) -> Trains:
    arrays = [np.asarray(one.index, dtype=np.float64) for one in listed]
    spans = [_support(one) for one in listed]
    # Without one of its own, a series is said to be supported from its first spike to its last, which is not when it was looked at.
    by_default = all(not len(times) or span == [(times[0], times[-1])] for times, span in zip(arrays, spans))
    return Trains(arrays, None if by_default else spans)


def _support(one: Any) -> list[tuple[float, float]]:
    return [(float(lo), float(hi)) for lo, hi in np.asarray(one.time_support.values, dtype=np.float64)]
