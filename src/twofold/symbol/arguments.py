"""Which array inputs an application has, and which initializer MXNet gives the variables made for them.

An operator declares all inputs, and for optional ones the parameter that says whether they are there (`Input.present`): the bias unless
``no_bias``, a length where ``use_length`` says so, what only one mode of the operator reads.
"""

from collections.abc import Mapping
from typing import Any

from ..opdef.spec import Input, Op

Attrs = Mapping[str, Any]


def _is_there(op: Op, given: Input, attrs: Attrs) -> bool:
    if given.injected or not given.optional:
        return not given.injected
    if given.present is None:
        return False
    name, value = given.present
    param = op.params[name]
    return (param.value(attrs[name], op.title) if name in attrs else param.default) == value


def argument_inputs(op: Op, attrs: Attrs) -> list[Input]:
    """The array inputs of an application with these attributes, in order; of a variadic operator those before the variadic one."""
    inputs = op.inputs[:-1] if op.variadic else op.inputs
    return [i for i in inputs if _is_there(op, i, attrs)]


def argument_names(op: Op, attrs: Attrs, count: int) -> list[str]:
    """What the operator calls its ``count`` inputs; optional ones beyond those expected follow from how many there are."""
    expected = [i.name for i in argument_inputs(op, attrs)]
    if op.variadic:
        return [*expected, *(f"arg{k}" for k in range(count - len(expected)))][:count]
    if count > len(expected):
        missing = [i.name for i in op.inputs if not i.injected and i.name not in expected]
        taken = {*expected, *missing[: count - len(expected)]}
        expected = [i.name for i in op.inputs if i.name in taken]
    return expected[:count]


def initializer_of(op: Op, argument: str) -> str | None:
    """The initializer that a variable fed to an input gets unless it has one, or None."""
    return next((i.initial for i in op.inputs if i.name == argument), None)
