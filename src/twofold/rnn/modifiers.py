"""Cells that modify other cells: dropout, zoneout, residual connections."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import symbol as sym
from ..errors import InvalidValue, WrongType
from ..gluon.rnn.modifiers import unmodified
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol
from .base import Arrays, BaseRNNCell, RNNParams, StateInfo, States, Unrolled
from .sequences import Inputs, arranged, merged, steps_of


class DropoutCell(BaseRNNCell):
    """Zeroes random elements of the input in training; has no states.

    Parameters
    ----------
    dropout
        The fraction of elements to zero.
    prefix, params
        See `BaseRNNCell`.

    Raises
    ------
    DTypeError
        If the fraction is not a number.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, (int, float)):
            raise WrongType("dropout probability must be a number", repr(dropout), "pass a fraction between 0 and 1")
        self.dropout = dropout

    @property
    def state_info(self) -> list[StateInfo]:
        """An empty list: the cell has no states."""
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, Sequence[Symbol]]:
        """One step; see `BaseRNNCell`."""
        return (sym.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def _unroll(self, length: int, inputs: Inputs | None, begin_state: Any, layout: str, merge_outputs: bool | None) -> Unrolled:
        """Apply dropout to a sequence, in one operation if it is one symbol; see `BaseRNNCell.unroll`."""
        found = arranged(length, inputs, layout, merge_outputs)
        if isinstance(found, Symbol):
            return self(found, [])
        return super()._unroll(length, found, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base class of cells that modify another cell. They use its parameters and states.

    Parameters
    ----------
    base_cell
        The cell to modify. It can no longer start or be unrolled on its own.
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        self.base_cell = base_cell
        super().__init__()
        base_cell._modified = True

    def _children(self) -> Sequence[BaseRNNCell]:
        return (self.base_cell,)

    @property
    def params(self) -> RNNParams:
        """The variables of the base cell."""
        return self.base_cell.params

    @property
    def state_info(self) -> list[StateInfo]:
        """The states of the base cell."""
        return self.base_cell.state_info

    def begin_state(self, init_sym: Callable[..., Symbol] = sym.zeros, **kwargs: object) -> States:  # type: ignore[override]
        """The initial states of the base cell.

        Parameters
        ----------
        init_sym, **kwargs
            The function that creates a state, and its arguments; see `BaseRNNCell.begin_state`. ``func`` is another name of it.
        """
        self._check_unmodified()
        with unmodified(self.base_cell):
            return self.base_cell.begin_state(**{"func": init_sym, **kwargs})

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Split the packed weights of the base cell; see `BaseRNNCell.unpack_weights`."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Join the weights of the base cell's gates; see `BaseRNNCell.pack_weights`."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps random elements of output and states from the previous step, in training.

    Parameters
    ----------
    base_cell
        The cell to modify.
    zoneout_outputs, zoneout_states
        The fractions of elements to keep.

    Raises
    ------
    ParameterError
        If the base cell does not support single steps.

    Notes
    -----
    Krueger et al., Zoneout: regularizing RNNs by randomly preserving hidden activations, arXiv:1606.01305.
    """

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if base_cell._stepless is not None:
            raise InvalidValue(f"{type(base_cell).__name__} doesn't support zoneout", base_cell._prefix or None, base_cell._stepless)
        self.prev_output: Symbol | None = None
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states

    def reset(self) -> None:
        """Forget the previous output before another sequence."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, Sequence[Symbol]]:
        """One step; see `BaseRNNCell`."""
        output, new = self.base_cell(inputs, states)
        if self.zoneout_outputs:
            before = sym.zeros_like(output) if self.prev_output is None else self.prev_output
            output = _mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            new = [_mixed(self.zoneout_states, now, before) for now, before in zip(new, states, strict=True)]
        self.prev_output = output
        return output, new


def _mixed(rate: float, now: Symbol, before: Symbol) -> Symbol:
    """Random elements of the value before, all others of the value now."""
    # dropout of ones is a random mask, and all ones outside training
    return sym.where(sym.Dropout(sym.ones_like(now), p=rate), now, before)


class ResidualCell(ModifierCell):
    """Adds the input to the output.

    Parameters
    ----------
    base_cell
        The cell to modify, whose output has the size of its input.

    Notes
    -----
    Wu et al., Google's neural machine translation system, arXiv:1609.08144.
    """

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, Sequence[Symbol]]:
        """One step; see `BaseRNNCell`."""
        output, new = self.base_cell(inputs, states)
        return _sum(output, inputs), new

    def _unroll(self, length: int, inputs: Inputs | None, begin_state: Any, layout: str, merge_outputs: bool | None) -> Unrolled:
        """Run the base cell over a sequence and add the inputs; see `BaseRNNCell.unroll`."""
        with unmodified(self.base_cell):
            outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs)
        if isinstance(outputs, Symbol):
            return _sum(outputs, merged(length, inputs, layout)), states
        return [_sum(a, b) for a, b in zip(outputs, steps_of(length, inputs, layout), strict=True)], states


def _sum(output: Symbol, inputs: Symbol) -> Symbol:
    return sym.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
