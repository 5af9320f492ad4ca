"""Images of another size: means over the cells of a regular partition, and bilinear interpolation."""

from typing import Annotated, Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Input, Operand, Shape, op

Mode = Literal["like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"]
#: An operand of which only the size matters; its dtype may differ.
Like = Annotated[Operand | None, Input(present=("mode", "like"), own_dtype=True)]


#: Pixels of a tile up to which sums of windows are faster than means of one axis after the other.
LARGEST_WINDOW = 128


def _check_image(name, shape):
    if len(shape) != 4 or 0 in shape[2:]:
        raise ShapeError(f"{name}: needs images", shape, "pass data (n, c, h, w) with at least one pixel")


def _cells(xp, size, number, dtype):
    """The matrix (number, size) whose rows take the means of the cells floor(k · size / number) … ceil((k + 1) · size / number)."""
    k = xp.reshape(xp.iota(size=number, dtype="int64"), shape=(number, 1))
    # the end is rounded up, by adding one less than the divisor
    start, stop = xp.floor_divide(k * size, number), xp.floor_divide((k + 1) * size + (number - 1), number)
    at = xp.iota(size=size, dtype="int64")
    inside = xp.logical_and(xp.greater_equal(at, start), xp.less(at, stop))
    return xp.cast(inside, dtype) / xp.cast(stop - start, dtype)


def _tile_means(xp, x, rows, columns):
    """Means over tiles of ``rows`` x ``columns`` pixels that cover images (n, c, h, w)."""
    n, c, height, width = x.shape
    number = height // rows, width // columns
    if rows * columns <= LARGEST_WINDOW:
        sums = xp.window_sum(x, kernel=(rows, columns), stride=(rows, columns), before=(0, 0), number=number)
        return sums / (rows * columns)
    lines = xp.mean(xp.reshape(x, shape=(n, c, number[0], rows, width)), axis=3)
    return xp.mean(xp.reshape(lines, shape=(n, c, *number, columns)), axis=4)


@op("_contrib_AdaptiveAvgPooling2D", real=True)
def adaptive_average(xp, data, *, output_size: Shape = ()):
    """Means of images (n, c, h, w) over ``output_size`` cells: (n, c, *output_size).

    The cells along an axis of size n are floor(k · n / m) … ceil((k + 1) · n / m), so neighbors may overlap by a pixel. One number is both
    height and width; without a size, both are 1.
    """
    _check_image("AdaptiveAvgPooling2D", data.shape)
    sizes = list(output_size) or [1]
    if len(sizes) > 2 or min(sizes) < 1:
        raise ShapeError("AdaptiveAvgPooling2D: output_size needs one or two positive sizes", output_size, "pass (height, width)")
    height, width = sizes[0], sizes[-1]
    if (height, width) == (1, 1):
        return xp.mean(data, axis=(2, 3), keepdims=True)
    x = xp.upcast(data)
    if data.shape[2] % height == data.shape[3] % width == 0:
        # two to four times as fast as the products, in which a number that is not finite also reaches the means of other cells
        return xp.downcast(_tile_means(xp, x, data.shape[2] // height, data.shape[3] // width), data)
    rows, columns = (_cells(xp, n, m, xp.dtype_of(x)) for n, m in zip(data.shape[2:], (height, width), strict=True))
    # the mean over a cell is one along each axis: two matrix products compute all cells
    return xp.downcast(xp.matmul(rows, xp.matmul(x, xp.matrix_transpose(columns))), data)


@adaptive_average.sample
def _(draw):
    image = draw.real((2, 2, 5, 7))
    tiled = draw.real((1, 2, 6, 4))
    large = draw.real((1, 1, 24, 20))
    return [
        draw(image),
        draw(image, output_size=(2, 3)),
        draw(image, output_size=(7, 9)),
        draw(tiled, output_size=(2, 2)),
        draw(large, output_size=(2, 1)),
    ]


def _to(even, up):
    """The nearest even or odd number, at least or at most the size."""
    return lambda size: size if (size % 2 == 0) == even else size + (1 if up else -1)


_ROUNDED = {f"to_{kind}_{way}": _to(kind == "even", way == "up") for kind in ("even", "odd") for way in ("up", "down")}


def _new_sizes(shape, like, height, width, scale_height, scale_width, mode):
    """The height and width of the result."""
    old = shape[2:]
    if mode == "like":
        return like.shape[2:]
    if mode in _ROUNDED:
        return [_ROUNDED[mode](n) for n in old]
    scales = (scale_height, scale_width)
    if mode == "odd_scale":
        if None in scales:
            raise ParameterError("BilinearResize2D: odd_scale needs both scales", scales, "pass scale_height and scale_width")
        # an odd size keeps a pixel in the middle
        return [int(n * s) if n % 2 == 0 else int((n - 1) * s) + 1 for n, s in zip(old, scales, strict=True)]
    return [size if s is None else int(n * s) for n, s, size in zip(old, scales, (height, width), strict=True)]


def _interpolated(xp, x, axis, number, align_corners):
    """``x`` with ``number`` elements along an axis, interpolated between the two nearest."""
    size = x.shape[axis]
    if number == size:
        return x
    # in float64, so that images of all dtypes are read at the same positions
    k = xp.cast(xp.iota(size=number, dtype="int64"), "float64")
    # either the centers of the corner pixels coincide, or centers are at half pixels; before the first center the edge is repeated
    # a single element is the first one in both cases, as in MXNet
    aligned = (size - 1) / (number - 1) if number > 1 else 0.0
    at = k * aligned if align_corners or number == 1 else xp.maximum((k + 0.5) * (size / number) - 0.5, 0)
    low = xp.minimum(xp.floor(at), size - 1)
    share = xp.reshape(xp.cast_like(at - low, x), shape=(number, *[1] * (len(x.shape) - axis - 1)))
    low = xp.cast(low, "int64")
    below, above = (xp.take(x, place, axis=axis) for place in (low, xp.minimum(low + 1, size - 1)))
    return below * (1 - share) + above * share


@op("_contrib_BilinearResize2D", real=True)
def bilinear_resize(
    xp,
    data,
    like: Like = None,
    *,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Mode = "size",
    align_corners: bool = True,
):
    """Images (n, c, h, w) interpolated to another size.

    "size" is ``height`` and ``width``, or the image's size times the scales if they are given. "odd_scale" is h · scale if h is even, else
    (h - 1) · scale + 1. "like" is the size of ``like`` (n, c, h', w'). "to_even_up", "to_odd_down" and so on are the nearest such sizes.
    With ``align_corners`` the centers of the corner pixels stay in place, otherwise the corners of the image do. A result with one row or
    column has the first one.
    """
    _check_image("BilinearResize2D", data.shape)
    if (like is None) == (mode == "like") or (like is not None and len(like.shape) != 4):
        given = f'mode "{mode}", like {None if like is None else like.shape}'
        raise ParameterError('BilinearResize2D: only mode "like" takes a second array, (n, c, h, w)', given, "pass both or none")
    sizes = _new_sizes(data.shape, like, height, width, scale_height, scale_width, mode)
    if min(sizes) < 1:
        raise ParameterError("BilinearResize2D: the result would have no pixels", f"{tuple(sizes)}", "pass positive sizes")
    x = xp.upcast(data)
    for axis, number in enumerate(sizes, 2):
        x = _interpolated(xp, x, axis, number, align_corners)
    return xp.downcast(x, data)


@bilinear_resize.sample
def _(draw):
    image = draw.real((2, 2, 4, 5))
    return [
        draw(image, None, height=7, width=3),
        draw(image, None, height=7, width=3, align_corners=False),
        draw(image, None, scale_height=2.0, scale_width=1.5, mode="odd_scale"),
        draw(image, None, mode="to_even_up"),
    ]
