"""Summaries on a Dask cluster of several processes, of which one dies."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import pointillist as pt
from pointillist.dask import summarize

from test_same_as_command import without_command

WINDOW = (0, 10)
SQUARE = [(0, 10), (0, 10)]
#: What another order of sums may change, as a part of the events in a cell. The same order changes nothing.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def part(number: int, size: int = 2000) -> np.ndarray[Any, Any]:
    return 10 * np.random.default_rng(number).beta(2, 3, size)


def cells_of(summary: pt.Summary) -> dict[int, tuple[int, np.ndarray[Any, Any]]]:
    """Number of events and values of each cell, read as docs/summary-file.md says."""
    data = summary.to_bytes()
    start = 16 + struct.unpack_from("<I", data, 12)[0]
    header = json.loads(data[16:start])
    axes = len(header["cells"])
    nodes, found = header["order"] ** axes, {}
    for _ in range(header["records"]):
        index, count = struct.unpack_from("<QQ", data, start)
        values = count * axes if count <= nodes else nodes
        found[index] = (count, np.frombuffer(data, "<f8", values, start + 16))
        start += 16 + 8 * values
    assert start == len(data) - 8
    return found


def furthest(one: pt.Summary, other: pt.Summary) -> float:
    """The largest difference of two summaries, as a part of the events in a cell."""
    ours, theirs = cells_of(one), cells_of(other)
    assert {index: count for index, (count, _) in ours.items()} == {index: count for index, (count, _) in theirs.items()}
    return max(float(np.abs(values - theirs[index][1]).max()) / count for index, (count, values) in ours.items())


def test_every_kind_of_collection_gives_the_summary_of_its_events(client: Client) -> None:
    rows = np.random.default_rng(0).uniform(0, 10, (600, 2))
    frame = pd.DataFrame(rows, columns=["x", "y"]).assign(z=1.0, w=2.0)
    points = [tuple(row) for row in rows.tolist()]
    chunks = [rows[i : i + 100] for i in range(0, 600, 100)]
    whole = pt.Summary.of(rows, SQUARE, names=["x", "y"])
    for data, how in [
        (dd.from_pandas(frame, npartitions=6), {"columns": ["x", "y"]}),
        (da.from_array(rows, chunks=(100, 2)), {}),
        (db.from_sequence(points, npartitions=6), {}),
        (db.from_sequence(list(rows), npartitions=6), {}),
        (db.from_sequence(chunks, npartitions=3), {}),
        ([dask.delayed(chunk) for chunk in chunks], {}),
        ([dask.delayed(chunk.tolist()) for chunk in chunks], {}),
    ]:
        found = summarize(data, SQUARE, names=["x", "y"], **how)
        # Few events in each cell are kept one by one, so that there is nothing to round.
        assert found.to_bytes() == whole.to_bytes()
    times = rows[:, 0]
    alone = pt.Summary.of(times, WINDOW).to_bytes()
    for data in (da.from_array(times, chunks=100), db.from_sequence(times.tolist(), npartitions=5), dask.delayed(times)):
        assert summarize(data, WINDOW).to_bytes() == alone
    assert summarize(dd.from_pandas(frame["x"], npartitions=4), WINDOW, client=client).events == 600


def test_dates_and_partitions_without_events(client: Client) -> None:
    dates = pd.DataFrame({"when": pd.Timestamp("2020-01-01") + pd.to_timedelta(part(0), unit="D")})
    frame = dd.from_pandas(dates, npartitions=4)
    window = ("2020-01-01", "2020-01-11")
    assert summarize(frame, window).to_bytes() == pt.Summary.of(dates, window).to_bytes()
    with pytest.raises(pt.InputError, match="partition 0: the window has dates, and the events are numbers"):
        summarize([dask.delayed(part(0))], window)
    early = frame[frame.when < "2020-01-01T03"]
    some = summarize(early, window)
    assert 0 < some.events < 50 and some.events == len(early)
    empty_too = db.from_sequence([(1.0, 2.0), (3.0, 4.0)], npartitions=2).filter(lambda point: point[0] > 2)
    assert summarize(empty_too, SQUARE).events == 1


def test_an_exposure_travels_with_the_window(client: Client) -> None:
    effort = pt.Exposure.grid(np.linspace(0, 10, 3001), np.linspace(1, 2, 3001))
    parts = [dask.delayed(part)(number, 3) for number in range(4)]
    found = summarize(parts, pt.Window(0, 10, exposure=effort))
    assert found.to_bytes() == pt.Summary.of(np.concatenate([part(number, 3) for number in range(4)]), WINDOW, exposure=effort).to_bytes()
    assert found.window.measure == pytest.approx(15.0)


def test_arrays_that_are_not_aligned_are_taken() -> None:
    """As they come out of messages."""
    times = part(0, 50)
    shifted = np.frombuffer(b"." + times.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    assert not shifted.flags.aligned
    assert pt.Summary.of(shifted, WINDOW).to_bytes() == pt.Summary.of(times, WINDOW).to_bytes()


def test_the_order_of_sums_is_that_of_partitions_on_any_number_of_workers(client: Client) -> None:
    parts = [dask.delayed(part)(number) for number in range(20)]
    on_cluster = summarize(parts, WINDOW, cells=50, split_every=4)
    with dask.config.set(scheduler="synchronous"):
        here = summarize(parts, WINDOW, cells=50, split_every=4)
    assert on_cluster.to_bytes() == here.to_bytes()
    singly = [pt.Summary.of(part(number), WINDOW, cells=50) for number in range(20)]
    fours = [pt.Summary.total(singly[i : i + 4]) for i in range(0, 20, 4)]
    by_hand = pt.Summary.total([pt.Summary.total(fours[:4]), pt.Summary.total(fours[4:])])
    assert on_cluster.to_bytes() == by_hand.to_bytes()
    # One after the other, and all events at once, round otherwise.
    for otherwise in (pt.Summary.total(singly), pt.Summary.of(np.concatenate([part(number) for number in range(20)]), WINDOW, cells=50)):
        assert 0 < furthest(on_cluster, otherwise) < ROUNDING


def test_a_worker_killed_in_the_middle_changes_nothing(client: Client, tmp_path: Path) -> None:
    def made(number: int) -> Any:
        runs = len(list(tmp_path.glob(f"{number}-*")))
        (tmp_path / f"{number}-{runs}").touch()
        if number == 20 and runs == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return part(number)

    before = client.run(os.getpid)
    undisturbed = summarize([dask.delayed(part)(number) for number in range(24)], WINDOW, cells=50)
    killed = summarize([dask.delayed(made)(number) for number in range(24)], WINDOW, cells=50)
    assert (tmp_path / "20-1").exists(), "partition 20 was made again"
    client.wait_for_workers(3, timeout=30)
    assert set(client.run(os.getpid).values()) != set(before.values())
    assert killed.to_bytes() == undisturbed.to_bytes() and furthest(killed, undisturbed) == 0.0
    in_one_pass = pt.Summary.of(np.concatenate([part(number) for number in range(24)]), WINDOW, cells=50)
    assert furthest(killed, in_one_pass) < ROUNDING
    model = pt.IntensityModel(average=False)
    assert model.fit(killed).to_json() == model.fit(undisturbed).to_json()
    assert model.fit(killed).elbo == pytest.approx(model.fit(in_one_pass).elbo, rel=1e-9)


def test_nothing_but_summaries_travels(client: Client) -> None:
    def received(dask_worker: Any) -> list[dict[str, int]]:
        return [dict(entry["keys"]) for entry in dask_worker.transfer_incoming_log]

    def log_is_kept(dask_worker: Any) -> int:
        dask_worker.transfer_incoming_log.clear()
        return len(dask_worker.transfer_incoming_log)

    assert set(client.run(log_is_kept).values()) == {0}
    size, chunk = 4_000_000, 250_000
    events = da.random.default_rng(1).uniform(0, 10, size=(size, 1), chunks=(chunk, 1)) * 1.0
    summary = summarize(events, WINDOW, cells=100)
    assert summary.events == size
    travelled = [item for log in client.run(received).values() for entry in log for item in entry.items()]
    assert travelled and all("_joined" in str(key) for key, _ in travelled)
    # A partition is two megabytes; each summary less than a hundredth of that.
    assert max(size for _, size in travelled) == 100 * (16 + 4 * 8) < 8 * chunk / 100


def test_a_partition_is_made_and_summarised_in_one_task() -> None:
    frame = pd.DataFrame({"x": part(0), "y": part(0)})
    for data, how in [
        (dd.from_pandas(frame, npartitions=5).map_partitions(lambda rows: rows[rows.x > 1]), {"columns": "x"}),
        (da.random.default_rng(1).uniform(0, 5, size=500, chunks=100) + 1, {}),
        (db.range(500, npartitions=5).map(lambda number: number / 100).filter(lambda x: x > 1), {}),
        ([dask.delayed(np.sort)(dask.delayed(part)(number)) for number in range(5)], {}),
    ]:
        graph = dict(summarize(data, WINDOW, compute=False, **how).__dask_graph__())
        # Nothing is a task of its own but summaries and their sums, so there is nothing else to send.
        assert all("_joined" in str(key) for key in graph), list(graph)


def test_what_no_partition_could_take_is_refused_before_it_is_sent() -> None:
    rows = np.random.default_rng(0).uniform(0, 10, (60, 2))
    frame = dd.from_pandas(pd.DataFrame(rows, columns=["x", "y"]), npartitions=2)
    for data, window, how, kind, words in [
        (rows, SQUARE, {}, pt.InputError, "Summary.of"),
        ("x", SQUARE, {}, pt.InputError, "list of delayed"),
        ([], SQUARE, {}, pt.InputError, "list of delayed"),
        (frame, None, {}, pt.SettingError, "window="),
        (frame, WINDOW, {}, pt.WindowError, "2 numbers"),
        (frame, WINDOW, {"columns": "z"}, pt.SettingError, "no column 'z'; there are x, y"),
        (frame, (5, 1), {"columns": "x"}, pt.WindowError, "not below"),
        (frame, WINDOW, {"columns": "x", "cells": 0}, pt.SettingError, "cells"),
        (frame, WINDOW, {"columns": "x", "split_every": 1}, pt.SettingError, "split_every=1"),
        (da.from_array(rows, chunks=(30, 1)), SQUARE, {}, pt.InputError, r"rechunk\(\{1: -1\}\)"),
        (da.from_array(rows, chunks=30), SQUARE, {"columns": "x"}, pt.SettingError, "leave it out"),
        (da.zeros((2, 2, 2)), SQUARE, {}, pt.InputError, "3 dimensions"),
        ([dask.delayed(rows)], (5, 1), {}, pt.WindowError, "not below"),
    ]:
        with pytest.raises(kind, match=words):
            summarize(data, window, **how)


def test_a_bad_partition_is_named_and_dropped_events_are_counted(client: Client) -> None:
    good, bad = part(0, 50), np.array([1.0, np.nan])
    with pytest.raises(pt.InputError, match="partition 1: .*finite"):
        summarize([dask.delayed(good), dask.delayed(bad)], WINDOW)
    with pytest.raises(pt.InputError, match="partition 0: .*clip=True"):
        summarize([dask.delayed(good)], (0, 1))
    with pytest.warns(pt.PointillistWarning, match="events of all partitions are outside") as heard:
        clipped = summarize([dask.delayed(good), dask.delayed(good)], (0, 4), clip=True)
    assert clipped.dropped == 2 * int((good > 4).sum()) == 100 - clipped.events and len(heard) == 1


def test_the_extra_is_named_where_dask_is_missing() -> None:
    code = """
import sys
sys.modules["dask"] = None
import pointillist
try:
    import pointillist.dask
except pointillist.MissingDependencyError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'pointillist[dask]'" in said


def test_many_fits_on_a_cluster_are_those_on_threads(client: Client) -> None:
    data: dict[Any, Any] = {number: [part(100 * number + trial, 8) for trial in range(4)] for number in range(6)}
    data["none"] = [np.empty(0)]
    data["far"] = client.scatter(part(7, 39))
    model, told = pt.IntensityModel(average=False), []
    there = pt.fit_many(data, model, client=client, window=WINDOW, errors="return", progress=lambda *so_far: told.append(so_far))
    data["far"] = part(7, 39)
    here = pt.fit_many(data, model, window=WINDOW, errors="return")
    assert list(there) == list(data) and told == [(done, 8) for done in range(1, 9)]
    for key, post in here.items():
        if key == "none":
            assert isinstance(post, pt.InputError) and str(there[key]) == str(post)
        else:
            assert there[key].to_json() == post.to_json()
    with pytest.raises(pt.InputError, match="entry 'none'"):
        pt.fit_many(data, model, client=client, window=WINDOW)
    with pytest.raises(pt.SettingError, match="client="):
        pt.fit_many(data, model, client=client, backend="joblib", window=WINDOW)


def test_many_fits_survive_a_worker(client: Client, tmp_path: Path) -> None:
    class Deadly(pt.IntensityModel):
        def fit(self, X: Any, y: Any = None, **how: Any) -> Any:
            mark = tmp_path / "killed"
            if len(X) == 13 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fit(X, **how)

    data = {number: part(number, 10 + number) for number in range(6)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = pt.fit_many(data, Deadly(average=False), client=client, window=WINDOW)
    assert (tmp_path / "killed").exists()
    here = pt.fit_many(data, pt.IntensityModel(average=False), window=WINDOW)
    of = {key: without_command(post.to_json()) for key, post in there.items()}
    assert of == {key: without_command(post.to_json()) for key, post in here.items()}
