"""Convolution and Deconvolution in one, two and three dimensions: stride, pad, dilate, groups, adj, target_shape."""

from __future__ import annotations

from typing import Any

from .declare import CaseSpec, case, real


def convolution(data: tuple, kernel: tuple, filters: int = 2, groups: int = 1, bias: bool = True, **attrs: Any) -> CaseSpec:
    """A Convolution whose weight shape (filters, c / groups, *kernel) follows from the rest."""
    inputs = [real(data), real((filters, data[1] // groups, *kernel), -1, 1), *([real((filters,))] if bias else [])]
    return case("Convolution", *inputs, kernel=kernel, num_filter=filters, **grouping(groups), **no_bias(not bias, False), **attrs)


def deconvolution(data: tuple, kernel: tuple, filters: int = 2, groups: int = 1, bias: bool = False, **attrs: Any) -> CaseSpec:
    """A Deconvolution whose weight shape (c, filters / groups, *kernel) follows from the rest."""
    inputs = [real(data), real((data[1], filters // groups, *kernel), -1, 1), *([real((filters,))] if bias else [])]
    return case("Deconvolution", *inputs, kernel=kernel, num_filter=filters, **grouping(groups), **no_bias(not bias, True), **attrs)


def grouping(groups: int) -> dict:
    """The attribute for more than one group."""
    return {} if groups == 1 else {"num_group": groups}


def no_bias(value: bool, default: bool) -> dict:
    """The attribute no_bias where it is not the operator's default."""
    return {} if value == default else {"no_bias": value}


CASES = [
    convolution((2, 3, 5), (3,)),
    convolution((1, 2, 6), (2,), stride=(2,), pad=(1,)),
    convolution((1, 2, 7), (3,), dilate=(2,)),
    convolution((1, 4, 5), (2,), filters=4, groups=2),
    convolution((2, 3, 4, 4), (3, 3)),
    convolution((2, 2, 4, 5), (3, 2), bias=False),
    convolution((1, 2, 5, 5), (3, 3), stride=(2, 2)),
    convolution((1, 2, 5, 5), (3, 3), pad=(1, 1)),
    convolution((1, 2, 5, 4), (3, 3), stride=(2, 1), pad=(0, 2)),
    convolution((1, 2, 6, 6), (2, 3), dilate=(2, 2)),
    convolution((1, 2, 6, 6), (2, 2), stride=(2, 1), pad=(1, 2), dilate=(3, 2)),
    convolution((1, 4, 4, 4), (3, 3), filters=4, groups=2, pad=(1, 1)),
    convolution((1, 3, 4, 4), (2, 2), filters=3, groups=3),
    convolution((1, 2, 3, 3), (2, 2), filters=6, groups=2, bias=False),
    convolution((2, 3, 3, 3), (1, 1), filters=4),
    convolution((1, 1, 3, 3), (1, 1), stride=(2, 2)),
    convolution((1, 1, 3, 3), (3, 3), layout="NCHW"),
    convolution((1, 1, 4, 4), (2, 2), stride=(3, 3)),
    convolution((1, 2, 3, 4, 3), (2, 2, 2)),
    convolution((1, 1, 4, 3, 4), (2, 3, 2), stride=(2, 1, 2), pad=(1, 1, 0)),
    convolution((1, 1, 4, 4, 3), (2, 2, 2), dilate=(2, 1, 1)),
    convolution((1, 2, 3, 3, 3), (2, 2, 2), groups=2),
    case("Convolution", *(real(s, dtype="float64") for s in ((1, 2, 3, 3), (2, 2, 2, 2), (2,))), kernel=(2, 2), num_filter=2),
    case("Convolution", real((1, 2, 3, 3)), real((2, 2, 2, 2)), real((2,)), kernel="(2,2)", num_filter="2", note="attributes as strings"),
    case("Convolution", real((1, 2, 3, 3)), real((2, 3, 2, 2)), real((2,)), kernel=(2, 2), num_filter=2, note="the weight does not fit"),
    case("Convolution", real((1, 2, 3, 3)), real((2, 2, 4, 4)), real((2,)), kernel=(4, 4), num_filter=2, note="kernel larger than data"),
    case("Convolution", real((1, 3, 3, 3)), real((2, 1, 2, 2)), real((2,)), kernel=(2, 2), num_filter=2, num_group=2, note="groups"),
    case("Convolution", real((1, 2, 3, 3)), real((2, 2, 2, 2)), real((2,)), kernel=2, num_filter=2, note="a bare number is 1-d"),
    case("Convolution", real((1, 4, 4, 2)), real((3, 2, 2, 2)), real((3,)), kernel=(2, 2), num_filter=3, layout="NHWC", note="GPU only"),
    deconvolution((2, 3, 4), (3,)),
    deconvolution((1, 2, 3), (3,), stride=(2,), pad=(1,), adj=(1,)),
    deconvolution((1, 2, 3), (2,), stride=(2,), target_shape=(5,)),
    deconvolution((1, 2, 3), (2,), dilate=(2,), bias=True),
    deconvolution((2, 3, 3, 3), (2, 2)),
    deconvolution((1, 2, 3, 4), (3, 3), bias=True),
    deconvolution((1, 2, 3, 3), (3, 3), stride=(2, 2)),
    deconvolution((1, 2, 3, 3), (3, 3), stride=(2, 2), pad=(1, 1)),
    deconvolution((1, 2, 3, 3), (3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1)),
    deconvolution((1, 2, 3, 2), (4, 3), stride=(3, 2), pad=(1, 0), adj=(2, 0)),
    deconvolution((1, 2, 3, 3), (4, 4), stride=(2, 2), target_shape=(6, 6)),
    deconvolution((1, 2, 3, 3), (3, 3), stride=(2, 2), target_shape=(6, 6)),
    deconvolution((1, 2, 3, 3), (3, 3), stride=(2, 2), target_shape=(6, 5), pad=(5, 5), adj=(7, 7)),
    deconvolution((1, 2, 3, 3), (2, 2), dilate=(2, 3)),
    deconvolution((1, 4, 3, 3), (2, 2), filters=4, groups=2),
    deconvolution((1, 2, 2, 2), (2, 2), filters=6, groups=2, bias=True),
    deconvolution((1, 2, 2, 3, 2), (2, 2, 2), onednn=True),
    deconvolution((1, 1, 2, 2, 3), (3, 2, 2), stride=(2, 2, 1), pad=(1, 0, 0), adj=(1, 0, 0), onednn=True),
    case("Deconvolution", *(real(s, dtype="float64") for s in ((1, 2, 3, 3), (2, 2, 2, 2))), kernel=(2, 2), num_filter=2),
    deconvolution((1, 2, 3, 3), (3, 3), stride=(2, 2), adj=(2, 2)),
    deconvolution((1, 2, 3, 3), (3, 3), target_shape=(9, 9)),
]
