"""Layers except convolutions: outputs and gradients, imperative and hybridized."""

from __future__ import annotations

from typing import Any

import numpy as np

from .running import both, real

ROWS = real(3, 4)
IMAGES = real(2, 4, 3, 2)


def dense(mx: Any) -> Any:
    nn = mx.gluon.nn
    makers = [
        lambda mx: nn.Dense(2, prefix="a_"),
        lambda mx: nn.Dense(2, activation="tanh", use_bias=False, prefix="a_"),
        lambda mx: nn.Dense(2, flatten=False, in_units=2, activation="sigmoid", prefix="a_"),
    ]
    return [both(mx, make, IMAGES) for make in makers]


def activations(mx: Any) -> Any:
    nn = mx.gluon.nn
    names = ["relu", "sigmoid", "tanh", "softrelu", "softsign"]
    makers = [lambda mx, name=name: nn.Activation(name) for name in names]
    makers += [lambda mx: nn.LeakyReLU(0.2), lambda mx: nn.PReLU(prefix="a_"), lambda mx: nn.PReLU(in_channels=4, prefix="a_")]
    makers += [lambda mx: nn.ELU(0.7), lambda mx: nn.GELU(), lambda mx: nn.Swish(1.5)]  # the gradient of MXNet's SELU is wrong
    return [both(mx, make, ROWS) for make in makers]


def embedding(mx: Any) -> Any:
    return both(mx, lambda mx: mx.gluon.nn.Embedding(5, 3, prefix="a_"), np.array([[0, 4, 2], [2, 2, 1]], "float32"), wanted=0)


def flatten(mx: Any) -> Any:
    return both(mx, lambda mx: mx.gluon.nn.Flatten(), IMAGES)


def batch_norm(mx: Any) -> Any:
    nn = mx.gluon.nn
    makers = [
        lambda mx: nn.BatchNorm(prefix="a_"),
        lambda mx: nn.BatchNorm(axis=-1, momentum=0.5, epsilon=1e-2, prefix="a_"),
        lambda mx: nn.BatchNorm(use_global_stats=True, prefix="a_"),
        lambda mx: nn.BatchNorm(center=False, prefix="a_"),
    ]
    return [both(mx, make, IMAGES) for make in makers]


def batch_norm_without_scale(mx: Any) -> Any:
    """MXNet writes 1 into a gamma that does not count, Twofold leaves it."""
    found = both(mx, lambda mx: mx.gluon.nn.BatchNorm(scale=False, prefix="a_"), IMAGES)
    for run in found:
        run["states"].pop("a_gamma")
    return found


def layer_norm(mx: Any) -> Any:
    nn = mx.gluon.nn
    return [
        both(mx, make, IMAGES) for make in (lambda mx: nn.LayerNorm(prefix="a_"), lambda mx: nn.LayerNorm(axis=1, scale=False, prefix="a_"))
    ]


def instance_norm(mx: Any) -> Any:
    nn = mx.gluon.nn
    makers = (lambda mx: nn.InstanceNorm(prefix="a_"), lambda mx: nn.InstanceNorm(axis=2, scale=True, epsilon=1e-3, prefix="a_"))
    return [both(mx, make, IMAGES) for make in makers]


def group_norm(mx: Any) -> Any:
    return both(mx, lambda mx: mx.gluon.nn.GroupNorm(2, prefix="a_"), IMAGES)


def lambdas(mx: Any) -> Any:
    nn = mx.gluon.nn
    makers = [lambda mx: nn.HybridLambda("tanh"), lambda mx: nn.HybridLambda(lambda F, x: F.exp(x) * x)]
    return [both(mx, make, ROWS) for make in makers] + [nn.Lambda("sin")(mx.nd.array(ROWS)), nn.Lambda(lambda x: x + 1)(mx.nd.array(ROWS))]


def dropout_keeps_the_input_outside_training(mx: Any) -> Any:
    layer = mx.gluon.nn.Dropout(0.5)
    return [layer(mx.nd.array(ROWS)), mx.gluon.nn.Dropout(0)(mx.nd.array(ROWS))]


def representations(mx: Any) -> Any:
    nn = mx.gluon.nn
    blocks = [
        nn.Dense(3, activation="tanh", in_units=2, use_bias=False, flatten=False),
        nn.Dense(3),
        nn.Dropout(0.3),
        nn.Dropout(0.3, axes=(1,)),
        nn.Embedding(3, 4),
        nn.Flatten(),
        nn.BatchNorm(),
        nn.BatchNorm(in_channels=3, scale=False, center=False),
        nn.BatchNormReLU(),
        nn.LayerNorm(),
        nn.LayerNorm(in_channels=4, axis=1),
        nn.InstanceNorm(),
        nn.GroupNorm(3),
        nn.Lambda("tanh"),
        nn.Lambda(lambda x: x),
        nn.HybridLambda("tanh"),
        nn.Activation("relu"),
        nn.LeakyReLU(0.2),
        nn.PReLU(),
        nn.Swish(),
        nn.Conv1D(3, 2),
        nn.Conv2D(3, (2, 3), strides=2, padding=1, dilation=2, activation="relu", in_channels=4),
        nn.Conv2D(4, 3, groups=2, use_bias=False),
        nn.MaxPool2D(3, 2, 1, ceil_mode=True),
        nn.AvgPool1D(),
        nn.GlobalAvgPool2D(),
        nn.Sequential(),
    ]
    return [repr(block) for block in blocks]
