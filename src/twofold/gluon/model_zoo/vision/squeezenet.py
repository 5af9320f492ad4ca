"""SqueezeNet 1.0 and 1.1."""

from typing import Unpack

from ....device import CPU, Device
from ....errors import InvalidValue
from ... import nn
from ...contrib.nn import HybridConcurrent
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, variant

__all__ = ["SqueezeNet", "get_squeezenet", "squeezenet1_0", "squeezenet1_1"]

#: By version: channels and kernel of the first convolution, and the squeezed channels of the modules that follow, 0 for a pooling layer.
_VERSIONS = {
    "1.0": (96, 7, (0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
    "1.1": (64, 3, (0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64)),
}


def _make_fire_conv(channels: int, kernel_size: int, padding: int = 0) -> nn.HybridSequential:
    block = nn.HybridSequential(prefix="")
    block.add(nn.Conv2D(channels, kernel_size, padding=padding), nn.Activation("relu"))
    return block


def _make_fire(squeeze_channels: int, expand1x1_channels: int, expand3x3_channels: int) -> nn.HybridSequential:
    """A fire module: fewer channels by a 1x1 convolution, then more by each of a 1x1 and a 3x3 convolution."""
    expand = HybridConcurrent(axis=1, prefix="")
    squeeze = _make_fire_conv(squeeze_channels, 1)
    expand.add(_make_fire_conv(expand1x1_channels, 1), _make_fire_conv(expand3x3_channels, 3, 1))
    block = nn.HybridSequential(prefix="")
    block.add(squeeze, expand)
    return block


class SqueezeNet(HybridBlock, arrays="any"):
    """Fire modules, with the accuracy of AlexNet and a fiftieth of its parameters.

    Parameters
    ----------
    version
        ``"1.0"`` or ``"1.1"``, which is cheaper.
    classes
        Number of classes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If there is no such version.

    Notes
    -----
    Iandola et al., SqueezeNet, arXiv:1602.07360.
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        if version not in _VERSIONS:
            raise InvalidValue(f"Unsupported SqueezeNet version {version}:1.0 or 1.1 expected", None, "pass one of them as a string")
        channels, kernel, modules = _VERSIONS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu"))
            for squeezed in modules:
                if squeezed:
                    self.features.add(_make_fire(squeezed, 4 * squeezed, 4 * squeezed))
                else:
                    self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The scores (n, classes), which are not negative."""
        return self.output(self.features(x))


def get_squeezenet(
    version: str, pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[NetOptions]
) -> SqueezeNet:
    """A `SqueezeNet`.

    Parameters
    ----------
    version
        ``"1.0"`` or ``"1.1"``.
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
        If there is no such version.
    """
    return load_pretrained(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)


squeezenet1_0, squeezenet1_1 = (
    variant(get_squeezenet, f"squeezenet{version}", f"`SqueezeNet` {version}", version) for version in _VERSIONS
)
