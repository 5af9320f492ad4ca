"""Reductions of trailing axes as reductions of rows.

A kernel over rows computes a reduction that keeps the last axis together with what is reduced. ``((a - b) ** 2).sum()`` and
``abs(a - b).max(axis=1)`` keep no axis: this pass makes the reduced axes one, from the operands on, reduces it as such a kernel does, and
drops it afterwards. So the differences are never in memory, unless others read them.
"""

from collections.abc import Callable, Sequence

from ..opdef import normalized_axes
from .build import G, apply
from .fuse import is_row_reduction
from .ir import Application, Node, is_const, topological
from .planes import MergedAxes, computed_by_convolutions
from .rewrite import reapply, rebuild, simplified


def reduce_as_rows(outputs: Sequence[Node], fuses: Callable[[Application], bool], takes: Callable[[Application], bool]) -> list[Node]:
    """Reduce trailing axes of what is computed element by element as rows, in a lowered and simplified graph.

    Parameters
    ----------
    outputs
        The graph.
    fuses
        Whether an element-wise node, or a reduction, may be part of a kernel.
    takes
        Whether the backend computes a convolution together with a kernel that follows.
    """
    nodes = topological(outputs)
    reductions = {n.bound_op.op for n in nodes if isinstance(n, Application) and _trailing_axes(n) and not is_row_reduction(n)}
    if not reductions:
        return list(outputs)
    stored = _read_elsewhere(outputs, nodes) | computed_by_convolutions(outputs, takes)

    def visit(node: Application, inputs: tuple[Node | None, ...]) -> Node:
        new = simplified(reapply(node, inputs))
        if node in stored:
            stored.add(new)
        return _as_rows(new, fuses, stored) if isinstance(new, Application) else new

    return rebuild(outputs, visit, only=reductions)


def _read_elsewhere(outputs: Sequence[Node], nodes: Sequence[Node]) -> set[Node]:
    """The nodes to compute once and keep.

    They are read by other nodes than reductions of one number of trailing axes, or are part of what such nodes compute.
    """
    stored, count_of = set(outputs), dict[Node, int]()
    for n in reversed(nodes):
        if not isinstance(n, Application):
            continue
        count = _trailing_axes(n)
        if not count and (n in stored or not n.bound_op.op.elementwise):
            stored.update(n.operands)
            continue
        for i in n.operands:  # the reductions that it is computed for
            if count_of.setdefault(i, count or count_of[n]) != (count or count_of[n]):
                stored.add(i)
    return stored


def _trailing_axes(n: Application) -> int:
    """How many trailing axes a node reduces in a way that kernels over rows support; 0 if it does anything else."""
    if not n.bound_op.op.execution.row_reduction:
        return 0
    (x,) = n.operands
    rank = len(x.shape)
    axes = sorted(normalized_axes(n.bound_op.params["axis"], rank))
    return len(axes) if x.dtype in ("float32", "float64") and axes == [*range(rank - len(axes), rank)] else 0


def _as_rows(n: Application, fuses: Callable[[Application], bool], stored: set[Node]) -> Node:
    count = _trailing_axes(n)
    if not count or is_row_reduction(n):
        return n
    (x,) = n.operands
    is_computed = isinstance(x, Application) and not is_const(x) and x.bound_op.op.elementwise and fuses(x)
    if not (is_computed and fuses(n)):
        return n
    if count > 1:
        merged = MergedAxes(x.shape, len(x.shape) - count, stored)
        x = merged.of(x)
        if not merged.computes:
            return n
    row = simplified(apply(n.bound_op.op.bind(axis=-1, keepdims=True), (x,)))
    return simplified(G.reshape(row, shape=n.shape))
