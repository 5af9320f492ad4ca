"""Fixed parts of arrays: slice, slice_axis, slice_like, crops, assignment to a slice, padding."""

from typing import Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Index, Scalar, Shape, expected_shape, normalized_axis, op, size_at, sliced_shape, stype_of

FULL = (None, None, None)


def key_of(name, shape, begin, end, step):
    """One (begin, end, step) triple per axis; trailing axes that are not given are taken whole.

    Raises
    ------
    ParameterError
        If the lengths do not fit the array or a step is 0.
    """
    if not len(begin) == len(end) <= len(shape) or len(step) not in (0, len(begin)):
        raise ParameterError(
            f"{name}: begin, end and step do not match the array",
            f"{begin}, {end}, {step} for shape {shape}",
            "pass one of each per leading axis",
        )
    if 0 in step:
        raise ParameterError(f"{name}: a step is 0", f"step={step}", "pass a different step")
    triples = tuple(zip(begin, end, step or (None,) * len(begin), strict=True))
    return triples + (FULL,) * (len(shape) - len(begin))


@op("slice", "_npi_slice", "_npx_slice", "_sparse_slice", "crop", method=True)
def slice_range(xp, data, *, begin: Shape, end: Shape, step: Shape = ()):
    """``data[begin:end:step, …]``, with negative, None and out-of-range bounds as in Python."""
    return xp.slice(data, key=key_of("slice", data.shape, begin, end, step))


@slice_range.sparse
def _(xp, dense, data, *, begin, end, step):
    if stype_of(data) != "csr" or any(s not in (None, 1) for s in step):
        return None
    key = key_of("slice", data.shape, begin, end, step)
    # a csr matrix stores where its rows begin, so a range of rows is a range of stored elements; a step would copy row by row
    bounds = [slice(*k).indices(n)[:2] for k, n in zip(key, data.shape, strict=True)]
    return xp.csr_slice(data, bounds[0], bounds[1])


slice_range.sample(lambda draw: draw(draw.real((4, 5)), begin=(1, -2), end=(3, None)))
slice_range.sample(lambda draw: draw(draw.real((4, 5)), begin=(3, 4), end=(0, 1), step=(-1, -2)))


@op("slice_axis", method=True)
def slice_axis(xp, data, *, axis: int, begin: int, end: int | None):
    """The elements from ``begin`` to ``end`` (the last if None) of one axis; negative bounds count from the end."""
    at = normalized_axis(axis, len(data.shape), "slice_axis: axis")
    size = data.shape[at]
    # bounds are checked, not clipped as a slice's are: MXNet refuses them, too
    first, last = (begin + size if begin < 0 else begin), (size if end is None else end + size if end < 0 else end)
    if not 0 <= first <= last <= size:
        raise ParameterError(
            "slice_axis: begin and end are out of range", f"begin={begin}, end={end} of size {size}", "pass positions on the axis"
        )
    return xp.take_slice(data, first, last, at)


slice_axis.sample(lambda draw: draw(draw.real((3, 4)), axis=-1, begin=-3, end=None))


@op("slice_like", method=True)
def slice_like(xp, data, shape_like: Index, *, axes: Shape = ()):
    """The leading part of ``data`` with the sizes of ``shape_like`` along the given axes (all if none)."""
    ndim = len(data.shape)
    if not axes and len(shape_like.shape) != ndim:
        raise ShapeError("slice_like: the numbers of dimensions differ", f"{data.shape} and {shape_like.shape}", "pass the axes to slice")
    cut = _axes_to_cut(axes, ndim)
    sizes = {k: shape_like.shape[normalized_axis(k, len(shape_like.shape), "slice_like: axes")] for k in cut}
    if any(n > data.shape[k] for k, n in sizes.items()):
        raise ShapeError("slice_like: the data is too small", f"{data.shape} to {shape_like.shape}", "pass sizes that fit into the data")
    return xp.slice(data, key=tuple((0, sizes[k], None) if k in sizes else FULL for k in range(ndim)))


def _axes_to_cut(axes: Shape, ndim: int) -> tuple[int, ...]:
    # MXNet takes an axis that is named twice as named once
    return tuple(dict.fromkeys(normalized_axis(k, ndim, "slice_like: axes") for k in axes)) if axes else tuple(range(ndim))


@slice_like.infer
def _(shapes, results, *, axes):
    data, like = shapes
    if data is None or like is None or (not axes and len(data) != len(like)):
        return shapes, results
    cut = _axes_to_cut(axes, len(data))
    return shapes, [tuple(size_at(like, k) if k in cut else n for k, n in enumerate(data))]


slice_like.sample(lambda draw: draw(draw.real((3, 4)), draw.real((2, 3)), axes=(1,)))


@op("Crop", count_param="num_args", alike=True)
def crop_image(xp, *data, offset: Shape = (0, 0), h_w: Shape = (0, 0), center_crop: bool = False):
    """A window of images (n, c, h, w) of the second array's size, or of ``h_w``, at ``offset`` or in the center."""
    image, *like = data
    if len(image.shape) != 4 or len(like) > 1:
        raise ShapeError("Crop: needs images, and at most one reference array", f"{[a.shape for a in data]}", "pass (n, c, h, w)")
    size = like[0].shape[2:] if like else h_w
    room = [n - m for n, m in zip(image.shape[2:], size, strict=True)]
    first = [r // 2 for r in room] if center_crop else list(offset)
    if min(room) < 0 or min(first) < 0 or any(f > r for f, r in zip(first, room, strict=True)):
        raise ShapeError(
            "Crop: the window exceeds the image", f"{size} at {tuple(first)} of {image.shape[2:]}", "pass a smaller window or offset"
        )
    return xp.slice(image, key=(FULL, FULL, *[(f, f + m, None) for f, m in zip(first, size, strict=True)]))


crop_image.assumes(lambda names, **_: ["float32"] * len(names))
crop_image.sample(lambda draw: draw(draw.real((1, 2, 4, 5)), h_w=(2, 3), offset=(1, 2)))


@op("_slice_assign", "_crop_assign", "_npi_slice_assign", keeps_shape=True)
def slice_assign(xp, lhs, rhs, *, begin: Shape, end: Shape, step: Shape = ()):
    """``lhs`` with the elements of a slice replaced by ``rhs``."""
    return xp.slice_update(lhs, rhs, key=key_of("_slice_assign", lhs.shape, begin, end, step))


@slice_assign.infer
def _(shapes, *, begin, end, step):
    lhs, rhs = shapes
    if lhs is None or None in lhs:
        return shapes
    return [lhs, expected_shape(rhs, sliced_shape(lhs, key_of("_slice_assign", lhs, begin, end, step)))]


slice_assign.sample(lambda draw: draw(draw.real((3, 4)), draw.real((2, 2)), begin=(1, 1), end=(3, 3)))


@op("_slice_assign_scalar", "_crop_assign_scalar", "_npi_slice_assign_scalar", keeps_shape=True)
def slice_assign_scalar(xp, data, *, scalar: Scalar = 0.0, begin: Shape, end: Shape, step: Shape = ()):
    """``data`` with the elements of a slice replaced by a scalar."""
    return xp.slice_update(data, scalar, key=key_of("_slice_assign_scalar", data.shape, begin, end, step))


slice_assign_scalar.sample(lambda draw: draw(draw.real((3, 4)), scalar=1.5, begin=(0, None), end=(None, None), step=(2, 1)))


@op("Pad", "pad", method="pad")
def pad_array(xp, data, *, mode: Literal["constant", "edge", "reflect"], pad_width: Shape, constant_value: float = 0.0):
    """Pads each axis before and after: with a constant, the edge element, or the inner elements mirrored at the edge.

    ``pad_width`` holds (before, after) of the first axis, then of the second, and so on.
    """
    if len(pad_width) != 2 * len(data.shape) or any(n < 0 for n in pad_width):
        raise ParameterError("Pad: pad_width has the wrong length", f"{pad_width} for shape {data.shape}", "pass two sizes for each axis")
    width = tuple(zip(pad_width[::2], pad_width[1::2], strict=True))
    if mode == "constant":
        return xp.pad(data, width=width, value=constant_value)
    for axis, (before, after) in enumerate(width):
        data = (_edge if mode == "edge" else _mirrored)(xp, data, before, after, axis)
    return data


def _edge(xp, x, before, after, axis):
    n = x.shape[axis]
    if n == 0 and before + after:
        raise ShapeError("Pad: an axis without elements has no edge", f"axis {axis} of shape {x.shape}", "use mode='constant'")
    # each part with the number of its copies
    ends = [(xp.take_slice(x, 0, 1, axis), before), (x, 1), (xp.take_slice(x, n - 1, n, axis), after)]
    parts = [xp.tile_axis(part, count, axis) if part is not x else x for part, count in ends if count]
    return xp.concat(*parts, axis=axis) if len(parts) > 1 else x


def _mirrored(xp, x, before, after, axis):
    n = x.shape[axis]
    if max(before, after) >= n and before + after:
        raise ShapeError(
            "Pad: the reflection is longer than the axis", f"({before}, {after}) for size {n}", "pad less than the size of the axis"
        )
    # the edge itself is not repeated: from 1, and up to n - 1
    head = xp.flip(xp.take_slice(x, 1, before + 1, axis), axis)
    tail = xp.flip(xp.take_slice(x, n - 1 - after, n - 1, axis), axis)
    parts = [part for part, count in ((head, before), (x, 1), (tail, after)) if count]
    return xp.concat(*parts, axis=axis) if len(parts) > 1 else x


@pad_array.sample
def _(draw):
    width = (0, 0, 0, 0, 1, 2, 2, 1)
    return [draw(draw.real((1, 2, 3, 3)), mode=mode, pad_width=width) for mode in ("constant", "edge", "reflect")]
