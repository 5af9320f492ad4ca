"""MobileNet, versions 1 and 2, in four widths."""

from typing import Unpack

from ....device import CPU, Device
from ... import nn
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, variant

__all__ = [
    "RELU6",
    "LinearBottleneck",
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]

#: Version 1: output channels and stride of each pair of a depthwise and a 1x1 convolution.
_PAIRS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
#: Version 2: expansion, output channels, number and first stride of each group of bottlenecks.
_GROUPS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


class RELU6(HybridBlock, arrays="nd"):
    """``min(max(x, 0), 6)``.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output, with the shape of x."""
        return F.clip(x, 0, 6, name="relu6")


def _add_conv(
    out: nn.HybridSequential,
    channels: int = 1,
    kernel: int = 1,
    stride: int = 1,
    pad: int = 0,
    num_group: int = 1,
    active: bool = True,
    relu6: bool = False,
) -> None:
    """Add a convolution without bias, batch normalization and an activation."""
    out.add(nn.Conv2D(channels, kernel, stride, pad, groups=num_group, use_bias=False), nn.BatchNorm(scale=True))
    if active:
        out.add(RELU6() if relu6 else nn.Activation("relu"))


def _add_conv_dw(out: nn.HybridSequential, dw_channels: int, channels: int, stride: int, relu6: bool = False) -> None:
    """Add a depthwise 3x3 convolution and a 1x1 convolution."""
    # depthwise: a group for each channel
    _add_conv(out, dw_channels, 3, stride, 1, num_group=dw_channels, relu6=relu6)
    _add_conv(out, channels, relu6=relu6)


class LinearBottleneck(HybridBlock, arrays="nd"):
    """More channels by a 1x1 convolution, a depthwise 3x3 convolution, and fewer channels without an activation after them.

    Parameters
    ----------
    in_channels, channels
        Number of channels of the input and of the output.
    t
        The expansion: how many times as many channels there are in between.
    stride
        Stride of the depthwise convolution. If it is 1 and the numbers of channels are equal, the input is added to the output.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        with self.name_scope():
            self.out = nn.HybridSequential()
            _add_conv(self.out, in_channels * t, relu6=True)
            _add_conv(self.out, in_channels * t, kernel=3, stride=stride, pad=1, num_group=in_channels * t, relu6=True)
            _add_conv(self.out, channels, active=False)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, channels, h / stride, w / stride)."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(HybridBlock, arrays="any"):
    """Pairs of a depthwise 3x3 convolution and a 1x1 convolution.

    Parameters
    ----------
    multiplier
        The width: a factor of all numbers of channels.
    classes
        Number of classes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Howard et al., MobileNets, arXiv:1704.04861.
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, kernel=3, stride=2, pad=1)
                for wanted, stride in _PAIRS:
                    incoming, channels = channels, int(wanted * multiplier)
                    _add_conv_dw(self.features, incoming, channels, stride)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


class MobileNetV2(HybridBlock, arrays="any"):
    """A sequence of `LinearBottleneck`.

    Parameters
    ----------
    multiplier
        The width: a factor of the numbers of channels.
    classes
        Number of classes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Sandler et al., MobileNetV2: Inverted residuals and linear bottlenecks, CVPR 2018.
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, kernel=3, stride=2, pad=1, relu6=True)
                for expansion, wanted, count, first_stride in _GROUPS:
                    for k in range(count):
                        incoming, channels = channels, int(wanted * multiplier)
                        # the first bottleneck of a group has its stride
                        self.features.add(LinearBottleneck(incoming, channels, expansion, first_stride if k == 0 else 1))
                _add_conv(self.features, int(1280 * max(multiplier, 1.0)), relu6=True)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


def _width(multiplier: float) -> str:
    """A width in the names of files: 1.0, 0.75, 0.5, 0.25."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float, pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[NetOptions]
) -> MobileNet:
    """A `MobileNet`.

    Parameters
    ----------
    multiplier
        The width; there are trained parameters for 0.25, 0.5, 0.75 and 1.0.
    pretrained
        Whether to load trained parameters.
    ctx
        The device of the trained parameters, or a list of devices.
    root
        The folder of their file, see `get_model_file`.
    **kwargs
        Parameters of the class.
    """
    return load_pretrained(MobileNet(multiplier, **kwargs), f"mobilenet{_width(multiplier)}", pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float, pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[NetOptions]
) -> MobileNetV2:
    """A `MobileNetV2`; takes the parameters of `get_mobilenet`."""
    return load_pretrained(MobileNetV2(multiplier, **kwargs), f"mobilenetv2_{_width(multiplier)}", pretrained, ctx, root)


_WIDTHS = {multiplier: _width(multiplier) for multiplier in (1.0, 0.75, 0.5, 0.25)}
mobilenet1_0, mobilenet0_75, mobilenet0_5, mobilenet0_25 = (
    variant(get_mobilenet, f"mobilenet{text}", f"`MobileNet` of width {text}", width) for width, text in _WIDTHS.items()
)
mobilenet_v2_1_0, mobilenet_v2_0_75, mobilenet_v2_0_5, mobilenet_v2_0_25 = (
    variant(get_mobilenet_v2, f"mobilenetv2_{text}", f"`MobileNetV2` of width {text}", width, name=f"mobilenet_v2_{text.replace('.', '_')}")
    for width, text in _WIDTHS.items()
)
