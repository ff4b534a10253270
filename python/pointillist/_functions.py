"""The bound at given parameters, and events drawn from an intensity."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._coordinates import coordinates
from ._errors import InputError, SettingError
from ._events import as_events
from ._model import Estimator
from ._posterior import Posterior, event_set
from ._settings import affordable, real, seed_of, whole
from ._window import as_window

Floats = npt.NDArray[np.float64]


class Bound:
    """The bound at given parameters: its `value`, its `parts` (value = log_rate - integral - kl), and its `gradient` by each parameter."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.value: float = found["value"]
        self.parts: dict[str, float] = {name: found[name] for name in ("log_rate", "integral", "kl")}
        self.gradient: dict[str, Any] = {name: found[name] for name in ("variance", "lengthscale", "mean", "m", "L", "inducing")}

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"<Bound {self.value:.6f} = {self.parts['log_rate']:.4f} - {self.parts['integral']:.4f} - {self.parts['kl']:.4f}>"


def bound(
    events: Any,
    window: Any = None,
    *,
    variance: float,
    lengthscale: Any,
    mean: float,
    inducing: Any,
    m: Any,
    L: Any,
    prior_mean: str = "constant",
    jitter: float = 1e-8,
    **about: Any,
) -> Bound:
    """The paper's bound at a q(u) = N(m, L Lᵀ) that you bring, with its gradient by everything: for checking, and for other optimisers.

    >>> import numpy as np
    >>> Z = np.linspace(0, 10, 5)
    >>> at = bound([1.0, 2.0, 7.0], (0, 10), variance=1.0, lengthscale=2.0, mean=0.5, inducing=Z, m=np.full(5, 0.6), L=0.3 * np.eye(5))
    >>> sorted(at.gradient)
    ['L', 'inducing', 'lengthscale', 'm', 'mean', 'variance']
    """
    seen = as_events(events, window, **about)
    dims = seen.window.dims
    places = coordinates(inducing, "inducing=", dims).given
    if isinstance(places, list):
        raise InputError("inducing= has dates; give numbers on the axes of the window")
    lengths, m_array, root = _array("lengthscale", lengthscale), _array("m", m), _array("L", L)
    if lengths.shape not in ((), (1,), (dims,)):
        raise InputError(f"lengthscale= has shape {lengths.shape}; give a number, or {dims} of them, one for each axis")
    lengths = np.broadcast_to(lengths, (dims,))
    if root.ndim == 2 and np.triu(root, 1).any():
        raise InputError("L= has numbers above its diagonal; give a lower triangular matrix, as numpy.linalg.cholesky(S) does")
    if m_array.ndim != 1 or root.ndim != 2:
        raise InputError(f"m= has shape {m_array.shape} and L= has shape {root.shape}; give (k,) and (k, k) for k inducing points")
    numbers = real("variance", variance), list(map(float, lengths)), real("mean", mean)
    found = _core.bound(seen, *numbers, places, m_array, root, prior_mean, real("jitter", jitter))
    return Bound(found)


def _array(name: str, value: Any) -> Floats:
    try:
        array: Floats = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}= is no array of numbers ({error}); give one") from error
    return array.copy(order="C") if array.ndim == 0 else np.ascontiguousarray(array)


def simulate(
    intensity: Any,
    window: Any = None,
    *,
    draws: int | None = None,
    seed: int | None = 0,
    names: Any = None,
) -> Any:
    """Events drawn from an intensity: a text over the axes, as in "2 + sin(t)", a function, or a posterior or fitted model.

    A function takes one array for each axis and gives the rates at these places back: `lambda x, y: 2 + np.sin(x)`. One set of events, or with
    `draws=` a list of them.

    >>> times = simulate("5 * exp(-t / 10)", window=(0, 50), names=["t"], seed=1)
    >>> times.ndim
    1
    """
    number = whole("draws", draws, 1)
    if isinstance(intensity, Estimator):
        intensity = intensity.posterior_
    if isinstance(intensity, Posterior):
        if window is not None:
            raise SettingError("a posterior has its own window, so window= has no effect; leave it out")
        sets = intensity.sample_events(number or 1, seed=seed)
        return sets if number is not None else sets[0]
    if not isinstance(intensity, str) and not callable(intensity):
        raise SettingError(f"intensity= is a {type(intensity).__name__}; give a text such as '2 + sin(t)', a function of arrays, or a posterior")
    if window is None:
        raise SettingError("simulate needs window=, as in window=(0, 50)")
    place = as_window(window, names=names) if names is not None else as_window(window)
    drawn = _core.simulate(intensity, place.core, affordable("draws", number or 1, 1), seed_of(seed))
    shaped = [event_set(points, place.core, None) for points in drawn]
    return shaped if number is not None else shaped[0]
