"""`FusedRNNCell`: a whole stack of recurrent layers over a whole sequence, as one operator."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from .. import symbol as sym
from ..errors import InvalidValue, Undefined
from ..initializer.fused_rnn import GATES, FusedRNN, PackedWeights
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol
from .base import Arrays, BaseRNNCell, RNNParams, StateInfo, States, Unrolled, missing_array, taken
from .cells import GRUCell, LSTMCell, RNNCell
from .containers import BidirectionalCell, SequentialRNNCell
from .modifiers import DropoutCell
from .sequences import Inputs, arranged, merged


class FusedRNNCell(BaseRNNCell):
    """A stack of recurrent layers that is unrolled as a single `RNN` operator. It has no single steps.

    Parameters
    ----------
    num_hidden, num_layers
        Size of each layer's output, and number of layers.
    mode
        ``"lstm"``, ``"gru"``, ``"rnn_tanh"`` or ``"rnn_relu"``.
    bidirectional
        Whether each layer also runs backwards; its outputs are the concatenation of both directions.
    dropout
        Fraction of each layer's outputs, but the last's, to zero in training.
    get_next_state
        Whether `unroll` returns the final states.
    forget_bias
        Initial value of the biases of an LSTM's forget gates.
    prefix, params
        See `BaseRNNCell`; the prefix is the mode if None.

    Raises
    ------
    ParameterError
        If the mode is unknown.

    Examples
    --------
    >>> import twofold as mx
    >>> cell = mx.rnn.FusedRNNCell(8, num_layers=2, mode="gru", prefix="gru_")
    >>> outputs, _ = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(4, 3, 5))[1]  # (n, t, c)
    [(4, 3, 8)]
    >>> [type(layer).__name__ for layer in cell.unfuse()._cells]
    ['GRUCell', 'GRUCell']
    """

    _stepless = "unfuse() it first"

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._forget_bias = forget_bias
        # the initializer travels as an attribute of the variable; the model's own fills in each gate
        init = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)  # refuses unknown modes
        self._gate_names = list(GATES[mode])
        self._parameter = self._params.get("parameters", init=init)
        self._parameter_name = f"{self._params._prefix}parameters"
        self._packed = PackedWeights(num_hidden, num_layers, mode, bidirectional)

    @property
    def state_info(self) -> list[StateInfo]:
        """One state (layers x directions, n, num_hidden), or two for an LSTM: output and memory."""
        shape = (self._num_layers * (2 if self._bidirectional else 1), 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, States]:
        """Not available: the operator computes whole sequences."""
        raise Undefined("FusedRNNCell cannot be stepped", self._prefix, "use unroll, or the cell that unfuse() returns")

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Split the packed vector into the weights of each layer, direction and gate; see `BaseRNNCell.unpack_weights`.

        The names are those of the cells of `unfuse`: ``lstm_l0_i2h_i_weight`` ….

        Raises
        ------
        KeyError
            If the vector is missing.
        ParameterError
            If its length fits no input size.
        """
        found = dict(args)
        vector = taken(found, self._parameter_name)
        size = self._packed.input_size(vector.size)
        if size is None:
            raise InvalidValue("Invalid parameters size for FusedRNNCell", f"{vector.size} in {self._parameter_name}", "check the cell")
        for name, piece in self._packed.pieces(vector, size):
            found[self._prefix + name] = piece.copy()
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Join the weights of each layer, direction and gate into the packed vector; see `BaseRNNCell.pack_weights`.

        Raises
        ------
        KeyError
            If an array of the cell is missing.
        """
        found = dict(args)
        first = f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"
        if first not in found:
            raise missing_array(first, found)
        like, size = found[first], found[first].shape[1]
        vector = nd.zeros((self._packed.length(size),), ctx=like.context, dtype=like.dtype)
        for name, piece in self._packed.pieces(vector, size):
            # the pieces are views of the vector, so writing them fills it
            piece[:] = taken(found, self._prefix + name)
        found[self._parameter_name] = vector
        return found

    def _unroll(self, length: int, inputs: Inputs | None, begin_state: Any, layout: str, merge_outputs: bool | None) -> Unrolled:
        """Run all layers over a sequence; see `BaseRNNCell.unroll`. There are no final states unless ``get_next_state``.

        Layout ``"TNC"`` needs no transposition.
        """
        sequence = merged(length, inputs, layout)
        batch_first = layout.find("T") == 1
        if batch_first:
            sequence = sym.swapaxes(sequence, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        rnn = sym.RNN(sequence, self._parameter, *states, name=f"{self._prefix}rnn", **self._layers())
        outputs, final = rnn, []
        if self._get_next_state:
            # a module joins the devices' outputs along the N of this layout
            rnn._set_attr(__layout__="LNC")
            outputs, final = rnn[0], [rnn[k + 1] for k in range(len(self.state_info))]
        if batch_first:
            outputs = sym.swapaxes(outputs, dim1=0, dim2=1)
        return arranged(length, outputs, layout, merge_outputs), final

    def _layers(self) -> dict[str, Any]:
        """The parameters of the `RNN` operator."""
        return {
            "state_size": self._num_hidden,
            "num_layers": self._num_layers,
            "bidirectional": self._bidirectional,
            "p": self._dropout,
            "state_outputs": self._get_next_state,
            "mode": self._mode,
        }

    def unfuse(self) -> SequentialRNNCell:
        """The same layers as cells that can be stepped and modified. Their weights are those that `unpack_weights` returns, packed."""
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            if self._bidirectional:
                left, right = (self._layer(f"{self._prefix}{side}{layer}_") for side in "lr")
                stack.add(BidirectionalCell(left, right, output_prefix=f"{self._prefix}bi_l{layer}_"))
            else:
                stack.add(self._layer(f"{self._prefix}l{layer}_"))
            # the operator drops between layers only
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _layer(self, prefix: str) -> BaseRNNCell:
        """One layer in one direction."""
        make: dict[str, Callable[[], BaseRNNCell]] = {
            "rnn_relu": lambda: RNNCell(self._num_hidden, activation="relu", prefix=prefix),
            "rnn_tanh": lambda: RNNCell(self._num_hidden, activation="tanh", prefix=prefix),
            "lstm": lambda: LSTMCell(self._num_hidden, prefix=prefix),
            "gru": lambda: GRUCell(self._num_hidden, prefix=prefix),
        }
        return make[self._mode]()
