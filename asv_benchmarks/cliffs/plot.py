"""Plots the ratios to NumPy by size for the documentation."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STYLE = {"font.size": 7, "svg.fonttype": "none", "svg.hashsalt": "cliffs", "axes.spines.top": False, "axes.spines.right": False}
COLOURS = {"eager": "#b8500f", "recorded": "#e8863a", "folded": "#4a7ba6"}
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
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    points = [p for p in record["points"] if p["way"] in COLOURS and not p["failure"]]
    groups = list(dict.fromkeys(p["group"] for p in points))
    with plt.rc_context(STYLE):
        height = -(-len(groups) // 2)
        figure, axes = plt.subplots(
            height, 2, figsize=(7, 1.7 * height + 0.4), layout="constrained", sharex=True, sharey=True, squeeze=False
        )
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
        figure.savefig(file, metadata={"Date": None, "Creator": None})
        plt.close(figure)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
