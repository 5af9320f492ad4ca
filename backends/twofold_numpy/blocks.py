"""Convolution work cut into blocks of bounded memory: several images at once, or some rows of one."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .memory import POOL
from .products import is_small, multiply


class Block(NamedTuple):
    """``images`` images from ``first`` on, and of each ``rows`` rows of windows from ``top`` on."""

    first: int
    images: int
    top: int
    rows: int

    def of(self, result: np.ndarray) -> np.ndarray:
        """The block's part of a result (n, filters, …)."""
        return result[self.first : self.first + self.images, :, self.top : self.top + self.rows]


class Blocks:
    """Blocks of about ``nbytes``, at least one row, from n images with ``rows`` rows of windows of ``row_bytes`` each.

    Attributes
    ----------
    images, band
        Most images in a block, and most rows of each.
    """

    def __init__(self, n: int, rows: int, row_bytes: int, nbytes: int) -> None:
        self.n, self.rows, row_bytes = n, rows, max(1, row_bytes)
        self.images = max(1, min(nbytes // (row_bytes * max(1, rows)), n))
        self.band = max(1, min(nbytes // row_bytes, rows))

    def images_of(self) -> Iterator[tuple[int, int]]:
        """(first, count) of the images that are processed at once."""
        return _parts(self.n, self.images)

    def blocks_of(self, first: int, count: int) -> Iterator[Block]:
        """The blocks of a range of images."""
        for top, rows in _parts(self.rows, self.band):
            yield Block(first, count, top, rows)


def product(lhs: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Batched matrix products, (…, a, b) · (…, b, c) into (…, a, c); for b = 1 NumPy's multiply is much faster."""
    if lhs.shape[-1] == 1:
        return np.multiply(lhs, rhs, out)
    return np.matmul(lhs, rhs, out=out) if is_small(lhs.shape, rhs.shape) else multiply(lhs, rhs, out)


class Total:
    """A sum of matrix products, accumulated in an array of their shape."""

    def __init__(self, into: np.ndarray) -> None:
        self.into, self._count, self._next = into, 0, into

    def add(self, lhs: np.ndarray, rhs: np.ndarray) -> None:
        """Add a product; the first one is written instead of added."""
        if self._count == 1:
            self._next = POOL.empty(self.into.shape, self.into.dtype)
        product(lhs, rhs, self._next)
        if self._count:
            np.add(self.into, self._next, self.into)
        self._count += 1


def _parts(n: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, size):
        yield first, min(size, n - first)
