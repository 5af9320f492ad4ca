"""Estimates of running time on one core, good enough to decide whether to run a program in another thread."""

from collections.abc import Iterable
from math import prod

from ..graph.build import item
from ..graph.fuse import Step
from ..graph.ir import Application

#: Only the order of magnitude matters: it is compared with the time of a hand-over to another thread.
#: Nanoseconds per step, per element read or computed, and per multiply-add of a product or convolution.
STEP, ELEMENT, PRODUCT = 1000.0, 0.3, 0.03


def nanoseconds_of(steps: Iterable[Step]) -> float:
    """The estimated running time of steps."""
    return sum(STEP + sum(map(_of_node, step.nodes)) for step in steps)


def _of_node(node: Application) -> float:
    op = node.bound_op.op
    if op.view or op is item:
        return 0.0
    if op.execution.cost_rule is not None:
        return PRODUCT * op.execution.cost_rule(node, *node.operands)
    return ELEMENT * max([prod(p.shape) for p in node.parts] + [i.size for i in node.operands])
