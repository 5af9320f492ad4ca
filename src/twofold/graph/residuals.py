"""Which values computed in forward are saved for backward: one decision for single operations and for whole graphs.

An operation that is recorded alone saves the operands, results and inner values that its own gradient reads, before later operations are
known (`imperative.residuals`). For a bound graph the whole backward is known, lowered and simplified, so less is saved: if neither gradient
reads a value between two operations, it is not saved (`executor.training`). Both ask this module.
"""

from collections.abc import Collection, Sequence

from .ir import Application, Node, topological
from .recompute import checkpoints


def values_inside(outputs: Sequence[Node], until: Collection[Node] = ()) -> list[Node]:
    """The results of all applications below outputs, used or not, in a fixed order. The walk stops at the nodes in ``until``."""
    return list(dict.fromkeys(p for n in topological(outputs, until) if isinstance(n, Application) for p in n.parts))


def may_be_saved(node: Node) -> bool:
    """Whether a value is worth saving. Views and constants are recomputed, which costs less than to keep them alive."""
    return isinstance(node, Application) and node.inputs != () and not node.bound_op.op.view


def residuals(
    computed: Sequence[Node],
    backward: Sequence[Node],
    given: Collection[Node] = (),
    *,
    again: Collection[Node] = (),
    recompute: bool = False,
) -> list[Node]:
    """The values to save: those that backward reads, in the order in which it meets them.

    Parameters
    ----------
    computed
        The values that forward computes, in order.
    backward
        The gradients.
    given
        Values that exist in any case, such as operands and results. Those that backward reads are returned too.
    again
        Values that backward computes again.
    recompute
        Whether backward computes most values again (see `graph.recompute`).
    """
    may = {n for n in computed if may_be_saved(n) and n not in again}
    found = _reached(backward, may.union(given))
    if recompute:
        # Only values that backward reads count towards √n. Then the walk starts again: backward now reads the operands of dropped values.
        read = may.intersection(found)
        found = _reached(backward, {*checkpoints([n for n in computed if n in read]), *given})
    return found


def _reached(outputs: Sequence[Node], ends: Collection[Node]) -> list[Node]:
    """The nodes of ``ends`` that outputs are computed from."""
    found = []
    seen: set[Node] = set()
    stack = list(outputs)[::-1]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in ends:
            found.append(node)
        else:
            stack.extend(i for i in reversed(node.inputs) if i is not None)
    return found
