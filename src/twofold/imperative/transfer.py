"""Copies between devices, through which gradients flow back, and stores of results into arrays on any device.

CPU devices share one memory: a copy between them is an operation whose result is labeled with the other device. A copy to another kind
of memory starts a new leaf, linked to the tape entry of the original: backward runs a program on each side of the link. Copies have queues
and lanes of their own, so that both devices compute during a copy.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..assembly import fragment, inlined
from ..backend.kernel import Array, ArrayType
from ..backend.loader import backend_for
from ..device import CPU, Device, interned
from ..graph.ir import Leaf, leaf
from ..ops import primitive_shape
from ..scheduler.observers import LISTENERS, report_arrays, span
from ..scheduler.queue import QUEUE
from ..scheduler.streams import Arrival, before_overwriting, run_on
from ..scheduler.variable import Lane
from .cell import PINNED, PLAIN, Cell, Content, Value, content_of, wrap
from .counters import COUNTERS
from .guards import is_tracked
from .invoke import content, data_of, device_of, invoke
from .pending import IncomingCopy, issue
from .recording import entry_of
from .tape import TapeEntry, tls


@inlined
def on_device(cell: Cell, device: Device) -> Content:
    """The content of a copy of an array on another device, recorded if the array is."""
    device = interned(device)
    v = content_of(cell)
    if v.__class__ is not PLAIN and v.__class__ is not Value:  # a `storage.SparseValue`
        return v.on_device(device)
    source = device_of(v)
    if source.shares_memory_with(device):
        return to_device(invoke(primitive_shape.contiguous.bind(), (cell,))[0], device)
    copied = _copied(v, source, device)
    tape = tls.tape
    if tape is not None and isinstance(v, Value) and is_tracked(v):
        shape, dtype = copied.type
        link = TapeEntry(leaf(tape.leaves, shape, dtype, True), (entry_of(v, tape),), (), tape)  # type: ignore[arg-type]
        link.devices = source, device
        tape.leaves += 1
        copied.entry = link
    return copied


def _copied(v: Content, source: Device, target: Device) -> Value:
    """A new Value with a copy of a content in another memory; the copy is still in progress if the devices have their own queues."""
    data = data_of(v)
    kind = ArrayType(*backend_for(source).type_of(data))
    COUNTERS.copies += 1
    COUNTERS.copied_bytes += kind.nbytes
    # the host has no queue of its own that could wait, so a thread of the source's lane does
    if target.is_host:
        return _fetched(v, kind, source, target)
    if backend_for(target).stream(target, "h2d") is None:
        return Value(_issue_copy(data, kind, source, target), device=target)
    arrival = Arrival(lambda array: _issue_copy(array, kind, source, target), data, source, target)
    return IncomingCopy(arrival).value(kind, target)


def _fetched(v: Value, kind: ArrayType, source: Device, target: Device) -> Value:
    """A copy into host memory, made by a thread that waits for the device."""
    backend = backend_for(source)
    queue = backend.stream(source, "d2h")
    if queue is None:
        return Value(_issue_copy(v.data, kind, source, target), device=target)
    # recorded by this thread, now: the copy must see the work issued to the device so far, but no later write
    mark = backend.record(backend.stream(source))

    def fetch(arrays: list[Array]) -> list[Array]:
        with queue:
            backend.wait(queue, mark)
            return [_issue_copy(arrays[0], kind, source, target)]

    return issue(fetch, [v], [kind], target, math.inf, Lane(source, "d2h"))[0]


def _issue_copy(data: Array, kind: ArrayType, source: Device, target: Device) -> Array:
    """A copy of an array on another device, issued to the current queue of this thread."""
    if not LISTENERS:
        return _copy(data, source, target)
    with span(f"{source} to {target}", "copy", target, nbytes=kind.nbytes):
        out = _copy(data, source, target)
    report_arrays((out,), target)
    return out


def _copy(data: Array, source: Device, target: Device) -> Array:
    backend = backend_for(target)
    if source.device_type == target.device_type:
        return backend.quietly(backend.copy, data, target)
    if not source.is_host:
        data = backend_for(source).quietly(backend_for(source).to_host, data)
    return backend.quietly(backend.from_host, data, target)


@fragment
def store(cell: Cell, new: Content) -> None:
    """Make a fresh result the content of a cell that its caller holds: a state, or an output given by the caller.

    It is copied to the cell's device, and into memory that is visible elsewhere: a view's root, or exported memory.
    """
    old = cell._held
    if new.__class__ is PLAIN and old.__class__ is PLAIN:  # both small and on cpu(0): the commonest case, without further tests
        cell._held = new
    else:
        _rebind(cell, cell._content if old is None else old, new)


@inlined
def _rebind(cell: Cell, old: Content, new: Content) -> None:
    device = device_of(old)
    cell._rebind(new if device_of(new) is device else to_device(new, device))


def store_all(cells: Sequence[Cell], contents: Sequence[Content]) -> None:
    """`store` for several results. Small states on cpu(0), and small next values of variables, are stored without a call.

    All are stored even if Ctrl-C or a full memory interrupts it: the weight and the momentum of an update belong together.
    """
    new: Any
    try:
        for cell, new in zip(cells, contents, strict=True):
            old = cell._held
            if old is None:  # a view
                old = cell._content
            elif new.__class__ is PLAIN:
                if old.__class__ is PLAIN:
                    cell._held = new
                    continue
                entry, data, sharing = old.entry, old.data, old.sharing
                if (
                    entry is not None
                    and entry.grad is not None
                    and entry.grad is getattr(cell, "_gradient", None)
                    and entry.node.__class__ is Leaf
                    and data.__class__ is PLAIN
                    and data.shape == new.shape
                    and data.dtype is new.dtype
                    and old.device is CPU
                    and sharing is not PINNED
                    and sharing.__class__ is not Value
                ):  # as `array.Array._rebind` and `write.mark`
                    cell._held = Value(new, TapeEntry(entry.node, (), (), None, entry.grad))
                    continue
            _rebind(cell, old, new)
    except BaseException:
        for cell, new in zip(cells, contents, strict=True):
            if cell._content is not new:
                _rebind(cell, cell._content, new)
        raise


def to_device(new: Content, device: Device) -> Content:
    """A fresh content as one of another device, copied only to another memory."""
    if not device_of(new).shares_memory_with(device) or new.__class__ not in (PLAIN, Value):
        return on_device(wrap(Cell, new), device)
    if isinstance(new, Value):
        new.device = device
        return new
    return content(new, device)


def written_out(old: Value, new: Content) -> Value:
    """The new content, written into the memory of an exported content, where code outside the library reads it."""
    if not old.device.is_host:
        QUEUE.settle()  # copies to the host may still read the memory
        before_overwriting(old.device)
    run_on(old.device, backend_for(old.device).write, old.data, ..., data_of(new))
    return Value(old.data, new.entry if isinstance(new, Value) else None, None, old.device, PINNED)
