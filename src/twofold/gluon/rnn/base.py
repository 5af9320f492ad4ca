"""`RecurrentCell`: one step of a recurrent network, and its unrolling over sequences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ... import ndarray as nd
from ... import symbol as sym
from ...errors import InvalidValue, Undefined
from ...numpy_extension import is_np_array
from ..block import Block
from ..hybrid_block import HybridBlock
from ..numpy_arrays import as_active_class, as_legacy, as_numpy, method_through_legacy
from ..parameter_dict import ParameterDict
from ..signatures import Functions, Given, Operand, StateInfo
from ..tracing import parameter_names
from .gates import Activation
from .sequences import Steps, Unrolled, mask, merge, steps_of

State = TypeVar("State")


class RecurrentCell(Block):
    """Base class of cells. Called with the input and states of a step, a cell returns the output and the next states.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
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

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Shape and layout of each state; defined by subclasses.

        Parameters
        ----------
        batch_size
            Size of the batch axis; 0 if unknown.
        """
        raise Undefined(f"{type(self).__name__} has no state_info method", None, "define state_info(self, batch_size) in it")

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

    def begin_state(self, batch_size: int = 0, func: Callable[..., State] = nd.zeros, **kwargs: object) -> list[State]:
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
            # states are numbered over all calls since `reset`, as MXNet names them
            self._init_counter += 1
            states.append(create_state(func, f"{self._prefix}begin_state_{self._init_counter}", {**info, **kwargs}))
        return states

    @method_through_legacy
    def unroll(
        self,
        length: int,
        inputs: Operand | Sequence[Operand],
        begin_state: Sequence[Operand] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Operand | None = None,
    ) -> tuple[Operand | list[Operand], Sequence[Operand]]:
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
        return self._unroll_either(length, inputs, begin_state, layout, merge_outputs, valid_length)

    def _unroll_either(self, length: int, inputs: Any, begin_state: Any, layout: str, merges: bool | None, lengths: Any) -> Unrolled:
        """`unroll` for a sequence in either form: one value, or a list of steps."""
        return self._unroll(steps_of(length, inputs, layout), begin_state, layout, merges, lengths)

    def _unroll(self, steps: Steps, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any) -> Unrolled:
        """`unroll` for a sequence that is split into steps."""
        F = steps.F
        states = self._initial_states(steps, begin_state)
        # all states are kept, as each sequence's last valid step is another one
        outputs, history = [], []
        for x in steps.values:
            output, states = self(x, states)
            outputs.append(output)
            history.append(states)
        if valid_length is None:
            return (merge(F, outputs, layout) if merge_outputs else outputs), states
        # The cell runs beyond the end of shorter sequences too; of each state, the last valid one is selected afterwards.
        lengths = {"sequence_length": valid_length, "use_sequence_length": True}
        states = [F.SequenceLast(F.stack(*each, axis=0), axis=0, **lengths) for each in zip(*history, strict=True)]
        return mask(F, outputs, len(outputs), layout, valid_length, is_merged=merge_outputs is not False), states

    def _initial_states(self, steps: Steps, given: Sequence[Any] | None) -> Sequence[Any]:
        """The given initial states, or zeros."""
        if given is not None:
            return given
        if steps.F is Given.sym:
            # 0: the graph infers the batch size when it is bound
            return self.begin_state(func=sym.zeros, batch_size=0)
        # zeros of the input's device and dtype, which may be float16
        like = steps.values[0]
        return as_legacy(self.begin_state(func=nd.zeros, batch_size=steps.batch_size, ctx=like.context, dtype=like.dtype))

    def _get_activation(self, F: Functions, inputs: Any, activation: Activation, **kwargs: Any) -> Any:
        """Apply an activation, given by name or as a function; the other argument may be the ``name`` of the node."""
        if not isinstance(activation, str):
            return activation(inputs)
        # MXNet's graphs have the operators of these names, and `Activation` for all others.
        if activation in ("tanh", "sigmoid", "relu", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        return F.Activation(inputs, act_type=activation, **kwargs)

    def forward(self, inputs: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
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

    def _step_name(self, what: str) -> str:
        """The name of a node in the current step."""
        return f"t{self._counter}_{what}"


def create_state(func: Callable[..., State], name: str, info: Mapping[str, object]) -> State:
    """Create a state with a function, passing only the arguments that it accepts."""
    # `Variable` takes the name and the layout but no device, `zeros` the reverse.
    names, takes_all = parameter_names(func)
    given = {"name": name, **info}
    state = func(**{k: v for k, v in given.items() if takes_all or k in names})
    if func is nd.zeros:
        return as_active_class(state)
    return as_numpy(state) if is_np_array() else state  # a view: a user's function may keep what it returns
