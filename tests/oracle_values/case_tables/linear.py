"""Products: FullyConnected, dot, batch_dot, linalg gemm and gemm2, khatri_rao."""

from __future__ import annotations

from .declare import case, given, real

FLAGS = tuple((a, b) for a in (False, True) for b in (False, True))


def pair(rows: int, inner: int, columns: int, transpose_a: bool, transpose_b: bool, *batch: int) -> tuple:
    """Two matrices whose product is (rows, columns) once transposed as said."""
    left = (*batch, inner, rows) if transpose_a else (*batch, rows, inner)
    right = (*batch, columns, inner) if transpose_b else (*batch, inner, columns)
    return real(left), real(right)


CASES = [
    case("FullyConnected", real((2, 3)), real((4, 3)), real((4,)), num_hidden=4),
    case("FullyConnected", real((2, 3)), real((4, 3)), num_hidden=4, no_bias=True),
    case("FullyConnected", real((2, 3, 2)), real((4, 6)), real((4,)), num_hidden=4, note="flattens"),
    case("FullyConnected", real((2, 3, 2)), real((4, 2)), real((4,)), num_hidden=4, flatten=False),
    case("FullyConnected", real((2, 3, 2)), real((4, 2)), num_hidden=4, flatten=False, no_bias=True),
    case("FullyConnected", real((2, 3), dtype="float64"), real((4, 3), dtype="float64"), real((4,), dtype="float64"), num_hidden=4),
    case("FullyConnected", real((2, 3)), real((4, 3)), None, num_hidden=4, no_bias=True, note="None for the bias"),
    case("FullyConnected", real((2, 3)), real((4, 2)), real((4,)), num_hidden=4, note="the weight does not fit"),
    case("FullyConnected", real((2, 3)), real((4, 3)), num_hidden=4, note="the bias is missing"),
    case("FullyConnected", real((3,)), real((4, 3)), real((4,)), num_hidden=4, flatten=False, note="one dimension"),
    case("dot", real((3,)), real((3,)), note="an inner product"),
    *(case("dot", *pair(2, 3, 4, a, b), transpose_a=a, transpose_b=b) for a, b in FLAGS),
    case("dot", real((2, 3)), real((3,))),
    case("dot", real((3,)), real((3, 2))),
    case("dot", real((2, 3)), real((2,)), transpose_a=True),
    case("dot", real((2, 3, 2)), real((2, 4)), note="last axis with first"),
    case("dot", real((2, 3)), real((3, 2, 2)), note="last axis with first"),
    case("dot", real((2, 2, 3)), real((3, 2, 2))),
    case("dot", real((3, 2, 2)), real((3, 4)), transpose_a=True, note="transposes move the first axis last"),
    case("dot", real((2, 3)), real((2, 2, 3)), transpose_b=True),
    case("dot", real((2, 3), dtype="float64"), real((3, 2), dtype="float64")),
    case("dot", real((2, 3), dtype="float16"), real((3, 2), dtype="float16")),
    case("dot", given([[1, 2]], "int32"), given([[3], [4]], "int32")),
    case("dot", real((2, 3)), real((2, 3)), note="shapes do not fit"),
    *(case("batch_dot", *pair(2, 3, 4, a, b, 2), transpose_a=a, transpose_b=b) for a, b in FLAGS),
    *(case("batch_dot", *pair(1, 2, 3, a, b, 2, 2), transpose_a=a, transpose_b=b, note="two batch axes") for a, b in FLAGS),
    case("batch_dot", real((2, 2, 3), dtype="float64"), real((2, 3, 1), dtype="float64")),
    case("batch_dot", real((2, 2, 3)), real((1, 3, 2)), note="batches do not broadcast"),
    case("batch_dot", real((2, 3)), real((3, 2)), note="two dimensions"),
    *(case("_linalg_gemm", *pair(2, 3, 4, a, b), real((2, 4)), transpose_a=a, transpose_b=b) for a, b in FLAGS),
    case("_linalg_gemm", *pair(2, 3, 4, False, False), real((2, 4)), alpha=2.0, beta=-0.5),
    case("_linalg_gemm", *pair(2, 3, 1, False, True, 2), real((2, 2, 1)), transpose_b=True, alpha=0.5, note="batched"),
    case("_linalg_gemm", real((2, 3, 2)), real((3, 3, 1)), real((2, 3, 1)), axis=0, note="the rows' axis; shapes do not fit"),
    case("_linalg_gemm", real((2, 3, 2)), real((2, 3, 1)), real((2, 3, 1)), axis=0, note="the rows' axis"),
    case("_linalg_gemm", *(real((2, 2), dtype="float64"),) * 3),
    case("_linalg_gemm", real((2, 3)), real((2, 3)), real((2, 3)), note="shapes do not fit"),
    *(case("_linalg_gemm2", *pair(2, 3, 4, a, b), transpose_a=a, transpose_b=b) for a, b in FLAGS),
    case("_linalg_gemm2", *pair(2, 3, 1, True, False, 2), transpose_a=True, alpha=-2.0),
    case("_linalg_gemm2", real((3, 2, 2)), real((2, 2, 3)), axis=0, note="the rows' axis"),
    case("_linalg_gemm2", *pair(2, 3, 2, False, False), path="nd.linalg_gemm2"),
    case("_linalg_gemm2", real((2, 2), dtype="float16"), real((2, 2), dtype="float16"), note="dtype"),
    case("khatri_rao", real((2, 3)), real((4, 3))),
    case("khatri_rao", real((2, 2)), real((1, 2)), real((3, 2))),
    case("khatri_rao", real((2, 2)), note="one input"),
    case("khatri_rao", real((2, 2)), real((2, 3)), note="columns differ"),
]
