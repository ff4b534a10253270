"""Dates, time zones and frames: what goes in with a type, a zone or an index comes out with it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import pointillist as pt

from test_same_as_command import without_command

ZONE = "America/New_York"
#: Over the night in which clocks go forward: 23 hours of local time, and no event is moved by it.
TIMES = pd.DatetimeIndex(pd.Timestamp("2024-03-08", tz=ZONE) + pd.to_timedelta(np.sort(np.random.default_rng(0).uniform(0, 5 * 24, 80)), unit="h"))
START, END = pd.Timestamp("2024-03-08", tz=ZONE), pd.Timestamp("2024-03-13 01:00", tz=ZONE)


@pytest.fixture(scope="module")
def model() -> pt.IntensityModel:
    return pt.IntensityModel(average=False).fit(TIMES, window=(START, END))


def test_the_window_counts_real_time(model: pt.IntensityModel) -> None:
    assert model.posterior_.window.measure == pytest.approx(5.0)


def test_a_rate_comes_back_on_the_index_that_was_asked(model: pt.IntensityModel) -> None:
    asked = pd.date_range(START, periods=6, freq="18h", name="when")
    frame = model.rate(asked).to_frame()
    assert frame.index is asked or (frame.index.equals(asked) and frame.index.name == "when")
    assert frame.index.dtype == asked.dtype and list(frame.columns) == ["mean", "sd", "q0.05", "q0.5", "q0.95"]
    in_utc = model.rate(asked.tz_convert("UTC")).to_frame()
    assert str(in_utc.index.tz) == "UTC" and (in_utc["mean"].to_numpy() == frame["mean"].to_numpy()).all()
    # Without a zone, dates are meant in that of the events; those of NumPy are UTC.
    for local in (asked.tz_localize(None), [str(date) for date in asked.tz_localize(None)], list(asked.tz_localize(None).to_pydatetime())):
        assert (model.rate(local).mean == frame["mean"].to_numpy()).all()
    assert (model.rate(asked.tz_convert("UTC").tz_localize(None).to_numpy()).mean == frame["mean"].to_numpy()).all()


def test_windows_and_regions_are_meant_in_the_zone_of_the_events() -> None:
    days = pd.date_range("2024-03-01 00:30", "2024-03-31 23:30", freq="11h", tz="Asia/Tokyo")
    model = pt.IntensityModel(average=False).fit(days, window=("2024-03-01", "2024-04-01"))
    assert model.posterior_.window.measure == pytest.approx(31.0)
    explicit = pt.IntensityModel(average=False).fit(days, window=(pd.Timestamp("2024-03-01", tz="Asia/Tokyo"), pd.Timestamp("2024-04-01", tz="Asia/Tokyo")))
    assert without_command(explicit.to_json()) == without_command(model.to_json())
    local, aware = ("2024-03-05", "2024-03-06"), tuple(pd.Timestamp(day, tz="Asia/Tokyo") for day in ("2024-03-05", "2024-03-06"))
    assert model.count(local).mean[0] == model.count(aware).mean[0]
    again = pt.Posterior.from_json(model.to_json())
    assert again.time_zone == "Asia/Tokyo" and again.count(local).mean[0] == model.count(aware).mean[0]
    assert model.count(every=pd.Timedelta("1D")).to_frame().index[0].left == pd.Timestamp("2024-03-01", tz="Asia/Tokyo")


def test_months_are_those_of_the_zone() -> None:
    days = pd.date_range("2024-01-01", "2024-12-31", freq="5D", tz="Asia/Tokyo")
    model = pt.IntensityModel(average=False).fit(days, window=("2024-01-01", "2025-01-01"))
    months = model.count(pd.date_range("2024-01-01", "2025-01-01", freq="MS"))
    assert len(months) == 12 and months.mean.sum() == pytest.approx(model.count().mean[0], rel=1e-6)
    with pytest.raises(pt.SettingError, match="freq='MS'"):
        model.count(every="1month")
    utc = pt.IntensityModel(average=False).fit(days.tz_convert("UTC"), window=("2023-12-31", "2025-01-01"))
    assert len(utc.count(every="1month")) == 13


def test_a_date_that_a_zone_has_twice_is_refused() -> None:
    days = pd.date_range("2024-10-20", periods=40, freq="9h", tz="Europe/Berlin")
    model = pt.IntensityModel(average=False).fit(days, window=("2024-10-20", "2024-11-10"))
    with pytest.raises(pt.InputError, match="time zone"):
        model.rate(["2024-10-27T02:30"])
    with pytest.raises(pt.WindowError, match="time zone"):
        model.count(("2024-10-27T02:30", "2024-10-28"))


def test_rows_keep_their_labels(model: pt.IntensityModel) -> None:
    asked = pd.Series(TIMES[:4], index=list("abcd"))
    frame = model.rate(asked).to_frame()
    column = frame.columns[0]
    assert list(frame.index) == list("abcd") and str(frame[column].dt.tz) == ZONE
    # To the microsecond, after the way through days since an origin.
    assert (abs(frame[column] - asked) <= pd.Timedelta(1, "us")).all()
    table = pd.DataFrame({"when": TIMES[:4].tz_convert("Asia/Tokyo")}, index=[5, 6, 7, 8])
    frame = model.rate(table).to_frame()
    assert list(frame.index) == [5, 6, 7, 8] and str(frame[column].dt.tz) == "Asia/Tokyo"


def test_a_default_grid_has_the_zone_of_the_events(model: pt.IntensityModel) -> None:
    frame = model.rate().to_frame()
    times = frame.iloc[:, 0]
    assert str(times.dt.tz) == ZONE and abs(times.iloc[0] - START) <= pd.Timedelta(1, "us") and abs(times.iloc[-1] - END) <= pd.Timedelta(1, "us")


def test_counts_come_back_on_intervals_of_the_zone(model: pt.IntensityModel) -> None:
    edges = pd.date_range(START, periods=5, freq="D")
    frame = model.count(edges).to_frame(quantiles=[0.1, 0.9])
    assert isinstance(frame.index, pd.IntervalIndex) and frame.index.closed == "left"
    assert frame.index.left.equals(edges[:-1]) and frame.index.right.equals(edges[1:]) and str(frame.index.left.tz) == ZONE
    # The day on which clocks go forward has 23 hours.
    hours = (frame.index.right - frame.index.left) / pd.Timedelta(1, "h")
    assert list(hours) == [24, 24, 23, 24]
    intervals = pd.interval_range(START, periods=3, freq="D")
    assert model.count(intervals).to_frame().index.equals(intervals)
    assert model.count(intervals).mean == pytest.approx(frame["mean"].to_numpy()[:3], rel=1e-9)


def test_counts_of_periods_and_of_every_day(model: pt.IntensityModel) -> None:
    days = pd.period_range("2024-03-09", periods=3, freq="D")
    frame = model.count(days).to_frame()
    assert frame.index.equals(days)
    local = pd.date_range("2024-03-09", periods=4, freq="D", tz=ZONE)
    assert frame["mean"].to_numpy() == pytest.approx(model.count(local).mean, rel=1e-9)
    frame = model.count(every="1d").to_frame()
    assert isinstance(frame.index, pd.IntervalIndex) and len(frame) == 5 and str(frame.index.left.tz) == ZONE
    assert frame["mean"].sum() == pytest.approx(model.count().mean[0], rel=1e-9)


def test_named_regions_keep_their_names(model: pt.IntensityModel) -> None:
    frame = model.count({"night": (START, START + pd.Timedelta("6h"))}).to_frame()
    assert list(frame["region"]) == ["night"]


def test_a_zone_outlives_a_pickle(model: pt.IntensityModel) -> None:
    import pickle

    again = pickle.loads(pickle.dumps(model))
    assert str(again.rate().to_frame().iloc[:, 0].dt.tz) == ZONE


def unzoned(model: pt.IntensityModel) -> dict[str, object]:
    return {**json.loads(model.to_json()), "time_zone": None, "checksum": None}


def test_zones_do_not_change_a_fit(model: pt.IntensityModel) -> None:
    in_tokyo = pt.IntensityModel(average=False).fit(TIMES.tz_convert("Asia/Tokyo"), window=(START, END))
    assert unzoned(in_tokyo) == unzoned(model)
    by_unit = pt.IntensityModel(average=False).fit(TIMES.as_unit("us"), window=(START, END))
    assert by_unit.to_json() == model.to_json()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (pd.DatetimeIndex(["2024-03-09", pd.NaT]), "dropna"),
        (pd.Series([], dtype="datetime64[ns, UTC]"), None),
        (pd.timedelta_range("1h", periods=3), "durations"),
    ],
)
def test_bad_dates_are_refused(model: pt.IntensityModel, asked: object, words: str | None) -> None:
    if words is None:
        assert len(model.rate(asked)) == 0
        return
    with pytest.raises(pt.InputError, match=words):
        model.rate(asked)
