"""Cells made of cells: stacks, and pairs that run in both directions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import symbol as sym
from ..errors import InvalidValue, Undefined
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol
from .base import Arrays, BaseRNNCell, RNNParams, StateInfo, States, Unrolled
from .sequences import Inputs, merged, steps_of


class _Container(BaseRNNCell):
    """A cell made of other cells. Its states are their states, one after another."""

    def __init__(self, params: RNNParams | None) -> None:
        self._cells: list[BaseRNNCell] = []
        self._override_cell_params = params is not None
        super().__init__(prefix="", params=params)

    def _adopt(self, cell: BaseRNNCell) -> None:
        """Add a cell, and share variables with it.

        Raises
        ------
        ParameterError
            If both it and this container were given ``params``.
        """
        if self._override_cell_params:
            if not cell._own_params:
                name = type(self).__name__
                raise InvalidValue(f"Either specify params for {name} or child cells, not both", cell._prefix, "give them to one of both")
            cell.params._params.update(self._params._params)
        self._params._params.update(cell.params._params)
        self._cells.append(cell)

    def _children(self) -> Sequence[BaseRNNCell]:
        return self._cells

    @property
    def state_info(self) -> list[StateInfo]:
        """The states of the cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: object) -> States:
        """The initial states of the cells; see `BaseRNNCell.begin_state`."""
        self._check_unmodified()
        return [state for cell in self._cells for state in cell.begin_state(func=func, **kwargs)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Split the packed weights of the cells; see `BaseRNNCell.unpack_weights`."""
        found = dict(args)
        for cell in self._cells:
            found = cell.unpack_weights(found)
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Join the weights of the cells' gates; see `BaseRNNCell.pack_weights`."""
        found = dict(args)
        for cell in self._cells:
            found = cell.pack_weights(found)
        return found


class SequentialRNNCell(_Container):
    """A stack of cells. The output of one cell is the input of the next.

    Parameters
    ----------
    params
        See `BaseRNNCell`.

    Examples
    --------
    >>> import twofold as mx
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> stack.add(mx.rnn.GRUCell(4, prefix="low_"))
    >>> stack.add(mx.rnn.DropoutCell(0.5))
    >>> stack.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="high_")))
    >>> stack.state_shape
    [(0, 4), (0, 4)]
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Add a cell at the top.

        Raises
        ------
        ParameterError
            If both it and the stack were given ``params``.
        """
        self._adopt(cell)

    def _with_states(self, states: Sequence[Symbol]) -> Iterator[tuple[BaseRNNCell, Sequence[Any]]]:
        """Each cell with its own states."""
        start = 0
        for cell in self._cells:
            end = start + len(cell.state_info)
            yield cell, states[start:end]
            start = end

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, States]:
        """One step of each cell; see `BaseRNNCell`."""
        self._counter += 1
        final: States = []
        for cell, own in self._with_states(states):
            inputs, new = cell(inputs, own)
            final += new
        return inputs, final

    def _unroll(self, length: int, inputs: Inputs | None, begin_state: Any, layout: str, merge_outputs: bool | None) -> Unrolled:
        """Run one cell after another over a sequence; see `BaseRNNCell.unroll`.

        Raises
        ------
        ParameterError
            If there are no cells.
        """
        if not self._cells:
            raise InvalidValue("SequentialRNNCell.unroll: there are no cells", None, "add() some")
        states = self.begin_state() if begin_state is None else begin_state
        final: States = []
        outputs: Any = inputs
        for cell, own in self._with_states(states):
            merge = merge_outputs if cell is self._cells[-1] else None
            outputs, new = cell.unroll(length, outputs, own, layout, merge)
            final += new
        return outputs, final


class BidirectionalCell(_Container):
    """Two cells that run in opposite directions; the output is the concatenation of both.

    Parameters
    ----------
    l_cell, r_cell
        The cell that runs forwards, and the one that runs backwards.
    params
        See `BaseRNNCell`.
    output_prefix
        Prefix of the outputs' names.

    Raises
    ------
    ParameterError
        If both this and a cell were given ``params``.

    Examples
    --------
    >>> import twofold as mx
    >>> both = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(4, prefix="l_"), mx.rnn.GRUCell(3, prefix="r_"))
    >>> outputs, _ = both.unroll(5, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 6))[1]
    [(2, 5, 7)]
    """

    _stepless = "add ZoneoutCell to the cells underneath"

    def __init__(self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None, output_prefix: str = "bi_") -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._adopt(l_cell)
        self._adopt(r_cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, States]:
        """Not available: the backward cell starts at the end."""
        raise Undefined("Bidirectional cannot be stepped", None, "use unroll")

    def _unroll(self, length: int, inputs: Inputs | None, begin_state: Any, layout: str, merge_outputs: bool | None) -> Unrolled:
        """Run both cells over a sequence; see `BaseRNNCell.unroll`. The final states are two lists, one of each cell."""
        steps = steps_of(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        l_cell, r_cell = self._cells
        count = len(l_cell.state_info)
        left, l_states = l_cell.unroll(length, steps, states[:count], layout, merge_outputs)
        right, r_states = r_cell.unroll(length, steps[::-1], states[count:], layout, merge_outputs)
        if merge_outputs is None:
            merge_outputs = isinstance(left, Symbol) and isinstance(right, Symbol)
        if merge_outputs:
            backwards = sym.reverse(merged(length, right, layout), axis=layout.find("T"))
            return sym.Concat(merged(length, left, layout), backwards, dim=2, name=f"{self._output_prefix}out"), [l_states, r_states]
        pairs = zip(steps_of(length, left, layout), steps_of(length, right, layout)[::-1], strict=True)
        outputs = [sym.Concat(a, b, dim=1, name=f"{self._output_prefix}t{k}") for k, (a, b) in enumerate(pairs)]
        return outputs, [l_states, r_states]
