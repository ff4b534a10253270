"""Whatever has coordinates, as arrays: NumPy arrays, lists, pandas series and frames, GeoPandas frames, dates with or without time zones."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import InputError
from ._geo import geography_of, geometry_of
from ._optional import loaded, needed
from ._spikes import trains_of

Floats = npt.NDArray[np.float64]
Instants = npt.NDArray[np.int64]
#: Rows of numbers, or columns of which some are dates in microseconds since 1970.
Given = Floats | list[Any]

#: Numbers beyond this lose digits as float64.
EXACT = 2**53
#: Microseconds that fit into 64 bits with room to spare: the years -290,000 to 290,000.
MOST_MICROS = 9e18


@dataclass
class Coordinates:
    """Coordinates as the core takes them, and what their own object says of them."""

    given: Given
    names: list[str] | None = None
    trials: npt.NDArray[np.int64] | None = None
    #: How many trials there are, with those in which nothing happened.
    trial_count: int | None = None
    #: Whether there may be more trials, in which nothing happened.
    silent_trials: bool = False
    crs: Any = None
    time_zone: Any = None
    #: Whether these are points on a map, east first.
    is_map: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.given) if isinstance(self.given, np.ndarray) else len(self.given[0]) if self.given else 0

    @property
    def dims(self) -> int:
        return int(self.given.shape[1]) if isinstance(self.given, np.ndarray) else len(self.given)

    @property
    def has_dates(self) -> bool:
        return isinstance(self.given, list) and any(column.dtype == np.int64 for column in self.given)


def coordinates(data: Any, what: str = "the events", dims: int | None = None, *, names: list[str] | None = None, zone: Any = None) -> Coordinates:
    """The coordinates of an object; `what` stands for it in messages, `dims` is the number of axes if that is known.

    With the `names` of axes the columns of a frame are found by them. With a time `zone`, dates that have none are meant in it.
    """
    if names is not None:
        data = _by_name(data, names, what)
    found = _coordinates(data, what, dims)
    if names is not None and found.is_map and _is_north_first(names):
        # Points on a map are (x, y), whatever the order of axes.
        found = replace(found, given=plain(np.asarray(found.given)[:, ::-1]), names=None)
    if found.has_dates and found.time_zone is None:
        found.time_zone = zone_of(data)
    return in_zone(found, zone) if zone is not None and found.has_dates and is_naive(data) else found


def zone_of(data: Any) -> Any:
    """The time zone of dates, if they have one: of a series, of a column of a frame, or of the first of a list."""
    if isinstance(data, (list, tuple)):
        return next((zone for zone in map(zone_of, data[:100]) if zone is not None), None)
    if isinstance(data, datetime.datetime):
        return data.tzinfo
    own = getattr(data, "dtype", None)
    kinds = list(getattr(data, "dtypes", [])) if own is None else [own]
    return next((kind.tz for kind in kinds if getattr(kind, "tz", None) is not None), None)


def is_naive(data: Any) -> bool:
    """Whether these are dates without a time zone: of pandas, of Python, or texts. Those of NumPy are UTC."""
    columns = [data[name] for name in data.columns] if hasattr(data, "columns") else [data]
    return any(_is_naive(column) for column in columns)


def _is_naive(column: Any) -> bool:
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if hasattr(column, "isna"):  # a series or an index
        if kind == "M":
            return getattr(column.dtype, "tz", None) is None
        column = column.to_numpy()
    elif kind == "M":
        return False
    values = list(np.asarray(column, dtype=object).flat) if isinstance(column, (list, tuple, np.ndarray)) else [column]
    naive = [_without_zone(value) for value in values]
    if any(naive) and not all(naive):
        raise InputError("some dates have a time zone and some have none; give all of them one")
    return bool(naive) and all(naive)


def _without_zone(value: Any) -> bool:
    if isinstance(value, str):
        try:
            value = _parsed(value)
        except ValueError:
            return False
    return isinstance(value, datetime.date) and getattr(value, "tzinfo", None) is None


def in_zone(found: Coordinates, zone: Any) -> Coordinates:
    """The same with dates that were meant in a time zone."""
    given = [_local(column, zone) if column.dtype == np.int64 else column for column in found.given]
    return replace(found, given=given, time_zone=zone)


def _local(micros: Instants, zone: Any) -> Instants:
    pandas = needed("pandas", "a time zone")
    try:
        index = pandas.DatetimeIndex(micros.astype("datetime64[us]")).tz_localize(zone).tz_convert("UTC").tz_localize(None)
    except Exception as error:
        raise InputError(f"there is a date that {zone} has twice or never, as when clocks change ({error}); give dates with their time zone") from error
    instants: Instants = plain(np.asarray(index).astype("datetime64[us]").astype(np.int64))
    return instants


def _by_name(data: Any, names: list[str], what: str) -> Any:
    """The columns of a frame that are called as the axes, in their order; all of it if none is."""
    pandas = loaded("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame) or "geometry" in data.columns or not data.columns.is_unique:
        return data
    called = {str(name): name for name in data.columns}
    # A longitude or a latitude has several names.
    names = [next((other for other in _called(name, called)), name) for name in names]
    known = [name for name in names if name in called]
    if not known:
        return data
    if len(known) < len(names):
        missing, columns = next(name for name in names if name not in called), ", ".join(called)
        raise InputError(f"{what} are a frame with the columns {columns}, without `{missing}` of the model; rename one, as in frame.rename(columns=...)")
    trial = _trial_column(data)
    return data[[*(called[name] for name in names), *([] if trial is None or str(trial) in names else [trial])]]


def _called(name: str, called: dict[str, Any]) -> list[str]:
    """What a column for the axis may be called here, its own name first."""
    others = _core.synonyms(name)
    return [one for one in called if one == name] + [one for one in called if one.strip().lower() in others]


def _is_north_first(names: list[str]) -> bool:
    """Whether the first two axes are a latitude and a longitude."""
    return len(names) > 1 and "lat" in _core.synonyms(names[0]) and "lon" in _core.synonyms(names[1])


def _coordinates(data: Any, what: str, dims: int | None) -> Coordinates:
    if data is None:
        raise InputError(f"{what} are None; give an array of shape (n,) or (n, d)")
    if isinstance(data, (str, bytes)):
        raise InputError(f"{what} are a text; give an array, or read a table with pointillist.read_events")
    # Not with `or`: coordinates without events are false.
    for read in (_geo_frame, _frame, _series):
        found = read(data, what)
        if found is not None:
            return found
    trains = trains_of(data)
    if trains is not None:
        data = trains.data
    if _is_trials(data):
        return _trials(data, what)
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InputError(f"{what} are sparse, and sparse data are not supported; give x.toarray()")
    column = _column(data, what)
    if column.dtype == np.int64:
        return Coordinates(_split(column, what))
    return Coordinates(_rows(column, what, dims))


def plain(array: npt.NDArray[Any]) -> Any:
    """The array itself if it lies in memory as the core wants it, in one piece and aligned, else a copy. What comes over a network is often not aligned."""
    return np.require(array, requirements=["C", "A"])


def _rows(array: Floats, what: str, dims: int | None) -> Floats:
    """Rows, without a copy where the layout allows it."""
    if array.ndim == 0:
        raise InputError(f"{what} are one number; give an array of shape (n,) or (n, d)")
    if array.ndim == 1:
        if dims is not None and dims > 1 and array.size == dims:
            raise InputError(f"{what} have shape ({dims},), one point on {dims} axes; give an array of shape (1, {dims})")
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise InputError(f"{what} have {array.ndim} dimensions; give an array of shape (n,) or (n, d)")
    if array.shape[1] == 0:
        raise InputError(
            f"{what} have no coordinates, 0 feature(s) (shape={array.shape}) while a minimum of 1 is required; give an array of shape (n, d)"
        )
    rows: Floats = plain(array)
    return rows


def _split(array: Instants, what: str) -> list[Any]:
    if array.ndim == 1:
        return [plain(array)]
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{what} are dates of shape {array.shape}; give an array of shape (n,) or (n, d)")
    return [plain(array[:, r]) for r in range(array.shape[1])]


def _column(data: Any, what: str) -> Any:
    """An array of float64, or of int64 that counts microseconds since 1970."""
    zone_aware = _with_time_zone(data)
    if zone_aware is not None:
        return zone_aware
    _refuse_masked(data, what)
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as error:
        raise InputError(f"{what} are no array ({error}); give an array of shape (n,) or (n, d)") from error
    return _numbers(array, what)


def _refuse_masked(data: Any, what: str) -> None:
    """NumPy forgets a mask when it makes a plain array."""
    if np.ma.isMaskedArray(data) and np.ma.is_masked(data):
        raise InputError(f"{what} have masked values; drop them first, with .compressed()")


def _numbers(array: npt.NDArray[Any], what: str) -> Any:
    kind = array.dtype.kind
    if kind == "M":
        return _micros(array, what)
    if kind == "m":
        raise InputError(f"{what} are durations; add them to a date, or divide them by a unit: x / numpy.timedelta64(1, 's')")
    if kind in "iu":
        if array.size and (array.max() > EXACT or array.min() < -EXACT):
            raise InputError(
                f"{what} hold integers beyond 2**53, which float64 cannot tell apart; if they are times, give datetime64 "
                "(pandas.to_datetime(x, unit='ns')), or subtract an origin first"
            )
        return array.astype(np.float64)
    if kind == "f":
        floats = array.astype(np.float64, copy=False)
        return floats
    if kind == "b":
        raise InputError(f"{what} are booleans; give the coordinates of events, not a mask of bins")
    if kind == "c":
        raise InputError(f"Complex data not supported: {what} are complex numbers; give real coordinates")
    if kind in "US" or (kind == "O" and _all_texts(array)):
        return _texts(array, what)
    if kind == "O":
        return _objects(array, what)
    raise InputError(f"{what} have the type {array.dtype}; give numbers or dates")


def _micros(array: npt.NDArray[Any], what: str) -> Instants:
    if np.isnat(array).any():
        first = int(np.flatnonzero(np.isnat(array))[0])
        raise InputError(f"{what} have no date (NaT) in row {first}; drop such rows first, with .dropna()")
    unit = np.datetime_data(array.dtype)[0]
    if unit == "generic":
        return np.zeros(array.shape, dtype=np.int64)
    try:
        rough = array.astype("datetime64[s]").astype(np.int64).astype(np.float64) * 1e6
    except OverflowError as error:
        raise InputError(f"{what} count {unit} since 1970, finer than dates are kept; give datetime64[us]") from error
    if np.abs(rough).max(initial=0.0) > MOST_MICROS:
        raise InputError(f"{what} have a date so far away that its microseconds overflow 64 bits; correct it")
    instants: Instants = plain(array.astype("datetime64[us]").astype(np.int64))
    return instants


def _all_texts(array: npt.NDArray[Any]) -> bool:
    return array.size > 0 and all(isinstance(value, str) for value in array.flat)


def _texts(array: npt.NDArray[Any], what: str) -> Instants:
    try:
        dates = np.array([_instant(str(value)) for value in array.flat], dtype=np.int64)
    except ValueError as error:
        raise InputError(f"{what} are texts, and not all of them ISO dates ({error}); give numbers or datetime64") from error
    return dates.reshape(array.shape)


def _instant(text: str) -> int:
    return instant_of(_parsed(text))


def _parsed(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))


def instant_of(date: datetime.date) -> int:
    """A date in microseconds since 1970; without a time zone it is UTC."""
    if not isinstance(date, datetime.datetime):
        date = datetime.datetime(date.year, date.month, date.day)
    if date.tzinfo is None:
        date = date.replace(tzinfo=datetime.timezone.utc)
    return (date - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)


def _objects(array: npt.NDArray[Any], what: str) -> Any:
    values, pandas = list(array.flat), loaded("pandas")
    missing = () if pandas is None else (pandas.NaT, pandas.NA)
    for row, value in enumerate(values):
        if value is None or any(value is nothing for nothing in missing):
            raise InputError(f"{what} have nothing in row {row}; drop such rows first, with .dropna()")
    if values and all(isinstance(value, datetime.date) for value in values):
        return np.array([instant_of(value) for value in values], dtype=np.int64).reshape(array.shape)
    if values and all(isinstance(value, np.datetime64) for value in values):
        return _micros(np.array(values, dtype="datetime64[us]").reshape(array.shape), what)
    if values and all(isinstance(value, (int, float, np.integer, np.floating)) for value in values):
        return _plain_numbers(values, what).reshape(array.shape)
    kinds = sorted({type(value).__name__ for value in values[:1000]})
    raise InputError(
        f"{what} are an array of objects ({', '.join(kinds) or 'none'}); give numbers, as in numpy.asarray(x, dtype=float), "
        "or for trials a list with one array each"
    )


def _plain_numbers(values: list[Any], what: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{what} hold a number too large for 64 bits ({error}); give float64, or subtract an origin first") from error


def _with_time_zone(data: Any) -> Instants | None:
    """Dates of pandas that have a time zone: NumPy would make objects of them."""
    if getattr(getattr(data, "dtype", None), "tz", None) is None:
        return None
    index = loaded("pandas")
    if index is None:
        return None
    utc = index.DatetimeIndex(data).tz_convert("UTC").tz_localize(None)
    return _micros(np.asarray(utc), "the dates")


def as_trials(data: Any, what: str = "the events") -> Coordinates | None:
    """A list of lists as trials, though each has as many numbers as a point might."""
    is_list = isinstance(data, (list, tuple)) and bool(data) and all(isinstance(one, (list, tuple)) for one in data)
    return _trials(data, what) if is_list else None


def _is_trials(data: Any) -> bool:
    """Whether an object is a list of arrays, one for each trial."""
    if not isinstance(data, (list, tuple)) or not data:
        return False
    return all(isinstance(one, (np.ndarray, list, tuple)) or hasattr(one, "__array__") and getattr(one, "ndim", 1) > 0 for one in data) and not all(
        isinstance(one, (list, tuple)) and len(one) in (2, 3) and len(one) == len(data[0]) and not _nested(one) for one in data
    )


def _nested(one: Any) -> bool:
    return any(isinstance(value, (list, tuple, np.ndarray)) for value in one)


def _trials(data: Any, what: str) -> Coordinates:
    parts = [coordinates(_trial(one, f"trial {number} of {what}"), f"trial {number} of {what}") for number, one in enumerate(data)]
    sizes = [len(part) for part in parts]
    trials = np.repeat(np.arange(len(parts), dtype=np.int64), sizes)
    filled = [part for part, size in zip(parts, sizes) if size]
    if not filled:
        raise InputError(f"{what} have {len(parts)} trials and no event; an intensity cannot be inferred from none")
    if len({part.dims for part in filled}) > 1:
        raise InputError(f"{what}: trials differ in their number of coordinates; give arrays of one shape (n, d)")
    joined: Given
    if any(part.has_dates for part in filled):
        columns = [[part.given[r] for part in filled] for r in range(filled[0].dims)]
        joined = [np.concatenate(column) for column in columns]
    else:
        joined = np.concatenate([part.given for part in filled])
    return Coordinates(joined, trials=trials, trial_count=len(parts))


def _trial(one: Any, what: str) -> npt.NDArray[Any]:
    if one is None:
        raise InputError(f"{what} is None; give an array, which may be empty")
    _refuse_masked(one, what)
    try:
        array = np.asarray(one)
    except (ValueError, TypeError) as error:
        raise InputError(f"{what} is no array ({error}); give one of shape (n,) or (n, d)") from error
    return array if array.size or array.ndim > 1 else np.empty(0)


def _series(data: Any, what: str) -> Coordinates | None:
    pandas = loaded("pandas")
    if pandas is None or not isinstance(data, (pandas.Series, pandas.Index)):
        return None
    if isinstance(data, pandas.MultiIndex):
        raise InputError(f"{what} are an index of several levels; give a frame, as index.to_frame() makes one")
    zone = getattr(data.dtype, "tz", None)
    if pandas.isna(data).any():
        row = int(np.flatnonzero(np.asarray(pandas.isna(data)))[0])
        raise InputError(f"{what} have nothing (NaN or NaT) in row {row}; drop such rows first, with .dropna()")
    column = _column(data if zone is not None else data.to_numpy(), what)
    names = None if data.name is None else [str(data.name)]
    given: Given = [column] if column.dtype == np.int64 else _rows(column, what, 1)
    return Coordinates(given, names=names, time_zone=zone)


def _frame(data: Any, what: str) -> Coordinates | None:
    pandas = loaded("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return None
    trial = _trial_column(data)
    if trial is not None:
        return _frame_of_trials(data, trial, what)
    if data.shape[1] == 0:
        raise InputError(f"{what} are a frame without columns; give one to three columns of coordinates")
    if not data.columns.is_unique:
        raise InputError(f"{what} are a frame in which two columns have one name; rename one of them")
    usable = [
        name for name in data.columns if data[name].dtype.kind in "fiuM" or getattr(data[name].dtype, "tz", None) is not None
    ]
    dates = [name for name in usable if data[name].dtype.kind == "M" or getattr(data[name].dtype, "tz", None) is not None]
    chosen = dates if dates and len(usable) > 3 else usable
    if not chosen or len(chosen) > 3:
        found = ", ".join(map(str, data.columns))
        raise InputError(
            f"{what} are a frame with the columns {found}, of which {len(chosen)} could be coordinates; choose them, as in frame[['x', 'y']]"
        )
    parts = [_series(data[name], f"{what}, column `{name}`") for name in chosen]
    columns = [part.given[0] if isinstance(part.given, list) else part.given[:, 0] for part in parts if part is not None]
    zone = next((part.time_zone for part in parts if part is not None and part.time_zone is not None), None)
    names = [str(name) for name in chosen]
    if any(column.dtype == np.int64 for column in columns):
        return Coordinates([plain(column) for column in columns], names=names, time_zone=zone)
    return Coordinates(plain(np.stack(columns, axis=1)), names=names)


def _trial_column(data: Any) -> Any:
    """The column that says to which trial an event belongs, if there is one beside others."""
    called = [name for name in data.columns if str(name).lower() == "trial"]
    return called[0] if len(called) == 1 and data.shape[1] > 1 else None


def _frame_of_trials(data: Any, trial: Any, what: str) -> Coordinates | None:
    """Trials are those that the column names; one without events must be given by repeats= or in a list."""
    found = _frame(data.drop(columns=[trial]), what)
    return None if found is None else _with_trials(found, data[trial], what)


def _with_trials(found: Coordinates, trials: Any, what: str) -> Coordinates:
    codes, labels = loaded("pandas").factorize(trials, sort=True)
    if (codes < 0).any():
        raise InputError(f"{what} have no trial in row {int(np.flatnonzero(codes < 0)[0])}; drop such rows first, with .dropna()")
    return replace(found, trials=np.asarray(codes, dtype=np.int64), trial_count=len(labels), silent_trials=True)


def _geo_frame(data: Any, what: str) -> Coordinates | None:
    geopandas = loaded("geopandas")
    if geopandas is None or not isinstance(data, (geopandas.GeoDataFrame, geopandas.GeoSeries)):
        return None
    geometry = geometry_of(data, what)
    if not (geometry.geom_type == "Point").all():
        kinds = ", ".join(sorted(set(map(str, geometry.geom_type))))
        raise InputError(f"{what} have geometries of the kinds {kinds}; give points")
    rows = plain(np.stack([geometry.x.to_numpy(), geometry.y.to_numpy()], axis=1))
    names = ["lon", "lat"] if geography_of(data.crs) == "sphere" else ["x", "y"]
    found = Coordinates(rows, names=names, crs=data.crs, is_map=True)
    trial = _trial_column(data) if hasattr(data, "columns") else None
    return found if trial is None else _with_trials(found, data[trial], what)
