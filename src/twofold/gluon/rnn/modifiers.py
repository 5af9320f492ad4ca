"""Cells that modify other cells: dropout, zoneout, residual connections."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar, Protocol

from ... import ndarray as nd
from ...errors import InvalidValue
from ..parameter_dict import ParameterDict
from ..signatures import Functions, Operand, StateInfo, functions_for
from ..tracing import ARRAYS
from .base import HybridRecurrentCell, RecurrentCell, State
from .containers import BidirectionalCell
from .gates import named
from .sequences import Unrolled, mask, merge, steps_of


class DropoutCell(HybridRecurrentCell, arrays="nd"):
    """Zeroes random elements of the input in training; has no states.

    Parameters
    ----------
    rate
        The fraction of elements to zero.
    axes
        Axes along which all elements share one draw.
    prefix, params
        See `Block`.
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        if not isinstance(rate, Real):
            raise InvalidValue("rate must be a number", repr(rate), "pass a fraction between 0 and 1")
        self._rate = rate
        self._axes = axes

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """An empty list: the cell has no states."""
        return []

    def hybrid_forward(self, F: Functions, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, Sequence[Operand]]:
        """The output and states of one step."""
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=self._step_name("fwd"))
        return inputs, states

    def _unroll_either(self, length: int, inputs: Any, begin_state: Any, layout: str, merges: bool | None, lengths: Any) -> Unrolled:
        if merges is False or (merges is None and isinstance(inputs, Sequence)):
            # as below and in MXNet, steps after a sequence's end are not masked: a cell after this one masks its own
            return super()._unroll_either(length, inputs, begin_state, layout, merges, None)
        # a whole sequence in one operation
        whole = merge(functions_for(inputs[0]), inputs, layout) if isinstance(inputs, Sequence) else inputs
        return self.hybrid_forward(functions_for(whole), whole, [] if begin_state is None else begin_state)


class Modifiable(Protocol):
    """A cell that may be inside a modifier."""

    _modified: bool


@contextmanager
def unmodified(cell: Modifiable) -> Iterator[None]:
    """While a modifier itself calls its base cell, which refuses direct calls."""
    cell._modified = False
    try:
        yield
    finally:
        cell._modified = True


class ModifierCell(HybridRecurrentCell):
    """Base class of cells that modify another cell and use its parameters and states.

    Parameters
    ----------
    base_cell
        The cell to modify.
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        base_cell._modified = True
        # no parameters of its own: `params` below is the base cell's
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """The parameters of the base cell."""
        # The base class's constructor asks before the base cell is set.
        return self.base_cell.params if "base_cell" in vars(self) else self._params

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """The states of the base cell."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, batch_size: int = 0, func: Callable[..., State] = nd.zeros, **kwargs: object) -> list[State]:
        """The initial states of the base cell; see `RecurrentCell.begin_state`."""
        self._check_unmodified()
        with unmodified(self.base_cell):
            return self.base_cell.begin_state(batch_size=batch_size, func=func, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell!r})"


class ZoneoutCell(ModifierCell, arrays="nd"):
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
    Krueger et al., Zoneout, ICLR 2017. The previous output is not an input of the cell, so only the base cell is ever compiled, not
    this one. Inside an outer cell that is compiled, each step counts as the first of its sequence.
    """

    #: A compiled step could not see the previous output, which is an attribute.
    _is_compilable: ClassVar[bool] = False

    def __init__(self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise InvalidValue(
                "BidirectionalCell doesn't support zoneout since it doesn't support step",
                None,
                "add ZoneoutCell to the cells underneath instead",
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self._prev_output: Any = None

    def _alias(self) -> str:
        return "zoneout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell!r})"

    def reset(self) -> None:
        """Forget the previous steps before another sequence."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Functions, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, Sequence[Operand]]:
        """The output and states of one step."""
        output, new = self.base_cell(inputs, states)

        def mix(rate: float, now: Operand, before: Operand) -> Operand:
            # Dropout of ones is a random mask, and all ones outside training.
            return F.where(F.Dropout(F.ones_like(now), p=rate), now, before)

        if self.zoneout_outputs:
            # before the first step the output counts as zeros, like the states
            before = F.zeros_like(output) if self._prev_output is None else self._prev_output
            output = mix(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            # each element of each state on its own draw
            new = [mix(self.zoneout_states, now, before) for now, before in zip(new, states, strict=True)]
        self._prev_output = output
        return output, new


class ResidualCell(ModifierCell, arrays="nd"):
    """Adds the input to the output.

    Parameters
    ----------
    base_cell
        The cell to modify, whose output has the size of its input.

    Notes
    -----
    Wu et al., Google's neural machine translation system, arXiv:1609.08144.
    """

    def hybrid_forward(self, F: Functions, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, Sequence[Operand]]:
        """The output and states of one step."""
        output, new = self.base_cell(inputs, states)
        return named(F, "add", output, inputs, self._step_name("fwd")), new

    def _unroll_either(self, length: int, inputs: Any, begin_state: Any, layout: str, merges: bool | None, lengths: Any) -> Unrolled:
        with unmodified(self.base_cell):
            outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merges, lengths)
        is_merged = isinstance(outputs, ARRAYS)
        F = functions_for(outputs if is_merged else outputs[0])
        # The base cell's outputs beyond a sequence's length are 0, and stay 0 only if no inputs are added there.
        if lengths is not None:
            inputs = mask(F, inputs, length, layout, lengths, is_merged=is_merged)
        if is_merged:
            return F.elemwise_add(outputs, inputs if isinstance(inputs, ARRAYS) else merge(F, inputs, layout)), states
        return [F.elemwise_add(a, b) for a, b in zip(outputs, steps_of(length, inputs, layout).values, strict=True)], states
