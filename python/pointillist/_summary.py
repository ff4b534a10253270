"""Events by cell: small, of one size whatever the number of events, and they add up."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from . import _core
from ._coordinates import Coordinates
from ._core import Summary as CoreSummary
from ._errors import InputError, ModelFileError, SettingError, WindowError
from ._events import SOURCE, check_crs, event_coordinates, placed_window
from ._geo import crs_on
from ._settings import path_of, switch, whole, word
from ._window import Exposure, Window, as_window


class Summary:
    """The events of a window by cell. Make one of each part of the events, add them, and fit the sum.

    >>> import numpy as np
    >>> from pointillist import IntensityModel, Summary
    >>> times = np.random.default_rng(0).uniform(0, 10, 1000)
    >>> both = Summary.of(times[:500], window=(0, 10)) + Summary.of(times[500:], window=(0, 10))
    >>> both.events
    1000
    >>> post = IntensityModel().fit(both)
    """

    _core: CoreSummary
    crs: Any
    time_zone: Any

    def __init__(self, core: CoreSummary, crs: Any = None, time_zone: Any = None) -> None:
        self._core, self.crs, self.time_zone = core, crs_on(core.window, crs), time_zone

    @classmethod
    def of(
        cls,
        events: Any,
        window: Any = None,
        *,
        cells: int | Sequence[int] | None = None,
        exposure: Exposure | None = None,
        repeats: int | None = None,
        names: Any = None,
        units: Any = None,
        time_unit: str | None = None,
        clip: bool = False,
        source: str = SOURCE,
        time_zone: Any = None,
        geography: str | None = None,
    ) -> Summary:
        """One pass over events. The window must be given: all parts have the same, and its dates say what time counts from.

        Dates without a time zone are meant in `time_zone`, if that is given. `geography` as in `fit`.
        """
        if window is None:
            raise WindowError("Summary.of needs window=, which all parts must share; give it, as in window=(0, 50)")
        found = event_coordinates(events, as_window(window), time_zone)
        zone = found.time_zone if found.time_zone is not None else time_zone
        if found.trials is not None:
            raise InputError("events of trials cannot be summarised by themselves; join them and give repeats= if all trials have the same window")
        words = placed_window(found, window, geography).in_zone(zone)
        if words.time_zone is not None:
            raise SettingError(f"the window has time_zone={words.time_zone!r}, and summaries keep UTC; fit the events themselves, or leave it out")
        _check_dates(found, as_window(window))
        words.exposure = exposure or words.exposure
        words.repeats = words.repeats if repeats is None else whole("repeats", repeats)
        words.names = Window(names=names).names if names is not None else words.names or found.names
        words.units = Window(units=units).units if units is not None else words.units
        words.time_unit = word("time_unit", time_unit) or words.time_unit
        counts = None if cells is None else _cells(cells, found.dims)
        clip, source = switch("clip", clip), word("source", source) or SOURCE
        return cls(_core.summarise(found.given, words, counts, clip, source), words.crs, zone)

    @classmethod
    def total(cls, parts: Iterable[Summary]) -> Summary:
        """All of several together."""
        listed = list(parts)
        if not listed:
            raise InputError("there is no summary to add up; give at least one")
        return reduce(lambda sum, part: sum + part, listed)

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        check_crs(self.crs, other.crs)
        zone = self.time_zone if self.time_zone is not None else other.time_zone
        return Summary(self._core.plus(other._core), self.crs if self.crs is not None else other.crs, zone)

    def __radd__(self, other: Any) -> Summary:
        # So that sum(parts) works, which begins with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def events(self) -> int:
        """How many events it stands for."""
        return self._core.events

    @property
    def dropped(self) -> int:
        """How many events outside the window `clip=True` left out.

        >>> Summary.of([1.0, 2.0, 30.0], window=(0, 10), clip=True).dropped
        1
        """
        return self._core.dropped

    @property
    def cells(self) -> list[int]:
        """Cells on each axis."""
        return self._core.cells

    @property
    def window(self) -> Window:
        """Where they were looked for."""
        return Window._of(self._core.window, self.crs)

    def to_bytes(self) -> bytes:
        """The summary file, as the command writes it."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the summary") -> Summary:
        """The summary in a file's bytes."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ModelFileError(f"a {type(data).__name__} is not a summary; give the bytes of a summary file")
        return cls(_core.Summary.from_bytes(bytes(data), name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a summary file, which the command fits too."""
        self._core.write(path_of(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary:
        """Reads a summary file, whoever wrote it."""
        return cls(_core.Summary.read(path_of(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_bytes(), self.crs, self.time_zone)

    def __len__(self) -> int:
        return self.events

    def __repr__(self) -> str:
        return f"<Summary of {self.events} events in {self._core.window.show()}, {'×'.join(map(str, self.cells))} cells>"


def summary_of(given: Any) -> Summary | None:
    """One summary of one or several; nothing of anything else."""
    if isinstance(given, Summary):
        return given
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, Summary) for one in given):
        return Summary.total(given)
    return None


def _check_dates(found: Coordinates, window: Window) -> None:
    """Refuses numbers where the window was written with dates: they would be taken for days since its midnight."""
    if not len(found) or found.has_dates or any(isinstance(part, _core.Window) for part in window.parts):
        return
    if window.dims == found.dims and any(origin is not None for _, _, origin, _ in window.core.axes):
        raise InputError("the window has dates, and the events are numbers; give datetime64, or a window of numbers")


def _cells(cells: Any, dims: int) -> list[int]:
    """How many on each axis."""
    listed = list(cells) if isinstance(cells, (list, tuple, np.ndarray)) and getattr(cells, "ndim", 1) == 1 else [cells] * dims
    return [whole("cells", count, 1) or 1 for count in listed]


def _restored(data: bytes, crs: Any, time_zone: Any = None) -> Summary:
    summary = Summary.from_bytes(data, "the pickled summary")
    summary.crs, summary.time_zone = crs, time_zone
    return summary
