"""Pooling of regions of feature maps to a fixed number of bins: maxima, means, and interpolated means (ROIPooling, PSROIPooling, ROIAlign).

A region is a row (image, left, top, right, bottom) in pixels of the picture; ``spatial_scale`` is the feature map's size over the
picture's. The result of a region of no image is 0, and regions have no gradient.
"""

import math

from ..errors import ParameterError, ShapeError
from ..opdef import Shape, op, size_at


def check_regions(name, data, rois, numbers, pooled_size):
    """Check feature maps (n, c, h, w), regions (r, numbers) and the number of bins."""
    if len(data) != 4 or 0 in data or len(rois) != 2 or rois[1] != numbers:
        raise ShapeError(f"{name}: the shapes are wrong", f"data {data}, rois {rois}", f"pass data (n, c, h, w) and rois (r, {numbers})")
    if len(pooled_size) != 2 or min(pooled_size) < 1:
        raise ParameterError(f"{name}: pooled_size needs two positive sizes", pooled_size, "pass (height, width)")


def known_regions(numbers):
    """A rule of inference for operands (data, rois): rois have a known number of columns."""

    def rule(shapes, **_):
        return [shapes[0], (size_at(shapes[1], 0), numbers), *shapes[2:]]

    return rule


def _rounded(np, x):
    """Rounded half away from zero, as C does."""
    return np.trunc(x + np.copysign(np.float32(0.5), x))


def images_of(np, rois):
    """The image of each region; -1 where the region is not finite: it is of no image, and empty."""
    return np.where(np.isfinite(rois).all(1), rois[:, 0], -1).astype("int64")


def _corners(np, rois):
    """The corners (r, 4) of regions; 0 where they are not finite."""
    return np.where(np.isfinite(rois[:, 1:]), rois[:, 1:], 0)


# maxima


def _edges(np, low, high, count, size):
    """The first pixel of each of ``count`` bins along an axis, and the pixel after its last: two arrays (r, count)."""
    start, extent = low[:, None], np.maximum(high - low + 1, 1)[:, None]
    # in the regions' own dtype, as in MXNet: in float64 some edges would round to other pixels
    bin_size = (extent / extent.dtype.type(count)).astype(extent.dtype)
    k = np.arange(count, dtype=extent.dtype)
    return [np.clip(f + start, 0, size).astype("int64") for f in (np.floor(k * bin_size), np.ceil((k + 1) * bin_size))]


def _bins(np, data, rois, pooled_size, scale):
    """Images (r,), and the bins' first and last pixels along both axes, each (r, p, q)."""
    x0, y0, x1, y1 = _rounded(np, _corners(np, rois) * rois.dtype.type(scale)).T
    top, bottom = _edges(np, y0, y1, pooled_size[0], data.shape[2])
    left, right = _edges(np, x0, x1, pooled_size[1], data.shape[3])
    image = images_of(np, rois)
    there = (image >= 0) & (image < len(data))
    # `bottom` and `right` are still one past the last pixel here
    empty = (bottom <= top)[:, :, None] | (right <= left)[:, None] | ~there[:, None, None]
    return np.where(there, image, 0), top[:, :, None], bottom[:, :, None] - 1, left[:, None], right[:, None] - 1, empty


def _level(np, first, last):
    """The largest k with 2**k pixels in a range."""
    # by frexp and not log2: exact at powers of 2
    return np.frexp(np.maximum(last - first + 1, 1).astype("float64"))[1] - 1


def _best(np, one, two):
    """The larger values, with their places if these are given; for equal values the first place."""
    if len(one) == 1:
        return (np.maximum(one[0], two[0]),)
    later = (two[0] > one[0]) | ((two[0] == one[0]) & (two[1] < one[1]))
    return tuple(np.where(later, b, a) for a, b in zip(one, two, strict=True))


#: The bits of a key that are a place.
_PLACE = (1 << 32) - 1


def _with_places(np, values, places):
    """The values and their places; of up to 32 bits both in one integer, so that the maximum is that of the values, at its first place."""
    if values.dtype.itemsize > 4:
        return values, places
    # the bits of floats are in the order of the floats if all but the sign of negative ones are inverted; adding 0 makes -0 positive
    bits = (values.astype("float32") + np.float32(0)).view("int32")
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return ((ordered.astype("int64") << 32) | (~places & _PLACE),)


def _doubled(np, table, axis, step):
    """Maxima over windows twice as long, from those that begin at each pixel."""
    count = table[0].shape[axis] - step
    parts = [np.take(x, range(count), axis) for x in table], [np.take(x, range(step, step + count), axis) for x in table]
    return _best(np, *parts)


def _region_maxima(np, data, rois, *, pooled_size, spatial_scale, places):
    """The maxima of all bins (r, c, p, q), or their places in the image, -1 for bins without pixels.

    A window of any size is covered by four windows whose sizes are powers of 2, and the maxima over these are computed for all positions
    by doubling: the time does not depend on the sizes of regions.
    """
    r, (_, c, h, w) = len(rois), data.shape
    image, top, bottom, left, right, empty = _bins(np, data, rois, pooled_size, spatial_scale)
    # channels last: all channels of a pixel are then contiguous
    x = np.ascontiguousarray(np.moveaxis(data, 1, 3))
    # a maximum ignores NaN, as comparisons in C do
    lines = (np.where(np.isnan(x), -np.inf, x).astype(x.dtype),)
    if places:
        lines = _with_places(np, lines[0], np.broadcast_to(np.arange(h * w).reshape(h, w, 1), x.shape))
    shape = (r, *pooled_size)
    image = np.broadcast_to(image[:, None, None], shape)
    high, wide = (np.broadcast_to(_level(np, *ends), shape) for ends in ((top, bottom), (left, right)))
    ends = [np.broadcast_to(e, shape) for e in (top, bottom, left, right)]
    out = np.full((*shape, c), -1 if places else 0, "int64" if places else data.dtype)
    # `lines` are maxima over 2**i rows; the inner loop doubles the columns of them
    for i in range(high.max(initial=0) + 1):
        lines = lines if i == 0 else _doubled(np, lines, 1, 2 ** (i - 1))
        table = lines
        for j in range(wide.max(initial=0) + 1):
            table = table if j == 0 else _doubled(np, table, 2, 2 ** (j - 1))
            chosen = (high == i) & (wide == j) & ~empty
            if chosen.any():
                out[chosen] = _window_maxima(np, table, image[chosen], [e[chosen] for e in ends], 2**i, 2**j)[-1]
    if places and len(lines) == 1:
        out = np.where(out == -1, -1, ~out & _PLACE)
    return np.ascontiguousarray(np.moveaxis(out, 3, 1))


def _window_maxima(np, table, image, ends, height, width):
    """Maxima over windows from those of four smaller ones in its corners."""
    top, bottom, left, right = ends
    rows, columns = (top, bottom - height + 1), (left, right - width + 1)
    corners = [tuple(x[image, y, x0] for x in table) for y in rows for x0 in columns]
    best = corners[0]
    for corner in corners[1:]:
        best = _best(np, best, corner)
    return best


def _maxima_gradient(xp, dout, out, data, rois, *, pooled_size, spatial_scale, places):
    like = xp.zeros(out.shape, "int64")
    given = {"pooled_size": pooled_size, "spatial_scale": spatial_scale, "places": True}
    # found once more: the forward pass computes maxima without places, which is faster
    place = xp.host(_region_maxima, xp.stop_gradient(data), rois, like=like, **given)
    n, c, h, w = data.shape
    head = xp.where(xp.greater_equal(place, 0), dout, 0)
    image = xp.reshape(xp.clip(xp.cast(xp.take_slice(rois, 0, 1, 1), "int64"), 0, n - 1), shape=(-1, 1, 1, 1))
    channel = xp.reshape(xp.iota(size=c, dtype="int64"), shape=(1, c, 1, 1))
    flat = xp.zeros((n, c, h * w), xp.dtype_of(data))
    return xp.reshape(xp.index_add(flat, head, image, channel, xp.maximum(place, 0), key=(0, 1, 2)), shape=data.shape), None


@op("ROIPooling", "_npx_roi_pooling", real=True, alike=True, workspaces=1)
def roi_pooling(xp, data, rois, *, pooled_size: Shape, spatial_scale: float):
    """Maxima of the bins of regions: data (n, c, h, w) and rois (r, 5) to (r, c, *pooled_size).

    Corners are rounded to pixels, and bins to whole pixels that cover them; a bin without pixels is 0.
    Source: Girshick, "Fast R-CNN", ICCV 2015.
    """
    check_regions("ROIPooling", data.shape, rois.shape, 5, pooled_size)
    if not 0 <= spatial_scale <= 1:
        raise ParameterError("ROIPooling: spatial_scale is out of range", spatial_scale, "pass the feature map's size over the picture's")
    like = xp.zeros((rois.shape[0], data.shape[1], *pooled_size), xp.dtype_of(data))
    given = {"pooled_size": tuple(pooled_size), "spatial_scale": spatial_scale, "places": False}
    return xp.host(_region_maxima, data, xp.stop_gradient(rois), like=like, gradient=_maxima_gradient, **given)


roi_pooling.infer(known_regions(5))


def regions_of(draw, count=3, images=2):
    """Regions (count, 5) of small pictures, for samples."""

    def valid(np, u):
        corner = u[:, 1:3] * 2
        return np.concatenate([np.floor(u[:, :1] * images), corner, corner + 2 + u[:, 3:] * 8], 1).astype(u.dtype)

    return draw.real((count, 5), low=0, high=0.99, then=valid)


@roi_pooling.sample
def _(draw):
    return draw(draw.real((2, 2, 6, 7), distinct=True), regions_of(draw), pooled_size=(2, 3), spatial_scale=0.5, gradient=False)


# means


def _weighted(xp, data, rois, function, pooled_size, group, **given):
    """Sums over regions with weights that a host function computes from them: (image, rows, columns)."""
    x, boxes = xp.upcast(data), xp.upcast(xp.stop_gradient(rois))
    r, dtype, (height, width) = rois.shape[0], xp.dtype_of(x), data.shape[2:]
    like = (xp.zeros((r,), "int64"), xp.zeros((r, pooled_size[0], height), dtype), xp.zeros((r, pooled_size[1], width), dtype))
    size = (height, width)
    image, rows, columns = xp.host(function, boxes, like=like, size=size, pooled_size=tuple(pooled_size), **given)
    return xp.downcast(xp.pool_regions(x, image, rows, columns, group=group), data)


def _cell_weights(np, rois, *, size, pooled_size, spatial_scale):
    """The weights of means over bins that are rounded to whole pixels."""
    scale, corners = rois.dtype.type(spatial_scale), _corners(np, rois)
    found = []
    for k, (count, pixels) in enumerate(zip(pooled_size, size, strict=True)):
        # rows are axis 0 here, while a region has its columns first: (left, top, right, bottom)
        low, high = _rounded(np, corners[:, 1 - k]) * scale, (_rounded(np, corners[:, 3 - k]) + 1) * scale
        bin_size = (np.maximum(high - low, rois.dtype.type(0.1)) / rois.dtype.type(count))[:, None]
        cell = np.arange(count, dtype=rois.dtype)
        start = np.clip(np.floor(cell * bin_size + low[:, None]), 0, pixels)[:, :, None]
        stop = np.clip(np.ceil((cell + 1) * bin_size + low[:, None]), 0, pixels)[:, :, None]
        at = np.arange(pixels)
        found.append(((at >= start) & (at < stop)) / np.maximum(stop - start, 1))
    return images_of(np, rois), *found


@op("_contrib_PSROIPooling", real=True, alike=True)
def position_sensitive_pooling(xp, data, rois, *, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = 0):
    """Means of the bins of regions, each of its own channels: data (n, output_dim · group_size², h, w) to (r, output_dim, p, p).

    ``pooled_size`` is p; ``group_size`` is p if it is 0. Channel (o, i, j) of (output_dim, group_size, group_size) belongs to the
    bins in part (i, j) of a region. Source: Dai et al., "R-FCN", NIPS 2016.
    """
    check_regions("PSROIPooling", data.shape, rois.shape, 5, (pooled_size, pooled_size))
    group = group_size or pooled_size
    if output_dim < 1 or group < 1 or data.shape[1] != output_dim * group**2:
        given = f"{data.shape[1]} channels, output_dim {output_dim}, group_size {group}"
        raise ShapeError("PSROIPooling: the number of channels is wrong", given, f"pass {output_dim * group**2} channels")
    size = (pooled_size, pooled_size)
    return _weighted(xp, data, rois, _cell_weights, size, (group, group), spatial_scale=spatial_scale)


position_sensitive_pooling.infer(known_regions(5))


@position_sensitive_pooling.sample
def _(draw):
    data = draw.real((2, 8, 6, 7))
    return [
        draw(data, regions_of(draw), spatial_scale=0.5, output_dim=2, pooled_size=2, gradient=False),
        draw(data, regions_of(draw), spatial_scale=0.5, output_dim=2, pooled_size=4, group_size=2, gradient=False),
    ]


# interpolated means


def _sampled_axis(np, low, extent, bins, pixels, samples):
    """The weights (r, bins, pixels) of means of points along an axis: ``samples`` points per bin, or one per pixel."""
    dtype = extent.dtype
    step = extent / dtype.type(bins)
    # as many points as a bin has pixels, and none in an empty bin
    count = np.full(len(low), samples) if samples > 0 else np.ceil(np.clip(step, 0, 2**31)).astype("int64")
    total = np.repeat(count, bins)  # the points of all bins, one after the other
    owner = np.repeat(np.arange(len(total)), total)
    inside = (np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)).astype(dtype)
    region, cell = owner // bins, (owner % bins).astype(dtype)
    at = low[region] + cell * step[region] + (inside + dtype.type(0.5)) * step[region] / count[region].astype(dtype)
    valid = (at >= -1) & (at <= pixels)
    # points up to a pixel outside are read at the edge; those farther away are read anywhere, with the weight 0
    at = np.clip(np.where(valid, at, 0), 0, pixels - 1)
    first = at.astype("int64")
    share, weight = at - first, valid / np.maximum(count, 1)[region]
    places = np.concatenate([owner * pixels + first, owner * pixels + np.minimum(first + 1, pixels - 1)])
    weights = np.concatenate([weight * (1 - share), weight * share])
    # bincount adds up the weights of all points that read the same pixel
    return np.bincount(places, weights, len(total) * pixels).reshape(len(low), bins, pixels)


def _point_weights(np, rois, *, size, pooled_size, spatial_scale, sample_ratio, aligned):
    """The weights of means over points that are interpolated between pixels."""
    dtype = rois.dtype.type
    boxes = _corners(np, rois) * dtype(spatial_scale) - dtype(0.5 if aligned else 0)
    found = []
    for k, (bins, pixels) in enumerate(zip(pooled_size, size, strict=True)):
        # (left, top, right, bottom): axis 0 are the rows
        low, extent = boxes[:, 1 - k], boxes[:, 3 - k] - boxes[:, 1 - k]
        extent = extent if aligned else np.maximum(extent, dtype(1))
        found.append(_sampled_axis(np, low, extent, bins, pixels, sample_ratio))
    return images_of(np, rois), *found


@op("_contrib_ROIAlign", real=True, alike=True)
def roi_align(
    xp,
    data,
    rois,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
):
    """Means of the bins of regions, interpolated: data (n, c, h, w) and rois (r, 5) to (r, c, *pooled_size).

    A bin is the mean of ``sample_ratio``² points, or of as many as it has pixels; nothing is rounded. Points up to a pixel outside the
    image count as on its edge, others are 0. Regions are at least one pixel large, unless ``aligned``, which also shifts them by half a
    pixel, so that a pixel's value is at its center. With ``position_sensitive`` data has c · p · q channels, and bin (i, j) takes its
    own. A mean over points on a grid is a product with a matrix for each axis: two matrix products do the work.
    Source: He et al., "Mask R-CNN", ICCV 2017.
    """
    check_regions("ROIAlign", data.shape, rois.shape, 5, pooled_size)
    group = tuple(pooled_size) if position_sensitive else (1, 1)
    if data.shape[1] % math.prod(group):
        given = f"pooled_size {group}, {data.shape[1]} channels"
        raise ShapeError("ROIAlign: the channels do not divide into bins", given, "pass a multiple of the number of bins")
    given = {"spatial_scale": spatial_scale, "sample_ratio": sample_ratio, "aligned": aligned}
    return _weighted(xp, data, rois, _point_weights, pooled_size, group, **given)


roi_align.infer(known_regions(5))


@roi_align.sample
def _(draw):
    data = draw.real((2, 4, 6, 7))
    return [
        draw(data, regions_of(draw), pooled_size=(2, 3), spatial_scale=0.5, gradient=False),
        draw(data, regions_of(draw), pooled_size=(2, 3), spatial_scale=0.5, sample_ratio=2, aligned=True, gradient=False),
        draw(data, regions_of(draw), pooled_size=(2, 2), spatial_scale=0.5, position_sensitive=True, gradient=False),
    ]
