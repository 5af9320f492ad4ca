"""VGG with 11 to 19 layers, with and without batch normalization."""

from collections.abc import Sequence
from typing import Unpack

from ....device import CPU, Device
from ....errors import UnboundArgumentError
from ....initializer import Xavier
from ... import nn
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, variant

__all__ = ["VGG", "get_vgg", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn", "vgg_spec"]

#: Numbers of convolutions and of their filters in each of the five stages, by number of layers.
vgg_spec = {
    11: ([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]),
    13: ([2, 2, 2, 2, 2], [64, 128, 256, 512, 512]),
    16: ([2, 2, 3, 3, 3], [64, 128, 256, 512, 512]),
    19: ([2, 2, 4, 4, 4], [64, 128, 256, 512, 512]),
}


class _Options(NetOptions, total=False):
    batch_norm: bool


class VGG(HybridBlock, arrays="any"):
    """Stages of 3x3 convolutions, each halving the image, and three fully connected layers.

    Parameters
    ----------
    layers
        Number of convolutions of each stage.
    filters
        Number of filters of each stage.
    classes
        Number of classes.
    batch_norm
        Whether batch normalization follows each convolution.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition, arXiv:1409.1556.
    """

    def __init__(
        self, layers: Sequence[int], filters: Sequence[int], classes: int = 1000, batch_norm: bool = False, **kwargs: Unpack[Naming]
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = self._make_features(layers, filters, batch_norm)
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal", bias_initializer="zeros"))
                self.features.add(nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, weight_initializer="normal", bias_initializer="zeros")

    def _make_features(self, layers: Sequence[int], filters: Sequence[int], batch_norm: bool) -> nn.HybridSequential:
        """The stages of convolutions."""
        features = nn.HybridSequential(prefix="")
        for count, channels in zip(layers, filters, strict=True):
            for _ in range(count):
                init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                features.add(nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=init, bias_initializer="zeros"))
                if batch_norm:
                    features.add(nn.BatchNorm())
                features.add(nn.Activation("relu"))
            features.add(nn.MaxPool2D(strides=2))
        return features

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


def get_vgg(num_layers: int, pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[_Options]) -> VGG:
    """A `VGG`.

    Parameters
    ----------
    num_layers
        11, 13, 16 or 19.
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
    KeyError
        If the number of layers is another one.
    """
    if num_layers not in vgg_spec:
        raise UnboundArgumentError("get_vgg: no such number of layers", str(num_layers), f"pass one of {list(vgg_spec)}")
    layers, filters = vgg_spec[num_layers]
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return load_pretrained(VGG(layers, filters, **kwargs), name, pretrained, ctx, root)


vgg11, vgg13, vgg16, vgg19 = (variant(get_vgg, f"vgg{layers}", f"`VGG` with {layers} layers", layers) for layers in vgg_spec)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (
    variant(get_vgg, f"vgg{layers}_bn", f"`VGG` with {layers} layers and batch normalization", layers, batch_norm=True)
    for layers in vgg_spec
)
