"""Sequences for unrolling cells: conversion between one symbol with a time axis and a list of steps."""

from collections.abc import Sequence
from typing import Any

from .. import symbol as sym
from ..errors import InvalidValue
from ..symbol.symbol import Symbol

#: As MXNet's cells print it in a graph's JSON.
SQUEEZED: dict[str, Any] = {"squeeze_axis": 1}
#: A symbol with a time axis, or one symbol per step.
Inputs = Symbol | Sequence[Symbol]


def steps_of(length: int, inputs: Inputs | None, layout: str) -> list[Symbol]:
    """Split a sequence into one symbol per step.

    Parameters
    ----------
    length
        Number of steps.
    inputs
        A symbol with a time axis, or a list of steps without it.
    layout
        Order of the axes, such as ``"NTC"``.

    Raises
    ------
    ParameterError
        If there are no inputs, a list has another length, or a symbol has several outputs.
    """
    if isinstance(inputs, Symbol):
        if len(inputs.list_outputs()) != 1:
            raise InvalidValue("unroll: the input is a symbol with several outputs", ", ".join(inputs.list_outputs()), "pass list(inputs)")
        return list(sym.split(inputs, axis=layout.find("T"), num_outputs=length, **SQUEEZED))
    if inputs is None:
        raise InvalidValue("unroll: there are no inputs", None, "pass a symbol, or a list of one symbol per step")
    steps = list(inputs)
    if len(steps) != length:
        raise InvalidValue("unroll: wrong number of steps", f"{len(steps)} for length={length}", "pass one input per step")
    return steps


def merged(length: int, inputs: Inputs | None, layout: str) -> Symbol:
    """Join the steps of a sequence along a time axis; see `steps_of`."""
    if isinstance(inputs, Symbol):
        return inputs
    axis = layout.find("T")
    return sym.concat(*(sym.expand_dims(step, axis=axis) for step in steps_of(length, inputs, layout)), dim=axis)


def arranged(length: int, inputs: Inputs | None, layout: str, merge: bool | None) -> Symbol | list[Symbol]:
    """A sequence as one symbol if ``merge``, as a list of steps if not, and unchanged if ``merge`` is None."""
    if merge or (merge is None and isinstance(inputs, Symbol)):
        return merged(length, inputs, layout)
    return steps_of(length, inputs, layout)
