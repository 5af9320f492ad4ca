"""The items in Twofold on ``gpu(0)``. A call ends by flushing its deferred operations, since nothing reads its results."""

from __future__ import annotations

import gc
import importlib.metadata
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import twofold as mx
from asv_benchmarks.gpu.libraries.resnet import trained_resnet
from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import REPEATED, Case
from asv_benchmarks.peers.libraries.mx_networks import layers_of
from twofold import autograd, nd
from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import interned
from twofold.imperative.window import flush_all

Arrays = dict[str, Any]
GPU = interned("gpu", 0)


class NoAccelerator(Exception):
    """cuDNN was requested but is not installed."""


def about() -> dict[str, Any]:
    """Version, device, and the NVIDIA libraries in use.

    Raises
    ------
    BackendUnavailable
        If there is no GPU.
    NoAccelerator
        If `TWOFOLD_CUDNN` is 1 and there is no cuDNN.
    """
    backend_for(GPU)
    from asv_benchmarks.gpu.device import device_facts
    from twofold_cupy import cublaslt, cudnn

    if os.environ.get("TWOFOLD_CUDNN") == "1" and cudnn.library() is None:
        raise NoAccelerator("no nvidia-cudnn-frontend, or no library for it: pip install 'twofold[cudnn]' nvidia-cudnn-cu12")
    accelerators = ["cuBLAS", *(["cuBLASLt"] if cublaslt.library() else []), *(["cuDNN"] if SETTINGS.cudnn and cudnn.library() else [])]
    return {"version": importlib.metadata.version("twofold"), "accelerators": accelerators, "device": device_facts()}


def release() -> None:
    """Release unused memory; raises an error that leaves the device unusable, which ends the worker."""
    nd.waitall()
    gc.collect()
    backend_for(GPU).trim()


def count_launches() -> None:
    """Count launches from now on."""
    from asv_benchmarks.gpu import launches

    launches.install()


def launches_of(call: Callable[[], Any]) -> int:
    """The number of launches of a call."""
    from asv_benchmarks.gpu import launches

    return launches.of(call, backend_for(GPU))


def _arrays(arrays: Arrays, dtype: str | None = None) -> list[Any]:
    return [nd.array(a, ctx=mx.gpu(0), dtype=dtype) for a in arrays.values()]


def _to_numpy(a: Any) -> Any:
    return a.astype("float32").asnumpy()


def issued(function: Callable[[], Any], result: Callable[[Any], list[Any]], operations: int = 1) -> Case:
    """A case that calls a function, whose work is waited for once at the end; ``result`` converts what it returns to arrays."""

    def call() -> Any:
        out = function()
        flush_all()
        return out

    return Case(call, lambda: [_to_numpy(a) for a in result(call())], operations, nd.waitall)


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def _changes(weights: list[Any], old: Arrays) -> list[Any]:
    return [w - v for w, v in zip(weights, _arrays(old), strict=True)]


def add(alone: bool, arrays: Arrays) -> Case:
    """An array and a scalar, in a window with other operations or each issued alone."""
    (x,) = _arrays(arrays)

    def function() -> list[Any]:
        found = []
        for k in range(REPEATED):
            found.append(x + (k + 0.5))
            if alone:
                flush_all()
        return found

    return issued(function, _listed, REPEATED)


def pure(function: Callable[..., Any], arrays: Arrays, dtype: str | None = None) -> Case:
    """A case that calls a function of the arrays."""
    values = _arrays(arrays, dtype)
    return issued(lambda: function(*values), _listed)


def gradients(forward: Callable[..., Any], arrays: Arrays) -> Case:
    """The gradients of a function of all arrays but the last, which is the gradient of the result."""
    *values, dout = _arrays(arrays)
    for x in values:
        x.attach_grad()

    def function() -> list[Any]:
        with autograd.record():
            out = forward(*values)
        out.backward(dout)
        return [x.grad for x in values]

    return issued(function, _listed)


def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
    """With the statistics of the batch."""
    mean, var = nd.zeros(gamma.shape, ctx=x.context), nd.ones(gamma.shape, ctx=x.context)
    return nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, eps=1e-5)


def cross_entropy(arrays: Arrays) -> Case:
    """The loss and its gradient."""
    x, label = _arrays(arrays)
    x.attach_grad()
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()

    def function() -> list[Any]:
        with autograd.record():
            losses = loss_of(x, label)
        losses.backward()
        return [losses, x.grad]

    return issued(function, lambda out: [out[0].sum(), out[1]])


def adam_many(arrays: Arrays) -> Case:
    """Update all weights with one optimizer."""
    values = dict(zip(arrays, _arrays(arrays), strict=True))
    grads, weights = ([v for name, v in values.items() if name[0] == letter] for letter in "gw")
    update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=chains.RATE))
    old = inputs.parameters(arrays)
    return issued(lambda: update(list(range(len(weights))), grads, weights), lambda out: _changes(weights, old))


def network(work: str, arrays: Arrays) -> Case:
    """A training step of a hybridized net of Gluon layers: forward, backward and `Trainer.step`."""
    net, loss_of = mx.gluon.nn.HybridSequential(), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    net.add(*layers_of(mx, work))
    net.initialize(ctx=mx.gpu(0))
    net.hybridize(static_alloc=True, static_shape=True)
    x, label = (nd.array(arrays[name], ctx=mx.gpu(0)) for name in ("x", "label"))
    net(x)
    learned, parameters = inputs.parameters(arrays), net.collect_params()
    for p, value in zip(parameters.values(), learned.values(), strict=True):
        p.set_data(nd.array(value, ctx=mx.gpu(0)))
    trainer = mx.gluon.Trainer(parameters, "sgd", {"learning_rate": inputs.LEARNING_RATE})

    def function() -> Any:
        with autograd.record():
            loss = loss_of(net(x), label)
        loss.backward()
        trainer.step(len(x))
        return loss

    return issued(function, lambda loss: _changes([p.data() for p in parameters.values()], learned))


def resnet(dtype: str, arrays: Arrays) -> Case:
    """A training step of ResNet-50 in 16-bit floats with float32 weights; the result compared is the untrained network's output."""
    step, untrained = trained_resnet(arrays, dtype, mx.gpu(0))
    return issued(step, lambda loss: [untrained])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: partial(function, nd) for name, function in chains.PURE.items()},
    "copy": lambda x: x.copy(),
    "softmax": lambda x: nd.softmax(x),
    "layer_norm": lambda x, gamma, beta, dout: nd.LayerNorm(x, gamma, beta),
}
CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"nd": partial(add, False), "nd, each issued alone": partial(add, True)},
    **{name: {"nd": partial(pure, function)} for name, function in FUNCTIONS.items()},
    "layer_norm_gradient": {"nd": partial(gradients, lambda *a: nd.LayerNorm(*a))},
    "batch_norm_gradient": {"nd": partial(gradients, batch_norm)},
    "cross_entropy": {"nd": cross_entropy},
    "adam_many": {"nd": adam_many},
    **{f"matmul_{d}": {"nd": partial(pure, nd.dot, dtype=d)} for d in ("float32", "float16", "bfloat16")},
    **{name: {"hybridized": partial(network, name)} for name in ("mlp", "lenet")},
    **{f"resnet50_{d}": {"hybridized": partial(resnet, d)} for d in ("float16", "bfloat16")},
}
