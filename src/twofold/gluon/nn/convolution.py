"""Convolutions and transposed convolutions over one to three axes."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np

from ...errors import InvalidValue, ParameterError
from ...ops.convolution import convolution, deconvolution
from ..hybrid_block import ArrayKind, Mistake, Naming, Shape
from ..layer import Layer
from ..parameter_dict import ParameterDict
from ..signatures import Functions, InitializerLike, Operand, extend_docstring
from ..wrong_inputs import check_positive, check_sizes
from .activations import Activation

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "DepthwiseSeparableConv2D"]

Sizes = int | Sequence[int]


def sizes_of(given: Sizes, ndim: int, what: str, least: int | None = None) -> tuple[int, ...]:
    """One size per axis.

    Parameters
    ----------
    given
        The argument.
    ndim
        The number of axes.
    what
        The layer and the name of the argument, for the error.
    least
        The least value, if there is one.

    Raises
    ------
    ParameterError
        If it is neither a number nor a sequence of ``ndim`` numbers, or too small.
    """
    given_sizes: Any = (given,) * ndim if isinstance(given, (int, np.integer)) else given
    sizes = tuple(given_sizes) if isinstance(given_sizes, Iterable) else ()
    if len(sizes) != ndim or not all(isinstance(n, (int, np.integer)) for n in sizes):
        # Keras's and torch's names of a padding
        known = {"same": ": kernel_size // 2 keeps the sizes, for odd kernels and strides of 1", "valid": ": 0 is none"}
        todo = f"pass {ndim} numbers{known.get(given, '') if isinstance(given, str) else ''}"
        raise InvalidValue(f"{what} must be a number or a list of {ndim} ints", repr(given), todo)
    if least is not None and min(sizes) < least:
        raise InvalidValue(f"{what} must be {least} or more", repr(given), "pass positive integers")
    return tuple(map(int, sizes))


def layouts_for_docs(layouts: tuple[str, ...]) -> str:
    """The layouts that a layer supports, for its docstring."""
    first, *others = (f'``"{layout}"``' for layout in layouts)
    return " or ".join([f"{first} (if None)", *others])


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


class _Conv(Layer, arrays="nd"):
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

    #: Supported layouts, the default first; an empty tuple allows any.
    _layouts: ClassVar[tuple[str, ...]] = ()
    _parameters: ClassVar[str] = _PARAMETERS.format(adj="", layouts="{layouts}")

    def __init_subclass__(cls, layouts: tuple[str, ...] = (), **options: ArrayKind) -> None:
        super().__init_subclass__(**options)
        if layouts:
            cls._layouts = layouts
            extend_docstring(cls, cls._parameters, layouts=layouts_for_docs(layouts))

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
        layout: str | None,
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
        layout = self._checked_layout(layout)
        super().__init__(prefix=prefix, params=params)
        check_positive(self, channels=channels, groups=groups)
        check_sizes(self, unknown=-1, in_channels=in_channels)
        self._ndim, kind = len(layout) - 2, type(self).__name__
        kernel = sizes_of(kernel_size, self._ndim, f"{kind}: kernel_size", 1)
        # before the weight's shape is computed from them
        self._channels, self._in_channels, self._op_name = channels, max(in_channels, 0), op_name
        self._check_groups(groups)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": sizes_of(strides, self._ndim, f"{kind}: strides", 1),
            "dilate": sizes_of(dilation, self._ndim, f"{kind}: dilation", 1),
            "pad": sizes_of(padding, self._ndim, f"{kind}: padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = sizes_of(adj, self._ndim, f"{kind}: output_padding")
        with self.name_scope():
            shape = self._weight_shape(layout, kernel, groups)
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True) if use_bias else None
            # An explicit prefix, as MXNet's names of these nodes have no counter: conv0_relu_fwd.
            self.act = None if activation is None else Activation(activation, prefix=f"{activation}_")

    def _checked_layout(self, layout: str | None) -> str:
        """A layout that the class supports; the first of them for None."""
        layout = self._layouts[0] if layout is None else layout
        if self._layouts and layout not in self._layouts:
            allowed = " and ".join(f"'{k}'" for k in self._layouts)
            raise InvalidValue(f"{type(self).__name__}: Only supports {allowed} layout for now", repr(layout), "transpose the data")
        return layout

    def _check_groups(self, groups: int) -> None:
        sizes = {"channels": self._channels, "in_channels": self._in_channels}
        for name, n in sizes.items():
            if n % groups:
                raise ParameterError(
                    f"{type(self).__name__}: groups must divide {name}", f"groups {groups}, {name} {n}", "pass a divisor as groups"
                )

    @property
    def _is_transposed(self) -> bool:
        return self._op_name == deconvolution.title

    def _weight_shape(self, layout: str, kernel: tuple[int, ...], groups: int) -> tuple[int, ...]:
        """Shape of the weight: the data's layout with output channels in place of N, and the input channels of a group in place of C."""
        outer, inner = self._channels, self._in_channels // groups
        if self._is_transposed:  # the weight of the convolution that it reverses: the output of that convolution is the input here
            outer, inner = self._in_channels, self._channels // groups
        # the axes other than N and C are spatial, in the kernel's order, wherever the layout has them
        sizes = iter(kernel)
        return tuple(outer if axis == "N" else inner if axis == "C" else next(sizes) for axis in layout)

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Functions, x: Operand, weight: Operand, bias: Operand | None = None) -> Operand:
        """The output, in the input's layout."""
        # `fwd` is the suffix of MXNet's nodes, after the block's prefix
        out = getattr(F, self._op_name)(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        if len(shapes) != 1:
            return "a layer takes one input", f"{len(shapes)} arrays", "pass one array"
        (shape,), layout = shapes, self._kwargs["layout"]
        if len(shape) != len(layout):
            todo = "add the batch axis with expand_dims(axis=0)" if len(shape) == len(layout) - 1 else "reshape it"
            return f"the input has {len(shape)} axes instead of {len(layout)}", f"an input of shape {shape}", f"pass {layout}: {todo}"
        given, channels = shape[layout.index("C")], self._channels_of_input(self.weight._sizes)
        if not channels or given == channels:
            return self._window_mistake(shape, given)
        what = f"the input has {given} channels instead of {channels}"
        return what, f"an input of shape {shape}", f"pass images of {channels} channels as {layout}, or make another layer for this input"

    def _window_mistake(self, shape: Shape, channels: int) -> Mistake | None:
        """What is wrong with a kernel that is larger than its input."""
        layout, options = self._kwargs["layout"], self._kwargs
        tail = [n for n, axis in zip(shape, layout, strict=True) if axis not in "NC"]
        sizes = [n + 2 * pad for n, pad in zip(tail, options["pad"], strict=True)]
        spans = [(k - 1) * d + 1 for k, d in zip(options["kernel"], options["dilate"], strict=True)]
        if self._is_transposed or all(n >= k for n, k in zip(sizes, spans, strict=True)):
            return None
        todo = "pass a smaller kernel_size, or pad the input"
        if layout.index("C") == 1 and shape[-1] in (1, 3, 4) and min(shape[1:-1]) > 4:  # as images are read and shown
            todo = f"the layout is {layout}: move the channels of the input in front with transpose"
        if channels == self._channels:
            todo += f"; {type(self).__name__} takes channels, kernel_size, strides: the channels of its input are inferred"
        return "the kernel is larger than the padded input", f"kernel_size {options['kernel']}, an input of shape {shape}", todo

    def _channels_of_input(self, shape: Sequence[int]) -> int:
        """The number of input channels, given the shape of the weight; 0 if it is not known yet."""
        return shape[0] if self._is_transposed else shape[self._kwargs["layout"].index("C")] * self._kwargs["num_group"]

    def __repr__(self) -> str:
        shape = self.weight._sizes
        # Input channels come from the weight, where shape inference has filled them in. The weight has those of one group.
        ends = (shape[0], self._channels) if self._is_transposed else (shape[self._kwargs["layout"].index("C")], shape[0])
        parts = [f"{ends[0] or None} -> {ends[1]}", f"kernel_size={self._kwargs['kernel']}", f"stride={self._kwargs['stride']}"]
        # only values that differ from the defaults, as MXNet prints them
        parts += [f"padding={self._kwargs['pad']}"] if self._kwargs["pad"] != (0,) * self._ndim else []
        parts += [f"dilation={self._kwargs['dilate']}"] if self._kwargs["dilate"] != (1,) * self._ndim else []
        parts += [f"groups={self._kwargs['num_group']}"] if self._kwargs["num_group"] != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [str(self.act)] if self.act is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


class _ConvLayer(_Conv):
    """The base of `Conv1D`, `Conv2D` and `Conv3D`.

    Parameters
    ----------
    layout
        Order of the axes; the first of the class's layouts if None.
    """

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

    _parameters: ClassVar[str] = _PARAMETERS.format(adj=_ADJ, layouts="{layouts}")

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
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, deconvolution.title, output_padding, prefix, params,
        )  # fmt: skip
        self.outpad = self._kwargs["adj"]


class Conv1D(_ConvLayer, layouts=("NCW", "NWC")):
    """Convolution over one axis: (n, c, w) to (n, channels, w')."""


class Conv2D(_ConvLayer, layouts=("NCHW", "NHWC")):
    """Convolution over two axes: (n, c, h, w) to (n, channels, h', w')."""


class Conv3D(_ConvLayer, layouts=("NCDHW", "NDHWC")):
    """Convolution over three axes: (n, c, d, h, w) to (n, channels, d', h', w')."""


class Conv1DTranspose(_ConvTranspose, layouts=("NCW",)):
    """Transposed convolution over one axis, which reverses the change of size of `Conv1D`."""


class Conv2DTranspose(_ConvTranspose, layouts=("NCHW", "NHWC")):
    """Transposed convolution over two axes, which reverses the change of size of `Conv2D`."""


class Conv3DTranspose(_ConvTranspose, layouts=("NCDHW", "NDHWC")):
    """Transposed convolution over three axes, which reverses the change of size of `Conv3D`."""


class DepthwiseSeparableConv2D(Layer, arrays="nd"):
    """A convolution of each channel by itself, then one of all channels at each place: (n, c, h, w) to (n, channels, h', w').

    Parameters
    ----------
    channels
        Number of channels of the result.
    in_channels
        Number of channels of the input.
    kernel_size, strides, padding, dilation
        Of the first convolution, as for `Conv2D`.
    use_bias
        Whether both have a bias.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Chollet, Xception: deep learning with depthwise separable convolutions, CVPR 2017.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.DepthwiseSeparableConv2D(8, in_channels=3, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 8, 4, 4)
    """

    def __init__(
        self,
        channels: int,
        in_channels: int,
        kernel_size: int | Sequence[int] = 3,
        strides: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        use_bias: bool = True,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.depthwise = Conv2D(
                in_channels,
                kernel_size,
                strides,
                padding,
                dilation,
                groups=in_channels,
                in_channels=in_channels,
                use_bias=use_bias,
                prefix="depthwise_",
            )
            self.pointwise = Conv2D(channels, 1, in_channels=in_channels, use_bias=use_bias, prefix="pointwise_")

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, channels, h', w')."""
        return self.pointwise(self.depthwise(x))
