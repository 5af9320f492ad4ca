"""MXNet's parameter files (``.params``, ``.nd``): a list of array blocks and their names, of every version since 0.5.

A file is, all numbers little-endian: u64 0x112, u64 0, u64 count, the blocks, u64 number of names, and per name u64 size and
UTF-8. A block starts with a magic number that tells its version; the oldest has none and starts with its number of axes:

======== ============= ==================================================================================================
version  magic         then
======== ============= ==================================================================================================
V0       none          u32 axes, u32 sizes, device, type, data
V1       0xF993FAC8    u32 axes, i64 sizes, device, type, data
V2       0xF993FAC9    i32 storage, [i32 axes, i64 sizes of the stored values], i32 axes, i64 sizes, device, type,
                       [i32 type, i32 axes, i64 sizes per index array], data, [data of each index array]
V3       0xF993FACA    as V2, dense only, written under NumPy's shapes: no axes means one element, not an array without shape
======== ============= ==================================================================================================

What stands in brackets is there for sparse arrays only. A device is (i32 type, i32 index), a type an i32 code. An array without
a shape ends after its 0 axes. The layout was worked out from files that MXNet 1.9.1 wrote.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..errors import FormatError
from .reader import Reader
from .records import ITEM_SIZES, MAX_NDIM, ArrayRecord, Buffer, checked_shape

__all__ = ["ParameterFile", "dump_array", "dump_params", "load_array", "load_params", "params_chunks"]

LIST_MAGIC = 0x112
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
TYPE_CODES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "int16": 8,
    "uint16": 9,
    "uint32": 10,
    "uint64": 11,
    "bfloat16": 12,
}
TYPE_NAMES = {code: name for name, code in TYPE_CODES.items()}
STORAGE_CODES = {"default": 0, "row_sparse": 1, "csr": 2}
STORAGE_NAMES = {code: name for name, code in STORAGE_CODES.items()}
INDEX_ARRAYS = {"default": (), "row_sparse": ("indices",), "csr": ("indptr", "indices")}
INDEX_FORMATS: dict[str, Literal["i", "q"]] = {"int32": "i", "int64": "q"}
SMALL = 128  # bytes; below it a copy costs less memory than a view
SHAPELESS = ArrayRecord("float32", None)


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """What a parameter file holds.

    Parameters
    ----------
    arrays
        The arrays, in the file's order.
    names
        As many names, or none for a plain list. Names may repeat; MXNet then keeps the last.
    numpy_shape
        Whether shapes are NumPy's (a 0-d array has one element): blocks of version V3.
    """

    arrays: tuple[ArrayRecord, ...]
    names: tuple[str, ...] = ()
    numpy_shape: bool = False


def load_params(data: Buffer) -> ParameterFile:
    """Read a parameter file.

    Arrays of more than a few bytes are views into ``data``. Bytes after the last name are ignored, as MXNet does.

    Raises
    ------
    FormatError
        If the bytes are not a parameter file.
    """
    reader = Reader(data)
    if reader.u64("the list's magic number") != LIST_MAGIC:
        raise reader.error("not an MXNet parameter file: it does not start with 0x112", bytes(reader.view[:8]), offset=0)
    reader.u64("the reserved word")
    arrays: list[ArrayRecord] = []
    numpy_shape = False
    for _ in range(reader.count(4, "the number of arrays")):
        numpy_shape |= reader.peek_u32("an array's magic number") == V3
        arrays.append(read_array(reader))
    names = tuple(reader.text(reader.count(1, "a name's length"), "a name") for _ in range(reader.count(8, "the number of names")))
    if names and len(names) != len(arrays):
        raise reader.error("names and arrays differ in number", f"{len(names)} names, {len(arrays)} arrays")
    return ParameterFile(tuple(arrays), names, numpy_shape)


def load_array(data: Buffer) -> ArrayRecord:
    """Read one array block on its own, as pickled arrays hold it."""
    return read_array(Reader(data))


def read_array(reader: Reader) -> ArrayRecord:
    """Read the block of one array, of any version."""
    version = reader.peek_u32("an array's magic number")
    if version <= MAX_NDIM:
        return _read_dense(reader, reader.u32s(reader.u32("the number of axes"), "the shape"))
    if version not in (V1, V2, V3):
        raise reader.error("no array starts here", hex(version))
    reader.u32("the magic number")
    if version == V1:
        return _read_dense(reader, _read_shape(reader, "the shape"))
    stype = _read_code(reader, STORAGE_NAMES, "storage type")
    if stype == "default":
        return _read_dense(reader, _read_shape(reader, "the shape"), scalar=version == V3)
    if version == V3:
        raise reader.error("a sparse array cannot have NumPy's shapes", stype)
    return _read_sparse(reader, stype)


def _read_dense(reader: Reader, shape: tuple[int, ...], *, scalar: bool = False) -> ArrayRecord:
    if not shape and not scalar:
        return SHAPELESS
    device, dtype = _read_device(reader), _read_code(reader, TYPE_NAMES, "element type")
    return ArrayRecord(dtype, shape, _read_elements(reader, dtype, shape), device=device)


def _read_sparse(reader: Reader, stype: str) -> ArrayRecord:
    start = reader.offset
    stored_shape = _read_shape(reader, "the shape of the stored values")
    shape = _read_shape(reader, "the shape")
    device, dtype = _read_device(reader), _read_code(reader, TYPE_NAMES, "element type")
    headers = [
        (_read_code(reader, TYPE_NAMES, f"type of {name}"), _read_shape(reader, f"the shape of {name}")) for name in INDEX_ARRAYS[stype]
    ]
    data = _read_elements(reader, dtype, stored_shape)
    aux = tuple(ArrayRecord(kind, sizes, _read_elements(reader, kind, sizes)) for kind, sizes in headers)
    try:
        record = ArrayRecord(dtype, shape, data, stype, aux, device)
        _check_indices(record, shape)
    except FormatError as error:
        raise reader.error(error.what, error.given, error.todo, offset=start) from error
    if record.stored_shape != stored_shape:
        raise reader.error("the stored values' shape does not fit the indices", f"{stored_shape}, not {record.stored_shape}", offset=start)
    return record


def _check_indices(record: ArrayRecord, shape: tuple[int, ...]) -> None:
    """Check that a sparse array's indices point into it; only those in use, as MXNet stores slack beyond them."""
    if any(index.dtype not in INDEX_FORMATS for index in record.aux):
        raise FormatError("sparse array: indices must be int32 or int64", ", ".join(index.dtype for index in record.aux))
    indices = memoryview(record.aux[-1].data).cast("B").cast(INDEX_FORMATS[record.aux[-1].dtype])
    size, used = shape[0], len(indices)
    if record.stype == "csr":
        size = shape[1]
        indptr = memoryview(record.aux[0].data).cast("B").cast(INDEX_FORMATS[record.aux[0].dtype])
        if len(indptr) not in (0, shape[0] + 1) or (indptr and indptr[0] != 0) or not all(map(operator.le, indptr, indptr[1:])):
            raise FormatError("csr array: indptr must rise from 0 and have one entry more than there are rows", f"{len(indptr)} entries")
        used = indptr[-1] if indptr else 0
    if used > len(indices) or not all(0 <= index < size for index in indices[:used]):
        raise FormatError(f"{record.stype} array: an index is out of range", f"shape {shape}")


def _read_shape(reader: Reader, what: str) -> tuple[int, ...]:
    start = reader.offset
    ndim = reader.i32(what)
    if not 0 <= ndim <= MAX_NDIM:
        raise reader.error(f"{what} is not a shape", f"{ndim} axes", offset=start)
    shape = reader.i64s(ndim, what)
    if any(size < 0 for size in shape):
        raise reader.error(f"{what} is not a shape", shape, offset=start)
    return shape


def _read_code(reader: Reader, names: dict[int, str], what: str) -> str:
    start = reader.offset
    code = reader.i32(what)
    if code not in names:
        raise reader.error(f"unknown {what}", f"code {code}", offset=start)
    return names[code]


def _read_device(reader: Reader) -> tuple[int, int]:
    return reader.i32("the device type"), reader.i32("the device index")


def _read_elements(reader: Reader, dtype: str, shape: tuple[int, ...]) -> Buffer:
    fault = checked_shape(shape, ITEM_SIZES[dtype])
    if fault:
        raise reader.error(f"a shape with {fault}", shape)
    elements = reader.take(math.prod(shape) * ITEM_SIZES[dtype], f"{dtype} elements of shape {shape}")
    return bytes(elements) if len(elements) < SMALL else elements


def dump_params(file: ParameterFile) -> bytes:
    """Return the bytes of a parameter file, the same that MXNet 1.9.1 would write (blocks V2, or V3 under NumPy's shapes)."""
    return b"".join(params_chunks(file))


def params_chunks(file: ParameterFile) -> Iterator[Buffer]:
    """Yield the bytes of a parameter file piece by piece, the arrays' own not copied.

    Raises
    ------
    FormatError
        If names and arrays differ in number, or an array cannot be written under the file's kind of shapes.
    """
    if file.names and len(file.names) != len(file.arrays):
        raise FormatError("names and arrays differ in number", f"{len(file.names)} names, {len(file.arrays)} arrays")
    yield struct.pack("<QQQ", LIST_MAGIC, 0, len(file.arrays))
    for record in file.arrays:
        yield from _array_chunks(record, file.numpy_shape)
    yield struct.pack("<Q", len(file.names))
    for name in file.names:
        encoded = name.encode("utf-8")
        yield struct.pack("<Q", len(encoded)) + encoded


def dump_array(record: ArrayRecord, *, numpy_shape: bool = False) -> bytes:
    """Return the block of one array on its own, as pickled arrays hold it."""
    return b"".join(_array_chunks(record, numpy_shape))


def _array_chunks(record: ArrayRecord, numpy_shape: bool) -> Iterator[Buffer]:
    is_dense = record.stype == "default"
    if numpy_shape and (not is_dense or record.shape is None):
        raise FormatError("only dense arrays that have a shape can be saved under NumPy's shapes", f"{record.stype} {record.shape}")
    if not numpy_shape and record.shape == ():
        raise FormatError("a 0-d array can be saved only under NumPy's shapes", "shape ()", "use mx.npx.save, or reshape it to (1,)")
    yield struct.pack("<Ii", V3 if numpy_shape else V2, STORAGE_CODES[record.stype])
    if not is_dense:
        yield _shape_bytes(record.stored_shape)
    yield _shape_bytes(record.shape or ())
    if record.shape is None:
        return
    yield struct.pack("<iii", *record.device, TYPE_CODES[record.dtype])
    for index in record.aux:
        yield struct.pack("<i", TYPE_CODES[index.dtype]) + _shape_bytes(index.shape or ())
    yield record.data
    for index in record.aux:
        yield index.data


def _shape_bytes(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)
