"""Convolution work cut into blocks of bounded memory, several images or some rows of one, and groups of images shared by threads."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from twofold.backend import workers
from twofold.backend.workers import run_all

from . import threads
from .geometry import Geometry
from .memory import POOL
from .products import MULTIPLICATION, THREADED, is_small, multiply

#: Most sums of a weight's gradient that are computed apart, each from some of the images, and then added.
MOST_SUMS = 4


class ImageBlock(NamedTuple):
    """``images`` images from ``first`` on, and of each ``rows`` rows of windows from ``top`` on."""

    first: int
    images: int
    top: int
    rows: int

    def of(self, result: np.ndarray) -> np.ndarray:
        """The block's part of a result (n, filters, …)."""
        return result[self.first : self.first + self.images, :, self.top : self.top + self.rows]


class ImageBlocks:
    """Blocks of about ``nbytes``, at least one row, from n images with ``rows`` rows of windows of ``row_bytes`` each.

    Attributes
    ----------
    images, band
        Most images in a block, and most rows of each.
    """

    def __init__(self, g: Geometry, rows: int, row_bytes: int, nbytes: int) -> None:
        self.n, self.rows, row_bytes = g.n, rows, max(1, row_bytes)
        self.images = max(1, min(nbytes // (row_bytes * max(1, rows)), g.n))
        self.band = max(1, min(nbytes // row_bytes, rows))

    def images_of(self) -> Iterator[tuple[int, int]]:
        """(first, count) of the images that are processed at once."""
        return _parts(self.n, self.images)

    def blocks_of(self, first: int, count: int) -> Iterator[ImageBlock]:
        """The blocks of a range of images."""
        for top, rows in _parts(self.rows, self.band):
            yield ImageBlock(first, count, top, rows)


class SharedImageBlocks(ImageBlocks):
    """Blocks of images that threads may share: for two threads, in an even number of groups of images.

    Attributes
    ----------
    is_shared
        Whether threads process groups of ``images`` images at the same time. Each computes its products in one piece then.
    """

    def __init__(self, g: Geometry, rows: int, row_bytes: int, nbytes: int) -> None:
        super().__init__(g, rows, row_bytes, nbytes)
        self.is_shared = shares_images(g)
        if self.is_shared:
            # the number of groups is rounded up to an even one, and the images are divided evenly among them
            self.images = -(-g.n // (2 * -(-g.n // (2 * self.images))))

    def product(self, lhs: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Batched matrix products, (…, a, b) · (…, b, c) into (…, a, c)."""
        return product(lhs, rhs, out, self.is_shared)


def shares_images(g: Geometry) -> bool:
    """Whether a convolution has several images and enough work for threads. Only sizes matter, since this decides how products are cut."""
    return g.n > 1 and g.products * MULTIPLICATION >= THREADED


W = TypeVar("W", bound=SharedImageBlocks)


def for_images(make: Callable[[], W], process: Callable[[W, int, int], None]) -> None:
    """Call ``process(work, first, count)`` for all images, a group at once, with buffers that ``make`` allocates; on helpers too."""
    first = make()
    _run(make, first, [partial(_process, process, *part) for part in first.images_of()])


def sum_over_images(make: Callable[[], W], process: Callable[[W, int, int, "Total"], None], out: np.ndarray) -> None:
    """Like `for_images`, with a sum of shape ``out`` to add to. Sizes alone give the number of sums (at most `MOST_SUMS`)."""
    first = make()
    parts = list(first.images_of())
    number = min(MOST_SUMS, len(parts)) if first.is_shared else 1
    sums = [out, *[POOL.empty(out.shape, out.dtype) for _ in range(number - 1)]]
    cuts = [k * len(parts) // number for k in range(number + 1)]
    groups = [parts[lo:hi] for lo, hi in pairwise(cuts)]
    _run(make, first, [partial(_add_up, process, group, total) for group, total in zip(groups, sums, strict=True)])
    if number > 1:
        half = len(out) // 2
        _run(make, first, [partial(_add_rows, sums, 0, half), partial(_add_rows, sums, half, len(out))])


def _process(process: Callable[[W, int, int], None], first: int, count: int, work: W) -> None:
    process(work, first, count)


def _add_up(process: Callable[[W, int, int, "Total"], None], parts: Sequence[tuple[int, int]], out: np.ndarray, work: W) -> None:
    total = Total(out, work.is_shared)
    for first, count in parts:
        process(work, first, count, total)


def _add_rows(sums: Sequence[np.ndarray], lo: int, hi: int, _: SharedImageBlocks) -> None:
    """Add rows of all sums to the first."""
    for total in sums[1:]:
        np.add(sums[0][lo:hi], total[lo:hi], sums[0][lo:hi])


def _run(make: Callable[[], W], first: W, tasks: Sequence[Callable[[W], None]]) -> None:
    """Run tasks, each with buffers that no other task uses meanwhile; on helpers too, unless BLAS is limited to one thread."""
    if not first.is_shared:
        for task in tasks:
            task(first)
        return
    free = [first]

    def run(task: Callable[[W], None]) -> None:
        try:
            work = free.pop()
        except IndexError:
            work = make()
        task(work)
        free.append(work)

    with threads.HOLD as hold:
        # limiting BLAS to one thread means that the user wants one thread
        if workers.count() == 1 or hold.before == 1:
            for task in tasks:
                run(task)
        else:
            run_all([partial(run, task) for task in tasks])


def product(lhs: np.ndarray, rhs: np.ndarray, out: np.ndarray, whole: bool = False) -> np.ndarray:
    """Batched matrix products, (…, a, b) · (…, b, c) into (…, a, c); for b = 1 NumPy's multiply is much faster.

    A ``whole`` product is not cut into pieces; the caller holds BLAS to one thread.
    """
    if lhs.shape[-1] == 1:
        return np.multiply(lhs, rhs, out)
    return np.matmul(lhs, rhs, out=out) if whole or is_small(lhs.shape, rhs.shape) else multiply(lhs, rhs, out)


class Total:
    """A sum of matrix products, accumulated in an array of their shape; of ``whole`` ones, see `product`."""

    def __init__(self, into: np.ndarray, whole: bool = False) -> None:
        self.into, self._count, self._next, self._whole = into, 0, into, whole

    def add(self, lhs: np.ndarray, rhs: np.ndarray) -> None:
        """Add a product; the first one is written instead of added."""
        if self._count == 1:
            # from the second product on; a single product needs no addition
            self._next = POOL.empty(self.into.shape, self.into.dtype)
        product(lhs, rhs, self._next, self._whole)
        if self._count:
            np.add(self.into, self._next, self.into)
        self._count += 1


def _parts(n: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, size):
        yield first, min(size, n - first)
