"""Lazy updates: operators and optimizers with row-sparse gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def _weight(mx: Any) -> Any:
    return mx.nd.array(np.arange(8).reshape(4, 2) * 0.1)


def _gradient(mx: Any) -> Any:
    return mx.nd.sparse.row_sparse_array(([[1.0, 2], [3, 4]], [1, 3]), shape=(4, 2))


def _state(mx: Any, shape: tuple[int, int] = (4, 2)) -> Any:
    return mx.nd.ones(shape) * 0.5


SETTINGS = ({}, {"wd": 0.1}, {"clip_gradient": 1.5, "rescale_grad": 0.5})


def _update(mx: Any, name: str, states: int, **options: Any) -> Any:
    weight, kept = _weight(mx), [_state(mx) for _ in range(states)]
    getattr(mx.nd.sparse, name)(weight, _gradient(mx), *kept, out=weight, lr=0.1, **options)
    return [weight, *kept]


def operators(mx: Any) -> Any:
    out = []
    for options in SETTINGS:
        out += [
            _update(mx, "sgd_update", 0, **options),
            _update(mx, "sgd_update", 0, lazy_update=False, **options),
            _update(mx, "sgd_mom_update", 1, momentum=0.9, **options),
            _update(mx, "adam_update", 2, **options),
            _update(mx, "adam_update", 2, lazy_update=False, **options),
            _update(mx, "ftrl_update", 2, **options),
        ]
    out += [_update(mx, "adagrad_update", 1, epsilon=1e-7, **options) for options in SETTINGS if "wd" not in options]
    return out


def group_adagrad(mx: Any) -> Any:
    weight, history = _weight(mx), _state(mx, (4, 1))
    mx.nd.contrib.group_adagrad_update(weight, _gradient(mx), history, out=weight, lr=0.1)
    return [weight, history]


def optimizers(mx: Any) -> Any:
    out = []
    for name, options in (
        ("sgd", {}),
        ("sgd", {"momentum": 0.9, "wd": 0.1}),
        ("sgd", {"momentum": 0.9, "wd": 0.1, "lazy_update": False}),
        ("adam", {"wd": 0.1}),
        ("adam", {"lazy_update": False}),
        ("adagrad", {}),
        ("ftrl", {"wd": 0.1}),
        ("groupadagrad", {}),
        ("rmsprop", {}),
        ("nag", {"wd": 0.1}),
        ("nag", {"momentum": 0.9, "wd": 0.1}),
    ):
        optimizer = mx.optimizer.create(name, learning_rate=0.1, **options)
        updater, weight = mx.optimizer.get_updater(optimizer), _weight(mx)
        for _ in range(3):
            updater(0, _gradient(mx), weight)
        out.append(weight)
    return out


def row_sparse_weights(mx: Any) -> Any:
    out = []
    for name, options in (
        ("sgd", {"wd": 0.1}),
        ("sgd", {"momentum": 0.9}),
        ("adam", {}),
        ("adagrad", {}),
        ("ftrl", {"wd": 0.1}),
        ("nag", {"wd": 0.1}),
        ("nag", {"momentum": 0.9, "wd": 0.1}),
    ):
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
        weight = (_weight(mx) + 1).tostype("row_sparse")
        for _ in range(2):
            updater(0, _gradient(mx), weight)
        out.append([weight.stype, weight.indices, weight.data])
    return out


def master_copies(mx: Any) -> Any:
    """Nesterov's gradient of 16-bit weights, whose decay MXNet adds to the momentum after the update."""
    out = []
    for weight_stype, stype, wd in itertools.product(("default", "row_sparse"), ("default", "row_sparse"), (0.0, 0.5)):
        optimizer = mx.optimizer.create("nag", learning_rate=0.5, wd=wd, momentum=0.5, multi_precision=True)
        weight = mx.nd.array([[1], [2], [3], [4]], dtype="float16").tostype(weight_stype)
        gradient = mx.nd.array([[0], [1], [0], [2]], dtype="float16").tostype(stype)
        state = optimizer.create_state_multi_precision(0, weight)
        for _ in range(2):
            optimizer.update_multi_precision(0, weight, gradient, state)
        out += [weight, *state]
    return out
