"""Inception, version 3."""

from collections.abc import Sequence
from typing import Unpack

from ....device import CPU, Device
from ... import nn
from ...contrib.nn import HybridConcurrent
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, published

__all__ = ["Inception3", "inception_v3", "make_aux"]

Pair = tuple[int, int]
Pool = type[nn.AvgPool2D] | type[nn.MaxPool2D]
#: Channels, kernel, stride and padding of a convolution.
Convolution = tuple[int, int | Pair, int, int | Pair]


def _convolution(channels: int, kernel: int | Pair, stride: int = 1, padding: int | Pair = 0) -> nn.HybridSequential:
    """A convolution without bias, batch normalization and a rectifier."""
    block = nn.HybridSequential(prefix="")
    block.add(nn.Conv2D(channels, kernel, stride, padding, use_bias=False), nn.BatchNorm(epsilon=0.001), nn.Activation("relu"))
    return block


def _branch(*convolutions: Convolution, pool: HybridBlock | None = None) -> nn.HybridSequential:
    """Convolutions one after another, after an optional pooling layer."""
    block = nn.HybridSequential(prefix="")
    if pool is not None:
        block.add(pool)
    block.add(*(_convolution(*convolution) for convolution in convolutions))
    return block


def _module(name: str, *branches: tuple[Sequence[Convolution], Pool | None]) -> HybridConcurrent:
    """Branches beside each other. Pooling layers keep the size if convolutions follow, and halve it otherwise."""
    module = HybridConcurrent(axis=1, prefix=f"{name}_")
    with module.name_scope():
        for convolutions, pool in branches:
            stride, padding = (1, 1) if convolutions else (2, 0)
            module.add(_branch(*convolutions, pool=None if pool is None else pool(3, stride, padding)))
    return module


def _a(pooled: int, name: str) -> HybridConcurrent:
    return _module(
        name,
        ([(64, 1, 1, 0)], None),
        ([(48, 1, 1, 0), (64, 5, 1, 2)], None),
        ([(64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 1, 1)], None),
        ([(pooled, 1, 1, 0)], nn.AvgPool2D),
    )


def _b(name: str) -> HybridConcurrent:
    return _module(
        name,
        ([(384, 3, 2, 0)], None),
        ([(64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 2, 0)], None),
        ([], nn.MaxPool2D),
    )


def _c(inner: int, name: str) -> HybridConcurrent:
    wide, high = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return _module(
        name,
        ([(192, 1, 1, 0)], None),
        ([(inner, 1, 1, 0), (inner, *wide), (192, *high)], None),
        ([(inner, 1, 1, 0), (inner, *high), (inner, *wide), (inner, *high), (192, *wide)], None),
        ([(192, 1, 1, 0)], nn.AvgPool2D),
    )


def _d(name: str) -> HybridConcurrent:
    return _module(
        name,
        ([(192, 1, 1, 0), (320, 3, 2, 0)], None),
        ([(192, 1, 1, 0), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2, 0)], None),
        ([], nn.MaxPool2D),
    )


def _split(*convolutions: Convolution) -> nn.HybridSequential:
    """Convolutions, followed by a wide and a high one side by side."""
    branch = nn.HybridSequential(prefix="")
    branch.add(_branch(*convolutions))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0))))
    branch.add(both)
    return branch


def _e(name: str) -> HybridConcurrent:
    module = HybridConcurrent(axis=1, prefix=f"{name}_")
    with module.name_scope():
        module.add(_branch((320, 1, 1, 0)), _split((384, 1, 1, 0)), _split((448, 1, 1, 0), (384, 3, 1, 1)))
        module.add(_branch((192, 1, 1, 0), pool=nn.AvgPool2D(pool_size=3, strides=1, padding=1)))
    return module


def make_aux(classes: int) -> nn.HybridSequential:
    """The auxiliary classifier of the paper, for features (n, 768, 17, 17); no network here has it.

    Parameters
    ----------
    classes
        Number of classes.
    """
    out = nn.HybridSequential(prefix="")
    out.add(nn.AvgPool2D(pool_size=5, strides=3), _convolution(128, 1), _convolution(768, 5), nn.Flatten(), nn.Dense(classes))
    return out


class Inception3(HybridBlock, arrays="any"):
    """Modules of convolutions of several sizes beside each other, for images (n, 3, 299, 299).

    Parameters
    ----------
    classes
        Number of classes.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Szegedy et al., Rethinking the Inception architecture for computer vision, CVPR 2016.
    """

    def __init__(self, classes: int = 1000, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(_convolution(32, 3, 2), _convolution(32, 3), _convolution(64, 3, padding=1))
            self.features.add(nn.MaxPool2D(pool_size=3, strides=2), _convolution(80, 1), _convolution(192, 3))
            self.features.add(nn.MaxPool2D(pool_size=3, strides=2))
            self.features.add(_a(32, "A1"), _a(64, "A2"), _a(64, "A3"), _b("B"))
            self.features.add(_c(128, "C1"), _c(160, "C2"), _c(160, "C3"), _c(192, "C4"), _d("D"), _e("E1"), _e("E2"))
            self.features.add(nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The logits (n, classes)."""
        return self.output(self.features(x))


@published("inceptionv3")
def inception_v3(pretrained: bool = False, ctx: Device = CPU, root: Root = MODELS, **kwargs: Unpack[NetOptions]) -> Inception3:
    """An `Inception3`.

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
    return load_pretrained(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)
