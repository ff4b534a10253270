"""The settings of a model in the words that the core takes."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._coordinates import coordinates
from ._errors import InputError, SettingError


@dataclass
class Settings:
    """What the core reads, attribute by attribute."""

    basis: str
    nodes: str | None
    budget: str | None
    link: str | None
    smoothness: str | None
    vary: str | None
    kernel: str | None
    cycle: str | None
    inducing: Any
    optimise_inducing: bool
    mean: str | None
    prior: list[str]
    fix: list[str]
    method: str | None
    jitter: float | None
    tolerance: float | None
    average: bool | None
    errors: bool
    max_evaluations: int | None
    exact: bool
    #: The call that asks for the fit, which models keep.
    made_with: str | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Settings:
        """Of the parameters of an estimator."""
        return cls(
            basis=word("basis", said["basis"]) or "auto",
            nodes=_grid("nodes", said["nodes"]),
            budget=word("budget", said.get("budget")),
            link=word("link", said["link"]),
            smoothness=None if said["smoothness"] is None else str(said["smoothness"]),
            vary=_vary(said["vary"]),
            kernel=word("kernel", said["kernel"]),
            cycle=_cycles(said["cycle"]),
            inducing=_inducing(said["inducing"]),
            optimise_inducing=switch("optimise_inducing", said["optimise_inducing"]),
            mean=word("mean", said["mean"]),
            prior=_pairs("prior", said["prior"], "~"),
            fix=_pairs("fix", said["fix"], "="),
            method=word("method", said["method"]),
            jitter=_number("jitter", said["jitter"]),
            tolerance=_number("tolerance", said["tolerance"]),
            average=None if said["average"] is None else switch("average", said["average"]),
            errors=switch("errors", said["errors"]),
            max_evaluations=whole("max_evaluations", said["max_evaluations"]),
            exact=switch("exact", said["exact"]),
        )


def word(name: str, value: Any) -> str | None:
    """A text, or None."""
    if value is None or isinstance(value, str):
        return value
    raise SettingError(f"{name}={value!r} is not understood; give a text")


def _cycles(value: Any) -> str | None:
    """One cycle or several, with commas between."""
    if isinstance(value, (list, tuple)):
        if not value or not all(isinstance(one, str) for one in value):
            raise SettingError(f'cycle={shown(value)} is not understood; give "day", or several as in ["day", "week"]')
        return ",".join(value)
    return word("cycle", value)


def _vary(value: Any) -> str | None:
    """True, False or "auto", as the command has it."""
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    return word("vary", value)


def switch(name: str, value: Any) -> bool:
    """True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise SettingError(f"{name}={value!r} is not understood; give True or False")


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    return real(name, value)


def real(name: str, value: Any) -> float:
    """A number."""
    if is_whole(value) or isinstance(value, (float, np.floating)):
        try:
            return float(value)
        except OverflowError as error:
            raise SettingError(f"{name}= is too large for a number of 64 bits; give a smaller one") from error
    raise SettingError(f"{name}={shown(value)} is not a number; give one")


def is_whole(value: Any) -> bool:
    """Whether this is a whole number; NumPy counts durations among them, and Python booleans."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def shown(value: Any) -> str:
    """A value in a message, cut short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def call_text(name: str, given: Iterable[str], how: Mapping[str, Any]) -> str:
    """A call as people write it: what is given by names that stand for data, and settings unless they are None."""
    said = [f"{setting}={_written(value)}" for setting, value in how.items() if value is not None]
    return f"{name}({', '.join([*given, *said])})"


#: Lists of more entries, and texts of more characters, are data.
MOST_WRITTEN = 12, 120


def _written(value: Any) -> str:
    """A value as it is typed, or in angle brackets what it is: nothing that changes from run to run."""
    entries, characters = MOST_WRITTEN
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, (np.datetime64, datetime.date)):
        return repr(value.isoformat() if isinstance(value, datetime.date) else str(value))
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= characters else f"<text of {len(value)} characters>" if isinstance(value, str) else text
    kind = type(value)
    if kind in (list, tuple, dict) and len(value) <= entries:
        each = [f"{key!r}: {_written(one)}" for key, one in value.items()] if kind is dict else [_written(one) for one in value]
        before, after = ("{", "}") if kind is dict else ("[", "]") if kind is list else ("(", ")")
        comma = "," if kind is tuple and len(each) == 1 else ""
        text = f"{before}{', '.join(each)}{comma}{after}"
        if len(text) <= characters:
            return text
    if kind.__module__.partition(".")[0] == "pointillist":
        return repr(value)
    shape = getattr(value, "shape", None) or (len(value) if isinstance(value, (list, tuple, dict)) else None)
    of = f" of {' × '.join(map(str, shape))}" if isinstance(shape, tuple) else f" of {shape}" if shape else ""
    return f"<{kind.__name__}{of}>"


def path_of(path: Any) -> str:
    """The path of a file."""
    try:
        name = os.fspath(path)
    except TypeError as error:
        raise InputError(f"{shown(path)} is no path of a file; give a text or a pathlib.Path") from error
    return name if isinstance(name, str) else os.fsdecode(name)


def texts(name: str, value: Any) -> list[str]:
    """Texts, of one or several."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)) and getattr(value, "ndim", 1) == 1:
        return [str(one) for one in value]
    raise SettingError(f"{name}={shown(value)} is not understood; give a text, or a list with one for each")


def affordable(name: str, count: int, each: float) -> int:
    """Refuses a number for which the answer, so many numbers for each, is larger than the memory: nobody could be given it."""
    most = _memory()
    if count * max(each, 1.0) * 8.0 > most:
        raise SettingError(f"{name}={count} asks for an answer larger than the memory, {most / 2**30:.1f} GiB; ask for fewer at a time")
    return count


def _memory() -> float:
    """What the machine has, or what it leaves to this process."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        has = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        return has if limit == resource.RLIM_INFINITY else min(has, float(limit))
    except (ImportError, ValueError, OSError):
        return float(2**36)


#: More than this does not fit into the core's whole numbers.
MOST = 2**63


def whole(name: str, value: Any, least: int = 0) -> int | None:
    """A whole number, or None."""
    if value is None:
        return None
    if not is_whole(value) or value < least:
        raise SettingError(f"{name}={shown(value)} must be a whole number, {least} or more")
    if value >= MOST:
        raise SettingError(f"{name}={shown(value)} is more than a computer counts to; give less than 2**63")
    return int(value)


#: More threads than any machine has cores; to start so many is to wait for them.
MOST_THREADS = 256


def threads_of(value: Any) -> int | None:
    """How many threads may work, or None for all cores."""
    number = whole("threads", value, 1)
    if number is not None and number > MOST_THREADS:
        raise SettingError(f"threads={number} is more than any machine has cores; give at most {MOST_THREADS}, or None for all")
    return number


def seed_of(value: Any) -> int:
    """A seed; None is another one each time."""
    if value is None:
        return secrets.randbits(63)
    if is_whole(value) and 0 <= value < 2**64:
        return int(value)
    raise SettingError(f"seed={shown(value)} must be a whole number from 0 to 2**64 - 1")


def set_max_memory(size: Any) -> None:
    """Allows so much memory to reading and to lattices: a text as in "8GB", or a number of bytes."""
    if is_whole(size) or isinstance(size, (float, np.floating)):
        if not size >= 1:
            raise SettingError(f"size={shown(size)} is no memory; give a text as in '8GB', or a number of bytes")
        size = f"{max(1, round(float(size) / 1e6))}MB"
    if not isinstance(size, str):
        raise SettingError(f"size={shown(size)} is no memory; give a text as in '8GB', or a number of bytes")
    _core.set_max_memory(size)


def _grid(name: str, value: Any) -> str | None:
    """`31`, `(20, 30)` or `20x30`."""
    if value is None or isinstance(value, str):
        return value
    if is_whole(value):
        return str(int(value))
    if isinstance(value, (list, tuple)) and all(is_whole(count) for count in value):
        return "x".join(str(int(count)) for count in value)
    raise SettingError(f"{name}={value!r} is not a grid; give a number, or one for each axis as in (20, 20)")


def _inducing(value: Any) -> Any:
    if isinstance(value, (np.ndarray, list)) or hasattr(value, "to_numpy"):
        places = coordinates(value, "inducing=")
        if places.has_dates:
            raise InputError("inducing= has dates; give numbers on the axes of the window")
        return places.given
    return _grid("inducing", value)


def _pairs(name: str, value: Any, sign: str) -> list[str]:
    """`{"lengthscale": 10}` or texts, as the command takes them."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        shown = (repr(float(said)) if isinstance(said, (int, float, np.number)) else str(said) for said in value.values())
        return [f"{key} {sign} {said}" if sign == "~" else f"{key}{sign}{said}" for key, said in zip(value, shown)]
    if isinstance(value, Sequence) and all(isinstance(text, str) for text in value):
        return list(value)
    example = "{'lengthscale': 'lognormal(0, 1)'}" if sign == "~" else "{'lengthscale': 10}"
    raise SettingError(f"{name}={value!r} is not understood; write it as in {name}={example}")
