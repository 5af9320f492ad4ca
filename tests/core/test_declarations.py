"""Declarations of operators: parameters taken over from another operator, and what is refused."""

import pytest

from twofold.errors import OperatorError
from twofold.opdef.declare import op, primitive
from twofold.opdef.params import Scalar
from twofold.opdef.registry import NAMES, OPS


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


def test_an_operator_declared_like_another_has_its_inputs_and_parameters_but_those_left_out():
    former, latter = NAMES["BatchNorm_v1"], NAMES["BatchNorm"]
    gone = {"axis", "cudnn_off", "min_calib_range", "max_calib_range"}
    assert former.inputs == latter.inputs
    assert former.params == {name: param for name, param in latter.params.items() if name not in gone}


def test_the_own_parameters_of_an_operator_declared_like_another_come_last():
    assert [*NAMES["_npi_arange"].params] == [*[p for p in NAMES["_arange"].params if p != "dtype"], "ctx", "dtype"]


def test_leaving_out_a_parameter_that_the_other_operator_does_not_have_is_refused():
    with pytest.raises(OperatorError, match=r"without: no such parameters: given axes.*leave out some of"):

        @op("derived", like=NAMES["BatchNorm"], without=("axes",))
        def derived(xp, *arrays, **params):
            return arrays[0]

    assert "derived" not in OPS
