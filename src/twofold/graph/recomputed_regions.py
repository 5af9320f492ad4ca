"""Parts of a graph that backward computes again: forward keeps what goes into them and comes out of them, and nothing in between."""

from collections.abc import Sequence
from dataclasses import dataclass

from .ir import Application, Node, topological
from .recompute import distinct_view
from .rewrite import reapply, rebuild


@dataclass(frozen=True)
class Region:
    """A part of a graph.

    Attributes
    ----------
    inputs
        The nodes that it reads from outside.
    outputs
        Its nodes that others read.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def inside(self) -> list[Application]:
        """Its applications. None if one runs code of the user's, which may have side effects, so that it runs once."""
        given = set(self.inputs)
        found = [n for n in topological(self.outputs, until=given) if isinstance(n, Application) and n not in given]
        return [] if any(n.bound_op.op.execution.user_method for n in found) else found


def with_copies(outputs: Sequence[Node], regions: Sequence[Region]) -> tuple[list[Node], dict[Node, Node]]:
    """A graph for backward, whose regions are nodes of their own, and the originals of what comes out of these.

    Gradients of these outputs compute the insides of the regions again, since forward has no such nodes. They read a region's outputs,
    which forward has, once these are replaced by their originals.
    """
    given: dict[Node, set[Node]] = {}
    for region in regions:
        for n in region.inside():
            given.setdefault(n, set()).update(region.inputs)
    ends = [o for region in regions for o in region.outputs]

    def visit(node: Application, inputs: tuple[Node | None, ...]) -> Node:
        outside = given.get(node, ())
        # views are distinct nodes of the same values
        pairs = zip(node.inputs, inputs, strict=True)
        return reapply(node, tuple([distinct_view(new) if new is not None and old in outside else new for old, new in pairs]))

    found = rebuild([*outputs, *ends], visit)
    return found[: len(outputs)], dict(zip(found[len(outputs) :], ends, strict=True))
