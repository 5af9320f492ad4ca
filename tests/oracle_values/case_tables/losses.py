"""Operators that end a network with a gradient of their own: regression outputs, MakeLoss, SVMOutput, CTCLoss."""

from __future__ import annotations

from typing import Any

from .declare import CaseSpec, case, given, real

REGRESSIONS = ("LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput")


def regression(op: str) -> list[CaseSpec]:
    """Labels of the data's shape and flat ones, scales, dtypes."""
    return [
        case(op, real((3, 2)), real((3, 2))),
        case(op, real((3, 2)), real((3, 2)), grad_scale=0.5),
        case(op, real((3, 1)), real((3,)), note="a flat label"),
        case(op, real((2, 2, 2)), real((2, 2, 2)), grad_scale=3.0, note="divided by the outputs of a sample"),
        case(op, real((3,)), real((3,))),
        case(op, given([1, 2, 3]), given([1, 3, 2]), note="data equal to the label"),
        case(op, real((3, 2)), real((3, 2)), train=False),
        case(op, real((3, 2), dtype="float64"), real((3, 2), dtype="float64")),
        case(op, real((3, 2)), real((2, 3)), note="sizes equal, shapes differ"),
        case(op, real((2, 3, 4)), real((2, 12)), note="samples equal, shapes differ"),
        case(op, real((2, 3, 4)), real((6, 4)), note="sizes equal, samples differ"),
        case(op, real((3, 2)), real((3,)), note="sizes differ"),
    ]


def ctc(label: list, *lengths: Any, **attrs: Any) -> CaseSpec:
    """CTCLoss over five steps of two sequences and four symbols."""
    return case("CTCLoss", real((5, 2, 4)), given(label), *lengths, **attrs)


CASES = [
    *(item for op in REGRESSIONS for item in regression(op)),
    case("MakeLoss", real((3, 2))),
    case("MakeLoss", real((3, 2)), grad_scale=2.0),
    case("MakeLoss", real((3, 2)), normalization="batch"),
    case("MakeLoss", real((2, 3, 4)), normalization="batch", grad_scale=2.0),
    case("MakeLoss", real((3,)), normalization="batch"),
    case("MakeLoss", real((3, 2)), normalization="valid"),
    case("MakeLoss", given([[0.5, -1, 2], [0, 3, 0.1]]), normalization="valid", valid_thresh=0.25, grad_scale=3.0),
    case("MakeLoss", given([[-1, -2]]), normalization="valid", note="nothing is valid"),
    case("MakeLoss", real((2, 2), dtype="float64"), normalization="batch", grad_scale=0.5),
    case("make_loss", real((2, 3)), note="the head gradient is used, unlike MakeLoss? The oracle says"),
    case("make_loss", real((2, 3), dtype="float64")),
    case("SVMOutput", real((3, 4)), given([0, 3, 1])),
    case("SVMOutput", real((3, 4)), given([0, 3, 1]), use_linear=True),
    case("SVMOutput", real((3, 4)), given([0, 3, 1]), margin=0.5, regularization_coefficient=0.25),
    case("SVMOutput", real((3, 4)), given([0, 3, 1]), margin=2.0, regularization_coefficient=0.5, use_linear=True),
    case("SVMOutput", given([[1, 0, -1], [0, 0, 0]]), given([0, 2]), note="on the margin"),
    case("SVMOutput", real((2, 3, 4)), given([[0, 1, 2], [3, 0, 1]]), note="a label for each position"),
    case("SoftmaxOutput", real((2, 3, 4)), given([[0, 1, 2], [3, 0, 1]]), note="rows are samples: the first two labels count"),
    case("SoftmaxOutput", real((2, 3, 4)), given([[0, 1, 2], [3, 0, 1]]), normalization="batch"),
    case("SoftmaxOutput", real((2, 3, 4)), given([[0, 1, 2], [3, 0, 1]]), normalization="valid", smooth_alpha=0.2),
    case("SoftmaxOutput", real((2, 3, 2, 2)), given([[[0, 1], [2, 1], [5, 3]]] * 2), use_ignore=True, ignore_label=1),
    ctc([[1, 0], [3, 2]]),
    ctc([[1, 1], [3, 2]], note="a repeated symbol"),
    ctc([[0, -1], [1, 2]], blank_label="last"),
    ctc([[1, 0], [3, 2]], given([3, 5]), use_data_lengths=True),
    ctc([[1, 3], [3, 2]], None, given([1, 2]), use_label_lengths=True),
    ctc([[1, 3], [3, 2]], given([4, 5]), given([2, 1]), use_data_lengths=True, use_label_lengths=True),
    ctc([[0, 1], [1, 2]], given([4, 5]), given([2, 1]), use_data_lengths=True, use_label_lengths=True, blank_label="last"),
    ctc([[1, 2, 3], [3, 2, 1]], note="three symbols"),
    ctc([[0, 0], [1, 0]], note="an empty label"),
    ctc([[1, 0], [3, 2]], path="nd.contrib.ctc_loss"),
    case("CTCLoss", real((2, 1, 3)), given([[1, 2, 1]]), note="a label longer than the data"),
    case("CTCLoss", real((3, 2, 3)), given([[1, 2]]), note="batch sizes differ"),
]
