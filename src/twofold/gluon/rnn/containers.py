"""Cells made of other cells: one after the other, or one for each direction."""

from collections.abc import Iterator
from typing import Any

from ... import ndarray as nd
from ..numpy_arrays import method_through_legacy
from ..refusals import Refused, Undefined
from .base import HybridRecurrentCell, RecurrentCell
from .sequences import first_states, merged, steps_of

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _Stack(RecurrentCell):
    """What both kinds of sequence of cells have."""

    def add(self, cell: RecurrentCell) -> None:
        """Add a cell at the end."""
        self.register_child(cell)

    def _cells(self) -> list[Any]:
        return list(self._children.values())

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states of all cells, one after the other."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The first states of all cells; see `RecurrentCell.begin_state`."""
        self._check_unmodified()
        return [state for cell in self._cells() for state in cell.begin_state(**kwargs)]

    def _check_unmodified(self) -> None:
        if self._modified:
            raise Refused(
                "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly",
                self.name,
                "call the modifier cell",
            )

    def _with_states(self, states: Any) -> Iterator[tuple[Any, Any]]:
        """Each cell with its own states."""
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
        """Run the cells over a sequence, one cell after the other; see `RecurrentCell.unroll`."""
        self.reset()
        steps = steps_of(length, inputs, layout)
        states = first_states(self, steps, begin_state)
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
    """Cells one after the other.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def __call__(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """The last cell's output, and the states of all."""
        self._counter += 1
        return self._step(inputs, states)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):  # type: ignore[override]
    """Hybrid cells one after the other, which may be compiled together.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def __call__(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """The last cell's output, and the states of all."""
        return HybridRecurrentCell.__call__(self, inputs, states)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:  # type: ignore[override]
        """The last cell's output, and the states of all."""
        return self._step(inputs, states)


class BidirectionalCell(HybridRecurrentCell):
    """Two cells that run over a sequence from both ends; outputs are joined on the last axis. It can only be unrolled.

    Parameters
    ----------
    l_cell, r_cell
        The cells from the beginning and from the end.
    output_prefix
        What names of outputs begin with, in symbols.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        """Not possible.

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
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]  # type: ignore[attr-defined]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The first states of both cells; see `RecurrentCell.begin_state`."""
        if self._modified:
            raise Refused(
                "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly",
                self.name,
                "call the modifier cell",
            )
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]  # type: ignore[attr-defined]

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
        states = first_states(self, steps, begin_state)
        left, right = self._children.values()
        count = len(left.state_info())  # type: ignore[attr-defined]
        forth, first = left.unroll(length, steps.values, states[:count], layout, False, valid_length)  # type: ignore[attr-defined]
        turned = _turned(F, length, steps.values, layout, valid_length)
        back, second = right.unroll(length, turned, states[count:], layout, False, valid_length)  # type: ignore[attr-defined]
        back = _turned(F, length, back, layout, valid_length)
        outputs = [
            F.concat(a, b, dim=1, name=f"{self._output_prefix}t{k}") if F is not nd else F.concat(a, b, dim=1)
            for k, (a, b) in enumerate(zip(forth, back, strict=True))
        ]
        merge = merge_outputs or (merge_outputs is None and valid_length is not None)
        return (merged(F, outputs, layout) if merge else outputs), [*first, *second]


def _turned(F: Any, length: int, steps: Any, layout: str, valid_length: Any) -> list[Any]:
    """Steps from last to first; of shorter sequences only those within their length."""
    if valid_length is None:
        return list(reversed(steps))
    whole = F.SequenceReverse(F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True)
    return steps_of(length, whole, "TNC").values
