"""About how long programs take on one core: enough to say whether running one in another thread pays."""

from collections.abc import Iterable
from math import prod

from ..graph.build import item
from ..graph.fuse import Step
from ..graph.ir import Application
from ..ops.primitive_convolve import convolve, convolve_data, convolve_weight
from ..ops.primitive_reduce import matmul

#: Nanoseconds of a step, of an element that is computed or read, and of a multiplication and addition of a matrix product.
STEP, ELEMENT, PRODUCT = 1000.0, 0.3, 0.03


def nanoseconds_of(steps: Iterable[Step]) -> float:
    """About how long steps take."""
    return sum(STEP + sum(map(_of_node, step.nodes)) for step in steps)


def _of_node(node: Application) -> float:
    op = node.sig.op
    if op.view or op is item:
        return 0.0
    if op is matmul:
        return PRODUCT * node.size * node.operands[0].shape[-1]
    if op in (convolve, convolve_data, convolve_weight):
        first, second = node.operands
        result = node if op is convolve else first if op is convolve_data else second
        weight = node if op is convolve_weight else second
        return PRODUCT * result.size * weight.size / max(weight.shape[0], 1)
    return ELEMENT * max([prod(p.shape) for p in node.parts] + [i.size for i in node.operands])
