"""Reductions of NumPy that differ from those of ``mx.nd``: mean, variance, standard deviation."""

from ..dtype import is_float
from ..errors import ParameterError
from ..opdef import Axis, DType, op
from .primitive_reduce import count_of


def in_dtype(xp, a, dtype):
    """The operand in the dtype that is averaged, and the result's dtype: integers as float64, 16-bit floats in float32, rounded once."""
    x = xp.cast(a, dtype or (xp.dtype_of(a) if is_float(xp.dtype_of(a)) else "float64"))
    return xp.upcast(x), xp.dtype_of(x)


def averaged(xp, x, axis, keepdims, less=0.0):
    """The sum divided by the number of elements minus ``less``; for integers, sum and quotient wrap to the operand's dtype."""
    # NumPy divides by 0, and so gives NaN or infinity, where ddof reaches the number of elements
    count = max(count_of(x.shape, axis) - less, 0.0)
    return xp.cast_like(xp.divide(xp.cast_like(xp.sum(x, axis=axis, keepdims=keepdims), x), count), x)


@op("_numpy_mean", alone=True)
def numpy_mean(xp, a, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False, initial: float | None = None):
    """Arithmetic mean over axes. A mean has no initial value: ``initial`` must be None, as in MXNet."""
    if initial is not None:
        raise ParameterError("mean: initial is not supported", f"initial={initial}", "leave initial out")
    x, result = in_dtype(xp, a, dtype)
    return xp.cast(averaged(xp, x, axis, keepdims), result)


@op("_numpy_var", alone=True)
def numpy_var(xp, a, *, axis: Axis = None, dtype: DType | None = None, ddof: float = 0.0, keepdims: bool = False):
    """Variance over axes: the sum of squared deviations from the mean, divided by the number of elements minus ``ddof``."""
    x, result = in_dtype(xp, a, dtype)
    centered = x - averaged(xp, x, axis, True)
    return xp.cast(averaged(xp, centered * centered, axis, keepdims, ddof), result)


@op("_numpy_std", alone=True)
def numpy_std(xp, a, *, axis: Axis = None, dtype: DType | None = None, ddof: float = 0.0, keepdims: bool = False):
    """Standard deviation over axes: the square root of the variance."""
    x, result = in_dtype(xp, a, dtype)
    return xp.cast(xp.sqrt(numpy_var(xp, x, axis=axis, ddof=ddof, keepdims=keepdims)), result)


for _op in (numpy_mean, numpy_var, numpy_std):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4)), axis=(0, 2)))
    _op.sample(lambda draw: draw(draw.real((3, 4)), keepdims=True))
