"""The names of all operators, and the inputs and parameters of each, with the texts by which MXNet describes their types."""

from typing import NamedTuple

import numpy as np

from ..errors import MXNetError
from ..opdef import NAMES
from ..opdef.params import AXIS, DTYPE, FLOATS, SCALAR, SHAPE, Param

ARRAY = "NDArray-or-Symbol"
_WORDS = {
    AXIS.name: "Shape or None",
    DTYPE.name: "string",
    SHAPE.name: "Shape(tuple)",
    SCALAR.name: "float",
    FLOATS.name: "tuple of <float>",
}
_WORDS |= {"an int": "int", "a float": "float", "a bool": "boolean", "a string": "string"}


class OperatorArguments(NamedTuple):
    """The arguments of an operator.

    Attributes
    ----------
    narg
        Their number.
    names
        Their names, inputs first.
    types
        MXNet's texts about their types: ``"NDArray-or-Symbol"``, ``"int, required"``, ``"boolean, optional, default=0"``.
    """

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """The names of all operators of `mx.nd` and `mx.sym`, sorted; operators that the program itself registers are run by ``Custom``.

    Examples
    --------
    >>> "Convolution" in get_all_registered_operators()
    True
    """
    return sorted([*NAMES, "Custom"])


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """The inputs and parameters of the operator with a registered name.

    Raises
    ------
    MXNetError
        If there is none.

    Examples
    --------
    >>> get_operator_arguments("Activation").names
    ['data', 'act_type']
    """
    op = NAMES.get(op_name)
    if op is None:
        raise MXNetError(f"Operator {op_name} is not registered", None, "see twofold.opdef.registry.NAMES")
    arrays = [i.name for i in op.inputs if not i.injected]
    rows = [(name, ARRAY + "[]" * op.variadic) for name in arrays]
    params = {name: param for name, param in op.params.items() if name not in op.training}
    if op.count_param and op.count_param not in params:
        rows.append((op.count_param, "int, required"))
    for name, param in params.items():
        rows.append((name, _description(param)))
        if name == "shape" and not arrays:  # the device of a created array; front ends handle it
            rows.append(("ctx", "string, optional, default=''"))
    return OperatorArguments(len(rows), [name for name, _ in rows], [text for _, text in rows])


def _description(param: Param) -> str:
    """A parameter's kind, and its default unless it is required."""
    kind = param.kind.name
    optional = " or None" if kind.endswith(" or None") and kind not in _WORDS else ""
    inner = kind.removesuffix(optional)
    chosen = inner.removeprefix("one of ") if inner.startswith("one of ") else None
    if chosen is not None:
        return _choice([part.strip() for part in chosen.split(",")], bool(optional), param)
    word = _WORDS.get(inner, inner)
    if param.required:
        return f"{word}{optional}, required"
    default = repr(str(param.default)) if word == "int" else _default(param.default)  # MXNet quotes whole numbers
    return f"{word}{optional}, optional, default={default}"


def _choice(values: list[str], or_none: bool, param: Param) -> str:
    """The texts to choose from, in MXNet's order and punctuation."""
    word = "{" + ", ".join([*(["None"] if or_none else []), *sorted(values)]) + "}"
    return f"{word}, required" if param.required else f"{word},optional, default={str(param.default)!r}"


def _default(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{np.float32(value):.9g}" if isinstance(value, float) else "[]" if value == () else repr(value)
