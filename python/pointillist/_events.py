"""Events from anything that has coordinates, in their window."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._coordinates import Coordinates, as_trials, coordinates
from ._errors import InputError, SettingError, WindowError
from ._geo import check_crs as check_crs
from ._geo import check_place as check_place
from ._geo import geometry_of
from ._settings import is_whole, path_of, shown, switch, whole, word
from ._spikes import own_window
from ._window import Exposure, Window, as_window, end_text, zone_name

#: How months are counted.
MONTHS = "for months give their edges, as in count(pandas.date_range(start, end, freq='MS'))"
#: What the model calls events that have no file.
SOURCE = "the events"


def as_events(
    data: Any,
    window: Any = None,
    *,
    exposure: Exposure | None = None,
    repeats: int | None = None,
    trials: Any = None,
    names: str | Sequence[str] | None = None,
    units: Any = None,
    time_unit: str | None = None,
    time_zone: Any = None,
    clip: bool = False,
    source: str | None = None,
    geography: str | None = None,
    labels: npt.NDArray[np.int64] | None = None,
) -> _core.Events:
    """Events in their window: what every fit begins with.

    `data` is an array of shape (n,) or (n, d), a list of arrays (one for each trial), a pandas series or frame, or `Events` as they come from
    `read_events` and `datasets.load`. Without a window their bounding box is taken, with a warning.

    Coordinates are degrees on the globe, with areas in km², if columns are called lon and lat (or longitude and latitude), if the data or their window
    have a coordinate reference system of degrees, or with `geography="sphere"`; with `geography="plane"` they are numbers in a plane.

    With `time_zone="Europe/Lisbon"` the axis of time follows the clocks there, through changes to and from summer time, so that a daily cycle stays at its hour.
    Dates without a time zone are meant in it.
    `labels` is for `IntensityModel.fit_types`.
    """
    if isinstance(data, _core.Events):
        said = [name for name, value in [("window", window), ("exposure", exposure), ("repeats", repeats), ("trials", trials), ("time_zone", time_zone), ("geography", geography)] if value is not None]
        if said:
            raise SettingError(f"these events have a window already, so {said[0]}= has no effect; leave it out, or give their points")
        return data
    if window is None and trials is None:
        window = own_window(data)
    own = as_window(window) if trials is None else None
    zone = zone_name(time_zone) or as_window(window).time_zone
    found = event_coordinates(data, own, zone)
    if zone is not None and not found.has_dates:
        raise SettingError(f"time_zone={zone!r} is for dates, and the events have none; leave it out")
    words = window_words(found, window, exposure, repeats, trials, names, units, time_unit, geography, zone)
    numbers = found.trials if labels is None else labels
    return _core.Events.of(found.given, numbers, words, switch("clip", clip), word("source", source) or SOURCE)


def event_coordinates(data: Any, window: Window | None = None, zone: Any = None) -> Coordinates:
    """Where events are. A frame in which a row seems to stand for several is refused: taken for one event, or the number for a place, it would mislead."""
    for name in map(str, getattr(data, "columns", ())):
        if _core.says_how_many(name):
            raise InputError(
                f"the events are a frame with a column `{name}`: a row is one event here; repeat the rows, as in frame.loc[frame.index.repeat(frame[{name!r}])], "
                f"and leave the column out, as in frame.drop(columns={name!r})"
            )
    found = coordinates(data, names=None if window is None else window.known_names, zone=zone)
    # A list of lists is points or trials: on one axis it is trials.
    if found.trials is None and found.dims > 1 and window is not None and window.parts and window._dims == 1:
        return as_trials(data) or found
    return found


def window_words(
    found: Coordinates,
    window: Any,
    exposure: Exposure | None,
    repeats: int | None,
    trials: Any,
    names: Any,
    units: Any,
    time_unit: str | None,
    geography: str | None = None,
    time_zone: str | None = None,
) -> Window:
    """The window that is meant for such coordinates."""
    words = placed_window(found, window, geography)
    if exposure is not None:
        _refuse_two("exposure", words.exposure, exposure)
        words = _with_exposure(words, exposure)
    if repeats is not None:
        _refuse_two("repeats", words.repeats, repeats)
        words.repeats = Window(repeats=repeats).repeats
    if trials is not None:
        _refuse_two("trials", words.trials, trials)
        words.trials = Window(trials=trials).trials
        words.parts = []
    elif found.trial_count is not None and words.repeats is None and words.trials is None and not _is_repeated(words):
        words.repeats = found.trial_count
    words = words.in_zone(found.time_zone if time_zone is None else time_zone)
    words.time_zone = time_zone
    _check_trials(found, words)
    words.names = Window(names=names).names if names is not None else words.names or found.names
    words.units = Window(units=units).units if units is not None else words.units
    words.time_unit = word("time_unit", time_unit) or words.time_unit
    return words


def placed_window(found: Coordinates, window: Any, geography: str | None) -> Window:
    """The window with the coordinate reference system of the events, which must be its own, and whether both are on the globe."""
    words = Window(as_window(window), geography=geography)
    check_crs(found.crs, words.crs)
    ready = [part for part in words.parts if isinstance(part, _core.Window)]
    for part in ready:
        check_place(found.crs, geography, part, words.crs, "the events")
        refuse_other(geography, part)
    words.crs = words.crs if words.crs is not None else found.crs
    return Window(words)


def refuse_other(geography: str | None, window: _core.Window) -> None:
    """Refuses to take a window for what it is not."""
    own = "plane" if window.globe is None else "sphere"
    if geography is not None and geography != own:
        raise SettingError(f"geography={geography!r} is given, and the window is that of a fit with geography={own!r}; leave it out")


def _refuse_two(name: str, own: Any, given: Any) -> None:
    """Refuses what is said of a window twice, and not in the same way."""
    if own is not None and own is not given and (name != "repeats" or own != given):
        raise SettingError(f"{name}= is given, and the window has one of its own; leave one of them out")


def _is_repeated(words: Window) -> bool:
    return any(isinstance(part, _core.Window) and part.is_repeated for part in words.parts)


def _check_trials(found: Coordinates, words: Window) -> None:
    if found.trial_count is None:
        return
    if words.trials is not None and len(words.trials) != found.trial_count:
        raise InputError(f"there are {found.trial_count} trials of events and {len(words.trials)} in trials=; give a start and an end for each")
    if words.repeats is None:
        return
    if words.repeats > 1 and found.trial_count > words.repeats:
        raise InputError(f"there are {found.trial_count} trials of events, more than repeats={words.repeats}; correct it")
    if not found.silent_trials and found.trial_count < words.repeats:
        raise InputError(
            f"there are {found.trial_count} trials of events, fewer than repeats={words.repeats}; give an empty array for each in which nothing happened"
        )


def _with_exposure(words: Window, exposure: Exposure) -> Window:
    if not isinstance(exposure, Exposure):
        raise SettingError(f"exposure= is a {type(exposure).__name__}; make one with Exposure.grid, Exposure.weights or Exposure.trajectory")
    words.exposure = exposure
    return words


def held_out_events(data: Any, window: _core.Window, repeats: int | None, clip: bool, crs: Any = None, zone: Any = None) -> _core.Events:
    """Held-out events for what was fitted over a window."""
    if isinstance(data, _core.Events):
        return data.on_the_map_of(window)
    found = coordinates(data, "the held-out events", window.dims, names=[name for name, *_ in window.axes], zone=zone)
    check_place(found.crs, None, window, crs, "the held-out events")
    if repeats is None and found.trial_count is not None:
        repeats = found.trial_count
    return _core.Events.held_out(found.given, found.trials, window, whole("repeats", repeats), switch("clip", clip))


def read_events(
    path: Any,
    *,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    date_format: str | None = None,
    epoch: str | None = None,
    window: Any = None,
    repeats: int | None = None,
    trials: str | None = None,
    trial_column: str | None = None,
    exposure: str | None = None,
    clip: bool = False,
    time_unit: str = "days",
    time_zone: Any = None,
    units: Any = None,
    skip_bad: int = 0,
    geography: str | None = None,
    crs: str | None = None,
) -> _core.Events:
    """The events of a CSV, Parquet or GeoJSON file, as the command reads them: columns lon and lat are degrees on the globe, unless `geography="plane"`.
    `crs`: the system of a map that they are in, as in "EPSG:27700"; GeoJSON may name it itself.

    >>> events = read_events("coal")            # a bundled set, or the path of a file
    >>> len(events)
    191
    """
    reading = SimpleNamespace(
        columns=[columns] if isinstance(columns, str) else None if columns is None else [str(name) for name in columns],
        where=where,
        date_format=date_format,
        epoch=epoch,
        window=_window_texts(window),
        repeats=repeats,
        trials=trials,
        trial_column=trial_column,
        exposure=exposure,
        clip=clip,
        time_unit=time_unit,
        time_zone=zone_name(time_zone),
        units=Window(units=units).units,
        skip_bad=skip_bad,
        geography=word("geography", geography),
        crs=word("crs", crs),
    )
    return _core.read_events(path_of(path), reading)


def _window_texts(window: Any) -> list[str]:
    """A window as the command takes it."""
    if window is None:
        return []
    if isinstance(window, str):
        return [window]
    parts = as_window(window).parts
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        raise SettingError("window= of a file is a box, or the path of a GeoJSON border; give one of these")
    return texts


def region_list(regions: Any, every: Any, dims: int, zone: Any, by_clocks: bool = False) -> tuple[list[Any], str | None]:
    """Regions as the core takes them: texts, or (name, Window)."""
    try:
        asked, length = _region_list(regions, every, dims)
        if not by_clocks and length is not None and length.rstrip("nths").endswith("mo") and str(zone or "UTC") != "UTC":
            raise SettingError(f"every={every!r} cuts months of UTC, and dates are those of {zone}; {MONTHS}")
        return [one if isinstance(one, str) else (one[0], one[1].in_zone(zone)) for one in asked], length
    except WindowError as error:
        raise WindowError(str(error).replace("window=", "regions=")) from error


def _length(every: Any) -> str:
    """The length of bins as the command takes it."""
    if isinstance(every, (datetime.timedelta, np.timedelta64)):
        return f"{float(np.timedelta64(every, 'us').astype(np.int64)) / 1e6!r}s"
    if isinstance(every, str) or is_whole(every) or isinstance(every, (float, np.floating)):
        return end_text(every)
    raise SettingError(f"every={shown(every)} is no length; give a number, a text as in '7d', or a timedelta; {MONTHS}")


def _region_list(regions: Any, every: Any, dims: int) -> tuple[list[Any], str | None]:
    length = None if every is None else _length(every)
    if regions is None:
        return [], length
    if isinstance(regions, str) or (isinstance(regions, Window) and length is None):
        return [regions] if isinstance(regions, str) else [("", regions)], length
    if length is not None:
        raise SettingError("every= cuts a whole window, or a region given as a text; leave one of regions= and every= out")
    if isinstance(regions, dict) and "type" not in regions:
        _refuse_none(len(regions))
        return [(str(name), as_window(region)) for name, region in regions.items()], None
    if _is_one(regions) or _is_box(regions, dims):
        return [("", as_window(regions))], None
    frame = _frame_regions(regions)
    if frame is not None:
        _refuse_none(len(frame))
        return frame, None
    if not isinstance(regions, Iterable) or getattr(regions, "ndim", 1) == 0:
        raise InputError(f"regions= is a {type(regions).__name__}; give windows, (lo, hi) pairs, a GeoDataFrame, or the edges of bins")
    listed = list(regions)
    _refuse_none(len(listed))
    if all(_is_number(edge) for edge in listed):
        if len(listed) == 1:
            raise InputError(f"regions=[{shown(listed[0])}] is one edge, which cuts nothing; give two or more, or (lo, hi)")
        return [("", Window(lo, hi)) for lo, hi in zip(listed[:-1], listed[1:])], None
    return [one if isinstance(one, str) else ("", as_window(one)) for one in listed], None


def _refuse_none(count: int) -> None:
    if not count:
        raise InputError("regions= has no region; give at least one, or leave it out for the whole window")


def _is_box(regions: Any, dims: int) -> bool:
    """Whether a list is a pair of ends for each of several axes."""
    return dims > 1 and isinstance(regions, list) and len(regions) == dims and all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 and all(_is_number(end) for end in pair) for pair in regions
    )


def _is_number(value: Any) -> bool:
    from ._window import _is_end

    return _is_end(value) and not isinstance(value, str)


def _is_one(regions: Any) -> bool:
    """Whether this is one region: a window, a border, (lo, hi), or a pair for each axis."""
    if isinstance(regions, Window) or isinstance(regions, dict):
        return True
    if hasattr(regions, "__geo_interface__") and not hasattr(regions, "iterrows") and not hasattr(regions, "geometry"):
        return True
    if isinstance(regions, tuple) and regions:
        return all(_is_number(end) or isinstance(end, str) for end in regions) and len(regions) % 2 == 0 or all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in regions
        )
    return False


def _frame_regions(regions: Any) -> list[Any] | None:
    """One region for each row of a GeoDataFrame, or each interval of an IntervalIndex."""
    from ._optional import loaded

    geopandas, pandas = loaded("geopandas"), loaded("pandas")
    if geopandas is not None and isinstance(regions, (geopandas.GeoDataFrame, geopandas.GeoSeries)):
        shapes = geometry_of(regions, "regions=")
        names = shapes.index
        if isinstance(names, pandas.RangeIndex) and "name" in getattr(regions, "columns", ()) and regions["name"].is_unique:
            names = regions["name"]
        return [(str(name), Window(shape, crs=shapes.crs)) for name, shape in zip(names, shapes)]
    if pandas is not None and isinstance(regions, pandas.IntervalIndex):
        return [(str(one), Window(one.left, one.right)) for one in regions]
    if pandas is not None and isinstance(regions, pandas.PeriodIndex):
        return [(str(one), Window(one.start_time, (one + 1).start_time)) for one in regions]
    return None
