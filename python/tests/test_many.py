"""Many fits at once: the same bits wherever they run, and one bad entry does not lose the others."""

from __future__ import annotations

import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import joblib
import numpy as np
import pytest

import pointillist as pt

WINDOW = (0, 2)
QUICK = pt.IntensityModel(average=False)


def neurons(count: int = 5) -> dict[str, Any]:
    """Spike trains of some trials each, one neuron with a single train, one with a window of its own, one summarised."""
    rng = np.random.default_rng(3)
    found: dict[str, Any] = {f"n{number}": [rng.uniform(0, 2, rng.poisson(6)) for _ in range(8)] for number in range(count)}
    found["single"] = rng.uniform(0, 2, 30)
    return found


def bytes_of(found: dict[str, Any]) -> dict[str, str]:
    return {name: post.to_json() for name, post in found.items()}


def test_each_way_to_run_gives_the_same_bits() -> None:
    data = neurons()
    alone = {name: QUICK.fit(events, window=WINDOW).posterior_.to_json() for name, events in data.items()}
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for how in [
            {},
            {"workers": 1},
            {"backend": "joblib", "workers": 2},
            {"backend": joblib.Parallel(n_jobs=2, prefer="threads")},
            {"backend": joblib.Parallel(n_jobs=2, return_as="generator")},
            {"backend": threads},
            {"backend": processes},
        ]:
            found = pt.fit_many(data, QUICK, window=WINDOW, **how)
            assert list(found) == list(data) and bytes_of(found) == alone, how
    # The default averages over hyper-parameters; it has no chance in it either.
    few = {name: data[name] for name in ("n0", "single")}
    honest = pt.fit_many(few, window=WINDOW)
    assert bytes_of(honest) == bytes_of(pt.fit_many(few, window=WINDOW, backend="joblib", workers=2)) != {name: alone[name] for name in few}
    assert honest["n0"].sample([1.0], 3, seed=5).tolist() == pt.IntensityModel().fit(data["n0"], window=WINDOW).sample([1.0], 3, seed=5).tolist()


def test_trials_and_windows_of_each_entry() -> None:
    data = neurons(2)
    found = pt.fit_many(data, QUICK, window=WINDOW)
    assert found["n0"].window.measure == 16.0 and found["single"].window.measure == 2.0
    mixed = {
        "own window": pt.as_events(data["n0"], window=(0, 3)),
        "own trials": pt.as_events([[0.5, 0.7], [0.1, 1.2, 1.4]], trials=[(0, 1), (0, 2)]),
        "summary": pt.Summary.of(data["single"], window=(0, 4)),
    }
    measures = {name: post.window.measure for name, post in pt.fit_many(mixed, QUICK).items()}
    assert measures == {"own window": 24.0, "own trials": 3.0, "summary": 4.0}
    assert pt.fit_many({}, QUICK) == {}


@pytest.mark.parametrize("how", [{}, {"backend": "joblib", "workers": 2}, {"backend": "joblib", "workers": 1}])
def test_a_bad_entry_is_named_and_does_not_lose_the_others(how: dict[str, Any]) -> None:
    data: dict[Any, Any] = {**neurons(3), ("silent", 7): [np.empty(0)] * 4, "far": [np.array([0.5, 5.0])]}
    found = pt.fit_many(data, QUICK, window=WINDOW, errors="return", **how)
    assert list(found) == list(data)
    assert isinstance(found["silent", 7], pt.InputError) and "clip=True" in str(found["far"])
    assert sum(isinstance(post, pt.Posterior) for post in found.values()) == 4
    with pytest.raises(pt.InputError, match=r"entry (\('silent', 7\)|'far'): "):
        pt.fit_many(data, QUICK, window=WINDOW, **how)
    assert len(pt.fit_many(neurons(1), QUICK, window=WINDOW, **how)) == 2, "and the next call is not disturbed"


def test_exceptions_that_are_not_ours_are_kept_and_raised_too() -> None:
    class Failing(pt.IntensityModel):
        def fit(self, X: Any, y: Any = None, **how: Any) -> Any:
            raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError) as caught:
        pt.fit_many({"a": [1.0]}, Failing(), window=WINDOW)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["pointillist: entry 'a'"]
    assert isinstance(pt.fit_many({"a": [1.0]}, Failing(), errors="return", window=WINDOW)["a"], ZeroDivisionError)


def test_progress_and_fits_that_did_not_converge(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, int]] = []
    pt.fit_many(neurons(2), QUICK, window=WINDOW, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    pt.fit_many(neurons(2), QUICK, window=WINDOW, progress=True)
    assert "3 of 3 fits" in capsys.readouterr().err
    short = pt.VBPP(inducing=8, max_evaluations=1, progress=lambda told: None)
    with pytest.warns(pt.NotConvergedWarning, match="3 of 3 fits did not converge: 'n0', 'n1', 'single'; allow more"), warnings.catch_warnings():
        warnings.simplefilter("always")
        pt.fit_many(neurons(2), short, window=WINDOW, backend="joblib", workers=2)


def test_bad_settings_are_refused() -> None:
    for how, words in [
        ({"backend": "mpi"}, "backend='mpi' is not known"),
        ({"workers": 0}, "workers=0"),
        ({"errors": "ignore"}, "errors='ignore' is not known"),
        ({"progress": 3}, "progress=3"),
    ]:
        with pytest.raises(pt.SettingError, match=words):
            pt.fit_many({"a": [1.0]}, QUICK, window=WINDOW, **how)
    with pytest.raises(pt.SettingError, match="give a dict"):
        pt.fit_many([[1.0]], QUICK, window=WINDOW)  # type: ignore[arg-type]


def test_the_extra_is_named_where_joblib_is_missing() -> None:
    code = """
import sys
sys.modules["joblib"] = None
import pointillist
try:
    pointillist.fit_many({"a": [1.0]}, backend="joblib", window=(0, 2))
except pointillist.MissingDependencyError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'pointillist[joblib]'" in said
