"""Singular values and pseudo-inverses of (…, m, n) matrices, with their gradients.

Singular vectors are determined up to a sign, as eigenvectors are; see `linear_algebra`. Source of the gradient: J. Townsend,
"Differentiating the singular value decomposition", 2016.
"""

from ..opdef import op, primitive
from .linear_algebra import (
    FLOATS,
    WHY,
    diagonal_matrices,
    inverse_differences,
    positive_definite,
    require_matrices,
    scale_columns,
    well_conditioned,
)


@primitive(
    "_npi_svd",
    reference=lambda np, A: tuple(np.linalg.svd(A, full_matrices=False)),
    outputs=3,
    floats=FLOATS,
    row="linalg.svd(a) -> tuple",
    batch="leading",
)
def svd(xp, A):
    """U (…, m, k), singular values (…, k), descending, and V (…, k, n), k = min(m, n): A = U · diag(values) · V."""


@svd.type
def _(A):
    require_matrices(A, square=False)
    *batch, m, n = A.shape
    k = min(m, n)
    return [((*batch, m, k), A.dtype), ((*batch, k), A.dtype), ((*batch, k, n), A.dtype)]


@svd.grad
def _(xp, dout, out):
    (u, s, vh), (du, ds, dvh) = out, dout
    # Townsend: dA = U · (diag(ds) + (F ∘ (Uᵀ dU - dUᵀ U)) · S + S · (F ∘ (V dVᵀ - dV Vᵀ))) · V with F = 1 / (s[j]² - s[i]²), plus `outside`
    inner = None if ds is None else diagonal_matrices(xp, ds)
    rows = xp.expand_dims(s, -1)
    outside = 0
    gaps = inverse_differences(xp, s * s)  # dead code where only the singular values have a gradient
    if du is not None or dvh is not None:
        inner = xp.zeros_like(diagonal_matrices(xp, s)) if inner is None else inner
    if du is not None:
        along = xp.matmul(xp.matrix_transpose(u), du)
        inner = inner + scale_columns(xp, gaps * (along - xp.matrix_transpose(along)), s)
        if u.shape[-2] > u.shape[-1]:
            # the part of dU that is orthogonal to the columns of U
            outside = outside + xp.matmul(scale_columns(xp, du - xp.matmul(u, along), 1 / s), vh)
    if dvh is not None:
        along = xp.matmul(vh, xp.matrix_transpose(dvh))
        inner = inner + rows * (gaps * (along - xp.matrix_transpose(along)))
        if vh.shape[-1] > vh.shape[-2]:
            outside = outside + xp.matmul(u, (dvh - xp.matmul(xp.matrix_transpose(along), vh)) / rows)
    return xp.matmul(xp.matmul(u, inner), vh) + outside


@primitive(reference=lambda np, A: np.linalg.svd(A, compute_uv=False), floats=FLOATS, batch="leading")
def singular_values(xp, A):
    """The singular values of `svd` alone, more than twice as fast; their last digits may differ."""


@singular_values.type
def _(A):
    require_matrices(A, square=False)
    return [((*A.shape[:-2], min(A.shape[-2:])), A.dtype)]


@singular_values.grad
def _(xp, dout, A):
    u, _, vh = xp.svd(A)
    return xp.matmul(scale_columns(xp, u, dout), vh)


for _op in (svd, singular_values):
    _op.sample(lambda draw: [draw(draw.real(shape, then=well_conditioned)) for shape in ((2, 3, 3), (4, 3), (2, 2, 3))])


@op("_npi_pinv", floats=FLOATS)
def pinv(xp, A, rcond, *, hermitian: bool = False):
    """Pseudo-inverses; singular values up to ``rcond`` (…) times the largest count as 0.

    If ``hermitian``, A is symmetric and decomposed by `eigh`.
    """
    require_matrices(A, square=False)
    if 0 in A.shape[-2:]:
        return xp.full(shape=(*A.shape[:-2], A.shape[-1], A.shape[-2]), value=0.0, dtype=xp.dtype_of(A))
    if hermitian:
        values, v = xp.eigh(A)
        left, right, size = v, xp.matrix_transpose(v), xp.absolute(values)
    else:
        right_, values, left_ = xp.svd(A)
        left, right, size = xp.matrix_transpose(left_), xp.matrix_transpose(right_), values
    large = xp.greater(size, xp.expand_dims(rcond, -1) * xp.max(size, axis=-1, keepdims=True))
    return xp.matmul(scale_columns(xp, left, xp.where(large, 1 / xp.where(large, values, 1), 0)), right)


@pinv.grad
def _(xp, dout, out, A):
    """Golub and Pereyra, "The differentiation of pseudo-inverses", 1973: of matrices whose rank does not change."""
    p, pt, gt = out, xp.matrix_transpose(out), xp.matrix_transpose(dout)
    inside = -xp.matmul(xp.matmul(pt, dout), pt)
    rows = gt - xp.matmul(A, xp.matmul(p, gt))
    columns = gt - xp.matmul(xp.matmul(gt, p), A)
    return inside + xp.matmul(rows, xp.matmul(p, pt)) + xp.matmul(xp.matmul(pt, p), columns), None


@op("_npi_pinv_scalar_rcond", floats=FLOATS)
def pinv_of_scalar(xp, A, *, rcond: float = 1e-15, hermitian: bool = False):
    """`pinv` with one ``rcond`` for all matrices."""
    return pinv(xp, A, xp.full(shape=A.shape[:-2], value=rcond, dtype=xp.dtype_of(A)), hermitian=hermitian)


for _shape in ((2, 3, 3), (4, 3), (2, 3)):
    pinv_of_scalar.sample(lambda draw, shape=_shape: draw(draw.real(shape, then=well_conditioned)))


@pinv.sample
def _(draw):
    return draw(draw.real((2, 3, 3), then=positive_definite), draw.real((2,), 0.0, 1e-4), gradient=False, why=WHY, hermitian=True)
