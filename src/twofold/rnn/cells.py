"""The basic cells: plain recurrent, LSTM and GRU."""

from .. import symbol as sym
from ..gluon.rnn.gates import Activation
from ..initializer.patterns import LSTMBias
from ..symbol.symbol import Symbol
from .base import RNNParams, StateInfo
from .gated import GRU_GATES, LSTM_GATES, MAP_BY_MAP, WEIGHTS_FIRST, GatedCell, gated_recurrent, long_short_term


class _DenseCell(GatedCell):
    """A cell whose gates are affine functions of the input (n, c) and the state (n, num_hidden)."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden

    def _maps(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
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

    _gate_names = ("",)

    def __init__(self, num_hidden: int, activation: Activation = "tanh", prefix: str = "rnn_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation
        self._get_variables(*MAP_BY_MAP)


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

    _gate_names = LSTM_GATES
    _step = long_short_term

    def __init__(self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0) -> None:
        super().__init__(num_hidden, prefix, params)
        self._get_variables(*WEIGHTS_FIRST, i2h_bias=LSTMBias(forget_bias=forget_bias))


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

    _gate_names = GRU_GATES
    _maps_suffix = "_"
    _step = gated_recurrent

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._get_variables(*MAP_BY_MAP)
