"""What the model is compared with: kernel smoothing, the sigmoidal Gaussian Cox process, and tables of all of them; and calibration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._coordinates import coordinates
from ._errors import InputError, SettingError
from ._events import as_events, held_out_events
from ._geo import check_place, crs_of, crs_on
from ._model import Estimator, IntensityModel
from ._frames import zone_of
from ._posterior import DRAWS, QUANTILES, Rate, is_fold, looks_of_fold, points_of, probabilities_of, scaled_to_fold, watcher
from ._settings import real, seed_of, texts, threads_of, whole, word
from ._sklearn import check_features
from ._window import Window, as_window

Floats = npt.NDArray[np.float64]


class KernelSmoother(Estimator):
    """Kernel smoothing: a Gaussian on every event, with the bandwidth that predicts each event best from the others.

    >>> from pointillist import KernelSmoother, datasets
    >>> smoother = KernelSmoother().fit(datasets.load("coal"))
    >>> smoother.rate([1870.0]).shape
    (1,)
    """

    posterior_: _core.Smoother

    def __init__(self, *, edge_correction: str = "truncate", bandwidth: Any = None, window: Any = None) -> None:
        self.edge_correction = edge_correction
        self.bandwidth = bandwidth
        self.window = window

    def fit(self, X: Any, y: Any = None, *, window: Any = None, **about: Any) -> KernelSmoother:
        """Finds the bandwidth, unless one is given."""
        meant = window if window is not None else None if isinstance(X, _core.Events) else self.window
        events = as_events(X, meant, **about)
        if self.bandwidth is None and len(events) == 1:
            raise InputError("the events are 1 sample, and a bandwidth is chosen by leaving one out; give two events or more, or bandwidth=")
        widths = None if self.bandwidth is None else [real("bandwidth", width) for width in _listed(self.bandwidth)]
        self.posterior_ = _core.Smoother.fit(events, word("edge_correction", self.edge_correction) or "truncate", widths)
        self.n_features_in_ = self.posterior_.window.dims
        self.crs_, self.zone_ = crs_on(self.posterior_.window, crs_of(X, meant)), zone_of(X)
        return self

    @property
    def bandwidth_(self) -> Floats:
        """The bandwidth on each axis."""
        return self.posterior_.bandwidth

    @property
    def loo_(self) -> float:
        """The leave-one-out log-likelihood."""
        return self.posterior_.loo

    def rate(self, x: Any) -> Floats:
        """The rate at points."""
        found = points_of(x, self.posterior_.window, self.zone_)
        check_place(found.crs, None, self.posterior_.window, self.crs_, "the points")
        return self.posterior_.rate(found.given)

    def expected(self, region: Any = None) -> float:
        """The expected number of events in a region, or in the window."""
        if region is None:
            return self.posterior_.expected(None)
        asked = as_window(region)
        check_place(asked.crs, asked.geography, self.posterior_.window, self.crs_, "region=")
        return self.posterior_.expected(asked.in_zone(self.zone_))

    def score_samples(self, X: Any) -> Floats:
        """The logarithm of the rate at points."""
        check_features(self, X)
        with np.errstate(divide="ignore"):
            return np.log(self.rate(X))

    def score(self, X: Any, y: Any = None, *, repeats: int | None = None, clip: bool = False) -> float:
        """The log-likelihood of held-out events: with `repeats` those of so many looks, else of a fold, as for `IntensityModel`."""
        check_features(self, X)
        core = self.posterior_
        is_part = repeats is None and is_fold(X)
        looks = looks_of_fold(core.window) if is_part else repeats
        events = held_out_events(X, core.window, looks, clip, self.crs_, self.zone_)
        found = core.log_likelihood(events)
        return scaled_to_fold(found, core.expected_of(events), len(events), core.event_count) if is_part else found


def _listed(bandwidth: Any) -> list[Any]:
    return list(bandwidth) if isinstance(bandwidth, (list, tuple, np.ndarray)) and getattr(bandwidth, "ndim", 1) == 1 else [bandwidth]


class SGCP(Estimator):
    """The sigmoidal Gaussian Cox process of Adams, Murray and MacKay, sampled: slow, and exact up to its chains.

    Parameters are those of the command. `fit` warns if the chains do not agree yet.
    """

    posterior_: _core.Sgcp

    def __init__(
        self,
        *,
        chains: int = 4,
        warm_up: int = 500,
        max_sweeps: int = 50_000,
        r_hat: float = 1.01,
        effective: float = 400.0,
        thinning: str = "adaptive",
        seed: int = 0,
        threads: int | None = None,
        progress: Any = None,
        window: Any = None,
    ) -> None:
        self.chains = chains
        self.warm_up = warm_up
        self.max_sweeps = max_sweeps
        self.r_hat = r_hat
        self.effective = effective
        self.thinning = thinning
        self.seed = seed
        self.threads = threads
        self.progress = progress
        self.window = window

    def fit(self, X: Any, y: Any = None, *, window: Any = None, **about: Any) -> SGCP:
        """Samples until the chains agree."""
        meant = window if window is not None else None if isinstance(X, _core.Events) else self.window
        events = as_events(X, meant, **about)
        self.posterior_ = _core.Sgcp.fit(events, self._sampling(), threads_of(self.threads), watcher(self.progress))
        self.n_features_in_ = self.posterior_.window.dims
        self.crs_, self.zone_ = crs_on(self.posterior_.window, crs_of(X, meant)), zone_of(X)
        return self

    def _sampling(self) -> SimpleNamespace:
        """What the core is told of the chains."""
        counts = {name: whole(name, getattr(self, name), least) or 0 for name, least in [("chains", 1), ("warm_up", 0), ("max_sweeps", 1)]}
        goals = {name: real(name, getattr(self, name)) for name in ("r_hat", "effective")}
        return SimpleNamespace(**counts, **goals, thinning=word("thinning", self.thinning) or "adaptive", seed=seed_of(self.seed))

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """R-hat, effective draws and the like."""
        found: dict[str, Any] = json.loads(self.posterior_.diagnostics())
        return found

    def rate(self, x: Any, *, quantiles: Any = QUANTILES, draws: int = 1000, seed: int | None = None) -> Rate:
        """The rate at points: mean, standard deviation and quantiles."""
        core, probabilities = self.posterior_, probabilities_of(quantiles)
        given = self._given(x)
        mean, sd, bands = core.rate(given, probabilities, draws, seed_of(self.seed if seed is None else seed))
        rate = Rate(_core.points_on(given, core.window), core.window.axes, mean, sd, probabilities, bands)
        rate.window, rate.crs = Window._of(core.window, self.crs_), self.crs_
        return rate

    def _given(self, x: Any) -> Any:
        found = points_of(x, self.posterior_.window, self.zone_)
        check_place(found.crs, None, self.posterior_.window, self.crs_, "the points")
        return found.given

    def sample(self, x: Any, n: int = 1, *, seed: int | None = None) -> Floats:
        """Draws of the intensity at points: a row for each."""
        core = self.posterior_
        return core.sample(self._given(x), whole("n", n, 1) or 1, seed_of(self.seed if seed is None else seed))

    def score_samples(self, X: Any) -> Floats:
        """The logarithm of the posterior mean rate at points."""
        check_features(self, X)
        return np.log(self.rate(X, quantiles=[]).mean)

    def score(self, X: Any, y: Any = None, *, repeats: int | None = None, clip: bool = False) -> float:
        """The log-likelihood of held-out events at the posterior mean of the rate: with `repeats` of so many looks, else of a fold, as for `IntensityModel`."""
        found = self.scores(X, repeats=repeats, clip=clip)
        if repeats is not None or not is_fold(X):
            return float(found["log_likelihood"])
        return scaled_to_fold(found["log_likelihood"], found["expected"], found["events"], self.posterior_.event_count)

    def scores(self, X: Any, *, repeats: int | None = None, clip: bool = False, draws: int = 1000) -> dict[str, Any]:
        """All scores of held-out events."""
        check_features(self, X)
        looks = looks_of_fold(self.posterior_.window) if repeats is None and is_fold(X) else repeats
        events = held_out_events(X, self.posterior_.window, looks, clip, self.crs_, self.zone_)
        return self.posterior_.score(events, draws, seed_of(self.seed))


#: What `compare` runs unless it is told.
METHODS = ("vbpp", "ks+ec", "ks-ec", "homogeneous")


def compare(
    events: Any,
    held_out: Any = None,
    *,
    window: Any = None,
    methods: Sequence[str] = METHODS,
    model: IntensityModel | None = None,
    splits: int = 1,
    draws: int = DRAWS,
    seed: int | None = 0,
    progress: Any = None,
    **about: Any,
) -> list[dict[str, Any]]:
    """Every method on the same events, scored on the same held-out ones: one row for each method, with means over splits.

    Without held-out events they are split in random halves. `model` is what "vbpp" stands for.

    >>> from pointillist import compare, datasets
    >>> [row["name"] for row in compare(datasets.load("coal"), methods=["homogeneous", "ks+ec"])]
    ['homogeneous', 'ks+ec']
    """
    train = as_events(events, window, **about)
    methods = texts("methods", methods)
    settings = (IntensityModel() if model is None else model)._settings()
    test = None if held_out is None else held_out_events(held_out, train.window, None, False, crs_of(events, window))
    count = whole("splits", splits, 1) or 1
    found = _core.compare(train, test, list(methods), settings, count, whole("draws", draws, 2) or 2, seed_of(seed), watcher(progress))
    first = [one["log_likelihood"] for one in found[0]] if found else []
    return [_row(name, splits_of, first) for name, splits_of in zip(methods, found)]


def _row(name: str, splits: list[dict[str, Any]], first: list[float]) -> dict[str, Any]:
    """Means over splits, and the difference from the first method with its standard error."""
    row: dict[str, Any] = {"name": name}
    for field in ("log_likelihood", "l_p", "m_p", "seconds"):
        values = [one[field] for one in splits]
        row[field] = None if any(value is None for value in values) else float(np.mean(values))
    row["converged"] = sum(one["converged"] for one in splits)
    if len(splits) > 1:
        apart = np.array([one["log_likelihood"] for one in splits]) - np.array(first)
        row["difference"] = (float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))))
    row["splits"] = splits
    return row


def calibrate(
    *, dims: int = 1, link: str = "log", events: int = 100, sets: int = 100, families: str = "own", seed: int | None = 0, progress: Any = None
) -> dict[str, Any]:
    """Whether intervals hold the truth as often as they say: sets are drawn from the prior and fitted, and ranks should be uniform.

    `families`: "own" fits the family that a set comes from, "all" what `IntensityModel()` does.
    """
    if word("link", link) not in ("log", "square"):
        raise SettingError(f"link={link!r} is not known; take one of log, square")
    numbers = [whole(name, value, 1) or 1 for name, value in [("dims", dims), ("events", events), ("sets", sets)]]
    found: dict[str, Any] = json.loads(_core.calibrate(numbers[0], link, numbers[1], numbers[2], word("families", families) or "own", seed_of(seed), watcher(progress)))
    return found


def plot_calibration(found: Mapping[str, Any], ax: Any = None, *, show: str | None = None, of: str | None = None) -> Any:
    """What `calibrate` found: histograms of ranks with the band in which they should lie, and coverage against what intervals promise.

    Without `ax=` and `show=` it is a figure with all of it, and an array of its axes comes back. `show="ranks"` draws the histogram of one
    quantity, which `of=` names (the first unless it does), `show="coverage"` the coverage of all; either gives its axes.

    >>> from pointillist import calibrate, plot_calibration
    >>> axes = plot_calibration(calibrate(sets=20, events=20))
    >>> axes[-1].get_xlabel()
    'promised (%)'
    """
    from . import _plot

    return _plot.plot_calibration(found, ax, show, of)
