"""Models: settings in the constructor, `fit(events)`, and then everything that a posterior is asked. Estimators of scikit-learn, without needing it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core
from ._covariates import Covariates
from ._errors import SettingError, not_fitted
from ._events import as_events
from ._frames import zone_of
from ._geo import crs_of
from ._measured import MeasuredPosterior, events_with_rows, places_of, valued
from ._posterior import Posterior, watcher
from ._settings import Settings, call_text, threads_of
from ._sklearn import check_features
from ._summary import summary_of
from ._types import TypesPosterior, events_of_types, labelled
from ._window import Exposure

Self = TypeVar("Self", bound="Estimator")


class Estimator:
    """What scikit-learn asks of an estimator: parameters by the names of the constructor's arguments."""

    posterior_: Any
    n_features_in_: int

    @classmethod
    def _parameter_names(cls) -> list[str]:
        if cls not in _ARGUMENTS:
            _ARGUMENTS[cls] = sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")
        return _ARGUMENTS[cls]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters by name."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise SettingError(f"{name}= is no parameter of {type(self).__name__}; there are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return Tags(estimator_type="density_estimator", target_tags=TargetTags(required=False), input_tags=InputTags())

    def __sklearn_is_fitted__(self) -> bool:
        return "posterior_" in self.__dict__

    def __repr__(self) -> str:
        said = [f"{name}={value!r}" for name, value in self._not_usual().items()]
        return f"{type(self).__name__}({', '.join(said)})"

    def _not_usual(self) -> dict[str, Any]:
        """The parameters that are not what they are without a word."""
        usual = {name: argument.default for name, argument in inspect.signature(type(self).__init__).parameters.items()}
        return {name: value for name, value in self.get_params().items() if value is not usual[name] and not _same(value, usual[name])}

    def _repr_html_(self) -> str:
        from ._repr import html_of_model

        return html_of_model(self)

    def __getattr__(self, name: str) -> Any:
        # Only what is not found elsewhere comes here: what the posterior answers.
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        posterior = self.__dict__.get("posterior_")
        if posterior is None:
            if name == "posterior_" or name.endswith("_") or hasattr(Posterior, name):
                raise not_fitted(type(self).__name__)
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        return getattr(posterior, name)

    def __dir__(self) -> list[str]:
        fitted = dir(self.__dict__["posterior_"]) if "posterior_" in self.__dict__ else []
        return sorted({*super().__dir__(), *(name for name in fitted if not name.startswith("_"))})


#: The arguments of constructors: to ask takes longer than all other glue of a fit.
_ARGUMENTS: dict[type, list[str]] = {}


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


class IntensityModel(Estimator):
    """The intensity of events, with honest uncertainty.

    >>> from pointillist import IntensityModel, datasets
    >>> coal = datasets.load("coal")
    >>> post = IntensityModel().fit(coal.points[:, 0], window=(1851.2, 1962.3))
    >>> round(float(post.count().mean[0]))
    191

    `fit` returns the model itself, which then answers everything that its `posterior_` answers: `rate`, `quantile`, `count`, `sample`, `score`, ...
    Another `fit` replaces that; keep `posterior_` where one model is fitted several times.

    Parameters mirror the options of the command. `link`: "square", "log" or "auto". `basis`: "lattice", "inducing" or "auto". `vary`: whether f may vary more in some parts of the
    window than in others, True, False or "auto". `nodes` and `inducing`:
    a number, one for each axis as in `(20, 30)`, or for `inducing` places. `budget`: how much work the choice of the lattice may take, as in "30s", "5min" or "none". `prior`: `{"lengthscale": "lognormal(0, 1)"}`, or "none". `fix`:
    `{"lengthscale": 10}`. `cycle`: "hour", "day", "week" or "year", or several as in `["day", "week"]`, where time is an axis of dates or has a unit; it writes
    the kernel, a trend and for each cycle a part that repeats itself and slowly changes (`components` shows each apart). `average`: whether hyper-parameters and families are averaged over, which they are unless it is False. `threads`: how many may
    work; all if None. The answer is the same for any number, and without chance: a fit has no seed. `categorical` and `spline`:
    the covariates whose numbers are names of levels, and those whose effect is a curve. `covariates`, `window`, `exposure`, `repeats`: as in `fit`, for tools that call `fit(X)` alone.
    """

    def __init__(
        self,
        *,
        link: str | None = None,
        basis: str = "auto",
        nodes: int | str | Sequence[int] | None = None,
        budget: str | None = None,
        smoothness: int | str | None = None,
        vary: bool | str | None = None,
        inducing: Any = None,
        kernel: str | None = None,
        cycle: str | Sequence[str] | None = None,
        mean: str | None = None,
        prior: str | Sequence[str] | Mapping[str, str] | None = None,
        fix: str | Sequence[str] | Mapping[str, float] | None = None,
        average: bool | None = None,
        method: str | None = None,
        optimise_inducing: bool = False,
        errors: bool = False,
        exact: bool = False,
        jitter: float | None = None,
        tolerance: float | None = None,
        max_evaluations: int | None = None,
        covariates: Any = None,
        categorical: str | Sequence[str] | None = None,
        spline: str | Sequence[str] | None = None,
        window: Any = None,
        exposure: Exposure | None = None,
        repeats: int | None = None,
        clip: bool = False,
        time_unit: str | None = None,
        threads: int | None = None,
        progress: Any = None,
    ) -> None:
        self.link = link
        self.basis = basis
        self.nodes = nodes
        self.budget = budget
        self.smoothness = smoothness
        self.vary = vary
        self.inducing = inducing
        self.kernel = kernel
        self.cycle = cycle
        self.mean = mean
        self.prior = prior
        self.fix = fix
        self.average = average
        self.method = method
        self.optimise_inducing = optimise_inducing
        self.errors = errors
        self.exact = exact
        self.jitter = jitter
        self.tolerance = tolerance
        self.max_evaluations = max_evaluations
        self.covariates = covariates
        self.categorical = categorical
        self.spline = spline
        self.window = window
        self.exposure = exposure
        self.repeats = repeats
        self.clip = clip
        self.time_unit = time_unit
        self.threads = threads
        self.progress = progress

    def _settings(self) -> Settings:
        """What the core is told of the model."""
        return Settings.of(self.get_params())

    def _asked(self, verb: str, *given: str, **how: Any) -> Settings:
        """The same with the call that asks for it, without what changes nothing in the answer."""
        own = {name: value for name, value in self._not_usual().items() if name not in ("threads", "progress")}
        text = f"{call_text(type(self).__name__, [], own)}.{call_text(verb, given, how)}"
        return replace(self._settings(), made_with=text)

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        window: Any = None,
        exposure: Exposure | None = None,
        repeats: int | None = None,
        trials: Any = None,
        names: Any = None,
        units: Any = None,
        clip: bool | None = None,
        source: str | None = None,
        time_zone: Any = None,
        geography: str | None = None,
        covariates: Any = None,
    ) -> Self:
        """Finds the posterior of the intensity of events.

        `X`: an array of shape (n,) or (n, d), a list of arrays (trials), a pandas series or frame, `Events`, or a `Summary` or several. `window`: a
        Window, (lo, hi), a pair for each axis, or a border. `geography`: "sphere" for degrees on the globe, as columns called lon and lat and coordinate
        reference systems of degrees are without it, or "plane". `time_zone`: the clocks that dates follow, as in "Europe/Lisbon", so that with `cycle="day"` a
        day stays a day when clocks change; UTC without. `y` is there for scikit-learn and means nothing.

        `covariates`: what may raise or lower the rate, known on a grid all over the window. The path of a table or of a GeoTIFF, a frame of pandas with
        columns called as the axes, a grid of xarray, or several of these; every other column or band is a covariate. Their effects are `posterior_.effects`.

        >>> import numpy as np, pandas as pd
        >>> from pointillist import IntensityModel
        >>> x, y = (part.ravel() for part in np.meshgrid(np.arange(10) + 0.5, np.arange(10) + 0.5))
        >>> ground = pd.DataFrame({"x": x, "y": y, "elevation": 100 + 20 * x + 30 * np.sin(y)})
        >>> trees = np.random.default_rng(1).uniform(0, 10, (200, 2)) ** [0.7, 1.0] * [10 ** 0.3, 1.0]
        >>> model = IntensityModel(nodes=(8, 8), smoothness=2, average=False)
        >>> post = model.fit(trees, window=[(0, 10), (0, 10)], names=["x", "y"], covariates=ground).posterior_
        >>> [effect["name"] for effect in post.effects], post.covariates
        (['elevation'], ['elevation'])
        >>> flat = post.set(elevation=200)
        >>> bool(flat.count().mean[0] < post.count().mean[0])
        True
        """
        said: dict[str, Any] = {"window": window, "exposure": exposure, "repeats": repeats, "trials": trials, "names": names, "units": units}
        said.update(clip=clip, source=source, time_zone=time_zone, geography=geography, covariates=covariates)
        threads = threads_of(self.threads)
        told = watcher(self.progress)
        summary = summary_of(X)
        settings = self._asked("fit", "events" if summary is None else "summary", **said)
        if summary is not None:
            for name, value in said.items():
                if value is not None and name not in ("clip", "source"):
                    raise SettingError(f"a summary has its window, so {name}= has no effect; leave it out")
            if Covariates.of(self.covariates, self.categorical, self.spline, None):
                raise SettingError("covariates= needs to know where each event is, and summaries do not say; fit the events themselves")
            core = _core.fit_summary(summary._core, settings, threads, told)
            self.posterior_ = Posterior(core, summary.crs, summary.time_zone)
            self.n_features_in_ = core.window.dims
            return self
        events = as_events(
            X,
            window if window is not None else None if isinstance(X, _core.Events) else self.window,
            exposure=exposure if exposure is not None else None if isinstance(X, _core.Events) else self.exposure,
            repeats=repeats if repeats is not None else None if isinstance(X, _core.Events) else self.repeats,
            trials=trials,
            names=names,
            units=units,
            time_unit=self.time_unit,
            time_zone=time_zone,
            clip=self.clip if clip is None else clip,
            source=source,
            geography=geography,
        )
        crs = crs_of(X, window if window is not None else self.window)
        core = _core.fit(events, settings, self._ground(covariates, crs), threads, told)
        self.posterior_ = Posterior(core, crs, zone_of(X))
        self.n_features_in_ = core.window.dims
        return self

    def _ground(self, covariates: Any, crs: Any) -> Covariates:
        """What is known of the ground."""
        return Covariates.of(covariates if covariates is not None else self.covariates, self.categorical, self.spline, crs)

    def fit_types(
        self,
        X: Any,
        types: Any,
        *,
        latent: int | str | None = None,
        covariates: Any = None,
        window: Any = None,
        exposure: Exposure | None = None,
        repeats: int | None = None,
        names: Any = None,
        units: Any = None,
        clip: bool | None = None,
        source: str | None = None,
        geography: str | None = None,
    ) -> TypesPosterior:
        """Fits events of two to ten types together, and gives their `TypesPosterior`; the model itself stays as it is.

        `types`: the column of a frame that names the type of each event, or a label for each. The logarithm of the rate of each type is a constant, a field that
        all share, and a field of its own; on a lattice with the log link. With `latent=2` or "auto" types are outputs of so many latent fields instead, each with
        a share that is learned (`loadings`). With `covariates` each type has effects of its own: `types.of("oak").effects`. The other arguments are those of `fit`.

        >>> import pandas as pd
        >>> from pointillist import IntensityModel
        >>> trees = pd.DataFrame({"x": [1.0, 1.2, 1.9, 2.0, 2.4, 6.0, 0.5, 4.5, 5.0, 6.2, 7.7, 9.0], "species": ["oak"] * 6 + ["ash"] * 6})
        >>> types = IntensityModel(nodes=24).fit_types(trees, "species", window=(0, 10))
        >>> types.names
        ['oak', 'ash']
        >>> low, middle, high = types.ratio("oak", "ash").quantile([1.5], [0.05, 0.5, 0.95])[:, 0]
        >>> bool(low < middle < high), bool(middle > 1)
        (True, True)
        """
        events, labels = labelled(X, types)
        words = self._words(window, exposure, repeats, names, units, clip, source, geography)
        placed, found = events_of_types(events, labels, words)
        fields = None if latent is None else str(latent)
        crs = crs_of(events, window if window is not None else self.window)
        said = {"latent": latent, "window": window, "exposure": exposure, "repeats": repeats, "names": names, "units": units, "clip": clip}
        data = ["events", repr(types) if isinstance(types, str) else "types"] + ([] if covariates is None else ["covariates=covariates"])
        settings = self._asked("fit_types", *data, **said, source=source, geography=geography)
        core = _core.fit_types(placed, found, settings, self._ground(covariates, crs), fields, threads_of(self.threads), watcher(self.progress))
        return TypesPosterior(core, crs, zone_of(events))

    def fit_measured(
        self,
        X: Any,
        values: Any,
        *,
        measured: Any = None,
        covariates: Any = None,
        window: Any = None,
        exposure: Exposure | None = None,
        repeats: int | None = None,
        names: Any = None,
        units: Any = None,
        clip: bool | None = None,
        source: str | None = None,
        geography: str | None = None,
    ) -> MeasuredPosterior:
        """Fits events and real numbers that were measured beside them, and gives their `MeasuredPosterior`; the model itself stays as it is.

        `values`: the column of a frame that holds them, or a number for each row. They were measured at the events `X`, and tell whether places are chosen by what is
        found there; or at the places of `measured`, a frame with a column `values` or points with a number for each. A value is a + b log rate + a field of its own +
        noise; on a lattice with the log link. `covariates` have effects on the rate (`effects`), and others on the values (`effects_on_value`). The other arguments are those of `fit`.

        >>> import pandas as pd
        >>> from pointillist import IntensityModel
        >>> survey = pd.DataFrame({"x": [0.4, 0.9, 1.1, 1.3, 1.6, 2.2, 5.0, 8.1], "level": [2.0, 2.9, 3.1, 3.0, 2.7, 2.1, 1.2, 0.9]})
        >>> post = IntensityModel(nodes=24).fit_measured(survey, "level", window=(0, 10))
        >>> high, low = post.values([1.2, 9.0]).mean
        >>> bool(high > low), bool(post.slope["mean"] > 0)
        (True, True)
        """
        words = self._words(window, exposure, repeats, names, units, clip, source, geography)
        crs = crs_of(X, window if window is not None else self.window)
        if measured is None:
            events, name, found = valued(X, values, "the events")
            placed, places = events_with_rows(events, len(found), words), None
        else:
            table, name, found = valued(measured, values, "the measurements")
            events, placed = X, as_events(X, **words)
            places = places_of(table, len(found), placed.window, crs)
        said = {"window": window, "exposure": exposure, "repeats": repeats, "names": names, "units": units, "clip": clip, "source": source}
        data = ["events", repr(values) if isinstance(values, str) else "values"] + ([] if measured is None else ["measured=table"])
        data += [] if covariates is None else ["covariates=covariates"]
        settings = self._asked("fit_measured", *data, **said, geography=geography)
        how = settings, self._ground(covariates, crs), threads_of(self.threads), watcher(self.progress)
        return MeasuredPosterior(_core.fit_measured(placed, name, found, places, *how), crs, zone_of(events))

    def _words(
        self,
        window: Any,
        exposure: Exposure | None,
        repeats: int | None,
        names: Any,
        units: Any,
        clip: bool | None,
        source: str | None,
        geography: str | None,
    ) -> dict[str, Any]:
        """How events are meant."""
        return {
            "window": window if window is not None else self.window,
            "exposure": exposure if exposure is not None else self.exposure,
            "repeats": repeats if repeats is not None else self.repeats,
            "names": names,
            "units": units,
            "time_unit": self.time_unit,
            "clip": self.clip if clip is None else clip,
            "source": source,
            "geography": geography,
        }

    def update(self: Self, X: Any, *, clip: bool | None = None) -> Self:
        """Adds new events of the same window to those of a fit to a `Summary`, and goes on from it; see `Posterior.update`."""
        posterior = self.posterior_
        how = self._settings(), threads_of(self.threads), self.progress
        self.posterior_ = posterior._updated(X, self.clip if clip is None else clip, *how)
        return self

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """The logarithm of the posterior mean rate at points."""
        check_features(self, X)
        mean: npt.NDArray[np.float64] = self.posterior_.rate(X, quantiles=[]).mean
        return np.log(mean)

    def score(self, X: Any, y: Any = None, **how: Any) -> Any:
        """The log-likelihood of a fold of cross-validation, which scikit-learn maximises: see `posterior_.fold_score`.

        A fold is a part of the events, so the rate is taken times its share. That of a whole new set of events is `posterior_.log_likelihood`. With
        keywords (`draws`, `seed`, `repeats`) the scores of the command, as `posterior_.score` has them.
        """
        check_features(self, X)
        if how:
            return self.posterior_.score(X, **how)
        return self.posterior_.fold_score(X)


class VBPP(IntensityModel):
    """The paper's model: λ = f², inducing points, one fit at the maximum of the bound. `VBPP(inducing=31)`.

    The prior mean is a constant that is learned; `mean="paper"` is that of the paper's equations.
    """

    def __init__(
        self,
        inducing: Any = None,
        *,
        kernel: str | None = None,
        cycle: str | Sequence[str] | None = None,
        mean: str | None = "constant",
        prior: str | Sequence[str] | Mapping[str, str] | None = "none",
        fix: str | Sequence[str] | Mapping[str, float] | None = None,
        method: str | None = None,
        optimise_inducing: bool = False,
        errors: bool = False,
        exact: bool = False,
        jitter: float | None = None,
        tolerance: float | None = None,
        max_evaluations: int | None = None,
        window: Any = None,
        exposure: Exposure | None = None,
        repeats: int | None = None,
        clip: bool = False,
        time_unit: str | None = None,
        threads: int | None = None,
        progress: Any = None,
    ) -> None:
        super().__init__(
            inducing=inducing,
            kernel=kernel,
            cycle=cycle,
            mean=mean,
            prior=prior,
            fix=fix,
            method=method,
            optimise_inducing=optimise_inducing,
            errors=errors,
            exact=exact,
            jitter=jitter,
            tolerance=tolerance,
            max_evaluations=max_evaluations,
            window=window,
            exposure=exposure,
            repeats=repeats,
            clip=clip,
            time_unit=time_unit,
            threads=threads,
            progress=progress,
        )

    def _settings(self) -> Settings:
        said = {**IntensityModel().get_params(), **self.get_params(), "basis": "inducing", "average": False}
        return Settings.of(said)
