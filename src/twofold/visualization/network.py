"""Prints a symbol as a table of layers, and draws the graph of a symbol or block with graphviz, or as SVG if that is not installed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ..dtype import dtype_name
from ..errors import DTypeError, ParameterError
from ..gluon.block import Block
from ..gluon.symbol_block import symbol_of
from ..symbol.inference import Inference, inside_shape
from ..symbol.node import Head, SymbolNode, variables
from ..symbol.partial_types import PartialShape, PartialType
from ..symbol.symbol import Symbol
from ..syntax_trees import literal_value
from .drawing import Svg, digraph
from .layered import Box, Edge, plot_layers, without_shared_prefix

#: Suffixes of variables that a drawing hides: weights and states.
WEIGHTS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")
#: ColorBrewer's palette Set3, by kind of node.
DATA, OTHER = "#8dd3c7", "#fccde5"
COLORS = {"layer": "#fb8072", "activation": "#ffffb3", "norm": "#bebada", "pooling": "#80b1d3", "shape": "#fdb462"}


def _infer(symbol: Symbol, shape: Mapping[str, Sequence[int]] | None, dtype: Mapping[str, object] | None = None) -> Inference:
    """Infer all shapes from the given ones."""
    unknown = set(shape or {}) - set(symbol.list_inputs())
    if unknown:
        raise ParameterError(
            "visualization: shape contains unknown arguments", ", ".join(sorted(unknown)), f"it has {', '.join(symbol.list_inputs())}"
        )
    shapes = {name: inside_shape(s) for name, s in (shape or {}).items()}
    return Inference(symbol.heads, shapes, {name: dtype_name(d) for name, d in (dtype or {}).items()}).run()


def _per_sample(shape: PartialShape) -> str:
    """A shape without its first axis, such as ``3x8x8``; empty if unknown."""
    return "" if shape is None else "x".join("?" if n is None else str(n) for n in shape[1:])


def _check(symbol: object, what: str) -> None:
    if not isinstance(symbol, Symbol):
        raise DTypeError(f"{what}: symbol must be a Symbol", type(symbol).__name__, "pass a symbol")


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Sequence[int]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of a symbol's layers: name and operator, output shape per sample, number of parameters, previous layers.

    Parameters
    ----------
    symbol
        The symbol.
    shape
        Shapes of its data arguments by name. Sizes and counts that cannot be inferred from them stay empty.
    line_length, positions
        Width of the table, and the ends of its columns, as fractions of the width or in characters.
    """
    _check(symbol, "print_summary")
    found = _infer(symbol, shape)
    ends = [int(line_length * p) if p <= 1 else int(p) for p in positions]
    print("_" * line_length)
    print(_row(("Layer (type)", "Output Shape", "Param #", "Previous Layer"), ends))
    print("=" * line_length)
    total, rows = 0, list(_layers(symbol, found, set(shape or {})))
    for k, (name, size, count, before) in enumerate(rows):
        total += count
        print(_row((name, size, str(count), before[0] if before else ""), ends))
        for other in before[1:]:
            print(_row(("", "", "", other), ends))
        print(("=" if k == len(rows) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def _row(fields: Sequence[str], ends: Sequence[int]) -> str:
    line = ""
    for field, end in zip(fields, ends, strict=True):
        line = (line + field)[:end].ljust(end)
    # half of a surrogate pair in a name could not be printed
    return line.encode(errors="backslashreplace").decode()


def _layers(symbol: Symbol, found: Inference, data: set[str]) -> Iterator[tuple[str, str, int, list[str]]]:
    """(name and operator, shape, parameters, previous layers) of the first variable and of every operator."""
    order = found.order
    # MXNet's table counts neither the data and labels nor the first variable, which it shows as a layer
    parameters = {v for v in variables(order)[0] if v.name not in data and not v.name.endswith("label")} - {order[0]}
    for node in order:
        if node.is_variable and node is not order[0]:
            continue
        own = [h.node for h in node.inputs if h.node in parameters]
        # a shared weight counts once, at its first layer
        parameters -= set(own)
        count = sum(_size(found.known[v][0]) for v in own)
        before = list(dict.fromkeys(h.node.name for h in node.inputs if not h.node.is_variable or h.node is order[0]))
        yield f"{node.name}({node.op_name})", _per_sample(found.known[node][0].shape), count, before


def _size(known: PartialType) -> int:
    return prod(known.sizes) if known.is_shaped else 0


def plot_network(
    symbol: Symbol | Block,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: Mapping[str, object] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """Draw the graph of a symbol, from the outputs down to the data, or of a Gluon block.

    Parameters
    ----------
    symbol
        The symbol; or a block that can be called with symbols, as all blocks can that can be hybridized.
    title, save_format
        Name of the drawing, and the format in which graphviz renders it.
    shape, dtype
        Shapes and dtypes of arguments by name, to label edges with shapes per sample. The inputs of a block are named as in ``shape``,
        in its order; one input is ``data``.
    node_attrs
        Additional graphviz attributes of all nodes.
    hide_weights
        Whether to hide variables named like weights and states.

    Returns
    -------
    graphviz.Digraph or Svg
        The drawing; an `Svg` if the package graphviz is not installed. Without graphviz's program ``dot``, the `Digraph` is shown in
        notebooks and rendered as this SVG too.

    Raises
    ------
    DTypeError
        If ``symbol`` is neither.

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(3))
    >>> drawing = mx.viz.plot_network(net, shape={"data": (1, 4)})
    >>> "FullyConnected" in drawing.source
    True
    """
    graph = NetworkGraph(symbol, shape, dtype, hide_weights)
    drawing = digraph(title, save_format, graph.drawn)
    if drawing is None:
        return graph.drawn()
    for node in graph.nodes:
        # the size is the least: longer text widens its box
        look = {"shape": "oval" if node.is_variable else "box", "fixedsize": "false", "width": "1.3", "height": "0.8034", "style": "filled"}
        drawing.node(name=node.name, label=_label(node), fillcolor=_color(node), **look | dict(node_attrs or {}))
    for node, head, label in graph.edges:
        drawing.edge(tail_name=node.name, head_name=head.node.name, label=label, dir="back", arrowtail="open")
    return drawing


class NetworkGraph:
    """The nodes and arrows that drawings of a network show.

    Parameters
    ----------
    network, shape, dtype, hide_weights
        As for `plot_network`.

    Attributes
    ----------
    nodes
        The nodes, each after those that it reads.
    edges
        A node, the head that it reads, and that head's shape per sample.
    """

    def __init__(
        self,
        network: Symbol | Block,
        shape: Mapping[str, Sequence[int]] | None = None,
        dtype: Mapping[str, object] | None = None,
        hide_weights: bool = True,
    ) -> None:
        symbol = symbol_of(network, shape or {}) if isinstance(network, Block) else network
        _check(symbol, "plot_network")
        found = _infer(symbol, shape, dtype)
        self.nodes = [n for n in found.order if not (n.is_variable and hide_weights and n.name.endswith(WEIGHTS))]
        shown = set(self.nodes)
        self.edges: list[tuple[SymbolNode, Head, str]] = [
            (n, h, _per_sample(found.of(h).shape) if shape else "") for n in self.nodes for h in n.inputs if h.node in shown
        ]

    def drawn(self) -> Svg:
        """The drawing as SVG, with the data at the top."""
        place = {node: k for k, node in enumerate(self.nodes)}
        boxes = [Box(n.name, _label(n, has_name=True).replace("\n", " "), _color(n), n.is_variable) for n in self.nodes]
        return plot_layers(without_shared_prefix(boxes), [Edge(place[head.node], place[node], text) for node, head, text in self.edges])


def _label(node: SymbolNode, has_name: bool = False) -> str:
    """The node's name, or for layers the operator and parameters, such as ``3x3/1, 64``. ``has_name``: the name is shown elsewhere."""
    if has_name and (node.is_variable or node.op is None or not node.op.symbolic.label):
        return "input" if node.is_variable else str(node.op_name)
    if node.op is None or not node.op.symbolic.label:
        return node.name
    detail = re.sub(r"\{(\w+)\|?(\w*)\}", lambda found: _size_text(node.attrs.get(found[1], found[2])), node.op.symbolic.label)
    return f"{node.op_name}\n{detail}"


def _size_text(value: str) -> str:
    """A parameter as text, sizes such as ``(3, 3)`` as ``3x3``."""
    return "x".join(map(str, literal_value(value))) if value.startswith(("(", "[")) else value


def _color(node: SymbolNode) -> str:
    if node.is_variable:
        return DATA
    return OTHER if node.op is None else COLORS.get(node.op.symbolic.drawn_as, OTHER)
