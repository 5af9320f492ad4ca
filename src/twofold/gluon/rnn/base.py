"""`RecurrentCell`: one step of a recurrent network, and its unrolling over sequences."""

from collections.abc import Callable
from typing import Any

from ... import ndarray as nd
from ..block import Block
from ..exceptions import InvalidValue
from ..hybrid_block import HybridBlock
from ..numpy_arrays import as_active_class, method_through_legacy
from ..tracing import taken_by
from .sequences import initial_states, merge, steps_of

__all__ = ["HybridRecurrentCell", "RecurrentCell"]


class RecurrentCell(Block):
    """Base class of cells. Called with the input and states of a step, a cell returns the output and the next states.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the step counter before another sequence."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state; defined by subclasses.

        Parameters
        ----------
        batch_size
            Size of the batch axis; 0 if unknown.
        """
        raise InvalidValue(f"{type(self).__name__} has no state_info method", None, "define state_info(self, batch_size) in it")

    def _cells(self) -> list[Any]:
        """The children, which are cells."""
        return list(self._children.values())

    def _check_unmodified(self) -> None:
        """Raise if the cell is inside a modifier, which changes how its states start."""
        if self._modified:
            raise InvalidValue(
                "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly",
                self.name,
                "call the modifier cell",
            )

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any) -> list[Any]:
        """The initial states.

        Parameters
        ----------
        batch_size
            Size of the batch axis; 0 for symbols, which infer it.
        func
            The function that creates a state, such as `twofold.nd.zeros`, `twofold.sym.zeros` or `twofold.sym.Variable`.
        **kwargs
            Its other arguments, such as ``ctx`` or ``dtype``.

        Raises
        ------
        ParameterError
            If the cell is inside a modifier.
        """
        self._check_unmodified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(create_state(func, f"{self._prefix}begin_state_{self._init_counter}", {**info, **kwargs}))
        return states

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
        """Run the cell over a sequence.

        Parameters
        ----------
        length
            Number of steps.
        inputs
            An array or symbol with a time axis, or a list of steps.
        begin_state
            The initial states; zeros if None.
        layout
            Order of the axes: ``"NTC"`` or ``"TNC"``.
        merge_outputs
            Whether to return the outputs as one array with a time axis instead of a list of steps. None means a list, or one array
            with ``valid_length``.
        valid_length
            Lengths (n,) of the sequences. Outputs beyond a length are 0, and states are those of the last valid step.

        Returns
        -------
        tuple
            Outputs and final states.
        """
        self.reset()
        steps = steps_of(length, inputs, layout)
        F = steps.F
        states = initial_states(self, steps, begin_state)
        outputs, history = [], []
        for x in steps.values:
            output, states = self(x, states)
            outputs.append(output)
            history.append(states)
        if valid_length is None:
            return (merge(F, outputs, layout) if merge_outputs else outputs), states
        lengths = {"sequence_length": valid_length, "use_sequence_length": True}
        states = [F.SequenceLast(F.stack(*each, axis=0), axis=0, **lengths) for each in zip(*history, strict=True)]
        masked = F.SequenceMask(merge(F, outputs, layout), axis=layout.find("T"), **lengths)
        return (steps_of(length, masked, layout).values if merge_outputs is False else masked), states

    def forward(self, inputs: Any, states: Any) -> Any:
        """One step.

        Parameters
        ----------
        inputs
            The input (n, c).
        states
            A list of states.

        Returns
        -------
        tuple
            The output and the list of next states.
        """
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock, arrays="nd"):  # type: ignore[override]
    """Base class of cells that can be compiled. Subclasses define ``hybrid_forward(F, inputs, states, …)``.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One step; defined by subclasses."""
        return HybridBlock.hybrid_forward(self, F, x, *args, **kwargs)

    def _step_name(self, what: str) -> str:
        """The name of a node in the current step."""
        return f"t{self._counter}_{what}"


def create_state(func: Callable[..., Any], name: str, info: dict[str, Any]) -> Any:
    """Create a state with a function, passing only the arguments that it accepts."""
    names, takes_all = taken_by(func)
    given = {"name": name, **info}
    return as_active_class(func(**{k: v for k, v in given.items() if takes_all or k in names}))
