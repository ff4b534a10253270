"""Ten thousand hostile calls: each succeeds or is refused by an exception of the package, and the process lives on.

The calls are made in a process of their own (`python test_hostile.py [calls] [seed]`), so that one which crashes is seen as such.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = 10_000
#: A call that hangs ends the test.
SECONDS = 900
#: What the process may use: a call that asks for more than any machine has must be refused before it is tried.
MEMORY = 6 << 30


def test_ten_thousand_hostile_calls() -> None:
    done = subprocess.run([sys.executable, __file__, str(CALLS), "17"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, f"the process ended with {done.returncode}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["faults"] == [] and found["calls"] == CALLS
    # Hostile in earnest: most calls are refused, by many kinds of action, and some go through.
    assert found["refused"] > CALLS // 2 and found["passed"] > CALLS // 20
    assert set(found["kinds"]) >= {"InputError", "WindowError", "SettingError", "NotFittedError", "ModelFileError", "FileError"}


class Fuzz:
    """Calls made of a seed."""

    def __init__(self, seed: int) -> None:
        import geopandas as gpd
        import numpy as np
        import pandas as pd
        import shapely

        import pointillist as pt

        self.np, self.pd, self.gpd, self.shapely, self.pt = np, pd, gpd, shapely, pt
        self.rng = np.random.default_rng(seed)
        self.good = np.array([0.3, 1.1, 1.4, 1.9, 2.2, 4.0, 5.5, 7.9])
        self.plane = np.column_stack([self.good, self.good[::-1]])
        dates = pd.Timestamp("2024-03-01", tz="Europe/Zurich") + pd.to_timedelta(self.good, unit="D")
        quick = pt.IntensityModel(average=False, max_evaluations=3)
        self.fitted = [
            quick.fit(self.good, window=(0, 10)).posterior_,
            pt.VBPP(inducing=4).fit(self.good, window=(0, 10)).posterior_,
            pt.IntensityModel(average=False, max_evaluations=2, nodes=(5, 5)).fit(self.plane, window=[(0, 10), (0, 10)]).posterior_,
            quick.fit(dates, window=("2024-02-28", "2024-03-12")).posterior_,
        ]
        self.smoother = pt.KernelSmoother().fit(self.good, window=(0, 10))
        self.files = [post.to_json() for post in self.fitted]
        self.sum = pt.Summary.of(self.good, window=(0, 10))
        self.numbers = self._numbers()
        self.data, self.windows = self._data(), self._windows()
        self.actions: list[Callable[[], Any]] = [getattr(self, name) for name in dir(type(self)) if name.startswith("do_")]

    def one(self, values: list[Any]) -> Any:
        """One of them; of events and windows often a good one, so that calls come far enough to fail later."""
        if self.rng.random() < 0.4 and (values is self.data or values is self.windows):
            values = [self.good, self.plane] if values is self.data else [(0, 10), [(0, 10), (0, 10)]]
        return values[int(self.rng.integers(len(values)))]

    def _numbers(self) -> list[Any]:
        np, pd = self.np, self.pd
        return [
            0, 1, -1, 2, 3, 7, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(2**63), 0.0, -0.0, 0.5, 1e-320, 5e-324, 1e308, -1e308, 1e-12,
            float("nan"), float("inf"), -float("inf"), True, None, "", "7", "x", "nan", b"1", 1j, (), [], {}, (1,), (3, 3), (0, 0), [1, "a"], object(), int,
            np.float32(0.5), np.int64(3), np.nan, np.datetime64("NaT"), np.datetime64("2024-03-02"), np.timedelta64(1, "s"), pd.NaT, pd.NA,
            pd.Timestamp("2024-03-02"), pd.Timestamp("2024-03-02", tz="UTC"), datetime.date(1, 1, 1), datetime.datetime.max, "2024-03-05", "1d", "0d", "-1d",
            "9999999999d", "\x00", "é", "a" * 10_000, {"lengthscale": 1}, {"lengthscale": "x"}, np.array(3), np.array([0.1, 0.9]), np.zeros((2, 2)),
        ]  # fmt: skip

    def _data(self) -> list[Any]:
        np, pd, gpd = self.np, self.pd, self.gpd
        read_only = self.good.copy()
        read_only.flags.writeable = False
        points = gpd.GeoSeries(gpd.points_from_xy(self.plane[:, 0], self.plane[:, 1]), crs="EPSG:32637")
        return [
            *self.numbers, self.good, self.plane, read_only, self.good[::-2], self.plane.T, self.good + 5, np.asfortranarray(self.plane), self.good.astype(np.float16),
            self.good.astype(">f8"), self.good.astype(object), list(self.good), [list(row) for row in self.plane], np.empty(0), np.empty((0, 2)),
            np.empty((3, 0)), np.empty((0, 0)), np.zeros((2, 2, 2)), np.zeros((1, 9)), np.full(5, np.nan), np.array([1.0, np.inf]), np.zeros(5),
            np.full(3, 1e308), np.array([1e-320, 2e-320]), np.array([-1e308, 1e308]), np.array([2**62, 2**61]), np.array([2**63], dtype=np.uint64),
            np.array([1, None, 2], dtype=object), np.array([[1], [2, 3]], dtype=object), np.array(["a", "b"]), np.array([b"a"]), np.array([True]),
            np.array([1j]), np.array(["2024-03-02", "NaT"], dtype="datetime64[ns]"), np.array(["2024-03-02", "2024-03-03"], dtype="datetime64[D]"),
            np.array([2**62], dtype="datetime64[Y]"), np.array([2**62], dtype="datetime64[s]"), np.array([-(2**62)], dtype="datetime64[us]"),
            np.array([1, 2], dtype="timedelta64[ns]"), np.zeros(3, dtype=[("a", float)]), np.ma.masked_array([1.0, 2.0], mask=[0, 1]),
            np.ma.masked_array([1.0, 2.0]), pd.Series(dtype=float), pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame({"a": ["x"], "b": [1.0]}),
            pd.DataFrame(self.plane, columns=["x", "x"]), pd.DataFrame(np.zeros((2, 9))), pd.Series([1, 2], dtype="Int64"), pd.Series([1, None], dtype="Int64"),
            pd.Series(["a"], dtype="category"), pd.MultiIndex.from_tuples([(1, 2)]), pd.RangeIndex(3), pd.DatetimeIndex(["2024-03-02", None]),
            pd.date_range("2024-03-01", periods=4, tz="Asia/Tokyo"), pd.period_range("2024-03", periods=2, freq="D"), pd.interval_range(0, 3),
            pd.timedelta_range("1h", periods=2), pd.DataFrame({"t": pd.date_range("2024-03-01", periods=3), "x": [1.0, 2, 3]}),
            gpd.GeoDataFrame({"a": [1]}), gpd.GeoSeries([None]), gpd.GeoSeries([], crs=4326), points, points.to_crs(4326), gpd.GeoSeries([self.shapely.Point()]),
            self.shapely.Point(1, 1), [self.good, self.good], [self.good, np.empty(0)], [self.good, self.plane], [[], []], [None, None], [self.good, None],
            [[1.0], ["a"]], (self.good,), {1: 2}, {1, 2}, iter([1.0]), range(5), memoryview(b"abc"), lambda: 1, type, self.sum, [self.sum, 3],
            self.fitted[0], self.pt.datasets.load("coal"), self.pt.IntensityModel(), slice(0, 3), Ellipsis, NotImplemented, warnings,
        ]  # fmt: skip

    def _windows(self) -> list[Any]:
        box, pt = self.shapely.box, self.pt
        ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
        return [
            *self.numbers, (0, 10), (0, 10), (0, 10), [(0, 10), (0, 10)], [(0, 10), (0, 10)], (10, 0), (0, 0), (0, float("inf")), (0, 1e308), (-1e308, 1e308),
            (0, 5e-324), (1e300, 1.0000001e300), ("2024-02-28", "2024-03-12"), ("2024-13-45", "2024-03-12"), (0, "2024-03-12"), (0, 1, 2), [(0, 1)] * 20,
            "0,10", "0,10,", ",", "missing.geojson", Path("missing.geojson"), Path("/"), "{", "{}", '{"type": "Polygon"}', {"type": "Polygon", "coordinates": None},
            {"type": "Polygon", "coordinates": [ring]}, {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]},
            {"type": "Polygon", "coordinates": [[[0, 0], [float("nan"), 0], [1, 1]]]}, {"type": "Polygon", "coordinates": [[["a", 0]]]},
            {"type": "FeatureCollection", "features": []}, {"type": "Point", "coordinates": [0, 0]}, box(0, 0, 10, 10), box(0, 0, 0, 0),
            self.shapely.Polygon(), self.shapely.LineString([(0, 0), (1, 1)]), pt.Window(0, 10), pt.Window([(0, 10), (0, 10)]), pt.Window(0, 10) | pt.Window(5, 12),
            pt.Window(0, 10, repeats=3), pt.Window(0, 10, repeats=0), pt.Window(), pt.Window(0, 10, crs="EPSG:4326"), pt.Window(0, 10, trials=[(0, 5)]),
            self.gpd.GeoSeries([box(0, 0, 10, 10)], crs=32637), self.gpd.GeoSeries([None]), self.gpd.GeoSeries([box(0, 0, 10, 10)], crs=4326), slice(0, 10),
        ]  # fmt: skip

    # What is called

    def settings(self) -> dict[str, Any]:
        """Of a model, one or two of them hostile."""
        names = self.pt.IntensityModel().get_params()
        chosen = self.rng.choice(list(names), size=int(self.rng.integers(0, 3)), replace=False)
        said = {str(name): self.one(self.windows if name == "window" else self.numbers) for name in chosen}
        return {"average": False, "max_evaluations": 2, "threads": 1, **said}

    def about(self) -> dict[str, Any]:
        names = ["exposure", "repeats", "trials", "names", "units", "clip", "source"]
        return {name: self.one(self.data if name == "trials" else self.numbers) for name in names if self.rng.random() < 0.1}

    def do_fit(self) -> Any:
        model = self.one([self.pt.IntensityModel, self.pt.IntensityModel, self.pt.VBPP])
        known = model().get_params()
        model(**{name: value for name, value in self.settings().items() if name in known}).fit(self.one(self.data), window=self.one(self.windows), **self.about())

    def do_fit_settings(self) -> Any:
        self.pt.IntensityModel(**self.settings()).fit(self.good, window=(0, 10))

    def do_smooth(self) -> Any:
        model = self.pt.KernelSmoother(edge_correction=self.one(["truncate", "none", *self.numbers]), bandwidth=self.one([None, *self.numbers]))
        model.fit(self.one(self.data), window=self.one(self.windows)).rate(self.one(self.data))

    def do_smoother(self) -> Any:
        ask = self.one([self.smoother.rate, self.smoother.score, self.smoother.score_samples])
        ask(self.one(self.data))

    def do_smoother_expected(self) -> Any:
        self.smoother.expected(self.one(self.windows))

    def do_sample_slowly(self) -> Any:
        said = {name: self.one(self.numbers) for name in ("warm_up", "r_hat", "effective", "thinning", "seed", "progress") if self.rng.random() < 0.3}
        self.pt.SGCP(**{"chains": 1, "warm_up": 1, "max_sweeps": 2, "threads": 1, **said}).fit(self.good[:3], window=(0, 10))

    def do_events(self) -> Any:
        self.pt.as_events(self.one(self.data), self.one(self.windows), **self.about())

    def do_summary(self) -> Any:
        self.pt.Summary.of(self.one(self.data), self.one(self.windows), cells=self.one([None, 10, *self.numbers]))

    def do_window(self) -> Any:
        given = self.one([(self.one(self.windows),), (self.one(self.numbers), self.one(self.numbers))])
        said = {name: self.one(self.numbers) for name in ("between", "repeats", "trials", "exposure", "names", "units", "time_unit", "crs") if self.rng.random() < 0.1}
        window = self.pt.Window(*given, **said)
        repr(window)
        ask = self.one([lambda: window.measure, lambda: window.contains(self.one(self.data)), lambda: window.grid(self.one(self.numbers))])
        ask()

    def do_exposure(self) -> Any:
        make = self.one([self.pt.Exposure.grid, self.pt.Exposure.weights, self.pt.Exposure.trajectory])
        exposure = make(self.one(self.data), self.one(self.data))
        repr(self.pt.Window(0, 10, exposure=exposure).measure)

    def do_rate(self) -> Any:
        rate = self.one(self.fitted).rate(self.one(self.data), quantiles=self.one([[], (0.1, 0.9), *self.numbers]))
        self.one([rate.to_frame, rate.to_xarray, rate.to_raster, rate.to_geodataframe, lambda: rate.quantile(self.one(self.numbers)), lambda: repr(rate)])()

    def do_points(self) -> Any:
        post, x = self.one(self.fitted), self.one(self.data)
        ask = [
            lambda: post.quantile(x, self.one(self.numbers)),
            lambda: post.exceedance(x, self.one(self.numbers)),
            lambda: post.expected_log_rate(x),
            lambda: post.sample(x, self.one(self.numbers), seed=self.one(self.numbers)),
        ]
        self.one(ask)()

    def do_good_points(self) -> Any:
        post = self.one(self.fitted[:2])
        self.one([lambda: post.sample(self.good, self.one(self.numbers)), lambda: post.exceedance(self.good, self.one(self.numbers))])()

    def do_new_events(self) -> Any:
        self.one(self.fitted).sample_events(self.one(self.numbers), seed=self.one(self.numbers))

    def do_count(self) -> Any:
        how = {"every": self.one(self.numbers)} if self.rng.random() < 0.3 else {"regions": self.one(self.windows + self.data)}
        draws = self.one([2, 10, 10, 10, *self.numbers]) if self.rng.random() < 0.3 else 10
        counts = self.one(self.fitted).count(**how, draws=draws)
        self.one([counts.to_frame, counts.covariance, lambda: counts[self.one(self.numbers)], lambda: counts.quantiles(self.one(self.numbers))])()

    def do_contrast(self) -> Any:
        counts = self.fitted[0].count([(0, 1), (2, 3)], draws=4)
        self.pt.contrast(self.one([counts, counts[0], *self.data]), self.one([counts[1], *self.numbers]), quantiles=self.one([0.5, *self.numbers]))

    def do_score(self) -> Any:
        said = {name: self.one(self.numbers) for name in ("repeats", "clip", "seed") if self.rng.random() < 0.2}
        self.one(self.fitted).score(self.one(self.data), draws=4, **said)

    def do_check(self) -> Any:
        self.one(self.fitted[:1]).check(self.one(self.data[len(self.numbers) + 6 :]), draws=self.one([99, 0, *self.numbers[20:]]))

    def do_file(self) -> Any:
        text = self.one(self.files)
        at = int(self.rng.integers(len(text)))
        changed = self.one([text[:at], text[:at] + "9" + text[at + 1 :], text[:at] + text[at + 5 :], text[:at] + "null" + text[at:], text.replace("0", "1", at)])
        self.pt.Posterior.from_json(changed).rate([1.0], quantiles=[])

    def do_summary_file(self) -> Any:
        data = bytearray(self.sum.to_bytes())
        for _ in range(int(self.rng.integers(1, 4))):
            data[int(self.rng.integers(len(data)))] = int(self.rng.integers(256))
        self.pt.Summary.from_bytes(bytes(data[: int(self.rng.integers(len(data) + 1))]))

    def do_no_file(self) -> Any:
        ask = self.one([self.pt.Posterior.from_json, self.pt.Summary.from_bytes, self.pt.load, self.pt.Summary.load, self.pt.read_events, self.pt.datasets.load])
        ask(self.one(self.numbers))

    def do_before_fit(self) -> Any:
        model = self.one([self.pt.IntensityModel, self.pt.VBPP, self.pt.KernelSmoother, self.pt.SGCP])()
        ask = self.one(["rate", "score", "score_samples", "posterior_", "sample", "count", "save", "summary"])
        self.one([lambda: getattr(model, ask)(self.good), lambda: self.pt.simulate(model)])()

    def do_params(self) -> Any:
        name = self.one(["link", "nothing", "posterior_", ""])
        repr(self.pt.IntensityModel().set_params(**{name: self.one(self.numbers)}))

    def do_simulate(self) -> Any:
        text = self.one(["2", "x", "x + ", "1/0", "-1", "log(x)", "exp(exp(9))", "1e999", "(" * 500, "nan", "x*y", *self.numbers])
        self.pt.simulate(text, self.one(self.windows), draws=self.one([1, *self.numbers]), names=self.one([None, ["x"], *self.numbers]))

    def do_bound(self) -> Any:
        np = self.np
        said = {"variance": 1.0, "lengthscale": 2.0, "mean": 0.5, "inducing": np.linspace(0, 10, 3), "m": np.ones(3), "L": np.eye(3)}
        said[self.one(list(said))] = self.one(self.data)
        self.pt.bound(self.good, (0, 10), **said)

    def do_many(self) -> Any:
        data = self.one([self.one(self.data), {"a": self.one(self.data)}])
        self.pt.fit_many(data, self.pt.IntensityModel(average=False, max_evaluations=1), workers=1, window=(0, 10), errors=self.one(["raise", "return", None]))

    def do_compare(self) -> Any:
        self.pt.compare(self.one(self.data), self.one([None, *self.data]), window=(0, 10), methods=self.one([["homogeneous"], *self.numbers]), draws=2)

    def do_calibrate(self) -> Any:
        self.pt.calibrate(**{self.one(["dims", "link", "events", "sets", "families", "seed"]): self.one(self.numbers[-12:]), "progress": 3})


def run(calls: int, seed: int) -> dict[str, Any]:
    """Makes the calls, and says what became of them."""
    fuzz, kinds, faults, passed = Fuzz(seed), Counter[str](), [], 0
    slowest = (0.0, "")
    for number in range(calls):
        action = fuzz.one(fuzz.actions)
        start = time.perf_counter()
        try:
            action()
            passed += 1
        except fuzz.pt.InternalError as error:
            faults.append(f"{number} {action.__name__}: {error}")
        except fuzz.pt.PointillistError as error:
            kinds[type(error).__name__] += 1
            if len(str(error)) < 20 or re.search("--[a-z]", str(error)):
                faults.append(f"{number} {action.__name__}: too few words, or those of the command: {error}")
        except IndexError as error:
            # What a sequence must raise past its end, or a loop over it does not end; only counts are one.
            faults += [] if action.__name__ == "do_count" and "range object" in str(error) else [f"{number} {action.__name__}: {error}"]
            kinds["IndexError"] += 1
        except BaseException as error:
            faults.append(f"{number} {action.__name__}: {where(error)}: {type(error).__name__}: {error}"[:400])
        slowest = max(slowest, (time.perf_counter() - start, f"{number} {action.__name__}"))
    return {"calls": calls, "passed": passed, "refused": kinds.total(), "kinds": kinds, "faults": faults[:200], "slowest": slowest}


def where(error: BaseException) -> str:
    """The line of the package that let it through."""
    line, trace = "", error.__traceback__
    while trace is not None:
        if "pointillist" in trace.tb_frame.f_code.co_filename:
            line = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line


if __name__ == "__main__":
    import faulthandler
    import resource

    # Says where, if a call crashes or does not end.
    faulthandler.enable()
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
