"""Draws an executor's memory plans: where in memory each value lives, and from which step to which."""

from html import escape
from typing import NamedTuple

from ..errors import DTypeError
from ..executor.executor import Executor
from ..graph.ir import Application, Leaf, Node
from ..graph.memory_plan import Place
from ..program.compile import Program
from .drawing import Svg, size_text
from .program import leaf_name

#: Sizes in pixels: the text beside rows, the width of a step, bytes per pixel of a row's height, and the minimum height.
MARGIN, WIDTH, BYTES_PER_PIXEL, LEAST = 260, 28, 1 << 16, 14
#: The vertical axis with its title, and the letters that a row's text has room for.
AXIS, FITTING = 24, 36
#: The height of the legend, and the width of each of its entries.
LEGEND, ENTRY = 24, 130
#: ColorBrewer's palette Set3, by kind of place.
COLORS = {"leaf": "#8dd3c7", "buffer": "#ffffb3", "output": "#fb8072", "fresh": "#80b1d3"}
WHAT = {"leaf": "input", "buffer": "buffer", "output": "result", "fresh": "allocated"}
MEANING = {"leaf": "inputs, parameters", "buffer": "reused buffers", "output": "results", "fresh": "allocated"}


class _Life(NamedTuple):
    """The lifetime of a value, from the step that computes it (-1 for inputs) to the last one that reads it."""

    node: Node
    begin: int
    end: int


def plot_memory(executor: Executor) -> Svg:
    """Draw the memory of an executor's programs, with a row per block of memory and a column per step.

    A row is as high as its block is large, from 1 MiB, and begins with the names of the arrays in the block and its size.

    Parameters
    ----------
    executor
        The executor.

    Returns
    -------
    Svg
        The drawing, with a tooltip for each value. Values that a fused kernel never writes to memory are not shown.

    Raises
    ------
    DTypeError
        If ``executor`` is not an executor.

    Examples
    --------
    >>> import twofold as mx
    >>> executor = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=100, name="fc1").simple_bind(mx.cpu(), data=(8, 784))
    >>> "fc1_weight, 306 KiB" in mx.viz.plot_memory(executor)
    True
    """
    if not isinstance(executor, Executor):
        raise DTypeError("plot_memory: not an executor", type(executor).__name__, "bind the symbol, or pass net.bind(x)")
    parts, top, width = _legend(), LEGEND, AXIS + ENTRY * len(MEANING)
    for name, program in executor.programs():
        lines, height = _draw(name, program, top)
        parts += lines
        top += height
        width = max(width, MARGIN + WIDTH * (len(program.steps) + 2))
    return Svg.of(width, top, parts)


def _lives(program: Program) -> dict[Place | tuple[str, int, int], list[_Life]]:
    """The values in each block of memory. Each value that the backend allocates has a separate block."""
    place, root = program.plan.place, {}
    # the same liveness as the memory plan's: a use of a view is a use of the value that owns the memory
    begin: dict[Node, int] = {leaf: -1 for leaf in program.leaves if leaf.nbytes}
    end: dict[Node, int] = dict(begin)
    for t, step in enumerate(program.steps):
        for n in step.nodes:
            for i in n.operands:
                if root.get(i, i) in end:
                    end[root.get(i, i)] = t
            if n.bound_op.op.view:
                root[n] = root.get(n.operands[0], n.operands[0])
            elif place.get(n, Place("kernel")).kind in ("leaf", "buffer", "output", "fresh"):
                begin[n] = end[n] = t
    # an output lives beyond the last step, since the caller holds it
    for o in program.outputs:
        if root.get(o, o) in end:
            end[root.get(o, o)] = len(program.steps)
    rows: dict[Place | tuple[str, int, int], list[_Life]] = {}
    for number, (node, first) in enumerate(begin.items()):
        where = place.get(node, Place("leaf"))
        # values that the backend allocates share no memory: the number keeps their rows apart
        rows.setdefault(("fresh", 0, number) if where.kind == "fresh" else where, []).append(_Life(node, first, end[node]))
    return rows


def _legend() -> list[str]:
    """The legend of the colors."""
    lines = []
    for k, (kind, text) in enumerate(MEANING.items()):
        x = AXIS + ENTRY * k
        lines.append(f'<rect x="{x}" y="6" width="12" height="12" fill="{COLORS[kind]}" stroke="#555"/>')
        lines.append(f'<text x="{x + 16}" y="16">{text}</text>')
    return lines


def _draw(name: str, program: Program, top: int) -> tuple[list[str], int]:
    """The rows of one program, and their height."""
    title = f"{name}: {size_text(program.plan.nbytes)}"
    lines = [f'<text x="4" y="{top + 15}" font-weight="bold">{escape(title)}<title>{program.plan.nbytes} bytes</title></text>']
    y = top + 22
    lines.append(f'<text x="{MARGIN - 4}" y="{y + 10}" text-anchor="end" font-style="italic">step</text>')
    for t, step in enumerate(program.steps):
        x = MARGIN + WIDTH * (t + 1)
        names = " + ".join(n.bound_op.op.name for n in step.nodes)
        lines.append(f'<text x="{x + 4}" y="{y + 10}">{t}<title>{escape(names)}</title></text>')
    y += 16
    first = y
    for where, lives in _lives(program).items():
        largest = max(life.node.nbytes for life in lives)
        height = max(LEAST, largest // BYTES_PER_PIXEL)
        lines.append(_label(where[0], lives, size_text(largest), y + 11))
        for node, begin, end in lives:
            x, length = MARGIN + WIDTH * (begin + 1), WIDTH * (end - begin + 1)
            title = f"{_name(node)} {'x'.join(map(str, node.shape))} {node.dtype}, {node.nbytes} bytes, steps {begin} to {end}"
            box = f'<rect x="{x}" y="{y}" width="{length}" height="{height - 2}" fill="{COLORS[where[0]]}" stroke="#555"/>'
            lines.append(f"<g>{box}<title>{escape(title)}</title></g>")
        y += height
    middle = (first + y) // 2
    lines.append(f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle" font-style="italic">memory</text>')
    return lines, y + 12 - top


def _name(node: Node) -> str:
    """The argument's name for an input, and the operator's for a result."""
    return node.bound_op.op.name if isinstance(node, Application) else leaf_name(node) if isinstance(node, Leaf) else "constant"


def _label(kind: str, lives: list[_Life], size: str, y: int) -> str:
    """The names of the values in a block, as many as there is room for, and its size."""
    names = list(dict.fromkeys(_name(life.node) for life in lives))
    whole = f"{', '.join(names)}, {size}"
    short = names[0] if len(names[0]) <= FITTING - 14 else names[0][: FITTING - 15] + "…"
    shown = whole if len(whole) <= FITTING else f"{short}{', …' if len(names) > 1 else ''}, {size}"
    return f'<text x="{AXIS}" y="{y}">{escape(shown)}<title>{escape(f"{WHAT[kind]}: {whole}")}</title></text>'
