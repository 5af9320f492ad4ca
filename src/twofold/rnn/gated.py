"""`GatedCell`: the common base of dense and convolutional cells; and the steps of plain cells, LSTMs and GRUs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from .. import symbol as sym
from ..errors import Undefined
from ..gluon.rnn.gates import Activation, gru_step, lstm_step
from ..initializer.fused_rnn import GATES
from ..symbol.symbol import Symbol
from .base import BaseRNNCell, StateInfo, States

LSTM_GATES, GRU_GATES = list(GATES["lstm"]), list(GATES["gru"])
#: The two orders of a cell's variables.
MAP_BY_MAP = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
WEIGHTS_FIRST = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")


class GatedCell(BaseRNNCell):
    """A cell whose gates are sums of a map of the input and a map of the first state; its class defines the step that follows."""

    _iW: Symbol
    _iB: Symbol
    _hW: Symbol
    _hB: Symbol
    _activation: Activation = "tanh"
    #: Parameters of the operator that splits gates.
    _split: Mapping[str, Any] = {}
    #: The suffixes of a step's name in the names of its two maps.
    _maps_suffix: ClassVar[str] = ""

    def _get_variables(self, *names: str, **initializers: object) -> None:
        """Create the variables of both maps, in the order that MXNet's cell of this class has; ``i2h_bias=…`` initializes one."""
        made = {name: self._params.get(name, **({"init": initializers[name]} if name in initializers else {})) for name in names}
        self._iW, self._iB, self._hW, self._hB = (made[name] for name in MAP_BY_MAP)

    def _maps(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """All gates of the input, and all gates of the state, side by side."""
        raise Undefined(f"{type(self).__name__} has no gates", None, "define _maps in it")

    def _state(self) -> StateInfo:
        """Shape and layout of each state."""
        raise Undefined(f"{type(self).__name__} does not define its states", None, "define _state in it")

    @property
    def state_info(self) -> list[StateInfo]:
        """The output; in an LSTM also the memory, which has the same shape."""
        return [self._state() for _ in range(2 if self._gate_names == LSTM_GATES else 1)]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, States]:
        """One step; see `BaseRNNCell`."""
        name = self._next_step()
        i2h, h2h = self._maps(inputs, states[0], name + self._maps_suffix)
        return self._step(i2h, h2h, states, name)

    def _step(self, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, States]:
        """A plain cell's step: the output is an activation of the sum."""
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


def long_short_term(self: GatedCell, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, States]:
    """The step of an LSTM, which its classes have as their method ``_step``."""
    gates = sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice", **self._split)
    return lstm_step(sym, gates, states[1], name, partial(self._get_activation, activation=self._activation))


def gated_recurrent(self: GatedCell, i2h: Symbol, h2h: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, States]:
    """The step of a GRU, which its classes have as their method ``_step``."""
    apply = partial(self._get_activation, activation=self._activation)
    return gru_step(sym, i2h, h2h, states[0], f"{name}_", apply, f"{name}out", **self._split)
