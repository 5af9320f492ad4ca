"""Runs a block imperatively and hybridized, with parameters filled with fixed numbers; outputs and gradients as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np


def real(*shape: int, seed: int = 1, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Fixed random numbers."""
    return np.random.RandomState(seed).uniform(low, high, shape).astype("float32")


def fill(mx: Any, block: Any) -> None:
    """Fill all parameters with fixed numbers, in the order of their names; variances are positive."""
    for k, (name, param) in enumerate(sorted(block.collect_params().items())):
        low = 0.5 if name.endswith("var") else -1.0
        param.set_data(mx.nd.array(real(*param.shape, seed=k, low=low)))


def flat(values: Any) -> list[Any]:
    """Arrays in nested lists as one list."""
    return [x for v in values for x in flat(v)] if isinstance(values, (list, tuple)) else [values]


def trained(mx: Any, block: Any, *inputs: np.ndarray, wanted: int | None = None) -> dict[str, Any]:
    """Outputs in training and in inference, gradients of inputs and parameters, states after backward.

    Parameters
    ----------
    mx
        The package.
    block
        The block, initialized.
    *inputs
        Its inputs.
    wanted
        The number of inputs, from the first, to attach gradients to; all if None.
    """
    arrays = [mx.nd.array(x) for x in inputs]
    for x in arrays[:wanted]:
        x.attach_grad()
    with mx.autograd.record():
        outputs = flat(block(*arrays))
    heads = [mx.nd.array(real(*o.shape, seed=9)) for o in outputs]
    mx.autograd.backward(outputs, heads)
    params = block.collect_params().items()
    return {
        "training": [o.copy() for o in outputs],
        "inputs": [x.grad.copy() for x in arrays[:wanted]],
        "parameters": {name: p.grad().copy() for name, p in params if p.grad_req != "null"},
        "states": {name: p.data().copy() for name, p in params if p.grad_req == "null"},
        "inference": [o.copy() for o in flat(block(*arrays))],
    }


def both(mx: Any, make: Any, *inputs: np.ndarray, wanted: int | None = None) -> list[Any]:
    """The results of `trained` for an imperative and for a hybridized block."""
    found = []
    for hybrid in (False, True):
        block = make(mx)
        block.initialize()
        block(*[mx.nd.array(x) for x in inputs])
        fill(mx, block)
        if hybrid:
            block.hybridize()
        found.append(trained(mx, block, *inputs, wanted=wanted))
    return found
