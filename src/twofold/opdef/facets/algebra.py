"""The mathematical facts about an operator that passes over graphs use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..rules import Rule


@dataclass(frozen=True, eq=False)
class Algebra:
    """Algebraic properties of an operator, used by rewriting passes and generated tests."""

    #: Every element of the result is an element of the first input.
    moves: bool = False
    #: ``joint``: linear in all floating-point inputs together; ``each``: in each of them. Operators with ``moves`` are linear in the first.
    linear: Literal["", "joint", "each"] = ""
    #: ``leading``: works on trailing axes, whatever leading ones the inputs have, which broadcast; ``axis``: on the axes in the parameter
    #: ``axis`` of its only input. So are batches of examples computed, as are those of element-wise operators.
    batch: Literal["", "leading", "axis"] = ""
    #: ``batched``: the result for a batch of examples, ``(xp, size, flags, *inputs, **params) -> node``, None if there is no better way
    #: than a loop. ``flags`` says which inputs have the batch as their first axis; others are the same for all examples.
    batch_rule: Rule | None = None
    #: ``apart``: the parameters for a few of the items along axis 0, ``(few, flags, *inputs, **params) -> params``; None if an item of the
    #: result depends on more than one item of an input. ``flags`` says which inputs have these items; others are the same for all items. It
    #: is asked only if axis 0 of the result is as long. Element-wise operators need no rule.
    apart_rule: Rule | None = None
    #: Compares two numbers by value, however large an integer is.
    compares: bool = False
    #: The smallest integer right operand for which array libraries agree: no divisor 0, no negative power of an integer.
    least_right: int | None = None
    #: Python's function of the same name: applied when a graph is built and all operands are Python scalars; if it returns None, the
    #: operation stays.
    fold: Callable[..., float | None] | None = None
    #: ``simplify``: algebra that is exact in floating point, ``(xp, node) -> node``, None if there is nothing simpler. ``xp`` builds nodes
    #: and answers questions about them (`graph.rewrite.Simplifier`); the operands of ``node`` are simplified.
    simplify_rule: Rule | None = None
    #: ``logarithm``: a formula for the result's logarithm without overflow, ``(xp, node) -> node``, None if no formula is known. ``xp``
    #: provides the operands' logarithms (`graph.logarithms.Logarithms`). Operators with ``moves`` need no rule.
    log_rule: Rule | None = None
    #: ``stable``: a formula that replaces the operator if it might overflow, ``(xp, node) -> node``, None if it cannot. ``xp`` is as for
    #: ``logarithm``, with the formulas of `graph.stabilise.Stabiliser`.
    stable_rule: Rule | None = None
