"""What the documentation's plots have in common: their style, colours and file format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

STYLE = {"svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False}
#: Twofold's colours, strong and light, and that of the others.
STRONG, LIGHT, OTHERS = "#b8500f", "#e8863a", "#8f9aa5"


@contextmanager
def picture(file: Path, *shape: int, font: float = 7, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Give a figure and its axes to draw on, then write them to an SVG file that is the same for the same figures.

    Parameters
    ----------
    file
        The file to write. Its stem is the seed of the identifiers in it.
    font
        The size of text in points.
    *shape, **options
        As in ``matplotlib.pyplot.subplots``.
    """
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    with plt.rc_context({**STYLE, "font.size": font, "svg.hashsalt": file.stem}):
        figure, axes = plt.subplots(*shape, layout="constrained", **options)
        yield figure, axes
        figure.savefig(file, metadata={"Date": None, "Creator": None})
        plt.close(figure)
