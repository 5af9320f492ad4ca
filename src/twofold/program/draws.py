"""What of a program is computed of random words: those numbers must be the same at every run, also in their last bits."""

from collections.abc import Sequence

from ..graph.fuse import Step
from ..graph.ir import Node


def drawn_nodes(steps: Sequence[Step]) -> frozenset[Node]:
    """Nodes computed of random words element by element; decisions (bools) and what sums or products make of them are not among them."""
    found: set[Node] = set()
    for step in steps:
        for n in step.nodes:
            assert n.sig is not None
            op = n.sig.op
            is_made = (op.elementwise or op.view or op.name == "contiguous") and n.dtype != "bool" and not found.isdisjoint(n.inputs)
            if is_made or op.name == "random_bits":
                found.add(n)
    return frozenset(found)
