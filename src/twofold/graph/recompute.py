"""Recomputation (checkpointing): which forward values to keep for backward, to save memory at the cost of time.

Of n values of similar size about √n are kept; backward recomputes the segments between them, each right before its use. Chen, Xu,
Zhang and Guestrin, "Training deep nets with sublinear memory cost", 2016.
"""

from collections.abc import Sequence
from math import isqrt

from ..ops.primitive_shape import slice
from .build import G, item
from .ir import Application, Node, applies

#: Values smaller than the largest by at least this factor are always kept.
SMALL = 16


def distinct_view(value: Node) -> Node:
    """The same value as a distinct node, a view of the whole, so that nodes computed from it are computed again."""
    return G.slice(value, key=_all_of(value)) if value.shape else value


def is_distinct_view(node: Node) -> bool:
    """Whether a node is such a view: passes that remove no-ops must keep it."""
    return applies(node, slice) and node.shape != () and node.bound_op.params["key"] == _all_of(node)


def _all_of(value: Node) -> tuple[tuple[int, int, int], ...]:
    return tuple((0, n, 1) for n in value.shape)


def checkpoints(values: Sequence[Node]) -> list[Node]:
    """The values to keep, out of those that backward reads, given in the order in which forward computes them.

    Results of user code are always kept: it may have side effects or be slow, so it runs once.
    """
    largest = max((n.nbytes for n in values), default=0)
    # small values cost little to keep, and recomputing one may need a whole segment
    large = [n for n in values if n.nbytes * SMALL > largest and not _is_of_user_code(n)]
    # √n segments of √n values: this minimizes the values kept plus the values that one segment recomputes
    stretch = isqrt(max(len(large) - 1, 0)) + 1
    dropped = set(large) - set(large[stretch - 1 :: stretch])  # keep the last value of each segment
    return [n for n in values if n not in dropped]


def _is_of_user_code(node: Node) -> bool:
    owner = node.operands[0] if applies(node, item) else node
    return isinstance(owner, Application) and owner.bound_op.op.execution.user_method != ""
