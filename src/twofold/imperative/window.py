"""The window: deferred operations of one thread and device, as typed nodes over numbered leaves; forced as one cached program.

It holds its results' Values weakly (a dead reference: nobody can see the result, so it is never made) and its leaves' data
strongly, their Values weakly (a dead one: the leaf's memory may take a result). One lock guards recording, which is short;
programs run outside it. A reader of another thread's pending value closes that window and waits until it is *done*.
"""

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from sys import _getframe
from threading import get_ident
from typing import Any
from weakref import WeakSet, ref

from ..backend import forks
from ..backend.loader import backend_for
from ..config import SETTINGS
from ..device import CPU, Device
from ..errors import EngineError, MXNetError
from ..graph.build import apply as apply_node
from ..graph.ir import TABLES, Node, bound_tables, const, leaf, leaves_of, topological
from ..opdef.spec import Sig
from ..program.compile import Program
from ..program.profiled import Title
from ..scheduler.observers import LISTENERS, span
from ..scheduler.queue import QUEUE, clear_all_frames
from ..scheduler.streams import before_overwriting, run_on
from ..scheduler.variable import SERIALS, Lane, Task
from .cell import ALWAYS, PINNED, PLAIN, Value
from .counters import COUNTERS
from .failure import name_origin, salvaged
from .origin import INSIDE, frame_of_user
from .record import Rec, tls

LOCK = threading.RLock()
LITERALS = {0, 1, -1, 2}
#: Bytes of pending results from which a window is run by another thread while this one runs that of another device.
LAUNCHED = 1 << 20


class _Known:
    """The program of a structure.

    Attributes
    ----------
    program, reads
        With the numbers of the window's leaves that it reads.
    where
        For each live Value, its result and whether others have it too.
    used
        Serial of the last window that it ran.
    """

    __slots__ = ("program", "reads", "used", "where")

    def __init__(self, program: Program, reads: list[int], where: list[tuple[int, bool]], used: int) -> None:
        self.program, self.reads, self.where, self.used = program, reads, where, used


#: Programs by structure. A plain dict, since each step on one is whole also where no global lock keeps threads apart.
_programs: dict[Any, _Known] = {}
MOST_PROGRAMS = 1024
TABLES.dependents.append(_programs.clear)
#: Windows of all threads that may be open yet, and the devices that ever had one.
_open: "WeakSet[Window]" = WeakSet()
_used: set[Device] = set()


def _before_fork() -> None:
    """No lane may be at work when the process forks: its thread would not be there in the child."""
    QUEUE.pause()
    for lock in forks.LOCKS:
        lock.acquire()
    LOCK.acquire()
    QUEUE.hold()


def _in_parent() -> None:
    QUEUE.let_go()
    _release_locks()


def _release_locks() -> None:
    LOCK.release()
    for lock in reversed(forks.LOCKS):
        lock.release()


def _in_child() -> None:
    """In a child: what another thread of the parent was running will never be done here; what was only recorded can be run."""
    _release_locks()
    QUEUE.in_child()
    for w in list(_open):
        if w.closed and not w.is_done and (w.task is None or w.task.runner):
            w.error = EngineError(
                "this array was being computed by another thread when the process forked", None, "wait for it before fork()"
            )
            w.forget()
            w.done.release()
            _open.discard(w)  # who reads it learns that; nobody else is to


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)


class Window:
    """Operations recorded and not yet run.

    ``complete`` says that it holds a backward: the next iteration begins a new window, so that all have one structure. ``issued`` has
    the node of each operation, and where the user's code issued it.
    """

    __slots__ = (
        "__weakref__", "complete", "data", "device", "done", "error", "held", "issued", "leaf_nodes", "leaf_refs",
        "nbytes", "outs", "runner", "serial", "taken", "task",
    )  # fmt: skip

    def __init__(self, device: Device) -> None:
        self.device, self.serial = device, next(SERIALS)
        self.data: Any = []
        self.leaf_nodes: list[Node] = []
        self.leaf_refs: list[ref[Value] | None] = []
        self.outs: Any = []
        self.held: Any = []
        self.complete = False
        self.runner = 0
        self.task: Task | None = None
        self.nbytes = 0
        self.issued: list[tuple[Node, Any, int]] = []
        self.error: BaseException | None = None
        self.taken, self.done = threading.Lock(), threading.Lock()  # taken: by the one call that closes it
        self.done.acquire()

    @property
    def closed(self) -> bool:
        """Whether it takes no more: from the moment on that one call has taken it, to run it."""
        return self.taken.locked()

    @property
    def is_done(self) -> bool:
        """Whether it has run: closed is not enough, a thread may be running it still."""
        return not self.done.locked()

    @property
    def is_full(self) -> bool:
        """Whether it has reached its bounds of operations or bytes."""
        return len(self.issued) >= SETTINGS.window_operations or self.nbytes > SETTINGS.window_bytes

    def forget(self) -> None:
        """Let go of everything; lists, since what it interrupted may be about to add to them, in vain."""
        self.data, self.outs, self.held = [], [], []

    def finish(self) -> None:
        """See to it that it has run."""
        flush(self)

    def node_of(self, v: Any) -> Node:
        """The node of a Value or Python scalar in this window; what was made elsewhere enters as a leaf."""
        if v.__class__ is Value:
            at = v.at
            return at[1] if at is not None and at[0] is self else self._enter(v)
        if (v.__class__ is int and v in LITERALS) or v.__class__ is bool:
            return const(v)
        return self._leaf(v, (), "weakf" if v.__class__ is float else "weaki", None)

    def result(self, node: Node, device: Device, rec: Rec | None = None) -> Value:
        """A pending Value of a node."""
        out = Value(None, rec, (self, node), device)
        self.outs.append(ref(out))
        return out

    def _leaf(self, data: Any, shape: tuple[int, ...], dtype: str, holder: "ref[Value] | None") -> Node:
        node = leaf(len(self.data), shape, dtype)
        self.data.append(data)
        self.leaf_nodes.append(node)
        self.leaf_refs.append(holder)
        return node

    def _enter(self, v: Value) -> Node:
        shape, dtype = v.type
        elsewhere = v.at is not None and not v.at[0].is_done
        if elsewhere:  # two open windows read it: nobody may write over it
            v.share()
        b = v.borrow
        seen_elsewhere = not (b is None or (b.__class__ is ref and b() is None))
        node = self._leaf(v.data, shape, dtype, None if seen_elsewhere else ref(v))
        if seen_elsewhere:
            self.held.append(v)  # neither it nor who else has the buffer must look free to be written while this window reads it
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
        at[0].finish()
        if v.data is None:
            raise at[0].error.with_traceback(None)  # the same error for every reader: it must not hold on to all of their frames
    return v.data


def defer(
    sig: Sig, args: Sequence[Any], device: Device, recs: Sequence[Rec | None], twins: Sequence[bool]
) -> tuple[list[Value], list[Value | None], list[Value]]:
    """Record an operation in this thread's window of a device.

    Parameters
    ----------
    sig, args
        What to apply to which Values, Python scalars or None. Results beyond those that ``recs`` is for are returned last.
    recs
        The tape's record of each result, or None.
    twins
        For which results a second Value is wanted, without the record: what the tape saves.
    """
    user = frame_of_user(1)
    while True:
        w = _window_for(args, device)
        with LOCK:
            node = apply_node(sig, tuple([None if v is None else w.node_of(v) for v in args]))
            values, kept = [], []
            for part, rec, twin in zip(node.parts, recs, twins, strict=False):
                out = w.result(part, device, rec)
                w.nbytes += part.nbytes
                second = w.result(part, device) if twin else None
                values.append(out)
                kept.append(second)
            inner = [w.result(part, device) for part in node.parts[len(recs) :]]
            if w.closed:  # by another thread, which reads one of its results, or by a signal handler or finalizer in the midst of this
                continue
            w.issued.append((node, user.f_code, user.f_lasti))
        COUNTERS.deferred += 1
        return values, kept, inner


def join(typed: dict[Any, Node], values: tuple[Any, ...]) -> Value | None:
    """Record an element-wise primitive in this thread's open window of cpu(0): what `defer` does, in short, for a structure met before.

    Parameters
    ----------
    typed
        The primitive's applications.
    values
        Its operands: Values of which none is to be recorded on a tape, and Python numbers.

    Returns
    -------
    Value or None
        None if it is something else: ready small arrays, memory that the outside may write, a new structure, another window's result.
    """
    if SETTINGS.engine == "naive":
        return None
    w = tls.windows.get(CPU)
    if w is not None and (w.taken.locked() or len(w.issued) >= SETTINGS.window_operations or w.nbytes > SETTINGS.window_bytes):
        w = None
    big = SETTINGS.defer_elements
    lazy = False
    for v in values:
        if v.__class__ is Value:
            data = v.data
            if v.device is not CPU:
                return None
            if data is None:
                lazy = True
            elif v.borrow is PINNED or v.borrow.__class__ is Value:
                return None
            elif data.__class__ is not PLAIN or data.size >= big:
                lazy = True
    if not lazy:
        return None
    if w is None:
        w = _window_for(values, CPU)
    with LOCK:
        if w.closed:
            return None
        nodes: list[Node] = []
        number = None
        for v in values:
            if v.__class__ is Value:
                at = v.at
                if at is not None and at[0] is w:
                    nodes.append(at[1])
                elif number is not None or v.data is None:  # it would have to be numbered after the number
                    return None
                else:
                    nodes.append(w._enter(v))
            elif v.__class__ is float:
                number = v
                nodes.append(leaf(len(w.data), (), "weakf"))
            elif v.__class__ is int and v in LITERALS:
                nodes.append(const(v))
            else:
                return None
        node = typed.get(tuple(nodes))
        if node is None:
            return None
        if number is not None:
            w._leaf(number, (), "weakf", None)
        out = Value(None, None, (w, node))
        w.outs.append(ref(out))
        user = _getframe(2)
        if INSIDE.get(user.f_globals.get("__name__"), True):
            user = frame_of_user(2)
        if w.closed:  # by a signal handler or finalizer of this thread, in the midst of this
            return None
        w.issued.append((node, user.f_code, user.f_lasti))
        w.nbytes += node.nbytes
    COUNTERS.deferred += 1
    return out


def twin_of(v: Value) -> Value | None:
    """A second Value, without a record, for a pending result; None if its window has been closed meanwhile."""
    with LOCK:
        at = v.at
        if v.data is not None:
            return None
        twin = Value(None, None, at, v.device)
        at[0].outs.append(ref(twin))
        return None if at[0].closed else twin


def _window_for(args: Sequence[Any], device: Device) -> Window:
    """The thread's window of a device, where each operand is pending in it or ready. What has to run for that runs here."""
    w = tls.windows.get(device)
    if w is not None and not w.closed and w.is_full:
        flush(w)
    if w is None or w.closed:
        bound_tables()
        w = tls.windows[device] = Window(device)
        with LOCK:
            _open.add(w)
            _used.add(device)
    for v in args:
        if v.__class__ is Value:
            at = v.at  # read before data
            if v.data is None and at[0] is not w:
                force(v)
    return w


def flush_all() -> None:
    """Run every window of every thread. Errors stay with them."""
    for w in _windows():
        flush(w)


def _windows() -> list[Window]:
    """The windows of all threads that may be open yet or have failed, the oldest first."""
    with LOCK:
        return sorted(_open, key=lambda w: w.serial)


def complete(device: Device) -> None:
    """Note that this thread's window of a device holds a backward; if another thread has run it meanwhile, there is none."""
    w = tls.windows.get(device)
    if w is not None:
        w.complete = True


def flush_complete() -> None:
    """Run this thread's windows that hold a backward: called where another iteration may begin."""
    for w in list(tls.windows.values()):
        if w.complete:
            flush(w)


def flush(w: Window) -> None:
    """Run a window, or wait for the thread that runs it. An error stays with the window: reads of its results raise it."""
    work = _close(w)
    if work is not None:
        try:
            _launch_others(w)
        finally:
            work()
        return
    if w.task is not None:
        QUEUE.wait(w.task)
        with LOCK:
            if not w.is_done:  # the thread that was to give the task away was interrupted
                w.error = w.task.error
                w.forget()
                w.done.release()
        return
    if w.runner == get_ident() and not w.is_done:
        raise EngineError("an array is read while it is being computed", "a signal handler or finalizer of this thread", "read it later")
    with w.done:
        return


def _close(w: Window, launch: bool = False) -> Callable[[], None] | None:
    """Close a window, for this thread to run it, or, if it is to be launched, whoever takes its task; None if that was done before."""
    with LOCK:
        if w.closed:
            return None
        if not launch:
            w.runner = get_ident()  # first: what comes in between must not wait for this
        if not w.taken.acquire(blocking=False):  # a signal handler or finalizer that came in between has closed it
            return None
        try:
            if tls.windows.get(w.device) is w:
                tls.windows.pop(w.device, None)
            live = [v for v in [r() for r in w.outs] if v is not None]
            wanted = tuple([v.at[1] for v in live])
            dead = tuple([k for k, r in enumerate(w.leaf_refs) if r is not None and r() is None])
            work = partial(_work, w, live, wanted, dead)
            if launch:
                w.task = Task(work, Lane(w.device), nbytes=w.nbytes)
        except BaseException as error:
            w.error = _interrupted(error)
            w.forget()
            w.done.release()
            raise
        return work


def _interrupted(error: BaseException) -> EngineError:
    return EngineError("this array was being computed when the program was interrupted", type(error).__name__, "compute it again")


def _launch_others(w: Window) -> None:
    """While this thread runs a window, other threads run those that it has open on other CPU devices, where that is enough work."""
    if not tls.windows or SETTINGS.engine == "naive" or not w.device.is_host:
        return
    for other in list(tls.windows.values()):
        if other.device.is_host and other.nbytes >= LAUNCHED and _close(other, launch=True):
            assert other.task is not None
            QUEUE.submit(other.task)


def _work(w: Window, live: list[Value], wanted: tuple[Node, ...], dead: tuple[int, ...]) -> None:
    """Run a closed window."""
    w.runner = get_ident()
    try:
        if live and LISTENERS:
            with span("flush", "window", w.device, details={"operations": len(w.issued)}):
                _run(w, live, wanted, dead)
        elif live:
            _run(w, live, wanted, dead)
    except BaseException as error:
        w.error = error
        if isinstance(error, Exception):
            found = _programs.get((wanted, dead, w.device.device_type))
            name_origin(w, error, found.program if found is not None else None)
            if found is not None and not found.program.overwrites:
                for v, data in salvaged(w, live):
                    hand_out(v, data)
            clear_all_frames(error)
        if not isinstance(error, Exception):
            w.error = _interrupted(error)
            raise
    finally:
        live = []  # an error keeps this frame
        w.forget()
        w.issued = []
        if w.error is None:
            _forget(w)
        w.done.release()


def _forget(w: Window) -> None:
    with LOCK:
        _open.discard(w)


def _run(w: Window, live: list[Value], wanted: tuple[Node, ...], dead: tuple[int, ...]) -> None:
    backend = backend_for(w.device)
    key = wanted, dead, w.device.device_type
    found = _programs.get(key)
    if found is None:
        unique = list(dict.fromkeys(wanted))
        donated = [w.leaf_nodes[k] for k in dead]
        leaves = leaves_of(unique)  # a window of this structure may have further leaves, of results that nobody wants
        program = Program(unique, leaves, backend, donated=donated, boundaries=_boundaries(unique), title=Title("window"), device=w.device)
        where = [(unique.index(n), wanted.count(n) > 1) for n in wanted]
        found = _programs[key] = _Known(program, [w.leaf_nodes.index(n) for n in leaves], where, w.serial)
        COUNTERS.compiled += 1
    found.used = w.serial
    while len(_programs) > MOST_PROGRAMS:  # another thread may look for the oldest too
        _programs.pop(min(list(_programs.items()), key=lambda item: item[1].used)[0], None)
    program = found.program
    arrays = [w.data[k] for k in found.reads]
    if w.device.is_host:
        results = program.run(arrays)
    else:
        if program.overwrites:
            before_overwriting(w.device)
        results = run_on(w.device, program.run, arrays)
    COUNTERS.windows += 1
    COUNTERS.kernels += len(program.kernels)
    COUNTERS.fused += sum(len(k.steps) for k in program.kernels)
    COUNTERS.donated += len(program.plan.donated)
    with LOCK:  # a thread that sees the data may enter the Value in its window: then ``at`` is that window's
        for v, (k, shared) in zip(live, found.where, strict=True):
            if shared:  # two Values of one structure share the result: neither may be written
                v.borrow = ALWAYS
            v.data = results[k]
            v.at = None


def hand_out(v: Value, data: Any) -> None:
    """Give a pending Value its data. A thread that sees it may enter the Value in its window: then ``at`` is that window's."""
    with LOCK:
        v.data = data
        v.at = None


def _boundaries(outputs: Sequence[Node]) -> list[Node]:
    """Every node of a window stands for an array that a caller held."""
    return topological(outputs)


def wait_for_all(synchronize: Callable[[Device], None]) -> None:
    """Run every window of every thread and wait for the devices.

    Raises
    ------
    MXNetError
        The earliest error, with the others in its notes.
    """
    found: list[tuple[int, BaseException]] = []
    for w in _windows():
        flush(w)
        if w.error is not None:
            found.append((w.serial, w.error))
            _forget(w)
    found += QUEUE.drain()
    errors = [error for _, error in sorted(found, key=lambda pair: pair[0])]
    for device in list(_used):
        try:
            synchronize(device)
        except MXNetError as error:
            errors.append(error)
    for other in errors[1:]:
        errors[0].add_note(f"and then: {type(other).__name__}: {other}")
    if errors:
        raise errors[0]
