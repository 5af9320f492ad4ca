"""Declarations of operators that are refused."""

import pytest

from twofold.errors import OperatorError
from twofold.opdef.declare import op, primitive
from twofold.opdef.params import Scalar
from twofold.opdef.registry import OPS


def test_a_primitive_with_a_scalar_parameter_is_refused():
    with pytest.raises(OperatorError, match=r"shifted: a primitive cannot have a Scalar parameter: given by.*positional argument"):

        @primitive(reference=lambda np, x, *, by: x + by)
        def shifted(xp, x, *, by: Scalar):
            """Shifted."""

    assert "shifted" not in OPS


def test_an_unknown_rule_for_the_result_dtype_is_refused():
    with pytest.raises(OperatorError, match="misdeclared: unknown rule for the result's dtype: given 'floats'"):

        @op(result="floats")
        def misdeclared(xp, x):
            return x

    assert "misdeclared" not in OPS
