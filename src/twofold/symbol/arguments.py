"""Which array inputs an application has, and which initializer MXNet gives the variables made for them.

An operator declares all inputs; which of the optional ones are there follows from parameters, by MXNet's conventions: the bias
unless ``no_bias``, a length where ``use_length`` says so, what only one mode of the operator reads.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..opdef.spec import Input, Op

Attrs = Mapping[str, Any]

#: Optional input → parameter → the values with which it is there.
_WITH: dict[str, dict[str, Callable[[Any], bool]]] = {
    "bias": {"no_bias": lambda given: not given},
    "gamma": {"act_type": lambda given: given == "prelu"},
    "state_cell": {"mode": lambda given: given == "lstm"},
    "sequence_length": {"use_sequence_length": bool},
    "length": {"use_length": bool},
    "data_lengths": {"use_data_lengths": bool},
    "label_lengths": {"use_label_lengths": bool},
}

#: Operator → input → the initializer of its variable, as MXNet's JSON text.
_INITIALIZERS: dict[str, dict[str, str]] = {
    "LeakyReLU": {"gamma": '["Constant", {"value": 0.25}]'},
    "UpSampling": {"weight": '["bilinear", {}]'},
}
_STATES = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]', "moving_avg": '["zero", {}]'}


def _is_there(op: Op, given: Input, attrs: Attrs) -> bool:
    if given.injected or not given.optional:
        return not given.injected
    for name, holds in _WITH.get(given.name, {}).items():
        param = op.params.get(name)
        if param is not None:
            return holds(param.value(attrs[name], op.title) if name in attrs else param.default)
    return False


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
    return _INITIALIZERS.get(op.title, {}).get(argument) or (_STATES.get(argument) if argument in op.auxiliary else None)
