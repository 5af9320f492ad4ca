"""Strides of kernel operands over an iteration space, and spaces with as few axes as possible."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Sizes = tuple[int, ...]

#: Spaces with this many elements, or operands that span this many, are indexed with 64-bit integers. The margin below 2**31 leaves room
#: for the index of the last thread, whose grid is rounded up to whole thread blocks.
LONG = 2**31 - 2**16


class Space(NamedTuple):
    """An iteration space with its operands.

    Attributes
    ----------
    sizes
        Sizes of its axes, all greater than 1.
    strides
        For each operand its strides in elements; 0 along axes where it is broadcast.
    """

    sizes: Sizes
    strides: tuple[Sizes, ...]

    @property
    def is_long(self) -> bool:
        """Whether elements are indexed with 64-bit integers."""
        spans = [sum((n - 1) * abs(s) for n, s in zip(self.sizes, own, strict=True)) for own in self.strides]
        return max([math.prod(self.sizes), *spans]) >= LONG

    @property
    def contiguous(self) -> Sizes:
        """The strides of a contiguous operand."""
        return row_major(self.sizes)


def row_major(shape: Sizes) -> Sizes:
    """The strides of a C-contiguous array, in elements."""
    # a size of 0 counts as 1, as in NumPy: a stride of 0 would say that the operand is broadcast
    return tuple([math.prod([n or 1 for n in shape[axis + 1 :]]) for axis in range(len(shape))])


def broadcast_strides(shape: Sizes, strides: Sizes, space: Sizes) -> Sizes:
    """The strides of an operand over a space that it broadcasts to."""
    lead = len(space) - len(shape)
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])


def merge_axes(shape: Sizes, strides: Sequence[Sizes]) -> Space:
    """The space with as few axes as possible: adjacent axes merge where every operand steps through them as through one.

    Parameters
    ----------
    shape
        The iteration space.
    strides
        Each operand's strides over it.
    """
    sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        own = [s[axis] for s in strides]
        # in every operand, a step of the axis before is exactly one run of this axis
        if sizes and all(m[-1] == s * (n or 1) for m, s in zip(merged, own, strict=True)):
            sizes[-1] *= n
            for m, s in zip(merged, own, strict=True):
                m[-1] = s
        else:
            sizes.append(n)
            for m, s in zip(merged, own, strict=True):
                m.append(s)
    return Space(tuple(sizes), tuple(map(tuple, merged)))


def collapse(shape: Sizes, operands: Sequence[Sizes]) -> tuple[Sizes, list[Sizes]]:
    """`merge_axes` for contiguous operands: the space and the operands' shapes, all of one rank, which is at least 1.

    Parameters
    ----------
    shape
        The iteration space.
    operands
        Shapes that broadcast to it.
    """
    space = merge_axes(shape, [broadcast_strides(own, row_major(own), shape) for own in operands])
    shapes = [tuple([n if s else 1 for n, s in zip(space.sizes, own, strict=True)]) for own in space.strides]
    return space.sizes or (1,), [own or (1,) for own in shapes]


def index_terms(sizes: Sizes, strides: Sizes) -> list[tuple[int, int, int]]:
    """An operand's element for element ``i`` of a space has the index that is the sum of ``i // inner % size * stride`` over these.

    Parameters
    ----------
    sizes, strides
        A space, and the operand's strides over it.

    Returns
    -------
    list of (inner, size, stride)
        One term per axis along which the operand is not broadcast.
    """
    return [(math.prod(sizes[axis + 1 :]), n, s) for axis, (n, s) in enumerate(zip(sizes, strides, strict=True)) if s]
