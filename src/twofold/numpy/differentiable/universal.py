"""Ufuncs without an operator, and methods of ufuncs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...calls.host_calls import to_numpy
from ...dtype import is_float
from ...errors import ParameterError
from ...imperative.invoke import host_of
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike, Axis, DTypeLike
from ...opdef import normalized_axes, normalized_axis
from ...ops import determinants, linear_algebra
from .. import linalg
from ..array import Out, ndarray
from ..creation import arange, operand, operands, zeros_like
from ..eigenpairs import eigenpairs
from ..fallback import by_numpy
from ..forms import FORMS, form_of
from ..host_steps import host_step
from ..parts import concatenate, stack
from ..reductions import run
from ..selecting import take_along_axis
from ..shapes import broadcast_to, expand_dims, moveaxis, squeeze
from ..ufuncs import chosen, deliver, function_of


@form_of(np.modf)
def modf(x: ArrayLike) -> tuple[ndarray, ndarray]:
    """The fractional and the integral part, both with the operand's sign."""
    a = operand(x)
    whole = function_of("trunc")(a)
    # of infinity, NumPy's fraction is 0
    return chosen(function_of("isinf")(a), function_of("copysign")(0.0, a), a - whole), whole


@form_of(np.frexp)
def frexp(x: ArrayLike) -> tuple[ndarray, ndarray]:
    """A number m with 0.5 <= abs(m) < 1 and an integer e with x = m · 2**e."""
    a = operand(x)
    exponent = host_step(np.frexp, (a.detach(),), {})[1] if is_followed(a) else operand(np.frexp(host_of(a))[1], a.context)
    return ldexp(a, -exponent), exponent


@form_of(np.ldexp)
def ldexp(x1: ArrayLike, x2: ArrayLike) -> ndarray:
    """x1 · 2**x2."""
    a, exponent = operand(x1), operand(x2)
    half = exponent // 2  # in two factors that do not overflow
    return a * _power_of_two(half, a) * _power_of_two(exponent - half, a)


def _power_of_two(exponent: ndarray, like: ndarray) -> ArrayLike:
    one = np.ones((), like.dtype)
    return host_step(np.ldexp, (one, exponent), {}) if is_followed(exponent) else np.ldexp(one, to_numpy(exponent))


@form_of(np.fix)
def fix(x: ArrayLike, out: Out = None) -> ndarray:
    """Rounds toward zero."""
    return deliver(function_of("trunc")(x), out)


def _matvec(x1: ArrayLike, x2: ArrayLike) -> ndarray:
    """Products of matrices (…, m, n) and vectors (…, n)."""
    return squeeze(function_of("matmul")(x1, expand_dims(x2, -1)), -1)


def _vecmat(x1: ArrayLike, x2: ArrayLike) -> ndarray:
    """Products of vectors (…, m), conjugated, and matrices (…, m, n)."""
    x = operand(x1)
    x = x if is_float(x._dtype) else x.conj()
    return squeeze(function_of("matmul")(expand_dims(x, -2), x2), -2)


for _name, _form in (("matvec", _matvec), ("vecmat", _vecmat)):  # since NumPy 2.2
    if hasattr(np, _name):
        form_of(getattr(np, _name))(_form)


# methods


def _accumulated(name: str, array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    rows = moveaxis(operand(array) if dtype is None else operand(array).astype(dtype), axis, 0)
    function, results = function_of(name), [rows[k] for k in range(min(len(rows), 1))]
    for k in range(1, len(rows)):
        results.append(function(results[-1], rows[k]))
    return deliver(moveaxis(stack(results), 0, axis) if results else zeros_like(array), out, "unsafe")


def _running_extremum(name: str, array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    x = operand(array) if dtype is None else operand(array).astype(dtype)
    at = normalized_axis(axis, x.ndim)
    if is_followed(x):
        return deliver(take_along_axis(x, moveaxis(_places_of_extrema(name, moveaxis(x, at, 0)), 0, at), at), out, "unsafe")
    found = np.moveaxis(getattr(np, name).accumulate(host_of(x), at), at, 0)
    is_new = np.ones(found.shape, bool)
    # the gradient goes to the element that the running extremum comes from: the latest change, carried on. NaN never changes again.
    is_new[1:] = (found[1:] != found[:-1]) & ~np.isnan(found[:-1])
    places = np.arange(len(found)).reshape(-1, *[1] * (x.ndim - 1))
    places = np.maximum.accumulate(np.where(is_new, places, 0), 0)
    return deliver(take_along_axis(x, operand(np.moveaxis(places, 0, at), x.context), at), out, "unsafe")


def _places_of_extrema(name: str, rows: ndarray) -> ndarray:
    """For each row where the extremum of the rows so far is, of equal ones the first."""
    places = broadcast_to(arange(len(rows), device=rows.context).reshape(-1, *[1] * (rows.ndim - 1)), rows.shape)
    step = 1
    # after each pass a row knows the extremum of twice as many rows that end with it
    while step < len(rows):
        later, earlier = places[step:], places[:-step]
        new, old = [take_along_axis(rows, at, 0) for at in (later, earlier)]
        wins: Any = (new > old if name == "maximum" else new < old) | ((new != new) & (old == old))
        places = concatenate([places[:step], chosen(wins, later, earlier)])
        step *= 2
    return places


def _reduced(
    name: str, array: ArrayLike, axis: Axis = 0, dtype: DTypeLike = None, out: Out = None, keepdims: bool = False, **options: object
) -> Any:
    x = operand(array) if dtype is None else operand(array).astype(dtype)
    axes = normalized_axes(axis, x.ndim)
    if options.keys() - {"initial"}:
        return NotImplemented
    if not x.size:
        return by_numpy(getattr(np, name).reduce, (x.detach(), axis, dtype, out, keepdims), options)
    function, initial = function_of(name), options.get("initial")
    rows = moveaxis(x, axes, range(len(axes))).reshape(-1, *[n for k, n in enumerate(x.shape) if k not in axes])
    result = rows[0] if initial is None else function(initial, rows[0])
    for k in range(1, len(rows)):
        result = function(result, rows[k])
    return deliver(expand_dims(result, axes) if keepdims else result, out, "unsafe")


def _reduced_between(name: str, array: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    x = operand(array) if dtype is None else operand(array).astype(dtype)
    rows, function = moveaxis(x, axis, 0), function_of(name)
    starts = np.asarray(to_numpy(indices)).tolist()
    if any(not 0 <= k < len(rows) for k in starts):
        raise ParameterError("reduceat: an index is out of bounds", f"{starts} of {len(rows)}", "pass positions on the axis")
    ends = [*starts[1:], len(rows)]
    # an index that is not below the next one selects its element alone
    parts = [function.reduce(rows[i:j], 0) if i < j else rows[i] for i, j in zip(starts, ends, strict=False)]
    return deliver(moveaxis(stack(parts) if parts else rows[:0], 0, axis), out, "unsafe")


_BINARY = (
    "add", "subtract", "multiply", "divide", "float_power", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "hypot",
    "arctan2", "fmod", "remainder", "copysign",
)  # fmt: skip
_EXTREMA = ("maximum", "minimum", "fmax", "fmin")
for _name in _BINARY:
    _ufunc = getattr(np, _name)
    _scan: Callable[..., Any] = _running_extremum if _name in _EXTREMA[:2] else _accumulated
    FORMS[_ufunc.accumulate] = partial(_scan, _name)
    FORMS[_ufunc.reduce] = partial(_reduced, _name)
    FORMS[_ufunc.reduceat] = partial(_reduced_between, _name)


# matrices of complex numbers


@form_of(np.linalg.solve)
def solve(a: ArrayLike, b: ArrayLike) -> ndarray:
    """The solutions of linear equations."""
    matrices, right = _complex_operands(a, b)
    if right.ndim > 1:
        return linalg.run_and_wait(linear_algebra.solve, matrices, right)
    return squeeze(linalg.run_and_wait(linear_algebra.solve, matrices, right.reshape(-1, 1)), -1)


@form_of(np.linalg.inv)
def inv(a: ArrayLike) -> ndarray:
    """Inverses."""
    return linalg.run_and_wait(linear_algebra.inverse, *_complex_operands(a))


@form_of(np.linalg.eig)
def eig(a: ArrayLike) -> Any:
    """Eigenvalues and eigenvectors."""
    return linalg.result_of("eig")(*eigenpairs(*_complex_operands(a)))


@form_of(np.linalg.eigvals)
def eigvals(a: ArrayLike) -> ndarray:
    """Eigenvalues."""
    return eigenpairs(*_complex_operands(a))[0]


@form_of(np.linalg.det)
def det(a: ArrayLike) -> ndarray:
    """Determinants; those of singular matrices have no gradient."""
    return run(determinants.det, *_complex_operands(a))


def _complex_operands(*values: ArrayLike) -> list[ndarray]:
    arrays = operands(*values)
    kind = np.result_type(*[a.dtype for a in arrays])
    return [a.astype(kind, copy=False) for a in arrays]


@form_of(np.linalg.norm)
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Norm of vectors, or the Frobenius norm of matrices: that of the magnitudes."""
    a = operand(x)
    whole = a.ndim if axis is None else 1 if isinstance(axis, int) else len(axis)
    if is_float(a._dtype) or not (ord in (None, "fro") or (whole == 1 and isinstance(ord, (int, float)))):
        return NotImplemented
    return linalg.norm(abs(a), ord, axis, keepdims)
