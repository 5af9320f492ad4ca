"""Convolution as matrix products over columns (im2col), for blocks of windows whose columns stay in cache.

A block is several images, or some rows of one. A column holds one window. Columns are in one of three orders:

* ``gathered``: image by image, copied in runs of a row of windows.
* ``flat``: for stride 1 the windows need no gathering. Row t of the column matrix is the padded image from the offset of tap t on, in one
  run, in which the ends of the image's rows are gaps between the windows. The products in the gaps are ignored, and gradients of results
  are 0 there; so an inf or NaN in the data may turn more gradients of the weight into NaN than in the direct algorithm.
* ``batched``: pixel by pixel, with the images of the block adjacent, which makes long runs of small images.

Source: Chellapilla, Puri & Simard, "High performance convolutional neural networks for document processing", 2006.
"""

import math
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from twofold.backend.strides import Sizes, row_major

from .geometry import Geometry
from .image_blocks import ImageBlock, SharedImageBlocks, Total, for_images, sum_over_images
from .memory import POOL

Order = Literal["gathered", "flat", "batched"]


class Cells(NamedTuple):
    """How the windows of an image, or of some of its rows, are arranged in a row of the column matrix.

    The row has ``number`` elements, in a ``shape`` of pixels; the windows' results have shape ``out`` and strides ``places`` in it.
    """

    number: int
    shape: Sizes
    out: Sizes
    places: Sizes

    @classmethod
    def of(cls, g: Geometry, flat: bool, rows: int) -> "Cells":
        """The arrangement in one run with gaps, or without gaps."""
        out = (rows, *g.out[1:])
        if flat:
            # from the first window to the last, with the gaps at the ends of rows between them
            number = 1 + sum((o - 1) * s for o, s in zip(out, g.steps, strict=True))
            return cls(number, (number,), out, g.steps)
        return cls(math.prod(out), out, out, row_major(out))


class Columns(SharedImageBlocks):
    """Buffers for blocks of windows and their columns.

    Parameters
    ----------
    g, dtype
        The convolution.
    order
        The order of the columns; ``flat`` requires stride 1.
    nbytes
        Approximate size of the columns and results of a block.
    """

    def __init__(self, g: Geometry, dtype: np.dtype[np.generic], order: Order, nbytes: int) -> None:
        self.g, self.order = g, order
        cell = dtype.itemsize * (g.groups * g.rows + g.filters)
        super().__init__(g, g.out[0], cell * self.cells(g.out[0]).number // max(1, g.out[0]), nbytes)
        most = self.images * self.cells(self.band).number
        # zeros once: `load` writes inside the padding only
        self.image = POOL.empty((self.images * g.channels * math.prod(g.padded),), dtype)
        self.image.fill(0)
        self.loaded = self.images
        self.columns = POOL.empty((g.groups * g.rows * most,), dtype)
        self.sums = POOL.empty((g.filters * most,), dtype)

    def cells(self, rows: int) -> Cells:
        """The arrangement of some rows of an image's windows in a row of the column matrix."""
        return Cells.of(self.g, self.order == "flat", rows)

    def width(self, block: ImageBlock) -> int:
        """The number of columns of a block."""
        return block.images * self.cells(block.rows).number

    def loaded_images(self, count: int) -> np.ndarray:
        """The buffer of padded images: (count, channels, *padded), a view."""
        g = self.g
        memory = self.image[: count * g.channels * math.prod(g.padded)]
        if self.order == "batched":
            return np.moveaxis(memory.reshape(g.channels, *g.padded, count), -1, 0)
        return memory.reshape(count, g.channels, *g.padded)

    def load(self, data: np.ndarray) -> None:
        """Load images (count, channels, …) into the padded buffer."""
        if self.order == "batched" and len(data) != self.loaded:
            self.image.fill(0)  # with another number of images the padding is at other addresses
        self.loaded = len(data)
        self.loaded_images(len(data))[self.g.inner] = data

    def with_batch_axis_moved(self, x: np.ndarray, places: int) -> np.ndarray:
        """(images, channels, …) with the batch axis moved before the last ``places`` axes, or in batched order after them."""
        return np.moveaxis(x, 0, -1 if self.order == "batched" else x.ndim - 1 - places)

    def windows(self, block: ImageBlock) -> np.ndarray:
        """A block's windows of the loaded images in the order of its columns: (channels, *kernel, …), a view."""
        g, cells, images = self.g, self.cells(block.rows), self.loaded_images(block.images)
        item, steps = images.itemsize, images.strides[2:]
        # in flat order the next window is the next element, and the gaps count as windows, whose results are ignored
        apart = [item] if self.order == "flat" else [s * t for s, t in zip(steps, g.stride, strict=True)]
        taps = [s * e for s, e in zip(steps, g.dilate, strict=True)]
        shape = (block.images, g.channels, *g.kernel, *cells.shape)
        view = as_strided(images[:, :, block.top * g.stride[0] :], shape, (*images.strides[:2], *taps, *apart))
        return self.with_batch_axis_moved(view, len(cells.shape))

    def column_memory(self, block: ImageBlock) -> np.ndarray:
        """The buffer for a block's columns: (groups, rows, width)."""
        g, width = self.g, self.width(block)
        return self.columns[: g.groups * g.rows * width].reshape(g.groups, g.rows, width)

    def result_memory(self, block: ImageBlock) -> np.ndarray:
        """The buffer for a block's results: (groups, filters / groups, width)."""
        g, width = self.g, self.width(block)
        return self.sums[: g.filters * width].reshape(g.groups, g.filters // g.groups, width)

    def as_images(self, results: np.ndarray, block: ImageBlock) -> np.ndarray:
        """A block's results as (images, filters, …), a view without the gaps."""
        g, cells, item = self.g, self.cells(block.rows), results.itemsize
        if self.order == "batched":
            return np.moveaxis(results.reshape(g.filters, *cells.out, block.images), -1, 0)
        strides = (cells.number * item, self.width(block) * item, *[s * item for s in cells.places])
        return as_strided(results, (block.images, g.filters, *cells.out), strides)

    def gather(self, block: ImageBlock) -> np.ndarray:
        """Copy a block's columns out of the loaded images."""
        columns, windows = self.column_memory(block), self.windows(block)
        np.copyto(columns.reshape(windows.shape), windows)
        return columns

    def load_result(self, result: np.ndarray, block: ImageBlock) -> np.ndarray:
        """Copy a block's part of a result (n, filters, …) into the buffer, with zeros in the gaps."""
        results = self.result_memory(block)
        if self.order == "flat":
            # a product in a gap must add nothing to the gradient
            results.fill(0)
        self.as_images(results, block)[...] = block.of(result)
        return results

    def fold(self, columns: np.ndarray, block: ImageBlock) -> None:
        """The transpose of `gather` (col2im): add columns to the loaded images at their windows."""
        windows = self.windows(block)
        columns = columns.reshape(windows.shape)
        for tap in np.ndindex(*self.g.kernel):
            target = windows[(slice(None), *tap)]
            np.add(target, columns[(slice(None), *tap)], target)


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray, *, order: Order, nbytes: int) -> None:
    """The primitive ``convolve`` into ``out``."""
    lhs = weight.reshape(g.groups, g.filters // g.groups, g.rows)

    def process(work: Columns, first: int, count: int) -> None:
        work.load(data[first : first + count])
        for block in work.blocks_of(first, count):
            results = work.product(lhs, work.gather(block), work.result_memory(block))
            block.of(out)[...] = work.as_images(results, block)

    for_images(partial(Columns, g, out.dtype, order, nbytes), process)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray, *, order: Order, nbytes: int) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    lhs = weight.reshape(g.groups, g.filters // g.groups, g.rows).swapaxes(1, 2)

    def process(work: Columns, first: int, count: int) -> None:
        work.image.fill(0)
        for block in work.blocks_of(first, count):
            work.fold(work.product(lhs, work.load_result(result, block), work.column_memory(block)), block)
        out[first : first + count] = work.loaded_images(count)[g.inner]

    for_images(partial(Columns, g, out.dtype, order, nbytes), process)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray, *, order: Order, nbytes: int) -> None:
    """The primitive ``convolve_weight`` into ``out``."""

    def process(work: Columns, first: int, count: int, total: Total) -> None:
        work.load(data[first : first + count])
        for block in work.blocks_of(first, count):
            total.add(work.load_result(result, block), work.gather(block).swapaxes(1, 2))

    sums = out.reshape(g.groups, g.filters // g.groups, g.rows)
    sum_over_images(partial(Columns, g, out.dtype, order, nbytes), process, sums)
