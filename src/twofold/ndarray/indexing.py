"""Indexing in ``mx.nd``: views only of contiguous memory, single elements of shape (1,), no NumPy masks."""

from typing import Any

import numpy as np

from ..calls.host_calls import is_recorded, stacked
from ..dtype import NUMPY
from ..errors import DTypeError, ParameterError
from ..imperative.array import Array, from_host
from ..imperative.cell import wrap
from ..imperative.index_rules import Rules
from ..imperative.indexing import Indexer, is_contiguous
from ..imperative.storage import dense_array
from ..imperative.transfer import on_device
from ..opdef.conventions import legacy_scalar
from ..strictness import tolerate
from .types import ArrayLike


def _is_whole(index: object) -> bool:
    """Whether an index is empty or the slice of everything."""
    if index.__class__ is tuple:
        return index == ()
    # not by comparing slices: their bounds may be arrays
    return (
        isinstance(index, slice)
        and index.start is None
        and index.stop is None
        and (index.step is None or (index.step.__class__ is int and index.step == 1))
    )


def _is_basic(item: object) -> bool:
    return item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer, np.bool_))


def _index_array(item: ArrayLike) -> np.ndarray:
    """An index array: a mask for a Twofold array of dtype bool, else int64.

    Raises
    ------
    ParameterError
        If the item is not an index.
    """
    if not isinstance(item, (Array, np.ndarray, list, tuple, range, int, np.integer, np.bool_)):
        raise ParameterError(
            f"NDArray does not support slicing with key {item} of type {type(item)}", None, "use integers, slices, None, ... or arrays"
        )
    host = item.asnumpy() if isinstance(item, Array) else np.asarray(item)
    # MXNet's arrays are float32 by default, so indices in arrays may be floats; NumPy's bool arrays index as 0 and 1
    if isinstance(item, Array) and host.dtype == bool:
        return host
    if host.dtype.kind == "f" and not isinstance(item, Array) and (host != np.trunc(host)).any():
        tolerate("NDArray: indices with a fraction are truncated", str(host.dtype), "use integers")
    if host.dtype.kind not in "biuf":
        raise ParameterError("NDArray does not support slicing with arrays of this kind", str(host.dtype), "use integers")
    return host.astype(np.int64)


def _value(value: Any, x: Any) -> Any:
    """The value of an assignment, in the array's dtype: a cell on its device, a Python number, or a NumPy array.

    Raises
    ------
    DTypeError
        If it is not array-like.
    """
    if isinstance(value, (list, tuple)) and is_recorded(value):
        cls = type(x)

        def element(item: object) -> Array:
            # arrays inside the list are cast one by one, so that their gradients are recorded
            found = _value(item, x)
            return found if isinstance(found, Array) else from_host(cls, np.asarray(found, NUMPY[x._dtype]), x.context)

        return stacked(value, cls, element)
    if isinstance(value, Array):
        if not value.context.shares_memory_with(x.context):
            value = wrap(type(value), on_device(value, x.context))
        value = dense_array(value)
        return value if value._dtype == x._dtype else value.astype(x._dtype)  # type: ignore[attr-defined]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return legacy_scalar(value, x._dtype)
    try:
        host, dtype = np.asarray(value), NUMPY[x._dtype]
        if host.dtype == dtype:
            return host
        if host.dtype.kind == "c" != dtype.kind and host is not value:  # only NumPy's arrays lose imaginary parts, as in MXNet
            raise TypeError("complex numbers")
        with np.errstate(all="ignore"):
            return host.astype(dtype)
    except (TypeError, ValueError) as error:
        raise DTypeError(
            f"item assignment: the value is not array-like: {error}", None, "pass an array, a number or nested lists of numbers"
        ) from None


class MXNetIndexer(Indexer):
    """MXNet's indexing, where ``x[:]`` and ``x[()]`` are the array itself; NumPy's are views."""

    def get(self, x: Array, index: object) -> Any:
        """``x[index]``."""
        return x if _is_whole(index) else super().get(x, index)

    def put(self, x: Array, index: object, value: object) -> None:
        """``x[index] = value``; ``x[:]`` of an array without axes, too, is the array itself."""
        super().put(x, ... if not x.shape and _is_whole(index) else index, value)


INDEXER = MXNetIndexer(Rules((1,), is_contiguous, _is_basic, _index_array, _value, ellipsis_separates=False, takes_whole=True))
