"""LLVM functions from files in ``llvm/``, with ``$WORDS`` for values that Python fills in; among them the checks of a kernel's arguments.

The checks read array objects by the fields that NumPy's C API guarantees.
"""

import ctypes
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from string import Template

from twofold.dtype import NUMPY

#: Offsets of an array object's fields from the end of its object header.
FIELDS = {"data": 0, "nd": 8, "dimensions": 16, "strides": 24, "descr": 40, "flags": 48}
#: Bits of ``flags``: C-contiguous and aligned.
PACKED, ALIGNED = 0x1, 0x100
#: A dtype object's word with kind, type character, byte order, flags and type number, and the mask that excludes the flags.
DTYPE, OF_TYPE = 8, ~(0xFF << 24)
#: How many numbers all computations in pieces have in common; see ``llvm/pieces.ll``.
SHARED_WORDS = 9


@cache
def llvm_text(name: str, **words: str | int) -> str:
    """The text of ``llvm/<name>.ll`` with its words filled in."""
    return Template((Path(__file__).parent / "llvm" / f"{name}.ll").read_text(encoding="utf-8")).substitute(words)


@cache
def word_of(dtype: str, head: int) -> int:
    """The masked word of a dtype's objects. It identifies the dtype, which may have several objects (unpickled ones, say)."""
    return ctypes.c_int64.from_address(id(NUMPY[dtype]) + head + DTYPE).value & OF_TYPE


def contiguity_check(head: int) -> str:
    """``wrong(array, class, dtype, count)``: whether an object is anything but a contiguous array of ``count`` elements of a dtype."""
    return _check("contiguity_check", head, PACKED | ALIGNED)


def layout_check(head: int) -> str:
    """``after(array, class, dtype, record)``: the end of the record if an object is an array of the dtype and layout recorded, else null.

    A record has the byte range of the array relative to its data, its number of axes, their sizes, and their strides in bytes.
    """
    return _check("layout_check", head, ALIGNED)


def _check(function: str, head: int, wanted: int) -> str:
    """A function that checks class, dtype and flags, and goes on at ``axes`` with ``nd`` and ``dimensions``, or at ``other``."""
    words = {name.upper(): head + offset for name, offset in FIELDS.items()}
    # an object's header ends with the pointer to its class
    words |= {"CLASS": head - 8, "DTYPE": head + DTYPE, "OF_TYPE": OF_TYPE, "WANTED": wanted}
    return llvm_text(function, CHECK_ARRAY=llvm_text("check_array", **words), **words)


def loaded_words(names: Sequence[str]) -> Iterator[str]:
    """The numbers of a computation in pieces as values named like them; the numbers that all such computations have come before them."""
    for k, name in enumerate(names, SHARED_WORDS):
        yield f"  %{name}.at = getelementptr i64, ptr %words, i64 {k}"
        yield f"  %{name} = load i64, ptr %{name}.at"


def loaded_piece(names: Sequence[str]) -> Iterator[str]:
    """The numbers of a piece of a computation as values named like them."""
    for k, name in enumerate(names):
        yield f"  %{name}.at = getelementptr i64, ptr %own, i64 {k}\n  %{name} = load i64, ptr %{name}.at"


def data_addresses(names: Sequence[str], head: int) -> Iterator[str]:
    """The addresses of the elements of the arrays that a computation in pieces is given, in this order."""
    for k, name in enumerate(names):
        yield f"  %{name}.object.at = getelementptr ptr, ptr %arguments, i64 {k}\n  %{name}.object = load ptr, ptr %{name}.object.at"
        yield f"  %{name}.data.at = getelementptr i8, ptr %{name}.object, i64 {head + FIELDS['data']}"
        yield f"  %{name}.data = load ptr, ptr %{name}.data.at"


def loaded_numbers(names: Sequence[str]) -> str:
    """Numbers of eight bytes, from any address ``%numbers`` on, as values named like them."""
    found = []
    for k, name in enumerate(names):
        found += [f"  %{name}.at = getelementptr i64, ptr %numbers, i64 {k}", f"  %{name} = load i64, ptr %{name}.at, align 1"]
    return "\n".join(found)
