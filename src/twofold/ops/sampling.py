"""Images read between their pixels: `bilinear` for other operators, GridGenerator, BilinearSampler and SpatialTransformer.

Source: Jaderberg et al., "Spatial transformer networks", NIPS 2015.
"""

from typing import Literal

from ..errors import ShapeError
from ..opdef import Shape, first_known, op, size_at, with_size


def pixel_rows(xp, image):
    """Images (n, c, h, w) as rows of channels (n · h · w, c), which `weighted_rows` reads one piece of memory at a time."""
    n, c, h, w = image.shape
    return xp.reshape(xp.permute_dims(image, axes=(0, 2, 3, 1)), shape=(n * h * w, c))


def weighted_rows(xp, rows, index, weight):
    """Sums of rows (m, c) at indices (p, k), each with its weight (p, k): (p, c)."""
    # a row is contiguous, so reading one costs a cache line or few; whole channels as planes would cost one for each channel
    taken = xp.take(rows, index, axis=0)
    return xp.sum(taken * xp.expand_dims(weight, 2), axis=1, keepdims=False)


def corners(xp, y, x, height, width):
    """The four pixels around positions (p,) in images: their numbers y · width + x (p, 4) and bilinear weights (p, 4).

    Pixels outside the image have the weight 0; at positions that are NaN the weights are NaN.
    """
    rows, columns = _pair(xp, y, height), _pair(xp, x, width)
    index = [i * width + j for i, _ in rows for j, _ in columns]
    return xp.stack(index, 1), xp.stack([a * b for _, a in rows for _, b in columns], 1)


def _pair(xp, at, size):
    """The two pixels around positions along an axis, as (position, weight) pairs."""
    # beyond the neighbors of the edges everything has the weight 0: clipped before the cast, which is undefined for large numbers
    low = xp.floor(xp.clip(xp.stop_gradient(at), -2, size + 1))
    share = at - low
    found = []
    for place, weight in ((low, 1 - share), (low + 1, share)):
        inside = xp.logical_and(xp.greater_equal(place, 0), xp.less_equal(place, size - 1))
        number = xp.cast(xp.where(inside, place, 0), "int64")
        # NaN compares as outside; without this a NaN position would silently give 0
        found.append((number, xp.where(xp.logical_or(inside, xp.isnan(place)), weight, 0)))
    return found


def bilinear(xp, image, y, x):
    """Images (n, c, h, w) read at positions in pixels (n, p): (n, c, p); outside the images everything is 0."""
    n, c, h, w = image.shape
    count = y.shape[1]
    index, weight = corners(xp, xp.reshape(y, shape=(-1,)), xp.reshape(x, shape=(-1,)), h, w)
    # `corners` numbers the pixels of one image; the pixels of later images follow
    first = xp.reshape(xp.iota(size=n, dtype="int64") * (h * w), shape=(n, 1, 1))
    index = xp.reshape(xp.reshape(index, shape=(n, count, 4)) + first, shape=(n * count, 4))
    found = weighted_rows(xp, pixel_rows(xp, image), index, xp.cast_like(weight, image))
    return xp.permute_dims(xp.reshape(found, shape=(n, count, c)), axes=(0, 2, 1))


def _target(name, target_shape):
    if len(target_shape) != 2 or min(target_shape) < 1:
        raise ShapeError(f"{name}: target_shape needs two positive sizes", target_shape, "pass target_shape=(height, width)")
    return target_shape


def _axis(xp, size, dtype):
    """``size`` numbers from -1 to 1."""
    # MXNet's point of an axis of one pixel, which has no length to divide by
    if size == 1:
        return xp.full(shape=(1,), value=-1.0, dtype=dtype)
    return xp.cast(xp.iota(size=size, dtype="int64"), dtype) * (2 / (size - 1)) - 1


def _affine_grid(xp, theta, height, width):
    """Affine maps (n, 6) applied to the points of a regular grid: (n, 2, height, width), x first."""
    dtype = xp.dtype_of(theta)
    x = xp.broadcast_to(_axis(xp, width, dtype), shape=(height, width))
    y = xp.broadcast_to(xp.reshape(_axis(xp, height, dtype), shape=(height, 1)), shape=(height, width))
    # homogeneous coordinates: the 1 takes the map's third column, the translation
    points = xp.reshape(xp.stack([x, y, xp.ones_like(x)], 0), shape=(3, height * width))
    grid = xp.matmul(xp.reshape(theta, shape=(theta.shape[0], 2, 3)), points)
    return xp.reshape(grid, shape=(theta.shape[0], 2, height, width))


@op("GridGenerator", real=True, workspaces=1)
def grid_generator(xp, data, *, transform_type: Literal["affine", "warp"], target_shape: Shape = (0, 0)):
    """Where to read an image: (n, 2, h, w), x and y from -1 to 1 over the image.

    "affine" applies the maps ``data`` (n, 6), rows of 2 x 3 matrices, to a regular grid of ``target_shape``. "warp" adds to the position of
    every pixel the displacement ``data`` (n, 2, h, w) in pixels.
    """
    if transform_type == "affine":
        height, width = _target("GridGenerator", target_shape)
        if len(data.shape) != 2 or data.shape[1] != 6:
            raise ShapeError("GridGenerator: affine maps have six numbers", data.shape, "pass data (n, 6)")
        return _affine_grid(xp, data, height, width)
    if len(data.shape) != 4 or data.shape[1] != 2:
        raise ShapeError("GridGenerator: displacements have two channels", data.shape, "pass data (n, 2, h, w)")
    height, width = data.shape[2:]
    # -1 and 1 are the centers of the first and last pixels; an axis of one pixel has no length to divide by
    sizes = [max(width - 1, 1) / 2, max(height - 1, 1) / 2]
    dtype = xp.dtype_of(data)
    x = xp.broadcast_to(xp.cast(xp.iota(size=width, dtype="int64"), dtype), shape=(height, width))
    y = xp.reshape(xp.cast(xp.iota(size=height, dtype="int64"), dtype), shape=(height, 1))
    pixels = xp.stack([x, xp.broadcast_to(y, shape=(height, width))], 0)
    scale = xp.stack([xp.full(shape=(1, 1), value=s, dtype=dtype) for s in sizes], 0)
    return (data + pixels) / scale - 1


@grid_generator.infer
def _(shapes, results, *, transform_type, target_shape):
    if transform_type == "warp":
        return shapes, results
    n = first_known(size_at(shapes[0], 0), size_at(results[0], 0))
    return [(n, 6)], [(n, 2, *_target("GridGenerator", target_shape))]


grid_generator.sample(lambda draw: draw(draw.real((2, 6)), transform_type="affine", target_shape=(3, 4)))
grid_generator.sample(lambda draw: draw(draw.real((2, 2, 3, 4)), transform_type="warp"))


def _sampled(xp, name, data, grid):
    if len(data.shape) != 4 or len(grid.shape) != 4 or grid.shape[:2] != (data.shape[0], 2):
        given = f"data {data.shape}, grid {grid.shape}"
        raise ShapeError(f"{name}: the grid does not match the images", given, "pass data (n, c, h, w) and a grid (n, 2, h', w')")
    n, c, h, w = data.shape
    x, y = (xp.reshape(xp.take_slice(grid, k, k + 1, 1), shape=(n, -1)) for k in (0, 1))
    # -1 and 1 are the centers of the outermost pixels
    found = bilinear(xp, data, (y + 1) * ((h - 1) / 2), (x + 1) * ((w - 1) / 2))
    return xp.reshape(found, shape=(n, c, *grid.shape[2:]))


@op("BilinearSampler", real=True, workspaces=1)
def bilinear_sampler(xp, data, grid, *, cudnn_off: bool | None = None):
    """Images (n, c, h, w) read at the points of a grid (n, 2, h', w') of `GridGenerator`: (n, c, h', w').

    Points between pixels are interpolated; pixels outside the image are 0. ``cudnn_off`` has no effect.
    """
    return _sampled(xp, "BilinearSampler", data, grid)


@bilinear_sampler.infer
def _(shapes, results, **_):
    data, grid = shapes
    n = first_known(size_at(data, 0), size_at(grid, 0))
    return [with_size(data, 0, n), with_size(with_size(grid, 0, n), 1, 2)], results


@bilinear_sampler.sample
def _(draw):
    # away from the pixels themselves, where the gradient jumps
    grid = draw.real((2, 2, 3, 4), then=lambda np, u: (np.floor(u * 2) + 0.25 + 0.5 * (u - np.floor(u))) / 2)
    return draw(draw.real((2, 3, 5, 5)), grid)


@op("SpatialTransformer", real=True, workspaces=2)
def spatial_transformer(
    xp,
    data,
    loc,
    *,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
):
    """Images (n, c, h, w) under affine maps ``loc`` (n, 6): (n, c, *target_shape).

    `GridGenerator` and `BilinearSampler` in one. ``cudnn_off`` has no effect.
    """
    if len(loc.shape) != 2 or loc.shape[1] != 6:
        raise ShapeError("SpatialTransformer: affine maps have six numbers", loc.shape, "pass loc (n, 6)")
    return _sampled(xp, "SpatialTransformer", data, _affine_grid(xp, loc, *_target("SpatialTransformer", target_shape)))


@spatial_transformer.infer
def _(shapes, **_):
    n = first_known(size_at(shapes[0], 0), size_at(shapes[1], 0))
    return [with_size(shapes[0], 0, n), (n, 6)]


@spatial_transformer.sample
def _(draw):
    near = draw.real((2, 6), then=lambda np, u: np.array([0.7, 0.1, 0.05, -0.1, 0.8, 0.03], u.dtype) + u * 0.01)
    return draw(draw.real((2, 3, 5, 5)), near, target_shape=(3, 4), transform_type="affine", sampler_type="bilinear")
