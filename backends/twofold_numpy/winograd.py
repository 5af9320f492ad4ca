"""Convolution by Winograd's minimal filtering: a quarter of the products with 3x3 kernels, after three linear transforms.

An image is cut into overlapping tiles of 6x6 pixels, each of which gives 4x4 results. In the transformed domain of 36 positions
convolution is 36 matrix products over channels; the transforms are matrix products too. Internally channels are last. Arrays are
(n, c, h, w); their memory layout affects only what is copied, not the results.

Machine code also takes kernels of 2x2 and 5x5, with other results per tile, and of 4x4, 6x6 and 10x10 that move by two pixels: such a
convolution is the sum of four with kernels of half the size, each of which meets every other pixel of every other row (see `image_phases`).

Sources: Winograd, "Arithmetic complexity of computations", 1980; Lavin & Gray, "Fast algorithms for convolutional neural networks",
2016.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from twofold.backend.strides import Sizes
from twofold.config import ON_CHANGE

from . import grouped_tiles
from .copies import copy_alone, packed
from .geometry import Geometry
from .image_blocks import ImageBlock, SharedImageBlocks, Total, for_images, sum_over_images
from .memory import POOL
from .products import multiply
from .tiles import Images, Matrix, apart, are_grouped, by_position, has_form, is_usual
from .winograd_matrices import KERNEL, RESULTS, TILE, Transforms, matrices, transforms

#: ``transform(to, steps, source, steps, sizes)`` applies a matrix along both axes of tiles: see `Tiles.steps`.
Transform = Callable[[np.ndarray, Sequence[int], np.ndarray, Sequence[int], Sequence[int]], None]
#: Filled by the adapter: give the transform of a matrix in machine code, or None.
IN_MACHINE_CODE: list[Callable[[Matrix], Transform | None]] = []
#: The positions of a tile of usual kernels.
POSITIONS = TILE * TILE


def _in_a_plane(matrix: np.ndarray) -> np.ndarray:
    """A 1-d transform applied along both axes of a tile, as one matrix."""
    return np.kron(matrix, matrix).astype(np.float32)


#: The 2-d transforms: (36, 36) of a tile of data, (36, 9) of a kernel, (16, 36) to a tile of results.
OF_DATA, OF_KERNEL, TO_RESULTS = map(_in_a_plane, transforms())


@cache
def _in_machine_code() -> Transforms[Transform] | None:
    """The transforms in machine code, or None."""
    made = [next(filter(None, (make(matrix) for make in IN_MACHINE_CODE)), None) for matrix in matrices()]
    found = [transform for transform in made if transform is not None]
    return Transforms(*found) if len(found) == len(made) else None


ON_CHANGE.append(_in_machine_code.cache_clear)  # the setting ``jit``


def is_applicable(g: Geometry) -> bool:
    """Whether the algorithm applies. Only kernels of 3x3 with stride 1 need no machine code."""
    return has_form(g) and (is_usual(g) or is_in_machine_code(g))


def is_in_machine_code(g: Geometry) -> bool:
    """Whether machine code transforms the images as they are, and multiplies their tiles in groups of channels."""
    return are_grouped(g) and _in_machine_code() is not None


class Tiles(SharedImageBlocks):
    """Buffers for blocks of tiles; a row of an `ImageBlock` is a row of tiles.

    Parameters
    ----------
    g, out
        The convolution, and the size of the images that are computed.
    before, after
        Channels of the data and of the results.
    nbytes
        Approximate size of a block's transformed tiles.
    """

    def __init__(self, g: Geometry, out: Sizes, before: int, after: int, nbytes: int) -> None:
        down, self.across = (-(-o // RESULTS) for o in out)
        super().__init__(g, down, 4 * self.across * (2 * POSITIONS * before + (POSITIONS + 2 * RESULTS**2) * after), nbytes)
        self.before, self.after = before, after
        self.image = _empty(self.images, *[RESULTS * t + KERNEL - 1 for t in (down, self.across)], before)
        self.image.fill(0)
        most = self.images * self.band * self.across
        self.data, self.sums = _empty(POSITIONS * apart(most * before)), _empty(POSITIONS * most * after)
        self.places = _empty(RESULTS**2 * most * after)
        self.code = _in_machine_code()
        if self.code is None:
            self.tiles, self.cells = _empty(POSITIONS * most * before), _empty(RESULTS**2 * most * after)

    def number(self, block: ImageBlock) -> int:
        """The number of tiles of a block."""
        return block.images * block.rows * self.across

    def part(self, block: ImageBlock, result: np.ndarray) -> np.ndarray:
        """A block's part of a result (n, channels, h, w)."""
        return block._replace(top=RESULTS * block.top, rows=RESULTS * block.rows).of(result)

    def load(self, data: np.ndarray, pad: Sizes) -> None:
        """Load images (count, channels, h, w) into the padded buffer, channels last."""
        (top, left), (height, width) = pad, data.shape[2:]
        for image, source in zip(self.image, data.transpose(0, 2, 3, 1), strict=False):
            copy_alone(image[top : top + height, left : left + width], source)

    def transform(self, block: ImageBlock) -> np.ndarray:
        """Transform a block's tiles of the loaded images: (36, tiles, channels)."""
        found = by_position(self.data, POSITIONS, self.number(block) * self.before)
        image = self.image[:, RESULTS * block.top :]
        if self.code is not None:
            steps = self.steps(block, self.before, True)
            self.code.of_data(found, steps, image, _steps_of_tiles(image), (block.images, block.rows, self.across, self.before))
            return found.reshape(POSITIONS, self.number(block), self.before)
        n, y, x, c = image.strides
        shape = (TILE, TILE, block.images, block.rows, self.across, self.before)
        tiles = self.tiles[: math.prod(shape)].reshape(shape)
        np.copyto(tiles, as_strided(image, shape, (y, x, n, RESULTS * y, RESULTS * x, c)))
        return self.product(OF_DATA, tiles.reshape(found.shape), found).reshape(POSITIONS, self.number(block), self.before)

    def steps(self, block: ImageBlock, channels: int, has_gaps: bool = False) -> tuple[int, ...]:
        """Bytes from image to image, from row to row and from column to column of tiles, and between the rows and the columns of a tile.

        They are those of an array (36, tiles, channels), with gaps as `by_position` leaves them or without.
        """
        step, elements = 4 * channels, self.number(block) * channels
        position = 4 * (apart(elements) if has_gaps else elements)
        return block.rows * self.across * step, self.across * step, step, TILE * position, position

    def multiply(self, data: np.ndarray, kernels: np.ndarray, block: ImageBlock) -> np.ndarray:
        """Multiply transformed tiles by transformed kernels (36, before, after): (36, tiles, after)."""
        return self.product(data, kernels, self.sums_of(block))

    def inverse_transform(self, sums: np.ndarray, block: ImageBlock, out: np.ndarray) -> None:
        """Transform a block's products back, and write them into its part of a result (n, channels, h, w)."""
        places, part = self._places(block), self.part(block, out).transpose(0, 2, 3, 1)
        # tiles may overhang the image, and channels may be first in memory: then the results take a detour through the buffer
        whole = part.shape == places.shape and part.strides[3] == part.itemsize
        target = part if whole else places
        if self.code is not None:
            steps = self.steps(block, self.after)
            self.code.to_results(target, _steps_of_tiles(target), sums, steps, (block.images, block.rows, self.across, self.after))
        else:
            cells = self.product(TO_RESULTS, sums.reshape(POSITIONS, -1), self._cells(block))
            _in_tiles(target)[...] = self._as_tiles(cells, block)
        if not whole:
            for to, source in zip(part, places[:, : part.shape[1], : part.shape[2]], strict=True):
                # a row of the result at once, channels first in memory
                copy_alone(to.swapaxes(1, 2), source.swapaxes(1, 2))

    def inverse_transform_transposed(self, result: np.ndarray, block: ImageBlock) -> np.ndarray:
        """The transpose of `inverse_transform`: a block's part of a result as (36, tiles, channels)."""
        places, part, sums = self._places(block), self.part(block, result).transpose(0, 2, 3, 1), self.sums_of(block)
        if part.shape != places.shape:
            places.fill(0)
        places[:, : part.shape[1], : part.shape[2]] = part
        if self.code is not None:
            steps = self.steps(block, self.after)
            self.code.from_results(sums, steps, places, _steps_of_tiles(places), (block.images, block.rows, self.across, self.after))
            return sums
        cells = self._cells(block)
        self._as_tiles(cells, block)[...] = _in_tiles(places)
        self.product(TO_RESULTS.T, cells, sums.reshape(POSITIONS, -1))
        return sums

    def sums_of(self, block: ImageBlock) -> np.ndarray:
        """The buffer for a block's products: (36, tiles, after)."""
        return self.sums[: POSITIONS * self.number(block) * self.after].reshape(POSITIONS, self.number(block), self.after)

    def _cells(self, block: ImageBlock) -> np.ndarray:
        """The buffer for results by tile: (16, tiles · channels)."""
        return self.cells[: RESULTS**2 * self.number(block) * self.after].reshape(RESULTS**2, -1)

    def _places(self, block: ImageBlock) -> np.ndarray:
        """The buffer for results by image: (count, h, w, channels)."""
        shape = (block.images, RESULTS * block.rows, RESULTS * self.across, self.after)
        return self.places[: math.prod(shape)].reshape(shape)

    def _as_tiles(self, cells: np.ndarray, block: ImageBlock) -> np.ndarray:
        """Results by tile as (count, tile rows, row in the tile, tile columns, column in the tile, channels), a view."""
        shape = (RESULTS, RESULTS, block.images, block.rows, self.across, self.after)
        return cells.reshape(shape).transpose(2, 3, 0, 4, 1, 5)


def _steps_of_tiles(image: np.ndarray) -> tuple[int, ...]:
    """As `Tiles.steps`, of tiles in images (count, h, w, channels)."""
    n, y, x, _ = image.strides
    return n, RESULTS * y, RESULTS * x, y, x


def _in_tiles(places: np.ndarray) -> np.ndarray:
    """Results by image (count, h, w, channels) in the shape of `_as_tiles`, a view."""
    count, height, width, channels = places.shape
    return places.reshape(count, height // RESULTS, RESULTS, width // RESULTS, RESULTS, channels)


def _empty(*shape: int) -> np.ndarray:
    return POOL.empty(shape, np.dtype(np.float32))


def _kernels_of_data(weight: np.ndarray) -> np.ndarray:
    """The transformed kernels of a weight (a, b, 3, 3) for results with channels b: (36, a, b), rotated by half a turn."""
    a, b = weight.shape[:2]
    code = _in_machine_code()
    if code is None:
        return multiply(OF_KERNEL[:, ::-1], weight.reshape(a * b, KERNEL * KERNEL).T).reshape(POSITIONS, a, b)
    # the kernels' elements apart from each other, so that vectors have the same element of many kernels
    elements = packed(weight.reshape(a, b, KERNEL * KERNEL).transpose(0, 2, 1))
    return _transformed(code.of_rotated, elements)


def _kernels(weight: np.ndarray) -> np.ndarray:
    """The transformed kernels of a weight (b, a, 3, 3) for results with channels b: (36, a, b)."""
    b, a = weight.shape[:2]
    elements = packed(weight.reshape(b, a * KERNEL * KERNEL).T).reshape(a, KERNEL * KERNEL, b)
    code = _in_machine_code()
    if code is None:
        return multiply(OF_KERNEL, elements.transpose(1, 0, 2).reshape(KERNEL * KERNEL, -1)).reshape(POSITIONS, a, b)
    return _transformed(code.of_kernel, elements)


def _transformed(transform: Transform, elements: np.ndarray) -> np.ndarray:
    """Kernels (a, 9, b) transformed: (36, a, b)."""
    a, _, b = elements.shape
    found, step = by_position(_empty(POSITIONS * apart(a * b)), POSITIONS, a * b), 4 * b
    position = found.strides[0]
    transform(found, (0, 0, step, TILE * position, position), elements, (0, 0, KERNEL**2 * step, KERNEL * step, step), (1, 1, a, b))
    return found.reshape(POSITIONS, a, b)


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve`` into ``out``."""
    if is_in_machine_code(g):
        grouped_tiles.correlation(g, Images.of(data), Images.of(out))(data, packed(weight), out)
        return
    make = partial(Tiles, g, g.out, g.channels, g.filters, nbytes)
    _correlate(make, data, _kernels(weight), g.pad, out)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve_data`` into ``out``: convolution of the result with rotated kernels."""
    if is_in_machine_code(g):
        grouped_tiles.gradient_of_data(g, Images.of(result), Images.of(out))(result, packed(weight), out)
        return
    pad = tuple([k - 1 - p for k, p in zip(g.kernel, g.pad, strict=True)])
    make = partial(Tiles, g, g.size, g.filters, g.channels, nbytes)
    _correlate(make, result, _kernels_of_data(weight), pad, out)


def _correlate(make: Callable[[], Tiles], data: np.ndarray, kernels: np.ndarray, pad: Sizes, out: np.ndarray) -> None:
    def process(work: Tiles, first: int, count: int) -> None:
        work.load(data[first : first + count], pad)
        for block in work.blocks_of(first, count):
            work.inverse_transform(work.multiply(work.transform(block), kernels, block), block, out)

    for_images(make, process)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve_weight`` into ``out``: products are summed over tiles and transformed back once."""
    if is_in_machine_code(g):
        grouped_tiles.gradient_of_weight(g, Images.of(data), Images.of(result))(data, result, out)
        return

    def process(work: Tiles, first: int, count: int, total: Total) -> None:
        work.load(data[first : first + count], g.pad)
        for block in work.blocks_of(first, count):
            total.add(work.inverse_transform_transposed(result, block).swapaxes(1, 2), work.transform(block))

    sums = _empty(POSITIONS, g.filters, g.channels)
    sum_over_images(partial(Tiles, g, g.out, g.channels, g.filters, nbytes), process, sums)
    # the transpose of the kernels' transform: 36 positions back to 9 elements
    multiply(sums.reshape(POSITIONS, -1).T, OF_KERNEL, out.reshape(-1, KERNEL * KERNEL))
