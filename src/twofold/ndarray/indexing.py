"""What ``mx.nd`` makes of indices: views only where memory is contiguous, single elements of shape (1,), no masks of NumPy's."""

from typing import Any

import numpy as np

from ..dtype import NUMPY
from ..errors import DTypeError, ParameterError
from ..imperative.array import Array
from ..imperative.cell import wrap
from ..imperative.indexing import Indexer, Rules, is_contiguous
from ..imperative.transfer import on_device
from ..op.conventions import legacy_scalar


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer, np.bool_))


def _places(item: Any) -> np.ndarray:
    """An index array: a mask if it is an array of ours of dtype bool; all others are integers.

    Raises
    ------
    ParameterError
        If the item is no index.
    """
    if not isinstance(item, (Array, np.ndarray, list, tuple, range, int, np.integer, np.bool_)):
        raise ParameterError(
            f"NDArray does not support slicing with key {item} of type {type(item)}", None, "use integers, slices, None, ... or arrays"
        )
    host = item.asnumpy() if isinstance(item, Array) else np.asarray(item)
    if isinstance(item, Array) and host.dtype == bool:
        return host
    if host.dtype.kind not in "biuf" or (host.dtype.kind == "f" and not isinstance(item, Array) and host.size):
        raise ParameterError("NDArray does not support slicing with arrays of this kind", str(host.dtype), "use integers")
    return host.astype(np.int64)


def _value(value: Any, x: Any) -> Any:
    """A value to be written, in the array's dtype: a cell on its device, a Python number, or a NumPy array.

    Raises
    ------
    DTypeError
        If it is nothing of the kind.
    """
    if isinstance(value, Array):
        if not value.context.shares_memory_with(x.context):
            value = wrap(type(value)._root or type(value), on_device(value, x.context))
        return value if value._dtype == x._dtype else value.astype(x._dtype)  # type: ignore[attr-defined]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return legacy_scalar(value, x._dtype)
    try:
        host, dtype = np.asarray(value), NUMPY[x._dtype]
        if host.dtype == dtype:
            return host
        with np.errstate(all="ignore"):
            return host.astype(dtype)
    except (TypeError, ValueError) as error:
        raise DTypeError(
            "item assignment: the value is not array-like", str(error), "give an array, a number or nested lists of them"
        ) from None


INDEXER = Indexer(Rules((1,), is_contiguous, _is_basic, _places, _value))
get, put = INDEXER.get, INDEXER.put
