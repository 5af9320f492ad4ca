"""Pointwise (1x1) convolution: a matrix product over channels for each image and group, without columns."""

from collections.abc import Iterator

import numpy as np

from .blocks import Total, product
from .geometry import Geometry


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve`` into ``out``."""
    for image, result in zip(_images(g, data), _images(g, out), strict=True):
        product(_matrices(g, weight), image, result)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    for part, image in zip(_images(g, result), _images(g, out), strict=True):
        product(_matrices(g, weight).swapaxes(1, 2), part, image)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_weight`` into ``out``."""
    total = Total(_matrices(g, out))
    for image, part in zip(_images(g, data), _images(g, result), strict=True):
        total.add(part, image.swapaxes(1, 2))


def _matrices(g: Geometry, weight: np.ndarray) -> np.ndarray:
    """(groups, filters / groups, channels / groups)."""
    return weight.reshape(g.groups, g.filters // g.groups, g.channels // g.groups)


def _images(g: Geometry, x: np.ndarray) -> Iterator[np.ndarray]:
    """Each image of a C-contiguous (n, c, …), as (groups, c / groups, pixels)."""
    return iter(x.reshape(g.n, g.groups, x.shape[1] // g.groups, int(np.prod(x.shape[2:]))))
