"""Cells that combine other cells: sequences, and pairs that run in both directions."""

from collections.abc import Iterator
from typing import Any

from ... import ndarray as nd
from ..exceptions import Undefined
from ..numpy_arrays import method_through_legacy
from .base import HybridRecurrentCell, RecurrentCell
from .sequences import initial_states, merge, steps_of

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _Stack(RecurrentCell):
    """The base of both kinds of sequence."""

    def add(self, cell: RecurrentCell) -> None:
        """Add a cell at the end."""
        self.register_child(cell)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states of all cells, in order."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The initial states of all cells; see `RecurrentCell.begin_state`."""
        self._check_unmodified()
        return [state for cell in self._cells() for state in cell.begin_state(**kwargs)]

    def _with_states(self, states: Any) -> Iterator[tuple[Any, Any]]:
        """(cell, its states) pairs."""
        at = 0
        for cell in self._cells():
            count = len(cell.state_info())
            yield cell, states[at : at + count]
            at += count

    def _step(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        found: list[Any] = []
        for cell, own in self._with_states(states):
            inputs, new = cell(inputs, own)
            found.extend(new)
        return inputs, found

    @method_through_legacy
    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """Run each cell over the whole sequence before the next; see `RecurrentCell.unroll`."""
        self.reset()
        steps = steps_of(length, inputs, layout)
        states = initial_states(self, steps, begin_state)
        found: list[Any] = []
        values: Any = steps.values
        last = len(self._children) - 1
        for k, (cell, own) in enumerate(self._with_states(states)):
            values, new = cell.unroll(length, values, own, layout, None if k < last else merge_outputs, valid_length)
            found.extend(new)
        return values, found

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

    def __call__(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """The output of the last cell, and the states of all cells."""
        self._counter += 1
        return self._step(inputs, states)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell, arrays="nd"):  # type: ignore[override]
    """Runs hybrid cells one after another in each step; they can be compiled into one graph.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def __call__(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """The output of the last cell, and the states of all cells."""
        return HybridRecurrentCell.__call__(self, inputs, states)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:  # type: ignore[override]
        """The output of the last cell, and the states of all cells."""
        return self._step(inputs, states)


class BidirectionalCell(HybridRecurrentCell):
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

    def __call__(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """Not supported: the backward cell needs the whole sequence.

        Raises
        ------
        MXNetError
            Always.
        """
        raise Undefined("Bidirectional cannot be stepped", None, "use unroll")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self._children['l_cell']!r}, backward={self._children['r_cell']!r})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states of both cells."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The initial states of both cells; see `RecurrentCell.begin_state`."""
        self._check_unmodified()
        return [state for cell in self._cells() for state in cell.begin_state(**kwargs)]

    @method_through_legacy
    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """Run both cells over a sequence; see `RecurrentCell.unroll`."""
        self.reset()
        steps = steps_of(length, inputs, layout)
        F = steps.F
        states = initial_states(self, steps, begin_state)
        left, right = self._cells()
        count = len(left.state_info())
        forward, left_states = left.unroll(length, steps.values, states[:count], layout, False, valid_length)
        reversed_steps = _reverse(F, length, steps.values, valid_length)
        backward, right_states = right.unroll(length, reversed_steps, states[count:], layout, False, valid_length)
        backward = _reverse(F, length, backward, valid_length)
        outputs = [
            F.concat(a, b, dim=1, name=f"{self._output_prefix}t{k}") if F is not nd else F.concat(a, b, dim=1)
            for k, (a, b) in enumerate(zip(forward, backward, strict=True))
        ]
        merges = merge_outputs or (merge_outputs is None and valid_length is not None)
        return (merge(F, outputs, layout) if merges else outputs), [*left_states, *right_states]


def _reverse(F: Any, length: int, steps: Any, valid_length: Any) -> list[Any]:
    """Reverse the order of steps, in shorter sequences only up to their length."""
    if valid_length is None:
        return list(reversed(steps))
    whole = F.SequenceReverse(F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True)
    return steps_of(length, whole, "TNC").values
