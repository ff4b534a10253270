#!/usr/bin/env python3
"""Side by side in one run on the same data: scikit-learn's KernelDensity, a binned Poisson GAM (pyGAM) and pointillist.

    pip install '.' scikit-learn pygam
    python3 experiments/python/side_by_side.py [--splits 3] [--sets coal,kenya,spikes]

Each set is cut into two halves at random: events of coal and kenya, trials of spikes, which are then overlaid. A method sees one half, and gives
a rate for every place. Its score is the Poisson log-likelihood of the other half: the sum of log rates at its events less the integral of the
rate over the window, on the same midpoints for all methods. Seconds are those of the fit and of all rates that the score asks for, by the clock
and of processors. Lines of code are those of the bodies of the functions `by_...`, without blank lines and comments.

Each method is given what a careful user would give it. KernelDensity chooses its bandwidth by ten-fold cross-validation among 25, with shuffled
folds; it knows no window, so that its density is divided by the part of it inside, which can only raise its score. The GAM has
what was looked at of each bin as its exposure, and chooses its penalty by UBRE among 11. pointillist is as it comes.
"""

import argparse
import inspect
import os
import time
import warnings

# On a machine that others use, threads of BLAS wait for each other: pyGAM then takes ten times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from pygam import PoissonGAM, s, te
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

import pointillist as pt

#: Midpoints along each axis on which rates are integrated, and bins of the GAM, by dimensions.
MIDPOINTS = {1: 4000, 2: 300}
BINS = {1: 100, 2: 40}


class Place:
    """Where events were looked for, with the midpoints of small cells inside it."""

    def __init__(self, window):
        self.window, self.dims = window, window.dims
        points = midpoints(window, MIDPOINTS[window.dims])
        self.points = points[window.contains(points)]

    def integral(self, rates):
        # The cells inside have nearly the area of the window; all methods get the same correction.
        return rates.mean() * self.window.volume


def midpoints(window, count):
    lines = [np.linspace(lo, hi, 2 * count + 1)[1::2] for lo, hi in window.bounds]
    return np.stack([line.ravel() for line in np.meshgrid(*lines, indexing="ij")], axis=1)


def by_pointillist(train, place):
    post = pt.IntensityModel().fit(train, window=place.window)
    return lambda x: np.log(post.rate(x, quantiles=[]).mean)


def by_kernel_density(train, place):
    side = max(hi - lo for lo, hi in place.window.bounds)
    widths = {"bandwidth": side * np.logspace(-3, -0.3, 25)}
    search = GridSearchCV(KernelDensity(), widths, cv=KFold(10, shuffle=True, random_state=0)).fit(train)
    inside = place.integral(np.exp(search.best_estimator_.score_samples(place.points)))
    return lambda x: search.best_estimator_.score_samples(x) + np.log(len(train) / inside)


def by_binned_gam(train, place):
    count = BINS[place.dims]
    edges = [np.linspace(lo, hi, count + 1) for lo, hi in place.window.bounds]
    counts = np.histogramdd(train, bins=edges)[0].ravel()
    looked = np.histogramdd(place.points, bins=edges)[0].ravel()
    centres, seen = midpoints(place.window, count), (looked > 0) | (counts > 0)
    # In units of their mean: far from 1, pyGAM does not converge.
    unit = looked[looked > 0].mean()
    looked = np.maximum(looked, looked[looked > 0].min()) / unit
    terms = s(0, n_splines=30) if place.dims == 1 else te(0, 1, n_splines=20)
    lam = np.logspace(-3, 4, 11)
    gam = PoissonGAM(terms).gridsearch(centres[seen], counts[seen], exposure=looked[seen], lam=lam, progress=False)
    return lambda x: np.log(gam.predict(x) * len(place.points) / (unit * place.window.volume))


METHODS = {"pointillist": by_pointillist, "KernelDensity": by_kernel_density, "binned Poisson GAM": by_binned_gam}


def lines_of_code(function):
    """Lines of the body that are not blank, comments or documentation."""
    body = inspect.getsource(function).splitlines()[1:]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)


def halves(name, chance):
    """Two halves of a set, and the place they come from."""
    events = pt.datasets.load(name)
    window = pt.datasets.border(name) if name == "kenya" else pt.Window(*events.window.bounding_box[0])
    points = events.points[window.contains(events.points)]
    if events.trials is None:
        first = chance.permutation(len(points)) < len(points) / 2
    else:
        trials = chance.permutation(events.trials.max() + 1)
        first = np.isin(events.trials, trials[: len(trials) // 2])
    return points[first], points[~first], Place(window)


def one_score(method, train, test, place):
    start = np.array([time.perf_counter(), time.process_time()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log_rate = method(train, place)
        score = log_rate(test).sum() - place.integral(np.exp(log_rate(place.points)))
    return score, *(np.array([time.perf_counter(), time.process_time()]) - start)


def run(name, splits):
    """The scores and seconds of each method on each split."""
    found = {method: [] for method in METHODS}
    sizes = []
    for split in range(splits):
        train, test, place = halves(name, np.random.default_rng(split))
        sizes.append((len(train), len(test)))
        for method, function in METHODS.items():
            found[method].append(one_score(function, train, test, place))
    return found, sizes[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sets", default="coal,kenya,spikes")
    asked = parser.parse_args()
    print("| set (train, test) | method | lines of code | seconds (of processor) | held-out log-likelihood | behind the best |")
    print("|---|---|---|---|---|---|")
    for name in asked.sets.split(","):
        found, (train, test) = run(name, asked.splits)
        means = {method: np.mean(rows, axis=0) for method, rows in found.items()}
        best = max(means, key=lambda method: means[method][0])
        for method, (score, seconds, processor) in means.items():
            behind = np.array([ours[0] - theirs[0] for ours, theirs in zip(found[best], found[method])])
            said = "–" if method == best else f"{behind.mean():.1f} ({behind.min():.1f} to {behind.max():.1f})"
            code = lines_of_code(METHODS[method])
            print(f"| {name} ({train:,}, {test:,}) | {method} | {code} | {seconds:.2f} ({processor:.2f}) | {score:.1f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
