"""Polynomials as vectors of coefficients, highest power first; and Vandermonde matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...calls.host_calls import to_numpy
from ...dtype import COMPLEX
from ...errors import ParameterError
from ...imperative.invoke import host_of
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike
from .. import linalg
from ..array import ndarray
from ..creation import eye, ones_like, operand, zeros
from ..eigenpairs import eigenpairs
from ..fallback import by_numpy
from ..forms import form_of
from ..parts import concatenate, stack
from ..reductions import sum
from ..ufuncs import function_of
from .signals import convolve


@form_of(np.vander)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> ndarray:
    """The matrix of powers of a vector's elements: highest power first, unless increasing."""
    a = operand(x)
    if a.ndim != 1:
        raise ParameterError("x must be a one-dimensional array or sequence.", str(a.shape), "pass a vector")
    count = a.size if N is None else N
    a = a.astype(np.promote_types(a.dtype, int), copy=False)
    columns = [ones_like(a)]
    for _ in range(count - 1):
        columns.append(columns[-1] * a)
    return stack((columns if increasing else columns[::-1])[:count] or columns[:0], -1) if count else zeros((a.size, 0), a.dtype)


@form_of(np.polyfit)
def polyfit(x: ArrayLike, y: ArrayLike, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """The coefficients of the polynomial of a degree with the least sum of squared residuals."""
    if full or cov or np.ndim(deg):
        return NotImplemented
    at, values = [operand(v) + 0.0 for v in (x, y)]
    if at.ndim != 1 or not at.size or values.shape[:1] != at.shape:
        return NotImplemented  # NumPy raises
    matrix = vander(at, int(deg) + 1)
    if w is not None:
        weights = operand(w) + 0.0
        matrix, values = matrix * weights.reshape(-1, 1), values * (weights.reshape(-1, 1) if values.ndim > 1 else weights)
    # columns of length 1, as in NumPy: powers differ by orders of magnitude, which would cost digits
    scale = function_of("sqrt")(sum(matrix * matrix, 0))
    bound = at.size * float(np.finfo(at.dtype).eps) if rcond is None else rcond
    found = linalg.lstsq(matrix / scale, values, bound)[0]
    return (found.T / scale).T


@form_of(np.poly)
def poly(seq_of_zeros: ArrayLike) -> ndarray:
    """The coefficients of the polynomial with given roots, or the characteristic one of a matrix; the first one is 1."""
    roots = operand(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1]:
        matrix = roots if roots._dtype in COMPLEX else roots.astype("complex64" if roots._dtype == "float32" else "complex128")
        found = poly(eigenpairs(matrix)[0])
        return found if matrix is roots else by_numpy(np.real, (found,), {})
    if roots.ndim != 1:
        return NotImplemented
    if not roots.size:
        return operand(1.0)
    found = ones_like(roots[:1])
    for k in range(roots.size):
        found = convolve(found, concatenate([ones_like(roots[:1]), -roots[k : k + 1]]))
    return found


@form_of(np.roots)
def roots(p: ArrayLike) -> ndarray:
    """The roots of a polynomial: the eigenvalues of its companion matrix (see `linalg.eig`)."""
    a = operand(p) + 0.0
    if a.ndim != 1:
        return NotImplemented
    # of coefficients that are not known none is 0
    given = np.arange(a.size) if is_followed(a) else np.flatnonzero(host_of(a))
    if not given.size:
        return zeros((0,), device=a.context)
    # zero coefficients at the end are roots at 0; leading zeros are dropped
    zero, a = a.size - 1 - int(given[-1]), a[int(given[0]) : int(given[-1]) + 1]
    count = a.size - 1
    rest = zeros((zero,), a.dtype, device=a.context)
    if not count:
        return rest
    matrix = concatenate([(-a[1:] / a[0]).reshape(1, -1), eye(count - 1, count, dtype=a.dtype, device=a.context)])
    # NumPy's roots are real numbers if they can be
    return concatenate([eigenpairs(matrix, always_complex=False)[0], rest])


def _termwise(function: Callable[[ndarray, ndarray], ndarray]) -> Callable[..., object]:
    def combined(a1: Any, a2: Any) -> Any:
        if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
            return NotImplemented
        x, y = [operand(v).reshape(-1) for v in (a1, a2)]
        size = max(x.size, y.size)
        x, y = [v if v.size == size else concatenate([zeros((size - v.size,), v.dtype, device=v.context), v]) for v in (x, y)]
        return function(x, y)

    return combined


form_of(np.polyadd)(_termwise(lambda x, y: x + y))
form_of(np.polysub)(_termwise(lambda x, y: x - y))


@form_of(np.polymul)
def polymul(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """The coefficients of a product."""
    if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
        return NotImplemented
    arrays = [operand(a).reshape(-1) for a in (a1, a2)]
    # without leading zeros, as in NumPy's `poly1d`; the first element if all are 0
    x, y = [_without_leading_zeros(a) if a.size else zeros((1,), a.dtype, device=a.context) for a in arrays]
    return convolve(x, y)


def _without_leading_zeros(a: ndarray) -> ndarray:
    # the size of a result cannot depend on values that are not known
    return a if is_followed(a) else a[int(np.argmax(host_of(a) != 0)) :]


@form_of(np.polydiv)
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[ndarray, ndarray]:
    """The coefficients of the quotient and of the remainder."""
    if isinstance(u, np.poly1d) or isinstance(v, np.poly1d):
        return NotImplemented
    rest, divisor = [operand(a).reshape(-1) + 0.0 for a in (u, v)]
    quotient = []
    for _ in range(rest.size - divisor.size + 1):
        quotient.append(rest[0] / divisor[0])
        rest = concatenate([rest[1 : divisor.size] - quotient[-1] * divisor[1:], rest[divisor.size :]])
    if not quotient:
        return zeros((1,), rest.dtype, device=rest.context), rest
    # NumPy drops leading zeros by this test
    first = int(np.argmax(~np.isclose(host_of(rest), 0, rtol=1e-14))) if rest.size and not is_followed(rest) else 0
    return stack(quotient), rest[first:] if rest.size else zeros((1,), rest.dtype, device=rest.context)


@form_of(np.polyder)
def polyder(p: ArrayLike, m: int = 1) -> ndarray:
    """The coefficients of the m-th derivative."""
    found = operand(p)
    for _ in range(m):
        found = found[:-1] * np.arange(found.size - 1, 0, -1)
    return found


@form_of(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> ndarray:
    """The coefficients of the m-th antiderivative, with constants of integration."""
    found = operand(p)
    constants = np.broadcast_to(np.asarray(0.0 if k is None else to_numpy(k)), (m,))
    for n in range(m):
        end = np.asarray([constants[n]], found.dtype)
        found = concatenate([found / np.arange(found.size, 0, -1), end])
    return found
