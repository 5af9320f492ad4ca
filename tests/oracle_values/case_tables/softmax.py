"""The softmax family: softmax, log_softmax, softmin, SoftmaxActivation, SoftmaxOutput."""

from __future__ import annotations

from itertools import product

from .declare import CaseSpec, case, given, real

INF = float("inf")
UNSAFE = "with a dtype, backward reads out of bounds"
NORMALIZATIONS = ("null", "batch", "valid")
LABELS = given([0, 3, 1])
IGNORED = given([0, -1, 2])
PIXELS = given([[0, 2], [1, 1]])


def family(op: str) -> list[CaseSpec]:
    """What softmax, log_softmax and softmin share."""
    return [
        case(op, real((2, 4))),
        case(op, real((2, 3, 2)), axis=1),
        case(op, real((2, 3, 2)), axis=0),
        case(op, real((2, 3, 2)), axis=-2, temperature=0.5),
        case(op, real((2, 4)), temperature=10.0),
        case(op, given([[1000, -1000, 0], [-INF, 0, 1], [88, 88, 88]]), note="large, and minus infinity"),
        case(op, real((2, 4)), grad=False, dtype="float64", note=UNSAFE),
        case(op, real((2, 4), dtype="float16")),
        case(op, real((2, 4), dtype="float16"), grad=False, dtype="float32", note=UNSAFE),
        case(op, real((2, 4)), axis=2, note="no such axis"),
    ]


def lengths(op: str) -> list[CaseSpec]:
    """Cases with a length for each row."""
    return [
        case(op, real((2, 4)), given([2, 4], "int32"), use_length=True, axis=1),
        case(op, real((2, 3, 2)), given([[1, 3], [2, 2]], "int32"), use_length=True, axis=1),
        case(op, real((2, 4)), given([0, 1], "int32"), use_length=True, note="nothing and one"),
        case(op, real((2, 4)), given([2, 3], "int64"), use_length=True, temperature=2.0),
        case(op, real((2, 4)), given([2, 3]), use_length=True, note="lengths as floats"),
    ]


CASES = [
    *(item for op in ("softmax", "log_softmax", "softmin") for item in family(op)),
    *lengths("softmax"),
    case("log_softmax", real((2, 4)), use_length=True, note="takes no lengths, so that the flag does nothing"),
    case("softmax", given([[1, 2, 3]], "int32"), note="whole numbers"),
    *(case("SoftmaxActivation", real((2, 3)), mode=mode) for mode in ("instance", "channel")),
    *(case("SoftmaxActivation", real((2, 3, 2)), mode=mode) for mode in ("instance", "channel")),
    case("SoftmaxActivation", real((1, 2, 2, 2)), mode="channel"),
    case("SoftmaxOutput", real((3, 4)), LABELS),
    case("SoftmaxOutput", real((3, 4)), LABELS, train=False),
    case("SoftmaxOutput", real((3, 4)), LABELS, path="nd.Softmax"),
    *(case("SoftmaxOutput", real((3, 4)), LABELS, normalization=n, grad_scale=2.0) for n in NORMALIZATIONS),
    *(case("SoftmaxOutput", real((3, 4)), IGNORED, use_ignore=True, normalization=n) for n in NORMALIZATIONS),
    *(case("SoftmaxOutput", real((3, 4)), LABELS, use_ignore=True, ignore_label=3, normalization=n) for n in NORMALIZATIONS),
    case("SoftmaxOutput", real((3, 4)), given([-1, -1, -1]), use_ignore=True, normalization="valid", note="nothing is valid"),
    case("SoftmaxOutput", real((3, 4)), given([-1, 4, 9]), note="labels out of range, not ignored"),
    *(case("SoftmaxOutput", real((2, 3, 2)), PIXELS, multi_output=True, normalization=n) for n in NORMALIZATIONS),
    *(
        case("SoftmaxOutput", real((2, 3, 2)), PIXELS, multi_output=True, use_ignore=True, ignore_label=1, normalization=n, grad_scale=0.5)
        for n in NORMALIZATIONS
    ),
    *(case("SoftmaxOutput", real((2, 2, 3)), PIXELS, preserve_shape=True, normalization=n) for n in NORMALIZATIONS),
    case("SoftmaxOutput", real((2, 2, 3)), PIXELS, preserve_shape=True, use_ignore=True, ignore_label=1),
    case("SoftmaxOutput", real((2, 3, 2)), given([0, 5]), note="three dimensions: each sample is flattened"),
    case("SoftmaxOutput", real((2, 3, 1, 2)), given([[[0, 2]], [[1, 1]]]), multi_output=True),
    *(case("SoftmaxOutput", real((3, 4)), LABELS, smooth_alpha=0.1, normalization=n) for n in NORMALIZATIONS),
    case("SoftmaxOutput", real((3, 4)), IGNORED, smooth_alpha=0.25, use_ignore=True),
    case("SoftmaxOutput", real((2, 3, 2)), PIXELS, multi_output=True, smooth_alpha=0.1),
    *(case("SoftmaxOutput", real((3, 4)), LABELS, out_grad=True, normalization=n) for n in NORMALIZATIONS),
    *(case("SoftmaxOutput", real((2, 3, 2)), PIXELS, multi_output=True, out_grad=o, grad_scale=3.0) for o in (True, False)),
    *(case("SoftmaxOutput", real((3, 4)), real((3, 4), 0, 1), normalization=n, note="probabilities as labels") for n in NORMALIZATIONS),
    case("SoftmaxOutput", real((3, 4)), real((3, 4), 0, 1), out_grad=True, grad_scale=2.0, note="probabilities as labels"),
    *(
        case("SoftmaxOutput", real((3, 4), dtype=t), given([0, 3, 1], t), grad_scale=s, normalization="batch")
        for t, s in product(("float16", "float64"), (1.0,))
    ),
    case("SoftmaxOutput", real((3, 4)), given([0, 1]), note="too few labels"),
]
