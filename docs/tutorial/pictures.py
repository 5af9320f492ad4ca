"""Draws the pictures of the tutorials from what their code computes.

``python docs/tutorial/pictures.py`` runs the pages and rewrites their pictures; it requires matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.docs.pages import blocks

FOLDER = Path(__file__).parent
#: Of two groups of values, in light and dark mode alike: the pictures have a white ground.
BLUE, ORANGE = "#2b6cb0", "#dd6b20"


def values_of(page: str) -> dict[str, Any]:
    """What the names of a page's code stand for when all of it has run."""
    values: dict[str, Any] = {"__name__": "page"}
    for block in blocks((FOLDER / f"{page}.md").read_text(encoding="utf-8")):
        if block.language == "python":
            exec(block.text, values)
    return values


def simulation(plt: Any) -> None:
    """The sheet of pendulums: what is looked for, and two stages of what is found."""
    page = values_of("simulation")
    after_10, guess = page["np"].zeros((32, 32)), page["guess"]
    after_10.attach_grad()
    update = page["mx"].optimizer.get_updater(page["mx"].optimizer.Adam(learning_rate=0.05))
    for _ in range(10):
        with page["mx"].autograd.record():
            error = ((page["observed"](page["np"], after_10) - page["measured"]) ** 2).sum()
        error.backward()
        update(0, after_10.grad, after_10)
    figure, places = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    sheets = {"as it was let go": page["truth"], "found after 10 steps": after_10, "after 80 steps": guess}
    for place, (title, sheet) in zip(places, sheets.items(), strict=True):
        shown = place.imshow(np.asarray(sheet), cmap="RdBu_r", vmin=-1, vmax=1)
        place.set(title=title, xticks=[], yticks=[])
    figure.colorbar(shown, ax=places, label="angle")
    figure.savefig(FOLDER / "simulation.png", dpi=80)


def tabular(plt: Any) -> None:
    """Patients of the test set with their intervals."""
    page = values_of("tabular")
    order = np.argsort(page["middle"])
    low, middle, high, actual = (page[name][order] for name in ("low", "middle", "high", "actual"))
    figure, place = plt.subplots(figsize=(8, 3.2), layout="constrained")
    at = np.arange(len(order))
    place.fill_between(at, low, high, color=BLUE, alpha=0.25, label="80 of 100 patients")
    place.plot(at, middle, color=BLUE, label="median")
    place.plot(at, actual, ".", color=ORANGE, label="measured")
    place.set(xlabel="patients that the network has not seen", ylabel="progress of the disease")
    place.legend(loc="upper left", ncols=3)
    figure.savefig(FOLDER / "tabular.svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


def detection(plt: Any) -> None:
    """Images of the test set with the boxes that were found."""
    page = values_of("detection")
    images, found, side = page["new_images"].asnumpy(), page["found"].asnumpy(), page["SIDE"]
    figure, places = plt.subplots(2, 4, figsize=(8, 4.4), layout="constrained")
    for place, image, rows in zip(places.flat, images, found, strict=False):
        place.imshow(image.transpose(1, 2, 0))
        place.set(xticks=[], yticks=[])
        for kind, score, left, top, right, bottom in rows[rows[:, 0] >= 0] * ([1, 1] + [side] * 4):
            box = (left - 0.5, top - 0.5), right - left, bottom - top
            place.add_patch(plt.Rectangle(*box, fill=False, edgecolor="lime", linewidth=2))
            place.set_title(f"{page['KINDS'][int(kind)]} {score:.2f}", fontsize=10)
    figure.savefig(FOLDER / "detection.png", dpi=80)


if __name__ == "__main__":
    import matplotlib.pyplot as pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "twofold"})
    for draw in (simulation, tabular, detection):
        if draw.__name__ in sys.argv[1:] or not sys.argv[1:]:
            draw(pyplot)
