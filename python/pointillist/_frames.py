"""Answers as frames of pandas and GeoPandas: with the index, the time zone and the coordinate reference system of the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._coordinates import zone_of as zone_of
from ._errors import InputError
from ._optional import loaded, needed

if TYPE_CHECKING:
    from ._posterior import Counts, Rate

#: Regions that follow one another on one axis, without labels of their own.
INTERVALS = "intervals"


def zone_text(zone: Any) -> str | None:
    """A time zone as model files have it."""
    return None if zone is None else str(zone)


def clocks_of(window: _core.Window) -> str | None:
    """The time zone whose clocks an axis of a window follows, if one does."""
    return next((clocks for *_, clocks in window.axes if clocks is not None), None)


def in_zone(dates: Any, zone: Any) -> Any:
    """Dates (UTC) as a DatetimeIndex in a time zone, or as they are without one."""
    return dates if zone is None else needed("pandas", "a time zone").DatetimeIndex(dates).tz_localize("UTC").tz_convert(zone)


def rate_frame(rate: Rate) -> Any:
    """One row for each point, labelled as the points were."""
    frame = needed("pandas", "Rate.to_frame").DataFrame(rate.columns())
    for name, _, origin, _ in rate.axes:
        if origin is not None:
            frame[name] = in_zone(frame[name], rate.time_zone)
    return _labelled(frame, rate.asked, [name for name, *_ in rate.axes])


def _labelled(frame: Any, asked: Any, axes: list[str]) -> Any:
    pandas = loaded("pandas")
    if is_geo(asked):
        frame.index = asked.index
        return loaded("geopandas").GeoDataFrame(frame.drop(columns=axes), geometry=asked.geometry, crs=asked.crs)
    if isinstance(asked, pandas.Index):
        return frame.drop(columns=axes).set_axis(asked, axis=0)
    if isinstance(asked, (pandas.Series, pandas.DataFrame)):
        frame.index = asked.index
    return frame


def rate_points(rate: Rate) -> Any:
    """A GeoDataFrame with a point for each row, in the coordinate reference system of the fit."""
    geopandas = needed("geopandas", "Rate.to_geodataframe")
    frame = rate_frame(rate)
    if isinstance(frame, geopandas.GeoDataFrame):
        return frame
    if len(rate.axes) != 2:
        raise InputError(f"points on {len(rate.axes)} axes have no place on a map; ask for the rate of events on two axes")
    x, y = rate.directions
    places = geopandas.points_from_xy(rate.points[:, x], rate.points[:, y], crs=rate.crs)
    return geopandas.GeoDataFrame(frame.drop(columns=[name for name, *_ in rate.axes]), geometry=places)


def labels_of(regions: Any, every: Any) -> Any:
    """What labels the counts of regions: a GeoSeries, an index of pandas, or that they are intervals."""
    pandas = loaded("pandas")
    if is_geo(regions):
        return regions
    if pandas is not None and isinstance(regions, (pandas.IntervalIndex, pandas.PeriodIndex)):
        return regions
    if pandas is not None and isinstance(regions, pandas.Series):
        regions = pandas.Index(regions)
    if pandas is not None and isinstance(regions, pandas.Index) and len(regions) > 1:
        return pandas.IntervalIndex.from_breaks(regions, closed="left", name=regions.name)
    return INTERVALS if every is not None else None


def counts_frame(counts: Counts, columns: dict[str, Any]) -> Any:
    """One row for each region, labelled as the regions were."""
    pandas = needed("pandas", "Counts.to_frame")
    frame = pandas.DataFrame(columns)
    labels = _intervals(counts) if isinstance(counts.index, str) else counts.index
    if labels is None:
        return frame
    if isinstance(labels, pandas.Index):
        return frame.drop(columns="region").set_axis(labels, axis=0)
    # What the regions' own frame says of them stands before what was counted there.
    frame = frame.drop(columns="region").set_axis(labels.index, axis=0)
    own = [name for name in getattr(labels, "columns", ()) if name != labels.geometry.name and name not in frame.columns]
    return loaded("geopandas").GeoDataFrame(pandas.concat([labels[own], frame], axis=1) if own else frame, geometry=labels.geometry, crs=labels.crs)


def _intervals(counts: Counts) -> Any:
    """Intervals of dates, on an axis that has them."""
    from ._posterior import dates_of

    if len(counts.axes) != 1:
        return None
    name, unit, origin, clocks = counts.axes[0]
    if origin is None:
        return None
    pandas = loaded("pandas")
    ends = [dates_of(np.array([box[0][end] for box in counts.boxes]), unit, origin, clocks) for end in (0, 1)]
    ends = [pandas.DatetimeIndex(in_zone(dates, counts.time_zone)) for dates in ends]
    return pandas.IntervalIndex.from_arrays(*ends, closed="left", name=name)


def is_geo(data: Any) -> bool:
    """Whether this is a frame or a series of GeoPandas."""
    geopandas = loaded("geopandas")
    return geopandas is not None and isinstance(data, (geopandas.GeoDataFrame, geopandas.GeoSeries))
