"""Symbols whose results are sparse: storage types and values of an executor's outputs and gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

DENSE = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], "f")


def _described(x: Any) -> Any:
    return [x.stype, x.asnumpy().tolist()]


def cast(mx: Any) -> Any:
    out = {}
    x = mx.sym.Variable("x")
    for target, own in (("csr", "csr"), ("csr", "default"), ("row_sparse", "row_sparse"), ("row_sparse", "default"), ("default", "csr")):
        executor = mx.sym.cast_storage(x, stype=target).bind(mx.cpu(), {"x": mx.nd.array(DENSE).tostype(own)})
        out[f"{own} to {target}"] = [_described(executor.forward()[0]), _described(executor.forward()[0])]
    return out


def cast_inside(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    symbol = mx.sym.sum(mx.sym.cast_storage(mx.sym.cast_storage(x * 2, stype="row_sparse"), stype="default"), axis=0)
    args, grads = {"x": mx.nd.array(DENSE)}, {"x": mx.nd.zeros((3, 3))}
    executor = symbol.bind(mx.cpu(), args, grads)
    result = _described(executor.forward(is_train=True)[0])
    executor.backward(mx.nd.array([1.0, 2.0, 3.0]))
    return [result, _described(grads["x"])]


def product(mx: Any) -> Any:
    out = {}
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    for forward, a, b, turned in itertools.product(("csr", "row_sparse", "default"), ("csr", "default"), ("row_sparse", "default"), (0, 1)):
        if (forward, a, b, turned) == ("default", "csr", "row_sparse", 1):  # MXNet lacks it
            continue
        symbol = mx.sym.dot(x, y, transpose_a=bool(turned), forward_stype=forward)
        executor = symbol.bind(mx.cpu(), {"x": mx.nd.array(DENSE).tostype(a), "y": mx.nd.array(DENSE + 1).tostype(b)})
        out[f"{a} by {b} to {forward}, {turned}"] = _described(executor.forward()[0])
    return out


def batched_product(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    given = mx.nd.array(np.arange(8).reshape(2, 2, 2))
    return _described(mx.sym.batch_dot(x, x, forward_stype="csr").bind(mx.cpu(), {"x": given}).forward()[0])


def simple_bind(mx: Any) -> Any:
    """Arguments of named storage types: what they are before and after values are written, and the results."""
    product = mx.sym.dot(mx.sym.Variable("x"), mx.sym.Variable("w"))
    executor = product.simple_bind(mx.cpu(), grad_req={"w": "write"}, stype_dict={"x": "csr", "w": "row_sparse"}, x=(3, 3), w=(3, 3))
    empty = {name: array.stype for name, array in executor.arg_dict.items()}
    executor.arg_dict["x"][:] = mx.nd.array(DENSE).tostype("csr")
    executor.arg_dict["w"][:] = mx.nd.array(DENSE + 1).tostype("row_sparse")
    result = _described(executor.forward(is_train=True)[0])
    executor.backward(mx.nd.array(DENSE))
    return [empty, result, executor.grad_dict["w"].asnumpy().tolist()]
