"""Pooling over one to three axes, windowed and global, and reflection padding."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..exceptions import InvalidValue
from ..hybrid_block import HybridBlock
from .convolution import Sizes, sizes_of

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

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


class _Pooling(HybridBlock, arrays="nd"):
    """The base of all pooling layers.

    Parameters
    ----------
    pool_size, strides, padding
        One value per axis, or one for all axes; strides default to the pool size.
    ceil_mode
        Whether to include an incomplete window at the end.
    global_pool
        Whether a single window covers the whole input.
    layout
        Order of the axes.
    count_include_pad
        Whether means include the zeros of the padding.
    """

    _ndim: ClassVar[int]
    _pool_type: ClassVar[str]

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        ceil_mode: bool,
        global_pool: bool,
        layout: str,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ) -> None:
        if layout not in LAYOUTS[self._ndim]:
            allowed = " and ".join(LAYOUTS[self._ndim])
            raise InvalidValue(
                f"{type(self).__name__}: Only {allowed} layouts are valid for {self._ndim}D Pooling", repr(layout), "transpose the data"
            )
        super().__init__(**kwargs)
        kernel = sizes_of(pool_size, self._ndim, "pool_size")
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": kernel if strides is None else sizes_of(strides, self._ndim, "strides"),
            "pad": sizes_of(padding, self._ndim, "padding"),
            "global_pool": global_pool,
            "pool_type": self._pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The output, in the input's layout."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        k = self._kwargs
        ends = f"size={k['kernel']}, stride={k['stride']}, padding={k['pad']}, ceil_mode={k['pooling_convention'] == 'full'}"
        return f"{type(self).__name__}({ends}, global_pool={k['global_pool']}, pool_type={k['pool_type']}, layout={k['layout']})"


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


def _add_parameter_docs(cls: type[_Pooling]) -> type[_Pooling]:
    layouts = " or ".join(f'``"{k}"``' for k in LAYOUTS[cls._ndim])
    text = _GLOBAL_PARAMETERS if cls.__name__.startswith("Global") else _PARAMETERS
    cls.__doc__ = (cls.__doc__ or "") + text.format(layouts=layouts, pad=_INCLUDE_PAD if cls._pool_type == "avg" else "")
    return cls


@_add_parameter_docs
class MaxPool1D(_Pooling):
    """The maximum of each window along one axis."""

    _ndim, _pool_type = 1, "max"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, layout, **kwargs)


@_add_parameter_docs
class MaxPool2D(_Pooling):
    """The maximum of each window over two axes."""

    _ndim, _pool_type = 2, "max"

    def __init__(
        self,
        pool_size: Sizes = (2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, layout, **kwargs)


@_add_parameter_docs
class MaxPool3D(_Pooling):
    """The maximum of each window over three axes."""

    _ndim, _pool_type = 3, "max"

    def __init__(
        self,
        pool_size: Sizes = (2, 2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, layout, **kwargs)


@_add_parameter_docs
class AvgPool1D(_Pooling):
    """The mean of each window along one axis."""

    _ndim, _pool_type = 1, "avg"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, layout, count_include_pad, **kwargs)


@_add_parameter_docs
class AvgPool2D(_Pooling):
    """The mean of each window over two axes."""

    _ndim, _pool_type = 2, "avg"

    def __init__(
        self,
        pool_size: Sizes = (2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, layout, count_include_pad, **kwargs)


@_add_parameter_docs
class AvgPool3D(_Pooling):
    """The mean of each window over three axes."""

    _ndim, _pool_type = 3, "avg"

    def __init__(
        self,
        pool_size: Sizes = (2, 2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, False, layout, count_include_pad, **kwargs)


class _GlobalPooling(_Pooling):
    """A single window over the whole input."""

    def __init__(self, layout: str, **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, True, layout, **kwargs)


@_add_parameter_docs
class GlobalMaxPool1D(_GlobalPooling):
    """The maximum of each channel: (n, c, w) to (n, c, 1)."""

    _ndim, _pool_type = 1, "max"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_add_parameter_docs
class GlobalMaxPool2D(_GlobalPooling):
    """The maximum of each channel: (n, c, h, w) to (n, c, 1, 1)."""

    _ndim, _pool_type = 2, "max"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_add_parameter_docs
class GlobalMaxPool3D(_GlobalPooling):
    """The maximum of each channel: (n, c, d, h, w) to (n, c, 1, 1, 1)."""

    _ndim, _pool_type = 3, "max"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_add_parameter_docs
class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel: (n, c, w) to (n, c, 1)."""

    _ndim, _pool_type = 1, "avg"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_add_parameter_docs
class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel: (n, c, h, w) to (n, c, 1, 1)."""

    _ndim, _pool_type = 2, "avg"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_add_parameter_docs
class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel: (n, c, d, h, w) to (n, c, 1, 1, 1)."""

    _ndim, _pool_type = 3, "avg"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class ReflectionPad2D(HybridBlock, arrays="nd"):
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

    def __init__(self, padding: int | Sequence[int] = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._padding = (0, 0, 0, 0, *(padding,) * 4) if isinstance(padding, int) else tuple(padding)
        if len(self._padding) != 8:
            raise InvalidValue(
                "ReflectionPad2D: padding must be a number or a list of 8 ints", str(padding), "pass the widths before and after each axis"
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The output (n, c, h', w')."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
