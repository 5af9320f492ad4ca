"""Sequences for unrolling cells: conversion between arrays and lists of steps, and initial states."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import ndarray as nd
from ... import symbol as sym
from ...ndarray.array import NDArray
from ...symbol.symbol import Symbol
from ..exceptions import InvalidValue
from ..numpy_arrays import as_legacy

__all__ = ["Steps", "initial_states", "merge", "steps_of"]


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
    F: Any
    batch_size: int


def steps_of(length: int, inputs: Any, layout: str) -> Steps:
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
    if isinstance(inputs, (NDArray, Symbol)):
        F: Any = nd if isinstance(inputs, NDArray) else sym
        if isinstance(inputs, NDArray) and inputs.shape[axis] != length:
            raise InvalidValue("unroll: wrong sequence length", f"{inputs.shape[axis]} steps for length={length}", "pass its length")
        values = F.split(inputs, num_outputs=length, axis=axis, squeeze_axis=True)
        values = [values] if isinstance(values, NDArray) else list(values)
    else:
        values = list(inputs)
        F = nd if isinstance(values[0], NDArray) else sym
        if len(values) != length:
            raise InvalidValue("unroll: wrong number of steps", f"{len(values)} for length={length}", "pass one input per step")
    size = values[0].shape[layout.replace("T", "").find("N")] if isinstance(values[0], NDArray) else 0
    return Steps(values, F, size)


def merge(F: Any, steps: Sequence[Any], layout: str) -> Any:
    """Stack steps into one array or symbol with a time axis."""
    return F.stack(*steps, axis=layout.find("T"))


def initial_states(cell: Any, steps: Steps, given: Any) -> Any:
    """The given initial states, or zeros."""
    if given is not None:
        return given
    if steps.F is nd:
        like = steps.values[0]
        return as_legacy(cell.begin_state(func=nd.zeros, batch_size=steps.batch_size, ctx=like.context, dtype=like.dtype))
    return cell.begin_state(func=sym.zeros, batch_size=0)
