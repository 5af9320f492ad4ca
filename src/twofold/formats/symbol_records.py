"""The plain records of a symbol graph, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import FormatError

MXNET_VERSION = 10901
"""The version whose format is written: 1.9.1."""

OLDEST_VERSION = 800  # files before 0.9 do not state their version

NodeEntry = tuple[int, int, int]
"""One output of a node: (node index, output index, version)."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node of a graph.

    Parameters
    ----------
    op
        Name of the operator, ``"null"`` for a variable.
    name
        Name of the node.
    attrs
        The operator's parameters and the node's attributes, all strings.
    inputs
        The outputs of earlier nodes that it reads. Files from before 0.9 omit an operator's auxiliary states.
    control_deps
        Indices of nodes that must run before it.
    subgraphs
        Bodies of control-flow operators.
    extra
        Fields of the file that MXNet does not know.
    """

    op: str
    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[NodeEntry, ...] = ()
    control_deps: tuple[int, ...] = ()
    subgraphs: tuple[GraphRecord, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph in topological order.

    Parameters
    ----------
    nodes
        The nodes.
    arg_nodes
        Indices of the variables.
    heads
        The graph's outputs.
    attrs
        Attributes of the graph as (type name, value), such as ``{"mxnet_version": ("int", 10901)}``.
    node_row_ptr
        Cumulative number of outputs before each node, and the total; None if the file has none or an invalid one.
    extra
        Fields of the file that MXNet does not know.
    """

    nodes: tuple[NodeRecord, ...]
    arg_nodes: tuple[int, ...]
    heads: tuple[NodeEntry, ...]
    attrs: Mapping[str, tuple[str, object]] = field(default_factory=dict)
    node_row_ptr: tuple[int, ...] | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The version of MXNet that wrote it: major * 10000 + minor * 100 + patch."""
        kind, version = self.attrs.get("mxnet_version", ("int", OLDEST_VERSION))
        if kind != "int" or not isinstance(version, int):
            raise FormatError("symbol: mxnet_version must be an int", f"{kind} {version!r}")
        return version

    @property
    def has_numpy_shapes(self) -> bool:
        """Whether it was written under NumPy shape semantics, in which a size of 0 is known."""
        return bool(self.attrs.get("is_np_shape", ("int", 0))[1])


def check_graph(graph: GraphRecord) -> None:
    """Check that all indices are valid: inputs refer to earlier nodes, and ``arg_nodes`` to variables.

    Numbers of outputs are checked by callers, which know the operators.

    Raises
    ------
    FormatError
        If an index is invalid; the message names the node and the fault.
    """
    for position, node in enumerate(graph.nodes):
        place = f"symbol: node {position} ({node.name!r})"
        if node.op == "null" and node.inputs:
            raise FormatError(f"{place} is a variable and has inputs", node.inputs)
        for index, output, _ in node.inputs:
            if index >= position:
                raise FormatError(f"{place} reads a node that does not come before it", f"node {index}, output {output}")
        if node.control_deps and max(node.control_deps) >= position:
            raise FormatError(f"{place} waits for a node that does not come before it", node.control_deps)
    for index in graph.arg_nodes:
        if index >= len(graph.nodes) or graph.nodes[index].op != "null":
            raise FormatError("symbol: arg_nodes refers to a node that is not a variable", index)
    for index, output, _ in graph.heads:
        if index >= len(graph.nodes):
            raise FormatError("symbol: an output refers to a missing node", f"node {index} of {len(graph.nodes)}, output {output}")
