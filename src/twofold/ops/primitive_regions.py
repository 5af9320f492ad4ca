"""The primitive of regions that are pooled by weights: a matrix of rows and one of columns for each region; and its transpose."""

import math
from functools import partial

from ..errors import ShapeError
from ..opdef import Index, Shape, primitive

#: Pixels times channels of the regions that are computed together: they fill the cache.
TOGETHER = 1 << 20


def _cells(np, weights, group):
    """The groups of channels along an axis that bins take; weights (r, groups, bins, pixels); and the places of the bins that exist."""
    count = weights.shape[1]
    # bin k of `count` belongs to the part of the region at the same share of its length
    group_of = [k * group // count for k in range(count)]
    groups = sorted(set(group_of))
    first, most = [group_of.index(g) for g in groups], max(map(group_of.count, groups))
    bins = np.array(first)[:, None] + np.arange(most)
    # groups have as many bins as the largest; those that others lack are bins without weights
    there = bins < np.array([*first[1:], count])[:, None]
    cells = np.where(there[:, :, None], weights[:, np.where(there, bins, 0)], weights.dtype.type(0))
    return np.array(groups), cells, np.flatnonzero(there)


def _is_read(weights):
    """Which pixels along an axis bins of each group read."""
    return (weights != 0).any(axis=2)


def _read(np, weights):
    """The places (r, groups, k) along an axis that regions read, the same number for each, and the weights there (r, groups, bins, k)."""
    # a region reads few of an axis's pixels: others would be multiplied by zeros. What fills up the places has the weight 0
    is_read = _is_read(weights)
    count = int(is_read.sum(axis=2).max(initial=0))
    # sorted, so that neighbours in memory remain neighbours
    places = np.sort(np.argsort(~is_read, axis=2)[:, :, :count], axis=2)
    return places, np.ascontiguousarray(np.take_along_axis(weights, places[:, :, None], axis=3))


def _parts(np, image, rows, columns, shape, group):
    """For few regions at a time: the regions; the places (r, groups, groups, k, l) among all pixels; the weights of both axes; the bins."""
    n, c, h, w = shape
    found = np.flatnonzero((image >= 0) & (image < n))
    row_groups, rows, high_bins = _cells(np, rows[found], group[0])
    column_groups, columns, wide_bins = _cells(np, columns[found], group[1])
    # the largest first, and those of like sizes together: all regions of a part read as many places as its largest
    high, wide = (_is_read(weights).sum(axis=2).max(axis=1) for weights in (rows, columns))
    order = np.argsort(-high * wide, kind="stable")[: int(((high > 0) & (wide > 0)).sum())]
    groups = (image[found, None, None] * group[0] + row_groups[:, None]) * group[1] + column_groups
    start = 0
    while start < len(order):
        elements = int(high[order[start]] * wide[order[start]]) * groups[0].size * (c // math.prod(group))
        part = order[start : start + max(1, TOGETHER // max(1, elements))]
        (high_places, vertical), (wide_places, horizontal) = _read(np, rows[part]), _read(np, columns[part])
        lines = groups[part, :, :, None] * h + high_places[:, :, None]
        yield found[part], lines[..., None] * w + wide_places[:, None, :, None], vertical, horizontal, (high_bins, wide_bins)
        start += len(part)


def _clear_unread(np, values, vertical, horizontal):
    """Set values (r, groups, groups, k, l, depth) to 0 at places that only fill up: 0 times NaN is not 0."""
    np.moveaxis(values, 3, 2)[~_is_read(vertical)] = 0
    np.moveaxis(values, (2, 4), (1, 2))[~_is_read(horizontal)] = 0


def _pooled(np, data, image, rows, columns, *, group):
    n, c, h, w = data.shape
    depth = c // math.prod(group)
    out = np.zeros((len(rows), rows.shape[1], columns.shape[1], depth), data.dtype)
    # the channels of a group side by side: a place in an image is one copy
    pixels = np.ascontiguousarray(np.transpose(data.reshape(n, depth, *group, h, w), (0, 2, 3, 4, 5, 1)))
    pixels = pixels.reshape(n * math.prod(group) * h * w, depth)
    for found, places, vertical, horizontal, (high_bins, wide_bins) in _parts(np, image, rows, columns, data.shape, group):
        read = np.take(pixels, places, axis=0)
        _clear_unread(np, read, vertical, horizontal)
        r, i, j, high, wide = places.shape
        lines = np.matmul(vertical[:, :, None], read.reshape(r, i, j, high, wide * depth))
        bins = np.matmul(horizontal[:, None, :, None], lines.reshape(*lines.shape[:4], wide, depth))
        k, m = bins.shape[3:5]
        bins = np.swapaxes(bins, 2, 3).reshape(r, i * k, j * m, depth)
        out[found] = bins[:, high_bins[:, None], wide_bins]
    return np.ascontiguousarray(np.transpose(out, (0, 3, 1, 2)))


def _spread(np, result, image, rows, columns, *, shape, group):
    n, c, h, w = shape
    depth = c // math.prod(group)
    pixels = np.zeros((n * math.prod(group) * h * w, depth), result.dtype)
    result = np.ascontiguousarray(np.transpose(result, (0, 2, 3, 1)))
    for found, places, vertical, horizontal, (high_bins, wide_bins) in _parts(np, image, rows, columns, shape, group):
        r, i, j, high, wide = places.shape
        k, m = vertical.shape[2], horizontal.shape[2]
        bins = np.zeros((r, i * k, j * m, depth), result.dtype)
        bins[:, high_bins[:, None], wide_bins] = result[found]
        bins = np.ascontiguousarray(np.swapaxes(bins.reshape(r, i, k, j, m, depth), 2, 3))
        # the transposes of the two products, in the opposite order
        lines = np.matmul(np.swapaxes(horizontal, 2, 3)[:, None, :, None], bins)
        spread = np.matmul(np.swapaxes(vertical, 2, 3)[:, :, None], lines.reshape(r, i, j, k, wide * depth))
        spread = spread.reshape(r, i, j, high, wide, depth)
        _clear_unread(np, spread, vertical, horizontal)
        # places of one region are distinct, those of several are not; `add.at` takes three times as long
        for at, values in zip(places.reshape(r, -1), spread.reshape(r, i * j * high * wide, depth), strict=True):
            pixels[at] += values
    return np.ascontiguousarray(np.transpose(pixels.reshape(n, *group, h, w, depth), (0, 5, 1, 2, 3, 4))).reshape(shape)


@primitive(reference=_pooled, floats=("float32", "float64"))
def pool_regions(xp, data, image: Index, rows, columns, *, group: Shape):
    """Weighted sums over regions of images: data (n, c, h, w), rows (r, p, h) and columns (r, q, w) to (r, c / groups, p, q).

    ``image`` (r,) is the image of each region; a region of no image is 0. Bin (i, j) of a region sums pixels with the weights
    rows[r, i] · columns[r, j]. With groups (g, h), channels are (c / groups, g, h), and a bin takes the channels of its own place.
    """


@pool_regions.type
def _(data, image, rows, columns, *, group):
    if data.shape[1] % math.prod(group):
        raise ShapeError("the channels are not a multiple of the groups", f"{data.shape[1]} channels, groups {group}", "pass a multiple")
    return (rows.shape[0], data.shape[1] // math.prod(group), rows.shape[1], columns.shape[1]), data.dtype


@pool_regions.grad
def _(xp, dout, data, image, rows, columns, *, group):
    return xp.spread_regions(dout, image, rows, columns, shape=data.shape, group=group), None, None, None


@primitive(reference=_spread, floats=("float32", "float64"))
def spread_regions(xp, result, image: Index, rows, columns, *, shape: Shape, group: Shape):
    """The transpose of `pool_regions` with respect to the data: from results (r, c / groups, p, q) to images of ``shape``."""


spread_regions.type(lambda result, image, rows, columns, *, shape, group: (tuple(shape), result.dtype))


@spread_regions.grad
def _(xp, dout, result, image, rows, columns, *, shape, group):
    return xp.pool_regions(dout, image, rows, columns, group=group), None, None, None


def _expected(np, data, image, rows, columns, *, group):
    """The definition."""
    grouped = data.reshape(len(data), -1, *group, *data.shape[2:])
    out = np.zeros((len(rows), grouped.shape[1], rows.shape[1], columns.shape[1]), data.dtype)
    for r, k in enumerate(image):
        for i in range(rows.shape[1] if k >= 0 else 0):
            for j in range(columns.shape[1]):
                part = grouped[k][:, i * group[0] // rows.shape[1], j * group[1] // columns.shape[1]]
                out[r, :, i, j] = np.einsum("chw,h,w->c", part, rows[r, i], columns[r, j])
    return out


@pool_regions.cases
def _(make):
    image = make.array([0, 1, 1, -1], "int64")
    for dtype, group in (("float32", (1, 1)), ("float64", (2, 2))):
        data, rows, columns = (make.numbers(shape, dtype) for shape in ((2, 4, 5, 6), (4, 3, 5), (4, 2, 6)))
        yield make(data, image, rows, columns, group=group, want=partial(_expected, make.np))
    # groups of two bins and of one along one axis, and fewer bins than groups along the other
    data, rows, columns = (make.numbers(shape, "float64") for shape in ((2, 12, 5, 6), (4, 3, 5), (4, 2, 6)))
    yield make(data, image, rows, columns, group=(2, 3), want=partial(_expected, make.np))


@pool_regions.sample
def _(draw):
    weights = draw.real((3, 3, 5)), draw.real((3, 2, 6))
    return draw(draw.real((2, 4, 5, 6)), draw.integer((3,), -1, 2, "int64"), *weights, group=(2, 2), gradient=False)


@spread_regions.sample
def _(draw):
    weights = draw.real((3, 3, 5)), draw.real((3, 2, 6))
    image = draw.integer((3,), -1, 2, "int64")
    return draw(draw.real((3, 1, 3, 2)), image, *weights, shape=(2, 4, 5, 6), group=(2, 2), gradient=False)
