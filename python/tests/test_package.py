"""What is Python's own: arrays without copies, pickles, estimators, interrupts, warnings, exceptions with a remedy."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pointillist as pt

TIMES = np.array([0.3, 1.1, 1.4, 1.9, 2.2, 2.4, 4.0, 5.5, 7.9])


@pytest.fixture(scope="module")
def coal() -> pt.IntensityModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pt.IntensityModel().fit(pt.datasets.load("coal"))


def test_import_needs_numpy_alone() -> None:
    code = "import numpy, sys; import pointillist; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(out.split()) & {"pandas", "sklearn", "matplotlib", "xarray", "geopandas", "shapely", "dask", "scipy", "joblib"}


def test_every_public_name_has_words() -> None:
    for name in pt.__all__:
        thing = getattr(pt, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


def test_posteriors_pickle_and_copy(coal: pt.IntensityModel) -> None:
    again = pickle.loads(pickle.dumps(coal))
    assert again.to_json() == coal.to_json() and copy.deepcopy(coal.posterior_).to_json() == coal.to_json()
    window = pt.Window([(0, 10), (0, 5)], repeats=3, names=["x", "y"])
    assert pickle.loads(pickle.dumps(window)) == window
    assert pickle.loads(pickle.dumps(coal.posterior_.window)) == coal.posterior_.window
    events = pickle.loads(pickle.dumps(pt.datasets.load("spikes")))
    assert len(events) == 1052 and events.trials.max() == 39 and pt.Window._of(events.window).measure == 80.0
    smoother = pt.KernelSmoother().fit(TIMES, window=(0, 10))
    assert (pickle.loads(pickle.dumps(smoother)).rate(TIMES) == smoother.rate(TIMES)).all()
    summary = pt.Summary.of(TIMES, window=(0, 10))
    assert pickle.loads(pickle.dumps(summary)).to_bytes() == summary.to_bytes()


def test_estimators_are_cloned_by_their_parameters() -> None:
    sklearn = pytest.importorskip("sklearn.base")
    model = pt.VBPP(inducing=12, window=(0, 10))
    clone = sklearn.clone(model)
    assert clone is not model and clone.get_params() == model.get_params() and clone.get_params()["inducing"] == 12
    assert clone.set_params(inducing=5).inducing == 5
    with pytest.raises(pt.SettingError, match="no parameter of VBPP"):
        clone.set_params(nodes=3)
    assert repr(pt.VBPP(inducing=12)) == "VBPP(inducing=12)"


def test_a_model_that_is_not_fitted_says_so() -> None:
    for ask in (lambda m: m.rate([1.0]), lambda m: m.posterior_, lambda m: m.score([1.0]), lambda m: m.save("x"), lambda m: m.count()):
        with pytest.raises(pt.NotFittedError, match="not fitted yet; call fit"):
            ask(pt.IntensityModel())
    with pytest.raises(AttributeError):
        pt.IntensityModel().no_such_thing


def test_a_fitted_model_answers_as_its_posterior(coal: pt.IntensityModel) -> None:
    x = np.linspace(1860, 1950, 5)
    assert (coal.rate(x).mean == coal.posterior_.rate(x).mean).all()
    assert coal.score_samples(x) == pytest.approx(np.log(coal.rate(x).mean))
    assert coal.score(pt.datasets.load("coal")) == coal.posterior_.log_likelihood(pt.datasets.load("coal"))
    frame = coal.rate(x).to_frame()
    assert list(frame.columns) == ["year", "mean", "sd", "q0.05", "q0.5", "q0.95"] and len(frame) == 5
    assert "rate" in dir(coal)


def test_counts_are_joint(coal: pt.IntensityModel) -> None:
    edges = np.array([1860.0, 1880, 1900])
    parts, whole = coal.count(edges, draws=2000), coal.count((1860, 1900), draws=2000)
    assert parts.mean.sum() == pytest.approx(whole.mean[0], rel=1e-9)
    covariance = parts.covariance()
    assert covariance[0, 1] == covariance[1, 0] and parts.draws.shape == (2, 2000)
    assert np.cov(parts.draws) == pytest.approx(covariance, rel=1e-9)
    assert covariance.sum() == pytest.approx(np.var(parts.draws.sum(0), ddof=1), rel=1e-9)
    with pytest.warns(pt.PointillistWarning, match="% of the length of regions= is outside the window .* forecast"):
        coal.count((1950, 1970))
    named = coal.count({"early": (1860, 1880), "late": pt.Window(1930, 1950)})
    assert named.names == ["early", "late"] and named["early"].mean > named["late"].mean
    assert pt.contrast(named["early"], named["late"]).probability > 0.99


def test_many_points_are_not_copied() -> None:
    points = np.random.default_rng(0).uniform(0, 10, 2_000_000)
    tracemalloc.start()
    events = pt.as_events(points, window=(0, 10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000 and len(events) == len(points)
    before = _resident()
    held = [pt.as_events(points, window=(0, 10)) for _ in range(20)]
    assert _resident() - before < 40_000_000 < points.nbytes * len(held)
    read_only = points[:1000].copy()
    read_only.flags.writeable = False
    assert len(pt.as_events(read_only, window=(0, 10))) == 1000
    flipped = np.asfortranarray(np.random.default_rng(0).uniform(0, 1, (50, 2)))
    assert (pt.as_events(flipped, window=[(0, 1), (0, 1)]).points == flipped).all()
    assert (pt.as_events(points[:2000:2], window=(0, 10)).points[:, 0] == points[:2000:2]).all()


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_model_keeps_its_own_events() -> None:
    times = TIMES.copy()
    post = pt.IntensityModel(average=False).fit(times, window=(0, 10))
    before = post.to_json()
    times[:] = 1.0
    assert post.to_json() == before


def test_threads_give_the_same_bits() -> None:
    one = pt.IntensityModel(threads=1, average=False).fit(TIMES, window=(0, 10)).to_json()
    assert one == pt.IntensityModel(threads=3, average=False).fit(TIMES, window=(0, 10)).to_json()
    many = pt.fit_many({"a": TIMES, "b": TIMES[:5]}, pt.IntensityModel(average=False), window=(0, 10))
    assert many["a"].to_json() == one and list(many) == ["a", "b"]


def test_one_bad_set_of_many() -> None:
    data = {"good": TIMES, "bad": np.array([1.0, np.nan])}
    with pytest.raises(pt.InputError):
        pt.fit_many(data, pt.IntensityModel(average=False), window=(0, 10))
    found = pt.fit_many(data, pt.IntensityModel(average=False), window=(0, 10), errors="return")
    assert isinstance(found["bad"], pt.InputError) and isinstance(found["good"], pt.Posterior)


LONG = """
import signal, numpy as np, pointillist as pt
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may ignore it
points = np.random.default_rng(0).uniform(0, 1, (4000, 2))
print("ready", flush=True)
try:
    pt.IntensityModel(basis="inducing", inducing=(60, 60)).fit(points, window=[(0, 1), (0, 1)])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_long_fit() -> None:
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    try:
        assert process.communicate(timeout=60)[0] == "interrupted\n"
    finally:
        process.kill()


def test_python_goes_on_during_a_fit_and_hears_of_it() -> None:
    ticks, heard = [], []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.002):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    points = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    pt.IntensityModel(nodes=(40, 40), progress=heard.append).fit(points, window=[(0, 1), (0, 1)])
    stop.set()
    thread.join()
    assert len(ticks) > 5
    assert heard and heard[-1]["evaluations"] > 0 and np.isfinite(heard[-1]["bound"])
    parts = [told["part"] for told in heard]
    assert parts == sorted(parts) and 0 <= parts[0] < parts[-1] <= 1


def test_an_exception_of_the_callback_ends_the_fit() -> None:
    def refuse(told: dict[str, Any]) -> None:
        raise ZeroDivisionError("enough")

    points = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    with pytest.raises(ZeroDivisionError, match="enough"):
        pt.IntensityModel(nodes=(60, 60), progress=refuse).fit(points, window=[(0, 1), (0, 1)])


def test_warnings_are_pythons() -> None:
    with pytest.warns(pt.PointillistWarning, match="window= was given, so the bounding box"):
        pt.IntensityModel(average=False).fit(TIMES)
    with pytest.warns(pt.NotConvergedWarning, match="allow more with max_evaluations="), warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.PointillistWarning)
        warnings.simplefilter("always", pt.NotConvergedWarning)
        pt.VBPP(inducing=10, max_evaluations=1).fit(TIMES, window=(0, 10))


@pytest.mark.parametrize(
    ("events", "how", "kind", "words"),
    [
        ([1.0, np.nan], {}, pt.InputError, "not a finite number"),
        ([1.0, np.inf], {}, pt.InputError, "not a finite number"),
        ([], {}, pt.InputError, "no events"),
        (np.empty((0, 2)), {}, pt.InputError, "no events"),
        (np.zeros((2, 2, 2)), {}, pt.InputError, "shape"),
        (np.zeros((3, 0)), {}, pt.InputError, "no coordinates"),
        (np.float64(3.0), {}, pt.InputError, "one number"),
        (np.array([1, "a", None], dtype=object), {}, pt.InputError, "row 2"),
        (np.array([1, {}], dtype=object), {}, pt.InputError, "numpy.asarray"),
        ("coal", {}, pt.InputError, "read_events"),
        (None, {}, pt.InputError, "None"),
        (np.array([True, False]), {}, pt.InputError, "booleans"),
        (np.array([1j]), {}, pt.InputError, "complex"),
        (np.array([2**60, 2**61]), {}, pt.InputError, "datetime64"),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[s]"), {}, pt.InputError, "NaT"),
        (np.array([10**18, 0], dtype="datetime64[s]"), {}, pt.InputError, "overflow"),
        (np.array([1, 2], dtype="timedelta64[s]"), {}, pt.InputError, "durations"),
        (["yesterday", "today"], {}, pt.InputError, "ISO dates"),
        (pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]), {}, pt.InputError, "dropna"),
        (pd.DataFrame(), {}, pt.InputError, "without columns"),
        (pd.DataFrame({"a": ["x"]}), {}, pt.InputError, "choose them"),
        (pd.DataFrame({"a": []}, dtype=float), {}, pt.InputError, "no events"),
        (TIMES, {"window": (0, 5)}, pt.InputError, "clip=True"),
        (TIMES, {"window": (5, 0)}, pt.InputError, "not below"),
        (TIMES, {"window": [(0, 10), (0, 10)]}, pt.InputError, "one axis"),
        (TIMES, {"window": (0, float("nan"))}, pt.InputError, "finite"),
        (TIMES, {"window": ("2020-01-01", "2021-01-01")}, pt.InputError, "holds numbers"),
        (TIMES, {"window": (0, object())}, pt.WindowError, "no end of a box"),
        (TIMES, {"window": pt.Window(0, 5) | pt.Window(4, 10)}, pt.InputError, "overlap"),
        (TIMES, {"window": {"type": "Polygon", "coordinates": []}}, pt.InputError, "no polygon"),
        (TIMES, {"window": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}}, pt.InputError, "two axes"),
        ([[0.1, 0.1]], {"window": {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}}, pt.InputError, "repair the border"),
        (TIMES, {"window": (0, 10), "repeats": 0}, pt.InputError, "nobody looked"),
        (TIMES, {"window": (0, 10), "exposure": [1, 2]}, pt.SettingError, "Exposure.grid"),
        (TIMES, {"window": (0, 10), "names": ["a", "b"]}, pt.SettingError, "name each"),
    ],
)
def test_bad_events_are_refused_with_a_remedy(events: Any, how: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        pt.IntensityModel().fit(events, **how)
    assert isinstance(caught.value, pt.PointillistError) and isinstance(caught.value, ValueError)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"link": "cube"}, "link='cube' is not known; take one of auto, square, log"),
        ({"basis": "spline"}, "basis='spline'"),
        ({"smoothness": 3}, "smoothness=3 is not known"),
        ({"kernel": "se("}, "kernel=:"),
        ({"inducing": "many"}, "inducing='many'"),
        ({"inducing": 0}, "inducing=0 needs at least one point"),
        ({"inducing": (3, 3)}, "inducing='3x3' is for 2 axes"),
        ({"nodes": 3.5}, "nodes=3.5 is not a grid"),
        ({"nodes": 30, "kernel": "se"}, "nodes= asks for a lattice, so kernel= has no effect"),
        ({"prior": {"lengthscale": "cauchy(0, 1)"}}, "prior='lengthscale ~ cauchy"),
        ({"prior": {"width": "gamma(1, 1)"}}, "there is no parameter `width`"),
        ({"fix": {"lengthscale": -1}}, "must be a positive number"),
        ({"mean": "constant"}, "average=False"),
        ({"average": "on"}, "average='on' is not understood; give True or False"),
        ({"jitter": 2.0, "inducing": 5}, "jitter=2 must lie between 0 and 1"),
        ({"max_evaluations": 0}, "max_evaluations=0 leaves nothing to do"),
        ({"threads": 0}, "threads=0"),
        ({"progress": 3}, "progress=3"),
    ],
)
def test_bad_settings_are_named_as_python_names_them(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(pt.SettingError) as caught:
        pt.IntensityModel(**settings).fit(TIMES, window=(0, 10))
    assert words in str(caught.value) and "--" not in str(caught.value)


def test_bad_questions_are_refused(coal: pt.IntensityModel, tmp_path: Any) -> None:
    for ask, kind, words in [
        (lambda: coal.rate([[1.0, 2.0]]), pt.InputError, "shape"),
        (lambda: coal.rate([np.nan]), pt.InputError, "finite"),
        (lambda: coal.rate(["2020-01-01"]), pt.InputError, "holds numbers"),
        (lambda: coal.quantile([1900.0], 1.5), pt.SettingError, "between 0 and 1"),
        (lambda: coal.exceedance([1900.0], -1), pt.SettingError, "not negative"),
        (lambda: coal.sample([1900.0], 0), pt.SettingError, "n=0"),
        (lambda: coal.sample([1900.0], 1, seed=-1), pt.SettingError, "seed=-1"),
        (lambda: coal.count([(1, 2, 3)]), pt.WindowError, "3 numbers"),
        (lambda: coal.count(draws=1), pt.SettingError, "draws=1"),
        (lambda: coal.posterior_.score([1.0]), pt.InputError, "inside the window"),
        (lambda: pt.load(tmp_path / "none.json"), pt.FileError, "does not exist"),
        (lambda: pt.Posterior.from_json("{}"), pt.ModelFileError, "not a model file"),
        (lambda: pt.Posterior.from_json(coal.to_json()[:-40]), pt.ModelFileError, "cut short"),
        (lambda: pt.Summary.from_bytes(b"no"), pt.ModelFileError, "not a summary"),
        (lambda: pt.Summary.of(TIMES), pt.WindowError, "window="),
        (lambda: pt.Summary.of(TIMES, (0, 10)) + pt.Summary.of(TIMES, (0, 9)), pt.ModelFileError, "window="),
        (lambda: coal.save(tmp_path / "no" / "m.json"), pt.FileError, "m.json"),
        (lambda: pt.datasets.load("coall"), pt.InputError, "coal"),
        (lambda: pt.simulate("2 +", (0, 1)), pt.SettingError, "intensity="),
        (lambda: pt.simulate("x", None), pt.SettingError, "window="),
        (lambda: pt.contrast(1, 2), pt.SettingError, "counts"),
        (lambda: pt.read_events("none.csv"), pt.FileError, "does not exist"),
        (lambda: pt.Exposure.trajectory([1, 0], [0.0, 1.0]), pt.InputError, "rise"),
        (lambda: pt.Exposure.grid([0, 1], [1, 2, 3]), pt.InputError, "shape"),
    ]:
        with pytest.raises(kind, match=words) as caught:
            ask()
        assert isinstance(caught.value, pt.PointillistError) and "--" not in str(caught.value)


def test_events_in_another_crs_are_refused() -> None:
    window = pt.Window([(0, 1), (0, 1)], crs="EPSG:4326")
    summary = pt.Summary.of([[0.5, 0.5]], window)
    other = pt.Summary.of([[0.5, 0.5]], pt.Window([(0, 1), (0, 1)], crs="EPSG:3857"))
    with pytest.raises(pt.WindowError, match="to_crs"):
        summary + other


def test_the_gradient_of_the_bound_is_that_of_differences() -> None:
    Z, rng = np.linspace(0, 10, 6), np.random.default_rng(0)
    m, L = 0.6 + 0.1 * rng.standard_normal(6), np.tril(0.2 * np.eye(6) + 0.02 * rng.standard_normal((6, 6)))

    def at(**changed: Any) -> pt.Bound:
        given = {"variance": 1.1, "lengthscale": 2.2, "mean": 0.4, "inducing": Z, "m": m, "L": L, **changed}
        return pt.bound(TIMES, (0, 10), prior_mean="paper", **given)

    centre, step = at(), 1e-5
    parts = centre.parts
    assert centre.value == pytest.approx(parts["log_rate"] - parts["integral"] - parts["kl"], rel=1e-12)
    for name, value in [("variance", 1.1), ("lengthscale", 2.2), ("mean", 0.4)]:
        slope = (at(**{name: value + step}).value - at(**{name: value - step}).value) / (2 * step)
        assert np.ravel(centre.gradient[name])[0] == pytest.approx(slope, rel=1e-5)
    for i, name, array in [(2, "m", m), (3, "inducing", Z)]:
        higher, lower = array.copy(), array.copy()
        higher[i] += step
        lower[i] -= step
        slope = (at(**{name: higher}).value - at(**{name: lower}).value) / (2 * step)
        assert np.ravel(centre.gradient[name])[i] == pytest.approx(slope, rel=1e-4)
    higher, lower = L.copy(), L.copy()
    higher[4, 2] += step
    lower[4, 2] -= step
    slope = (at(L=higher).value - at(L=lower).value) / (2 * step)
    assert centre.gradient["L"][4, 2] == pytest.approx(slope, rel=1e-4)


def test_windows_and_exposures() -> None:
    assert pt.Window(0, 10, exposure=pt.Exposure.trajectory([0, 1, 3], [2.0, 5.0, 8.0])).measure == pytest.approx(3.0)
    both = pt.Window(0, 1) | pt.Window(2, 3)
    assert both.contains([0.5, 1.5, 2.5]).tolist() == [True, False, True] and both.bounds == [(0.0, 3.0)]
    square = pt.Window([(0, 2), (1, 3)])
    assert square.__geo_interface__["type"] == "Polygon" and pt.Window(square.__geo_interface__).measure == pytest.approx(4.0)
    assert pt.datasets.border("kenya").contains([[36.8, -1.3], [34.0, 4.9]]).tolist() == [True, False]
    three = pt.Window({"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}, between=(0, 4))
    assert three.measure == pytest.approx(2.0) and three.dims == 3
    assert pt.Window(0, 10, time_unit="days").grid(3).tolist() == [[0.0], [5.0], [10.0]]
    assert pt.Window(pd.Timestamp("2020-01-01", tz="UTC"), np.datetime64("2020-01-03")).measure == 2.0


def test_the_sampler_agrees_with_itself() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.NotConvergedWarning)
        sampler = pt.SGCP(chains=2, warm_up=50, max_sweeps=200).fit(TIMES, window=(0, 10))
    rate = sampler.rate([2.0, 9.0], draws=200)
    assert rate.mean[0] > rate.mean[1] > 0 and sampler.sample([2.0], 3).shape == (3, 1)
    assert np.isfinite(sampler.score([2.0, 3.0])) and sampler.diagnostics_["sweeps"] > 0
    assert (pickle.loads(pickle.dumps(sampler)).rate([2.0, 9.0], draws=200).mean == rate.mean).all()


def test_a_forked_process_fits_too(coal: pt.IntensityModel) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        fitted = pt.IntensityModel(average=False).fit(TIMES, window=(0, 10))
        os.write(writer, f"{fitted.elbo:.6f} {fitted.expected_log_rate([1.0])[0]:.6f}".encode())
        os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the forked process hangs")
        time.sleep(0.01)
    here = pt.IntensityModel(average=False).fit(TIMES, window=(0, 10))
    assert os.read(reader, 100).decode() == f"{here.elbo:.6f} {here.expected_log_rate([1.0])[0]:.6f}"


def test_checks_and_calibration(coal: pt.IntensityModel) -> None:
    found = coal.check(draws=400)
    assert found["events"] == 191 and 0 < found["mean"]["median"] < 0.2 and found["goodness"]["p"] > 0
    calibration = pt.calibrate(sets=20, events=20, families="own")
    assert calibration["sets"] == 20


LITTLE = """
import pointillist as pt
pt.set_max_memory("10MB")
try:
    pt.IntensityModel(nodes=(200, 200)).fit([[0.1, 0.2], [0.5, 0.7], [0.9, 0.3]], window=[(0, 1), (0, 1)])
except pt.SettingError as error:
    print(error)
"""


def test_the_limit_of_memory_is_one_that_can_be_set() -> None:
    said = subprocess.run([sys.executable, "-c", LITTLE], capture_output=True, text=True, check=True).stdout
    assert "nodes='200x200'" in said and "pointillist.set_max_memory" in said
    with pytest.raises(pt.SettingError, match=r"pointillist.set_max_memory\('lots'\) is no size; write it as in 500MB"):
        pt.set_max_memory("lots")
