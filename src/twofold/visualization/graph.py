"""Draws a graph of typed nodes, such as the input and output of a pass."""

from collections.abc import Sequence
from html import escape

from ..graph.fuse import Step
from ..graph.ir import Application, Constant, Leaf, Node, topological
from .drawing import Svg

__all__ = ["plot_graph"]

#: Sizes in pixels of a box, and of the gaps between boxes.
WIDTH, HEIGHT, BESIDE, BELOW = 118, 34, 14, 30
#: ColorBrewer's palette Set3: a leaf, a constant, an application, and the kernels in turn.
LEAF, CONSTANT, APPLICATION, KERNELS = "#8dd3c7", "#d9d9d9", "#ffffb3", ("#fb8072", "#80b1d3", "#fdb462", "#b3de69")


def plot_graph(outputs: Sequence[Node], steps: Sequence[Step] = ()) -> Svg:
    """Draw a graph, with operands above their users.

    Parameters
    ----------
    outputs
        The outputs of the graph, drawn with a thick frame.
    steps
        The steps of a program, to color the nodes of each fused kernel alike.

    Returns
    -------
    Svg
        The drawing.
    """
    nodes = topological(outputs)
    place = _places(nodes)
    kernels = [s for s in steps if s.is_kernel]
    color: dict[Node, str] = {n: KERNELS[k % len(KERNELS)] for k, step in enumerate(kernels) for n in step.nodes}
    width = max(x for x, _ in place.values()) + WIDTH + BESIDE
    height = max(y for _, y in place.values()) + HEIGHT + BESIDE
    lines = [_edge(place[i], place[n]) for n in nodes for i in dict.fromkeys(n.inputs) if i is not None]
    for n in nodes:
        lines += _box(n, place[n], color.get(n, _color(n)), n in outputs)
    return Svg.of(width, height, lines)


def _places(nodes: Sequence[Node]) -> dict[Node, tuple[int, int]]:
    """The upper left corner of each box. Each depth has a row; leaves are directly above their first user."""
    depth: dict[Node, int] = {}
    for n in nodes:
        depth[n] = 1 + max((depth[i] for i in n.inputs if i is not None), default=-1)
    for n in reversed(nodes):
        for i in n.inputs:
            if i is not None and not i.inputs:
                depth[i] = min(depth[n] - 1, depth[i]) if depth[i] else depth[n] - 1
    row: dict[int, int] = {}
    found = {}
    for n in nodes:
        column = row[depth[n]] = row.get(depth[n], -1) + 1
        found[n] = BESIDE + column * (WIDTH + BESIDE), BESIDE + depth[n] * (HEIGHT + BELOW)
    return found


def _color(n: Node) -> str:
    return LEAF if isinstance(n, Leaf) else CONSTANT if isinstance(n, Constant) else APPLICATION


def _edge(above: tuple[int, int], below: tuple[int, int]) -> str:
    return (
        f'<line x1="{above[0] + WIDTH // 2}" y1="{above[1] + HEIGHT}" x2="{below[0] + WIDTH // 2}" y2="{below[1]}" '
        'stroke="#555" stroke-width="1"/>'
    )


def _name(n: Node) -> str:
    if isinstance(n, Application):
        return n.sig.op.name
    if isinstance(n, Leaf):
        return str(n.name[-1] if isinstance(n.name, tuple) else n.name)
    return repr(n)


def _box(n: Node, place: tuple[int, int], color: str, is_output: bool) -> list[str]:
    (x, y), frame = place, 3 if is_output else 1
    kind = "number" if isinstance(n, Constant) else f"{n.dtype} {'x'.join(map(str, n.shape)) or 'scalar'}"
    return [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="{color}" stroke="#555" stroke-width="{frame}"/>',
        f'<text x="{x + 6}" y="{y + 14}" font-weight="bold">{escape(_name(n))}</text>',
        f'<text x="{x + 6}" y="{y + 28}">{escape(kind)}</text>',
    ]
