"""About how long programs take on one core: enough to say whether running one in another thread pays."""

from collections.abc import Iterable
from math import prod

from ..graph.fuse import Step
from ..graph.ir import Node

#: Nanoseconds of a step, of an element that is computed or read, and of a multiplication and addition of a matrix product.
STEP, ELEMENT, PRODUCT = 1000.0, 0.3, 0.03

CONVOLUTIONS = frozenset({"convolve", "convolve_data", "convolve_weight"})


def nanoseconds_of(steps: Iterable[Step]) -> float:
    """About how long steps take."""
    return sum(STEP + sum(map(_of_node, step.nodes)) for step in steps)


def _of_node(node: Node) -> float:
    assert node.sig is not None
    if node.sig.op.view or node.sig.op.name == "item":
        return 0.0
    if node.sig.op.name == "matmul" and node.inputs[0] is not None:
        return PRODUCT * node.size * node.inputs[0].shape[-1]
    if node.sig.op.name in CONVOLUTIONS:
        first, second = [i for i in node.inputs if i is not None]
        result, weight = {"convolve": (node, second), "convolve_data": (first, second), "convolve_weight": (second, node)}[node.sig.op.name]
        return PRODUCT * result.size * weight.size / max(weight.shape[0], 1)
    return ELEMENT * max([prod(p.shape) for p in node.parts] + [i.size for i in node.inputs if i is not None])
