"""Private names of ``mxnet.ndarray.ndarray`` and its neighbors that scripts import: codes of types, indexing helpers, DLPack's structures.

Twofold uses none of them: indexing is in `imperative.indexing`, DLPack in `ndarray.dlpack`.
"""

import ctypes
from array import array as native_array
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtype import FROM_MXNET_CODE, MXNET_CODES, NUMPY
from ..errors import IndexingError, ParameterError, ShapeError
from ..formats.params import STORAGE_CODES
from ..imperative.array import Array
from ..symbol.symbol import Symbol
from .base import _HANDLES, _Handle
from .handles import _ndarray_cls, _new_alloc_handle, _np_ndarray_cls, number_of, owner  # noqa: F401  (modules import them)

__all__ = [
    "DLContext",
    "DLDataType",
    "DLManagedTensor",
    "DLTensor",
    "check_boolean_array_dimension",
    "get_indexing_dispatch_code",
    "get_oshape_of_gather_nd_op",
    "indexing_key_expand_implicit_axes",
    "native_array",
    "py_slice",
]

py_slice = slice
NDArrayBase = Array
SymbolBase = Symbol

# codes

#: The dtypes that MXNet 1.9.1 has.
_KNOWN = [name for name in MXNET_CODES if name not in ("int16", "uint16", "uint32", "uint64")]
_DTYPE_NP_TO_MX: dict[Any, int] = {None: -1} | {NUMPY[name].type: MXNET_CODES[name] for name in _KNOWN}
_DTYPE_MX_TO_NP: dict[int, Any] = {-1: None} | {code: NUMPY[name].type for code, name in FROM_MXNET_CODE.items() if name in _KNOWN}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, **STORAGE_CODES}
_STORAGE_TYPE_ID_TO_STR = {code: name for name, code in _STORAGE_TYPE_STR_TO_ID.items()}
_STORAGE_TYPE_UNDEFINED, _STORAGE_TYPE_DEFAULT, _STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = -1, 0, 1, 2
_SIGNED_INT32_UPPER_LIMIT = 2**31 - 1
_NDARRAY_UNSUPPORTED_INDEXING = _NDARRAY_NO_ZERO_DIM_BOOL_ARRAY = -1
_NDARRAY_BASIC_INDEXING = _NDARRAY_ZERO_DIM_BOOL_ARRAY_FALSE = 0
_NDARRAY_ADVANCED_INDEXING = _NDARRAY_ZERO_DIM_BOOL_ARRAY_TRUE = 1
_NDARRAY_EMPTY_TUPLE_INDEXING = 2


def _int64_enabled() -> bool:
    """True: arrays may have more than 2³¹ elements."""
    return True


def _new_empty_handle() -> _Handle:
    """An empty handle."""
    return _HANDLES["NDArrayHandle"]()


def _storage_type(handle: ctypes.c_void_p) -> int:
    """The code of the storage type of a handle's array."""
    return _STORAGE_TYPE_STR_TO_ID[owner(number_of(handle), Array).stype]


# indexing


def get_indexing_dispatch_code(key: tuple[object, ...]) -> int:
    """How a tuple indexes an array: 0 if it has integers, slices and None only, 1 if it has lists or arrays.

    Raises
    ------
    ParameterError
        If an element is of another kind.
    """
    assert isinstance(key, tuple), f"an index that is a tuple is needed, not {key!r}"
    code = _NDARRAY_BASIC_INDEXING
    for part in key:
        if isinstance(part, (Array, np.ndarray, list, tuple, range)):
            code = _NDARRAY_ADVANCED_INDEXING
        elif not (part is None or isinstance(part, (slice, int, np.integer))) or isinstance(part, bool):
            what = f"NDArray does not support slicing with key {part} of type {type(part)}."
            raise ParameterError(what, None, "use integers, slices, lists, arrays and None")
    return code


def indexing_key_expand_implicit_axes(key: Any, shape: Sequence[int]) -> tuple[tuple[Any, ...], int]:
    """An index as a tuple with one element for each axis of an array, and None for each new axis.

    Parameters
    ----------
    key
        The index. A boolean array is replaced by the indices of its true elements only if it is an array of ``mx.np``.
    shape
        The array's shape.

    Returns
    -------
    key
        The tuple.
    code
        1 or 0 if the index is True or False, which add a new axis; else -1.

    Raises
    ------
    IndexingError
        If there is more than one ellipsis.

    Examples
    --------
    >>> indexing_key_expand_implicit_axes(np.s_[:2, None, 0, ...], (3, 4, 5))
    ((slice(None, 2, None), None, 0, slice(None, None, None)), -1)
    """
    code = _NDARRAY_NO_ZERO_DIM_BOOL_ARRAY
    parts: list[Any] = []
    places = []
    for part in key if isinstance(key, tuple) else (key,):
        if part is Ellipsis:
            places.append(len(parts))
        elif isinstance(part, (bool, np.bool_)):
            code = int(part)
        elif isinstance(part, Array) and part._dtype == "bool":
            parts += list(np.nonzero(part.asnumpy()))
        else:
            parts.append(part)
    if len(places) > 1:
        raise IndexingError("Cannot use more than one ellipsis (`...`) for indexing", repr(key), "leave out all but one")
    # None adds an axis and takes none; the remaining axes go in place of the ellipsis, or to the end without one
    missing = len(shape) - sum(part is not None for part in parts)
    at = places[0] if places else len(parts)
    return (*parts[:at], *[slice(None)] * max(missing, 0), *parts[at:]), code


def check_boolean_array_dimension(array_shape: Sequence[int], axis: int, bool_shape: Sequence[int]) -> None:
    """Raise an IndexError unless a boolean array has the sizes of an array's axes from ``axis`` on."""
    for k, size in enumerate(bool_shape):
        if array_shape[axis + k] != size:
            what = f"boolean index did not match indexed array along axis {axis + k}"
            raise IndexingError(
                f"{what}; size is {array_shape[axis + k]} but corresponding boolean size is {size}", None, "match the sizes"
            )


def get_oshape_of_gather_nd_op(dshape: Sequence[int], ishape: Sequence[int]) -> tuple[int, ...]:
    """The shape of ``gather_nd``'s result for data and indices of the given shapes.

    Raises
    ------
    ShapeError
        If the indices have more rows than the data has axes.
    """
    if ishape[0] > len(dshape):
        raise ShapeError("gather_nd: too many rows of indices", f"data {tuple(dshape)}, indices {tuple(ishape)}", "pass one for each axis")
    return (*ishape[1:], *dshape[ishape[0] :])


def _get_index_range(start: int | None, stop: int | None, length: int, step: int | None = 1) -> tuple[int, int, int]:
    """Start, stop and step of a slice of ``length`` elements as absolute numbers."""
    return slice(start, stop, step).indices(length)


def _get_dim_size(start: int, stop: int, step: int) -> int:
    """The number of elements of a slice, from absolute numbers."""
    return len(range(start, stop, step))


def _get_slice_len(slc: slice, seq_length: int) -> int:
    """The number of elements that a slice selects from a sequence."""
    return len(range(*slc.indices(seq_length)))


def _get_broadcast_shape(shape1: Sequence[int], shape2: Sequence[int]) -> tuple[int, ...]:
    """The shape to which two shapes are broadcast."""
    return np.broadcast_shapes(tuple(shape1), tuple(shape2))


def _broadcast_shapes(seq: Sequence[Any]) -> tuple[int, ...]:
    """The shape to which the arrays of a sequence are broadcast."""
    return np.broadcast_shapes(*(tuple(x.shape) for x in seq))


def _int_to_slice(idx: int) -> slice:
    """The slice that selects the same element as an integer."""
    return slice(idx, None if idx == -1 else idx + 1)


def _is_advanced_index(idx: object) -> bool:
    """Whether an index is an integer, a list or an array."""
    return isinstance(idx, (int, np.integer, list, tuple, np.ndarray, Array))


# DLPack's structures, version 0.2


class DLContext(ctypes.Structure):
    """A device: its type (1 is the CPU, 2 a GPU) and number."""

    _fields_: ClassVar = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int)]


class DLDataType(ctypes.Structure):
    """A type of elements: kind (0 int, 1 uint, 2 float), bits, and elements of a vector."""

    _fields_: ClassVar = [("type_code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]
    TYPE_MAP: ClassVar[dict[str, tuple[int, int, int]]] = {
        "int32": (0, 32, 1),
        "int64": (0, 64, 1),
        "bool": (1, 1, 1),
        "uint8": (1, 8, 1),
        "uint32": (1, 32, 1),
        "uint64": (1, 64, 1),
        "float16": (2, 16, 1),
        "float32": (2, 32, 1),
        "float64": (2, 64, 1),
    }


class DLTensor(ctypes.Structure):
    """An array in memory; strides are counted in elements, and NULL for arrays without gaps."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("ctx", DLContext),
        ("ndim", ctypes.c_int),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    """An array in memory with the function that frees it."""

    _fields_: ClassVar = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]
