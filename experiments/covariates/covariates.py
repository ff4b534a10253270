#!/usr/bin/env python3
"""What raises the rate of trees: pointillist with covariates beside spatstat's ppm and a Poisson GAM, and without one or the other part.

    python3 experiments/covariates/covariates.py [--pointillist PATH] [--splits 3] [-o results.json]

The trees are `bei` of spatstat.data: 3,604 of one kind (Beilschmiedia pendula) on 1,000 m by 500 m of rain forest, with elevation and gradient on a raster of 5 m. Needs R with
spatstat and mgcv: Debian's r-base-core, r-cran-spatstat and r-cran-mgcv. Results are added to those in the output, so that a run can go on where it was stopped.

Four ways: ppm, whose log rate is linear in both covariates and has no field; gam, mgcv's Poisson GAM with a smooth of place beside them, on counts in cells of 5 m; pointillist
with --covariate; and pointillist without. Effects are those of all trees, with 90 % intervals. Scores are of random halves: a method sees one half; its
score is the Poisson log-likelihood of the other half at the mean rate it found, the sum of log rates less the integral of the rate over the window.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "rivals"))
from rivals import halves

SCRIPT = Path(__file__).parent / "bei.R"
PER = {"elev": (10, "10 m higher"), "grad": (0.05, "0.05 steeper")}
METHODS = {
    "ppm": "ppm: covariates alone",
    "gam": "GAM: and a smooth of place",
    "field": "pointillist: a field alone",
    "both": "pointillist: covariates and a field",
}


def r(*words):
    return subprocess.check_output(["Rscript", str(SCRIPT), *map(str, words)], text=True).splitlines()


def read_points(path):
    with open(path, newline="") as file:
        return [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file)]


def write_points(path, points):
    path.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in points))
    return path


def by_r(train, test, folder):
    """Effects and scores of ppm and of the GAM."""
    found = {"ppm": {"effects": {}}, "gam": {"effects": {}}}
    for line in r("fit", train, test):
        what, *rest = line.strip(";").split(";")
        if what == "effect":
            method, name, *numbers = rest
            found[method]["effects"][name] = dict(zip(("effect", "low", "high"), map(float, numbers)))
        elif what == "score":
            found[rest[0]] |= {"score": float(rest[1]), "seconds": float(rest[2])}
    return found


def by_pointillist(train, test, folder, binary, with_covariates):
    model = folder / "model.json"
    options = ["--covariate", str(folder / "ground.csv")] if with_covariates else []
    started = time.time()
    command = [binary, "fit", str(train), "--columns", "x,y", "--window", "0,1000,0,500", "--unit", "m", *options, "-q", "--json", "-o", str(model)]
    fitted = json.loads(subprocess.check_output(command, text=True))
    seconds = time.time() - started
    rates = subprocess.check_output([binary, "predict", str(model), "--at", str(test)], text=True).splitlines()
    expected = json.loads(subprocess.check_output([binary, "count", str(model), "--json"], text=True))["mean"]
    score = sum(math.log(float(row["mean"])) for row in csv.DictReader(rates)) - expected
    effects = {
        e["name"]: {"effect": e["effect"], "low": e["quantiles"][0], "high": e["quantiles"][2], "evidence": e["log_evidence_gain"]}
        for e in fitted.get("effects") or []
    }
    return {"effects": effects, "score": score, "seconds": seconds}


def table_of_effects(results):
    lines = ["| all trees, 90 % intervals | " + " | ".join(f"rate × for {what} | effect, per {per}" for per, what in PER.values()) + " |"]
    lines.append("|---" * (1 + 2 * len(PER)) + "|")
    for method, words in METHODS.items():
        effects = results.get("all", {}).get(method, {}).get("effects")
        if not effects:
            continue
        cells = []
        for name, (per, _) in PER.items():
            at, low, high = (per * effects[name][k] for k in ("effect", "low", "high"))
            cells.append(f"{math.exp(at):.2f} ({math.exp(low):.2f} to {math.exp(high):.2f})")
            cells.append(f"{at:+.3f} [{low:+.3f}, {high:+.3f}]")
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table_of_scores(results):
    """The mean held-out log-likelihood, and how far it is above that of ppm: mean (least to most; number of splits)."""
    splits = [found for key, found in results.items() if key != "all"]
    lines = ["| random halves | held-out log-likelihood | above ppm | seconds |", "|---|---|---|---|"]
    for method, words in METHODS.items():
        own = [split for split in splits if method in split and "ppm" in split]
        if not own:
            continue
        mean = sum(split[method]["score"] for split in own) / len(own)
        gaps = sorted(split[method]["score"] - split["ppm"]["score"] for split in own)
        seconds = sum(split[method]["seconds"] for split in own) / len(own)
        gap = "–" if method == "ppm" else f"{sum(gaps) / len(gaps):.0f} ({gaps[0]:.0f} to {gaps[-1]:.0f}; {len(gaps)})"
        lines.append(f"| {words} | {mean:.0f} | {gap} | {seconds:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pointillist", default="pointillist")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=Path("covariates.json"))
    args = parser.parse_args()
    results = json.loads(args.output.read_text()) if args.output.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        r("export", folder)
        trees = read_points(folder / "trees.csv")
        for key in ["all", *map(str, range(args.splits))]:
            train, test = (trees, trees) if key == "all" else halves(trees, int(key))
            tables = write_points(folder / "train.csv", train), write_points(folder / "test.csv", test)
            ways = {
                "ppm": lambda: by_r(*tables, folder),
                "both": lambda: {"both": by_pointillist(*tables, folder, args.pointillist, True)},
                "field": lambda: {"field": by_pointillist(*tables, folder, args.pointillist, False)},
            }
            for method, way in ways.items():
                if method not in results.get(key, {}):
                    results[key] = results.get(key, {}) | way()
                    args.output.write_text(json.dumps(results, indent=1) + "\n")
                    print(key, method, {m: round(f["score"], 1) for m, f in results[key].items()}, flush=True)
    print(table_of_effects(results), table_of_scores(results), sep="\n\n")


if __name__ == "__main__":
    main()
