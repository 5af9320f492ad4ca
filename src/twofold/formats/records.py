"""Plain records, the common representation of file contents: arrays as bytes, objects as attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..dtype import ITEMSIZE, MXNET_CODES
from ..errors import FormatError

Buffer = bytes | bytearray | memoryview

#: Size of an element in bytes, by the name of its type: the types that MXNet's files contain.
ITEM_SIZES = {name: ITEMSIZE[name] for name in MXNET_CODES}

MAX_NDIM = 32  # the limit of MXNet, and of the NumPy versions of its time
MAX_BYTES = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ArrayRecord:
    """An array as stored in a file: little-endian elements in row-major order.

    Parameters
    ----------
    dtype
        Name of the element type, a key of `ITEM_SIZES`.
    shape
        The array's shape; None for an array without one, which MXNet reads and writes.
    data
        The bytes of the elements, or of the stored elements of a sparse array. Often a view into the file's bytes: copy to keep.
    stype
        ``"default"`` (dense), ``"csr"`` or ``"row_sparse"``.
    aux
        Index arrays of a sparse array: ``(indptr, indices)`` for csr, ``(indices,)`` for row_sparse.
    device
        MXNet's (device type, index), such as (1, 0) for ``cpu(0)`` and (2, 0) for ``gpu(0)``.

    Raises
    ------
    FormatError
        If the parts contradict each other.
    """

    dtype: str
    shape: tuple[int, ...] | None
    data: Buffer = b""
    stype: str = "default"
    aux: tuple[ArrayRecord, ...] = ()
    device: tuple[int, int] = (1, 0)

    def __post_init__(self) -> None:
        if self.dtype not in ITEM_SIZES:
            raise FormatError("array record: unknown element type", self.dtype, f"use one of {', '.join(ITEM_SIZES)}")
        view = memoryview(self.data)
        # checked only here: code that takes a record may reshape its bytes without a check
        expected = math.prod(self.stored_shape) * ITEM_SIZES[self.dtype]
        if view.nbytes != expected or not view.c_contiguous:
            kind = "bytes" if view.c_contiguous else "bytes that are not contiguous"
            raise FormatError(f"array record of {self.dtype} {self.stored_shape} needs {expected} bytes", f"{view.nbytes} {kind}")

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of the elements in `data`: the array's own, or that of a sparse array's stored values."""
        if self.shape is None:
            return (0,)
        if self.stype == "default" and not self.aux:
            return self.shape
        if self.stype == "csr" and len(self.aux) == 2 and len(self.shape) == 2:
            return _length(self.aux[1])
        if self.stype == "row_sparse" and len(self.aux) == 1 and self.shape:
            return (*_length(self.aux[0]), *self.shape[1:])
        raise FormatError(
            "array record: storage, shape and index arrays do not match",
            f"{self.stype!r} {self.shape} with {len(self.aux)} index arrays",
            "csr is 2-d and has (indptr, indices); row_sparse has (indices,); default has none",
        )


@dataclass(frozen=True, slots=True)
class NumpyRecord(ArrayRecord):
    """An array of NumPy's own class in a pickle, or one of its scalars.

    Parameters
    ----------
    is_scalar
        Whether it is a scalar, such as a ``numpy.float32``. Its shape is ``()``.
    """

    is_scalar: bool = False


def _length(indices: ArrayRecord) -> tuple[int]:
    if indices.shape is None or len(indices.shape) != 1:
        raise FormatError("array record: an index array must be 1-d", f"shape {indices.shape}")
    return (indices.shape[0],)


@dataclass(frozen=True, slots=True)
class DTypeRecord:
    """An element type as a value of its own, such as the ``dtype`` attribute of a pickled object."""

    name: str


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """An instance of a class, as the names and values in a file. The class itself is never imported.

    Parameters
    ----------
    module, name
        The class, as named in the file.
    args
        The arguments of its constructor.
    state
        Its attributes, usually a dict; None if there are none.
    """

    module: str
    name: str
    args: tuple[object, ...] = ()
    state: object = None


def shape_fault(shape: tuple[int, ...], itemsize: int) -> str | None:
    """Return what is wrong with the shape of a dense array, or None if it is valid.

    Sizes must be non-negative and small enough for array libraries, even if a size of 0 makes the array empty.
    """
    if len(shape) > MAX_NDIM:
        return f"more than {MAX_NDIM} axes"
    if any(size < 0 for size in shape):
        return "a negative size"
    # without the zeros: NumPy refuses shapes whose other sizes overflow, even for an array without elements
    if math.prod(size for size in shape if size) * itemsize > MAX_BYTES:
        return "more elements than can be addressed"
    return None
