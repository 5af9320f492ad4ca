"""The tape: a graph of entries. A `TapeEntry` is one recorded operation, a `Tape` one outermost ``record()`` scope."""

import threading
from itertools import count
from typing import TYPE_CHECKING, Any, Literal
from weakref import ref

from ..assembly import fragment
from ..errors import UnknownKey
from ..graph.build import item
from ..graph.ir import Application, Node

if TYPE_CHECKING:
    from ..device import Device


class TapeEntry:
    """One recorded operation, or a leaf: its typed node (the structure) and the values of this run.

    Attributes
    ----------
    node
        The typed application, or a leaf of the tape.
    inputs
        Entries of the node's inputs. For a bridge leaf: the entry on the older tape that it continues.
    saved
        The values that backward reads, in the order of `NodeCache.saves`: Values, Python scalars, and small arrays never written. Emptied
        after backward.
    tape
        The tape; None after backward.
    grad
        The `Variable` whose gradient this is, or None.
    hook
        For operators with an ``on_backward`` rule: (bound_op, operands, cells to write).
    devices
        For a leaf that is a copy from another device: (from, to); ``inputs`` then has the original's entry. Else None.
    """

    __slots__ = ("__weakref__", "devices", "grad", "hook", "inputs", "node", "saved", "tape")

    hook: Any

    def __init__(
        self, node: Node, inputs: tuple["TapeEntry", ...], saved: Any, tape: "Tape | None", grad: "Variable | None" = None
    ) -> None:
        self.node = node  # one by one: faster than a tuple of five
        self.inputs = inputs
        # No Value here has this entry as its own: the cycle would keep the saved arrays until the garbage collector runs.
        self.saved = saved
        # None says that backward has freed the operation. Values computed from it later are then constants for the next tape.
        self.tape = tape
        self.grad = grad
        self.devices: tuple[Device, Device] | None = None

    @property
    def is_used(self) -> bool:
        """Whether backward has used and freed the operation, or the operation that a bridge leaf continues."""
        if not isinstance(self.node, Application):
            return bool(self.inputs) and self.inputs[0].is_used
        # backward has passed only those of several results that lead to its heads
        return self.tape is None or (self.node.bound_op.op is item and self.inputs[0].tape is None)


#: In place of a request: the array's shape or dtype differs from the gradient's, so backward must not reach the variable.
MISFIT = "misfit"


def check_request(grad_req: str) -> None:
    """Raise if it is none of the requests that `Array.attach_grad` takes.

    Raises
    ------
    UnknownKey
        If so.
    """
    if grad_req not in ("write", "add", "null"):
        raise UnknownKey("attach_grad: unknown grad_req", repr(grad_req), "use 'write', 'add' or 'null'")


class Variable:
    """Marks an array that wants a gradient: the cell that receives it, and how (``"write"``, ``"add"``, ``"null"`` or `MISFIT`).

    ``fresh`` tells whether backward has written the cell since the flag was last cleared.
    """

    __slots__ = ("cell", "fresh", "req")

    def __init__(self, cell: Any, req: str) -> None:
        self.cell, self.req, self.fresh = cell, req, False

    @property
    def tracked(self) -> bool:
        """Whether the leaf has a gradient."""
        return self.req != "null"


class Tape:
    """An outermost ``record()`` scope, up to a backward within it. It numbers the leaves.

    It lives as long as an open scope or the entry of an operation refers to it. The entries of leaves, which arrays hold, drop their
    reference when it is closed.

    Attributes
    ----------
    device
        The device of all its operations; False if there are several, None before the first operation.
    windows
        The windows with operations of this tape.
    whole
        Whether all its operations have been deferred.
    """

    __slots__ = ("__weakref__", "device", "entered", "leaves", "ref", "serial", "whole", "windows")
    _serials = count(1)  # an iterator, because assigning a number to a class attribute would invalidate the interpreter's inline caches

    def __init__(self) -> None:
        self.leaves, self.serial = 0, next(Tape._serials)
        self.ref: ref[Tape] = ref(self)
        self.device: Device | Literal[False] | None = None
        self.entered: list[TapeEntry] = []
        # Backward joins a window only if this one alone has all operations (``whole``): its gradients are nodes over theirs.
        self.windows: list[Any] = []
        self.whole = True

    def enter(self, entry: TapeEntry) -> None:
        """Give the next number to the leaf of an array."""
        self.leaves += 1
        self.entered.append(entry)
        entry.tape = self


@fragment
def close_tape(tape: Tape) -> None:
    """Release the leaves. Their values may be written in place once the operations that saved them are freed."""
    for entry in tape.entered:
        if entry.tape is tape:  # not yet entered on another tape
            entry.tape = None
    tape.entered = []


class Local(threading.local):
    """The current state of a thread: the tape being recorded (None: not recording), and training mode."""

    tape: Tape | None = None
    training: bool = False


tls = Local()
