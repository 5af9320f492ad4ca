"""Which array inputs an operator has in an application, and MXNet's initializers for the variables created for them.

An operator declares all its inputs, and for each optional input when it is present (`Input.present`): a bias unless ``no_bias``, lengths
if ``use_length``, inputs that only one mode of the operator reads. An optional input without such a parameter is present only if given.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..opdef import ALWAYS, Input, Op

Attrs = Mapping[str, object]
#: Operators whose names of inputs are kept: most of those that programs use.
KEPT = 1024


def _is_there(op: Op, given: Input, attrs: Attrs) -> bool:
    """Whether an optional input is present."""
    if given.present is None or given.present == ALWAYS:
        return given.present is not None
    name, value = given.present
    param = op.params[name]
    return (param.value(attrs[name], op.spoken) if name in attrs else param.default) == value


@lru_cache(KEPT)
def _all_inputs(op: Op) -> Sequence[Input]:
    return (*op.arrays[:-1], *op.symbolic.named_inputs) if op.variadic else op.arrays


@lru_cache(KEPT)
def _optional_inputs(op: Op) -> Sequence[Input]:
    return tuple(i for i in _all_inputs(op) if i.optional)


def argument_inputs(op: Op, attrs: Attrs) -> list[Input]:
    """The array inputs for these attributes, in order; for a variadic operator, those that have names."""
    absent = [i for i in _optional_inputs(op) if not _is_there(op, i, attrs)]
    return [i for i in _all_inputs(op) if i not in absent] if absent else [*_all_inputs(op)]


def argument_names(op: Op, attrs: Attrs, count: int) -> list[str]:
    """The operator's names of its ``count`` inputs; the count determines which further optional ones are present."""
    return [*_names(op, count, tuple([i for i in _optional_inputs(op) if not _is_there(op, i, attrs)]))]


@lru_cache(KEPT)
def _names(op: Op, count: int, absent: Sequence[Input]) -> Sequence[str]:
    expected = [i.name for i in _all_inputs(op) if i not in absent]
    if op.variadic:
        return [*expected, *(f"arg{k}" for k in range(count - len(expected)))][:count]
    if count > len(expected):
        # first the inputs that exist only if given, because the parameters exclude the others
        others = sorted((i for i in op.inputs if not i.injected and i.name not in expected), key=lambda i: i.present is not None)
        missing = [i.name for i in others]
        taken = {*expected, *missing[: count - len(expected)]}
        expected = [i.name for i in op.inputs if i.name in taken]
    return expected[:count]


def initializer_of(op: Op, argument: str) -> str | None:
    """The default initializer of a variable passed to an input, or None."""
    return next((i.initial for i in (*op.inputs, *op.symbolic.named_inputs) if i.name == argument), None)
