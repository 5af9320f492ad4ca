"""Symbols as MXNet's JSON (through `formats.symbol_json`) and as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import FormatError, MXNetError, ParameterError
from ..formats.symbol_json import dump_symbol, load_symbol
from ..formats.symbol_records import MXNET_VERSION, GraphRecord, NodeEntry, NodeRecord
from ..opdef.registry import NAMES
from .arguments import argument_inputs, argument_names
from .inference import declared_dtype, declared_shape
from .node import VARIABLE, Head, SymbolNode, topological
from .rebuild import without_casts

#: A damaged file must not ask for memory without bounds.
MOST_OUTPUTS = 65_536
VERSION = {"mxnet_version": ("int", MXNET_VERSION)}


def to_json(heads: Iterable[Head], remove_amp_cast: bool = True) -> str:
    """The JSON text of a graph."""
    kept = without_casts(heads) if remove_amp_cast else list(heads)
    # MXNet must know that results may have no axes
    is_numpy = any(node.op is not None and node.op.numpy for node in topological(kept))
    return dump_symbol(record_of(kept, {"is_np_shape": ("int", 1), **VERSION} if is_numpy else VERSION))


def record_of(heads: Sequence[Head], attrs: Mapping[str, tuple[str, object]]) -> GraphRecord:
    """A graph as plain records."""
    order = topological(heads)
    number = {node: k for k, node in enumerate(order)}
    versions = dict.fromkeys(order, 0)
    pointer = [0]
    nodes = []
    for node in order:
        nodes.append(_node_record(node, number, versions))
        pointer.append(pointer[-1] + node.count)
    return GraphRecord(
        nodes=tuple(nodes),
        arg_nodes=tuple(k for k, n in enumerate(order) if n.is_variable),
        heads=tuple((number[h.node], h.place, 0) for h in heads),
        attrs=attrs,
        node_row_ptr=tuple(pointer),
    )


def _node_record(node: SymbolNode, number: Mapping[SymbolNode, int], versions: dict[SymbolNode, int]) -> NodeRecord:
    """One node; an entry's version counts how often what it reads has been changed, this node's own change included."""
    entries: list[NodeEntry] = []
    for k, head in enumerate(node.inputs):
        if k in node.written:
            versions[head.node] += 1
        entries.append((number[head.node], head.place, versions[head.node]))
    extra = dict(node.extra)
    control = tuple(extra.pop("control_deps", ()))
    return NodeRecord(
        op=node.op_name,
        name=node.name,
        attrs=node.attrs,
        inputs=tuple(entries),
        control_deps=control,
        subgraphs=tuple(record_of(heads, {}) for heads in node.subgraphs),
        extra=extra,
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
    with _reading(node):
        return argument_names(op, {k: v for k, v in node.attrs.items() if k in op.params}, len(given))


def heads_of(graph: GraphRecord) -> list[Head]:
    """The outputs of a graph record.

    Raises
    ------
    FormatError
        If a node does not match its operator, or an entry refers to a missing output; the message names the node.
    """
    made: list[SymbolNode] = []
    for position, record in enumerate(graph.nodes):
        # a `GraphRecord` has checked that nodes read earlier ones only, so there are no cycles
        inputs = [_head(made, entry, record.name) for entry in record.inputs]
        extra = {**record.extra, **({"control_deps": record.control_deps} if record.control_deps else {})}
        subgraphs = tuple(tuple(heads_of(g)) for g in record.subgraphs)
        node = SymbolNode(record.op, record.name, record.attrs, inputs, subgraphs, extra, _outputs_of(graph, position))
        with _reading(record):
            _complete(node)
            _check(node)
        made.append(node)
    return [_head(made, entry, "the graph's outputs") for entry in graph.heads]


@contextmanager
def _reading(record: NodeRecord) -> Iterator[None]:
    """What is wrong with a node that a file describes is wrong with the file."""
    try:
        yield
    except FormatError:
        raise
    except MXNetError as error:
        what = error.what.removeprefix(f"{record.op}: ")
        raise FormatError(f"symbol: node {record.name!r} ({record.op}): {what}", error.given, error.todo) from error


def _check(node: SymbolNode) -> None:
    """Raise an error unless inference, binding and writing can read a node; its shapes are not looked at."""
    if node.is_variable:
        declared_shape(node)
        declared_dtype(node)
        return
    node.check()
    if node.count > MOST_OUTPUTS:
        raise ParameterError("more outputs than an operator can have", f"{node.count}", f"at most {MOST_OUTPUTS}")
    if node.op is not None and len(node.input_names) != len(node.inputs):
        names = ", ".join(node.input_names)
        raise ParameterError("more inputs than the operator has", f"{len(node.inputs)}", f"it reads {names or 'nothing'}")


def _head(made: Sequence[SymbolNode], entry: NodeEntry, reader: str) -> Head:
    node, index = made[entry[0]], entry[1]
    if index >= node.visible:
        raise FormatError(f"symbol: {reader} reads an output that is not there", f"output {index} of {node.name}", "it has fewer")
    return Head(node, index)


def _outputs_of(graph: GraphRecord, position: int) -> int:
    """How many outputs a node has, as far as the file shows: for operators that do not exist here."""
    if graph.node_row_ptr is not None:
        return max(1, graph.node_row_ptr[position + 1] - graph.node_row_ptr[position])
    entries = [*graph.heads, *(e for n in graph.nodes for e in n.inputs)]
    return max([1, *(index + 1 for node, index, _ in entries if node == position)])


def _complete(node: SymbolNode) -> None:
    """Variables for inputs that files from before 0.9 leave out: auxiliary states."""
    if node.op is None or node.op.variadic:
        return
    expected = [i.name for i in argument_inputs(node.op, {k: v for k, v in node.attrs.items() if k in node.op.params})]
    missing = expected[len(node.inputs) :]
    node.inputs = (*node.inputs, *(Head(SymbolNode(VARIABLE, f"{node.name}_{name}", {}), 0) for name in missing))


def to_text(heads: Sequence[Head]) -> str:
    """The graph as text, one paragraph per node."""
    lines = ["Symbol Outputs:", *(f"\toutput[{k}]={h.node.name}({h.place})" for k, h in enumerate(heads))]
    versions: dict[Any, int] = {}
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
