"""Formats the points as tables in Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from asv_benchmarks.cliffs.measure import CLIFF, FLOORS, NEW, WAIT, Point
from asv_benchmarks.cliffs.reasons import REASONS
from asv_benchmarks.peers.report import cores

#: A point of this size or larger fails the run above this ratio, unless it has a reason.
GATE_FROM, GATE = 10_000, 5.0


def heading() -> list[str]:
    """What the figures mean."""
    floors = ", ".join(f"{way} {seconds * 1e6:g} µs" for way, seconds in FLOORS.items())
    return [
        f"CPU time relative to NumPy's beyond a floor per operation ({floors}; first runs {NEW * 1e3:g} ms a line) and {WAIT * 1e6:.2f} µs",
        f"for waiting; medians of turns that alternate in one process. Points above {CLIFF:g} are printed.",
    ]


def row(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def table(points: Iterable[Point]) -> list[str]:
    """A line for each operation and way that has points above the limit: the ratios by size (in bold above the limit), and the reason."""
    by_row: dict[tuple[str, str], dict[int, Point]] = {}
    sizes = set()
    for point in points:
        by_row.setdefault((point.title, point.way), {})[point.size] = point
        sizes.add(point.size)
    columns = sorted(sizes)
    lines = [row(["operation", "way", *[f"{n:g}" for n in columns], "reason"]), row(["---"] * (len(columns) + 3))]
    found = {key: sized for key, sized in by_row.items() if any(p.is_cliff for p in sized.values())}
    for (title, way), sized in sorted(found.items(), key=lambda item: -max(p.ratio for p in item[1].values())):
        cells = [cell(sized.get(n)) for n in columns]
        lines.append(row([f"`{title}`", way, *cells, failure(sized.values()) or REASONS.get(title, "")]))
    return lines


def cell(point: Point | None) -> str:
    """A ratio, in bold if it is a cliff."""
    if point is None:
        return ""
    text = "!" if point.failure else f"{point.ratio:.1f}"
    return f"**{text}**" if point.is_cliff else text


def failure(points: Iterable[Point]) -> str:
    """The first failure of some points."""
    return next((p.failure.replace("|", "/").replace("\n", " ")[:120] for p in points if p.failure), "")


def summary(points: Sequence[Point]) -> list[str]:
    """For each way, how many points there are and how many are cliffs."""
    lines = []
    for way in (*FLOORS, "first"):
        own = [p for p in points if p.way == way]
        slow = [p for p in own if p.is_cliff]
        if own:
            known = sum(p.title in REASONS for p in slow)
            wrong = sum(bool(p.failure) for p in slow)
            lines.append(f"{way}: {len(slow)} of {len(own)} points above {CLIFF:g}, {known} of them with a reason; {wrong} fail")
    return lines


def complaints(points: Iterable[Point]) -> list[str]:
    """One line for each point that fails the run: a wrong result, or far too slow without a reason."""
    return [
        f"{p.title}, {p.way}, {p.size:g}: {p.failure or f'{p.ratio:.1f} times NumPy'}"
        for p in points
        if p.failure or (p.way != "first" and p.size >= GATE_FROM and p.ratio > GATE and p.title not in REASONS)
    ]


def record(points: Iterable[Point]) -> dict[str, Any]:
    """The points for JSON."""
    return {"date": date.today().isoformat(), "cores": cores(), "points": [{**asdict(p), "ratio": p.ratio} for p in points]}
