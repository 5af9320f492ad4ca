"""Correlation: patches of one feature map compared with displaced patches of another, as for optical flow."""

from ..errors import ParameterError, ShapeError
from ..opdef import op

#: The most displacements in one direction, and pixels of a patch: every pair of displacements is a few nodes of a graph.
MOST_STEPS, MOST_PIXELS = 255, 2047


def _sizes(shape, kernel_size, max_displacement, stride1, pad_size):
    """The numbers of rows and columns of the result."""
    # patch centers keep so far from the edge that every displaced patch is inside the padded map; one begins each `stride1` pixels
    border = max_displacement + kernel_size // 2
    return [-(-(n + 2 * pad_size - 2 * border) // stride1) for n in shape[2:]]


def _checked_sizes(one, two, kernel_size, stride1, stride2, max_displacement, pad_size):
    """The numbers of rows and columns of the result, if the operands and parameters fit."""
    if len(one.shape) != 4 or one.shape != two.shape:
        raise ShapeError("Correlation: the feature maps do not match", f"{one.shape} and {two.shape}", "pass two of a shape (n, c, h, w)")
    if kernel_size % 2 == 0 or min(stride1, stride2) < 1:
        given = f"kernel_size {kernel_size}, stride1 {stride1}, stride2 {stride2}"
        raise ParameterError("Correlation: kernel_size must be odd, and strides positive", given, "pass such numbers")
    if 2 * (max_displacement // stride2) + 1 > MOST_STEPS or kernel_size > MOST_PIXELS:
        given = f"max_displacement {max_displacement}, stride2 {stride2}, kernel_size {kernel_size}"
        raise ParameterError(
            "Correlation: too many displacements", given, f"{MOST_STEPS} in each direction, of {MOST_PIXELS} pixels at most"
        )
    sizes = _sizes(one.shape, kernel_size, max_displacement, stride1, pad_size)
    if min(sizes) < 1:
        raise ShapeError("Correlation: displacements and kernel do not fit", f"feature maps {one.shape}", "pad them, or displace less")
    return sizes


@op("Correlation", real=True, recompute=True, workspaces=2)
def correlation(
    xp,
    data1,
    data2,
    *,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
):
    """Mean products of patches of two feature maps (n, c, h, w), for all displacements of the second: (n, d², h', w').

    A patch has kernel_size² pixels; one is taken each ``stride1`` pixels of the padded map. Displacements are multiples of ``stride2``
    up to ``max_displacement`` in both directions, d = 2 · (max_displacement // stride2) + 1. Without ``is_multiply`` the result is the
    mean absolute difference. Source: Dosovitskiy et al., "FlowNet", ICCV 2015.
    """
    rows, columns = _checked_sizes(data1, data2, kernel_size, stride1, stride2, max_displacement, pad_size)
    width = ((0, 0), (0, 0), (pad_size, pad_size), (pad_size, pad_size))
    one, two = (xp.pad(x, width=width) for x in (data1, data2))
    reach = max_displacement // stride2
    steps = [k * stride2 for k in range(-reach, reach + 1)]
    # all displacements along a row in one operation: axis 4 of the second operand is the displacement
    spans = [(size - 1) * stride1 + kernel_size for size in (rows, columns)]
    first = xp.expand_dims(_window(xp, one, max_displacement, spans[0], max_displacement, spans[1]), 2)
    lines = []
    for dy in steps:
        shifted = [_window(xp, two, max_displacement + dy, spans[0], max_displacement + dx, spans[1]) for dx in steps]
        second = xp.stack(shifted, 2)
        # where they are equal the difference has a gradient too, as in MXNet
        alike = first * second if is_multiply else xp.where(xp.less(first, second), second - first, first - second)
        lines.append(_patch_sums(xp, xp.sum(alike, axis=1, keepdims=False), rows, columns, kernel_size, stride1))
    return xp.concat(*lines, axis=1) / (kernel_size**2 * data1.shape[1])


def _window(xp, x, top, height, left, width):
    return xp.slice(x, key=((None, None, None), (None, None, None), (top, top + height, None), (left, left + width, None)))


def _patch_sums(xp, x, rows, columns, kernel_size, stride):
    """Sums of patches of (n, d, h, w), one each ``stride`` pixels: (n, d, rows, columns)."""
    # a sum over a square is a sum over rows, then over columns; slices shifted by one pixel are added, without a loop over patches
    for axis, number in ((2, rows), (3, columns)):
        parts = [xp.take_slice(x, k, k + (number - 1) * stride + 1, axis, stride) for k in range(kernel_size)]
        x = sum(parts[1:], parts[0])
    return x


@correlation.infer
def _(shapes, **_):
    known = shapes[0] if shapes[0] is not None else shapes[1]
    return [known, known]


@correlation.sample
def _(draw):
    pair = draw.real((1, 2, 5, 6)), draw.real((1, 2, 5, 6))
    return [
        draw(*pair, max_displacement=2, pad_size=2, stride2=2),
        draw(*pair, kernel_size=3, pad_size=2, stride1=2),
        draw(*pair, is_multiply=False, pad_size=1),
    ]
