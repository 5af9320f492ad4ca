"""``mx.nd.sparse``: sparse arrays, how they are made, and the operators that have a form for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import sparse as formats
from ..device import Device, chosen_device
from ..dtype import NAME_OF, NUMPY, dtype_name
from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.array import adopted
from ..imperative.storage import empty_array, sparse_array
from ..opdef import OPS, Sparse
from . import new_arrays
from .array import NDArray
from .functions import add, subtract
from .functions import divide as quotient
from .functions import multiply as broadcast_product
from .keywords import check_keywords
from .namespace import call, function_in, names_in
from .new_arrays import shape_of
from .sparse_array import BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from .types import ArrayLike, DeviceLike, DTypeLike, Shape

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "array",
    "csr_matrix",
    "divide",
    "empty",
    "gs_retain",
    "multiply",
    "row_sparse_array",
    "subtract",
    "zeros",
]

#: The product and the quotient of two arrays of one shape.
_PRODUCT, _QUOTIENT = (next(op for op in OPS.values() if op.front.variant == (name, "pair")) for name in ("mul", "div"))


def __getattr__(name: str) -> Any:
    found = globals()[name] = function_in("sparse", name)
    return found


#: `retain` under the name that MXNet's generated function has.
gs_retain = function_in("sparse", "retain")


def __dir__() -> list[str]:
    return sorted({*__all__, *names_in("sparse")})


def csr_matrix(arg1: object, shape: Shape | None = None, ctx: DeviceLike = None, dtype: DTypeLike = None) -> CSRNDArray:
    """Make a csr matrix.

    Parameters
    ----------
    arg1
        ``(data, indices, indptr)``: the stored parts, see `CSRNDArray`. ``(data, (row, column))``: elements at coordinates; elements at
        equal coordinates are added. ``(rows, columns)``: a matrix of zeros. Or a dense matrix (array or nested lists), a csr matrix, or
        SciPy's.
    shape
        The shape; inferred from the largest indices if None.
    ctx
        The device; the current one if None.
    dtype
        That of the data if None; float32 for lists.

    Raises
    ------
    ParameterError, ShapeError, DTypeError
        If ``arg1`` is none of these, or has another shape. Indices are checked when the matrix is used, and by ``check_format``.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4)).asnumpy().tolist()
    [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]]
    """
    device = chosen_device(ctx)
    if not isinstance(arg1, tuple):
        return _converted(arg1, "csr", shape, device, dtype)
    if len(arg1) == 2 and not isinstance(arg1[1], (tuple, list)):
        return zeros("csr", arg1, device, dtype)
    if len(arg1) == 2:
        data, (row, column) = arg1
        # lists get NumPy's dtype here, because MXNet hands them to SciPy
        values, rows, columns = _values(np.asarray(data) if isinstance(data, list) else data, dtype), _indices(row), _indices(column)
        sizes = (_extent(rows), _extent(columns)) if shape is None else shape_of(shape)
        return _made("csr", sizes, formats.coordinates_to_csr(sizes, values, rows, columns), device)
    if len(arg1) == 3:
        values, indices, indptr = _values(arg1[0], dtype), _indices(arg1[1]), _indices(arg1[2])
        if shape is None and not indices.size:
            raise ParameterError("csr_matrix: the shape cannot be inferred without elements", "empty indices", "pass shape")
        return _made("csr", (indptr.size - 1, _extent(indices)) if shape is None else shape_of(shape), (values, indices, indptr), device)
    raise ParameterError(f"Unexpected length of input tuple: {len(arg1)}", None, "pass (data, indices, indptr) or (data, (row, column))")


def row_sparse_array(arg1: object, shape: Shape | None = None, ctx: DeviceLike = None, dtype: DTypeLike = None) -> RowSparseNDArray:
    """Make a row-sparse array.

    Parameters
    ----------
    arg1
        ``(data, indices)``: rows (n, …) and their numbers (n,). A shape: an array of zeros. Or a dense array (or nested lists), whose
        rows are stored unless they are all zero, or a row-sparse array.
    shape
        The shape; inferred from the largest index if None.
    ctx
        The device; the current one if None.
    dtype
        That of the data if None; float32 for lists.

    Raises
    ------
    ParameterError, ShapeError, DTypeError
        As `csr_matrix`.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2)).asnumpy().tolist()
    [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    """
    device = chosen_device(ctx)
    if not isinstance(arg1, tuple):
        return _converted(arg1, "row_sparse", shape, device, dtype)
    if len(arg1) < 2:
        raise ParameterError(f"Unexpected length of input tuple: {len(arg1)}", None, "pass (data, indices)")
    if len(arg1) > 2 or isinstance(arg1[0], (int, np.integer)):
        return zeros("row_sparse", arg1, device, dtype)
    values, indices = _values(arg1[0], dtype), _indices(arg1[1])
    sizes = (_extent(indices), *values.shape[1:]) if shape is None else shape_of(shape)
    if values.shape[1:] != sizes[1:] or values.shape[:1] != indices.shape:
        given = f"data {values.shape}, indices {indices.shape}, shape {sizes}"
        raise ShapeError("row_sparse_array: the arrays do not fit together", given, "pass data (n, …) and indices (n,)")
    return _made("row_sparse", sizes, (values, indices), device)


def multiply(lhs: object, rhs: object) -> NDArray:
    """The product of two arrays, or of an array and a number. It is sparse if one operand is sparse and has the other's shape."""
    if isinstance(lhs, NDArray) and isinstance(rhs, BaseSparseNDArray) and lhs.shape == rhs.shape:
        return call(_PRODUCT, (lhs, rhs), {})
    return broadcast_product(lhs, rhs)


def divide(lhs: object, rhs: object) -> NDArray:
    """The quotient of two arrays, or of an array and a number. For two arrays of one shape it is dense, and NaN where both are 0."""
    if isinstance(lhs, NDArray) and isinstance(rhs, NDArray) and lhs.shape == rhs.shape:
        return call(_QUOTIENT, (lhs, rhs), {})
    return quotient(lhs, rhs)


def zeros(stype: str, shape: Shape, ctx: DeviceLike = None, dtype: DTypeLike = None, **kwargs: Any) -> Any:
    """An array of zeros of a storage type, without stored elements.

    Parameters
    ----------
    stype
        ``"csr"``, ``"row_sparse"`` or ``"default"``.
    shape, ctx, dtype
        As for ``mx.nd.zeros``.
    **kwargs
        As for ``mx.nd.zeros``; ``out`` for a dense array only.

    Raises
    ------
    ParameterError
        For any other storage type.
    """
    if stype == "default":
        return new_arrays.zeros(shape, ctx, dtype, **kwargs)
    check_keywords(zeros, kwargs)
    return empty_array(stype, shape_of(shape), "float32" if dtype is None else dtype_name(dtype), chosen_device(ctx))


def empty(stype: str, shape: Shape, ctx: DeviceLike = None, dtype: DTypeLike = None) -> NDArray:
    """An array of a sparse storage type without stored elements; the same as `zeros`.

    Parameters
    ----------
    stype, shape, ctx, dtype
        As for `zeros`.
    """
    if stype == "default":
        raise ParameterError("unknown stype : default", None, "use mx.nd.empty")
    return zeros(stype, shape, ctx, dtype)


def array(source_array: object, ctx: DeviceLike = None, dtype: DTypeLike = None) -> RowSparseNDArray | CSRNDArray:
    """A sparse array with the elements of another one, or of a SciPy csr matrix.

    Parameters
    ----------
    source_array
        A sparse array, or a csr matrix of SciPy.
    ctx
        Device of the result; the current one if None.
    dtype
        Dtype of the result; that of the source if None.

    Raises
    ------
    ParameterError
        For anything else.
    """
    if isinstance(source_array, RowSparseNDArray):
        return row_sparse_array(source_array, None, ctx, dtype)
    if isinstance(source_array, CSRNDArray) or getattr(source_array, "format", None) == "csr":
        return csr_matrix(source_array, None, ctx, dtype)
    if isinstance(source_array, NDArray):
        what = "Please use `tostype` to create RowSparseNDArray or CSRNDArray from an NDArray"
        raise ParameterError(what, f"shape {source_array.shape}", None)
    kind = type(source_array)
    if isinstance(source_array, (np.ndarray, list)):
        raise ParameterError(f"Please use mx.nd.array to create an NDArray with source_array of type {kind}", None, "or csr_matrix")
    raise ParameterError(f"Unexpected source_array type: {kind}", None, "pass a sparse array or a SciPy csr matrix")


def _converted(source: Any, stype: str, shape: Shape | None, device: Device, dtype: DTypeLike) -> Any:
    """An array of a storage type from a whole array."""
    if isinstance(source, BaseSparseNDArray):
        if source.stype != stype:
            raise ParameterError(f"Unexpected input type: {type(source).__name__}", None, "convert it with tostype('default') first")
        new = source.copyto(device).astype(source.dtype if dtype is None else dtype)
    elif stype == "csr" and getattr(source, "format", None) == "csr":  # SciPy's
        if not source.has_canonical_format:  # it may have several elements in one place, whose sum counts
            source = source.copy()
            source.sum_duplicates()
        parts = _values(source.data, dtype).copy(), _indices(source.indices).copy(), _indices(source.indptr).copy()
        new = _made("csr", source.shape, parts, device)
    else:
        if hasattr(source, "tocsr"):
            raise DTypeError("source_array must be array like object", type(source).__name__, "call its method tocsr() first")
        kept = source.dtype if isinstance(source, (NDArray, np.ndarray)) else np.float32
        dense = new_arrays.array(source, device, NAME_OF[NUMPY[dtype_name(kept if dtype is None else dtype)]])
        new = dense.tostype(stype)
    if shape is not None and new.shape != shape_of(shape):
        raise ShapeError(f"Shape mismatch detected. {new.shape} v.s. {shape_of(shape)}", None, "leave out shape")
    return new


def _made(stype: str, shape: Sequence[int], parts: Sequence[np.ndarray], device: Device) -> Any:
    return sparse_array(Sparse(stype, tuple(shape), *[adopted(NDArray, p, device) for p in parts]))


def _values(data: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    """Stored values as a NumPy array of their own: float32 if they are a list."""
    host = data.asnumpy() if isinstance(data, NDArray) else data
    kept = host.dtype if isinstance(host, np.ndarray) else np.float32
    return np.array(host, NUMPY[dtype_name(kept if dtype is None else dtype)], order="C")


def _indices(given: ArrayLike) -> np.ndarray:
    host = given.asnumpy() if isinstance(given, NDArray) else np.asarray(given)
    if host.ndim != 1:
        raise ParameterError("invalid shape", f"indices of shape {host.shape}", "pass vectors")
    if host.dtype.kind not in "biuf" or (host.dtype.kind == "f" and not np.isfinite(host).all()):
        given_as = host.dtype if host.dtype.kind not in "biuf" else host[~np.isfinite(host)][0]
        raise ParameterError("values must be array like object", f"indices {given_as}", "pass integers")
    return host.astype(formats.INDEX)


def _extent(indices: np.ndarray) -> int:
    return int(indices.max(initial=-1)) + 1
