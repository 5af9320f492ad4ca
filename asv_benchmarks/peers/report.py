"""Formats the results of a comparison as text and as JSON, without machine names or paths."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from asv_benchmarks.peers.targets import NOT_SELECTED

if TYPE_CHECKING:
    from pathlib import Path

    from asv_benchmarks.peers.contest import Contest, Measured
    from asv_benchmarks.peers.targets import Row, Target, Verdict

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def duration(seconds: float) -> str:
    """Format seconds with three digits in a suitable unit."""
    scale, unit = next((pair for pair in _UNITS if abs(seconds) >= pair[0]), _UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


def cores() -> int:
    """Number of cores available to this process and its workers."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def disturbance(contest: Contest) -> str:
    """Say how many turns shared the machine with other programs."""
    return f"{contest.patience.disturbed} of {contest.patience.turns} turns began while other programs were running"


def heading(contest: Contest) -> str:
    """Versions, threads and kernels of the participants, and why the other libraries are missing."""
    lines = [f"{cores()} cores; threads: each library's own choice. Wall time, medians of turns in rounds."]
    for name, about in contest.about.items():
        facts = [about["about"]["version"]]
        facts += [f"{about['about']['threads']} threads"] if "threads" in about["about"] else []
        facts += [f"matrix products by {', '.join(about['about']['blas'])}"] if about["about"].get("blas") else []
        lines.append(f"  {name:<24} {'; '.join(facts)}")
    lines += [f"  {name:<24} skipped: {reason}" for name, reason in contest.absent.items()]
    return "\n".join(lines)


def table(measured: Measured) -> str:
    """An item's variants, fastest first, with their speed relative to NumPy."""
    medians, lines = measured.medians, [measured.item.text]
    base = next((value for name, value in medians.items() if name.startswith("numpy ") and "(" not in name), None)
    for name, value in sorted(medians.items(), key=lambda pair: pair[1]):
        if measured.item.unit == "B":
            lines.append(f"  {name:<34} {value / 1e6:10.0f} MB")
            continue
        ratio = "" if base is None else f"{base / value:8.2f} x NumPy"
        others = f"lowest {duration(measured.lowest[name]):>8}  CPU {duration(measured.cpu[name]):>8}"
        lines.append(f"  {name:<34} {duration(value):>8}  {others} {ratio}")
    lines += [f"  {name:<34} WRONG: {reason}" for name, reason in measured.wrong.items()]
    return "\n".join(lines)


def bound(target: Target) -> str:
    """Format a target's limit."""
    if target.limit is None:
        return ""
    return {
        "times as fast": f">= {target.limit:g} x",
        "GB/s": f">= {target.limit:g} GB/s",
        "of the bytes": f"<= {target.limit:g} x",
        "launches": f"<= {target.limit:g}",
    }.get(target.measure) or f"<= {duration(target.limit)}"


def value(verdict: Verdict) -> str:
    """Format a verdict's figure."""
    if verdict.value is None:
        return ""
    match verdict.target.measure:
        case "s over" | "s":
            return duration(verdict.value)
        case "GB/s":
            return f"{verdict.value:.1f} GB/s"
        case "launches":
            return f"{verdict.value:g}"
    return f"{verdict.value:.2f} x"


def verdict_line(row: Row) -> str:
    """Format a row of the table of targets: wall time, limit, CPU time, verdict, and verdict with the preset kernel."""
    verdict, target = row.verdict, row.verdict.target
    against = verdict.reason if verdict.value is not None else " / ".join(target.peers)
    under = "" if row.preset is None else f"   {value(row.preset)} {row.preset.word}"
    reason = f" ({verdict.reason})" if verdict.value is None else ""
    figures = f"{value(verdict):>10} {bound(target):>10} {value(row.cpu):>10}  {verdict.word}{reason}{under}"
    return f"{target.work:<38} {target.own:<22} {against:<28} {figures}".rstrip()


def verdict_table(rows: Sequence[Row], kernel: str | None) -> str:
    """Format the table of targets; the last column has the figures with the preset kernel, for matrix products."""
    under = f"   under {kernel}" if kernel else ""
    head = f"{'measured':>10} {'target':>10} {'(CPU time)':>10}  verdict{under}"
    lines = [f"{'figures to reach':<38} {'of':<22} {'against':<28} {head}"]
    lines += [verdict_line(row) for row in rows if row.verdict.reason != NOT_SELECTED]
    words = [row.verdict.word for row in rows]
    lines.append(", ".join(f"{words.count(word)} {word}" for word in ("met", "missed", "not measured", "published")))
    return "\n".join(lines)


def row_record(row: Row) -> dict[str, Any]:
    """Convert a row for JSON."""
    verdict, target = row.verdict, row.verdict.target
    facts = {"work": target.work, "own": target.own, "against": verdict.reason, "value": verdict.value, "target": bound(target)}
    preset = None if row.preset is None else row.preset.value
    return {**facts, "verdict": verdict.word, "by CPU time": row.cpu.value, "preset kernel": preset}


def record(contest: Contest, measured: Sequence[Measured], rows: Sequence[Row]) -> dict[str, Any]:
    """Assemble the JSON record."""
    about = {name: hello["about"] for name, hello in contest.about.items()}
    items = {
        m.item.key: {
            "text": m.item.text,
            "unit": m.item.unit,
            "medians": m.medians,
            "lowest": m.lowest,
            "cpu": m.cpu,
            "first": m.first,
            "wrong": m.wrong,
        }
        for m in measured
    }
    facts = {"date": date.today().isoformat(), "cores": cores(), "turns": contest.patience.turns, "disturbed": contest.patience.disturbed}
    return {**facts, "libraries": about, "absent": contest.absent, "items": items, "verdicts": [row_record(row) for row in rows]}


def round_numbers(x: Any) -> Any:
    """Round the numbers of a record to four digits: more would be noise that changes with every run."""
    if isinstance(x, dict):
        return {name: round_numbers(value) for name, value in x.items()}
    if isinstance(x, list):
        return [round_numbers(value) for value in x]
    return float(f"{x:.4g}") if isinstance(x, float) else x


def write(record: Mapping[str, Any], file: Path) -> None:
    """Write a record as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(round_numbers(dict(record)), indent=1) + "\n")


def file_name(contest: Contest) -> str:
    """A file name derived from the kind of machine (cores and BLAS kernel), not its name."""
    numpy = contest.about.get("numpy", {"about": {}})
    kernels = numpy["about"].get("blas") or ["unknown"]
    return f"peers-{cores()}-cores-{kernels[0]}.json"
