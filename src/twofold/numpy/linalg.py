"""``twofold.np.linalg``: NumPy's linear algebra as operators, with gradients of any order. NumPy computes complex numbers on the host.

Eigenvectors and singular vectors have gradients if their values are distinct; `ops/linear_algebra.py` and `ops/singular_values.py` define
them. Ranks have none.
"""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from operator import index
from string import ascii_letters
from types import FunctionType
from typing import Any, SupportsIndex, TypeVar

import numpy as np

from ..calls.host_calls import is_recorded
from ..errors import NoMatrices, ParameterError
from ..imperative.cell import is_view
from ..imperative.trace import is_followed
from ..ndarray.types import ArrayLike, Axis, DTypeLike
from ..opdef import distinct_axes, normalized_axis
from ..ops import determinants, einsum, linear_algebra, mxnet_numpy_linear, ordering, primitive_gather, singular_values
from . import shapes
from .array import Out, ndarray
from .attributes import attribute
from .creation import broadcast_view, eye, operand, operands, zeros
from .eigenpairs import eigenpairs
from .fallback import by_numpy, guarded
from .linear import dot
from .linear import outer as outer
from .linear import tensordot as tensordot
from .linear import vecdot as vecdot
from .matrix_operands import real_operands, result_of, run_and_wait, run_several
from .parts import concatenate
from .reductions import max, min, norm_along, run, sum
from .shapes import expand_dims, matrix_transpose, moveaxis, squeeze
from .short_calls import short_call, short_form
from .ufuncs import chosen, deliver, function_of

__all__ = [*np.linalg.__all__]

T = TypeVar("T")

matmul = function_of("matmul")


# equations, inverses, determinants


@real_operands(2)
def solve(a: ndarray, b: ndarray) -> ndarray:
    """Solve ``a · x = b`` for ``x``, for matrices (…, n, n) and a vector (n,) or matrices (…, n, k)."""
    return squeeze(run_and_wait(linear_algebra.solve, a, b.reshape(-1, 1)), -1) if b.ndim == 1 else run_and_wait(linear_algebra.solve, a, b)


@real_operands(1)
def inv(a: ndarray) -> ndarray:
    """Inverses of matrices (…, n, n)."""
    return run_and_wait(linear_algebra.inverse, a)


@real_operands(1)
def det(a: ndarray) -> ndarray:
    """Determinants of matrices (…, n, n)."""
    return run(determinants.det, a)


@real_operands(1)
def slogdet(a: ndarray) -> tuple[ndarray, ndarray]:
    """Signs and logarithms of the magnitudes of determinants."""
    return result_of("slogdet")(*run_several(determinants.slogdet, a))


@real_operands(1)
def pinv(a: ndarray, rcond: ArrayLike | None = None, hermitian: bool = False, *, rtol: ArrayLike | None = None) -> ndarray:
    """Pseudoinverses of matrices (…, m, n), computed from singular values.

    Parameters
    ----------
    a
        The matrices.
    rcond, rtol
        Synonyms: singular values up to this multiple of the largest are treated as 0; an array (…) holds one multiple per matrix. If None,
        the larger size times the dtype's precision.
    hermitian
        Whether the matrices are symmetric.

    Raises
    ------
    NoMatrices, ParameterError
        If the array has fewer than two axes; if both are given.
    """
    linear_algebra.require_matrices(a, square=False)
    if rcond is not None and rtol is not None:
        raise ParameterError("`rtol` and `rcond` can't be both set.", f"{rtol} and {rcond}", "leave one out")
    if not a.size:
        return matrix_transpose(a).copy()
    bound = rcond if rcond is not None else rtol
    if bound is None:
        bound = float(np.finfo(a.dtype).eps) * (a.shape[-1] if a.shape[-1] > a.shape[-2] else a.shape[-2])
    if isinstance(bound, (int, float)):
        return run(singular_values.pinv_of_scalar, a, rcond=float(bound), hermitian=bool(hermitian))
    each = broadcast_view(operand(bound, a.context).astype(a.dtype, copy=False), a.shape[:-2])
    return run(singular_values.pinv, a, each, hermitian=bool(hermitian))


@real_operands(2)
def lstsq(a: ndarray, b: ndarray, rcond: ArrayLike | None = None) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """The minimum-norm least-squares solution ``x`` of a · x = b, the sums of squared residuals, and the rank and singular values of ``a``.

    If recorded, ``x`` is computed with `pinv`. While a function is traced, residuals are those of a matrix with full rank.
    """
    if is_followed(a) or is_followed(b):
        rank = by_numpy(np.linalg.matrix_rank, (a, None, False), {"rtol": rcond})
        x = matmul(pinv(a, rcond), b)
        return x, _squared_residuals(a, x, b) if a.shape[0] > a.shape[1] else zeros((0,), a.dtype), rank, svdvals(a)
    # detached: NumPy's results are not to raise for a cut gradient, as the recorded ones below replace them
    x, residuals, rank, values = by_numpy(np.linalg.lstsq, (a.detach(), b.detach(), rcond), {})
    if not is_recorded((a, b)):
        return x, residuals, rank, values
    x = matmul(pinv(a, rcond), b)
    # NumPy returns no residuals if the rank is deficient or the system is not overdetermined
    return x, _squared_residuals(a, x, b) if residuals.size else residuals, rank, svdvals(a)


def _squared_residuals(a: ndarray, x: ndarray, b: ndarray) -> ndarray:
    rest = b - matmul(a, x)
    return sum(rest * rest, 0, keepdims=b.ndim == 1)


@real_operands(2)
def tensorsolve(a: ndarray, b: ndarray, axes: Sequence[int] | None = None) -> ndarray:
    """``x`` with tensordot(a, x, x.ndim) = b, after moving ``axes`` of ``a`` to the end."""
    return run_and_wait(mxnet_numpy_linear.tensorsolve, a, b, a_axes=tuple(axes or ()))


@real_operands(1)
def tensorinv(a: ndarray, ind: int = 2) -> ndarray:
    """The inverse of ``a`` with respect to tensordot over ``ind`` axes."""
    return run_and_wait(mxnet_numpy_linear.tensorinv, a, ind=index(ind))


def matrix_power(a: ArrayLike, n: SupportsIndex) -> ndarray:
    """The ``n``-th power of matrices (…, m, m); a negative power is that of the inverses.

    Raises
    ------
    NoMatrices
        If they are not square.
    """
    x, times = operand(a), index(n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise NoMatrices("Last 2 dimensions of the array must be square", str(x.shape), "pass (…, m, m)")
    if times == 0:
        return broadcast_view(eye(x.shape[-1], dtype=x.dtype, device=x.context), x.shape).copy()
    x, times, result = (x if times > 0 else inv(x)), abs(times), None
    while times:  # by squaring: one product for each bit, and one more for each that is set
        if times % 2:
            result = x if result is None else matmul(result, x)
        times //= 2
        x = matmul(x, x) if times else x
    # the power 1 is the operand itself, which the result must not share memory with
    return result.copy() if n == 1 else result  # type: ignore[union-attr]


def multi_dot(arrays: Sequence[ArrayLike], *, out: Out = None) -> ndarray:
    """The product of two or more matrices, in the cheapest order; the first and the last may be vectors.

    Raises
    ------
    ParameterError
        If there are fewer than two.
    """
    if len(arrays) < 2:
        raise ParameterError("Expecting at least two arrays.", str(len(arrays)), "pass more")
    matrices = operands(*arrays)
    # as one sum of products: einsum chooses the order
    letters = ascii_letters[: len(matrices) + 1]
    terms = [letters[k : k + 2] for k in range(len(matrices))]
    if matrices[0].ndim == 1:
        terms[0] = letters[1]
    if matrices[-1].ndim == 1:
        terms[-1] = letters[-2]
    ends = letters[0] * (matrices[0].ndim > 1) + letters[-1] * (matrices[-1].ndim > 1)
    result = run(einsum.einstein_sum, *matrices, subscripts=f"{','.join(terms)}->{ends}")
    return deliver(result, out)


# decompositions


@real_operands(1)
def cholesky(a: ndarray, /, *, upper: bool = False) -> ndarray:
    """The lower triangular factor L of symmetric positive definite matrices L · Lᵀ, or the upper one. Reads the same triangle of ``a``."""
    if upper:
        return matrix_transpose(run_and_wait(linear_algebra.cholesky, matrix_transpose(a)))
    return run_and_wait(linear_algebra.cholesky, a)


@real_operands(1)
def qr(a: ndarray, mode: str = "reduced") -> Any:
    """QR decomposition: Q with orthonormal columns and upper triangular R, with Q · R = a; only R for ``mode="r"``.

    There is no gradient for ``mode="raw"``. The columns of Q that ``"complete"`` adds, if there are more rows than columns, are determined
    up to a rotation: their gradient is meaningful for functions that do not depend on it.
    """
    is_tall = mode == "complete" and a.ndim > 1 and a.shape[-2] > a.shape[-1]
    if mode not in ("reduced", "r", "complete") or (is_tall and not is_recorded(a)):
        return by_numpy(np.linalg.qr, (a, mode), {})
    q, r = run_several(linear_algebra.qr, a)
    if is_tall:
        q, rest = _completed(q)
        r = concatenate([r, zeros((*r.shape[:-2], rest, r.shape[-1]), dtype=r.dtype, device=r.context)], -2)
    return r if mode == "r" else result_of("qr")(q, r)


def _completed(u: ndarray) -> tuple[ndarray, int]:
    """Orthonormal columns (…, m, k) extended by m - k further ones to a basis; returns the basis and that number."""
    more = run(linear_algebra.complement, u)
    return concatenate([u, more], -1), more.shape[-1]


@real_operands(1)
def svd(a: ndarray, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular value decomposition: U, the descending values, and V with U · diag(values) · V = a; only the values if not ``compute_uv``.

    If ``hermitian``, the matrices are symmetric and `eigh` is used. The columns of U or rows of V that ``full_matrices`` adds for
    non-square matrices are determined up to a rotation: their gradient is meaningful for functions that do not depend on it. Pass
    ``full_matrices=False`` if they are not needed.
    """
    if hermitian:
        # singular values are the magnitudes of eigenvalues, in another order; their signs go to V
        values, vectors = run_several(linear_algebra.eigh, a)
        size = abs(values)
        places = run(ordering.argsort_axis, -size, axis=-1, dtype="int64")
        s = run(primitive_gather.take_along_axis, size, places, axis=a.ndim - 2)
        if not compute_uv:
            return s
        u = run(primitive_gather.take_along_axis, vectors, expand_dims(places, -2), axis=a.ndim - 1)
        signs = function_of("sign")(run(primitive_gather.take_along_axis, values, places, axis=a.ndim - 2))
        return result_of("svd")(u, s, matrix_transpose(u * expand_dims(signs, -2)))
    if not compute_uv:
        return run(singular_values.singular_values, a)
    is_full = full_matrices and a.ndim > 1 and a.shape[-1] != a.shape[-2]
    if is_full and not is_recorded(a):
        return by_numpy(np.linalg.svd, (a,), {})
    u, s, vh = run_several(singular_values.svd, a)
    if is_full and u.shape[-2] > u.shape[-1]:
        u, _ = _completed(u)
    elif is_full:
        vh = matrix_transpose(_completed(matrix_transpose(vh))[0])
    return result_of("svd")(u, s, vh)


def svdvals(x: ArrayLike, /) -> ndarray:
    """Singular values in descending order."""
    return svd(x, compute_uv=False)


@real_operands(1)
def eigh(a: ndarray, UPLO: str = "L") -> tuple[ndarray, ndarray]:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric matrices. Only the lower or the upper triangle is read."""
    return result_of("eigh")(*run_several(linear_algebra.eigh_of_triangle, a, UPLO=UPLO))


@real_operands(1)
def eigvalsh(a: ndarray, UPLO: str = "L") -> ndarray:
    """Eigenvalues of symmetric matrices in ascending order; see `eigh`."""
    return run(linear_algebra.eigvalsh, a, UPLO=UPLO)


@real_operands(1)
def eig(a: ndarray) -> tuple[ndarray, ndarray]:
    """Eigenvalues, and eigenvectors as columns; complex if necessary.

    Where values are not known, as in a function that `func.jit` traces, those of real matrices must be real, and those of complex matrices
    are complex.

    Raises
    ------
    ParameterError
        If they are not.
    """
    return result_of("eig")(*eigenpairs(a)) if is_recorded(a) else by_numpy(np.linalg.eig, (a,), {})


@real_operands(1)
def eigvals(a: ndarray) -> ndarray:
    """Eigenvalues; see `eig`."""
    return eigenpairs(a)[0] if is_recorded(a) else by_numpy(np.linalg.eigvals, (a,), {})


# norms


@real_operands(1)
def norm(x: ndarray, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> ndarray:
    """Norm of vectors or matrices.

    Parameters
    ----------
    x
        The array.
    ord
        The norm, as in ``numpy.linalg.norm``. If None: the 2-norm of vectors, the Frobenius norm of matrices.
    axis
        The axis of vectors, or two axes of matrices; the whole array if None.
    keepdims
        Keep the axes, with size 1.
    """
    whole = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, Sequence) else (index(axis),)
    if not x.size and ord in (1, 2, np.inf) and len(whole) in (1, 2):
        return sum(x, whole, keepdims=keepdims)  # as in NumPy, a maximum of nothing is 0 here
    is_of_all = axis is None and (ord is None or (ord == 2 if x.ndim == 1 else ord in ("fro", "f") and x.ndim == 2))
    if is_of_all and x._dtype in ("float32", "float64"):
        found = norm_of_all(x)
        return found.reshape((1,) * x.ndim) if keepdims else found
    if ord is None or (len(whole) == 2 and ord in ("fro", "f")):
        return norm_along(x, 2, whole, keepdims)
    if len(whole) == 1 and isinstance(ord, Real):
        return norm_along(x, float(ord), whole, keepdims)
    if len(whole) != 2 or ord not in MATRIX_NORMS:
        return by_numpy(np.linalg.norm, (x,), {"ord": ord, "axis": axis, "keepdims": keepdims})
    axes = [normalized_axis(k, x.ndim) for k in whole]
    result = MATRIX_NORMS[ord](moveaxis(x, axes, (-2, -1)))
    return expand_dims(result, tuple(axes)) if keepdims else result


def norm_of_all(x: ndarray) -> ndarray:
    """The 2-norm of all elements, from the dot product with itself as in NumPy: faster than a sum of squares, if less accurate."""
    flat = x if x.ndim == 1 and not is_view(x) else x.ravel()  # without gaps, by which BLAS rounds differently
    return function_of("sqrt")(dot(flat, flat))


#: Norms of matrices (…, m, n), other than those of the vector of their elements.
MATRIX_NORMS: dict[object, Callable[[ndarray], ndarray]] = {
    1: lambda x: max(sum(abs(x), -2), -1),
    -1: lambda x: min(sum(abs(x), -2), -1),
    np.inf: lambda x: max(sum(abs(x), -1), -1),
    -np.inf: lambda x: min(sum(abs(x), -1), -1),
    2: lambda x: max(svdvals(x), -1),
    -2: lambda x: min(svdvals(x), -1),
    "nuc": lambda x: sum(svdvals(x), -1),
}


def vector_norm(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> ndarray:
    """Norm of vectors along axes (of the flattened array if None); the array API's name."""
    a = operand(x)
    axes = tuple(range(a.ndim)) if axis is None else distinct_axes(axis, a.ndim)
    if len(axes) == 1:
        return norm(a, ord, axes[0], keepdims)
    # the axes as one: of two, `norm` would take the norms of matrices
    rest = [k for k in range(a.ndim) if k not in axes]
    merged = a.transpose([*rest, *axes]).reshape([a.shape[k] for k in rest] + [math.prod([a.shape[k] for k in axes])])
    result = norm(merged, ord, -1)
    return result.reshape([1 if k in axes else n for k, n in enumerate(a.shape)]) if keepdims else result


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> ndarray:
    """Norm of matrices (…, m, n); the array API's name."""
    return norm(x, ord, (-2, -1), keepdims)


@real_operands(1)
def cond(x: ndarray, p: float | str | None = None) -> ndarray:
    """Condition numbers of matrices (…, n, n): their norm ``p`` times that of their inverses, from singular values for None, 2 and -2."""
    if x.ndim > 1 and x.size and p in (None, 2, -2):
        s = svdvals(x)
        largest, smallest = s[..., 0], s[..., -1]
        with np.errstate(all="ignore"):
            ratio = smallest / largest if p == -2 else largest / smallest
        # as in NumPy, 0 / 0 (a zero matrix) counts as infinite, but NaN elements stay NaN
        return chosen(function_of("isnan")(ratio) & ~function_of("isnan")(sum(x, (-2, -1))), np.inf, ratio)
    if not x.size:
        return by_numpy(np.linalg.cond, (x.detach(), p), {})  # raises for empty matrices; an empty batch has no gradient
    if not is_recorded(x):
        return by_numpy(np.linalg.cond, (x, p), {})  # infinite for singular matrices, for which `inv` raises
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> ndarray:
    """Diagonals of matrices (…, m, n)."""
    return shapes.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> ndarray:
    """Sums of the diagonals of matrices (…, m, n)."""
    return shapes.trace(x, offset, -2, -1, dtype)


#: Functions that round as NumPy's do, because they call the same routine.
SAME = (
    "cholesky", "cross", "det", "eig", "eigh", "eigvals", "inv", "lstsq", "matmul", "matrix_power", "matrix_rank", "outer", "qr",
    "slogdet", "solve",
)  # fmt: skip

#: Functions whose operands are not those of `real_operands`, which takes arrays of other dtypes to NumPy itself.
_OF_ANY = ("diagonal", "matrix_power", "matrix_transpose", "multi_dot", "outer", "tensordot", "trace", "vecdot", "vector_norm")

for _name in _OF_ANY:
    globals()[_name] = guarded(globals()[_name], getattr(np.linalg, _name))
for _name in SAME:
    if isinstance(globals().get(_name), FunctionType):
        globals()[_name] = short_call(globals()[_name], getattr(np.linalg, _name))
norm = short_form(norm, np.linalg.norm)


def __getattr__(name: str) -> Any:
    found = globals()[name] = attribute(np.linalg, name)  # wrapped once, not by each call
    return found
