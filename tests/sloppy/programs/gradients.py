"""Sloppy use of autograd."""

from __future__ import annotations

from typing import Any

import numpy as np


def attach_to_integers(mx: Any) -> Any:
    x = mx.nd.array([1, 2], dtype="int32")
    x.attach_grad()
    return [x.grad, x.grad.dtype.__name__]


def gradient_of_integers(mx: Any) -> Any:
    x = mx.nd.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum()
    y.backward()
    return x.grad


def gradient_of_cast_integers(mx: Any) -> Any:
    x = mx.nd.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        y = x.astype("float32") * 0.75
    y.backward()
    return x.grad


def gradient_beside_integers(mx: Any) -> Any:
    labels, w = mx.nd.array([0, 1], dtype="int32"), mx.nd.array([[1, 2], [3, 4]])
    labels.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.pick(w, labels) * 2
    y.backward()
    return [w.grad, labels.grad]


def gradient_of_int64(mx: Any) -> Any:
    x = mx.nd.array([2, 3], dtype="int64")
    x.attach_grad(grad_req="add")
    for _ in range(2):
        with mx.autograd.record():
            y = x * 3
        y.backward()
    return x.grad


def gradient_of_uint8(mx: Any) -> Any:
    x = mx.nd.array([2, 3], dtype="uint8")
    x.attach_grad()
    with mx.autograd.record():
        y = x + x
    y.backward()
    return x.grad


def unused_variable_of_backward(mx: Any) -> Any:
    x, unused = mx.nd.array([1, 2]), mx.nd.array([3])
    x.attach_grad()
    unused.attach_grad()
    with mx.autograd.record():
        y = x * 2
    y.backward()
    return [x.grad, unused.grad]


def unused_variable_of_grad(mx: Any) -> Any:
    x, unused = mx.nd.array([1, 2]), mx.nd.array([3, 4, 5])
    x.attach_grad()
    unused.attach_grad()
    with mx.autograd.record():
        y = x * 2
    return mx.autograd.grad(y, [x, unused])


def only_unused_variables_of_grad(mx: Any) -> Any:
    x, unused = mx.nd.array([1, 2]), mx.nd.array([3, 4, 5])
    x.attach_grad()
    unused.attach_grad()
    with mx.autograd.record():
        y = x * 2
    return mx.autograd.grad(y, [unused])


def unused_recorded_variable_of_grad(mx: Any) -> Any:
    x, other = mx.nd.array([1, 2]), mx.nd.array([3, 4, 5])
    x.attach_grad()
    other.attach_grad()
    with mx.autograd.record():
        y, z = x * 2, other * 3
    del z
    return mx.autograd.grad(y, [x, other])


def unmarked_variable_of_grad(mx: Any) -> Any:
    x, unmarked = mx.nd.array([1, 2]), mx.nd.array([3, 4, 5])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    return mx.autograd.grad(y, [unmarked])


def variable_behind_blocked_gradient(mx: Any) -> Any:
    x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.BlockGrad(x) * w
    return mx.autograd.grad(y, [x, w])


def backward_of_blocked_gradient(mx: Any) -> Any:
    x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.BlockGrad(x) * w
    y.backward()
    return [x.grad, w.grad]


def backward_of_only_blocked(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.BlockGrad(x) * 2
    y.backward()
    return x.grad


def backward_of_a_comparison(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x > 1
    y.backward()
    return x.grad


def backward_of_argmax(mx: Any) -> Any:
    x = mx.nd.array([[1, 2]])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.argmax(x, axis=1)
    y.backward()
    return x.grad


def backward_of_integers_of_a_variable(mx: Any) -> Any:
    x = mx.nd.array([1.5, 2.5])
    x.attach_grad()
    with mx.autograd.record():
        y = x.astype("int32")
    y.backward()
    return x.grad.shape


def backward_of_unrecorded(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    y = x * 2
    y.backward()
    return x.grad


def backward_of_a_variable(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    x.backward()
    return x.grad


def backward_of_a_constant_beside(mx: Any) -> Any:
    x, c = mx.nd.array([1, 2]), mx.nd.array([3])
    x.attach_grad()
    with mx.autograd.record():
        y, z = x * 2, c * 2
    mx.autograd.backward([y, z])
    return x.grad


def backward_twice(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    y.backward()
    y.backward()
    return x.grad


def marks_of_another_dtype(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    g = mx.nd.zeros((2,), dtype="float64")
    mx.autograd.mark_variables([x], [g])
    return g


def marks_of_another_dtype_used(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    g = mx.nd.zeros((2,), dtype="float64")
    mx.autograd.mark_variables([x], [g])
    with mx.autograd.record():
        y = x * 3
    y.backward()
    return g


def marks_of_another_shape(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    g = mx.nd.zeros((3,))
    mx.autograd.mark_variables([x], [g])
    return g


def marks_of_another_shape_used(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    g = mx.nd.zeros((3,))
    mx.autograd.mark_variables([x], [g])
    with mx.autograd.record():
        y = x * 3
    y.backward()
    return g


def marks_of_integers(mx: Any) -> Any:
    x = mx.nd.array([1, 2], dtype="int32")
    g = mx.nd.zeros((2,), dtype="int32")
    mx.autograd.mark_variables([x], [g])
    with mx.autograd.record():
        y = x * 3
    y.backward()
    return g


def marks_of_two_lengths(mx: Any) -> Any:
    x, y = mx.nd.array([1, 2]), mx.nd.array([1, 2])
    mx.autograd.mark_variables([x, y], [mx.nd.zeros((2,))])
    return x.grad


def head_gradient_of_another_dtype(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    y.backward(mx.nd.array([1, 2], dtype="float64"))
    return x.grad


def head_gradient_of_another_shape(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    y.backward(mx.nd.array([1]))
    return x.grad


def request_unknown(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad(grad_req="writes")
    return x.grad


def request_null(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad(grad_req="null")
    with mx.autograd.record():
        y = x * 2
        z = y * y
    z.backward()
    return x.grad


def recording_in_inference_mode(mx: Any) -> Any:
    x = mx.nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record(train_mode=False):
        y = mx.nd.Dropout(x, p=0.5)
    y.backward()
    return [y, x.grad]


def heads_inside_recording(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        y.backward()
    return x.grad


def numpy_inside_recording(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x + mx.nd.array(np.sqrt(x.asnumpy()))
    y.backward()
    return x.grad


def no_heads(mx: Any) -> Any:
    return mx.autograd.backward([])


def no_variables(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    return mx.autograd.grad(y, [])
