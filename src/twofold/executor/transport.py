"""Cells on the device that needs them, fresh arrays of one value, and sums of gradients that come from several devices."""

from collections.abc import Iterable
from typing import Any

from ..backend.loader import backend_for
from ..device import CPU, Device
from ..imperative.cell import PLAIN, Cell, Value, wrap
from ..imperative.invoke import content, data_of, device_of, invoke
from ..imperative.transfer import on_device
from ..ndarray.array import NDArray
from ..op.registry import OPS

ADD = OPS["add"].sig()


def content_on(cell: Cell, device: Device) -> Any:
    """A cell's content, copied if its memory is another device's."""
    here = device_of(cell._v)
    return cell._v if here is device or (here.is_host and device.is_host) else on_device(cell, device)


def arrays_on(cells: Iterable[Cell], device: Device) -> list[Any]:
    """The arrays of cells, copied where their memory is another device's."""
    found = []
    for cell in cells:
        v = cell._v
        if v.__class__ is PLAIN and device is CPU:
            found.append(v)
        elif v.__class__ is Value and v.device is device and v.data is not None:
            found.append(v.data)
        else:
            found.append(data_of(content_on(cell, device)))
    return found


def filled(value: float, shape: tuple[int, ...], dtype: str, device: Device) -> Any:
    """A fresh content of one value."""
    backend = backend_for(device)
    return content(backend.copy(backend.constant(value, shape, dtype), device), device)


def zeros(shape: tuple[int, ...], dtype: str, device: Device) -> NDArray:
    """A new array of zeros."""
    return wrap(NDArray, filled(0, shape, dtype, device))


def added(a: Any, b: Any) -> Any:
    """The sum of two contents, on the first one's device."""
    first = wrap(Cell, a)
    return invoke(ADD, (first, wrap(Cell, content_on(wrap(Cell, b), device_of(a)))))[0]
