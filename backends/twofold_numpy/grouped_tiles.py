"""Winograd's algorithm in machine code, with tiles in groups of channels: what computes images of some layouts, which is looked up once.

In a network each line of Python between two convolutions is slow, because these leave nothing else in the cache.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from twofold.backend.strides import Sizes
from twofold.config import ON_CHANGE

from .geometry import Geometry, Kind
from .image_blocks import ImageBlock, ImageBlocks
from .image_phases import ImagePhase, image_phases_of
from .memory import POOL
from .tiles import PRODUCTS, STEP, SUMS, TRANSFORMS, Images, Matrix, Tiling, apart, in_groups, in_machine_code, results_of
from .winograd_matrices import matrices

#: Computes the third of three arrays.
Compute = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
#: ``transform(images, buffer)`` transforms a block's tiles.
Transform = Callable[[np.ndarray, np.ndarray], None]
#: Bytes of a block of transformed tiles that machine code multiplies, which the cache of a core holds, and of one with large kernels.
BLOCK, LARGEST_BLOCK = 1 << 20, 4 << 20
FLOAT = np.dtype(np.float32)


class GroupedTiles(ImageBlocks):
    """Blocks of tiles in groups of channels, which machine code transforms; a row of an `ImageBlock` is a row of tiles.

    Threads share the work on a block, so blocks need not be as many as threads.

    Parameters
    ----------
    g, out
        The convolution, and the size of the images whose parts the tiles stand for.
    channels
        The most channels of tiles.
    """

    def __init__(self, g: Geometry, out: Sizes, channels: int) -> None:
        kernel = g.kernel[0] // g.stride[0]
        self.results = results_of(kernel, out)
        self.matrices = matrices(kernel, self.results)
        self.positions = len(self.matrices.of_data) ** 2
        down, self.across = (-(-o // self.results) for o in out)
        row_bytes = 4 * self.across * self.positions * in_groups(channels)
        # each block transforms all kernels, or reads and writes all sums of a weight's gradient: it has half as many numbers at least
        nbytes = max(BLOCK, min(2 * self.positions * g.filters * g.channels * math.prod(g.stride), LARGEST_BLOCK))
        super().__init__(g, down, row_bytes, nbytes)

    def blocks(self) -> Iterator[ImageBlock]:
        """All of them."""
        for first, count in self.images_of():
            yield from self.blocks_of(first, count)

    def buffer(self, channels: int) -> np.ndarray:
        """Memory for the tiles of a block."""
        return POOL.empty((self.positions * apart(self._numbers(self.images, self.band, channels)),), FLOAT)

    def transform(self, block: ImageBlock, of: Images, phases: Sequence[ImagePhase], matrix: Matrix) -> tuple[Tiling, Transform]:
        """The tiles of the phases of a block of images, and what transforms them by a matrix: a function of all images and a buffer."""
        first, count = block.first, block.images
        channels = len(phases) * of.channels
        distance = apart(self._numbers(count, block.rows, channels)) * FLOAT.itemsize
        tiling = Tiling(count, block.top, block.rows, self.across, channels, self.results, phases[0].stride, distance)
        some = of.like(count)
        runs = [in_machine_code(TRANSFORMS, tiling, Images.of(phase.of(some)), phase.pad, matrix) for phase in phases]
        if len(phases) == 1 and count == self.n:
            return tiling, runs[0]

        def transform(images: np.ndarray, buffer: np.ndarray) -> None:
            images = images[first : first + count]
            for number, (phase, run) in enumerate(zip(phases, runs, strict=True)):
                run(phase.of(images), buffer[number * STEP :])

        return tiling, transform

    def _numbers(self, images: int, rows: int, channels: int) -> int:
        """The numbers of a position of tiles."""
        return images * rows * self.across * in_groups(channels)


@lru_cache(1024)
def correlation(g: Geometry, of: Images, to: Images) -> Compute:
    """The primitive ``convolve`` of images and results of these layouts, and of a weight without gaps."""
    return _correlation(g, of, to, image_phases_of(g))


def _correlation(g: Geometry, of: Images, to: Images, phases: Sequence[ImagePhase], is_of_data: bool = False) -> Compute:
    """Correlates phases of images with the kernels of a weight; for the gradient of the data with rotated ones of one phase."""
    channels = len(phases) * of.channels
    work = GroupedTiles(g, to.size, channels)
    of_data, to_results = work.matrices.of_data, work.matrices.to_results
    of_kernel = work.matrices.of_rotated if is_of_data else work.matrices.of_kernel
    steps = []
    for block in work.blocks():
        tiling, transform = work.transform(block, of, phases, of_data)
        rows = block._replace(top=work.results * block.top, rows=work.results * block.rows)
        part = Images.of(rows.of(to.like(g.n)))
        steps.append((transform, in_machine_code(PRODUCTS, tiling, part, of_kernel, to_results, is_of_data, g.stride[0]), rows))

    def run(data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        buffer = work.buffer(channels)
        for transform, multiply, rows in steps:
            transform(data, buffer)
            multiply(weight, buffer, rows.of(out))

    return run


@lru_cache(1024)
def gradient_of_data(g: Geometry, of: Images, to: Images) -> Compute:
    """The primitive ``convolve_data`` of gradients and results of these layouts, and of a weight without gaps."""
    parts = []
    for phase in image_phases_of(g):
        pad = tuple([k // phase.stride - 1 - p for k, p in zip(g.kernel, phase.pad, strict=True)])
        down, across = (o + p for o, p in zip(g.out, pad, strict=True))
        part = phase.of(to.like(g.n))
        has_rest, reached = part.shape[2] > down or part.shape[3] > across, part[:, :, :down, :across]
        # images of one row have no other phase
        run = _correlation(g, of, Images.of(reached), [ImagePhase(pad)], is_of_data=True) if reached.size else None
        parts.append((phase, down, across, has_rest, run))

    def gradient(result: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        for phase, down, across, has_rest, run in parts:
            (y, x), part = phase.at, phase.of(out)
            if has_rest:
                # no window reaches the last pixels: their gradient is zero, which sums of transformed numbers would not give exactly
                part[:, :, down:], part[:, :, :, across:] = 0, 0
                part = part[:, :, :down, :across]
            if run is not None:
                run(result, weight[:, :, y:, x:], part)

    return gradient


@lru_cache(1024)
def gradient_of_weight(g: Geometry, of: Images, of_results: Images) -> Compute:
    """The primitive ``convolve_weight`` of images and gradients of these layouts: a sum over tiles."""
    phases = image_phases_of(g)
    channels = len(phases) * g.channels
    work = GroupedTiles(g, g.out, max(channels, g.filters))
    to_kernel = tuple(zip(*work.matrices.of_kernel, strict=True))
    blocks, steps = [*work.blocks()], []
    for k, block in enumerate(blocks):
        tiling, transform = work.transform(block, of, phases, work.matrices.of_data)
        tiling_of_results, transform_results = work.transform(block, of_results, [ImagePhase((0, 0))], work.matrices.from_results)
        add = in_machine_code(SUMS, tiling, tiling_of_results, to_kernel, k == 0, k == len(blocks) - 1)
        steps.append((transform, transform_results, add))
    numbers = work.positions * g.filters * channels if len(blocks) > 1 else 0

    def gradient(data: np.ndarray, result: np.ndarray, out: np.ndarray) -> None:
        tiles, results, sums = work.buffer(channels), work.buffer(g.filters), POOL.empty((numbers,), FLOAT)
        for transform, transform_results, add in steps:
            transform(data, tiles)
            transform_results(result, results)
            add(tiles, results, sums, out)

    return gradient


def at_once(kind: Kind, g: Geometry) -> Compute:
    """A primitive as a function of arrays without gaps."""
    images, results = Images.plain(g.channels, g.size), Images.plain(g.filters, g.out)
    if kind == "forward":
        return correlation(g, images, results)
    return gradient_of_data(g, results, images) if kind == "data" else gradient_of_weight(g, images, results)


for _kept in (correlation, gradient_of_data, gradient_of_weight):
    ON_CHANGE.append(_kept.cache_clear)  # the settings ``jit`` and ``threads``
