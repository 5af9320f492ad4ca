"""Invariants of lowered graphs, checked after each pass when the setting ``verify`` is on, as in the tests."""

from collections.abc import Callable, Sequence

from ..errors import InternalError
from .build import apply
from .ir import Application, Leaf, Node, topological

Invariant = Callable[[Node], bool]

#: Properties of every node of a lowered graph.
INVARIANTS: dict[str, Invariant] = {
    "is a leaf, a constant or a primitive": lambda n: not isinstance(n, Application) or n.is_primitive,
    "has a shape of known sizes": lambda n: all(isinstance(s, int) and s >= 0 for s in n.shape),
    "is the interned application of its inputs": lambda n: (
        # once a generation has been dropped, the interned application is another, equal node
        not isinstance(n, Application) or apply(n.bound_op, n.inputs) is n or apply(n.bound_op, n.inputs).shape == n.shape
    ),
    "names each part": lambda n: len(n.parts) == 1 or all(p.inputs == (n,) for p in n.parts),
}


def verify(outputs: Sequence[Node], leaves: Sequence[Node], after: str) -> None:
    """Check a lowered graph.

    Parameters
    ----------
    outputs, leaves
        The graph.
    after
        The pass that made it.

    Raises
    ------
    InternalError
        Naming the pass, the invariant and the node.
    """
    known = set(leaves)
    for node in topological(outputs):
        if isinstance(node, Leaf) and node not in known:
            raise InternalError(f"the pass {after!r}: a leaf is not among the program's inputs", repr(node), "report this")
        for text, holds in INVARIANTS.items():
            if not holds(node):
                raise InternalError(f"the pass {after!r}: not every node {text}", repr(node), "report this")
