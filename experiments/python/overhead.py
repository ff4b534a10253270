#!/usr/bin/env python3
"""What Python costs: the import, a fit of coal above Rust's own seconds, and ten million points that pass in without a copy.

    pip install .
    python3 experiments/python/overhead.py

Prints a Markdown table. Medians, with the least in brackets: a shared machine only ever adds.
"""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from statistics import median

import numpy as np

import pointillist as pt
from pointillist import _core

IMPORT = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import pointillist
print(middle - start, time.perf_counter() - middle)
"""


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def said(seconds):
    return f"{1e3 * median(seconds):.2f} ms ({1e3 * min(seconds):.2f})"


def imports(runs=7):
    """Seconds of numpy, and of pointillist after it, in new processes; with bytecode, which pip writes when it installs."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        settings["PYTHONPYCACHEPREFIX"] = folder
        lines = [
            subprocess.run([sys.executable, "-c", IMPORT], env=settings, capture_output=True, text=True, check=True).stdout
            for _ in range(runs + 1)
        ]
    return list(zip(*(map(float, line.split()) for line in lines[1:])))


def fits(runs=41):
    """Seconds of a fit of coal: whole, in the compiled module, and as the fit itself tells them."""
    coal, whole, inside, own = pt.datasets.load("coal"), [], [], []
    fit = _core.fit

    def timed(*arguments):
        start = time.perf_counter()
        found = fit(*arguments)
        inside.append(time.perf_counter() - start)
        return found

    _core.fit = timed
    try:
        for _ in range(runs):
            start = time.perf_counter()
            model = pt.IntensityModel().fit(coal)
            whole.append(time.perf_counter() - start)
            own.append(model.summary["seconds"])
    finally:
        _core.fit = fit
    return whole, inside, own


def passing(count=10_000_000):
    """What it takes to make events of an array: seconds, and bytes by Python's own count and by the system's."""
    points = np.random.default_rng(0).uniform(0, 10, count)
    window = pt.Window(0, 10)
    pt.as_events(points[:10], window=window)
    tracemalloc.start()
    before, start = resident(), time.perf_counter()
    events = pt.as_events(points, window=window)
    seconds, grown = time.perf_counter() - start, resident() - before
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(events) == count and max(peak, grown) < points.nbytes / 10
    return points.nbytes, seconds, peak, grown


def main():
    warnings.simplefilter("ignore")
    numpy_seconds, own_seconds = imports()
    print("| what | measured |")
    print("|---|---|")
    print(f"| `import numpy` | {said(numpy_seconds)} |")
    print(f"| `import pointillist` after it | {said(own_seconds)} |", flush=True)
    whole, inside, own = fits()
    print(f"| a fit of coal, by its own count | {said(own)} |")
    print(f"| the compiled module above that | {said([a - b for a, b in zip(inside, own)])} |")
    print(f"| Python above the compiled module | {said([a - b for a, b in zip(whole, inside)])} |", flush=True)
    size, seconds, peak, grown = passing()
    print(f"| 10⁷ points ({size / 1e6:.0f} MB) become events | {seconds:.3f} s |")
    print(f"| memory that takes | {peak / 1e3:.1f} kB by Python's count, {grown / 1e6:.2f} MB by the system's |")


if __name__ == "__main__":
    main()
