"""Bundled data sets, each with its window.

>>> from pointillist import datasets
>>> datasets.names()
['coal', 'tweets', 'aftershocks', 'kenya', 'quakes', 'spikes']
>>> coal = datasets.load("coal")
>>> coal.points.shape, coal.window.axes[0][0]
((191, 1), 'year')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._errors import InputError
from ._events import read_events
from ._window import Window


def names() -> list[str]:
    """What they are called."""
    return [known["name"] for known in _core.datasets()]


def about(name: str) -> dict[str, Any]:
    """What is known of a set: what it is, its columns, where it comes from, its licence."""
    known = _find(name)
    return {key: value for key, value in known.items() if key not in ("csv", "border")}


def load(name: str, columns: str | Sequence[str] | None = None) -> _core.Events:
    """The events of a set in their window, as a fit takes them; `points` and `window` give the parts."""
    _find(name)
    return read_events(name, columns=columns)


def border(name: str) -> Window:
    """The border of a set that has one: Kenya's."""
    known = _find(name)
    if known["border"] is None:
        there = ", ".join(one["name"] for one in _core.datasets() if one["border"] is not None)
        raise InputError(f"{name} has no border; those that have one: {there}")
    return Window(bytes(known["border"]).decode(), names=known["default_columns"])


def csv(name: str) -> bytes:
    """The file itself."""
    found: bytes = _find(name)["csv"]
    return found


def _find(name: str) -> dict[str, Any]:
    for known in _core.datasets():
        if isinstance(name, str) and known["name"] == name:
            return known
    raise InputError(f"there is no bundled set {name!r}; there are {', '.join(names())}")
