"""Cells and their contents.

A cell (an array object) holds either a *plain* backend array or a `Value`. The cell alone owns a plain array, which is small, ready, on
cpu(0) and not recorded: one test of its class answers every question of the fast path. A Value is immutable and may be shared by cells,
views, tape entries and windows. A tape, window, alias or export that captures a plain content turns it into a Value.
"""

from typing import Any, TypeAlias, TypeVar
from weakref import ref

from ..assembly import fragment, inlined
from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import NAME_OF
from .scalars import Scalar
from .tape import Tape, TapeEntry, Variable
from .user_function import UserFunction

ALWAYS = "shared permanently"
PINNED = "exported: written in place, never donated"
HOST = backend_for(CPU)
new = object.__new__


class NeverPlain:
    """Stands for the class of plain contents if the host's library has none. Nothing is an instance of it."""


PLAIN: type = HOST.target.plain or NeverPlain


@fragment
def is_unshared(sharing: Any) -> bool:
    """Whether nothing else refers to a buffer, according to `Value.sharing`."""
    return (by := sharing) is None or (by.__class__ is ref and by() is None)


#: See `Value.writers`.
REPLACING = 1 << 20


class PINS:
    """``count`` rises whenever a buffer is exported: what remembers contents looks then whether it is theirs."""

    count = 0


class Value:
    """An immutable content.

    Attributes
    ----------
    data
        The backend array; None while it is pending, or if computing it failed (then ``producer`` has the error).
    entry
        The tape entry of the operation that computed the Value, or of its leaf; None if it is not recorded.
    producer
        A pair: the `Producer` that computes the Value or was the last to read it, and the Value's type. For a window the type is the node
        there; for a task or copy (`pending`) it has shape and dtype. A single attribute, so that other threads never see half of an update.
    sharing
        What else refers to the buffer: None, a weak reference to the tape that saved it or to what its aliases hold (see `shown`),
        `ALWAYS`, `PINNED` if code outside the library may write it, or the Value that this one aliases.
    device
        Where the buffer is.
    writers
        How many threads write the buffer in place now, plus `REPLACING` for each that makes a content to take this one's place.

    Notes
    -----
    Threads may write different parts of one array at a time. One that writes in place enters ``writers`` first, and looks then whether the
    Value is still the array's content and nobody replaces it. Generated functions take too little time for that: they only look, and are
    found in the threads' stacks. A thread that must copy the buffer, since something else reads it, enters `REPLACING`, waits for those
    that write in place, and binds its copy only if no other was bound meanwhile. So no write is lost.

    Threads that record share their operands, and so set ``sharing`` at the same time. No lock protects it, since every recorded operation
    sets it. Instead, each update tests ``sharing`` once more after its last call and then stores at once: CPython switches threads only at
    calls and at jumps backwards, so that no mark of another tape is overwritten between the test and the store.
    """

    __slots__ = ("__weakref__", "data", "device", "entry", "producer", "sharing", "writers")

    def __init__(self, data: Any, entry: TapeEntry | None = None, producer: Any = None, device: Device = CPU, sharing: Any = None) -> None:
        self.data = data  # one by one: faster than a tuple of five
        self.entry = entry
        # Written after ``data`` when the result arrives, and read before it: a reader that finds no data then finds the producer.
        self.producer = producer
        self.device = device
        # Decides whether the buffer may be written or donated, and errs on the side of a copy: a reference that has died says "not shared".
        self.sharing: Any = sharing
        self.writers = 0

    @inlined
    def lend(self, tape: Tape) -> "Value":
        """A Value for a tape to save: itself, not written in place while the tape lives, or a copy if code outside may write the buffer."""
        b = self.sharing
        # lent to this tape already, free, or lent to something that is gone
        if b is tape.ref or is_unshared(b):
            if self.sharing is not b:  # meanwhile another thread has lent the Value to its tape
                return self.lend(tape)
            self.sharing = tape.ref
        elif self.pinned:
            return self.steady()
        elif b.__class__ is not Value and self.sharing is not PINNED:  # an alias keeps its owner alive: the buffer is never donated
            self.sharing = ALWAYS
        return self

    def steady(self) -> "Value":
        """The Value, or a copy if code outside the library may write its buffer: what runs later must not see later writes."""
        return Value(backend_for(self.device).copy(self.data, self.device), device=self.device) if self.pinned else self

    def share(self) -> None:
        """Mark the buffer as shared from now on."""
        if self.sharing.__class__ is not Value and self.sharing is not PINNED:
            self.sharing = ALWAYS

    @inlined
    def shown(self) -> "Value":
        """An object that all aliases of the buffer hold: while it lives, the buffer is not written in place."""
        b = self.sharing
        # all aliases hold one object, which dies with the last of them: then the buffer may be written again
        if b.__class__ is ref and (held := b()).__class__ is Value and held.sharing is self:
            return held
        held = Value(self.data, None, None, self.device, self)
        seen = ref(held)
        if is_unshared(b) and self.sharing is b:
            self.sharing = seen
        else:  # lent to a tape: there is no room for a second reference, so it counts as shared from now on
            self.share()
        return held

    def pin(self) -> None:
        """Mark the buffer, or the one that it aliases, as exported to code outside the library: from now on it is written in place."""
        if self.sharing.__class__ is Value:
            self.sharing.pin()
        else:
            self.sharing = PINNED
            PINS.count += 1

    @property
    def pinned(self) -> bool:
        """Whether code outside the library sees the buffer."""
        b = self.sharing
        # an alias of an alias: follow the chain to the owner
        while b.__class__ is Value:
            b = b.sharing
        return b is PINNED

    @property
    def is_lent(self) -> bool:
        """Whether Values other than aliases share the buffer: equal results, or values saved by a tape. They must not see writes to it."""
        b = self.sharing
        if b.__class__ is ref:
            held = b()
            return held is not None and not (held.__class__ is Value and held.sharing is self)
        return b is ALWAYS

    @property
    @inlined
    def exclusive(self) -> bool:
        """Whether only one cell sees the buffer, so that it may be written in place."""
        producer = self.producer
        if self.data is None or (producer is not None and not producer[0].is_done) or self.writers >= REPLACING:
            return False
        return is_unshared(self.sharing)

    @property
    def type(self) -> tuple[tuple[int, ...], str]:
        """Shape and dtype name, known before the value is computed."""
        producer, data = self.producer, self.data  # in this order: a flush writes data before it clears producer
        if data is None:
            return producer[1].shape, producer[1].dtype
        return (data.shape, NAME_OF[data.dtype]) if data.__class__ is PLAIN else backend_for(self.device).type_of(data)


@fragment
def lent(v: Value, tape: Tape) -> Value:
    """`Value.lend` without its frame in the commonest cases."""
    b = v.sharing
    if is_unshared(b) and v.sharing is b:  # no call from here to the store: see `Value`
        v.sharing = tape.ref
        return v
    if b is tape.ref:
        return v
    return v.lend(tape)


#: The classes of the contents of dense arrays.
DENSE = (PLAIN, Value)
#: The content of a cell: a plain array or a Value.
Content: TypeAlias = Array | Value
#: The content of an operand; None for an omitted optional input.
Operand: TypeAlias = Content | Scalar | UserFunction | None


def alias(data: Array, owner: Value) -> Value:
    """A Value over (part of) the buffer of another Value, which it keeps alive."""
    return Value(data, None, None, owner.device, owner.shown())


class Cell:
    """The abstract base of array classes: a content, and a `Variable` if a gradient is wanted."""

    __slots__ = ("__weakref__", "_gradient", "_held")

    #: The content, read and written without a call; None in a view, which reads its array's (see `views.Viewable`).
    _held: Any
    #: The content, of a view too.
    _content: Any
    #: Unset, not None, in most cells: `wrap` saves the time to write it. So code that may meet such a cell reads it by `getattr`.
    _gradient: Any
    #: The class of the variables whose gradient is an array of this class.
    _variable = Variable
    #: The content, but None for a view with gaps whose content would be a large copy.
    _operand: Any
    #: Of a copy that stands for part of another array: a weak reference to the cell with the memory of that array. See `writable`.
    _copy_of: Any = None

    def _rebind(self, v: "Content") -> None:
        """Bind the result of a write."""
        self._content = v

    def _promote(self, content: "Content") -> Value:
        """Turn a plain content into a Value; if another thread has bound another content meanwhile, that."""
        v = Value(content)
        if self._held is content:  # no call between the test and the update, so that no thread overwrites what another has bound
            self._held = v
            return v
        return self._capture()

    def _capture(self) -> Value:
        """The content as a Value, which others may hold from now on."""
        v = self._held if self._held is not None else self._content
        return v if v.__class__ is Value else self._promote(v)


# one slot under three names, of which classes of arrays override two
Cell._content = Cell._operand = vars(Cell)["_held"]
AnyCell = TypeVar("AnyCell", bound=Cell)


@fragment
def is_view(cell: Cell) -> bool:
    """Whether a cell shows a part of another one."""
    return cell._held is None


@fragment
def content_of(cell: Cell) -> Any:
    """``cell._content``, without a frame unless the cell is a view."""
    return cell._held if cell._held is not None else cell._content


@fragment
def operand_of(cell: Cell) -> Any:
    """``cell._operand``, likewise."""
    return cell._held if cell._held is not None else cell._operand


def writable(root: Cell, chain: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The operations of a view without those that would only refuse writes; None if it is read-only.

    A copy that stands for part of another array (its view begins with an operation that refuses writes) may be written once nobody has
    that array any more: then no one misses the write.
    """
    source = root._copy_of
    own = chain[1:] if source is not None and source() is None and chain else chain
    return own if all(bound_op.op.writes_through for bound_op in own) else None


def wrap(cls: type[AnyCell], content: Content) -> AnyCell:
    """A new cell of a class around a content."""
    cell = new(cls)
    cell._held = content
    return cell
