"""Draws the chart of the landing page from the tables that the benchmarks have written: NumPy scripts, and networks of the model zoo.

``python docs/landing_chart.py`` writes ``docs/measured.svg``, and ``docs/measured-narrow.svg`` for phones; ``--check`` only says whether
they are up to date.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from asv_benchmarks.picture import OTHERS, STRONG, picture

DOCS = Path(__file__).parent
#: The charts, with the rows and columns of each, its size in inches, and that of its text in points.
CHARTS = {"measured.svg": (1, 2, (8.6, 2.5), 8), "measured-narrow.svg": (2, 1, (3.6, 4.4), 8)}


def columns(page: str, begin: str, column: int) -> list[float]:
    """A column of figures of the first table below a line of a page."""
    rows = (DOCS / page).read_text(encoding="utf-8").partition(begin)[2].lstrip().partition("\n\n")[0].split("\n")
    cells = [row.strip("| ").split("|") for row in rows if row.startswith("|")]
    return [float(c[column].strip(" *")) for c in cells[2:] if "*median*" not in c[0]]


def speeds() -> list[tuple[str, list[float]]]:
    """What is compared, and how many times as fast Twofold is in each case."""
    scripts = columns("inside/peers.md", "(scripts.svg)", 2)
    networks = columns("inside/model-zoo.md", "## One image", 4)
    return [
        (f"{len(scripts)} NumPy scripts, unmodified, beside NumPy", sorted(1 / s for s in scripts)),
        (f"{len(networks)} networks of the model zoo beside MXNet 1.9.1", sorted(1 / n for n in networks)),
    ]


def draw(file: Path) -> None:
    """Draw the chart of this name: a bar for each script and network, in order of speed."""
    *shape, size, font = CHARTS[file.name]
    with picture(file, *shape, figsize=size, sharey=True, font=font) as (_, axes):
        for axis, (title, found) in zip(axes, speeds(), strict=True):
            axis.bar(range(len(found)), [f - 1 for f in found], bottom=1, color=[STRONG if f >= 1 else OTHERS for f in found], width=0.8)
            axis.axhline(1, color="#222", linewidth=0.8)
            axis.set_yscale("log", base=2)
            axis.set_yticks([0.5, 1, 2, 4], ["half", "as fast", "2 times", "4 times"])
            axis.set_xticks([])
            axis.set_title(title, loc="left", fontsize=font)


def is_stale(name: str, check: bool) -> bool:
    """Whether a chart was out of date; it is written anew unless it is only to be checked."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / name
        draw(new)
        text = new.read_text(encoding="utf-8")
    stale = not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != text
    if stale and not check:
        (DOCS / name).write_text(text, encoding="utf-8")
    return stale


def main(check: bool) -> int:
    """Write the charts, or compare them; the exit status says whether one was stale."""
    stale = [is_stale(name, check) for name in CHARTS]
    return int(check and any(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
