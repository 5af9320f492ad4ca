"""Draws a trace of the profiler: each thread's work over time, one row for each level of nesting."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from os import PathLike
from typing import Any, NamedTuple

from ..errors import ParameterError
from ..profiler.cluster import read_trace
from .drawing import Svg, round_step

#: Sizes in pixels: the text beside rows, the time axis, a row, the gap between threads, and the text above.
MARGIN, WIDTH, ROW, GAP, TOP = 120, 1100, 16, 12, 44
#: Events shorter than this are joined with their neighbors.
FINEST = 0.5
#: Boxes that are wider than so many pixels for each letter have their name inside.
LETTER = 6.5
#: ColorBrewer's palette Set3, by category; and the color of other categories.
COLORS = {
    "window": "#d9d9d9",
    "program": "#8dd3c7",
    "kernel": "#80b1d3",
    "operator": "#b3de69",
    "compile": "#fb8072",
    "copy": "#fdb462",
    "communication": "#bc80bd",
    "data": "#ffffb3",
}
OTHER = "#fccde5"
#: Levels of nesting that are drawn.
DEEPEST = 8

TraceEvent = Mapping[str, Any]


class Axis(NamedTuple):
    """The horizontal axis: the trace's beginning, and the drawn interval, in microseconds."""

    start: float
    low: float
    high: float

    def at(self, time: float) -> float:
        """The position of a time, within the drawing."""
        return MARGIN + WIDTH * (min(max(time, self.low), self.high) - self.low) / (self.high - self.low)

    def shows(self, begin: float, end: float) -> bool:
        """Whether any of it is in the drawing."""
        return end > self.low and begin < self.high

    def ticks(self, meanings: Iterable[tuple[str, str]]) -> Iterator[str]:
        """About ten round times, and what colors mean."""
        low, high = (self.low - self.start) / 1e3, (self.high - self.start) / 1e3
        step = round_step((high - low) / 10)
        digits = max(0, -math.floor(math.log10(step)))  # as many as tell ticks apart
        for k in range(math.ceil(low / step), math.floor(high / step) + 1):
            x = self.at(self.start + k * step * 1e3)
            yield f'<text x="{x:.1f}" y="36" text-anchor="middle">{k * step:,.{digits}f} ms</text>'
        x = MARGIN
        for text, color in meanings:
            yield f'<rect x="{x}" y="6" width="12" height="12" fill="{color}"/><text x="{x + 16}" y="16">{escape(text)}</text>'
            x += 40 + int(LETTER * len(text))

    def box(self, begin: float, end: float, top: int, color: str, text: str) -> str:
        """A box in a row, with a text that appears when it is pointed at."""
        x, width = self.at(begin), max(self.at(end) - self.at(begin), FINEST)
        return f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 2}" fill="{color}"><title>{escape(text)}</title></rect>'


def plot_timeline(trace: str | PathLike[str] | Mapping[str, Any], begin: float = 0.0, end: float | None = None) -> Svg:
    """Draw each thread's work over time from a trace of the profiler: programs below windows, kernels and operators below programs.

    Parameters
    ----------
    trace
        A file of `mx.profiler.dump`, or its content.
    begin, end
        The seconds to draw, from the trace's beginning; to its end if ``end`` is None.

    Returns
    -------
    Svg
        The drawing. Pointing at a box shows its name and its duration.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FormatError
        If it is not a trace.
    ParameterError
        If nothing is left to draw.

    Examples
    --------
    >>> import twofold as mx
    >>> with mx.explain() as report:
    ...     total = (mx.nd.ones((300, 300)) * 2).sum().asscalar()
    >>> drawing = mx.viz.plot_timeline(report.profile().trace)
    >>> "window" in drawing
    True
    """
    content = trace if isinstance(trace, Mapping) else read_trace(trace)
    events = [event for event in content["traceEvents"] if event.get("ph") == "X"]
    start = min((e["ts"] for e in events), default=0.0)
    stop = max((e["ts"] + e["dur"] for e in events), default=0.0)
    axis = Axis(start, start + begin * 1e6, stop if end is None else min(stop, start + end * 1e6))
    if not axis.high > axis.low:
        raise ParameterError("plot_timeline: nothing to draw", f"{begin} s to {end} s of {(stop - start) / 1e6:.3f} s", "pass other times")
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in content["traceEvents"] if e["name"] in ("process_name", "thread_name")}
    threads: dict[tuple[int, int], list[TraceEvent]] = defaultdict(list)
    for event in events:
        if axis.shows(event["ts"], event["ts"] + event["dur"]):
            threads[event["pid"], event["tid"]].append(event)
    categories = dict.fromkeys(event["cat"] for own in threads.values() for event in own)
    lines, top = list(axis.ticks((category, COLORS.get(category, OTHER)) for category in categories)), TOP
    for (pid, tid), own in sorted(threads.items()):
        lines.append(f'<text x="4" y="{top + 12}">{escape(names.get((pid, None), ""))} {escape(names.get((pid, tid), ""))}</text>')
        rows = _levels(own)
        lines += [line for k, row in enumerate(rows) for line in _row(axis, row, top + k * ROW)]
        top += len(rows) * ROW + GAP
    return Svg.of(MARGIN + WIDTH + 50, top, lines)


def _levels(events: Iterable[TraceEvent]) -> list[list[TraceEvent]]:
    """The events of a thread by the number of events around them."""
    levels: list[list[TraceEvent]] = []
    around: list[float] = []  # the ends of the events around the next one
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        # times are whole nanoseconds, which their sums as floats are not
        while around and event["ts"] > around[-1] - 0.0005:
            around.pop()
        if len(around) < DEEPEST:
            if len(levels) == len(around):
                levels.append([])
            levels[len(around)].append(event)
        around.append(event["ts"] + event["dur"])
    return levels


def _row(axis: Axis, events: Iterable[TraceEvent], top: int) -> Iterator[str]:
    """The boxes of a row; neighboring boxes that are too short to see are joined if their colors are equal."""
    joined: list[TraceEvent] = []
    for event in events:
        begin, end = axis.at(event["ts"]), axis.at(event["ts"] + event["dur"])
        is_short = end - begin < FINEST
        if joined and not (is_short and event["cat"] == joined[0]["cat"] and begin - axis.at(joined[-1]["ts"]) < 2 * FINEST):
            yield _joined(axis, joined, top)
            joined = []
        if is_short:
            joined.append(event)
            continue
        color = COLORS.get(event["cat"], OTHER)
        yield axis.box(event["ts"], event["ts"] + event["dur"], top, color, f"{event['name']}: {event['dur'] / 1e3:.3f} ms")
        if end - begin > LETTER * len(event["name"]):
            yield f'<text x="{begin + 3:.1f}" y="{top + 11}" pointer-events="none">{escape(event["name"])}</text>'
    if joined:
        yield _joined(axis, joined, top)


def _joined(axis: Axis, events: list[TraceEvent], top: int) -> str:
    name = events[0]["name"] if len(events) == 1 else f"{len(events)} short ones, first {events[0]['name']}"
    time = sum(event["dur"] for event in events)
    color = COLORS.get(events[0]["cat"], OTHER)
    return axis.box(events[0]["ts"], events[-1]["ts"] + events[-1]["dur"], top, color, f"{name}: {time / 1e3:.3f} ms")
