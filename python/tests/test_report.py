"""The page to share, in a real browser: what it shows is what `rate` and `exceedance` say."""

from __future__ import annotations

import html
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pointillist as pt

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield running
        running.close()


class Page:
    """A page in the browser, and what went wrong on it."""

    def __init__(self, browser: Any, path: Any, *, width: int = 1200, scheme: str = "light") -> None:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        # Nothing may be asked of a network.
        self.asked: list[str] = []
        context.route("http*://**", lambda route: (self.asked.append(route.request.url), route.abort()))
        self.page = context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]", timeout=20_000)

    def point_at(self, across: float, down: float) -> str:
        box = self.page.locator("#picture canvas").first.bounding_box()
        self.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
        return str(self.page.locator(".values").inner_text())

    def pixels(self) -> bytes:
        """The picture as it is on the screen."""
        return bytes(self.page.locator("#picture canvas").first.screenshot())

    def is_clean(self) -> None:
        assert self.faults == [] and self.asked == []


def numbers(text: str, words: str) -> list[float]:
    """The numbers that stand for # in words."""
    found = re.search(words.replace("#", NUMBER), text)
    assert found, text
    return [float(value) for value in found.groups()]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("report") / "coal.html"
    model = pt.IntensityModel().fit(pt.datasets.load("coal"))
    model.to_html(path)
    return model, path


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("report") / "map.html"
    rng = np.random.default_rng(1)
    events = np.concatenate([rng.uniform(0, 10, (150, 2)), rng.normal([3, 6], 0.7, (150, 2))])
    model = pt.IntensityModel().fit(events, window=[(-1, 11), (-1, 11)])
    model.to_html(path, title="Two <kinds> & more")
    return model, path


def test_a_page_says_how_its_model_was_made(tmp_path: Any) -> None:
    def made_with(post: Any) -> str:
        found = re.search("<h2>Made with</h2>\n<pre><code>(.*)</code></pre>", post.to_html(cells=10))
        assert found is not None
        return html.unescape(found.group(1))

    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 10, 40))
    model = pt.IntensityModel(average=False, nodes=24, threads=1)
    call = "IntensityModel(average=False, nodes=24).fit(events, window=(0, 10), names='t', units={'t': 'days'})"
    post = model.fit(times, window=(0, 10), names="t", units={"t": "days"}).posterior_
    assert made_with(post) == call
    # Data are not written out, nor where an object happens to lie; what made a model stays with it.
    effort = pt.Exposure.grid([0, 5, 10], [1.0, 2.0, 1.0])
    own = model.fit(times, window=pt.Window(0, 10, names="t"), exposure=effort).posterior_
    assert made_with(own) == "IntensityModel(average=False, nodes=24).fit(events, window=<Window 0,10>, exposure=<Exposure on a grid of 3>)"
    post.save(tmp_path / "model.json")
    assert made_with(pt.Posterior.load(tmp_path / "model.json")) == call == made_with(pickle.loads(pickle.dumps(post)))
    summed = pt.VBPP(8).fit(pt.Summary.of(times, window=(0, 10))).posterior_
    assert made_with(summed) == "VBPP(inducing=8).fit(summary)"
    assert made_with(summed.update([3.0, 4.0])) == "VBPP(inducing=8).fit(summary).update(events)"
    at = np.linspace(0, 10, 13)
    placed = pt.IntensityModel(inducing=at[:, None], basis="inducing", average=False).fit(times, window=(0, np.float64(10))).posterior_
    assert made_with(placed) == "IntensityModel(average=False, basis='inducing', inducing=<ndarray of 13 × 1>).fit(events, window=(0, 10.0))"
    frame = pd.DataFrame({"t": times, "kind": ["a", "b"] * 20})
    types = pt.IntensityModel(nodes=16).fit_types(frame, "kind", window=(0, 10))
    assert "IntensityModel(nodes=16).fit_types(events, 'kind', window=(0, 10))" in types.to_json()


def test_hover_on_a_line_shows_what_rate_says(browser: Any, line: Any) -> None:
    model, path = line
    shown = Page(browser, path)
    for across in (0.2, 0.5, 0.9):
        text = shown.point_at(across, 0.4)
        year, mean, sd, low, high = numbers(text, "year #: mean #, sd #, 50 % .*90 % from # to # events per year")
        found, quantiles = model.rate([year]), model.quantile([year], [0.05, 0.95])
        assert mean == pytest.approx(found.mean[0], rel=1e-3) and sd == pytest.approx(found.sd[0], rel=2e-3)
        assert [low, high] == pytest.approx(np.ravel(quantiles).tolist(), rel=2e-3)
    shown.is_clean()


def test_a_line_is_zoomed_by_mouse_and_keys(browser: Any, line: Any) -> None:
    shown = Page(browser, line[1])
    before = shown.pixels()
    shown.page.get_by_label("Zoom in").click()
    closer = shown.pixels()
    assert closer != before
    shown.page.get_by_label("Show all").click()
    assert shown.pixels() == before
    canvas = shown.page.locator("#picture canvas").first
    canvas.focus()
    shown.page.keyboard.press("Home")
    first = shown.page.locator(".values").inner_text()
    shown.page.keyboard.press("ArrowRight")
    second = shown.page.locator(".values").inner_text()
    [a], [b] = numbers(first, "year #:"), numbers(second, "year #:")
    assert 1851 < a < b < 1855
    shown.page.keyboard.press("+")
    assert shown.pixels() != before
    box = canvas.bounding_box()
    shown.page.keyboard.press("0")
    shown.page.mouse.move(box["x"] + 300, box["y"] + 100)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 500, box["y"] + 120)
    shown.page.mouse.up()
    assert shown.pixels() != before
    # Rescaled times, counts in bins, pairs.
    assert [shown.page.locator(f"#residuals #{name} canvas").count() for name in ("qq", "bins", "pairs")] == [1, 1, 1]
    shown.is_clean()


def test_layers_and_threshold_of_a_map(browser: Any, plane: Any) -> None:
    model, path = plane
    shown = Page(browser, path)
    assert shown.page.locator("h1").inner_text() == "Two <kinds> & more"
    text = shown.point_at(0.6, 0.7)
    x, y, mean, sd, median = numbers(text, "x #, y #: mean #, sd #, median #,")
    found = model.rate([[x, y]])
    assert mean == pytest.approx(found.mean[0], rel=1e-3) and sd == pytest.approx(found.sd[0], rel=2e-3)
    assert median == pytest.approx(np.ravel(model.quantile([[x, y]], [0.5]))[0], rel=2e-3)
    seen = {"mean": shown.pixels()}
    for layer in ("sd", "q05", "q50", "q95", "exceed"):
        shown.page.select_option("#layer", layer)
        seen[layer] = shown.pixels()
    assert len(set(seen.values())) == 6
    chances = []
    for step in ("0", "9", "14"):
        shown.page.locator("#threshold").fill(step)
        text = shown.point_at(0.6, 0.7)
        threshold, chance = numbers(text, "more than #: #")
        assert chance == pytest.approx(model.exceedance([[x, y]], threshold)[0], abs=0.003)
        chances.append(chance)
        assert f"{threshold:g} " in shown.page.locator("output").first.inner_text()
    assert chances[0] >= chances[1] >= chances[2] and chances[0] > chances[2]
    shown.page.locator("#events").uncheck()
    assert shown.pixels() != seen["exceed"]
    shown.is_clean()


def test_anomalies_are_marked_listed_and_can_be_hidden(browser: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    # A burst that a smooth rate cannot follow.
    times = np.sort(np.concatenate([rng.uniform(0, 100, 300), rng.uniform(40, 41, 40)]))
    model = pt.IntensityModel(average=False, link="log", smoothness=4, fix={"lengthscale": 60}).fit(times, window=[(0, 100)])
    path = tmp_path / "burst.html"
    model.to_html(path)
    shown = Page(browser, path)
    rows = shown.page.locator("#outside tbody tr")
    assert rows.count() >= 1
    where, seen, _, band, p = rows.first.locator("td").all_inner_texts()
    lo, hi = numbers(where, "# to #")
    assert lo <= 41 and hi >= 40 and seen.startswith("▲") and float(p) < 0.001
    assert int(seen[1:]) == int(((times >= lo) & (times < hi)).sum()) > int(band.split(" to ")[1])
    marked = shown.pixels()
    shown.page.locator("#anomalies").focus()
    shown.page.keyboard.press("Space")
    hidden = shown.pixels()
    assert hidden != marked
    # A row leads to its place, by keys as well, and shows the marks again.
    rows.first.locator("button").focus()
    shown.page.keyboard.press("Enter")
    assert shown.page.locator("#anomalies").is_checked() and shown.pixels() != hidden
    assert f"anomaly: {int(seen[1:])} seen" in shown.page.locator(".values").inner_text()
    shown.is_clean()


def test_a_map_over_time_has_a_slider(browser: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    late = np.column_stack([rng.normal(8, 0.5, (80, 2)), rng.uniform(5, 10, 80)])
    events = np.concatenate([rng.uniform(0, 10, (80, 3)), late])
    model = pt.IntensityModel(average=False).fit(events, window=[(-1, 11), (-1, 11), (0, 10)])
    path = tmp_path / "time.html"
    model.to_html(path, cells=40)
    shown = Page(browser, path)
    means = []
    for slice_ in ("0", "15"):
        shown.page.locator("#time").fill(slice_)
        text = shown.point_at(0.55, 0.28)
        x, y, t, mean = numbers(text, "# *, [^:]*?# *, [^:]*?#[^:]*: mean #")
        assert mean == pytest.approx(model.rate([[x, y, t]]).mean[0], rel=1e-3)
        means.append((t, mean))
    assert means[0][0] < means[1][0] and means[0][1] != means[1][1]
    shown.is_clean()


def test_each_trial_has_a_row_of_its_events(browser: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(4)
    # The second of ten trials has no events, the last as many as three others.
    trials = [np.sort(rng.uniform(0, 2, n)) for n in (30, 0, *[30] * 7, 90)]
    model = pt.IntensityModel(average=False).fit(trials, window=(0, 2))
    path = tmp_path / "trials.html"
    model.to_html(path)
    shown = Page(browser, path)
    # Ten rows of five pixels below the axis; how many pixels of each are ink.
    ink = shown.page.evaluate(
        """() => { const canvas = document.querySelector("#picture canvas"), wide = canvas.width, line = 4 * wide;
        const all = canvas.getContext("2d").getImageData(0, canvas.height - 52, wide, 50).data;
        return [...Array(10).keys()].map(row => all.slice(5 * row * line, (5 * row + 4) * line).filter((v, i) => i % 4 === 3 && v > 60).length); }"""
    )
    assert ink[1] == 0 and min(ink[:1] + ink[2:]) > 30 and ink[9] > 1.5 * max(ink[:9]), ink
    assert "events per unit of x and trial" in shown.point_at(0.5, 0.3)
    shown.is_clean()


def test_hover_on_the_globe_is_in_degrees(browser: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(5)
    events = np.concatenate([rng.uniform([7, 46], [9, 48], (80, 2)), rng.normal([8.5, 46.5], 0.1, (80, 2))])
    model = pt.IntensityModel(average=False).fit(events, window=[(7, 9), (46, 48)], names=["lon", "lat"])
    path = tmp_path / "globe.html"
    model.to_html(path, cells=60)
    shown = Page(browser, path)
    for across, down in ((0.3, 0.4), (0.5, 0.6)):
        lon, lat, mean = numbers(shown.point_at(across, down), "lon # degrees, lat # degrees: mean #")
        assert 7 < lon < 9 and 46 < lat < 48
        assert mean == pytest.approx(model.rate([[lon, lat]]).mean[0], rel=1e-3)
    assert "events per km²" in shown.page.locator(".values").inner_text()
    shown.is_clean()


def test_dates_are_those_of_the_local_clocks(browser: Any, tmp_path: Any) -> None:
    pd = pytest.importorskip("pandas")
    zone = "Europe/Lisbon"
    # Clocks go forward on 29 March; UTC is an hour behind then.
    times = pd.Series(pd.Timestamp("2026-03-24", tz="UTC") + pd.to_timedelta(np.sort(np.random.default_rng(2).uniform(0, 11.5, 240)), unit="D"), name="time")
    model = pt.IntensityModel(average=False).fit(times, window=("2026-03-24", "2026-04-05"), time_zone=zone)
    path = tmp_path / "local.html"
    model.to_html(path)
    shown = Page(browser, path)
    for across in (0.2, 0.9):
        text = shown.point_at(across, 0.4)
        found = re.search(r"time (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d): mean ([\d.]+)", text)
        assert found, text
        at = pd.Series([pd.Timestamp(found.group(1), tz=zone)])
        assert float(found.group(2)) == pytest.approx(model.rate(at).mean[0], rel=1e-3)
    assert "date (Europe/Lisbon)" in path.read_text(encoding="utf-8")
    shown.is_clean()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_need_no_scrolling_sideways(browser: Any, line: Any, plane: Any, scheme: str) -> None:
    for _, path in (line, plane):
        shown = Page(browser, path, width=375, scheme=scheme)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 375
        paper = shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        shown.page.locator("#theme").click()
        assert shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != paper
        shown.is_clean()


def test_every_control_can_be_reached_by_keys(browser: Any, plane: Any) -> None:
    shown = Page(browser, plane[1])
    reached = []
    for _ in range(16):
        shown.page.keyboard.press("Tab")
        reached.append(shown.page.evaluate("document.activeElement.id || document.activeElement.tagName + ' ' + (document.activeElement.getAttribute('aria-label') || '')"))
    assert {"theme", "layer", "events", "log"} <= set(reached)
    assert any(one.startswith("CANVAS") for one in reached) and "BUTTON Zoom in" in reached


def test_a_page_is_small_and_says_what_the_fit_said(line: Any, plane: Any) -> None:
    for model, path in (line, plane):
        text = path.read_text(encoding="utf-8")
        assert os.path.getsize(path) < 2_000_000 and "http://" not in text and "https://" not in text and "src=" not in text
        for name in ("range", "sd of f", "prior", "fit"):
            assert f'<th scope="row">{name}</th>' in text, name
    assert "191 events" in line[1].read_text(encoding="utf-8")


def test_bad_pages_are_refused(line: Any, tmp_path: Any) -> None:
    model, _ = line
    with pytest.raises(pt.InputError, match="must end in .html"):
        model.to_html(tmp_path / "page.pdf")
    with pytest.raises(pt.PointillistError, match="cells"):
        model.to_html(cells=5)
    with pytest.raises(pt.InputError, match="at most 400"):
        model.to_html(cells=500)
    assert list(tmp_path.iterdir()) == []
