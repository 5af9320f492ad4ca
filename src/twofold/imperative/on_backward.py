"""Operators with an ``on_backward`` rule: new values for their auxiliary states, which backward computes and writes."""

from collections.abc import Sequence

from ..backend.kernel import Array, Namespace
from ..graph.ir import Node
from ..opdef import BoundOp, Input, Op
from .cell import Cell, Value, wrap
from .residuals import NodeCache


def hook_of(
    bound_op: BoundOp, node: Node, cache: NodeCache, args: Sequence[Cell], outs: Sequence[Value | None]
) -> tuple[BoundOp, list[Cell], list[Cell]]:
    """For `backward.run_hook`: the ``on_backward`` rule as an operator on results and inputs, its operands, and the cells to write."""
    if cache.hook is None:
        cache.hook = _on_backward(bound_op, node)
    op = bound_op.op
    results = [wrap(Cell, v) for v in outs]
    targets = [a for a, i in zip(args, op.inputs, strict=False) if i.auxiliary]
    return cache.hook, [*results, *args[: len(op.inputs)]], targets


def _on_backward(bound_op: BoundOp, node: Node) -> BoundOp:
    """A node's ``on_backward`` rule as an operator from its results and inputs to the new values of its auxiliary states."""
    op, count = bound_op.op, len(node.parts)
    tracked = tuple([i is not None and i.tracked for i in node.inputs])

    def rule(xp: Namespace, *arrays: Array) -> tuple[Array, ...]:
        new = op.new_states(xp, arrays[:count], arrays[count:], bound_op.params, tracked)
        return tuple(new[n] for n in op.auxiliary)

    return Op(f"{op.name}_on_backward", rule, inputs=(Input("arrays"),), variadic=True, outputs=len(op.auxiliary)).bind()
