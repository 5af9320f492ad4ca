"""Products of 8-bit integers by products of floats, for adapters that have no code for them.

A float32 sum of such products is exact up to 2²⁴, which bounds the number of terms; longer sums are int32 sums of such parts. ``xp`` is an
adapter's namespace.
"""

import math
from collections.abc import Callable, Sequence

from . import convolution
from .kernel import Array, Namespace

#: How many products with int8 numbers a float32 holds the sum of, exactly. The largest of them are (-128)² = 2¹⁴, and 255 · 128 for
#: uint8.
TERMS = {"int8": 2**24 // 2**14, "uint8": 2**24 // (255 * 128)}


def matmul(xp: Namespace, rows: Array, weight: Array) -> Array:
    """The primitive ``integer_matmul``."""
    most, length = TERMS[xp.dtype_of(rows)], rows.shape[1]
    total = None
    # one round for an empty sum too, which gives zeros of the right shape
    for start in range(0, max(length, 1), most):
        a, b = (_as_floats(xp, x, start, min(start + most, length)) for x in (rows, weight))
        # each partial sum is exact in float32, so the int32 sum of them is too
        part = xp.astype(xp.matmul(a, xp.permute_dims(b, axes=(1, 0))), dtype="int32")
        total = part if total is None else xp.add(total, part)
    return total


def convolve(
    xp: Namespace,
    data: Array,
    weight: Array,
    *,
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    groups: int,
    by: Callable[..., Array] = convolution.convolve,
) -> Array:
    """The primitive ``integer_convolve``, of as many channels at a time as float32 sums allow.

    ``by`` convolves floats. It must only add and multiply elements of the operands: Winograd's algorithm would not be exact.
    """
    params = {"stride": stride, "dilate": dilate, "pad": pad, "groups": groups}
    most, depth = TERMS[xp.dtype_of(data)] // math.prod(weight.shape[2:]), weight.shape[1]
    if depth > most and (groups > 1 or most == 0):  # a sum of float64 numbers is exact in any case
        wide = [xp.astype(x, dtype="float64") for x in (data, weight)]
        return xp.astype(by(xp, *wide, **params), dtype="int32")
    total = None
    # with groups the first part is the whole depth: each group's channels would have to be cut apart otherwise
    for start in range(0, max(depth, 1), most):
        stop = min(start + most, depth)
        a, b = (_as_floats(xp, x, start, end) for x, end in ((data, data.shape[1] if groups > 1 else stop), (weight, stop)))
        part = xp.astype(by(xp, a, b, **params), dtype="int32")
        total = part if total is None else xp.add(total, part)
    return total


def _as_floats(xp: Namespace, x: Array, start: int, stop: int) -> Array:
    """A range of the second axis in float32."""
    if (start, stop) != (0, x.shape[1]):
        every = (None, None, None)
        x = xp.slice(x, key=(every, (start, stop, None), *[every] * (len(x.shape) - 2)))
    return xp.astype(x, dtype="float32")
