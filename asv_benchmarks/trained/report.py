"""The documentation's table of training speed and memory."""

from __future__ import annotations

from typing import Any

from asv_benchmarks.peers.report import duration
from asv_benchmarks.scripts.report import row, write_page
from asv_benchmarks.workers import ROOT

from . import LIBRARIES as MEASURED
from .inputs import TASKS

PAGE = ROOT / "docs" / "inside" / "peers.md"
BEGIN, END = "<!-- training: written by make bench-training -->", "<!-- training: end -->"
TITLES = {name: task.title for name, task in TASKS.items()} | {"gpt_step": "GPT, 6 layers of 256, 8 heads, 8 texts of 256 characters"}
LIBRARIES = {"torch": "torch", "torch.compile": "compiled", "jax.jit": "JAX", "mxnet": "MXNet"}


def table(found: dict[str, Any]) -> list[str]:
    """All lines of the table: Twofold's time, how much longer the others take, and the memory of all."""
    lines = [row(["a step of", "Twofold", *LIBRARIES.values(), "memory in MB"])]
    lines.append(row(["---"] * (3 + len(LIBRARIES))))
    for name, title in TITLES.items():
        if name in found:
            times, memory = found[name], found["memory"].get(name, {})
            ours = times["twofold"][0]
            ratios = [f"{times[library][0] / ours:.2f}" if library in times else "" for library in LIBRARIES]
            sizes = [f"{memory[library]:.0f}" if library in memory else "-" for library in MEASURED if memory]
            lines.append(row([title, duration(ours), *ratios, " / ".join(sizes)]))
    return lines


def write(found: dict[str, Any]) -> None:
    """Write the table into the page."""
    write_page(PAGE, ["", *table(found), ""], BEGIN, END)
