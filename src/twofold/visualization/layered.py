"""Draws a directed graph in layers: inputs at the top, their readers below; a few sweeps reduce crossings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from statistics import fmean

from .drawing import Svg

#: Sizes in pixels of the narrowest box, of the place of an edge that passes a layer, and of the gaps beside and below.
WIDTH, HEIGHT, PASSING, BESIDE, BELOW = 120, 40, 12, 18, 30
#: Characters of a line in the widest box, and the width of one in pixels: that of bold letters of 11 pixels, in the widest common fonts.
FITTING, CHARACTER = 40, 7
#: A white border around letters that cover an edge.
HALO = 'stroke="#fff" stroke-width="3" paint-order="stroke"'
#: Edges that pass more layers than this are drawn straight. With a place in each layer, a long unrolled network would become too wide.
LONGEST = 40
SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """A node.

    Parameters
    ----------
    name
        Its name, shown in the first line.
    text
        The second line.
    color
        Its color, as ``#rrggbb``.
    is_round
        Whether it is an input rather than an operator.
    detail
        The text that a browser shows under the mouse; its name if empty.
    is_output
        Whether it has a thick frame.
    """

    name: str
    text: str
    color: str
    is_round: bool = False
    detail: str = ""
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from one box to another, given by their positions, with a label."""

    source: int
    target: int
    text: str = ""


def plot_layers(boxes: Sequence[Box], edges: Sequence[Edge]) -> Svg:
    """Draw a graph.

    Parameters
    ----------
    boxes
        The nodes, each after those that it reads.
    edges
        The arrows. An edge that leads back is left out.

    Returns
    -------
    Svg
        The drawing.
    """
    forward = [e for e in edges if e.source < e.target]
    layout = _Layout([_width(box) for box in boxes], forward)
    lines = [
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
    ]
    for edge, path in zip(forward, layout.paths, strict=True):
        lines += _edge(layout.points(path), edge.text)
    for k, box in enumerate(boxes):
        lines += _box(box, layout.widths[k], *layout.place(k))
    return Svg.of(layout.width, layout.height, lines, scales=True)


class _Layout:
    """Places of boxes and of the points where long edges pass layers, which are numbered after the boxes."""

    def __init__(self, widths: Sequence[float], edges: Sequence[Edge]) -> None:
        self.widths = widths
        self.depth = _depths(len(widths), edges)
        self.above: dict[int, list[int]] = {}
        self.below: dict[int, list[int]] = {}
        self.paths = [self._path(edge) for edge in edges]
        self.layers: list[list[int]] = [[] for _ in range(max(self.depth, default=0) + 1)]
        for k, depth in enumerate(self.depth):
            self.layers[depth].append(k)
        # Sugiyama's method: boxes move to the mean of their neighbors, layer by layer, downwards and upwards in turn. Each sweep removes
        # crossings; after a few of them nothing moves any more.
        self.x: dict[int, float] = {}
        for layer in self.layers:
            self._settle(layer, self.above)
        for _ in range(SWEEPS):
            for layer in reversed(self.layers):
                self._settle(layer, self.below)
            for layer in self.layers:
                self._settle(layer, self.above)
        left = min((self.x[k] - self._half(k) for k in self.x), default=0)
        self.x = {k: x - left + BESIDE for k, x in self.x.items()}
        self.width = max((self.x[k] + self._half(k) for k in self.x), default=0) + BESIDE
        self.height = len(self.layers) * (HEIGHT + BELOW) + BELOW

    def _path(self, edge: Edge) -> list[int]:
        """The box, passing points and box that an edge connects."""
        first, last = self.depth[edge.source], self.depth[edge.target]
        # A long edge has a point in every layer that it crosses, which takes a place among the boxes, so that it does not run through them.
        # A very long one, such as from a shared weight to all its uses, would push the boxes of all layers apart.
        passed = range(first + 1, last) if last - first <= LONGEST else ()
        path = [edge.source, *range(len(self.depth), len(self.depth) + len(passed)), edge.target]
        self.depth += passed
        # an edge that is drawn straight pulls at no box
        if len(path) == last - first + 1:
            for upper, lower in pairwise(path):
                self.below.setdefault(upper, []).append(lower)
                self.above.setdefault(lower, []).append(upper)
        return path

    def _half(self, k: int) -> float:
        return (self.widths[k] if k < len(self.widths) else PASSING) / 2

    def _settle(self, layer: list[int], neighbors: Mapping[int, list[int]]) -> None:
        """Order a layer by its neighbors' means, and move each as close to that as the ones beside it allow."""
        wanted = {k: fmean([self.x[n] for n in neighbors[k]]) if neighbors.get(k) else self.x.get(k) for k in layer}
        known = [x for x in wanted.values() if x is not None]
        start = known[-1] if known else 0.0
        goal = {k: start if x is None else x for k, x in wanted.items()}
        layer.sort(key=goal.__getitem__)
        edge = -float("inf")
        for k in layer:
            self.x[k] = max(goal[k], edge + self._half(k))
            edge = self.x[k] + self._half(k) + BESIDE
        # boxes are only ever pushed to the right, so the layer as a whole goes back by the mean of their shifts
        shift = fmean([goal[k] - self.x[k] for k in layer]) if layer else 0
        for k in layer:
            self.x[k] += shift

    def place(self, k: int) -> tuple[float, float]:
        """Center and top of a box or passing point."""
        return self.x[k], BELOW / 2 + self.depth[k] * (HEIGHT + BELOW)

    def points(self, path: Sequence[int]) -> list[tuple[float, float]]:
        """Points of an edge from the bottom of a box to the top of another."""
        found = []
        for position, k in enumerate(path):
            x, top = self.place(k)
            found += [(x, top)] if position else []
            found += [(x, top + HEIGHT)] if position < len(path) - 1 else []
        return found


def _depths(count: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each box: below all that it reads. A box without inputs is directly above its first reader."""
    depth = [0] * count
    for edge in sorted(edges, key=lambda e: e.target):
        depth[edge.target] = max(depth[edge.target], depth[edge.source] + 1)
    readers: dict[int, int] = {}
    for edge in edges:
        readers[edge.source] = min(readers.get(edge.source, count), depth[edge.target])
    read = {edge.target for edge in edges}
    # a weight would otherwise be in the first layer, and its edge would cross all layers above its reader
    return [readers[k] - 1 if k not in read and k in readers else d for k, d in enumerate(depth)]


def _edge(points: Sequence[tuple[float, float]], text: str) -> list[str]:
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}"
    for u, v in rest:
        # a Bézier curve that leaves and arrives vertically: both control points are at half the height
        path += f"C{x:.1f} {(y + v) / 2:.1f} {u:.1f} {(y + v) / 2:.1f} {u:.1f} {v:.1f}" if x != u else f"L{u:.1f} {v:.1f}"
        x, y = u, v
    lines = [f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#arrow)"/>']
    if text:
        (x, y), (u, v) = points[0], points[1]
        place = f'x="{(x + u) / 2 + 4:.1f}" y="{(y + v) / 2 + 4:.1f}"'
        lines.append(f'<text {place} font-size="10" fill="#555" {HALO}>{escape(text)}</text>')
    return lines


def _width(box: Box) -> float:
    """The width of a box that its text fits into; round ends take some of it."""
    return max(WIDTH, CHARACTER * max(len(_short(box.name)), len(_short(box.text))) + (HEIGHT / 2 if box.is_round else 14))


def _box(box: Box, width: float, x: float, top: float) -> list[str]:
    radius = HEIGHT / 2 if box.is_round else 4
    size = f'width="{width:.0f}" height="{HEIGHT}" rx="{radius}"'
    frame = ' stroke-width="3"' if box.is_output else ""
    return [
        f"<g><title>{escape(box.detail or box.name)}</title>",
        f'<rect x="{x - width / 2:.1f}" y="{top:.1f}" {size} fill="{box.color}" stroke="#555"{frame}/>',
        f'<text x="{x:.1f}" y="{top + 17:.1f}" text-anchor="middle" font-weight="bold">{escape(_short(box.name))}</text>',
        f'<text x="{x:.1f}" y="{top + 32:.1f}" text-anchor="middle">{escape(_short(box.text))}</text></g>',
    ]


def without_shared_prefix(boxes: Sequence[Box]) -> list[Box]:
    """The boxes with operators' names as short as in the block whose name they all begin with; whole ones are shown under the mouse."""
    shared = _shared([box.name for box in boxes if not box.is_round])
    return [b if b.is_round else replace(b, name=b.name[shared:] or b.name, detail=b.detail or b.name) for b in boxes]


def _shared(names: Sequence[str]) -> int:
    """The number of characters up to an underscore with which all names begin."""
    if len(names) < 2:
        return 0
    # a prefix that the first and the last name in alphabetical order share, all names share
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first.rfind("_", 0, same) + 1


def _short(text: str) -> str:
    return text if len(text) <= FITTING else f"{text[: FITTING - 10]}…{text[-9:]}"
