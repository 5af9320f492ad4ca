"""Formats the results as a table in Markdown, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from asv_benchmarks.peers.report import cores, duration
from asv_benchmarks.scripts.rounds import geometric_mean
from asv_benchmarks.scripts.table import CHAIN, NUMPY, Script, Way

if TYPE_CHECKING:
    from pathlib import Path

    from asv_benchmarks.scripts.rounds import Result

BEGIN, END = "<!-- scripts: written by make bench-scripts -->", "<!-- scripts: end -->"


def limit(script: Script, way: Way) -> float:
    """The highest ratio that a script should reach in one of the ways."""
    return CHAIN if script.chain else way.each


def head(ways: Sequence[Way]) -> list[str]:
    """The first two lines of the table."""
    names = [way.text for way in ways if way is not NUMPY]
    cells = ["script", "NumPy", *[cell for name in names for cell in (name, "printed")]]
    return [row(cells), row(["---"] * len(cells))]


def row(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def line(result: Result, ways: Sequence[Way]) -> str:
    """A script's line: NumPy's time, then each way's ratio to it (in bold if it misses its target) and how its output compares."""
    script = result.script
    cells = [script.name.replace("_", " ") + (" *(chain)*" if script.chain else ""), duration(result.seconds(NUMPY.name))]
    for way in ways:
        if way is NUMPY:
            continue
        ratio, verdict = result.ratio(way.name), result.verdict(way.name)
        text = "" if math.isnan(ratio) else f"{ratio:.2f}"
        cells += [f"**{text}**" if text and ratio > limit(script, way) else text, verdict.split(":")[0]]
    return row(cells)


def table(results: Sequence[Result], ways: Sequence[Way]) -> list[str]:
    """All lines of the table."""
    return [*head(ways), *[line(result, ways) for result in results]]


def summary(results: Sequence[Result], ways: Sequence[Way]) -> list[str]:
    """For each way: the geometric mean, the worst script, how many reach their target and how many agree."""
    lines = []
    for way in ways:
        if way is NUMPY:
            continue
        ratios = {r.script.name: r.ratio(way.name) for r in results if not math.isnan(r.ratio(way.name))}
        if not ratios:
            lines.append(f"{way.text}: no script ran")
            continue
        worst = max(ratios, key=lambda name: ratios[name])
        reached = sum(ratios[r.script.name] <= limit(r.script, way) for r in results if r.script.name in ratios)
        agree = sum(not is_wrong(r, way) for r in results)
        whole = geometric_mean([r.ratio(way.name, "whole") for r in results])
        lines.append(
            f"{way.text}: geometric mean {geometric_mean(list(ratios.values())):.2f} (target {way.mean:g}; whole processes {whole:.2f}), "
            f"worst {ratios[worst]:.2f} ({worst.replace('_', ' ')}); "
            f"{reached} of {len(results)} reach their target ({way.each:g}, chains {CHAIN:g}); {agree} of {len(results)} agree"
        )
    return lines


def is_wrong(result: Result, way: Way) -> bool:
    """Whether a script stopped or printed something else than under NumPy."""
    return result.verdict(way.name).split(":")[0] not in ("same", "close")


def complaints(results: Sequence[Result], ways: Sequence[Way]) -> list[str]:
    """One line for each script that stopped, or printed something else."""
    wrong = [(r, way) for r in results for way in ways if is_wrong(r, way)]
    return [f"{r.script.name} by {way.name}: {r.verdict(way.name)}" for r, way in wrong]


def record(results: Sequence[Result], ways: Sequence[Way], rounds: int) -> dict[str, Any]:
    """The results for JSON, without machine names or paths."""
    scripts = {
        r.script.name: {
            "group": r.script.group,
            "chain": r.script.chain,
            "ways": {
                way.name: {
                    "wall": r.runs[way.name].wall,
                    "cpu": r.runs[way.name].cpu,
                    "whole": r.runs[way.name].whole,
                    "printed": r.verdict(way.name),
                }
                for way in ways
            },
        }
        for r in results
    }
    return {"date": date.today().isoformat(), "cores": cores(), "rounds": rounds, "scripts": scripts}


def write_page(page: Path, lines: Sequence[str], begin: str = BEGIN, end: str = END) -> None:
    """Replace what is between two marks of a page of the documentation."""
    before, _, rest = page.read_text().partition(begin)
    after = rest.partition(end)[2]
    page.write_text("\n".join([before + begin, *lines, end]) + after)
