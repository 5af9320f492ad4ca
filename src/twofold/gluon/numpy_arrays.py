"""Support for arrays of `mx.np` in Gluon: blocks compute with arrays of `mx.nd` that share their memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..dtype import is_float
from ..imperative.array import Array
from ..imperative.views import view_of
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..numpy_extension import is_np_array
from ..symbol.symbol import Symbol
from .signatures import DTypeLike

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class OrHalf:
    """The dtype of the inputs of batch normalization: that of its parameters, or any 16-bit one."""

    dtype: DTypeLike


def has_numpy(values: Iterable[object]) -> bool:
    """Whether nested lists contain an array of `mx.np`."""
    return any(isinstance(v, ndarray) or (isinstance(v, (list, tuple)) and has_numpy(v)) for v in values)


def as_legacy(values: object) -> Any:
    """Convert the arrays of `mx.np` in nested lists to arrays of `mx.nd`, as views."""
    # not by `as_nd_ndarray`, which gives a 0-d array an axis: the result of a layer has its input's shape
    return _map(lambda a: view_of(NDArray, a, ()) if isinstance(a, ndarray) else a.as_nd_ndarray() if isinstance(a, Symbol) else a, values)


def as_numpy(values: object) -> Any:
    """Convert the arrays of `mx.nd` in nested lists to arrays of `mx.np`, as views."""
    return _map(lambda a: a.as_np_ndarray() if isinstance(a, (NDArray, Symbol)) else a, values)


def into_numpy(values: object, given: Sequence[object] = ()) -> Any:
    """Convert new arrays of `mx.nd` in nested lists to arrays of `mx.np`, which take their contents over.

    Parameters
    ----------
    values
        Arrays to which nobody else refers, unless they are among ``given``: these become views.
    given
        What the arrays were computed from.
    """
    kept = set(map(id, _arrays_in(given)))

    def change(a: object) -> object:
        if isinstance(a, Symbol) or id(a) in kept:
            return as_numpy(a)
        return a._into_numpy() if isinstance(a, NDArray) else a

    return _map(change, values)


def as_active_class(values: object) -> Any:
    """Convert new arrays in nested lists to arrays of `mx.np` if ``npx.set_np`` is in effect."""
    return into_numpy(values) if is_np_array() else values


def first_told(dtypes: Iterable[DTypeLike | OrHalf | None]) -> DTypeLike | OrHalf | None:
    """The first of the dtypes that the layers of a network take; that of batch normalization only if the others have none.

    Its parameters are float32 in a float16 network too.
    """
    found = None
    for dtype in dtypes:
        if dtype is not None and not isinstance(dtype, OrHalf):
            return dtype
        found = found or dtype
    return found


def cast_inputs(values: object, dtype: DTypeLike | OrHalf | None) -> Any:
    """Convert the inputs of a block to arrays of `mx.nd` with one floating-point dtype.

    Operators of `mx.nd` require equal dtypes; callers with arrays of `mx.np` expect promotion.

    Parameters
    ----------
    values
        Arrays in nested lists.
    dtype
        Dtype of the block's parameters, to which floating-point arrays are cast. If None (a block without parameters), all arrays
        are cast to the dtype of the first floating-point one.
    """
    arrays = as_legacy(values)
    if isinstance(dtype, OrHalf):
        wanted = dtype.dtype
        return _map(lambda a: a.astype(wanted, copy=False) if isinstance(a, NDArray) and a._dtype in ("float32", "float64") else a, arrays)
    # Integers do not change: they are indices or labels, which operators take directly.
    if dtype is not None:
        return _map(lambda a: a.astype(dtype, copy=False) if isinstance(a, NDArray) and is_float(a._dtype) else a, arrays)
    first = next((a._dtype for a in _arrays_in(arrays) if is_float(a._dtype)), None)
    return arrays if first is None else _map(lambda a: a.astype(first, copy=False) if isinstance(a, NDArray) else a, arrays)


def through_legacy(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function on arrays of `mx.nd` to accept arrays of `mx.np` too, and then return those."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        if not (has_numpy(args) or has_numpy(options.values())):
            return function(*args, **options)
        return as_numpy(function(*as_legacy(args), **{k: as_legacy(v) for k, v in options.items()}))

    return call


def method_through_legacy(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """`through_legacy` for a method of a block: floating-point arrays are cast to the dtype of the block's parameters."""

    @wraps(method)
    def call(block: Any, *args: P.args, **options: P.kwargs) -> R:
        if not (has_numpy(args) or has_numpy(options.values())):
            return method(block, *args, **options)
        dtype = block._input_dtype()
        given, named = cast_inputs(args, dtype), {k: cast_inputs(v, dtype) for k, v in options.items()}
        outputs = method(block, *given, **named)
        # what users' children and hooks have seen may be arrays that they keep
        return as_numpy(outputs) if block._children or block._forward_hooks else into_numpy(outputs, (*given, *named.values()))

    return call


def _map(change: Callable[[Any], object], values: object) -> Any:
    if isinstance(values, dict):
        return {name: _map(change, v) for name, v in values.items()}
    if isinstance(values, (list, tuple)):
        return (list if isinstance(values, list) else tuple)(_map(change, v) for v in values)
    return change(values)


def _arrays_in(values: object) -> Iterator[Array]:
    if isinstance(values, Array):
        yield values
    elif isinstance(values, (list, tuple)):
        for v in values:
            yield from _arrays_in(v)
