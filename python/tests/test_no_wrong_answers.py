"""What once gave a wrong number without a word: it is right now, or refused."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pointillist as pt

RNG = np.random.default_rng(11)
TIMES = np.sort(RNG.uniform(0, 10, 60))
PLACES = RNG.uniform(0, 1, (80, 2)) ** [1.0, 2.0]
SQUARE = [(0, 1), (0, 1)]


def fitted(data: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pt.IntensityModel(average=False).fit(data, **how)


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(TIMES, window=(0, 10))


def test_draws_of_two_models_have_nothing_to_do_with_each_other() -> None:
    models = [fitted(RNG.uniform(0, 2, 60), window=(0, 2)) for _ in range(12)]
    at = [0.5, 1.0, 1.5]
    own = np.sqrt(np.sum([model.rate(at).sd ** 2 for model in models], axis=0)) / len(models)
    together = np.mean([model.sample(at, 3000) for model in models], axis=0).std(axis=0)
    np.testing.assert_allclose(together, own, rtol=0.1)
    counts = np.mean([model.count(draws=3000).draws for model in models], axis=0).std()
    assert counts == pytest.approx(np.sqrt(np.sum([model.count().sd[0] ** 2 for model in models])) / len(models), rel=0.1)
    # The same seed is the same draw of the same model, also from a file.
    again = pt.Posterior.from_json(models[0].to_json())
    assert (again.sample(at, 5) == models[0].sample(at, 5)).all()
    assert (again.count(draws=10).draws == models[0].count(draws=10).draws).all()


def test_a_fold_is_a_part_of_the_events() -> None:
    times = np.sort(RNG.beta(2, 4, 300) * 10)
    fold = np.arange(300) % 5 == 0
    held, kept = times[fold], times[~fold]
    model = fitted(kept, window=(0, 10))
    share, total = len(held) / len(kept), float(model.count().mean[0])
    by_hand = float(np.sum(np.log(share * model.rate(held).mean))) - share * total
    assert model.score(held) == pytest.approx(by_hand, rel=1e-3)
    # Widths that lose most of the mass no longer win.
    scores = [pt.KernelSmoother(edge_correction="none", bandwidth=b).fit(kept, window=(0, 10)).score(held) for b in (0.7, 8.0)]
    assert scores[0] > scores[1]
    assert model.posterior_.log_likelihood(held) == pytest.approx(float(np.sum(np.log(model.rate(held).mean))) - total, rel=1e-3)


def test_a_mask_is_not_forgotten(model: Any) -> None:
    masked = np.ma.array(TIMES, mask=TIMES > 5)
    for call in (lambda: fitted(masked, window=(0, 10)), lambda: fitted([masked, TIMES], window=(0, 10)), lambda: model.rate(masked)):
        with pytest.raises(pt.InputError, match="masked"):
            call()


def test_columns_are_found_by_the_names_of_the_axes() -> None:
    frame = pd.DataFrame(PLACES, columns=["x", "y"])
    model = fitted(frame, window=SQUARE)
    rate = model.rate(frame)
    np.testing.assert_array_equal(model.rate(frame[["y", "x"]]).mean, rate.mean)
    np.testing.assert_array_equal(model.rate(frame.assign(z=1.0)[["z", "y", "x"]]).mean, rate.mean)
    assert model.posterior_.log_likelihood(frame[["y", "x"]]) == model.posterior_.log_likelihood(frame)
    with pytest.raises(pt.InputError, match="rename"):
        model.rate(frame.rename(columns={"y": "north"}))
    named = pt.Window(SQUARE, names=["x", "y"])
    swapped = pt.Summary.of(frame[["y", "x"]], window=named)
    assert swapped.to_bytes() == pt.Summary.of(frame, window=named).to_bytes()


@pytest.mark.parametrize(
    "join",
    [
        lambda: pt.Window(0, 2, repeats=2) | pt.Window(2, 4),
        lambda: pt.Window(2, 4) | pt.Window(0, 2, repeats=2),
        lambda: pt.Window(0, 2, exposure=pt.Exposure.grid([0, 2], [0.5, 0.5])) | pt.Window(2, 4),
        lambda: pt.Window.union([pt.Window(0, 2, names="t"), pt.Window(2, 4, names="s")]),
        lambda: pt.Window(0, 1, 0, 1, crs="EPSG:4326") | pt.Window(1, 2, 0, 1, crs="EPSG:32637"),
    ],
)
def test_windows_that_differ_are_not_joined(join: Callable[[], Any]) -> None:
    with pytest.raises(pt.WindowError, match="union"):
        join()


def test_what_windows_share_stays() -> None:
    pieces = [pt.Window(0, 2, repeats=2), pt.Window(2, 4, repeats=2)]
    assert pt.Window.union(pieces).measure == (pieces[0] | pieces[1]).measure == 8.0
    hours = [pt.Window("2024-01-01", "2024-01-02", time_unit="hours"), pt.Window("2024-01-02", "2024-01-03", time_unit="hours")]
    assert pt.Window.union(hours).measure == 48.0
    assert pt.Window.union([pt.Window(0, 2), pt.Window(2, 4)], repeats=3).measure == 12.0


def test_no_region_is_not_the_whole_window(model: Any) -> None:
    for nothing in ([], {}, np.array([])):
        with pytest.raises(pt.InputError, match="no region"):
            model.count(nothing)
    with pytest.raises(pt.InputError, match="one edge"):
        model.count([1.0])


def test_a_list_of_ends_is_a_box() -> None:
    model = fitted(PLACES, window=SQUARE)
    assert model.count([(0, 0.5), (0, 0.5)]).mean.tolist() == model.count(((0, 0.5), (0, 0.5))).mean.tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fitted(pt.Summary.of(TIMES, (0, 10)), window=(0, 5)), "window="),
        (lambda: fitted(pt.Summary.of(TIMES, (0, 10)), repeats=2), "repeats="),
        (lambda: fitted(TIMES, window=pt.Window(0, 10, repeats=2), repeats=5), "repeats="),
        (lambda: fitted([TIMES, TIMES], window=(0, 10), repeats=7), "empty array"),
        (lambda: fitted(TIMES, window=pt.Window(0, 10, exposure=pt.Exposure.grid([0, 10], [1, 1])), exposure=pt.Exposure.grid([0, 10], [1, 2])), "exposure="),
        (lambda: pt.bound(TIMES, (0, 10), variance=1, lengthscale=1, mean=0, inducing=[1, 5, 9], m=[0, 0, 0], L=np.ones((3, 3))), "diagonal"),
        (lambda: pt.compare(TIMES, window=(0, 10), methods=[]), "methods="),
        (lambda: pt.calibrate(sets=10**12), "sets="),
        (lambda: pt.SGCP(chains=10**9).fit(TIMES, window=(0, 10)), "chains="),
        (lambda: pt.compare(TIMES, window=(0, 10), splits=10**12), "splits="),
        (lambda: pt.set_max_memory(-1), "memory"),
        (lambda: pt.set_max_memory(None), "memory"),
        (lambda: pt.fit_many({1: TIMES}, "x"), "model="),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_meant_is_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(pt.PointillistError, match=words):
        call()


def test_regions_counted_apart_are_not_contrasted(model: Any) -> None:
    with pytest.raises(pt.SettingError, match="count them together"):
        pt.contrast(model.count((0, 5)), model.count((5, 10)))
    counts = model.count([(0, 5), (5, 10)])
    assert "P(A > B)" in repr(pt.contrast(counts[0], counts[1]))


def test_no_seed_is_another_each_time(model: Any) -> None:
    at = [2.0, 5.0]
    assert (model.sample(at, 3, seed=None) != model.sample(at, 3, seed=None)).any()
    assert (model.sample(at, 3) == model.sample(at, 3)).all()


def test_what_lies_outside_is_marked(model: Any) -> None:
    assert "inside" not in model.rate([1.0, 2.0]).to_frame()
    assert model.rate([1.0, 12.0]).to_frame()["inside"].tolist() == [True, False]
    assert len(model.rate(3.0)) == 1


def test_lists_of_lists_on_one_axis_are_trials() -> None:
    model = fitted([[0.1, 0.2], [0.3, 0.4], [0.5, 0.9]], window=(0, 1))
    assert model.posterior_.window.measure == 3.0 and model.event_count == 6


def test_a_column_called_trial_says_the_trial() -> None:
    frame = pd.DataFrame({"t": TIMES, "Trial": np.arange(60) % 4})
    model = fitted(frame, window=(0, 10))
    assert model.posterior_.window.measure == 40.0
    listed = fitted([TIMES[number::4] for number in range(4)], window=(0, 10))
    np.testing.assert_allclose(model.rate([1.0, 5.0]).mean, listed.rate([1.0, 5.0]).mean, rtol=1e-4)
    assert fitted(frame, window=(0, 10), repeats=6).posterior_.window.measure == 60.0


def test_a_part_of_which_nothing_lies_inside_is_empty() -> None:
    with pytest.warns(pt.PointillistWarning, match="dropped"):
        away = pt.Summary.of([50.0, 60.0], (0, 10), clip=True)
    assert (away.events, away.dropped) == (0, 2)
    assert (away + pt.Summary.of(TIMES, (0, 10))).events == 60


def test_counts_outlive_a_pickle(model: Any) -> None:
    counts = model.count([1, 3, 7], draws=50)
    for again in (pickle.loads(pickle.dumps(counts)), copy.deepcopy(counts)):
        assert (again.draws == counts.draws).all() and again.names == counts.names and (again.sd == counts.sd).all()
        assert (again.new_quantiles() == counts.new_quantiles()).all()


def test_axes_have_names_that_can_be_written() -> None:
    assert fitted(TIMES, window=(0, 10)).posterior_.window.axis_names == ["x"]
    assert fitted(PLACES, window=SQUARE).posterior_.window.axis_names == ["x", "y"]
    days = pd.date_range("2024-01-01", periods=20, freq="D")
    assert fitted(days, window=("2023-12-31", "2024-01-25")).posterior_.window.axis_names == ["time"]
    assert len(pt.simulate("5 + sin(x)", window=(0, 10))) > 10
    assert pt.simulate("5", window=("2024-01-01", "2024-01-05")).dtype.kind == "M"


def test_regions_of_a_smoother_count_from_the_same_midnight() -> None:
    days = pd.DatetimeIndex(["2024-01-09"] * 20)
    smoother = pt.KernelSmoother(window=("2024-01-01", "2024-01-11"), bandwidth=0.3).fit(days)
    halves = smoother.expected(("2024-01-01", "2024-01-06")), smoother.expected(("2024-01-06", "2024-01-11"))
    assert halves == (pytest.approx(0.0, abs=1e-6), pytest.approx(20.0, abs=1e-6))


def test_rivals_windows_and_updates_find_columns_by_name() -> None:
    frame = pd.DataFrame(PLACES, columns=["lon", "lat"])
    swapped = frame[["lat", "lon"]]
    smoother = pt.KernelSmoother(bandwidth=[0.1, 0.1]).fit(frame, window=SQUARE)
    assert (smoother.rate(swapped) == smoother.rate(frame)).all()
    named = pt.Window([(0, 1), (0, 0.3)], names=["lon", "lat"])
    assert (named.contains(swapped) == named.contains(frame)).all()
    summed = fitted(pt.Summary.of(frame[:40], window=SQUARE, cells=16)).posterior_
    at = PLACES[:5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(summed.update(swapped[40:]).rate(at).mean, summed.update(frame[40:]).rate(at).mean)
        assert summed.update(pt.as_events(frame[40:], window=SQUARE)).event_count == 80


def test_zones_come_through_summaries_and_lists() -> None:
    days = pd.date_range("2024-03-01 00:20", "2024-03-30 23:40", freq="7h", tz="America/Los_Angeles")
    local, aware = ("2024-03-02", "2024-03-03"), tuple(pd.Timestamp(day, tz="America/Los_Angeles") for day in ("2024-03-02", "2024-03-03"))
    for events in (pt.Summary.of(days, window=("2024-03-01", "2024-03-31")), list(days), [pd.Series(days[::2]), pd.Series(days[1::2])]):
        model = fitted(events, **({} if isinstance(events, pt.Summary) else {"window": ("2024-03-01", "2024-03-31")}))
        assert model.count(local).mean[0] == model.count(aware).mean[0] and str(model.posterior_.time_zone) == "America/Los_Angeles"
    summed = fitted(pt.Summary.of(days, window=("2024-03-01", "2024-03-31"))).posterior_
    assert summed.update(["2024-03-30 23:50"]).event_count == len(days) + 1
    with pytest.raises(pt.InputError, match="time zone"):
        summed.rate([pd.Timestamp("2024-03-05"), pd.Timestamp("2024-03-05", tz="UTC")])


def test_a_trial_column_of_places_says_the_trial() -> None:
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame({"trial": np.arange(80) % 4}, geometry=geopandas.points_from_xy(*PLACES.T))
    assert fitted(frame, window=SQUARE).posterior_.window.measure == 4.0


def test_a_function_may_call_the_package() -> None:
    drawn = pt.simulate(lambda x: 5 + 0 * x * len(pt.simulate("5", window=(0, 10))), window=(0, 10))
    assert len(drawn) > 20


def test_a_posterior_is_not_independent_of_its_copy(model: Any) -> None:
    counts = model.count([1, 3, 7], draws=100)
    for other in (pickle.loads(pickle.dumps(counts)), copy.deepcopy(model).count([1, 3, 7], draws=100)):
        with pytest.raises(pt.SettingError, match="count them together"):
            pt.contrast(counts[0], other[1])
    first, second = counts
    assert first.mean == counts.mean[0] and second.mean == counts.mean[1]


def test_folds_of_trials_are_scored() -> None:
    cross_val_score = pytest.importorskip("sklearn.model_selection").cross_val_score
    times = np.sort(RNG.uniform(0, 2, 120)).reshape(-1, 1)
    for estimator in (pt.IntensityModel(window=(0, 2), repeats=10, average=False), pt.IntensityModel(window=pt.Window(0, 2, repeats=10), average=False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.isfinite(cross_val_score(estimator, times, cv=3, error_score="raise")).all()


def test_memory_can_be_allowed_again() -> None:
    try:
        pt.set_max_memory("1MB")
        with pytest.raises(pt.PointillistError):
            fitted(PLACES, window=SQUARE).posterior_.rate(pt.Window(SQUARE).grid(5))
            pt.IntensityModel(nodes=(400, 400), average=False).fit(PLACES, window=SQUARE)
        pt.set_max_memory("2GB")
        assert pt.IntensityModel(nodes=(12, 12), average=False).fit(PLACES, window=SQUARE).event_count == 80
    finally:
        pt.set_max_memory("16GB")
