"""ResNet, versions 1 and 2, with 18 to 152 layers."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, Unpack

from ....device import CPU, Device
from ....errors import InvalidValue
from ... import nn
from ...hybrid_block import ArrayKind, HybridBlock, Naming
from ...signatures import Functions, Operand, extend_docstring
from ..model_store import MODELS, NetOptions, Root, load_pretrained, variant

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
    "resnet_block_versions",
    "resnet_net_versions",
    "resnet_spec",
]


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=in_channels)


_PARAMETERS = """

    Parameters
    ----------
    channels
        Number of output channels.
    stride
        Stride of the block.
    downsample
        Whether a 1x1 convolution gives the input the shape of the output before it is added.
    in_channels
        Number of input channels; inferred in the first forward pass if 0.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """
_NET_PARAMETERS = """

    Parameters
    ----------
    block
        The class of the blocks.
    layers
        Number of blocks of each stage.
    channels
        Number of channels of the first convolution and of each stage.
    classes
        Number of classes.
    thumbnail
        Whether images are as small as those of CIFAR-10: the first convolution is 3x3, without stride and pooling.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the number of channels is not that of the stages and one more.

    Notes
    -----
    He, Zhang, Ren and Sun, {paper}.
    """

BlockClass = TypeVar("BlockClass", bound=type[HybridBlock])


def _documented(cls: BlockClass) -> BlockClass:
    extend_docstring(cls, _PARAMETERS)
    return cls


class _BlockV1(HybridBlock, arrays="nd"):
    """The base of the blocks of version 1: layers, to whose output the input is added before the last rectifier."""

    #: Whether the sum names the input first: the order of the nodes in MXNet's graphs.
    _input_first: ClassVar[bool] = False

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self._add_layers(channels, stride, in_channels)
        self.downsample: nn.HybridSequential | None = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False, in_channels=in_channels), nn.BatchNorm())

    def _add_layers(self, channels: int, stride: int, in_channels: int) -> None:
        raise InvalidValue(f"{type(self).__name__} has no layers", None, "define _add_layers in it")

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, channels, h / stride, w / stride)."""
        out, shortcut = self.body(x), x if self.downsample is None else self.downsample(x)
        return F.Activation(shortcut + out if self._input_first else out + shortcut, act_type="relu")


@_documented
class BasicBlockV1(_BlockV1, arrays="nd"):
    """Two 3x3 convolutions, each followed by batch normalization."""

    _input_first: ClassVar[bool] = True

    def _add_layers(self, channels: int, stride: int, in_channels: int) -> None:
        self.body.add(_conv3x3(channels, stride, in_channels), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(channels, 1, channels), nn.BatchNorm())


@_documented
class BottleneckV1(_BlockV1, arrays="nd"):
    """A 3x3 convolution of a quarter of the channels between two 1x1 convolutions."""

    def _add_layers(self, channels: int, stride: int, in_channels: int) -> None:
        inner = channels // 4
        # The 1x1 convolutions have biases, which batch normalization cancels: the published files contain them.
        self.body.add(nn.Conv2D(inner, kernel_size=1, strides=stride), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(inner, 1, inner), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, kernel_size=1, strides=1), nn.BatchNorm())


class _BlockV2(HybridBlock, arrays="nd"):
    """The base of the blocks of version 2: each convolution follows batch normalization and a rectifier."""

    #: Number of convolutions.
    _depth: ClassVar[int]

    def _add_downsample(self, channels: int, stride: int, in_channels: int, wanted: bool) -> None:
        self.downsample: nn.Conv2D | None = None
        if wanted:
            self.downsample = nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, channels, h / stride, w / stride)."""
        out: Any = x
        residual: Any = x
        for k in range(1, self._depth + 1):
            out = F.Activation(getattr(self, f"bn{k}")(out), act_type="relu")
            if k == 1 and self.downsample is not None:
                residual = self.downsample(out)
            out = getattr(self, f"conv{k}")(out)
        return out + residual


@_documented
class BasicBlockV2(_BlockV2, arrays="nd"):
    """Two 3x3 convolutions, each after batch normalization and a rectifier."""

    _depth: ClassVar[int] = 2

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self._add_downsample(channels, stride, in_channels, downsample)


@_documented
class BottleneckV2(_BlockV2, arrays="nd"):
    """A 3x3 convolution of a quarter of the channels between two 1x1 convolutions, each after batch normalization."""

    _depth: ClassVar[int] = 3

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        inner = channels // 4
        self.bn1 = nn.BatchNorm()
        self.conv1 = nn.Conv2D(inner, kernel_size=1, strides=1, use_bias=False)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(inner, stride, inner)
        self.bn3 = nn.BatchNorm()
        self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False)
        self._add_downsample(channels, stride, in_channels, downsample)


class _Options(NetOptions, total=False):
    thumbnail: bool


class _ResNet(HybridBlock, arrays="any"):
    """The base of both versions."""

    def __init_subclass__(cls, paper: str = "", **options: ArrayKind) -> None:
        super().__init_subclass__(**options)
        if paper:
            extend_docstring(cls, _NET_PARAMETERS, paper=paper)

    def __init__(
        self,
        block: Callable[..., HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(channels) - 1:
            given = f"{len(layers)} stages and {len(channels)} numbers of channels"
            raise InvalidValue(f"{type(self).__name__}: layers and channels do not match", given, "pass one more number of channels")
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_first(channels[0], thumbnail)
            for k, count in enumerate(layers):
                self.features.add(self._make_layer(block, count, channels[k + 1], 1 if k == 0 else 2, k + 1, in_channels=channels[k]))
            self._add_last()
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _add_first(self, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            # small images keep their size here
            self.features.add(_conv3x3(channels, 1, 0))
        else:
            self.features.add(nn.Conv2D(channels, 7, 2, 3, use_bias=False))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))

    def _make_layer(
        self, block: Callable[..., HybridBlock], layers: int, channels: int, stride: int, stage_index: int, in_channels: int = 0
    ) -> nn.HybridSequential:
        """A stage: blocks of which the first has the stride."""
        stage = nn.HybridSequential(prefix=f"stage{stage_index}_")
        with stage.name_scope():
            # only the first block of a stage changes the size or the number of channels
            stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
            for _ in range(layers - 1):
                stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return stage

    def _add_last(self) -> None:
        self.features.add(nn.GlobalAvgPool2D())

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


class ResNetV1(_ResNet, arrays="any", paper="Deep residual learning for image recognition, CVPR 2016"):
    """Stages of blocks to whose output their input is added."""


class ResNetV2(_ResNet, arrays="any", paper="Identity mappings in deep residual networks, ECCV 2016"):
    """`ResNetV1` with batch normalization and rectifiers before the convolutions, and nothing after the sums."""

    def _add_first(self, channels: int, thumbnail: bool) -> None:
        self.features.add(nn.BatchNorm(scale=False, center=False))
        super()._add_first(channels, thumbnail)

    def _add_last(self) -> None:
        self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())


#: Kind of blocks, number of blocks of each stage, and numbers of channels, by number of layers.
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}
#: The networks, version 1 first.
resnet_net_versions: list[type[_ResNet]] = [ResNetV1, ResNetV2]
#: The blocks by kind, those of version 1 first.
resnet_block_versions: list[dict[str, type[HybridBlock]]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[_Options]
) -> _ResNet:
    """A `ResNetV1` or `ResNetV2`.

    Parameters
    ----------
    version
        1 or 2.
    num_layers
        18, 34, 50, 101 or 152.
    pretrained
        Whether to load trained parameters.
    ctx
        The device of the trained parameters, or a list of devices.
    root
        The folder of their file, see `get_model_file`.
    **kwargs
        Parameters of the class.

    Raises
    ------
    ParameterError
        If there is no such version or number of layers.

    Examples
    --------
    >>> import twofold as mx
    >>> net = get_resnet(1, 18, classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.ones((2, 3, 32, 32))).shape
    (2, 10)
    """
    if num_layers not in resnet_spec:
        raise InvalidValue(f"Invalid number of layers: {num_layers}. Options are {list(resnet_spec)}", None, "pass one of them")
    if version not in (1, 2):
        raise InvalidValue(f"Invalid resnet version: {version}. Options are 1 and 2.", None, "pass one of them")
    kind, layers, channels = resnet_spec[num_layers]
    net = resnet_net_versions[version - 1](resnet_block_versions[version - 1][kind], layers, channels, **kwargs)
    return load_pretrained(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


resnet18_v1, resnet34_v1, resnet50_v1, resnet101_v1, resnet152_v1 = (
    variant(get_resnet, f"resnet{layers}_v1", f"`ResNetV1` with {layers} layers", 1, layers) for layers in resnet_spec
)
resnet18_v2, resnet34_v2, resnet50_v2, resnet101_v2, resnet152_v2 = (
    variant(get_resnet, f"resnet{layers}_v2", f"`ResNetV2` with {layers} layers", 2, layers) for layers in resnet_spec
)
