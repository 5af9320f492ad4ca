"""Where the elements of a view lie in its root's buffer: strides and offset, in elements, from its chain of view operations.

A root's buffer is in row-major order, so that these follow from shapes alone. They say which reshapes are views and which copy.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..opdef.shapes import sliced_shape
from ..opdef.spec import Sig
from ..ops.primitive_shape import broadcast_to, permute_dims, reshape
from ..ops.primitive_shape import slice as basic_slice

Sizes = tuple[int, ...]


class Layout(NamedTuple):
    """Sizes and strides of the axes, and the place of the first element, in a buffer."""

    shape: Sizes
    strides: Sizes
    offset: int


def row_major(shape: Sizes) -> Sizes:
    """The strides of an array in row-major order."""
    return tuple([math.prod([n or 1 for n in shape[k + 1 :]]) for k in range(len(shape))])


def layout_of(shape: Sizes, chain: Sequence[Sig]) -> Layout:
    """The layout of a view of a root of that shape."""
    layout = Layout(shape, row_major(shape), 0)
    for sig in chain:
        op, params = sig.op, sig.params
        if op is basic_slice:
            layout = _sliced(layout, params["key"])
        elif op is permute_dims:
            layout = Layout(tuple(layout.shape[a] for a in params["axes"]), tuple(layout.strides[a] for a in params["axes"]), layout.offset)
        elif op is broadcast_to:
            layout = _broadcast(layout, params["shape"])
        elif op is reshape:
            strides = reshaped_strides(layout, params["shape"])
            assert strides is not None, "a reshape that copies is no view operation"
            layout = Layout(params["shape"], strides, layout.offset)
    return layout


def shown_shape(shape: Sizes, chain: Sequence[Sig]) -> Sizes:
    """The shape of a view of a root of that shape."""
    for sig in chain:
        if "shape" in sig.params:
            shape = sig.params["shape"]
        elif sig.op is basic_slice:
            shape = sliced_shape(shape, sig.params["key"])
        elif sig.op is permute_dims:
            shape = tuple([shape[a] for a in sig.params["axes"]])
    return shape


def _sliced(layout: Layout, key: Sequence[tuple[int | None, int | None, int | None]]) -> Layout:
    starts, steps = zip(*[slice(*k).indices(n)[::2] for k, n in zip(key, layout.shape, strict=True)], strict=True) if key else ((), ())
    offset = layout.offset + sum(a * s for a, s in zip(starts, layout.strides, strict=True))
    return Layout(sliced_shape(layout.shape, tuple(key)), tuple(s * t for s, t in zip(layout.strides, steps, strict=True)), offset)


def _broadcast(layout: Layout, shape: Sizes) -> Layout:
    new = len(shape) - len(layout.shape)
    kept = [0 if n == 1 != m else s for n, m, s in zip(layout.shape, shape[new:], layout.strides, strict=True)]
    return Layout(shape, (0,) * new + tuple(kept), layout.offset)


def reshaped_strides(layout: Layout, shape: Sizes) -> Sizes | None:
    """The strides that show a layout in another shape of as many elements; None where the elements have to be copied for it.

    Axes of both shapes are grouped from the front so that each group holds as many elements here as there; within a group the old
    axes must follow one another without a gap.
    """
    if 0 in shape:
        return row_major(shape)
    old = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if n != 1]
    strides = list(row_major(shape))
    first = at = 0
    while at < len(shape):
        if shape[at] == 1:
            at += 1
            continue
        have, end, want, stop = old[first][0], first + 1, shape[at], at + 1
        while have != want:
            if want < have:
                want, stop = want * shape[stop], stop + 1
            else:
                have, end = have * old[end][0], end + 1
        if any(old[j][1] != old[j + 1][0] * old[j + 1][1] for j in range(first, end - 1)):
            return None
        step = old[end - 1][1]
        for j in reversed(range(at, stop)):
            strides[j], step = step, step * shape[j]
        first, at = end, stop
    return tuple(strides)
