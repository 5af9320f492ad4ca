"""``gluon.contrib.cnn``: convolutions whose sampling places are displaced by learned offsets."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ...errors import Undefined
from ..hybrid_block import HybridBlock
from ..nn import Activation
from ..nn.convolution import Sizes, sizes_of
from ..parameter import Parameter
from ..parameter_dict import ParameterDict
from ..signatures import Functions, InitializerLike, Operand

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class _Deformable(HybridBlock, arrays="nd"):
    """The base of both layers: a convolution that gives offsets, and the deformable convolution that takes them."""

    #: Values that the first convolution gives for each element of the kernel.
    _offsets_per_element: ClassVar[int]
    #: Whether the parameters of the first convolution come first among all, as in MXNet's files.
    _offsets_first: ClassVar[bool]

    offset_weight: Parameter
    offset_bias: Parameter | None
    deformable_conv_weight: Parameter
    deformable_conv_bias: Parameter | None

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes = (1, 1),
        strides: Sizes = (1, 1),
        padding: Sizes = (0, 0),
        dilation: Sizes = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: InitializerLike = None,
        bias_initializer: InitializerLike = "zeros",
        offset_weight_initializer: InitializerLike = "zeros",
        offset_bias_initializer: InitializerLike = "zeros",
        offset_use_bias: bool = True,
        op_name: str | None = None,
        adj: Sequence[int] | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._channels, self._in_channels, self._op_name = channels, in_channels, op_name
        kind = type(self).__name__
        kernel = sizes_of(kernel_size, 2, f"{kind}: kernel_size", 1)
        shared = {
            "kernel": kernel,
            "stride": sizes_of(strides, 2, f"{kind}: strides", 1),
            "dilate": sizes_of(dilation, 2, f"{kind}: dilation", 1),
            "pad": sizes_of(padding, 2, f"{kind}: padding"),
            "num_group": groups,
            "layout": layout,
        }
        # two offsets, and in the modulated form a weight, for each element of the kernel and each group
        count = kernel[0] * kernel[1] * num_deformable_group
        self._split = 2 * count
        offsets = self._offsets_per_element * count
        self._kwargs_offset: dict[str, Any] = {**shared, "num_filter": offsets, "no_bias": not offset_use_bias, "cudnn_off": True}
        own = {"num_filter": channels, "num_deformable_group": num_deformable_group, "no_bias": not use_bias}
        self._kwargs: dict[str, Any] = {**shared, **own, **({} if adj is None else {"adj": adj})}
        layers = [
            ("offset", (offsets, in_channels // groups, *kernel), offset_weight_initializer, offset_bias_initializer, offset_use_bias),
            ("deformable_conv", (channels, in_channels // groups, *kernel), weight_initializer, bias_initializer, use_bias),
        ]
        with self.name_scope():
            for name, shape, init, bias_init, biased in layers if self._offsets_first else reversed(layers):
                self._add_parameters(name, shape, init, bias_init, biased)
            self.act = None if activation is None else Activation(activation, prefix=f"{activation}_")

    def _add_parameters(self, name: str, shape: tuple[int, ...], init: InitializerLike, bias_init: InitializerLike, biased: bool) -> None:
        setattr(self, f"{name}_weight", self.params.get(f"{name}_weight", shape=shape, init=init, allow_deferred_init=True))
        bias = self.params.get(f"{name}_bias", shape=shape[:1], init=bias_init, allow_deferred_init=True) if biased else None
        setattr(self, f"{name}_bias", bias)

    def hybrid_forward(
        self,
        F: Functions,
        x: Operand,
        offset_weight: Operand,
        deformable_conv_weight: Operand,
        offset_bias: Operand | None = None,
        deformable_conv_bias: Operand | None = None,
    ) -> Operand:
        """The output (n, channels, h', w') for x (n, c, h, w)."""
        offsets = F.Convolution(x, offset_weight, offset_bias, **self._kwargs_offset)
        out = self._convolved(F, x, offsets, deformable_conv_weight, deformable_conv_bias)
        return out if self.act is None else self.act(out)

    def _convolved(self, F: Functions, x: Operand, offsets: Any, weight: Operand, bias: Operand | None) -> Operand:
        raise Undefined(f"{type(self).__name__} has no convolution", None, "define _convolved in it")


class DeformableConvolution(_Deformable, arrays="nd"):
    """A convolution whose kernel is deformed at each place: another convolution of the input gives an offset for each kernel element.

    Parameters
    ----------
    channels
        Number of output channels.
    kernel_size, strides, padding, dilation
        Two sizes, or one for both axes, for both convolutions.
    groups
        Number of groups into which channels are divided.
    num_deformable_group
        Number of groups of input channels with offsets of their own.
    layout
        Order of the axes.
    use_bias, offset_use_bias
        Whether the convolutions have biases.
    in_channels
        Number of input channels; inferred in the first forward pass if 0.
    activation
        Name of an activation, see `Activation`; None for none.
    weight_initializer, bias_initializer, offset_weight_initializer, offset_bias_initializer
        Initializers of the parameters; None for the model's.
    op_name
        Another operator of ``F.contrib`` with the same inputs.
    adj
        A parameter that such an operator may take.
    prefix, params
        See `Block`.

    Notes
    -----
    Dai et al., Deformable convolutional networks, ICCV 2017.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = DeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 2, 5, 5))).shape
    (1, 4, 5, 5)
    """

    _offsets_per_element: ClassVar[int] = 2
    _offsets_first: ClassVar[bool] = True

    def _alias(self) -> str:
        return "deformable_conv"

    def _convolved(self, F: Functions, x: Operand, offsets: Any, weight: Operand, bias: Operand | None) -> Operand:
        function = F.contrib.DeformableConvolution if self._op_name is None else getattr(F.contrib, self._op_name)
        return function(x, offsets, weight, bias, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        given = self._kwargs
        shape = self.deformable_conv_weight._sizes
        parts = [f"{shape[1] or None} -> {shape[0]}", f"kernel_size={given['kernel']}", f"stride={given['stride']}"]
        parts += [f"padding={given['pad']}"] if given["pad"] != (0, 0) else []
        parts += [f"dilation={given['dilate']}"] if given["dilate"] != (1, 1) else []
        parts += [f"groups={given['num_group']}"] if given["num_group"] != 1 else []
        parts += ["bias=False"] if self.deformable_conv_bias is None else []
        parts += [str(self.act)] if self.act is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


class ModulatedDeformableConvolution(_Deformable, arrays="nd"):
    """`DeformableConvolution` whose kernel elements are weighted too, at each place, by factors between 0 and 2; same parameters.

    Notes
    -----
    Zhu et al., Deformable ConvNets v2, CVPR 2019.
    """

    _offsets_per_element: ClassVar[int] = 3
    _offsets_first: ClassVar[bool] = False

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def _convolved(self, F: Functions, x: Operand, offsets: Any, weight: Operand, bias: Operand | None) -> Operand:
        shift = F.slice_axis(offsets, axis=1, begin=0, end=self._split)
        mask = F.sigmoid(F.slice_axis(offsets, axis=1, begin=self._split, end=None)) * 2
        function = F.contrib.ModulatedDeformableConvolution if self._op_name is None else getattr(F.contrib, self._op_name)
        return function(x, shift, mask, weight, bias, name="fwd", **self._kwargs)
