"""The functions of ``mx.nd`` that are not operators: binary ones on arrays or numbers, NumPy-style joining and splitting, waiting."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..backend.loader import backend_for
from ..calls.specialise import specialise
from ..device import Device
from ..errors import BackendUnavailable, DTypeError, InvalidValue, ParameterError
from ..imperative.invoke import host_of
from ..imperative.storage import applied
from ..imperative.waiting import wait_for_all
from ..opdef import Op, moved_axes, normalized_axis
from ..opdef.frontend import named
from ..ops import gathering, joining, primitive_arithmetic, primitive_shape
from .array import NDArray
from .namespace import call
from .new_arrays import array
from .operators import OPERAND
from .types import Scalar

#: The docstring of a function of two operands.
OF_TWO = """{} of two arrays or numbers, element-wise with broadcasting.

Parameters
----------
lhs, rhs
    The operands: arrays, or numbers. Two numbers give a number.
"""
Operand: TypeAlias = NDArray | Scalar
Binary: TypeAlias = Callable[[Any, Any], Any]


def _binary(name: str, op: Op, doc: str, on_numbers: Binary, *, fast: bool = False, short: bool = False) -> Binary:
    """The function of two arrays or numbers for an operator.

    ``on_numbers`` computes it for two numbers; if it is ``fast`` it is a Python operator, for which arrays have a fast path. With
    ``short`` the function itself has a short path, over NumPy's ufunc.
    """
    bound_op = op.bind(True)
    quick = specialise(op, NDArray, OPERAND, legacy=True, arity=2) if short else None

    @named(name, OF_TWO.format(doc))
    def function(lhs: Operand, rhs: Operand) -> NDArray:
        if quick is not None and lhs.__class__ is NDArray and (found := quick(lhs, rhs)) is not NotImplemented:
            return found
        for operand in (lhs, rhs):
            if not isinstance(operand, (NDArray, bool, int, float, np.generic)) or (isinstance(operand, NDArray) and not operand._legacy):
                raise DTypeError(f"{name}: type {type(operand)} not supported", repr(operand)[:60], "pass NDArrays or numbers")
        # operators of arrays have fast paths, and two numbers give a number
        if fast or not (isinstance(lhs, NDArray) or isinstance(rhs, NDArray)):
            return on_numbers(lhs, rhs)
        plain: list[Any] = [v.item() if isinstance(v, np.generic) else v for v in (lhs, rhs)]
        return applied(bound_op, plain)

    function.__module__ = "twofold.ndarray"
    return function


add = _binary("add", primitive_arithmetic.add, "Sum", operator.add, fast=True)
subtract = _binary("subtract", primitive_arithmetic.subtract, "Difference", operator.sub, fast=True)
multiply = _binary("multiply", primitive_arithmetic.multiply, "Product", operator.mul, fast=True)
divide = _binary("divide", primitive_arithmetic.divide, "Quotient (of integers truncated)", operator.truediv, fast=True)
true_divide = _binary("true_divide", primitive_arithmetic.divide, "Quotient (of integers truncated)", operator.truediv, fast=True)
modulo = _binary("modulo", primitive_arithmetic.remainder, "Remainder with the divisor's sign", operator.mod, fast=True)
_power = _binary("power", primitive_arithmetic.power, "Power", operator.pow, fast=True)


def power(base: Operand, exp: Operand) -> NDArray:
    """Power of two arrays or numbers, element-wise with broadcasting.

    Parameters
    ----------
    base, exp
        Arrays, or numbers.
    """
    return _power(base, exp)


maximum = _binary("maximum", primitive_arithmetic.maximum, "Maximum", max, short=True)
minimum = _binary("minimum", primitive_arithmetic.minimum, "Minimum", min, short=True)
equal = _binary("equal", primitive_arithmetic.equal, "1 where equal, else 0,", lambda a, b: int(a == b))
not_equal = _binary("not_equal", primitive_arithmetic.not_equal, "1 where different, else 0,", lambda a, b: int(a != b))
greater = _binary("greater", primitive_arithmetic.greater, "1 where the first is larger, else 0,", lambda a, b: int(a > b))
greater_equal = _binary(
    "greater_equal", primitive_arithmetic.greater_equal, "1 where the first is larger or equal, else 0,", lambda a, b: int(a >= b)
)
lesser = _binary("lesser", primitive_arithmetic.less, "1 where the first is smaller, else 0,", lambda a, b: int(a < b))
lesser_equal = _binary(
    "lesser_equal", primitive_arithmetic.less_equal, "1 where the first is smaller or equal, else 0,", lambda a, b: int(a <= b)
)
logical_and = _binary(
    "logical_and", primitive_arithmetic.logical_and, "1 where both are non-zero, else 0,", lambda a, b: int(bool(a and b))
)
logical_or = _binary(
    "logical_or", primitive_arithmetic.logical_or, "1 where one or both are non-zero, else 0,", lambda a, b: int(bool(a or b))
)
logical_xor = _binary(
    "logical_xor", primitive_arithmetic.logical_xor, "1 where exactly one is non-zero, else 0,", lambda a, b: int(bool(a) != bool(b))
)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along an axis.

    Parameters
    ----------
    arrays
        At least one array. All must have the same dtype and, except along the axis, the same shape.
    axis
        The axis.
    always_copy
        If false, a single array is returned unchanged.

    Raises
    ------
    ParameterError
        If ``arrays`` is not a list of arrays.
    DTypeError
        If the dtypes differ.
    """
    if not isinstance(arrays, (list, tuple)) or not arrays or not all(isinstance(a, NDArray) and a._legacy for a in arrays):
        raise InvalidValue("concatenate: arrays must be a list of at least one NDArray", repr(arrays)[:60], "pass a list of arrays")
    dtypes = {a._dtype for a in arrays}
    if len(dtypes) > 1:
        raise DTypeError("concatenate: arrays must have the same dtype", ", ".join(sorted(dtypes)), "cast them with astype")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return applied(primitive_shape.concat.bind(True, axis=normalized_axis(axis, arrays[0].ndim)), arrays)


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Move axes to new positions; the others keep their order.

    Parameters
    ----------
    tensor
        The array.
    source, destination
        Positions of the axes before and after, equal in number.

    Raises
    ------
    ShapeError
        If an axis is out of range or named twice.
    ParameterError
        If they differ in number.
    """
    order = moved_axes(source, destination, tensor.ndim)
    return applied(primitive_shape.permute_dims.bind(True, axes=order), (tensor,))


def split_v2(ary: NDArray, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False) -> NDArray | list[NDArray]:
    """Split an array along an axis.

    Parameters
    ----------
    ary
        The array.
    indices_or_sections
        The number of equal parts, or the indices at which to split.
    axis
        The axis.
    squeeze_axis
        Whether to remove the axis from parts of size 1.

    Returns
    -------
    list of NDArray, or NDArray
        The parts; a single part is not wrapped in a list.

    Raises
    ------
    ParameterError
        If the parts would not be equal, or the argument has another type.
    """
    size = ary.shape[normalized_axis(axis, ary.ndim, "split_v2: axis")]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or size % indices_or_sections:
            raise ParameterError(
                "split_v2: array split does not result in an equal division",
                f"size {size} into {indices_or_sections}",
                "pass a divisor, or indices",
            )
        part = size // indices_or_sections
        indices = tuple(range(part, size, part)) if part else (0,) * (indices_or_sections - 1)  # an empty axis has empty parts
    elif isinstance(indices_or_sections, (tuple, list)):
        indices = tuple(indices_or_sections)
    else:
        raise ParameterError(
            "split_v2: indices_or_sections must either int or tuple of ints", repr(indices_or_sections), "pass one of these"
        )
    return call(joining.split_v2, (ary,), {"indices": (0, *indices), "axis": axis, "squeeze_axis": squeeze_axis})


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of indices (n,) to out (n, classes), which is returned.

    Parameters
    ----------
    indices
        Class numbers (n,).
    out
        Array (n, classes) to write to.
    """
    return call(gathering.one_hot, (indices,), {"depth": out.shape[1], "dtype": out._dtype}, out)


def histogram(a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None) -> list[NDArray] | tuple[NDArray, NDArray]:
    """Count the elements in each bin. Computed on the host, without a gradient.

    Parameters
    ----------
    a
        The elements, of any shape.
    bins
        Number of bins of equal width, or the edges in increasing order.
    range
        First and last edge, if ``bins`` is a number; the smallest and the largest element if None.

    Returns
    -------
    counts : NDArray
        One fewer than edges.
    edges : NDArray
        In the dtype of ``a``, or of ``bins``. As in MXNet, both are float32 and in a tuple if there is neither a range nor an array
        of edges; otherwise counts are int64, and both are in a list.

    Raises
    ------
    InvalidValue
        If ``bins`` is neither an integer nor an array.
    """
    given = isinstance(bins, NDArray)
    if not given and not isinstance(bins, (int, np.integer)):
        raise InvalidValue("histogram: bins argument should be either an integer or an NDArray", repr(bins), "pass one of these")
    counts, edges = np.histogram(host_of(a), host_of(bins) if isinstance(bins, NDArray) else bins, range)
    if not given and range is None:
        return array(counts, a.context, "float32"), array(edges, a.context, "float32")
    return [array(counts, a.context, "int64"), array(edges, a.context, bins._dtype if isinstance(bins, NDArray) else a._dtype)]


def to_dlpack_for_read(data: NDArray) -> object:
    """A DLPack capsule for reading an array's memory."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> object:
    """A DLPack capsule for writing to an array's memory."""
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Wait until all operations issued so far have finished, on all devices.

    Raises
    ------
    MXNetError
        The earliest error that no read has raised yet; it is raised once, with later ones in its notes.
    """
    wait_for_all(_synchronize)


def _synchronize(device: Device) -> None:
    try:
        backend_for(device).synchronize(device)
    except BackendUnavailable:  # without the adapter's library nothing can be pending on the device
        return
