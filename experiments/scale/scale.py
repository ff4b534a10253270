#!/usr/bin/env python3
"""Time, memory and accuracy as the number of events grows: pointillist beside scikit-learn, spatstat and mgcv.

    python3 scale.py --binary PATH [--only space,line] [--largest N] [--seeds K] [--limit SECONDS] [-o results.json]

Prints Markdown tables, and writes every number to the JSON and a picture of each experiment beside it (results-space.svg,
results-line.svg). An experiment that is run replaces its own numbers in the JSON; the others stay. Software that is not installed is left
out, with a word. Needs: pip install numpy scikit-learn; Debian's r-cran-mgcv and r-cran-spatstat.

space: N events on the unit square. line: N events on [0, 1]. Both come from a known intensity, a ramp and three Gaussian bumps of
different widths; N is exact, so the truth is N times a density. Every seed has one set to fit and another of the same size to score.

Time. Every fit is a process of its own, one after the other, and all of it counts: starting, loading, reading the CSV, fitting, saving.
`fit alone` is what the program itself says of its fit. Nothing but the fit is timed: rates are asked for afterwards. pointillist uses all cores,
scikit-learn and R as called here one (but for a BLAS with threads), so CPU time stands beside wall-clock time. On the line R
is given counts in 1,000 bins, made beforehand and not timed, while pointillist reads all events: this favours R.
A method over the limit is not tried on more events, nor with other seeds. Peak memory is that of the process, at least that of the small
Python process (some 10 MB) that starts it.

Accuracy. The score is the Poisson log-likelihood of the held-out events: the sum of log rates less the integral of the rate. `below truth`
is how far it is below that of the true rate on the same events. It is noisy; `expected` is its expectation, from the grid
on which the RMS error is taken (100x100 or 2,000 midpoints). RMS is relative to the mean rate. scikit-learn is scored on at most
20,000 events, scaled, because its rates are slow. Rates below 1e-6 of the mean are raised to that, for all methods.
"""

import argparse
import csv
import json
import math
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = "pointillist"
FLOOR = 1e-6
FEW = 20_000  # held-out events for a method whose rates are slow
BINS = 1000
LEAST, MOST, WIDTHS = 0.01, 0.5, 20  # bandwidths for scikit-learn
EXPERIMENTS = {
    "space": {
        "sizes": [10**2, 10**3, 10**4, 10**5, 10**6],
        "axes": ["x", "y"],
        "grid": 100,
        "bumps": [((0.25, 0.7), 0.03), ((0.7, 0.75), 0.07), ((0.5, 0.25), 0.15)],
        "methods": {
            OURS: ("pointillist",),
            "pointillist --inducing 20x20": ("pointillist", "--inducing", "20x20"),
            "pointillist --nodes 60x60": ("pointillist", "--nodes", "60x60"),
            "scikit-learn KernelDensity": ("scikit-learn", "0", "0"),
            "scikit-learn KernelDensity, rtol": ("scikit-learn", "1e-2", "1e-4"),  # to search and to end with, as in rivals.py
            "spatstat density.ppp(bw.ppl)": ("spatstat",),
        },
    },
    "line": {
        "sizes": [10**5, 10**6],
        "axes": ["x"],
        "grid": 2000,
        "bumps": [((0.2,), 0.01), ((0.5,), 0.03), ((0.8,), 0.08)],
        "methods": {
            OURS: ("pointillist",),
            "pointillist --inducing 60": ("pointillist", "--inducing", "60"),
            "mgcv bam, k=60": ("mgcv", "bam", "60"),
            "mgcv gam, k=60": ("mgcv", "gam", "60"),
            "mgcv bam, k=200": ("mgcv", "bam", "200"),  # as 60 functions are few for the narrowest bump
        },
    },
}
STARTS = {
    "pointillist": "pointillist --version",
    "scikit-learn": "Python, import of scikit-learn",
    "spatstat": "Rscript, library(spatstat)",
    "mgcv": "Rscript, library(mgcv)",
}
R = {
    "spatstat": """suppressPackageStartupMessages(library(spatstat))
files <- commandArgs(trailingOnly = TRUE)
train <- read.csv(files[1])
started <- proc.time()
points <- ppp(train$x, train$y, window = owin(c(0, 1), c(0, 1)), check = FALSE)
sigma <- as.numeric(bw.ppl(points))
rate <- density(points, sigma = sigma)
cat(sprintf('{"fit": %.6f, "bandwidth": %.9g}', (proc.time() - started)[["elapsed"]], sigma))
saveRDS(rate, files[2])
""",
    "spatstat-at": """suppressPackageStartupMessages(library(spatstat))
files <- commandArgs(trailingOnly = TRUE)
rate <- readRDS(files[1]); at <- read.csv(files[2])
found <- interp.im(rate, at$x, at$y)
edge <- is.na(found)
if (any(edge)) found[edge] <- safelookup(rate, ppp(at$x[edge], at$y[edge], window = owin(c(0, 1), c(0, 1)), check = FALSE))
writeBin(as.double(found), files[3])
cat(sprintf('{"integral": %.12g}', integral(rate)))
""",
    "mgcv": """suppressPackageStartupMessages(library(mgcv))
given <- commandArgs(trailingOnly = TRUE)
bins <- read.csv(given[1]); k <- as.integer(given[4])
started <- proc.time()
fit <- if (given[3] == "bam") {
  bam(count ~ s(x, k = k), family = poisson, data = bins, method = "fREML", discrete = TRUE)
} else gam(count ~ s(x, k = k), family = poisson, data = bins, method = "REML")
cat(sprintf('{"fit": %.6f, "edf": %.6g}', (proc.time() - started)[["elapsed"]], sum(fit$edf)))
saveRDS(fit, given[2])
""",
    "mgcv-at": """suppressPackageStartupMessages(library(mgcv))
files <- commandArgs(trailingOnly = TRUE)
fit <- readRDS(files[1]); at <- read.csv(files[2]); bins <- nrow(fit$model)
# Prediction at many points is slow: a cubic spline through 20,001 values is the same to eight digits.
knots <- seq(0, 1, length.out = 20001)
log_rate <- splinefun(knots, log(bins) + as.numeric(predict(fit, data.frame(x = knots), type = "link", discrete = FALSE)))
writeBin(exp(log_rate(at$x)), files[3])
cat(sprintf('{"integral": %.12g}', mean(exp(log_rate((seq_len(20000) - 0.5) / 20000)))))
""",
}


class Truth:
    """A density on the unit interval or square: a ramp along the first axis and Gaussian bumps cut at the edges, mixed."""

    RAMP = 0.4  # its share; the bumps have equal parts of the rest

    def __init__(self, bumps):
        self.bumps, self.share = bumps, (1 - self.RAMP) / len(bumps)

    def density(self, x):
        import numpy

        total = self.RAMP * (0.2 + 1.6 * x[:, 0])
        for centre, width in self.bumps:
            part = numpy.full(len(x), self.share)
            for axis, middle in enumerate(centre):
                inside = (math.erf((1 - middle) / width / math.sqrt(2)) + math.erf(middle / width / math.sqrt(2))) / 2
                part *= numpy.exp(-0.5 * ((x[:, axis] - middle) / width) ** 2) / (width * math.sqrt(2 * math.pi) * inside)
            total += part
        return total

    def draw(self, count, chance):
        import numpy

        x = chance.random((count, len(self.bumps[0][0])))
        x[:, 0] = (numpy.sqrt(0.04 + 3.2 * x[:, 0]) - 0.2) / 1.6  # the ramp, by inversion
        which = chance.random(count)
        for number, (centre, width) in enumerate(self.bumps):
            low = self.RAMP + number * self.share
            left = numpy.flatnonzero((which >= low) & (which < low + self.share))
            while len(left):  # those outside are drawn again
                x[left] = chance.normal(centre, width, (len(left), len(centre)))
                left = left[((x[left] < 0) | (x[left] > 1)).any(axis=1)]
        return x


def write_points(path, points, axes):
    import numpy

    numpy.savetxt(path, points, delimiter=",", header=",".join(axes), comments="", fmt="%.12g")
    return path


def measure(limit, memory, folder, command):
    """Runs a command in a process of its own; its time and peak memory go to a file. This process is small: a child has at least its parent's peak."""
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            for number, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.execvp(command[0], command)
        finally:
            os._exit(127)

    stopped = []

    def stop(number, frame):
        stopped.append(number)
        os.killpg(child, signal.SIGKILL)

    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    found = {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
        "code": os.waitstatus_to_exitcode(status),
        "over": signal.SIGALRM in stopped,
    }
    (folder / "measured").write_text(json.dumps(found))


def run(command, args, scratch, good=(0,)):
    """Measures a command. Also gives the JSON object on its stdout, or what went wrong."""
    me = [sys.executable, "-S", __file__, "--measure", str(args.limit), str(int(args.memory * 1e9)), str(scratch)]
    subprocess.run([*me, *map(str, command)], check=True)
    found = json.loads((scratch / "measured").read_text())
    if not found["over"] and found["code"] not in good:
        said = (scratch / "stderr").read_text(errors="replace").strip().splitlines()
        found["failed"] = next((line for line in said if "rror" in line), said[-1] if said else f"exit code {found['code']}")
    elif not found["over"]:
        text = (scratch / "stdout").read_text()
        found["said"] = json.loads(text[text.index("{"):]) if "{" in text else {}
    return found


def python(role, *values):
    return [sys.executable, __file__, "--role", role, *values]


def rscript(name, scratch, *values):
    path = scratch / f"{name}.R"
    path.write_text(R[name])
    return ["Rscript", "--vanilla", path, *values]


def role_scikit_learn(train, model, search, final):
    """In a process of its own: the bandwidth by 5-fold cross-validation, and the density with it."""
    import numpy
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.neighbors import KernelDensity

    x = numpy.loadtxt(train, delimiter=",", skiprows=1)
    started = time.perf_counter()
    widths = {"bandwidth": numpy.geomspace(LEAST, MOST, WIDTHS)}
    found = GridSearchCV(KernelDensity(kernel="gaussian", rtol=float(search)), widths, cv=KFold(5, shuffle=True, random_state=0)).fit(x)
    bandwidth = float(found.best_params_["bandwidth"])
    Path(model).write_text(json.dumps({"train": train, "bandwidth": bandwidth, "rtol": float(final)}))
    ends = found.best_index_ in (0, WIDTHS - 1)
    print(json.dumps({"fit": time.perf_counter() - started, "bandwidth": bandwidth, "at_the_end": ends}))


def role_scikit_learn_at(model, at, rates):
    """In a process of its own: rates at points, and the exact integral over the window of a density that knows none."""
    import numpy
    from sklearn.neighbors import KernelDensity

    model = json.loads(Path(model).read_text())
    x = numpy.loadtxt(model["train"], delimiter=",", skiprows=1)
    width = model["bandwidth"]
    density = KernelDensity(bandwidth=width, rtol=model["rtol"]).fit(x)
    logs = density.score_samples(numpy.loadtxt(at, delimiter=",", skiprows=1))
    (len(x) * numpy.exp(logs)).tofile(rates)
    erf = numpy.vectorize(math.erf)
    inside = (erf((1 - x) / width / math.sqrt(2)) + erf(x / width / math.sqrt(2))) / 2
    print(json.dumps({"integral": float(inside.prod(axis=1).sum())}))


ROLES = {"scikit-learn": role_scikit_learn, "scikit-learn-at": role_scikit_learn_at}


def commands(way, options, files, args, scratch):
    """The process that fits, and those that give rates at points and the integral of the rate."""
    train, bins, model, at, rates = files
    if way == "pointillist":
        window = ",".join(["0,1"] * len(EXPERIMENTS[args.experiment]["axes"]))
        return (
            [args.binary, "fit", train, "--window", window, *options, "-q", "--json", "-o", model],
            [
                [args.binary, "predict", model, "--at", at, "--quantiles", "0.5", "-q", "-o", rates],
                [args.binary, "count", model, "--draws", "100", "-q", "--json"],
            ],
        )
    if way == "scikit-learn":
        return python(way, train, model, *options), [python(f"{way}-at", model, at, rates)]
    given = bins if way == "mgcv" else train
    return rscript(way, scratch, given, model, *options), [rscript(f"{way}-at", scratch, model, at, rates)]


def rates_of(way, path):
    import numpy

    if way != "pointillist":
        return numpy.fromfile(path)
    with open(path, newline="") as file:
        column = next(csv.reader(file)).index("mean")
        return numpy.loadtxt(file, delimiter=",", usecols=column, ndmin=1)


def accuracy(rates, integral, grid, test, truth, count):
    """Scores of rates on the grid and then at some of the held-out events; N is `count`."""
    import numpy

    true = count * truth.density(grid)
    here = numpy.maximum(rates[: len(grid)], FLOOR * count)
    at = rates[len(grid):]
    some = test[: len(at)]
    apart = numpy.log(count * truth.density(some)) - numpy.log(numpy.maximum(at, FLOOR * count))
    below = float(apart.sum()) * len(test) / len(at) - count + integral
    return {
        "log_likelihood": float(numpy.log(count * truth.density(test)).sum()) - count - below,
        "below_truth": below,
        "expected_below_truth": float((true * numpy.log(true / here) - true + here).mean()),
        "rms": math.sqrt(((rates[: len(grid)] - true) ** 2).mean()) / count,
        "integral": integral,
        "scored": len(at),
        "raised": int((at < FLOOR * count).sum()),
    }


def one(way, options, data, files, args, scratch):
    """One method on one set: the measured fit, then its accuracy."""
    fit, rest = commands(way, options, files, args, scratch)
    for old in files[2:]:
        old.unlink(missing_ok=True)
    load = os.getloadavg()[0]
    found = run(fit, args, scratch, good=(0, 1) if way == "pointillist" else (0,))  # 1: did not converge
    said = found.pop("said", None)
    found = found | {"load_before": load}
    if said is None:
        return found
    found["fit"] = said.pop("fit", said.get("seconds"))
    kept = ("converged", "stop", "basis", "inducing", "nodes", "bandwidth", "at_the_end", "edf")
    found |= {key: said[key] for key in kept if key in said}
    if said.get("at_the_end"):
        print(f"scikit-learn: the best bandwidth, {said['bandwidth']:.3g}, is the last that was tried", file=sys.stderr)
    grid, test, truth = data
    import numpy

    some = test[:FEW] if way == "scikit-learn" else test
    write_points(files[3], numpy.vstack([grid, some]), EXPERIMENTS[args.experiment]["axes"])
    ran = [run(command, args, scratch) for command in rest]
    if bad := [r for r in ran if "said" not in r]:
        print(f"no rates: {bad[0].get('failed', 'over the limit')}", file=sys.stderr)
        return found
    found["seconds_for_rates"] = ran[0]["wall"]
    integral = ran[-1]["said"].get("integral", ran[-1]["said"].get("mean"))
    return found | accuracy(rates_of(way, files[4]), integral, grid, test, truth, len(test))


def installed(way, args):
    """The command that only starts a program and loads what it needs, or nothing if it is not there."""
    libraries = {"spatstat": "spatstat", "mgcv": "mgcv"}
    if way in libraries:
        command = ["Rscript", "--vanilla", "-e", f"suppressPackageStartupMessages(library({libraries[way]}))"]
    elif way == "scikit-learn":
        command = [sys.executable, "-c", "import numpy; from sklearn.model_selection import GridSearchCV; from sklearn.neighbors import KernelDensity"]
    else:
        command = [args.binary, "--version"]
    there = shutil.which(command[0]) and subprocess.run(command, capture_output=True).returncode == 0
    return command if there else None


def experiment(name, args, scratch, save):
    """All methods on all sizes and seeds."""
    import numpy

    about = EXPERIMENTS[name]
    args.experiment = name
    truth, axes = Truth(about["bumps"]), about["axes"]
    middles = (numpy.arange(about["grid"]) + 0.5) / about["grid"]
    grid = numpy.stack(numpy.meshgrid(*[middles] * len(axes), indexing="ij"), axis=-1).reshape(-1, len(axes))
    start, absent = {}, set()
    for way in dict.fromkeys(way for way, *_ in about["methods"].values()):
        if command := installed(way, args):
            runs = [run(command, args, scratch) for _ in range(3)]
            start[STARTS[way]] = {key: statistics.median(r[key] for r in runs) for key in ("wall", "cpu", "megabytes")}
        elif way == "pointillist":
            sys.exit(f"{args.binary} does not run")
        else:
            absent.add(way)
            print(f"{way} is not installed: left out", file=sys.stderr)
    result = {"machine": machine(), "limit": args.limit, "start": start, "runs": []}
    over = set()
    files = [scratch / file for file in ("train.csv", "bins.csv", "model", "at.csv", "rates")]
    for count in sorted({min(size, args.largest) for size in about["sizes"]}):
        for seed in range(args.seeds):
            chance = numpy.random.default_rng([seed, count, len(axes)])
            train, test = truth.draw(count, chance), truth.draw(count, chance)
            write_points(files[0], train, axes)
            if len(axes) == 1:
                counts = numpy.histogram(train[:, 0], bins=BINS, range=(0, 1))[0]
                rows = numpy.column_stack([(numpy.arange(BINS) + 0.5) / BINS, counts])
                numpy.savetxt(files[1], rows, delimiter=",", header="x,count", comments="", fmt=["%.12g", "%d"])
            del train
            for method, (way, *options) in about["methods"].items():
                if way in absent or method in over:
                    continue
                found = one(way, options, (grid, test, truth), files, args, scratch)
                if found["over"] or "failed" in found:
                    over.add(method)
                result["runs"].append({"events": count, "seed": seed, "method": method} | found)
                note = f"over {args.limit:g} s" if found["over"] else found.get("failed", f"{found['wall']:.2f} s")
                print(f"{name} {count} seed {seed} {method}: {note}", file=sys.stderr, flush=True)
                save(name, result)


def machine():
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {"processor": names[0] if names else "", "cores": os.cpu_count(), "when": time.strftime("%Y-%m-%d")}


def number(value, digits=3):
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def collected(result):
    """By number of events and method: the means over seeds, or that it was over the limit, or that it failed."""
    groups = {}
    for r in result["runs"]:
        groups.setdefault((r["events"], r["method"]), []).append(r)
    table = {}
    for key, runs in groups.items():
        keys = ("wall", "cpu", "fit", "megabytes", "log_likelihood", "below_truth", "expected_below_truth", "rms")
        row = {k: statistics.mean(r[k] for r in runs) for k in keys if all(r.get(k) is not None for r in runs)}
        table[key] = row | {
            "over": any(r["over"] for r in runs),
            "failed": next((r["failed"] for r in runs if "failed" in r), None),
            "star": any(r.get("converged") is False for r in runs),
            "scaled": any(r.get("scored", r["events"]) < r["events"] for r in runs),
            "seeds": len(runs),
        }
    return table


def tables(name, result):
    """Markdown: what every process took and how good its rate is; ratios of time; what starting takes."""
    table, limit = collected(result), result["limit"]
    sizes, methods = sorted({n for n, _ in table}), [m for m in EXPERIMENTS[name]["methods"] if any(m == k for _, k in table)]
    lines = [
        f"## {name}",
        "",
        "| events | method | wall, s | CPU, s | fit alone, s | memory, MB | log-likelihood | below truth | expected | RMS |",
        "|---:|---|" + "---:|" * 8,
    ]
    for size in sizes:
        for method in methods:
            row = table.get((size, method))
            if row is None:
                lines.append(f"| {size:,} | {method} | not tried |" + " – |" * 7)
                continue
            if row["over"] or row["failed"]:
                word = f"> {limit:g}" if row["over"] else "failed"
                lines.append(f"| {size:,} | {method} | {word} | – | – | {number(row['megabytes'])} |" + " – |" * 4)
                continue
            about = "≈ " if row["scaled"] else ""
            cells = [number(row.get(k)) for k in ("wall", "cpu", "fit", "megabytes")]
            cells += [about + number(row.get(k)) if row.get(k) is not None else "–" for k in ("log_likelihood", "below_truth")]
            cells += [number(row.get(k)) for k in ("expected_below_truth", "rms")]
            lines.append(f"| {size:,} | {method}{' *' if row['star'] else ''} | " + " | ".join(cells) + " |")
    if any(row["star"] for row in table.values()):
        lines += ["", "\\* did not converge"]
    rivals = [m for m in methods if m != OURS]
    lines += ["", f"Time over that of {OURS} with defaults: wall clock (CPU; fit alone, wall clock).", ""]
    lines += ["| events | " + " | ".join(rivals) + " |", "|---:|" + "---:|" * len(rivals)]
    for size in sizes:
        ours, cells = table.get((size, OURS)), []
        for method in rivals:
            row = table.get((size, method))
            if row is None or row["failed"] or not ours or ours["over"] or ours["failed"]:
                cells.append("–")
            else:
                sign = "> " if row["over"] else ""
                alone = number(row["fit"] / ours["fit"]) if row.get("fit") and ours.get("fit") else "–"
                cells.append(f"{sign}{number(row['wall'] / ours['wall'])} ({sign}{number(row['cpu'] / ours['cpu'])}; {alone})")
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    lines += ["", "Starting alone, median of 3:", "", "| | wall, s | CPU, s | memory, MB |", "|---|---:|---:|---:|"]
    lines += [f"| {what} | " + " | ".join(number(row[k]) for k in ("wall", "cpu", "megabytes")) + " |" for what, row in result["start"].items()]
    return "\n".join(lines)


COLOURS = ["#0072b2", "#56b4e9", "#009e73", "#d55e00", "#e69f00", "#cc79a7"]


def picture(name, result):
    """Wall-clock time against the number of events, log-log, as SVG."""
    table, limit = collected(result), result["limit"]
    methods = [m for m in EXPERIMENTS[name]["methods"] if any(m == k for _, k in table)]
    sizes = sorted({n for n, _ in table})
    times = [limit if row["over"] else row["wall"] for row in table.values() if not row["failed"]]
    if not times:
        return None
    left, top, wide, high = 70, 44, 450, 360
    low, up = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)) + 0.05)
    first, last = math.log10(sizes[0]) - 0.15, math.log10(sizes[-1]) + 0.25

    def across(size):
        return left + wide * (math.log10(size) - first) / (last - first)

    def down(seconds):
        return top + high * (up - math.log10(seconds)) / (up - low)

    def text(x, y, words, anchor="middle", more=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{words}</text>'

    def marker(x, y, colour, kind):
        if kind == "over":  # an arrow: longer than this
            return f'<path d="M{x:.1f} {y - 10:.1f}l-5 9h10z" fill="#fff" stroke="{colour}" stroke-width="1.6"/>'
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{colour}"/>'

    height = top + high + 56
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{height}" viewBox="0 0 820 {height}" font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="820" height="{height}" fill="#fff"/>',
        text(left, 24, f"Time to fit, events on the {'unit square' if name == 'space' else 'line'}", "start", ' font-size="15" font-weight="bold"'),
    ]
    for power in range(low, up + 1):
        y = down(10.0**power)
        out.append(f'<path d="M{left} {y:.1f}h{wide}" stroke="#ddd"/>')
        out.append(text(left - 8, y + 4, f"{10.0**power:g}", "end"))
        out += [f'<path d="M{left} {down(step * 10.0**power):.1f}h4" stroke="#888"/>' for step in range(2, 10) if power < up]
    for power in range(math.ceil(first), math.floor(last) + 1):
        x = across(10.0**power)
        out.append(f'<path d="M{x:.1f} {top}v{high}" stroke="#ddd"/>')
        out.append(text(x, top + high + 18, f'10<tspan dy="-5" font-size="9">{power}</tspan>'))
    out.append(f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="none" stroke="#888"/>')
    out.append(text(left + wide / 2, top + high + 42, "number of events"))
    out.append(text(0, 0, "wall-clock time, seconds", more=f' transform="translate(20 {top + high / 2}) rotate(-90)"'))
    if any(row["over"] for row in table.values()):
        out.append(f'<path d="M{left} {down(limit):.1f}h{wide}" stroke="#888" stroke-dasharray="2 3"/>')
        out.append(text(left + 6, down(limit) - 5, f"limit: {limit:g} s", "start", ' fill="#666"'))
    for index, method in enumerate(methods):
        colour = COLOURS[index % len(COLOURS)]
        dash = "" if method == OURS or not method.startswith(OURS) else ' stroke-dasharray="6 3"'
        points = []
        for size in sizes:
            row = table.get((size, method))
            if row and not row["failed"]:  # arrows of several methods stand side by side
                aside = 8 * (index - (len(methods) - 1) / 2) if row["over"] else 0
                points.append((across(size) + aside, down(limit if row["over"] else row["wall"]), row["over"]))
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{2.6 if method == OURS else 1.8}"{dash}/>')
        out += [marker(x, y, colour, "over" if over else "") for x, y, over in points]
        x, y = left + wide + 20, top + 14 + 24 * index
        out.append(f'<path d="M{x} {y}h28" stroke="{colour}" stroke-width="{2.6 if method == OURS else 1.8}"{dash}/>' + marker(x + 14, y, colour, ""))
        out.append(text(x + 36, y + 4, method.replace("&", "&amp;").replace("<", "&lt;"), "start"))
    if any(row["over"] for row in table.values()):
        x, y = left + wide + 20, top + 14 + 24 * len(methods)
        out.append(marker(x + 14, y + 5, "#666", "over") + text(x + 36, y + 4, "stopped at the limit", "start"))
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    if sys.argv[1:2] == ["--measure"]:
        return measure(float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
    if sys.argv[1:2] == ["--role"]:
        return ROLES[sys.argv[2]](*sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="pointillist")
    parser.add_argument("--only", default=",".join(EXPERIMENTS))
    parser.add_argument("--largest", type=lambda text: int(float(text)), default=10**6, help="most events")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600, help="seconds for each process")
    parser.add_argument("--memory", type=float, default=12, help="gigabytes of address space for each process")
    parser.add_argument("-o", "--output", type=Path, default=Path("results.json"))
    args = parser.parse_args()
    results = json.loads(args.output.read_text()) if args.output.exists() else {}

    def save(name, result):
        results[name] = result
        args.output.write_text(json.dumps(results, indent=1) + "\n")

    for name in args.only.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            experiment(name, args, Path(scratch), save)
        print(tables(name, results[name]), end="\n\n", flush=True)
        if drawn := picture(name, results[name]):
            args.output.with_name(f"{args.output.stem}-{name}.svg").write_text(drawn)


if __name__ == "__main__":
    main()
