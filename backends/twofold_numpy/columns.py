"""Convolution as matrix products over columns of windows (im2col), for blocks of windows whose columns stay in cache.

A block is some images, or some rows of one. A column holds one window. They stand in one of three orders:

* ``gathered``: image by image, copied in runs of a row of windows.
* ``flat``: windows that are one place apart need not be gathered: row t of the columns is the padded image from tap t's place on, in
  one run, with the ends of the image's rows as gaps between the windows. What a product gives there is not read, and the gradients of
  results are 0 there; so an inf or NaN in the data may make more gradients of the weight NaN than by the definition.
* ``batched``: place by place, images of the block side by side, which makes long runs of small images.

Source: Chellapilla, Puri & Simard, "High performance convolutional neural networks for document processing", 2006.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .blocks import Block, Blocks, Total, product
from .geometry import Geometry, Sizes, row_major
from .memory import POOL

Order = Literal["gathered", "flat", "batched"]


class Cells(NamedTuple):
    """How the windows of one image, or of some rows of it, lie in a row of columns.

    ``number`` of elements, in a ``shape`` of places of the image; the windows' results, of sizes ``out``, are ``places`` apart there.
    """

    number: int
    shape: Sizes
    out: Sizes
    places: Sizes

    @classmethod
    def of(cls, g: Geometry, flat: bool, rows: int) -> "Cells":
        """In one run, gaps included; or one after another."""
        out = (rows, *g.out[1:])
        if flat:
            number = 1 + sum((o - 1) * s for o, s in zip(out, g.steps, strict=True))
            return cls(number, (number,), out, g.steps)
        return cls(math.prod(out), out, out, row_major(out))


class Columns(Blocks):
    """Memory for blocks of windows and their columns, of about so many bytes.

    Parameters
    ----------
    g, dtype
        The convolution.
    order
        In which the columns stand; for ``flat`` the windows must be one place apart.
    nbytes
        Of columns and results.
    """

    def __init__(self, g: Geometry, dtype: np.dtype[Any], order: Order, nbytes: int) -> None:
        self.g, self.order = g, order
        cell = dtype.itemsize * (g.groups * g.rows + g.filters)
        super().__init__(g.n, g.out[0], cell * self.cells(g.out[0]).number // max(1, g.out[0]), nbytes)
        most = self.images * self.cells(self.band).number
        self.image = POOL.empty((self.images * g.channels * math.prod(g.padded),), dtype)
        self.image.fill(0)
        self.columns = POOL.empty((g.groups * g.rows * most,), dtype)
        self.sums = POOL.empty((g.filters * most,), dtype)

    def cells(self, rows: int) -> Cells:
        """How so many rows of an image's windows lie in a row of columns."""
        return Cells.of(self.g, self.order == "flat", rows)

    def width(self, block: Block) -> int:
        """Columns of a block."""
        return block.images * self.cells(block.rows).number

    def images_held(self, count: int) -> np.ndarray:
        """Memory of so many images within their padding: (count, channels, *padded)."""
        g = self.g
        memory = self.image[: count * g.channels * math.prod(g.padded)]
        if self.order == "batched":
            return np.moveaxis(memory.reshape(g.channels, *g.padded, count), -1, 0)
        return memory.reshape(count, g.channels, *g.padded)

    def hold(self, data: np.ndarray) -> None:
        """Hold images (count, channels, …) within their padding."""
        if self.order == "batched" and len(data) < self.images:
            self.image.fill(0)  # the padding of fewer images lies elsewhere
        self.images_held(len(data))[self.g.inner] = data

    def in_order(self, x: np.ndarray, places: int) -> np.ndarray:
        """(images, channels, …) with the images before the last axes, of the windows' ``places``, or after them."""
        return np.moveaxis(x, 0, -1 if self.order == "batched" else x.ndim - 1 - places)

    def windows(self, block: Block) -> np.ndarray:
        """A block's windows in the images that are held, as its columns stand: (channels, *kernel, …), a view."""
        g, cells, images = self.g, self.cells(block.rows), self.images_held(block.images)
        item, steps = images.itemsize, images.strides[2:]
        apart = [item] if self.order == "flat" else [s * t for s, t in zip(steps, g.stride, strict=True)]
        taps = [s * e for s, e in zip(steps, g.dilate, strict=True)]
        shape = (block.images, g.channels, *g.kernel, *cells.shape)
        view = as_strided(images[:, :, block.top * g.stride[0] :], shape, (*images.strides[:2], *taps, *apart))
        return self.in_order(view, len(cells.shape))

    def room(self, block: Block) -> np.ndarray:
        """Memory for a block's columns: (groups, rows, width)."""
        g, width = self.g, self.width(block)
        return self.columns[: g.groups * g.rows * width].reshape(g.groups, g.rows, width)

    def results(self, block: Block) -> np.ndarray:
        """Memory for a block's results: (groups, filters / groups, width)."""
        g, width = self.g, self.width(block)
        return self.sums[: g.filters * width].reshape(g.groups, g.filters // g.groups, width)

    def at_windows(self, results: np.ndarray, block: Block) -> np.ndarray:
        """A block's results as they lie in arrays: (images, filters, …), a view without the gaps."""
        g, cells, item = self.g, self.cells(block.rows), results.itemsize
        if self.order == "batched":
            return np.moveaxis(results.reshape(g.filters, *cells.out, block.images), -1, 0)
        strides = (cells.number * item, self.width(block) * item, *[s * item for s in cells.places])
        return as_strided(results, (block.images, g.filters, *cells.out), strides)

    def gathered(self, block: Block) -> np.ndarray:
        """The columns of a block of the images that are held."""
        columns, windows = self.room(block), self.windows(block)
        np.copyto(columns.reshape(windows.shape), windows)
        return columns

    def placed(self, result: np.ndarray, block: Block) -> np.ndarray:
        """A block's part of results (n, filters, …), among zeros where there are gaps."""
        results = self.results(block)
        if self.order == "flat":
            results.fill(0)
        self.at_windows(results, block)[...] = block.of(result)
        return results

    def fold(self, columns: np.ndarray, block: Block) -> None:
        """The transpose of `gathered`: columns added to the images that are held where their windows are."""
        windows = self.windows(block)
        columns = columns.reshape(windows.shape)
        for tap in np.ndindex(*self.g.kernel):
            target = windows[(slice(None), *tap)]
            np.add(target, columns[(slice(None), *tap)], target)


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray, *, order: Order, nbytes: int) -> None:
    """The primitive ``convolve`` into ``out``."""
    work = Columns(g, out.dtype, order, nbytes)
    lhs = weight.reshape(g.groups, g.filters // g.groups, g.rows)
    for first, count in work.images_of():
        work.hold(data[first : first + count])
        for block in work.blocks_of(first, count):
            results = product(lhs, work.gathered(block), work.results(block))
            block.of(out)[...] = work.at_windows(results, block)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray, *, order: Order, nbytes: int) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    work = Columns(g, out.dtype, order, nbytes)
    lhs = weight.reshape(g.groups, g.filters // g.groups, g.rows).swapaxes(1, 2)
    for first, count in work.images_of():
        work.image.fill(0)
        for block in work.blocks_of(first, count):
            work.fold(product(lhs, work.placed(result, block), work.room(block)), block)
        out[first : first + count] = work.images_held(count)[g.inner]


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray, *, order: Order, nbytes: int) -> None:
    """The primitive ``convolve_weight`` into ``out``."""
    work = Columns(g, out.dtype, order, nbytes)
    total = Total(out.reshape(g.groups, g.filters // g.groups, g.rows))
    for first, count in work.images_of():
        work.hold(data[first : first + count])
        for block in work.blocks_of(first, count):
            total.add(work.placed(result, block), work.gathered(block).swapaxes(1, 2))
