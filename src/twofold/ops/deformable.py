"""Convolutions and pooled regions whose places are displaced by learned offsets. Everything is a sum of weighted rows of pixels.

Sources: Dai et al., "Deformable convolutional networks", ICCV 2017; Zhu et al., "Deformable ConvNets v2", CVPR 2019.
"""

import math
from typing import Annotated, Any, Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Bias, Input, Operand, Shape, op, size_at, window_size
from .regions import check_regions, known_regions, regions_of
from .sampling import corners, pixel_rows, weighted_rows
from .windows import per_axis

Layout = Literal["NCW", "NCHW", "NCDHW"] | None
#: Displacements are present unless ``no_trans`` is set.
Shifts = Annotated[Operand | None, Input(present=("no_trans", False))]


# convolutions


def _number(xp, size, shape):
    """0, 1, 2 … along one axis of a shape whose other sizes are 1."""
    return xp.reshape(xp.iota(size=size, dtype="int64"), shape=shape)


def _places(xp, offset, kernel, stride, dilate, pad, groups, sizes):
    """Where the kernel's elements are, in pixels: rows and columns (n, l, k, groups)."""
    n, count, (height, width) = offset.shape[0], math.prod(kernel), sizes
    # (n, groups, k, 2, l) to (2, n, l, k, groups): the rows of channels that are read together come last
    shifts = xp.reshape(offset, shape=(n, groups, count, 2, height * width))
    shifts = xp.permute_dims(shifts, axes=(3, 0, 4, 2, 1))
    dtype = xp.dtype_of(offset)
    base = []
    for axis, (size, at) in enumerate(zip(sizes, ((height, 1, 1, 1), (1, width, 1, 1)), strict=True)):
        # where each window begins, in pixels of the image without padding
        window = _number(xp, size, at) * stride[axis] - pad[axis]
        element = _number(xp, kernel[axis], (1, 1, kernel[0], 1) if axis == 0 else (1, 1, 1, kernel[1])) * dilate[axis]
        whole = xp.broadcast_to(window + element, shape=(height, width, *kernel))
        base.append(xp.cast(xp.reshape(whole, shape=(1, height * width, count, 1)), dtype))
    return [xp.reshape(xp.take_slice(shifts, axis, axis + 1, 0), shape=shifts.shape[1:]) + base[axis] for axis in (0, 1)]


def _at_edges(xp, y, x, height, width):
    """Positions (p,), moved to the edge of the image if they are within a pixel of it; and which of them are inside."""
    inside = [xp.logical_and(xp.greater_equal(at, 0), xp.less(at, size)) for at, size in ((y, height), (x, width))]
    return xp.clip(y, 0, height - 1), xp.clip(x, 0, width - 1), xp.logical_and(*inside)


def _columns(xp, data, y, x, groups, factor, edges):
    """The pixels at places (n, l, k, groups) as the columns of a convolution: (n, l, k, c)."""
    n, c, h, w = data.shape
    shape = y.shape
    y, x = (xp.reshape(at, shape=(math.prod(shape),)) for at in (y, x))
    inside = None
    # the first version of the layer reads the edge here, the second (modulated) fades to 0 instead, as `corners` does
    if edges:
        y, x, inside = _at_edges(xp, y, x, h, w)
    index, weight = corners(xp, y, x, h, w)
    # `corners` numbers pixels within an image; those of later images follow in the rows
    image = xp.reshape(_number(xp, n, (n, 1, 1, 1)) * (h * w), shape=(n, 1, 1, 1, 1))
    index = xp.reshape(index, shape=(*shape, 4)) + image
    if groups > 1:  # the rows of a pixel, one for each group of channels
        index = index * groups + _number(xp, groups, (1, 1, 1, groups, 1))
    for mask in (inside, factor):
        if mask is not None:
            weight = weight * xp.reshape(mask, shape=(-1, 1))
    # the masks are multiplied into four weights per place, which are fewer numbers than the channels read there
    rows = xp.reshape(pixel_rows(xp, data), shape=(n * h * w * groups, c // groups))
    found = weighted_rows(xp, rows, xp.reshape(index, shape=(-1, 4)), xp.cast_like(weight, data))
    return xp.reshape(found, shape=(*shape[:3], c))


def _convolved(xp, name, data, offset, mask, weight, bias, edges, params):
    """A convolution as a product of the filters with the pixels that its displaced windows read; see `deformable_convolution`.

    ``mask`` is a factor for each pixel, or None. ``edges`` moves positions less than a pixel outside the image to its edge.
    """
    kernel, groups, parts, num_filter = (params[k] for k in ("kernel", "num_deformable_group", "num_group", "num_filter"))
    if len(data.shape) != 4:
        raise ShapeError(f"{name}: needs images", data.shape, "pass data (n, c, h, w)")
    given = {k: params[k] for k in ("kernel", "stride", "dilate", "pad")}
    kernel, stride, dilate, pad = per_axis(name, 4, **given)
    n, c = data.shape[:2]
    sizes = [window_size(*f, f[-1]) for f in zip(data.shape[2:], kernel, stride, dilate, pad, strict=True)]
    count = math.prod(kernel)
    if min(groups, parts, num_filter) < 1 or c % groups or c % parts or num_filter % parts:
        what = f"num_group {parts}, num_deformable_group {groups}, {c} channels, num_filter {num_filter}"
        raise ParameterError(f"{name}: the groups do not divide the channels", what, "pass divisors of both")
    # offsets and masks have one number for each window, so the number of windows must be known before their shapes are checked
    wanted = [(n, 2 * groups * count, *sizes), (num_filter, c // parts, *kernel)]
    wanted += [(n, groups * count, *sizes)] if mask is not None else []
    shapes = [a.shape for a in (offset, weight, mask) if a is not None]
    if shapes != wanted or min(sizes) < 1 or (bias is None) != params["no_bias"] or (bias is not None and bias.shape != (num_filter,)):
        names = ("offset", "weight", "mask")[: len(wanted)]
        todo = "pass " + ", ".join(f"{k} {s}" for k, s in zip(names, wanted, strict=True)) + ", and a bias unless no_bias is set"
        raise ShapeError(f"{name}: the shapes do not match", ", ".join(map(str, shapes)), todo)
    # a window reads its pixels at its own places, so there are no slices that windows share: the pixels of every window are gathered
    # into columns (n, windows, elements of the kernel, channels), and the convolution is one matrix product with the filters
    y, x = _places(xp, offset, kernel, stride, dilate, pad, groups, sizes)
    factor = None
    if mask is not None:
        # (n, groups, k, l) to (n, l, k, groups), the order of the places
        factor = xp.permute_dims(xp.reshape(mask, shape=(n, groups, count, math.prod(sizes))), axes=(0, 3, 2, 1))
    columns = _columns(xp, data, y, x, groups, factor, edges)
    out = _product(xp, columns, weight, parts)
    # the product has the filters last, where a bias (f,) broadcasts without a reshape
    out = out if bias is None else out + bias
    return xp.reshape(xp.permute_dims(out, axes=(0, 2, 1)), shape=(n, num_filter, *sizes))


def _product(xp, columns, weight, parts):
    """Columns (n, l, k, c) times filters (f, c / parts, kernel…): (n, l, f)."""
    n, length, count, c = columns.shape
    f, depth = weight.shape[:2]
    filters = xp.reshape(weight, shape=(parts, f // parts, depth, count))
    # columns have the channels last, in memory order, so the small filters are permuted and not the large columns
    filters = xp.reshape(xp.permute_dims(filters, axes=(0, 3, 2, 1)), shape=(parts, count * depth, f // parts))
    if parts == 1:
        # one product for all images: their windows are rows of one matrix
        whole = xp.reshape(columns, shape=(n * length, count * c))
        return xp.reshape(xp.matmul(whole, xp.reshape(filters, shape=(count * c, f))), shape=(n, length, f))
    # filters read only their own group of channels: one product per group, as a batch
    split = xp.permute_dims(xp.reshape(columns, shape=(n * length, count, parts, depth)), axes=(2, 0, 1, 3))
    found = xp.matmul(xp.reshape(split, shape=(parts, n * length, count * depth)), filters)
    return xp.reshape(xp.permute_dims(found, axes=(1, 0, 2)), shape=(n, length, f))


def _filter_shape(shapes, kernel, num_filter, num_group):
    channels = size_at(shapes[0], 1)
    return (num_filter, None if channels is None else channels // num_group, *kernel)


def _offset_shapes(shapes, factors, **params):
    """The shapes of offsets and masks, which have one element for each of the result's."""
    data = shapes[0]
    if data is None or len(data) != 4 or None in data[2:]:
        return [None] * len(factors)
    given = {k: params[k] for k in ("kernel", "stride", "dilate", "pad")}
    facts = per_axis("deformable convolution", 4, **given)
    sizes = [window_size(n, k, s, d, p, p) for n, k, s, d, p in zip(data[2:], *facts, strict=True)]
    return [(data[0], f * params["num_deformable_group"] * math.prod(params["kernel"]), *sizes) for f in factors]


#: The declaration that both convolutions share.
DECLARED: dict[str, Any] = {
    "real": True,
    "alike": True,
    "recompute": True,
    "drawn_as": "layer",
    "label": "{kernel}/{stride|1}, {num_filter}",
}


@op("_contrib_DeformableConvolution", **DECLARED)
def deformable_convolution(
    xp,
    data,
    offset,
    weight,
    bias: Bias = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: Layout = None,
):
    """`Convolution` of images (n, c, h, w) whose windows are deformed by ``offset`` (n, 2 · groups · kernel elements, h', w').

    An offset is (y, x) in pixels for each group of channels, element of the kernel and window; pixels are interpolated. Positions less
    than a pixel beyond the last row or column are on it, others outside the image are 0. ``workspace`` and ``layout`` have no effect.
    """
    given = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "num_filter": num_filter, "num_group": num_group}
    given |= {"num_deformable_group": num_deformable_group, "no_bias": no_bias}
    return _convolved(xp, "DeformableConvolution", data, offset, None, weight, bias, True, given)


@deformable_convolution.infer
def _(shapes, *, kernel, num_filter, num_group, no_bias, **params):
    offset = _offset_shapes(shapes, (2,), kernel=kernel, **params)
    return [shapes[0], *offset, _filter_shape(shapes, kernel, num_filter, num_group), *([] if no_bias else [(num_filter,)])]


def _near(np, u):
    """Offsets away from whole pixels, where the gradient jumps."""
    return (np.floor(u) + 0.25 + 0.5 * (u - np.floor(u))).astype(u.dtype)


@deformable_convolution.sample
def _(draw):
    image, weight = draw.real((1, 4, 5, 5)), draw.real((2, 4, 3, 3))
    return [
        draw(image, draw.real((1, 18, 5, 5), then=_near), weight, draw.real((2,)), kernel=(3, 3), pad=(1, 1), num_filter=2),
        draw(
            image,
            draw.real((1, 36, 3, 3), then=_near),
            draw.real((2, 2, 3, 3)),
            None,
            kernel=(3, 3),
            num_filter=2,
            num_group=2,
            num_deformable_group=2,
            no_bias=True,
        ),
    ]


@op("_contrib_ModulatedDeformableConvolution", like=deformable_convolution, without=("layout",), **DECLARED)
def modulated_deformable_convolution(
    xp, data, offset, mask, weight, bias: Bias = None, *, im2col_step: int = 64, layout: Layout = None, **params
):
    """`DeformableConvolution` with a factor ``mask`` (n, groups · kernel elements, h', w') for each pixel that is read.

    Everything outside the image is 0. ``workspace``, ``im2col_step`` and ``layout`` have no effect.
    """
    return _convolved(xp, "ModulatedDeformableConvolution", data, offset, mask, weight, bias, False, params)


@modulated_deformable_convolution.infer
def _(shapes, *, kernel, num_filter, num_group, no_bias, **params):
    places = _offset_shapes(shapes, (2, 1), kernel=kernel, **params)
    return [shapes[0], *places, _filter_shape(shapes, kernel, num_filter, num_group), *([] if no_bias else [(num_filter,)])]


@modulated_deformable_convolution.sample
def _(draw):
    places = draw.real((1, 8, 4, 4), then=_near), draw.real((1, 4, 4, 4), low=0, high=1)
    return draw(draw.real((1, 2, 5, 5)), *places, draw.real((2, 2, 2, 2)), draw.real((2,)), kernel=(2, 2), num_filter=2)


# regions


def _points(xp, rois, trans, *, size, spatial_scale, group, parts, samples, trans_std, classes):
    """Where the points of bins are, in pixels: rows and columns (r, classes, bins, bins, samples, samples)."""
    bins, dtype = size, xp.dtype_of(rois)
    # MXNet takes pixels as areas around their centers: regions begin half a pixel before the first and include the last
    low, high = (_corner(xp, rois, k) * spatial_scale - 0.5 for k in (1, 3))
    high = high + spatial_scale
    # MXNet's least extent: a region without an area still has bins
    extent = xp.maximum(high - low, 0.1)  # (r, 2), x first
    cell = xp.iota(size=bins, dtype="int64")
    # which of the displacements belongs to each bin: there may be fewer parts than bins
    part = xp.floor_divide(cell * parts, bins)
    found = []
    for axis, shape in ((1, (1, 1, bins, 1, 1, 1)), (0, (1, 1, 1, bins, 1, 1))):
        start, whole = (xp.reshape(xp.take_slice(v, axis, axis + 1, 1), shape=(-1, 1, 1, 1, 1, 1)) for v in (low, extent))
        inner = (1, 1, 1, 1, samples, 1) if axis == 1 else (1, 1, 1, 1, 1, samples)
        # points lie at the beginnings of a bin's `samples` equal parts, as in MXNet, not at their centers
        step = whole / bins
        at = start + xp.reshape(xp.cast(cell, dtype), shape=shape) * step
        at = at + xp.reshape(xp.cast(xp.iota(size=samples, dtype="int64"), dtype), shape=inner) * (step / samples)
        if trans is not None:
            # (r, classes, 2, parts, parts), x first
            shift = xp.reshape(xp.take_slice(trans, axis, axis + 1, 2), shape=(-1, classes, parts, parts))
            shift = xp.take(xp.take(shift, part, axis=2), part, axis=3)
            at = at + xp.reshape(shift, shape=(-1, classes, bins, bins, 1, 1)) * trans_std * whole
        found.append(xp.broadcast_to(at, shape=(rois.shape[0], classes, bins, bins, samples, samples)))
    return found


def _corner(xp, rois, start):
    """Two columns of regions, rounded half away from zero as C does."""
    x = xp.take_slice(rois, start, start + 2, 1)
    return xp.where(xp.less(x, 0), xp.ceil(x - 0.5), xp.floor(x + 0.5))


@op("_contrib_DeformablePSROIPooling", real=True, alike=True, outputs=2, visible=1, output_names=("output", "top_count"))
def deformable_region_pooling(
    xp,
    data,
    rois,
    trans: Shifts = None,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int,
    pooled_size: int,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
):
    """`PSROIPooling` with bins displaced by ``trans`` (r, 2 · classes, part_size, part_size), x first: (r, output_dim, p, p).

    A displacement is in units of the region's size times ``trans_std``. Bins are means of ``sample_per_part``² points, interpolated
    between pixels; points outside the image do not count. Channels of the result are divided among the classes. A ``part_size`` of 0 is
    ``pooled_size``.
    """
    check_regions("DeformablePSROIPooling", data.shape, rois.shape, 5, (pooled_size, pooled_size))
    parts, (n, _, h, w), r = part_size or pooled_size, data.shape, rois.shape[0]
    classes = 1 if no_trans or trans is None else trans.shape[1] // 2
    _check_parts(data, rois, trans, output_dim, group_size, parts, sample_per_part, classes)
    shifts = None if trans is None or no_trans else xp.reshape(trans, shape=(r, classes, 2, parts, parts))
    facts = {"spatial_scale": spatial_scale, "group": group_size, "parts": parts, "samples": sample_per_part, "trans_std": trans_std}
    y, x = _points(xp, xp.stop_gradient(rois), shifts, size=pooled_size, classes=classes, **facts)
    # a pixel is an area, so a point counts up to half a pixel outside the centers
    inside = [xp.logical_and(xp.greater_equal(at, -0.5), xp.less_equal(at, size - 0.5)) for at, size in ((y, h), (x, w))]
    points = r * classes * pooled_size**2
    counted = xp.reshape(xp.cast_like(xp.logical_and(*inside), data), shape=(points, sample_per_part**2))
    y, x = (xp.reshape(xp.clip(at, 0, size - 1), shape=(points * sample_per_part**2,)) for at, size in ((y, h), (x, w)))
    # points were clipped to the image, and those from outside count as 0, so that the four weights of a point add up to 1 or 0
    index, weight = corners(xp, y, x, h, w)
    index = xp.reshape(index, shape=(r, classes, pooled_size, pooled_size, 4 * sample_per_part**2))
    index = _own_rows(xp, index, rois, n, h * w, group_size, classes)
    weight = xp.reshape(weight, shape=(points, sample_per_part**2, 4)) * xp.expand_dims(counted, 2)
    # each class displaces its own share of the channels
    depth = output_dim // classes
    # rows of channels that are read together: (image, pixel, part of the region, class)
    rows = xp.reshape(data, shape=(n, classes, depth, group_size**2, h * w))
    rows = xp.reshape(xp.permute_dims(rows, axes=(0, 4, 3, 1, 2)), shape=(n * h * w * group_size**2 * classes, depth))
    found = weighted_rows(xp, rows, xp.reshape(index, shape=(points, -1)), xp.cast_like(xp.reshape(weight, shape=(points, -1)), data))
    total = xp.sum(counted, axis=1, keepdims=True)
    mean = xp.reshape(found / xp.maximum(total, 1), shape=(r, classes, pooled_size, pooled_size, depth))
    # the classes are the slower part of the channels: (r, classes, depth, p, p)
    shape = (r, output_dim, pooled_size, pooled_size)
    out = xp.reshape(xp.permute_dims(mean, axes=(0, 1, 4, 2, 3)), shape=shape)
    counts = xp.reshape(total, shape=(r, classes, 1, pooled_size, pooled_size))
    counts = xp.reshape(xp.broadcast_to(counts, shape=(r, classes, depth, pooled_size, pooled_size)), shape=shape)
    return out, xp.stop_gradient(counts)


def _own_rows(xp, index, rois, images, pixels, group, classes):
    """The rows of pixels for bins, from the pixels' numbers (r, classes, p, p, points)."""
    bins = index.shape[2]
    image = xp.clip(xp.cast(xp.take_slice(rois, 0, 1, 1), "int64"), 0, images - 1)
    index = index + xp.reshape(image, shape=(-1, 1, 1, 1, 1)) * pixels
    # position-sensitive: a bin reads only the channels that belong to its part of the region
    part = xp.floor_divide(xp.iota(size=bins, dtype="int64") * group, bins)
    place = xp.reshape(part, shape=(bins, 1)) * group + part
    index = index * group**2 + xp.reshape(place, shape=(1, 1, bins, bins, 1))
    return index * classes + _number(xp, classes, (1, classes, 1, 1, 1))


def _check_parts(data, rois, trans, output_dim, group_size, parts, samples, classes):
    if min(output_dim, group_size, parts, samples) < 1 or data.shape[1] != output_dim * group_size**2 or output_dim % max(classes, 1):
        given = f"{data.shape[1]} channels, output_dim {output_dim}, group_size {group_size}, {classes} classes"
        todo = f"pass output_dim * group_size² = {output_dim * group_size**2} channels, and a divisor of output_dim as classes"
        raise ShapeError("DeformablePSROIPooling: the number of channels is wrong", given, todo)
    if trans is not None and trans.shape != (rois.shape[0], 2 * classes, parts, parts):
        given = f"trans {trans.shape} for {rois.shape[0]} regions"
        raise ShapeError("DeformablePSROIPooling: the displacements do not match", given, f"pass (r, 2 * classes, {parts}, {parts})")


deformable_region_pooling.infer(known_regions(5))


@deformable_region_pooling.sample
def _(draw):
    data, rois = draw.real((2, 8, 6, 7)), regions_of(draw)
    params = {"spatial_scale": 0.5, "output_dim": 2, "group_size": 2, "pooled_size": 2, "sample_per_part": 2}
    return [
        draw(data, rois, None, no_trans=True, gradient=False, **params),
        draw(data, rois, draw.real((3, 4, 2, 2), low=-1, high=1), trans_std=0.1, gradient=False, **params),
    ]
