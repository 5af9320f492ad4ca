"""Primitives that a target has no code for, replaced by their definitions in terms of others."""

from collections.abc import Sequence

from ..backend.kernel import ArrayType
from ..backend.protocol import Target
from ..graph.build import G
from ..graph.ir import Application, Node
from ..graph.rewrite import by_rule, lower


def replace_by_definitions(outputs: Sequence[Node], target: Target) -> list[Node]:
    """A lowered graph without the primitives that have a definition, but for those that the target computes (`Target.computes`)."""

    def replaced(n: Application) -> Node:
        op, params = n.bound_op.op, n.bound_op.params
        if op.execution.definition_rule is None or target.computes(op.name, params, [ArrayType(i.shape, i.dtype) for i in n.operands]):
            return n
        return lower([op.execution.definition_rule(G, *n.operands, **params)])[0]

    return by_rule(outputs, replaced)
