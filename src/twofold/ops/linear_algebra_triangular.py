"""MXNet's operators on triangular matrices, diagonals and packed triangles, written over those of `linear_algebra`."""

import math

from ..errors import ShapeError
from ..opdef import op
from .creation import diagonal
from .linear_algebra import FLOATS, WHY, positive_definite, require_matrices, solve_triangular, tril, upper_mask, well_conditioned


def triangle(xp, A, is_lower):
    """The lower or upper triangles of square matrices, zeros elsewhere."""
    return tril(xp, A) if is_lower else xp.where(upper_mask(xp, A.shape, -1), A, 0)


def check_factors(A, B, rightside):
    """Check that square matrices can be multiplied with others of the same leading axes.

    Raises
    ------
    ShapeError
        If they cannot.
    """
    require_matrices(A)
    if len(B.shape) != len(A.shape) or A.shape[:-2] != B.shape[:-2] or A.shape[-1] != B.shape[-1 if rightside else -2]:
        wanted = "(…, m, n)" if rightside else "(…, n, m)"
        raise ShapeError("A and B do not match", f"A {A.shape}, B {B.shape}, rightside={rightside}", f"pass (…, n, n) and {wanted}")


def scale(x, alpha):
    """``alpha`` · x."""
    return x if alpha == 1 else x * alpha


@op("_linalg_trmm", "linalg_trmm", alike=True, real=True, floats=FLOATS)
def trmm(xp, A, B, *, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0):
    """``alpha`` · op(A) · B, or ``alpha`` · B · op(A) if ``rightside``, for triangular A; op(A) is Aᵀ if ``transpose``, else A."""
    check_factors(A, B, rightside)
    a = triangle(xp, A, lower)
    a = xp.matrix_transpose(a) if transpose else a
    return scale(xp.matmul(B, a) if rightside else xp.matmul(a, B), alpha)


@op("_linalg_trsm", "linalg_trsm", alike=True, floats=FLOATS)
def trsm(xp, A, B, *, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0):
    """``x`` with op(A) · x = ``alpha`` · B, or x · op(A) = ``alpha`` · B if ``rightside``, for triangular A."""
    check_factors(A, B, rightside)
    a = triangle(xp, A, lower)
    # x · op(A) = B is op(A)ᵀ · xᵀ = Bᵀ
    a = xp.matrix_transpose(a) if transpose != rightside else a
    is_lower = lower == (transpose == rightside)
    found = solve_triangular(xp, a, xp.matrix_transpose(B) if rightside else B, is_lower)
    return scale(xp.matrix_transpose(found) if rightside else found, alpha)


for _op in (trmm, trsm):
    _op.sample(lambda draw: draw(draw.real((2, 3, 3), then=well_conditioned), draw.real((2, 3, 2)), alpha=2.0))
    _op.sample(
        lambda draw: draw(
            draw.real((3, 3), then=well_conditioned), draw.real((2, 3)), rightside=True, lower=False, transpose=True, alpha=0.5
        )
    )


@op("_linalg_potrf", "linalg_potrf", keeps_shape=True, floats=FLOATS)
def potrf(xp, A, *, lower: bool = True):
    """Lower triangular L with L · Lᵀ = A of symmetric positive definite matrices, or upper triangular U with Uᵀ · U = A.

    Only the lower or upper triangle of A is read.
    """
    return xp.cholesky(A) if lower else xp.matrix_transpose(xp.cholesky(xp.matrix_transpose(A)))


@op("_linalg_potri", "linalg_potri", keeps_shape=True, floats=FLOATS)
def potri(xp, A, *, lower: bool = True):
    """Inverses of A · Aᵀ for lower triangular A, or of Aᵀ · A for upper triangular A, such as `potrf` gives."""
    require_matrices(A)
    inverse = xp.inverse(triangle(xp, A, lower))
    back = xp.matrix_transpose(inverse)
    return xp.matmul(back, inverse) if lower else xp.matmul(inverse, back)


potrf.sample(lambda draw: [draw(draw.real((2, 3, 3), then=positive_definite), gradient=False, why=WHY, lower=b) for b in (True, False)])
potri.sample(lambda draw: [draw(draw.real((2, 3, 3), then=well_conditioned), lower=lower) for lower in (True, False)])


@op("_linalg_syrk", "linalg_syrk", real=True, floats=FLOATS)
def syrk(xp, A, *, transpose: bool = False, alpha: float = 1.0):
    """``alpha`` · A · Aᵀ, or ``alpha`` · Aᵀ · A if ``transpose``."""
    require_matrices(A, square=False)
    return scale(xp.matmul(xp.matrix_transpose(A), A) if transpose else xp.matmul(A, xp.matrix_transpose(A)), alpha)


syrk.sample(lambda draw: [draw(draw.real((2, 2, 3)), alpha=2.0), draw(draw.real((2, 3)), transpose=True)])


@op("_linalg_sumlogdiag", "linalg_sumlogdiag", real=True, floats=FLOATS)
def sumlogdiag(xp, A):
    """Sums of the logarithms of the diagonals of (…, n, n) matrices."""
    require_matrices(A)
    return xp.sum(xp.log(diagonal(xp, A, 0, -2, -1)), axis=-1)


sumlogdiag.sample(lambda draw: [draw(draw.real((2, 3, 3), low=0.5)), draw(draw.real((3, 3), low=0.5))])


# diagonals and packed triangles


@op("_linalg_extractdiag", "linalg_extractdiag", real=True, floats=FLOATS)
def extractdiag(xp, A, *, offset: int = 0):
    """The diagonals ``offset`` of (…, n, n) matrices, as vectors (…, n - |offset|)."""
    require_matrices(A)
    check_offset(A, offset)
    return diagonal(xp, A, offset, -2, -1)


def check_offset(A, offset):
    """Check that a diagonal crosses the matrices.

    Raises
    ------
    ShapeError
        If it does not.
    """
    if abs(offset) >= A.shape[-1]:
        raise ShapeError("no such diagonal", f"offset={offset} of shape {A.shape}", "pass one that crosses the matrix")


@op("_linalg_makediag", "linalg_makediag", real=True, floats=FLOATS)
def makediag(xp, A, *, offset: int = 0):
    """Square matrices (…, n + |offset|, n + |offset|) with vectors (…, n) on the diagonals ``offset``, zeros elsewhere."""
    if not A.shape:
        raise ShapeError("vectors are needed", f"shape {A.shape}", "pass (…, n)")
    n = A.shape[-1] + abs(offset)
    # the diagonal is every (n + 1)-th element of the flattened matrix
    first = offset if offset >= 0 else -offset * n
    key = (*[(None, None, None)] * (len(A.shape) - 1), (first, first + A.shape[-1] * (n + 1), n + 1))
    flat = xp.slice_update(xp.zeros((*A.shape[:-1], n * n), xp.dtype_of(A)), A, key=key)
    return xp.reshape(flat, shape=(*A.shape[:-1], n, n))


for _k in (0, -1, 2):
    makediag.sample(lambda draw, k=_k: draw(draw.real((2, 3)), offset=k))
    extractdiag.sample(lambda draw, k=_k: draw(draw.real((2, 3, 3)), offset=k))


def rows_of_packed(size):
    """The number of rows of a triangle with that many elements; None if no triangle has."""
    # the positive solution of r (r + 1) / 2 = size
    rows = (math.isqrt(8 * size + 1) - 1) // 2
    return rows if rows * (rows + 1) // 2 == size else None


@op("_linalg_extracttrian", "linalg_extracttrian", real=True, floats=FLOATS)
def extracttrian(xp, A, *, offset: int = 0, lower: bool = True):
    """Triangles of (…, n, n) matrices, row by row, as vectors: the elements up to the diagonal ``offset``, or from it on if it is positive.

    For ``offset=0`` ``lower`` chooses. An upper triangle is packed as the lower one of the transpose.
    """
    require_matrices(A)
    check_offset(A, offset)
    n, gone = A.shape[-1], abs(offset)
    a = A if offset < 0 or (offset == 0 and lower) else xp.matrix_transpose(A)
    rows = n - gone
    number = xp.iota(size=rows * (rows + 1) // 2, dtype="int64")
    # the row of element p of a packed triangle; the root is exact where p is the first of its row
    row = xp.cast(xp.floor((xp.sqrt(xp.cast(number * 8 + 1, "float64")) - 1) * 0.5), "int64")
    # the first r (r + 1) / 2 elements are in rows before row r; the triangle begins `gone` rows below the top
    places = (row + gone) * n + number - xp.floor_divide(row * (row + 1), 2)
    return xp.take(xp.reshape(a, shape=(*a.shape[:-2], n * n)), places, axis=len(a.shape) - 2)


@op("_linalg_maketrian", "linalg_maketrian", real=True, floats=FLOATS)
def maketrian(xp, A, *, offset: int = 0, lower: bool = True):
    """Square matrices with vectors (…, k (k + 1) / 2) as triangles, zeros elsewhere; undoes `extracttrian`."""
    rows = rows_of_packed(A.shape[-1]) if A.shape else None
    if rows is None:
        raise ShapeError("the size is not a triangular number", f"shape {A.shape}", "pass (…, k (k + 1) / 2)")
    n = rows + abs(offset)
    column = xp.iota(size=n, dtype="int64")
    row = xp.reshape(column, shape=(n, 1)) - abs(offset)
    inside = xp.logical_and(xp.greater_equal(row, column), xp.greater_equal(row, 0))
    # elements outside read element 0, which the next line replaces
    places = xp.where(inside, xp.floor_divide(row * (row + 1), 2) + column, 0)
    matrix = xp.where(inside, xp.take(A, places, axis=len(A.shape) - 1), 0)
    return matrix if offset < 0 or (offset == 0 and lower) else xp.matrix_transpose(matrix)


for _k, _is_lower in ((0, True), (0, False), (-1, True), (1, True)):
    maketrian.sample(lambda draw, k=_k, is_lower=_is_lower: draw(draw.real((2, 6)), offset=k, lower=is_lower))
    extracttrian.sample(lambda draw, k=_k, is_lower=_is_lower: draw(draw.real((2, 3, 3)), offset=k, lower=is_lower))
