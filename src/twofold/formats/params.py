"""MXNet's parameter files (``.params``, ``.nd``): a list of array blocks and their names, of every version since 0.5.

A file is, all numbers little-endian: u64 0x112, u64 0, u64 count, the blocks, u64 number of names, and per name u64 size and
UTF-8. A block starts with a magic number for its version; the oldest version has none and starts with the number of axes:

======== ============= ==================================================================================================
version  magic         then
======== ============= ==================================================================================================
V0       none          u32 axes, u32 sizes, device, type, data
V1       0xF993FAC8    u32 axes, i64 sizes, device, type, data
V2       0xF993FAC9    i32 storage, [i32 axes, i64 sizes of the stored values], i32 axes, i64 sizes, device, type,
                       [i32 type, i32 axes, i64 sizes per index array], data, [data of each index array]
V3       0xF993FACA    as V2, dense only, written under NumPy shape semantics: no axes means one element, not an unknown shape
======== ============= ==================================================================================================

Parts in brackets exist for sparse arrays only. A device is (i32 type, i32 index), a type an i32 code. An array without a shape
ends after its 0 axes. The layout was derived from files written by MXNet 1.9.1.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..dtype import FROM_MXNET_CODE, MXNET_CODES
from ..errors import FormatError
from .json_text import utf8
from .reader import Reader
from .records import ITEM_SIZES, MAX_NDIM, ArrayRecord, Buffer, shape_fault

LIST_MAGIC = 0x112
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
STORAGE_CODES = {"default": 0, "row_sparse": 1, "csr": 2}
STORAGE_NAMES = {code: name for name, code in STORAGE_CODES.items()}
INDEX_ARRAYS = {"default": (), "row_sparse": ("indices",), "csr": ("indptr", "indices")}
INDEX_FORMATS: dict[str, Literal["i", "q"]] = {"int32": "i", "int64": "q"}
SMALL = 128  # bytes; below this a copy takes less memory than a view
SHAPELESS = ArrayRecord("float32", None)


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """The contents of a parameter file.

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

    All but the smallest arrays are views into ``data``. Bytes after the last name are ignored, as in MXNet.

    Raises
    ------
    FormatError
        If the bytes are not a parameter file.
    """
    reader = Reader(data)
    arrays: list[ArrayRecord] = []
    numpy_shape = False
    for record, is_numpy in iterate_arrays(reader):
        arrays.append(record)
        numpy_shape |= is_numpy
    return ParameterFile(tuple(arrays), read_names(reader, len(arrays)), numpy_shape)


def iterate_arrays(reader: Reader) -> Iterator[tuple[ArrayRecord, bool]]:
    """Yield the arrays of a parameter file, each with whether it was written under NumPy shape semantics.

    Raises
    ------
    FormatError
        If the file does not start as one, or at the array that is damaged.
    """
    for _ in range(_read_count(reader)):
        # an array with axes is the same in V2 and V3, so only the version says under which semantics a block was written
        is_numpy = reader.peek_u32("an array's magic number") == V3
        yield read_array(reader), is_numpy


def _read_count(reader: Reader) -> int:
    """Read the beginning of a parameter file, up to the number of arrays."""
    start = reader.u64("the list's magic number")
    if start != LIST_MAGIC:
        raise FormatError(
            "not an MXNet parameter file: it does not start with 0x112",
            start.to_bytes(8, "little"),
            "pass a file that nd.save, save_parameters or MXNet wrote",
            offset=0,
        )
    reader.u64("the reserved word")
    # `count` rejects a number that the file has no room for, before anything of that size is allocated
    return reader.count(4, "the number of arrays")


def load_some_params(reader: Reader, wanted: Collection[str]) -> dict[str, ArrayRecord]:
    """Read some arrays of a parameter file by their names. Of the others only the headers are read.

    Raises
    ------
    FormatError
        If it is not a parameter file.
    """
    places = []
    for _ in range(_read_count(reader)):
        places.append(reader.offset)
        skip_array(reader)
    found = {}
    for name, place in zip(read_names(reader, len(places)), places, strict=False):  # arrays without names are never wanted
        if name in wanted:
            reader.offset = place
            found[name] = read_array(reader)
    return found


def read_shapes(reader: Reader) -> dict[str, tuple[int, ...] | None]:
    """The shapes of the arrays in a parameter file, by name. Only the headers are read.

    Raises
    ------
    FormatError
        If it is not a parameter file.
    """
    shapes = [skip_array(reader) for _ in range(_read_count(reader))]
    return dict(zip(read_names(reader, len(shapes)), shapes, strict=False))  # arrays may have no names


def read_names(reader: Reader, count: int) -> tuple[str, ...]:
    """The names that follow the ``count`` arrays: one for each, or none.

    Raises
    ------
    FormatError
        If there is another number of them, or one is damaged.
    """
    names = tuple(reader.text(reader.count(1, "a name's length"), "a name") for _ in range(reader.count(8, "the number of names")))
    if names and len(names) != count:
        raise reader.error("the numbers of names and arrays differ", f"{len(names)} names, {count} arrays")
    return names


def load_array(data: Buffer) -> ArrayRecord:
    """Read a single array block, as contained in pickled arrays."""
    return read_array(Reader(data))


class _Header(NamedTuple):
    """The header of an array block. The indices of a sparse array have an element type and a shape each."""

    start: int
    dtype: str
    shape: tuple[int, ...]
    device: tuple[int, int]
    stype: str = "default"
    stored_shape: tuple[int, ...] = ()
    indices: tuple[tuple[str, tuple[int, ...]], ...] = ()


def read_array(reader: Reader) -> ArrayRecord:
    """Read an array block of any version."""
    header = _read_header(reader)
    if header is None:
        return SHAPELESS
    if header.stype != "default":
        return _read_sparse(reader, header)
    return ArrayRecord(header.dtype, header.shape, _read_elements(reader, header.dtype, header.shape), device=header.device)


def skip_array(reader: Reader) -> tuple[int, ...] | None:
    """Advance past an array block and read only its header; return the array's shape, None without one."""
    header = _read_header(reader)
    if header is None:
        return None
    stored = header.shape if header.stype == "default" else header.stored_shape
    for dtype, shape in ((header.dtype, stored), *header.indices):
        reader.skip(_size(reader, dtype, shape), f"{dtype} elements of shape {shape}")
    return header.shape


def _read_header(reader: Reader) -> _Header | None:
    """Read the header of an array block of any version; None for an array without a shape, which ends there."""
    start = reader.offset
    version = reader.peek_u32("an array's magic number")
    if version <= MAX_NDIM:  # V0: no magic number is so small, and no array has more axes
        return _dense_header(reader, start, reader.u32s(reader.u32("the number of axes"), "the shape"))
    if version not in (V1, V2, V3):
        raise reader.error("no array starts here", hex(version))
    reader.u32("the magic number")
    if version == V1:
        return _dense_header(reader, start, _read_shape(reader, "the shape"))
    stype = _read_code(reader, STORAGE_NAMES, "storage type")
    if stype == "default":
        return _dense_header(reader, start, _read_shape(reader, "the shape"), scalar=version == V3)
    if version == V3:
        raise reader.error("a sparse array cannot have NumPy shape semantics", stype)
    return _sparse_header(reader, stype)


def _dense_header(reader: Reader, start: int, shape: tuple[int, ...], *, scalar: bool = False) -> _Header | None:
    if not shape and not scalar:
        return None
    device, dtype = _read_device(reader), _read_code(reader, FROM_MXNET_CODE, "element type")
    return _Header(start, dtype, shape, device)


def _sparse_header(reader: Reader, stype: str) -> _Header:
    start = reader.offset
    stored_shape = _read_shape(reader, "the shape of the stored values")
    shape = _read_shape(reader, "the shape")
    device, dtype = _read_device(reader), _read_code(reader, FROM_MXNET_CODE, "element type")
    # all headers come before all elements
    indices = tuple(
        (_read_code(reader, FROM_MXNET_CODE, f"type of {name}"), _read_shape(reader, f"the shape of {name}"))
        for name in INDEX_ARRAYS[stype]
    )
    return _Header(start, dtype, shape, device, stype, stored_shape, indices)


def _read_sparse(reader: Reader, header: _Header) -> ArrayRecord:
    data = _read_elements(reader, header.dtype, header.stored_shape)
    aux = tuple(ArrayRecord(kind, sizes, _read_elements(reader, kind, sizes)) for kind, sizes in header.indices)
    try:
        record = ArrayRecord(header.dtype, header.shape, data, header.stype, aux, header.device)
        _check_indices(record, header.shape)
    except FormatError as error:
        raise reader.error(error.what, error.given, error.todo, offset=header.start) from error
    # the file has this shape twice: by itself, and by the length of the indices
    if record.stored_shape != header.stored_shape:
        given = f"shape {header.stored_shape}, not {record.stored_shape}"
        raise reader.error("the stored values do not match the indices", given, offset=header.start)
    return record


def _check_indices(record: ArrayRecord, shape: tuple[int, ...]) -> None:
    """Check that a sparse array's indices are in range. Only those in use are checked: MXNet also stores unused capacity."""
    if any(index.dtype not in INDEX_FORMATS for index in record.aux):
        raise FormatError("sparse array: indices must be int32 or int64", ", ".join(index.dtype for index in record.aux))
    indices = memoryview(record.aux[-1].data).cast("B").cast(INDEX_FORMATS[record.aux[-1].dtype])
    size, used = shape[0], len(indices)
    if record.stype == "csr":
        size = shape[1]
        indptr = memoryview(record.aux[0].data).cast("B").cast(INDEX_FORMATS[record.aux[0].dtype])
        # an empty indptr: MXNet writes none for an array without stored values
        if len(indptr) not in (0, shape[0] + 1) or (indptr and indptr[0] != 0) or not all(map(operator.le, indptr, indptr[1:])):
            raise FormatError("csr array: indptr must increase from 0 and have one entry more than rows", f"{len(indptr)} entries")
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
    # views keep the whole file alive, which large arrays share anyway
    elements = reader.take(_size(reader, dtype, shape), f"{dtype} elements of shape {shape}")
    return bytes(elements) if len(elements) < SMALL else elements


def _size(reader: Reader, dtype: str, shape: tuple[int, ...]) -> int:
    """The number of bytes of the elements of an array."""
    fault = shape_fault(shape, ITEM_SIZES[dtype])
    if fault:
        raise reader.error(f"a shape with {fault}", shape)
    return math.prod(shape) * ITEM_SIZES[dtype]


def dump_params(file: ParameterFile) -> bytes:
    """Return the bytes of a parameter file, identical to those of MXNet 1.9.1 (blocks V2, or V3 under NumPy shape semantics)."""
    return b"".join(params_chunks(file))


def params_chunks(file: ParameterFile) -> Iterator[Buffer]:
    """Yield the bytes of a parameter file in pieces, without copying array data.

    Raises
    ------
    FormatError
        If names and arrays differ in number, or an array cannot be written under the file's shape semantics.
    """
    if file.names and len(file.names) != len(file.arrays):
        raise FormatError("the numbers of names and arrays differ", f"{len(file.names)} names, {len(file.arrays)} arrays")
    yield struct.pack("<QQQ", LIST_MAGIC, 0, len(file.arrays))
    for record in file.arrays:
        yield from _array_chunks(record, file.numpy_shape)
    yield struct.pack("<Q", len(file.names))
    for name in file.names:
        encoded = utf8(name, "the name of an array")
        yield struct.pack("<Q", len(encoded)) + encoded


def dump_array(record: ArrayRecord, *, numpy_shape: bool = False) -> bytes:
    """Return a single array block, as contained in pickled arrays."""
    return b"".join(_array_chunks(record, numpy_shape))


def _array_chunks(record: ArrayRecord, numpy_shape: bool) -> Iterator[Buffer]:
    is_dense = record.stype == "default"
    if numpy_shape and (not is_dense or record.shape is None):
        raise FormatError("only dense arrays with a shape can be saved under NumPy shape semantics", f"{record.stype} {record.shape}")
    if not numpy_shape and record.shape == ():
        raise FormatError("a 0-d array needs NumPy shape semantics", "shape ()", "use mx.npx.save, or reshape it to (1,)")
    # the order of the fields is that of the table at the top of this module
    yield struct.pack("<Ii", V3 if numpy_shape else V2, STORAGE_CODES[record.stype])
    if not is_dense:
        yield _shape_bytes(record.stored_shape)
    yield _shape_bytes(record.shape or ())
    if record.shape is None:
        return
    yield struct.pack("<iii", *record.device, MXNET_CODES[record.dtype])
    for index in record.aux:
        yield struct.pack("<i", MXNET_CODES[index.dtype]) + _shape_bytes(index.shape or ())
    yield record.data
    for index in record.aux:
        yield index.data


def _shape_bytes(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)
