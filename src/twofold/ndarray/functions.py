"""Functions of ``mx.nd`` that are no operators: those that take arrays or numbers, joining and splitting by NumPy's rules, waiting."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.loader import backend_for
from ..device import Device
from ..errors import BackendUnavailable, DTypeError, ParameterError, ShapeError
from ..imperative.cell import wrap
from ..imperative.invoke import host_of, invoke
from ..imperative.window import wait_for_all
from ..opdef.registry import OPS, find
from ..opdef.shapes import normalized_axis
from .array import NDArray
from .creation import array
from .namespace import call

#: Primitives to the Python operators that arrays have faster ways for.
PYTHON = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "remainder": operator.mod,
    "power": operator.pow,
}


def _binary(name: str, primitive: str, doc: str, of_numbers: Callable[[Any, Any], Any] | None = None) -> Callable[[Any, Any], Any]:
    """The function of two arrays or numbers that a primitive gives; ``of_numbers`` of two numbers, if not the Python operator."""
    sig = OPS[primitive].sig(True)
    of_arrays = PYTHON.get(primitive)

    def function(lhs: Any, rhs: Any) -> Any:
        for operand in (lhs, rhs):
            if not isinstance(operand, (NDArray, bool, int, float, np.generic)):
                raise DTypeError(f"{name}: type {type(operand)} not supported", repr(operand)[:60], "give NDArrays or numbers")
        if not isinstance(lhs, NDArray) and not isinstance(rhs, NDArray):
            return (of_numbers or of_arrays)(lhs, rhs)  # type: ignore[misc]
        if of_arrays is not None:
            return of_arrays(lhs, rhs)
        plain = [v.item() if isinstance(v, np.generic) else v for v in (lhs, rhs)]
        return wrap(NDArray, invoke(sig, plain)[0])

    function.__name__ = function.__qualname__ = name
    function.__module__ = "twofold.ndarray"
    function.__doc__ = f"{doc} of two arrays or numbers, element by element, broadcast."
    return function


add = _binary("add", "add", "Sum")
subtract = _binary("subtract", "subtract", "Difference")
multiply = _binary("multiply", "multiply", "Product")
divide = _binary("divide", "divide", "Quotient (of whole numbers truncated)")
true_divide = _binary("true_divide", "divide", "Quotient (of whole numbers truncated)")
modulo = _binary("modulo", "remainder", "Remainder with the divisor's sign")
power = _binary("power", "power", "Power")
maximum = _binary("maximum", "maximum", "The larger", max)
minimum = _binary("minimum", "minimum", "The smaller", min)
equal = _binary("equal", "equal", "1 where equal, else 0,", lambda a, b: int(a == b))
not_equal = _binary("not_equal", "not_equal", "1 where different, else 0,", lambda a, b: int(a != b))
greater = _binary("greater", "greater", "1 where the first is larger, else 0,", lambda a, b: int(a > b))
greater_equal = _binary("greater_equal", "greater_equal", "1 where the first is larger or equal, else 0,", lambda a, b: int(a >= b))
lesser = _binary("lesser", "less", "1 where the first is smaller, else 0,", lambda a, b: int(a < b))
lesser_equal = _binary("lesser_equal", "less_equal", "1 where the first is smaller or equal, else 0,", lambda a, b: int(a <= b))
logical_and = _binary("logical_and", "logical_and", "1 where both are non-zero, else 0,", lambda a, b: int(bool(a and b)))
logical_or = _binary("logical_or", "logical_or", "1 where one or both are non-zero, else 0,", lambda a, b: int(bool(a or b)))
logical_xor = _binary("logical_xor", "logical_xor", "1 where exactly one is non-zero, else 0,", lambda a, b: int(bool(a) != bool(b)))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis.

    Parameters
    ----------
    arrays
        At least one array; all of one dtype and, off the axis, one shape.
    axis
        Along which axis.
    always_copy
        If false, the only array of a list of one is returned as it is.

    Raises
    ------
    ParameterError
        If it is no list of arrays.
    DTypeError
        If dtypes differ.
    """
    if not isinstance(arrays, (list, tuple)) or not arrays or not all(isinstance(a, NDArray) for a in arrays):
        raise ParameterError("concatenate: arrays must be a list of at least one NDArray", repr(arrays)[:60], "give a list of arrays")
    dtypes = {a._dtype for a in arrays}
    if len(dtypes) > 1:
        raise DTypeError("concatenate: arrays must have the same dtype", ", ".join(sorted(dtypes)), "cast them with astype")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return wrap(NDArray, invoke(OPS["concat"].sig(True, axis=normalized_axis(axis, arrays[0].ndim)), arrays)[0])


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """The array with axes moved to other places, the others in order.

    Parameters
    ----------
    tensor
        The array.
    source, destination
        Where the axes are and where they go: as many of one as of the other.

    Raises
    ------
    ShapeError
        If an axis is out of range or named twice.
    ParameterError
        If they differ in number.
    """
    ndim = tensor.ndim
    sources, destinations = _axes(source, ndim, "source"), _axes(destination, ndim, "destination")
    if len(sources) != len(destinations):
        raise ParameterError(
            "moveaxis: source and destination differ in number",
            f"{len(sources)} and {len(destinations)}",
            "give as many of one as of the other",
        )
    order = [k for k in range(ndim) if k not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return wrap(NDArray, invoke(OPS["permute_dims"].sig(True, axes=tuple(order)), (tensor,))[0])


def _axes(given: int | Sequence[int], ndim: int, name: str) -> list[int]:
    axes = [normalized_axis(a, ndim, f"moveaxis: {name}") for a in ([given] if isinstance(given, int) else given)]
    if len(set(axes)) < len(axes):
        raise ShapeError(f"moveaxis: repeated axis in {name}", str(given), "name each axis once")
    return axes


def split_v2(ary: NDArray, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False) -> Any:
    """The array cut into parts along an axis.

    Parameters
    ----------
    ary
        The array.
    indices_or_sections
        Into how many equal parts, or before which places.
    axis
        Along which axis.
    squeeze_axis
        Whether to drop the axis from parts of size 1.

    Returns
    -------
    list of NDArray, or NDArray
        The parts; a single one as it is.

    Raises
    ------
    ParameterError
        If the parts are not equal, or the argument is something else.
    """
    size = ary.shape[normalized_axis(axis, ary.ndim, "split_v2: axis")]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or size % indices_or_sections:
            raise ParameterError(
                "split_v2: array split does not result in an equal division",
                f"size {size} into {indices_or_sections}",
                "give a divisor or places",
            )
        part = size // indices_or_sections
        places = tuple(range(part, size, part)) if part else (0,) * (indices_or_sections - 1)
    elif isinstance(indices_or_sections, (tuple, list)):
        places = tuple(indices_or_sections)
    else:
        raise ParameterError(
            "split_v2: indices_or_sections must either int or tuple of ints", repr(indices_or_sections), "give one of these"
        )
    return call(find("_split_v2"), (ary,), {"indices": (0, *places), "axis": axis, "squeeze_axis": squeeze_axis})


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write rows that are 1 at an index and 0 elsewhere: indices (n,) into out (n, classes), which is returned."""
    return call(find("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out._dtype}, out)


def histogram(a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None) -> tuple[NDArray, NDArray]:
    """How many elements fall between edges; computed on the host, without a gradient.

    Parameters
    ----------
    a
        The elements, of any shape.
    bins
        Number of bins of equal width, or the edges, rising.
    range
        First and last edge for a number of bins; the least and the greatest element if None.

    Returns
    -------
    counts : NDArray
        int64, one fewer than edges.
    edges : NDArray
        In the dtype of ``a``, or of ``bins``.
    """
    counts, edges = np.histogram(host_of(a), host_of(bins) if isinstance(bins, NDArray) else bins, range)
    dtype = bins._dtype if isinstance(bins, NDArray) else a._dtype
    return array(counts, a.context, "int64"), array(edges, a.context, dtype)


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of an array's memory, to be read."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of an array's memory, to be written; the array sees what is written."""
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Wait until everything issued so far is computed, on all devices.

    Raises
    ------
    MXNetError
        The earliest error of a computation that nobody has read yet, once; others stand in its notes.
    """
    wait_for_all(_synchronize)


def _synchronize(device: Device) -> None:
    try:
        backend_for(device).synchronize(device)
    except BackendUnavailable:  # nothing of it can be pending any more
        return
