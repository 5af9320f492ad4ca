"""Copies of graphs with changes: variables replaced, nodes bypassed. The originals do not change."""

from collections.abc import Callable, Iterable, Mapping

from ..ops.mixed_precision import amp_cast, amp_multicast
from .node import Head, SymbolNode, topological

#: Returns the replacements of a node's outputs for given (new) inputs; None for a copy of the node.
Change = Callable[[SymbolNode, tuple[Head, ...]], "Callable[[int], Head] | None"]


def rebuilt(heads: Iterable[Head], change: Change) -> list[Head]:
    """The graph with every node copied, or replaced by the result of ``change``."""
    heads = list(heads)
    new: dict[SymbolNode, Callable[[int], Head]] = {}
    for node in topological(heads):
        # every node is copied, even below no change: attributes of nodes can be set, and copies must not share them
        inputs = tuple(new[h.node](h.place) for h in node.inputs)
        new[node] = change(node, inputs) or _outputs_of(copied(node, inputs))
    return [new[h.node](h.place) for h in heads]


def copied(node: SymbolNode, inputs: tuple[Head, ...], name: str | None = None) -> SymbolNode:
    """The same node with other inputs, and another name if one is given."""
    return SymbolNode(node.op_name, name or node.name, node.attrs, inputs, node.subgraphs, node.extra, node.outputs)


def _outputs_of(node: SymbolNode) -> Callable[[int], Head]:
    return lambda index: Head(node, index)


def with_variables(heads: Iterable[Head], given: Mapping[str, Head], name: str | None = None) -> list[Head]:
    """A copy in which other outputs replace the variables of the given names.

    Parameters
    ----------
    heads
        The graph.
    given
        The replacements by variable name.
    name
        New name of the first output's node.
    """
    heads = list(heads)
    top = heads[0].node if heads and name else None

    def change(node: SymbolNode, inputs: tuple[Head, ...]) -> Callable[[int], Head] | None:
        if node.is_variable and node.name in given:
            return lambda index: given[node.name]
        return _outputs_of(copied(node, inputs, name)) if node is top else None

    return rebuilt(heads, change)


def without_casts(heads: Iterable[Head]) -> list[Head]:
    """A copy without the casts inserted by automatic mixed precision, except those that are outputs: these keep their dtypes."""
    heads = list(heads)
    ends = dict.fromkeys(h.node for h in heads if h.node.op_name in _CASTS)
    wanted = [*(h for node in ends for h in node.inputs), *(h for h in heads if h.node not in ends)]
    found = iter(rebuilt(wanted, lambda node, inputs: (lambda index: inputs[index]) if node.op_name in _CASTS else None))
    new = {node: copied(node, tuple(next(found) for _ in node.inputs)) for node in ends}
    return [Head(new[h.node], h.place) if h.node in new else next(found) for h in heads]


def has_casts(order: Iterable[SymbolNode]) -> bool:
    """Whether some nodes are casts inserted by automatic mixed precision."""
    return not _CASTS.isdisjoint([node.op_name for node in order])


_CASTS = {amp_cast.title, amp_multicast.title}
