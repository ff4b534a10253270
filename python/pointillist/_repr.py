"""What notebooks show: a small picture and a small table, as HTML. Without matplotlib, so that it costs next to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._plot import CURVE, EVENTS, axis_label, cell_edges, centres, near_inside, on_axis, outline, stretches

if TYPE_CHECKING:
    from . import _core
    from ._posterior import Contrast, Counts, Posterior, Rate
    from ._window import Window

Floats = npt.NDArray[np.float64]

#: Width of a picture, height of a curve, largest height of a map: in pixels.
WIDTH, CURVE_HEIGHT, MAP_HEIGHT = 300, 90, 220
#: Points of a curve; cells on the longer side of a map, and the colours they have.
CURVE_POINTS, MAP_CELLS = 200, 60
#: Stops of viridis, dark to bright.
VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
#: A rug and a scatter have no more marks than this: evenly chosen ones.
MOST_MARKS = 400
#: A table has no more rows than this.
MOST_ROWS = 12
#: Corners of a border closer than this, in pixels, are one.
FINEST_STEP = 0.5


def html_of_posterior(posterior: Posterior) -> str:
    """The picture, and beside it what the fit says of itself."""
    summary = posterior.summary
    window = posterior._core.window
    if posterior._core.value_name is not None:
        # What is said of events and values together is a text of its own.
        return block(f"Posterior of {posterior.source}", picture(posterior), f"<pre>{escape(posterior.show())}</pre>")
    rows = [
        ("events", f"{posterior.event_count:,}"),
        ("window", window_words(posterior)),
        ("rate", f"{posterior.event_count / window.measure:.4g} {posterior.rate_unit} on average"),
        ("model", _model_words(summary)),
        ("bound", f"{posterior.elbo:.4f}"),
        ("stop", f"{summary['stop']}, {summary['seconds']:.2g} s"),
    ]
    return block(f"Posterior of {posterior.source}", picture(posterior), table(rows))


def _model_words(summary: dict[str, Any]) -> str:
    parts = summary.get("components") or []
    return f"an average of {len(parts)} models" if len(parts) > 1 else str(summary["kernel"])


def window_words(posterior: Posterior) -> str:
    """Each axis with its ends; dates where it has them."""
    core = posterior._core.window
    words = []
    for axis, (lo, hi) in zip(core.axes, core.bounding_box):
        if axis[2] is None:
            words.append(f"{axis_label(axis, None)} {lo:.6g} to {hi:.6g}")
        else:
            ends = [np.datetime_as_string(date, unit="m").replace("T", " ") for date in on_axis(np.array([lo, hi]), axis)]
            words.append(f"{axis_label(axis, 'UTC')} {ends[0]} to {ends[1]}")
    return "; ".join(words) + (", inside a border" if core.outlines else "")


def html_of_model(model: Any) -> str:
    """What it was fitted to, if it was, below its settings."""
    fitted = getattr(model.__dict__.get("posterior_"), "_repr_html_", None)
    return f"<div><code>{escape(repr(model))}</code></div>{'' if fitted is None else fitted()}"


def html_of_rate(rate: Rate) -> str:
    """The first rows of the table that `to_frame` gives."""
    return block(repr(rate)[1:-1], "", rows_of({name: column for name, column in rate.columns().items()}, len(rate)))


def html_of_counts(counts: Counts) -> str:
    """A row for each region."""
    low, _, high = counts.quantiles()
    columns = {"region": np.array(counts.names, dtype=object), "mean": counts.mean, "sd": counts.sd, "q0.05": low, "q0.95": high}
    return block(repr(counts)[1:-1], "", rows_of(columns, len(counts)))


def html_of_contrast(contrast: Contrast) -> str:
    """Difference, ratio, probability."""
    apart = contrast.difference
    rows = [("A − B", f"{apart['mean']:.4g} ± {apart['sd']:.2g}")]
    rows += [(f"A / B, {100 * p:g} %", f"{ratio:.4g}") for p, ratio in contrast.ratio.items()]
    return block("Contrast", "", table([*rows, ("P(A > B)", contrast.chance.removeprefix("= "))]))


def html_of_window(window: Window) -> str:
    """Its outline, if it has one, and its size."""
    core = window.core
    rows = [("axes", ", ".join(axis_label(axis, "UTC") for axis in core.axes)), ("box", window_text(core))]
    if core.measure != core.volume:
        rows.append(("volume", f"{core.volume:.6g}"))
    rows.append(("measure", f"{core.measure:.6g}"))
    drawn = ""
    if core.dims == 2 and outline(core):
        scale = Scale(core.bounding_box)
        drawn = svg(scale.height, border_path(core, scale))
    return block("Window", drawn, table(rows))


def window_text(core: _core.Window) -> str:
    return core.show()


# HTML


def block(title: str, drawn: str, said: str) -> str:
    """A heading, a picture and a table side by side."""
    parts = "".join(f'<div style="margin-right:16px">{part}</div>' for part in (drawn, said) if part)
    return f'<div><div style="font-weight:bold">{escape(title)}</div><div style="display:flex;flex-wrap:wrap;align-items:flex-start">{parts}</div></div>'


def table(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values."""
    lines = (f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>' for name, value in rows)
    return f"<table>{''.join(lines)}</table>"


def rows_of(columns: dict[str, Any], count: int) -> str:
    """The first rows of columns, and how many there are."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ("".join(f"<td>{escape(_cell(column[row]))}</td>" for column in columns.values()) for row in range(min(count, MOST_ROWS)))
    more = f"<div>… {count:,} rows in all</div>" if count > MOST_ROWS else ""
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{more}"


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, (float, np.floating)) else str(value)


# Pictures


def picture(posterior: Posterior) -> str:
    """A curve with its band, or a map; nothing on more axes, where one picture would not say it."""
    dims = posterior._core.window.dims
    return curve(posterior) if dims == 1 else heat_map(posterior) if dims == 2 else ""


def svg(height: float, *shapes: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img">{"".join(shapes)}</svg>'


def _line(x: Floats, y: Floats) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y))


def curve(posterior: Posterior) -> str:
    """Mean and 90 % band, events under them."""
    core = posterior._core.window
    lo, hi = core.bounding_box[0]
    pieces = stretches(core)
    rates = []
    for start, end in pieces:
        x = np.linspace(start, end, max(2, round(CURVE_POINTS * (end - start) / (hi - lo))))
        rates.append((x, posterior.rate(x, quantiles=[0.05, 0.95])))
    top = max(float(rate.quantiles[1].max()) for _, rate in rates) or 1.0
    foot = CURVE_HEIGHT - 14
    shapes = []
    for x, rate in rates:
        across = (x - lo) / (hi - lo) * WIDTH
        low, high, mean = (foot - values / top * (foot - 4) for values in (rate.quantiles[0], rate.quantiles[1], rate.mean))
        band = _line(np.concatenate([across, across[::-1]]), np.concatenate([low, high[::-1]]))
        shapes.append(f'<path d="{band}Z" fill="{CURVE}" fill-opacity="0.22"/>')
        shapes.append(f'<path d="{_line(across, mean)}" fill="none" stroke="{CURVE}" stroke-width="1.6"/>')
    shapes.append(f'<path d="M0 {foot}H{WIDTH}" stroke="currentColor" stroke-opacity="0.35"/>')
    events = _few(posterior.events)
    if len(events):
        marks = "".join(f"M{a:.1f} {foot + 3}v8" for a in (events[:, 0] - lo) / (hi - lo) * WIDTH)
        shapes.append(f'<path d="{marks}" stroke="{EVENTS}" stroke-width="0.8" stroke-opacity="0.6"/>')
    return svg(CURVE_HEIGHT, *shapes)


def _few(events: Floats | None) -> Floats:
    """No more events than a small picture holds."""
    if events is None:
        return np.empty((0, 1))
    return events[:: max(1, -(-len(events) // MOST_MARKS))]


class Scale:
    """From places to pixels: true to scale unless that would be a thread."""

    def __init__(self, box: Sequence[tuple[float, float]]) -> None:
        (self.x0, x1), (_, self.y1) = box[:2]
        wide, high = x1 - self.x0, self.y1 - box[1][0]
        self.height = min(max(WIDTH * high / wide, 60.0), float(MAP_HEIGHT))
        per_unit = min(WIDTH / wide, self.height / high)
        is_true = per_unit * wide > 0.3 * WIDTH and per_unit * high > 0.3 * self.height
        self.x_step, self.y_step = (per_unit, per_unit) if is_true else (WIDTH / wide, self.height / high)

    def of(self, places: Any) -> Floats:
        rows = np.asarray(places, dtype=np.float64)
        pixels: Floats = np.stack([(rows[:, 0] - self.x0) * self.x_step, (self.y1 - rows[:, 1]) * self.y_step], axis=1)
        return pixels


def heat_map(posterior: Posterior) -> str:
    """The mean rate in nine colours, the border, and the events."""
    core = posterior._core.window
    x, y = cell_edges(core.bounding_box, MAP_CELLS)
    grid, inside, _ = near_inside(core, centres(x), centres(y), [])
    if not inside.any():
        return ""
    mean = np.full(inside.shape, np.nan)
    mean[inside] = posterior.rate(grid[inside.ravel()], quantiles=[]).mean
    # By the third root: few high values would leave all others dark.
    shares = np.cbrt(np.where(inside, mean, 0.0) / float(np.nanmax(mean)))
    levels = np.where(inside, np.minimum((shares * len(VIRIDIS)).astype(int), len(VIRIDIS) - 1), -1)
    scale = Scale(core.bounding_box)
    shapes = [*_cells(levels, x, y, scale), border_path(core, scale)]
    events = _few(posterior.events)
    if len(events):
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in scale.of(events))
        shapes.append(f'<path d="{dots}" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-opacity="0.7"/>')
    return svg(scale.height, *shapes)


def _cells(levels: npt.NDArray[Any], x: Floats, y: Floats, scale: Scale) -> Iterable[str]:
    """One path for each colour, of runs of cells."""
    across = scale.of(np.stack([x, np.zeros(len(x))], axis=1))[:, 0]
    down = scale.of(np.stack([np.zeros(len(y)), y], axis=1))[:, 1]
    for level, colour in enumerate(VIRIDIS):
        runs = []
        for row in range(len(y) - 1):
            ends = np.flatnonzero(np.diff(np.concatenate([[0], levels[row] == level, [0]]).astype(int)))
            for start, end in zip(ends[::2], ends[1::2]):
                runs.append(f"M{across[start]:.1f} {down[row + 1]:.1f}H{across[end]:.1f}V{down[row]:.1f}H{across[start]:.1f}Z")
        if runs:
            yield f'<path d="{"".join(runs)}" fill="{colour}" stroke="{colour}" stroke-width="0.4"/>'


def border_path(core: _core.Window, scale: Scale) -> str:
    """The border as a line, no finer than can be seen."""
    rings = [scale.of(ring) for polygon in outline(core) for ring in polygon]
    if not rings:
        return ""
    path = "".join(_line(*_coarse(ring).T) + "Z" for ring in rings)
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.7" stroke-width="0.8"/>'


def _coarse(ring: Floats) -> Floats:
    kept = [ring[0]]
    for corner in ring[1:]:
        if np.abs(corner - kept[-1]).max() >= FINEST_STEP:
            kept.append(corner)
    return np.array(kept)
