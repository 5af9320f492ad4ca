"""Mistakes in the rules of operators that users declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import twofold as mx
from twofold import nd
from twofold.opdef import registry

from .table import Mistakes, message_of

mistake = Mistakes()


@pytest.fixture(autouse=True)
def _operators_as_before() -> Iterator[None]:
    """Forget the operators that a mistake has declared: tests of the documentation go over all that there are."""
    tables = (registry.OPS, registry.NAMES)
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)


def applied(rule: Callable[..., Any]) -> None:
    """Declare an operator, and apply it."""
    mx.elementwise(f"mistake_{rule.__name__}")(rule)
    getattr(nd, f"mistake_{rule.__name__}")(nd.array([-1, 2]))


def differentiated(name: str, gradient: Callable[..., Any]) -> None:
    """Declare an operator with a gradient rule, and compute a gradient."""

    def doubled(xp, data):
        return data * 2

    doubled.__name__ = f"doubled_for_{name}"
    mx.elementwise(f"mistake_{name}")(doubled).grad(gradient)
    x = nd.array([-1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, f"mistake_{name}")(x)
    y.backward()


BRANCH = (
    "a rule cannot branch on an array: it builds a graph, whose values are not known yet: given greater:bool[2]; select elements by "
    "xp.where(condition, a, b); test an optional input by `is None`"
)


@mistake(f"mistake_branches: {BRANCH}")
def a_branch_on_elements():
    def branches(xp, data):
        return data if data > 0 else -data

    applied(branches)


@mistake(BRANCH)
def a_branch_on_elements_in_a_gradient_rule():
    differentiated("branching_gradient", lambda xp, dout, data: dout if data > 0 else -dout)


METHOD = "arrays in a rule have no attribute 'exp', and NumPy's functions do not take them; use functions of xp, such as xp.exp"


@mistake(f"mistake_method: {METHOD}")
def a_method_of_an_array():
    def method(xp, data):
        return data.exp()

    applied(method)


@mistake(f"mistake_of_numpy: {METHOD}")
def a_function_of_numpy():
    def of_numpy(xp, data):
        return numpy.exp(data)

    applied(of_numpy)


@mistake(f"mistake_gradient_by_method: {METHOD}")
def a_method_in_a_gradient_rule():
    differentiated("gradient_by_method", lambda xp, dout, data: dout * data.exp())


@mistake("mistake_unknown: its gradient rule names an unknown argument: given x; use some of dout, out, data")
def a_gradient_rule_with_an_unknown_argument():
    differentiated("unknown", lambda xp, dout, x: dout * x)


@mistake(
    "mistake_two: its gradient rule returns more gradients than the operator has array inputs: given 2 for 1; return one gradient for each "
    "input, in order"
)
def more_gradients_than_inputs():
    differentiated("two", lambda xp, dout, data: (dout, dout * data))


@mistake("scaled: a positional argument of a rule is an array, or None: given sharpness=2.0; write *, before the parameter sharpness")
def a_parameter_without_a_star():
    @mx.elementwise("mistake_scaled")
    def scaled(xp, data, sharpness=2.0):
        return data * sharpness


@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_the_error_says_what_to_do(program: Callable[[], object], message: str) -> None:
    assert message_of(program) == message
