"""Reads the files of ``torch.save`` to records: those in zip archives, and the older ones. No code in them runs.

Such a file is a pickle in which tensors name their storages, and the storages' bytes: members of the archive, or what follows in the file.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from ..dtype import ITEMSIZE
from ..errors import FormatError
from .pickle_machine import PERSISTENT, Budget, Name
from .pickle_numpy import Parts
from .pickle_records import Builder, Vocabulary, load_pickle
from .reader import Reader
from .records import Buffer, shape_fault
from .value_text import brief_repr

MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of the older files
ADVICE = "save the parameters alone: torch.save(net.state_dict(), path)"
DAMAGED, PLAIN = "the file is damaged", "convert it to a plain one: tensor.resolve_conj().float()"
TYPES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}
CLASSES = {Name("torch", f"{name}Storage"): dtype for name, dtype in TYPES.items()}
UNTYPED = {Name(module, "UntypedStorage"): "uint8" for module in ("torch", "torch.storage")}
DTYPES = {Name("torch", name): name for name in (*TYPES.values(), "uint16", "uint32", "uint64")}
TENSORS = frozenset({Name("torch", "Tensor"), Name("torch.nn.parameter", "Parameter")})


@dataclass(frozen=True, slots=True)
class Storage:
    """The memory of tensors: its name in the file, and its size in elements of a type."""

    key: str
    dtype: str
    size: int


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor: a view of a storage, by offset and strides in elements of its type. It does not reach beyond the storage."""

    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def load_torch_file(data: bytes) -> tuple[object, Mapping[str, Buffer]]:
    """Read a file written by ``torch.save``.

    Parameters
    ----------
    data
        Its content.

    Returns
    -------
    The object that was saved, with tensors as `TensorRecord`, and the bytes of each storage by its key.

    Raises
    ------
    FormatError
        If it is damaged, or contains anything but plain data and dense tensors.
    """
    if data[:4] == b"PK\3\4":
        return _load_archive(data)
    if data[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        return _load_older(data)
    return _refuse("torch: neither an archive nor a pickle", repr(data[:8]), "pass a file that torch.save has written")


def _load_archive(data: bytes) -> tuple[object, Mapping[str, Buffer]]:
    members = _members(data)
    pickles = [name for name in members if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        _refuse("torch: the archive has no pickle, or several", f"{len(pickles)} members data.pkl", "it is no file of torch.save")
    folder = pickles[0].removesuffix("data.pkl")
    order = bytes(members.get(f"{folder}byteorder", b"little"))
    if order != b"little":
        _refuse("torch: the elements are not little-endian", repr(order[:20]), "save it again on a little-endian machine")
    reading = _Reading(Budget(len(data)))
    found = reading.pickle(members[pickles[0]])
    for key, storage in reading.storages.items():
        name = f"{folder}data/{key}"
        expected = storage.size * ITEMSIZE[storage.dtype]
        if name not in members or len(members[name]) != expected:
            given = f"{len(members[name])} bytes" if name in members else "no such member"
            _refuse(f"torch: the member {name} must have {expected} bytes", given)
    return found, {key: members[f"{folder}data/{key}"] for key in reading.storages}


def _members(data: bytes) -> dict[str, memoryview]:
    """The contents of an archive's members, as views: torch stores them without compression."""
    reader, found = Reader(data), {}
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error, EOFError) as error:
        raise FormatError(f"torch: the archive cannot be read: {str(error)[:200]}", None, "it is damaged or truncated") from None
    if sum(entry.file_size for entry in entries) > len(data):
        _refuse("torch: the archive's members overlap", f"{len(entries)} members")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.file_size != entry.compress_size:
            _refuse(f"torch: the member {entry.filename!r} is compressed or encrypted", advice="torch.save writes none")
        reader.offset = 0
        reader.skip(entry.header_offset, "the archive")
        # a local header: its signature, 22 bytes that the directory repeats, and the sizes of its name and of a padding
        header = reader.take(30, "the header of a member")
        name_size, padding = struct.unpack("<HH", header[26:])
        if bytes(header[:4]) != b"PK\3\4":
            _refuse(f"torch: the member {entry.filename!r} is not where the directory says")
        reader.skip(name_size + padding, "the header of a member")
        content = reader.take(entry.file_size, "a member")
        if zlib.crc32(content) != entry.CRC:
            _refuse(f"torch: the checksum of the member {entry.filename!r} is another one")
        found[entry.filename] = content
    return found


def _load_older(data: bytes) -> tuple[object, Mapping[str, Buffer]]:
    """A file of torch before 1.6: five pickles, and the sizes and elements of the storages in the order that the last one gives."""
    stream, reading = io.BytesIO(data), _Reading(Budget(len(data)))
    magic, version, system = (reading.pickle(stream) for _ in range(3))
    if magic != MAGIC or version != 1001:
        _refuse("torch: a pickle that torch.save has not written", brief_repr(magic, 40), "pass a file that torch.save has written")
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        _refuse("torch: the elements are not little-endian", brief_repr(system), "save it again on a little-endian machine")
    found, keys = reading.pickle(stream), reading.pickle(stream)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or sorted(keys) != sorted(reading.storages):
        _refuse("torch: the list of storages is not that of the tensors", brief_repr(keys))
    reader, contents = Reader(data, stream.tell()), {}
    for key in keys:
        storage = reading.storages[key]
        if reader.u64("the size of a storage") != storage.size:
            raise reader.error("torch: a storage is not as large as its tensors say", f"{storage.size} elements")
        contents[key] = reader.take(storage.size * ITEMSIZE[storage.dtype], "a storage")
    return found, contents


class _Reading:
    """The storages that pickles name, and what torch's functions in them give."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.storages: dict[str, Storage] = {}
        # each storage may be read once for free: it is in the file
        self.unread: set[str] = set()
        rebuild = "torch._utils"
        self.builders: dict[Name, Builder] = {
            PERSISTENT: self.storage,
            Name(rebuild, "_rebuild_tensor"): self.tensor,
            Name(rebuild, "_rebuild_tensor_v2"): self.tensor,
            Name(rebuild, "_rebuild_tensor_v3"): self.tensor,
            Name(rebuild, "_rebuild_parameter"): _first,
            Name(rebuild, "_rebuild_parameter_with_state"): _first,
            Name("torch._tensor", "_rebuild_from_type_v2"): self.with_attributes,
            Name("torch", "Size"): lambda parts: parts.args[0] if parts.args else (),
        }

    def pickle(self, data: Buffer | io.BytesIO) -> object:
        """The next pickle."""
        bare = TENSORS.union(CLASSES, UNTYPED, DTYPES, self.builders) - {PERSISTENT}
        return load_pickle(data, more=Vocabulary(self.builders, bare, ADVICE), budget=self.budget)

    def storage(self, parts: Parts) -> Storage:
        """A storage that the pickle names. The last argument, of older files, is for views of storages, which torch wrote before 0.4."""
        match parts.args:
            case ("storage", Name() as target, str(key), str(), int(size), *rest) if size >= 0 and rest in ([], [None]):
                dtype = CLASSES.get(target) or UNTYPED.get(target)
                if dtype is None:
                    _refuse("torch: unsupported element type", target.name, f"convert it to one of {', '.join(TYPES.values())}")
                found = self.storages.setdefault(key, Storage(key, dtype, size))
                if found == Storage(key, dtype, size):
                    self.unread.add(key)
                    return found
        return _refuse("torch: a storage cannot be read", brief_repr(parts.args, 120), "the file is damaged, or of torch before 0.4")

    def tensor(self, parts: Parts) -> TensorRecord:
        """A tensor: storage, offset, shape and strides, whether it needs a gradient, hooks, then its dtype or facts about its elements."""
        match parts.args:
            case (Storage() as storage, int(offset), tuple(shape), tuple(strides), *rest):
                dtype = storage.dtype
                if len(rest) > 2 and isinstance(rest[2], Name):
                    dtype = DTYPES.get(rest[2]) or _refuse("torch: unsupported element type", rest[2].name, PLAIN)
                elif len(rest) > 2 and rest[2]:
                    _refuse("torch: a tensor of an unsupported kind", brief_repr(rest[2]), PLAIN)
                return self.checked(storage, dtype, offset, shape, strides)
        return _refuse("torch: a tensor cannot be read", brief_repr(parts.args, 120))

    def checked(self, storage: Storage, dtype: str, offset: int, shape: tuple[object, ...], strides: tuple[object, ...]) -> TensorRecord:
        """A tensor that lies within its storage."""
        sizes, steps = [[n for n in numbers if type(n) is int] for numbers in (shape, strides)]
        itemsize = ITEMSIZE[dtype]
        if len(sizes) != len(shape) or len(steps) != len(sizes) or len(strides) != len(steps) or shape_fault(tuple(sizes), itemsize):
            _refuse("torch: a tensor's shape and strides do not match", f"{brief_repr(shape)} and {brief_repr(strides)}")
        count, last = 1, offset
        for size, step in zip(sizes, steps, strict=True):
            count *= size
            last += (size - 1) * step
        available = storage.size * ITEMSIZE[storage.dtype] // itemsize
        if offset < 0 or min(steps, default=0) < 0 or (count and last >= available):
            given = f"offset {offset}, shape {tuple(sizes)}, strides {tuple(steps)} in {available} elements"
            _refuse("torch: a tensor reaches beyond its storage", given)
        # what repeats elements, or reads a storage again, costs memory that the file's size does not bound
        self.budget.spend(max(0, count * itemsize - (available * itemsize if storage.key in self.unread else 0)))
        self.unread.discard(storage.key)
        return TensorRecord(storage, dtype, offset, tuple(sizes), tuple(steps))

    def with_attributes(self, parts: Parts) -> object:
        """A tensor with attributes of its own, which are left out: the function that makes it, its class, arguments, attributes."""
        match parts.args:
            case (Name() as function, Name() as target, tuple(args), *_) if target in TENSORS and function in self.builders:
                return self.builders[function](Parts(args, None, []))
        return _refuse("torch: an instance of a class derived from Tensor", brief_repr(parts.args[:2], 120), "save plain tensors")


def _first(parts: Parts) -> object:
    if parts.args and isinstance(parts.args[0], TensorRecord):
        return parts.args[0]
    return _refuse("torch: a parameter without a tensor", brief_repr(parts.args, 120))


def _refuse(reason: str, given: str | None = None, advice: str = DAMAGED) -> NoReturn:
    raise FormatError(reason, given, advice)
