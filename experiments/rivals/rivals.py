#!/usr/bin/env python3
"""Held-out log-likelihood on rough maps: pointillist without options beside its own kernel smoothing, scikit-learn and spatstat.

    python3 experiments/rivals/rivals.py FOLDER [--pointillist PATH] [--seeds 3] [--sets kenya,porto_taxi] [--only spatstat] [--budget 10min] [-o results.json]

FOLDER holds uk_accidents/, quakes_global/ and porto_taxi/, each with NAME.csv (columns lon, lat) and, for the first, window.geojson;
kenya comes with pointillist. Results are added to those in the output, so that methods and sets can be run one by one. A method whose software is not installed is left out. Needs: pip install scikit-learn shapely;
Debian's r-cran-spatstat for spatstat.

Longitudes and latitudes are plain numbers for every method, and rates per square degree: the others know of no globe. With --budget
pointillist runs with that option, and is a method of its own, called by it.

Every set is cut into two halves at random. A method sees one half; its score is the Poisson log-likelihood of the other half at the rate
it found: the sum of log rates less the integral of the rate over the window. porto_jittered is porto_taxi with its coordinates, which are
rounded to 0.001 degrees, moved at random by up to half of that: without it 7,584 events share some 1,600 places, and a held-out event most
often falls on a place that was seen. scikit-learn knows no window: its density is that of the plane, and
the part of it outside the window is taken out of the integral, which can only help it. Where a kernel smoother's rate is zero in floating point, its logarithm is
computed from the sum of Gaussians in logarithms. Narrow kernels lose most of their score on few events far from all others; the second score
raises every rate to at least 1e-6 of the mean rate, for all methods, and the number of events that it raised follows it.
"""

import argparse
import csv
import functools
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SETS = {
    "kenya": {"border": True},
    "porto_taxi": {"box": None},
    "porto_jittered": {"file": "porto_taxi", "box": None, "jitter": 0.0005},
    "quakes_global": {"box": (-180, 180, -90, 90)},
    "uk_accidents": {"border": True},
}
FLOOR = 1e-6
OURS = "pointillist"
LINE = "{set:14} {seed} {method:32} {score:12.1f} {floored:12.1f} {raised:4} {seconds:9.2f} s"


def read_points(path, columns):
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [tuple(float(row[c]) for c in columns) for row in rows]


class Window:
    """Where events were looked for: a box or a border, as pointillist takes it and as shapely knows it."""

    def __init__(self, text, shape):
        from shapely import prepared

        self.text, self.shape = text, shape
        self.prepared = prepared.prep(shape)

    def contains(self, point):
        from shapely.geometry import Point

        return self.prepared.intersects(Point(point))

    @staticmethod
    def of_box(box):
        from shapely.geometry import box as rectangle

        return Window(",".join(str(v) for v in box), rectangle(box[0], box[2], box[1], box[3]))

    @staticmethod
    def of_border(path):
        from shapely.geometry import shape
        from shapely.ops import unary_union

        document = json.loads(Path(path).read_text())
        parts = document.get("features", [document])
        return Window(str(path), unary_union([shape(part.get("geometry", part)) for part in parts]))


def load(name, folder, binary, scratch):
    """The points of a set inside its window, and the window."""
    if name == "kenya":
        table, border = scratch / "kenya.csv", scratch / "kenya.geojson"
        table.write_text(subprocess.check_output([binary, "data", "kenya"], text=True))
        border.write_text(subprocess.check_output([binary, "data", "kenya", "--border"], text=True))
        window = Window.of_border(border)
    else:
        file = SETS[name].get("file", name)
        table = folder / file / f"{file}.csv"
        if SETS[name].get("border"):
            window = Window.of_border(folder / name / "window.geojson")
        elif SETS[name]["box"]:
            window = Window.of_box(SETS[name]["box"])
        else:
            border = folder / file / "window.geojson"
            west, south, east, north = Window.of_border(border).shape.bounds
            window = Window.of_box((west, east, south, north))
    points = [point for point in read_points(table, ("lon", "lat")) if window.contains(point)]
    if jitter := SETS[name].get("jitter"):
        chance = random.Random(0)
        moved = [tuple(v + chance.uniform(-jitter, jitter) for v in point) for point in points]
        points = [new if window.contains(new) else old for old, new in zip(points, moved)]
    return points, window


def halves(points, seed):
    chance = random.Random(seed)
    first, second = [], []
    for point in points:
        (first if chance.random() < 0.5 else second).append(point)
    return first, second


def write_points(path, points):
    path.write_text("lon,lat\n" + "".join(f"{x!r},{y!r}\n" for x, y in points))
    return path


def scores(logs, expected, mean_rate):
    """The log-likelihood as it is, and with rates below the floor raised to it, and how many those are."""
    least = math.log(FLOOR * mean_rate)
    logs = [float(log) for log in logs]
    return {
        "score": sum(logs) - expected,
        "floored": sum(max(log, least) for log in logs) - expected,
        "raised": sum(log < least for log in logs),
    }


def logs_of(rates, train, test, bandwidth):
    """Logarithms of a kernel smoother's rates; where a rate is zero in floating point, from the sum of Gaussians in logarithms."""
    import numpy

    x = numpy.array(train) / bandwidth

    def far(point):
        exponents = -0.5 * ((x - numpy.array(point) / bandwidth) ** 2).sum(axis=1)
        peak = exponents.max()
        return peak + math.log(numpy.exp(exponents - peak).sum()) - math.log(2 * math.pi * bandwidth[0] * bandwidth[1])

    return [math.log(rate) if rate > 1e-300 else far(point) for rate, point in zip(rates, test)]


def by_pointillist(train, test, window, binary, scratch, budget=None):
    """Its own model as it comes, or with a budget for the choice of its lattice."""
    paths, options = pointillist_input(train, test, window, scratch)
    own = ["--budget", budget] if budget else []
    command = [binary, "compare", *paths, *options, *own, "--methods", "vbpp", "--draws", "100"]
    found = json.loads(subprocess.check_output(command, text=True))["methods"][0]
    score = found["log_likelihood"]  # this model has no rates of zero
    return {" ".join([OURS, *own]): {"score": score, "floored": score, "raised": 0, "seconds": found["seconds"]}}


def by_smooth(train, test, window, binary, scratch):
    """pointillist's kernel smoothing with end correction, whose rate integrates to the number of events."""
    paths, options = pointillist_input(train, test, window, scratch)
    started = time.time()
    rates = scratch / "rates.json"
    command = [binary, "smooth", paths[0], *options, "--at", paths[1], "-o", str(rates)]
    bandwidth = json.loads(subprocess.check_output(command, text=True))["bandwidth"]
    seconds = time.time() - started
    logs = logs_of(json.loads(rates.read_text())["mean"], train, test, bandwidth)
    found = scores(logs, len(train), len(train) / window.shape.area)
    return {"pointillist smooth (KS+EC)": found | {"seconds": seconds}}


def pointillist_input(train, test, window, scratch):
    paths = [str(write_points(scratch / "train.csv", train)), str(write_points(scratch / "test.csv", test))]
    return paths, ["--columns", "lon,lat", "--geography", "plane", "--window", window.text, "--clip", "-q", "--json"]


def by_scikit_learn(train, test, window, binary, scratch):
    """KernelDensity, bandwidth by cross-validation from a thousandth of Silverman's on."""
    try:
        import numpy
        from sklearn.model_selection import GridSearchCV, KFold
        from sklearn.neighbors import KernelDensity
    except ImportError:
        return {}
    started = time.time()
    x = numpy.array(train)
    rule = x.std(axis=0).mean() * len(x) ** (-1 / 6)
    # Wide kernels on many events take hours, and are far from the best.
    folds, exponents = (5, numpy.linspace(-3, 0.3, 24)) if len(x) < 20_000 else (3, numpy.linspace(-2.4, -0.4, 11))
    search = GridSearchCV(KernelDensity(rtol=1e-2), {"bandwidth": rule * 10**exponents}, cv=KFold(folds, shuffle=True, random_state=0)).fit(x)
    bandwidth = search.best_params_["bandwidth"]
    if search.best_index_ in (0, len(exponents) - 1):
        print(f"scikit-learn: the best bandwidth, {bandwidth:.3g}, is the last that was tried", file=sys.stderr)
    density = KernelDensity(bandwidth=bandwidth, rtol=1e-4).fit(x)
    seconds = time.time() - started
    logs = density.score_samples(numpy.array(test))
    inside = sum(window.contains(point) for point in density.sample(20_000, random_state=0)) / 20_000
    found = scores(math.log(len(train)) + logs, len(train) * inside, len(train) / window.shape.area)
    return {"scikit-learn KernelDensity": found | {"seconds": seconds}}


def by_spatstat(train, test, window, binary, scratch):
    """density.ppp with bw.ppl."""
    if not shutil.which("Rscript"):
        return {}
    paths = [write_points(scratch / "train.csv", train), write_points(scratch / "test.csv", test)]
    border = scratch / "border.csv"
    with open(border, "w") as file:
        file.write("ring,hole,x,y\n")
        shapes = getattr(window.shape, "geoms", [window.shape])
        rings = [(ring, hole) for s in shapes for ring, hole in [(s.exterior, 0)] + [(r, 1) for r in s.interiors]]
        for number, (ring, hole) in enumerate(rings):
            for x, y in list(ring.coords)[:-1]:
                file.write(f"{number},{hole},{x!r},{y!r}\n")
    rates = scratch / "rates.csv"
    command = ["Rscript", str(HERE / "spatstat.R"), *map(str, paths), str(border), str(rates)]
    run = subprocess.run(command, text=True, capture_output=True)
    if run.returncode != 0:
        print(run.stderr.strip().splitlines()[-1:], file=sys.stderr)
        return {}
    expected, seconds, sigma = map(float, run.stdout.split()[-3:])
    logs = logs_of([row[0] for row in read_points(rates, ("rate",))], train, test, [sigma, sigma])
    found = scores(logs, expected, len(train) / window.shape.area)
    return {"spatstat density.ppp(bw.ppl)": found | {"seconds": seconds}}


WAYS = {"pointillist": by_pointillist, "smooth": by_smooth, "scikit-learn": by_scikit_learn, "spatstat": by_spatstat}


def table_of(results, kind, title):
    """As Markdown: the mean score of pointillist, and how far it is above each rival on the seeds that both have: mean (range; seeds)."""
    methods = sorted({r["method"] for r in results} - {OURS})
    lines = [f"| {title} | {OURS} | " + " | ".join(f"above {m}" for m in methods) + " |", "|---" * (2 + len(methods)) + "|"]
    for name in dict.fromkeys(r["set"] for r in results):
        def by_seed(method):
            return {r["seed"]: r[kind] for r in results if r["set"] == name and r["method"] == method}

        def apart(method):
            rival = by_seed(method)
            gaps = sorted(ours[seed] - rival[seed] for seed in ours.keys() & rival.keys())
            return f"{sum(gaps) / len(gaps):.0f} ({gaps[0]:.0f} to {gaps[-1]:.0f}; {len(gaps)})" if gaps else "–"

        ours = by_seed(OURS)
        mean = f"{sum(ours.values()) / len(ours):.0f}" if ours else "–"
        lines.append(f"| {name} | {mean} | " + " | ".join(apart(m) for m in methods) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pointillist", default="pointillist")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--budget", help="as in `pointillist fit`; for the method called pointillist")
    parser.add_argument("-o", "--output", type=Path, default=Path("rivals.json"))
    args = parser.parse_args()
    ways = WAYS | {"pointillist": functools.partial(by_pointillist, budget=args.budget)}
    results = json.loads(args.output.read_text()) if args.output.exists() else []
    for name in args.sets.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = Path(scratch)
            points, window = load(name, args.folder, args.pointillist, scratch)
            for seed in range(args.seeds):
                train, test = halves(points, seed)
                for way in args.only.split(","):
                    for method, result in ways[way](train, test, window, args.pointillist, scratch).items():
                        key = {"set": name, "seed": seed, "method": method}
                        results = [r for r in results if any(r[k] != v for k, v in key.items())] + [key | result]
                        print(LINE.format(**results[-1]), flush=True)
                        args.output.write_text(json.dumps(results, indent=1) + "\n")
    print(table_of(results, "score", "log-likelihood"), table_of(results, "floored", "with the floor"), sep="\n\n")


if __name__ == "__main__":
    main()
