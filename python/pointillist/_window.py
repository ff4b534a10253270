"""Where, how often and how closely events were looked for."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._coordinates import coordinates, instant_of, plain
from ._errors import InputError, SettingError, WindowError
from ._geo import check_place, meant_geography, same_crs
from ._optional import loaded, needed
from ._settings import affordable, shown, texts, whole, word


def end_text(value: Any) -> str:
    """One end of a box: a number to its last digit, or a date."""
    if isinstance(value, (bool, np.bool_, np.timedelta64)):
        raise WindowError(f"window=: {value} is no end of a box; give a number or a date")
    if value is getattr(loaded("pandas"), "NaT", None) and value is not None:
        raise WindowError("window=: NaT is no end of a box; give a date")
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            raise WindowError("window=: NaT is no end of a box; give a date")
        return _iso(int(value.astype("datetime64[us]").astype(np.int64)))
    if isinstance(value, datetime.date):
        # Without a time zone it may be meant in that of the events.
        text = _iso(instant_of(value))
        return text if getattr(value, "tzinfo", None) is not None else text.removesuffix("Z")
    if isinstance(value, str):
        return value.strip()
    raise WindowError(f"window=: {value!r} is no end of a box; give a number or a date")


def _iso(micros: int) -> str:
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)).isoformat() + "Z"


def _is_end(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, (int, float, np.integer, np.floating, np.datetime64, datetime.date))


class Exposure:
    """How closely a window was looked at: a known positive surface, or how long was spent where.

    Make one with `grid`, `weights` or `trajectory`.

    >>> effort = Exposure.grid([0, 5, 10], [1.0, 1.0, 0.5])   # less and less on one axis
    >>> round(Window(0, 10, exposure=effort).measure, 6)
    8.75
    """

    along: list[int] | None
    lines: list[npt.NDArray[np.float64]] | None
    places: npt.NDArray[np.float64] | None
    values: npt.NDArray[np.float64]

    def __init__(
        self,
        values: Any,
        *,
        lines: Sequence[Any] | None = None,
        places: Any = None,
        along: Sequence[int] | None = None,
    ) -> None:
        if (lines is None) == (places is None):
            raise SettingError("an Exposure has either lines= of a grid or places= of weights; make one with Exposure.grid or Exposure.weights")
        self.along = None if along is None else [int(axis) for axis in along]
        self.lines = None if lines is None else [_numbers(line, "the lines of an exposure") for line in lines]
        self.places = None if places is None else _rows(places)
        self.values = _values(values)
        if self.lines is not None:
            shape = tuple(len(line) for line in self.lines)
            if self.values.shape != shape:
                raise InputError(f"the values of an exposure have shape {self.values.shape}, its lines ask for {shape}; give one for each crossing")
        elif self.places is not None and self.values.shape != (len(self.places),):
            raise InputError(f"there are {len(self.places)} places and weights of shape {self.values.shape}; give one weight for each place")

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays that come from another process may lie anywhere in a message.
        self.__dict__.update(state)
        self.values = plain(self.values)
        self.places = None if self.places is None else plain(self.places)
        self.lines = None if self.lines is None else [plain(line) for line in self.lines]

    @classmethod
    def grid(cls, *lines_and_values: Any, along: Sequence[int] | None = None) -> Exposure:
        """Values on a grid, linear in between: the coordinates on each axis, then an array with a value for each crossing."""
        if len(lines_and_values) < 2:
            raise SettingError("Exposure.grid takes the coordinates on each axis, and then the values")
        *lines, values = lines_and_values
        return cls(values, lines=lines, along=along)

    @classmethod
    def weights(cls, places: Any, weights: Any) -> Exposure:
        """Weights at places, such as how many people live there; they are spread over the window around them."""
        return cls(weights, places=places)

    @classmethod
    def trajectory(cls, times: Any, places: Any) -> Exposure:
        """The path of an observer, or of an animal: where it was at these times. A place counts for the time spent there."""
        when, where = _numbers(times, "the times of a trajectory"), _rows(places)
        if len(when) != len(where) or len(when) < 2:
            raise InputError(f"a trajectory has {len(when)} times and {len(where)} places; give two or more of each")
        steps = np.diff(when)
        if not (steps > 0).all():
            raise InputError("the times of a trajectory must rise; sort it first")
        # Half of each step belongs to either end of it.
        spent = np.zeros(len(when))
        spent[:-1] += 0.5 * steps
        spent[1:] += 0.5 * steps
        return cls(spent, places=where)

    def __repr__(self) -> str:
        if self.lines is not None:
            return f"<Exposure on a grid of {'×'.join(str(len(line)) for line in self.lines)}>"
        return f"<Exposure at {len(self.values)} places>"


def _values(values: Any) -> npt.NDArray[np.float64]:
    try:
        return np.ascontiguousarray(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the values of an exposure are no numbers ({error}); give an array of numbers") from error


def _numbers(values: Any, what: str) -> npt.NDArray[np.float64]:
    given = coordinates(values, what).given
    if isinstance(given, list):
        raise InputError(f"{what} are dates; give numbers on the axis of the window")
    return np.ascontiguousarray(given[:, 0])


def _rows(places: Any) -> npt.NDArray[np.float64]:
    given = coordinates(places, "the places of an exposure").given
    if isinstance(given, list):
        raise InputError("the places of an exposure have dates; give numbers on the axes of the window")
    return given


class Window:
    """Where, how often and how closely events were looked for.

    >>> Window(0, 50)
    <Window 0,50>
    >>> Window([(0, 10), (0, 5)]).measure
    50.0
    >>> (Window(0, 1) | Window(2, 4)).measure
    3.0
    >>> Window("2016-02-23", "2016-03-08").measure      # days, unless time_unit= says otherwise
    14.0
    >>> Window(0, 2, repeats=40).measure                # forty trials
    80.0
    >>> Window("2026-03-29", "2026-03-30", time_unit="hours", time_zone="Europe/Lisbon").measure    # clocks go forward
    23.0

    A border is GeoJSON (a text, a dict, the path of a file) or anything with a `__geo_interface__`, such as a shapely polygon; `between=` gives
    the ends of further axes. `trials=[(lo, hi), ...]` says when each trial was looked at. `names=`, `units=` and `time_unit=` say what axes are, and
    `time_zone=` whose clocks dates follow. `units={"exposure": "person-years"}` names the unit of the exposure.

    Degrees are on the globe, where areas are km²: if axes are called lon and lat, if `crs=` is one of degrees, or with `geography="sphere"`. They are
    numbers in a plane with `geography="plane"`.

    >>> round(Window([(8, 9), (47, 48)], crs="EPSG:4326").measure)
    8377
    """

    parts: list[Any]
    repeats: int | None
    trials: list[list[str]] | None
    exposure: Exposure | None
    names: list[str] | None
    units: list[str]
    time_unit: str
    time_zone: str | None
    crs: Any
    geography: str | None
    _resolved: _core.Window | None

    def __init__(
        self,
        *ends: Any,
        between: Sequence[Any] | None = None,
        repeats: int | None = None,
        trials: Iterable[Any] | None = None,
        exposure: Exposure | None = None,
        names: str | Sequence[str] | None = None,
        units: str | Sequence[str] | dict[str, str] | None = None,
        time_unit: str = "days",
        time_zone: Any = None,
        crs: Any = None,
        geography: str | None = None,
    ) -> None:
        self.crs = crs
        self.parts = []
        if len(ends) == 1 and isinstance(ends[0], Window):
            given = ends[0]
            self.parts, self.crs = list(given.parts), crs if crs is not None else given.crs
            repeats = given.repeats if repeats is None else repeats
            trials = given.trials if trials is None else trials
            exposure = given.exposure if exposure is None else exposure
            names, units = given.names if names is None else names, given.units if units is None else units
            time_unit, geography = given.time_unit, given.geography if geography is None else geography
            time_zone = given.time_zone if time_zone is None else time_zone
        elif ends:
            self._take(ends, between)
        self.repeats = None if repeats is None else _whole(repeats, "repeats")
        self.trials = None if trials is None else _spans(trials)
        self.exposure = exposure
        self.names = None if names is None else texts("names", names)
        self.units = _units(units)
        self.time_unit = word("time_unit", time_unit) or "days"
        self.time_zone = zone_name(time_zone)
        self.geography = word("geography", geography)
        meant_geography(self.geography, self.crs)
        self._resolved = None
        if exposure is not None and not isinstance(exposure, Exposure):
            raise SettingError(f"exposure= is a {type(exposure).__name__}; make one with Exposure.grid, Exposure.weights or Exposure.trajectory")

    def _take(self, ends: tuple[Any, ...], between: Sequence[Any] | None) -> None:
        if len(ends) == 1 and isinstance(ends[0], _core.Window):
            self.parts.append(ends[0])
            return
        border = _border(ends[0]) if len(ends) == 1 else None
        if border is not None:
            name, document, crs = border
            others = [] if between is None else _flat([between])
            self.parts.append((name, document, [end_text(value) for value in others]))
            self.crs = self.crs if self.crs is not None else crs
            return
        if between is not None:
            raise SettingError("between= is for further axes of a border; write all ends of a box together")
        self.parts.append(",".join(end_text(value) for value in _flat(ends)))

    @classmethod
    def _of(cls, core: _core.Window, crs: Any = None) -> Window:
        window = cls(core, crs=crs)
        window._resolved = core
        return window

    @classmethod
    def union(cls, windows: Iterable[Window], **settings: Any) -> Window:
        """Windows that do not overlap, as one. What is said of one must be said of all, or here of their union: `repeats`, `exposure`, `names`, ..."""
        given = [as_window(window) for window in windows]
        for name in ("repeats", "exposure", "names", "units", "time_unit", "time_zone", "crs", "geography"):
            if name not in settings and given:
                settings[name] = _agreed(name, given)
        if any(window.trials is not None for window in given):
            raise WindowError("windows with trials= of their own cannot be joined; give all trials in one, as in Window(trials=[...])")
        joined = cls(**settings)
        joined.parts = [part for window in given for part in window.parts]
        return joined

    def __or__(self, other: Window) -> Window:
        return Window.union([self, other]) if isinstance(other, Window) else NotImplemented

    def in_zone(self, zone: Any) -> Window:
        """The same with dates that have no time zone meant in this one."""
        if zone is None:
            return self
        window = Window(self)
        window.parts = [_part_in_zone(part, zone) for part in window.parts]
        if window.trials is not None:
            window.trials = [[_text_in_zone(end, zone) for end in ends] for ends in window.trials]
        return window

    @property
    def _dims(self) -> int:
        if self.names is not None:
            return len(self.names)
        if self.trials is not None:
            return 1
        if not self.parts:
            raise WindowError("the window is empty; give lo and hi for each axis, as in Window(0, 50)")
        part = self.parts[0]
        if isinstance(part, _core.Window):
            return part.dims
        if isinstance(part, tuple):
            return 2 + len(part[2]) // 2
        pieces = part.split(",")
        return max(1, len(pieces) // 2) if _looks_like_ends(pieces) else 2 + (len(pieces) - 1) // 2

    @property
    def known_names(self) -> list[str] | None:
        """The names of its axes, if they were given or it is that of a fit."""
        if self.names is None and self.parts and isinstance(self.parts[0], _core.Window):
            return [name for name, *_ in self.parts[0].axes]
        return self.names

    @property
    def meant_geography(self) -> str | None:
        """Whether its numbers are degrees on the globe, "sphere" or "plane"; None leaves it to the names of its axes."""
        return meant_geography(self.geography, self.crs)

    @property
    def core(self) -> _core.Window:
        """The window on its own axes."""
        if self._resolved is None:
            self._resolved = _core.resolve_window(self.in_zone(self.time_zone), self._dims)
        return self._resolved

    @property
    def measure(self) -> float:
        """Length, area or volume, as often and as closely as it was looked at: a rate times this is a number of events. On the globe areas are km²."""
        return self.core.measure

    @property
    def volume(self) -> float:
        """Length, area or volume as such."""
        return self.core.volume

    @property
    def dims(self) -> int:
        """Number of axes."""
        return self.core.dims

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """(lo, hi) for each axis, of the box around it."""
        return self.core.bounding_box

    @property
    def axis_names(self) -> list[str]:
        """What the axes are called."""
        return [name for name, *_ in self.core.axes]

    def contains(self, points: Any) -> npt.NDArray[np.bool_]:
        """Whether each point lies inside."""
        return self.core.contains(self.place(points))

    def place(self, points: Any) -> npt.NDArray[np.float64]:
        """Points as rows of numbers on its axes; dates are counted from the origin of theirs, and degrees stay what they are."""
        found = coordinates(points, "the points", self.dims, names=self.axis_names)
        check_place(found.crs, None, self.core, self.crs, "the points")
        return _core.points_on(found.given, self.core)

    def grid(self, *counts: int) -> npt.NDArray[np.float64]:
        """A regular grid over the box around it, ends included; the last axis varies fastest. On the globe it is regular in degrees."""
        numbers = [whole("counts", count, 1) or 1 for count in counts]
        numbers = numbers if len(numbers) > 1 or self.dims == 1 else numbers * self.dims
        if len(numbers) != self.dims:
            raise SettingError(f"counts={numbers} are for {len(numbers)} axes and there are {self.dims}; give one number, or one for each axis")
        affordable("counts", math.prod(numbers), self.dims)
        return self.core.grid(numbers)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """Its border as GeoJSON, on two axes."""
        core = self.core
        if core.dims != 2:
            raise WindowError(f"a window on {core.dims} axes has no border; take one on two")
        polygons = core.outlines
        if not polygons:
            polygons = [[_rectangle(box)] for box, _ in core.pieces]
        x, y = core.globe or (0, 1)
        rings = [[[[corner[x], corner[y]] for corner in _closed(ring)] for ring in polygon] for polygon in polygons]
        if len(rings) == 1:
            return {"type": "Polygon", "coordinates": rings[0]}
        return {"type": "MultiPolygon", "coordinates": rings}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and self.core == other.core

    def __hash__(self) -> int:
        return hash(self.core.to_bytes())

    def __repr__(self) -> str:
        try:
            return f"<Window {self.core.show()}>"
        except (ValueError, ArithmeticError) as error:
            return f"<Window: {error}>"

    def _repr_html_(self) -> str:
        from ._repr import html_of_window

        return html_of_window(self)


def _agreed(name: str, windows: list[Window]) -> Any:
    """What all windows say, or those of them that say something of their axes."""
    said = [getattr(window, name) for window in windows]
    if name in ("names", "units", "crs", "geography"):
        said = [value for value in said if value] or [None]
    first = said[0]
    if not all(_same(name, first, value) for value in said):
        raise WindowError(f"the windows differ in {name}=; give it for their union, as in Window.union(windows, {name}=...)")
    return first


def _same(name: str, one: Any, other: Any) -> bool:
    if name == "crs" and one is not None:
        return same_crs(one, other)
    return one is other or (name != "exposure" and bool(one == other))


def zone_name(zone: Any) -> str | None:
    """A time zone by its name, however it is given."""
    if zone is None:
        return None
    name = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)
    # One that is not known is refused, with names that are near it.
    _core.instants(name, np.empty(0, dtype=np.int64))
    return name


def _part_in_zone(part: Any, zone: Any) -> Any:
    if isinstance(part, str):
        return ",".join(_text_in_zone(end, zone) for end in part.split(","))
    return (*part[:2], [_text_in_zone(end, zone) for end in part[2]]) if isinstance(part, tuple) else part


def _text_in_zone(text: str, zone: Any) -> str:
    """A date without a time zone as one in this zone; anything else stays."""
    if not (text[:4].isdigit() and text[4:5] == "-"):
        return text
    pandas = needed("pandas", "a time zone")
    try:
        date = pandas.Timestamp(text)
        return text if date.tzinfo is not None else _iso(instant_of(date.tz_localize(zone)))
    except Exception as error:
        raise WindowError(f"window=: {text} is no date in {zone} ({error}); give it with its time zone, as in {text}Z") from error


def _closed(ring: Sequence[Any]) -> list[Any]:
    corners = list(ring)
    return corners if corners and tuple(corners[0]) == tuple(corners[-1]) else [*corners, corners[0]]


def _rectangle(box: Sequence[tuple[float, float]]) -> list[list[float]]:
    (x0, x1), (y0, y1) = box
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def _looks_like_ends(pieces: list[str]) -> bool:
    first = pieces[0].strip()
    try:
        float(first)
        return True
    except ValueError:
        return first[:4].isdigit() and first[4:5] == "-"


def _whole(value: Any, name: str) -> int:
    return whole(name, value) or 0


def _spans(trials: Any) -> list[list[str]]:
    """The start and the end of each trial."""
    if not isinstance(trials, Iterable) or isinstance(trials, (str, bytes)) or getattr(trials, "ndim", 1) == 0:
        raise WindowError(f"trials={shown(trials)} is no list; give a start and an end for each trial, as in [(0, 2), (0, 1.5)]")
    return [[end_text(lo), end_text(hi)] for lo, hi in (_pair(one) for one in trials)]


def _pair(one: Any) -> tuple[Any, Any]:
    pair = tuple(one) if isinstance(one, Iterable) else (one,)
    if len(pair) != 2:
        raise WindowError(f"trials=: {one!r} is not (lo, hi); give a start and an end for each trial")
    return pair


def _flat(ends: Iterable[Any]) -> list[Any]:
    """Ends one after the other, however they are nested."""
    flat: list[Any] = []
    for value in ends:
        if _is_end(value):
            flat.append(value)
        elif isinstance(value, slice):
            flat.extend([value.start, value.stop])
        elif isinstance(value, Iterable) and not isinstance(value, (bytes, dict, set)) and getattr(value, "ndim", 1) > 0:
            flat.extend(_flat(value))
        else:
            raise WindowError(f"window=: {value!r} is no end of a box; give (lo, hi) for each axis, a GeoJSON border, or a polygon")
    return flat


def _units(units: str | Sequence[str] | dict[str, str] | None) -> list[str]:
    if units is None:
        return []
    if isinstance(units, str):
        return [units]
    if isinstance(units, dict):
        return [f"{name}={unit}" for name, unit in units.items()]
    return texts("units", units)


def _border(given: Any) -> tuple[str, bytes, Any] | None:
    """The name, the GeoJSON and the CRS of a border, if it is one."""
    interface = getattr(given, "__geo_interface__", None)
    if interface is not None:
        return "the border", json.dumps(interface, default=_plain).encode(), getattr(given, "crs", None)
    if isinstance(given, dict):
        return "the border", json.dumps(given, default=_plain).encode(), None
    if isinstance(given, os.PathLike):
        path = os.fspath(given)
        try:
            with open(path, "rb") as file:
                return str(path), file.read(), None
        except OSError as error:
            from ._errors import FileError

            raise FileError(f"{path} cannot be read ({error.strerror}); check the name and the directory") from error
    if isinstance(given, str) and given.lstrip().startswith("{"):
        return "the border", given.encode(), None
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def as_window(given: Any, **settings: Any) -> Window:
    """A window of whatever stands for one: a Window, (lo, hi), a list of them for each axis, a border."""
    if isinstance(given, Window):
        return Window(given, **settings) if any(value is not None for value in settings.values()) else given
    if given is None:
        return Window(**settings)
    shapely = loaded("shapely")
    if shapely is not None and isinstance(given, shapely.Geometry):
        return Window(given, **settings)
    if isinstance(given, tuple) and len(given) > 1 and all(_is_end(value) for value in given):
        return Window(*given, **settings)
    return Window(given, **settings)
