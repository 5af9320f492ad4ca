"""Places within rows found by comparing, where that lets the step join a kernel over rows: cross-entropy and its gradient are one.

A gather of one element of each row is the largest element of the row with all others at minus infinity, and a scatter of one element
into each row of zeros is a choice at each place. Both give the same bits. A gather is rewritten only where the row is computed
by the program out of reductions over it: else it would read all of the row for one element.
"""

import math
from collections.abc import Sequence

from ..dtype import FLOATS
from .build import G, apply
from .ir import Node, is_const
from .rewrite import rebuild


def compared(outputs: Sequence[Node]) -> list[Node]:
    """A lowered and simplified graph with such gathers and scatters rewritten."""
    return rebuild(outputs, lambda n, inputs: _rewritten(apply(n.sig, inputs)))  # type: ignore[arg-type]


def _rewritten(n: Node) -> Node:
    rule = {"take_along_axis": _gather, "index_add": _scatter}.get(n.sig.op.name)  # type: ignore[union-attr]
    found = rule(n) if rule is not None else None
    return n if found is None else found


def _row_of(n: Node) -> tuple[int, ...]:
    """The shape of one element for each row."""
    return (*n.shape[:-1], 1)


def _gather(n: Node) -> Node | None:
    x, place = n.inputs
    assert n.sig is not None
    assert x is not None
    assert place is not None
    is_last = n.sig.params["axis"] in (-1, len(x.shape) - 1) and place.shape == _row_of(x) and x.shape[-1] > 1
    if not is_last or x.dtype not in ("float32", "float64") or x.sig is None or not x.sig.op.elementwise or is_const(x):
        return None
    if not any(i is not None and i.shape == _row_of(x) for i in x.inputs):
        return None
    return G.max(G.where(_is_at(place, x.shape[-1]), x, -math.inf), axis=-1, keepdims=True)


def _scatter(n: Node) -> Node | None:
    zeros, value, *places = n.inputs
    assert n.sig is not None
    assert zeros is not None
    assert value is not None
    row = _row_of(n)
    if not is_const(zeros, 0) or not n.shape or n.sig.params["key"] != tuple(range(len(n.shape))):
        return None
    if value.shape != row or value.dtype != n.dtype or n.dtype not in FLOATS or places[-1] is None or places[-1].shape != row:
        return None
    if not all(_counts(place, k, n.shape) for k, place in enumerate(places[:-1])):
        return None
    known = _number(value)
    chosen = value + 0.0 if known is None else known + 0.0  # makes 0.0 of -0.0, as the scatter does
    return G.where(_is_at(places[-1], n.shape[-1]), chosen, G.full(shape=n.shape, value=0.0, dtype=n.dtype))


def _number(n: Node) -> float | None:
    """The number of which an array is full; None if it is none."""
    if n.sig is not None and n.sig.op.name == "negative" and n.inputs[0] is not None:
        inner = _number(n.inputs[0])
        return None if inner is None else -inner
    return float(n.sig.params["value"]) if n.sig is not None and is_const(n) else None


def _counts(place: Node | None, axis: int, shape: tuple[int, ...]) -> bool:
    """Whether an index array is the place along an axis itself."""
    if place is None or place.shape != tuple(n if k == axis else 1 for k, n in enumerate(shape)):
        return False
    while place is not None and place.sig is not None and place.sig.op.name == "reshape":
        place = place.inputs[0]
    return place is not None and place.sig is not None and place.sig.op.name == "iota"


def _is_at(place: Node, size: int) -> Node:
    return G.equal(G.iota(size=size, dtype=place.dtype), _by_rows(place))


def _by_rows(place: Node) -> Node:
    """Places computed with a last axis of one, where they are computed without and reshaped after: so rows' kernels take them in."""
    if place.sig is None or place.sig.op.name != "reshape":
        return place
    (inner,) = place.inputs
    assert inner is not None
    if inner.shape != place.shape[:-1] or inner.sig is None or not inner.sig.op.elementwise or is_const(inner):
        return place
    if any(i is not None and i.shape not in ((), inner.shape) for i in inner.inputs):
        return place
    moved = [i if i is None or i.shape == () else _by_rows(G.reshape(i, shape=place.shape)) for i in inner.inputs]
    return apply(inner.sig, tuple(moved))
