"""LSTM with projection, dropout with one mask per sequence, and unrolling over any number of steps."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from ....errors import InvalidValue
from ....imperative.array import Array
from ....symbol.symbol import Symbol
from ...numpy_arrays import through_legacy
from ...parameter_dict import ParameterDict
from ...rnn import BidirectionalCell, HybridRecurrentCell, ModifierCell, RecurrentCell
from ...rnn.gates import lstm_step
from ...rnn.modifiers import unmodified
from ...rnn.sequences import Unrolled, mask, merge, steps_of
from ...signatures import Functions, InitializerLike, Operand, StateInfo, functions_for

Value = TypeVar("Value", bound=Array | Symbol)


class LSTMPCell(HybridRecurrentCell, arrays="nd"):
    """`LSTMCell` whose output is a projection of its hidden state: ``r' = W_r (o · tanh(c'))``, which is fed back in place of h.

    Parameters
    ----------
    hidden_size
        Size of the state c.
    projection_size
        Size of the output and of the state r.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer
        Initializers of the weights of input, state and projection; None for the model's.
    i2h_bias_initializer, h2h_bias_initializer
        Initializers of the biases.
    input_size
        Size of the input; inferred at the first step if 0.
    prefix, params
        See `Block`.

    Notes
    -----
    Sak, Senior and Beaufays, Long short-term memory based recurrent neural network architectures for large vocabulary speech recognition,
    arXiv:1402.1128.

    Examples
    --------
    >>> import twofold as mx
    >>> cell = LSTMPCell(6, projection_size=3)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 4)), cell.begin_state(batch_size=2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3), (2, 6)])
    """

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        h2r_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size, self._projection_size = hidden_size, input_size, projection_size
        rows = 4 * hidden_size
        get = self.params.get
        self.i2h_weight = get("i2h_weight", shape=(rows, input_size), init=i2h_weight_initializer, allow_deferred_init=True)
        self.h2h_weight = get("h2h_weight", shape=(rows, projection_size), init=h2h_weight_initializer, allow_deferred_init=True)
        self.h2r_weight = get("h2r_weight", shape=(projection_size, hidden_size), init=h2r_weight_initializer, allow_deferred_init=True)
        self.i2h_bias = get("i2h_bias", shape=(rows,), init=i2h_bias_initializer, allow_deferred_init=True)
        self.h2h_bias = get("h2h_bias", shape=(rows,), init=h2h_bias_initializer, allow_deferred_init=True)

    def _alias(self) -> str:
        return "lstmp"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """The states r (n, projection_size) and c (n, hidden_size)."""
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in (self._projection_size, self._hidden_size)]

    def hybrid_forward(
        self,
        F: Functions,
        inputs: Operand,
        states: Sequence[Operand],
        i2h_weight: Operand,
        h2h_weight: Operand,
        h2r_weight: Operand,
        i2h_bias: Operand,
        h2h_bias: Operand,
    ) -> tuple[Operand, list[Operand]]:
        """The output (n, projection_size) and states of one step."""
        name, rows = self._step_name, 4 * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=name("i2h"))
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=name("h2h"))
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, name=name("slice"))
        # the LSTM's own h is not a state here: its projection r is fed back instead
        hidden, (_, c) = lstm_step(F, gates, states[1], name(""), partial(F.Activation, act_type="tanh"), "hidden")
        r = F.FullyConnected(hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=name("out"))
        return r, [r, c]

    def __repr__(self) -> str:
        rows, size = self.i2h_weight._sizes
        return f"{type(self).__name__}({size or None} -> {rows} -> {self._projection_size})"


class VariationalDropoutCell(ModifierCell, arrays="nd"):
    """Dropout in training whose masks are the same in all steps of a sequence.

    Parameters
    ----------
    base_cell
        The cell to modify.
    drop_inputs, drop_states, drop_outputs
        Fractions of the elements of inputs, of the first state, and of outputs to zero.

    Raises
    ------
    ParameterError
        If states should be dropped in a base cell that does not support single steps.

    Notes
    -----
    Gal and Ghahramani, A theoretically grounded application of dropout in recurrent neural networks, NIPS 2016. The masks are drawn in
    the first step after `reset`; so only the base cell is ever compiled, not this one. `unroll` draws those of inputs and outputs for
    itself if no states are dropped.
    """

    #: A compiled step would draw new masks each time.
    _is_compilable: ClassVar[bool] = False

    def __init__(self, base_cell: RecurrentCell, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0) -> None:
        if drop_states and any(isinstance(cell, BidirectionalCell) for cell in _with_descendants(base_cell)):
            raise InvalidValue(
                "BidirectionalCell doesn't support variational state dropout",
                None,
                "Please add VariationalDropoutCell to the cells underneath instead.",
            )
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs
        self.drop_inputs_mask: Any = None
        self.drop_states_mask: Any = None
        self.drop_outputs_mask: Any = None

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Draw new masks for another sequence."""
        super().reset()
        self.drop_inputs_mask = self.drop_states_mask = self.drop_outputs_mask = None

    def _masked(self, F: Functions, what: str, rate: float, value: Operand) -> Operand:
        """A value times its mask, which is drawn on first use; all ones outside training."""
        if not rate:
            return value
        mask = getattr(self, what)
        if mask is None:
            mask = F.Dropout(F.ones_like(value), p=rate)
            setattr(self, what, mask)
        return value * mask

    def hybrid_forward(self, F: Functions, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, Sequence[Operand]]:
        """The output and states of one step."""
        # Only the first state: masks on the memory of an LSTM would erase it step by step.
        states = [self._masked(F, "drop_states_mask", self.drop_states, states[0]), *states[1:]]
        inputs = self._masked(F, "drop_inputs_mask", self.drop_inputs, inputs)
        output, new = self.base_cell(inputs, states)
        return self._masked(F, "drop_outputs_mask", self.drop_outputs, output), new

    def _unroll_either(self, length: int, inputs: Any, begin_state: Any, layout: str, merges: bool | None, lengths: Any) -> Unrolled:
        if self.drop_states:
            return super()._unroll_either(length, inputs, begin_state, layout, merges, lengths)
        # The base cell, which may be one that cannot be stepped, runs over the whole sequence; masks have one step. In graphs the
        # names of nodes are MXNet's.
        if isinstance(inputs, (Array, Symbol)):
            F, whole = functions_for(inputs), inputs
        else:
            steps = steps_of(length, inputs, layout)
            F, whole = steps.F, merge(steps.F, steps.values, layout)
        with unmodified(self.base_cell):
            dropped = self._without_time(F, whole, self.drop_inputs, layout)
            outputs, states = self.base_cell.unroll(length, dropped, begin_state, layout, True, lengths)
        outputs = self._without_time(F, outputs, self.drop_outputs, layout)
        found: Any = steps_of(length, outputs, layout).values if merges is False else outputs
        if lengths is not None:
            found = mask(F, found, length, layout, lengths, is_merged=merges is not False)
        return found, states

    def _without_time(self, F: Functions, whole: Any, rate: float, layout: str) -> Any:
        """A sequence times a mask that is the same in all steps."""
        return F.Dropout(whole, p=rate, axes=(layout.find("T"),)) if rate else whole

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"


def _with_descendants(cell: Any) -> Iterator[Any]:
    yield cell
    for child in cell._children.values():
        yield from _with_descendants(child)


@through_legacy
def dynamic_unroll(
    cell: RecurrentCell,
    inputs: Value,
    begin_state: Sequence[Value],
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Value | None = None,
) -> tuple[Value, Sequence[Value]]:
    """Run a cell over a sequence by `foreach`: in a symbol the number of steps is not part of the graph.

    Parameters
    ----------
    cell
        The cell.
    inputs
        The sequence (t, n, …) or (n, t, …), by the layout.
    begin_state
        The initial states.
    drop_inputs, drop_outputs
        Fractions of elements of inputs and outputs to zero in training, the same ones in all steps.
    layout
        ``"TNC"`` or ``"NTC"``.
    valid_length
        Lengths (n,) of the sequences. Outputs beyond a length are 0, and states are those of the last valid step.

    Returns
    -------
    tuple
        Outputs in the same layout, and final states.

    Raises
    ------
    ParameterError
        If the layout is another one.

    Examples
    --------
    >>> import twofold as mx
    >>> cell = mx.gluon.rnn.GRUCell(5)
    >>> cell.initialize()
    >>> outputs, states = dynamic_unroll(cell, mx.nd.ones((3, 2, 4)), cell.begin_state(batch_size=2))
    >>> outputs.shape, states[0].shape
    ((3, 2, 5), (2, 5))
    """
    if layout not in ("TNC", "NTC"):
        raise InvalidValue("dynamic_unroll: unsupported layout", repr(layout), 'pass "TNC" or "NTC"')
    F = functions_for(inputs)
    sequence = F.swapaxes(inputs, dim1=0, dim2=1) if layout == "NTC" else inputs
    if drop_inputs:
        # one draw along the axis of time: the same mask in all steps
        sequence = F.Dropout(sequence, p=drop_inputs, axes=(0,))
    cell.reset()
    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, sequence, begin_state)
    else:

        def step(x: Any, carried: Sequence[Any]) -> tuple[Any, list[Any]]:
            # the step's number is carried as a state, since a loop's body has no access to it
            now, *before = carried
            output, after = cell(x, before)
            # a sequence that has ended keeps its states
            runs = F.broadcast_lesser(now, valid_length)
            return output, [now + 1, *(F.where(runs, new, old) for new, old in zip(after, before, strict=True))]

        outputs, (_, *states) = F.contrib.foreach(step, sequence, [F.zeros_like(valid_length), *begin_state])
        outputs = F.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=0)
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    return (F.swapaxes(outputs, dim1=0, dim2=1) if layout == "NTC" else outputs), states
