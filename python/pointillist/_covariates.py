"""Covariates from whatever holds them on a grid: paths of tables and GeoTIFFs, frames of pandas, grids of xarray."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import InputError, SettingError
from ._optional import loaded
from ._settings import path_of, shown

#: What the covariates that are in memory are called in messages.
FRAME = "the covariates"


@dataclass
class Covariates:
    """What the core reads, attribute by attribute."""

    paths: list[str]
    tables: list[tuple[str, bytes]]
    categorical: list[str]
    spline: list[str]
    epsg: int | None

    @classmethod
    def of(cls, covariates: Any, categorical: Any, spline: Any, crs: Any) -> Covariates:
        """Of the arguments of a fit."""
        listed = covariates if isinstance(covariates, (list, tuple)) else [] if covariates is None else [covariates]
        paths = [path_of(one) for one in listed if isinstance(one, (str, os.PathLike))]
        frames = [one for one in listed if not isinstance(one, (str, os.PathLike))]
        tables = [(FRAME if len(frames) == 1 else f"{FRAME} ({number})", _text(one)) for number, one in enumerate(frames, 1)]
        return cls(paths, tables, _names("categorical", categorical), _names("spline", spline), _epsg(crs))

    def __bool__(self) -> bool:
        return bool(self.paths or self.tables or self.categorical or self.spline)


def _names(setting: str, value: Any) -> list[str]:
    """One name or several."""
    if value is None:
        return []
    listed = [value] if isinstance(value, str) else value
    if isinstance(listed, Sequence) and all(isinstance(name, str) for name in listed):
        return list(listed)
    raise SettingError(f'{setting}={shown(value)} is not understood; give the name of a covariate, or several as in ["soil", "use"]')


def _epsg(crs: Any) -> int | None:
    """The number of a coordinate reference system, if it is known and has one."""
    if crs is None:
        return None
    pyproj = loaded("pyproj")
    if pyproj is not None:
        found = pyproj.CRS.from_user_input(crs).to_epsg()
    else:
        found = int(crs[5:]) if isinstance(crs, str) and crs.upper().startswith("EPSG:") and crs[5:].isdigit() else None
    return found if found is None or 0 < found < 65536 else None


def _text(data: Any) -> bytes:
    """A frame or a grid as a table: every digit of its numbers."""
    xarray, pandas = loaded("xarray"), loaded("pandas")
    if xarray is not None and isinstance(data, (xarray.DataArray, xarray.Dataset)):
        if isinstance(data, xarray.DataArray) and data.name is None:
            raise InputError("the covariate has no name; give the DataArray one, as in array.rename('elevation')")
        data = data.to_dataframe().reset_index()
        # Of rasters: what says where a grid is, and which band it is, is no covariate.
        data = data.drop(columns=[name for name in ("spatial_ref", "band") if name in data.columns])
        return _text(data.dropna())
    if isinstance(data, Mapping) and pandas is not None:
        data = pandas.DataFrame({str(name): np.ravel(column) for name, column in data.items()})
    if pandas is None or not isinstance(data, pandas.DataFrame):
        raise InputError(f"covariates= is a {type(data).__name__}; give a frame with columns called as the axes, a grid of xarray, or the path of a table or GeoTIFF")
    text: str = data.to_csv(index=False)
    return text.encode()


def held_texts(values: Mapping[str, Any]) -> list[str]:
    """`{"elevation": 200}` as the command takes it."""
    if not values:
        raise SettingError("nothing is set; give a value for a covariate, as in post.set(elevation=200)")
    return [f"{name}={float(value)!r}" if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else f"{name}={value}" for name, value in values.items()]
