"""Groups of element-wise nodes that run as one kernel over one iteration space, and the order of all steps."""

from collections.abc import Sequence
from typing import NamedTuple

from .ir import Node, is_const, post_order, topological


class Step(NamedTuple):
    """One step of a program: a single node, or several element-wise nodes of one shape that become one kernel."""

    nodes: tuple[Node, ...]

    @property
    def is_kernel(self) -> bool:
        """Whether the step is a fused kernel."""
        return len(self.nodes) > 1


def _in_order(outputs: Sequence[Node]) -> list[Node]:
    """The nodes below outputs, inputs before users, so that few values wait: what is near the leaves first, of operands the far one.

    So a layer's weights get their gradients as soon as what they follow from is known, and a value that is computed again for
    backward is computed right before its use.
    """
    height: dict[Node, int] = {}
    for n in topological(outputs):
        height[n] = 1 + max((height[i] for i in n.inputs if i is not None), default=0)
    below = sorted(dict.fromkeys(outputs), key=height.__getitem__)
    return post_order(below, lambda n: sorted((i for i in n.inputs if i is not None), key=height.__getitem__, reverse=True))


def steps_of(outputs: Sequence[Node], big: int) -> list[Step]:
    """The primitives below outputs in an order of execution; runs of element-wise nodes of at least ``big`` elements are grouped.

    A node joins the open group if it has its shape. Others that read nothing of the open group may run before it; one that
    does closes it.
    """
    steps: list[Step] = []
    group: list[Node] = []

    def close() -> None:
        if group:
            steps.append(Step(tuple(group)))
            group.clear()

    members: set[Node] = set()
    for n in _in_order(outputs):
        if n.sig is None or is_const(n):
            continue
        if n.sig.op.elementwise and n.size >= big:
            if group and group[0].shape != n.shape:
                close()
                members.clear()
            group.append(n)
            members.add(n)
            continue
        if any(i in members for i in n.inputs):
            close()
            members.clear()
        steps.append(Step((n,)))
    close()
    return steps
