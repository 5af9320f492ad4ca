"""Draws the trace of a cluster: when each worker computes, when its sums are on their way, and for whom they wait."""

from collections.abc import Iterable, Iterator
from html import escape
from os import PathLike
from typing import Any, NamedTuple

from ..errors import FormatError, ParameterError
from ..profiler.cluster import COMMUNICATION, PROCESSES_EACH, read_trace
from .drawing import Svg
from .timeline import FINEST, GAP, MARGIN, ROW, TOP, WIDTH, Axis

#: Categories of events in which a worker computes. The others contain them, or annotate.
COMPUTING = ("program", "operator", "kernel", "compile", "copy")
#: ColorBrewer's palettes: computing, waiting, and sums on their way, by number.
COMPUTES, WAITS, SUMS = "#8dd3c7", "#d9d9d9", ("#80b1d3", "#fdb462", "#b3de69", "#bc80bd", "#fb8072")


class _Sum(NamedTuple):
    """A sum as one worker sees it. Times are in microseconds; until ``joined`` it waits for ``last``, the last worker to begin the sum."""

    number: int
    name: str
    nbytes: int
    begin: float
    joined: float
    end: float
    last: int


def plot_cluster(trace: str | PathLike[str], begin: float = 0.0, end: float | None = None, sums: int | None = None) -> Svg:
    """Draw the trace of a cluster, with two rows for each worker: computing, and sums over workers.

    A sum is gray while it waits for the worker that begins it last, which its tooltip names, and colored while it is on its way. One
    that has the same color above and below is the same sum.

    Parameters
    ----------
    trace
        A file of `mx.profiler.merge_traces`, such as ``twofold launch --trace`` writes.
    begin, end
        The seconds to draw, from the trace's beginning; to its end if ``end`` is None.
    sums
        Draw only this many of a worker's last sums in that time, from the beginning of the first; all if None.

    Returns
    -------
    Svg
        The drawing.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FormatError
        If it is not the trace of a cluster.
    ParameterError
        If nothing is left to draw.
    """
    content = read_trace(trace)
    other = content.get("otherData")
    names = other.get("processes") if isinstance(other, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError("not the trace of a cluster", None, "merge the workers' traces: mx.profiler.merge_traces", path=str(trace))
    events = [e for e in content["traceEvents"] if e.get("ph") == "X" and e.get("cat") in (*COMPUTING, COMMUNICATION)]
    start = min((e["ts"] for e in events), default=0.0)
    stop = max((e["ts"] + e["dur"] for e in events), default=0.0)
    low, high = start + begin * 1e6, stop if end is None else min(stop, start + end * 1e6)
    if not high > low:
        raise ParameterError("plot_cluster: nothing to draw", f"{begin} s to {end} s of {(stop - start) / 1e6:.3f} s", "pass other times")
    # the merged trace gives each worker a range of process numbers
    own = [[e for e in events if e["pid"] // PROCESSES_EACH == rank] for rank in range(len(names))]
    # from the first of the slowest worker's last sums, so that all these sums are shown whole
    if sums is not None:
        last = [sorted(e["ts"] for e in mine if e["cat"] == COMMUNICATION and low <= e["ts"] < high)[-sums:] for mine in own]
        low = min((times[0] for times in last if times), default=low)
    axis = Axis(start, low, high)
    lines = list(axis.ticks([("computing", COMPUTES), ("waiting for another worker", WAITS), ("sums on their way", SUMS[0])]))
    their_sums = _sums(own)
    for rank, name in enumerate(names):
        lines += _draw(name, axis, own[rank], their_sums[rank], names, TOP + rank * (2 * ROW + GAP))
    height = TOP + len(names) * (2 * ROW + GAP)
    return Svg.of(MARGIN + WIDTH + 50, height, lines)


def _sums(events: list[list[dict[str, Any]]]) -> list[list[_Sum]]:
    """The sums of each worker, with the worker that joined last."""
    found = [[e for e in own if e["cat"] == COMMUNICATION and "operation" in e.get("args", {})] for own in events]
    last: dict[int, tuple[float, int]] = {}
    for rank, own in enumerate(found):
        for e in own:
            number = e["args"]["operation"]
            # the worker that begins a sum last is the one for which the others wait
            last[number] = max(last.get(number, (e["ts"], rank)), (e["ts"], rank))
    return [[_sum(e, *last[e["args"]["operation"]]) for e in own] for own in found]


def _sum(event: dict[str, Any], joined: float, last: int) -> _Sum:
    begin, end = event["ts"], event["ts"] + event["dur"]
    # clocks of machines differ a little, so the time is kept within the event
    return _Sum(event["args"]["operation"], event["name"], event["args"].get("bytes", 0), begin, min(max(joined, begin), end), end, last)


def _draw(name: str, axis: Axis, events: Iterable[dict[str, Any]], sums: Iterable[_Sum], names: list[str], top: int) -> Iterator[str]:
    yield f'<text x="4" y="{top + 12}">{escape(name)}</text><text x="60" y="{top + 12}">computes</text>'
    yield f'<text x="60" y="{top + ROW + 12}">sums</text>'
    times = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] in COMPUTING)
    for begin, end in _joined([t for t in times if axis.shows(*t)], FINEST * (axis.high - axis.low) / WIDTH):
        yield axis.box(begin, end, top, COMPUTES, f"computes for {(end - begin) / 1e3:.3f} ms")
    for s in sums:
        if not axis.shows(s.begin, s.end):
            continue
        if axis.at(s.joined) - axis.at(s.begin) >= FINEST:
            yield axis.box(s.begin, s.joined, top + ROW, WAITS, f"waits {(s.joined - s.begin) / 1e3:.3f} ms for {names[s.last]}")
        time = s.end - s.joined
        size = f"{s.nbytes} bytes in " if s.nbytes else ""
        rate = f", {s.nbytes / time / 1e3:.2f} GB/s" if s.nbytes and time > 0 else ""
        text = f"{s.name} ({s.number}): {size}{time / 1e3:.3f} ms{rate}"
        yield axis.box(s.joined, s.end, top + ROW, SUMS[s.number % len(SUMS)], text)


def _joined(times: list[tuple[float, float]], distance: float) -> Iterator[tuple[float, float]]:
    """The union of sorted intervals, without gaps that cannot be seen."""
    begin, end = times[0] if times else (0.0, 0.0)
    for low, high in times[1:]:
        if low - end > distance:
            yield begin, end
            begin = low
        end = max(end, high)
    if times:
        yield begin, end
