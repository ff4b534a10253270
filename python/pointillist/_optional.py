"""Packages that are optional: imported where they are needed, with an error that says how to get them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ._errors import MissingDependencyError

#: The extra of this package that brings each.
EXTRAS = {
    "pandas": "pandas",
    "xarray": "xarray",
    "geopandas": "geo",
    "shapely": "geo",
    "rasterio": "raster",
    "rioxarray": "raster",
    "matplotlib": "plot",
    "matplotlib.pyplot": "plot",
    "sklearn": "sklearn",
    "arviz": "arviz",
    "dask": "dask",
    "distributed": "dask",
    "joblib": "joblib",
}


def needed(name: str, what: str) -> Any:
    """The package of this name, which something needs."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        extra = EXTRAS.get(name, EXTRAS.get(name.split(".")[0], "all"))
        package = name.split(".")[0]
        raise MissingDependencyError(
            f"{what} needs {package}, which is not installed; install it with `pip install 'pointillist[{extra}]'`"
        ) from error


def loaded(name: str) -> Any:
    """The package of this name if the program has it already, else None: nothing can be its kind of object otherwise."""
    return sys.modules.get(name)
