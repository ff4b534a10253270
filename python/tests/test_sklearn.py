"""The estimators beside scikit-learn's own checks, and in its tools."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import pointillist as pt

TIMES = np.random.default_rng(3).beta(2, 4, 60)[:, np.newaxis] * 10
#: Checks that cannot pass, and why.
OF_BOTH = {
    "check_fit1d": "an array of shape (n,) is welcome: it holds times, and most events are times",
    "check_dtype_object": "an object that is no number is an InputError, a ValueError, where the check asks for the TypeError of float()",
}
OF_THE_MODEL = {
    **OF_BOTH,
    "check_dtype_object": "forty events in ten dimensions are refused first, for no basis of a usable size has so short a length-scale there; "
    + OF_BOTH["check_dtype_object"],
    "check_fit2d_1sample": "one event in ten dimensions is refused for its dimensions, for which no basis of a usable size exists, not for its number",
}
#: Checks that skip themselves: they ask for an array library behind an environment variable of SciPy, which must be set before SciPy is imported.
SKIPPED = {"check_array_api_input"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # Few evaluations: the checks ask how a fit behaves, not how good it is, and do some hundred of them in up to five dimensions.
        (pt.IntensityModel(average=False, max_evaluations=5), OF_THE_MODEL),
        (pt.KernelSmoother(), OF_BOTH),
    ],
    ids=["IntensityModel", "KernelSmoother"],
)
def test_scikit_learns_own_checks(model: Any, expected: dict[str, str]) -> None:
    found = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    by_status: dict[str, set[str]] = {}
    for one in found:
        by_status.setdefault(one["status"], set()).add(one["check_name"])
    assert by_status.get("failed", set()) == set(), [one["exception"] for one in found if one["status"] == "failed"]
    # A check that passes by now must not be excused any longer.
    assert by_status["xfail"] == set(expected) and by_status["skipped"] <= SKIPPED
    assert len(by_status["passed"]) > 30


#: The checks of scikit-learn fit and score events in up to ten dimensions, hundreds of times; the sampler, of cubic cost in its events and the thinned
#: ones, does not end the first of them in half a minute. So it has those which ask of the object alone.
WITHOUT_A_FIT = {
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimators_unfitted",
    "check_mixin_order",
}


def test_the_sampler_is_an_estimator() -> None:
    done = set()
    for estimator, check in estimator_checks_generator(pt.SGCP()):
        name = check.func.__name__
        if name in WITHOUT_A_FIT:
            check(estimator)
            done.add(name)
    assert len(done) >= 7, done


@pytest.mark.parametrize("model", [pt.IntensityModel(average=False), pt.VBPP(inducing=8), pt.KernelSmoother()], ids=lambda m: type(m).__name__)
def test_scores_clones_and_pickles(model: Any) -> None:
    fitted = clone(model).set_params(window=(0, 10)).fit(TIMES)
    again = pickle.loads(pickle.dumps(fitted))
    points = np.linspace(0, 10, 7)[:, np.newaxis]
    assert (again.score_samples(points) == fitted.score_samples(points)).all() and again.score(TIMES) == fitted.score(TIMES)
    rate = fitted.rate(points)
    assert fitted.score_samples(points) == pytest.approx(np.log(rate if isinstance(rate, np.ndarray) else rate.mean), rel=1e-12)
    # The score is the log-likelihood of a Poisson process: log rates at events, less what is expected in the window.
    expected = fitted.expected() if isinstance(fitted, pt.KernelSmoother) else fitted.count().mean[0]
    assert fitted.score(TIMES) == pytest.approx(fitted.score_samples(TIMES).sum() - expected, rel=1e-6)
    unfitted = clone(fitted)
    for ask in (unfitted.score, unfitted.score_samples):
        with pytest.raises(NotFittedError):
            ask(TIMES)


def test_the_best_of_a_grid_is_found_by_its_score() -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pt.KernelSmoother(window=(0, 10)), {"bandwidth": [0.02, 0.8, 50.0]}, cv=folds).fit(TIMES)
    assert search.best_params_ == {"bandwidth": 0.8} and np.isfinite(search.best_score_)
    model = pt.VBPP(inducing=8, window=(0, 10))
    search = GridSearchCV(model, {"fix": [{"lengthscale": 0.05}, {"lengthscale": 3.0}]}, cv=folds).fit(TIMES)
    scores = cross_val_score(model.set_params(**search.best_params_), TIMES, cv=folds)
    assert scores.mean() == pytest.approx(search.best_score_, rel=1e-12) and search.best_params_["fix"] == {"lengthscale": 3.0}
    assert search.best_estimator_.posterior_.event_count == len(TIMES)


def test_a_model_ends_a_pipeline() -> None:
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), pt.KernelSmoother(window=(0, 4))).fit(TIMES)
    alone = pt.KernelSmoother(window=(0, 4)).fit(np.sqrt(TIMES))
    assert (pipeline.score_samples(TIMES) == alone.score_samples(np.sqrt(TIMES))).all()


def test_rows_of_another_number_of_coordinates_are_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [pt.IntensityModel(average=False), pt.KernelSmoother(), pt.SGCP(chains=1, warm_up=2, max_sweeps=4)]
        for model in models:
            model.fit(TIMES[:10], window=(0, 10))
            for ask in (model.score, model.score_samples):
                with pytest.raises(pt.InputError, match="X has 2 features, but .* is expecting 1 features"):
                    ask(np.ones((3, 2)))
