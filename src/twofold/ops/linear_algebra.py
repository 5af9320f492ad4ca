"""Decompositions and inverses of (…, n, n) or (…, m, n) matrices, with their gradients.

Gradients are written over ``xp``, so they have gradients in turn. Sources: M. Giles, "Collected matrix derivative results for forward
and reverse mode algorithmic differentiation", 2008; I. Murray, "Differentiation of the Cholesky decomposition", 2016; M. Seeger et al.,
"Auto-differentiating linear algebra", 2017; S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010.

Eigenvectors and singular vectors (`singular_values`) are determined up to a sign (a rotation, where values repeat). Their gradients are
meaningful for functions that do not depend on that choice. If values repeat, these gradients are not finite; first gradients of the values
alone are finite. Only one triangle of a symmetric matrix is read, and its gradient is symmetric.
"""

from ..dtype import COMPLEX, promote
from ..errors import NoMatrices, ParameterError, ShapeError
from ..opdef import broadcast_shapes, op, primitive
from .creation import diagonal

FLOATS = ("float32", "float64")
#: The dtypes of operators whose gradient rules hold for complex numbers too.
NUMBERS = (*FLOATS, *COMPLEX)


# parts of matrices


def require_matrices(x, square=True):
    """Check that an array holds (square) matrices.

    Raises
    ------
    NoMatrices
        If it does not.
    """
    if len(x.shape) < 2:
        raise NoMatrices("matrices are needed", f"shape {x.shape}", "pass an array of at least two dimensions")
    if square and x.shape[-1] != x.shape[-2]:
        raise NoMatrices("Last 2 dimensions of the array must be square", f"shape {x.shape}", "pass (…, n, n)")


def type_of_square(A):
    """Type rule of primitives that give square matrices like those they take."""
    require_matrices(A)
    return A.shape, A.dtype


def upper_mask(xp, shape, offset=0):
    """Whether an element of a matrix is to the right of the diagonal ``offset``; broadcasts to the shape."""
    rows, columns = (xp.iota(size=n, dtype="int64") for n in shape[-2:])
    return xp.greater(columns, xp.reshape(rows, shape=(shape[-2], 1)) + offset)


def tril(xp, x, offset=0):
    """The elements up to a diagonal, zeros to the right of it."""
    return xp.where(upper_mask(xp, x.shape, offset), 0, x)


def eye_like(xp, x):
    """The identity matrix, of the size and dtype of square matrices."""
    n = xp.iota(size=x.shape[-1], dtype="int64")
    return xp.cast_like(xp.equal(n, xp.reshape(n, shape=(x.shape[-1], 1))), x)


def diagonal_matrices(xp, values):
    """Square matrices with the values (…, n) on their diagonals."""
    return xp.expand_dims(values, -1) * eye_like(xp, values)


def scale_columns(xp, x, values):
    """``x`` · diag(values)."""
    return x * xp.expand_dims(values, -2)


def symmetric_part(xp, x):
    """(x + xᵀ) / 2."""
    return (x + xp.matrix_transpose(x)) * 0.5


def expand_scalars(xp, values):
    """Scalars (…) as (…, 1, 1), to be combined with matrices (…, n, n)."""
    return xp.reshape(values, shape=(*values.shape, 1, 1))


def inverse_differences(xp, values):
    """1 / (values[j] - values[i]) at place (i, j), and 0 on the diagonal."""
    # 1 is added on the diagonal, where the difference is 0, and the numerator is 0 there
    one = eye_like(xp, values)
    return (1 - one) / (xp.expand_dims(values, -2) - xp.expand_dims(values, -1) + one)


def positive_definite(np, x):
    """Symmetric matrices with eigenvalues of at least 1, for samples."""
    return x @ np.swapaxes(x, -1, -2) + np.diag(np.arange(1.0, x.shape[-1] + 1)).astype(x.dtype)


def well_conditioned(np, x):
    """Matrices that are far from singular, for samples."""
    return x + 4 * np.eye(*x.shape[-2:], dtype=x.dtype) * np.arange(1, x.shape[-1] + 1, dtype=x.dtype)


#: Finite differences leave the symmetric matrices: tests/ops/test_linear_algebra.py has their gradients.
WHY = "finite differences leave the symmetric matrices"


# linear equations


@primitive(reference=lambda np, a, b: np.linalg.solve(a, b), floats=NUMBERS, complex_gradient=True, batch="leading")
def solve(xp, a, b):
    """``x`` with a · x = b: (…, n, n) and (…, n, k), whose leading axes broadcast, to (…, n, k)."""


@solve.type
def _(a, b):
    require_matrices(a)
    require_matrices(b, square=False)
    if b.shape[-2] != a.shape[-1]:
        raise ShapeError("solve: the numbers of equations and unknowns differ", f"{a.shape} and {b.shape}", "pass (…, n, n) and (…, n, k)")
    return (*broadcast_shapes("solve", [a.shape[:-2], b.shape[:-2]]), *b.shape[-2:]), promote(a.dtype, b.dtype)


@solve.grad
def _(xp, dout, out, a):
    # dB = A⁻ᵀ · dX and dA = -dB · Xᵀ (Giles, 2.3.1)
    db = xp.solve(xp.matrix_transpose(a), dout)
    return -xp.matmul(db, xp.matrix_transpose(out)), db


@solve.sample
def _(draw):
    a = draw.real((2, 3, 3), then=well_conditioned)
    return [draw(a, draw.real((2, 3, 2))), draw(a, draw.real((3, 1)))]


#: Rows of a triangular matrix up to which `solve`, which factors it first, takes no longer than the products of a division into parts.
ROWS_AT_ONCE = 64


def solve_triangular(xp, a, b, is_lower):
    """``x`` with a · x = b for triangular a: (…, n, n) and (…, n, k) with the same leading axes to (…, n, k)."""
    n = a.shape[-1]
    if n <= ROWS_AT_ONCE:
        return xp.solve(a, b)
    half = -(-n // (2 * ROWS_AT_ONCE)) * ROWS_AT_ONCE
    parts = (0, half), (half, n)
    # the part that depends on itself alone, and the one that depends on it
    one, two = parts if is_lower else parts[::-1]
    first = solve_triangular(xp, _block(xp, a, one, one), xp.take_slice(b, *one, -2), is_lower)
    rest = xp.take_slice(b, *two, -2) - xp.matmul(_block(xp, a, two, one), first)
    second = solve_triangular(xp, _block(xp, a, two, two), rest, is_lower)
    return xp.concat(*((first, second) if is_lower else (second, first)), axis=-2)


def _block(xp, x, rows, columns):
    return xp.take_slice(xp.take_slice(x, *rows, -2), *columns, -1)


@op("_npi_solve", alike=True, floats=FLOATS, row="linalg.solve(a, b)")
def solve_vectors(xp, A, B):
    """``x`` with A · x = B: (…, n, n) and vectors (…, n) or matrices (…, n, k)."""
    if len(B.shape) != len(A.shape) - 1:
        return xp.solve(A, B)
    return xp.squeeze(xp.solve(A, xp.expand_dims(B, -1)), -1)


solve_vectors.sample(lambda draw: draw(draw.real((2, 3, 3), then=well_conditioned), draw.real((2, 3))))


@primitive(
    "_linalg_inverse",
    "linalg_inverse",
    "_npi_inv",
    reference=lambda np, A: np.linalg.inv(A),
    floats=NUMBERS,
    keeps_shape=True,
    complex_gradient=True,
    row="linalg.inv(a)",
    batch="leading",
)
def inverse(xp, A):
    """Inverses of (…, n, n) matrices."""


inverse.type(type_of_square)
# dA = -A⁻ᵀ · dC · A⁻ᵀ for C = A⁻¹ (Giles, 2.2.3)
inverse.grad(lambda xp, dout, out: -xp.matmul(xp.matmul(xp.matrix_transpose(out), dout), xp.matrix_transpose(out)))
inverse.sample(lambda draw: [draw(draw.real((2, 3, 3), then=well_conditioned)), draw(draw.real((1, 1), low=0.5))])


# triangular and orthogonal factors


@primitive(reference=lambda np, A: np.linalg.cholesky(A), floats=FLOATS, keeps_shape=True, batch="leading")
def cholesky(xp, A):
    """Lower triangular L with L · Lᵀ = A of symmetric positive definite matrices. Only the lower triangle is read."""


cholesky.type(type_of_square)


@cholesky.grad
def _(xp, dout, out):
    # the symmetric part of L⁻ᵀ · Φ(Lᵀ · dL) · L⁻¹
    back = xp.matrix_transpose(out)
    # Φ of Murray's paper: the lower triangle with half of the diagonal
    inner = tril(xp, xp.matmul(back, tril(xp, dout)))
    inner = inner - diagonal_matrices(xp, diagonal(xp, inner, 0, -2, -1)) * 0.5
    half = solve_triangular(xp, back, inner, is_lower=False)
    return symmetric_part(xp, solve_triangular(xp, back, xp.matrix_transpose(half), is_lower=False))


cholesky.sample(lambda draw: draw(draw.real((2, 3, 3), then=positive_definite), gradient=False, why=WHY))


@primitive(reference=lambda np, A: tuple(np.linalg.qr(A)), outputs=2, floats=FLOATS, batch="leading")
def qr(xp, A):
    """Q (…, m, k) with orthonormal columns and upper triangular R (…, k, n), k = min(m, n), with Q · R = A."""


@qr.type
def _(A):
    require_matrices(A, square=False)
    *batch, m, n = A.shape
    return [((*batch, m, min(m, n)), A.dtype), ((*batch, min(m, n), n), A.dtype)]


@qr.grad
def _(xp, dout, out, A):
    """Walter and Lehmann; a wide matrix is [X | Y] with X = Q · U square and R = [U | Qᵀ · Y]."""
    q, r = out
    k, n = r.shape[-2:]
    dq = xp.zeros_like(q) if dout[0] is None else dout[0]
    dr = xp.zeros_like(r) if dout[1] is None else xp.where(upper_mask(xp, r.shape, -1), dout[1], 0)
    if k == n:
        return _qr_gradient(xp, q, r, dq, dr)
    # Y = Q · V for the columns V of R beyond the square part, so Q gets the gradient Y · dVᵀ from them, and Y gets Q · dV
    u, du, dv = xp.take_slice(r, 0, k, -1), xp.take_slice(dr, 0, k, -1), xp.take_slice(dr, k, n, -1)
    y = xp.take_slice(A, k, n, -1)
    dx = _qr_gradient(xp, q, u, dq + xp.matmul(y, xp.matrix_transpose(dv)), du)
    return xp.concat(dx, xp.matmul(q, dv), axis=len(A.shape) - 1)


def _qr_gradient(xp, q, r, dq, dr):
    # dA = (dQ + Q · S) · R⁻ᵀ, where S is the symmetric matrix with the upper triangle of dR · Rᵀ - Qᵀ · dQ (Seeger et al.)
    inner = xp.matmul(dr, xp.matrix_transpose(r)) - xp.matmul(xp.matrix_transpose(q), dq)
    half = xp.where(upper_mask(xp, inner.shape, -1), inner, 0)
    whole = half + xp.matrix_transpose(half) - diagonal_matrices(xp, diagonal(xp, inner, 0, -2, -1))
    return xp.matrix_transpose(solve_triangular(xp, r, xp.matrix_transpose(dq + xp.matmul(q, whole)), is_lower=False))


qr.sample(lambda draw: [draw(draw.real(shape, then=well_conditioned)) for shape in ((2, 3, 3), (4, 3), (2, 2, 3))])


@primitive(reference=lambda np, U: np.linalg.qr(U, mode="complete")[0][..., U.shape[-1] :], floats=FLOATS, batch="leading")
def complement(xp, U):
    """Orthonormal columns (…, m, m - k) that complete orthonormal columns (…, m, k) to a basis.

    They are determined up to a rotation: their gradient is meaningful for functions that do not depend on it.
    """


@complement.type
def _(U):
    require_matrices(U, square=False)
    *batch, m, k = U.shape
    if k > m:
        raise ShapeError("more columns than rows", f"shape {U.shape}", "pass (…, m, k) with k ≤ m")
    return (*batch, m, m - k), U.dtype


# dN = -U · dUᵀ · N, from d(Uᵀ · N) = 0 and, among the rotations of N, the one with Nᵀ · dN = 0
complement.grad(lambda xp, dout, out, U: -xp.matmul(out, xp.matmul(xp.matrix_transpose(dout), U)))
complement.sample(
    lambda draw: draw(draw.real((2, 4, 2), then=lambda np, x: np.linalg.qr(x)[0]), gradient=False, why="defined up to a rotation")
)


@op("_linalg_gelqf", "linalg_gelqf", outputs=2, floats=FLOATS)
def gelqf(xp, A):
    """Q (…, m, n) with orthonormal rows and lower triangular L (…, m, m) with L · Q = A, for m ≤ n."""
    require_matrices(A, square=False)
    if A.shape[-2] > A.shape[-1]:
        raise ShapeError("more rows than columns", f"shape {A.shape}", "pass (…, m, n) with m ≤ n")
    # LQ of A is the transpose of QR of Aᵀ
    q, r = xp.qr(xp.matrix_transpose(A))
    return xp.matrix_transpose(q), xp.matrix_transpose(r)


gelqf.sample(lambda draw: draw(draw.real((2, 2, 3), then=well_conditioned)))


# eigenvalues


def _eigh(np, A, *, upper=False):
    return tuple(np.linalg.eigh(A, UPLO="U") if upper else np.linalg.eigh(A))


@primitive(reference=_eigh, outputs=2, floats=FLOATS, batch="leading")
def eigh(xp, A, *, upper: bool = False):
    """Eigenvalues (…, n), ascending, and eigenvectors in columns of symmetric matrices. Only the lower or upper triangle is read."""


@eigh.type
def _(A, *, upper):
    require_matrices(A)
    return [(A.shape[:-1], A.dtype), (A.shape, A.dtype)]


@eigh.grad
def _(xp, dout, out):
    (w, v), (dw, dv) = out, dout
    if dv is None:  # without the vectors there are no differences of eigenvalues, which may be 0
        return xp.matmul(scale_columns(xp, v, dw), xp.matrix_transpose(v))
    # dA = V · (diag(dw) + F ∘ (Vᵀ · dV)) · Vᵀ with F = 1 / (w[j] - w[i]) (Giles, 3.1)
    inner = inverse_differences(xp, w) * xp.matmul(xp.matrix_transpose(v), dv)
    inner = inner if dw is None else inner + diagonal_matrices(xp, dw)
    return symmetric_part(xp, xp.matmul(xp.matmul(v, inner), xp.matrix_transpose(v)))


@primitive(reference=lambda np, A, upper=False: np.linalg.eigvalsh(A, UPLO="U" if upper else "L"), floats=FLOATS, batch="leading")
def eigenvalues(xp, A, *, upper: bool = False):
    """The eigenvalues of `eigh` alone, about twice as fast; their last digits may differ."""


@eigenvalues.type
def _(A, *, upper):
    require_matrices(A)
    return [(A.shape[:-1], A.dtype)]


@eigenvalues.grad
def _(xp, dout, A, upper):
    v = xp.eigh(A, upper=upper)[1]
    return xp.matmul(scale_columns(xp, v, dout), xp.matrix_transpose(v))


@op("_npi_eigh", outputs=2, floats=FLOATS, row="linalg.eigh(a, UPLO='L') -> tuple", writes="UPLO")
def eigh_of_triangle(xp, A, *, UPLO: str = "L"):
    """`eigh` of symmetric matrices. Only the lower (``"L"``) or upper (``"U"``) triangle is read."""
    return xp.eigh(A, upper=_is_upper(UPLO))


@op("_npi_eigvalsh", floats=FLOATS, row="linalg.eigvalsh(a, UPLO='L')", writes="UPLO")
def eigvalsh(xp, A, *, UPLO: str = "L"):
    """Eigenvalues of symmetric matrices, ascending; see `eigh_of_triangle`."""
    return xp.eigenvalues(A, upper=_is_upper(UPLO))


def _is_upper(uplo):
    if uplo.upper() not in ("L", "U"):
        raise ParameterError("UPLO argument must be 'L' or 'U'", repr(uplo), "use 'L' or 'U'")
    return uplo.upper() == "U"


@op("_linalg_syevd", "linalg_syevd", outputs=2, floats=FLOATS)
def syevd(xp, A):
    """U with eigenvectors in rows, and the eigenvalues L (…, n), ascending: A = Uᵀ · diag(L) · U, for symmetric A.

    The element of largest magnitude of each vector is positive, as in MXNet.
    """
    w, v = xp.eigh(A)
    # LAPACK leaves the signs open; a convention makes results comparable across libraries
    places = xp.argmax(xp.absolute(v), axis=-2, keepdims=True)
    return xp.matrix_transpose(v * xp.stop_gradient(xp.sign(xp.take_along_axis(v, places, axis=len(v.shape) - 2)))), w


for _op in (eigh, eigenvalues, eigh_of_triangle, eigvalsh, syevd):
    _op.sample(lambda draw: draw(draw.real((2, 3, 3), then=positive_definite), gradient=False, why=WHY))
eigh.sample(lambda draw: draw(draw.real((2, 2), then=positive_definite), gradient=False, why=WHY, upper=True))
