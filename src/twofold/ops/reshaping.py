"""Rearranging elements: reshape codes, adding and removing axes, transposes, tiles, broadcasts, depth and space."""

import math

from ..errors import ParameterError, ShapeError
from ..opdef import (
    Axis,
    Index,
    Shape,
    agreed,
    filled_shape,
    normalized_axes,
    normalized_axis,
    op,
    permuted,
    reshape_codes,
    reshaped,
    without_axis,
)


@op("Reshape", "reshape", method="reshape", drawn_as="shape")
def reshape_array(xp, data, *, shape: Shape = (), reverse: bool = False, target_shape: Shape = (), keep_highest: bool = False):
    """The elements, in row-major order, in another shape.

    In ``shape`` 0 keeps a size, -1 infers one, -2 keeps the rest, -3 merges two, -4 splits one in the two that follow; with
    ``reverse`` the codes are read from the right. ``target_shape`` is the older form: 0 infers a size, and ``keep_highest``
    keeps the first.
    """
    if shape:
        return xp.reshape(data, shape=reshape_codes(data.shape, shape, reverse))
    if not target_shape:
        raise ParameterError("Reshape: no shape", f"shape={shape}", "pass shape")
    first = data.shape[:1] if keep_highest else target_shape[:1]
    # the older form has 0 where the newer has -1
    sizes = [n or -1 for n in (*first, *target_shape[1:])]
    return xp.reshape(data, shape=filled_shape(sizes, math.prod(data.shape), "Reshape"))


@reshape_array.infer
def _(shapes, results, *, shape, reverse, **_):
    if not shape:
        return shapes, results
    # reading codes from the right is reading those of the reversed shape from the left
    order = slice(None, None, -1 if reverse else 1)
    found = reshaped(*[None if s is None else s[order] for s in (shapes[0], results[0])], codes=shape[order])
    before, after = [None if s is None else s[order] for s in found]
    return [before], [after]


reshape_array.sample(lambda draw: [draw(draw.real((2, 3, 4)), shape=codes) for codes in ((0, -1), (-3, 4), (-4, 1, 2, -2))])


@op("reshape_like", "_npx_reshape_like", method=True)
def reshape_like(
    xp,
    lhs,
    rhs: Index,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
):
    """``lhs`` reshaped: its axes from ``lhs_begin`` to ``lhs_end`` get the sizes of ``rhs`` from ``rhs_begin`` to ``rhs_end``."""
    a, b = len(lhs.shape), len(rhs.shape)
    begin, end = _place(lhs_begin, 0, a, "lhs_begin"), _place(lhs_end, a, a, "lhs_end")
    first, last = _place(rhs_begin, 0, b, "rhs_begin"), _place(rhs_end, b, b, "rhs_end")
    shape = (*lhs.shape[:begin], *rhs.shape[first:last], *lhs.shape[end:])
    return xp.reshape(lhs, shape=filled_shape(shape, math.prod(lhs.shape), "reshape_like"))


def _place(at, default, ndim, name):
    """A boundary between axes as a non-negative number."""
    if at is None:
        return default
    if not -ndim <= at <= ndim:
        raise ShapeError(f"reshape_like: {name} is out of range", f"{at} for {ndim} dimensions", f"pass one from {-ndim} to {ndim}")
    return at + ndim if at < 0 else at


reshape_like.sample(lambda draw: draw(draw.real((6, 2)), draw.real((2, 3, 5)), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2))


@op("Flatten", "flatten", "_npx_batch_flatten", method="flatten", symbol_method=False, drawn_as="shape")
def flatten(xp, data):
    """Flattens all axes except the first: (n, d…) to (n, ∏d)."""
    return xp.reshape(data, shape=(data.shape[0], math.prod(data.shape[1:])))


@flatten.infer
def _(shapes, results):
    before, after = reshaped(shapes[0], agreed(results[0], (None, None)) or (None, None), (0, -1))
    return [before], [after]


flatten.sample(lambda draw: draw(draw.real((2, 3, 4))))


@op("expand_dims", "_npi_expand_dims", method=True, symbol_method=False, row="expand_dims(a, axis)")
def expand_dims(xp, data, *, axis: int):
    """Inserts an axis of size 1 before ``axis``."""
    return xp.expand_dims(data, normalized_axis(axis, len(data.shape) + 1, "expand_dims: axis"))


@expand_dims.infer
def _(shapes, results, *, axis):
    data = agreed(shapes[0], without_axis(results[0], axis))
    if data is None:
        return shapes, results
    at = normalized_axis(axis, len(data) + 1, "expand_dims: axis")
    return [data], [(*data[:at], 1, *data[at:])]


expand_dims.sample(lambda draw: draw(draw.real((2, 3)), axis=-2))


@op("squeeze", method=True, symbol_method=False)
def squeeze(xp, data, *, axis: Axis = None):
    """Removes the given axes, or all axes, of size 1."""
    return xp.squeeze(data, axis)


@squeeze.infer
def _(shapes, results, *, axis):
    data, result = shapes[0], results[0]
    if axis is None or (data is None and (result is None or len(result) < 2)):
        return shapes, results  # MXNet has no 0-d results, so one axis may be left
    ndim = len(data) if data is not None else len(result) + (1 if isinstance(axis, int) else len(axis))
    gone = normalized_axes(axis, ndim)
    left = [k for k in range(ndim) if k not in gone]
    back = dict(zip(left, result, strict=True)) if result is not None and len(result) == len(left) else {}
    whole = agreed(data, tuple(1 if k in gone else back.get(k) for k in range(ndim)))
    return [whole], [None if whole is None else tuple(whole[k] for k in left) or (1,)]


squeeze.sample(lambda draw: draw(draw.real((1, 2, 1, 3)), axis=(0, -2)))


@op("SwapAxis", "_npi_swapaxes", "swapaxes", method="swapaxes", row="swapaxes(a, axis1: dim1, axis2: dim2)")
def swap_axis(xp, data, *, dim1: int = 0, dim2: int = 0):
    """Swaps two axes."""
    ndim = len(data.shape)
    return xp.swapaxes(data, normalized_axis(dim1, ndim, "SwapAxis: dim1"), normalized_axis(dim2, ndim, "SwapAxis: dim2"))


@swap_axis.infer
def _(shapes, results, *, dim1, dim2):
    ndim = _ndim(*shapes, *results)
    if ndim is None:
        return shapes, results
    axes = list(range(ndim))
    a, b = normalized_axis(dim1, ndim, "SwapAxis: dim1"), normalized_axis(dim2, ndim, "SwapAxis: dim2")
    axes[a], axes[b] = b, a
    before, after = permuted(shapes[0], results[0], axes)
    return [before], [after]


def _ndim(*shapes):
    """The number of axes of shapes, if one of them is known."""
    return next((len(s) for s in shapes if s is not None), None)


swap_axis.sample(lambda draw: draw(draw.real((2, 3, 4)), dim1=0, dim2=-1))


@op("transpose", method=True)
def transpose(xp, data, *, axes: Shape = ()):
    """Permutes the axes; reverses them if no order is given."""
    ndim = len(data.shape)
    if not axes:
        return xp.permute_dims(data, axes=tuple(range(ndim))[::-1])
    if len(axes) != ndim or len({a % ndim for a in axes}) != ndim or not all(-ndim <= a < ndim for a in axes):
        raise ShapeError("transpose: the axes are not a permutation", f"axes {axes} of shape {data.shape}", "name each axis once")
    return xp.permute_dims(data, axes=tuple(a % ndim for a in axes))


@transpose.infer
def _(shapes, results, *, axes):
    ndim = _ndim(*shapes, *results)
    if ndim is None or (axes and len(axes) != ndim):
        return shapes, results
    before, after = permuted(shapes[0], results[0], [a % ndim for a in axes] or range(ndim)[::-1])
    return [before], [after]


transpose.sample(lambda draw: [draw(draw.real((2, 3, 4))), draw(draw.real((2, 3, 4)), axes=(1, 2, 0))])


@op("reverse", "flip", method="flip", keeps_shape=True)
def reverse(xp, data, *, axis: Shape):
    """Reverses the elements along axes; along one that is named twice, twice."""
    named = [normalized_axis(a, len(data.shape), "reverse: axis") for a in axis]
    return xp.flip(data, tuple(a for a in dict.fromkeys(named) if named.count(a) % 2))


reverse.sample(lambda draw: draw(draw.real((2, 3, 4)), axis=(0, 2)))


@op("tile", "_npi_tile", method=True, row="tile(A, reps)", numpy_names=("tile",))
def tile(xp, data, *, reps: Shape):
    """Repeats the whole array along each axis; ``reps`` is aligned with the last axis."""
    if any(n < 0 for n in reps):
        raise ParameterError("tile: a number of repeats is negative", f"reps={reps}", "pass 0 or more")
    ndim = max(len(data.shape), len(reps))
    sizes = (1,) * (ndim - len(data.shape)) + data.shape
    counts = (1,) * (ndim - len(reps)) + reps
    # new axes of size 1 are broadcast and merged: one copy, whatever the number of repeats
    apart = xp.reshape(data, shape=tuple(size for n in sizes for size in (1, n)))
    wide = xp.broadcast_to(apart, shape=tuple(size for pair in zip(counts, sizes, strict=True) for size in pair))
    return xp.reshape(wide, shape=tuple(count * n for count, n in zip(counts, sizes, strict=True)))


tile.sample(lambda draw: draw(draw.real((2, 3)), reps=(2, 1, 2)))


@op("repeat", "_np_repeat", method=True, row="repeat(a, repeats, axis=None)")
def repeat(xp, data, *, repeats: int, axis: int | None = None):
    """Repeats each element ``repeats`` times along an axis (flattened first if None)."""
    if repeats < 0:
        raise ParameterError("repeat: the number of repeats is negative", f"repeats={repeats}", "pass 0 or more")
    if axis is None:
        return repeat(xp, xp.reshape(data, shape=(math.prod(data.shape),)), repeats=repeats, axis=0)
    at = normalized_axis(axis, len(data.shape), "repeat: axis") + 1
    before, n, after = data.shape[: at - 1], data.shape[at - 1], data.shape[at:]
    # a new axis of size 1, broadcast and merged, as in `tile`: one copy
    wide = xp.broadcast_to(xp.expand_dims(data, at), shape=(*before, n, repeats, *after))
    return xp.reshape(wide, shape=(*before, n * repeats, *after))


repeat.sample(lambda draw: [draw(draw.real((2, 3)), repeats=2), draw(draw.real((2, 3)), repeats=2, axis=-1)])


@op("broadcast_to", method=True)
def broadcast_to_shape(xp, data, *, shape: Shape = ()):
    """Broadcasts axes of size 1 to a shape, in which 0 keeps a size."""
    lead = len(shape) - len(data.shape)
    # 0 keeps a size; new leading axes have none to keep
    kept = (*shape[: max(lead, 0)], *data.shape) if lead >= 0 else shape
    return xp.broadcast_to(data, shape=tuple(n or keep for n, keep in zip(shape, kept, strict=True)))


broadcast_to_shape.sample(lambda draw: draw(draw.real((2, 1, 1)), shape=(0, 3, 4)))


@op("broadcast_axis", "broadcast_axes", method="broadcast_axes")
def broadcast_axis(xp, data, *, axis: Shape = (), size: Shape = ()):
    """Broadcasts the given axes, of size 1, to sizes."""
    ndim = len(data.shape)
    if len(axis) != len(size):
        raise ParameterError("broadcast_axis: axis and size differ in length", f"axis={axis}, size={size}", "pass one size for each axis")
    sizes = dict(zip([normalized_axis(a, ndim, "broadcast_axis: axis") for a in axis], size, strict=True))
    if len(sizes) < len(axis):
        raise ShapeError("broadcast_axis: an axis is named twice", f"axis={axis} of shape {data.shape}", "name each axis once")
    if any(data.shape[k] != 1 for k in sizes):
        raise ShapeError("broadcast_axis: an axis does not have size 1", f"axis {axis} of shape {data.shape}", "name axes of size 1")
    return xp.broadcast_to(data, shape=tuple(sizes.get(k, n) for k, n in enumerate(data.shape)))


broadcast_axis.sample(lambda draw: draw(draw.real((1, 2, 1)), axis=(2, 0), size=(2, 3)))


@op("broadcast_like", npx_name="broadcast_like", method=True)
def broadcast_like(xp, lhs, rhs: Index, *, lhs_axes: Shape | None = None, rhs_axes: Shape | None = None):
    """Broadcasts ``lhs`` to the shape of ``rhs``, or some of its axes to the sizes of some axes of ``rhs``."""
    if lhs_axes is None and rhs_axes is None:
        return xp.broadcast_to(lhs, shape=rhs.shape)
    if lhs_axes is None or rhs_axes is None or len(lhs_axes) != len(rhs_axes):
        raise ParameterError(
            "broadcast_like: the numbers of axes differ", f"lhs_axes={lhs_axes}, rhs_axes={rhs_axes}", "pass equally many of each"
        )
    size = tuple(rhs.shape[normalized_axis(a, len(rhs.shape), "broadcast_like: rhs_axes")] for a in rhs_axes)
    at = tuple(normalized_axis(a, len(lhs.shape), "broadcast_like: lhs_axes") for a in lhs_axes)
    sizes = dict(zip(at, size, strict=True))
    return xp.broadcast_to(lhs, shape=tuple(sizes.get(k, n) for k, n in enumerate(lhs.shape)))


broadcast_like.sample(lambda draw: draw(draw.real((1, 3, 1)), draw.real((5, 2)), lhs_axes=(0, 2), rhs_axes=(1, 0)))


@op("depth_to_space", method=True)
def depth_to_space(xp, data, *, block_size: int):
    """Moves channels into spatial blocks: (n, b·b·c, h, w) to (n, c, h·b, w·b)."""
    n, depth, h, w = _images(data, "depth_to_space")
    b = block_size
    if b < 1 or depth % (b * b):
        raise ShapeError(
            "depth_to_space: the channels cannot be divided into blocks",
            f"{depth} channels, block_size={b}",
            "make them a multiple of block_size²",
        )
    # the block's position is the slow part of the channel index (ONNX calls this DCR)
    blocks = xp.reshape(data, shape=(n, b, b, depth // (b * b), h, w))
    return xp.reshape(xp.permute_dims(blocks, axes=(0, 3, 4, 1, 5, 2)), shape=(n, depth // (b * b), h * b, w * b))


@op("space_to_depth", method=True)
def space_to_depth(xp, data, *, block_size: int):
    """Moves spatial blocks into channels: (n, c, h·b, w·b) to (n, b·b·c, h, w)."""
    n, depth, h, w = _images(data, "space_to_depth")
    b = block_size
    if b < 1 or h % b or w % b:
        raise ShapeError(
            "space_to_depth: the image cannot be divided into blocks",
            f"{h} by {w}, block_size={b}",
            "make both sides multiples of block_size",
        )
    # (n, c, h / b, b, w / b, b): the position within a block goes before the channels, which undoes `depth_to_space`
    blocks = xp.reshape(data, shape=(n, depth, h // b, b, w // b, b))
    return xp.reshape(xp.permute_dims(blocks, axes=(0, 3, 5, 1, 2, 4)), shape=(n, depth * b * b, h // b, w // b))


def _images(data, name):
    if len(data.shape) != 4:
        raise ShapeError(f"{name}: needs four dimensions", f"shape {data.shape}", "pass (n, channels, height, width)")
    return data.shape


depth_to_space.sample(lambda draw: draw(draw.real((1, 8, 2, 3)), block_size=2))


space_to_depth.sample(lambda draw: draw(draw.real((1, 2, 4, 6)), block_size=2))
