"""The functions of the dialect that apply one operator: made on first use of rows in operators' declarations (`opdef.numpy_rows`)."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic

from ..calls.row_functions import assembled_row
from ..opdef import OPS
from ..opdef.frontend import LazyMethod
from ..opdef.numpy_rows import Row, rows_of
from .front import Array, Front


class Functions(Front[Array]):
    """A front with the functions of rows."""

    if TYPE_CHECKING:
        eye: Any
        full_like: Any
        ones: Any
        zeros: Any

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


class Face(Generic[Array]):
    """The functions of a sub-namespace.

    Parameters
    ----------
    front
        The functions of arrays or symbols.
    """

    def __init__(self, front: Functions[Array]) -> None:
        self._front = front

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


def method_of(row: Row) -> Callable[..., Any]:
    """The function of a row, as a method of a front or of a face."""
    front, op = "self._front" if row.place else "self", row.op
    lines = []
    if "ctx" in op.params:
        given = [p.name for p in row.params if p.name in ("ctx", "device")]
        lines.append(f"    params['ctx'] = {front}.context_name({' or '.join(given) or None})")
    out = "out" if row.has("out") else "None"
    if row.mixed:
        values = ", ".join(f"{name!r}: {name}" for name in row.mixed)
        lines.append(f"    return self._draw(op, {{{values}}}, params, {out})")
    else:
        convert = f"{front}.operand"
        arrays = f"{front}.operands({row.arrays[0].lstrip('*')})" if op.variadic else f"({row.operands(convert)})"
        found = f"{front}.apply(op, {arrays}, params, {out})"
        lines.append(f"    return tuple({found})" if row.gives_tuple else f"    return {found}")
    return assembled_row(row, "self", lines, {})


@cache
def _rows() -> list[Row]:
    return rows_of(OPS.values())


def attach_rows(cls: type, place: str = "") -> None:
    """Give a class the functions of the rows of a place."""
    for row in _rows():
        if row.place == place:
            setattr(cls, row.name, LazyMethod(cls, row.name, partial(method_of, row)))


attach_rows(Functions)
