"""Files of arrays: MXNet's parameters, safetensors, NumPy's own files, and the data sets of MNIST."""

import ast
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from tokenize import TokenError
from typing import BinaryIO

import numpy as np

from ...errors import FormatError, MissingDependency
from ...formats.archives import FAULTS, METHODS
from ...formats.datasets import GZIP_MAGIC, load_idx
from ...formats.images import dump_image
from ...formats.params import iterate_arrays, read_names
from ...formats.reader import FileReader
from ...formats.records import ArrayRecord, shape_fault
from ...formats.safetensors import array_of_entry, check_gaps, read_header
from ...formats.value_text import brief_repr
from .content import ArrayContent, Content, Sample, Selection, Table, selected
from .inspected_file import InspectedFile
from .statistics import PIECE, array_content, has_statistics, statistics_of


def read_parameters(source: InspectedFile, content: Content, selection: Selection) -> None:
    """Arrays of an MXNet parameter file. Names come last in the file: those of a cut one stay unknown."""
    reader = FileReader(source.file)  # not the file mapped into memory: if another program shortened it, the system would end this process
    unnamed: list[ArrayContent] = []
    is_numpy = False
    try:
        for record, numpy_shape in iterate_arrays(reader):
            unnamed.append(array_content(f"[{len(unnamed)}]", record))
            is_numpy |= numpy_shape
        names = read_names(reader, len(unnamed))
    except FormatError:
        content.arrays += unnamed
        raise
    content.facts["shapes"] = "NumPy's semantics" if is_numpy else "MXNet's semantics"
    if reader.remaining:
        content.facts["bytes after the last name"] = reader.remaining
    content.arrays += [replace(a, name=name) for a, name in zip(unnamed, names, strict=True)] if names else unnamed


def read_safetensors(source: InspectedFile, content: Content, selection: Selection) -> None:
    """Arrays and metadata of a safetensors file."""
    reader = FileReader(source.file)
    header, metadata = read_header(reader)
    if metadata:
        content.tables.append(Table("Metadata", ("name", "text"), list(metadata.items())))
    faults: list[FormatError] = []
    for name, entry in header.items():
        try:
            content.arrays.append(array_content(name, array_of_entry(name, entry, reader)))
        except FormatError as error:  # the header says where the other arrays are, even if this one is damaged
            faults.append(error)
    if faults:
        raise faults[0]
    check_gaps(header, reader)


def read_idx_arrays(source: InspectedFile, content: Content, selection: Selection) -> None:
    """The array of an IDX file, as pictures if it holds images."""
    record = load_idx(source.whole())
    content.facts["compressed"] = "gzip" if source.head.startswith(GZIP_MAGIC) else "no"
    content.arrays.append(array_content("[0]", record))
    shape = record.shape or ()
    if record.dtype != "uint8" or len(shape) != 3 or 0 in shape:
        return
    labels = _labels_beside(source, shape[0])
    elements = np.frombuffer(record.data, np.uint8).reshape(shape)
    try:
        for k in selected(shape[0], selection):
            picture = dump_image(ArrayRecord("uint8", shape[1:], elements[k].tobytes()), ".png", 6)
            facts = {} if labels is None else {"label": int(labels[k])}
            content.samples.append(Sample(k, facts, (picture, shape[2], shape[1])))
    except MissingDependency as error:
        content.facts["pictures"] = str(error)


def _labels_beside(source: InspectedFile, count: int) -> np.ndarray | None:
    """The labels in MNIST's file that belongs to a file of images."""
    data = source.beside("images-idx3", "labels-idx1")
    if data is None:
        return None
    record = load_idx(data)
    return np.frombuffer(record.data, np.uint8) if record.dtype == "uint8" and record.shape == (count,) else None


def read_npy(source: InspectedFile, content: Content, selection: Selection) -> None:
    """The array of an NPY file."""
    source.file.seek(0)
    content.arrays.append(_npy_content("[0]", source.file, source.size))


def read_npz(source: InspectedFile, content: Content, selection: Selection) -> None:
    """The arrays of an NPZ file, one at a time."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            entries = archive.infolist()
            _check_entries(entries, source.size)
            for entry in entries:
                if not entry.filename.endswith(".npy"):
                    content.facts[f"other file {entry.filename}"] = entry.file_size
                    continue
                if entry.compress_type not in METHODS:
                    raise FormatError(f"{entry.filename}: compressed in another way than by deflate", f"method {entry.compress_type}")
                with archive.open(entry) as file:
                    content.arrays.append(_npy_content(entry.filename.removesuffix(".npy"), file, entry.file_size))  # type: ignore[arg-type]
    except FormatError:
        raise
    except FAULTS as error:
        raise FormatError(f"a damaged archive of arrays: {error}") from None


def _check_entries(entries: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Check that an archive's members are distinct parts of the file: a directory may list one many times.

    Raises
    ------
    FormatError
        If two have one name, or they overlap.
    """
    names = Counter(entry.filename for entry in entries)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise FormatError("a damaged archive of arrays: two members have one name", brief_repr(twice))
    starts = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    ends = [start for start, _ in starts[1:]] + [size]
    # the header before a member's content takes 30 bytes and more
    if any(start + 30 + length > end for (start, length), end in zip(starts, ends, strict=True)):
        raise FormatError("a damaged archive of arrays: its members overlap", f"{len(entries)} members")


def _npy_content(name: str, file: BinaryIO, size: int) -> ArrayContent:
    """A table's row for an array in NumPy's format. Pickled objects in it are not read."""
    try:
        shape, dtype = _npy_header(file)
    except (ValueError, EOFError, SyntaxError, KeyError, TypeError, TokenError, MemoryError, RecursionError) as error:
        raise FormatError(f"array {name}: not a header of NumPy's: {str(error)[:200]}", offset=0) from None
    if dtype.hasobject:
        return ArrayContent(name, shape, "pickled objects, not read", size)
    if fault := shape_fault(shape, dtype.itemsize):
        raise FormatError(f"array {name}: a shape with {fault}", shape)
    count = math.prod(shape)
    found = statistics_of(_pieces(name, file, dtype, count), count) if has_statistics(dtype) else None
    return ArrayContent(name, shape, str(dtype), count * dtype.itemsize, "default", found)


def _npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:  # 3.0: a header of UTF-8, for names of fields
        length = int.from_bytes(file.read(4), "little")
        # a literal, so no code in it can run; at most 64 KiB are read, because the length may be damaged
        header = ast.literal_eval(file.read(min(length, 1 << 16)).decode())
        shape, dtype = header["shape"], np.lib.format.descr_to_dtype(header["descr"])
        if not isinstance(shape, tuple) or any(type(n) is not int for n in shape):
            raise ValueError(f"the shape is {brief_repr(shape)}, and not a tuple of integers")
    return shape, dtype


def _pieces(name: str, file: BinaryIO, dtype: np.dtype, count: int) -> Iterator[np.ndarray]:
    done = 0
    while done < count:
        data = file.read(min(PIECE, count - done) * dtype.itemsize)
        if len(data) < min(PIECE, count - done) * dtype.itemsize:
            given = f"{done * dtype.itemsize + len(data)} of {count * dtype.itemsize} bytes"
            raise FormatError(f"array {name}: the file ends inside its elements", given, "the file is damaged or truncated")
        piece = np.frombuffer(data, dtype)
        done += len(piece)
        yield piece.astype(dtype.newbyteorder("=")) if not dtype.isnative else piece
