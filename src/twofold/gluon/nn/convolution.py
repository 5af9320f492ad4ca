"""Convolutions and transposed convolutions over one to three axes."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..exceptions import InvalidValue
from ..hybrid_block import HybridBlock
from .activations import Activation

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]

Sizes = int | Sequence[int]


def sizes_of(given: Sizes, ndim: int, what: str) -> tuple[int, ...]:
    """One size per axis.

    Raises
    ------
    ParameterError
        If it is neither a number nor a sequence of ``ndim`` numbers.
    """
    sizes = (given,) * ndim if isinstance(given, int) else tuple(given)
    if len(sizes) != ndim:
        raise InvalidValue(f"{what} must be a number or a list of {ndim} ints", str(given), f"pass {ndim} numbers")
    return sizes


class _Conv(HybridBlock, arrays="nd"):
    """The base of all convolutions.

    Parameters
    ----------
    channels
        Number of output channels.
    kernel_size, strides, padding, dilation
        One value per axis, or one for all axes.
    groups
        Number of groups into which channels are divided; each is convolved separately.
    layout
        Order of the axes.
    in_channels
        Number of input channels; inferred in the first forward pass if 0.
    activation
        Name of an activation, see `Activation`; None for none.
    use_bias
        Whether to add a bias.
    weight_initializer, bias_initializer
        Initializers of the parameters; None for the model's.
    adj
        For a transposed convolution: size added to one end of each output axis.
    """

    #: Supported layouts, the default first.
    _layouts: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        adj: Sizes | None = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        if layout not in self._layouts:
            allowed = " and ".join(f"'{k}'" for k in self._layouts)
            raise InvalidValue(f"{type(self).__name__}: Only supports {allowed} layout for now", repr(layout), "transpose the data")
        ndim = len(layout) - 2
        kernel = sizes_of(kernel_size, ndim, "kernel_size")
        super().__init__(prefix=prefix, params=params)
        self._channels, self._in_channels = channels, in_channels
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": sizes_of(strides, ndim, "strides"),
            "dilate": sizes_of(dilation, ndim, "dilation"),
            "pad": sizes_of(padding, ndim, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = sizes_of(adj, ndim, "output_padding")
        with self.name_scope():
            shape = self._weight_shape(layout, kernel, groups)
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True) if use_bias else None
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _weight_shape(self, layout: str, kernel: tuple[int, ...], groups: int) -> tuple[int, ...]:
        """Shape of the weight: the data's layout with output channels in place of N, and the input channels of a group in place of C."""
        inner = self._in_channels // groups
        outer, inner = (self._in_channels, self._channels // groups) if "adj" in self._kwargs else (self._channels, inner)
        sizes = iter(kernel)
        return tuple(outer if axis == "N" else inner if axis == "C" else next(sizes) for axis in layout)

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """The output, in the input's layout."""
        function = F.Deconvolution if "adj" in self._kwargs else F.Convolution
        out = function(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        layout, ndim, shape = self._kwargs["layout"], len(self._kwargs["kernel"]), list(self.weight.shape or ())
        given, made = (shape[0], self._channels) if "adj" in self._kwargs else (shape[layout.index("C")], shape[0])
        ends = f"{given or None} -> {made}"
        parts = [ends, f"kernel_size={self._kwargs['kernel']}", f"stride={self._kwargs['stride']}"]
        parts += [f"padding={self._kwargs['pad']}"] if self._kwargs["pad"] != (0,) * ndim else []
        parts += [f"dilation={self._kwargs['dilate']}"] if self._kwargs["dilate"] != (1,) * ndim else []
        parts += [f"groups={self._kwargs['num_group']}"] if self._kwargs["num_group"] != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [str(self.act)] if self.act is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


_PARAMETERS = """

    Parameters
    ----------
    channels
        Number of output channels.
    kernel_size, strides, padding, dilation
        One value per axis, or one for all axes.{adj}
    groups
        Number of groups into which channels are divided; each is convolved separately.
    layout
        Order of the axes: {layouts}.
    activation
        Name of an activation, see `Activation`; None for none.
    use_bias
        Whether to add a bias.
    weight_initializer, bias_initializer
        Initializers of the parameters; None for the model's.
    in_channels
        Number of input channels; inferred in the first forward pass if 0.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the layout is unknown, or the number of sizes differs from that of the axes.
    """
_ADJ = """
    output_padding
        Size added to one end of each output axis."""


def _add_parameter_docs(cls: type[_Conv]) -> type[_Conv]:
    layouts = " or ".join(f'``"{k}"``' for k in cls._layouts)
    cls.__doc__ = (cls.__doc__ or "") + _PARAMETERS.format(layouts=layouts, adj=_ADJ if cls.__name__.endswith("Transpose") else "")
    return cls


@_add_parameter_docs
class Conv1D(_Conv):
    """Convolution over one axis: (n, c, w) to (n, channels, w')."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCW", "NWC")

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            in_channels, activation, use_bias, weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


@_add_parameter_docs
class Conv2D(_Conv):
    """Convolution over two axes: (n, c, h, w) to (n, channels, h', w')."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCHW", "NHWC")

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1),
        padding: Sizes = (0, 0),
        dilation: Sizes = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            in_channels, activation, use_bias, weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


@_add_parameter_docs
class Conv3D(_Conv):
    """Convolution over three axes: (n, c, d, h, w) to (n, channels, d', h', w')."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCDHW", "NDHWC")

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1, 1),
        padding: Sizes = (0, 0, 0),
        dilation: Sizes = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            in_channels, activation, use_bias, weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


@_add_parameter_docs
class Conv1DTranspose(_Conv):
    """Transposed convolution over one axis, which reverses the change of size of `Conv1D`."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCW",)

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            in_channels, activation, use_bias, weight_initializer, bias_initializer, output_padding, **kwargs,
        )  # fmt: skip
        self.outpad = self._kwargs["adj"]


@_add_parameter_docs
class Conv2DTranspose(_Conv):
    """Transposed convolution over two axes, which reverses the change of size of `Conv2D`."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCHW", "NHWC")

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1),
        padding: Sizes = (0, 0),
        output_padding: Sizes = (0, 0),
        dilation: Sizes = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            in_channels, activation, use_bias, weight_initializer, bias_initializer, output_padding, **kwargs,
        )  # fmt: skip
        self.outpad = self._kwargs["adj"]


@_add_parameter_docs
class Conv3DTranspose(_Conv):
    """Transposed convolution over three axes, which reverses the change of size of `Conv3D`."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCDHW", "NDHWC")

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1, 1),
        padding: Sizes = (0, 0, 0),
        output_padding: Sizes = (0, 0, 0),
        dilation: Sizes = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            in_channels, activation, use_bias, weight_initializer, bias_initializer, output_padding, **kwargs,
        )  # fmt: skip
        self.outpad = self._kwargs["adj"]
