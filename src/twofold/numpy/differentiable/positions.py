"""Functions that only move elements: NumPy's function is applied to the elements' numbers, and the result gives the elements to take."""

from functools import partial
from typing import Any

import numpy as np

from ...calls.host_calls import refuse_cut, to_numpy
from ...dtype import promote
from ...imperative.invoke import host_of
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike, DTypeLike
from ...opdef import normalized_axis
from ...ops import primitive_gather
from ..array import Out, ndarray
from ..creation import asarray, operand
from ..fallback import by_numpy, ordered_unique_values
from ..forms import form_of
from ..parts import concatenate, stack
from ..reductions import run
from ..selecting import FOLLOWED, take, take_along_axis
from ..shapes import broadcast_arrays, elements_at, expand_dims
from ..sort_order import argsort
from ..ufuncs import deliver


class Numbered:
    """Arrays whose elements are numbered one after the other."""

    def __init__(self) -> None:
        self._arrays: list[ndarray] = []
        self._count = 0

    def numbers(self, value: Any) -> Any:
        """The numbers of an array's elements, as a NumPy array; for lists and tuples of arrays, lists and tuples of these."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.numbers, value))
        x = operand(value)
        first, self._count = self._count, self._count + x.size
        self._arrays.append(x)
        return np.arange(first, self._count).reshape(x.shape)

    def elements(self, numbers: object, dtype: DTypeLike = None) -> ndarray:
        """The elements with these numbers, in their common dtype if none is given."""
        kind = promote(*[a._dtype for a in self._arrays]) if dtype is None else dtype
        return elements_at(concatenate([a.reshape(-1).astype(kind, copy=False) for a in self._arrays]), np.asarray(numbers))


@form_of(np.insert)
def insert(arr: ArrayLike, obj: object, values: ArrayLike, axis: int | None = None) -> ndarray:
    """An array with values inserted before positions along an axis, flattened if None."""
    elements = Numbered()
    found = np.insert(elements.numbers(arr), to_numpy(obj), elements.numbers(asarray(values)), axis)
    return elements.elements(found, operand(arr).dtype)


@form_of(np.block)
def block(arrays: object) -> ndarray:
    """An array assembled from nested lists of blocks."""
    elements = Numbered()
    return elements.elements(np.block(elements.numbers(arrays)))


@form_of(np.choose)
def choose(a: ArrayLike, choices: Any, out: Out = None, mode: Any = "raise") -> ndarray:
    """For each position the element of the array that an index selects."""
    elements, given = Numbered(), choices if isinstance(choices, (list, tuple)) else list(operand(choices))
    if is_followed(operand(a)) and mode in FOLLOWED:
        index, *arrays = broadcast_arrays(operand(a), *given)
        places = FOLLOWED[mode](index, len(arrays))
        return deliver(take_along_axis(stack(arrays), expand_dims(places, 0), 0)[0], out, "unsafe")
    return deliver(elements.elements(np.choose(to_numpy(a), elements.numbers(list(given)), mode=mode)), out, "unsafe")


@form_of(np.ndarray.choose)
def _choose(self: ArrayLike, choices: object, out: Out = None, mode: object = "raise") -> ndarray:
    return choose(self, choices, out, mode)


@form_of(np.partition)
def partition(a: ArrayLike, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: None = None) -> ndarray:
    """The elements partitioned: each position has the element that sorting puts there, smaller ones before it, larger ones after."""
    x = operand(a)
    x, at = (x.reshape(-1), 0) if axis is None else (x, normalized_axis(axis, x.ndim))
    places = by_numpy(np.argpartition, (x, kth, at, kind), {})
    return run(primitive_gather.take_along_axis, x, places, axis=at)


@form_of(np.unique)
def unique(
    ar: ArrayLike,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    **options: object,
) -> Any:
    """The distinct elements, or slices along an axis, in order. The first one of several equal ones gets their gradient."""
    x = operand(ar)
    options |= {"axis": axis}
    # the places of first occurrences are always needed: the values are taken from there, with a gradient
    _, places, *others = by_numpy(np.unique, (x.detach(), True, return_inverse, return_counts), options)
    values = take(x if axis is not None else x.reshape(-1), places, 0 if axis is None else axis)
    results = (values, *([places] if return_index else []), *others)
    return results if len(results) > 1 else values


@form_of(ordered_unique_values)
def unique_values(x: ArrayLike, /) -> ndarray:
    """The distinct elements, in order."""
    return unique(x, equal_nan=False)


def _unique_with(name: str, *with_: str) -> None:
    numpys = getattr(np, name)
    result = type(numpys(np.zeros(1)))

    def found(x: ArrayLike, /) -> Any:
        return result(*unique(x, *["index" in with_, "inverse" in with_, "counts" in with_], equal_nan=False))

    form_of(numpys)(found)


_unique_with("unique_all", "index", "inverse", "counts")
_unique_with("unique_counts", "counts")
_unique_with("unique_inverse", "inverse")


@form_of(np.union1d)
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> ndarray:
    """The distinct elements of two arrays, in order."""
    return unique(concatenate([ar1, ar2], None))


@form_of(np.intersect1d)
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that both arrays have, in order; with the gradient of the first array's."""
    x = operand(ar1).reshape(-1)
    found, first, second = by_numpy(np.intersect1d, (x.detach(), operand(ar2).detach(), assume_unique, True), {})
    values = take(x, first).astype(found.dtype, copy=False)
    return (values, first, second) if return_indices else values


@form_of(np.setdiff1d)
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> ndarray:
    """The distinct elements of the first array that the second lacks, in order."""
    x = operand(ar1).reshape(-1) if assume_unique else unique(ar1)
    return take(x, np.flatnonzero(~np.isin(host_of(x), to_numpy(ar2))))


@form_of(np.setxor1d)
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> ndarray:
    """The distinct elements that only one of two arrays has, in order."""
    return unique(concatenate([setdiff1d(ar1, ar2, assume_unique), setdiff1d(ar2, ar1, assume_unique)]))


@form_of(np.trim_zeros)
def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> ndarray:
    """An array without zeros at its ends."""
    x = operand(filt)
    if x.ndim != 1:
        return NotImplemented
    # NumPy trims an array of the elements' numbers, which are 0 where the elements are 0
    numbers = np.where(host_of(x) == 0, 0, np.arange(1, x.size + 1))
    kept = np.trim_zeros(numbers, trim)
    # the position of the first kept element: argmax gives the first True
    first = 0 if "f" not in trim.lower() else int(np.argmax(numbers != 0)) if len(kept) else 0
    return x[first : first + len(kept)].copy()


@form_of(np.ediff1d)
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> ndarray:
    """The differences of adjacent elements of the flattened array, between other values."""
    x = operand(ary).reshape(-1)
    ends = [None if e is None else operand(e).reshape(-1).astype(x.dtype, casting="same_kind", copy=False) for e in (to_begin, to_end)]
    parts = [ends[0], x[1:] - x[:-1], ends[1]]
    return concatenate([p for p in parts if p is not None])


@form_of(np.sort_complex)
def sort_complex(a: ArrayLike) -> ndarray:
    """The elements sorted along the last axis, as complex numbers."""
    x = operand(a)
    found = run(primitive_gather.take_along_axis, x, argsort(x, kind="stable"), axis=x.ndim - 1)
    return found.astype(np.sort_complex(np.zeros(1, x.dtype)).dtype, copy=False)


if hasattr(np, "astype"):  # since NumPy 2.1

    @form_of(np.astype)
    def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: object = None) -> ndarray:
        """The elements in a dtype."""
        return operand(x).astype(dtype, copy=copy)


@form_of(np.ix_)
def ix_(*args: ArrayLike) -> object:
    """Vectors of indices with one axis each, for all combinations of them."""
    arrays = [operand(a) for a in args]
    if any(a.ndim != 1 or a._dtype == "bool" for a in arrays):
        return NotImplemented  # as many indices as a mask has true elements
    return tuple([a.reshape([-1 if k == n else 1 for n in range(len(arrays))]) for k, a in enumerate(arrays)])


@form_of(np.asarray_chkfinite)
def _copy(a: ArrayLike, dtype: DTypeLike = None, *_: object, **options: object) -> ndarray:
    """The array itself: there is one memory order, and a recorded array is not written to."""
    return asarray(a, dtype)


def _concatenated(numpys: Any, key: Any) -> ndarray:
    """The result of an object such as ``r_`` for an index that contains recorded arrays."""
    elements = Numbered()
    items = key if isinstance(key, tuple) else (key,)
    # the bounds of a slice, as in ``r_[x:y]``, become the constants of a range
    refuse_cut(type(numpys).__name__, [k for k in items if isinstance(k, slice)], np.empty(0))
    # text such as ``'r'`` or ``'0,2'`` directs the joining, and is no element
    given = tuple([k if isinstance(k, str) else elements.numbers(numpys[k] if isinstance(k, slice) else k) for k in items])
    return elements.elements(numpys[given], np.asarray(numpys[to_numpy(key)]).dtype)


for _object in (np.r_, np.c_):
    form_of(_object)(partial(_concatenated, _object))
