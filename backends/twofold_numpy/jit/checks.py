"""LLVM functions that check a kernel's arguments: array objects, by the fields that NumPy's C API guarantees."""

import ctypes
from functools import cache

from twofold.dtype import NUMPY

#: Offsets of an array object's fields from the end of its object header.
FIELDS = {"data": 0, "nd": 8, "dimensions": 16, "strides": 24, "descr": 40, "flags": 48}
#: Bits of ``flags``: C-contiguous and aligned.
PACKED, ALIGNED = 0x1, 0x100
#: A dtype object's word with kind, type character, byte order, flags and type number, and the mask that excludes the flags.
DTYPE, OF_TYPE = 8, ~(0xFF << 24)


@cache
def word_of(dtype: str, head: int) -> int:
    """The masked word of a dtype's objects. It identifies the dtype, of which there may be several objects (unpickled ones, say)."""
    return ctypes.c_int64.from_address(id(NUMPY[dtype]) + head + DTYPE).value & OF_TYPE


def contiguity_check(head: int) -> str:
    """``wrong(array, class, dtype, count)``: whether an object is anything but a contiguous array of ``count`` elements of a dtype."""
    return f"""define internal i1 @wrong(ptr %array, i64 %class, i64 %dtype, i64 %count) noinline nounwind {{
entry:
{_begin(head, PACKED | ALIGNED)}
axes:
  %k = phi i32 [ 0, %take ], [ %k.next, %axis ]
  %total = phi i64 [ 1, %take ], [ %product, %axis ]
  %more = icmp slt i32 %k, %nd
  br i1 %more, label %axis, label %done
axis:
  %n.at = getelementptr i64, ptr %dimensions, i32 %k
  %n = load i64, ptr %n.at
  %product = mul i64 %total, %n
  %k.next = add i32 %k, 1
  br label %axes
done:
  %differs = icmp ne i64 %total, %count
  ret i1 %differs
other:
  ret i1 true
}}"""


def layout_check(head: int) -> str:
    """``after(array, class, dtype, record)``: the end of the record if an object is an array of the dtype and layout recorded, else null.

    A record has the byte range of the array relative to its data, its number of axes, their sizes, and their strides in bytes.
    """
    return f"""define internal ptr @after(ptr %array, i64 %class, i64 %dtype, ptr %record) noinline nounwind {{
entry:
{_begin(head, ALIGNED)}
axes:
  %strides.at = getelementptr i8, ptr %array, i64 {head + FIELDS["strides"]}
  %strides = load ptr, ptr %strides.at
  %nd.wanted.at = getelementptr i64, ptr %record, i64 2
  %nd.wanted = load i64, ptr %nd.wanted.at
  %nd.long = sext i32 %nd to i64
  %sizes.wanted = getelementptr i64, ptr %record, i64 3
  %strides.wanted = getelementptr i64, ptr %sizes.wanted, i64 %nd.long
  %end = getelementptr i64, ptr %strides.wanted, i64 %nd.long
  %same.nd = icmp eq i64 %nd.wanted, %nd.long
  br i1 %same.nd, label %next, label %other
next:
  %k = phi i64 [ 0, %axes ], [ %k.next, %axis ]
  %more = icmp slt i64 %k, %nd.long
  br i1 %more, label %axis, label %done
axis:
  %n.at = getelementptr i64, ptr %dimensions, i64 %k
  %n = load i64, ptr %n.at
  %n.wanted.at = getelementptr i64, ptr %sizes.wanted, i64 %k
  %n.wanted = load i64, ptr %n.wanted.at
  %same.n = icmp eq i64 %n, %n.wanted
  %s.at = getelementptr i64, ptr %strides, i64 %k
  %s = load i64, ptr %s.at
  %s.wanted.at = getelementptr i64, ptr %strides.wanted, i64 %k
  %s.wanted = load i64, ptr %s.wanted.at
  %same.s = icmp eq i64 %s, %s.wanted
  %same = and i1 %same.n, %same.s
  %k.next = add i64 %k, 1
  br i1 %same, label %next, label %other
done:
  ret ptr %end
other:
  ret ptr null
}}"""


def _begin(head: int, wanted: int) -> str:
    """Check class, dtype and flags; continues at ``axes`` with ``nd`` and ``dimensions``, or at ``other``."""
    nd, dimensions, descr, flags = (head + FIELDS[name] for name in ("nd", "dimensions", "descr", "flags"))
    return f"""  %class.at = getelementptr i8, ptr %array, i64 {head - 8}
  %own = load i64, ptr %class.at
  %is.array = icmp eq i64 %own, %class
  br i1 %is.array, label %look, label %other
look:
  %nd.at = getelementptr i8, ptr %array, i64 {nd}
  %nd = load i32, ptr %nd.at
  %dimensions.at = getelementptr i8, ptr %array, i64 {dimensions}
  %dimensions = load ptr, ptr %dimensions.at
  %flags.at = getelementptr i8, ptr %array, i64 {flags}
  %flags = load i32, ptr %flags.at
  %have = and i32 %flags, {wanted}
  %well = icmp eq i32 %have, {wanted}
  %descr.at = getelementptr i8, ptr %array, i64 {descr}
  %descr = load ptr, ptr %descr.at
  %word.at = getelementptr i8, ptr %descr, i64 {head + DTYPE}
  %word = load i64, ptr %word.at
  %type = and i64 %word, {OF_TYPE}
  %same.type = icmp eq i64 %type, %dtype
  %taken = and i1 %well, %same.type
  br i1 %taken, label %take, label %other
take:
  br label %axes"""
