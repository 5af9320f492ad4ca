"""Direct gradients of weights, in machine code: no matrix of columns is made.

An element of the gradient is a sum over all windows: a result's gradient times an element of the image. In images with channels last, the
elements that a window's row of the kernel reads are one run. So the code of direct convolutions (`jit.direct`) serves here too: its taps
are the windows, its weights the gradients of the results, and its places the row's columns and channels. What it leaves with channels last
is transposed at the end.

* Channels are in chunks of `RUN` places: what one pass over all windows reads of the images is contiguous and stays in cache.
* So many images are summed up at once as fit `BAND`; the sums of these bands are added.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from twofold.backend.strides import Sizes

from .direct_tiling import REACH, WORDS, DirectTiling, followed, least_lanes, pieces_of, ranges_of
from .geometry import Geometry
from .memory import POOL
from .planes import ITEM
from .products import MULTIPLICATION

SumOfBand = Callable[[np.ndarray, np.ndarray, np.ndarray], object]
#: Most and least places of a chunk, bytes of the images of a chunk in a band, and windows of a band: a sum over more would be less exact.
RUN, SHORT, BAND, WINDOWS = 144, 32, 1 << 20, 1 << 14
#: Bytes whose multiples share few lines of the cache.
ALIASED = 1 << 11
#: Channels from which they are in chunks.
MANY = 128


class WeightPlane(NamedTuple):
    """The gradient of a weight as sums over windows of padded images (parts, n, rows, columns, channels).

    Attributes
    ----------
    n, parts, channels, filters
        Number of images; number of the parts in which the channels are, with the channels and filters of each.
    padded, kernel, stride, dilate, out
        Each for rows and for columns.
    is_shared
        Whether all parts have the same filters: they are not groups, but chunks of the channels.
    """

    n: int
    parts: int
    channels: int
    filters: int
    padded: Sizes
    kernel: Sizes
    stride: Sizes
    dilate: Sizes
    out: Sizes
    is_shared: bool

    @property
    def images(self) -> Sizes:
        """The shape of the padded images."""
        return (self.parts, self.n, *self.padded, self.channels)

    @property
    def sums(self) -> Sizes:
        """The shape of the sums."""
        return (self.parts, self.filters, *self.kernel, self.channels)


def planes_of(g: Geometry) -> Iterator[WeightPlane]:
    """The bands of images whose sums are the gradient."""
    channels, filters = g.channels // g.groups, g.filters // g.groups
    chunk = _chunk(channels, g.kernel[-1]) if g.groups == 1 else channels
    of_image, windows = ITEM * chunk * math.prod(g.padded), math.prod(g.out)
    most = max(1, min(BAND // of_image, WINDOWS // windows, REACH // 2 // (ITEM * windows * g.filters)))
    padded, kernel, stride, dilate, out = ((1, *x) if len(x) == 1 else x for x in (g.padded, g.kernel, g.stride, g.dilate, g.out))
    bands = -(-g.n // most)
    for k in range(bands):
        n = (k + 1) * g.n // bands - k * g.n // bands
        yield WeightPlane(n, g.channels // chunk, chunk, filters, padded, kernel, stride, dilate, out, g.groups == 1)


def add_up(g: Geometry, bands: Sequence[tuple[WeightPlane, SumOfBand]], data: np.ndarray, result: np.ndarray, out: np.ndarray) -> None:
    """The gradient into ``out`` by the functions that sum up bands.

    They are called with padded images, a result's gradient and sums.
    """
    padded, first, whole = np.empty(0, out.dtype), 0, bands[0][0]
    sums = POOL.empty((min(2, len(bands)), *whole.sums), out.dtype)
    (top, left), (height, width) = ((0, *g.pad)[-2:], (1, *g.size)[-2:])
    for k, (plane, compute) in enumerate(bands):
        images = slice(first, first + plane.n)
        if padded.shape != plane.images:
            padded = POOL.empty(plane.images, out.dtype)
            if any(g.pad):
                padded.fill(0)  # what is copied below leaves the padding as it is
        planes = data[images].reshape(plane.n, plane.parts, plane.channels, height, width)
        padded[:, :, top : top + height, left : left + width] = _apart(planes).transpose(1, 0, 3, 4, 2)
        compute(padded, result[images], sums[min(k, 1)])
        if k:
            np.add(sums[0], sums[1], sums[0])
        first += plane.n
    sizes = (whole.channels, *whole.kernel)
    if not whole.is_shared:
        out.reshape(whole.parts, whole.filters, *sizes)[...] = sums[0].transpose(0, 1, 4, 2, 3)
        return
    weights = out.reshape(whole.filters, whole.parts, *sizes)
    for k, part in enumerate(sums[0]):  # one copy of all would take twice as long
        weights[:, k] = part.transpose(0, 3, 1, 2)


def _apart(planes: np.ndarray) -> np.ndarray:
    """Planes (…, rows, columns); copied if their distance maps neighbors to the same lines of the cache."""
    if planes[0, 0, 0].nbytes % ALIASED:
        return planes
    *shape, rows, columns = planes.shape
    copy = POOL.empty((*shape, rows + 1, columns), planes.dtype)[..., :rows, :]
    copy[...] = planes
    return copy


def _chunk(channels: int, columns: int) -> int:
    """The channels of a chunk: the largest divisor whose run is not too long, or all if it would be short."""
    if channels < MANY:
        return channels
    chunk = max(d for d in range(1, channels + 1) if channels % d == 0 and (d == 1 or d * columns <= RUN))
    return chunk if chunk * columns >= SHORT else channels


def places_of(g: Geometry) -> int:
    """The places that are summed up at once."""
    return next(planes_of(g)).channels * (g.kernel[-1] if g.dilate[-1] == 1 else 1)


def tiling_of(p: WeightPlane, tile: tuple[int, int], vector: int, threads: int = 1) -> DirectTiling:
    """How the code of direct convolutions computes it; parameters as for `direct_tiling.tiling_of`.

    The code's images are the rows of the kernel, its groups the parts; columns of the kernel that are apart are its bands.
    """
    (rows, columns), (height, width), (down, across), (below, beside) = p.kernel, p.padded, p.stride, p.dilate
    pixel, plane = ITEM * p.channels, math.prod(p.out)
    apart = columns if beside > 1 else 1
    run, block, lanes = columns // apart * p.channels, tile[0], vector // ITEM
    work = p.n * p.parts * p.filters * plane * rows * columns * p.channels
    pieces = pieces_of(work, threads)
    units = rows * apart * p.parts
    ranges, filters = ranges_of(units, pieces, p.filters, block)
    words = dict.fromkeys(WORDS, 0) | {
        "items": units * ranges,
        "is.long": int(0 < run % (tile[1] * lanes) <= least_lanes(lanes)),
        "groups": p.parts,
        "bands": apart,
        "band.rows": 1,
        "ranges": ranges,
        "range.filters": filters,
        "filters": p.filters,
        "image.step": below * width * pixel,
        "data.group.step": p.n * height * width * pixel,
        "row.step": beside * pixel,
        "weight.group.step": 0 if p.is_shared else ITEM * p.filters * plane,
        "weight.step": ITEM * plane,
        "out.image.step": columns * pixel,
        "out.group.step": p.filters * rows * columns * pixel,
        "out.step": rows * columns * pixel,
        "out.row.step": pixel,
        "out.rows": apart,
        "out.columns": run,
        "pitch": run,
        "chunk.places": run,
        "taps": p.n * plane,
    }
    image, y, x = np.ogrid[: p.n, : p.out[0], : p.out[1]]
    of_images = pixel * ((image * height + y * down) * width + x * across)
    # the results' gradients of an image have the filters of all groups
    all_filters = p.filters if p.is_shared else p.filters * p.parts
    of_results = ITEM * (image * all_filters * plane + y * p.out[1] + x)
    taps = np.stack(np.broadcast_arrays(of_images, of_results), axis=-1).reshape(-1, 2).astype(np.int32)
    return DirectTiling(pieces, work * MULTIPLICATION, words, [], followed(taps, tile[1] * vector))
