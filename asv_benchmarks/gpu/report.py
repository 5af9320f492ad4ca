"""Formats the results of the GPU comparison as text and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from asv_benchmarks.gpu.items import nbytes
from asv_benchmarks.gpu.table import OWN
from asv_benchmarks.peers.report import bound, duration, value

if TYPE_CHECKING:
    from asv_benchmarks.peers.contest import Contest, Measured
    from asv_benchmarks.peers.targets import Verdict


def device_of(contest: Contest) -> dict[str, Any]:
    """The properties of the device."""
    return contest.about[OWN]["about"]["device"]


def heading(contest: Contest) -> str:
    """The device, the versions of the participants, and why the other libraries are missing."""
    lines = [", ".join(f"{name} {text}" for name, text in device_of(contest).items())]
    for name, about in contest.about.items():
        lines.append(f"  {name:<24} {about['about']['version']} {', '.join(about['about'].get('accelerators', ()))}".rstrip())
    return "\n".join([*lines, *[f"  {name:<24} skipped: {reason}" for name, reason in contest.absent.items()]])


def table(measured: Measured, rate: float | None) -> str:
    """An item's variants, fastest first: time, share of the copy bandwidth, and time relative to Twofold's.

    Parameters
    ----------
    measured
        The results of the item.
    rate
        Bytes per second of a copy, if already measured.
    """
    item, medians, lines = measured.item, measured.medians, [measured.item.text]
    own = next((seconds for name, seconds in medians.items() if name.startswith(f"{OWN} ")), None)
    for name, found in sorted(medians.items(), key=lambda pair: pair[1]):
        if item.unit == "launches":
            lines.append(f"  {name:<34} {found:10.0f} launches")
            continue
        moved = f"{nbytes(item) / found / 1e9:8.0f} GB/s" if nbytes(item) else ""
        share = f"{nbytes(item) / found / rate:5.0%} of a copy's rate" if nbytes(item) and rate else ""
        ratio = "" if own is None else f"{found / own:6.2f} x Twofold's time"
        lines.append(f"  {name:<34} {duration(found):>8} {moved} {share} {ratio}".rstrip())
    return "\n".join([*lines, *[f"  {name:<34} left out: {first_line(reason)}" for name, reason in measured.wrong.items()]])


def first_line(text: str) -> str:
    """The first non-empty line of an error."""
    return next((line for line in text.splitlines() if line.strip()), "no reason given")


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Format the table of targets."""
    lines = [f"{'figures to reach':<38} {'of':<32} {'against':<18} {'measured':>10} {'target':>10}  verdict"]
    for v in verdicts:
        against = v.reason if v.value is not None else " / ".join(v.target.peers)
        reason = f" ({first_line(v.reason)})" if v.value is None else ""
        lines.append(f"{v.target.work:<38} {v.target.own:<32} {against:<18} {value(v):>10} {bound(v.target):>10}  {v.word}{reason}")
    words = [v.word for v in verdicts]
    return "\n".join([*lines, ", ".join(f"{words.count(word)} {word}" for word in ("met", "missed", "not measured"))])


def record(contest: Contest, measured: Sequence[Measured], verdicts: Sequence[Verdict], rate: float | None, command: str) -> dict[str, Any]:
    """Assemble the JSON record."""
    items = {}
    for m in measured:
        about_item = {"text": m.item.text, "unit": m.item.unit, "size": m.item.size}
        items[m.item.key] = {**about_item, "medians": m.medians, "first": m.first, "left out": m.wrong}
    judged = [
        {"work": v.target.work, "of": v.target.own, "value": v.value, "target": bound(v.target), "verdict": v.word, "reason": v.reason}
        for v in verdicts
    ]
    about = {name: hello["about"] for name, hello in contest.about.items()}
    facts = {"date": date.today().isoformat(), "command": command, "device": device_of(contest), "copy, bytes in a second": rate}
    return {**facts, "libraries": about, "absent": contest.absent, "items": items, "verdicts": judged}


def file_name(device: Mapping[str, Any]) -> str:
    """A file name derived from the kind of device."""
    return f"gpu-{re.sub(r'[^A-Za-z0-9]+', '-', device['name']).strip('-')}.json"
