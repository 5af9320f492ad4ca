"""Where the elements of a view lie in its root's buffer: strides and offset, in elements, from its chain of view operations.

A root's buffer is C-contiguous, so shapes alone determine them. They decide which reshapes are views and which must copy.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..backend.strides import Sizes, row_major
from ..opdef.shapes import sliced_shape
from ..opdef.spec import Sig
from ..ops.primitive_shape import broadcast_to, permute_dims, reshape
from ..ops.primitive_shape import slice as basic_slice


class StridedView(NamedTuple):
    """Sizes and strides of the axes, and the position of the first element, in a buffer."""

    shape: Sizes
    strides: Sizes
    offset: int


def strided_view(shape: Sizes, chain: Sequence[Sig]) -> StridedView:
    """The strides and offset of a view of a root of that shape."""
    view = StridedView(shape, row_major(shape), 0)
    for sig in chain:
        op, params = sig.op, sig.params
        if op is basic_slice:
            view = _sliced(view, params["key"])
        elif op is permute_dims:
            view = StridedView(tuple(view.shape[a] for a in params["axes"]), tuple(view.strides[a] for a in params["axes"]), view.offset)
        elif op is broadcast_to:
            view = _broadcast(view, params["shape"])
        elif op is reshape:
            strides = strides_after_reshape(view, params["shape"])
            assert strides is not None, "a reshape that copies is not a view operation"
            view = StridedView(params["shape"], strides, view.offset)
    return view


def view_shape(shape: Sizes, chain: Sequence[Sig]) -> Sizes:
    """The shape of a view of a root of that shape."""
    for sig in chain:
        if "shape" in sig.params:
            shape = sig.params["shape"]
        elif sig.op is basic_slice:
            shape = sliced_shape(shape, sig.params["key"])
        elif sig.op is permute_dims:
            shape = tuple([shape[a] for a in sig.params["axes"]])
    return shape


def _sliced(view: StridedView, key: Sequence[tuple[int | None, int | None, int | None]]) -> StridedView:
    starts, steps = zip(*[slice(*k).indices(n)[::2] for k, n in zip(key, view.shape, strict=True)], strict=True) if key else ((), ())
    offset = view.offset + sum(a * s for a, s in zip(starts, view.strides, strict=True))
    return StridedView(sliced_shape(view.shape, tuple(key)), tuple(s * t for s, t in zip(view.strides, steps, strict=True)), offset)


def _broadcast(view: StridedView, shape: Sizes) -> StridedView:
    new = len(shape) - len(view.shape)
    kept = [0 if n == 1 != m else s for n, m, s in zip(view.shape, shape[new:], view.strides, strict=True)]
    return StridedView(shape, (0,) * new + tuple(kept), view.offset)


def strides_after_reshape(view: StridedView, shape: Sizes) -> Sizes | None:
    """The strides of a view reshaped to as many elements; None if the elements must be copied for that.

    Axes of both shapes are grouped from the front so that corresponding groups have the same number of elements; within a group the
    old axes must be contiguous with one another.
    """
    if 0 in shape:
        return row_major(shape)
    old = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
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
