"""Arrays created from parameters or from another array's shape: zeros, ones, ranges, identities, diagonals.

``ctx``, the device of the result, is an argument of the front ends.
"""

import math

from ..dtype import FROM_MXNET_CODE, dtype_name
from ..errors import ParameterError, ShapeError
from ..opdef import DType, Scalar, Shape, normalized_axis, op
from .storage_rules import nothing_stored


@op("_zeros", differentiable=False)
def zeros(xp, *, shape: Shape = (), dtype: DType = "float32"):
    """Zeros."""
    return xp.zeros(shape, dtype)


@op("_ones", differentiable=False)
def ones(xp, *, shape: Shape = (), dtype: DType = "float32"):
    """Ones."""
    return xp.ones(shape, dtype)


@op("_zeros_without_dtype", differentiable=False)
def zeros_without_dtype(xp, *, shape: Shape = (), dtype: int = -1):
    """Zeros; ``dtype`` is MXNet's dtype code, with -1 for float32."""
    return xp.zeros(shape, _of_code(dtype))


def _of_code(code: int) -> str:
    return "float32" if code == -1 else dtype_name(FROM_MXNET_CODE.get(code, code))


zeros_without_dtype.dtypes(lambda dtypes, *, dtype, **_: [_of_code(dtype)])
for _op in (zeros, ones, zeros_without_dtype):
    _op.sample(lambda draw: draw(shape=(2, 3)))


@op("_full", "_npi_full", differentiable=False)
def full_value(xp, *, shape: Shape = (), dtype: DType = "float32", value: Scalar):
    """An array filled with one value, which is truncated for integer dtypes."""
    # the value is cast before it is broadcast: that is one element, and the rest is a view
    return xp.broadcast_to(xp.astype(value, dtype=dtype), shape=shape)


full_value.sample(lambda draw: draw(shape=(2, 3), value=2.5))


@op("_set_value", differentiable=False)
def set_value(xp, *, src: Scalar = 0.0):
    """An array of one element, for front ends that broadcast it into another array."""
    return xp.reshape(xp.astype(src, dtype="float32"), shape=(1,))


set_value.sample(lambda draw: draw(src=2.5))


@op("_arange", differentiable=False)
def arange(
    xp, *, start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False, dtype: DType = "float32"
):
    """``start, start + step, …`` below ``stop`` (``start`` alone is the end), each ``repeat`` times; computed in float64."""
    if infer_range:
        raise ParameterError(
            "_arange: the range cannot be inferred from a shape", "infer_range=True", "pass stop, or use contrib.arange_like"
        )
    if step == 0:
        raise ParameterError("_arange: the step is 0", f"start {start}, stop {stop}", "pass a different step")
    first, end = (0.0, start) if stop is None else (start, stop)
    count = max(0, math.ceil((end - first) / step))
    return _progression(xp, first, step, count, repeat, dtype)


def _progression(xp, start, step, count, repeat, dtype):
    """``count`` values from ``start`` on, each repeated ``repeat`` times, as a vector."""
    # start + k · step in float64 does not accumulate rounding errors, as a running sum would
    values = xp.iota(size=count, dtype="float64") * step + start
    if repeat != 1:
        values = xp.reshape(xp.broadcast_to(xp.expand_dims(values, 1), shape=(count, repeat)), shape=(count * repeat,))
    return xp.cast(values, dtype)


arange.sample(lambda draw: [draw(start=1.0, stop=3.0, step=0.25), draw(start=0.0, stop=3.0, repeat=2, dtype="int32")])


@op("_contrib_arange_like", "_npx_arange_like", differentiable=False)
def arange_like(xp, data, *, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: str = "", axis: int | None = None):
    """A range with the length of an axis of ``data`` (with None: of its size and shape), in its dtype.

    Each value is there ``repeat`` times, the last one less often if ``repeat`` does not divide the length.
    ``ctx`` has no effect: the result is where ``data`` is.
    """
    shape = data.shape if axis is None else (data.shape[normalized_axis(axis, len(data.shape))],)
    size = math.prod(shape)
    if repeat < 1:
        raise ParameterError("contrib.arange_like: repeat is not positive", f"repeat={repeat}", "pass 1 or more")
    values = _progression(xp, start, step, -(-size // repeat), repeat, xp.dtype_of(data))
    return xp.reshape(xp.take_slice(values, 0, size, 0) if size % repeat else values, shape=shape)


arange_like.sample(lambda draw: [draw(draw.real((2, 4)), start=1.0, step=0.5), draw(draw.real((2, 4)), axis=1, repeat=2)])


@op("_linspace", "_npi_linspace", differentiable=False)
def linspace(xp, *, start: float, stop: float, num: int, endpoint: bool = True, dtype: DType = "float32"):
    """``num`` evenly spaced values from ``start`` to ``stop``, inclusive if ``endpoint``; computed in float64."""
    if num < 0:
        raise ParameterError("_linspace: the number of values is negative", f"num={num}", "pass 0 or more")
    parts = max(1, num - 1 if endpoint else num)
    weight = xp.iota(size=num, dtype="float64") / parts
    return xp.cast((1 - weight) * start + weight * stop, dtype)  # interpolates from both sides, so that both ends are exact


linspace.sample(lambda draw: [draw(start=0.0, stop=1.0, num=5), draw(start=3.0, stop=-3.0, num=4, endpoint=False)])


@op("_eye", differentiable=False)
def eye(xp, *, N: int, M: int = 0, k: int = 0, dtype: DType = "float32"):
    """Ones on the diagonal ``k`` of an (N, M) matrix, square if ``M`` is not positive; zeros elsewhere."""
    rows = xp.expand_dims(xp.iota(size=N, dtype="int64"), 1)
    columns = xp.iota(size=M if M > 0 else N, dtype="int64")
    return xp.astype(xp.equal(rows + k, columns), dtype=dtype)


eye.sample(lambda draw: [draw(N=3), draw(N=2, M=4, k=1)])


@op("zeros_like", "_sparse_zeros_like", method=True, differentiable=False, keeps_shape=True, sparse_rule=nothing_stored)
def zeros_like(xp, data):
    """Zeros of an array's shape and dtype."""
    return xp.zeros_like(data)


@op("ones_like", method=True, differentiable=False, keeps_shape=True)
def ones_like(xp, data):
    """Ones of an array's shape and dtype."""
    return xp.ones_like(data)


zeros_like.gradient_stypes(lambda stypes, head: [head])
for _op in (zeros_like, ones_like):
    _op.sample(lambda draw: draw(draw.real((2, 3)), gradient=False))


@op("shape_array", "_npx_shape_array", method=True, differentiable=False)
def shape_array(xp, data):
    """The shape as an int64 array."""
    # a 0-d array has nothing to concatenate
    if not data.shape:
        return xp.zeros((0,), "int64")
    return xp.concat(*[xp.full(shape=(1,), value=n, dtype="int64") for n in data.shape], axis=0)


@op("size_array", method=True, differentiable=False)
def size_array(xp, data):
    """The number of elements as an int64 array of one element."""
    return xp.full(shape=(1,), value=math.prod(data.shape), dtype="int64")


@shape_array.dtypes
@size_array.dtypes
def _(dtypes):
    return ["int64"]


shape_array.infer(lambda shapes, results: (shapes, [(None if shapes[0] is None else len(shapes[0]),)]))


size_array.infer(lambda shapes, results: (shapes, [(1,)]))


for _op in (shape_array, size_array):
    _op.sample(lambda draw: draw(draw.real((2, 3)), gradient=False))


@op("diag", method=True)
def diag(xp, data, *, k: int = 0, axis1: int = 0, axis2: int = 1):
    """The diagonal ``k`` of two axes, which a new last axis replaces; for a vector, the square matrix with that diagonal."""
    if len(data.shape) == 1:
        return diagonal_matrix(xp, data, k)
    return diagonal(xp, data, k, axis1, axis2)


def diagonal_matrix(xp, data, k):
    """The square matrix with a vector on its diagonal ``k`` and zeros elsewhere."""
    (n,) = data.shape
    m = n + abs(k)
    # the diagonal is every (m + 1)-th element of the flattened matrix
    first = k if k >= 0 else -k * m
    flat = xp.slice_update(xp.zeros((m * m,), xp.dtype_of(data)), data, key=((first, first + n * (m + 1), m + 1),))
    return xp.reshape(flat, shape=(m, m))


def diagonal(xp, data, k, axis1, axis2):
    """The diagonal ``k`` of two axes, which a new last axis replaces; empty beyond the corners."""
    ndim = len(data.shape)
    a, b = normalized_axis(axis1, ndim, "diag: axis1"), normalized_axis(axis2, ndim, "diag: axis2")
    if a == b:
        raise ShapeError("diag: the axes are the same", f"axis1={axis1}, axis2={axis2} of shape {data.shape}", "name two axes")
    rows, columns = data.shape[a], data.shape[b]
    rest = [j for j in range(ndim) if j not in (a, b)]
    flat = xp.reshape(xp.permute_dims(data, axes=(*rest, a, b)), shape=(*[data.shape[j] for j in rest], rows * columns))
    length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    # the diagonal is every (columns + 1)-th element of the flattened matrix: a strided slice, not a gather
    first = k if k >= 0 else -k * columns
    return xp.take_slice(flat, first, first + length * (columns + 1), -1, columns + 1)


diag.sample(lambda draw: [draw(draw.real((3,)), k=-1), draw(draw.real((3, 4)), k=1), draw(draw.real((2, 3, 4)), axis1=-1, axis2=0)])
