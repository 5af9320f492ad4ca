"""Element-wise operators of an array and a scalar: every dtype keeps itself, except where the oracle says otherwise."""

from __future__ import annotations

from .declare import CaseSpec, case, given, real

ARITHMETIC = ("_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar", "_rdiv_scalar", "_maximum_scalar")
ARITHMETIC += ("_minimum_scalar", "_hypot_scalar", "_mod_scalar", "_rmod_scalar", "_power_scalar", "_rpower_scalar")
RELATIONS = ("_equal_scalar", "_not_equal_scalar", "_greater_scalar", "_greater_equal_scalar", "_lesser_scalar", "_lesser_equal_scalar")
RELATIONS += ("_logical_and_scalar", "_logical_or_scalar", "_logical_xor_scalar")

CORNERS = given([-2.5, -2, -1, -0.5, -0.0, 0, 0.5, 1, 2, 2.5, float("inf"), float("-inf"), float("nan")])


def family(op: str) -> list[CaseSpec]:
    """Scalars positive, negative, zero and fractional against floats and integers (no zero divides an integer)."""
    safe = given([-3, 1, 2, 7], "int32")
    cases = [case(op, CORNERS, scalar=s, note="corners") for s in (2, -1.5)]
    cases += [case(op, CORNERS, scalar=0), case(op, real((4,), 0.25, dtype="float16"), scalar=1.5)]
    cases += [case(op, real((4,), 0.25, dtype="float64"), scalar="0.1", note="the scalar as a string")]
    cases += [case(op, safe, scalar=2), case(op, safe, scalar=2.5, note="a fraction against whole numbers")]
    cases += [case(op, safe, scalar=2.5, is_int=False, note="is_int=False")]
    return [*cases, case(op, given([1, 2, 200, 255], "uint8"), scalar=3), case(op, given([-(2**40), 1, 5], "int64"), scalar=3)]


CASES = [item for op in (*ARITHMETIC, *RELATIONS) for item in family(op)]
