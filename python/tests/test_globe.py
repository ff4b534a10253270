"""Degrees on the globe: areas are km², places are degrees, and every number is the command's to the last bit."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import shapely

import pointillist as pt
from test_same_as_command import columns, fitted, without_words

Command = Callable[..., str]
RNG = np.random.default_rng(7)
#: Some hundred places in Switzerland, written as people write them.
DEGREES = np.round(np.stack([RNG.uniform(8.0, 9.0, 200), 47.0 + 0.95 * RNG.beta(2, 3, 200)], axis=1), 5)
FRAME = pd.DataFrame(DEGREES, columns=["lon", "lat"])
POINTS = gpd.GeoDataFrame({"size": range(200)}, geometry=gpd.points_from_xy(*DEGREES.T), crs=4326)
BOX = [(8, 9), (47, 48)]
HOW: dict[str, Any] = {"nodes": (10, 10), "smoothness": 2, "link": "log", "average": False}
OPTIONS = ["--nodes", "10x10", "--smoothness", "2", "--link", "log", "--average", "off"]


def zone(south: float, north: float, width: float) -> float:
    """The area of a box of degrees on the WGS84 ellipsoid, by the closed form of a cap."""
    polar, e = 6356.752314245179, 0.0818191908426215

    def cap(latitude: float) -> float:
        s = np.sin(np.deg2rad(latitude))
        return float(polar**2 / 2 * (s / (1 - (e * s) ** 2) + np.log((1 + e * s) / (1 - e * s)) / (2 * e)))

    return float(np.deg2rad(width)) * (cap(north) - cap(south))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.PointillistWarning)
        yield


@pytest.fixture(scope="module")
def model() -> pt.IntensityModel:
    return pt.IntensityModel(**HOW).fit(FRAME, window=BOX)


def written(folder: Path, header: str = "lon,lat", rows: Any = DEGREES) -> Path:
    (folder / "places.csv").write_text(header + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in np.asarray(rows).tolist()))
    return folder / "places.csv"


def test_every_way_to_give_degrees_is_the_command(command: Command, tmp_path: Path, model: pt.IntensityModel) -> None:
    theirs = without_words(fitted(command, tmp_path, written(tmp_path), "--window", "8,9,47,48", *OPTIONS))
    assert theirs["summary"]["mean_rate"]["unit"] == "events per km²"
    fit: Any = pt.IntensityModel(**HOW).fit
    ways = [
        model,
        fit(POINTS, window=BOX),
        fit(POINTS.geometry, window=pt.Window(BOX, crs="EPSG:4326")),
        fit(POINTS, window=gpd.GeoSeries([shapely.box(8, 47, 9, 48)], crs=4326).total_bounds[[0, 2, 1, 3]].tolist()),
        fit(DEGREES, window=pt.Window(BOX, crs=4326), names=["lon", "lat"]),
        fit(DEGREES, window=BOX, names=["lon", "lat"]),
        fit(DEGREES, window=BOX, names=["lon", "lat"], geography="sphere"),
        fit(pt.read_events(tmp_path / "places.csv", window="8,9,47,48")),
        fit(pickle.loads(pickle.dumps(pt.as_events(FRAME, BOX)))),
    ]
    for one in ways:
        assert without_words(one.to_json()) == theirs
        assert str(one.posterior_.crs) == "EPSG:4326" and one.rate_unit == "events per km²"
    # By other names it is the same but for these.
    other = fit(FRAME.set_axis(["Longitude", "latitude"], axis=1), window=BOX)
    assert other.posterior_.window.axis_names == ["Longitude", "latitude"]
    assert (other.rate(DEGREES[:5]).mean == model.rate(DEGREES[:5]).mean).all()


def test_latitudes_may_come_first(command: Command, tmp_path: Path, model: pt.IntensityModel) -> None:
    table = written(tmp_path, "lat,lon", DEGREES[:, ::-1])
    border = {"type": "Polygon", "coordinates": [[[8, 47], [9, 47], [8.7, 48], [8, 48], [8, 47]]]}
    (tmp_path / "border.geojson").write_text(json.dumps(border))
    theirs = without_words(fitted(command, tmp_path, table, "--window", tmp_path / "border.geojson", "--clip", *OPTIONS))
    turned = pt.IntensityModel(**HOW).fit(FRAME[["lat", "lon"]], window=border, clip=True)
    assert without_words(turned.to_json()) == theirs
    # Frames are known by their names, and points on maps are east first.
    asked = turned.rate(DEGREES[:4, ::-1])
    for places in (FRAME[:4], FRAME[:4].set_axis(["LONGITUDE", "Lat"], axis=1), POINTS[:4], POINTS.geometry[:4]):
        assert (turned.rate(places).mean == asked.mean).all()
    assert asked.to_geodataframe().geometry.x.tolist() == DEGREES[:4, 0].tolist()
    grid = turned.rate(turned.posterior_.window.grid(5, 6), quantiles=[])
    raster = grid.to_raster(mask=False)
    assert raster.shape == (2, 5, 6) and raster.y[0] == 48 and raster.x[0] == 8
    assert float(raster.sel(x=8, y=47, band=1)) == pytest.approx(float(turned.rate([[47.0, 8.0]]).mean[0]), rel=1e-9)
    ring = turned.posterior_.window.__geo_interface__["coordinates"][0]
    assert min(x for x, _ in ring) == 8 and max(y for _, y in ring) == 48
    assert turned.plot().get_xlabel().startswith("lat")


def test_totals(model: pt.IntensityModel) -> None:
    area = zone(47, 48, 1)
    window = model.posterior_.window
    assert window.measure == pytest.approx(area, rel=1e-12) and window.bounds == [(8.0, 9.0), (47.0, 48.0)]
    whole = model.count()
    assert whole.mean[0] == pytest.approx(200, rel=0.02)
    assert model.summary["mean_rate"]["value"] * area == pytest.approx(200, rel=1e-9)
    # Parts in degrees, however they are given, add up to the whole.
    parts: list[Any] = [
        gpd.GeoDataFrame({"name": ["a", "b"]}, geometry=[shapely.box(8, 47, 8.4, 48), shapely.box(8.4, 47, 9, 48)], crs=4326),
        [pt.Window([(8, 9), (47, 47.3)]), pt.Window([(8, 9), (47.3, 48)], crs="EPSG:4326")],
        {"one": shapely.Polygon([(8, 47), (9, 47), (9, 48)]), "other": shapely.Polygon([(8, 47), (9, 48), (8, 48)])},
        ["8,8.5,47,48", "8.5,9,47,48"],
    ]
    for regions in parts:
        counts = model.count(regions)
        assert counts.mean.sum() == pytest.approx(whole.mean[0], rel=1e-5), regions
        assert sum(seen or 0 for seen in counts.seen) == 200
    frame = model.count(parts[0]).to_frame()
    assert isinstance(frame, gpd.GeoDataFrame) and frame.crs == 4326
    assert model.count(parts[0]).boxes[0] == [(8.0, 8.4), (47.0, 48.0)]
    # The mean over a grid of cells, each times its own area on the ellipsoid.
    lon, lat = (np.arange(60) + 0.5) / 60 + 8, (np.arange(60) + 0.5) / 60 + 47
    rate = model.rate(np.stack(np.meshgrid(lon, lat, indexing="ij"), axis=-1).reshape(-1, 2), quantiles=[])
    cells = np.tile([zone(47 + i / 60, 47 + (i + 1) / 60, 1 / 60) for i in range(60)], 60)
    assert float(rate.mean @ cells) == pytest.approx(whole.mean[0], rel=2e-3)


def test_answers_are_the_commands(command: Command, tmp_path: Path, model: pt.IntensityModel) -> None:
    fitted(command, tmp_path, written(tmp_path), "--window", "8,9,47,48", *OPTIONS)
    theirs = columns(command("predict", tmp_path / "model.json", "--at", tmp_path / "places.csv"))
    rate = model.rate(FRAME)
    assert (theirs["mean"] == rate.mean).all() and (theirs["sd"] == rate.sd).all() and (theirs["q0.95"] == rate.quantile(0.95)).all()
    assert (theirs["lon"] == rate.points[:, 0]).all() and (rate.to_frame()["lat"] == FRAME["lat"]).all()
    halves = [shapely.box(8, 47, 8.5, 48), shapely.Polygon([(8.5, 47), (9, 47.2), (9, 48)])]
    (tmp_path / "halves.geojson").write_text(gpd.GeoDataFrame({"name": ["w", "e"]}, geometry=halves, crs=4326).to_json())
    said = json.loads(command("count", tmp_path / "model.json", "--in", tmp_path / "halves.geojson", "--draws", 500, "--json"))["regions"]
    ours = model.count(gpd.GeoSeries(halves, crs=4326), draws=500)
    assert [(one["mean"], one["sd"], one["quantiles"]["0.05"]) for one in said] == list(zip(ours.mean, ours.sd, ours.quantiles([0.05])[0]))
    assert [[tuple(ends) for ends in one["region"]] for one in said] == ours.boxes
    drawn = columns(command("sample", tmp_path / "model.json", "--events", "--seed", 3))
    assert np.array_equal(np.stack([drawn["lon"], drawn["lat"]], axis=1), model.sample_events(seed=3)[0])
    scores = json.loads(command("score", tmp_path / "model.json", tmp_path / "places.csv", "--json"))
    assert model.posterior_.score(FRAME)["l_p"] == scores["l_p"]
    assert model.posterior_.score(pt.read_events(tmp_path / "places.csv", window="8,9,47,48"))["l_p"] == scores["l_p"]
    smooth = pt.KernelSmoother().fit(FRAME, window=BOX)
    assert 1.0 < smooth.bandwidth_.min() and smooth.expected(shapely.box(8, 47, 9, 48)) == pytest.approx(smooth.expected(), rel=1e-6)


def test_exposure_and_inducing_points_are_degrees(command: Command, tmp_path: Path) -> None:
    table = written(tmp_path)
    (tmp_path / "people.csv").write_text("lon,lat,people\n8,47,1\n8,48,3\n9,47,2\n9,48,1\n")
    theirs = fitted(command, tmp_path, table, "--window", "8,9,47,48", "--exposure", tmp_path / "people.csv", *OPTIONS)
    people = pt.Exposure.grid([8, 9], [47, 48], [[1, 3], [2, 1]])
    assert without_words(pt.IntensityModel(**HOW).fit(FRAME, window=BOX, exposure=people).to_json()) == without_words(theirs)
    (tmp_path / "weights.csv").write_text("lon,lat,weight\n8.2,47.2,1\n8.7,47.8,3\n8.4,47.4,2\n")
    theirs = fitted(command, tmp_path, table, "--window", "8,9,47,48", "--exposure", tmp_path / "weights.csv", *OPTIONS)
    weights = pt.Exposure.weights([[8.2, 47.2], [8.7, 47.8], [8.4, 47.4]], [1, 3, 2])
    assert without_words(pt.IntensityModel(**HOW).fit(FRAME, window=BOX, exposure=weights).to_json()) == without_words(theirs)
    (tmp_path / "z.csv").write_text("lon,lat\n" + "".join(f"{x},{y}\n" for x in (8.1, 8.5, 8.9) for y in (47.1, 47.5, 47.9)))
    theirs = fitted(command, tmp_path, table, "--window", "8,9,47,48", "--inducing", tmp_path / "z.csv", "--average", "off")
    places = np.array([[x, y] for x in (8.1, 8.5, 8.9) for y in (47.1, 47.5, 47.9)])
    assert without_words(pt.IntensityModel(inducing=places, average=False).fit(FRAME, window=BOX).to_json()) == without_words(theirs)


def test_files_go_both_ways(command: Command, tmp_path: Path, model: pt.IntensityModel) -> None:
    fitted(command, tmp_path, written(tmp_path), "--window", "8,9,47,48", *OPTIONS)
    opened = pt.Posterior.load(tmp_path / "model.json")
    assert opened.crs == "EPSG:4326" and opened.rate_unit == "events per km²" and opened.window.bounds == [(8.0, 9.0), (47.0, 48.0)]
    assert opened.events is not None and (opened.events == DEGREES).all()
    assert (opened.rate(POINTS[:9]).mean == model.rate(POINTS[:9]).mean).all()
    opened.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    model.save(tmp_path / "ours.json")
    asked = ["--at", tmp_path / "places.csv"]
    assert command("predict", tmp_path / "ours.json", *asked) == command("predict", tmp_path / "model.json", *asked)
    pickled = pickle.loads(pickle.dumps(model.posterior_))
    assert pickled.to_json() == model.to_json() and pickled.crs == model.posterior_.crs
    assert pickled.check(draws=200)["goodness"] == model.posterior_.check(draws=200)["goodness"]
    # Summaries too.
    command("summarize", tmp_path / "places.csv", "--window", "8,9,47,48", "-o", tmp_path / "s.summary")
    theirs, ours = pt.Summary.load(tmp_path / "s.summary"), pt.Summary.of(POINTS, window=BOX, source="places.csv")
    assert theirs.to_bytes() == ours.to_bytes() and theirs.crs == "EPSG:4326"
    fit = pt.IntensityModel(**HOW).fit(theirs)
    assert fit.posterior_.window.measure == model.posterior_.window.measure and fit.count().mean[0] == pytest.approx(200, rel=0.02)
    more = fit.posterior_.update(FRAME[:50])
    assert more.event_count == 250 and more.crs == "EPSG:4326"


def test_answers_in_the_forms_of_other_packages(tmp_path: Path, model: pt.IntensityModel) -> None:
    grid = model.posterior_.window.grid(12, 15)
    assert np.unique(grid[:, 1]).tolist() == pytest.approx(np.linspace(47, 48, 15).tolist(), abs=1e-12) and model.posterior_.window.contains(grid).all()
    rate = model.rate(grid, quantiles=[0.5])
    data = rate.to_xarray()
    assert dict(data.sizes) == {"lon": 12, "lat": 15, "quantile": 1} and data["mean"].units == "events per km²"
    assert data["lon"].units == "degrees_east" and data["lat"].standard_name == "latitude" and "4326" in data["spatial_ref"].attrs["crs_wkt"]
    rate.to_raster(tmp_path / "rate.tif")
    with rasterio.open(tmp_path / "rate.tif") as file:
        assert file.crs == "EPSG:4326" and file.bounds.left < 8 < file.bounds.left + 0.1
        found = np.array(list(file.sample(grid, indexes=1)))[:, 0]
        assert found == pytest.approx(rate.mean, rel=1e-12)
    assert rate.to_geodataframe().crs == 4326
    assert model.rate().to_frame().lat.between(47, 48).all() and "inside" not in model.rate().to_frame()
    ax = model.plot()
    assert ax.get_xlabel() == "lon (degrees)" and ax.get_aspect() == pytest.approx(1 / np.cos(np.deg2rad(47.5)))
    assert (8, 9) == ax.get_xlim() and ax.collections[-1].get_offsets().min() > 7.9
    assert "km²" in model.show() and "km²" in model.to_html() and "km²" in model._repr_html_() + model.posterior_._repr_html_()


def test_simulations_know_the_globe() -> None:
    window = pt.Window(BOX, names=["lon", "lat"])
    sets = pt.simulate("0.02 + 0 * lat", window=window, draws=40)
    assert np.mean([len(one) for one in sets]) == pytest.approx(0.02 * zone(47, 48, 1), rel=0.05)
    assert all(((one >= [8, 47]) & (one <= [9, 48])).all() for one in sets)
    north = pt.simulate(lambda lon, lat: np.where(lat > 47.5, 0.05, 0.0), window=window, seed=2)
    assert len(north) == pytest.approx(0.05 * zone(47.5, 48, 1), abs=5 * (0.05 * zone(47.5, 48, 1)) ** 0.5) and north[:, 1].min() > 47.5


def test_time_beside_places(command: Command, tmp_path: Path) -> None:
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200) * 3600 * 10, unit="s")
    frame = FRAME.assign(when=when)
    frame.to_csv(tmp_path / "t.csv", index=False, date_format="%Y-%m-%dT%H:%M:%SZ")
    how = {"nodes": (5, 5, 5), "smoothness": 2, "link": "log", "average": False}
    window = "8,9,47,48,2024-01-01,2024-03-31"
    theirs = fitted(command, tmp_path, tmp_path / "t.csv", "--columns", "lon,lat,when", "--window", window, "--nodes", "5x5x5", *OPTIONS[2:])
    ours = pt.IntensityModel(**how).fit(frame, window=pt.Window("8", "9", "47", "48", "2024-01-01", "2024-03-31"))
    assert without_words(ours.to_json()) == without_words(theirs) and ours.rate_unit == "events per (km² · day)"


def test_projections_and_planes_stay_planes(model: pt.IntensityModel) -> None:
    metres = POINTS.to_crs(32632)
    plane = pt.IntensityModel(**HOW).fit(metres)
    assert plane.posterior_.window.core.globe is None and plane.posterior_.window.axis_names == ["x", "y"]
    flat = pt.IntensityModel(**HOW).fit(FRAME, window=BOX, geography="plane")
    assert flat.posterior_.window.measure == 1.0 and flat.posterior_.crs is None
    plain = pt.IntensityModel(**HOW).fit(DEGREES, window=BOX)
    assert plain.posterior_.window.measure == 1.0, "numbers without a name are a plane"
    kept = pt.IntensityModel(**HOW).fit(POINTS, window=BOX, geography="plane")
    assert kept.posterior_.window.measure == 1.0 and kept.posterior_.crs == 4326
    assert len(pt.as_events(POINTS, window=kept.posterior_.window)) == 200 and (kept.rate(POINTS[:3]).mean == flat.rate(FRAME[:3]).mean).all()


def test_what_would_mislead_is_refused(model: pt.IntensityModel) -> None:
    metres = POINTS.to_crs(32632)
    plane = pt.IntensityModel(**HOW).fit(metres.get_coordinates())
    flat = pt.IntensityModel(**HOW).fit(FRAME, window=BOX, geography="plane")
    fit: Any = pt.IntensityModel(**HOW).fit
    asks: list[tuple[Any, str]] = [
        (lambda: fit(metres, window=BOX, geography="sphere"), "EPSG:32632 .* is a projection"),
        (lambda: fit(POINTS, window=pt.Window(BOX, crs=32632)), "EPSG:4326 .*EPSG:32632"),
        (lambda: fit(FRAME, window=BOX, geography="globe"), "geography='globe' is not known; take one of sphere, plane"),
        (lambda: fit([1.0, 2.0], window=(0, 3), geography="sphere"), "geography='sphere' needs a longitude and a latitude"),
        (lambda: fit(FRAME, window=BOX, units="m"), "taken for degrees on the globe.*geography='plane'"),
        (lambda: fit(FRAME.assign(lat=FRAME.lat + 50)), "`lat` reaches 9.*no latitude"),
        (lambda: fit(FRAME[["lat", "lon"]].set_axis(["lon", "lat"], axis=1), window=BOX), "seem to be swapped"),
        (lambda: fit(pd.DataFrame({"lon": [179.5, -179.5, 178.0], "lat": [-17.0, -18.0, -16.0]})), "antimeridian.*geography='plane'"),
        (lambda: fit(FRAME, window=flat.posterior_.window, geography="sphere"), "fit with geography='plane'"),
        (lambda: model.rate(metres), "EPSG:32632 .*EPSG:4326"),
        (lambda: model.rate(metres.get_coordinates()), "the points reach .* on `lon`, which is no number of degrees"),
        (lambda: model.rate([[8.5, 97.0]]), "the points reach 97 on `lat`"),
        (lambda: model.count(gpd.GeoSeries([shapely.box(4e5, 5e6, 5e5, 6e6)], crs=32632)), "EPSG:32632 .*EPSG:4326"),
        (lambda: model.count(flat.posterior_.window), "in a plane and the other is on the globe"),
        (lambda: flat.count(model.posterior_.window), "on the globe and the other is in a plane"),
        (lambda: model.count(pt.Window(BOX, geography="plane")), "geography='plane' is given, and the window is that of a fit with geography='sphere'"),
        (lambda: plane.rate(POINTS), "the points are degrees on the globe, and the window is a plane"),
        (lambda: plane.count(gpd.GeoSeries([shapely.box(8, 47, 9, 48)], crs=4326)), "regions= are degrees on the globe"),
        (lambda: plane.score(POINTS), "the held-out events are degrees"),
        (lambda: flat.posterior_.score(pt.as_events(FRAME, BOX)), "on the globe and the other is in a plane"),
        (lambda: pt.IntensityModel().fit(pt.as_events(FRAME, BOX), geography="plane"), "geography= has no effect"),
        (lambda: pt.Summary.of(FRAME, window=BOX) + pt.Summary.of(FRAME, window=BOX, geography="plane"), "lon"),
    ]
    for number, (ask, words) in enumerate(asks):
        with pytest.raises(pt.PointillistError, match=words):
            ask()
            raise AssertionError(f"question {number} was answered")


def test_one_map_goes_onto_another(model: pt.IntensityModel) -> None:
    """Each window has a map of its own; what stands on one is asked of another by way of degrees."""
    part = pt.IntensityModel(**HOW).fit(FRAME[FRAME.lat < 47.5], window=[(8, 9), (47, 47.5)])
    assert model.count(part.posterior_.window).mean[0] == pytest.approx(model.count([(8, 9), (47, 47.5)]).mean[0], rel=1e-9)
    held_out = pt.as_events(FRAME[FRAME.lat < 47.5], [(8, 9), (47, 47.5)])
    expected = model.posterior_.log_likelihood(FRAME[FRAME.lat < 47.5]) + model.count().mean[0] - model.count([(8, 9), (47, 47.5)]).mean[0]
    assert model.posterior_.log_likelihood(held_out) == pytest.approx(expected, rel=1e-9)


def test_the_bundled_sets(command: Command, tmp_path: Path) -> None:
    kenya = pt.datasets.load("kenya")
    assert kenya.window.globe == (0, 1) and pt.datasets.border("kenya").core.rate_unit() == "events per km²"
    assert pt.datasets.border("kenya").measure == pytest.approx(5.8e5, rel=0.05), "km²"
