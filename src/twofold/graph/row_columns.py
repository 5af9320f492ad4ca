"""Row reductions that keep their axis where their results are used as columns.

NumPy scripts write ``x - x.mean(1)[:, None]``: they reduce the last axis and reshape the result to have it again. A kernel over rows
holds a reduction's result as a column, one element per row. So this pass makes the reduction keep its axis, and computes the
operations between reduction and reshape on columns: the whole is then one kernel, as with ``keepdims=True``.
"""

from collections.abc import Sequence

from ..opdef import normalized_axes
from ..ops.primitive_shape import reshape
from .build import G, apply
from .ir import Application, Node, applies, topological
from .rewrite import simplified, simplified_by_rule


def keep_columns(outputs: Sequence[Node]) -> list[Node]:
    """Keep the last axis of such reductions, in a lowered and simplified graph; the same bits."""
    if not any(_is_column_of_rows(n) for n in topological(outputs)):
        return list(outputs)
    return simplified_by_rule(outputs, _rewritten)


def _is_column_of_rows(n: Node) -> bool:
    """Whether a node appends an axis that its operand may have lost in a reduction."""
    if not applies(n, reshape):
        return False
    (a,) = n.operands
    return isinstance(a, Application) and a.shape != () and n.shape == (*a.shape, 1)


def _rewritten(n: Application) -> Node:
    if n.bound_op.op.execution.row_reduction:
        (x,) = n.operands
        if n.shape and n.shape == x.shape[:-1] and normalized_axes(n.bound_op.params["axis"], len(x.shape)) == (len(x.shape) - 1,):
            return _reshaped(apply(n.bound_op.op.bind(axis=-1, keepdims=True), (x,)), n)
    elif n.bound_op.op.elementwise and n.shape:
        columns = list[Node]()
        for i in n.operands:
            column = i if i.shape == () else _column(i, n)
            if column is None:
                return n
            columns.append(column)
        return _reshaped(apply(n.bound_op, tuple(columns)), n)
    return n


def _reshaped(column: Node, like: Node) -> Node:
    return simplified(G.reshape(simplified(column), shape=like.shape))


def _column(i: Node, like: Node) -> Node | None:
    """The column that an operand of a node's shape was reshaped from; None if it was not."""
    source = i.operands[0] if applies(i, reshape) else None
    return source if source is not None and i.shape == like.shape and source.shape == (*like.shape, 1) else None
