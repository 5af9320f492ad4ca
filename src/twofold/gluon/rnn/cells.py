"""Recurrent cells: plain, LSTM and GRU."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from ...errors import Undefined
from ..parameter_dict import ParameterDict
from ..signatures import Functions, InitializerLike, Operand, StateInfo
from ..wrong_inputs import check_sizes
from .base import HybridRecurrentCell
from .gates import Activation, gru_gates, named, rest_of


class _Cell(HybridRecurrentCell, arrays="nd"):
    """The base of the three cells: gates that are affine in input and state, and their parameters.

    Parameters
    ----------
    hidden_size
        Size of the state and of the output.
    i2h_weight_initializer, h2h_weight_initializer
        Initializers of the input and state weights; None for the model's.
    i2h_bias_initializer, h2h_bias_initializer
        Initializers of the biases.
    input_size
        Size of the input; inferred at the first step if 0.
    prefix, params
        See `Block`.
    """

    _gates: ClassVar[int]

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        check_sizes(self, hidden_size=hidden_size)
        check_sizes(self, unknown=-1, input_size=input_size)
        self._hidden_size = hidden_size
        self._input_size = input_size
        # one matrix with the rows of all gates, gate after gate
        rows = self._gates * hidden_size
        get = self.params.get
        self.i2h_weight = get("i2h_weight", shape=(rows, input_size), init=i2h_weight_initializer, allow_deferred_init=True)
        self.h2h_weight = get("h2h_weight", shape=(rows, hidden_size), init=h2h_weight_initializer, allow_deferred_init=True)
        self.i2h_bias = get("i2h_bias", shape=(rows,), init=i2h_bias_initializer, allow_deferred_init=True)
        self.h2h_bias = get("h2h_bias", shape=(rows,), init=h2h_bias_initializer, allow_deferred_init=True)

    def _alias(self) -> str:
        return type(self).__name__.removesuffix("Cell").lower()

    def hybrid_forward(
        self,
        F: Functions,
        inputs: Operand,
        states: Sequence[Operand],
        i2h_weight: Operand,
        h2h_weight: Operand,
        i2h_bias: Operand,
        h2h_bias: Operand,
    ) -> tuple[Operand, list[Operand]]:
        """The output (n, hidden) and states of one step."""
        rows = self._gates * self._hidden_size
        # Two products rather than one of concatenated operands: the GRU needs them apart, and MXNet's files have both.
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=self._step_name("i2h"))
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=self._step_name("h2h"))
        return self._step(F, i2h, h2h, states)

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        """The output and states from the affine maps of input and state for all gates, (n, gates · hidden) each."""
        raise Undefined(f"{type(self).__name__} has no gates", None, "define _step in it")

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """One state (n, hidden_size)."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _repr(self, *more: object) -> str:
        rows, size = self.i2h_weight._sizes
        return f"{type(self).__name__}({', '.join([f'{size or None} -> {rows}', *map(str, more)])})"

    def __repr__(self) -> str:
        return self._repr()


class RNNCell(_Cell):
    """``h' = activation(W_i x + b_i + W_h h + b_h)``.

    Parameters
    ----------
    hidden_size
        Size of the state and of the output.
    activation
        Name of the activation, or a function.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters; None for the model's.
    input_size
        Size of the input; inferred at the first step if 0.
    prefix, params
        See `Block`.
    """

    _gates: ClassVar[int] = 1

    def __init__(
        self,
        hidden_size: int,
        activation: Activation = "tanh",
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip
        self._activation = activation

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        both = named(F, "add", i2h, h2h, self._step_name("plus0"))
        output = self._get_activation(F, both, self._activation, name=self._step_name("out"))
        return output, [output]

    def __repr__(self) -> str:
        return self._repr(self._activation)


class LSTMCell(_Cell):
    """Long short-term memory: gates i, f, g, o; ``c' = f · c + i · g``, ``h' = o · tanh(c')``.

    Parameters
    ----------
    hidden_size
        Size of the states and of the output.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters; None for the model's.
    input_size
        Size of the input; inferred at the first step if 0.
    prefix, params
        See `Block`.
    activation, recurrent_activation
        Activations of g and c', and of the other gates: names or functions.

    Notes
    -----
    Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 9 (1997); with the forget gate of Gers, Schmidhuber and
    Cummins (2000).
    """

    _gates: ClassVar[int] = 4

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
    ) -> None:
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """The states h and c, (n, hidden_size) each."""
        return super().state_info(batch_size) * 2

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        # in MXNet's order i, f, g, o
        step = self._step_name("")
        parts = F.SliceChannel(named(F, "add", i2h, h2h, f"{step}plus0"), num_outputs=4, name=f"{step}slice")
        kinds = (self._recurrent_activation, self._recurrent_activation, self._activation, self._recurrent_activation)
        named_parts = zip(parts, kinds, "ifco", strict=True)
        i, f, g, o = [self._get_activation(F, part, kind, name=step + gate) for part, kind, gate in named_parts]
        # the states are (h, c)
        kept, new = named(F, "mul", f, states[1], f"{step}mul0"), named(F, "mul", i, g, f"{step}mul1")
        c = named(F, "add", kept, new, f"{step}state")
        # unlike the gates, always `Activation` in MXNet's graphs
        squashed = (
            self._activation(c) if callable(self._activation) else F.Activation(c, act_type=self._activation, name=f"{step}activation0")
        )
        h = named(F, "mul", o, squashed, f"{step}out")
        return h, [h, c]


class GRUCell(_Cell):
    """Gated recurrent unit: gates r, z, n; ``n = tanh(i_n + r · h_n)``, ``h' = (1 − z) · n + z · h``.

    Parameters
    ----------
    hidden_size
        Size of the state and of the output.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters; None for the model's.
    input_size
        Size of the input; inferred at the first step if 0.
    prefix, params
        See `Block`.

    Notes
    -----
    Cho et al., Learning phrase representations using RNN encoder-decoder, EMNLP 2014; as in cuDNN the reset gate is applied after
    the matrix product.
    """

    _gates: ClassVar[int] = 3

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        step = self._step_name("")
        z, n = gru_gates(F, i2h, h2h, step, partial(F.Activation, act_type="tanh"), named)
        # z keeps the old state, as in cuDNN; in the paper by Cho et al. too
        new, kept = named(F, "mul", rest_of(F, z, step), n, f"{step}mul1"), named(F, "mul", z, states[0], f"{step}mul20")
        output = named(F, "add", new, kept, f"{step}out")
        return output, [output]
