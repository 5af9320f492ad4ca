"""Flattens nested lists of inputs and outputs, and restores them."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from ..errors import FormatError, ParameterError

Leaf = TypeVar("Leaf")

#: The format of an argument: `ARRAY`, `NOTHING`, or a tuple of formats for a list. MXNet's files hold it as nested lists.
Format: TypeAlias = "int | tuple[Format, ...]"
ARRAY, NOTHING = 0, -1


def flatten(values: object, kinds: tuple[type[Leaf], ...], what: str) -> tuple[list[Leaf], Format]:
    """Flatten nested lists of arrays or symbols; None is dropped.

    Parameters
    ----------
    values
        An array, None, or nested lists of these.
    kinds
        The classes that count as arrays.
    what
        ``"input"`` or ``"output"``, for the error.

    Raises
    ------
    ParameterError
        If they contain anything else.
    """
    if isinstance(values, kinds):
        return [values], ARRAY
    if values is None:
        return [], NOTHING
    if not isinstance(values, (list, tuple)):
        raise ParameterError(
            f"When hybridized, the {what} of HybridBlock must be (nested) list of Symbol or NDArray",
            f"{values!r} of type {type(values).__name__}",
            "convert arrays with mx.nd.array; make other values attributes of the block",
        )
    # A flat list, as all models with several inputs have: in each call it saves a frame for each array.
    for v in values:
        if not isinstance(v, kinds):
            break
    else:
        return list(values), (ARRAY,) * len(values)
    parts = [flatten(v, kinds, what) for v in values]
    return [x for flat, _ in parts for x in flat], tuple(f for _, f in parts)


def unflatten(flat: Sequence[Any], form: Format) -> Any:
    """Nest values again in a format; all sequences become lists."""
    return _unflatten(iter(flat), form)


def _unflatten(values: Iterator[Any], form: Format) -> Any:
    if isinstance(form, tuple):
        return [_unflatten(values, f) for f in form]
    return next(values) if form == ARRAY else None


def parts(form: Format) -> tuple[Format, ...]:
    """The formats of a list's items; a single array counts as a list of one."""
    return form if isinstance(form, tuple) else (form,)


def to_tuples(form: Any) -> Format:
    """A format read from JSON, with its lists as tuples.

    Raises
    ------
    FormatError
        If it holds anything but lists and integers.
    """
    if not isinstance(form, list | int):
        raise FormatError("model: the format of inputs or outputs is damaged", f"{form!r:.60}", "save the model again")
    return tuple(to_tuples(f) for f in form) if isinstance(form, list) else form
