"""Initializes the packed parameter vector of the fused `RNN` operator gate by gate."""

from collections.abc import Iterator

from ..errors import ParameterError, ShapeError
from ..ndarray.array import NDArray
from .base import InitDesc, Initializer, create, register

__all__ = ["FusedRNN"]

GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


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
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._directions = ("l", "r") if bidirectional else ("l",)
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        global_init = name.global_init if isinstance(name, InitDesc) else None
        init = self._init or global_init
        if init is None:
            raise ParameterError("FusedRNN: there is no initializer", str(name), "pass init")
        start = 0
        for part, shape in self._parts(self._input_size(arr.size)):
            size = shape[0] * (shape[1] if len(shape) == 2 else 1)
            piece = arr[start : start + size].reshape(shape)  # a view: writing to it writes to the vector
            start += size
            if self._mode == "lstm" and part.endswith("f_bias"):
                piece[:] = self._forget_bias
            else:
                init(InitDesc(part, global_init=global_init), piece)

    def _parts(self, input_size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of each part, in packed order: all weights, then all biases; by layer, direction, input or state, and gate."""
        hidden = self._num_hidden
        for kind in ("weight", "bias"):
            for layer in range(self._num_layers):
                width = input_size if layer == 0 else hidden * len(self._directions)
                for direction in self._directions:
                    for group, columns in (("i2h", width), ("h2h", hidden)):
                        for gate in GATES[self._mode]:
                            shape = (hidden, columns) if kind == "weight" else (hidden,)
                            yield f"{direction}{layer}_{group}{gate}_{kind}", shape

    def _input_size(self, total: int) -> int:
        """The input size, computed from the vector's length."""
        hidden, both = self._num_hidden, len(self._directions)
        rows = both * hidden * len(GATES[self._mode])
        # Divided by the rows, each layer above the first adds its state's columns, the columns of its input and two biases.
        upper = (self._num_layers - 1) * (hidden + both * hidden + 2)
        size = total / rows - upper - hidden - 2
        if size != int(size) or size < 1:
            raise ShapeError("FusedRNN: the length of the vector is invalid", f"{total}", "check num_hidden, num_layers and mode")
        return int(size)
