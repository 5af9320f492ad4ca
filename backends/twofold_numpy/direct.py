"""Direct convolution, in machine code: no matrix of columns is made.

Each result of a filter is a sum over its taps (channels and elements of the kernel) of a weight times an element of the image. If the image
is padded, for one tap the elements that neighboring results read are neighbors, too: a run of results is a sum of runs of the image, each
multiplied by one weight. Machine code (`jit.direct`) accumulates some filters by some vectors of such a run in registers.

* A convolution is cut into *items*: an image, one of the groups, a band of rows, and a range of filters. Threads share the items.
* The rows of the image that a band reads are copied, with zeros as padding, to memory that fits the L2 cache; without padding they are read
  in place. For a stride of s, every s-th row and column are put together.
* Each column of the kernel has its own copy, whose rows are as long as those of the results. Where this is not worth its time, and for
  images that are read in place, a run continues over the ends of rows: results computed there are dropped when a tile is copied out.

The sum over the taps is one chain of fused multiply-adds in the order of channels and kernel, for every result, however the work is cut.

Source: Georganas et al., "Anatomy of high-performance deep learning convolutions on SIMD architectures", SC 2018, with channels first.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from twofold.config import ON_CHANGE

from .direct_tiling import ITEM, REACH
from .geometry import Geometry, Kind
from .memory import POOL

#: A convolution in machine code, called with image, weight, result and scratch; and the bytes of the scratch.
Bound = tuple[Callable[..., object], int]
Binder = Callable[[Kind, Geometry], Bound]
#: Functions from the adapter that return what binds convolutions to machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[], Binder | None]] = []
#: Multiplications from which the convolution is worth loading the compiler, which takes 0.1 s. The second number is for grouped
#: convolutions, whose columns take ten times as long as their products.
LEAST, LEAST_IN_GROUPS = 1 << 20, 1 << 15
_NOTHING = np.empty(0, np.uint8)


def is_applicable(kind: Kind, g: Geometry, dtype: np.dtype[np.generic]) -> bool:
    """Whether the algorithm applies: to lines and planes of float32, and for gradients with respect to the data if the stride is 1."""
    if dtype != np.float32 or kind == "weight" or not 1 <= len(g.size) <= 2:
        return False
    # with more padding than that, the reversed convolution would need negative padding
    if kind == "data" and not (g.is_dense and all(p <= e * (k - 1) for p, e, k in zip(g.pad, g.dilate, g.kernel, strict=True))):
        return False
    return ITEM * max(math.prod(g.padded) * g.channels, g.rows * g.filters, math.prod(g.out) * g.filters) < REACH // 2


def is_worth_compiling(g: Geometry) -> bool:
    """Whether there is enough to compute."""
    return g.products >= (LEAST if g.groups == 1 else LEAST_IN_GROUPS)


def is_available() -> bool:
    """Whether convolutions can be compiled on this machine; the first call loads llvmlite."""
    return _binder() is not None


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve`` into ``out``."""
    _run("forward", g, data, weight, out)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_data`` into ``out``: with stride 1, a convolution with the reversed kernel."""
    _run("data", g, result, weight, out)


def _run(kind: Kind, g: Geometry, image: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    compute, scratch = _bound(kind, g)
    compute(np.ascontiguousarray(image), weight, out, scratch_memory(scratch))


def scratch_memory(nbytes: int) -> np.ndarray:
    """Memory that a convolution uses while it is computed."""
    return POOL.empty((nbytes,), np.dtype(np.uint8)) if nbytes else _NOTHING


@lru_cache(1024)
def _bound(kind: Kind, g: Geometry) -> Bound:
    bind = _binder()
    assert bind is not None  # `is_available` was asked
    return bind(kind, g)


ON_CHANGE.append(_bound.cache_clear)


def _binder() -> Binder | None:
    return next(filter(None, (make() for make in IN_MACHINE_CODE)), None)
