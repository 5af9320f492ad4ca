"""Arrays made from parameters, or from another array's shape: zeros, ones, ranges, identities, diagonals."""

import math

from ..errors import ParameterError, ShapeError
from ..op.declare import op
from ..op.params import DType, Scalar, Shape
from ..op.shapes import normalized_axis

# ``ctx``, the device of the result, is the front end's argument: where there is an operand, it decides.


@op("_zeros", differentiable=False)
def zeros(xp, *, shape: Shape = (), dtype: DType = "float32"):
    """Zeros."""
    return xp.zeros(shape, dtype)


@op("_ones", differentiable=False)
def ones(xp, *, shape: Shape = (), dtype: DType = "float32"):
    """Ones."""
    return xp.ones(shape, dtype)


for _op in (zeros, ones):
    _op.sample(lambda draw: draw(shape=(2, 3)))


@op("_zeros_without_dtype", differentiable=False)
def zeros_without_dtype(xp, *, shape: Shape = (), dtype: int = -1):
    """Zeros; ``dtype`` is MXNet's code of the dtype, -1 means float32."""
    made = xp.zeros(shape, "float32")
    return made if dtype == -1 else cast(xp, made, dtype=dtype)


@zeros_without_dtype.sample
def _(draw):
    return draw(shape=(2, 3))


@op("_full", "_npi_full", differentiable=False)
def full_value(xp, *, shape: Shape = (), dtype: DType = "float32", value: Scalar):
    """An array of one value, which is truncated for an integer dtype."""
    return xp.broadcast_to(xp.astype(value, dtype=dtype), shape=shape)


@full_value.sample
def _(draw):
    return draw(shape=(2, 3), value=2.5)
