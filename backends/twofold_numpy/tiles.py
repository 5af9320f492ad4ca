"""Tiles of Winograd's algorithm: their sizes, where transformed ones are in memory, and what machine code does with them.

Transformed tiles are (positions, groups of `CHANNELS` channels, tiles, channels of a group): a product reads some neighboring tiles of a
position one after the other, and its code can name their distance.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from twofold.backend.strides import Sizes

from .geometry import Geometry

#: A 1-d transform, by rows.
Matrix = tuple[tuple[float, ...], ...]
#: What machine code takes: along one axis, the results that a tile may have, by the size of the kernel.
FORMS = {2: (5, 4), 3: (4,), 5: (2,)}
#: The longest stride that machine code takes. `STEP` channels of each of its phases, of which there are its square, must fill a part of a
#: group: so a group has the same channels of each phase, and a phase begins so many channels after the one before it.
MOST_STRIDE = 2
#: Channels per group; the numbers of channels and filters must be multiples of STEP.
CHANNELS, STEP = 64, 16
#: Numbers in a line of a cache.
LINE = 16
#: Least channels or filters per piece where WIDE divides their number; and the most pieces, whose numbers have 16 bits.
WIDE, MOST_PIECES = 32, (1 << 16) - 1

#: ``transform(images, tiles)`` transforms the tiles of images.
TransformTiles = Callable[[np.ndarray, np.ndarray], None]
#: ``add(data, results, sums, weight)`` adds products of transformed tiles to sums, or makes a weight's gradient of all of them.
SumTiles = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]
#: ``multiply(weight, tiles, out)`` multiplies transformed tiles by the transformed kernels of a weight, and transforms the sums to results.
MultiplyTiles = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class Tiling(NamedTuple):
    """The tiles of some images.

    Attributes
    ----------
    images, first, rows, across
        The number of images, the first row of tiles of each, and the rows and columns of tiles.
    channels
        The number of channels, of all phases together.
    results
        The results of a tile along one axis: pixels from one tile to the next.
    stride
        There are tiles of all its phases of the images, see `image_phases`: `STEP` channels of one, then of the next.
    apart
        Bytes from one position of the transformed tiles to the next.
    """

    images: int
    first: int
    rows: int
    across: int
    channels: int
    results: int
    stride: int
    apart: int

    @property
    def number(self) -> int:
        """The number of tiles."""
        return self.images * self.rows * self.across


class Images(NamedTuple):
    """Images (n, channels, height, width): the number of channels, height and width, and the strides in bytes."""

    channels: int
    size: Sizes
    strides: Sizes

    @classmethod
    def of(cls, x: np.ndarray) -> "Images":
        """Those of an array."""
        return cls(x.shape[1], x.shape[2:], x.strides)

    @classmethod
    def plain(cls, channels: int, size: Sizes) -> "Images":
        """Those of an array without gaps."""
        height, width = size
        return cls(channels, size, (4 * channels * height * width, 4 * height * width, 4 * width, 4))

    def like(self, number: int) -> np.ndarray:
        """So many images of this layout, for their strides only: they have no memory of their own."""
        return as_strided(np.empty(1, np.float32), (number, self.channels, *self.size), self.strides)

    def is_last(self, step: int = 1) -> bool:
        """Whether the channels of a pixel, not every ``step``-th of a row, are next to each other; rows of one pixel have any stride."""
        return self.size[1] > 1 and self.strides[3] != step * np.dtype(np.float32).itemsize


#: Filled by the adapter: give what machine code does, or None. The transform of tiles of images, with this padding, by a matrix for data
#: or for results; the products for these results, with the transforms of kernels and to results, whose weight is (filters, channels, k,
#: k), for the gradient of the data (channels, filters, k, k), and the stride of its kernels; and the sums over tiles of data and results,
#: the first or last ones or not, with the transform to kernels.
TRANSFORMS: list[Callable[[Tiling, Images, Sizes, Matrix], TransformTiles | None]] = []
PRODUCTS: list[Callable[[Tiling, Images, Matrix, Matrix, bool, int], MultiplyTiles | None]] = []
SUMS: list[Callable[[Tiling, Tiling, Matrix, bool, bool], SumTiles | None]] = []

Code = TypeVar("Code")


def in_machine_code(makers: list[Callable[..., Code | None]], *of: object) -> Code:
    """What the first of the makers that can makes of these; with a compiler there is one."""
    return next(filter(None, (make(*of) for make in makers)))


def is_usual(g: Geometry) -> bool:
    """Whether kernels are of 3x3 and move by one pixel, whose tiles need no machine code."""
    return g.kernel == (3, 3) and g.is_dense


def has_form(g: Geometry) -> bool:
    """Whether a convolution may have tiles: square kernels, which its stride divides, no dilation, one group and little padding."""
    if len(g.kernel) != 2 or g.dilate != (1, 1) or g.groups != 1 or len({*g.kernel}) > 1 or len({*g.stride}) > 1:
        return False
    kernel, rest = divmod(g.kernel[0], g.stride[0])
    return not rest and kernel in FORMS and g.stride[0] <= MOST_STRIDE and max(g.pad) <= g.stride[0] * (kernel - 1)


def results_of(kernel: int, out: Sizes) -> int:
    """The results of a tile along one axis with which images of a size need the fewest products."""
    return min(FORMS[kernel], key=lambda results: math.prod((results + kernel - 1) * -(-o // results) for o in out))


def are_grouped(g: Geometry) -> bool:
    """Whether machine code takes tiles of so many channels, and multiplies them by so many filters."""
    parts, groups = (n // math.gcd(n, WIDE) for n in (g.channels * math.prod(g.stride), g.filters))
    return g.channels % STEP == g.filters % STEP == 0 and parts * groups <= MOST_PIECES


def in_groups(channels: int) -> int:
    """The channels for which tiles have memory: those of whole groups."""
    return -(-channels // CHANNELS) * CHANNELS


def apart(elements: int) -> int:
    """The distance of one position's elements from the next one's: an odd number of cache lines, which the cache can hold side by side."""
    return (-(-elements // LINE) | 1) * LINE


def by_position(buffer: np.ndarray, positions: int, elements: int) -> np.ndarray:
    """The beginning of a buffer as (positions, elements), with gaps."""
    step = apart(elements)
    return buffer[: positions * step].reshape(positions, step)[:, :elements]
