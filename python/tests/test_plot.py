"""Plots say what the posterior says, with units and dates; pictures of notebooks are whole and escape what they are told."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

import pointillist as pt
from pointillist import _plot

TRIANGLE = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [0, 4], [0, 0]]]}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.PointillistWarning)
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def coal() -> pt.Posterior:
    return fitted(pt.datasets.load("coal"))


@pytest.fixture(scope="module")
def triangle() -> pt.Posterior:
    points = np.random.default_rng(0).beta(1, 3, (80, 2)) * 2
    return fitted(points, window=pt.Window(TRIANGLE, names=["east", "north"], units="km"), nodes=(12, 12))


@pytest.fixture(scope="module")
def calibration() -> dict[str, Any]:
    return pt.calibrate(sets=20, events=15)


def fitted(data: Any, nodes: Any = None, **how: Any) -> pt.Posterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.PointillistWarning)
        found: pt.Posterior = pt.IntensityModel(average=False, nodes=nodes).fit(data, **how).posterior_
    return found


def labels(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


# Curves


def test_a_curve_is_the_mean_between_its_bands(coal: pt.Posterior) -> None:
    ax = coal.plot(points=50)
    assert ax.get_xlabel() == "year" and ax.get_ylabel() == "events per year"
    assert labels(ax) == ["mean", "90 % band", "50 % band", "191 events"]
    x, y = ax.lines[0].get_data()
    assert (y == coal.rate(np.asarray(x), quantiles=[]).mean).all() and len(x) == 50
    wide, narrow = (band.get_paths()[0].get_extents() for band in ax.collections[:2])
    ends = coal.quantile(np.asarray(x), [0.05, 0.25, 0.75, 0.95])
    assert (wide.y0, wide.y1) == pytest.approx((ends[0].min(), ends[3].max()))
    assert (narrow.y0, narrow.y1) == pytest.approx((ends[1].min(), ends[2].max()))
    assert ax.get_ylim()[0] == 0 and ax.get_xlim() == pytest.approx(coal.window.bounds[0])
    rug = ax.lines[1].get_xdata()
    assert coal.events is not None and (np.sort(rug) == np.sort(coal.events[:, 0])).all()


def test_axes_are_given_back_and_shared(coal: pt.Posterior) -> None:
    _, given = plt.subplots()
    assert coal.plot(ax=given, events=False) is given and labels(given) == ["mean", "90 % band", "50 % band"]
    top = given.get_ylim()[1]
    half = fitted(pt.datasets.load("coal").points[::4], window=coal.window)
    half.plot(ax=given, color="black", label="a quarter", events=False)
    assert given.get_ylim()[1] >= top and "a quarter" in labels(given)
    assert pt.IntensityModel(average=False).fit(pt.datasets.load("coal")).plot(ax=given) is given


def test_each_thing_that_is_shown(coal: pt.Posterior) -> None:
    x = np.linspace(*coal.window.bounds[0], 40)
    for show, level, expected, label in [
        ("sd", None, coal.rate(x).sd, "standard deviation (events per year)"),
        ("quantile", 0.9, coal.quantile(x, 0.9), "90 % quantile (events per year)"),
        ("quantile", None, coal.quantile(x, 0.95), "95 % quantile (events per year)"),
        ("exceed", 1.5, coal.exceedance(x, 1.5), "P(rate > 1.5 events per year)"),
        ("exceed", None, coal.exceedance(x, 191 / coal.window.measure), "P(rate > 1.72 events per year)"),
    ]:
        ax = coal.plot(show=show, level=level, points=40)
        assert (ax.lines[0].get_ydata() == expected).all() and ax.get_ylabel() == label
    assert ax.get_ylim() == (0, 1)


def test_gaps_are_gaps() -> None:
    post = fitted([0.1, 0.2, 0.7, 2.2, 2.3, 2.9], window=pt.Window(0, 1) | pt.Window(2, 3))
    ax = post.plot(points=40)
    pieces = [np.asarray(line.get_xdata()) for line in ax.lines if len(np.asarray(line.get_xdata())) == 20]
    assert [(piece.min(), piece.max()) for piece in pieces] == [(0, 1), (2, 3)]
    assert ax.get_xlabel() == "x" and ax.get_ylabel() == "events per unit of x"
    assert [patch.get_extents().width > 0 for patch in ax.patches] == [True]


def test_dates_stand_on_an_axis_of_time() -> None:
    dates = pd.Series(pd.date_range("2024-03-01", periods=30, freq="7h", tz="Europe/Berlin"), name="when")
    post = fitted(dates, window=("2024-02-29", "2024-03-11"))
    ax = post.plot(points=30)
    assert ax.get_xlabel() == "when (Europe/Berlin)" and isinstance(ax.xaxis.get_major_formatter(), mdates.ConciseDateFormatter)
    lo, hi = (mdates.num2date(end, tz="Europe/Berlin").replace(tzinfo=None) for end in ax.get_xlim())
    assert str(lo)[:10] == "2024-02-29" and str(hi)[:10] == "2024-03-11"
    first = mdates.num2date(ax.lines[1].get_xdata(orig=False)[0])
    assert abs(first - dates[0].to_pydatetime()).total_seconds() < 1
    bars = post.plot_counts(every="2d", draws=100)
    assert bars.get_xlabel() == "when (Europe/Berlin)" and bars.patches[0].get_width() == pytest.approx(2.0)
    assert post.plot_counts(pd.date_range("2024-03-01", periods=4, freq="D"), draws=100).patches[0].get_width() == pytest.approx(1.0)
    tweets = fitted(pt.datasets.load("tweets"), nodes=100)
    assert tweets.plot(points=20).get_xlabel() == "time (UTC)"
    tweets.plot(points=20).figure.canvas.draw()


def test_trials_stand_in_rows() -> None:
    trials = [np.array([0.1, 0.2]), np.array([]), np.array([0.5]), np.array([])]
    post = fitted(trials, window=(0, 1), names="t", units="seconds")
    ax = post.plot(points=20)
    raster = next(other for other in ax.figure.axes if other is not ax)
    for rows in (raster, post.plot_raster()):
        segments = rows.collections[0].get_segments()
        assert [float(one[:, 1].mean()) for one in segments] == [1.0, 1.0, 3.0] and rows.get_ylim() == (4.5, 0.5)
        assert [float(one[0, 0]) for one in segments] == [0.1, 0.2, 0.5]
    assert rows.get_xlabel() == "t (seconds)" and ax.get_ylabel() == "events per second and trial" and raster.get_xlim() == (0, 1)


# Maps


def bar_of(ax: Axes) -> Axes:
    """The axes of the colour bar, which lies inside the figure with all of its words."""
    bar: Axes = ax.child_axes[0]
    ax.figure.canvas.draw()
    words, page = bar.get_tightbbox(), ax.figure.bbox
    assert words is not None and words.x1 <= page.x1 + 1 and words.y0 >= page.y0 - 1
    return bar


def test_colour_bars_find_room() -> None:
    wide = fitted(np.random.default_rng(0).uniform(0, 1, (40, 2)) * [3, 1], window=[(0, 3), (0, 1)], nodes=(8, 8))
    assert bar_of(wide.plot(points=10)).get_ylabel().startswith("events per unit area")
    _, ax = plt.subplots()
    assert wide.plot(ax=ax, points=10) is ax and len(ax.figure.axes) == 2

def test_a_map_is_cut_off_at_its_border(triangle: pt.Posterior) -> None:
    ax = triangle.plot(points=20)
    mesh = ax.collections[0]
    values = np.ma.filled(np.ma.asarray(mesh.get_array()), np.nan)
    centres = np.linspace(0, 4, 41)[1::2]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(centres, centres)], axis=1)
    inside = triangle.window.contains(grid)
    assert values.ravel()[inside] == pytest.approx(triangle.rate(grid[inside], quantiles=[]).mean, rel=1e-12)
    assert np.isnan(values[-1, -1]) and mesh.get_clip_path() is not None
    assert ax.get_aspect() == 1.0 and (ax.get_xlabel(), ax.get_ylabel()) == ("east (km)", "north (km)")
    assert len(np.asarray(ax.collections[1].get_offsets())) == 80
    assert bar_of(ax).get_ylabel().startswith("events per km²")
    plain = triangle.plot(points=10, colorbar=False, events=False)
    assert len(plain.figure.axes) == 1 and not plain.child_axes and len(plain.collections) == 1
    ax.figure.canvas.draw()


def test_maps_of_uncertainty(triangle: pt.Posterior) -> None:
    for show, level, words in [
        ("sd", None, "standard deviation (events per km²)"),
        ("quantile", 0.9, "90 % quantile (events per km²)"),
        ("exceed", 5, "P(rate > 5 events per km²)"),
    ]:
        ax = triangle.plot(show=show, level=level, points=10)
        assert bar_of(ax).get_ylabel().startswith(words)
    assert ax.collections[0].get_clim() == (0, 1)


def test_degrees_are_as_long_as_they_are() -> None:
    points = np.random.default_rng(0).uniform([10, 58], [12, 62], (30, 2))
    post = fitted(points, window=pt.Window([(10, 12), (58, 62)], names=["lon", "lat"], units="degrees"), nodes=(8, 8))
    assert post.plot(points=8).get_aspect() == pytest.approx(2.0)
    units = pt.Window([(0, 1), (0, 50)], names=["depth", "age"], units={"depth": "km", "age": "years"})
    assert fitted(points / [12, 2], window=units, nodes=(8, 8)).plot(points=8).get_aspect() == "auto"


def test_rates_over_orders_of_magnitude_have_logarithmic_colours() -> None:
    values = np.exp(np.linspace(-12, 5, 100))
    norm, root, beyond = _plot._norm(values, "mean")
    assert isinstance(norm, LogNorm) and not root and beyond == "min" and norm.vmax == pytest.approx(np.exp(5))
    norm, root, _ = _plot._norm(np.linspace(0, 1, 100) ** 5, "mean")
    assert root and norm(0.25) == pytest.approx(0.5)
    norm, root, _ = _plot._norm(np.linspace(1, 2, 100), "mean")
    assert not root and (norm.vmin, norm.vmax) == (1, 2)


def test_a_third_axis_is_cut() -> None:
    rng = np.random.default_rng(0)
    window = pt.Window([(0, 1), (0, 1), (0, 10)], names=["x", "y", "t"], units={"x": "km", "y": "km", "t": "days"})
    post = fitted(rng.uniform([0, 0, 0], [1, 1, 10], (40, 3)), window=window, nodes=(6, 6, 6))
    ax = post.plot(points=6, at=2.0)
    assert ax.get_title() == "t (days): 2"
    values = np.asarray(ax.collections[0].get_array())
    assert values[0, 0] == pytest.approx(post.rate([[1 / 12, 1 / 12, 2.0]], quantiles=[]).mean[0], rel=1e-12)
    assert post.plot(points=6).get_title() == "t (days): 5"
    with pytest.raises(pt.SettingError, match="outside the window"):
        post.plot(at=11)


# Counts and calibration


def test_counts_are_bars_with_intervals(coal: pt.Posterior) -> None:
    counts = coal.count([1860, 1880, 1890], draws=500)
    ax = counts.plot()
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(1860, 20), (1880, 10)]
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(list(counts.mean))
    wide, narrow = (np.array([one[:, 1] for one in lines.get_segments()]) for lines in ax.collections)
    assert wide.T == pytest.approx(counts.quantiles([0.05, 0.95])) and narrow.T == pytest.approx(counts.quantiles([0.25, 0.75]))
    assert ax.get_xlabel() == "year" and ax.get_ylabel().startswith("expected events")
    new = counts.plot(new=True)
    assert np.array([one[:, 1] for one in new.collections[0].get_segments()]).T == pytest.approx(counts.new_quantiles([0.05, 0.95]))
    named = coal.plot_counts({"early": (1860, 1880), "late $x$": (1930, 1950)}, draws=200)
    assert [text.get_text() for text in named.get_yticklabels()] == ["early", r"late \$x\$"]
    assert [bar.get_width() for bar in named.patches] == pytest.approx(list(coal.count([(1860, 1880), (1930, 1950)], draws=200).mean))
    overlapping = coal.plot_counts([(1860, 1880), (1870, 1890)], draws=200)
    assert len(overlapping.get_yticklabels()) == 2


def test_calibration_is_drawn(calibration: dict[str, Any]) -> None:
    axes = pt.plot_calibration(calibration)
    assert len(axes) == len(calibration["quantities"]) + 1
    first = calibration["quantities"][0]
    bars = [patch for patch in axes[0].patches if patch.get_width() < 0.1]
    assert [bar.get_height() for bar in bars] == first["histogram"]
    assert labels(axes[-1]) == [quantity["name"] for quantity in calibration["quantities"]]
    held = axes[-1].containers[0].lines[0].get_ydata()
    assert list(held) == pytest.approx([100 * one["value"] for one in first["coverage"]])
    _, given = plt.subplots()
    assert pt.plot_calibration(calibration, given, show="ranks", of="counts") is given
    assert given.get_title().startswith("counts, p = ") and pt.plot_calibration(calibration, show="coverage").get_ylabel() == "held the truth (%)"
    outside = {"quantities": [{**first, "histogram": [20] + [0] * 19}]}
    colours = {bar.get_facecolor() for bar in pt.plot_calibration(outside, show="ranks").patches if bar.get_width() < 0.1}
    assert len(colours) == 2


# What is refused


def test_bad_plots_are_refused(coal: pt.Posterior, triangle: pt.Posterior, calibration: dict[str, Any]) -> None:
    for ask, words in [
        (lambda: coal.plot(show="median"), "take one of mean, sd, quantile, exceed"),
        (lambda: coal.plot(level=0.5), "level= has no effect"),
        (lambda: coal.plot(show="quantile", level=2), "between 0 and 1"),
        (lambda: coal.plot(show="exceed", level=-1), "not negative"),
        (lambda: coal.plot(points=1), "points=1"),
        (lambda: coal.plot(at=1), "at= is the place on a third axis"),
        (lambda: coal.plot(ax=3), "plt.subplots"),
        (lambda: coal.plot_raster(), "no raster"),
        (lambda: triangle.plot_raster(), "no raster"),
        (lambda: pt.plot_calibration({}), "calibrate"),
        (lambda: pt.plot_calibration(calibration, show="all"), "ranks, coverage"),
        (lambda: pt.plot_calibration(calibration, show="ranks", of="weather"), "was not calibrated"),
    ]:
        with pytest.raises((pt.SettingError, pt.InputError), match=words):
            ask()
    with pytest.raises(pt.NotFittedError):
        pt.IntensityModel().plot()


def test_without_matplotlib_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import pointillist as pt
model = pt.IntensityModel(average=False).fit([1.0, 2.0, 4.0], window=(0, 5))
assert "<svg" in model._repr_html_()
try:
    model.plot()
except pt.MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'pointillist[plot]'" in done.stdout


# Notebooks


class Whole(HTMLParser):
    """Whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)


def parsed(html: str) -> Whole:
    whole = Whole()
    whole.feed(html)
    whole.close()
    assert not whole.open
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        assert "nan" not in svg and ET.fromstring(svg).tag.endswith("svg")
    return whole


def test_notebooks_show_small_pictures(coal: pt.Posterior, triangle: pt.Posterior) -> None:
    for post, words in [(coal, "1851.2 to 1962.22"), (triangle, "inside a border")]:
        html = post._repr_html_()
        assert "svg" in parsed(html).seen and words in html and len(html) < 30_000
    counts = coal.count({"a": (1860, 1880), "b": (1900, 1910)}, draws=200)
    for thing in (coal.rate(), counts, pt.contrast(counts[0], counts[1]), coal.window, triangle.window, pt.Window(0, 3, repeats=4)):
        assert "table" in parsed(thing._repr_html_()).seen
    assert "200 rows in all" in coal.rate()._repr_html_()
    assert "svg" in parsed(triangle.window._repr_html_()).seen


def test_models_show_settings_and_what_they_found() -> None:
    model = pt.IntensityModel(link="log", average=False)
    assert "link=&#x27;log&#x27;" in model._repr_html_() and "svg" not in parsed(model._repr_html_()).seen
    assert "svg" in parsed(model.fit([1.0, 2.0, 4.0], window=(0, 5))._repr_html_()).seen
    assert "KernelSmoother" in pt.KernelSmoother().fit([1.0, 2.0, 4.0], window=(0, 5))._repr_html_()


def test_names_are_escaped() -> None:
    evil = "<script>alert('x')</script>"
    post = fitted([1.0, 2.0, 4.0], window=(0, 5), names=[evil], units="<b>", source=evil)
    counts = post.count({evil: (0, 2), "<i>": (2, 4)}, draws=100)
    for thing in (post, post.rate(), counts, post.window):
        html = thing._repr_html_()
        assert not parsed(html).seen & {"script", "b", "i"} and "&lt;script&gt;" in html


def test_other_windows_have_pictures() -> None:
    boxes = fitted([[0.5, 0.5], [2.5, 0.2], [2.2, 0.7]], window=pt.Window([(0, 1), (0, 1)]) | pt.Window([(2, 3), (0, 1)]), nodes=(8, 8))
    assert "svg" in parsed(boxes._repr_html_()).seen and boxes.plot(points=12).collections[0].get_clip_path() is not None
    three = fitted(np.random.default_rng(0).uniform(0, 1, (20, 3)), window=[(0, 1)] * 3, nodes=(4, 4, 4))
    assert "table" in parsed(three._repr_html_()).seen
    dated = fitted(pt.datasets.load("tweets"), nodes=60)._repr_html_()
    assert "time (UTC) 2016-02-23 17:00 to 2016-03-08 17:00" in dated
