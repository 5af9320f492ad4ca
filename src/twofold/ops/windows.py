"""What convolution and pooling share: parameters per spatial axis, layouts, padding."""

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
