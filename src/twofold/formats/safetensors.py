"""Converts safetensors files (https://github.com/huggingface/safetensors) to records and back.

A file consists of the u64 size of the header, the header (JSON: name -> dtype, shape, data_offsets; ``__metadata__`` of strings), and
the elements without gaps. The package ``safetensors`` is not used because it copies what it reads, drops the metadata, and only
writes from memory addresses. The bytes written are the same.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from ..errors import FormatError
from .json_text import parse_json, utf8
from .reader import Reader
from .records import ITEM_SIZES, ArrayRecord, Buffer, shape_fault

TYPES = ["uint64", "int64", "float64", "float32", "uint32", "int32", "bfloat16", "float16", "uint16", "int16", "int8", "uint8", "bool"]
#: The code of each element type, in the order in which the package writes arrays: by decreasing size; arrays of one type by name.
CODES = dict(zip(TYPES, ["U64", "I64", "F64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16", "I8", "U8", "BOOL"], strict=True))
ORDER = {name: position for position, name in enumerate(CODES)}
DTYPES = {code: name for name, code in CODES.items()}
METADATA = "__metadata__"
LARGEST_HEADER = 100_000_000  # bytes; the limit of the format


def load_safetensors(data: Buffer) -> tuple[dict[str, ArrayRecord], dict[str, str]]:
    """Read a safetensors file.

    Returns
    -------
    The arrays by name, in the header's order and as views into ``data``; and the metadata.

    Raises
    ------
    FormatError
        If it is not a safetensors file, or contains an unsupported element type.
    """
    reader = Reader(data)
    header, metadata = read_header(reader)
    arrays = {name: array_of_entry(name, entry, reader) for name, entry in header.items()}
    check_gaps(header, reader)
    return arrays, metadata


def load_some_safetensors(reader: Reader, wanted: Collection[str]) -> dict[str, ArrayRecord]:
    """Read some arrays of a safetensors file by their names; nothing is read of the others.

    Raises
    ------
    FormatError
        See `load_safetensors`.
    """
    header, _ = read_header(reader)
    return {name: array_of_entry(name, entry, reader) for name, entry in header.items() if name in wanted}


def read_header(reader: Reader) -> tuple[dict[str, object], dict[str, str]]:
    """The entries of the arrays by name, and the metadata. The reader is then at the elements.

    Raises
    ------
    FormatError
        If the file does not start with a header.
    """
    size = reader.u64("the header's size")
    if size > LARGEST_HEADER:
        raise reader.error("not a safetensors file: its header would be too large", f"{size} bytes", offset=0)
    # offsets below count from the end of the header, which is the reader's position
    header = parse_json(reader.take(size, "the header"), "safetensors header")
    if not isinstance(header, dict):
        raise reader.error("the header is not an object of arrays", type(header).__name__, offset=8)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise reader.error("the metadata is not an object of strings", type(metadata).__name__, offset=8)
    return header, metadata


def array_of_entry(name: str, entry: object, reader: Reader) -> ArrayRecord:
    """The array that an entry of the header describes. The reader is at the elements of all arrays.

    Raises
    ------
    FormatError
        If its element type is unknown, or its shape and offsets do not match or are beyond the file.
    """
    match entry:
        case {"dtype": str(code), "shape": [*shape], "data_offsets": [int(start), int(stop)]} if (
            code in DTYPES and all(type(size) is int for size in shape) and 0 <= start <= stop <= reader.remaining
        ):
            dtype, sizes = DTYPES[code], tuple(shape)
            fault = shape_fault(sizes, ITEM_SIZES[dtype])
            if fault is None and math.prod(sizes) * ITEM_SIZES[dtype] == stop - start:
                return ArrayRecord(dtype, sizes, reader.at(start, stop))
    raise reader.error(f"array {name!r}: its type, shape and offsets do not match", str(entry)[:120], offset=8)


def check_gaps(header: Mapping[str, Any], reader: Reader) -> None:
    """Check that the arrays, whose entries are valid, fill the rest of the file.

    Raises
    ------
    FormatError
        If they do not.
    """
    # the format forbids gaps: they could hide other data, and overlaps could make a small file huge
    ranges = sorted(tuple(entry["data_offsets"]) for entry in header.values())
    stops = [0, *(stop for _, stop in ranges)]
    if [start for start, _ in ranges] != stops[:-1] or stops[-1] != reader.remaining:
        raise reader.error("the arrays leave gaps, overlap, or do not fill the file", f"{reader.remaining} bytes of elements")


def dump_safetensors(arrays: Mapping[str, ArrayRecord], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes of a safetensors file."""
    return b"".join(safetensors_chunks(arrays, metadata))


def safetensors_chunks(arrays: Mapping[str, ArrayRecord], metadata: Mapping[str, str] | None = None) -> Iterator[Buffer]:
    """Yield the bytes of a safetensors file in pieces, without copying array data.

    Raises
    ------
    FormatError
        If an array is sparse, has no shape, or is named like the metadata.
    """
    header: dict[str, object] = {METADATA: dict(sorted(metadata.items()))} if metadata else {}
    # by decreasing size of elements, so that every array begins at a multiple of its elements' size without gaps
    names = sorted(arrays, key=lambda name: (ORDER[arrays[name].dtype], name))
    stop = 0
    for name in names:
        record = arrays[name]
        if record.stype != "default" or record.shape is None or name == METADATA:
            raise FormatError(f"safetensors: {name!r} cannot be written", f"{record.stype} {record.shape}", "convert it to a dense array")
        start, stop = stop, stop + memoryview(record.data).nbytes
        header[name] = {"dtype": CODES[record.dtype], "shape": list(record.shape), "data_offsets": [start, stop]}
    text = utf8(json.dumps(header, separators=(",", ":"), ensure_ascii=False), "the name of an array")
    text += b" " * (-len(text) % 8)  # so that the elements begin at a multiple of 8 and views of them are aligned
    return chain([struct.pack("<Q", len(text)), text], (arrays[name].data for name in names))
