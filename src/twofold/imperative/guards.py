"""Tests of contents, each written once. They are fragments (see `assembly`): functions on hot paths have them written in.

Guards that ordinary functions call have other guards inlined, so that a call enters one frame. The last one guards a write against what
it reads.
"""

from typing import Any, TypeGuard

import numpy as np

from ..assembly import fragment, inlined
from ..backend.kernel import Array
from ..config import SETTINGS
from .cell import PINNED, PLAIN, REPLACING, Cell, Content, Operand, Value, is_unshared
from .tape import TapeEntry, tls


@fragment
def runs_inline(size: int) -> bool:
    """Whether operations on arrays of that many elements run immediately rather than wait in a window."""
    return size < SETTINGS.defer_elements


@fragment
@inlined
def is_small(a: Array) -> bool:
    """Whether operations on an array of this size run immediately."""
    return runs_inline(a.size)


@fragment
@inlined
def is_plain(a: Array) -> bool:
    """Whether a fresh array of the host may be the plain content of a cell: operations on it run immediately."""
    return a.__class__ is PLAIN and is_small(a)


@fragment
@inlined
def plain_or_value(a: Array) -> Content:
    """The content of a cell for a fresh array of the host."""
    return a if is_small(a) else Value(a)


@fragment
def has_gradient(entry: TapeEntry | None) -> TypeGuard[TapeEntry]:
    """Whether gradients flow back to the array with this tape entry."""
    return entry is not None and entry.node.tracked


@fragment
def is_differentiated(v: Value) -> bool:
    """Whether gradients flow back to a Value while operations are recorded."""
    return (entry := v.entry) is not None and entry.node.tracked


@fragment
@inlined
def is_tracked(v: Operand) -> TypeGuard[Value]:
    """Whether an operation on this content would be recorded now."""
    return tls.tape is not None and isinstance(v, Value) and is_differentiated(v)


@fragment
def is_exposed(v: Value) -> bool:
    """Whether code outside the library sees the buffer, and may write into it at any time."""
    return ((b := v.sharing) is PINNED or b.__class__ is Value) and v.pinned


@fragment
def is_watched(v: Value) -> bool:
    """Whether a Value must not be written in place now: something else reads its memory, or it is part of a tape."""
    return v.entry is not None or v.producer is not None or v.writers >= REPLACING or not is_unshared(v.sharing)


@fragment
def is_replaced(of: Content, owner: Cell) -> bool:
    """Whether a content that a generated function has found writable is not its array's any more, or another thread replaces it.

    That thread overlooks a function that calls another of the package (`concurrent_writes`), so what has called one since it looked asks
    once more. No call may stand between this test and the write.
    """
    return owner._held is not of or (of.__class__ is not PLAIN and of.writers >= REPLACING)


def is_visible(v: Value) -> bool:
    """Whether a Value's array is ready and NumPy's, so that parts of it can be viewed and written in place instead of by operations."""
    return v.data.__class__ is PLAIN and v.device.is_host


def is_owned(v: Value) -> bool:
    """Whether a content may be written in place now: it has no tape entry, and nothing else refers to its buffer."""
    return v.entry is None and v.exclusive


def apart(source: Any, target: np.ndarray) -> Any:
    """A value to write: a copy if it is a NumPy array that may show memory which the write changes."""
    return source.copy() if isinstance(source, np.ndarray) and np.may_share_memory(source, target) else source
