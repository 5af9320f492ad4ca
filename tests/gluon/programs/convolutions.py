"""Convolutions and pooling: outputs and gradients, imperative and hybridized."""

from __future__ import annotations

from typing import Any

from .running import both, real

DATA = {1: real(2, 4, 6), 2: real(2, 4, 5, 4), 3: real(1, 4, 4, 3, 4)}


def convolution(mx: Any) -> Any:
    nn = mx.gluon.nn
    return [
        both(mx, lambda mx: nn.Conv1D(2, 3, strides=2, padding=1, prefix="a_"), DATA[1]),
        both(mx, lambda mx: nn.Conv2D(4, (3, 2), padding=(1, 0), dilation=(1, 2), activation="relu", prefix="a_"), DATA[2]),
        both(mx, lambda mx: nn.Conv2D(4, 3, groups=2, use_bias=False, prefix="a_"), DATA[2]),
        both(mx, lambda mx: nn.Conv3D(2, 2, prefix="a_"), DATA[3]),
    ]


def transposed_convolution(mx: Any) -> Any:
    nn = mx.gluon.nn
    return [
        both(mx, lambda mx: nn.Conv1DTranspose(2, 3, strides=2, output_padding=1, in_channels=4, prefix="a_"), DATA[1]),
        both(mx, lambda mx: nn.Conv2DTranspose(3, 3, strides=2, padding=1, in_channels=4, activation="tanh", prefix="a_"), DATA[2]),
    ]


def pooling(mx: Any) -> Any:
    nn = mx.gluon.nn
    makers = [
        (1, lambda mx: nn.MaxPool1D()),
        (2, lambda mx: nn.MaxPool2D((2, 3), (2, 1), (1, 1))),
        (2, lambda mx: nn.MaxPool2D(2, 2, ceil_mode=True)),
        (3, lambda mx: nn.MaxPool3D()),
        (1, lambda mx: nn.AvgPool1D(3, 1, 1)),
        (2, lambda mx: nn.AvgPool2D(3, 2, 1, count_include_pad=False)),
        (3, lambda mx: nn.AvgPool3D()),
        (1, lambda mx: nn.GlobalMaxPool1D()),
        (2, lambda mx: nn.GlobalMaxPool2D()),
        (3, lambda mx: nn.GlobalMaxPool3D()),
        (1, lambda mx: nn.GlobalAvgPool1D()),
        (2, lambda mx: nn.GlobalAvgPool2D()),
        (3, lambda mx: nn.GlobalAvgPool3D()),
        (2, lambda mx: nn.ReflectionPad2D(2)),
    ]
    return [both(mx, make, DATA[ndim]) for ndim, make in makers]


def network(mx: Any) -> Any:
    """Moving averages of a batch norm inside a compiled network."""

    def make(mx: Any) -> Any:
        nn = mx.gluon.nn
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Conv2D(3, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten(), nn.Dense(2))
        return net

    return both(mx, make, DATA[2])
