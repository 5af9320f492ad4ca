"""Plots the comparison for the documentation: each library's speed relative to NumPy."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asv_benchmarks.picture import LIGHT, OTHERS, STRONG, picture

#: Titles of the panels, by item.
PANELS = {
    "black_scholes 1e6": "Black-Scholes, 1e6",
    "gelu 1e6": "GELU, 1e6",
    "adam 1e6": "Adam, 1e6",
    "cross_entropy 1e6": "Cross-entropy, 1e6",
    "black_scholes 1e7": "Black-Scholes, 1e7",
    "gelu 1e7": "GELU, 1e7",
    "adam 1e7": "Adam, 1e7",
    "cross_entropy 1e7": "Cross-entropy, 1e7",
    "perceptron 32": "Perceptron 32x64x10",
    "mlp 64": "Perceptron 784-128-64-10",
    "lenet 64": "LeNet",
    "lstm 32": "LSTM 2x200",
}
COLUMNS = 4
#: Colours of Twofold's bars, with and without the extra ``jit``.
COLOURS = {"twofold jit": STRONG, "twofold": LIGHT}


def best_ways(medians: Mapping[str, float]) -> dict[str, tuple[str, float]]:
    """The fastest variant of each library with its default BLAS kernel: name and median, by library."""
    best: dict[str, tuple[str, float]] = {}
    for name, seconds in medians.items():
        library = "twofold jit" if name.startswith("twofold jit ") else name.split(" ")[0]
        if "(" not in name and (library not in best or seconds < best[library][1]):
            best[library] = (name, seconds)
    return best


def draw(record: Mapping[str, Any], file: Path) -> None:
    """Plot a record to an SVG file.

    Parameters
    ----------
    record
        The result of `report.record`.
    file
        The file to write.
    """
    shown = {key: title for key, title in PANELS.items() if record["items"].get(key, {}).get("medians")}
    rows = -(-len(shown) // COLUMNS)
    with picture(file, rows, COLUMNS, figsize=(9, 1.9 * rows), squeeze=False) as (figure, axes):
        for ax in axes.flat[len(shown) :]:
            ax.set_visible(False)
        for ax, (key, title) in zip(axes.flat, shown.items(), strict=False):
            _panel(ax, title, best_ways(record["items"][key]["medians"]))
        figure.supxlabel(caption(record), fontsize=7)


def caption(record: Mapping[str, Any]) -> str:
    """Describe the bars and the conditions of the measurement."""
    shared = f"{record['disturbed']} of {record['turns']} turns began while other programs were running"
    return f"speed relative to NumPy, each library's fastest variant; cores: {record['cores']}; {shared}"


def _panel(ax: Any, title: str, best: dict[str, tuple[str, float]]) -> None:
    base = best["numpy"][1]
    ordered = sorted(best.items(), key=lambda pair: -pair[1][1])
    speeds = [base / seconds for _, (_, seconds) in ordered]
    bars = ax.barh([name for _, (name, _) in ordered], speeds, color=[COLOURS.get(library, OTHERS) for library, _ in ordered])
    ax.bar_label(bars, fmt="%.2g", padding=2, fontsize=6)
    ax.axvline(1, color="black", linewidth=0.6)
    ax.set_title(title, fontsize=8)
    ax.margins(x=0.15)
    ax.tick_params(length=0)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
