"""Recognizes the kind of a file by its content, and reads the file."""

import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

from ...errors import FormatError, MissingDependency
from ...formats.datasets import ELEMENT_TYPES, GZIP_MAGIC
from ...formats.params import LIST_MAGIC
from ...formats.recordio import MAGIC
from .arrays import read_idx_arrays, read_npy, read_npz, read_parameters, read_safetensors
from .content import Content, Selection
from .inspected_file import InspectedFile, opened
from .records import read_records
from .states import read_states
from .text import looks_like_csv, looks_like_index, looks_like_libsvm, looks_like_list, read_csv, read_index, read_libsvm, read_list


class Kind(NamedTuple):
    """A kind of file.

    Attributes
    ----------
    name
        Its name.
    suffixes
        The usual endings of such files' names, which decide if the content does not.
    recognizes
        Whether the first bytes are those of such a file.
    read
        Adds the parts of a file to its content.
    """

    name: str
    suffixes: tuple[str, ...]
    recognizes: Callable[[bytes], bool]
    read: Callable[[InspectedFile, Content, Selection], None]


def _is_safetensors(head: bytes) -> bool:
    # the format has no signature: a size that a header may have, and then JSON
    return len(head) > 8 and head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= 100_000_000


def _is_idx(head: bytes) -> bool:
    return len(head) >= 4 and head[:2] == b"\0\0" and head[2] in ELEMENT_TYPES and head[3] > 0


def _is_compressed_idx(head: bytes) -> bool:
    if not head.startswith(GZIP_MAGIC):
        return False
    try:
        return _is_idx(zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(head, 4))
    except zlib.error:
        return False


def _is_onnx(head: bytes) -> bool:
    """Whether a protocol buffer starts with field 1, a small number (the version), and a field of a model."""
    # 0x08 is the tag of field 1, a number; the others are the tags of fields 2 to 8 with their kinds in the lowest three bits
    return len(head) > 3 and head[0] == 0x08 and 0 < head[1] < 0x20 and head[2] in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)


def _read_symbol(source: InspectedFile, content: Content, selection: Selection) -> None:
    from .networks import read_symbol  # here and below, as networks take longer to load than the other kinds together

    read_symbol(source, content, selection)


def _read_onnx(source: InspectedFile, content: Content, selection: Selection) -> None:
    from .onnx_models import read_onnx

    read_onnx(source, content, selection)


#: In the order in which they are tried: those with a signature first.
KINDS = (
    Kind("record file", (".rec",), lambda head: head.startswith(MAGIC), read_records),
    Kind("MXNet parameters", (".params", ".nd"), lambda head: head.startswith(struct.pack("<Q", LIST_MAGIC)), read_parameters),
    Kind("NumPy array", (".npy",), lambda head: head.startswith(b"\x93NUMPY"), read_npy),
    Kind("NumPy archive", (".npz",), lambda head: head.startswith((b"PK\x03\x04", b"PK\x05\x06")), read_npz),
    Kind("optimizer states", (".states",), lambda head: head[:1] == b"\x80" and head[1:2] <= b"\x05", read_states),
    Kind("safetensors", (".safetensors",), _is_safetensors, read_safetensors),
    Kind("MNIST data set (IDX)", ("-ubyte", "-ubyte.gz"), lambda head: _is_idx(head) or _is_compressed_idx(head), read_idx_arrays),
    Kind("MXNet symbol", (".json",), lambda head: head.lstrip()[:1] == b"{" and b'"' in head, _read_symbol),
    Kind("ONNX model", (".onnx",), _is_onnx, _read_onnx),
    Kind("index of records", (".idx",), looks_like_index, read_index),
    Kind("list of images", (".lst",), looks_like_list, read_list),
    Kind("LibSVM data", (".libsvm", ".svm", ".t"), looks_like_libsvm, read_libsvm),
    Kind("CSV data", (".csv",), looks_like_csv, read_csv),
)


def content_of(path: str, selection: Selection) -> Content:
    """Read the content of a file. None of it is executed.

    If it is damaged, or a package is missing, the content has the parts that could be read, and the fault.

    Parameters
    ----------
    path
        A path, or a URL that fsspec opens.
    selection
        The part to show.

    Raises
    ------
    MissingFileError, FileAccessError
        If it cannot be opened.
    FormatError
        If it is empty or of an unknown kind.
    """
    with opened(path) as source:
        # by content first: names are often wrong, and the reader of another kind would report damage
        kind = _kind(source)
        content = Content(path, kind.name, source.size)
        try:
            kind.read(source, content, selection)
        except FormatError as error:
            content.fault = error.at_path(path)
        except MissingDependency as error:
            content.fault = error
    return content


def _kind(source: InspectedFile) -> Kind:
    name = source.path.lower()
    for kind in KINDS:
        if kind.recognizes(source.head):
            return kind
    for kind in KINDS:  # the beginning of the file is damaged: the reader of that kind raises an error with the place
        if name.endswith(kind.suffixes):
            return kind
    known = ", ".join(kind.name for kind in KINDS)
    given = f"a file that starts with {source.head[:16]!r}"
    raise FormatError("not a kind of file that can be shown", given, f"it shows: {known}", path=source.path)
