"""Coordinate reference systems: compared, named, and written where other tools look for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import InputError, SettingError, WindowError
from ._optional import loaded

#: The system of longitudes and latitudes on the globe.
WGS84 = "EPSG:4326"
#: Systems of degrees by which pyproj is not needed, as `_known` has them.
DEGREES = ("4326", "OGC:CRS84", "CRS84", "WGS84", "4258", "4269", "4979")


def check_crs(events: Any, window: Any, what: str = "the events") -> None:
    """Refuses events in another coordinate reference system than their window."""
    if events is None or window is None or same_crs(events, window):
        return
    raise WindowError(f"{what} are in {_name(events)} and the window is in {_name(window)}; bring both into one with .to_crs(...)")


def same_crs(one: Any, other: Any) -> bool:
    """Whether two mean the same, however each is written: as an object of pyproj, "EPSG:4326", a number, WKT."""
    first, second = _known(one), _known(other)
    return bool(first == second)


def _known(crs: Any) -> Any:
    """As pyproj has it, if that is there: whoever has frames of GeoPandas has it."""
    if isinstance(crs, (str, int)):
        pyproj = loaded("pyproj")
        if pyproj is not None:
            try:
                return pyproj.CRS.from_user_input(crs)
            except pyproj.exceptions.CRSError as error:
                raise WindowError(f"crs={crs!r} is not known to pyproj; write it as in 'EPSG:4326'") from error
        return str(crs).upper().removeprefix("EPSG:")
    return crs


def geography_of(crs: Any) -> str | None:
    """What a coordinate reference system says of numbers: "sphere" for degrees on the globe, "plane" for a projection, None where it is not known."""
    if crs is None:
        return None
    known = _known(crs)
    if isinstance(known, str):
        return "sphere" if known in DEGREES else None
    if not getattr(known, "is_geographic", False):
        return "plane"
    units = {str(getattr(axis, "unit_name", "degree")) for axis in getattr(known, "axis_info", [])[:2]}
    if units - {"degree"}:
        raise WindowError(f"{_name(crs)} counts longitudes in {', '.join(sorted(units))}; bring it into degrees with .to_crs(4326)")
    return "sphere"


def meant_geography(geography: Any, crs: Any) -> str | None:
    """Whether numbers are degrees on the globe: as it is said, or as the coordinate reference system has it; None leaves it to the names of axes."""
    of_crs = geography_of(crs)
    if geography is None:
        return of_crs
    if geography not in ("sphere", "plane"):
        raise SettingError(f"geography={geography!r} is not known; take one of sphere, plane")
    if geography == "sphere" and of_crs == "plane":
        raise SettingError(f"geography='sphere' is for degrees, and {_name(crs)} is a projection; leave it out, or bring the data into degrees with .to_crs(4326)")
    return str(geography)


def crs_on(window: Any, crs: Any) -> Any:
    """The coordinate reference system of a window: on the globe that of GPS, on a map that of its axes, unless another is known."""
    if crs is not None:
        return crs
    return WGS84 if window.globe is not None else window.crs


def check_place(crs: Any, geography: str | None, window: Any, own: Any, what: str) -> None:
    """Refuses places in another coordinate reference system than a model's, and degrees where the model has a plane that cannot be one of degrees."""
    check_crs(crs, crs_on(window, own), what)
    if meant_geography(geography, crs) != "sphere" or window.globe is not None or own is not None:
        return
    (x0, x1), (y0, y1) = window.bounding_box[:2] if window.dims > 1 else [(0.0, 0.0)] * 2
    if max(abs(x0), abs(x1)) > 360 or max(abs(y0), abs(y1)) > 90:
        raise WindowError(f"{what} are degrees on the globe, and the window is a plane that reaches ({x1:g}, {y1:g}); bring both into one system with .to_crs(...)")


def _name(crs: Any) -> str:
    known = _known(crs)
    code = known.to_authority() if hasattr(known, "to_authority") else None
    name = str(getattr(known, "name", None) or crs)
    return name if code is None else f"{':'.join(code)} ({name})"


def crs_text(crs: Any) -> str | None:
    """A coordinate reference system as model files have it."""
    if crs is None:
        return None
    known = _known(crs)
    return str(known.to_string()) if hasattr(known, "to_string") else str(crs)


def crs_of(data: Any, window: Any) -> Any:
    """The coordinate reference system of events, or else of their window."""
    own = getattr(data, "crs", None)
    return own if own is not None else getattr(window, "crs", None)


def geometry_of(frame: Any, what: str) -> Any:
    """The geometries of a frame or a series of GeoPandas, none of them missing or empty."""
    try:
        geometry = frame.geometry
    except AttributeError as error:
        raise InputError(f"{what} are a GeoDataFrame without geometry; name its column with .set_geometry(...)") from error
    nothing = np.asarray(geometry.isna() | geometry.is_empty, dtype=bool)
    if nothing.any():
        raise InputError(f"{what} have no geometry in row {int(np.flatnonzero(nothing)[0])}; drop such rows first, with .dropna()")
    return geometry


def grid_mapping(dataset: Any, crs: Any) -> Any:
    """Says the system as CF has it, in a coordinate `spatial_ref`, where rioxarray and GDAL look for it."""
    known = _known(crs)
    attributes = known.to_cf() if hasattr(known, "to_cf") else {"spatial_ref": str(crs)}
    attributes.setdefault("spatial_ref", attributes.get("crs_wkt", str(crs)))
    dataset = dataset.assign_coords(spatial_ref=((), 0, attributes))
    for name in dataset.data_vars:
        dataset[name].attrs["grid_mapping"] = "spatial_ref"
    return dataset
