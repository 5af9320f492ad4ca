"""Finds the values that a program computes from random words: their bits must be the same in every run."""

from collections.abc import Sequence

from ..graph.fuse import Step
from ..graph.ir import Node, applies
from ..ops.primitive_gather import random_bits


def drawn_nodes(steps: Sequence[Step]) -> frozenset[Node]:
    """Nodes computed from random words element by element; excluding comparisons (bools), and what reductions or products compute."""
    found: set[Node] = set()
    for step in steps:
        for n in step.nodes:
            op = n.bound_op.op
            by_element = op.elementwise or op.view or (op.algebra.moves and op.layout.packed)
            is_made = by_element and n.dtype != "bool" and not found.isdisjoint(n.operands)
            if is_made or applies(n, random_bits):
                found.add(n)
    return frozenset(found)
