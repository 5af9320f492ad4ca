"""Writes optimizer states as a pickle for MXNet's ``Updater.set_states`` and ``Trainer.load_states``."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ..errors import FormatError
from .params import dump_array
from .records import ArrayRecord, Buffer, DTypeRecord, NumpyRecord, ObjectRecord

MAX_DEPTH = 100
ARRAY_CLASSES = {
    "default": ("mxnet.ndarray.ndarray", "NDArray"),
    "csr": ("mxnet.ndarray.sparse", "CSRNDArray"),
    "row_sparse": ("mxnet.ndarray.sparse", "RowSparseNDArray"),
}
NUMPY_ARRAY_CLASS = ("mxnet.numpy", "ndarray")

# Opcodes of protocol 4; see `python -m pickletools`.
PROTO_4, STOP, MARK = b"\x80\x04", b".", b"("
NONE, TRUE, FALSE, BININT, LONG1, BINFLOAT = b"N", b"\x88", b"\x89", b"J", b"\x8a", b"G"
BINUNICODE, BINUNICODE8, BINBYTES, BINBYTES8 = b"X", b"\x8d", b"B", b"\x8e"
EMPTY_LIST, APPENDS, EMPTY_TUPLE, TUPLE1, TUPLE, EMPTY_DICT, SETITEMS = b"]", b"e", b")", b"\x85", b"t", b"}", b"u"
STACK_GLOBAL, REDUCE, NEWOBJ, BUILD, MEMOIZE, LONG_BINGET = b"\x93", b"R", b"\x81", b"b", b"\x94", b"j"


def dump_states(states: object, *, numpy_arrays: bool = False) -> bytes:
    """Return the pickle of optimizer states.

    Parameters
    ----------
    states
        A dict from index to state, or (that dict, the optimizer's `ObjectRecord`), consisting of dicts, lists, tuples, None, bools,
        numbers, strings, bytes, `ArrayRecord`, `NumpyRecord`, `DTypeRecord` and `ObjectRecord`. Shared objects stay shared after reading.
    numpy_arrays
        Whether to write MXNet's arrays as ``mx.np.ndarray`` with NumPy shape semantics instead of ``mx.nd.NDArray``.

    Raises
    ------
    FormatError
        If it contains anything else, or nests deeper than 100 levels.
    """
    writer = _Writer(numpy_arrays)
    writer.write(states, 0)
    return b"".join([PROTO_4, *writer.chunks, STOP])


class _Writer:
    def __init__(self, numpy_arrays: bool) -> None:
        self.numpy_arrays = numpy_arrays
        self.chunks: list[Buffer] = []
        self.memo: dict[object, int] = {}  # memo index of objects by identity, of classes by name

    def write(self, value: object, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise FormatError("optimizer states: nested too deeply, or an object contains itself", f"more than {MAX_DEPTH} levels")
        match value:
            case None:
                self.chunks.append(NONE)
            case bool():  # before int, which bool derives from
                self.chunks.append(TRUE if value else FALSE)
            case int():
                self.chunks.append(_integer(value))
            case float():
                self.chunks.append(BINFLOAT + struct.pack(">d", value))
            case str():
                self.write_sized(BINUNICODE, BINUNICODE8, value.encode("utf-8", "surrogatepass"))
            case bytes():
                self.write_sized(BINBYTES, BINBYTES8, value)
            case _:
                self.write_shared(value, depth)

    def write_shared(self, value: object, depth: int) -> None:
        """Write an object that may be referred to again: in full the first time, then as a memo reference."""
        # identities are safe as keys: `states` keeps all its parts alive while they are written
        if not self.write_reference(id(value)):
            self.write_compound(value, depth)
            self.remember(id(value))

    def write_compound(self, value: object, depth: int) -> None:
        match value:
            case list():
                self.chunks.append(EMPTY_LIST)
                self.write_marked(value, depth, APPENDS)
            case tuple():
                self.write_tuple(value, depth)
            case dict():
                self.chunks.append(EMPTY_DICT)
                self.write_marked([part for pair in value.items() for part in pair], depth, SETITEMS)
            case NumpyRecord():
                self.write_numpy(value, depth)
            case ArrayRecord():
                self.write_array(value)
            case DTypeRecord(name="bfloat16"):
                self.write_name("ml_dtypes", "bfloat16")
            case DTypeRecord(name=name):
                self.write_name("numpy", "bool_" if name == "bool" else name)
            case ObjectRecord():
                self.write_object(value, depth)
            case _:
                raise FormatError("optimizer states: a value that cannot be written", type(value).__name__, "store plain values and arrays")

    def write_marked(self, values: Iterable[object], depth: int, closing: bytes) -> None:
        self.chunks.append(MARK)
        for value in values:
            self.write(value, depth + 1)
        self.chunks.append(closing)

    def write_tuple(self, values: tuple[object, ...], depth: int) -> None:
        if values:
            self.write_marked(values, depth, TUPLE)
        else:
            self.chunks.append(EMPTY_TUPLE)

    def write_array(self, record: ArrayRecord) -> None:
        self.write_name(*(NUMPY_ARRAY_CLASS if self.numpy_arrays else ARRAY_CLASSES[record.stype]))
        # as MXNet's arrays pickle: the class called with None, then the state {"handle": the array's block}
        self.chunks += [NONE, TUPLE1, REDUCE, EMPTY_DICT, MARK]
        self.write("handle", 0)
        # MXNet's state is a bytearray, which protocol 4 has no opcode for: a call makes it of bytes
        self.write_name("builtins", "bytearray")
        self.write_sized(BINBYTES, BINBYTES8, dump_array(record, numpy_shape=self.numpy_arrays))
        self.chunks += [TUPLE1, REDUCE, SETITEMS, BUILD]

    def write_numpy(self, record: NumpyRecord, depth: int) -> None:
        """Write an array as one of NumPy, by the names of NumPy 1, which NumPy 2 reads too."""
        self.write_name("numpy.core.multiarray", "scalar" if record.is_scalar else "_reconstruct")
        self.chunks.append(MARK)
        if not record.is_scalar:
            self.write_name("numpy", "ndarray")
            self.write_tuple((0,), depth)
            self.write(b"b", depth)
            # the state is: version, shape, dtype, whether the elements are in Fortran's order, and the elements
            self.chunks += [TUPLE, REDUCE, MARK]
            self.write(1, depth)
            self.write_tuple(record.stored_shape, depth)
        self.write_name("numpy", "dtype")
        self.write_compound(DTypeRecord(record.dtype), depth)
        self.chunks += [TUPLE1, REDUCE]
        if not record.is_scalar:
            self.write(False, depth)
        self.write_sized(BINBYTES, BINBYTES8, record.data)
        self.chunks += [TUPLE, REDUCE if record.is_scalar else BUILD]

    def write_object(self, record: ObjectRecord, depth: int) -> None:
        self.write_name(record.module, record.name)
        self.write_tuple(record.args, depth)
        self.chunks.append(NEWOBJ)
        if record.state is not None:
            self.write(record.state, depth + 1)
            self.chunks.append(BUILD)

    def write_name(self, module: str, name: str) -> None:
        if not self.write_reference((module, name)):
            self.write(module, 0)
            self.write(name, 0)
            self.chunks.append(STACK_GLOBAL)
            self.remember((module, name))

    def write_sized(self, opcode: bytes, opcode8: bytes, data: Buffer) -> None:
        size = memoryview(data).nbytes
        self.chunks += [opcode + struct.pack("<I", size) if size < 2**32 else opcode8 + struct.pack("<Q", size), data]

    def write_reference(self, key: object) -> bool:
        """Write a memo reference if the key was written before; return whether one was written."""
        if key in self.memo:
            self.chunks.append(LONG_BINGET + struct.pack("<I", self.memo[key]))
        return key in self.memo

    def remember(self, key: object) -> None:
        # MEMOIZE numbers the entries in this way, so the number is not written
        self.memo[key] = len(self.memo)
        self.chunks.append(MEMOIZE)


def _integer(value: int) -> bytes:
    if -(2**31) <= value < 2**31:
        return BININT + struct.pack("<i", value)
    # one more bit than the magnitude has, for the sign
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if len(data) > 255:
        raise FormatError("optimizer states: an integer is too large", f"{value.bit_length()} bits")
    return LONG1 + bytes([len(data)]) + data
