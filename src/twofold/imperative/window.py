"""The window: deferred operations of one thread and device, as typed nodes over leaves, run as one cached program.

A window refers weakly to the Values of its results: once a result's Value is dead, the result cannot be read, so it is never computed.
It holds the data of its inputs strongly and their Values weakly: once an input's Value is dead its memory may take a result.

Adding an operation takes one lock, briefly; programs run outside it. A window is a task of the scheduler. A thread that reads a pending
Value of another thread closes that thread's window, and runs it or waits until it is *done*.

An operation that is recorded on a tape has the same node here as there: the leaves that the tape has numbered are inputs of the
window under those numbers. Other operands enter under the window's own numbers, which are negative.
"""

import threading
from collections.abc import Sequence
from functools import partial
from threading import get_ident
from typing import Any
from weakref import ref

from ..assembly import fragment, inlined
from ..backend.kernel import Array
from ..config import SETTINGS
from ..device import Device
from ..dtype import ITEMSIZE
from ..graph.ir import Application, Leaf, Node, leaf
from ..program.cache import PROGRAMS
from ..scheduler.observers import LISTENERS, span
from ..scheduler.queue import QUEUE, FromSignal, being_computed, interrupted
from ..scheduler.streams import before_overwriting, run_on
from ..scheduler.variable import LANES, Task, compute_lane
from ..signal_handlers import is_from_signal_handler
from .cell import ALWAYS, Value, is_unshared
from .counters import COUNTERS
from .failure import Data, Issued, name_origin, salvaged, was_dropped
from .residuals import cache_of
from .room import ROOM, room_of
from .scalars import Scalar, scalar_node
from .sites import SITES, count_paid, count_unpaid
from .tape import Tape, TapeEntry
from .user_function import UserFunction
from .window_program import StageRunner, program_key, program_of, replacing

LOCK = threading.RLock()
QUEUE.holds_lock = LOCK._is_owned  # type: ignore[attr-defined]
#: Bytes of pending results from which a window is run by another thread while this one runs that of another device.
LAUNCHED = 1 << 20

#: Windows of all threads that may still be open or have failed, by serial number, and the devices that ever had one.
OPEN: "dict[int, ref[Window]]" = {}
USED: dict[int, Device] = {}


class Window(Task):
    """Deferred operations.

    Attributes
    ----------
    complete
        Whether it contains a backward. The next iteration then begins a new window, so that all iterations have the same structure.
    data, holders
        The inputs by node: arrays and Python scalars; and for each array a weak reference to the Value that it came from, or None if
        its memory must not take a result.
    held
        The Values of inputs whose buffers are shared.
    aliases
        Leaves of the tape that stand for something with another node in this window, with that node.
    cuts
        Inputs that are applications: results of earlier windows, or of recorded operations that ran without waiting in a window.
    outs
        Weak references to the pending Values.
    records
        Weak references to the tape entries of operations for which nothing has been saved yet (see `save`).
    inner
        Results that callers never hold as such (gradients, and values inside a definition), with the applications they belong to.
    saved
        Values made by `save`.
    issued, owner
        For each operation its nodes, and where the user's code issued it; the thread that issues them.
    tape
        The serial number of the one tape whose nodes it contains, or 0. Two tapes use the same numbers for their leaves.
    room, entered, updates, taken
        Bytes at which it is full (see `room`), bytes of inputs, and operators in place; locked by the one call that closes the window.
    work
        The result of `close`, for the run: live results, their nodes, and inputs whose memory may take results.
    stages
        Hands out some results before the others; None if all of them exist once it has run (see `stages`).
    """

    __slots__ = (
        "aliases", "complete", "cuts", "data", "device", "entered", "held", "holders", "inner", "issued", "outs", "owner", "records",
        "room", "saved", "stages", "taken", "tape", "updates", "work",
    )  # fmt: skip
    reports = False  # readers of the results find the error in their Values

    def __init__(self, device: Device) -> None:
        super().__init__(self._run_closed, LANES.get(device.serial) or compute_lane(device))
        self.device = device
        self.room = SETTINGS.window_bytes or ROOM.get(device.serial) or room_of(device)
        # a node is in both dictionaries or in neither; if an input's Value is dead at the end, its array's memory may take a result
        self.data: dict[Node, Data] = {}
        self.holders: dict[Node, ref[Value] | None] = {}
        self.held: dict[Node, Value] = {}
        self.aliases: dict[Node, Node] = {}
        self.cuts: list[Node] = []
        # weak: a result that no array refers to when the window closes is not computed
        self.outs: list[ref[Value]] = []
        self.records: list[ref[TapeEntry]] = []
        self.inner: dict[Node, Sequence[Node]] = {}
        self.saved: dict[tuple[Node, TapeEntry | None], Value] = {}
        self.issued: list[Issued] = []
        self.owner = get_ident()
        self.tape = self.entered = self.updates = 0
        # without it, windows would be cut at other operations in each iteration, and no program would be found again
        self.complete = False
        self.taken = threading.Lock()  # by the one call that closes it
        self.work: Any = None
        self.stages: StageRunner | None = None

    @property
    def closed(self) -> bool:
        """Whether it takes no more operations, because it is about to run, is running, or has run."""
        return self.taken.locked()

    def forget(self) -> None:
        """Drop everything. The containers are replaced: interrupted code may still add to the old ones, without effect."""
        nothing: Any = {}  # one for all: no code reads or fills these any more
        self.data = self.holders = self.held = self.aliases = self.inner = self.saved = nothing
        nothing = []
        self.outs = self.cuts = self.records = self.issued = nothing
        self.work = self.stages = None

    def finish(self) -> None:
        """Run it, or wait until it has run."""
        flush(self)

    # inputs

    def node_of(self, v: Value | Scalar | UserFunction) -> Node:
        """The node of an operand in this window: a result's own, a literal, or a leaf for anything else."""
        if isinstance(v, Value):
            producer = v.producer
            return producer[1] if producer is not None and producer[0] is self else self.enter(v, None)
        node = scalar_node(v, ~len(self.data))
        if isinstance(node, Leaf):
            self.data[node], self.holders[node] = v, None
        return node

    @inlined
    def enter(self, v: Value, node: Node | None) -> Node:
        """The node of an operand: ``node`` (the tape's), or a new leaf of the window if ``node`` is None."""
        producer = v.producer
        if producer is not None and producer[0] is self:
            here: Node = producer[1]
            if node is not None and node is not here and node not in self.data:
                self.aliases[node] = here
            return here if node is None else node
        if node is None:
            node = leaf(~len(self.data), *v.type)
        elif node in self.data or node in self.aliases:  # entered by another Value with the same tape entry, such as an alias
            if node in self.data:
                self.holders[node] = None
            return node
        elif isinstance(node, Application):
            self.cuts.append(node)
        if producer is not None and not producer[0].is_done:  # two open windows read it: neither may overwrite it
            v.share()
        seen_elsewhere = not is_unshared(v.sharing)
        self.data[node] = v.data
        self.entered += node.size * ITEMSIZE[node.dtype]
        self.holders[node] = None if seen_elsewhere else ref(v)
        if seen_elsewhere:
            self.held[node] = v  # while this window reads the Value, neither it nor a Value with the same buffer may look writable
        v.producer = self, node  # no write in place until this window has run
        return node

    def keep(self, v: Value) -> None:
        """Let no result take the memory of an input, because a view of it has been handed out."""
        with LOCK:
            for node, holder in self.holders.items():
                if holder is not None and holder() is v:
                    self.holders[node] = None

    # results

    def save(self) -> None:
        """Add the values that backward reads to the window's results; called with `LOCK` held.

        This is needed if the window runs before backward. A backward that joins the window needs no saved values, since its gradients are
        nodes over those of the operations.
        """
        records, self.records = self.records, []
        for reference in records:
            entry = reference()
            if entry is not None and entry.tape is not None:
                assert isinstance(entry.node, Application)
                entry.saved = [self._saved(entry, entry.node, *what, entry.tape) for what in cache_of(entry.node).saves or ()]

    def _saved(self, entry: TapeEntry, owner: Application, kind: str, k: int, tape: Tape) -> Data | Value:
        if kind == "in":
            below = entry.inputs[k]
            assert below is not None
            return below.saved[0] if isinstance(below.node, Leaf) and below.saved else self._value_to_save(below.node, tape, below)
        if kind == "out":  # without the tape entry: the entry holds this Value, and a reference back would close a cycle
            return self._value_to_save(owner.parts[k], tape)
        node = cache_of(owner).residuals[k]
        self.inner.setdefault(node, (owner,))
        return self._value_to_save(node, tape)

    @inlined
    def _value_to_save(self, node: Node, tape: Tape, entry: TapeEntry | None = None) -> Value:
        """A Value of a node for a tape to save, which is not donated, and not written in place while the tape lives."""
        node = self.aliases.get(node, node)
        found = self.saved.get((node, entry))
        if found is None:
            if node in self.data:
                holder = self.holders[node]
                v = holder() if holder is not None else self.held.get(node)
                self.holders[node] = None
                found = v.lend(tape) if v is not None else Value(self.data[node], entry, None, self.device, ALWAYS)
            else:
                found = result_of(self, node, self.device, entry)
                found.sharing = ALWAYS
            self.saved[node, entry] = found
        return found

    # running

    def _run_closed(self) -> None:
        """The task's function."""
        live, wanted, dead = self.work
        self.work = None
        try:
            try:
                if live and LISTENERS:
                    with span("flush", "window", self.device, details={"operations": len(self.issued), "owner": self.owner}):
                        _run(self, live, wanted, dead)
                elif live:
                    _run(self, live, wanted, dead)
            except Exception as error:
                found = PROGRAMS.get(program_key(self, wanted, dead))
                if not is_from_signal_handler(error):  # no operation is to blame for those
                    name_origin(self.issued, self.device, error, found.program if found is not None else None)
                # results that do not depend on the failed operation are computed after all, if their inputs have not changed
                if found is not None:
                    inputs = {n: a for n, a in self.data.items() if n not in dead} if found.program.overwrites else self.data
                    for v, data in salvaged([v for v in live if v.data is None], self.device, inputs, replacing(self)):
                        hand_out(v, data)
                raise
            finally:
                self.forget()
            OPEN.pop(self.serial, None)
        except Exception as error:
            if is_from_signal_handler(error) and all(v.data is not None for v in live):
                raise FromSignal(error) from None
            raise
        finally:
            live = []  # the traceback of an interrupt keeps this frame


@fragment
def is_closed(w: Window) -> bool:
    """`Window.closed` without its frame."""
    return w.taken.locked()


@fragment
def result_of(w: Window, node: Node, device: Device, entry: TapeEntry | None) -> Value:
    """A pending Value of a node."""
    out = Value(None, entry, (w, node), device)
    w.outs.append(ref(out))
    return out


class _PerThread(threading.local):
    """A thread's open windows by their device's `serial`, and whether a backward has run by itself since the last of them was opened."""

    def __init__(self) -> None:
        self.by_device: dict[int, Window] = {}
        self.after_backward = False


HERE = _PerThread()


def force(v: Value) -> Array:
    """The Value's array, computed if it is pending.

    Raises
    ------
    MXNetError
        The error of the window, task or copy that should have computed the Value.
    """
    producer = v.producer  # read before data: a flush writes data first
    if v.data is None:
        producer[0].finish()
        if v.data is None:
            OPEN.pop(getattr(producer[0], "serial", 0), None)  # `waitall` does not raise again what a read raises
            error = producer[0].error or was_dropped()
            raise error.with_traceback(None)  # every reader gets this error: it must not collect their frames
    return v.data


# running all of a thread's, or of all threads'


def flush_all() -> None:
    """Run every window of every thread. Errors stay with them."""
    for w in windows():
        flush(w)


def windows() -> list[Window]:
    """The windows of all threads that may still be open or have failed, the oldest first."""
    found = []
    for serial, reference in list(OPEN.items()):
        w = reference()
        if w is None:  # its results can no longer be read
            OPEN.pop(serial, None)
        else:
            found.append(w)
    return sorted(found, key=lambda w: w.serial)


def flush_complete() -> None:
    """Run this thread's windows that hold a backward: called where another iteration may begin."""
    for w in list(HERE.by_device.values()):
        if w.complete:
            flush(w)


def flush(w: Window) -> None:
    """Run a window, or wait for the thread that runs it. An error stays with the window: reads of its results raise it."""
    is_open = not w.taken.locked()
    try:
        # the thread that closes the window runs it; every other thread waits
        if close(w):
            run_closed(w)
        elif w.runner == get_ident() and not w.is_done:
            raise being_computed()
        else:
            QUEUE.wait(w)
    except BaseException as error:
        # Ctrl-C between the lines that close it and those that run it: no later read would find it closed by other code of this thread
        if is_open and w.closed and QUEUE.give_up(w, error):
            w.forget()
        raise


def run_closed(w: Window) -> None:
    """Run a window that this thread has closed."""
    try:
        if HERE.by_device and SETTINGS.engine != "naive" and w.device.is_host:
            _launch_others()
    finally:
        QUEUE.run_here(w)


@inlined
def close(w: Window, launch: bool = False) -> bool:
    """Close a window so that this thread, or with ``launch`` any thread, can run it; False if it was closed already.

    `LOCK` is reentrant, so a signal handler may interrupt this thread anywhere in here. A handler that reads one of the results must raise
    rather than wait for the code that it has interrupted, so ``runner`` is set before the window becomes closed.
    """
    with LOCK:
        if is_closed(w):
            return False
        if not launch:
            w.runner = get_ident()
        if not w.taken.acquire(blocking=False):  # a signal handler or finalizer has closed it in the meantime
            return False
        try:
            if HERE.by_device.get(w.device.serial) is w:
                HERE.by_device.pop(w.device.serial, None)
            if w.records:
                w.save()
            # From here on `live` keeps the results alive, so the set of results that the program computes is fixed. Inputs whose Values
            # are dead stay dead, because only weak references to those Values are left: their memory is donated.
            live, wanted, dead = [], [], []
            for r in w.outs:
                v = r()
                if v is not None:
                    live.append(v)
                    wanted.append(v.producer[1])
            for node, r in w.holders.items():
                if r is not None and r() is None:
                    dead.append(node)
            w.work = live, tuple(wanted), tuple(dead)
        except BaseException as error:
            w.forget()
            QUEUE.abandon(w, interrupted(error))
            raise
        return True


def _launch_others() -> None:
    """Launch this thread's open windows of CPU devices, if they are worth a hand-off, while it runs one that it has closed."""
    for other in list(HERE.by_device.values()):
        if other.device.is_host and other.nbytes >= LAUNCHED:
            try:
                if close(other, launch=True):
                    QUEUE.submit(other)
            except BaseException as error:
                if other.closed and not other.is_submitted and not other.runner:
                    QUEUE.abandon(other, interrupted(error))
                raise


@inlined
def _run(w: Window, live: list[Value], wanted: tuple[Node, ...], dead: tuple[Node, ...]) -> None:
    key = program_key(w, wanted, dead)
    found = PROGRAMS.get_or(key, partial(program_of, w, wanted, dead))
    program = found.program
    arrays = list(map(w.data.__getitem__, found.reads))
    if not found.pays and not (w.tape and len(w.issued) > 1):  # a backward, which may join, reads what is recorded
        count_unpaid(w.issued, found.nbytes)
    elif SITES:
        count_paid(w.issued)
    if w.device.is_host:
        results = program.run(arrays) if w.stages is None else found.run_in_stages(w.stages, arrays, live)
    else:
        if program.overwrites:
            # earlier work on the device's other queues may still read the donated memory
            before_overwriting(w.device)
        results = run_on(w.device, program.run, arrays)
    COUNTERS.windows += 1
    COUNTERS.kernels += len(program.kernels)
    COUNTERS.fused += found.fused
    COUNTERS.donated += len(program.plan.donated)
    with LOCK:  # data before ``producer``: a thread that sees the data may enter the Value in its own window, which sets ``producer``
        for v, (k, shared) in zip(live, found.where, strict=True):
            if shared:  # two Values share the result: neither may be written
                v.sharing = ALWAYS
            if v.data is None:
                v.data = results[k]
                v.producer = None
            elif v.producer is not None and v.producer[0] is w:  # the data came from a stage
                v.producer = None
        if w.device.is_host:
            for r in w.holders.values():
                v = r() if r is not None else None
                if v is not None and v.producer is not None and v.producer[0] is w:  # an input: its next write need not look for readers
                    v.producer = None


def hand_out(v: Value, data: Array) -> None:
    """Give a pending Value its data, before ``producer`` is cleared: a thread that sees the data may set ``producer`` to its own window."""
    with LOCK:
        v.data = data
        v.producer = None
