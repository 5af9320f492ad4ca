"""Element-wise operators of one input, each over its domain, its corners and five dtypes; activations with parameters."""

from __future__ import annotations

from .declare import CaseSpec, case, given, real

INF, NAN = float("inf"), float("nan")

WIDE = [-INF, -100, -2.5, -1, -0.5, -0.0, 0, 0.5, 1, 2.5, 100, INF, NAN]
HALVES = [-2.5, -1.5, -1.2, -0.5, -0.3, -0.0, 0.0, 0.3, 0.5, 0.7, 1.5, 2.5, 3.5, INF, -INF, NAN]
UNIT = [-INF, -2, -1, -0.5, -0.0, 0, 0.25, 0.5, 1, 2, INF, NAN]
POLES = [-INF, -2, -1.5, -1, -0.5, 0, 0.5, 1, 2, 3, 30, 40, INF, NAN]

REAL_LINE = ("abs", "arcsinh", "arctan", "cbrt", "cos", "cosh", "degrees", "erf", "exp", "expm1", "negative", "radians", "relu")
REAL_LINE += ("sigmoid", "sign", "sin", "sinh", "softsign", "square", "tan", "tanh", "hard_sigmoid", "logical_not")
REAL_LINE += ("_copy", "ones_like", "zeros_like", "BlockGrad", "make_loss")
ROUNDING = ("ceil", "fix", "floor", "rint", "round", "trunc")
POSITIVE = ("log", "log10", "log2", "rcbrt", "reciprocal", "rsqrt", "sqrt")
WITHIN_ONE = ("arccos", "arcsin", "arctanh", "erfinv")
FLOAT_ONLY = ("erfinv",)


def family(names: tuple[str, ...], low: float, high: float, corners: list[float]) -> list[CaseSpec]:
    """Five cases an operator: interior, corners, float16, float64, int32."""
    cases = []
    for name in names:
        cases += [case(name, real((2, 5), low, high)), case(name, given(corners), note="corners")]
        cases += [case(name, real((4,), low, high, dtype="float16")), case(name, real((4,), low, high, dtype="float64"))]
        if name not in FLOAT_ONLY:
            cases.append(case(name, given([1, 2, 3] if low > 0 else [-1, 0, 1], "int32"), note="whole numbers"))
    return cases


CASES = [
    *family(REAL_LINE, -2, 2, WIDE),
    *family(ROUNDING, -3, 3, HALVES),
    *family(POSITIVE, 0.125, 4, UNIT),
    *family(WITHIN_ONE, -0.9, 0.9, UNIT),
    *family(("arccosh",), 1.125, 4, UNIT),
    *family(("log1p",), -0.75, 3, UNIT),
    *family(("gamma", "gammaln"), 0.25, 5, POLES),
    *(case(name, given([253, 0, 7], "uint8")) for name in ("abs", "sign", "square", "negative", "relu", "logical_not", "floor")),
    *(case(name, given([-3, 0, 7], "int64")) for name in ("abs", "sign", "square", "negative", "relu", "logical_not", "floor")),
    *(case(name, given([4, 9, 16], "int32")) for name in ("sqrt", "reciprocal", "exp", "log", "sigmoid", "rsqrt")),
    case("hard_sigmoid", real((2, 5), -4, 4), alpha=0.5, beta=0.25),
    case("hard_sigmoid", given([-2.5, 2.5, -3, 3]), note="the points where the slope breaks"),
    case("BlockGrad", real((2, 3)), path="nd.stop_gradient"),
    case("_copy", real((2, 3)), path="nd.identity"),
    *(case("Activation", real((2, 5), -3, 3), act_type=kind) for kind in ("relu", "sigmoid", "softrelu", "softsign", "tanh")),
    *(case("Activation", given(WIDE), act_type=kind) for kind in ("relu", "sigmoid", "softrelu", "softsign", "tanh")),
    case("Activation", real((4,), dtype="float16"), act_type="softrelu"),
    case("Activation", real((4,), dtype="float64"), act_type="tanh"),
    case("Activation", real((2, 5)), act_type="swish", note="no such choice"),
    case("Activation", real((2, 5)), note="the required parameter is missing"),
    *(case("LeakyReLU", real((2, 5), -3, 3), act_type=kind) for kind in ("leaky", "elu", "selu", "gelu")),
    *(case("LeakyReLU", given(WIDE), act_type=kind) for kind in ("leaky", "elu", "selu", "gelu")),
    case("LeakyReLU", real((2, 5), -3, 3)),
    case("LeakyReLU", real((2, 5), -3, 3), act_type="leaky", slope=0.01),
    case("LeakyReLU", real((2, 5), -3, 3), act_type="elu", slope=2.0),
    case("LeakyReLU", real((2, 3, 2), -3, 3), real((3,), 0, 1), act_type="prelu", note="a slope per channel"),
    case("LeakyReLU", real((2, 3, 2), -3, 3), real((1,), 0, 1), act_type="prelu", note="one slope"),
    case("LeakyReLU", real((2, 3), -3, 3), real((3,), 0, 1), act_type="prelu", note="two dimensions"),
    case("LeakyReLU", real((2, 5), -3, 3), act_type="rrelu", train=False, outputs=1, note="evaluation: the mean of the bounds"),
    case("LeakyReLU", real((2, 5), -3, 3), act_type="rrelu", lower_bound=0.25, upper_bound=0.75, train=False, outputs=1),
    case("LeakyReLU", real((4,), dtype="float16"), act_type="gelu"),
    case("LeakyReLU", real((4,), dtype="float64"), act_type="selu"),
    *(case("smooth_l1", given([-2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2, INF, NAN]), scalar=s) for s in (1.0, 2.0, 0.5, 0.0)),
    case("smooth_l1", given([-2, -1, -0.5, 0, 0.5, 1, 2])),
    case("smooth_l1", real((2, 3), dtype="float16"), scalar=1.0),
    case("clip", given([-2, -1, -0.5, 0, 1, 1.5, INF, -INF, NAN]), a_min=-1, a_max=1, note="gradient at the bounds"),
    case("clip", given([-2, -1, -0.5, 0, 1, 1.5]), a_min=1, a_max=-1, note="bounds the wrong way round"),
    case("clip", given([-2, -1, 0, 3, 7], "int32"), a_min=-1.5, a_max=2.5),
    case("clip", given([0, 1, 200, 255], "uint8"), a_min=1, a_max=100),
    case("clip", given([-70000, 5, 2**40], "int64"), a_min=-3, a_max=6),
    case("clip", real((4,), dtype="float16"), a_min=-1, a_max=1),
    case("clip", real((4,), dtype="float64"), a_min="-0.5", a_max="0.5", note="attributes as strings"),
    case("clip", real((4,)), a_min=0, note="a_max is missing"),
    *(case("Cast", given([-1.7, -0.5, 0, 0.5, 1.5, 2.9, 100.2]), dtype=t) for t in ("int32", "int64", "int8", "float16", "float64")),
    case("Cast", given([0, 0.5, 1.5, 2.9, 255.0]), dtype="uint8"),
    case("Cast", given([0, -0.0, 0.5, -3, NAN]), dtype="bool"),
    case("Cast", given([1.7, 70000, 1e-8, 2049]), dtype="float16", note="overflow, underflow, rounding"),
    case("Cast", given([300, -1, 128], "int32"), dtype="uint8", note="wraps"),
    case("Cast", given([300, -1, 128], "int32"), dtype="int8", note="wraps"),
    case("Cast", given([2**31 + 5, -(2**40)], "int64"), dtype="int32", note="wraps"),
    case("Cast", given([2**24 + 1, 2**53 + 1], "int64"), dtype="float32"),
    case("Cast", given([2**53 + 1], "int64"), dtype="float64"),
    case("Cast", given([True, False], "bool"), dtype="float32"),
    case("Cast", real((2, 2)), dtype="complex64", note="no such dtype"),
    case("Cast", real((2, 2)), path="nd.cast", dtype="float64"),
]
