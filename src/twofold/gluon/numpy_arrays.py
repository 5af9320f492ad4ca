"""Arrays of `mx.np` in Gluon: the blocks of this package compute with arrays of `mx.nd`, which show the same memory."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ParamSpec

from ..dtype import is_float
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..numpy_extension import is_np_array

__all__ = ["as_legacy", "as_numpy", "as_wanted", "fitting", "has_numpy", "method_through_legacy", "through_legacy"]

P = ParamSpec("P")


def has_numpy(values: Iterable[Any]) -> bool:
    """Whether there is an array of `mx.np` inside nested lists."""
    return any(isinstance(v, ndarray) or (isinstance(v, (list, tuple)) and has_numpy(v)) for v in values)


def as_legacy(values: Any) -> Any:
    """The arrays inside nested lists as arrays of `mx.nd`: those of `mx.np` as views."""
    return _mapped(lambda a: a.as_nd_ndarray() if isinstance(a, ndarray) else a, values)


def as_numpy(values: Any) -> Any:
    """The arrays inside nested lists as arrays of `mx.np`: those of `mx.nd` as views."""
    return _mapped(lambda a: a.as_np_ndarray() if isinstance(a, NDArray) else a, values)


def as_wanted(values: Any) -> Any:
    """New arrays inside nested lists as arrays of `mx.np` where ``npx.set_np`` asks for these."""
    return as_numpy(values) if is_np_array() else values


def fitting(values: Any, dtype: Any) -> Any:
    """Inputs of a block as arrays of `mx.nd` of one floating-point dtype.

    Arrays of `mx.nd` must be of equal dtypes, those of `mx.np` need not.

    Parameters
    ----------
    values
        Arrays in nested lists.
    dtype
        What floating-point arrays are cast to: the dtype of the block's parameters. If None, there are none, and all arrays are
        cast to the dtype of the first floating-point one.
    """
    arrays = as_legacy(values)
    if dtype is not None:
        return _mapped(lambda a: a.astype(dtype, copy=False) if isinstance(a, NDArray) and is_float(a._dtype) else a, arrays)
    first = next((a._dtype for a in _flat(arrays) if is_float(a._dtype)), None)
    return arrays if first is None else _mapped(lambda a: a.astype(first, copy=False) if isinstance(a, NDArray) else a, arrays)


def through_legacy(function: Callable[P, Any]) -> Callable[P, Any]:
    """A function of arrays of `mx.nd` that also takes arrays of `mx.np`, and then returns such."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> Any:
        if not (has_numpy(args) or has_numpy(options.values())):
            return function(*args, **options)
        return as_numpy(function(*as_legacy(args), **{k: as_legacy(v) for k, v in options.items()}))  # type: ignore[call-arg]

    return call


def method_through_legacy(method: Callable[..., Any]) -> Callable[..., Any]:
    """As `through_legacy`, for a block's method: floating-point arrays are cast to the dtype of the block's parameters."""

    @wraps(method)
    def call(block: Any, *args: Any, **options: Any) -> Any:
        if not (has_numpy(args) or has_numpy(options.values())):
            return method(block, *args, **options)
        dtype = block._input_dtype()
        return as_numpy(method(block, *fitting(args, dtype), **{k: fitting(v, dtype) for k, v in options.items()}))

    return call


def _mapped(change: Callable[[Any], Any], values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return (list if isinstance(values, list) else tuple)(_mapped(change, v) for v in values)
    return change(values)


def _flat(values: Any) -> Iterator[Array]:
    if isinstance(values, Array):
        yield values
    elif isinstance(values, (list, tuple)):
        for v in values:
            yield from _flat(v)
