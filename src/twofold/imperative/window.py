"""The window: deferred operations of one thread and device, as typed nodes over numbered leaves; forced as one cached program.

It holds its results' Values weakly (a dead reference: nobody can see the result, so it is never made) and its leaves' data
strongly, their Values weakly (a dead one: the leaf's memory may take a result). One lock guards recording, which is short;
programs run outside it. A reader of another thread's pending value closes that window and waits until it is *done*.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import WeakSet, ref

from ..backend.loader import backend_for
from ..config import SETTINGS
from ..device import Device
from ..graph.build import apply as apply_node
from ..graph.ir import TABLES, Node, const, leaf, topological
from ..op.spec import Sig
from ..program.compile import Program
from .cell import ALWAYS, Value
from .counters import COUNTERS
from .record import Rec, tls

LOCK = threading.RLock()
LITERALS = {0, 1, -1, 2}
_programs: dict[Any, tuple[Program, list[int]]] = {}
TABLES.dependents.append(_programs.clear)
#: Windows of all threads that may be open yet, and the devices that ever had one.
_open: "WeakSet[Window]" = WeakSet()
_used: set[Device] = set()
_serials = count()


class Window:
    """Operations recorded and not yet run."""

    __slots__ = ("__weakref__", "closed", "data", "device", "done", "error", "held", "leaf_nodes", "leaf_refs", "nbytes", "outs", "serial")

    def __init__(self, device: Device) -> None:
        self.device, self.serial = device, next(_serials)
        self.data: Any = []
        self.leaf_nodes: list[Node] = []
        self.leaf_refs: list[ref[Value] | None] = []
        self.outs: Any = []
        self.held: Any = []
        self.closed = False
        self.nbytes = 0
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    @property
    def is_done(self) -> bool:
        """Whether it has run: closed is not enough, a thread may be running it still."""
        return not self.done.locked()

    @property
    def is_full(self) -> bool:
        """Whether it has reached its bounds of operations or bytes."""
        return len(self.outs) >= SETTINGS.window_operations or self.nbytes > SETTINGS.window_bytes

    def node_of(self, v: Any) -> Node:
        """The node of a Value or Python scalar in this window; what was made elsewhere enters as a leaf."""
        if v.__class__ is Value:
            at = v.at
            return at[1] if at is not None and at[0] is self else self._enter(v)
        if v.__class__ is int and v in LITERALS or v.__class__ is bool:
            return const(v)
        return self._leaf(v, (), "weakf" if v.__class__ is float else "weaki", None)

    def _leaf(self, data: Any, shape: tuple[int, ...], dtype: str, holder: "ref[Value] | None") -> Node:
        node = leaf(len(self.data), shape, dtype)
        self.data.append(data)
        self.leaf_nodes.append(node)
        self.leaf_refs.append(holder)
        return node

    def _enter(self, v: Value) -> Node:
        shape, dtype = v.type
        b = v.borrow
        seen_elsewhere = not (b is None or b.__class__ is ref and b() is None)
        if v.at is not None and not v.at[0].is_done:  # two open windows read it: nobody may write over it
            v.share()
            seen_elsewhere = True
        node = self._leaf(v.data, shape, dtype, None if seen_elsewhere else ref(v))
        if v.borrow.__class__ is Value:
            self.held.append(v)  # the buffer's owner must not look dead
        v.at = self, node  # while this window is open, a write must not be in place
        return node


def force(v: Value) -> Any:
    """The Value's array, computed if it is pending.

    Raises
    ------
    MXNetError
        The error of the window in which it was to be computed.
    """
    at = v.at  # read before data: a flush writes data first
    if v.data is None:
        flush(at[0])
        if v.data is None:
            raise at[0].error
    return v.data


def defer(sig: Sig, args: Sequence[Any], device: Device, recs: Sequence[Rec | None], twins: Sequence[bool]) -> tuple[list[Value], list[Value | None]]:
    """Record an operation in this thread's window of a device.

    Parameters
    ----------
    sig, args
        What to apply to which Values, Python scalars or None.
    recs
        The tape's record of each result, or None.
    twins
        For which results a second Value is wanted, without the record: what the tape saves.
    """
    w = tls.windows.get(device)
    for v in args:
        if v.__class__ is Value and v.data is None and v.at[0] is not w:
            force(v)
    with LOCK:
        if w is None or w.closed or w.is_full:
            w = _renew(w, args, device)
        node = apply_node(sig, tuple([None if v is None else w.node_of(v) for v in args]))
        values, kept = [], []
        for part, rec, twin in zip(node.parts, recs, twins, strict=True):
            out = Value(None, rec, (w, part), device)
            w.outs.append(ref(out))
            w.nbytes += part.nbytes
            second = Value(None, None, (w, part), device) if twin else None
            if second is not None:
                w.outs.append(ref(second))
            values.append(out)
            kept.append(second)
    COUNTERS.deferred += 1
    return values, kept


def twin_of(v: Value) -> Value | None:
    """A second Value, without a record, for a pending result; None if its window has been closed meanwhile."""
    with LOCK:
        at = v.at
        if v.data is not None or at[0].closed:
            return None
        twin = Value(None, None, at, v.device)
        at[0].outs.append(ref(twin))
        return twin


def _renew(w: Window | None, args: Sequence[Any], device: Device) -> Window:
    if w is not None and not w.closed:
        flush(w)
    for v in args:
        if v.__class__ is Value and v.data is None:
            force(v)
    new = tls.windows[device] = Window(device)
    _open.add(new)
    _used.add(device)
    return new


def flush(w: Window) -> None:
    """Run a window, or wait for the thread that runs it."""
    with LOCK:
        mine = not w.closed
        w.closed = True
        if mine:
            if tls.windows.get(w.device) is w:
                del tls.windows[w.device]
            live = [v for v in [r() for r in w.outs] if v is not None]
            wanted = tuple([v.at[1] for v in live])
            dead = tuple([k for k, r in enumerate(w.leaf_refs) if r is not None and r() is None])
    if not mine:
        with w.done:
            return
    try:
        if live:
            _run(w, live, wanted, dead)
    except Exception as error:
        w.error = error
        raise
    finally:
        w.data = w.outs = w.held = ()
        _open.discard(w)
        w.done.release()


def _run(w: Window, live: list[Value], wanted: tuple[Node, ...], dead: tuple[int, ...]) -> None:
    backend = backend_for(w.device)
    key = wanted, dead, w.device.device_type
    found = _programs.get(key)
    if found is None:
        unique = list(dict.fromkeys(wanted))
        donated = [w.leaf_nodes[k] for k in dead]
        program = Program(unique, w.leaf_nodes, backend, donated=donated, boundaries=_boundaries(unique))
        found = _programs[key] = program, [unique.index(n) for n in wanted]
    program, where = found
    results = program.run(w.data)
    COUNTERS.windows += 1
    COUNTERS.kernels += len(program.kernels)
    COUNTERS.fused += sum(len(k.steps) for k in program.kernels)
    COUNTERS.donated += len(program.plan.donated)
    shared = len(results) < len(live)
    for v, k in zip(live, where, strict=True):
        if shared:  # two Values of one structure share the result: neither may be written
            v.borrow = ALWAYS
        v.data = results[k]
        v.at = None


def _boundaries(outputs: Sequence[Node]) -> list[Node]:
    """Every node of a window stands for an array that a caller held."""
    return topological(outputs)


def flush_all() -> None:
    """Run every window of this thread."""
    for w in list(tls.windows.values()):
        flush(w)


def wait_for_all(synchronize: Callable[[Device], None]) -> None:
    """Run every window of every thread and wait for the devices.

    Raises
    ------
    MXNetError
        The earliest error, with the others in its notes.
    """
    errors: list[Exception] = []
    with LOCK:
        windows = sorted(_open, key=lambda w: w.serial)
    for w in windows:
        try:
            flush(w)
        except Exception as error:
            errors.append(error)
    for device in list(_used):
        synchronize(device)
    for other in errors[1:]:
        errors[0].add_note(f"and then: {type(other).__name__}: {other}")
    if errors:
        raise errors[0]
