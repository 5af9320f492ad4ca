"""RROIAlign: interpolated means over the bins of rotated regions."""

from ..opdef import Shape, op
from .regions import check_regions, images_of, known_regions

#: Points that are read together.
POINTS = 1 << 14


def _points(np, rois, pooled_size, scale, ratio):
    """The points of all bins, one bin after the other: (bin, y, x), and the number of points of each region's bins."""
    dtype = rois.dtype.type
    center, angle = rois[:, 1:3] * dtype(scale), rois[:, 5] * dtype(np.pi / 180)
    extent = np.maximum(rois[:, 3:5] * dtype(scale), dtype(1))[:, ::-1]  # height, width
    step = extent / np.array(pooled_size, rois.dtype)
    count = np.full(step.shape, ratio) if ratio > 0 else np.ceil(step).astype("int64")
    bins, number = pooled_size[0] * pooled_size[1], count.prod(1)
    total = np.repeat(number, bins)
    owner = np.repeat(np.arange(len(total)), total)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)
    region, cell = owner // bins, owner % bins
    place = []
    for axis, (k, j) in enumerate(
        ((cell // pooled_size[1], inside // count[region, 1]), (cell % pooled_size[1], inside % count[region, 1]))
    ):
        # positions from the region's center, before it is turned; points are at the centers of a bin's equal parts
        part = (j + dtype(0.5)) * step[region, axis] / count[region, axis]
        place.append((k * step[region, axis] - extent[region, axis] / 2 + part).astype(rois.dtype))
    sine, cosine = np.sin(angle)[region], np.cos(angle)[region]
    # turned by the angle, counterclockwise on the screen, where y points down
    x = place[1] * cosine + place[0] * sine + center[region, 0]
    y = place[0] * cosine - place[1] * sine + center[region, 1]
    return owner, y, x, number


def _rotated(np, data, rois, *, pooled_size, spatial_scale, sampling_ratio):
    n, c, h, w = data.shape
    image = images_of(np, rois)
    there = np.flatnonzero((image >= 0) & (image < n))
    out = np.zeros((len(rois), pooled_size[0] * pooled_size[1], c), data.dtype)
    pixels = np.ascontiguousarray(np.moveaxis(data, 1, 3)).reshape(n * h * w, c)
    owner, y, x, number = _points(np, rois[there], pooled_size, spatial_scale, sampling_ratio)
    valid = (y >= -1) & (y <= h) & (x >= -1) & (x <= w)
    found = np.zeros((len(there) * out.shape[1], c), data.dtype)
    first = image[there][owner // out.shape[1]] * (h * w)
    # in pieces, since a point reads four rows of pixels, and a region may have many thousands of points
    for start in range(0, len(owner), POINTS):
        part = slice(start, start + POINTS)
        values = _interpolated(np, pixels, first[part], np.clip(y[part], 0, h - 1), np.clip(x[part], 0, w - 1), h, w)
        values *= valid[part, None]
        # the points of a bin follow one another; a bin that began in the piece before gets the sum of both parts
        edges = np.flatnonzero(np.diff(owner[part], prepend=-1))
        found[owner[part][edges]] += np.add.reduceat(values, edges, axis=0)
    out[there] = found.reshape(len(there), *out.shape[1:]) / number[:, None, None]
    return np.moveaxis(out, 2, 1).reshape(len(rois), c, *pooled_size)


def _interpolated(np, pixels, first, y, x, height, width):
    """Rows of pixels (p, c) at positions in the images that begin at pixel ``first``."""
    low, left = y.astype("int64"), x.astype("int64")
    down, right = y - low, x - left
    total = 0
    for row, share in ((low, 1 - down), (np.minimum(low + 1, height - 1), down)):
        for column, part in ((left, 1 - right), (np.minimum(left + 1, width - 1), right)):
            total = total + pixels[first + row * width + column] * (share * part)[:, None]
    return total


@op("_contrib_RROIAlign", real=True, alike=True, differentiable=False)
def rotated_roi_align(xp, data, rois, *, pooled_size: Shape, spatial_scale: float, sampling_ratio: int = -1):
    """`ROIAlign` of rotated regions (image, x, y, width, height, degrees) with their center: data (n, c, h, w) to (r, c, *pooled_size).

    A bin is the mean of ``sampling_ratio ** 2`` points, or of as many as it has pixels. No gradient, as in MXNet.
    Source: Ma et al., "Arbitrary-oriented scene text detection via rotation proposals", IEEE TMM 2018.
    """
    check_regions("RROIAlign", data.shape, rois.shape, 6, pooled_size)
    like = xp.zeros((rois.shape[0], data.shape[1], *pooled_size), xp.dtype_of(data))
    given = {"pooled_size": tuple(pooled_size), "spatial_scale": spatial_scale, "sampling_ratio": sampling_ratio}
    return xp.host(_rotated, xp.upcast(data), xp.upcast(rois), like=like, **given)


rotated_roi_align.infer(known_regions(6))


@rotated_roi_align.sample
def _(draw):
    def valid(np, u):
        return (np.abs(u) * np.array([0.9, 6, 6, 6, 6, 90]) + np.array([0, 3, 3, 2, 2, -45])).astype(u.dtype)

    rois = draw.real((3, 6), low=0, high=1, then=valid)
    return [draw(draw.real((2, 3, 6, 7)), rois, pooled_size=(2, 3), spatial_scale=0.5, sampling_ratio=k, gradient=False) for k in (-1, 2)]
