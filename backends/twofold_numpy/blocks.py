"""Work cut into blocks of bounded memory: some images at once, or some rows of one."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .memory import POOL


class Block(NamedTuple):
    """``images`` from ``first`` on; of their rows of windows ``rows`` from ``top`` on."""

    first: int
    images: int
    top: int
    rows: int

    def of(self, result: np.ndarray) -> np.ndarray:
        """The block's part of results (n, filters, …)."""
        return result[self.first : self.first + self.images, :, self.top : self.top + self.rows]


class Blocks:
    """Blocks of n images with so many rows of windows, at ``of_row`` bytes each, of about ``nbytes``; at least one row.

    Attributes
    ----------
    images, band
        Most images, and most rows of each, in one block.
    """

    def __init__(self, n: int, rows: int, of_row: int, nbytes: int) -> None:
        self.n, self.rows, of_row = n, rows, max(1, of_row)
        self.images = max(1, min(nbytes // (of_row * max(1, rows)), n))
        self.band = max(1, min(nbytes // of_row, rows))

    def images_of(self) -> Iterator[tuple[int, int]]:
        """(first, count) of the images that are held at once."""
        return _parts(self.n, self.images)

    def blocks_of(self, first: int, count: int) -> Iterator[Block]:
        """The blocks of so many images."""
        for top, rows in _parts(self.rows, self.band):
            yield Block(first, count, top, rows)


def product(lhs: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Matrix products of groups, (…, a, b) · (…, b, c) into (…, a, c); where b is 1, NumPy multiplies much faster."""
    if lhs.shape[-1] == 1:
        return np.multiply(lhs, rhs, out)
    return np.matmul(lhs, rhs, out=out)


class Total:
    """The sum of matrix products, into memory of their shape."""

    def __init__(self, into: np.ndarray) -> None:
        self.into, self._count, self._next = into, 0, into

    def add(self, lhs: np.ndarray, rhs: np.ndarray) -> None:
        """Add a product; the sum begins with the first."""
        if self._count == 1:
            self._next = POOL.empty(self.into.shape, self.into.dtype)
        product(lhs, rhs, self._next)
        if self._count:
            np.add(self.into, self._next, self.into)
        self._count += 1


def _parts(n: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, size):
        yield first, min(size, n - first)
