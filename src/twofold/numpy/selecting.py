"""Functions of ``twofold.np`` that select and compare elements."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

import ml_dtypes
import numpy as np

from ..calls.host_calls import is_recorded, to_numpy
from ..dtype import COMPLEX, INTEGERS, holds, is_float, promote
from ..errors import DTypeError, IndexingError, ParameterError, ShapeError
from ..imperative import trace
from ..imperative.array import adopted
from ..imperative.cell import wrap
from ..imperative.guards import is_tracked
from ..imperative.invoke import invoke
from ..ndarray.types import ArrayLike
from ..opdef import normalized_axis
from ..ops import elementwise_math, primitive_gather, primitive_math
from .array import Out, ndarray
from .creation import operand, operands
from .fallback import by_numpy
from .fixed_sizes import host_of_selected, nonzero_of_size
from .indexing import INDEXER, is_followed, root_of
from .masked_selection import BY_MASK
from .operators import NUMBERS, applied, name_of_operand
from .parts import concatenate, stack
from .reductions import all, run
from .shapes import broadcast_to
from .ufuncs import chosen, deliver, function_of

Bound: TypeAlias = ArrayLike | None
#: An index in place of those that are not there, or one for each axis.
Fill: TypeAlias = int | Sequence[int] | None
_CLIP = elementwise_math.clip_range.bind()


@overload
def where(condition: ArrayLike, /) -> tuple[ndarray, ...]: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> ndarray: ...
def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /) -> ndarray | tuple[ndarray, ...]:
    """``x`` where the condition holds, else ``y``, all three broadcast; with only a condition, its `nonzero`.

    Raises
    ------
    ParameterError
        If only one of ``x`` and ``y`` is given.
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ParameterError("either both or neither of x and y should be given", None, "pass both")
    return chosen(condition, _wrapped(x, y), _wrapped(y, x))


def _wrapped(value: Any, other: Any) -> Any:
    """A choice of `where`, as NumPy takes it: a complex number widens none.

    Raises
    ------
    OverflowError
        If a Python integer is out of range of the other choice's dtype; up to NumPy 2.4 it wraps around instead.
    """
    if value.__class__ is complex and isinstance(other, ndarray):
        return np.asarray(value, np.result_type(other.dtype, value))
    if value.__class__ is not int or 0 <= value < 128:  # every dtype holds these
        return value
    dtype = promote(name_of_operand(other if isinstance(other, NUMBERS) else operand(other)), "weaki")
    return value if holds(dtype, value) else int(np.where(True, value, np.zeros((), dtype)))


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Fill = None) -> tuple[ndarray, ...]:
    """The indices of the non-zero elements: one array per axis.

    Parameters
    ----------
    a
        The array.
    size
        Number of indices, as in JAX: a function that is traced needs it. Surplus elements are left out.
    fill_value
        The index in place of those that are not there: an integer, or one for each axis; 0 if None.

    Raises
    ------
    ParameterError
        If ``size`` is negative, or there is another number of fill values than axes.
    """
    x = operand(a)
    if size is not None:
        return tuple(nonzero_of_size(x, size, fill_value))
    # on the host: the shape of the result depends on the values, which no operator can express
    return tuple(adopted(ndarray, np.ascontiguousarray(k), x.context) for k in np.nonzero(host_of_selected(x, "nonzero")))


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Fill = None) -> ndarray:
    """The indices of the non-zero elements of the flattened array; ``size`` and ``fill_value`` as for `nonzero`."""
    x = operand(a).reshape(-1)
    if size is not None:
        return nonzero_of_size(x, size, fill_value, "flatnonzero")[0]
    return adopted(ndarray, np.flatnonzero(host_of_selected(x, "flatnonzero")), x.context)


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Fill = None) -> ndarray:
    """The indices of the non-zero elements: one row for each; ``size`` and ``fill_value`` as for `nonzero`."""
    x = operand(a)
    if size is not None:
        return stack(nonzero_of_size(x, size, fill_value, "argwhere"), -1)
    return adopted(ndarray, np.ascontiguousarray(np.argwhere(host_of_selected(x, "argwhere"))), x.context)


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: Out = None, mode: str = "raise") -> ndarray:
    """Elements at indices along an axis, or of the flattened array if None.

    Parameters
    ----------
    a
        The array (…, n, …).
    indices
        Integers of any shape s…; the result has shape (…, s…, …).
    axis
        The axis; None for the flattened array.
    out
        Array for the result.
    mode
        Treatment of out-of-range indices: ``"raise"``, ``"wrap"`` (modulo n) or ``"clip"`` (to the nearest end, so negative ones become
        0).

    Raises
    ------
    IndexingError
        If an index is out of range and ``mode`` is ``"raise"``.
    """
    x = operand(a)
    x = x.reshape(-1) if (axis is None and x.ndim != 1) or not x.shape else x  # an array without axes has one here, as in NumPy
    at = normalized_axis(axis or 0, x.ndim)
    if mode == "raise" and is_tracked(root_of(x)._content) and isinstance(indices, ndarray) and indices._dtype != "bool":
        gathered = INDEXER.gather_as_given(x, (*[slice(None)] * at, indices))
        if gathered is not None:
            return deliver(gathered, out)
    if is_followed(indices) and mode in FOLLOWED:
        return deliver(INDEXER.gather(x, (*[slice(None)] * at, FOLLOWED[mode](indices, x.shape[at]))), out)
    places = _places(indices, x.shape[at], mode)
    result = run(primitive_gather.take, x, adopted(ndarray, places, x.context), axis=at)
    return deliver(result, out)


#: By mode, indices that a trace follows as indices that may be negative: where they are out of range, reading the result raises.
FOLLOWED: dict[str, Callable[[Any, int], Any]] = {
    "raise": lambda indices, size: indices,
    "wrap": lambda indices, size: indices % size,
    "clip": lambda indices, size: clip(indices, 0, size - 1),
}


def _places(indices: ArrayLike, size: int, mode: str) -> np.ndarray:
    # on the host, so that an index out of range raises here; the kernels do not check
    index = np.asarray(to_numpy(indices))
    if index.dtype.kind not in "iub" and isinstance(indices, (ndarray, np.ndarray)):
        raise DTypeError("indices must be integers", str(index.dtype), "cast them with astype")
    index = index.astype(np.int64)
    if mode == "wrap":
        return np.asarray(index % size)
    if mode == "clip":
        return np.asarray(index.clip(0, size - 1))
    if mode != "raise":
        raise ParameterError("unknown mode", repr(mode), "use 'raise', 'wrap' or 'clip'")
    if not index.size:
        return index
    least, greatest = index.min(), index.max()
    if least < -size or greatest >= size:
        raise IndexingError(f"index {greatest if greatest >= size else least} is out of bounds for axis of size {size}")
    return index if least >= 0 else np.asarray(np.where(index < 0, index + size, index))


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> ndarray:
    """``arr[…, indices[…, k, …], …]``: an index for each position along an axis, or of the flattened array if None.

    Raises
    ------
    IndexingError
        If an index is out of range, or a bool.
    ShapeError
        If the arrays differ in number of axes.
    """
    x, index = operands(arr, indices)
    x, at = (x.reshape(-1), 0) if axis is None else (x, normalized_axis(axis, x.ndim))
    if index.ndim != x.ndim:
        raise ShapeError("`indices` and `arr` must have the same number of dimensions", f"{index.shape} and {x.shape}", "reshape one")
    if index._dtype == "bool":
        raise IndexingError("`indices` must be an integer array", "bool", "select by a mask with arr[mask]")
    if is_followed(index):
        places = run(primitive_gather.checked_index, index.astype("int64"), size=x.shape[at], negative=True)
    else:
        places = adopted(ndarray, _places(index, x.shape[at], "raise"), x.context)
    return run(primitive_gather.take_along_axis, x, places, axis=at)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: Out = None) -> ndarray:
    """The slices along an axis where a vector is true, or elements of the flattened array if None."""
    return take(a, np.flatnonzero(host_of_selected(operand(condition), "compress", BY_MASK)), axis, out)


def extract(condition: ArrayLike, arr: ArrayLike) -> ndarray:
    """The elements where a condition of the same size holds."""
    return take(operand(arr).reshape(-1), np.flatnonzero(host_of_selected(operand(condition), "extract", BY_MASK)))


def clip(
    a: ArrayLike, a_min: Bound = None, a_max: Bound = None, out: Out = None, *, min: Bound = None, max: Bound = None, **options: object
) -> ndarray:
    """Elements limited to [a_min, a_max]; None means no limit. ``min`` and ``max`` are synonyms; options as for a ufunc."""
    low: Any = a_min if min is None else min
    high: Any = a_max if max is None else max
    result = operand(a)
    if low.__class__ is int or high.__class__ is int:
        low, high = _inside(low, high, result)
    if low.__class__ in (int, float) and high.__class__ in (int, float) and is_float(result._dtype) and not options:
        result = wrap(ndarray, invoke(_CLIP, (result, low, high))[0])  # one kernel instead of two
        return deliver(result, out, is_new=True)
    if low is None and high is None:
        result = result.copy()
    elif low is not None and high is not None and options.get("dtype") is None:
        result = _as_wide_as(result, low, high)
    if low is not None:
        result = function_of("maximum")(result, low, **options)
    if high is not None:
        result = function_of("minimum")(result, high, **options)
    return deliver(result, out, is_new=True)


def _as_wide_as(x: ndarray, low: ArrayLike, high: ArrayLike) -> ndarray:
    """The array in the common dtype of itself and both limits, in which NumPy compares them."""
    given = [v for v in (low, high) if v.__class__ is not complex]
    limits = [v if isinstance(v, NUMBERS) and not isinstance(v, np.generic) else operand(v) for v in given]
    return x.astype(promote(x._dtype, *map(name_of_operand, limits)), copy=False)


def _inside(low: Any, high: Any, x: ndarray) -> tuple[Any, Any]:
    """The limits; one that an integer array's dtype cannot hold becomes None, since no element passes it."""
    kind = np.dtype(x.dtype)
    if kind.kind not in "iu":
        return low, high
    limits = np.iinfo(kind)
    return (
        None if low.__class__ is int and low < limits.min else low,
        None if high.__class__ is int and high > limits.max else high,
    )


def round(a: ArrayLike, decimals: int = 0, out: Out = None) -> ndarray:
    """Elements rounded to a number of decimals, halves to even; bools become float16.

    Raises
    ------
    DTypeError
        For decimals of bools.
    """
    x = operand(a)
    if x._dtype == "bool" and decimals:
        raise DTypeError("round: bools cannot be rounded to decimals", f"decimals={decimals}", "cast the array with astype")
    if x._dtype in INTEGERS and decimals >= 0:
        result = x.copy()
    elif not is_float(x._dtype) and x._dtype != "bool":
        result = by_numpy(np.round, (x, decimals), {})
    elif decimals == 0:
        result = applied(primitive_math.round_even, x)
    else:
        scale = 10.0 ** abs(decimals)  # as NumPy does: positive powers are exact up to 22, negative ones never
        result = (
            applied(primitive_math.round_even, x * scale) / scale if decimals > 0 else applied(primitive_math.round_even, x / scale) * scale
        )
    return deliver(result, out, is_new=True)


around = round


def nan_to_num(x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> ndarray:
    """Elements with NaN and infinities replaced, by default by 0 and the dtype's largest numbers; in place if not ``copy``."""
    a = operand(x)
    if a._dtype in COMPLEX:  # NumPy replaces real and imaginary parts separately
        options = {"nan": nan, "posinf": posinf, "neginf": neginf}
        if is_recorded((a,)):
            real, imaginary = (nan_to_num(part, **options) for part in (a.real, a.imag))
            result = (real + 1j * imaginary).astype(a.dtype)
        else:
            result = by_numpy(np.nan_to_num, (a,), options)
    elif is_float(a._dtype):
        limits = ml_dtypes.finfo(a.dtype)  # knows bfloat16 too
        high, low = float(limits.max) if posinf is None else posinf, float(limits.min) if neginf is None else neginf
        result = chosen(function_of("isnan")(a), nan, a)
        # by the elements that are given: a replacement may be infinite itself, and NumPy's scalars have dtypes
        result = chosen(a == np.inf, high, result)
        result = chosen(a == -np.inf, low, result).astype(a.dtype, copy=False)
    else:
        return a.copy() if copy else a
    if copy:
        return result
    a[...] = result
    return a


# comparison


def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False) -> ndarray:
    """Whether ``|a - b| <= atol + rtol |b|``, element by element. An infinity equals itself; NaN equals NaN only with ``equal_nan``."""
    x, y, relative, absolute = _unless_numbers(a, b, rtol, atol)
    if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
        x = operand(x)
    # a float, so that neither ``abs`` of the smallest integer nor the difference of unsigned ones wraps around
    y = y.astype(promote(y._dtype, "weakf"), copy=False) if isinstance(y, ndarray) else float(y)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, which counts as far; equal infinities come in through ``x == y``
        near = function_of("less_equal")(abs(x - y), absolute + relative * abs(y))
        result = near & function_of("isfinite")(y) | (x == y)
    return result | function_of("isnan")(x) & function_of("isnan")(y) if equal_nan else result


def _unless_numbers(*values: ArrayLike) -> list[Any]:
    """Operands of one function as arrays on one device, except for Python scalars, whose dtypes stay weak."""
    arrays = iter(operands(*[v for v in values if v.__class__ not in NUMBERS]))
    return [v if v.__class__ in NUMBERS else next(arrays) for v in values]


def allclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False) -> bool:
    """Whether `isclose` is true everywhere; while a function is traced, an array without axes."""
    return _answer(all(isclose(a, b, rtol, atol, equal_nan)))


def _answer(found: ndarray) -> Any:
    """A test's result as a bool, unless its value is not known."""
    return found if trace.is_followed(found) else bool(found)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and equal elements; while a function is traced, an array without axes."""
    x, y = operands(a1, a2)
    return x.shape == y.shape and _all_equal(x, y, equal_nan)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Whether two arrays can be broadcast and then have equal elements; see `array_equal`."""
    try:
        x, y = operands(a1, a2)
        return _all_equal(x, y, False)
    except ShapeError:
        return False


def _all_equal(x: ArrayLike, y: ArrayLike, equal_nan: bool) -> bool:
    equal = x == y
    if equal_nan:
        equal = equal | (x != x) & (y != y)
    return _answer(all(equal))


def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None) -> ndarray:
    """The ``n``-th differences of adjacent elements along an axis, after adding ``prepend`` and ``append`` (arrays or numbers).

    Raises
    ------
    ParameterError
        If ``n`` is negative or the array 0-d.
    """
    x = operand(a)
    if n < 0 or not x.ndim:
        raise ParameterError("diff needs at least one axis and an order that is not negative", f"n={n}, shape {x.shape}", "pass valid ones")
    ends = operands(*[e for e in (prepend, x, append) if e is not None])
    shape = [1 if k == axis % x.ndim else m for k, m in enumerate(x.shape)]
    if len(ends) > 1:
        x = concatenate([e if e.ndim else broadcast_to(e, shape) for e in ends], axis)
    along = (slice(None),) * normalized_axis(axis, x.ndim)
    # bools have no subtraction: NumPy's result is where neighbors differ
    minus: Callable[..., Any] = function_of("not_equal" if x._dtype == "bool" else "subtract")
    for _ in range(n):
        x = minus(x[(*along, slice(1, None))], x[(*along, slice(-1))])
    return x
