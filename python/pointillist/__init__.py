"""The intensity of events in time, space and space-time, with honest uncertainty.

>>> import pointillist as pt
>>> coal = pt.datasets.load("coal")
>>> post = pt.IntensityModel().fit(coal)
>>> rate = post.rate([1870.0, 1950.0])
>>> print([f"{mean:.1f}" for mean in rate.mean])
['3.5', '0.7']
"""

from __future__ import annotations

from . import datasets
from ._core import Events, __version__
from ._errors import (
    FileError,
    InputError,
    InternalError,
    MissingDependencyError,
    ModelFileError,
    NotConvergedWarning,
    NotFittedError,
    NumericalError,
    OutsideWindowError,
    PointillistError,
    PointillistWarning,
    SettingError,
    WindowError,
)
from ._events import as_events, read_events
from ._functions import Bound, bound, simulate
from ._many import fit_many
from ._measured import MeasuredPosterior, Values
from ._model import VBPP, IntensityModel
from ._posterior import Contrast, Counts, Posterior, Rate, contrast
from ._rivals import SGCP, KernelSmoother, calibrate, compare, plot_calibration
from ._settings import set_max_memory
from ._summary import Summary
from ._types import Share, TypePosterior, TypesPosterior
from ._window import Exposure, Window

#: Reads a model file, whoever wrote it.
load = Posterior.load

__all__ = [
    "SGCP",
    "VBPP",
    "Bound",
    "Contrast",
    "Counts",
    "Events",
    "Exposure",
    "FileError",
    "InputError",
    "IntensityModel",
    "InternalError",
    "KernelSmoother",
    "MeasuredPosterior",
    "MissingDependencyError",
    "ModelFileError",
    "NotConvergedWarning",
    "NotFittedError",
    "NumericalError",
    "OutsideWindowError",
    "PointillistError",
    "PointillistWarning",
    "Posterior",
    "Rate",
    "SettingError",
    "Share",
    "Summary",
    "TypePosterior",
    "TypesPosterior",
    "Values",
    "Window",
    "WindowError",
    "__version__",
    "as_events",
    "bound",
    "calibrate",
    "compare",
    "contrast",
    "datasets",
    "fit_many",
    "load",
    "plot_calibration",
    "read_events",
    "set_max_memory",
    "simulate",
]
