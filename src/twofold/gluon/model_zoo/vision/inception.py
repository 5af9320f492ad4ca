"""Inception, version 3."""

from collections.abc import Sequence
from typing import Any, Unpack

from ....device import CPU, Device
from ... import nn
from ...contrib.nn import HybridConcurrent
from ...hybrid_block import HybridBlock, Naming
from ...signatures import Functions, Operand
from ..model_store import MODELS, NetOptions, Root, load_pretrained, published

__all__ = ["Inception3", "inception_v3", "make_aux"]

Pair = tuple[int, int]
#: Channels, kernel, stride and padding of a convolution; None for the layer's default.
Setting = tuple[int | Pair | None, ...]
#: The pooling layer of a branch, and the convolutions after it.
Branch = tuple[str | None, Sequence[Setting]]


def _make_basic_conv(**kwargs: Any) -> nn.HybridSequential:
    """A convolution without bias, batch normalization and a rectifier; takes the parameters of `nn.Conv2D`."""
    block = nn.HybridSequential(prefix="")
    block.add(nn.Conv2D(use_bias=False, **kwargs), nn.BatchNorm(epsilon=0.001), nn.Activation("relu"))
    return block


def _named(setting: Setting) -> dict[str, int | Pair]:
    names = ("channels", "kernel_size", "strides", "padding")
    return {name: value for name, value in zip(names, setting, strict=False) if value is not None}


def _make_branch(use_pool: str | None, *conv_settings: Setting) -> nn.HybridSequential:
    """Convolutions one after another, after a pooling layer: "avg", which keeps the size, "max", which halves it, or None."""
    block = nn.HybridSequential(prefix="")
    if use_pool == "avg":
        block.add(nn.AvgPool2D(pool_size=3, strides=1, padding=1))
    elif use_pool == "max":
        block.add(nn.MaxPool2D(pool_size=3, strides=2))
    block.add(*(_make_basic_conv(**_named(setting)) for setting in conv_settings))
    return block


def _module(prefix: str, *branches: Branch) -> HybridConcurrent:
    """Branches beside each other."""
    module = HybridConcurrent(axis=1, prefix=prefix)
    with module.name_scope():
        for pool, settings in branches:
            module.add(_make_branch(pool, *settings))
    return module


def _make_A(pool_features: int, prefix: str) -> HybridConcurrent:
    return _module(
        prefix,
        (None, [(64, 1)]),
        (None, [(48, 1), (64, 5, 1, 2)]),
        (None, [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)]),
        ("avg", [(pool_features, 1)]),
    )


def _make_B(prefix: str) -> HybridConcurrent:
    return _module(
        prefix,
        (None, [(384, 3, 2)]),
        (None, [(64, 1), (96, 3, 1, 1), (96, 3, 2)]),
        ("max", []),
    )


def _make_C(channels_7x7: int, prefix: str) -> HybridConcurrent:
    inner, wide, high = channels_7x7, ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return _module(
        prefix,
        (None, [(192, 1)]),
        (None, [(inner, 1), (inner, *wide), (192, *high)]),
        (None, [(inner, 1), (inner, *high), (inner, *wide), (inner, *high), (192, *wide)]),
        ("avg", [(192, 1)]),
    )


def _make_D(prefix: str) -> HybridConcurrent:
    return _module(
        prefix,
        (None, [(192, 1), (320, 3, 2)]),
        (None, [(192, 1), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2)]),
        ("max", []),
    )


def _split(*settings: Setting) -> nn.HybridSequential:
    """Convolutions, followed by a wide and a high one side by side."""
    branch = nn.HybridSequential(prefix="")
    branch.add(_make_branch(None, *settings))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(_make_branch(None, (384, (1, 3), 1, (0, 1))), _make_branch(None, (384, (3, 1), 1, (1, 0))))
    branch.add(both)
    return branch


def _make_E(prefix: str) -> HybridConcurrent:
    module = HybridConcurrent(axis=1, prefix=prefix)
    with module.name_scope():
        module.add(_make_branch(None, (320, 1)), _split((384, 1)), _split((448, 1), (384, 3, 1, 1)), _make_branch("avg", (192, 1)))
    return module


def make_aux(classes: int) -> nn.HybridSequential:
    """The auxiliary classifier of the paper, for features (n, 768, 17, 17); no network here has it.

    Parameters
    ----------
    classes
        Number of classes.
    """
    out = nn.HybridSequential(prefix="")
    out.add(nn.AvgPool2D(pool_size=5, strides=3), _make_basic_conv(channels=128, kernel_size=1))
    out.add(_make_basic_conv(channels=768, kernel_size=5), nn.Flatten(), nn.Dense(classes))
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
            for setting in ((32, 3, 2), (32, 3), (64, 3, 1, 1), None, (80, 1), (192, 3), None):
                if setting is None:
                    self.features.add(nn.MaxPool2D(pool_size=3, strides=2))
                else:
                    self.features.add(_make_basic_conv(**_named(setting)))
            self.features.add(_make_A(32, "A1_"), _make_A(64, "A2_"), _make_A(64, "A3_"), _make_B("B_"))
            self.features.add(_make_C(128, "C1_"), _make_C(160, "C2_"), _make_C(160, "C3_"), _make_C(192, "C4_"))
            self.features.add(_make_D("D_"), _make_E("E1_"), _make_E("E2_"))
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
