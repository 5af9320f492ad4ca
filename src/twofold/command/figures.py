"""Self-contained pages of HTML, and the figures of the demo's report, drawn by matplotlib, or a line of text if that is not installed."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The rules of CSS of all pages.
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ccc; }
td:first-child, th:first-child { text-align: left; } pre { background: #f4f4f4; padding: 1rem; overflow: auto; font-size: 13px; }
img, svg { max-width: 100%; } .failed { color: #b00020; }
"""
MISREAD_SHOWN = 30
SMOOTHED_POINTS = 200  # number of averaged points in a curve


def page(title: str, body: str, style: str = "") -> str:
    """A page.

    Parameters
    ----------
    title
        Its title, as text.
    body
        What follows, as HTML.
    style
        Rules of CSS besides those of all reports.
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _image(draw: "Callable[[Figure], None]", width: float, height: float) -> str:
    """An image drawn by a function into a figure; sizes in inches."""
    if find_spec("matplotlib") is None:
        return "<p>(no figure: pip install 'twofold[demo]' installs matplotlib)</p>"
    from matplotlib.figure import Figure  # unlike pyplot, it opens no window and has no global state

    figure, file = Figure(figsize=(width, height), layout="constrained"), BytesIO()
    draw(figure)
    figure.savefig(file, format="png", dpi=110)
    return f'<img alt="" src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'


def curves_figure(losses: Mapping[str, Sequence[float]]) -> str:
    """The losses of each way: the first twenty steps, and all steps with local averaging.

    Parameters
    ----------
    losses
        The loss of each step, by way.
    """

    def draw(figure: "Figure") -> None:
        first, whole = figure.subplots(1, 2)
        for number, (way, values) in enumerate(losses.items()):
            # the curves coincide: later ones are thinner, so that all remain visible
            first.plot(values[:20], label=way, linewidth=7 - 1.8 * number, alpha=0.7)
            stretch = max(1, len(values) // SMOOTHED_POINTS)  # single batches are too noisy to compare by eye
            # points that do not fill the last stretch are left out
            means = np.reshape(values[: len(values) // stretch * stretch], (-1, stretch)).mean(axis=1)
            whole.semilogy(np.arange(len(means)) * stretch, means, label=way, linewidth=5 - 1.3 * number, alpha=0.7)
        first.set(xlabel="step", ylabel="cross-entropy of the batch", title="the first 20 steps")
        whole.set(xlabel="step", title="all steps, averaged")
        first.legend()

    return _image(draw, 10, 4)


def confusion_figure(counts: np.ndarray) -> str:
    """The confusion matrix.

    Parameters
    ----------
    counts
        Shape (10, 10): true digit, predicted digit.
    """

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.imshow(np.log1p(counts), cmap="Blues")  # logarithmic: errors would vanish beside the diagonal
        for (row, column), count in np.ndenumerate(counts):
            if count:
                axes.text(column, row, str(count), ha="center", va="center", color="white" if row == column else "black", fontsize=8)
        axes.set(xticks=range(10), yticks=range(10), xlabel="read as", ylabel="is")

    return _image(draw, 5, 5)


def misread_figure(images: np.ndarray, true: np.ndarray, read: np.ndarray) -> str:
    """The first misclassified images.

    Parameters
    ----------
    images
        Shape (n, height, width).
    true, read
        Shape (n,): true and predicted digits.
    """
    wrong = np.flatnonzero(true != read)
    if not len(wrong):
        return "<p>None.</p>"

    def draw(figure: "Figure") -> None:
        for place, axes in enumerate(np.ravel(figure.subplots(3, MISREAD_SHOWN // 3))):
            axes.axis("off")
            if place < len(wrong):
                k = wrong[place]
                axes.imshow(images[k], cmap="gray_r")
                axes.set_title(f"{true[k]} as {read[k]}", fontsize=8)

    return f"<p>{len(wrong)} of {len(true)}; the first of them:</p>{_image(draw, 10, 3.6)}"
