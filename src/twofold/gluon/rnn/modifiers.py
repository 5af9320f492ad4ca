"""Cells that modify other cells: dropout, zoneout, residual connections."""

from collections.abc import Callable
from typing import Any

from ... import ndarray as nd
from ... import symbol as sym
from ...ndarray.array import NDArray
from ..exceptions import InvalidValue
from ..numpy_arrays import method_through_legacy
from ..parameter_dict import ParameterDict
from ..tracing import ARRAYS
from .base import HybridRecurrentCell
from .containers import BidirectionalCell
from .sequences import merge, steps_of

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


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

    def __init__(self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        if not isinstance(rate, (int, float)):
            raise InvalidValue("rate must be a number", repr(rate), "pass a fraction between 0 and 1")
        self._rate = rate
        self._axes = axes

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """An empty list: the cell has no states."""
        return []

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:  # type: ignore[override]
        """The output and states of one step."""
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=self._step_name("fwd"))
        return inputs, states

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
        """Apply dropout to a whole sequence at once if input and output are single arrays; see `RecurrentCell.unroll`."""
        if isinstance(inputs, ARRAYS) and merge_outputs is not False:
            self.reset()
            F = nd if isinstance(inputs, NDArray) else sym
            return self.hybrid_forward(F, inputs, [] if begin_state is None else begin_state)
        return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)


class ModifierCell(HybridRecurrentCell):
    """Base class of cells that modify another cell and use its parameters and states.

    Parameters
    ----------
    base_cell
        The cell to modify.
    """

    def __init__(self, base_cell: Any) -> None:
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """The parameters of the base cell."""
        return self.base_cell.params if "base_cell" in vars(self) else self._params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states of the base cell."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Callable[..., Any] = nd.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The initial states of the base cell; see `RecurrentCell.begin_state`."""
        self._check_unmodified()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

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

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
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

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:  # type: ignore[override]
        """Run the base cell as a compiled graph; see `HybridBlock.hybridize`."""
        super().hybridize(active, **kwargs)
        self._active = False

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:  # type: ignore[override]
        """The output and states of one step."""
        output, new = self.base_cell(inputs, states)

        def mix(rate: float, now: Any, before: Any) -> Any:
            return F.where(F.Dropout(F.ones_like(now), p=rate), now, before)

        if self.zoneout_outputs:
            before = F.zeros_like(output) if self._prev_output is None else self._prev_output
            output = mix(self.zoneout_outputs, output, before)
        if self.zoneout_states:
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

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:  # type: ignore[override]
        """The output and states of one step."""
        output, new = self.base_cell(inputs, states)
        return output + inputs, new

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
        """Run the cell over a sequence and add the inputs; see `RecurrentCell.unroll`."""
        self.reset()
        steps = steps_of(length, inputs, layout)
        F = steps.F
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(length, steps.values, begin_state, layout, False, valid_length)
        finally:
            self.base_cell._modified = True
        given = steps.values
        if valid_length is not None:
            masked = F.SequenceMask(merge(F, given, layout), sequence_length=valid_length, use_sequence_length=True, axis=layout.find("T"))
            given = steps_of(length, masked, layout).values
        sums = [a + b for a, b in zip(outputs, given, strict=True)]
        return (merge(F, sums, layout) if merge_outputs else sums), states
