"""Networks in MXNet's symbol JSON: operators, layers with their parameters, and the graph."""

import re
from collections import Counter
from collections.abc import Mapping
from math import prod

from ...errors import FileAccessError, FormatError, MXNetError
from ...formats.files import folder_entries
from ...formats.params import read_shapes
from ...formats.reader import FileReader
from ...formats.symbol_json import load_symbol
from ...formats.symbol_records import GraphRecord, NodeRecord
from ...opdef.registry import NAMES
from ...symbol.inference import Inference, inside_shape
from ...symbol.node import SPECIAL_NODES
from ...symbol.partial_types import PartialShape, shape_text
from ...symbol.serialization import from_json
from ...visualization.layered import Box, Edge
from ...visualization.network import COLORS, DATA, OTHER, WEIGHTS
from .content import Content, Fact, Network, Selection, Table
from .inspected_file import InspectedFile, opened

#: Larger graphs are not drawn.
MOST_BOXES = 1500
SYMBOL = re.compile(r"(.*)-symbol\.json")
Shapes = Mapping[str, PartialShape]


def read_symbol(source: InspectedFile, content: Content, selection: Selection) -> None:
    """The graph of a symbol, with the shapes that are known or given."""
    text = source.read(0, source.size)
    graph = load_symbol(text)
    content.facts["MXNet version"] = _version(graph)
    content.facts["nodes"] = len(graph.nodes)
    trained = _shapes_beside(source.path, content)
    shapes = _inferred(text, {**trained, **selection.shapes}, content)
    # parameters are part of their operator's row and box, as in `plot_network`
    hidden = {k for k, node in enumerate(graph.nodes) if node.op == "null" and (node.name in trained or node.name.endswith(WEIGHTS))}
    inputs = [node for k, node in enumerate(graph.nodes) if node.op == "null" and k not in hidden]
    content.tables.append(Table("Inputs", ("name", "shape"), [(node.name, shape_text(shapes.get(node.name))) for node in inputs]))
    outputs = [
        (graph.nodes[node].name, output, shape_text(shapes.get(f"{graph.nodes[node].name} {output}"))) for node, output, _ in graph.heads
    ]
    content.tables.append(Table("Outputs", ("node", "output", "shape"), outputs))
    content.tables.append(_operators(graph))
    counts = _parameters(graph, hidden, shapes)
    if hidden and all(count is not None for count in counts.values()):
        # by name, because layers may share a parameter, which the table of layers counts at each of them
        unique = {graph.nodes[k].name: prod(_sizes(shapes.get(graph.nodes[k].name)) or (0,)) for k in hidden}
        content.facts["parameters"] = sum(unique.values())
    content.tables.append(_layers(graph, hidden, shapes, counts))
    content.network = _drawing(graph, hidden, shapes, counts)


def _version(graph: GraphRecord) -> str:
    if "mxnet_version" not in graph.attrs:
        return "not stated: before 0.9"
    number = graph.version
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _shapes_beside(path: str, content: Content) -> dict[str, PartialShape]:
    """Shapes of the parameters in the newest file of the same checkpoint. Only the file's headers are read."""
    folder, slash, own = path.rpartition("/")
    name = SYMBOL.fullmatch(own)
    if name is None:
        return {}
    numbered = re.compile(re.escape(name[1]) + r"-(\d+)\.params")
    found = [(int(match[1]), file) for file in folder_entries(folder + slash or ".") if (match := numbered.fullmatch(file))]
    if not found:
        return {}
    file = max(found)[1]
    try:
        with opened(folder + slash + file) as source:
            shapes = read_shapes(FileReader(source.file))
    except (FormatError, FileAccessError):
        content.facts["sizes of parameters"] = f"{file} beside it is damaged"
        return {}
    content.facts["sizes of parameters"] = f"from {file} beside it"
    # without the "arg:" and "aux:" of a checkpoint
    return {name.partition(":")[2] or name: shape for name, shape in shapes.items()}


def _inferred(text: bytes, shapes: Shapes, content: Content) -> dict[str, PartialShape]:
    """Shapes of variables by name, and of outputs of operators by name and number, as far as they can be inferred."""
    try:
        heads = from_json(text)
        known = {node.name for node in Inference(heads, {}, {}).order if node.is_variable}
        # names that the network lacks are left out: a file of parameters may have more
        given = {name: inside_shape(shape) for name, shape in shapes.items() if name in known and shape is not None}
        found = Inference(heads, given, {}).run()
    except MXNetError as error:
        content.facts["shapes"] = f"not inferred: {error}"
        return dict(shapes)
    if not found.is_complete():
        content.facts["shapes"] = "not all known: pass --shape NAME=N,N,… for the inputs"
    variables = {node.name: found.known[node][0].shape for node in found.order if node.is_variable}
    outputs = {f"{node.name} {k}": part.shape for node in found.order if not node.is_variable for k, part in enumerate(found.known[node])}
    return variables | outputs


def _operators(graph: GraphRecord) -> Table:
    counts = Counter(node.op for node in graph.nodes if node.op != "null")
    rows = [(name, count, "yes" if _is_known(name) else "no") for name, count in counts.most_common()]
    return Table("Operators", ("operator", "nodes", "known to Twofold"), rows)


def _is_known(name: str) -> bool:
    return name in NAMES or name in SPECIAL_NODES


def _parameters(graph: GraphRecord, hidden: set[int], shapes: Shapes) -> dict[int, int | None]:
    """The number of each operator's parameters, including parameters that operators share; None if a shape is unknown."""
    found: dict[int, int | None] = {}
    for k, node in enumerate(graph.nodes):
        own = [_sizes(shapes.get(graph.nodes[i].name)) for i in dict.fromkeys(i for i, _, _ in node.inputs) if i in hidden]
        if own:
            found[k] = None if None in own else sum(prod(sizes or ()) for sizes in own)
    return found


def _layers(graph: GraphRecord, hidden: set[int], shapes: Shapes, counts: Mapping[int, int | None]) -> Table:
    rows: list[tuple[Fact, ...]] = []
    for k, node in enumerate(graph.nodes):
        if node.op == "null":
            continue
        before = dict.fromkeys(graph.nodes[i].name for i, _, _ in node.inputs if i not in hidden)
        count = "?" if k in counts and counts[k] is None else counts.get(k, 0)
        rows.append((node.name, node.op, shape_text(shapes.get(f"{node.name} 0")), count, ", ".join(before)))
    return Table("Layers", ("name", "operator", "output", "parameters", "reads"), rows)


def _drawing(graph: GraphRecord, hidden: set[int], shapes: Shapes, counts: Mapping[int, int | None]) -> Network | None:
    shown = [k for k in range(len(graph.nodes)) if k not in hidden]
    if len(shown) > MOST_BOXES:
        return None
    place = {k: position for position, k in enumerate(shown)}
    boxes = [_box(graph.nodes[k], counts.get(k)) for k in shown]
    edges: list[Edge] = []
    told: set[tuple[int, int]] = set()  # outputs whose shape stands beside an edge
    for k in shown:
        for i, output, _ in graph.nodes[k].inputs:
            if i not in hidden:
                source = graph.nodes[i]
                shape = shapes.get(source.name if source.op == "null" else f"{source.name} {output}")
                edges.append(Edge(place[i], place[k], "" if (i, output) in told else _size_text(shape)))
                told.add((i, output))
    return Network(boxes, edges)


def _box(node: NodeRecord, count: int | None) -> Box:
    attributes = "\n".join(f"{name}={value}" for name, value in node.attrs.items())
    detail = f"{node.name}\n{attributes}"
    if node.op == "null":
        return Box(node.name, "input", DATA, True, detail)
    return Box(node.name, f"{node.op} {count:,}" if count else node.op, operator_color(node.op), detail=detail)


def operator_color(name: str) -> str:
    """The color of an operator's box by the kind of layer that it is."""
    return COLORS.get(NAMES[name].symbolic.drawn_as, OTHER) if name in NAMES else OTHER


def _sizes(shape: PartialShape) -> tuple[int, ...] | None:
    return None if shape is None or None in shape else tuple(n for n in shape if n is not None)


def _size_text(shape: PartialShape) -> str:
    """A shape as ``1x3x224x224``, with question marks for unknown sizes; empty if nothing is known."""
    return "" if shape is None else "x".join("?" if n is None else str(n) for n in shape)
