"""Pooling: kinds, conventions, padding counted or not, p_value, global pooling, one to three dimensions."""

from __future__ import annotations

from .declare import case, given, real

KINDS = ({"pool_type": "max"}, {"pool_type": "avg"}, {"pool_type": "sum"}, {"pool_type": "lp", "p_value": 2})
IMAGE = real((1, 2, 5, 4))
CUBE = real((1, 1, 3, 4, 3))

CASES = [
    *(case("Pooling", IMAGE, kernel=(2, 2), **kind) for kind in KINDS),
    *(case("Pooling", IMAGE, kernel=(2, 2), stride=(2, 2), **kind) for kind in KINDS),
    *(case("Pooling", IMAGE, kernel=(3, 3), stride=(2, 2), pad=(1, 1), **kind) for kind in KINDS),
    *(case("Pooling", IMAGE, kernel=(2, 2), stride=(2, 2), pooling_convention="full", **kind) for kind in KINDS),
    *(case("Pooling", IMAGE, kernel=(2, 3), stride=(2, 2), pad=(1, 1), pooling_convention="full", **kind) for kind in KINDS),
    *(case("Pooling", IMAGE, global_pool=True, **kind) for kind in KINDS),
    *(case("Pooling", real((2, 2, 5)), kernel=(3,), stride=(2,), pad=(1,), **kind) for kind in KINDS),
    *(case("Pooling", CUBE, kernel=(2, 2, 2), stride=(1, 2, 1), pad=(1, 0, 1), **kind) for kind in KINDS),
    case("Pooling", real((2, 2, 5)), kernel=(2,), stride=(2,), pad=(0,), pooling_convention="same", note="never works in the oracle"),
    case("Pooling", IMAGE, kernel=(2, 2), stride=(2, 2), pooling_convention="same", note="never works in the oracle"),
    *(case("Pooling", real((1, 3, 4, 2)), kernel=(2, 2), pool_type=kind, layout="NHWC") for kind in ("max", "avg")),
    case("Pooling", real((2, 5, 2)), kernel=(2,), stride=(2,), layout="NWC"),
    *(case("Pooling", real((2, 2, 5)), global_pool=True, **kind) for kind in KINDS),
    *(case("Pooling", CUBE, global_pool=True, kernel=(2, 2, 2), **kind) for kind in KINDS),
    case("Pooling", IMAGE, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=False),
    case("Pooling", IMAGE, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=True),
    case("Pooling", IMAGE, kernel=(2, 2), stride=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False, pooling_convention="full"),
    case("Pooling", IMAGE, kernel=(2, 2), stride=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=True, pooling_convention="full"),
    case("Pooling", real((1, 1, 4)), kernel=(3,), pad=(2,), pool_type="avg", count_include_pad=False),
    case("Pooling", IMAGE, kernel=(2, 2), pool_type="lp", p_value=1),
    case("Pooling", IMAGE, kernel=(2, 2), pool_type="lp", p_value=3),
    case("Pooling", real((1, 1, 3, 3), 0.5, 2), kernel=(2, 2), pool_type="lp", p_value=3),
    case("Pooling", IMAGE, kernel=(2, 2), pool_type="lp", note="p_value is missing"),
    case("Pooling", IMAGE, kernel=(2, 2), note="max is the default"),
    case("Pooling", given([[[[1, 1], [1, 1]]]]), kernel=(2, 2), note="gradient at ties"),
    case("Pooling", given([[[[-1, -2], [-3, -4]]]]), kernel=(2, 2), pad=(1, 1), note="padding is no candidate for max"),
    case("Pooling", IMAGE, kernel=(2, 2), global_pool=True, stride=(2, 2), pad=(1, 1), pool_type="avg", note="others ignored"),
    case("Pooling", real((1, 1, 3, 3), dtype="float64"), kernel=(2, 2), pool_type="avg"),
    case("Pooling", real((1, 1, 3, 3), dtype="float16"), kernel=(2, 2), pool_type="max"),
    case("Pooling", IMAGE, kernel=(6, 6), note="kernel larger than data"),
    case("Pooling", IMAGE, kernel=(2, 2), pad=(2, 2), note="padding as large as the kernel"),
    case("Pooling", IMAGE, kernel=2, note="a bare number is one dimension"),
    case("Pooling", IMAGE, note="no kernel"),
    case("Pooling", IMAGE, kernel=(2, 2), pool_type="min", note="no such kind"),
]
