"""Convolutions and transposed convolutions over one to three axes."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from ...errors import InvalidValue
from ...ops.convolution import convolution, deconvolution
from ..hybrid_block import HybridBlock
from ..parameter_dict import ParameterDict
from ..signatures import Functions, InitializerLike, Operand
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


def layouts_for_docs(layouts: tuple[str, ...]) -> str:
    """The layouts that a layer supports, for its docstring."""
    first, *others = (f'``"{layout}"``' for layout in layouts)
    return " or ".join([f"{first} (if None)", *others])


class _Conv(HybridBlock, arrays="nd"):
    """The base of all convolutions, from which scripts derive layers of their own. Sizes are one value per axis, or one for all axes.

    Parameters
    ----------
    layout
        Order of the axes, such as ``"NCHW"``.
    op_name
        The operator: ``"Convolution"``, or ``"Deconvolution"`` for transposed convolutions.
    adj
        Of transposed convolutions: sizes added to one end of each output axis.
    """

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
        weight_initializer: InitializerLike = None,
        bias_initializer: InitializerLike = "zeros",
        op_name: str = convolution.title,
        adj: Sizes | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._ndim = len(layout) - 2
        kernel = sizes_of(kernel_size, self._ndim, "kernel_size")
        self._channels, self._in_channels, self._op_name = channels, in_channels, op_name
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": sizes_of(strides, self._ndim, "strides"),
            "dilate": sizes_of(dilation, self._ndim, "dilation"),
            "pad": sizes_of(padding, self._ndim, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = sizes_of(adj, self._ndim, "output_padding")
        with self.name_scope():
            shape = self._weight_shape(layout, kernel, groups)
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True) if use_bias else None
            # An explicit prefix, as MXNet's names of these nodes have no counter: conv0_relu_fwd.
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    @property
    def _is_transposed(self) -> bool:
        return self._op_name == deconvolution.title

    def _weight_shape(self, layout: str, kernel: tuple[int, ...], groups: int) -> tuple[int, ...]:
        """Shape of the weight: the data's layout with output channels in place of N, and the input channels of a group in place of C."""
        outer, inner = self._channels, self._in_channels // groups
        if self._is_transposed:  # the weight of the convolution that it reverses, whose output is this one's input
            outer, inner = self._in_channels, self._channels // groups
        sizes = iter(kernel)
        return tuple(outer if axis == "N" else inner if axis == "C" else next(sizes) for axis in layout)

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Functions, x: Operand, weight: Operand, bias: Operand | None = None) -> Operand:
        """The output, in the input's layout."""
        out = getattr(F, self._op_name)(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        shape = self.weight._sizes
        # Input channels come from the weight, where shape inference has filled them in; there they are those of one group.
        ends = (shape[0], self._channels) if self._is_transposed else (shape[self._kwargs["layout"].index("C")], shape[0])
        parts = [f"{ends[0] or None} -> {ends[1]}", f"kernel_size={self._kwargs['kernel']}", f"stride={self._kwargs['stride']}"]
        parts += [f"padding={self._kwargs['pad']}"] if self._kwargs["pad"] != (0,) * self._ndim else []
        parts += [f"dilation={self._kwargs['dilate']}"] if self._kwargs["dilate"] != (1,) * self._ndim else []
        parts += [f"groups={self._kwargs['num_group']}"] if self._kwargs["num_group"] != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [str(self.act)] if self.act is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


def checked_layout(cls: "type[_ConvLayer | _ConvTranspose]", layout: str | None) -> str:
    """A layout that a class supports; the first of them for None.

    Raises
    ------
    ParameterError
        If the class does not support it.
    """
    layout = cls._layouts[0] if layout is None else layout
    if layout not in cls._layouts:
        allowed = " and ".join(f"'{k}'" for k in cls._layouts)
        raise InvalidValue(f"{cls.__name__}: Only supports {allowed} layout for now", repr(layout), "transpose the data")
    return layout


class _ConvLayer(_Conv):
    """The base of `Conv1D`, `Conv2D` and `Conv3D`.

    Parameters
    ----------
    layout
        Order of the axes; the first of the class's layouts if None.
    """

    #: Supported layouts, the default first.
    _layouts: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: InitializerLike = None,
        bias_initializer: InitializerLike = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        layout = checked_layout(type(self), layout)
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, in_channels,
            activation, use_bias, weight_initializer, bias_initializer, prefix=prefix, params=params,
        )  # fmt: skip


class _ConvTranspose(_Conv):
    """The base of transposed convolutions, whose parameters have an additional one in fifth place.

    Parameters
    ----------
    output_padding
        Size added to one end of each output axis.
    layout
        Order of the axes; the first of the class's layouts if None.
    """

    _layouts: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: InitializerLike = None,
        bias_initializer: InitializerLike = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        layout = checked_layout(type(self), layout)
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, deconvolution.title, output_padding, prefix, params,
        )  # fmt: skip
        self.outpad = self._kwargs["adj"]


ConvClass = TypeVar("ConvClass", bound="type[_ConvLayer] | type[_ConvTranspose]")
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


def _add_parameter_docs(cls: ConvClass) -> ConvClass:
    adj = _ADJ if issubclass(cls, _ConvTranspose) else ""
    cls.__doc__ = (cls.__doc__ or "") + _PARAMETERS.format(layouts=layouts_for_docs(cls._layouts), adj=adj)
    return cls


@_add_parameter_docs
class Conv1D(_ConvLayer):
    """Convolution over one axis: (n, c, w) to (n, channels, w')."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCW", "NWC")


@_add_parameter_docs
class Conv2D(_ConvLayer):
    """Convolution over two axes: (n, c, h, w) to (n, channels, h', w')."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCHW", "NHWC")


@_add_parameter_docs
class Conv3D(_ConvLayer):
    """Convolution over three axes: (n, c, d, h, w) to (n, channels, d', h', w')."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCDHW", "NDHWC")


@_add_parameter_docs
class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution over one axis, which reverses the change of size of `Conv1D`."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCW",)


@_add_parameter_docs
class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution over two axes, which reverses the change of size of `Conv2D`."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCHW", "NHWC")


@_add_parameter_docs
class Conv3DTranspose(_ConvTranspose):
    """Transposed convolution over three axes, which reverses the change of size of `Conv3D`."""

    _layouts: ClassVar[tuple[str, ...]] = ("NCDHW", "NDHWC")
