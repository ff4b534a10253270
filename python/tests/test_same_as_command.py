"""Results equal those of the command to the last bit: the same model files, byte for byte."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pointillist as pt

Command = Callable[..., str]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.PointillistWarning)
        yield


def without_words(text: str) -> dict[str, Any]:
    """A model file without what may differ: the words of warnings, the name of the source, the command, and the seal over them."""
    document: dict[str, Any] = json.loads(text)
    document["source"] = document["summary"]["warnings"] = document["checksum"] = None
    document.pop("command", None)  # of the command alone
    # The command shows dates in UTC, and knows of no other zone.
    document.pop("time_zone", None)
    return document


def without_command(text: str) -> str:
    """A model file as Python writes it: without the command that made it, and the seal that is over that too."""
    return re.sub(r'("command":"(?:[^"\\]|\\.)*",)?"checksum":"[0-9a-f]+"}$', "", text.rstrip())


def fitted(command: Command, folder: Path, *arguments: object) -> str:
    command("fit", *arguments, "-q", "-o", folder / "model.json")
    return (folder / "model.json").read_text()


def columns(text: str) -> dict[str, np.ndarray[Any, Any]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([float(row[name]) for row in rows if row[name]]) for name in rows[0] if not name.endswith("_iso") and name != "region"}


def test_the_default_fit_writes_the_same_bytes(command: Command, tmp_path: Path) -> None:
    theirs = fitted(command, tmp_path, "coal")
    ours = pt.IntensityModel().fit(pt.datasets.load("coal"))
    assert without_command(ours.to_json()) == without_command(theirs)
    ours.save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_text() == ours.to_json()
    again = pt.Posterior.load(tmp_path / "model.json")
    assert again.to_json() == theirs


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (["--basis", "inducing", "--prior", "none", "--average", "off", "--mean", "constant", "--inducing", "31"], pt.VBPP(inducing=31)),
        (["--basis", "inducing", "--prior", "none", "--average", "off", "--mean", "paper", "--inducing", "20"], pt.VBPP(20, mean="paper")),
        (["--nodes", "64", "--smoothness", "2", "--link", "log", "--average", "off"], pt.IntensityModel(nodes=64, smoothness=2, link="log", average=False)),
        (
            ["--kernel", "matern52", "--prior", "lengthscale ~ lognormal(3, 1)", "--inducing", "24", "--average", "off"],
            pt.IntensityModel(kernel="matern52", prior={"lengthscale": "lognormal(3, 1)"}, inducing=24, average=False),
        ),
        (["--fix", "lengthscale=12.5", "--average", "off", "--link", "square"], pt.IntensityModel(fix={"lengthscale": 12.5}, average=False, link="square")),
    ],
)
def test_settings_mean_the_same(command: Command, tmp_path: Path, options: list[str], model: pt.IntensityModel) -> None:
    theirs = fitted(command, tmp_path, "coal", *options)
    assert without_command(model.fit(pt.datasets.load("coal")).to_json()) == without_command(theirs)


def test_an_array_in_a_window_is_the_table(command: Command, tmp_path: Path) -> None:
    times = np.sort(np.random.default_rng(1).uniform(0, 10, 80))
    (tmp_path / "t.csv").write_text("\n".join(map(repr, times.tolist())) + "\n")
    theirs = fitted(command, tmp_path, tmp_path / "t.csv", "--window", "0,10")
    ours = pt.IntensityModel().fit(times, window=(0, 10))
    assert without_words(ours.to_json()) == without_words(theirs)


def test_a_polygon(command: Command, tmp_path: Path) -> None:
    triangle = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [0, 3], [0, 0]]]}
    (tmp_path / "border.geojson").write_text(json.dumps(triangle))
    points = np.random.default_rng(2).uniform(0, 1.2, (60, 2))
    text = "lon,lat\n" + "".join(f"{x!r},{y!r}\n" for x, y in points.tolist())
    (tmp_path / "p.csv").write_text(text)
    theirs = without_words(fitted(command, tmp_path, tmp_path / "p.csv", "--geography", "plane", "--window", tmp_path / "border.geojson", "--nodes", "12x12", "--average", "off"))
    model = pt.IntensityModel(nodes=(12, 12), average=False)
    shapely = pytest.importorskip("shapely")
    for border in (triangle, json.dumps(triangle), tmp_path / "border.geojson", shapely.Polygon([(0, 0), (4, 0), (0, 3)])):
        ours = model.fit(points, window=pt.Window(border, names=["lon", "lat"], geography="plane"))
        assert without_words(ours.to_json()) == theirs
    frame = pd.DataFrame(points, columns=["lon", "lat"])
    assert without_words(model.fit(frame, window=triangle, geography="plane").to_json()) == theirs


def test_trials(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    trials = [np.sort(rng.uniform(0, 2, size)) for size in (9, 14, 7, 11)]
    text = "t,trial\n" + "".join(f"{t!r},{number}\n" for number, one in enumerate(trials) for t in one.tolist())
    (tmp_path / "s.csv").write_text(text)
    theirs = fitted(command, tmp_path, tmp_path / "s.csv", "--columns", "t", "--window", "0,2", "--repeats", 4)
    ours = pt.IntensityModel().fit(trials, window=(0, 2), names=["t"])
    assert without_words(ours.to_json()) == without_words(theirs)
    assert ours.trials is not None and ours.trials.tolist() == np.repeat(range(4), [9, 14, 7, 11]).tolist()

    looks = [(0, 2), (0, 2), (0, 2.5), (-1, 2)]
    (tmp_path / "looks.csv").write_text("trial,start,end\n" + "".join(f"{n},{lo},{hi}\n" for n, (lo, hi) in enumerate(looks)))
    theirs = fitted(command, tmp_path, tmp_path / "s.csv", "--columns", "t", "--trials", tmp_path / "looks.csv", "--average", "off")
    ours = pt.IntensityModel(average=False).fit(trials, trials=looks, names=["t"])
    assert without_words(ours.to_json()) == without_words(theirs)


def test_exposure(command: Command, tmp_path: Path) -> None:
    times = np.random.default_rng(4).uniform(0, 10, 50)
    (tmp_path / "t.csv").write_text("t\n" + "".join(f"{t!r}\n" for t in times.tolist()))
    (tmp_path / "e.csv").write_text("t,effort\n0,1\n4,2.5\n10,0.5\n")
    theirs = fitted(command, tmp_path, tmp_path / "t.csv", "--window", "0,10", "--exposure", tmp_path / "e.csv", "--average", "off")
    effort = pt.Exposure.grid([0, 4, 10], [1, 2.5, 0.5])
    ours = pt.IntensityModel(average=False).fit(times, window=(0, 10), exposure=effort, names="t")
    assert without_words(ours.to_json()) == without_words(theirs)
    (tmp_path / "w.csv").write_text("t,weight\n1,1\n3,2.5\n8,0.5\n")
    theirs = fitted(command, tmp_path, tmp_path / "t.csv", "--window", "0,10", "--exposure", tmp_path / "w.csv", "--average", "off")
    weights = pt.Exposure.weights([1.0, 3.0, 8.0], [1, 2.5, 0.5])
    ours = pt.IntensityModel(average=False).fit(times, window=(0, 10), exposure=weights, names="t")
    assert without_words(ours.to_json()) == without_words(theirs)
    theirs = fitted(command, tmp_path, tmp_path / "t.csv", "--window", "0,10", "--exposure", tmp_path / "w.csv", "--unit", "exposure=person-years", "--average", "off")
    for how in ({"exposure": weights, "units": {"exposure": "person-years"}}, {"exposure": weights, "units": "exposure=person-years"}):
        ours = pt.IntensityModel(average=False).fit(times, window=(0, 10), names="t", **how)
        assert without_words(ours.to_json()) == without_words(theirs)
        assert ours.rate_unit == "events per person-year" == pt.Posterior.from_json(ours.to_json()).rate_unit
    with pytest.raises(pt.InputError, match="there is no exposure; give one with exposure="):
        pt.IntensityModel(average=False).fit(times, window=(0, 10), names="t", units={"exposure": "hours"})


def test_dates(command: Command, tmp_path: Path) -> None:
    seconds = np.sort(np.random.default_rng(5).integers(0, 40 * 86400, 70))
    index = pd.Timestamp("2016-02-23T05:00Z") + pd.to_timedelta(seconds, unit="s")
    (tmp_path / "d.csv").write_text("when\n" + "".join(f"{one.isoformat()}\n" for one in index))
    theirs = without_words(
        fitted(command, tmp_path, tmp_path / "d.csv", "--window", "2016-02-23,2016-04-05", "--time-unit", "hours", "--average", "off")
    )
    model = pt.IntensityModel(average=False, time_unit="hours")
    window = pt.Window("2016-02-23T00:00:00Z", "2016-04-05T00:00:00Z")
    series = pd.Series(index, name="when")
    berlin = series.dt.tz_convert("Europe/Berlin")
    naive = series.dt.tz_localize(None)
    frame = pd.DataFrame({"when": berlin, "what": "x"})
    for events in (series, berlin, naive, frame):
        assert without_words(model.fit(events, window=window).to_json()) == theirs
    raw = naive.to_numpy()
    assert without_words(model.fit(raw, window=window, names="when").to_json()) == theirs
    post = model.fit(series, window=window).posterior_
    zoned = model.fit(berlin, window=window).rate(berlin[:3]).to_frame()
    assert (zoned["when"] == berlin[:3]).all() and str(zoned["when"].dt.tz) == "Europe/Berlin"
    frame = post.rate(naive[:3]).to_frame()
    assert (frame["when"].dt.tz_localize(None) == naive[:3]).all()


def test_answers_are_the_same(command: Command, tmp_path: Path) -> None:
    fitted(command, tmp_path, "coal")
    model = tmp_path / "model.json"
    post = pt.load(model)
    table = columns(command("predict", model, "--grid", 40, "--quantiles", "0.1,0.5", "--exceed", 2))
    rate = post.rate(table["year"], quantiles=[0.1, 0.5])
    assert (rate.mean == table["mean"]).all() and (rate.sd == table["sd"]).all()
    assert (rate.quantiles[0] == table["q0.1"]).all() and (post.quantile(table["year"], 0.5) == table["q0.5"]).all()
    assert (post.exceedance(table["year"], 2.0) == table["p>2"]).all()

    said = json.loads(command("count", model, "--in", "1860,1880", "--in", "1900,1930.5", "--draws", 500, "--seed", 3, "--json"))
    counts = post.count([(1860, 1880), (1900, 1930.5)], draws=500, seed=3)
    for number, region in enumerate(said["regions"]):
        assert (counts.mean[number], counts.sd[number]) == (region["mean"], region["sd"])
        assert counts.quantiles([0.05])[0, number] == region["quantiles"]["0.05"]
        assert counts.new_quantiles([0.95])[0, number] == region["new_count"]["quantiles"]["0.95"]
    bins = json.loads(command("count", model, "--every", "20", "--draws", 100, "--json"))
    assert post.count(every=20, draws=100).mean.tolist() == [region["mean"] for region in bins["regions"]]

    said = json.loads(command("contrast", model, "--in", "1860,1880", "--in", "1900,1930.5", "--draws", 500, "--seed", 3, "--json"))
    found = pt.contrast(counts[0], counts[1])
    assert found.probability == said["probability"] and found.difference["sd"] == said["difference"]["sd"]
    assert found.ratio[0.05] == said["ratio"]["quantiles"]["0.05"]

    said = json.loads(command("score", model, "coal", "--draws", 400, "--json"))
    scores = post.score(pt.datasets.load("coal"), draws=400)
    assert {name: scores[name] for name in ("l_p", "l_0", "m_p", "m_0", "m_p_se")} == {name: said[name] for name in ("l_p", "l_0", "m_p", "m_0", "m_p_se")}

    drawn = columns(command("sample", model, "--grid", 7, "--draws", 3, "--seed", 9))
    assert (post.sample(drawn["year"], 3, seed=9) == np.array([drawn["draw1"], drawn["draw2"], drawn["draw3"]])).all()
    sets = columns(command("sample", model, "--events", "--draws", 2, "--seed", 9))
    assert np.concatenate(post.sample_events(2, seed=9)).tolist() == sets["year"].tolist()


def test_text_names_settings_as_python_does(command: Command, tmp_path: Path) -> None:
    fitted(command, tmp_path, "coal")
    assert pt.load(tmp_path / "model.json").show() == command("show", tmp_path / "model.json")


def test_summaries_go_both_ways(command: Command, tmp_path: Path) -> None:
    times = np.random.default_rng(6).uniform(0, 10, 3000)
    halves = [times[:1000], times[1000:]]
    for number, half in enumerate(halves):
        (tmp_path / f"{number}.csv").write_text("t\n" + "".join(f"{t!r}\n" for t in half.tolist()))
        command("summarize", tmp_path / f"{number}.csv", "--window", "0,10", "-q", "-o", tmp_path / f"{number}.sum")
    theirs = fitted(command, tmp_path, tmp_path / "0.sum", tmp_path / "1.sum", "--average", "off")
    model = pt.IntensityModel(average=False)
    ours = [pt.Summary.of(half, window=(0, 10), names="t") for half in halves]
    read = [pt.Summary.load(tmp_path / f"{number}.sum") for number in range(2)]
    assert without_cells(model.fit(read).to_json()) == without_cells(theirs)
    assert without_cells(model.fit(ours).to_json()) == without_cells(theirs)
    assert without_cells(model.fit(sum(ours)).to_json()) == without_cells(theirs)
    ours[0].save(tmp_path / "ours.sum")
    assert without_cells(fitted(command, tmp_path, tmp_path / "ours.sum", tmp_path / "1.sum", "--average", "off")) == without_cells(theirs)


def without_cells(text: str) -> dict[str, Any]:
    """Of a summary the names of the sources are among the cells."""
    return {**without_words(text), "cells": None}


def test_rivals(command: Command, tmp_path: Path) -> None:
    said = json.loads(command("smooth", "coal", "--json"))
    smoother = pt.KernelSmoother().fit(pt.datasets.load("coal"))
    assert (smoother.bandwidth_.tolist(), smoother.loo_) == (said["bandwidth"], said["loo"])
    said = json.loads(command("compare", "coal", "--methods", "ks+ec,homogeneous", "--splits", 3, "--json"))
    rows = pt.compare(pt.datasets.load("coal"), methods=["ks+ec", "homogeneous"], splits=3)
    for ours, theirs in zip(rows, said["methods"]):
        assert ours["name"] == theirs["name"] and ours["log_likelihood"] == pytest.approx(theirs["log_likelihood"], rel=1e-14)
        assert ours["difference"] == pytest.approx(theirs.get("difference", [0, 0]), rel=1e-12)
    simulated = columns(command("simulate", "--intensity", "5*exp(-t/10)", "--window", "0,50", "--columns", "t", "--seed", 1))
    assert pt.simulate("5*exp(-t/10)", window=(0, 50), names="t", seed=1).tolist() == simulated["t"].tolist()


def test_checks_and_calibration(command: Command, tmp_path: Path) -> None:
    fitted(command, tmp_path, "coal", "--average", "off")
    said = json.loads(command("check", tmp_path / "model.json", "coal", "--draws", 300, "--seed", 2, "--json"))
    assert pt.load(tmp_path / "model.json").check(draws=300, seed=2) == said
    options = ["--dims", 1, "--sets", 20, "--events", 20, "--link", "square", "--families", "own", "--seed", 5]
    [kind] = json.loads(command("calibrate", *options, "--json"))["kinds"]
    found = pt.calibrate(dims=1, sets=20, events=20, link="square", families="own", seed=5)
    assert {name: kind[name] for name in found} == found


def test_sampling(command: Command) -> None:
    said = json.loads(command("sgcp", "coal", "--warm-up", 20, "--max-sweeps", 150, "--grid", 5, "--json"))
    sampled = pt.SGCP(warm_up=20, max_sweeps=150).fit(pt.datasets.load("coal"))
    rate = sampled.rate(np.array(said["year"]))
    assert rate.mean.tolist() == said["mean"] and rate.sd.tolist() == said["sd"]
    assert rate.quantile(0.95).tolist() == said["q0.95"]


def test_two_models_and_an_update(command: Command, tmp_path: Path) -> None:
    times = np.random.default_rng(8).uniform(0, 10, 400)
    for number, part in enumerate((times[:150], times[150:])):
        (tmp_path / f"{number}.csv").write_text("t\n" + "".join(f"{t!r}\n" for t in part.tolist()))
        command("summarize", tmp_path / f"{number}.csv", "--window", "0,10", "-q", "-o", tmp_path / f"{number}.sum")
        command("fit", tmp_path / f"{number}.sum", "-q", "-o", tmp_path / f"{number}.json")
    models = [pt.load(tmp_path / f"{number}.json") for number in range(2)]
    said = json.loads(command("contrast", tmp_path / "0.json", tmp_path / "1.json", "--in", "2,6", "--draws", 500, "--json"))
    found = pt.contrast(*(model.count([(2, 6)], draws=500) for model in models))
    assert found.probability == said["probability"] and found.difference["sd"] == said["difference"]["sd"]
    theirs = fitted(command, tmp_path, "--update", tmp_path / "0.json", tmp_path / "1.sum")
    ours = models[0].update(pt.Summary.load(tmp_path / "1.sum")).to_json()
    assert without_cells(ours) == without_cells(theirs)
    assert without_cells(models[0].update(times[150:]).to_json()) == without_cells(theirs)


@pytest.mark.parametrize(("option", "cycle"), [("day", "day"), ("day,week", ["day", "week"])])
def test_cycles_write_the_same_kernel(command: Command, tmp_path: Path, option: str, cycle: Any) -> None:
    theirs = fitted(command, tmp_path, "tweets", "--cycle", option, "--average", "off", "--inducing", "60")
    ours = pt.IntensityModel(cycle=cycle, average=False, inducing=60).fit(pt.datasets.load("tweets"))
    assert without_command(ours.to_json()) == without_command(theirs)
    assert set(cycle if isinstance(cycle, list) else [cycle]) <= set(ours.components([0.5]))


def test_a_cycle_on_a_map_is_not_flat(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    days = np.concatenate([rng.uniform(0, 2, 60), rng.choice([0.5, 1.5], 140) + rng.normal(0, 0.08, 140)])
    events = np.column_stack([np.sqrt(rng.uniform(0, 1, 200)), rng.uniform(0, 1, 200), days])
    pd.DataFrame(events, columns=["x", "y", "t"]).to_csv(tmp_path / "map.csv", index=False)
    theirs = fitted(command, tmp_path, tmp_path / "map.csv", "--window", "0,1,0,1,0,2", "--unit", "t=days", "--cycle", "day", "--average", "off", "--inducing", "3x3x14")
    model = pt.IntensityModel(cycle="day", average=False, inducing=(3, 3, 14))
    ours = model.fit(events, window=[(0, 1), (0, 1), (0, 2)], names=["x", "y", "t"], units={"t": "days"}, source="map.csv").posterior_
    assert without_words(ours.to_json()) == without_words(theirs)
    west, east, night = ours.rate([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5], [0.9, 0.5, 1.0]]).mean
    assert east > 2 * west and east > 2 * night


@pytest.mark.parametrize("window", [("2026-10-20", "2026-11-01"), ("2026-03-24", "2026-04-05")])
def test_clocks_of_a_time_zone(command: Command, tmp_path: Path, window: tuple[str, str]) -> None:
    # Clocks go back, or forward, within the window.
    zone, spread = "Europe/Lisbon", np.sort(np.random.default_rng(2).uniform(0, 11.5, 240))
    times = pd.Series(pd.Timestamp(window[0], tz="UTC") + pd.to_timedelta(np.round(spread * 86_400), unit="s"), name="time")
    times.dt.strftime("%Y-%m-%dT%H:%M:%SZ").to_csv(tmp_path / "calls.csv", index=False)
    how = ("--time-zone", zone, "--window", ",".join(window), "--cycle", "day", "--average", "off", "--inducing", "40")
    theirs = fitted(command, tmp_path, tmp_path / "calls.csv", *how)
    model = pt.IntensityModel(cycle="day", average=False, inducing=40)
    ours = model.fit(times, window=window, time_zone=zone, source="calls.csv").posterior_
    assert without_words(ours.to_json()) == without_words(theirs)
    read = pt.read_events(tmp_path / "calls.csv", window=",".join(window), time_zone=zone)
    assert without_words(model.fit(read).posterior_.to_json()) == without_words(theirs)
    # Dates without a zone are what its clocks show, and a model of the command is the same model.
    local = times.dt.tz_convert(zone)
    naive = local[~local.dt.strftime("%m-%d %H").isin(["10-25 01"])].dt.tz_localize(None)
    loaded = pt.Posterior.load(tmp_path / "model.json")
    assert loaded.time_zone == ours.time_zone == zone
    assert loaded.to_json() == ours.to_json() or without_words(loaded.to_json()) == without_words(ours.to_json())
    for asked in (times, local, naive):
        np.testing.assert_array_equal(loaded.rate(asked).mean, ours.rate(local.loc[asked.index]).mean)
    days = json.loads(command("count", tmp_path / "model.json", "--every", "1d", "--json"))
    counts = ours.count(every="1d")
    np.testing.assert_array_equal(counts.mean, [day["mean"] for day in days["regions"]])
    frame = counts.to_frame()
    assert str(frame.index[0].left) == f"{pd.Timestamp(window[0], tz=zone)}" and str(frame.index[5].left.time()) == "00:00:00"
    named = ours.count({"day": pt.Window("2026-10-25", "2026-10-26") if "10" in window[0][5:7] else pt.Window("2026-03-29", "2026-03-30")})
    np.testing.assert_allclose(named.mean[0], counts.mean[5], rtol=1e-12)
    hours = pt.Window(*window, time_unit="hours", time_zone=zone).measure
    assert hours == 12 * 24 + (1 if "10" in window[0][5:7] else -1)


def test_time_zones_that_mean_nothing_are_refused() -> None:
    for given, why in [("Europe/Lisboa", "near it are"), ("", "no such time zone|write it")]:
        with pytest.raises(pt.PointillistError, match=why):
            pt.IntensityModel().fit(pd.Series(pd.date_range("2026-01-01", periods=30, freq="D")), time_zone=given)
    with pytest.raises(pt.SettingError, match="is for dates"):
        pt.IntensityModel().fit([1.0, 2.0, 3.0], window=(0, 4), time_zone="Europe/Lisbon")
    with pytest.raises(pt.SettingError, match="summaries keep UTC"):
        pt.Summary.of(["2026-01-01T10:00"], window=pt.Window("2026-01-01", "2026-01-02", time_zone="Europe/Lisbon"))


def test_cycles_follow_dates_and_refuse_what_is_none() -> None:
    times = pd.Timestamp("2024-03-01", tz="Europe/Lisbon") + pd.to_timedelta(np.sort(np.random.default_rng(1).uniform(0, 6, 200)), unit="D")
    window = ("2024-03-01", "2024-03-07")
    model = pt.IntensityModel(cycle="day", average=False, inducing=40).fit(times, window=window)
    assert abs(model.count().mean[0] / 200 - 1) < 0.03
    for cycle, why in [("fortnight", "is no cycle"), (["day", "day"], "is there twice"), ([], "is not understood"), ("week,year", "longer than the window")]:
        with pytest.raises(pt.SettingError, match=why):
            pt.IntensityModel(cycle=cycle).fit(times, window=window)
    with pytest.raises(pt.SettingError, match="no axis is known to be time"):
        pt.IntensityModel(cycle="day").fit(np.linspace(0.1, 5.9, 30), window=(0, 6))


def test_covariates(command: Command, tmp_path: Path) -> None:
    x, y = (part.ravel() for part in np.meshgrid(np.arange(10) + 0.5, np.arange(10) + 0.5))
    use = np.where((x > 3) & (x < 6) & (y > 4), "grazed", "forest")
    ground = pd.DataFrame({"x": x, "y": y, "elevation": 100 + 20 * x + 30 * np.sin(y), "soil": (x // 4).astype(int), "use": use})
    ground.to_csv(tmp_path / "ground.csv", index=False)
    trees = pd.DataFrame(np.random.default_rng(4).uniform(0, 10, (150, 2)), columns=["x", "y"])
    trees.to_csv(tmp_path / "trees.csv", index=False)
    window = [(0, 10), (0, 10)]
    how = ["--window", "0,10,0,10", "--nodes", "8x8", "--smoothness", 2, "--average", "off", "--categorical", "soil", "--spline", "elevation"]
    theirs = fitted(command, tmp_path, tmp_path / "trees.csv", *how, "--covariate", tmp_path / "ground.csv")
    model = pt.IntensityModel(nodes=(8, 8), smoothness=2, average=False, categorical="soil", spline=["elevation"])
    for covariates in (ground, tmp_path / "ground.csv", [ground[["x", "y", "elevation", "soil"]], ground[["x", "y", "use"]]]):
        ours = model.fit(trees, window=window, covariates=covariates)
        assert without_words(ours.to_json()) == without_words(theirs)
    assert ours.effects == json.loads(theirs)["summary"]["effects"]
    told = command("count", tmp_path / "model.json", "--set", "use=forest", "--set", "elevation=200", "--json")
    mean = float(ours.set({"use": "forest"}, elevation=200).count().mean[0])
    assert f'"mean":{mean!r}' in told.replace(" ", "")
    with pytest.raises(pt.InputError, match="no covariate `rain`"):
        ours.set(rain=1)
    with pytest.raises(pt.PointillistError, match="covers `x` from 0 to 5"):
        model.fit(trees, window=window, covariates=ground[ground["x"] < 5])


def two_species() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    x = np.concatenate([rng.uniform(0, 10, 40), 10 * rng.beta(2, 5, 60)])
    return pd.DataFrame({"x": x, "species": ["oak"] * 40 + ["ash"] * 60})


@pytest.mark.parametrize(("options", "latent"), [([], None), (["--latent", "1"], 1)])
def test_types(command: Command, tmp_path: Path, options: list[str], latent: int | None) -> None:
    frame = two_species()
    frame.to_csv(tmp_path / "trees.csv", index=False)
    theirs = fitted(command, tmp_path, tmp_path / "trees.csv", "--type", "species", "--window", "0,10", "--nodes", 24, *options)
    model = pt.IntensityModel(nodes=24)
    ours = model.fit_types(frame, "species", window=(0, 10), latent=latent)
    assert without_words(ours.to_json()) == without_words(theirs)
    by_label = model.fit_types(frame[["x"]], frame["species"].tolist(), window=(0, 10), latent=latent)
    assert without_words(by_label.to_json()) == without_words(theirs)
    assert ours.names == ["oak", "ash"] and len(ours) == 2
    assert (len(ours.loadings) == 2) == (latent is not None)

    again = pt.TypesPosterior.load(tmp_path / "model.json")
    assert again.to_json() == theirs
    with pytest.raises(pt.ModelFileError, match="TypesPosterior.load"):
        pt.Posterior.load(tmp_path / "model.json")
    (tmp_path / "places.csv").write_text("x\n1.5\n8.0\n")
    places = [1.5, 8.0]
    said = columns(command("predict", tmp_path / "model.json", "--at", tmp_path / "places.csv", "--of", "oak/ash"))
    ratio = again.ratio("oak", "ash").rate(places)
    assert said["ratio_mean"].tolist() == ratio.mean.tolist() and said["ratio_q0.95"].tolist() == ratio.quantile(0.95).tolist()
    said = columns(command("predict", tmp_path / "model.json", "--at", tmp_path / "places.csv", "--of", "ash"))
    assert said["mean"].tolist() == again.of("ash").rate(places).mean.tolist()
    text = command("predict", tmp_path / "model.json", "--at", tmp_path / "places.csv", "--shares")
    said_shares = [row for row in csv.DictReader(io.StringIO(text))]
    shares = again.shares(places)
    assert [float(row["share_mean"]) for row in said_shares] == [*shares["oak"].mean, *shares["ash"].mean]
    text = command("sample", tmp_path / "model.json", "--events", "--seed", 3)
    drawn = list(csv.DictReader(io.StringIO(text)))
    sets = again.sample_events(seed=3)[0]
    assert [float(row["x"]) for row in drawn if row["type"] == "ash"] == sets["ash"].tolist()
    answer = json.loads(command("count", tmp_path / "model.json", "--in", "0,5", "--json", "--draws", 1000))
    counts = again.count((0, 5), draws=1000)
    assert answer["types"][1]["regions"][0]["mean"] == counts["ash"].mean[0]


def test_covariates_beside_types_and_values(command: Command, tmp_path: Path) -> None:
    ground = pd.DataFrame({"x": np.arange(10) + 0.5, "elevation": 100 + 20 * np.sin(np.arange(10))})
    ground.to_csv(tmp_path / "ground.csv", index=False)
    frame = two_species().assign(ph=lambda table: 6 + np.sin(table["x"]))
    frame.to_csv(tmp_path / "trees.csv", index=False)
    how = ["--columns", "x", "--window", "0,10", "--nodes", 16, "--covariate", tmp_path / "ground.csv"]
    model = pt.IntensityModel(nodes=16)
    theirs = fitted(command, tmp_path, tmp_path / "trees.csv", "--type", "species", *how)
    types = model.fit_types(frame[["x", "species"]], "species", window=(0, 10), covariates=ground)
    assert without_words(types.to_json()) == without_words(theirs) and types.covariates == ["elevation"]
    said = types.summary["types"]
    assert types.of("oak").effects == said[0]["effects"] and types.ratio("oak", "ash").effects == said[1]["effects_on_ratio"]
    told = json.loads(command("count", tmp_path / "model.json", "--set", "elevation=110", "--draws", 2000, "--json"))
    held = types.set(elevation=110)
    assert told["types"][1]["regions"][0]["mean"] == held.count(draws=2000)["ash"].mean[0]
    assert types.of("ash").set(elevation=110).count().mean[0] == held.of("ash").count().mean[0]
    theirs = fitted(command, tmp_path, tmp_path / "trees.csv", "--value", "ph", *how)
    values = model.fit_measured(frame[["x", "ph"]], "ph", window=(0, 10), covariates=ground)
    assert without_words(values.to_json()) == without_words(theirs)
    assert len(values.effects) == len(values.effects_on_value) == 1
    low, high = (values.set(elevation=z).values([5.0]).mean[0] for z in (100, 110))
    assert abs(high - low - 10 * values.effects_on_value[0]["effect"]) < 1e-9


def test_types_are_refused_in_a_sentence(tmp_path: Path) -> None:
    frame = two_species()
    model = pt.IntensityModel(nodes=16)
    with pytest.raises(pt.SettingError, match="the events have the columns x, species"):
        model.fit_types(frame, "kind", window=(0, 10))
    with pytest.raises(pt.SettingError, match="the events are no frame"):
        model.fit_types(frame["x"].to_numpy(), "species", window=(0, 10))
    with pytest.raises(pt.InputError, match="100 events and 3 labels"):
        model.fit_types(frame[["x"]], ["a", "b", "a"], window=(0, 10))
    with pytest.raises(pt.InputError, match="no label in row 1"):
        model.fit_types(frame[["x"]].head(3), ["a", None, "a"], window=(0, 10))
    with pytest.raises(pt.SettingError, match="rare.*leave it out or join it"):
        model.fit_types(frame[["x"]], ["rare"] + frame["species"].tolist()[1:], window=(0, 10))
    with pytest.raises(pt.SettingError, match="50 types.*join those that are rare"):
        model.fit_types(frame[["x"]], [str(k % 50) for k in range(100)], window=(0, 10))
    with pytest.raises(pt.SettingError, match="give 1 to 2"):
        model.fit_types(frame, "species", window=(0, 10), latent=3)
    types = model.fit_types(frame, "species", window=(0, 10))
    with pytest.raises(pt.SettingError, match="the types are oak, ash"):
        types.of("elm")
    with pytest.raises(pt.SettingError, match="is a ratio"):
        types.ratio("oak", "ash").count()
    with pytest.raises(pt.SettingError, match="part of a model of several types"):
        types.of("oak").save(tmp_path / "oak.json")
    import pickle

    assert pickle.loads(pickle.dumps(types)).to_json() == types.to_json()
    assert pickle.loads(pickle.dumps(types.of("oak"))).rate([3.0]).mean == types.of("oak").rate([3.0]).mean
    assert "oak" in repr(types) and "rate of oak" in repr(types.of("oak"))


def test_plots_of_types() -> None:
    pytest.importorskip("matplotlib")
    types = pt.IntensityModel(nodes=16).fit_types(two_species(), "species", window=(0, 10))
    assert types.plot("oak/ash").get_ylabel() == "rate of oak over that of ash"
    assert len(types.plot().get_lines()) >= 2


def survey() -> pd.DataFrame:
    """Places that are denser early, with values that are high there; the last two lie outside of the window."""
    u = (np.arange(80) + 0.5) / 80
    t = 10 * u**3
    ph = 7 - 0.5 * np.log(t) + 0.1 * np.sin(2.4 * np.arange(80))
    return pd.DataFrame({"t": [*t, 10.5, 11.0], "ph": [*ph, 0.0, 0.0]})


@pytest.mark.parametrize("apart", [False, True])
def test_measurements(command: Command, tmp_path: Path, apart: bool) -> None:
    frame = survey()
    frame.to_csv(tmp_path / "survey.csv", index=False)
    own = pd.DataFrame({"t": np.linspace(0.2, 9.8, 25), "ph": 7 - 0.5 * np.log(np.linspace(0.2, 9.8, 25)) + 0.1 * np.sin(np.arange(25))})
    own.to_csv(tmp_path / "apart.csv", index=False)
    options = ["--value", "ph", "--columns", "t", "--window", "0,10", "--nodes", 24, "--clip"]
    theirs = fitted(command, tmp_path, tmp_path / "survey.csv", *options, *(["--measured", tmp_path / "apart.csv"] if apart else []))
    model = pt.IntensityModel(nodes=24, clip=True)
    if apart:
        ours = model.fit_measured(frame["t"], "ph", measured=own, window=(0, 10), names="t")
    else:
        ours = model.fit_measured(frame, "ph", window=(0, 10))
        by_number = model.fit_measured(frame[["t"]], frame["ph"].to_numpy(), window=(0, 10))
        assert by_number.value_name == "value" and by_number.slope == ours.slope
    assert without_words(ours.to_json()) == without_words(theirs)
    assert ours.slope["q0.05"] < ours.slope["mean"] < ours.slope["q0.95"] and ours.noise[0] > 0
    assert abs(sum(ours.families.values()) - 1) < 1e-9 and ours.link == json.loads(theirs)["summary"]["link"]

    again = pt.Posterior.load(tmp_path / "model.json")
    assert isinstance(again, pt.MeasuredPosterior) and again.to_json() == theirs
    (tmp_path / "places.csv").write_text("t\n1.5\n8.0\n")
    places = [1.5, 8.0]
    said = columns(command("predict", tmp_path / "model.json", "--at", tmp_path / "places.csv", "--of", "ph"))
    values = again.values(places)
    assert said["mean"].tolist() == values.mean.tolist() and said["sd"].tolist() == values.sd.tolist()
    assert said["q0.95"].tolist() == values.quantiles[2].tolist() and said["new_q0.05"].tolist() == values.new_quantiles[0].tolist()
    # Without a word on values all answers are of the rate.
    said = columns(command("predict", tmp_path / "model.json", "--at", tmp_path / "places.csv"))
    assert said["mean"].tolist() == again.rate(places).mean.tolist()
    answer = json.loads(command("count", tmp_path / "model.json", "--in", "0,5", "--json", "--draws", 1000))
    assert answer["mean"] == again.count((0, 5), draws=1000).mean[0]
    drawn = columns(command("sample", tmp_path / "model.json", "--events", "--seed", 3))
    events, marks = again.sample_values(seed=3)[0]
    assert drawn["t"].tolist() == events.tolist() and drawn["ph"].tolist() == marks.tolist()
    assert again.sample_events(seed=3)[0].tolist() == events.tolist()
    assert "link" in again.show() and "of ph" in repr(again) and "link" in again._repr_html_()
    import pickle

    assert pickle.loads(pickle.dumps(again)).values(places).mean.tolist() == values.mean.tolist()


def test_measurements_are_refused_in_a_sentence() -> None:
    frame = survey()[:80]
    model = pt.IntensityModel(nodes=16)
    with pytest.raises(pt.SettingError, match="the events have the columns t, ph"):
        model.fit_measured(frame, "depth", window=(0, 10))
    with pytest.raises(pt.SettingError, match="the events are no frame"):
        model.fit_measured(frame["t"].to_numpy(), "ph", window=(0, 10))
    with pytest.raises(pt.InputError, match="80 events and 3 values"):
        model.fit_measured(frame[["t"]], [1.0, 2.0, 3.0], window=(0, 10))
    with pytest.raises(pt.InputError, match="are no numbers"):
        model.fit_measured(frame[["t"]], ["high"] * 80, window=(0, 10))
    with pytest.raises(pt.SettingError, match="in row 1; give a finite number"):
        model.fit_measured(frame[["t"]], [float("nan")] * 80, window=(0, 10))
    with pytest.raises(pt.SettingError, match="at all places"):
        model.fit_measured(frame[["t"]], [2.0] * 80, window=(0, 10))
    with pytest.raises(pt.InputError, match="3 places in measured= and 2 values"):
        model.fit_measured(frame["t"], [1.0, 2.0], measured=[1.0, 2.0, 3.0], window=(0, 10))
    with pytest.raises(pt.SettingError, match="1 lie outside"):
        places = pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0, 12.0], "ph": [1.0, 2.0, 3.0, 4.0, 5.0]})
        model.fit_measured(frame["t"], "ph", measured=places, window=(0, 10), names="t")
    with pytest.raises(pt.SettingError, match="logarithm of the rate"):
        pt.IntensityModel(nodes=16, link="square").fit_measured(frame, "ph", window=(0, 10))
    post = model.fit_measured(frame, "ph", window=(0, 10))
    with pytest.raises(pt.SettingError, match="fitted together"):
        _ = post.elbo
    with pytest.raises(pt.SettingError, match="no probability"):
        post.values([1.0], quantiles=[1.5])
    plain = model.fit(frame["t"], window=(0, 10)).posterior_
    assert not hasattr(plain, "values")
