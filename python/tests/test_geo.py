"""Points, windows and regions on a map: their coordinate reference system is checked, and comes back."""

from __future__ import annotations

import json

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import shapely

import pointillist as pt

from test_same_as_command import without_command

METRES = "EPSG:32637"
RNG = np.random.default_rng(1)
TRIANGLE = shapely.Polygon([(0, 0), (1000, 0), (0, 1000)])
XY = RNG.uniform(0, 1000, (150, 2))
XY = XY[XY.sum(axis=1) < 990]
POINTS = gpd.GeoSeries(gpd.points_from_xy(XY[:, 0], XY[:, 1]), crs=METRES)
BORDER = gpd.GeoSeries([TRIANGLE], crs=METRES)


@pytest.fixture(scope="module")
def model() -> pt.IntensityModel:
    return pt.IntensityModel(average=False, nodes=(8, 8)).fit(POINTS, window=BORDER)


def test_frames_and_arrays_are_the_same_events(model: pt.IntensityModel) -> None:
    plain = pt.IntensityModel(average=False, nodes=(8, 8)).fit(XY, window=pt.Window(TRIANGLE), names=["x", "y"])
    frame = pt.IntensityModel(average=False, nodes=(8, 8)).fit(gpd.GeoDataFrame({"a": range(len(XY))}, geometry=POINTS), window=BORDER.to_frame("geometry"))
    assert without_command(model.to_json()) == without_command(frame.to_json()) and json.loads(model.to_json())["crs"] == METRES
    unplaced = [{**json.loads(one.to_json()), "crs": None, "command": None, "checksum": None} for one in (plain, model)]
    assert unplaced[0] == unplaced[1]
    assert plain.posterior_.crs is None and model.posterior_.crs == METRES and model.posterior_.window.crs == METRES


def test_another_crs_is_refused_everywhere(model: pt.IntensityModel) -> None:
    degrees = POINTS.to_crs(4326)
    asks: list[Any] = [
        lambda: pt.IntensityModel().fit(degrees, window=BORDER),
        lambda: pt.KernelSmoother().fit(degrees, window=BORDER),
        lambda: pt.as_events(degrees, window=pt.Window(TRIANGLE, crs=METRES)),
        lambda: pt.Summary.of(degrees, window=BORDER),
        lambda: model.rate(degrees),
        lambda: model.count(BORDER.to_crs(4326)),
        lambda: model.score(degrees),
        lambda: model.posterior_.score(degrees),
        lambda: pt.KernelSmoother().fit(POINTS, window=BORDER).score(degrees),
        lambda: pt.KernelSmoother().fit(POINTS, window=BORDER).rate(degrees),
    ]
    for ask in asks:
        with pytest.raises(pt.WindowError, match=r"EPSG:4326 .*EPSG:32637 .*\.to_crs"):
            ask()
    with pytest.raises(pt.WindowError, match="not known to pyproj"):
        pt.as_events(POINTS, window=pt.Window(TRIANGLE, crs="somewhere"))


def test_one_crs_has_many_names() -> None:
    for crs in ("EPSG:32637", "epsg:32637", 32637, POINTS.crs, POINTS.crs.to_wkt()):
        assert len(pt.as_events(POINTS, window=pt.Window(TRIANGLE, crs=crs))) == len(POINTS)


def test_counts_over_a_frame_are_a_frame(model: pt.IntensityModel) -> None:
    regions = gpd.GeoDataFrame({"name": ["low", "left"]}, geometry=[shapely.box(500, 0, 700, 200), shapely.box(0, 300, 300, 600)], index=[7, 9], crs=METRES)
    counts = model.count(regions)
    frame = counts.to_frame()
    assert isinstance(frame, gpd.GeoDataFrame) and frame.crs == METRES and list(frame.index) == [7, 9]
    assert frame.geometry.geom_equals(regions.geometry).all() and (frame["mean"].to_numpy() == counts.mean).all()
    assert list(frame["name"]) == ["low", "left"] and (frame["q0.05"] < frame["mean"]).all()
    assert model.count(regions.reset_index(drop=True)).names == ["low", "left"]
    assert counts.mean[1] == pytest.approx(model.count(shapely.box(0, 300, 300, 600)).mean[0], rel=1e-9)


def test_rates_at_points_are_a_frame(model: pt.IntensityModel) -> None:
    asked = POINTS[3:6]
    frame = model.rate(asked).to_frame()
    assert isinstance(frame, gpd.GeoDataFrame) and frame.crs == METRES and list(frame.index) == [3, 4, 5]
    assert (frame.geometry == asked).all() and list(frame.columns) == ["mean", "sd", "q0.05", "q0.5", "q0.95", "geometry"]
    plain = model.rate(XY[3:6])
    assert not isinstance(plain.to_frame(), gpd.GeoDataFrame)
    placed = plain.to_geodataframe()
    assert placed.crs == METRES and (placed.geometry.x.to_numpy() == XY[3:6, 0]).all() and (placed["mean"].to_numpy() == frame["mean"].to_numpy()).all()


def test_a_raster_lies_where_the_grid_lies(model: pt.IntensityModel, tmp_path: Path) -> None:
    grid = model.posterior_.window.grid(11, 21)
    rate = model.rate(grid, quantiles=[0.5])
    raster = rate.to_raster(tmp_path / "rate.tif")
    assert raster.rio.crs == METRES and raster.attrs["long_name"] == ("mean", "sd", "q0.5")
    with rasterio.open(tmp_path / "rate.tif") as file:
        assert file.crs == METRES and file.count == 3 and (file.width, file.height) == (11, 21) and file.descriptions[1] == "sd"
        inside = model.posterior_.window.contains(grid)
        values = np.array(list(file.sample(grid, indexes=1)))[:, 0]
        assert values[inside] == pytest.approx(rate.mean[inside], rel=1e-12) and np.isnan(values[~inside]).all() and (~inside).any()
    assert np.isfinite(rate.to_raster(mask=False)).all()


def test_no_raster_of_what_is_no_grid(model: pt.IntensityModel) -> None:
    uneven = np.array([[x, y] for x in (1.0, 2.0, 4.0) for y in (1.0, 2.0)])
    for points, words in [(XY, "no grid"), (uneven, "unequal steps")]:
        with pytest.raises(pt.InputError, match=words):
            model.rate(points).to_raster()
    with pytest.raises(pt.InputError, match="two axes"):
        pt.IntensityModel(average=False).fit([1.0, 2.0, 2.5], window=(0, 5)).rate().to_raster()


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (gpd.GeoSeries([TRIANGLE], crs=METRES), "give points"),
        (gpd.GeoSeries([None, shapely.Point(1, 1)], crs=METRES), "row 0"),
        (gpd.GeoSeries([shapely.Point(), shapely.Point(1, 1)], crs=METRES), "row 0"),
        (gpd.GeoDataFrame({"a": [1]}), "geometry"),
        (gpd.GeoSeries([], crs=METRES), "no events"),
    ],
)
def test_bad_geometries_are_refused(events: Any, words: str) -> None:
    with pytest.raises(pt.InputError, match=words):
        pt.IntensityModel().fit(events, window=BORDER)


def test_bad_regions_are_refused(model: pt.IntensityModel) -> None:
    for regions in (gpd.GeoSeries([None], crs=METRES), gpd.GeoSeries([shapely.Point(1, 1)], crs=METRES), gpd.GeoSeries([shapely.Polygon()], crs=METRES)):
        with pytest.raises(pt.PointillistError):
            model.count(regions)


def test_a_map_that_a_file_names_stays_with_the_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    at = rng.uniform([400_000, 300_000], [410_000, 308_000], (60, 2)).round(2)
    features = [{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": row}} for row in at.tolist()]
    document = {"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::27700"}}, "features": features}
    (tmp_path / "sites.geojson").write_text(json.dumps(document))
    window = "400000,410000,300000,308000"
    model = pt.IntensityModel(nodes=(8, 8), average=False)
    post = model.fit(pt.read_events(tmp_path / "sites.geojson", window=window)).posterior_
    assert post.crs == "EPSG:27700" and json.loads(post.to_json())["crs"] == "EPSG:27700" and "EPSG:27700" in post.to_html(cells=10)
    (tmp_path / "sites.csv").write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in at.tolist()))
    named = model.fit(pt.read_events(tmp_path / "sites.csv", window=window, crs="EPSG:27700")).posterior_
    assert named.crs == "EPSG:27700" and named.rate(at[:3]).mean.tolist() == post.rate(at[:3]).mean.tolist()
    with pytest.raises(pt.InputError, match="sites.geojson is in EPSG:27700, and the other coordinates are in EPSG:2154"):
        pt.read_events(tmp_path / "sites.geojson", window=window, crs="EPSG:2154")
    with pytest.raises(pt.PointillistError, match="crs='EPSG:4326': these are degrees on the globe; say so with geography='sphere'"):
        pt.read_events(tmp_path / "sites.csv", window=window, crs="EPSG:4326")
