"""Draws charts of the numbers that examples print, for their pages: lines by step, and bars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from asv_benchmarks.picture import LIGHT, OTHERS, STRONG, picture

if TYPE_CHECKING:
    from pathlib import Path

#: The width of a chart and the heights of both kinds, in inches.
WIDTH, LINES_HIGH, BAR_HIGH, AROUND_BARS = 5.5, 2.8, 0.42, 0.7
#: In points: 9 pixels on a phone, which shows a chart at two thirds of its size.
FONT = 10
#: Colors, dashes and widths of lines: two that are equal are both seen.
LOOKS = ((LIGHT, "-", 3), ("#2b6cb0", "--", 1.5))
#: More points than these are not marked.
MARKED = 20


def _numbers(pattern: str, printed: str) -> list[re.Match[str]]:
    found = list(re.finditer(pattern, printed, re.MULTILINE))
    if not found:
        raise ValueError(f"gallery: nothing printed matches {pattern!r}; change it, or the example")
    return found


class Lines(NamedTuple):
    """Numbers by step or epoch.

    Attributes
    ----------
    pattern
        A regular expression with a group ``y``: a number, or several with spaces between them. A group ``x`` has the step of a number;
        without it they are counted. A group ``name`` says to which line they belong.
    x, y
        What the axes show.
    every
        Steps from one number to the next, where they are counted.
    level
        What a horizontal line shows, and a regular expression whose group is its height.
    """

    pattern: str
    x: str
    y: str
    every: int = 1
    level: tuple[str, str] | None = None

    @property
    def height(self) -> float:
        """In inches."""
        return LINES_HIGH

    def points(self, printed: str) -> dict[str, tuple[list[float], list[float]]]:
        """Steps and numbers of each line, by its name, which is empty if there is one."""
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for found in _numbers(self.pattern, printed):
            groups = found.groupdict()
            steps, numbers = lines.setdefault(groups.get("name", ""), ([], []))
            for number in groups["y"].split():
                steps.append(float(groups["x"]) if "x" in groups else len(steps) * self.every)
                numbers.append(float(number))
        return lines

    def draw(self, place: Any, printed: str) -> None:
        """Draw on axes of matplotlib what an example has printed."""
        for (color, dashes, width), (name, (steps, numbers)) in zip(LOOKS, sorted(self.points(printed).items()), strict=False):
            mark = "o" if len(steps) <= MARKED else ""
            place.plot(steps, numbers, dashes, color=color, linewidth=width, marker=mark, markersize=2 * width, label=name or None)
        if self.level:
            name, pattern = self.level
            place.axhline(float(_numbers(pattern, printed)[0][1]), color=OTHERS, label=name)
        place.set(xlabel=self.x, ylabel=self.y)
        place.xaxis.get_major_locator().set_params(integer=True)
        if place.get_legend_handles_labels()[0]:
            place.legend()


class Bars(NamedTuple):
    """A few numbers beside each other.

    Attributes
    ----------
    x
        What they are.
    bars
        By what the bar says: a regular expression whose group is the number, or a number that is known beforehand, whose bar is gray.
    """

    x: str
    bars: Mapping[str, str | float]

    @property
    def height(self) -> float:
        """In inches."""
        return AROUND_BARS + BAR_HIGH * len(self.bars)

    def lengths(self, printed: str) -> list[float]:
        """The numbers."""
        return [float(_numbers(bar, printed)[0][1]) if isinstance(bar, str) else bar for bar in self.bars.values()]

    def draw(self, place: Any, printed: str) -> None:
        """Draw on axes of matplotlib what an example has printed."""
        colors = [STRONG if isinstance(bar, str) else OTHERS for bar in self.bars.values()]
        place.bar_label(place.barh(list(self.bars), self.lengths(printed), color=colors), fmt="{:.4g}", padding=3)
        place.invert_yaxis()
        place.margins(x=0.15)
        place.set(xlabel=self.x)


class Stacks(NamedTuple):
    """Numbers that are sums, each with its parts beside each other.

    Attributes
    ----------
    x
        What they are.
    stacks
        By what the stack says: a regular expression whose group is the sum, and the parts by what they are.
    """

    x: str
    stacks: Mapping[str, tuple[str, Mapping[str, float]]]

    @property
    def height(self) -> float:
        """In inches."""
        return AROUND_BARS + 1.4 * BAR_HIGH * len(self.stacks)

    def sums(self, printed: str) -> list[float]:
        """The sums that were printed.

        Raises
        ------
        ValueError
            If the parts have another sum.
        """
        found = []
        for name, (pattern, parts) in self.stacks.items():
            found.append(float(_numbers(pattern, printed)[0][1]))
            if found[-1] != sum(parts.values()):
                raise ValueError(f"gallery: {name}: {found[-1]:g} was printed, not {sum(parts.values()):g}; change the parts")
        return found

    def draw(self, place: Any, printed: str) -> None:
        """Draw on axes of matplotlib what an example has printed."""
        for row, (total, (_, parts)) in enumerate(zip(self.sums(printed), self.stacks.values(), strict=True)):
            left = 0.0
            for k, (name, length) in enumerate(parts.items()):
                place.barh(row, length, left=left, color=(OTHERS, LIGHT)[k == len(parts) - 1], edgecolor="white", linewidth=2)
                place.text(left + length / 2, row, name, ha="center", va="center")
                left += length
            place.text(left, row, f"  {total:.4g}", va="center")
        place.set_yticks(range(len(self.stacks)), list(self.stacks))
        place.invert_yaxis()
        place.margins(x=0.15)
        place.set(xlabel=self.x)


class Flow(NamedTuple):
    """What goes on from each of some boxes to each of those on their right.

    Attributes
    ----------
    columns
        By what the column says: its boxes, each with a regular expression whose group is the number in it, or the number.
    """

    columns: Mapping[str, Mapping[str, str | float]]

    @property
    def height(self) -> float:
        """In inches."""
        return AROUND_BARS + 1.2 * BAR_HIGH * max(map(len, self.columns.values()))

    def boxes(self, printed: str) -> list[list[tuple[str, float]]]:
        """What is in the boxes of each column, and the numbers."""
        return [
            [(name, float(_numbers(box, printed)[0][1]) if isinstance(box, str) else box) for name, box in column.items()]
            for column in self.columns.values()
        ]

    def draw(self, place: Any, printed: str) -> None:
        """Draw on axes of matplotlib what an example has printed."""
        before: list[float] = []
        for k, (title, boxes) in enumerate(zip(self.columns, self.boxes(printed), strict=True)):
            place.text(k, 1.0, title, ha="center", va="bottom")
            heights = [1 - (row + 0.5) / len(boxes) for row in range(len(boxes))]
            for height, (name, number) in zip(heights, boxes, strict=True):
                look = {"boxstyle": "round,pad=0.4", "facecolor": LIGHT if len(boxes) == 1 else "#e5e9ee", "edgecolor": "none"}
                place.text(k, height, f"{name}: {number:g}", ha="center", va="center", bbox=look)
                for other in before:
                    arrow = {"arrowstyle": "->", "color": OTHERS}
                    place.annotate("", (k - 0.36, height), (k - 0.64, other), arrowprops=arrow)
            before = heights
        place.set(xlim=(-0.5, len(self.columns) - 0.5), ylim=(0, 1.1))
        place.axis("off")


Chart = Lines | Bars | Stacks | Flow


def draw(file: Path, charts: Sequence[Chart], printed: str) -> None:
    """Draw charts below each other into an SVG file.

    Raises
    ------
    ValueError
        If the example has printed nothing that one of them shows.
    """
    heights = [chart.height for chart in charts]
    options = {"figsize": (WIDTH, sum(heights)), "height_ratios": heights, "squeeze": False}
    with picture(file, len(charts), font=FONT, **options) as (_, places):
        for chart, place in zip(charts, places.flat, strict=True):
            chart.draw(place, printed)
