"""Whatever form events come in: the fitted integral is near their number, and parts add up to the whole."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely

import pointillist as pt

RNG = np.random.default_rng(3)
TIMES = np.sort(RNG.beta(2, 3, 120) * 10)
PLACES = RNG.uniform(0, 4, (150, 2))
DAYS = pd.Timestamp("2024-03-01", tz="Europe/Berlin") + pd.to_timedelta(TIMES, unit="D")
BORDER = shapely.box(0, 0, 4, 4).difference(shapely.box(1, 1, 2, 2))
INSIDE = PLACES[[BORDER.covers(shapely.Point(*place)) for place in PLACES]]
HALVES: dict[str, list[Any]] = {"line": [(0, 4), (4, 10)], "plane": [[(0, 4), (0, 1.5)], [(0, 4), (1.5, 4)]]}
FIRST_NIGHT, MIDDLE, LAST_DAY = (np.datetime64(when) for when in ("2024-02-29T23:00:00", "2024-03-05", "2024-03-11"))
HALVES["days"] = [(FIRST_NIGHT, MIDDLE), (MIDDLE, LAST_DAY)]


def geo() -> Any:
    geopandas = pytest.importorskip("geopandas")
    return geopandas.GeoDataFrame(geometry=shapely.points(INSIDE), crs=32633)


def dask_summary() -> pt.Summary:
    import dask.array as da

    import pointillist.dask

    return pointillist.dask.summarize(da.from_array(TIMES, chunks=40), (0, 10))


FORMS: dict[str, tuple[Callable[[], Any], dict[str, Any], float, str]] = {
    "array": (lambda: TIMES, {"window": (0, 10)}, len(TIMES), "line"),
    "series": (lambda: pd.Series(TIMES), {"window": (0, 10)}, len(TIMES), "line"),
    "dates": (lambda: DAYS, {"window": ("2024-02-29T23:00:00Z", "2024-03-11")}, len(TIMES), "days"),
    "trials": (lambda: [TIMES[0::3], TIMES[1::3], TIMES[2::3]], {"window": (0, 10)}, len(TIMES) / 3, "line"),
    "repeats": (lambda: TIMES, {"window": (0, 10), "repeats": 4}, len(TIMES) / 4, "line"),
    "summary": (lambda: pt.Summary.of(TIMES, window=(0, 10)), {}, len(TIMES), "line"),
    "parts": (lambda: [pt.Summary.of(TIMES[:50], window=(0, 10)), pt.Summary.of(TIMES[50:], window=(0, 10))], {}, len(TIMES), "line"),
    "cluster": (dask_summary, {}, len(TIMES), "line"),
    "places": (lambda: PLACES, {"window": [(0, 4), (0, 4)]}, len(PLACES), "plane"),
    "border": (lambda: INSIDE, {"window": BORDER}, len(INSIDE), "plane"),
    "geometry": (geo, {"window": pt.Window(BORDER, crs=32633)}, len(INSIDE), "plane"),
}


@pytest.mark.parametrize("form", FORMS)
def test_totals_are_near_the_number_of_events_and_parts_add_up(form: str) -> None:
    make, how, expected, halves = FORMS[form]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = pt.IntensityModel().fit(make(), **how).posterior_
        total = float(post.count().mean[0])
        parts = post.count(HALVES[halves])
    assert total == pytest.approx(expected, rel=0.03)
    assert float(np.sum(parts.mean)) == pytest.approx(total, rel=2e-3)


def test_frames_of_counts_are_refused() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "Cases": [3, 1, 2]})
    for call in (lambda: pt.IntensityModel().fit(frame), lambda: pt.Summary.of(frame, window=[(0, 4), (0, 4)])):
        with pytest.raises(pt.InputError, match="a row is one event"):
            call()
    events = frame.loc[frame.index.repeat(frame["Cases"])].drop(columns="Cases")
    assert len(pt.as_events(events, window=(0, 4))) == 6
