"""What of a program is computed of random words: those numbers must be the same at every run, also in their last bits."""

from collections.abc import Sequence

from ..graph.fuse import Step
from ..graph.ir import Node
from ..ops.primitive_gather import random_bits
from ..ops.primitive_shape import contiguous


def drawn_nodes(steps: Sequence[Step]) -> frozenset[Node]:
    """Nodes computed of random words element by element; decisions (bools) and what sums or products make of them are not among them."""
    found: set[Node] = set()
    for step in steps:
        for n in step.nodes:
            op = n.sig.op
            is_made = (op.elementwise or op.view or op is contiguous) and n.dtype != "bool" and not found.isdisjoint(n.operands)
            if is_made or op is random_bits:
                found.add(n)
    return frozenset(found)
