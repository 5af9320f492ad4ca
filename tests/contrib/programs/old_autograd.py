"""The interface of autograd before MXNet 1.0."""

from __future__ import annotations

from typing import Any

from tests.oracle_programs import fails


def _state(mx: Any) -> Any:
    return [mx.autograd.is_recording(), mx.autograd.is_training()]


def sections(mx):
    old = mx.contrib.autograd
    found = [old.set_is_training(True), _state(mx), old.set_is_training(False), _state(mx)]
    with old.train_section():
        found.append(_state(mx))
        with old.test_section():
            found.append(_state(mx))
        found.append(_state(mx))
    return [*found, _state(mx)]


def gradients_of_marked_arrays(mx):
    old = mx.contrib.autograd
    x, dx = mx.nd.array([1, 2]), mx.nd.zeros((2,))
    old.mark_variables([x], [dx])
    with old.train_section():
        y = x * x
    found = [old.compute_gradient([y]), dx.copy()]
    old.mark_variables([x], [dx], "add")
    with old.train_section():
        y = x * x
    old.backward([y], [mx.nd.array([10, 1])])
    return [*found, dx]


def functions_with_gradients(mx):
    old = mx.contrib.autograd
    a, b = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    return [
        old.grad_and_loss(lambda a, b: a * b + a)(a, b),
        old.grad_and_loss(lambda a, b: a * b + a, argnum=1)(a, b),
        old.grad_and_loss(lambda a, b: [a * b, a], argnum=[0])(a, b),
        old.grad(lambda a: a * a * a)(a),
        old.grad(lambda a, b: a * b, argnum=[1, 0])(a, b),
        fails(lambda: old.grad_and_loss(lambda a: a)(3)),
        old.grad_and_loss(len).__name__,
    ]
