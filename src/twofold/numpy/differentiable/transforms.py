"""Fourier transforms, and the parts of complex numbers."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...dtype import COMPLEX
from ...errors import ParameterError
from ...imperative.invoke import host_of
from ...ndarray.types import ArrayLike
from ...opdef import normalized_axis
from ...ops import complex_numbers, fourier, primitive_shape
from ..array import Out, ndarray
from ..creation import operand, zeros
from ..forms import form_of
from ..parts import roll
from ..reductions import run, sum
from ..selecting import where
from ..shapes import moveaxis
from ..ufuncs import deliver, function_of

Sizes = Sequence[int] | None
Axes = Sequence[int] | None

# parts


@form_of(np.real)
def real(val: ArrayLike) -> ndarray:
    """The real parts."""
    return run(complex_numbers.real_part, operand(val))


@form_of(np.imag)
def imag(val: ArrayLike) -> ndarray:
    """The imaginary parts."""
    x = operand(val)
    # zeros that are recorded, and that NaN does not reach
    return run(complex_numbers.imaginary_part, x) if x._dtype in COMPLEX else where(zeros(x.shape, bool), x, 0)


@form_of(np.conjugate)
def conjugate(x: ArrayLike) -> ndarray:
    """The complex conjugates."""
    a = operand(x)
    return run(complex_numbers.conjugate, a) if a._dtype in COMPLEX else a.copy()


@form_of(np.angle)
def angle(z: ArrayLike, deg: bool = False) -> ndarray:
    """The angles of complex numbers in the plane, in radians or degrees."""
    x = operand(z)
    found = function_of("arctan2")(imag(x), x.real)
    return found * (180 / math.pi) if deg else found


@form_of(np.real_if_close)
def real_if_close(a: ArrayLike, tol: float = 100) -> ndarray:
    """The real parts if all imaginary parts are close to 0, else the array."""
    x = operand(a)
    return x.real if x._dtype in COMPLEX and not np.iscomplexobj(np.real_if_close(host_of(x), tol)) else x


@form_of(np.mean)
def mean(a: ArrayLike, axis: Any = None, dtype: Any = None, out: Out = None, keepdims: bool = False) -> ndarray:
    """The mean of complex numbers."""
    x = operand(a) if dtype is None else operand(a).astype(dtype, copy=False)
    total = sum(x, axis, keepdims=bool(keepdims))
    return deliver(total / (x.size / max(total.size, 1)), out, "unsafe")


# transforms of one axis


def _fitted(x: ndarray, size: int) -> ndarray:
    """Vectors along the last axis, cut or extended by zeros to a length."""
    if size < 1:
        raise ParameterError(f"Invalid number of FFT data points ({size}) specified.", str(x.shape), "pass 1 or more")
    if size <= x.shape[-1]:
        return x if size == x.shape[-1] else x[..., :size]
    return run(primitive_shape.pad, x, width=((0, 0),) * (x.ndim - 1) + ((0, size - x.shape[-1]),), value=0)


def _scale(norm: str | None, size: int, inverse: bool) -> float:
    """The factor of a transform."""
    if norm == "ortho":
        return 1 / math.sqrt(size)
    if norm not in (None, "backward", "forward"):
        raise ParameterError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".', repr(norm), "pass one of them")
    return 1 / size if inverse == (norm != "forward") else 1.0


def _finished(rows: ndarray, scale: float, axis: int, out: Out) -> ndarray:
    return deliver(moveaxis(rows if scale == 1 else rows * scale, -1, axis), out)


def _complex(inverse: bool, a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None) -> ndarray:
    x = operand(a)
    rows = moveaxis(x.astype(np.fft.fft(np.zeros(1, x.dtype)).dtype, copy=False), axis, -1)
    rows = _fitted(rows, rows.shape[-1] if n is None else n)
    return _finished(run(fourier.fourier, rows, inverse=inverse), _scale(norm, rows.shape[-1], inverse), axis, out)


fft, ifft = partial(_complex, False), partial(_complex, True)
form_of(np.fft.fft)(fft)
form_of(np.fft.ifft)(ifft)


@form_of(np.fft.rfft)
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None) -> ndarray:
    """The transform of real numbers, without the frequencies that follow by symmetry."""
    x = operand(a)
    # NumPy chooses the precision for other dtypes
    rows = moveaxis(x if x._dtype in ("float32", "float64") else x.astype(np.fft.rfft(np.zeros(1, x.dtype)).real.dtype), axis, -1)
    rows = _fitted(rows, rows.shape[-1] if n is None else n)
    return _finished(run(fourier.real_fourier, rows), _scale(norm, rows.shape[-1], False), axis, out)


@form_of(np.fft.irfft)
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None) -> ndarray:
    """The inverse of `rfft`: ``n`` real numbers."""
    x = operand(a)
    rows = moveaxis(x.astype(np.fft.fft(np.zeros(1, x.dtype)).dtype, copy=False), axis, -1)
    size = 2 * (rows.shape[-1] - 1) if n is None else n
    rows = _fitted(rows, size // 2 + 1 if size > 0 else size)
    return _finished(run(fourier.inverse_real_fourier, rows, size=size), _scale(norm, size, True), axis, out)


#: The norm with which the opposite direction has the same factor.
OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@form_of(np.fft.hfft)
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None) -> ndarray:
    """The real transform of a signal with Hermitian symmetry."""
    return irfft(conjugate(a), n, axis, OPPOSITE.get(norm, norm), out)


@form_of(np.fft.ihfft)
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out = None) -> ndarray:
    """The inverse of `hfft`."""
    return deliver(conjugate(rfft(a, n, axis, OPPOSITE.get(norm, norm))), out)


# transforms of several axes


def _sizes(x: ndarray, s: Sizes, axes: Axes, halved: bool = False) -> list[tuple[int, int]]:
    """The axes of a transform, with the length of each; ``halved``: the last one holds half of the frequencies."""
    over = list(range(x.ndim)) if axes is None and s is None else list(range(-len(s), 0)) if axes is None else list(axes)  # type: ignore[arg-type]
    # a size of -1 is that of the axis, as in NumPy 2
    full = [x.shape[normalized_axis(k, x.ndim)] for k in over]
    given = full if s is None else [n if k == -1 else k for k, n in zip(s, full, strict=True)]
    if s is None and halved:
        # m frequencies alone suggest 2 (m - 1) real numbers
        given[-1] = 2 * (full[-1] - 1)
    return list(zip(over, given, strict=True))


def _each(
    one: Callable[..., ndarray], default: Axes, a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Out = None
) -> ndarray:
    x = operand(a)
    # the last axis first, as in NumPy: the order decides how results are rounded
    for axis, size in reversed(_sizes(x, s, default if axes is None else axes)):
        x = one(x, size, axis, norm)
    return deliver(x, out)


def _real(default: Axes, a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Out = None) -> ndarray:
    x = operand(a)
    *others, (last, count) = _sizes(x, s, default if axes is None else axes)
    x = rfft(x, count, last, norm)
    for axis, size in reversed(others):
        x = fft(x, size, axis, norm)
    return deliver(x, out)


def _inverse_real(default: Axes, a: ArrayLike, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Out = None) -> ndarray:
    x = operand(a)
    *others, (last, count) = _sizes(x, s, default if axes is None else axes, halved=True)
    for axis, size in others:
        x = ifft(x, size, axis, norm)
    return irfft(x, count, last, norm, out)


for _axes, _ending in ((None, "n"), ((-2, -1), "2")):
    form_of(getattr(np.fft, "fft" + _ending))(partial(_each, fft, _axes))
    form_of(getattr(np.fft, "ifft" + _ending))(partial(_each, ifft, _axes))
    form_of(getattr(np.fft, "rfft" + _ending))(partial(_real, _axes))
    form_of(getattr(np.fft, "irfft" + _ending))(partial(_inverse_real, _axes))


def _shifted(forward: bool, x: ArrayLike, axes: int | Sequence[int] | None = None) -> ndarray:
    a = operand(x)
    over = tuple(range(a.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    sizes = [a.shape[k] for k in over]
    return roll(a, tuple([n // 2 if forward else -(n // 2) for n in sizes]), over)


form_of(np.fft.fftshift)(partial(_shifted, True))
form_of(np.fft.ifftshift)(partial(_shifted, False))


# functions that become complex where a real one has no result


def _extended(name: str, needs_complex: Callable[[np.ndarray], object]) -> Callable[..., ndarray]:
    function = function_of(name)

    def extended(x: ArrayLike) -> ndarray:
        return function(_as_complex_if(needs_complex, x))

    return form_of(getattr(np.emath, name))(extended)


def _as_complex_if(needs_complex: Callable[[np.ndarray], Any], x: ArrayLike) -> ndarray:
    """The operand, complex if one of its elements needs it."""
    a = operand(x)
    return a.astype(np.result_type(a.dtype, np.complex64)) if a.dtype.kind != "c" and np.any(needs_complex(host_of(a))) else a


def _is_negative(host: np.ndarray) -> Any:
    return host < 0


def _is_outside(host: np.ndarray) -> Any:
    return abs(host) > 1


sqrt, log, log2, log10 = [_extended(name, _is_negative) for name in ("sqrt", "log", "log2", "log10")]
arccos, arcsin, arctanh = [_extended(name, _is_outside) for name in ("arccos", "arcsin", "arctanh")]


@form_of(np.emath.logn)
def logn(n: ArrayLike, x: ArrayLike) -> ndarray:
    """Logarithms to the base ``n``."""
    return log(x) / log(n)


@form_of(np.emath.power)
def power(x: ArrayLike, p: ArrayLike) -> ndarray:
    """``x`` raised to the power ``p``, with complex results for negative bases."""
    exponent = operand(p)
    return function_of("power")(_as_complex_if(_is_negative, x), exponent if exponent.dtype.kind in "fc" else exponent + 0.0)
