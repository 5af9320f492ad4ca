"""Rows copied to indices, the indices of an array's own elements, and the comparison of two arrays as a whole."""

from ..errors import ShapeError
from ..opdef import Index, Shape, normalized_axis, op
from .primitive_math import absolute


@op("_contrib_index_copy", keeps_shape=True)
def index_copy(xp, old_tensor, index_vector: Index, new_tensor):
    """``old_tensor`` (n, …) with its rows at ``index_vector`` (k,) replaced by ``new_tensor`` (k, …); of equal indices the last wins.

    Indices are in [0, n); others raise when the result is read.
    """
    rows = index_vector.shape[:1]
    if len(index_vector.shape) != 1 or new_tensor.shape != (*rows, *old_tensor.shape[1:]):
        given = f"{old_tensor.shape}, indices {index_vector.shape}, new {new_tensor.shape}"
        raise ShapeError("index_copy: the shapes do not match", given, "pass one index for each row of new_tensor")
    at = xp.checked_index(xp.cast(index_vector, "int64"), size=old_tensor.shape[0], negative=False)
    return xp.index_update(old_tensor, new_tensor, at, key=(0, *[None] * (len(old_tensor.shape) - 1)))


@index_copy.infer
def _(shapes):
    old, index, new = shapes
    # one new row for each index
    rows = None if index is None else index[0]
    return [old, index, new if old is None else (rows, *old[1:])]


index_copy.sample(lambda draw: draw(draw.real((4, 2)), draw.integer((3,), 0, 4, "int64"), draw.real((3, 2))))


@op("_contrib_index_array", differentiable=False)
def index_array(xp, data: Index, *, axes: Shape | None = None):
    """The index of each element of an array (s…), as int64: (s…, number of axes); ``axes`` selects and orders the axes."""
    shape = data.shape
    chosen = range(len(shape)) if axes is None else [normalized_axis(a, len(shape), "index_array: axis") for a in axes]
    parts = []
    for k in chosen:
        along = xp.reshape(xp.iota(size=shape[k], dtype="int64"), shape=tuple(n if j == k else 1 for j, n in enumerate(shape)))
        parts.append(xp.broadcast_to(along, shape=shape))
    return xp.stack(parts, len(shape))


index_array.dtypes(lambda dtypes, **_: ["int64"])
index_array.sample(lambda draw: [draw(draw.real((2, 3)), gradient=False), draw(draw.real((2, 3, 2)), axes=(2, 0), gradient=False)])


@op("_contrib_allclose", differentiable=False, alike=True)
def allclose(xp, a, b, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True):
    """1 if ``|a - b| <= atol + rtol * |b|`` for all elements, else 0, as uint8. Infinities equal themselves, NaNs with ``equal_nan``."""
    if a.shape != b.shape:
        raise ShapeError("allclose: the shapes differ", f"{a.shape} and {b.shape}", "pass arrays of one shape")
    x, y = xp.to_float(a), xp.to_float(b)
    # infinity - infinity is NaN, which is not close, so equality is tested too
    close = xp.logical_or(xp.less_equal(absolute(xp, x - y), atol + rtol * absolute(xp, y)), xp.equal(x, y))
    # an infinite number is close to itself only
    close = xp.logical_and(close, xp.logical_or(xp.isfinite(y), xp.equal(x, y)))
    if equal_nan:
        close = xp.logical_or(close, xp.logical_and(xp.isnan(x), xp.isnan(y)))
    return xp.cast(xp.all(close, axis=None, keepdims=False), "uint8")


allclose.dtypes(lambda dtypes, **_: ["uint8"])
allclose.sample(lambda draw: [draw(draw.real((2, 3)), draw.real((2, 3)), rtol=0.5, gradient=False)])
