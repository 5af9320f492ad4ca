"""``twofold.np.lib.stride_tricks``: windows and other arrangements of memory as read-only views, with gradients."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..backend.strides import row_major
from ..errors import ParameterError
from ..ndarray.types import ArrayLike, Shape
from ..opdef import integers
from ..ops.primitive_shape import permute_dims, unfold
from .arrangements import strided, view_as
from .array import ndarray
from .creation import operand

#: For windows with several sizes along one axis.
_windows = view_as(np.lib.stride_tricks.sliding_window_view)


def as_strided(
    x: ArrayLike,
    shape: Shape | None = None,
    strides: Shape | None = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,
) -> ndarray:
    """The elements of an array's memory that sizes and strides select, beginning with the first one of the array.

    Parameters
    ----------
    x
        The array. Elements outside a view of a larger array count too, if that array has them.
    shape
        Sizes of the result; None: those of ``x``.
    strides
        Bytes from one element to the next along each axis, multiples of the size of an element; None: those of ``x``, or of rows one after
        the other if ``x`` has such.
    subok, writeable
        Have no effect: the result is a read-only view, since its elements may share memory.
    check_bounds
        Has no effect: bounds are always checked. NumPy has it from 2.5 on.

    Raises
    ------
    ParameterError
        If the strides are no multiples of the size of an element, differ in number from the sizes, or lead out of the memory.

    Examples
    --------
    >>> from twofold import np
    >>> np.lib.stride_tricks.as_strided(np.arange(5), (3, 2), (8, 8)).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    array = operand(x)
    size = array.itemsize
    sizes = array.shape if shape is None else integers(shape)
    if strides is None:
        steps = tuple([s * size for s in row_major(sizes)]) if array.flags.c_contiguous else array.strides
    else:
        steps = integers(strides)
    if len(sizes) != len(steps) or any(step % size for step in steps) or min(sizes, default=0) < 0:
        given = f"shape {sizes}, strides {steps}, elements of {size} bytes"
        raise ParameterError("as_strided: invalid shape or strides", given, "pass one multiple of the size of an element for each axis")
    base = array.base
    owner = array if base is None else base.as_np_ndarray()
    # in elements of the owner's memory
    first, jumps = 0 if base is None else array._strided.offset, [step // size for step in steps]
    if not _is_inside(owner.size, first, sizes, jumps):
        given = f"shape {sizes}, strides {steps} in an array of {owner.size} elements"
        raise ParameterError("as_strided: elements outside the array", given, "pass smaller sizes or strides")
    return strided(owner, first, sizes, jumps)


def _is_inside(size: int, first: int, sizes: Sequence[int], jumps: Sequence[int]) -> bool:
    """Whether so many elements of memory include all that a grid selects, which begins at one of them."""
    reached = [(n - 1) * jump for n, jump in zip(sizes, jumps, strict=True)]
    return 0 in sizes or (first + sum([min(r, 0) for r in reached]) >= 0 and first + sum([max(r, 0) for r in reached]) < size)


def sliding_window_view(
    x: ArrayLike, window_shape: int | Shape, axis: int | Shape | None = None, *, subok: bool = False, writeable: bool = False
) -> ndarray:
    """All windows of a size, along new last axes: a read-only view, so that only windows that are used are copied.

    On GPUs all windows are copied, even if only a slice of them is used.

    Parameters
    ----------
    x
        The array.
    window_shape
        Sizes of the windows.
    axis
        The axes that they slide along; None: all. An axis may be named twice.
    subok, writeable
        Have no effect: windows share elements, so that a write through one would change others.

    Raises
    ------
    ValueError
        As NumPy's: if there are not as many sizes as axes, or a window does not fit.

    Examples
    --------
    >>> from twofold import np
    >>> np.lib.stride_tricks.sliding_window_view(np.arange(5), 3)[::2].tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
    array = operand(x)
    ndim = array.ndim
    named = None if axis is None else normalize_axis_tuple(axis, ndim, allow_duplicate=True)
    # NumPy judges the arguments, on an array without memory
    kernel = np.lib.stride_tricks.sliding_window_view(np.broadcast_to(0, array.shape), window_shape, named).shape[ndim:]
    axes = tuple(range(ndim)) if named is None else named
    if len(set(axes)) < len(axes):
        return _windows(x, window_shape, axis)
    order = (*[k for k in range(ndim) if k not in axes], *axes)
    ones = (1,) * len(kernel)
    # the axes that windows slide along go last for `unfold`, which appends the windows' axes, and then back to their places
    return array._view(
        permute_dims.bind(axes=order),
        unfold.bind(kernel=kernel, stride=ones, dilate=ones),
        permute_dims.bind(axes=(*map(order.index, range(ndim)), *range(ndim, ndim + len(kernel)))),
    )
