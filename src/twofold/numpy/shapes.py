"""Functions of ``twofold.np`` that rearrange elements: views where NumPy returns views, joining, repeating, padding.

Functions without an operator are `rearranged`: NumPy's function is applied to the elements' indices, and the elements are gathered by
the result. So results are NumPy's by construction, and gradients flow.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, wraps

import numpy as np

from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.array import Array, adopted
from ..imperative.cell import PLAIN, is_view
from ..imperative.views import ready_memory
from ..ndarray.types import ArrayLike, Axis, DTypeLike, Index, Order, Shape
from ..opdef import BoundOp, broadcast_shapes, distinct_axes, integers, moved_axes, normalized_axis
from ..opdef.frontend import named
from ..ops import creation, primitive_gather, primitive_shape, reshaping
from .arrangements import view_as
from .array import Out, ndarray
from .creation import broadcast_view, operand, operands, read_only
from .fallback import by_numpy, to_numpy
from .reductions import run, sum
from .ufuncs import chosen

# views


def reshape(a: ArrayLike, /, shape: Shape, order: Order = "C", *, copy: bool | None = None) -> ndarray:
    """The elements in a new shape; see `ndarray.reshape`."""
    return operand(a).reshape(shape, order=order, copy=copy)


def ravel(a: ArrayLike, order: Order = "C") -> ndarray:
    """The elements along one axis: a view if they are adjacent in memory, else a copy."""
    return operand(a).ravel(order)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> ndarray:
    """A view with the axes in the given order, reversed by default."""
    return operand(a).transpose(axes)


permute_dims = transpose


def matrix_transpose(x: ArrayLike, /) -> ndarray:
    """A view with the last two axes swapped."""
    return operand(x).mT


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> ndarray:
    """A view with two axes swapped."""
    return operand(a).swapaxes(axis1, axis2)


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> ndarray:
    """A view with axes moved to new positions; the others keep their order.

    Raises
    ------
    ShapeError
        If an axis is out of range or named twice.
    ParameterError
        If source and destination differ in length.
    """
    x = operand(a)
    return x.transpose(moved_axes(source, destination, x.ndim))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> ndarray:
    """A view with one axis moved before another one."""
    x = operand(a)
    at, to = normalized_axis(axis, x.ndim), start + x.ndim if start < 0 else start
    return moveaxis(x, at, to - 1 if at < to else to)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> ndarray:
    """A view with new axes of size 1 at the given positions of the result."""
    x = operand(a)
    given = integers(axis)
    ndim = x.ndim + len(given)
    places, sizes = distinct_axes(given, ndim, "axis"), iter(x.shape)
    return x.reshape(tuple(1 if k in places else next(sizes) for k in range(ndim)))


def squeeze(a: ArrayLike, axis: Axis = None) -> ndarray:
    """A view without axes of size 1 (the given ones, or all)."""
    return operand(a).squeeze(axis)


def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> ndarray:
    """A read-only view, repeated along axes of size 1 and new leading axes.

    Raises
    ------
    ShapeError
        If the array cannot be broadcast to the shape.
    """
    x, target = operand(array), integers(shape)
    if broadcast_shapes("broadcast_to", [x.shape, target]) != target:
        raise ShapeError("broadcast_to: cannot broadcast to this shape", f"{x.shape} to {target}", "only axes of size 1 can be broadcast")
    return broadcast_view(x, target)


def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[ndarray, ...]:
    """Read-only views of arrays, broadcast to their common shape."""
    arrays = operands(*args)
    shape = broadcast_shapes("broadcast_arrays", [a.shape for a in arrays])
    return tuple(broadcast_view(a, shape) for a in arrays)


def _at_least(ndim: int, where: Callable[[int], Index]) -> Callable[..., ndarray | tuple[ndarray, ...]]:
    @named(f"atleast_{ndim}d", f"Views of arrays with at least {ndim} axes; new ones are placed as in NumPy.")
    def function(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]:
        results = [a if a.ndim >= ndim else a[where(a.ndim)] for a in operands(*arys)]
        return results[0] if len(results) == 1 else tuple(results)

    return function


atleast_1d = _at_least(1, lambda ndim: (None, ...))
atleast_2d = _at_least(2, lambda ndim: (None,) * (2 - ndim) + (...,))
atleast_3d = _at_least(3, lambda ndim: ((None, None, None), (None, slice(None), None), (..., None))[ndim])


def flip(m: ArrayLike, axis: Axis = None) -> ndarray:
    """A view reversed along axes (all if None)."""
    x = operand(m)
    return x[_reversed_along(x.ndim, None if axis is None else integers(axis))]


@lru_cache(1024)
def _reversed_along(ndim: int, axes: tuple[int, ...] | None) -> tuple[slice, ...]:
    """The index that reverses an array along axes (all if None)."""
    backwards = range(ndim) if axes is None else distinct_axes(axes, ndim)
    return tuple([slice(None, None, -1) if k in backwards else slice(None) for k in range(ndim)])


def fliplr(m: ArrayLike) -> ndarray:
    """A view reversed along the second axis."""
    return flip(m, 1)


def flipud(m: ArrayLike) -> ndarray:
    """A view reversed along the first axis."""
    return flip(m, 0)


def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> ndarray:
    """A view rotated by ``k`` times 90 degrees in the plane of two axes, from the first toward the second."""
    x = operand(m)
    a, b = (normalized_axis(n, x.ndim) for n in axes)
    if a == b:
        raise ShapeError("Axes must be different.", str(tuple(axes)), "name two axes")
    if k % 4 in (0, 2):
        return x[...] if k % 4 == 0 else flip(x, (a, b))
    return flip(x, b).swapaxes(a, b) if k % 4 == 1 else flip(x.swapaxes(a, b), b)


#: The functions that return views. NumPy cannot make them.
VIEWS = frozenset({
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "diagonal", "dsplit", "expand_dims",
    "flip", "fliplr", "flipud", "hsplit", "imag", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "real", "reshape", "rollaxis",
    "rot90", "split", "squeeze", "swapaxes", "transpose", "unstack", "vsplit",
})  # fmt: skip

# joining and repeating


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> ndarray:
    """Each element repeated along an axis (flattened first if None): all equally often, or each by a count of its own."""
    x, counts = operand(a), np.asarray(repeats)
    x = x if x.shape else x.reshape(1)
    if counts.size != 1:  # the operator takes a single count, as a parameter
        return _repeat(x, counts, axis)
    return run(reshaping.repeat, x, repeats=int(counts.reshape(())), axis=axis)


def pad(array: ArrayLike, pad_width: ArrayLike, mode: str | Callable[..., object] = "constant", **options: ArrayLike) -> ndarray:
    """The array padded before and after each axis, as in ``numpy.pad``.

    Modes that only move elements (``edge``, ``reflect``, ``symmetric``, ``wrap``) have gradients, and so does ``constant`` with a single
    value.
    """
    x = operand(array)
    if isinstance(mode, str) and mode in ("edge", "reflect", "symmetric", "wrap") and options.get("reflect_type", "even") == "even":
        return _pad(x, pad_width, mode, **options)
    value = options.get("constant_values", 0)
    if mode != "constant" or not isinstance(value, (int, float)) or set(options) - {"constant_values"} or isinstance(pad_width, dict):
        return by_numpy(np.pad, (x, pad_width, mode), options)
    width = np.asarray(pad_width)
    # as NumPy does, before the operator, which only finds out when it runs
    if width.dtype.kind != "i":
        raise DTypeError("`pad_width` must be of integral type.", str(width.dtype), "pass integers")
    if width.size and width.min() < 0:
        raise ParameterError("index can't contain negative values", str(pad_width), "pass 0 or more")
    return run(primitive_shape.pad, x, width=tuple(map(tuple, np.broadcast_to(width, (x.ndim, 2)).tolist())), value=value)


# by positions


def rearranged(function: Callable[..., np.ndarray]) -> Callable[..., ndarray]:
    """A NumPy function that only moves elements of its first argument, wrapped for our arrays, with gradients."""

    @wraps(function, assigned=("__name__", "__qualname__"), updated=())
    def call(a: ArrayLike, *args: object, **options: object) -> ndarray:
        x = operand(a)
        memory = ready_memory(x)
        if memory is not None:
            return adopted(ndarray, np.array(function(memory, *to_numpy(args), **to_numpy(options)), order="C"))
        places = function(np.arange(x.size).reshape(x.shape), *to_numpy(args), **to_numpy(options))
        return elements_at(x, places)

    call.__doc__ = f"``numpy.{function.__name__}``. The result is always a copy."
    return call


def elements_at(x: ndarray, places: np.ndarray) -> ndarray:
    """The elements at positions of the flattened array."""
    index = adopted(ndarray, np.array(places, np.int64, order="C"), x.context)
    return run(primitive_gather.index, x.reshape(-1), index, key=(0,))


_repeat, _pad, delete = rearranged(np.repeat), rearranged(np.pad), rearranged(np.delete)
_diagonal = view_as(np.diagonal)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Diagonal ``offset`` of two axes, along a new last axis; read-only."""
    x = operand(a)
    v = x._held
    if (
        v.__class__ is PLAIN
        and v.ndim == 2
        and axis1 in (0, -2)
        and axis2 in (1, -1)
        and (steps := _steps_to_diagonal(v.shape, offset)) is not None
    ):
        found = x._view(*steps)
        found._seen, found._of = v.diagonal(offset), v  # what the first read would find
        return found
    view = diagonal_view(x, offset) if x.ndim == 2 and axis1 in (0, -2) and axis2 in (1, -1) else None
    return _diagonal(x, offset, axis1, axis2) if view is None else read_only(view)


@lru_cache(256)
def _steps_to_diagonal(shape: tuple[int, ...], offset: int) -> tuple[BoundOp, ...] | None:
    """The operations of the view of a small matrix's diagonal; None if it has no elements."""
    view = diagonal_view(adopted(ndarray, np.zeros(shape)), offset)
    return None if view is None else read_only(view)._chain


def diagonal_view(x: ndarray, offset: int = 0) -> ndarray | None:
    """A view of diagonal ``offset`` of a matrix; None if the memory layout does not allow it."""
    rows, columns = x.shape
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    if count < 1 or (is_view(x) and x._strided.reshaped((x.size,)) is None):
        return None
    first = max(offset, -offset * columns)
    return x.reshape(-1)[first : first + (count - 1) * (columns + 1) + 1 : columns + 1]


def real(val: ArrayLike) -> ndarray:
    """The real parts: the array itself if it is not complex, else a read-only copy."""
    return operand(val).real


def imag(val: ArrayLike) -> ndarray:
    """The imaginary parts, as a read-only copy."""
    return operand(val).imag


def diag(v: ArrayLike, k: int = 0) -> ndarray:
    """Diagonal ``k`` of a matrix, read-only, or the matrix with a vector on that diagonal and zeros elsewhere."""
    x = operand(v)
    if x.ndim not in (1, 2):
        raise ShapeError("Input must be 1- or 2-d.", str(x.shape), "use diagonal")
    return diagonal(x, k) if x.ndim == 2 else run(creation.diag, x, k=k)


def diagflat(v: ArrayLike, k: int = 0) -> ndarray:
    """The matrix with the flattened array on diagonal ``k`` and zeros elsewhere."""
    return diag(operand(v).reshape(-1), k)


def _triangle(name: str, keep_low: bool) -> Callable[..., ndarray]:
    @named(name, f"The array with zeros {'above' if keep_low else 'below'} diagonal ``k`` of its last two axes.")
    def function(m: ArrayLike, k: int = 0) -> ndarray:
        x = operand(m)
        low = np.tri(*x.shape[-2:], k=k if keep_low else k - 1, dtype=bool)
        mask = adopted(ndarray, low if keep_low else ~low, x.context)
        return chosen(mask, x, False)  # False is a zero that widens no dtype

    return function


tril, triu = _triangle("tril", True), _triangle("triu", False)


def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    """Sums along diagonal ``offset`` of two axes."""
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


# sizes


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Sizes of the axes."""
    return operand(a).shape


def ndim(a: ArrayLike) -> int:
    """Number of axes."""
    return operand(a).ndim


def isscalar(element: object) -> bool:
    """Whether an object is a scalar, as in ``numpy.isscalar``, or an array without axes.

    NumPy's functions return scalars where functions of this namespace return arrays without axes, such as the sum of all elements.
    So an array that was made without axes is a scalar too: ``isscalar(array(5.0))``, which is False in NumPy.

    Examples
    --------
    >>> import twofold as mx
    >>> x = mx.np.ones(3)
    >>> mx.np.isscalar(x.sum()), mx.np.isscalar(2.0), mx.np.isscalar(x)
    (True, True, False)
    """
    return element.shape == () if isinstance(element, Array) else np.isscalar(element)


def size(a: ArrayLike, axis: int | Iterable[int] | None = None) -> int:
    """Number of elements, in total or along axes."""
    x = operand(a)
    return x.size if axis is None else math.prod(x.shape[k] for k in distinct_axes(axis, x.ndim))


def _places(a: ndarray) -> np.ndarray:
    """The positions of the elements of an array in the memory of its root."""
    layout = a._strided
    steps = [
        np.arange(n).reshape([-1 if j == k else 1 for j in range(a.ndim)]) * s
        for k, (n, s) in enumerate(zip(a.shape, layout.strides, strict=True))
    ]
    return np.asarray(layout.offset + np.add.reduce(np.broadcast_arrays(*steps)) if steps else layout.offset)


def shares_memory(a: ArrayLike, b: ArrayLike, max_work: int | None = None) -> bool:
    """Whether two arrays have an element's memory in common; ``max_work`` has no effect, since the answer is exact."""
    if not isinstance(a, ndarray) or not isinstance(b, ndarray):
        return False
    first, second = (x._base if is_view(x) else x for x in (a, b))
    if first is not second or not a.size or not b.size:
        return False
    return a is first or b is first or bool(np.intersect1d(_places(a), _places(b)).size)


may_share_memory = shares_memory
