"""What is known of an intensity once events were seen."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._arviz import count_draws, rate_draws
from ._coordinates import Coordinates, coordinates
from ._core import Posterior as CorePosterior
from ._covariates import held_texts
from ._errors import InputError, ModelFileError, PointillistWarning, SettingError, WindowError
from ._events import check_crs, check_place, held_out_events, refuse_other, region_list
from ._frames import clocks_of, counts_frame, in_zone, labels_of, rate_frame, rate_points, zone_of, zone_text
from ._geo import WGS84, crs_on, crs_text, same_crs
from ._settings import affordable, is_whole, path_of, real, seed_of, whole
from ._summary import Summary, summary_of
from ._window import Window
from ._xarray import rate_dataset, rate_raster

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
#: The quantiles of a rate unless others are asked for.
QUANTILES = (0.05, 0.5, 0.95)
#: Draws for counts and scores unless others are asked for, as the command has them.
DRAWS = 10_000
#: Above this Pareto k a sampled mean is not to be trusted.
UNTRUSTED = 0.7


def probabilities_of(quantiles: Any) -> list[float]:
    """Probabilities strictly between 0 and 1."""
    try:
        listed = [float(p) for p in np.atleast_1d(np.asarray(quantiles, dtype=np.float64))]
    except (TypeError, ValueError) as error:
        raise SettingError(f"quantiles={quantiles!r} are no numbers; give some between 0 and 1, as in [0.05, 0.95]") from error
    for p in listed:
        if not 0.0 < p < 1.0:
            raise SettingError(f"{p} is no probability of a quantile; give numbers between 0 and 1, as in [0.05, 0.5, 0.95]")
    return listed


class Rate:
    """The rate at points: `mean`, `sd` and `quantiles` are arrays; `to_frame()` and `to_xarray()` give them with their coordinates."""

    def __init__(
        self, points: Floats, axes: list[tuple[str, str | None, float | None, str | None]], mean: Floats, sd: Floats, probabilities: list[float], quantiles: Floats
    ) -> None:
        self.points, self.axes, self.mean, self.sd = points, axes, mean, sd
        self.probabilities, self.quantiles = probabilities, quantiles
        #: The time zone in which dates are given back, if the points or the events had one.
        self.time_zone: Any = None
        #: The points as they were asked for, which label the frame.
        self.asked: Any = None
        #: Whether each point lies in the window; elsewhere the rate is a forecast.
        self.inside: npt.NDArray[np.bool_] | None = None
        #: Where events were looked for, the coordinate reference system of that, and the unit of the rate.
        self.window: Window | None = None
        self.crs: Any = None
        self.unit = ""

    @property
    def directions(self) -> tuple[int, int]:
        """The axes that go to the right and up on a map."""
        globe = None if self.window is None else self.window.core.globe
        return globe or (0, 1)

    def __len__(self) -> int:
        return len(self.mean)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.mean, dtype=dtype, copy=True) if dtype is not None or copy else self.mean

    def quantile(self, p: float) -> Floats:
        """One of the quantiles that were asked for."""
        wanted = real("p", p)
        if wanted not in self.probabilities:
            raise SettingError(f"the quantile {p} was not asked for; ask for rate(x, quantiles=[..., {p}])")
        values: Floats = self.quantiles[self.probabilities.index(wanted)]
        return values

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Coordinates, mean, sd and quantiles by name, as the command names them; and `inside` if some points lie outside the window."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for r, (name, unit, origin, clocks) in enumerate(self.axes):
            columns[name] = dates_of(self.points[:, r], unit, origin, clocks) if origin is not None else self.points[:, r]
        columns["mean"], columns["sd"] = self.mean, self.sd
        columns.update({f"q{p:g}": values for p, values in zip(self.probabilities, self.quantiles)})
        if self.inside is not None and not self.inside.all():
            columns["inside"] = self.inside
        return columns

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row for each point; times that count from a date are dates again, in their time zone.

        Where some points lie outside the window there is a column `inside`: elsewhere the rate is a forecast.

        An index of pandas that was asked for is its index; rows of a series or a frame keep theirs, and those of GeoPandas their geometry.

        >>> import pandas as pd
        >>> from pointillist import IntensityModel
        >>> days = pd.date_range("2024-03-01", periods=20, freq="D", tz="Europe/Zurich")
        >>> model = IntensityModel(average=False).fit(days, window=("2024-02-29", "2024-03-22"))
        >>> str(model.rate(days[:3]).to_frame().index.tz)
        'Europe/Zurich'
        """
        return rate_frame(self)

    def to_geodataframe(self) -> Any:
        """A GeoDataFrame with a point for each row, in the coordinate reference system of the fit.

        >>> from pointillist import IntensityModel, Window
        >>> square = Window([(0, 1), (0, 1)], crs="EPSG:32637")
        >>> model = IntensityModel(average=False, nodes=(5, 5)).fit([[0.2, 0.3], [0.4, 0.9], [0.5, 0.5]], window=square)
        >>> model.rate([[0.1, 0.2]]).to_geodataframe().crs.to_epsg()
        32637
        """
        return rate_points(self)

    def to_xarray(self) -> Any:
        """An xarray Dataset of `mean`, `sd` and `quantiles`, with units: over the axes of the grid if the points form one, else over the points.

        >>> from pointillist import IntensityModel, datasets
        >>> grid = IntensityModel().fit(datasets.load("coal")).rate().to_xarray()
        >>> dict(grid.sizes), grid["mean"].units
        ({'year': 200, 'quantile': 3}, 'events per year')
        """
        return rate_dataset(self)

    def to_raster(self, path: str | os.PathLike[str] | None = None, *, mask: bool = True) -> Any:
        """A raster of rioxarray with bands for mean, sd and each quantile, in the coordinate reference system of the fit; with a path, a GeoTIFF too.

        Points must be a grid, and are the centres of pixels. Outside the window there is nothing, unless `mask=False`.

        >>> from pointillist import IntensityModel, Window
        >>> square = Window([(0, 1), (0, 1)], crs="EPSG:32637")
        >>> model = IntensityModel(average=False, nodes=(5, 5)).fit([[0.2, 0.3], [0.4, 0.9], [0.5, 0.5]], window=square)
        >>> raster = model.rate(model.posterior_.window.grid(4), quantiles=[]).to_raster()
        >>> raster.shape, raster.rio.crs.to_epsg()
        ((2, 4, 4), 32637)
        """
        return rate_raster(self, path, mask)

    def __repr__(self) -> str:
        if not len(self):
            return "<Rate at no points>"
        return f"<Rate at {len(self)} points, mean {self.mean.min():.4g} to {self.mean.max():.4g}>"

    def _repr_html_(self) -> str:
        from ._repr import html_of_rate

        return html_of_rate(self)


def seconds_of(unit: str | None) -> int:
    """The seconds of a unit of time; days unless it is said."""
    return {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800, "years": 31_557_600}.get(unit or "days", 86_400)


def event_set(points: Floats, window: _core.Window, time_zone: Any) -> Any:
    """A set of events as it is given back: rows on several axes, else numbers or dates."""
    if window.dims > 1:
        return points
    _, unit, origin, clocks = window.axes[0]
    return points[:, 0] if origin is None else in_zone(dates_of(points[:, 0], unit, origin, clocks), time_zone)


def dates_of(values: Floats, unit: str | None, origin: float, clocks: str | None = None) -> npt.NDArray[np.datetime64]:
    """Numbers on an axis of time as dates (UTC); with a time zone the axis counts what its clocks show."""
    micros = np.round(values * (seconds_of(unit) * 1e6)).astype(np.int64) + round(origin * 1e6)
    return (micros if clocks is None else _core.instants(clocks, np.ascontiguousarray(micros))).astype("datetime64[us]")


class Counts:
    """The numbers of events in regions, with joint draws of them, so that sums, differences and ratios of regions are those of the draws.

    `mean` and `sd` are exact moments of what is expected; a new count varies as a Poisson number about it.
    """

    def __init__(self, core: _core.Counts, draws: int, index: Any = None) -> None:
        self._core, self._draws, self.index = core, draws, index
        #: The axes of the window, the time zone in which dates are given back, and whether the caller named the regions: for plots.
        self.axes: list[tuple[str, str | None, float | None, str | None]] = []
        self.time_zone: Any = None
        self.is_named = True

    def __len__(self) -> int:
        return len(self._core)

    @property
    def names(self) -> list[str]:
        return self._core.names

    @property
    def boxes(self) -> list[list[tuple[float, float]]]:
        """(lo, hi) for each axis, of the box around what is counted of each region."""
        return self._core.boxes

    @property
    def seen(self) -> list[int | None]:
        """How many events of the fit lie in each region, to be held beside what is expected; None beyond the window, in its gaps, and for trials."""
        return self._core.seen

    @property
    def mean(self) -> Floats:
        return self._core.mean

    @property
    def sd(self) -> Floats:
        return self._core.sd

    @property
    def new_sd(self) -> Floats:
        """The standard deviation of a new count."""
        return np.sqrt(self.mean + self.sd**2)

    @property
    def draws(self) -> Floats:
        """A row for each region, a column for each draw."""
        return self._core.draws

    def covariance(self) -> Floats:
        """Of what is expected in one region and in another, by the draws; so its diagonal is near `sd` squared, which is exact."""
        return self._core.covariance()

    def quantiles(self, quantiles: Any = QUANTILES) -> Floats:
        """Quantiles of what is expected: a row for each probability."""
        return self._core.quantiles(self._enough(probabilities_of(quantiles)))

    def new_quantiles(self, quantiles: Any = QUANTILES) -> Floats:
        """Quantiles of a new count: a row for each probability."""
        return self._core.new_count_quantiles(self._enough(probabilities_of(quantiles)))

    def _enough(self, probabilities: list[float]) -> list[float]:
        for p in probabilities:
            if min(p, 1.0 - p) * self._draws < 1.0:
                import warnings

                least = 1.0 / min(p, 1.0 - p) if min(p, 1.0 - p) > 1e-15 else 1e15
                said = f"the quantile {p} is that of {self._draws} draws; for a better one take draws={round(least)} or more"
                warnings.warn(said, PointillistWarning, stacklevel=3)
                break
        return probabilities

    def to_frame(self, quantiles: Any = QUANTILES) -> Any:
        """A pandas DataFrame, one row for each region, labelled as they were: a GeoDataFrame for one, with its geometry, else the intervals of time.

        >>> import pandas as pd
        >>> from pointillist import IntensityModel
        >>> days = pd.date_range("2024-03-01", periods=20, freq="D", tz="Europe/Zurich")
        >>> model = IntensityModel(average=False).fit(days, window=("2024-02-29", "2024-03-22"))
        >>> model.count(days[::5]).to_frame(quantiles=[]).index[0].left
        Timestamp('2024-03-01 00:00:00+0100', tz='Europe/Zurich')
        """
        probabilities = probabilities_of(quantiles)
        columns: dict[str, Any] = {"region": self.names, "mean": self.mean, "sd": self.sd}
        columns.update({f"q{p:g}": row for p, row in zip(probabilities, self.quantiles(probabilities))})
        columns.update({"new_mean": self.mean, "new_sd": self.new_sd})
        columns.update({f"new_q{p:g}": row for p, row in zip(probabilities, self.new_quantiles(probabilities))})
        if all(seen is not None for seen in self.seen):
            columns["seen"] = self.seen
        return counts_frame(self, columns)

    def to_arviz(self) -> Any:
        """The draws as InferenceData of ArviZ (from its version 1 on a DataTree), with a `region` for each.

        >>> from pointillist import IntensityModel, datasets
        >>> counts = IntensityModel().fit(datasets.load("coal")).count([1860, 1880, 1900], draws=100)
        >>> dict(counts.to_arviz()["posterior"].sizes)
        {'chain': 1, 'draw': 100, 'region': 2}
        """
        return count_draws(self.draws, self.names)

    def plot(self, ax: Any = None, *, new: bool = False, color: Any = None) -> Axes:
        """A bar for each region with its 50 % and 90 % intervals, of what is expected, or with `new=True` of a new count.

        >>> from pointillist import IntensityModel, datasets
        >>> counts = IntensityModel().fit(datasets.load("coal")).count([1860, 1880, 1900])
        >>> counts.plot().get_xlabel()
        'year'
        """
        from . import _plot

        return _plot.plot_counts(self, ax, new=new, color=color)

    def __iter__(self) -> Iterator[OneCount]:
        return (OneCount(self, number) for number in range(len(self)))

    def __getitem__(self, region: int | str) -> OneCount:
        if isinstance(region, str) and region in self.names:
            return OneCount(self, self.names.index(region))
        if isinstance(region, str) or not is_whole(region):
            raise InputError(f"there is no region {region!r} among the counts; there are {', '.join(self.names[:20])}, and numbers from 0")
        if not -len(self) <= region < len(self):
            raise InputError(f"there is no region {region} among the counts; there are {len(self)}, counted from 0")
        return OneCount(self, range(len(self))[region])

    def __repr__(self) -> str:
        if len(self) == 1:
            return f"<Counts in {self.names[0]}: {self.mean[0]:.4g} ± {self.sd[0]:.2g}>"
        return f"<Counts in {len(self)} regions, mean {self.mean.min():.4g} to {self.mean.max():.4g}>"

    def _repr_html_(self) -> str:
        from ._repr import html_of_counts

        return html_of_counts(self)


class OneCount:
    """One of the regions of `Counts`: for `contrast`."""

    def __init__(self, counts: Counts, number: int) -> None:
        self.counts, self.number = counts, number

    @property
    def mean(self) -> float:
        return float(self.counts.mean[self.number])

    @property
    def sd(self) -> float:
        return float(self.counts.sd[self.number])

    def __repr__(self) -> str:
        return f"<Count in {self.counts.names[self.number]}: {self.mean:.4g} ± {self.sd:.2g}>"


class Contrast:
    """How the number of events in one region compares with that in another: `difference`, `ratio`, `probability` that the first is higher."""

    def __init__(self, probabilities: list[float], found: dict[str, Any], draws: int = DRAWS) -> None:
        self.probabilities, self.draws = probabilities, draws
        mean, sd, quantiles = found["difference"]
        #: Mean, standard deviation and quantiles of A - B.
        self.difference: dict[str, Any] = {"mean": mean, "sd": sd, "quantiles": dict(zip(probabilities, quantiles))}
        #: Quantiles of A / B.
        self.ratio: dict[float, float] = dict(zip(probabilities, found["ratio"]))
        #: P(A > B).
        self.probability: float = found["probability"]

    def __repr__(self) -> str:
        return f"<Contrast: difference {self.difference['mean']:.4g} ± {self.difference['sd']:.2g}, P(A > B) {self.chance}>"

    @property
    def chance(self) -> str:
        """The probability in words: draws cannot tell 1 from what is nearer to it than one of them."""
        least = 1.0 / self.draws
        if self.probability < least:
            return f"below {least:.4g}"
        return f"above {1.0 - least:.6g}" if self.probability > 1.0 - least else f"= {self.probability:.3g}"

    def _repr_html_(self) -> str:
        from ._repr import html_of_contrast

        return html_of_contrast(self)


def contrast(a: Any, b: Any, *, quantiles: Any = QUANTILES) -> Contrast:
    """How the number of events in A compares with that in B.

    `a` and `b` are counts of one region each, of one posterior or of two; regions of one posterior should come from one call of `count`, as in
    `counts = post.count([a, b]); contrast(counts[0], counts[1])`, since what they share is known only there.

    >>> from pointillist import IntensityModel, datasets, contrast
    >>> counts = IntensityModel().fit(datasets.load("coal")).count([(1860, 1880), (1930, 1950)])
    >>> contrast(counts[0], counts[1]).probability > 0.99
    True
    """
    first, second = _one(a, "the first"), _one(b, "the second")
    if first.counts is not second.counts and first.counts._core.of == second.counts._core.of:
        raise SettingError(
            "the two were counted apart, so what regions of one posterior share is not known; count them together, as in "
            "counts = post.count([a, b]); contrast(counts[0], counts[1])"
        )
    probabilities = probabilities_of(quantiles)
    other = None if first.counts is second.counts else second.counts._core
    if first.counts._draws != second.counts._draws:
        raise SettingError(f"one was counted with {first.counts._draws} draws and the other with {second.counts._draws}; give both the same draws=")
    return Contrast(probabilities, first.counts._core.contrast(first.number, other, second.number, probabilities), first.counts._draws)


def _one(counts: Any, which: str) -> OneCount:
    if isinstance(counts, OneCount):
        return counts
    if isinstance(counts, Counts) and len(counts) == 1:
        return counts[0]
    if isinstance(counts, Counts):
        raise SettingError(f"{which} has {len(counts)} regions; choose one, as in counts[0]")
    raise SettingError(f"{which} is a {type(counts).__name__}; give counts, as post.count(region) does")


class Component(NamedTuple):
    """A component of f at points."""

    #: Its mean and standard deviation, in the root of the unit of the rate.
    mean: Floats
    sd: Floats
    #: A row for each quantile.
    quantiles: Floats
    #: The rate with all other components at their average over the window, and a row for each of its quantiles.
    rate: Floats
    rate_quantiles: Floats


class Posterior:
    """What is known of an intensity once events were seen: what `IntensityModel().fit(events)` finds, and what a model file holds."""

    _core: CorePosterior
    crs: Any
    time_zone: Any

    def __init__(self, core: CorePosterior, crs: Any = None, time_zone: Any = None) -> None:
        self._core, self.crs = core, crs_on(core.window, crs)
        #: The time zone in which dates are given back; where the axis of time follows the clocks of one, it is that.
        self.time_zone = clocks_of(core.window) or time_zone

    # What it is

    @property
    def window(self) -> Window:
        """Where events were looked for."""
        return Window._of(self._core.window, self.crs)

    @property
    def summary(self) -> dict[str, Any]:
        """What the fit says of itself: the JSON of the command, field by field."""
        said: dict[str, Any] = json.loads(self._core.summary_json())
        return said

    @property
    def source(self) -> str:
        return self._core.source

    @property
    def event_count(self) -> int:
        return self._core.event_count

    @property
    def events(self) -> Floats | None:
        """The events that were fitted, unless they were too many to keep; on the globe in degrees."""
        return self._core.events

    @property
    def trials(self) -> npt.NDArray[np.int64] | None:
        """The trial of each of them, from 0."""
        return self._core.trials

    @property
    def elbo(self) -> float:
        """The bound."""
        return float(self.summary["elbo"])

    @property
    def converged(self) -> bool:
        return bool(self.summary["converged"])

    @property
    def rate_unit(self) -> str:
        """As in `events per year`; on the globe `events per km²`."""
        return self._core.window.rate_unit()

    def show(self) -> str:
        """The summary for people, as the command prints it."""
        return self._core.text()

    def __repr__(self) -> str:
        return f"<Posterior of {self.event_count} events in {self._core.window.show()}, bound {self.elbo:.4f}>"

    def _repr_html_(self) -> str:
        from ._repr import html_of_posterior

        return html_of_posterior(self)

    # What it says of rates

    def _given(self, x: Any) -> Any:
        window = self._core.window
        if x is None:
            x = window.grid(_default_grid(window.dims))
        elif window.dims == 1 and (is_whole(x) or isinstance(x, (float, np.floating, np.datetime64, datetime.date, str))):
            x = [x]  # one place
        found = points_of(x, window, self.time_zone)
        check_place(found.crs, None, window, self.crs, "the points")
        return found.given

    def rate(self, x: Any = None, *, quantiles: Any = QUANTILES, progress: Any = None) -> Rate:
        """The rate at points, or on a grid over the window: mean, standard deviation and quantiles.

        >>> from pointillist import IntensityModel, datasets
        >>> post = IntensityModel().fit(datasets.load("coal"))
        >>> rate = post.rate([1870.0, 1950.0])
        >>> bool(rate.mean[0] > rate.mean[1])
        True
        """
        given, probabilities = self._given(x), probabilities_of(quantiles)
        mean, sd, bands = self._core.rate(given, probabilities, watcher(progress))
        points = given if isinstance(given, np.ndarray) else _core.points_on(given, self._core.window)
        rate = Rate(points, self._core.window.axes, mean, sd, probabilities, bands)
        zone = zone_of(x)
        rate.time_zone, rate.asked = self.time_zone if zone is None else zone, x
        rate.window, rate.crs, rate.unit = self.window, self.crs, self.rate_unit
        rate.inside = self._core.window.contains(points)
        return rate

    def components(self, x: Any = None, *, quantiles: Any = QUANTILES) -> dict[str, Component]:
        """The components of a model whose kernel is a sum, at points or on a grid over the window: what repeats itself, and the trend.

        They are parts of f, whose square is the rate: their means add up to that of f, and not to the rate. So read off when one is high or low, and how surely;
        how many events it brings depends on where the others stand.

        >>> from pointillist import IntensityModel
        >>> import numpy as np
        >>> times = np.concatenate([day + np.linspace(0.4, 0.6, 5) for day in range(8)])
        >>> model = IntensityModel(kernel="se(x) + se(x)*periodic(x, period=1!)", average=False)
        >>> parts = model.fit(times, window=(0, 8)).components([3.0, 3.5])
        >>> list(parts)
        ['trend', 'period 1']
        >>> bool(parts["period 1"].rate[1] > parts["period 1"].rate[0])
        True
        """
        probabilities = probabilities_of(quantiles)
        found = self._core.components(self._given(x), probabilities)
        return {name: Component(*own, rate[0], rate[2]) for name, own, rate in found}

    def quantile(self, x: Any, q: Any) -> Floats:
        """Quantiles of the rate at points: an array for one probability, a row for each of several."""
        values = self._core.rate(self._given(x), probabilities_of(q), None)[2]
        return values[0] if np.ndim(q) == 0 else values

    def exceedance(self, x: Any, threshold: float) -> Floats:
        """The probability that the rate at points is above a threshold."""
        return self._core.exceedance(self._given(x), _rate(threshold))

    def rate_ratio(self, other: Any, x: Any, *, quantiles: Any = QUANTILES, exceed: Any = ()) -> tuple[Floats, Floats]:
        """The rate over that of another posterior, learned from other events, at points: cases over controls, after over before.

        Both are uncertain, and independent. Gives a row for each quantile, and a row for each of `exceed`: the probability that the ratio is higher.
        Where the other rate may be near 0 a ratio has no mean. Divide by the ratio of the numbers of events to compare shares.

        >>> from pointillist import IntensityModel
        >>> cases = IntensityModel(average=False).fit([1.0, 1.1, 1.2, 1.4, 1.9, 2.0], window=(0, 5))
        >>> controls = IntensityModel(average=False).fit([0.5, 1.5, 3.0, 3.5, 4.0, 4.5], window=(0, 5))
        >>> (low, middle, high), (more,) = cases.rate_ratio(controls, [1.1, 4.0], exceed=[1.0])
        >>> bool(middle[0] > middle[1]), bool(more[0] > 0.5)
        (True, True)
        """
        other = getattr(other, "posterior_", other)
        if not isinstance(other, Posterior):
            raise SettingError(f"other=: a posterior is needed, and this is {type(other).__name__}; give what `fit` returns")
        if other is self:
            raise SettingError("other=: a model over itself is 1 everywhere; give one that was learned from other events")
        thresholds = [_rate(threshold) for threshold in np.atleast_1d(exceed)]
        return self._core.rate_ratio(other._core, self._given(x), probabilities_of(quantiles), thresholds)

    def expected_log_rate(self, x: Any) -> Floats:
        """E[log rate] at points."""
        return self._core.expected_log_rate(self._given(x))

    def sample(self, x: Any, n: int = 1, *, seed: int | None = 0) -> Floats:
        """Draws of the intensity at points: a row for each draw."""
        given = self._given(x)
        points = len(given) if isinstance(given, np.ndarray) else len(given[0])
        return self._core.sample(given, affordable("n", whole("n", n, 1) or 1, points), seed_of(seed))

    def sample_events(self, n: int = 1, *, seed: int | None = 0) -> list[Any]:
        """Whole new sets of events, one array for each; dates (a DatetimeIndex of pandas if the events had a time zone) where time is the only axis.

        >>> from pointillist import IntensityModel
        >>> import pandas as pd
        >>> days = pd.date_range("2024-03-01", periods=20, freq="D", tz="Europe/Zurich")
        >>> model = IntensityModel(average=False).fit(days, window=("2024-02-29", "2024-03-22"))
        >>> str(model.sample_events()[0].tz)
        'Europe/Zurich'
        """
        size = (self.event_count + 4) * self._core.window.dims
        sets = self._core.sample_events(affordable("n", whole("n", n, 1) or 1, size), seed_of(seed))
        return [event_set(points, self._core.window, self.time_zone) for points in sets]

    def to_arviz(self, x: Any = None, *, draws: int = 1000, seed: int | None = 0) -> Any:
        """Draws of the rate at points, or on a grid over the window, as InferenceData of ArviZ (from its version 1 on a DataTree).

        >>> from pointillist import IntensityModel, datasets
        >>> post = IntensityModel().fit(datasets.load("coal"))
        >>> post.to_arviz([1870.0, 1950.0], draws=50)["posterior"]["rate"].shape
        (1, 50, 2)
        """
        points = _core.points_on(self._given(x), self._core.window)
        return rate_draws(self.sample(points, draws, seed=seed), points, [name for name, *_ in self._core.window.axes], self.events)

    # Counts

    def count(self, regions: Any = None, *, every: Any = None, draws: int = DRAWS, seed: int | None = 0, progress: Any = None) -> Counts:
        """The numbers of events in regions, all from one set of draws.

        A region is a Window, (lo, hi), a pair for each axis, or a border. Several of them are a list, a dict by name, a GeoDataFrame, or the edges of
        bins of time; `every="7d"` cuts the whole window. Without any it is the whole window, one trial if there were several.

        >>> from pointillist import IntensityModel, datasets
        >>> post = IntensityModel().fit(datasets.load("coal"))
        >>> counts = post.count([1860, 1880, 1900])
        >>> len(counts), counts.covariance().shape
        (2, (2, 2))
        """
        asked, length = region_list(regions, every, self._core.window.dims, self.time_zone, clocks_of(self._core.window) is not None)
        for one in asked:
            if isinstance(one, tuple):
                check_place(one[1].crs, one[1].geography, self._core.window, self.crs, "regions=")
                refuse_other(one[1].geography, self._core.window)
        number = affordable("draws", whole("draws", draws, 2) or 2, len(asked))
        try:
            core = self._core.count(asked, length, number, seed_of(seed), watcher(progress))
        except WindowError as error:
            raise WindowError(str(error).replace("window=", "regions=")) from error
        counts = Counts(core, number, labels_of(regions, every))
        zone = zone_of(regions)
        counts.axes, counts.time_zone = self._core.window.axes, self.time_zone if zone is None else zone
        counts.is_named = isinstance(regions, Mapping)
        return counts

    # Covariates

    @property
    def covariates(self) -> list[str]:
        """The names of the covariates of the fit."""
        return self._core.covariates

    @property
    def effects(self) -> list[dict[str, Any]]:
        """The effects of the covariates, as `fit --json` of the command has them: on the logarithm of the rate, with 90 % intervals and evidence."""
        found: list[dict[str, Any]] = json.loads(self._core.summary_json()).get("effects") or []
        return found

    def set(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Posterior:
        """The posterior with covariates held at values all over the window: `post.set(elevation=200)`, `post.set({"land use": "forest"})`.

        That is a statement about the model: what else differs where a covariate does, and is in no column, is in its effect. `IntensityModel.fit` has an example.
        """
        return Posterior(self._core.with_set(held_texts({**(values or {}), **named})), self.crs, self.time_zone)

    # More events

    def update(self, new: Any, *, clip: bool = False, progress: Any = None) -> Posterior:
        """The posterior once new events of the same window were seen too; the fit goes on from this one, which stays as it is.

        `new`: a Summary, several, or events of any form. The model must be that of a summary: it knows its events by cell, to which others can be added.

        >>> from pointillist import IntensityModel, Summary
        >>> early = IntensityModel().fit(Summary.of([1.0, 2.5, 4.0, 7.5], window=(0, 10))).posterior_
        >>> early.update([3.0, 9.0]).event_count
        6
        """
        from ._model import IntensityModel

        return self._updated(new, clip, IntensityModel()._settings(), None, progress)

    def _updated(self, new: Any, clip: bool, settings: Any, threads: int | None, progress: Any) -> Posterior:
        if self._core.cells is None:
            raise InputError(
                "the model was fitted to events themselves, to which none can be added; fit a summary first, as in "
                "IntensityModel().fit(Summary.of(events, window=...)), or fit all events together"
            )
        summary = summary_of(new)
        if summary is None:
            given = new.points if isinstance(new, _core.Events) else new
            summary = Summary.of(given, window=self.window, cells=self._core.cells, clip=clip, time_zone=self.time_zone)
        check_crs(summary.crs, self.crs)
        made_with = None if self._core.made_with is None else f"{self._core.made_with}.update(events)"
        core = _core.update(self._core, summary._core, replace(settings, made_with=made_with), threads, watcher(progress))
        return Posterior(core, self.crs if self.crs is not None else summary.crs, self.time_zone)

    # Plots

    def plot(
        self,
        ax: Any = None,
        *,
        show: str = "mean",
        level: float | None = None,
        events: bool = True,
        points: int | None = None,
        at: Any = None,
        color: Any = None,
        label: str | None = None,
        cmap: Any = None,
        colorbar: bool = True,
    ) -> Axes:
        """The rate as a curve with 50 % and 90 % bands and its events, or as a map inside its border; gives the axes back.

        `show`: "mean", "sd", "quantile" (the one of probability `level`, 0.95 unless it is given) or "exceed" (the probability that the rate is
        above `level`, the average rate unless it is given). `points`: how many along a curve or the longer side of a map. `at`: the place on a
        third axis, its middle unless it is given. `color` and `label` are for a curve beside others, `cmap` and `colorbar` for a map. Events of
        trials stand above the curve, in a row for each.

        >>> from pointillist import IntensityModel, datasets
        >>> post = IntensityModel().fit(datasets.load("coal")).posterior_
        >>> post.plot().get_ylabel()
        'events per year'
        >>> post.plot(show="exceed", level=2.0).get_ylabel()
        'P(rate > 2 events per year)'
        """
        from . import _plot

        how: dict[str, Any] = {"show": show, "level": level, "events": events, "points": points, "at": at}
        return _plot.plot(self, ax, **how, color=color, label=label, cmap=cmap, colorbar=colorbar)

    def plot_counts(self, regions: Any = None, *, every: Any = None, ax: Any = None, new: bool = False, color: Any = None, **how: Any) -> Axes:
        """The numbers of events in regions as bars with 50 % and 90 % intervals; `regions`, `every` and `how` are those of `count`.

        >>> from pointillist import IntensityModel, datasets
        >>> post = IntensityModel().fit(datasets.load("coal")).posterior_
        >>> post.plot_counts({"1860s": (1860, 1870), "1940s": (1940, 1950)}).get_xlabel()
        'expected events, 50 and 90 % intervals'
        """
        return self.count(regions, every=every, **how).plot(ax, new=new, color=color)

    def plot_raster(self, ax: Any = None) -> Axes:
        """The events of each trial in a row of its own, the first on top.

        >>> from pointillist import IntensityModel, datasets
        >>> post = IntensityModel(average=False).fit(datasets.load("spikes")).posterior_
        >>> post.plot_raster().get_ylabel()
        'trial'
        """
        from . import _plot

        return _plot.plot_raster(self, ax)

    # Checks and scores

    def score(self, held_out: Any, *, repeats: int | None = None, clip: bool = False, draws: int = DRAWS, seed: int | None = 0) -> dict[str, Any]:
        """Scores of held-out events, which come from the window of the fit: l_p, l_0, m_p, m_0, as the command has them."""
        events = held_out_events(held_out, self._core.window, repeats, clip, self.crs, self.time_zone)
        found = self._core.score(events, affordable("draws", whole("draws", draws, 2) or 2, 1), seed_of(seed))
        for name in ("m_p", "m_0"):
            k = found[f"{name}_pareto_k"]
            if k is not None and k > UNTRUSTED:
                import warnings

                said = f"{name} is unsure (Pareto k {k:.2f} above {UNTRUSTED}): its error may be larger than it says; use more draws="
                warnings.warn(said, PointillistWarning, stacklevel=2)
        return found

    def log_likelihood(self, held_out: Any, *, repeats: int | None = None, clip: bool = False) -> float:
        """The log-likelihood of held-out events at the posterior mean of the rate."""
        return self._core.log_likelihood(held_out_events(held_out, self._core.window, repeats, clip, self.crs, self.time_zone))

    def fold_score(self, held_out: Any) -> float:
        """The log-likelihood of a fold of cross-validation: of events that are a part of as many as there would be in the window.

        The posterior mean of the rate is taken times the number of these events over that of the fit, if they have no trials of their own.
        """
        is_part = is_fold(held_out)
        looks = looks_of_fold(self._core.window) if is_part else None
        events = held_out_events(held_out, self._core.window, looks, False, self.crs, self.time_zone)
        found = self._core.log_likelihood(events)
        return scaled_to_fold(found, self._core.expected(events), len(events), self.event_count) if is_part else found

    def check(self, events: Any = None, *, draws: int = 8000, seed: int | None = 0, progress: Any = None) -> dict[str, Any]:
        """The answer beside exact draws of the same model, and goodness of fit; the events are those of the fit, which it keeps if they are few."""
        given = None if events is None else self._given(events.points if isinstance(events, _core.Events) else events)
        found: dict[str, Any] = json.loads(self._core.check(given, affordable("draws", whole("draws", draws, 100) or 100, 1), seed_of(seed), watcher(progress)))
        goodness = self._core.goodness_of_fit(given)
        found["goodness"] = None if goodness is None else json.loads(goodness)
        return found

    # Files

    def to_json(self) -> str:
        """The model file, as the command writes it."""
        return self._core.to_json(self._crs_text(), self._zone_text())

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "the model") -> Posterior:
        """The posterior of a model file's text."""
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise ModelFileError(f"a {type(text).__name__} is not a model file; give the text of one")
        return cls._read(_core.Posterior.from_bytes(text.encode() if isinstance(text, str) else bytes(text), name))

    @classmethod
    def _read(cls, core: CorePosterior) -> Posterior:
        if core.value_name is not None:
            from ._measured import MeasuredPosterior

            return MeasuredPosterior(core, core.crs, core.time_zone)
        return cls(core, core.crs, core.time_zone)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, which the command reads too; whole or not at all."""
        self._core.write(path_of(path), self._crs_text(), self._zone_text())

    def _zone_text(self) -> str | None:
        """As model files have it: an axis that follows clocks says so itself."""
        return None if clocks_of(self._core.window) is not None else zone_text(self.time_zone)

    def _crs_text(self) -> str | None:
        """As model files have it: on the globe nothing has to be said of degrees."""
        is_plain = self._core.window.globe is not None and same_crs(self.crs, WGS84)
        return None if is_plain else crs_text(self.crs)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str | None = None, cells: int = 200, progress: Any = None) -> str:
        """The page to share, as text, and written to `path` if there is one: the rate with its uncertainty and what the fit said, in one file that opens
        offline, with the call that made it. A map has about `cells` cells on each side, 10 to 400.

        >>> from pointillist import IntensityModel, datasets
        >>> page = IntensityModel(average=False).fit(datasets.load("coal")).to_html(title="Disasters in mines")
        >>> page[:15], "<h1>Disasters in mines</h1>" in page
        ('<!doctype html>', True)
        """
        count = whole("cells", cells, 10) or 10
        if count > 400:
            raise InputError(f"cells={count}: a page has at most 400 cells on each side; give a smaller number")
        target = None if path is None else path_of(path)
        if target is not None and not str(target).lower().endswith((".html", ".htm")):
            raise InputError(f"{target}: the name of a page must end in .html")
        page = self._core.to_html(None if title is None else str(title), count, self._crs_text(), progress)
        if target is not None:
            _core.write_whole(target, page)
        return page

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Posterior:
        """Reads a model file, whoever wrote it."""
        return cls._read(_core.Posterior.read(path_of(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_json(), self.crs, self.time_zone)


def _restored(text: str, crs: Any, time_zone: Any) -> Posterior:
    posterior = Posterior.from_json(text, "the pickled model")
    posterior.crs, posterior.time_zone = crs, time_zone
    return posterior


def is_fold(held_out: Any) -> bool:
    """Whether held-out events are a part of a set, without a word on how they were looked for."""
    return not isinstance(held_out, _core.Events) and coordinates(held_out, "the held-out events").trials is None


def looks_of_fold(window: _core.Window) -> int | None:
    """How often a fold was looked for: as often as the window."""
    return round(max(weight for _, weight in window.pieces)) if window.is_repeated else None


def points_of(x: Any, window: _core.Window, zone: Any) -> Coordinates:
    """Points on the axes of a window: columns by their names, dates without a time zone in this one."""
    return coordinates(x, "the points", window.dims, names=[name for name, *_ in window.axes], zone=zone)


def scaled_to_fold(log_likelihood: float, expected: float, events: int, fitted: int) -> float:
    """The log-likelihood with rates taken times the share that the events of a fold are of those of the fit."""
    share = events / fitted
    return log_likelihood + (events * float(np.log(share)) if events else 0.0) - (share - 1.0) * expected


def _default_grid(dims: int) -> list[int]:
    """As large as those of the command."""
    return [{1: 200, 2: 50, 3: 20}.get(dims, 8)] * dims


def _rate(threshold: Any) -> float:
    try:
        value = float(threshold)
    except (TypeError, ValueError) as error:
        raise SettingError(f"threshold={threshold!r} is no rate; give a number that is not negative") from error
    if not value >= 0.0 or value == float("inf"):
        raise SettingError(f"threshold={threshold!r} is no rate; give a number that is not negative")
    return value


def watcher(progress: Any) -> Callable[..., None] | None:
    """A function for the core: the caller's own, or a bar of tqdm for `progress=True`."""
    if progress is None or progress is False:
        return None
    if callable(progress):

        def told(part: float, evaluations: int | None = None, bound: float | None = None, size: int | None = None) -> None:
            progress({"part": part, "evaluations": evaluations, "bound": bound, "size": size})

        return told
    if progress is True:
        return _printed
    raise SettingError(f"progress={progress!r} is not understood; give True, or a function that takes a dict")


def _printed(part: float, evaluations: int | None = None, bound: float | None = None, size: int | None = None) -> None:
    import sys

    unknowns = "" if size is None else f", {size} unknowns"
    print(f"\rpointillist: {100 * part:.0f} %{unknowns}\x1b[K", end="\r", file=sys.stderr, flush=True)

