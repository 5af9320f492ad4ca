"""The basic cells: plain recurrent, LSTM and GRU."""

from collections.abc import Sequence
from typing import Any

from .. import symbol as sym
from ..initializer.patterns import LSTMBias
from ..symbol.symbol import Symbol
from .base import BaseRNNCell, StateInfo, States
from .gates import GRU_GATES, LSTM_GATES, Activation, gru_step, lstm_step
from .parameters import RNNParams

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _DenseCell(BaseRNNCell):
    """A cell whose gates are affine functions of the input (n, c) and the state (n, num_hidden)."""

    _iW: Symbol
    _iB: Symbol
    _hW: Symbol
    _hB: Symbol

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden

    def _affine(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """All gates of the input, and all gates of the state, side by side."""
        size = self._num_hidden * len(self._gate_names)
        i2h = sym.FullyConnected(inputs, self._iW, self._iB, num_hidden=size, name=f"{name}i2h")
        h2h = sym.FullyConnected(state, self._hW, self._hB, num_hidden=size, name=f"{name}h2h")
        return i2h, h2h

    def _state(self) -> StateInfo:
        return {"shape": (0, self._num_hidden), "__layout__": "NC"}


class RNNCell(_DenseCell):
    """A plain recurrent cell: the output is an activation of an affine function of input and state.

    Parameters
    ----------
    num_hidden
        Size of output and state.
    activation
        Name of an activation, or a function of a symbol.
    prefix, params
        See `BaseRNNCell`.

    Examples
    --------
    >>> import twofold as mx
    >>> cell = mx.rnn.RNNCell(4)
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    def __init__(self, num_hidden: int, activation: Activation = "tanh", prefix: str = "rnn_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation
        self._iW, self._iB = self._params.get("i2h_weight"), self._params.get("i2h_bias")
        self._hW, self._hB = self._params.get("h2h_weight"), self._params.get("h2h_bias")

    @property
    def state_info(self) -> list[StateInfo]:
        """One state (n, num_hidden), which is the output."""
        return [self._state()]

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Any]) -> tuple[Symbol, States]:
        """One step; see `BaseRNNCell`."""
        name = self._next_step()
        i2h, h2h = self._affine(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_DenseCell):
    """A long short-term memory cell.

    Parameters
    ----------
    num_hidden
        Size of output and states.
    prefix, params
        See `BaseRNNCell`.
    forget_bias
        Initial value of the forget gates' biases.

    Notes
    -----
    Hochreiter and Schmidhuber, Long short-term memory, 1997; with a forget gate and without peepholes.

    Examples
    --------
    >>> import twofold as mx
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> for k in range(2):
    ...     stack.add(mx.rnn.LSTMCell(8, prefix=f"lstm_l{k}_"))
    >>> outputs, states = stack.unroll(3, mx.sym.Variable("data"), layout="NTC")
    >>> len(outputs), len(states)
    (3, 4)
    """

    def __init__(self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0) -> None:
        super().__init__(num_hidden, prefix, params)
        self._iW, self._hW = self._params.get("i2h_weight"), self._params.get("h2h_weight")
        self._iB = self._params.get("i2h_bias", init=LSTMBias(forget_bias=forget_bias))
        self._hB = self._params.get("h2h_bias")

    @property
    def state_info(self) -> list[StateInfo]:
        """Two states (n, num_hidden): the output and the memory."""
        return [self._state(), self._state()]

    @property
    def _gate_names(self) -> Sequence[str]:
        return LSTM_GATES

    def __call__(self, inputs: Symbol, states: Sequence[Any]) -> tuple[Symbol, States]:
        """One step; see `BaseRNNCell`."""
        name = self._next_step()
        i2h, h2h = self._affine(inputs, states[0], name)
        gates = sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
        return lstm_step(gates, states[1], "tanh", name)


class GRUCell(_DenseCell):
    """A gated recurrent unit.

    Parameters
    ----------
    num_hidden
        Size of output and state.
    prefix, params
        See `BaseRNNCell`.

    Notes
    -----
    Cho et al., Learning phrase representations using RNN encoder-decoder, arXiv:1406.1078; the reset gate is applied after the product
    with the state's weights, as in cuDNN.
    """

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._iW, self._iB = self._params.get("i2h_weight"), self._params.get("i2h_bias")
        self._hW, self._hB = self._params.get("h2h_weight"), self._params.get("h2h_bias")

    @property
    def state_info(self) -> list[StateInfo]:
        """One state (n, num_hidden), which is the output."""
        return [self._state()]

    @property
    def _gate_names(self) -> Sequence[str]:
        return GRU_GATES

    def __call__(self, inputs: Symbol, states: Sequence[Any]) -> tuple[Symbol, States]:
        """One step; see `BaseRNNCell`."""
        name = self._next_step()
        i2h, h2h = self._affine(inputs, states[0], f"{name}_")
        return gru_step(i2h, h2h, states[0], "tanh", name)
