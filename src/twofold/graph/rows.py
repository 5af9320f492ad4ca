"""Gathers and scatters of one element per row.

The sum of a row of zeros into which one element was scattered is that element. A gather from an element-wise result is computed
from the gathered operands: a loss that reads one element per row of a log-softmax never materialises the rows.

Where kernels over rows can hold whole rows, gathers and scatters become comparisons with the index, so that cross-entropy and its
gradient fuse into one kernel. A gather is the maximum of the row with all other elements set to minus infinity; a scatter into zeros
is a ``where``. Both give the same bits. A gather is rewritten only where the program computes the row from reductions over it:
otherwise it would read a whole row for one element.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

from ..dtype import FLOATS
from ..opdef import normalized_axes
from ..ops.primitive_gather import index_add, take_along_axis
from ..ops.primitive_math import negative
from ..ops.primitive_reduce import sum
from ..ops.primitive_shape import full, iota, reshape
from .build import G, apply
from .ir import Application, Node, applies, is_const, unshaped
from .rewrite import by_rule, simplified, simplified_by_rule

#: How many operators deep a gather moves.
DEEP = 8


def take_scattered_sums(outputs: Sequence[Node]) -> list[Node]:
    """Replace sums of rows into which ``index_add`` scattered one element by that element, in a lowered and simplified graph."""
    return simplified_by_rule(outputs, _take_scattered, {sum})


def _take_scattered(n: Application) -> Node:
    x = n.operands[0]
    if n.dtype != x.dtype or normalized_axes(n.bound_op.params["axis"], len(x.shape)) != (len(x.shape) - 1,):
        return n
    value = _scattered(x)
    return n if value is None else simplified(G.reshape(value, shape=n.shape))


def narrow_gathers(outputs: Sequence[Node], big: Callable[[Application], bool]) -> list[Node]:
    """Gather one element per row before element-wise operations instead of after, if those are big, in a lowered and simplified graph."""
    return by_rule(outputs, partial(_narrow_gather, big=big), {take_along_axis})


def _narrow_gather(n: Application, big: Callable[[Application], bool]) -> Node:
    if not _is_of_rows(n):
        return n
    x, place = n.operands
    return _element(x, place, DEEP) if isinstance(x, Application) and x.bound_op.op.elementwise and big(x) else n


def _element(x: Node, place: Node, deep: int) -> Node:
    """One element of each row, computed from gathered operands if all of them are rows, one element per row, or scalars."""
    if x.shape in ((), place.shape):
        return x
    if not isinstance(x, Application) or not x.bound_op.op.elementwise or not deep:
        return G.take_along_axis(x, place, axis=-1)
    if any(i.shape not in ((), x.shape, place.shape) for i in x.operands):
        return G.take_along_axis(x, place, axis=-1)
    return apply(x.bound_op, tuple(_element(i, place, deep - 1) for i in x.operands))


def _is_of_rows(n: Application) -> bool:
    """Whether a gather takes one element per row."""
    x, place = n.operands
    return n.bound_op.params["axis"] in (-1, len(x.shape) - 1) and place.shape == _row_of(x) and x.shape[-1] > 1


def compare_places(outputs: Sequence[Node]) -> list[Node]:
    """Express gathers and scatters of one element per row by comparisons, in a lowered and simplified graph."""
    return by_rule(outputs, _rewritten, {take_along_axis, index_add})


def _rewritten(n: Application) -> Node:
    found = _gather(n) if applies(n, take_along_axis) else _scatter(n)
    return n if found is None else found


def _row_of(n: Node) -> tuple[int, ...]:
    """The shape of one element for each row."""
    return (*n.shape[:-1], 1)


def _gather(n: Application) -> Node | None:
    x, place = n.operands
    if not _is_of_rows(n) or x.dtype not in ("float32", "float64") or not isinstance(x, Application) or not x.bound_op.op.elementwise:
        return None
    # without an operand per row nothing was reduced over it: reading one element is cheaper than reading the row
    if not any(i.shape == _row_of(x) for i in x.operands):
        return None
    return G.max(G.where(_is_at(place, x.shape[-1]), x, -math.inf), axis=-1, keepdims=True)


def _scatter(n: Application) -> Node | None:
    value = _scattered(n)
    if value is None:
        return None
    chosen = value.bound_op.params["value"] if applies(value, full) else value
    return G.where(_is_at(n.operands[-1], n.shape[-1]), chosen, G.full(shape=n.shape, value=0.0, dtype=n.dtype))


def _scattered(n: Node) -> Node | None:
    """The values that a node scatters into rows of zeros, shape (…, 1), with 0.0 for -0.0 as in the sum; None if it is no scatter."""
    if not applies(n, index_add):
        return None
    zeros, value, *places = n.operands
    row = _row_of(n)
    if not is_const(zeros, 0) or not n.shape or n.bound_op.params["key"] != tuple(range(len(n.shape))):
        return None
    if value.shape != row or value.dtype != n.dtype or n.dtype not in FLOATS or places[-1].shape != row:
        return None
    if not all(_counts(place, k, n.shape) for k, place in enumerate(places[:-1])):
        return None
    known = _number(value)  # adding 0.0 turns -0.0 into 0.0, as adding the zeros of the row does
    return value + 0.0 if known is None else G.full(shape=row, value=known + 0.0, dtype=n.dtype)


def _number(n: Node) -> float | None:
    """The value of a constant array; None for other nodes."""
    if applies(n, negative):
        inner = _number(n.operands[0])
        return None if inner is None else -inner
    return float(n.bound_op.params["value"]) if applies(n, full) else None


def _counts(place: Node, axis: int, shape: tuple[int, ...]) -> bool:
    """Whether an index array counts 0, 1, … along an axis."""
    return place.shape == tuple(n if k == axis else 1 for k, n in enumerate(shape)) and applies(unshaped(place), iota)


def _is_at(place: Node, size: int) -> Node:
    return G.equal(G.iota(size=size, dtype=place.dtype), _by_rows(place))


def _by_rows(place: Node) -> Node:
    """Indices computed with a trailing axis of 1 instead of reshaped to have it, so that they fuse into kernels over rows."""
    if not applies(place, reshape):
        return place
    (inner,) = place.operands
    if inner.shape != place.shape[:-1] or not isinstance(inner, Application) or not inner.bound_op.op.elementwise:
        return place
    if any(i.shape not in ((), inner.shape) for i in inner.operands):
        return place
    moved = [i if i.shape == () else _by_rows(G.reshape(i, shape=place.shape)) for i in inner.operands]
    return apply(inner.bound_op, tuple(moved))
