"""Positions in flattened arrays and along axes: ravel_multi_index, unravel_index; and cumulative sums."""

import math

from ..dtype import FLOATS
from ..errors import ParameterError, ShapeError
from ..opdef import DType, Shape, normalized_axis, op
from .gathering import whole


def _sizes(shape, name):
    """The sizes of all axes but the first, which neither conversion needs."""
    if not shape:
        raise ParameterError(f"{name}: the shape is missing", "shape=()", "pass the shape that the positions refer to")
    if any(n < 1 for n in shape[1:]):
        raise ParameterError(
            f"{name}: sizes must be positive", f"shape={tuple(shape)}", "only the first axis may have any size; -1 leaves it open"
        )
    return shape[1:]


@op("_ravel_multi_index", "ravel_multi_index", differentiable=False)
def ravel_multi_index(xp, data, *, shape: Shape = ()):
    """Positions in a flattened array: one row of ``data`` for each axis of ``shape``, (ndim, n…) to (n…).

    Nothing is checked against the bounds; the size of the first axis is not used and may be -1. Floats are truncated.
    """
    sizes = _sizes(shape, "ravel_multi_index")
    if not data.shape or data.shape[0] != len(shape):
        raise ShapeError("ravel_multi_index: one row for each axis is required", f"{data.shape}, shape={tuple(shape)}", "pass (ndim, n)")
    rows = [xp.squeeze(xp.take_slice(whole(xp, data), k, k + 1, 0), axis=0) for k in range(len(shape))]
    flat = rows[0]
    for row, size in zip(rows[1:], sizes, strict=True):
        # Horner's scheme; the first axis's size never enters
        flat = flat * size + row
    return xp.cast_like(flat, data)


@ravel_multi_index.infer
def _(shapes, results, *, shape, **_):
    (data,), (flat,) = shapes, results
    if data is None:
        return [(len(shape), *flat)] if flat is not None else shapes, results
    return shapes, [data[1:]]


ravel_multi_index.sample(lambda draw: draw(draw.integer((2, 5), 0, 4), shape=(4, 6)))
ravel_multi_index.sample(lambda draw: draw(draw.integer((3, 2, 2), 0, 2, "int64"), shape=(-1, 3, 2)))


@op("_unravel_index", "unravel_index", differentiable=False)
def unravel_index(xp, data, *, shape: Shape = ()):
    """Positions along each axis of a flattened array's positions: (n…) to (ndim, n…), one row for each axis of ``shape``.

    Nothing is checked against the bounds; the size of the first axis is not used and may be -1. Floats are truncated.
    """
    rest, rows = whole(xp, data), []
    for size in reversed(_sizes(shape, "unravel_index")):
        row = xp.fmod(rest, size)  # of negative positions too, quotients are truncated, as in C
        rows.append(row)
        rest = xp.floor_divide(rest - row, size)
    return xp.cast_like(xp.stack([rest, *reversed(rows)], axis=0), data)


unravel_index.sample(lambda draw: draw(draw.integer((5,), 0, 24), shape=(4, 6)))
unravel_index.sample(lambda draw: draw(draw.integer((2, 2), 0, 12, "int64"), shape=(-1, 3, 2)))


@op("_np_cumsum", "cumsum", row="cumsum(a, axis=None, dtype=None, out=None)")
def cumsum(xp, a, *, axis: int | None = None, dtype: DType | None = None):
    """Running sum along an axis, or over all elements in order if ``axis`` is None; 16-bit floats are added in float32.

    The result has the given dtype, else that of ``a``: int64 if that is bool.
    """
    # bools are counted
    own = "int64" if xp.dtype_of(a) == "bool" else xp.dtype_of(a)
    x = xp.cast(a, own if dtype is None else dtype)
    if axis is None:
        x, axis = xp.reshape(x, shape=(math.prod(x.shape),)), 0
    at = normalized_axis(axis, len(x.shape), "cumsum: axis")
    total = xp.cumulative_sum(xp.upcast(x), axis=at)
    return xp.cast_like(total, x) if xp.dtype_of(x) in FLOATS else xp.cast(total, own if dtype is None else dtype)


for _keywords in ({}, {"axis": 1}, {"axis": -2}):
    cumsum.sample(lambda draw, keywords=_keywords: draw(draw.real((2, 3, 4)), **keywords))
