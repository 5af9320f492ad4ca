"""The plain records that file formats are read into and written from: arrays as bytes, objects as attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import FormatError

__all__ = ["ITEM_SIZES", "ArrayRecord", "Buffer", "DTypeRecord", "ObjectRecord", "checked_shape"]

Buffer = bytes | bytearray | memoryview

ITEM_SIZES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "uint16": 2,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "uint32": 4,
    "int32": 4,
    "float32": 4,
    "uint64": 8,
    "int64": 8,
    "float64": 8,
}
"""Size of one element in bytes, by the name of its type."""

MAX_NDIM = 32  # MXNet's limit, and that of the NumPy it was written for
MAX_BYTES = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ArrayRecord:
    """An array as it lies in a file: little-endian elements in row-major order.

    Parameters
    ----------
    dtype
        Name of the element type, a key of `ITEM_SIZES`.
    shape
        The array's shape; None for an array that never was given one (MXNet writes and reads those).
    data
        The elements' bytes; of a sparse array those that are stored. Often a view into the file's bytes: copy to keep.
    stype
        ``"default"`` (dense), ``"csr"`` or ``"row_sparse"``.
    aux
        Where a sparse array's elements stand: ``(indptr, indices)`` of csr, ``(indices,)`` of row_sparse.
    device
        MXNet's (device type, index), such as (1, 0) for ``cpu(0)`` and (2, 0) for ``gpu(0)``.

    Raises
    ------
    FormatError
        If the parts do not fit together.
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
            "array record: storage, shape and index arrays do not fit",
            f"{self.stype!r} {self.shape} with {len(self.aux)} index arrays",
            "csr is 2-d and has (indptr, indices); row_sparse has (indices,); default has none",
        )


def _length(indices: ArrayRecord) -> tuple[int]:
    if indices.shape is None or len(indices.shape) != 1:
        raise FormatError("array record: an index array must be 1-d", f"shape {indices.shape}")
    return (indices.shape[0],)


@dataclass(frozen=True, slots=True)
class DTypeRecord:
    """An element type that stands on its own in a file, such as the ``dtype`` attribute of a pickled object."""

    name: str


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """An instance of a class, as the names and values that a file holds: nothing of the class itself.

    Parameters
    ----------
    module, name
        The class, as the file names it.
    args
        The arguments that its constructor was to be given.
    state
        Its attributes, usually a dict; None if the file gives none.
    """

    module: str
    name: str
    args: tuple[object, ...] = ()
    state: object = None


def checked_shape(shape: tuple[int, ...], itemsize: int) -> str | None:
    """Return what is wrong with a dense array's shape, None if nothing is.

    Besides negative sizes those are refused that no array library can hold, even where a size of 0 makes the array empty.
    """
    if len(shape) > MAX_NDIM:
        return f"more than {MAX_NDIM} axes"
    if any(size < 0 for size in shape):
        return "a negative size"
    if math.prod(size for size in shape if size) * itemsize > MAX_BYTES:
        return "more elements than can be addressed"
    return None
