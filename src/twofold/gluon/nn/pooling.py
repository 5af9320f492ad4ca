"""Pooling over one to three axes, windowed and global, and reflection padding."""

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import numpy as np

from ...errors import InvalidValue
from ..hybrid_block import ArrayKind, Naming
from ..layer import Layer
from ..signatures import Functions, Operand, extend_docstring
from .convolution import Sizes, layouts_for_docs, sizes_of

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]


_PARAMETERS = """

    Parameters
    ----------
    pool_size, strides, padding
        One value per axis, or one for all axes; strides default to the pool size.
    ceil_mode
        Whether to include an incomplete window at the end.
    layout
        Order of the axes: {layouts}.{pad}
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the layout is unknown, or the number of sizes differs from that of the axes.
    """
_INCLUDE_PAD = """
    count_include_pad
        Whether means include the zeros of the padding."""
_GLOBAL_PARAMETERS = """

    Parameters
    ----------
    layout
        Order of the axes: {layouts}.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """


class _Pooling(Layer, arrays="nd"):
    """The base of all pooling layers, from which scripts derive layers of their own. Sizes are one value per axis, or one for all axes.

    Parameters
    ----------
    global_pool
        Whether a single window covers the whole input.
    pool_type
        ``"max"``, ``"avg"``, ``"sum"`` or ``"lp"``.
    layout
        Order of the axes; the first of the class's layouts if None.
    """

    #: Supported layouts, the default first; any if there are none.
    _layouts: ClassVar[tuple[str, ...]] = ()
    _pool_type: ClassVar[str]
    _parameters: ClassVar[str] = _PARAMETERS.replace("{pad}", "")

    def __init_subclass__(cls, layouts: tuple[str, ...] = (), pool_type: str | None = None, **options: ArrayKind) -> None:
        super().__init_subclass__(**options)
        if pool_type is not None:
            cls._pool_type = pool_type
        if layouts:
            cls._layouts = layouts
            extend_docstring(cls, cls._parameters, layouts=layouts_for_docs(layouts))

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str | None,
        count_include_pad: bool | None = None,
        **kwargs: Unpack[Naming],
    ) -> None:
        # a script's own subclass has no layouts, so it must pass one
        layout = self._layouts[0] if layout is None else layout
        # less the batch and channel axes
        ndim = len((*self._layouts, layout)[0]) - 2
        if self._layouts and layout not in self._layouts:
            allowed = " and ".join(self._layouts)
            raise InvalidValue(
                f"{type(self).__name__}: Only {allowed} layouts are valid for {ndim}D Pooling", repr(layout), "transpose the data"
            )
        super().__init__(**kwargs)
        kind = type(self).__name__
        kernel = sizes_of(pool_size, ndim, f"{kind}: pool_size", 1)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            # windows side by side, without overlap
            "stride": kernel if strides is None else sizes_of(strides, ndim, f"{kind}: strides", 1),
            "pad": sizes_of(padding, ndim, f"{kind}: padding"),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:  # maximum pooling has no such attribute in MXNet's graphs
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output, in the input's layout."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        k = self._kwargs
        ends = f"size={k['kernel']}, stride={k['stride']}, padding={k['pad']}, ceil_mode={k['pooling_convention'] == 'full'}"
        return f"{type(self).__name__}({ends}, global_pool={k['global_pool']}, pool_type={k['pool_type']}, layout={k['layout']})"


class _MaxPool(_Pooling, pool_type="max"):
    """The base of maximum pooling over one or two axes; the position of ``ceil_mode`` differs from three, as in MXNet."""

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, self._pool_type, layout, **kwargs)


class _AvgPool(_Pooling, pool_type="avg"):
    """The base of mean pooling over two or three axes; the position of ``ceil_mode`` differs from one, as in MXNet."""

    _parameters: ClassVar[str] = _PARAMETERS.replace("{pad}", _INCLUDE_PAD)

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        count_include_pad: bool = True,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, self._pool_type, layout, count_include_pad, **kwargs)


class _GlobalPool(_Pooling):
    """The base of pooling with a single window over the whole input."""

    _parameters: ClassVar[str] = _GLOBAL_PARAMETERS

    def __init__(self, layout: str | None = None, **kwargs: Unpack[Naming]) -> None:
        # the operator ignores the sizes of a global window, but graphs of MXNet hold these
        super().__init__(1, None, 0, True, True, self._pool_type, layout, **kwargs)


class MaxPool1D(_MaxPool, layouts=("NCW", "NWC")):
    """The maximum of each window along one axis."""


class MaxPool2D(_MaxPool, layouts=("NCHW", "NHWC")):
    """The maximum of each window over two axes."""


class MaxPool3D(_MaxPool, layouts=("NCDHW", "NDHWC")):
    """The maximum of each window over three axes."""

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class AvgPool1D(_AvgPool, layouts=("NCW", "NWC")):
    """The mean of each window along one axis."""

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad, **kwargs)


class AvgPool2D(_AvgPool, layouts=("NCHW", "NHWC")):
    """The mean of each window over two axes."""


class AvgPool3D(_AvgPool, layouts=("NCDHW", "NDHWC")):
    """The mean of each window over three axes."""


class GlobalMaxPool1D(_GlobalPool, layouts=("NCW", "NWC"), pool_type="max"):
    """The maximum of each channel: (n, c, w) to (n, c, 1)."""


class GlobalMaxPool2D(_GlobalPool, layouts=("NCHW", "NHWC"), pool_type="max"):
    """The maximum of each channel: (n, c, h, w) to (n, c, 1, 1)."""


class GlobalMaxPool3D(_GlobalPool, layouts=("NCDHW", "NDHWC"), pool_type="max"):
    """The maximum of each channel: (n, c, d, h, w) to (n, c, 1, 1, 1)."""


class GlobalAvgPool1D(_GlobalPool, layouts=("NCW", "NWC"), pool_type="avg"):
    """The mean of each channel: (n, c, w) to (n, c, 1)."""


class GlobalAvgPool2D(_GlobalPool, layouts=("NCHW", "NHWC"), pool_type="avg"):
    """The mean of each channel: (n, c, h, w) to (n, c, 1, 1)."""


class GlobalAvgPool3D(_GlobalPool, layouts=("NCDHW", "NDHWC"), pool_type="avg"):
    """The mean of each channel: (n, c, d, h, w) to (n, c, 1, 1, 1)."""


class AdaptiveAvgPool2D(Layer, arrays="nd"):
    """Means over windows that divide an image into a given number of rows and columns: (n, c, h, w) to (n, c, rows, columns).

    Parameters
    ----------
    output_size
        Number of rows and columns, or one number for both.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.AdaptiveAvgPool2D((2, 1))
    >>> layer(mx.nd.arange(8).reshape((1, 1, 4, 2))).asnumpy().tolist()
    [[[[1.5], [5.5]]]]
    """

    def __init__(self, output_size: int | Sequence[int] = 1, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._size = (output_size, output_size) if isinstance(output_size, (int, np.integer)) else tuple(output_size)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, c, rows, columns)."""
        return F.contrib.AdaptiveAvgPooling2D(x, output_size=self._size)


class AdaptiveAvgPool1D(Layer, arrays="nd"):
    """Means over windows that divide rows into a given number of parts: (n, c, w) to (n, c, parts).

    Parameters
    ----------
    output_size
        Number of parts.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.AdaptiveAvgPool1D(2)
    >>> layer(mx.nd.arange(4).reshape((1, 1, 4))).asnumpy().tolist()
    [[[0.5, 2.5]]]
    """

    def __init__(self, output_size: int = 1, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._size = output_size

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, c, parts)."""
        # as an image of one row
        image = F.contrib.AdaptiveAvgPooling2D(F.expand_dims(x, axis=2), output_size=(1, self._size))
        return F.reshape(image, shape=(0, 0, -1))


class ReflectionPad2D(Layer, arrays="nd"):
    """Pads images (n, c, h, w) by reflection at the border.

    Parameters
    ----------
    padding
        Number of rows and columns on each side, or the widths before and after each of the four axes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If ``padding`` is neither one number nor eight.
    """

    def __init__(self, padding: int | Sequence[int] = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        # the operator takes a width before and after each axis; batch and channels have none
        self._padding = (0, 0, 0, 0, *(padding,) * 4) if isinstance(padding, (int, np.integer)) else tuple(padding)
        if len(self._padding) != 8:
            raise InvalidValue(
                "ReflectionPad2D: padding must be a number or a list of 8 ints", str(padding), "pass the widths before and after each axis"
            )

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, c, h', w')."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
