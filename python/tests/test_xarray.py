"""Grids of xarray, draws for ArviZ, spike trains of Neo and pynapple."""

from __future__ import annotations

import json
from typing import Any

import arviz as az
import neo
import numpy as np
import pandas as pd
import pynapple as nap
import pytest
import quantities as pq
import xarray as xr

import pointillist as pt

from test_same_as_command import without_command

RNG = np.random.default_rng(2)
PLACES = RNG.uniform(0, 1, (80, 2)) * [4, 2]


@pytest.fixture(scope="module")
def plane() -> pt.IntensityModel:
    window = pt.Window([(0, 4), (0, 2)], names=["east", "north"], units="km", crs="EPSG:32637")
    return pt.IntensityModel(average=False, nodes=(6, 6)).fit(PLACES, window=window)


def test_a_grid_has_its_axes_and_units(plane: pt.IntensityModel, tmp_path: Any) -> None:
    grid = plane.posterior_.window.grid(5, 3)
    rate = plane.rate(grid, quantiles=[0.1, 0.9])
    data = rate.to_xarray()
    assert data["mean"].dims == ("east", "north") and data["quantiles"].dims == ("quantile", "east", "north")
    assert data["mean"].attrs["units"] == plane.rate_unit and data["east"].attrs["units"] == "km"
    for row, (x, y) in enumerate(grid):
        here = data.sel(east=x, north=y)
        assert float(here["mean"]) == rate.mean[row] and float(here["quantiles"].sel(quantile=0.9)) == rate.quantile(0.9)[row]
    import rioxarray  # noqa: F401

    assert data.rio.crs.to_epsg() == 32637
    shuffled = plane.rate(grid[RNG.permutation(len(grid))], quantiles=[0.1, 0.9]).to_xarray()
    xr.testing.assert_allclose(shuffled, data, rtol=1e-12)


def test_points_that_are_no_grid_stay_points(plane: pt.IntensityModel) -> None:
    rate = plane.rate(PLACES[:5])
    data = rate.to_xarray()
    assert data.sizes == {"point": 5, "quantile": 3} and (data["east"].to_numpy() == PLACES[:5, 0]).all() and (data["sd"].to_numpy() == rate.sd).all()
    # As many as a grid of their lines would have, and no grid.
    twice = plane.rate(np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 0.5], [2.0, 0.5]])).to_xarray()
    assert twice["mean"].dims == ("point",)


def test_dates_are_coordinates() -> None:
    days = pd.date_range("2024-03-01", periods=30, freq="D", tz="Europe/Zurich")
    data = pt.IntensityModel(average=False).fit(days, window=("2024-02-29", "2024-04-01")).rate(days, quantiles=[]).to_xarray()
    (axis,) = data["mean"].dims
    assert (data[axis].to_numpy() == days.tz_convert("UTC").tz_localize(None).to_numpy()).all() and data[axis].attrs["time_zone"] == "UTC"
    assert "quantiles" not in data
    assert xr.Dataset.from_dict(data.to_dict()).equals(data)


def test_draws_go_to_arviz(plane: pt.IntensityModel) -> None:
    draws = plane.to_arviz(PLACES[:4], draws=200, seed=5)
    rate = draws["posterior"]["rate"]
    assert (np.asarray(rate)[0] == plane.sample(PLACES[:4], 200, seed=5)).all() and rate.dims == ("chain", "draw", "point")
    assert (np.asarray(draws["constant_data"]["north"]) == PLACES[:4, 1]).all() and draws["observed_data"]["events"].shape == (80, 2)
    assert draws["posterior"].attrs.get("inference_library", draws.attrs.get("inference_library")) == "pointillist"
    table = az.summary(draws, round_to="none")
    assert table["mean"].to_numpy().astype(float) == pytest.approx(plane.sample(PLACES[:4], 200, seed=5).mean(0), rel=1e-9)
    counts = plane.count({"a": [(0, 1), (0, 1)], "b": [(1, 2), (0, 1)]}, draws=100)
    found = counts.to_arviz()["posterior"]["count"]
    assert list(found["region"].to_numpy()) == ["a", "b"] and (np.asarray(found)[0].T == counts.draws).all()


SPIKES = [np.sort(RNG.uniform(0, 2, size)) for size in (9, 0, 14, 7)]


def fitted(data: Any, **how: Any) -> pt.IntensityModel:
    return pt.IntensityModel(average=False).fit(data, **how)


@pytest.fixture(scope="module")
def by_arrays() -> pt.IntensityModel:
    return fitted(SPIKES, window=(0, 2), names="time", units="seconds")


def test_trains_of_neo_bring_their_units_and_times(by_arrays: pt.IntensityModel) -> None:
    trains = [neo.SpikeTrain(times * 1000 * pq.ms, t_start=0 * pq.s, t_stop=2 * pq.s) for times in SPIKES]
    model = fitted(trains)
    assert model.posterior_.events[:, 0] == pytest.approx(np.concatenate(SPIKES), rel=1e-12)
    assert model.posterior_.window == by_arrays.posterior_.window and model.posterior_.window.measure == 8.0
    in_seconds = [train.rescale("s").magnitude for train in trains]
    plain = fitted(in_seconds, window=(0, 2), names="time", units="seconds")
    assert without_command(model.to_json()) == without_command(plain.to_json())
    assert model.score(trains) == model.score(in_seconds)
    assert fitted(trains[0]).posterior_.window.measure == 2.0
    segment = neo.Segment()
    segment.spiketrains.extend(trains)
    assert fitted(segment.spiketrains).to_json() == model.to_json()
    assert fitted(trains, window=(0, 4)).posterior_.window.measure == 16.0


def test_trains_of_different_times_are_trials_of_their_own() -> None:
    trains = [neo.SpikeTrain([0.2, 0.9] * pq.s, t_stop=1 * pq.s), neo.SpikeTrain([0.1, 1.5, 2.5] * pq.s, t_stop=3 * pq.s)]
    assert fitted(trains).posterior_.window.measure == pytest.approx(4.0)


def test_series_of_pynapple(by_arrays: pt.IntensityModel) -> None:
    epoch = nap.IntervalSet(0, 2)
    trains = [nap.Ts(times, time_support=epoch) for times in SPIKES]
    group = nap.TsGroup(dict(enumerate(trains)), time_support=epoch)
    assert fitted(trains).posterior_.window == by_arrays.posterior_.window
    assert fitted(group).rate([1.0]).mean == pytest.approx(by_arrays.rate([1.0]).mean, rel=1e-12)
    two = nap.Ts(np.array([0.1, 0.5, 3.2, 3.9]), time_support=nap.IntervalSet([0, 3], [1, 4]))
    assert fitted(two).posterior_.window.measure == pytest.approx(2.0)
    with pytest.warns(pt.PointillistWarning, match="window= was given"):
        fitted(nap.Ts(SPIKES[0]))
    neurons = pt.fit_many(group[[0, 2]], pt.IntensityModel(average=False))
    assert list(neurons) == [0, 2] and neurons[2].event_count == 14 and neurons[2].window.measure == pytest.approx(2.0)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, plane: pt.IntensityModel) -> None:
    import sys

    rate = plane.rate(PLACES[:2])
    for name, extra, ask in [
        ("xarray", "xarray", rate.to_xarray),
        ("geopandas", "geo", rate.to_geodataframe),
        ("rioxarray", "raster", rate.to_raster),
        ("arviz", "arviz", lambda: plane.to_arviz(PLACES[:2])),
        ("pandas", "pandas", rate.to_frame),
    ]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(pt.MissingDependencyError, match=rf"{name}, which is not installed; install it with `pip install 'pointillist\[{extra}\]'`"):
                ask()
    assert json.loads(plane.to_json())
