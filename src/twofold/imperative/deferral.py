"""Adds operations to windows: finds the window, the nodes, and the line of the user's code that issued them.

Another thread may close a window at any time in order to read a result. A signal handler or finalizer of this thread may close it even
while it holds `LOCK`. Each function therefore checks ``closed`` again after it has added its results and before it commits the operation;
results added to a closed window are lost.
"""

from collections.abc import Callable, Sequence
from math import prod
from sys import _getframe
from types import FrameType
from typing import Any
from weakref import ref

from ..assembly import fragment, inlined
from ..config import SETTINGS
from ..device import Device
from ..dtype import BFLOAT16, ITEMSIZE
from ..graph.build import apply as apply_node
from ..graph.ir import Application, Leaf, Node
from ..graph.tables import bound_tables
from ..opdef import BoundOp
from ..origin import INSIDE, frame_of_user
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .cell import HOST, PLAIN, Content, Operand, Value
from .counters import COUNTERS
from .dispatch import is_ready, joined_device
from .guards import plain_or_value
from .scalars import FLOAT_LEAVES, Scalar, scalar_node
from .sites import SITES, Site, are_of_site, inline_site
from .tape import Tape, TapeEntry
from .window import HERE, LOCK, OPEN, USED, Window, flush, force, is_closed, result_of

#: Number of bytes from which an operation that does not wait runs as a compiled program, with pooled memory and on several threads.
DIRECT = 1 << 22
#: A window takes so many in-place operators, and as many for each so many bytes of the array.
UPDATES, UPDATE_BYTES = 4, 1 << 21


@inlined
def defer(
    bound_op: BoundOp, args: Sequence[Operand], device: Device, is_backward: bool = False, shown: Sequence[Value] = ()
) -> list[Value]:
    """Add an unrecorded operation to this thread's window of a device.

    Parameters
    ----------
    bound_op, args
        The operation, and its operands: Values, Python scalars or None.
    device
        Where.
    is_backward
        Whether it computes gradients, so that the next iteration begins a new window.
    shown
        Ready Values whose buffers operands show parts of: they are not written before the window has run, and no result takes their memory.
    """
    user = frame_of_user(1)
    while True:
        w = _window_for(args, device)
        with LOCK:
            for v in shown:
                whole = w.node_of(v)
                if whole in w.holders:
                    w.holders[whole] = None
            node = apply_node(bound_op, tuple([None if v is None else w.node_of(v) for v in args]))
            nodes = (node,) if node.results is None else node.parts
            outs = []
            for part in nodes:
                out = result_of(w, part, device, None)
                outs.append(out)
            if is_closed(w):  # closed meanwhile by another thread that reads a result, or by a signal handler or finalizer
                continue
            w.complete = w.complete or is_backward
            _count(w, nodes, user)
        COUNTERS.deferred += 1
        return outs


def join_or_flush(v: Value, val: Content) -> bool:
    """Let an in-place operator join the window in which its operands wait, or run that window; whether it joins.

    A window takes a few. If it took all iterations of a loop, it would be long and have a program of its own; thus several windows have
    the same program. With large arrays it takes more, as each one spares a pass over memory, and with a backward, which ends with the
    iteration, all.

    Parameters
    ----------
    v, val
        The content to change, and the other operand.
    """
    waiting = [x for x in (v, val) if x.__class__ is Value and x.data is None]
    producer = waiting[-1].producer if waiting else None
    if producer is None or not isinstance(producer[0], Window):
        return False
    w, (shape, dtype) = producer[0], v.type
    w.updates += 1
    if w.complete or w.updates <= UPDATES * max(1, prod(shape) * ITEMSIZE[dtype] // UPDATE_BYTES):
        return True
    flush(w)
    return False


@fragment
def is_full(w: Window) -> bool:
    """Whether a window has reached its limit of operations or bytes."""
    return len(w.issued) >= SETTINGS.window_operations or (w.nbytes + w.entered > w.room and overflows(w))


def overflows(w: Window) -> bool:
    """Whether a window's results, and the inputs that only it refers to, take more bytes than it has room for.

    From then on `Window.entered` is the bytes of these inputs and of those to come.
    """
    held = [n.size * ITEMSIZE[n.dtype] for n, holder in list(w.holders.items()) if holder is not None and holder() is None]
    w.entered = sum(held)
    return w.nbytes + w.entered > w.room


@fragment
def _count(w: Window, nodes: Sequence[Node], user: FrameType) -> None:
    """Count an operation with these results, issued by this frame, in a window."""
    # not the frame itself, which would keep the user's variables alive
    w.issued.append((nodes, user.f_code, user.f_lasti))
    for n in nodes:
        w.nbytes += n.size * ITEMSIZE[n.dtype]


@inlined
def defer_recorded(
    entry: TapeEntry, args: Sequence[Operand], parts: Sequence[TapeEntry], device: Device, tape: Tape, copies: bool
) -> tuple[list[Value], list[Value]]:
    """Add a recorded operation, under its node on the tape.

    Parameters
    ----------
    entry, args
        Its tape entry and its operands: Values, Python scalars and None.
    parts
        The tape entry of each result.
    device, tape
        Where it runs, and the tape that records it.
    copies
        Whether to return a second Value, without a tape entry, for each result.
    """
    user = frame_of_user(1)
    node = entry.node
    assert isinstance(node, Application)
    while True:
        w = _window_for(args, device, tape)
        with LOCK:
            if not w.tape:  # first of all: after an interrupt below, another tape must not find the leaves of this one
                tape.windows.append(w)
                w.tape = tape.serial
            for v, below in zip(args, entry.inputs, strict=True):
                if below is None:  # an omitted optional input
                    continue
                if isinstance(v, Value):
                    w.enter(v, below.node)
                elif isinstance(below.node, Leaf):
                    w.data[below.node] = v
            outs, kept = [], []
            for part in parts:
                out = result_of(w, part.node, device, part)
                outs.append(out)
                if copies:
                    twin = result_of(w, part.node, device, None)
                    kept.append(twin)
            if is_closed(w):
                continue
            nodes = (node,) if node.results is None else node.parts
            _count(w, nodes, user)
            if node.cache.saves:
                # weak: once nothing refers to the operation any more, no backward can read its values
                w.records.append(ref(entry))
        COUNTERS.deferred += 1
        return outs, kept


@inlined
def join(typed: dict[tuple[Node | None, ...], Application], values: tuple[Value | Scalar, ...]) -> Value | None:
    """The short path of `defer`, for an element-wise primitive in a known structure.

    Parameters
    ----------
    typed
        The primitive's applications.
    values
        Its operands: Values that are not recorded, and Python scalars.

    Returns
    -------
    Value or None
        None for anything else: small arrays of cpu(0) that are ready, exported memory, operands on several devices, a new structure, a
        result of another window, and sites where operations do not wait (see `sites`).
    """
    device = joined_device(values)
    if device is None:
        return None
    # 0 is this function and 1 the generated operator, so 2 is mostly the user's code
    user = _getframe(2)
    if INSIDE.get(user.f_globals.get("__name__"), True):
        user = frame_of_user(2)
    if SITES and (site := inline_site(user)) is not None and is_ready(values) and are_of_site(values, site):
        return None
    w = HERE.by_device.get(device.serial)
    if w is None or is_closed(w) or is_full(w):
        w = _window_for(values, device)
    with LOCK:
        node = _known_node(w, typed, values)
        if node is None:
            return None
        out = result_of(w, node, device, None)
        if is_closed(w):  # closed meanwhile by another thread, or by a signal handler or finalizer of this thread
            return None
        nodes = (node,)
        _count(w, nodes, user)
    COUNTERS.deferred += 1
    return out


@fragment
def site_of_caller() -> Site | None:
    """The site of the user's code that has called generated code, if operations do not wait there (see `sites`)."""
    user = _getframe(2)
    if INSIDE.get(user.f_globals.get("__name__"), True):
        user = frame_of_user(2)
    return inline_site(user)


@fragment
def fits(data: Any, site: Site) -> bool:
    """Whether an operation on an array runs at once at a site: it is not so much larger that waiting may pay, nor very large.

    A very large array takes less time in a program that runs on several threads. NumPy would make float32 of bfloat16 beside a number.
    """
    return data.nbytes <= site.nbytes and data.nbytes <= DIRECT and data.dtype is not BFLOAT16


@inlined
def now(function: Callable[..., Any], operands: tuple[Any, ...]) -> Content | None:
    """The result of a function of the host library, at a site whose operations do not wait (see `sites`). Called by generated code.

    Parameters
    ----------
    function, operands
        The function and its operands: data of Values on cpu(0), and Python scalars.

    Returns
    -------
    Content or None
        None if the operation may wait, an operand is pending or very large, or the function refuses the operands.
    """
    site = site_of_caller()
    if site is None:
        return None
    for data in operands:
        if data is None:  # a pending operand must be computed first
            return None
        if data.__class__ is PLAIN and not fits(data, site):
            return None
    try:
        found = HOST.quick(function, *operands)
    except unless_signalled(Exception):  # `invoke` repeats the operation: it succeeds, or raises an error that says what to do
        return None
    if found.__class__ is not PLAIN:
        return None
    site.inline += 1
    COUNTERS.inline += 1
    return plain_or_value(found)


@inlined
def now_by_program(bound_op: BoundOp, data: Any) -> Content | None:
    """The same of an operator of one operand whose bits are not those of NumPy's function: by its program, if that is known."""
    site = site_of_caller()
    if site is None or data.__class__ is not PLAIN or LISTENERS:
        return None
    program = bound_op.inline.get((data.shape, data.dtype))
    if program is None or not fits(data, site):
        return None
    try:
        [found] = HOST.quick(program.function, [data])
    except unless_signalled(Exception):
        return None
    site.inline += 1
    COUNTERS.inline += 1
    return plain_or_value(found)


def _known_node(w: Window, typed: dict[tuple[Node | None, ...], Application], values: tuple[Value | Scalar, ...]) -> Application | None:
    """The application to these operands, if it exists already. Operands are numbered as by `Window.node_of`."""
    nodes: list[Node | None] = []
    scalar: Node | None = None
    for v in values:
        if isinstance(v, Value):
            producer = v.producer
            if producer is not None and producer[0] is w:
                nodes.append(producer[1])
            elif scalar is not None or v.data is None:  # this operand's number would follow the scalar's, which has not been added yet
                return None
            else:
                nodes.append(w.enter(v, None))
        elif v.__class__ is float:
            # the name that `Window.node_of` would give the leaf: negative, so that it is never the name of a leaf of a tape
            nodes.append(scalar := FLOAT_LEAVES[~len(w.data)])
        else:
            nodes.append(found := scalar_node(v, ~len(w.data)))
            if isinstance(found, Leaf):
                scalar = found
    node = typed.get(tuple(nodes))
    if node is not None and scalar is not None:
        w.data[scalar] = values[nodes.index(scalar)]
    return node


@inlined
def join_backward(
    w: Window, nodes: Sequence[Node], heads: Sequence[Node], given: Sequence[tuple[Node, Value]], device: Device
) -> list[Value] | None:
    """Add gradients to the window that has all the operations they depend on.

    Parameters
    ----------
    w
        The window; another thread may have closed it.
    nodes, heads
        The gradients, as nodes over those of the operations, and the operations that were differentiated.
    given
        The leaves of the head gradients, with their Values.
    device
        Where.

    Returns
    -------
    list or None
        None if the window is closed, or has other head gradients under the same leaves.
    """
    for _, v in given:
        producer = v.producer  # read before data: a flush writes data first
        if v.data is None and producer[0] is not w:
            force(v)
    user = frame_of_user(1)
    with LOCK:
        if is_closed(w):
            return None
        # the leaves of head gradients have the same names in every backward: an earlier one in this window may have used them
        for seed, _ in given:
            if seed in w.data or seed in w.aliases:
                return None
        for seed, v in given:
            w.enter(v, seed)
        outs = []
        for node in nodes:
            out = result_of(w, node, device, None)
            outs.append(out)
        if is_closed(w):
            return None
        # no caller holds a value inside backward: `window_program` looks for held ones below the differentiated operations only
        w.inner.update(dict.fromkeys(nodes, heads))
        gradients = tuple(nodes)
        _count(w, gradients, user)
        w.complete = True
    COUNTERS.deferred += 1
    return outs


def save_recorded(tape: Tape) -> None:
    """Add the values that backward reads of a tape's deferred operations to the results of their windows."""
    with LOCK:
        for w in tape.windows:
            if not is_closed(w):
                w.save()


def twin_of(v: Value) -> Value | None:
    """A second Value, without a tape entry, for a result that an open window will compute; None for any other Value."""
    with LOCK:
        producer = v.producer
        if v.data is not None or not isinstance(producer[0], Window):
            return None
        twin = Value(None, None, producer, v.device)
        producer[0].outs.append(ref(twin))
        return None if producer[0].closed else twin  # tested last: a finalizer may have closed the window meanwhile


@inlined
def _window_for(args: Sequence[Operand], device: Device, tape: Tape | None = None) -> Window:
    """The thread's window of a device. Other windows and tasks run first, so that each operand is ready or pending in that window."""
    windows = HERE.by_device
    w = windows.get(device.serial)
    # Two tapes number their leaves alike, so that iterations share programs: a window has the nodes of one tape.
    if w is not None and not is_closed(w) and (is_full(w) or (tape is not None and w.tape not in (0, tape.serial))):
        flush(w)
    if w is None or is_closed(w):
        # here, and not within a window: its nodes would be of two generations, and no later window would have the same structure
        bound_tables()
        w = windows[device.serial] = Window(device)
        # it has the updates of a step whose backward did not wait: the next step must not join them
        w.complete, HERE.after_backward = HERE.after_backward, False
        OPEN[w.serial] = ref(w)
        USED[device.serial] = device
    for v in args:
        if isinstance(v, Value):
            producer = v.producer  # read before data: a flush writes data first
            if v.data is None and producer[0] is not w:
                force(v)
    return w
