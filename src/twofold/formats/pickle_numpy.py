"""Converts pickled NumPy arrays, scalars and dtypes to records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from ..errors import FormatError
from .pickle_machine import Name
from .records import ITEM_SIZES, DTypeRecord, NumpyRecord, shape_fault
from .value_text import brief_repr

#: Names of element types by NumPy's codes, such as ``"f4"`` for float32. NumPy itself has no bfloat16.
CODES = {f"{name[0]}{size}": name for name, size in ITEM_SIZES.items() if name != "bfloat16"}
MEMORY_FORMATS: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Parts(NamedTuple):
    """The parts of a pickled call: its arguments, and the state and items (alternating keys and values) set on its result."""

    args: tuple[object, ...]
    state: object
    pairs: list[object]


def element_type(target: Name) -> str | None:
    """Return the element type of a scalar class such as ``numpy.float32``; None for other classes."""
    if target == ("ml_dtypes", "bfloat16"):
        return "bfloat16"
    # before NumPy 2 the class of bools was numpy.bool_
    name = "bool" if target.name == "bool_" else target.name
    return name if target.module == "numpy" and name in ITEM_SIZES and name != "bfloat16" else None


def encode_latin1(text: str) -> bytes:
    """Return bytes that a pickle of Python 2, or of protocol 2 or lower, stores as text."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise FormatError(f"pickle: bytes stored as text contain other characters: {error}") from None


def _dtype(parts: Parts) -> DTypeRecord:
    match parts.args, parts.state:
        # a dtype of a scalar class: dtype(numpy.float32)
        case (DTypeRecord() as record, *_), _:
            return record
        # "=" is the writer's native order: little-endian on every machine that MXNet supports
        case (str(code), *_), (_, "<" | "|" | "=", *_) if code in CODES:
            return DTypeRecord(CODES[code])
        # elements of one byte have no order of bytes, so their dtype may have no state
        case (str(code), *_), None if code in CODES and code[1] == "1":
            return DTypeRecord(CODES[code])
    raise FormatError("pickle: unsupported element type", brief_repr((parts.args[:1], parts.state)), f"little-endian {CODES}")


def _array(parts: Parts) -> NumpyRecord:
    match parts.args, parts.state:
        # the state is: version, shape, dtype, whether the elements are in Fortran's order, and the elements
        case (Name("numpy", "ndarray"), *_), (int(), tuple(shape), DTypeRecord(name), int(is_fortran), bytes() | str() as data):
            return _array_of(name, shape, data, "F" if is_fortran else "C")
    raise FormatError("pickle: unsupported kind of NumPy array", todo="save numeric arrays of class numpy.ndarray")


def _scalar(parts: Parts) -> NumpyRecord:
    match parts.args:
        case (DTypeRecord(name), bytes() | str() as data):
            return _array_of(name, (), data, "C", is_scalar=True)
    raise FormatError("pickle: a NumPy scalar without its bytes", f"{len(parts.args)} arguments")


def _from_buffer(parts: Parts) -> NumpyRecord:
    match parts.args:
        case (bytes(data), DTypeRecord(name), tuple(shape), "C" | "F" as order):
            return _array_of(name, shape, data, str(order))
    raise FormatError("pickle: a NumPy array without its bytes", f"{len(parts.args)} arguments")


def _array_of(dtype: str, shape: tuple[object, ...], data: bytes | str, order: str, *, is_scalar: bool = False) -> NumpyRecord:
    sizes = [size for size in shape if type(size) is int]
    if len(sizes) != len(shape) or shape_fault(tuple(sizes), ITEM_SIZES[dtype]):
        raise FormatError("pickle: a NumPy array has an invalid shape", brief_repr(shape))
    stored = encode_latin1(data) if isinstance(data, str) else data
    record = NumpyRecord(dtype, tuple(sizes), stored, is_scalar=is_scalar)
    if order == "C" or len(sizes) < 2 or not stored:  # with one axis both orders are the same
        return record
    return NumpyRecord(dtype, tuple(sizes), _to_row_major(memoryview(stored).cast(MEMORY_FORMATS[ITEM_SIZES[dtype]]), sizes))


def _to_row_major(elements: memoryview, shape: Sequence[int]) -> bytearray:
    """Convert elements from column-major (Fortran) to row-major order."""
    # A strided copy along the longest axis for each place in the others, rather than a step of Python for each element; this package does
    # not import NumPy.
    longest = max(range(len(shape)), key=lambda axis: shape[axis])
    strides = [(math.prod(shape[:axis]), math.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    others = [axis for axis in range(len(shape)) if axis != longest]
    middle = len(others) // 2
    # all places in half of the axes, and all in the rest, as elements to skip in the source and in the result
    outer, inner = (_places([(shape[k], *strides[k]) for k in axes]) for axes in (others[:middle], others[middle:]))
    ordered = bytearray(elements.nbytes)
    written = memoryview(ordered).cast(MEMORY_FORMATS[elements.itemsize])
    down, across = strides[longest]
    length, width = (shape[longest] - 1) * down + 1, (shape[longest] - 1) * across + 1
    for first, then in outer:
        for more, further in inner:
            source, target = first + more, then + further
            written[target : target + width : across] = elements[source : source + length : down]
    return ordered


def _places(axes: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The offsets in the source and the result of all places in some axes, each given as its size and its strides in the two."""
    found = [(0, 0)]
    for size, down, across in axes:
        found = [(source + k * down, target + k * across) for source, target in found for k in range(size)]
    return found


NUMPY_BUILDERS: dict[Name, Callable[[Parts], object]] = {
    Name("numpy", "dtype"): _dtype,
    Name("numpy.core.multiarray", "_reconstruct"): _array,
    Name("numpy.core.multiarray", "scalar"): _scalar,
    Name("numpy.core.numeric", "_frombuffer"): _from_buffer,
}
