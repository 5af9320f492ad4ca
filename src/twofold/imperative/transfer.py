"""Copies between devices, through which gradients flow back.

Between CPU devices the memory is the same: a copy is an operation whose result has another device's name. From one kind of memory
to another the copy starts a new leaf, linked to the record of what was copied: backward runs a program on each side of the link.
"""

import math
from typing import Any

from ..backend.kernel import ArrayType
from ..backend.loader import backend_for
from ..device import Device
from ..dtype import NUMPY
from ..graph.ir import leaf
from ..op.registry import OPS
from ..scheduler.observers import LISTENERS, report_arrays, span
from .cell import Cell, Value
from .counters import COUNTERS
from .invoke import content, data_of, device_of, invoke, rec_of
from .record import Rec, tls


def on_device(cell: Cell, device: Device) -> Any:
    """The content of a copy of an array on a device, recorded if the array is."""
    v = cell._v
    source = device_of(v)
    if source is device or (source.is_host and device.is_host):
        return named(invoke(OPS["contiguous"].sig(), (cell,))[0], device)
    copied = Value(moved(data_of(v), source, device), device=device)
    tape = tls.tape
    if tape is not None and v.__class__ is Value and v.rec is not None and v.rec.node.tracked:
        shape, dtype = copied.type
        link = Rec(leaf(tape.leaves, shape, dtype, True), (rec_of(v, tape),), (), tape)  # type: ignore[arg-type]
        link.devices = source, device
        tape.leaves += 1
        copied.rec = link
    return copied


def moved(data: Any, source: Device, target: Device) -> Any:
    """A backend array of one device as a new array of another one."""
    nbytes = nbytes_of(backend_for(source).type_of(data))
    COUNTERS.copies += 1
    COUNTERS.copied_bytes += nbytes
    if not LISTENERS:
        return _moved(data, source, target)
    with span(f"{source} to {target}", "copy", target, nbytes=nbytes):
        out = _moved(data, source, target)
    report_arrays((out,), target)
    return out


def _moved(data: Any, source: Device, target: Device) -> Any:
    if source.device_type == target.device_type:
        return backend_for(target).copy(data, target)
    return backend_for(target).from_host(backend_for(source).to_host(data), target)


def nbytes_of(kind: ArrayType) -> int:
    """Bytes of an array's elements."""
    return math.prod(kind.shape) * NUMPY[kind.dtype].itemsize


def named(new: Any, device: Device) -> Any:
    """A fresh content of CPU memory under the name of another CPU device."""
    if new.__class__ is Value:
        new.device = device
        return new
    return content(new, device)
