"""Draws as ArviZ takes them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from ._optional import needed

Floats = npt.NDArray[np.float64]


def inference_data(
    groups: dict[str, dict[str, Floats]], coords: dict[str, Any], dims: dict[str, list[str]], attributes: dict[str, Any] | None = None
) -> Any:
    """An InferenceData; from ArviZ 1 on, the DataTree that took its place."""
    arviz = needed("arviz", "to_arviz")
    said = {"inference_library": "pointillist", **(attributes or {})}
    if "posterior" in inspect.signature(arviz.from_dict).parameters:
        found = arviz.from_dict(**groups, coords=coords, dims=dims)
        for group in found.groups():
            found[group].attrs.update(said)
        return found
    return arviz.from_dict(groups, coords=coords, dims=dims, attrs={"/": said})


def rate_draws(draws: Floats, points: Floats, names: list[str], observed: Floats | None) -> Any:
    """Draws of a rate at points: one chain, for the draws are independent."""
    groups = {"posterior": {"rate": draws[np.newaxis]}, "constant_data": {name: points[:, r] for r, name in enumerate(names)}}
    dims = {"rate": ["point"], **{name: ["point"] for name in names}}
    coords: dict[str, Any] = {"point": np.arange(len(points))}
    if observed is not None:
        groups["observed_data"] = {"events": observed}
        dims["events"], coords["axis"] = ["event", "axis"], names
        coords["event"] = np.arange(len(observed))
    return inference_data(groups, coords, dims)


def count_draws(draws: Floats, names: list[str]) -> Any:
    """Draws of what is expected in regions."""
    labels = names if len(set(names)) == len(names) else list(range(len(names)))
    return inference_data({"posterior": {"count": draws.T[np.newaxis]}}, {"region": labels}, {"count": ["region"]})
