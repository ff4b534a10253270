"""How long `fit_many` takes on a thousand simulated neurons: one quick fit each, and the default, which averages.

    python experiments/python/many.py [--neurons 1000] [--workers 2] [--backend threads] [--only quick,honest]

Each neuron has 20 trials of 2 seconds and about 200 spikes in all, from a rate with a bump of its own place, width and height. A line of JSON each.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings

import numpy as np

import pointillist as pt


def neuron(seed: int, trials: int = 20, length: float = 2.0, spikes: float = 200.0) -> list[np.ndarray]:
    """Spike trains from a constant and a Gaussian bump."""
    rng = np.random.default_rng(seed)
    place, width, share = rng.uniform(0, length), rng.uniform(0.05, 0.4), rng.uniform(0, 0.8)
    trains = []
    for _ in range(trials):
        count = rng.poisson(spikes / trials)
        bump = rng.normal(place, width, count)
        flat = rng.uniform(0, length, count)
        train = np.where((rng.uniform(size=count) < share) & (bump > 0) & (bump < length), bump, flat)
        trains.append(np.sort(train))
    return trains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neurons", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--only", default="quick,honest")
    said = parser.parse_args()
    data = {number: neuron(number) for number in range(said.neurons)}
    spikes = float(np.mean([sum(map(len, trains)) for trains in data.values()]))
    for name in said.only.split(","):
        model = pt.IntensityModel(average=False) if name == "quick" else pt.IntensityModel()
        load, start, cpu = os.getloadavg()[0], time.perf_counter(), time.process_time()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found = pt.fit_many(data, model, workers=said.workers, backend=said.backend, window=(0, 2), errors="return")
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        failed = sum(isinstance(post, Exception) for post in found.values())
        print(
            json.dumps(
                {
                    "fit": name,
                    "neurons": len(found),
                    "spikes": round(spikes, 1),
                    "backend": said.backend,
                    "workers": said.workers,
                    "seconds": round(wall, 2),
                    "cpu_seconds": round(cpu, 2),
                    "failed": failed,
                    "warnings": len(heard),
                    "load": round(load, 2),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
