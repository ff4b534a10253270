"""A summary of 10⁸ simulated events over 64 partitions: on a Dask cluster of two processes, and beside it in one process.

    python experiments/python/dask_summary.py [--events 1e8] [--partitions 64] [--workers 2] [--cells N] [--directory DIR] [-o results.json]

The events (float64, on a line) are written to one .npy file for each partition first, which is not timed; both ways read them from there. One process:
`Summary.of` of each file, added up in the tree of `summarize`. The cluster: `pointillist.dask.summarize` over delayed reads. The two summaries must be equal to the
last bit. The memory of the scheduler, a process of its own, is looked at five times a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import numpy as np
import psutil
from distributed import Client

import pointillist as pt
from pointillist.dask import summarize

WINDOW = (0.0, 100.0)


def write(directory: Path, number: int, size: int) -> Path:
    rng = np.random.default_rng(number)
    path = directory / f"{number}.npy"
    np.save(path, np.where(rng.uniform(size=size) < 0.5, 100 * rng.beta(2, 5, size), rng.uniform(0, 100, size)))
    return path


def read(path: str) -> np.ndarray:
    return np.load(path)


def tree(parts: list[pt.Summary], width: int = 8) -> pt.Summary:
    while len(parts) > 1:
        parts = [pt.Summary.total(parts[i : i + width]) for i in range(0, len(parts), width)]
    return parts[0]


def in_one_process(paths: list[Path], cells: int | None) -> tuple[float, float, pt.Summary]:
    """Groups of eight as they come, so that it holds no more summaries than it must."""
    start, cpu = time.perf_counter(), time.process_time()
    groups = [
        pt.Summary.total(pt.Summary.of(read(str(path)), WINDOW, cells=cells) for path in paths[i : i + 8]) for i in range(0, len(paths), 8)
    ]
    found = tree(groups)
    return time.perf_counter() - start, time.process_time() - cpu, found


def cpu_of(processes: list[subprocess.Popen[bytes]]) -> float:
    """CPU seconds of processes and their children so far: a worker works in a child of the process that minds it."""
    every = [one for process in processes for one in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True))]
    return sum(one.cpu_times().user + one.cpu_times().system for one in every)


class Memory(threading.Thread):
    """Looks at the resident memory of a process until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process, self.seen, self.done = psutil.Process(pid), [], threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.2):
            self.seen.append(self.process.memory_info().rss / 2**20)


def tenths(seen: list[float]) -> list[float]:
    """What was seen after each tenth of the time."""
    return [round(seen[(len(seen) - 1) * tenth // 10], 1) for tenth in range(11)] if seen else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=1e8)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cells", type=int)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--directory")
    parser.add_argument("-o", "--output")
    said = parser.parse_args()
    size = int(said.events) // said.partitions
    with tempfile.TemporaryDirectory(dir=said.directory) as directory:
        paths = [write(Path(directory), number, size) for number in range(said.partitions)]
        lines = [one_round(paths, said, directory) for _ in range(said.rounds)]
    if said.output:
        Path(said.output).write_text(json.dumps(lines, indent=1) + "\n")


def one_round(paths: list[Path], said: argparse.Namespace, directory: str) -> dict[str, object]:
    load = os.getloadavg()[0]
    one, one_cpu, summary = in_one_process(paths, said.cells)
    address = Path(directory) / "scheduler.json"
    address.unlink(missing_ok=True)
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(address), "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen(run, stderr=subprocess.DEVNULL)
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address), "--nthreads", "1", "--no-dashboard"],
            stderr=subprocess.DEVNULL,
        )
        for _ in range(said.workers)
    ]
    try:
        while not address.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(address)) as client:
            client.wait_for_workers(said.workers)
            # Workers import what they need before the clock runs.
            summarize([dask.delayed(np.zeros)(3) for _ in range(8 * said.workers)], WINDOW, cells=said.cells)
            memory = Memory(scheduler.pid)
            before = memory.process.memory_info().rss / 2**20
            memory.start()
            start, cpu = time.perf_counter(), cpu_of([scheduler, *workers])
            found = summarize([dask.delayed(read)(str(path)) for path in paths], WINDOW, cells=said.cells)
            seconds, cpu = time.perf_counter() - start, cpu_of([scheduler, *workers]) - cpu
            memory.done.set()
            memory.join()
    finally:
        for process in [*workers, scheduler]:
            process.terminate()
        for process in [*workers, scheduler]:
            process.wait()
    line: dict[str, object] = {
        "events": found.events,
        "partitions": len(paths),
        "cells": found.cells,
        "summary_megabytes": round(len(found.to_bytes()) / 2**20, 2),
        "one_process_seconds": round(one, 2),
        "dask_seconds": round(seconds, 2),
        "ratio": round(seconds / one, 3),
        "one_process_cpu_seconds": round(one_cpu, 2),
        "dask_cpu_seconds": round(cpu, 2),
        "cpu_ratio": round(cpu / one_cpu, 3),
        "same_bits": found.to_bytes() == summary.to_bytes(),
        "scheduler_megabytes": {
            "before": round(before, 1),
            "highest": round(max(memory.seen, default=before), 1),
            "tenths": tenths(memory.seen),
        },
        "load": round(load, 2),
    }
    print(json.dumps(line), flush=True)
    return line


if __name__ == "__main__":
    main()
