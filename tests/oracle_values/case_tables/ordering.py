"""Sorting: topk with every kind of result, sort, argsort; distinct values, ties and nan."""

from __future__ import annotations

from .declare import CaseSpec, case, given

NAN, INF = float("nan"), float("inf")
DISTINCT = given([[3, 1, 4, 1.5], [-2, 7, 0, 5], [9, -8, 2.5, 6]])
CUBE = given([[[4, 7], [1, 2], [6, 3]], [[0, 5], [8, -1], [-3, 9]]])
TIES = given([2, 1, 2, 1, 2])


def top(ret_typ: str) -> list[CaseSpec]:
    """One kind of result along every axis."""
    ways = ({"k": 2}, {"k": 2, "axis": 0}, {"k": 3, "axis": -1, "is_ascend": True}, {"k": 0}, {"k": 3, "axis": None})
    return [case("topk", DISTINCT, ret_typ=ret_typ, **way) for way in ways]


CASES = [
    *(item for kind in ("indices", "value", "both", "mask") for item in top(kind)),
    case("topk", DISTINCT),
    case("topk", CUBE, k=2, axis=1, ret_typ="both"),
    case("topk", DISTINCT, k=2, dtype="int32"),
    case("topk", DISTINCT, k=2, ret_typ="both", dtype="int64", is_ascend=True),
    case("topk", TIES, k=4, note="ties"),
    case("topk", given([[3, 1, 2], [9, 8, 7]], "int32"), k=2, ret_typ="value"),
    case("topk", given([[3, 1, 2]], "float16"), k=2, ret_typ="both"),
    case("topk", given([[3, 1, 2]], "float64"), k=2, ret_typ="both"),
    case("topk", DISTINCT, k=9, note="more than there are"),
    case("topk", DISTINCT, k=1, axis=2, note="no such axis"),
    case("sort", DISTINCT),
    case("sort", DISTINCT, axis=0),
    case("sort", DISTINCT, axis=-1, is_ascend=False),
    case("sort", DISTINCT, axis=None),
    case("sort", CUBE, axis=1, is_ascend=False),
    case("sort", given([3, 1, 2], "int32")),
    case("sort", given([3, 200, 2], "uint8"), is_ascend=0),
    case("sort", given([INF, 1, -INF, 2])),
    case("argsort", DISTINCT),
    case("argsort", DISTINCT, axis=0),
    case("argsort", DISTINCT, axis=1, is_ascend=False),
    case("argsort", DISTINCT, axis=None),
    case("argsort", DISTINCT, dtype="int32"),
    case("argsort", CUBE, axis=-2, dtype="float64"),
    case("argsort", TIES, note="ties"),
    case("argsort", TIES, is_ascend=False, note="ties"),
    case("argsort", given([3, 1, 2], "int64")),
]
