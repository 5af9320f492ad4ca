"""Helpers shared by convolution and pooling: parameters per spatial axis, layouts, padding."""

from typing import Literal

from ..errors import ParameterError, ShapeError

#: Channels first is the default; other layouts are transposed to it and back.
Layout = Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None


#: The default of each parameter of windows along an axis.
DEFAULTS = {"kernel": 1, "stride": 1, "dilate": 1, "pad": 0, "adj": 0}


def per_axis(name, ndim, **given):
    """Each parameter of windows with one value per spatial axis (its default if it is omitted), in the given order.

    Raises
    ------
    ShapeError
        If a parameter's number of values is not that of the spatial axes of data with ``ndim`` axes.
    """
    out = []
    for key, values in given.items():
        filled = values or (DEFAULTS[key],) * (ndim - 2)
        if len(filled) != ndim - 2:
            what = f"{name}: {key} needs one value for each spatial axis"
            raise ShapeError(what, f"{key} {values} for data of {ndim} dimensions", f"pass {ndim - 2} values")
        # parameters with the default 0 may be 0; a stride or a kernel may not
        if min(filled, default=1) < DEFAULTS[key]:
            raise ParameterError(f"{name}: {key} is too small", values, "pass positive sizes and steps, and non-negative padding")
        out.append(filled)
    return out


def is_channels_last(layout):
    """Whether the layout has channels last."""
    return layout is not None and layout.endswith("C")


def channels_first(xp, x, layout):
    """An array of a layout, transposed to have channels as axis 1."""
    return xp.moveaxis(x, -1, 1) if is_channels_last(layout) else x


def from_channels_first(xp, x, layout):
    """The inverse of `channels_first`."""
    return xp.moveaxis(x, 1, -1) if is_channels_last(layout) else x


def padded(xp, x, before, after, value=0.0):
    """``x`` (n, c, …) padded along its spatial axes; ``x`` itself if there is no padding."""
    if not any(before) and not any(after):
        return x
    return xp.pad(x, width=((0, 0), (0, 0), *zip(before, after, strict=True)), value=value)
