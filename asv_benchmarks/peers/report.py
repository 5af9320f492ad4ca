"""What is printed of a contest, and what is kept of it as JSON: no name of a machine, no path."""

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
    """Seconds with three digits, in a unit that suits them."""
    scale, unit = next((pair for pair in _UNITS if abs(seconds) >= pair[0]), _UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


def cores() -> int:
    """The cores that this process and its workers may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def disturbance(contest: Contest) -> str:
    """How many turns had to share the machine with other programs."""
    return f"{contest.patience.disturbed} of {contest.patience.turns} turns began while other programs were running"


def heading(contest: Contest) -> str:
    """Versions, threads and kernels of those who take part, and why others do not."""
    lines = [f"{cores()} cores; threads: each library's own choice. Wall time, medians of turns in rounds."]
    for name, about in contest.about.items():
        facts = [about["about"]["version"]]
        facts += [f"{about['about']['threads']} threads"] if "threads" in about["about"] else []
        facts += [f"matrix products by {', '.join(about['about']['blas'])}"] if about["about"].get("blas") else []
        lines.append(f"  {name:<24} {'; '.join(facts)}")
    lines += [f"  {name:<24} takes no part: {reason}" for name, reason in contest.absent.items()]
    return "\n".join(lines)


def table(measured: Measured) -> str:
    """An item's ways, the fastest first, and how many times as fast as NumPy each is."""
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
    """A target's limit as text."""
    if target.limit is None:
        return ""
    return {
        "times as fast": f">= {target.limit:g} x",
        "GB/s": f">= {target.limit:g} GB/s",
        "of the bytes": f"<= {target.limit:g} x",
        "launches": f"<= {target.limit:g}",
    }.get(target.measure) or f"<= {duration(target.limit)}"


def value(verdict: Verdict) -> str:
    """A verdict's figure as text."""
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
    """A row of the table of targets: the figure by wall time, the target, the figure by CPU time, the verdict, and the preset kernel's."""
    verdict, target = row.verdict, row.verdict.target
    against = verdict.reason if verdict.value is not None else " / ".join(target.peers)
    under = "" if row.preset is None else f"   {value(row.preset)} {row.preset.word}"
    reason = f" ({verdict.reason})" if verdict.value is None else ""
    figures = f"{value(verdict):>10} {bound(target):>10} {value(row.cpu):>10}  {verdict.word}{reason}{under}"
    return f"{target.work:<38} {target.own:<22} {against:<28} {figures}".rstrip()


def verdict_table(rows: Sequence[Row], kernel: str | None) -> str:
    """The table of targets; figures under the preset kernel stand last, where matrix products are measured."""
    under = f"   under {kernel}" if kernel else ""
    head = f"{'measured':>10} {'target':>10} {'(CPU time)':>10}  verdict{under}"
    lines = [f"{'figures to reach':<38} {'of':<22} {'against':<28} {head}"]
    lines += [verdict_line(row) for row in rows if row.verdict.reason != NOT_SELECTED]
    words = [row.verdict.word for row in rows]
    lines.append(", ".join(f"{words.count(word)} {word}" for word in ("met", "missed", "not measured", "published")))
    return "\n".join(lines)


def kept(row: Row) -> dict[str, Any]:
    """A row for JSON."""
    verdict, target = row.verdict, row.verdict.target
    facts = {"work": target.work, "own": target.own, "against": verdict.reason, "value": verdict.value, "target": bound(target)}
    preset = None if row.preset is None else row.preset.value
    return {**facts, "verdict": verdict.word, "by CPU time": row.cpu.value, "preset kernel": preset}


def record(contest: Contest, measured: Sequence[Measured], rows: Sequence[Row]) -> dict[str, Any]:
    """All that is worth keeping."""
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
    return {**facts, "libraries": about, "absent": contest.absent, "items": items, "verdicts": [kept(row) for row in rows]}


def rounded(x: Any) -> Any:
    """A record with four digits a number: more would be noise, and change with every run."""
    if isinstance(x, dict):
        return {name: rounded(value) for name, value in x.items()}
    if isinstance(x, list):
        return [rounded(value) for value in x]
    return float(f"{x:.4g}") if isinstance(x, float) else x


def write(record: Mapping[str, Any], file: Path) -> None:
    """Write a record as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rounded(dict(record)), indent=1) + "\n")


def file_name(contest: Contest) -> str:
    """A name that says what kind of machine it was, and not which: cores and kernel."""
    numpy = contest.about.get("numpy", {"about": {}})
    kernels = numpy["about"].get("blas") or ["unknown"]
    return f"peers-{cores()}-cores-{kernels[0]}.json"
