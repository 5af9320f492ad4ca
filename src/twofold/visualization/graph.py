"""Draws a graph of typed nodes, such as the input and output of a pass."""

from collections.abc import Sequence

from ..graph.fuse import Step
from ..graph.ir import Application, Constant, Leaf, Node, topological
from .drawing import Svg
from .layered import Box, Edge, plot_layers

#: ColorBrewer's palette Set3: a leaf, a constant, an application, and the kernels in turn.
LEAF, CONSTANT, APPLICATION, KERNELS = "#8dd3c7", "#d9d9d9", "#ffffb3", ("#fb8072", "#80b1d3", "#fdb462", "#b3de69")


def plot_graph(outputs: Sequence[Node], steps: Sequence[Step] = ()) -> Svg:
    """Draw a graph, with operands above their users.

    Parameters
    ----------
    outputs
        The outputs of the graph, drawn with a thick frame.
    steps
        The steps of a program, to color the nodes of each alike, and those of another one differently.

    Returns
    -------
    Svg
        The drawing.
    """
    nodes = topological(outputs)
    color: dict[Node, str] = {n: KERNELS[k % len(KERNELS)] for k, step in enumerate(steps) for n in step.nodes}
    boxes = [Box(_name(n), _type(n), color.get(n, _color(n)), isinstance(n, Leaf), is_output=n in outputs) for n in nodes]
    place = {n: k for k, n in enumerate(nodes)}
    edges = [Edge(place[i], place[n]) for n in nodes for i in dict.fromkeys(n.inputs) if i is not None]
    return plot_layers(boxes, edges)


def _color(n: Node) -> str:
    return LEAF if isinstance(n, Leaf) else CONSTANT if isinstance(n, Constant) else APPLICATION


def _name(n: Node) -> str:
    if isinstance(n, Application):
        return n.bound_op.op.name
    if isinstance(n, Leaf):
        return str(n.name[-1] if isinstance(n.name, tuple) else n.name)
    return repr(n)


def _type(n: Node) -> str:
    return "number" if isinstance(n, Constant) else f"{n.dtype} {'x'.join(map(str, n.shape)) or 'scalar'}"
