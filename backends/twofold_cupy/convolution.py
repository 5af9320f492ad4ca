"""Convolution by cuDNN, or else by matrix products over columns (im2col) of as many batch items at a time as fit the workspace."""

import math
from collections.abc import Iterator, Sequence
from functools import reduce

from twofold.backend import convolution as portable
from twofold.backend.kernel import Array, Namespace
from twofold.backend.strides import Sizes
from twofold.dtype import ITEMSIZE

from . import cudnn

#: Bytes of columns in memory at a time, unless a single batch item needs more.
WORKSPACE = 256 << 20


def batch_parts(count: int, channels: int, kernel: Sizes, out: Sizes, dtype: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each part of a batch.

    Parameters
    ----------
    count
        Size of the batch.
    channels, kernel, out
        Channels of the data, shape of a window, and number of windows along each axis.
    dtype
        Dtype of the columns.
    """
    item = channels * math.prod(kernel) * math.prod(out) * ITEMSIZE[dtype]
    step = max(1, WORKSPACE // max(item, 1))
    for begin in range(0, count, step):
        yield begin, min(begin + step, count)


def _parts(xp: Namespace, batch: Array, cuts: Sequence[tuple[int, int]]) -> list[Array]:
    """The parts of a batch; the batch itself if there is only one."""
    rest = [(None, None, None)] * (len(batch.shape) - 1)
    return [xp.slice(batch, key=((*cut, None), *rest)) for cut in cuts] if len(cuts) > 1 else [batch]


def _joined(xp: Namespace, parts: Sequence[Array]) -> Array:
    return xp.concat(*parts, axis=0) if len(parts) > 1 else parts[0]


def convolve(xp: Namespace, data: Array, weight: Array, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Array:
    """The primitive ``convolve``."""
    kernel = weight.shape[2:]
    out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in zip(data.shape[2:], kernel, stride, dilate, pad, strict=True))
    by_cudnn = cudnn.try_convolution(xp, "convolve", data, weight, (data.shape[0], weight.shape[0], *out), stride, dilate, pad)
    if by_cudnn is not None:
        return by_cudnn
    cuts = list(batch_parts(data.shape[0], data.shape[1], kernel, out, xp.dtype_of(data)))
    return _joined(xp, [portable.convolve(xp, part, weight, stride, dilate, pad, groups) for part in _parts(xp, data, cuts)])


def convolve_data(xp: Namespace, result: Array, weight: Array, size: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Array:
    """The primitive ``convolve_data``."""
    channels, kernel = weight.shape[1] * groups, weight.shape[2:]
    by_cudnn = cudnn.try_convolution(xp, "convolve_data", result, weight, (result.shape[0], channels, *size), stride, dilate, pad)
    if by_cudnn is not None:
        return by_cudnn
    cuts = list(batch_parts(result.shape[0], channels, kernel, result.shape[2:], xp.dtype_of(result)))
    return _joined(xp, [portable.convolve_data(xp, part, weight, size, stride, dilate, pad, groups) for part in _parts(xp, result, cuts)])


def convolve_weight(
    xp: Namespace, data: Array, result: Array, kernel: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int
) -> Array:
    """The primitive ``convolve_weight``; the results of the parts are summed in order."""
    out = (result.shape[1], data.shape[1] // groups, *kernel)
    by_cudnn = cudnn.try_convolution(xp, "convolve_weight", data, result, out, stride, dilate, pad)
    if by_cudnn is not None:
        return by_cudnn
    cuts = list(batch_parts(data.shape[0], data.shape[1], kernel, result.shape[2:], xp.dtype_of(data)))
    pairs = zip(_parts(xp, data, cuts), _parts(xp, result, cuts), strict=True)
    return reduce(xp.add, [portable.convolve_weight(xp, *pair, kernel, stride, dilate, pad, groups) for pair in pairs])
