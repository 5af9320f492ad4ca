"""The geometry of a convolution: its sizes and what follows from them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from twofold.backend.strides import Sizes, row_major

#: What is computed: the convolution, or its gradient with respect to the data or the weight.
Kind = Literal["forward", "data", "weight"]


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
        """Size of a padded image."""
        return tuple(d + 2 * p for d, p in zip(self.size, self.pad, strict=True))

    @cached_property
    def out(self) -> Sizes:
        """Number of windows along each axis."""
        facts = zip(self.padded, self.kernel, self.stride, self.dilate, strict=True)
        return tuple((d - e * (k - 1) - 1) // s + 1 for d, k, s, e in facts)

    @cached_property
    def steps(self) -> Sizes:
        """Strides of a padded image, in elements."""
        return row_major(self.padded)

    @cached_property
    def inner(self) -> tuple[slice, ...]:
        """Index of the images within padded ones (n, channels, *padded)."""
        return (slice(None), slice(None), *[slice(p, p + d) for p, d in zip(self.pad, self.size, strict=True)])

    @cached_property
    def taps(self) -> int:
        """Elements of a window in one channel (kernel taps)."""
        return math.prod(self.kernel)

    @cached_property
    def rows(self) -> int:
        """Rows of the column matrix of one group: elements of a window in all of the group's channels."""
        return self.channels // self.groups * self.taps

    @cached_property
    def products(self) -> int:
        """Multiplications in the direct algorithm."""
        return self.n * self.filters * self.rows * math.prod(self.out)

    @cached_property
    def is_dense(self) -> bool:
        """Whether the stride is 1 along every axis."""
        return all(s == 1 for s in self.stride)

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether the convolution is a matrix product over channels: 1x1 kernel, stride 1, no padding."""
        return self.is_dense and self.taps == 1 and not any(self.pad)
