"""Deterministic initializers: constants, the bilinear kernel, the bias of LSTM gates."""

import json
from typing import Any

import numpy as np

from ..ndarray.array import NDArray
from .base import Initializer, alias, bilinear_kernel, register


@alias("zeros")
@register
class Zero(Initializer):
    """Sets weights to 0."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0


@alias("ones")
@register
class One(Initializer):
    """Sets weights to 1."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """Sets weights to a value.

    Parameters
    ----------
    value
        A number, or an array or nested lists that broadcast to the weight's shape.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = np.asarray(self.value) if isinstance(self.value, (list, tuple)) else self.value

    def dumps(self) -> str:
        """The initializer as JSON, with an array as nested lists."""
        # In a symbol's attributes, the value of a `gluon.Constant` travels with the graph.
        value = self.value.tolist() if isinstance(self.value, (NDArray, np.ndarray, np.generic)) else self.value
        return json.dumps([type(self).__name__.lower(), {"value": value}])


@register
class Bilinear(Initializer):
    """Bilinear interpolation, for transposed convolutions that upsample."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = bilinear_kernel(arr.shape)


@register
class LSTMBias(Initializer):
    """The bias (4 · hidden,) of LSTM gates: 0 except for the forget gate.

    Parameters
    ----------
    forget_bias
        Bias of the forget gate, which is the second quarter.

    Notes
    -----
    Jozefowicz, Zaremba and Sutskever, An empirical exploration of recurrent network architectures, 2015.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4
        arr[:] = 0.0
        # A large forget gate lets gradients through time from the start.
        arr[hidden : 2 * hidden] = self.forget_bias
