"""What convolution and pooling share: parameters per spatial axis, layouts, windows as columns of a matrix."""

import math
from typing import Literal

from ..errors import ParameterError, ShapeError

#: Channels first is the default; the others are permuted to it and back.
Layout = Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None


def per_axis(name, ndim, default, **given):
    """Each parameter with one value per spatial axis (``default`` where it was left out), in the order given.

    Raises
    ------
    ShapeError
        If one has another number of values than the data, of ``ndim`` axes, has spatial axes.
    """
    out = []
    for key, values in given.items():
        filled = values or (default[key],) * (ndim - 2)
        if len(filled) != ndim - 2:
            what = f"{name}: {key} needs one value for each spatial axis"
            raise ShapeError(what, f"{key} {values} for data of {ndim} dimensions", f"give {ndim - 2} values")
        if min(filled, default=1) < (0 if key in ("pad", "adj") else 1):
            raise ParameterError(f"{name}: {key} is too small", values, "sizes and steps are positive, padding is not negative")
        out.append(filled)
    return out


def is_channels_last(layout):
    """Whether the layout's name ends with the channels."""
    return layout is not None and layout.endswith("C")


def channels_first(xp, x, layout):
    """An array of that layout with its channels on axis 1."""
    return xp.moveaxis(x, -1, 1) if is_channels_last(layout) else x


def from_channels_first(xp, x, layout):
    """The inverse of `channels_first`."""
    return xp.moveaxis(x, 1, -1) if is_channels_last(layout) else x


def padded(xp, x, before, after, value=0.0):
    """``x`` (n, c, …) with elements of one value around its spatial axes; itself if there are none."""
    if not any(before) and not any(after):
        return x
    return xp.pad(x, width=((0, 0), (0, 0), *zip(before, after, strict=True)), value=value)


def columns(xp, x, groups, kernel, stride, dilate):
    """The windows of (n, c, …) as columns: (groups, c / groups · kernel, n · windows), and how many windows each axis has.

    One copy, whose inner runs are rows of the image, so that convolution is one matrix product and a copy of its result.
    """
    k = len(kernel)
    windows = xp.unfold(x, kernel=kernel, stride=stride, dilate=dilate)
    n, c, *out = windows.shape[: 2 + k]
    order = (1, *range(2 + k, 2 + 2 * k), 0, *range(2, 2 + k))
    copied = xp.contiguous(xp.permute_dims(windows, axes=order))
    return xp.reshape(copied, shape=(groups, c // groups * math.prod(kernel), n * math.prod(out))), tuple(out)


def from_columns(xp, cols, n, size, out, kernel, stride, dilate):
    """The transpose of `columns`: columns added up where their windows overlap, to an array (n, c, *size)."""
    k = len(kernel)
    c = math.prod(cols.shape) // (n * math.prod(out) * math.prod(kernel))
    apart = xp.reshape(cols, shape=(c, *kernel, n, *out))
    order = (1 + k, 0, *range(2 + k, 2 + 2 * k), *range(1, 1 + k))
    return xp.fold(xp.permute_dims(apart, axes=order), size=size, kernel=kernel, stride=stride, dilate=dilate)
