"""Pointwise (1x1) convolution: a matrix product over channels for each image and group, without columns."""

from functools import partial

import numpy as np

from .geometry import Geometry
from .image_blocks import SharedImageBlocks, Total, for_images, sum_over_images


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve`` into ``out``."""
    images, results, lhs = _images(g, data), _images(g, out), _matrices(g, weight)

    def process(work: SharedImageBlocks, first: int, count: int) -> None:
        for k in range(first, first + count):
            work.product(lhs, images[k], results[k])

    for_images(partial(_one_by_one, g), process)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    parts, images, lhs = _images(g, result), _images(g, out), _matrices(g, weight).swapaxes(1, 2)

    def process(work: SharedImageBlocks, first: int, count: int) -> None:
        for k in range(first, first + count):
            work.product(lhs, parts[k], images[k])

    for_images(partial(_one_by_one, g), process)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_weight`` into ``out``."""
    images, parts = _images(g, data), _images(g, result)

    def process(work: SharedImageBlocks, first: int, count: int, total: Total) -> None:
        for k in range(first, first + count):
            total.add(parts[k], images[k].swapaxes(1, 2))

    sum_over_images(partial(_one_by_one, g), process, _matrices(g, out))


def _one_by_one(g: Geometry) -> SharedImageBlocks:
    """Groups of one image, in one block."""
    return SharedImageBlocks(g, rows=1, row_bytes=1, nbytes=1)


def _matrices(g: Geometry, weight: np.ndarray) -> np.ndarray:
    """(groups, filters / groups, channels / groups)."""
    return weight.reshape(g.groups, g.filters // g.groups, g.channels // g.groups)


def _images(g: Geometry, x: np.ndarray) -> np.ndarray:
    """The images of a C-contiguous (n, c, …): (n, groups, c / groups, pixels), a view."""
    return x.reshape(g.n, g.groups, x.shape[1] // g.groups, int(np.prod(x.shape[2:])))
