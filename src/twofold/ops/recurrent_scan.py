"""The loop of a recurrent layer over its steps: written out in the graph, or for many steps a loop of the graph, compiled once.

The values of all steps are a list, or one array with the steps along axis 0, as loops of the graph have them; functions here take both.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..opdef import Operand

#: A value for each step; None where a value is absent.
Steps = list[Operand | None] | Operand | None


class Scan(NamedTuple):
    """The result of a loop over time (a scan): the outputs of all steps, the states after the last, and those before each."""

    outputs: Sequence[Steps]
    states: Sequence[Operand | None]
    before: Sequence[Steps]


def step_of(xp, sequence, t):
    """Element t of the first axis, without that axis."""
    return xp.reshape(xp.take_slice(sequence, t, t + 1, 0), shape=sequence.shape[1:])


def steps_in_order(steps, direction):
    """The steps as a direction visits them: 0 goes forward, 1 back."""
    return range(steps) if direction == 0 else range(steps - 1, -1, -1)


def stacked(xp, steps):
    """Values of all steps as one array."""
    return xp.stack(steps) if isinstance(steps, list) else steps


def joined(xp, steps):
    """Rows (n, k) of all steps as rows (t · n, k)."""
    return xp.concat(*steps, axis=0) if isinstance(steps, list) else xp.reshape(steps, shape=(-1, steps.shape[2]))


def scan(xp, step, steps, data, states, shared, direction, looped):
    """Run ``step(values of a step, states, shared) -> (outputs, new states)`` over all steps.

    Parameters
    ----------
    step
        Its lists of outputs and states have None at the same places in every step.
    steps
        The number of steps.
    data
        Values of all steps.
    states
        The initial states. With ``looped``, every state that a step returns must be given.
    shared
        What every step reads, such as weights; None where a value is absent.
    direction
        0 from the first step to the last, 1 back.
    looped
        Whether the graph has one loop instead of all steps.
    """
    if looped:
        return _loop(xp, step, data, states, shared, direction)
    outputs, before = [None] * steps, [None] * steps
    for t in steps_in_order(steps, direction):
        before[t] = states
        values = [d[t] if isinstance(d, list) else d if d is None else step_of(xp, d, t) for d in data]
        outputs[t], states = step(values, states, shared)
    return Scan(_by_value(outputs), states, _by_value(before))


def _by_value(steps):
    """The lists of all steps' values from a list of values for each step."""
    columns = [list(column) for column in zip(*steps, strict=True)]
    return [None if all(v is None for v in column) else column for column in columns]


def _loop(xp, step, data, states, shared, direction):
    # a loop has no places for absent values
    given = data, states, shared
    places = [[k for k, v in enumerate(values) if v is not None] for values in given]
    outs = []

    def body(*present):
        found, new = step(*[_spread(v, at, len(all_)) for v, at, all_ in zip(present, places, given, strict=True)])
        outs[:] = [None if v is None else k for k, v in enumerate(found)]
        return [v for v in found if v is not None], [new[k] for k in places[1]]

    rows = [stacked(xp, d) for d in data if d is not None]
    # a loop runs from the first row to the last
    turned = [xp.flip(d, 0) for d in rows] if direction else rows
    found, last, before = xp.loop(body, turned, *[[v for v in values if v is not None] for values in given[1:]])
    found, before = [[xp.flip(v, 0) for v in values] if direction else values for values in (found, before)]
    found = _spread(found, [k for k in outs if k is not None], len(outs))
    return Scan(found, _spread(last, places[1], len(states)), _spread(before, places[1], len(states)))


def _spread(values, places, width):
    """Values at their places in a list of a width, with None elsewhere."""
    spread: list[Any] = [None] * width
    for k, v in zip(places, values, strict=True):
        spread[k] = v
    return spread
