"""Which values of forward to keep for backward where memory counts more than time; the others are computed again.

Of n values of like size about √n are kept, and backward computes the stretches between them again, each right before its use. Chen, Xu,
Zhang and Guestrin, Training deep nets with sublinear memory cost, 2016.
"""

from collections.abc import Sequence
from math import isqrt

from ..ops.primitive_shape import slice
from .build import G, item
from .ir import Application, Node, applies

#: A value smaller than the largest one by this factor is kept in any case.
SMALL = 16


def apart(value: Node) -> Node:
    """The same value as a node of its own (a view of all of it), so that what is computed of it is computed again."""
    return G.slice(value, key=_all_of(value)) if value.shape else value


def is_apart(node: Node) -> bool:
    """Whether a node is there to be another than its operand: passes that drop what changes nothing leave it."""
    return applies(node, slice) and node.shape != () and node.sig.params["key"] == _all_of(node)


def _all_of(value: Node) -> tuple[tuple[int, int, int], ...]:
    return tuple((0, n, 1) for n in value.shape)


def checkpoints(values: Sequence[Node]) -> list[Node]:
    """The values to keep of those that backward reads, which stand in the order in which forward computes them.

    What user code made is kept in any case: it may draw, count or take long, so it runs once.
    """
    largest = max((n.nbytes for n in values), default=0)
    large = [n for n in values if n.nbytes * SMALL > largest and not _is_of_user_code(n)]
    stretch = isqrt(max(len(large) - 1, 0)) + 1
    dropped = set(large) - set(large[stretch - 1 :: stretch])
    return [n for n in values if n not in dropped]


def _is_of_user_code(node: Node) -> bool:
    owner = node.operands[0] if applies(node, item) else node
    return isinstance(owner, Application) and owner.sig.op.user_method != ""
