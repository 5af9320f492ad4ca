"""The positions of a view's elements in its root's buffer: strides and offset, in elements, from its chain of view operations.

A root's buffer is C-contiguous, so shapes alone determine them. Strides decide which reshapes are views and which must copy.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..backend.kernel import OperandType
from ..backend.strides import Sizes, row_major
from ..errors import OperatorError
from ..opdef import BoundOp


class StridedView(NamedTuple):
    """Sizes and strides of the axes, and the position of the first element, in a buffer. Rules of `Op.strides` call its methods."""

    shape: Sizes
    strides: Sizes
    offset: int

    def permuted(self, axes: Sizes) -> "StridedView":
        """The view with its axes in another order."""
        return StridedView(tuple([self.shape[a] for a in axes]), tuple([self.strides[a] for a in axes]), self.offset)

    def sliced(self, key: Sequence[slice]) -> "StridedView":
        """The elements that one slice per axis selects."""
        ranges = [range(n)[k] for k, n in zip(key, self.shape, strict=True)]
        offset = self.offset + sum(r.start * s for r, s in zip(ranges, self.strides, strict=True))
        return StridedView(tuple(map(len, ranges)), tuple([r.step * s for r, s in zip(ranges, self.strides, strict=True)]), offset)

    def broadcast(self, shape: Sizes) -> "StridedView":
        """The view broadcast to a shape."""
        new = len(shape) - len(self.shape)
        # stride 0: all positions along a broadcast axis are one element
        own = [0 if n == 1 != m else s for n, m, s in zip(self.shape, shape[new:], self.strides, strict=True)]
        return StridedView(shape, (0,) * new + tuple(own), self.offset)

    def windows(self, shape: Sizes, stride: Sizes, dilate: Sizes) -> "StridedView":
        """Windows over the trailing axes, as a view of that shape: ``stride`` separates windows, ``dilate`` the elements of a window."""
        lead = len(self.shape) - len(stride)
        steps = self.strides[lead:]
        between = [s * t for s, t in zip(steps, stride, strict=True)]
        within = [s * d for s, d in zip(steps, dilate, strict=True)]
        return StridedView(shape, (*self.strides[:lead], *between, *within), self.offset)

    def reshaped(self, shape: Sizes) -> "StridedView | None":
        """The view in another shape; None if its elements must be copied for that."""
        strides = _strides_after_reshape(self, shape)
        return None if strides is None else StridedView(shape, strides, self.offset)

    @property
    def is_column_major(self) -> bool:
        """Whether the elements are adjacent, with the first axis as the fastest, and not with the last."""
        axes = [k for k in reversed(range(len(self.shape))) if self.shape[k] != 1]
        return len(axes) > 1 and tuple([self.strides[k] for k in axes]) == row_major(tuple([self.shape[k] for k in axes]))

    def axes_in(self, order: str) -> Sizes:
        """The axes, slowest first, in which elements are read in NumPy's order ``"K"``, that of the memory, or ``"A"``."""
        axes = range(len(self.shape))
        if order == "K":
            return tuple(sorted(axes, key=lambda k: -abs(self.strides[k])))
        return tuple(reversed(axes)) if self.is_column_major else tuple(axes)


def strided_view(shape: Sizes, chain: Sequence[BoundOp]) -> StridedView:
    """The strides and offset of a view of a root of that shape."""
    view = StridedView(shape, row_major(shape), 0)
    for bound_op in chain:
        found = None if bound_op.op.layout.strides_rule is None else bound_op.op.layout.strides_rule(view, **bound_op.params)
        if found is None:
            raise OperatorError(f"{bound_op.op.spoken}: the result is not a view of the operand", str(bound_op), "copy the operand first")
        view = found
    return view


@lru_cache(4096)  # loops ask for the same views again and again; without the cache, a view's `shape` takes several times as long
def view_shape(shape: Sizes, chain: tuple[BoundOp, ...]) -> Sizes:
    """The shape of a view of a root of that shape."""
    for bound_op in chain:
        if bound_op.op.type_rule is not None:  # an element-wise operation keeps the shape
            shape = bound_op.op.type_rule(OperandType(shape, ""), **bound_op.params)[0]
    return shape


def _strides_after_reshape(view: StridedView, shape: Sizes) -> Sizes | None:
    """The strides of a view reshaped to the same number of elements; None if the elements must be copied for that.

    Axes of both shapes are grouped from the front so that corresponding groups have the same number of elements; within a group the
    old axes must be contiguous with one another.
    """
    if 0 in shape:
        return row_major(shape)
    # an axis of size 1 has no second position, so its stride means nothing
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
        # one stride can pass through the whole group only if each axis steps over exactly all positions of the next one
        if any(old[j][1] != old[j + 1][0] * old[j + 1][1] for j in range(first, end - 1)):
            return None
        step = old[end - 1][1]
        # the group's last new axis has the old innermost stride, and each axis steps over the next one
        for j in reversed(range(at, stop)):
            strides[j], step = step, step * shape[j]
        first, at = end, stop
    return tuple(strides)
