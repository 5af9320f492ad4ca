"""Models, data and parameters for the programs."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPES = {"fc1_weight": (5, 4), "fc1_bias": (5,), "fc2_weight": (3, 5), "fc2_bias": (3,)}
X = np.random.RandomState(0).uniform(-1, 1, (10, 4)).astype("float32")
Y = np.array([0, 1, 2, 1, 0, 2, 2, 1, 0, 1], "float32")


def perceptron(mx: Any) -> Any:
    """Two layers and a softmax."""
    hidden = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1"), act_type="tanh", name="act")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")


def normalized(mx: Any) -> Any:
    """A layer after batch normalization, whose moving statistics are auxiliary states."""
    scaled = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=False, name="bn")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(scaled, num_hidden=3, name="fc"), name="softmax")


def params(mx: Any, shapes: dict[str, tuple[int, ...]] | None = None) -> dict[str, Any]:
    """Parameters by name, the same at each call."""
    draw = np.random.RandomState(1)
    return {name: mx.nd.array(draw.uniform(-0.5, 0.5, shape)) for name, shape in (shapes or SHAPES).items()}


def batches(mx: Any, size: int = 4, **kwargs: Any) -> Any:
    """An iterator over the data."""
    return mx.io.NDArrayIter(X, Y, size, **kwargs)


def batch(mx: Any, begin: int = 0, end: int = 4) -> Any:
    """A batch with some rows."""
    return mx.io.DataBatch([mx.nd.array(X[begin:end])], [mx.nd.array(Y[begin:end])])


def bound(mx: Any, symbol: Any = None, size: int = 4, context: Any = None, **kwargs: Any) -> Any:
    """A module that is bound and has parameters."""
    module = mx.mod.Module(perceptron(mx) if symbol is None else symbol, context=context or mx.current_context())
    module.bind([("data", (size, 4))], [("softmax_label", (size,))], **kwargs)
    if symbol is None:
        module.init_params(arg_params=params(mx), aux_params={})
    else:
        module.init_params(mx.init.One())
    return module
