"""Cells and their contents.

A cell (an array object) holds either a *plain* backend array that it alone owns (small, ready, on cpu(0), not recorded: one test of its
class answers every question of the fast path), or a `Value`, which is immutable and may be shared by cells, views, records and windows.
A tape, window, alias or export that captures a plain content turns it into a Value.
"""

from typing import Any, TypeAlias, TypeVar
from weakref import ref

from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import NAME_OF
from .handle import Handle
from .record import Rec, Tape, Variable
from .scalars import Scalar

ALWAYS = "shared for good"
PINNED = "exported: written in place, never donated"
HOST = backend_for(CPU)
new = object.__new__


class NeverPlain:
    """Stands for the class of plain contents if the host's library has none. Nothing is an instance of it."""


PLAIN: type = HOST.target.plain or NeverPlain


class Value:
    """An immutable content.

    Attributes
    ----------
    data
        The backend array; None while it is pending, or if computing it failed (then ``at`` has the error).
    rec
        The record that made it, or its leaf record.
    at
        The `Maker` that computes it or was the last to read it, and its type: a window and the node there, or a task or copy
        (`pending`) with shape and dtype. A single attribute, so that other threads never see half of an update.
    borrow
        What else refers to the buffer: None, a weak reference to the tape that saved it or to what its aliases hold (see `shown`),
        `ALWAYS`, or the Value that this one aliases.
    device
        Where the buffer is.

    Notes
    -----
    Threads that record share their operands, and so set ``borrow`` at the same time. No lock protects it, since every recorded operation
    sets it. Instead, each update tests ``borrow`` once more after its last call and then stores at once: CPython switches threads only at
    calls and at jumps backwards, so that no borrow of another tape is overwritten between the test and the store.
    """

    __slots__ = ("__weakref__", "at", "borrow", "data", "device", "rec")

    def __init__(self, data: Any, rec: Rec | None = None, at: Any = None, device: Device = CPU, borrow: Any = None) -> None:
        self.data = data  # one by one: faster than a tuple of five
        self.rec = rec
        self.at = at
        self.device = device
        self.borrow: Any = borrow

    def lend(self, tape: Tape) -> "Value":
        """A Value for a tape to save: itself, not written in place while the tape lives, or a copy if code outside may write the buffer."""
        b = self.borrow
        if b is None or b is tape.ref or (b.__class__ is ref and b() is None):
            if self.borrow is not b:  # another tape has borrowed it meanwhile
                return self.lend(tape)
            self.borrow = tape.ref
        elif self.pinned:
            return Value(backend_for(self.device).copy(self.data, self.device), device=self.device)
        elif b.__class__ is not Value and self.borrow is not PINNED:  # an alias keeps its owner alive: the buffer is never donated
            self.borrow = ALWAYS
        return self

    def share(self) -> None:
        """Mark the buffer as shared from now on."""
        if self.borrow.__class__ is not Value and self.borrow is not PINNED:
            self.borrow = ALWAYS

    def shown(self) -> "Value":
        """What all aliases of the buffer hold: while one of them lives, the buffer is not written in place."""
        b = self.borrow
        if b.__class__ is ref and (held := b()).__class__ is Value and held.borrow is self:
            return held
        held = Value(self.data, None, None, self.device, self)
        seen = ref(held)
        if (b is None or (b.__class__ is ref and b() is None)) and self.borrow is b:
            self.borrow = seen
        else:
            self.share()
        return held

    def pin(self) -> None:
        """Mark the buffer, or the one that it aliases, as exported to code outside the library: from now on it is written in place."""
        if self.borrow.__class__ is Value:
            self.borrow.pin()
        else:
            self.borrow = PINNED

    @property
    def pinned(self) -> bool:
        """Whether code outside the library sees the buffer."""
        b = self.borrow
        while b.__class__ is Value:
            b = b.borrow
        return b is PINNED

    @property
    def is_lent(self) -> bool:
        """Whether Values that are no aliases share the buffer: equal results, or what a tape has saved. They must not see writes to it."""
        b = self.borrow
        if b.__class__ is ref:
            held = b()
            return held is not None and not (held.__class__ is Value and held.borrow is self)
        return b is ALWAYS

    @property
    def exclusive(self) -> bool:
        """Whether only one cell sees the buffer, so that it may be written in place."""
        at = self.at
        if self.data is None or (at is not None and not at[0].is_done):
            return False
        b = self.borrow
        return b is None or (b.__class__ is ref and b() is None)

    @property
    def type(self) -> tuple[tuple[int, ...], str]:
        """Shape and dtype name, known before the value is computed."""
        at, data = self.at, self.data  # in this order: a flush writes data before it clears at
        if data is None:
            return at[1].shape, at[1].dtype
        return (data.shape, NAME_OF[data.dtype]) if data.__class__ is PLAIN else backend_for(self.device).type_of(data)


#: What a cell holds: a plain array or a Value.
Content: TypeAlias = Array | Value
#: The content of an operand; None for an omitted optional input.
Operand: TypeAlias = Content | Scalar | Handle | None


def alias(data: Array, owner: Value) -> Value:
    """A Value for (part of) another one's buffer, which keeps that one alive."""
    return Value(data, None, None, owner.device, owner.shown())


class Cell:
    """The abstract base of array classes: a content, and a `Variable` if a gradient is wanted."""

    __slots__ = ("__weakref__", "_g", "_v")

    _v: Any
    _g: Any
    #: The class of the variables of which an array of the class is the gradient.
    _variable = Variable
    #: The content, but None for a view with gaps whose content would be a large copy: see `array.ViewMixin`.
    _operand: Any

    def _rebind(self, v: Any) -> None:
        """Bind the result of a write."""
        self._v = v

    def _promote(self, content: Any) -> Value:
        """Turn a plain content into a Value."""
        self._v = v = Value(content)
        return v

    def _capture(self) -> Value:
        """The content as a Value, which others may hold from now on."""
        v = self._v
        return v if v.__class__ is Value else self._promote(v)


Cell._operand = vars(Cell)["_v"]
AnyCell = TypeVar("AnyCell", bound=Cell)


def wrap(cls: type[AnyCell], content: Content) -> AnyCell:
    """A new cell of a class around a content."""
    cell = new(cls)
    cell._v = content
    return cell
