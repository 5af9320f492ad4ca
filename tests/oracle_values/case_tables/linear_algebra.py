"""Linear algebra: factors, inverses, determinants, triangular products and equations, eigenvalues, diagonals, packed triangles."""

from __future__ import annotations

import numpy as np

from .declare import case, given, ramp, real


def matrix(*batch: int, n: int = 3, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """Matrices far from singular ones."""
    draw = np.random.default_rng(seed).integers(-1024, 1024, (*batch, n, n)) / 1024
    return given(draw + 2 * np.diag(np.arange(1.0, n + 1)), dtype)


def definite(*batch: int, n: int = 3, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """Symmetric positive definite matrices whose eigenvalues differ."""
    factor = matrix(*batch, n=n, seed=seed)
    return given(factor @ np.swapaxes(factor, -1, -2), dtype)


def one_sided(*batch: int) -> np.ndarray:
    """Such matrices with something else above the diagonal, which is not read."""
    return np.tril(definite(*batch)) + np.triu(np.full((3, 3), 7.0), 1)


SINGULAR = given([[1, 2], [2, 4]], "float64")
FLAGS = tuple((a, b, c) for a in (False, True) for b in (False, True) for c in (False, True))
#: Operators of one matrix, and what each takes.
UNARY = {
    "potrf": definite,
    "potri": matrix,
    "syevd": definite,
    "inverse": matrix,
    "det": matrix,
    "slogdet": matrix,
    "sumlogdiag": definite,
    "gelqf": matrix,
    "syrk": matrix,
    "extractdiag": matrix,
    "extracttrian": matrix,
}

CASES = [
    *(case(f"_linalg_{name}", make(2)) for name, make in UNARY.items()),
    *(case(f"_linalg_{name}", make(2, 2, n=2), note="two batch axes") for name, make in UNARY.items()),
    *(case(f"_linalg_{name}", make(dtype="float32"), note="one matrix") for name, make in UNARY.items()),
    *(case(f"_linalg_{name}", one_sided()) for name in ("potrf", "potri", "syevd", "sumlogdiag")),
    *(case(f"_linalg_{name}", real((3,)), note="a vector") for name in UNARY),
    *(case(f"_linalg_{name}", real((2, 3)), note="not square") for name in UNARY if name not in ("gelqf", "syrk")),
    *(case(f"_linalg_{name}", definite(dtype="float16"), note="dtype") for name in UNARY),
    *(case(f"_linalg_{name}", given([[3, 1], [1, 2]], "int32"), note="dtype") for name in UNARY),
    *(case(f"_linalg_{name}", definite(), path=f"nd.linalg_{name}") for name in UNARY if name != "syevd"),
    case("_linalg_potrf", -definite(), note="negative definite"),
    case("_linalg_inverse", SINGULAR, note="singular"),
    case("_linalg_det", SINGULAR, note="singular"),
    case("_linalg_slogdet", SINGULAR, note="singular"),
    case("_linalg_det", -matrix(n=3), note="a negative one"),
    case("_linalg_slogdet", -matrix(n=3), note="a negative one"),
    case("_linalg_gelqf", real((2, 2, 3), dtype="float64"), note="wide"),
    case("_linalg_gelqf", real((3, 2)), note="tall"),
    *(case("_linalg_syrk", real((2, 2, 3), dtype="float64"), transpose=t, alpha=a) for t in (False, True) for a in (1.0, -2.0)),
    *(
        case(
            f"_linalg_{name}",
            matrix(2),
            real((2, 2, 3) if r else (2, 3, 2), dtype="float64"),
            transpose=t,
            rightside=r,
            lower=lo,
            alpha=2.0,
        )
        for name in ("trmm", "trsm")
        for t, r, lo in FLAGS
    ),
    *(case(f"_linalg_{name}", matrix(), real((3, 2), dtype="float64")) for name in ("trmm", "trsm")),
    *(case(f"_linalg_{name}", matrix(), real((2, 3), dtype="float64"), note="shapes do not fit") for name in ("trmm", "trsm")),
    *(case(f"_linalg_{name}", matrix(2), real((3, 2), dtype="float64"), note="batches differ") for name in ("trmm", "trsm")),
    *(case("_linalg_makediag", ramp(2, 3), offset=k) for k in (-2, -1, 0, 1)),
    *(case("_linalg_extractdiag", ramp(2, 3, 3), offset=k) for k in (-2, -1, 0, 1)),
    *(case("_linalg_makediag", ramp(3), offset=k) for k in (0, 1)),
    *(case("_linalg_maketrian", ramp(2, 6), offset=k, lower=lo) for k in (-2, -1, 0, 1, 2) for lo in (False, True)),
    *(case("_linalg_extracttrian", ramp(2, 4, 4), offset=k, lower=lo) for k in (-2, -1, 0, 1, 2) for lo in (False, True)),
    case("_linalg_maketrian", ramp(5), note="no triangle has so many"),
]
