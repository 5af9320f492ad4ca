"""Sequences for unrolling cells: conversion between arrays and lists of steps, and initial states."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...imperative.array import Array
from ...symbol.symbol import Symbol
from ..signatures import Functions, Operand, functions_for

#: The outputs of an unrolled cell, as one value or a list of steps, and its final states.
Unrolled = tuple[Any, Sequence[Any]]


class Steps(NamedTuple):
    """The steps of a sequence.

    Attributes
    ----------
    values
        One array or symbol (n, …) per step.
    F
        `twofold.nd` or `twofold.sym`.
    batch_size
        n; 0 for symbols, whose size is unknown.
    """

    values: list[Any]
    F: Functions
    batch_size: int


def steps_of(length: int, inputs: Array | Symbol | Sequence[Array | Symbol], layout: str) -> Steps:
    """Split a sequence into steps.

    Parameters
    ----------
    length
        Number of steps.
    inputs
        An array or symbol with a time axis, or a list of steps without it.
    layout
        Order of the axes, such as ``"NTC"``.

    Raises
    ------
    ParameterError
        If the number of steps is another one.
    """
    axis = layout.find("T")
    if isinstance(inputs, (Array, Symbol)):
        F = functions_for(inputs)
        if isinstance(inputs, Array) and inputs.shape[axis] != length:
            raise InvalidValue("unroll: wrong sequence length", f"{inputs.shape[axis]} steps for length={length}", "pass its length")
        values = F.split(inputs, num_outputs=length, axis=axis, squeeze_axis=True)
        # A single step comes as an array; iterating over that would give its rows.
        values = [values] if isinstance(values, Array) else list(values)
    else:
        values = list(inputs)
        F = functions_for(values[0])
        if len(values) != length:
            raise InvalidValue("unroll: wrong number of steps", f"{len(values)} for length={length}", "pass one input per step")
    size = values[0].shape[layout.replace("T", "").find("N")] if isinstance(values[0], Array) else 0
    return Steps(values, F, size)


def merge(F: Functions, steps: Sequence[Operand], layout: str) -> Operand:
    """Stack steps into one array or symbol with a time axis."""
    return F.stack(*steps, axis=layout.find("T"))


def mask(F: Functions, values: Operand | Sequence[Operand], length: int, layout: str, valid_length: Any, *, is_merged: bool) -> Any:
    """Set the steps beyond the length of each sequence to 0; returns one value, or a list of ``length`` steps."""
    whole = values if isinstance(values, (Array, Symbol)) else merge(F, values, layout)
    masked = F.SequenceMask(whole, sequence_length=valid_length, use_sequence_length=True, axis=layout.find("T"))
    return masked if is_merged else steps_of(length, masked, layout).values
