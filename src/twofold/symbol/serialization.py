"""Symbols as MXNet's JSON (through `formats.symbol_json`) and as text."""

from collections.abc import Iterable, Mapping, Sequence

from ..errors import FormatError, MXNetError, ParameterError
from ..formats.symbol_json import dump_symbol, load_symbol
from ..formats.symbol_records import MXNET_VERSION, GraphRecord, NodeEntry, NodeRecord
from ..numpy_extension import SWITCHES
from ..opdef import NAMES, Op
from .arguments import argument_inputs, argument_names
from .inference import declared_dtype, declared_shape, sizes_in
from .node import VARIABLE, Head, SymbolNode, topological
from .rebuild import has_casts, without_casts

#: Limits the memory that a damaged file can request.
MOST_OUTPUTS = 65_536
VERSION = {"mxnet_version": ("int", MXNET_VERSION)}


def to_json(heads: Iterable[Head], remove_amp_cast: bool = True) -> str:
    """The JSON text of a graph."""
    heads = list(heads)
    order = topological(heads)
    if remove_amp_cast and has_casts(order):
        heads = without_casts(heads)
        order = topological(heads)
    # MXNet must know that results may have no axes, and which sizes are unknown
    is_numpy = SWITCHES.shape or True in [node.op is not None and node.op.numpy for node in order]
    return dump_symbol(_graph_record(heads, order, {"is_np_shape": ("int", 1), **VERSION} if is_numpy else VERSION))


def _graph_record(heads: Sequence[Head], order: Sequence[SymbolNode], attrs: Mapping[str, tuple[str, object]]) -> GraphRecord:
    """A graph as plain records, its nodes in topological order."""
    number = {node: k for k, node in enumerate(order)}
    # the version of an entry counts the writes to the array, including writes by the node that reads the entry
    versions = dict.fromkeys(order, 0)
    pointer = [0]
    nodes = []
    for node in order:
        entries: list[NodeEntry] = []
        written = node.written if node.inputs else ()
        for k, (source, place) in enumerate(node.inputs):
            if k in written:
                versions[source] += 1
            entries.append((number[source], place, versions[source]))
        control = tuple(node.extra.get("control_deps", ()))
        extra = {key: value for key, value in node.extra.items() if key != "control_deps"} if node.extra else {}
        subgraphs = tuple([_graph_record(inner, topological(inner), {}) for inner in node.subgraphs]) if node.subgraphs else ()
        nodes.append(NodeRecord(node.op_name, node.name, node.attrs, tuple(entries), control, subgraphs, extra))
        works = node.op is not None and node.op.symbolic.workspaces
        pointer.append(pointer[-1] + node.count + (node.workspaces if works else 0))
    return GraphRecord(
        nodes=tuple(nodes),
        arg_nodes=tuple([k for k, n in enumerate(order) if n.op_name == VARIABLE]),
        # MXNet writes version 0 for the outputs of the graph, whatever has been written.
        heads=tuple([(number[node], place, 0) for node, place in heads]),
        attrs=attrs,
        node_row_ptr=tuple(pointer),
    )


def from_json(text: str | bytes) -> list[Head]:
    """The outputs of a graph in JSON text.

    Raises
    ------
    FormatError
        If it is not a symbol.
    """
    return heads_of(load_symbol(text, input_names=_input_names))


def _input_names(node: NodeRecord, given: Sequence[str]) -> Sequence[str]:
    """The operator's names for a node's inputs, which old files do not have."""
    op = NAMES.get(node.op)
    if op is None:
        return [name.removeprefix(f"{node.name}_") for name in given]
    try:
        return argument_names(op, {k: v for k, v in node.attrs.items() if k in op.params}, len(given))
    except MXNetError as error:
        raise _fault(node, error) from error


def heads_of(graph: GraphRecord) -> list[Head]:
    """The outputs of a graph record.

    Raises
    ------
    FormatError
        If a node does not match its operator, or an entry refers to a missing output; the message names the node.
    """
    made: list[SymbolNode] = []
    for position, record in enumerate(graph.nodes):
        try:
            made.append(_node(graph, position, made))
        except FormatError:
            raise
        except MXNetError as error:
            raise _fault(record, error) from error
    return [_head(made, entry, "the graph's outputs") for entry in graph.heads]


def _node(graph: GraphRecord, position: int, made: Sequence[SymbolNode]) -> SymbolNode:
    """A node of a graph record after those in ``made``, checked so that inference, binding and writing can read it."""
    record = graph.nodes[position]
    # a `GraphRecord` has checked that nodes read earlier ones only, so there are no cycles
    inputs = [_head(made, entry, record.name) for entry in record.inputs] if record.inputs else ()
    extra = {**record.extra, "control_deps": record.control_deps} if record.control_deps else record.extra
    subgraphs = tuple([tuple(heads_of(g)) for g in record.subgraphs]) if record.subgraphs else ()
    outputs = 1 if record.op == VARIABLE or record.op in NAMES else _outputs_of(graph, position)
    attrs = _in_numpy_shapes(record) if SWITCHES.shape and graph.attrs and not graph.has_numpy_shapes else record.attrs
    node = SymbolNode(record.op, record.name, attrs, inputs, subgraphs, extra, outputs)
    if record.op == VARIABLE:
        declared_shape(node)
        declared_dtype(node)
        return node
    if node.op is not None:
        _match_inputs(node, node.op)
    node.check()
    if node.count > MOST_OUTPUTS:
        raise ParameterError("more outputs than an operator can have", f"{node.count}", f"at most {MOST_OUTPUTS}")
    return node


def _in_numpy_shapes(record: NodeRecord) -> Mapping[str, str]:
    """The attributes of a node in which the unknown sizes of its shape, 0 in the file, are -1, as 0 is a size now; in MXNet's spelling."""
    text = record.attrs.get("__shape__")
    if text is None:
        return record.attrs
    sizes = sizes_in(text, record.name)
    return {**record.attrs, "__shape__": f"[{','.join(str(n or -1) for n in sizes)}]" if sizes else "None"}


def _fault(record: NodeRecord, error: MXNetError) -> FormatError:
    """The `FormatError` of a file in which reading this node raised ``error``."""
    what = error.what.removeprefix(f"{record.op}: ")
    return FormatError(f"symbol: node {record.name!r} ({record.op}): {what}", error.given, error.todo)


def _match_inputs(node: SymbolNode, op: Op) -> None:
    """Check the number of inputs, and add variables for those that files from before 0.9 leave out: auxiliary states."""
    expected = argument_inputs(op, node.attrs)
    missing = () if op.variadic else expected[len(node.inputs) :]
    node.inputs = (*node.inputs, *[Head(SymbolNode(VARIABLE, f"{node.name}_{i.name}", {}), 0) for i in missing])
    if len(node.inputs) > len(expected) and len(node.input_names) != len(node.inputs):
        names = ", ".join(node.input_names)
        raise ParameterError("more inputs than the operator has", f"{len(node.inputs)}", f"it reads {names or 'nothing'}")


def _head(made: Sequence[SymbolNode], entry: NodeEntry, reader: str) -> Head:
    node, index = made[entry[0]], entry[1]
    if index >= node.visible:
        raise FormatError(f"symbol: {reader} reads an output that is not there", f"output {index} of {node.name}", "it has fewer")
    return Head(node, index)


def _outputs_of(graph: GraphRecord, position: int) -> int:
    """The number of outputs of a node with an operator that is unknown here, as far as the file shows it."""
    if graph.node_row_ptr is not None:
        return max(1, graph.node_row_ptr[position + 1] - graph.node_row_ptr[position])
    entries = [*graph.heads, *(e for n in graph.nodes for e in n.inputs)]
    return max([1, *(index + 1 for node, index, _ in entries if node == position)])


def to_text(heads: Sequence[Head]) -> str:
    """The graph as text, one paragraph per node."""
    lines = ["Symbol Outputs:", *(f"\toutput[{k}]={h.node.name}({h.place})" for k, h in enumerate(heads))]
    if len(heads) == 1 and heads[0].node.is_variable:
        lines = []
    versions: dict[SymbolNode, int] = {}
    for node in topological(heads):
        if node.is_variable:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.op_name}, Name={node.name}", "Inputs:"]
        for k, head in enumerate(node.inputs):
            versions[head.node] = versions.get(head.node, 0) + (k in node.written)
            version = f" version={versions[head.node]}" if head.node.is_variable else ""
            lines.append(f"\targ[{k}]={head.node.name}({head.place}){version}")
        if node.attrs:
            lines += ["Attrs:", *(f"\t{key}={node.attrs[key]}" for key in sorted(node.attrs))]
    return "\n".join(lines) + "\n"
