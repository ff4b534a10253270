"""Real numbers that were measured beside events: what is there, whether it follows the rate, and the rate itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._coordinates import coordinates
from ._covariates import held_texts
from ._errors import InputError, SettingError
from ._events import as_events, check_place
from ._posterior import QUANTILES, Floats, Posterior, event_set, points_of, probabilities_of, watcher
from ._settings import affordable, seed_of, whole

#: What values are called that are given as numbers.
NAME = "value"


class Values(NamedTuple):
    """What would be measured at places."""

    mean: Floats
    sd: Floats
    #: A row for each quantile, of what is there, ...
    quantiles: Floats
    #: ... and of a new measurement, which has noise.
    new_quantiles: Floats


class MeasuredPosterior(Posterior):
    """What is known of events and of real numbers measured beside them: what `IntensityModel().fit_measured(...)` finds.

    It answers for the rate of the events as every `Posterior` does, and for what was measured with `values`, `slope` and `link`.
    """

    @property
    def value_name(self) -> str:
        """What was measured."""
        return str(self._core.value_name)

    @property
    def slope(self) -> dict[str, float]:
        """By how much a value is higher where the rate is e times as high: `mean`, `sd`, `q0.05`, `q0.5`, `q0.95`, and `positive`, the probability of a slope above 0."""
        found: dict[str, float] = self.summary["slope"]
        return found

    @property
    def effects_on_value(self) -> list[dict[str, Any]]:
        """The effects of the covariates on what was measured, in its unit; those on the rate are `effects`."""
        found: list[dict[str, Any]] = self.summary.get("effects_on_value") or []
        return found

    def set(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> MeasuredPosterior:
        """The posterior with covariates held at values all over the window, as `Posterior.set` has it."""
        return MeasuredPosterior(self._core.with_set(held_texts({**(values or {}), **named})), self.crs, self.time_zone)

    @property
    def link(self) -> float:
        """By how much the log evidence is higher with a link between values and rate than without."""
        return float(self.summary["link"])

    @property
    def noise(self) -> tuple[float, float]:
        """Mean and standard deviation of the standard deviation of noise."""
        mean, sd = self.summary["noise"]
        return float(mean), float(sd)

    @property
    def families(self) -> dict[str, float]:
        """The probability of each way in which values may belong to the rate."""
        return {family["name"]: family["weight"] for family in self.summary["families"]}

    @property
    def elbo(self) -> float:
        raise SettingError("events and values are fitted together, and their bound is that of both; see the families of summary")

    def values(self, x: Any = None, *, quantiles: Any = QUANTILES, progress: Any = None) -> Values:
        """What would be measured at points: mean, standard deviation, and quantiles without and with noise."""
        return Values(*self._core.values(self._given(x), probabilities_of(quantiles), watcher(progress)))

    def sample_values(self, n: int = 1, *, seed: int | None = 0) -> list[tuple[Any, Floats]]:
        """Whole new sets of events, as `sample_events` draws them, each with what is measured at its events."""
        size = (self.event_count + 4) * (1 + self._core.window.dims)
        sets = self._core.sample_values(affordable("n", whole("n", n, 1) or 1, size), seed_of(seed))
        return [(event_set(points, self._core.window, self.time_zone), values) for points, values in sets]

    def __repr__(self) -> str:
        return f"<MeasuredPosterior of {self.event_count} events and of {self.value_name} in {self._core.window.show()}>"


def numbers_of(values: Any) -> npt.NDArray[np.float64]:
    """Values as numbers."""
    try:
        listed = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise InputError(f"values= are no numbers ({error}); leave out what is none, or mend it") from error
    return np.ascontiguousarray(listed)


def valued(data: Any, values: Any, what: str) -> tuple[Any, str, npt.NDArray[np.float64]]:
    """A table without its column of values, what that is called, and its numbers; or the table, and the numbers that are given for its rows."""
    if not isinstance(values, str):
        return data, NAME, numbers_of(values)
    columns = [str(name) for name in getattr(data, "columns", ())]
    if values not in columns:
        have = f"{what} have the columns {', '.join(columns)}" if columns else f"{what} are no frame"
        raise SettingError(f"values={values!r}: {have}; name one of a frame, or give a number for each")
    return data.drop(columns=values), values, numbers_of(data[values])


def events_with_rows(X: Any, count: int, words: dict[str, Any]) -> _core.Events:
    """Events whose trials are the numbers of their rows: of those that are left out so are the values."""
    found = coordinates(X)
    if found.trials is not None:
        raise InputError("values= cannot be had with trials: give repeats= if all trials have the same window")
    if len(found) != count:
        raise InputError(f"there are {len(found)} events and {count} values; give one for each")
    return as_events(X, **words, labels=np.arange(count, dtype=np.int64))


def places_of(places: Any, count: int, window: _core.Window, crs: Any) -> Any:
    """Places of measurement on the axes of a window."""
    found = points_of(places, window, None)
    check_place(found.crs, None, window, crs, "the measurements")
    if len(found) != count:
        raise InputError(f"there are {len(found)} places in measured= and {count} values; give one for each")
    return found.given
