"""Gradients of depthwise convolutions, in machine code: without a matrix of columns, which would be nine times as large as the images.

* The gradient of a weight is, for each channel and element of the kernel, a sum over all places. Kernels that `jit.depthwise` takes have
  code that reads images in place; a sum has 16 parts.
* For the other kernels, and for processors with narrow vectors, it is a sum of products of two runs: in padded images whose rows are as
  long as those of the gradients of the results, with zeros in the gaps, both runs are contiguous. For a stride of s every s-th row and
  column are put together. A sum has 32 parts, and one chain of multiply-adds each, over all images.
* An inf or NaN in the data may turn more gradients of its channel into NaN than by the definition: it may be multiplied by a zero of a gap.
* The gradient of the data with a stride is that of the dense convolution with the results spread apart, zeros between them: four times
  the multiplications, which `direct` computes faster than columns are added up.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from twofold.backend import workers
from twofold.backend.workers import run_all

from . import direct
from .geometry import Geometry, Kind
from .image_blocks import shares_images
from .memory import POOL

#: Sums of products: called with x (n, c, …), y (n, c, …), sums (c, taps), the offset of each tap in a channel of x, and the run's length.
RunProducts = Callable[[np.ndarray, np.ndarray, np.ndarray, Sequence[int], int], None]
#: Functions from the adapter that return what computes them in machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[], RunProducts | None]] = []
#: Bytes of the images that are copied at once: they fit a core's cache.
BLOCK = 1 << 19


def is_applicable(kind: Kind, g: Geometry, dtype: np.dtype[np.generic]) -> bool:
    """Whether these algorithms apply: to planes of float32, each with a filter of its own."""
    if kind == "forward" or dtype != np.float32 or len(g.size) != 2 or not g.groups == g.channels == g.filters or g.taps == 1:
        return False
    return kind == "weight" or (not g.is_dense and direct.is_applicable("data", _dense(g), dtype))


def is_available() -> bool:
    """Whether the gradients can be compiled on this machine; the first call loads llvmlite."""
    return _code() is not None and direct.is_available()


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_data`` into ``out``, for a stride."""
    dense = _dense(g)
    count = max(1, min(g.n, BLOCK // (result.itemsize * g.channels * dense.out[0] * dense.out[1])))
    spread = POOL.empty((count, g.channels, *dense.out), result.dtype)
    spread.fill(0)
    (down, across), (rows, columns) = g.stride, g.out
    places = spread[:, :, : (rows - 1) * down + 1 : down, : (columns - 1) * across + 1 : across]
    for first in range(0, g.n, count):
        number = min(count, g.n - first)
        places[:number] = result[first : first + number]
        direct.convolve_data(replace(dense, n=number), spread[:number], weight, out[first : first + number])


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_weight`` into ``out``."""
    compute = direct.channel_sums(g)
    if compute is not None:
        compute(data, result, out)
        return
    sums = out.reshape(g.channels, g.taps)
    count = max(1, BLOCK // (2 * data.itemsize * g.n * g.padded[0] * g.padded[1]))
    pieces = [partial(_weights, g, data, result, sums, slice(c, c + count)) for c in range(0, g.channels, count)]
    if workers.count() > 1 and shares_images(g):
        run_all(pieces)
    else:
        for piece in pieces:
            piece()


def _weights(g: Geometry, data: np.ndarray, result: np.ndarray, sums: np.ndarray, part: slice) -> None:
    """The gradients of some channels' weights."""
    code = _code()
    assert code is not None  # `is_available` was asked
    x, y = data[:, part], result[:, part]
    channels, height, width = x.shape[1], -(-g.padded[0] // g.stride[0]), -(-g.padded[1] // g.stride[1])
    planes = POOL.empty((g.n, channels, *g.stride, height, width), x.dtype)
    planes.fill(0)
    for i, j in np.ndindex(*g.stride):
        taken, places = zip(*map(_places, (i, j), g.stride, g.pad, g.size), strict=True)
        planes[:, :, i, j, *places] = x[:, :, *taken]
    rows = POOL.empty((g.n, channels, g.out[0], width), x.dtype)
    rows.fill(0)
    rows[..., : g.out[1]] = y
    code(planes, rows, sums[part], _offsets(g, height, width), (g.out[0] - 1) * width + g.out[1])


def _places(k: int, stride: int, pad: int, size: int) -> tuple[slice, slice]:
    """Which elements of an axis plane ``k`` has, those at ``k``, ``k + stride`` … of the padded image, and where."""
    first = (k - pad) % stride
    count = len(range(first, size, stride))
    return slice(first, size, stride), slice((first + pad) // stride, (first + pad) // stride + count)


def _offsets(g: Geometry, height: int, width: int) -> list[int]:
    """Where the run of each element of the kernel begins in a channel: its plane, row and column."""
    found = []
    for i, j in np.ndindex(*g.kernel):
        (row, down), (column, across) = divmod(i * g.dilate[0], g.stride[0]), divmod(j * g.dilate[1], g.stride[1])
        found.append(((down * g.stride[1] + across) * height + row) * width + column)
    return found


def _dense(g: Geometry) -> Geometry:
    """The convolution with every place a window."""
    return replace(g, stride=(1,) * len(g.stride))


def _code() -> RunProducts | None:
    return next(filter(None, (make() for make in IN_MACHINE_CODE)), None)
