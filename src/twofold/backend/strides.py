"""How operands of a kernel lie in memory: strides over one iteration space, with as few axes as possible."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Sizes = tuple[int, ...]

#: From so many elements, or so far apart, places are 64-bit numbers.
LONG = 2**31 - 2**16


class Space(NamedTuple):
    """An iteration space with its operands.

    Attributes
    ----------
    sizes
        Of its axes, none of which is 1.
    strides
        For each operand the elements between neighbours along each axis; 0 where it is broadcast.
    """

    sizes: Sizes
    strides: tuple[Sizes, ...]

    @property
    def is_long(self) -> bool:
        """Whether places are 64-bit numbers."""
        spans = [sum((n - 1) * abs(s) for n, s in zip(self.sizes, own, strict=True)) for own in self.strides]
        return max([math.prod(self.sizes), *spans]) >= LONG

    @property
    def packed(self) -> Sizes:
        """The strides of an operand in row-major order."""
        return row_major(self.sizes)


def row_major(shape: Sizes) -> Sizes:
    """The strides of an array in row-major order, in elements."""
    return tuple(math.prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


def spread(shape: Sizes, strides: Sizes, space: Sizes) -> Sizes:
    """The strides over a space to which an operand broadcasts."""
    lead = len(space) - len(shape)
    return (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True))


def merged(shape: Sizes, strides: Sequence[Sizes]) -> Space:
    """The space with as few axes as possible: neighbours merge where no operand needs them apart.

    Parameters
    ----------
    shape
        The space.
    strides
        Of each operand over it.
    """
    sizes: list[int] = []
    kept: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        own = [s[axis] for s in strides]
        if sizes and all(k[-1] == s * n for k, s in zip(kept, own, strict=True)):
            sizes[-1] *= n
            for k, s in zip(kept, own, strict=True):
                k[-1] = s
        else:
            sizes.append(n)
            for k, s in zip(kept, own, strict=True):
                k.append(s)
    return Space(tuple(sizes), tuple(map(tuple, kept)))
