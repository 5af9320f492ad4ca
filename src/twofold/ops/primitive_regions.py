"""The primitive of regions that are pooled by weights: a matrix of rows and one of columns for each region; and its transpose."""

import math
from functools import partial

from ..errors import ShapeError
from ..opdef import Index, Shape, primitive

#: Regions computed together: their intermediate results fill the cache.
REGIONS = 16


def _cells(count, group):
    """The slices of the bins along an axis that take the same of ``group`` groups of channels."""
    # bin k of `count` belongs to the part of the region at the same share of its length
    group_of = [k * group // count for k in range(count)]
    return [(g, slice(group_of.index(g), count - group_of[::-1].index(g))) for g in sorted(set(group_of))]


def _parts(np, image, count):
    """(image, regions in it), a few regions at a time."""
    for k in range(count):
        found = np.flatnonzero(image == k)
        for start in range(0, len(found), REGIONS):
            yield k, found[start : start + REGIONS]


def _pooled(np, data, image, rows, columns, *, group):
    n, c, h, w = data.shape
    depth = c // math.prod(group)
    out = np.zeros((len(rows), rows.shape[1], columns.shape[1], depth), data.dtype)
    # rows of pixels, with the channels of a group together: products of large matrices
    pixels = np.ascontiguousarray(np.transpose(data.reshape(n, depth, *group, h, w), (0, 2, 3, 4, 5, 1)))
    for k, regions in _parts(np, image, n):
        for i, high in _cells(rows.shape[1], group[0]):
            weights = np.ascontiguousarray(rows[regions, high])
            for j, wide in _cells(columns.shape[1], group[1]):
                # all regions of an image weight the same rows of pixels, in one product; columns are weighted by each region for itself
                lines = weights.reshape(-1, h) @ pixels[k, i, j].reshape(h, w * depth)
                lines = lines.reshape(len(regions), -1, w, depth)
                out[regions, high, wide] = np.matmul(columns[regions, wide][:, None], lines)
    return np.ascontiguousarray(np.transpose(out, (0, 3, 1, 2)))


def _spread(np, result, image, rows, columns, *, shape, group):
    n, c, h, w = shape
    depth = c // math.prod(group)
    pixels = np.zeros((n, *group, h, w, depth), result.dtype)
    result = np.ascontiguousarray(np.transpose(result, (0, 2, 3, 1)))
    for k, regions in _parts(np, image, n):
        for i, high in _cells(rows.shape[1], group[0]):
            weights = np.ascontiguousarray(rows[regions, high]).reshape(-1, h)
            for j, wide in _cells(columns.shape[1], group[1]):
                # the transposes of the two products, in the opposite order
                lines = np.matmul(np.transpose(columns[regions, wide], (0, 2, 1))[:, None], result[regions, high, wide])
                pixels[k, i, j] += (weights.T @ lines.reshape(len(weights), w * depth)).reshape(h, w, depth)
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
