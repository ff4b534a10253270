"""What scikit-learn asks beyond fitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import InputError


def check_features(estimator: Any, X: Any) -> None:
    """Refuses rows that have another number of coordinates than those of the fit, in the words that scikit-learn looks for."""
    expected = estimator.n_features_in_
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] != expected:
        name = type(estimator).__name__
        raise InputError(f"X has {X.shape[1]} features, but {name} is expecting {expected} features as input; give rows of {expected} coordinates")
