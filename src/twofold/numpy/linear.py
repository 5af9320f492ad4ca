"""Products of vectors and matrices in ``twofold.np``."""

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter, index
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from ..calls.short import NotPlain
from ..dtype import NUMPY, dtype_name, is_float, promote
from ..errors import DTypeError, ParameterError, ShapeError, UnsupportedDType
from ..imperative.cell import HOST
from ..ndarray.types import ArrayLike, Casting, DTypeLike, Shape
from ..opdef import integers, normalized_axis
from ..ops.einsum import einstein_sum as sum_of_products
from ..ops.einsum import explicit_terms
from .arrangements import view_as
from .array import Out, ndarray
from .creation import operands, zeros_like
from .fallback import by_numpy
from .reductions import run, sum
from .shapes import diagonal_view, expand_dims, moveaxis
from .ufuncs import deliver, function_of


def dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> ndarray:
    """Product of numbers, vectors and matrices: over the last axis of ``a`` and the second-to-last (or only) axis of ``b``."""
    try:
        x, y = operands(a, b)
    except UnsupportedDType:  # here, and not only in the function of the namespace: this is the method too
        return by_numpy(np.dot, (a, b), {} if out is None else {"out": out})
    dimensions = len(x.shape), len(y.shape)
    if 0 in dimensions:
        return deliver(function_of("multiply")(x, y), out)
    if max(dimensions) <= 2:
        return x @ y if out is None else function_of("matmul")(x, y, out=out)
    return deliver(tensordot(x, y, ((-1,), (max(-2, -y.ndim),))), out)


def vdot(a: ArrayLike, b: ArrayLike, /) -> ndarray:
    """Sum of the products of the elements of two flattened arrays, with the first conjugated."""
    x, y = operands(a, b)
    return dot((function_of("conjugate")(x) if x._dtype.startswith("complex") else x).reshape(-1), y.reshape(-1))


def inner(a: ArrayLike, b: ArrayLike, /) -> ndarray:
    """Sum of products over the last axes."""
    x, y = operands(a, b)
    if x.ndim == 1 == y.ndim:
        return x.dot(y)
    if x.ndim == 2 == y.ndim and x.shape[1] == y.shape[1]:
        return x @ y.T
    return function_of("multiply")(x, y) if not x.ndim or not y.ndim else tensordot(x, y, ((-1,), (-1,)))


def outer(a: ArrayLike, b: ArrayLike, out: Out = None) -> ndarray:
    """Products of all pairs of elements of two flattened arrays, of shape (a.size, b.size)."""
    x, y = operands(a, b)
    return deliver(function_of("multiply")(x.reshape(-1, 1), y.reshape(1, -1)), out)


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[Shape] = 2) -> ndarray:
    """Sum of products over axes of both arrays: the last ``axes`` of the first and the first ``axes`` of the second, or the given pairs.

    Raises
    ------
    ShapeError
        If the sizes of paired axes differ.
    """
    x, y = operands(a, b)
    given: Any = axes
    try:
        count = index(given)
        pairs: Sequence[Sequence[int]] = range(x.ndim - count, x.ndim), range(count)
    except TypeError:
        pairs = [integers(along) for along in given]
    left, right = [[normalized_axis(k, v.ndim) for k in along] for v, along in zip((x, y), pairs, strict=True)]
    if [x.shape[k] for k in left] != [y.shape[k] for k in right]:
        raise ShapeError("shape-mismatch for sum", f"axes {left} of {x.shape}, {right} of {y.shape}", "make the sizes equal")
    free, others = [k for k in range(x.ndim) if k not in left], [k for k in range(y.ndim) if k not in right]
    # as one product of matrices: the paired axes are merged at the end of the first array and at the front of the second
    count = math.prod([x.shape[k] for k in left])
    rows, columns = [x.shape[k] for k in free], [y.shape[k] for k in others]
    first = _as_matrix(x, [*free, *left], (math.prod(rows), count))
    second = _as_matrix(y, [*right, *others], (count, math.prod(columns)))
    found = function_of("matmul")(first, second)
    return found if len(rows) == 1 == len(columns) else found.reshape([*rows, *columns])


def _as_matrix(x: ndarray, order: Sequence[int], shape: tuple[int, int]) -> ndarray:
    """An array with its axes in an order, as a matrix: a view if that is possible."""
    x = x if list(order) == list(range(x.ndim)) else x.transpose(order)
    return x if x.shape == shape else x.reshape(shape)


def einsum(
    subscripts: str | ArrayLike, /, *operands_: Any, out: Out = None, optimize: object = False, dtype: DTypeLike = None, **options: object
) -> ndarray:
    """Sum of products in Einstein notation.

    Parameters
    ----------
    subscripts
        Such as ``"ij,jk->ik"``; or the first array, if each array is followed by a list of its indices, which are numbers from 0 to 51 or
        an Ellipsis, and the last one also by that of the result.
    *operands_
        The arrays.
    out
        Array for the result.
    optimize
        Has no effect: the order of contractions is always optimized.
    dtype
        Dtype to compute in.
    **options
        ``order`` and ``casting`` have no effect.

    Raises
    ------
    ParameterError
        If an index is invalid or an option unknown.
    """
    if set(options) - {"order", "casting"}:
        raise ParameterError("einsum: unknown option", f"options {sorted(options)}", "leave it out")
    if not isinstance(subscripts, str):
        subscripts, operands_ = _as_text(subscripts, *operands_)
    arrays = operands(*operands_)
    if len(arrays) == 1 and out is None and dtype is None and (view := _view_by_subscripts(subscripts, arrays[0])) is not None:
        return view
    arrays = arrays if dtype is None else [a.astype(dtype, copy=False) for a in arrays]
    return deliver(run(sum_of_products, *arrays, subscripts=subscripts), out)


_sum, _ndim = HOST.xp.einsum, attrgetter("ndim")


def contract(subscripts: str, arrays: Sequence[np.ndarray]) -> Any:
    """The sum of products of NumPy's arrays by subscripts in which no term has a letter twice."""
    return _sum(*arrays, subscripts=_explicit(subscripts, *map(_ndim, arrays)))


@lru_cache(1024)
def _explicit(subscripts: str, *dimensions: int) -> str:
    """Subscripts as the primitive takes them: without ellipses, and with a result.

    Raises
    ------
    NotPlain
        If they select a diagonal, which is an operation of its own.
    """
    terms, right = explicit_terms(subscripts, dimensions)
    if any(len(set(term)) < len(term) for term in terms):
        raise NotPlain
    return f"{','.join(terms)}->{right}"


_diagonals = view_as(lambda x, subscripts: np.einsum(subscripts, x))


def _view_by_subscripts(subscripts: str, x: ndarray) -> ndarray | None:
    """The result of einsum for one array if nothing is summed: a view, read-only if it is a diagonal of several. None if it adds."""
    order = _order(subscripts, x.ndim)
    if order is None or len(order) == x.ndim:
        return None if order is None else x.transpose(order)
    view = diagonal_view(x) if x.ndim == 2 and len(set(x.shape)) == 1 else None
    return _diagonals(x, subscripts) if view is None else view


@lru_cache(1024)
def _order(subscripts: str, ndim: int) -> tuple[int, ...] | None:
    """For each axis of einsum's result the first axis of its array with that index; None if it adds, or the subscripts do not fit."""
    have, arrow, want = subscripts.replace(" ", "").partition("->")
    # without an arrow the result has all letters in alphabetical order; a letter that occurs twice is summed over, so the result is not a
    # view
    want = want if arrow else "..." * ("..." in have) + "".join(sorted(have.replace("...", "")))
    # letters for the axes that the ellipsis stands for
    free = [k for k in LETTERS if k not in have][: max(ndim - len(have.replace("...", "")), 0)]
    have, want = (text.replace("...", "".join(free)) for text in (have, want))
    if not have.isalpha() or len(have) != ndim or set(have) != set(want) or len(set(want)) < len(want):
        return None
    return tuple([have.index(k) for k in want])


#: Letters for einsum's integer indices. Capitals come first: a result without given indices has them in alphabetical order.
LETTERS = ascii_uppercase + ascii_lowercase


def _as_text(*given: Any) -> tuple[str, tuple[Any, ...]]:
    """The subscripts and the arrays, given arrays that are each followed by a list of indices."""
    arrays, lists = given[: len(given) // 2 * 2 : 2], [*given[1::2], *given[len(given) // 2 * 2 :]]
    try:
        texts = ["".join(["..." if k is Ellipsis else LETTERS[range(52).index(k)] for k in indices]) for indices in lists]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"einsum: an index is not a number from 0 to 51: {error}", None, "follow each array with a list of such numbers"
        ) from None
    result = f"->{texts.pop()}" if len(lists) > len(arrays) else ""
    return ",".join(texts) + result, arrays


def polyval(p: ArrayLike, x: ArrayLike) -> ndarray:
    """The polynomial with coefficients ``p`` (n,), highest power first, evaluated at ``x`` by Horner's method."""
    if isinstance(p, np.poly1d) or isinstance(x, np.poly1d):
        return by_numpy(np.polyval, (p, x), {})
    coefficients, at = operands(p, x)
    result = zeros_like(at)
    for k in range(len(coefficients)):
        result = result * at + coefficients[k]
    return result


def kron(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Kronecker product: blocks that are each element of ``a`` times the whole of ``b``."""
    x, y = operands(a, b)
    ndim = max(x.ndim, y.ndim)
    x, y = x.reshape((1,) * (ndim - x.ndim) + x.shape), y.reshape((1,) * (ndim - y.ndim) + y.shape)
    # axes (m, 1) and (1, n) broadcast to (m, n), which are merged to m · n
    apart = x.reshape([n for m in x.shape for n in (m, 1)]) * y.reshape([n for m in y.shape for n in (1, m)])
    return apart.reshape([m * n for m, n in zip(x.shape, y.shape, strict=True)])


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: Out = None,
    *,
    axes: Sequence[int | tuple[int, ...]] | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    casting: Casting = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Dot products of vectors, with the first array conjugated, broadcast over the other axes.

    Parameters
    ----------
    x1, x2
        Arrays whose vectors have equal length.
    out
        Array for the result.
    axes, axis
        The axes of the vectors: an axis of each array and, if kept, of the result; or one axis for all. By default the last.
    keepdims
        Whether to keep the vectors' axis, with size 1.
    casting
        Which casts to ``dtype``, and of the result to the dtype of ``out``, are allowed.
    order, subok
        Have no effect.
    dtype
        The dtype to compute in; the arrays' common dtype if None.

    Raises
    ------
    ShapeError
        If the lengths differ.
    DTypeError
        If a cast is not allowed.
    """
    x, y = operands(x1, x2)
    name = promote(x._dtype, y._dtype) if dtype is None else dtype_name(dtype)
    if not x._dtype == name == y._dtype and not all(np.can_cast(v.dtype, NUMPY[name], casting) for v in (x, y)):
        raise DTypeError(
            f"vecdot: cannot cast operands to {name}", f"{x.dtype} and {y.dtype}, casting={casting!r}", "pass a different dtype"
        )
    *places, kept = _vector_axes(axes, axis)
    x, y = [(v if k == -1 and v.ndim else moveaxis(v, k, -1)).astype(name, copy=False) for v, k in zip((x, y), places, strict=True)]
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError("vecdot: vectors of different lengths", f"{x.shape[-1]} and {y.shape[-1]}", "make them equal")
    products = function_of("multiply")(function_of("conjugate")(x) if name.startswith("complex") else x, y)
    result = sum(products, -1, None if is_float(name) else name)  # sums of floats have their dtype
    result = expand_dims(result, kept) if keepdims else result
    return deliver(result, out, casting, widens=True)


def _vector_axes(axes: Sequence[int | tuple[int, ...]] | None, axis: int | None) -> list[int]:
    """The axes of the vectors in both arrays, and in the result if it keeps the axis, from the arguments of `vecdot`.

    Raises
    ------
    DTypeError
        If both are given.
    ParameterError
        If an array has none.
    """
    if axes is None:
        return [-1 if axis is None else axis] * 3
    if axis is not None:
        raise DTypeError("vecdot: cannot specify both 'axis' and 'axes'", f"{axis} and {axes}", "leave one out")
    given = [index(k[0] if isinstance(k, tuple) else k) for k in axes if k != ()]
    if len(axes) not in (2, 3) or len(given) < 2:
        raise ParameterError("vecdot: axes needs one for each array and, if it is kept, for the result", str(axes), "pass two or three")
    return [*given, -1][:3]
