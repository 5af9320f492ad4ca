"""Draws the course of training: losses, metrics and rates by step or epoch."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import isfinite, log10

import numpy as np

from ..errors import DTypeError, ParameterError
from .drawing import Svg, round_step

#: Sizes in pixels: of a panel, of the margins left of and below its axes, and of the margins above and right of them.
WIDTH, HEIGHT, LEFT, BELOW, ABOVE, RIGHT = 340, 210, 52, 36, 26, 14
#: Longer curves are averaged over stretches, since a screen has no more columns.
POINTS = 300
#: Colors of Paul Tol's bright scheme, which people with any color vision tell apart.
COLORS = ("#4477AA", "#EE6677", "#228833", "#AA3377", "#CCBB44", "#66CCEE")
#: Prefixes of a metric's name in different data.
DATA = re.compile(r"(train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?)[ _-]+(.+)", re.IGNORECASE)

Curves = Mapping[str, Sequence[float]]


def plot_training(history: Curves, columns: int = 2, log: bool = False, x: str = "step") -> Svg:
    """Draw how numbers went during training, in a panel for each metric.

    Curves named ``train …`` and ``validation …`` (or ``val``, ``test``) of the same metric share a panel. Of more than 300
    numbers, the means of stretches are drawn. Numbers that are not finite are left out.

    Parameters
    ----------
    history
        Numbers by name, in order: one for each step, or each epoch.
    columns
        Number of panels beside each other.
    log
        Whether the vertical axes are logarithmic. Panels whose numbers are not positive, or within a factor of ten, are linear.
    x
        The unit of the horizontal axes.

    Returns
    -------
    Svg
        The drawing.

    Raises
    ------
    DTypeError
        If ``history`` is not a dict.
    ParameterError
        If it is empty.

    Examples
    --------
    >>> import twofold as mx
    >>> drawing = mx.viz.plot_training({"train loss": [2.3, 1.1, 0.7], "validation loss": [2.2, 1.3, 1.0]}, x="epoch")
    >>> drawing.count("<path")
    2
    """
    if not isinstance(history, Mapping):
        raise DTypeError("plot_training: not a history", type(history).__name__, "pass a dict of lists of numbers by name")
    if not history or columns < 1:
        raise ParameterError("plot_training: nothing to draw", f"{len(history)} curves, {columns} columns", "pass at least one of each")
    panels: dict[str, dict[str, Sequence[float]]] = {}
    for name, values in history.items():
        found = DATA.fullmatch(name)
        panels.setdefault(found[2] if found else name, {})[found[1] if found else name] = values
    lines = []
    for k, (title, curves) in enumerate(panels.items()):
        lines.append(f'<g transform="translate({k % columns * WIDTH} {k // columns * HEIGHT})">')
        lines += [*_panel(title, curves, log, x), "</g>"]
    return Svg.of(WIDTH * min(columns, len(panels)), HEIGHT * -(-len(panels) // columns), lines, scales=True)


def _panel(title: str, curves: Curves, log: bool, x: str) -> Iterator[str]:
    points = {name: _points(values) for name, values in curves.items()}
    found = np.concatenate([y[np.isfinite(y)] for _, y in points.values()])
    low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
    # within a factor of ten, a logarithmic axis would have no round numbers
    log = log and 0 < 10 * low <= high
    ticks = _decades(low, high) if log else _ticks(low, high)
    bottom, top, last = ticks[0], ticks[-1], max((len(values) for values in curves.values()), default=1) - 1
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - ABOVE - BELOW

    def across(step: float) -> float:
        return LEFT + width * (step / last if last > 0 else 0.5)

    def up(value: float) -> float:
        return ABOVE + height * (top - (log10(value) if log else value)) / (top - bottom)

    yield f'<text x="{LEFT}" y="16" font-weight="bold" font-size="13">{escape(title)}</text>'
    for tick in ticks:
        y = up(10**tick if log else tick)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{10**tick if log else tick:.3g}</text>'
    for step in range(0, last + 1, _round(last / 4)):
        # steps count from 0, as in the list of numbers
        yield f'<text x="{across(step):.1f}" y="{HEIGHT - BELOW + 15}" text-anchor="middle">{step}</text>'
    yield f'<text x="{LEFT + width / 2}" y="{HEIGHT - 6}" text-anchor="middle" font-style="italic">{escape(x)}</text>'
    # the curves last, so that they cover the lines of the grid
    for k, (name, (steps, values)) in enumerate(points.items()):
        color = COLORS[k % len(COLORS)]
        places = [(across(s), up(v)) if isfinite(v) else None for s, v in zip(steps, values, strict=True)]
        yield f'<path d="{_path(places)}" fill="none" stroke="{color}" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/>'
        if len(points) > 1:
            yield f'<text x="{WIDTH - RIGHT}" y="{ABOVE + 14 * (k + 1) - 3}" text-anchor="end" fill="{color}">{escape(name)}</text>'


def _points(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Steps and numbers to draw. The last stretch may be shorter."""
    numbers = np.asarray(values, np.float64).ravel()
    stretch = max(1, -(-len(numbers) // POINTS))
    starts = np.arange(0, len(numbers), stretch)
    if stretch == 1:
        return starts, numbers
    counts = np.diff(starts, append=len(numbers))
    return starts + (counts - 1) / 2, np.add.reduceat(numbers, starts) / counts


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """The lines between points, with gaps where there is none; a lone point is a dot."""
    text, pen = "", "M"
    for point in points:
        # "h0" is a line without length, which round ends make a dot where no other line follows
        text += f"{pen}{point[0]:.1f} {point[1]:.1f}" + ("h0" if pen == "M" else "") if point else ""
        pen = "L" if point else "M"
    return text


def _ticks(low: float, high: float) -> list[float]:
    """About four round numbers around a range, the first and last outside it."""
    # of a single number, or of equal ones, half as much on either side
    if not high > low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    step = round_step((high - low) / 4)
    return [float(k * step) for k in range(int(np.floor(low / step)), int(np.ceil(high / step)) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """The exponents of powers of ten around a range, of a few if there are many."""
    first, last = int(np.floor(log10(low))), int(np.ceil(log10(high)))
    step = -(-(last - first) // 6)
    return [float(k) for k in range(first, last + step, step)]


def _round(size: float) -> int:
    """A round number that is not much larger."""
    power = 10 ** int(np.floor(log10(max(size, 1))))
    return next(int(m * power) for m in (1, 2, 5, 10) if m * power >= size)
