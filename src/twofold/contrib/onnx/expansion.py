"""What reading a graph may make of a file: bodies of loops are read once an iteration, and definitions of operators once a node."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import FormatError

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, NodeProto

#: The most nodes of bodies and definitions that are read in all; each body counts as one more.
MOST_NODES = 1 << 16
#: The most bytes of such nodes, and of arrays that are computed while reading: these times the file's, plus the allowance.
EXPANSION, ALLOWANCE = 4, 1 << 27
#: Definitions within definitions.
MOST_LEVELS = 16
#: ONNX's own operators.
STANDARD = ("", "ai.onnx")

Functions = Mapping[tuple[str, str], "FunctionProto"]


class Expansion:
    """Counts what reading has made so far.

    Parameters
    ----------
    model
        The protocol buffer.

    Attributes
    ----------
    left
        Bytes of arrays that may still be computed.
    """

    def __init__(self, model: ModelProto) -> None:
        self.left = EXPANSION * model.ByteSize() + ALLOWANCE
        self._nodes, self._bytes = MOST_NODES, self.left

    def read(self, nodes: Sequence[NodeProto], place: str) -> None:
        """Count the nodes of a body or definition that is read once more.

        Raises
        ------
        FormatError
            If there are too many in all.
        """
        self._nodes -= 1 + len(nodes)
        self._bytes -= sum(node.ByteSize() for node in nodes)
        if self._nodes < 0:
            raise FormatError(f"{place}: loops and functions expand to too many nodes", f"more than {MOST_NODES}", "shorten the loops")
        if self._bytes < 0:
            raise FormatError(
                f"{place}: loops and functions expand to far more bytes than the file has", None, "make constants initializers"
            )


def check_functions(nodes: Sequence[NodeProto], functions: Functions, known: Container[str]) -> None:
    """Check how many nodes the calls of a model's functions expand to, before anything expands them.

    Parameters
    ----------
    nodes, functions
        The graph's nodes, and the functions by domain and name.
    known
        ONNX's own operators that are not expanded.

    Raises
    ------
    FormatError
        If they are too many, or the functions call one another too deeply or in a circle.
    """
    own = {key: function for key, function in functions.items() if key[0] not in STANDARD or key[1] not in known}
    if own and _expanded(nodes, own, {}, 0) > MOST_NODES:
        raise FormatError("onnx: the model's functions expand to too many nodes", f"more than {MOST_NODES}", "export it without functions")


def _expanded(nodes: Sequence[NodeProto], functions: Functions, done: dict[tuple[str, str], int], level: int) -> int:
    """The number of nodes after all calls of functions."""
    if level > MOST_LEVELS:
        raise FormatError(
            "onnx: the model's functions are nested too deeply", f"more than {MOST_LEVELS} levels", "export it without functions"
        )
    count = 0
    for node in nodes:
        key = (node.domain, node.op_type)
        if key in functions:
            if key not in done:
                done[key] = _expanded(functions[key].node, functions, done, level + 1)
            count += done[key]
        for attribute in node.attribute:
            for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                count += _expanded(graph.node, functions, done, level + 1)
        count += 1
    return count
