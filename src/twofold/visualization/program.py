"""Draws the programs that an executor runs: their steps, fused kernels, and the data flow between them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import DTypeError
from ..executor.executor import Executor
from ..graph.fuse import Step
from ..graph.ir import Application, Leaf, Node, is_const
from ..profiler.explanation import Report
from ..program.compile import Program
from .drawing import Svg, digraph, stacked
from .layered import Box, Edge, plot_layers

#: Colors of ColorBrewer's palette Set3: an input of a program, a step, a fused kernel, a result with a name.
READ, STEP, KERNEL, RESULT = "#8dd3c7", "#ffffb3", "#fb8072", "#80b1d3"


class _Box(NamedTuple):
    """A node of the drawing: its name, text and color; inputs and results of the program are values, not steps."""

    name: str
    label: str
    color: str

    @property
    def is_read(self) -> bool:
        """Whether it is an input of the program."""
        return self.color == READ

    @property
    def is_value(self) -> bool:
        """Whether it is an input or a result."""
        return self.color in (READ, RESULT)


class _Graph(NamedTuple):
    """The drawing of one program. Edges are (tail, head, label)."""

    title: str
    boxes: list[_Box]
    edges: list[tuple[str, str, str]]


def plot_program(executor: Executor | Program | Report, title: str = "program", save_format: str = "svg") -> Any:
    """Draw programs, from inputs to outputs. Of an executor, outputs, gradients and new states have their names.

    Parameters
    ----------
    executor
        An executor, whose programs are those of `Executor.programs`; one of these; or a report of `mx.explain`, whose programs are those
        that ran.
    title, save_format
        Name of the drawing, and the format in which graphviz renders it.

    Returns
    -------
    graphviz.Digraph or Svg
        The drawing, with one cluster per program; an `Svg` if the package graphviz is not installed, and see `plot_network`.

    Raises
    ------
    DTypeError
        If ``executor`` is something else.
    """
    names = executor.result_names() if isinstance(executor, Executor) else {}
    graphs = [_graph_of(name, program, f"p{k}", names.get(name, ())) for k, (name, program) in enumerate(_programs(executor))]
    drawing = digraph(title, save_format, partial(_stacked, graphs))
    if drawing is None:
        return _stacked(graphs)
    for k, graph in enumerate(graphs):
        with drawing.subgraph(name=f"cluster_{k}") as part:
            part.attr(label=graph.title)
            for box in graph.boxes:
                part.node(box.name, box.label, shape="oval" if box.is_value else "box", style="filled", fillcolor=box.color)
            for tail, head, label in graph.edges:
                part.edge(tail, head, label=label)
    return drawing


def _programs(drawn: Executor | Program | Report) -> Iterable[tuple[str, Program]]:
    """The programs of an object, with their titles."""
    if isinstance(drawn, Executor):
        return drawn.programs()
    if isinstance(drawn, Program):
        return [("program", drawn)]
    if isinstance(drawn, Report):
        return [(f"{flush.line}  {flush.cause}", flush.program) for flush in drawn.flushes]
    todo = "pass an executor (bind the symbol, or net.bind(x)), one of executor.programs(), or a report of mx.explain()"
    raise DTypeError("plot_program: not an executor, a program or a report", type(drawn).__name__, todo)


def _stacked(graphs: list[_Graph]) -> Svg:
    return stacked([(graph.title, _drawn(graph)) for graph in graphs])


def _graph_of(title: str, program: Program, prefix: str, results: Sequence[str]) -> _Graph:
    maker: dict[Node, str] = {}
    boxes: list[_Box] = []
    edges: list[tuple[str, str, str]] = []
    for t, step in enumerate(program.steps):
        name = f"{prefix}s{t}"
        boxes.append(_Box(name, _text_of(step), KERNEL if step.is_kernel else STEP))
        for node in _read_by(step):
            if node not in maker:
                maker[node] = f"{prefix}r{len(maker)}"
                boxes.append(_Box(maker[node], leaf_name(node), READ))
            edges.append((maker[node], name, "x".join(map(str, node.shape))))
        # an operator of several results is read by its parts, so each of them leads to the step
        maker |= {part: name for n in step.nodes for part in (n, *n.parts)}
    for k, (result, out) in enumerate(zip(results, program.outputs, strict=False)):
        # a result may be a reshaped value, which is no step; constants, such as the gradient of a label, are not drawn
        made = next((node for node in (out, *(out.operands if isinstance(out, Application) else ())) if node in maker), None)
        if result and made is not None:
            boxes.append(_Box(f"{prefix}o{k}", result, RESULT))
            edges.append((maker[made], f"{prefix}o{k}", "x".join(map(str, out.shape))))
    return _Graph(title, boxes, edges)


def _text_of(step: Step) -> str:
    return "\n".join(n.bound_op.op.name for n in step.nodes)


def _read_by(step: Step) -> Iterator[Node]:
    """The distinct operands that a step reads from outside; constants are part of the step."""
    inside = set(step.nodes)
    return iter(dict.fromkeys(i for n in step.nodes for i in n.operands if i not in inside and not is_const(i)))


def leaf_name(node: Node) -> str:
    """The name of an input: that of an argument, or the kind and number of a saved or passed value."""
    name = node.name if isinstance(node, Leaf) else "value"
    if isinstance(name, tuple):
        kind, which = name
        return str(which) if kind in ("arg", "aux") else f"{kind} {which}"
    return str(name)


def _drawn(graph: _Graph) -> Svg:
    # inputs go to a graph's boxes after the step that reads them, and boxes are drawn below the earlier ones
    order = sorted(graph.boxes, key=lambda box: not box.is_read)
    place = {box.name: k for k, box in enumerate(order)}
    boxes = []
    for box in order:
        # one line for a kernel's operations: the whole list is shown under the mouse
        first, *others = box.label.split("\n")
        text = f"fused kernel of {1 + len(others)}" if others else "input" if box.is_read else "result" if box.is_value else "step"
        boxes.append(Box(" + ".join((first, *others)), text, box.color, box.is_value, box.label))
    return plot_layers(boxes, [Edge(place[tail], place[head], label) for tail, head, label in graph.edges])
