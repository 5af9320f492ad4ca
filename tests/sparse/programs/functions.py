"""Functions written for dense arrays, called with sparse ones: they are made dense."""

from __future__ import annotations

from typing import Any

import numpy as np

DENSE = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], "f")


def _described(x: Any) -> Any:
    return [x.stype, x.asnumpy().tolist()]


def of_arrays(mx: Any) -> Any:
    nd, dense = mx.nd, mx.nd.array(DENSE)
    functions = {
        "concatenate": lambda x: nd.concatenate([x, x], axis=1),
        "moveaxis": lambda x: nd.moveaxis(x, 0, 1),
        "maximum": lambda x: nd.maximum(x, x),
        "maximum with dense": lambda x: nd.maximum(dense, x),
        "maximum with 1": lambda x: nd.maximum(x, 1),
        "minimum": lambda x: nd.minimum(1, x),
        "equal": lambda x: nd.equal(x, x),
        "logical_and": lambda x: nd.logical_and(x, dense),
        "split_v2": lambda x: nd.split_v2(x, 3)[2],
    }
    return {f"{name}({s})": _described(f(dense.tostype(s))) for name, f in functions.items() for s in ("csr", "row_sparse")}


def metrics(mx: Any) -> Any:
    out = {}
    for s in ("csr", "row_sparse"):
        x = mx.nd.array(DENSE).tostype(s)
        for name in ("acc", "mse", "mae", "rmse"):
            metric = mx.metric.create(name)
            metric.update([mx.nd.array([1, 0, 2]) if name == "acc" else x], [x])
            out[f"{name}({s})"] = round(float(metric.get()[1]), 6)
    return out
