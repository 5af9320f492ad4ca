"""Convolution and its gradients in terms of other primitives, as matrix products over columns of windows (im2col).

The default for adapters without algorithms of their own. Source: Chellapilla, Puri & Simard, "High performance convolutional neural
networks for document processing", 2006. ``xp`` is an adapter's namespace.
"""

import math
from collections.abc import Callable, Sequence
from functools import wraps

from .kernel import Array, Namespace

Sizes = Sequence[int]
#: A primitive as a method of a namespace.
Method = Callable[..., Array]


def in_either_order(images: tuple[int, ...] = (0,), gives_image: bool = True) -> Callable[[Method], Method]:
    """Add the parameter ``channels_last`` to a channels-first convolution primitive, by transposing its images.

    Parameters
    ----------
    images
        Which of its operands are images.
    gives_image
        Whether the result is one.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def run(xp: Namespace, *operands: Array, channels_last: bool = False, **params: object) -> Array:
            if not channels_last:
                return method(xp, *operands, **params)
            last = len(operands[0].shape) - 1
            # (n, d…, c) to (n, c, d…), and back; weights are channels first in either order
            first, back = (0, last, *range(1, last)), (0, *range(2, last + 1), 1)
            moved = [xp.contiguous(xp.permute_dims(x, axes=first)) if k in images else x for k, x in enumerate(operands)]
            found = method(xp, *moved, **params)
            return xp.contiguous(xp.permute_dims(found, axes=back)) if gives_image else found

        return run

    return decorate


def convolve(xp: Namespace, data: Array, weight: Array, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Array:
    """The primitive ``convolve``."""
    f, depth, *kernel = weight.shape
    cols, out = _columns(xp, data, kernel, stride, dilate, pad, groups)
    # one row per filter: (groups, f / groups, n · windows)
    product = xp.matmul(xp.reshape(weight, shape=(groups, f // groups, depth * math.prod(kernel))), cols)
    return _swap_leading_axes(xp, xp.reshape(product, shape=(f, data.shape[0], *out)))


def unpacked_weight(xp: Namespace, packed: Array, shape: Sizes, groups: int) -> Array:
    """A weight of some shape, given in panels (`ops.primitive_convolve.packed_weight`)."""
    panels, elements, width = packed.shape
    rows = xp.reshape(xp.permute_dims(packed, axes=(0, 2, 1)), shape=(groups, panels // groups * width, elements))
    return xp.reshape(xp.slice(rows, key=((0, groups, None), (0, shape[0] // groups, None), (0, elements, None))), shape=shape)


def convolve_data(xp: Namespace, result: Array, weight: Array, size: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Array:
    """The primitive ``convolve_data``: columns are summed where their windows overlap (col2im)."""
    f, depth, *kernel = weight.shape
    k, (n, _, *out) = len(kernel), result.shape
    lhs = xp.reshape(weight, shape=(groups, f // groups, depth * math.prod(kernel)))
    cols = xp.matmul(xp.permute_dims(lhs, axes=(0, 2, 1)), _rows(xp, result, groups))
    # columns (c, kernel…, n, o…) become windows (n, c, o…, kernel…), which `fold` adds up
    apart = xp.reshape(cols, shape=(groups * depth, *kernel, n, *out))
    order = (1 + k, 0, *range(2 + k, 2 + 2 * k), *range(1, 1 + k))
    # windows at the edges cover padding, whose sums are cut off afterwards
    whole = [m + 2 * p for m, p in zip(size, pad, strict=True)]
    folded = xp.fold(xp.permute_dims(apart, axes=order), size=tuple(whole), kernel=tuple(kernel), stride=stride, dilate=dilate)
    inner = [(p, p + m, None) for m, p in zip(size, pad, strict=True)]
    return xp.contiguous(xp.slice(folded, key=((None, None, None), (None, None, None), *inner))) if any(pad) else folded


def convolve_weight(
    xp: Namespace, data: Array, result: Array, kernel: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int
) -> Array:
    """The primitive ``convolve_weight``."""
    cols, _ = _columns(xp, data, kernel, stride, dilate, pad, groups)
    product = xp.matmul(_rows(xp, result, groups), xp.permute_dims(cols, axes=(0, 2, 1)))
    return xp.reshape(product, shape=(result.shape[1], data.shape[1] // groups, *kernel))


def _columns(xp: Namespace, data: Array, kernel: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> tuple[Array, list[int]]:
    """The windows of (n, c, …) as columns (groups, c / groups · kernel, n · windows), and the number of windows along each axis."""
    k = len(kernel)
    if any(pad):
        data = xp.pad(data, width=((0, 0), (0, 0), *[(p, p) for p in pad]))
    windows = xp.unfold(data, kernel=tuple(kernel), stride=stride, dilate=dilate)
    n, c, *out = windows.shape[: 2 + k]
    order = (1, *range(2 + k, 2 + 2 * k), 0, *range(2, 2 + k))
    copied = xp.contiguous(xp.permute_dims(windows, axes=order))
    return xp.reshape(copied, shape=(groups, c // groups * math.prod(kernel), n * math.prod(out))), out


def _rows(xp: Namespace, result: Array, groups: int) -> Array:
    """(n, f, o…) as (groups, f / groups, n · o…)."""
    n, f, *out = result.shape
    return xp.reshape(_swap_leading_axes(xp, result), shape=(groups, f // groups, n * math.prod(out)))


def _swap_leading_axes(xp: Namespace, x: Array) -> Array:
    """A contiguous copy with the first two axes swapped."""
    return xp.contiguous(xp.permute_dims(x, axes=(1, 0, *range(2, len(x.shape)))))
