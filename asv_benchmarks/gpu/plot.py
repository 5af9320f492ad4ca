"""Plots the GPU comparison: shares of the copy bandwidth, and speeds relative to Twofold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asv_benchmarks.gpu.items import PASSES
from asv_benchmarks.gpu.table import OWN
from asv_benchmarks.picture import LIGHT, OTHERS, picture

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = 4


def panels(record: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each timed item, the speed of each variant relative to Twofold's first."""
    found = {}
    for item in record["items"].values():
        own = next((seconds for name, seconds in item["medians"].items() if name.startswith(f"{OWN} ")), None)
        if item["unit"] == "s" and own is not None:
            found[item["text"]] = {name: own / seconds for name, seconds in item["medians"].items()}
    return found


def shares(record: Mapping[str, Any]) -> dict[str, float]:
    """Twofold's share of the copy bandwidth, by item."""
    rate, found = record["copy, bytes in a second"], {}
    for name, item in record["items"].items():
        own = [seconds for way, seconds in item["medians"].items() if way.startswith(f"{OWN} ")]
        if rate and own and item["unit"] == "s" and name in PASSES:
            found[item["text"]] = 4 * item["size"] * PASSES[name] / own[0] / rate
    return found


def draw(record: Mapping[str, Any], file: Path) -> None:
    """Plot a record to an SVG file.

    Parameters
    ----------
    record
        The result of `report.record`.
    file
        The file to write.
    """
    shown = {"share of a copy's bandwidth": shares(record), **panels(record)}
    shown = {title: bars for title, bars in shown.items() if bars}
    rows = max(1, -(-len(shown) // COLUMNS))
    with picture(file, rows, COLUMNS, figsize=(11, 1.9 * rows), squeeze=False) as (figure, axes):
        for ax in axes.flat[len(shown) :]:
            ax.set_visible(False)
        for ax, (title, bars) in zip(axes.flat, shown.items(), strict=False):
            names = sorted(bars, key=lambda name: -bars[name])
            colours = [LIGHT if name.startswith(OWN) else OTHERS for name in names]
            ax.bar_label(ax.barh(names, [bars[name] for name in names], color=colours), fmt="%.2g", padding=2, fontsize=6)
            ax.axvline(1, color="black", linewidth=0.6)
            ax.set_title(title, fontsize=8)
            ax.margins(x=0.15)
            ax.tick_params(length=0)
        figure.supxlabel(f"times as fast as Twofold; {record['device']['name']}, {record['date']}", fontsize=7)
