"""Cells and their contents.

A cell (an array object) holds either a *plain* backend array that it alone owns (small, ready, on cpu(0), unrecorded: its class
answers every question of the fast path at once), or a `Value`: immutable, and held by cells, views, records and windows alike.
Capturing a plain content (tape, window, alias, export) turns it into a Value.
"""

from typing import Any
from weakref import ref

from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import NAME_OF
from .record import Rec, Tape

ALWAYS = "shared for good"
PINNED = "exported: written in place, never donated"
HOST = backend_for(CPU)
new = object.__new__


class NeverPlain:
    """The class of plain contents where the host's library has none: nothing is of it, an omitted input (None) least of all."""


PLAIN: type = HOST.target.plain or NeverPlain


class Value:
    """An immutable content.

    Attributes
    ----------
    data
        The backend array; None while it is not computed (or what was to compute it failed: then ``at`` says why).
    rec
        The record that made it, or its leaf record.
    at
        (the `Maker` that makes it or has last read it, its type): a window and the node there, or a task or a copy (`pending`) and
        shape and dtype. One attribute, so that threads never see half of it.
    borrow
        Who else sees the buffer: None, a weak reference to the tape that saved it or to a Value that looks into it, `ALWAYS`, or
        the Value that it aliases.
    device
        Where the buffer is.
    """

    __slots__ = ("__weakref__", "at", "borrow", "data", "device", "rec")

    def __init__(self, data: Any, rec: Rec | None = None, at: Any = None, device: Device = CPU, borrow: Any = None) -> None:
        self.data = data  # one by one: faster than a tuple of five
        self.rec = rec
        self.at = at
        self.device = device
        self.borrow: Any = borrow

    def lend(self, tape: Tape) -> "Value":
        """What a tape may save of this value: itself, not written in place while the tape lives; a copy if the outside may write it."""
        b = self.borrow
        if b is None or b is tape.ref or (b.__class__ is ref and b() is None):
            self.borrow = tape.ref
        elif self.pinned:
            return Value(backend_for(self.device).copy(self.data, self.device), device=self.device)
        elif b.__class__ is not Value:  # what aliases another keeps that alive, and so is never donated
            self.borrow = ALWAYS
        return self

    def share(self) -> None:
        """Note that another Value or the outside sees the buffer for good."""
        if self.borrow.__class__ is not Value and self.borrow is not PINNED:
            self.borrow = ALWAYS

    def shown_by(self, other: "Value") -> None:
        """Note that another Value sees the buffer: no write in place while it lives."""
        b = self.borrow
        if b is None or (b.__class__ is ref and b() is None):
            self.borrow = ref(other)
        else:
            self.share()

    def pin(self) -> None:
        """Note that memory outside of the library sees the buffer: it, or what it aliases, is written in place from now on."""
        if self.borrow.__class__ is Value:
            self.borrow.pin()
        else:
            self.borrow = PINNED

    @property
    def pinned(self) -> bool:
        """Whether memory outside of the library sees the buffer."""
        b = self.borrow
        while b.__class__ is Value:
            b = b.borrow
        return b is PINNED

    @property
    def exclusive(self) -> bool:
        """Whether nobody but one cell sees the buffer, so that a write may happen in place."""
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


def alias(data: Any, owner: Value) -> Value:
    """A Value that looks into (or is) another one's buffer, and keeps that one alive."""
    out = Value(data, device=owner.device)
    out.borrow = owner
    owner.shown_by(out)
    return out


class Cell:
    """The abstract base of array classes: a content, and the gradient it wants."""

    __slots__ = ("__weakref__", "_g", "_v")

    _v: Any
    _g: Any

    def _rebind(self, v: Any) -> None:
        """Bind the result of a write."""
        self._v = v

    def _promote(self, content: Any) -> Value:
        """Turn a plain content into a Value."""
        self._v = v = Value(content)
        return v

    def _capture(self) -> Value:
        """The content as a Value: from now on others may hold it."""
        v = self._v
        return v if v.__class__ is Value else self._promote(v)


def wrap(cls: type, content: Any) -> Any:
    """A new cell of a class around a content."""
    cell = new(cls)
    cell._v = content
    return cell
