"""The items in PyTorch on its first GPU: eager, and with ``torch.compile``. As in every library, float32 is computed without TF32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional as tf

from asv_benchmarks.gpu.libraries.torch_resnet import trained_resnet
from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import REPEATED, Case
from asv_benchmarks.peers.libraries.by_torch import compiled_anew, lenet

Arrays = dict[str, Any]
DEVICE = "cuda"
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


class NoDevice(Exception):
    """torch finds no usable GPU."""


def about() -> dict[str, Any]:
    """Version and device.

    Raises
    ------
    NoDevice
        If there is none.
    """
    if not torch.cuda.is_available():
        raise NoDevice(f"torch {torch.__version__} finds no GPU (it is built for CUDA {torch.version.cuda})")
    return {"version": torch.__version__, "device": torch.cuda.get_device_name(), "CUDA": torch.version.cuda}


def wait() -> None:
    """Wait for the device."""
    torch.cuda.synchronize()


def release() -> None:
    """Release unused memory."""
    wait()
    torch._dynamo.reset()
    torch.cuda.empty_cache()


def tensors(arrays: Arrays) -> list[torch.Tensor]:
    """The arrays on the device."""
    return [torch.from_numpy(a).to(DEVICE) for a in arrays.values()]


def _to_numpy(a: Any) -> Any:
    return a.detach().float().cpu().numpy()


def issued(function: Callable[[], Any], result: Callable[[Any], Any], operations: int = 1) -> Case:
    """A case that calls a function and waits for the device once at the end; ``result`` converts what it returns to tensors."""
    return Case(function, lambda: [_to_numpy(a) for a in result(function())], operations, wait)


def _or_compiled(function: Callable[..., Any], is_compiled: bool) -> Callable[..., Any]:
    return compiled_anew(lambda *a: function(*a)) if is_compiled else function


def add(arrays: Arrays) -> Case:
    """An array and a scalar."""
    (x,) = tensors(arrays)
    return issued(lambda: [x + (k + 0.5) for k in range(REPEATED)], list, REPEATED)


def pure(function: Callable[..., Any], is_compiled: bool, arrays: Arrays, dtype: str | None = None) -> Case:
    """A case that calls a function of the arrays."""
    values = [a if dtype is None else a.to(getattr(torch, dtype)) for a in tensors(arrays)]
    f = _or_compiled(function, is_compiled)
    return issued(lambda: f(*values), lambda out: [out])


def gradients(forward: Callable[..., Any], is_compiled: bool, arrays: Arrays) -> Case:
    """The gradients of a function of all arrays but the last, which is the gradient of the result."""
    *values, dout = tensors(arrays)
    f = _or_compiled(forward, is_compiled)
    for x in values:
        x.requires_grad_()
    return issued(lambda: torch.autograd.grad(f(*values), values, dout), list)


def layer_norm(x: Any, gamma: Any, beta: Any, dout: Any = None) -> Any:
    """Over the last axis."""
    return tf.layer_norm(x, gamma.shape, gamma, beta)


def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
    """With the statistics of the batch."""
    return tf.batch_norm(x, None, None, gamma, beta, training=True)


def cross_entropy(is_compiled: bool, arrays: Arrays) -> Case:
    """The loss and its gradient."""
    x, label = tensors(arrays)
    x.requires_grad_()
    loss_of = _or_compiled(partial(tf.cross_entropy, reduction="sum"), is_compiled)

    def function() -> list[Any]:
        loss = loss_of(x, label)
        return [loss, *torch.autograd.grad(loss, [x])]

    return issued(function, list)


def adam_many(options: dict[str, bool], arrays: Arrays) -> Case:
    """Update all weights with one optimizer."""
    values = dict(zip(arrays, tensors(arrays), strict=True))
    old = [v for name, v in values.items() if name[0] == "w"]
    weights = [torch.nn.Parameter(v.clone()) for v in old]
    for k, w in enumerate(weights):
        w.grad = values[f"g{k}"]
    optimizer = torch.optim.Adam(weights, lr=chains.RATE, **options)
    return issued(optimizer.step, lambda out: [w - v for w, v in zip(weights, old, strict=True)])


def network(function: Callable[..., Any], is_compiled: bool, arrays: Arrays) -> Case:
    """A training step: forward, backward and an update by SGD."""
    x, label, *values = tensors(arrays)
    weights = [torch.nn.Parameter(v.clone()) for v in values]
    optimizer = torch.optim.SGD(weights, lr=inputs.LEARNING_RATE)
    f = _or_compiled(function, is_compiled)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = tf.cross_entropy(f(x, *weights), label)
        loss.backward()
        optimizer.step()
        return loss

    return issued(step, lambda loss: [w - old for w, old in zip(weights, values, strict=True)])


def resnet(dtype: str, is_compiled: bool, arrays: Arrays) -> Case:
    """A training step of ResNet-50 in 16-bit floats with float32 weights; the result compared is the untrained network's output."""
    step, untrained = trained_resnet(arrays, getattr(torch, dtype), DEVICE, is_compiled)
    return issued(step, lambda loss: [untrained])


def _ways(function: Callable[..., Case], *arguments: Any, **options: Any) -> dict[str, Callable[[Arrays], Case]]:
    return {"eager": partial(function, *arguments, False, **options), "compile": partial(function, *arguments, True, **options)}


def _softmax(x: Any) -> Any:
    return torch.softmax(x, -1)


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"eager": add},
    "copy": {"eager": partial(pure, torch.clone, False)},
    **{name: _ways(pure, partial(function, torch)) for name, function in chains.PURE.items()},
    "softmax": _ways(pure, _softmax),
    "layer_norm": _ways(pure, layer_norm),
    "layer_norm_gradient": _ways(gradients, layer_norm),
    "batch_norm_gradient": _ways(gradients, batch_norm),
    "cross_entropy": _ways(cross_entropy),
    "adam_many": {"foreach": partial(adam_many, {"foreach": True}), "fused": partial(adam_many, {"fused": True})},
    **{f"matmul_{d}": {"eager": partial(pure, torch.matmul, False, dtype=d)} for d in ("float32", "float16", "bfloat16")},
    "lenet": _ways(network, lenet),
    **{f"resnet50_{d}": _ways(resnet, d) for d in ("float16", "bfloat16")},
}
