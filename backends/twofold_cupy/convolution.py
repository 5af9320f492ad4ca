"""Convolution by cuDNN; else by matrix products over columns of windows, for as many items of a batch at a time as there is room for."""

import math
from collections.abc import Iterator
from typing import Any

from twofold.backend import convolution as whole
from twofold.dtype import ITEMSIZE

from . import cudnn

Sizes = tuple[int, ...]

#: Bytes of columns that are made at a time, if an item of the batch takes no more.
WORKSPACE = 256 << 20


def parts(count: int, channels: int, kernel: Sizes, out: Sizes, dtype: str) -> Iterator[tuple[int, int]]:
    """Where the parts of a batch of so many items begin and end.

    Parameters
    ----------
    count
        Items of the batch.
    channels, kernel, out
        Of the data; sizes of the window and how many windows each axis has.
    dtype
        Of the columns.
    """
    item = channels * math.prod(kernel) * math.prod(out) * ITEMSIZE[dtype]
    step = max(1, WORKSPACE // max(item, 1))
    for begin in range(0, count, step):
        yield begin, min(begin + step, count)


def _taken(xp: Any, x: Any, begin: int, end: int) -> Any:
    return xp.slice(x, key=((begin, end, None), *[(None, None, None)] * (len(x.shape) - 1)))


def convolve(xp: Any, data: Any, weight: Any, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Any:
    """The primitive ``convolve``."""
    kernel = weight.shape[2:]
    out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in zip(data.shape[2:], kernel, stride, dilate, pad, strict=True))
    found = cudnn.computed(xp, "convolve", data, weight, (data.shape[0], weight.shape[0], *out), stride, dilate, pad)
    if found is not None:
        return found
    cuts = list(parts(data.shape[0], data.shape[1], kernel, out, xp.dtype_of(data)))
    if len(cuts) < 2:
        return whole.convolve(xp, data, weight, stride, dilate, pad, groups)
    return xp.concat(*[whole.convolve(xp, _taken(xp, data, *cut), weight, stride, dilate, pad, groups) for cut in cuts], axis=0)


def convolve_data(xp: Any, result: Any, weight: Any, size: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Any:
    """The primitive ``convolve_data``."""
    channels, kernel = weight.shape[1] * groups, weight.shape[2:]
    by_cudnn = cudnn.computed(xp, "convolve_data", result, weight, (result.shape[0], channels, *size), stride, dilate, pad)
    if by_cudnn is not None:
        return by_cudnn
    cuts = list(parts(result.shape[0], channels, kernel, result.shape[2:], xp.dtype_of(result)))
    if len(cuts) < 2:
        return whole.convolve_data(xp, result, weight, size, stride, dilate, pad, groups)
    found = [whole.convolve_data(xp, _taken(xp, result, *cut), weight, size, stride, dilate, pad, groups) for cut in cuts]
    return xp.concat(*found, axis=0)


def convolve_weight(xp: Any, data: Any, result: Any, kernel: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Any:
    """The primitive ``convolve_weight``: the parts' results are added up in order."""
    out = (result.shape[1], data.shape[1] // groups, *kernel)
    by_cudnn = cudnn.computed(xp, "convolve_weight", data, result, out, stride, dilate, pad)
    if by_cudnn is not None:
        return by_cudnn
    cuts = list(parts(data.shape[0], data.shape[1], kernel, result.shape[2:], xp.dtype_of(data)))
    found = [
        whole.convolve_weight(xp, _taken(xp, data, *cut), _taken(xp, result, *cut), kernel, stride, dilate, pad, groups) for cut in cuts
    ]
    if len(found) < 2:
        return found[0] if found else whole.convolve_weight(xp, data, result, kernel, stride, dilate, pad, groups)
    total = found[0]
    for part in found[1:]:
        total = xp.add(total, part)
    return total
