"""The packed parameter vector of the fused `RNN` operator: the order of its parts, and their initialization gate by gate."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import ParameterError, ShapeError
from ..ndarray.array import NDArray
from .base import InitDesc, Initializer, create, register

#: Suffixes of the gates' names by mode, in packed order.
GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


class PackedWeights(NamedTuple):
    """The order of the weights in the parameter vector of an `RNN` operator.

    Attributes
    ----------
    num_hidden, num_layers, mode, bidirectional
        See the `RNN` operator.
    """

    num_hidden: int
    num_layers: int
    mode: str
    bidirectional: bool

    def pieces(self, vector: NDArray, input_size: int) -> Iterator[tuple[str, NDArray]]:
        """Name and view of each gate's weights (num_hidden, columns) and biases (num_hidden,), in packed order."""
        start = 0
        for name, shape in self._parts(input_size):
            size = math.prod(shape)
            yield name, vector[start : start + size].reshape(shape)  # a view: writing to it writes to the vector
            start += size

    def length(self, input_size: int) -> int:
        """The vector's length."""
        return sum(math.prod(shape) for _, shape in self._parts(input_size))

    def input_size(self, length: int) -> int | None:
        """The input size that gives the vector this length; None if no size does."""
        directions = 2 if self.bidirectional else 1
        rows = directions * self.num_hidden * len(GATES[self.mode])
        # Divided by the rows, each layer above the first adds its state's columns, the columns of its input and two biases.
        upper = (self.num_layers - 1) * (self.num_hidden + directions * self.num_hidden + 2)
        # a true quotient: a length that fits no size leaves a fraction
        size = length / rows - upper - self.num_hidden - 2
        return int(size) if size == int(size) and size >= 1 else None

    def _parts(self, input_size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of each part, in packed order: all weights, then all biases; by layer, direction, input or state, and gate."""
        hidden, directions = self.num_hidden, "lr" if self.bidirectional else "l"
        for kind in ("weight", "bias"):
            for layer in range(self.num_layers):
                width = input_size if layer == 0 else hidden * len(directions)
                for direction in directions:
                    for group, columns in (("i2h", width), ("h2h", hidden)):
                        for gate in GATES[self.mode]:
                            shape = (hidden, columns) if kind == "weight" else (hidden,)
                            yield f"{direction}{layer}_{group}{gate}_{kind}", shape


@register
class FusedRNN(Initializer):
    """Initializes the packed parameters of a fused recurrent layer.

    Parameters
    ----------
    init
        Initializer of each gate's weights and biases, or its JSON; the model's if None.
    num_hidden, num_layers, mode, bidirectional
        See the `RNN` operator; ``mode`` is ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
    forget_bias
        Value of the biases of an LSTM's forget gates.

    Raises
    ------
    ParameterError
        If the mode is unknown.
    ShapeError
        On use, if the vector's length matches no input size.
    """

    def __init__(
        self,
        init: Initializer | str | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if mode not in GATES:
            raise ParameterError("FusedRNN: unknown mode", repr(mode), f"use one of {', '.join(GATES)}")
        self._init = create(init) if isinstance(init, str) else init
        super().__init__(
            # The parameters are serialized to JSON, in which an initializer is nested as its own JSON text.
            init=None if self._init is None else self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._packed = PackedWeights(num_hidden, num_layers, mode, bidirectional)
        self._mode, self._bidirectional = mode, bidirectional
        self._num_hidden, self._num_layers = num_hidden, num_layers
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        global_init = name.global_init if isinstance(name, InitDesc) else None
        # FusedRNNCell passes none: the model's initializer is known only at initialization
        init = self._init or global_init
        if init is None:
            raise ParameterError("FusedRNN: there is no initializer", str(name), "pass init")
        input_size = self._packed.input_size(arr.size)
        if input_size is None:
            raise ShapeError("FusedRNN: the length of the vector is invalid", f"{arr.size}", "check num_hidden, num_layers and mode")
        for part, piece in self._packed.pieces(arr, input_size):
            if self._mode == "lstm" and part.endswith("f_bias"):
                piece[:] = self._forget_bias
            else:
                # under the gate's name, so that biases are told from weights by its end
                init(InitDesc(part, global_init=global_init), piece)
