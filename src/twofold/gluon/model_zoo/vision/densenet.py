"""DenseNet with 121 to 201 layers."""

from collections.abc import Sequence
from typing import Unpack

from ....device import CPU, Device
from ....errors import UnboundArgumentError
from ... import nn
from ...contrib.nn import HybridConcurrent, Identity
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, variant

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201", "densenet_spec", "get_densenet"]

#: Initial channels, growth rate and layers of each block, by number of layers.
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def _make_dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """New channels computed from all earlier ones, which stay beside them."""
    new = nn.HybridSequential(prefix="")
    for channels, kernel in ((bn_size * growth_rate, 1), (growth_rate, 3)):
        new.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(channels, kernel, padding=kernel // 2, use_bias=False))
    if dropout:
        new.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), new)
    return both


def _make_dense_block(num_layers: int, bn_size: int, growth_rate: int, dropout: float, stage_index: int) -> nn.HybridSequential:
    block = nn.HybridSequential(prefix=f"stage{stage_index}_")
    with block.name_scope():
        for _ in range(num_layers):
            block.add(_make_dense_layer(growth_rate, bn_size, dropout))
    return block


def _make_transition(num_output_features: int) -> nn.HybridSequential:
    """Between two blocks: fewer channels, and half the height and width."""
    block = nn.HybridSequential(prefix="")
    block.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(num_output_features, kernel_size=1, use_bias=False))
    block.add(nn.AvgPool2D(2, strides=2))
    return block


class _Options(NetOptions, total=False):
    bn_size: int
    dropout: float


class DenseNet(HybridBlock, arrays="any"):
    """Blocks of layers, for images (n, 3, 224, 224). The input of a layer is the outputs of all earlier layers of its block.

    Parameters
    ----------
    num_init_features
        Channels of the first convolution.
    growth_rate
        Channels that each layer adds.
    block_config
        Number of layers of each block.
    bn_size
        Channels of a layer's 1x1 convolution, in growth rates.
    dropout
        Fraction of each layer's output to drop in training.
    classes
        Number of classes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Huang, Liu, van der Maaten and Weinberger, Densely connected convolutional networks, CVPR 2017.
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(pool_size=3, strides=2, padding=1))
            channels = num_init_features
            for k, layers in enumerate(block_config):
                self.features.add(_make_dense_block(layers, bn_size, growth_rate, dropout, k + 1))
                # each layer of a block adds its channels to those of all before it
                channels += layers * growth_rate
                if k < len(block_config) - 1:
                    channels //= 2
                    self.features.add(_make_transition(channels))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


def get_densenet(num_layers: int, pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[_Options]) -> DenseNet:
    """A `DenseNet`.

    Parameters
    ----------
    num_layers
        121, 161, 169 or 201.
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
    if num_layers not in densenet_spec:
        raise UnboundArgumentError("get_densenet: no such number of layers", str(num_layers), f"pass one of {list(densenet_spec)}")
    return load_pretrained(DenseNet(*densenet_spec[num_layers], **kwargs), f"densenet{num_layers}", pretrained, ctx, root)


densenet121, densenet161, densenet169, densenet201 = (
    variant(get_densenet, f"densenet{layers}", f"`DenseNet` with {layers} layers", layers) for layers in densenet_spec
)
