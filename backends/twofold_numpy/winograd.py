"""Convolution with 3x3 kernels by Winograd's minimal filtering F(4x4, 3x3): a quarter of the products, after three linear transforms.

An image is cut into tiles of 6x6 places, two more than the 4x4 results that they give. Over the 36 numbers that stand for a tile,
for a filter and for a tile of results, convolution is 36 matrix products over channels. The transforms are matrix products, too. All of
it has the channels last; arrays are (n, c, h, w), and in which order their memory is changes what is copied, but no result.

Sources: Winograd, "Arithmetic complexity of computations", 1980; Lavin & Gray, "Fast algorithms for convolutional neural networks",
2016. The polynomials are evaluated at 0, ±3/4, ±3/2 and infinity (after Barabasz et al., "Error analysis and improving the accuracy of
Winograd convolution for deep neural networks", 2020): the error is a quarter of that at the integers.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .blocks import Block, Blocks, Total
from .geometry import Geometry, Sizes
from .memory import POOL

POINTS = (0.0, 0.75, -0.75, 1.5, -1.5)
#: Results of a tile along one axis, those that a kernel reaches, and both: the tile's places.
RESULTS, KERNEL, PLACES = 4, 3, 6


def _transforms() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(of data, of a kernel, to results) in one axis: result = to_results · ((of_kernel · kernel) * (of_data · data)).

    Toom and Cook's algorithm: a product of polynomials by its values at points, transposed.
    """
    values = [[p**k for k in range(PLACES)] for p in POINTS]
    apart = [math.prod(p - q for q in POINTS if q != p) for p in POINTS]
    to_results = np.array([[v[k] for v in values] + [float(k == RESULTS - 1)] for k in range(RESULTS)])
    of_kernel = np.array([[x / d for x in v[:KERNEL]] for v, d in zip(values, apart, strict=True)] + [[0, 0, 1]])
    of_data = np.zeros((PLACES, PLACES))
    for k, p in enumerate(POINTS):
        of_data[k, : PLACES - 1] = np.poly([q for q in POINTS if q != p])[::-1]
    of_data[-1] = np.poly(POINTS)[::-1]
    return of_data, of_kernel, to_results


def _in_a_plane(matrix: np.ndarray) -> np.ndarray:
    """A transform along both axes of a plane, as one matrix."""
    return np.kron(matrix, matrix).astype(np.float32)


#: (36, 36) of a tile of data, (36, 9) of a kernel, (16, 36) to a tile of results.
OF_DATA, OF_KERNEL, TO_RESULTS = map(_in_a_plane, _transforms())
NUMBERS = PLACES * PLACES


def is_applicable(g: Geometry) -> bool:
    """Whether the convolution is of this kind: 3x3 windows one place apart, of all channels, with at most 2 places of padding."""
    return g.kernel == (3, 3) and g.is_dense and g.dilate == (1, 1) and g.groups == 1 and max(g.pad) <= 2


class Tiles(Blocks):
    """Memory for blocks of tiles, of about so many bytes; a row of windows is one of tiles.

    Parameters
    ----------
    n, out
        Images, and the sizes of their results.
    before, after
        Channels of the data and of the results.
    nbytes
        Of what stands for tiles.
    """

    def __init__(self, n: int, out: Sizes, before: int, after: int, nbytes: int) -> None:
        down, self.across = (-(-o // RESULTS) for o in out)
        super().__init__(n, down, 4 * self.across * (2 * NUMBERS * before + (NUMBERS + 2 * RESULTS**2) * after), nbytes)
        self.before, self.after = before, after
        self.image = _empty(self.images, *[RESULTS * t + KERNEL - 1 for t in (down, self.across)], before)
        self.image.fill(0)
        most = self.images * self.band * self.across
        self.tiles, self.data = _empty(NUMBERS * most * before), _empty(NUMBERS * most * before)
        self.sums = _empty(NUMBERS * most * after)
        self.cells, self.places = _empty(RESULTS**2 * most * after), _empty(RESULTS**2 * most * after)

    def number(self, block: Block) -> int:
        """Tiles of a block."""
        return block.images * block.rows * self.across

    def part(self, block: Block, result: np.ndarray) -> np.ndarray:
        """A block's part of results (n, channels, h, w)."""
        return block._replace(top=RESULTS * block.top, rows=RESULTS * block.rows).of(result)

    def hold(self, data: np.ndarray, pad: Sizes) -> None:
        """Hold images (count, channels, h, w) within their padding, channels last."""
        (top, left), (height, width) = pad, data.shape[2:]
        self.image[: len(data), top : top + height, left : left + width] = data.transpose(0, 2, 3, 1)

    def transformed(self, block: Block) -> np.ndarray:
        """The numbers of a block's tiles of the images that are held: (36, tiles, channels)."""
        n, y, x, c = self.image.strides
        shape = (PLACES, PLACES, block.images, block.rows, self.across, self.before)
        tiles = self.tiles[: math.prod(shape)].reshape(shape)
        np.copyto(tiles, as_strided(self.image[:, RESULTS * block.top :], shape, (y, x, n, RESULTS * y, RESULTS * x, c)))
        found = self.data[: tiles.size].reshape(NUMBERS, self.number(block) * self.before)
        return np.matmul(OF_DATA, tiles.reshape(found.shape), out=found).reshape(NUMBERS, self.number(block), self.before)

    def multiplied(self, data: np.ndarray, kernels: np.ndarray, block: Block) -> np.ndarray:
        """The numbers of tiles of results (36, tiles, channels after), for kernels (36, channels before, channels after)."""
        return np.matmul(data, kernels, out=self._sums(block))

    def put_together(self, sums: np.ndarray, block: Block, out: np.ndarray) -> None:
        """Write a block's part of results (n, channels, h, w), of the numbers of their tiles."""
        cells, places = self._cells(block), self._places(block)
        np.matmul(TO_RESULTS, sums.reshape(NUMBERS, -1), out=cells)
        part = self.part(block, out).transpose(0, 2, 3, 1)
        whole = part.shape == places.shape and part.strides[3] == part.itemsize
        _in_tiles(part if whole else places)[...] = self._as_tiles(cells, block)
        if not whole:
            part[...] = places[:, : part.shape[1], : part.shape[2]]

    def taken_apart(self, result: np.ndarray, block: Block) -> np.ndarray:
        """The transpose of `put_together`: (36, tiles, channels)."""
        cells, places, part = self._cells(block), self._places(block), self.part(block, result).transpose(0, 2, 3, 1)
        if part.shape != places.shape:
            places.fill(0)
        places[:, : part.shape[1], : part.shape[2]] = part
        self._as_tiles(cells, block)[...] = _in_tiles(places)
        sums = self._sums(block)
        np.matmul(TO_RESULTS.T, cells, out=sums.reshape(NUMBERS, -1))
        return sums

    def _sums(self, block: Block) -> np.ndarray:
        return self.sums[: NUMBERS * self.number(block) * self.after].reshape(NUMBERS, self.number(block), self.after)

    def _cells(self, block: Block) -> np.ndarray:
        """Memory for the results of tiles: (16, tiles · channels)."""
        return self.cells[: RESULTS**2 * self.number(block) * self.after].reshape(RESULTS**2, -1)

    def _places(self, block: Block) -> np.ndarray:
        """Memory for the same as they lie in images: (count, h, w, channels)."""
        shape = (block.images, RESULTS * block.rows, RESULTS * self.across, self.after)
        return self.places[: math.prod(shape)].reshape(shape)

    def _as_tiles(self, cells: np.ndarray, block: Block) -> np.ndarray:
        """Results of tiles by their place: (count, tiles down, row of the tile, tiles across, column of the tile, channels)."""
        shape = (RESULTS, RESULTS, block.images, block.rows, self.across, self.after)
        return cells.reshape(shape).transpose(2, 3, 0, 4, 1, 5)


def _in_tiles(places: np.ndarray) -> np.ndarray:
    """The same of results as they lie in images (count, h, w, channels)."""
    count, height, width, channels = places.shape
    return places.reshape(count, height // RESULTS, RESULTS, width // RESULTS, RESULTS, channels)


def _empty(*shape: int) -> np.ndarray:
    return POOL.empty(shape, np.dtype(np.float32))


def _kernels(weight: np.ndarray, transform: np.ndarray) -> np.ndarray:
    """The numbers that stand for each kernel of a weight (a, b, 3, 3): (36, a, b)."""
    a, b = weight.shape[:2]
    return np.matmul(transform, weight.reshape(a * b, KERNEL * KERNEL).T).reshape(NUMBERS, a, b)


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve`` into ``out``."""
    work = Tiles(g.n, g.out, g.channels, g.filters, nbytes)
    _correlate(work, data, _kernels(weight.swapaxes(0, 1), OF_KERNEL), g.pad, out)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve_data`` into ``out``: convolution of the result with each kernel turned round."""
    work = Tiles(g.n, g.size, g.filters, g.channels, nbytes)
    _correlate(work, result, _kernels(weight, OF_KERNEL[:, ::-1]), tuple(KERNEL - 1 - p for p in g.pad), out)


def _correlate(work: Tiles, data: np.ndarray, kernels: np.ndarray, pad: Sizes, out: np.ndarray) -> None:
    for first, count in work.images_of():
        work.hold(data[first : first + count], pad)
        for block in work.blocks_of(first, count):
            work.put_together(work.multiplied(work.transformed(block), kernels, block), block, out)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve_weight`` into ``out``: sums over tiles, transformed back once."""
    work = Tiles(g.n, g.out, g.channels, g.filters, nbytes)
    sums = _empty(NUMBERS, g.filters, g.channels)
    total = Total(sums)
    for first, count in work.images_of():
        work.hold(data[first : first + count], g.pad)
        for block in work.blocks_of(first, count):
            total.add(work.taken_apart(result, block).swapaxes(1, 2), work.transformed(block))
    np.matmul(sums.reshape(NUMBERS, -1).T, OF_KERNEL, out=out.reshape(-1, KERNEL * KERNEL))
