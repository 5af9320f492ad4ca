"""The sizes of one convolution, and what follows from them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

#: What is computed: the sums themselves, or their transpose in the data or in the weight.
Kind = Literal["forward", "data", "weight"]
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Geometry:
    """Data (n, channels, *size), weight (filters, channels / groups, *kernel), result (n, filters, *out)."""

    n: int
    channels: int
    filters: int
    groups: int
    size: Sizes
    kernel: Sizes
    stride: Sizes
    dilate: Sizes
    pad: Sizes

    @cached_property
    def padded(self) -> Sizes:
        """Sizes of an image with its padding."""
        return tuple(d + 2 * p for d, p in zip(self.size, self.pad, strict=True))

    @cached_property
    def out(self) -> Sizes:
        """How many windows each axis has."""
        facts = zip(self.padded, self.kernel, self.stride, self.dilate, strict=True)
        return tuple((d - e * (k - 1) - 1) // s + 1 for d, k, s, e in facts)

    @cached_property
    def steps(self) -> Sizes:
        """Elements from one place of a padded image to the next one along each axis."""
        return row_major(self.padded)

    @cached_property
    def inner(self) -> tuple[slice, ...]:
        """Where the image lies in its padded form (n, channels, *padded)."""
        return (slice(None), slice(None), *[slice(p, p + d) for p, d in zip(self.pad, self.size, strict=True)])

    @cached_property
    def taps(self) -> int:
        """Elements of a window in one channel."""
        return math.prod(self.kernel)

    @cached_property
    def rows(self) -> int:
        """Rows of columns of one group: elements of a window in all of its channels."""
        return self.channels // self.groups * self.taps

    @cached_property
    def products(self) -> int:
        """Multiplications by the definition."""
        return self.n * self.filters * self.rows * math.prod(self.out)

    @cached_property
    def is_dense(self) -> bool:
        """Whether neighbouring windows are one place apart."""
        return all(s == 1 for s in self.stride)

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether each window is one place, in order: a matrix product of channels."""
        return self.is_dense and self.taps == 1 and not any(self.pad)


def row_major(sizes: Sizes) -> Sizes:
    """Elements from one place to the next along each axis of a C-contiguous array."""
    return tuple(math.prod(sizes[k + 1 :]) for k in range(len(sizes)))
