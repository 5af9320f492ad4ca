"""Reductions: every way to name the axes, keepdims, exclude, ties, nan and whole numbers; norm, moments, arg-reductions."""

from __future__ import annotations

from .declare import CaseSpec, case, given, ramp, real

NAN, INF = float("nan"), float("inf")
HOLES = given([[1, NAN, 2], [NAN, NAN, NAN], [-3, 0.5, NAN]])

AXES = (
    {},
    {"axis": 0},
    {"axis": -1, "keepdims": True},
    {"axis": (0, 2)},
    {"axis": (-1, 1), "keepdims": True},
    {"axis": ()},
    {"axis": 1, "exclude": True},
    {"axis": (0, 2), "exclude": True, "keepdims": True},
    {"axis": None, "keepdims": True},
)


def family(op: str) -> list[CaseSpec]:
    """The axes over one array, then dtypes and errors."""
    cases = [case(op, real((2, 3, 2)), **attrs) for attrs in AXES]
    cases += [case(op, HOLES, axis=1, note="nan"), case(op, given([[1, -2, 3], [4, 5, -7]], "int32"), axis=0)]
    cases += [case(op, given([[100, 200], [3, 4]], "uint8"), axis=1), case(op, given([2**40, 3], "int64"))]
    cases += [case(op, real((2, 3), dtype="float16"), axis=1), case(op, real((2, 3), dtype="float64"), axis="1")]
    return [*cases, case(op, real((2, 3)), axis=2, note="no such axis"), case(op, real((2, 3)), axis=(0, 0), note="an axis twice")]


ARGUMENTS = (
    {},
    {"axis": 0},
    {"axis": 1},
    {"axis": -1, "keepdims": True},
    {"axis": None, "keepdims": True},
)
TIES = given([[1, 3, 3], [2, 2, 2], [-1, -5, -5]])
SPLIT_AT_ZERO = given([[0, 2, 3], [4, 0, 0]])

CASES = [
    *(item for op in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min") for item in family(op)),
    *(case(op, SPLIT_AT_ZERO, axis=1, note="gradient where factors are zero") for op in ("prod", "nanprod")),
    *(case(op, TIES, axis=1, note="gradient at ties") for op in ("max", "min")),
    *(case(op, given([[NAN, INF], [-INF, 1]]), axis=1) for op in ("max", "min", "sum", "mean")),
    case("sum", real((2, 3)), path="nd.sum_axis", axis=1),
    case("max", real((2, 3)), path="nd.max_axis", axis=1),
    case("min", real((2, 3)), path="nd.min_axis", axis=1),
    case("mean", given([1, 2, 4], "int32"), note="stays whole"),
    case("mean", given([-1, -2, -4], "int32"), note="stays whole"),
    case("norm", real((2, 3))),
    case("norm", real((2, 3)), ord=1),
    *(case("norm", real((2, 3, 2)), ord=o, axis=a) for o in (1, 2) for a in (0, -1, (0, 2))),
    *(case("norm", real((2, 3, 2)), ord=o, axis=a, keepdims=True) for o in (1, 2) for a in (1, (1, 2), None)),
    case("norm", given([[0, 0], [3, -4]]), axis=1, note="gradient at zero"),
    case("norm", given([[0, 0], [3, -4]]), ord=1, axis=1, note="gradient at zero"),
    case("norm", real((2, 3)), out_dtype="float64"),
    case("norm", real((2, 3), dtype="float16"), axis=1),
    case("norm", real((2, 3), dtype="float64"), axis=1),
    case("norm", given([[3, 4], [6, 8]], "int32"), axis=1),
    case("norm", real((2, 3)), ord=3, note="no such order"),
    case("moments", real((2, 3, 2)), axes=(0, 2)),
    case("moments", real((2, 3, 2)), axes=(1,), keepdims=True),
    case("moments", real((2, 3)), axes=-1),
    case("moments", real((2, 3))),
    case("moments", real((2, 3), dtype="float64"), axes=(0,)),
    *(case(op, real((2, 3, 2)), **attrs) for op in ("argmax", "argmin") for attrs in ARGUMENTS),
    *(case(op, TIES, axis=1, note="ties") for op in ("argmax", "argmin")),
    *(case(op, given([[1, NAN, 2], [NAN, 1, 0]]), axis=1, note="nan") for op in ("argmax", "argmin")),
    *(case(op, given([[1, 5, 2], [7, 1, 0]], "int32"), axis=1) for op in ("argmax", "argmin")),
    *(case(op, real((2, 3), dtype="float64"), axis=1) for op in ("argmax", "argmin")),
    *(case(op, real((2, 3)), axis=2, note="no such axis") for op in ("argmax", "argmin")),
    case("argmax_channel", real((3, 4))),
    case("argmax_channel", TIES),
    case("argmax_channel", ramp(2, 3, 2)),
    case("softmax_cross_entropy", real((3, 4)), given([0, 3, 1]), grad=(0,)),
    case("softmax_cross_entropy", real((2, 4)), given([4, 0]), grad=(0,), note="a label out of range"),
    case("softmax_cross_entropy", given([[100, -100, 0], [0, 0, 0]]), given([1, 2]), grad=(0,)),
    case("softmax_cross_entropy", real((2, 4), dtype="float64"), given([1, 2], "float64"), grad=(0,)),
]
