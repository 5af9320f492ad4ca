"""The plain records of a symbol graph, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import FormatError

__all__ = ["MXNET_VERSION", "Entry", "GraphRecord", "NodeRecord", "check_graph"]

MXNET_VERSION = 10901
"""The version whose layout is written: 1.9.1."""

OLDEST_VERSION = 800  # files did not name their version before 0.9

Entry = tuple[int, int, int]
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
        The outputs of earlier nodes that it reads. Files from before 0.9 leave out an operator's auxiliary states.
    control_deps
        Indices of nodes that must run before it.
    subgraphs
        Bodies of control-flow operators.
    extra
        What the file says under keys that MXNet does not know.
    """

    op: str
    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Entry, ...] = ()
    control_deps: tuple[int, ...] = ()
    subgraphs: tuple[GraphRecord, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph, in an order in which each node comes after its inputs.

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
        Running number of outputs before each node and in all; None if the file has none, or one that does not fit.
    extra
        What the file says under keys that MXNet does not know.
    """

    nodes: tuple[NodeRecord, ...]
    arg_nodes: tuple[int, ...]
    heads: tuple[Entry, ...]
    attrs: Mapping[str, tuple[str, object]] = field(default_factory=dict)
    node_row_ptr: tuple[int, ...] | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """Version of MXNet that wrote it, as major * 10000 + minor * 100 + patch."""
        kind, version = self.attrs.get("mxnet_version", ("int", OLDEST_VERSION))
        if kind != "int" or not isinstance(version, int):
            raise FormatError("symbol: mxnet_version must be an int", f"{kind} {version!r}")
        return version

    @property
    def has_numpy_shapes(self) -> bool:
        """Whether it was written under NumPy's shapes, in which a size of 0 is a size and not an unknown one."""
        return bool(self.attrs.get("is_np_shape", ("int", 0))[1])


def check_graph(graph: GraphRecord) -> None:
    """Check that every index of a graph points where it may: to an earlier node, and ``arg_nodes`` to variables.

    How many outputs a node has is for those to check who know the operators.

    Raises
    ------
    FormatError
        Naming the node and what is wrong with it.
    """
    for position, node in enumerate(graph.nodes):
        place = f"symbol: node {position} ({node.name!r})"
        if node.op == "null" and node.inputs:
            raise FormatError(f"{place} is a variable and has inputs", node.inputs)
        for index, output, _ in node.inputs:
            if index >= position:
                raise FormatError(f"{place} reads a node that does not come before it", f"node {index}, output {output}")
        if any(index >= position for index in node.control_deps):
            raise FormatError(f"{place} waits for a node that does not come before it", node.control_deps)
    for index in graph.arg_nodes:
        if index >= len(graph.nodes) or graph.nodes[index].op != "null":
            raise FormatError("symbol: arg_nodes names a node that is no variable", index)
    for index, output, _ in graph.heads:
        if index >= len(graph.nodes):
            raise FormatError("symbol: an output is of a node that is not there", f"node {index} of {len(graph.nodes)}, output {output}")
