"""Element-wise operators of two inputs: same shape (elemwise_*, _maximum …) and broadcasting; arithmetic, comparison, logic."""

from __future__ import annotations

from .declare import CaseSpec, case, given, real, whole

INF, NAN = float("inf"), float("nan")

# every sign and zero against every other, ties, infinities
LEFT = [-2.5, -2.5, 2.5, 2.5, 0, 0, -0.0, 3, -3, 3, 1, 1, INF, INF, NAN, 1, -2, 0, 2, 2]
RIGHT = [2, -2, 2, -2, 2, 0, 0, 3, -3, -3, 0, INF, 1, INF, 1, NAN, 0.5, -1, 0, 1]

ARITHMETIC = {"add": "elemwise_add", "sub": "elemwise_sub", "mul": "elemwise_mul", "div": "elemwise_div"}
ARITHMETIC.update({name: "_" + name for name in ("maximum", "minimum", "mod", "power", "hypot")})
RELATIONS = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor")
RELATIONS_BY_NAME = {name: "_" + name for name in RELATIONS}
INTEGERS = ("int32", "int64", "uint8")


def whole_pair(name: str, dtype: str) -> tuple:
    """Two integer inputs; divisors are never zero, because the processor traps."""
    if dtype == "uint8":
        return given([200, 7, 0, 3], dtype), given([100, 2, 5, 3], dtype)
    if name == "power":
        return given([2, -3, 5, 0], dtype), given([3, 3, 0, 2], dtype)
    return given([7, -7, 7, -7, 0, 4], dtype), given([2, 2, -2, -2, 3, 4], dtype)


def same_shape(name: str, op: str) -> list[CaseSpec]:
    """Cases with two inputs of one shape."""
    low = 0.25 if name == "power" else -2
    cases = [case(op, real((2, 3), low), real((2, 3))), case(op, given(LEFT), given(RIGHT), note="corners and ties")]
    cases += [case(op, *whole_pair(name, dtype)) for dtype in INTEGERS]
    return cases + [case(op, real((4,), low, dtype=t), real((4,), dtype=t)) for t in ("float16", "float64")]


def broadcast(name: str) -> list[CaseSpec]:
    """Cases that broadcast in either direction."""
    op, low = "broadcast_" + name, 0.25 if name == "power" else -2
    draw = whole if name in RELATIONS else real
    return [
        case(op, draw((2, 1, 3), low if draw is real else 0, 2), draw((1, 2, 3), 0 if draw is whole else -2, 2)),
        case(op, draw((3, 1), low if draw is real else 0, 2), draw((1, 4), 0 if draw is whole else -2, 2), note="both sides"),
        case(op, draw((2, 3), low if draw is real else 0, 2), draw((1,), 0 if draw is whole else -2, 2), note="fewer dimensions"),
        case(op, given(LEFT), given(RIGHT), note="corners and ties"),
        case(op, *whole_pair(name, "int32")),
        case(op, real((2, 2), low, dtype="float64"), real((1, 2), dtype="float64")),
    ]


CASES = [
    *(item for name, op in ARITHMETIC.items() for item in same_shape(name, op)),
    *(item for name, op in RELATIONS_BY_NAME.items() for item in same_shape(name, op)),
    *(item for name in (*ARITHMETIC, *RELATIONS) for item in broadcast(name)),
    case("_mod", given([7, -7, 0, 5], "int32"), given([0, 0, 0, 3], "int32"), note="whole numbers, divisor zero"),
    case("_mod", given([5.5, -5.5, 5.5, -5.5]), given([2.25, 2.25, -2.25, -2.25]), note="sign of the divisor"),
    case("_power", given([-8, -2, -1, 0, 0, 0, 1, INF, -INF]), given([1 / 3, -1, 0.5, 0, -1, 0.5, NAN, 0, 3])),
    case("_power", given([2, 3], "int32"), given([-1, -2], "int32"), note="negative exponents of whole numbers"),
    case("_maximum", given([1, 2, 3]), given([1, 2, 4]), note="gradient at ties"),
    case("_minimum", given([1, 2, 3]), given([1, 2, 4]), note="gradient at ties"),
    case("broadcast_maximum", given([[1, 2], [3, 2]]), given([[1, 2]]), note="gradient at ties"),
    case("broadcast_minimum", given([[1, 2], [3, 2]]), given([[1, 2]]), note="gradient at ties"),
    case("broadcast_add", real((2, 3)), real((3,)), note="a missing leading dimension is not added"),
    case("broadcast_add", real((2, 3)), real((2, 4)), note="shapes do not fit"),
    case("broadcast_add", real((2, 2)), given([[1, 2]], "float64"), note="dtypes differ"),
    case("broadcast_add", real((2, 2)), given([[1, 2]], "int32"), note="dtypes differ"),
    case("elemwise_add", real((2, 3)), real((3, 2)), note="shapes differ"),
    case("elemwise_add", real((2, 3)), real((1, 3)), note="does not broadcast"),
    case("elemwise_add", real((2, 2)), real((2, 2), dtype="float16"), note="dtypes differ"),
    case("elemwise_div", given([1, -1, 0, 0]), given([0, 0, 0, 2]), note="division by zero"),
    case("broadcast_add", real((2, 1)), real((1, 2)), path="nd.broadcast_plus"),
    case("broadcast_sub", real((2, 1)), real((1, 2)), path="nd.broadcast_minus"),
    case("add_n", real((2, 3)), real((2, 3)), real((2, 3))),
    case("add_n", real((2, 3)), note="one input"),
    case("add_n", real((2,)), real((2,)), real((2,)), real((2,)), path="nd.ElementWiseSum"),
    case("add_n", given([1, 2], "int32"), given([3, 4], "int32")),
    case("add_n", real((2, 3)), real((3, 2)), note="shapes differ"),
    case("where", given([1, 0, -1, 0.5]), real((4,)), real((4,))),
    case("where", given([[1, 0], [0, 1]]), real((2, 2)), real((2, 2))),
    case("where", given([1, 0, 1]), real((3, 2)), real((3, 2)), note="a 1-d condition picks rows"),
    case("where", given([1, 0, 1], "int32"), real((3, 2)), real((3, 2)), note="an int32 condition"),
    case("where", given([0, 7], "int32"), given([1, 2], "int32"), given([3, 4], "int32")),
    case("where", given([NAN, 0]), real((2,)), real((2,)), note="nan counts as true"),
    case("where", given([1, 0]), real((3, 2)), real((3, 2)), note="shapes do not fit"),
    case("where", given([1, 0]), real((2,)), real((2,), dtype="float64"), note="dtypes differ"),
]
