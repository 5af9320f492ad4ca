"""The primitive of regions that are pooled by weights: a matrix of rows and one of columns for each region; and its transpose."""

import math
from functools import partial
from itertools import product

from ..errors import ShapeError
from ..opdef import Index, Shape, primitive

#: Pixels times channels of the regions that are computed together: they fill the cache.
TOGETHER = 1 << 20


def _cells(count, group):
    """The slices of the bins along an axis that take the same of ``group`` groups of channels."""
    # bin k of `count` belongs to the part of the region at the same share of its length
    group_of = [k * group // count for k in range(count)]
    return [(g, slice(group_of.index(g), count - group_of[::-1].index(g))) for g in sorted(set(group_of))]


def _read(np, weights):
    """The places (r, k) along an axis that regions read, the same number for each, and the weights there (r, bins, k)."""
    # a region reads few of an axis's pixels: others would be multiplied by zeros. What fills up the places has the weight 0
    is_read = (weights != 0).any(axis=1)
    count = int(is_read.sum(axis=1).max())
    # sorted, so that neighbours in memory remain neighbours
    places = np.sort(np.argsort(~is_read, axis=1)[:, :count], axis=1)
    return places, np.ascontiguousarray(np.take_along_axis(weights, places[:, None], axis=2))


def _parts(np, image, rows, columns, shape, group):
    """For each image, group of channels and few regions: its key, regions and bins, and what they read of both axes."""
    cells = list(product(_cells(rows.shape[1], group[0]), _cells(columns.shape[1], group[1])))
    for k in range(shape[0]):
        found = np.flatnonzero(image == k)
        for (i, high), (j, wide) in cells if len(found) else ():
            vertical, horizontal = _read(np, rows[found, high]), _read(np, columns[found, wide])
            elements = vertical[0].shape[1] * horizontal[0].shape[1] * (shape[1] // math.prod(group))
            step = max(1, TOGETHER // max(1, elements))
            for start in range(0, len(found), step):
                part = slice(start, start + step)
                yield (k, i, j), (found[part], high, wide), [x[part] for x in vertical], [x[part] for x in horizontal]


def _pooled(np, data, image, rows, columns, *, group):
    n, c, h, w = data.shape
    depth = c // math.prod(group)
    out = np.zeros((len(rows), rows.shape[1], columns.shape[1], depth), data.dtype)
    # the channels of a group side by side: a place in an image is one copy
    pixels = np.ascontiguousarray(np.transpose(data.reshape(n, depth, *group, h, w), (0, 2, 3, 4, 5, 1)))
    for key, bins, (high, vertical), (wide, horizontal) in _parts(np, image, rows, columns, data.shape, group):
        read = pixels[key][high[:, :, None], wide[:, None, :]]
        # a pixel of another region, which only fills up the places, may be NaN: 0 times it is not 0
        read[~(vertical != 0).any(1)] = 0
        np.swapaxes(read, 1, 2)[~(horizontal != 0).any(1)] = 0
        lines = np.matmul(vertical, read.reshape(len(high), high.shape[1], wide.shape[1] * depth))
        lines = lines.reshape(len(high), vertical.shape[1], wide.shape[1], depth)
        out[bins] = np.matmul(horizontal[:, None], lines)
    return np.ascontiguousarray(np.transpose(out, (0, 3, 1, 2)))


def _spread(np, result, image, rows, columns, *, shape, group):
    n, c, h, w = shape
    depth = c // math.prod(group)
    pixels = np.zeros((n, *group, h, w, depth), result.dtype)
    result = np.ascontiguousarray(np.transpose(result, (0, 2, 3, 1)))
    for key, bins, (high, vertical), (wide, horizontal) in _parts(np, image, rows, columns, shape, group):
        # the transposes of the two products, in the opposite order
        lines = np.matmul(np.transpose(horizontal, (0, 2, 1))[:, None], result[bins])
        lines = lines.reshape(len(high), vertical.shape[1], wide.shape[1] * depth)
        spread = np.matmul(np.transpose(vertical, (0, 2, 1)), lines).reshape(len(high), high.shape[1], wide.shape[1], depth)
        image_of_group = pixels[key]
        # places of one region are distinct, those of several are not; `add.at` takes three times as long
        for places, others, values in zip(high, wide, spread, strict=True):
            image_of_group[places[:, None], others] += values
    return np.ascontiguousarray(np.transpose(pixels, (0, 5, 1, 2, 3, 4))).reshape(shape)


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


@pool_regions.sample
def _(draw):
    weights = draw.real((3, 3, 5)), draw.real((3, 2, 6))
    return draw(draw.real((2, 4, 5, 6)), draw.integer((3,), -1, 2, "int64"), *weights, group=(2, 2), gradient=False)


@spread_regions.sample
def _(draw):
    weights = draw.real((3, 3, 5)), draw.real((3, 2, 6))
    image = draw.integer((3,), -1, 2, "int64")
    return draw(draw.real((3, 1, 3, 2)), image, *weights, shape=(2, 4, 5, 6), group=(2, 2), gradient=False)
