"""The items in plain CuPy, and by ``cupy.fuse``, on its current stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from asv_benchmarks.gpu.device import device_facts
from asv_benchmarks.peers import chains
from asv_benchmarks.peers.case import REPEATED, Case
from twofold_cupy.launch import cupy
from twofold_cupy.library import runtime

Arrays = dict[str, Any]
wait = runtime.deviceSynchronize


def about() -> dict[str, Any]:
    """Version and device."""
    return {"version": cupy.__version__, "device": device_facts()["name"]}


def release() -> None:
    """Release unused memory."""
    wait()
    cupy.get_default_memory_pool().free_all_blocks()


def pure(function: Callable[..., Any], arrays: Arrays, dtype: str | None = None) -> Case:
    """A case that calls a function of the arrays."""
    values = [cupy.asarray(a if dtype is None else a.astype(dtype)) for a in arrays.values()]
    return Case(lambda: function(*values), lambda: [cupy.asnumpy(function(*values)).astype(np.float32)], wait=wait)


def fused(function: Callable[..., Any], arrays: Arrays) -> Case:
    """A case that calls a function compiled by ``cupy.fuse``."""
    return pure(cupy.fuse(kernel_name="chain")(lambda *values: function(cupy, *values)), arrays)


def add(arrays: Arrays) -> Case:
    """An array and a scalar."""
    x = cupy.asarray(arrays["x"])

    def call() -> list[Any]:
        return [x + (k + 0.5) for k in range(REPEATED)]

    return Case(call, lambda: [cupy.asnumpy(a) for a in call()], REPEATED, wait)


def copy(arrays: Arrays) -> Case:
    """A copy within the device by the runtime: the reference for the bandwidth of other items."""
    x = cupy.asarray(arrays["x"])
    out = cupy.empty_like(x)

    def call() -> None:
        out.data.copy_from_device_async(x.data, x.nbytes)

    return Case(call, lambda: [cupy.asnumpy(out)], wait=wait)


def layer_norm(x: Any, gamma: Any, beta: Any, dout: Any) -> Any:
    """Forward only."""
    return chains.layer_norm(cupy, x, gamma, beta)


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"plain": add},
    "copy": {"copy": copy},
    **{name: {"plain": partial(pure, partial(f, cupy)), "fuse": partial(fused, f)} for name, f in chains.PURE.items()},
    "softmax": {"plain": partial(pure, partial(chains.softmax, cupy))},
    "layer_norm": {"plain": partial(pure, layer_norm)},
    **{f"matmul_{dtype}": {"plain": partial(pure, cupy.matmul, dtype=dtype)} for dtype in ("float32", "float16")},
}
