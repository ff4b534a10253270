"""Several types of events in one window: the rate of each, ratios between them, and which type is how probable at a place."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._coordinates import coordinates
from ._covariates import held_texts
from ._errors import InputError, ModelFileError, SettingError
from ._events import as_events
from ._frames import zone_text
from ._geo import WGS84, crs_on, crs_text, same_crs
from ._posterior import QUANTILES, Floats, Posterior, event_set, probabilities_of, watcher
from ._settings import affordable, path_of, seed_of, whole
from ._window import Window

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Share(NamedTuple):
    """The probability that an event at a place is of a type, which is itself uncertain."""

    mean: Floats
    sd: Floats
    #: A row for each quantile.
    quantiles: Floats


class TypePosterior(Posterior):
    """The rate of one type, or the ratio of two rates in place of a rate: a view of `TypesPosterior`, which all types share."""

    whole: TypesPosterior
    of: str

    def __init__(self, whole: TypesPosterior, of: str) -> None:
        above, below = whole._core.asked(of)
        super().__init__(whole._core.view(above, below), whole.crs, whole.time_zone)
        self.whole, self.of, self.is_ratio = whole, of, below is not None

    @property
    def summary(self) -> dict[str, Any]:
        """What the fit of all types says of itself."""
        return self.whole.summary

    @property
    def effects(self) -> list[dict[str, Any]]:
        """The effects of the covariates on the rate of this type; of a ratio how those of its two types differ."""
        found: list[dict[str, Any]] = json.loads(self._core.effects_json())
        return found

    def set(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> TypePosterior:
        """The same with covariates held at values all over the window, as `Posterior.set` has it."""
        return TypePosterior(self.whole.set(values, **named), self.of)

    @property
    def elbo(self) -> float:
        raise SettingError("types are fitted together, and their bound is that of all; see the families of summary")

    @property
    def rate_unit(self) -> str:
        return f"rate of {self.of.replace('/', ' over that of ', 1)}" if self.is_ratio else super().rate_unit

    def show(self) -> str:
        """The summary of all types for people."""
        return self.whole.show()

    def count(self, *regions: Any, **how: Any) -> Any:
        """The numbers of events in regions, as `Posterior.count` has them; a ratio has none."""
        if self.is_ratio:
            raise SettingError(f"{self.of} is a ratio, of which there are no counts; count each type, as in types.of(...).count(...)")
        return super().count(*regions, **how)

    def sample_events(self, n: int = 1, *, seed: int | None = 0) -> list[Any]:
        """Sets of events of this type; `TypesPosterior.sample_events` draws those of all types together."""
        if self.is_ratio:
            raise SettingError(f"{self.of} is a ratio, which has no events; draw those of each type, as in types.sample_events()")
        return super().sample_events(n, seed=seed)

    def to_json(self) -> str:
        raise SettingError(f"{self.of} is a part of a model of several types; write that, with types.to_json() or types.save(...)")

    def save(self, path: str | os.PathLike[str]) -> None:
        raise SettingError(f"{self.of} is a part of a model of several types; write that, with types.save({str(path)!r})")

    def __repr__(self) -> str:
        what = "ratio" if self.is_ratio else "rate"
        return f"<TypePosterior, the {what} of {self.of} in {self._core.window.show()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TypePosterior, (self.whole, self.of)


class TypesPosterior:
    """What is known of several types of events in one window: what `IntensityModel().fit_types(...)` finds, and what a model file of types holds."""

    def __init__(self, core: _core.TypesPosterior, crs: Any = None, time_zone: Any = None) -> None:
        self._core, self.crs, self.time_zone = core, crs_on(core.window, crs), time_zone

    @property
    def names(self) -> list[str]:
        """The types."""
        return self._core.names

    @property
    def window(self) -> Window:
        """Where events were looked for."""
        return Window._of(self._core.window, self.crs)

    @property
    def event_count(self) -> int:
        return self._core.event_count

    @property
    def covariates(self) -> list[str]:
        """The names of the covariates of the fit."""
        return self._core.covariates

    def set(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> TypesPosterior:
        """The posterior with covariates held at values all over the window, as `Posterior.set` has it."""
        return TypesPosterior(self._core.with_set(held_texts({**(values or {}), **named})), self.crs, self.time_zone)

    @property
    def source(self) -> str:
        return self._core.source

    @property
    def summary(self) -> dict[str, Any]:
        """What the fit says of itself: the JSON of `fit --type`, field by field."""
        said: dict[str, Any] = json.loads(self._core.summary_json())
        return said

    @property
    def families(self) -> dict[str, float]:
        """The probability of each way in which types may belong together."""
        return {family["name"]: family["weight"] for family in self.summary["families"]}

    @property
    def loadings(self) -> list[dict[str, Any]]:
        """The loads of types on latent fields, with 90 % intervals; none unless `latent=` was asked for."""
        found: list[dict[str, Any]] = self.summary.get("loadings", [])
        return found

    @property
    def converged(self) -> bool:
        return bool(self.summary["converged"])

    def show(self) -> str:
        """The summary for people, as the command prints it."""
        return self._core.text()

    def of(self, name: str) -> TypePosterior:
        """The posterior of one type, or of a ratio as in `of("cases/controls")`; it answers everything that a `Posterior` does."""
        return TypePosterior(self, str(name))

    def ratio(self, above: str, below: str) -> TypePosterior:
        """The posterior of the rate of one type over that of another: its `rate`, `quantile` and `exceedance` are those of the ratio.

        What types share cancels, and both are uncertain.
        """
        return TypePosterior(self, f"{above}/{below}")

    def shares(self, x: Any = None, *, quantiles: Any = QUANTILES, progress: Any = None) -> dict[str, Share]:
        """The probability of each type at points, given that there is an event: mean, standard deviation and quantiles."""
        given = self.of(self.names[0])._given(x)
        found = self._core.shares(given, probabilities_of(quantiles), watcher(progress))
        return {name: Share(*share) for name, share in zip(self.names, found)}

    def count(self, regions: Any = None, **how: Any) -> dict[str, Any]:
        """The numbers of events of each type in regions; `regions` and `how` are those of `Posterior.count`."""
        return {name: self.of(name).count(regions, **how) for name in self.names}

    def sample_events(self, n: int = 1, *, seed: int | None = 0) -> list[dict[str, Any]]:
        """Whole new sets of events: for each an array of events by type. The rates of a set are drawn together."""
        size = (self.event_count + 4) * self._core.window.dims
        sets = self._core.sample_events(affordable("n", whole("n", n, 1) or 1, size), seed_of(seed))
        return [
            {name: event_set(points[kinds == k], self._core.window, self.time_zone) for k, name in enumerate(self.names)}
            for points, kinds in sets
        ]

    def plot(self, of: str | None = None, ax: Any = None, **how: Any) -> Axes:
        """The rate of a type, or a ratio as in `plot("cases/controls")`, as `Posterior.plot` draws it; on one axis without a name all types."""
        if of is not None:
            how.setdefault("events", "/" not in of or of in self.names)
            return self.of(of).plot(ax, **how)
        if self._core.window.dims > 1:
            raise SettingError(f"a map shows one type; name it, as in plot({self.names[0]!r}), or a ratio, as in plot('{self.names[0]}/{self.names[1]}')")
        drawn: Axes = ax
        for name in self.names:
            drawn = self.of(name).plot(drawn, label=name, **{"events": False, **how})
        return drawn

    def to_json(self) -> str:
        """The model file, as the command writes it."""
        return self._core.to_json(self._crs_text(), zone_text(self.time_zone))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, which the command reads too; whole or not at all."""
        self._core.write(path_of(path), self._crs_text(), zone_text(self.time_zone))

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "the model") -> TypesPosterior:
        """Of a model file's text."""
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise ModelFileError(f"a {type(text).__name__} is not a model file; give the text of one")
        return cls._read(_core.TypesPosterior.from_bytes(text.encode() if isinstance(text, str) else bytes(text), name))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TypesPosterior:
        """Reads a model file of types, whoever wrote it."""
        return cls._read(_core.TypesPosterior.read(path_of(path)))

    @classmethod
    def _read(cls, core: _core.TypesPosterior) -> TypesPosterior:
        return cls(core, core.crs, core.time_zone)

    def _crs_text(self) -> str | None:
        is_plain = self._core.window.globe is not None and same_crs(self.crs, WGS84)
        return None if is_plain else crs_text(self.crs)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<TypesPosterior of {self.event_count} events of {len(self)} types in {self._core.window.show()}: {', '.join(self.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_json(), self.crs, self.time_zone)


def _restored(text: str, crs: Any, time_zone: Any) -> TypesPosterior:
    types = TypesPosterior.from_json(text, "the pickled model")
    types.crs, types.time_zone = crs, time_zone
    return types


def labelled(X: Any, types: Any) -> tuple[Any, list[str]]:
    """Events without their column of types, and the type of each as a text."""
    if isinstance(types, str):
        columns = [str(name) for name in getattr(X, "columns", ())]
        if types not in columns:
            have = f"the events have the columns {', '.join(columns)}" if columns else "the events are no frame"
            raise SettingError(f"types={types!r}: {have}; name one of a frame, or give a label for each event")
        labels, X = X[types], X.drop(columns=types)
    elif isinstance(types, Sequence) or hasattr(types, "__array__"):
        labels = types
    else:
        raise SettingError(f"types= is a {type(types).__name__}; name a column of a frame, or give a label for each event")
    listed = list(np.asarray(labels, dtype=object).ravel())
    missing = next((row for row, label in enumerate(listed) if label is None or label != label), None)
    if missing is not None:
        raise InputError(f"types= has no label in row {missing}; drop such rows first, with .dropna()")
    return X, [str(label) for label in listed]


def numbered(labels: list[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The names of types, by value if they are numbers, else as they come, and the number of each event's type: as the command has them."""
    names = list(dict.fromkeys(labels))
    try:
        names.sort(key=float)
    except ValueError:
        names = list(dict.fromkeys(labels))
    places = {name: place for place, name in enumerate(names)}
    return names, np.array([places[label] for label in labels], dtype=np.int64)


def events_of_types(X: Any, labels: list[str], words: dict[str, Any]) -> tuple[_core.Events, list[str]]:
    """Events whose trials are the numbers of their types, and the names of these."""
    names, kinds = numbered(labels)
    found = coordinates(X)
    if found.trials is not None:
        raise InputError("types= cannot be had with trials: an event has one label; give repeats= if all trials have the same window")
    if len(found) != len(kinds):
        raise InputError(f"there are {len(found)} events and {len(kinds)} labels in types=; give one for each")
    return as_events(X, **words, labels=kinds), names

