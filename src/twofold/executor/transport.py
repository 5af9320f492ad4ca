"""Moves contents of cells between devices, makes constant arrays, and sums gradients from several devices."""

from collections.abc import Iterable

from ..backend.loader import backend_for
from ..device import CPU, Device
from ..graph.build import apply
from ..graph.ir import leaf
from ..imperative.cell import PLAIN, Cell, Value, wrap
from ..imperative.invoke import data_of, device_of, full_content, invoke
from ..imperative.pending import is_pending, issue
from ..imperative.residuals import runner
from ..imperative.storage import SparseValue, array_of, empty_array
from ..imperative.transfer import on_device
from ..ndarray.array import NDArray
from ..ops import primitive_arithmetic

ADD = primitive_arithmetic.add.bind()


def content_on(cell: Cell, device: Device) -> object:
    """A cell's content, copied unless its memory is the device's."""
    return cell._content if device_of(cell._content).shares_memory_with(device) else on_device(cell, device)


def arrays_on(cells: Iterable[Cell], device: Device) -> list[object]:
    """The arrays of cells, copied where they are in another device's memory."""
    found = []
    for cell in cells:
        v = cell._held if cell._held is not None else cell._content
        # the two commonest cases inline, since every run passes here for every array of a graph
        if v.__class__ is PLAIN and device is CPU:
            found.append(v)
        elif v.__class__ is Value and v.device is device and v.data is not None:
            found.append(v.data)
        else:
            found.append(data_of(content_on(cell, device)))
    return found


def values_on(cells: Iterable[Cell], device: Device) -> list[Value]:
    """The contents of cells as Values, possibly pending; copied if they are on another device or other libraries may write into them."""
    found = []
    for cell in cells:
        v = cell._capture().steady()
        found.append(v if v.device.shares_memory_with(device) else on_device(wrap(Cell, v), device))
    return found


def zeros(shape: tuple[int, ...], dtype: str, device: Device) -> NDArray:
    """A new array of zeros."""
    return wrap(NDArray, full_content(0, shape, dtype, device))


def zeros_in(stype: str, shape: tuple[int, ...], dtype: str, device: Device) -> NDArray:
    """A new array of zeros in a storage type."""
    return zeros(shape, dtype, device) if stype == "default" else empty_array(stype, shape, dtype, device)


def add_contents(a: object, b: object) -> object:
    """The sum of two contents, on the device of the first; pending if one of them is."""
    if a.__class__ is SparseValue or b.__class__ is SparseValue:
        return (array_of(a) + array_of(b))._content
    device = device_of(a)
    terms = values_on([wrap(Cell, a), wrap(Cell, b)], device)
    # a task must not wait in this thread, so the sum of pending terms is a task too
    if not any(is_pending(v) for v in terms):
        return invoke(ADD, tuple([wrap(Cell, v) for v in terms]))[0]
    node = apply(ADD, tuple([leaf(("in", k), *v.type) for k, v in enumerate(terms)]))
    return issue(runner(node, backend_for(device)), terms, [node], device, 0)[0]
