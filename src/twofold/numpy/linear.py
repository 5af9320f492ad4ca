"""Products of vectors and matrices in ``twofold.np``."""

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from ..errors import ParameterError, ShapeError
from ..op.shapes import normalized_axis
from .array import ndarray
from .creation import operands
from .reductions import run, sum
from .ufuncs import delivered, function_of


def _given(result: ndarray, out: Any) -> Any:
    return result if out is None else delivered(result, out)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Product of numbers, vectors and matrices: over the last axis of ``a`` and the second last (or only one) of ``b``."""
    x, y = operands(a, b)
    if not x.ndim or not y.ndim:
        return _given(function_of("multiply")(x, y), out)
    if x.ndim <= 2 and y.ndim <= 2:
        return _given(function_of("matmul")(x, y), out)
    return _given(tensordot(x, y, ((-1,), (max(-2, -y.ndim),))), out)


def vdot(a: Any, b: Any, /) -> ndarray:
    """Sum of the products of the elements of two flattened arrays, those of the first conjugated."""
    x, y = operands(a, b)
    return dot((function_of("conjugate")(x) if x._dtype.startswith("complex") else x).reshape(-1), y.reshape(-1))


def inner(a: Any, b: Any, /) -> ndarray:
    """Sum of products over the last axes."""
    x, y = operands(a, b)
    return function_of("multiply")(x, y) if not x.ndim or not y.ndim else tensordot(x, y, ((-1,), (-1,)))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Products of all pairs of elements of two flattened arrays, (size of a, size of b)."""
    x, y = operands(a, b)
    return _given(function_of("multiply")(x.reshape(-1, 1), y.reshape(1, -1)), out)


def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> ndarray:
    """Sum of products over axes of both arrays: the last ``axes`` of the one and the first of the other, or those named in pairs.

    Raises
    ------
    ShapeError
        If sizes of paired axes differ.
    """
    x, y = operands(a, b)
    if isinstance(axes, int):
        axes = (range(x.ndim - axes, x.ndim), range(axes))
    left, right = [[normalized_axis(k, v.ndim) for k in ([s] if isinstance(s, int) else s)] for v, s in zip((x, y), axes, strict=True)]
    if [x.shape[k] for k in left] != [y.shape[k] for k in right]:
        raise ShapeError("shape-mismatch for sum", f"axes {left} of {x.shape}, {right} of {y.shape}", "make the sizes equal")
    free, others = [k for k in range(x.ndim) if k not in left], [k for k in range(y.ndim) if k not in right]
    count = 1
    for k in left:
        count *= x.shape[k]
    rows, columns = [x.shape[k] for k in free], [y.shape[k] for k in others]
    first = x.transpose([*free, *left]).reshape(_product(rows), count)
    second = y.transpose([*right, *others]).reshape(count, _product(columns))
    return function_of("matmul")(first, second).reshape([*rows, *columns])


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for n in sizes:
        total *= n
    return total


def einsum(subscripts: Any, /, *operands_: Any, out: Any = None, optimize: Any = False, dtype: Any = None, **options: Any) -> Any:
    """Sum of products by Einstein's convention.

    Parameters
    ----------
    subscripts
        Such as ``"ij,jk->ik"``; or the first array, where each array is followed by the list of its indices, as numbers 0 … 51 or an
        Ellipsis, and the last one by that of the result.
    *operands_
        The arrays.
    out
        Array for the result.
    optimize
        Has no effect: the order of contractions is always chosen by cost.
    dtype
        In which to compute.
    **options
        ``order`` and ``casting`` have no effect.

    Raises
    ------
    ParameterError
        If an index is no such number, or there is another option.
    """
    if set(options) - {"order", "casting"}:
        raise ParameterError("einsum: there is no such option", f"options {sorted(options)}", "leave it out")
    if not isinstance(subscripts, str):
        subscripts, operands_ = _as_text(subscripts, *operands_)
    arrays = operands(*operands_)
    arrays = arrays if dtype is None else [a.astype(dtype, copy=False) for a in arrays]
    return _given(run("_npi_einsum", *arrays, subscripts=subscripts), out)


#: What einsum's indices are as letters; in this order, which is that of a result whose indices are not given.
LETTERS = ascii_uppercase + ascii_lowercase


def _as_text(*given: Any) -> tuple[str, tuple[Any, ...]]:
    """The subscripts as text, and the arrays, of arrays each followed by its list of indices."""
    arrays, lists = given[: len(given) // 2 * 2 : 2], [*given[1::2], *given[len(given) // 2 * 2 :]]
    try:
        texts = ["".join(["..." if k is Ellipsis else LETTERS[range(52).index(k)] for k in indices]) for indices in lists]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "einsum: an index is no number from 0 to 51", str(error), "follow each array by a list of such numbers"
        ) from None
    result = f"->{texts.pop()}" if len(lists) > len(arrays) else ""
    return ",".join(texts) + result, arrays


def kron(a: Any, b: Any) -> ndarray:
    """Kronecker product: each element of ``a`` times the whole of ``b``, as blocks."""
    x, y = operands(a, b)
    ndim = max(x.ndim, y.ndim)
    x, y = x.reshape((1,) * (ndim - x.ndim) + x.shape), y.reshape((1,) * (ndim - y.ndim) + y.shape)
    apart = x.reshape([n for m in x.shape for n in (m, 1)]) * y.reshape([n for m in y.shape for n in (1, m)])
    return apart.reshape([m * n for m, n in zip(x.shape, y.shape, strict=True)])


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> ndarray:
    """Sums of products along an axis, broadcast over the others."""
    return sum(function_of("multiply")(x1, x2), axis)
