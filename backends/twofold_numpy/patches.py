"""Convolution as matrix products over patches, with channels last: each row of a window is contiguous.

For small images the rows of a column matrix (`columns`) are short; patches are copied in runs of a kernel row with all channels, and no
products are wasted on gaps. Source: Chellapilla, Puri & Simard, "High performance convolutional neural networks for document processing",
2006.
"""

import math
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .geometry import Geometry
from .image_blocks import ImageBlock, SharedImageBlocks, Total, for_images, sum_over_images
from .memory import POOL


class Patches(SharedImageBlocks):
    """Buffers for blocks of windows and their patches, of about ``nbytes``; for one group."""

    def __init__(self, g: Geometry, dtype: np.dtype[np.generic], nbytes: int) -> None:
        super().__init__(g, g.out[0], dtype.itemsize * (g.rows + g.filters) * math.prod(g.out[1:]), nbytes)
        self.g = g
        most = self.images * self.band * math.prod(g.out[1:])
        self.image = POOL.empty((self.images, *g.padded, g.channels), dtype)
        self.image.fill(0)
        self.patches, self.sums = POOL.empty((most * g.rows,), dtype), POOL.empty((most * g.filters,), dtype)

    def hold(self, data: np.ndarray) -> None:
        """Load images (count, channels, …) into the padded buffer, channels last."""
        self.inner(len(data))[...] = data

    def inner(self, count: int) -> np.ndarray:
        """The loaded images without their padding: (count, channels, …), a view."""
        return np.moveaxis(self.image[:count], -1, 1)[self.g.inner]

    def windows(self, block: ImageBlock) -> np.ndarray:
        """A block's windows of the loaded images: (count, *windows, *kernel, channels), a view."""
        g, (n, *steps, c) = self.g, self.image.strides
        apart = [t * s for t, s in zip(steps, g.stride, strict=True)]
        taps = [t * e for t, e in zip(steps, g.dilate, strict=True)]
        shape = (block.images, block.rows, *g.out[1:], *g.kernel, g.channels)
        return as_strided(self.image[:, block.top * g.stride[0] :], shape, (n, *apart, *taps, c))

    def patch_memory(self, block: ImageBlock) -> np.ndarray:
        """The buffer for a block's patches: (windows, rows)."""
        count = block.images * block.rows * math.prod(self.g.out[1:])
        return self.patches[: count * self.g.rows].reshape(count, self.g.rows)

    def gather(self, block: ImageBlock) -> np.ndarray:
        """Copy a block's patches out of the loaded images."""
        patches, windows = self.patch_memory(block), self.windows(block)
        np.copyto(patches.reshape(windows.shape), windows)
        return patches

    def result_memory(self, block: ImageBlock) -> np.ndarray:
        """The buffer for a block's results: (windows, filters)."""
        count = len(self.patch_memory(block))
        return self.sums[: count * self.g.filters].reshape(count, self.g.filters)

    def as_images(self, results: np.ndarray, block: ImageBlock) -> np.ndarray:
        """A block's results as (images, filters, …), a view."""
        return np.moveaxis(results.reshape(block.images, block.rows, *self.g.out[1:], self.g.filters), -1, 1)

    def load_result(self, result: np.ndarray, block: ImageBlock) -> np.ndarray:
        """Copy a block's part of a result (n, filters, …) into the buffer: (windows, filters)."""
        results = self.result_memory(block)
        self.as_images(results, block)[...] = block.of(result)
        return results

    def fold(self, patches: np.ndarray, block: ImageBlock) -> None:
        """The transpose of `gather` (col2im): add patches to the loaded images at their windows."""
        windows, k = self.windows(block), len(self.g.kernel)
        patches = patches.reshape(windows.shape)
        every = (slice(None),) * (1 + k)
        for tap in np.ndindex(*self.g.kernel):
            target = windows[(*every, *tap)]
            np.add(target, patches[(*every, *tap)], target)


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve`` into ``out``."""
    # transposed once here instead of by BLAS in each block
    rhs = np.ascontiguousarray(_channels_last(g, weight).T)

    def process(work: Patches, first: int, count: int) -> None:
        work.hold(data[first : first + count])
        for block in work.blocks_of(first, count):
            results = work.product(work.gather(block), rhs, work.result_memory(block))
            block.of(out)[...] = work.as_images(results, block)

    for_images(partial(Patches, g, out.dtype, nbytes), process)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    rhs = _channels_last(g, weight)

    def process(work: Patches, first: int, count: int) -> None:
        work.image.fill(0)
        for block in work.blocks_of(first, count):
            work.fold(work.product(work.load_result(result, block), rhs, work.patch_memory(block)), block)
        out[first : first + count] = work.inner(count)

    for_images(partial(Patches, g, out.dtype, nbytes), process)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray, *, nbytes: int) -> None:
    """The primitive ``convolve_weight`` into ``out``."""

    def process(work: Patches, first: int, count: int, total: Total) -> None:
        work.hold(data[first : first + count])
        for block in work.blocks_of(first, count):
            total.add(work.load_result(result, block).T, work.gather(block))

    # channels last like the patches; moved to the weight's order once, at the end
    sums = np.empty((g.filters, g.rows), out.dtype)
    sum_over_images(partial(Patches, g, out.dtype, nbytes), process, sums)
    out[...] = np.moveaxis(sums.reshape(g.filters, *g.kernel, g.channels), -1, 1)


def _channels_last(g: Geometry, weight: np.ndarray) -> np.ndarray:
    """A weight (filters, channels, *kernel) as (filters, rows of a patch)."""
    return np.ascontiguousarray(np.moveaxis(weight, 1, -1)).reshape(g.filters, g.rows)
