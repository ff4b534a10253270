"""Plots with matplotlib: curves with bands, rasters, maps, counts, calibration. They draw what a posterior says, and compute no answer of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import InputError, SettingError
from ._optional import needed
from ._settings import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._posterior import Counts, Posterior

Floats = npt.NDArray[np.float64]
Axis = tuple[str, str | None, float | None, str | None]
Box = Sequence[tuple[float, float]]

#: Most points along a curve or the longer side of a map.
MOST_POINTS = 20_000
#: Numbers as large as this leave room for few beside each other.
LONG_NUMBERS = 1e4
#: What a plot can show.
SHOWN = ("mean", "sd", "quantile", "exceed")
#: The pictures of the command have the same colours; people with any kind of colour vision tell them apart.
CURVE, EVENTS, INK, GROUND = "#1b5e9e", "#c2502e", "#2b2f36", "#eef0f3"
#: Bands, wide to narrow: the quantiles at their ends, what they are called, and how strong they are.
BANDS = ((0.05, 0.95, "90 %", 0.18), (0.25, 0.75, "50 %", 0.32))
#: Exceedance goes both ways from one half; all others go one way.
COLOURS = {"mean": "viridis", "quantile": "viridis", "sd": "cividis", "exceed": "PuOr_r"}
#: Cells on the longer side of a map.
MAP_CELLS = 200
#: Colours go by the root where half of the values lie below the first of these parts of the largest, by the logarithm below the second.
SKEWED, VERY_SKEWED = 0.08, 0.01
#: Colours by the logarithm span no more than this.
LOWEST = 1e-4
#: Ranges closer than this share one scale.
EQUAL_SCALE_FACTOR = 5.0
#: With more events than these, marks become fainter.
CROWDED_RUG, CROWDED_MAP = 300, 400
#: A map at one place of a third axis shows the events within this part of its length.
NEARBY = 0.05
#: Coverage is told for these central intervals.
LEVELS = (0.5, 0.8, 0.9, 0.95)


# Axes and what stands on them


def new_axes(ax: Any, what: str, size: tuple[float, float] = (7.0, 3.6)) -> Any:
    """The caller's axes, or new ones in a figure of their own."""
    pyplot = needed("matplotlib.pyplot", what)
    if ax is None:
        return pyplot.subplots(figsize=size, layout="constrained")[1]
    if not hasattr(ax, "fill_between"):
        raise SettingError(f"ax= is a {type(ax).__name__}; give axes of matplotlib, as in fig, ax = plt.subplots()")
    return ax


def axis_label(axis: Axis, time_zone: Any) -> str:
    """What stands beside an axis: its name and unit, or the time zone of its dates."""
    name, unit, origin, _ = axis
    name = name.strip()
    if origin is not None:
        # `t_days` counts days, but the axis shows dates.
        name = "time" if unit is not None and name.endswith(unit) else name
        return f"{name} ({time_zone or 'UTC'})"
    return name if unit is None or name in (unit, unit.rstrip("s")) else f"{name} ({unit})"


def on_axis(values: Floats, axis: Axis) -> npt.NDArray[Any]:
    """Numbers, or dates where the axis has them."""
    from ._posterior import dates_of

    _, unit, origin, clocks = axis
    return values if origin is None else dates_of(values, unit, origin, clocks)


def dress(target: Any, axis: Axis, time_zone: Any) -> None:
    """Dates on an axis, in words as short as they can be."""
    if axis[2] is None:
        return
    dates = needed("matplotlib.dates", "a plot with dates")
    locator = dates.AutoDateLocator(tz=time_zone)
    target.set_major_locator(locator)
    target.set_major_formatter(dates.ConciseDateFormatter(locator, tz=time_zone))


def plain(ax: Any) -> None:
    """Little ink: no box around a chart, faint lines behind it."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="#e3e5e9", linewidth=0.8)
    ax.set_axisbelow(True)


# What is shown


def check_shown(show: Any, level: Any) -> None:
    if show not in SHOWN:
        raise SettingError(f"show={show!r} is not known; take one of {', '.join(SHOWN)}")
    if level is not None and show in ("mean", "sd"):
        raise SettingError(f"show={show!r} has no level, so level= has no effect; leave it out, or take show='quantile' or show='exceed'")


def values_at(posterior: Posterior, points: Floats, show: str, level: Any) -> tuple[Floats, str]:
    """What is shown at points, and what it is called, with its unit."""
    unit = posterior.rate_unit
    if show == "quantile":
        probability = 0.95 if level is None else level
        found: Floats = posterior.quantile(points, probability)
        return found, f"{100 * float(probability):g} % quantile ({unit})"
    if show == "exceed":
        threshold = posterior.event_count / posterior.window.measure if level is None else level
        return posterior.exceedance(points, threshold), f"P(rate > {float(threshold):.3g} {unit})"
    rate = posterior.rate(points, quantiles=[])
    return (rate.mean, unit) if show == "mean" else (rate.sd, f"standard deviation ({unit})")


def plot(
    posterior: Posterior,
    ax: Any = None,
    *,
    show: str = "mean",
    level: float | None = None,
    events: bool = True,
    points: int | None = None,
    at: Any = None,
    color: Any = None,
    label: str | None = None,
    cmap: Any = None,
    colorbar: bool = True,
) -> Axes:
    """A curve on one axis, a map on two, a map at one place of the third on three."""
    check_shown(show, level)
    dims = posterior._core.window.dims
    count = whole("points", points, 2)
    if count is not None and count > MOST_POINTS:
        raise SettingError(f"points={count} is more than a picture shows; give at most {MOST_POINTS}")
    if dims > 3:
        raise SettingError(f"there are {dims} axes, too many for a picture; plot post.rate(points) at points of your choice")
    if at is not None and dims < 3:
        raise SettingError("at= is the place on a third axis, which this window has not; leave it out")
    if dims == 1:
        return _curve(posterior, new_axes(ax, "plot"), show, level, events, count or posterior._core.curve_points, color, label)
    return _map(posterior, new_axes(ax, "plot", (6.4, 5.4)), show, level, events, count or MAP_CELLS, at, cmap, colorbar)


# Curves


def stretches(window: _core.Window) -> list[tuple[float, float]]:
    """The intervals of a window on one axis, those that touch as one."""
    joined: list[tuple[float, float]] = []
    for lo, hi in sorted(box[0] for box, _ in window.pieces):
        if joined and lo <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(hi, joined[-1][1]))
        else:
            joined.append((lo, hi))
    return joined


def _curve(posterior: Posterior, ax: Any, show: str, level: Any, events: bool, count: int, color: Any, label: str | None) -> Axes:
    window, zone = posterior._core.window, posterior.time_zone
    axis = window.axes[0]
    pieces = stretches(window)
    total = sum(hi - lo for lo, hi in pieces)
    # Axes that hold another curve already keep room for it.
    top = ax.get_ylim()[1] if ax.has_data() else 0.0
    colour, said = color or CURVE, ""
    for number, (lo, hi) in enumerate(pieces):
        x = np.linspace(lo, hi, max(2, round(count * (hi - lo) / total)))
        named = number == 0
        highest, said = _stretch(posterior, ax, on_axis(x, axis), x, show, level, colour, label, named)
        top = max(top, 1.06 * highest)
    for (_, lo), (hi, _) in zip(pieces[:-1], pieces[1:]):
        ax.axvspan(*on_axis(np.array([lo, hi]), axis), color=GROUND, linewidth=0, zorder=0)
    plain(ax)
    ax.margins(x=0)
    ax.set_ylim(0, (1.0 if show == "exceed" else top) or 1.0)
    ax.set(xlabel=axis_label(axis, zone), ylabel=said)
    dress(ax.xaxis, axis, zone)
    seen = posterior.events if events else None
    if seen is not None:
        _marks(posterior, ax, seen[:, 0], axis, color, label)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize="small")
    axes: Axes = ax
    return axes


def _stretch(
    posterior: Posterior, ax: Any, place: Any, x: Floats, show: str, level: Any, colour: Any, label: str | None, named: bool
) -> tuple[float, str]:
    """One piece of a curve, how high it goes, and what it shows."""
    if show != "mean":
        values, said = values_at(posterior, x, show, level)
        ax.plot(place, values, color=colour, linewidth=1.8, label=label if named else None)
        return float(values.max()), said
    rate = posterior.rate(x, quantiles=[p for low, high, _, _ in BANDS for p in (low, high)])
    ax.plot(place, rate.mean, color=colour, linewidth=1.8, label=(label or "mean") if named else None, zorder=3)
    for low, high, name, strength in BANDS:
        told = f"{name} band" if named and label is None else None
        ax.fill_between(place, rate.quantile(low), rate.quantile(high), color=colour, alpha=strength, linewidth=0, label=told)
    return float(rate.quantiles.max()), posterior.rate_unit


def _marks(posterior: Posterior, ax: Any, events: Floats, axis: Axis, color: Any, label: str | None) -> None:
    """The events of a curve: under it as a rug, or above it in a row for each trial."""
    if trial_count(posterior) > 1 and posterior.trials is not None:
        divider = needed("mpl_toolkits.axes_grid1", "plot").make_axes_locatable(ax)
        above = divider.append_axes("top", size="55%", pad=0.08, sharex=ax)
        _rows(posterior, above, events, axis)
        above.margins(x=0)
        ax.figure.align_ylabels([above, ax])
        above.tick_params(axis="x", labelbottom=False, bottom=False)
        above.spines["bottom"].set_visible(False)
        return
    transforms = needed("matplotlib.transforms", "plot")
    under = transforms.blended_transform_factory(ax.transData, ax.transAxes)
    under = transforms.offset_copy(under, fig=ax.figure, y=-6.5, units="points")
    faint = min(0.75, max(0.12, 0.75 * (CROWDED_RUG / max(len(events), 1)) ** 0.5))
    marks = {"marker": "|", "linestyle": "", "markersize": 7, "markeredgewidth": 0.8, "color": color or EVENTS}
    # Their own legend entry is drawn strong: a faint mark would not be seen.
    ax.plot(on_axis(events, axis), np.zeros(len(events)), transform=under, clip_on=False, alpha=faint, **marks)
    words = event_words(len(events))
    ax.plot([], [], label=words if label is None else f"{label}, {words}", **marks)
    ax.tick_params(axis="x", pad=11, length=0)


def event_words(count: int) -> str:
    return "1 event" if count == 1 else f"{count:,} events"


def trial_count(posterior: Posterior) -> int:
    """How often the window was looked at, with trials in which nothing happened."""
    trials, window = posterior.trials, posterior._core.window
    looks = max((weight for _, weight in window.pieces), default=1.0) if window.is_repeated else 1.0
    return max(round(looks), 0 if trials is None or not len(trials) else int(trials.max()) + 1)


def _rows(posterior: Posterior, ax: Any, events: Floats, axis: Axis) -> None:
    trials, rows = posterior.trials, trial_count(posterior)
    assert trials is not None
    ax.vlines(on_axis(events, axis), trials + 0.6, trials + 1.4, color=EVENTS, linewidth=min(1.0, max(0.4, 30 / rows)))
    ax.set_ylim(rows + 0.5, 0.5)
    ax.set_ylabel("trial")
    ax.yaxis.set_major_locator(needed("matplotlib.ticker", "plot").MaxNLocator(4, integer=True))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def plot_raster(posterior: Posterior, ax: Any = None) -> Axes:
    """The events of each trial in a row of its own, the first on top."""
    events, trials = posterior.events, posterior.trials
    if posterior._core.window.dims != 1 or events is None or trials is None:
        lacks = "has not kept its events" if events is None else "was not fitted to trials on one axis"
        raise InputError(f"the model {lacks}, so there is no raster; fit a list of arrays, one for each trial")
    axis = posterior._core.window.axes[0]
    ax = new_axes(ax, "plot_raster")
    _rows(posterior, ax, events[:, 0], axis)
    lo, hi = posterior._core.window.bounding_box[0]
    ax.set_xlim(*on_axis(np.array([lo, hi]), axis))
    ax.set_xlabel(axis_label(axis, posterior.time_zone))
    dress(ax.xaxis, axis, posterior.time_zone)
    axes: Axes = ax
    return axes


# Maps


def cell_edges(box: Box, cells: int) -> tuple[Floats, Floats]:
    """The edges of the cells of a map, so many on the longer side, and on the other no less than half of that."""
    (x0, x1), (y0, y1) = box[:2]
    ratio = (x1 - x0) / (y1 - y0)
    ratio = min(max(ratio, 0.5), 2.0)
    across, up = (cells, round(cells / ratio)) if ratio > 1 else (round(cells * ratio), cells)
    return np.linspace(x0, x1, max(across, 2) + 1), np.linspace(y0, y1, max(up, 2) + 1)


def centres(edges: Floats) -> Floats:
    middle: Floats = 0.5 * (edges[1:] + edges[:-1])
    return middle


def near_inside(window: _core.Window, x: Floats, y: Floats, rest: list[float]) -> tuple[Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The centres of cells, which lie inside, and which lie inside or beside those: the border cuts through the latter."""
    grid = np.stack([*(axis.ravel() for axis in np.meshgrid(x, y)), *(np.full(x.size * y.size, value) for value in rest)], axis=1)
    inside = window.contains(np.ascontiguousarray(grid)).reshape(y.size, x.size)
    beside = inside.copy()
    for _ in range(2):
        wider = np.pad(beside, 1)
        beside = wider[1:-1, 1:-1] | wider[:-2, 1:-1] | wider[2:, 1:-1] | wider[1:-1, :-2] | wider[1:-1, 2:]
    return grid, inside, beside


def outline(window: _core.Window) -> list[list[Any]]:
    """The rings of each polygon on the first two axes; none if the window is one box."""
    if window.outlines:
        return list(window.outlines)
    boxes = [box for box, _ in window.pieces]
    if len(boxes) < 2:
        return []
    from ._window import _rectangle

    return [[_rectangle(box[:2])] for box in boxes]


def aspect_of(posterior: Posterior, box: Box) -> Any:
    """One unit of y is as long as one of x; in degrees, as it is in the middle of the map."""
    (x0, x1), (y0, y1) = box[:2]
    units = [unit for _, unit, *_ in posterior._core.window.axes[:2]]
    dated = any(origin is not None for _, _, origin, _ in posterior._core.window.axes[:2])
    if dated or units[0] != units[1]:
        return "auto"
    if units[0] == "degrees" or getattr(posterior.crs, "is_geographic", False):
        if posterior._core.window.globe == (1, 0):
            return np.cos(np.deg2rad(0.5 * (x0 + x1)))
        # A map of the whole Earth has no middle latitude that would do.
        return 1 / np.cos(np.deg2rad(0.5 * (y0 + y1))) if abs(y0 + y1) < 160 else 1.0
    is_like = 1 / EQUAL_SCALE_FACTOR <= (x1 - x0) / (y1 - y0) <= EQUAL_SCALE_FACTOR
    return 1.0 if is_like else "auto"


def _map(
    posterior: Posterior, ax: Any, show: str, level: Any, events: bool, cells: int, at: Any, cmap: Any, colorbar: bool
) -> Axes:
    window = posterior._core.window
    box, (x_axis, y_axis) = window.bounding_box, window.axes[:2]
    slice_at = _slice(posterior, at)
    x, y = cell_edges(box, cells)
    grid, inside, beside = near_inside(window, centres(x), centres(y), slice_at)
    image = np.full(beside.shape, np.nan)
    if beside.any():
        image[beside], said = values_at(posterior, grid[beside.ravel()], show, level)
    else:
        raise InputError("the map has no cell inside the window; take more points=")
    border = outline(window)
    if not border:
        image[~inside] = np.nan
    norm, root, beyond = _norm(image[inside], show)
    mesh = ax.pcolormesh(on_axis(x, x_axis), on_axis(y, y_axis), image, cmap=cmap or COLOURS[show], norm=norm, rasterized=True)
    if border:
        _border(ax, mesh, border)
    _dress_map(posterior, ax, box)
    if events and posterior.events is not None:
        _dots(ax, posterior.events, window, slice_at)
    if slice_at:
        ax.set_title(_place_words(posterior, slice_at[0]), fontsize="medium")
    if colorbar:
        bar = ax.figure.colorbar(mesh, cax=_bar_axes(ax), extend=beyond)
        bar.set_label(f"{said}, colours by the root" if root else said)
        bar.outline.set_visible(False)
    axes: Axes = ax
    return axes


def _bar_axes(ax: Any) -> Any:
    """Axes for a colour bar as high as the map."""
    if ax.figure.get_layout_engine() is not None:
        # The layout leaves room for what belongs to axes, and for nothing that is put beside them.
        return ax.inset_axes((1.03, 0.0, 0.04, 1.0))
    return needed("mpl_toolkits.axes_grid1", "plot").make_axes_locatable(ax).append_axes("right", size="4%", pad=0.12)


def _norm(values: Floats, show: str) -> tuple[Any, bool, str]:
    """From zero unless that would waste much of the scale; by root or logarithm where a few high values would leave all others alike.

    Also whether it is by the root, and whether values lie beyond its ends.
    """
    colours = needed("matplotlib.colors", "plot")
    if show == "exceed":
        return colours.Normalize(0.0, 1.0), False, "neither"
    lo, middle, hi = (float(value) for value in np.quantile(values, [0.0, 0.5, 1.0]))
    if 0.0 < middle < VERY_SKEWED * hi:
        return colours.LogNorm(max(lo, LOWEST * hi), hi), False, "min" if lo < LOWEST * hi else "neither"
    lo = 0.0 if 0.0 < lo < 0.35 * hi else lo
    root = lo == 0.0 and middle < SKEWED * hi
    return (colours.PowerNorm(0.5, lo, hi) if root else colours.Normalize(lo, hi)), root, "neither"


def _border(ax: Any, mesh: Any, polygons: list[list[Any]]) -> None:
    """The border as a line, and the map cut off at it."""
    paths = needed("matplotlib.path", "plot").Path
    patches = needed("matplotlib.patches", "plot")
    rings = [np.asarray(ring, dtype=np.float64) for polygon in polygons for ring in polygon]
    closed = [ring if (ring[0] == ring[-1]).all() else np.vstack([ring, ring[:1]]) for ring in rings]
    path = paths.make_compound_path(*[paths(ring, closed=True) for ring in closed])
    ground = ax.add_patch(patches.PathPatch(path, facecolor="none", edgecolor=INK, linewidth=0.9, zorder=2.5))
    mesh.set_clip_path(ground)


def _dress_map(posterior: Posterior, ax: Any, box: Box) -> None:
    x_axis, y_axis = posterior._core.window.axes[:2]
    zone = posterior.time_zone
    ax.set(xlabel=axis_label(x_axis, zone), ylabel=axis_label(y_axis, zone))
    ax.set_xlim(*on_axis(np.array(box[0]), x_axis))
    ax.set_ylim(*on_axis(np.array(box[1]), y_axis))
    dress(ax.xaxis, x_axis, zone)
    dress(ax.yaxis, y_axis, zone)
    if x_axis[2] is None and max(map(abs, box[0])) >= LONG_NUMBERS:
        ax.xaxis.set_major_locator(needed("matplotlib.ticker", "plot").MaxNLocator(3))
    ax.set_aspect(aspect_of(posterior, box))
    ax.set_facecolor(GROUND)


def _dots(ax: Any, events: Floats, window: _core.Window, slice_at: list[float]) -> None:
    x_axis, y_axis = window.axes[:2]
    if slice_at:
        lo, hi = window.bounding_box[2]
        events = events[np.abs(events[:, 2] - slice_at[0]) <= NEARBY * (hi - lo)]
    crowd = min(1.0, (CROWDED_MAP / max(len(events), 1)) ** 0.5)
    edge = 0.4 if crowd > 0.3 else 0.0
    ax.scatter(
        on_axis(events[:, 0], x_axis),
        on_axis(events[:, 1], y_axis),
        s=max(1.2, 12 * crowd),
        c="white",
        alpha=max(0.35, 0.9 * crowd),
        edgecolors="#16181d",
        linewidths=edge,
        zorder=3,
    )


def _slice(posterior: Posterior, at: Any) -> list[float]:
    """The place on the third axis, if there is one: its middle unless another is given."""
    window = posterior._core.window
    if window.dims < 3:
        return []
    lo, hi = window.bounding_box[2]
    if at is None:
        return [0.5 * (lo + hi)]
    value = _number_on(at, window.axes[2])
    if not lo <= value <= hi:
        raise SettingError(f"at={at!r} lies outside the window on its third axis; give a place inside it")
    return [value]


def _number_on(at: Any, axis: Axis) -> float:
    _, unit, origin, clocks = axis
    from ._coordinates import coordinates

    given = coordinates([at], "at=", zone=clocks).given
    if not isinstance(given, list):
        return float(given[0, 0])
    if origin is None:
        raise SettingError(f"at={at!r} is a date, and the third axis counts from none; give a number")
    from ._posterior import seconds_of

    shown = given[0][0]
    if clocks is not None:
        pandas = needed("pandas", "a time zone")
        shown = pandas.Timestamp(int(shown) * 1000, tz="UTC").tz_convert(clocks).tz_localize(None).value // 1000
    return float((shown - round(origin * 1e6)) / (seconds_of(unit) * 1e6))


def _place_words(posterior: Posterior, value: float) -> str:
    axis = posterior._core.window.axes[2]
    label = axis_label(axis, "UTC")
    if axis[2] is None:
        return f"{label}: {value:.4g}"
    return f"{label}: {np.datetime_as_string(on_axis(np.array([value]), axis)[0], unit='m').replace('T', ' ')}"


# Counts


def plot_counts(counts: Counts, ax: Any = None, *, new: bool = False, color: Any = None) -> Axes:
    """A bar for each region with its 50 % and 90 % intervals: along the axis for bins of one axis, else one under another by name."""
    if not len(counts):
        raise InputError("there are no regions to plot; give some to count")
    probabilities = [p for low, high, _, _ in BANDS for p in (low, high)]
    ends = counts.new_quantiles(probabilities) if new else counts.quantiles(probabilities)
    what = f"{'new count' if new else 'expected events'}, 50 and 90 % intervals"
    along = _bins(counts)
    if along is None:
        ax = new_axes(ax, "plot_counts", (7.0, 1.2 + 0.32 * len(counts)))
        return _named_bars(counts, ax, ends, what, color or CURVE)
    return _time_bars(counts, new_axes(ax, "plot_counts"), ends, what, along, color or CURVE)


def _bins(counts: Counts) -> Floats | None:
    """(lo, hi) of each bin, if regions are such on one axis that do not overlap and have no names of their own."""
    if len(counts) < 2 or any(len(box) != 1 for box in counts.boxes) or not counts.axes or counts.is_named:
        return None
    bins = np.array([box[0] for box in counts.boxes])
    ordered = bins[np.argsort(bins[:, 0])]
    slack = 1e-9 * (ordered[-1, 1] - ordered[0, 0])
    return bins if (ordered[1:, 0] >= ordered[:-1, 1] - slack).all() else None


def _time_bars(counts: Counts, ax: Any, ends: Floats, what: str, bins: Floats, colour: Any) -> Axes:
    axis = counts.axes[0]
    edges = [on_axis(bins[:, side], axis) for side in (0, 1)]
    middle = on_axis(bins.mean(axis=1), axis)
    ax.bar(edges[0], counts.mean, width=edges[1] - edges[0], align="edge", color=colour, alpha=0.3, edgecolor="white", linewidth=0.8)
    for pair, width in [(ends[0:2], 1.2), (ends[2:4], 4.0)]:
        ax.vlines(middle, *pair, color=colour, linewidth=width)
    ax.plot(middle, counts.mean, "o", color="white", markeredgecolor=colour, markersize=4)
    plain(ax)
    ax.margins(x=0.01)
    ax.set_ylim(bottom=0)
    ax.set(xlabel=axis_label(axis, counts.time_zone), ylabel=what)
    dress(ax.xaxis, axis, counts.time_zone)
    axes: Axes = ax
    return axes


def _named_bars(counts: Counts, ax: Any, ends: Floats, what: str, colour: Any) -> Axes:
    rows = np.arange(len(counts))
    ax.barh(rows, counts.mean, height=0.72, color=colour, alpha=0.3)
    for pair, width in [(ends[0:2], 1.2), (ends[2:4], 4.0)]:
        ax.hlines(rows, *pair, color=colour, linewidth=width)
    ax.plot(counts.mean, rows, "o", color="white", markeredgecolor=colour, markersize=4)
    plain(ax)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", color="#e3e5e9", linewidth=0.8)
    # A dollar sign would begin mathematics.
    ax.set_yticks(rows, [name.replace("$", r"\$") for name in counts.names])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel(what)
    axes: Axes = ax
    return axes


# Calibration


def plot_calibration(found: Mapping[str, Any], ax: Any, show: str | None, of: str | None) -> Any:
    """What `calibrate` found: all of it in a figure, or one part in its axes."""
    quantities = _quantities(found)
    if show not in (None, "ranks", "coverage"):
        raise SettingError(f"show={show!r} is not known; take one of ranks, coverage")
    if show is None and ax is None:
        return _all_of_calibration(quantities)
    ax = new_axes(ax, "plot_calibration", (4.4, 3.6))
    if show == "coverage":
        return _coverage(ax, quantities)
    known = [one["name"] for one in quantities]
    if of is not None and of not in known:
        raise SettingError(f"of={of!r} was not calibrated; take one of {', '.join(known)}")
    return _ranks(ax, quantities[0 if of is None else known.index(of)])


def _quantities(found: Any) -> list[dict[str, Any]]:
    try:
        quantities = list(found["quantities"])
    except (KeyError, TypeError) as error:
        raise InputError("there is nothing of a calibration in this; give what pointillist.calibrate() returns") from error
    if not quantities:
        raise InputError("the calibration has no quantities; run pointillist.calibrate() with more sets=")
    return quantities


def _all_of_calibration(quantities: list[dict[str, Any]]) -> npt.NDArray[np.object_]:
    pyplot = needed("matplotlib.pyplot", "plot_calibration")
    panels = len(quantities) + 1
    columns = min(panels, 3)
    lines = -(-panels // columns)
    figure, grid = pyplot.subplots(lines, columns, figsize=(3.5 * columns, 3.0 * lines), layout="constrained", squeeze=False)
    axes: npt.NDArray[np.object_] = grid.ravel()
    for ax, quantity in zip(axes, quantities):
        _ranks(ax, quantity)
    _coverage(axes[len(quantities)], quantities)
    for ax in axes[panels:]:
        figure.delaxes(ax)
    return axes[:panels]


def _ranks(ax: Any, quantity: Mapping[str, Any]) -> Axes:
    histogram = np.asarray(quantity["histogram"], dtype=np.float64)
    bins, (low, high) = len(histogram), quantity["band"]
    ax.axhspan(low, high, color=GROUND, zorder=0, linewidth=0, label="99 % band")
    ax.axhline(histogram.sum() / bins, color="#8a9099", linewidth=1.0, linestyle="--", zorder=1)
    out = (histogram < low) | (histogram > high)
    ax.bar((np.arange(bins) + 0.5) / bins, histogram, width=0.88 / bins, color=np.where(out, EVENTS, CURVE), zorder=2)
    ax.set(xlim=(0, 1), ylim=(0, 1.12 * max(float(high), float(histogram.max()))), xlabel="rank of the truth", ylabel="sets")
    ax.set_title(f"{quantity['name']}, p = {quantity['p_value']:.2g}", fontsize="medium")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    axes: Axes = ax
    return axes


def _coverage(ax: Any, quantities: Sequence[Mapping[str, Any]]) -> Axes:
    promised = 100 * np.array(LEVELS)
    # Of Okabe and Ito, with markers of their own: colour alone tells nothing apart here.
    looks = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D")]
    ax.plot([0, 100], [0, 100], color="#8a9099", linewidth=1.0, linestyle="--", zorder=1)
    for number, quantity in enumerate(quantities):
        colour, marker = looks[number % len(looks)]
        held = 100 * np.array([one["value"] for one in quantity["coverage"]])
        error = 100 * np.array([one["se"] for one in quantity["coverage"]])
        apart = 0.9 * (number - 0.5 * (len(quantities) - 1))
        ax.errorbar(promised + apart, held, yerr=2 * error, fmt=marker, color=colour, markersize=4.5, linewidth=1.2, label=quantity["name"])
    ax.set(xlim=(40, 100), ylim=(min(40, ax.get_ylim()[0]) if ax.get_ylim()[0] > 0 else 0, 102), xlabel="promised (%)", ylabel="held the truth (%)")
    ax.set_title("coverage, ± 2 standard errors", fontsize="medium")
    plain(ax)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    axes: Axes = ax
    return axes
