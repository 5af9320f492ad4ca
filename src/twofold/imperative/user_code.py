"""Calls of user code (``mx.operator.CustomOp``, ``autograd.Function``) as recorded operations."""

from collections.abc import Sequence
from typing import Any

from ..backend.kernel import Array
from ..device import Device
from ..errors import DTypeError, ParameterError, ShapeError
from ..ops import custom
from .cell import AnyCell, Cell, wrap
from .invoke import Argument, data_of, full_content, invoke
from .user_function import UserFunction

#: Shape and dtype name.
Type = tuple[tuple[int, ...], str]


def call(
    handle: UserFunction, arrays: Sequence[Argument], types: Sequence[Type], cls: type[AnyCell], needs: tuple[int, ...]
) -> list[AnyCell]:
    """Apply a handle to arrays.

    Parameters
    ----------
    handle, arrays
        The handle and its operands.
    types
        (shape, dtype name) of each result.
    cls
        Class of the resulting arrays.
    needs
        What its backward reads in addition to the head gradients: positions in the operands followed by the results.
    """
    bound_op = custom.user_forward.bind(types=tuple(types), needs=needs, label=handle.label)
    return [wrap(cls, c) for c in invoke(bound_op, (handle, *arrays))]


def zeros_of(cls: type[AnyCell], shape: tuple[int, ...], dtype: str, device: Device) -> AnyCell:
    """A new array of zeros."""
    return wrap(cls, full_content(0, shape, dtype, device))


def fitted(what: str, given: object, types: Sequence[Type], device: Device) -> list[Cell]:
    """The arrays that user code returned, broadcast and cast to the expected types as ``x[:] = given`` would.

    Parameters
    ----------
    what
        The name of the user's code in messages.
    given
        An array, or a list of arrays.
    types, device
        (shape, dtype name) of each, and where it should be.

    Raises
    ------
    ParameterError
        If there are too many or too few arrays.
    DTypeError
        If one is not an array.
    ShapeError
        If one cannot be broadcast.
    """
    cells = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(cells) != len(types):
        raise ParameterError(f"{what} must return {len(types)} arrays", f"{len(cells)}", "return one for each")
    return [_fitted(f"{what}: array {k}", cell, *types[k], device) for k, cell in enumerate(cells)]


def _fitted(what: str, cell: object, shape: tuple[int, ...], dtype: str, device: Device) -> Cell:
    if not isinstance(cell, Cell):
        raise DTypeError(f"{what} is not an array", type(cell).__name__, f"return an array of shape {shape}")
    array: Any = cell
    if array.shape == shape and array._dtype == dtype and array.context is device:
        return array
    new = zeros_of(array._kind, shape, dtype, device)
    try:
        # the array's own assignment broadcasts, casts, and is recorded if the array is
        new[:] = array
    except (ShapeError, ValueError):
        raise ShapeError(f"{what} has a different shape", f"{array.shape} for {shape}", "return one that broadcasts to it") from None
    return new


def arrays_of(what: str, given: object, types: Sequence[Type], device: Device) -> list[Array]:
    """`fitted`, as backend arrays."""
    return [data_of(cell._content) for cell in fitted(what, given, types, device)]
