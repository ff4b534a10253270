"""The settings of a model in the words that the core takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._coordinates import coordinates
from ._errors import InputError, SettingError


@dataclass
class Settings:
    """What the core reads, attribute by attribute."""

    basis: str
    nodes: str | None
    link: str | None
    smoothness: str | None
    kernel: str | None
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

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Settings:
        """Of the parameters of an estimator."""
        return cls(
            basis=_word("basis", said["basis"]) or "auto",
            nodes=_grid("nodes", said["nodes"]),
            link=_word("link", said["link"]),
            smoothness=None if said["smoothness"] is None else str(said["smoothness"]),
            kernel=_word("kernel", said["kernel"]),
            inducing=_inducing(said["inducing"]),
            optimise_inducing=_switch("optimise_inducing", said["optimise_inducing"]),
            mean=_word("mean", said["mean"]),
            prior=_pairs("prior", said["prior"], "~"),
            fix=_pairs("fix", said["fix"], "="),
            method=_word("method", said["method"]),
            jitter=_number("jitter", said["jitter"]),
            tolerance=_number("tolerance", said["tolerance"]),
            average=None if said["average"] is None else _switch("average", said["average"]),
            errors=_switch("errors", said["errors"]),
            max_evaluations=whole("max_evaluations", said["max_evaluations"]),
            exact=_switch("exact", said["exact"]),
        )


def _word(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise SettingError(f"{name}={value!r} is not understood; give a text")


def _switch(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise SettingError(f"{name}={value!r} is not understood; give True or False")


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise SettingError(f"{name}={value!r} is not a number; give one")


def whole(name: str, value: Any, least: int = 0) -> int | None:
    """A whole number, or None."""
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingError(f"{name}={value!r} must be a whole number, {least} or more")
    return int(value)


def seed_of(value: Any) -> int:
    """A seed; None is 0, as for the command."""
    if value is None:
        return 0
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= value < 2**64:
        return int(value)
    raise SettingError(f"seed={value!r} must be a whole number from 0 to 2**64 - 1")


def _grid(name: str, value: Any) -> str | None:
    """`31`, `(20, 30)` or `20x30`."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Sequence) and all(isinstance(count, (int, np.integer)) for count in value):
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
