"""AlexNet."""

from typing import Unpack

from ....device import CPU, Device
from ... import nn
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, published

__all__ = ["AlexNet", "alexnet"]


class AlexNet(HybridBlock, arrays="any"):
    """Five convolutions and three fully connected layers for images (n, 3, 224, 224).

    Parameters
    ----------
    classes
        Number of classes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Krizhevsky, One weird trick for parallelizing convolutional neural networks, arXiv:1404.5997.
    """

    def __init__(self, classes: int = 1000, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(64, kernel_size=11, strides=4, padding=2, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Conv2D(192, kernel_size=5, padding=2, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Conv2D(384, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Flatten(),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                )
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


@published("alexnet")
def alexnet(pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[NetOptions]) -> AlexNet:
    """An `AlexNet`.

    Parameters
    ----------
    pretrained
        Whether to load trained parameters.
    ctx
        The device of the trained parameters, or a list of devices.
    root
        The folder of their file, see `get_model_file`.
    **kwargs
        Parameters of the class.
    """
    return load_pretrained(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
