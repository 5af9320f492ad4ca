"""Plots each script's speed relative to NumPy for the documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from asv_benchmarks.picture import LIGHT, STRONG, picture
from asv_benchmarks.scripts.table import NUMPY, WAYS

COLOURS = {"run": STRONG, "np": LIGHT}


def speeds(record: Mapping[str, Any], way: str) -> dict[str, float]:
    """How many times as fast as NumPy each script is in one of the ways."""
    ran = {name: facts["ways"] for name, facts in record["scripts"].items() if facts["ways"].get(way, {}).get("wall")}
    return {name: median(ways[NUMPY.name]["wall"]) / median(ways[way]["wall"]) for name, ways in ran.items()}


def draw(record: Mapping[str, Any], file: Path) -> None:
    """Plot a record to an SVG file: a row for each script, a point for each way, on a logarithmic axis.

    Parameters
    ----------
    record
        The result of `report.record`.
    file
        The file to write.
    """
    names = list(record["scripts"])[::-1]
    with picture(file, figsize=(7, 0.16 * len(names) + 0.8)) as (_, ax):
        for way in WAYS[1:]:
            found = speeds(record, way.name)
            ax.plot(
                [found[n] for n in names if n in found],
                [k for k, n in enumerate(names) if n in found],
                "o",
                markersize=4,
                color=COLOURS[way.name],
                label=way.text.replace("`", ""),
            )
        ax.set_xscale("log")
        ax.axvline(1, color="black", linewidth=0.6)
        chains = {n for n in names if record["scripts"][n]["chain"]}
        ax.set_yticks(range(len(names)), [n.replace("_", " ") + (" (chain)" if n in chains else "") for n in names])
        ax.grid(axis="both", linewidth=0.3, alpha=0.5)
        ax.tick_params(length=0)
        ax.set_xlabel(f"speed relative to NumPy; medians of {record['rounds']} rounds; cores: {record['cores']}")
        ax.legend(loc="lower right", frameon=False)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
