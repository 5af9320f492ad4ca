"""Views: other shapes and strides of an array's memory. Nothing is launched, except for a reshape that NumPy would copy for too."""

from collections.abc import Callable

import cupy
import numpy as np

from twofold.backend.kernel import Array
from twofold.backend.strides import Sizes

from .operands import is_constant, reshaped_constant, scalar_of


def strides_of(x: cupy.ndarray) -> Sizes:
    """An array's strides in elements."""
    size = x.dtype.itemsize
    return tuple(s // size for s in x.strides)


def span(a: cupy.ndarray) -> tuple[int, int]:
    """The byte range of an array relative to its first element; it begins below 0 with negative strides."""
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)] if a.size else []
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + (a.itemsize if a.size else 0)


def strided(x: cupy.ndarray, shape: Sizes, strides: Sizes, offset: int = 0) -> cupy.ndarray:
    """A view with other strides, from an offset on; both in elements."""
    size = x.dtype.itemsize
    return cupy.ndarray(shape, x.dtype, x.data + offset * size, tuple(s * size for s in strides))


def reshaped(x: Array, shape: Sizes, copy: Callable[[Array], Array]) -> Array:
    """An array in another shape; a copy only if no strides describe it."""
    if is_constant(x):
        return reshaped_constant(x, np.empty(0).reshape(x.shape).reshape(shape).shape if x.size == 0 else _full_shape(x.size, shape))
    if x._c_contiguous:
        return x.reshape(shape)
    # NumPy works out the strides on an array of the same geometry, whose memory is never touched
    like = np.lib.stride_tricks.as_strided(np.empty(1, x.dtype), x.shape, x.strides, writeable=False)
    try:
        return strided(x, *_elements(np.reshape(like, shape, copy=False)))
    except ValueError:
        return copy(x).reshape(shape)


def _elements(like: np.ndarray) -> tuple[Sizes, Sizes]:
    return like.shape, tuple(s // like.dtype.itemsize for s in like.strides)


def _full_shape(count: int, shape: Sizes) -> Sizes:
    """A shape with its -1 resolved."""
    rest = 1
    for n in shape:
        rest *= n if n >= 0 else 1
    return tuple(n if n >= 0 else count // max(rest, 1) for n in shape)


def broadcast(x: Array, shape: Sizes) -> Array:
    """An array repeated along axes, by strides of 0."""
    if is_constant(x):
        # raises the error if the shapes do not fit; the next line would not, since it reads a scalar
        np.broadcast_shapes(x.shape, shape)
        return np.broadcast_to(scalar_of(x), shape)
    return cupy.broadcast_to(x, shape)


def windows(x: cupy.ndarray, kernel: Sizes, stride: Sizes, dilate: Sizes) -> cupy.ndarray:
    """The windows of an array's last axes: (…, windows…, kernel…)."""
    lead = x.ndim - len(kernel)
    own = strides_of(x)
    out = tuple((s - d * (k - 1) - 1) // t + 1 for s, k, t, d in zip(x.shape[lead:], kernel, stride, dilate, strict=True))
    steps = tuple(s * t for s, t in zip(own[lead:], stride, strict=True))
    inner = tuple(s * d for s, d in zip(own[lead:], dilate, strict=True))
    return strided(x, (*x.shape[:lead], *out, *kernel), (*own[:lead], *steps, *inner))
