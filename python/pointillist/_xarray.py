"""Answers over a grid: datasets of xarray with coordinates and units, and rasters with their coordinate reference system."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import InputError, SettingError
from ._geo import grid_mapping
from ._optional import needed

if TYPE_CHECKING:
    from ._posterior import Rate

Floats = npt.NDArray[np.float64]
#: What the conventions for climate and forecasts, which tools for maps go by, call longitudes and latitudes.
_CF = ({"units": "degrees_east", "standard_name": "longitude"}, {"units": "degrees_north", "standard_name": "latitude"})


def rate_dataset(rate: Rate) -> Any:
    """Over the axes of the grid if the points form one, else over the points."""
    xarray = needed("xarray", "Rate.to_xarray")
    columns, names = rate.columns(), [name for name, *_ in rate.axes]
    grid = _Grid.of(rate)
    dims = ["point"] if grid is None else names
    arrays = {"mean": rate.mean, "sd": rate.sd}
    shaped = {name: (dims, values if grid is None else grid.laid_out(values)) for name, values in arrays.items()}
    if rate.probabilities:
        bands = [row if grid is None else grid.laid_out(row) for row in rate.quantiles]
        shaped["quantiles"] = (["quantile", *dims], np.stack(bands))
    coords: dict[str, Any] = {name: ("point", columns[name]) if grid is None else (name, np.unique(columns[name])) for name in names}
    if rate.probabilities:
        coords["quantile"] = ("quantile", np.array(rate.probabilities))
    return _described(xarray.Dataset(shaped, coords=coords), rate)


def _described(dataset: Any, rate: Rate) -> Any:
    """Units on coordinates and values; dates are UTC and say so, for xarray knows of no time zones."""
    globe = None if rate.window is None else rate.window.core.globe
    for r, (name, unit, origin, _) in enumerate(rate.axes):
        if origin is not None:
            dataset[name].attrs["time_zone"] = "UTC"
        elif globe is not None and r in globe:
            dataset[name].attrs.update(_CF[globe.index(r)])
        elif unit:
            dataset[name].attrs["units"] = unit
    words = {"mean": "posterior mean of the rate", "sd": "posterior standard deviation of the rate", "quantiles": "posterior quantiles of the rate"}
    for name, long_name in words.items():
        if name in dataset:
            dataset[name].attrs.update({"long_name": long_name, **({"units": rate.unit} if rate.unit else {})})
    if rate.crs is not None and len(rate.axes) >= 2:
        dataset = grid_mapping(dataset, rate.crs)
    return dataset


class _Grid:
    """How points lie on a grid, if they do."""

    def __init__(self, lines: list[Floats], order: npt.NDArray[np.intp]) -> None:
        self.lines, self.order = lines, order

    @classmethod
    def of(cls, rate: Rate) -> _Grid | None:
        lines = [np.unique(rate.points[:, r]) for r in range(len(rate.axes))]
        if int(np.prod([len(line) for line in lines])) != len(rate) or not len(rate):
            return None
        if len(np.unique(rate.points, axis=0)) != len(rate):
            return None
        return cls(lines, np.lexsort([rate.points[:, r] for r in reversed(range(len(rate.axes)))]))

    def laid_out(self, values: Floats) -> Floats:
        laid: Floats = values[self.order].reshape([len(line) for line in self.lines])
        return laid


def rate_raster(rate: Rate, path: str | os.PathLike[str] | None, mask: bool) -> Any:
    """A raster with bands for mean, sd and each quantile: an array of rioxarray, and a GeoTIFF if a path is given."""
    xarray = needed("xarray", "Rate.to_raster")
    needed("rioxarray", "Rate.to_raster")
    grid = _Grid.of(rate)
    if len(rate.axes) != 2 or grid is None or min(map(len, grid.lines)) < 2:
        raise InputError("these points are no grid on two axes, so they make no raster; ask for post.rate(post.window.grid(50))")
    _check_regular(grid.lines)
    bands = {"mean": rate.mean, "sd": rate.sd, **{f"q{p:g}": row for p, row in zip(rate.probabilities, rate.quantiles)}}
    x, y = rate.directions
    values = np.stack([grid.laid_out(_masked(band, rate, mask)).transpose(y, x)[::-1] for band in bands.values()])
    raster = xarray.DataArray(
        values,
        dims=["band", "y", "x"],
        coords={"band": np.arange(1, len(bands) + 1), "y": grid.lines[y][::-1], "x": grid.lines[x]},
        name="rate",
        attrs={"long_name": tuple(bands), **({"units": rate.unit} if rate.unit else {})},
    )
    raster = raster.rio.write_nodata(np.nan)
    raster = raster if rate.crs is None else raster.rio.write_crs(rate.crs)
    if path is not None:
        needed("rasterio", "Rate.to_raster")
        raster.rio.to_raster(os.fspath(path))
    return raster


def _check_regular(lines: list[Floats]) -> None:
    for line in lines:
        steps = np.diff(line)
        if np.ptp(steps) > 1e-6 * steps.mean():
            raise InputError("the points are a grid of unequal steps, so they make no raster; take equal ones, as post.window.grid(50) has")


def _masked(values: Floats, rate: Rate, mask: bool) -> Floats:
    """Nothing outside the window: a rate there is a forecast, which a map does not tell from what was seen."""
    if not isinstance(mask, bool):
        raise SettingError(f"mask={mask!r} is not understood; give True or False")
    if not mask or rate.window is None:
        return values
    return np.where(rate.window.contains(rate.points), values, np.nan)
