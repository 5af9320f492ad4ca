"""Cells that combine other cells: sequences, and pairs that run in both directions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ... import ndarray as nd
from ... import symbol as sym
from ...errors import Undefined
from ...symbol import Symbol
from ..signatures import Functions, Given, Operand, StateInfo
from .base import HybridRecurrentCell, RecurrentCell, State
from .sequences import Steps, Unrolled, mask, merge, steps_of


class _Composite(RecurrentCell):
    """The base of cells made of other cells, whose states are those of all parts, in order."""

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """The states of all cells, in order."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size: int = 0, func: Callable[..., State] = nd.zeros, **kwargs: object) -> list[State]:
        """The initial states of all cells; see `RecurrentCell.begin_state`."""
        self._check_unmodified()
        # Each part makes its states, not `state_info`: parts name their states, and may initialize them differently.
        return [state for cell in self._cells() for state in cell.begin_state(batch_size=batch_size, func=func, **kwargs)]


class _Stack(_Composite):
    """The base of both kinds of sequence."""

    def add(self, cell: RecurrentCell) -> None:
        """Add a cell at the end."""
        self.register_child(cell)

    def _with_states(self, states: Sequence[Any]) -> Iterator[tuple[Any, Sequence[Any]]]:
        """(cell, its states) pairs."""
        start = 0
        for cell in self._cells():
            stop = start + len(cell.state_info())
            yield cell, states[start:stop]
            start = stop

    def _step(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        next_states: list[Any] = []
        for cell, own in self._with_states(states):
            # each cell's output is the next one's input, in the same step
            inputs, new = cell(inputs, own)
            next_states.extend(new)
        return inputs, next_states

    def _unroll_either(self, length: int, inputs: Any, begin_state: Any, layout: str, merges: bool | None, lengths: Any) -> Unrolled:
        if not isinstance(inputs, Symbol):
            return super()._unroll_either(length, inputs, begin_state, layout, merges, lengths)
        # the first cell gets the symbol as it is: some cells need not split it, and graphs have MXNet's nodes
        states = self.begin_state(func=sym.zeros, batch_size=0) if begin_state is None else begin_state
        return self._unroll_each(length, inputs, states, layout, merges, lengths)

    def _unroll(self, steps: Steps, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any) -> Unrolled:
        states = self._initial_states(steps, begin_state)
        return self._unroll_each(len(steps.values), steps.values, states, layout, merge_outputs, valid_length)

    def _unroll_each(self, length: int, values: Any, states: Any, layout: str, merge_outputs: bool | None, valid_length: Any) -> Unrolled:
        """Run each cell over the whole sequence before the next: a bidirectional cell among them cannot be stepped."""
        next_states: list[Any] = []
        # inner cells may return outputs in any form: only the last cell's outputs go to the caller
        last = len(self._children) - 1
        for k, (cell, own) in enumerate(self._with_states(states)):
            values, new = cell.unroll(length, values, own, layout, None if k < last else merge_outputs, valid_length)
            next_states.extend(new)
        return values, next_states

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, i: int) -> Any:
        return self._cells()[i]

    def __repr__(self) -> str:
        lines = "\n".join("({}): {}".format(name, repr(cell).replace("\n", "\n  ")) for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"


class SequentialRNNCell(_Stack):
    """Runs cells one after another in each step.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def forward(self, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        """The output of the last cell, and the states of all cells."""
        self._counter += 1
        return self._step(inputs, states)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell, arrays="nd"):
    """Runs hybrid cells one after another in each step; they can be compiled into one graph.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def hybrid_forward(self, F: Functions, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        """The output of the last cell, and the states of all cells."""
        return self._step(inputs, states)


class BidirectionalCell(_Composite, HybridRecurrentCell, arrays="nd"):
    """Runs two cells over a sequence from both ends and concatenates their outputs. It can only be unrolled.

    Parameters
    ----------
    l_cell, r_cell
        The cells that run forward and backward.
    output_prefix
        Prefix of the names of outputs in symbols.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def forward(self, inputs: Operand, states: Sequence[Operand]) -> NoReturn:
        """Not supported: the backward cell needs the whole sequence.

        Raises
        ------
        MXNetError
            Always.
        """
        raise Undefined("Bidirectional cannot be stepped", None, "use unroll")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self._children['l_cell']!r}, backward={self._children['r_cell']!r})"

    def _unroll(self, steps: Steps, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any) -> Unrolled:
        F, length = steps.F, len(steps.values)
        reversed_steps = _reverse(F, steps.values, valid_length)
        states = self._initial_states(steps, begin_state)
        left, right = self._cells()
        count = len(left.state_info())
        forward, left_states = left.unroll(length, steps.values, states[:count], layout, merge_outputs, valid_length)
        backward, right_states = right.unroll(length, reversed_steps, states[count:], layout, False, valid_length)
        # back into the order of time, to match the forward outputs
        backward = _reverse(F, backward, valid_length)

        def concatenated(a: Operand, b: Operand, axis: int, name: str) -> Operand:
            # Functions of arrays have no names; those of symbols do, and MXNet's files have these.
            return F.concat(a, b, dim=axis, **({} if F is Given.nd else {"name": self._output_prefix + name}))

        in_steps = isinstance(forward, Sequence)
        if in_steps:
            outputs = [concatenated(a, b, 1, f"t{k}") for k, (a, b) in enumerate(zip(forward, backward, strict=True))]
        else:
            outputs = concatenated(forward, merge(F, backward, layout), 2, "out")
        if valid_length is not None:
            outputs = mask(F, outputs, length, layout, valid_length, is_merged=not in_steps)
        return outputs, [*left_states, *right_states]


def _reverse(F: Functions, steps: Sequence[Any], valid_length: Any) -> list[Any]:
    """Reverse the order of steps, in shorter sequences only up to their length."""
    # a flat list of steps needs no operator
    if valid_length is None:
        return list(reversed(steps))
    whole = F.SequenceReverse(F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True)
    return steps_of(len(steps), whole, "TNC").values
