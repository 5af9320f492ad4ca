"""Plots the ratios to NumPy by size for the documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asv_benchmarks.picture import LIGHT, STRONG, picture

COLOURS = {"eager": STRONG, "recorded": LIGHT, "folded": "#4a7ba6"}
#: Ratios are drawn between these.
LOWEST, HIGHEST = 0.1, 50.0


def draw(record: Mapping[str, Any], file: Path) -> None:
    """Plot a record to an SVG file: a panel for each group of operations, a line for each operation and way, by size.

    Parameters
    ----------
    record
        The result of `report.record`.
    file
        The file to write.
    """
    points = [p for p in record["points"] if p["way"] in COLOURS and not p["failure"]]
    groups = list(dict.fromkeys(p["group"] for p in points))
    height = -(-len(groups) // 2)
    with picture(file, height, 2, figsize=(7, 1.7 * height + 0.4), sharex=True, sharey=True, squeeze=False) as (figure, axes):
        for group, ax in zip(groups, axes.flat, strict=False):
            for way, colour in COLOURS.items():
                for title in dict.fromkeys(p["title"] for p in points if p["group"] == group):
                    own = [p for p in points if (p["title"], p["group"], p["way"]) == (title, group, way)]
                    heights = [min(max(p["ratio"], LOWEST), HIGHEST) for p in own]
                    ax.plot([p["size"] for p in own], heights, color=colour, linewidth=0.5, alpha=0.6)
            ax.set(xscale="log", yscale="log", title=group, ylim=(LOWEST, HIGHEST))
            ax.axhline(1, color="black", linewidth=0.6)
            ax.grid(linewidth=0.3, alpha=0.5)
        for way, colour in COLOURS.items():
            axes[0][0].plot([], [], color=colour, label=way)
        axes[0][0].legend(loc="upper right", frameon=False)
        figure.supxlabel("elements")
        figure.supylabel("time relative to NumPy's, beyond the floor")


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
